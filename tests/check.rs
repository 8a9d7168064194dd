//! The judge: it has nothing to say against what ExecuTorch or the assembler wrote, and says of a file that breaks a rule
//! which, where and how. `tests/golden/check` has a file for every rule; `BLESS=1 cargo test` renews them.
//!
//! Whether the real runtime agrees is tested elsewhere.

use std::path::{Path, PathBuf};

use pte_emit::check::{self, DataFile, Findings, Options, Profile, Severity};
use pte_emit::reader::Origin;
use pte_emit::{Assembly, Input, Overrides, assemble};

#[path = "check/broken.rs"]
mod broken;
#[path = "../src/golden.rs"]
mod golden;
#[path = "support/patch.rs"]
mod patch;
#[path = "support/references.rs"]
mod references;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn assembled(path: &Path) -> Assembly {
    let text = std::fs::read_to_string(path).unwrap();
    let input = Input { name: &path.display().to_string(), text: &text, folder: path.parent().unwrap() };
    assemble(&input, &Overrides::default()).unwrap_or_else(|report| panic!("{}", report.render(false)))
}

fn origin(path: &Path) -> Origin {
    Origin::File(path.into())
}

/// The findings as the tests keep them.
fn shown(findings: &Findings) -> String {
    let mut out: String = findings.list().iter().map(|finding| format!("{finding}\n")).collect();
    for (rule, count) in findings.truncated() {
        out += &format!("{}[{}]: {count} of these in all\n", rule.severity, rule.id);
    }
    out
}

/// What is said against a file beyond notes. The tests of `bundled/scalars` try what a `.bpte` can hold, not what the
/// runtime lets them set.
fn complaints(path: &Path, findings: &Findings) -> String {
    let scalars = path.to_str().is_some_and(|path| path.contains("bundled/scalars"));
    let bad = findings.list().iter().filter(|finding| finding.rule.severity < Severity::Note);
    let bad = bad.filter(|finding| !(scalars && finding.rule.id == "B-8"));
    bad.map(|finding| format!("{finding}\n")).collect()
}

/// The `.ptd` files beside a file.
fn beside(path: &Path) -> Vec<DataFile> {
    let entries = std::fs::read_dir(path.parent().unwrap()).unwrap().map(|entry| entry.unwrap().path());
    let mut paths: Vec<PathBuf> =
        entries.filter(|path| path.extension().is_some_and(|extension| extension == "ptd")).collect();
    paths.sort();
    paths.iter().map(|path| DataFile::open(path.display().to_string(), &origin(path)).unwrap()).collect()
}

#[test]
fn nothing_is_said_against_what_executorch_wrote() {
    let mut wrong = String::new();
    for extension in ["pte", "ptd", "bpte"] {
        for path in ["bytes", "bundled"].iter().flat_map(|folder| files(folder, extension)) {
            for with in [Vec::new(), beside(&path)] {
                let findings = check::file(&origin(&path), &Options { with, ..Options::default() }).unwrap();
                let complaints = complaints(&path, &findings);
                if !complaints.is_empty() {
                    wrong += &format!("{}:\n{complaints}", path.display());
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

/// The references of a kind; a folder need not have any.
fn files(folder: &str, extension: &str) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = references::references("", extension);
    found.retain(|path| path.starts_with(root().join("tests/golden").join(folder)));
    found
}

#[test]
fn nothing_is_said_against_what_the_assembler_writes() {
    let mut wrong = String::new();
    for folder in ["examples", "tests/golden/bytes", "tests/golden/bundled"] {
        for entry in std::fs::read_dir(root().join(folder)).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_none_or(|extension| extension != "yaml") {
                continue;
            }
            let assembly = assembled(&path);
            for findings in check::assembly(&assembly, &Options::default()).unwrap() {
                let complaints = complaints(&path, &findings);
                if !complaints.is_empty() {
                    wrong += &format!("{}:\n{complaints}", path.display());
                }
            }
            if let (false, Ok(bundled)) = (assembly.tests.is_empty(), assembly.bundled()) {
                let complaints = complaints(&path, &check::bundled_program(&bundled, &Options::default()));
                if !complaints.is_empty() {
                    wrong += &format!("{} as a .bpte:\n{complaints}", path.display());
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

/// Metadata and length are all that is looked at: a program judged before it is written is judged as the file is.
#[test]
fn a_head_is_judged_as_the_whole_file() {
    for path in files("bytes", "pte") {
        let bytes = std::fs::read(&path).unwrap();
        let whole = check::file(&Origin::Bytes(bytes.clone().into()), &Options::default()).unwrap();
        let on_disk = check::file(&origin(&path), &Options::default()).unwrap();
        let head = check::program(&bytes, bytes.len() as u64, &Options::default());
        assert_eq!(shown(&whole), shown(&on_disk));
        assert_eq!(shown(&whole), shown(&head));
    }
}

#[test]
fn every_rule_has_a_file_that_breaks_it() {
    let mut missing = Vec::new();
    let mut wrong = String::new();
    let mut all = broken::all();
    for rule in check::rules::RULES {
        let (cases, others) = all.into_iter().partition::<Vec<_>, _>(|case| case.rule == rule.id);
        all = others;
        if cases.is_empty() {
            missing.push(rule.id);
            continue;
        }
        let mut out = String::new();
        for case in cases {
            let options = Options { profile: rule.profiles[0], with: case.with, ..Options::default() };
            let findings = match rule.id {
                // Without its identifier only its name makes a file a .bpte.
                "H-30" => check::bundled_program(&case.bytes, &options),
                _ => check::file(&Origin::Bytes(case.bytes.into()), &options).unwrap(),
            };
            if !findings.list().iter().any(|finding| finding.rule.id == rule.id) {
                wrong += &format!("{} is not found by {}:\n{}\n", rule.id, case.what, shown(&findings));
            }
            out += &format!("# {}\n{}\n", case.what, shown(&findings));
        }
        golden::check(&format!("check/{}.txt", rule.id), &out);
    }
    assert!(wrong.is_empty(), "{wrong}");
    assert!(all.is_empty(), "there is no rule {}", all[0].rule);
    // Rules about what instructions do are broken in tests of their own.
    missing.retain(|id| !id.starts_with("O-") && !id.starts_with("X-"));
    assert!(missing.is_empty(), "no file breaks {missing:?}");
}

#[test]
fn a_profile_decides_which_rules_count() {
    let judge = |bytes: &[u8], profile| {
        check::file(&Origin::Bytes(bytes.into()), &Options { profile, ..Options::default() }).unwrap().has_errors()
    };
    let old = broken::of("P-C1");
    assert!(judge(&old, Profile::Strict) && !judge(&old, Profile::Legacy));
    let unbound = broken::of("T-3");
    assert!(judge(&unbound, Profile::Portable) && !judge(&unbound, Profile::Aten));
    let large = broken::of("G-5");
    assert!(judge(&large, Profile::Bits32) && !judge(&large, Profile::Strict));
}
