//! Properties of all sources and files. A function panics if its property does not hold.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use pte_check::{CheckOptions, DataFile, Finding, Findings, RuleSeverity};
use pte_emit::check::RuleId;
use pte_emit::program;
use pte_emit::{AssembleOptions, Assembly, Model};
use pte_emit::{LargeData, PrintOptions, Printed, plan::LayoutConfig};
use pte_inspect::annotate::{self, AnnotateOptions};
use pte_model::data::Origin;
use pte_model::format::serializer::Serializer;
use pte_model::reader;
use pte_yaml::tree::{self, SourceNode};

use super::sources;

// ----------------------------------------------------------------------------------------------------------------
// sources

/// Asserts that our parser and another one read the same tree.
pub fn parsers_agree(text: &str) {
    let ours = tree::parse(text).unwrap_or_else(|error| panic!("{error:?}"));
    let theirs: SourceNode<'_> = serde_yaml::from_str(text).unwrap_or_else(|error| panic!("{error}"));
    // Formatted, because a NaN is not equal to itself, and zeros of both signs are equal.
    pretty_assertions::assert_eq!(format!("{ours:#?}"), format!("{theirs:#?}"));
}

/// Maximum size in bytes: larger files are not built, since alignments up to 1 GiB add as much padding.
const SMALL: u64 = 1 << 20;

/// If a source can be assembled, `dump` of its file assembles to the same file.
///
/// # Errors
/// The printed source, or a message.
pub fn survives_dump(text: &str, folder: &Path) -> Result<(), String> {
    let overrides = { AssembleOptions::default().max_size(SMALL) };
    let Ok(assembly) = Model::from_yaml("source", text, folder).assemble(&overrides) else { return Ok(()) };
    let file = assembly.program_file().or_else(|| Some(assembly.data_files().next()?.1)).ok_or("no file")?;
    // Patched files may be unreadable.
    if file.size().is_none_or(|size| size > SMALL) || text.contains("patch") {
        return Ok(());
    }
    let file = file.to_vec().map_err(|error| error.to_string())?;
    let printed = Model::from_binary("dump", &file)
        .to_yaml(Path::new(""), &print_options())
        .map_err(|error| error.to_string())?;
    match printed.difference {
        None if first_file(&printed.text) == file => Ok(()),
        None => Err(format!("the comparison missed a difference:\n{}", printed.text)),
        Some(_) => Err(printed.text),
    }
}

/// Options of a printer without references to other files.
pub fn print_options() -> PrintOptions {
    print_options_of(false, LargeData::Inline, "")
}

/// Options of `dump`.
pub fn print_options_of(explicit: bool, large_data: LargeData, file: &str) -> PrintOptions {
    PrintOptions::default().explicit(explicit).large_data(large_data).file(file.to_owned())
}

/// Options of `annotate`, changed by `set`.
pub fn annotate_options(set: impl FnOnce(&mut AnnotateOptions)) -> AnnotateOptions {
    let mut options = AnnotateOptions::default();
    set(&mut options);
    options
}

/// Assembles a source to its program, or to its first `.ptd` if it has no methods.
pub fn first_file(text: &str) -> Vec<u8> {
    let input = Model::from_yaml("dump", text, Path::new(""));
    let assembly = input
        .assemble(&AssembleOptions::default())
        .unwrap_or_else(|report| panic!("{}\n{text}", report.report().render(false)));
    match assembly.program_file() {
        Some(file) => file.to_vec().unwrap(),
        None => assembly.data_files().next().expect("it has data").1.to_vec().unwrap(),
    }
}

// -------------------------------------------------------------------------------------------------------------------
// dump

/// Prints a file of any format.
pub fn print(path: &Path, explicit: bool, large_data: LargeData) -> Result<Printed, pte_emit::Error> {
    let options = print_options_of(explicit, large_data, &path.display().to_string());
    Model::open(path).unwrap().to_yaml(Path::new(""), &options)
}

/// Asserts that `dump` of a file assembles to the same file, with all options.
pub fn dump_reproduces(path: &Path) {
    let expected = std::fs::read(path).unwrap();
    for (explicit, large) in [(false, LargeData::Refer), (true, LargeData::Refer), (false, LargeData::Inline)] {
        let what = format!("dump (explicit: {explicit}, {large:?})");
        let printed = print(path, explicit, large).unwrap_or_else(|error| panic!("{what}: {error}"));
        assert_eq!(printed.difference, None, "{what}\n{}", printed.text);
        let again = match super::has_extension(path, &["bpte"]) {
            true => sources::assembly("dump", &printed.text, Path::new("")).bundled().unwrap().flatbuffer().to_vec(),
            false => first_file(&printed.text),
        };
        assert!(again == expected, "{what}: the comparison missed a difference\n{}", printed.text);
    }
}

// ------------------------------------------------------------------------------------------------------------------
// check

/// `.ptd` files in the folder of a file.
pub fn data_beside(path: &Path) -> Vec<DataFile> {
    let entries = std::fs::read_dir(path.parent().unwrap()).unwrap().map(|entry| entry.unwrap().path());
    let mut paths: Vec<PathBuf> = entries.filter(|path| super::has_extension(path, &["ptd"])).collect();
    paths.sort();
    let open = |path: &PathBuf| DataFile::open(path);
    paths.iter().map(|path| open(path).unwrap()).collect()
}

