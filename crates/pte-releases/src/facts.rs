//! The tables of a release, and questions about them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;
use std::{fmt, fs, io};

use super::answer::Answer;
use super::version::Version;

/// Names of the tables of a release, which are the files `NAME.table` of its folder.
///
/// | table | line |
/// |---|---|
/// | `release` | `KEY VALUE`: `version`, what was measured, and how its exporter writes |
/// | `operators` | `NAME KERNELS`: a registered operator, and its number of kernels |
/// | `backends` | `NAME` of a registered backend |
/// | `xnnpack` | `PART ANSWER`: a part of a graph in a payload of XNNPACK, such as `gelu` |
/// | `types` | `OPERATOR WORD...` as in `types.table` of `pte-operators`; `none` if no call was executed |
/// | `features` | `FEATURE ANSWER` |
/// | `answers` | `RULE EXAMPLE VERIFIED \| UNVERIFIED`: answers to an example, with full and minimal verification |
pub const TABLES: [&str; 7] = ["release", "operators", "backends", "xnnpack", "types", "features", "answers"];

/// Facts about a release of ExecuTorch, or about a custom build. Clones share them.
///
/// ```
/// use pte_releases::{Answer, Release};
///
/// let release = Release::find("0.7").unwrap();
/// assert_eq!((release.version().to_string(), release.key("version")), ("0.7.0".to_owned(), Some("0.7.0")));
/// assert!(release.has_operator("aten::add.out") && !release.has_operator("dim_order_ops::_clone_dim_order.out"));
/// assert!(release.operators().any(|(name, kernels)| name == "aten::add.out" && kernels == 1));
/// assert!(release.has_backend("XnnpackBackend") && !release.has_backend("CoreMLBackend"));
///
/// // A custom build; `Release::open` reads its tables from a folder.
/// let answers = "M-9 list load InvalidProgram | accepts";
/// let types = "aten::add.out self:float32";
/// let tables = ["version 1.5.1", "my::scale.out 1", "", "gelu load Internal", types, "device ignores", answers];
/// let own = Release::parse(tables).unwrap();
/// assert!(!own.is_own_build() && own.to_string() == "ExecuTorch 1.5.1");
/// assert!(own.xnnpack("gelu").is_some_and(|answer| !answer.is_usable()));
/// assert_eq!(own.types("aten::add.out"), Some("self:float32"));
/// assert_eq!((own.feature("device"), own.feature("state")), (Some(&Answer::Ignores), None));
/// assert!(release.runs("constants.inline") && !own.runs("device"));
/// assert!(!own.answers("M-9")[0].answer.is_usable());
/// assert!(Release::open("missing".as_ref()).is_err());
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Release(Arc<Facts>);

#[derive(Debug, PartialEq)]
struct Facts {
    version: Version,
    /// The folder of a build that is not part of the library.
    folder: Option<String>,
    keys: BTreeMap<String, String>,
    operators: BTreeMap<String, u32>,
    backends: Vec<String>,
    xnnpack: BTreeMap<String, Answer>,
    types: BTreeMap<String, String>,
    features: BTreeMap<String, Answer>,
    answers: BTreeMap<String, Vec<ExampleAnswer>>,
}

/// Answer to a malformed example: an item of `answers` of a [`Release`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExampleAnswer {
    /// Name of the file in `examples/malformed`, without its extension.
    pub example: String,
    /// The more severe answer of those with full and with minimal verification.
    pub answer: Answer,
}

/// A malformed line of a table: the error of `parse` of a [`Release`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FactsError {
    /// Name of the table.
    pub table: &'static str,
    /// Line number, counted from 1; 0 for the table as a whole.
    pub line: usize,
    /// Expected content.
    pub expected: &'static str,
}

impl fmt::Display for FactsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.table:{}: expected {}", self.table, self.line, self.expected)
    }
}

impl std::error::Error for FactsError {}

/// Largest table that is read, in bytes.
const MAX_TABLE: u64 = 4 << 20;

