//! Completes tensors that are not fully declared, by inference from the instructions, and reports calls whose arguments
//! or declared results contradict it.
//!
//! The rules of the operators are in [`pte_operators::inference`]; their application to a program is
//! [`pte_analysis::inference`].

use std::collections::{HashMap, HashSet};

use super::method::MethodResolver;
use crate::ir::NodeDiagnostic;
use crate::ir::data;
use crate::ir::document::{Action, At, Declaration, Literal, NameOrNumber, ParsedTensor, Word};
use pte_analysis::inference::{self, Inference, Knowledge, Mismatch};
use pte_analysis::operators::ResolvedOperator;
use pte_model::diagnostics::{Code, clipped, counted};
use pte_model::format::{DimOrder, ScalarType};
use pte_model::program::attributes::TENSOR_ATTRIBUTES;
use pte_model::program::instruction::{Callee, FieldRole};
use pte_model::program::{
    DelegateId, EValue, ExecutionPlan, Instruction, Memory, Tensor, TensorData, TensorShapeDynamism, ValueId,
};
use pte_operators::inference::{Dim, InferenceError, IntMeta, InvalidArgument, ResultMeta, TensorMeta};
use pte_payload::arguments::{self, ArgumentMismatch};
use pte_yaml::tree::NodeId;

/// Number of results that the message about an unknown operator shows.
const MAX_RELATED: usize = 4;

