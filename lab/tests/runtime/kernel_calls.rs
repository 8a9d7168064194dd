//! Fuzzer of kernel calls: random calls of every operator run through `check` and the real ExecuTorch runtime. `check`
//! must reject all that crash the runtime; calls that crash with some inputs only are counted, since the contents of
//! inputs are not known before.
//!
//! Runs a sample by default. Variables of the environment: `PTE_EMIT_CALLS` is the number of accepted calls of each
//! operator (`all`: 2000), `PTE_EMIT_CALLS_SEED` a seed (`fresh` for a random one), `PTE_EMIT_CALLS_OF` a part of the
//! names of operators, `PTE_EMIT_CALLS_LISTS` a folder for lists of crashing calls, and of rejected ones that execute.
//! docs/mutants.md has the figures.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::panic::{self, AssertUnwindSafe};
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use pte_check::{CheckOptions, RuleSeverity};
use pte_emit::program::TensorShapeDynamism;
use pte_emit::{LargeData, Model, PrintOptions};
use pte_generate::calls::operators;
use pte_generate::lower::{BoundaryMemory, program};
use pte_generate::operand::{Content, GeneratedCall, Operand, TensorOperand};
use pte_generate::random::Random;
use pte_generate::wild::wild;
use pte_model::data::Origin;
use pte_operators::{Base, Role, Signature};

use crate::support::driver::{Driver, allowed_crashes, crashed};

/// Number of accepted calls of each operator: of a sample, and of the whole run.
const SAMPLE: usize = 30;
const ALL: usize = 2000;

/// Number of calls that one process of the driver runs.
const BATCH: usize = 400;

/// Calls that are generated for each one that is accepted, at most.
const MOST_PER_ACCEPTED: usize = 12;

/// Crashes of an operator that are listed.
const LISTED: usize = 20;

/// Crashes of an operator that are reduced, and steps of one.
const REDUCED: usize = 3;
const STEPS: usize = 12;

/// A generated call as a file.
struct Candidate {
    call: GeneratedCall,
    boundary: BoundaryMemory,
    bytes: Vec<u8>,
}

impl Candidate {
    /// `None` if the assembler rejects it.
    fn new(call: GeneratedCall, boundary: BoundaryMemory) -> Option<Candidate> {
        let files = crate::support::program::files(&program(&call, boundary)).ok()?;
        let bytes = files.program_file()?.to_vec().ok()?;
        Some(Candidate { call, boundary, bytes })
    }

    /// The same call whose outs have memory of their own; `None` if they have.
    fn separate(&self, signature: &Signature) -> Option<Candidate> {
        let mut call = self.call.clone();
        for (at, _) in signature.args.iter().enumerate().filter(|(_, arg)| arg.role == Role::Out) {
            let out = match call.args.get(at)? {
                Operand::Same(other) => self.call.args.get(*other)?.as_tensor(),
                out => out.as_tensor().filter(|out| matches!(out.content, Content::Over { .. })),
            };
            if let Some(out) = out {
                call.args[at] = Operand::Tensor(TensorOperand { content: Content::Written, ..out.clone() });
            }
        }
        if call == self.call { None } else { Candidate::new(call, self.boundary) }
    }

    /// The same call with one argument made simpler.
    fn simpler(&self) -> Vec<Candidate> {
        let mut calls = Vec::new();
        for at in 0..self.call.args.len() {
            let mut replace = |operand: Operand| {
                if operand != self.call.args[at] {
                    let mut call = self.call.clone();
                    call.args[at] = operand;
                    calls.push(call);
                }
            };
            match &self.call.args[at] {
                Operand::Tensor(tensor) => {
                    let mut change = |change: &dyn Fn(&mut TensorOperand)| {
                        let Operand::Tensor(mut other) = self.call.args[at].clone() else { return };
                        change(&mut other);
                        replace(Operand::Tensor(other));
                    };
                    change(&|tensor| tensor.dynamism = TensorShapeDynamism::STATIC);
                    change(&|tensor| tensor.dim_order.sort_unstable());
                    if matches!(tensor.content, Content::Constant(_)) {
                        change(&|tensor| tensor.content = Content::Input);
                    } else {
                        (0..tensor.sizes.len()).for_each(|dim| change(&|tensor| tensor.sizes[dim] /= 2));
                    }
                }
                // Not back and forth.
                Operand::Int(0 | 1) => {}
                Operand::Int(_) => [0, 1].into_iter().for_each(|int| replace(Operand::Int(int))),
                Operand::Double(_) => replace(Operand::Double(1.0)),
                Operand::Bool(_) => replace(Operand::Bool(false)),
                Operand::Ints(items) => replace(Operand::Ints(vec![1; items.len()])),
                Operand::Null
                | Operand::Str(_)
                | Operand::Doubles(_)
                | Operand::Bools(_)
                | Operand::Tensors { .. }
                | Operand::Same(_) => {}
            }
        }
        calls.into_iter().filter_map(|call| Candidate::new(call, self.boundary)).collect()
    }
}

