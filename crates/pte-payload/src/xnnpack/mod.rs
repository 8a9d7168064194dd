//! Payloads of XNNPACK delegates: a header, a graph (a FlatBuffer) and constants.
//!
//! [`schema`] has the tables of the graph, [`model`] the graph as plain data, which [`decode`] and [`encode`] convert from and to bytes.
//! `describe` counts the parts of a payload.
//! [`draft`] is a graph without the properties that follow from rules. [`sizes`] has the sizes that
//! operations write, [`draft_sizes`] applies it to drafts, [`resize`] to a graph whose inputs get other sizes. [`constants`] has the constants with
//! the values that read them, [`parts`] what a release may not
//! accept. Nothing here depends on YAML, and only [`arguments`] on a program.

pub mod arguments;
pub mod constants;
pub mod decode;
mod describe;
pub mod draft;
pub mod draft_sizes;
pub mod encode;
mod memory;
pub mod model;
pub mod parameters;
pub mod parts;
pub mod resize;
pub mod schema;
pub mod sizes;

use std::io;

use super::description::{DescribeError, Facts};
use super::format::{GraphFormat, PayloadFormat};
use super::memory::{DelegateMemory, Processor};
use draft::Draft;
use pte_model::data::Blob;

/// Name of the backend in a program.
pub const BACKEND: &str = "XnnpackBackend";

/// Name of the format.
pub const NAME: &str = "XNNPACK";

/// The payloads of the XNNPACK backend.
#[derive(Debug)]
pub struct Xnnpack;

impl PayloadFormat for Xnnpack {
    fn name(&self) -> &'static str {
        NAME
    }

    fn backends(&self) -> &'static [&'static str] {
        &[BACKEND]
    }

    fn has_magic(&self, head: &[u8]) -> bool {
        let is = |magic: &[u8]| head.get(4..8) == Some(magic);
        is(schema::MAGIC) || schema::IDENTIFIERS.iter().any(|identifier| is(identifier.as_bytes()))
    }

    fn describe(&self, payload: &Blob) -> Result<Facts, DescribeError> {
        describe::describe(payload)
    }

    fn memory(&self, payload: &Blob, processor: Processor) -> Option<Result<DelegateMemory, DescribeError>> {
        Some(memory::memory(payload, processor))
    }
}

impl GraphFormat for Xnnpack {
    type Graph = Draft;

    fn decode(&self, payload: &Blob) -> Result<Draft, String> {
        read(payload)
    }

    fn encode(&self, draft: &Draft) -> io::Result<Blob> {
        encode::encode(&draft.complete())
    }
}

/// Returns the draft of a payload that reproduces it byte for byte.
///
/// # Errors
/// Description of a part that a draft cannot express.
fn read(payload: &Blob) -> Result<Draft, String> {
    let graph = decode::decode(payload).map_err(|error| error.to_string())?;
    let draft = Draft::of(&graph)?;
    let encoded = encode::encode(&graph).map_err(|error| error.to_string())?;
    // Constants after the graph are not changed. The bytes between them must be zeros.
    let head = encoded.len().saturating_sub(graph.constants_len);
    let is_same = encoded.len() == payload.len() && payload.len() >= head && {
        let bytes = |blob| Blob::contents(blob, 0, head as usize).map_err(|error| error.to_string());
        bytes(&encoded)? == bytes(payload)?
    };
    match is_same {
        true => Ok(draft),
        false => Err("the exporter's serializer writes this graph in another way".to_owned()),
    }
}

#[cfg(test)]
mod tests;
