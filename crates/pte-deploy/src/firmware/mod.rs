//! Files for the projects of firmware: sizes of memory pools, operators and the location of the program, in the form
//! that the build system of a platform reads. They suit the runners among ExecuTorch's examples, whose order of
//! allocation each platform states.
//!
//! It does not compute the needs of a program, and reads and writes no file.

mod arduino;
mod cache;
mod cmake;
mod cmsis;
mod components;
mod esp32;
mod generated;
mod linker;
mod pico;
mod pools;
mod text;
mod zephyr;

#[cfg(test)]
mod tests;

use std::fmt;

use serde::Serialize;

use generated::Generated;

pub use generated::{FirmwareFile, RUNNER_SYMBOL};
pub use pools::{FirmwareNeeds, FirmwarePool, FirmwarePoolPart};
pub use text::is_generated;

use crate::embed::Section;
use crate::operator_name::{is_selectable, not_selectable};
use pte_memory::runner::Runner;
use pte_model::diagnostics::text::{clipped, counted, first_names};
use pte_model::format::words::words;

/// Version of the serialised form.
const VERSION: u32 = 1;

macro_rules! platforms {
    ($( $(#[doc = $documentation:literal])+ $variant:ident $name:literal $module:ident ),* $(,)?) => {
        words! {
            /// Build system, and the runner of ExecuTorch whose pools are computed.
            #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
            #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
            #[serde(rename_all = "lowercase")]
            #[non_exhaustive]
            pub enum FirmwarePlatform { $( $(#[doc = $documentation])+ $variant $name ),* } fn name;
        }

        impl FirmwarePlatform {
            /// Returns the description.
            #[doc(hidden)]
            pub fn doc(self) -> &'static str {
                match self { $( FirmwarePlatform::$variant => concat!($($documentation),+).trim() ),* }
            }

            /// Returns the runner; `None` if the application has its own.
            fn runner(self) -> Option<&'static Runner> {
                match self { $( FirmwarePlatform::$variant => $module::RUNNER ),* }
            }

            fn generate(self, needs: &FirmwareNeeds) -> Generated {
                match self { $( FirmwarePlatform::$variant => $module::generate(needs) ),* }
            }
        }
    };
}

platforms! {
    /// Zephyr: Kconfig and CMake.
    Zephyr "zephyr" zephyr,
    /// CMSIS-Toolbox: a layer with the components of ExecuTorch's CMSIS pack.
    Cmsis "cmsis" cmsis,
    /// ESP-IDF: sdkconfig, a table of partitions and CMake.
    Esp32 "esp32" esp32,
    /// Raspberry Pi Pico SDK: CMake and a header.
    Pico "pico" pico,
    /// Arduino IDE and arduino-cli: a header for a sketch with ExecuTorch's library.
    Arduino "arduino" arduino,
    /// Any project with CMake: cache variables and compile definitions.
    Cmake "cmake" cmake,
}

/// Files of a project, and the figures in them: the result of [`firmware`].
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Firmware {
    /// Version of the serialised form: it grows when a key changes.
    #[cfg_attr(feature = "schema", schemars(extend("const" = VERSION)))]
    pub version: u32,
    /// Platform.
    pub platform: FirmwarePlatform,
    /// Runner whose pools are computed, a path in ExecuTorch's repository; `None` if the application has its own.
    pub runner: Option<&'static str>,
    /// Name of the program's file.
    pub program: String,
    /// Its SHA-256, in hexadecimal digits.
    pub sha256: String,
    /// Its size in bytes.
    pub bytes: u64,
    /// Methods that the firmware loads, one at a time.
    pub methods: Vec<String>,
    /// Pools of memory.
    pub pools: Vec<FirmwarePool>,
    /// Operators of the program.
    pub operators: Vec<String>,
    /// Backends of its delegates.
    pub backends: Vec<String>,
    /// Needs that the files cannot meet, and unknown ones.
    pub warnings: Vec<String>,
    /// Generated files, sorted by path.
    pub files: Vec<FirmwareFile>,
}

/// Reason why no files are generated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FirmwareError {
    /// Operator whose name no build system can express.
    Operator(String),
    /// Section of Mach-O, which the linkers of firmware do not have.
    Section(Section),
    /// Section for a platform that places the program in another way.
    UnusedSection(FirmwarePlatform),
    /// Size in bytes of a program that no flash of the platform has room for.
    Flash(u64),
    /// No method to load.
    NoMethod,
}

impl fmt::Display for FirmwareError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FirmwareError::Operator(name) => f.write_str(&not_selectable(name)),
            FirmwareError::Flash(bytes) => write!(
                f,
                "the program of {} exceeds the largest flash that ESP-IDF supports, {} MiB",
                counted(*bytes, "byte"),
                esp32::LARGEST_FLASH
            ),
            FirmwareError::Section(section) => {
                write!(f, "section `{}` is one of Mach-O: expected the name of a section of ELF", section.as_str())
            }
            FirmwareError::UnusedSection(platform) => write!(
                f,
                "`{}` has no linker script for a section of the program; omit `--section`, or place the array with the fragments of its \
                 build system",
                platform.name()
            ),
            FirmwareError::NoMethod => write!(f, "the program has no method to load"),
        }
    }
}

