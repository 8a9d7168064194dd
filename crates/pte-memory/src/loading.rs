//! Computes how many bytes of files are in RAM if a loader reads them there, as `FileDataLoader` of the runtime does. A
//! loader that maps files or returns pointers to memory that has them, such as flash, takes none.

use std::collections::HashSet;

use serde::Serialize;

use super::delegates::DelegateFootprint;
use pte_model::program::{ExecutionPlan, Memory, Program};
use pte_model::reader::program::ProgramContents;
use pte_payload::memory::{Held, MemorySource};

/// Bytes of the files that are in RAM as long as the program, part of [`crate::memory::ProgramMemory`]. The runtime
/// reads each part into a buffer of its own, which `FileDataLoader` aligns to 16 bytes by default.
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
    /// Payloads of delegates in segments, unless the backend frees them earlier; of XNNPACK, the named data that
    /// operations read in place.
    pub payloads: u64,
    /// Constants in `.ptd` files, each key once.
    pub external_constants: u64,
    /// Most additional bytes while the method is loaded: the payload of an XNNPACK delegate, with the named data that
    /// it packs.
    pub while_loading: u64,
    /// The sizes are lower bounds: the memory of an XNNPACK delegate is not counted, or the size of a constant is not
    /// known.
    pub at_least: bool,
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
    #[doc(hidden)]
    #[must_use]
    pub fn with_data_files(self, sizes: &[u64], needs_files: bool) -> LoadedProgram {
        let data_files = sizes.iter().copied().fold(0, u64::saturating_add);
        LoadedProgram { data_files, at_least: needs_files && sizes.is_empty(), ..self }.summed()
    }

    /// Returns the parts of [`LoadedProgram::bytes`], each with its description.
    pub fn parts(&self) -> [(u64, &'static str); 3] {
        [(self.program, "the program"), (self.constants, "constants"), (self.data_files, "metadata of .ptd files")]
    }

    fn summed(self) -> LoadedProgram {
        LoadedProgram { bytes: sum(&self.parts()), ..self }
    }
}

impl LoadedMethod {
    /// Computes the sizes for a method with these delegates.
    pub(crate) fn new(program: &Program, plan: &ExecutionPlan, delegates: &[DelegateFootprint]) -> LoadedMethod {
        let (mut payloads, mut most, mut at_least) = (0_u64, 0_u64, false);
        for (delegate, footprint) in plan.delegates().iter().zip(delegates) {
            let payload = if delegate.inline == Some(true) { 0 } else { program.blob(delegate.processed).len() };
            if delegate.id.as_deref() == Some(pte_xnnpack::BACKEND) {
                let (named, in_place) = match &footprint.memory {
                    Some(memory) => (memory.named_data, memory.bytes(MemorySource::Loader, &[Held::Load])),
                    None => {
                        at_least = true;
                        (0, 0)
                    }
                };
                most = payloads.saturating_add(payload).saturating_add(named).max(most);
                payloads = payloads.saturating_add(in_place);
            } else {
                payloads = payloads.saturating_add(payload);
            }
        }
        let mut keys = HashSet::new();
        let mut external_constants = 0_u64;
        for (_, tensor) in plan.tensors().filter(|(_, tensor)| tensor.is_external() && tensor.memory == Memory::None) {
            // Each key is read once.
            if tensor.name().is_none_or(|key| keys.insert(key)) {
                at_least |= tensor.nbytes().is_none();
                external_constants = external_constants.saturating_add(tensor.nbytes().unwrap_or(0));
            }
        }
        let while_loading = most.saturating_sub(payloads);
        let loaded = LoadedMethod { bytes: 0, payloads, external_constants, while_loading, at_least };
        LoadedMethod { bytes: sum(&loaded.parts()), ..loaded }
    }

    /// Returns the parts of [`LoadedMethod::bytes`], each with its description.
    pub fn parts(&self) -> [(u64, &'static str); 2] {
        [(self.external_constants, "constants of .ptd files"), (self.payloads, "payloads and named data of delegates")]
    }
}

fn sum(parts: &[(u64, &str)]) -> u64 {
    parts.iter().map(|(bytes, _)| *bytes).fold(0, u64::saturating_add)
}
