//! The machine of [`super`]: it executes a method on what values may be, instruction by instruction, without data of
//! the caller.

use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::RangeInclusive;

use smallvec::SmallVec;

use super::super::super::contents::{Assumption, Contents, Item, Node, SameInts};
use super::super::super::finding::{Findings, Locator};
use super::super::limits::{self, Budget};
use super::super::method::MethodAnalysis;
use super::super::possible::{Open, Possible, Why};
use super::super::writers::Writers;
use crate::RuleId::{X_10, X_30};
use pte_analysis::access::Access;
use pte_analysis::aliases::{AliasKind, Groups};
use pte_analysis::blocks::Edge;
use pte_analysis::inference::{Inference, Knowledge};
use pte_analysis::operators::{AccessKind, ResolvedOperator};
use pte_model::data::Blob;
use pte_model::data::number::{self, NumericValue};
use pte_model::format::ScalarType;
use pte_model::program::instruction::Callee;
use pte_model::program::{EValue, Instruction, Sizes, Tensor, TensorData, ValueId};
use pte_operators::Base;
use pte_operators::facts::{Facts, LoopPart};
use pte_operators::inference::numbers::Number;
use pte_operators::inference::{InferenceError, IntMeta, ResultMeta};
use pte_operators::kinds::{Kinds, ResultKinds};

/// Maximum number of combinations of operands with which a call is checked.
const MAX_COMBINATIONS: usize = 256;

/// Maximum number of values that have the memory of each other because of moves.
pub const MAX_PARTNERS: usize = 64;

/// Operators that compare the order of two numbers.
const ORDERS: [&str; 4] = [
    "executorch_prim::ge.Scalar",
    "executorch_prim::gt.Scalar",
    "executorch_prim::le.Scalar",
    "executorch_prim::lt.Scalar",
];

/// Number of executions after which the content of state is not evaluated any more.
const MAX_EXECUTIONS: usize = 16;

/// Number of executions after which numbers of state are the caller's, who decides how many executions there are.
const MAX_EXECUTIONS_OF_NUMBERS: usize = 1 << 12;

/// Maximum number of contents that a call reads, one after the other.
const MAX_READ: usize = 256;

/// Number of rounds in a row after which a value that is new in each of them is a counter.
const MAX_ROUNDS: u8 = 3;

/// What the instructions of a method read.
#[derive(Default)]
pub struct Values {
    /// By step: the possible combinations of numbers that the instruction reads and others write.
    pub assumptions: BTreeMap<u32, Vec<Assumption>>,
    /// Steps that read a tensor whose sizes are followed, but the caller may decide them.
    pub of_any_size: BTreeSet<u32>,
    /// By step and value: a number that follows from the file, but is not evaluated.
    pub open: BTreeMap<(u32, usize), Open>,
    /// By step and value: contents of tensors that kernels trust.
    pub trusted: BTreeMap<(u32, usize), Possible>,
    /// By step and value: the elements of a content that are the same whatever the caller passes.
    pub same: BTreeMap<(u32, usize), SameInts>,
    /// Steps and values: contents with an element that is NaN whatever the caller passes.
    pub always_nan: BTreeSet<(u32, usize)>,
    /// Contents by their indices.
    pub contents: RefCell<Contents>,
    seen: HashSet<(u32, Assumption)>,
}

impl Values {
    /// Returns what an instruction reads that only reads tensors of known sizes, if some are followed: one of the
    /// possible combinations.
    pub fn sized(&self, step: u32) -> Option<&Assumption> {
        let first = self.assumptions.get(&step).and_then(|all| all.first())?;
        let has_sizes = first.iter().any(|(_, item)| matches!(item, Item::Sizes(_)));
        (has_sizes && !self.of_any_size.contains(&step)).then_some(first)
    }

    /// Returns the tensors to which an assumption gives other sizes, with these.
    pub fn resized(&self, method: &MethodAnalysis<'_>, assumption: &Assumption) -> Vec<(usize, Tensor)> {
        let contents = self.contents.borrow();
        let resized = contents.knowledge(method, assumption).filter_map(|(value, known)| {
            let (Knowledge::Tensor(meta), EValue::Tensor(tensor)) = (known, &method.values()[value]) else {
                return None;
            };
            let sizes: Sizes = meta.sizes.iter().map(|dim| i32::try_from(dim.size).ok()).collect::<Option<_>>()?;
            Some((value, Tensor { sizes: Some(sizes), ..tensor.clone() }))
        });
        resized.collect()
    }
}

/// Returns the positions of the tensors whose content a kernel trusts.
fn trusted(facts: &Facts) -> impl Iterator<Item = usize> {
    let indices = facts.selection.map(|([indices, _], _)| indices);
    let zero_points = facts.quantization.filter(|quantization| quantization.tensors).map(|_| 2);
    let repetitions = facts.repetitions.map(|[repetitions, _]| repetitions);
    let [dividend, divisor] = facts.quotient.map_or([None; 2], |arguments| arguments.map(Some));
    [indices, zero_points, repetitions, facts.numbers, dividend, divisor].into_iter().flatten()
}

/// The values that are followed.
pub struct Machine<'m, 'p> {
    pub method: &'m MethodAnalysis<'p>,
    pub inference: Inference,
    pub edges: &'m [Edge],
    /// Values, by slot; those after the values of the method are the sizes of its tensors.
    pub values: Vec<usize>,
    /// By value: its slot, which is its index among the followed values. Those of the sizes of tensors come after them.
    pub slots: Vec<Option<u32>>,
    /// By value that instructions write: slots of tensors in overlapping memory, each with the offset of a tensor that
    /// the write covers.
    pub overlaps: HashMap<usize, Vec<(u32, Option<u64>)>>,
    /// By value: slots of tensors that may have the same memory, or the same sizes, because of moves.
    pub partners: HashMap<usize, Vec<u32>>,
    /// By view of a tensor that nothing replaces: this tensor, whose slot it has.
    pub bases: BTreeMap<usize, usize>,
    /// Steps of jumps back whose condition may be the caller's.
    pub caller_loops: BTreeSet<u32>,
    /// By value: the caller may have an influence on it. Empty if nothing resizes tensors.
    pub from_caller: Vec<bool>,
    /// Steps that resize tensors, if the numbers that they read follow from the file.
    pub by_numbers: BTreeSet<u32>,
    /// Tensors that they resize.
    pub resized: BTreeSet<usize>,
    /// The step at which the execution ended because of [`limits::STEPS`].
    pub exceeded: Option<u32>,
    /// Steps of jumps with a known condition, each with the step after it.
    pub taken: BTreeSet<(u32, u32)>,
    /// The last call does not return.
    pub has_failed: bool,
    pub found: Values,
}

