//! One test per malformed example, named by its file: it has one defect, which `check` reports by the rule in the first
//! line; no command panics; `dump` reproduces its files, except for the reasons in
//! `tests/golden/snapshots/malformed.cases`. lab/tests/cases/malformed.rs compares the answers in the first line with
//! those of the real runtime.
//!
//! `cargo test --test cases malformed::segment` runs those whose name contains the word. golden.rs has snapshots of the
//! findings.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use libtest_mimic::Trial;
use pte_check::pte_releases::{ExampleAnswer, Release};
use pte_check::{CheckOptions, DataFile, Findings, RuleSeverity, rules};
use pte_emit::PrintOptions;
use pte_emit::{AssembleOptions, Assembly, Model};
use pte_model::data::Origin;

use crate::support::folder::{Done, Folder};
use crate::support::malformed::{self, FirstLine, NO_RULE, RELEASES, Security};
use crate::support::{properties, snapshot, sources, trial};

/// The cases, by name.
pub fn trials() -> Vec<Trial> {
    let mut tests = vec![trial("every_defect_is_unique", every_defect_is_unique)];
    for case in malformed::cases() {
        let path = case.input.clone();
        tests.push(trial(case.name().to_owned(), move || example(&Example::read(&path))));
    }
    tests
}

/// Malformed example.
struct Example {
    path: PathBuf,
    name: String,
    text: String,
    first: FirstLine,
}

impl Example {
    fn read(path: &Path) -> Example {
        let text = fs::read_to_string(path).unwrap();
        let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
        Example { first: FirstLine::read(&name, &text), path: path.to_owned(), name, text }
    }

    fn folder(&self) -> &Path {
        self.path.parent().unwrap()
    }

    fn assemble(&self) -> Assembly {
        sources::assembly(&self.name, &self.text, self.folder())
    }

    /// Returns true if the defect is in the `.bpte` around a program.
    fn is_bundle(&self) -> bool {
        self.first.answers.is_none()
    }

    /// Assembled files with their names.
    fn files(&self) -> Vec<(String, Vec<u8>)> {
        let assembly = self.assemble();
        if self.is_bundle() {
            return vec![("model.bpte".into(), assembly.bundled().unwrap().to_vec().unwrap())];
        }
        let program = assembly.program_file().unwrap().to_vec().unwrap();
        let data = assembly.data_files().enumerate();
        let data = data.map(|(number, (_, file))| (format!("{number}.ptd"), file.to_vec().unwrap()));
        std::iter::once(("model.pte".to_owned(), program)).chain(data).collect()
    }
}

fn example(example: &Example) {
    has_valid_first_lines(example);
    properties::parsers_agree(&example.text);
    let files = example.files();
    check_finds_the_defect(example, &files);
    releases_that_do_not_survive_it_are_refused(example, &files);
    if files[0].0 == "model.pte" {
        properties::check_finds_the_same_in_metadata(&files[0].1);
    }
    commands_do_not_panic(example);
    is_dumped_and_assembled_again(example, &files);
}

fn has_valid_first_lines(example: &Example) {
    let Example { name, text, path, first: FirstLine { rule, answers, .. } } = example;
    assert!(rule.parse::<rules::RuleId>().is_ok() || rule == NO_RULE, "unknown rule {rule}");
    assert!(
        text.is_ascii() && text.ends_with('\n') && !text.contains(" \n"),
        "it is not ASCII, has trailing spaces, or no newline at the end"
    );
    assert!(text.len() <= 3000, "it has {} bytes", text.len());
    let is_allowed = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
    assert!(name.bytes().all(is_allowed), "the name has other characters than lower-case letters, digits and _");
    for answer in answers.iter().flatten().flat_map(|answers| answers.split(" or ")) {
        assert!(malformed::is_answer(answer), "`{answer}` is not an answer of the runtime");
    }
    match malformed::is_security(path) {
        true => has_valid_security_lines(&Security::read(name, text), &example.first),
        false => assert_ne!(rule, NO_RULE, "an example without a rule is not in `security/`"),
    }
}

