//! The real runtime executes what `pte-emit generate` writes.

use std::fmt::Write as _;
use std::fs;
use std::io::{Seek, Write as _};
use std::process::{Command, Stdio};

use pte_generate::calls::repeatable;
use pte_generate::programs::{KnownOperator, program};
use pte_generate::random::Random;

use crate::support::{runner, seed};

/// Number of instructions of a method.
const INSTRUCTIONS: usize = 10;

/// Programs that are executed with one instruction of each operator, and with several.
const OF_OPERATOR: u64 = 6;
const CHAINS: u64 = 600;

/// A program as a file.
fn file(seed: u64, index: u64, operators: &[KnownOperator], instructions: usize) -> Vec<u8> {
    let program = program(&mut Random::of_item(seed, index), operators, instructions);
    let files = crate::support::program::files(&program).unwrap_or_else(|error| panic!("{seed} {index}: {error}"));
    files.program_file().unwrap().to_vec().unwrap()
}

#[test]
#[ignore = "downloads the ExecuTorch runtime from a package index; run it with `cargo lab --test runtime generate:: -- --ignored`"]
fn the_runtime_executes_programs() {
    let (operators, seed) = (repeatable(), seed("PTE_EMIT_GENERATE_SEED", 2));
    let mut files: Vec<(String, Vec<u8>)> = Vec::new();
    for operator in &operators {
        for index in 0..OF_OPERATOR {
            let bytes = file(seed, index, std::slice::from_ref(operator), 1);
            files.push((format!("{} seed {seed} number {index}", operator.0), bytes));
        }
    }
    // A result whose size depends on data may be empty, and later kernels may abort for it (docs/check.md, "The
    // boundary").
    let has_known_sizes = |(name, _): &KnownOperator| pte_operators::facts(name).data_dependent.is_none();
    let operators: Vec<KnownOperator> = operators.into_iter().filter(has_known_sizes).collect();
    for index in 0..CHAINS {
        files.push((format!("seed {seed} number {index}"), file(seed, index, &operators, INSTRUCTIONS)));
    }
    let driver = runner::locate().with_file_name("mutants");
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("programs");
    let (mut all, mut lines) = (Vec::new(), String::new());
    for (_, bytes) in &files {
        writeln!(lines, "{} {}", all.len(), bytes.len()).unwrap();
        all.extend_from_slice(bytes);
    }
    fs::write(&path, &all).unwrap();
    // Memory that nothing initialised has other content in each run.
    let run = |perturbed: &str| {
        let mut script = tempfile::tempfile().unwrap();
        script.write_all(lines.as_bytes()).unwrap();
        script.rewind().unwrap();
        let mut command = Command::new(&driver);
        command.arg(&path).args(["--many", "yes", "--executions", "2", "--gigabytes", "2", "--content", "ones"]);
        let output = command.env("MALLOC_PERTURB_", perturbed).stdin(Stdio::from(script)).output().unwrap();
        assert!(output.status.success());
        String::from_utf8(output.stdout).unwrap()
    };
    let outcomes = run("85");
    let again = run("170");
    let differing: Vec<(&str, &str)> =
        outcomes.lines().zip(again.lines()).filter(|(one, other)| one != other).collect();
    assert!(differing.is_empty(), "seed {seed}: {differing:?}");
    let (mut executed, mut failures) = (0, Vec::new());
    for line in outcomes.lines() {
        let Some((number, outcome)) = line.split_once(' ') else { continue };
        let Ok(number) = number.parse::<usize>() else { continue };
        match outcome.starts_with("ok") {
            true => executed += 1,
            false => failures.push(format!("{}: {outcome}", files[number].0)),
        }
    }
    println!("{executed} of {} programs executed\n{}", files.len(), failures.join("\n"));
    assert_eq!(executed + failures.len(), files.len());
    let crashes: Vec<&String> = failures.iter().filter(|failure| failure.contains(": signal")).collect();
    assert!(crashes.is_empty(), "{crashes:?}");
    // Kernels lack some element types that the rules accept.
    assert!(failures.len() * 50 <= files.len(), "{} of {}", failures.len(), files.len());
}