/// Rules of findings that are errors or warnings.
pub fn broken_rules(findings: &Findings) -> BTreeSet<String> {
    let bad = findings.list.iter().filter(|finding| finding.rule.severity < RuleSeverity::Note);
    bad.map(|finding| finding.rule.id.to_string()).collect()
}

/// Findings, one per line.
pub fn lines(findings: &Findings) -> String {
    findings.list.iter().map(|finding| format!("{finding}\n")).collect()
}

/// Asserts that the findings of `check` are exactly those of these rules, with and without the `.ptd` files in the same
/// folder.
pub fn check_finds(path: &Path, rules: &BTreeSet<String>) {
    for with in [Vec::new(), data_beside(path)] {
        let findings = pte_check::file(&Origin::File(path.into()), &with_data(with)).unwrap();
        pretty_assertions::assert_eq!(&broken_rules(&findings), rules, "check\n{}", lines(&findings));
    }
}

/// Asserts that `check` reports only notes for an assembly, its `.ptd` files and its `.bpte`.
pub fn check_accepts(assembly: &Assembly) {
    let mut all = assembly.check(&CheckOptions::default()).unwrap();
    if let (false, Ok(bundled)) = (assembly.tests.is_empty(), assembly.bundled()) {
        let with = assembly
            .data_files()
            .map(|(_, file)| DataFile::from_bytes("its .ptd", file.to_vec().unwrap()).unwrap())
            .collect();
        all.push(pte_check::bundled_program(bundled.flatbuffer(), &with_data(with)));
    }
    assert!(!all.is_empty(), "nothing was checked");
    let findings: String = all.iter().filter(|findings| !broken_rules(findings).is_empty()).map(lines).collect();
    assert_eq!(findings, "", "check");
}

/// Asserts that `check` reports the same for a program in memory, on disk, and for its metadata with the size of the
/// file.
///
/// A weak property of files without findings: [`check_finds_the_same_in_metadata`] is also applied to the malformed
/// examples.
pub fn check_needs_no_data(path: &Path) {
    let bytes = std::fs::read(path).unwrap();
    let in_memory = check_finds_the_same_in_metadata(&bytes);
    let on_disk = pte_check::file(&Origin::File(path.into()), &CheckOptions::default()).unwrap();
    assert_eq!(in_memory, lines(&on_disk));
}

/// Size of the head in bytes, which is read before the size of the metadata is known.
const HEADER: usize = 64;

/// Rules of delegate payloads, which read data.
const ABOUT_PAYLOADS: [RuleId; 15] = [
    RuleId::D_11,
    RuleId::D_12,
    RuleId::D_13,
    RuleId::D_14,
    RuleId::D_15,
    RuleId::D_16,
    RuleId::D_17,
    RuleId::D_18,
    RuleId::D_19,
    RuleId::D_20,
    RuleId::D_21,
    RuleId::D_23,
    RuleId::D_24,
    RuleId::D_25,
    RuleId::D_26,
];

/// Returns `true` for a finding that follows from data: that of a payload, or of the elements of a constant.
fn is_about_data(finding: &Finding) -> bool {
    let is_about_elements = || {
        let Finding { found, expected, .. } = finding;
        let starts = ["index ", "zero point ", "NaN in the constant "];
        starts.iter().any(|start| found.starts_with(start)) || expected.contains(", the sum of ")
    };
    // A program that is a payload is data of the one around it.
    if finding.location.path.contains("].program") {
        return true;
    }
    match finding.rule.id {
        RuleId::O_8 | RuleId::O_14 => is_about_elements(),
        // What is not evaluated, because data cannot be read.
        RuleId::X_30 => true,
        rule => ABOUT_PAYLOADS.contains(&rule),
    }
}

/// Asserts that `check` reports the same for a program and for its metadata with the size of the file, but for what
/// follows from data, which may be in a segment. Returns the findings.
pub fn check_finds_the_same_in_metadata(bytes: &[u8]) -> String {
    let of = |findings: &Findings| -> String {
        let found = findings.list.iter().filter(|finding| !is_about_data(finding));
        found.map(|finding| format!("{finding}\n")).collect()
    };
    let whole = pte_check::file(&Origin::Bytes(bytes.into()), &CheckOptions::default()).unwrap();
    let metadata = &bytes[..super::fields::program_size(bytes).max(HEADER).min(bytes.len())];
    let head = pte_check::program(metadata, bytes.len() as u64, &CheckOptions::default());
    assert_eq!(of(&whole), of(&head), "of {} bytes {} are metadata", bytes.len(), metadata.len());
    lines(&whole)
}

