//! Requests about a text, and their answers: those of [`Analysis`], in the words of the protocol.

use std::fs::File;
use std::io::{self, Write};
use std::ops::Range;

use pte_emit::language::{
    Analysis, ArrayFile, CompletionItem, CompletionKind, HintKind, LensKind, MAX_COMPLETIONS, MessageLevel, NameKind,
    OutlineItem, OutlineKind, SourceAction, SourceMessage, TextEdit, TokenKind,
};
use serde_json::{Value, json};

use super::commands;
use super::documents::{path_of, uri_of};
use super::positions::Positions;
use super::settings::Client;
use super::transport::{self, ErrorCode, ResponseError};

/// Address of the pages that explain codes.
const DOCS: &str = concat!(env!("CARGO_PKG_REPOSITORY"), "/blob/HEAD/docs/");

/// Size of a text in bytes above which its first messages are sent before the others: below, all are known soon, and
/// two lists would flicker.
pub const LARGE: usize = 1 << 20;

/// Request of the server to itself: see [`commands::MOVE_DATA`].
pub const MOVE_DATA: &str = "textDocument/moveData";

/// Types of tokens, by their numbers in the protocol.
pub const TOKEN_TYPES: &[&str] =
    &["property", "function", "type", "enumMember", "method", "variable", "label", "class", "struct", "string"];
/// Modifiers of tokens, by their bits.
pub const TOKEN_MODIFIERS: &[&str] = &["declaration", "modification"];

/// A text with its analysis.
pub struct Subject<'a> {
    /// URI.
    pub uri: &'a str,
    /// Version.
    pub version: i64,
    /// Analysis.
    pub analysis: &'a Analysis,
    /// Positions of the text.
    pub positions: &'a Positions,
    /// Client.
    pub client: Client,
}