/// Reduces a call that `check` accepts and that crashes with any inputs.
fn reduce(driver: &Driver, found: &Candidate) -> Option<Candidate> {
    let mut best: Option<Candidate> = None;
    for _ in 0..STEPS {
        let mut simpler = best.as_ref().unwrap_or(found).simpler();
        simpler.retain(|candidate| rejecting_rules(&candidate.bytes).is_empty());
        let files: Vec<&Candidate> = simpler.iter().collect();
        let [ones, zeros] = [Inputs::Ones, Inputs::Zeros].map(|inputs| run(driver, inputs, &files));
        let Some(at) = (0..files.len()).find(|at| crashed(&ones[*at]) && crashed(&zeros[*at])) else { break };
        best = Some(simpler.swap_remove(at));
    }
    best
}

/// Contents of inputs, as the driver names them.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Inputs {
    Ones,
    Zeros,
    Mixed,
    Hundreds,
}

impl Inputs {
    fn word(self) -> &'static str {
        match self {
            Inputs::Ones => "ones",
            Inputs::Zeros => "zeros",
            Inputs::Mixed => "mixed",
            Inputs::Hundreds => "hundreds",
        }
    }
}

/// A call that crashes.
struct Crash {
    index: u64,
    outcome: String,
    yaml: String,
}

/// Results of the calls of one operator, or of all.
#[derive(Default)]
struct Tally {
    generated: usize,
    /// Calls that the assembler rejects.
    unassembled: usize,
    accepted: usize,
    executed: usize,
    /// Accepted calls that the runtime rejects, by outcome.
    refused: BTreeMap<String, usize>,
    /// Accepted calls that crash with any inputs.
    crashes: Vec<Crash>,
    crash_count: usize,
    /// Accepted calls that crash with some inputs only.
    dependent: usize,
    dependent_example: String,
    /// Rejected calls that were run, and those of them that crash.
    rejected_run: usize,
    rejected_crash: usize,
    /// Rejected calls that run without an error, by rules: number, example.
    harmless: BTreeMap<String, (usize, String)>,
    /// These calls, each with its rules and results, as `lab/inference.py --judge` reads them.
    executing: Vec<String>,
    /// Panics of `check`.
    failures: Vec<String>,
}

impl Tally {
    fn merge(&mut self, other: &Tally) {
        self.generated += other.generated;
        self.unassembled += other.unassembled;
        self.accepted += other.accepted;
        self.executed += other.executed;
        self.crash_count += other.crash_count;
        self.dependent += other.dependent;
        self.rejected_run += other.rejected_run;
        self.rejected_crash += other.rejected_crash;
        for (outcome, number) in &other.refused {
            *self.refused.entry(outcome.clone()).or_default() += number;
        }
        for (rules, (number, example)) in &other.harmless {
            let entry = self.harmless.entry(rules.clone()).or_default();
            entry.0 += number;
            if entry.1.is_empty() {
                entry.1.clone_from(example);
            }
        }
        self.failures.extend(other.failures.iter().cloned());
    }
}

/// Outcome of each file in the runtime, executed twice.
fn run(driver: &Driver, inputs: Inputs, files: &[&Candidate]) -> Vec<String> {
    run_times(driver, inputs, files, "2")
}

fn run_times(driver: &Driver, inputs: Inputs, files: &[&Candidate], executions: &str) -> Vec<String> {
    let files: Vec<&[u8]> = files.iter().map(|file| &*file.bytes).collect();
    driver.run(&files, &[], &["--executions", executions, "--gigabytes", "2", "--content", inputs.word()])
}

/// Results of calls against those with outs in memory of their own: `own` if they have, else `equal` or `other`.
fn results(driver: &Driver, signature: &Signature, files: &[&Candidate]) -> Vec<&'static str> {
    let separate: Vec<Option<Candidate>> = files.iter().map(|file| file.separate(signature)).collect();
    let pairs = files.iter().zip(&separate).filter_map(|(file, separate)| Some([*file, separate.as_ref()?]));
    let both: Vec<&Candidate> = pairs.flatten().collect();
    // Elements that are equal hide where they come from.
    let answers = [Inputs::Mixed, Inputs::Hundreds].map(|inputs| run_times(driver, inputs, &both, "1"));
    let is_equal = |pair: usize| answers.iter().all(|answers| answers[2 * pair] == answers[2 * pair + 1]);
    let mut equal = (0..both.len() / 2).map(is_equal);
    let mut word = |separate: &Option<Candidate>| match separate {
        None => "own",
        Some(_) if equal.next() == Some(true) => "equal",
        Some(_) => "other",
    };
    separate.iter().map(&mut word).collect()
}

