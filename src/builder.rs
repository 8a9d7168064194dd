//! Builds programs in Rust, without YAML: values, constants and calls, method by method.
//!
//! A builder creates the same document as the YAML parser; [`crate::ir`] numbers values, completes calls and validates both.

use std::borrow::Cow;
use std::path::Path;

use crate::assembly::Assembly;
use crate::diagnostics::{Diagnostic, Report};
use crate::error::Error;
use crate::format::ScalarType;
use crate::format::program::tensor;
use crate::ir::document::{
    Action, At, Data, DataSource, Declaration, Declared, Delegate, Literal, Method, MethodMemory, NameOrNumber,
    ParsedChain, ParsedDocument, ParsedInstruction, ParsedTensor,
};
use crate::ir::{self, tree::NodeId};
use crate::pipeline::{Options, emit, plan};
use crate::program::Program;
use crate::program::attributes::TENSOR_ATTRIBUTES;

/// Builder of a method.
///
/// ```
/// use pte_emit::program::Program;
/// use pte_emit::{MethodBuilder, Options, ScalarType};
///
/// let mut forward = MethodBuilder::new("forward");
/// let x = forward.input(ScalarType::FLOAT, &[2, 2]);
/// let y = forward.call("aten::relu.out", &[x.into()], ScalarType::FLOAT, &[2, 2]);
/// forward.output(y);
/// let files = Program::from_methods([forward])?.to_files(&Options::default())?;
/// assert_eq!(&files.program_file().unwrap().to_vec()?[4..8], b"ET12");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// A method with a counter, two results of one call, and a delegate:
///
/// ```
/// use pte_emit::program::Program;
/// use pte_emit::{MethodBuilder, ScalarType};
///
/// let mut forward = MethodBuilder::new("forward");
/// let x = forward.input(ScalarType::FLOAT, &[8, 4]);
/// forward.dynamic(x); // at most 8 rows
///
/// let count = forward.state(&[1], &[0i64]);
/// forward.name(count, "counter.count");
/// forward.call_into("aten::add.Scalar_out", &[count.into(), 1.into()], &[count]);
///
/// let values = forward.tensor(ScalarType::FLOAT, &[8, 2]);
/// let indices = forward.tensor(ScalarType::LONG, &[8, 2]);
/// forward.call_into("aten::topk.values", &[x.into(), 2.into()], &[values, indices]);
///
/// let y = forward.tensor(ScalarType::FLOAT, &[8, 2]);
/// forward.call_delegate("MyBackend", b"compiled for MyBackend", &[values, y]);
/// [y, indices].map(|value| forward.output(value));
/// let program = Program::from_methods([forward])?;
/// assert_eq!(program.plans()[0].delegates()[0].id.as_deref(), Some("MyBackend"));
/// # Ok::<(), pte_emit::Error>(())
/// ```
#[derive(Debug)]
pub struct MethodBuilder {
    method: Method<'static>,
}

/// A value of the method that a [`MethodBuilder`] builds. Its index in the program is not known before [`Program::from_methods`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Value(usize);

/// An argument of a call: a value, or a literal that becomes one.
///
/// ```
/// use pte_emit::program::Program;
/// use pte_emit::{Argument, MethodBuilder, ScalarType};
///
/// let mut forward = MethodBuilder::new("forward");
/// let x = forward.input(ScalarType::FLOAT, &[2, 3]);
/// let at_most_six = [x.into(), Argument::NONE, 6.0.into()]; // self, min, max
/// let y = forward.call("aten::clamp.out", &at_most_six, ScalarType::FLOAT, &[2, 3]);
/// let columns = forward.constant(&[2], &[0i64, 2]);
/// let index = [y.into(), Argument::list(&[None, Some(columns)])]; // y[:, [0, 2]]
/// let z = forward.call("aten::index.Tensor_out", &index, ScalarType::FLOAT, &[2, 2]);
/// forward.output(z);
/// assert!(Program::from_methods([forward]).is_ok());
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Argument(Literal<'static>);

impl Argument {
    /// The argument `None`.
    pub const NONE: Argument = Argument(Literal::Null);

    /// A list of values, of which some may be `None`.
    pub fn list(values: &[Option<Value>]) -> Argument {
        let items = values.iter().map(|value| at(value.map_or(Literal::Null, Value::literal)));
        Argument(Literal::List(items.collect()))
    }
}

impl Value {
    fn name(self) -> Cow<'static, str> {
        format!("v{}", self.0).into()
    }

    fn literal(self) -> Literal<'static> {
        Literal::Word(self.name())
    }
}

impl From<Value> for Argument {
    fn from(value: Value) -> Argument {
        Argument(value.literal())
    }
}

macro_rules! arguments {
    ($( $type:ty => |$value:ident| $literal:expr; )*) => {$(
        impl From<$type> for Argument {
            fn from($value: $type) -> Argument {
                Argument($literal)
            }
        }
    )*};
}

