//! Makes the inputs and outputs of a method quantized: what it quantizes first, or dequantizes last, is what the caller
//! passes and gets. The calls and the conversions in XNNPACK payloads that did so are removed.
//!
//! Memory is not planned here: the method must have no stated offsets.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Display;

use pte_analysis::access::Access;
use pte_analysis::method::Method;
use pte_model::data::Blob;
use pte_model::diagnostics::{Code, Diagnostic, clipped, first_names};
use pte_model::format::ScalarType;
use pte_model::program::instruction::Callee;
use pte_model::program::test_cases::MethodTests;
use pte_model::program::{DelegateId, EValue, Instruction, Memory, Program, ValueId};
use pte_xnnpack::BACKEND;
use pte_xnnpack::conversions::Conversion;
use pte_xnnpack::decode::decode;
use pte_xnnpack::encode::encode;
use pte_xnnpack::model::Graph;
use serde::Serialize;

use crate::bound::method_of;
use crate::error::EditError;
use crate::optimize::minimize::kept_plan;
use crate::prune::prune;
use crate::remap::Remap;

pte_model::options! {
    /// Options of [`quantize`].
    #[derive(Debug, Clone, Default, PartialEq, Eq)]
    pub struct QuantizedIoOptions {
        /// Method; by default `forward`, or the only one that computes.
        pub method: Option<String>,
        /// Inputs and outputs by their names in `dump`; all that can be quantized if it is empty.
        pub names: Vec<String>,
    }
}

/// Changes that [`quantize`] made.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct QuantizedIo {
    /// Name of the method.
    pub method: String,
    /// Inputs and outputs that are quantized now.
    pub values: Vec<QuantizedValue>,
    /// Number of tests of the method, which were removed: their inputs or outputs are of other types.
    pub removed_tests: usize,
}

/// An input or output that is quantized now: a number of the former one is `(integer - zero_point) * scale`.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct QuantizedValue {
    /// Its former name.
    pub name: String,
    /// It is an input.
    pub is_input: bool,
    /// Word of the element type.
    pub scalar_type: String,
    /// Scale.
    pub scale: f64,
    /// Zero point.
    pub zero_point: i64,
}

/// How an input or output can be quantized.
struct Change {
    is_input: bool,
    /// The tensor of floating point numbers.
    value: usize,
    by: By,
    scalar_type: ScalarType,
    scale: f64,
    zero_point: i64,
}

#[derive(Clone, Copy)]
enum By {
    /// A call, which is no longer needed, and the quantized tensor.
    Call { step: usize, quantized: usize },
    /// A conversion in the payload of this delegate.
    Delegate { delegate: usize },
}

/// Quantizes inputs and outputs of a method. `name` returns the name of a value.
///
/// # Errors
/// Names that the method does not have; inputs and outputs that something else uses, too, or that are not quantized; a
/// method with stated offsets. Nothing is changed.
pub fn quantize(
    program: &mut Program,
    tests: &mut Vec<MethodTests>,
    options: &QuantizedIoOptions,
    name: impl Fn(usize, usize) -> Option<String>,
) -> Result<QuantizedIo, EditError> {
    let index = planned_method(program, options.method.as_deref())?;
    let plan = &program.plans()[index];
    let method = &Method::new(plan);
    let named = |value: usize| name(index, value).unwrap_or_else(|| format!("values[{value}]"));
    let ends = |ids: &Option<Vec<ValueId>>| -> Vec<usize> {
        ids.iter().flatten().filter_map(|id| id.within(plan.values().len())).collect()
    };
    let inputs = ends(&plan.inputs).into_iter().map(|value| (true, value));
    let ends: Vec<(bool, usize)> = inputs.chain(ends(&plan.outputs).into_iter().map(|value| (false, value))).collect();
    let names: Vec<String> = ends.iter().map(|(_, value)| named(*value)).collect();
    let is_wanted = |name: &String| options.names.is_empty() || options.names.contains(name);
    let (mut changes, mut errors) = (Vec::new(), Vec::<Diagnostic>::new());
    for unknown in options.names.iter().filter(|wanted| !names.contains(wanted)) {
        let known = names.iter().map(String::as_str);
        let message = format!("no input or output `{}`; there are {}", clipped(unknown), first_names(known.clone()));
        errors.push(Code::UnmetRequest.whole(message).suggest(unknown, known));
    }
    let mut context = Context::new(program, method);
    for ((is_input, value), name) in ends.into_iter().zip(&names).filter(|(_, name)| is_wanted(name)) {
        match context.change(is_input, value) {
            Ok(change) => changes.push(change),
            Err(reason) if !options.names.is_empty() => {
                errors.push(Code::UnmetRequest.whole(format!("`{}` cannot be quantized: {reason}", clipped(name))));
            }
            Err(_) => {}
        }
    }
    if changes.is_empty() && errors.is_empty() {
        let message = "no input is quantized by the first instruction that uses it, and no output is dequantized last";
        errors.push(Code::UnmetRequest.whole(message));
    }
    if !errors.is_empty() {
        return Err(errors.into());
    }
    let values = changes.iter().map(|change| QuantizedValue {
        name: named(change.value),
        is_input: change.is_input,
        scalar_type: change.scalar_type.to_string(),
        scale: change.scale,
        zero_point: change.zero_point,
    });
    let mut done =
        QuantizedIo { method: plan.name.clone().unwrap_or_default(), values: values.collect(), removed_tests: 0 };
    let changed = changes.iter().filter_map(|change| match change.by {
        By::Delegate { delegate } => Some(delegate),
        By::Call { .. } => None,
    });
    let (changed, graphs): (BTreeSet<usize>, _) = (changed.collect(), context.graphs);
    let failed = |error: &dyn Display| EditError::request(format!("the payload cannot be written: {error}"));
    let encoded = changed.into_iter().map(|delegate| match encode(&graphs[&delegate]) {
        Ok(blob) => Ok((delegate, blob)),
        Err(error) => Err(failed(&error)),
    });
    let encoded = encoded.collect::<Result<Vec<_>, EditError>>()?;
    apply(program, index, &changes, encoded);
    prune(program);
    done.removed_tests = remove_tests(tests, &done.method);
    Ok(done)
}

