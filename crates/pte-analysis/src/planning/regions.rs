//! Finds the parts of a method that the exporter plans separately: the branches of `torch.cond`, and the bodies of
//! `torch.map` and `scan` (docs/format.md, "Submodules"). In the enclosing graph, each of these operators is one node,
//! so that all its instructions have the same time.
//!
//! It also determines the part to which each tensor belongs. [`super::lifetimes`] and the planner of `pte-emit` use the
//! parts.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use crate::blocks::Jump;
use crate::lifetimes::Clock;
use crate::method::Method;
use crate::operators::{AccessKind, MethodOperators, Usage};
use pte_model::program::{EValue, ExecutionPlan, Instruction, Memory, TensorData, ValueId};
use pte_operators::facts::LoopPart;

/// Maximum depth of nested parts. Deeper ones belong to the part around them. The exporter nests only a few.
const MAX_DEPTH: usize = 16;

/// Maximum average number of items of lists per argument of an instruction. Methods with more have no parts, so that
/// the work stays linear. For comparison, a concatenation of three tensors has four arguments.
const MAX_ITEMS_PER_ARG: usize = 4;

/// A part of a method; number 0 is the method itself. Times are those of [`super::lifetimes`]: instruction `i` is at
/// `i + 1`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Region {
    /// The enclosing part; the method itself is its own parent.
    pub parent: usize,
    /// Times of the instructions of the part.
    times: Range<u32>,
    /// Times of the node, which count as one time in the parent.
    node: Range<u32>,
    /// Time from which on instructions belong to the end of the part, where its results are used.
    end: u32,
    /// Time up to which instructions belong to the beginning of the part, where its inputs are produced.
    begin: u32,
    /// Inputs of a body, for which the exporter plans memory, in its order.
    pub inputs: Vec<BodyInput>,
    /// For a body: the times at which tensors that are carried from iteration to iteration are copied.
    carries: Range<u32>,
}

/// An input of a body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BodyInput {
    /// A slice of a tensor; it is this value of the body.
    Slice(usize),
    /// A tensor of the method. The body has memory for a copy of it, which is not a value of the file.
    Copy {
        /// Index of the tensor among the values.
        value: usize,
        /// Time of its last use in the body.
        end: u32,
    },
}

/// The parts of a method.
#[derive(Debug)]
pub struct Regions {
    /// The parts: the first one is the whole method, every other one is after the part that contains it.
    pub list: Vec<Region>,
    /// The innermost part around each time.
    innermost: Vec<u32>,
    /// The innermost part whose node contains each time.
    nodes: Vec<u32>,
    /// By value: the part to which a tensor belongs whose first access is a write of an instruction; `None` for other
    /// values.
    pub owners: Vec<Option<usize>>,
}

impl Regions {
    /// Creates the regions of a method without parts.
    pub fn none(plan: &ExecutionPlan) -> Regions {
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
        Regions {
            list: vec![method],
            innermost: vec![0; count as usize + 2],
            nodes: vec![0; count as usize + 2],
            owners: vec![None; plan.values().len()],
        }
    }

