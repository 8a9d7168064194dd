//! Which layout a file was written with: candidates are tried until one gives every offset back.
//!
//! What no candidate explains is left to the comparison of what is written with the file, which says what differs.

use std::io;

use super::flat_tensor::Entry;
use super::program::Found;
use super::{Origin, flat_tensor, program};
use crate::emitter;
use crate::emitter::flatbuffer::FlatBuffer;
use crate::layout::{self, Builder, Header, Home, MemoryPlan, Options, Plan, align_up};
use crate::program::{BlobId, ExternalData, Program, dedup};

/// A layout that explains a program's file, as far as one was found.
pub struct Guess {
    /// The layout.
    pub options: Options,
    /// Where it puts everything.
    pub plan: Plan,
    /// The FlatBuffer that it gives; it is the file's own if the layout explains the file.
    pub flatbuffer: FlatBuffer,
}

/// Alignments that are tried, the exporter's default first.
const SEGMENT_ALIGNMENTS: &[u64] =
    &[128, 4096, 16384, 16, 1, 2, 4, 8, 32, 64, 256, 512, 1024, 2048, 8192, 32768, 65536];
const TENSOR_ALIGNMENTS: &[u64] = &[16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8, 4, 2, 1, 8192, 16384, 32768, 65536];

/// Finds the layout of a program; gives its named data their alignments. `None` if the program is of a kind that cannot
/// be laid out again.
///
/// # Errors
/// A file that cannot be read.
pub fn guess(found: &mut Found) -> io::Result<Option<Guess>> {
    let mut options = Options::default();
    let payloads = || found.program.plans().iter().flat_map(|plan| plan.delegates());
    let mut filled = payloads().filter(|delegate| found.program.blob(delegate.processed).len > 0).peekable();
    if filled.peek().is_some() && filled.all(|delegate| delegate.inline == Some(true)) {
        options.delegates = Home::Inline;
    }
    if found.inline_constants {
        options.constants = Home::Inline;
    }
    if let Some(header) = found.header
        && header.length != 32
    {
        options.header = Header::Length(header.length);
    }
    let same = dedup::find(&found.program.blobs).map_err(|(_, error)| error)?;
    let Some(mut plan) = guess_alignments(found, &same, &mut options) else { return Ok(None) };
    plan.memory = found.program.plans().iter().map(MemoryPlan::stated).collect();
    let flatbuffer = guess_builder(found, &plan, &mut options)?;
    guess_frame(found, flatbuffer.len() as u64, &mut options);
    Ok(Some(Guess { options, plan, flatbuffer }))
}

/// Tries pairs of alignments; what none explains gets the exporter's.
fn guess_alignments(found: &mut Found, same: &[BlobId], options: &mut Options) -> Option<Plan> {
    for segment_alignment in SEGMENT_ALIGNMENTS {
        options.segment_alignment = *segment_alignment;
        let alignments = alignments_of(&found.named_segments, &found.segments, *segment_alignment);
        set_alignments(&mut found.program, &alignments);
        for tensor_alignment in TENSOR_ALIGNMENTS {
            options.tensor_alignment = *tensor_alignment;
            // Memory has no say in where data lie, and this is asked for every pair of alignments.
            if let Ok(plan) = layout::place_data(&found.program, same, options, Vec::new())
                && explains(found, &plan, options)
            {
                return Some(plan);
            }
        }
    }
    let Options { segment_alignment, tensor_alignment, .. } = Options::default();
    (options.segment_alignment, options.tensor_alignment) = (segment_alignment, tensor_alignment);
    set_alignments(&mut found.program, &alignments_of(&found.named_segments, &found.segments, segment_alignment));
    layout::place_data(&found.program, same, options, Vec::new()).ok()
}

/// Gives the named data of a program their alignments.
fn set_alignments(program: &mut Program, alignments: &[u64]) {
    for (entry, alignment) in program.named_data.iter_mut().flatten().zip(alignments) {
        entry.alignment = *alignment;
    }
}

/// Whether a layout gives the segments and constants the offsets that they have.
fn explains(found: &Found, plan: &Plan, options: &Options) -> bool {
    let constants = options.constants == Home::Inline || plan.constant_offsets == found.constant_offsets;
    let base = found.header.is_none_or(|header| {
        let all = plan
            .segments
            .iter()
            .try_fold(options.segment_alignment, |all, segment| layout::lcm(all, segment.alignment));
        let bases = [all, Some(options.segment_alignment)].map(|alignment| align_up(header.program_size, alignment?));
        bases.contains(&Some(header.segment_base_offset))
    });
    base && constants
        && plan.segments.iter().map(|segment| (segment.offset, segment.size)).eq(found.segments.iter().copied())
}

/// For each entry the least power of two that puts its segment where it is.
fn alignments_of(entries: &[u32], segments: &[(u64, u64)], segment_alignment: u64) -> Vec<u64> {
    let mut alignments = Vec::new();
    for index in entries {
        let index = *index as usize;
        let end =
            index.checked_sub(1).and_then(|before| segments.get(before)).map_or(0, |(offset, size)| offset + size);
        let offset = segments.get(index).map_or(0, |(offset, _)| *offset);
        let asked = (0..=20).map(|power| 1u64 << power).filter(|alignment| *alignment > segment_alignment);
        let fits = |alignment: u64| align_up(end, alignment.max(segment_alignment)) == Some(offset);
        let needed = if fits(1) { Some(1) } else { asked.into_iter().find(|alignment| fits(*alignment)) };
        alignments.push(needed.unwrap_or(1));
    }
    alignments
}

