//! Recognition of what people have of an error: a number, a name, or the log of ExecuTorch, whose messages are in
//! messages.table.

use std::ops::Range;
use std::sync::LazyLock;

use serde::Serialize;

use super::errors::{RuntimeError, blocks};
use super::rules::RuleId;
use pte_model::diagnostics::Code;

/// Message of ExecuTorch's log.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct LogMessage {
    /// Texts that identify it, of several releases. `{}` stands for any text, `{NAME}` for a word: a value of the
    /// message.
    #[serde(skip)]
    pub patterns: Vec<&'static str>,
    /// Error that the runtime returns after it; `None` if it is no error, or has the number of one.
    #[serde(skip)]
    pub error: Option<&'static RuntimeError>,
    /// Parts of a program that it is about, beside those that its values name.
    #[serde(skip)]
    pub topics: Vec<&'static str>,
    /// Meaning.
    pub meaning: &'static str,
    /// Remedy.
    pub remedy: &'static str,
}

impl LogMessage {
    /// Returns all messages. Those that are more specific are before others.
    pub fn all() -> &'static [LogMessage] {
        &MESSAGES
    }
}

static MESSAGES: LazyLock<Vec<LogMessage>> = LazyLock::new(|| {
    let message = |lines: Vec<&'static str>| {
        let patterns: Vec<_> = lines.iter().filter_map(|line| line.strip_prefix("> ")).collect();
        let [.., error, meaning, remedy] = lines[..] else { return None };
        let mut words = error.split(' ');
        let (error, topics) = (RuntimeError::find(words.next()?), words.collect());
        (!patterns.is_empty()).then_some(LogMessage { patterns, error, topics, meaning, remedy })
    };
    blocks(include_str!("messages.table")).filter_map(message).collect()
});

/// Part of a text that can be explained, found by [`recognize`].
#[derive(Debug, Clone)]
pub enum Recognized {
    /// An error of the runtime.
    Error(&'static RuntimeError),
    /// A rule of `check`.
    Rule(RuleId),
    /// A code of the assembler.
    Code(Code),
    /// A message of ExecuTorch's log.
    Message(FoundMessage),
}

/// [`LogMessage`] in a text.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct FoundMessage {
    /// Message.
    pub message: &'static LogMessage,
    /// Its text: the line from its first word on; long ones are truncated.
    pub text: String,
    /// Values of the message by name, such as `operator`.
    pub values: Vec<(&'static str, String)>,
    /// Its error, or that whose number it has.
    pub error: Option<&'static RuntimeError>,
}

impl Recognized {
    /// Returns the value of a message with a name.
    pub fn value(&self, name: &str) -> Option<&str> {
        let Recognized::Message(found) = self else { return None };
        found.values.iter().find(|(known, _)| *known == name).map(|(_, value)| value.as_str())
    }

    /// Returns the parts of a program that it is about, such as `operator`.
    pub fn topics(&self) -> Vec<&'static str> {
        match self {
            Recognized::Error(error) => error.topics.clone(),
            Recognized::Rule(_) | Recognized::Code(_) => Vec::new(),
            Recognized::Message(FoundMessage { message, values, .. }) => {
                values.iter().map(|(name, _)| *name).chain(message.topics.iter().copied()).collect()
            }
        }
    }

    /// Identity, by which repetitions are found.
    fn key(&self) -> (&'static str, &[(&'static str, String)]) {
        match self {
            Recognized::Error(error) => (error.name, &[]),
            Recognized::Rule(rule) => (rule.as_str(), &[]),
            Recognized::Code(code) => (code.as_str(), &[]),
            Recognized::Message(found) => (found.message.meaning, &found.values),
        }
    }
}

/// Most items of a text: each is a question about a program.
const MAX_FOUND: usize = 256;

/// Most bytes of the text of a message, and of a value.
const MAX_TEXT: usize = 500;

/// Name of the value that is the number of an error.
const ERROR: &str = "error";

/// Words before a number of an error.
const BEFORE_NUMBERS: [&str; 4] = ["error", "code", "failed", "status"];

