//! What must hold of any source and of any file, whichever test looks at it. A property panics if it does not hold.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use jsonschema::Validator;
use pte_emit::annotate::{self, Options as AnnotateOptions};
use pte_emit::check::{self, DataFile, Findings, Options as CheckOptions, Severity};
use pte_emit::data::Origin;
use pte_emit::format::serializer::Serializer;
use pte_emit::ir::tree::{self, Node, Tree, Value};
use pte_emit::layout::Options;
use pte_emit::printer::{LargeData, PrintOptions, Printed};
use pte_emit::program;
use pte_emit::reader;
use pte_emit::{Assembly, Options as AssembleOptions, Source, assemble};

use super::sources;

// ---------------------------------------------------------------------------------------------------------------- sources

/// Our parser and another one read the same from a YAML source.
pub fn parsers_agree(text: &str) {
    let ours = tree::parse(text).unwrap_or_else(|error| panic!("{error:?}"));
    let theirs: Tree<'_> = serde_yaml::from_str(text).unwrap_or_else(|error| panic!("{error}"));
    // As text, because a NaN is not equal to itself, and zeros of either sign are.
    pretty_assertions::assert_eq!(format!("{ours:#?}"), format!("{:#?}", theirs.0));
}

static VALIDATOR: LazyLock<Validator> =
    LazyLock::new(|| jsonschema::validator_for(&pte_emit::ir::json_schema::schema()).expect("it is a JSON Schema"));

/// Whether a source is valid by the JSON Schema; `None` if it is not even YAML.
pub fn is_valid_by_schema(text: &str) -> Option<bool> {
    Some(VALIDATOR.is_valid(&json_of(&tree::parse(text).ok()?)))
}

/// A source is valid by the JSON Schema that `pte-emit schema` prints.
pub fn valid_by_schema(text: &str) {
    let value = json_of(&tree::parse(text).unwrap_or_else(|error| panic!("{error:?}")));
    let errors: Vec<String> =
        VALIDATOR.iter_errors(&value).map(|error| format!("{}: {error}", error.instance_path())).collect();
    assert!(errors.is_empty(), "not valid by the JSON Schema:\n{}", errors.join("\n"));
}

fn json_of(node: &Node<'_>) -> serde_json::Value {
    match &node.value {
        Value::Null => serde_json::Value::Null,
        Value::Bool(b) => (*b).into(),
        Value::Int(n) => (*n).into(),
        Value::UInt(n) => (*n).into(),
        // JSON has no infinities and no NaN; the schema takes any number.
        Value::Float(x) => if x.is_finite() { *x } else { 0.5 }.into(),
        Value::Text(text) => text.to_string().into(),
        Value::List(items) => items.iter().map(json_of).collect(),
        Value::Map(entries) => serde_json::Value::Object(
            entries.iter().map(|(key, value)| (key.text.to_string(), json_of(value))).collect(),
        ),
    }
}

/// Larger files are not built: alignments up to 1 GiB make as much padding.
const SMALL: u64 = 1 << 20;

/// A source, if it can be assembled, becomes a file that is printed as a source that becomes the same file.
///
/// # Errors
/// The printed source, or why there is none.
pub fn survives_dump(text: &str, folder: &Path) -> Result<(), String> {
    let overrides = {
        let mut options = AssembleOptions::default();
        options.max_size = Some(SMALL);
        options
    };
    let Ok(assembly) = assemble(&Source::yaml("source", text, folder), &overrides) else { return Ok(()) };
    let file = assembly.program_file().or_else(|| Some(assembly.data_files().next()?.1)).ok_or("no file")?;
    // What is patched may be anything, or nothing that can be read.
    if file.size().is_none_or(|size| size > SMALL)
        || file.overrides.is_some_and(|overrides| !overrides.patches.is_empty())
    {
        return Ok(());
    }
    let file = file.to_vec().map_err(|error| error.to_string())?;
    let printed = pte_emit::print(
        &pte_emit::Source::of_origin("dump", Origin::Bytes(file.as_slice().into())),
        Path::new(""),
        &print_options(),
    )
    .map_err(|error| error.to_string())?;
    match printed.difference {
        None if first_file(&printed.text) == file => Ok(()),
        None => Err(format!("the comparison missed a difference:\n{}", printed.text)),
        Some(_) => Err(printed.text),
    }
}

/// Options of a printer that needs no other file.
pub fn print_options() -> PrintOptions {
    PrintOptions { explicit: false, large_data: LargeData::Inline, file: String::new() }
}

