//! Methods in the real runtime with allocators, pools and buffers of exactly the computed sizes: they are loaded and
//! executed, and fail with one byte less of each; and what the kernel of each operator takes from the temporary
//! allocator.
//!
//! Ignored by default, since they download the runtime: `cargo lab --test runtime memory_trials:: -- --ignored`. The
//! first test takes the programs of `memory.rs`, also those in the folder `PTE_EMIT_PROGRAMS`.

use std::collections::BTreeMap;
use std::io::{Seek, Write};
use std::path::Path;
use std::process::{Command, Stdio};

use pte_emit::{
    AssembleOptions, Model,
    memory::{MemoryOptions, MethodFootprint},
};
use pte_generate::calls::{operators, valid};
use pte_generate::lower::{BoundaryMemory, program};
use pte_generate::random::Random;

use crate::memory::each_program;
use crate::support::{runner, sources};

/// Calls of each operator, and the seed that they follow from.
const CALLS: u64 = 8;
const SEED: u64 = 31;

/// What a trial of a method has: bytes of the method allocator, of the temporary allocator, of each pool, and of each
/// output. `None` is as much as it takes, of an output that it has memory.
struct Trial {
    method_allocator: Option<u64>,
    temporary_allocator: Option<u64>,
    pools: Option<Vec<u64>>,
    outputs: Option<Vec<Option<u64>>>,
}

impl Trial {
    /// The computed sizes.
    fn exact(method: &MethodFootprint) -> Trial {
        let last = method.pools.last().map_or(0, |pool| pool.pool);
        let size = |number: usize| method.pools.iter().find(|pool| pool.pool == number).map_or(0, |pool| pool.bytes);
        let mut outputs = Vec::new();
        for tensor in &method.outputs.tensors {
            outputs.resize(tensor.index, None);
            outputs.push(tensor.is_provided.then_some(tensor.bytes));
        }
        Trial {
            method_allocator: (!method.method_allocator.at_least).then_some(method.method_allocator.bytes),
            temporary_allocator: (!method.temporary_allocator.at_least).then_some(method.temporary_allocator.bytes),
            pools: Some((1..=last).map(size).collect()),
            outputs: Some(outputs),
        }
    }

    /// As much as it takes.
    const GENEROUS: Trial = Trial { method_allocator: None, temporary_allocator: None, pools: None, outputs: None };

    /// A line of the script of the judge.
    fn line(&self, pte: &Path, ptd: Option<&Path>, method: &str) -> String {
        let path = |path: &Path| runner::quote(&path.display().to_string());
        let number = |bytes: Option<u64>| bytes.map_or("-1".to_owned(), |bytes| bytes.to_string());
        let list = |items: Option<Vec<String>>, empty: &str| match items {
            None => "auto".to_owned(),
            Some(items) if items.is_empty() => empty.to_owned(),
            Some(items) => items.join(","),
        };
        let pools = self.pools.as_ref().map(|pools| pools.iter().map(u64::to_string).collect());
        let output = |size: &Option<u64>| size.map_or("x".to_owned(), |size| size.to_string());
        let outputs = self.outputs.as_ref().map(|outputs| outputs.iter().map(output).collect());
        let words = [
            path(pte),
            ptd.map_or("-".to_owned(), path),
            runner::quote(method),
            number(self.method_allocator),
            number(self.temporary_allocator),
            list(pools, "0"),
            list(outputs, "x"),
        ];
        words.join(" ") + "\n"
    }
}

/// Trials with one byte less of one part, each with the step that must fail.
fn smaller(method: &MethodFootprint) -> Vec<(String, &'static str, Trial)> {
    let mut trials = Vec::new();
    let less = |bytes: Option<u64>| bytes.and_then(|bytes| bytes.checked_sub(1));
    let exact = Trial::exact(method);
    if let Some(bytes) = less(exact.method_allocator) {
        let trial = Trial { method_allocator: Some(bytes), ..Trial::exact(method) };
        trials.push(("method allocator".to_owned(), "load 0x21", trial));
    }
    let temporary = &method.temporary_allocator;
    // Loading takes the metadata of arguments from the method allocator if there is room.
    if let Some(bytes) = less(exact.temporary_allocator).filter(|_| exact.method_allocator.is_some()) {
        let trial = Trial { temporary_allocator: Some(bytes), ..Trial::exact(method) };
        let step = if temporary.kernels > temporary.lookup { "execute 0x21" } else { "load 0x21" };
        trials.push(("temporary allocator".to_owned(), step, trial));
    }
    // What follows the last tensor is not used, and the runtime does not look at it.
    for pool in method.pools.iter().filter(|pool| pool.bytes > pool.padding) {
        let mut trial = Trial::exact(method);
        let sizes = trial.pools.iter_mut().flatten();
        sizes.skip(pool.pool - 1).take(1).for_each(|size| *size = pool.bytes - pool.padding - 1);
        trials.push((format!("pool {}", pool.pool), "load 0x21", trial));
    }
    for tensor in method.outputs.tensors.iter().filter(|tensor| tensor.is_provided && tensor.bytes > 0) {
        let mut trial = Trial::exact(method);
        let sizes = trial.outputs.iter_mut().flatten();
        sizes.skip(tensor.index).take(1).for_each(|size| *size = Some(tensor.bytes - 1));
        trials.push((format!("output {}", tensor.index), "output 0x12", trial));
    }
    trials
}

