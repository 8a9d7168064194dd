//! Texts that an editor has opened: their names, versions and changes.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use pte_emit::command;
use pte_emit::language::OffsetUnits;
use serde_json::Value;

use super::positions::Positions;

/// A text that is open in the editor.
#[derive(Debug, Clone)]
pub struct OpenText {
    /// Version of the editor.
    pub version: i64,
    /// Content.
    pub text: Arc<str>,
}

/// Texts by URI.
pub struct OpenTexts {
    /// Units of positions.
    pub encoding: OffsetUnits,
    texts: BTreeMap<String, OpenText>,
}

impl OpenTexts {
    /// Begins without texts.
    pub fn new(encoding: OffsetUnits) -> OpenTexts {
        OpenTexts { encoding, texts: BTreeMap::new() }
    }

    /// Applies `textDocument/didOpen`, `didChange` or `didClose`. Returns the URI, and the text unless it is closed.
    ///
    /// # Errors
    /// Malformed parameters, or a text that is not open; nothing is changed.
    pub fn apply(&mut self, method: &str, params: &Value) -> Result<(String, Option<OpenText>), String> {
        let document = &params["textDocument"];
        let uri = document["uri"].as_str().ok_or("expected `textDocument` with `uri`, a string")?.to_owned();
        let version = document["version"].as_i64().unwrap_or(0);
        match method {
            "textDocument/didOpen" => {
                let text = document["text"].as_str().ok_or("expected `textDocument` with `text`, a string")?.into();
                self.texts.insert(uri.clone(), OpenText { version, text });
            }
            "textDocument/didChange" => {
                let open = self.texts.get_mut(&uri).ok_or_else(|| format!("`{uri}` is not open"))?;
                let mut text = open.text.to_string();
                let mut positions = Positions::new(&text, self.encoding);
                // Changes by the positions of `text`, each before the former one, the order in which editors send many.
                let mut changes: Vec<(Range<usize>, String)> = Vec::new();
                for change in params["contentChanges"].as_array().ok_or("expected `contentChanges`, a list")? {
                    let new = change["text"].as_str().ok_or("expected a change with `text`, a string")?;
                    match change.get("range").filter(|range| !range.is_null()) {
                        Some(range) => {
                            let before = changes.last().map_or(usize::MAX, |(former, _)| former.start);
                            if positions.range_of(range).is_none_or(|found| found.end >= before) {
                                text = replaced(&text, &mut changes)?;
                                positions = Positions::new(&text, self.encoding);
                            }
                            let found = positions.range_of(range);
                            let range = found.ok_or_else(|| format!("expected a range, found {range}"))?;
                            changes.push((range, new.to_owned()));
                        }
                        None => {
                            (text, changes) = (new.to_owned(), Vec::new());
                            positions = Positions::new(&text, self.encoding);
                        }
                    }
                }
                let text = replaced(&text, &mut changes)?;
                *open = OpenText { version, text: text.into() };
            }
            _ => _ = self.texts.remove(&uri).ok_or_else(|| format!("`{uri}` is not open"))?,
        }
        let open = self.texts.get(&uri).cloned();
        Ok((uri, open))
    }
}

fn replaced(text: &str, changes: &mut Vec<(Range<usize>, String)>) -> Result<String, String> {
    command::replaced(text, std::mem::take(changes)).ok_or_else(|| "expected ranges of the text".to_owned())
}

/// Returns an absolute path whose folder, if it exists, has no symbolic links, so that the same file has the same path.
pub fn normal(path: &Path) -> PathBuf {
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let folder = path.parent().and_then(|folder| folder.canonicalize().ok());
    folder.zip(path.file_name()).map_or_else(|| path.clone(), |(folder, name)| folder.join(name))
}

/// Returns the path of a `file:` URI; `None` for another one.
pub fn path_of(uri: &str) -> Option<PathBuf> {
    let rest = uri.strip_prefix("file://")?;
    let path = rest.strip_prefix("localhost").unwrap_or(rest);
    let mut bytes = Vec::with_capacity(path.len());
    let mut left = path.bytes();
    while let Some(byte) = left.next() {
        let digit = |byte: Option<u8>| char::from(byte?).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
        match byte {
            b'%' => bytes.push(digit(left.next())? * 16 + digit(left.next())?),
            byte => bytes.push(byte),
        }
    }
    let path = String::from_utf8(bytes).ok()?;
    // `/c:/folder`
    let drive = path.strip_prefix('/').filter(|rest| rest.as_bytes().get(1) == Some(&b':'));
    Some(PathBuf::from(drive.unwrap_or(&path)))
}

/// Returns the `file:` URI of a path.
pub fn uri_of(path: &Path) -> String {
    let path = path.display().to_string().replace('\\', "/");
    let mut uri = if path.starts_with('/') { "file://".to_owned() } else { "file:///".to_owned() };
    for byte in path.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => uri.push(char::from(byte)),
            _ => uri += &format!("%{byte:02X}"),
        }
    }
    uri
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn uris_are_paths() {
        assert_eq!(path_of("file:///a%20b/%C3%A9.yaml"), Some("/a b/\u{e9}.yaml".into()));
        assert_eq!(path_of("file:///c%3A/x.yaml"), Some("c:/x.yaml".into()));
        assert_eq!(path_of("file://%C3%A9:"), Some("\u{e9}:".into()));
        assert_eq!([path_of("untitled:1"), path_of("file:///%"), path_of("file:///%ff")], [None, None, None]);
        assert_eq!(uri_of(Path::new("/a b/\u{e9}.yaml")), "file:///a%20b/%C3%A9.yaml");
    }

    #[test]
    fn changes_are_applied_in_their_order() {
        let mut texts = OpenTexts::new(OffsetUnits::Utf16);
        let document = json!({"uri": "x", "version": 1, "text": "\u{1f600}b\nc"});
        texts.apply("textDocument/didOpen", &json!({"textDocument": document})).unwrap();
        let change = |line, from: u32, to: u32, text: &str| json!({"text": text, "range": {"start": {"line": line, "character": from}, "end": {"line": line, "character": to}}});
        let changes = json!([
            change(0, 2, 3, "x\ny"),
            change(1, 0, 1, "z"),
            change(2, 5, 9, "!"),
            // From the last one to the first one, and two at the same place.
            change(2, 1, 2, "?"),
            change(1, 0, 0, "b"),
            change(1, 0, 0, "a"),
        ]);
        let changed = json!({"textDocument": {"uri": "x", "version": 2}, "contentChanges": changes});
        let (_, open) = texts.apply("textDocument/didChange", &changed).unwrap();
        assert_eq!(open.map(|open| (open.version, open.text.to_string())), Some((2, "\u{1f600}x\nabz\nc?".to_owned())));
        assert!(texts.apply("textDocument/didClose", &changed).unwrap().1.is_none());
        let malformed = texts.apply("textDocument/didChange", &changed);
        assert_eq!(malformed.unwrap_err(), "`x` is not open");
    }
}