arguments! {
    i64 => |n| Literal::Int(n);
    i32 => |n| Literal::Int(n.into());
    f64 => |x| Literal::Double(x);
    bool => |b| Literal::Bool(b);
    &str => |text| Literal::String(text.to_owned().into());
    ScalarType => |scalar_type| Literal::Dtype(scalar_type);
    &[i64] => |items| Literal::List(items.iter().map(|n| at(Literal::Int(*n))).collect());
}

impl<const N: usize> From<[i64; N]> for Argument {
    fn from(items: [i64; N]) -> Argument {
        items.as_slice().into()
    }
}

/// A Rust type whose values are elements of a tensor.
///
/// ```
/// use pte_emit::{MethodBuilder, ScalarType, TensorElement, Value};
///
/// /// A 16-bit brain float: the upper half of a `float32`.
/// #[derive(Clone, Copy)]
/// struct Bfloat16(u16);
///
/// impl TensorElement for Bfloat16 {
///     const SCALAR_TYPE: ScalarType = ScalarType(15);
///
///     fn append_to(self, bytes: &mut Vec<u8>) {
///         bytes.extend(self.0.to_le_bytes());
///     }
/// }
///
/// let mut forward = MethodBuilder::new("forward");
/// let halves: Value = forward.constant(&[2], &[Bfloat16(0x3f00), Bfloat16(0xbf00)]); // 0.5, -0.5
/// forward.output(halves);
/// ```
pub trait TensorElement: Copy {
    /// The element type.
    const SCALAR_TYPE: ScalarType;
    /// Appends the little-endian bytes of an element.
    fn append_to(self, bytes: &mut Vec<u8>);
}

macro_rules! elements {
    ($( $type:ty => $number:literal; )*) => {$(
        impl TensorElement for $type {
            const SCALAR_TYPE: ScalarType = ScalarType($number);

            fn append_to(self, bytes: &mut Vec<u8>) {
                bytes.extend_from_slice(&self.to_le_bytes());
            }
        }
    )*};
}

elements! { u8 => 0; i8 => 1; i16 => 2; i32 => 3; i64 => 4; f32 => 6; f64 => 7; }

impl MethodBuilder {
    /// A method without values.
    pub fn new(name: impl Into<String>) -> MethodBuilder {
        let method = Method {
            name: at(name.into().into()),
            values: Vec::new(),
            inputs: Vec::new(),
            outputs: Vec::new(),
            chains: vec![ParsedChain::default()],
            delegates: Vec::new(),
            operators: Vec::new(),
            memory: MethodMemory::default(),
            container_meta: None,
            tests: Vec::new(),
        };
        MethodBuilder { method }
    }

    /// Adds a tensor that the caller provides.
    pub fn input(&mut self, scalar_type: ScalarType, sizes: &[i32]) -> Value {
        let value = self.tensor(scalar_type, sizes);
        self.method.inputs.push(at(value.literal()));
        value
    }

    /// Adds a constant with these elements, in the order of contiguous memory.
    pub fn constant<T: TensorElement>(&mut self, sizes: &[i32], elements: &[T]) -> Value {
        let mut bytes = Vec::with_capacity(size_of_val(elements));
        elements.iter().for_each(|element| element.append_to(&mut bytes));
        let value = self.tensor(T::SCALAR_TYPE, sizes);
        self.tensor_mut(value).data = Some(data(bytes));
        value
    }

    /// Adds a tensor that keeps its elements from one execution to the next, and these in the first one.
    pub fn state<T: TensorElement>(&mut self, sizes: &[i32], elements: &[T]) -> Value {
        let value = self.constant(sizes, elements);
        self.tensor_mut(value).mutable = true;
        value
    }

    /// Adds a tensor for a result, to be written by [`MethodBuilder::call_into`] or by a delegate.
    pub fn tensor(&mut self, scalar_type: ScalarType, sizes: &[i32]) -> Value {
        let value = Value(self.method.values.len());
        let tensor = ParsedTensor {
            scalar_type,
            sizes: Some(at(sizes.to_vec())),
            dim_order: None,
            attributes: Vec::new(),
            data: None,
            view_of: None,
            mutable: false,
            memory: None,
            external: None,
            name: None,
            device: None,
            data_buffer_idx: None,
        };
        let value_of_tensor = Declared::Tensor(Box::new(tensor));
        self.method.values.push(Declaration { name: at(value.name()), index: None, value: value_of_tensor });
        value
    }

    /// Sets the fully qualified name of a tensor, which is its key in a `.ptd`.
    pub fn name(&mut self, tensor: Value, name: impl Into<String>) {
        self.tensor_mut(tensor).name = Some(at(name.into().into()));
    }

