//! Figures of a program for the code that runs it: macros for static arrays, and inputs and outputs with their
//! quantization.

use std::collections::{HashMap, HashSet};

use super::macros::{Macro, MacroValue};
use crate::symbol::Symbol;
use pte_analysis::quantization::{Quantizations, TensorQuantization};
use pte_memory::memory::MethodFootprint;
use pte_model::format::serializer::EXECUTORCH;
use pte_model::program::{EValue, ExecutionPlan, Tensor, TensorShapeDynamism, ValueId};

/// Most dimensions of a tensor that the runtime loads (`kTensorDimensionLimit`).
const MAX_DIMENSIONS: usize = 16;

/// Most characters of the name of an input or output: many can have the same long name.
const MAX_NAME: usize = 200;

/// Most characters of a method's name in macros, which repeat it.
const MAX_METHOD: usize = 64;

/// Figures of a program, part of [`EmbeddedFile`](super::EmbeddedFile).
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ProgramFacts {
    /// SHA-256 of the file, as lower-case hexadecimal digits.
    pub sha256: String,
    /// Number of operators that the methods call, each once.
    pub kernels: usize,
    /// Methods in the order of the program.
    pub methods: Vec<MethodFacts>,
}

/// Figures of a method, part of [`ProgramFacts`].
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct MethodFacts {
    /// Memory for each binary interface, in the order of [`Abi::ALL`](pte_memory::abi::Abi::ALL).
    pub memory: [MethodFootprint; 2],
    /// Inputs.
    pub inputs: Vec<InterfaceFacts>,
    /// Outputs.
    pub outputs: Vec<InterfaceFacts>,
}

/// Input or output, part of [`MethodFacts`].
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct InterfaceFacts {
    /// The first 200 characters of its name; empty if it has none.
    pub name: String,
    /// Properties of a tensor; `None` for other values.
    pub tensor: Option<TensorFacts>,
}

/// Tensor that is an input or output, part of [`InterfaceFacts`].
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct TensorFacts {
    /// Value of `executorch::aten::ScalarType`.
    pub scalar_type: i8,
    /// Name of the element type, such as `float32`.
    pub type_name: String,
    /// Sizes; upper bounds of a dynamic tensor.
    pub sizes: Vec<i32>,
    /// The sizes are upper bounds.
    pub is_dynamic: bool,
    /// Size in bytes.
    pub bytes: u64,
    /// Scale and zero point, if the calls that read an input or write an output agree on them.
    pub quantization: Option<TensorQuantization>,
}

impl MethodFacts {
    /// Combines the memory of a method with the quantization of its inputs and outputs.
    /// `name` returns the name of a value.
    #[doc(hidden)]
    pub fn new(
        plan: &ExecutionPlan,
        memory: [MethodFootprint; 2],
        quantizations: Option<&Quantizations>,
        name: &dyn Fn(usize) -> String,
    ) -> MethodFacts {
        let ports = |ids: &Option<Vec<ValueId>>, is_input: bool| {
            let port = |id: &ValueId| InterfaceFacts {
                name: id.get().map_or_else(String::new, name).chars().take(MAX_NAME).collect(),
                tensor: plan.value(*id).and_then(EValue::as_tensor).and_then(|tensor| {
                    TensorFacts::new(tensor, quantizations.and_then(|all| all.find(id.get()?, is_input)))
                }),
            };
            ids.iter().flatten().map(port).collect()
        };
        let (inputs, outputs) = (ports(&plan.inputs, true), ports(&plan.outputs, false));
        MethodFacts { memory, inputs, outputs }
    }

    /// Returns what does not depend on the binary interface, such as the name and the pools.
    pub(super) fn any(&self) -> &MethodFootprint {
        &self.memory[0]
    }
}

impl TensorFacts {
    /// Returns `None` for a tensor that the runtime does not load, or of unknown size.
    fn new(tensor: &Tensor, quantization: Option<TensorQuantization>) -> Option<TensorFacts> {
        Some(TensorFacts {
            scalar_type: tensor.scalar_type.0,
            type_name: tensor.scalar_type.to_string(),
            sizes: tensor.sizes.as_deref().filter(|sizes| sizes.len() <= MAX_DIMENSIONS)?.to_vec(),
            is_dynamic: tensor.shape_dynamism != TensorShapeDynamism::STATIC,
            bytes: tensor.nbytes()?,
            quantization,
        })
    }
}

impl ProgramFacts {
    /// Combines the figures of a file with the digest `sha256`.
    #[doc(hidden)]
    pub fn new(sha256: [u8; 32], kernels: usize, methods: Vec<MethodFacts>) -> ProgramFacts {
        let sha256 = sha256.iter().map(|byte| format!("{byte:02x}")).collect();
        ProgramFacts { sha256, kernels, methods }
    }

    /// Adds the macros of a file, whose names begin with `prefix`.
    pub(super) fn add_macros(&self, prefix: &str, macros: &mut Vec<Macro>) {
        let mut add = |name: String, value: MacroValue, about: &str| {
            macros.push(Macro { name: format!("{prefix}_{name}"), value, about: about.to_owned() });
        };
        add("SHA256".into(), MacroValue::Same(format!("\"{}\"", self.sha256)), "");
        add("KERNELS".into(), count(self.kernels), "operators");
        add("METHODS".into(), count(self.methods.len()), "");
        for (method, name) in self.methods.iter().zip(method_names(&self.methods)) {
            method.add_macros(&name, &mut add);
        }
    }
}

