//! Layers of the top-level modules in `src/`: a module depends only on modules of lower layers, and files have no cyclic dependencies.
//!
//! Dependencies are paths in the code that begin with `crate::`, `super::`, `self::` or the name of a child module, in `use` lines and
//! expressions. Comments and unit tests are ignored. A name that a `mod.rs` re-exports counts for the file that defines it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// Top-level modules with their layers, and modules of the same layer that they may depend on.
const LAYERS: &[(&str, u32, &[&str])] = &[
    ("cli", 7, &[]),
    // Public API: lib.rs, pipeline.rs, source.rs, builder.rs and error.rs.
    ("facade", 6, &[]),
    ("annotate", 5, &[]),
    ("check", 5, &[]),
    ("printer", 5, &[]),
    ("ir", 5, &[]),
    ("assembly", 4, &[]),
    ("raw", 3, &[]),
    ("transform", 3, &[]),
    ("recover", 3, &[]),
    ("emitter", 2, &[]),
    ("reader", 2, &[]),
    ("layout", 1, &[]),
    ("delegate", 1, &[]),
    ("program", 0, &["format", "data"]),
    ("data", 0, &["format"]),
    ("operators", 0, &["format"]),
    ("format", 0, &[]),
    ("diagnostics", 0, &[]),
];

/// Files directly under `src/` that belong to the facade.
const FACADE: &[&str] = &["lib", "pipeline", "source", "builder", "error"];

/// File of `src/`.
struct Module {
    /// Path from `src/`, for messages.
    file: String,
    /// Module path: `["check", "semantics", "method"]`; empty for lib.rs.
    path: Vec<String>,
    /// The code without comments, strings and unit tests.
    code: String,
}

impl Module {
    /// Name of the top-level module.
    fn top(&self) -> &str {
        match self.path.first() {
            None => "facade",
            Some(first) if FACADE.contains(&first.as_str()) => "facade",
            Some(first) => first,
        }
    }
}

fn modules() -> Vec<Module> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    visit(&root, &mut files);
    files.sort();
    let module = |path: &PathBuf| {
        let file = path.strip_prefix(&root).unwrap().to_str().unwrap().replace('\\', "/");
        let mut steps: Vec<String> = file.trim_end_matches(".rs").split('/').map(str::to_owned).collect();
        if matches!(steps.last().map(String::as_str), Some("mod" | "lib")) {
            steps.pop();
        }
        Module { path: steps, code: code(&fs::read_to_string(path).unwrap()), file }
    };
    // Not in a layer: the main function of the command, and unit tests in files of their own.
    let ignored = |file: &str| matches!(file, "main.rs" | "golden.rs") || file.ends_with("/tests.rs");
    files.iter().map(module).filter(|module| !ignored(&module.file)).collect()
}

fn visit(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        match entry.is_dir() {
            true => visit(&entry, files),
            false if entry.extension().is_some_and(|extension| extension == "rs") => files.push(entry),
            false => {}
        }
    }
}

/// Code without line comments, string contents and what follows `#[cfg(test)]` before a module.
fn code(text: &str) -> String {
    let text = text.split("#[cfg(test)]\nmod ").next().unwrap();
    let mut out = String::new();
    for line in text.lines() {
        let mut quoted = false;
        let mut previous = ' ';
        let mut rest = line.chars().peekable();
        while let Some(c) = rest.next() {
            match c {
                '"' if previous != '\'' && previous != '\\' => quoted = !quoted,
                '/' if !quoted && rest.peek() == Some(&'/') => break,
                c if !quoted => out.push(c),
                _ => {}
            }
            previous = c;
        }
        out.push('\n');
    }
    out
}

/// All paths in code, each as a list of names: `crate::data::{Blob, number}` is two paths.
fn paths(code: &str) -> Vec<Vec<String>> {
    let bytes = code.as_bytes();
    let mut found = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let boundary = at == 0 || !(is_word(bytes[at - 1]) || bytes[at - 1] == b':');
        if boundary && (bytes[at].is_ascii_alphabetic() || bytes[at] == b'_') {
            let end = path(code, at, &mut Vec::new(), &mut found);
            at = end.max(at + 1);
        } else {
            at += 1;
        }
    }
    found.retain(|path| path.len() > 1);
    found
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

/// Parses the path at a position into `found`; returns its end.
fn path(code: &str, mut at: usize, prefix: &mut Vec<String>, found: &mut Vec<Vec<String>>) -> usize {
    let bytes = code.as_bytes();
    let depth = prefix.len();
    loop {
        let start = at;
        while at < bytes.len() && is_word(bytes[at]) {
            at += 1;
        }
        if at > start {
            prefix.push(code[start..at].to_owned());
        }
        if !code[at..].starts_with("::") {
            found.push(prefix.clone());
            break;
        }
        at += 2;
        if code[at..].starts_with('{') {
            at += 1;
            while at < bytes.len() && bytes[at] != b'}' {
                match is_word(bytes[at]) {
                    true => at = path(code, at, prefix, found),
                    false => at += 1,
                }
            }
            at += 1;
            break;
        }
        if at >= bytes.len() || !is_word(bytes[at]) {
            found.push(prefix.clone());
            break;
        }
    }
    prefix.truncate(depth);
    at
}

