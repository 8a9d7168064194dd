//! Description of the part of the text at an offset: a key, an operator, a value, a word, a code.

use std::fmt::Write;

use super::analysis::{Analysis, SourceDocument};
use super::calls::{markdown as operator, parameter};
use super::places::{self, Place, SourceCall, Trail};
use super::results::Hover;
use super::symbols::{NameKind, Occurrence};
use crate::ir::nodes::NodeDescription;
use crate::ir::shape::{Form, KeySpec, Shape};
use pte_check::Rule;
use pte_model::diagnostics::{Code, counted};
use pte_model::format::ScalarType;
use pte_model::program::{EValue, TensorShapeDynamism};
use pte_operators::{OperatorDescription, Role};
use pte_yaml::tree::NodeValue;

impl Analysis {
    /// Describes the part of the text at an offset: a key of the grammar, an operator with its arguments, a value with
    /// its type, uses and memory, an element type.
    pub fn hover(&self, at: usize) -> Option<Hover> {
        let (document, at) = self.at(at)?;
        let Trail { places, is_key } = places::trail(&document.syntax, at);
        let place = places.last()?;
        if let Some(name) = document.symbols().at(at) {
            let text = self.name(document, name);
            return Some(Hover { range: document.outer(name.range.clone()), text });
        }
        if is_key {
            let (shape, spec) = place.holder?;
            let range = document.node_range(place.key?.id);
            return Some(Hover { range, text: key(shape, spec) });
        }
        let text = match &place.node.value {
            NodeValue::Text(word) => described_word(place, word)?,
            NodeValue::Null | NodeValue::Bool(_) | NodeValue::Int(_) | NodeValue::UInt(_) | NodeValue::Float(_) => {
                described_literal(&places)?
            }
            NodeValue::List(_) | NodeValue::Map(_) => return None,
        };
        Some(Hover { range: document.node_range(place.node.id), text })
    }

    /// Describes a declared name.
    fn name(&self, document: &SourceDocument, name: &Occurrence) -> String {
        let symbols = document.symbols();
        let symbol = &symbols.symbols[name.symbol];
        let copies = symbols.symbols_at(name.range.start);
        let written = document.syntax.text().get(name.range.clone()).unwrap_or_default();
        let written = if copies.len() > 1 { written } else { &symbol.name };
        let mut text = format!("**{written}** — {}", kind_name(symbol.kind));
        if copies.len() > 1 {
            let names = pte_model::diagnostics::first_names(copies.iter().map(|copy| &*symbols.symbols[*copy].name));
            let _ = write!(text, ", for each copy of the repetition: {names}\n\nof `{}`:", symbol.name);
        }
        if symbol.kind == NameKind::Value {
            text += &self.value(document, name);
        }
        let count = symbols.of(name.symbol).filter(|occurrence| !occurrence.declares).count();
        if symbol.kind != NameKind::Value {
            let _ = write!(text, "\n\n{}", counted(count as u64, "use"));
        }
        text
    }

    /// Describes type, uses, memory and content of a value.
    fn value(&self, document: &SourceDocument, name: &Occurrence) -> String {
        let symbols = document.symbols();
        let symbol = &symbols.symbols[name.symbol];
        let mut text = String::new();
        let method = symbol.method.wrapping_sub(1);
        let assembled = document.assembled();
        let index = assembled.and_then(|assembled| assembled.value(method, &symbol.name));
        let value = index.and_then(|index| assembled?.evalue(method, index));
        if let Some(value) = value {
            let _ = write!(text, "\n\n`{}`", pte_inspect::summary::describe(value));
        }
        let steps = |writes: bool| {
            let found = symbols.of(name.symbol).filter(|occurrence| occurrence.writes == writes);
            let steps: Vec<String> = found.filter_map(|occurrence| Some(occurrence.step?.to_string())).collect();
            (!steps.is_empty()).then(|| pte_model::diagnostics::first_names(steps.iter().map(String::as_str)))
        };
        let uses = [("written by", steps(true)), ("read by", steps(false))];
        for (what, steps) in uses.into_iter().filter_map(|(what, steps)| Some((what, steps?))) {
            let _ = write!(text, "\n\n{what} instruction {steps}");
        }
        let (Some(assembled), Some(index), Some(EValue::Tensor(tensor))) = (assembled, index, value) else {
            return text;
        };
        let _ = write!(text, "\n\nvalue {index}");
        if tensor.shape_dynamism != TensorShapeDynamism::STATIC {
            text += ", dynamic: the sizes are upper bounds";
        }
        if let Some(bytes) = tensor.nbytes() {
            let _ = write!(text, ", {}", counted(bytes, "byte"));
        }
        if let Some(order) = tensor.dim_order.as_ref().filter(|order| !order.is_contiguous()) {
            let order: Vec<String> = order.iter().map(ToString::to_string).collect();
            let _ = write!(text, ", dim_order [{}]", order.join(", "));
        }
        if let Some((pool, offset)) = assembled.placement(method, index) {
            let _ = write!(text, "\n\npool {pool}, offset {offset}");
            if let Some((first, last)) = assembled.planned(method, index).and_then(|planned| planned.alive) {
                let _ = write!(text, ", alive from {first} to {last}");
            }
        }
        if let Some(elements) = assembled.preview(tensor) {
            let _ = write!(text, "\n\n`{elements}`");
        }
        text
    }
}