impl<'d, 'a> MethodResolver<'d, 'a, '_> {
    /// Infers the properties of the results of all instructions. After an error of an instruction, its results are
    /// unknown; after any other error, nothing is inferred.
    pub(super) fn infer(&mut self, plan: &mut ExecutionPlan) {
        let errors = self.diagnostics.iter().filter(|diagnostic| diagnostic.is_error()).count();
        if errors > self.instruction_errors {
            return;
        }
        let numbers = self.declared.iter().enumerate();
        self.declarations = numbers.filter_map(|(declaration, known)| Some((known.number?, declaration))).collect();
        let operators = self.lookup.of_method(plan);
        let mut inference = Inference::bounded(plan, &operators);
        for value in self.unfinished.keys() {
            value.get().into_iter().for_each(|index| inference.record(index, Knowledge::Nothing));
        }
        let mut pass = InferencePass::new(inference, plan.values.take().unwrap_or_default());
        self.invalid
            .iter()
            .filter_map(|declaration| self.declared[*declaration].number)
            .for_each(|value| pass.fail(value));
        for (position, (action, instruction)) in self.actions().zip(plan.instructions()).enumerate() {
            if self.wrong_instructions.contains(&position) {
                self.written_by(action).into_iter().for_each(|value| pass.fail(value));
                continue;
            }
            self.finish_views(&mut pass, instruction.args());
            match instruction.callee() {
                Some(Callee::Operator(index)) => {
                    let operator = operators.get(index);
                    self.infer_call(&mut pass, operator, instruction.args(), action);
                }
                Some(Callee::Delegate(index)) => {
                    self.compare_arguments(&pass, index, instruction.args(), action);
                }
                None => {
                    if let Some((from, to)) = instruction.moved() {
                        self.infer_move(&mut pass, from, to, action);
                    }
                }
            }
        }
        let rest: Vec<ValueId> = self.unfinished.keys().copied().collect();
        self.finish_views(&mut pass, &rest);
        self.check_views(&pass, plan);
        let unfinished = std::mem::take(&mut self.unfinished);
        let unknown = if unfinished.is_empty() { HashMap::new() } else { self.outs_of_unknown_operators() };
        // Invalid data are reported: results that are not known follow from them.
        let has_invalid = !self.invalid.is_empty();
        let has_cause = |value: &ValueId| has_invalid || pass.failed.contains(value);
        let is_reported = self.diagnostics.iter().any(NodeDiagnostic::is_error)
            || has_invalid
            || unfinished.keys().any(|value| !has_cause(value));
        for (_, declaration) in unfinished.into_iter().filter(|(value, _)| !is_reported || !has_cause(value)) {
            let name = &self.values[declaration].name;
            match unknown.get(&*name.value) {
                Some(operator) => self.result_of_unknown(name, operator),
                None => {
                    let message = format!("the sizes of `{}` are not known", name.value);
                    self.error(Code::UndeterminedTensor, name.id, message, "add `tensor` and `sizes` under `values`");
                }
            }
        }
        plan.values = Some(pass.values);
    }

    /// The operators that no table has, by the names of their outs.
    fn outs_of_unknown_operators(&mut self) -> HashMap<&'d str, &'d Word<'a>> {
        let mut unknown = HashMap::new();
        for action in self.actions() {
            if let Action::Kernel { name, out: Some(outs), .. } = action
                && self.resolve(&name.value).is_none()
            {
                outs.iter().for_each(|out| _ = unknown.entry(&*out.value).or_insert(name));
            }
        }
        unknown
    }

    /// Reports a result that cannot be inferred because its operator is unknown.
    fn result_of_unknown(&mut self, result: &Word<'a>, operator: &Word<'a>) {
        // The warning about the operator is that of the cause.
        let reported = self.reported_operators.get(&*operator.value).copied();
        if let Some(reported) = reported.and_then(|at| self.diagnostics.make_error(Code::UnknownOperator, at)) {
            if reported.related.len() < MAX_RELATED {
                let label = "not inferred: a custom operator needs `tensor` and `sizes` of its results";
                reported.related.push((result.id, label.to_owned()));
            }
            return;
        }
        let (name, operator) = (clipped(&result.value), &operator.value);
        let message = format!("the sizes of `{name}` are not known (`{}` is an unknown operator)", clipped(operator));
        let similar = self.similar_operator(operator);
        let similar = similar.map_or_else(String::new, |similar| format!("did you mean `{similar}`? "));
        let custom = "A custom operator needs `tensor` and `sizes` of its results under `values`, and its schema in `--ops FILE`";
        let help = similar + custom;
        self.diagnostics.push(Code::UndeterminedTensor.error(result.id, message).label("not inferred").help(help));
    }

    /// The instructions of the method, which emit one instruction each.
    fn actions(&self) -> impl Iterator<Item = &'d Action<'a>> + use<'d, 'a> {
        self.method.actions().filter(|action| action.emits())
    }

    /// The values that an instruction writes by their names.
    fn written_by(&self, action: &Action<'a>) -> Vec<ValueId> {
        let number = |name: &str| self.names.get(name).and_then(|declaration| self.declared[*declaration].number);
        if let Some(At { value: Literal::Word(to), .. }) = action.operand(FieldRole::Write) {
            return number(to).into_iter().collect();
        }
        action.outs().iter().filter_map(|out| number(&out.value)).collect()
    }

    fn infer_call(
        &mut self,
        pass: &mut InferencePass,
        operator: Option<&ResolvedOperator>,
        args: &[ValueId],
        action: &'d Action<'a>,
    ) {
        let Some(operator) = operator else {
            let written = self.written_by(action).into_iter();
            return pass.open.extend(written.filter(|value| self.unfinished.contains_key(value)));
        };
        if self.method.requires_grad {
            let requires = |value: usize| pass.values[value].as_tensor().is_some_and(|tensor| tensor.requires_grad);
            for (value, required) in inference::gradients(&pass.values, operator, args, requires) {
                self.set_requires_grad(pass, value, required);
            }
        }
        let call = Call { operator, args, action };
        let results = match pass.inference.call(&pass.values, operator, args) {
            Ok(results) => results,
            Err(error) => return self.report(pass, call, &error),
        };
        if is_checked(action) {
            self.compare_lists(pass, call, &results);
        }
        for (value, meta) in inference::tensors(&pass.values, operator, args, &results) {
            self.complete(pass, ValueId::of(value), meta, call);
        }
        pass.inference.record_results(&pass.values, operator, args, &results);
    }

    /// Completes a result, or compares it with its declaration.
    fn complete(&mut self, pass: &mut InferencePass, value: ValueId, meta: &TensorMeta, call: Call<'_, 'd, 'a>) {
        let Call { operator, action, .. } = call;
        let is_checked = is_checked(action);
        if let Some(declaration) = self.unfinished.get(&value).copied() {
            let Some(written) = self.written(declaration) else { return };
            if let Some(mismatch) = stated_mismatch(written, meta, operator).filter(|_| is_checked) {
                if !pass.is_unknown(value) {
                    self.report_mismatch(pass, declaration, mismatch, meta, call);
                }
                return pass.fail(value);
            }
            self.warn_of_bound(pass, declaration, meta, call);
            return self.finish(pass, value, meta);
        }
        let Some(EValue::Tensor(tensor)) = value.item(&pass.values) else { return };
        let mismatch = inference::mismatch(tensor, meta, operator);
        let Some(declaration) = self.declaration_of_value(value).filter(|_| is_checked) else { return };
        match mismatch {
            Some(_) if pass.is_unknown(value) => {}
            Some(mismatch) => {
                self.report_mismatch(pass, declaration, mismatch, meta, call);
                pass.fail(value);
            }
            None => self.warn_of_bound(pass, declaration, meta, call),
        }
    }

    /// Reports lists of outs with another number of tensors than the results.
    fn compare_lists(&mut self, pass: &mut InferencePass, call: Call<'_, 'd, 'a>, results: &[ResultMeta]) {
        let Action::Kernel { name, out: Some(outs), .. } = call.action else { return };
        for (place, result) in call.results().iter().zip(results) {
            let (ResultMeta::Tensors(parts), Some(EValue::TensorList(Some(items)))) =
                (result, place.item(&pass.values))
            else {
                continue;
            };
            if parts.len() == items.len() {
                continue;
            }
            pass.failed.extend(items.iter().filter(|item| self.unfinished.contains_key(item)));
            let call = self.describe(pass, call);
            let message = format!("{call} gives {}, and `out` has {}", counted(parts.len(), "tensor"), items.len());
            let at = outs.first().map_or(name.id, |out| out.id);
            let label = format!("expected a list of {}", counted(parts.len(), "name"));
            self.error(Code::ArgumentCount, at, message, label);
        }
    }

    /// Completes the target of a move.
    fn infer_move(&mut self, pass: &mut InferencePass, from: ValueId, to: ValueId, action: &'d Action<'a>) {
        self.finish_views(pass, &[from]);
        if let Some(meta) = pass.inference.tensor(&pass.values, from).map(std::borrow::Cow::into_owned) {
            self.finish(pass, to, &meta);
        }
        if pass.is_unknown(from) {
            pass.fail(to);
        }
        if !pass.is_unknown(to) {
            self.compare_move(pass, from, to, action);
        }
        let required = from.item(&pass.values).and_then(EValue::as_tensor).is_some_and(|from| from.requires_grad);
        if let (true, Some(to)) = (self.method.requires_grad && required, to.get()) {
            self.set_requires_grad(pass, to, true);
        }
    }

    /// Reports a move of a tensor to one of another element type or of other sizes: another instruction or the
    /// declaration determines these.
    fn compare_move(&mut self, pass: &InferencePass, from: ValueId, to: ValueId, action: &'d Action<'a>) {
        let operands = action.operand(FieldRole::Read).zip(action.operand(FieldRole::Write));
        let Some((At { value: Literal::Word(source), .. }, At { id, value: Literal::Word(target) })) = operands else {
            return;
        };
        let tensor = |value: ValueId| value.item(&pass.values)?.as_tensor();
        let (Some(from), Some(to)) = (tensor(from), tensor(to)) else { return };
        let (Some(from_sizes), Some(to_sizes)) = (&from.sizes, &to.sizes) else { return };
        if from.scalar_type != to.scalar_type || from_sizes != to_sizes {
            let described = |tensor: &Tensor, sizes: &[i32]| format!("{} {sizes:?}", tensor.scalar_type);
            let (from, to) = (described(from, from_sizes), described(to, to_sizes));
            let message = format!("`{target}` is {to}, and this moves `{source}`, which is {from}, to it");
            let label = "expected the same element type and sizes of all tensors that are moved to it";
            self.error(Code::Contradiction, *id, message, label);
        }
    }

    /// Reports tensors of another element type or of other sizes than the graph of a delegate, which is called by its
    /// name.
    fn compare_arguments(&mut self, pass: &InferencePass, id: DelegateId, args: &[ValueId], action: &'d Action<'a>) {
        let Action::Delegate { delegate: At { value: NameOrNumber::Name(name), .. }, args: given } = action else {
            return;
        };
        let graphs = std::mem::take(&mut self.graph_arguments);
        let graph = id.item(&graphs).map_or(&[][..], Vec::as_slice);
        // `check` reports fewer arguments.
        let graph = if graph.len() <= args.len() { graph } else { &[] };
        let tensor = |number: u32| {
            let value = *args.get(number as usize)?;
            let is_known = !self.unfinished.contains_key(&value) && !pass.is_unknown(value);
            value.item(&pass.values)?.as_tensor().filter(|_| is_known)
        };
        let is_dynamic = arguments::has_dynamic_input(graph, tensor);
        let mut wrong = Vec::new();
        for argument in graph {
            let Some((tensor, given)) = tensor(argument.number).zip(given.get(argument.number as usize)) else {
                continue;
            };
            let Literal::Word(word) = &given.value else { continue };
            let role = if argument.is_input { "an input" } else { "an output" };
            let (message, label) = match argument.mismatch(tensor, is_dynamic) {
                None => continue,
                Some(ArgumentMismatch::Type) => {
                    let types: Vec<String> = argument.tensor_types.iter().map(ToString::to_string).collect();
                    let message = format!("`{word}` is {}, and {role} of the graph of `{name}`", tensor.scalar_type);
                    (message, format!("expected {}", types.join(" or ")))
                }
                Some(ArgumentMismatch::Sizes) => {
                    let sizes = arguments::sizes_of(tensor);
                    let order = if arguments::is_reordered(tensor) { " in the order of memory" } else { "" };
                    let message = format!("`{word}` has sizes {sizes}, and is {role} of the graph of `{name}`");
                    (message, format!("the graph has sizes {:?}{order}", argument.dims))
                }
            };
            wrong.push((given.id, message, label));
        }
        self.graph_arguments = graphs;
        wrong.into_iter().for_each(|(at, message, label)| self.error(Code::Contradiction, at, message, label));
    }

    /// Warns about a declared bound below the inferred one: the call fails if the result is larger. If not all Ints are
    /// known, the inferred bound is that of the whole argument, and the exporter may know a smaller one.
    fn warn_of_bound(&mut self, pass: &InferencePass, declaration: usize, meta: &TensorMeta, call: Call<'_, 'd, 'a>) {
        let value: &'d Declaration<'a> = self.values[declaration];
        let Some(stated) = value.tensor().and_then(|written| written.sizes.as_ref()) else { return };
        let is_smaller = |(size, dim): (&i32, &Dim)| dim.dynamic && i64::from(*size) < dim.size;
        let is_unknown = |arg: &ValueId| {
            let int = arg.get().filter(|_| matches!(arg.item(&pass.values), Some(EValue::Int(_))));
            int.is_some_and(|int| {
                matches!(pass.inference.known(int), Knowledge::Nothing | Knowledge::Int(IntMeta::Unknown))
            })
        };
        if stated.value.iter().zip(&meta.sizes).any(is_smaller) && !call.args.iter().any(is_unknown) {
            let call = self.describe(pass, call);
            let (name, stated_sizes, bound) = (&value.name.value, &stated.value, meta.size_list());
            let message = format!("`{name}` is declared with {stated_sizes:?}, but {call} gives up to {bound}");
            let warning = Code::Contradiction.warning(stated.id, message);
            self.diagnostics.push(warning.label("the call fails with `InvalidArgument` if its result is larger"));
        }
    }

    /// Reports views whose number of elements differs from that of their bases. Warns about views whose elements are
    /// not in the same order, or whose sizes do not follow those of the bases.
    fn check_views(&mut self, pass: &InferencePass, plan: &ExecutionPlan) {
        if (0..self.values.len()).all(|declaration| self.view_of(declaration).is_none()) {
            return;
        }
        let resized: HashSet<&str> = self.actions().flat_map(Action::outs).map(|out| &*out.value).collect();
        let entries = self.method.actions().filter_map(|action| match action {
            Action::View { out, .. } => Some(&*out.value),
            _ => None,
        });
        let entries: HashSet<&str> = entries.collect();
        let moved = plan.instructions().filter_map(|instruction| match instruction {
            Instruction::MoveCall { move_to, .. } => Some(*move_to),
            _ => None,
        });
        let moved: HashSet<ValueId> = moved.collect();
        let numbers: Vec<Option<ValueId>> = self.declared.iter().map(|known| known.number).collect();
        let tensor = |declaration: usize| {
            let number = numbers.get(declaration).copied().flatten()?;
            Some((number, number.item(&pass.values)?.as_tensor()?))
        };
        for (declaration, value) in self.values.iter().enumerate() {
            let Some(written) = value.tensor() else { continue };
            let Some(view_of) = &written.view_of else { continue };
            let base = self.names.get(&*view_of.value).copied();
            let (Some((number, view)), Some((base, of))) = (tensor(declaration), base.and_then(tensor)) else {
                continue;
            };
            let Some(meta) = pass.inference.tensor(&pass.values, base) else { continue };
            let is_moved = moved.contains(&base);
            let at = written.sizes.as_ref().map_or(value.name.id, |sizes| sizes.id);
            let (sizes, base_sizes) =
                (view.sizes.as_deref().unwrap_or_default(), of.sizes.as_deref().unwrap_or_default());
            let (name, base) = (&value.name.value, &view_of.value);
            // The first bytes of a constant may be shared, by a declaration. Any other view with another number of
            // elements usually has the sizes from before an edit of its base.
            let is_part = is_constant(of);
            // Sizes that do not follow from the base have an error of their own.
            if !pass.failed.contains(&number)
                && view.scalar_type == of.scalar_type
                && (!is_part || entries.contains(&**name))
            {
                self.diagnostics.extend(resized_view(at, sizes, base_sizes));
            }
            let mut warn = |at: NodeId, message: String, label: &str| {
                self.diagnostics.push(Code::InvalidView.warning(at, message).label(label));
            };
            if is_moved {
                let message = format!("`{name}` is a view of `{base}`, which a move sets");
                warn(
                    view_of.id,
                    message,
                    "it has the planned memory of its base, which a move does not write: view the sources, or call `executorch_prim::et_view.default`",
                );
            }
            if view.scalar_type != of.scalar_type {
                let at = written.scalar_type.as_ref().map_or(value.name.id, |stated| stated.id);
                let (own, other) = (view.scalar_type, of.scalar_type);
                let message = format!("`{name}` is a view of element type {own} of `{base}`, which is {other}");
                warn(at, message, "its elements are the bytes of others");
            }
            if meta.is_dynamic() && !resized.contains(&**name) {
                let message =
                    format!("`{name}` {sizes:?} is a view of `{base}`, whose sizes {base_sizes:?} are dynamic");
                warn(at, message, "it keeps its sizes when those of its base are smaller");
            }
            if (sizes != base_sizes || memory_order(view) != memory_order(of))
                && [view, of].into_iter().any(|tensor| !memory_order(tensor).is_sorted())
            {
                let order = |tensor: &Tensor| format!("{:?}", tensor.dim_order.as_deref().unwrap_or_default());
                let (own, other) = (order(view), order(of));
                let message = format!(
                    "`{name}` {sizes:?} with dim_order {own} is a view of `{base}` {base_sizes:?} with dim_order {other}"
                );
                warn(at, message, "its elements are in another order than those of its base");
            }
        }
    }

    /// Returns the declaration of a value.
    fn declaration_of_value(&self, value: ValueId) -> Option<usize> {
        self.declarations.get(&value).copied()
    }

    fn report_mismatch(
        &mut self,
        pass: &InferencePass,
        declaration: usize,
        mismatch: Mismatch,
        meta: &TensorMeta,
        call: Call<'_, 'd, 'a>,
    ) {
        let value: &'d Declaration<'a> = self.values[declaration];
        let Some(written) = value.tensor() else { return };
        let number = self.declared[declaration].number;
        let tensor = number.and_then(|number| number.item(&pass.values)).and_then(EValue::as_tensor);
        let (at, found, expected) = match mismatch {
            Mismatch::ScalarType => {
                let stated = written.scalar_type.as_ref().map(|stated| (stated.id, stated.value));
                let found = stated.map(|(_, found)| found).or(tensor.map(|tensor| tensor.scalar_type));
                (stated.map(|(id, _)| id), found.map(|found| found.to_string()), meta.scalar_type.to_string())
            }
            Mismatch::Sizes => {
                let stated = written.sizes.as_ref().map(|stated| (stated.id, &stated.value[..]));
                let found = stated.map(|(_, sizes)| sizes).or(tensor.and_then(|tensor| tensor.sizes.as_deref()));
                (stated.map(|(id, _)| id), found.map(|found| format!("{found:?}")), meta.size_list())
            }
        };
        let found = found.unwrap_or_default();
        let name = &value.name.value;
        let described = self.describe(pass, call);
        match at {
            Some(at) => {
                let message = format!("`{name}` is declared with {found}, but {described} gives {expected}");
                self.error(Code::Contradiction, at, message, format!("expected {expected}, or leave it out"));
            }
            None => {
                let message =
                    format!("`{name}` is {found} after an earlier instruction, but {described} gives {expected}");
                let mut outs = call.action.outs().iter();
                let at = outs.find(|out| out.value == *name).map_or(call.action.node(), |out| out.id);
                let mismatch = Code::Contradiction.error(at, message).related(value.name.id, "first defined here");
                self.diagnostics.push(mismatch.label("expected the same of all instructions that write it"));
            }
        }
    }

    /// Describes a call with the tensors among its arguments: `aten::mm.out of x float32 [2, 3] and y float32 [3, 4]`.
    fn describe(&self, pass: &InferencePass, call: Call<'_, 'd, 'a>) -> String {
        let Call { operator: ResolvedOperator { name, .. }, args, .. } = call;
        let ins = &args[..call.operator.results(args.len()).start.min(args.len())];
        let described: Vec<String> = ins
            .iter()
            .filter_map(|value| {
                let meta = pass.inference.tensor(&pass.values, *value)?;
                let name = self.declaration_of_value(*value).map(|declaration| &self.values[declaration].name.value);
                let name = name.map_or_else(|| format!("values[{value}]"), |name| format!("`{name}`"));
                Some(format!("{name} {} {}", meta.scalar_type, meta.size_list()))
            })
            .collect();
        match &described[..] {
            [] => name.to_string(),
            [only] => format!("{name} of {only}"),
            [first @ .., last] => format!("{name} of {} and {last}", first.join(", ")),
        }
    }

    /// Reports a call whose results are not inferred: an invalid argument, or a result that must be declared.
    fn report(&mut self, pass: &mut InferencePass, call: Call<'_, 'd, 'a>, error: &InferenceError) {
        let Action::Kernel { name, args: written, .. } = call.action else { return };
        let items = |values: &[EValue], place: &ValueId| -> Vec<ValueId> {
            let items = place.item(values).map_or(&[][..], EValue::as_tensors);
            if items.is_empty() { vec![*place] } else { items.to_vec() }
        };
        if let InferenceError::Undetermined(_) = error {
            self.complete_types(pass, call);
        }
        // Lists are long, and most results are complete.
        let undeclared: Vec<(ValueId, usize)> = call
            .results()
            .iter()
            .filter(|_| !self.unfinished.is_empty())
            .flat_map(|place| items(&pass.values, place))
            .filter_map(|value| Some((value, *self.unfinished.get(&value)?)))
            .collect();
        let is_failed =
            |arg: &ValueId| pass.is_unknown(*arg) || items(&pass.values, arg).iter().any(|item| pass.is_unknown(*item));
        let depends_on_failed = !undeclared.is_empty() && call.args.iter().any(is_failed);
        pass.failed.extend(undeclared.iter().map(|(value, _)| *value));
        match error {
            InferenceError::Invalid(_) | InferenceError::Unsupported(_)
                if !is_checked(call.action) && undeclared.is_empty() => {}
            InferenceError::Invalid(invalid) | InferenceError::Unsupported(invalid) => {
                let InvalidArgument { argument, found, expected } = invalid;
                let first = call.operator.results(call.args.len()).start;
                let out = argument.checked_sub(first).and_then(|out| call.action.outs().get(out));
                let at = match (written.get(*argument), out) {
                    (Some(argument), _) => argument.id,
                    (None, Some(out)) => out.id,
                    (None, None) => name.id,
                };
                let of = call.operator.signature.args.get(*argument).map_or("", |arg| &*arg.name);
                let message = format!("{} does not take {found} for `{of}`", name.value);
                let mut rejected = Code::RejectedCall.error(at, message).label(format!("expected {expected}"));
                let value = call.args.get(*argument).filter(|_| out.is_some());
                if let Some(declaration) = value.and_then(|value| self.declaration_of_value(*value)) {
                    rejected = rejected.related(self.values[declaration].name.id, "declared here");
                }
                self.diagnostics.push(rejected);
            }
            InferenceError::Undetermined(_) | InferenceError::UnknownOperator if depends_on_failed => {}
            InferenceError::Undetermined(reason) => {
                for (_, declaration) in undeclared {
                    self.undetermined(declaration, &format!("{}: {reason}", name.value));
                }
            }
            InferenceError::UnknownOperator => {
                for (_, declaration) in undeclared {
                    self.undetermined(declaration, &format!("results of {} are not inferred", name.value));
                }
            }
        }
    }

    /// Completes the results of a call that state their sizes, where its arguments determine the element type.
    fn complete_types(&mut self, pass: &mut InferencePass, call: Call<'_, 'd, 'a>) {
        let Call { operator, args, .. } = call;
        for position in operator.results(args.len()) {
            let value = args[position];
            let Some(declaration) = self.unfinished.get(&value).copied() else { continue };
            let Some(stated) = self.written(declaration).and_then(|written| written.sizes.as_ref()) else { continue };
            if let Some(scalar_type) = pass.inference.out_type(&pass.values, operator, args, position) {
                let sizes = stated.value.iter().map(|size| Dim::fixed((*size).into())).collect();
                self.finish(pass, value, &TensorMeta::contiguous(scalar_type, sizes));
            }
        }
    }

    fn undetermined(&mut self, declaration: usize, reason: &str) {
        let name: &'d Word<'a> = &self.values[declaration].name;
        let message = format!("the sizes of `{}` are not known ({reason})", name.value);
        self.error(Code::UndeterminedTensor, name.id, message, "declare it under `values` with `tensor` and `sizes`");
    }

    /// Sets `requires_grad` of a tensor, unless it is explicit.
    fn set_requires_grad(&self, pass: &mut InferencePass, value: usize, required: bool) {
        let declaration = self.declaration_of_value(ValueId::of(value));
        if let Some(written) = declaration.and_then(|declaration| self.written(declaration))
            && !is_stated(written, "requires_grad")
            && let Some(EValue::Tensor(tensor)) = pass.values.get_mut(value)
        {
            tensor.requires_grad = required && tensor.scalar_type.is_differentiable();
        }
    }

    /// Completes a tensor with the inferred properties.
    fn finish(&mut self, pass: &mut InferencePass, value: ValueId, meta: &TensorMeta) {
        let Some(declaration) = self.unfinished.remove(&value) else { return };
        pass.open.remove(&value);
        let Some(index) = value.within(pass.values.len()) else { return };
        let EValue::Tensor(tensor) = &mut pass.values[index] else { return };
        let Some(written) = self.written(declaration) else { return };
        if written.scalar_type.is_none() {
            tensor.scalar_type = meta.scalar_type;
        }
        if written.sizes.is_none() {
            let sizes: Option<Vec<i32>> = meta.sizes.iter().map(|dim| i32::try_from(dim.size).ok()).collect();
            let Some(sizes) = sizes else {
                pass.failed.insert(value);
                let name = &self.values[declaration].name;
                let message = format!("the sizes {} of `{}` exceed 32 bits", meta.size_list(), name.value);
                return self.error(Code::InvalidSizes, name.id, message, "expected sizes below 2^31");
            };
            let id = self.values[declaration].name.id;
            if self.noted(data::check_sizes(&At { id, value: sizes.clone() })).is_none() {
                pass.failed.insert(value);
                return;
            }
            tensor.sizes = Some(sizes.into());
            if !is_stated(written, "dynamism") {
                tensor.shape_dynamism = TensorShapeDynamism::of(meta.is_dynamic());
            }
            if written.dim_order.is_none() {
                tensor.dim_order = Some(meta.dim_order.clone());
            }
        }
        if !tensor.scalar_type.is_differentiable() && !is_stated(written, "requires_grad") {
            tensor.requires_grad = false;
        }
        self.finish_tensor(pass, declaration, index);
        pass.inference.record(index, Knowledge::Stated);
    }

    /// Completes the remaining properties of a tensor whose element type and sizes are known.
    fn finish_tensor(&mut self, pass: &mut InferencePass, declaration: usize, value: usize) {
        let value_of: &'d Declaration<'a> = self.values[declaration];
        let Some(written) = value_of.tensor() else { return };
        let Some(EValue::Tensor(tensor)) = pass.values.get_mut(value) else { return };
        let rank = tensor.sizes.as_deref().map_or(0, <[i32]>::len);
        if tensor.dim_order.is_none() {
            tensor.dim_order = Some(
                written.dim_order.as_ref().map_or_else(|| DimOrder::contiguous(rank), |order| order.value.clone()),
            );
        }
        if let Some(order) = &written.dim_order {
            self.noted(data::check_dim_order(order, rank));
        }
        if let Some(view_of) = &written.view_of {
            self.share(declaration, view_of, tensor);
        }
    }

    /// Completes the views among the arguments of an instruction, whose bases are known by now.
    fn finish_views(&mut self, pass: &mut InferencePass, args: &[ValueId]) {
        if self.unfinished.is_empty() {
            return;
        }
        let mut pending: Vec<ValueId> = Vec::new();
        for arg in args {
            pending.extend(arg.item(&pass.values).map_or(&[][..], EValue::as_tensors));
            pending.push(*arg);
        }
        for value in pending {
            self.finish_view(pass, value);
        }
    }

    fn finish_view(&mut self, pass: &mut InferencePass, value: ValueId) {
        // From the view that is needed to the first base that is known.
        let mut chain = Vec::new();
        let mut next = Some(value);
        while let Some(key) = next.filter(|key| !chain.iter().any(|(other, _)| other == key))
            && let Some(declaration) = self.unfinished.get(&key).copied()
            && let Some(view_of) = self.view_of(declaration)
        {
            chain.push((key, declaration));
            next = self.names.get(&*view_of.value).and_then(|base| self.declared[*base].number);
        }
        for (key, declaration) in chain.into_iter().rev() {
            let Some(written) = self.written(declaration) else { continue };
            let base = written.view_of.as_ref().and_then(|view_of| self.names.get(&*view_of.value));
            let base = base.and_then(|base| self.declared[*base].number);
            let Some(meta) = base.and_then(|base| pass.inference.tensor(&pass.values, base)) else {
                if base.is_some_and(|base| pass.is_unknown(base)) {
                    pass.failed.insert(key);
                }
                continue;
            };
            let (base_type, count) = (meta.scalar_type, elements(&meta.sizes));
            let scalar_type = written.scalar_type.as_ref().map_or(base_type, |stated| stated.value);
            let own: Vec<Dim> = meta.sizes.clone();
            let base = base.and_then(|base| base.item(&pass.values));
            let required = base.and_then(EValue::as_tensor).is_some_and(|base| base.requires_grad);
            let is_constant = base.and_then(EValue::as_tensor).is_some_and(is_constant);
            self.unfinished.remove(&key);
            let Some(index) = key.within(pass.values.len()) else { continue };
            let EValue::Tensor(tensor) = &mut pass.values[index] else { continue };
            tensor.scalar_type = scalar_type;
            if self.method.requires_grad && !is_stated(written, "requires_grad") {
                tensor.requires_grad = required;
            }
            let sizes = match &written.sizes {
                Some(stated) => match self.noted(view_sizes(stated, count)) {
                    Some(sizes) => sizes,
                    None => {
                        pass.failed.insert(key);
                        continue;
                    }
                },
                None => own.iter().filter_map(|dim| i32::try_from(dim.size).ok()).collect(),
            };
            let own_count = sizes.iter().try_fold(1i64, |product, size| product.checked_mul((*size).into()));
            let is_smaller = scalar_type == base_type && !is_constant && own_count < count;
            tensor.sizes = Some(sizes.into());
            self.finish_tensor(pass, declaration, index);
            // `check_views` reports it.
            match is_smaller {
                true => _ = pass.open.insert(key),
                false => pass.inference.record(index, Knowledge::Stated),
            }
        }
    }
}

