//! The word at an offset that completion replaces, and how a text is written in its place: in the quotes around it,
//! with the indentation of further lines, and with places for values.

use std::ops::Range;

use super::analysis::{Analysis, SourceDocument};
use super::offsets::line_start;
use super::places::Trail;
use super::tree::Syntax;
use crate::ir::shape::{Form, KeySpec};
use crate::ir::yaml;
use pte_operators::kinds::Kinds;
use pte_operators::{Arg, Base, OperatorDescription, Role};
use pte_yaml::tree::{NodeValue, SourceNode};

/// Word that stands at the offset.
pub const MARK: &str = "pteEmitCompletion";

/// Where the word is written, by the characters around the offset.
struct WordAt<'t> {
    before: &'t str,
    after: &'t str,
    /// Quote that is open before the offset, and its offset.
    quote: Option<(usize, char)>,
    /// Bytes after the offset that belong to the word.
    rest: usize,
    is_closed: bool,
}

/// A word that is replaced.
pub struct Slot {
    /// The word before the offset, without quotes.
    pub prefix: String,
    /// Range of the word, inside of its quotes.
    pub range: Range<usize>,
    quote: Option<char>,
    /// The quote after the range is there.
    is_closed: bool,
    /// More words of the same scalar follow.
    is_joined: bool,
    /// A `:` follows.
    pub has_colon: bool,
    /// The word is the first one of a line of a block, and the column that it begins in.
    pub block: Option<usize>,
}

/// Returns a text with a mark at an offset, as one that can be parsed if the word is in quotes that are open.
pub fn marked(text: &str, at: usize) -> Option<String> {
    let WordAt { before, after, quote, rest, is_closed } = WordAt::new(text, at)?;
    let close = quote.filter(|_| !is_closed).map_or_else(String::new, |(_, quote)| quote.to_string());
    Some(format!("{before}{MARK}{}{close}{}", &after[..rest], &after[rest..]))
}

impl Slot {
    /// Reads the word at an offset of a text, whose node is the last one of a trail in the text with the mark.
    pub fn new(text: &str, at: usize, marked: &Analysis, document: &SourceDocument, trail: &Trail<'_>) -> Option<Slot> {
        let WordAt { before, after, quote, rest, is_closed } = WordAt::new(text, at)?;
        let place = trail.places.last()?;
        let (id, word) = match (trail.is_key, place.key, &place.node.value) {
            (true, Some(key), _) => (key.id, &key.text),
            (false, _, NodeValue::Text(word)) => (place.node.id, word),
            _ => return None,
        };
        let prefix = word.split_once(MARK)?.0.to_owned();
        let node = document.node_range(id);
        let line = line_start(before, before.len());
        let begin = if text[line..].starts_with('\u{feff}') { line + '\u{feff}'.len_utf8() } else { line };
        let is_here = (begin..=at).contains(&node.start);
        let is_plain = !marked.text().get(node.start..)?.starts_with(['"', '\'', '|', '>']);
        let start = match quote {
            Some((start, _)) if is_here && start == node.start => start + 1,
            None if is_here && is_plain => node.start,
            Some(_) | None => return None,
        };
        let tail = after[rest..].strip_prefix(|c| Some(c) == quote.map(|(_, quote)| quote)).unwrap_or(&after[rest..]);
        let above = &trail.places[..trail.places.len() - 1];
        let indent = &text[begin..quote.map_or(start, |(quote, _)| quote)];
        let is_first = indent.chars().all(|c| c == ' ' || c == '-') && !indent.starts_with("---");
        let is_block = is_first && !above.iter().any(|place| is_flow(&document.syntax, place.node));
        Some(Slot {
            prefix,
            range: start..at + rest,
            quote: quote.map(|(_, quote)| quote),
            is_closed,
            is_joined: quote.is_none() && node.end > at + MARK.len() + rest,
            has_colon: is_colon(tail, 0) || quote.is_some() && tail.trim_start_matches(' ').starts_with(':'),
            block: is_block.then_some(indent.len()),
        })
    }

