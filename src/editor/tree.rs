//! Text -> syntax tree, also of half a document: if it cannot be parsed, brackets are closed, a key gets its `:`, or a
//! line is left out, until it can. Offsets of the repaired text are mapped to those of the text.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use super::offsets::OffsetMap;
use pte_yaml::repeat::{self, Copies, Spans};
use pte_yaml::source::SourceText;
use pte_yaml::tree::{self, LocatedTree, NodeId, NodeValue, SourceNode, SyntaxError};

/// Number of repairs of a text; of one with more bytes than [`LARGE`], each of which takes longer.
const REPAIRS: [usize; 2] = [32, 8];
const LARGE: usize = 1 << 20;

self_cell::self_cell!(
    struct ParsedText {
        owner: Arc<str>,
        #[covariant]
        dependent: SyntaxTree,
    }
);

/// A tree as it is written; if it has repetitions, also without them, or an error if one is malformed.
struct SyntaxTree<'a> {
    root: SourceNode<'a>,
    expanded: Option<Result<SourceNode<'a>, SyntaxError>>,
}

/// A syntax tree with its text.
pub(super) struct Syntax {
    parsed: ParsedText,
    /// The text of the tree, with the positions of the nodes.
    source: SourceText,
    /// Ends of the nodes by id.
    ends: Vec<usize>,
    /// Repairs: of the text that was given, and of that of the tree.
    pub repairs: OffsetMap,
    /// First error of the text that was given, with its range there.
    pub error: Option<SyntaxError>,
}

impl Syntax {
    /// Parses a text, which is repaired if that fails.
    pub fn new(text: &Arc<str>) -> Syntax {
        let error = match Syntax::parsed(text.clone()) {
            Ok(parsed) => return parsed,
            Err(error) => error,
        };
        let mut repair = Repair::new(text);
        let mut last = error.clone();
        for _ in 0..REPAIRS[usize::from(text.len() > LARGE)] {
            repair.repair(last.span.start);
            match Syntax::parsed(repair.text().into()) {
                Ok(parsed) => return Syntax { repairs: repair.offsets(), error: Some(error), ..parsed },
                Err(next) => last = next,
            }
        }
        repair.end_before(last.span.start);
        match Syntax::parsed(repair.text().into()) {
            Ok(parsed) => Syntax { repairs: repair.offsets(), error: Some(error), ..parsed },
            Err(_) => {
                let repairs = OffsetMap::new(vec![(0..text.len(), 0..0)]);
                Syntax { repairs, error: Some(error), ..Syntax::empty() }
            }
        }
    }

    fn empty() -> Syntax {
        let root = SourceNode { id: NodeId(0), value: NodeValue::Null };
        let parsed = ParsedText::new("".into(), |_| SyntaxTree { root, expanded: None });
        Syntax { parsed, source: "".into(), ends: Vec::new(), repairs: OffsetMap::default(), error: None }
    }

    fn parsed(text: Arc<str>) -> Result<Syntax, SyntaxError> {
        let mut positions = (Vec::new(), Copies::default(), Vec::new());
        let parsed = ParsedText::try_new(text.clone(), |text| {
            let LocatedTree { root, spans, ends } = tree::parse_located(text)?;
            let (mut expanded, mut copies) = (None, Copies::default());
            if text.contains(repeat::REPEAT) {
                let mut copy = root.clone();
                match repeat::expand(&mut copy, text) {
                    Ok(found) if found.is_empty() => {}
                    Ok(found) => (expanded, copies) = (Some(Ok(copy)), found),
                    Err(error) => expanded = Some(Err(error)),
                }
            }
            positions = (spans, copies, ends);
            Ok(SyntaxTree { root, expanded })
        })?;
        let (spans, copies, ends) = positions;
        let source = SourceText::located(text, Spans::of(spans, copies));
        Ok(Syntax { parsed, source, ends, repairs: OffsetMap::default(), error: None })
    }

    /// Returns the text of the tree.
    pub fn text(&self) -> &Arc<str> {
        self.parsed.borrow_owner()
    }

    /// Returns the text of the tree with its positions.
    pub fn source(&self) -> &SourceText {
        &self.source
    }

