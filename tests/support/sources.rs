//! Sources of the repository, assembled by the library.

use std::fs;
use std::path::Path;

use pte_emit::{AssembleOptions, Assembly, Model};
use pte_yaml::template;

/// A call of `topk` whose queue is larger than what the lookup of its kernel takes.
pub const TOPK: &str = "
methods:
  forward:
    values:
      x: {tensor: float32, sizes: [2, 100]}
    inputs: [x]
    outputs: [largest, places]
    instructions:
      - {kernel: aten::topk.values, args: [x, 3], out: [largest, places]}
";

/// Reads the YAML of a file, with the defaults of its variables.
pub fn read(path: &Path) -> String {
    let text = fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let filled = template::fill(&text, &Default::default()).unwrap_or_else(|errors| panic!("{errors:?}")).text;
    filled.into_owned()
}

/// Assembles a source, whose paths are relative to `folder`.
pub fn assembly(name: &str, text: &str, folder: &Path) -> Assembly {
    let input = Model::from_yaml(name, text, folder);
    input.assemble(&AssembleOptions::default()).unwrap_or_else(|error| panic!("{error}"))
}

/// Assembles a file of the repository.
pub fn assembled(path: &Path) -> Assembly {
    assembly(&path.display().to_string(), &read(path), path.parent().unwrap())
}

/// All files of an assembly with their extensions, including a `.bpte` if it has tests that can be bundled.
pub fn files(assembly: &Assembly) -> Vec<(&'static str, Vec<u8>)> {
    let mut files: Vec<(&str, Vec<u8>)> = Vec::new();
    files.extend(assembly.program_file().map(|file| ("pte", file.to_vec().unwrap())));
    files.extend(assembly.data_files().map(|(_, file)| ("ptd", file.to_vec().unwrap())));
    if !assembly.tests.is_empty() {
        files.extend(assembly.bundled().ok().map(|bundle| ("bpte", bundle.to_vec().unwrap())));
    }
    files
}

/// Assembles an example, and returns its file with this extension.
pub fn example(name: &str, extension: &str) -> Vec<u8> {
    let assembly = assembled(&super::root().join("examples").join(name));
    files(&assembly).into_iter().find(|(found, _)| *found == extension).unwrap().1
}