/// Tries both orders; returns the FlatBuffer of the one that gives the file's, else of the first.
fn guess_builder(found: &Found, plan: &Plan, options: &mut Options) -> io::Result<FlatBuffer> {
    let file = &found.metadata;
    // What lies inside the FlatBuffer shows its alignment there.
    let inline = !plan.inline_delegates.is_empty() || plan.constant_buffer.len() > 1;
    let forced = if inline { TENSOR_ALIGNMENTS } else { &TENSOR_ALIGNMENTS[..1] };
    let tensor = if options.constants == Home::Inline { forced } else { &[options.tensor_alignment] };
    let mut first = None;
    for (delegate_alignment, tensor_alignment) in forced.iter().flat_map(|d| tensor.iter().map(move |t| (*d, *t))) {
        for builder in [Builder::Exir, Builder::Flatc] {
            let candidate = Options { builder, delegate_alignment, tensor_alignment, ..options.clone() };
            let flatbuffer = emitter::program::emit(&found.program, plan, &candidate)?;
            // Behind the first eight bytes and the header the FlatBuffer is the same bytes.
            if file.len() >= flatbuffer.len() && file.ends_with(flatbuffer.get(8..).unwrap_or_default()) {
                *options = candidate;
                return Ok(flatbuffer);
            }
            first.get_or_insert(flatbuffer);
        }
    }
    Ok(first.expect("there is an alignment, and an order, to try"))
}

/// Header padding and the first segment's place, which follow from alignments that nothing else shows.
fn guess_frame(found: &Found, flatbuffer: u64, options: &mut Options) {
    let Some(header) = found.header else {
        if found.segments.iter().any(|(_, size)| *size > 0) {
            options.header = Header::None;
        }
        return;
    };
    let padded = header.program_size.saturating_sub(flatbuffer);
    if padded > 32 && padded.is_power_of_two() && padded > options.tensor_alignment {
        options.delegate_alignment = padded.min(layout::MAX_FORCED_ALIGNMENT);
    }
    let mut named = found.program.named_data.iter().flatten();
    if named.any(|entry| entry.alignment > options.segment_alignment) {
        let exporters = align_up(header.program_size, options.segment_alignment);
        if exporters == Some(header.segment_base_offset) {
            options.base_alignment = Some(options.segment_alignment);
        }
    }
    let empty = found.segments.iter().all(|(_, size)| *size == 0);
    if empty && header.length >= 32 {
        options.header = Header::Length(32);
    }
}

/// Layouts that may explain a `.ptd`, each with the alignments of its entries.
///
/// # Errors
/// A file that cannot be read.
pub fn flat_tensor_candidates(origin: &Origin, entries: &[Entry]) -> io::Result<Vec<(Options, Vec<u64>)>> {
    let frame = flat_tensor::frame(origin)?;
    let mut candidates = Vec::new();
    for segment_alignment in SEGMENT_ALIGNMENTS {
        let alignments = alignments_of(&frame.entry_segments, &frame.segments, *segment_alignment);
        let all = alignments.iter().try_fold(*segment_alignment, |all, alignment| layout::lcm(all, *alignment));
        for base_alignment in [None, Some(*segment_alignment)] {
            let base = base_alignment.or(all).and_then(|alignment| align_up(frame.metadata, alignment));
            if base != Some(frame.base) {
                continue;
            }
            for ptd_builder in [Builder::Flatc, Builder::Exir] {
                let segment_alignment = *segment_alignment;
                let options = Options { segment_alignment, base_alignment, ptd_builder, ..Options::default() };
                candidates.push((options, alignments.clone()));
            }
        }
    }
    debug_assert!(candidates.iter().all(|(_, alignments)| alignments.len() == entries.len()));
    Ok(candidates)
}

/// A program with the layout it was found in, as far as one explains it.
///
/// # Errors
/// A file that cannot be read, or is no program.
pub fn program_with_layout(origin: &Origin) -> io::Result<(Program, Options)> {
    let mut found = program::read(origin)?;
    let options = guess(&mut found)?.map(|guess| guess.options).unwrap_or_default();
    Ok((found.program, options))
}

/// The content of a `.ptd` with the layout it was found in, as far as one explains it.
///
/// # Errors
/// A file that cannot be read, or is no `.ptd`.
pub fn flat_tensor_program(origin: &Origin) -> io::Result<(Program, Options)> {
    let entries = flat_tensor::read(origin)?;
    let (options, alignments) = flat_tensor_candidates(origin, &entries)?
        .into_iter()
        .next()
        .unwrap_or_else(|| (Options::default(), vec![1; entries.len()]));
    let mut program = Program::default();
    for (entry, alignment) in entries.into_iter().zip(alignments) {
        let Entry { key, data, tensor_layout } = entry;
        let data = program.add_blob(data);
        program.external_data.push(ExternalData { key, tag: None, data, alignment, tensor_layout });
    }
    Ok((program, options))
}
