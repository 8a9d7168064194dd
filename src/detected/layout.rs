//! Recovers the layout of a file: tries candidates until one reproduces every offset.
//!
//! If no candidate does, comparing the emitted file with the original reports the difference.

use std::collections::{HashMap, HashSet};
use std::io;
use std::iter::repeat;

use crate::emitter::flatbuffer::FlatBuffer;
use crate::emitter::{self, File, Metadata};
use crate::layout::file;
use crate::layout::{self, HeaderMode, LayoutConfig, Plan, Segment, Storage, Strings, align_up};
use pte_model::data::Origin;
use pte_model::data::{BlobId, dedup};
use pte_model::format::serializer::Serializer;
use pte_model::program::MemoryPlan;
use pte_model::program::{BackendDelegate, ExternalData, Memory, Program, TensorData};
use pte_model::reader::flat_tensor::FlatTensorEntry;
use pte_model::reader::program::ProgramContents;
use pte_model::reader::{flat_tensor, program};

/// Options and plan that reproduce the offsets of a program's data.
pub struct RecoveredPlacement {
    /// Layout options. Those that only affect the FlatBuffer have their defaults.
    options: LayoutConfig,
    /// Placement of the data.
    plan: Plan,
}

/// The best layout found for a program's file.
pub struct RecoveredLayout {
    /// Layout options.
    pub options: LayoutConfig,
    /// Placement of the data.
    pub plan: Plan,
    /// Metadata emitted with these options.
    pub metadata: Metadata,
    /// `true` if the emitted FlatBuffer is equal to the file's.
    pub exact: bool,
}

/// Candidates for alignments, the exporter's default first.
const SEGMENT_ALIGNMENTS: &[u64] =
    &[128, 4096, 16384, 16, 1, 2, 4, 8, 32, 64, 256, 512, 1024, 2048, 8192, 32768, 65536];
const TENSOR_ALIGNMENTS: &[u64] = &[16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8, 4, 2, 1, 8192, 16384, 32768, 65536];

/// Maximum size of a header with its padding in bytes.
const MAX_HEADER: u64 = layout::options::MAX_FORCED_ALIGNMENT;

/// Recovers the placement of a program's data. Sets the alignments of its named data, and the copy numbers of equal
/// data that are stored separately. `None` if the program cannot be laid out.
///
/// # Errors
/// A file that cannot be read.
pub fn placement(found: &mut ProgramContents) -> io::Result<Option<RecoveredPlacement>> {
    let mut options = LayoutConfig::default();
    let payloads = || found.program.plans().iter().flat_map(|plan| plan.delegates());
    let mut filled = payloads().filter(|delegate| found.program.blob(delegate.processed).len > 0).peekable();
    if filled.peek().is_some() && filled.all(|delegate| delegate.inline == Some(true)) {
        options.delegates = Storage::Inline;
    }
    if found.inline_constants {
        options.constants = Storage::Inline;
    }
    let same = number_copies(&mut found.program, options.delegates == Storage::Inline)?;
    let Some(mut plan) = recover_alignments(found, &same, &mut options) else { return Ok(None) };
    plan.memory = found.program.plans().iter().map(MemoryPlan::stated).collect();
    Ok(Some(RecoveredPlacement { options, plan }))
}

impl RecoveredPlacement {
    /// Returns `true` if payloads of delegates are inside the FlatBuffer by default.
    pub fn inline_delegates(&self) -> bool {
        self.options.delegates == Storage::Inline
    }

    /// Returns the alignment of the segments and that of the constants in their segment, in bytes.
    pub fn alignments(&self) -> [u64; 2] {
        [self.options.segment_alignment, self.options.tensor_alignment]
    }

    /// Returns true unless a part of a newer schema is in a table that the plan does not have.
    pub fn keeps_newer_parts(&self, program: &Program) -> bool {
        program.newer_parts().is_none() || emitter::program::emit(program, &self.plan, &self.options, None).is_ok()
    }

