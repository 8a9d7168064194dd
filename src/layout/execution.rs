//! Lifetimes of the tensors of a method as its instructions are executed: from the first instruction that uses a tensor to the last
//! one, by whatever name. Follows from the instructions alone, unlike the lifetimes that the exporter plans for (`super::lifetimes`).

use super::lifetimes::{FirstUse, InstructionPass, Lifetimes, aliases, moves};
use super::operators::MethodOperators;
use super::regions::Regions;
use crate::operators::Role;
use crate::program::{EValue, ExecutionPlan, Instruction, Memory, OperandAccess, Tensor, TensorData};

/// The memory of the values of a method while it is executed. Time 0 is before the instructions, instruction `i` is at `i + 1`, and the
/// outputs are read after the last one.
#[derive(Debug)]
pub struct Execution {
    /// First and last time at which each value is alive; `None` for a value that nothing uses.
    pub times: Vec<Option<(u32, u32)>>,
    /// True for values that have the memory of others: views, and what only moves set.
    pub is_alias: Vec<bool>,
    /// True for tensors in planned memory that have content from the file, or from the previous execution.
    pub is_state: Vec<bool>,
}

impl Execution {
    /// Follows the instructions of a method. `requested` has the memory request of each value: its views, and the state that a delegate
    /// takes, of which the instructions do not say whether it has content before.
    pub fn new(plan: &ExecutionPlan, requested: &[Memory]) -> Execution {
        let count = plan.values().len();
        let operators = MethodOperators::new(plan);
        let uses = Uses::new(plan, &operators);
        let end = plan.instructions().count() as u32 + 1;
        let mut lifetimes = Lifetimes::new(Regions::none(plan), count, end);
        let is_input = plan.is_input();
        for input in plan.inputs.iter().flatten() {
            lifetimes.touch(*input, 0);
        }
        for (number, instruction) in plan.instructions().enumerate() {
            let values = instruction.args().iter().copied().chain(instruction.operands().map(|(_, value, _)| value));
            values.for_each(|value| lifetimes.touch(value, number as u32 + 1));
        }
        for output in plan.outputs.iter().flatten() {
            lifetimes.touch(*output, end);
        }
        lifetimes.touch_items(plan);
        let is_loop = !uses.pass.loops.is_empty();
        let mut shared: Vec<_> = aliases(plan, &operators).into_iter().chain(moves(plan, None)).collect();
        shared.sort_by_key(|alias| alias.time);
        // The last one first: a view may be of a view.
        for alias in shared.into_iter().rev() {
            if let Some((start, last)) = lifetimes.spans[alias.result] {
                // In a loop, uses in front of the instruction may follow it.
                lifetimes.touch(alias.base as i32, if is_loop { start } else { alias.time });
                lifetimes.touch(alias.base as i32, if is_loop { last } else { last.max(alias.time) });
            }
        }
        // What a kernel writes first has content of its own, where the exporter planned it over another tensor.
        let own = |(value, memory): (usize, &Memory)| match uses.pass.first[value] == FirstUse::Written {
            true if !uses.is_unknown[value] && !uses.is_set[value] => Memory::None,
            true | false => *memory,
        };
        let requested: Vec<Memory> = requested.iter().take(count).enumerate().map(own).collect();
        let requested = requested.as_slice();
        lifetimes.touch_bases(requested);
        let is_view = |value: usize| matches!(requested.get(value), Some(Memory::View { .. }));
        let is_kept = |value: usize, tensor: &Tensor| match uses.pass.first[value] {
            FirstUse::Read => uses.is_written[value] || is_stated(requested, value, tensor),
            FirstUse::None => is_stated(requested, value, tensor),
            FirstUse::Written => uses.is_unknown[value] && is_stated(requested, value, tensor),
        };
        let mut is_state = vec![false; count];
        let mut is_alias = vec![false; count];
        for (value, tensor) in plan.tensors().filter(|(_, tensor)| tensor.memory != Memory::None) {
            let has_content = is_input[value] || tensor.data != TensorData::None;
            is_alias[value] = is_view(value) || !has_content && uses.is_set[value] && !uses.is_written[value];
            is_state[value] = !is_input[value] && !is_alias[value] && is_kept(value, tensor);
        }
        for value in (0..count).filter(|value| is_state[*value]) {
            lifetimes.spans[value] = Some((0, end));
        }
        lifetimes.carry_around_loops(uses.pass);
        Execution { times: lifetimes.spans, is_alias, is_state }
    }
}

