//! Payloads of XNNPACK delegates: a header, a graph (a FlatBuffer) and constants.
//!
//! [`schema`] has the tables of the graph, [`model`] the graph as plain data, which [`decode`] and [`encode`] convert
//! from and to bytes. `describe` counts the parts of a payload. [`draft`] is a graph without the properties that follow
//! from rules. [`sizes`] has the sizes that operations write, [`draft_sizes`] applies it to drafts, [`resize`] to a
//! graph whose inputs get other sizes. [`constants`] has the constants with the values that read them, [`parts`] what a
//! release may not accept. Nothing here depends on YAML, and only [`arguments`] and [`payloads`] on a program.
//!
//! [`FORMATS`] recognises the payloads of all backends: this is the lowest crate that knows all formats.

pub mod arguments;
pub mod check;
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

use std::collections::HashSet;

use pte_model::data::{Blob, BlobId};
use pte_model::program::Program;
pub use pte_payload;
use pte_payload::description::{DescribeError, Facts};
use pte_payload::memory::{DelegateMemory, Processor};
use pte_payload::{Formats, PayloadFormat};

/// Compiles and runs the Rust block of README.md.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

/// The payload formats of all backends.
pub static FORMATS: Formats = Formats(&[&[&Xnnpack], pte_payload::FORMATS]);

/// Name of the backend in a program.
pub const BACKEND: &str = "XnnpackBackend";

/// Name of the format.
pub const NAME: &str = "XNNPACK";

/// Returns the payloads of the XNNPACK delegates of a program, each once, in order. Payloads that share bytes are left
/// out as soon as their total size exceeds `left` bytes: they could otherwise be read once per delegate.
pub fn payloads(program: &Program, mut left: u64) -> impl Iterator<Item = (BlobId, &Blob)> {
    let mut seen = HashSet::new();
    let delegates = program.plans().iter().flat_map(|plan| plan.delegates());
    let own = delegates.filter(|delegate| delegate.id.as_deref() == Some(BACKEND)).map(|delegate| delegate.processed);
    own.filter(move |payload| seen.insert(*payload)).filter_map(move |payload| {
        let blob = program.blob(payload);
        left = left.checked_sub(blob.len())?;
        Some((payload, blob))
    })
}

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

#[cfg(test)]
mod tests;
