//! What reads of planned memory find: for each tensor that an instruction or the caller reads, what wrote its bytes before. Views have no
//! instruction, and memory may be written while it is in use, so that neither is seen by the values that instructions name. Two plans
//! that are correct differ in offsets, but not here.
//!
//! Content is followed between the places where jumps meet; what was written before is the same there on both sides.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::difference::{DiffArea, DiffTopic, Differences, DifferingPart};
use super::values::Matching;
use super::view::{MethodView, ValueRole};
use crate::operators::{self, Role};
use crate::program::pools::{PoolContent, PoolRange};
use crate::program::{EValue, FieldReference, Instruction, OperandAccess};

/// Pieces of memory that the reads of a method are followed in; reads beyond are not compared.
const WORK: u64 = 1 << 20;

/// What wrote bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Writer {
    /// Nothing since the last place where jumps meet.
    Before,
    /// The caller: an input, or the state before the method runs.
    Caller(u32),
    /// A step, and which of its results it is.
    Step(usize, usize),
}

/// A part of the bytes of a tensor.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Piece {
    /// Where it begins in the tensor.
    at: u64,
    writer: Writer,
    /// Where the tensor begins in what the writer wrote.
    offset: i128,
}

/// Where a tensor is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum ReadPlace {
    /// An argument of the instruction, and its item if it is a list.
    Argument(usize, usize),
    /// A field of the instruction.
    Operand(&'static str),
    /// An output of the method, and its item if it is a list.
    Output(usize, usize),
    /// The state with this value, after the method ran.
    State(usize),
}

/// A tensor that is read.
struct Read {
    place: ReadPlace,
    value: usize,
    pieces: Vec<Piece>,
}

/// What wrote bytes, and where that began to write.
type Written = (Writer, u64);

/// Returns what wrote the bytes of a tensor.
fn pieces(pools: &PoolContent<Written>, range: PoolRange) -> Vec<Piece> {
    let PoolRange { start, end, .. } = range;
    let mut pieces: Vec<Piece> = Vec::new();
    let mut push = |at: u64, writer: Writer, offset: i128| {
        if pieces.last().is_none_or(|last| (last.writer, last.offset) != (writer, offset)) {
            pieces.push(Piece { at: at - start, writer, offset });
        }
    };
    let mut at = start;
    for (part, (writer, begin)) in pools.parts(range) {
        if part.start > at {
            push(at, Writer::Before, 0);
        }
        push(part.start.max(start), writer, i128::from(start) - i128::from(begin));
        at = part.end;
    }
    if at < end {
        push(at, Writer::Before, 0);
    }
    pieces
}

/// Follows the content of the planned memory of a method.
struct Follower<'v, 's> {
    view: &'v MethodView<'s>,
    pools: PoolContent<Written>,
    /// By value: its bytes; `None` if it has none, or if they are not known.
    ranges: Vec<Option<PoolRange>>,
    work: u64,
}

impl<'v, 's> Follower<'v, 's> {
    fn new(view: &'v MethodView<'s>) -> Follower<'v, 's> {
        let mut ranges: Vec<Option<PoolRange>> = view.plan.values().iter().map(PoolRange::of).collect();
        for step in &view.steps {
            for (_, value, access) in step.instruction.operands() {
                // A move replaces the tensor itself.
                if access == OperandAccess::Write
                    && let Some(range) = usize::try_from(value).ok().and_then(|value| ranges.get_mut(value))
                {
                    *range = None;
                }
            }
        }
        let mut follower = Follower { view, pools: PoolContent::default(), ranges, work: WORK };
        // The state is there when the method is loaded, the inputs when it runs.
        for value in follower.states() {
            follower.write(value, Writer::Caller(value as u32));
        }
        for value in view.plan.inputs.iter().flatten().filter_map(|value| usize::try_from(*value).ok()) {
            follower.write(value, Writer::Caller(value as u32));
        }
        follower
    }

    fn states(&self) -> Vec<usize> {
        (0..self.view.roles.len()).filter(|value| self.view.roles[*value] == ValueRole::State).collect()
    }

