//! Floors of the crates, and layers of the modules inside them: a module depends only on modules of lower layers, and
//! files have no cyclic dependencies.
//!
//! A dependency is a path in the code, in a `use`, an expression or the body of a macro, that leads to another file: it
//! begins with `crate`, `self`, `super`, a child module or an imported name. Comments and strings are ignored, and for
//! cycles `#[cfg(test)]` modules. A name that a module re-exports from its children counts for the file that defines
//! it. Constructs that hide dependencies are violations.
//!
//! Known limits: a name without `::` is not a path, so a module that re-exports a name of its children and uses it,
//! too, has no dependency on them; macros that expand to paths of other modules count where they are defined.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use crate::dependencies::{Dependency, dependencies};
use crate::support::{files_below, root};
use proc_macro2::{Delimiter, Group, Ident, Spacing, TokenStream, TokenTree};

/// Crates with their floors: the table of docs/architecture.md. A crate depends on crates of lower floors only, also in
/// its tests.
static CRATES: LazyLock<Vec<(String, u32)>> = LazyLock::new(|| {
    let page = fs::read_to_string(root().join("docs/architecture.md")).unwrap();
    let (_, table) = page.split_once("\n| floor | crate | purpose |\n|---|---|---|\n").expect("the table of crates");
    let rows = table.lines().map_while(|line| line.strip_prefix("| ")?.split_once(" | "));
    let crates = rows.flat_map(|(floor, rest)| {
        let names = rest.split(" | ").next().unwrap().split('`').skip(1).step_by(2);
        names.map(move |name| (name.to_owned(), floor.parse().expect("a floor")))
    });
    crates.collect()
});

/// Modules of a crate with their layers, and modules of the same layer that they may depend on. The files of modules
/// that are not in the table are only checked for cyclic dependencies.
type Layers = &'static [(&'static str, u32, &'static [&'static str])];

const LAYERS: &[(&str, Layers)] = &[
    (
        "pte-emit",
        &[
            // Unit tests of lower modules and of crates whose inputs are YAML.
            ("tests", 8, &[]),
            // Answers for editors, which ask the facade.
            ("editor", 7, &[]),
            // Public API: with lib.rs and pipeline.rs.
            ("facade", 6, &[]),
            ("printer", 5, &["ir"]),
            ("ir", 5, &[]),
            ("assembly", 4, &[]),
            ("overrides", 3, &[]),
            ("detected", 3, &[]),
            ("emitter", 2, &[]),
            ("layout", 1, &[]),
        ],
    ),
    (
        "pte-model",
        &[
            ("reader", 3, &[]),
            ("program", 2, &[]),
            ("data", 1, &[]),
            ("error", 1, &[]),
            ("format", 0, &[]),
            ("diagnostics", 0, &[]),
        ],
    ),
];

/// Crates that answer questions about programs and files: of the root, the facade and the assembly ask them.
const QUESTIONS: &[&str] =
    &["pte_check", "pte_deploy", "pte_diff", "pte_generate", "pte_inspect", "pte_reduce", "pte_report"];

/// Modules of the root that use [`QUESTIONS`].
const ASKING: &[&str] = &["facade", "assembly", "editor", "tests"];

/// Files directly under `src/` that belong to the facade.
const FACADE: &[&str] = &["lib", "pipeline"];

/// Path in the code.
struct CodePath {
    /// Module of the code, inline modules included.
    scope: Vec<String>,
    /// Names; `crate` is the first one of a path that began with `crate`, `self` or `super`.
    names: Vec<String>,
    import: Import,
    /// Part of a `pub use`, whatever its visibility.
    public: bool,
    line: usize,
}

/// Name that a path gets in its scope.
#[derive(Clone, PartialEq)]
enum Import {
    /// None: the path is not part of a `use`.
    None,
    Name(String),
    /// `*`.
    Glob,
}

impl std::fmt::Display for CodePath {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}{}", if self.public { "pub use " } else { "" }, self.names.join("::"))?;
        match &self.import {
            Import::Glob => f.write_str("::*"),
            Import::Name(name) if self.names.last() != Some(name) => write!(f, " as {name}"),
            _ => Ok(()),
        }
    }
}

/// Paths in the code of a file.
#[derive(Default)]
struct Scanner {
    /// Scan modules with `#[cfg(test)]`, too.
    with_tests: bool,
    paths: Vec<CodePath>,
    /// Modules with `#[cfg(test)]`, which are not scanned.
    test_modules: BTreeSet<Vec<String>>,
    /// Inline modules.
    inline_modules: BTreeSet<Vec<String>>,
    /// Lines and descriptions of constructs that hide dependencies.
    violations: Vec<(usize, String)>,
}

impl Scanner {
    /// Scans a file; `scope` is its module.
    fn scan(scope: &[String], code: &str, with_tests: bool) -> Scanner {
        let mut scanner = Scanner { with_tests, ..Scanner::default() };
        scanner.walk(code.parse().unwrap_or_else(|error| panic!("{}: {error}", scope.join("::"))), scope);
        scanner
    }

