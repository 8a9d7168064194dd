//! The sizes that follow from new bounds, instruction by instruction.
//!
//! Results are inferred four times: with the old and the new bounds, each once with sizes that may be smaller at run
//! time and once with sizes that are exactly the bounds. The former give the new bounds, which are never above those of
//! the program. The latter tell whether an instruction takes inputs of these sizes: with the old bounds it does, and
//! with the new ones it must.

use std::collections::{BTreeMap, HashMap};

use super::inputs::ResolvedInput;
use super::payload::ChangedPayloads;
use super::report::{BoundError, BoundedDelegate, KeptResults};
use super::values::{instruction_name, is_dynamic, sizes_of};
use pte_analysis::inference::{Knowledge, difference, tensors};
use pte_analysis::operators::{MethodOperators, ResolvedOperator, outs_of_unknown};
use pte_analysis::resizing::Resizing;
use pte_model::data::Blob;
use pte_model::diagnostics::clipped;
use pte_model::program::{EValue, ExecutionPlan, Instruction, Program, Sizes, TensorShapeDynamism, ValueId};
use pte_operators::inference::{Dim, InferenceError, InvalidArgument, ResultMeta, TensorMeta};
use pte_xnnpack::payloads::Payloads;

/// Number of items of lists that the calls of a method look at; a list beyond it counts as changed.
const MAX_ITEMS: usize = 1 << 20;

/// Number of arguments that a message names.
const MAX_NAMED: usize = 4;

/// Results of the propagation.
pub(super) struct Outcome {
    /// All values.
    pub values: Vec<EValue>,
    /// All values with sizes that are exactly the old and the new bounds, as far as these sizes are known.
    pub exact: [Vec<EValue>; 2],
    /// New payloads, by delegate.
    pub payloads: BTreeMap<usize, Blob>,
    /// The delegates with new payloads.
    pub delegates: Vec<BoundedDelegate>,
    /// Calls whose results keep their bounds.
    pub kept: Vec<KeptResults>,
}

/// The state of the propagation.
pub(super) struct Propagation<'p> {
    pub(super) plan: &'p ExecutionPlan,
    pub(super) label: &'p dyn Fn(usize) -> String,
    operators: MethodOperators,
    /// Sizes up to the old bounds: those of the program.
    old: Resizing,
    /// Sizes up to the new bounds.
    pub(super) new: Resizing,
    /// Sizes that are exactly the old bounds.
    old_exact: Resizing,
    /// Sizes that are exactly the new bounds.
    new_exact: Resizing,
    /// By value: its exact sizes are not known.
    unknown: Vec<bool>,
    /// By value: an instruction gave it its sizes.
    written: Vec<bool>,
    /// An input became static.
    has_static: bool,
    /// Items of lists that may still be looked at.
    items: usize,
    pub(super) payloads: ChangedPayloads,
    /// Payloads of the program.
    pub(super) decoded: Payloads,
    kept: Vec<KeptResults>,
    pub(super) errors: Vec<BoundError>,
}