/// Finds errors of the runtime by number or name, rules of `check`, codes of the assembler, and messages of
/// ExecuTorch's log, the first 256, each once, in their order. In a line with more words, a number needs a word such as
/// `error` or `status` before it, or, in hexadecimal, the end of the line after it. An error that a message implies is
/// not listed.
///
/// ```
/// use pte_check::{FoundMessage, LogMessage, Recognized, recognize};
///
/// for text in ["32", "0x:20", "Code=32", "Load failed: 32", "status 0x20", "got Error::NotFound"] {
///     assert!(matches!(&recognize(text)[..], [Recognized::Error(error)] if error.name == "NotFound"), "{text}");
/// }
/// let log = "E method.cpp:824] Missing operator: [3] my::op.out\nloading forward failed with error 0x14";
/// let [found @ Recognized::Message(FoundMessage { message, error, .. })] = &recognize(log)[..] else { panic!() };
/// assert_eq!((found.topics(), found.value("operator")), (vec!["operator"], Some("my::op.out")));
/// assert!(error.unwrap().code == 0x14 && LogMessage::all().iter().any(|known| known.meaning == message.meaning));
/// assert!(recognize("0x20000E20 and 3 files").is_empty());
/// ```
pub fn recognize(text: &str) -> Vec<Recognized> {
    // The Python package of ExecuTorch prints `0x:14`.
    let text = &text.trim().replace("0x:", "0x");
    let code = || Code::ALL.iter().find(|code| code.name().eq_ignore_ascii_case(text)).copied().map(Recognized::Code);
    let error = RuntimeError::find(text).map(Recognized::Error);
    if let Some(whole) = error.or_else(|| identified(&text.to_ascii_uppercase())).or_else(code) {
        return vec![whole];
    }
    let mut found: Vec<Recognized> = Vec::new();
    for line in text.lines() {
        let mut at = messages(line);
        words(line, &mut at);
        // Of several that begin at the same place, the first of the table counts; a part of it is nothing else.
        at.sort_by_key(|(range, _)| range.start);
        let mut end = 0;
        for (range, recognized) in at {
            if range.start >= end {
                end = range.end;
                if found.len() < MAX_FOUND && found.iter().all(|known| known.key() != recognized.key()) {
                    found.push(recognized);
                }
            }
        }
    }
    let implied = found.iter().map(|found| match found {
        Recognized::Message(found) => found.error.map(|error| error.code),
        Recognized::Error(_) | Recognized::Rule(_) | Recognized::Code(_) => None,
    });
    let implied: Vec<Option<u32>> = implied.collect();
    found.retain(|found| !matches!(found, Recognized::Error(error) if implied.contains(&Some(error.code))));
    found
}

/// Rule or code of an id.
fn identified(id: &str) -> Option<Recognized> {
    id.parse().ok().map(Recognized::Rule).or_else(|| id.parse().ok().map(Recognized::Code))
}

/// Finds the messages of a line, with the bytes of each, in the order of the table.
fn messages(line: &str) -> Vec<(Range<usize>, Recognized)> {
    let mut found = Vec::new();
    for message in LogMessage::all() {
        let matched = message.patterns.iter().find_map(|pattern| Some((pattern, matched(line, pattern)?)));
        let Some((pattern, (range, mut values))) = matched else { continue };
        let number = values.iter().position(|(name, _)| *name == ERROR).map(|at| values.remove(at).1);
        let base = if pattern.contains("0x{error}") { "0x" } else { "" };
        let error = message.error.or_else(|| RuntimeError::find(&format!("{base}{}", number?)));
        let text = line[range.start..line.floor_char_boundary(range.start + MAX_TEXT)].trim_end().to_owned();
        found.push((range, Recognized::Message(FoundMessage { message, text, values, error })));
    }
    found
}

