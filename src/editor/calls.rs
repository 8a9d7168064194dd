//! Signatures of the operators of calls.

use super::analysis::{Analysis, SourceDocument};
use super::places::{self, Place, SourceCall, Trail};
use super::results::CallSignature;
use pte_operators::{Arg, OperatorDescription, Role};
use pte_yaml::tree::SourceNode;

impl Analysis {
    /// Returns the signature of the operator of the call at an offset, and the argument there.
    pub fn signature(&self, at: usize) -> Option<CallSignature> {
        let (document, at) = self.at(at)?;
        let Trail { places, .. } = places::trail(&document.syntax, at);
        let call = SourceCall::around(&places)?;
        let operator = OperatorDescription::find(call.name)?;
        let mut label = format!("{}(", operator.name);
        let mut arguments = Vec::new();
        for (index, argument) in operator.arguments.iter().enumerate() {
            label += if index > 0 { ", " } else { "" };
            let start = label.len();
            label += &parameter(argument);
            arguments.push(start..label.len());
        }
        label.push(')');
        let active = active(document, &places, &call, &operator, at);
        // Only what the label does not have: it covers the text.
        let types = active.and_then(|active| operator.element_types.get(&*operator.arguments.get(active)?.name));
        let documentation = types.map_or_else(String::new, |types| format!("element type: {types}"));
        Some(CallSignature { label, arguments, active, documentation })
    }
}

/// Returns the index of the argument at an offset.
fn active(
    document: &SourceDocument,
    trail: &[Place<'_>],
    call: &SourceCall<'_>,
    operator: &OperatorDescription,
    at: usize,
) -> Option<usize> {
    let key = trail.iter().rev().find_map(|place| place.holder.filter(|(shape, _)| shape.name == "instruction"))?.1;
    let inside = |args: &[SourceNode<'_>]| args.iter().filter(|arg| document.syntax.range(arg.id).end < at).count();
    let positions = |is_out: bool| {
        let all = operator.arguments.iter().enumerate();
        all.filter(move |(_, argument)| (argument.role == Role::Out) == is_out).map(|(index, _)| index)
    };
    match key.name {
        "args" => positions(false).nth(inside(call.args)),
        "out" => positions(true).next(),
        _ => None,
    }
}

/// Formats an argument: name, type, default.
pub(super) fn parameter(argument: &Arg) -> String {
    let default = argument.default.as_ref().map_or(String::new(), |default| format!(" = {default}"));
    format!("{}: {}{default}", argument.name, argument.kind)
}

/// Describes an operator in Markdown.
pub(super) fn markdown(name: &str) -> Option<String> {
    let operator = OperatorDescription::find(name)?;
    let mut text = format!("**{}**", operator.name);
    if let Some(library) = operator.library {
        text += &format!(" — in `{library}`, which the build has to link");
    }
    for argument in operator.arguments {
        let role = match argument.role {
            Role::In => "",
            Role::InPlace => ", written in place",
            Role::Out => ", written",
        };
        let types = operator.element_types.get(&*argument.name).map_or(String::new(), |types| format!(": {types}"));
        text += &format!("\n- `{}`{role}{types}", parameter(argument));
    }
    if let Some(returns) = &operator.returns {
        text += &format!("\n\nreturns {returns}");
    }
    if let Some(results) = &operator.results {
        text += &format!("\n\nresults: {results}");
    }
    Some(text + &format!("\n\n```yaml\n{}\n```", operator.example))
}

#[cfg(test)]
mod tests {
    use crate::editor::fixtures::{analysis, marked};

    #[test]
    fn the_argument_at_the_cursor_is_active() {
        let call = |args: &str| {
            let (text, at) =
                marked(&format!("methods:\n  f:\n    instructions:\n      - {{kernel: aten::add.out, {args}"));
            let found = analysis(&text).signature(at).unwrap();
            (found.label[found.arguments[found.active.unwrap()].clone()].to_owned(), found.label)
        };
        assert_eq!(call("args: [|x, y]}").0, "self: Tensor");
        assert_eq!(call("args: [x, |y]}").0, "other: Tensor");
        assert_eq!(call("args: [x, y, 1|]}").0, "alpha: Scalar = 1");
        assert_eq!(call("args: [x, |").0, "other: Tensor");
        assert_eq!(call("args: [x, y], out: z|}").0, "out: Tensor");
        assert!(call("args: [|x]}").1.starts_with("aten::add.out(self: Tensor, "));
    }
}
