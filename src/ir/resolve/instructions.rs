//! Resolves instructions: labels and jumps, moves, delegates, operator indices.
//!
//! The stack of a kernel call is built in [`super::calls`].

use std::collections::{BTreeMap, HashMap};

use super::literals::describe;
use super::method::MethodResolver;
use crate::ir::NodeDiagnostic;
use crate::ir::document::{self, Action, At, Declared, Literal, NameOrNumber, Word};
use pte_model::diagnostics::{Code, SHOWN, clipped, counted};
use pte_model::program::instruction::FieldRole;
use pte_model::program::{BranchStep, Chain, DelegateId, Instruction, OperatorId, ValueId, merged};
use pte_yaml::tree::NodeId;

impl<'d, 'a> MethodResolver<'d, 'a, '_> {
    pub(super) fn chain(&mut self, chain: &'d document::ParsedChain<'a>) -> Chain {
        let labels = self.labels(chain);
        let inputs = chain.inputs.iter().map(|item| self.mention(item)).collect();
        let mut instructions = Vec::with_capacity(chain.instructions.len());
        let mut traces = Vec::new();
        let mut nodes = Vec::with_capacity(chain.instructions.len());
        let merged = self.merged_values(chain, &labels);
        let mut late_conditions: BTreeMap<usize, Vec<(usize, &At<Literal<'a>>)>> = BTreeMap::new();
        for instruction in &chain.instructions {
            let position = instructions.len();
            // A view after a label is numbered after the conditions of the jumps to it.
            if instruction.label.is_some() {
                self.number_late(late_conditions.remove(&position), &mut instructions);
            }
            let Some(action) = &instruction.action else { continue };
            match action {
                Action::View { base, out, sizes } => {
                    self.view(base, out, sizes.as_ref());
                    continue;
                }
                Action::Value(name) => {
                    if let Some(declaration) = self.find(&name.value, name.id) {
                        self.number(declaration);
                    }
                    continue;
                }
                Action::Kernel { .. } | Action::Delegate { .. } | Action::Plain(..) | Action::Unknown(_) => {}
            }
            self.number_late(late_conditions.remove(&position), &mut instructions);
            for declaration in merged.get(&position).into_iter().flatten() {
                self.number(*declaration);
            }
            let destination = forward_jump(action, &labels).filter(|destination| *destination > position);
            let reported = self.diagnostics.errors();
            self.has_unknown = false;
            match (action.operand(FieldRole::Condition), destination) {
                // The index of a literal condition is assigned at the destination of the jump, as the exporter does.
                (Some(cond), Some(destination)) if !matches!(cond.value, Literal::Word(_) | Literal::Index(_)) => {
                    self.check_condition(cond);
                    late_conditions.entry(destination).or_default().push((position, cond));
                    let destination_instruction = destination as i32;
                    instructions
                        .push(Instruction::JumpFalseCall { cond_value_index: ValueId(0), destination_instruction });
                }
                _ => instructions.push(self.instruction(action, &labels)),
            }
            let errors = self.diagnostics.errors() - reported;
            if errors > 0 || self.has_unknown {
                let before: usize = self.origins.instructions.iter().map(Vec::len).sum();
                self.wrong_instructions.insert(before + position);
                self.instruction_errors += errors;
            }
            traces.push(instruction.stacktrace.clone());
            nodes.push(action.node());
        }
        self.origins.instructions.push(nodes);
        for (_, late) in late_conditions {
            self.number_late(Some(late), &mut instructions);
        }
        let outputs = chain.outputs.iter().map(|item| self.mention(item)).collect();
        // If one instruction has a trace the list has an entry for each (E-3).
        let traced = traces.iter().any(Option::is_some);
        let stated = chain.stacktraces.as_ref().map(|stated| (stated.id, stated.value as usize));
        if let Some((id, count)) = stated {
            let last = traces.iter().rposition(Option::is_some).map_or(0, |last| last + 1);
            if !(last..=traces.len()).contains(&count) {
                let expected = format!("expected {last} to {}", traces.len());
                let message = format!("{count} stack traces of {}", counted(traces.len(), "instruction"));
                self.error(Code::ArgumentCount, id, message, expected);
            }
            traces.truncate(count);
        }
        let traced = traced || stated.is_some();
        let traces = traced.then(|| traces.into_iter().map(|trace| Some(trace.unwrap_or_default())).collect());
        Chain { inputs: Some(inputs), outputs: Some(outputs), instructions: Some(instructions), stacktrace: traces }
    }

    /// Index of a value that is neither read nor written here: an input or output of a chain, which the runtime
    /// ignores.
    pub(super) fn mention(&mut self, item: &At<Literal<'a>>) -> ValueId {
        match &item.value {
            Literal::Word(name) => match self.find(name, item.id) {
                Some(declaration) => self.number(declaration),
                None => ValueId(0),
            },
            _ => self.argument(item, None, ""),
        }
    }

    pub(super) fn number_late(
        &mut self,
        late: Option<Vec<(usize, &At<Literal<'a>>)>>,
        instructions: &mut [Instruction],
    ) {
        for (position, cond) in late.into_iter().flatten() {
            let number = self.argument(cond, None, "");
            if let Some(Instruction::JumpFalseCall { cond_value_index, .. }) = instructions.get_mut(position) {
                *cond_value_index = number;
            }
        }
    }

    /// Returns the values that branches move their results to, by the position of the jump before the branch
    /// ([`merged`]).
    pub(super) fn merged_values(
        &self,
        chain: &document::ParsedChain<'a>,
        labels: &HashMap<&str, (i32, NodeId)>,
    ) -> HashMap<usize, Vec<usize>> {
        let actions = chain.instructions.iter().filter_map(|instruction| instruction.action.as_ref());
        let steps = actions.filter(|action| action.emits()).map(|action| {
            if let Some(destination) = forward_jump(action, labels) {
                BranchStep::Jump(destination)
            } else {
                let to = action.operand(FieldRole::Write).and_then(|to| self.declaration_of(to));
                to.map_or(BranchStep::Other, BranchStep::Move)
            }
        });
        let mut values: HashMap<usize, Vec<usize>> = HashMap::new();
        for (jump, declaration) in merged(steps) {
            values.entry(jump).or_default().push(declaration);
        }
        values
    }

    /// Instruction index and node of each label of a chain.
    pub(super) fn labels(&mut self, chain: &'d document::ParsedChain<'a>) -> HashMap<&'d str, (i32, NodeId)> {
        let mut labels: HashMap<&str, (i32, NodeId)> = HashMap::new();
        let mut position = 0;
        for instruction in &chain.instructions {
            if let Some(label) = &instruction.label
                && let Some((_, first)) = labels.insert(&label.value, (position, label.id))
            {
                let duplicate = Code::DuplicateName.error(label.id, format!("duplicate label `{}`", label.value));
                self.diagnostics.push(duplicate.label("duplicate").related(first, "first defined here"));
            }
            position += i32::from(instruction.action.as_ref().is_some_and(Action::emits));
        }
        labels
    }

    pub(super) fn instruction(&mut self, action: &'d Action<'a>, labels: &HashMap<&str, (i32, NodeId)>) -> Instruction {
        match action {
            Action::Kernel { name, args, out } => {
                self.number_views(args);
                let op_index = self.operator(&name.value);
                let operator = self.resolve(&name.value);
                if operator.is_none() {
                    self.warn_unknown_operator(name);
                }
                if operator.as_ref().is_some_and(|operator| operator.needs_no_content(0))
                    && let Some(At { value: Literal::Word(first), .. }) = args.first()
                {
                    self.mark_written(first);
                }
                let args = match (out, operator.as_deref()) {
                    (Some(out), Some(operator)) => self.stack(name, args, out, operator),
                    (Some(out), None) => self.stack_by_name(name, args, out),
                    (None, operator) => self.given_stack(name, args, operator.map(|operator| &*operator.signature)),
                };
                Instruction::KernelCall { op_index, args: Some(args.into()) }
            }
            Action::Delegate { delegate, args } => {
                let delegate_index = match &delegate.value {
                    NameOrNumber::Number(number) => DelegateId(*number),
                    NameOrNumber::Name(name) => self.find_delegate(name, delegate.id),
                };
                let help = "declare the outputs of a delegate under `values` with `tensor` and `sizes`";
                args.iter().for_each(|arg| self.check_declared(arg, help));
                self.number_views(args);
                let written = self.unwritten_tensors(args);
                let args = self.arguments_with_written(args, &[], written);
                Instruction::DelegateCall { delegate_index, args: Some(args.into()) }
            }
            Action::Plain(kind, operands) => {
                let numbers: Vec<i32> =
                    operands.iter().map(|(role, value)| self.number_of(*role, value, labels)).collect();
                let Ok(instruction) = Instruction::read(*kind, &*numbers);
                instruction
            }
            Action::Unknown(tag) => Instruction::Unknown { tag: tag.value },
            Action::View { .. } | Action::Value(_) => unreachable!("no instruction of the program"),
        }
    }

    /// Index of an operand.
    fn number_of(
        &mut self,
        role: FieldRole,
        operand: &'d At<Literal<'a>>,
        labels: &HashMap<&str, (i32, NodeId)>,
    ) -> i32 {
        let id = match (role, &operand.value) {
            (FieldRole::Destination, Literal::Word(name)) => return self.find_label(name, operand.id, labels),
            (FieldRole::Destination, Literal::Int(number)) => return *number as i32,
            (FieldRole::Write, value) => {
                self.check_declared(operand, "declare the target of a move under `values`, as in `count: 0`");
                match value {
                    Literal::Word(name) => self.write(&At { id: operand.id, value: name.clone() }),
                    _ => self.argument(operand, None, ""),
                }
            }
            (FieldRole::Condition, _) => {
                self.check_condition(operand);
                self.operand(operand)
            }
            (FieldRole::Release, _) => self.operand(operand),
            (
                FieldRole::Read | FieldRole::Destination | FieldRole::Operator | FieldRole::Delegate | FieldRole::Args,
                _,
            ) => self.argument(operand, None, ""),
        };
        id.0
    }

    /// Rule I-23: a condition is a Bool or a tensor of bools.
    pub(super) fn check_condition(&mut self, cond: &At<Literal<'a>>) {
        let declared = self.declaration_of(cond).map(|declaration| &self.values[declaration].value);
        let wrong = match (declared, &cond.value) {
            (Some(Declared::Tensor(tensor)), _) => tensor
                .scalar_type
                .as_ref()
                .filter(|stated| stated.value != pte_model::format::ScalarType::BOOL)
                .map(|stated| format!("a tensor of {}", stated.value)),
            (Some(Declared::Other(literal)), _) => match &literal.value {
                Literal::Bool(_) => None,
                // A call replaces the number, as the exporter writes symbolic bools.
                Literal::Int(_) if self.declaration_of(cond).is_some_and(|d| self.declared[d].produced) => None,
                other => Some(describe(other)),
            },
            (None, Literal::Word(_) | Literal::Bool(_) | Literal::Index(_)) => None,
            (None, other) => Some(describe(other)),
        };
        if let Some(wrong) = wrong {
            let message = format!("a condition cannot be {wrong}");
            self.error(Code::ArgumentKind, cond.id, message, "expected a Bool, or a tensor of bools");
        }
    }

    pub(super) fn find_label(&mut self, name: &str, at: NodeId, labels: &HashMap<&str, (i32, NodeId)>) -> i32 {
        if let Some((position, _)) = labels.get(name) {
            return *position;
        }
        let unknown = Code::UnknownName.error(at, format!("unknown label `{name}`"));
        let unknown = unknown.label("expected a `label` of an instruction, or a number");
        self.diagnostics.push(unknown.suggest_among(self.diagnostics.len(), name, labels.keys().copied()));
        0
    }

    pub(super) fn find_delegate(&mut self, name: &str, at: NodeId) -> DelegateId {
        if let Some(index) = self.delegates.get(name) {
            return DelegateId::of(*index);
        }
        let unknown =
            Code::UnknownName.error(at, format!("unknown delegate `{name}` in method `{}`", self.method.name.value));
        let unknown = unknown.label("expected a name under `delegates`");
        let names = self.delegates.keys().copied();
        self.diagnostics.push(unknown.suggest_among(self.diagnostics.len(), name, names));
        DelegateId(0)
    }

    /// Index of an operator in the method's table, which has each once (E-9).
    pub(super) fn operator(&mut self, full_name: &'d str) -> OperatorId {
        if let Some(index) = self.op_indices.get(full_name) {
            return *index;
        }
        let name = full_name;
        let start = name.find("::").map_or(0, |at| at + 2);
        let (name, overload) = match name[start..].find('.') {
            Some(dot) => (&name[..start + dot], &name[start + dot + 1..]),
            None => (name, ""),
        };
        let index = OperatorId::of(self.operators.insert_full((name, overload), ()).0);
        self.op_indices.insert(full_name, index);
        index
    }

    /// Warns about a name that is not `namespace::name.overload`, and about an unknown operator of a namespace that the
    /// runtime registers: both are likely typos.
    pub(super) fn warn_unknown_operator(&mut self, name: &'d Word<'a>) {
        if self.reported_operators.contains_key(&*name.value) {
            return;
        }
        let (message, label) = match name.value.split_once("::") {
            Some(("aten" | "executorch_prim" | "dim_order_ops" | "quantized_decomposed" | "et_copy", _)) => {
                (format!("the runtime registers no operator `{}`", clipped(&name.value)), "unknown")
            }
            Some(_) => return,
            None => {
                let expected = "expected a namespace, a name and an overload, such as aten::add.out";
                (format!("`{}` is not an operator name", clipped(&name.value)), expected)
            }
        };
        self.reported_operators.insert(&name.value, name.id);
        let warning = Code::UnknownOperator.warning(name.id, message).label(label);
        let similar = self.similar_operator(&name.value);
        self.diagnostics.push(similar.into_iter().fold(warning, NodeDiagnostic::did_you_mean));
    }

    /// Returns the operator whose name is similar to an unknown one; `None` also for messages that are not shown.
    pub(super) fn similar_operator(&self, name: &str) -> Option<&'static str> {
        let is_shown = self.diagnostics.len() < 2 * SHOWN;
        is_shown.then(|| pte_operators::similar_names(name)).and_then(|known| known.first().copied())
    }
}

/// Instruction index that an action may jump to: that of a known label, or a number as written.
pub(super) fn forward_jump(action: &Action<'_>, labels: &HashMap<&str, (i32, NodeId)>) -> Option<usize> {
    match &action.operand(FieldRole::Destination)?.value {
        Literal::Word(name) => usize::try_from(labels.get(&**name)?.0).ok(),
        Literal::Int(number) => usize::try_from(*number).ok(),
        _ => None,
    }
}
