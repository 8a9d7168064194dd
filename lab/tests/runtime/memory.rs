//! `pte-emit memory` against the real runtime: sizes of the pools, what loading takes from the method allocator, and
//! bytes of files in memory, to the byte; and the inputs and outputs that `inspect` prints against its `MethodMeta`.
//!
//! The comparison is ignored by default, since it downloads the runtime: `cargo lab --test runtime memory:: --
//! --ignored`. It takes all programs that ExecuTorch wrote, the examples, and those in the folder `PTE_EMIT_PROGRAMS`.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::runner;
use pte_emit::{
    AssembleOptions, Model,
    memory::{Abi, MemoryOptions},
};
use serde_json::Value;

/// Memory of a program, as JSON; `None` if the file cannot be read.
fn computed(source: &Model, abi: Abi, ptd: Option<&Path>) -> Option<Value> {
    let memory = source.clone().with_data_files(ptd).memory(&MemoryOptions::default().abi(abi)).ok()?;
    Some(serde_json::to_value(memory).expect("JSON"))
}

/// What the runtime says about a method.
struct Loaded {
    name: String,
    pools: Vec<u64>,
    /// Bytes with and without a temporary allocator; `None` if it cannot be loaded.
    used: Option<[u64; 2]>,
    /// Bytes of files in memory: as long as the method, and in addition while it is loaded.
    held: [u64; 2],
    /// What `MethodMeta` says of each input and of each output.
    ends: [Vec<String>; 2],
}

/// Element type and sizes of a tensor of `MethodMeta`, as `inspect` prints them; `None` for other values.
fn described(end: &str) -> Option<String> {
    let (tensor, _) = end.strip_prefix("tensor ")?.split_once(" bytes ")?;
    let mut numbers = tensor.split(' ');
    let code: i8 = numbers.next()?.parse().ok()?;
    Some(format!("{} [{}]", pte_model::format::ScalarType(code), numbers.collect::<Vec<_>>().join(", ")))
}

/// Compares inputs and outputs. Returns the number of tensors that were compared.
fn compare_ends(pte: &Path, methods: &[Loaded], failures: &mut Vec<String>) -> usize {
    let source = Model::open(pte).expect("the runtime reads it");
    let files = source.inspect(&pte_emit::inspect::InspectOptions::default()).expect("the runtime reads it");
    let document: Value = serde_json::to_value(&files[0].1).expect("JSON");
    let mut compared = 0;
    for Loaded { name, ends, .. } in methods {
        let all = document["methods"].as_array().expect("methods");
        if let Some(values) = document["constant_methods"].get(name) {
            let count = values.as_array().expect("values").len();
            if (ends[0].len(), ends[1].len()) != (0, count) {
                failures.push(format!("{}, {name}: {ends:?}, not {values}", pte.display()));
            }
            continue;
        }
        let Some(method) = all.iter().find(|method| method["name"] == **name) else {
            failures.push(format!("{}: no method {name}", pte.display()));
            continue;
        };
        for (key, ends) in ["inputs", "outputs"].into_iter().zip(ends) {
            let found = method[key].as_array().expect("a list");
            let is_alike = |(end, found): (&String, &Value)| {
                let kind = found["type"].as_str().expect("a type").replace("<=", "");
                described(end).is_none_or(|expected| expected == kind)
            };
            compared += ends.iter().filter_map(|end| described(end)).count();
            if found.len() != ends.len() || !ends.iter().zip(found).all(is_alike) {
                failures.push(format!("{}, {name}: {key} {ends:?}, not {}", pte.display(), method[key]));
            }
        }
    }
    compared
}