/// Returns the index of a method whose inputs and outputs can be other tensors.
pub(crate) fn planned_method(program: &Program, name: Option<&str>) -> Result<usize, EditError> {
    let index = method_of(program, name)?;
    match kept_plan(&program.plans()[index]) {
        None => Ok(index),
        Some(reason) => {
            let message = format!("the inputs and outputs would be other tensors, but the memory plan stays: {reason}");
            Err(EditError::request(message))
        }
    }
}

/// Removes the tests of a method whose inputs or outputs are others, and returns how many there were.
pub(crate) fn remove_tests(tests: &mut Vec<MethodTests>, method: &str) -> usize {
    let removed = tests.iter_mut().filter(|tests| tests.method == method);
    let removed = removed.map(|tests| std::mem::take(&mut tests.cases).len()).sum();
    tests.retain(|tests| !tests.cases.is_empty());
    removed
}

/// A method whose inputs and outputs are examined.
struct Context<'p> {
    program: &'p Program,
    method: &'p Method<'p>,
    instructions: Vec<&'p Instruction>,
    is_input: Vec<bool>,
    /// Number of calls of each delegate.
    calls: BTreeMap<DelegateId, usize>,
    /// Payloads that were read, by delegate, without the conversions that were found.
    graphs: BTreeMap<usize, Graph>,
}

