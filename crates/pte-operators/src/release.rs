//! A release of ExecuTorch: generated and measured tables, and rows. They are joined to one record per operator when
//! the operator is first looked up.

use std::borrow::Cow;
use std::sync::OnceLock;

use super::facts::Facts;
use super::inference::constraints::{self, Constraint};
use super::signature::{self, Signature};
use super::target;
use super::temporary::Temporary;

/// Record of an operator of a release.
#[derive(Debug)]
pub struct Operator {
    /// Name with the overload: `aten::add.out`.
    pub name: &'static str,
    /// Library (CMake target) that a build has to link; `None` for the default runtime.
    pub library: Option<&'static str>,
    /// Arguments and result.
    pub signature: Signature,
    /// Constraints of the kernel on the arguments: measured element types, then the constraints of `facts`.
    pub constraints: Vec<Constraint>,
    /// Positions of the arguments with which the out may share exactly the same bytes.
    pub in_place: Vec<usize>,
    /// Bytes that the kernel takes from the temporary allocator.
    pub temporary: Temporary,
    /// Facts in the rows.
    pub facts: &'static Facts,
}

impl Operator {
    /// Returns the CMake target of ExecuTorch whose registration a build has to link for the operator. The default
    /// runtime, which has no [`Operator::library`], consists of several.
    ///
    /// ```
    /// let target = |name: &str| pte_operators::find(name).map(|operator| operator.target());
    ///
    /// assert_eq!(target("aten::add.out"), Some("portable_ops_lib"));
    /// assert_eq!(target("aten::sym_size.int"), Some(pte_operators::target::PRIM_OPS));
    /// assert_eq!(target("llama::update_cache.out"), Some("custom_ops"));
    /// ```
    pub fn target(&self) -> &'static str {
        let namespace = self.name.split_once("::").map_or("", |(namespace, _)| namespace);
        self.library.or(self.facts.target).unwrap_or(match namespace {
            "executorch_prim" => target::PRIM_OPS,
            "quantized_decomposed" => target::QUANTIZED,
            _ => target::PORTABLE,
        })
    }
}

/// Tables of a release. Those with the extension `.table` have an operator per line, sorted by name.
#[derive(Debug)]
pub struct Tables {
    /// Signatures of the operators of the default runtime.
    pub operators: &'static str,
    /// Signatures of the operators of libraries; a line `[custom_ops]` precedes those of the library (CMake target)
    /// `custom_ops`.
    pub libraries: &'static str,
    /// Element types that kernels of the default runtime take.
    pub types: &'static str,
    /// Arguments with which the out may share exactly the same bytes.
    pub sharing: &'static str,
    /// Libraries, in addition to the default runtime, whose kernels take nothing from the temporary allocator unless a
    /// row says otherwise. Nothing is known about the other libraries.
    pub without_temporary: &'static [&'static str],
    /// Facts.
    pub rows: &'static [&'static [Row]],
    /// An older release, whose rows hold for operators that `rows` do not have.
    pub before: Option<&'static Release>,
}

/// A release of ExecuTorch.
#[derive(Debug)]
pub struct Release {
    /// Version: `1.5.1`.
    #[allow(dead_code, reason = "tests find the tables of the release by it; code does not depend on the version")]
    pub version: &'static str,
    tables: Tables,
    entries: OnceLock<Vec<Entry>>,
    types: OnceLock<Lines>,
    sharing: OnceLock<Lines>,
}

/// A line of the tables of signatures.
#[derive(Debug)]
struct Entry {
    name: &'static str,
    library: Option<&'static str>,
    signature: &'static str,
    /// The operator, after its first lookup.
    operator: OnceLock<Option<Operator>>,
}

/// Names of operators, and the facts that they share.
pub type Row = (&'static [&'static str], Facts);

/// Lines of a table: the first word, and the rest.
type Lines = Vec<(&'static str, &'static str)>;

impl Release {
    /// Returns the release with these tables.
    pub(super) const fn new(version: &'static str, tables: Tables) -> Release {
        Release { version, tables, entries: OnceLock::new(), types: OnceLock::new(), sharing: OnceLock::new() }
    }

    /// Returns the operator with this name; `None` unless the runtime or a library registers it.
    pub fn find(&self, name: &str) -> Option<&Operator> {
        let entries = self.entries();
        let at = entries.binary_search_by(|entry| entry.name.cmp(name)).ok()?;
        entries[at].operator.get_or_init(|| self.operator(&entries[at])).as_ref()
    }

