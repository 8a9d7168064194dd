//! Elements and numbers that are the same whatever the caller passes, of methods without jumps: `x * 0`, `x == x`, or
//! the constant part of a `cat`.
//!
//! They are evaluated with several samples of what the caller passes. What differs, or is not evaluated for one of the
//! samples, is the caller's.

use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap};

use super::super::super::contents::{Assumption, Contents, Item, Node, SAMPLES, SameInts, mixed};
use super::super::method::MethodAnalysis;
use super::machine::{Values, first_element, is_kernel};
use pte_analysis::inference::{literal_argument, stated_of_constant};
use pte_analysis::operators::ResolvedOperator;
use pte_model::format::ScalarType;
use pte_model::program::instruction::Callee;
use pte_model::program::{EValue, TensorData, ValueId};
use pte_operators::inference::{Argument, Call, IntMeta, ResultMeta};
use pte_operators::kinds::ResultKinds;

/// Bytes of contents that all samples of a method take together.
const BYTES: usize = 8 << 20;

/// Stands for an element that is not a number.
const NAN: i64 = i64::MIN;

/// Operators that compare, whose results may differ only for certain inputs, which no sample has.
const COMPARISONS: [&str; 22] = [
    "aten::gt.Tensor_out",
    "aten::gt.Scalar_out",
    "aten::ge.Tensor_out",
    "aten::ge.Scalar_out",
    "aten::lt.Tensor_out",
    "aten::lt.Scalar_out",
    "aten::le.Tensor_out",
    "aten::le.Scalar_out",
    "executorch_prim::gt.Scalar",
    "executorch_prim::ge.Scalar",
    "executorch_prim::lt.Scalar",
    "executorch_prim::le.Scalar",
    "aten::eq.Tensor_out",
    "aten::eq.Scalar_out",
    "aten::ne.Tensor_out",
    "aten::ne.Scalar_out",
    "aten::isnan.out",
    "aten::isinf.out",
    "aten::logical_not.out",
    "aten::logical_and.out",
    "executorch_prim::eq.Scalar",
    "executorch_prim::ne.Scalar",
];

/// Maximum number of calls from which an element or a number is computed.
const MAX_CALLS: usize = 256;

/// Evaluation of the operands of a method with one sample.
struct Samples<'m, 'p> {
    method: &'m MethodAnalysis<'p>,
    contents: RefCell<Contents>,
    sample: u8,
    /// Tensors whose content others change.
    shared: &'m BTreeSet<usize>,
    /// By value and the step that writes it: what was found.
    known: HashMap<(usize, Option<u32>), Option<Item>>,
}

/// Finds the elements of contents, and the numbers, that are the same for all samples. `shared` are tensors whose
/// content other tensors change: they are not evaluated.
pub fn find(method: &MethodAnalysis<'_>, values: &mut Values, shared: &BTreeSet<usize>) {
    let trusted = values.trusted.iter().filter(|(_, possible)| possible.caller);
    let contents: Vec<(u32, usize)> = trusted.map(|(read, _)| *read).collect();
    let reads: Vec<(u32, usize)> = (0..method.end()).flat_map(|step| number_reads(method, values, step)).collect();
    if contents.is_empty() && reads.is_empty() {
        return;
    }
    // What the samples take is not missing elsewhere.
    let sample = |sample| {
        let contents = RefCell::new(Contents::with_budget(BYTES / usize::from(SAMPLES)));
        Samples { method, contents, sample, shared, known: HashMap::new() }
    };
    let mut samples: Vec<Samples<'_, '_>> = (0..SAMPLES).map(sample).collect();
    let mut known: HashMap<(usize, Option<u32>), (Option<SameInts>, bool)> = HashMap::new();
    for (step, value) in contents {
        let write = method.last_write(value, step);
        let (ints, is_nan) = known.entry((value, write)).or_insert_with(|| same(&mut samples, step, value)).clone();
        if let Some(ints) = ints {
            values.same.insert((step, value), ints);
        }
        if is_nan {
            values.always_nan.insert((step, value));
        }
    }
    for reads in reads.chunk_by(|one, other| one.0 == other.0) {
        let mut assumption = Assumption::new();
        for (step, value) in reads {
            let mut found = samples.iter_mut().map(|sample| sample.operand(*value, *step, &mut 0));
            if let Some(Some(first)) = found.next()
                && found.all(|other| other == Some(first))
            {
                assumption.push((*value, first));
            }
        }
        let (Some((step, _)), false) = (reads.first(), assumption.is_empty()) else { continue };
        let all = values.assumptions.entry(*step).or_default();
        let others = all
            .first()
            .into_iter()
            .flatten()
            .filter(|(value, item)| *item != Item::Unknown && assumption.iter().all(|(other, _)| other != value));
        let others: Vec<(usize, Item)> = others.copied().collect();
        assumption.extend(others);
        all.push(assumption);
    }
}

