//! The layout of a merged program: that of all inputs, with the largest of their alignments.

use crate::emitter;
use crate::layout::options::{LayoutOptions, OPTIONS, OptionKind, OptionSpec, OptionValue};
use crate::layout::{self, LayoutConfig};
use pte_model::data::BlobId;
use pte_model::diagnostics::{Code, Diagnostic};
use pte_model::format::serializer::EXECUTORCH;
use pte_model::program::{ExecutionPlan, Memory, Program, TensorData};

/// Layout of an input, and the parts that it stores.
pub struct InputLayout<'a> {
    /// Name in messages.
    pub name: String,
    /// Layout options.
    pub layout: &'a LayoutConfig,
    program: &'a Program,
    has_constants: bool,
    has_payloads: bool,
    has_data: bool,
}

impl<'a> InputLayout<'a> {
    /// Returns the layout of a program.
    pub fn new(name: String, program: &'a Program, layout: &'a LayoutConfig) -> InputLayout<'a> {
        let mut tensors = program.plans().iter().flat_map(ExecutionPlan::tensors);
        let has_constants = tensors.any(|(_, tensor)| {
            matches!(tensor.data, TensorData::Blob(_)) && tensor.memory == Memory::None && !tensor.is_external()
        });
        let mut delegates = program.plans().iter().flat_map(ExecutionPlan::delegates);
        let has_payloads = delegates.any(|delegate| !program.blob(delegate.processed).is_empty());
        let has_data = program.blobs.iter().any(|blob| !blob.is_empty());
        InputLayout { name, layout, program, has_constants, has_payloads, has_data }
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
        // The header that `auto` writes if there are data.
        let own = OptionValue::Bytes(self.layout.exporter.header.into());
        Some(if (option.name, value) == ("header", own) { OptionValue::Word(0) } else { value })
    }

    /// Returns `true` if the file has the same metadata with another value of an option.
    fn is_reproduced_with(&self, option: &OptionSpec, value: OptionValue) -> bool {
        let mut chosen = LayoutOptions::default();
        option.set(&mut chosen, value);
        let mut other = self.layout.clone();
        chosen.apply(&mut other);
        let file = |layout: &LayoutConfig| {
            let same: Vec<BlobId> = (0..self.program.blobs.len()).map(|blob| BlobId(blob as u32)).collect();
            let plan = layout::plan(self.program, &same, layout).ok()?;
            let flatbuffer = emitter::program::emit(self.program, &plan, layout, None).ok()?;
            let placement = layout::file::program(flatbuffer.len() as u64, &plan.segments, layout)?;
            let offsets: Vec<u64> = plan.segments.iter().map(|segment| segment.offset).collect();
            Some((flatbuffer[..].to_vec(), placement.segment_base_offset, offsets))
        };
        file(self.layout).zip(file(&other)).is_some_and(|(a, b)| a == b)
    }
}

/// Returns the options in which the file of a program differs from those of its former layouts, with both values.
pub fn changes(program: &Program, former: &[LayoutConfig], layout: &LayoutConfig) -> Vec<String> {
    let input = |layout| InputLayout::new(String::new(), program, layout);
    let (former, now) = (former.iter().map(input).collect::<Vec<_>>(), input(layout));
    let change = |(option, former): (&OptionSpec, &InputLayout<'_>)| {
        let (before, after) = (former.value(option)?, now.value(option)?);
        let is_same = before == after || now.is_reproduced_with(option, before);
        (!is_same).then(|| format!("`{}`: {} -> {}", option.name, option.print(before), option.print(after)))
    };
    let mut changes: Vec<String> = OPTIONS
        .iter()
        .flat_map(|option| former.iter().map(move |former| (option, former)))
        .filter_map(change)
        .collect();
    changes.dedup();
    changes
}

/// Returns the layout of a program that has the content of all inputs: their common one, with the largest of their
/// alignments. A file does not always show the value of an option: a value of one input suits others whose files it
/// reproduces.
///
/// # Errors
/// An error for each other option in which inputs differ, with the values and names of two of them.
pub fn common(inputs: &[InputLayout<'_>]) -> Result<LayoutConfig, Vec<Diagnostic>> {
    let mut layout = inputs.first().map(|input| input.layout.clone()).unwrap_or_default();
    let (mut chosen, mut errors) = (LayoutOptions::default(), Vec::new());
    for option in OPTIONS {
        let values: Vec<(&InputLayout<'_>, OptionValue)> =
            inputs.iter().filter_map(|input| Some((input, input.value(option)?))).collect();
        match common_value(option, &values) {
            Ok(Some(value)) if option.get(&layout) != Some(value) => option.set(&mut chosen, value),
            Ok(_) => {}
            Err(conflict) => errors.push(*conflict),
        }
    }
    if !errors.is_empty() {
        return Err(errors);
    }
    chosen.apply(&mut layout);
    Ok(layout)
}

/// Returns the value of an option that suits all inputs; `None` without a value.
fn common_value(
    option: &OptionSpec,
    values: &[(&InputLayout<'_>, OptionValue)],
) -> Result<Option<OptionValue>, Box<Diagnostic>> {
    let Some((first, rest)) = values.split_first() else { return Ok(None) };
    let Some(other) = rest.iter().find(|(_, value)| *value != first.1) else { return Ok(Some(first.1)) };
    let suits_all = |candidate: OptionValue| {
        values.iter().all(|(input, value)| *value == candidate || input.is_reproduced_with(option, candidate))
    };
    let mut candidates = values.iter().map(|(_, value)| *value);
    if let Some(value) = candidates.find(|candidate| suits_all(*candidate)) {
        return Ok(Some(value));
    }
    let bytes = |(_, value): &(&InputLayout<'_>, OptionValue)| match value {
        OptionValue::Bytes(bytes) => Some(*bytes),
        OptionValue::Word(_) => None,
    };
    let sizes: Option<Vec<u64>> = values.iter().map(bytes).collect();
    let largest = sizes.as_ref().and_then(|sizes| sizes.iter().copied().max());
    match (option.kind, largest, sizes) {
        (OptionKind::Alignment | OptionKind::ForcedAlignment, Some(largest), Some(sizes))
            if sizes.iter().all(|size| largest % size == 0) =>
        {
            Ok(Some(OptionValue::Bytes(largest)))
        }
        (OptionKind::Bytes(..), Some(largest), _) => Ok(Some(OptionValue::Bytes(largest))),
        _ => Err(Box::new(conflict(option, [*first, *other]))),
    }
}

/// Returns the message about an option in which two inputs differ.
fn conflict(option: &OptionSpec, inputs: [(&InputLayout<'_>, OptionValue); 2]) -> Diagnostic {
    let [one, other] = inputs.map(|(input, _)| &input.name);
    let [first, second] = inputs.map(|(_, value)| option.print(value));
    let name = option.name;
    let message = format!("the programs have different layouts: `{name}` is {first} in {one}, {second} in {other}");
    let option = name.replace('_', "-");
    let help = format!(
        "write all for one release with `--for-runtime {EXECUTORCH}`, or rewrite one with the layout of the other first: \
         `pte-emit {other} -o FILE --{option} {first}`"
    );
    Code::UnmetRequest.whole(message).help(help)
}
