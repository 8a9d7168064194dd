//! `annotate` of malformed files and of parts of files; its options and exit status; docs/annotate.md. Each byte has
//! exactly one owner in any file.
//!
//! `tests/golden/snapshots/annotate` has snapshots; tests/cases/golden.rs and tests/cases/examples.rs test all files of
//! the repository.

use std::fs;

use proptest::prelude::*;
use proptest::test_runner::{Config, FileFailurePersistence};
use pte_inspect::annotate::{self, AnnotateOptions, AnnotatePart};
use pte_model::data::Origin;
use pte_model::format::Format;
use serde_json::Value;

use crate::support::folder::Folder;
use crate::support::properties::{annotate_options, annotation, every_byte_has_one_owner};
use crate::support::root;
use crate::support::sources::example;

fn lines_of(bytes: &[u8]) -> String {
    annotation(&Origin::Bytes(bytes.into()), "pte", &AnnotateOptions::default())
}

/// docs/annotate.md shows the output of the command.
#[test]
fn the_docs_show_the_output() {
    let path = root().join("docs/annotate.md");
    let page = fs::read_to_string(&path).unwrap();
    let bytes = example("linear.yaml", "pte");
    let origin = Origin::Bytes(bytes.into());
    let range = annotate_options(|options| options.range = Some(0..0x40));
    let segments = annotate_options(|options| options.only = Some(AnnotatePart::Segments));
    let (before, _) = page.split_once("<!-- annotate --range 0..0x40 -->\n").unwrap();
    let (_, after) = page.split_once("<!-- end -->").unwrap();
    let updated = format!(
        "{before}<!-- annotate --range 0..0x40 -->\n```text\n{}```\n<!-- annotate --part segments -->\n```text\n{}```\n<!-- end -->{after}",
        annotation(&origin, "pte", &range),
        annotation(&origin, "pte", &segments)
    );
    crate::support::snapshot::update(&path, &updated, "BLESS=1 cargo test --test suite annotate::");
}

/// Files to mutate, with their extensions.
fn seeds() -> Vec<(&'static str, Vec<u8>)> {
    let mut files = Vec::new();
    for name in ["linear.yaml", "named_data_delegate.yaml"] {
        files.push(("pte", example(name, "pte")));
    }
    for name in ["releases/0.2.1/xnn_inline.pte", "releases/1.5.1-flatbuffers-25.2.10/xnn_mixed.pte"] {
        files.push(("pte", fs::read(root().join("tests/golden/upstream").join(name)).unwrap()));
    }
    files.push(("ptd", example("linear_external.yaml", "ptd")));
    files.push(("bpte", example("add.yaml", "bpte")));
    files
}

fn config() -> Config {
    // Overridden by PROPTEST_CASES.
    let cases = std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(600);
    let persistence = FileFailurePersistence::Direct("tests/data/proptest-regressions/annotate.txt");
    Config { cases, failure_persistence: Some(Box::new(persistence)), ..Config::default() }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn mutated_files_are_explained(
        which in any::<prop::sample::Index>(),
        patches in prop::collection::vec((any::<prop::sample::Index>(), patch()), 0..6),
        cut in prop::option::of(any::<prop::sample::Index>()),
    ) {
        thread_local! {
            static FILES: Vec<(&'static str, Vec<u8>)> = seeds();
        }
        let (extension, mut bytes) = FILES.with(|files| which.get(files).clone());
        for (at, patch) in patches {
            let at = at.index(bytes.len());
            let at = if patch.len() > 1 { at & !3 } else { at };
            let end = bytes.len().min(at + patch.len());
            bytes[at..end].copy_from_slice(&patch[..end - at]);
        }
        if let Some(cut) = cut {
            bytes.truncate(cut.index(bytes.len() + 1));
        }
        every_byte_has_one_owner(&Origin::Bytes(bytes.into()), extension);
    }
}

/// Random bytes, and offsets likely to be followed.
fn patch() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        any::<u8>().prop_map(|byte| vec![byte]),
        (0u32..64).prop_map(|small| (4 * small).to_le_bytes().to_vec()),
        any::<u32>().prop_map(|any| any.to_le_bytes().to_vec()),
        Just(u32::MAX.to_le_bytes().to_vec()),
        Just(u64::MAX.to_le_bytes().to_vec()),
        any::<u64>().prop_map(|any| any.to_le_bytes().to_vec()),
    ]
}

/// Each word of the file is a table (with the same vtable), a vector as long as the file, and an offset to another such
/// word: following all offsets would take time quadratic in the file size.
#[test]
fn overlapping_vectors_take_linear_time_and_output() {
    const VTABLE: u32 = 8;
    let size = 1u32 << 18;
    let mut bytes: Vec<u8> = (0..size / 4).flat_map(|word| (4 * word).wrapping_sub(VTABLE).to_le_bytes()).collect();
    let vtable: Vec<u8> =
        [24u16, 44, 4, 8, 12, 16, 20, 24, 28, 32, 36, 40].iter().flat_map(|n| n.to_le_bytes()).collect();
    bytes[VTABLE as usize..VTABLE as usize + vtable.len()].copy_from_slice(&vtable);
    bytes[4..8].copy_from_slice(b"ET12");
    for root in [32u32, 36, 64, 4000] {
        bytes[..4].copy_from_slice(&root.to_le_bytes());
        let origin = Origin::Bytes(bytes.as_slice().into());
        for format in [Format::Program, Format::FlatTensor, Format::BundledProgram] {
            let mut out = Vec::new();
            let start = std::time::Instant::now();
            annotate::annotate(&origin, format, &AnnotateOptions::default(), &mut out).unwrap();
            assert!(start.elapsed().as_secs() < 20, "{:?}", start.elapsed());
            assert!(out.len() < 200 * bytes.len(), "{} bytes of output", out.len());
        }
    }
}