    /// Returns true for a word without quotes.
    pub fn is_plain(&self) -> bool {
        self.quote.is_none()
    }

    /// Returns true for a word in double quotes.
    pub fn is_double(&self) -> bool {
        self.quote == Some('"')
    }

    /// Returns a scalar and the snippet after it, with the range that they replace. Without quotes around the word, the
    /// scalar is `plain`. `None` if that cannot be written here.
    pub fn replacement(&self, plain: &str, content: &str, rest: &str) -> Option<(Range<usize>, String)> {
        let with_quote = self.is_closed && !rest.is_empty();
        let range = self.range.start..self.range.end + usize::from(with_quote);
        let snippet = match self.quote {
            None => escaped(plain) + rest,
            Some(quote) => {
                let mut text = inside(content, quote)?;
                if !self.is_closed || with_quote {
                    text.push(quote);
                }
                escaped(&text) + rest
            }
        };
        let is_word = || snippet.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_.".contains(&byte));
        (!self.is_joined || is_word()).then_some((range, snippet))
    }

    /// Returns a snippet that is no scalar, with the range that it replaces.
    pub fn structure(&self, snippet: &str) -> Option<(Range<usize>, String)> {
        (self.is_plain() && !self.is_joined).then(|| (self.range.clone(), snippet.to_owned()))
    }

    /// Returns what separates the entries of a map.
    pub fn separator(&self) -> String {
        self.block.map_or_else(|| ", ".to_owned(), new_line)
    }
}

