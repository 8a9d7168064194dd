//! Mutation tests of `check`: mutated files run through `check` and the real ExecuTorch runtime. `check` must reject
//! all mutants that crash the runtime with full or minimal verification. Rejected mutants that run with an unchanged
//! result are counted by rule.
//!
//! Runs a sample by default, in about a minute. `PTE_EMIT_MUTANTS=all` runs all mutants, `PTE_EMIT_MUTANTS_OF` those of
//! files whose name contains it, `PTE_EMIT_MUTANTS_LISTS` is a folder for lists of crashing mutants. docs/mutants.md
//! has the figures.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::io::{Seek, Write as _};
use std::panic::{self, AssertUnwindSafe};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

use pte_check::{CheckOptions, DataFile, Findings, RuleSeverity};
use pte_emit::{AssembleOptions, Model};
use pte_model::data::Origin;

use crate::support::{fields, files_below, root, runner};

/// Options of the driver: verification and loader.
const LEVELS: [(&str, &str); 2] = [("full", "apart"), ("minimal", "apart")];

/// Approximate number of mutants in a sample.
const SAMPLE: usize = 24_000;

/// Known crashes that `check` accepts: substring of the file name, substring of the kind of a changed byte, prefix of
/// the outcome, reason. The number of these mutants is printed.
const OPEN: &[(&str, &str, &str, &str)] = &[(
    "buffer_names",
    "Tensor vtable: allocation_info",
    "signal 11 exec",
    "the caller may give memory to state that has a name",
)];

/// File to mutate.
struct Base {
    name: String,
    bytes: Vec<u8>,
    /// Program that uses it, if it is a `.ptd`.
    program: Option<Vec<u8>>,
    /// Other `.ptd` files of the program.
    data: Vec<Vec<u8>>,
}

/// Bytes to change, and length to truncate to.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Mutation {
    changes: Vec<(usize, u8)>,
    length: Option<usize>,
}

impl Mutation {
    fn apply(&self, bytes: &[u8]) -> Vec<u8> {
        let mut bytes = bytes.to_vec();
        for (offset, byte) in &self.changes {
            bytes[*offset] = *byte;
        }
        bytes.truncate(self.length.unwrap_or(usize::MAX));
        bytes
    }

    /// Formats the mutation for the driver.
    fn line(&self) -> String {
        let mut words: Vec<String> = self.changes.iter().map(|(offset, byte)| format!("{offset}={byte}")).collect();
        words.extend(self.length.map(|length| format!("<{length}")));
        words.join(" ")
    }
}

/// Generator splitmix64, for reproducible mutants.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound as u64) as usize
    }

    fn pick<T: Copy>(&mut self, items: &[T]) -> T {
        items[self.below(items.len())]
    }
}

