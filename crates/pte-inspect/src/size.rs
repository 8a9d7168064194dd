//! Computes the sizes of the parts of a file, as a tree with the size of the file at its root. The caller selects its
//! levels.

use std::borrow::Cow;
use std::collections::HashMap;
use std::io;

use serde::Serialize;

use crate::annotate::leaves::{self, Leaf};
use pte_model::data::Origin;
use pte_model::format::Format;
use pte_model::format::words::words;

/// Version of the serialised form.
const VERSION: u32 = 2;

words! {
    /// Property by which a level of the tree divides the bytes.
    ///
    /// ```
    /// use pte_inspect::size::SizeDimension;
    ///
    /// assert_eq!(SizeDimension::ALL.map(SizeDimension::name), ["segment", "method", "kind", "pattern", "tensor"]);
    /// ```
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
    #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
    #[serde(rename_all = "lowercase")]
    #[non_exhaustive]
    pub enum SizeDimension {
        /// Part of the file: header, FlatBuffer, a segment, padding.
        Segment "segment",
        /// Method.
        Method "method",
        /// Table of the schema, or kind of the data.
        Kind "kind",
        /// Name of a value, instruction, delegate or key, with `*` in place of numbers: `layers.*.weight`.
        Pattern "pattern",
        /// Value, instruction, delegate or key.
        Tensor "tensor",
    } fn name;
}

impl SizeDimension {
    /// Returns the value of the dimension for bytes. Those without an owner are of a part of the file.
    fn of<'l>(self, leaf: &Leaf<'l>, names: &'l HashMap<String, String>) -> Cow<'l, str> {
        let name = names.get(leaf.owner).map(String::as_str);
        match self {
            SizeDimension::Segment => leaf.segment.into(),
            SizeDimension::Method if leaf.method.is_empty() => NO_METHOD.into(),
            SizeDimension::Method => leaf.method.into(),
            SizeDimension::Kind => leaf.kind.into(),
            SizeDimension::Pattern | SizeDimension::Tensor if leaf.owner.is_empty() => leaf.segment.into(),
            SizeDimension::Pattern => {
                pattern(name.map_or(leaf.owner, |name| name.rsplit_once(" (").map_or(name, |(name, _)| name))).into()
            }
            SizeDimension::Tensor => name.unwrap_or(leaf.owner).into(),
        }
    }
}

/// Returns a name with `*` in place of the numbers between its punctuation.
fn pattern(name: &str) -> String {
    let parts = name.split_inclusive(|c: char| !c.is_alphanumeric());
    let replaced = |part| match str::trim_start_matches(part, |c: char| c.is_ascii_digit()) {
        rest if rest.len() < part.len() && !rest.starts_with(|c: char| c.is_alphanumeric()) => ["*", rest],
        _ => ["", part],
    };
    parts.flat_map(replaced).collect()
}

/// Name of the node of bytes without a method.
const NO_METHOD: &str = "(no method)";

/// Sizes of the parts of a file as a tree of [`SizeNode`]s.
///
/// ```
/// use std::collections::HashMap;
///
/// use pte_inspect::size::{FileSize, SizeDimension};
/// use pte_model::data::Origin;
/// use pte_model::format::Format;
///
/// let origin = Origin::Bytes(pte_model::LINEAR_PTE.into());
/// let names = HashMap::new();
/// let size = FileSize::new("linear.pte", &origin, Format::Program, &[SizeDimension::Kind], &names)?;
/// assert_eq!(size.bytes, pte_model::LINEAR_PTE.len() as u64);
/// assert_eq!(size.children.iter().map(|child| child.bytes).sum::<u64>(), size.bytes);
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct FileSize {
    /// Version of the serialised form: it grows when a key changes.
    #[cfg_attr(feature = "schema", schemars(extend("const" = VERSION)))]
    pub version: u32,
    /// Name of the file.
    pub file: String,
    /// Levels of the tree below its root.
    pub dimensions: Vec<SizeDimension>,
    /// Size of the file in bytes: the sum of the children.
    pub bytes: u64,
    /// First level, the largest node first.
    pub children: Vec<SizeNode>,
}

