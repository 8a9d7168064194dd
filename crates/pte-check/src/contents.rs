//! Contents of tensors that follow from the file: constants, and what calls compute from constants and literals, as the
//! operators evaluate them. They are evaluated when they are asked for.

use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;

use indexmap::IndexSet;
use smallvec::SmallVec;

use super::semantics::limits::Budget;
use super::semantics::method::MethodAnalysis;
use pte_analysis::inference::{Knowledge, literal_argument, stated_of_constant};
use pte_analysis::operators::ResolvedOperator;
use pte_model::data::number::{self, NumericValue};
use pte_model::data::{Blob, BlobId, BlobSource, elements, workers};
use pte_model::format::ScalarType;
use pte_model::program::{EValue, Tensor, TensorShapeDynamism, ValueId};
use pte_operators::Operator;
use pte_operators::evaluation::{self, ArgumentData, Unevaluated};
use pte_operators::inference::numbers::Number;
use pte_operators::inference::{self, Argument, InferenceError, IntMeta, ResultMeta, TensorMeta};

/// Elements of a content.
pub type ConstantInts = Arc<[i64]>;

/// Elements of a content in the order of memory: those that are the same whatever the caller passes.
pub type SameInts = Arc<[Option<i64>]>;

/// Largest result that is computed, in bytes.
const MAX_RESULT: usize = 16 << 20;

/// Number of samples of what the caller may pass.
pub const SAMPLES: u8 = 8;

/// Largest content of a sample, in bytes.
const MAX_SAMPLE: u64 = 1 << 18;

/// Something that a value may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Item {
    /// None.
    Null,
    /// An Int.
    Int(i64),
    /// A size that only execution determines, at most this.
    AtMost(i64),
    /// A truth value.
    Bool(bool),
    /// A floating point number, by its bits.
    Double(u64),
    /// A number that is not known.
    Unknown,
    /// The content of a tensor, by its index in [`Contents`].
    Content(u32),
    /// The sizes of a dynamic tensor, by their index in [`Contents`].
    Sizes(u32),
}

impl Item {
    /// Returns a number in the file; `None` for other values.
    pub fn of(value: &EValue) -> Option<Item> {
        Some(match value {
            EValue::Null => Item::Null,
            EValue::Int(int) => Item::Int(*int),
            EValue::Bool(value) => Item::Bool(*value),
            EValue::Double(value) => Item::Double(value.to_bits()),
            _ => return None,
        })
    }

    /// Returns a number that is known.
    pub fn of_number(number: Number) -> Item {
        match number {
            Number::Int(int) => Item::Int(int),
            Number::Bool(value) => Item::Bool(value),
            Number::Double(value) => Item::Double(value.to_bits()),
        }
    }

    /// Returns the number that `_local_scalar_dense` returns for an element; `None` if there is none.
    pub fn of_element(scalar_type: ScalarType, element: NumericValue) -> Option<Item> {
        match element {
            NumericValue::Int(int) if scalar_type.integers().is_some() => i64::try_from(int).ok().map(Item::Int),
            NumericValue::Bool(value) => Some(Item::Bool(value)),
            NumericValue::Complex(..) => None,
            NumericValue::Int(_) | NumericValue::Float(_) => Some(Item::Double(element.to_f64().to_bits())),
        }
    }

    /// Returns the number; `None` if it is not exact.
    pub fn number(self) -> Option<Number> {
        match self {
            Item::Int(int) => Some(Number::Int(int)),
            Item::Bool(value) => Some(Number::Bool(value)),
            Item::Double(bits) => Some(Number::Double(f64::from_bits(bits))),
            Item::Null | Item::AtMost(_) | Item::Unknown | Item::Content(_) | Item::Sizes(_) => None,
        }
    }

    /// Returns what inference knows about the value.
    pub fn knowledge(self) -> Knowledge {
        match self {
            Item::Null => Knowledge::Null,
            Item::Int(int) => Knowledge::Int(IntMeta::Exact(int)),
            Item::AtMost(most) => Knowledge::Int(IntMeta::AtMost(most)),
            Item::Bool(value) => Knowledge::Bool(value),
            Item::Double(bits) => Knowledge::Double(f64::from_bits(bits)),
            Item::Unknown | Item::Content(_) | Item::Sizes(_) => Knowledge::Nothing,
        }
    }
}

