//! Parts of a method that the exporter plans for themselves: the branches of `torch.cond`, and the bodies of `torch.map` and
//! `scan` (docs/format.md, "Submodules"). In the graph around it, each of these operators is one node, so all its instructions are one
//! moment there.
//!
//! Finds the parts and says to which of them a tensor belongs; assigns no memory. See [`super::lifetimes`] and [`super::memory`].

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use crate::operators::{self, Role};
use crate::program::{EValue, ExecutionPlan, Instruction, Memory, OperandAccess, TensorData};

/// A part of a method; number 0 is the method itself. Times are those of [`super::lifetimes`]: instruction `i` is at `i + 1`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Region {
    /// The part around it; the method itself is its own parent.
    pub parent: usize,
    /// Times of the instructions of the part.
    times: Range<u32>,
    /// Times that are one moment in the parent: the node.
    node: Range<u32>,
    /// Instructions from here on are the end of the part: they take its results.
    end: u32,
    /// Instructions up to here are its beginning: they make its inputs.
    begin: u32,
    /// Inputs of a body, for which the exporter plans memory, in its order.
    pub inputs: Vec<BodyInput>,
    /// The loop of a body: the times at which the tensors that are carried from iteration to iteration are copied.
    carries: Range<u32>,
}

/// An input of a body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BodyInput {
    /// A slice, which is a value of the body.
    Slice(usize),
    /// A tensor of the method: the body has memory for a copy of it, which no value of the file has.
    Copy {
        /// The tensor.
        value: usize,
        /// Time of its last use in the body.
        end: u32,
    },
}

/// The parts of a method.
#[derive(Debug)]
pub(super) struct Regions {
    pub list: Vec<Region>,
    /// The part to which each value belongs, if it is a tensor that an instruction writes first; `None` for other values.
    pub owners: Vec<Option<usize>>,
}

impl Regions {
    /// Finds the parts of a method with these memory requests.
    pub fn find(plan: &ExecutionPlan, requested: &[Memory]) -> Regions {
        let count = plan.instructions().count() as u32;
        let whole = 0..count + 2;
        let method = Region {
            parent: 0,
            node: whole.clone(),
            end: count + 1,
            begin: 0,
            times: whole,
            inputs: Vec::new(),
            carries: 0..0,
        };
        let mut regions = Regions { list: vec![method], owners: vec![None; plan.values().len()] };
        // Jumps of several chains are relative to their chains, which the exporter does not emit.
        if let Some([_]) = plan.chains.as_deref() {
            let list: Vec<&Instruction> = plan.instructions().collect();
            let names = Operators::new(plan);
            if list.iter().any(|instruction| instruction.destination().is_some()) {
                regions.search(&list, &names, plan, 0, 0..list.len());
            }
            if regions.list.len() > 1 {
                regions.find_owners(plan, &list, &names);
                regions.find_inputs(plan, &list, requested);
                // A view belongs to the part of its base; its uses are mapped there.
                for (owner, memory) in regions.owners.iter_mut().zip(requested) {
                    if let Memory::View { .. } = memory {
                        *owner = None;
                    }
                }
            }
        }
        regions
    }

    /// Returns true if the method has no parts.
    pub fn is_whole(&self) -> bool {
        self.list.len() == 1
    }

    /// Returns the innermost part around an instruction.
    pub fn innermost(&self, time: u32) -> usize {
        self.list.iter().rposition(|region| region.times.contains(&time)).unwrap_or(0)
    }

    /// Returns true if the jump at a time is the end of the loop of a body.
    pub fn is_body(&self, jump: u32) -> bool {
        self.list.iter().skip(1).any(|region| region.begin >= region.times.start && region.times.end == jump + 1)
    }

    /// Returns the time of a use in terms of the part to which a value belongs.
    pub fn time(&self, value: usize, time: u32) -> u32 {
        match self.owners[value] {
            Some(owner) => self.time_in(owner, time),
            None => time,
        }
    }

