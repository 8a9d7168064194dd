//! Messages about a text: syntax, variables, those of the assembler, findings of `check`.

use std::ops::Range;

use super::analysis::{Analysis, SourceDocument};
use super::facts::NamedFinding;
use super::places::{self, SourceCall};
use super::results::{MessageLevel, SourceMessage};
use crate::facade::documents::findings::Level;
use pte_check::{Finding, RuleId};
use pte_model::diagnostics::{Code, Diagnostic};
use pte_yaml::tree::SyntaxError;

/// Codes of messages that a part which cannot be parsed may be the cause of.
const CONSEQUENCES: &[Code] = &[
    Code::UnknownValue,
    Code::UnknownName,
    Code::UndeterminedTensor,
    Code::UnwrittenValue,
    Code::ArgumentCount,
    Code::ArgumentKind,
    Code::Contradiction,
    Code::MissingKey,
    Code::EmptyDocument,
    Code::Unused,
];

/// Function that is called with the messages so far.
type Early<'e> = dyn FnMut(&[SourceMessage]) + 'e;

impl Analysis {
    /// Returns all messages, in the order of the text.
    pub fn diagnostics(&self) -> &[SourceMessage] {
        self.messages(None)
    }

    /// Does the same. Of a document without errors of syntax, names and types, `early` is called with the messages so
    /// far, which are some of the result, before its memory is planned and its files are validated.
    pub fn diagnostics_in_steps(&self, early: &mut dyn FnMut(&[SourceMessage])) -> &[SourceMessage] {
        self.messages(Some(early))
    }

    fn messages(&self, mut early: Option<&mut Early<'_>>) -> &[SourceMessage] {
        let sort = |messages: &mut Vec<SourceMessage>| {
            messages.sort_by_key(|message| (message.range.start, message.range.end));
        };
        self.messages.get_or_init(|| {
            let of_error = |error: &SyntaxError| syntax(error, error.span.clone());
            let mut messages: Vec<SourceMessage> = self.errors.iter().map(of_error).collect();
            for document in &self.documents {
                if let Some(early) = &mut early {
                    document.facts_in_steps(&mut |found| {
                        let mut so_far = messages.clone();
                        add_assembler_messages(document, found, &mut so_far);
                        sort(&mut so_far);
                        early(&so_far);
                    });
                }
                self.add_messages(document, &mut messages);
            }
            sort(&mut messages);
            messages
        })
    }

    fn add_messages(&self, document: &SourceDocument, messages: &mut Vec<SourceMessage>) {
        let facts = document.facts();
        add_assembler_messages(document, &facts.messages, messages);
        if document.syntax.error.is_some() {
            return;
        }
        for NamedFinding { level, finding, advice } in facts.findings(&self.options) {
            let range = finding.source.as_ref().map_or(0..0, |source| whole(document, &source.span));
            let is_unused = |known: &Diagnostic| {
                known.code == Code::Unused && known.at.as_ref().is_some_and(|at| at.start == range.start)
            };
            let is_known = match finding.rule.id {
                // The assembler says the same of a value that has a name.
                RuleId::X_14 => facts.messages.iter().any(is_unused),
                // The oldest release that has all features: no mistake.
                RuleId::G_32 => true,
                _ => false,
            };
            if is_known {
                continue;
            }
            let (range, text) = in_source(document, range, finding);
            let advice = advice.as_ref().map_or_else(String::new, |advice| format!("\nhelp: {advice}"));
            messages.push(SourceMessage {
                range: document.outer(range),
                level: match level {
                    Level::Error => MessageLevel::Error,
                    Level::Warning => MessageLevel::Warning,
                    Level::Note => MessageLevel::Note,
                },
                code: finding.rule.id.as_str(),
                message: format!("{text}\nthe runtime: {}{advice}", finding.rule.runtime),
                related: Vec::new(),
                unnecessary: matches!(finding.rule.id, RuleId::X_13 | RuleId::X_14),
                replacement: None,
            });
        }
    }
}