/// Rules of errors, or of a panic.
fn rejecting_rules(bytes: &[u8]) -> BTreeSet<&'static str> {
    let origin = Origin::Bytes(bytes.into());
    let found = panic::catch_unwind(AssertUnwindSafe(|| pte_check::file(&origin, &CheckOptions::default()).unwrap()));
    let Ok(found) = found else { return BTreeSet::from(["panic"]) };
    let errors = found.list.iter().filter(|finding| finding.rule.severity <= RuleSeverity::Invalid);
    errors.map(|finding| finding.rule.id.as_str()).collect()
}

/// A file as YAML in one line.
fn one_line(bytes: &[u8]) -> String {
    let options = PrintOptions::default().large_data(LargeData::Inline);
    let printed = match Model::from_binary("call.pte", bytes).to_yaml(".".as_ref(), &options) {
        Ok(printed) => printed.text,
        Err(error) => return error.to_string(),
    };
    match serde_yaml::from_str::<serde_json::Value>(&printed) {
        Ok(value) => value.to_string(),
        Err(_) => printed.replace('\n', "\\n"),
    }
}

/// Names of element types in the cases of `lab/inference.py`, by code.
const ELEMENT_TYPES: [&str; 29] = [
    "u8", "i8", "i16", "i32", "i64", "f16", "f32", "f64", "c32", "c64", "c128", "b8", "", "", "", "bf16", "", "", "",
    "", "", "", "", "", "", "", "", "u16", "u32",
];

/// Returns a call as a case of `lab/inference.py`: name, arguments, `->`, outs. `None` if it cannot be written as
/// one.
fn text(call: &GeneratedCall, signature: &Signature) -> Option<String> {
    let element_type = |code: i64| {
        let name = ELEMENT_TYPES.get(usize::try_from(code).ok()?)?;
        (!name.is_empty()).then_some(*name)
    };
    let list = |items: &mut dyn Iterator<Item = String>| items.collect::<Vec<_>>().join(",");
    let tensor = |tensor: &TensorOperand| {
        let sizes = list(&mut tensor.sizes.iter().map(i32::to_string));
        let order = list(&mut tensor.dim_order.iter().map(u8::to_string));
        let order = if tensor.dim_order.is_sorted() { String::new() } else { format!("{{{order}}}") };
        Some(format!("{}[{sizes}]{order}", element_type(tensor.scalar_type.0.into())?))
    };
    let operand = |operand: &Operand, base: Base| {
        Some(match operand {
            Operand::Null => "none".to_owned(),
            Operand::Int(code) if base == Base::Dtype => format!("@{}", element_type(*code)?),
            Operand::Int(code) if base == Base::MemoryFormat => {
                ["contiguous", "preserve", "channels_last"].get(usize::try_from(*code).ok()?)?.to_string()
            }
            Operand::Int(int) => int.to_string(),
            Operand::Bool(value) => value.to_string(),
            Operand::Double(value) => format!("{value:?}"),
            Operand::Str(text) => format!("{text:?}"),
            Operand::Tensor(of) => tensor(of)?,
            Operand::Ints(items) => format!("[{}]", list(&mut items.iter().map(i64::to_string))),
            Operand::Doubles(items) => format!("[{}]", list(&mut items.iter().map(|item| format!("{item:?}")))),
            Operand::Bools(items) => format!("[{}]", list(&mut items.iter().map(bool::to_string))),
            Operand::Tensors { items, .. } => {
                let items = items.iter().map(|item| item.as_ref().map_or(Some("none".to_owned()), &tensor));
                format!("<{}>", items.collect::<Option<Vec<_>>>()?.join(";"))
            }
            Operand::Same(_) => return None,
        })
    };
    let (mut ins, mut outs) = (Vec::new(), Vec::new());
    for (arg, given) in signature.args.iter().zip(&call.args) {
        let given = match given {
            Operand::Same(position) => call.args.get(*position)?,
            given => given,
        };
        if arg.role == Role::Out { &mut outs } else { &mut ins }.push(operand(given, arg.kind.base)?);
    }
    Some(format!("{} {} -> {}", call.operator, ins.join(" "), outs.join(" ")))
}

