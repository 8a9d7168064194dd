//! Canonical layout of YAML, which `dump` prints; and YAML without the keys that assembling computes, or with them.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use super::model::Model;
use crate::assembly::Assembly;
use crate::ir::document::{At, ParsedTensor};
use crate::ir::style::Style;
use crate::ir::{inferred, write, yaml};
use pte_model::diagnostics::Code;
use pte_model::error::Error;
use pte_model::program::attributes::TENSOR_ATTRIBUTES;
use pte_model::program::{DimOrder, Tensor};
use pte_yaml::format::{self, Addition, Edits};
use pte_yaml::template;
use pte_yaml::tree::{self, NodeId, NodeValue, SourceNode};

/// Keys of the YAML that assembling computes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum ComputedKeys {
    /// As they are written.
    #[default]
    AsWritten,
    /// Left out, if the files stay the same without them.
    Omitted,
    /// The element types and sizes of all tensors of methods are stated.
    Stated,
}

/// YAML in the layout of `dump`: the result of [`Model::format_yaml`].
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Formatted {
    /// YAML.
    pub text: String,
    /// Number of keys that stay as they are because the document is too large to try them.
    pub untried: usize,
}

/// Work to try which keys of a document can be left out or stated: bytes of YAML that are assembled, and a number of
/// assemblies that a larger document has, too.
const TRIED: usize = 4 << 30;
const TRIALS: usize = 1000;

/// Size in bytes up to which data of files are compared, not only their metadata. The YAML of the data does not change.
const COMPARED: u64 = 64 << 20;

impl Model {
    /// Returns the YAML in the layout in which files are printed as YAML, with its comments, anchors, variables and
    /// documents; JSON stays JSON. Its meaning is the same, which is verified.
    ///
    /// ```
    /// use pte_emit::{ComputedKeys, Model};
    ///
    /// let yaml = "methods: {f: {inputs:   [x], # one\n  outputs: [y], values: {x: {'tensor': float32,\n
    ///   sizes: [0x2]}}, instructions: [{kernel: aten::relu.out, args: [x], out: y}]}}";
    /// let expected = "\
    /// methods:
    ///   f:
    ///     inputs: [x]  # one
    ///     outputs: [y]
    ///     values:
    ///       x: {tensor: float32, sizes: [0x2]}
    ///     instructions:
    ///       - {kernel: aten::relu.out, args: [x], out: y}
    /// ";
    /// let formatted = |yaml, keys| Model::from_yaml("f.yaml", yaml, ".").formatted(keys);
    /// assert_eq!(formatted(yaml, ComputedKeys::AsWritten)?, expected);
    ///
    /// let explicit = formatted(yaml, ComputedKeys::Stated)?;
    /// assert!(explicit.contains("\n      y: {tensor: float32, sizes: [2]}\n"));
    /// assert_eq!(formatted(&explicit, ComputedKeys::Omitted)?, expected);
    /// # Ok::<(), pte_emit::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`Model::format_yaml`].
    pub fn formatted(&self, keys: ComputedKeys) -> Result<String, Error> {
        self.format_yaml(keys).map(|formatted| formatted.text)
    }

    /// Does the same as [`Model::formatted`], and returns how many keys were not tried.
    ///
    /// ```
    /// use pte_emit::{ComputedKeys, Formatted, Model};
    ///
    /// let model = Model::from_yaml("f.yaml", "methods: {f: {outputs:   [1]}}", ".");
    /// let Formatted { text, untried, .. } = model.format_yaml(ComputedKeys::Omitted)?;
    /// assert_eq!((&*text, untried), ("methods:\n  f:\n    outputs: [1]\n", 0));
    /// # Ok::<(), pte_emit::Error>(())
    /// ```
    ///
    /// # Errors
    /// A binary file; YAML that is not well-formed; a name that ends with `.json` of what is not JSON. To omit or to
    /// state keys, the YAML must assemble, have no variables, and not be JSON.
    pub fn format_yaml(&self, keys: ComputedKeys) -> Result<Formatted, Error> {
        if !self.is_text() {
            return Err(Error::input(Code::UnexpectedInput, self.name(), "expected YAML, found a binary file"));
        }
        let text = self.source().text();
        let request = |message: String| Error::input(Code::UnmetRequest, self.name(), message);
        let problem = format::json_problem(text.trim_start_matches('\u{feff}'));
        let is_called_json = Path::new(self.name()).extension().is_some_and(|end| end.eq_ignore_ascii_case("json"));
        match problem {
            // YAML in its place would not be what the name says.
            Some(problem) if is_called_json => {
                return Err(request(format!("the name ends with .json, but the content is not JSON: {problem}")));
            }
            None if keys != ComputedKeys::AsWritten => {
                return Err(request("computed keys can be left out or stated only in YAML; this is JSON".to_owned()));
            }
            _ => {}
        }
        let syntax = |error: tree::SyntaxError| self.source().error(vec![error.diagnostic()]);
        let formatted = format::format(text, &Style).map_err(syntax)?;
        if keys == ComputedKeys::AsWritten {
            return Ok(Formatted { text: formatted, untried: 0 });
        }
        if template::variables(&formatted).is_ok_and(|variables| !variables.is_empty()) {
            let message = "the YAML has variables, on whose values the keys that are computed may depend";
            return Err(request(message.to_owned()));
        }
        let mut all = Formatted { text: String::new(), untried: 0 };
        for (_, document) in template::documents(&formatted) {
            let trials = (TRIED / document.len().max(1)).max(TRIALS);
            let trials = Trials { model: self, text: document, left: trials, untried: 0, expected: None };
            let (text, untried) = trials.with(keys)?;
            all.text.push_str(&text);
            all.untried += untried;
        }
        Ok(all)
    }
}

