//! One test per golden case, named by its path below `tests/golden`: sources that must assemble to files written by
//! ExecuTorch (`upstream/`), these files as input of the commands, and inputs with snapshots of the output
//! (`snapshots/`). Seeds of the fuzzer are named by their path in the repository.
//!
//! `cargo test --test cases golden:: -- --list` lists the cases, `cargo test --test cases errors/anchor` runs those
//! whose name contains the filter (of several filters, one must match), `BLESS=1 cargo test --test cases golden::`
//! writes snapshots. tests/golden/README.md describes the folders.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use libtest_mimic::Trial;
use pte_check::rules::RULES;
use pte_emit::check::RuleId;
use pte_emit::payload::Payload;
use pte_emit::{Model, PrintOptions};
use pte_model::data::Origin;

use crate::support::case::{Case, Run, inputs, run};
use crate::support::folder::Folder;
use crate::support::{
    bundles, files_below, has_extension, malformed, properties, root, sections, snapshot, sources, trial,
};

/// The cases, by name.
pub fn trials() -> Vec<Trial> {
    let tests = [
        upstream(),
        reference_files(),
        releases(),
        errors(),
        annotate(),
        check(),
        explain(),
        commands(),
        fmt(),
        fuzz_seeds(),
        whole(),
    ];
    tests.into_iter().flatten().collect()
}

fn upstream_folder() -> PathBuf {
    root().join("tests/golden/upstream")
}

fn snapshots_folder() -> PathBuf {
    root().join("tests/golden/snapshots")
}

// ---------------------------------------------------------------------------------------------------------------
// upstream

/// Folder of sources with files written by ExecuTorch.
struct Family {
    name: &'static str,
    /// Extension of the default output.
    extension: &'static str,
}

const FAMILIES: [Family; 3] = [
    Family { name: "bytes", extension: "pte" },
    Family { name: "serializer", extension: "pte" },
    Family { name: "bundled", extension: "bpte" },
];

/// ExecuTorch's name of the `.ptd` of constants without a tag; `pte-emit -o NAME.pte` names it `NAME.ptd`.
const DEFAULT_PTD: &str = "_default_external_constant.ptd";

/// File without a source, which `dump` does not reproduce: devtools converted the tensors of the tests to contiguous
/// ones, unlike those of the method. tests/suite/bundled.rs reads it.
const DEVTOOLS: &str = "bundled/channels_last/devtools.bpte";

impl Family {
    fn folder(&self) -> PathBuf {
        upstream_folder().join(self.name)
    }

    fn sources(&self) -> Vec<Case> {
        inputs(&format!("tests/golden/upstream/{}", self.name))
    }

    /// Runs the commands of a source; the default one writes to a folder with the name of the source.
    fn run(&self, source: &Case) -> Run {
        let run = source.run_apart(&[&self.default_command(source)]);
        run.exits(0);
        run
    }

    fn default_command(&self, source: &Case) -> String {
        format!("pte-emit %s -o %t/{}/model.{}", source.name(), self.extension)
    }
}

/// Outputs of a run, with the paths of the corresponding files written by ExecuTorch.
fn outputs(run: &Run) -> Vec<(String, Vec<u8>)> {
    let mut files = run.outputs();
    let names: BTreeSet<String> = files.iter().map(|(name, _)| name.clone()).collect();
    for (name, _) in &mut files {
        let is_default = name.strip_suffix("ptd").is_some_and(|stem| names.contains(&format!("{stem}pte")));
        if let (true, Some((folder, _))) = (is_default, name.rsplit_once('/')) {
            *name = format!("{folder}/{DEFAULT_PTD}");
        }
    }
    files
}

/// Sources assemble to the files written by ExecuTorch, with the warnings in their first lines.
fn upstream() -> Vec<Trial> {
    let mut trials = Vec::new();
    for family in &FAMILIES {
        for source in family.sources() {
            trials.push(trial(format!("upstream/{}/{}", family.name, source.name()), move || {
                let run = family.run(&source);
                assert_equal(family, &run);
                pretty_assertions::assert_eq!(run.warnings, source.warns(), "warnings");
                properties::survives_dump(&sources::read(&source.input), &family.folder()).unwrap();
                if family.name == "bytes" {
                    assert_equal(family, &as_json_in_another_folder(family, &source));
                }
            }));
        }
    }
    trials.push(trial("upstream/ptd_begins_as_the_format_page_shows", ptd_begins_as_the_format_page_shows));
    trials
}

