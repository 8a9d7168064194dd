//! Gives inputs and outputs of a method other element types or orders of dimensions: a call converts what the caller
//! passes, or what it gets. Inputs can be normalised, too: `(x - mean) / std` for each channel; and what is passed or
//! returned can be quantized or dequantized.
//!
//! Memory is not planned here: the method must have no stated offsets. `quantized_io` removes conversions instead.

use pte_analysis::method::Method;
use pte_model::data::Blob;
use pte_model::diagnostics::{Code, Diagnostic, clipped, first_names};
use pte_model::format::ScalarType;
use pte_model::format::scalar_type::Encoding;
use pte_model::program::test_cases::MethodTests;
use pte_model::program::{
    DimOrder, EValue, ExecutionPlan, Instruction, Memory, Operator, OperatorId, Program, Tensor, TensorData,
    TensorShapeDynamism, ValueId,
};
use serde::Serialize;

use crate::error::EditError;
use crate::quantized_io::{planned_method, remove_tests};
use crate::remap::renumber_values;

pte_model::options! {
    /// Options of [`convert`].
    #[derive(Debug, Clone, Default, PartialEq)]
    pub struct ConvertedIoOptions {
        /// Method; by default `forward`, or the only one that computes.
        pub method: Option<String>,
        /// Inputs by their names in `dump`.
        pub inputs: Vec<(String, IoType)>,
        /// Outputs by their names in `dump`.
        pub outputs: Vec<(String, IoType)>,
        /// Inputs by their names, with what they are normalised by.
        pub normalised: Vec<(String, Normalisation)>,
        /// Inputs and outputs of floating point numbers by their names, which the caller passes or gets as integers.
        pub quantized: Vec<(String, IoQuantization)>,
        /// Inputs and outputs of integers by their names, which the caller passes or gets as float32.
        pub dequantized: Vec<(String, IoQuantization)>,
    }
}

/// What an input or output becomes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct IoType {
    /// Element type; that of the program if it is `None`.
    pub scalar_type: Option<ScalarType>,
    /// Channels last in memory, of rank 4 or 5; or the order of the sizes. That of the program if it is `None`.
    pub channels_last: Option<bool>,
}

impl IoType {
    /// Parses an element type, `channels_last` or `contiguous`, or both, separated by a comma.
    ///
    /// ```
    /// use pte_model::format::ScalarType;
    /// use pte_transform::converted_io::IoType;
    ///
    /// let both = IoType::parse("uint8,channels_last").unwrap();
    /// assert_eq!((both.scalar_type, both.channels_last), (Some(ScalarType::BYTE), Some(true)));
    /// assert_eq!(IoType::parse("image"), None);
    /// ```
    pub fn parse(words: &str) -> Option<IoType> {
        let mut io_type = IoType::default();
        for word in words.split(',').map(str::trim) {
            match word {
                "channels_last" => io_type.channels_last = Some(true),
                "contiguous" => io_type.channels_last = Some(false),
                _ => io_type.scalar_type = Some(ScalarType::parse(word)?),
            }
        }
        Some(io_type)
    }
}

/// Numbers of a normalisation, one for all elements, or one for each channel: dimension 1 of rank 4, 0 of rank 3.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Normalisation {
    /// Numbers that are subtracted.
    pub mean: Vec<f32>,
    /// Numbers by which the differences are divided.
    pub std: Vec<f32>,
}

/// Quantization of an input or output: a number is `(integer - zero_point) * scale`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct IoQuantization {
    /// Scale; positive.
    pub scale: f64,
    /// Zero point, in the range of the element type.
    pub zero_point: i64,
    /// Element type of the integers, of 8, 16 or 32 bits. If it is `None`, that of a tensor of integers, and int8 for
    /// one of floating point numbers.
    pub scalar_type: Option<ScalarType>,
}

