//! Runs of structured mutants: made, checked and, if `check` accepts them, executed in the real runtime, until enough
//! are accepted.
//!
//! How a file is changed is up to the tests.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::panic::{self, AssertUnwindSafe};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use pte_check::{CheckOptions, DataFile, RuleSeverity};
use pte_generate::random::Random;
use pte_model::data::Origin;

use super::driver::{Driver, allowed_crashes, crashed};
use super::{files_below, root};

/// Largest file that is mutated, in bytes: it is written for each mutant.
const MAX_FILE: usize = 1 << 17;

/// Accepted mutants between two lines of progress.
const PROGRESS: usize = 10_000;

/// A refused mutant in this many is run.
const REFUSED: usize = 6;

/// A valid file with a way to change it.
pub trait Subject: Sync {
    fn name(&self) -> &str;

    fn bytes(&self) -> &[u8];

    /// `.ptd` files of the program.
    fn data(&self) -> &[Vec<u8>];

    /// Returns a changed file, and what was changed; `None` if it cannot be written.
    fn mutant(&self, random: &mut Random) -> Option<(Vec<u8>, String)>;
}

/// A program to mutate.
pub struct ProgramFile {
    pub name: String,
    pub bytes: Vec<u8>,
    /// `.ptd` files of the program.
    pub data: Vec<Vec<u8>>,
}

/// Programs of the repository and of the folder in `PTE_EMIT_PROGRAMS` that `check` accepts, each once.
pub fn programs() -> Vec<ProgramFile> {
    let mut files = files_below(&root().join("tests/golden/upstream"), &["pte"]);
    if let Some(folder) = std::env::var_os("PTE_EMIT_PROGRAMS") {
        files.extend(files_below(Path::new(&folder), &["pte"]));
    }
    let mut programs = Vec::new();
    let mut seen = BTreeSet::new();
    for path in files {
        let bytes = fs::read(&path).unwrap();
        if bytes.len() > MAX_FILE || !seen.insert(bytes.clone()) {
            continue;
        }
        let stem = path.file_stem().unwrap().to_string_lossy().into_owned();
        let data = files_below(path.parent().unwrap(), &["ptd"]);
        let named = data.iter().filter(|path| path.file_name().unwrap().to_string_lossy().starts_with(&stem));
        let read =
            |paths: Vec<&PathBuf>| -> Vec<Vec<u8>> { paths.iter().map(|path| fs::read(path).unwrap()).collect() };
        // The `.ptd` files of the program, if it needs any.
        let sets = [Vec::new(), read(named.collect()), read(data.iter().collect())];
        let Some(data) = sets.into_iter().find(|data| errors(&bytes, data).is_empty()) else { continue };
        let name = path.strip_prefix(root()).unwrap_or(&path).display().to_string();
        programs.push(ProgramFile { name, bytes, data });
    }
    programs
}

/// Errors of `check`: rule, and what was found. A panic counts as the rule `panic`.
pub fn errors(bytes: &[u8], data: &[Vec<u8>]) -> Vec<(&'static str, String)> {
    let open = |bytes: &Vec<u8>| DataFile::from_bytes("data", bytes).unwrap();
    let options = with_data(data.iter().map(open).collect());
    let findings = || pte_check::file(&Origin::Bytes(bytes.into()), &options).unwrap();
    let Ok(findings) = panic::catch_unwind(AssertUnwindSafe(findings)) else {
        return vec![("panic", String::new())];
    };
    let errors = findings.list.iter().filter(|finding| finding.rule.severity <= RuleSeverity::Invalid);
    errors.map(|finding| (finding.rule.id.as_str(), finding.found.clone())).collect()
}

/// Options of the driver for a mutant.
pub const OPTIONS: [&str; 4] = ["--executions", "2", "--content", "mixed"];

/// Outcome of an accepted file with other contents of inputs: `true` if it crashes with these, too.
pub fn also_crashes(driver: &Driver, file: &[u8], data: &[Vec<u8>], contents: &[&str]) -> bool {
    let run = |content: &&str| driver.run(&[file], data, &[&OPTIONS[..3], &[*content]].concat());
    contents.iter().all(|content| crashed(&run(content)[0]))
}

