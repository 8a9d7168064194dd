//! `pte-emit memory` against the real runtime: sizes of the pools, and what loading takes from the method allocator, to the byte.
//!
//! The comparison is ignored by default, since it downloads the runtime: `cargo test --test memory -- --ignored`. It takes all programs that
//! ExecuTorch wrote, the examples, and those in the folder `PTE_EMIT_PROGRAMS`.

mod support;

use std::path::{Path, PathBuf};
use std::process::Command;

use pte_emit::{Abi, MemoryOptions, Options, Source, assemble, memory};
use serde_json::Value;
use support::runner;

/// Memory of a program, as JSON; `None` if the file cannot be read.
fn computed(source: &Source<'_>, abi: Abi, external: bool) -> Option<Value> {
    let mut options = MemoryOptions::default();
    (options.abi, options.external) = (abi, external);
    let memory = memory(source, &options).ok()?;
    Some(serde_json::from_str(&memory.json()).expect("JSON"))
}

/// Figures of the runtime built for 64-bit x86 and for 32-bit Arm.
#[test]
fn the_method_allocator_of_both_abis() {
    for (name, bits64, arm32) in [
        ("add", 384, 240),
        ("linear", 888, 564),
        ("nested", 896, 532),
        ("stateful_init", 872, 520),
        ("index", 936, 596),
        ("conv_dyn", 3104, 2080),
    ] {
        let path = PathBuf::from(format!("tests/golden/upstream/bytes/{name}/model.pte"));
        let source = Source::open(&path).expect("a golden file");
        for (abi, expected) in [(Abi::Bits64, bits64), (Abi::Arm32, arm32)] {
            let memory = computed(&source, abi, false).expect("a valid file");
            assert_eq!(memory["methods"][0]["method_allocator"]["bytes"], expected, "{name} {abi:?}");
        }
    }
}

/// A plan has room for all that is alive, and its timeline covers all instructions.
#[test]
fn no_pool_is_smaller_than_what_is_alive() {
    let examples = std::fs::read_dir("examples").expect("the examples").map(|entry| entry.expect("an entry").path());
    let mut pools = 0;
    for path in examples.filter(|path| path.extension().is_some_and(|extension| extension == "yaml")) {
        let Ok(source) = Source::open(&path) else { continue };
        let Some(memory) = computed(&source, Abi::Bits64, false) else { continue };
        for method in memory["methods"].as_array().expect("methods") {
            let instructions = method["instructions"].as_array().expect("instructions").len();
            for pool in method["pools"].as_array().expect("pools") {
                let number = |key: &str| pool[key].as_u64().expect("a number");
                assert!(number("lower_bound") <= number("bytes"), "{}: {pool}", path.display());
                let timeline = pool["timeline"].as_array().expect("a timeline");
                assert_eq!(timeline.len(), instructions + 2, "{}", path.display());
                let most = timeline.iter().filter_map(Value::as_u64).max();
                assert_eq!(most, Some(number("lower_bound")), "{}", path.display());
                pools += 1;
            }
        }
    }
    assert!(pools > 30, "{pools} pools");
}

/// All `.pte` files in a folder and those below it, in order.
fn pte_files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry").path()).collect();
    paths.sort();
    let of_path = |path: PathBuf| match path.is_dir() {
        true => pte_files(&path),
        false => vec![path],
    };
    let files = paths.into_iter().flat_map(of_path);
    files.filter(|path| path.extension().is_some_and(|extension| extension == "pte")).collect()
}

/// What the runtime says about a method.
struct Loaded {
    name: String,
    pools: Vec<u64>,
    /// Bytes with and without a temporary allocator; `None` if it cannot be loaded.
    used: Option<[u64; 2]>,
}

