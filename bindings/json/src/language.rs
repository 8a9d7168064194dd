//! Questions of an editor about YAML that is being written: those of [`Analysis`], whose results are the answers, with
//! offsets in the units of the caller. `pte-emit lsp` answers the same ones with lines and columns.
//!
//! The analysis of the last text of a thread is kept: as long as text, options and files are the same, further questions
//! do not analyse it again.

use std::cell::RefCell;
use std::ops::Range;
use std::path::Path;

use pte_emit::Error;
use pte_emit::command::files;
use pte_emit::language::{
    Analysis, CompletionItem, Hover, InlayHint, LanguageOptions, OffsetUnits, OutlineItem, Reference, SemanticToken,
    SourceAction, SourceMessage, TextEdit, UnitOffsets,
};
use serde::Serialize;
use serde_json::{Map, Value};

use crate::HostFiles;
use crate::request::{Request, choice, error, release};

/// Options of the analysis.
const ANALYSIS: &[&str] = &["input", "define", "runtime", "target", "hints", "units"];
/// Options of questions.
const QUESTION: &[&str] = &["question", "at", "start", "end", "name"];
/// Options of the command.
pub const OPTIONS: &[&[&str]] = &[ANALYSIS, QUESTION];

/// A question: a row of [`QUESTIONS`].
#[derive(Clone, Copy)]
struct Question {
    /// Options of [`QUESTION`] that it has.
    options: &'static [&'static str],
    answer: fn(&Subject, &Request) -> Result<String, Error>,
}

const AT: &[&str] = &["at"];
const RANGE: &[&str] = &["start", "end"];

/// The questions, as the methods of [`Analysis`] are called.
const QUESTIONS: &[(&str, Question)] = &[
    ("actions", Question { options: RANGE, answer: |of, request| of.answer(of.analysis.actions(of.range(request)?)) }),
    (
        "completions",
        Question { options: AT, answer: |of, request| of.answer(of.analysis.completions(of.at(request)?)) },
    ),
    ("definition", Question { options: AT, answer: |of, request| of.answer(of.analysis.definition(of.at(request)?)) }),
    ("formatting", Question { options: &[], answer: |of, _| of.answer(of.analysis.formatting().map_err(error)?) }),
    ("hints", Question { options: RANGE, answer: |of, request| of.answer(of.analysis.hints(of.range(request)?)) }),
    ("hover", Question { options: AT, answer: |of, request| of.answer(of.analysis.hover(of.at(request)?)) }),
    ("messages", Question { options: &[], answer: |of, _| of.answer(of.analysis.diagnostics().to_vec()) }),
    ("references", Question { options: AT, answer: |of, request| of.answer(of.analysis.references(of.at(request)?)) }),
    ("rename", Question { options: &["at", "name"], answer: rename }),
    (
        "renameable",
        Question { options: AT, answer: |of, request| of.answer(of.analysis.renameable(of.at(request)?).ok()) },
    ),
    ("signature", Question { options: AT, answer: signature }),
    ("symbols", Question { options: &[], answer: |of, _| of.answer(of.analysis.symbols()) }),
    ("tokens", Question { options: &[], answer: |of, _| of.answer(of.analysis.tokens()) }),
];

/// A text with its analysis.
struct Subject {
    analysis: Analysis,
    offsets: UnitOffsets,
}

/// The last text.
struct LastSubject {
    /// Options of the request, without those of the question.
    options: Map<String, Value>,
    host: HostFiles,
    subject: Subject,
}

thread_local! {
    static LAST: RefCell<Option<LastSubject>> = const { RefCell::new(None) };
}

/// Answers a question with JSON.
///
/// # Errors
/// An unknown question or option; a text that cannot be read; those of the question.
pub fn answer(request: &Request) -> Result<String, Error> {
    let name = request.required("question")?;
    let question = choice("question", name, QUESTIONS)?;
    let common = ["command", "question", "files"];
    request.check(name, common.iter().chain(ANALYSIS).chain(question.options).copied())?;
    let last = LAST.take().filter(|last| last.is_of(request));
    let last = last.map_or_else(|| LastSubject::new(request), Ok)?;
    let answer = (question.answer)(&last.subject, request);
    LAST.set(Some(last));
    answer
}

impl LastSubject {
    fn new(request: &Request) -> Result<LastSubject, Error> {
        let input = request.required("input")?;
        let units: Vec<_> = OffsetUnits::ALL.iter().map(|units| (units.name(), *units)).collect();
        let units = choice("value of `units`", request.text("units")?.unwrap_or(OffsetUnits::Utf8.name()), &units)?;
        let options = language_options(request)?;
        let bytes = files::read(input.as_ref()).map_err(|error| Error::io(input, "", &error))?;
        let text = String::from_utf8(bytes).map_err(|wrong| error(format!("{input}: expected UTF-8: {wrong}")))?;
        let folder = Path::new(input).parent().unwrap_or(Path::new(""));
        let offsets = UnitOffsets::new(&text, units);
        let subject = Subject { analysis: Analysis::new(input, text, folder, &options), offsets };
        let options = of_analysis(request).map(|(name, value)| (name.clone(), value.clone())).collect();
        Ok(LastSubject { options, host: request.host.clone(), subject })
    }