impl<'m, 'p> Machine<'m, 'p> {
    /// Finds the values to follow; `None` if there are none, which is the case for most methods.
    pub fn new(
        method: &'m MethodAnalysis<'p>,
        edges: &'m [Edge],
        (resized, by_numbers): (&BTreeSet<usize>, &BTreeSet<u32>),
        contents: Contents,
        findings: &mut Findings,
        locate: &Locator<'_>,
    ) -> Option<Machine<'m, 'p>> {
        let inference = Inference::new(method.plan, &method.operators);
        let slots = vec![None; 2 * method.values().len()];
        let mut machine = Machine {
            method,
            inference,
            edges,
            values: Vec::new(),
            slots,
            overlaps: HashMap::new(),
            partners: HashMap::new(),
            bases: BTreeMap::new(),
            caller_loops: BTreeSet::new(),
            from_caller: Vec::new(),
            by_numbers: by_numbers.clone(),
            resized: BTreeSet::new(),
            exceeded: None,
            taken: BTreeSet::new(),
            has_failed: false,
            found: Values { contents: RefCell::new(contents), ..Values::default() },
        };
        if method.accesses().is_truncated {
            return None;
        }
        machine.follow_numbers();
        if !resized.is_empty() || !by_numbers.is_empty() {
            machine.find_callers();
        }
        let mut contents = Vec::new();
        let has_sizes = resized.is_empty() || machine.follow_sizes(resized, &mut contents).is_some();
        if machine.follow_tensors(contents).is_none() || !has_sizes {
            method.report(&limits::ALIASES, findings, locate);
        }
        (!machine.values.is_empty()).then_some(machine)
    }

    pub fn follow(&mut self, value: usize) -> bool {
        let is_new = self.slots[value].is_none();
        if is_new {
            self.slots[value] = Some(self.values.len() as u32);
            self.values.push(value);
        }
        is_new
    }

    fn follow_numbers(&mut self) {
        let method = self.method;
        for access in method.accesses().list.iter().filter(|access| access.kind.may_write()) {
            let value = access.value as usize;
            if method.kinds[value].meets(Kinds::SCALAR) && Item::of(&method.values()[value]).is_some() {
                self.follow(value);
            }
        }
    }

    /// Follows these tensors, those whose content kernels trust, and those from which it is computed. `None` if too
    /// many share memory.
    fn follow_tensors(&mut self, mut open: Vec<usize>) -> Option<()> {
        let method = self.method;
        for instruction in &method.steps {
            if let Instruction::JumpFalseCall { cond_value_index, .. } = instruction.instruction {
                open.extend(self.tensors(*cond_value_index));
            }
            let Some((known, args)) = method.call(instruction) else { continue };
            let is_element = known.facts.result_kinds == Some(ResultKinds::Element);
            for position in trusted(known.facts).chain(is_element.then_some(0)) {
                open.extend(args.get(position).into_iter().flat_map(|arg| self.tensors(*arg)));
            }
        }
        if open.is_empty() {
            return Some(());
        }
        let mut work = method.budget(&limits::ALIASES);
        let mut groups = Groups::new(method.values().len());
        let mut views: HashMap<usize, Vec<usize>> = HashMap::new();
        self.find_bases();
        for (view, base) in &self.bases {
            views.entry(*base).or_default().push(*view);
        }
        let aliases = || method.aliases().iter().filter(|alias| !self.bases.contains_key(&alias.result));
        aliases().for_each(|alias| groups.join(self.base(alias.base), alias.result));
        let mut members: HashMap<usize, Vec<usize>> = HashMap::new();
        for alias in aliases() {
            for value in [self.base(alias.base), alias.result] {
                let of_group = members.entry(groups.first(value)).or_default();
                if !of_group.contains(&value) {
                    of_group.push(value);
                    work.spend(of_group.len())?;
                }
            }
        }
        let writers = Writers::new(method, |value| self.base(value));
        while let Some(value) = open.pop() {
            let value = self.base(value);
            if !self.is_computed(value) || !self.follow(value) {
                continue;
            }
            let slot = self.slots[value].expect("it is followed");
            let views = views.get(&value).into_iter().flatten().copied();
            let names: SmallVec<[usize; 2]> = views.chain([value]).collect();
            let writes = names.iter().flat_map(|name| method.value_accesses(*name));
            for write in writes.filter(|access| access.kind.may_write()) {
                let reads = method.step_accesses(write.step);
                work.spend(reads.len())?;
                open.extend(reads.iter().map(|access| access.value as usize).filter(|read| self.is_tensor(*read)));
            }
            names.iter().for_each(|name| self.slots[*name] = Some(slot));
            let others = members.get(&groups.first(value)).filter(|others| others.contains(&value));
            for other in others.into_iter().flatten().filter(|other| **other != value) {
                if others.is_some_and(|others| others.len() > MAX_PARTNERS) {
                    return None;
                }
                self.partners.entry(*other).or_default().push(slot);
                open.push(*other);
            }
            for (other, covers) in self.overlapping(value, &writers, &mut work)? {
                self.overlaps.entry(other).or_default().push((slot, covers));
                open.push(other);
            }
        }
        Some(())
    }