#[test]
fn ranges_and_parts_select_blocks() {
    let bytes = example("linear.yaml", "pte");
    let origin = Origin::Bytes(bytes.into());
    let part = |only| annotation(&origin, "pte", &annotate_options(|options| options.only = Some(only)));
    let (headers, program, segments) =
        (part(AnnotatePart::Headers), part(AnnotatePart::Program), part(AnnotatePart::Segments));
    assert!(headers.starts_with("header\n") && !headers.contains("\ntable "));
    assert!(program.contains("table Program\n") && !program.contains("header\n") && !program.contains("\nsegment"));
    assert!(segments.contains("segment 0  constants") && !segments.contains("table Program"));
    let range = annotate_options(|options| options.range = Some(0x40..0x44));
    let one = annotation(&origin, "pte", &range);
    assert!(
        one.starts_with("table Program\n") && one.lines().filter(|line| line.starts_with("table")).count() == 1,
        "{one}"
    );
}

#[test]
fn exit_statuses() {
    let folder = Folder::new(&[("text.yaml", "methods: {}\n")]);
    let bytes = example("add.yaml", "pte");
    folder.write("add.pte", &bytes);
    folder.write("empty.pte", b"");
    let mut malformed = bytes.clone();
    malformed[4] = b'X';
    folder.write("malformed.bin", &malformed);
    let done = folder.run(&["annotate", "add.pte"]).exits(0).stderr_is_empty();
    assert_eq!(String::from_utf8(done.stdout).unwrap(), lines_of(&bytes));
    let coloured = folder.run(&["annotate", "add.pte", "--color", "always"]).exits(0);
    assert!(coloured.stdout.starts_with(b"\x1b[1mheader\x1b[0m\n"));
    folder.run(&["annotate", "no.pte"]).exits(3).stderr_contains("no.pte");
    folder.run(&["annotate", "text.yaml"]).exits(1).stderr_contains("expected a .pte");
    folder.run(&["annotate", "empty.pte"]).exits(0);
    folder.run(&["annotate", "malformed.bin"]).exits(0);
    folder.run(&["annotate", "add.pte", "--range", "8..4"]).exits(2);
    let piped = folder.run_with_stdin(&["annotate", "-", "--range", "..0x8", "--json"], &bytes).exits(0);
    let regions: Vec<Value> = serde_json::from_slice(&piped.stdout).unwrap();
    assert_eq!(regions[1]["value"], "ET12");
}

/// The payload of an XNNPACK delegate is explained like the program, in a segment and inside the FlatBuffer; a damaged
/// one is one region.
#[test]
fn payloads_of_xnnpack_are_explained() {
    let file = |name: &str| fs::read(root().join("tests/golden/upstream/releases").join(name)).unwrap();
    let segment = file("1.4.1-flatbuffers-24.3.25/quant_xnn.pte");
    let text = lines_of(&segment);
    let base = "methods.forward.delegates[0].payload";
    for expected in [
        format!("header of a payload  {base}\n"),
        format!("table XNNGraph  {base}\n"),
        format!("table XNNNodeConv  {base}.nodes[2].xnode_union\n"),
        "u32     1520          flatbuffer_size\n".to_owned(),
    ] {
        assert!(text.contains(&expected), "{expected}\n{text}");
    }
    assert!(text.ends_with(", 0 unreachable, 0 overlapping\n"), "{text}");
    // Constants after the graph, and in it.
    let text = lines_of(&file("0.4.0/linear_xnn.pte"));
    assert!(text.contains("  values[1]: float32 ["), "{text}");
    let text = lines_of(&file("0.2.1/xnn_inline.pte"));
    assert!(text.contains("table XNNGraph  ") && text.contains("  values[1]: float32 ["), "{text}");
    let bare =
        "methods: {forward: {values: {x: {tensor: float32, sizes: [2]}}, inputs: [x], outputs: [x], delegates: {part: {
        backend: XnnpackBackend, graph: {header: false, values: {w: {datatype: fp32, data: [0.5, 2]}}}}},
        instructions: [{delegate: part, args: [x, x]}]}}";
    let assembly = pte_emit::Model::from_yaml("bare.yaml", bare, ".").assemble(&pte_emit::AssembleOptions::default());
    let text = lines_of(&assembly.unwrap().program_file().unwrap().to_vec().unwrap());
    assert!(text.contains("data    8 bytes       values[0]: float32 [2]: 0.5, 2"), "{text}");

    let mut damaged = segment.clone();
    let at = damaged.windows(4).position(|window| window == b"XN01").unwrap() - 4;
    damaged[at..at + 4].copy_from_slice(&[0xff; 4]);
    let text = every_byte_has_one_owner(&Origin::Bytes(damaged.into()), "pte");
    assert!(text.contains("data    1552 bytes    methods.forward.delegates[0] (XnnpackBackend)"), "{text}");
}