/// Returns true if a tensor has data that nothing writes.
fn is_constant(tensor: &Tensor) -> bool {
    matches!(tensor.data, TensorData::Blob(_)) && tensor.memory == Memory::None
}

/// A call of a known operator.
#[derive(Clone, Copy)]
struct Call<'c, 'd, 'a> {
    operator: &'c ResolvedOperator,
    args: &'c [ValueId],
    action: &'d Action<'a>,
}

impl<'c> Call<'c, '_, '_> {
    /// The arguments that are results.
    fn results(&self) -> &'c [ValueId] {
        self.args.get(self.operator.results(self.args.len())).unwrap_or_default()
    }
}

/// State of the pass over the instructions.
struct InferencePass {
    inference: Inference,
    values: Vec<EValue>,
    /// Values whose inference failed, which was reported, also for a value that they depend on.
    failed: HashSet<ValueId>,
    /// Values that are not inferred, and have an error of their own at the end unless another instruction determines
    /// them.
    open: HashSet<ValueId>,
    /// Views whose sizes are known from the start, by base.
    views: HashMap<usize, Vec<usize>>,
}

impl InferencePass {
    fn new(mut inference: Inference, values: Vec<EValue>) -> InferencePass {
        let (mut open, mut views) = (HashSet::new(), HashMap::<usize, Vec<usize>>::new());
        for (number, value) in values.iter().enumerate() {
            let Some(view) = value.as_tensor() else { continue };
            let Memory::View { base } = view.memory else { continue };
            views.entry(base as usize).or_default().push(number);
            let Some(of) = values.get(base as usize).and_then(EValue::as_tensor) else { continue };
            // `check_views` reports it.
            if view.scalar_type == of.scalar_type
                && let (Some(own), Some(all)) = (view.nbytes(), of.nbytes())
                && own != all
                && view.sizes.is_some()
            {
                open.insert(ValueId::of(number));
                inference.record(number, Knowledge::Nothing);
            }
        }
        InferencePass { inference, values, failed: HashSet::new(), open, views }
    }

