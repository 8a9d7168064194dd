//! The result of a platform, and code that several platforms share.

use std::fmt::Display;

use serde::Serialize;

use super::pools::{FirmwareNeeds, FirmwarePool, POOL_ALIGNMENT};
use super::text::{Comment, filled};
use pte_memory::memory::MethodFootprint;
use pte_memory::runner::Runner;
use pte_model::diagnostics::text::{clipped, counted};

/// Section of the program in the runners that have one.
pub const SECTION: &str = "network_model_sec";

/// Array of the program in ExecuTorch's runners.
pub const RUNNER_SYMBOL: &str = "model_pte";

/// Generated file, part of [`Firmware`](super::Firmware).
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct FirmwareFile {
    /// Path, relative to the folder of the generated files.
    pub path: String,
    /// Content.
    #[serde(skip)]
    pub text: String,
}

/// Files, pools and warnings of a platform.
#[derive(Default)]
pub struct Generated {
    /// Pools of memory.
    pub pools: Vec<FirmwarePool>,
    /// Files.
    pub files: Vec<FirmwareFile>,
    /// Warnings of this platform.
    pub warnings: Vec<String>,
}

impl Generated {
    /// Adds a file of a template, whose `{{head}}` is the first line.
    pub fn template(&mut self, needs: &FirmwareNeeds, path: &str, template: &str, values: &[(&str, &dyn Display)]) {
        let comment = if path.ends_with(".h") || path.ends_with(".ld") { Comment::Block } else { Comment::Hash };
        let head = comment.head(needs);
        let mut all: Vec<(&str, &dyn Display)> = vec![("head", &head)];
        all.extend(values);
        self.file(path, filled(template, &all));
    }

    /// Adds a header with the sizes of the pools.
    pub fn pools_header(&mut self, needs: &FirmwareNeeds) {
        let define =
            |pool: &FirmwarePool| format!("{}#define {} {}\n", Comment::Block.pool(pool), pool.name, pool.bytes);
        let pools: String = self.pools.iter().map(define).collect();
        let prefix = needs.symbol.to_macro();
        let values: [(&str, &dyn Display); 3] =
            [("prefix", &prefix), ("alignment", &POOL_ALIGNMENT), ("pools", &pools)];
        self.template(needs, "pte_emit_pools.h", include_str!("templates/pools.h"), &values);
    }

    /// Adds a file.
    pub fn file(&mut self, path: impl Into<String>, text: String) {
        self.files.push(FirmwareFile { path: path.into(), text });
    }
}

/// Warning about kernels that need the temporary allocator that a runner does not have.
pub fn no_temporary_allocator(needs: &FirmwareNeeds) -> Option<String> {
    let text = "kernels take temporary memory, but the runner has no temporary allocator: give its MemoryManager one";
    needs.loaded().any(|method| method.temporary_allocator.kernels > 0).then(|| text.to_owned())
}

/// Warning about inputs for which a runner allocates no memory.
pub fn unplanned_inputs(needs: &FirmwareNeeds, runner: &Runner) -> Option<String> {
    let provided = |method: &MethodFootprint| method.inputs.provided().count();
    let method = needs.loaded().find(|method| provided(method) > 0)?;
    let inputs = counted(provided(method), "input");
    let name = clipped(&method.name);
    Some(format!(
        "{} has no memory for {inputs} of `{name}` that no pool contains: set the pointers in the application",
        runner.path
    ))
}
