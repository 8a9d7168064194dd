//! Checks the constants of a graph, in the payload or in named data: their sizes, and the numbers of scales, of which
//! XNNPACK refuses some, whether they are in the graph or in a constant.

use std::io;

use super::{CheckedGraph, ConstantScales, SCALE, is_scale};
use crate::decode::ReadGraph;
use crate::model::{Constant, Graph};
use pte_model::data::Blob;
use pte_model::diagnostics::counted;
use pte_payload::decoded::{KeyedData, PayloadFinding, PayloadPart, PayloadRule, ReadBudget};

/// Size in bytes of the parts in which scales are read.
const PART: u64 = 1 << 16;

impl CheckedGraph {
    /// Returns the first constant that is missing or too small, otherwise the first scales that XNNPACK refuses.
    /// `named` returns the named data with a key.
    pub fn data_finding<'p>(
        &self,
        read: &ReadGraph,
        named: &dyn Fn(&str) -> Option<KeyedData<'p>>,
        budget: &mut ReadBudget,
    ) -> Option<PayloadFinding> {
        let pairs = self.uses.iter().zip(&read.graph.constants);
        let constant = pairs.into_iter().find_map(|(used, constant)| {
            let found = defect(constant, used.needed, read, named)?;
            let part = used.user.map_or(PayloadPart::Whole, PayloadPart::Value);
            let expected = format!("at least {}", counted(used.needed, "byte"));
            Some(PayloadFinding { rule: PayloadRule::Constants, part, found, expected })
        });
        constant.or_else(|| self.scales.iter().find_map(|scales| scales_finding(scales, &read.graph, named, budget)))
    }
}

/// Returns the defect of a constant of which `needed` bytes are read.
fn defect<'p>(
    constant: &Constant,
    needed: u64,
    read: &ReadGraph,
    named: &dyn Fn(&str) -> Option<KeyedData<'p>>,
) -> Option<String> {
    let Some(key) = &constant.key else {
        let size = counted(constant.size, "byte");
        if needed > constant.size {
            return Some(format!("a constant of {size}"));
        }
        // Those in the graph are inside.
        let (_, len) = read.sections.constants?;
        let is_inside = constant.offset.checked_add(constant.size).is_some_and(|end| end <= len);
        return (needed > 0 && !is_inside).then(|| {
            format!("a constant of {size} at offset {} in {} of constants", constant.offset, counted(len, "byte"))
        });
    };
    // The entry that means no constant has an empty key.
    if key.is_empty() && needed == 0 {
        return None;
    }
    match named(key) {
        Some(KeyedData { size, .. }) => (size < needed).then(|| format!("data `{key}` of {}", counted(size, "byte"))),
        None => Some(format!("data `{key}`, neither in the program nor in a given .ptd")),
    }
}

/// Returns a finding about scales in a constant, which is as large as the graph needs.
fn scales_finding<'p>(
    scales: &ConstantScales,
    graph: &Graph,
    named: &dyn Fn(&str) -> Option<KeyedData<'p>>,
    ReadBudget(left): &mut ReadBudget,
) -> Option<PayloadFinding> {
    let finding = |found: String, expected: &str| {
        let (rule, part) = (PayloadRule::Quantization, PayloadPart::Value(scales.value));
        Some(PayloadFinding { rule, part, found, expected: expected.to_owned() })
    };
    let Some(rest) = left.checked_sub(scales.count * scales.width) else {
        return finding("scales in constants that overlap too many others".to_owned(), "disjoint constants");
    };
    *left = rest;
    let constant = graph.constants.get(scales.constant)?;
    let data = match &constant.key {
        // A `.ptd` whose segment is outside of the file is another finding.
        Some(key) => named(key)?.data?,
        None => &constant.data,
    };
    match first_wrong(scales, data) {
        Ok(wrong) => {
            wrong.and_then(|(index, scale)| finding(format!("scale {scale:e} of channel or group {index}"), SCALE))
        }
        Err(error) => finding(format!("unreadable data: {error}"), "readable data"),
    }
}

/// Returns index and number of the first scale that XNNPACK refuses.
fn first_wrong(scales: &ConstantScales, data: &Blob) -> io::Result<Option<(u64, f32)>> {
    let len = scales.count * scales.width;
    let mut at = 0;
    while at < len {
        let part = data.read_at(at, (len - at).min(PART) as usize)?;
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
        2 => Box::new(
            bytes.as_chunks::<2>().0.iter().map(|scale| f32::from_bits(u32::from(u16::from_le_bytes(*scale)) << 16)),
        ),
        _ => Box::new(bytes.as_chunks::<4>().0.iter().map(|scale| f32::from_le_bytes(*scale))),
    };
    (first..).zip(found).find(|(_, scale)| !is_scale(*scale))
}
