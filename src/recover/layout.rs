//! Which layout a file was written with: candidates are tried until one gives every offset back.
//!
//! What no candidate explains is left to the comparison of what is written with the file, which says what differs.

use std::collections::{HashMap, HashSet};
use std::io;
use std::iter::repeat;

use crate::data::{BlobId, dedup};
use crate::emitter::flatbuffer::FlatBuffer;
use crate::emitter::{self, File, Metadata};
use crate::layout::file;
use crate::format::serializer::Serializer;
use crate::layout::{self, Header, Storage, MemoryPlan, Options, Plan, Segment, Strings, align_up};
use crate::program::{ExternalData, Memory, Program, TensorData};
use crate::reader::flat_tensor::Entry;
use crate::reader::program::Found;
use crate::data::Origin;
use crate::reader::{flat_tensor, program};

/// Where a layout puts the data of a program, as far as one explains the file.
pub struct Explained {
    /// The layout, but for what the FlatBuffer's bytes tell.
    options: Options,
    /// Where it puts everything.
    plan: Plan,
}

/// A layout that explains a program's file, as far as one was found.
pub struct Guess {
    /// The layout.
    pub options: Options,
    /// Where it puts everything.
    pub plan: Plan,
    /// The metadata that it gives; the FlatBuffer is the file's own if the layout explains the file.
    pub metadata: Metadata,
    /// Whether the FlatBuffer is the file's own.
    pub explained: bool,
}

/// Alignments that are tried, the exporter's default first.
const SEGMENT_ALIGNMENTS: &[u64] =
    &[128, 4096, 16384, 16, 1, 2, 4, 8, 32, 64, 256, 512, 1024, 2048, 8192, 32768, 65536];
const TENSOR_ALIGNMENTS: &[u64] = &[16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8, 4, 2, 1, 8192, 16384, 32768, 65536];

/// The largest header, with its padding, that a text can ask for.
const MAX_HEADER: u64 = layout::options::MAX_FORCED_ALIGNMENT;

/// Finds where the data of a program go; gives its named data their alignments, and equal data that are apart their copies'
/// numbers. `None` if the program is of a kind that cannot be laid out again.
///
/// # Errors
/// A file that cannot be read.
pub fn explain(found: &mut Found) -> io::Result<Option<Explained>> {
    let mut options = Options::default();
    let payloads = || found.program.plans().iter().flat_map(|plan| plan.delegates());
    let mut filled = payloads().filter(|delegate| found.program.blob(delegate.processed).len > 0).peekable();
    if filled.peek().is_some() && filled.all(|delegate| delegate.inline == Some(true)) {
        options.delegates = Storage::Inline;
    }
    if found.inline_constants {
        options.constants = Storage::Inline;
    }
    let same = number_copies(&mut found.program)?;
    let Some(mut plan) = guess_alignments(found, &same, &mut options) else { return Ok(None) };
    plan.memory = found.program.plans().iter().map(MemoryPlan::stated).collect();
    Ok(Some(Explained { options, plan }))
}

impl Explained {
    /// Whether payloads of delegates are inside the FlatBuffer unless they say otherwise.
    pub fn inline_delegates(&self) -> bool {
        self.options.delegates == Storage::Inline
    }

    /// Finds the rest of the layout by writing the program anew. `None` if its file would be too large.
    ///
    /// # Errors
    /// A file that cannot be read.
    pub fn guess(self, found: &Found) -> io::Result<Option<Guess>> {
        let Explained { mut options, plan } = self;
        let (flatbuffer, inserted) = guess_builder(found, &plan, &mut options)?;
        guess_frame(found, flatbuffer.len() as u64, inserted, &plan.segments, &mut options);
        let placement = file::program(flatbuffer.len() as u64, &plan.segments, &options);
        let Some(placement) = placement else { return Ok(None) };
        let metadata = Metadata { flatbuffer, placement };
        Ok(Some(Guess { options, plan, metadata, explained: inserted.is_some() }))
    }
}