/// Values, and what they are. The sizes of a tensor have the index of the value plus the number of values.
pub type Assumption = SmallVec<[(usize, Item); 2]>;

/// A content.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub enum Node {
    /// Data of the file.
    Constant(BlobId),
    /// What the caller may pass.
    Sample {
        /// Index of the tensor.
        value: usize,
        /// Number of the sample, less than [`SAMPLES`].
        sample: u8,
    },
    /// What a call writes to a tensor.
    Result {
        /// Index of the call.
        call: u32,
        /// Index of the tensor.
        value: usize,
    },
    /// Some bytes of another content.
    Part {
        /// Index of the other content.
        of: u32,
        /// Offset of the bytes.
        offset: u64,
        /// Number of bytes.
        bytes: u64,
    },
}

/// A call with certain operands, and the contents of its results.
struct Call {
    step: u32,
    operands: Assumption,
    results: Option<Result<HashMap<usize, Blob>, String>>,
}

/// Contents and calls, each once.
#[derive(Default)]
pub struct Contents {
    /// Bytes that evaluations may take, if they are not those of the method.
    own: Option<RefCell<Budget>>,
    nodes: Vec<Node>,
    /// Sizes of dynamic tensors.
    sizes: IndexSet<TensorMeta>,
    indices: HashMap<Node, u32>,
    calls: Vec<Call>,
    call_indices: HashMap<(u32, Assumption), u32>,
    /// Contents that were read as Ints, once each.
    ints: HashMap<(u32, ScalarType), Option<ConstantInts>>,
    /// Least and greatest of the contents that were read as Ints, by their address.
    bounds: HashMap<*const i64, Option<[i64; 2]>>,
    /// Contents that the caller may pass, once each.
    sampled: HashMap<u32, Option<Blob>>,
    /// Contents of float32 that were read, with `true` if an element is NaN.
    with_nan: HashMap<u32, bool>,
}

impl Contents {
    /// Creates contents whose evaluations take no bytes from the method.
    pub fn with_budget(units: usize) -> Contents {
        Contents { own: Some(RefCell::new(Budget::of(units))), ..Contents::default() }
    }

    /// Takes bytes, and returns those that are left; `None` if there are too few.
    pub fn spend(&self, method: &MethodAnalysis<'_>, units: usize) -> Option<usize> {
        let take = |budget: &mut Budget| budget.spend(units).map(|()| budget.left());
        match &self.own {
            Some(own) => take(&mut own.borrow_mut()),
            None => take(&mut workers::lock(&method.constant_bytes)),
        }
    }

    /// Returns the index of a content.
    pub fn add(&mut self, node: Node) -> u32 {
        *self.indices.entry(node).or_insert_with(|| {
            self.nodes.push(node);
            self.nodes.len() as u32 - 1
        })
    }

    /// Returns the index of sizes.
    pub fn add_sizes(&mut self, meta: TensorMeta) -> u32 {
        self.sizes.insert_full(meta).0 as u32
    }

    /// Returns sizes by their index.
    pub fn sizes(&self, index: u32) -> &TensorMeta {
        &self.sizes[index as usize]
    }

