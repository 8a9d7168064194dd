//! Computes how many bytes of files are in RAM if a loader reads them there, as `FileDataLoader` of the runtime does. A loader that
//! maps files or returns pointers to memory that has them, such as flash, takes none.

use std::collections::HashSet;

use serde::Serialize;

use super::summary::NamedSizes;
use pte_model::program::{ExecutionPlan, Memory, Program};
use pte_model::reader::program::ProgramContents;
use pte_payload::xnnpack;

/// Bytes of the files that are in RAM as long as the program, part of [`crate::memory::ProgramMemory`]. The runtime reads each part into a
/// buffer of its own, which `FileDataLoader` aligns to 16 bytes by default.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct LoadedProgram {
    /// Size in bytes: the sum of the others.
    pub bytes: u64,
    /// Header and FlatBuffer, which also has inline constants and payloads.
    pub program: u64,
    /// Segment of the constants.
    pub constants: u64,
    /// Headers and FlatBuffers of the `.ptd` files.
    pub data_files: u64,
    /// The size is a lower bound: the program needs a `.ptd` file that is not given.
    pub at_least: bool,
}

/// Bytes of the files that are in RAM as long as a method, part of [`crate::memory::MethodFootprint`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct LoadedMethod {
    /// Size in bytes: the sum of the next two.
    pub bytes: u64,
    /// Payloads of delegates in segments, except those of XNNPACK. A backend may free them earlier.
    pub payloads: u64,
    /// Constants in `.ptd` files, each key once.
    pub external_constants: u64,
    /// Additional bytes while the method is loaded: the payload of an XNNPACK delegate with the named data that it refers to,
    /// of the delegate with the most.
    pub while_loading: u64,
}

impl LoadedProgram {
    /// Returns the sizes of a program in a file of `length` bytes, without `.ptd` files.
    pub fn new(contents: &ProgramContents, length: u64) -> LoadedProgram {
        let segment = contents.constant_segment.and_then(|index| contents.segments.get(index as usize));
        let constants = segment.map_or(0, |(_, size)| *size);
        let program = contents.header.map_or(length, |header| header.program_size);
        LoadedProgram { program, constants, ..LoadedProgram::default() }.summed()
    }

    /// Adds the metadata of the `.ptd` files, of the sizes in bytes. `needs_files` is true if the program needs some.
    #[must_use]
    pub fn with_data_files(self, sizes: &[u64], needs_files: bool) -> LoadedProgram {
        let data_files = sizes.iter().copied().fold(0, u64::saturating_add);
        LoadedProgram { data_files, at_least: needs_files && sizes.is_empty(), ..self }.summed()
    }

    fn summed(self) -> LoadedProgram {
        let parts = [self.program, self.constants, self.data_files];
        LoadedProgram { bytes: parts.into_iter().fold(0, u64::saturating_add), ..self }
    }
}

impl LoadedMethod {
    pub(crate) fn new(program: &Program, plan: &ExecutionPlan, named: &NamedSizes<'_>) -> LoadedMethod {
        let (mut payloads, mut while_loading) = (0_u64, 0);
        for delegate in plan.delegates() {
            let payload = if delegate.inline == Some(true) { 0 } else { program.blob(delegate.processed).len() };
            match delegate.id.as_deref() {
                Some(xnnpack::BACKEND) => {
                    while_loading = payload.saturating_add(named.of(delegate.processed)).max(while_loading);
                }
                Some(_) | None => payloads = payloads.saturating_add(payload),
            }
        }
        let mut keys = HashSet::new();
        let is_first =
            |tensor: &&pte_model::program::Tensor| tensor.name().is_none_or(|key| keys.insert(key.to_owned()));
        let external = plan.tensors().map(|(_, tensor)| tensor);
        let external = external.filter(|tensor| tensor.is_external() && tensor.memory == Memory::None).filter(is_first);
        let external_constants = external.filter_map(|tensor| tensor.nbytes()).fold(0, u64::saturating_add);
        let bytes = payloads.saturating_add(external_constants);
        LoadedMethod { bytes, payloads, external_constants, while_loading }
    }
}
