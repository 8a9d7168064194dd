//! Findings: the violated rule, its location, the value found, and the value expected. Only a bounded number of
//! findings is kept per rule.

use std::fmt;
use std::ops::Range;

use serde::{Serialize, Serializer};

use super::rules::{self, Profile, Rule, RuleId, RuleSeverity};
use pte_model::diagnostics::escaped;
use pte_model::format::flatbuffer::view::Table;
use pte_model::format::foreign::Diagnosis;
use pte_model::program::element::Element;

/// Location of an item of [`Findings`] in the file.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Location {
    /// Offset in bytes from the start of the file; `None` if the path has no bytes (a missing field of a missing
    /// table).
    pub offset: Option<u64>,
    /// Path from the root, such as `methods.forward.values[3].sizes`; empty for the file as a whole.
    pub path: String,
}

impl Location {
    /// Creates the location of an element: offset in the file in bytes, and path.
    #[doc(hidden)]
    pub fn new(offset: Option<u64>, path: impl Into<String>) -> Location {
        Location { offset, path: path.into() }
    }
}

/// Function that returns the location of an element of a program.
pub type Locator<'a> = dyn Fn(&Element) -> Location + Sync + 'a;

/// Returns a string of a table for a message, shortened if it is long.
pub fn shown(table: &Table<'_>, slot: u16) -> String {
    pte_model::diagnostics::clipped(&String::from_utf8_lossy(table.text(slot).unwrap_or_default()))
}

/// Position of a finding in the YAML that a file was assembled from. Bytes count from the start of the document, with
/// variables replaced; lines from that of the file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct SourcePosition {
    /// Path with the names of the YAML.
    pub path: String,
    /// Byte range in the source.
    #[serde(flatten)]
    pub span: Range<usize>,
    /// Line in the file, counted from 1.
    pub line: usize,
    /// Column in characters, counted from 1.
    pub column: usize,
}

impl SourcePosition {
    /// Creates the position of an element: its path, its bytes, and their line and column from 1.
    #[doc(hidden)]
    pub fn new(path: impl Into<String>, span: Range<usize>, line: usize, column: usize) -> SourcePosition {
        SourcePosition { path: path.into(), span, line, column }
    }
}

/// A violated rule and its location; an item of [`Findings`].
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Finding {
    /// The violated rule.
    #[serde(flatten)]
    pub rule: &'static Rule,
    /// Location of the value found.
    #[serde(flatten)]
    pub location: Location,
    /// Position in the YAML; `None` for findings about a file as a whole, or about data files, and for
    /// binary files.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<SourcePosition>,
    /// Value in the file.
    pub found: String,
    /// Value that the rule requires.
    pub expected: String,
}

impl Finding {
    /// Returns the finding as lines: itself, its position in the YAML, and the behaviour of the runtime. `SourceNames`
    /// of `pte-emit` adds names.
    pub fn lines(&self) -> String {
        let at = self.source.as_ref().map(|at| format!("    at line {}, column {}\n", at.line, at.column));
        format!("{self}\n{}    the runtime: {}\n", at.unwrap_or_default(), self.rule.runtime)
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}[{}]: ", self.rule.severity, self.rule.id)?;
        let path = self.source.as_ref().map_or(&self.location.path, |source| &source.path);
        if !path.is_empty() {
            write!(f, "{path}: ")?;
        }
        write!(f, "{}, expected {}", self.found, self.expected)?;
        match self.location.offset {
            Some(offset) => write!(f, " (at byte {offset:#x})"),
            None => Ok(()),
        }
    }
}

/// Number of findings of one rule that are kept by default. Further findings are only counted.
pub const KEPT: usize = 20;

/// Number of findings of each rule in [`rules::RULES`].
#[derive(Debug, Clone)]
struct RuleCounts {
    counts: Vec<u64>,
    /// Number of findings of one rule that are kept.
    kept: usize,
}

