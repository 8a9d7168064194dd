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