/// Loads all methods of a program. Returns the bytes of files in memory as long as the program, and the methods; `None`
/// if the runtime rejects the program.
fn loaded(judge: &Path, pte: &Path, ptd: Option<&Path>) -> Option<(u64, Vec<Loaded>)> {
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
    let mut files = 0;
    for line in String::from_utf8(output.stdout).expect("UTF-8").lines() {
        let (what, rest) = line.split_once(' ').unwrap_or((line, ""));
        let numbers = || rest.split(' ').map(str::parse).collect::<Result<Vec<u64>, _>>().ok();
        match (what, methods.last_mut()) {
            ("method", _) => {
                let (pools, ends) = (Vec::new(), Default::default());
                methods.push(Loaded { name: rest.to_owned(), pools, used: None, held: [0; 2], ends });
            }
            ("input" | "output", Some(method)) => {
                let (_, end) = rest.split_once(' ').unwrap_or_default();
                method.ends[usize::from(what == "output")].push(end.to_owned());
            }
            ("pools", Some(method)) => method.pools = numbers().unwrap_or_default(),
            ("used", Some(method)) => method.used = numbers().and_then(|used| used.try_into().ok()),
            ("held", Some(method)) => method.held = numbers().and_then(|held| held.try_into().ok()).unwrap_or_default(),
            ("files", None) => files = numbers().expect("a number")[0],
            _ => {}
        }
    }
    Some((files, methods))
}

/// Compares a program with the runtime. Returns the number of methods and of inputs and outputs that were compared.
fn compare(judge: &Path, pte: &Path, ptd: Option<&Path>, failures: &mut Vec<String>) -> [usize; 2] {
    let Some((files, methods)) = loaded(judge, pte, ptd) else { return [0; 2] };
    let ends = compare_ends(pte, &methods, failures);
    let Some(memory) = Model::open(pte).ok().and_then(|source| computed(&source, Abi::Bits64, ptd)) else {
        failures.push(format!("{}: the runtime loads it", pte.display()));
        return [0, ends];
    };
    if memory["loaded"]["bytes"] != files || memory["loaded"]["at_least"] == true && ptd.is_some() {
        failures.push(format!("{}: {files} bytes of files, not {}", pte.display(), memory["loaded"]));
    }
    let mut compared = 0;
    for Loaded { name, pools, used, held, .. } in methods {
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
        let loaded = &method["loaded"];
        if loaded["bytes"] != held[0] || loaded["while_loading"] != held[1] {
            failures.push(format!("{}, {name}: {held:?} bytes of files, not {loaded}", pte.display()));
        }
    }
    [compared, ends]
}

#[test]
#[ignore = "downloads the ExecuTorch runtime"]
fn the_runtime_takes_as_much() {
    let judge = runner::locate().with_file_name("memory");
    let mut failures = Vec::new();
    let mut compared = [0; 2];
    each_program(&mut |pte, ptd| {
        let [methods, ends] = compare(&judge, pte, ptd, &mut failures);
        compared = [compared[0] + methods, compared[1] + ends];
    });
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    let [methods, ends] = compared;
    assert!(methods > 100 && ends > 200, "only {methods} methods, {ends} inputs and outputs were compared");
    println!("{methods} methods, {ends} inputs and outputs compared");
}

/// Calls a function with all programs that ExecuTorch wrote, those in the folder `PTE_EMIT_PROGRAMS`, and the examples;
/// each with its `.ptd`.
pub fn each_program(each: &mut dyn FnMut(&Path, Option<&Path>)) {
    let mut folders = vec![crate::support::root().join("tests/golden/upstream")];
    folders.extend(crate::support::path_of("PTE_EMIT_PROGRAMS"));
    for folder in &folders {
        for pte in crate::support::files_below(folder, &["pte"]) {
            let ptd = pte.with_extension("ptd");
            each(&pte, ptd.exists().then_some(&ptd));
        }
    }
    let temporary = tempfile::tempdir().expect("there is room");
    let examples = std::fs::read_dir(crate::support::root().join("examples"))
        .expect("the examples")
        .map(|entry| entry.expect("an entry").path());
    for path in examples.filter(|path| path.extension().is_some_and(|extension| extension == "yaml")) {
        let Ok(assembly) = Model::open(&path).and_then(|source| source.assemble(&AssembleOptions::default())) else {
            continue;
        };
        if assembly.program_file().is_none() {
            continue;
        }
        let folder = temporary.path().join(path.file_stem().expect("a name"));
        std::fs::create_dir(&folder).expect("there is room");
        let (pte, ptds) = crate::support::files::write(&assembly, &folder).expect("there is room");
        if ptds.len() < 2 {
            each(&pte, ptds.first().map(PathBuf::as_path));
        }
    }
}