/// Properties of a test with structured mutants.
pub struct Run {
    /// Prefix of the names of its variables.
    pub variables: &'static str,
    /// Accepted mutants in a sample.
    pub sample: usize,
    /// Mutants of one file that are made, checked and run together.
    pub batch: usize,
    /// Contents of inputs with which a mutant also has to crash; one that does not is counted apart.
    pub also_crashes_with: &'static [&'static str],
    /// Known crashes: substring of the file name, prefix of the outcome, reason. Their number is printed.
    pub open: &'static [(&'static str, &'static str, &'static str)],
}

/// Results.
#[derive(Default)]
struct Tally {
    mutants: usize,
    accepted: usize,
    /// Accepted mutants that the runtime executes.
    executed: usize,
    /// Accepted mutants that the runtime rejects, by outcome.
    rejected_by_runtime: BTreeMap<String, usize>,
    /// Accepted mutants that crash, and panics of `check`.
    crashes: Vec<String>,
    /// Accepted mutants that crash with some inputs only.
    dependent: Vec<String>,
    /// Known crashes, by reason.
    open: BTreeMap<&'static str, usize>,
    /// Refused mutants that were run.
    refused: usize,
    /// Those of them that run, by rule: number and examples.
    harmless: BTreeMap<&'static str, (usize, Vec<String>)>,
}

impl Tally {
    fn merge(&mut self, other: Tally) {
        self.mutants += other.mutants;
        self.accepted += other.accepted;
        self.executed += other.executed;
        self.refused += other.refused;
        self.crashes.extend(other.crashes);
        self.dependent.extend(other.dependent);
        for (key, number) in other.open {
            *self.open.entry(key).or_default() += number;
        }
        for (key, number) in other.rejected_by_runtime {
            *self.rejected_by_runtime.entry(key).or_default() += number;
        }
        for (key, (number, examples)) in other.harmless {
            let entry = self.harmless.entry(key).or_default();
            entry.0 += number;
            entry.1.extend(examples);
        }
    }

    fn report(&self) -> String {
        let mut text = String::new();
        let Tally { mutants, accepted, executed, .. } = self;
        let (crash, dependent) = (self.crashes.len(), self.dependent.len());
        writeln!(
            text,
            "{mutants} mutants, {accepted} accepted, {executed} executed, {crash} crash, {dependent} with some inputs"
        )
        .unwrap();
        writeln!(text, "accepted, but rejected by the runtime: {:?}", self.rejected_by_runtime).unwrap();
        writeln!(text, "accepted, known crashes: {:?}", self.open).unwrap();
        writeln!(text, "accepted, crash:").unwrap();
        self.crashes.iter().take(100).for_each(|line| writeln!(text, "          {line}").unwrap());
        writeln!(text, "accepted, crash with some inputs only:").unwrap();
        self.dependent.iter().take(40).for_each(|line| writeln!(text, "          {line}").unwrap());
        writeln!(text, "refused, of {} that were run the runtime executes:", self.refused).unwrap();
        for (rule, (number, examples)) in &self.harmless {
            writeln!(text, "{number:7} {rule}").unwrap();
            for example in examples.iter().take(40) {
                writeln!(text, "          {example}").unwrap();
            }
        }
        text
    }
}

impl Run {
    /// A number in the environment.
    pub fn variable(&self, name: &str) -> Option<u64> {
        let name = format!("{}_{name}", self.variables);
        Some(std::env::var(&name).ok()?.parse().unwrap_or_else(|_| panic!("{name} is a number")))
    }

