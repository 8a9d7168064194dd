//! The programs of a seed, each by its number.

use super::calls;
use super::lower::{self, BoundaryMemory};
use super::programs::{self, KnownOperator};
use super::random::Random;
use super::wild::wild;
use pte_model::program::Program;

/// Generator of random programs, for tests of a runtime: the same for a seed and a version on every machine.
///
/// ```
/// use pte_generate::ProgramGenerator;
///
/// let mut generator = ProgramGenerator::valid(1, 8);
/// generator.retain(|name| name.starts_with("aten::add"));
/// let program = generator.program(0);
/// assert_eq!(program, generator.program(0));
/// assert_eq!(ProgramGenerator::wild(1).program(0).plans().len(), 1);
/// let mut operators = program.plans()[0].operators.iter().flatten();
/// assert!(operators.any(|operator| operator.name.as_deref() == Some("aten::add")));
/// ```
#[derive(Debug, Clone)]
pub struct ProgramGenerator {
    seed: u64,
    /// Instructions of a method; `None` for programs of one call, most of which violate requirements of the kernel.
    instructions: Option<usize>,
    operators: Vec<KnownOperator>,
}

impl ProgramGenerator {
    /// Generator of valid programs over the operators that the default runtime executes on the CPU, with the same
    /// results in every run. Methods have about as many instructions as `instructions`.
    pub fn valid(seed: u64, instructions: usize) -> ProgramGenerator {
        ProgramGenerator { seed, instructions: Some(instructions), operators: calls::repeatable() }
    }

    /// Generator of programs of one call each of the operators of the default runtime. Most violate requirements of the
    /// kernel.
    pub fn wild(seed: u64) -> ProgramGenerator {
        ProgramGenerator { seed, instructions: None, operators: calls::operators() }
    }

    /// Keeps the operators for whose names `keep` returns true. Returns false if none is left: programs are then empty.
    pub fn retain(&mut self, keep: impl Fn(&str) -> bool) -> bool {
        self.operators.retain(|(name, _)| keep(name));
        !self.operators.is_empty()
    }

    /// Returns a program of the seed. It does not depend on those before it.
    pub fn program(&self, number: u64) -> Program {
        let mut random = Random::of_item(self.seed, number);
        if let Some(instructions) = self.instructions {
            return programs::program(&mut random, &self.operators, instructions);
        }
        let Some((name, signature)) = self.operators.get(random.below(self.operators.len())) else {
            return Program::default();
        };
        let call = wild(&mut random, name, signature);
        lower::program(&call, BoundaryMemory::random(&mut random))
    }
}