    fn write(&mut self, value: usize, writer: Writer) {
        if let Some(Some(range)) = self.ranges.get(value) {
            self.pools.insert(*range, (writer, range.start));
        }
    }

    fn read(&mut self, value: i32, place: ReadPlace, found: &mut Vec<Read>) {
        let Some(value) = usize::try_from(value).ok() else { return };
        let Some(Some(range)) = self.ranges.get(value) else { return };
        if self.work == 0 {
            return;
        }
        let pieces = pieces(&self.pools, *range);
        self.work = self.work.saturating_sub(pieces.len() as u64);
        found.push(Read { place, value, pieces });
    }

    /// Reads a value, or the items of a list.
    fn read_all(&mut self, value: i32, place: impl Fn(usize) -> ReadPlace, found: &mut Vec<Read>) {
        self.read(value, place(0), found);
        let view = self.view;
        let items = view.plan.value(value).map_or(&[][..], EValue::as_tensors);
        for (item, value) in items.iter().enumerate() {
            if self.work == 0 {
                return;
            }
            self.work -= 1;
            self.read(*value, place(item), found);
        }
    }

    /// Returns what an instruction reads, and writes its results.
    fn step(&mut self, number: usize) -> Vec<Read> {
        let view = self.view;
        let instruction = view.steps[number].instruction;
        let mut found = Vec::new();
        if self.work == 0 {
            return found;
        }
        for (name, value, access) in instruction.operands() {
            match access {
                OperandAccess::Read => self.read(value, ReadPlace::Operand(name), &mut found),
                OperandAccess::Write | OperandAccess::Release => {}
            }
        }
        let operator = view.operator(instruction).and_then(|operator| operator.full_name()).unwrap_or_default();
        let args = instruction.args();
        let is_own = |value: i32| view.role(value) == Some(ValueRole::Result(number));
        let first_result = self.first_result(number);
        let mut written: Vec<i32> = Vec::new();
        for (position, value) in args.iter().enumerate() {
            let (reads, writes) = match view.access(instruction, position) {
                Some(Role::In) => (true, false),
                Some(Role::InPlace) => (position > 0 || !operators::facts(&operator).overwrites_self, true),
                // A result in addition to the arguments is one of them.
                Some(Role::Out) => (false, written.is_empty() || !view.is_result(instruction, position)),
                // What has no content before is a result.
                None => {
                    let writes = position >= first_result && is_own(*value);
                    (!writes, writes)
                }
            };
            // An unknown operator may return its results as a list, too.
            let items = view.plan.value(*value).map_or(&[][..], EValue::as_tensors);
            let returns = reads && !items.is_empty() && view.access(instruction, position).is_none();
            if returns {
                self.work = self.work.saturating_sub(items.len() as u64);
                if self.work == 0 {
                    return found;
                }
            }
            let list = if returns { items } else { &[] };
            let returned: Vec<i32> = list.iter().copied().filter(|item| is_own(*item)).collect();
            if reads && returned.is_empty() {
                self.read_all(*value, |item| ReadPlace::Argument(position, item), &mut found);
            }
            written.extend(Some(*value).filter(|_| writes).into_iter().chain(returned));
        }
        let mut seen = HashSet::new();
        written.retain(|value| seen.insert(*value));
        if let Some(base) = operators::facts(&operator).aliased {
            // Its results are at the place of an argument from now on, and nothing is written.
            let range = args.get(base).and_then(|base| *self.ranges.get(usize::try_from(*base).ok()?)?);
            for value in written.into_iter().filter_map(|value| usize::try_from(value).ok()) {
                if let Some(own) = self.ranges.get_mut(value) {
                    *own = range;
                }
            }
            return found;
        }
        let mut results = 0;
        for value in written {
            let items = view.plan.value(value).map_or(&[][..], EValue::as_tensors);
            for value in std::iter::once(&value).chain(items) {
                if self.work == 0 {
                    return found;
                }
                self.work -= 1;
                usize::try_from(*value).into_iter().for_each(|value| self.write(value, Writer::Step(number, results)));
                results += 1;
            }
        }
        found
    }

