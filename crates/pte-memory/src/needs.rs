//! What a program needs of the build of the runtime and of the application that run it, for each binary interface: for
//! arrays, project files and targets. The figures are those of [`ProgramMemory`].

use pte_analysis::kernels::ProgramKernels;

use super::abi::Abi;
use super::allocator::RuntimeKind;
use super::loading::LoadedProgram;
use super::memory::{MethodFootprint, ProgramMemory, needs_data_files};
use super::subject::Subject;

/// Needs of a program.
#[derive(Debug, Clone, Default)]
pub struct ProgramNeeds {
    /// Size of the program's file in bytes.
    pub bytes: u64,
    /// It needs data of `.ptd` files.
    pub needs_data_files: bool,
    /// Kernels and backends.
    pub kernels: ProgramKernels,
    /// Memory, in the order of [`Abi::ALL`], for the processor of each.
    pub memory: [ProgramMemory; 2],
}

/// Memory of a method, part of [`ProgramNeeds`]. Pools, inputs and outputs are the same for all binary interfaces.
#[derive(Debug, Clone, Copy)]
pub struct MethodNeeds<'n>(&'n ProgramNeeds, usize);

impl ProgramNeeds {
    /// Computes the needs of a program in a file of `bytes` bytes. `external`: it is loaded with `.ptd` files.
    pub fn new(subject: &Subject<'_>, loaded: LoadedProgram, bytes: u64, external: bool) -> ProgramNeeds {
        let memory = Abi::ALL.map(|abi| {
            let runtime = RuntimeKind { external, abi, processor: abi.processor() };
            ProgramMemory::new(subject, loaded, runtime)
        });
        let kernels = ProgramKernels::of(subject.program);
        ProgramNeeds { bytes, needs_data_files: needs_data_files(subject.program), kernels, memory }
    }

    /// Returns the methods, in the order of the program.
    pub fn methods(&self) -> impl Iterator<Item = MethodNeeds<'_>> {
        let count = self.memory.iter().map(|memory| memory.methods.len()).min().unwrap_or(0);
        (0..count).map(|method| MethodNeeds(self, method))
    }
}

impl<'n> MethodNeeds<'n> {
    /// Returns the memory for a binary interface.
    pub fn build(self, abi: Abi) -> &'n MethodFootprint {
        &abi.of(&self.0.memory).methods[self.1]
    }

    /// Returns what does not depend on the binary interface, such as names and pools.
    pub fn any(self) -> &'n MethodFootprint {
        self.build(Abi::default())
    }
}
