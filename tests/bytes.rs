//! The texts of `tests/golden/bytes` must become, bit for bit, the files that ExecuTorch 1.5.1 wrote for the same modules.
//!
//! Judges bytes alone: whether the runtime likes them, and what is said about texts that are wrong, is tested elsewhere.

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use pte_emit::ir::document::Layout;
use pte_emit::layout::{Builder, Home};
use pte_emit::{Assembly, Input, Overrides};

/// What ExecuTorch calls the `.ptd` of constants without a tag.
const DEFAULT_PTD: &str = "_default_external_constant.ptd";

/// Every text with the folder of its references and all files that it makes. Listed by hand, so that neither a text nor
/// a reference can get lost; a test compares the list with the folder.
const GOLDEN: &[(&str, &str, &[&str])] = &[
    ("add", "add", &["model.pte"]),
    ("addmul", "addmul", &["model.pte"]),
    ("addmul_ext", "addmul_ext", &["model.pte", DEFAULT_PTD]),
    ("bf16", "bf16", &["model.pte"]),
    ("buffer_names", "buffer_names", &["model.pte"]),
    ("buffers", "buffers", &["model.pte"]),
    ("cat", "cat", &["model.pte"]),
    ("channels_last", "channels_last", &["model.pte"]),
    ("cond", "cond", &["model.pte"]),
    ("conv_dyn", "conv_dyn", &["model.pte"]),
    ("conv_xnn", "conv_xnn", &["model.pte"]),
    ("index", "index", &["model.pte"]),
    ("linear", "linear", &["model.pte"]),
    ("linear_align", "linear_align", &["model.pte"]),
    // What is computed for linear.yaml, written out: it must change nothing.
    ("linear_explicit", "linear", &["model.pte"]),
    ("linear_ext", "linear_ext", &["model.pte", DEFAULT_PTD]),
    ("linear_stack", "linear_stack", &["model.pte"]),
    ("lora_tags", "lora_tags", &["model.pte", "first.ptd", "second.ptd"]),
    ("multi", "multi", &["model.pte"]),
    ("nested", "nested", &["model.pte"]),
    ("split", "split", &["model.pte"]),
    ("stateful_init", "stateful_init", &["model.pte"]),
    ("static_view", "static_view", &["model.pte"]),
    ("topk", "topk", &["model.pte"]),
    ("view_dyn", "view_dyn", &["model.pte"]),
    ("xnn_dyn", "xnn_dyn", &["model.pte"]),
];

/// Files that a text reads, which lie among the references.
const PAYLOADS: &[&str] = &["conv_xnn/conv.bin", "conv_xnn/conv_w.bin", "conv_xnn/linear.bin", "xnn_dyn/linear.bin"];

/// The first bytes of a `.ptd` on the format page: `a * x + b`, segments aligned to 16. The page shows three rows.
const PAGE: &str = "\
    44 00 00 00  46 54 30 31  46 48 30 31  28 00 00 00
    30 00 00 00  00 00 00 00  00 01 00 00  00 00 00 00
    30 01 00 00  00 00 00 00  20 00 00 00  00 00 00 00";

/// The row after them, which the page leaves out: the header's padding, and where the FlatBuffer begins.
const BEHIND_PAGE: &str = "00 00 00 00  00 00 00 00  00 00 0a 00  0c 00 00 00";

/// A file with its name.
type Output = (String, Vec<u8>);

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/bytes")
}

fn text(name: &str) -> String {
    read_text(&folder().join(name).with_extension("yaml"))
}

