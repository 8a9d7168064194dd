//! Texts beside the files that they must become: assembles, compares, and says where two files differ first.
//!
//! Knows neither which texts there are nor who wrote the files.

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use pte_emit::{Assembly, Options as AssembleOptions, Source};

/// What ExecuTorch calls the `.ptd` of constants without a tag.
pub const DEFAULT_PTD: &str = "_default_external_constant.ptd";

/// A file with its name.
pub type Output = (String, Vec<u8>);

/// A folder below `tests/golden`: `<name>.yaml` and, in folders, references.
pub struct Goldens(pub PathBuf);

impl Goldens {
    /// The folder of that name.
    pub fn of(folder: &str) -> Goldens {
        Goldens(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(folder))
    }

    /// The text called `name`.
    pub fn text(&self, name: &str) -> String {
        let path = self.0.join(name).with_extension("yaml");
        fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    }

    /// All files of the text called `name`.
    pub fn assemble(&self, name: &str, overrides: &AssembleOptions) -> Vec<Output> {
        assemble(name, &self.text(name), &self.0, overrides)
    }

    /// The warnings about the text called `name`.
    pub fn warnings(&self, name: &str) -> String {
        assembly(name, &self.text(name), &self.0, &AssembleOptions::default()).warnings.to_string()
    }

    /// Complaints about a text's files that are not the references.
    pub fn differences(&self, name: &str, found: &[Output], references: &str, files: &[&str]) -> String {
        let names: Vec<&str> = found.iter().map(|(name, _)| name.as_str()).collect();
        if names != files {
            return format!("{name} makes the files {names:?}, expected {files:?}\n");
        }
        let compare = |(file, bytes): &Output| self.difference(name, bytes, &format!("{references}/{file}"));
        found.iter().filter_map(compare).collect()
    }

    /// A complaint if a file is not the reference.
    pub fn difference(&self, name: &str, found: &[u8], reference: &str) -> Option<String> {
        let expected = fs::read(self.0.join(reference)).unwrap_or_else(|error| panic!("{reference}: {error}"));
        difference_of(&format!("{name} is not {reference}"), found, &expected)
    }

    /// Asserts that the folder and the folders in it hold these files and no others.
    pub fn assert_holds(&self, files: impl Iterator<Item = String>) {
        let mut found = Vec::new();
        for entry in fs::read_dir(&self.0).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_str().unwrap().to_owned();
            if path.is_dir() {
                let files = fs::read_dir(path).unwrap();
                found.extend(files.map(|file| format!("{name}/{}", file.unwrap().file_name().to_str().unwrap())));
            } else {
                found.push(name);
            }
        }
        let mut expected: Vec<String> = files.collect();
        found.sort();
        expected.sort();
        expected.dedup();
        assert_eq!(found, expected);
    }
}

/// All files of a text, named as ExecuTorch names them.
pub fn assemble(name: &str, text: &str, folder: &Path, overrides: &AssembleOptions) -> Vec<Output> {
    outputs(&assembly(name, text, folder, overrides))
}

fn assembly(name: &str, text: &str, folder: &Path, overrides: &AssembleOptions) -> Assembly {
    let input = Source::yaml(name, text, folder);
    pte_emit::assemble(&input, overrides).unwrap_or_else(|error| panic!("{error}"))
}

fn outputs(assembly: &Assembly) -> Vec<Output> {
    let mut outputs = Vec::new();
    if let Some(file) = assembly.program_file() {
        outputs.push(("model.pte".to_owned(), file.to_vec().unwrap()));
    }
    for (tag, file) in assembly.data_files() {
        let name = tag.map_or(DEFAULT_PTD.to_owned(), |tag| format!("{tag}.ptd"));
        outputs.push((name, file.to_vec().unwrap()));
    }
    outputs
}

/// Where two files differ first, with the rows around that place; `None` if they do not.
pub fn difference_of(what: &str, found: &[u8], expected: &[u8]) -> Option<String> {
    if found == expected {
        return None;
    }
    let common = found.iter().zip(expected).take_while(|(a, b)| a == b).count();
    let mut message = format!("{what}: {} bytes, expected {}\n", found.len(), expected.len());
    writeln!(message, "first difference at byte {common} (0x{common:x})").unwrap();
    let start = (common & !15).saturating_sub(16);
    for (side, bytes) in [("found", found), ("expected", expected)] {
        writeln!(message, "{side}:").unwrap();
        let end = bytes.len().min(start + 64);
        for (row, chunk) in bytes.get(start..end).unwrap_or_default().chunks(16).enumerate() {
            let hex: Vec<String> = chunk.iter().map(|byte| format!("{byte:02x}")).collect();
            writeln!(message, "  {:06x}  {}", start + row * 16, hex.join(" ")).unwrap();
        }
    }
    Some(message)
}
