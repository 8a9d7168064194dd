//! Builds programs in Rust, without YAML: values, constants and calls, method by method.
//!
//! A builder creates the same document as the YAML parser; [`crate::ir`] numbers values, completes calls and validates
//! both. Its nodes have no position in a source. They have a description instead, and messages begin with it.

use crate::ir::files::FileAccess;
use std::borrow::Cow;
use std::collections::HashSet;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::assembly::Assembly;
use crate::ir::document::{
    Action, At, Data, DataSource, Declaration, Declared, Delegate, ListKind, Literal, Method, MethodMemory,
    NameOrNumber, ParsedChain, ParsedDocument, ParsedInstruction, ParsedPayload, ParsedTensor,
};
use crate::ir::{self, NodeDiagnostic};
use crate::pipeline::{AssembleOptions, Resolved};
use pte_model::diagnostics::{Code, Diagnostic, Report};
use pte_model::error::Error;
use pte_model::format::ScalarType;
use pte_model::format::program::tensor;
use pte_model::program::TensorShapeDynamism;
use pte_model::program::attributes::TENSOR_ATTRIBUTES;
use pte_yaml::tree::NodeId;

/// Builder of a method.
///
/// ```
/// use pte_emit::{AssembleOptions, MethodBuilder, Resolved, ScalarType};
///
/// let mut forward = MethodBuilder::new("forward");
/// let x = forward.input(ScalarType::FLOAT, &[2, 2]);
/// let y = forward.call_inferred("aten::relu.out", &[x.into()]);
/// forward.output(y);
/// let files = Resolved::from_methods([forward])?.to_files(&AssembleOptions::default())?;
/// assert_eq!(&files.program_file().unwrap().to_vec()?[4..8], b"ET12");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// A method with a counter, a call with two results, and a delegate:
///
/// ```
/// use pte_emit::{MethodBuilder, Resolved, ScalarType};
///
/// let mut forward = MethodBuilder::new("forward");
/// let x = forward.input(ScalarType::FLOAT, &[8, 4]);
/// forward.dynamic(x); // at most 8 rows
///
/// let count = forward.state(&[1], &[0i64]);
/// forward.name(count, "counter.count");
/// forward.call_into("aten::add.Scalar_out", &[count.into(), 1.into()], &[count]);
///
/// let [values, indices] = [forward.inferred(), forward.inferred()];
/// forward.call_into("aten::topk.values", &[x.into(), 2.into()], &[values, indices]);
///
/// let y = forward.tensor(ScalarType::FLOAT, &[8, 2]);
/// forward.call_delegate("MyBackend", b"compiled for MyBackend", &[values, y]);
/// [y, indices].map(|value| forward.output(value));
/// let program = Resolved::from_methods([forward])?.program;
/// assert_eq!(program.plans()[0].delegates()[0].id.as_deref(), Some("MyBackend"));
/// # Ok::<(), pte_emit::Error>(())
/// ```
/// Elements of any type are bytes, and a payload has a name:
///
/// ```
/// use pte_emit::{MethodBuilder, Resolved, ScalarType, Value};
///
/// let mut forward = MethodBuilder::new("forward");
/// let float8 = ScalarType::parse("float8_e4m3fn").unwrap();
/// let weight: Value = forward.constant_bytes(float8, &[2], [0x38, 0xb8]); // 1.0, -1.0
/// forward.name(weight, "fc.weight");
/// let cache = forward.state_bytes(ScalarType::parse("uint16").unwrap(), &[2], vec![0; 4]);
/// [weight, cache].map(|value| forward.output(value));
/// assert_eq!(Resolved::from_methods([forward])?.program.blobs.len(), 2);
/// # Ok::<(), pte_emit::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct MethodBuilder {
    /// Distinguishes its values from those of other builders.
    id: u64,
    name: String,
    values: Vec<TensorRecord>,
    inputs: Vec<Value>,
    outputs: Vec<Value>,
    calls: Vec<CallRecord>,
    /// Names of the functions that were called with a value of another builder.
    errors: Vec<String>,
}