/// Bytes with the same value of a dimension, part of a [`FileSize`].
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct SizeNode {
    /// Value of the dimension: a part of the file, a method, a kind or an owner.
    pub name: String,
    /// Size in bytes: the sum of the children, unless there are none.
    pub bytes: u64,
    /// Next level, the largest node first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub children: Vec<SizeNode>,
}

/// A node to which bytes are added.
#[derive(Default)]
struct Filling {
    bytes: u64,
    children: HashMap<String, Filling>,
}

impl Filling {
    fn add(&mut self, leaf: &Leaf<'_>, dimensions: &[SizeDimension], names: &HashMap<String, String>) {
        self.bytes += leaf.bytes;
        let Some((dimension, rest)) = dimensions.split_first() else { return };
        let name = dimension.of(leaf, names);
        if !self.children.contains_key(&*name) {
            self.children.insert(name.clone().into_owned(), Filling::default());
        }
        if let Some(child) = self.children.get_mut(&*name) {
            child.add(leaf, rest, names);
        }
    }

    /// Returns the children, the largest first.
    fn finish(self) -> Vec<SizeNode> {
        let node = |(name, child): (String, Filling)| SizeNode { name, bytes: child.bytes, children: child.finish() };
        let mut children: Vec<SizeNode> = self.children.into_iter().map(node).collect();
        children.sort_by(|a, b| b.bytes.cmp(&a.bytes).then_with(|| a.name.cmp(&b.name)));
        children
    }
}

impl FileSize {
    /// Computes the sizes of a file. `file` is its name; `names` has names to show in place of the paths of values.
    ///
    /// # Errors
    /// A file that cannot be read.
    pub fn new(
        file: &str,
        origin: &Origin,
        format: Format,
        dimensions: &[SizeDimension],
        names: &HashMap<String, String>,
    ) -> io::Result<FileSize> {
        let mut root = Filling::default();
        leaves::each(origin, format, &mut |leaf| {
            // All bytes of a claim can belong to others.
            if leaf.bytes > 0 {
                root.add(leaf, dimensions, names);
            }
        })?;
        Ok(FileSize {
            version: VERSION,
            file: file.to_owned(),
            dimensions: dimensions.to_vec(),
            bytes: root.bytes,
            children: root.finish(),
        })
    }

    /// Keeps the largest `rows` children of each node, and merges the others into one. Its name has their number, its
    /// size is their sum.
    pub fn limit(&mut self, rows: usize) {
        limit(&mut self.children, rows);
    }
}

fn limit(children: &mut Vec<SizeNode>, rows: usize) {
    if children.len() > rows.saturating_add(1) {
        let rest = children.split_off(rows);
        let bytes = rest.iter().map(|child| child.bytes).fold(0, u64::saturating_add);
        children.push(SizeNode { name: format!("({} more)", rest.len()), bytes, children: Vec::new() });
    }
    children.iter_mut().for_each(|child| limit(&mut child.children, rows));
}

#[cfg(test)]
mod tests {
    use super::pattern;

    #[test]
    fn patterns_have_no_numbers_between_punctuation() {
        for (name, expected) in [
            ("layers.0.attention.wq.weight", "layers.*.attention.wq.weight"),
            ("p_layers_12_fc1_bias", "p_layers_*_fc1_bias"),
            ("layer1.0.conv1.weight", "layer1.*.conv1.weight"),
            ("methods.forward.values[3]", "methods.forward.values[*]"),
            ("conv2d_43 filter", "conv2d_* filter"),
            ("x_1", "x_*"),
            ("7", "*"),
            ("2nd é5.6", "2nd é5.*"),
            ("", ""),
        ] {
            assert_eq!(pattern(name), expected, "{name}");
        }
    }
}