/// A rule with more findings than [`Findings`] keeps.
#[derive(Debug, Clone, Copy, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct TruncatedRule {
    /// The violated rule.
    #[serde(serialize_with = "rule_id")]
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub rule: &'static Rule,
    /// Number of all its findings.
    pub count: u64,
}

fn truncated_rules(RuleCounts { counts, kept }: &RuleCounts) -> impl Iterator<Item = TruncatedRule> {
    let counts = rules::RULES.iter().zip(counts.iter().copied());
    counts.filter(|(_, count)| *count > *kept as u64).map(|(rule, count)| TruncatedRule { rule, count })
}

fn truncated<S: Serializer>(counts: &RuleCounts, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(truncated_rules(counts))
}

fn rule_id<S: Serializer>(rule: &Rule, serializer: S) -> Result<S::Ok, S::Error> {
    rule.id.serialize(serializer)
}

/// The [`Finding`]s of a file. Serialised, they are the lists `findings` and `truncated` of the command's document
/// (docs/check.schema.json), without its other keys.
///
/// ```
/// use pte_check::{CheckOptions, RuleSeverity};
/// use pte_model::data::Origin;
///
/// let mut bytes = pte_model::LINEAR_PTE.to_vec();
/// bytes[4..8].copy_from_slice(b"ET99");
/// let findings = pte_check::file(&Origin::Bytes(bytes.into()), &CheckOptions::default())?;
/// assert!(findings.has_errors());
/// assert_eq!(findings.count(RuleSeverity::Malformed), 1);
/// assert_eq!(findings.truncated().count(), 0);
///
/// let finding = &findings.list[0];
/// assert_eq!(finding.location.offset, Some(4));
/// assert_eq!(finding.found, r#"identifier "ET99""#);
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Findings {
    /// Runtime that the file was validated for.
    #[serde(skip)]
    pub profile: Profile,
    /// Findings in the order in which they were added, at most as many per rule as `CheckOptions::kept` says.
    #[serde(rename = "findings")]
    pub list: Vec<Finding>,
    /// Number of findings of each rule in [`rules::RULES`]. Only rules with more findings than are kept are serialised.
    #[serde(rename = "truncated", serialize_with = "truncated")]
    #[cfg_attr(feature = "schema", schemars(with = "Vec<TruncatedRule>"))]
    counts: RuleCounts,
    /// Number of findings that are malformed or invalid.
    #[serde(skip)]
    errors: u64,
    /// By profile, in the order of [`Profile::ALL`]: its findings are the same.
    #[serde(skip)]
    same: [bool; Profile::ALL.len()],
    /// What a malformed file is that is something else, or how it was damaged.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub diagnosis: Option<Diagnosis>,
}

impl Findings {
    /// Creates an empty list. Findings of rules that do not apply to `profile` are ignored.
    #[doc(hidden)]
    pub fn new(profile: Profile) -> Findings {
        Findings::keeping(profile, None)
    }

    /// Creates an empty list that keeps a number of findings of each rule; `None` is [`KEPT`].
    pub(crate) fn keeping(profile: Profile, kept: Option<usize>) -> Findings {
        let kept = kept.unwrap_or(KEPT);
        let counts = RuleCounts { counts: vec![0; rules::RULES.len()], kept };
        Findings { profile, list: Vec::new(), counts, errors: 0, same: [true; Profile::ALL.len()], diagnosis: None }
    }

    /// Adds a finding of the rule `id`. `finding` returns location, found and expected value. It is only called if the
    /// finding is kept, so that a million findings of one rule stay cheap.
    pub(crate) fn add(&mut self, id: RuleId, finding: impl FnOnce() -> (Location, String, String)) {
        if self.count_one(id) {
            let (location, found, expected) = finding();
            self.keep(id, location, &found, &expected);
        }
    }