/// Returns the numbers of the caller that a call trusts, and that other calls compute.
fn number_reads(method: &MethodAnalysis<'_>, values: &Values, step: u32) -> Vec<(u32, usize)> {
    let Some((known, _)) = method.call(&method.steps[step as usize]) else { return Vec::new() };
    if known.library.is_some() || !is_kernel(known) && known.constraints.is_empty() {
        return Vec::new();
    }
    let is_known = |value: usize| {
        let assumptions = values.assumptions.get(&step).into_iter().flatten();
        let is_exact = |item: &Item| !matches!(item, Item::AtMost(_) | Item::Unknown);
        { assumptions }.any(|assumption| assumption.iter().any(|(other, item)| *other == value && is_exact(item)))
    };
    let numbers = method.step_accesses(step).iter().filter(|access| access.kind.keeps());
    let numbers = numbers.map(|access| access.value as usize).filter(|value| {
        let is_computed = method.first_write(*value).is_some_and(|write| write < step);
        is_computed && !matches!(method.values()[*value], EValue::Tensor(_)) && !is_known(*value)
    });
    numbers.map(|value| (step, value)).collect()
}

/// Returns the elements of a tensor that are the same for all samples, if it has Ints and there are any; and `true` if
/// it is of float32 and an element is always NaN.
fn same(samples: &mut [Samples<'_, '_>], step: u32, value: usize) -> (Option<SameInts>, bool) {
    let mut same: Vec<Option<i64>> = Vec::new();
    for (number, sample) in samples.iter_mut().enumerate() {
        let Some(elements) = sample.elements(value, step) else { return (None, false) };
        if number == 0 {
            same = elements.iter().copied().map(Some).collect();
        }
        // The elements of a repeated number are there once.
        if same.len() != elements.len() {
            return (None, false);
        }
        for (one, _) in same.iter_mut().zip(&elements).filter(|(one, other)| **one != Some(**other)) {
            *one = None;
        }
        if same.iter().all(Option::is_none) {
            return (None, false);
        }
    }
    match samples.first().map(|sample| sample.method.facts[value].scalar_type) {
        Some(ScalarType::FLOAT) => (None, same.contains(&Some(NAN))),
        Some(_) => (Some(same.into()), false),
        None => (None, false),
    }
}

impl Samples<'_, '_> {
    /// Returns the elements of a tensor of Ints, or of one of float32: [`NAN`] for those that are NaN, and 0 for
    /// others.
    fn elements(&mut self, value: usize, step: u32) -> Option<Vec<i64>> {
        self.method.last_write(value, step)?;
        let Item::Content(content) = self.operand(value, step, &mut 0)? else { return None };
        let (method, scalar_type) = (self.method, self.method.facts[value].scalar_type);
        let mut contents = self.contents.borrow_mut();
        contents.evaluate(method, content).ok()?;
        match scalar_type {
            ScalarType::INT | ScalarType::LONG => Some(contents.ints(method, content, scalar_type)?.to_vec()),
            ScalarType::FLOAT => {
                let bytes = contents.bytes(method, content, scalar_type)?;
                let nan = |element: &[u8; 4]| if f32::from_le_bytes(*element).is_nan() { NAN } else { 0 };
                Some(bytes.as_chunks().0.iter().map(nan).collect())
            }
            _ => None,
        }
    }

    /// Returns what a value is before a step; `None` if it is not evaluated.
    fn operand(&mut self, value: usize, step: u32, calls: &mut usize) -> Option<Item> {
        if self.shared.contains(&value) {
            return None;
        }
        let write = self.method.last_write(value, step);
        if let Some(known) = self.known.get(&(value, write)) {
            return *known;
        }
        let found = match write {
            None => self.initial(value),
            Some(write) => {
                *calls += 1;
                if *calls > MAX_CALLS { None } else { self.result(value, write, calls) }
            }
        };
        self.known.insert((value, write), found);
        found
    }