impl<'t> WordAt<'t> {
    fn new(text: &'t str, at: usize) -> Option<WordAt<'t>> {
        let (before, after) = (text.get(..at)?, text.get(at..)?);
        let line = line_start(before, before.len());
        let quote = open_quote(&before[line..]).map(|(start, quote)| (line + start, quote));
        let closing = quote.and_then(|(_, quote)| closing(after, quote));
        let is_end = |c: char| c.is_whitespace() || "[]{},\"'#\u{feff}".contains(c);
        let word = || after.char_indices().find(|(at, c)| is_end(*c) || is_colon(after, *at));
        let rest = closing.unwrap_or_else(|| word().map_or(after.len(), |(at, _)| at));
        Some(WordAt { before, after, quote, rest, is_closed: closing.is_some() })
    }
}

/// Returns true if a `:` after a key is at an offset.
fn is_colon(text: &str, at: usize) -> bool {
    text[at..].strip_prefix(':').is_some_and(|rest| rest.chars().next().is_none_or(char::is_whitespace))
}

/// Returns the quote that is open at the end of a part of a line, and its offset.
fn open_quote(line: &str) -> Option<(usize, char)> {
    let (mut open, mut before, mut is_after_space) = (None, None, true);
    let mut characters = line.char_indices().peekable();
    while let Some((at, c)) = characters.next() {
        match open {
            Some((_, '"')) if c == '\\' => _ = characters.next(),
            Some((_, '\'')) if c == '\'' && characters.peek().is_some_and(|(_, next)| *next == '\'') => {
                _ = characters.next();
            }
            Some((_, quote)) if c == quote => open = None,
            Some(_) => {}
            None if "\"'".contains(c) && before.is_none_or(|before| "[{,:-?\u{feff}".contains(before)) => {
                open = Some((at, c));
            }
            None if c == '#' && is_after_space => return None,
            None => {}
        }
        is_after_space = c.is_whitespace();
        before = if is_after_space { before } else { Some(c) };
    }
    open
}

/// Returns the offset of the quote that closes a string on the line. After it, there is nothing else of a value: if
/// there is, it opens another string.
fn closing(after: &str, quote: char) -> Option<usize> {
    let line = after.lines().next()?;
    let mut characters = line.char_indices().peekable();
    while let Some((at, c)) = characters.next() {
        let is_pair = |next: Option<&(usize, char)>| next.is_some_and(|(_, next)| *next == '\'');
        match c {
            '\\' if quote == '"' => _ = characters.next(),
            '\'' if quote == '\'' && is_pair(characters.peek()) => _ = characters.next(),
            c if c == quote => {
                let rest = line[at + 1..].trim_start();
                return (rest.is_empty() || rest.starts_with([',', ']', '}', ':', '#'])).then_some(at);
            }
            _ => {}
        }
    }
    None
}

/// Returns a string as it is written in quotes of a kind; `None` if it cannot be.
fn inside(content: &str, quote: char) -> Option<String> {
    let quoted = yaml::quoted(content);
    let double = &quoted[1..quoted.len() - 1];
    if quote == '"' {
        return Some(double.to_owned());
    }
    // Without escapes there are only printable characters.
    let is_printable = content.replace('\\', "\\\\").replace('"', "\\\"") == double;
    is_printable.then(|| content.replace('\'', "''"))
}

/// Returns true for a list or a map in brackets.
pub fn is_flow(syntax: &Syntax, node: &SourceNode<'_>) -> bool {
    let first = match &node.value {
        NodeValue::List(items) => items.first().map(|item| item.id),
        NodeValue::Map(entries) => entries.first().map(|(key, _)| key.id),
        _ => return false,
    };
    let start = syntax.range(node.id).start;
    let is_bracket = syntax.text().get(start..).is_some_and(|rest| rest.starts_with(['[', '{']));
    is_bracket && first.is_none_or(|first| start < syntax.range(first).start)
}

/// Returns true for a map whose keys are in double quotes, but for the word at the offset.
pub fn has_quoted_keys(syntax: &Syntax, map: &SourceNode<'_>) -> bool {
    let NodeValue::Map(entries) = &map.value else { return false };
    let key = entries.iter().find(|(key, _)| !key.text.contains(MARK)).map(|(key, _)| syntax.range(key.id).start);
    key.and_then(|start| syntax.text().get(start..)).is_some_and(|rest| rest.starts_with('"'))
}

/// Returns true for a map in braces whose keys are in double quotes.
pub fn is_json(syntax: &Syntax, map: &SourceNode<'_>) -> bool {
    has_quoted_keys(syntax, map) && is_flow(syntax, map)
}

/// Returns a line break and the indentation of a column.
pub fn new_line(column: usize) -> String {
    format!("\n{}", " ".repeat(column))
}

/// Returns the place with a number for a value, after the `:` of its key, strings in quotes. In a block, `column` is
/// that of the key.
pub fn value(form: &Form, number: usize, column: Option<usize>, quote: &str) -> String {
    let (mut is_map, mut is_list, mut is_scalar, mut has_items) = (false, false, false, false);
    let (mut has_ints, mut has_types) = (false, false);
    let forms = form.alternatives();
    let is_text = matches!(forms[..], [Form::Text | Form::Dtype | Form::Operator | Form::OneOf(_), ..]);
    let is_int = matches!(forms[..], [Form::Int | Form::UInt]);
    forms.into_iter().for_each(|form| match form {
        Form::Shape(_) | Form::Map(_) => is_map = true,
        Form::List(Form::Shape(_)) => has_items = true,
        Form::List(item) => (is_list, has_ints) = (true, matches!(item, Form::Int | Form::UInt)),
        Form::Dtype => (is_scalar, has_types) = (true, true),
        _ => is_scalar = true,
    });
    let place = match number {
        0 => "$0".to_owned(),
        _ if has_ints || is_int => format!("${{{number}:1}}"),
        _ if has_types => format!("${{{number}:float32}}"),
        _ => format!("${number}"),
    };
    let place = if is_text { format!("{quote}{place}{quote}") } else { place };
    match column.map(|column| new_line(column + 2)) {
        Some(line) if has_items => format!("{line}- {place}"),
        Some(line) if is_map && !is_scalar => format!("{line}{place}"),
        Some(_) | None if has_items => format!(" [{place}]"),
        Some(_) | None if is_map && !is_scalar => format!(" {{{place}}}"),
        Some(_) | None if is_list && !is_scalar => format!(" [{place}]"),
        Some(_) | None => format!(" {place}"),
    }
}

/// Returns true for a key whose value has lines of its own in a block.
pub fn has_items(spec: &KeySpec) -> bool {
    spec.form.alternatives().into_iter().any(|form| matches!(form, Form::List(Form::Shape(_))))
}

/// Returns the arguments and results of a call of an operator, each key after a separator and with quotes. The places
/// of arguments offer the choices for their kinds.
pub fn call(
    operator: &OperatorDescription,
    separator: &str,
    quote: &str,
    choices: &mut dyn FnMut(Kinds) -> String,
) -> String {
    let is_in = |argument: &&Arg| argument.role != Role::Out;
    let ins: Vec<_> = operator.arguments.iter().filter(is_in).collect();
    let given = ins.iter().rposition(|argument| argument.default.is_none()).map_or(0, |last| last + 1);
    let mut number = 0;
    let mut place = |name: &str, choices: &str, is_name: bool| {
        number += 1;
        let quote = if is_name || !choices.is_empty() { quote } else { "" };
        let content = if choices.is_empty() { format!(":{name}") } else { format!("|{choices}|") };
        format!("{quote}${{{number}{content}}}{quote}")
    };
    let mut argument = |argument: &Arg| {
        let kind = argument.kind;
        let choices = match argument.role {
            Role::Out => String::new(),
            Role::In | Role::InPlace => choices(if kind.list { kind.item_kinds() } else { kind.kinds() }),
        };
        let place = place(&argument.name, &choices, kind.base == Base::Tensor);
        if kind.list { format!("[{place}]") } else { place }
    };
    let args: Vec<String> = ins[..given].iter().map(|arg| argument(arg)).collect();
    let outs: Vec<String> = operator.arguments.iter().filter(|arg| arg.role == Role::Out).map(&mut argument).collect();
    let out = match (&outs[..], &operator.returns) {
        ([out], _) => out.clone(),
        ([], Some(_)) => place("result", "", true),
        ([], None) => String::new(),
        (outs, _) => format!("[{}]", outs.join(", ")),
    };
    let out = if out.is_empty() { out } else { format!("{separator}{quote}out{quote}: {out}") };
    format!("{separator}{quote}args{quote}: [{}]{out}", args.join(", "))
}

/// Escapes a text in a snippet.
fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('$', "\\$").replace('}', "\\}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn open_and_closing_quotes_are_those_of_values() {
        for (line, expected) in [
            ("\"ki", Some((0, '"'))),
            ("- {a: 'it''s", Some((6, '\''))),
            ("a: \"b\\\"c", Some((3, '"'))),
            ("a: \"b\\\\\", c", None),
            ("a: it's", None),
            ("a: 1 # \"b", None),
            ("a: x#\"b", None),
            ("\u{feff}\"a", Some((3, '"'))),
        ] {
            assert_eq!(open_quote(line), expected, "{line}");
        }
        for (after, expected) in
            [("a b\": 1", Some(3)), ("\"", Some(0)), ("a, \"b\": 1", None), ("a\\\"b\" ]", Some(4)), ("a\n\"", None)]
        {
            assert_eq!(closing(after, '"'), expected, "{after}");
        }
        assert_eq!(closing("a''b'", '\''), Some(4));
    }

    #[test]
    fn what_quotes_cannot_contain_is_refused() {
        assert_eq!(inside("a\"\\'b", '"').as_deref(), Some("a\\\"\\\\'b"));
        assert_eq!(inside("a\"\\'b", '\'').as_deref(), Some("a\"\\''b"));
        assert_eq!(inside("a\nb", '\''), None);
        assert_eq!(inside("${b}", '"').as_deref(), Some("\\u0024{b}"));
        assert_eq!(inside("${b}", '\''), None);
    }
}