    /// Runs mutants of all subjects in turn, and fails if too many of those that `check` accepts crash the runtime.
    pub fn test(&self, subjects: &[impl Subject]) {
        let driver = Driver::locate();
        let seed = self.variable("SEED").unwrap_or(1);
        let target = self.variable("ACCEPTED").map_or(self.sample, |number| number as usize);
        println!("seed {seed}");
        let (next, accepted, sum) = (AtomicUsize::new(0), AtomicUsize::new(0), Mutex::new(Tally::default()));
        thread::scope(|scope| {
            for _ in 0..thread::available_parallelism().map_or(1, usize::from) {
                scope.spawn(|| {
                    while accepted.load(Ordering::Relaxed) < target {
                        let number = next.fetch_add(1, Ordering::Relaxed);
                        let mut random = Random::of_item(seed, number as u64);
                        // All in turn, from one that depends on the seed.
                        let subject = &subjects[(number + seed as usize % subjects.len()) % subjects.len()];
                        let found = self.batch(&driver, subject, &mut random);
                        let before = accepted.fetch_add(found.accepted, Ordering::Relaxed);
                        let mut sum = sum.lock().unwrap();
                        sum.merge(found);
                        if before / PROGRESS != accepted.load(Ordering::Relaxed) / PROGRESS {
                            println!("{} accepted, {} crash", sum.accepted, sum.crashes.len());
                        }
                    }
                });
            }
        });
        let found = sum.into_inner().unwrap();
        println!("{}", found.report());
        let allowed = allowed_crashes(found.accepted, self.variable("SEED").is_some());
        assert!(found.crashes.len() <= allowed, "{} crash, {allowed} may: they are listed above", found.crashes.len());
    }

    fn batch(&self, driver: &Driver, subject: &impl Subject, random: &mut Random) -> Tally {
        let mut found = Tally::default();
        let (mut files, mut described) = (vec![subject.bytes().to_vec()], Vec::new());
        for _ in 0..self.batch {
            let Some((bytes, steps)) = subject.mutant(random) else { continue };
            if bytes == files[0] {
                continue;
            }
            found.mutants += 1;
            let errors = errors(&bytes, subject.data());
            if errors.is_empty() || random.below(REFUSED) == 0 {
                found.accepted += usize::from(errors.is_empty());
                found.refused += usize::from(!errors.is_empty());
                files.push(bytes);
                described.push((steps, errors));
            }
        }
        let run = |files: &[&[u8]], options: &[&str]| driver.run(files, subject.data(), options);
        let all: Vec<&[u8]> = files.iter().map(|file| &**file).collect();
        let answers = run(&all, &OPTIONS);
        let unchanged = errors(subject.bytes(), subject.data());
        if !answers[0].starts_with("ok") || !unchanged.is_empty() {
            found.crashes.push(format!("{}: the unmodified file: {}, {unchanged:?}", subject.name(), answers[0]));
            return found;
        }
        for ((file, answer), (steps, errors)) in all[1..].iter().zip(&answers[1..]).zip(&described) {
            let line = || format!("{}: {steps}", subject.name());
            match errors.first() {
                Some(("panic", _)) => {
                    found.crashes.push(format!("check panics: {}{}", line(), self.keep("", file, random)))
                }
                None if crashed(answer) => {
                    let known = |(file, outcome, _): &&(&str, &str, &str)| {
                        subject.name().contains(file) && answer.starts_with(outcome)
                    };
                    if let Some((.., reason)) = self.open.iter().find(known) {
                        *found.open.entry(reason).or_default() += 1;
                        continue;
                    }
                    let always = also_crashes(driver, file, subject.data(), self.also_crashes_with);
                    let list = if always { &mut found.crashes } else { &mut found.dependent };
                    let prefix = if always { "" } else { "dependent-" };
                    list.push(format!("{} -> {answer}{}", line(), self.keep(prefix, file, random)));
                }
                None if answer.starts_with("ok") => found.executed += 1,
                None => *found.rejected_by_runtime.entry(answer.clone()).or_default() += 1,
                Some((rule, message)) if answer.starts_with("ok") => {
                    let entry = found.harmless.entry(rule).or_default();
                    entry.0 += 1;
                    if errors.len() == 1 && entry.1.len() < 3 {
                        entry.1.push(format!("{}: {message}", line()));
                    }
                }
                Some(_) => {}
            }
        }
        found
    }

    /// Writes a mutant to the folder of the environment, if there is one; returns its name for a message.
    fn keep(&self, prefix: &str, file: &[u8], random: &mut Random) -> String {
        let Some(folder) = std::env::var_os(format!("{}_KEEP", self.variables)) else { return String::new() };
        fs::create_dir_all(&folder).unwrap();
        let name = format!("{prefix}{:016x}.pte", random.bits());
        fs::write(Path::new(&folder).join(&name), file).unwrap();
        format!(" [{name}]")
    }
}

/// Options of validation with these `.ptd` files.
fn with_data(with: Vec<DataFile>) -> CheckOptions {
    CheckOptions::default().with(with)
}