impl std::error::Error for FirmwareError {}

/// Generates the files of a platform.
///
/// # Errors
/// Names that the files cannot contain; a program without a method.
pub fn firmware(needs: &FirmwareNeeds, platform: FirmwarePlatform) -> Result<Firmware, Vec<FirmwareError>> {
    let mut errors: Vec<FirmwareError> = needs
        .operators()
        .filter(|name| !is_selectable(name))
        .map(|name| FirmwareError::Operator(name.to_owned()))
        .collect();
    match &needs.section {
        Some(section) if section.is_mach_o() => errors.push(FirmwareError::Section(section.clone())),
        Some(_) if matches!(platform, FirmwarePlatform::Esp32 | FirmwarePlatform::Arduino) => {
            errors.push(FirmwareError::UnusedSection(platform));
        }
        Some(_) | None => {}
    }
    if platform == FirmwarePlatform::Esp32 && esp32::flash(needs).is_none() {
        errors.push(FirmwareError::Flash(needs.program.bytes));
    }
    if needs.methods.is_empty() {
        errors.push(FirmwareError::NoMethod);
    }
    if !errors.is_empty() {
        return Err(errors);
    }
    let mut generated = platform.generate(needs);
    let mut warnings = warnings(needs, platform, &generated.pools);
    warnings.append(&mut generated.warnings);
    generated.files.sort_by(|left, right| left.path.cmp(&right.path));
    Ok(Firmware {
        version: VERSION,
        platform,
        runner: platform.runner().map(|runner| runner.path),
        program: needs.file.clone(),
        sha256: needs.sha256.clone(),
        bytes: needs.program.bytes,
        methods: needs.loaded().map(|method| method.name.clone()).collect(),
        pools: generated.pools,
        operators: needs.operators().map(str::to_owned).collect(),
        backends: needs.backends().map(str::to_owned).collect(),
        warnings,
        files: generated.files,
    })
}

/// Warnings that hold for all platforms.
fn warnings(needs: &FirmwareNeeds, platform: FirmwarePlatform, pools: &[FirmwarePool]) -> Vec<String> {
    let mut warnings = Vec::new();
    for pool in pools.iter().filter(|pool| pool.at_least) {
        let unknown = first_names(pool.unknown.iter().map(String::as_str));
        warnings.push(format!(
            "{} is a lower bound of {}: the memory of {unknown} is not known",
            pool.name,
            counted(pool.bytes, "byte")
        ));
    }
    if needs.program.needs_data_files {
        warnings.push(format!(
            "{} needs data of .ptd files, which ExecuTorch's runners do not load: assemble it with `--internal-data`, or load \
             them in the application",
            needs.file
        ));
    }
    for (number, method, device) in devices(needs) {
        warnings.push(format!(
            "pool {number} of `{}` is on device {device}, but the runner allocates it in RAM",
            clipped(method)
        ));
    }
    warnings.extend(heap(needs));
    warnings.extend(cache::warnings(needs));
    let Some(Runner { path: runner, backends, .. }) = platform.runner() else { return warnings };
    let others = needs.backends().filter(|name| !backends.contains(name) && cache::backend_option(name).is_some());
    let others: Vec<&str> = others.collect();
    if !others.is_empty() {
        let names = first_names(others.into_iter());
        warnings.push(format!("{runner} does not build the backend {names}: build it, and link its library"));
    }
    let first = needs.program.methods(needs.abi).first().map(|method| &*method.name);
    let others: Vec<&str> = needs.loaded().map(|method| &*method.name).filter(|name| first != Some(name)).collect();
    if let (false, Some(first)) = (others.is_empty(), first) {
        warnings.push(format!(
            "{runner} runs the first method, `{}`: change it to run {}",
            clipped(first),
            first_names(others.into_iter())
        ));
    }
    if needs.symbol.as_str() != RUNNER_SYMBOL {
        warnings.push(format!(
            "{runner} has the program in the array `{RUNNER_SYMBOL}`: change it to use `{}`",
            needs.symbol
        ));
    }
    warnings
}

/// Warning about memory of delegates that is in no pool.
fn heap(needs: &FirmwareNeeds) -> Option<String> {
    let largest = needs.loaded().max_by_key(|method| method.delegate_bytes);
    let largest = largest.filter(|method| method.delegate_bytes > 0)?;
    let least = if largest.not_counted.is_empty() { "" } else { "at least " };
    let bytes = counted(largest.delegate_bytes, "byte");
    Some(format!(
        "delegates take {least}{bytes} from the heap (`malloc`), which is none of the pools: the firmware needs a heap of this size"
    ))
}

/// Pools that are not in the memory of the processor: number, method and device.
fn devices<'n>(needs: &'n FirmwareNeeds<'_>) -> impl Iterator<Item = (usize, &'n str, &'n str)> {
    needs.loaded().flat_map(|method| {
        let pools = method.pools.iter().filter(|pool| pool.bytes > 0 && !pool.device.starts_with("cpu"));
        pools.map(|pool| (pool.pool, &*method.name, &*pool.device))
    })
}