    /// Returns the position from which on a call of a delegate has results only: arguments that it reads are in front of them, and those
    /// that have content before are read. 0 for a kernel.
    fn first_result(&self, step: usize) -> usize {
        let has_content = |value: &i32| match self.view.role(*value) {
            Some(ValueRole::Result(first)) => first < step,
            Some(ValueRole::Input(_) | ValueRole::State | ValueRole::Constant) => true,
            Some(ValueRole::Literal | ValueRole::Other) | None => false,
        };
        match self.view.steps[step].instruction {
            Instruction::DelegateCall { args, .. } => {
                args.as_deref().unwrap_or_default().iter().rposition(has_content).map_or(0, |last| last + 1)
            }
            Instruction::KernelCall { .. }
            | Instruction::MoveCall { .. }
            | Instruction::JumpFalseCall { .. }
            | Instruction::FreeCall { .. } => 0,
        }
    }

    /// Returns what the caller reads after the method.
    fn end(&mut self) -> Vec<Read> {
        let mut found = Vec::new();
        for (position, value) in self.view.plan.outputs.iter().flatten().enumerate() {
            self.read_all(*value, |item| ReadPlace::Output(position, item), &mut found);
        }
        for value in self.states() {
            self.read(value as i32, ReadPlace::State(value), &mut found);
        }
        found
    }
}

/// Returns the steps at which jumps meet; the number of steps for the end.
fn meetings(view: &MethodView<'_>) -> HashSet<usize> {
    let mut found = HashSet::new();
    for (number, step) in view.steps.iter().enumerate() {
        let Some(destination) = step.instruction.destination() else { continue };
        found.insert(number + 1);
        let chain = view.chain(step.chain);
        let target = usize::try_from(destination).ok().and_then(|to| chain.start.checked_add(to));
        found.extend(target.filter(|target| *target <= chain.end));
    }
    found
}

/// Returns the reads of a method by step, with those of the caller at the end.
fn reads(view: &MethodView<'_>) -> Vec<Vec<Read>> {
    let meetings = meetings(view);
    let mut follower = Follower::new(view);
    let mut found = Vec::with_capacity(view.steps.len() + 1);
    for step in 0..=view.steps.len() {
        if meetings.contains(&step) {
            follower.pools = PoolContent::default();
        }
        found.push(if step < view.steps.len() { follower.step(step) } else { follower.end() });
    }
    found
}

/// Compares what aligned instructions and the caller find in the tensors that they read.
pub fn compare(
    views: [&MethodView<'_>; 2],
    aligned: &[Option<usize>],
    outputs: &[(Option<usize>, Option<usize>)],
    matching: &Matching<'_>,
    found: &mut Differences,
) {
    if !found.has(DiffArea::Meaning) {
        return;
    }
    let [left, right] = views.map(reads);
    let mut comparison = Comparison { views, aligned, matching, reported: HashSet::new() };
    for (step, reads) in left.iter().take(aligned.len()).enumerate() {
        if let Some(other) = aligned[step] {
            comparison.compare([step, other], [reads, &right[other]], found);
        }
    }
    let outputs: HashMap<usize, usize> = outputs.iter().filter_map(|pair| pair.0.zip(pair.1)).collect();
    let ends = [left.len() - 1, right.len() - 1];
    let by_place: HashMap<ReadPlace, &Read> = right[ends[1]].iter().map(|read| (read.place, read)).collect();
    for l in &left[ends[0]] {
        let place = match l.place {
            ReadPlace::Output(position, item) => outputs.get(&position).map(|other| ReadPlace::Output(*other, item)),
            ReadPlace::State(value) => matching.right_of(value as i32).map(|other| ReadPlace::State(other as usize)),
            ReadPlace::Argument(..) | ReadPlace::Operand(_) => None,
        };
        if let Some(r) = place.and_then(|place| by_place.get(&place)) {
            comparison.compare_read(ends, [l, r], found);
        }
    }
}

struct Comparison<'c, 'v, 's> {
    views: [&'c MethodView<'s>; 2],
    aligned: &'c [Option<usize>],
    matching: &'c Matching<'v>,
    /// Values with other content, and that content: reported once.
    reported: HashSet<[(usize, Vec<Piece>); 2]>,
}