    /// Finds views of tensors in memory that nothing replaces, and that have no other base.
    fn find_bases(&mut self) {
        let mut counts: HashMap<usize, usize> = HashMap::new();
        self.method.aliases().iter().for_each(|alias| *counts.entry(alias.result).or_default() += 1);
        let values = self.method.values();
        for alias in self.method.aliases().iter().filter(|alias| alias.kind == AliasKind::View) {
            let base = self.base(alias.base);
            let is_fixed = |tensor: &Tensor| self.method.constant(tensor).is_some();
            let is_kept = !counts.contains_key(&base) && !values[base].as_tensor().is_none_or(is_fixed);
            if is_kept && counts[&alias.result] == 1 && alias.result != base {
                self.bases.insert(alias.result, base);
            }
        }
    }

    /// Returns the tensor whose memory a view has; any other value itself.
    fn base(&self, value: usize) -> usize {
        self.bases.get(&value).copied().unwrap_or(value)
    }

    /// Returns the tensors of an argument: itself, or the items of a list.
    pub fn tensors(&self, arg: ValueId) -> Vec<usize> {
        let Some(value) = self.method.value(arg) else { return Vec::new() };
        let items = self.method.values()[value].as_tensors().iter().filter_map(|item| self.method.value(*item));
        items.chain([value]).filter(|value| self.is_tensor(*value)).collect()
    }

    /// Returns `true` for an input whose content the caller decides. The runtime takes another Int, Bool, Double or
    /// String than that of the program for an error; a Double may be close to it (I-27).
    pub fn is_callers(&self, value: usize) -> bool {
        let is_fixed = matches!(
            self.method.values()[value],
            EValue::Null | EValue::Int(_) | EValue::Bool(_) | EValue::Double(_) | EValue::String(_)
        );
        self.method.is_input[value] && !is_fixed
    }

    fn is_tensor(&self, value: usize) -> bool {
        matches!(self.method.values()[value], EValue::Tensor(_))
    }

    /// Returns `true` for a tensor whose content may change: neither a constant nor an input that nothing writes.
    fn is_computed(&self, value: usize) -> bool {
        let is_written = self.method.first_write(value).is_some();
        (is_written || !self.is_callers(value)) && self.method.facts[value].has_bytes && self.fixed(value).is_none()
    }

    /// Returns the data of a constant that no instruction replaces or writes.
    fn fixed(&self, value: usize) -> Option<Item> {
        let EValue::Tensor(tensor) = &self.method.values()[value] else { return None };
        let data = self.method.constant(tensor).filter(|_| self.method.first_write(value).is_none())?;
        Some(Item::Content(self.found.contents.borrow_mut().add(Node::Constant(data))))
    }

    /// Returns the values with overlapping memory that instructions write, each with the offset of the tensor if it
    /// covers it. A tensor that is written before each read has no other content.
    fn overlapping(&self, value: usize, writers: &Writers, work: &mut Budget) -> Option<Vec<(usize, Option<u64>)>> {
        let Some(range) = self.method.ranges[value] else { return Some(Vec::new()) };
        let first = self.method.value_accesses(value).next();
        let is_written = |access: &Access| {
            let call = self.method.call(&self.method.steps[access.step as usize]);
            access.kind == AccessKind::Write && call.is_some_and(|(known, _)| !known.facts.is_undetermined)
        };
        let is_before_end = |access: &&Access| access.step < self.method.end();
        if self.edges.is_empty() && first.filter(is_before_end).is_some_and(is_written) {
            return Some(Vec::new());
        }
        writers.overlapping(value, &range, work)
    }

    /// Returns what a followed value is before the first execution.
    pub fn initial(&self, value: usize) -> Possible {
        let Some(stated) = self.method.values().get(value) else {
            let tensor = value - self.method.values().len();
            return if self.is_callers(tensor) { Possible::caller() } else { self.stated_sizes(tensor) };
        };
        match stated {
            _ if self.is_callers(value) => Possible::caller(),
            EValue::Tensor(Tensor { data: TensorData::Blob(data), .. }) => {
                Possible::of(Item::Content(self.found.contents.borrow_mut().add(Node::Constant(*data))))
            }
            other => Item::of(other).map_or_else(Possible::caller, Possible::of),
        }
    }

