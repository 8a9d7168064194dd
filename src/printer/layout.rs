//! Which layout a file was written with: candidates are tried until one gives every offset back.
//!
//! What no candidate explains is left to the comparison of the result with the file, which says what differs.

use std::fmt::Write;
use std::io;

use crate::Assembly;
use crate::emitter;
use crate::layout::file::Placement;
use crate::layout::{self, Builder, Header, Home, Options, align_up};
use crate::program::{BlobId, Program, dedup};
use crate::reader::flat_tensor::Entry;
use crate::reader::program::Found;
use crate::reader::{self, Origin};

/// A layout that explains a file, as far as one was found.
pub struct LayoutGuess {
    /// The layout.
    pub options: Options,
    /// For each entry of `named_data` the alignment that explains its place; 1 if none is needed.
    pub named_alignments: Vec<u64>,
}

/// Alignments that are tried, the exporter's default first.
const SEGMENT_ALIGNMENTS: &[u64] =
    &[128, 4096, 16384, 16, 1, 2, 4, 8, 32, 64, 256, 512, 1024, 2048, 8192, 32768, 65536];
const TENSOR_ALIGNMENTS: &[u64] = &[16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8, 4, 2, 1, 8192, 16384, 32768, 65536];

/// Finds the layout of a program.
///
/// # Errors
/// A file that cannot be read.
pub fn guess(origin: &Origin, found: &Found) -> io::Result<LayoutGuess> {
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
        && header.length < 32
    {
        options.header = Header::Length(header.length);
    }
    let mut program = found.program.clone();
    let same = dedup::find(&found.program.blobs).map_err(|(_, error)| error)?;
    let mut named_alignments = Vec::new();
    let explained = SEGMENT_ALIGNMENTS.iter().any(|segment_alignment| {
        options.segment_alignment = *segment_alignment;
        named_alignments = alignments_of(&found.named_segments, &found.segments, *segment_alignment);
        set_alignments(&mut program, &named_alignments);
        TENSOR_ALIGNMENTS.iter().any(|tensor_alignment| {
            options.tensor_alignment = *tensor_alignment;
            explains(found, &program, &same, &options)
        })
    });
    if !explained {
        options = Options { segment_alignment: 128, tensor_alignment: 16, ..options };
    }
    let flatbuffer = guess_builder(origin, found, &program, &same, &mut options)?;
    guess_frame(found, flatbuffer, &mut options, &named_alignments);
    Ok(LayoutGuess { options, named_alignments })
}

/// Gives the named data of a program their alignments.
pub fn set_alignments(program: &mut Program, alignments: &[u64]) {
    for (entry, alignment) in program.named_data.iter_mut().flatten().zip(alignments) {
        entry.alignment = *alignment;
    }
}