/// Describes a number or another literal: by the argument of the call that it is, or the key that it belongs to.
fn described_literal(trail: &[Place<'_>]) -> Option<String> {
    let (shape, spec) = places::nearest_key(trail)?;
    let described = || {
        let args = trail.iter().position(|place| place.is_value_of("instruction", "args"))?;
        let call = SourceCall::around(trail)?;
        let operator = OperatorDescription::find(call.name)?;
        let arguments = operator.arguments.iter().filter(|argument| argument.role != Role::Out);
        let argument = arguments.into_iter().nth(trail.get(args + 1)?.item?)?;
        Some(format!("**{}** — argument of `{}`", parameter(argument), operator.name))
    };
    described().or_else(|| Some(key(shape, spec)))
}

/// Describes a word that is no declared name.
fn described_word(place: &Place<'_>, word: &str) -> Option<String> {
    let text = place.form?.find(&mut |form| match form {
        Form::Operator => operator(word),
        Form::Dtype => dtype(word),
        _ => None,
    });
    text.or_else(|| place.holder.map(|(shape, spec)| key(shape, spec)))
}

/// Describes an element type.
fn dtype(word: &str) -> Option<String> {
    let found = ScalarType::parse(word)?;
    let size = found.info().map_or_else(String::new, |info| format!(", {}", counted(info.size, "byte")));
    Some(format!("**{found}** — element type {}{size}", found.0))
}

/// Describes a key.
pub(super) fn key(shape: &Shape, spec: &KeySpec) -> String {
    let mut text = format!("**{}** — {}", spec.name, spec.doc);
    let words = spec.form.words();
    if !words.is_empty() {
        let _ = write!(text, "\n\none of `{}`", words.join("`, `"));
    }
    if let Form::Option(option) = spec.form {
        let _ = write!(text, "\n\n{}", option.doc);
    }
    if shape.name == "graph_node"
        && let Some(node) = node(spec.name)
    {
        for key in node.keys {
            let needed = if key.required { "" } else { ", may be left out" };
            let _ = write!(text, "\n- `{}`: {}{needed}. {}", key.name, key.kind, key.description);
        }
    }
    text
}

/// Returns the description of an operation of a graph.
fn node(word: &str) -> Option<NodeDescription> {
    let all = NodeDescription::all();
    all.into_iter().find(|node| node.name.strip_prefix("xnnpack::") == Some(word))
}

/// Describes the kind of a name.
pub(super) fn kind_name(kind: NameKind) -> &'static str {
    match kind {
        NameKind::Method => "method",
        NameKind::Value => "value",
        NameKind::Label => "label",
        NameKind::Delegate => "delegate",
        NameKind::Data => "data",
        NameKind::File => "file",
        NameKind::NamedData => "named data",
        NameKind::GraphValue => "value of a graph",
    }
}

/// Explains a code of the assembler or a rule of `check`, in Markdown.
///
/// ```
/// assert!(pte_emit::language::explain("Y-5").unwrap().contains("unknown-key"));
/// assert!(pte_emit::language::explain("T-21").is_some() && pte_emit::language::explain("?").is_none());
/// ```
pub fn explain(code: &str) -> Option<String> {
    if let Some(rule) = Rule::all().iter().find(|rule| rule.id.as_str() == code) {
        return Some(format!("**{code}** — {}\n\n{}\n\nThe runtime: {}", rule.title, rule.why, rule.runtime));
    }
    let found = Code::ALL.iter().find(|known| known.as_str() == code)?;
    Some(format!("**{code}** `{}` — {}", found.name(), found.description()))
}

#[cfg(test)]
mod tests {
    use crate::editor::fixtures::{analysis, marked};

    fn hover(text: &str) -> String {
        let (text, at) = marked(text);
        analysis(&text).hover(at).map_or_else(String::new, |hover| format!("{}|{}", &text[hover.range], hover.text))
    }

    #[test]
    fn keys_operators_values_and_types_are_described() {
        let values = "methods:\n  forward:\n    values:\n      x: {tensor: float32, sizes: [2, 3]}\n";
        let rest = "    inputs: [x]\n    outputs: [y]\n    instructions:\n      - {kernel: aten::relu.out, args: [x], out: y}\n";
        let at = |before: &str, after: &str| hover(&(values.to_owned() + rest).replace(before, after));
        assert!(at("tensor:", "ten|sor:").starts_with("tensor|**tensor** — Element type"));
        assert!(at("float32", "flo|at32").starts_with("float32|**float32** — element type 6, 4 bytes"));
        assert!(at("aten::relu", "aten::|relu").contains("self: Tensor"));
        let y = at("out: y", "out: |y");
        assert!(y.starts_with("y|**y** — value\n\n`float32 [2, 3]`\n\nwritten by instruction `0`"), "{y}");
        assert!(y.contains("pool 1, offset ") && y.contains("24 bytes"), "{y}");
        // Numbers, and keys and numbers of `memory`.
        let memory = values.replace("3]}", "3], memory: {po|ol: 1, offset: 16}}") + rest;
        assert!(hover(&memory).starts_with("pool|**pool** — Number of the planned buffer"), "{}", hover(&memory));
        let memory = values.replace("3]}", "3], memory: {pool: 1, offset: 1|6}}") + rest;
        assert!(hover(&memory).starts_with("16|**offset** — Bytes from its start"), "{}", hover(&memory));
        let method = format!("{values}    memory: {{non_const_buffer_sizes: [0, 4|8], planner: greedy}}\n{rest}");
        assert!(
            hover(&method).starts_with("48|**non_const_buffer_sizes** — Sizes of the planned buffers"),
            "{}",
            hover(&method)
        );
        let add = at("aten::relu.out, args: [x]", "aten::add.out, args: [x, x, |1]");
        assert_eq!(add, "1|**alpha: Scalar = 1** — argument of `aten::add.out`");
        // Also below a line that cannot be parsed.
        let broken = values.to_owned() + "      w: {tensor: [\n" + &rest.replace("[x], out", "[|x], out");
        assert!(hover(&broken).starts_with("x|**x** — value"), "{}", hover(&broken));
    }
}
