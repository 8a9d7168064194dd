//! The operators that a build registers: listed, of libraries, or read from the files that builds have.
//!
//! A file is recognised by its content: C++ with `Kernel("aten::add.out"`, `selected_operators.yaml`, a list of
//! functions such as `functions.yaml`, and otherwise the lines of `--ops`.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::LazyLock;

use pte_model::diagnostics::clipped;
use pte_operators::OperatorSet;
use pte_operators::target::{OPTIMIZED, PORTABLE, PRIM_OPS};
use pte_yaml::tree::{self, MapKey, NodeId, NodeValue, SourceNode};

/// Operators that a build registers: the union of those of all sources, in any order.
#[derive(Debug, Clone, Default)]
pub struct LinkedOperators {
    /// All operators.
    all: bool,
    libraries: BTreeSet<&'static str>,
    named: BTreeMap<String, NamedKernel>,
    /// Names without an overload. All their overloads are registered.
    families: BTreeSet<String>,
}

/// Known facts about the kernel of an operator.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LinkedKernel {
    /// Number of arguments with the result; `None` if it is not known.
    pub arguments: Option<usize>,
    /// Numbers of the element types for which it is compiled; `None` for all.
    pub types: Option<BTreeSet<i8>>,
}

/// Kernels of an operator that is named, of all sources.
#[derive(Debug, Clone, Default)]
struct NamedKernel {
    /// Numbers of arguments that sources state.
    arguments: BTreeSet<usize>,
    /// Numbers of the element types; `None` for all.
    types: Option<BTreeSet<i8>>,
}

/// Problem with a file, and the node of its YAML, if it has one.
type FileError = (Option<NodeId>, String);

static LIBRARIES: LazyLock<BTreeSet<&'static str>> =
    LazyLock::new(|| pte_operators::all().map(|operator| operator.target()).collect());

/// Returns the names of all libraries, sorted.
pub fn libraries() -> &'static BTreeSet<&'static str> {
    &LIBRARIES
}

impl LinkedOperators {
    /// Adds the operators of a library (CMake target) of ExecuTorch; returns `false` for an unknown one.
    pub fn add_library(&mut self, name: &str) -> bool {
        let Some(&known) = libraries().get(name) else { return false };
        self.libraries.insert(known);
        // It registers the kernels of the other one, too, some of them as faster ones.
        if known == OPTIMIZED {
            self.libraries.insert(PORTABLE);
        }
        true
    }

    /// Adds an operator, to its kernels of other sources if there are any.
    pub fn add(&mut self, name: String, kernel: LinkedKernel) {
        let LinkedKernel { arguments, types } = kernel;
        match self.named.get_mut(&name) {
            None => {
                _ = self.named.insert(name, NamedKernel { arguments: arguments.into_iter().collect(), types });
            }
            Some(named) => {
                named.arguments.extend(arguments);
                named.types = named.types.take().zip(types).map(|(a, b)| &a | &b);
            }
        }
    }

    /// Returns the kernel of an operator; `None` if the build registers none. The runtime itself always registers some.
    /// Of several kernels with different numbers of arguments, the number is not known.
    pub fn find(&self, name: &str) -> Option<LinkedKernel> {
        let library = pte_operators::find(name).map(|operator| operator.target());
        let in_library = library.is_some_and(|library| library == PRIM_OPS || self.libraries.contains(library));
        let has_all_types = self.all || in_library;
        if let Some(NamedKernel { arguments, types }) = self.named.get(name) {
            let arguments = arguments.first().copied().filter(|_| arguments.len() == 1);
            return Some(LinkedKernel { arguments, types: types.clone().filter(|_| !has_all_types) });
        }
        let (family, _) = name.split_once('.').unwrap_or((name, ""));
        (has_all_types || self.families.contains(family)).then(LinkedKernel::default)
    }