    /// Returns what inference knows with an assumption.
    pub fn knowledge<'a>(
        &'a self,
        method: &'a MethodAnalysis<'_>,
        assumption: &'a Assumption,
    ) -> impl Iterator<Item = (usize, Knowledge)> + 'a {
        let count = method.values().len();
        assumption.iter().filter_map(move |(value, item)| match item {
            Item::Sizes(sizes) => Some((*value - count, Knowledge::Tensor(Box::new(self.sizes(*sizes).clone())))),
            // Its declaration holds.
            _ if *value >= count => None,
            _ => Some((*value, item.knowledge())),
        })
    }

    /// Returns the index of a call whose changing operands are `operands`.
    pub fn add_call(&mut self, step: u32, operands: Assumption) -> u32 {
        *self.call_indices.entry((step, operands.clone())).or_insert_with(|| {
            self.calls.push(Call { step, operands, results: None });
            self.calls.len() as u32 - 1
        })
    }

    /// Returns the index of some bytes of a content. A part of a part is one of the whole.
    pub fn add_part(&mut self, content: u32, offset: u64, bytes: u64) -> u32 {
        let (of, first) = match self.nodes[content as usize] {
            Node::Part { of, offset, .. } => (of, offset),
            Node::Constant(_) | Node::Sample { .. } | Node::Result { .. } => (content, 0),
        };
        self.add(Node::Part { of, offset: first.saturating_add(offset), bytes })
    }

    /// Evaluates a content.
    ///
    /// # Errors
    /// Why it is not evaluated: a clause.
    pub fn evaluate(&mut self, method: &MethodAnalysis<'_>, content: u32) -> Result<Blob, String> {
        // Contents of which others consist come first. They have smaller indices, so that the search ends.
        let mut open = vec![content];
        while let Some(&at) = open.last() {
            let missing: Vec<u32> = match self.nodes[at as usize] {
                Node::Constant(_) => Vec::new(),
                Node::Sample { value, sample } => {
                    let tensor = method.values()[value].as_tensor();
                    self.sampled.entry(at).or_insert_with(|| sampled(tensor?, value, sample));
                    Vec::new()
                }
                Node::Part { of, .. } => self.missing(of).into_iter().collect(),
                Node::Result { call, .. } => {
                    let Call { operands, results, .. } = &self.calls[call as usize];
                    let contents = operands.iter().filter_map(|(_, item)| match item {
                        Item::Content(of) => Some(*of),
                        _ => None,
                    });
                    let missing: Vec<u32> = match results {
                        Some(_) => Vec::new(),
                        None => contents.filter_map(|of| self.missing(of)).collect(),
                    };
                    if missing.is_empty() && results.is_none() {
                        let found = self.computed(method, call);
                        self.calls[call as usize].results = Some(found);
                    }
                    missing
                }
            };
            if missing.is_empty() {
                open.pop();
            }
            open.extend(missing);
        }
        self.get(method, content)
    }

    /// Returns the elements of a content of int32 or int64; those of a repeated number, once. `None` if they cannot be
    /// read, or if contents are too large in total.
    pub fn ints(&mut self, method: &MethodAnalysis<'_>, content: u32, scalar_type: ScalarType) -> Option<ConstantInts> {
        if let Some(ints) = self.ints.get(&(content, scalar_type)) {
            return ints.clone();
        }
        let bytes = self.bytes(method, content, scalar_type);
        let ints: Option<ConstantInts> = bytes.and_then(|bytes| elements::ints(scalar_type, &bytes));
        self.ints.insert((content, scalar_type), ints.clone());
        ints
    }

    /// Returns the least and the greatest of Ints of [`Contents::ints`]; nothing for none.
    pub fn bounds(&mut self, ints: &ConstantInts) -> Option<[i64; 2]> {
        // They are kept, so that the address is that of these.
        let of = || Some([*ints.iter().min()?, *ints.iter().max()?]);
        *self.bounds.entry(ints.as_ptr()).or_insert_with(of)
    }

    /// Returns `true` if a content of float32 has a NaN.
    pub fn has_nan(&mut self, method: &MethodAnalysis<'_>, content: u32) -> bool {
        if let Some(has_nan) = self.with_nan.get(&content) {
            return *has_nan;
        }
        let bytes = self.bytes(method, content, ScalarType::FLOAT).unwrap_or_default();
        let has_nan = bytes.as_chunks().0.iter().any(|element| f32::from_le_bytes(*element).is_nan());
        self.with_nan.insert(content, has_nan);
        has_nan
    }

    /// Reads an evaluated content as elements of a type; a repeated element once. The pattern that is repeated may be
    /// that of another type.
    pub fn bytes(&self, method: &MethodAnalysis<'_>, content: u32, scalar_type: ScalarType) -> Option<Vec<u8>> {
        let blob = self.get(method, content).ok()?;
        let BlobSource::Repeat(pattern) = blob.source() else {
            self.spend(method, usize::try_from(blob.len()).unwrap_or(usize::MAX))?;
            return blob.to_vec().ok();
        };
        let size = usize::try_from(scalar_type.info()?.size).ok()?;
        let mut bytes = pattern.repeat(size.div_ceil(pattern.len().max(1)));
        if bytes.chunks(size).all(|element| *element == bytes[..size.min(bytes.len())]) {
            bytes.truncate(size);
        }
        Some(bytes)
    }

    /// Returns a content whose call is not evaluated yet, of those that a content consists of.
    fn missing(&self, content: u32) -> Option<u32> {
        match self.nodes[content as usize] {
            Node::Part { of, .. } => self.missing(of),
            Node::Result { call, .. } => self.calls[call as usize].results.is_none().then_some(content),
            Node::Sample { .. } => (!self.sampled.contains_key(&content)).then_some(content),
            Node::Constant(_) => None,
        }
    }

    /// Returns a content whose call is evaluated.
    fn get(&self, method: &MethodAnalysis<'_>, content: u32) -> Result<Blob, String> {
        match self.nodes[content as usize] {
            Node::Constant(data) => Ok(method.program.blob(data).clone()),
            Node::Sample { .. } => {
                let content = self.sampled.get(&content).and_then(Option::as_ref);
                content.cloned().ok_or_else(|| "the caller passes it".to_owned())
            }
            Node::Result { call, value } => match &self.calls[call as usize].results {
                Some(Ok(results)) => {
                    results.get(&value).cloned().ok_or_else(|| "the call has no such result".to_owned())
                }
                Some(Err(reason)) => Err(reason.clone()),
                None => Err("it is not evaluated".to_owned()),
            },
            Node::Part { of, offset, bytes } => {
                let blob = self.get(method, of)?;
                if (offset, bytes) == (0, blob.len()) {
                    return Ok(blob);
                }
                let part = (bytes <= MAX_RESULT as u64).then(|| blob.part(offset, bytes).ok()?);
                part.flatten().ok_or_else(|| "it cannot be read".to_owned())
            }
        }
    }

    /// Evaluates a call.
    fn computed(&self, method: &MethodAnalysis<'_>, call: u32) -> Result<HashMap<usize, Blob>, String> {
        let Call { step, operands, .. } = &self.calls[call as usize];
        let Some((known, args)) = method.call(&method.steps[*step as usize]) else {
            return Err("the operator is not known".to_owned());
        };
        let refused = |reason: &str| format!("{} at instruction {step}: {reason}", known.name);
        let record = evaluator(&known.name).filter(|_| args.len() == known.arguments());
        let Some(record) = record else { return Err(format!("{} at instruction {step} is not evaluated", known.name)) };
        let of_call = CallContents { contents: self, method, known, args, operands };
        let unknown = || refused("an argument is not known");
        let arguments = of_call.arguments().ok_or_else(unknown)?;
        // An evaluation reads no larger content in memory.
        let read = |blob: &Blob| usize::try_from(blob.len()).unwrap_or(usize::MAX).min(MAX_RESULT);
        let bytes = arguments.iter().flat_map(|(_, blobs)| blobs).flatten().map(read).fold(0, usize::saturating_add);
        let too_large = || refused("the constants that calls read are too large in total");
        self.spend(method, bytes).ok_or_else(too_large)?;
        let (list, data): (Vec<Argument<'_>>, Vec<ArgumentData<'_>>) = arguments
            .iter()
            .map(|(argument, blobs)| {
                let data = match (argument, &blobs[..]) {
                    (Argument::Tensor(_), [Some(blob)]) => ArgumentData::Tensor(blob),
                    (Argument::Tensors(_), items) => ArgumentData::Tensors(items.iter().map(Option::as_ref).collect()),
                    _ => ArgumentData::None,
                };
                (argument.clone(), data)
            })
            .unzip();
        let results: Vec<ValueId> = known.result_values(args, method.values()).collect();
        let outs = results.iter().enumerate().map(|(number, result)| of_call.result(*result, number, &list));
        let outs: Vec<TensorMeta> = outs.collect::<Option<_>>().ok_or_else(unknown)?;
        // What does not fit into the rest is not computed first.
        let left = {
            // Elements that are computed, not only moved, take the time of 8 bytes, whatever their type.
            let is_moved = record.facts.movement.is_some();
            let padding = |out: &TensorMeta| {
                let size = out.scalar_type.info().map_or(1, |info| info.size.max(1));
                (evaluation::nbytes(out).unwrap_or(u64::MAX) / size).saturating_mul(8u64.saturating_sub(size))
            };
            let padding = outs.iter().map(padding).fold(0, u64::saturating_add);
            let padding = usize::try_from(padding).unwrap_or(usize::MAX);
            self.spend(method, if is_moved { 0 } else { padding }).ok_or_else(too_large)?
        };
        let found = record.evaluate(&list, &data, &outs, MAX_RESULT.min(left) as u64).map_err(|error| match error {
            Unevaluated::Reason(_) if left < MAX_RESULT => {
                _ = self.spend(method, usize::MAX);
                too_large()
            }
            Unevaluated::Operator => format!("{} at instruction {step} is not evaluated", known.name),
            Unevaluated::Reason(reason) => refused(reason),
            Unevaluated::Inference(InferenceError::Undetermined(reason)) => refused(reason),
            Unevaluated::Inference(_) => refused("the kernel does not take its arguments"),
            Unevaluated::Io(error) => refused(&error.to_string()),
        })?;
        let mut contents = HashMap::new();
        for (result, blob) in results.iter().zip(found) {
            if let BlobSource::Bytes(bytes) = blob.source() {
                self.spend(method, bytes.len()).ok_or_else(too_large)?;
            }
            contents.extend(result.get().map(|value| (value, blob)));
        }
        // An argument that is written in place is the result.
        let aliased = known.aliased.and_then(|at| args.get(at)?.get()).filter(|_| known.outs.is_empty());
        if let (Some(aliased), Some(blob)) = (aliased, results.first().and_then(|result| contents.get(&result.get()?)))
        {
            let blob = blob.clone();
            contents.insert(aliased, blob);
        }
        Ok(contents)
    }
}

