//! Compares the content that reads of planned memory find: for each tensor that an instruction or the caller reads, the
//! writers of its bytes. The values that instructions refer to do not show this: views have no instruction, and memory
//! may be overwritten while it is in use. Two correct plans may have different offsets, but the same writers.
//!
//! Content is followed between the steps at which jumps meet. Earlier content counts as equal on both sides.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::align::{Paired, per_side};
use super::difference::{DiffArea, DiffTopic, Differences, DifferingPart};
use super::values::Matching;
use super::view::{MethodView, ValueRole};
use pte_analysis::access::Access;
use pte_analysis::aliases::AliasKind;
use pte_analysis::operators::AccessKind;
use pte_model::program::pools::{PoolContent, PoolRange};
use pte_model::program::{EValue, FieldReference, Memory, TensorData, ValueId};

/// Number of pieces of memory that are followed for the reads of every method, and further ones for each access. A
/// method of an exporter has a few pieces for each read; only many tensors that overlap in parts reach the limit. Later
/// reads are not compared, which is a difference.
const LEAST_WORK: u64 = 1 << 20;
const WORK_PER_ACCESS: u64 = 64;

/// Writer of bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Writer {
    /// Unknown: nothing wrote them since the last step at which jumps meet.
    Before,
    /// The caller, for an input or for state before the method runs.
    Caller(u32),
    /// A step, and the position of the result among its results.
    Step(u32, u32),
}

/// A part of the bytes of a tensor.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Piece {
    /// Start offset in the tensor, in bytes.
    at: u64,
    writer: Writer,
    /// Offset of the tensor in the result of the writer, in bytes.
    offset: i128,
}

/// Reader of a tensor.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum ReadPlace {
    /// An argument of the instruction, and the position of the item if it is a list.
    Argument(usize, usize),
    /// A field of the instruction.
    Operand(&'static str),
    /// An output of the method, and the position of the item if it is a list.
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

/// Writer of bytes, and the offset at which its result begins.
type Written = (Writer, u64);

/// Returns the pieces of a tensor with their writers.
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
    // Usually one, and there are many reads.
    pieces.shrink_to_fit();
    pieces
}

/// Pool of the memory that the caller provides; no file has as many pools.
const OF_CALLER: u32 = u32::MAX;

/// Returns a range from `end` on for a tensor without planned memory, and increases `end`.
fn own_range(value: &EValue, end: &mut u64) -> Option<PoolRange> {
    let tensor = value.as_tensor().filter(|tensor| tensor.memory == Memory::None && tensor.data == TensorData::None)?;
    let start = *end;
    *end = start.checked_add(tensor.nbytes()?)?;
    (*end > start).then_some(PoolRange { pool: OF_CALLER, start, end: *end })
}

/// Follows the content of the memory of a method.
struct Follower<'v, 's> {
    view: &'v MethodView<'s>,
    pools: PoolContent<Written>,
    /// By value: the range of its bytes in planned memory, or in that of the caller; `None` if it has none, or if the
    /// range is not known.
    ranges: Vec<Option<PoolRange>>,
    /// Pieces that may still be followed; `None` if there were more.
    work: Option<u64>,
}

