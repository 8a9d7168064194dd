//! Lines of two texts: a unified diff, and YAML with the comments of an older version of it.

use std::collections::hash_map::DefaultHasher;
use std::fmt::Write as _;
use std::hash::{Hash, Hasher};

use super::align::{align, align_levels, with_gaps};
use pte_model::diagnostics::escaped;

/// Number of equal lines around the differences of a unified diff.
const CONTEXT: usize = 3;

/// Returns what differs between two texts as a unified diff; nothing if their lines are equal.
///
/// ```
/// let diff = pte_diff::lines::unified("a\nb\n", "a\nc\n", ["old", "new"]);
/// assert_eq!(diff, "--- old\n+++ new\n@@ -1,2 +1,2 @@\n a\n-b\n+c\n");
/// ```
pub fn unified(old: &str, new: &str, names: [&str; 2]) -> String {
    let [old, new] = [old, new].map(|text| text.lines().collect::<Vec<&str>>());
    let [left, right] = [&old, &new].map(|lines| lines.iter().map(key).collect::<Vec<u64>>());
    let pairs = align(&left, &right).into_iter().filter(|(x, y)| old[*x] == new[*y]);
    let rows = with_gaps(pairs, [old.len(), new.len()]);
    let is_changed = |row: &usize| rows[*row].contains(&None);
    let mut changed = (0..rows.len()).filter(is_changed).peekable();
    let mut out = String::new();
    if changed.peek().is_some() {
        out = format!("--- {}\n+++ {}\n", escaped(names[0]), escaped(names[1]));
    }
    // Lines before the hunk on each side.
    let (mut before, mut counted) = ([0, 0], 0);
    while let Some(first) = changed.next() {
        let mut last = first;
        while let Some(next) = changed.next_if(|next| next - last <= 2 * CONTEXT + 1) {
            last = next;
        }
        let (start, end) = (first.saturating_sub(CONTEXT), (last + 1 + CONTEXT).min(rows.len()));
        let count = |range: std::ops::Range<usize>| {
            [0, 1].map(|side| rows[range.clone()].iter().filter(|row| row[side].is_some()).count())
        };
        let skipped = count(counted..start);
        let lengths = count(start..end);
        before = [before[0] + skipped[0], before[1] + skipped[1]];
        // An empty range begins after the line before it.
        let range = |side: usize| format!("{},{}", before[side] + usize::from(lengths[side] > 0), lengths[side]);
        let _ = writeln!(out, "@@ -{} +{} @@", range(0), range(1));
        for row in &rows[start..end] {
            let (mark, line) = match row {
                [Some(x), Some(_)] => (' ', old[*x]),
                [Some(x), None] => ('-', old[*x]),
                [None, Some(y)] => ('+', new[*y]),
                [None, None] => continue,
            };
            let _ = writeln!(out, "{mark}{}", escaped(line));
        }
        before = [before[0] + lengths[0], before[1] + lengths[1]];
        counted = end;
    }
    out
}

/// Returns YAML with the comments and the empty lines of an older version of it. Lines that are equal apart from their
/// comments stay as they were. Comments belong to the line that they are on, or else to the next one; those of a
/// removed line stay where it was.
///
/// ```
/// let old = "# Sizes\nsizes: [2]  # rows\nname: a\n";
/// assert_eq!(pte_diff::lines::with_comments("sizes: [3]\n", old), "# Sizes\nsizes: [3]  # rows\n");
/// ```
pub fn with_comments(new: &str, old: &str) -> String {
    let [old_lines, new] = [old, new].map(lines);
    let mut out = Vec::new();
    commented(&new, &old_lines, &mut out);
    joined(&out, old)
}

/// Applies what changed from `base` to `new` to a text that people wrote, and that means the same as `base`: its lines
/// stay as they are where nothing changed, also those that `base` does not have, and so do its comments.
///
/// ```
/// let written = "a: 1  # one\n# two\nb: 0x2\ntests: []\n";
/// let merged = pte_diff::lines::merged("a: 1\nb: 2\n", "a: 3\nb: 2\n", written);
/// assert_eq!(merged, written.replace("a: 1", "a: 3"));
/// ```
pub fn merged(base: &str, new: &str, written: &str) -> String {
    let [base, new, old] = [base, new, written].map(lines);
    let mut out = Vec::new();
    merge(&base, &new, &old, pairs(&base, &old), &mut out);
    joined(&out, written)
}

fn lines(text: &str) -> Vec<Line<'_>> {
    text.lines().map(Line::new).collect()
}