impl Guess {
    /// The program written anew.
    pub fn file<'a>(&'a self, program: &'a Program) -> File<'a> {
        self.metadata.file(&self.plan.segments, &program.blobs)
    }
}

/// Where data of a program go that may share a place.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Group {
    Constants,
    Mutable,
    Delegates,
    Named,
    External,
}

/// Data that are apart although the layout would let them share a place, if they are equal, are copies of each other.
/// Whether they are equal is told by samples: data that only look alike are apart in any case. Returns for each blob the one
/// whose place it shares: all that are empty share one.
///
/// # Errors
/// Data that cannot be read.
fn number_copies(program: &mut Program) -> io::Result<Vec<BlobId>> {
    let alike = dedup::alike(&program.blobs)?;
    let mut uses: Vec<(BlobId, Group)> = Vec::new();
    for plan in program.plans() {
        uses.extend(plan.tensors().filter_map(|(_, tensor)| match tensor.data {
            TensorData::Blob(blob) => {
                Some((blob, if tensor.memory == Memory::None { Group::Constants } else { Group::Mutable }))
            }
            _ => None,
        }));
        uses.extend(plan.delegates().iter().map(|delegate| (delegate.processed, Group::Delegates)));
    }
    uses.extend(program.named_data.iter().flatten().map(|entry| (entry.data, Group::Named)));
    uses.extend(program.external_data.iter().map(|entry| (entry.data, Group::External)));
    let mut met: HashSet<(BlobId, Group)> = HashSet::new();
    let mut counts: HashMap<(BlobId, Group), u32> = HashMap::new();
    // States that would be alone, and are not, must say that they are the same copy: those count from 1.
    let lone = program.plans().iter().flat_map(|plan| plan.tensors()).filter(|(_, tensor)| tensor.has_lone_state());
    for (_, tensor) in lone {
        if let TensorData::Blob(blob) = tensor.data
            && !met.insert((blob, Group::Mutable))
        {
            counts.insert((alike[blob.0 as usize], Group::Mutable), 1);
        }
    }
    met.clear();
    for (blob, group) in uses {
        let index = blob.0 as usize;
        if program.blobs[index].len > 0 && met.insert((blob, group)) {
            let count = counts.entry((alike[index], group)).or_default();
            // A blob that is in several groups keeps the largest number.
            program.blobs[index].copy = program.blobs[index].copy.max(*count);
            *count += 1;
        }
    }
    let blobs = program.blobs.iter().zip(alike).zip(0..);
    Ok(blobs.map(|((blob, alike), index)| if blob.len == 0 { alike } else { BlobId(index) }).collect())
}

/// Tries pairs of alignments, first those that explain where the first segment begins, too; what none explains gets the
/// exporter's.
fn guess_alignments(found: &mut Found, same: &[BlobId], options: &mut Options) -> Option<Plan> {
    let candidates = segment_alignments(&found.segments);
    let candidates: Vec<(u64, bool)> = candidates.filter(|(n, _)| may_align_segments(found, *n)).collect();
    let mut second = None;
    for (segment_alignment, last_resort) in candidates {
        options.segment_alignment = segment_alignment;
        let alignments = alignments_of(&found.named_segments, &found.segments, segment_alignment, last_resort);
        let Some(alignments) = alignments else { continue };
        set_alignments(&mut found.program, &alignments);
        let constants = &found.constant_offsets;
        let fits = |alignment: &&u64| constants.iter().all(|offset| offset % **alignment == 0);
        for tensor_alignment in TENSOR_ALIGNMENTS.iter().filter(fits) {
            options.tensor_alignment = *tensor_alignment;
            // Memory has no say in where data lie, and this is asked for many pairs of alignments.
            let Ok(plan) = layout::place_data(&found.program, same, options, Vec::new()) else { return None };
            if explains(found, &plan, options) {
                if base_is_aligned(found, &plan, options) {
                    return Some(plan);
                }
                second.get_or_insert((options.clone(), alignments.clone(), plan));
            }
        }
    }
    if let Some((second, alignments, plan)) = second {
        *options = second;
        set_alignments(&mut found.program, &alignments);
        return Some(plan);
    }
    let Options { segment_alignment, tensor_alignment, .. } = Options::default();
    (options.segment_alignment, options.tensor_alignment) = (segment_alignment, tensor_alignment);
    layout::place_data(&found.program, same, options, Vec::new()).ok()
}

