//! Formats of delegate payloads. Each has a module that implements the trait [`PayloadFormat`],
//! and a row of [`FORMATS`].
//!
//! Payloads of all formats are recognised and described. Only formats with the trait
//! [`GraphFormat`] are decoded and encoded; their graphs have nothing in common. This crate
//! depends neither on programs nor on YAML.

// Types of it are arguments and results.
pub use pte_model;

/// Compiles and runs the Rust block of README.md.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

pub mod coreml;
pub mod description;
pub mod ethos_u;
pub mod format;
pub mod generic;
pub mod header;
pub mod memory;
pub mod mlx;
pub mod mps;
pub mod qnn;
pub mod tosa;
pub mod vulkan;
pub mod xnnpack;

use std::io;

use description::{DescribeError, Description};
pub use format::{GraphFormat, HEAD, PayloadFormat};
use memory::{DelegateMemory, Processor};
use pte_model::data::Blob;

/// All formats.
pub static FORMATS: &[&dyn PayloadFormat] = &[
    &xnnpack::Xnnpack,
    &vulkan::Vulkan,
    &ethos_u::EthosU,
    &qnn::Qnn,
    &coreml::CoreMl,
    &mps::Mps,
    &mlx::Mlx,
    &tosa::Tosa,
];

/// Names of the backends of ExecuTorch 1.5.1 whose payloads have no known format.
const OTHER_BACKENDS: &[&str] = &[
    "AotiBackend",
    "BackendWithCompilerDemo",
    "CoreAIBackend",
    "CudaBackend",
    "EnnBackend",
    "ExecutorBackend",
    "MetalBackend",
    "NeuropilotBackend",
    "NeutronBackend",
    "OpenvinoBackend",
    "TensorRTBackend",
    "VgfBackend",
];

/// Returns the names of the backends of ExecuTorch 1.5.1, in alphabetical order.
pub fn backends() -> Vec<&'static str> {
    let of_formats = FORMATS.iter().flat_map(|format| format.backends()).copied();
    let mut names: Vec<&str> = of_formats.chain(OTHER_BACKENDS.iter().copied()).collect();
    names.sort_unstable();
    names
}

/// Returns the format of a payload by its first [`HEAD`] bytes (fewer if it is shorter), otherwise by its backend;
/// `None` if it is unknown.
pub fn recognise(backend: &str, head: &[u8]) -> Option<&'static dyn PayloadFormat> {
    let formats = || FORMATS.iter().copied();
    formats().find(|format| format.has_magic(head)).or_else(|| formats().find(|f| f.backends().contains(&backend)))
}

/// Recognises the format of a payload. Only its first bytes are read.
///
/// # Errors
/// The payload cannot be read.
pub fn format_of(backend: &str, payload: &Blob) -> io::Result<Option<&'static dyn PayloadFormat>> {
    let head = payload.read_at(0, payload.len().min(HEAD as u64) as usize)?;
    Ok(recognise(backend, &head))
}

/// Returns a clause about a payload, `is of ...`; `None` without a known format, or if the payload cannot be read.
pub fn summary(backend: &str, payload: &Blob) -> Option<String> {
    let format = format_of(backend, payload).ok()??;
    match format.describe(payload) {
        Ok(facts) => {
            Some(format!("is of the format {}", Description::new(format.name(), payload.len(), facts).summary()))
        }
        Err(DescribeError::Malformed(problem)) => Some(format!("is not of the format {}: {problem}", format.name())),
        Err(DescribeError::Io(_)) => None,
    }
}

/// Describes a payload of any format. A malformed payload, or one of an unknown format, has the facts of [`generic`].
///
/// # Errors
/// The payload cannot be read.
pub fn describe(backend: &str, payload: &Blob) -> io::Result<Description> {
    let format = format_of(backend, payload)?;
    let (name, problem) = match format.map(|format| (format.name(), format.describe(payload))) {
        Some((name, Ok(facts))) => return Ok(Description::new(name, payload.len(), facts)),
        Some((name, Err(DescribeError::Malformed(problem)))) => (Some(name), Some(problem)),
        Some((_, Err(DescribeError::Io(error)))) => return Err(error),
        None => (None, None),
    };
    let facts = generic::describe(payload)?.into_list();
    Ok(Description { format: name, size: payload.len(), facts, problem })
}

/// Returns the memory that a delegate with this payload takes.
///
/// # Errors
/// Reason why it is not counted: an unknown format, one whose backend's memory is not known, or a payload that cannot be read.
pub fn memory_of(backend: &str, payload: &Blob, processor: Processor) -> Result<DelegateMemory, String> {
    let format = format_of(backend, payload).map_err(|error| format!("the payload cannot be read: {error}"))?;
    let Some(format) = format.filter(|format| format.backends().contains(&backend)) else {
        return Err(format!("the memory of the backend {} is not known", backend.escape_debug()));
    };
    match format.memory(payload, processor) {
        Some(Ok(memory)) => Ok(memory),
        Some(Err(DescribeError::Malformed(problem))) => Err(problem),
        Some(Err(DescribeError::Io(error))) => Err(format!("the payload cannot be read: {error}")),
        None => Err(format!("the memory of the backend {backend} is not known")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_are_recognised_by_magic_then_by_backend() {
        let name = |backend: &str, head: &[u8]| recognise(backend, head).map(|format| format.name());
        assert_eq!(name("VulkanBackend", b"\0\0\0\0VH00"), Some("Vulkan"));
        assert_eq!(name("WebGPU", b"\0\0\0\0VH00"), Some("Vulkan"));
        assert_eq!(name("XnnpackBackend", b"\0\0\0\0VK00"), Some("Vulkan"));
        assert_eq!(name("XnnpackBackend", b""), Some("XNNPACK"));
        assert_eq!(name("Mine", b"vela_bin_stream\0"), Some("Ethos-U"));
        assert_eq!(name("Mine", b"\0\0\0\0"), None);
        for format in FORMATS {
            assert!(format.backends().iter().all(|backend| name(backend, b"") == Some(format.name())));
        }
    }

    /// A payload of 4 GiB whose metadata are at the start: only those are read.
    #[test]
    fn large_payloads_are_not_loaded() {
        use pte_model::data::BlobSource;
        let head = [&qnn_magic()[..], &[0; 8], &(4u64 << 30).to_le_bytes(), &[0; 236]].concat();
        let large = Blob::joined([Blob::bytes(head), Blob::new(4 << 30, BlobSource::Repeat([7].into()))]).unwrap();
        let description = describe("QnnBackend", &large).unwrap();
        assert_eq!((description.size, description.problem), ((4 << 30) + 256, None));
    }

    fn qnn_magic() -> [u8; 4] {
        [0xcd, 0xab, 0x78, 0x56]
    }
}
