//! An adversary of `check`: calls that crash the runtime because of one operand, whose operand is computed, moved,
//! stored, aliased or converted on random ways before the kernel reads it. The runtime decides which of these methods
//! crash. `check` must reject all that do whatever the inputs are, and accept the same methods with a harmless operand,
//! unless a way is not evaluated.
//!
//! | variable | meaning |
//! |---|---|
//! | `PTE_EMIT_ADVERSARY_SEED` | seed, a number; printed; 1 by default |
//! | `PTE_EMIT_ADVERSARY_COUNT` | number of pairs of methods; by default less than half a minute |
//! | `PTE_EMIT_ADVERSARY_KEEP` | a folder for the methods of failures |
//!
//! `harvest` searches for further calls (`calls.jsonl`).

mod builder;
mod calls;
mod ways;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::panic::{self, AssertUnwindSafe};

use pte_check::{CheckOptions, RuleSeverity};
use pte_emit::program::Program;
use pte_emit::{LargeData, Model, PrintOptions};
use pte_generate::lower::{BoundaryMemory, program};
use pte_generate::random::Random;
use pte_model::data::Origin;

use self::builder::{Goal, Variant, goal, of_caller, variants};
use self::ways::ways;
use crate::support::driver::{Driver, Server, crashed};
use crate::support::{path_of, seed};

/// Pairs of methods by default.
const COUNT: usize = 1500;

/// Pairs that one process of the driver runs.
const BATCH: usize = 250;

/// Ways one after the other, at most.
const DEPTH: usize = 3;

/// Ways, and stored calls, at least.
const WAYS: usize = 40;
const CALLS: usize = 55;

/// Harmless methods that may be rejected because a way is not evaluated, in percent.
const MOST_OPEN: usize = 25;

/// Harmless methods that the runtime may reject, in percent: ways that a kernel does not support.
const MOST_FAILED: usize = 5;

/// Outcome of each file, executed several times: what an execution leaves reaches the next ones.
fn run(driver: &Driver, files: &[&[u8]], content: &str) -> Vec<String> {
    driver.run(files, &[], &["--executions", "4", "--gigabytes", "2", "--content", content])
}

/// Returns, for each file, `true` if it crashes whatever the inputs are.
fn always_crashes(driver: &Driver, files: &[&[u8]]) -> Vec<bool> {
    let mut found = vec![true; files.len()];
    for content in ["ones", "zeros", "mixed", "hundreds"] {
        let left: Vec<usize> = (0..files.len()).filter(|at| found[*at]).collect();
        let of: Vec<&[u8]> = left.iter().map(|at| files[*at]).collect();
        for (at, answer) in left.iter().zip(run(driver, &of, content)) {
            found[*at] = crashed(&answer);
        }
    }
    found
}

/// `None` if the assembler rejects it.
fn bytes_of(program: &Program) -> Option<Vec<u8>> {
    let files = crate::support::program::files(program).ok()?;
    files.program_file()?.to_vec().ok()
}

/// Errors by rule, or a panic.
fn findings(bytes: &[u8]) -> BTreeMap<&'static str, String> {
    let origin = Origin::Bytes(bytes.into());
    let found = panic::catch_unwind(AssertUnwindSafe(|| pte_check::file(&origin, &CheckOptions::default()).unwrap()));
    let Ok(found) = found else { return BTreeMap::from([("panic", String::new())]) };
    let errors = found.list.iter().filter(|finding| finding.rule.severity <= RuleSeverity::Invalid);
    errors.map(|finding| (finding.rule.id.as_str(), format!("{}: {}", finding.found, finding.expected))).collect()
}

/// Rules of errors, or of a panic.
fn errors_of(bytes: &[u8]) -> BTreeSet<&'static str> {
    findings(bytes).into_keys().collect()
}

/// A pair of methods as files.
struct Pair {
    /// Operator, operand and ways.
    name: String,
    open: bool,
    crashing: Vec<u8>,
    harmless: Vec<u8>,
    /// The method with inputs of the caller, if its operand is a number or a content.
    of_caller: Option<Vec<u8>>,
}