    /// Returns what a value is that an instruction reads.
    pub fn possible<'s>(&self, value: usize, state: &'s [Possible]) -> Cow<'s, Possible> {
        let value = self.base(value);
        let Some(slot) = self.slots[value] else {
            return Cow::Owned(match self.fixed(value) {
                _ if self.is_callers(value) => Possible::caller(),
                Some(content) => Possible::of(content),
                None => Item::of(&self.method.values()[value]).map_or_else(Possible::caller, Possible::of),
            });
        };
        Cow::Borrowed(&state[slot as usize])
    }

    pub fn set(&self, value: usize, possible: Possible, state: &mut [Possible]) {
        if let Some(slot) = self.slots[value] {
            state[slot as usize] = possible;
        }
    }

    /// Sets the content of a tensor that an instruction writes, and of those that have its memory.
    pub fn write(&self, step: u32, value: usize, possible: &Possible, state: &mut [Possible]) {
        let value = self.base(value);
        self.set(value, possible.clone(), state);
        for slot in self.partners.get(&value).into_iter().flatten() {
            let other = &mut state[*slot as usize];
            *other = other.join(possible, |_| Possible::open(step, Why::Several));
        }
        for (slot, covers) in self.overlaps.get(&value).into_iter().flatten() {
            let other = &mut state[*slot as usize];
            *other = match covers {
                Some(offset) => self.part(self.values[*slot as usize], *offset, possible),
                None if other.caller || possible.caller => Possible::caller(),
                None => Possible::open(step, Why::Overlap),
            };
        }
    }

    /// Returns the content of a tensor inside of another content.
    fn part(&self, value: usize, offset: u64, possible: &Possible) -> Possible {
        let bytes = self.method.values()[value].as_tensor().and_then(Tensor::nbytes).unwrap_or(0);
        let mut contents = self.found.contents.borrow_mut();
        let part = |item: &Item| match item {
            Item::Content(of) => Item::Content(contents.add_part(*of, offset, bytes)),
            other => *other,
        };
        let mut known: SmallVec<[Item; 2]> = possible.known.iter().map(part).collect();
        known.sort_unstable();
        Possible { known, ..possible.clone() }
    }

    /// Executes the method on each path, until what it leaves is not new. Returns `true` if all reads were found.
    ///
    /// If a loop has counters whose number of rounds the caller decides, they are the caller's from the second round
    /// on, and the method is executed again.
    pub fn execute(&mut self, initial: &[Possible], findings: &mut Findings, locate: &Locator<'_>) -> bool {
        let mut counters = Counters::new();
        let mut left = self.method.budget(&limits::STEPS);
        loop {
            let known = counters.values().map(BTreeSet::len).sum::<usize>();
            let start = Path {
                step: 0,
                state: initial.to_vec(),
                execution: 0,
                before: initial.to_vec(),
                rounds: Vec::new(),
                forks: BTreeSet::new(),
            };
            let mut paths = Paths {
                left,
                seen: HashSet::new(),
                targets: self.edges.iter().map(|(jump, _)| jump.to).collect(),
                has_forks: false,
                counters,
                open: vec![start],
            };
            let mut found = findings.empty();
            let mut is_complete = true;
            while let Some(path) = paths.open.pop() {
                match paths.is_new(path.step, &path.state) {
                    Some(true) => {}
                    Some(false) => continue,
                    None => return false,
                }
                self.exceeded = Some(path.step);
                let complete = self.path(path, &mut paths, &mut found, locate);
                let Some(complete) = complete else { return false };
                self.exceeded = None;
                is_complete &= complete;
            }
            Paths { left, counters, .. } = paths;
            if counters.values().map(BTreeSet::len).sum::<usize>() == known {
                findings.append(found);
                return is_complete;
            }
            let contents = std::mem::take(&mut self.found.contents);
            self.found = Values { contents, ..Values::default() };
        }
    }

    /// Executes the method from a step to its end, or to a condition that is not known. Returns `true` if all reads
    /// were found; `None` if that takes too long.
    fn path(
        &mut self,
        mut path: Path,
        paths: &mut Paths,
        findings: &mut Findings,
        locate: &Locator<'_>,
    ) -> Option<bool> {
        // States at the targets of jumps back: a loop whose state is there again never ends.
        let mut since: HashSet<u64> = HashSet::new();
        let (mut is_complete, first) = (true, path.step);
        let (mut step, mut state) = (path.step, std::mem::take(&mut path.state));
        loop {
            if step >= self.method.end() {
                paths.open.push(self.next_execution(Path { state, ..path }));
                return Some(is_complete);
            }
            self.exceeded = Some(step);
            paths.left.spend(1)?;
            if step != first && paths.has_forks && paths.targets.contains(&step) && !paths.is_new(step, &state)? {
                return Some(is_complete);
            }
            is_complete &= self.record(step, &state).is_some();
            self.run(step, &mut state);
            // The call fails.
            if std::mem::take(&mut self.has_failed) {
                return Some(is_complete);
            }
            let Ok(at) = self.edges.binary_search_by_key(&step, |(jump, _)| jump.step) else {
                step += 1;
                continue;
            };
            let (jump, falls_through) = self.edges[at];
            match if falls_through { self.condition(step, &state) } else { Some(false) } {
                Some(true) => {
                    self.taken.insert((step, step + 1));
                    step += 1;
                }
                Some(false) if !jump.is_back() => {
                    self.taken.insert((step, jump.to));
                    step = jump.to;
                }
                Some(false) => {
                    if !falls_through && self.has_fork_out(&path.forks, jump.to..=jump.step) {
                        paths.left.spend((path.rounds.len() + 1) * state.len())?;
                        path.round(jump.step, &mut state, &mut paths.counters);
                    }
                    step = jump.to;
                    paths.left.spend(state.len() / 8)?;
                    if since.insert(hash(jump.to, &state)) {
                        continue;
                    }
                    // A loop whose condition never changes is reported by `super::control`.
                    if falls_through {
                        findings.add(X_10, || {
                            let found = "a loop that never ends: its numbers follow from the file, and repeat";
                            (locate(&self.method.at(jump.step)), found.to_owned(), "a loop that ends".to_owned())
                        });
                    }
                    return Some(is_complete);
                }
                None => {
                    paths.has_forks = true;
                    path.forks.insert(step);
                    paths.left.spend((path.rounds.len() + 1) * state.len())?;
                    paths.open.push(Path { step: step + 1, state: state.clone(), ..path.clone() });
                    if jump.is_back() {
                        path.round(jump.step, &mut state, &mut paths.counters);
                    }
                    paths.open.push(Path { step: jump.to, state, ..path });
                    return Some(is_complete);
                }
            }
        }
    }

    /// Returns the path of the next execution, from the end of one. The caller decides how many executions there are.
    fn next_execution(&self, mut path: Path) -> Path {
        path.step = 0;
        path.execution += 1;
        path.rounds.clear();
        path.forks.clear();
        let count = self.method.values().len();
        let slots = self.values.iter().zip(&mut path.state).filter(|(value, _)| self.is_callers(**value % count));
        slots.for_each(|(_, possible)| possible.caller = true);
        for (possible, last) in path.state.iter_mut().zip(&mut path.before).filter(|(possible, last)| possible != last)
        {
            let most = match (possible.is_content(), possible.is_caller()) {
                (false, false) => MAX_EXECUTIONS_OF_NUMBERS,
                // Each execution may lower the bound of a number.
                (true, _) | (false, true) => MAX_EXECUTIONS,
            };
            if path.execution > most {
                let is_callers = possible.is_caller() || !possible.is_content();
                *possible = if is_callers { Possible::caller() } else { Possible::open(0, Why::Executions) };
            }
            last.clone_from(possible);
        }
        path
    }

    /// Reports loops around kernels that were not followed to their end, though the caller has no influence on it.
    pub fn report_loops(&self, caller_loops: &BTreeSet<u32>, findings: &mut Findings, locate: &Locator<'_>) {
        let method = self.method;
        let is_work = |step: u32| match method.steps[step as usize].instruction.callee() {
            Some(Callee::Delegate(_)) => true,
            Some(Callee::Operator(_)) => {
                method.call(&method.steps[step as usize]).is_none_or(|(known, _)| is_kernel(known))
            }
            None => false,
        };
        let mut work = method.budget(&limits::LOOPS);
        for (jump, _) in self.edges.iter().filter(|(jump, _)| jump.is_back()) {
            let body = jump.to..=jump.step;
            if work.spend(self.taken.len() + self.edges.len() + (jump.step - jump.to) as usize).is_none() {
                return method.report(&limits::LOOPS, findings, locate);
            }
            let by_caller = |exit: &Edge| caller_loops.contains(&exit.0.step) && leaves(exit, &body);
            // A loop may end in one execution, and not in the next one.
            let has_ended = self.exceeded.is_none_or(|step| !body.contains(&step))
                && self.taken.iter().any(|(from, to)| body.contains(from) && !body.contains(to));
            let ends = has_ended || self.edges.iter().any(by_caller);
            if !ends && body.clone().any(is_work) {
                findings.add(X_30, || {
                    let most = method.limit(&limits::STEPS);
                    let found = format!(
                        "not fully checked: a loop whose end follows from the file, after more than {most} executed \
                         instructions"
                    );
                    let expected = "a loop of fewer instructions, or one whose end is computed from inputs";
                    (locate(&method.at(jump.step)), found, expected.to_owned())
                });
            }
        }
    }

    /// Returns `true` if a condition of the caller decides on a jump that leaves a loop.
    fn has_fork_out(&self, forks: &BTreeSet<u32>, body: RangeInclusive<u32>) -> bool {
        forks.range(body.clone()).any(|fork| {
            let at = self.edges.binary_search_by_key(fork, |(jump, _)| jump.step);
            at.is_ok_and(|at| leaves(&self.edges[at], &body))
        })
    }

    /// Returns the condition of a jump; `None` if it is not known.
    fn condition(&self, step: u32, state: &[Possible]) -> Option<bool> {
        let Instruction::JumpFalseCall { cond_value_index, .. } = self.method.steps[step as usize].instruction else {
            return None;
        };
        let condition = self.method.value(*cond_value_index)?;
        let possible = match self.is_tensor(condition) {
            true => Cow::Owned(self.element(step, condition, state)),
            false => self.possible(condition, state),
        };
        match possible.only()? {
            Item::Bool(value) => Some(value),
            _ => None,
        }
    }

    /// Records what an instruction reads; `None` if there are too many combinations.
    pub fn record(&mut self, step: u32, state: &[Possible]) -> Option<()> {
        let method = self.method;
        let Some((known, args)) = method.call(&method.steps[step as usize]) else { return Some(()) };
        let read: Vec<usize> =
            trusted(known.facts).filter_map(|at| args.get(at)).flat_map(|arg| self.tensors(*arg)).collect();
        for value in read {
            let possible = self.possible(value, state);
            let read = self.found.trusted.entry((step, value)).or_insert_with(Possible::none);
            match read.known.len() < MAX_READ {
                true => read.add(&possible),
                false => read.open = Some(Open { step, why: Why::Several }),
            }
        }
        let Some(combinations) = self.combinations(step, state, false) else {
            if is_kernel(known) {
                return None;
            }
            let mut reads = method.step_accesses(step).iter().filter(|access| access.kind.keeps());
            if let Some(read) = reads.find(|_| !known.constraints.is_empty()) {
                self.found.open.insert((step, read.value as usize), Open { step, why: Why::Several });
            }
            return Some(());
        };
        self.note_resized(step, &combinations);
        // A kernel that rejects wrong numbers fails only if they are wrong on the path that is taken.
        let is_known = combinations.iter().all(|combination| combination.open.is_none());
        if !is_known && is_kernel(known) && !known.trusts_numbers() && !known.trusts_sizes() {
            return Some(());
        }
        for Combination { assumption, open, .. } in combinations {
            if !assumption.iter().all(|assumed| accepts(known, args, *assumed)) {
                continue;
            }
            let is_trusted = open.is_some_and(|(value, _)| match value < method.values().len() {
                true if is_kernel(known) => known.trusts_numbers(),
                true => !known.constraints.is_empty() && self.rejects_some(known, args, value, &assumption),
                false => known.trusts_sizes(),
            });
            if let Some((value, open)) = open.filter(|_| is_trusted) {
                self.found.open.insert((step, value), open);
            }
            if assumption.iter().any(|(value, item)| *value >= method.values().len() && *item == Item::Unknown) {
                self.found.of_any_size.insert(step);
            }
            let is_known = assumption.iter().any(|(_, item)| *item != Item::Unknown);
            if is_known && self.found.seen.insert((step, assumption.clone())) {
                self.found.assumptions.entry(step).or_default().push(assumption);
            }
        }
        Some(())
    }

    /// Returns the combinations of what the followed operands of an instruction may be, with or without contents of
    /// tensors; `None` if there are too many.
    pub fn combinations(&self, step: u32, state: &[Possible], with_contents: bool) -> Option<Vec<Combination>> {
        let mut combinations = vec![Combination::default()];
        let mut seen = SmallVec::<[usize; 8]>::new();
        let known = self.method.call(&self.method.steps[step as usize]).map(|(known, _)| known);
        for access in self.method.step_accesses(step).iter().filter(|access| access.kind.keeps()) {
            let value = access.value as usize;
            let is_tensor = self.is_tensor(value);
            let is_changing = self.slots[value].is_some() || self.is_callers(value);
            let needs_content = known.is_none_or(|known| !known.needs_no_content(access.arg as usize));
            if seen.contains(&value) {
                continue;
            }
            seen.push(value);
            if if is_tensor { with_contents && needs_content } else { is_changing } {
                combinations = extended(&combinations, value, &self.possible(value, state))?;
            }
            let sizes = self.sizes_of(value);
            if let Some(slot) = self.slots[sizes] {
                combinations = extended(&combinations, sizes, &state[slot as usize])?;
            }
        }
        Some(combinations)
    }

    /// Applies the effect of a step to the states.
    pub fn run(&mut self, step: u32, state: &mut [Possible]) {
        let method = self.method;
        let instruction = &method.steps[step as usize];
        match instruction.instruction.callee() {
            Some(Callee::Operator(_)) => match method.call(instruction) {
                Some((known, args)) => {
                    self.call(step, known, args, state);
                    self.resize(step, known, args, state);
                }
                // Its code is not known.
                None => {
                    self.written(step, &Possible::caller(), state);
                    self.resize_by_code(step, false, state);
                }
            },
            Some(Callee::Delegate(delegate)) => {
                let delegate = method.plan.delegates.as_deref().and_then(|delegates| delegate.item(delegates));
                let is_known = delegate.and_then(|delegate| delegate.id.as_deref()) == Some(pte_xnnpack::BACKEND);
                // The last argument is a result, even if it has content.
                let last = method.step_accesses(step).iter().map(|access| access.arg).max();
                let reads = method.step_accesses(step).iter();
                let reads = reads.filter(|access| !access.writes() && Some(access.arg) != last);
                let reads: SmallVec<[Cow<'_, Possible>; 4]> =
                    reads.map(|access| self.possible(access.value as usize, state)).collect();
                let is_only_caller =
                    |read: &Cow<'_, Possible>| read.caller && read.known.is_empty() && read.open.is_none();
                let mut possible = Possible::caller();
                if is_known && !reads.iter().any(is_only_caller) {
                    possible = Possible::open(step, Why::Delegate);
                    possible.caller = reads.iter().any(|read| read.caller);
                }
                drop(reads);
                self.written(step, &possible, state);
                self.resize_by_code(step, is_known, state);
            }
            None => {
                if let Instruction::JumpFalseCall { cond_value_index, .. } = instruction.instruction {
                    let condition = method.value(*cond_value_index).map(|value| self.possible(value, state));
                    if condition.is_some_and(|condition| condition.caller) {
                        self.caller_loops.insert(step);
                    }
                }
                let moved = instruction.instruction.moved();
                if let Some((from, to)) = moved.and_then(|(from, to)| method.value(from).zip(method.value(to))) {
                    self.set(to, self.possible(from, state).into_owned(), state);
                    self.move_sizes(from, to, state);
                }
            }
        }
    }

    /// Sets all that an instruction may write. An argument of unknown code that has content may keep it.
    fn written(&self, step: u32, possible: &Possible, state: &mut [Possible]) {
        for access in self.method.step_accesses(step).iter().filter(|access| access.kind.may_write()) {
            let value = access.value as usize;
            let before = if access.writes() { Possible::none() } else { self.possible(value, state).into_owned() };
            let possible = possible.join(&before, |_| Possible::open(step, Why::Several));
            self.write(step, value, &possible, state);
        }
    }

    fn call(&mut self, step: u32, known: &ResolvedOperator, args: &[ValueId], state: &mut [Possible]) {
        let is_unknown = is_unknown(known);
        match known.signature.result {
            Some(result) if result != Base::Tensor => {
                let to = args.get(known.signature.args.len()).and_then(|value| self.method.value(*value));
                if let Some(to) = to.filter(|to| self.slots[*to].is_some()) {
                    let result = if is_unknown { Possible::caller() } else { self.number(step, known, args, state) };
                    self.has_failed = result.is_nothing();
                    self.set(to, result, state);
                }
            }
            Some(_) | None => {
                let written = self.method.step_accesses(step).iter().filter(|access| access.kind.may_write());
                let written: SmallVec<[usize; 2]> = written.map(|access| access.value as usize).collect();
                let is_followed = |value: &usize| {
                    let base = self.base(*value);
                    let has_others = self.overlaps.contains_key(&base) || self.partners.contains_key(&base);
                    (self.slots[base].is_some() || has_others) && !(known.is_view() && base != *value)
                };
                for value in written.iter().copied().filter(is_followed) {
                    let mut content = match () {
                        () if is_unknown => Possible::caller(),
                        () if known.facts.is_undetermined => Possible::open(step, Why::Operator),
                        () => self.content(step, value, state),
                    };
                    // It writes a part, or nothing.
                    if known.facts.loop_part == Some(LoopPart::Store) || known.facts.is_undetermined {
                        let before = self.possible(value, state);
                        content = content.join(&before, |_| Possible::open(step, Why::Several));
                    }
                    self.write(step, value, &content, state);
                }
            }
        }
    }

    /// Returns the content that a call writes to a tensor.
    fn content(&self, step: u32, value: usize, state: &[Possible]) -> Possible {
        let Some(combinations) = self.combinations(step, state, true) else {
            return Possible::open(step, Why::Several);
        };
        let mut found = Possible::none();
        for combination in combinations {
            let is_callers = self.is_sized_by_caller(step, &combination);
            let Combination { assumption, open, .. } = combination;
            let possible = undecided(is_callers, open).unwrap_or_else(|| {
                let mut contents = self.found.contents.borrow_mut();
                let call = contents.add_call(step, assumption);
                Possible::of(Item::Content(contents.add(Node::Result { call, value })))
            });
            found = found.join(&possible, |_| Possible::open(step, Why::Several));
        }
        found
    }

    /// Returns the number that a call returns.
    fn number(&mut self, step: u32, known: &ResolvedOperator, args: &[ValueId], state: &[Possible]) -> Possible {
        if known.facts.result_kinds == Some(ResultKinds::Element) {
            let tensor = args.first().and_then(|arg| self.method.value(*arg));
            return tensor.map_or_else(Possible::caller, |tensor| self.element(step, tensor, state));
        }
        let Some(combinations) = self.combinations(step, state, false) else {
            return Possible::open(step, Why::Several);
        };
        let mut found = Possible::none();
        for combination in combinations {
            let Some(result) = self.result(step, known, args, &combination) else { continue };
            found = found.join(&result, |_| Possible::open(step, Why::Several));
        }
        found
    }

    /// Returns the result of a call with certain operands; `None` if the kernel does not return.
    fn result(
        &mut self,
        step: u32,
        known: &ResolvedOperator,
        args: &[ValueId],
        combination: &Combination,
    ) -> Option<Possible> {
        let Combination { assumption, caller, open } = combination;
        if !assumption.iter().all(|assumed| accepts(known, args, *assumed)) {
            return None;
        }
        let number = |arg: &ValueId| {
            let value = self.method.value(*arg)?;
            let assumed = assumption.iter().find(|(other, _)| *other == value).map(|(_, item)| *item);
            let item = assumed.or_else(|| Item::of(&self.method.values()[value]));
            item.filter(|_| assumed.is_some() || !self.is_callers(value))?.number()
        };
        if let Some(compute) = known.facts.computation {
            let numbers: Option<SmallVec<[Number; 3]>> =
                args[..known.signature.args.len().min(args.len())].iter().map(number).collect();
            if let Some(result) = numbers.and_then(|numbers| compute(&numbers)) {
                return Some(Possible::of(Item::of_number(result)));
            }
        }
        if let Some(result) = self.compared(known, args, assumption) {
            return Some(Possible::of(Item::Bool(result)));
        }
        let values = self.method.values();
        let assumed: Vec<_> = self.found.contents.borrow().knowledge(self.method, assumption).collect();
        let mut is_caller = *caller || assumption.iter().any(|(_, item)| matches!(item, Item::AtMost(_)));
        let inputs = args.iter().filter_map(|arg| self.method.value(*arg));
        is_caller |= { inputs }.any(|value| self.is_callers(value) && self.slots[value].is_none());
        match self.inference.assuming(assumed, |inference| inference.call(values, known, args)).as_deref() {
            Ok([ResultMeta::Int(IntMeta::Exact(int))]) => return Some(Possible::of(Item::Int(*int))),
            Ok([ResultMeta::Int(IntMeta::AtMost(most))]) if open.is_none() => {
                return Some(Possible::of(Item::AtMost(*most)));
            }
            Err(InferenceError::Unsupported(_) | InferenceError::Invalid(_)) => return None,
            Ok(_) | Err(InferenceError::Undetermined(_) | InferenceError::UnknownOperator) => {}
        }
        Some(undecided(is_caller, *open).unwrap_or_else(|| Possible::open(step, Why::Operator)))
    }

    /// Returns the result of a comparison of a size that is at most some number; `None` if it depends on the size, or
    /// for numbers that are computed from sizes.
    fn compared(&self, known: &ResolvedOperator, args: &[ValueId], assumption: &Assumption) -> Option<bool> {
        let bounded = assumption.iter().filter(|(_, item)| matches!(item, Item::AtMost(_)));
        let is_size = |access: &Access| {
            let call = self.method.call(&self.method.steps[access.step as usize]);
            call.is_some_and(|(known, _)| known.facts.reads_sizes)
        };
        let mut sizes = bounded
            .map(|(value, _)| self.method.value_accesses(*value).filter(|access| access.kind.may_write()).all(is_size));
        let is_of_one_size = sizes.next() == Some(true) && sizes.next().is_none();
        if !is_of_one_size || !ORDERS.contains(&&*known.name) {
            return None;
        }
        let of_least = |is_least: bool| {
            let number = |arg: &ValueId| {
                let value = self.method.value(*arg)?;
                let assumed = assumption.iter().find(|(other, _)| *other == value).map(|(_, item)| *item);
                match assumed.or_else(|| Item::of(&self.method.values()[value]))? {
                    Item::AtMost(most) => Some(Number::Int(if is_least { 0 } else { most })),
                    item => item.number(),
                }
            };
            let numbers: Option<SmallVec<[Number; 3]>> = args.get(..2)?.iter().map(number).collect();
            match known.facts.computation?(&numbers?)? {
                Number::Bool(result) => Some(result),
                Number::Int(_) | Number::Double(_) => None,
            }
        };
        of_least(true).filter(|result| of_least(false) == Some(*result))
    }

    /// Returns `true` if a call that computes a number fails, or crashes, for some Int in place of a value.
    fn rejects_some(
        &mut self,
        known: &ResolvedOperator,
        args: &[ValueId],
        value: usize,
        assumption: &Assumption,
    ) -> bool {
        let values = self.method.values();
        [i64::MIN, -1, 0, 1, i64::MAX].into_iter().any(|int| {
            let mut assumption = assumption.clone();
            assumption.retain(|(other, _)| *other != value);
            assumption.push((value, Item::Int(int)));
            let assumed: Vec<_> = self.found.contents.borrow().knowledge(self.method, &assumption).collect();
            let result = self.inference.assuming(assumed, |inference| inference.call(values, known, args));
            matches!(result, Err(InferenceError::Unsupported(_) | InferenceError::Invalid(_)))
        })
    }

    /// Returns the tensors whose content other tensors may change: those of the same memory.
    pub fn shared(&self) -> BTreeSet<usize> {
        let slots = self.overlaps.values().flatten().map(|(slot, _)| slot).chain(self.partners.values().flatten());
        let slots: BTreeSet<u32> = slots.copied().collect();
        (0..self.method.values().len())
            .filter(|value| self.slots[*value].is_some_and(|slot| slots.contains(&slot)))
            .collect()
    }

    /// Returns the first element of a tensor.
    fn element(&self, step: u32, tensor: usize, state: &[Possible]) -> Possible {
        let EValue::Tensor(of) = &self.method.values()[tensor] else { return Possible::caller() };
        let Possible { known, caller, open } = self.possible(tensor, state).into_owned();
        let mut found = Possible { known: SmallVec::new(), caller, open };
        for item in known {
            let Item::Content(content) = item else { continue };
            let evaluated = self.found.contents.borrow_mut().evaluate(self.method, content);
            let element = evaluated.ok().and_then(|blob| first_element(of.scalar_type, &blob));
            let number = element.and_then(|element| Item::of_element(of.scalar_type, element));
            let possible = number.map_or_else(|| Possible::open(step, Why::Operator), Possible::of);
            found = found.join(&possible, |_| Possible::open(step, Why::Several));
        }
        found
    }
}

