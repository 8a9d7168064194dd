//! The judge: it has nothing to say against what ExecuTorch or the assembler wrote, and says of a file that breaks a rule
//! which, where and how. `tests/golden/check` has a file for every rule; `BLESS=1 cargo test` renews them.
//!
//! Whether the real runtime agrees is tested elsewhere.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;

use proptest::prelude::*;
use proptest::test_runner::{Config, FileFailurePersistence};
use pte_emit::check::{self, DataFile, Findings, Options, Profile, Severity};
use pte_emit::data::Origin;
use pte_emit::reader;
use pte_emit::{Assembly, Options as AssembleOptions, Source, assemble};

#[path = "check/broken.rs"]
mod broken;
#[path = "../src/golden.rs"]
mod golden;
#[path = "support/patch.rs"]
mod patch;
#[path = "support/program.rs"]
mod program_file;
#[path = "support/references.rs"]
mod references;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn assembled(path: &Path) -> Assembly {
    let text = std::fs::read_to_string(path).unwrap();
    let input = Source::yaml(&path.display().to_string(), &text, path.parent().unwrap());
    assemble(&input, &AssembleOptions::default()).unwrap_or_else(|error| panic!("{error}"))
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
                let with = assembly.data_files().map(|(_, file)| DataFile::unwritten("its .ptd", &file)).collect();
                let options = Options { with, ..Options::default() };
                let complaints = complaints(&path, &check::bundled_program(bundled.flatbuffer(), &options));
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
        let head = check::file(&Origin::Bytes(bytes[..].into()), &Options::default()).unwrap();
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
            let options = Options { profile: rule.profiles[0], with: case.with, data: true, ..Options::default() };
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
    // So are files that cannot be read to the end.
    missing.retain(|id| *id != "T-42");
    assert!(missing.is_empty(), "no file breaks {missing:?}");
}