/// Loads all methods of a program. `None` if the runtime rejects the program.
fn loaded(judge: &Path, pte: &Path, ptd: Option<&Path>) -> Option<Vec<Loaded>> {
    let mut command = Command::new(judge);
    command.arg(pte);
    if let Some(ptd) = ptd {
        command.arg("--data").arg(ptd);
    }
    let output = command.output().expect("the judge starts");
    // A broken program crashes it; what it printed before does not count.
    if output.status.code() != Some(0) {
        return None;
    }
    let mut methods: Vec<Loaded> = Vec::new();
    for line in String::from_utf8(output.stdout).expect("UTF-8").lines() {
        let (what, rest) = line.split_once(' ').unwrap_or((line, ""));
        let numbers = || rest.split(' ').map(str::parse).collect::<Result<Vec<u64>, _>>().ok();
        match (what, methods.last_mut()) {
            ("method", _) => methods.push(Loaded { name: rest.to_owned(), pools: Vec::new(), used: None }),
            ("pools", Some(method)) => method.pools = numbers().unwrap_or_default(),
            ("used", Some(method)) => method.used = numbers().and_then(|used| used.try_into().ok()),
            _ => {}
        }
    }
    Some(methods)
}

/// Compares a program with the runtime. Returns the number of methods that were compared.
fn compare(judge: &Path, pte: &Path, ptd: Option<&Path>, failures: &mut Vec<String>) -> usize {
    let Some(methods) = loaded(judge, pte, ptd) else { return 0 };
    let Some(memory) = Source::open(pte).ok().and_then(|source| computed(&source, Abi::Bits64, ptd.is_some())) else {
        failures.push(format!("{}: the runtime loads it", pte.display()));
        return 0;
    };
    let mut compared = 0;
    for Loaded { name, pools, used } in methods {
        let all = memory["methods"].as_array().expect("methods");
        let Some(method) = all.iter().find(|method| method["name"] == *name) else { continue };
        let planned: u64 = pools.iter().sum();
        if method["planned"] != planned {
            failures.push(format!("{}, {name}: planned {planned}, not {}", pte.display(), method["planned"]));
        }
        let allocator = &method["method_allocator"];
        let Some(used) = used.filter(|_| allocator["at_least"] == false) else { continue };
        compared += 1;
        for (key, expected) in ["bytes", "without_temporary_allocator"].iter().zip(used) {
            if allocator[key] != expected {
                failures.push(format!("{}, {name}: {key} {expected}, not {}", pte.display(), allocator[key]));
            }
        }
    }
    compared
}

#[test]
#[ignore = "downloads the ExecuTorch runtime"]
fn the_runtime_takes_as_much() {
    let judge = runner::locate().with_file_name("memory");
    let mut failures = Vec::new();
    let mut compared = 0;
    let mut folders = vec![PathBuf::from("tests/golden/upstream")];
    folders.extend(std::env::var_os("PTE_EMIT_PROGRAMS").map(PathBuf::from));
    for folder in &folders {
        for pte in pte_files(folder) {
            let ptd = pte.with_extension("ptd");
            compared += compare(&judge, &pte, ptd.exists().then_some(&ptd), &mut failures);
        }
    }
    let temporary = tempfile::tempdir().expect("there is room");
    let examples = std::fs::read_dir("examples").expect("the examples").map(|entry| entry.expect("an entry").path());
    for path in examples.filter(|path| path.extension().is_some_and(|extension| extension == "yaml")) {
        let Ok(assembly) = Source::open(&path).and_then(|source| assemble(&source, &Options::default())) else {
            continue;
        };
        if assembly.program_file().is_none() {
            continue;
        }
        let folder = temporary.path().join(path.file_stem().expect("a name"));
        std::fs::create_dir(&folder).expect("there is room");
        let (pte, ptds) = support::files::write(&assembly, &folder).expect("there is room");
        if ptds.len() < 2 {
            compared += compare(&judge, &pte, ptds.first().map(PathBuf::as_path), &mut failures);
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    assert!(compared > 100, "only {compared} methods were compared");
    println!("{compared} methods compared");
}
