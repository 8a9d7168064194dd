//! Every public item of the library is used in an example: a Rust block of the documentation or of docs/, or
//! examples/library.rs.
//!
//! Items are found in the sources: the re-exports of src/lib.rs, and what it declares. A function or type is used if an
//! example contains its name outside of `use`: the public name, or the one in its crate. A type is also used if its
//! documentation links to an item with an example, or the reverse. A method is used if an example of its type calls it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use pretty_assertions::assert_eq;

use super::list::Sources;
use crate::support::{files_below, root};

/// A public item.
struct Item {
    /// Name; `Type::name` for a method or an associated constant.
    path: String,
    /// Name in its crate, which examples there use: `Role` for `OperatorArgRole`.
    declared: String,
    /// The type of a method or of an associated constant.
    owner: Option<String>,
    /// True for a method with `self`.
    has_self: bool,
    /// True for an item of a trait, which an example may implement.
    is_trait: bool,
    docs: Docs,
}

/// A documentation comment.
#[derive(Default)]
struct Docs {
    /// Paths of intra-doc links, without `crate::` and `()`.
    links: Vec<String>,
    /// Rust code without imports and hidden lines.
    examples: Vec<String>,
}

impl Docs {
    fn new(text: &str) -> Docs {
        let links = text.split("[`").skip(1).filter_map(|rest| rest.split_once('`'));
        let links = links.map(|(link, _)| link.trim_start_matches("crate::").trim_end_matches("()").to_owned());
        let mut examples = Vec::new();
        for (number, part) in text.split("```").enumerate() {
            let (info, code) = part.split_once('\n').unwrap_or((part, ""));
            if number % 2 == 1 && ["", "rust"].contains(&info) {
                examples.push(without_imports(code));
            }
        }
        Docs { links: links.collect(), examples }
    }
}

/// Returns the code without imports and hidden lines: an item that is only imported is not used.
fn without_imports(code: &str) -> String {
    let (mut in_import, mut kept) = (false, String::new());
    for line in code.lines().filter(|line| !line.starts_with("# ")) {
        in_import |= line.trim_start().starts_with("use ");
        if !in_import {
            kept += &format!("{line}\n");
        }
        in_import &= !line.ends_with(';');
    }
    kept
}

/// Modules that src/lib.rs re-exports as a whole, and their files.
const MODULES: &[(&str, &str)] = &[("test_cases", "crates/pte-model/src/program/test_cases.rs")];

/// Names that a file re-exports: module, name there, and public name.
fn reexports(file: &str) -> Vec<(String, String, String)> {
    let text = std::fs::read_to_string(root().join(file)).unwrap();
    // A module that is not part of the API.
    let text = match text.split_once("#[doc(hidden)]\npub mod command {") {
        Some((before, after)) => before.to_owned() + after.split_once("\n}\n").expect("its end").1,
        None => text,
    };
    let mut names = vec![];
    for statement in text.split(";\n") {
        let Some((_, import)) = statement.split_once("pub use ") else { continue };
        let (module, list) = import.rsplit_once("::").filter(|_| !import.contains('{')).unwrap_or_else(|| {
            let (module, list) = import.split_once("::{").expect("a path");
            (module, list.trim_end_matches('}'))
        });
        for name in list.split(',').map(str::trim).filter(|name| !name.is_empty()) {
            let (declared, public) = name.split_once(" as ").unwrap_or((name, name));
            names.push((module.to_owned(), declared.to_owned(), public.to_owned()));
        }
    }
    names
}

/// The names that src/lib.rs re-exports, each with the prefix of the files that may declare it, and the name in these
/// files if it differs.
fn public_names() -> Vec<(String, String, String)> {
    let program = reexports("crates/pte-model/src/program/mod.rs");
    let mut names = vec![];
    for (module, declared, public) in reexports("src/lib.rs") {
        if MODULES.iter().any(|(module, _)| *module == declared) {
            continue;
        }
        // pte_model::program re-exports names of other modules.
        let from = program.iter().find(|(_, _, name)| module == "pte_model::program" && *name == declared);
        let module = from
            .and_then(|(module, ..)| module.strip_prefix("crate::"))
            .map_or(module, |module| format!("pte_model::{module}"));
        let module = module.strip_prefix("crate::").unwrap_or(&module);
        let (first, rest) = module.split_once("::").unwrap_or((module, ""));
        let file = match first.strip_prefix("pte_") {
            Some(name) => format!("crates/pte-{name}/src/{}", rest.split("::").next().unwrap()),
            None => format!("src/{first}"),
        };
        names.push((file, declared, public));
    }
    names
}

