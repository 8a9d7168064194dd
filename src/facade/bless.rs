//! Writes the outputs that tests found into their YAML, as expected outputs. Only the outputs that differ are edited:
//! comments, layout and all other text stay. The result is assembled, to verify that nothing else has changed.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::assembly::Assembly;
use crate::facade::model::Model;
use crate::facade::testing::{self, TestOutcome, TestReport, TestResult};
use crate::ir::yaml::{self, FlowMap};
use crate::printer::ExtractedFile;
use crate::printer::test_cases::OutputPrinter;
use pte_model::data::number::{self, NumericValue};
use pte_model::diagnostics::{Code, clipped};
use pte_model::error::Error;
use pte_model::program::test_cases::{TestCase, TestData};
use pte_run::OutputValue;
use pte_run::compare;
use pte_yaml::format;
use pte_yaml::template;
use pte_yaml::tree::{self, MapKey, NodeId, NodeValue, SourceNode};

/// YAML with new expected outputs, of [`Model::with_outputs`].
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Blessed {
    /// The YAML or JSON.
    pub text: String,
    /// Files with outputs of more than 256 bytes, which the YAML refers to. The caller writes them.
    pub files: Vec<ExtractedFile>,
    /// Number of tests whose expected outputs are new.
    pub tests: usize,
}

impl Model {
    /// Returns the YAML with the outputs that were found as the expected ones, where they differ. `folder`, relative to
    /// that of the YAML, is for files with large outputs.
    ///
    /// ```
    /// use pte_emit::Model;
    /// use pte_emit::run::{RunnerCommand, TestOptions};
    ///
    /// let tests = "      - {atol: 0}  # by hand\n      - {outputs: [7]}\n";
    /// let yaml = format!("# seven\nmethods:\n  seven:\n    outputs: [7]\n    tests:\n{tests}");
    /// let model = Model::from_yaml("seven.yaml", &yaml, ".");
    /// let script = "echo program ok; while read command rest; do case $command in
    ///     outputs) echo outputs 1; echo output 0 int 7;; *) echo $command ok; esac; done";
    /// let options = TestOptions::new(RunnerCommand::new("sh").with_arguments(["-c", script]));
    ///
    /// let report = model.run_tests(&std::env::temp_dir(), &options)?;
    /// let blessed = model.with_outputs(&report, "seven.outputs".as_ref())?;
    /// assert_eq!(blessed.text, yaml.replace("{atol: 0}", "{atol: 0, outputs: [7]}"));
    /// assert_eq!((blessed.tests, blessed.files.len()), (1, 0));
    /// # Ok::<(), pte_emit::Error>(())
    /// ```
    ///
    /// # Errors
    /// A test without outputs, outputs that tests cannot have, such as lists and NaN, and YAML that cannot be edited: a
    /// binary file, or aliases and variables where the outputs are.
    pub fn with_outputs(&self, report: &TestReport, folder: &Path) -> Result<Blessed, Error> {
        let text = self.text().ok_or_else(|| {
            self.refused("expected outputs are written into YAML; `pte-emit dump` prints this file as YAML".to_owned())
        })?;
        let source = EditedSource::new(text).ok_or_else(|| self.refused(UNEDITABLE.to_owned()))?;
        let printer = OutputPrinter::new(folder, &self.other_files(&source, report, folder));
        let (mut edits, mut tests) = (Vec::new(), 0);
        for outcome in &report.tests {
            let Some(found) = &outcome.outputs else {
                let message = format!("`{}` has no outputs: nothing is written", clipped(&outcome.name()));
                return Err(self.refused(message));
            };
            if outcome.result == TestResult::Passed {
                continue;
            }
            let values = self.expected(outcome, found)?;
            let printed = printer.print(&values, &outcome.method, outcome.index);
            let printed = printed.map_err(|error| Error::io(self.name(), "", &error))?;
            let edited = source.edits(outcome, &printed, &differing(outcome, found));
            edits.extend(edited.ok_or_else(|| self.refused(uneditable(outcome)))?);
            tests += 1;
        }
        let text = template::replaced(text, edits).ok_or_else(|| self.refused("the outputs overlap".to_owned()))?;
        let files = printer.files(&text);
        self.verify(&text, &files, report)?;
        Ok(Blessed { text, files, tests })
    }

    fn refused(&self, message: String) -> Error {
        Error::input(Code::UnmetRequest, &self.label(), message)
    }

