//! The malformed examples: files with one defect each, and what their first lines state.
//!
//! ```text
//! # I-13 | value 99 is freed | verified: load InvalidProgram | unverified: load InvalidProgram
//! # TOB-EXECUTORCH-15 | fixed by ee92757215 (#18176) | safe since 1.3.1 | 1.2.0: crashes
//! # The runtime takes memory after its values for a tensor, and writes a null pointer to where that points.
//! ```
//!
//! The first line has the rule of `check`, the defect, and the answers of ExecuTorch 1.5.1; examples of `security/`
//! have the other two. The rule is `none` if 1.5.1 accepts the file and only older releases do not survive it.

use std::fs;
use std::path::Path;

use pte_check::RuntimeError;

use super::case::{Case, inputs};

/// The rule of an example without one.
pub const NO_RULE: &str = "none";

/// Names of the loading modes in the first line.
pub const MODES: [&str; 2] = ["verified", "unverified"];

/// Releases that were measured, ascending.
pub const RELEASES: [&str; 11] =
    ["0.4.0", "0.5.0", "0.6.0", "0.7.0", "1.0.1", "1.1.0", "1.2.0", "1.3.1", "1.4.0", "1.4.1", "1.5.1"];

/// What an application did when a release gave an answer, other than to load and execute all methods of a file.
pub const CONDITIONS: [(&str, &str); 5] = [
    ("buffer", "the program is loaded from a buffer in memory"),
    ("bundled", "the tests of the `.bpte` are run"),
    ("destroyed", "the method is destroyed after its execution"),
    ("guarded", "each allocation ends at a page that cannot be accessed"),
    ("metadata", "the application asks for properties of a method by its name"),
];

/// The folders of the examples.
const FOLDERS: [&str; 2] = ["examples/malformed", SECURITY];

const SECURITY: &str = "examples/malformed/security";

/// All examples, sorted by name.
pub fn cases() -> Vec<Case> {
    let mut cases: Vec<Case> = FOLDERS.into_iter().flat_map(inputs).collect();
    cases.sort_by(|a, b| a.name().cmp(b.name()));
    cases
}

/// The examples of defects that were fixed because they are a danger, sorted by name.
pub fn security() -> Vec<(Case, FirstLine, Security)> {
    let read = |case: Case| {
        let text = fs::read_to_string(&case.input).unwrap();
        let (first, security) = (FirstLine::read(case.name(), &text), Security::read(case.name(), &text));
        (case, first, security)
    };
    inputs(SECURITY).into_iter().map(read).collect()
}

/// Path of an example below `examples/malformed`, with `/`, without the extension.
pub fn relative(path: &Path) -> String {
    let name = path.file_stem().unwrap().to_str().unwrap();
    if is_security(path) { format!("security/{name}") } else { name.to_owned() }
}

/// Returns true for an example of `security/`.
pub fn is_security(path: &Path) -> bool {
    path.parent().is_some_and(|folder| folder.ends_with(SECURITY))
}

/// The first line of an example.
#[derive(Debug, Clone)]
pub struct FirstLine {
    /// Rule of `check`, or [`NO_RULE`].
    pub rule: String,
    /// The defect.
    pub defect: String,
    /// Answers of 1.5.1 in the order of [`MODES`]; no answers for a `.bpte`.
    pub answers: Option<[String; 2]>,
}

impl FirstLine {
    /// Reads the first line of the text of an example.
    ///
    /// # Panics
    /// If it has another form.
    pub fn read(name: &str, text: &str) -> FirstLine {
        let first = text.lines().next().and_then(|line| line.strip_prefix("# ")).unwrap_or_default();
        let (rule, defect, answers) = match first.split(" | ").collect::<Vec<_>>()[..] {
            [rule, defect, "runtime: not run"] => (rule, defect, None),
            [rule, defect, verified, unverified] => {
                let answer = |part: &str, mode: &str| {
                    let answer = part.strip_prefix(mode).and_then(|part| part.strip_prefix(": "));
                    answer.unwrap_or_else(|| panic!("{name}: `{part}` is not an answer")).to_owned()
                };
                (rule, defect, Some([answer(verified, MODES[0]), answer(unverified, MODES[1])]))
            }
            _ => panic!("{name}: the first line is `# RULE | DEFECT | verified: ANSWER | unverified: ANSWER`"),
        };
        FirstLine { rule: rule.to_owned(), defect: defect.to_owned(), answers }
    }
}

/// Returns true for the first answer of a runtime: `accepts`, `crashes`, `hangs`, or a step and its error.
pub fn is_answer(answer: &str) -> bool {
    match answer.split_once(' ') {
        None => ["accepts", "crashes", "hangs"].contains(&answer),
        Some((step, error)) => {
            ["program", "methods", "load", "execute"].contains(&step)
                && RuntimeError::find(error).is_some_and(|known| known.name == error)
        }
    }
}

/// The second and the third line of an example of `security/`.
#[derive(Debug, Clone)]
pub struct Security {
    /// Advisories and findings, or the only word `hardening` for a commit without them.
    pub ids: Vec<String>,
    /// Commits and numbers of changes of ExecuTorch; empty if there is none.
    pub fixes: Vec<String>,
    /// First measured release that answers with an error, or computes what the file states; None if 1.5.1 does not.
    pub safe_since: Option<String>,
    /// Answers of releases that are not safe: release, condition and answer.
    pub affected: Vec<(String, Option<String>, String)>,
    /// What a file can do to an affected release.
    pub harm: String,
}

impl Security {
    /// Reads the lines of the text of an example.
    ///
    /// # Panics
    /// If they have another form.
    pub fn read(name: &str, text: &str) -> Security {
        let mut lines = text.lines().skip(1).map(|line| line.strip_prefix("# ").unwrap_or_default());
        let second = lines.next().unwrap_or_default();
        let [ids, fixes, safe, affected] = second.split(" | ").collect::<Vec<_>>()[..] else {
            panic!("{name}: the second line is `# IDS | fixed by COMMITS | safe since RELEASE | RELEASE: ANSWER`");
        };
        let list = |text: &str| text.split(", ").map(str::to_owned).collect::<Vec<String>>();
        let part = |text: &str, word: &str| {
            let rest = text.strip_prefix(word).and_then(|rest| rest.strip_prefix(' '));
            rest.unwrap_or_else(|| panic!("{name}: `{text}` does not begin with `{word}`")).to_owned()
        };
        let (fixes, safe) = (part(fixes, "fixed by"), part(safe, "safe since"));
        let affected = affected.split(", ").map(|text| {
            let (subject, answer) = text.split_once(": ").unwrap_or_else(|| panic!("{name}: `{text}` has no answer"));
            let (release, condition) = subject.split_once(' ').map_or((subject, None), |(a, b)| (a, Some(b)));
            (release.to_owned(), condition.map(str::to_owned), answer.to_owned())
        });
        Security {
            ids: list(ids),
            fixes: if fixes == "none" { Vec::new() } else { list(&fixes) },
            safe_since: if safe == "none" { None } else { Some(safe) },
            affected: affected.collect(),
            harm: lines.next().unwrap_or_default().to_owned(),
        }
    }
}
