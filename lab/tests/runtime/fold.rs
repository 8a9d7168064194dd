//! Folding of constants in the real ExecuTorch runtime: programs before and after have the same outputs, bit for bit,
//! and need no more memory.
//!
//! Ignored by default, since it downloads the runtime. `PTE_EMIT_FOLD_FILES` is a folder whose files `NAME/model.pte`
//! are folded in place of those of the repository; the planned memory is then compared with that of
//! `NAME/const_prop.pte` if it exists. `PTE_EMIT_FOLD_OF` is a part of the names, `PTE_EMIT_FOLD_GROWTH` the number of
//! bytes by which a file may grow.

use std::fs;
use std::path::{Path, PathBuf};

use pte_check::CheckOptions;
use pte_emit::program::Program;
use pte_emit::{AssembleOptions, Model};
use pte_transform::optimize::fold::{FoldOptions, Folded, fold};
use pte_transform::prune::prune;

use crate::support::driver::{Driver, crashed};

/// Contents of inputs.
const CONTENTS: [&str; 3] = ["ones", "zeros", "mixed"];

/// A folded program.
struct Outcome {
    folded: Folded,
    bytes: Vec<u8>,
    planned: u64,
}

/// Returns the planned memory of all methods.
fn planned(program: &Program) -> u64 {
    let sizes = program.plans().iter().flat_map(|plan| plan.memory.non_const_buffer_sizes.iter().flatten());
    sizes.map(|size| u64::try_from(*size).unwrap()).sum()
}

fn folded(file: &Path, max_growth: u64) -> Outcome {
    let mut resolved = Model::open(file).unwrap().resolve_for_changes().unwrap();
    let methods = vec![true; resolved.program.plans().len()];
    let folded = fold(&mut resolved.program, &methods, FoldOptions { max_growth }).unwrap();
    prune(&mut resolved.program);
    let assembly = resolved.to_files(&AssembleOptions::default()).unwrap();
    let findings = assembly.check(&CheckOptions::default()).unwrap();
    if findings[0].has_errors() {
        let errors = findings[0].list.iter().map(|finding| finding.to_string());
        panic!("{}: {}", file.display(), errors.collect::<Vec<_>>().join("\n"));
    }
    let bytes = assembly.program_file().unwrap().to_vec().unwrap();
    let read = Model::from_binary("folded.pte", bytes.clone()).resolve().unwrap();
    Outcome { folded, bytes, planned: planned(&read.program) }
}

/// Returns the programs: those of a folder, or those of the repository, each with its name.
fn files() -> Vec<(String, PathBuf)> {
    let part = std::env::var("PTE_EMIT_FOLD_OF").unwrap_or_default();
    let mut files: Vec<(String, PathBuf)> = match std::env::var_os("PTE_EMIT_FOLD_FILES") {
        Some(folder) => {
            let folders = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap());
            folders
                .map(|entry| (entry.file_name().to_string_lossy().into_owned(), entry.path().join("model.pte")))
                .collect()
        }
        None => {
            let folders = ["tests/golden/upstream/programs", "tests/golden/edits"];
            let entries = folders
                .iter()
                .flat_map(|folder| fs::read_dir(crate::support::root().join(folder)).unwrap())
                .map(|entry| entry.unwrap().path());
            let programs = entries.filter(|path| path.extension().is_some_and(|extension| extension == "pte"));
            programs.map(|path| (path.file_stem().unwrap().to_string_lossy().into_owned(), path)).collect()
        }
    };
    files.retain(|(name, path)| name.contains(&part) && path.exists());
    files.sort();
    files
}

/// Returns the `.ptd` files in the folder of a program of a corpus.
fn data(file: &Path) -> Vec<Vec<u8>> {
    if file.file_name().is_some_and(|name| name != "model.pte") {
        return Vec::new();
    }
    let mut paths: Vec<PathBuf> =
        fs::read_dir(file.parent().unwrap()).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "ptd"));
    paths.sort();
    paths.iter().map(|path| fs::read(path).unwrap()).collect()
}

#[test]
#[ignore = "downloads the ExecuTorch runtime from a package index; run it with `cargo lab --test runtime fold:: -- --ignored`"]
fn folded_programs_have_the_same_outputs() {
    let driver = Driver::locate();
    let max_growth = std::env::var("PTE_EMIT_FOLD_GROWTH").map_or(0, |text| text.parse().unwrap());
    let is_corpus = std::env::var_os("PTE_EMIT_FOLD_FILES").is_some();
    let mut failures = Vec::new();
    let (mut calls, mut executed) = (0, 0);
    for (name, file) in files() {
        let before = fs::read(&file).unwrap();
        let outcome = match std::panic::catch_unwind(|| folded(&file, max_growth)) {
            Ok(outcome) => outcome,
            Err(panic) => {
                let text = panic.downcast_ref::<String>().cloned().unwrap_or_default();
                failures.push(format!("{name}: {text}"));
                continue;
            }
        };
        let own = planned(&Model::from_binary("before.pte", before.clone()).resolve().unwrap().program);
        let exported = file.with_file_name("const_prop.pte");
        let exported = exported.exists().then(|| planned(&Model::open(&exported).unwrap().resolve().unwrap().program));
        let data = data(&file);
        let mut is_executed = false;
        for content in CONTENTS {
            let options = ["--executions", "2", "--content", content, "--gigabytes", "4"];
            let answers = driver.run(&[&before, &outcome.bytes], &data, &options);
            is_executed |= answers[0].starts_with("ok");
            // Contents of inputs may be out of range.
            if answers[0] != answers[1] && !crashed(&answers[0]) {
                failures.push(format!("{name} {content}: {} before, {} after", answers[0], answers[1]));
            }
        }
        let grown = outcome.bytes.len() as i64 - before.len() as i64;
        println!(
            "{name}: {} calls folded, planned {own} -> {}{}, file {} {grown:+} (estimated {:+}){}",
            outcome.folded.calls.len(),
            outcome.planned,
            exported.map_or(String::new(), |exported| format!(
                " (exporter {exported}{})",
                if outcome.planned > exported { ", LESS" } else { "" }
            )),
            before.len(),
            outcome.folded.growth,
            if is_executed { "" } else { ", not executed" },
        );
        if is_corpus && std::env::var_os("PTE_EMIT_FOLD_EXPLAIN").is_some() {
            for call in &outcome.folded.calls {
                println!(
                    "  {} {} {}: {} bytes, {:?}",
                    call.method, call.step, call.operator, call.bytes, call.constants
                );
            }
            for call in outcome.folded.left.iter().filter(|call| !call.reason.contains("is not a constant")) {
                println!("  {} {} {} stays: {}", call.method, call.step, call.operator, call.reason);
            }
        }
        calls += outcome.folded.calls.len();
        executed += usize::from(is_executed);
    }
    println!("{calls} calls folded, {executed} programs executed");
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    assert!(is_corpus || calls > 0 && executed > 0, "nothing is folded");
}
