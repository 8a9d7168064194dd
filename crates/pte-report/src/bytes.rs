//! The bytes of a file with their meaning, bounded: the regions of `pte-inspect`, joined with the elements of the
//! graphs, and the first bytes of the file.

use std::io;

use serde::Serialize;

use crate::targets::{Target, TargetFinder};
use pte_inspect::annotate::{FileRegions, file_regions};
use pte_model::data::Origin;
use pte_model::format::Format;
use pte_model::program::Program;

/// Maximum number of regions.
const MAX_REGIONS: usize = 20_000;

/// Size in bytes up to which a file is part of a report.
const MAX_WHOLE: u64 = 256 << 10;

/// Number of bytes of a larger file that are part of a report.
const MAX_HEAD: u64 = 64 << 10;

/// Bytes of a file.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ReportedBytes {
    /// Size of the file in bytes.
    pub size: u64,
    /// Regions, at most 20,000.
    #[serde(flatten)]
    pub regions: FileRegions,
    /// By path: the element of the graph that it leads to.
    pub elements: Vec<Option<ElementReference>>,
    /// The bytes of a file of at most 256 KiB, of a larger one the first 64 KiB.
    pub data: BytesExcerpt,
}

/// Kind of an element of a graph (0 method, 1 instruction, 2 value, 3 delegate), index of its method, and its index; 0
/// for a method.
pub type ElementReference = (u8, usize, usize);

/// Some bytes of a file.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BytesExcerpt {
    /// Offset of the first one in the file.
    pub offset: u64,
    /// The bytes in base64.
    pub base64: String,
}

impl ReportedBytes {
    /// Reads a file. `program` is the program in it, if it can be read.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn read(origin: &Origin, format: Format, program: Option<&Program>) -> io::Result<ReportedBytes> {
        let size = origin.len()?;
        let regions = file_regions(origin, format, MAX_REGIONS)?;
        let finder = program.map(TargetFinder::new);
        let element = |path: &String| {
            Some(match finder.as_ref()?.find(path)? {
                Target::Method(method) => (0, method, 0),
                Target::Instruction(method, index) => (1, method, index),
                Target::Value(method, index) => (2, method, index),
                Target::Delegate(method, index) => (3, method, index),
            })
        };
        let elements = regions.paths.iter().map(element).collect();
        let shown = if size <= MAX_WHOLE { size } else { MAX_HEAD };
        let base64 = data_encoding::BASE64.encode(&origin.head(shown)?);
        Ok(ReportedBytes { size, regions, elements, data: BytesExcerpt { offset: 0, base64 } })
    }
}