    /// Finds the parts of a method. The values of [`Method::kept`] belong to the method itself.
    pub fn find(method: &Method<'_>) -> Regions {
        let (plan, jumps, requested) = (method.plan, method.jumps(), method.requests());
        let mut regions = Regions::none(plan);
        // Jumps are relative to their chains. The exporter emits only one chain.
        if let Some([_]) = plan.chains.as_deref() {
            let list: Vec<&Instruction> = plan.instructions().collect();
            let mut jumps_to: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
            for Jump { step, to } in jumps.iter().filter(|jump| jump.is_back()) {
                jumps_to.entry(*to as usize).or_default().push(*step as usize);
            }
            let code = Code { jumps_to, list, plan, operators: &method.operators };
            if !jumps.is_empty() && code.has_short_lists() {
                regions.search(&code, 0, 0..code.list.len(), 1);
            }
            if regions.list.len() > 1 {
                regions.find_owners(&code);
                regions.widen_owners(&code, requested);
                for value in method.kept().groups.iter().flatten() {
                    regions.owners[*value] = regions.owners[*value].map(|_| 0);
                }
                regions.find_inputs(&code, requested);
                // A view belongs to the part of its base, and its uses are mapped to that part.
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
        self.innermost[time as usize] as usize
    }

    /// Returns true if the jump at a time is the end of the loop of a body.
    pub fn is_body(&self, jump: u32) -> bool {
        let region = &self.list[self.innermost(jump)];
        region.begin >= region.times.start && region.times.end == jump + 1
    }

    /// Maps a time to the times of a part: the node of each part inside it is one time, and so are its beginning and
    /// its end.
    pub fn time_in(&self, owner: usize, time: u32) -> u32 {
        // The outermost part inside the owner whose node contains the time.
        let mut part = self.nodes[time as usize] as usize;
        while part != 0 && self.list[part].parent != owner {
            part = self.list[part].parent;
        }
        let node = (part != 0).then(|| self.list[part].node.start);
        let region = &self.list[owner];
        let time = node.unwrap_or(time);
        match () {
            () if owner == 0 => time,
            () if time >= region.end => region.end,
            () if time <= region.begin => region.times.start,
            () => time,
        }
    }

    /// Returns the time at which the inputs of a part are available.
    pub fn start(&self, region: usize) -> u32 {
        self.list[region].times.start
    }

    /// Adds a part, and returns its number.
    fn add(&mut self, region: Region) -> usize {
        let number = self.list.len();
        for time in region.times.clone() {
            self.innermost[time as usize] = number as u32;
        }
        for time in region.node.clone() {
            self.nodes[time as usize] = number as u32;
        }
        self.list.push(region);
        number
    }

    /// Finds the parts at a depth among instructions.
    fn search(&mut self, code: &Code<'_>, parent: usize, range: Range<usize>, depth: usize) {
        if depth > MAX_DEPTH {
            return;
        }
        let mut at = range.start;
        while at < range.end {
            at = match () {
                () if let Some((branches, end)) = cond(code, at, range.end) => {
                    let node = at as u32 + 1..end as u32 + 1;
                    let added = branches.map(|branch| {
                        let moves = code.list[branch.clone()].iter().rev();
                        // The jump over the other branch follows the moves of the results.
                        let tail = moves
                            .take_while(|instruction| {
                                matches!(instruction, Instruction::MoveCall { .. } | Instruction::JumpFalseCall { .. })
                            })
                            .count();
                        let number = self.add(Region {
                            parent,
                            times: branch.start as u32 + 1..branch.end as u32 + 1,
                            node: node.clone(),
                            end: (branch.end - tail) as u32 + 1,
                            begin: 0,
                            inputs: Vec::new(),
                            carries: 0..0,
                        });
                        (number, branch)
                    });
                    // Both have the same node, so that the parts inside them come after both.
                    for (number, branch) in added {
                        self.search(code, number, branch, depth + 1);
                    }
                    end
                }
                () if let Some(body) = Body::find(code, at, range.end) => {
                    let number = self.add(Region {
                        parent,
                        times: body.head as u32 + 1..body.jump as u32 + 2,
                        node: body.node.start as u32 + 1..body.node.end as u32 + 1,
                        end: body.results as u32 + 1,
                        begin: body.slices as u32,
                        inputs: Vec::new(),
                        carries: body.node.start as u32 + 2..body.head as u32 + 1,
                    });
                    self.search(code, number, body.slices..body.results, depth + 1);
                    body.node.end
                }
                () => at + 1,
            };
        }
    }

    /// Finds the part of each tensor: the innermost one around its first write, or the parent of that one if the tensor
    /// is written in place.
    fn find_owners(&mut self, code: &Code<'_>) {
        let plan = code.plan;
        let mut seen = vec![false; plan.values().len()];
        for input in plan.inputs.iter().flatten() {
            input.item_mut(&mut seen).into_iter().for_each(|seen| *seen = true);
        }
        for (number, instruction) in code.list.iter().enumerate() {
            let region = self.innermost(number as u32 + 1);
            for Usage { value, kind, .. } in code.operators.uses(instruction) {
                // The target of the moves of a branch belongs to the part around the branch.
                let is_made = !instruction.args().is_empty() && (kind.is_result() || kind == AccessKind::Unknown);
                for index in code.with_items(value) {
                    if !std::mem::replace(&mut seen[index], true) && plan.values()[index].as_tensor().is_some() {
                        self.owners[index] = Some(if is_made { region } else { self.list[region].parent });
                    }
                }
            }
        }
        // Values that are not written first belong to the method: constants and state.
        for (index, value) in plan.values().iter().enumerate() {
            if value.as_tensor().is_some() && self.owners[index].is_none() {
                self.owners[index] = Some(0);
            }
        }
    }

    /// Moves each tensor that is used outside of its part to the part around all its uses, also those of its views. The
    /// exporter has no such tensors, because moves and stores take results out of a part.
    fn widen_owners(&mut self, code: &Code<'_>, requested: &[Memory]) {
        let mut widen = |index: usize, time: u32, list: &[Region]| {
            let base = match requested[index] {
                Memory::View { base } if (base as usize) < requested.len() => base as usize,
                Memory::None | Memory::Auto { .. } | Memory::View { .. } | Memory::At { .. } => index,
            };
            if let Some(owner) = &mut self.owners[base] {
                while *owner != 0 && !list[*owner].times.contains(&time) {
                    *owner = list[*owner].parent;
                }
            }
        };
        for (time, instruction) in (1..).zip(&code.list) {
            code.uses(instruction).for_each(|index| widen(index, time, &self.list));
        }
        for output in code.plan.outputs.iter().flatten() {
            code.with_items(*output).for_each(|index| widen(index, u32::MAX, &self.list));
        }
    }

    /// Finds the inputs of bodies: first the tensors that are carried from iteration to iteration, then the slices,
    /// then the other tensors that the body uses.
    fn find_inputs(&mut self, code: &Code<'_>, requested: &[Memory]) {
        for number in 1..self.list.len() {
            let region = &self.list[number];
            if region.begin < region.times.start {
                self.list[number].inputs = self.states(code, requested, number);
                continue;
            }
            let mut uses: BTreeMap<usize, u32> = BTreeMap::new();
            for (at, instruction) in code.list[region.begin as usize..region.end as usize - 1].iter().enumerate() {
                let time = self.time_in(number, region.begin + 1 + at as u32);
                for index in code.uses(instruction) {
                    let index = match requested[index] {
                        Memory::View { base } => base as usize,
                        Memory::None | Memory::Auto { .. } | Memory::At { .. } => index,
                    };
                    if self.owners[index].is_some_and(|owner| !self.is_inside(owner, number)) {
                        uses.insert(index, time);
                    }
                }
            }
            let args = |time: u32| code.list.get(time as usize - 1).map_or(&[][..], |instruction| instruction.args());
            let carried = region.carries.clone().filter_map(|time| code.index(*args(time).first()?));
            let slices = (region.times.start..region.begin + 1).filter_map(|time| code.index(*args(time).last()?));
            let start = region.times.start;
            let slices: Vec<usize> = slices.collect();
            // The body's own constants are numbered in it.
            let first_slice = slices.iter().copied().min();
            let is_own = |value: &usize| {
                let tensor = code.plan.values()[*value].as_tensor();
                let has_data = tensor.is_some_and(|tensor| tensor.data != TensorData::None);
                has_data && requested[*value] == Memory::None && first_slice.is_some_and(|slice| slice < *value)
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

    /// Returns the state that the branches of `torch.cond` use. By their names, the exporter mistakes the inputs of the
    /// branches for the state of the method, and plans memory for them.
    fn states(&self, code: &Code<'_>, requested: &[Memory], number: usize) -> Vec<BodyInput> {
        let region = &self.list[number];
        let instructions = &code.list[region.node.start as usize..region.node.end as usize - 1];
        let uses = instructions.iter().flat_map(|instruction| code.uses(instruction));
        let is_state = |value: &usize| matches!(requested[*value], Memory::Auto { persistent: true, .. });
        let states: BTreeSet<usize> = uses.filter(is_state).collect();
        states.into_iter().map(|value| BodyInput::Copy { value, end: region.end }).collect()
    }

    /// Returns true if a part is another one, or inside it.
    pub fn is_inside(&self, mut part: usize, of: usize) -> bool {
        while part != of && part != 0 {
            part = self.list[part].parent;
        }
        part == of
    }
}

impl Clock for Regions {
    /// Maps the time of a use to the times of the part to which a value belongs.
    fn time(&self, value: usize, time: u32) -> u32 {
        self.owners[value].map_or(time, |owner| self.time_in(owner, time))
    }
}

/// The instructions of a method with one chain.
struct Code<'p> {
    list: Vec<&'p Instruction>,
    /// The backward jumps to each instruction, in order.
    jumps_to: BTreeMap<usize, Vec<usize>>,
    plan: &'p ExecutionPlan,
    operators: &'p MethodOperators,
}

impl<'p> Code<'p> {
    /// Returns the index of a value that exists.
    fn index(&self, value: ValueId) -> Option<usize> {
        value.within(self.plan.values().len())
    }

    /// Returns the items of a list, then the value itself.
    fn with_items(&self, value: ValueId) -> impl Iterator<Item = usize> + use<'_, 'p> {
        let items = self.plan.value(value).map_or(&[][..], EValue::as_tensors);
        items.iter().copied().chain([value]).filter_map(|value| self.index(value))
    }

    /// Returns the values that an instruction uses, with the items of lists.
    fn uses(&self, instruction: &'p Instruction) -> impl Iterator<Item = usize> + use<'_, 'p> {
        self.operators.uses(instruction).flat_map(|usage| self.with_items(usage.value))
    }

    /// Returns true unless the lists that instructions use are much longer than the exporter's.
    fn has_short_lists(&self) -> bool {
        let args = || self.list.iter().flat_map(|instruction| instruction.args());
        let items = |arg: &ValueId| self.plan.value(*arg).map_or(0, |value| value.as_tensors().len());
        args().map(items).fold(0, usize::saturating_add) <= MAX_ITEMS_PER_ARG.saturating_mul(args().count())
    }

    fn loop_part(&self, at: usize) -> Option<LoopPart> {
        self.operators.called(self.list.get(at)?)?.facts.loop_part
    }
}

/// Returns the branches of a `torch.cond` whose jump is at `at`, and the end of the second one. The jump skips the
/// first branch, at whose end a jump on a constant false skips the second one.
fn cond(code: &Code<'_>, at: usize, limit: usize) -> Option<([Range<usize>; 2], usize)> {
    let to = |at: usize| {
        let destination = usize::try_from(code.list.get(at)?.destination()?).ok()?;
        (destination > at && destination <= limit).then_some(destination)
    };
    let second = to(at)?;
    let over = second.checked_sub(1).filter(|over| *over > at)?;
    let end = to(over)?;
    let Instruction::JumpFalseCall { cond_value_index, .. } = code.list[over] else { return None };
    let always = matches!(code.plan.value(*cond_value_index), Some(EValue::Bool(false)));
    always.then_some(([at + 1..second, second..end], end))
}

/// The instructions of `torch.map` or `scan`.
struct Body {
    /// All instructions of the node.
    node: Range<usize>,
    /// The first instruction of the loop.
    head: usize,
    /// The first instruction after those that select the slices.
    slices: usize,
    /// The first of the instructions that store the results.
    results: usize,
    /// The backward jump.
    jump: usize,
}

impl Body {
    /// Returns the body whose node begins at `at`. The node computes the number of slices, copies the initial values
    /// (`scan`), and has a loop that selects slices, computes, copies the results to their indices, counts, and jumps
    /// back.
    fn find(code: &Code<'_>, at: usize, limit: usize) -> Option<Body> {
        if code.loop_part(at) != Some(LoopPart::Count) {
            return None;
        }
        let mut head = at + 1;
        while code.loop_part(head) == Some(LoopPart::Copy) {
            head += 1;
        }
        let mut slices = head;
        while code.loop_part(slices) == Some(LoopPart::Slice) {
            slices += 1;
        }
        let back = code.jumps_to.get(&head).filter(|_| slices > head)?;
        let jump = back.get(back.partition_point(|jump| *jump < slices)).copied().filter(|jump| *jump < limit)?;
        let mut results = jump;
        while results > slices && code.loop_part(results - 1) != Some(LoopPart::Store) {
            results -= 1;
        }
        while results > slices && matches!(code.loop_part(results - 1), Some(LoopPart::Store | LoopPart::Copy)) {
            results -= 1;
        }
        let node = at..jump + 1;
        (results < jump && results > slices).then_some(Body { node, head, slices, results, jump })
    }
}
