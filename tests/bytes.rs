//! The texts of `tests/golden/bytes` must become, bit for bit, the files that ExecuTorch 1.5.1 wrote for the same modules.
//!
//! Judges bytes alone: whether the runtime likes them, and what is said about texts that are wrong, is tested elsewhere.

use std::fs;

use pte_emit::Options as AssembleOptions;
use pte_emit::format::serializer::Serializer;
use pte_emit::ir::document::Layout;
use pte_emit::layout::Storage;

#[path = "support/golden.rs"]
mod golden;

use golden::{DEFAULT_PTD, Goldens, Output, assemble, difference_of};

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

fn goldens() -> Goldens {
    Goldens::of("bytes")
}

fn assemble_golden(name: &str) -> Vec<Output> {
    goldens().assemble(name, &AssembleOptions::default())
}

fn hex(text: &str) -> Vec<u8> {
    text.split_whitespace().map(|byte| u8::from_str_radix(byte, 16).unwrap()).collect()
}

#[test]
fn texts_become_the_files_that_executorch_wrote() {
    let compare = |(name, references, files): &(&str, &str, &[&str])| {
        goldens().differences(name, &assemble_golden(name), references, files)
    };
    let complaints: String = GOLDEN.iter().map(compare).collect();
    assert!(complaints.is_empty(), "{complaints}");
}

#[test]
fn texts_give_no_warnings() {
    let warnings: String = GOLDEN.iter().map(|(name, _, _)| goldens().warnings(name)).collect();
    assert_eq!(warnings, "");
}

#[test]
fn no_text_and_no_reference_is_left_out() {
    let texts = GOLDEN.iter().map(|(name, _, _)| format!("{name}.yaml"));
    let references =
        GOLDEN.iter().flat_map(|(_, folder, files)| files.iter().map(move |file| format!("{folder}/{file}")));
    let older = FLATC.iter().map(|(name, _)| format!("flatc_layout/{name}.pte"));
    goldens().assert_holds(texts.chain(references).chain(older).chain(PAYLOADS.iter().map(|&path| path.into())));
}

#[test]
fn the_same_text_gives_the_same_bytes_twice_and_elsewhere() {
    let elsewhere = tempfile::tempdir().unwrap();
    for payload in PAYLOADS {
        let copy = elsewhere.path().join(payload);
        fs::create_dir_all(copy.parent().unwrap()).unwrap();
        fs::copy(goldens().0.join(payload), copy).unwrap();
    }
    for (name, _, _) in GOLDEN {
        let text = goldens().text(name);
        let first = assemble_golden(name);
        assert!(first == assemble_golden(name), "{name} gives the same bytes twice");
        let moved = assemble("another name", &text, elsewhere.path(), &AssembleOptions::default());
        assert!(first == moved, "{name} gives the same bytes from another folder");
    }
}

#[test]
fn json_gives_the_same_bytes_as_yaml() {
    for (name, references, files) in GOLDEN {
        let document: serde_yaml::Value = serde_yaml::from_str(&goldens().text(name)).unwrap();
        // Not by way of a JSON value: that would sort the keys, and their order is that of the values.
        let json = serde_json::to_string_pretty(&document).unwrap();
        let found = assemble(&format!("{name}.json"), &json, &goldens().0, &AssembleOptions::default());
        let complaints = goldens().differences(name, &found, references, files);
        assert!(complaints.is_empty(), "as JSON, {complaints}");
    }
}

#[test]
fn all_constants_can_be_sent_to_a_ptd() {
    let overrides = {
        let mut options = AssembleOptions::default();
        options.external_data = true;
        options
    };
    let found = assemble("addmul", &goldens().text("addmul"), &goldens().0, &overrides);
    let complaints =
        goldens().differences("addmul with external data", &found, "addmul_ext", &["model.pte", DEFAULT_PTD]);
    assert!(complaints.is_empty(), "{complaints}");
}

#[test]
fn the_ptd_begins_as_the_format_page_shows() {
    let layout = layout("segment_alignment", "16");
    let overrides = {
        let mut options = AssembleOptions::default();
        options.layout = layout;
        options.external_data = true;
        options
    };
    let found = assemble("addmul", &goldens().text("addmul"), &goldens().0, &overrides);
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
        let mut layout = layout("builder", "flatc");
        if *name == "conv_xnn" {
            // This one was made with the delegates inside the FlatBuffer.
            layout.set("delegates", "inline").unwrap();
        }
        let text = goldens().text(name) + more;
        let found = assemble(name, &text, &goldens().0, &{
            let mut options = AssembleOptions::default();
            options.layout = layout;
            options
        });
        let difference = goldens().difference(name, &found[0].1, &format!("flatc_layout/{name}.pte"));
        assert!(difference.is_none(), "{}", difference.unwrap_or_default());
    }
}
