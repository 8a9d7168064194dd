//! Compares two files: header, segments, placement of constants, and bytes that no other difference explains. YAML has
//! no file, and is not compared here.

use std::io;

use super::align::merged;
use super::bytes::{self, BlobPair};
use super::difference::{DiffArea, DiffTopic, Differences, DifferingPart};
use super::side::Side;
use pte_model::data::{Blob, BlobSource, Origin};
use pte_model::diagnostics::counted;

const AREA: DiffArea = DiffArea::Layout;
const TOPIC: DiffTopic = DiffTopic::File;

/// Compares two files without reading their data.
pub fn compare(sides: [&Side; 2], found: &mut Differences) {
    let versions = sides.map(|side| Some(side.program.version.to_string()));
    found.compared(AREA, TOPIC, ["version"; 2], versions);
    // Between a program and a file of weights, the methods of the program are reported.
    if sides.iter().all(|side| side.program.plans().is_empty()) {
        let presence = sides.map(|side| side.program.execution_plan.as_ref().map(|_| "present".to_owned()));
        found.compared(DiffArea::Meaning, DiffTopic::Method, ["methods"; 2], presence);
    }
    // The offsets of constants may have no segment. The path of the program is empty.
    let missing = sides.map(|side| side.missing("").map(str::to_owned));
    found.compared(AREA, TOPIC, ["constant_segment"; 2], missing);
    let [Some(left), Some(right)] = [&sides[0].file, &sides[1].file] else { return };
    for (path, values) in merged([left.facts.clone(), right.facts.clone()]) {
        found.compared(AREA, TOPIC, [path.as_str(); 2], values);
    }
    let segments = [&left.segments, &right.segments];
    for index in 0..segments[0].len().max(segments[1].len()) {
        let text = |segments: &Vec<(u64, u64)>| {
            let (offset, size) = segments.get(index)?;
            Some(format!("{} at offset {offset}", counted(*size, "byte")))
        };
        let path = format!("segments[{index}]");
        found.compared(AREA, TOPIC, [&path; 2], segments.map(text));
    }
    compare_offsets([&left.constant_offsets, &right.constant_offsets], found);
    compare_inline(sides, found);
}

/// Compares the offsets of constants in their segment, and reports one difference for all.
fn compare_offsets(offsets: [&[u64]; 2], found: &mut Differences) {
    let [left, right] = offsets;
    if left == right {
        return;
    }
    let differing = left.iter().zip(right).filter(|(l, r)| l != r).count() + left.len().abs_diff(right.len());
    let first = left.iter().zip(right).position(|(l, r)| l != r).unwrap_or(left.len().min(right.len()));
    let part = |offsets: &[u64]| {
        let at = offsets.get(first).map_or("none".to_owned(), u64::to_string);
        let text = format!("[{first}]: {at}; {} in all", counted(differing as u64, "different offset"));
        DifferingPart::new("constant_segment.offsets", text)
    };
    found.changed(AREA, TOPIC, offsets.map(part));
}

/// Compares the number of payloads inside the FlatBuffer.
fn compare_inline(sides: [&Side; 2], found: &mut Differences) {
    let texts = sides.map(|side| {
        let delegates = side.program.plans().iter().flat_map(|plan| plan.delegates());
        let inline = delegates.filter(|delegate| delegate.inline == Some(true)).count();
        Some(format!("{} inside the FlatBuffer", counted(inline as u64, "payload")))
    });
    found.compared(AREA, TOPIC, ["backend_delegate_data"; 2], texts);
}

/// Compares the bytes of two files of the same size that no pair of `covered` contains, if nothing else differs: the
/// same content can have different encodings. With `metadata_only`, data are not read.
///
/// # Errors
/// Data that cannot be read.
pub fn compare_rest(
    sides: [&Side; 2],
    covered: &[[Blob; 2]],
    metadata_only: bool,
    found: &mut Differences,
) -> io::Result<()> {
    let [Some(left), Some(right)] = [&sides[0].origin, &sides[1].origin] else { return Ok(()) };
    // If an area is not compared, the bytes that it explains are not known.
    if found.areas.len() < DiffArea::ALL.len() || !found.is_empty() || sides[0].size != sides[1].size {
        return Ok(());
    }
    let end = if metadata_only { sides[0].metadata.min(sides[0].size) } else { sides[0].size };
    let mut ranges: Vec<(u64, u64)> = covered.iter().filter_map(|pair| same_range([left, right], pair)).collect();
    ranges.sort_unstable();
    let (mut at, mut gaps) = (0, Vec::new());
    for (start, range_end) in ranges.into_iter().chain([(end, end)]) {
        let start = start.min(end);
        if start > at {
            gaps.push((at, start - at));
        }
        at = at.max(range_end);
    }
    let blob = |origin: &Origin, (offset, len): (u64, u64)| {
        origin.blob(offset, len, sides[0].size).ok_or_else(|| io::Error::from(io::ErrorKind::UnexpectedEof))
    };
    let blobs = gaps.iter().map(|gap| Ok([blob(left, *gap)?, blob(right, *gap)?])).collect::<io::Result<Vec<_>>>()?;
    let pairs: Vec<BlobPair<'_>> = blobs.iter().map(|[l, r]| BlobPair { blobs: [l, r], scalar_type: None }).collect();
    let results = bytes::compare(&pairs, false)?;
    let differing: u64 = results.iter().flatten().map(|difference| difference.differing).sum();
    if let Some(first) = results.iter().position(Option::is_some) {
        let [left, right] = &blobs[first];
        let at = gaps[first].0 + left.first_difference(right)?.unwrap_or(0);
        let text =
            format!("{} that no other difference explains, the first at offset {at}", counted(differing, "byte"));
        found.differing(AREA, TOPIC, ["bytes"; 2], [Some(text.clone()), Some(text)]);
    }
    Ok(())
}

/// Returns start and end of the range of two blobs in their files; `None` if the ranges differ.
fn same_range(origins: [&Origin; 2], blobs: &[Blob; 2]) -> Option<(u64, u64)> {
    let BlobSource::File { offset, .. } = &blobs[0].source else { return None };
    let is_range = origins.iter().zip(blobs).all(|(origin, blob)| origin.is_range(blob, *offset));
    (is_range && blobs[0].len() == blobs[1].len()).then(|| (*offset, offset.saturating_add(blobs[0].len())))
}