    /// Returns a time in terms of a part: nodes of parts inside it are one moment, and so are its beginning and its end.
    pub fn time_in(&self, owner: usize, time: u32) -> u32 {
        // The outermost part inside the owner that contains the time.
        let inside = self.list.iter().enumerate().skip(1);
        let node = inside
            .filter(|(index, region)| *index != owner && region.parent == owner)
            .find_map(|(_, region)| region.node.contains(&time).then_some(region.node.start));
        let region = &self.list[owner];
        let time = node.unwrap_or(time);
        match () {
            () if owner == 0 => time,
            () if time >= region.end => region.end,
            () if time <= region.begin => region.times.start,
            () => time,
        }
    }

    /// Returns the time at which the inputs of a part are there.
    pub fn start(&self, region: usize) -> u32 {
        self.list[region].times.start
    }

    /// Finds the parts among instructions.
    fn search(
        &mut self,
        list: &[&Instruction],
        names: &Operators,
        plan: &ExecutionPlan,
        parent: usize,
        range: Range<usize>,
    ) {
        let mut at = range.start;
        while at < range.end {
            at = match () {
                () if let Some((branches, end)) = cond(list, plan, at, range.end) => {
                    for branch in branches {
                        let moves = list[branch.clone()].iter().rev();
                        // The jump over the other branch follows the moves of the results.
                        let tail = moves
                            .take_while(|instruction| {
                                matches!(instruction, Instruction::MoveCall { .. } | Instruction::JumpFalseCall { .. })
                            })
                            .count();
                        let region = Region {
                            parent,
                            times: branch.start as u32 + 1..branch.end as u32 + 1,
                            node: at as u32 + 1..end as u32 + 1,
                            end: (branch.end - tail) as u32 + 1,
                            begin: 0,
                            inputs: Vec::new(),
                            carries: 0..0,
                        };
                        self.list.push(region);
                        let number = self.list.len() - 1;
                        self.search(list, names, plan, number, branch);
                    }
                    end
                }
                () if let Some(body) = Body::find(list, names, at, range.end) => {
                    let region = Region {
                        parent,
                        times: body.head as u32 + 1..body.jump as u32 + 2,
                        node: body.node.start as u32 + 1..body.node.end as u32 + 1,
                        end: body.results as u32 + 1,
                        begin: body.slices as u32,
                        inputs: Vec::new(),
                        carries: body.node.start as u32 + 2..body.head as u32 + 1,
                    };
                    self.list.push(region);
                    let number = self.list.len() - 1;
                    self.search(list, names, plan, number, body.slices..body.results);
                    body.node.end
                }
                () => at + 1,
            };
        }
    }

    /// Finds the part of each tensor: the innermost around its first write, or the one around that if it is written in place.
    fn find_owners(&mut self, plan: &ExecutionPlan, list: &[&Instruction], names: &Operators) {
        let mut seen = vec![false; plan.values().len()];
        for input in plan.inputs.iter().flatten() {
            if let Some(seen) = usize::try_from(*input).ok().and_then(|input| seen.get_mut(input)) {
                *seen = true;
            }
        }
        for (number, instruction) in list.iter().enumerate() {
            let time = number as u32 + 1;
            let region = self.innermost(time);
            let mut visit = |regions: &mut Regions, value: i32, role: Option<Role>| {
                let index = usize::try_from(value).ok().filter(|index| *index < seen.len());
                let Some(index) = index else { return };
                if std::mem::replace(&mut seen[index], true) || plan.value(value).and_then(EValue::as_tensor).is_none()
                {
                    return;
                }
                regions.owners[index] = Some(match role {
                    Some(Role::Out) | None => region,
                    Some(Role::In | Role::InPlace) => regions.list[region].parent,
                });
            };
            for (position, arg) in instruction.args().iter().enumerate() {
                let role = instruction.operator().and_then(|operator| names.role(operator, position));
                for item in plan.value(*arg).map_or(&[][..], EValue::as_tensors) {
                    visit(self, *item, role);
                }
                visit(self, *arg, role);
            }
            // The target of the moves of a branch belongs to the part around the branch.
            for (_, value, access) in instruction.operands() {
                let role = if access == OperandAccess::Write { Role::InPlace } else { Role::In };
                visit(self, value, Some(role));
            }
        }
        // What nothing writes first belongs to the method: constants and state.
        for (index, value) in plan.values().iter().enumerate() {
            if value.as_tensor().is_some() && self.owners[index].is_none() {
                self.owners[index] = Some(0);
            }
        }
    }