/// Dependencies between files: from, to, and a path of the code.
fn edges(modules: &[Module]) -> BTreeMap<(usize, usize), String> {
    let index: BTreeMap<&[String], usize> =
        modules.iter().enumerate().map(|(number, module)| (module.path.as_slice(), number)).collect();
    // Re-exports: file and name, with the file that defines it.
    let mut exports: BTreeMap<(usize, String), usize> = BTreeMap::new();
    let mut reexported: BTreeSet<(usize, Vec<String>)> = BTreeSet::new();
    for (number, module) in modules.iter().enumerate() {
        for line in module.code.split(';').filter_map(|item| item.split("pub use ").nth(1)) {
            for path in paths(line) {
                if let Some(target) = absolute(module, &path, &index)
                    && let Some(file) = longest(&target, &index).filter(|file| *file != number)
                {
                    exports.insert((number, path.last().unwrap().clone()), file);
                    reexported.insert((number, path));
                }
            }
        }
    }
    let mut edges = BTreeMap::new();
    for (number, module) in modules.iter().enumerate() {
        for path in paths(&module.code) {
            if reexported.contains(&(number, path.clone())) {
                continue;
            }
            let Some(target) = absolute(module, &path, &index) else { continue };
            let Some(mut file) = longest(&target, &index) else { continue };
            let name = target.get(modules[file].path.len());
            while let Some(next) = name.and_then(|name| exports.get(&(file, name.clone()))) {
                file = *next;
            }
            if file != number {
                edges.entry((number, file)).or_insert_with(|| path.join("::"));
            }
        }
    }
    edges
}

/// Path from the root of the crate; `None` for a path out of the crate.
fn absolute(module: &Module, path: &[String], index: &BTreeMap<&[String], usize>) -> Option<Vec<String>> {
    let mut base = module.path.clone();
    let mut rest = path;
    match rest[0].as_str() {
        "crate" => {
            base.clear();
            rest = &rest[1..];
        }
        "self" => rest = &rest[1..],
        "super" => {
            while rest.first().is_some_and(|step| step == "super") {
                base.pop()?;
                rest = &rest[1..];
            }
        }
        child => {
            base.push(child.to_owned());
            index.get(base.as_slice())?;
            rest = &rest[1..];
        }
    }
    base.extend(rest.iter().cloned());
    Some(base)
}

/// File of the longest prefix of a path.
fn longest(path: &[String], index: &BTreeMap<&[String], usize>) -> Option<usize> {
    (0..=path.len()).rev().find_map(|len| index.get(&path[..len]).copied())
}

#[test]
fn modules_depend_on_lower_layers() {
    let modules = modules();
    let row = |module: &str| {
        let row = LAYERS.iter().find(|(name, ..)| *name == module);
        row.unwrap_or_else(|| panic!("the module `{module}` is not in the table"))
    };
    let mut violations = Vec::new();
    for ((from, to), path) in edges(&modules) {
        let (from, to) = (&modules[from], &modules[to]);
        let ((_, layer, siblings), (name, lower, _)) = (row(from.top()), row(to.top()));
        if from.top() != *name && lower >= layer && !siblings.contains(name) {
            violations.push(format!("{} uses `{path}` of {}", from.file, to.file));
        }
    }
    assert!(violations.is_empty(), "{} dependencies on higher layers:\n{}", violations.len(), violations.join("\n"));
}

#[test]
fn dependencies_are_acyclic() {
    let modules = modules();
    let edges = edges(&modules);
    let used: BTreeSet<usize> = edges.keys().flat_map(|(from, to)| [*from, *to]).collect();
    let unused: Vec<&str> =
        (0..modules.len()).filter(|module| !used.contains(module)).map(|module| &*modules[module].file).collect();
    // They only re-export.
    assert_eq!(unused, ["data/mod.rs", "delegate/mod.rs"]);
    // Transitive closure.
    let mut reach: Vec<Vec<bool>> = vec![vec![false; modules.len()]; modules.len()];
    edges.keys().for_each(|(from, to)| reach[*from][*to] = true);
    for middle in 0..modules.len() {
        for from in 0..modules.len() {
            if reach[from][middle] {
                (0..modules.len())
                    .filter(|to| reach[middle][*to])
                    .collect::<Vec<_>>()
                    .into_iter()
                    .for_each(|to| reach[from][to] = true);
            }
        }
    }
    let circular = edges.iter().filter(|((from, to), _)| reach[*to][*from]);
    let lines: Vec<String> = circular
        .map(|((from, to), path)| format!("{} -> {}: `{path}`", modules[*from].file, modules[*to].file))
        .collect();
    assert!(lines.is_empty(), "cyclic dependencies:\n{}", lines.join("\n"));
}

#[test]
fn paths_are_parsed() {
    let code = code(
        "use crate::data::{self, Blob, number::{encode, Number}}; // crate::raw\nlet x = super::wide(\"crate::ir\");\n",
    );
    let found: Vec<String> = paths(&code).iter().map(|path| path.join("::")).collect();
    let expected = [
        "crate::data::self",
        "crate::data::Blob",
        "crate::data::number::encode",
        "crate::data::number::Number",
        "super::wide",
    ];
    assert_eq!(found, expected);
}
