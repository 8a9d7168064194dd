//! `check` of randomly mutated files, with other profiles, and as a command: its exit status and options.
//!
//! `tests/golden/snapshots/check` has its findings in files with one known defect; tests/cases/golden.rs and
//! tests/cases/examples.rs test that it accepts the files of ExecuTorch and of the assembler,
//! lab/tests/runtime/mutants.rs that the runtime agrees.

use std::process::Command;
use std::sync::LazyLock;

use proptest::prelude::*;
use proptest::test_runner::{Config, FileFailurePersistence};
use pte_check::Profile;
use pte_emit::check::RuleId;
use pte_emit::{Model, check::CheckOptions};
use pte_model::data::Origin;

use crate::support::{files_below, properties, root, sources};

/// Program of a source of the repository.
fn program_of(source: &str) -> Vec<u8> {
    sources::assembled(&root().join(source)).program_file().unwrap().to_vec().unwrap()
}

#[test]
fn a_profile_decides_which_rules_count() {
    let rejects = |source: &str, profile| {
        let origin = Origin::Bytes(program_of(source).into());
        pte_check::file(&origin, &of_profile(profile)).unwrap().has_errors()
    };
    let old = "examples/malformed/constants_inside_the_program.yaml";
    assert!(rejects(old, Profile::Strict) && !rejects(old, Profile::Legacy));
    let unbound = "examples/malformed/shape_without_bound.yaml";
    assert!(rejects(unbound, Profile::Portable) && !rejects(unbound, Profile::Aten));
    let large = "tests/golden/snapshots/check/G-5/tensor_of_8_gib.yaml";
    assert!(rejects(large, Profile::Bits32) && !rejects(large, Profile::Strict));
}

#[test]
fn a_large_program_has_the_findings_of_a_small_one() {
    // The semantics of a FlatBuffer of 1 MiB or more are checked by a second thread.
    let findings = |length: usize| {
        let yaml = std::fs::read_to_string(root().join("examples/malformed/jump_condition_is_an_int.yaml")).unwrap();
        let meta = format!("  forward:\n    container_meta: {{inputs: {}, outputs: y}}\n", "i".repeat(length));
        let yaml = yaml.replacen("  forward:\n", &meta, 1);
        let source = pte_emit::Model::from_yaml("large.yaml", &yaml, ".");
        let assembly = source.assemble(&pte_emit::AssembleOptions::default()).unwrap();
        let origin = Origin::Bytes(assembly.program_file().unwrap().to_vec().unwrap().into());
        let found = pte_check::file(&origin, &CheckOptions::default()).unwrap();
        found.list.iter().map(|finding| (finding.rule.id, finding.found.clone())).collect::<Vec<_>>()
    };
    let small = findings(1);
    assert_eq!(small.iter().map(|(rule, _)| *rule).collect::<Vec<_>>(), [RuleId::I_23]);
    assert_eq!(findings(1 << 20), small);
}

/// Number of the seeds: none is lost unnoticed.
const SEED_COUNT: usize = 408;

/// Small files of all formats, to be mutated.
static SEEDS: LazyLock<Vec<Vec<u8>>> = LazyLock::new(|| {
    let paths = files_below(&root().join("tests/golden/upstream"), &["pte", "ptd", "bpte"]);
    let seeds = paths.iter().map(|path| std::fs::read(path).unwrap()).filter(|bytes| bytes.len() < 20_000);
    let seeds: Vec<Vec<u8>> = seeds.collect();
    assert_eq!(seeds.len(), SEED_COUNT);
    seeds
});

/// Numbers that trigger overflows and invalid indices in unchecked code.
const EDGE_CASES: &[u32] = &[0, 1, 2, 3, 4, 8, 64, 0xff, 0xffff, 0x7fff_ffff, 0x8000_0000, 0xffff_fffc, u32::MAX];

/// Change to a file; offsets are fractions of its length.
#[derive(Debug, Clone)]
enum Mutation {
    Flip(u16, u8),
    Word(u16, usize),
    Copy(u16, u16, u8),
    Truncate(u16),
}

fn mutation() -> impl Strategy<Value = Mutation> {
    prop_oneof![
        8 => (any::<u16>(), 1..=255u8).prop_map(|(at, bits)| Mutation::Flip(at, bits)),
        8 => (any::<u16>(), 0..EDGE_CASES.len()).prop_map(|(at, word)| Mutation::Word(at, word)),
        4 => (any::<u16>(), any::<u16>(), 1..32u8).prop_map(|(from, to, length)| Mutation::Copy(from, to, length)),
        1 => any::<u16>().prop_map(Mutation::Truncate),
    ]
}

fn apply(bytes: &mut Vec<u8>, mutation: &Mutation) {
    let last = bytes.len().saturating_sub(1);
    let offset = |fraction: u16| last * usize::from(fraction) / usize::from(u16::MAX);
    match *mutation {
        Mutation::Flip(at, bits) => {
            let at = offset(at);
            bytes.get_mut(at).into_iter().for_each(|byte| *byte ^= bits);
        }
        Mutation::Word(at, word) => {
            let at = offset(at) & !3;
            let word = EDGE_CASES[word].to_le_bytes();
            bytes.iter_mut().skip(at).zip(word).for_each(|(byte, new)| *byte = new);
        }
        Mutation::Copy(from, to, length) => {
            let (from, to) = (offset(from), offset(to));
            let piece: Vec<u8> = bytes.iter().skip(from).take(length.into()).copied().collect();
            bytes.iter_mut().skip(to).zip(piece).for_each(|(byte, new)| *byte = new);
        }
        Mutation::Truncate(at) => bytes.truncate(offset(at)),
    }
}