/// Call number `index` of an operator.
fn candidate(seed: u64, index: u64, name: &'static str, signature: &Signature) -> Option<Candidate> {
    let mut random = Random::of_item(seed, index);
    let call = wild(&mut random, name, signature);
    Candidate::new(call, BoundaryMemory::random(&mut random))
}

/// Tests calls of an operator until enough are accepted.
fn test(driver: &Driver, seed: u64, name: &'static str, signature: &Signature, target: usize) -> Tally {
    let mut tally = Tally::default();
    let mut index = 0;
    while tally.accepted < target && tally.generated < target * MOST_PER_ACCEPTED {
        let (mut accepted, mut rejected): (Vec<(u64, Candidate)>, Vec<_>) = (Vec::new(), Vec::new());
        while accepted.len() < BATCH.min(target - tally.accepted) && tally.generated < target * MOST_PER_ACCEPTED {
            index += 1;
            tally.generated += 1;
            let Some(found) = candidate(seed, index, name, signature) else {
                tally.unassembled += 1;
                continue;
            };
            let rules = rejecting_rules(&found.bytes);
            if rules.contains("panic") {
                tally.failures.push(format!("check panics: {name} {index}: {}", one_line(&found.bytes)));
            } else if rules.is_empty() {
                accepted.push((index, found));
            } else if index % 8 == 0 {
                rejected.push((rules, found));
            }
        }
        tally.accepted += accepted.len();
        test_accepted(driver, &accepted, &mut tally);
        let files: Vec<&Candidate> = rejected.iter().map(|(_, file)| file).collect();
        let answers = run(driver, Inputs::Ones, &files);
        tally.rejected_run += answers.len();
        tally.rejected_crash += answers.iter().filter(|answer| crashed(answer)).count();
        let executing: Vec<&(BTreeSet<&'static str>, Candidate)> = rejected
            .iter()
            .zip(&answers)
            .filter(|(_, answer)| answer.starts_with("ok"))
            .map(|(file, _)| file)
            .collect();
        let files: Vec<&Candidate> = executing.iter().map(|(_, file)| file).collect();
        for ((rules, file), results) in executing.iter().zip(results(driver, signature, &files)) {
            let rules = rules.iter().copied().collect::<Vec<_>>().join("+");
            tally.executing.extend(text(&file.call, signature).map(|text| format!("{rules} {results} {text}")));
            let entry = tally.harmless.entry(rules).or_default();
            entry.0 += 1;
            if entry.1.is_empty() {
                entry.1 = one_line(&file.bytes);
            }
        }
    }
    tally
}

fn test_accepted(driver: &Driver, accepted: &[(u64, Candidate)], tally: &mut Tally) {
    let files: Vec<&Candidate> = accepted.iter().map(|(_, file)| file).collect();
    let answers = run(driver, Inputs::Ones, &files);
    let mut crashing = Vec::new();
    for ((index, file), answer) in accepted.iter().zip(answers) {
        match () {
            () if answer.starts_with("ok") => tally.executed += 1,
            () if crashed(&answer) => crashing.push((*index, file, answer)),
            () => *tally.refused.entry(answer).or_default() += 1,
        }
    }
    let files: Vec<&Candidate> = crashing.iter().map(|(_, file, _)| *file).collect();
    let others = [Inputs::Zeros, Inputs::Mixed, Inputs::Hundreds].map(|inputs| run(driver, inputs, &files));
    for (number, (index, file, outcome)) in crashing.iter().enumerate() {
        if !others.iter().all(|answers| crashed(&answers[number])) {
            tally.dependent += 1;
            if tally.dependent_example.is_empty() {
                tally.dependent_example = format!("{outcome}: {}", one_line(&file.bytes));
            }
            continue;
        }
        tally.crash_count += 1;
        if tally.crashes.len() < LISTED {
            let reduced = if tally.crashes.len() < REDUCED { reduce(driver, file) } else { None };
            let yaml = one_line(&reduced.as_ref().unwrap_or(file).bytes);
            let outcome = outcome.clone();
            tally.crashes.push(Crash { index: *index, outcome, yaml });
        }
    }
}

/// Line of an operator in the report.
fn summary(name: &str, tally: &Tally) -> String {
    let refused: usize = tally.refused.values().sum();
    let harmless: usize = tally.harmless.values().map(|(number, _)| number).sum();
    format!(
        "{name}: {} generated, {} not assembled, {} accepted, {} executed, {refused} refused, {} crash, {} with some inputs; of {} \
         rejected ones {} crash, {harmless} execute",
        tally.generated,
        tally.unassembled,
        tally.accepted,
        tally.executed,
        tally.crash_count,
        tally.dependent,
        tally.rejected_run,
        tally.rejected_crash
    )
}

/// Seed of the environment.
fn seed() -> u64 {
    match std::env::var("PTE_EMIT_CALLS_SEED").as_deref() {
        Ok("fresh") => {
            let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
            Random::new(since.as_nanos() as u64).bits()
        }
        Ok(text) => text.parse().unwrap_or_else(|_| panic!("PTE_EMIT_CALLS_SEED={text} is no number")),
        Err(_) => 1,
    }
}

#[test]
#[ignore = "downloads the ExecuTorch runtime from a package index; run it with `cargo lab --test runtime kernel_calls:: -- --ignored`"]
fn check_rejects_calls_that_crash_the_runtime() {
    let driver = Driver::locate();
    let mut operators = operators();
    if let Ok(part) = std::env::var("PTE_EMIT_CALLS_OF") {
        operators.retain(|(name, _)| name.contains(&part));
    }
    assert!(!operators.is_empty(), "no operator matches PTE_EMIT_CALLS_OF");
    let target = match std::env::var("PTE_EMIT_CALLS").as_deref() {
        Ok("all") => ALL,
        Ok(text) => text.parse().unwrap_or_else(|_| panic!("PTE_EMIT_CALLS={text} is no number")),
        Err(_) => SAMPLE,
    };
    let seed = seed();
    println!("seed {seed}: PTE_EMIT_CALLS_SEED={seed} repeats this run");
    let lists = crate::support::path_of("PTE_EMIT_CALLS_LISTS");
    let next = AtomicUsize::new(0);
    let results = Mutex::new(BTreeMap::new());
    let hook = panic::take_hook();
    panic::set_hook(Box::new(|_| {}));
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                while let Some((name, signature)) = operators.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let found = panic::catch_unwind(AssertUnwindSafe(|| test(&driver, seed, name, signature, target)));
                    let found = found.unwrap_or_else(|panic| {
                        let message = match panic.downcast_ref::<String>() {
                            Some(message) => message.clone(),
                            None => panic.downcast_ref::<&str>().copied().unwrap_or_default().to_owned(),
                        };
                        Tally { failures: vec![format!("{name}: {message}")], ..Tally::default() }
                    });
                    results.lock().unwrap().insert(*name, found);
                }
            });
        }
    });
    panic::set_hook(hook);
    report(&results.into_inner().unwrap(), lists.as_deref());
}