    /// Leaves a value and its views unknown after an error about it, so that no error is reported about values that
    /// depend on it.
    fn fail(&mut self, value: ValueId) {
        let Some(index) = value.get() else { return };
        for index in self.views.remove(&index).into_iter().flatten().chain([index]) {
            self.failed.insert(ValueId::of(index));
            self.inference.record(index, Knowledge::Nothing);
        }
    }

    /// Returns true if nothing is known about a value because of a reported error.
    fn is_unknown(&self, value: ValueId) -> bool {
        self.failed.contains(&value) || self.open.contains(&value)
    }
}

/// Returns the first declared property that differs from the inferred one, for a tensor with other undeclared
/// properties.
fn stated_mismatch(written: &ParsedTensor<'_>, meta: &TensorMeta, operator: &ResolvedOperator) -> Option<Mismatch> {
    let other_type = |stated: &At<ScalarType>| !operator.facts.conversion.accepts(meta.scalar_type, stated.value);
    let other_sizes = |stated: &At<Vec<i32>>| {
        !stated.value.iter().map(|size| i64::from(*size)).eq(meta.sizes.iter().map(|dim| dim.size))
            && meta.sizes.iter().all(|dim| !dim.dynamic)
    };
    match () {
        () if written.scalar_type.as_ref().is_some_and(other_type) => Some(Mismatch::ScalarType),
        () if written.sizes.as_ref().is_some_and(other_sizes) => Some(Mismatch::Sizes),
        () => None,
    }
}