/// A tensor of a builder.
#[derive(Debug, Clone)]
struct TensorRecord {
    /// Description in messages: `input 0`.
    label: String,
    /// Fully qualified name.
    name: Option<String>,
    /// Element type and sizes; `None` if they are inferred.
    stated: Option<(ScalarType, Vec<i32>)>,
    data: Option<Vec<u8>>,
    mutable: bool,
    dynamic: bool,
}

/// A call of a builder.
#[derive(Debug, Clone)]
enum CallRecord {
    Kernel { operator: String, arguments: Vec<Argument>, results: Vec<Value> },
    Delegate { backend: String, payload: Vec<u8>, arguments: Vec<Value> },
}

/// A value of the method that a [`MethodBuilder`] builds. [`Resolved::from_methods`] assigns its index in the program,
/// and rejects values of another builder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Value {
    builder: u64,
    index: usize,
}

/// An argument of a call: a value, or a literal that becomes one.
///
/// ```
/// use pte_emit::{Argument, MethodBuilder, Resolved, ScalarType};
///
/// let mut forward = MethodBuilder::new("forward");
/// let x = forward.input(ScalarType::FLOAT, &[2, 3]);
/// let at_most_six = [x.into(), Argument::NONE, 6.0.into()]; // self, min, max
/// let y = forward.call("aten::clamp.out", &at_most_six, ScalarType::FLOAT, &[2, 3]);
/// let columns = forward.constant(&[2], &[0i64, 2]);
/// let index = [y.into(), Argument::list(&[None, Some(columns)])]; // y[:, [0, 2]]
/// let z = forward.call("aten::index.Tensor_out", &index, ScalarType::FLOAT, &[2, 2]);
/// forward.output(z);
/// assert!(Resolved::from_methods([forward]).is_ok());
/// ```
///
/// Lists of numbers, truth values and tensors are arrays or slices:
///
/// ```
/// use pte_emit::{Argument, MethodBuilder, Resolved, ScalarType};
///
/// let mut forward = MethodBuilder::new("forward");
/// let image = forward.input(ScalarType::FLOAT, &[1, 3, 4, 4]);
/// let arguments = [image.into(), Argument::NONE, false.into(), [2.0, 2.0].into()];
/// let large = forward.call("aten::upsample_bilinear2d.vec_out", &arguments, ScalarType::FLOAT, &[1, 3, 8, 8]);
/// let both = [[large, large].into(), 1.into()];
/// let both = forward.call("aten::cat.out", &both, ScalarType::FLOAT, &[1, 6, 8, 8]);
/// let mask = Argument::from([true, false]);
/// let masked = forward.call("my::select.out", &[both.into(), mask], ScalarType::FLOAT, &[1, 6, 8, 8]);
/// forward.output(masked);
/// assert!(Resolved::from_methods([forward]).is_ok());
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Argument(ArgumentKind);

