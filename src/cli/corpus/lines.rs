//! The first lines of the malformed examples: the defect, and the answers of ExecuTorch. docs/corpus.schema.json
//! describes the content.

use serde::Serialize;

/// In place of a rule: the file has no defect for 1.5.1. Also the word of the tables of `pte-releases`.
pub const NO_RULE: &str = "none";

/// The first line: `# RULE | DEFECT | verified: ANSWER | unverified: ANSWER`, or `# RULE | DEFECT | runtime: not run`.
pub struct FirstLine<'a> {
    /// Rule of `check`; `None` for the word `none`.
    pub rule: Option<&'a str>,
    /// Defect of the file, in words.
    pub defect: &'a str,
    /// Answers of ExecuTorch; `None` if it was not asked.
    pub expected: Option<Expected<'a>>,
}

/// Answers of ExecuTorch to the files of an example, in the order in which they are likely. Uninitialized memory has
/// several answers.
#[derive(Serialize)]
#[cfg_attr(all(test, feature = "schema"), derive(schemars::JsonSchema))]
pub struct Expected<'a> {
    /// A program that is verified when it is loaded (`InternalConsistency`).
    pub verified: Vec<&'a str>,
    /// A program that is loaded with minimal verification (`Minimal`).
    pub unverified: Vec<&'a str>,
}

/// Harm that a file does to older releases: `# IDS | fixed by COMMITS | safe since RELEASE | RELEASE CONDITION: ANSWER,
/// ...`, and the harm.
#[derive(Serialize)]
#[cfg_attr(all(test, feature = "schema"), derive(schemars::JsonSchema))]
pub struct Security<'a> {
    /// Advisories and findings, or the only word `hardening`.
    pub ids: Vec<&'a str>,
    /// Commits and numbers of changes of ExecuTorch that fix the defect.
    pub fixes: Vec<&'a str>,
    /// First release that survives the files; null if the newest one does not.
    pub safe_since: Option<&'a str>,
    /// Answers of releases that are not safe.
    pub affected: Vec<Affected<'a>>,
    /// Harm that a file does to an affected release.
    pub harm: &'a str,
}

/// Answer of a release that is not safe.
#[derive(Serialize)]
#[cfg_attr(all(test, feature = "schema"), derive(schemars::JsonSchema))]
pub struct Affected<'a> {
    /// Release of ExecuTorch that answers.
    pub release: &'a str,
    /// Condition of the application, besides loading and executing all methods, in a word of docs/security.md.
    pub condition: Option<&'a str>,
    /// Answer of the release.
    pub answer: &'a str,
}

impl<'a> FirstLine<'a> {
    /// Reads the first line of an example; `None` if it has another form.
    pub fn read(text: &'a str) -> Option<FirstLine<'a>> {
        let mut parts = text.lines().next()?.strip_prefix("# ")?.split(" | ");
        let (rule, defect) = (parts.next()?, parts.next()?);
        let mut answers = |mode: &str| -> Option<Vec<&'a str>> {
            Some(parts.next()?.strip_prefix(mode)?.strip_prefix(": ")?.split(" or ").collect())
        };
        let expected = match text.lines().next()?.ends_with(" | runtime: not run") {
            true => None,
            false => Some(Expected { verified: answers("verified")?, unverified: answers("unverified")? }),
        };
        Some(FirstLine { rule: Some(rule).filter(|rule| *rule != NO_RULE), defect, expected })
    }
}

impl<'a> Security<'a> {
    /// Reads the second and the third line of an example of `security/`; `None` if they have another form.
    pub fn read(text: &'a str) -> Option<Security<'a>> {
        let mut lines = text.lines().skip(1).map(|line| line.strip_prefix("# "));
        let mut parts = lines.next()??.split(" | ");
        let ids = parts.next()?.split(", ").collect();
        let fixes = parts.next()?.strip_prefix("fixed by ")?;
        let safe = parts.next()?.strip_prefix("safe since ")?;
        let affected = parts.next()?.split(", ").map(|text| {
            let (subject, answer) = text.split_once(": ")?;
            let (release, condition) = subject.split_once(' ').map_or((subject, None), |(a, b)| (a, Some(b)));
            Some(Affected { release, condition, answer })
        });
        Some(Security {
            ids,
            fixes: if fixes == "none" { Vec::new() } else { fixes.split(", ").collect() },
            safe_since: Some(safe).filter(|safe| *safe != "none"),
            affected: affected.collect::<Option<_>>()?,
            harm: lines.next()??,
        })
    }
}