/// Formats it as in messages: `ExecuTorch 0.7.0`, or the folder of a build.
impl fmt::Display for Release {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0.folder {
            None => write!(f, "ExecuTorch {}", self.version()),
            Some(folder) => write!(f, "the build `{folder}` of ExecuTorch {}", self.version()),
        }
    }
}

impl Release {
    /// Reads the folder of a release or build that is not part of the library: the tables [`TABLES`], of which only
    /// `release` must exist. The others are those of the known release of its version. The functions of the runtime
    /// itself, `executorch_prim::`, are always registered.
    ///
    /// # Errors
    /// Files that cannot be read or have more than 4 MiB, and malformed lines.
    pub fn open(folder: &Path) -> io::Result<Release> {
        let mut texts = [const { String::new() }; TABLES.len()];
        let mut absent = Vec::new();
        for (text, table) in texts.iter_mut().zip(TABLES) {
            match read(&folder.join(format!("{table}.table"))) {
                Ok(read) => *text = read,
                Err(error) if error.kind() == io::ErrorKind::NotFound && table != "release" => absent.push(table),
                Err(error) => return Err(io::Error::new(error.kind(), format!("{table}.table: {error}"))),
            }
        }
        let mut facts = Facts::parse(texts.each_ref().map(String::as_str))
            .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
        facts.folder = Some(folder.display().to_string());
        if let Some(known) = Release::known().find(|known| known.version().is_minor_of(facts.version)) {
            facts.complete(&known.0, &absent);
        }
        if let Some((table, name)) = facts.unknown_word() {
            let message = format!("{table}.table: `{name}` is in the table of no known release");
            return Err(io::Error::new(io::ErrorKind::InvalidData, message));
        }
        Ok(Release(facts.into()))
    }

    /// Parses the texts of the tables, in the order of [`TABLES`].
    ///
    /// # Errors
    /// The first malformed line.
    pub fn parse(texts: [&str; TABLES.len()]) -> Result<Release, FactsError> {
        Facts::parse(texts).map(|facts| Release(facts.into()))
    }

    /// Returns `true` for a custom build, which was read from a folder.
    pub fn is_own_build(&self) -> bool {
        self.0.folder.is_some()
    }

    /// Returns the version.
    pub fn version(&self) -> Version {
        self.0.version
    }

    /// Returns the value of a key of the table `release`.
    pub fn key(&self, key: &str) -> Option<&str> {
        self.0.keys.get(key).map(String::as_str)
    }

    /// Returns `true` if the runtime registers a kernel of the operator.
    pub fn has_operator(&self, name: &str) -> bool {
        self.0.operators.contains_key(name)
    }

    /// Returns the registered operators with their numbers of kernels, in the order of their names.
    pub fn operators(&self) -> impl Iterator<Item = (&str, u32)> {
        self.0.operators.iter().map(|(name, kernels)| (&**name, *kernels))
    }

    /// Returns `true` if the runtime registers the backend.
    pub fn has_backend(&self, name: &str) -> bool {
        self.0.backends.iter().any(|backend| backend == name)
    }

    /// Returns the answer to payloads of XNNPACK with a part; `None` if the part was not measured.
    pub fn xnnpack(&self, part: &str) -> Option<&Answer> {
        self.0.xnnpack.get(part)
    }

    /// Returns the constraints of an operator on element types, if they differ from those of 1.5.1: words of the table
    /// `types`.
    pub fn types(&self, operator: &str) -> Option<&str> {
        self.0.types.get(operator).map(String::as_str).filter(|words| *words != "none")
    }

    /// Returns `true` if programs with a feature were measured to run, with its effect.
    pub fn runs(&self, feature: &str) -> bool {
        self.feature(feature) == Some(&Answer::Runs)
    }

    /// Returns the answer to programs with a feature; `None` if the feature was not measured.
    pub fn feature(&self, name: &str) -> Option<&Answer> {
        self.0.features.get(name)
    }