/// Returns true for what the memory requests, or the file, call state.
fn is_stated(requested: &[Memory], value: usize, tensor: &Tensor) -> bool {
    tensor.data != TensorData::None || matches!(requested.get(value), Some(Memory::Auto { persistent: true, .. }))
}

/// What instructions do with the values of a method.
struct Uses {
    /// First uses, loops and forward jumps.
    pass: InstructionPass,
    /// By value: an instruction gives it the memory of another one.
    is_set: Vec<bool>,
    /// By value: an instruction may write its content.
    is_written: Vec<bool>,
    /// By value: its first use is an argument of a delegate or of an unknown operator.
    is_unknown: Vec<bool>,
}

impl Uses {
    fn new(plan: &ExecutionPlan, operators: &MethodOperators) -> Uses {
        let count = plan.values().len();
        let mut uses = Uses {
            pass: InstructionPass::new(count),
            is_set: vec![false; count],
            is_written: vec![false; count],
            is_unknown: vec![false; count],
        };
        let mut views = aliases(plan, operators).into_iter().peekable();
        let mut time = 0;
        for chain in plan.chains.iter().flatten() {
            let first = time + 1;
            for instruction in chain.instructions.iter().flatten() {
                time += 1;
                let view = views.next_if(|view| view.time == time).map(|view| view.result);
                uses.step(plan, operators, instruction, view);
                uses.pass.jump(instruction, first, time);
            }
        }
        for output in plan.outputs.iter().flatten() {
            uses.pass.record(*output, Some(Role::In));
        }
        uses
    }

    fn step(
        &mut self,
        plan: &ExecutionPlan,
        operators: &MethodOperators,
        instruction: &Instruction,
        view: Option<usize>,
    ) {
        let args = instruction.args();
        for (position, arg) in args.iter().enumerate() {
            let Some(value) = usize::try_from(*arg).ok().filter(|value| *value < plan.values().len()) else { continue };
            if view == Some(value) && position + 1 == args.len() {
                self.is_set[value] = true;
                self.pass.record(*arg, Some(Role::Out));
                continue;
            }
            let operator = instruction.operator();
            let role = operator.and_then(|operator| operators.role(operator, position));
            let overwrites = position == 0 && operator.is_some_and(|operator| operators.overwrites_self(operator));
            let role = if overwrites { Some(Role::Out) } else { role };
            // Only the first use counts, also of the items of a list.
            if self.pass.first(*arg) == FirstUse::None || role != Some(Role::In) {
                let items = plan.value(*arg).map_or(&[][..], EValue::as_tensors);
                items.iter().for_each(|item| self.record(*item, role));
            }
            self.record(*arg, role);
        }
        for (_, value, access) in instruction.operands() {
            match access {
                OperandAccess::Read => self.pass.record(value, Some(Role::In)),
                OperandAccess::Write => {
                    self.pass.record(value, Some(Role::Out));
                    let flag = usize::try_from(value).ok().and_then(|value| self.is_set.get_mut(value));
                    flag.into_iter().for_each(|flag| *flag = true);
                }
                OperandAccess::Release => {}
            }
        }
    }

    fn record(&mut self, value: i32, role: Option<Role>) {
        let Ok(index) = usize::try_from(value) else { return };
        if index >= self.is_written.len() {
            return;
        }
        self.is_unknown[index] |= role.is_none() && self.pass.first(value) == FirstUse::None;
        // A delegate that takes a view reads it: what it writes has memory of its own.
        self.is_written[index] |= match role {
            Some(Role::In) => false,
            Some(Role::Out | Role::InPlace) => !self.is_set[index],
            None => self.pass.first(value) == FirstUse::None,
        };
        self.pass.record(value, role);
    }
}