    /// Returns outputs as expected ones.
    fn expected(&self, outcome: &TestOutcome, found: &[OutputValue]) -> Result<Vec<TestData>, Error> {
        let refused = |index: usize, what: &str| {
            let name = outcome.name();
            self.refused(format!("`{}`: output {index} {what}: nothing is written", clipped(&name)))
        };
        let convert = |(index, value): (usize, &OutputValue)| {
            let what = "is a list, a string that is not UTF-8, or a tensor without memory, which tests cannot expect";
            let data = value.to_test_data().ok_or_else(|| refused(index, what))?;
            match position_of_nan(value) {
                Some(at) => {
                    let what = format!(
                        "is NaN{at}; a test that expects it would not show what is wrong. Change the inputs, or write `.nan`"
                    );
                    Err(refused(index, &what))
                }
                None => Ok(data),
            }
        };
        found.iter().enumerate().map(convert).collect()
    }

    /// Names of the files in the folder that the outputs to write do not replace: those that the YAML reads elsewhere,
    /// or not at all.
    fn other_files(&self, source: &EditedSource<'_>, report: &TestReport, folder: &Path) -> Vec<String> {
        let replaced = report.tests.iter().filter(|outcome| outcome.result != TestResult::Passed);
        let replaced = replaced.filter_map(|outcome| source.text.get(source.outputs(outcome)?));
        let replaced: Vec<&str> = replaced.collect();
        let uses = |text: &str, name: &str| text.matches(name).count();
        let files = std::fs::read_dir(self.folder().join(folder)).into_iter().flatten().flatten();
        let names = files.filter_map(|file| file.file_name().into_string().ok());
        let is_other = |name: &String| {
            let own: usize = replaced.iter().map(|text| uses(text, name)).sum();
            own == 0 || own != uses(source.text, name)
        };
        names.filter(is_other).collect()
    }

    /// Assembles the edited text: files, inputs and other tests are the same, and the outputs are the expected ones.
    fn verify(&self, text: &str, files: &[ExtractedFile], report: &TestReport) -> Result<(), Error> {
        let folder = self.folder();
        let planned: BTreeMap<PathBuf, _> =
            files.iter().map(|file| (folder.join(&file.path), file.data.clone())).collect();
        let edited = self.edited(text, Arc::new(planned));
        let [before, after] = [self, &edited].map(testing::assemble);
        let ((before, _), (after, invalid)) = (before?, after?);
        let unreadable = |error: std::io::Error| Error::io(self.name(), "", &error);
        let changed = || self.refused("the new outputs would change something else that the YAML says".to_owned());
        if contents(&before).map_err(unreadable)? != contents(&after).map_err(unreadable)? {
            return Err(changed());
        }
        let counts = [&before, &after]
            .map(|assembly| assembly.tests.iter().map(|tests| (&tests.method, tests.cases.len())).collect::<Vec<_>>());
        if counts[0] != counts[1] {
            return Err(changed());
        }
        let blessed = |method: &str, index: usize| {
            report.tests.iter().find(|outcome| outcome.method == method && outcome.index == index)
        };
        for (old, new) in before.tests.iter().zip(&after.tests) {
            // Tests with errors are in neither.
            let mut at = 0;
            for (old_case, new_case) in old.cases.iter().zip(&new.cases) {
                while invalid.iter().any(|test| test.method == new.method && test.index == at) {
                    at += 1;
                }
                let outcome = blessed(&new.method, at);
                at += 1;
                if !same(&old_case.inputs, &new_case.inputs).map_err(unreadable)? {
                    return Err(changed());
                }
                let Some(outcome) = outcome else {
                    let outputs = [old_case, new_case].map(|case| case.outputs.as_deref().unwrap_or_default());
                    if !same(outputs[0], outputs[1]).map_err(unreadable)? {
                        return Err(changed());
                    }
                    continue;
                };
                let found = outcome.outputs.as_deref().unwrap_or_default();
                let compared = compare::outputs(new_case, found);
                let is_expected = compared.is_ok_and(|compared| compared.difference.is_none());
                if new_case.outputs.is_none() || !is_expected {
                    return Err(self.refused(uneditable(outcome)));
                }
            }
        }
        Ok(())
    }
}

/// Metadata of the files of an assembly, and digests of the data in them, for a comparison.
fn contents(assembly: &Assembly) -> std::io::Result<Vec<Vec<u8>>> {
    let mut contents: Vec<Vec<u8>> = assembly.program_file().map(|file| file.metadata()).into_iter().collect();
    contents.extend(assembly.data_files().map(|(_, file)| file.metadata()));
    for blob in &assembly.program.blobs {
        contents.push(blob.digest()?.to_vec());
    }
    Ok(contents)
}

