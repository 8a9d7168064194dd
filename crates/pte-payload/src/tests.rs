//! All formats on payloads of the backends' own writers (tests/data/README.md): what is described, and that no change
//! of their bytes causes more than an error.

use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;

use super::*;
use crate::signature::ArgumentType;
use pte_model::data::{Blob, BlobSource};

const ALL: Formats = Formats(&[FORMATS]);

/// Names of the files, of their backends or keys, and their bytes, in alphabetical order.
fn files(extension: &str) -> Vec<(String, String, Vec<u8>)> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data");
    let mut found: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    found.retain(|path| path.extension().is_some_and(|found| found == extension));
    found.sort();
    let file = |path: &PathBuf| {
        let (name, backend) = path.file_stem()?.to_str()?.split_once('.')?;
        Some((name.to_owned(), backend.to_owned(), fs::read(path).unwrap()))
    };
    found.iter().map(|path| file(path).unwrap()).collect()
}

/// Returns the arguments on one line: their element types or words, and their sizes.
fn arguments(arguments: &[ArgumentType]) -> String {
    let argument = |argument: &ArgumentType| {
        let types = argument.scalar_types.iter().map(ToString::to_string).collect::<Vec<_>>().join("|");
        let word = argument.datatype.clone().filter(|_| types.is_empty()).unwrap_or(types);
        format!("{word}{:?}", argument.sizes.as_deref().unwrap_or_default())
    };
    arguments.iter().map(argument).collect::<Vec<_>>().join(" ")
}

fn joined(parts: &[compile_specs::TargetPart]) -> String {
    parts.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

/// tests/data/expected.txt has the descriptions, signatures and keys; `BLESS=1` writes it.
#[test]
fn payloads_of_other_writers_are_described() {
    let mut found = String::new();
    for (name, backend, bytes) in files("bin") {
        let blob = Blob::bytes(bytes);
        let description = ALL.describe(&backend, &blob).unwrap();
        let format = ALL.format_of(&backend, &blob).unwrap().expect("a format");
        _ = writeln!(found, "{name} {}", serde_json::to_string(&description).unwrap());
        let target = compile_specs::target(Some(&description), &[], &backend);
        if !target.is_empty() {
            _ = writeln!(found, "  target {}", joined(&target));
        }
        if let Some(signature) = format.signature(&blob).unwrap() {
            let [inputs, outputs] = [&signature.inputs, &signature.outputs].map(|list| arguments(list));
            let (count, sizes) = (signature.count, signature.sizes);
            let more = if signature.is_complete { "" } else { " and others" };
            _ = writeln!(found, "  takes {inputs} -> {outputs}{more}, count {count:?}, sizes {sizes:?}");
        }
        if let Some(graph) = format.graph(&blob).unwrap() {
            for node in &graph.nodes {
                let value = |value: &usize| format!("{value} {}", graph.values[*value].kind);
                let reads = node.reads.iter().zip(&node.roles).map(|(read, role)| format!("{role}={}", value(read)));
                let reads: Vec<String> = reads.collect();
                let writes: Vec<String> = node.writes.iter().map(value).collect();
                let attributes: Vec<String> =
                    node.attributes.iter().map(|(name, text)| format!(" {name}={text}")).collect();
                let (reads, writes) = (reads.join(", "), writes.join(", "));
                _ = writeln!(found, "  {} {reads}{} -> {writes}", node.name, attributes.concat());
            }
        }
        match format.keys(&blob).unwrap() {
            Some(keys) if keys.is_empty() => {}
            Some(keys) => _ = writeln!(found, "  keys {}", keys.join(" ")),
            None => _ = writeln!(found, "  keys unknown"),
        }
    }
    for (key, name, bytes) in files("options") {
        let backend = if key.starts_with("enn") { "EnnBackend" } else { "QnnBackend" };
        let meaning = compile_specs::meaning(backend, &key, &bytes).expect("options");
        let target = joined(&compile_specs::target(None, &[(key, bytes)], backend));
        assert!(!target.is_empty());
        _ = writeln!(found, "{name} {}\n  target {target}", serde_json::to_string(&meaning).unwrap());
    }
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data/expected.txt");
    if std::env::var_os("BLESS").is_some() {
        fs::write(&path, &found).unwrap();
    }
    let expected = fs::read_to_string(path).unwrap();
    for (found, expected) in found.lines().zip(expected.lines()) {
        assert_eq!(found, expected, "BLESS=1 cargo test -p pte-payload writes it");
    }
    assert_eq!(found.lines().count(), expected.lines().count());
}

/// Reads all that is asked of a payload. Only malformed payloads are errors.
fn read(format: &dyn PayloadFormat, bytes: Vec<u8>) {
    use crate::description::DescribeError::Io;
    let blob = Blob::bytes(bytes);
    let described = format.describe(&blob);
    assert!(!matches!(described, Err(Io(_))), "{described:?}");
    if described.is_ok() {
        assert!(format.signature(&blob).is_ok() && format.keys(&blob).is_ok());
        if let Some(graph) = format.graph(&blob).unwrap() {
            let used = graph.nodes.iter().flat_map(|node| node.reads.iter().chain(&node.writes));
            let used = used.chain(&graph.inputs).chain(&graph.outputs);
            assert_eq!(used.filter(|value| **value >= graph.values.len()).count(), 0);
        }
    }
    if let Some(Ok(((start, size), spans))) = format.flat().map(|flat| flat.spans(&blob)) {
        assert!(start + size <= blob.len());
        assert!(spans.iter().all(|span| (span.at.0 + span.at.1) as u64 <= size));
    }
}

/// Payloads are cut, and bytes and words of them changed.
#[test]
fn changed_payloads_are_described_or_malformed() {
    for (_, backend, bytes) in files("bin") {
        let format = ALL.of_backend(&backend).unwrap();
        (0..bytes.len()).step_by(5).for_each(|len| read(format, bytes[..len].to_vec()));
        for at in (0..bytes.len()).step_by(3) {
            for value in [0xff, bytes[at] ^ 0x41] {
                let mut changed = bytes.clone();
                changed[at] = value;
                read(format, changed);
            }
        }
        for at in (0..bytes.len().saturating_sub(3)).step_by(4) {
            for word in [0x7fff_ffff, u32::MAX] {
                let mut changed = bytes.clone();
                changed[at..at + 4].copy_from_slice(&word.to_le_bytes());
                read(format, changed);
            }
        }
    }
}

/// Several bytes of a payload are random. `PTE_EMIT_MUTANTS` is the number of mutants of each.
#[test]
fn random_mutants_are_described_or_malformed() {
    let count = std::env::var("PTE_EMIT_MUTANTS").ok().and_then(|count| count.parse().ok()).unwrap_or(200);
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut random = move |below: usize| {
        // xorshift64.
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state % below.max(1) as u64) as usize
    };
    for (_, backend, bytes) in files("bin").into_iter().filter(|(.., bytes)| !bytes.is_empty()) {
        let format = ALL.of_backend(&backend).unwrap();
        for _ in 0..count {
            let mut changed = bytes.clone();
            for _ in 0..=random(6) {
                let at = random(changed.len());
                changed[at] = [0, 1, 4, 0x7f, 0xff, random(256) as u8][random(6)];
            }
            changed.truncate(if random(8) == 0 { random(bytes.len()) } else { bytes.len() });
            read(format, changed);
        }
    }
}

