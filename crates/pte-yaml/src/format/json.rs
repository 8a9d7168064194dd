//! Layout of JSON, which stays JSON: a line for each entry, two spaces deeper than the brackets around. A list without
//! maps that fits into [`WIDTH`] is one line, and a list of scalars fills lines. Strings and numbers stay as written.

use serde::de::IgnoredAny;

use super::policy::WIDTH;

/// Returns what is wrong with a source as JSON of a list or a map; `None` if it is JSON.
pub fn problem(text: &str) -> Option<String> {
    if !text.trim_start().starts_with(['{', '[']) {
        return Some("it begins with neither `{` nor `[`".to_owned());
    }
    serde_json::from_str::<IgnoredAny>(text).err().map(|error| error.to_string())
}

/// Lays out JSON.
pub fn layout(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut tokens = Tokens(text);
    let mut start = 0;
    // For each open bracket, whether lines are filled.
    let mut open = Vec::new();
    while let Some(token) = tokens.next() {
        let used = out.len() - start;
        let mut is_new_line = false;
        match token {
            "[" | "{" => match joined(token, tokens.clone(), WIDTH.saturating_sub(used + 1)) {
                Some((line, after)) => {
                    out.push_str(&line);
                    tokens = after;
                }
                None => {
                    out.push_str(token);
                    open.push(token == "[" && is_flat(tokens.clone()));
                    is_new_line = true;
                }
            },
            "]" | "}" => {
                open.pop();
                start = new_line(&mut out, open.len());
                out.push_str(token);
            }
            "," => {
                out.push(',');
                let next = tokens.clone().next().map_or(0, str::len);
                // After a space and before a comma.
                let fits = used + 1 + 1 + next < WIDTH;
                is_new_line = !(fits && open.last() == Some(&true));
                out.push_str(if is_new_line { "" } else { " " });
            }
            ":" => out.push_str(": "),
            scalar => out.push_str(scalar),
        }
        if is_new_line {
            start = new_line(&mut out, open.len());
        }
    }
    out.push('\n');
    out
}

/// Begins a line. Returns its offset.
fn new_line(out: &mut String, depth: usize) -> usize {
    out.push('\n');
    let start = out.len();
    out.extend(std::iter::repeat_n("  ", depth));
    start
}

/// Returns the brackets whose content follows on one line, and what is after them; `None` if they have a map or
/// entries of one, or are wider.
fn joined<'t>(bracket: &str, mut tokens: Tokens<'t>, width: usize) -> Option<(String, Tokens<'t>)> {
    let mut line = bracket.to_owned();
    let mut depth = 1;
    while let Some(token) = tokens.next() {
        match token {
            "]" | "}" => depth -= 1,
            "[" => depth += 1,
            "{" | ":" => return None,
            _ => {}
        }
        line.push_str(token);
        if depth == 0 && (line.len() <= width || line.len() == 2) {
            return Some((line, tokens));
        }
        if line.len() > width {
            return None;
        }
        line.push_str(if token == "," { " " } else { "" });
    }
    None
}

/// Returns true if there are only scalars before the next bracket that closes.
fn is_flat(mut tokens: Tokens<'_>) -> bool {
    tokens.find(|token| matches!(*token, "[" | "{" | "]" | "}")) == Some("]")
}

/// Tokens of JSON, as they are written.
#[derive(Clone)]
struct Tokens<'t>(&'t str);

impl<'t> Iterator for Tokens<'t> {
    type Item = &'t str;

    fn next(&mut self) -> Option<&'t str> {
        let text = self.0.trim_ascii_start();
        let mut is_escaped = false;
        let ends = |byte: u8| {
            let is_end = byte == b'"' && !is_escaped;
            is_escaped = byte == b'\\' && !is_escaped;
            is_end
        };
        let length = match text.bytes().next()? {
            b'"' => text.bytes().skip(1).position(ends).map(|at| at + 2),
            b'[' | b']' | b'{' | b'}' | b',' | b':' => Some(1),
            _ => text.find(|c: char| c.is_ascii_whitespace() || "[]{},:\"".contains(c)),
        };
        let (token, rest) = text.split_at_checked(length.unwrap_or(text.len()))?;
        self.0 = rest;
        Some(token)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_have_lines_and_short_lists_one() {
        let text = r#"{"a\"[ \\" :[ 1.50,[true ,"x, y"]], "b": {"c":{},"d": [ ],"e":[{"f":1E5}, 2]},"g":null}"#;
        let expected = r#"{
  "a\"[ \\": [1.50, [true, "x, y"]],
  "b": {
    "c": {},
    "d": [],
    "e": [
      {
        "f": 1E5
      },
      2
    ]
  },
  "g": null
}
"#;
        assert!(problem(text).is_none());
        assert_eq!(layout(text), expected);
        assert_eq!(layout(expected), expected);
        assert_eq!(layout("[ ]"), "[]\n");
    }

    #[test]
    fn long_lists_of_scalars_fill_lines() {
        let rows = format!("[[{0}], [{0}]]", vec!["123456789"; 30].join(","));
        let out = layout(&format!("{{\"a\": {rows}, \"b\": [\"{}\", 1]}}", "x".repeat(200)));
        assert_eq!(layout(&out), out);
        let widths: Vec<usize> = out.lines().map(str::len).collect();
        assert_eq!(widths, [1, 8, 5, 104, 104, 104, 37, 6, 5, 104, 104, 104, 37, 5, 4, 8, 207, 5, 3, 1], "{out}");
        // A line may have as many bytes as that of YAML, with the comma.
        for length in 80..130 {
            let text = layout(&format!("{{\"a\": [0, \"{}\"], \"b\": 1}}", "x".repeat(length)));
            assert_eq!(text.lines().count() == 4, "  \"a\": [0, \"\"],".len() + length <= WIDTH, "{text}");
        }
    }

    #[test]
    fn what_is_not_json_has_a_reason() {
        for text in ["[1,]", "{a: 1}", "{\"a\": 1} # c", "[1] [2]", "{\"a\": .inf}", "{\"a\": ${N}}"] {
            assert!(problem(text).is_some(), "{text}");
        }
        assert_eq!(problem("1").as_deref(), Some("it begins with neither `{` nor `[`"));
        assert_eq!(problem("\n [{\"a\": \"${N}\"}]\n"), None);
    }
}