    /// Returns what a value is before the method; `None` for state.
    fn initial(&self, value: usize) -> Option<Item> {
        let method = self.method;
        let mut contents = self.contents.borrow_mut();
        let EValue::Tensor(tensor) = &method.values()[value] else {
            return Item::of(&method.values()[value]).filter(|_| method.first_write(value).is_none());
        };
        if let Some(data) = method.constant(tensor) {
            return Some(Item::Content(contents.add(Node::Constant(data))));
        }
        let is_callers = method.is_input[value] && tensor.data == TensorData::None;
        is_callers.then(|| Item::Content(contents.add(Node::Sample { value, sample: self.sample })))
    }

    /// Returns what an instruction writes to a value.
    fn result(&mut self, value: usize, step: u32, calls: &mut usize) -> Option<Item> {
        let method = self.method;
        let instruction = &method.steps[step as usize];
        if let Some((from, to)) = instruction.instruction.moved() {
            return self.operand(method.value(from)?, step, calls).filter(|_| method.value(to) == Some(value));
        }
        let Some(Callee::Operator(_)) = instruction.instruction.callee() else { return None };
        let (known, args) = method.call(instruction)?;
        if known.library.is_some() || known.facts.is_undetermined {
            return None;
        }
        if known.facts.result_kinds == Some(ResultKinds::Element) {
            let tensor = method.value(*args.first()?)?;
            let Item::Content(content) = self.operand(tensor, step, calls)? else { return None };
            let blob = self.contents.borrow_mut().evaluate(method, content).ok()?;
            let scalar_type = method.facts[tensor].scalar_type;
            return Item::of_element(scalar_type, first_element(scalar_type, &blob)?);
        }
        let is_of_itself = matches!(args, [one, other, ..] if one == other);
        if COMPARISONS.contains(&&*known.name) && !is_of_itself {
            return None;
        }
        if let Some(compute) = known.facts.computation {
            let mut numbers = Vec::new();
            for arg in args.iter().take(known.signature.args.len()) {
                numbers.push(self.operand(method.value(*arg)?, step, calls)?.number()?);
            }
            return compute(&numbers).map(Item::of_number);
        }
        if known.facts.reads_sizes {
            return self.size(known, args);
        }
        let mut operands = Assumption::new();
        for access in method.step_accesses(step).iter().filter(|access| access.kind.keeps()) {
            let operand = access.value as usize;
            let is_tensor = matches!(method.values()[operand], EValue::Tensor(_));
            let is_read = is_tensor && !known.needs_no_content(access.arg as usize);
            if operands.iter().any(|(other, _)| *other == operand) || !is_read && is_tensor {
                continue;
            }
            if is_tensor || method.first_write(operand).is_some() {
                operands.push((operand, self.operand(operand, step, calls)?));
            }
        }
        let mut contents = self.contents.borrow_mut();
        let call = contents.add_call(step, operands);
        Some(Item::Content(contents.add(Node::Result { call, value })))
    }

    /// Returns a size of an input, whose sizes the caller decides within its bounds.
    fn size(&self, known: &ResolvedOperator, args: &[ValueId]) -> Option<Item> {
        let method = self.method;
        let (tensor, others) = args.get(..known.signature.args.len())?.split_first()?;
        let value =
            method.value(*tensor).filter(|value| method.is_input[*value] && method.first_write(*value).is_none())?;
        let mut meta = stated_of_constant(method.values()[value].as_tensor()?)?;
        for (number, dim) in meta.sizes.iter_mut().enumerate().filter(|(_, dim)| dim.size > 1) {
            // The first sample has the bounds.
            if self.sample > 0 {
                let random = mixed([value as u64, self.sample.into(), number as u64]);
                dim.size = 1 + (random % dim.size.unsigned_abs()) as i64;
            }
        }
        let mut arguments = vec![Argument::Tensor(Cow::Owned(meta))];
        for other in others {
            let other = method.value(*other).filter(|other| method.first_write(*other).is_none())?;
            arguments.push(literal_argument(&method.values()[other])?);
        }
        match (known.rule?)(&Call::new(&known.signature, &arguments)).as_deref() {
            Ok([ResultMeta::Int(IntMeta::Exact(int))]) => Some(Item::Int(*int)),
            _ => None,
        }
    }
}
