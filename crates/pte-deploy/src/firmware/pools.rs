//! A program as a part of a firmware, and the sizes of the pools of memory for it. What runners take from the method
//! allocator is stated in [`pte_memory::runner`].

use std::collections::BTreeSet;

use serde::Serialize;

use crate::Symbol;
use crate::embed::Section;
use pte_memory::ProgramNeeds;
use pte_memory::abi::{Abi, Bump};
use pte_memory::boundary::BoundaryBuffers;
use pte_memory::memory::MethodFootprint;
use pte_memory::runner::{Take, taken};
use pte_payload::ethos_u;

/// Alignment in bytes of the pools of all runners, and the size of a pool that nothing takes memory from: C has no
/// empty arrays.
pub const POOL_ALIGNMENT: u64 = 16;

/// Pool of memory that a firmware reserves, part of [`Firmware`](super::Firmware).
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct FirmwarePool {
    /// Name of the option, variable or macro with its size.
    pub name: String,
    /// Size in bytes of a pointer of the processors that it is for; `None` if it is the same for all.
    pub pointer_bytes: Option<u64>,
    /// Size in bytes. With several methods, the largest one of a method.
    pub bytes: u64,
    /// The size is a lower bound, because [`FirmwarePool::unknown`] may take more.
    pub at_least: bool,
    /// Operators and backends whose memory is not known.
    pub unknown: Vec<String>,
    /// Uses of the bytes, in the order of allocation, of the method that needs the most.
    pub parts: Vec<FirmwarePoolPart>,
}

/// Part of a [`FirmwarePool`], with the padding before it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct FirmwarePoolPart {
    /// Use of the bytes.
    pub content: &'static str,
    /// Size in bytes.
    pub bytes: u64,
}

impl FirmwarePool {
    /// Creates the pool of planned memory of a size.
    fn planned(name: String, bytes: u64) -> FirmwarePool {
        FirmwarePool {
            name,
            pointer_bytes: None,
            bytes: bytes.max(POOL_ALIGNMENT),
            at_least: false,
            unknown: Vec::new(),
            parts: vec![FirmwarePoolPart { content: "planned memory", bytes }],
        }
    }
}

/// Program of a firmware, and the methods that it loads, one at a time.
#[derive(Debug, Clone)]
pub struct FirmwareNeeds<'p> {
    /// Needs of the program.
    pub program: &'p ProgramNeeds,
    /// Indices of the methods of it that the firmware loads, one at a time.
    pub methods: Vec<usize>,
    /// Name of the program's file, without a folder.
    pub file: String,
    /// SHA-256 of the file, in hexadecimal digits.
    pub sha256: String,
    /// Alignment in bytes that the start of the file needs in memory.
    pub alignment: u64,
    /// Path of the file, relative to the folder of the generated files, with `/` between its parts; `None` if it is not
    /// known.
    pub path: Option<String>,
    /// Name of the array with the program.
    pub symbol: Symbol,
    /// Section of the array; `None` for that of the platform.
    pub section: Option<Section>,
    /// Binary interface of the runtime; the files for [`FirmwarePlatform::Cmake`](super::FirmwarePlatform::Cmake) are
    /// for all.
    pub abi: Abi,
}

impl FirmwareNeeds<'_> {
    /// Memory of the methods that the firmware loads.
    pub(super) fn loaded(&self) -> impl Iterator<Item = &MethodFootprint> {
        self.pools(self.abi).methods.into_iter()
    }

    /// Pools of the methods that the firmware loads, for a build of the runtime.
    pub(super) fn pools(&self, abi: Abi) -> Pools<'_> {
        let all = self.program.methods(abi);
        Pools { methods: self.methods.iter().filter_map(|index| all.get(*index)).collect(), abi }
    }

    /// Operators that the program names, such as `aten::add.out`, sorted.
    pub(super) fn operators(&self) -> impl Iterator<Item = &str> {
        self.program.kernels.operators.keys().map(String::as_str)
    }

    /// Operators, separated by commas.
    pub(super) fn operator_list(&self) -> String {
        self.operators().collect::<Vec<_>>().join(",")
    }

    /// Backends of its delegates, sorted.
    pub(super) fn backends(&self) -> impl Iterator<Item = &str> {
        self.program.kernels.backends.keys().map(String::as_str)
    }

    /// Returns true if the program has delegates of Ethos-U.
    pub(super) fn uses_ethos_u(&self) -> bool {
        self.backends().any(|backend| ethos_u::BACKENDS.contains(&backend))
    }
}

