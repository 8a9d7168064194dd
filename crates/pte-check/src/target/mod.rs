//! Targets: the kernels that a build of the runtime links, and the memory that its application has. A program is
//! compared with a target by the rules `R-`.
//!
//! The memory that a program needs is computed elsewhere: [`ProgramNeeds`] has the figures.

mod compare;
mod linked;
mod model;
mod parse;

use std::io;
use std::path::{Path, PathBuf};

pub use model::Target;
use pte_memory::ProgramNeeds;
use pte_model::data::files;
use pte_model::error::Error;
use pte_model::program::Program;

use crate::finding::Findings;

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

impl Target {
    /// Returns the target of this name, which is part of the library; `None` for an unknown name.
    pub fn ready(name: &str) -> Option<Target> {
        Target::parse(name, Target::ready_text(name)?).ok()
    }

    /// Returns the text of a ready target, as the start of a custom one; `None` for an unknown name.
    pub fn ready_text(name: &str) -> Option<&'static str> {
        READY.iter().find(|(known, _)| *known == name).map(|(_, text)| *text)
    }

    /// Returns the names of the targets of [`Target::ready`], sorted.
    pub fn ready_names() -> impl Iterator<Item = &'static str> {
        READY.iter().map(|(name, _)| *name)
    }

    /// Reads a file. The files with operators that it names are relative to its folder; with `confine`, they are in
    /// that folder.
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

    /// Compares a program with the target; returns findings of the rules `R-`, of each rule the first `kept`, by
    /// default 20.
    ///
    /// ```
    /// use pte_analysis::kernels::ProgramKernels;
    /// use pte_check::RuleId;
    /// use pte_check::target::Target;
    /// use pte_memory::ProgramNeeds;
    /// use pte_memory::memory::MethodFootprint;
    /// use pte_model::data::Origin;
    /// use pte_model::reader::program::read;
    ///
    /// let program = read(&Origin::Bytes(pte_model::LINEAR_PTE.into()))?.program;
    /// let mut method = MethodFootprint::default();
    /// method.method_allocator.bytes = 2000;
    /// let mut needs = ProgramNeeds { kernels: ProgramKernels::of(&program), ..ProgramNeeds::default() };
    /// needs.memory.iter_mut().for_each(|memory| memory.methods.push(method.clone()));
    ///
    /// let yaml = "{operators: {library: portable_ops_lib}, method_allocator: 1K}";
    /// let board = Target::parse("board.yaml", yaml).unwrap();
    /// let findings = board.check(&program, &needs, None);
    /// assert_eq!((findings.list.len(), findings.list[0].rule.id), (1, RuleId::R_6));
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn check(&self, program: &Program, needs: &ProgramNeeds, kept: Option<usize>) -> Findings {
        compare::check(self, program, needs, kept)
    }
}

fn read_confined(path: &Path, confine: Option<&Path>) -> io::Result<String> {
    if let Some(folder) = confine {
        let file: PathBuf = path.canonicalize()?;
        if !file.starts_with(folder.canonicalize()?) {
            let message = format!("it is not in the folder {}, to which files are confined", folder.display());
            return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
        }
    }
    read(path)
}

/// Reads a text file of a limited size.
fn read(path: &Path) -> io::Result<String> {
    // A pipe could have no end, and no writer.
    if !files::metadata(path)?.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "expected a regular file"));
    }
    let bytes = files::read_up_to(path, parse::MAX_FILE + 1)?;
    if bytes.len() as u64 > parse::MAX_FILE {
        let message = format!("it has more than {} bytes", parse::MAX_FILE);
        return Err(io::Error::new(io::ErrorKind::InvalidData, message));
    }
    String::from_utf8(bytes).map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "it is not UTF-8"))
}

#[cfg(test)]
mod tests;