#[test]
fn changed_options_have_a_meaning_or_none() {
    for (key, _, bytes) in files("options") {
        let backend = if key.starts_with("enn") { "EnnBackend" } else { "QnnBackend" };
        let read = |bytes: &[u8]| {
            compile_specs::meaning(backend, &key, bytes);
            compile_specs::target(None, &[(key.clone(), bytes.to_vec())], backend);
        };
        (0..bytes.len()).for_each(|len| read(&bytes[..len]));
        for at in 0..bytes.len() {
            for value in [0, 0xff, bytes[at] ^ 0x41] {
                let mut changed = bytes.clone();
                changed[at] = value;
                read(&changed);
            }
        }
    }
}

/// Each format gets the payloads of all others.
#[test]
fn payloads_of_others_are_malformed_or_described() {
    for (_, _, bytes) in files("bin") {
        FORMATS.iter().for_each(|format| read(*format, bytes.clone()));
    }
    for format in FORMATS {
        read(*format, Vec::new());
        read(*format, vec![0xff; 4096]);
        read(*format, vec![0; 4096]);
    }
}

/// A payload of 4 GiB whose metadata are at the start: only those are read.
#[test]
fn large_payloads_are_not_loaded() {
    let magic = [0xcd, 0xab, 0x78, 0x56];
    let head = [&magic[..], &[0; 8], &(4u64 << 30).to_le_bytes(), &[0; 236]].concat();
    let large = Blob::joined([Blob::bytes(head), Blob::new(4 << 30, BlobSource::Repeat([7].into()))]).unwrap();
    let description = ALL.describe("QnnBackend", &large).unwrap();
    assert_eq!((description.size, description.problem), ((4 << 30) + 256, None));
}