#[cfg(test)]
mod tests {
    use super::super::memory::value_requests;
    use super::*;
    use crate::ir::resolve::tests::{forward, resolved};

    /// Lifetimes of some values: `-` of an unused one; `=` in front of an alias, `*` in front of state.
    fn lifetimes(parts: &str, names: &str) -> String {
        let sample = resolved(&forward(parts));
        let execution = Execution::new(sample.plan(), &value_requests(sample.plan()));
        let shown = names.split(' ').map(|name| {
            let value = sample.index(name);
            let sign = match (execution.is_alias[value], execution.is_state[value]) {
                (true, _) => "=",
                (false, true) => "*",
                (false, false) => "",
            };
            let times = execution.times[value].map_or("-".to_owned(), |(first, last)| format!("{first}..{last}"));
            format!("{sign}{name} {times}")
        });
        shown.collect::<Vec<_>>().join(", ")
    }

    #[test]
    fn instructions_of_branches_count() {
        let branches =
            "values: {c: {tensor: bool, sizes: []}, x: f32[2]}, inputs: [c, x], outputs: [y], instructions: [
            {jump_false: {cond: c, to: other}}, {kernel: aten::sin.out, args: [x], out: s}, {move: {from: s, to: y}},
            {jump_false: {cond: false, to: end}}, {label: other, kernel: aten::cos.out, args: [x], out: t},
            {move: {from: t, to: y}}, {label: end}]";
        assert_eq!(lifetimes(branches, "c x s t y"), "c 0..1, x 0..5, s 2..7, t 5..7, =y 3..7");
    }

    #[test]
    fn content_that_flows_back_lives_in_the_whole_loop() {
        let repeated =
            "values: {c: {tensor: bool, sizes: []}, x: f32[2], k: f32[2], s: f32[2]}, inputs: [c, x], outputs: [y],
            instructions: [{kernel: aten::sin.out, args: [x], out: k}, {kernel: aten::copy_, args: [s, x], out: s},
            {label: again, kernel: aten::add.out, args: [k, s], out: t}, {kernel: aten::cos.out, args: [t], out: u},
            {kernel: aten::copy_, args: [s, u], out: s}, {jump_false: {cond: c, to: again}},
            {kernel: aten::exp.out, args: [s], out: y}]";
        assert_eq!(lifetimes(repeated, "k s t u"), "k 1..6, s 2..7, t 3..4, u 4..5");
    }

    #[test]
    fn only_content_from_before_is_state() {
        let state = "values: {x: f32[2], s: {tensor: float32, sizes: [2], mutable: true},
            o: {tensor: float32, sizes: [2], mutable: true}, i: {tensor: float32, sizes: [2], data: [1, 2], mutable: true},
            n: f32[2]}, inputs: [x], outputs: [y], instructions: [{kernel: aten::copy_, args: [o, x], out: o},
            {kernel: aten::add.out, args: [s, i], out: t}, {kernel: aten::copy_, args: [s, t], out: s},
            {kernel: aten::add.out, args: [t, o], out: y}]";
        assert_eq!(lifetimes(state, "s o i n"), "*s 0..5, o 1..4, *i 0..5, n -");
    }

    #[test]
    fn views_live_in_their_base() {
        let views = "values: {x: f32[2], w: {tensor: float32, sizes: [2], view_of: a}}, inputs: [x], outputs: [y],
            instructions: [{kernel: aten::sin.out, args: [x], out: a},
            {kernel: executorch_prim::et_view.default, args: [a, [1, 2]], out: v}, {kernel: aten::cos.out, args: [x], out: b},
            {kernel: aten::exp.out, args: [v], out: c}, {kernel: aten::add.out, args: [b, w], out: y}]";
        assert_eq!(lifetimes(views, "a v w b"), "a 1..5, =v 2..4, =w 5..5, b 3..5");
    }
}
