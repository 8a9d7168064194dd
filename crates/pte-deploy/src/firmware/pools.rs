//! Sizes of the pools of a runner. A runner is described by the order in which it takes memory from its method allocator, which begins at a
//! multiple of 16 bytes and moves a pointer forward; the size of the pool is where the pointer is at the end.

use std::collections::BTreeSet;

use serde::Serialize;

use super::needs::{BufferNeeds, BuildNeeds, MethodNeeds};

/// Alignment in bytes of the pools of all runners, and the size of a pool that nothing takes memory from: C has no empty arrays.
pub const POOL_ALIGNMENT: u64 = 16;

/// Largest alignment in bytes of what loading a method takes.
const LOADING_ALIGNMENT: u64 = 8;

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
    /// Operators and backends of which it is not known how much they take.
    pub unknown: Vec<String>,
    /// What the bytes are for, in the order in which it is allocated, of the method that needs the most.
    pub parts: Vec<FirmwarePoolPart>,
}

/// Part of a [`FirmwarePool`], with the padding before it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct FirmwarePoolPart {
    /// What it is.
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

/// Something that a runner takes from its method allocator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Take {
    /// The planned pools, in their order.
    Planned {
        /// Alignment in bytes; `None` for that of a pointer, the default of the allocator.
        alignment: Option<u64>,
        /// Pools of 0 bytes are not allocated.
        skips_empty: bool,
        /// Number of the pool that has memory of its own.
        apart: Option<usize>,
    },
    /// What loading the method takes, with a temporary allocator.
    Loading,
    /// What loading the method takes, without a temporary allocator.
    LoadingAlone,
    /// A list of pointers, one for each input.
    InputPointers,
    /// A buffer for each input that is a tensor.
    InputBuffers,
    /// A list of the inputs as values.
    InputValues,
}

impl Take {
    fn content(self) -> &'static str {
        match self {
            Take::Planned { .. } => "planned memory",
            Take::Loading | Take::LoadingAlone => "loading",
            Take::InputPointers => "pointers to inputs",
            Take::InputBuffers => "input buffers",
            Take::InputValues => "values of inputs",
        }
    }
}

/// An allocator that moves a pointer forward. Sizes saturate.
#[derive(Default)]
struct Bump {
    used: u64,
}

impl Bump {
    fn take(&mut self, bytes: u64, alignment: u64) {
        let start = self.used.checked_next_multiple_of(alignment).unwrap_or(u64::MAX);
        self.used = start.saturating_add(bytes);
    }

    /// Takes what a step of a runner takes.
    fn step(&mut self, take: Take, method: &MethodNeeds, build: &BuildNeeds) {
        let inputs = method.inputs.len() as u64;
        match take {
            Take::Planned { alignment, skips_empty, apart } => {
                for (number, pool) in (1..).zip(&method.pools) {
                    if apart != Some(number) && !(skips_empty && pool.bytes == 0) {
                        self.take(pool.bytes, alignment.unwrap_or(build.pointer));
                    }
                }
            }
            // The size is that from an aligned start, where what is before has any size: at most 7 bytes too many.
            Take::Loading => self.take(build.loading.bytes, LOADING_ALIGNMENT),
            Take::LoadingAlone => self.take(build.loading_alone.bytes, LOADING_ALIGNMENT),
            Take::InputPointers => self.take(inputs.saturating_mul(build.pointer), build.pointer),
            Take::InputBuffers => {
                method.inputs.iter().flatten().for_each(|input| self.take(input.bytes, build.pointer));
            }
            Take::InputValues => self.take(inputs.saturating_mul(build.value.0), build.value.1),
        }
    }
}

/// Pools of a firmware for some methods, which are loaded one at a time, and one build of the runtime.
#[derive(Debug, Clone, Copy)]
pub struct Pools<'n> {
    /// Methods.
    pub methods: &'n [MethodNeeds],
    /// Index of the build in [`MethodNeeds::builds`].
    pub build: usize,
}