    fn walk(&mut self, tokens: TokenStream, scope: &[String]) {
        let tokens: Vec<TokenTree> = tokens.into_iter().collect();
        let mut at = 0;
        while at < tokens.len() {
            at = match &tokens[at] {
                TokenTree::Punct(punct) if punct.as_char() == '#' => self.attribute(&tokens, at, scope),
                TokenTree::Group(group) => {
                    self.walk(group.stream(), scope);
                    at + 1
                }
                TokenTree::Ident(word) => self.word(&tokens, at, word, scope),
                _ => at + 1,
            };
        }
    }

    /// Scans an attribute; returns the index of the next token. Skips a module after `#[cfg(test)]`.
    fn attribute(&mut self, tokens: &[TokenTree], at: usize, scope: &[String]) -> usize {
        let Some((group, next)) = attribute(tokens, at) else { return at + 1 };
        let content: Vec<TokenTree> = group.stream().into_iter().collect();
        let is_path = |tokens: &[TokenTree]| is_word(tokens.first(), "path") && is_punct(tokens.get(1), '=');
        let conditional = match content.get(1) {
            Some(TokenTree::Group(group)) if is_word(content.first(), "cfg_attr") => group.stream(),
            _ => TokenStream::new(),
        };
        let conditional: Vec<TokenTree> = conditional.into_iter().collect();
        if is_path(&content) || (0..conditional.len()).any(|start| is_path(&conditional[start..])) {
            self.violation(group.span_open(), "`#[path]`: the file of a module follows from its name");
        }
        let is_test = group.stream().to_string().replace(' ', "") == "cfg(test)";
        if is_test
            && !self.with_tests
            && let Some((name, next)) = module(tokens, next)
        {
            self.test_modules.insert(join(scope, &name));
            return next;
        }
        self.walk(group.stream(), scope);
        next
    }

    /// Scans what begins with a word; returns the index of the next token.
    fn word(&mut self, tokens: &[TokenTree], at: usize, word: &Ident, scope: &[String]) -> usize {
        let before = |count: usize| at.checked_sub(count).map(|index| &tokens[index]);
        let is_field = is_punct(before(1), '.') && !is_punct(before(2), '.');
        let is_continued = is_punct(before(1), ':') && is_punct(before(2), ':');
        let is_variable = is_punct(before(1), '$') && word != "crate";
        if is_punct(before(1), '\'') || is_field || is_continued || is_variable {
            return at + 1;
        }
        let next = tokens.get(at + 1);
        match word.to_string().as_str() {
            "mod" => match (next, tokens.get(at + 2)) {
                (Some(TokenTree::Ident(name)), Some(TokenTree::Group(group))) => {
                    let inline = join(scope, &plain(name));
                    self.walk(group.stream(), &inline);
                    self.inline_modules.insert(inline);
                    at + 3
                }
                _ => at + 1,
            },
            // `use<'a>` is a bound.
            "use" if !is_punct(next, '<') => {
                let public = match before(1) {
                    Some(TokenTree::Group(_)) => is_word(before(2), "pub"),
                    before => is_word(before, "pub"),
                };
                let (at, prefix) = match is_separator(tokens, at + 1) {
                    true => (at + 3, vec![String::new()]),
                    false => (at + 1, Vec::new()),
                };
                self.path(tokens, at, prefix, scope, Some(public))
            }
            "pub" => match next {
                Some(TokenTree::Group(group)) if is_visibility(group) => at + 2,
                _ => at + 1,
            },
            // The name of the crate for its command line, which only `cli/` uses.
            "extern"
                if (1..)
                    .zip(["crate", "self", "as", "pte_emit"])
                    .all(|(i, name)| is_word(tokens.get(at + i), name)) =>
            {
                at + 5
            }
            name @ ("crate" | "super") if !is_separator(tokens, at + 1) => {
                self.violation(word.span(), &format!("`{name}` without a path"));
                at + 1
            }
            "include" if is_punct(next, '!') && matches!(tokens.get(at + 2), Some(TokenTree::Group(_))) => {
                self.violation(word.span(), "`include!`: the included code is not scanned");
                at + 1
            }
            _ => self.path(tokens, at, Vec::new(), scope, None),
        }
    }

    /// Scans the rest of a path; returns the index of the token after it. `public`: it is part of a `use`, or of a `pub
    /// use`.
    fn path(
        &mut self,
        tokens: &[TokenTree],
        mut at: usize,
        mut names: Vec<String>,
        scope: &[String],
        public: Option<bool>,
    ) -> usize {
        let Some(first) = tokens.get(at) else { return at };
        let span = first.span();
        loop {
            match tokens.get(at) {
                Some(TokenTree::Ident(name)) => {
                    names.push(plain(name));
                    at += 1;
                    if is_separator(tokens, at) {
                        at += 2;
                        continue;
                    }
                    let mut import = Import::None;
                    if public.is_some() {
                        import = Import::Name(names.iter().rfind(|name| *name != "self").cloned().unwrap_or_default());
                        if is_word(tokens.get(at), "as") {
                            import = Import::Name(tokens.get(at + 1).map(ToString::to_string).unwrap_or_default());
                            at += 2;
                        }
                    }
                    self.found(scope, names, import, public, span);
                    return at;
                }
                Some(TokenTree::Group(group)) if group.delimiter() == Delimiter::Brace => {
                    let branches: Vec<TokenTree> = group.stream().into_iter().collect();
                    let mut branch = 0;
                    while branch < branches.len() {
                        let end = self.path(&branches, branch, names.clone(), scope, public);
                        // The comma.
                        branch = end + 1;
                    }
                    return at + 1;
                }
                Some(TokenTree::Punct(punct)) if punct.as_char() == '*' => {
                    self.found(scope, names, Import::Glob, public, span);
                    return at + 1;
                }
                // `::<T>`, `::$name`.
                _ => {
                    if names == ["crate"] {
                        self.violation(span, "`crate::` without a name");
                    }
                    self.found(scope, names, Import::None, public, span);
                    return at;
                }
            }
        }
    }

