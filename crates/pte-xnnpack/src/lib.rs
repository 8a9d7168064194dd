//! Payloads of XNNPACK delegates: a header, a graph (a FlatBuffer) and constants.
//!
//! [`schema`] has the tables of the graph, [`model`] the graph as plain data, which [`decode`] and [`encode`] convert
//! from and to bytes. `describe` counts the parts of a payload, `operations` has the constraints of operations.
//! [`draft`] is a graph without the properties that follow from rules. [`sizes`] has the sizes that operations write,
//! [`draft_sizes`] applies it to drafts, [`inferred`] has what else they determine, [`resize`] applies it to a graph
//! whose inputs get other sizes. `products` counts the products of operations. [`constants`] has the constants with the
//! values that read them, [`conversions`] the quantization of arguments, [`parts`] what a release may not accept.
//! [`payload`] decodes a payload once for all that ask for it, [`payloads`] those of a program.
//! Nothing here depends on YAML, and only [`payloads`] on a program.
//!
//! [`FORMATS`] recognises the payloads of all backends: this is the lowest crate that knows all formats.

pub mod arguments;
mod attributes;
pub mod check;
pub mod constants;
pub mod conversions;
pub mod decode;
mod describe;
pub mod draft;
pub mod draft_sizes;
pub mod encode;
pub mod inferred;
mod memory;
pub mod model;
mod operations;
pub mod parameters;
pub mod parts;
pub mod payload;
pub mod payloads;
mod products;
pub mod resize;
pub mod schema;
pub mod sizes;

use payload::XnnpackPayload;
use pte_model::data::Blob;
pub use pte_payload;
use pte_payload::decoded::DecodedPayload;
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
        XnnpackPayload::new(payload.clone()).describe()
    }

    fn memory(&self, payload: &Blob, processor: Processor) -> Option<Result<DelegateMemory, DescribeError>> {
        XnnpackPayload::new(payload.clone()).memory(processor)
    }

    fn decoded(&self, payload: &Blob) -> Option<Box<dyn DecodedPayload>> {
        Some(Box::new(XnnpackPayload::new(payload.clone())))
    }
}

#[cfg(test)]
mod tests;
