//! Infers properties of the values of a method before it runs, instruction by instruction. It applies the rules of
//! [`pte_operators::inference`] to the calls of a program.
//!
//! It changes no program: `ir` completes undeclared results, `check` compares the declarations of a file with the
//! results, and the printer omits inferred properties.

use std::borrow::Cow;
use std::cell::Cell;

use super::operators::{MethodOperators, ResolvedOperator};
use pte_model::format::ScalarType;
use pte_model::program::{DimOrder, EValue, ExecutionPlan, MAX_DIMENSIONS, Tensor, TensorShapeDynamism, ValueId};
use pte_operators::Base;
use pte_operators::facts::Gradients;
use pte_operators::inference::{Argument, Call, Dim, InferenceError, IntMeta, ResultMeta, TensorMeta, constraints};
use pte_operators::movement::Strided;
use pte_operators::temporary::Temporary;

/// Knowledge about a value.
#[derive(Debug, Clone, PartialEq)]
pub enum Knowledge {
    /// The declaration of the program holds.
    Stated,
    /// Properties of a tensor.
    Tensor(Box<TensorMeta>),
    /// An Int that an instruction writes.
    Int(IntMeta),
    /// A truth value that an instruction writes.
    Bool(bool),
    /// A floating point number that an instruction writes.
    Double(f64),
    /// None, which an instruction writes.
    Null,
    /// The declaration of a dynamic tensor holds. It has its sizes together with another one, so that results of calls
    /// do not narrow them.
    Shared,
    /// Nothing is known, because several instructions write it or its inference failed.
    Nothing,
}

/// The state of the inference, with the knowledge about each value.
#[derive(Debug)]
pub struct Inference {
    known: Vec<Knowledge>,
    /// Number of writes of each value, by instructions and the caller.
    writes: Vec<u8>,
    /// Number of items of lists that calls may still read.
    items: Cell<usize>,
}

/// Number of items of lists that the calls of a method read with [`Inference::bounded`]. The work of a small file in
/// which many calls have a long list would otherwise be the product of both.
const MAX_ITEMS: usize = 1 << 20;

/// Number of items of a list whose gradients count.
const MAX_GRADIENTS: usize = 256;

impl Inference {
    /// Creates the inference of a method from its declarations. Numbers that instructions write are unknown until then.
    pub fn new(plan: &ExecutionPlan, operators: &MethodOperators) -> Inference {
        let count = plan.values().len();
        let known = vec![Knowledge::Stated; count];
        let mut inference = Inference { known, writes: vec![0; count], items: Cell::new(usize::MAX) };
        for instruction in plan.instructions() {
            let written = operators.uses(instruction).filter(|usage| usage.kind.may_write());
            for index in written.filter_map(|usage| usage.value.get()) {
                if let Some(writes) = inference.writes.get_mut(index) {
                    *writes = writes.saturating_add(1);
                }
            }
        }
        // The caller sets inputs, but an Int or a Bool only to the value that it has in the program (I-27).
        let is_free = |input: &usize| !matches!(plan.values().get(*input), Some(EValue::Int(_) | EValue::Bool(_)));
        for input in plan.inputs.iter().flatten().filter_map(|input| input.get()).filter(is_free) {
            if let Some(writes) = inference.writes.get_mut(input) {
                *writes = writes.saturating_add(1);
            }
        }
        for (index, value) in plan.values().iter().enumerate() {
            let is_number = matches!(value, EValue::Null | EValue::Int(_) | EValue::Bool(_) | EValue::Double(_));
            if is_number && inference.writes[index] > 0 {
                inference.known[index] = Knowledge::Nothing;
            }
        }
        inference
    }

    /// Creates the inference of a method of which calls read at most 2^20 items of lists. Lists are unknown to later
    /// calls, so that their results must be declared.
    pub fn bounded(plan: &ExecutionPlan, operators: &MethodOperators) -> Inference {
        Inference { items: Cell::new(MAX_ITEMS), ..Inference::new(plan, operators) }
    }

    /// Returns true if a call may read this number of items of a list.
    fn reads_items(&self, count: usize) -> bool {
        let left = self.items.get().checked_sub(count);
        self.items.set(left.unwrap_or(0));
        left.is_some()
    }