/// Returns what a result is whose operands the caller decides, or that are not evaluated; `None` if they are known.
pub fn undecided(caller: bool, open: Option<(usize, Open)>) -> Option<Possible> {
    match (caller, open) {
        (true, _) => Some(Possible::caller()),
        (false, Some((_, open))) => Some(Possible { open: Some(open), ..Possible::none() }),
        (false, None) => None,
    }
}

pub fn first_element(scalar_type: ScalarType, blob: &Blob) -> Option<NumericValue> {
    let size = usize::try_from(scalar_type.info()?.size).ok()?;
    number::decode(scalar_type, &blob.read_at(0, size).ok()?)
}

/// By step of a jump back whose condition is the caller's: the slots of values that are new in each round.
type Counters = BTreeMap<u32, BTreeSet<usize>>;

/// A path that is followed.
#[derive(Clone)]
struct Path {
    step: u32,
    state: Vec<Possible>,
    /// Number of executions before this one.
    execution: usize,
    /// States before this execution.
    before: Vec<Possible>,
    /// Jumps back of this execution whose condition, or that of a jump out of the loop, is the caller's.
    rounds: Vec<Rounds>,
    /// Steps of conditions of the caller in this execution.
    forks: BTreeSet<u32>,
}

/// Rounds of a loop.
#[derive(Clone)]
struct Rounds {
    /// Step of the jump back.
    step: u32,
    /// States of the last two rounds.
    last: [Vec<Possible>; 2],
    /// By slot: number of rounds in a row with a state that is neither of the last two.
    changes: Vec<u8>,
}