fn config() -> Config {
    // Overridden by PROPTEST_CASES.
    let cases = std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(4000);
    let persistence = FileFailurePersistence::Direct("tests/data/proptest-regressions/check.txt");
    Config { cases, failure_persistence: Some(Box::new(persistence)), ..Config::default() }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn mutated_files_do_not_panic(seed in any::<usize>(), mutations in prop::collection::vec(mutation(), 1..4)) {
        let mut bytes = SEEDS[seed % SEEDS.len()].clone();
        mutations.iter().for_each(|mutation| apply(&mut bytes, mutation));
        properties::check_answers(&bytes);
    }
}

/// `tests/golden/snapshots/commands` has snapshots of the output.
#[test]
fn exit_statuses() {
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
    let good = std::fs::read(root().join("tests/golden/upstream/bytes/addmul_ext/model.pte")).unwrap();
    let weights = root().join("tests/golden/upstream/bytes/addmul_ext/_default_external_constant.ptd");
    let good = file("good.pte", &good);
    let weights = file("weights.ptd", &std::fs::read(weights).unwrap());
    let bad = file("bad.pte", &program_of("examples/malformed/kernel_arg_out_of_range.yaml"));
    let text = file("text.yaml", b"methods: {f: {outputs: [1]}}");
    let wrong = file("wrong.yaml", b"methods: {f: {outputs: [x]}}");
    let operators = file("operators", b"no operator\n");

    let (status, stdout, stderr) = run(&[&good, "--with", &weights]);
    assert_eq!((status, &*stderr), (0, ""));
    assert!(stdout.contains("note[G-32]") && stdout.ends_with("1 file: 0 errors, 0 warnings, 1 note\n"), "{stdout}");
    assert_eq!(run(&[&text]).0, 0);
    assert_eq!(run(&[&wrong]).0, 1);
    assert_eq!(run(&[]).0, 2);
    assert_eq!(run(&["missing.pte"]).0, 3);
    assert_eq!(run(&[&good, "--ops", &operators]).0, 1);
    assert_eq!(run(&[&bad, &good]).0, 1);
    assert_eq!(run(&[&bad, &good, "--json"]).0, 1);
}

/// Findings about graphs have their position in the YAML, with its names, also those of a bundled program.
#[test]
fn findings_about_graphs_are_at_their_place_in_the_yaml() {
    let yaml = "methods:
  forward:
    values: {x: {tensor: float32, sizes: [2]}, y: {tensor: float32, sizes: [2]}}
    delegates:
      good: {backend: XnnpackBackend, graph: {values: {x: {datatype: fp32, sizes: [2]}}, inputs: [x], outputs: [y],
        nodes: [{abs: {input: x, output: y}}]}}
      'a part':
        backend: XnnpackBackend
        graph:
          values: {x: {datatype: fp32, sizes: [2]}, w: {datatype: fp32, sizes: [2], key: no_such_key}, y: {datatype: fp32, sizes: [2]}}
          inputs: [x]
          outputs: [y]
          nodes:
            - {add: {input1: x, input2: w, output: a}}
            - {abs: {input: a, output: y}}
    inputs: [x]
    outputs: [y]
    instructions:
      - {delegate: good, args: [x, y]}
      - {delegate: 'a part', args: [x, y]}
";
    let at = |yaml: &str, rule: RuleId| {
        let findings = Model::from_yaml("m.yaml", yaml, ".").check(&CheckOptions::default()).unwrap();
        let found = findings[0].1.list.iter().find(|finding| finding.rule.id == rule).unwrap().clone();
        let source = found.source.clone().unwrap();
        (source.path, yaml[source.span].to_owned(), (source.line, source.column), found.location.path, found.found)
    };
    let base = "methods.forward.delegates.\"a part\".graph";
    let (path, text, line, binary, _) = at(yaml, RuleId::D_13);
    assert_eq!((&*path, &*text, line), (&*format!("{base}.values.w"), "w", (10, 53)));
    assert_eq!(binary, "methods.forward.delegates[1].graph.values[1]");
    let unwritten =
        yaml.replace("{abs: {input: a, output: y}}\n    inputs", "{abs: {input: y, output: a}}\n    inputs");
    let (path, text, line, _, found) = at(&unwritten, RuleId::D_12);
    assert_eq!((&*path, &*text, line), (&*format!("{base}.nodes[1]"), "{", (15, 15)));
    assert!(found.contains("value 2 (`y`) is used before it is written"), "{found}");
    let short = yaml.replace("{delegate: 'a part', args: [x, y]}", "{delegate: 'a part', args: [x]}");
    let (path, text, line, _, found) = at(&short, RuleId::D_14);
    assert_eq!((&*path, &*text, line), ("methods.forward.instructions[1]", "'a part'", (20, 20)));
    assert!(found.contains("1 argument"), "{found}");
    let long = yaml.replace("{delegate: 'a part', args: [x, y]}", "{delegate: 1, args: [x, y, x]}");
    let (path, text, line, _, found) = at(&long, RuleId::D_21);
    assert_eq!((&*path, &*text, line), ("methods.forward.instructions[1]", "1", (20, 20)));
    assert!(found.contains("3 arguments"), "{found}");
}

/// Options of validation for a runtime build.
fn of_profile(profile: Profile) -> CheckOptions {
    CheckOptions::default().profile(profile)
}