impl<'p> Context<'p> {
    fn new(program: &'p Program, method: &'p Method<'p>) -> Context<'p> {
        let instructions: Vec<&Instruction> = method.plan.instructions().collect();
        let mut calls = BTreeMap::new();
        for callee in instructions.iter().filter_map(|instruction| instruction.callee()) {
            if let Callee::Delegate(delegate) = callee {
                *calls.entry(delegate).or_default() += 1;
            }
        }
        let is_input = method.plan.is_input();
        Context { program, method, instructions, is_input, calls, graphs: BTreeMap::new() }
    }

    /// Finds how an input or output can be quantized.
    fn change(&mut self, is_input: bool, value: usize) -> Result<Change, String> {
        let EValue::Tensor(tensor) = &self.method.values()[value] else { return Err("it is no tensor".to_owned()) };
        if !matches!(tensor.scalar_type, ScalarType::FLOAT | ScalarType::HALF | ScalarType::DOUBLE) {
            return Err(format!("it is a tensor of {}", tensor.scalar_type));
        }
        let end = self.instructions.len();
        let mut steps: Vec<usize> = self.method.value_accesses(value).map(|access| access.step as usize).collect();
        let is_output = steps.last().is_some_and(|step| *step >= end);
        steps.retain(|step| *step < end);
        // The calls repeat their out as the last argument.
        steps.dedup();
        let ([step], true) = (&steps[..], is_input != is_output) else {
            return Err("several instructions use it, or it is an input and an output".to_owned());
        };
        match self.instructions[*step].callee() {
            Some(Callee::Operator(_)) => self.of_call(is_input, value, *step),
            Some(Callee::Delegate(delegate)) => self.of_delegate(is_input, value, *step, delegate),
            None => Err("a move or a jump uses it".to_owned()),
        }
    }

    /// Finds the call that quantizes an input, or dequantizes an output.
    fn of_call(&self, is_input: bool, value: usize, step: usize) -> Result<Change, String> {
        let wanted = match is_input {
            true => "quantized_decomposed::quantize_per_tensor.out",
            false => "quantized_decomposed::dequantize_per_tensor.out",
        };
        let instruction = self.instructions[step];
        let known = self.method.operators.called(instruction).filter(|known| known.name == wanted);
        let known = known.ok_or_else(|| format!("{wanted} does not use it"))?;
        let (values, out) = (self.method.values(), known.signature.args.len() - 1);
        let at = |position: usize| instruction.args().get(position).and_then(|arg| arg.within(values.len()));
        let writes = |value| self.method.value_accesses(value).filter(|access| access.kind.may_write());
        let constant =
            |position| at(position).filter(|value| writes(*value).next().is_none()).map(|value| &values[value]);
        let (Some(EValue::Double(scale)), Some(EValue::Int(zero_point))) = (constant(1), constant(2)) else {
            return Err("its scale and zero point are no constants".to_owned());
        };
        let quantized = at(if is_input { out } else { 0 }).ok_or("the call has no such argument")?;
        let other = values[quantized].as_tensor().ok_or("the call has no such tensor")?;
        // What the caller gets is what the call reads.
        let is_other = |write: &Access| match is_input {
            true => write.step as usize != step,
            false => write.step as usize > step,
        };
        if self.is_input[quantized] || other.has_content() || writes(quantized).any(is_other) {
            return Err("another instruction writes the quantized tensor".to_owned());
        }
        if let (true, Some((least, most))) = (is_input, other.scalar_type.integers()) {
            // What the caller passes is not clamped.
            let (Some(EValue::Int(min)), Some(EValue::Int(max))) = (constant(3), constant(4)) else {
                return Err("the range that it is clamped to is not constant".to_owned());
            };
            if (*min, *max) != (least, most) {
                let of = other.scalar_type;
                return Err(format!("its call clamps it to {min}..{max}, narrower than {least}..{most} of {of}"));
            }
        }
        let by = By::Call { step, quantized };
        let (scale, zero_point) = (*scale, *zero_point);
        Ok(Change { is_input, value, by, scalar_type: other.scalar_type, scale, zero_point })
    }

    /// Finds the conversion in the payload of a delegate, and removes it from the graph: a value that is converted at
    /// two ends can be one argument only.
    fn of_delegate(
        &mut self,
        is_input: bool,
        value: usize,
        step: usize,
        delegate: DelegateId,
    ) -> Result<Change, String> {
        let args = self.instructions[step].args();
        let argument = args.iter().position(|arg| arg.get() == Some(value)).ok_or("no argument")? as u32;
        let (delegate, graph) = self.graph(delegate)?;
        let conversion = Conversion::find(graph, argument, is_input)?;
        conversion.remove(graph)?;
        let Conversion { scalar_type, scale, zero_point, .. } = conversion;
        Ok(Change { is_input, value, by: By::Delegate { delegate }, scalar_type, scale, zero_point })
    }

    /// Returns the graph of a delegate of XNNPACK that is called once, and its number.
    fn graph(&mut self, delegate: DelegateId) -> Result<(usize, &mut Graph), String> {
        let list = self.method.plan.delegates();
        let index = delegate.within(list.len()).ok_or("its delegate does not exist")?;
        if list[index].id.as_deref() != Some(BACKEND) {
            return Err("a delegate of another backend than XNNPACK uses it".to_owned());
        }
        if self.calls.get(&delegate) != Some(&1) {
            return Err("its delegate is called several times".to_owned());
        }
        let graph = match self.graphs.entry(index) {
            Entry::Occupied(graph) => graph.into_mut(),
            Entry::Vacant(place) => {
                place.insert(decode(self.program.blob(list[index].processed)).map_err(|error| error.to_string())?)
            }
        };
        Ok((index, graph))
    }
}

fn apply(program: &mut Program, index: usize, changes: &[Change], encoded: Vec<(usize, Blob)>) {
    let encoded: Vec<_> = encoded.into_iter().map(|(delegate, blob)| (delegate, program.add_blob(blob))).collect();
    let plan = &mut program.plans_mut()[index];
    for (delegate, blob) in encoded {
        if let Some(delegate) = plan.delegates.iter_mut().flatten().nth(delegate) {
            delegate.processed = blob;
        }
    }
    let mut kept = vec![true; plan.instructions().count()];
    let mut calls: [BTreeMap<usize, usize>; 2] = Default::default();
    let values = plan.values.get_or_insert_default();
    for change in changes {
        match (change.by, values[change.value].as_tensor().map(|tensor| tensor.memory)) {
            (By::Call { step, quantized }, memory) => {
                calls[usize::from(change.is_input)].insert(change.value, quantized);
                kept[step] = false;
                // The caller sets its memory, too.
                if let (Some(Memory::None), EValue::Tensor(tensor)) = (memory, &mut values[quantized]) {
                    tensor.memory = Memory::None;
                }
            }
            (By::Delegate { .. }, _) => {
                if let EValue::Tensor(tensor) = &mut values[change.value] {
                    tensor.scalar_type = change.scalar_type;
                }
            }
        }
    }
    for (ids, calls) in [&mut plan.outputs, &mut plan.inputs].into_iter().zip(calls) {
        for id in ids.iter_mut().flatten() {
            if let Some(quantized) = id.get().and_then(|value| calls.get(&value)) {
                *id = ValueId::of(*quantized);
            }
        }
    }
    Remap::of_instructions(plan, &kept).apply(plan);
}
