//! Payloads of XNNPACK delegates, decoded and encoded: every payload of the repository, of each release, is reproduced byte for byte.
//!
//! `PTE_EMIT_PROGRAMS` names a folder of further `.pte` files.

use std::path::{Path, PathBuf};

use pte_emit::data::{Blob, Origin};
use pte_emit::delegate::xnnpack::draft::Draft;
use pte_emit::delegate::xnnpack::{self, decode, encode};
use pte_emit::reader;
use pte_emit::{LargeData, Options, PrintOptions, Source};

mod support;

use support::{files_below, root};

/// The `.pte` files of the repository, and those below `PTE_EMIT_PROGRAMS`.
fn programs() -> Vec<PathBuf> {
    let mut files = files_below(&root().join("tests/golden/upstream"), &["pte"]);
    if let Some(folder) = std::env::var_os("PTE_EMIT_PROGRAMS") {
        files.extend(files_below(Path::new(&folder), &["pte"]));
    }
    files
}

/// Calls `take` with each XNNPACK payload, and its name for messages.
fn payloads(mut take: impl FnMut(&str, &Blob)) {
    for file in programs() {
        let Ok(found) = reader::program::read(&Origin::File(file.as_path().into())) else { continue };
        for plan in found.program.plans() {
            for (index, delegate) in plan.delegates().iter().enumerate() {
                if delegate.id.as_deref() == Some(xnnpack::BACKEND) {
                    let name = format!("{} {:?} {index}", file.display(), plan.name);
                    take(&name, &found.program.blobs[delegate.processed.0 as usize]);
                }
            }
        }
    }
}

#[test]
fn every_payload_is_reproduced() {
    let (mut count, mut failures) = (0, Vec::new());
    payloads(|name, payload| {
        count += 1;
        match decode::decode(payload) {
            Ok(graph) => {
                let encoded = encode::encode(&graph).unwrap().to_vec().unwrap();
                let original = payload.to_vec().unwrap();
                if encoded != original {
                    let at = encoded.iter().zip(&original).position(|(a, b)| a != b);
                    failures.push(format!("{name}: {} of {} bytes, differs at {at:?}", encoded.len(), original.len()));
                }
                match Draft::of(&graph) {
                    Ok(draft) => assert_eq!(draft.complete(), graph, "{name}"),
                    Err(error) => failures.push(format!("{name}: {error}")),
                }
            }
            Err(error) => failures.push(format!("{name}: {error}")),
        }
    });
    assert!(failures.is_empty(), "{} of {count}:\n{}", failures.len(), failures.join("\n"));
    assert!(count >= 50, "{count}");
}

/// A YAML without the sizes of what nodes write has the same payloads: they are inferred. Not those that are quantized at run time, which
/// the exporter writes in another order.
#[test]
fn sizes_of_results_are_inferred() {
    let mut stripped = 0;
    for file in programs() {
        let Ok(printed) = pte_emit::print(&Source::open(&file).unwrap(), Path::new("/"), &options(&file)) else {
            continue;
        };
        let mut text = String::new();
        for line in printed.text.split_inclusive('\n') {
            let name = line.strip_prefix("            ").unwrap_or_default();
            match line.split_once(", sizes: [") {
                Some((before, after)) if name.starts_with(['v', 'y']) && !line.contains("qdint8") => {
                    stripped += 1;
                    text += before;
                    text += after.split_once(']').unwrap().1;
                }
                Some(_) | None => text += line,
            }
        }
        let assembled = |text: &str| {
            let source = Source::yaml("model.yaml", text, Path::new("/"));
            let assembly = pte_emit::assemble(&source, &Options::default());
            let assembly = assembly.unwrap_or_else(|error| panic!("{}: {error}\n{text}", file.display()));
            let mut bytes = Vec::new();
            assembly.program_file().unwrap().write(&mut bytes).unwrap();
            bytes
        };
        assert!(assembled(&text) == assembled(&printed.text), "{}", file.display());
    }
    assert!(stripped >= 100, "{stripped}");
}

fn options(file: &Path) -> PrintOptions {
    let mut options = PrintOptions::default();
    (options.large_data, options.file) = (LargeData::Refer, file.canonicalize().unwrap().display().to_string());
    options
}

/// What the schema of a newer release has is kept as bytes; `tests/xnnpack/newer.py` wrote the payloads.
#[test]
fn operations_and_fields_of_a_newer_schema_are_kept() {
    let assembled = |text: &str, folder: &Path| {
        let source = Source::yaml("model.yaml", text, folder);
        let assembly = pte_emit::assemble(&source, &Options::default());
        let assembly = assembly.unwrap_or_else(|error| panic!("{error}\n{text}"));
        assembly.program_file().unwrap().to_vec().unwrap()
    };
    let printed = |name: &str| {
        let yaml = format!(
            "methods: {{forward: {{values: {{x: {{tensor: float32, sizes: [1]}}}}, inputs: [x], outputs: [x],
            delegates: {{part: {{backend: XnnpackBackend, data: {{file: {name}}}}}}},
            instructions: [{{delegate: part, args: [x, x]}}]}}}}"
        );
        let bytes = assembled(&yaml, &root().join("tests/xnnpack"));
        let mut options = PrintOptions::default();
        options.large_data = LargeData::Inline;
        let printed = pte_emit::print(&Source::binary("model.pte", &bytes), Path::new("."), &options).unwrap();
        assert_eq!(printed.difference, None, "{}", printed.text);
        assert!(assembled(&printed.text, Path::new(".")) == bytes, "{}", printed.text);
        printed.text
    };
    let text = printed("newer_operations.bin");
    for expected in [
        "- {unknown: {tag: 48}, extra: [{slot: 0, bytes: {hex: \"01 00 00 00\"}}, {slot: 1, bytes: {hex: \"02 00 00 00\"}}], ",
        "{unknown: {tag: 49}, extra: [{slot: 0, width: 4, bytes: {hex: \"01 00 00 00 02 00 00 00 03 00 00 00\"}}, \
         {slot: 1, width: 1, bytes: {hex: \"01 00 01 01 00\"}}, {slot: 2, width: 8, ",
        "groups: 1}, extra: [{slot: 20, bytes: {hex: \"02 00 00 00\"}}, {slot: 21, width: 4, bytes: {hex: \"07 00 00 00\"}}], ",
        "perm: [1, 0]}, extra: [{slot: 5, width: 4, bytes: {hex: \"04 00 00 00 05 00 00 00\"}}, ",
        "# the schema of ExecuTorch 1.5.1 has no such operation",
    ] {
        assert!(text.contains(expected), "{expected}\n{text}");
    }
    let text = printed("newer_value.bin");
    assert!(text.contains("field 8 is not in the schema of ExecuTorch 1.5.1 (at byte 0x3d8)"), "{text}");
}