#[derive(Debug, Clone, PartialEq)]
enum ArgumentKind {
    Value(Value),
    Literal(Literal<'static>),
    /// A list of literals, and its kind if it is empty.
    List(ListKind, Vec<Literal<'static>>),
    Values(Vec<Option<Value>>),
}

impl Argument {
    /// The argument `None`.
    pub const NONE: Argument = Argument(ArgumentKind::Literal(Literal::Null));

    /// Creates a list of values; an item can be `None`.
    pub fn list(values: &[Option<Value>]) -> Argument {
        Argument(ArgumentKind::Values(values.to_vec()))
    }
}

macro_rules! arguments {
    ($( $type:ty => |$value:ident| $kind:expr; )*) => {$(
        impl From<$type> for Argument {
            fn from($value: $type) -> Argument {
                Argument($kind)
            }
        }
    )*};
}

arguments! {
    Value => |value| ArgumentKind::Value(value);
    i64 => |n| ArgumentKind::Literal(Literal::Int(n));
    i32 => |n| ArgumentKind::Literal(Literal::Int(n.into()));
    f64 => |x| ArgumentKind::Literal(Literal::Double(x));
    bool => |b| ArgumentKind::Literal(Literal::Bool(b));
    &str => |text| ArgumentKind::Literal(Literal::String(text.to_owned().into()));
    ScalarType => |scalar_type| ArgumentKind::Literal(Literal::Dtype(scalar_type));
    &[i64] => |items| ArgumentKind::List(ListKind::Int, items.iter().copied().map(Literal::Int).collect());
    &[f64] => |items| ArgumentKind::List(ListKind::Double, items.iter().copied().map(Literal::Double).collect());
    &[bool] => |items| ArgumentKind::List(ListKind::Bool, items.iter().copied().map(Literal::Bool).collect());
    &[Value] => |items| ArgumentKind::Values(items.iter().copied().map(Some).collect());
}

macro_rules! array_arguments {
    ($( $item:ty )*) => {$(
        impl<const N: usize> From<[$item; N]> for Argument {
            fn from(items: [$item; N]) -> Argument {
                items.as_slice().into()
            }
        }
    )*};
}

array_arguments! { i64 f64 bool Value }

/// A Rust type that stores the elements of a tensor.
///
/// ```
/// use pte_emit::{MethodBuilder, ScalarType, TensorElement, Value};
///
/// /// A complex number: real and imaginary part.
/// #[derive(Clone, Copy)]
/// struct Complex(f32, f32);
///
/// impl TensorElement for Complex {
///     const SCALAR_TYPE: ScalarType = ScalarType::COMPLEXFLOAT;
///
///     fn append_to(self, bytes: &mut Vec<u8>) {
///         bytes.extend(self.0.to_le_bytes());
///         bytes.extend(self.1.to_le_bytes());
///     }
/// }
///
/// let mut forward = MethodBuilder::new("forward");
/// let roots: Value = forward.constant(&[2], &[Complex(0f32, 1f32), Complex(0f32, -1f32)]);
/// let mask = forward.constant(&[2], &[true, false]);
/// [roots, mask].map(|value| forward.output(value));
/// ```
///
/// It is implemented for integers, floating-point numbers and `bool`, and for [`half::f16`] and [`half::bf16`] of
/// version 2 of the crate `half`.
pub trait TensorElement: Copy {
    /// The element type.
    const SCALAR_TYPE: ScalarType;
    /// Appends the little-endian bytes of an element.
    fn append_to(self, bytes: &mut Vec<u8>);
}

macro_rules! elements {
    ($( $type:ty => $name:ident; )*) => {$(
        impl TensorElement for $type {
            const SCALAR_TYPE: ScalarType = ScalarType::$name;

            fn append_to(self, bytes: &mut Vec<u8>) {
                bytes.extend_from_slice(&self.to_le_bytes());
            }
        }
    )*};
}

elements! {
    u8 => BYTE; i8 => CHAR; i16 => SHORT; i32 => INT; i64 => LONG; half::f16 => HALF; f32 => FLOAT; f64 => DOUBLE;
    half::bf16 => BFLOAT16; u16 => UINT16; u32 => UINT32; u64 => UINT64;
}

impl TensorElement for bool {
    const SCALAR_TYPE: ScalarType = ScalarType::BOOL;

    fn append_to(self, bytes: &mut Vec<u8>) {
        bytes.push(self.into());
    }
}

impl MethodBuilder {
    /// Creates a method without values.
    pub fn new(name: impl Into<String>) -> MethodBuilder {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        MethodBuilder {
            id: NEXT.fetch_add(1, Ordering::Relaxed),
            name: name.into(),
            values: Vec::new(),
            inputs: Vec::new(),
            outputs: Vec::new(),
            calls: Vec::new(),
            errors: Vec::new(),
        }
    }

    /// Adds a tensor that the caller provides.
    pub fn input(&mut self, scalar_type: ScalarType, sizes: &[i32]) -> Value {
        let value = self.add(format!("input {}", self.inputs.len()), Some((scalar_type, sizes)), None);
        self.inputs.push(value);
        value
    }

    /// Adds a constant with these elements, in the order of contiguous memory.
    pub fn constant<T: TensorElement>(&mut self, sizes: &[i32], elements: &[T]) -> Value {
        self.constant_bytes(T::SCALAR_TYPE, sizes, bytes_of(elements))
    }

    /// Adds a constant of any element type, as the little-endian bytes of its elements in the order of contiguous
    /// memory.
    pub fn constant_bytes(&mut self, scalar_type: ScalarType, sizes: &[i32], bytes: impl Into<Vec<u8>>) -> Value {
        let number = self.values.iter().filter(|value| value.data.is_some() && !value.mutable).count();
        self.add(format!("constant {number}"), Some((scalar_type, sizes)), Some(bytes.into()))
    }

    /// Adds a tensor that keeps its elements from one execution to the next. These are its elements in the first one.
    pub fn state<T: TensorElement>(&mut self, sizes: &[i32], elements: &[T]) -> Value {
        self.state_bytes(T::SCALAR_TYPE, sizes, bytes_of(elements))
    }

    /// Adds a tensor like [`MethodBuilder::state`], with its elements as bytes like [`MethodBuilder::constant_bytes`].
    pub fn state_bytes(&mut self, scalar_type: ScalarType, sizes: &[i32], bytes: impl Into<Vec<u8>>) -> Value {
        let number = self.values.iter().filter(|value| value.mutable).count();
        let value = self.add(format!("state {number}"), Some((scalar_type, sizes)), Some(bytes.into()));
        self.values[value.index].mutable = true;
        value
    }

    /// Adds a tensor for a result, which [`MethodBuilder::call_into`] or a delegate writes.
    pub fn tensor(&mut self, scalar_type: ScalarType, sizes: &[i32]) -> Value {
        let number = self.values.iter().filter(|value| value.label.starts_with("tensor ")).count();
        self.add(format!("tensor {number}"), Some((scalar_type, sizes)), None)
    }

    /// Adds a value for a result, which [`MethodBuilder::call_into`] writes. Its properties are inferred as for
    /// [`MethodBuilder::call_inferred`].
    pub fn inferred(&mut self) -> Value {
        let number = self.values.iter().filter(|value| value.label.starts_with("inferred ")).count();
        self.add(format!("inferred {number}"), None, None)
    }

    /// Adds a value; `stated` is its element type and sizes, `None` if they are inferred.
    fn add(&mut self, label: String, stated: Option<(ScalarType, &[i32])>, data: Option<Vec<u8>>) -> Value {
        let index = self.values.len();
        let (name, mutable, dynamic) = (None, false, false);
        let stated = stated.map(|(scalar_type, sizes)| (scalar_type, sizes.to_vec()));
        self.values.push(TensorRecord { label, name, stated, data, mutable, dynamic });
        Value { builder: self.id, index }
    }

    /// Sets the fully qualified name of a tensor, which is its key in a `.ptd`.
    pub fn name(&mut self, tensor: Value, name: impl Into<String>) {
        let name = name.into();
        match self.own(tensor) {
            Some(tensor) => tensor.name = Some(name),
            None => self.errors.push(format!("cannot set the name `{name}`")),
        }
    }

    /// Marks a tensor as dynamic: its sizes are upper bounds, and can be smaller in each execution.
    pub fn dynamic(&mut self, tensor: Value) {
        match self.own(tensor) {
            Some(tensor) => tensor.dynamic = true,
            None => self.errors.push("cannot mark a tensor as dynamic".to_owned()),
        }
    }

    /// Adds a kernel call with one tensor as its result. The schema of the operator gives the out argument and the
    /// defaults of arguments.
    ///
    /// `scalar_type` and `sizes` are those of the result. Operators without a rule of inference and conversions need
    /// them; for other operators they are compared with the inferred ones. See [`MethodBuilder::call_inferred`].
    pub fn call(&mut self, operator: &str, arguments: &[Argument], scalar_type: ScalarType, sizes: &[i32]) -> Value {
        self.call_with(operator, arguments, Some((scalar_type, sizes)))
    }

    /// Adds a kernel call with one result, a tensor or a number. Its element type, sizes, dim_order and dynamism follow
    /// from the operator and its arguments. [`Resolved::from_methods`] reports results that cannot be inferred: those
    /// of unknown operators, and those whose sizes depend on data.
    ///
    /// ```
    /// use pte_emit::program::EValue;
    /// use pte_emit::{MethodBuilder, Resolved, ScalarType};
    ///
    /// let mut forward = MethodBuilder::new("forward");
    /// let x = forward.input(ScalarType::FLOAT, &[8, 2, 2]);
    /// forward.dynamic(x); // at most 8 samples
    /// let samples = forward.call_inferred("aten::sym_size.int", &[x.into(), 0.into()]);
    /// let sum = forward.call_inferred("aten::sum.IntList_out", &[x.into(), [1i64, 2].into()]);
    /// let positive = forward.call_inferred("aten::gt.Scalar_out", &[sum.into(), 0.into()]);
    /// [samples, positive].map(|value| forward.output(value));
    ///
    /// let program = Resolved::from_methods([forward])?.program;
    /// let plan = &program.plans()[0];
    /// let output = plan.outputs.as_deref().unwrap()[1];
    /// let Some(EValue::Tensor(positive)) = plan.value(output) else { panic!("a tensor") };
    /// assert_eq!((positive.scalar_type, positive.sizes.as_deref()), (ScalarType::BOOL, Some(&[8][..])));
    /// # Ok::<(), pte_emit::Error>(())
    /// ```
    pub fn call_inferred(&mut self, operator: &str, arguments: &[Argument]) -> Value {
        self.call_with(operator, arguments, None)
    }

    fn call_with(&mut self, operator: &str, arguments: &[Argument], stated: Option<(ScalarType, &[i32])>) -> Value {
        let label = format!("result of instruction {} ({operator})", self.calls.len());
        let result = self.add(label, stated, None);
        self.call_into(operator, arguments, &[result]);
        result
    }

    /// Adds a kernel call that writes these values.
    pub fn call_into(&mut self, operator: &str, arguments: &[Argument], results: &[Value]) {
        let (operator, arguments, results) = (operator.to_owned(), arguments.to_vec(), results.to_vec());
        self.calls.push(CallRecord::Kernel { operator, arguments, results });
    }

    /// Adds a call of a delegate. `payload` was compiled by its backend; `arguments` are its inputs, then its outputs.
    pub fn call_delegate(&mut self, backend: &str, payload: impl Into<Vec<u8>>, arguments: &[Value]) {
        let (backend, payload, arguments) = (backend.to_owned(), payload.into(), arguments.to_vec());
        self.calls.push(CallRecord::Delegate { backend, payload, arguments });
    }

    /// Makes a value an output of the method.
    pub fn output(&mut self, value: Value) {
        self.outputs.push(value);
    }

    /// Returns the tensor of a value; `None` if the value is of another builder.
    fn own(&mut self, value: Value) -> Option<&mut TensorRecord> {
        self.values.get_mut(value.index).filter(|_| value.builder == self.id)
    }
}

fn bytes_of<T: TensorElement>(elements: &[T]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(size_of_val(elements));
    elements.iter().for_each(|element| element.append_to(&mut bytes));
    bytes
}

/// Returns a list of this kind. The kind is left to the schema of the operator if it has one, or else to the items; an
/// empty list needs it.
fn list(kind: ListKind, items: Vec<At<Literal<'static>>>, has_schema: bool) -> Literal<'static> {
    if items.is_empty() && !has_schema { Literal::Typed(kind, items) } else { Literal::List(items) }
}

/// Converts builders to the methods of a document.
struct DocumentBuilder {
    /// Description of each node; that of node 0 is empty.
    nodes: Vec<String>,
    errors: Vec<NodeDiagnostic>,
}

impl DocumentBuilder {
    fn node(&mut self, description: impl Into<String>) -> NodeId {
        self.nodes.push(description.into());
        NodeId(u32::try_from(self.nodes.len() - 1).unwrap_or_default())
    }

    /// Returns the name of a value in the document.
    fn name(&mut self, method: &MethodBuilder, value: Value, id: NodeId) -> Cow<'static, str> {
        match method.values.get(value.index).filter(|_| value.builder == method.id) {
            Some(tensor) => tensor.document_name().into(),
            None => {
                self.errors.push(Code::ForeignValue.error(id, FOREIGN_VALUE));
                Cow::default()
            }
        }
    }

    fn word(&mut self, method: &MethodBuilder, value: Value, description: &str) -> At<Cow<'static, str>> {
        let id = self.node(description);
        At { id, value: self.name(method, value, id) }
    }

    fn value(&mut self, method: &MethodBuilder, value: Value, description: &str) -> At<Literal<'static>> {
        let At { id, value } = self.word(method, value, description);
        At { id, value: Literal::Word(value) }
    }