    fn found(
        &mut self,
        scope: &[String],
        names: Vec<String>,
        import: Import,
        public: Option<bool>,
        span: proc_macro2::Span,
    ) {
        if names.is_empty() || names.len() == 1 && import == Import::None {
            return;
        }
        if matches!(names[0].as_str(), "std" | "core") && names.last().is_some_and(|name| name == "include") {
            self.violation(span, "`include!`: the included code is not scanned");
        }
        let Some(mut resolved) = without_super(scope, &names) else {
            return self.violation(span, "`super` of the root of the crate");
        };
        if resolved.len() > 1 && resolved.last().is_some_and(|name| name == "self") {
            resolved.pop();
        }
        if resolved == ["crate"] && matches!(import, Import::Name(_)) {
            self.violation(span, "the root of the crate is imported under another name");
        }
        let line = span.start().line;
        let public = public == Some(true);
        self.paths.push(CodePath { scope: scope.to_vec(), names: resolved, import, public, line });
    }

    fn violation(&mut self, span: proc_macro2::Span, description: &str) {
        self.violations.push((span.start().line, description.to_owned()));
    }
}

/// Path that begins with `crate` in place of `self` and `super`; other paths are unchanged. `None` above the root of
/// the crate.
fn without_super(scope: &[String], names: &[String]) -> Option<Vec<String>> {
    if !matches!(names[0].as_str(), "self" | "super") {
        return Some(names.to_vec());
    }
    let mut base = scope.to_vec();
    let mut rest = names;
    while let [first, others @ ..] = rest
        && matches!(first.as_str(), "self" | "super")
    {
        if first == "super" {
            base.pop()?;
        }
        rest = others;
    }
    Some(std::iter::once("crate".to_owned()).chain(base).chain(rest.iter().cloned()).collect())
}

/// Content of the attribute at an index, and the index after it.
fn attribute(tokens: &[TokenTree], at: usize) -> Option<(&Group, usize)> {
    let at = at + 1 + usize::from(is_punct(tokens.get(at + 1), '!'));
    match tokens.get(at)? {
        TokenTree::Group(group) if group.delimiter() == Delimiter::Bracket => Some((group, at + 1)),
        _ => None,
    }
}

/// Name of the module that is declared at an index, after attributes and visibility, and the index after it.
fn module(tokens: &[TokenTree], mut at: usize) -> Option<(String, usize)> {
    while is_punct(tokens.get(at), '#') {
        at = attribute(tokens, at)?.1;
    }
    if is_word(tokens.get(at), "pub") {
        at += 1 + usize::from(matches!(tokens.get(at + 1), Some(TokenTree::Group(_))));
    }
    match (tokens.get(at)?, tokens.get(at + 1)?, tokens.get(at + 2)?) {
        (word, TokenTree::Ident(name), TokenTree::Group(_) | TokenTree::Punct(_)) if is_word(Some(word), "mod") => {
            Some((plain(name), at + 3))
        }
        _ => None,
    }
}

/// `(crate)`, `(self)`, `(super)` or `(in path)`.
fn is_visibility(group: &Group) -> bool {
    let content: Vec<TokenTree> = group.stream().into_iter().collect();
    let is_module = ["crate", "self", "super"].iter().any(|word| is_word(content.first(), word));
    is_word(content.first(), "in") || content.len() == 1 && is_module
}

fn is_word(token: Option<&TokenTree>, word: &str) -> bool {
    matches!(token, Some(TokenTree::Ident(ident)) if ident == word)
}

fn is_punct(token: Option<&TokenTree>, c: char) -> bool {
    matches!(token, Some(TokenTree::Punct(punct)) if punct.as_char() == c)
}

/// Returns true for `::` at an index.
fn is_separator(tokens: &[TokenTree], at: usize) -> bool {
    matches!(tokens.get(at), Some(TokenTree::Punct(punct)) if punct.as_char() == ':' && punct.spacing() == Spacing::Joint)
        && is_punct(tokens.get(at + 1), ':')
}

/// Name without `r#`.
fn plain(name: &Ident) -> String {
    let name = name.to_string();
    name.strip_prefix("r#").map(str::to_owned).unwrap_or(name)
}

fn join(scope: &[String], name: &str) -> Vec<String> {
    scope.iter().map(String::as_str).chain([name]).map(str::to_owned).collect()
}

