//! Compares arguments and results of kernel calls with the rules of [`pte_operators::inference`] (`O-14`, `O-15`).
//!
//! Sizes and element types are those in the file. Sizes that only execution determines are not compared, and neither
//! are calls of kernels that are not part of the default runtime. The work on lists has a limit.

use smallvec::SmallVec;

use super::finding::{Findings, Locator};
use super::kernels::KernelCall;
use super::semantics::limits::{self, Budget};
use super::semantics::method::MethodAnalysis;
use crate::RuleId::*;
use pte_analysis::aliases::AliasKind;
use pte_analysis::inference::{self, Inference, Knowledge, Mismatch};
use pte_model::diagnostics::counted;
use pte_model::diagnostics::text::clipped_to;
use pte_model::program::{EValue, Tensor, TensorShapeDynamism, ValueId};
use pte_operators::inference::{InferenceError, InvalidArgument, ResultMeta, TensorMeta};
use pte_operators::kinds::Kinds;

/// Maximum number of arguments that a message names.
const MAX_NAMED: usize = 4;

/// Maximum number of items of a list whose classes are compared.
const MAX_COMPARED: usize = 16;

/// The inference of a method, call by call.
pub(super) struct CallInference<'m, 'p> {
    method: &'m MethodAnalysis<'p>,
    inference: Inference,
    /// Items of lists that the remaining calls may read and write.
    budget: Budget,
    /// The method has jumps, so that results of a call need not hold at later calls.
    jumps: bool,
    /// By value: its class. Inference cannot distinguish the values of a class. Values of [`UNIQUE`] are equal to no
    /// other value.
    classes: Vec<u32>,
    /// Calls without a finding, each in the slot of its hash. They are not checked again, because the layers of a model
    /// repeat.
    accepted: Vec<CallClass>,
}

/// The class of values that change, or are not worth comparing.
const UNIQUE: u32 = 0;

/// Maximum number of slots for values and for calls. A call that was replaced in its slot is inferred again.
const MAX_SLOTS: usize = 1 << 10;

/// Index of an operator, and the classes of the arguments.
type CallClass = SmallVec<[u32; 12]>;