/// Asserts that `check` does not panic, limits the number of findings, and accepts only readable files.
pub fn check_answers(bytes: &[u8]) {
    let origin = Origin::Bytes(bytes.into());
    let with = vec![DataFile::from_bytes("weights.ptd", bytes).unwrap()];
    let findings = pte_check::file(&origin, &with_data(with)).unwrap();
    let most = pte_check::finding::KEPT * pte_check::rules::RULES.len();
    assert!(findings.list.len() <= most, "{} findings", findings.list.len());
    let legacy = of_profile(pte_check::Profile::Legacy);
    if !pte_check::file(&origin, &legacy).unwrap().has_errors() {
        match bytes.get(4..8) {
            Some(b"FT01") => _ = reader::flat_tensor::read(&origin).unwrap(),
            Some(b"BP08") => _ = reader::bundled_program::read(&origin).unwrap(),
            _ => _ = reader::program::read(&origin).unwrap(),
        }
    }
}

// ---------------------------------------------------------------------------------------------------------------
// annotate

/// Output of `annotate` for a file with this extension.
pub fn annotation(origin: &Origin, extension: &str, options: &AnnotateOptions) -> String {
    let head = origin.head(64).unwrap();
    let name = PathBuf::from(format!("file.{extension}"));
    let format = annotate::format(&head, origin.len().unwrap(), Some(&name)).expect("a known extension");
    let mut out = Vec::new();
    annotate::annotate(origin, format, options, &mut out).unwrap();
    String::from_utf8(out).expect("the output is UTF-8")
}

/// Asserts that each byte of a file has one owner: the regions of `annotate --json` are contiguous from the first to
/// the last byte, and the lines have the same regions. Returns the lines.
pub fn every_byte_has_one_owner(origin: &Origin, extension: &str) -> String {
    let json = annotation(origin, extension, &annotate_options(|options| options.json = true));
    let regions: Vec<serde_json::Value> =
        serde_json::from_str(&json).unwrap_or_else(|error| panic!("annotate: {error}: {json}"));
    let mut at = 0;
    for region in &regions {
        assert_eq!(region["offset"].as_u64(), Some(at), "annotate: {region}");
        at += region["size"].as_u64().unwrap();
    }
    assert_eq!(at, origin.len().unwrap(), "annotate: all bytes have an owner");
    let text = annotation(origin, extension, &AnnotateOptions::default());
    let offset = |line: &str| u64::from_str_radix(line.strip_prefix("  0x")?.split(' ').next()?, 16).ok();
    let lines: Vec<u64> = text.lines().filter_map(offset).collect();
    // A region without bytes of its own has only a note.
    let expected: Vec<u64> = regions
        .iter()
        .filter(|region| region["meaning"] != "all bytes belong to another object")
        .map(|region| region["offset"].as_u64().unwrap())
        .collect();
    assert_eq!(lines, expected, "annotate: there is a line for each region");
    assert!(text.lines().last().unwrap().starts_with(&format!("{at} bytes: ")));
    text
}

/// Asserts that `annotate` explains every byte of a well-formed file exactly once.
pub fn every_byte_is_explained(origin: &Origin, extension: &str) {
    let text = every_byte_has_one_owner(origin, extension);
    let sum = text.lines().last().unwrap();
    assert!(sum.ends_with(", 0 unreachable, 0 overlapping"), "annotate: {sum}\n{text}");
    assert!(!text.contains("\n  !"), "annotate: {text}");
}

// -------------------------------------------------------------------------------------------------------------------
// read

/// Asserts that the data of each tensor in a `.ptd` have the size of its layout, and can be read.
pub fn data_have_their_sizes(path: &Path) {
    let entries = reader::flat_tensor::read(&Origin::File(path.into())).unwrap();
    assert!(!entries.is_empty(), "no entries");
    for entry in entries {
        if let Some(layout) = &entry.tensor_layout {
            assert_eq!(program::nbytes(layout.scalar_type, &layout.sizes), Some(entry.data.len()), "{}", entry.key);
        }
        assert_eq!(entry.data.to_vec().unwrap().len() as u64, entry.data.len(), "{}", entry.key);
    }
}

/// Asserts that a program of the exporter is read and emitted again byte for byte, with one of the layouts that the
/// exporter was configured for.
pub fn is_reemitted(path: &Path) {
    let bytes = std::fs::read(path).unwrap();
    let found = reader::program::read(&Origin::File(path.into())).unwrap();
    let builder = if path.ends_with("flatc.pte") { Serializer::Flatc } else { Serializer::Exir };
    let alignments = [(128, 16, 16), (4096, 64, 32), (128, 16, 256)];
    let same = alignments.iter().any(|&(segment_alignment, tensor_alignment, delegate_alignment)| {
        let mut options = LayoutConfig::default();
        (options.segment_alignment, options.tensor_alignment) = (segment_alignment, tensor_alignment);
        (options.delegate_alignment, options.builder) = (delegate_alignment, builder);
        super::program::write(&found.program, &options) == bytes
    });
    assert!(same, "the emitted file differs");
}

/// Options of validation with these `.ptd` files.
fn with_data(with: Vec<DataFile>) -> CheckOptions {
    CheckOptions::default().with(with)
}

/// Options of validation for a runtime build.
fn of_profile(profile: pte_check::Profile) -> CheckOptions {
    CheckOptions::default().profile(profile)
}