/// File of `src/`.
struct Module {
    /// Path from `src/`, for messages.
    file: String,
    /// Module path: `["check", "semantics", "method"]`; empty for lib.rs.
    path: Vec<String>,
    paths: Vec<CodePath>,
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

/// Imported names, by module path and name, with the paths from the root of the crate to the items.
#[derive(Default, PartialEq)]
struct ImportedNames {
    imports: BTreeMap<Vec<String>, BTreeSet<Vec<String>>>,
    /// Those of `pub use`.
    exports: BTreeMap<Vec<String>, BTreeSet<Vec<String>>>,
    /// Targets of glob imports, by module path.
    globs: BTreeMap<Vec<String>, BTreeSet<Vec<String>>>,
}

/// Maximum number of names in a path, and of re-exports from one to another.
const MAX_NAMES: usize = 16;

/// Files of the crate without unit tests.
struct Crate {
    modules: Vec<Module>,
    /// Module paths of the files, with their indices in `modules`.
    index: BTreeMap<Vec<String>, usize>,
    /// Paths of all modules, inline modules included.
    scopes: BTreeSet<Vec<String>>,
    names: ImportedNames,
    violations: Vec<String>,
}

impl Crate {
    /// Reads the files of a library. Those of the command line are another crate.
    fn read(name: &str, with_tests: bool) -> Crate {
        let root = folder(name).join("src");
        let mut files = Vec::new();
        visit(&root, &mut |path| {
            let name = path.strip_prefix(&root).unwrap().to_str().unwrap().replace('\\', "/");
            if name != "main.rs" && !name.starts_with("cli/") {
                files.push((name, fs::read_to_string(path).unwrap()));
            }
        });
        files.sort();
        Crate::parse(&files, with_tests)
    }

    /// Scans files: path from `src/`, and code.
    fn parse(files: &[(String, String)], with_tests: bool) -> Crate {
        let mut modules = Vec::new();
        let (mut violations, mut tests, mut scopes) = (Vec::new(), BTreeSet::new(), BTreeSet::new());
        for (file, code) in files {
            let mut path: Vec<String> = file.trim_end_matches(".rs").split('/').map(str::to_owned).collect();
            if matches!(path.last().map(String::as_str), Some("mod" | "lib")) {
                path.pop();
            }
            let scanner = Scanner::scan(&path, code, with_tests);
            tests.extend(scanner.test_modules);
            scopes.extend(scanner.inline_modules.into_iter().chain([path.clone()]));
            let lines =
                scanner.violations.into_iter().map(|(line, text)| (path.clone(), format!("{file}:{line}: {text}")));
            violations.extend(lines);
            modules.push(Module { file: file.clone(), path, paths: scanner.paths });
        }
        let is_test = |path: &[String]| (1..=path.len()).any(|length| tests.contains(&path[..length]));
        modules.retain(|module| !is_test(&module.path));
        scopes.retain(|path| !is_test(path));
        violations.retain(|(path, _)| !is_test(path));
        let index = modules.iter().enumerate().map(|(number, module)| (module.path.clone(), number)).collect();
        let mut parsed = Crate { modules, index, scopes, names: ImportedNames::default(), violations: Vec::new() };
        parsed.resolve_imports();
        parsed.violations =
            violations.into_iter().map(|(_, text)| text).chain(parsed.globs_that_hide_names()).collect();
        parsed
    }

    /// A glob import of a module with many names hides which file a name belongs to.
    fn globs_that_hide_names(&self) -> Vec<String> {
        let mut violations = Vec::new();
        for module in &self.modules {
            for path in module.paths.iter().filter(|path| path.import == Import::Glob) {
                let targets = self.resolve(&path.scope, &path.names);
                let is_top = targets.iter().any(|target| target.len() < 2 && self.scopes.contains(target));
                if is_top || path.public && !targets.is_empty() {
                    violations.push(format!("{}:{}: `{path}`: a glob hides the names", module.file, path.line));
                }
            }
        }
        violations
    }

    /// Resolves imports, which may refer to each other, until nothing changes.
    fn resolve_imports(&mut self) {
        for _ in 0..MAX_NAMES {
            let mut names = ImportedNames::default();
            for path in self.modules.iter().flat_map(|module| &module.paths) {
                let targets = || self.resolve(&path.scope, &path.names);
                match &path.import {
                    Import::None => {}
                    Import::Glob => names.globs.entry(path.scope.clone()).or_default().extend(targets()),
                    Import::Name(name) => {
                        let name = join(&path.scope, name);
                        if path.public {
                            names.exports.entry(name.clone()).or_default().extend(targets());
                        }
                        names.imports.entry(name).or_default().extend(targets());
                    }
                }
            }
            if names == self.names {
                return;
            }
            self.names = names;
        }
        panic!("re-exports of re-exports of re-exports");
    }

    /// Paths from the root of the crate to which a path may lead; none for a path out of the crate.
    fn resolve(&self, scope: &[String], names: &[String]) -> BTreeSet<Vec<String>> {
        let (first, rest) = names.split_first().unwrap();
        let mut found = BTreeSet::new();
        if first == "crate" {
            self.definitions(rest.to_vec(), &mut found);
            return found;
        }
        let scope = scope.to_vec();
        for scope in self.names.globs.get(&scope).into_iter().flatten().chain([&scope]) {
            let name = join(scope, first);
            for target in self.names.imports.get(&name).into_iter().flatten() {
                self.definitions([target, rest].concat(), &mut found);
            }
            if self.scopes.contains(&name) {
                self.definitions([&name, rest].concat(), &mut found);
            }
        }
        found
    }