/// All mutants of a file: every byte of the metadata in three ways; pseudorandom pairs of bytes, boundary values,
/// copied ranges, truncations.
fn mutations(bytes: &[u8], names: &[fields::Name], random: &mut Random) -> Vec<Mutation> {
    let offsets: Vec<usize> = (0..names.len()).filter(|at| names[*at].kind != fields::DATA).collect();
    let mut found = BTreeSet::new();
    let mut add = |changes: Vec<(usize, u8)>, length: Option<usize>| {
        let changes: BTreeMap<usize, u8> = changes.into_iter().filter(|(at, byte)| bytes[*at] != *byte).collect();
        if !changes.is_empty() || length.is_some() {
            found.insert(Mutation { changes: changes.into_iter().collect(), length });
        }
    };
    for at in &offsets {
        for byte in [bytes[*at] ^ 0xff, bytes[*at] ^ 1, 0] {
            add(vec![(*at, byte)], None);
        }
    }
    let write =
        |at: usize, value: &[u8]| -> Vec<(usize, u8)> { (at..names.len()).zip(value.iter().copied()).collect() };
    for _ in 0..offsets.len() / 2 {
        let mut one = || {
            let at = random.pick(&offsets);
            let few = [
                0,
                1,
                2,
                3,
                4,
                5,
                6,
                8,
                12,
                16,
                0x7f,
                0x80,
                0xff,
                bytes[at].wrapping_add(1),
                bytes[at].wrapping_sub(1),
            ];
            let byte = if random.below(2) == 0 { random.pick(&few) } else { random.next() as u8 };
            (at, byte)
        };
        add(vec![one(), one()], None);
    }
    for _ in 0..offsets.len() / 2 {
        let at = random.pick(&offsets);
        let (two, four, eight) = (at & !1, at & !3, at & !7);
        let nearby = |random: &mut Random, value: u64| match random.below(3) {
            0 => random.pick(&[
                0,
                1,
                2,
                3,
                4,
                6,
                8,
                12,
                16,
                30,
                0x7fff_ffff,
                0x8000_0000,
                0xffff_ffff,
                1 << 31,
                1 << 40,
                1 << 62,
                u64::MAX,
            ]),
            1 => value.wrapping_add(random.pick(&[1, 2, 4, 8, 16, 32])),
            _ => value.wrapping_sub(random.pick(&[1, 2, 4, 8, 16, 32])),
        };
        let old = |from: usize, len: usize| {
            let mut word = [0; 8];
            let end = bytes.len().min(from + len);
            word[..end - from].copy_from_slice(&bytes[from..end]);
            u64::from_le_bytes(word)
        };
        let changes = match random.below(4) {
            0 => write(two, &(nearby(random, old(two, 2)) as u16).to_le_bytes()),
            1 => write(four, &(nearby(random, old(four, 4)) as u32).to_le_bytes()),
            2 => write(eight, &nearby(random, old(eight, 8)).to_le_bytes()),
            _ => {
                let len = random.pick(&[2, 4, 8, 16]);
                let from = random.pick(&offsets) & !(len - 1);
                write(at & !(len - 1), &bytes[from..bytes.len().min(from + len)])
            }
        };
        add(changes, None);
    }
    for _ in 0..32 {
        let length = random.below(bytes.len());
        // The driver needs at least a header.
        add(Vec::new(), Some(length.max(64)).filter(|length| *length < bytes.len()));
    }
    found.into_iter().collect()
}