/// Results.
#[derive(Default)]
struct Tally {
    made: usize,
    crashing: usize,
    refused: usize,
    harmless: usize,
    accepted: usize,
    not_evaluated: usize,
    of_caller: usize,
    failed: BTreeMap<String, usize>,
    failures: Vec<String>,
}

impl Tally {
    fn fail(&mut self, what: &str, pair: &Pair, rules: &BTreeSet<&str>, bytes: &[u8]) {
        if let Some(folder) = path_of("PTE_EMIT_ADVERSARY_KEEP") {
            fs::create_dir_all(&folder).unwrap();
            fs::write(folder.join(format!("{}.pte", self.failures.len())), bytes).unwrap();
            fs::write(
                folder.join(format!("{}.yaml", self.failures.len())),
                format!("# {:?}\n{}", findings(bytes), yaml(bytes)),
            )
            .unwrap();
        }
        self.failures.push(format!("{what} {rules:?}: {}", pair.name));
    }

    fn judge(&mut self, driver: &Driver, pairs: &[Pair]) {
        let files: Vec<&[u8]> = pairs.iter().map(|pair| &*pair.harmless).collect();
        let answers = run(driver, &files, "mixed");
        let mut executed = Vec::new();
        for (pair, answer) in pairs.iter().zip(answers) {
            let rules = errors_of(&pair.harmless);
            match () {
                () if rules.contains("panic") => self.fail("check panics", pair, &rules, &pair.harmless),
                () if !answer.starts_with("ok") => {
                    *self.failed.entry(format!("{answer}: {rules:?} {}", pair.name)).or_default() += 1;
                    continue;
                }
                () if rules.is_empty() => self.accepted += 1,
                () if pair.open && rules.contains("X-30") => self.not_evaluated += 1,
                () => self.fail("a harmless method is rejected", pair, &rules, &pair.harmless),
            }
            self.harmless += 1;
            executed.push(pair);
            let rules = pair.of_caller.as_deref().map(errors_of).unwrap_or_default();
            // What the file has before the first execution is not of the caller.
            if rules.is_empty() || (pair.open && rules.contains("X-30")) {
                self.of_caller += usize::from(pair.of_caller.is_some() && rules.is_empty());
            } else {
                self.fail("operands of the caller are rejected", pair, &rules, pair.of_caller.as_deref().unwrap());
            }
        }
        let files: Vec<&[u8]> = executed.iter().map(|pair| &*pair.crashing).collect();
        let crashes = always_crashes(driver, &files);
        for (pair, crashes) in executed.into_iter().zip(crashes) {
            let rules = errors_of(&pair.crashing);
            self.made += 1;
            self.crashing += usize::from(crashes);
            self.refused += usize::from(crashes && !rules.is_empty());
            if rules.contains("panic") || (crashes && rules.is_empty()) {
                self.fail("a method that crashes is accepted", pair, &rules, &pair.crashing);
            }
        }
    }
}

fn yaml(bytes: &[u8]) -> String {
    let options = PrintOptions::default().large_data(LargeData::Inline);
    let printed = Model::from_binary("method.pte", bytes).to_yaml(".".as_ref(), &options);
    printed.map_or_else(|error| error.to_string(), |printed| printed.text)
}

