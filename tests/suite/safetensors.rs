//! `.safetensors` files come back byte for byte, directly and through a `.ptd`: those of the reference implementation,
//! which `tests/golden/upstream/safetensors` has, and files with headers in another order. Metadata without a place are
//! dropped with a warning.
//!
//! One test is ignored by default, since it runs the reference implementation, the Python package safetensors of a
//! package index: `cargo test --test suite safetensors:: -- --ignored`.

use std::path::Path;

use pte_emit::{AssembleOptions, Model, check::CheckOptions};

use crate::support::folder::{Done, Folder};
use crate::support::safetensors::{METADATA, file, program_with_data};
use crate::support::{files_below, python, root, seed};

/// Converts `x.safetensors` of the folder to `same.safetensors`, to `x.ptd`, and that to `back.safetensors`.
fn convert(folder: &Folder) {
    folder.run(&["x.safetensors", "-o", "same.safetensors"]).exits(0);
    folder.run(&["x.safetensors", "-o", "x.ptd"]).exits(0);
    folder.run(&["x.ptd", "-o", "back.safetensors"]).exits(0);
}

/// Asserts that a file comes back on both ways, and that the `.ptd` and its YAML are valid.
#[track_caller]
fn round_trips(name: &str, bytes: &[u8]) {
    let folder = Folder::new(&[]);
    folder.write("x.safetensors", bytes);
    convert(&folder);
    assert!(folder.read("same.safetensors") == bytes, "{name}: .safetensors to .safetensors");
    assert!(folder.read("back.safetensors") == bytes, "{name}: through a .ptd");
    let path = folder.path().join("x.ptd");
    let findings = Model::open(&path).unwrap().check(&CheckOptions::default()).unwrap();
    assert!(findings[0].1.list.is_empty(), "{name}: {:?}", findings[0].1.list);
    folder.run(&["dump", "--exact", "x.ptd"]).exits(0);
}

#[test]
fn files_of_the_reference_implementation_round_trip() {
    let files = files_below(&root().join("tests/golden/upstream/safetensors"), &["safetensors"]);
    assert_eq!(files.len(), 6);
    for file in files {
        round_trips(&file.display().to_string(), &std::fs::read(&file).unwrap());
    }
}

const FIRST: &str = r#""b":{"dtype":"U8","shape":[2],"data_offsets":[0,2]}"#;
const SECOND: &str = r#""a":{"dtype":"F32","shape":[1],"data_offsets":[2,6]}"#;
const EMPTY: &str = r#""e":{"dtype":"F32","shape":[0],"data_offsets":[2,2]}"#;

#[test]
fn headers_in_another_order_round_trip() {
    for (members, data) in [
        (&[FIRST, SECOND][..], 6),
        (&[SECOND, FIRST], 6),
        (&[METADATA, SECOND, FIRST], 6),
        (&[SECOND, METADATA, FIRST], 6),
        (&[FIRST, SECOND, METADATA], 6),
        (&[SECOND, EMPTY, METADATA, FIRST], 6),
        (&[METADATA, FIRST, EMPTY], 2),
        (&[EMPTY, FIRST], 2),
        (&[METADATA], 0),
    ] {
        round_trips(&members.join(","), &file(members, data));
    }
}

