//! A program as a part of a firmware: its needs, and its location and form in the firmware.

use crate::Symbol;
use crate::embed::Section;
use pte_memory::abi::Abi;
use pte_memory::{MethodNeeds, ProgramNeeds};
use pte_payload::ethos_u;

/// Program of a firmware, and the methods that it loads, one at a time.
#[derive(Debug, Clone)]
pub struct FirmwareNeeds<'p> {
    /// Needs of the program.
    pub program: &'p ProgramNeeds,
    /// Methods of it that the firmware loads, one at a time.
    pub methods: Vec<MethodNeeds<'p>>,
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
