//! Targets: what a build of the runtime links, and the memory that its application has. A program is compared with a target by the rules
//! `R-`.
//!
//! The memory that a program needs is computed elsewhere: [`TargetNeeds`] has the figures.

mod compare;
mod linked;
mod parse;

use std::collections::BTreeSet;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use pte_analysis::kernels::ProgramKernels;
use pte_model::error::Error;
use pte_model::program::Program;

use crate::finding::Findings;
use linked::LinkedOperators;

/// Build of the runtime and its application: the operators and backends that it links, and its memory. What it does not state is not
/// compared.
///
/// ```
/// use pte_check::target::{Target, TargetAbi};
///
/// let board = Target::parse("board.yaml", "operators: [aten::add.out]\nabi: arm32\nmethod_allocator: 64K\n")?;
/// assert_eq!((board.name(), board.abi()), ("board.yaml", TargetAbi::Arm32));
///
/// let error = Target::parse("board.yaml", "method_alocator: 64K\n").unwrap_err();
/// assert!(error.to_string().starts_with("board.yaml:1:1: error: unknown key `method_alocator`"), "{error}");
/// assert!(Target::ready("wheel-1.5.1").is_some());
/// # Ok::<(), pte_model::error::Error>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct Target {
    name: String,
    description: String,
    release: Option<Release>,
    operators: Option<LinkedOperators>,
    backends: Option<BTreeSet<String>>,
    abi: TargetAbi,
    pools: Option<Pools>,
    method_allocator: Option<u64>,
    temporary_allocator: Option<u64>,
    alignment: Option<u64>,
    largest_file: Option<u64>,
}

/// Binary interface of a [`Target`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum TargetAbi {
    /// 64-bit x86 and Arm.
    #[default]
    Bits64,
    /// 32-bit Arm.
    Arm32,
}

impl TargetAbi {
    /// Alignment in bytes of `max_align_t`, to which the runtime requires the address of a program to be aligned (H-11).
    fn alignment(self) -> u64 {
        match self {
            TargetAbi::Bits64 => 16,
            TargetAbi::Arm32 => 8,
        }
    }
}

/// Planned memory of a target.
#[derive(Debug, Clone)]
enum Pools {
    /// Size in bytes of each pool, from pool 1.
    Sizes(Vec<u64>),
    /// Size in bytes of all pools of a method.
    Total(u64),
    /// The application takes the pools from the method allocator, as the runners of ExecuTorch do.
    InMethodAllocator,
}

/// Release of the runtime: two or three numbers.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Release {
    text: String,
    /// Major and minor number.
    numbers: (u32, u32),
}

impl Release {
    /// Parses a release such as `1.5.1` or `1.5`.
    fn parse(text: &str) -> Option<Release> {
        let numbers = text.split('.').map(|number| number.parse().ok()).collect::<Option<Vec<u32>>>()?;
        match numbers[..] {
            [major, minor] | [major, minor, _] => Some(Release { text: text.to_owned(), numbers: (major, minor) }),
            _ => None,
        }
    }
}

/// Figures of a program that a target must meet.
#[derive(Debug, Clone, Default)]
pub struct TargetNeeds {
    /// Size of the program file in bytes.
    pub file_size: u64,
    /// Kernels and backends.
    pub kernels: ProgramKernels,
    /// Memory of each method, in the order of the program.
    pub methods: Vec<MethodNeeds>,
}

/// Memory that a method needs, in bytes, for the [`TargetAbi`] of the target.
#[derive(Debug, Clone, Default)]
pub struct MethodNeeds {
    /// Pools of planned memory: number from 1, size and alignment of each.
    pub pools: Vec<(usize, u64, u64)>,
    /// Method allocator, beside a temporary allocator.
    pub method_allocator: u64,
    /// Method allocator without a temporary allocator.
    pub without_temporary: u64,
    /// Temporary allocator that kernels need; that of the lookup of kernels can be in the method allocator.
    pub temporary_kernels: u64,
    /// First instruction that takes this from the temporary allocator.
    pub temporary_largest: Option<String>,
    /// Temporary allocator that the lookup of kernels needs.
    pub temporary_lookup: u64,
}