/// Mixes numbers into one that looks random, the same on each machine.
pub fn mixed(numbers: [u64; 3]) -> u64 {
    let mix = |hash: u64, number: u64| {
        let mixed = (hash ^ number).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        mixed ^ mixed >> 29
    };
    numbers.into_iter().fold(0x51, mix).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 7
}

/// Returns a content that the caller may pass for an input: zeros, ones, small and large numbers of both signs.
fn sampled(tensor: &Tensor, value: usize, sample: u8) -> Option<Blob> {
    let bytes = tensor.nbytes().filter(|bytes| *bytes <= MAX_SAMPLE)?;
    let size = tensor.scalar_type.info()?.size;
    // Half of the bits of the type: sums and small products of large numbers do not overflow.
    let large = 1i64 << (size * 8 * 3 / 5).min(40);
    let least = tensor.scalar_type.integers().map_or(i64::MIN, |(least, _)| least);
    let mut content = Vec::with_capacity(bytes as usize);
    for index in 0..bytes / size.max(1) {
        let random = mixed([value as u64, sample.into(), index]);
        let small = (random >> 8 & 0xff) as i64;
        let number = match random % 6 {
            0 => 0,
            1 => 1,
            2 => small % 8,
            3 => small * 37 % large.max(2),
            4 => large + small % (large / 2).max(1),
            _ => -large - small % (large / 2).max(1),
        };
        let number = if number < least { small % 8 } else { number };
        if tensor.scalar_type.integers().is_some() {
            content.extend_from_slice(number.to_le_bytes().get(..size as usize)?);
            continue;
        }
        let number = match tensor.scalar_type {
            ScalarType::BOOL => NumericValue::Bool(random & 1 == 1),
            _ => NumericValue::Float(number as f64),
        };
        number::encode(tensor.scalar_type, number, &mut content).ok()?;
    }
    Some(Blob::bytes(content))
}