impl MethodFacts {
    fn add_macros(&self, name: &str, add: &mut impl FnMut(String, MacroValue, &str)) {
        let mut add_memory = |kind: &str, bytes: fn(&MethodFootprint) -> u64, unknown: &[String]| {
            let unknown = if unknown.is_empty() { "" } else { ", at least: it is not known how much a callee takes" };
            let about = format!("as in ExecuTorch {EXECUTORCH}{unknown}");
            let both = self.memory.each_ref().map(|memory| bytes(memory).to_string());
            let bytes =
                if both[0] == both[1] { MacroValue::Same(both[0].clone()) } else { MacroValue::ByPointer(both) };
            add(format!("{name}_{kind}_SIZE"), bytes, &about);
        };
        let any = self.any();
        add_memory("METHOD_ALLOCATOR", |memory| memory.method_allocator.bytes, &any.method_allocator.unknown_backends);
        add_memory("TEMPORARY_ALLOCATOR", |memory| memory.temporary_allocator.bytes, &any.temporary_allocator.unknown);
        add_memory("DELEGATE_HEAP", |memory| memory.delegate_bytes, &any.not_counted);
        let pools = any.pool_sizes();
        add(format!("{name}_POOLS"), count(pools.len()), "");
        for (pool, bytes) in (1..).zip(pools) {
            add(format!("{name}_POOL_{pool}_SIZE"), MacroValue::Same(bytes.to_string()), "");
        }
        add(format!("{name}_PLANNED_SIZE"), MacroValue::Same(any.planned.to_string()), "of all pools");
        for (kind, ports) in [("INPUT", &self.inputs), ("OUTPUT", &self.outputs)] {
            add(format!("{name}_{kind}S"), count(ports.len()), "");
            for (index, port) in ports.iter().enumerate() {
                let Some(tensor) = &port.tensor else { continue };
                tensor.add_macros(&format!("{name}_{kind}_{index}"), &port.name, add);
            }
        }
    }
}

impl TensorFacts {
    fn add_macros(&self, prefix: &str, name: &str, add: &mut impl FnMut(String, MacroValue, &str)) {
        let same = |value: String| MacroValue::Same(value);
        let sizes: Vec<String> = self.sizes.iter().map(i32::to_string).collect();
        add(format!("{prefix}_BYTES"), same(self.bytes.to_string()), name);
        add(format!("{prefix}_DTYPE"), same(self.scalar_type.to_string()), &self.type_name);
        add(format!("{prefix}_DIM"), count(self.sizes.len()), "");
        if !sizes.is_empty() {
            let about = if self.is_dynamic { "upper bounds" } else { "" };
            add(format!("{prefix}_SIZES"), same(format!("{{{}}}", sizes.join(", "))), about);
        }
        if let Some(TensorQuantization { scale, zero_point }) = self.quantization {
            add(format!("{prefix}_SCALE"), same(format!("{scale:?}")), "");
            add(format!("{prefix}_ZERO_POINT"), same(format!("({})", literal(zero_point))), "");
        }
    }
}

fn count(count: usize) -> MacroValue {
    MacroValue::Same(count.to_string())
}

/// Returns the names of methods in macros, in upper case; a number is added to those that would be equal.
pub(super) fn method_names(methods: &[MethodFacts]) -> Vec<String> {
    let mut taken = HashSet::new();
    // By name: the next number.
    let mut numbers: HashMap<String, u64> = HashMap::new();
    let mut unique = |method: &MethodFacts| {
        let short: String = method.any().name.chars().take(MAX_METHOD).collect();
        let name = Symbol::from_name(&short).to_macro();
        let number = numbers.entry(name.clone()).or_insert(1);
        let mut free = name.clone();
        while !taken.insert(free.clone()) {
            *number += 1;
            free = format!("{name}_{number}");
        }
        free
    };
    methods.iter().map(&mut unique).collect()
}

/// Formats a number of 64 bits as an expression of C. The smallest one has no literal: its digits are beyond the
/// largest type with a sign.
pub(super) fn literal(number: i64) -> String {
    if number == i64::MIN { "INT64_MIN".to_owned() } else { number.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn method(name: &str) -> MethodFacts {
        let mut footprint = MethodFootprint::default();
        footprint.name = name.to_owned();
        MethodFacts::new(&ExecutionPlan::new(""), [footprint.clone(), footprint], None, &|_| String::new())
    }

    #[test]
    fn every_number_of_64_bits_is_an_expression() {
        assert_eq!([i64::MIN, -5, 0, i64::MAX].map(literal), ["INT64_MIN", "-5", "0", "9223372036854775807"]);
    }

    #[test]
    fn methods_have_distinct_names() {
        let names = ["run", "run_2", "Run", "run", "", "a-b", "a_b"].map(method);
        assert_eq!(method_names(&names), ["RUN", "RUN_2", "RUN_3", "RUN_4", "MODEL", "A_B", "A_B_2"]);
        assert_eq!(method_names(&[method(&"x".repeat(1000))])[0].len(), MAX_METHOD);
    }

    #[test]
    fn methods_with_one_name_have_different_macros() {
        let many: Vec<MethodFacts> = (0..20_000).map(|_| method("a")).collect();
        // Without the next number of each name, this takes minutes.
        assert_eq!(method_names(&many).last().unwrap(), "A_20000");
    }
}
