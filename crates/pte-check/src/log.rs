//! Recognition of what people have of an error: a number, a name, or the log of ExecuTorch, whose messages are in
//! messages.table.

use std::ops::Range;
use std::sync::LazyLock;

use serde::Serialize;

use super::errors::{Phase, RuntimeError, blocks};
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
    /// Mark of the patterns in the table.
    #[serde(skip)]
    mark: char,
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

/// Marks of patterns: of ExecuTorch; of other programs, too; of an operator that no library has.
const MARKS: [char; 3] = ['>', '?', '!'];

static MESSAGES: LazyLock<Vec<LogMessage>> = LazyLock::new(|| {
    let message = |lines: Vec<&'static str>| {
        let mark = lines[0].chars().next()?;
        let patterns: Vec<_> = lines.iter().filter_map(|line| line.strip_prefix(mark)?.strip_prefix(' ')).collect();
        let [.., error, meaning, remedy] = lines[..] else { return None };
        let mut words = error.split(' ');
        let (error, topics) = (RuntimeError::find(words.next()?), words.collect());
        MARKS.contains(&mark).then_some(LogMessage { patterns, mark, error, topics, meaning, remedy })
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
    fn key(&self) -> (&'static str, Option<Phase>, &[(&'static str, String)]) {
        match self {
            Recognized::Error(error) => (error.name, error.phase, &[]),
            Recognized::Rule(rule) => (rule.as_str(), None, &[]),
            Recognized::Code(code) => (code.as_str(), None, &[]),
            Recognized::Message(found) => (found.message.meaning, None, &found.values),
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

/// Program that printed a line.
#[derive(Clone, Copy, PartialEq)]
enum Speaker {
    /// ExecuTorch; a text of one line is taken as one of its messages.
    Runtime,
    /// An application that names what the runtime does.
    Application,
    /// Another program or library.
    Other,
}

/// Parts of lines that ExecuTorch writes, in lower case: names in its log, and in the log of Android.
const NAMES: [&str; 5] = ["executorch:", "/executorch(", "[executorch", "executorch]", "etlog"];

/// Files that its log names, without those of kernels, `op_*.cpp`.
const SOURCES: &str = "method.cpp method_meta.cpp program.cpp module.cpp tensor_parser_portable.cpp tensor_parser_aten.cpp \
    tensor_impl.cpp tensor_util.h tensor_util_portable.cpp memory_allocator.h hierarchical_allocator.h \
    memory_manager.h operator_registry.cpp result.h evalue.h file_data_loader.cpp buffer_data_loader.h \
    mmap_data_loader.cpp flat_tensor_data_map.cpp merged_data_map.cpp pybindings.cpp XNNCompiler.cpp \
    XNNExecutor.cpp XNNPACKBackend.cpp";

/// Starts of words for what an application does with a program.
const WORDS: [&str; 8] = ["executorch", "module", "method", "load", "forward", "execut", "pte", "ptd"];

impl Speaker {
    fn of(line: &str) -> Speaker {
        let lower = line.to_ascii_lowercase();
        let is_source = |word: &str| {
            SOURCES.split(' ').any(|known| known == word) || word.starts_with("op_") && word.ends_with(".cpp")
        };
        let mut files = line.split(|c: char| !c.is_ascii_alphanumeric() && !['_', '.'].contains(&c));
        if NAMES.iter().any(|name| lower.contains(name)) || files.any(is_source) {
            return Speaker::Runtime;
        }
        let mut words = lower.split(|c: char| !c.is_ascii_alphanumeric());
        match words.any(|word| WORDS.iter().any(|start| word.starts_with(start))) {
            true => Speaker::Application,
            false => Speaker::Other,
        }
    }
}

/// Returns the phase that a line names. A `Module` loads what it executes.
fn phase(line: &str) -> Option<Phase> {
    let lower = line.to_ascii_lowercase();
    let has = |start| lower.split(|c: char| !c.is_ascii_alphanumeric()).any(|word: &str| word.starts_with(start));
    match (has("load"), has("execute") || has("executi"), has("module")) {
        (true, _, _) => Some(Phase::Load),
        (false, true, false) => Some(Phase::Execute),
        (false, _, _) => None,
    }
}

/// Finds errors of the runtime by number or name, rules of `check`, codes of the assembler, and messages of
/// ExecuTorch's log, the first 256, each once, in their order. In a line with more words, a number needs a word such as
/// `error` or `status` before it, or, in hexadecimal, the end of the line after it. In a log of several lines, this
/// holds for those of ExecuTorch; in lines of others, which name what it does, only `Error::NotFound`, `error code 32`
/// and `status 0x20` count. An error that a message implies is not listed. It has the causes of the phase that its line
/// names: [`RuntimeError::phase`].
///
/// ```
/// use pte_check::{FoundMessage, LogMessage, Phase, Recognized, recognize};
///
/// for text in ["32", "0x:20", "Code=32", "Load failed: 32", "status 0x20", "got Error::NotFound"] {
///     assert!(matches!(&recognize(text)[..], [Recognized::Error(error)] if error.name == "NotFound"), "{text}");
/// }
/// let log = "E method.cpp:824] Missing operator: [3] my::op.out\nloading forward failed with error 0x14";
/// let [found @ Recognized::Message(FoundMessage { message, error, .. })] = &recognize(log)[..] else { panic!() };
/// assert_eq!((found.topics(), found.value("operator")), (vec!["operator"], Some("my::op.out")));
/// assert!(error.unwrap().code == 0x14 && LogMessage::all().iter().any(|known| known.meaning == message.meaning));
/// let [Recognized::Error(error)] = recognize("Execution failed with status 0x12")[..] else { panic!() };
/// assert!(error.phase == Some(Phase::Execute) && error.causes.iter().all(|cause| !cause.contains("misspelt")));
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
    let is_log = text.contains('\n');
    for line in text.lines() {
        // The numbers of a signal are addresses and reasons of the system.
        let is_signal = SIGNALS.iter().any(|word| line.contains(word));
        let speaker = if is_signal {
            Speaker::Other
        } else if is_log {
            Speaker::of(line)
        } else {
            Speaker::Runtime
        };
        let mut at = messages(line, speaker);
        words(line, speaker, &mut at);
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
fn messages(line: &str, speaker: Speaker) -> Vec<(Range<usize>, Recognized)> {
    let mut found = Vec::new();
    let is_said = |message: &&LogMessage| message.mark != '?' || speaker != Speaker::Other;
    for message in LogMessage::all().iter().filter(is_said) {
        let matched = message.patterns.iter().find_map(|pattern| Some((pattern, matched(line, pattern)?)));
        let Some((pattern, (range, mut values))) = matched else { continue };
        let has_library = |(_, operator): &(&str, String)| pte_operators::find(operator).is_some();
        if message.mark == '!' && values.iter().any(has_library) {
            continue;
        }
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

/// Words of lines about a signal that ended the process.
const SIGNALS: [&str; 5] = ["SIGSEGV", "SIGBUS", "SEGV_", "EXC_BAD_ACCESS", "fault addr"];

/// Adds the errors, rules and codes among the words of a line.
fn words(line: &str, speaker: Speaker, found: &mut Vec<(Range<usize>, Recognized)>) {
    let is_other = |c: char| !c.is_ascii_alphanumeric() && c != '_' && c != '-';
    let last = line.trim_end_matches(is_other).len();
    let (mut next, mut end, mut previous) = (0, 0, "");
    let mut of_line: Option<Option<Phase>> = None;
    for piece in line.split_inclusive(is_other) {
        let (word, start) = (piece.trim_end_matches(is_other), next);
        next += piece.len();
        if word.is_empty() {
            continue;
        }
        let between = line[end..start].trim_end();
        end = start + word.len();
        let follows = between.len() <= 2 && BEFORE_NUMBERS.iter().any(|known| previous.eq_ignore_ascii_case(known));
        let is_runtime = speaker == Speaker::Runtime;
        let is_code = previous.eq_ignore_ascii_case("code");
        let is_error = |error: &&RuntimeError| match word.strip_prefix("0x") {
            _ if error.code == 0 || speaker == Speaker::Other => false,
            Some(_) if !is_runtime && !follows => false,
            Some("0" | "1" | "2" | "3" | "4") => follows || end == last && !between.ends_with('='),
            Some(digits) => digits.len() <= 2 && (follows || !between.ends_with(['=', '@'])),
            None if word.starts_with(|c: char| c.is_ascii_digit()) => {
                follows && (is_code || is_runtime && !previous.eq_ignore_ascii_case("status"))
            }
            None if between == "::" && previous == "Error" => true,
            None => is_runtime && error.name == word && !["Internal", "Ok"].contains(&word),
        };
        let error = RuntimeError::find(word).filter(is_error);
        let error = error.map(|error| {
            let phase = *of_line.get_or_insert_with(|| phase(line));
            phase.and_then(|phase| error.in_phase(phase)).unwrap_or(error)
        });
        // `check` writes `invalid[R-1]`.
        let is_id = word.contains('-') && (speaker != Speaker::Other || between.ends_with('['));
        let recognized = error.map(Recognized::Error).or_else(|| is_id.then(|| identified(word))?);
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
            assert!(
                block.iter().all(|line| !line.starts_with(MARKS) || line.starts_with(block[0].chars().next().unwrap()))
            );
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
                let operator = if message.mark == '!' { "my::op.out" } else { "aten::add.out" };
                let sample = pattern.replace("{error}", "12").replace("{}", "a b").replace("{operator}", operator);
                let sample = sample.replace(['{', '}'], "");
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

    /// Lines of an Android log that are not of ExecuTorch, nor of an application about it, have no errors of it.
    #[test]
    fn lines_of_others_in_a_log_are_not_read() {
        const OTHERS: &str = "\
            11-24 09:35:11.099  3388  3390 E AudioFlinger: createTrack failed: status 32, error 20\n\
            11-24 09:35:11.100  1021  1021 E libc    : Access denied finding property, error code 0x12\n\
            11-24 09:35:11.101   912   912 E vold: Failed to open /dev/x: No such file; error: 0x14\n\
            11-24 09:35:11.102  3388  3388 W Adreno: NotFound, InvalidState, code=16, Check failed (x): S-1 = 0x23\n";
        assert!(recognize(OTHERS).is_empty(), "{:?}", recognize(OTHERS));
        for (line, code) in [
            ("11-24 09:35:11.103  3388  3388 E ExecuTorch: failed 0x20", 0x20),
            ("E 00:00:00.1 executorch:main.cpp:72] status 0x20", 0x20),
            ("[method.cpp:12] 0x20", 0x20),
            ("W App: Module load returned Error::NotFound", 0x20),
            ("W App: forward() status=0x20", 0x20),
            ("Error Domain=org.pytorch.executorch.error Code=32", 0x20),
        ] {
            let found = recognize(&format!("{OTHERS}{line}\n"));
            assert!(matches!(&found[..], [Recognized::Error(error)] if error.code == code), "{line}: {found:?}");
        }
        // Alone, each is a question about it.
        assert!(OTHERS.lines().all(|line| !recognize(line).is_empty()));
        assert!(matches!(&recognize("a\nx.pte: invalid[R-1]: y\n")[..], [Recognized::Rule(RuleId::R_1)]));
    }

    #[test]
    fn causes_are_those_of_the_phase() {
        let causes = |text: &str| match &recognize(text)[..] {
            [Recognized::Error(error)] => (error.phase, error.causes.len()),
            found => panic!("{text}: {found:?}"),
        };
        let [load, execute, any] =
            ["loading method forward failed with 0x12", "Execution of method forward failed with status 0x12", "0x12"]
                .map(causes);
        assert_eq!((load.0, execute.0, any.0), (Some(Phase::Load), Some(Phase::Execute), None));
        let rules = |text: &str| match &recognize(text)[..] {
            [Recognized::Error(error)] => error.rules().map(|rule| rule.id).collect::<Vec<RuleId>>(),
            found => panic!("{text}: {found:?}"),
        };
        let [load_rules, execute_rules] = ["load: error 0x12", "execution: error 0x12"].map(rules);
        let has =
            |rules: &[RuleId]| [RuleId::H_1, RuleId::T_21, RuleId::O_13, RuleId::V_2].map(|id| rules.contains(&id));
        assert_eq!((has(&load_rules), has(&execute_rules)), ([true, true, false, false], [false, false, true, true]));
        assert!(load.1 + execute.1 == any.1 && load.1 > 3 && execute.1 > 3, "{load:?} {execute:?} {any:?}");
        // A module loads what it executes; an operator is missing in one phase only.
        assert_eq!(causes("Module.execute failed with 0x12"), any);
        assert_eq!(causes("execute: error 0x14").0, None);
    }

    /// No text is too long or too strange, and each is read in time.
    #[test]
    fn hostile_texts_end() {
        for part in ["Missing operator: [", "Backend ", "Input 0", "é0x:", "0x:", "Error::", "> {", "\u{0}-"] {
            recognize(&part.repeat(20_000));
        }
    }
}