fn has_valid_security_lines(security: &Security, first: &FirstLine) {
    let Security { ids, fixes, safe_since, affected, harm } = security;
    let number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    for id in ids {
        let known = match id.split('-').collect::<Vec<_>>()[..] {
            ["CVE", year, rest] => number(year) && number(rest),
            ["GHSA", a, b, c] => [a, b, c].iter().all(|part| part.len() == 4),
            ["TOB", "EXECUTORCH", rest] => number(rest),
            ["hardening"] => ids.len() == 1,
            _ => false,
        };
        assert!(known, "`{id}` is not an advisory, a finding, or `hardening`");
    }
    for fix in fixes {
        let (commit, change) = fix.split_once(" (").map_or((fix.as_str(), None), |(a, b)| (a, b.strip_suffix(')')));
        let is_change = |change: &str| change.strip_prefix('#').is_some_and(number);
        let is_commit = commit.len() == 10 && commit.bytes().all(|byte| byte.is_ascii_hexdigit());
        assert!((is_commit && change.is_none_or(is_change)) || is_change(fix), "`{fix}` is not COMMIT (#CHANGE)");
    }
    let position = |release: &str| {
        let found = RELEASES.iter().position(|known| *known == release);
        found.unwrap_or_else(|| panic!("{release} is not a measured release: {RELEASES:?}"))
    };
    let safe = safe_since.as_deref().map_or(RELEASES.len(), position);
    for (release, condition, answer) in affected {
        assert!(position(release) < safe, "{release} is affected, and safe since {safe_since:?}");
        let known = |condition: &String| malformed::CONDITIONS.iter().any(|(name, _)| name == condition);
        assert!(condition.as_ref().is_none_or(known), "unknown condition {condition:?}");
        assert!(malformed::is_answer(answer), "`{answer}` is not an answer of a runtime");
    }
    assert!(harm.ends_with('.') && harm.len() <= 200, "the third line is not a sentence of at most 200 bytes");
    let ours = first.answers.as_ref().map_or_else(|| "accepts".to_owned(), |[verified, _]| verified.clone());
    let survives = ours != "crashes" && ours != "hangs";
    assert!(survives || safe_since.is_none(), "1.5.1 {ours}, but it is safe since {safe_since:?}");
    assert!(first.rule != NO_RULE || ours == "accepts", "1.5.1 rejects it, but it has no rule");
}

fn every_defect_is_unique() {
    let mut defects = BTreeMap::new();
    for case in malformed::cases() {
        let Example { name, first: FirstLine { rule, defect, .. }, .. } = Example::read(&case.input);
        if let Some(other) = defects.insert((rule.clone(), defect.clone()), name.clone()) {
            panic!("{other} and {name} have the same defect: {rule}, {defect}");
        }
    }
}

/// `check --runtime` has an error for each release whose recorded answer to the example is a crash, or that never
/// answers; also under the conditions of a security example.
fn releases_that_do_not_survive_it_are_refused(example: &Example, files: &[(String, Vec<u8>)]) {
    let is_security = malformed::is_security(&example.path);
    let affected = if is_security { Security::read(&example.name, &example.text).affected } else { Vec::new() };
    for release in Release::known() {
        let answers = release.answers(&example.first.rule);
        let is_fatal = |answer: &ExampleAnswer| answer.example == example.name && answer.answer.is_fatal();
        let version = release.version().to_string();
        let is_harmed =
            affected.iter().any(|(other, _, answer)| *other == version && matches!(&**answer, "crashes" | "hangs"));
        if !is_harmed && !answers.iter().any(is_fatal) {
            continue;
        }
        let findings = findings_for(files, Some(release.clone()));
        assert!(findings.iter().any(Findings::has_errors), "{version} does not survive it, and is not refused");
    }
}

/// Findings of `check` in these files: each `.ptd`, then the program with its data.
fn findings(files: &[(String, Vec<u8>)]) -> Vec<Findings> {
    findings_for(files, None)
}

/// As [`findings`], with a release of `--runtime`.
fn findings_for(files: &[(String, Vec<u8>)], release: Option<Release>) -> Vec<Findings> {
    let origin = |bytes: &[u8]| Origin::Bytes(bytes.into());
    let with: Vec<DataFile> =
        files[1..].iter().map(|(name, bytes)| DataFile::from_bytes(name.clone(), bytes).unwrap()).collect();
    let options = CheckOptions::default().runtime(release.clone());
    let mut findings: Vec<Findings> = with.iter().map(|file| file.check(&options)).collect();
    let mut options = with_data(with);
    options.runtime = release;
    let (name, bytes) = &files[0];
    findings.push(match name.as_str() {
        // Without an identifier, a .bpte is recognized only by its extension.
        "model.bpte" => pte_check::bundled_program(bytes, &options),
        _ => pte_check::file(&origin(bytes), &options).unwrap(),
    });
    findings
}