/// Returns `true` if values have the same elements.
fn same(a: &[TestData], b: &[TestData]) -> std::io::Result<bool> {
    if a.len() != b.len() {
        return Ok(false);
    }
    for (a, b) in a.iter().zip(b) {
        if pte_run::value::words(a)? != pte_run::value::words(b)? {
            return Ok(false);
        }
    }
    Ok(true)
}

const UNEDITABLE: &str = "the tests cannot be edited: write the outputs by hand";

fn uneditable(outcome: &TestOutcome) -> String {
    format!(
        "the outputs of `{}` cannot be written: write them by hand, or without aliases, and comments between \
         the items",
        clipped(&outcome.name())
    )
}

/// Returns which outputs are not as expected; all without expected ones.
fn differing(outcome: &TestOutcome, found: &[OutputValue]) -> Vec<bool> {
    let Some(case) = &outcome.case else { return vec![true; found.len()] };
    let expected = case.outputs.as_deref().unwrap_or_default();
    let differs = |(index, found): (usize, &OutputValue)| {
        let Some(expected) = expected.get(index) else { return true };
        let (atol, rtol) = (case.atol, case.rtol);
        let single = TestCase { inputs: Vec::new(), outputs: Some(vec![expected.clone()]), atol, rtol };
        compare::outputs(&single, std::slice::from_ref(found)).is_ok_and(|compared| compared.difference.is_some())
    };
    found.iter().enumerate().map(differs).collect()
}

/// Position of the first NaN for a message, if there is one.
fn position_of_nan(value: &OutputValue) -> Option<String> {
    match value {
        OutputValue::Double(x) => x.is_nan().then(String::new),
        OutputValue::Tensor { scalar_type, sizes, dim_order, bytes: Some(bytes) } => {
            let size = scalar_type.info()?.size as usize;
            let is_nan = |bytes: &[u8]| match number::decode(*scalar_type, bytes) {
                Some(NumericValue::Float(x)) => x.is_nan(),
                Some(NumericValue::Complex(re, im)) => re.is_nan() || im.is_nan(),
                Some(NumericValue::Int(_) | NumericValue::Bool(_)) | None => false,
            };
            let position = bytes.chunks(size).position(is_nan)? as u64;
            Some(format!(" at {:?}", compare::coordinates(position, sizes, dim_order)))
        }
        OutputValue::Null
        | OutputValue::Int(_)
        | OutputValue::Bool(_)
        | OutputValue::String(_)
        | OutputValue::Tensor { bytes: None, .. }
        | OutputValue::Other(_) => None,
    }
}

/// A replacement of a part of the text.
type Edit = (Range<usize>, String);

/// A source with the ranges of its nodes.
struct EditedSource<'t> {
    text: &'t str,
    root: SourceNode<'t>,
    ranges: Vec<Range<usize>>,
    is_json: bool,
}

impl<'t> EditedSource<'t> {
    fn new(text: &'t str) -> Option<EditedSource<'t>> {
        let (root, ranges) = tree::parse_with_ranges(text).ok()?;
        let is_json = format::json_problem(text).is_none();
        Some(EditedSource { text, root, ranges, is_json })
    }

    fn range(&self, id: NodeId) -> Option<Range<usize>> {
        self.ranges.get(id.0 as usize).cloned()
    }

    fn test(&self, outcome: &TestOutcome) -> Option<&SourceNode<'t>> {
        let methods = &entry(&self.root, "methods")?.1;
        let tests = &entry(&entry(methods, &outcome.method)?.1, "tests")?.1;
        let NodeValue::List(tests) = &tests.value else { return None };
        tests.get(outcome.index)
    }

    /// Returns the characters of the expected outputs of a test.
    fn outputs(&self, outcome: &TestOutcome) -> Option<Range<usize>> {
        self.range(entry(self.test(outcome)?, "outputs")?.1.id)
    }