/// Returns the part of the source that a finding is about, and its text without the path of the element.
fn in_source(document: &SourceDocument, range: Range<usize>, finding: &Finding) -> (Range<usize>, String) {
    let Finding { source, location, found, expected, .. } = finding;
    let text = |path: &str| match path {
        "" => format!("{found}, expected {expected}"),
        path => format!("{path}: {found}, expected {expected}"),
    };
    let Some(source) = source else { return (range, text(&location.path)) };
    let trail = places::trail(&document.syntax, range.start);
    let call = SourceCall::around(&trail.places);
    if finding.rule.id == RuleId::O_1 && call.as_ref().is_some_and(SourceCall::lacks_out) {
        return (range, text("the call has no `out`, so its arguments are the whole stack"));
    }
    // What follows the element in the path: a field, or an argument.
    let end = ["values[", "instructions[", "delegates[", "operators["]
        .iter()
        .find_map(|list| source.path.find(list).and_then(|at| source.path[at..].find(']').map(|end| at + end + 1)));
    let Some(rest) = end.map(|end| &source.path[end..]) else { return (range, text(&source.path)) };
    let arg = rest.strip_prefix(".args[").and_then(|rest| rest.split(']').next()?.parse::<usize>().ok());
    let arg = call.and_then(|call| call.args.get(arg?)).map(|arg| document.syntax.range(arg.id));
    (arg.unwrap_or(range), text(rest.trim_start_matches(['.', ' '])))
}

/// Adds the error of the syntax, and the messages of the assembler that are not a consequence of it.
fn add_assembler_messages(document: &SourceDocument, found: &[Diagnostic], messages: &mut Vec<SourceMessage>) {
    let error = document.syntax.error.as_ref();
    messages.extend(error.map(|error| {
        let span = document.part.start + error.span.start..document.part.start + error.span.end;
        syntax(error, document.expansion.original(span))
    }));
    for diagnostic in found {
        let is_consequence = error.is_some() && CONSEQUENCES.contains(&diagnostic.code);
        let is_repaired = error.is_some() && diagnostic.at.as_ref().is_none_or(|at| is_repaired(document, at));
        if !is_consequence && !is_repaired {
            messages.push(of_diagnostic(document, diagnostic));
        }
    }
}

fn is_repaired(document: &SourceDocument, at: &Range<usize>) -> bool {
    document.syntax.repairs.has_edit(&document.syntax.repairs.original(at.clone()))
}

fn syntax(error: &SyntaxError, range: Range<usize>) -> SourceMessage {
    SourceMessage {
        range,
        level: MessageLevel::Error,
        code: error.code.as_str(),
        message: error.message.clone(),
        related: Vec::new(),
        unnecessary: false,
        replacement: None,
    }
}

fn of_diagnostic(document: &SourceDocument, diagnostic: &Diagnostic) -> SourceMessage {
    let Diagnostic { code, at, message, label, related, help, .. } = diagnostic;
    let label = if message.contains(label.as_str()) { String::new() } else { format!(": {label}") };
    let help = help.as_ref().map_or_else(String::new, |help| format!("\nhelp: {help}"));
    let range = |at: &Range<usize>| document.outer(whole(document, at));
    SourceMessage {
        range: at.as_ref().map_or(document.outer(0..0), range),
        level: if diagnostic.is_error() { MessageLevel::Error } else { MessageLevel::Warning },
        code: code.as_str(),
        message: format!("{message}{label}{help}"),
        related: related.iter().map(|(at, label)| (range(at), label.clone())).collect(),
        unnecessary: *code == Code::Unused,
        replacement: diagnostic.replacement().map(str::to_owned),
    }
}

/// Returns the range of the node whose first characters are at a span; of a list or map only its first line.
fn whole(document: &SourceDocument, at: &Range<usize>) -> Range<usize> {
    if at.len() > 1 {
        return at.clone();
    }
    let end =
        document.syntax.source().spans().first_at(at.start).map_or(at.end, |node| document.syntax.range(node).end);
    let text = document.syntax.text();
    let line = text.get(at.start..).and_then(|rest| rest.find('\n')).map_or(text.len(), |newline| at.start + newline);
    at.start..end.min(line).max(at.end)
}

#[cfg(test)]
mod tests {
    use crate::editor::fixtures::analysis;
    use crate::editor::results::{MessageLevel, SourceMessage};