fn assert_equal(family: &Family, run: &Run) {
    let outputs = outputs(run);
    assert!(!outputs.is_empty(), "no files were written");
    for (name, found) in outputs {
        let expected = fs::read(family.folder().join(&name)).unwrap_or_else(|error| panic!("{name}: {error}"));
        if let Some(difference) = first_difference(&found, &expected) {
            panic!("{name} differs from tests/golden/upstream/{}/{name}: {difference}", family.name);
        }
    }
}

/// Runs a source converted to JSON, with another name, in another folder.
fn as_json_in_another_folder(family: &Family, source: &Case) -> Run {
    let folder = tempfile::tempdir().unwrap();
    for data in files_below(&family.folder(), &["bin"]) {
        let copy = folder.path().join(data.strip_prefix(family.folder()).unwrap());
        fs::create_dir_all(copy.parent().unwrap()).unwrap();
        fs::copy(data, copy).unwrap();
    }
    let document: serde_yaml::Value = serde_yaml::from_str(&fs::read_to_string(&source.input).unwrap()).unwrap();
    // Not through a JSON value, which would sort the keys: their order is significant.
    fs::write(folder.path().join("other.json"), serde_json::to_string_pretty(&document).unwrap()).unwrap();
    let run = run(&source.commands(&[&family.default_command(source)]), "other.json", folder.path());
    run.exits(0);
    run
}

/// First bytes of the `.ptd` in ExecuTorch's documentation of the format: `a * x + b`, segments aligned to 16. The page
/// shows three rows; the fourth is the padding of the header and the start of the FlatBuffer.
const FORMAT_PAGE: &str = "
    44 00 00 00  46 54 30 31  46 48 30 31  28 00 00 00
    30 00 00 00  00 00 00 00  00 01 00 00  00 00 00 00
    30 01 00 00  00 00 00 00  20 00 00 00  00 00 00 00
    00 00 00 00  00 00 00 00  00 00 0a 00  0c 00 00 00";

fn ptd_begins_as_the_format_page_shows() {
    let source = Case::read(&upstream_folder().join("bytes/addmul.yaml"));
    let command = "pte-emit %s -o %t/model.pte --external-data --segment-alignment 16".to_owned();
    let apart = tempfile::tempdir().unwrap();
    let run = run(&[command], source.input.to_str().unwrap(), apart.path());
    run.exits(0);
    let (_, ptd) = run.outputs().into_iter().find(|(name, _)| name == "model.ptd").unwrap();
    let page: Vec<u8> = FORMAT_PAGE.split_whitespace().map(|byte| u8::from_str_radix(byte, 16).unwrap()).collect();
    assert_eq!(page.len(), 64);
    assert_eq!(first_difference(&ptd[..64], &page), None);
}

/// Offset of the first difference of two files, with the rows around it; `None` if they are equal.
fn first_difference(found: &[u8], expected: &[u8]) -> Option<String> {
    if found == expected {
        return None;
    }
    let at = found.iter().zip(expected).take_while(|(a, b)| a == b).count();
    let mut message = format!("{} bytes, expected {}; first difference at {at:#x}", found.len(), expected.len());
    let start = (at & !15).saturating_sub(16);
    for (side, bytes) in [("found", found), ("expected", expected)] {
        message += &format!("\n{side}:");
        for (row, chunk) in bytes.iter().skip(start).take(64).collect::<Vec<_>>().chunks(16).enumerate() {
            let hex: Vec<String> = chunk.iter().map(|byte| format!("{byte:02x}")).collect();
            message += &format!("\n  {:06x}  {}", start + row * 16, hex.join(" "));
        }
    }
    Some(message)
}

/// Files written by ExecuTorch are annotated, validated, and reproduced by `dump`.
fn reference_files() -> Vec<Trial> {
    let mut files = files_below(&upstream_folder(), &["pte", "ptd", "bpte"]);
    files.retain(|path| !path.starts_with(upstream_folder().join("releases")));
    assert!(!files.is_empty(), "no files below tests/golden/upstream");
    let test = |path: PathBuf| {
        let name = path.strip_prefix(root().join("tests/golden")).unwrap().display().to_string();
        trial(name, move || reference_file(&path))
    };
    files.into_iter().map(test).collect()
}

