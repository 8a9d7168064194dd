//! Recognition of what people have of an error: a number, a name, or the log of ExecuTorch, whose messages are in
//! messages.table.

use std::collections::HashSet;
use std::sync::LazyLock;

use serde::Serialize;

use super::errors::{RuntimeError, blocks};
use super::rules::RuleId;
use pte_model::diagnostics::Code;

/// Message of ExecuTorch's log.
///
/// ```
/// use pte_check::{FoundMessage, LogMessage, Recognized, recognize};
///
/// let found = recognize("E method.cpp:85] Backend XnnpackBackend is not registered.");
/// assert_eq!(found[0].topics(), ["backend"]);
/// let Recognized::Message(FoundMessage { message, text, .. }) = &found[0] else { panic!() };
/// assert_eq!(text, "Backend XnnpackBackend is not registered.");
/// assert!(LogMessage::all().iter().any(|known| known.meaning == message.meaning));
/// ```
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
        let (error, topics) = error.split_once(' ').unwrap_or((error, ""));
        let (error, topics) = (RuntimeError::find(error), topics.split_whitespace().collect());
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

    /// Identity, by which repetitions are found: the number of a message, with its values, or a name.
    fn key(&self) -> (&'static str, &[(&'static str, String)]) {
        match self {
            Recognized::Error(error) => (error.name, &[]),
            Recognized::Rule(rule) => (rule.as_str(), &[]),
            Recognized::Code(code) => (code.as_str(), &[]),
            Recognized::Message(found) => (found.message.meaning, &found.values),
        }
    }
}

/// Finds errors of the runtime by number or name, rules of `check`, codes of the assembler, and messages of
/// ExecuTorch's log, the first 256, each once, in their order. In a line with more words, a number needs a word such as
/// `error` or `status` before it, or, in hexadecimal, the end of the line after it. An error that a message implies is
/// not listed.
///
/// ```
/// use pte_check::{Recognized, recognize};
///
/// for text in ["32", "0x:20", "Code=32", "Load failed: 32", "status 0x20", "got Error::NotFound"] {
///     assert!(matches!(&recognize(text)[..], [Recognized::Error(error)] if error.name == "NotFound"), "{text}");
/// }
/// let log = "E method.cpp:824] Missing operator: [3] my::op.out\nloading forward failed with error 0x14";
/// let [found @ Recognized::Message(missing)] = &recognize(log)[..] else { panic!() };
/// assert_eq!((found.value("operator"), missing.error.unwrap().code), (Some("my::op.out"), 0x14));
/// assert!(recognize("0x20000E20 and 3 files").is_empty());
/// ```
pub fn recognize(text: &str) -> Vec<Recognized> {
    let text = text.trim();
    let code = || Code::ALL.iter().find(|code| code.name().eq_ignore_ascii_case(text)).copied();
    let whole = RuntimeError::find(text).map(Recognized::Error);
    if let Some(whole) =
        whole.or_else(|| identified(&text.to_ascii_uppercase())).or_else(|| code().map(Recognized::Code))
    {
        return vec![whole];
    }
    let mut found: Vec<Recognized> = Vec::new();
    for line in text.lines() {
        let mut at: Vec<(usize, usize, Recognized)> = messages(line);
        // The first of the table; a part of it is nothing else.
        at.sort_by_key(|(start, ..)| *start);
        let messages: Vec<_> = at.iter().map(|(start, end, _)| *start..*end).collect();
        at.extend(words(line).filter(|(start, ..)| !messages.iter().any(|range| range.contains(start))));
        at.sort_by_key(|(start, ..)| *start);
        let mut end = 0;
        for (start, until, recognized) in at {
            if start >= end {
                end = until;
                found.push(recognized);
            }
        }
    }
    let implied: HashSet<u32> = found
        .iter()
        .filter_map(|recognized| match recognized {
            Recognized::Message(found) => Some(found.error?.code),
            Recognized::Error(_) | Recognized::Rule(_) | Recognized::Code(_) => None,
        })
        .collect();
    let mut seen = HashSet::new();
    let is_new = found.iter().map(|recognized| match recognized {
        Recognized::Error(error) if implied.contains(&error.code) => false,
        _ => seen.insert(recognized.key()),
    });
    let is_new: Vec<bool> = is_new.collect();
    found
        .into_iter()
        .zip(is_new)
        .filter_map(|(recognized, is_new)| is_new.then_some(recognized))
        .take(MAX_FOUND)
        .collect()
}

/// Most items of a text: each is a question about a program.
const MAX_FOUND: usize = 256;

/// Rule or code of an id.
fn identified(id: &str) -> Option<Recognized> {
    let code = || id.parse().ok().map(Recognized::Code);
    id.parse().ok().map(Recognized::Rule).or_else(code)
}