impl<'p> Propagation<'p> {
    pub fn new(program: &'p Program, method: usize, label: &'p dyn Fn(usize) -> String) -> Propagation<'p> {
        let plan = &program.plans()[method];
        let operators = MethodOperators::known(plan);
        let values = plan.values().to_vec();
        let mut exact = values.clone();
        for value in &mut exact {
            if let EValue::Tensor(tensor) = value {
                tensor.shape_dynamism = TensorShapeDynamism::STATIC;
            }
        }
        let resizing = |values: &[EValue]| Resizing::new(plan, &operators, values.to_vec());
        Propagation {
            old: resizing(&values),
            new: resizing(&values),
            old_exact: resizing(&exact),
            new_exact: resizing(&exact),
            unknown: vec![false; values.len()],
            written: vec![false; values.len()],
            has_static: false,
            items: MAX_ITEMS,
            payloads: ChangedPayloads::default(),
            decoded: Payloads::of_program(program),
            kept: Vec::new(),
            errors: Vec::new(),
            plan,
            label,
            operators,
        }
    }

    /// Gives an input its new sizes.
    pub fn set_input(&mut self, input: &ResolvedInput) {
        let sizes = Sizes::from(&input.report.after[..]);
        for resizing in [&mut self.new, &mut self.new_exact] {
            if let Some(EValue::Tensor(tensor)) = resizing.values.get_mut(input.value) {
                tensor.sizes = Some(sizes.clone());
                if input.report.made_static {
                    tensor.shape_dynamism = TensorShapeDynamism::STATIC;
                }
            }
        }
        self.has_static |= input.report.made_static;
        // Inference takes a dynamic size of at most 1 for a static one.
        if let (false, Some(mut meta)) = (input.report.made_static, self.new.tensor(ValueId::of(input.value))) {
            for (dim, before) in meta.sizes.iter_mut().zip(&input.report.before) {
                dim.dynamic |= dim.size == 1 && *before > 1;
            }
            self.new.inference.record(input.value, Knowledge::Tensor(Box::new(meta)));
        }
    }

    /// Gives all values the sizes that follow.
    pub fn run(&mut self) {
        let plan = self.plan;
        for (chain, number, instruction) in plan.instructions_by_chain() {
            let at = || instruction_name(plan, chain, number);
            match instruction {
                Instruction::KernelCall { op_index, .. } => {
                    let operators = std::mem::take(&mut self.operators);
                    let args = instruction.args();
                    match operators.get(*op_index) {
                        Some(operator) => self.kernel_call(&at, operator, args),
                        None => {
                            let name = plan.operator(*op_index).and_then(|operator| operator.full_name());
                            let (name, outs) = (name.unwrap_or_default(), outs_of_unknown(plan, args));
                            self.keep(&at, &name, args, outs, "the operator is not known");
                        }
                    }
                    self.operators = operators;
                }
                Instruction::DelegateCall { delegate_index, .. } => {
                    self.delegate_call(&at, *delegate_index, instruction.args());
                }
                Instruction::MoveCall { move_from, move_to } => self.moved(&at, *move_from, *move_to),
                Instruction::JumpFalseCall { .. } | Instruction::FreeCall { .. } | Instruction::Unknown { .. } => {}
            }
        }
    }

    /// Returns the values with their sizes.
    ///
    /// # Errors
    /// All that were found.
    pub fn finish(self) -> Result<Outcome, Vec<BoundError>> {
        if !self.errors.is_empty() {
            return Err(self.errors);
        }
        let (payloads, delegates) = self.payloads.finish();
        let (values, stated, unknown) = (self.new.values, self.plan.values(), self.unknown);
        let exact = |resizing: Resizing| {
            let mut exact = resizing.values;
            let unknown = exact.iter_mut().zip(stated).zip(&unknown).filter(|(_, is_unknown)| **is_unknown);
            unknown.for_each(|((value, stated), _)| value.clone_from(stated));
            exact
        };
        let exact = [exact(self.old_exact), exact(self.new_exact)];
        Ok(Outcome { values, exact, payloads, delegates, kept: self.kept })
    }

    /// Reports an instruction that does not take the new sizes, with the arguments that changed.
    pub(super) fn fail(&mut self, at: &dyn Fn() -> String, what: &str, message: &str, args: &[ValueId]) {
        let method = clipped(self.plan.name.as_deref().unwrap_or_default());
        let message = format!("method `{method}`, {} ({what}): {message}", at());
        let changed = args.iter().filter_map(|arg| arg.within(self.plan.values().len()));
        let changed = changed.filter(|value| sizes_of(&self.old.values[*value]) != sizes_of(&self.new.values[*value]));
        let named = changed.take(MAX_NAMED).map(|value| {
            let (before, after) = (sizes_of(&self.old.values[value]), sizes_of(&self.new.values[value]));
            format!("`{}` becomes {after:?} from {before:?}", clipped(&(self.label)(value)))
        });
        let named: Vec<String> = named.collect();
        let because = if named.is_empty() { String::new() } else { format!("{}; ", named.join(", ")) };
        let rest = "what the exporter computed from the old bounds is not changed: choose bounds that fit, also of other inputs with these sizes, or export again";
        self.errors.push(BoundError { message, help: Some(format!("{because}{rest}")) });
    }

    /// Returns the values of arguments with the items of lists; `None` beyond the limit.
    pub(super) fn expand(&mut self, args: &[ValueId]) -> Option<Vec<usize>> {
        let values = self.plan.values();
        let count = values.len();
        let mut all = Vec::with_capacity(args.len());
        for value in args.iter().filter_map(|arg| arg.within(count)) {
            let items = values[value].list_items();
            let items_count = items.as_ref().map_or(0, |items| items.len());
            self.items = self.items.checked_sub(items_count)?;
            all.push(value);
            all.extend(
                items.iter().flat_map(|items| items.iter()).filter_map(|item| ValueId::of_int(item).within(count)),
            );
        }
        Some(all)
    }

    /// Returns `true` if a value differs with the new bounds.
    pub(super) fn is_changed(&self, value: usize) -> bool {
        let (old, new) = (&self.old.values[value], &self.new.values[value]);
        sizes_of(old) != sizes_of(new)
            || is_dynamic(old) != is_dynamic(new)
            || self.old.inference.known(value) != self.new.inference.known(value)
    }

    fn kernel_call(&mut self, at: &dyn Fn() -> String, operator: &ResolvedOperator, args: &[ValueId]) {
        let results_at = operator.results(args.len()).start;
        let read = self.expand(&args[..results_at.min(args.len())]);
        let is_changed = read.as_ref().is_none_or(|read| read.iter().any(|value| self.is_changed(*value)));
        let is_unknown = read.as_ref().is_none_or(|read| read.iter().any(|value| self.unknown[*value]));
        let (old, new) = (self.old.infer(operator, args), self.new.infer(operator, args));
        let exact = match is_unknown {
            true => Exact::Unknown,
            false => self.exact_call(operator, args),
        };
        if !is_changed {
            if let (Ok(old), Ok(new)) = (&old, &new) {
                self.old.record_results(operator, args, old);
                self.new.record_results(operator, args, new);
            }
            self.hold(args, results_at);
            return self.mark(args, results_at, exact != Exact::Known);
        }
        let name = format!("`{}`", operator.name);
        match (exact, new) {
            (Exact::Refused(message), _) => {
                self.fail(at, &name, &message, args);
                self.mark(args, results_at, true);
            }
            (_, Err(InferenceError::Invalid(invalid) | InferenceError::Unsupported(invalid)))
                if old.is_ok() && !is_unknown =>
            {
                let message = text_of(operator, &invalid);
                self.fail(at, &name, &message, args);
                self.mark(args, results_at, true);
            }
            (exact, Ok(results)) => {
                if let Ok(old) = &old {
                    self.old.record_results(operator, args, old);
                }
                self.take_results(at, operator, args, &results);
                self.mark(args, results_at, exact != Exact::Known);
            }
            (_, Err(error)) => {
                let reason = match error {
                    InferenceError::Undetermined(reason) => reason.to_owned(),
                    InferenceError::UnknownOperator => "no rule for its sizes is known".to_owned(),
                    InferenceError::Invalid(invalid) | InferenceError::Unsupported(invalid) => {
                        text_of(operator, &invalid)
                    }
                };
                match self.limit_selected(operator, args) {
                    true => self.mark(args, results_at, true),
                    false => self.keep(at, &operator.name, args, results_at, &reason),
                }
            }
        }
    }

    /// Infers a call with sizes that are exactly the bounds.
    fn exact_call(&mut self, operator: &ResolvedOperator, args: &[ValueId]) -> Exact {
        let (Ok(old), new) = (self.old_exact.infer(operator, args), self.new_exact.infer(operator, args)) else {
            return Exact::Unknown;
        };
        let new = match new {
            Ok(new) => new,
            Err(InferenceError::Invalid(invalid) | InferenceError::Unsupported(invalid)) => {
                return Exact::Refused(text_of(operator, &invalid));
            }
            Err(InferenceError::Undetermined(_) | InferenceError::UnknownOperator) => return Exact::Unknown,
        };
        let before: HashMap<usize, &TensorMeta> =
            tensors(&self.old_exact.values, operator, args, &old).into_iter().collect();
        for (value, meta) in tensors(&self.new_exact.values, operator, args, &new) {
            let (Some(before), stated) = (before.get(&value), &self.plan.values()[value]) else { continue };
            let is = |meta: &TensorMeta| {
                meta.sizes.iter().map(|dim| dim.size).eq(sizes_of(stated).iter().map(|size| i64::from(*size)))
            };
            if !is_dynamic(stated) && is(before) && !is(meta) {
                let (name, stated) = (clipped(&(self.label)(value)), sizes_of(stated));
                return Exact::Refused(format!(
                    "the result is {}, expected the sizes {stated:?} of `{name}`, which is static",
                    meta.size_list()
                ));
            }
        }
        self.old_exact.apply(operator, args, &old);
        self.new_exact.apply(operator, args, &new);
        Exact::Known
    }

    /// Gives the results of a call their new sizes.
    fn take_results(
        &mut self,
        at: &dyn Fn() -> String,
        operator: &ResolvedOperator,
        args: &[ValueId],
        results: &[ResultMeta],
    ) {
        let mut known = Vec::with_capacity(results.len());
        for (value, meta) in tensors(&self.new.values, operator, args, results) {
            let stated = &self.plan.values()[value];
            if !is_dynamic(stated) {
                continue;
            }
            if meta.sizes.len() != sizes_of(stated).len() {
                let (name, stated) = (clipped(&(self.label)(value)), sizes_of(stated));
                let message =
                    format!("the result is {}, expected the rank of `{name}`, which has {stated:?}", meta.size_list());
                self.fail(at, &format!("`{}`", operator.name), &message, args);
                continue;
            }
            known.push((value, self.set(value, meta.clone())));
        }
        self.new.record_results(operator, args, results);
        for (value, meta) in known {
            let is_same = self.new.values[value].as_tensor().is_some_and(|tensor| difference(tensor, &meta).is_none());
            if *self.new.inference.known(value) != Knowledge::Nothing {
                let knowledge = if is_same { Knowledge::Tensor(Box::new(meta)) } else { Knowledge::Stated };
                self.new.inference.record(value, knowledge);
            }
        }
    }

    /// Gives a dynamic tensor new sizes: at most those of the program, and at least those of another instruction that
    /// writes it. Returns them.
    pub(super) fn set(&mut self, value: usize, mut meta: TensorMeta) -> TensorMeta {
        let becomes_static = self.has_static && !meta.is_dynamic();
        let was_written = std::mem::replace(&mut self.written[value], true);
        let stated = sizes_of(&self.plan.values()[value]);
        let Some(EValue::Tensor(tensor)) = self.new.values.get_mut(value) else { return meta };
        let so_far = tensor.sizes.clone();
        for ((dim, stated), so_far) in meta.sizes.iter_mut().zip(stated).zip(so_far.iter().flatten()) {
            dim.size = dim.size.min((*stated).into());
            if was_written {
                dim.size = dim.size.max((*so_far).into());
            }
        }
        let sizes: Option<Sizes> = meta.sizes.iter().map(|dim| i32::try_from(dim.size).ok()).collect();
        match () {
            () if !was_written && becomes_static => tensor.shape_dynamism = TensorShapeDynamism::STATIC,
            () if was_written && (!becomes_static || sizes != so_far) => {
                tensor.shape_dynamism =
                    self.plan.values()[value].as_tensor().map_or(tensor.shape_dynamism, |stated| stated.shape_dynamism);
            }
            () => {}
        }
        tensor.sizes = sizes;
        if let Some(order) = &tensor.dim_order {
            meta.dim_order = order.clone();
        }
        meta
    }

    /// Lowers the bound of selected elements to the number of elements. Returns `false` for another call.
    fn limit_selected(&mut self, operator: &ResolvedOperator, args: &[ValueId]) -> bool {
        let [from, ..] = args else { return false };
        let is_same = |other: &ValueId| {
            let sizes = |value: &ValueId| self.new.tensor(*value).map(|meta| meta.sizes);
            sizes(from) == sizes(other)
        };
        let is_selection = match &*operator.name {
            "aten::nonzero.out" => true,
            "aten::masked_select.out" => args.get(1).is_some_and(is_same),
            _ => false,
        };
        let elements = self
            .new
            .tensor(*from)
            .map(|meta| meta.sizes.iter().fold(1i64, |count, dim| count.saturating_mul(dim.size)));
        let out = args.get(operator.results(args.len()).start).and_then(|out| out.within(self.plan.values().len()));
        let (true, Some(elements), Some(out)) = (is_selection, elements, out) else { return false };
        let stated = &self.plan.values()[out];
        let (Some(tensor), [_, rest @ ..]) = (stated.as_tensor(), sizes_of(stated)) else { return false };
        if is_dynamic(stated) {
            let first = Dim { size: elements, dynamic: true };
            let sizes = std::iter::once(first).chain(rest.iter().map(|size| Dim::fixed((*size).into()))).collect();
            let meta = TensorMeta {
                scalar_type: tensor.scalar_type,
                sizes,
                dim_order: tensor.dim_order.clone().unwrap_or_default(),
            };
            self.set(out, meta);
        }
        true
    }

    /// Leaves the bounds of the results of a call, which cannot be inferred.
    fn keep(&mut self, at: &dyn Fn() -> String, operator: &str, args: &[ValueId], results_at: usize, reason: &str) {
        let read = self.expand(args);
        if read.is_none_or(|read| read.into_iter().any(|value| self.is_changed(value))) {
            self.kept.push(KeptResults { instruction: at(), operator: clipped(operator), reason: reason.to_owned() });
            self.mark(args, results_at, true);
        }
        self.hold(args, results_at);
    }

    /// Leaves the bounds of the results of an instruction; a tensor that another instruction writes gets them again.
    fn hold(&mut self, args: &[ValueId], results_at: usize) {
        for value in args[results_at.min(args.len())..].iter().filter_map(|arg| arg.within(self.plan.values().len())) {
            let EValue::Tensor(stated) = &self.plan.values()[value] else { continue };
            if std::mem::replace(&mut self.written[value], true)
                && let Some(EValue::Tensor(tensor)) = self.new.values.get_mut(value)
            {
                tensor.sizes.clone_from(&stated.sizes);
                tensor.shape_dynamism = stated.shape_dynamism;
            }
        }
    }

    /// Marks whether the exact sizes of the results of a call are known.
    pub(super) fn mark(&mut self, args: &[ValueId], results_at: usize, is_unknown: bool) {
        let count = self.plan.values().len();
        for value in args[results_at.min(args.len())..].iter().filter_map(|arg| arg.within(count)) {
            let items = self.plan.values()[value].as_tensors();
            if self.items < items.len() {
                continue;
            }
            self.items -= items.len();
            for value in items.iter().filter_map(|item| item.within(count)).chain([value]) {
                self.unknown[value] = is_unknown;
            }
        }
    }

    /// Gives the target of a move the sizes of the source.
    fn moved(&mut self, at: &dyn Fn() -> String, from: ValueId, to: ValueId) {
        let count = self.plan.values().len();
        let (Some(source), Some(target)) = (from.within(count), to.within(count)) else { return };
        let Some(meta) = self.new.tensor(from) else { return };
        self.unknown[target] |= self.unknown[source] || self.written[target];
        let stated = &self.plan.values()[target];
        if is_dynamic(stated) && meta.sizes.len() == sizes_of(stated).len() {
            self.set(target, meta);
        } else if is_dynamic(&self.plan.values()[source]) != is_dynamic(stated) && self.is_changed(source) {
            let message =
                format!("`{}` is moved to a tensor of {:?}", clipped(&(self.label)(source)), sizes_of(stated));
            self.fail(at, "move", &message, &[from]);
        }
        for resizing in [&mut self.old_exact, &mut self.new_exact] {
            if let Some(exact) = resizing.tensor(from) {
                resizing.set(target, &exact);
            }
        }
    }

    /// Gives a result of a delegate its new sizes, in the order of torch.
    pub(super) fn set_result(&mut self, value: usize, sizes: &[i64], is_static: bool) {
        let Some(tensor) = self.plan.values()[value].as_tensor() else { return };
        let dim = |size: &i64| Dim { size: *size, dynamic: !is_static && *size > 1 };
        let mut meta = TensorMeta {
            scalar_type: tensor.scalar_type,
            sizes: sizes.iter().map(dim).collect(),
            dim_order: tensor.dim_order.clone().unwrap_or_default(),
        };
        self.new_exact.set(value, &meta);
        if !is_static && let Some(first) = meta.sizes.first_mut() {
            first.dynamic = true;
        }
        self.set(value, meta);
    }

    /// Returns `true` if the exact sizes of a value are not known.
    pub(super) fn is_unknown(&self, value: usize) -> bool {
        self.unknown[value]
    }
}

/// Outcome of a call with sizes that are exactly the bounds.
#[derive(Debug, PartialEq, Eq)]
enum Exact {
    /// The sizes of its results follow.
    Known,
    /// They do not, also not with the old bounds.
    Unknown,
    /// It takes the old bounds, but not the new ones; the reason.
    Refused(String),
}

/// Describes an argument that a call does not take.
fn text_of(operator: &ResolvedOperator, invalid: &InvalidArgument) -> String {
    let name = operator.signature.args.get(invalid.argument).map_or("", |arg| &*arg.name);
    format!("{} for argument `{name}`, expected {}", clipped(&invalid.found), clipped(&invalid.expected))
}