/// Pools of a firmware for some methods, which are loaded one at a time, and one build of the runtime.
pub struct Pools<'n> {
    /// Methods, for the binary interface.
    pub methods: Vec<&'n MethodFootprint>,
    /// Binary interface of the runtime.
    pub abi: Abi,
}

impl Pools<'_> {
    /// Returns the pool of a method allocator from which a runner takes memory in this order.
    pub fn method_allocator(&self, name: &str, order: &[Take]) -> FirmwarePool {
        let part = |(take, bytes): (Take, u64)| FirmwarePoolPart { content: take.content(), bytes };
        let parts = |method: &MethodFootprint| taken(order, method, self.abi, None).into_iter().map(part).collect();
        self.largest(name, |build| &build.method_allocator.unknown_backends, parts)
    }

    /// Returns the pool of the temporary allocator.
    pub fn temporary(&self, name: &str) -> FirmwarePool {
        let part = |method: &MethodFootprint| {
            vec![FirmwarePoolPart { content: "temporary memory", bytes: method.temporary_allocator.bytes }]
        };
        self.largest(name, |build| &build.temporary_allocator.unknown, part)
    }

    /// Returns the memory of a planned pool by its number, from 1.
    pub fn planned(&self, name: &str, number: usize) -> FirmwarePool {
        let pools = self.methods.iter().flat_map(|method| &method.pools).filter(|pool| pool.pool == number);
        FirmwarePool::planned(name.to_owned(), pools.map(|pool| pool.bytes).max().unwrap_or(0))
    }

    /// Returns the memory of the tensors of `list` that the caller provides, each at a multiple of [`POOL_ALIGNMENT`];
    /// `None` if there are none.
    pub fn buffers(
        &self,
        name: &str,
        content: &'static str,
        list: fn(&MethodFootprint) -> &BoundaryBuffers,
    ) -> Option<FirmwarePool> {
        let part = |method: &MethodFootprint| {
            let mut bump = Bump::new(self.abi);
            list(method).provided().for_each(|bytes| bump.take(bytes, POOL_ALIGNMENT));
            vec![FirmwarePoolPart { content, bytes: bump.used() }]
        };
        let pool = self.largest(name, |_| &[], part);
        Some(pool).filter(|pool| pool.parts.iter().any(|part| part.bytes > 0))
    }

    /// Returns the memory of all planned pools, without empty ones at the end, each with the name of its number,
    /// from 1.
    pub fn all_planned(&self, name: impl Fn(usize) -> String) -> Vec<FirmwarePool> {
        // In one pass: a file may have many pools and many methods.
        let mut sizes: Vec<u64> = Vec::new();
        for pools in self.methods.iter().map(|method| method.pool_sizes()) {
            sizes.resize(sizes.len().max(pools.len()), 0);
            sizes.iter_mut().zip(pools).for_each(|(size, bytes)| *size = bytes.max(*size));
        }
        let used = sizes.iter().rposition(|size| *size > 0).map_or(0, |last| last + 1);
        (1..).zip(&sizes[..used]).map(|(number, size)| FirmwarePool::planned(name(number), *size)).collect()
    }

    /// Returns the pool for the method that needs the most.
    fn largest(
        &self,
        name: &str,
        unknown: fn(&MethodFootprint) -> &[String],
        parts: impl Fn(&MethodFootprint) -> Vec<FirmwarePoolPart>,
    ) -> FirmwarePool {
        let size = |parts: &Vec<FirmwarePoolPart>| parts.iter().fold(0u64, |sum, part| sum.saturating_add(part.bytes));
        // Of several, the first.
        let most = self.methods.iter().map(|method| parts(method)).rev().max_by_key(size).unwrap_or_default();
        let unknown: BTreeSet<String> =
            self.methods.iter().flat_map(|method| unknown(method).iter().cloned()).collect();
        FirmwarePool {
            name: name.to_owned(),
            pointer_bytes: None,
            bytes: size(&most).max(POOL_ALIGNMENT),
            at_least: !unknown.is_empty(),
            unknown: unknown.into_iter().collect(),
            parts: most,
        }
    }
}