fn read(path: &Path) -> Vec<u8> {
    fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn shown(path: &Path) -> String {
    path.strip_prefix(crate::support::root()).unwrap_or(path).display().to_string()
}

/// Files of ExecuTorch and of the assembled examples; each `.ptd` with its program.
fn bases() -> Vec<Base> {
    let mut bases = Vec::new();
    let mut add = |name: &str, program: Vec<u8>, data: Vec<(String, Vec<u8>)>| {
        for (number, (file, bytes)) in data.iter().enumerate() {
            let others = data.iter().enumerate().filter(|(other, _)| *other != number).map(|(_, (_, b))| b.clone());
            let program = Some(program.clone());
            bases.push(Base { name: format!("{name}/{file}"), bytes: bytes.clone(), program, data: others.collect() });
        }
        let data = data.into_iter().map(|(_, bytes)| bytes).collect();
        bases.push(Base { name: name.to_owned(), bytes: program, program: None, data });
    };
    for (folder, extension) in [("bytes", "pte"), ("bundled", "bpte"), ("serializer", "pte")] {
        for path in files_below(&root().join("tests/golden/upstream").join(folder), &[extension]) {
            let data = fs::read_dir(path.parent().unwrap()).unwrap().map(|entry| entry.unwrap().path());
            let mut data: Vec<PathBuf> = data.filter(|path| path.extension().is_some_and(|e| e == "ptd")).collect();
            data.sort();
            let data = data.iter().map(|path| (path.file_name().unwrap().to_string_lossy().into_owned(), read(path)));
            add(&shown(&path), read(&path), data.collect());
        }
    }
    let examples = crate::support::root().join("examples");
    let mut sources: Vec<PathBuf> = fs::read_dir(&examples).unwrap().map(|entry| entry.unwrap().path()).collect();
    sources.retain(|path| path.extension().is_some_and(|e| e == "yaml"));
    sources.sort();
    for path in sources {
        let name = shown(&path);
        let text = fs::read_to_string(&path).unwrap();
        let input = Model::from_yaml(&name, &text, &examples);
        let assemble = |external_data| {
            let overrides = { AssembleOptions::default().external_data(external_data) };
            let assembly = input.assemble(&overrides).unwrap_or_else(|error| panic!("{error}"));
            let data: Vec<(String, Vec<u8>)> = assembly
                .data_files()
                .map(|(tag, file)| (format!("{}.ptd", tag.unwrap_or("default")), file.to_vec().unwrap()))
                .collect();
            (assembly.program_file().unwrap().to_vec().unwrap(), data)
        };
        let (program, data) = assemble(false);
        let external = assemble(true);
        if external.0 != program {
            add(&format!("{name} --external-data"), external.0, external.1);
        }
        add(&name, program, data);
    }
    bases.sort_by_key(|base| base.bytes.len());
    // Equal files are tested once.
    let mut seen = BTreeSet::new();
    bases.retain(|base| seen.insert((base.bytes.clone(), base.program.clone(), base.data.clone())));
    bases
}

/// Outcome of each mutant in the runtime; the first one is that of the unmodified file. `order`: options about
/// executions and methods.
fn run_in_runtime(
    driver: &Path,
    base: &Base,
    level: (&str, &str),
    order: &[&str],
    mutations: &[Mutation],
) -> Vec<String> {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, bytes: &[u8]| {
        let path = folder.path().join(name);
        fs::write(&path, bytes).unwrap();
        path
    };
    let mut lines = tempfile::tempfile().unwrap();
    let text: String = mutations.iter().fold("\n".to_owned(), |text, mutation| text + &mutation.line() + "\n");
    lines.write_all(text.as_bytes()).unwrap();
    lines.rewind().unwrap();
    let mut command = Command::new(driver);
    command.arg(write("base", &base.bytes)).args(["--verify", level.0, "--loader", level.1]).args(order);
    if let Some(program) = &base.program {
        command.arg("--program").arg(write("program", program));
    }
    for (number, data) in base.data.iter().enumerate() {
        command.arg("--data").arg(write(&number.to_string(), data));
    }
    // glibc fills allocations, to detect the use of uninitialized memory.
    command.env("MALLOC_PERTURB_", "165");
    let output = command.stdin(Stdio::from(lines)).stderr(Stdio::inherit()).output().unwrap();
    assert!(output.status.success(), "{}: the driver ended with {}", base.name, output.status);
    let mut answers = vec![String::new(); mutations.len() + 1];
    for line in String::from_utf8(output.stdout).unwrap().lines() {
        let (number, answer) = line.split_once(' ').unwrap();
        answers[number.parse::<usize>().unwrap()] = answer.to_owned();
    }
    assert!(answers.iter().all(|answer| !answer.is_empty()), "{}: missing outcomes of the driver", base.name);
    answers
}

fn crashed(answer: &str) -> bool {
    ["signal", "timeout", "exit"].iter().any(|word| answer.starts_with(word))
}

/// Rules by which `check` rejects these bytes; none if it accepts them. A panic counts as the rule `panic`.
fn rejecting_rules(base: &Base, bytes: Vec<u8>) -> BTreeSet<&'static str> {
    let rules = panic::catch_unwind(AssertUnwindSafe(|| rules_broken(base, bytes)));
    rules.unwrap_or_else(|_| BTreeSet::from(["panic"]))
}

/// Rules of all errors. A `.ptd` is validated alone and with its program, since a crash may depend on both.
fn rules_broken(base: &Base, bytes: Vec<u8>) -> BTreeSet<&'static str> {
    let open = |bytes: &[u8]| DataFile::from_bytes("data", bytes).unwrap();
    let mut options = with_data(base.data.iter().map(|data| open(data)).collect());
    let mut findings = Vec::new();
    if let Some(program) = &base.program {
        findings.push(pte_check::file(&Origin::Bytes(bytes.as_slice().into()), &CheckOptions::default()).unwrap());
        options.with.insert(0, open(&bytes));
        findings.push(pte_check::file(&Origin::Bytes(program.as_slice().into()), &options).unwrap());
    } else {
        findings.push(pte_check::file(&Origin::Bytes(bytes.into()), &options).unwrap());
    }
    let errors = |findings: &Findings| -> Vec<&'static str> {
        let errors = findings.list.iter().filter(|finding| finding.rule.severity <= RuleSeverity::Invalid);
        errors.map(|finding| finding.rule.id.as_str()).collect()
    };
    findings.iter().flat_map(errors).collect()
}