    /// Reads a file that a build has. `are_types_selected`: kernels are compiled for the element types in it only.
    ///
    /// # Errors
    /// A message about malformed content, which begins with line and column in YAML.
    pub fn add_file(&mut self, text: &str, are_types_selected: bool) -> Result<(), String> {
        if text.contains("Kernel(") {
            return self.add_cpp(text);
        }
        // The lines of `--ops` are neither a map nor a list of YAML.
        let added = match tree::parse(text) {
            Ok(SourceNode { value: NodeValue::Map(entries), .. }) => self.add_selected(&entries, are_types_selected),
            Ok(SourceNode { value: NodeValue::List(items), .. }) => self.add_functions(&items),
            Ok(_) | Err(_) => return self.add_schemas(text),
        };
        added.map_err(|(at, message)| match at.and_then(|id| tree::spans(text).get(id.0 as usize).cloned()) {
            Some(span) => {
                let before = &text[..span.start];
                let start = before.rfind('\n').map_or(0, |newline| newline + 1);
                let line = 1 + before.bytes().filter(|byte| *byte == b'\n').count();
                format!("{line}:{}: {message}", 1 + before[start..].chars().count())
            }
            None => message,
        })
    }

    /// Reads C++ that registers kernels: `Kernel("aten::add.out", ...)`, with the number of arguments that its wrapper
    /// compares.
    fn add_cpp(&mut self, text: &str) -> Result<(), String> {
        let text = without_comments(text);
        let mut found = 0;
        for part in text.split("Kernel(").skip(1) {
            let Some(name) = part.trim_start().strip_prefix('"').and_then(|rest| Some(rest.split_once('"')?.0)) else {
                continue;
            };
            let count = part.split_once("stack.size() == ").map_or("", |(_, rest)| rest);
            let digits = count.find(|c: char| !c.is_ascii_digit()).map_or(count, |end| &count[..end]);
            self.add(name.to_owned(), LinkedKernel { arguments: digits.parse().ok(), types: None });
            found += 1;
        }
        match found {
            0 => Err("no kernel is registered as `Kernel(\"name\", ...)`".to_owned()),
            _ => Ok(()),
        }
    }

    /// Reads `selected_operators.yaml`.
    fn add_selected(&mut self, entries: &Entries<'_>, are_types_selected: bool) -> Result<(), FileError> {
        unique(entries)?;
        let operators = get(entries, "operators");
        let metadata = get(entries, "et_kernel_metadata");
        let all = is_true(get(entries, "include_all_operators"))?;
        if operators.is_none() && metadata.is_none() && !all {
            return Err((
                None,
                "a map without the keys `operators` and `et_kernel_metadata` of selected_operators.yaml".to_owned(),
            ));
        }
        self.all |= all;
        // In one file, the types of the metadata are those of the operator.
        let mut file: BTreeMap<&str, Option<BTreeSet<i8>>> = BTreeMap::new();
        for (name, value) in map(operators, "a map of operators")? {
            file.insert(&name.text, None);
            if is_true(get(map(Some(value), "a map with the properties of an operator")?, "include_all_overloads"))? {
                self.families.insert(name.text.clone().into_owned());
            }
        }
        for (name, keys) in map(metadata, "a map of the keys of kernels")? {
            let NodeValue::List(keys) = &keys.value else {
                let message = format!("expected a list of keys of kernels, found {}", keys.value.describe());
                return Err((Some(keys.id), message));
            };
            file.insert(&name.text, if are_types_selected { types(keys)? } else { None });
        }
        for (name, types) in file {
            self.add(name.to_owned(), LinkedKernel { arguments: None, types });
        }
        Ok(())
    }

