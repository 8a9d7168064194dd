//! The operators that a build registers: listed, of libraries, or read from the files that builds have.
//!
//! A file is recognised by its content: C++ with `Kernel("aten::add.out"`, `selected_operators.yaml`, a list of functions such as
//! `functions.yaml`, and otherwise the lines of `--ops`.

use std::collections::{BTreeMap, BTreeSet};

use pte_model::diagnostics::clipped;
use pte_operators::OperatorSet;
use pte_yaml::tree::{self, MapKey, NodeValue, SourceNode};

/// Operators that a build registers.
#[derive(Debug, Clone, Default)]
pub struct LinkedOperators {
    /// All operators.
    all: bool,
    libraries: BTreeSet<&'static str>,
    named: BTreeMap<String, LinkedKernel>,
    /// Names without an overload, all overloads of which are registered.
    families: BTreeSet<String>,
}

/// What is known of the kernel of an operator.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LinkedKernel {
    /// Number of arguments with the result; `None` if it is not known.
    pub arguments: Option<usize>,
    /// Numbers of the element types for which it is compiled; `None` for all.
    pub types: Option<BTreeSet<i8>>,
}

/// Library that registers the kernels of `portable_ops_lib`, too, some of them as faster ones.
const OPTIMIZED: &str = "optimized_native_cpu_ops_lib";

/// Library of the kernels that [`OPTIMIZED`] registers, too.
const PORTABLE: &str = "portable_ops_lib";

/// Returns the names of all libraries, sorted.
pub fn libraries() -> BTreeSet<&'static str> {
    pte_operators::all().map(|operator| operator.target()).collect()
}

impl LinkedOperators {
    /// Adds the operators of a library (CMake target) of ExecuTorch; returns `false` for an unknown one.
    pub fn add_library(&mut self, name: &str) -> bool {
        let Some(known) = libraries().take(name) else { return false };
        self.libraries.insert(known);
        if known == OPTIMIZED {
            self.libraries.insert(PORTABLE);
        }
        true
    }

    /// Adds an operator.
    pub fn add(&mut self, name: String, kernel: LinkedKernel) {
        self.named.insert(name, kernel);
    }

    /// Returns the kernel of an operator; `None` if the build registers none. The runtime itself always registers some.
    pub fn find(&self, name: &str) -> Option<LinkedKernel> {
        if let Some(kernel) = self.named.get(name) {
            return Some(kernel.clone());
        }
        let library = pte_operators::find(name).map(|operator| operator.target());
        let in_library =
            library.is_some_and(|library| library == pte_operators::PRIM_OPS || self.libraries.contains(library));
        let (family, _) = name.split_once('.').unwrap_or((name, ""));
        (self.all || in_library || self.families.contains(family)).then(LinkedKernel::default)
    }

    /// Reads a file that a build has. `are_types_selected`: kernels are compiled for the element types in it only.
    ///
    /// # Errors
    /// A message about malformed content.
    pub fn add_file(&mut self, text: &str, are_types_selected: bool) -> Result<(), String> {
        if text.contains("Kernel(") {
            return self.add_cpp(text);
        }
        // The lines of `--ops` are no map or list of YAML.
        match tree::parse(text) {
            Ok(SourceNode { value: NodeValue::Map(entries), .. }) => self.add_selected(&entries, are_types_selected),
            Ok(SourceNode { value: NodeValue::List(items), .. }) => self.add_functions(&items),
            Ok(_) | Err(_) => self.add_schemas(text),
        }
    }

    /// Reads C++ that registers kernels: `Kernel("aten::add.out", ...)`, with the number of arguments that its wrapper compares.
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
    fn add_selected(&mut self, entries: &Entries<'_>, are_types_selected: bool) -> Result<(), String> {
        let operators = get(entries, "operators");
        let metadata = get(entries, "et_kernel_metadata");
        self.all |= is_true(get(entries, "include_all_operators"));
        if operators.is_none() && metadata.is_none() && !self.all {
            return Err(
                "a map without the keys `operators` and `et_kernel_metadata` of selected_operators.yaml".to_owned()
            );
        }
        for (name, value) in map(operators) {
            self.add(name.text.clone().into_owned(), LinkedKernel::default());
            if is_true(get(map(Some(value)), "include_all_overloads")) {
                self.families.insert(name.text.clone().into_owned());
            }
        }
        for (name, keys) in map(metadata) {
            let NodeValue::List(keys) = &keys.value else { continue };
            let types = are_types_selected.then(|| types(keys)).flatten();
            self.add(name.text.clone().into_owned(), LinkedKernel { arguments: None, types });
        }
        Ok(())
    }

    /// Reads a list of functions: maps with `op: add.out` or `func: my::op.out(Tensor self, ...)`.
    fn add_functions(&mut self, items: &[SourceNode<'_>]) -> Result<(), String> {
        for item in items {
            let entries = map(Some(item));
            let named = get(entries, "op").or_else(|| get(entries, "func"));
            let Some(NodeValue::Text(text)) = named.map(|node| &node.value) else {
                return Err("an item of the list is not a map with `op` or `func`".to_owned());
            };
            let name = text.split_once('(').map_or(&**text, |(name, _)| name).trim();
            let namespace = if name.contains("::") { "" } else { "aten::" };
            self.add(format!("{namespace}{name}"), LinkedKernel::default());
        }
        Ok(())
    }

    /// Reads the lines of `--ops`, with the arguments of the operators.
    fn add_schemas(&mut self, text: &str) -> Result<(), String> {
        let mut set = OperatorSet::new();
        set.add(text).map_err(|errors| {
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

fn map<'n, 'a>(node: Option<&'n SourceNode<'a>>) -> &'n Entries<'a> {
    match node.map(|node| &node.value) {
        Some(NodeValue::Map(entries)) => entries,
        _ => &[],
    }
}

fn get<'n, 'a>(entries: &'n Entries<'a>, key: &str) -> Option<&'n SourceNode<'a>> {
    entries.iter().find(|(name, _)| name.text == key).map(|(_, value)| value)
}

fn is_true(node: Option<&SourceNode<'_>>) -> bool {
    node.is_some_and(|node| node.value == NodeValue::Bool(true))
}

/// Returns the element types in the keys of the kernels of an operator, as `selected_op_variants.h` selects them; `None` for all.
fn types(keys: &[SourceNode<'_>]) -> Option<BTreeSet<i8>> {
    let mut types = BTreeSet::new();
    for key in keys {
        let NodeValue::Text(key) = &key.value else { return None };
        let (_, tensors) = key.split_once('/')?;
        for tensor in tensors.split('|') {
            types.insert(tensor.split(';').next()?.parse().ok()?);
        }
    }
    (!types.is_empty()).then_some(types)
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
