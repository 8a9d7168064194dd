//! A target, and the figures of a program that are compared with it, as data.

use std::collections::BTreeSet;
use std::fmt;

use pte_memory::abi::Abi;
use pte_memory::runner::Runner;
use pte_model::diagnostics::Report;
use pte_payload::compile_specs::System;
use pte_releases::Release;

use super::linked::LinkedOperators;

/// Build of the runtime and its application: the operators and backends that it links, and its memory. What it does not
/// state is not compared.
///
/// ```
/// use pte_memory::abi::Abi;
/// use pte_check::target::Target;
///
/// let board = Target::parse("board.yaml", "operators: [aten::add.out]\nabi: arm32\nmethod_allocator: 64K\n")?;
/// assert_eq!((board.name(), board.abi()), ("board.yaml", Abi::Arm32));
/// assert!(board.release().is_none());
///
/// let error = Target::parse("board.yaml", "method_alocator: 64K\n").unwrap_err();
/// assert!(error.to_string().starts_with("board.yaml:1:1: error: unknown key `method_alocator`"), "{error}");
/// assert!(board.states_operators() && board.description().is_empty());
///
/// let wheel = Target::ready("wheel-1.5.1").unwrap();
/// assert!(Target::ready_names().any(|name| name == wheel.name()));
/// let copy = Target::parse("copy.yaml", Target::ready_text("wheel-1.5.1").unwrap())?;
/// assert!(copy.warnings().diagnostics.is_empty());
/// assert!(Target::open("no such file".as_ref(), None).unwrap_err().io_kind().is_some());
/// # Ok::<(), pte_model::error::Error>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct Target {
    pub(super) name: String,
    pub(super) description: String,
    pub(super) release: Option<Release>,
    pub(super) operators: Option<LinkedOperators>,
    pub(super) backends: Option<BTreeSet<String>>,
    /// Names of its accelerators; empty if they are not stated.
    pub(super) chips: Vec<String>,
    /// Its system with its version, such as `iOS 17`, and those that run the same programs.
    pub(super) systems: Vec<System>,
    pub(super) abi: Abi,
    pub(super) runner: Option<&'static Runner>,
    pub(super) pools: Option<Pools>,
    pub(super) method_allocator: Option<u64>,
    pub(super) temporary_allocator: Option<u64>,
    pub(super) ram: Option<u64>,
    pub(super) alignment: Option<u64>,
    pub(super) largest_file: Option<u64>,
    pub(super) warnings: Report,
}

/// Planned memory of a target.
#[derive(Debug, Clone)]
pub enum Pools {
    /// Size in bytes of each pool, from pool 1.
    Sizes(Vec<u64>),
    /// Size in bytes of all pools of a method.
    Total(u64),
    /// The application takes the pools from the method allocator, each at a multiple of 16 bytes.
    InMethodAllocator,
}

impl Target {
    /// Returns the name in messages: that of the file, or of the ready target.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the description in the file; may be empty.
    pub fn description(&self) -> &str {
        &self.description
    }

    /// Returns the release of its runtime, for [`CheckOptions::runtime`](crate::CheckOptions::runtime).
    pub fn release(&self) -> Option<&Release> {
        self.release.as_ref()
    }

    /// Returns warnings about its text, such as names of operators that no release has and that resemble one.
    pub fn warnings(&self) -> &Report {
        &self.warnings
    }

    /// Returns the binary interface, for which memory is computed.
    pub fn abi(&self) -> Abi {
        self.abi
    }

    /// Returns `true` if the target states which operators it links.
    pub fn states_operators(&self) -> bool {
        self.operators.is_some()
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}
