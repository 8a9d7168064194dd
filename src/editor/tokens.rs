//! Meaning of the words of a text, for colours.

use super::analysis::{Analysis, SourceDocument};
use super::places;
use super::results::{SemanticToken, TokenKind};
use crate::ir::shape::Form;
use pte_yaml::tree::{NodeId, NodeValue};

impl Analysis {
    /// Returns keys, operators, names, element types and words, in the order of the text.
    pub fn tokens(&self) -> Vec<SemanticToken> {
        let mut tokens = Vec::new();
        for document in &self.documents {
            let symbols = document.symbols();
            let names = symbols.occurrences.iter().map(|name| SemanticToken {
                range: document.outer(name.range.clone()),
                kind: TokenKind::Name(symbols.symbols[name.symbol].kind),
                declares: name.declares,
                writes: name.writes,
            });
            tokens.extend(names);
            self.add_words(document, &mut tokens);
        }
        tokens.sort_by_key(|token| (token.range.start, token.range.end));
        // A part has one meaning, and is in one line.
        let mut end = 0;
        tokens.retain(|token| {
            let is_line =
                self.text.get(token.range.clone()).is_some_and(|text| !text.is_empty() && !text.contains('\n'));
            let is_next = token.range.start >= end && is_line;
            end = if is_next { token.range.end } else { end };
            is_next
        });
        tokens
    }

    fn add_words(&self, document: &SourceDocument, tokens: &mut Vec<SemanticToken>) {
        let mut add = |node: NodeId, kind| {
            let range = document.node_range(node);
            tokens.push(SemanticToken { range, kind, declares: false, writes: false });
        };
        places::walk(&document.syntax, &mut |trail| {
            let Some(place) = trail.last() else { return false };
            if let (Some(key), Some(_)) = (place.key, place.holder) {
                add(key.id, TokenKind::Key);
            }
            match &place.node.value {
                NodeValue::Text(word) => {
                    let kind = place.form.unwrap_or(&Form::Any).find(&mut |form| match form {
                        Form::Operator => Some(TokenKind::Operator),
                        Form::Dtype => Some(TokenKind::Dtype),
                        Form::OneOf(words) | Form::WordOrInt(words) if words.contains(&&**word) => {
                            Some(TokenKind::Word)
                        }
                        Form::Option(_) => Some(TokenKind::Word),
                        _ => None,
                    });
                    kind.into_iter().for_each(|kind| add(place.node.id, kind));
                    true
                }
                NodeValue::List(_) => !place.is_named("numbers"),
                NodeValue::Map(_)
                | NodeValue::Null
                | NodeValue::Bool(_)
                | NodeValue::Int(_)
                | NodeValue::UInt(_)
                | NodeValue::Float(_) => true,
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use crate::editor::fixtures::analysis;

    #[test]
    fn words_have_their_meaning() {
        let text = "methods:\n  f:\n    values: {a: {tensor: float32, sizes: [2], memory: auto}}\n    instructions:\n      - {kernel: aten::relu.out, args: [a, q], out: b}\n";
        let found = analysis(text).tokens();
        let found: Vec<String> =
            found.into_iter().map(|token| format!("{} {:?}", &text[token.range], token.kind)).collect();
        let expected = "methods Key, f Name(Method), values Key, a Name(Value), tensor Key, float32 Dtype, sizes Key, memory Key, auto Word, instructions Key, kernel Key, aten::relu.out Operator, args Key, a Name(Value), out Key, b Name(Value)";
        assert_eq!(found.join(", "), expected);
    }
}
