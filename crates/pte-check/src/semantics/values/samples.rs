//! Elements and numbers that are the same whatever the caller passes, of methods without jumps: `x * 0`, `x == x`, or
//! the constant part of a `cat`.
//!
//! They are evaluated with several samples of what the caller passes. What differs, or is not evaluated for one of the
//! samples, is the caller's.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};

use super::super::super::contents::{Assumption, ConstantInts, Item, Node, SAMPLES};
use super::super::method::MethodAnalysis;
use super::{Values, first_element, is_kernel};
use pte_analysis::inference::{literal_argument, stated_of_constant};
use pte_analysis::operators::ResolvedOperator;
use pte_model::format::ScalarType;
use pte_model::program::instruction::Callee;
use pte_model::program::{EValue, TensorData, ValueId};
use pte_operators::inference::{Argument, Call, IntMeta, ResultMeta};
use pte_operators::kinds::ResultKinds;

/// Maximum number of calls from which an element or a number is computed.
const MAX_CALLS: usize = 256;

/// Sizes of a dynamic dimension by its bound, for each sample.
const SIZES: [fn(i64) -> i64; SAMPLES as usize] =
    [|bound| bound, |_| 1, |bound| bound / 2, |bound| bound - 1, |bound| bound / 3 + 1];

/// Evaluation of the operands of a method with one sample.
struct Samples<'m, 'p> {
    method: &'m MethodAnalysis<'p>,
    values: &'m Values,
    sample: u8,
    /// By value and the step that writes it: what was found.
    known: HashMap<(usize, Option<u32>), Option<Item>>,
}

/// Finds the Ints of contents, and the numbers, that are the same for all samples. By step and value.
pub fn find(method: &MethodAnalysis<'_>, values: &mut Values) {
    let mut common: BTreeMap<(u32, usize), ConstantInts> = BTreeMap::new();
    let mut numbers: Vec<(u32, Assumption)> = Vec::new();
    let is_int = |value: usize| matches!(method.facts[value].scalar_type, ScalarType::INT | ScalarType::LONG);
    let trusted = values.trusted.iter().filter(|((_, value), possible)| possible.caller && is_int(*value));
    let contents: Vec<(u32, usize)> = trusted.map(|(read, _)| *read).collect();
    let reads: Vec<(u32, usize)> = (0..method.end()).flat_map(|step| number_reads(method, values, step)).collect();
    if contents.is_empty() && reads.is_empty() {
        return;
    }
    let mut samples: Vec<Samples<'_, '_>> = Vec::new();
    samples.extend((0..SAMPLES).map(|sample| Samples { method, values, sample, known: HashMap::new() }));
    for (step, value) in contents {
        if let Some(ints) = same_ints(&mut samples, step, value) {
            common.insert((step, value), ints);
        }
    }
    for (step, value) in reads {
        let mut found = samples.iter_mut().map(|sample| sample.operand(value, step, &mut 0));
        if let Some(Some(first)) = found.next()
            && found.all(|other| other == Some(first))
        {
            numbers.push((step, Assumption::from_slice(&[(value, first)])));
        }
    }
    drop(samples);
    values.common = common;
    for (step, assumption) in numbers {
        values.assumptions.entry(step).or_default().push(assumption);
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

/// Returns the elements that are the same for all samples; `None` if there are none.
fn same_ints(samples: &mut [Samples<'_, '_>], step: u32, value: usize) -> Option<ConstantInts> {
    let mut same: Option<Vec<Option<i64>>> = None;
    for sample in samples {
        let method = sample.method;
        method.first_write(value)?;
        let Item::Content(content) = sample.operand(value, step, &mut 0)? else { return None };
        let mut contents = sample.values.contents.borrow_mut();
        contents.evaluate(method, content).ok()?;
        let ints = contents.ints(method, content, method.facts[value].scalar_type)?;
        match &mut same {
            None => same = Some(ints.iter().copied().map(Some).collect()),
            // The elements of a repeated number are there once.
            Some(same) if same.len() != ints.len() => return None,
            Some(same) => {
                let others = same.iter_mut().zip(ints.iter()).filter(|(one, other)| **one != Some(**other));
                others.for_each(|(one, _)| *one = None);
            }
        }
        if same.iter().flatten().all(Option::is_none) {
            return None;
        }
    }
    Some(same?.into_iter().flatten().collect())
}

impl Samples<'_, '_> {
    /// Returns what a value is before a step; `None` if it is not evaluated.
    fn operand(&mut self, value: usize, step: u32, calls: &mut usize) -> Option<Item> {
        let accesses = self.method.value_accesses(value).take_while(|access| access.step < step);
        let write = { accesses }.filter(|access| access.kind.may_write()).map(|access| access.step).last();
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
        let mut contents = self.values.contents.borrow_mut();
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
            let blob = self.values.contents.borrow_mut().evaluate(method, content).ok()?;
            let scalar_type = method.facts[tensor].scalar_type;
            return Item::of_element(scalar_type, first_element(scalar_type, &blob)?);
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
        let mut contents = self.values.contents.borrow_mut();
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
        for dim in &mut meta.sizes {
            dim.size = SIZES[usize::from(self.sample)](dim.size).clamp(dim.size.min(1), dim.size);
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