/// Files of other releases of ExecuTorch, and of one beside an older `flatbuffers`: `dump` reproduces them, every byte
/// is explained, and the findings of `check` are snapshots, since the runtime of today rejects some.
fn releases() -> Vec<Trial> {
    let folder = upstream_folder().join("releases");
    let files = files_below(&folder, &["pte", "ptd", "bpte"]);
    assert_eq!(files.len(), 113, "files of other releases");
    let test = |path: PathBuf| {
        let name = path.strip_prefix(&folder).unwrap().display().to_string();
        trial(format!("upstream/releases/{name}"), move || {
            let extension = path.extension().unwrap().to_str().unwrap();
            properties::every_byte_has_one_owner(&Origin::File((*path).into()), extension);
            properties::dump_reproduces(&path);
            let run = run(
                &["pte-emit check --read-data %s".to_owned()],
                path.file_name().unwrap().to_str().unwrap(),
                path.parent().unwrap(),
            );
            snapshot::check(&format!("releases/{name}.stdout"), &run.stdout);
        })
    };
    files.into_iter().map(test).collect()
}

/// Payloads that are FlatBuffers of known schemas are printed as text, which `dump` reproduces.
fn flatbuffers_are_text(path: &Path) {
    let model = Model::open(path).unwrap();
    let text = model.to_yaml(".".as_ref(), &PrintOptions::default()).unwrap().text;
    let is_text = |payload: &Payload| matches!(payload.format, Some("Vulkan" | "MLX" | "MPS" | "TOSA" | "Native"));
    let expected = model.payloads().unwrap().iter().filter(|payload| is_text(payload)).count();
    assert_eq!(text.matches("          flatbuffer:\n").count(), expected, "{text}");
}

fn reference_file(path: &Path) {
    let extension = path.extension().unwrap().to_str().unwrap();
    if path.parent().is_some_and(|folder| folder.ends_with("backends")) {
        flatbuffers_are_text(path);
    }
    // From disk, so that data are not read into memory.
    properties::every_byte_has_one_owner(&Origin::File(path.into()), extension);
    if !path.ends_with(DEVTOOLS) {
        properties::dump_reproduces(path);
    }
    // `bytes/add.yaml` is the source of `bytes/add/model.pte`.
    let source = path.parent().unwrap().with_extension("yaml");
    let mut warns = if source.exists() { Case::read(&source).warns() } else { BTreeSet::new() };
    // Warnings without a rule concern the source.
    warns.retain(|warning| RULES.iter().any(|rule| rule.id.as_str() == warning));
    // Those of the source are about its program.
    warns.retain(|_| extension != "ptd");
    // The exporter returns a buffer that the payload writes, and the call has no argument for it.
    warns.extend(path.ends_with("backends/vulkan-mutbuf.pte").then(|| "D-24".to_owned()));
    properties::check_finds(path, &warns);
    match extension {
        "pte" => {
            properties::check_needs_no_data(path);
            if path.starts_with(upstream_folder().join("bytes")) {
                properties::is_reemitted(path);
            }
        }
        "ptd" => properties::data_have_their_sizes(path),
        _ => {
            let tensors = bundles::is_aligned(path);
            assert!(tensors > 0 || source.file_stem().unwrap() == "empty", "no tensor has data");
            // Those of `exports` have no sources, and are many.
            if source.exists() {
                if !path.ends_with(DEVTOOLS) {
                    bundles::matches_its_source(path, &source);
                }
                bundles::survives_damage(path);
            }
        }
    }
}

// --------------------------------------------------------------------------------------------------------------
// snapshots