    /// Returns true if a request is about the same text, with the same options and files.
    fn is_of(&self, request: &Request) -> bool {
        self.host.is_same(&request.host)
            && of_analysis(request).count() == self.options.len()
            && of_analysis(request).all(|(name, value)| self.options.get(name) == Some(value))
    }
}

/// Returns the options that an analysis depends on.
fn of_analysis(request: &Request) -> impl Iterator<Item = (&String, &Value)> {
    request.options.iter().filter(|(name, _)| !QUESTION.contains(&name.as_str()))
}

fn language_options(request: &Request) -> Result<LanguageOptions, Error> {
    let mut options = LanguageOptions::default().definitions(request.map("define")?).targets(request.targets()?);
    options.runtime = request.text("runtime")?.map(release).transpose()?;
    let hints = request.texts("hints")?;
    if !hints.is_empty() {
        let known = [("types", 0), ("arguments", 1), ("memory", 2)];
        let mut is_on = [false; 3];
        for name in &hints {
            is_on[choice("hint", name, &known)?] = true;
        }
        [options.hint_types, options.hint_arguments, options.hint_memory] = is_on;
    }
    Ok(options)
}

impl Subject {
    /// Returns the offset of a request in bytes.
    fn at(&self, request: &Request) -> Result<usize, Error> {
        self.offset(request, "at")?.ok_or_else(|| error("missing option `at`"))
    }

    /// Returns the range of a request in bytes, by default that of the text.
    fn range(&self, request: &Request) -> Result<Range<usize>, Error> {
        let start = self.offset(request, "start")?.unwrap_or(0);
        let end = self.offset(request, "end")?.unwrap_or(self.analysis.text().len());
        Ok(start..end.max(start))
    }

    fn offset(&self, request: &Request, name: &str) -> Result<Option<usize>, Error> {
        let units = request.number(name)?.map(|units| usize::try_from(units).unwrap_or(usize::MAX));
        Ok(units.map(|units| self.offsets.bytes(units)))
    }

    /// Returns a result as JSON, with offsets in the units of the request.
    fn answer(&self, mut result: impl Offsets + Serialize) -> Result<String, Error> {
        result.change(&|offset| *offset = self.offsets.units(*offset));
        Ok(crate::text(&result))
    }
}

fn rename(of: &Subject, request: &Request) -> Result<String, Error> {
    of.answer(of.analysis.rename(of.at(request)?, request.required("name")?).map_err(error)?)
}

fn signature(of: &Subject, request: &Request) -> Result<String, Error> {
    let mut found = of.analysis.signature(of.at(request)?);
    if let Some(found) = &mut found {
        // The ranges are of the label.
        let offsets = UnitOffsets::new(&found.label, of.offsets.kind());
        found.arguments.change(&|offset| *offset = offsets.units(*offset));
    }
    Ok(crate::text(&found))
}

/// A result with offsets of the text.
trait Offsets {
    /// Changes all offsets.
    fn change(&mut self, change: &dyn Fn(&mut usize));
}

impl Offsets for Range<usize> {
    fn change(&mut self, change: &dyn Fn(&mut usize)) {
        change(&mut self.start);
        change(&mut self.end);
    }
}

impl<T: Offsets> Offsets for Vec<T> {
    fn change(&mut self, change: &dyn Fn(&mut usize)) {
        self.iter_mut().for_each(|item| item.change(change));
    }
}

impl<T: Offsets> Offsets for Option<T> {
    fn change(&mut self, change: &dyn Fn(&mut usize)) {
        self.iter_mut().for_each(|item| item.change(change));
    }
}

impl Offsets for InlayHint {
    fn change(&mut self, change: &dyn Fn(&mut usize)) {
        change(&mut self.at);
    }
}

impl Offsets for (Range<usize>, String) {
    fn change(&mut self, change: &dyn Fn(&mut usize)) {
        self.0.change(change);
    }
}

/// Results of which some fields have offsets.
macro_rules! offsets {
    ($($result:ty: $($field:ident)+;)+) => {$(
        impl Offsets for $result {
            fn change(&mut self, change: &dyn Fn(&mut usize)) {
                $(self.$field.change(change);)+
            }
        }
    )+};
}

offsets! {
    CompletionItem: range;
    Hover: range;
    OutlineItem: range selection children;
    Reference: range;
    SemanticToken: range;
    SourceAction: corrects edits;
    SourceMessage: range related;
    TextEdit: range;
}
