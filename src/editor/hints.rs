//! Short texts between those of the source: inferred types, names of arguments, planned memory.

use std::ops::Range;

use super::analysis::{Analysis, SourceDocument};
use super::places::{self, SourceCall};
use super::results::{HintKind, InlayHint};
use super::symbols::{NameKind, Occurrence};
use pte_model::program::EValue;
use pte_operators::{OperatorDescription, Role};
use pte_yaml::tree::NodeValue;

impl Analysis {
    /// Returns the hints in a range: after each result its type, unless the source states it; before each literal
    /// argument its name; after each result offset and size in planned memory. The options select them.
    pub fn hints(&self, range: Range<usize>) -> Vec<InlayHint> {
        let mut hints = Vec::new();
        for document in &self.documents {
            let inner = document.inner_range(&range);
            let names = document.symbols().within(&inner);
            for copies in names.chunk_by(|left, right| left.range == right.range) {
                let mut own = Vec::new();
                for name in copies.iter().filter(|name| name.writes && name.step.is_some()) {
                    self.add_result(document, name, &mut own);
                }
                hints.extend(joined(own));
            }
            if self.options.hint_arguments {
                add_arguments(document, &inner, &mut hints);
            }
        }
        hints.retain(|hint| range.start <= hint.at && hint.at <= range.end);
        hints.sort_by_key(|hint| hint.at);
        hints
    }

    fn add_result(&self, document: &SourceDocument, name: &Occurrence, hints: &mut Vec<InlayHint>) {
        let symbol = &document.symbols().symbols[name.symbol];
        let Some(assembled) = document.assembled() else { return };
        let method = symbol.method.wrapping_sub(1);
        let Some(index) = assembled.value(method, &symbol.name).filter(|_| symbol.kind == NameKind::Value) else {
            return;
        };
        let Some(EValue::Tensor(tensor)) = assembled.evalue(method, index) else { return };
        let at = document.outer(name.range.clone()).end;
        if self.options.hint_types && name.declares {
            let label = pte_inspect::summary::describe(&EValue::Tensor(tensor.clone()));
            hints.push(InlayHint { at, label: format!(": {label}"), kind: HintKind::Type });
        }
        if self.options.hint_memory
            && let Some((pool, offset)) = assembled.placement(method, index)
        {
            let bytes = tensor.nbytes().unwrap_or(0);
            hints.push(InlayHint { at, label: format!(" @{pool}:{offset}+{bytes}"), kind: HintKind::Memory });
        }
    }
}

/// Combines the hints of the copies of a result: one of each kind, that of the first copy if they differ.
fn joined(all: Vec<InlayHint>) -> Vec<InlayHint> {
    let mut found: Vec<InlayHint> = Vec::new();
    for hint in all {
        match found.iter_mut().find(|first| first.kind == hint.kind) {
            Some(first) if first.label != hint.label && !first.label.ends_with(", ...") => first.label += ", ...",
            Some(_) => {}
            None => found.push(hint),
        }
    }
    found
}

/// Adds the names of arguments that are neither names nor lists of names.
fn add_arguments(document: &SourceDocument, inner: &Range<usize>, hints: &mut Vec<InlayHint>) {
    let mut operators = std::collections::HashMap::new();
    places::walk(&document.syntax, &mut |trail| {
        let Some(place) = trail.last() else { return false };
        let range = document.syntax.range(place.node.id);
        if range.end < inner.start || range.start > inner.end {
            return false;
        }
        if place.shape.is_none_or(|shape| shape.name != "instruction") {
            return !place.is_value_of("method", "values") && !place.is_named("data");
        }
        let Some(call) = SourceCall::of(place.node) else { return false };
        let operator = operators.entry(call.name).or_insert_with(|| OperatorDescription::find(call.name));
        let Some(operator) = operator else { return false };
        let names = operator.arguments.iter().filter(|argument| argument.role != Role::Out);
        for (node, argument) in call.args.iter().zip(names) {
            let is_literal = match &node.value {
                NodeValue::Text(_) => false,
                NodeValue::List(items) => !items.iter().any(|item| matches!(item.value, NodeValue::Text(_))),
                NodeValue::Null
                | NodeValue::Bool(_)
                | NodeValue::Int(_)
                | NodeValue::UInt(_)
                | NodeValue::Float(_)
                | NodeValue::Map(_) => true,
            };
            if is_literal {
                let at = document.node_range(node.id).start;
                hints.push(InlayHint { at, label: format!("{}: ", argument.name), kind: HintKind::Argument });
            }
        }
        false
    });
}

#[cfg(test)]
mod tests {
    use crate::editor::analysis::MAX_TEXT;
    use crate::editor::fixtures::options_analysis;
    use crate::editor::options::LanguageOptions;

    #[test]
    fn results_have_types_and_literals_names() {
        let text = std::fs::read_to_string("examples/linear.yaml").unwrap();
        let shown = |options: LanguageOptions| {
            let mut out = text.clone();
            for hint in options_analysis(&text, &options).hints(0..text.len()).into_iter().rev() {
                out.insert_str(hint.at, &hint.label);
            }
            out
        };
        let all = shown(LanguageOptions::default().hint_memory(true));
        assert!(all.contains("args: [weight, dims: [1, 0]], out: wt: float32 [4, 3] @1:0+48}"), "{all}");
        assert!(all.contains("wt, beta: 1, alpha: 1], out: mm: float32 [1, 3] @1:48+12}"), "{all}");
        assert_eq!(shown(LanguageOptions::default().hint_types(false).hint_arguments(false)), text);
        let nothing = options_analysis(&" ".repeat(MAX_TEXT + 1), &LanguageOptions::default());
        assert_eq!(nothing.diagnostics()[0].code, "Y-35");
    }
}