/// docs/format.md lists what is not kept.
#[test]
fn whitespace_and_padding_are_normalized() {
    let members = [METADATA, SECOND, FIRST];
    let spaced =
        format!("{{\n {} }}\n\n", members.join(" , ").replace(':', ": ").replace(r#""a": "2""#, r#""\u0061": "2""#));
    let mut bytes = (spaced.len() as u64).to_le_bytes().to_vec();
    bytes.extend(spaced.bytes().chain(0..6));
    let folder = Folder::new(&[]);
    folder.write("x.safetensors", bytes);
    convert(&folder);
    assert!(folder.read("same.safetensors") == file(&members, 6));
    assert!(folder.read("back.safetensors") == file(&members, 6));
}

#[test]
fn a_file_without_tensors_is_no_ptd() {
    let folder = Folder::new(&[]);
    folder.write("x.safetensors", file(&[], 0));
    folder.run(&["x.safetensors", "-o", "y.safetensors"]).exits(0);
    assert!(folder.read("y.safetensors") == file(&[], 0));
    folder.run(&["x.safetensors", "-o", "x.ptd"]).exits(1).stderr_contains("nothing to write");
    assert_eq!(folder.names(), ["x.safetensors", "y.safetensors"]);
}

/// A broken file has an error about its header, whatever its name says and wherever it comes from.
#[test]
fn errors_of_broken_files_name_the_position() {
    let cut = &file(&[FIRST], 2)[..20];
    let no_json = [&5u64.to_le_bytes()[..], b"hello"].concat();
    let mut no_text = file(&[FIRST], 2);
    no_text[10] = 0xff;
    let mut longer = file(&[FIRST], 2);
    longer.push(0);
    let duplicate = file(&[FIRST, FIRST], 2);
    let ranks = r#""r":{"dtype":"U8","shape":[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1],"data_offsets":[0,1]}"#;
    for (bytes, message) in [
        (cut, "its first 8 bytes state a header of 56 bytes, the file has 20"),
        (b"{}", "it has 2 bytes, expected 8 with the length of the header"),
        (&no_json, "its header begins with 'h' at byte 8, expected '{'"),
        (&no_text, "its header is not UTF-8 at byte 10"),
        (&longer, "the file has 3 bytes after its header, of which the last 1 belong to no tensor"),
        (&duplicate, "duplicate key `b`"),
        (&file(&[ranks], 1), "tensor `r` has 17 dimensions, the runtime supports 16 at most"),
    ] {
        let folder = Folder::new(&[("c.yaml", "checkpoints: [{safetensors: x.safetensors}]")]);
        folder.write("x.safetensors", bytes);
        for input in ["x.safetensors", "c.yaml"] {
            for output in ["out.ptd", "out.safetensors"] {
                folder.run(&[input, "-o", output]).exits(1).stderr_contains(message);
            }
        }
        assert_eq!(folder.names(), ["c.yaml", "x.safetensors"], "{message}");
    }
    // Without a name, too.
    let folder = Folder::new(&[]);
    folder.run_with_stdin(&["-", "-o", "x.ptd"], cut).exits(1).stderr_contains("a header of 56 bytes, the file has 20");
}

/// Changed files do not panic; those that are accepted are files of the reference implementation, too, and are stable
/// when written again.
#[test]
fn changed_files_are_rejected_or_valid() {
    let (mut accepted, mut rejected) = (0, 0);
    let mut try_file = |bytes: &[u8]| {
        let found = convert_in_memory(bytes);
        match &found {
            Some(written) => {
                assert!(safetensors::SafeTensors::deserialize(bytes).is_ok(), "{}", String::from_utf8_lossy(bytes));
                assert_eq!(convert_in_memory(written).as_ref(), Some(written), "{}", String::from_utf8_lossy(bytes));
                accepted += 1;
            }
            None => rejected += 1,
        }
    };
    let ours = file(&[SECOND, EMPTY, METADATA, FIRST], 6);
    let theirs = std::fs::read(root().join("tests/golden/upstream/safetensors/equal_data.safetensors")).unwrap();
    for original in [ours, theirs] {
        for at in 0..original.len() {
            try_file(&original[..at]);
            for byte in [0, b'"', b'0', b'9', b'[', b'{', b'}', b' ', b'\\', 0x7f, 0xff] {
                let mut bytes = original.clone();
                bytes[at] = byte;
                try_file(&bytes);
            }
        }
    }
    assert!(accepted > 500 && rejected > 4000, "{accepted} accepted, {rejected} rejected");
}

/// Converts a file to a `.safetensors`; `None` if it is rejected.
fn convert_in_memory(bytes: &[u8]) -> Option<Vec<u8>> {
    let assembly = Model::from_binary("x.safetensors", bytes).assemble(&AssembleOptions::default()).ok()?;
    let mut written = Vec::new();
    assembly.safetensors().ok()?.write(&mut written).unwrap();
    Some(written)
}

#[test]
fn metadata_without_a_place_are_dropped_with_a_warning() {
    let folder = program_with_data();
    let with = ["--with", "one.ptd", "--with", "two.ptd"];
    let run = |arguments: &[&str]| -> Done { folder.run(&[&["m.pte"], &with[..], arguments].concat()).exits(0) };
    run(&["--internal-data", "-o", "inside.pte"])
        .stderr_contains(
            "warning: m.pte: dropped `__metadata__.a` of one.ptd: a program has no metadata of a .safetensors",
        )
        .stderr_contains("dropped `__metadata__.c` of two.ptd");
    // A .ptd has a place for them; the strings are merged.
    let kept = run(&["-o", "outside.pte"]);
    assert!(!kept.stderr.contains("dropped"), "{}", kept.stderr);
    folder.run(&["outside.ptd", "-o", "w.safetensors"]).exits(0);
    let written = String::from_utf8_lossy(&folder.read("w.safetensors")).into_owned();
    assert_eq!(written.matches("__metadata__").count(), 1, "{written}");
    assert!(written.contains(METADATA), "{written}");
    // Metadata of files that no tensor uses are not added.
    folder.run(&["m.pte", "--with", "one.ptd", "--with", "two.ptd", "--with", "x.ptd", "-o", "y.pte"]).exits(3);
}

#[test]
fn metadata_of_shards_are_merged() {
    let folder = Folder::new(&[
        (
            "x.index.json",
            r#"{"metadata": {"total_size": 6}, "weight_map": {"a": "1.safetensors", "b": "2.safetensors"}}"#,
        ),
        ("c.yaml", "checkpoints: [{safetensors: x.index.json, rename: {a: l.a}}]"),
        ("only_b.yaml", "checkpoints: [{safetensors: x.index.json, include: b}]"),
    ]);
    let shard = |name: &str, metadata: &str| {
        let tensor = format!(r#""{name}":{{"dtype":"U8","shape":[1],"data_offsets":[0,1]}}"#);
        let metadata = format!(r#""__metadata__":{metadata}"#);
        file(&[&metadata, &tensor], 1)
    };
    let header = |source: &str| {
        folder.run(&[source, "-o", "c.ptd"]).exits(0);
        folder.run(&["c.ptd", "-o", "c.safetensors"]).exits(0);
        String::from_utf8_lossy(&folder.read("c.safetensors")).into_owned()
    };
    folder.write("1.safetensors", shard("a", r#"{"format":"pt","x":"1"}"#));
    folder.write("2.safetensors", shard("b", r#"{"y":"2","format":"pt"}"#));
    assert!(header("c.yaml").contains(r#"{"__metadata__":{"format":"pt","x":"1","y":"2"},"l.a":"#));
    assert!(folder.run(&["c.yaml", "-o", "c.ptd"]).exits(0).stderr.lines().all(|line| !line.contains("warning")));
    assert!(header("only_b.yaml").contains(r#"{"__metadata__":{"y":"2","format":"pt"},"b":"#));
    folder.write("2.safetensors", shard("b", r#"{"format":"np","x":"2"}"#));
    folder.run(&["c.yaml", "-o", "c.ptd"]).exits(0).stderr_contains(
        "__metadata__ of 2.safetensors conflicts with another file: dropped `format` = `np`, and 1 more",
    );
    assert!(header("c.yaml").contains(r#"{"__metadata__":{"format":"pt","x":"1"},"l.a":"#));
}

/// Version of the reference implementation.
const REFERENCE: &str = "safetensors==0.8.0";

#[test]
#[ignore = "installs the Python package safetensors"]
fn the_reference_implementation_writes_files_that_round_trip_and_reads_ours() {
    let python = python::with_package(REFERENCE);
    let script = |arguments: &[&str]| python::run(&python, "tests/data/safetensors.py", arguments);
    let read = |path: &Path| -> serde_json::Value {
        serde_json::from_str(&script(&["read", path.to_str().unwrap()])).unwrap()
    };
    let files = tempfile::tempdir().unwrap();
    let first = seed("PTE_EMIT_SAFETENSORS_SEED", 1);
    for seed in first..first + 3 {
        let names = script(&["write", files.path().to_str().unwrap(), &seed.to_string()]);
        assert!(!names.is_empty(), "the script has written no file");
        for name in names.lines() {
            round_trips(name, &std::fs::read(files.path().join(format!("{name}.safetensors"))).unwrap());
        }
    }
    // A file of YAML, in an order that the reference implementation does not write.
    let folder = Folder::new(&[(
        "w.yaml",
        "named_data:
  a: {tensor: uint8, data: [1, 2]}
  __metadata__: {text: '{\"format\": \"pt\"}'}
  b: {tensor: float64, sizes: [2, 1], data: [0.5, -2]}\n",
    )]);
    folder.run(&["w.yaml", "-o", "w.safetensors"]).exits(0);
    let expected = serde_json::json!({"metadata": {"format": "pt"}, "tensors": {
        "a": ["U8", [2], "0102"],
        "b": ["F64", [2, 1], "000000000000e03f00000000000000c0"],
    }});
    assert_eq!(read(&folder.path().join("w.safetensors")), expected);
    let other = file(&[SECOND, METADATA, FIRST], 6);
    folder.write("x.safetensors", &other);
    convert(&folder);
    assert_eq!(read(&folder.path().join("back.safetensors")), read(&folder.path().join("x.safetensors")));
}
