//! The figures of the memory of a program by name: for limits, of one program or of the difference between two.

use super::memory::{MethodFootprint, ProgramMemory};
use pte_model::format::words::words;

/// Number of bytes of a [`MemoryFigure`].
///
/// ```
/// use pte_memory::figures::{MemoryAmount, MemoryFigure};
/// use pte_memory::memory::ProgramMemory;
///
/// # let _ = |memory: &ProgramMemory| {
/// let figure = MemoryFigure::of_name("total").unwrap();
/// let largest = memory.methods.iter().filter_map(|method| figure.of_method(method)).max_by_key(|amount| amount.bytes);
/// println!("{} {}, {:?} of a method", figure.of(memory).bytes, figure.noun(), largest);
/// # };
/// assert_eq!((MemoryFigure::ALL[0].name(), MemoryAmount::exact(3).at_least), ("planned", false));
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct MemoryAmount {
    /// Bytes.
    pub bytes: u64,
    /// The number is a lower bound.
    pub at_least: bool,
}

impl MemoryAmount {
    /// Returns an amount that is not a lower bound.
    pub fn exact(bytes: u64) -> MemoryAmount {
        MemoryAmount { bytes, at_least: false }
    }

    fn plus(self, other: MemoryAmount) -> MemoryAmount {
        let bytes = self.bytes.saturating_add(other.bytes);
        MemoryAmount { bytes, at_least: self.at_least || other.at_least }
    }
}

/// Declares [`MemoryFigure`] from rows: variant, name, noun, amount in a method and in a program.
macro_rules! figures {
    ($($(#[$doc:meta])* $variant:ident $name:literal $noun:literal $of_method:expr, $of_program:expr;)*) => {
        words! {
            /// A figure of the memory of a program. Those of a program with several methods are for all of them at
            /// once, unless their descriptions say otherwise.
            #[derive(Debug, Clone, Copy, PartialEq, Eq)]
            #[non_exhaustive]
            pub enum MemoryFigure { $($(#[$doc])* $variant $name,)* } fn name;
        }

        impl MemoryFigure {
            /// Returns the noun for the figure, for messages.
            pub fn noun(self) -> &'static str {
                match self { $(MemoryFigure::$variant => $noun,)* }
            }

            /// Returns the amount in a method; `None` if it belongs to the program alone.
            pub fn of_method(self, method: &MethodFootprint) -> Option<MemoryAmount> {
                let amount: fn(&MethodFootprint) -> Option<(u64, bool)> = match self {
                    $(MemoryFigure::$variant => $of_method,)*
                };
                amount(method).map(|(bytes, at_least)| MemoryAmount { bytes, at_least })
            }

            /// Returns the amount in a program.
            pub fn of(self, memory: &ProgramMemory) -> MemoryAmount {
                let amount: fn(&ProgramMemory) -> (u64, bool) = match self {
                    $(MemoryFigure::$variant => $of_program,)*
                };
                let (bytes, at_least) = amount(memory);
                MemoryAmount { bytes, at_least }
            }
        }
    };
}

figures! {
    /// Planned memory of all pools.
    Planned "planned" "bytes of planned memory"
        |method| Some((method.planned, method.pools.iter().any(|pool| pool.at_least))),
        |memory| summed(memory, MemoryFigure::Planned);
    /// Method allocator.
    MethodAllocator "method_allocator" "bytes of the method allocator"
        |method| Some((method.method_allocator.bytes, method.method_allocator.at_least)),
        |memory| summed(memory, MemoryFigure::MethodAllocator);
    /// Temporary allocator.
    TemporaryAllocator "temporary_allocator" "bytes of the temporary allocator"
        |method| Some((method.temporary_allocator.bytes, method.temporary_allocator.at_least)),
        |memory| summed(memory, MemoryFigure::TemporaryAllocator);
    /// Inputs that the caller provides.
    Inputs "inputs" "bytes of inputs that the caller provides"
        |method| Some((method.inputs.bytes, method.inputs.at_least)),
        |memory| summed(memory, MemoryFigure::Inputs);
    /// Outputs that the caller provides.
    Outputs "outputs" "bytes of outputs that the caller provides"
        |method| Some((method.outputs.bytes, method.outputs.at_least)),
        |memory| summed(memory, MemoryFigure::Outputs);
    /// Bytes that delegates take from the heap.
    Delegates "delegates" "bytes that delegates take from the heap"
        |method| Some((method.delegate_bytes, !method.not_counted.is_empty())),
        |memory| summed(memory, MemoryFigure::Delegates);
    /// Parts of files that a loader reads into RAM.
    Files "files" "bytes of files that a loader reads into RAM"
        |method| Some((method.loaded.bytes, method.loaded.at_least)),
        |memory| {
            let (methods, at_least) = summed(memory, MemoryFigure::Files);
            (methods.saturating_add(memory.loaded.bytes), at_least || memory.loaded.at_least)
        };
    /// Total, with files that are mapped or in memory such as flash.
    Total "total" "bytes in total"
        |method| Some((method.total.bytes, method.total.at_least)),
        |memory| (memory.total.bytes, memory.total.at_least);
    /// Total, with files that a loader reads into RAM.
    TotalWithFiles "total_with_files" "bytes in total with files in RAM"
        |_| None,
        |memory| (memory.total.with_files, memory.total.with_files_at_least);
    /// Largest total of a method, for programs whose methods are loaded one at a time, with files that are mapped or in
    /// memory.
    LargestMethod "largest_method" "bytes in total of the largest method"
        |_| None,
        |memory| (memory.largest_method.bytes, memory.largest_method.at_least);
}

impl MemoryFigure {
    /// Returns the figure with this name.
    pub fn of_name(name: &str) -> Option<MemoryFigure> {
        MemoryFigure::ALL.iter().copied().find(|figure| figure.name() == name)
    }

    /// Returns the figures whose sum this one is in each method; none if it is not a sum.
    pub fn parts(self) -> &'static [MemoryFigure] {
        match self {
            MemoryFigure::Total | MemoryFigure::LargestMethod => &[
                MemoryFigure::Planned,
                MemoryFigure::MethodAllocator,
                MemoryFigure::TemporaryAllocator,
                MemoryFigure::Inputs,
                MemoryFigure::Outputs,
                MemoryFigure::Delegates,
            ],
            MemoryFigure::TotalWithFiles => &[MemoryFigure::Total, MemoryFigure::Files],
            MemoryFigure::Planned
            | MemoryFigure::MethodAllocator
            | MemoryFigure::TemporaryAllocator
            | MemoryFigure::Inputs
            | MemoryFigure::Outputs
            | MemoryFigure::Delegates
            | MemoryFigure::Files => &[],
        }
    }

    /// Returns the sum of the parts in a method.
    pub(crate) fn sum_of_parts(self, method: &MethodFootprint) -> MemoryAmount {
        let amounts = self.parts().iter().filter_map(|figure| figure.of_method(method));
        amounts.fold(MemoryAmount::default(), MemoryAmount::plus)
    }
}

/// Returns the sum of a figure over all methods.
fn summed(memory: &ProgramMemory, figure: MemoryFigure) -> (u64, bool) {
    let amounts = memory.methods.iter().filter_map(|method| figure.of_method(method));
    let MemoryAmount { bytes, at_least } = amounts.fold(MemoryAmount::default(), MemoryAmount::plus);
    (bytes, at_least)
}