/// Targets that are known by name.
const READY: &[(&str, &str)] = &[
    ("android-aar", include_str!("../../targets/android-aar.yaml")),
    ("arm-executor-runner", include_str!("../../targets/arm-executor-runner.yaml")),
    ("esp32", include_str!("../../targets/esp32.yaml")),
    ("esp32-psram", include_str!("../../targets/esp32-psram.yaml")),
    ("ios", include_str!("../../targets/ios.yaml")),
    ("pico2", include_str!("../../targets/pico2.yaml")),
    ("wheel-1.5.1", include_str!("../../targets/wheel-1.5.1.yaml")),
    ("zephyr-hello", include_str!("../../targets/zephyr-hello.yaml")),
];

/// Largest file of a target, or of its operators, in bytes.
const MAX_FILE: u64 = 64 << 20;

impl Target {
    /// Returns the target of this name, which is part of the library; `None` for an unknown name.
    pub fn ready(name: &str) -> Option<Target> {
        let (name, text) = READY.iter().find(|(known, _)| *known == name)?;
        Target::parse(name, text).ok()
    }

    /// Returns the names of the targets of [`Target::ready`], sorted.
    pub fn ready_names() -> impl Iterator<Item = &'static str> {
        READY.iter().map(|(name, _)| *name)
    }

    /// Reads a file. The files with operators that it names are relative to its folder; with `confine`, they are in that folder.
    ///
    /// # Errors
    /// A file that cannot be read, has more than 64 MiB or is outside of the folder; all malformed keys and values.
    pub fn open(path: &Path, confine: Option<&Path>) -> Result<Target, Error> {
        let name = path.display().to_string();
        let text = read(path).map_err(|error| Error::io(&name, "", &error))?;
        let folder = path.parent().unwrap_or(Path::new("")).to_owned();
        parse::target(&name, &text, &|file| read_confined(&folder.join(file), confine))
    }

    /// Parses a target that names no files. Messages call it `name`.
    ///
    /// # Errors
    /// All malformed keys and values.
    pub fn parse(name: &str, text: &str) -> Result<Target, Error> {
        parse::target(name, text, &|_| Err(io::Error::new(io::ErrorKind::Unsupported, "files cannot be named here")))
    }

    /// Returns the name in messages: that of the file, or of the ready target.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the description in the file; may be empty.
    pub fn description(&self) -> &str {
        &self.description
    }

    /// Returns the binary interface, for which memory is computed.
    pub fn abi(&self) -> TargetAbi {
        self.abi
    }

    /// Returns `true` if the target states which operators it links.
    pub fn states_operators(&self) -> bool {
        self.operators.is_some()
    }

    /// Compares a program with the target; returns findings of the rules `R-`.
    pub fn check(&self, program: &Program, needs: &TargetNeeds, kept: Option<usize>) -> Findings {
        compare::check(self, program, needs, kept)
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

fn read_confined(path: &Path, confine: Option<&Path>) -> io::Result<String> {
    if let Some(folder) = confine {
        let (file, folder): (PathBuf, PathBuf) = (path.canonicalize()?, folder.canonicalize()?);
        if !file.starts_with(&folder) {
            let message = format!("it is not in the folder {}, to which files are confined", folder.display());
            return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
        }
    }
    read(path)
}

/// Reads a text file of a limited size.
fn read(path: &Path) -> io::Result<String> {
    use io::Read;
    let mut bytes = Vec::new();
    std::fs::File::open(path)?.take(MAX_FILE + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MAX_FILE {
        return Err(io::Error::new(io::ErrorKind::InvalidData, format!("it has more than {MAX_FILE} bytes")));
    }
    String::from_utf8(bytes).map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "it is not UTF-8"))
}

#[cfg(test)]
mod tests;