    /// Returns the answers to the malformed examples of a rule of `check`.
    pub fn answers(&self, rule: &str) -> &[ExampleAnswer] {
        self.0.answers.get(rule).map_or(&[], Vec::as_slice)
    }
}

impl Facts {
    /// Returns a feature or a part of payloads that no known release has in its tables, so that it would have no
    /// effect.
    fn unknown_word(&self) -> Option<(&'static str, &str)> {
        // Of a condition of calls, the operator may be another one.
        let word = |name: &str| name.split_once('/').map_or(name, |(condition, _)| condition).to_owned();
        let feature = |name: &&String| {
            Release::known().any(|known| known.0.features.keys().any(|other| word(other) == word(name)))
        };
        let part = |name: &&String| Release::known().any(|known| known.0.xnnpack.contains_key(*name));
        let unknown = self.features.keys().find(|name| !feature(name)).map(|name| ("features", &**name));
        unknown.or_else(|| self.xnnpack.keys().find(|name| !part(name)).map(|name| ("xnnpack", &**name)))
    }

    /// Takes the tables that a build does not state from the release of its version, and the functions of the runtime
    /// itself, which all builds register.
    fn complete(&mut self, known: &Facts, absent: &[&str]) {
        for table in absent {
            match *table {
                "operators" => self.operators.clone_from(&known.operators),
                "backends" => self.backends.clone_from(&known.backends),
                "xnnpack" => self.xnnpack.clone_from(&known.xnnpack),
                "types" => self.types.clone_from(&known.types),
                "features" => self.features.clone_from(&known.features),
                "answers" => self.answers.clone_from(&known.answers),
                _ => unreachable!("a table of TABLES"),
            }
        }
        let linked = known.operators.iter().filter(|(name, _)| name.starts_with("executorch_prim::"));
        for (name, kernels) in linked {
            self.operators.entry(name.clone()).or_insert(*kernels);
        }
    }

    fn parse(texts: [&str; TABLES.len()]) -> Result<Facts, FactsError> {
        let [keys, operators, backends, xnnpack, types, features, answers] = texts;
        let keys = rows("release", keys, "KEY VALUE", |key, value| Some((key.to_owned(), value.to_owned())))?;
        let keys: BTreeMap<String, String> = keys.into_iter().collect();
        let version = keys.get("version").and_then(|version| version.parse().ok());
        let answer = |key: &str, value: &str| Some((key.to_owned(), Answer::parse(value)?));
        let mut facts = Facts {
            folder: None,
            version: version.ok_or(FactsError { table: "release", line: 0, expected: "a line `version 1.5.1`" })?,
            keys,
            operators: rows("operators", operators, "NAME KERNELS", |name, kernels| {
                Some((name.to_owned(), kernels.parse().ok().filter(|kernels| *kernels > 0)?))
            })?
            .into_iter()
            .collect(),
            backends: rows("backends", backends, "NAME", |name, rest| rest.is_empty().then(|| name.to_owned()))?,
            xnnpack: rows("xnnpack", xnnpack, "PART ANSWER", answer)?.into_iter().collect(),
            types: rows("types", types, "OPERATOR WORD...", |name, words| Some((name.to_owned(), words.to_owned())))?
                .into_iter()
                .collect(),
            features: rows("features", features, "FEATURE ANSWER", answer)?.into_iter().collect(),
            answers: BTreeMap::new(),
        };
        for (rule, answer) in rows("answers", answers, "RULE EXAMPLE VERIFIED | UNVERIFIED", example_answer)? {
            facts.answers.entry(rule).or_default().push(answer);
        }
        Ok(facts)
    }
}