/// Prints and writes the results, and fails for a crash.
fn report(results: &BTreeMap<&'static str, Tally>, lists: Option<&Path>) {
    let (mut all, mut crashes, mut lines) = (Tally::default(), String::new(), String::new());
    for (name, tally) in results {
        all.merge(tally);
        writeln!(lines, "{}", summary(name, tally)).unwrap();
        for crash in &tally.crashes {
            writeln!(crashes, "{name} #{} {} {}", crash.index, crash.outcome, crash.yaml).unwrap();
        }
    }
    let total = summary("all", &all);
    writeln!(lines, "{total}").unwrap();
    writeln!(lines, "accepted, refused by the runtime:").unwrap();
    for (outcome, number) in &all.refused {
        writeln!(lines, "{number:7} {outcome}").unwrap();
    }
    writeln!(lines, "rejected by check, executed by the runtime, by rules:").unwrap();
    for (rules, (number, example)) in &all.harmless {
        writeln!(lines, "{number:7} {rules} {example}").unwrap();
    }
    writeln!(lines, "accepted, crash with some inputs only:").unwrap();
    for (name, tally) in results.iter().filter(|(_, tally)| tally.dependent > 0) {
        writeln!(lines, "{:7} {name} {}", tally.dependent, tally.dependent_example).unwrap();
    }
    match lists {
        Some(folder) => {
            fs::create_dir_all(folder).unwrap();
            fs::write(folder.join("crashes.txt"), &crashes).unwrap();
            fs::write(folder.join("summary.txt"), &lines).unwrap();
            let executing = results.values().flat_map(|tally| tally.executing.iter());
            let executing: String = executing.map(|call| format!("{call}\n")).collect();
            fs::write(folder.join("executing.txt"), executing).unwrap();
            println!("{total}");
        }
        None => println!("{lines}"),
    }
    assert!(all.failures.is_empty(), "{} failures:\n{}", all.failures.len(), all.failures.join("\n"));
    let shown: Vec<&str> = crashes.lines().take(LISTED).collect();
    let allowed = allowed_crashes(all.accepted, std::env::var_os("PTE_EMIT_CALLS_SEED").is_some());
    assert!(all.crash_count <= allowed, "{} accepted calls crash the runtime:\n{}", all.crash_count, shown.join("\n"));
}
