//! The result of a platform, and code that several platforms share.

use std::fmt::Display;

use serde::Serialize;

use super::pools::{FirmwareNeeds, FirmwarePool};
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

    /// Adds a file.
    pub fn file(&mut self, path: impl Into<String>, text: String) {
        self.files.push(FirmwareFile { path: path.into(), text });
    }
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
