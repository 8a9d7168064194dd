//! Explanations of files: whole ones as goldens under `tests/golden/annotate` (`BLESS=1 cargo test` renews them), and of every
//! file that the repository has, or that random damage makes of them, that each byte has exactly one owner.
//!
//! Exit codes and options of the command are tested here, too, since nothing else has them.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use proptest::prelude::*;
use proptest::test_runner::{Config, FileFailurePersistence};
use pte_emit::annotate::{self, Only, Options};
use pte_emit::data::Origin;
use pte_emit::format::Format;
use pte_emit::format::program;
use pte_emit::{Assembly, Options as AssembleOptions, Source, assemble};
use serde_json::Value;

// The tests of the other commands use all of it.
#[allow(dead_code)]
#[path = "support/folder.rs"]
mod folder;
#[path = "../src/golden.rs"]
mod golden;
#[allow(dead_code)]
#[path = "support/patch.rs"]
mod patch;
#[path = "support/references.rs"]
mod references;

use folder::Folder;
use patch::Patch;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn assembled(name: &str) -> Assembly {
    let path = root().join("examples").join(name);
    let text = fs::read_to_string(&path).unwrap();
    let input = Source::yaml(name, &text, path.parent().unwrap());
    assemble(&input, &AssembleOptions::default()).unwrap_or_else(|error| panic!("{error}"))
}

/// All files that a text of the examples becomes.
fn files(name: &str) -> Vec<(&'static str, Vec<u8>)> {
    let assembly = assembled(name);
    let mut files: Vec<(&str, Vec<u8>)> = Vec::new();
    files.extend(assembly.program_file().map(|file| ("pte", file.to_vec().unwrap())));
    files.extend(assembly.data_files().map(|(_, file)| ("ptd", file.to_vec().unwrap())));
    if !assembly.tests.is_empty() {
        // Not every test can be bundled.
        files.extend(assembly.bundled().ok().map(|bytes| ("bpte", bytes.flatbuffer().to_vec())));
    }
    files
}

fn file(name: &str, extension: &str) -> Vec<u8> {
    files(name).into_iter().find(|(found, _)| *found == extension).unwrap().1
}

fn explain(origin: &Origin, extension: &str, options: &Options) -> String {
    let head = origin.head(64).unwrap();
    let name = PathBuf::from(format!("file.{extension}"));
    let format = annotate::format(&head, origin.len().unwrap(), Some(&name)).expect("its extension is one of ours");
    let mut out = Vec::new();
    annotate::annotate(origin, format, options, &mut out).unwrap();
    String::from_utf8(out).expect("the text is UTF-8")
}

fn text(bytes: &[u8], extension: &str) -> String {
    explain(&Origin::Bytes(bytes.into()), extension, &Options::default())
}