    /// Messages as their code and text.
    fn messages(text: &str) -> Vec<String> {
        let found = analysis(text);
        let line = |message: &SourceMessage| {
            let first = message.message.lines().next().unwrap_or_default();
            format!("{} `{}`: {first}", message.code, text.get(message.range.clone()).unwrap_or("OUTSIDE"))
        };
        found.diagnostics().iter().map(line).collect()
    }

    const RELU: &str = "methods:\n  f:\n    values:\n      a: {tensor: float32, sizes: [2]}\n    inputs: [a]\n    outputs: [b]\n    instructions:\n      - {kernel: aten::relu.out, args: [a], out: b}\n";

    #[test]
    fn messages_are_those_of_all_stages() {
        assert_eq!(messages(RELU), [""; 0]);
        let wrong = messages(&RELU.replace("float32", "float23"));
        assert_eq!(wrong, ["Y-10 `float23`: unknown element type `float23`: expected a torch dtype, such as float32"]);
        let unknown = messages(&RELU.replace("args: [a]", "args: [c]"));
        assert!(unknown.iter().any(|message| message.starts_with("Y-14 `c`: unknown value `c`")), "{unknown:?}");
        let unused = messages(&RELU.replace("    inputs", "      u: {tensor: float32, sizes: [2]}\n    inputs"));
        assert_eq!(unused, ["Y-40 `u`: unused value in method `f`: `u`"]);
        let unused = messages(&RELU.replace("inputs: [a]", "inputs: [a, c, d]").replace(
            "      a:",
            "      c: &t {tensor: float32, sizes: [2]}\n      d: *t\n      v: *t\n      w: *t\n      a:",
        ));
        assert_eq!(unused.len(), 2, "{unused:?}");
        let finding = messages(&std::fs::read_to_string("examples/malformed/buffer_out_of_range.yaml").unwrap());
        assert!(finding.iter().any(|message| message.starts_with("T-21 ")), "{finding:?}");
    }

    #[test]
    fn a_cause_has_one_message() {
        let codes = |text: &str| analysis(text).diagnostics().iter().map(|message| message.code).collect::<Vec<_>>();
        let declared = RELU.replace("    inputs", "      b: {tensor: float32, sizes: [2]}\n    inputs");
        assert_eq!(codes(&declared.replace("args: [a], out: b", "args: [a, b]")), ["O-1"]);
        assert_eq!(codes(&declared.replace("b: {", "b: {storage_offset: 1, ")), ["T-1"]);
        let call = "      - {kernel: aten::relo.out, args: [a], out: c}\n";
        let text = RELU.replace("relu", "relo") + call;
        let found = analysis(&text);
        let [message] = found.diagnostics() else { panic!("{:?}", found.diagnostics()) };
        assert_eq!((message.code, message.level, message.related.len()), ("Y-27", MessageLevel::Error, 2));
        assert_eq!(message.replacement.as_deref(), Some("aten::relu.out"));
        assert_eq!(codes(&declared.replace("relu", "relo")), ["Y-27"]);
        assert_eq!(codes(&RELU.replace("aten::relu", "mine::relu")), ["Y-18"]);
    }

    #[test]
    fn findings_speak_of_the_text() {
        let cache = "      c: {tensor: float32, sizes: [2], mutable: true}\n    inputs";
        let read = RELU.replace("    inputs", cache).replace("relu.out, args: [a]", "add.out, args: [a, c]");
        assert_eq!(
            messages(&read),
            [
                "X-19 `c`: args[1] (`c`): a read of `c`, which is never written, expected an instruction that writes it, or initial data"
            ]
        );
        let stack = messages(&(RELU.to_owned() + "      - {kernel: aten::relu.out, args: [a]}\n"));
        assert_eq!(
            stack,
            [
                "O-1 `aten::relu.out`: the call has no `out`, so its arguments are the whole stack: 1 argument for aten::relu.out, expected 3: self, out, result"
            ]
        );
    }

    #[test]
    fn a_finding_about_overlaps_has_advice() {
        let text = "methods:\n  f:\n    values:\n      x: {tensor: float32, sizes: [2, 2], memory: {pool: 1, offset: 0}}\n      y: {tensor: float32, sizes: [2, 2], memory: {pool: 1, offset: 8}}\n    inputs: [x]\n    outputs: [y]\n    instructions:\n      - {kernel: aten::mm.out, args: [x, x], out: y}\n";
        let found = analysis(text);
        let all: Vec<&str> = found.diagnostics().iter().map(|message| &*message.message).collect();
        assert!(
            all.iter().any(|message| message.contains("\nhelp: without `memory` of `y` and `x`, the planner")),
            "{all:?}"
        );
    }