    /// Returns the names of the operators in ascending order.
    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        self.entries().iter().map(|entry| entry.name)
    }

    fn entries(&self) -> &[Entry] {
        self.entries.get_or_init(|| {
            let mut library = None;
            let mut entries = Vec::new();
            for line in self.tables.operators.lines().chain(self.tables.libraries.lines()) {
                match line.strip_prefix('[').and_then(|line| line.strip_suffix(']')) {
                    Some(section) => library = Some(section),
                    None => {
                        let (name, signature) = line.split_once(' ').unwrap_or((line, ""));
                        entries.push(Entry { name, library, signature, operator: OnceLock::new() });
                    }
                }
            }
            entries.sort_by_key(|entry| entry.name);
            entries
        })
    }

    fn operator(&self, entry: &Entry) -> Option<Operator> {
        let name = entry.name;
        let signature = signature::parse(entry.signature, Cow::Borrowed).ok()?;
        let types = self.types.get_or_init(|| lines(self.tables.types));
        let words = row(types, name).split(' ').filter(|word| !word.is_empty());
        let measured = words.filter_map(|word| constraints::parse(word, &signature, |set| row(types, set)));
        let facts = self.facts(name);
        let order = facts.one_order.then_some(Constraint::OneOrder);
        let constraints = measured.chain(facts.constraints.iter().copied()).chain(order).collect();
        let sharing = row(self.sharing.get_or_init(|| lines(self.tables.sharing)), name);
        let in_place = sharing.split(' ').filter_map(|argument| signature.position(argument)).collect();
        let is_known = entry.library.is_none_or(|library| self.tables.without_temporary.contains(&library));
        let temporary = facts.temporary.unwrap_or(if is_known { Temporary::Nothing } else { Temporary::Unknown });
        Some(Operator { name, library: entry.library, constraints, in_place, temporary, facts, signature })
    }

    /// Parses constraints in the form of the table of types, whose named sets they may refer to. `None` for an unknown
    /// operator, and for words that are malformed.
    pub(super) fn constraints(&self, name: &str, words: &str) -> Option<Vec<Constraint>> {
        let signature = &self.find(name)?.signature;
        let types = self.types.get_or_init(|| lines(self.tables.types));
        words.split_whitespace().map(|word| constraints::parse(word, signature, |set| row(types, set))).collect()
    }

    fn facts(&self, name: &str) -> &'static Facts {
        let mut rows = self.tables.rows.iter().copied().flatten();
        let own = rows.find(|(names, _)| names.contains(&name)).map(|(_, facts)| facts);
        own.or_else(|| Some(self.tables.before?.facts(name))).unwrap_or(&Facts::NONE)
    }
}

/// Returns the lines of a table sorted by their first words, without comments. `=` precedes the name of a set.
fn lines(table: &'static str) -> Lines {
    let lines = table.lines().filter(|line| !line.starts_with('#')).map(|line| line.strip_prefix('=').unwrap_or(line));
    let mut lines: Lines = lines.map(|line| line.split_once(' ').unwrap_or((line, ""))).collect();
    lines.sort_unstable();
    lines
}

/// Returns the rest of the line with this first word; empty if there is none.
fn row(lines: &[(&'static str, &'static str)], name: &str) -> &'static str {
    lines.binary_search_by(|(other, _)| (*other).cmp(name)).map_or("", |at| lines[at].1)
}

#[cfg(test)]
mod tests {
    use super::super::releases::RELEASES;
    use super::*;
    use pte_model::format::ScalarType;

    #[test]
    fn signatures_parse_and_operators_of_the_runtime_have_rules() {
        for release in RELEASES {
            for pair in release.entries().windows(2) {
                assert!(pair[0].name < pair[1].name, "{}: `{}` is a duplicate", release.version, pair[1].name);
            }
            for entry in release.entries() {
                let context = format!("{}: `{}`", release.version, entry.name);
                let operator = release.find(entry.name).unwrap_or_else(|| panic!("{context}: malformed signature"));
                for default in operator.signature.args.iter().filter_map(|arg| arg.default.as_deref()) {
                    serde_json::from_str::<serde_json::Value>(default).expect(&context);
                }
                assert!(operator.library.is_some() || operator.facts.rule.is_some(), "{context} has no rule");
            }
        }
    }

    /// A row is for one of the releases that share it, at least.
    #[test]
    fn rows_are_read() {
        for (names, facts) in RELEASES.iter().flat_map(|release| release.tables.rows).copied().flatten() {
            let is_read = |name: &&&str| {
                RELEASES.iter().any(|r| r.find(name).is_some_and(|operator| std::ptr::eq(operator.facts, facts)))
            };
            let unread: Vec<&&str> = names.iter().filter(|name| !is_read(name)).collect();
            assert!(unread.is_empty(), "rows of unknown operators, or a second row: {unread:?}");
        }
    }

    #[test]
    fn measured_tables_are_of_the_operators_of_the_runtime() {
        for release in RELEASES {
            let types = lines(release.tables.types);
            let rows = |table: &'static str| {
                let rows: Vec<&str> = table.lines().filter(|line| !line.starts_with(['#', '='])).collect();
                let unsorted = rows.windows(2).find(|pair| pair[0] >= pair[1]);
                assert_eq!(unsorted, None, "{}", release.version);
                rows.into_iter().map(|line| {
                    let (name, words) = line.split_once(' ').unwrap();
                    let operator = release.find(name).filter(|operator| operator.library.is_none());
                    (operator.unwrap_or_else(|| panic!("{}: {line}", release.version)), words.split(' '))
                })
            };
            for (operator, words) in rows(release.tables.types) {
                for word in words {
                    let found = constraints::parse(word, &operator.signature, |set| row(&types, set));
                    assert!(found.is_some(), "{} {}: {word}", release.version, operator.name);
                }
            }
            for (operator, mut words) in rows(release.tables.sharing) {
                let unknown = words.find(|argument| operator.signature.position(argument).is_none());
                assert_eq!(unknown, None, "{} {}", release.version, operator.name);
            }
            for set in release.tables.types.lines().filter_map(|line| line.strip_prefix('=')) {
                let unknown = set.split(' ').skip(1).find(|name| ScalarType::parse(name).is_none());
                assert_eq!(unknown, None, "{}: {set}", release.version);
            }
        }
    }
}