#[test]
#[ignore = "downloads the ExecuTorch runtime from a package index; run it with `cargo lab --test runtime adversary:: -- --ignored`"]
fn check_rejects_operands_that_crash_however_they_are_computed() {
    let driver = Driver::locate();
    let targets: Vec<_> = calls::stored().into_iter().filter(|target| goal(target).is_some()).collect();
    assert!(targets.len() >= CALLS && ways::count() >= WAYS, "{} calls, {} ways", targets.len(), ways::count());
    let count = std::env::var("PTE_EMIT_ADVERSARY_COUNT").map_or(COUNT, |text| text.parse().expect("a number"));
    let seed = seed("PTE_EMIT_ADVERSARY_SEED", 1);
    // As many tensors with a content as numbers, and as others.
    let mut groups = [const { Vec::new() }; 3];
    for target in &targets {
        let group = match goal(target).expect("it has a goal") {
            Goal::Content(_) => 0,
            Goal::Int(_) | Goal::Double(_) | Goal::Bool(_) => 1,
            Goal::Bools(_) | Goal::Shape(_) => 2,
        };
        groups[group].push(target);
    }
    let (mut tally, mut pairs, mut index) = (Tally::default(), Vec::new(), 0);
    while tally.made + tally.failed.values().sum::<usize>() + pairs.len() < count {
        index += 1;
        let mut random = Random::of_item(seed, index);
        let group = &groups[random.below(groups.len())];
        let target = group[random.below(group.len())];
        let all = ways(&goal(target).expect("it has a goal"));
        let (way, depth) = (all[random.below(all.len())], 1 + random.below(DEPTH));
        let bits = random.bits();
        let Some([crashing, harmless]) = variants(target, way, depth, bits) else { continue };
        let is_value = !matches!(goal(target), Some(Goal::Bools(_) | Goal::Shape(_)));
        let of_caller = of_caller(target, way, depth, bits).filter(|_| is_value);
        let of_caller = of_caller.and_then(|variant| bytes_of(&variant.program));
        let Variant { path, open, .. } = &harmless;
        let name = format!("{} {} {index}: {}", target.call.operator, target.at, path.join(", "));
        let [Some(crashing), Some(harmless)] = [&crashing, &harmless].map(|variant| bytes_of(&variant.program)) else {
            panic!("not assembled: {name}");
        };
        pairs.push(Pair { name, open: *open, crashing, harmless, of_caller });
        if pairs.len() == BATCH {
            tally.judge(&driver, &std::mem::take(&mut pairs));
        }
    }
    tally.judge(&driver, &pairs);
    let failed = tally.failed.values().sum::<usize>();
    for (what, number) in &tally.failed {
        println!("{number:5} not executed: {what}");
    }
    println!(
        "{} calls, {} ways: {} variants, {} crash, {} of these refused; of {} harmless ones {} accepted, {} not \
         evaluated (X-30), {failed} not executed; {} of the caller accepted",
        targets.len(),
        ways::count(),
        tally.made,
        tally.crashing,
        tally.refused,
        tally.harmless,
        tally.accepted,
        tally.not_evaluated,
        tally.of_caller
    );
    assert!(tally.failures.is_empty(), "{} failures:\n{}", tally.failures.len(), tally.failures.join("\n"));
    assert!(tally.not_evaluated * 100 <= tally.harmless * MOST_OPEN, "too many methods are not evaluated");
    assert!(failed * 100 <= count * MOST_FAILED, "too many methods do not execute");
}

/// The stored calls crash with the real runtime, and their twins do not.
#[test]
#[ignore = "downloads the ExecuTorch runtime from a package index; run it with `cargo lab --test runtime adversary:: -- --ignored`"]
fn stored_calls_crash() {
    let wrong = calls::wrong(&Driver::locate(), &calls::stored());
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
#[ignore = "downloads the ExecuTorch runtime from a package index; run it with `cargo lab --test runtime adversary:: -- --ignored`"]
fn stored_calls_crash_one_after_the_other_in_a_driver_that_stays() {
    let calls = calls::stored().into_iter().flat_map(|target| [target.harmless(), target.call]);
    let files: Vec<_> = calls.map(|call| bytes_of(&program(&call, BoundaryMemory::Planned)).unwrap()).collect();
    let options = ["--executions", "2"];
    let mut server = Server::start(&options);
    let found: Vec<bool> = files.iter().map(|file| crashed(&server.run(file))).collect();
    let files: Vec<&[u8]> = files.iter().map(Vec::as_slice).collect();
    let all = Driver::locate().run(&files, &[], &options);
    assert_eq!(found, all.iter().map(|answer| crashed(answer)).collect::<Vec<_>>());
    assert!(found.iter().filter(|crashed| **crashed).count() >= CALLS, "{found:?}");
}

#[test]
#[ignore = "searches for calls that crash, and writes them to the file PTE_EMIT_ADVERSARY_CALLS"]
fn harvest() {
    let Some(path) = crate::support::path_of("PTE_EMIT_ADVERSARY_CALLS") else { return };
    let part = std::env::var("PTE_EMIT_CALLS_OF").unwrap_or_default();
    let seed = crate::support::seed("PTE_EMIT_ADVERSARY_SEED", 1);
    std::fs::write(path, calls::harvest(&Driver::locate(), seed, &part)).unwrap();
}
