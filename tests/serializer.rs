//! The texts of `tests/golden/serializer` must become, bit for bit, the files that ExecuTorch 1.5.1's serializers wrote
//! for programs made by hand, and its exporter with passes of one's own: what the text can say beyond common exports.
//!
//! The first lines of each text say what was called, and how. What the exporter emits by itself is in `bytes.rs`;
//! whether the runtime likes any of it is not asked.

use pte_emit::Options as AssembleOptions;
use pte_emit::format::serializer::Serializer;
use pte_emit::ir::document::Layout;

#[path = "support/golden.rs"]
mod golden;

use golden::{DEFAULT_PTD, Goldens, Output};

/// The program in the order of flatc.
const FLATC: &str = "flatc.pte";

/// Every text with the files that it makes, and [`FLATC`] if that was written, too. Listed by hand, so that neither a
/// text nor a reference can get lost; a test compares the list with the folder.
const GOLDEN: &[(&str, &[&str])] = &[
    ("aligned_1", &["model.pte"]),
    ("aligned_128", &["model.pte", FLATC]),
    ("aligned_4096", &["model.pte"]),
    ("aligned_8", &["model.pte"]),
    ("constants", &["model.pte", FLATC]),
    ("control", &["model.pte", FLATC]),
    ("delegates", &["model.pte"]),
    ("delegates_inline", &["model.pte", FLATC]),
    ("delegates_some_inline", &["model.pte", FLATC]),
    ("devices", &["model.pte"]),
    ("empty", &["model.pte", FLATC]),
    ("external", &["model.pte", DEFAULT_PTD, "lora.ptd", FLATC]),
    ("header_24", &["model.pte", FLATC]),
    ("inline", &["model.pte", FLATC]),
    ("named_data", &["model.pte", FLATC]),
    ("named_states", &["model.pte"]),
    ("names", &["model.pte", FLATC]),
    ("no_methods", &["model.pte", FLATC]),
    ("places", &["model.pte", FLATC]),
    ("pools", &["model.pte"]),
    ("tensors", &["model.pte", FLATC]),
    ("values", &["model.pte", FLATC]),
    ("weights", &[DEFAULT_PTD]),
    ("weights_empty", &[DEFAULT_PTD]),
];

fn goldens() -> Goldens {
    Goldens::of("serializer")
}

#[test]
fn texts_become_the_files_that_the_serializers_wrote() {
    let compare = |(name, files): &(&str, &[&str])| {
        let files: Vec<&str> = files.iter().copied().filter(|file| *file != FLATC).collect();
        goldens().differences(name, &goldens().assemble(name, &AssembleOptions::default()), name, &files)
    };
    let complaints: String = GOLDEN.iter().map(compare).collect();
    assert!(complaints.is_empty(), "{complaints}");
}

#[test]
fn texts_become_the_programs_that_flatc_wrote() {
    let overrides = {
        let mut options = AssembleOptions::default();
        options.layout = layout("builder", "flatc");
        options
    };
    let mut complaints = String::new();
    for (name, _) in GOLDEN.iter().filter(|(_, files)| files.contains(&FLATC)) {
        let found: Vec<Output> = goldens().assemble(name, &overrides);
        complaints.extend(goldens().difference(name, &found[0].1, &format!("{name}/{FLATC}")));
    }
    assert!(complaints.is_empty(), "{complaints}");
}

#[test]
fn only_what_the_runtime_refuses_gives_warnings() {
    let warned = |(name, _): &&(&str, &[&str])| !goldens().warnings(name).is_empty();
    let warned: Vec<&str> = GOLDEN.iter().filter(warned).map(|(name, _)| *name).collect();
    assert_eq!(warned, ["tensors"]);
}

#[test]
fn no_text_and_no_reference_is_left_out() {
    let texts = GOLDEN.iter().map(|(name, _)| format!("{name}.yaml"));
    let references = GOLDEN.iter().flat_map(|(name, files)| files.iter().map(move |file| format!("{name}/{file}")));
    goldens().assert_holds(texts.chain(references));
}