/// Name of the value that is the number of an error.
const ERROR: &str = "error";

/// Most bytes of the text of a message.
const MAX_TEXT: usize = 500;

/// Most bytes of a value.
const MAX_VALUE: usize = 400;

/// Finds the messages of a line, with the bytes of each, in the order of the table.
fn messages(line: &str) -> Vec<(usize, usize, Recognized)> {
    let mut found = Vec::new();
    for message in LogMessage::all() {
        let matched = message.patterns.iter().find_map(|pattern| matched(line, pattern));
        let Some((start, end, mut values)) = matched else { continue };
        // A number without `0x` is decimal.
        let number = values.iter().position(|(name, _)| *name == ERROR).map(|at| values.remove(at).1);
        let is_hexadecimal = message.patterns.iter().any(|pattern| pattern.ends_with("0x{error}"));
        let number = number.map(|number| if is_hexadecimal { format!("0x{number}") } else { number });
        let error = message.error.or_else(|| RuntimeError::find(&number?));
        let text = line[start..line.floor_char_boundary(start + MAX_TEXT)].trim_end().to_owned();
        found.push((start, end, Recognized::Message(FoundMessage { message, text, values, error })));
    }
    found
}

/// Start and end of a message, and its values.
type Match = (usize, usize, Vec<(&'static str, String)>);

/// Finds a pattern in a line.
fn matched(line: &str, pattern: &'static str) -> Option<Match> {
    let (first, rest) = pattern.split_at(pattern.find('{').unwrap_or(pattern.len()));
    line.match_indices(first).find_map(|(start, _)| {
        let (mut at, mut rest, mut values) = (start + first.len(), rest, Vec::new());
        while let Some((name, after)) = rest.strip_prefix('{').and_then(|rest| rest.split_once('}')) {
            let (literal, next) = after.split_at(after.find('{').unwrap_or(after.len()));
            let left = &line[at..line.floor_char_boundary(at + MAX_VALUE)];
            let len = match literal {
                "" => left.find(|c: char| c.is_whitespace() || c == ',').unwrap_or(left.len()),
                literal => left.find(literal)?,
            };
            let value = &left[..len];
            if !name.is_empty() {
                let value = value.trim_end_matches(['.', ':', ')', '\'', '"', ']']);
                if value.is_empty() || value.contains(char::is_whitespace) {
                    return None;
                }
                values.push((name, value.to_owned()));
            }
            (at, rest) = (at + len + literal.len(), next);
        }
        Some((start, at, values))
    })
}

/// Words before a number of an error.
const BEFORE_NUMBERS: [&str; 5] = ["error", "code", "failed", "status", "errorcode"];

/// Finds errors, rules and codes among the words of a line.
fn words(line: &str) -> impl Iterator<Item = (usize, usize, Recognized)> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    let end = line.trim_end_matches(|c| !is_part(c)).len();
    let mut before = (0, "");
    let mut at = 0;
    std::iter::from_fn(move || {
        loop {
            let start = at + line[at..].find(is_part)?;
            let mut len = line[start..].find(|c| !is_part(c)).unwrap_or(line.len() - start);
            // As the Python package of ExecuTorch prints it.
            if &line[start..start + len] == "0x" && line[start + len..].starts_with(':') {
                let digits = &line[start + len + 1..];
                len += 1 + digits.find(|c| !is_part(c)).unwrap_or(digits.len());
            }
            at = start + len;
            let (word, between) = (&line[start..at], &line[before.0..start]);
            let (_, previous) = std::mem::replace(&mut before, (at, word));
            let follows = BEFORE_NUMBERS.iter().any(|known| previous.eq_ignore_ascii_case(known)) && between.len() <= 3;
            let is_assigned = between.trim_end().ends_with(['=', '@']);
            let digits = word.strip_prefix("0x:").or_else(|| word.strip_prefix("0x"));
            let is_error = |error: &&RuntimeError| match digits {
                _ if error.code == 0 => false,
                Some(digits) => digits.len() <= 2 && (follows || !is_assigned && (digits.len() == 2 || at == end)),
                None if word.starts_with(|c: char| c.is_ascii_digit()) => {
                    follows && !previous.eq_ignore_ascii_case("status")
                }
                None if between.ends_with("::") && previous == "Error" => true,
                None => error.name == word && word.chars().skip(1).any(|c| c.is_ascii_uppercase()),
            };
            let error = RuntimeError::find(word).filter(is_error).map(Recognized::Error);
            if let Some(recognized) = error.or_else(|| word.contains('-').then(|| identified(word))?) {
                return Some((start, at, recognized));
            }
        }
    })
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