impl Subject<'_> {
    /// Answers a request.
    ///
    /// # Errors
    /// An unknown method, malformed parameters, and messages for the user.
    pub fn answer(&self, method: &str, params: &Value) -> Result<Value, ResponseError> {
        Ok(match method {
            "textDocument/hover" => self.hover(self.at(params)?),
            "textDocument/completion" => self.completion(self.at(params)?),
            "textDocument/signatureHelp" => self.signature(self.at(params)?),
            "textDocument/definition" => {
                self.analysis.definition(self.at(params)?).map_or(Value::Null, |range| self.location(&range))
            }
            "textDocument/references" => self.references(self.at(params)?, params),
            "textDocument/documentHighlight" => self.highlights(self.at(params)?),
            // Nothing to rename is no error.
            "textDocument/prepareRename" => {
                self.analysis.renameable(self.at(params)?).map_or(Value::Null, |range| self.range(&range))
            }
            "textDocument/rename" => self.rename(self.at(params)?, params)?,
            "textDocument/inlayHint" => self.hints(self.range_of(params)?),
            "textDocument/documentSymbol" => self.analysis.symbols().iter().map(|item| self.outline(item)).collect(),
            "textDocument/foldingRange" => self.folding(),
            "textDocument/selectionRange" => self.selections(params)?,
            "textDocument/semanticTokens/full" => self.tokens(&(0..usize::MAX)),
            "textDocument/semanticTokens/range" => self.tokens(&self.range_of(params)?),
            "textDocument/documentLink" => self.links(),
            "textDocument/codeAction" => self.actions(self.range_of(params)?, params),
            "textDocument/codeLens" => self.lenses(),
            "textDocument/formatting" => self.edits(&self.analysis.formatting()?),
            MOVE_DATA => self.move_data(self.at(params)?)?,
            _ => return Err(ResponseError::new(ErrorCode::MethodNotFound, format!("unknown method `{method}`"))),
        })
    }

    fn at(&self, params: &Value) -> Result<usize, ResponseError> {
        self.position(&params["position"])
    }

    fn position(&self, position: &Value) -> Result<usize, ResponseError> {
        let at = self.positions.offset_of(position);
        at.ok_or_else(|| malformed(&format!("expected a position, found {position}")))
    }

    fn range_of(&self, params: &Value) -> Result<Range<usize>, ResponseError> {
        let range = self.positions.range_of(&params["range"]);
        range.ok_or_else(|| malformed(&format!("expected a range, found {}", params["range"])))
    }

    fn range(&self, range: &Range<usize>) -> Value {
        self.positions.range(range)
    }

    fn location(&self, range: &Range<usize>) -> Value {
        json!({"uri": self.uri, "range": self.range(range)})
    }

    /// Returns the messages of `textDocument/publishDiagnostics`. Of a large text, `early` is called with those that
    /// are known first.
    pub fn diagnostics(&self, early: &mut dyn FnMut(&[Value])) -> Vec<Value> {
        let all = |messages: &[SourceMessage]| -> Vec<Value> {
            messages.iter().map(|message| self.diagnostic(message)).collect()
        };
        let is_large = self.analysis.text().len() > LARGE;
        let early = &mut |messages: &[SourceMessage]| {
            if is_large {
                early(&all(messages))
            }
        };
        all(self.analysis.diagnostics_in_steps(early))
    }

    fn diagnostic(&self, message: &SourceMessage) -> Value {
        let severity = match message.level {
            MessageLevel::Error => 1,
            MessageLevel::Warning => 2,
            MessageLevel::Note => 3,
            MessageLevel::Hint => 4,
        };
        let page = if message.code.starts_with("Y-") { "diagnostics.md" } else { "rules.md" };
        let mut found = json!({
            "range": self.range(&message.range),
            "severity": severity,
            "code": message.code,
            "codeDescription": {"href": format!("{DOCS}{page}")},
            "source": "pte-emit",
            "message": message.message,
        });
        if !message.related.is_empty() {
            let related =
                |(range, label): &(Range<usize>, String)| json!({"location": self.location(range), "message": label});
            found["relatedInformation"] = message.related.iter().map(related).collect();
        }
        if message.unnecessary {
            found["tags"] = json!([1]);
        }
        found
    }

    fn hover(&self, at: usize) -> Value {
        let Some(hover) = self.analysis.hover(at) else { return Value::Null };
        json!({"contents": markdown(&hover.text), "range": self.range(&hover.range)})
    }

    fn completion(&self, at: usize) -> Value {
        let items = self.analysis.completions(at);
        let items: Vec<Value> =
            items.iter().enumerate().map(|(index, item)| self.completion_item(index, item)).collect();
        json!({"isIncomplete": items.len() >= MAX_COMPLETIONS, "items": items})
    }

    fn completion_item(&self, index: usize, item: &CompletionItem) -> Value {
        let kind = match item.kind {
            CompletionKind::Key => 10,
            CompletionKind::Word => 20,
            CompletionKind::Operator => 3,
            CompletionKind::Name => 6,
            CompletionKind::File => 17,
        };
        let text = if self.client.snippets { item.snippet.clone() } else { plain(&item.snippet) };
        let mut found = json!({
            "label": item.label,
            "kind": kind,
            "sortText": format!("{index:04}"),
            "insertTextFormat": if self.client.snippets { 2 } else { 1 },
            // The indentation of further lines is part of the text.
            "insertTextMode": 1,
            "textEdit": {"range": self.range(&item.range), "newText": text},
        });
        if !item.detail.is_empty() {
            found["detail"] = item.detail.as_str().into();
        }
        if !item.documentation.is_empty() {
            found["documentation"] = markdown(&item.documentation);
        }
        found
    }

    fn signature(&self, at: usize) -> Value {
        let Some(found) = self.analysis.signature(at) else { return Value::Null };
        let arguments = found.arguments.iter().map(|range| json!({"label": &found.label[range.clone()]}));
        let mut signature = json!({
            "label": found.label,
            "documentation": markdown(&found.documentation),
            "parameters": arguments.collect::<Vec<Value>>(),
        });
        if let Some(active) = found.active {
            signature["activeParameter"] = active.into();
        }
        json!({"signatures": [signature], "activeSignature": 0, "activeParameter": found.active.unwrap_or(0)})
    }

    fn references(&self, at: usize, params: &Value) -> Value {
        let with_declaration = params["context"]["includeDeclaration"] != false;
        let found = self.analysis.references(at);
        let found = found.iter().filter(|reference| with_declaration || !reference.declares);
        found.map(|reference| self.location(&reference.range)).collect()
    }

    fn highlights(&self, at: usize) -> Value {
        let found = self.analysis.references(at);
        let kind = |writes| if writes { 3 } else { 2 };
        found.iter().map(|found| json!({"range": self.range(&found.range), "kind": kind(found.writes)})).collect()
    }

    fn rename(&self, at: usize, params: &Value) -> Result<Value, ResponseError> {
        let new = params["newName"].as_str().ok_or_else(|| malformed("expected `newName`, a string"))?;
        Ok(self.changes(&self.analysis.rename(at, new)?))
    }

    fn edits(&self, edits: &[TextEdit]) -> Value {
        edits.iter().map(|edit| json!({"range": self.range(&edit.range), "newText": edit.text})).collect()
    }

    fn changes(&self, edits: &[TextEdit]) -> Value {
        json!({"changes": {self.uri: self.edits(edits)}})
    }

    fn hints(&self, range: Range<usize>) -> Value {
        let hint = |hint: &pte_emit::language::InlayHint| {
            let kind = if hint.kind == HintKind::Argument { 2 } else { 1 };
            json!({"position": self.positions.position(hint.at), "label": hint.label, "kind": kind})
        };
        self.analysis.hints(range).iter().map(hint).collect()
    }

    fn outline(&self, item: &OutlineItem) -> Value {
        let kind = match item.kind {
            OutlineKind::Name(kind) => name_symbol(kind),
            OutlineKind::Instruction => 12,
            OutlineKind::Section => 3,
        };
        let name = if item.name.is_empty() { "\"\"" } else { &item.name };
        let children: Vec<Value> = item.children.iter().map(|item| self.outline(item)).collect();
        json!({
            "name": name,
            "detail": item.detail,
            "kind": kind,
            "range": self.range(&item.range),
            "selectionRange": self.range(&item.selection),
            "children": children,
        })
    }

    fn folding(&self) -> Value {
        let fold = |range: Range<usize>| {
            let (start, end) = (self.positions.line_column(range.start).0, self.positions.line_column(range.end).0);
            (end > start).then(|| json!({"startLine": start, "endLine": end}))
        };
        self.analysis.folding().into_iter().filter_map(fold).collect()
    }

    fn selections(&self, params: &Value) -> Result<Value, ResponseError> {
        let positions = params["positions"].as_array().ok_or_else(|| malformed("expected `positions`, a list"))?;
        let selection = |position: &Value| {
            let at = self.position(position)?;
            let ranges = self.analysis.selection(at);
            let parent = ranges.iter().rev().fold(Value::Null, |parent, range| match parent {
                Value::Null => json!({"range": self.range(range)}),
                parent => json!({"range": self.range(range), "parent": parent}),
            });
            Ok(if parent.is_null() { json!({"range": self.range(&(at..at))}) } else { parent })
        };
        positions.iter().map(selection).collect()
    }

    fn tokens(&self, within: &Range<usize>) -> Value {
        let (mut line, mut column, mut data) = (0, 0, Vec::new());
        for token in self.analysis.tokens() {
            if token.range.end < within.start || token.range.start > within.end {
                continue;
            }
            let (at_line, at_column) = self.positions.line_column(token.range.start);
            let from = if at_line == line { column } else { 0 };
            let modifiers = usize::from(token.declares) | usize::from(token.writes) << 1;
            let units = self.positions.units(&token.range);
            data.extend([at_line - line, at_column - from, units, token_type(token.kind), modifiers]);
            (line, column) = (at_line, at_column);
        }
        json!({"data": data})
    }

    fn links(&self) -> Value {
        let link = |link: &pte_emit::language::FileLink| {
            let path = std::path::absolute(&link.path).unwrap_or_else(|_| link.path.clone());
            json!({"range": self.range(&link.range), "target": uri_of(&path)})
        };
        self.analysis.links().iter().map(link).collect()
    }

    fn actions(&self, range: Range<usize>, params: &Value) -> Value {
        let given = params["context"]["diagnostics"].as_array().cloned().unwrap_or_default();
        let action = |action: &SourceAction| {
            let kind = if action.corrects.is_some() { "quickfix" } else { "refactor" };
            let mut found = json!({"title": action.title, "kind": kind, "edit": self.changes(&action.edits)});
            if let Some(range) = &action.corrects {
                let range = self.range(range);
                let corrected: Vec<&Value> = given.iter().filter(|message| message["range"] == range).collect();
                found["diagnostics"] = json!(corrected);
                found["isPreferred"] = true.into();
            }
            found
        };
        let mut found: Vec<Value> = self.analysis.actions(range.clone()).iter().map(action).collect();
        let command = |title: &str, kind: &str, name: &str, arguments: Value| {
            let command = json!({"title": title, "command": name, "arguments": arguments});
            json!({"title": title, "kind": kind, "command": command})
        };
        let is_file = self.client.edits && path_of(self.uri).is_some();
        if let Some(file) = is_file.then(|| self.analysis.data_file(range.start)).flatten() {
            let title = format!("move these numbers to `{}`", file.path.file_name().unwrap_or_default().display());
            let position = self.positions.position(range.start);
            let at = json!({"textDocument": {"uri": self.uri}, "position": position});
            found.push(command(&title, "refactor.extract", commands::MOVE_DATA, json!([at])));
        }
        let lenses = self.analysis.lenses();
        for lens in lenses.iter().filter(|lens| lens.kind == LensKind::Bless && lens.part.contains(&range.start)) {
            let name = commands::name_of(lens.kind);
            found.push(command(&lens.title, "refactor.rewrite", name, json!([self.uri, lens.method])));
        }
        found.into()
    }

    /// Writes the file with the numbers at an offset, and asks the client to refer to it in the text.
    fn move_data(&self, at: usize) -> Result<Value, ResponseError> {
        if !self.client.edits || path_of(self.uri).is_none() {
            return Err("expected a text that is a file, and a client that supports `documentChanges`"
                .to_owned()
                .into());
        }
        let ArrayFile { path, content, edits, .. } = self
            .analysis
            .data_file(at)
            .ok_or_else(|| "there is no list of numbers here that an .npy file can hold".to_owned())?;
        let failed = |error: io::Error| format!("cannot write {}: {error}", path.display());
        let mut file = File::create_new(&path).map_err(failed)?;
        file.write_all(&content).map_err(|error| {
            let _ = std::fs::remove_file(&path);
            failed(error)
        })?;
        let document = json!({"uri": self.uri, "version": self.version});
        let change = json!({"textDocument": document, "edits": self.edits(&edits)});
        transport::request("workspace/applyEdit", &json!({"edit": {"documentChanges": [change]}}));
        Ok(uri_of(&path).into())
    }

    fn lenses(&self) -> Value {
        let lens = |lens: &pte_emit::language::MethodLens| {
            let command = commands::name_of(lens.kind);
            let arguments = json!([self.uri, lens.method]);
            json!({
                "range": self.range(&lens.range),
                "command": {"title": lens.title, "command": command, "arguments": arguments},
            })
        };
        self.analysis.lenses().iter().map(lens).collect()
    }
}