    /// Follows re-exports from a path to the items.
    fn definitions(&self, path: Vec<String>, found: &mut BTreeSet<Vec<String>>) {
        for length in 1..=path.len().min(MAX_NAMES) {
            let (name, rest) = path.split_at(length);
            // A function may have the name of a module.
            let is_module = self.scopes.contains(name);
            if let Some(targets) = self.names.exports.get(name)
                && (!is_module || rest.is_empty())
            {
                for target in targets.iter().filter(|target| *target != name) {
                    self.definitions([target, rest].concat(), found);
                }
                if !is_module {
                    return;
                }
            }
        }
        found.insert(path);
    }

    /// File of the longest prefix of a path.
    fn file(&self, path: &[String]) -> Option<usize> {
        (0..=path.len()).rev().find_map(|length| self.index.get(&path[..length]).copied())
    }

    /// Dependencies between files: from, to, and a path of the code.
    fn edges(&self) -> BTreeMap<(usize, usize), String> {
        let mut edges = BTreeMap::new();
        for (number, module) in self.modules.iter().enumerate() {
            for path in &module.paths {
                for target in self.resolve(&path.scope, &path.names) {
                    let Some(file) = self.file(&target) else { continue };
                    let is_child = file != number && self.modules[file].path.starts_with(&module.path);
                    if file != number && !(path.public && is_child) {
                        edges.entry((number, file)).or_insert_with(|| format!("`{path}` in line {}", path.line));
                    }
                }
            }
        }
        edges
    }
}

fn visit(folder: &Path, found: &mut impl FnMut(&Path)) {
    for entry in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        match entry.is_dir() {
            true => visit(&entry, found),
            false if entry.extension().is_some_and(|extension| extension == "rs") => found(&entry),
            false => {}
        }
    }
}

/// Folder of a crate.
fn folder(name: &str) -> PathBuf {
    match name {
        "pte-emit" => root().to_owned(),
        name => root().join("crates").join(name),
    }
}

/// The crates without their unit tests.
static PARSED: LazyLock<Vec<(&str, Crate)>> =
    LazyLock::new(|| CRATES.iter().map(|(name, _)| (&**name, Crate::read(name, false))).collect());

/// The command line uses the public API of the library, as `pte_emit`: not its private modules, and not the crates that
/// its package depends on. The other modules do not use that name.
#[test]
fn the_command_line_uses_the_public_api() {
    let src = folder("pte-emit").join("src");
    let mut files = Vec::new();
    visit(&src, &mut |path| files.push(path.to_owned()));
    let is_cli = |file: &Path| file.starts_with(src.join("cli")) || file == src.join("main.rs");
    assert!(files.iter().filter(|file| is_cli(file)).count() > 20, "{files:?}");
    let root = fs::read_to_string(src.join("lib.rs")).unwrap();
    let private: BTreeSet<&str> =
        root.lines().filter_map(|line| line.strip_prefix("mod ")?.strip_suffix(';')).collect();
    assert!(private.contains("facade"));
    for file in files {
        let scanner = Scanner::scan(&[], &fs::read_to_string(&file).unwrap(), true);
        for path in &scanner.paths {
            let first = path.names[0].replace('_', "-");
            let is_crate = CRATES.iter().any(|(name, _)| *name == first);
            let is_allowed = match (is_cli(&file), first.as_str()) {
                (true, "pte-emit" | "crate") => path.names.get(1).is_none_or(|name| !private.contains(name.as_str())),
                (true, _) => !is_crate,
                (false, _) => first != "pte-emit",
            };
            assert!(is_allowed, "{}:{}: {path}", file.display(), path.line);
        }
    }
}

#[test]
fn every_crate_is_in_the_table() {
    let folders = fs::read_dir(root().join("crates")).unwrap().map(|entry| entry.unwrap().file_name());
    let mut found: Vec<String> = folders.map(|name| name.into_string().unwrap()).chain(["pte-emit".into()]).collect();
    found.sort();
    let mut expected: Vec<&str> = CRATES.iter().map(|(name, _)| &**name).collect();
    expected.sort_unstable();
    assert_eq!(found, expected);
}

#[test]
fn crates_depend_on_lower_floors() {
    let floor = |name: &str| CRATES.iter().find(|(other, _)| *other == name).map(|(_, floor)| *floor);
    let mut edges = 0;
    for (name, Dependency { name: other, .. }) in dependencies() {
        let (Some(own), Some(lower)) = (floor(&name), floor(&other)) else { continue };
        assert!(lower < own, "{name} depends on {other}");
        edges += 1;
    }
    assert!(edges > 30, "{edges} dependencies");
}

/// Asserts that the source files whose code contains a text are these files of a folder.
fn assert_known(text: &str, folder: &str, expected: &[&str]) {
    let folders = ["src", "crates"].map(|folder| root().join(folder));
    let files = folders.iter().flat_map(|folder| files_below(folder, &["rs"]));
    let has_text = |file: &PathBuf| fs::read_to_string(file).is_ok_and(|code| code.contains(text));
    let mut found: Vec<PathBuf> = files.filter(has_text).collect();
    found.sort_unstable();
    assert_eq!(found, expected.iter().map(|file| root().join(folder).join(file)).collect::<Vec<_>>(), "{text}");
}