/// Returns the hash of a sequence of numbers.
fn hash(numbers: impl Iterator<Item = u64>) -> usize {
    let mixed = numbers.fold(1u64, |hash, number| (hash ^ number).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    (mixed >> 32) as usize
}

impl<'m, 'p> CallInference<'m, 'p> {
    /// Creates the inference of a method.
    pub fn new(method: &'m MethodAnalysis<'p>, jumps: bool) -> CallInference<'m, 'p> {
        let inference = Inference::new(method.plan, &method.operators);
        let budget = method.budget(&limits::INFERRED);
        let accepted = vec![CallClass::new(); method.steps.len().clamp(1, MAX_SLOTS)];
        let mut calls = CallInference { method, inference, budget, jumps, classes: Vec::new(), accepted };
        for alias in method.aliases().iter().filter(|alias| alias.kind != AliasKind::View) {
            calls.share(alias.base, alias.result);
        }
        calls.classify_values();
        calls
    }

    /// Determines the classes of the values.
    fn classify_values(&mut self) {
        let values = self.method.values();
        self.classes = vec![UNIQUE; values.len()];
        // By slot of the hash: the value that represents its class.
        let mut first: Vec<Option<usize>> = vec![None; values.len().clamp(1, MAX_SLOTS)];
        // Lists come after their items.
        for lists in [false, true] {
            let is_list = |value: &usize| self.method.stated[*value].meets(Kinds::VALUE_LISTS);
            for value in (0..values.len()).filter(|value| is_list(value) == lists) {
                let stated = &values[value];
                let Some(hash) = self.hash(value, stated) else { continue };
                let slot = hash % first.len();
                match first[slot] {
                    Some(other) if self.is_same(stated, &values[other]) => self.classes[value] = self.classes[other],
                    Some(_) | None => {
                        first[slot] = Some(value);
                        self.classes[value] = value as u32 + 1;
                    }
                }
            }
        }
    }

    /// Returns a hash of the properties of a value that inference reads; `None` if they may change.
    fn hash(&self, value: usize, stated: &EValue) -> Option<usize> {
        if *self.inference.known(value) != Knowledge::Stated {
            return None;
        }
        let of = |number: u64| hash([stated.tag().into(), number].into_iter());
        match stated {
            EValue::Null => Some(of(0)),
            EValue::Int(int) => Some(of(*int as u64)),
            EValue::Bool(value) => Some(of((*value).into())),
            EValue::Double(value) => Some(of(value.to_bits())),
            EValue::Tensor(tensor) if tensor.shape_dynamism == TensorShapeDynamism::STATIC => {
                let sizes = tensor.sizes.iter().flat_map(|sizes| sizes.iter()).map(|size| *size as u64);
                Some(hash(std::iter::once(tensor.scalar_type.0 as u64).chain(sizes)))
            }
            EValue::Tensor(_) | EValue::String(_) | EValue::DoubleList(_) | EValue::Unknown(_) => None,
            EValue::BoolList(items) => {
                let items = items.as_deref().filter(|items| items.len() <= MAX_COMPARED)?;
                Some(hash(items.iter().map(|item| (*item).into())))
            }
            EValue::IntList(_) | EValue::TensorList(_) | EValue::OptionalTensorList(_) => {
                let items = stated.list_items().filter(|items| items.len() <= MAX_COMPARED)?;
                let is_unique = |item| item != -1 && self.class_of(ValueId::of_int(item)) == UNIQUE;
                let classes = items.iter().map(|item| self.class_of(ValueId::of_int(item)).into());
                (!items.iter().any(is_unique)).then(|| hash(classes))
            }
        }
    }

    /// Returns the class of a value by its index in the file.
    fn class_of(&self, value: ValueId) -> u32 {
        self.method.value(value).map_or(UNIQUE, |value| self.classes[value])
    }

    /// Returns `true` if inference cannot distinguish two values.
    fn is_same(&self, a: &EValue, b: &EValue) -> bool {
        match (a, b) {
            (EValue::Tensor(a), EValue::Tensor(b)) => {
                a.scalar_type == b.scalar_type && a.sizes == b.sizes && a.dim_order == b.dim_order
            }
            (EValue::Double(a), EValue::Double(b)) => a.to_bits() == b.to_bits(),
            _ => match (a.list_items(), b.list_items()) {
                (Some(first), Some(second)) => {
                    let classes = first.iter().map(|item| self.class_of(ValueId::of_int(item)));
                    a.tag() == b.tag()
                        && first.len() == second.len()
                        && classes.eq(second.iter().map(|item| self.class_of(ValueId::of_int(item))))
                }
                _ => a == b,
            },
        }
    }

    /// Returns the class of a call: its operator, and the classes of the arguments.
    fn class<'c>(&'c self, call: &KernelCall<'_, 'c>) -> impl Iterator<Item = u32> + use<'c, 'm, 'p> {
        let operator = self.method.steps[call.step as usize].instruction.operator();
        let classes = call.args.iter().map(|arg| self.class_of(*arg));
        std::iter::once(operator.unwrap_or_default().0 as u32).chain(classes)
    }

    /// Returns the slot of the class of a call; `None` if an argument has no class.
    fn slot(&self, call: &KernelCall<'_, '_>) -> Option<usize> {
        let is_unique = self.class(call).skip(1).any(|class| class == UNIQUE);
        (!is_unique).then(|| hash(self.class(call).map(u64::from)) % self.accepted.len())
    }

    /// Notes that a value is replaced by another one. Tensors have the same properties, or the move is a finding
    /// dynamic ones are resized together.
    fn share(&mut self, from: usize, to: usize) {
        let values = self.method.values();
        for value in [from, to] {
            match &values[value] {
                EValue::Tensor(tensor) if tensor.shape_dynamism == TensorShapeDynamism::STATIC => {}
                EValue::Tensor(_) => self.inference.record(value, Knowledge::Shared),
                _ if value == to => self.inference.record(to, Knowledge::Nothing),
                _ => {}
            }
        }
    }

    /// Checks a call with assumed Ints. Only checks that the operator and its kernel take the arguments.
    pub fn check_assumed(&mut self, call: &KernelCall<'_, '_>, findings: &mut Findings, locate: &Locator<'_>) {
        let values = self.method.values();
        let items = call.args.iter().filter_map(|arg| Some(values[self.method.value(*arg)?].items().len()));
        if !self.spend(items.sum()) {
            return;
        }
        let operator = call.known;
        let is_compared = call.known.library.is_none() && !self.is_empty(call);
        let assumed: Vec<_> = call.values.contents.borrow().knowledge(self.method, call.assumed).collect();
        match self.inference.assuming(assumed, |inference| inference.call(values, operator, call.args)) {
            Err(InferenceError::Unsupported(invalid)) => report_argument(call, &invalid, findings, locate),
            Err(InferenceError::Invalid(invalid))
                if is_compared && !call.known.facts.ignored.contains(&invalid.argument) =>
            {
                report_argument(call, &invalid, findings, locate);
            }
            Ok(results) if is_compared && !call.resized.is_empty() => {
                self.check_results(call, &results, findings, locate);
            }
            Ok(_)
            | Err(InferenceError::Invalid(_) | InferenceError::Undetermined(_) | InferenceError::UnknownOperator) => {}
        }
    }

    /// Checks a call whose arguments have the right number and kinds.
    pub fn check(&mut self, call: &KernelCall<'_, '_>, findings: &mut Findings, locate: &Locator<'_>) {
        let slot = self.slot(call);
        if slot.is_some_and(|slot| self.class(call).eq(self.accepted[slot].iter().copied())) {
            return;
        }
        let errors = findings.errors();
        self.check_once(call, findings, locate);
        if let Some(slot) = slot.filter(|_| findings.errors() == errors) {
            self.accepted[slot] = self.class(call).collect();
        }
    }

    fn check_once(&mut self, call: &KernelCall<'_, '_>, findings: &mut Findings, locate: &Locator<'_>) {
        let values = self.method.values();
        let items = call.args.iter().filter_map(|arg| Some(values[self.method.value(*arg)?].items().len()));
        if self.method.accesses().is_truncated || !self.spend(items.sum()) {
            return self.forget(call.args);
        }
        let operator = call.known;
        let facts = call.known.facts;
        let is_compared = call.known.library.is_none() && (facts.is_thorough || facts.aborts || !self.is_empty(call));
        let results = match self.inference.call(values, operator, call.args) {
            Ok(results) => results,
            Err(InferenceError::Invalid(invalid)) => {
                if !is_compared || call.known.facts.ignored.contains(&invalid.argument) {
                    return self.forget(call.args);
                }
                return report_argument(call, &invalid, findings, locate);
            }
            Err(InferenceError::Unsupported(invalid)) => return report_argument(call, &invalid, findings, locate),
            Err(InferenceError::Undetermined(_) | InferenceError::UnknownOperator) => return self.forget(call.args),
        };
        let parts = results.iter().map(|result| match result {
            ResultMeta::Tensors(parts) => parts.len(),
            ResultMeta::Tensor(_) | ResultMeta::Unwritten(_) | ResultMeta::Int(_) | ResultMeta::Scalar => 0,
        });
        if !self.spend(parts.sum()) {
            return self.forget(call.args);
        }
        if is_compared && (operator.signature.result.is_none() || call.known.facts.aliased.is_some()) {
            self.check_results(call, &results, findings, locate);
        }
        if !self.jumps {
            self.inference.record_results(values, operator, call.args, &results);
        }
    }

    /// Returns `true` if a tensor among the arguments has no elements. Kernels do not compare sizes if there is nothing
    /// to compute.
    fn is_empty(&self, call: &KernelCall<'_, '_>) -> bool {
        let values = self.method.values();
        let is_empty = |value: usize| call.tensor_of(value).is_some_and(|tensor| tensor.nbytes() == Some(0));
        let ins = call.args.iter().take(call.known.results(call.args.len()).start);
        ins.filter_map(|arg| self.method.value(*arg)).any(|arg| {
            let mut items = values[arg].as_tensors().iter().filter_map(|item| self.method.value(*item));
            is_empty(arg) || items.any(is_empty)
        })
    }

    /// Reports the results that cannot be written to the outs.
    fn check_results(
        &self,
        call: &KernelCall<'_, '_>,
        results: &[ResultMeta],
        findings: &mut Findings,
        locate: &Locator<'_>,
    ) {
        let (values, operator) = (self.method.values(), call.known);
        for (number, (position, result)) in operator.results(call.args.len()).zip(results).enumerate() {
            let out = self.method.value(call.args[position]).filter(|_| self.is_written(call, number));
            let Some(out) = out else { continue };
            match result {
                ResultMeta::Tensor(meta) => self.check_out(call, position, out, meta, findings, locate),
                ResultMeta::Tensors(parts) => {
                    let outs = values[out].as_tensors();
                    if parts.len() != outs.len() {
                        findings.add(O_15, || {
                            let count = |count: usize| format!("a list of {}", counted(count as u64, "tensor"));
                            let expected = format!("{}, {}", count(parts.len()), self.described(call));
                            (locate(&call.method.arg(call.step, position)), count(outs.len()), expected)
                        });
                    }
                    for (out, meta) in outs.iter().zip(parts) {
                        if let Some(out) = self.method.value(*out) {
                            self.check_out(call, position, out, meta, findings, locate);
                        }
                    }
                }
                ResultMeta::Unwritten(_) | ResultMeta::Int(_) | ResultMeta::Scalar => {}
            }
        }
    }

    /// Returns `false` if the call does not write an out.
    fn is_written(&self, call: &KernelCall<'_, '_>, number: usize) -> bool {
        let Some(position) = call.known.facts.out_mask else { return true };
        let mask = call.args.get(position).and_then(|mask| self.method.value(*mask));
        match mask.map(|mask| &self.method.values()[mask]) {
            Some(EValue::BoolList(Some(mask))) => mask.get(number).is_some_and(|is_written| *is_written),
            Some(_) | None => false,
        }
    }

    /// Reports an out that cannot hold its result.
    fn check_out(
        &self,
        call: &KernelCall<'_, '_>,
        position: usize,
        out: usize,
        meta: &TensorMeta,
        findings: &mut Findings,
        locate: &Locator<'_>,
    ) {
        let EValue::Tensor(tensor) = &self.method.values()[out] else { return };
        let is_small = || call.known.facts.aborts && elements(tensor) < most_elements(meta);
        let mismatch = inference::mismatch(tensor, meta, call.known);
        let Some(mismatch) = mismatch.or_else(|| is_small().then_some(Mismatch::Sizes)) else { return };
        let is_replaced = *self.inference.known(out) == Knowledge::Nothing;
        if is_replaced || mismatch == Mismatch::Sizes && call.known.facts.is_unsized && has_room(tensor, meta) {
            return;
        }
        findings.add(O_15, || {
            let (found, expected) = match mismatch {
                Mismatch::ScalarType => (format!("a tensor of {}", tensor.scalar_type), meta.scalar_type.to_string()),
                Mismatch::Sizes => {
                    (format!("sizes {:?}", tensor.sizes.as_deref().unwrap_or_default()), meta.size_list())
                }
            };
            let expected = format!("{expected}, {}", self.described(call));
            (locate(&call.method.arg(call.step, position)), found, expected)
        });
    }

    /// Describes a call: ``the result of aten::add.out of `self` float32 [2, 3] and `other` float32 [3]``.
    fn described(&self, call: &KernelCall<'_, '_>) -> String {
        let ins = call.known.signature.args.iter().zip(call.args);
        let ins = ins.take(call.known.results(call.args.len()).start);
        let described: Vec<String> = ins
            .filter_map(|(arg, value)| {
                let meta = self.inference.tensor(self.method.values(), *value)?;
                Some(format!("`{}` {} {}", arg.name, meta.scalar_type, meta.size_list()))
            })
            .take(MAX_NAMED)
            .collect();
        let name = &call.known.name;
        match &described[..] {
            [] => format!("the result of {name}"),
            [only] => format!("the result of {name} of {only}"),
            [first @ .., last] => format!("the result of {name} of {} and {last}", first.join(", ")),
        }
    }

    /// Forgets the inferred sizes of tensors that an instruction with these arguments may write. They are then those in
    /// the file again.
    pub fn forget(&mut self, args: &[ValueId]) {
        let values = self.method.values();
        for arg in args.iter().filter_map(|arg| self.method.value(*arg)) {
            let items = values[arg].as_tensors();
            if !self.spend(items.len()) {
                return;
            }
            for value in items.iter().filter_map(|item| self.method.value(*item)).chain([arg]) {
                if matches!(self.inference.known(value), Knowledge::Tensor(_)) {
                    self.inference.record(value, Knowledge::Stated);
                }
            }
        }
    }

    /// Takes a number of items of lists from the budget; returns `false` if it is exceeded, and the call is not
    /// checked.
    fn spend(&mut self, items: usize) -> bool {
        self.budget.spend(items).is_some()
    }

    /// Reports calls that were not checked.
    pub fn finish(&self, findings: &mut Findings, locate: &Locator<'_>) {
        if self.budget.is_exceeded() {
            self.method.report(&limits::INFERRED, findings, locate);
        }
    }
}