    /// Recovers the remaining options by emitting the program. `None` if its file would be too large.
    ///
    /// # Errors
    /// A file that cannot be read.
    pub fn layout(self, found: &ProgramContents) -> io::Result<Option<RecoveredLayout>> {
        let RecoveredPlacement { mut options, plan } = self;
        let (flatbuffer, inserted) = recover_builder(found, &plan, &mut options)?;
        recover_header(found, flatbuffer.len() as u64, inserted, &plan.segments, &mut options);
        let placement = file::program(flatbuffer.len() as u64, &plan.segments, &options);
        let Some(placement) = placement else { return Ok(None) };
        let metadata = Metadata { flatbuffer, placement };
        Ok(Some(RecoveredLayout { options, plan, metadata, exact: inserted.is_some() }))
    }
}

impl RecoveredLayout {
    /// Returns the file that this layout emits.
    pub fn file<'a>(&'a self, program: &'a Program) -> File<'a> {
        self.metadata.file(&self.plan.segments, &program.blobs)
    }
}

/// Kind of use of data. Equal data of the same kind are stored once.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Group {
    Constants,
    Mutable,
    InlineDelegates,
    Delegates,
    Named,
    External,
}

impl Group {
    /// Returns true if each entry of the group is distinct, even without bytes.
    fn has_empty_entries(self) -> bool {
        match self {
            Group::Constants | Group::Mutable | Group::InlineDelegates => true,
            Group::Delegates | Group::Named | Group::External => false,
        }
    }
}

/// Numbers the copies of equal data that are stored separately although the layout would store them once. Equality is
/// decided by samples, because data that differ elsewhere are stored separately in any case. Returns, for each blob,
/// the blob that it is stored with. Empty blobs without an entry of their own are stored together.
///
/// # Errors
/// Data that cannot be read.
fn number_copies(program: &mut Program, delegates_inline: bool) -> io::Result<Vec<BlobId>> {
    let alike = dedup::alike(&program.blobs)?;
    let mut uses: Vec<(BlobId, Group)> = Vec::new();
    for plan in program.plans() {
        uses.extend(plan.tensors().filter_map(|(_, tensor)| match tensor.data {
            TensorData::Blob(blob) => {
                Some((blob, if tensor.memory == Memory::None { Group::Constants } else { Group::Mutable }))
            }
            TensorData::None | TensorData::Elsewhere(_) => None,
        }));
        let inline = |delegate: &BackendDelegate| delegate.inline.unwrap_or(delegates_inline);
        uses.extend(plan.delegates().iter().map(|delegate| match inline(delegate) {
            true => (delegate.processed, Group::InlineDelegates),
            false => (delegate.processed, Group::Delegates),
        }));
    }
    uses.extend(program.named_data.iter().flatten().map(|entry| (entry.data, Group::Named)));
    uses.extend(program.external_data.iter().map(|entry| (entry.data, Group::External)));
    let mut seen: HashSet<(BlobId, Group)> = HashSet::new();
    let mut counts: HashMap<(BlobId, Group), u32> = HashMap::new();
    // States are never stored together by default. Those that are stored together in this file need equal copy numbers,
    // which count from 1.
    let lone = program.plans().iter().flat_map(|plan| plan.tensors()).filter(|(_, tensor)| tensor.has_lone_state());
    for (_, tensor) in lone {
        if let TensorData::Blob(blob) = tensor.data
            && !seen.insert((blob, Group::Mutable))
        {
            counts.insert((alike[blob.0 as usize], Group::Mutable), 1);
        }
    }
    seen.clear();
    for (blob, group) in uses {
        let index = blob.0 as usize;
        if (program.blobs[index].len > 0 || group.has_empty_entries()) && seen.insert((blob, group)) {
            let count = counts.entry((alike[index], group)).or_default();
            // A blob with several kinds of use gets the largest number.
            program.blobs[index].copy = program.blobs[index].copy.max(*count);
            *count += 1;
        }
    }
    let own: HashSet<BlobId> =
        seen.into_iter().filter(|(_, group)| group.has_empty_entries()).map(|(blob, _)| blob).collect();
    let together = |(alike, index): (BlobId, u32)| match program.blobs[index as usize].len {
        0 if !own.contains(&BlobId(index)) => alike,
        _ => BlobId(index),
    };
    Ok(alike.into_iter().zip(0..).map(together).collect())
}