/// A change of the YAML that is tried.
#[derive(Clone)]
enum Edit {
    /// Leave out the key at this offset.
    Drop(usize),
    /// Add entries to the map of the key at this offset.
    Add(usize, Addition),
}

/// Trials of changes of a document.
struct Trials<'t> {
    model: &'t Model,
    text: &'t str,
    /// Assemblies that are left, and keys that were not tried.
    left: usize,
    untried: usize,
    /// Files of the document as it is.
    expected: Option<Files>,
}

/// Files of an assembly: sizes, and content, of large ones that of the metadata; and the tests.
#[derive(PartialEq)]
struct Files(Vec<(Option<u64>, Vec<u8>)>, Vec<pte_model::program::test_cases::MethodTests>);

impl Files {
    fn of(assembly: &Assembly) -> io::Result<Files> {
        let files = assembly.program_file().into_iter().chain(assembly.data_files().map(|(_, file)| file));
        let content = files.map(|file| match file.size() {
            Some(size @ ..=COMPARED) => Ok((Some(size), file.to_vec()?)),
            size => Ok((size, file.metadata())),
        });
        Ok(Files(content.collect::<io::Result<_>>()?, assembly.tests.clone()))
    }
}

impl Trials<'_> {
    /// Returns the document with the keys that are computed omitted or stated, and the number of keys not tried.
    fn with(mut self, keys: ComputedKeys) -> Result<(String, usize), Error> {
        let model = self.edited_model(self.text);
        let assembly = model.assembly()?;
        let unreadable = |error: io::Error| Error::io(self.model.name(), "", &error);
        self.expected = Some(Files::of(assembly).map_err(unreadable)?);
        let root = tree::parse(self.text).map_err(|error| model.source().error(vec![error.diagnostic()]))?;
        let spans = tree::spans(self.text);
        let start = |id: NodeId| spans.get(id.0 as usize).map_or(usize::MAX, |span| span.start);
        let mut accepted = Vec::new();
        match keys {
            ComputedKeys::AsWritten => {}
            ComputedKeys::Omitted => {
                // What declares nothing and is not needed goes first; then properties, and maps that are empty then.
                for _ in 0..2 {
                    let edits: Vec<Edit> = inferred::keys(&root).into_iter().map(|id| Edit::Drop(start(id))).collect();
                    let is_new = |edit: &Edit| !accepted.iter().any(|old| offset(old) == offset(edit));
                    let edits: Vec<Edit> = edits.into_iter().filter(is_new).collect();
                    self.untried = 0;
                    self.accept(&edits, false, &mut accepted);
                }
            }
            ComputedKeys::Stated => _ = self.accept(&stated(&root, assembly, &start), false, &mut accepted),
        }
        let text = self.format(&accepted).map_err(|error| model.source().error(vec![error.diagnostic()]))?;
        Ok((text, self.untried))
    }

    fn edited_model(&self, text: &str) -> Model {
        self.model.edited(text, self.model.source().files.planned.clone())
    }

    fn format(&self, edits: &[Edit]) -> Result<String, tree::SyntaxError> {
        let mut all = Edits { dropped: Default::default(), added: BTreeMap::new() };
        for edit in edits {
            match edit {
                Edit::Drop(start) => _ = all.dropped.insert(*start),
                Edit::Add(start, text) => all.added.entry(*start).or_default().push(text.clone()),
            }
        }
        format::edited(self.text, &Style, &all)
    }

    /// Adds those of `edits` that do not change the files to `accepted`: all at once, or halves of them. `fails` is
    /// true if it is known that all at once change them. Returns true if all are added.
    fn accept(&mut self, edits: &[Edit], fails: bool, accepted: &mut Vec<Edit>) -> bool {
        let count = accepted.len();
        if !fails {
            let Some(left) = self.left.checked_sub(1) else {
                self.untried += edits.len();
                return false;
            };
            self.left = left;
            accepted.extend_from_slice(edits);
            let is_same = self.format(accepted).is_ok_and(|text| {
                let model = self.edited_model(&text);
                model.assembly().is_ok_and(|assembly| Files::of(assembly).ok() == self.expected)
            });
            if is_same {
                return true;
            }
            accepted.truncate(count);
        }
        if edits.len() > 1 {
            let (first, second) = edits.split_at(edits.len() / 2);
            let is_first = self.accept(first, false, accepted);
            // With all of the first half, the second one is what was tried already.
            self.accept(second, is_first, accepted);
        }
        false
    }
}