/// Changes that [`convert`] made.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct ConvertedIo {
    /// Name of the method.
    pub method: String,
    /// Inputs and outputs that changed.
    pub values: Vec<ConvertedValue>,
    /// Number of tests of the method, which were removed: their inputs or outputs are others.
    pub removed_tests: usize,
}

/// An input or output that changed.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct ConvertedValue {
    /// Its name before.
    pub name: String,
    /// It is an input.
    pub is_input: bool,
    /// Word of the element type that the caller passes or gets.
    pub scalar_type: String,
    /// Order of dimensions that the caller passes or gets.
    pub dim_order: Vec<u8>,
    /// Number of calls that were added.
    pub calls: usize,
}

/// A change of one input or output.
struct Change {
    name: String,
    /// Position among the inputs or outputs.
    position: usize,
    is_input: bool,
    /// The tensor of the caller.
    tensor: Tensor,
    normalised: Option<Normalisation>,
    quantized: Option<IoQuantization>,
}

/// Element types of quantized tensors.
const QUANTIZED: [ScalarType; 5] =
    [ScalarType::CHAR, ScalarType::BYTE, ScalarType::SHORT, ScalarType::UINT16, ScalarType::INT];

const CONVERT: &str = "dim_order_ops::_to_dim_order_copy.out";
const SUBTRACT: &str = "aten::sub.out";
const MULTIPLY: &str = "aten::mul.out";
const QUANTIZE: &str = "quantized_decomposed::quantize_per_tensor.out";
const DEQUANTIZE: &str = "quantized_decomposed::dequantize_per_tensor.out";

/// Converts inputs and outputs of a method. `name` returns the name of a value.
///
/// # Errors
/// Names that the method does not have; inputs that the method writes; types that the conversion does not have; a
/// method with stated offsets. Nothing is changed.
pub fn convert(
    program: &mut Program,
    tests: &mut Vec<MethodTests>,
    options: &ConvertedIoOptions,
    name: impl Fn(usize, usize) -> Option<String>,
) -> Result<ConvertedIo, EditError> {
    let index = planned_method(program, options.method.as_deref())?;
    let plan = &program.plans()[index];
    let method = Method::new(plan);
    let (mut changes, mut errors) = (Vec::new(), Vec::<Diagnostic>::new());
    let ends = [&plan.inputs, &plan.outputs].map(|ids| -> Vec<(usize, String)> {
        let ids = ids.iter().flatten().filter_map(|id| id.within(plan.values().len()));
        ids.map(|value| (value, name(index, value).unwrap_or_else(|| format!("values[{value}]")))).collect()
    });
    let position = |is_input: bool, name: &str| ends[usize::from(!is_input)].iter().position(|(_, own)| own == name);
    for (is_input, wanted) in [(true, &options.inputs), (false, &options.outputs)] {
        let ends = &ends[usize::from(!is_input)];
        let normalised = options.normalised.iter().filter(|_| is_input);
        let others = normalised.clone().filter(|(name, _)| wanted.iter().all(|(other, _)| other != name));
        let all = wanted.iter().cloned().chain(others.map(|(name, _)| (name.clone(), IoType::default())));
        for (name, io_type) in all {
            let Some(position) = position(is_input, &name) else {
                let what = if is_input { "input" } else { "output" };
                errors.push(unknown(what, &name, ends.iter().map(|(_, name)| &**name)));
                continue;
            };
            if is_changed(&changes, is_input, position) {
                errors.push(twice(&name));
                continue;
            }
            let normalised = normalised.clone().find(|(other, _)| *other == name).map(|(_, by)| by.clone());
            match change(&method, is_input, ends[position].0, io_type, normalised.as_ref()) {
                Ok(tensor) => {
                    changes.push(Change { name, position, is_input, tensor, normalised, quantized: None });
                }
                Err(reason) => errors.push(refused("converted", &name, &reason)),
            }
        }
    }
    for (what, wanted) in [("quantized", &options.quantized), ("dequantized", &options.dequantized)] {
        for (name, by) in wanted {
            let (is_input, position) = match (position(true, name), position(false, name)) {
                (Some(position), None) => (true, position),
                (None, Some(position)) => (false, position),
                (Some(_), Some(_)) => {
                    errors.push(refused(what, name, "it is an input and an output"));
                    continue;
                }
                (None, None) => {
                    errors.push(unknown("input or output", name, ends.iter().flatten().map(|(_, name)| &**name)));
                    continue;
                }
            };
            if is_changed(&changes, is_input, position) {
                errors.push(twice(name));
                continue;
            }
            let value = ends[usize::from(!is_input)][position].0;
            match quantized_change(&method, is_input, value, *by, what == "quantized") {
                Ok(tensor) => {
                    let (name, quantized) = (name.clone(), Some(*by));
                    changes.push(Change { name, position, is_input, tensor, normalised: None, quantized });
                }
                Err(reason) => errors.push(refused(what, name, &reason)),
            }
        }
    }
    if changes.is_empty() && errors.is_empty() {
        errors.push(Code::UnmetRequest.whole("no input or output is named".to_owned()));
    }
    if !errors.is_empty() {
        return Err(errors.into());
    }
    let mut done = ConvertedIo { method: plan.name.clone().unwrap_or_default(), ..ConvertedIo::default() };
    for change in changes {
        done.values.push(apply(program, index, change));
    }
    done.removed_tests = remove_tests(tests, &done.method);
    Ok(done)
}

