//! All that can be read can be written: a document that is decoded, written and decoded again gives the same files.

use std::path::{Path, PathBuf};

use crate::Model;
use crate::assembly::Assembly;
use crate::ir::{decode, write};

/// Returns the YAML files below a folder.
fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    let mut paths: Vec<PathBuf> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    for path in paths {
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "yaml" || extension == "json") {
            found.push(path);
        }
    }
}

/// Returns the bytes of all files of an assembly.
fn files(assembly: &Assembly) -> Vec<Vec<u8>> {
    let program = assembly.program_file().map(|file| file.to_vec().unwrap());
    let data = assembly.data_files().map(|(_, file)| file.to_vec().unwrap());
    let bundle = assembly.bundled().ok().map(|bundle| bundle.flatbuffer().to_vec());
    program.into_iter().chain(data).chain(bundle).collect()
}

/// Assembles a source, and the document that is written after it was decoded. Returns the difference of the files;
/// `None` for a source that is not a document without errors.
fn difference(text: &str, folder: &str) -> Option<Result<(), String>> {
    let assembly = Model::from_yaml("test", text, folder).assemble(&Default::default()).ok()?;
    // The values of variables are not filled in.
    let (document, errors) = decode::decode(pte_yaml::tree::parse(text).ok()?, Default::default());
    if !errors.is_empty() {
        return None;
    }
    let mut written = String::new();
    write::write(&document, &mut written);
    Some(match Model::from_yaml("test", &written, folder).assemble(&Default::default()) {
        Ok(again) if files(&again) == files(&assembly) => Ok(()),
        Ok(_) => Err(format!("other files:\n{written}")),
        Err(error) => Err(format!("{error}\n{written}")),
    })
}

#[test]
fn a_document_that_is_written_gives_the_same_files() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut paths = Vec::new();
    for folder in ["examples", "tests/golden"] {
        sources(&root.join(folder), &mut paths);
    }
    let (mut compared, mut different) = (0, Vec::new());
    for path in paths {
        let text = std::fs::read_to_string(&path).unwrap();
        let Some(found) = difference(&text, path.parent().unwrap().to_str().unwrap()) else { continue };
        compared += 1;
        different.extend(found.err().map(|message| format!("{}: {message}", path.display())));
    }
    assert!(different.is_empty(), "{} of {compared}:\n{}", different.len(), different.join("\n"));
    assert!(compared > 500, "{compared} sources were compared");
}

#[test]
fn keys_that_no_example_has_are_written() {
    let random = "{random: {seed: 1, distribution: normal, mean: 2, std: 0.5}}";
    let values = format!(
        "values: {{w: {{tensor: float32, sizes: [2], data: {random}}}, nan: {{double: \"nan:7ff8000000000001\"}}, word: {{string: \"1\"}}}}"
    );
    let group = "{datatype: qbint4, sizes: [2, 64], data: {fill: 8}, group_size: 32, scales: [1, 2, 3, 4], num_scales: 4, scale_bf16: [1, 2], num_dims: 2, id: 0}";
    let nodes =
        "[{unknown: {tag: 60}, extra: [{slot: 0, width: 2, bytes: {hex: \"01 02\"}}], output_max: 6, debug_handle: 1}]";
    let graph = format!(
        "{{values: {{w: {group}, x: {{datatype: fp32, sizes: [1], dq_datatype: fp16}}}}, inputs: [x], outputs: [x], nodes: {nodes}, named_keys: false, version: \"1\"}}"
    );
    for text in [
        format!("runtime: \"0.7\"\nmethods: {{f: {{{values}, outputs: [w, nan, word]}}}}"),
        format!("methods: {{f: {{delegates: {{d: {{backend: XnnpackBackend, graph: {graph}}}}}}}}}"),
    ] {
        assert_eq!(difference(&text, "."), Some(Ok(())), "{text}");
    }
}