/// Returns true if a call must agree with inference. Without `out`, and with an argument by index, the stack is taken
/// as it stands.
fn is_checked(action: &Action<'_>) -> bool {
    let Action::Kernel { args, out: Some(_), .. } = action else { return false };
    !args.iter().any(|arg| matches!(arg.value, Literal::Index(_)))
}

/// Returns true if a tensor has an explicit attribute.
fn is_stated(written: &ParsedTensor<'_>, key: &str) -> bool {
    written.attributes.iter().any(|(row, _)| TENSOR_ATTRIBUTES[*row].key == key)
}

fn elements(sizes: &[Dim]) -> Option<i64> {
    sizes.iter().try_fold(1i64, |product, dim| product.checked_mul(dim.size))
}

/// Returns the dimensions of a tensor with more than one element, in their order in memory.
fn memory_order(tensor: &Tensor) -> Vec<u8> {
    let sizes = tensor.sizes.as_deref().unwrap_or_default();
    let has_several = |dim: &u8| sizes.get(usize::from(*dim)).is_none_or(|size| *size != 1);
    tensor.dim_order.as_deref().unwrap_or_default().iter().copied().filter(has_several).collect()
}

/// Returns an error if a view with these sizes has another number of elements than its base.
fn resized_view(at: NodeId, sizes: &[i32], base: &[i32]) -> Option<NodeDiagnostic> {
    let count =
        |sizes: &[i32]| sizes.iter().try_fold(1u64, |product, size| product.checked_mul((*size).try_into().ok()?));
    let (own, base) = (count(sizes)?, count(base)?);
    if own == base {
        return None;
    }
    let message = format!("a view of {} of a tensor of {base}", counted(own, "element"));
    let error = Code::InvalidView.error(at, message).label("expected sizes with the same number of elements");
    Some(error.help("state -1 for the size that follows from the others"))
}