/// Tries pairs of segment and tensor alignments. Prefers those that also reproduce the offset of the first segment, and
/// falls back to the exporter's defaults.
fn recover_alignments(found: &mut ProgramContents, same: &[BlobId], options: &mut LayoutConfig) -> Option<Plan> {
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
            // The memory plan does not affect the placement of data, so it is not computed for every pair.
            let Ok(plan) = layout::place_data(&found.program, same, options, Vec::new()) else { return None };
            if reproduces(found, &plan, options) {
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
    let LayoutConfig { segment_alignment, tensor_alignment, .. } = LayoutConfig::default();
    (options.segment_alignment, options.tensor_alignment) = (segment_alignment, tensor_alignment);
    layout::place_data(&found.program, same, options, Vec::new()).ok()
}

/// Returns `true` if the segments without an alignment of their own have the offsets that this alignment gives.
fn may_align_segments(found: &ProgramContents, alignment: u64) -> bool {
    let ends = found.segments.iter().map(|(offset, size)| offset.checked_add(*size));
    let expected = std::iter::once(Some(0)).chain(ends).map(|end| align_up(end?, alignment));
    let own: HashSet<u32> = found.named_segments.iter().copied().collect();
    let segments = found.segments.iter().zip(0u32..).zip(expected);
    segments.into_iter().all(|(((offset, _), index), expected)| own.contains(&index) || expected == Some(*offset))
}

/// Returns candidates for the segment alignment: powers of two, other divisors of all offsets, and again the powers of
/// two with `true`, which allows any alignment of single segments.
fn segment_alignments(segments: &[(u64, u64)]) -> impl Iterator<Item = (u64, bool)> {
    let divisor = segments.iter().map(|(offset, _)| *offset).fold(0, gcd);
    let divisors = (1..=divisor.min(1 << 16)).rev().filter(move |n| divisor % n == 0 && !n.is_power_of_two());
    let usual = || SEGMENT_ALIGNMENTS.iter().copied();
    usual().zip(repeat(false)).chain(divisors.zip(repeat(false))).chain(usual().zip(repeat(true)))
}

fn gcd(a: u64, b: u64) -> u64 {
    let (mut a, mut b) = (a, b);
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

/// Sets the alignments of a program's named data.
fn set_alignments(program: &mut Program, alignments: &[u64]) {
    for (entry, alignment) in program.named_data.iter_mut().flatten().zip(alignments) {
        entry.alignment = *alignment;
    }
}

/// Returns `true` if a plan reproduces the offsets of the segments and constants.
fn reproduces(found: &ProgramContents, plan: &Plan, options: &LayoutConfig) -> bool {
    let constants = options.constants == Storage::Inline || plan.constant_offsets == found.constant_offsets;
    constants && plan.segments.iter().map(|segment| (segment.offset, segment.size)).eq(found.segments.iter().copied())
}

/// Returns `true` if the alignments reproduce the offset of the first segment. It may be aligned to the least common
/// multiple of all alignments, or to the segment alignment.
fn base_is_aligned(found: &ProgramContents, plan: &Plan, options: &LayoutConfig) -> bool {
    found.header.is_none_or(|header| {
        let all = plan
            .segments
            .iter()
            .try_fold(options.segment_alignment, |all, segment| layout::lcm(all, segment.alignment));
        let bases = [all, Some(options.segment_alignment)].map(|alignment| align_up(header.program_size, alignment?));
        bases.contains(&Some(header.segment_base_offset))
    })
}

/// Returns, for each entry of the named data, an alignment that reproduces the offset of its segment: the smallest
/// power of two, or the offset itself with `last_resort`. `None` if an entry has none.
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

/// Tries the serializers and the options of the FlatBuffer. Returns the FlatBuffer that is equal to the file's, with
/// its [`header_size`], or otherwise the first one that was emitted.
fn recover_builder(
    found: &ProgramContents,
    plan: &Plan,
    options: &mut LayoutConfig,
) -> io::Result<(FlatBuffer, Option<u64>)> {
    // Only inline data depend on the alignments inside the FlatBuffer.
    let inline = !plan.inline_delegates.is_empty() || !plan.constant_buffer.is_empty();
    let forced = if inline { TENSOR_ALIGNMENTS } else { &TENSOR_ALIGNMENTS[..1] };
    let tensor = if options.constants == Storage::Inline { forced } else { &[options.tensor_alignment] };
    let mut first = None;
    for strings in [Strings::Separate, Strings::Shared] {
        for (delegate_alignment, tensor_alignment) in forced.iter().flat_map(|d| tensor.iter().map(move |t| (*d, *t))) {
            for builder in Serializer::ALL {
                let candidate =
                    LayoutConfig { builder, strings, delegate_alignment, tensor_alignment, ..options.clone() };
                let flatbuffer = emitter::program::emit(&found.program, plan, &candidate, None)?;
                if let Some(inserted) = header_size(&found.metadata, &flatbuffer) {
                    *options = candidate;
                    return Ok((flatbuffer, Some(inserted)));
                }
                first.get_or_insert(flatbuffer);
            }
        }
    }
    Ok((first.expect("there is at least one candidate"), None))
}

/// Returns the number of bytes inserted after the first eight, by which the root offset is increased (W-5); `None` if
/// the rest of the metadata is not this FlatBuffer.
fn header_size(metadata: &[u8], flatbuffer: &[u8]) -> Option<u64> {
    let root = |bytes: &[u8]| bytes.first_chunk().map(|root| u32::from_le_bytes(*root));
    let inserted = root(metadata)?.checked_sub(root(flatbuffer)?)?;
    let rest = metadata.get(8usize.checked_add(inserted as usize)?..)?;
    rest.starts_with(flatbuffer.get(8..)?).then_some(inserted.into())
}

/// Recovers the padding of the header and the alignment of the first segment. `length` is the size of the FlatBuffer in
/// bytes, `inserted` its [`header_size`].
fn recover_header(
    found: &ProgramContents,
    length: u64,
    inserted: Option<u64>,
    segments: &[Segment],
    options: &mut LayoutConfig,
) {
    // Segments without a header have no offset; data that are read of such a file are printed for one with a header.
    let Some(header) = found.header else { return };
    let inserted = inserted.unwrap_or(header.program_size.saturating_sub(length));
    // A length beyond the space of the header is malformed, and becomes a patch.
    let stated = match u64::from(header.length) {
        stated if stated <= inserted.min(MAX_HEADER) => header.length,
        _ => 32,
    };
    if stated != 32 || found.segments.iter().all(|(_, size)| *size == 0) {
        options.header = HeaderMode::Length(stated);
    }
    let size = |options: &LayoutConfig| {
        file::program(length, segments, options).map(|placement| placement.header.len() as u64)
    };
    // Without inline data the header may still be padded to the alignment of delegates (W-4).
    let nothing_inline =
        !found.inline_constants && found.program.plans().iter().all(|plan| plan.delegates().is_empty());
    if size(options) != Some(inserted) && (u64::from(stated)..=MAX_HEADER).contains(&inserted) {
        match inserted > 32 && inserted.is_power_of_two() && nothing_inline {
            true => options.delegate_alignment = inserted,
            false => options.header_size = Some(inserted),
        }
    }
    recover_base(header.segment_base_offset, options, |options| {
        file::program(length, segments, options).map(|placement| placement.segment_base_offset)
    });
}

/// Recovers the alignment that gives the first segment the offset `expected`: the default, the segment alignment, a
/// power of two, or the offset itself.
fn recover_base(expected: u64, options: &mut LayoutConfig, base: impl Fn(&LayoutConfig) -> Option<u64>) {
    let powers = (0..=30).map(|power| 1 << power);
    let candidates = std::iter::once(options.segment_alignment).chain(powers).chain([expected]);
    let candidates = candidates.filter(|alignment| (1..=1 << 30).contains(alignment)).map(Some);
    let found = std::iter::once(None).chain(candidates).find(|alignment| {
        options.base_alignment = *alignment;
        base(options) == Some(expected)
    });
    options.base_alignment = found.flatten();
}

/// Reads a program and recovers its layout, or the best candidate.
///
/// # Errors
/// A file that cannot be read, or is not a program.
pub fn program_with_layout(origin: &Origin) -> io::Result<(Program, LayoutConfig)> {
    let mut found = program::read(origin)?;
    let layout = match placement(&mut found)? {
        Some(placement) => placement.layout(&found)?,
        None => None,
    };
    Ok((found.program, layout.map(|layout| layout.options).unwrap_or_default()))
}

/// The content of a `.ptd` as a program without methods, with its recovered layout.
pub struct RecoveredFlatTensor {
    /// Keys and data.
    pub program: Program,
    /// Layout options; the defaults if none reproduces the file.
    pub options: LayoutConfig,
    /// Metadata and segments emitted with these options; `None` if no options reproduce the file.
    pub emitted: Option<(Metadata, Vec<Segment>)>,
}

/// Reads a `.ptd` and recovers its layout.
///
/// # Errors
/// A file that cannot be read, or is not a `.ptd`.
pub fn flat_tensor(origin: &Origin) -> io::Result<RecoveredFlatTensor> {
    let entries = flat_tensor::read(origin)?;
    let header = flat_tensor::frame(origin)?;
    let mut program = Program::default();
    let mut blobs: HashMap<u32, BlobId> = HashMap::new();
    for (FlatTensorEntry { key, data, tensor_layout }, segment) in entries.into_iter().zip(&header.entry_segments) {
        let data = *blobs.entry(*segment).or_insert_with(|| program.add_blob(data));
        program.external_data.push(ExternalData { tensor_layout, ..ExternalData::new(key, data) });
    }
    let same = number_copies(&mut program, false)?;
    let metadata = origin.head(header.metadata)?;
    for (segment_alignment, last_resort) in segment_alignments(&header.segments) {
        let alignments = alignments_of(&header.entry_segments, &header.segments, segment_alignment, last_resort);
        let Some(alignments) = alignments else { continue };
        program.external_data.iter_mut().zip(alignments).for_each(|(entry, alignment)| entry.alignment = alignment);
        let mut options = LayoutConfig { segment_alignment, ..LayoutConfig::default() };
        let Ok(plan) = layout::place_data(&program, &same, &options, Vec::new()) else { continue };
        let [file] = &plan.external[..] else { continue };
        let found = file.segments.iter().map(|segment| (segment.offset, segment.size));
        if !found.eq(header.segments.iter().copied()) {
            continue;
        }
        for builder in [Serializer::Flatc, Serializer::Exir, Serializer::ExirSharedVtables] {
            options.ptd_builder = builder;
            let flatbuffer = emitter::flat_tensor::emit(file, builder, None)?;
            if header_size(&metadata, &flatbuffer).is_none() {
                continue;
            }
            let length = flatbuffer.len() as u64;
            let place = |options: &LayoutConfig| file::flat_tensor(length, &file.segments, options);
            recover_base(header.base, &mut options, |options| Some(place(options)?.segment_base_offset));
            let Some(placement) = place(&options) else { continue };
            let emitted = Some((Metadata { flatbuffer, placement }, file.segments.clone()));
            return Ok(RecoveredFlatTensor { program, options, emitted });
        }
    }
    program.external_data.iter_mut().for_each(|entry| entry.alignment = 1);
    Ok(RecoveredFlatTensor { program, options: LayoutConfig::default(), emitted: None })
}

/// Returns the alignment that all segments of a `.ptd` and the first of them have, if it is larger than the default and
/// no smaller one gives these offsets.
///
/// # Errors
/// A file that cannot be read, or is not a `.ptd`.
pub fn common_alignment(origin: &Origin) -> io::Result<Option<u64>> {
    let header = flat_tensor::frame(origin)?;
    let is_common = |alignment: &u64| {
        let own = alignments_of(&header.entry_segments, &header.segments, *alignment, false);
        own.is_some_and(|own| own.iter().all(|own| *own == 1))
            && align_up(header.metadata, *alignment) == Some(header.base)
    };
    let mut candidates: Vec<u64> = SEGMENT_ALIGNMENTS.to_vec();
    candidates.sort_unstable();
    let found = candidates.into_iter().find(is_common);
    Ok(found.filter(|alignment| *alignment > LayoutConfig::default().segment_alignment))
}