/// Inputs with one error each, and snapshots of the messages. `warn_*` are assembled, with a warning.
fn errors() -> Vec<Trial> {
    let test = |case: Case| {
        trial(format!("snapshots/errors/{}", case.name()), move || {
            let warned = case.name().starts_with("warn_");
            let run = case.run(&["pte-emit %s -o %t/out"]);
            run.exits(case.exit(if warned { 0 } else { 1 }));
            assert!(!warned || !run.warnings.is_empty(), "no warning\n{}", run.stderr);
            assert_eq!(run.outputs().is_empty(), !warned, "files are written unless there is an error");
            assert_eq!(run.stdout, "");
            if warned {
                let text = fs::read_to_string(&case.input).unwrap();
                properties::survives_dump(&text, case.input.parent().unwrap()).unwrap();
            }
            sections::check(&case, &run.stderr);
        })
    };
    sections::errors().into_iter().map(test).collect()
}

/// The output of `annotate`.
fn annotate() -> Vec<Trial> {
    let test = |case: Case| {
        trial(format!("snapshots/annotate/{}", case.name()), move || {
            let run = case.run(&["pte-emit -q %s -o %t/model.pte", "pte-emit annotate %t/model.pte"]);
            run.exits(0);
            assert_eq!(run.stderr, "");
            for (name, bytes) in run.outputs() {
                let (_, extension) = name.rsplit_once('.').unwrap();
                properties::every_byte_has_one_owner(&Origin::Bytes(bytes.into()), extension);
            }
            snapshot::check(&format!("annotate/{}.stdout", case.name()), &run.stdout);
        })
    };
    inputs("tests/golden/snapshots/annotate").into_iter().map(test).collect()
}

/// The output of `fmt`.
fn fmt() -> Vec<Trial> {
    let test = |case: Case| {
        trial(format!("snapshots/fmt/{}", case.name()), move || {
            let found = Model::open(&case.input).unwrap().formatted(pte_emit::ComputedKeys::AsWritten).unwrap();
            snapshot::check(&format!("fmt/{}.stdout", case.name()), &found);
        })
    };
    inputs("tests/golden/snapshots/fmt").into_iter().map(test).collect()
}

/// The findings of `check`: of `examples/malformed`, each named by the rule that its first line names, of the sources
/// below `snapshots/check`, and of files that no source becomes.
fn check() -> Vec<Trial> {
    let mut trials = Vec::new();
    let mut add = |rule: &str, name: &str, run: Box<dyn FnOnce() -> Run + Send>| {
        let (rule, name) = (rule.to_owned(), format!("check/{rule}/{name}"));
        trials.push(trial(format!("snapshots/{name}"), move || check_case(&rule, &name, &run())));
    };
    for case in malformed::cases() {
        let (rule, is_bundle) = malformed_rule(&case);
        let name = case.name().to_owned();
        let commands: &[&str] = match is_bundle {
            true => &["pte-emit -q %s -o %t/model.bpte", "pte-emit check --read-data %t/model.bpte"],
            false => &["pte-emit check --read-data %s"],
        };
        add(&rule, &name, Box::new(move || case.run(commands)));
    }
    for (rule, case) in check_sources() {
        let name = case.name().to_owned();
        add(&rule, &name, Box::new(move || case.run(&["pte-emit check --read-data %s"])));
    }
    for broken in &super::broken::BROKEN {
        let run = || {
            let folder = tempfile::tempdir().unwrap();
            fs::write(folder.path().join("model.pte"), (broken.bytes)()).unwrap();
            run(&["pte-emit check --read-data %s".to_owned()], "model.pte", folder.path())
        };
        add(broken.rule.as_str(), broken.name, Box::new(run));
    }
    trials
}

/// Lines that people pasted into public issues, each named by its repository and number, and what `explain` says about
/// them, without the lists of rules.
fn explain() -> Vec<Trial> {
    const FILE: &str = "explain.cases";
    const STDOUT: &str = "---- stdout\n";
    let test = |(name, text): (String, String)| {
        trial(format!("snapshots/explain/{name}"), move || {
            let (log, expected) = text.split_once(STDOUT).expect("an output");
            let done = Folder::new(&[]).run_with_stdin(&["explain", "-"], log).exits(0).stderr_is_empty();
            let printed = String::from_utf8(done.stdout).unwrap();
            let mut lines: Vec<&str> = printed.lines().collect();
            let mut is_rule = false;
            lines.retain(|line| {
                is_rule = line.starts_with("  rules of") || is_rule && line.starts_with("    ");
                !is_rule
            });
            let found = lines.join("\n") + "\n";
            if snapshot::blessing() {
                return snapshot::write_case(FILE, &name, &format!("{log}{STDOUT}{found}"));
            }
            pretty_assertions::assert_eq!(expected.trim_end(), found.trim_end(), "{name}");
        })
    };
    let cases = snapshot::cases(FILE);
    assert!(cases.len() > 40, "{FILE}");
    cases.into_iter().map(test).collect()
}