    fn argument(
        &mut self,
        method: &MethodBuilder,
        argument: &Argument,
        has_schema: bool,
        description: &str,
    ) -> At<Literal<'static>> {
        let id = self.node(description);
        let value = match &argument.0 {
            ArgumentKind::Value(value) => Literal::Word(self.name(method, *value, id)),
            ArgumentKind::Literal(literal) => literal.clone(),
            ArgumentKind::List(kind, items) => {
                let items = items.iter().map(|item| At { id, value: item.clone() });
                list(*kind, items.collect(), has_schema)
            }
            ArgumentKind::Values(values) => {
                let item = |(number, value): (usize, &Option<Value>)| match value {
                    Some(value) => self.value(method, *value, &format!("{description}[{number}]")),
                    None => At { id, value: Literal::Null },
                };
                list(ListKind::Tensor, values.iter().enumerate().map(item).collect(), has_schema)
            }
        };
        At { id, value }
    }

    fn method(&mut self, mut builder: MethodBuilder) -> Method<'static> {
        let description = format!("method `{}`", builder.name);
        let id = self.node(&*description);
        let errors = std::mem::take(&mut builder.errors).into_iter();
        self.errors.extend(errors.map(|error| Code::ForeignValue.error(id, format!("{error}: {FOREIGN_VALUE}"))));
        // Values come before calls, because the messages about values are reported first.
        let values = builder.values.iter();
        let values: Vec<NodeId> =
            values.map(|tensor| self.node(format!("{description}, {}", tensor.document_name()))).collect();
        let calls = std::mem::take(&mut builder.calls);
        let (mut instructions, mut delegates) = (Vec::with_capacity(calls.len()), Vec::new());
        for (number, call) in calls.into_iter().enumerate() {
            let description = format!("{description}, instruction {number}");
            let action = match call {
                CallRecord::Kernel { operator, arguments, results } => {
                    let description = format!("{description} ({operator})");
                    let has_schema = pte_operators::find(&operator).is_some();
                    let name = At { id: self.node(&*description), value: operator.into() };
                    let args = arguments.iter().enumerate().map(|(number, argument)| {
                        self.argument(&builder, argument, has_schema, &format!("{description}, argument {number}"))
                    });
                    let args = args.collect();
                    let out = results.iter().enumerate();
                    let out = out.map(|(number, result)| {
                        self.word(&builder, *result, &format!("{description}, result {number}"))
                    });
                    Action::Kernel { name, args, out: Some(out.collect()) }
                }
                CallRecord::Delegate { backend, payload, arguments } => {
                    let description = format!("{description} ({backend})");
                    let id = self.node(&*description);
                    let name: Cow<'static, str> = format!("delegate {}", delegates.len()).into();
                    delegates.push(Delegate {
                        name: At { id, value: name.clone() },
                        backend: Cow::from(backend).into(),
                        payload: ParsedPayload::Data(data(id, payload)),
                        compile_specs: Vec::new(),
                        inline: None,
                    });
                    let args = arguments.iter().enumerate().map(|(number, argument)| {
                        self.value(&builder, *argument, &format!("{description}, argument {number}"))
                    });
                    Action::Delegate { delegate: At { id, value: NameOrNumber::Name(name) }, args: args.collect() }
                }
            };
            instructions.push(ParsedInstruction { label: None, stacktrace: None, action: Some(action) });
        }
        let inputs = builder.inputs.iter().enumerate();
        let inputs = inputs
            .map(|(number, input)| self.value(&builder, *input, &format!("{description}, input {number}")))
            .collect();
        let outputs = builder.outputs.iter().enumerate();
        let outputs = outputs
            .map(|(number, output)| self.value(&builder, *output, &format!("{description}, output {number}")))
            .collect();
        let values = builder.values.into_iter().zip(values);
        // A value without explicit properties is declared by the call that writes it, as a tensor or a number.
        let values = values.filter(|(tensor, _)| !tensor.is_implied()).map(|(tensor, id)| tensor.declaration(id));
        Method {
            values: values.collect(),
            name: At { id, value: builder.name.into() },
            inputs,
            outputs,
            chains: vec![ParsedChain { instructions, ..ParsedChain::default() }],
            delegates,
            operators: Vec::new(),
            memory: MethodMemory::default(),
            requires_grad: false,
            container_meta: None,
            tests: Vec::new(),
        }
    }

    /// Prefixes a message with the description of its node.
    fn describe(&self, message: NodeDiagnostic) -> NodeDiagnostic {
        let node = message.at.and_then(|id| self.nodes.get(id.0 as usize)).filter(|node| !node.is_empty());
        let text = node.map_or_else(|| message.message.clone(), |node| format!("{node}: {}", message.message));
        NodeDiagnostic { message: text, ..message.map(|_| None) }
    }
}