/// The tables of values and operations are read and written by two files; `check` names their fields in findings.
#[test]
fn one_reader_and_one_writer_know_the_fields_of_xnnpack_graphs() {
    assert_known("tensor_value::id_out", "crates/pte-xnnpack/src", &["check/mod.rs", "decode.rs", "encode.rs"]);
}

/// Traversals take the entries of a vtable from `pte-model`: typed readers, the verifier, the walk that lists objects,
/// and what begins with a table of it.
#[test]
fn vtables_are_read_by_few_files() {
    let files = [
        "crates/pte-inspect/src/annotate/regions.rs",
        "crates/pte-model/src/format/flatbuffer/mod.rs",
        "crates/pte-model/src/format/flatbuffer/unknown.rs",
        "crates/pte-model/src/format/flatbuffer/view.rs",
        "crates/pte-model/src/format/flatbuffer/walk.rs",
        "crates/pte-payload/src/flat/read.rs",
        "crates/pte-payload/src/generic.rs",
        "src/emitter/flatbuffer/tests.rs",
        "src/emitter/newer.rs",
        "src/overrides/walker.rs",
    ];
    assert_known("Vtable::of(", "", &files);
    let traversals =
        ["unknown.rs", "verify.rs", "walk.rs"].map(|file| format!("crates/pte-model/src/format/flatbuffer/{file}"));
    for file in traversals {
        let code = fs::read_to_string(root().join(&file)).unwrap();
        assert!(code.contains(" fields(") && !code.contains("Kind::UnionTag"), "{file} has its own tags of unions");
    }
}

/// All that ask for a payload of a program ask `Payloads`, so that it is decoded once.
#[test]
fn payloads_of_programs_are_decoded_in_one_place() {
    assert_known("ReadGraph::read(", "crates/pte-xnnpack/src", &["decode.rs", "payload.rs", "tests.rs"]);
    assert_known(".downcast_ref()", "crates/pte-xnnpack/src", &["payload.rs"]);
}

/// Elements of tensors are encoded and decoded one by one in `number`, and compared in `elements`.
#[test]
fn two_files_decode_elements() {
    let files = ["data/elements.rs", "data/number.rs", "format/scalar_type.rs"];
    assert_known("FloatFormat::Bfloat16", "crates/pte-model/src", &files);
}

#[test]
fn nothing_hides_dependencies() {
    for (name, parsed) in &*PARSED {
        let violations = &parsed.violations;
        assert!(violations.is_empty(), "{name}: {} violations:\n{}", violations.len(), violations.join("\n"));
    }
}

#[test]
fn modules_depend_on_lower_layers() {
    for (name, layers) in LAYERS {
        // Unit tests obey the table, too.
        let parsed = Crate::read(name, true);
        let row = |module: &str| layers.iter().find(|(name, ..)| *name == module);
        let mut violations = Vec::new();
        for ((from, to), path) in parsed.edges() {
            let (from, to) = (&parsed.modules[from], &parsed.modules[to]);
            let (Some((_, layer, siblings)), Some((name, lower, _))) = (row(from.top()), row(to.top())) else {
                continue;
            };
            if from.top() != *name && lower >= layer && !siblings.contains(name) {
                violations.push(format!("{} uses {path} of {}", from.file, to.file));
            }
        }
        assert!(
            violations.is_empty(),
            "{} dependencies on higher layers:\n{}",
            violations.len(),
            violations.join("\n")
        );
        if *name == "pte-emit" {
            let unknown = parsed.modules.iter().find(|module| row(module.top()).is_none());
            assert!(unknown.is_none_or(|module| panic!("the module of {} is not in the table", module.file)));
            let asking = parsed.modules.iter().filter(|module| !ASKING.contains(&module.top()));
            let paths = asking.flat_map(|module| module.paths.iter().map(move |path| (&module.file, path)));
            let found: Vec<String> = paths
                .filter(|(_, path)| QUESTIONS.contains(&&*path.names[0]))
                .map(|(file, path)| format!("{file}:{}: {path}", path.line))
                .collect();
            assert!(found.is_empty(), "only {ASKING:?} use these crates:\n{}", found.join("\n"));
        }
    }
}

#[test]
fn dependencies_are_acyclic() {
    // The scanner finds dependencies: in a `use`, in an expression, after a `#[cfg(test)]` module, by an imported
    // module, by a re-export.
    for (name, from, to) in [
        ("pte-model", "reader/program.rs", "format/program.rs"),
        ("pte-check", "semantics/mod.rs", "semantics/paths.rs"),
        ("pte-emit", "detected/layout.rs", "emitter/program.rs"),
        ("pte-emit", "detected/layout.rs", "layout/plan.rs"),
    ] {
        let parsed = &PARSED.iter().find(|(other, _)| *other == name).unwrap().1;
        let file = |number: usize| &*parsed.modules[number].file;
        let is_found = parsed.edges().keys().any(|edge| (file(edge.0), file(edge.1)) == (from, to));
        assert!(is_found, "{name}: the dependency of {from} on {to} is not found");
    }
    PARSED.iter().for_each(|(name, parsed)| assert_acyclic(name, parsed));
}