impl Path {
    /// Notes that a jump back is taken, whose condition is the caller's. A value that is new in each round is a
    /// counter, and the caller's.
    fn round(&mut self, step: u32, state: &mut [Possible], counters: &mut Counters) {
        for slot in counters.get(&step).into_iter().flatten() {
            state[*slot] = Possible::caller();
        }
        let Some(rounds) = self.rounds.iter_mut().find(|rounds| rounds.step == step) else {
            let last = [state.to_vec(), state.to_vec()];
            return self.rounds.push(Rounds { step, last, changes: vec![0; state.len()] });
        };
        for (slot, possible) in state.iter_mut().enumerate() {
            let is_new = rounds.last.iter().all(|last| last[slot] != *possible);
            rounds.changes[slot] = if is_new { rounds.changes[slot] + 1 } else { 0 };
            if rounds.changes[slot] > MAX_ROUNDS {
                counters.entry(step).or_default().insert(slot);
                *possible = Possible::caller();
                rounds.changes[slot] = 0;
            }
        }
        rounds.last.swap(0, 1);
        rounds.last[1].clone_from_slice(state);
    }
}

/// Paths of the executions of a method.
struct Paths {
    /// Steps that may still be taken.
    left: Budget,
    /// Steps from which paths begin or meet, with the states there.
    seen: HashSet<(u32, Vec<Possible>)>,
    /// Destinations of jumps.
    targets: BTreeSet<u32>,
    /// A condition was not known.
    has_forks: bool,
    counters: Counters,
    /// Paths that are not followed yet.
    open: Vec<Path>,
}