/// Results of the mutants of one file, or of all.
#[derive(Default)]
struct Tally {
    mutants: usize,
    /// Number that crash the runtime, by level.
    crashes: [usize; 2],
    /// Number that crash it at any level.
    crashers: usize,
    /// Crashers that `check` rejects.
    rejected_crashers: usize,
    /// Mutants that `check` accepts.
    accepted: usize,
    /// Accepted mutants that crash the runtime, and other failures.
    failures: Vec<String>,
    /// Accepted mutants that the runtime rejects with an error, by outcome and kind.
    rejected_by_runtime: BTreeMap<String, usize>,
    /// Rejected mutants that run with an unchanged result, by rule: number, number by this rule alone, example.
    harmless: BTreeMap<&'static str, (usize, usize, String)>,
    /// Crashers rejected by exactly one rule, by that rule.
    needed: BTreeMap<&'static str, usize>,
    /// Accepted crashers in [`OPEN`], by reason.
    open: BTreeMap<&'static str, usize>,
    notes: Vec<String>,
    crash_list: String,
}

impl Tally {
    fn merge(&mut self, other: Tally) {
        self.mutants += other.mutants;
        for (sum, number) in self.crashes.iter_mut().zip(other.crashes) {
            *sum += number;
        }
        self.crashers += other.crashers;
        self.rejected_crashers += other.rejected_crashers;
        self.accepted += other.accepted;
        self.failures.extend(other.failures);
        for (key, number) in other.rejected_by_runtime {
            *self.rejected_by_runtime.entry(key).or_default() += number;
        }
        for (rule, (all, alone, example)) in other.harmless {
            let entry = self.harmless.entry(rule).or_default();
            entry.0 += all;
            entry.1 += alone;
            if entry.2.is_empty() {
                entry.2 = example;
            }
        }
        for (rule, number) in other.needed {
            *self.needed.entry(rule).or_default() += number;
        }
        for (reason, number) in other.open {
            *self.open.entry(reason).or_default() += number;
        }
        self.notes.extend(other.notes);
    }
}

/// Description of a mutant.
fn describe(base: &Base, names: &[fields::Name], mutation: &Mutation) -> String {
    let mut text = base.name.clone();
    for (at, byte) in &mutation.changes {
        let name = &names[*at];
        let kind = if name.kind.is_empty() { "padding" } else { &name.kind };
        write!(text, " | {at:#x}: {:02x}->{byte:02x} {kind} ({})", base.bytes[*at], name.path).unwrap();
    }
    if let Some(length) = mutation.length {
        write!(text, " | truncated to {length}").unwrap();
    }
    text
}

/// Reason in [`OPEN`] for accepting a mutant that crashes.
fn open(base: &Base, names: &[fields::Name], mutation: &Mutation, outcomes: [&str; 2]) -> Option<&'static str> {
    let is = |(file, kind, outcome, _): &&(&str, &str, &str, &str)| {
        base.name.contains(file)
            && mutation.changes.iter().any(|(at, _)| names[*at].kind.contains(kind))
            && outcomes.iter().all(|answer| !crashed(answer) || answer.starts_with(outcome))
    };
    OPEN.iter().find(is).map(|(.., reason)| *reason)
}