fn check_finds_the_defect(example: &Example, files: &[(String, Vec<u8>)]) {
    let findings = findings(files);
    let all = || findings.iter().flat_map(|findings| &findings.list);
    let found: BTreeSet<&str> = all().map(|finding| finding.rule.id.as_str()).collect();
    let rule = example.first.rule.as_str();
    let reported = all().any(|finding| finding.rule.severity < RuleSeverity::Note);
    if rule == NO_RULE {
        return assert!(!reported, "check: {found:?} of an example without a rule");
    }
    assert!(found.contains(rule), "check: {rule} is not reported, but {found:?}");
    let refused = findings.iter().any(Findings::has_errors);
    assert!(refused || !malformed::is_security(&example.path), "check: no error in a file that harms a runtime");
    let accepted =
        example.first.answers.as_ref().is_some_and(|answers| answers.iter().all(|answer| answer == "accepts"));
    // An application may register backends that the runtime of the tests does not have.
    let is_registered = rule == "D-22";
    assert!(reported || accepted || is_registered, "check: the runtime rejects it, but there is no error or warning");
}

/// Runs the command; asserts that it does not panic.
#[track_caller]
fn runs(folder: &Folder, arguments: &[&str]) -> Done {
    let done = folder.run(arguments);
    assert!(matches!(done.code, Some(0..=3)), "pte-emit {} ends with {:?}\n{}", done.command, done.code, done.stderr);
    done
}

/// Assembles the example, with the warnings of `check`; validates, annotates and joins its files, and describes their
/// payloads.
fn commands_do_not_panic(example: &Example) {
    let folder = Folder::new(&[]);
    let target = if example.is_bundle() { "model.bpte" } else { "model.pte" };
    let written = runs(&folder, &[example.path.to_str().unwrap(), "-o", target]).exits(0);
    let names = folder.names();
    let files: Vec<&str> = names.iter().map(String::as_str).collect();
    assert!(files.contains(&target), "{files:?}");
    let data = files.iter().filter(|file| file.ends_with(".ptd"));
    let with: Vec<&str> = data.flat_map(|file| ["--with", file]).collect();
    let checked = runs(&folder, &[&["check", "--read-data"], with.as_slice(), &files].concat());
    let reported = checked.code == Some(1) || checked.stderr.contains("warning");
    assert!(!reported || written.stderr.contains("warning"), "check finds errors, but it is written without a warning");
    for file in &files {
        runs(&folder, &["annotate", file]);
        runs(&folder, &["payload", "show", file]);
    }
    if !with.is_empty() {
        runs(&folder, &[&[target, "-o", "joined.pte", "--internal-data"], with.as_slice()].concat());
    }
}

fn options(explicit: bool) -> PrintOptions {
    PrintOptions::default().explicit(explicit).file("file".to_owned())
}

/// File of an assembly with the extension of `name`.
fn file(assembly: &Assembly, name: &str) -> std::io::Result<Vec<u8>> {
    match assembly.data_files().next() {
        _ if name.ends_with(".bpte") => assembly.bundled()?.to_vec(),
        Some((_, data)) if name.ends_with(".ptd") => data.to_vec(),
        _ => assembly.program_file().ok_or_else(|| std::io::Error::other("no methods"))?.to_vec(),
    }
}

/// `dump` of the files assembles to the same bytes. A snapshot has the reason for files that `dump` cannot read or
/// reproduce.
fn is_dumped_and_assembled_again(example: &Example, files: &[(String, Vec<u8>)]) {
    let mut differences = String::new();
    for (name, bytes) in files {
        let origin = Origin::Bytes(bytes.as_slice().into());
        // These must not panic; their results are not compared.
        let _ = crate::support::model("dump", &origin).to_yaml(Path::new(""), &options(true));
        let _ = crate::support::model(name, &origin)
            .assemble(&AssembleOptions::default())
            .map(|assembly| file(&assembly, name));
        let printed = match crate::support::model("dump", &origin).to_yaml(Path::new(""), &options(false)) {
            Ok(printed) => printed,
            Err(error) => {
                differences += &format!("{name}: cannot be read: {}\n", error.diagnostics()[0].message);
                continue;
            }
        };
        let input = Model::from_yaml(name, &printed.text, Path::new(""));
        let again = input.assemble(&AssembleOptions::default()).ok().map(|assembly| file(&assembly, name));
        match (again, printed.difference) {
            (Some(Ok(again)), None) if again == *bytes => {}
            (_, Some(difference)) => differences += &format!("{name}: {difference}\n"),
            (Some(_), None) => panic!("{name}: dump reports no difference, but the bytes differ"),
            (None, None) => panic!("{name}: dump reports no difference, but the source is rejected"),
        }
    }
    snapshot::check(&format!("malformed/{}.txt", example.name), &differences);
}

/// Options of validation with these `.ptd` files.
fn with_data(with: Vec<DataFile>) -> CheckOptions {
    CheckOptions::default().with(with)
}