fn json(origin: &Origin, extension: &str) -> Vec<Value> {
    let text = explain(origin, extension, &Options { json: true, ..Options::default() });
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

/// Asserts that each byte has one owner: the regions follow each other from the first byte to the last. The text has the same
/// regions.
fn owned(origin: &Origin, extension: &str) {
    let regions = json(origin, extension);
    let mut at = 0;
    for region in &regions {
        assert_eq!(region["offset"].as_u64(), Some(at), "{region}");
        at += region["size"].as_u64().unwrap();
    }
    assert_eq!(at, origin.len().unwrap(), "all bytes have an owner");
    let text = explain(origin, extension, &Options::default());
    let offset = |line: &str| u64::from_str_radix(line.strip_prefix("  0x")?.split(' ').next()?, 16).ok();
    let lines: Vec<u64> = text.lines().filter_map(offset).collect();
    // A claim without bytes of its own has no line but the note.
    let expected: Vec<u64> = regions
        .iter()
        .filter(|region| region["meaning"] != "all its bytes are another's")
        .map(|region| region["offset"].as_u64().unwrap())
        .collect();
    assert_eq!(lines, expected, "the text has a line for each region");
    assert!(text.lines().last().unwrap().starts_with(&format!("{at} bytes: ")));
}

#[test]
fn every_byte_of_the_examples_has_one_owner() {
    let mut count = 0;
    for entry in fs::read_dir(root().join("examples")).unwrap().map(Result::unwrap) {
        let name = entry.file_name().into_string().unwrap();
        if !name.ends_with(".yaml") {
            continue;
        }
        for (extension, bytes) in files(&name) {
            owned(&Origin::Bytes(bytes.as_slice().into()), extension);
            // Nothing in a file of our own is a riddle.
            let text = text(&bytes, extension);
            let sum = text.lines().last().unwrap();
            assert!(sum.ends_with(", 0 unreachable, 0 claimed twice"), "{name}, {extension}: {sum}\n{text}");
            assert!(!text.contains("\n  !"), "{name}, {extension}: {text}");
            count += 1;
        }
    }
    assert!(count > 40, "{count} files");
}

#[test]
fn every_byte_of_the_references_has_one_owner() {
    let found = [("", "pte"), ("", "ptd"), ("bundled", "bpte")];
    for (extension, path) in found.iter().flat_map(|(folder, extension)| {
        references::references(folder, extension).into_iter().map(move |path| (extension, path))
    }) {
        // From the disk, where the data are not in memory.
        owned(&Origin::File(path.as_path().into()), extension);
    }
}

/// What fuzzing found to be interesting for `check`, taken for each of the formats.
#[test]
fn every_byte_of_odd_files_has_one_owner() {
    let mut count = 0;
    for entry in fs::read_dir(root().join("fuzz/seeds/check")).unwrap().map(Result::unwrap) {
        let bytes = fs::read(entry.path()).unwrap();
        for extension in ["pte", "ptd", "bpte"] {
            owned(&Origin::Bytes(bytes.as_slice().into()), extension);
        }
        count += 1;
    }
    assert!(count > 0);
}

/// The page about the command shows what it prints.
#[test]
fn the_page_is_true() {
    let path = root().join("docs/annotate.md");
    let page = fs::read_to_string(&path).unwrap();
    let bytes = file("linear.yaml", "pte");
    let origin = Origin::Bytes(bytes.into());
    let range = Options { range: Some(0..0x40), ..Options::default() };
    let segments = Options { only: Some(Only::Segments), ..Options::default() };
    let (before, _) = page.split_once("<!-- annotate --range 0..0x40 -->\n").unwrap();
    let (_, after) = page.split_once("<!-- end -->").unwrap();
    let renewed = format!(
        "{before}<!-- annotate --range 0..0x40 -->\n```text\n{}```\n<!-- annotate --only segments -->\n```text\n{}```\n<!-- end -->{after}",
        explain(&origin, "pte", &range),
        explain(&origin, "pte", &segments)
    );
    if std::env::var_os("BLESS").is_some() {
        return fs::write(path, renewed).unwrap();
    }
    assert_eq!(page, renewed, "`BLESS=1 cargo test` renews the page");
}

#[test]
fn examples_are_explained() {
    golden::check("annotate/add.pte.txt", &text(&file("add.yaml", "pte"), "pte"));
    golden::check("annotate/add.bpte.txt", &text(&file("add.yaml", "bpte"), "bpte"));
    golden::check("annotate/linear_external.pte.txt", &text(&file("linear_external.yaml", "pte"), "pte"));
    golden::check("annotate/linear_external.ptd.txt", &text(&file("linear_external.yaml", "ptd"), "ptd"));
    golden::check("annotate/mutable_buffer.pte.txt", &text(&file("mutable_buffer.yaml", "pte"), "pte"));
    golden::check("annotate/named_data_delegate.pte.txt", &text(&file("named_data_delegate.yaml", "pte"), "pte"));
    let bytes = file("linear_external.yaml", "ptd");
    let options = Options { json: true, ..Options::default() };
    golden::check("annotate/linear_external.ptd.json", &explain(&Origin::Bytes(bytes.into()), "ptd", &options));
}

/// A program with two segments to spoil.
fn linear() -> Patch {
    Patch::new(file("linear.yaml", "pte"), &program::PROGRAM)
}

#[test]
fn broken_files_are_explained_around_what_is_broken() {
    let mut broken: Vec<(&str, Vec<u8>)> = Vec::new();
    let whole = linear().bytes;
    broken.push(("truncated", whole[..whole.len() * 2 / 3].to_vec()));
    broken.push(("truncated_header", whole[..20].to_vec()));
    let mut patch = linear();
    patch.write(16, &0x0102_0304_0506u64.to_le_bytes());
    patch.write(24, &64u64.to_le_bytes());
    patch.write(32, &u64::MAX.to_le_bytes());
    broken.push(("lying_header", patch.bytes));
    let mut patch = linear();
    patch.write(0, &0x9f0u32.to_le_bytes());
    broken.push(("bad_root", patch.bytes));
    let mut patch = linear();
    let at = patch.target("execution_plan[0].values[0].val.sizes");
    patch.write(at, &1000u32.to_le_bytes());
    let at = patch.target("execution_plan[0].operators[1].name");
    patch.write(at, &u32::MAX.to_le_bytes());
    broken.push(("vector_past_the_end", patch.bytes));
    let mut patch = linear();
    let at = patch.target("execution_plan[0].values[1].val.sizes");
    patch.write(at, &7u32.to_le_bytes());
    patch.set("execution_plan[0].values[2].val_type", &[99]);
    broken.push(("overlapping_vector", patch.bytes));
    let mut patch = Patch::new(file("named_data_delegate.yaml", "pte"), &program::PROGRAM);
    patch.set64("segments[2].offset", 4);
    broken.push(("overlapping_segments", patch.bytes));
    let mut patch = linear();
    patch.write(4, b"XX12");
    broken.push(("wrong_identifier", patch.bytes));
    for (name, bytes) in broken {
        owned(&Origin::Bytes(bytes.as_slice().into()), "pte");
        golden::check(&format!("annotate/{name}.txt"), &text(&bytes, "pte"));
    }
}

/// The example headers of ExecuTorch's pages about its formats; their numbers are facts.
#[test]
fn the_headers_of_the_format_pages_are_explained() {
    let numbers = |words: &[u64]| words.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<u8>>();
    let mut pte = [&0x38u32.to_le_bytes()[..], b"ET12eh00", &0x18u32.to_le_bytes()].concat();
    pte.extend(numbers(&[0x2f0, 0x1000]));
    let mut ptd = [&0x44u32.to_le_bytes()[..], b"FT01FH01", &0x28u32.to_le_bytes()].concat();
    ptd.extend(numbers(&[0x30, 0x100, 0x130, 0x20]));
    // The bytes behind are not shown there.
    pte.resize(0x1000, 0);
    ptd.resize(0x150, 0);
    for (extension, bytes) in [("pte", pte), ("ptd", ptd)] {
        let options = Options { only: Some(Only::Headers), ..Options::default() };
        let origin = Origin::Bytes(bytes.into());
        owned(&origin, extension);
        golden::check(&format!("annotate/page.{extension}.txt"), &explain(&origin, extension, &options));
    }
}

/// Files that damage makes.
fn damaged() -> Vec<(&'static str, Vec<u8>)> {
    let mut files = Vec::new();
    for name in ["linear.yaml", "named_data_delegate.yaml"] {
        files.push(("pte", file(name, "pte")));
    }
    files.push(("ptd", file("linear_external.yaml", "ptd")));
    files.push(("bpte", file("add.yaml", "bpte")));
    files
}

fn config() -> Config {
    // PROPTEST_CASES asks for more.
    let cases = std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(600);
    let persistence = FileFailurePersistence::Direct("proptest-regressions/annotate.txt");
    Config { cases, failure_persistence: Some(Box::new(persistence)), ..Config::default() }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn damaged_files_are_explained(
        which in any::<prop::sample::Index>(),
        patches in prop::collection::vec((any::<prop::sample::Index>(), patch()), 0..6),
        cut in prop::option::of(any::<prop::sample::Index>()),
    ) {
        thread_local! {
            static FILES: Vec<(&'static str, Vec<u8>)> = damaged();
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
        owned(&Origin::Bytes(bytes.into()), extension);
    }
}

/// Bytes that somebody who means harm would write.
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

/// Each word of the file is a table, since it leads back to one vtable, a vector as long as the file, and an offset to another
/// such word: following everything would take as many steps as the square of the file's size.
#[test]
fn lists_in_lists_take_little_time_and_little_text() {
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
            annotate::annotate(&origin, format, &Options::default(), &mut out).unwrap();
            assert!(start.elapsed().as_secs() < 20, "{:?}", start.elapsed());
            assert!(out.len() < 200 * bytes.len(), "{} bytes of text", out.len());
        }
    }
}

#[test]
fn ranges_and_parts_are_what_is_asked_for() {
    let bytes = file("linear.yaml", "pte");
    let origin = Origin::Bytes(bytes.into());
    let part = |only| explain(&origin, "pte", &Options { only: Some(only), ..Options::default() });
    let (headers, program, segments) = (part(Only::Headers), part(Only::Program), part(Only::Segments));
    assert!(headers.starts_with("header\n") && !headers.contains("\ntable "));
    assert!(program.contains("table Program\n") && !program.contains("header\n") && !program.contains("\nsegment"));
    assert!(segments.contains("segment 0  constants") && !segments.contains("table Program"));
    let range = Options { range: Some(0x40..0x44), ..Options::default() };
    let one = explain(&origin, "pte", &range);
    assert!(
        one.starts_with("table Program\n") && one.lines().filter(|line| line.starts_with("table")).count() == 1,
        "{one}"
    );
}

#[test]
fn the_command_answers_with_its_exit_code() {
    let folder = Folder::new(&[("text.yaml", "methods: {}\n")]);
    let bytes = file("add.yaml", "pte");
    folder.write("add.pte", &bytes);
    folder.write("empty.pte", b"");
    let mut damaged = bytes.clone();
    damaged[4] = b'X';
    folder.write("odd.bin", &damaged);
    let done = folder.run(&["annotate", "add.pte"]).exits(0).says_nothing();
    assert_eq!(String::from_utf8(done.stdout).unwrap(), text(&bytes, "pte"));
    let coloured = folder.run(&["annotate", "add.pte", "--color", "always"]).exits(0);
    assert!(coloured.stdout.starts_with(b"\x1b[1mheader\x1b[0m\n"));
    folder.run(&["annotate", "no.pte"]).exits(3).says("no.pte");
    folder.run(&["annotate", "text.yaml"]).exits(1).says("no .pte");
    folder.run(&["annotate", "empty.pte"]).exits(0);
    folder.run(&["annotate", "odd.bin"]).exits(0);
    folder.run(&["annotate", "add.pte", "--range", "8..4"]).exits(2);
    let piped = folder.run_with_stdin(&["annotate", "-", "--range", "..0x8", "--json"], &bytes).exits(0);
    let regions: Vec<Value> = serde_json::from_slice(&piped.stdout).unwrap();
    assert_eq!(regions[1]["value"], "ET12");
}

#[test]
fn a_reader_that_has_enough_is_no_error() {
    let folder = Folder::new(&[]);
    folder.write("model.pte", file("linear.yaml", "pte"));
    let mut child =
        folder.command(&["annotate", "model.pte"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
}