/// Runs the mutants of a file.
fn test(driver: &Path, base: &Base, keep_one_in: usize) -> Tally {
    let names = fields::of(&base.bytes);
    let mut random = Random(base.bytes.len() as u64);
    let mut mutations = mutations(&base.bytes, &names, &mut random);
    mutations.retain(|_| random.below(keep_one_in) == 0);
    let answers = LEVELS.map(|level| run_in_runtime(driver, base, level, &[], &mutations));
    let mut found = Tally { mutants: mutations.len(), ..Tally::default() };
    let unchanged = rejecting_rules(base, base.bytes.clone());
    let unchanged_runs = answers.iter().all(|answers| answers[0].starts_with("ok"));
    if !unchanged_runs || !unchanged.is_empty() {
        let outcomes: Vec<&str> = answers.iter().map(|answers| answers[0].as_str()).collect();
        found.notes.push(format!("{}: outcomes {outcomes:?}, rules {unchanged:?}", base.name));
    }
    if unchanged_runs && !unchanged.is_empty() {
        found.failures.push(format!("{}: runs, but check rejects it: {unchanged:?}", base.name));
    }
    for (number, mutation) in mutations.iter().enumerate() {
        let outcomes = [0, 1].map(|level: usize| answers[level][number + 1].as_str());
        let rules = rejecting_rules(base, mutation.apply(&base.bytes));
        // Not counted if the unmodified file crashes in the same way.
        let crashes = [0, 1].map(|level: usize| crashed(outcomes[level]) && outcomes[level] != answers[level][0]);
        let describe = || format!("{} -> {outcomes:?}", describe(base, &names, mutation));
        for (sum, crash) in found.crashes.iter_mut().zip(crashes) {
            *sum += usize::from(crash);
        }
        if rules.contains("panic") {
            found.failures.push(format!("check panics: {}", describe()));
        }
        if rules.is_empty() {
            found.accepted += 1;
        }
        if crashes.contains(&true) {
            found.crashers += 1;
            writeln!(found.crash_list, "{} {rules:?}", describe()).unwrap();
            if rules.is_empty() {
                match open(base, &names, mutation, outcomes) {
                    Some(reason) => *found.open.entry(reason).or_default() += 1,
                    None => found.failures.push(format!("accepted: {}", describe())),
                }
            } else {
                found.rejected_crashers += 1;
                if rules.len() == 1 {
                    *found.needed.entry(rules.first().unwrap()).or_default() += 1;
                }
            }
        } else if unchanged_runs && rules.is_empty() && outcomes.iter().any(|answer| !answer.starts_with("ok")) {
            let kinds: Vec<&str> = mutation.changes.iter().map(|(at, _)| names[*at].kind.as_str()).collect();
            *found.rejected_by_runtime.entry(format!("{outcomes:?}: {kinds:?}")).or_default() += 1;
        } else if unchanged_runs && [0, 1].iter().all(|level: &usize| outcomes[*level] == answers[*level][0]) {
            for rule in &rules {
                let entry = found.harmless.entry(rule).or_default();
                entry.0 += 1;
                if rules.len() == 1 {
                    entry.1 += 1;
                    if entry.2.is_empty() {
                        entry.2 = describe();
                    }
                }
            }
        }
    }
    found
}

fn report(found: &Tally) -> String {
    let mut text = String::new();
    let add = |text: &mut String, line: String| {
        text.push_str(&line);
        text.push('\n');
    };
    for note in &found.notes {
        add(&mut text, format!("note: {note}"));
    }
    add(&mut text, "accepted by check, rejected by the runtime with an error:".into());
    let mut rejected: Vec<_> = found.rejected_by_runtime.iter().collect();
    rejected.sort_by_key(|(_, number)| std::cmp::Reverse(**number));
    for (what, number) in rejected.into_iter().take(60) {
        add(&mut text, format!("{number:7} {what}"));
    }
    add(&mut text, "rejected by check, unchanged result in the runtime (all, by this rule alone):".into());
    for (rule, (all, alone, example)) in &found.harmless {
        add(&mut text, format!("{all:7} {alone:7} {rule:8} {example}"));
    }
    add(&mut text, "crashes rejected by only one rule:".into());
    for (rule, number) in &found.needed {
        add(&mut text, format!("{number:7} {rule}"));
    }
    add(&mut text, "accepted by check, known crashes:".into());
    for (reason, number) in &found.open {
        add(&mut text, format!("{number:7} {reason}"));
    }
    add(
        &mut text,
        format!(
            "{} mutants; {} crash the runtime with full verification, {} with minimal, {} with either; check rejects {} of \
             these; it accepts {} in total",
            found.mutants, found.crashes[0], found.crashes[1], found.crashers, found.rejected_crashers, found.accepted
        ),
    );
    text
}