fn read_text(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn read(path: &str) -> Vec<u8> {
    fs::read(folder().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// All files of a text, named as ExecuTorch names them.
fn assemble(name: &str, text: &str, folder: &Path, overrides: &Overrides) -> Vec<Output> {
    let input = Input { name, text, folder };
    let assembly = pte_emit::assemble(&input, overrides).unwrap_or_else(|report| panic!("{}", report.render(false)));
    assert_eq!(assembly.warnings.render(false), "", "{name} gives no warnings");
    outputs(&assembly)
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

fn assemble_golden(name: &str) -> Vec<Output> {
    assemble(name, &text(name), &folder(), &Overrides::default())
}

/// Complaints about a text's files that are not the references.
fn differences(name: &str, found: &[Output], references: &str, files: &[&str]) -> String {
    let names: Vec<&str> = found.iter().map(|(name, _)| name.as_str()).collect();
    if names != files {
        return format!("{name} makes the files {names:?}, expected {files:?}\n");
    }
    let compare = |(file, bytes): &Output| difference(name, bytes, &format!("{references}/{file}"));
    found.iter().filter_map(compare).collect()
}

fn difference(name: &str, found: &[u8], reference: &str) -> Option<String> {
    difference_of(&format!("{name} is not {reference}"), found, &read(reference))
}

/// Where two files differ first, with the rows around that place; `None` if they do not.
fn difference_of(what: &str, found: &[u8], expected: &[u8]) -> Option<String> {
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

fn hex(text: &str) -> Vec<u8> {
    text.split_whitespace().map(|byte| u8::from_str_radix(byte, 16).unwrap()).collect()
}

#[test]
fn texts_become_the_files_that_executorch_wrote() {
    let compare = |(name, references, files): &(&str, &str, &[&str])| {
        differences(name, &assemble_golden(name), references, files)
    };
    let complaints: String = GOLDEN.iter().map(compare).collect();
    assert!(complaints.is_empty(), "{complaints}");
}

#[test]
fn no_text_and_no_reference_is_left_out() {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder()).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        if path.is_dir() {
            let files = fs::read_dir(path).unwrap();
            found.extend(files.map(|file| format!("{name}/{}", file.unwrap().file_name().to_str().unwrap())));
        } else {
            found.push(name);
        }
    }
    let texts = GOLDEN.iter().map(|(name, _, _)| format!("{name}.yaml"));
    let references =
        GOLDEN.iter().flat_map(|(_, folder, files)| files.iter().map(move |file| format!("{folder}/{file}")));
    let older = FLATC.iter().map(|(name, _)| format!("flatc_layout/{name}.pte"));
    let mut expected: Vec<String> =
        texts.chain(references).chain(older).chain(PAYLOADS.iter().map(|&path| path.into())).collect();
    found.sort();
    expected.sort();
    expected.dedup();
    assert_eq!(found, expected);
}

#[test]
fn the_same_text_gives_the_same_bytes_twice_and_elsewhere() {
    let elsewhere = tempfile::tempdir().unwrap();
    for payload in PAYLOADS {
        let copy = elsewhere.path().join(payload);
        fs::create_dir_all(copy.parent().unwrap()).unwrap();
        fs::copy(folder().join(payload), copy).unwrap();
    }
    for (name, _, _) in GOLDEN {
        let text = text(name);
        let first = assemble_golden(name);
        assert!(first == assemble_golden(name), "{name} gives the same bytes twice");
        let moved = assemble("another name", &text, elsewhere.path(), &Overrides::default());
        assert!(first == moved, "{name} gives the same bytes from another folder");
    }
}

#[test]
fn json_gives_the_same_bytes_as_yaml() {
    for (name, references, files) in GOLDEN {
        let document: serde_yaml::Value = serde_yaml::from_str(&text(name)).unwrap();
        // Not by way of a JSON value: that would sort the keys, and their order is that of the values.
        let json = serde_json::to_string_pretty(&document).unwrap();
        let found = assemble(&format!("{name}.json"), &json, &folder(), &Overrides::default());
        let complaints = differences(name, &found, references, files);
        assert!(complaints.is_empty(), "as JSON, {complaints}");
    }
}

#[test]
fn all_constants_can_be_sent_to_a_ptd() {
    let overrides = Overrides { external_data: true, ..Overrides::default() };
    let found = assemble("addmul", &text("addmul"), &folder(), &overrides);
    let complaints = differences("addmul with external data", &found, "addmul_ext", &["model.pte", DEFAULT_PTD]);
    assert!(complaints.is_empty(), "{complaints}");
}

#[test]
fn the_ptd_begins_as_the_format_page_shows() {
    let layout = Layout { segment_alignment: Some(16), ..Layout::default() };
    let overrides = Overrides { layout, external_data: true, ..Overrides::default() };
    let found = assemble("addmul", &text("addmul"), &folder(), &overrides);
    let (_, ptd) = found.iter().find(|(name, _)| name == DEFAULT_PTD).unwrap();
    let expected = [hex(PAGE), hex(BEHIND_PAGE)].concat();
    assert_eq!(expected.len(), 64);
    let difference = difference_of("the .ptd does not begin as the page shows", &ptd[..64], &expected);
    assert!(difference.is_none(), "{}", difference.unwrap_or_default());
}

/// The programs that flatc wrote from JSON, each with what its text needs at the end: flatc was given a list of named
/// data in any case, the exporter leaves an empty one out.
const FLATC: &[(&str, &str)] =
    &[("add", ""), ("conv_xnn", ""), ("linear", "named_data: {}"), ("lora_tags", ""), ("multi", "named_data: {}")];

#[test]
fn the_older_layout_is_the_one_that_flatc_wrote() {
    for (name, more) in FLATC {
        let mut layout = Layout { builder: Some(Builder::Flatc), ..Layout::default() };
        if *name == "conv_xnn" {
            // This one was made with the delegates inside the FlatBuffer.
            layout.delegates = Some(Home::Inline);
        }
        let text = text(name) + more;
        let found = assemble(name, &text, &folder(), &Overrides { layout, ..Overrides::default() });
        let difference = difference(name, &found[0].1, &format!("flatc_layout/{name}.pte"));
        assert!(difference.is_none(), "{}", difference.unwrap_or_default());
    }
}