fn is_changed(changes: &[Change], is_input: bool, position: usize) -> bool {
    changes.iter().any(|change| (change.is_input, change.position) == (is_input, position))
}

fn unknown<'n>(what: &str, name: &str, known: impl Iterator<Item = &'n str> + Clone) -> Diagnostic {
    let message = format!("no {what} `{}`; there are {}", clipped(name), first_names(known.clone()));
    Code::UnmetRequest.whole(message).suggest(name, known)
}

fn twice(name: &str) -> Diagnostic {
    Code::DuplicateName.whole(format!("`{}` is named twice", clipped(name)))
}

fn refused(what: &str, name: &str, reason: &str) -> Diagnostic {
    Code::UnmetRequest.whole(format!("`{}` cannot be {what}: {reason}", clipped(name)))
}

/// Returns an input or output for which another tensor can be passed or returned.
fn replaceable<'p>(method: &Method<'p>, is_input: bool, value: usize) -> Result<&'p Tensor, String> {
    let EValue::Tensor(tensor) = &method.values()[value] else { return Err("it is no tensor".to_owned()) };
    let end = method.plan.instructions().count();
    let mut accesses = method.value_accesses(value).filter(|access| (access.step as usize) < end);
    if is_input && accesses.any(|access| access.kind.may_write()) {
        return Err("the method writes it".to_owned());
    }
    if tensor.has_content() || tensor.shape_dynamism == TensorShapeDynamism::DYNAMIC_UNBOUND {
        return Err("it is a constant, or has no bound".to_owned());
    }
    Ok(tensor)
}