    /// Marks a tensor as dynamic: its sizes are the upper bounds of each execution.
    pub fn dynamic(&mut self, tensor: Value) {
        let dynamism = TENSOR_ATTRIBUTES.iter().position(|attribute| attribute.slot == tensor::shape_dynamism);
        self.tensor_mut(tensor).attributes.extend(dynamism.map(|attribute| (attribute, 1)));
    }

    /// Adds a kernel call with one tensor as its result; the out argument and defaults follow from the operator's schema.
    pub fn call(&mut self, operator: &str, arguments: &[Argument], scalar_type: ScalarType, sizes: &[i32]) -> Value {
        let result = self.tensor(scalar_type, sizes);
        self.call_into(operator, arguments, &[result]);
        result
    }

    /// Adds a kernel call that writes these values.
    pub fn call_into(&mut self, operator: &str, arguments: &[Argument], results: &[Value]) {
        let out = results.iter().map(|result| at(result.name())).collect();
        let name = at(operator.to_owned().into());
        self.instruction(Action::Kernel { name, args: literals(arguments), out: Some(out) });
    }

    /// Adds a call of a delegate: `payload` is what its backend compiled, `arguments` are its inputs, then its outputs.
    pub fn call_delegate(&mut self, backend: &str, payload: impl Into<Vec<u8>>, arguments: &[Value]) {
        let name: Cow<'static, str> = format!("d{}", self.method.delegates.len()).into();
        self.method.delegates.push(Delegate {
            name: at(name.clone()),
            backend: backend.to_owned().into(),
            data: data(payload.into()),
            compile_specs: Vec::new(),
            inline: None,
        });
        let args = arguments.iter().map(|value| at(value.literal())).collect();
        self.instruction(Action::Delegate { delegate: at(NameOrNumber::Name(name)), args });
    }

    /// Makes a value an output of the method.
    pub fn output(&mut self, value: Value) {
        self.method.outputs.push(at(value.literal()));
    }

    fn instruction(&mut self, action: Action<'static>) {
        self.method.chains[0].instructions.push(ParsedInstruction {
            label: None,
            stacktrace: None,
            action: Some(action),
        });
    }

    fn tensor_mut(&mut self, value: Value) -> &mut ParsedTensor<'static> {
        match &mut self.method.values[value.0].value {
            Declared::Tensor(tensor) => tensor,
            Declared::Other(_) => unreachable!("all values of a builder are tensors"),
        }
    }
}

/// Creates a node without a position.
fn at<T>(value: T) -> At<T> {
    At { id: NodeId::default(), value }
}

fn literals(arguments: &[Argument]) -> Vec<At<Literal<'static>>> {
    arguments.iter().map(|argument| at(argument.0.clone())).collect()
}

fn data(bytes: Vec<u8>) -> Data<'static> {
    Data { id: NodeId::default(), source: DataSource::Bytes(bytes), align: None, dtype: None, copy: 0 }
}

impl Program {
    /// A program of these methods, with values numbered as the exporter numbers them.
    ///
    /// # Errors
    /// Arguments that do not match the schema of their operator, data that do not match their sizes, duplicate method names.
    pub fn from_methods(methods: impl IntoIterator<Item = MethodBuilder>) -> Result<Program, Error> {
        let methods = methods.into_iter().map(|builder| builder.method).collect();
        let document = ParsedDocument { methods: Some(methods), ..ParsedDocument::default() };
        match ir::resolve::resolve(&document, Path::new("")) {
            Ok(resolved) => Ok(resolved.program),
            Err(messages) => {
                let whole = |message: ir::NodeDiagnostic| message.map(|_| None);
                let messages: Vec<Diagnostic> = messages.into_iter().map(whole).collect();
                Err(Error::new(Report::new("", "", messages)))
            }
        }
    }

    /// Plans the program and emits its files: a `.pte`, or for a program without methods a `.ptd`, and the files that `options` request.
    ///
    /// # Errors
    /// As [`plan`] and [`emit`].
    pub fn to_files(&self, options: &Options) -> Result<Assembly, Error> {
        emit(plan(self.clone().into(), options)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_invalid_argument_is_an_error_with_the_operator() {
        let mut forward = MethodBuilder::new("forward");
        let x = forward.input(ScalarType::FLOAT, &[2]);
        forward.call("aten::relu.out", &[x.into(), 1.into(), 2.into()], ScalarType::FLOAT, &[2]);
        let error = Program::from_methods([forward]).unwrap_err().to_string();
        assert!(error.contains("aten::relu.out"), "{error}");
    }

    #[test]
    fn data_must_match_the_sizes() {
        let mut forward = MethodBuilder::new("forward");
        let w = forward.constant(&[3], &[1.0f32, 2.0]);
        forward.output(w);
        let error = Program::from_methods([forward]).unwrap_err().to_string();
        assert!(error.contains('8') && error.contains("12"), "{error}");
    }
}