/// The program of a source, or its first `.ptd` if it has no methods.
pub fn first_file(text: &str) -> Vec<u8> {
    let input = Source::yaml("dump", text, Path::new(""));
    let assembly = assemble(&input, &AssembleOptions::default())
        .unwrap_or_else(|report| panic!("{}\n{text}", pte_emit::cli::render::report(report.report(), false)));
    match assembly.program_file() {
        Some(file) => file.to_vec().unwrap(),
        None => assembly.data_files().next().expect("it has data").1.to_vec().unwrap(),
    }
}

// ------------------------------------------------------------------------------------------------------------------- dump

/// Prints a file of any format; large data stay in it, or are printed.
pub fn print(path: &Path, explicit: bool, large_data: LargeData) -> Result<Printed, pte_emit::Error> {
    let options = PrintOptions { explicit, large_data, file: path.display().to_string() };
    pte_emit::print(&pte_emit::Source::of_origin("dump", Origin::File(path.into())), Path::new(""), &options)
}

/// `dump` of a file assembles to the same file, whatever its options.
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

// ------------------------------------------------------------------------------------------------------------------ check

/// The `.ptd` files in the folder of a file.
pub fn data_beside(path: &Path) -> Vec<DataFile> {
    let entries = std::fs::read_dir(path.parent().unwrap()).unwrap().map(|entry| entry.unwrap().path());
    let mut paths: Vec<PathBuf> = entries.filter(|path| super::has_extension(path, &["ptd"])).collect();
    paths.sort();
    let open = |path: &PathBuf| DataFile::open(path.display().to_string(), &Origin::File(path.as_path().into()));
    paths.iter().map(|path| open(path).unwrap()).collect()
}

/// The rules, worse than a note, that are broken by these findings.
pub fn broken_rules(findings: &Findings) -> BTreeSet<String> {
    let bad = findings.list().iter().filter(|finding| finding.rule.severity < Severity::Note);
    bad.map(|finding| finding.rule.id.to_owned()).collect()
}

/// The findings, one a line.
pub fn lines(findings: &Findings) -> String {
    findings.list().iter().map(|finding| format!("{finding}\n")).collect()
}

/// `check` finds that a file breaks these rules and no others, be it given the `.ptd` files beside it or not.
pub fn check_finds(path: &Path, rules: &BTreeSet<String>) {
    for with in [Vec::new(), data_beside(path)] {
        let findings =
            check::file(&Origin::File(path.into()), &CheckOptions { with, ..CheckOptions::default() }).unwrap();
        pretty_assertions::assert_eq!(&broken_rules(&findings), rules, "check\n{}", lines(&findings));
    }
}

/// `check` has nothing beyond notes against an assembly, its `.ptd` files and its `.bpte`.
pub fn check_accepts(assembly: &Assembly) {
    let mut all = check::assembly(assembly, &CheckOptions::default()).unwrap();
    if let (false, Ok(bundled)) = (assembly.tests.is_empty(), assembly.bundled()) {
        let with = assembly.data_files().map(|(_, file)| DataFile::unwritten("its .ptd", &file)).collect();
        all.push(check::bundled_program(bundled.flatbuffer(), &CheckOptions { with, ..CheckOptions::default() }));
    }
    assert!(!all.is_empty(), "nothing was checked");
    let wrong: String = all.iter().filter(|findings| !broken_rules(findings).is_empty()).map(lines).collect();
    assert_eq!(wrong, "", "check");
}

/// `check` finds the same in a program in memory, on the disk, and in its metadata alone, with the length of the file.
///
/// This says little of a file without findings: see [`check_finds_the_same_in_metadata`], which the malformed examples are given to.
pub fn check_needs_no_data(path: &Path) {
    let bytes = std::fs::read(path).unwrap();
    let in_memory = check_finds_the_same_in_metadata(&bytes);
    let on_disk = check::file(&Origin::File(path.into()), &CheckOptions::default()).unwrap();
    assert_eq!(in_memory, lines(&on_disk));
}

/// The header, which is read before it is known how long the metadata are.
const HEADER: usize = 64;

/// Rules about the payload of a delegate: these look at data.
const ABOUT_PAYLOADS: [&str; 4] = ["D-11", "D-12", "D-13", "D-14"];

/// `check` finds the same in a program and in its metadata alone, with the length of the file. Returns the findings in the whole.
pub fn check_finds_the_same_in_metadata(bytes: &[u8]) -> String {
    let of = |findings: &Findings| -> String {
        let found = findings.list().iter().filter(|finding| !ABOUT_PAYLOADS.contains(&finding.rule.id));
        found.map(|finding| format!("{finding}\n")).collect()
    };
    let whole = check::file(&Origin::Bytes(bytes.into()), &CheckOptions::default()).unwrap();
    let metadata = &bytes[..super::fields::program_size(bytes).max(HEADER).min(bytes.len())];
    let head = check::program(metadata, bytes.len() as u64, &CheckOptions::default());
    assert_eq!(of(&whole), of(&head), "of {} bytes {} are metadata", bytes.len(), metadata.len());
    lines(&whole)
}