/// Values of a message by name.
type Values = Vec<(&'static str, String)>;

/// Finds a pattern in a line: its bytes and its values.
fn matched(line: &str, pattern: &'static str) -> Option<(Range<usize>, Values)> {
    let (first, rest) = pattern.split_at(pattern.find('{').unwrap_or(pattern.len()));
    line.match_indices(first).find_map(|(start, _)| {
        let (mut at, mut rest, mut values) = (start + first.len(), rest, Vec::new());
        while let Some((name, after)) = rest.strip_prefix('{').and_then(|rest| rest.split_once('}')) {
            let (literal, next) = after.split_at(after.find('{').unwrap_or(after.len()));
            let left = &line[at..line.floor_char_boundary(at + MAX_TEXT)];
            let len = match literal {
                "" => left.find(|c: char| c.is_whitespace() || c == ',').unwrap_or(left.len()),
                literal => left.find(literal)?,
            };
            let value = left[..len].trim_end_matches(['.', ':', ')', '\'', '"', ']']);
            if !name.is_empty() {
                (!value.is_empty() && !value.contains(char::is_whitespace))
                    .then(|| values.push((name, value.to_owned())))?;
            }
            (at, rest) = (at + len + literal.len(), next);
        }
        Some((start..at, values))
    })
}

/// Adds the errors, rules and codes among the words of a line.
fn words(line: &str, found: &mut Vec<(Range<usize>, Recognized)>) {
    let is_other = |c: char| !c.is_ascii_alphanumeric() && c != '_' && c != '-';
    let last = line.trim_end_matches(is_other).len();
    let (mut next, mut end, mut previous) = (0, 0, "");
    for piece in line.split_inclusive(is_other) {
        let (word, start) = (piece.trim_end_matches(is_other), next);
        next += piece.len();
        if word.is_empty() {
            continue;
        }
        let between = line[end..start].trim_end();
        end = start + word.len();
        let follows = between.len() <= 2 && BEFORE_NUMBERS.iter().any(|known| previous.eq_ignore_ascii_case(known));
        let is_error = |error: &&RuntimeError| match word.strip_prefix("0x") {
            _ if error.code == 0 => false,
            Some("0" | "1" | "2" | "3" | "4") => follows || end == last && !between.ends_with('='),
            Some(digits) => digits.len() <= 2 && (follows || !between.ends_with(['=', '@'])),
            None if word.starts_with(|c: char| c.is_ascii_digit()) => {
                follows && !previous.eq_ignore_ascii_case("status")
            }
            None => between == "::" && previous == "Error" || error.name == word && !["Internal", "Ok"].contains(&word),
        };
        let error = RuntimeError::find(word).filter(is_error).map(Recognized::Error);
        let recognized = error.or_else(|| word.contains('-').then(|| identified(word))?);
        found.extend(recognized.map(|recognized| (start..end, recognized)));
        previous = word;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_well_formed() {
        for block in blocks(include_str!("messages.table")).skip(1) {
            let [.., error, _, _] = block[..] else { panic!("{block:?}") };
            let name = error.split(' ').next().unwrap();
            assert!(name == "-" || RuntimeError::find(name).is_some_and(|found| found.name == name), "{block:?}");
        }
        assert!(LogMessage::all().len() > 50);
        let names = ["", "operator", "instruction", "memory", "backend", "input", "key", "method", ERROR];
        for message in LogMessage::all() {
            assert!(message.meaning.ends_with('.') && message.remedy.ends_with('.'), "{}", message.meaning);
            for pattern in &message.patterns {
                assert!(!pattern.starts_with('{') && !pattern.contains("}{"), "{pattern}");
                for part in pattern.split('{').skip(1) {
                    assert!(names.contains(&part.split_once('}').expect(pattern).0), "{pattern}");
                }
                // A sample of it is recognized as this message.
                let sample = pattern.replace("{error}", "12").replace("{}", "a b").replace(['{', '}'], "");
                let found = recognize(&format!("E 00:00:00.1 executorch:a.cpp:1{sample}").replace("1]", "]"));
                let [Recognized::Message(found), ..] = &found[..] else { panic!("{sample}: {found:?}") };
                assert_eq!(found.message.meaning, message.meaning, "{sample}");
            }
        }
        let topics = RuntimeError::all().iter().flat_map(|error| &error.topics);
        let topics: Vec<_> = topics.chain(LogMessage::all().iter().flat_map(|message| &message.topics)).collect();
        assert!(topics.iter().all(|topic| names.contains(topic)), "{topics:?}");
    }

    #[test]
    fn numbers_and_names_need_a_reason() {
        let codes = |text| {
            let code = |found: &Recognized| match found {
                Recognized::Error(error) => Some(error.code),
                Recognized::Rule(_) | Recognized::Code(_) | Recognized::Message(_) => None,
            };
            recognize(text).iter().filter_map(code).collect::<Vec<u32>>()
        };
        for text in
            ["backend = 0x1, device = 0x1", "done. status 0x0", "exit status 1", "Internal Ok", "34 files", "x 0x123"]
        {
            assert!(codes(text).is_empty(), "{text}");
        }
        assert_eq!(codes("Program loading failed @ 0x0x20000E20: 0x23"), [0x23]);
        assert_eq!(codes("[ExecuTorch Error 0x12] Invalid argument: Failed to load method: forward"), [0x12]);
        assert_eq!(codes("status=0x21 Code=32 error: 0x:14"), [0x21, 0x20, 0x14]);
        assert_eq!(codes("NotFound, then Error::Internal"), [0x20, 0x01]);
    }

    /// No text is too long or too strange, and each is read in time.
    #[test]
    fn hostile_texts_end() {
        for part in ["Missing operator: [", "Backend ", "Input 0", "é0x:", "0x:", "Error::", "> {", "\u{0}-"] {
            recognize(&part.repeat(20_000));
        }
    }
}