    #[test]
    fn the_first_messages_are_some_of_all() {
        let early = |text: &str| {
            let (found, mut early) = (analysis(text), Vec::new());
            let all = found.diagnostics_in_steps(&mut |messages| early.push(messages.to_vec()));
            assert!(early.iter().flatten().all(|message| all.contains(message)), "{early:?} {all:?}");
            (early.len(), all.len())
        };
        let finding = std::fs::read_to_string("examples/malformed/buffer_out_of_range.yaml").unwrap();
        let (steps, all) = early(&finding);
        assert!(steps == 1 && all > 0);
        // An error of names is the only step.
        assert_eq!(early(&RELU.replace("args: [a]", "args: [c]")).0, 0);
        assert_eq!(early(&format!("{RELU}---\n{RELU}")), (2, 0));
    }

    #[test]
    fn an_error_in_a_repetition_is_reported_once_with_its_counters() {
        let text = "methods:\n  f:\n    values:\n      a: {tensor: float32, sizes: [2]}\n    inputs: [a]\n    outputs: [b0]\n    instructions:\n      - {repeat: {i: 3}, do: [{kernel: aten::relu.out, args: [c$(i)], out: b$(i)}]}\n      - {repeat: {j: [4]}, do: [{kernel: aten::relu.out, args: [d$(j)], out: e}]}\n";
        let found: Vec<String> = messages(text).into_iter().filter(|message| message.starts_with("Y-14")).collect();
        let expected = [
            "Y-14 `c$(i)`: unknown value `c0` in method `f` (i = 0, and 2 other copies): neither under `values` nor written before",
            "Y-14 `d$(j)`: unknown value `d4` in method `f` (j = 4): neither under `values` nor written before",
        ];
        assert_eq!(found, expected);
        let malformed = messages("methods: {f: {outputs: [{repeat: {i: 2}, do: [$(k)]}]}}");
        assert_eq!(malformed.len(), 1, "{malformed:?}");
        assert!(malformed[0].contains("unknown counter `k`; expected `$(i)` (i = 0)"), "{malformed:?}");
    }

    #[test]
    fn half_a_document_has_its_own_messages() {
        let half = messages(&RELU.replace("sizes: [2]}", "sizez: [2]}").replace("outputs: [b]", "outputs: [b"));
        assert_eq!(half.len(), 2, "{half:?}");
        assert!(half[0].starts_with("Y-5 `sizez`: unknown key `sizez`") && half[1].starts_with("Y-1 "), "{half:?}");
    }

    #[test]
    fn variables_and_several_documents_keep_their_positions() {
        let text =
            format!("name: ${{NAME:first}}\n{RELU}---\n{}", RELU.replace("[2]", "[${N}]").replace("float32", "float3"));
        let found = messages(&text);
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(found[0].starts_with("Y-10 `float3`"), "{found:?}");
        assert!(found[1].starts_with("Y-3 `${N}`: undefined variable `N`"), "{found:?}");
        let second = text.rfind("args: [a").unwrap() + 7;
        assert_eq!(analysis(&text).definition(second).unwrap().start, text.rfind("a: {tensor").unwrap());
    }

    #[test]
    fn hostile_texts_are_refused() {
        assert_eq!(messages("a: \0"), ["Y-45 `\0`: byte 3 is zero; expected YAML or JSON"]);
        for text in [
            "",
            "[",
            "{{{{",
            "- - - -",
            "\u{feff}",
            "a: *b",
            "%YAML",
            "---\n---\n",
            "methods:",
            "methods: {f: {values: 3}}",
        ] {
            let found = analysis(text);
            for at in 0..=text.len() {
                let _ = (
                    found.hover(at),
                    found.completions(at),
                    found.signature(at),
                    found.references(at),
                    found.selection(at),
                );
            }
            let _ = (
                found.diagnostics(),
                found.symbols(),
                found.folding(),
                found.tokens(),
                found.hints(0..text.len()),
                found.actions(0..text.len()),
            );
        }
    }
}