const FOREIGN_VALUE: &str = "the value is one of another MethodBuilder";

impl TensorRecord {
    /// Returns the name in the document, which is unique in its method.
    fn document_name(&self) -> String {
        match &self.name {
            Some(name) => format!("{} ({name})", self.label),
            None => self.label.clone(),
        }
    }

    /// Returns true if the value has no explicit properties.
    fn is_implied(&self) -> bool {
        self.stated.is_none() && self.name.is_none() && !self.dynamic
    }

    fn declaration(self, id: NodeId) -> Declaration<'static> {
        let name = At { id, value: self.document_name().into() };
        let dynamism = TENSOR_ATTRIBUTES.iter().position(|attribute| attribute.slot == tensor::shape_dynamism);
        let (scalar_type, sizes) = self.stated.unzip();
        let tensor = ParsedTensor {
            extra_tensor_info: false,
            scalar_type: scalar_type.map(|value| At { id, value }),
            sizes: sizes.map(|value| At { id, value }),
            dim_order: None,
            attributes: dynamism
                .filter(|_| self.dynamic)
                .map(|attribute| (attribute, TensorShapeDynamism::DYNAMIC_BOUND.0.into()))
                .into_iter()
                .collect(),
            data: self.data.map(|bytes| data(id, bytes)),
            view_of: None,
            mutable: self.mutable,
            memory: None,
            external: None,
            name: self.name.map(|name| At { id, value: name.into() }),
            device: None,
            data_buffer_idx: None,
        };
        Declaration { name, index: None, value: Declared::Tensor(Box::new(tensor)) }
    }
}