impl Pools<'_> {
    /// Returns the pool of a method allocator from which a runner takes memory in this order.
    pub fn method_allocator(&self, name: &str, order: &[Take]) -> FirmwarePool {
        let needs = |build: &BuildNeeds| match order.contains(&Take::LoadingAlone) {
            true => build.loading_alone.unknown.clone(),
            false => build.loading.unknown.clone(),
        };
        self.largest(name, needs, |method, build| {
            let (mut bump, mut parts) = (Bump::default(), Vec::new());
            for take in order {
                let before = bump.used;
                bump.step(*take, method, build);
                parts.push(FirmwarePoolPart { content: take.content(), bytes: bump.used - before });
            }
            parts
        })
    }

    /// Returns the pool of the temporary allocator.
    pub fn temporary(&self, name: &str) -> FirmwarePool {
        let part = |_: &MethodNeeds, build: &BuildNeeds| {
            vec![FirmwarePoolPart { content: "temporary memory", bytes: build.temporary.bytes }]
        };
        self.largest(name, |build| build.temporary.unknown.clone(), part)
    }

    /// Returns the memory of a planned pool by its number, from 1.
    pub fn planned(&self, name: &str, number: usize) -> FirmwarePool {
        let pools = self.methods.iter().filter_map(|method| method.pools.get(number.checked_sub(1)?));
        FirmwarePool::planned(name.to_owned(), pools.map(|pool| pool.bytes).max().unwrap_or(0))
    }

    /// Returns the memory of the tensors of `list` that the caller provides, each at a multiple of [`POOL_ALIGNMENT`]; `None`
    /// if there are none.
    pub fn buffers(
        &self,
        name: &str,
        content: &'static str,
        list: fn(&MethodNeeds) -> &[Option<BufferNeeds>],
    ) -> Option<FirmwarePool> {
        let part = |method: &MethodNeeds, _: &BuildNeeds| {
            let mut bump = Bump::default();
            let provided = list(method).iter().flatten().filter(|buffer| buffer.is_provided);
            provided.for_each(|buffer| bump.take(buffer.bytes, POOL_ALIGNMENT));
            vec![FirmwarePoolPart { content, bytes: bump.used }]
        };
        let pool = self.largest(name, |_| Vec::new(), part);
        Some(pool).filter(|pool| pool.parts.iter().any(|part| part.bytes > 0))
    }

    /// Returns the memory of all planned pools, without empty ones at the end, each with the name of its number, from 1.
    pub fn all_planned(&self, name: impl Fn(usize) -> String) -> Vec<FirmwarePool> {
        // In one pass: a file may have many pools and many methods.
        let mut sizes: Vec<u64> = Vec::new();
        for pools in self.methods.iter().map(|method| &method.pools) {
            sizes.resize(sizes.len().max(pools.len()), 0);
            sizes.iter_mut().zip(pools).for_each(|(size, pool)| *size = pool.bytes.max(*size));
        }
        let used = sizes.iter().rposition(|size| *size > 0).map_or(0, |last| last + 1);
        (1..).zip(&sizes[..used]).map(|(number, size)| FirmwarePool::planned(name(number), *size)).collect()
    }

    /// Returns the pool for the method that needs the most.
    fn largest(
        &self,
        name: &str,
        unknown: impl Fn(&BuildNeeds) -> Vec<String>,
        parts: impl Fn(&MethodNeeds, &BuildNeeds) -> Vec<FirmwarePoolPart>,
    ) -> FirmwarePool {
        let build = |method: &'_ MethodNeeds| parts(method, &method.builds[self.build]);
        let size = |parts: &Vec<FirmwarePoolPart>| parts.iter().fold(0u64, |sum, part| sum.saturating_add(part.bytes));
        // Of several, the first.
        let most = self.methods.iter().map(build).rev().max_by_key(size).unwrap_or_default();
        let unknown: BTreeSet<String> =
            self.methods.iter().flat_map(|method| unknown(&method.builds[self.build])).collect();
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
