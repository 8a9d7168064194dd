//! `--depfile`: the files that a command has read, as a rule of Make, which Make, Ninja and CMake read.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use indexmap::IndexSet;
use pte_emit::Model;

use super::exit::Failure;
use super::io::{self, STREAM};
use super::outputs::{Outputs, Replaced};
use super::sources::SourceArguments;

/// Files that a command has read.
#[derive(Default)]
pub struct Dependencies(IndexSet<PathBuf>);

impl Dependencies {
    /// Begins with the arguments of a command.
    pub fn new(inputs: &[PathBuf], sources: &SourceArguments) -> Dependencies {
        let named = inputs.iter().filter(|input| input.as_os_str() != STREAM).chain(sources.files());
        Dependencies(named.cloned().collect())
    }

    /// Adds the files that the YAML of a source refers to.
    ///
    /// # Errors
    /// The YAML is invalid.
    pub fn add_model(&mut self, model: &Model) -> Result<(), Failure> {
        if model.is_text() {
            self.add_assembly(model.assembly()?);
        }
        Ok(())
    }

    /// Adds the files that the data of an assembly are read from.
    pub fn add_assembly(&mut self, assembly: &pte_emit::Assembly) {
        assembly.data_sources(&mut |path| {
            self.0.insert(path.to_owned());
        });
    }

    /// Adds those of others.
    pub fn extend(&mut self, others: Dependencies) {
        self.0.extend(others.0);
    }

    /// The paths, in the order in which they were added.
    pub fn paths(&self) -> impl Iterator<Item = &Path> {
        self.0.iter().map(PathBuf::as_path)
    }

    /// Writes the rule for `targets` with the other outputs.
    ///
    /// # Errors
    /// A path that such a file cannot contain, or the file would replace one of them; I/O errors.
    pub fn write<'t>(
        &self,
        depfile: &Path,
        targets: impl Iterator<Item = &'t Path>,
        outputs: &mut Outputs,
    ) -> Result<(), Failure> {
        let targets: Vec<&Path> = targets.collect();
        io::check_output(depfile, self.paths().chain(targets.iter().copied())).map_err(Failure::Usage)?;
        let mut rule = Vec::new();
        for (index, target) in targets.iter().enumerate() {
            rule.extend_from_slice(if index > 0 { b" " } else { b"" });
            escape(target.as_os_str(), &mut rule)?;
        }
        rule.push(b':');
        for path in self.paths() {
            rule.extend_from_slice(b" \\\n  ");
            escape(path.as_os_str(), &mut rule)?;
        }
        rule.push(b'\n');
        let is_rule = |head: &str| head.lines().next().is_some_and(|line| line.ends_with(": \\"));
        outputs.write(depfile, Replaced::Generated(is_rule), 0, &|_| (), |out| out.write_all(&rule))
    }
}

/// Writes a path as Make and Ninja read it.
fn escape(path: &OsStr, out: &mut Vec<u8>) -> Result<(), Failure> {
    for byte in path.as_encoded_bytes() {
        match byte {
            b'\n' | b'\r' => {
                let message = format!("`--depfile` cannot contain the path {}: it has several lines", path.display());
                return Err(Failure::Usage(message));
            }
            b' ' | b'\t' | b'#' => out.extend([b'\\', *byte]),
            b'$' => out.extend(b"$$"),
            _ => out.push(*byte),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_escaped_as_make_reads_them() {
        let escaped = |path: &str| {
            let mut out = Vec::new();
            escape(OsStr::new(path), &mut out).map(|()| String::from_utf8(out).unwrap())
        };
        assert_eq!(escaped("a b#c$d.pte").unwrap(), "a\\ b\\#c$$d.pte");
        assert!(escaped("a\nb").is_err());
    }
}