/// `check` answers for any bytes, keeps a limited number of findings, and what it accepts can be read.
pub fn check_answers(bytes: &[u8]) {
    let origin = Origin::Bytes(bytes.into());
    let with = vec![DataFile::open("weights.ptd", &origin).unwrap()];
    let findings = check::file(&origin, &CheckOptions { with, ..CheckOptions::default() }).unwrap();
    let most = check::finding::KEPT * check::rules::RULES.len();
    assert!(findings.list().len() <= most, "{} findings", findings.list().len());
    let legacy = CheckOptions { profile: check::Profile::Legacy, ..CheckOptions::default() };
    if !check::file(&origin, &legacy).unwrap().has_errors() {
        match bytes.get(4..8) {
            Some(b"FT01") => _ = reader::flat_tensor::read(&origin).unwrap(),
            Some(b"BP08") => _ = reader::bundled_program::read(&origin).unwrap(),
            _ => _ = reader::program::read(&origin).unwrap(),
        }
    }
}

// --------------------------------------------------------------------------------------------------------------- annotate

/// The output of `annotate` for a file of this extension.
pub fn annotation(origin: &Origin, extension: &str, options: &AnnotateOptions) -> String {
    let head = origin.head(64).unwrap();
    let name = PathBuf::from(format!("file.{extension}"));
    let format = annotate::format(&head, origin.len().unwrap(), Some(&name)).expect("its extension is one of ours");
    let mut out = Vec::new();
    annotate::annotate(origin, format, options, &mut out).unwrap();
    String::from_utf8(out).expect("the output is UTF-8")
}

/// Each byte of a file has one owner: the regions of `annotate --json` follow each other from the first byte to the last, and the
/// lines have the same regions. Returns the lines.
pub fn every_byte_has_one_owner(origin: &Origin, extension: &str) -> String {
    let json = annotation(origin, extension, &AnnotateOptions { json: true, ..AnnotateOptions::default() });
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
    // A claim without bytes of its own has no line but the note.
    let expected: Vec<u64> = regions
        .iter()
        .filter(|region| region["meaning"] != "all its bytes are another's")
        .map(|region| region["offset"].as_u64().unwrap())
        .collect();
    assert_eq!(lines, expected, "annotate: there is a line for each region");
    assert!(text.lines().last().unwrap().starts_with(&format!("{at} bytes: ")));
    text
}

/// `annotate` explains every byte of a well-formed file, and none twice.
pub fn every_byte_is_explained(origin: &Origin, extension: &str) {
    let text = every_byte_has_one_owner(origin, extension);
    let sum = text.lines().last().unwrap();
    assert!(sum.ends_with(", 0 unreachable, 0 claimed twice"), "annotate: {sum}\n{text}");
    assert!(!text.contains("\n  !"), "annotate: {text}");
}

// ------------------------------------------------------------------------------------------------------------------- read

/// The data of each tensor in a `.ptd` have the size that its layout asks for, and can be read.
pub fn data_have_their_sizes(path: &Path) {
    let entries = reader::flat_tensor::read(&Origin::File(path.into())).unwrap();
    assert!(!entries.is_empty(), "no entries");
    for entry in entries {
        if let Some(layout) = &entry.tensor_layout {
            assert_eq!(program::nbytes(layout.scalar_type, &layout.sizes), Some(entry.data.len), "{}", entry.key);
        }
        assert_eq!(entry.data.to_vec().unwrap().len() as u64, entry.data.len, "{}", entry.key);
    }
}

/// A program that the exporter wrote is read and written again without a difference, by one of the layouts that the exporter was
/// asked for.
pub fn is_written_again(path: &Path) {
    let bytes = std::fs::read(path).unwrap();
    let found = reader::program::read(&Origin::File(path.into())).unwrap();
    let builder = if path.ends_with("flatc.pte") { Serializer::Flatc } else { Serializer::Exir };
    let alignments = [(128, 16, 16), (4096, 64, 32), (128, 16, 256)];
    let same = alignments.iter().any(|&(segment_alignment, tensor_alignment, delegate_alignment)| {
        let options =
            Options { segment_alignment, tensor_alignment, delegate_alignment, builder, ..Options::default() };
        super::program::write(&found.program, &options) == bytes
    });
    assert!(same, "another file is written");
}