    /// Finds the inputs of bodies: what is carried from iteration to iteration, the slices, then the other tensors that the body uses.
    fn find_inputs(&mut self, plan: &ExecutionPlan, list: &[&Instruction], requested: &[Memory]) {
        for number in 1..self.list.len() {
            let region = &self.list[number];
            if region.begin < region.times.start {
                self.list[number].inputs = self.states(plan, list, requested, number);
                continue;
            }
            let index_of = |value: i32| usize::try_from(value).ok().filter(|index| *index < self.owners.len());
            let mut uses: BTreeMap<usize, u32> = BTreeMap::new();
            for (at, instruction) in list[region.begin as usize..region.end as usize - 1].iter().enumerate() {
                let time = self.time_in(number, region.begin + 1 + at as u32);
                let operands = instruction.operands().map(|(_, value, _)| value);
                for arg in instruction.args().iter().copied().chain(operands) {
                    let items = plan.value(arg).map_or(&[][..], EValue::as_tensors);
                    for index in items.iter().copied().chain([arg]).filter_map(index_of) {
                        let index = match requested[index] {
                            Memory::View { base } => base as usize,
                            Memory::None | Memory::Auto { .. } | Memory::At { .. } => index,
                        };
                        if self.owners[index].is_some_and(|owner| !self.is_inside(owner, number)) {
                            uses.insert(index, time);
                        }
                    }
                }
            }
            let args = |time: u32| list.get(time as usize - 1).map_or(&[][..], |instruction| instruction.args());
            let carried = region.carries.clone().filter_map(|time| index_of(*args(time).first()?));
            let slices = (region.times.start..region.begin + 1).filter_map(|time| index_of(*args(time).last()?));
            let start = region.times.start;
            let slices: Vec<usize> = slices.collect();
            // Constants of the body itself are numbered in it.
            let is_own = |value: &usize| {
                let has_data = plan.values()[*value].as_tensor().is_some_and(|tensor| tensor.data != TensorData::None);
                has_data && requested[*value] == Memory::None && slices.iter().any(|slice| slice < value)
            };
            uses.retain(|value, _| !is_own(value));
            let mut inputs = Vec::new();
            for value in carried {
                inputs.push(BodyInput::Copy { value, end: uses.remove(&value).unwrap_or(start) });
            }
            inputs.extend(slices.into_iter().map(BodyInput::Slice));
            inputs.extend(uses.into_iter().map(|(value, end)| BodyInput::Copy { value, end }));
            self.list[number].inputs = inputs;
        }
    }

    /// Returns the state that the branches of `torch.cond` use. The exporter takes the inputs of both for the state of the method itself, by
    /// their names, and plans memory for them.
    fn states(
        &self,
        plan: &ExecutionPlan,
        list: &[&Instruction],
        requested: &[Memory],
        number: usize,
    ) -> Vec<BodyInput> {
        let region = &self.list[number];
        let mut states = BTreeSet::new();
        for instruction in &list[region.node.start as usize..region.node.end as usize - 1] {
            let operands = instruction.operands().map(|(_, value, _)| value);
            for arg in instruction.args().iter().copied().chain(operands) {
                let items = plan.value(arg).map_or(&[][..], EValue::as_tensors).iter().copied().chain([arg]);
                states.extend(
                    items
                        .filter_map(|value| usize::try_from(value).ok())
                        .filter(|value| matches!(requested.get(*value), Some(Memory::Auto { persistent: true, .. }))),
                );
            }
        }
        states.into_iter().map(|value| BodyInput::Copy { value, end: region.end }).collect()
    }

