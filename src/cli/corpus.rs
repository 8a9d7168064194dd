//! `pte-emit generate --corpus DIR`: the malformed examples as files, with a list of their defects.
//!
//! ```text
//! DIR/pte/NAME.pte      programs
//! DIR/ptd/NAME.ptd      the weights of the program with this name; NAME.0.ptd and NAME.1.ptd if there are several
//! DIR/bpte/NAME.bpte    programs with tests
//! DIR/manifest.json     what docs/corpus.schema.json describes
//! ```
//!
//! A folder has one format, as fuzzers expect the seeds of a target. The sources are part of the command: users have no
//! checkout.

mod examples;
mod lines;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use pte_emit::{
    Blob, Error, Model,
    check::{CheckOptions, Findings, RuleSeverity},
    release::{Answer, EXECUTORCH, Release},
};
use serde::Serialize;

use self::examples::{EXAMPLES, Example};
use self::lines::{Expected, FirstLine, NO_RULE, Security};
use super::exit::{Exit, Failure};
use super::json;
use super::outputs::{NewFolder, Outputs};

/// Content of `manifest.json`.
#[derive(Serialize)]
#[cfg_attr(all(test, feature = "schema"), derive(schemars::JsonSchema))]
pub struct CorpusManifest<'a> {
    /// The release of ExecuTorch whose answers are `expected`.
    executorch: &'a str,
    /// The examples, by name.
    examples: Vec<CorpusExample<'a>>,
}

/// A malformed example: one defect.
#[derive(Serialize)]
#[cfg_attr(all(test, feature = "schema"), derive(schemars::JsonSchema))]
pub struct CorpusExample<'a> {
    /// Name, which later versions do not change.
    name: &'a str,
    /// Path of the YAML in the repository of pte-emit.
    source: String,
    /// Files below the folder of the manifest: the program or the program with tests, then its `.ptd` files.
    files: Vec<String>,
    /// Defect of the file.
    defect: &'a str,
    /// The rule of `check` for the defect; null if the file is valid and only older releases do not survive it.
    rule: Option<&'a str>,
    /// The rules whose errors and warnings `check` reports in these files.
    reported: BTreeSet<String>,
    /// Answer of the release `executorch`; null for a program with tests, which the runtime does not load.
    expected: Option<Expected<'a>>,
    /// The most severe answer of each release, as far as it was measured, with and without verification, by release.
    answers: BTreeMap<String, String>,
    /// Harm that the file does to older releases; null for an example whose defect is not known as a danger.
    security: Option<Security<'a>>,
}

/// Writes the files and the manifest: all or none.
///
/// # Errors
/// Outputs that exist or cannot be written.
pub fn run(folder: &Path, force: bool) -> Result<Exit, Failure> {
    let label = folder.display().to_string();
    let cannot_create = |error: std::io::Error| Error::io(&label, "cannot create folder", &error);
    let folders = ["", "pte", "ptd", "bpte"].map(|name| NewFolder::create(&folder.join(name)));
    let new = folders.into_iter().collect::<Result<Vec<NewFolder>, _>>().map_err(cannot_create)?;
    let mut outputs = Outputs::new(&*label, force);
    let mut write = |path: &str, data: &Blob| outputs.write_new(&folder.join(path), data);
    let mut examples = Vec::new();
    for example in EXAMPLES {
        let (described, contents) = describe(example)?;
        described.files.iter().zip(&contents).try_for_each(|(path, data)| write(path, data))?;
        examples.push(described);
    }
    examples.sort_by_key(|example| example.name);
    let manifest = json::text(&CorpusManifest { executorch: EXECUTORCH, examples });
    write("manifest.json", &Blob::bytes(manifest.into_bytes()))?;
    outputs.commit()?;
    drop(new);
    Ok(Exit::Ok)
}

/// Assembles an example. Returns the contents of its files in the order of `files`.
fn describe(example: &'static Example) -> Result<(CorpusExample<'static>, Vec<Blob>), Failure> {
    let Example { path, text } = example;
    let name = path.rsplit('/').next().unwrap_or_default();
    let source = format!("examples/malformed/{path}.yaml");
    let is_security = path.starts_with("security/");
    let security = if is_security { Security::read(text) } else { None };
    let (Some(FirstLine { rule, defect, expected }), true) = (FirstLine::read(text), is_security == security.is_some())
    else {
        unreachable!("{source}: the first lines, which a test reads");
    };
    let model = Model::from_yaml(source.as_str(), examples::inlined(text), "");
    let assembly = model.assembly()?;
    let reading = |error: std::io::Error| Failure::reading(&source, &error);
    let mut findings = assembly.check(&CheckOptions::default())?;
    let mut files = Vec::new();
    match (assembly.program_file(), &expected) {
        (_, None) => {
            let bundled = assembly.bundled()?.to_vec().map_err(reading)?;
            findings = vec![assembly.check_bundled(&bundled, &CheckOptions::default())];
            files.push((format!("bpte/{name}.bpte"), bundled));
        }
        (Some(program), Some(_)) => files.push((format!("pte/{name}.pte"), program.to_vec().map_err(reading)?)),
        (None, Some(_)) => {}
    }
    let data = assembly.data_files().map(|(_, file)| file.to_vec().map_err(reading));
    let data = data.collect::<Result<Vec<Vec<u8>>, _>>()?;
    let number = |number: usize| if data.len() == 1 { String::new() } else { format!(".{number}") };
    let names: Vec<String> = (0..data.len()).map(|index| format!("ptd/{name}{}.ptd", number(index))).collect();
    files.extend(names.into_iter().zip(data));
    let (files, contents) = files.into_iter().map(|(path, bytes)| (path, Blob::bytes(bytes))).unzip();
    let (reported, answers) = (reported(&findings), answers(rule.unwrap_or(NO_RULE), name));
    Ok((CorpusExample { name, source, files, defect, rule, reported, expected, answers, security }, contents))
}

/// Returns the rules of errors and warnings.
fn reported(findings: &[Findings]) -> BTreeSet<String> {
    let all = findings.iter().flat_map(|findings| &findings.list);
    let defects = all.filter(|finding| finding.rule.severity != RuleSeverity::Note);
    defects.map(|finding| finding.rule.id.as_str().to_owned()).collect()
}

/// Returns the answers of the releases to an example, in the words of `expected`.
fn answers(rule: &str, name: &str) -> BTreeMap<String, String> {
    let answer = |release: Release| {
        let found = release.answers(rule).iter().find(|found| found.example == name)?;
        Some((release.version().to_string(), words(&found.answer)?))
    };
    Release::known().filter_map(answer).collect()
}

/// Returns an answer in the words of the examples; `None` if the release was not asked.
fn words(answer: &Answer) -> Option<String> {
    Some(match answer {
        Answer::Runs | Answer::Ignores => "accepts".to_owned(),
        Answer::Crashes => "crashes".to_owned(),
        Answer::Hangs => "hangs".to_owned(),
        Answer::Rejects { step, error } => format!("{step} {error}"),
        Answer::Unable => return None,
    })
}