/// Returns the tensor of the caller of an input or output that is quantized or, without `to_integers`, dequantized.
fn quantized_change(
    method: &Method<'_>,
    is_input: bool,
    value: usize,
    by: IoQuantization,
    to_integers: bool,
) -> Result<Tensor, String> {
    let tensor = replaceable(method, is_input, value)?;
    let own = tensor.scalar_type;
    let floats: &[ScalarType] = match is_input {
        true => &[ScalarType::FLOAT, ScalarType::HALF, ScalarType::DOUBLE],
        // What the kernel takes that quantizes.
        false => &[ScalarType::FLOAT, ScalarType::HALF],
    };
    let names = |types: &[ScalarType]| types.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    let expected = if to_integers { floats } else { &QUANTIZED };
    if !expected.contains(&own) {
        return Err(format!("it is a tensor of {own}, expected one of {}", names(expected)));
    }
    let integers = by.scalar_type.unwrap_or(if to_integers { ScalarType::CHAR } else { own });
    if !to_integers && integers != own {
        return Err(format!("it is a tensor of {own}, not of {integers}"));
    }
    let range = QUANTIZED.contains(&integers).then(|| integers.integers()).flatten();
    let Some((least, most)) = range else {
        return Err(format!("{integers} is no type of quantized tensors, expected one of {}", names(&QUANTIZED)));
    };
    if !(least..=most).contains(&by.zero_point) {
        return Err(format!("{integers} has no zero point {}: expected {least} to {most}", by.zero_point));
    }
    // The kernels compute with the scale, and with its inverse, as float32.
    let scale = by.scale as f32;
    if !(scale > 0.0 && scale.is_finite() && (1.0 / scale).is_finite()) {
        return Err(format!("its scale is {:?}, expected a positive number of float32", by.scale));
    }
    let scalar_type = if to_integers { integers } else { ScalarType::FLOAT };
    Ok(Tensor { scalar_type, extra_tensor_info: None, ..tensor.clone() })
}

/// Returns the tensor of the caller of an input or output that is converted.
fn change(
    method: &Method<'_>,
    is_input: bool,
    value: usize,
    io_type: IoType,
    normalised: Option<&Normalisation>,
) -> Result<Tensor, String> {
    let tensor = replaceable(method, is_input, value)?;
    let sizes = tensor.sizes.as_deref().unwrap_or_default();
    let own = tensor.dim_order.clone().unwrap_or_else(|| DimOrder::contiguous(sizes.len()));
    let dim_order = match io_type.channels_last {
        None => own.clone(),
        Some(false) => DimOrder::contiguous(sizes.len()),
        Some(true) if !matches!(sizes.len(), 4 | 5) => {
            return Err("only tensors of rank 4 and 5 have channels last".to_owned());
        }
        Some(true) => DimOrder::channels_last(sizes.len()),
    };
    let scalar_type = io_type.scalar_type.unwrap_or(tensor.scalar_type);
    let is_real = |scalar_type: ScalarType| {
        let encoding = scalar_type.info().map(|info| info.encoding);
        matches!(encoding, Some(Encoding::Float(_) | Encoding::Signed | Encoding::Unsigned | Encoding::Bool))
    };
    if scalar_type != tensor.scalar_type && !(is_real(scalar_type) && is_real(tensor.scalar_type)) {
        return Err(format!("{} is not converted to {scalar_type}: both must be real numbers", tensor.scalar_type));
    }
    if scalar_type == tensor.scalar_type && dim_order == own && normalised.is_none() {
        return Err(format!("it is a tensor of {scalar_type} in this order already"));
    }
    if let Some(Normalisation { mean, std }) = normalised {
        let channels = match *sizes {
            [channels, _, _] | [_, channels, _, _] => channels,
            _ => 1,
        };
        let is_count = |numbers: &[f32]| numbers.len() == 1 || i32::try_from(numbers.len()) == Ok(channels);
        if !is_count(mean) || !is_count(std) {
            return Err(match sizes.len() {
                3 | 4 => format!("expected one number, or one for each of {channels} channels, to normalise it"),
                rank => format!("a tensor of rank {rank} has no channels: expected one number to normalise it"),
            });
        }
        if tensor.scalar_type != ScalarType::FLOAT || !own.is_contiguous() {
            return Err("only tensors of float32 in the order of their sizes are normalised".to_owned());
        }
        if std.iter().any(|number| !(1.0 / number).is_finite() || !number.is_finite()) {
            return Err("it cannot be divided by 0".to_owned());
        }
    }
    Ok(Tensor { scalar_type, dim_order: Some(dim_order), extra_tensor_info: None, ..tensor.clone() })
}