/// The rule of a malformed example, and whether it is about the `.bpte`, which the runtime does not load.
fn malformed_rule(case: &Case) -> (String, bool) {
    let text = fs::read_to_string(&case.input).unwrap();
    let first = malformed::FirstLine::read(case.name(), &text);
    (first.rule, first.answers.is_none())
}

/// The sources below `snapshots/check` with the rules that their folders are named by.
fn check_sources() -> Vec<(String, Case)> {
    let sources = files_below(&snapshots_folder().join("check"), &["yaml"]);
    assert!(!sources.is_empty(), "no sources below snapshots/check");
    let rule = |path: &PathBuf| path.parent().unwrap().file_name().unwrap().to_str().unwrap().to_owned();
    sources.iter().map(|path| (rule(path), Case::read(path))).collect()
}

fn check_case(rule: &str, name: &str, run: &Run) {
    let is_found = rule == malformed::NO_RULE || run.stdout.contains(&format!("[{rule}]: "));
    assert!(is_found, "{rule} is not found\n{}", run.stdout);
    let sum = run.stdout.lines().last().unwrap();
    run.exits(if sum.contains(" 0 errors, ") { 0 } else { 1 });
    snapshot::check(&format!("{name}.stdout"), &run.stdout);
    snapshot::check(&format!("{name}.stderr"), &run.stderr);
}

/// Commands with snapshots of their output.
fn commands() -> Vec<Trial> {
    let test = |case: Case| {
        trial(format!("snapshots/commands/{}", case.name()), move || {
            let run = case.run(&[]);
            run.exits(case.exit(0));
            snapshot::check(&format!("commands/{}.stdout", case.name()), &run.stdout);
            snapshot::check(&format!("commands/{}.stderr", case.name()), &run.stderr);
        })
    };
    inputs("tests/golden/snapshots/commands").into_iter().map(test).collect()
}

// ------------------------------------------------------------------------------------------------------------- fuzz
// seeds

/// Seeds of the fuzzer, malformed files with different coverage, read as each of the formats.
fn fuzz_seeds() -> Vec<Trial> {
    let seeds = files_below(&root().join("fuzz/seeds"), &[]);
    assert!(!seeds.is_empty(), "no seeds below fuzz/seeds");
    let test = |path: PathBuf| {
        trial(path.strip_prefix(root()).unwrap().display().to_string(), move || {
            let bytes = fs::read(&path).unwrap();
            properties::check_answers(&bytes);
            for extension in ["pte", "ptd", "bpte"] {
                properties::every_byte_has_one_owner(&Origin::Bytes(bytes.as_slice().into()), extension);
            }
        })
    };
    seeds.into_iter().map(test).collect()
}

// ---------------------------------------------------------------------------------------------------------
// completeness

/// Rules without a case here: those of operators, data flow and unreadable data are tested by the unit tests of
/// `check`. A rule with a case must not be in the list.
const TESTED_IN_SRC: [RuleId; 30] = [
    RuleId::T_14,
    RuleId::T_42,
    RuleId::O_3,
    RuleId::O_4,
    RuleId::O_6,
    RuleId::O_5,
    RuleId::X_1,
    RuleId::X_2,
    RuleId::X_5,
    RuleId::X_6,
    RuleId::X_8,
    RuleId::X_9,
    RuleId::X_11,
    RuleId::X_12,
    RuleId::X_13,
    RuleId::X_14,
    RuleId::X_15,
    RuleId::X_16,
    RuleId::X_17,
    RuleId::X_18,
    RuleId::X_21,
    RuleId::X_22,
    RuleId::X_30,
    RuleId::X_19,
    RuleId::V_1,
    RuleId::V_2,
    RuleId::V_3,
    RuleId::V_4,
    RuleId::V_5,
    RuleId::V_6,
];