fn data(id: NodeId, bytes: Vec<u8>) -> Data<'static> {
    Data { id, source: DataSource::Bytes(bytes.into()), align: None, dtype: None, copy: 0 }
}

impl Resolved {
    /// Creates a program of these methods. Values are numbered as the exporter numbers them. Warnings are in
    /// [`Assembly::warnings`].
    ///
    /// # Errors
    /// Arguments do not match the schema of their operator, data do not match their sizes, method names are duplicates,
    /// or values are of another builder.
    pub fn from_methods(methods: impl IntoIterator<Item = MethodBuilder>) -> Result<Resolved, Error> {
        let mut builder = DocumentBuilder { nodes: vec![String::new()], errors: Vec::new() };
        let methods: Vec<Method<'_>> = methods.into_iter().map(|method| builder.method(method)).collect();
        let mut names = HashSet::new();
        for name in methods.iter().map(|method| &method.name).filter(|name| !names.insert(&*name.value)) {
            builder.errors.push(Code::DuplicateName.whole(format!("duplicate method name `{}`", name.value)));
        }
        let document = ParsedDocument { methods: Some(methods), ..ParsedDocument::default() };
        let errors = std::mem::take(&mut builder.errors);
        let resolved = match errors.is_empty() {
            true => ir::resolve::resolve(&document, &FileAccess::default()),
            false => Err(errors),
        };
        match resolved {
            Ok(resolved) => {
                let messages = resolved.diagnostics.into_iter().map(|message| builder.describe(message)).collect();
                let reported_operators = resolved.reported_operators;
                let mut resolved = Resolved::from(resolved.program);
                resolved.messages = messages;
                resolved.reported_operators = reported_operators;
                Ok(resolved)
            }
            Err(messages) => {
                let messages = messages.into_iter().map(|message| builder.describe(message).map(|_| None));
                Err(Error::new(Report::new("", "", messages.collect::<Vec<Diagnostic>>())))
            }
        }
    }