    /// Returns the edits that make these the outputs of a test; `None` if that is not possible.
    fn edits(&self, outcome: &TestOutcome, printed: &[String], differing: &[bool]) -> Option<Vec<Edit>> {
        let test = self.test(outcome)?;
        let NodeValue::Map(entries) = &test.value else { return None };
        let printed: Vec<String> = printed.iter().map(|item| self.in_syntax(item)).collect::<Option<_>>()?;
        let Some((key, outputs)) = entry(test, "outputs") else {
            return self.inserted(test, entries, &printed).map(|edit| vec![edit]);
        };
        if let NodeValue::List(items) = &outputs.value
            && items.len() == printed.len()
            && items.iter().all(|item| self.is_in_line(item))
        {
            let edits = items.iter().zip(&printed).zip(differing).filter(|(_, differs)| **differs);
            return edits.map(|((item, new), _)| Some((self.range(item.id)?, new.clone()))).collect();
        }
        // After the colon of the key.
        let after = self.range(key.id)?.end;
        let start = after + self.text.get(after..)?.find(':')? + 1;
        let end = self.range(outputs.id)?.end.max(start);
        if has_comment(self.text.get(start..end)?) {
            return None;
        }
        Some(vec![(start..end, format!(" [{}]", printed.join(", ")))])
    }

    /// Returns true for a node with characters that can be replaced: no list or map without brackets.
    fn is_in_line(&self, node: &SourceNode<'_>) -> bool {
        let Some(text) = self.range(node.id).and_then(|range| self.text.get(range)) else { return false };
        let is_nested = matches!(node.value, NodeValue::List(_) | NodeValue::Map(_));
        !text.is_empty() && (!is_nested || text.starts_with(['[', '{']))
    }

    /// Returns the edit that adds outputs to a test without.
    fn inserted(
        &self,
        test: &SourceNode<'_>,
        entries: &[(MapKey<'_>, SourceNode<'_>)],
        printed: &[String],
    ) -> Option<Edit> {
        let key = if self.is_json { "\"outputs\"" } else { "outputs" };
        let new = format!("{key}: [{}]", printed.join(", "));
        let whole = self.range(test.id)?;
        let is_in_brackets = self.text.get(whole.clone())?.starts_with('{');
        let Some((first, last)) = entries.first().zip(entries.last()) else {
            return is_in_brackets.then_some((whole.start + 1..whole.start + 1, new));
        };
        let inputs = entries.iter().find(|(key, _)| key.text == "inputs").unwrap_or(last);
        let end = self.range(inputs.1.id)?.end;
        if is_in_brackets {
            return Some((end..end, format!(", {new}")));
        }
        // On a line of its own, below the first key.
        let rest = self.text.get(end..)?;
        let line_end = rest.find('\n').unwrap_or(rest.len());
        let line = rest[..line_end].trim();
        if !line.is_empty() && !line.starts_with('#') {
            return None;
        }
        let start = self.range(first.0.id)?.start;
        let line_start = self.text[..start].rfind('\n').map_or(0, |at| at + 1);
        let indent: String = self.text[line_start..start].chars().map(|_| ' ').collect();
        let (at, newline) = match rest[..line_end].strip_suffix('\r') {
            Some(line) => (end + line.len(), "\r\n"),
            None => (end + line_end, "\n"),
        };
        Some((at..at, format!("{newline}{indent}{new}")))
    }

    /// Returns a printed value in the syntax of the source.
    fn in_syntax(&self, printed: &str) -> Option<String> {
        if !self.is_json {
            return Some(printed.to_owned());
        }
        let mut out = String::new();
        json(&tree::parse(printed).ok()?, &mut out);
        Some(out)
    }
}

/// Returns true for YAML in which a comment may begin, or a string that looks like one.
fn has_comment(yaml: &str) -> bool {
    yaml.lines()
        .any(|line| line.split_once('#').is_some_and(|(before, _)| before.trim_end() != before || before.is_empty()))
}

/// Returns the entry of a map with a key.
fn entry<'n, 't>(node: &'n SourceNode<'t>, key: &str) -> Option<&'n (MapKey<'t>, SourceNode<'t>)> {
    let NodeValue::Map(entries) = &node.value else { return None };
    entries.iter().find(|(found, _)| found.text == key)
}

/// Appends a node as JSON. Infinities are strings, as in all JSON sources.
fn json(node: &SourceNode<'_>, out: &mut String) {
    match &node.value {
        NodeValue::List(items) => yaml::list(out, items, json),
        NodeValue::Map(entries) => {
            let mut map = FlowMap::new(out);
            for (key, value) in entries {
                json(value, map.key(&serde_json::Value::from(&*key.text).to_string()));
            }
            map.end();
        }
        _ => out.push_str(&serde_json::Value::from(node).to_string()),
    }
}