/// Returns the name after a keyword, such as `Program` of `pub struct Program {`.
fn declared(line: &str, keywords: &[&str]) -> Option<String> {
    let rest = keywords.iter().find_map(|keyword| line.strip_prefix(keyword))?;
    let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len());
    Some(rest[..end].to_owned())
}

/// Folder of the crate of a file.
fn folder_of(file: &str) -> &str {
    file.split_once("src/").map_or("", |(folder, _)| folder)
}

/// Files of the library and of the crates.
fn source_files() -> Vec<PathBuf> {
    let all = ["src", "crates"].map(|folder| files_below(&root().join(folder), &["rs"]));
    let is_library = |path: &PathBuf| {
        let path = path.strip_prefix(root()).unwrap().display().to_string();
        let is_test = path.contains("/tests/") || path.ends_with("tests.rs");
        !is_test && !path.starts_with("src/cli/") && path != "src/main.rs"
    };
    all.into_iter().flatten().filter(is_library).collect()
}

/// Returns all public items, and the documentation of modules.
fn items() -> (Vec<Item>, Vec<Docs>) {
    const DECLARATIONS: &[&str] =
        &["pub struct ", "pub enum ", "pub trait ", "pub type ", "pub const ", "pub static ", "pub fn "];
    let names = public_names();
    let public = |file: &str, name: &str| {
        let own = file == "src/lib.rs" || MODULES.iter().any(|(_, of)| *of == file);
        let found = names.iter().find(|(prefix, declared, _)| declared == name && file.starts_with(prefix.as_str()));
        found.map(|(_, _, public)| public.clone()).or_else(|| own.then(|| name.to_owned()))
    };
    let sources: Vec<(String, String)> = source_files()
        .iter()
        .map(|path| (path.strip_prefix(root()).unwrap().display().to_string(), std::fs::read_to_string(path).unwrap()))
        .collect();
    // Types first: their methods may be in other files.
    let (mut items, mut modules, mut types) = (Vec::new(), Vec::new(), BTreeMap::new());
    for (file, text) in &sources {
        let module: String = text.lines().map_while(|line| line.strip_prefix("//!")).map(line_of_docs).collect();
        modules.push(Docs::new(&module));
        // Types that a macro declares are indented.
        let nested = &["pub struct ", "pub enum ", "pub static "];
        let in_macros = ["    ", "        ", "            "].map(|indent| declarations(text, indent, nested));
        for (name, docs) in declarations(text, "", DECLARATIONS).into_iter().chain(in_macros.into_iter().flatten()) {
            if let Some(public) = public(file, &name) {
                types.insert((folder_of(file).to_owned(), name.clone()), public.clone());
                items.push(Item { path: public, declared: name, owner: None, has_self: false, is_trait: false, docs });
            }
        }
    }
    for (file, text) in &sources {
        let mut rest = text.as_str();
        while let Some(at) = rest.find("\nimpl").into_iter().chain(rest.find("\npub trait ")).min() {
            let block = &rest[at + 1..];
            let (head, body) = block.split_once('\n').unwrap_or((block, ""));
            let end = if head.ends_with('{') { body.find("\n}").unwrap_or(body.len()) } else { 0 };
            rest = &body[end..];
            // `impl<const N: usize> Ints<N> {`
            let head = head.trim_start_matches("impl").trim_start();
            let head = if head.starts_with('<') { head.split_once("> ").map_or(head, |(_, head)| head) } else { head };
            let is_trait = head.starts_with("pub trait ");
            let Some(of) = declared(head, &["pub trait ", ""]) else { continue };
            let Some(owner) = types.get(&(folder_of(file).to_owned(), of.clone())) else { continue };
            if head.contains(" for ") {
                continue;
            }
            let keywords: &[&str] =
                if is_trait { &["fn ", "const "] } else { &["pub fn ", "pub const fn ", "pub const "] };
            let body = &body[..end];
            for (name, docs) in declarations(body, "    ", keywords) {
                let signature = body.split_once(&format!("fn {name}")).map_or("", |(_, rest)| rest);
                let parameters = signature.split_once('(').map_or("", |(_, rest)| rest);
                let has_self = contains(parameters.split([',', ')']).next().unwrap(), "self");
                items.push(Item {
                    path: format!("{owner}::{name}"),
                    declared: format!("{of}::{name}"),
                    owner: Some(owner.clone()),
                    has_self,
                    is_trait,
                    docs,
                });
            }
        }
    }
    (items, modules)
}

fn line_of_docs(line: &str) -> String {
    format!("{}\n", line.strip_prefix(' ').unwrap_or(line))
}