    /// Returns the knowledge about a value in addition to its declaration.
    pub fn known(&self, value: usize) -> &Knowledge {
        &self.known[value]
    }

    /// Sets the knowledge about a value for the following calls.
    pub fn record(&mut self, value: usize, knowledge: Knowledge) {
        self.known[value] = knowledge;
    }

    /// Calls a function under the assumption that this is known about values.
    pub fn assuming<T>(
        &mut self,
        assumed: impl IntoIterator<Item = (usize, Knowledge)>,
        function: impl FnOnce(&Inference) -> T,
    ) -> T {
        let assume = |(value, known)| (value, std::mem::replace(&mut self.known[value], known));
        let former: Vec<(usize, Knowledge)> = assumed.into_iter().map(assume).collect();
        let result = function(self);
        // The last replaced one first: a value may be assumed twice.
        former.into_iter().rev().for_each(|(value, known)| self.known[value] = known);
        result
    }

    /// Infers the results of a call from its arguments.
    ///
    /// # Errors
    /// See [`InferenceError`].
    pub fn call(
        &self,
        values: &[EValue],
        operator: &ResolvedOperator,
        args: &[ValueId],
    ) -> Result<Vec<ResultMeta>, InferenceError> {
        let signature = &operator.signature;
        let arguments = self.arguments(values, operator, args);
        constraints::check(operator.constraints, &Call::new(signature, &arguments))
            .map_err(InferenceError::Unsupported)?;
        let Some(rule) = operator.rule else { return Err(InferenceError::UnknownOperator) };
        rule(&Call::new(signature, &arguments[..arguments.len().min(signature.ins().count())]))
    }

    /// Returns the bytes that the kernel of a call takes from the temporary allocator; `None` if they are not known.
    /// Tensors of more dimensions than the runtime loads are not read, because many calls can have the same one.
    pub fn temporary(&self, values: &[EValue], operator: &ResolvedOperator, args: &[ValueId]) -> Option<u64> {
        let rule = match operator.temporary {
            Temporary::Nothing => return Some(0),
            Temporary::Unknown => return None,
            Temporary::Bytes(rule) => rule,
        };
        let rank = |arg: &ValueId| arg.item(values)?.as_tensor()?.sizes.as_ref().map(|sizes| sizes.len());
        if args.iter().filter_map(rank).any(|rank| rank > MAX_DIMENSIONS) {
            return None;
        }
        rule(&Call::new(&operator.signature, &self.arguments(values, operator, args)))
    }

    /// Returns the result of a call that only moves elements, in the memory that has the elements of its first argument
    /// at `from`; `None` for other operators, and if the elements have no strides there.
    pub fn moved(
        &self,
        values: &[EValue],
        operator: &ResolvedOperator,
        args: &[ValueId],
        from: Strided,
    ) -> Option<Strided> {
        let movement = operator.facts.movement.filter(|_| operator.rule.is_some())?;
        let arguments = self.arguments(values, operator, args);
        let arguments = &arguments[..arguments.len().min(operator.signature.ins().count())];
        movement(&Call::new(&operator.signature, arguments), from)
    }

    /// Returns the element type that the out at a position must have; `None` if several are possible.
    pub fn out_type(
        &self,
        values: &[EValue],
        operator: &ResolvedOperator,
        args: &[ValueId],
        position: usize,
    ) -> Option<ScalarType> {
        let arguments = self.arguments(values, operator, args);
        constraints::only_type(operator.constraints, &Call::new(&operator.signature, &arguments), position)
    }