#[test]
#[ignore = "downloads the ExecuTorch runtime from a package index; run it with `cargo lab --test runtime -- --ignored mutants::check mutants::accepted_files`"]
fn check_rejects_files_that_crash_the_runtime() {
    let driver = runner::locate().with_file_name("mutants");
    let mut bases = bases();
    let all = std::env::var("PTE_EMIT_MUTANTS").is_ok_and(|value| value == "all");
    if let Ok(part) = std::env::var("PTE_EMIT_MUTANTS_OF") {
        bases.retain(|base| base.name.contains(&part));
    }
    assert!(!bases.is_empty(), "no file matches PTE_EMIT_MUTANTS_OF");
    let lists = crate::support::path_of("PTE_EMIT_MUTANTS_LISTS");
    // About five mutants per byte.
    let bytes: usize = bases.iter().map(|base| fields::of(&base.bytes).len()).sum();
    let keep_one_in = if all { 1 } else { (5 * bytes / SAMPLE).max(1) };
    let next = AtomicUsize::new(0);
    let sum = Mutex::new(Tally::default());
    let bases = Arc::new(bases);
    let hook = panic::take_hook();
    panic::set_hook(Box::new(|_| {}));
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                while let Some(base) = bases.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let found = panic::catch_unwind(AssertUnwindSafe(|| test(&driver, base, keep_one_in)));
                    let found = found.unwrap_or_else(|panic| {
                        let message = panic.downcast_ref::<String>().cloned().unwrap_or_default();
                        Tally { failures: vec![format!("{}: {message}", base.name)], ..Tally::default() }
                    });
                    if let Some(folder) = &lists {
                        fs::create_dir_all(folder).unwrap();
                        let file = base.name.replace(['/', ' '], "_") + ".txt";
                        fs::write(folder.join(file), &found.crash_list).unwrap();
                    }
                    sum.lock().unwrap().merge(found);
                }
            });
        }
    });
    panic::set_hook(hook);
    let found = sum.into_inner().unwrap();
    println!("{}{} files", report(&found), bases.len());
    let shown = found.failures.len().min(if all { usize::MAX } else { 100 });
    // Detects a driver that does not run the mutants.
    let part = std::env::var_os("PTE_EMIT_MUTANTS_OF").is_some();
    assert!(found.mutants >= 15_000 || part, "{} mutants", found.mutants);
    assert!(found.crashers >= 2500 || part, "{} mutants that crash the runtime", found.crashers);
    assert!(found.failures.is_empty(), "{} failures:\n{}", found.failures.len(), found.failures[..shown].join("\n"));
}

/// Executions of each method, one method after another, in both orders.
const ORDERS: [[&str; 4]; 2] =
    [["--executions", "3", "--methods", "forward"], ["--executions", "3", "--methods", "backward"]];

#[test]
#[ignore = "downloads the ExecuTorch runtime from a package index; run it with `cargo lab --test runtime -- --ignored mutants::check mutants::accepted_files`"]
fn accepted_files_run_several_times() {
    let driver = runner::locate().with_file_name("mutants");
    let mut failures = String::new();
    let (mut accepted, mut executed) = (0, 0);
    for base in bases() {
        if !rejecting_rules(&base, base.bytes.clone()).is_empty() {
            continue;
        }
        let once = &run_in_runtime(&driver, &base, LEVELS[0], &[], &[])[0];
        accepted += 1;
        executed += usize::from(once.starts_with("ok"));
        for order in ORDERS {
            let answer = &run_in_runtime(&driver, &base, LEVELS[0], &order, &[])[0];
            // Not counted if one execution ends in the same way.
            if answer != once && (crashed(answer) || once.starts_with("ok") && !answer.starts_with("ok")) {
                writeln!(failures, "{}: {once}; {order:?}: {answer}", base.name).unwrap();
            }
        }
    }
    println!("{accepted} accepted files, of which {executed} execute without an error");
    assert_eq!(failures, "");
    assert!(executed > 100, "{executed} files");
    // The driver detects what only a second execution does.
    let path = root().join("examples/malformed/int_replaced_for_the_next_execution.yaml");
    let source = Model::open(&path).unwrap();
    let assembly = source.assemble(&AssembleOptions::default()).unwrap();
    let bytes = assembly.program_file().unwrap().to_vec().unwrap();
    let base = Base { name: shown(&path), bytes, program: None, data: Vec::new() };
    let answers = [&[][..], &ORDERS[0]].map(|order| run_in_runtime(&driver, &base, LEVELS[0], order, &[]).remove(0));
    assert!(answers[0].starts_with("ok") && answers[1].starts_with("signal 6"), "{answers:?}");
}

/// Options of validation with these `.ptd` files.
fn with_data(with: Vec<DataFile>) -> CheckOptions {
    CheckOptions::default().with(with)
}