/// Returns the sizes of a view of `count` elements, in which one may be -1.
fn view_sizes(stated: &At<Vec<i32>>, count: Option<i64>) -> Result<Vec<i32>, NodeDiagnostic> {
    let error = |label: &str| {
        let of = count.and_then(|count| u64::try_from(count).ok()).map(|count| counted(count, "element"));
        let of = of.unwrap_or_else(|| "more elements than 64 bits count".to_owned());
        let message = format!("a view of sizes {:?} of a tensor of {of}", stated.value);
        Err(Code::InvalidView.error(stated.id, message).label(label))
    };
    let open: Vec<usize> = stated.value.iter().enumerate().filter(|(_, size)| **size == -1).map(|(at, _)| at).collect();
    let mut sizes = stated.value.clone();
    match open[..] {
        [] => {}
        [at] => {
            let mut known = sizes.iter().filter(|size| **size != -1);
            let rest = known.try_fold(1i64, |product, size| product.checked_mul((*size).into()));
            match (count, rest) {
                (Some(count), Some(rest)) if rest > 0 && count % rest == 0 => match i32::try_from(count / rest) {
                    Ok(size) => sizes[at] = size,
                    Err(_) => return error("expected sizes below 2^31"),
                },
                _ => return error("expected sizes with the same number of elements"),
            }
        }
        _ => return error("expected -1 once at most"),
    }
    data::check_sizes(&At { id: stated.id, value: sizes.clone() })?;
    Ok(sizes)
}