/// Parses the lines of a table as a first word and the rest. Empty lines and lines that begin with `#` are ignored.
fn rows<T>(
    table: &'static str,
    text: &str,
    expected: &'static str,
    parse: impl Fn(&str, &str) -> Option<T>,
) -> Result<Vec<T>, FactsError> {
    let lines = (1..).zip(text.lines()).filter(|(_, line)| !line.trim().is_empty() && !line.starts_with('#'));
    let mut seen = BTreeSet::new();
    let parsed = lines.map(|(line, text)| {
        let (first, rest) = text.trim().split_once(' ').unwrap_or((text.trim(), ""));
        // The table of answers has several lines of a rule.
        if table != "answers" && !seen.insert(first) {
            return Err(FactsError { table, line, expected: "each name once" });
        }
        parse(first, rest.trim()).ok_or(FactsError { table, line, expected })
    });
    parsed.collect()
}

fn example_answer(rule: &str, rest: &str) -> Option<(String, ExampleAnswer)> {
    let (example, answers) = rest.split_once(' ')?;
    let answers: Option<Vec<Answer>> = answers.split(" | ").map(Answer::parse).collect();
    Some((rule.to_owned(), ExampleAnswer { example: example.to_owned(), answer: answers?.into_iter().max()? }))
}

/// Reads a table of a limited size.
fn read(path: &Path) -> io::Result<String> {
    use io::Read;
    let mut text = String::new();
    // To open a pipe could wait for a writer.
    if !fs::metadata(path)?.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "expected a regular file"));
    }
    fs::File::open(path)?.take(MAX_TABLE + 1).read_to_string(&mut text)?;
    if text.len() as u64 > MAX_TABLE {
        return Err(io::Error::new(io::ErrorKind::InvalidData, format!("it has more than {MAX_TABLE} bytes")));
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_parse_and_versions_ascend() {
        let known: Vec<Release> = Release::known().collect();
        assert!(known.windows(2).all(|pair| pair[0].version() < pair[1].version()));
        for release in known {
            assert!(release.operators().count() > 150, "{}", release.version());
            assert!(release.operators().all(|(_, kernels)| kernels > 0));
        }
    }

    #[test]
    fn malformed_lines_are_errors_with_their_line() {
        let error = |table: usize, text: &str| {
            let mut texts = ["version 9.9", "", "", "", "", "", ""];
            texts[table] = text;
            Release::parse(texts).unwrap_err().to_string()
        };
        assert_eq!(error(0, "torch 2"), "release.table:0: expected a line `version 1.5.1`");
        assert_eq!(error(1, "# comment\n\na b"), "operators.table:3: expected NAME KERNELS");
        assert_eq!(error(2, "a b"), "backends.table:1: expected NAME");
        assert_eq!(error(3, "gelu often"), "xnnpack.table:1: expected PART ANSWER");
        assert_eq!(error(6, "M-1 values_absent"), "answers.table:1: expected RULE EXAMPLE VERIFIED | UNVERIFIED");
    }

    #[test]
    fn a_folder_needs_the_table_of_the_release_only() {
        let folder = std::env::temp_dir().join(format!("pte-releases-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        assert!(Release::open(&folder).unwrap_err().to_string().starts_with("release.table: "));
        fs::write(folder.join("release.table"), "version 1.6.0\n").unwrap();
        let release = Release::open(&folder).unwrap();
        assert_eq!((release.version().to_string(), release.has_operator("a")), ("1.6.0".to_owned(), false));

        // Absent tables are those of the release with the version.
        fs::write(folder.join("release.table"), "version 0.7\n").unwrap();
        let release = Release::open(&folder).unwrap();
        let known = Release::find("0.7").unwrap();
        assert_eq!((&release.0.operators, &release.0.features), (&known.0.operators, &known.0.features));
        fs::write(folder.join("operators.table"), "a 1\n").unwrap();
        let release = Release::open(&folder).unwrap();
        assert!(release.has_operator("a") && !release.has_operator("aten::add.out"));
        assert!(release.has_operator("executorch_prim::et_view.default") && release.xnnpack("gelu").is_some());
        assert_eq!(release.to_string(), format!("the build `{}` of ExecuTorch 0.7", folder.display()));
        assert_eq!(release.first_later(|other| other.has_operator("aten::add.out")), Release::known().nth(3));
        fs::remove_dir_all(&folder).unwrap();
    }
}