    /// Returns the arguments of a call that rules read, followed by the outs if constraints may be about them.
    fn arguments<'a>(
        &'a self,
        values: &'a [EValue],
        operator: &ResolvedOperator,
        args: &[ValueId],
    ) -> Vec<Argument<'a>> {
        let signature = &operator.signature;
        let count = if operator.constraints.is_empty() { signature.ins().count() } else { signature.args.len() };
        args.iter().take(count).map(|arg| self.argument(values, *arg)).collect()
    }

    /// Records the results of a call for the following calls: sizes that depend on dynamic ones, and numbers.
    pub fn record_results(
        &mut self,
        values: &[EValue],
        operator: &ResolvedOperator,
        args: &[ValueId],
        results: &[ResultMeta],
    ) {
        for (value, meta) in tensors(values, operator, args, results) {
            self.record_tensor(values, value, meta);
        }
        let places = args.get(operator.results(args.len())).unwrap_or_default();
        for (place, result) in places.iter().zip(results) {
            let index = place.get().filter(|index| self.writes.get(*index) == Some(&1));
            if let (ResultMeta::Int(int), Some(index)) = (result, index) {
                self.known[index] = Knowledge::Int(*int);
            }
        }
    }

    /// Records the dynamic dimensions of a tensor. The program only declares the tensor as a whole to be dynamic.
    fn record_tensor(&mut self, values: &[EValue], index: usize, meta: &TensorMeta) {
        if let EValue::Tensor(tensor) = &values[index]
            && !matches!(self.known[index], Knowledge::Nothing | Knowledge::Shared)
            && difference(tensor, meta).is_none()
        {
            self.known[index] = Knowledge::Tensor(Box::new(meta.clone()));
        }
    }

    /// Returns the properties of a tensor; `None` if the value is not a tensor, or they are unknown.
    pub fn tensor<'a>(&'a self, values: &'a [EValue], value: ValueId) -> Option<Cow<'a, TensorMeta>> {
        let index = value.get()?;
        match (self.known.get(index)?, &values[index]) {
            (Knowledge::Tensor(meta), _) => Some(Cow::Borrowed(meta)),
            (Knowledge::Stated | Knowledge::Shared, EValue::Tensor(tensor)) => stated(tensor).map(Cow::Owned),
            _ => None,
        }
    }

    fn argument<'a>(&'a self, values: &'a [EValue], value: ValueId) -> Argument<'a> {
        let Some(index) = value.within(values.len()) else { return Argument::Unknown };
        match (&self.known[index], &values[index]) {
            (Knowledge::Tensor(meta), _) => Argument::Tensor(Cow::Borrowed(meta)),
            (Knowledge::Int(int), _) => Argument::Int(*int),
            (Knowledge::Bool(value), _) => Argument::Bool(*value),
            (Knowledge::Double(value), _) => Argument::Double(*value),
            (Knowledge::Null, _) => Argument::Null,
            (Knowledge::Nothing, EValue::Int(_)) => Argument::Int(IntMeta::Unknown),
            (Knowledge::Nothing, _) | (Knowledge::Stated, EValue::Unknown(_)) => Argument::Unknown,
            (Knowledge::Stated, EValue::Null) => Argument::Null,
            (Knowledge::Stated, EValue::Int(int)) => Argument::Int(IntMeta::Exact(*int)),
            (Knowledge::Stated, EValue::Bool(value)) => Argument::Bool(*value),
            (Knowledge::Stated, EValue::Double(value)) => Argument::Double(*value),
            (Knowledge::Stated, EValue::String(text)) => Argument::Str(text.as_deref().unwrap_or_default()),
            (Knowledge::Stated | Knowledge::Shared, EValue::Tensor(tensor)) => {
                stated(tensor).map_or(Argument::Unknown, |meta| Argument::Tensor(Cow::Owned(meta)))
            }
            (Knowledge::Shared, _) => Argument::Unknown,
            (Knowledge::Stated, list) if !self.reads_items(list.items().len()) => Argument::Unknown,
            (Knowledge::Stated, EValue::IntList(items)) => {
                Argument::Ints(items.iter().flatten().map(|item| self.int(values, *item)).collect())
            }
            (Knowledge::Stated, EValue::DoubleList(items)) => Argument::Doubles(items.as_deref().unwrap_or_default()),
            (Knowledge::Stated, EValue::BoolList(items)) => Argument::Bools(items.as_deref().unwrap_or_default()),
            (Knowledge::Stated, list @ (EValue::TensorList(items) | EValue::OptionalTensorList(items))) => {
                let is_optional = matches!(list, EValue::OptionalTensorList(_));
                let metas = items.iter().flatten().map(|item| match item {
                    &ValueId::NONE if is_optional => Some(None),
                    item => self.tensor(values, *item).map(Some),
                });
                metas.collect::<Option<_>>().map_or(Argument::Unknown, Argument::Tensors)
            }
        }
    }

    /// Returns the item of a list of Ints.
    fn int(&self, values: &[EValue], item: i64) -> IntMeta {
        let index = usize::try_from(item).ok().filter(|index| *index < values.len());
        match index.map(|index| (&self.known[index], &values[index])) {
            Some((Knowledge::Int(int), _)) => *int,
            Some((Knowledge::Stated, EValue::Int(int))) => IntMeta::Exact(*int),
            Some(_) | None => IntMeta::Unknown,
        }
    }
}

