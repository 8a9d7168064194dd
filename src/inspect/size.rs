//! Where the bytes of a file are: a tree with the size of the file at its root, whose levels are chosen. Draws nothing.

use std::collections::HashMap;
use std::io;

use serde_json::{Value, json};

use crate::annotate::leaves::{self, Leaf};
use crate::data::Origin;
use crate::format::Format;

/// Version of the JSON.
const VERSION: u32 = 2;

/// What the bytes of a level of the tree have in common.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Dimension {
    /// Part of the file: header, FlatBuffer, a segment, padding.
    Segment,
    /// Method.
    Method,
    /// Table of the schema, or kind of the data.
    Kind,
    /// Value, instruction, delegate or key.
    Tensor,
}

impl Dimension {
    /// Name in `-d`, in the order of the variants.
    pub(crate) const NAMES: [(&'static str, Dimension); 4] = [
        ("segment", Dimension::Segment),
        ("method", Dimension::Method),
        ("kind", Dimension::Kind),
        ("tensor", Dimension::Tensor),
    ];

    fn of<'l>(self, leaf: &Leaf<'l>, names: &'l HashMap<String, String>) -> &'l str {
        match self {
            Dimension::Segment => leaf.segment,
            Dimension::Method => leaf.method,
            Dimension::Kind => leaf.kind,
            Dimension::Tensor => names.get(leaf.owner).map_or(leaf.owner, String::as_str),
        }
    }
}

/// Name of the bytes that have no method or owner.
const NONE: &str = "(none)";

/// A file as a tree of sizes.
#[derive(Debug)]
pub struct SizeTree {
    /// Name of the file.
    pub file: String,
    /// Levels below the root.
    pub dimensions: Vec<Dimension>,
    /// All of the file.
    pub root: SizeNode,
}

/// A node of the tree.
#[derive(Debug, Default)]
pub struct SizeNode {
    /// What its bytes have in common; empty at the root.
    pub name: String,
    /// Size in bytes: the sum of the children, if there are any.
    pub bytes: u64,
    /// The next level, the largest first.
    pub children: Vec<SizeNode>,
}

/// A node while it is filled.
#[derive(Default)]
struct Filling {
    bytes: u64,
    children: HashMap<String, Filling>,
}

impl Filling {
    fn add(&mut self, leaf: &Leaf<'_>, dimensions: &[Dimension], names: &HashMap<String, String>) {
        self.bytes += leaf.bytes;
        let Some((dimension, rest)) = dimensions.split_first() else { return };
        let name = match dimension.of(leaf, names) {
            "" => NONE,
            name => name,
        };
        if !self.children.contains_key(name) {
            self.children.insert(name.to_owned(), Filling::default());
        }
        if let Some(child) = self.children.get_mut(name) {
            child.add(leaf, rest, names);
        }
    }

    fn finish(self, name: String) -> SizeNode {
        let mut children: Vec<SizeNode> = self.children.into_iter().map(|(name, child)| child.finish(name)).collect();
        children.sort_by(|a, b| b.bytes.cmp(&a.bytes).then_with(|| a.name.cmp(&b.name)));
        SizeNode { name, bytes: self.bytes, children }
    }
}

impl SizeTree {
    /// Measures a file with a name. `names` has texts to show in place of the paths of values.
    ///
    /// # Errors
    /// A file that cannot be read.
    pub fn new(
        file: &str,
        origin: &Origin,
        format: Format,
        dimensions: &[Dimension],
        names: &HashMap<String, String>,
    ) -> io::Result<SizeTree> {
        let mut root = Filling::default();
        leaves::each(origin, format, &mut |leaf| {
            // Claims whose bytes all belong to others.
            if leaf.bytes > 0 {
                root.add(leaf, dimensions, names);
            }
        })?;
        Ok(SizeTree { file: file.to_owned(), dimensions: dimensions.to_vec(), root: root.finish(String::new()) })
    }

    /// The document of `size --json`.
    pub fn json(&self) -> Value {
        let dimensions: Vec<&str> = self.dimension_names().collect();
        json!({
            "version": VERSION,
            "file": self.file,
            "dimensions": dimensions,
            "bytes": self.root.bytes,
            "children": self.root.children.iter().map(SizeNode::json).collect::<Vec<_>>(),
        })
    }

    /// Merges all but the largest `limit` children of each node into one, which is called by their number. Its size is their sum.
    pub fn limit(&mut self, limit: usize) {
        self.root.limit(limit);
    }

    /// Names of the levels.
    pub fn dimension_names(&self) -> impl Iterator<Item = &'static str> {
        let name =
            |dimension: &Dimension| Dimension::NAMES.iter().find(|(_, other)| other == dimension).map(|row| row.0);
        self.dimensions.iter().filter_map(name)
    }
}

impl SizeNode {
    fn limit(&mut self, limit: usize) {
        if self.children.len() > limit.saturating_add(1) {
            let rest = self.children.split_off(limit);
            let bytes = rest.iter().map(|child| child.bytes).fold(0, u64::saturating_add);
            let name = format!("({} more)", rest.len());
            self.children.push(SizeNode { name, bytes, children: Vec::new() });
        }
        self.children.iter_mut().for_each(|child| child.limit(limit));
    }

    fn json(&self) -> Value {
        let mut node = json!({"name": self.name, "bytes": self.bytes});
        if !self.children.is_empty() {
            node["children"] = self.children.iter().map(SizeNode::json).collect();
        }
        node
    }
}