/// Whether the segments that ask for no alignment of their own lie where this one puts them.
fn may_align_segments(found: &Found, alignment: u64) -> bool {
    let ends = found.segments.iter().map(|(offset, size)| offset.checked_add(*size));
    let expected = std::iter::once(Some(0)).chain(ends).map(|end| align_up(end?, alignment));
    let own: HashSet<u32> = found.named_segments.iter().copied().collect();
    let segments = found.segments.iter().zip(0u32..).zip(expected);
    segments.into_iter().all(|(((offset, _), index), expected)| own.contains(&index) || expected == Some(*offset))
}

/// Alignments of all segments to try: the usual ones; odd ones that divide all offsets; and again the usual ones, with
/// whatever alignments of single segments it takes.
fn segment_alignments(segments: &[(u64, u64)]) -> impl Iterator<Item = (u64, bool)> {
    let divisor = segments.iter().map(|(offset, _)| *offset).fold(0, gcd);
    let odd = (1..=divisor.min(1 << 16)).rev().filter(move |n| divisor % n == 0 && !n.is_power_of_two());
    let usual = || SEGMENT_ALIGNMENTS.iter().copied();
    usual().zip(repeat(false)).chain(odd.zip(repeat(false))).chain(usual().zip(repeat(true)))
}

fn gcd(a: u64, b: u64) -> u64 {
    let (mut a, mut b) = (a, b);
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

/// Gives the named data of a program their alignments.
fn set_alignments(program: &mut Program, alignments: &[u64]) {
    for (entry, alignment) in program.named_data.iter_mut().flatten().zip(alignments) {
        entry.alignment = *alignment;
    }
}

/// Whether a layout gives the segments and constants the offsets that they have.
fn explains(found: &Found, plan: &Plan, options: &Options) -> bool {
    let constants = options.constants == Storage::Inline || plan.constant_offsets == found.constant_offsets;
    constants && plan.segments.iter().map(|segment| (segment.offset, segment.size)).eq(found.segments.iter().copied())
}

/// Whether the first segment begins where the alignments put it: ours, which aligns every segment in the file, or the
/// exporter's.
fn base_is_aligned(found: &Found, plan: &Plan, options: &Options) -> bool {
    found.header.is_none_or(|header| {
        let all = plan
            .segments
            .iter()
            .try_fold(options.segment_alignment, |all, segment| layout::lcm(all, segment.alignment));
        let bases = [all, Some(options.segment_alignment)].map(|alignment| align_up(header.program_size, alignment?));
        bases.contains(&Some(header.segment_base_offset))
    })
}

/// For each entry of the named data an alignment that puts its segment where it is: none, or the least power of two; as a
/// last resort the offset itself. `None` if an entry has none.
fn alignments_of(
    entries: &[u32],
    segments: &[(u64, u64)],
    segment_alignment: u64,
    last_resort: bool,
) -> Option<Vec<u64>> {
    let alignment = |index: &u32| {
        let index = *index as usize;
        let before = index.checked_sub(1).and_then(|before| segments.get(before));
        let end = before.map_or(0, |(offset, size)| offset.saturating_add(*size));
        let offset = segments.get(index).map_or(0, |(offset, _)| *offset);
        let fits = |alignment: &u64| {
            layout::lcm(*alignment, segment_alignment).and_then(|alignment| align_up(end, alignment)) == Some(offset)
        };
        let powers = (0..=30).map(|power| 1u64 << power).chain(Some(offset).filter(|_| last_resort));
        powers.filter(|alignment| (1..=1 << 30).contains(alignment)).find(fits)
    };
    entries.iter().map(alignment).collect()
}

/// Tries both orders; returns the FlatBuffer of the one that gives the file's, with the [`header_size`] that it shows, else
/// the first.
fn guess_builder(found: &Found, plan: &Plan, options: &mut Options) -> io::Result<(FlatBuffer, Option<u64>)> {
    // What lies inside the FlatBuffer shows its alignment there.
    let inline = !plan.inline_delegates.is_empty() || !plan.constant_buffer.is_empty();
    let forced = if inline { TENSOR_ALIGNMENTS } else { &TENSOR_ALIGNMENTS[..1] };
    let tensor = if options.constants == Storage::Inline { forced } else { &[options.tensor_alignment] };
    let mut first = None;
    for strings in [Strings::Separate, Strings::Shared] {
        for (delegate_alignment, tensor_alignment) in forced.iter().flat_map(|d| tensor.iter().map(move |t| (*d, *t))) {
            for builder in [Serializer::Exir, Serializer::Flatc] {
                let candidate = Options { builder, strings, delegate_alignment, tensor_alignment, ..options.clone() };
                let flatbuffer = emitter::program::emit(&found.program, plan, &candidate, None)?;
                if let Some(inserted) = header_size(&found.metadata, &flatbuffer) {
                    *options = candidate;
                    return Ok((flatbuffer, Some(inserted)));
                }
                first.get_or_insert(flatbuffer);
            }
        }
    }
    Ok((first.expect("there is an alignment, and an order, to try"), None))
}

/// Bytes that are inserted behind the first eight, if the rest is this FlatBuffer: so far is its root moved (W-5).
fn header_size(metadata: &[u8], flatbuffer: &[u8]) -> Option<u64> {
    let root = |bytes: &[u8]| bytes.first_chunk().map(|root| u32::from_le_bytes(*root));
    let inserted = root(metadata)?.checked_sub(root(flatbuffer)?)?;
    let rest = metadata.get(8usize.checked_add(inserted as usize)?..)?;
    rest.starts_with(flatbuffer.get(8..)?).then_some(inserted.into())
}

/// Header padding and the first segment's place, which follow from alignments that nothing else shows. The FlatBuffer has
/// `length` bytes; `inserted` is its [`header_size`].
fn guess_frame(found: &Found, length: u64, inserted: Option<u64>, segments: &[Segment], options: &mut Options) {
    let Some(header) = found.header else {
        if found.segments.iter().any(|(_, size)| *size > 0) {
            options.header = Header::None;
        }
        return;
    };
    let inserted = inserted.unwrap_or(header.program_size.saturating_sub(length));
    // A header may say that it is longer than the room it has; then what it says is one of the oddities.
    let stated = match u64::from(header.length) {
        stated if stated <= inserted.min(MAX_HEADER) => header.length,
        _ => 32,
    };
    if stated != 32 || found.segments.iter().all(|(_, size)| *size == 0) {
        options.header = Header::Length(stated);
    }
    let size = |options: &Options| file::program(length, segments, options).map(|frame| frame.header.len() as u64);
    // What is inside shows its alignment; if nothing is, the header may still be padded to that of delegates (W-4).
    let shown = !found.inline_constants && found.program.plans().iter().all(|plan| plan.delegates().is_empty());
    if size(options) != Some(inserted) && (u64::from(stated)..=MAX_HEADER).contains(&inserted) {
        match inserted > 32 && inserted.is_power_of_two() && shown {
            true => options.delegate_alignment = inserted,
            false => options.header_size = Some(inserted),
        }
    }
    guess_base(header.segment_base_offset, options, |options| {
        file::program(length, segments, options).map(|frame| frame.segment_base_offset)
    });
}

/// Finds the alignment that puts the first segment where it is: ours, the exporter's, a power of two, or where it is, which
/// puts it there if nothing else does.
fn guess_base(wanted: u64, options: &mut Options, base: impl Fn(&Options) -> Option<u64>) {
    let powers = (0..=30).map(|power| 1 << power);
    let candidates = std::iter::once(options.segment_alignment).chain(powers).chain([wanted]);
    let candidates = candidates.filter(|alignment| (1..=1 << 30).contains(alignment)).map(Some);
    let found = std::iter::once(None).chain(candidates).find(|alignment| {
        options.base_alignment = *alignment;
        base(options) == Some(wanted)
    });
    options.base_alignment = found.flatten();
}

/// A program with the layout it was found in, as far as one explains it.
///
/// # Errors
/// A file that cannot be read, or is no program.
pub fn program_with_layout(origin: &Origin) -> io::Result<(Program, Options)> {
    let mut found = program::read(origin)?;
    let guess = match explain(&mut found)? {
        Some(explained) => explained.guess(&found)?,
        None => None,
    };
    Ok((found.program, guess.map(|guess| guess.options).unwrap_or_default()))
}

/// The content of a `.ptd` as a program without methods, with the layout that explains the file, as far as one was found.
pub struct FlatTensor {
    /// The keys and their data.
    pub program: Program,
    /// The layout.
    pub options: Options,
    /// The metadata and the segments that the layout gives, if one explains the file.
    pub explained: Option<(Metadata, Vec<Segment>)>,
}

/// Reads a `.ptd` and finds its layout.
///
/// # Errors
/// A file that cannot be read, or is no `.ptd`.
pub fn flat_tensor(origin: &Origin) -> io::Result<FlatTensor> {
    let entries = flat_tensor::read(origin)?;
    let frame = flat_tensor::frame(origin)?;
    let mut program = Program::default();
    let mut blobs: HashMap<u32, BlobId> = HashMap::new();
    for (Entry { key, data, tensor_layout }, segment) in entries.into_iter().zip(&frame.entry_segments) {
        let data = *blobs.entry(*segment).or_insert_with(|| program.add_blob(data));
        program.external_data.push(ExternalData { key, tag: None, data, alignment: 1, tensor_layout });
    }
    let same = number_copies(&mut program)?;
    let metadata = origin.head(frame.metadata)?;
    for (segment_alignment, last_resort) in segment_alignments(&frame.segments) {
        let alignments = alignments_of(&frame.entry_segments, &frame.segments, segment_alignment, last_resort);
        let Some(alignments) = alignments else { continue };
        program.external_data.iter_mut().zip(alignments).for_each(|(entry, alignment)| entry.alignment = alignment);
        let mut options = Options { segment_alignment, ..Options::default() };
        let Ok(plan) = layout::place_data(&program, &same, &options, Vec::new()) else { continue };
        let [file] = &plan.external[..] else { continue };
        let found = file.segments.iter().map(|segment| (segment.offset, segment.size));
        if !found.eq(frame.segments.iter().copied()) {
            continue;
        }
        for builder in [Serializer::Flatc, Serializer::Exir] {
            options.ptd_builder = builder;
            let flatbuffer = emitter::flat_tensor::emit(file, builder, None)?;
            if header_size(&metadata, &flatbuffer).is_none() {
                continue;
            }
            let length = flatbuffer.len() as u64;
            let place = |options: &Options| file::flat_tensor(length, &file.segments, options);
            guess_base(frame.base, &mut options, |options| Some(place(options)?.segment_base_offset));
            let Some(placement) = place(&options) else { continue };
            let explained = Some((Metadata { flatbuffer, placement }, file.segments.clone()));
            return Ok(FlatTensor { program, options, explained });
        }
    }
    program.external_data.iter_mut().for_each(|entry| entry.alignment = 1);
    Ok(FlatTensor { program, options: Options::default(), explained: None })
}
