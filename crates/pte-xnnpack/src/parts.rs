//! Parts of a graph that a release may not accept: operations, element types of their operands, and properties of the
//! payload. `lab/releases/xnnpack.py` has a graph for each part, with the same names.

use std::collections::HashMap;

use crate::constants::scale_buffer;
use crate::model::{Constant, Container, Graph, Node, NodeOperation};
use crate::schema::{Datatype, Operation};

/// Part of a graph whose constants are named data of the program.
pub const NAMED_CONSTANT: &str = "payload.named_constant";

/// Part of a graph whose scales are named data of the program.
pub const NAMED_SCALES: &str = "payload.scales_as_named";

/// Part of a graph whose scales are constants in the payload.
pub const CONSTANT_SCALES: &str = "payload.scales_as_constant";

/// Returns the parts of a graph, each with its node if it is one of a node. `is_inline` is true for a payload inside
/// the FlatBuffer.
pub fn of(graph: &Graph, is_inline: bool) -> Vec<(String, Option<usize>)> {
    let mut parts: Vec<(String, Option<usize>)> = Vec::new();
    let mut whole = |has: bool, part: &str| {
        if has {
            parts.push((part.to_owned(), None));
        }
    };
    whole(is_inline, "payload.inline");
    whole(graph.identifier == "XN00", "payload.identifier_XN00");
    whole(graph.container == Container::Bare, "payload.without_header");
    whole(graph.constants.iter().any(is_named), NAMED_CONSTANT);
    let quantized = graph.values.iter().filter_map(|value| value.quantization.as_deref());
    let indices = quantized.map(|params| scale_buffer(params) as usize).filter(|index| *index > 0);
    let scales: Vec<&Constant> = indices.filter_map(|index| graph.constants.get(index)).collect();
    whole(scales.iter().any(|constant| is_named(constant)), NAMED_SCALES);
    whole(scales.iter().any(|constant| !is_named(constant)), CONSTANT_SCALES);
    whole(
        graph.values.iter().any(|value| value.num_dims as usize != value.dims.len()),
        "payload.other_number_of_sizes",
    );
    let values = graph.positions();
    for (index, node) in graph.nodes.iter().enumerate() {
        parts.extend(of_node(node, &values, graph).into_iter().map(|part| (part, Some(index))));
    }
    parts
}

fn is_named(constant: &Constant) -> bool {
    constant.key.as_ref().is_some_and(|key| !key.is_empty())
}

fn of_node(node: &Node, positions: &HashMap<u32, usize>, graph: &Graph) -> Vec<String> {
    let mut parts = Vec::new();
    if !node.extra.is_empty() {
        parts.push("payload.newer_field".to_owned());
    }
    let NodeOperation::Known(operation) = node.operation else {
        parts.push("payload.newer_operation".to_owned());
        return parts;
    };
    parts.push(operation.word().to_owned());
    let value = |name: &str| {
        let (_, id) = node.operands().find(|(operand, _)| operand.name == name)?;
        graph.values.get(*positions.get(&id)?)
    };
    let datatype = |name: &str| Some(Datatype::of(value(name)?.datatype)?.name);
    let slope = value("input2_id").filter(|_| operation == Operation::PReLU);
    if slope.and_then(|slope| graph.constants.get(slope.constant as usize)).is_some_and(is_named) {
        parts.push("payload.prelu_of_named_constant".to_owned());
    }
    let input = datatype("input_id").or_else(|| datatype("input1_id"));
    let is_convolution =
        matches!(operation, Operation::Conv2d | Operation::DepthwiseConv2d | Operation::ConvTranspose2d);
    let types = match (operation, input, datatype("filter_id")) {
        (Operation::Convert, _, _) => datatype("output_id").map(|to| (to, "convert")),
        (_, Some(input @ ("qdint8" | "qpint8")), Some(_)) if is_convolution => Some((input, "convolution")),
        (_, Some(input @ ("qdint8" | "qpint8")), Some(filter)) => Some((input, filter)),
        (_, Some("qint8" | "quint8"), Some(filter)) => Some((filter, "static")),
        (_, Some(input @ ("fp16" | "bf16")), Some("fp32")) => Some((input, "fp32")),
        (_, Some(input), Some(_)) => Some((input, "fully_connected")),
        (_, Some(input), None) => Some((input, "add")),
        (_, None, _) => None,
    };
    parts.extend(types.map(|(first, second)| format!("type.{first}.{second}")));
    if node.output_min_max.is_some() && operation != Operation::Clamp {
        let of = match (datatype("filter_id"), operation) {
            (Some(_), _) => "fully_connected",
            (None, Operation::Maximum | Operation::Minimum) => "maximum",
            (None, _) => "add",
        };
        parts.push(format!("payload.bounds_of_{of}"));
    }
    parts
}