/// Whether a layout gives the segments and constants the offsets that they have.
fn explains(found: &Found, program: &Program, same: &[BlobId], options: &Options) -> bool {
    // Memory has no say in where data lie, and this is asked for every pair of alignments.
    let Ok(plan) = layout::place_data(program, same, options, Vec::new()) else { return false };
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

/// Tries both orders; returns the length of the FlatBuffer.
fn guess_builder(
    origin: &Origin,
    found: &Found,
    program: &Program,
    same: &[BlobId],
    options: &mut Options,
) -> io::Result<u64> {
    let Ok(plan) = layout::plan(program, same, options) else { return Ok(0) };
    let file = origin.head(found.program_size)?;
    // What lies inside the FlatBuffer shows its alignment there.
    let inline = !plan.inline_delegates.is_empty() || plan.constant_buffer.len() > 1;
    let forced = if inline { TENSOR_ALIGNMENTS } else { &TENSOR_ALIGNMENTS[..1] };
    let tensor = if options.constants == Home::Inline { forced } else { &[options.tensor_alignment] };
    let mut first = None;
    for (delegate_alignment, tensor_alignment) in forced.iter().flat_map(|d| tensor.iter().map(move |t| (*d, *t))) {
        for builder in [Builder::Exir, Builder::Flatc] {
            let candidate = Options { builder, delegate_alignment, tensor_alignment, ..options.clone() };
            let flatbuffer = emitter::program::emit(program, &plan, &candidate)?;
            // Behind the first eight bytes and the header the FlatBuffer is the same bytes.
            if file.len() >= flatbuffer.len() && file.ends_with(flatbuffer.get(8..).unwrap_or_default()) {
                *options = candidate;
                return Ok(flatbuffer.len() as u64);
            }
            first.get_or_insert(flatbuffer.len() as u64);
        }
    }
    Ok(first.unwrap_or(0))
}

/// Header padding and the first segment's place, which follow from alignments that nothing else shows.
fn guess_frame(found: &Found, flatbuffer: u64, options: &mut Options, alignments: &[u64]) {
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
    if alignments.iter().any(|alignment| *alignment > options.segment_alignment) {
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

/// The lines of `layout:`, if any are needed.
pub fn print(o: &Options, out: &mut String) {
    let default = Options::default();
    let mut lines = String::new();
    let mut number = |name: &str, value: u64, default: u64| {
        if value != default {
            let _ = writeln!(lines, "  {name}: {value}");
        }
    };
    number("segment_alignment", o.segment_alignment, default.segment_alignment);
    number("tensor_alignment", o.tensor_alignment, default.tensor_alignment);
    number("delegate_alignment", o.delegate_alignment, default.delegate_alignment);
    number("base_alignment", o.base_alignment.unwrap_or(0), 0);
    let mut word = |name: &str, value: &str, different: bool| {
        if different {
            let _ = writeln!(lines, "  {name}: {value}");
        }
    };
    word("builder", "flatc", o.builder != default.builder);
    word("ptd_builder", "exir", o.ptd_builder != default.ptd_builder);
    word("constants", "inline", o.constants != default.constants);
    word("delegates", "inline", o.delegates != default.delegates);
    match o.header {
        Header::Auto => {}
        Header::None => word("header", "none", true),
        Header::Length(length) => word("header", &length.to_string(), true),
    }
    if !lines.is_empty() {
        out.push_str("layout:\n");
        out.push_str(&lines);
    }
}

/// What of an assembled program is not as in the file, if anything is.
///
/// # Errors
/// A file that cannot be read.
pub fn difference(origin: &Origin, found: &Found, assembly: &Assembly) -> io::Result<Option<String>> {
    let Some(file) = assembly.program_file() else { return Ok(Some("it has no methods".into())) };
    compare(origin, &file, &found.segments)
}

fn compare(origin: &Origin, file: &emitter::File<'_>, segments: &[(u64, u64)]) -> io::Result<Option<String>> {
    let Placement { program_size, file_size, segment_base_offset, .. } = *file.placement;
    let head = origin.head(program_size)?;
    let mut made = Vec::with_capacity(program_size as usize);
    file.write_flatbuffer(&mut made)?;
    if let Some(at) = (0..head.len().max(made.len())).find(|at| head.get(*at) != made.get(*at)) {
        return Ok(Some(format!("the program differs from byte {at:#x} on")));
    }
    let length = origin.len()?;
    if length != file_size {
        return Ok(Some(format!("the file has {length} bytes, the text makes {file_size}")));
    }
    if !file.segments.iter().map(|segment| (segment.offset, segment.size)).eq(segments.iter().copied()) {
        return Ok(Some("the segments lie elsewhere".into()));
    }
    // Data are taken from the file itself or were compared when they were written out; what is between them is not.
    let mut covered: Vec<(u64, u64)> = vec![(0, program_size)];
    for segment in file.segments {
        for piece in &segment.pieces {
            let start = segment_base_offset + segment.offset + piece.offset;
            let blob = &file.blobs[piece.blob.0 as usize];
            covered.push((start, start + blob.len));
            if !origin.is_range(blob, start) && blob.to_vec()? != origin.range(start, blob.len)? {
                return Ok(Some(format!("the data at byte {start:#x} differ")));
            }
        }
    }
    covered.sort_unstable();
    let mut end = 0;
    for (start, stop) in covered {
        if start > end && origin.range(end, start - end)?.iter().any(|byte| *byte != 0) {
            return Ok(Some(format!("the padding from byte {end:#x} on is not zero")));
        }
        end = end.max(stop);
    }
    if end < length && origin.range(end, length - end)?.iter().any(|byte| *byte != 0) {
        return Ok(Some(format!("there are bytes from {end:#x} on that belong to nothing")));
    }
    Ok(None)
}

/// Layouts that may explain a `.ptd`, each with the alignments of its entries.
///
/// # Errors
/// A file that cannot be read.
pub fn flat_tensor_candidates(origin: &Origin, entries: &[Entry]) -> io::Result<Vec<(Options, Vec<u64>)>> {
    let frame = reader::flat_tensor::frame(origin)?;
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

/// What of an assembled `.ptd` is not as in the file, if anything is.
///
/// # Errors
/// A file that cannot be read.
pub fn flat_tensor_difference(origin: &Origin, assembly: &Assembly) -> io::Result<Option<String>> {
    let segments = reader::flat_tensor::frame(origin)?.segments;
    match assembly.data_files().next() {
        Some((_, file)) => compare(origin, &file, &segments),
        None => Ok(Some("it has no keys".into())),
    }
}