fn whole() -> Vec<Trial> {
    vec![
        trial("every_rule_has_a_case", every_rule_has_a_case),
        trial("every_reference_file_is_compared", every_reference_file_is_compared),
        trial("every_snapshot_has_a_case", every_snapshot_has_a_case),
        trial("upstream_is_never_blessed", upstream_is_never_blessed),
    ]
}

fn every_rule_has_a_case() {
    let mut covered: BTreeSet<String> = malformed::cases().iter().map(|case| malformed_rule(case).0).collect();
    covered.extend(check_sources().into_iter().map(|(rule, _)| rule));
    covered.extend(super::broken::BROKEN.iter().map(|broken| broken.rule.to_string()));
    covered.remove(malformed::NO_RULE);
    let missing: Vec<RuleId> = RULES.iter().map(|rule| rule.id).filter(|id| !covered.contains(id.as_str())).collect();
    assert_eq!(missing, TESTED_IN_SRC, "rules without a case");
    let unknown: Vec<&String> = covered.iter().filter(|id| RULES.iter().all(|rule| rule.id.as_str() != *id)).collect();
    assert!(unknown.is_empty(), "cases of unknown rules: {unknown:?}");
}

/// Every reference file is the output of a source, so that it is compared.
fn every_reference_file_is_compared() {
    let mut compared = BTreeSet::from([DEVTOOLS.to_owned()]);
    let mut found = BTreeSet::new();
    for family in &FAMILIES {
        let path = |name: &str| format!("{}/{name}", family.name);
        for source in family.sources() {
            compared.extend(outputs(&family.run(&source)).into_iter().map(|(name, _)| path(&name)));
        }
        for file in files_below(&family.folder(), &[]) {
            let name = file.strip_prefix(family.folder()).unwrap().to_str().unwrap();
            // Delegate payloads, which sources read.
            if name.contains('/') && !has_extension(&file, &["bin"]) {
                found.insert(path(name));
            }
        }
    }
    pretty_assertions::assert_eq!(found, compared);
}

/// Detects snapshots whose input is missing.
fn every_snapshot_has_a_case() {
    let outputs = |case: &str| ["stdout", "stderr"].map(|extension| format!("{case}.{extension}"));
    let mut expected: BTreeSet<String> = ["random/expected.txt", "schema/rejected.txt"].map(str::to_owned).into();
    for family in ["errors", "annotate", "commands"] {
        for case in inputs(&format!("tests/golden/snapshots/{family}")) {
            expected.extend(outputs(&format!("{family}/{}", case.name())));
        }
    }
    let releases = upstream_folder().join("releases");
    for file in files_below(&releases, &["pte", "ptd", "bpte"]) {
        expected.extend(outputs(&format!("releases/{}", file.strip_prefix(&releases).unwrap().display())));
    }
    for case in malformed::cases() {
        expected.extend(outputs(&format!("check/{}/{}", malformed_rule(&case).0, case.name())));
        expected.insert(format!("malformed/{}.txt", case.name()));
    }
    for (rule, case) in check_sources() {
        expected.extend(outputs(&format!("check/{rule}/{}", case.name())));
    }
    for broken in &super::broken::BROKEN {
        expected.extend(outputs(&format!("check/{}/{}", broken.rule, broken.name)));
    }
    // tests/suite/embed.rs has a case for each file of `embed/`, fmt.rs for each of `fmt/`; those of the files of
    // `errors/` have their sources, and the cases of `explain/` are their own inputs.
    let is_other =
        |name: &String| ["errors/files/", "embed/", "explain/", "fmt/"].iter().any(|folder| name.starts_with(folder));
    let found =
        snapshot::names().into_iter().filter(|name| !is_other(name) && !has_extension(Path::new(name), &["yaml"]));
    let left: Vec<String> = found.filter(|name| !expected.contains(name)).collect();
    assert!(left.is_empty(), "snapshots without a case: {left:?}");
}

/// Tests only write snapshots; none of them can be below `upstream`.
fn upstream_is_never_blessed() {
    for name in ["../upstream/bytes/add/model.pte", "errors/../../upstream/bytes/add.yaml", "/snapshot", ""] {
        assert!(!snapshot::is_name(name), "`{name}` is not the name of a snapshot");
    }
    assert!(snapshot::is_name("upstream/x") && snapshot::path("upstream/x").starts_with(snapshots_folder()));
}