    /// Plans the program and emits its files.
    ///
    /// ```
    /// use pte_emit::program::{Device, DeviceType, EValue, Memory, NonConstBufferDevice, Program};
    /// use pte_emit::{AssembleOptions, MethodBuilder, Resolved, ScalarType};
    ///
    /// let mut forward = MethodBuilder::new("forward");
    /// let x = forward.input(ScalarType::FLOAT, &[4]);
    /// let y = forward.call("aten::relu.out", &[x.into()], ScalarType::FLOAT, &[4]);
    /// forward.output(y);
    /// let mut program: Program = Resolved::from_methods([forward])?.program;
    ///
    /// let method = &mut program.execution_plan.as_mut().unwrap()[0];
    /// for value in method.values.iter_mut().flatten() {
    ///     if let EValue::Tensor(tensor) = value {
    ///         tensor.memory = Memory::Auto { pool: Some(2), persistent: false, shared: None };
    ///     }
    /// }
    /// method.memory.alignment = Some(64);
    /// let device = Device { device_type: DeviceType::CUDA, index: 0 };
    /// method.memory.non_const_buffer_device = Some(vec![NonConstBufferDevice::new(2, device)]);
    ///
    /// let files = Resolved::from(program).to_files(&AssembleOptions::default())?;
    /// assert_eq!(files.plan().memory[0].sizes, [0, 0, 128]);
    /// # Ok::<(), pte_emit::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Resolved::plan`] and [`Planned::emit`](crate::Planned::emit).
    pub fn to_files(self, options: &AssembleOptions) -> Result<Assembly, Error> {
        self.plan(options)?.emit()
    }
}