/// Returns lines as a text with the line ends of another one.
fn joined(lines: &[String], like: &str) -> String {
    let end = if like.contains("\r\n") { "\r\n" } else { "\n" };
    lines.iter().flat_map(|line| [line, end]).collect()
}

/// Pairs equal lines; then lines with the same first two keys, and with the same first key.
fn pairs(left: &[Line<'_>], right: &[Line<'_>]) -> Vec<(usize, usize)> {
    let levels: [fn(&Line<'_>) -> u64; 3] = [
        |line| key(if line.code.is_empty() { line.text } else { line.code }),
        |line| line.start(2),
        |line| line.start(1),
    ];
    let levels = levels.map(|key| [left, right].map(|lines| lines.iter().map(key).collect::<Vec<u64>>()));
    align_levels(&levels, [left.len(), right.len()])
}

/// Does the work of [`with_comments`].
fn commented(new: &[Line<'_>], old: &[Line<'_>], out: &mut Vec<String>) {
    let (at, base): (Vec<usize>, Vec<Line<'_>>) =
        old.iter().copied().enumerate().filter(|(_, line)| !line.code.is_empty()).unzip();
    merge(&base, new, old, at.into_iter().enumerate().collect(), out);
}

/// Does the work of [`merged`]; `pairs` are those of `base` and `old`.
fn merge(base: &[Line<'_>], new: &[Line<'_>], old: &[Line<'_>], pairs: Vec<(usize, usize)>, out: &mut Vec<String>) {
    let mut becomes = vec![None; base.len()];
    self::pairs(base, new).into_iter().for_each(|(at, line)| becomes[at] = Some(line));
    let (mut from, end) = ((0, 0, 0), (base.len(), old.len()));
    for (at, line) in pairs.into_iter().chain([end]) {
        // Lines that were added after a removed one follow it.
        let last = || becomes[from.0..at].iter().flatten().last().map_or(from.2, |last| last + 1);
        let before = if at == base.len() { new.len() } else { becomes[at].unwrap_or_else(last) };
        let (unpaired, written, replacing) = (&base[from.0..at], &old[from.1..line], &new[from.2..before]);
        let is_same = unpaired.iter().map(|line| line.code).eq(replacing.iter().map(|line| line.code));
        let as_written = written.iter().map(|line| line.text.to_owned());
        if is_same || unpaired.is_empty() {
            out.extend(replacing.iter().filter(|_| !is_same).map(|line| line.text.to_owned()));
            out.extend(as_written);
        } else {
            commented(replacing, written, out);
        }
        if let (Some(base), Some(old)) = (base.get(at), old.get(line)) {
            out.extend(match becomes[at].map(|line| &new[line]) {
                None => old.comment_alone(),
                Some(new) if new.code == base.code => Some(old.text.to_owned()),
                Some(new) if old.comment.is_empty() => Some(new.text.to_owned()),
                Some(new) => Some(format!("{}{}", new.code, old.comment)),
            });
        }
        from = (at + 1, line + 1, becomes.get(at).copied().flatten().map_or(before, |line| line + 1));
    }
}

fn key(content: impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    content.hash(&mut hasher);
    hasher.finish()
}

/// A line of YAML.
#[derive(Clone, Copy)]
struct Line<'t> {
    text: &'t str,
    /// Text without the comment, and without space at its end.
    code: &'t str,
    /// The comment, with the space before it.
    comment: &'t str,
}

impl<'t> Line<'t> {
    fn new(text: &'t str) -> Line<'t> {
        let (mut quote, mut before) = (None, ' ');
        let mut characters = text.char_indices();
        let mut end = text.len();
        while let Some((at, c)) = characters.next() {
            match quote {
                Some('"') if c == '\\' => _ = characters.next(),
                Some(open) => quote = quote.filter(|_| c != open),
                None if c == '#' && before.is_whitespace() => {
                    end = at;
                    break;
                }
                // `''` is a quote in single quotes.
                None if matches!(c, '"' | '\'') && (before.is_whitespace() || "[{,'".contains(before)) => {
                    quote = Some(c)
                }
                None => {}
            }
            before = c;
        }
        let code = text[..end].trim_end();
        Line { text, code, comment: if end < text.len() { &text[code.len()..] } else { "" } }
    }

    /// Returns a hash of the line up to its key number `keys`; of all of a line that has fewer, or no code.
    fn start(&self, keys: usize) -> u64 {
        let end = self.code.match_indices(": ").nth(keys - 1);
        match end {
            _ if self.code.is_empty() => key((0, self.text)),
            Some((end, _)) => key((keys, &self.code[..end])),
            None => key((0, self.code)),
        }
    }

    /// Returns the comment on a line of its own, with the indentation of the line; an empty line if it is one.
    fn comment_alone(&self) -> Option<String> {
        let indent = &self.text[..self.text.len() - self.text.trim_start().len()];
        match (self.comment.trim_start(), self.code) {
            ("", "") => Some(String::new()),
            ("", _) => None,
            (comment, _) => Some(format!("{indent}{comment}")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_unified_diff_has_hunks_with_three_lines_of_context() {
        let old: String = (1..=20).map(|line| format!("{line}\n")).collect();
        let new = old.replace("\n5\n", "\nfive\n").replace("\n18\n", "\n18\n18b\n");
        let expected = "--- a\n+++ b\n@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-5\n+five\n 6\n 7\n 8\n@@ -16,5 +16,6 @@\n 16\n 17\n 18\n+18b\n 19\n 20\n";
        assert_eq!(unified(&old, &new, ["a", "b"]), expected);
        assert_eq!(unified("", "x\n", ["a", "b"]), "--- a\n+++ b\n@@ -0,0 +1,1 @@\n+x\n");
        assert_eq!(unified(&old, &old, ["a", "b"]), "");
        // The program `patch` applies it: changes that are seven lines apart share a hunk, and are next to each other.
        let near = old.replace("\n5\n", "\n").replace("\n12\n", "\n");
        assert_eq!(unified(&old, &near, ["a", "b"]).matches("@@ -").count(), 1);
    }

    #[test]
    fn comments_stay_where_they_were() {
        let old =
            "# head\n\na:\n  # about b\n  b: 1  # one\n  # about c\n  c: {d: 1, e: 2}  # two\n  f: 3  # three\n# end\n";
        for (new, expected) in [
            ("a:\n  b: 1\n  c: {d: 1, e: 2}\n  f: 3\n", old.to_owned()),
            // Other values.
            ("a:\n  b: 2\n  c: {d: 1, e: 3}\n  f: 3\n", old.replace("b: 1", "b: 2").replace("e: 2", "e: 3")),
            // A new line is before the comment of the next one.
            ("a:\n  b: 1\n  x: 0\n  c: {d: 1, e: 2}\n  f: 3\n", old.replace("  # about c", "  x: 0\n  # about c")),
            // No comment is lost.
            (
                "a:\n  c: {d: 1, e: 2}\n",
                "# head\n\na:\n  # about b\n  # one\n  # about c\n  c: {d: 1, e: 2}  # two\n  # three\n# end\n"
                    .to_owned(),
            ),
        ] {
            assert_eq!(with_comments(new, old), expected, "{new}");
        }
        assert_eq!(with_comments("a: 2\n", "# x\r\na: 1 # y\r\n"), "# x\r\na: 2 # y\r\n");
    }

    #[test]
    fn lines_that_people_wrote_stay() {
        let base = "a:\n  x: {t: 1, s: [2]}\n  y: {t: 2}\n  - {k: add}\n  - {k: mul}\n";
        let written = "# head\na:\n  x:\n    t: 1\n    s: [2]\n  # about y\n  y: {t: 0x2}\n  - {k: add}\n  - {k: mul}  # last\n  tests:\n  - {}\n";
        for (from, to, expected) in [
            ("", "", written.to_owned()),
            ("y: {t: 2}", "y: {t: 3}", written.replace("0x2", "3")),
            ("{k: mul}", "{k: div}", written.replace("mul", "div")),
            ("  - {k: mul}\n", "  - {k: mul}\n  - {k: div}\n", written.replace("# last\n", "# last\n  - {k: div}\n")),
            ("  - {k: mul}\n", "", written.replace("- {k: mul}  # last", "# last")),
        ] {
            assert_eq!(merged(base, &base.replacen(from, to, 1), written), expected, "{from} {to}");
        }
    }

    #[test]
    fn a_hash_in_a_string_is_no_comment() {
        for (line, comment) in [
            ("a: b  # c", "  # c"),
            ("# c", "# c"),
            ("a: b#c", ""),
            ("a: \"b # c\"", ""),
            ("a: \"b \\\" # c\" # d", " # d"),
            ("a: ['it''s # c', d] # e", " # e"),
            ("a: don't # c", " # c"),
            ("", ""),
        ] {
            assert_eq!(Line::new(line).comment, comment, "{line}");
        }
    }
}