fn malformed(message: &str) -> ResponseError {
    ResponseError::new(ErrorCode::InvalidParams, message)
}

fn markdown(text: &str) -> Value {
    json!({"kind": "markdown", "value": text})
}

/// Returns a snippet as text: the names or first choices of its places, without marks.
fn plain(snippet: &str) -> String {
    let (mut out, mut characters) = (String::new(), snippet.chars().peekable());
    while let Some(c) = characters.next() {
        match (c, characters.peek()) {
            ('\\', Some(_)) => out.extend(characters.next()),
            ('$', Some('{')) => {
                let place: String = characters.by_ref().take_while(|c| *c != '}').collect();
                let content = place.split_once([':', '|']).map_or("", |(_, content)| content);
                out += content.split([',', '|']).next().unwrap_or_default();
            }
            ('$', Some(next)) if next.is_ascii_digit() => _ = characters.next(),
            (c, _) => out.push(c),
        }
    }
    out
}

/// Returns the kind of symbols of the protocol.
pub fn name_symbol(kind: NameKind) -> u32 {
    match kind {
        NameKind::Method => 6,
        NameKind::Value | NameKind::GraphValue => 13,
        NameKind::Label => 20,
        NameKind::Delegate => 5,
        NameKind::File => 1,
        NameKind::Data | NameKind::NamedData => 14,
    }
}

/// Returns the number of the type of a token.
fn token_type(kind: TokenKind) -> usize {
    let name = match kind {
        TokenKind::Key => "property",
        TokenKind::Operator => "function",
        TokenKind::Dtype => "type",
        TokenKind::Name(NameKind::Method) => "method",
        TokenKind::Name(NameKind::Value | NameKind::GraphValue) => "variable",
        TokenKind::Name(NameKind::Label) => "label",
        TokenKind::Name(NameKind::Delegate) => "class",
        TokenKind::Name(NameKind::File) => "string",
        TokenKind::Name(NameKind::Data | NameKind::NamedData) => "struct",
        TokenKind::Word => "enumMember",
    };
    TOKEN_TYPES.iter().position(|known| *known == name).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    #[test]
    fn snippets_are_texts() {
        let snippet = "aten::add.out, args: [${1:self}, ${2|x,y|}], out: ${3:out}\\$$0";
        assert_eq!(super::plain(snippet), "aten::add.out, args: [self, x], out: out$");
    }
}