    /// Returns the root.
    pub fn root(&self) -> &SourceNode<'_> {
        &self.parsed.borrow_dependent().root
    }

    /// Returns the root without repetitions: the copies have ids of their own, and the ranges of their originals.
    ///
    /// # Errors
    /// A malformed repetition.
    pub fn expanded(&self) -> Result<&SourceNode<'_>, &SyntaxError> {
        let tree = self.parsed.borrow_dependent();
        tree.expanded.as_ref().map_or(Ok(&tree.root), Result::as_ref)
    }

    /// Returns the range of a node in the text of the tree.
    pub fn range(&self, id: NodeId) -> Range<usize> {
        let spans = self.source.spans();
        let id = spans.copies().original(id);
        let start = spans.get(id).unwrap_or_default().start;
        let end = self.ends.get(id.0 as usize).copied();
        start..end.unwrap_or_default().max(start)
    }
}

/// A text some of whose lines are replaced.
struct Repair<'t> {
    lines: Vec<&'t str>,
    /// Replacements by line, each with the number of attempts.
    replaced: BTreeMap<usize, (String, usize)>,
    /// Number of lines that are kept.
    end: usize,
}

impl<'t> Repair<'t> {
    fn new(text: &'t str) -> Repair<'t> {
        let lines: Vec<&str> = text.split_inclusive('\n').collect();
        Repair { end: lines.len(), lines, replaced: BTreeMap::new() }
    }

    fn line(&self, number: usize) -> &str {
        self.replaced.get(&number).map_or_else(|| self.lines[number], |(line, _)| line)
    }

    /// Returns the number of the line at an offset of [`Repair::text`].
    fn line_at(&self, offset: usize) -> usize {
        let mut start = 0;
        for number in 0..self.end {
            start += self.line(number).len();
            if offset < start {
                return number;
            }
        }
        self.end.saturating_sub(1)
    }

    /// Repairs the line of an error, or the one before it.
    fn repair(&mut self, error: usize) {
        if self.lines.is_empty() {
            return;
        }
        let mut number = self.line_at(error);
        let is_blank = |repair: &Repair<'_>, number: usize| {
            let line = repair.line(number).trim_start();
            line.is_empty() || line.starts_with('#')
        };
        let before = (0..number).rev().find(|number| !is_blank(self, *number));
        // The parser misses the `:` of a key where the next line begins.
        if let Some(before) = before.filter(|before| is_word(self.line(*before)) && !self.replaced.contains_key(before))
        {
            number = before;
        }
        let has_tab = |line: &&str| line[..line.len() - line.trim_start().len()].contains('\t');
        let tab = [number, number + 1].into_iter().find(|at| self.lines.get(*at).is_some_and(has_tab));
        if let Some(tab) = tab.filter(|tab| !self.replaced.contains_key(tab)) {
            self.replaced.insert(tab, ("\n".to_owned(), usize::MAX));
            return;
        }
        // A line that is left out already is not the cause.
        while is_blank(self, number) && number > 0 {
            number -= 1;
        }
        let attempts = self.replaced.get(&number).map_or(0, |(_, attempts)| *attempts);
        let original = self.lines[number];
        let content = original.trim_end_matches(['\n', '\r']);
        let rest = &original[content.len()..];
        let repairs =
            [closed(content), is_word(content).then(|| format!("{}:", content.trim_end())), Some(String::new())];
        let found = repairs.into_iter().enumerate().skip(attempts).find_map(|(at, line)| Some((at, line?)));
        let (at, line) = found.unwrap_or((attempts, String::new()));
        self.replaced.insert(number, (line + rest, at + 1));
    }

    /// Leaves out the line at an offset and all that follow.
    fn end_before(&mut self, offset: usize) {
        self.end = self.line_at(offset);
    }

    fn text(&self) -> String {
        (0..self.end).map(|number| self.line(number)).collect()
    }

    fn offsets(&self) -> OffsetMap {
        let (mut from, mut to, mut edits) = (0, 0, Vec::new());
        for (number, line) in self.lines.iter().enumerate() {
            let new = if number < self.end { self.line(number) } else { "" };
            if new != *line {
                let same = line.char_indices().zip(new.chars()).find(|((_, a), b)| a != b);
                let same = same.map_or(line.len().min(new.len()), |((at, _), _)| at);
                edits.push((from + same..from + line.len(), to + same..to + new.len()));
            }
            (from, to) = (from + line.len(), to + new.len());
        }
        OffsetMap::new(edits)
    }
}