    /// Returns true if a part is another one, or inside it.
    fn is_inside(&self, mut part: usize, of: usize) -> bool {
        while part != of && part != 0 {
            part = self.list[part].parent;
        }
        part == of
    }
}

/// Returns the branches of `torch.cond` whose jump is at `at`, and the end of the second one: a jump over the first branch, at whose end a
/// constant false jumps over the second.
fn cond(list: &[&Instruction], plan: &ExecutionPlan, at: usize, limit: usize) -> Option<([Range<usize>; 2], usize)> {
    let to = |at: usize| {
        let destination = usize::try_from(list.get(at)?.destination()?).ok()?;
        (destination > at && destination <= limit).then_some(destination)
    };
    let second = to(at)?;
    let over = second.checked_sub(1).filter(|over| *over > at)?;
    let end = to(over)?;
    let Instruction::JumpFalseCall { cond_value_index, .. } = list[over] else { return None };
    matches!(plan.value(*cond_value_index), Some(EValue::Bool(false))).then_some(([at + 1..second, second..end], end))
}

/// The instructions of `torch.map` or `scan`.
struct Body {
    /// All of them.
    node: Range<usize>,
    /// The first one of the loop.
    head: usize,
    /// The first one behind those that select the slices.
    slices: usize,
    /// The first one of those that store the results.
    results: usize,
    /// The jump back.
    jump: usize,
}

impl Body {
    /// Returns the body whose node begins at `at`: the number of slices, copies of the initial values for `scan`, and a loop that selects
    /// slices, computes, copies the results to their indices, counts, and jumps back.
    fn find(list: &[&Instruction], names: &Operators, at: usize, limit: usize) -> Option<Body> {
        let is = |at: usize, name: &str| {
            list.get(at)
                .is_some_and(|instruction| instruction.operator().is_some_and(|index| names.name(index) == name))
        };
        if !is(at, "aten::sym_size.int") && !is(at, "aten::sym_size") {
            return None;
        }
        let mut head = at + 1;
        while is(head, "aten::copy_") {
            head += 1;
        }
        let mut slices = head;
        while is(slices, "aten::select_copy.int_out") {
            slices += 1;
        }
        let back = |jump: &usize| list[*jump].destination().is_some_and(|to| usize::try_from(to) == Ok(head));
        let jump = (slices..limit).find(back)?;
        let mut results = jump;
        while results > slices && !is(results - 1, "executorch_prim::et_copy_index.tensor") {
            results -= 1;
        }
        while results > slices
            && (is(results - 1, "executorch_prim::et_copy_index.tensor") || is(results - 1, "aten::copy_"))
        {
            results -= 1;
        }
        (slices > head && results < jump && results > slices).then_some(Body {
            node: at..jump + 1,
            head,
            slices,
            results,
            jump,
        })
    }
}

/// Names and roles of the operators of a method.
struct Operators(Vec<(String, Option<Vec<Role>>)>);

impl Operators {
    fn new(plan: &ExecutionPlan) -> Operators {
        let of = |operator: &crate::program::Operator| {
            let name = operator.full_name().unwrap_or_default();
            let roles = operators::find(&name).map(|signature| signature.args.iter().map(|arg| arg.role).collect());
            (name, roles)
        };
        Operators(plan.operators.iter().flatten().map(of).collect())
    }

    fn name(&self, index: i32) -> &str {
        usize::try_from(index).ok().and_then(|index| self.0.get(index)).map_or("", |(name, _)| name)
    }

    /// Returns the role of the argument at a position; a result after the arguments is an out. `None` for unknown operators.
    fn role(&self, index: i32, position: usize) -> Option<Role> {
        let roles = usize::try_from(index).ok().and_then(|index| self.0.get(index))?.1.as_ref()?;
        Some(roles.get(position).copied().unwrap_or(Role::Out))
    }
}