    /// Reads a list of functions: maps with `op: add.out` or `func: my::op.out(Tensor self, ...)`.
    fn add_functions(&mut self, items: &[SourceNode<'_>]) -> Result<(), FileError> {
        const EXPECTED: &str = "a map with `op` or `func`";
        for item in items {
            let entries = map(Some(item), EXPECTED)?;
            unique(entries)?;
            let named = get(entries, "op").or_else(|| get(entries, "func"));
            let Some(NodeValue::Text(text)) = named.map(|node| &node.value) else {
                return Err((Some(item.id), format!("expected {EXPECTED}")));
            };
            let name = text.split_once('(').map_or(&**text, |(name, _)| name).trim();
            let namespace = if name.contains("::") { "" } else { "aten::" };
            self.add(format!("{namespace}{name}"), LinkedKernel::default());
        }
        Ok(())
    }

    /// Reads the lines of `--ops`, with the arguments of the operators, and lines of names alone, which commas
    /// separate, such as those of `kernels --format list`.
    fn add_schemas(&mut self, text: &str) -> Result<(), String> {
        let mut set = OperatorSet::new();
        let mut schemas = String::new();
        for line in text.lines().map(str::trim) {
            let names = line.split(',').map(str::trim);
            let is_name = |name: &str| name.contains("::") && !name.contains(char::is_whitespace);
            if names.clone().all(is_name) {
                names.for_each(|name| self.add(name.to_owned(), LinkedKernel::default()));
                schemas.push('\n');
            } else {
                schemas += line;
                schemas.push('\n');
            }
        }
        set.add(&schemas).map_err(|errors| {
            let first = errors.first().map_or_else(String::new, ToString::to_string);
            format!("neither C++, YAML of a selective build nor a list of operators: {}", clipped(&first))
        })?;
        for (name, signature) in set.added_operators() {
            let result = usize::from(signature.result.is_some() || signature.outs().next().is_some());
            let arguments = Some(signature.args.len() + result);
            self.add(name.to_owned(), LinkedKernel { arguments, types: None });
        }
        Ok(())
    }
}

type Entries<'a> = [(MapKey<'a>, SourceNode<'a>)];

/// Returns the entries of a map; none without a node, or of one without a value.
fn map<'n, 'a>(node: Option<&'n SourceNode<'a>>, expected: &str) -> Result<&'n Entries<'a>, FileError> {
    match node.map(|node| (&node.value, node.id)) {
        Some((NodeValue::Map(entries), _)) => unique(entries).map(|()| &**entries),
        None | Some((NodeValue::Null, _)) => Ok(&[]),
        Some((other, id)) => Err((Some(id), format!("expected {expected}, found {}", other.describe()))),
    }
}

/// Reports the first duplicate key.
fn unique(entries: &Entries<'_>) -> Result<(), FileError> {
    let mut names = HashSet::new();
    match entries.iter().find(|(key, _)| !names.insert(&*key.text)) {
        Some((key, _)) => Err((Some(key.id), format!("duplicate key `{}`", clipped(&key.text)))),
        None => Ok(()),
    }
}

fn get<'n, 'a>(entries: &'n Entries<'a>, key: &str) -> Option<&'n SourceNode<'a>> {
    entries.iter().find(|(name, _)| name.text == key).map(|(_, value)| value)
}

fn is_true(node: Option<&SourceNode<'_>>) -> Result<bool, FileError> {
    match node.map(|node| (&node.value, node.id)) {
        None => Ok(false),
        Some((NodeValue::Bool(value), _)) => Ok(*value),
        Some((other, id)) => Err((Some(id), format!("expected true or false, found {}", other.describe()))),
    }
}

/// Keys of kernels for all element types, and of calls without tensors.
const ALL_TYPES: [&str; 2] = ["default", "v1"];

/// Returns the element types in the keys of the kernels of an operator, as `selected_op_variants.h` selects them;
/// `None` for all.
fn types(keys: &[SourceNode<'_>]) -> Result<Option<BTreeSet<i8>>, FileError> {
    let mut types = BTreeSet::new();
    let mut has_all = keys.is_empty();
    for node in keys {
        let key = match &node.value {
            NodeValue::Text(key) => &**key,
            _ => "",
        };
        if ALL_TYPES.contains(&key) {
            has_all = true;
            continue;
        }
        let parsed = key.strip_prefix("v1/").and_then(|tensors| {
            tensors.split('|').map(|tensor| tensor.split_once(';')?.0.parse().ok()).collect::<Option<Vec<i8>>>()
        });
        let Some(parsed) = parsed else {
            let found = match &node.value {
                NodeValue::Text(text) => format!("`{}`", clipped(text)),
                other => other.describe(),
            };
            return Err((
                Some(node.id),
                format!("expected the key of a kernel, such as v1/6;0,1 or default, found {found}"),
            ));
        };
        types.extend(parsed);
    }
    Ok((!has_all).then_some(types))
}

/// Returns C++ without comments. Names of operators contain no `//`.
fn without_comments(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('/') {
        out += &rest[..at];
        rest = &rest[at..];
        let end = match rest.as_bytes().get(1) {
            Some(b'/') => rest.find('\n').unwrap_or(rest.len()),
            Some(b'*') => rest[2..].find("*/").map_or(rest.len(), |end| end + 4),
            _ => {
                out.push('/');
                1
            }
        };
        rest = &rest[end..];
    }
    out + rest
}
