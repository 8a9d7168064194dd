//! Tests of `pte-emit generate`: its output is the same for a seed, valid, and round-trips. lab/tests/runtime executes
//! it in the real runtime.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use pretty_assertions::assert_eq;
use pte_check::CheckOptions;
use pte_emit::{AssembleOptions, LargeData, Model, PrintOptions};
use pte_generate::calls::repeatable;
use pte_generate::programs::{KnownOperator, program};
use pte_generate::random::Random;
use pte_model::data::Origin;

use crate::support::{seed, snapshot};

/// Number of instructions of a method.
const INSTRUCTIONS: usize = 10;

fn generate(arguments: &[&str], folder: &Path) -> Output {
    let binary = crate::support::command();
    Command::new(binary).arg("generate").args(arguments).arg("-o").arg(folder).output().unwrap()
}

/// A program as a file.
fn file(seed: u64, index: u64, operators: &[KnownOperator], instructions: usize) -> Vec<u8> {
    let program = program(&mut Random::of_item(seed, index), operators, instructions);
    let files = crate::support::program::files(&program).unwrap_or_else(|error| panic!("{seed} {index}: {error}"));
    files.program_file().unwrap().to_vec().unwrap()
}

/// Fails if `check` finds an error in a file.
fn assert_valid(name: &str, bytes: &[u8]) {
    let findings = pte_check::file(&Origin::Bytes(bytes.into()), &CheckOptions::default()).unwrap();
    let list: Vec<String> = findings.list.iter().map(ToString::to_string).collect();
    assert!(!findings.has_errors(), "{name}: {list:?}");
}

#[test]
fn the_output_is_the_same_for_a_seed() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("new/folder");
    let output = generate(&["--seed", "3", "--count", "2", "--instructions", "6"], &out);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    for number in 0..2 {
        let name = format!("3-{number}.yaml");
        snapshot::check(&format!("generate/{name}"), &fs::read_to_string(out.join(&name)).unwrap());
    }
    let output = generate(&["--seed", "3", "--operators", "quantize_per_channel", "--wild"], folder.path());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = fs::read_to_string(folder.path().join("3-0.yaml")).unwrap();
    assert!(text.contains("quantize_per_channel"), "{text}");
    let output = generate(&["--seed", "3", "--count", "2", "--instructions", "6", "--to", "pte"], folder.path());
    assert!(output.status.success());
    let bytes = file(3, 1, &repeatable(), 6);
    assert_eq!(fs::read(folder.path().join("3-1.pte")).unwrap(), bytes);
}

#[test]
fn the_same_files_are_written_again() {
    let folder = tempfile::tempdir().unwrap();
    for _ in 0..2 {
        assert_eq!(generate(&["--count", "2"], folder.path()).status.code(), Some(0));
    }
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
}

#[test]
fn existing_files_are_not_overwritten() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    fs::write(path("own.txt"), "own").unwrap();
    fs::create_dir(path("out")).unwrap();
    #[cfg(unix)]
    std::os::unix::fs::symlink("../own.txt", path("out/0-1.yaml")).unwrap();
    #[cfg(not(unix))]
    fs::write(path("out/0-1.yaml"), "own").unwrap();
    let output = generate(&["--count", "3"], &path("out"));
    assert_eq!(output.status.code(), Some(2));
    let message = String::from_utf8_lossy(&output.stderr);
    assert!(message.contains("0-1.yaml exists and would be lost"), "{message}");
    assert_eq!(fs::read_to_string(path("own.txt")).unwrap(), "own");
    assert_eq!(fs::read_dir(path("out")).unwrap().count(), 1);
}

#[test]
fn operators_whose_results_differ_between_runs_are_not_generated() {
    for name in ["aten::empty.out", "aten::rand.out", "aten::max_pool2d_with_indices_backward.grad_input"] {
        assert!(repeatable().iter().all(|(other, _)| *other != name), "{name}");
    }
}

#[test]
fn unknown_operators_and_numbers_out_of_range_are_usage_errors() {
    let folder = tempfile::tempdir().unwrap();
    for (pattern, reason) in [
        ("nonsense", "contains `nonsense`; `pte-emit ops` lists all"),
        ("_d2h_copy", "calls of `et_copy::_d2h_copy.out` are not generated"),
        ("cadence::", "calls of the library `cadence_ops_lib` are not generated"),
    ] {
        let output = generate(&["--operators", pattern], &folder.path().join("out"));
        assert_eq!(output.status.code(), Some(2));
        let message = String::from_utf8_lossy(&output.stderr);
        assert!(message.contains(reason), "{message}");
    }
    assert_eq!(generate(&["--count", "0"], folder.path()).status.code(), Some(2));
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn programs_are_valid_and_round_trip() {
    let (operators, seed) = (repeatable(), seed("PTE_EMIT_GENERATE_SEED", 1));
    let mut used = std::collections::BTreeSet::new();
    for index in 0..150 {
        let bytes = file(seed, index, &operators, INSTRUCTIONS);
        assert_valid(&index.to_string(), &bytes);
        let options = PrintOptions::default().large_data(LargeData::Inline);
        let printed = Model::from_binary("", &bytes).to_yaml(Path::new("."), &options).unwrap();
        assert_eq!(printed.difference, None, "{index}");
        assert!(!printed.text.contains("Every property"), "{index}: {}", printed.text);
        let assembly = Model::from_yaml("", &printed.text, ".").assemble(&AssembleOptions::default()).unwrap();
        assert!(assembly.program_file().unwrap().to_vec().unwrap() == bytes, "{index}");
        let program = Model::from_binary("", &bytes).resolve().unwrap().program;
        let plans = program.plans().iter().flat_map(|plan| plan.operators.iter().flatten());
        used.extend(plans.filter_map(|operator| operator.name.clone()));
    }
    assert!(used.len() > 150, "{} operators", used.len());
}

/// A call in place writes no tensor that is a view, which may be of a constant or of an input, or that is viewed.
#[test]
fn views_are_not_written() {
    // The first program that wrote a constant through a view.
    assert_valid("778 4276", &file(778, 4276, &repeatable(), 8));
    let names = ["executorch_prim::et_view.default", "aten::index_put_", "aten::relu.out"];
    let operators: Vec<KnownOperator> = repeatable().into_iter().filter(|(name, _)| names.contains(name)).collect();
    assert_eq!(operators.len(), names.len());
    for index in 0..400 {
        assert_valid(&index.to_string(), &file(1, index, &operators, 30));
    }
}

#[test]
fn every_operator_has_programs_and_they_are_valid() {
    for operator in repeatable() {
        let name = operator.0;
        let program = program(&mut Random::of_item(1, 0), std::slice::from_ref(&operator), 2);
        let plan = &program.plans()[0];
        assert!(plan.operators.iter().flatten().next().is_some(), "{name}");
        // Many calls: a rare one is not valid if outs are not compared with the element types that the kernel writes.
        assert_valid(name, &file(0, 0, &[operator], 60));
    }
}
