//! Payloads of XNNPACK delegates, decoded and encoded: every payload of the repository, of each release, is reproduced byte for byte.
//!
//! `PTE_EMIT_PROGRAMS` names a folder of further `.pte` files.

use std::path::{Path, PathBuf};

use pte_emit::data::{Blob, Origin};
use pte_emit::delegate::xnnpack::draft::Draft;
use pte_emit::delegate::xnnpack::{self, decode, encode};
use pte_emit::reader;

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
