//! Checks scales that are constants (`D-15`): XNNPACK refuses some numbers, whether they are in the graph or in a constant.

use std::io;

use super::graph::{ConstantScales, Graph, SCALE, is_scale};
use super::payload::{GraphData, Payload};
use pte_model::data::Blob;

/// Maximum number of bytes of scales to read, as a multiple of the size of the file. Constants may overlap.
const MAX_READ_FACTOR: u64 = 8;

/// Size in bytes of the parts in which scales are read.
const PART: u64 = 1 << 16;

/// Reader of the scales of all payloads of a file.
pub(super) struct ScaleReader {
    /// Bytes that may still be read.
    left: u64,
}

impl ScaleReader {
    /// Creates a reader for a file of `len` bytes.
    pub(super) fn new(len: u64) -> ScaleReader {
        ScaleReader { left: len.saturating_mul(MAX_READ_FACTOR) }
    }

    /// Returns the value with the first scales that XNNPACK rejects, the number found, and the expectation. The constants of the graph are as
    /// large as it needs.
    pub(super) fn defect(
        &mut self,
        blob: &Blob,
        graph: &Graph,
        payload: &Payload,
        data: &GraphData<'_>,
    ) -> Option<(usize, String, String)> {
        graph.scales.iter().find_map(|scales| {
            let bytes = scales.count * scales.width;
            let Some(left) = self.left.checked_sub(bytes) else {
                let found = "scales in constants that overlap too many others".to_owned();
                return Some((scales.value, found, "disjoint constants".to_owned()));
            };
            self.left = left;
            match first_wrong(scales, blob, graph, payload, data) {
                Ok(None) => None,
                Ok(Some((index, scale))) => {
                    Some((scales.value, format!("scale {scale:e} of channel or group {index}"), SCALE.to_owned()))
                }
                Err(error) => Some((scales.value, format!("unreadable data: {error}"), "readable data".to_owned())),
            }
        })
    }
}

/// Returns index and number of the first scale that XNNPACK refuses.
fn first_wrong(
    scales: &ConstantScales,
    blob: &Blob,
    graph: &Graph,
    payload: &Payload,
    data: &GraphData<'_>,
) -> io::Result<Option<(u64, f32)>> {
    let Some(constant) = graph.constants.get(scales.constant) else { return Ok(None) };
    let (source, start) = match &constant.key {
        Some(key) => match data.data(key) {
            Some(named) => (named, 0),
            // A `.ptd` whose segment is outside of the file is another finding.
            None => return Ok(None),
        },
        None if payload.inside => {
            let from = &payload.graph[constant.offset as usize..];
            return Ok(wrong_in(&from[..(scales.count * scales.width) as usize], scales.width, 0));
        }
        None => (blob, payload.constants.0 + constant.offset),
    };
    let len = scales.count * scales.width;
    let mut at = 0;
    while at < len {
        let part = source.read_at(start + at, (len - at).min(PART) as usize)?;
        if let Some(wrong) = wrong_in(&part, scales.width, at / scales.width) {
            return Ok(Some(wrong));
        }
        at += part.len() as u64;
    }
    Ok(None)
}

/// Returns index and number of the first wrong scale in bytes that begin with the scale `first`.
fn wrong_in(bytes: &[u8], width: u64, first: u64) -> Option<(u64, f32)> {
    let found: Box<dyn Iterator<Item = f32>> = match width {
        2 => Box::new(bytes.as_chunks::<2>().0.iter().map(|scale| half::bf16::from_le_bytes(*scale).to_f32())),
        _ => Box::new(bytes.as_chunks::<4>().0.iter().map(|scale| f32::from_le_bytes(*scale))),
    };
    (first..).zip(found).find(|(_, scale)| !is_scale(*scale))
}
