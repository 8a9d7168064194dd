//! Computes the memory of a program: that of its methods, and the totals. `memory.rs` has the results, `figures.rs`
//! what a total consists of. [`ProgramNeeds`] has it for each binary interface.

use super::abi::Abi;
use super::allocator::RuntimeKind;
use super::delegates::KnownMemory;
use super::figures::{MemoryAmount, MemoryFigure};
use super::loading::LoadedProgram;
use super::memory::{MethodFootprint, ProgramMemory, VERSION, needs_data_files};
use super::subject::Subject;
use super::totals::MemoryTotal;
use pte_analysis::kernels::ProgramKernels;
use pte_payload::memory::Accuracy;

impl ProgramMemory {
    /// Computes the memory of all methods in a runtime. A program with tensors in `.ptd` files is always loaded with
    /// them.
    pub fn new(subject: &Subject<'_>, loaded: LoadedProgram, runtime: RuntimeKind) -> ProgramMemory {
        let external = runtime.external || needs_data_files(subject.program);
        let runtime = RuntimeKind { external, ..runtime };
        let plans = subject.program.plans();
        let mut known = KnownMemory::new();
        let methods = plans.iter().enumerate();
        let methods =
            methods.map(|(method, plan)| summed(MethodFootprint::new(subject, method, plan, runtime, &mut known)));
        let methods: Vec<MethodFootprint> = methods.collect();
        let program =
            MemoryTotal { with_files: loaded.bytes, with_files_at_least: loaded.at_least, ..MemoryTotal::default() };
        let totals = || methods.iter().map(|method| method.total);
        let most = |bytes: fn(MemoryTotal) -> u64| totals().map(bytes).max().unwrap_or(0);
        let largest_method = MemoryTotal {
            bytes: most(|total| total.bytes),
            with_files: most(|total| total.with_files).saturating_add(loaded.bytes),
            at_least: totals().any(|total| total.at_least),
            with_files_at_least: loaded.at_least || totals().any(|total| total.with_files_at_least),
            is_estimated: totals().any(|total| total.is_estimated),
        };
        ProgramMemory {
            version: VERSION,
            abi: runtime.abi,
            processor: runtime.processor,
            loaded,
            total: totals().fold(program, MemoryTotal::plus),
            largest_method,
            methods,
        }
    }
}

/// What a program needs of the build of the runtime and of the application that run it: for arrays, project files and
/// targets.
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

    /// Returns the memory of the methods for a binary interface, in the order of the program. Names, pools, inputs and
    /// outputs are the same for all.
    pub fn methods(&self, abi: Abi) -> &[MethodFootprint] {
        &abi.of(&self.memory).methods
    }
}

/// Sets the total.
fn summed(mut method: MethodFootprint) -> MethodFootprint {
    let MemoryAmount { bytes, at_least } = MemoryFigure::Total.sum_of_parts(&method);
    let memories = method.delegates.iter().filter_map(|delegate| delegate.memory.as_ref());
    let is_estimated = memories.map(|memory| memory.accuracy).any(|accuracy| accuracy != Accuracy::Exact);
    let with_files = bytes.saturating_add(method.loaded.bytes);
    let with_files_at_least = at_least || method.loaded.at_least;
    method.total = MemoryTotal { bytes, with_files, at_least, with_files_at_least, is_estimated };
    method
}