/// Returns true for a line that is a single word, perhaps in a list and in quotes: a key without its `:`.
fn is_word(line: &str) -> bool {
    let word = line.trim_start_matches('\u{feff}').trim().trim_start_matches("- ");
    let unquoted = |quote: char| word.strip_prefix(quote)?.strip_suffix(quote);
    let word = unquoted('"').or_else(|| unquoted('\'')).unwrap_or(word);
    !word.is_empty() && word.chars().all(|c| c.is_alphanumeric() || "_.".contains(c))
}

/// Returns a line whose brackets and quotes are closed, without brackets that close nothing; `None` if they are.
fn closed(line: &str) -> Option<String> {
    let (mut open, mut quote, mut end, mut out) = (Vec::new(), None, line.len(), String::new());
    let mut before = ' ';
    for (at, c) in line.char_indices() {
        match (quote, c) {
            (Some(mark), _) if c == mark && before != '\\' => quote = None,
            (Some(_), _) => {}
            (None, '"' | '\'') if " [{,:".contains(before) => quote = Some(c),
            (None, '#') if before == ' ' => {
                end = at;
                break;
            }
            (None, '[') => open.push(']'),
            (None, '{') => open.push('}'),
            (None, ']' | '}') if open.last() == Some(&c) => _ = open.pop(),
            (None, ']' | '}') => {
                before = c;
                continue;
            }
            (None, _) => {}
        }
        out.push(c);
        before = c;
    }
    let content = if end < line.len() { out.trim_end().len() } else { out.len() };
    let spaces = out.split_off(content);
    out.extend(quote);
    out.extend(open.into_iter().rev());
    let closed = out + &spaces + &line[end..];
    (closed != line).then_some(closed)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn repaired(text: &str) -> String {
        let syntax = Syntax::new(&text.into());
        assert_eq!(syntax.error.is_some(), **syntax.text() != *text, "{text}");
        syntax.text().to_string()
    }

    #[test]
    fn half_a_line_is_completed_or_left_out() {
        for (text, expected) in [
            ("a: 1\nb: [1, {c: d\ne: 2\n", "a: 1\nb: [1, {c: d}]\ne: 2\n"),
            ("a: 1\nb: {c: \"d  # e\n", "a: 1\nb: {c: \"d  # e\"}\n"),
            ("a:\n  b: 1\n  inp\n  c: 2\n", "a:\n  b: 1\n  inp:\n  c: 2\n"),
            ("a:\n  b: 1\n  inp\n", "a:\n  b: 1\n  inp:\n"),
            ("a:\n  b: 1\n  \"inp\"\n  c: 2\n", "a:\n  b: 1\n  \"inp\":\n  c: 2\n"),
            ("\u{feff}inp\na: 1\n", "\u{feff}inp:\na: 1\n"),
            ("a: b: c\nd: 1\n", "\nd: 1\n"),
            ("a: [1]]\nb: 2\n", "a: [1]\nb: 2\n"),
            ("a: 1\n\tb: 2\nc: 3\n", "a: 1\n\nc: 3\n"),
            ("a: 1", "a: 1"),
        ] {
            assert_eq!(repaired(text), expected, "{text}");
        }
    }

    #[test]
    fn offsets_of_the_repaired_text_are_those_of_the_text() {
        let text = "a: [1, {b\nc: 2\n";
        let syntax = Syntax::new(&text.into());
        let c = syntax.text().find('c').unwrap();
        assert_eq!(syntax.repairs.original(c..c + 1), text.find('c').unwrap()..text.find('c').unwrap() + 1);
        assert_eq!(syntax.repairs.edited(text.find('c').unwrap()), c);
    }

    #[test]
    fn what_cannot_be_repaired_is_left_out() {
        let text: String = (0..100).map(|n| format!("a{n}: b: c\n")).collect();
        assert_eq!(repaired(&text).trim(), "");
        assert_eq!(repaired("\u{0}\u{1}[["), "");
    }
}