impl Paths {
    /// Returns `true` if states at a step are new; `None` if the work exceeds its bound.
    fn is_new(&mut self, step: u32, state: &[Possible]) -> Option<bool> {
        self.left.spend(state.len() + 1)?;
        Some(self.seen.insert((step, state.to_vec())))
    }
}

/// Returns a hash of the states at a step.
fn hash(step: u32, state: &[Possible]) -> u64 {
    let mut hasher = DefaultHasher::new();
    (step, state).hash(&mut hasher);
    hasher.finish()
}

/// What the operands of a call are.
#[derive(Debug, Clone, Default)]
pub struct Combination {
    pub assumption: Assumption,
    /// One of them is the caller's.
    pub caller: bool,
    /// One of them is not evaluated: the value, and why.
    pub open: Option<(usize, Open)>,
}

impl Combination {
    fn with(&self, value: usize, item: Item) -> Combination {
        let mut with = self.clone();
        with.assumption.push((value, item));
        with
    }
}

/// Returns combinations with what one more value may be; `None` if they are too many.
fn extended(combinations: &[Combination], value: usize, possible: &Possible) -> Option<Vec<Combination>> {
    let Possible { known, caller, open } = possible;
    let count = known.len() + usize::from(*caller) + usize::from(open.is_some());
    if combinations.len() * count > MAX_COMBINATIONS {
        return None;
    }
    let mut extended = Vec::with_capacity(combinations.len() * count);
    for combination in combinations {
        extended.extend(known.iter().map(|item| combination.with(value, *item)));
        if *caller {
            extended.push(Combination { caller: true, ..combination.with(value, Item::Unknown) });
        }
        if let Some(open) = open {
            let open = combination.open.or(Some((value, *open)));
            extended.push(Combination { open, ..combination.with(value, Item::Unknown) });
        }
    }
    Some(extended)
}