/// Adds the calls and values of a change.
fn apply(program: &mut Program, index: usize, change: Change) -> ConvertedValue {
    let Change { name, position, is_input, tensor, normalised, quantized } = change;
    let numbers = |numbers: &[f32], rank: usize| {
        let bytes: Vec<u8> = numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
        let mut sizes = vec![1; if numbers.len() == 1 { 0 } else { rank.min(3) }];
        sizes.first_mut().into_iter().for_each(|size| *size = numbers.len() as i32);
        (Tensor::new(ScalarType::FLOAT, &sizes), bytes)
    };
    let rank = tensor.sizes.as_ref().map_or(0, |sizes| sizes.len());
    let constants = normalised.map(|Normalisation { mean, std }| {
        let factors: Vec<f32> = std.iter().map(|std| 1.0 / std).collect();
        [numbers(&mean, rank), numbers(&factors, rank)].map(|(tensor, bytes)| {
            let data = TensorData::Blob(program.add_blob(Blob::bytes(bytes)));
            Tensor { data, memory: Memory::None, ..tensor }
        })
    });
    let plan = &mut program.plans_mut()[index];
    // A change before may have renumbered it.
    let ids = if is_input { &plan.inputs } else { &plan.outputs };
    let value = ids.as_ref().and_then(|ids| ids[position].get()).unwrap_or_default();
    let mut editor = Editor { plan, calls: Vec::new() };
    let inner = editor.plan.values()[value].as_tensor().cloned().unwrap_or_else(Tensor::missing);
    let planned = Memory::Auto { pool: None, persistent: false, shared: None };
    let outer = editor.push(EValue::Tensor(tensor.clone()));
    let own = ValueId::of(value);
    let rank = inner.sizes.as_ref().map_or(0, |sizes| sizes.len());
    let own_order = inner.dim_order.clone().unwrap_or_else(|| DimOrder::contiguous(rank));
    let needs_copy = tensor.scalar_type != inner.scalar_type || tensor.dim_order.as_ref() != Some(&own_order);
    let (from, to) = if is_input { (outer, own) } else { (own, outer) };
    let mut last = from;
    if let Some(by) = quantized {
        let [from_type, to_type] = match is_input {
            true => [tensor.scalar_type, inner.scalar_type],
            false => [inner.scalar_type, tensor.scalar_type],
        };
        editor.quantize([from, to], [from_type, to_type], by);
    } else if needs_copy {
        // The result of the last call is the tensor of the method.
        let out = constants.is_none().then_some(to);
        last = editor.copy(from, if is_input { &inner } else { &tensor }, out);
    }
    if let Some([mean, factors]) = constants {
        let (mean, factors) = (editor.push(EValue::Tensor(mean)), editor.push(EValue::Tensor(factors)));
        let (one, difference) = (editor.push(EValue::Int(1)), editor.push_like(&inner, planned));
        editor.call(SUBTRACT, vec![last, mean, one, difference, difference]);
        editor.call(MULTIPLY, vec![difference, factors, to, to]);
    }
    let calls = editor.finish(is_input);
    let ids = if is_input { &mut plan.inputs } else { &mut plan.outputs };
    if let Some(id) = ids.as_mut().and_then(|ids| ids.get_mut(position)) {
        *id = outer;
    }
    // What was memory of the caller is an intermediate result.
    if let Some(tensor) = plan.tensor_mut(value)
        && tensor.memory == Memory::None
    {
        tensor.memory = planned;
    }
    // Inputs keep their numbers: what has a lower one than an input counts as state.
    if let Some(outer) = outer.get().filter(|_| is_input) {
        plan.values.get_or_insert_default().swap(value, outer);
        let [one, other] = [value, outer].map(|value| value as i64);
        renumber_values(plan, |index| match index {
            _ if index == one => other,
            _ if index == other => one,
            _ => index,
        });
    }
    ConvertedValue {
        name,
        is_input,
        scalar_type: tensor.scalar_type.to_string(),
        dim_order: tensor.dim_order.iter().flat_map(|order| order.iter().copied()).collect(),
        calls,
    }
}

