//! The graph and the constants of a payload, which may be in the payload, or named data of the program or of a `.ptd`.

use std::collections::HashMap;

use super::super::fields::flat_tensor::ExternalKeys;
use super::graph::{Graph, GraphConstant, GraphDefect, GraphPart};
use crate::RuleId::*;
use pte_model::data::Blob;
use pte_model::diagnostics::counted;
use pte_model::format::flatbuffer::read::Buffer;
use pte_model::program::Program;
use pte_payload::header::{HEADER, Sections};
use pte_xnnpack::schema::{GRAPH, IDENTIFIERS, MAGIC};

/// The graph of a payload.
pub(super) struct Payload {
    pub graph: Vec<u8>,
    identifier: &'static str,
    /// Offset and size of the constants after the graph, in bytes.
    pub constants: (u64, u64),
    /// The constants are in the graph.
    pub inside: bool,
}

impl Payload {
    /// Reads the graph of a payload. The payloads of a file are not larger than the file in total.
    ///
    /// # Errors
    /// The payload is malformed, or cannot be read. The error is a description for a finding.
    pub(super) fn read(blob: &Blob) -> std::result::Result<Payload, String> {
        let unreadable = |error: std::io::Error| format!("unreadable data: {error}");
        let head = blob.read_at(0, blob.len.min(HEADER as u64) as usize).map_err(unreadable)?;
        let Sections { graph: (start, size), constants } = Sections::read(MAGIC, &head, blob.len)?;
        let graph = blob.read_at(start, size as usize).map_err(unreadable)?;
        let identifier = IDENTIFIERS.into_iter().find(|identifier| graph.get(4..8) == Some(identifier.as_bytes()));
        let identifier = identifier.ok_or_else(|| "a payload without an XNNPACK identifier".to_owned())?;
        let inside = constants.is_none();
        Ok(Payload { graph, identifier, constants: constants.unwrap_or_default(), inside })
    }

    pub(super) fn graph(&self) -> std::result::Result<Graph, GraphDefect> {
        let buffer = Buffer::new(&self.graph);
        let root = buffer.root(self.identifier, &GRAPH).map_err(|error| GraphDefect {
            rule: D_12,
            part: GraphPart::Whole,
            error,
        })?;
        Graph::read(root, self.inside)
    }
}

/// The named data that graphs may refer to.
pub(super) struct GraphData<'p> {
    /// Named data of the program.
    named: HashMap<&'p str, &'p Blob>,
    external: &'p ExternalKeys,
}

impl<'p> GraphData<'p> {
    pub(super) fn new(program: &'p Program, external: &'p ExternalKeys) -> GraphData<'p> {
        let named = program.named_data.iter().flatten();
        let named = named.map(|data| (data.key.as_str(), program.blob(data.data))).collect();
        GraphData { named, external }
    }

    /// Returns the bytes of data with a key; `None` if they are not in a file.
    pub(super) fn data(&self, key: &str) -> Option<&'p Blob> {
        let external = || self.external.entries.get(key.as_bytes())?.data.as_ref();
        self.named.get(key).copied().or_else(external)
    }

    /// Returns the defect of a constant that is missing or too small.
    pub(super) fn defect(&self, constant: &GraphConstant, payload: &Payload) -> Option<String> {
        let Some(key) = &constant.key else {
            if constant.needed > constant.size {
                return Some(format!("a constant of {}", counted(constant.size, "byte")));
            }
            let end = constant.offset.checked_add(constant.size);
            let fits = payload.inside || constant.needed == 0 || end.is_some_and(|end| end <= payload.constants.1);
            return (!fits).then(|| {
                let found = format!("a constant of {} at offset {}", counted(constant.size, "byte"), constant.offset);
                format!("{found} in {} of constants", counted(payload.constants.1, "byte"))
            });
        };
        // The entry that means no constant has an empty key.
        if key.is_empty() && constant.needed == 0 {
            return None;
        }
        let external = || self.external.entries.get(key.as_bytes()).map(|entry| entry.size);
        match self.named.get(key.as_str()).map(|data| data.len).or_else(external) {
            Some(size) => (size < constant.needed).then(|| format!("data `{key}` of {}", counted(size, "byte"))),
            None => Some(format!("data `{key}`, neither in the program nor in a given .ptd")),
        }
    }
}