/// Returns `true` if a kernel takes an item for each argument that has a value; it aborts for another kind.
pub fn accepts(known: &ResolvedOperator, args: &[ValueId], (value, item): (usize, Item)) -> bool {
    let kinds = match item {
        Item::Null => Kinds::NULL,
        Item::Int(_) | Item::AtMost(_) => Kinds::INT,
        Item::Bool(_) => Kinds::BOOL,
        Item::Double(_) => Kinds::DOUBLE,
        Item::Unknown | Item::Content(_) | Item::Sizes(_) => return true,
    };
    let arguments = args.iter().take(known.signature.args.len()).enumerate();
    let mut positions = arguments.filter(|(_, arg)| arg.get() == Some(value)).map(|(position, _)| position);
    positions.all(|position| known.accepted(position).meets(kinds))
}

/// Returns `true` for an operator that reads numbers as more than numbers to compute with.
pub fn is_kernel(known: &ResolvedOperator) -> bool {
    known.signature.result.is_none_or(|result| result == Base::Tensor)
}

/// Returns `true` for an operator whose results are not inferred here: no rule is known, or it is of a library.
pub fn is_unknown(known: &ResolvedOperator) -> bool {
    known.library.is_some() || known.rule.is_none()
}

/// Returns `true` for a jump in a loop that leaves it, if it is taken or if it is not.
pub fn leaves((jump, _): &Edge, body: &RangeInclusive<u32>) -> bool {
    body.contains(&jump.step) && (!body.contains(&jump.to) || !body.contains(&(jump.step + 1)))
}
