//! The layout of a merged program: that of all inputs, with the largest of their alignments.

use crate::layout::LayoutConfig;
use crate::layout::options::{LayoutOptions, OPTIONS, OptionKind, OptionSpec, OptionValue};
use pte_model::diagnostics::{Code, Diagnostic, clipped};
use pte_model::program::{ExecutionPlan, Memory, Program, TensorData};

/// Layout of an input, and what it stores.
pub struct InputLayout<'a> {
    /// Name in messages.
    pub name: String,
    /// Layout options.
    pub layout: &'a LayoutConfig,
    has_constants: bool,
    has_payloads: bool,
    has_data: bool,
}

impl<'a> InputLayout<'a> {
    /// Returns the layout of a program.
    pub fn new(name: String, program: &Program, layout: &'a LayoutConfig) -> InputLayout<'a> {
        let mut tensors = program.plans().iter().flat_map(ExecutionPlan::tensors);
        let has_constants = tensors.any(|(_, tensor)| {
            matches!(tensor.data, TensorData::Blob(_)) && tensor.memory == Memory::None && !tensor.is_external()
        });
        let mut delegates = program.plans().iter().flat_map(ExecutionPlan::delegates);
        let has_payloads = delegates.any(|delegate| !program.blob(delegate.processed).is_empty());
        let has_data = program.blobs.iter().any(|blob| !blob.is_empty());
        InputLayout { name, layout, has_constants, has_payloads, has_data }
    }

    /// Returns the value of an option; `None` if it is computed, or if nothing in the file depends on it.
    fn value(&self, option: &OptionSpec) -> Option<OptionValue> {
        let matters = match option.name {
            "constants" => self.has_constants,
            "delegates" => self.has_payloads,
            "header" => self.has_data,
            _ => true,
        };
        let value = option.get(self.layout).filter(|_| matters)?;
        // A header of 32 bytes is the one that `auto` writes if there are data.
        Some(if (option.name, value) == ("header", OptionValue::Bytes(32)) { OptionValue::Word(0) } else { value })
    }
}

/// Returns the layout of a program that has the content of all inputs: their common one, with the largest of their alignments.
///
/// # Errors
/// An error for each other option in which inputs differ, with the values and names of two of them.
pub fn common(inputs: &[InputLayout<'_>]) -> Result<LayoutConfig, Vec<Diagnostic>> {
    let mut layout = inputs.first().map(|input| input.layout.clone()).unwrap_or_default();
    let (mut chosen, mut errors) = (LayoutOptions::default(), Vec::new());
    for option in OPTIONS {
        let mut values = inputs.iter().filter_map(|input| Some((input, input.value(option)?)));
        let Some((first, mut value)) = values.next() else { continue };
        for (other, found) in values {
            match (value, found, option.kind) {
                _ if value == found => {}
                (OptionValue::Bytes(a), OptionValue::Bytes(b), OptionKind::Alignment | OptionKind::ForcedAlignment)
                    if a.max(b) % a.min(b) == 0 =>
                {
                    value = OptionValue::Bytes(a.max(b));
                }
                (OptionValue::Bytes(a), OptionValue::Bytes(b), OptionKind::Bytes(..)) => {
                    value = OptionValue::Bytes(a.max(b));
                }
                _ => {
                    errors.push(conflict(option, [(first, value), (other, found)]));
                    break;
                }
            }
        }
        if option.get(&layout) != Some(value) {
            option.set(&mut chosen, value);
        }
    }
    if !errors.is_empty() {
        return Err(errors);
    }
    chosen.apply(&mut layout);
    Ok(layout)
}

/// Returns the message about an option in which two inputs differ.
fn conflict(option: &OptionSpec, inputs: [(&InputLayout<'_>, OptionValue); 2]) -> Diagnostic {
    let [one, other] = inputs.map(|(input, _)| clipped(&input.name));
    let [first, second] = inputs.map(|(_, value)| option.print(value));
    let name = option.name;
    let message = format!("the programs have different layouts: `{name}` is {first} in {one}, {second} in {other}");
    let option = name.replace('_', "-");
    let help = format!("rewrite one with the layout of the other first: `pte-emit {other} -o FILE --{option} {first}`");
    Code::UnmetRequest.whole(message).help(help)
}