/// Runs a script, and returns a line for each of its lines.
fn run(judge: &Path, script: &str) -> Vec<String> {
    let mut input = tempfile::tempfile().expect("there is room");
    input.write_all(script.as_bytes()).and_then(|()| input.rewind()).expect("there is room");
    let output = Command::new(judge).stdin(Stdio::from(input)).output().expect("the judge starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let answers: Vec<String> = String::from_utf8_lossy(&output.stdout).lines().map(str::to_owned).collect();
    assert_eq!(answers.len(), script.lines().count());
    answers
}

/// Numbers of methods.
#[derive(Default)]
struct Tally {
    /// Loaded and executed at exactly the computed sizes.
    exact: usize,
    /// Trials with one byte less that fail as they must.
    smaller: usize,
    /// Methods that fail with zeros as inputs, also with as much memory as they take, by outcome.
    failing: BTreeMap<String, usize>,
    failures: Vec<String>,
}

impl Tally {
    fn try_method(&mut self, judge: &Path, pte: &Path, ptd: Option<&Path>, method: &MethodFootprint) {
        let others = smaller(method);
        let first = [Trial::exact(method), Trial::GENEROUS];
        let lines = first.iter().chain(others.iter().map(|(_, _, trial)| trial));
        let script: String = lines.map(|trial| trial.line(pte, ptd, &method.name)).collect();
        let answers = run(judge, &script);
        let label = format!("{}, {}", pte.display(), method.name);
        let kernels = method.temporary_allocator.kernels;
        if !answers[1].starts_with("ok") {
            *self.failing.entry(answers[1].clone()).or_default() += 1;
            // What does not depend on the inputs is compared.
            if answers[0] != answers[1] {
                self.failures.push(format!("{label}: {} with the computed sizes, else {}", answers[0], answers[1]));
            }
            if !answers[1].starts_with("execute") && !answers[1].starts_with("signal") {
                return;
            }
        } else if answers[0] == format!("ok {kernels}") || method.temporary_allocator.at_least {
            self.exact += 1;
        } else {
            self.failures.push(format!("{label}: {}, not ok {kernels}", answers[0]));
        }
        for ((part, step, _), answer) in others.iter().zip(&answers[2..]) {
            self.smaller += 1;
            if answer != step {
                self.failures.push(format!("{label}, one byte less of the {part}: {answer}, not {step}"));
            }
        }
    }
}

#[test]
#[ignore = "downloads the ExecuTorch runtime"]
fn the_computed_sizes_are_enough_and_one_byte_less_is_not() {
    let judge = runner::locate().with_file_name("trials");
    let mut tally = Tally::default();
    each_program(&mut |pte, ptd| {
        let memory = Model::open(pte).and_then(|model| model.with_data_files(ptd).memory(&MemoryOptions::default()));
        let Ok(memory) = memory else { return };
        for method in &memory.methods {
            tally.try_method(&judge, pte, ptd, method);
        }
    });
    let Tally { exact, smaller, failing, failures } = tally;
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    assert!(exact > 100 && smaller > 300, "only {exact} methods, {smaller} trials with one byte less");
    println!(
        "{exact} methods at the computed sizes, {smaller} trials with one byte less, {failing:?} fail with any sizes"
    );
}

#[test]
#[ignore = "downloads the ExecuTorch runtime"]
fn kernels_take_what_is_computed_from_the_temporary_allocator() {
    let judge = runner::locate().with_file_name("trials");
    let folder = tempfile::tempdir().expect("there is room");
    let pte = folder.path().join("call.pte");
    let mut tally = Tally::default();
    let mut called = BTreeMap::new();
    let try_program = |bytes: &[u8], tally: &mut Tally| {
        std::fs::write(&pte, bytes).expect("there is room");
        let memory = Model::open(&pte).and_then(|model| model.memory(&MemoryOptions::default())).expect("a program");
        let method = &memory.methods[0];
        assert!(!method.temporary_allocator.at_least, "{:?}", method.temporary_allocator.unknown);
        tally.try_method(&judge, &pte, None, method);
        method.temporary_allocator.kernels
    };
    let files =
        Model::from_yaml("topk.yaml", sources::TOPK, ".").assemble(&AssembleOptions::default()).expect("a program");
    let bytes = files.program_file().expect("a program").to_vec().expect("there is room");
    assert_eq!(try_program(&bytes, &mut tally), 1600);
    assert_eq!((tally.exact, tally.failures.as_slice()), (1, &[][..]));
    for (name, signature) in operators() {
        for index in 0..CALLS {
            let mut random = Random::of_item(SEED, index);
            let Some(call) = valid(&mut random, name, &signature) else { continue };
            let Ok(files) = crate::support::program::files(&program(&call, BoundaryMemory::random(&mut random))) else {
                continue;
            };
            let bytes = files.program_file().expect("a program").to_vec().expect("there is room");
            let before = tally.exact;
            try_program(&bytes, &mut tally);
            *called.entry(name).or_insert(0) += tally.exact - before;
        }
    }
    let never: Vec<&str> = called.iter().filter(|(_, count)| **count == 0).map(|(name, _)| *name).collect();
    assert!(tally.failures.is_empty(), "{}", tally.failures.join("\n"));
    // Copies from and to devices, of which the runtime has none.
    assert!(never.iter().all(|name| pte_operators::facts(name).on_device.is_some()), "never executed: {never:?}");
    println!("{} operators, {} calls, never executed: {never:?}; {:?}", called.len(), tally.exact, tally.failing);
}