/// Returns the operator that computes the results of one: itself, or the out variant of one that works in place.
fn evaluator(name: &str) -> Option<&'static Operator> {
    let own = pte_operators::find(name).filter(|operator| operator.facts.evaluation.is_some());
    own.or_else(|| {
        let out = pte_operators::find(&format!("{}.out", name.strip_suffix('_')?))?;
        Some(out).filter(|operator| operator.facts.evaluation.is_some())
    })
}

/// Arguments of a call, with the content of each that has tensors.
type Arguments<'p> = Vec<(Argument<'p>, Vec<Option<Blob>>)>;

/// A call whose operands are evaluated.
struct CallContents<'c, 'p> {
    contents: &'c Contents,
    method: &'c MethodAnalysis<'p>,
    known: &'c ResolvedOperator,
    args: &'p [ValueId],
    operands: &'c Assumption,
}

impl<'p> CallContents<'_, 'p> {
    /// Returns the arguments before the outs; `None` if one is not known.
    fn arguments(&self) -> Option<Arguments<'p>> {
        let ins = self.args.iter().take(self.known.signature.ins().count()).enumerate();
        // The content of a tensor that is replaced is not read.
        let unread = |arg: &ValueId| {
            let value = self.method.value(*arg)?;
            let tensor = self.method.values()[value].as_tensor()?;
            let meta = self.meta(value, tensor)?;
            let blob = Blob::new(evaluation::nbytes(&meta)?, BlobSource::Repeat([0].into()));
            Some((Argument::Tensor(Cow::Owned(meta)), vec![Some(blob)]))
        };
        ins.map(|(at, arg)| if self.known.needs_no_content(at) { unread(arg) } else { self.argument(*arg) }).collect()
    }

    fn operand(&self, value: usize) -> Option<Item> {
        self.operands.iter().find(|(other, _)| *other == value).map(|(_, item)| *item)
    }

    fn tensor(&self, value: usize, tensor: &Tensor) -> Option<(TensorMeta, Blob)> {
        let Item::Content(content) = self.operand(value)? else { return None };
        Some((self.meta(value, tensor)?, self.contents.get(self.method, content).ok()?))
    }

    /// Returns the properties of a tensor; `None` if its sizes are not known.
    fn meta(&self, value: usize, tensor: &Tensor) -> Option<TensorMeta> {
        match self.operand(value + self.method.values().len()) {
            None => stated_of_constant(tensor),
            Some(Item::Sizes(sizes)) => Some(self.contents.sizes(sizes).clone()).filter(|meta| !meta.is_dynamic()),
            Some(_) => None,
        }
    }

    /// Returns the properties of a result; those of a dynamic tensor are inferred.
    fn result(&self, result: ValueId, number: usize, arguments: &[Argument<'_>]) -> Option<TensorMeta> {
        let tensor = result.item(self.method.values())?.as_tensor()?;
        let stated = stated_of_constant(tensor)?;
        if tensor.shape_dynamism == TensorShapeDynamism::STATIC {
            return Some(stated);
        }
        let call = inference::Call::new(&self.known.signature, arguments);
        match self.known.rule.and_then(|rule| rule(&call).ok())?.get(number)? {
            ResultMeta::Tensor(meta) => Some(TensorMeta { sizes: meta.sizes.clone(), ..stated }),
            ResultMeta::Tensors(_) | ResultMeta::Unwritten(_) | ResultMeta::Int(_) | ResultMeta::Scalar => Some(stated),
        }
    }

    fn argument(&self, arg: ValueId) -> Option<(Argument<'p>, Vec<Option<Blob>>)> {
        let value = self.method.value(arg)?;
        let stated = &self.method.values()[value];
        let number = |item: Item| {
            Some(match item {
                Item::Null => Argument::Null,
                Item::Int(int) => Argument::Int(IntMeta::Exact(int)),
                Item::Bool(value) => Argument::Bool(value),
                Item::Double(bits) => Argument::Double(f64::from_bits(bits)),
                Item::AtMost(_) | Item::Unknown | Item::Content(_) | Item::Sizes(_) => return None,
            })
        };
        let argument = match (stated, self.operand(value)) {
            (EValue::Tensor(tensor), _) => {
                let (meta, blob) = self.tensor(value, tensor)?;
                return Some((Argument::Tensor(Cow::Owned(meta)), vec![Some(blob)]));
            }
            (_, Some(item)) => number(item)?,
            (EValue::Unknown(_), None) => return None,
            (EValue::IntList(items), None) => {
                let int = |item: &i64| {
                    let value = self.method.value(ValueId::of_int(*item))?;
                    match (self.operand(value), &self.method.values()[value]) {
                        (Some(Item::Int(int)), _) => Some(IntMeta::Exact(int)),
                        (None, EValue::Int(int)) => Some(IntMeta::Exact(*int)),
                        _ => None,
                    }
                };
                Argument::Ints(items.as_deref()?.iter().map(int).collect::<Option<_>>()?)
            }
            (EValue::TensorList(items) | EValue::OptionalTensorList(items), None) => {
                let (mut metas, mut blobs) = (Vec::new(), Vec::new());
                for item in items.as_deref()? {
                    if *item == ValueId::NONE {
                        metas.push(None);
                        blobs.push(None);
                        continue;
                    }
                    let item = self.method.value(*item)?;
                    let (meta, blob) = self.tensor(item, self.method.values()[item].as_tensor()?)?;
                    metas.push(Some(Cow::Owned(meta)));
                    blobs.push(Some(blob));
                }
                return Some((Argument::Tensors(metas), blobs));
            }
            (literal, None) if self.method.first_write(value).is_none() => literal_argument(literal)?,
            (_, None) => return None,
        };
        Some((argument, Vec::new()))
    }
}