/// A method, with calls that are not inserted yet.
struct Editor<'p> {
    plan: &'p mut ExecutionPlan,
    calls: Vec<Instruction>,
}

impl Editor<'_> {
    fn push(&mut self, value: EValue) -> ValueId {
        let values = self.plan.values.get_or_insert_default();
        values.push(value);
        ValueId::of(values.len() - 1)
    }

    /// Adds a tensor like another one.
    fn push_like(&mut self, tensor: &Tensor, memory: Memory) -> ValueId {
        self.push(EValue::Tensor(Tensor { memory, extra_tensor_info: None, ..tensor.clone() }))
    }

    fn call(&mut self, name: &str, args: Vec<ValueId>) {
        let operators = self.plan.operators.get_or_insert_default();
        let new = Operator::new(name);
        let position = operators.iter().position(|operator| *operator == new).unwrap_or_else(|| {
            operators.push(new);
            operators.len() - 1
        });
        self.calls.push(Instruction::KernelCall { op_index: OperatorId::of(position), args: Some(args.into()) });
    }

    /// Adds the call that converts a tensor to the type and order of another one, and returns its result: `out`, or a
    /// new tensor.
    fn copy(&mut self, from: ValueId, like: &Tensor, out: Option<ValueId>) -> ValueId {
        let dims = like.dim_order.iter().flat_map(|order| order.iter());
        let items = dims.map(|dim| i64::from(self.push(EValue::Int((*dim).into())))).collect();
        let (never, order) = (self.push(EValue::Bool(false)), self.push(EValue::IntList(Some(items))));
        let planned = Memory::Auto { pool: None, persistent: false, shared: None };
        let out = out.unwrap_or_else(|| self.push_like(like, planned));
        self.call(CONVERT, vec![from, never, order, out, out]);
        out
    }

    /// Adds the call that quantizes or dequantizes a tensor into another one, by their types.
    fn quantize(&mut self, [from, to]: [ValueId; 2], [from_type, to_type]: [ScalarType; 2], by: IoQuantization) {
        let integers = if from_type.integers().is_some() { from_type } else { to_type };
        let (least, most) = integers.integers().unwrap_or_default();
        let mut args = vec![from, self.push(EValue::Double(by.scale))];
        let numbers = [by.zero_point, least, most, i64::from(integers.0)];
        args.extend(numbers.map(|number| self.push(EValue::Int(number))));
        if integers == from_type {
            args.push(self.push(match to_type {
                ScalarType::FLOAT => EValue::Null,
                other => EValue::Int(i64::from(other.0)),
            }));
        }
        args.extend([to, to]);
        self.call(if integers == from_type { DEQUANTIZE } else { QUANTIZE }, args);
    }

    /// Inserts the calls at the begin of the first chain, or at the end of the last one. Returns their number.
    fn finish(self, at_begin: bool) -> usize {
        let count = self.calls.len();
        let chains = self.plan.chains.get_or_insert_default();
        let chain = if at_begin { chains.first_mut() } else { chains.last_mut() };
        let Some(chain) = chain else { return 0 };
        let instructions = chain.instructions.get_or_insert_default();
        if let Some(traces) = &mut chain.stacktrace {
            let at = if at_begin { 0 } else { traces.len() };
            traces.splice(at..at, std::iter::repeat_n(None, count));
        }
        if at_begin {
            for instruction in instructions.iter_mut() {
                if let Instruction::JumpFalseCall { destination_instruction, .. } = instruction {
                    *destination_instruction = destination_instruction.saturating_add(count as i32);
                }
            }
            instructions.splice(0..0, self.calls);
        } else {
            instructions.extend(self.calls);
        }
        count
    }
}