/// Returns the declarations with this indentation and their documentation, except hidden ones.
fn declarations(text: &str, indentation: &str, keywords: &[&str]) -> Vec<(String, Docs)> {
    let mut found = Vec::new();
    let (mut docs, mut hidden) = (String::new(), false);
    for line in text.lines().take_while(|line| *line != "mod tests {") {
        let Some(line) = line.strip_prefix(indentation) else { continue };
        if let Some(line) = line.strip_prefix("///") {
            docs += &line_of_docs(line);
        } else if line.starts_with("#[") {
            hidden |= line == "#[doc(hidden)]";
        } else {
            if let Some(name) = declared(line, keywords).filter(|_| !hidden) {
                found.push((name, Docs::new(&docs)));
            }
            (docs, hidden) = (String::new(), false);
        }
    }
    found
}

/// Returns true if `code` contains `name` as a word.
fn contains(code: &str, name: &str) -> bool {
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    code.match_indices(name)
        .any(|(at, _)| !code[..at].ends_with(is_word) && !code[at + name.len()..].starts_with(is_word))
}

#[test]
fn every_public_item_is_used_in_an_example() {
    let (items, modules) = items();
    let mut pages: Vec<Docs> = modules;
    let text = |path: &str| std::fs::read_to_string(root().join(path)).unwrap();
    for page in files_below(Path::new(&root().join("docs")), &["md"]) {
        let page = Docs::new(&std::fs::read_to_string(page).unwrap());
        pages.push(Docs { examples: page.examples, ..Docs::default() });
    }
    let example = without_imports(&text("examples/library.rs"));
    pages.push(Docs { examples: vec![example], ..Docs::default() });

    // All examples, each with its item.
    let examples: Vec<(Option<&Item>, &str)> = items
        .iter()
        .map(|item| (Some(item), &item.docs))
        .chain(pages.iter().map(|page| (None, page)))
        .flat_map(|(item, docs)| docs.examples.iter().map(move |code| (item, code.as_str())))
        .collect();
    let item_of = |path: &str| items.iter().find(|item| item.path == path);
    let links = |from: &Item, to: &Item| from.docs.links.iter().any(|link| *link == to.path || *link == to.declared);
    let names = |code: &str, item: &Item| contains(code, &item.path) || contains(code, &item.declared);
    // Examples of a type.
    let examples_of = |name: &str| -> Vec<&str> {
        let own = item_of(name).expect("an item");
        let found = examples.iter().filter(|(item, code)| {
            let linked = item.is_some_and(|item| {
                item.path == name || item.owner.as_deref() == Some(name) || links(item, own) || links(own, item)
            });
            linked || names(code, own)
        });
        found.map(|(_, code)| *code).collect()
    };
    let is_used = |item: &Item| match &item.owner {
        None => !examples_of(&item.path).is_empty(),
        Some(owner) => {
            let name = item.path.rsplit(':').next().unwrap();
            examples_of(owner).iter().any(|code| {
                names(code, item)
                    || item.is_trait && contains(code, name)
                    || item.has_self && (code.contains(&format!(".{name}(")) || code.contains(&format!(".{name}::<")))
            })
        }
    };
    let mut unused: Vec<&str> = items.iter().filter(|item| !is_used(item)).map(|item| item.path.as_str()).collect();
    unused.sort_unstable();
    assert_eq!(unused, Vec::<&str>::new(), "items without an example");
}

/// tests/golden/public-api.txt is the public API, so that a review of a change sees what it does to users of the
/// library.
#[test]
fn the_list_of_the_public_api_is_up_to_date() {
    let list = Sources::read(root(), &source_files()).list();
    let path = root().join("tests/golden/public-api.txt");
    crate::support::snapshot::update(&path, &list, "BLESS=1 cargo test --test repository public_api");
}

/// The items are found: every re-export, functions, methods and constants.
#[test]
fn items_are_found_in_the_sources() {
    let (items, _) = items();
    let paths: Vec<&str> = items.iter().map(|item| item.path.as_str()).collect();
    for (_, _, name) in public_names() {
        assert_eq!(paths.iter().filter(|path| **path == name).count(), 1, "{name}");
    }
    for path in [
        "Model::assemble",
        "Argument::NONE",
        "Instruction::args",
        "Resolved::to_files",
        "Program::add_blob",
        "Ints::push",
        "TensorElement::append_to",
        "Args",
    ] {
        assert!(paths.contains(&path), "{path}");
    }
    for path in ["Blob::new", "EValue::member", "Element", "OutputFile::emitted", "Model::from_origin"] {
        assert!(!paths.contains(&path), "{path} is not public");
    }
}