fn assert_acyclic(name: &str, parsed: &Crate) {
    let (modules, edges) = (&parsed.modules, parsed.edges());
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
        .map(|((from, to), path)| format!("{} -> {}: {path}", modules[*from].file, modules[*to].file))
        .collect();
    assert!(lines.is_empty(), "{name}: cyclic dependencies:\n{}", lines.join("\n"));
}

fn names(path: &str) -> Vec<String> {
    path.split("::").filter(|name| !name.is_empty()).map(str::to_owned).collect()
}

/// Paths in the code of the module `check::data`.
#[track_caller]
fn assert_paths(code: &str, expected: &[&str]) {
    let scanner = Scanner::scan(&names("check::data"), code, false);
    assert_eq!(scanner.violations, [], "{code}");
    assert_eq!(scanner.paths.iter().map(ToString::to_string).collect::<Vec<_>>(), expected, "{code}");
}

#[test]
fn paths_are_found() {
    let tree = "use crate::data::{self, Blob as B, number::{encode, Number}, random::*};";
    let leaves =
        ["crate::data", "crate::data::Blob as B", "crate::data::number::encode", "crate::data::number::Number"];
    assert_paths(tree, &[&leaves[..], &["crate::data::random::*"]].concat());
    assert_paths("use {std::fmt, super::rules};", &["std::fmt", "crate::check::rules"]);
    assert_paths("fn f() { g(crate::raw::h(1).i::<u8>()) }", &["crate::raw::h"]);
    assert_paths("use crate :: raw; use crate::\n    ir;", &["crate::raw", "crate::ir"]);
    assert_paths("pub use crate::layout::options::OPTIONS as UP;", &["pub use crate::layout::options::OPTIONS as UP"]);
    assert_paths("pub(super) use finding::Finding;", &["pub use finding::Finding"]);
    // `self` and `super`.
    assert_paths(
        "use self::a::B; use super::c; use super::super::raw;",
        &["crate::check::data::a::B", "crate::check::c", "crate::raw"],
    );
    assert_paths("use super as c;", &["crate::check as c"]);
    let inline = "mod a { mod b { use super::super::super::rules; } use super::X; } use super::Y;";
    assert_paths(inline, &["crate::check::rules", "crate::check::data::X", "crate::check::Y"]);
    // Tokens around a path.
    assert_paths("let x = 0..a::B; s.b::<T>(); <T as c::D>::E; ::std::f(); 'l: loop {}", &["a::B", "c::D"]);
    assert_paths("pub(in crate::check) fn f() -> impl Sized + use<'a, T> {}", &[]);
    assert_paths("struct S(pub (super::T,), pub(crate) u8);", &["crate::check::T"]);
    // Macros and attributes.
    assert_paths("macro_rules! m { ($a:ty) => { $crate::raw::F; $a::B; ir::$b } }", &["crate::raw::F"]);
    assert_paths("assert!(x == crate::ir::Y, \"{}\", z!{super::W});", &["crate::ir::Y", "crate::check::W"]);
    assert_paths("#[arg(value_parser = crate::cli::parse)] a: u8", &["crate::cli::parse"]);
    // Strings and comments.
    let strings = r##"f(r"\", crate::a::B, '"', "\"crate::c::D", r#""crate::e"#); // crate::g"##;
    assert_paths(strings, &["crate::a::B"]);
    assert_paths("/* crate::a */ /// [`x`](crate::b::C)\nlet x = '\\\"';", &[]);
}

#[test]
fn only_test_modules_are_skipped() {
    assert_paths("#[cfg(test)]\nmod tests;\nuse crate::a;", &["crate::a"]);
    assert_paths("#[cfg(test)] #[rustfmt::skip] pub(crate) mod tests { use crate::b; }\nuse crate::a;", &["crate::a"]);
    assert_paths("#[cfg(test)] fn f() { crate::b::c() }", &["crate::b::c"]);
    assert_paths("#[cfg(not(test))] mod m { use crate::a; }", &["crate::a"]);
    let scanner = Scanner::scan(&names("check"), "#[cfg(test)] mod tests;", false);
    assert_eq!(scanner.test_modules, BTreeSet::from([names("check::tests")]));
}

#[test]
fn constructs_that_hide_dependencies_are_violations() {
    for (code, expected) in [
        ("use crate as c;", "the root of the crate is imported under another name"),
        ("use {crate as c};", "the root of the crate is imported under another name"),
        ("extern crate self as c;", "`crate` without a path"),
        ("extern crate self as pte_emit; m!(crate);", "`crate` without a path"),
        ("m!(crate, x);", "`crate` without a path"),
        ("m!(super);", "`super` without a path"),
        ("use crate::{self as c};", "the root of the crate is imported under another name"),
        ("use super::super::{self as c};", "the root of the crate is imported under another name"),
        ("use super::super::super::x;", "`super` of the root of the crate"),
        ("m!(crate::$a);", "`crate::` without a name"),
        ("#[path = \"x.rs\"] mod m;", "`#[path]`: the file of a module follows from its name"),
        ("#[cfg_attr(unix, path = \"x.rs\")] mod m;", "`#[path]`: the file of a module follows from its name"),
        ("include!(\"x.rs\");", "`include!`: the included code is not scanned"),
        ("std::include!(\"x.rs\");", "`include!`: the included code is not scanned"),
        ("use std::include as i;", "`include!`: the included code is not scanned"),
    ] {
        let scanner = Scanner::scan(&names("check::data"), &format!("\n{code}"), false);
        assert_eq!(scanner.violations, [(2, expected.to_owned())], "{code}");
    }
}

