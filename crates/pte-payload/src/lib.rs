//! Formats of delegate payloads. Each has a module that implements the trait [`PayloadFormat`],
//! and a row of [`FORMATS`]. XNNPACK, whose graphs are also changed and written, is the crate `pte-xnnpack`,
//! which has the [`Formats`] of all backends. [`decoded`] has what is asked of a payload whose format is decoded.
//!
//! This crate depends neither on YAML nor on programs: it compares arguments with their tensors, and reads no methods.

// Types of it are arguments and results.
pub use pte_model;

/// Compiles and runs the Rust block of README.md.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

pub mod arguments;
pub mod coreml;
pub mod decoded;
pub mod description;
pub mod ethos_u;
pub mod flat;
pub mod format;
pub mod generic;
pub mod header;
pub mod memory;
pub mod mlx;
pub mod mps;
pub mod qnn;
pub mod signature;
pub mod tosa;
pub mod vulkan;

pub use format::{Formats, HEAD, Payload, PayloadFormat};

/// The formats of this crate: all but XNNPACK's.
pub const FORMATS: &[&dyn PayloadFormat] =
    &[&vulkan::Vulkan, &ethos_u::EthosU, &qnn::Qnn, &coreml::CoreMl, &mps::Mps, &mlx::Mlx, &tosa::Tosa];

#[cfg(test)]
mod tests {
    use super::*;

    /// A payload of 4 GiB whose metadata are at the start: only those are read.
    #[test]
    fn large_payloads_are_not_loaded() {
        use pte_model::data::{Blob, BlobSource};
        let head = [&qnn_magic()[..], &[0; 8], &(4u64 << 30).to_le_bytes(), &[0; 236]].concat();
        let large = Blob::joined([Blob::bytes(head), Blob::new(4 << 30, BlobSource::Repeat([7].into()))]).unwrap();
        let description = Formats(&[FORMATS]).describe("QnnBackend", &large).unwrap();
        assert_eq!((description.size, description.problem), ((4 << 30) + 256, None));
    }

    fn qnn_magic() -> [u8; 4] {
        [0xcd, 0xab, 0x78, 0x56]
    }
}