impl Comparison<'_, '_, '_> {
    fn compare(&mut self, steps: [usize; 2], reads: [&Vec<Read>; 2], found: &mut Differences) {
        let right: BTreeMap<ReadPlace, &Read> = reads[1].iter().map(|read| (read.place, read)).collect();
        for l in reads[0] {
            if let Some(r) = right.get(&l.place) {
                self.compare_read(steps, [l, r], found);
            }
        }
    }

    fn compare_read(&mut self, steps: [usize; 2], reads: [&Read; 2], found: &mut Differences) {
        let [l, r] = reads;
        // Other values, and other sizes, are differences of their own.
        let is_matched = self.matching.right_of(l.value as i32) == u32::try_from(r.value).ok();
        let size = |side: usize| {
            self.views[side].plan.values()[reads[side].value].as_tensor().and_then(|tensor| tensor.nbytes())
        };
        if !is_matched || size(0) != size(1) || self.is_same(&l.pieces, &r.pieces) {
            return;
        }
        if !self.reported.insert([(l.value, l.pieces.clone()), (r.value, r.pieces.clone())]) {
            return;
        }
        let topic = match l.place {
            ReadPlace::Argument(..) | ReadPlace::Operand(_) => DiffTopic::Instruction,
            ReadPlace::Output(..) => DiffTopic::Output,
            ReadPlace::State(_) => DiffTopic::Value,
        };
        let part = |side: usize| {
            let path = self.path(side, steps[side], reads[side].place);
            let kind = self.views[side].describe_type(reads[side].value);
            DifferingPart::new(path, format!("{kind} in the memory of {}", self.describe(side, &reads[side].pieces)))
        };
        found.changed(DiffArea::Meaning, topic, part(0), part(1));
    }

    fn is_same(&self, left: &[Piece], right: &[Piece]) -> bool {
        left.len() == right.len()
            && left.iter().zip(right).all(|(l, r)| {
                let is_same_writer = match (l.writer, r.writer) {
                    (Writer::Before, Writer::Before) => true,
                    (Writer::Caller(l), Writer::Caller(r)) => self.matching.right_of(l as i32) == Some(r),
                    (Writer::Step(l, l_result), Writer::Step(r, r_result)) => {
                        self.aligned.get(l) == Some(&Some(r)) && l_result == r_result
                    }
                    (Writer::Before | Writer::Caller(_) | Writer::Step(..), _) => false,
                };
                is_same_writer && (l.at, l.offset) == (r.at, r.offset)
            })
    }

    fn path(&self, side: usize, step: usize, place: ReadPlace) -> String {
        let view = self.views[side];
        match place {
            ReadPlace::Argument(position, _) => {
                let instruction = view.steps[step].instruction;
                let mut fields = instruction.fields();
                let field = fields.find(|field| matches!(field.reference, FieldReference::Args(_)));
                let field = field.map_or("args", |field| field.name);
                view.argument_path(step, field, position)
            }
            ReadPlace::Operand(name) => format!("{}.{name}", view.step_path(step)),
            ReadPlace::Output(position, _) => format!("{}.outputs[{position}]", view.side.method_path(view.number)),
            ReadPlace::State(value) => view.value_path(value),
        }
    }

    fn describe(&self, side: usize, pieces: &[Piece]) -> String {
        let view = self.views[side];
        let writer = |piece: &Piece| match piece.writer {
            Writer::Before => "nothing that is written before".to_owned(),
            Writer::Caller(value) => view.describe(value as i32),
            Writer::Step(step, _) => view.describe_result(step),
        };
        let texts: Vec<String> = pieces
            .iter()
            .take(SHOWN_PIECES)
            .map(|piece| match (piece.writer, piece.offset) {
                (Writer::Before, _) | (_, 0) => writer(piece),
                (_, offset) => format!("{} {offset:+} bytes", writer(piece)),
            })
            .collect();
        let more = if pieces.len() > SHOWN_PIECES { ", ..." } else { "" };
        format!("{}{more}", texts.join(", "))
    }
}

/// Number of pieces that a description shows.
const SHOWN_PIECES: usize = 3;