/// Characters of a description of an argument, whose lists may be long.
const SHOWN: usize = 200;

/// Reports an argument that an operator or its kernel does not take.
fn report_argument(
    call: &KernelCall<'_, '_>,
    invalid: &InvalidArgument,
    findings: &mut Findings,
    locate: &Locator<'_>,
) {
    findings.add(O_14, || {
        let operator = call.known;
        let name = operator.signature.args.get(invalid.argument).map_or("", |arg| &*arg.name);
        let [found, expected] = [&invalid.found, &invalid.expected].map(|text| clipped_to(text, SHOWN));
        let found = format!("{found} for argument `{name}` of {}", operator.name);
        (locate(&call.method.arg(call.step, invalid.argument)), found, expected)
    });
}

/// Returns `true` if a tensor has room for the result, or if only execution determines the number of elements.
fn has_room(tensor: &Tensor, meta: &TensorMeta) -> bool {
    elements(tensor) >= most_elements(meta)
}

/// Returns the number of elements that a tensor has room for.
fn elements(tensor: &Tensor) -> i64 {
    tensor.sizes.iter().flatten().fold(1i64, |count, size| count.saturating_mul((*size).into()))
}

/// Returns the maximum number of elements of a result.
fn most_elements(meta: &TensorMeta) -> i64 {
    meta.sizes.iter().fold(1i64, |count, dim| count.saturating_mul(dim.size))
}