/// Returns a number, a string, or a list of numbers as an argument; `None` for an absent string or list, and for
/// tensors and lists of values.
pub fn literal_argument(value: &EValue) -> Option<Argument<'_>> {
    Some(match value {
        EValue::Null => Argument::Null,
        EValue::Int(int) => Argument::Int(IntMeta::Exact(*int)),
        EValue::Bool(value) => Argument::Bool(*value),
        EValue::Double(value) => Argument::Double(*value),
        EValue::String(text) => Argument::Str(text.as_deref()?),
        EValue::DoubleList(items) => Argument::Doubles(items.as_deref()?),
        EValue::BoolList(items) => Argument::Bools(items.as_deref()?),
        EValue::Tensor(_)
        | EValue::IntList(_)
        | EValue::TensorList(_)
        | EValue::OptionalTensorList(_)
        | EValue::Unknown(_) => return None,
    })
}

/// Returns the declared properties of a tensor; `None` if its sizes are absent or negative, or its dim_order has a
/// different rank. All dimensions of a dynamic tensor count as dynamic except those of size 0 and 1, which never are.
pub fn stated(tensor: &Tensor) -> Option<TensorMeta> {
    let dynamic = tensor.shape_dynamism != TensorShapeDynamism::STATIC;
    let sizes = tensor.sizes.as_deref()?;
    let order = tensor.dim_order.clone().unwrap_or_else(|| DimOrder::contiguous(sizes.len()));
    if order.len() != sizes.len() || sizes.iter().any(|size| *size < 0) {
        return None;
    }
    let dim = |size: &i32| Dim { size: (*size).into(), dynamic: dynamic && *size > 1 };
    Some(TensorMeta { scalar_type: tensor.scalar_type, sizes: sizes.iter().map(dim).collect(), dim_order: order })
}

/// Returns the declared properties of a tensor that constants determine: its upper bounds are its sizes. `None` like
/// [`stated`].
pub fn stated_of_constant(tensor: &Tensor) -> Option<TensorMeta> {
    let meta = stated(tensor)?;
    let sizes = meta.sizes.iter().map(|dim| Dim::fixed(dim.size)).collect();
    Some(TensorMeta { sizes, ..meta })
}

/// Returns the tensors among the results of a call with their values. Tensors that the call does not write are skipped,
/// unless the program leaves their sizes open.
pub fn tensors<'r>(
    values: &[EValue],
    operator: &ResolvedOperator,
    args: &[ValueId],
    results: &'r [ResultMeta],
) -> Vec<(usize, &'r TensorMeta)> {
    let places = args.get(operator.results(args.len())).unwrap_or_default();
    let mut tensors = Vec::with_capacity(results.len());
    for (place, result) in places.iter().zip(results) {
        let Some(index) = place.within(values.len()) else { continue };
        match result {
            ResultMeta::Tensor(meta) => tensors.push((index, meta)),
            ResultMeta::Tensors(metas) => {
                let items = values[index].as_tensors().iter().zip(metas);
                tensors.extend(items.filter_map(|(item, meta)| Some((item.within(values.len())?, meta))));
            }
            ResultMeta::Unwritten(meta) if values[index].as_tensor().is_some_and(|tensor| tensor.sizes.is_none()) => {
                tensors.push((index, meta));
            }
            ResultMeta::Unwritten(_) | ResultMeta::Int(_) | ResultMeta::Scalar => {}
        }
    }
    tensors
}

/// A property of a tensor that differs from the inferred one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Difference {
    /// The element type differs.
    ScalarType,
    /// The sizes differ.
    Sizes,
    /// The order of dimensions differs.
    DimOrder,
    /// The tensor is static, but dynamic is inferred, or the reverse.
    Dynamism,
}