/// Crate with some files, and others that are empty.
fn with_files(files: &[(&str, &str)]) -> Crate {
    let mut all = BTreeMap::from(
        ["lib.rs", "ir/mod.rs", "ir/tree.rs", "layout/mod.rs", "layout/options.rs"].map(|file| (file, "")),
    );
    all.extend(files.iter().copied());
    let files: Vec<(String, String)> = all.iter().map(|(file, code)| (file.to_string(), code.to_string())).collect();
    Crate::parse(&files, false)
}

/// Dependencies of a crate with some files.
#[track_caller]
fn assert_edges(files: &[(&str, &str)], expected: &[&str]) {
    let parsed = with_files(files);
    assert!(parsed.violations.is_empty(), "{files:?}: {:?}", parsed.violations);
    let name = |file: usize| &parsed.modules[file].file;
    let found: Vec<String> = parsed.edges().keys().map(|(from, to)| format!("{} {}", name(*from), name(*to))).collect();
    assert_eq!(found, expected, "{files:?}");
}

#[test]
fn paths_lead_to_files() {
    let options = ["ir/tree.rs layout/options.rs"];
    assert_edges(&[("ir/tree.rs", "use crate::layout::options::OPTIONS;")], &options);
    assert_edges(&[("ir/tree.rs", "use crate::layout::options::*;")], &options);
    assert_edges(
        &[("ir/tree.rs", "use crate::ir; mod a { use super::super::super::layout::options::X; }")],
        &["ir/tree.rs ir/mod.rs", options[0]],
    );
    // Imported modules, also under other names and from other imports.
    let both = ["ir/tree.rs layout/mod.rs", options[0]];
    assert_edges(&[("ir/tree.rs", "use crate::layout; fn f() { layout::options::g() }")], &both);
    assert_edges(&[("ir/tree.rs", "use crate::layout as l; use l::options as o; fn f() { o::g() }")], &both);
    // Names of other crates.
    assert_edges(&[("ir/tree.rs", "use layout::options::X; use std::fmt; fn f() { fmt::g() }")], &[]);
    // The parent and its child.
    assert_edges(
        &[("ir/mod.rs", "mod tree; fn f() { tree::g() }"), ("ir/tree.rs", "use super::h;")],
        &["ir/mod.rs ir/tree.rs", "ir/tree.rs ir/mod.rs"],
    );
    // A function with the name of a module.
    assert_edges(&[("lib.rs", "pub use ir::layout;"), ("ir/tree.rs", "use crate::layout::options::X;")], &options);
}

#[test]
fn only_children_are_reexported_without_a_dependency() {
    let children = "pub use options::{A, OPTIONS as UP}; pub use crate::layout::options::B; pub use self::options::C;";
    assert_edges(&[("layout/mod.rs", children)], &[]);
    for name in ["A", "UP", "B", "C"] {
        let user = format!("use crate::layout::{name};");
        assert_edges(&[("layout/mod.rs", children), ("ir/tree.rs", &user)], &["ir/tree.rs layout/options.rs"]);
    }
    let up = "pub use crate::layout::options::OPTIONS as UP;";
    assert_edges(&[("ir/mod.rs", up)], &["ir/mod.rs layout/options.rs"]);
    assert_edges(
        &[("ir/mod.rs", up), ("ir/tree.rs", "use super::UP;")],
        &["ir/mod.rs layout/options.rs", "ir/tree.rs layout/options.rs"],
    );
    // Its own use of a re-exported type.
    assert_edges(&[("layout/mod.rs", "pub use options::A; fn f() { A::new() }")], &["layout/mod.rs layout/options.rs"]);
}

#[test]
fn globs_that_hide_names_are_violations() {
    for (file, code) in [
        ("ir/tree.rs", "use crate::*;"),
        ("ir/tree.rs", "use crate::{*};"),
        ("ir/tree.rs", "use crate::layout::*;"),
        ("ir/tree.rs", "use super::super::*;"),
        ("ir/tree.rs", "use super::*;"),
        ("ir/tree.rs", "use crate::layout as l; use l::*;"),
        ("layout/mod.rs", "pub use options::*;"),
    ] {
        assert_eq!(with_files(&[(file, code)]).violations.len(), 1, "{code}");
    }
    assert_edges(&[("ir/tree.rs", "enum Kind { A } use Kind::*; use std::fmt::*; use proptest::prelude::*;")], &[]);
}

#[test]
fn files_of_test_modules_are_skipped() {
    let tests = ("ir/tests.rs", "use super::tree; include!(\"x.rs\");");
    assert_edges(&[("ir/mod.rs", "#[cfg(test)] mod tests;"), tests], &[]);
    assert_eq!(with_files(&[("ir/mod.rs", "mod tests;"), tests]).violations.len(), 1);
}