    /// Returns true if the next finding of a rule is kept.
    pub(crate) fn keeps(&self, id: RuleId) -> bool {
        (self.counts.counts[id as usize] as usize) < self.counts.kept
    }

    /// Counts a finding; returns true if it is kept.
    fn count_one(&mut self, id: RuleId) -> bool {
        let (index, rule) = (id as usize, id.rule());
        let applies = rule.applies(self.profile);
        for (same, profile) in self.same.iter_mut().zip(Profile::ALL) {
            *same &= rule.applies(profile) == applies;
        }
        if !applies {
            return false;
        }
        let RuleCounts { counts, kept } = &mut self.counts;
        counts[index] += 1;
        self.errors += u64::from(rule.severity <= RuleSeverity::Invalid);
        counts[index] as usize <= *kept
    }

    fn keep(&mut self, id: RuleId, location: Location, found: &str, expected: &str) {
        let (found, expected) = (escaped(found).into_owned(), escaped(expected).into_owned());
        self.list.push(Finding { rule: id.rule(), location, source: None, found, expected });
    }

    /// Returns an empty list for another step of the same validation.
    pub(crate) fn empty(&self) -> Findings {
        Findings::keeping(self.profile, Some(self.counts.kept))
    }

    /// Appends findings of another step, or of another question about the same file.
    ///
    /// ```
    /// use pte_check::{CheckOptions, file};
    /// use pte_model::data::Origin;
    ///
    /// let mut findings = file(&Origin::Bytes([].into()), &CheckOptions::default())?;
    /// findings.append(findings.clone());
    /// assert_eq!(findings.list.len(), 2);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn append(&mut self, other: Findings) {
        let RuleCounts { mut counts, kept } = self.counts.clone();
        self.depend_on(&other);
        self.list.extend(other.list.into_iter().filter(|finding| {
            let count = &mut counts[finding.rule.id as usize];
            *count += 1;
            *count as usize <= kept
        }));
        self.errors += other.errors;
        self.counts.counts.iter_mut().zip(other.counts.counts).for_each(|(count, more)| *count += more);
    }

    /// Notes that what was validated depends on the profile as far as other findings do.
    pub(crate) fn depend_on(&mut self, other: &Findings) {
        self.same.iter_mut().zip(other.same).for_each(|(same, other)| *same &= other);
    }

    /// Returns `true` if a validation for another profile has the same findings.
    pub(crate) fn are_those_of(&self, profile: Profile) -> bool {
        profile == self.profile || Profile::ALL.iter().zip(self.same).any(|(other, same)| *other == profile && same)
    }

    /// Inserts findings of another step before those from `at` on.
    pub(crate) fn insert(&mut self, at: usize, other: Findings) {
        let after = self.list.split_off(at.min(self.list.len()));
        self.append(other);
        self.list.extend(after);
    }

    /// Removes the findings of a rule that another comparison has.
    #[doc(hidden)]
    pub fn remove(&mut self, id: RuleId) {
        self.list.retain(|finding| finding.rule.id != id);
        let removed = std::mem::take(&mut self.counts.counts[id as usize]);
        if id.rule().severity <= RuleSeverity::Invalid {
            self.errors -= removed;
        }
    }

    /// Returns the number of findings of a severity, including those that were not kept.
    pub fn count(&self, severity: RuleSeverity) -> u64 {
        rules::RULES.iter().zip(&self.counts.counts).filter(|(rule, _)| rule.severity == severity).map(|(_, n)| n).sum()
    }

    /// Returns the rules with more findings than [`Findings::list`] has.
    pub fn truncated(&self) -> impl Iterator<Item = TruncatedRule> {
        truncated_rules(&self.counts)
    }

    /// Returns `true` if a finding is malformed or invalid, so that the file must not be loaded.
    pub fn has_errors(&self) -> bool {
        self.errors > 0
    }

    /// Returns the number of findings that are malformed or invalid.
    pub(crate) fn errors(&self) -> u64 {
        self.errors
    }
}