/// Returns the first property of a tensor that differs from the inferred one.
pub fn difference(tensor: &Tensor, inferred: &TensorMeta) -> Option<Difference> {
    let sizes = tensor.sizes.as_deref().unwrap_or_default();
    match () {
        () if tensor.scalar_type != inferred.scalar_type => Some(Difference::ScalarType),
        () if !sizes.iter().map(|size| i64::from(*size)).eq(inferred.sizes.iter().map(|dim| dim.size)) => {
            Some(Difference::Sizes)
        }
        () if tensor.dim_order.as_deref().unwrap_or_default() != &*inferred.dim_order => Some(Difference::DimOrder),
        () if tensor.shape_dynamism != TensorShapeDynamism::of(inferred.is_dynamic()) => Some(Difference::Dynamism),
        () => None,
    }
}

/// Returns the values that a call writes, each with `true` if it requires gradients in torch. It does if it is a tensor
/// of floating-point numbers and an argument requires them according to `requires`.
pub fn gradients(
    values: &[EValue],
    operator: &ResolvedOperator,
    args: &[ValueId],
    requires: impl Fn(usize) -> bool,
) -> Vec<(usize, bool)> {
    let index = |value: &ValueId| value.within(values.len());
    let items = |value: &ValueId| index(value).map_or(&[][..], |list| values[list].as_tensors());
    let any = |value: &ValueId| {
        let mut items = items(value).iter().take(MAX_GRADIENTS).filter_map(index);
        index(value).is_some_and(&requires) || items.any(&requires)
    };
    let results = operator.results(args.len());
    let kind = operator.facts.gradients;
    let required = kind != Gradients::None && args[..results.start.min(args.len())].iter().any(any);
    let mut gradients = Vec::new();
    for (number, out) in args.get(results).unwrap_or_default().iter().enumerate() {
        let required = required && (number == 0 || kind == Gradients::All);
        gradients.extend(items(out).iter().chain([out]).filter_map(index).map(|value| (value, required)));
    }
    gradients
}

/// A property of a result that a call cannot produce.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mismatch {
    /// Its element type.
    ScalarType,
    /// Its sizes.
    Sizes,
}

/// Returns the property of a declared result that a call cannot produce, so that its kernel fails: the element type, or
/// the sizes if a tensor of this dynamism cannot be resized to them. A static tensor keeps its sizes; a bounded one
/// keeps its rank and maximum number of elements.
pub fn mismatch(tensor: &Tensor, inferred: &TensorMeta, operator: &ResolvedOperator) -> Option<Mismatch> {
    let sizes = tensor.sizes.as_deref()?;
    let facts = operator.facts;
    if facts.out_mask.is_some() && *tensor == Tensor::missing() {
        return None;
    }
    if !facts.conversion.accepts(inferred.scalar_type, tensor.scalar_type) {
        return Some(Mismatch::ScalarType);
    }
    let agrees = |(size, dim): (&i32, &Dim)| match dim.dynamic {
        false => i64::from(*size) == dim.size,
        true => i64::from(*size) <= dim.size,
    };
    let count = |sizes: &mut dyn Iterator<Item = i64>| sizes.fold(1i64, i64::saturating_mul);
    let fits = match tensor.shape_dynamism {
        TensorShapeDynamism::STATIC => sizes.iter().zip(&inferred.sizes).all(agrees),
        TensorShapeDynamism::DYNAMIC_BOUND => {
            inferred.is_dynamic()
                || count(&mut inferred.sizes.iter().map(|dim| dim.size))
                    <= count(&mut sizes.iter().map(|size| i64::from(*size)))
        }
        _ => true,
    };
    (sizes.len() != inferred.sizes.len() || !fits).then_some(Mismatch::Sizes)
}

/// Returns the value that the exporter writes for a result that is not a tensor, which the operator replaces later;
/// `None` for a tensor.
pub fn placeholder(result: Base) -> Option<EValue> {
    match result {
        Base::Tensor => None,
        Base::Bool => Some(EValue::Bool(false)),
        Base::Float => Some(EValue::Double(0.0)),
        Base::Scalar | Base::Int | Base::Str | Base::Dtype | Base::MemoryFormat => Some(EValue::Int(0)),
    }
}