fn offset(edit: &Edit) -> usize {
    match edit {
        Edit::Drop(start) | Edit::Add(start, _) => *start,
    }
}

/// Returns the edits that state the properties of all tensors of methods that have names.
fn stated(root: &SourceNode<'_>, assembly: &Assembly, start: &dyn Fn(NodeId) -> usize) -> Vec<Edit> {
    use crate::ir::shape::{document, method};
    let mut edits = Vec::new();
    let methods = entry(root, document::methods).map(|(_, methods)| methods);
    for (number, plan) in assembly.program.plans().iter().enumerate() {
        let name = plan.name.as_deref().unwrap_or_default();
        let Some((key, own)) = methods.and_then(|methods| entry(methods, name)) else { continue };
        let values = entry(own, method::values);
        for (index, value) in plan.values().iter().enumerate() {
            let (Some(tensor), Some(name)) = (value.as_tensor(), assembly.value_name(number, index)) else { continue };
            let (text, quoted) = (properties(tensor), yaml::text(name));
            let add = |key, text, is_last| Edit::Add(start(key), Addition { text, is_last });
            edits.push(match values.map(|(key, values)| (key, entry(values, name))) {
                Some((_, Some((key, SourceNode { value: NodeValue::Map(_), .. })))) => add(key, text, false),
                // A value that is no tensor there.
                Some((_, Some(_))) => continue,
                Some((key, None)) => add(key, format!("{{{quoted}: {text}}}"), true),
                None => add(key, format!("{{{}: {{{quoted}: {text}}}}}", method::values), true),
            });
        }
    }
    edits
}

/// Returns an entry of a map: the id of its key, and its value.
fn entry<'n, 's>(map: &'n SourceNode<'s>, name: &str) -> Option<(NodeId, &'n SourceNode<'s>)> {
    let NodeValue::Map(entries) = &map.value else { return None };
    entries.iter().find(|(key, _)| key.text == name).map(|(key, value)| (key.id, value))
}

/// Returns the properties of a tensor that other tensors can determine, as a map.
fn properties(tensor: &Tensor) -> String {
    let sizes = tensor.sizes.as_deref().unwrap_or_default();
    let attributes =
        TENSOR_ATTRIBUTES.iter().enumerate().map(|(position, attribute)| (position, (attribute.get)(tensor)));
    let order = tensor.dim_order.clone().filter(|order| *order != DimOrder::contiguous(sizes.len()));
    let mut out = String::new();
    write::write(
        &ParsedTensor {
            scalar_type: Some(At::from(tensor.scalar_type)),
            sizes: Some(sizes.to_vec().into()),
            dim_order: order.map(Into::into),
            attributes: attributes.filter(|(_, value)| *value != 0).collect(),
            ..ParsedTensor::default()
        },
        &mut out,
    );
    out
}

#[cfg(test)]
mod tests {
    use super::{ComputedKeys, Trials};
    use crate::Model;

    #[test]
    fn keys_that_are_not_tried_are_counted() {
        let value = |name: &str| format!("      {name}: {{tensor: float32, sizes: [2]}}\n");
        let values: String = ["x", "a", "b", "c", "y"].map(value).concat();
        let call = |arg: &str, out: &str| format!("      - {{kernel: aten::relu.out, args: [{arg}], out: {out}}}\n");
        let calls = [("x", "a"), ("a", "b"), ("b", "c"), ("c", "y")].map(|(arg, out)| call(arg, out)).concat();
        let text = format!(
            "methods:\n  f:\n    values:\n{values}    inputs: [x]\n    outputs: [y]\n    instructions:\n{calls}"
        );
        let model = Model::from_yaml("f.yaml", text.as_str(), ".");
        let tried = |left| {
            let trials = Trials { model: &model, text: &text, left, untried: 0, expected: None };
            trials.with(ComputedKeys::Omitted).unwrap()
        };
        let (all, untried) = tried(1000);
        assert!(untried == 0 && all.matches("float32").count() == 1, "{all}");
        let (some, untried) = tried(4);
        assert!(untried > 0 && some.matches("float32").count() > 1, "{untried} {some}");
        assert_eq!(tried(0).0, text);
    }
}
