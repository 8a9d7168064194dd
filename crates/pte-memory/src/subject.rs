//! A program as its file stores it, with the names of its values and their lifetimes: what questions about a program
//! are asked of.

use std::collections::HashMap;

use pte_analysis::lifetimes::Execution;
use pte_analysis::method::Method;
use pte_analysis::planning::MethodValues;
use pte_analysis::quantization::{Quantizations, TensorQuantization};
use pte_model::diagnostics::text::named_path;
use pte_model::program::element::{Element, Part};
use pte_model::program::{Memory, MemoryPlan, Program, Tensor, TensorShapeDynamism};
use pte_xnnpack::conversions::quantization;
use pte_xnnpack::payloads::Payloads;

/// A program as its file stores it, with explicit offsets.
pub struct Subject<'p> {
    /// Program.
    pub program: &'p Program,
    /// Planned memory by method.
    pub memory: &'p [MemoryPlan],
    /// By method, the names of the values, and their memory as a request of the YAML.
    pub values: Vec<MethodValues>,
    /// By method, the names of the delegates in the YAML; empty for a program that was read from a file.
    pub delegates: Vec<Vec<String>>,
    /// What the instructions of each method do.
    pub methods: Vec<Method<'p>>,
    /// Payloads of the delegates, each decoded once.
    pub payloads: Payloads,
    /// By method, the lifetimes of the values, the views and the state.
    pub executions: Vec<Execution>,
}

impl<'p> Subject<'p> {
    /// Combines a program with the names and the memory of its values, and the names of its delegates.
    pub fn new(
        program: &'p Program,
        memory: &'p [MemoryPlan],
        values: Vec<MethodValues>,
        delegates: Vec<Vec<String>>,
    ) -> Subject<'p> {
        let requested = |method: usize| values.get(method).map_or(&[][..], |values| &values.memory);
        let methods = Method::of_program(program);
        let execution = |(index, method): (usize, &Method<'_>)| method.execution(requested(index));
        let executions = methods.iter().enumerate().map(execution).collect();
        Subject { program, memory, values, delegates, methods, payloads: Payloads::of(program, u64::MAX), executions }
    }
}

impl Subject<'_> {
    /// Returns true for a tensor in planned memory that is not a view, even if the exporter planned it over another
    /// tensor.
    pub fn has_own_memory(&self, method: usize, value: usize) -> bool {
        let tensor = self.program.plans().get(method).and_then(|plan| plan.values().get(value)?.as_tensor());
        let is_alias = self.executions.get(method).and_then(|execution| execution.is_alias.get(value));
        tensor.is_some_and(|tensor| tensor.memory != Memory::None) && is_alias == Some(&false)
    }

    /// Returns true for a tensor that keeps its content from one execution to the next.
    pub fn is_state(&self, method: usize, value: usize) -> bool {
        self.executions.get(method).and_then(|execution| execution.is_state.get(value)).copied().unwrap_or(false)
    }

    /// Returns true for a method with tensors that keep their content from one execution to the next.
    pub fn has_state(&self, method: usize) -> bool {
        self.executions.get(method).is_some_and(|execution| execution.is_state.contains(&true))
    }

    /// Returns the scale and zero point of the tensors of a method, as far as calls and XNNPACK payloads quantize and
    /// dequantize them.
    pub fn quantizations(&self, method: usize) -> Option<Quantizations> {
        let method = self.methods.get(method)?;
        Some(Quantizations::of(method, |delegate, argument, is_input| {
            let delegates = method.plan.delegates();
            let graph = self.payloads.graph(&delegates[delegate.within(delegates.len())?])?;
            let (scale, zero_point) = quantization(graph, argument, is_input)?;
            scale.is_finite().then_some(TensorQuantization { scale, zero_point })
        }))
    }

    /// Returns the name of a value, or its index if it has no name.
    pub fn value_name(&self, method: usize, value: usize) -> String {
        let name = self.values.get(method).and_then(|values| values.names.get(value)?.clone());
        name.unwrap_or_else(|| format!("values[{value}]"))
    }

    /// Returns the name of a delegate as in `payload show`, without its method.
    pub fn delegate_name(&self, method: usize, delegate: usize) -> String {
        let name = self.delegates.get(method).and_then(|names| names.get(delegate).cloned());
        name.unwrap_or_else(|| format!("part{delegate}"))
    }
}

impl Subject<'_> {
    /// Returns the paths of all values with their names, by path: `methods.forward.linear_weight (values[2])` for
    /// `methods.forward.values[2]`. Each path begins with `prefix`.
    pub fn named_paths(&self, prefix: &str) -> HashMap<String, String> {
        let mut paths = HashMap::new();
        for (method, values) in self.values.iter().enumerate() {
            for (value, name) in values.names.iter().enumerate() {
                let Some(name) = name else { continue };
                let path = format!("{prefix}{}", Element::Method(method, Part::Value(value)).path(self.program));
                let named = named_path(&path, name);
                paths.insert(path, named);
            }
        }
        paths
    }
}

/// Returns element type and sizes of a tensor: `float32 [2, 3]`. The sizes of a dynamic tensor are upper bounds.
pub fn shape(tensor: &Tensor) -> String {
    let sizes: Vec<String> = tensor.sizes.iter().flat_map(|sizes| sizes.iter()).map(ToString::to_string).collect();
    let bound = if tensor.shape_dynamism == TensorShapeDynamism::STATIC { "" } else { "<=" };
    format!("{} {bound}[{}]", tensor.scalar_type, sizes.join(", "))
}