impl<'v, 's> Follower<'v, 's> {
    fn new(view: &'v MethodView<'s>) -> Follower<'v, 's> {
        let mut end = 0;
        let range = |(index, value): (usize, &EValue)| {
            PoolRange::of(value).or_else(|| own_range(value, &mut end).filter(|_| view.is_of_caller[index]))
        };
        let mut ranges: Vec<Option<PoolRange>> = view.plan.values().iter().enumerate().map(range).collect();
        for alias in view.method.aliases().iter().filter(|alias| alias.kind == AliasKind::Move) {
            // A move changes the tensor's location.
            ranges[alias.result] = None;
        }
        let work = LEAST_WORK.saturating_add(WORK_PER_ACCESS.saturating_mul(view.accesses.list.len() as u64));
        let work = Some(work).filter(|_| !view.accesses.is_truncated);
        let mut follower = Follower { view, pools: PoolContent::default(), ranges, work };
        // State has content when the method is loaded, inputs when it runs.
        for value in follower.states() {
            follower.write(value, Writer::Caller(value as u32));
        }
        for value in view.plan.inputs.iter().flatten().filter_map(|value| value.get()) {
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

    fn read(&mut self, value: usize, place: ReadPlace, found: &mut Vec<Read>) {
        let Some(Some(range)) = self.ranges.get(value) else { return };
        let pieces = pieces(&self.pools, *range);
        self.work = self.work.and_then(|work| work.checked_sub(pieces.len() as u64));
        found.push(Read { place, value, pieces });
    }

    /// Follows the accesses of a step, or of the end of the method. Returns the reads, and records the writes. `place`
    /// returns the reader of an argument and of its item.
    fn accesses(&mut self, number: usize, place: impl Fn(usize, usize) -> ReadPlace) -> Vec<Read> {
        let view = self.view;
        let (mut found, mut written): (_, Vec<&Access>) = (Vec::new(), Vec::new());
        let (mut arg, mut item) = (None, 0);
        for access in view.accesses.of_step(number) {
            self.work = self.work.and_then(|work| work.checked_sub(1));
            if self.work.is_none() {
                return found;
            }
            item = if arg == Some(access.arg) { item + 1 } else { 0 };
            arg = Some(access.arg);
            if access.reads() && access.kind != AccessKind::Release {
                self.read(access.value as usize, place(access.arg as usize, item), &mut found);
            }
            written.extend(Some(access).filter(|access| access.writes()));
        }
        for (result, access) in written.into_iter().enumerate() {
            let value = access.value as usize;
            match access.kind {
                // It has the memory of an argument from now on, and nothing is written.
                AccessKind::Alias => self.ranges[value] = self.aliased(number).and_then(|base| self.ranges[base]),
                _ => self.write(value, Writer::Step(number as u32, result as u32)),
            }
        }
        found
    }

    /// Returns the argument whose memory the result of a step has.
    fn aliased(&self, step: usize) -> Option<usize> {
        let instruction = self.view.steps[step].instruction;
        let position = self.view.method.operators.called(instruction)?.aliased?;
        instruction.args().get(position)?.within(self.ranges.len())
    }

    /// Returns the reads of an instruction, and records its writes.
    fn step(&mut self, number: usize) -> Vec<Read> {
        let instruction = self.view.steps[number].instruction;
        self.accesses(number, |position, item| match instruction.operands().nth(position) {
            Some((name, ..)) => ReadPlace::Operand(name),
            None => ReadPlace::Argument(position, item),
        })
    }

    /// Returns the reads of the caller after the method.
    fn end(&mut self) -> Vec<Read> {
        let mut found = self.accesses(self.view.steps.len(), ReadPlace::Output);
        for value in self.states() {
            self.read(value, ReadPlace::State(value), &mut found);
        }
        found
    }
}

/// Returns the steps at which jumps meet. The number of steps stands for the end.
fn meetings(view: &MethodView<'_>) -> HashSet<usize> {
    view.method.jumps().iter().flat_map(|jump| [jump.step as usize + 1, jump.to as usize]).collect()
}

/// Returns the reads of a method by step, with those of the caller at the end, and the step after which they exceed the
/// limit.
fn reads(view: &MethodView<'_>) -> (Vec<Vec<Read>>, Option<usize>) {
    let meetings = meetings(view);
    let mut follower = Follower::new(view);
    let mut found = Vec::with_capacity(view.steps.len() + 1);
    for step in 0..=view.steps.len() {
        if meetings.contains(&step) {
            follower.pools = PoolContent::default();
        }
        if follower.work.is_none() {
            found.resize_with(view.steps.len() + 1, Vec::new);
            return (found, Some(step));
        }
        found.push(if step < view.steps.len() { follower.step(step) } else { follower.end() });
    }
    let last = view.steps.len();
    (found, follower.work.is_none().then_some(last))
}

/// Compares the content that aligned instructions and the caller find in the tensors that they read.
pub fn compare(
    views: [&MethodView<'_>; 2],
    aligned: &[Option<usize>],
    outputs: &[Paired<usize>],
    matching: &Matching<'_>,
    found: &mut Differences,
) {
    // The same instructions on the same values find the same content.
    if !found.has(DiffArea::Meaning) || views[0].plan == views[1].plan {
        return;
    }
    let [(left, left_end), (right, right_end)] = views.map(reads);
    if left_end.is_some() || right_end.is_some() {
        let part = |side: usize, end: Option<usize>| {
            let view = views[side];
            let value = end.map_or("compared".to_owned(), |step| {
                format!("not compared from instruction {step} on: its reads of planned memory have too many parts")
            });
            DifferingPart::new(view.side.method_path(view.number), value)
        };
        found.changed(DiffArea::Meaning, DiffTopic::Method, [part(0, left_end), part(1, right_end)]);
    }
    let mut comparison = Comparison { views, aligned, matching, reported: HashSet::new() };
    for (step, reads) in left.iter().take(aligned.len()).enumerate() {
        if let Some(other) = aligned[step] {
            comparison.compare([step, other], [reads, &right[other]], found);
        }
    }
    let outputs: HashMap<usize, usize> = outputs.iter().filter_map(|pair| pair[0].zip(pair[1])).collect();
    let ends = [left.len() - 1, right.len() - 1];
    let by_place: HashMap<ReadPlace, &Read> = right[ends[1]].iter().map(|read| (read.place, read)).collect();
    for l in &left[ends[0]] {
        let place = match l.place {
            ReadPlace::Output(position, item) => outputs.get(&position).map(|other| ReadPlace::Output(*other, item)),
            ReadPlace::State(value) => {
                matching.right_of(ValueId(value as i32)).map(|other| ReadPlace::State(other as usize))
            }
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
    /// Values with different content, and that content, which is reported once.
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
        // Differences of values or sizes are reported elsewhere.
        let is_matched = self.matching.right_of(ValueId::of(l.value)) == u32::try_from(r.value).ok();
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
        found.changed(DiffArea::Meaning, topic, per_side(part));
    }

    fn is_same(&self, left: &[Piece], right: &[Piece]) -> bool {
        left.len() == right.len()
            && left.iter().zip(right).all(|(l, r)| {
                let is_same_writer = match (l.writer, r.writer) {
                    (Writer::Before, Writer::Before) => true,
                    (Writer::Caller(l), Writer::Caller(r)) => self.matching.right_of(ValueId(l as i32)) == Some(r),
                    (Writer::Step(l, l_result), Writer::Step(r, r_result)) => {
                        self.aligned.get(l as usize) == Some(&Some(r as usize)) && l_result == r_result
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
            ReadPlace::Output(position, _) => view.field(format_args!("outputs[{position}]")),
            ReadPlace::State(value) => view.value_path(value),
        }
    }

    fn describe(&self, side: usize, pieces: &[Piece]) -> String {
        let view = self.views[side];
        let writer = |piece: &Piece| match piece.writer {
            Writer::Before => "nothing that is written before".to_owned(),
            Writer::Caller(value) => view.describe(ValueId(value as i32)),
            Writer::Step(step, _) => view.describe_result(step as usize),
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