/// What the exporter made of a convolution that is quantized while it runs: its graph has sizes in torch's order.
#[test]
fn a_graph_as_the_exporter_writes_it_is_accepted() {
    let path = root().join("tests/golden/check/xnnpack_dynamic_conv.pte");
    let findings = check::file(&Origin::File(path.as_path().into()), &Options::default()).unwrap();
    assert_eq!(complaints(&path, &findings), "");
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

/// Small files of all formats to be broken at random.
static SEEDS: LazyLock<Vec<Vec<u8>>> = LazyLock::new(|| {
    let paths = ["pte", "ptd", "bpte"].into_iter().flat_map(|extension| references::references("", extension));
    paths.map(|path| std::fs::read(path).unwrap()).filter(|bytes| bytes.len() < 20_000).collect()
});

/// Numbers that are likely to meet an unchecked sum or index.
const ODD: &[u32] = &[0, 1, 2, 3, 4, 8, 64, 0xff, 0xffff, 0x7fff_ffff, 0x8000_0000, 0xffff_fffc, u32::MAX];

/// A change: a place as a fraction of the file, and what is written there.
#[derive(Debug, Clone)]
enum Mutation {
    Flip(u16, u8),
    Word(u16, usize),
    Copy(u16, u16, u8),
    Cut(u16),
}

fn mutation() -> impl Strategy<Value = Mutation> {
    prop_oneof![
        8 => (any::<u16>(), 1..=255u8).prop_map(|(at, bits)| Mutation::Flip(at, bits)),
        8 => (any::<u16>(), 0..ODD.len()).prop_map(|(at, word)| Mutation::Word(at, word)),
        4 => (any::<u16>(), any::<u16>(), 1..32u8).prop_map(|(from, to, length)| Mutation::Copy(from, to, length)),
        1 => any::<u16>().prop_map(Mutation::Cut),
    ]
}

fn apply(bytes: &mut Vec<u8>, mutation: &Mutation) {
    let last = bytes.len().saturating_sub(1);
    let place = |fraction: u16| last * usize::from(fraction) / usize::from(u16::MAX);
    match *mutation {
        Mutation::Flip(at, bits) => {
            let at = place(at);
            bytes.get_mut(at).into_iter().for_each(|byte| *byte ^= bits);
        }
        Mutation::Word(at, word) => {
            let at = place(at) & !3;
            let word = ODD[word].to_le_bytes();
            bytes.iter_mut().skip(at).zip(word).for_each(|(byte, new)| *byte = new);
        }
        Mutation::Copy(from, to, length) => {
            let (from, to) = (place(from), place(to));
            let piece: Vec<u8> = bytes.iter().skip(from).take(length.into()).copied().collect();
            bytes.iter_mut().skip(to).zip(piece).for_each(|(byte, new)| *byte = new);
        }
        Mutation::Cut(at) => bytes.truncate(place(at)),
    }
}

fn config() -> Config {
    // PROPTEST_CASES asks for more.
    let cases = std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(4000);
    let persistence = FileFailurePersistence::Direct("proptest-regressions/check.txt");
    Config { cases, failure_persistence: Some(Box::new(persistence)), ..Config::default() }
}

/// No panic, and what is accepted can be read.
fn judge_hostile(bytes: &[u8]) {
    let origin = Origin::Bytes(bytes.into());
    let with = vec![DataFile::open("weights.ptd", &origin).unwrap()];
    let findings = check::file(&origin, &Options { with, ..Options::default() }).unwrap();
    let kept = check::finding::KEPT * check::rules::RULES.len();
    assert!(findings.list().len() <= kept && shown(&findings).lines().count() >= findings.list().len());
    let findings = check::file(&origin, &Options { profile: Profile::Legacy, ..Options::default() }).unwrap();
    if !findings.has_errors() {
        match bytes.get(4..8) {
            Some(b"FT01") => _ = reader::flat_tensor::read(&origin).unwrap(),
            Some(b"BP08") => _ = reader::bundled_program::read(&origin).unwrap(),
            _ => _ = reader::program::read(&origin).unwrap(),
        }
    }
}

/// What the fuzzer found worth keeping.
#[test]
fn the_seeds_of_the_fuzzer_are_answered() {
    let seeds = std::fs::read_dir(root().join("fuzz/seeds/check")).unwrap();
    let count = seeds.map(|seed| judge_hostile(&std::fs::read(seed.unwrap().path()).unwrap())).count();
    assert!(count > 100);
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn broken_files_are_answered(seed in any::<usize>(), mutations in prop::collection::vec(mutation(), 1..4)) {
        let mut bytes = SEEDS[seed % SEEDS.len()].clone();
        mutations.iter().for_each(|mutation| apply(&mut bytes, mutation));
        judge_hostile(&bytes);
    }
}

/// The command: exit codes, and a document that says the same as the lines.
#[test]
fn the_command_says_what_the_library_finds() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, bytes: &[u8]| {
        std::fs::write(folder.path().join(name), bytes).unwrap();
        name.to_owned()
    };
    let run = |arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_pte-emit"));
        let output = command.arg("check").args(arguments).current_dir(&folder).output().unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
    };
    let good = std::fs::read(root().join("tests/golden/bytes/addmul_ext/model.pte")).unwrap();
    let weights = root().join("tests/golden/bytes/addmul_ext/_default_external_constant.ptd");
    let good = file("good.pte", &good);
    let weights = file("weights.ptd", &std::fs::read(weights).unwrap());
    let bad = file("bad.pte", &broken::of("I-3"));
    let text = file("text.yaml", b"methods: {f: {outputs: [1]}}");
    let wrong = file("wrong.yaml", b"methods: {f: {outputs: [x]}}");
    let operators = file("operators", b"no operator\n");

    assert_eq!(run(&[&good, "--with", &weights]), (0, "1 file: 0 errors, 0 warnings, 0 notes\n".into(), "".into()));
    assert_eq!(run(&[&text]).0, 0);
    assert_eq!(run(&[&wrong]).0, 1);
    assert_eq!(run(&[]).0, 2);
    assert_eq!(run(&["missing.pte"]).0, 3);
    assert_eq!(run(&[&good, "--ops", &operators]).0, 2);
    let (exit, lines, _) = run(&[&bad, &good]);
    assert_eq!(exit, 1);
    golden::check("check.txt", &lines);
    let (exit, document, _) = run(&[&bad, &good, "--json"]);
    assert_eq!(exit, 1);
    golden::check("check.json", &document);
}
