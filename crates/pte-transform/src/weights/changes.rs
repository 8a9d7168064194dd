//! Changes that [`super::set`] makes, and mismatches, with messages.

use serde::Serialize;

use super::source::SourceTensor;
use pte_model::diagnostics::{clipped, first_names};

/// A constant and the tensor that it is set to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct WeightAssignment {
    /// Name of the constant.
    pub name: String,
    /// Name of the tensor in the source.
    pub source: String,
    /// Element type and sizes, such as `float32 [4, 3]`.
    #[serde(rename = "type")]
    pub shape: String,
    /// Size in bytes.
    pub bytes: u64,
    /// True if the elements are stored in another order of dimensions than in the source.
    pub reordered: bool,
    /// True if the dimensions are swapped: the exporter folded a transposition.
    pub transposed: bool,
}

/// A constant that does not have the type or sizes of the tensor with its name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct WeightMismatch {
    /// Name of the constant.
    pub name: String,
    /// Name of the tensor in the source.
    pub source: String,
    /// Type and sizes of the tensor in the source.
    pub found: String,
    /// Type and sizes of the constant.
    pub expected: String,
    /// Explanation; empty if there is none.
    pub reason: String,
}

/// A constant that is not set.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct UnsetWeight {
    /// Name of the constant.
    pub name: String,
    /// Type and sizes.
    #[serde(rename = "type")]
    pub shape: String,
    /// Nearest name in the source that sets nothing.
    pub nearest: Option<String>,
    /// Name of a constant with the same data that is set.
    pub shares_with: Option<String>,
    /// Names of the source that it can have, if its old bytes are those of several tensors.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ambiguous: Vec<String>,
}

/// Data that cannot be set by the name of a tensor.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct UnsettableWeight {
    /// Name or key.
    pub name: String,
    /// Reason, as a clause.
    pub reason: String,
}

/// Tensor of the source that sets nothing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct UnusedSource {
    /// Name.
    pub name: String,
    /// Type and sizes.
    #[serde(rename = "type")]
    pub shape: String,
    /// Nearest name of a constant without a source.
    pub nearest: Option<String>,
    /// Name of a constant without a source whose sizes are these in another order.
    pub transposed: Option<String>,
}

/// Changes to the weights, and mismatches.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct WeightChanges {
    /// Constants that are set.
    pub set: Vec<WeightAssignment>,
    /// Constants whose types or sizes differ from those of their sources.
    pub mismatches: Vec<WeightMismatch>,
    /// Constants without a source.
    pub unset: Vec<UnsetWeight>,
    /// Tensors of the source that set nothing.
    pub unused: Vec<UnusedSource>,
    /// Data of delegates and other data that cannot be set this way.
    pub unsettable: Vec<UnsettableWeight>,
    /// Rules of the map that apply to no constant.
    pub unused_rules: Vec<String>,
    #[serde(skip)]
    #[cfg_attr(feature = "schema", schemars(skip))]
    pub(super) moves: Vec<Replacement>,
    #[serde(skip)]
    #[cfg_attr(feature = "schema", schemars(skip))]
    pub(super) sources: Vec<SourceTensor>,
}

/// A place whose data are replaced.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Replacement {
    /// Index of the program.
    pub file: usize,
    pub target: Target,
    /// Index of the source.
    pub source: usize,
    /// The first two dimensions are swapped.
    pub is_transposed: bool,
}

/// A tensor of a method, or an entry of the external data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Target {
    Value(usize, usize),
    External(usize),
}

impl WeightChanges {
    /// Returns all reasons why the weights cannot be set: mismatches, rules without effect, nothing to set; unless
    /// `partial`, constants without a source, and tensors of the source that set nothing.
    pub fn problems(&self, partial: bool) -> Vec<String> {
        let mut problems: Vec<String> = self.mismatches.iter().map(WeightMismatch::message).collect();
        problems
            .extend(self.unused_rules.iter().map(|rule| format!("the map `{}` applies to no constant", clipped(rule))));
        if !partial {
            problems.extend(self.unset.iter().map(UnsetWeight::message));
            problems.extend(self.unused.iter().map(UnusedSource::message));
        }
        if self.set.is_empty() && self.mismatches.is_empty() {
            let known = self.unset.iter().map(|unset| unset.name.as_str());
            let sources = self.sources.iter().map(|source| source.name.as_str());
            let known = match self.unset.is_empty() {
                true => "there are no constants that can be set".to_owned(),
                false => format!("the constants are {}", first_names(known)),
            };
            problems.push(format!("nothing to set: {known}; the source has {}", first_names(sources)));
        }
        problems
    }
}

impl WeightMismatch {
    fn message(&self) -> String {
        let WeightMismatch { name, source, found, expected, reason } = self;
        let reason = if reason.is_empty() { String::new() } else { format!("; {reason}") };
        format!(
            "`{}`: expected {expected}, found {found} in `{}` of the source{reason}",
            clipped(name),
            clipped(source)
        )
    }
}

impl UnsetWeight {
    /// Returns the names in [`UnsetWeight::ambiguous`] for messages. A duplicate name stands for a tensor and its
    /// transposition, which have the same bytes.
    fn candidates(&self) -> String {
        match &self.ambiguous[..] {
            [one, other, ..] if one == other => format!("`{}` and of its transposition", clipped(one)),
            names => first_names(names.iter().map(String::as_str)),
        }
    }

    pub(super) fn new(name: String, shape: String) -> UnsetWeight {
        UnsetWeight { name, shape, nearest: None, shares_with: None, ambiguous: Vec::new() }
    }

    fn message(&self) -> String {
        let name = clipped(&self.name);
        if !self.ambiguous.is_empty() {
            return format!(
                "the source of the constant `{name}` ({}) is ambiguous: its old bytes are those of {}; choose one with `--map '{name}=NAME'`, or \
                 keep its bytes with `--partial`",
                self.shape,
                self.candidates()
            );
        }
        let hint = match (&self.shares_with, &self.nearest) {
            (Some(other), _) => format!(
                "its bytes are those of `{}`, which is set: name its source with `--map '{name}=NAME'`, or keep its bytes with \
                 `--partial`",
                clipped(other)
            ),
            (None, Some(nearest)) => format!("the source has `{}`; use `--map`", clipped(nearest)),
            (None, None) => "name its source with `--map`, or keep its bytes with `--partial`".to_owned(),
        };
        format!("the constant `{name}` ({}) has no source: {hint}", self.shape)
    }
}

impl UnusedSource {
    pub(super) fn new(name: String, shape: String, nearest: Option<String>) -> UnusedSource {
        UnusedSource { name, shape, nearest, transposed: None }
    }

    fn message(&self) -> String {
        let hint = match (&self.nearest, &self.transposed) {
            (Some(nearest), _) => format!("there is `{}`; use `--map`", clipped(nearest)),
            (None, Some(other)) => format!(
                "`{}` has these sizes, perhaps in another order; use `--map`, or `--like` with the old weights",
                clipped(other)
            ),
            (None, None) => "omit it from the source, or ignore it with `--partial`".to_owned(),
        };
        format!("`{}` ({}) of the source sets no constant: {hint}", clipped(&self.name), self.shape)
    }
}
