//! Parameters of operations, and of the quantization of values, as names and texts for readers. Pairs of height and
//! width are one parameter.

use std::borrow::Cow;

use crate::draft::{ConstantSource, DraftField, DraftNode, DraftValue};
use crate::model::FieldContent;
use crate::schema::{KEEP_DIMS, SAME_PADDING, TRANSPOSED};
use pte_model::format::Field;
use pte_model::format::table::Union;
use pte_payload::decoded::Attributes;

/// Maximum number of items of a list that are written.
const MAX_ITEMS: usize = 64;

/// Flags that change what an operation computes.
const FLAGS: [(u32, &str); 3] = [(TRANSPOSED, "transposed"), (SAME_PADDING, "same padding"), (KEEP_DIMS, "keep dims")];

/// Fields that are written as one parameter, in this order: its name, and the names of the fields.
const JOINED: &[(&str, &[&str])] = &[
    ("kernel", &["kernel_height", "kernel_width"]),
    ("window", &["pooling_height", "pooling_width"]),
    ("stride", &["subsampling_height", "subsampling_width"]),
    ("stride", &["stride_height", "stride_width"]),
    ("padding", &["padding_top", "padding_right", "padding_bottom", "padding_left"]),
    ("dilation", &["dilation_height", "dilation_width"]),
    ("adjustment", &["adjustment_height", "adjustment_width"]),
    ("size", &["new_height", "new_width"]),
];

/// Returns the parameters of an operation in the order of its table: all numbers and lists, flags by name, and the
/// bounds of the output.
pub fn attributes(node: &DraftNode) -> Attributes {
    let fields = node.operation.table().fields;
    let mut found: Attributes = Vec::new();
    for (field, content) in fields.iter().zip(&node.fields) {
        let DraftField::Parameter(content) = content else { continue };
        if field.name == "flags" {
            let flags: Vec<&str> =
                FLAGS.iter().filter(|(flag, _)| content.uint() & flag != 0).map(|(_, name)| *name).collect();
            if !flags.is_empty() {
                found.push(("flags".into(), flags.join(", ")));
            }
            continue;
        }
        match JOINED.iter().find(|(_, parts)| parts.contains(&field.name)) {
            Some((name, parts)) if parts.first() == Some(&field.name) => found.push(((*name).into(), text(content))),
            // The first part is earlier in the table.
            Some((name, _)) => match found.iter_mut().find(|(found, _)| found == name) {
                Some((_, text_before)) => *text_before += &format!(" {}", text(content)),
                None => found.push(((*name).into(), text(content))),
            },
            None => found.push((field.name.into(), text(content))),
        }
    }
    if let Some([minimum, maximum]) = node.output_min_max {
        found.push(("output_min".into(), minimum.to_string()));
        found.push(("output_max".into(), maximum.to_string()));
    }
    found
}

/// Returns the parameters of the quantization of a value; none for one that is not quantized.
pub fn quantization(value: &DraftValue) -> Attributes {
    let Some(quantization) = &value.quantization else { return Attributes::new() };
    let fields = quantization.params.kind.table().fields;
    let of = |(field, content): (&Field, &FieldContent)| match (field.name, content) {
        // The draft has the constant instead.
        ("scale_buffer_idx" | "num_scales", _) | (_, FieldContent::Absent) => None,
        (name, content) => Some((Cow::Borrowed(name), text(content))).filter(|(_, text)| !text.is_empty()),
    };
    let mut found: Attributes = fields.iter().zip(&quantization.params.fields).filter_map(of).collect();
    if let Some(scales) = &quantization.scales {
        let source = match &scales.source {
            ConstantSource::Data(blob) => format!("{} bytes in the payload", blob.len()),
            ConstantSource::Key(key) => format!("named data {key:?}"),
        };
        found.push(("scales".into(), source));
    }
    found
}

/// Writes a number, or the items of a list.
fn text(content: &FieldContent) -> String {
    fn items<T: ToString>(items: &[T]) -> String {
        let shown: Vec<String> = items.iter().take(MAX_ITEMS).map(T::to_string).collect();
        let more = items.len() - shown.len();
        shown.join(" ") + &if more > 0 { format!(" ... ({more} more)") } else { String::new() }
    }
    match content {
        FieldContent::UInt(number) => number.to_string(),
        FieldContent::Int(number) => number.to_string(),
        FieldContent::Float(number) => number.to_string(),
        FieldContent::UInts(list) => items(list),
        FieldContent::UShorts(list) => {
            // Scales as bfloat16: the upper half of a float32.
            items(&list.iter().map(|bits| f32::from_bits(u32::from(*bits) << 16)).collect::<Vec<f32>>())
        }
        FieldContent::Floats(list) => items(list),
        FieldContent::Absent => String::new(),
    }
}
