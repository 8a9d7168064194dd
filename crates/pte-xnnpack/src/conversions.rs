//! Quantization of the arguments of a graph, and the conversions next to them: what quantizes an input first, or
//! dequantizes an output last.

use pte_model::format::ScalarType;

use crate::model::{Graph, GraphValue, NodeOperation};
use crate::schema::{Datatype, EXTERNAL_INPUT, EXTERNAL_OUTPUT, NO_ID, Operation, QuantParams};

/// Returns the scale and the zero point of an argument of a graph: of its integers, or of those that it is converted to
/// or from.
pub fn quantization(graph: &Graph, argument: u32, is_input: bool) -> Option<(f64, i64)> {
    let own = parameters(&graph.values[position(graph, argument, is_input)?]);
    let converted = || Conversion::find(graph, argument, is_input).ok();
    own.or_else(|| converted().map(|conversion| (conversion.scale, conversion.zero_point)))
}

/// Returns the position of an input or output among the values.
fn position(graph: &Graph, argument: u32, is_input: bool) -> Option<usize> {
    let flag = if is_input { EXTERNAL_INPUT } else { EXTERNAL_OUTPUT };
    graph.values.iter().position(|value| value.external_id == argument && value.flags & flag != 0)
}

/// Returns the scale and the zero point of a tensor with one of each.
fn parameters(value: &GraphValue) -> Option<(f64, i64)> {
    let params = value.quantization.as_ref().filter(|params| params.kind == QuantParams::PerTensor)?;
    Some((params.floats(0).first().copied()?.into(), params.int(1).into()))
}

/// A conversion between an argument of a graph and an integer tensor inside of it: a real number of the argument is
/// `scale * (integer - zero_point)`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Conversion {
    /// Position of the node.
    node: usize,
    /// Position of the argument among the values.
    outer: usize,
    /// Position of the value on the other side.
    inner: usize,
    /// Element type of the integers.
    pub scalar_type: ScalarType,
    /// Scale.
    pub scale: f64,
    /// Zero point.
    pub zero_point: i64,
}

impl Conversion {
    /// Finds the conversion of an argument, which is an input or an output: the only node that uses it.
    ///
    /// # Errors
    /// The reason why there is none.
    pub fn find(graph: &Graph, argument: u32, is_input: bool) -> Result<Conversion, String> {
        let alone = "its payload does not convert it alone";
        let outer = position(graph, argument, is_input).ok_or(alone)?;
        let outer_id = graph.values[outer].id;
        let users = graph.nodes.iter().enumerate();
        let mut users = users.filter(|(_, node)| node.operands().any(|(_, id)| id == outer_id));
        let (node_position, node) = users.next().filter(|_| users.next().is_none()).ok_or(alone)?;
        if node.operation != NodeOperation::Known(Operation::Convert) {
            return Err(alone.to_owned());
        }
        let (_, inner) = node.operands().find(|(operand, _)| operand.is_output == is_input).ok_or(alone)?;
        let inner = graph.values.iter().position(|value| value.id == inner && value.id != outer_id).ok_or(alone)?;
        let value = &graph.values[inner];
        if value.constant != 0 {
            return Err("its payload converts a constant".to_owned());
        }
        let datatype = Datatype::of(value.datatype).ok_or("its payload has an unknown type")?;
        let (Some((scale, zero_point)), [scalar_type]) = (parameters(value), datatype.tensors) else {
            return Err(format!("its payload converts it to {}", datatype.name));
        };
        Ok(Conversion { node: node_position, outer, inner, scalar_type: *scalar_type, scale, zero_point })
    }

    /// Removes a conversion that was found in this graph: the value on its other side is the argument.
    ///
    /// # Errors
    /// That value is another argument.
    pub fn remove(self, graph: &mut Graph) -> Result<(), &'static str> {
        let Conversion { node, outer, inner, .. } = self;
        if graph.values[inner].external_id != NO_ID {
            return Err("the integers that its payload converts are another input or output");
        }
        let (outer_id, inner_id) = (graph.values[outer].id, graph.values[inner].id);
        (graph.values[inner].external_id, graph.values[inner].flags) =
            (graph.values[outer].external_id, graph.values[outer].flags);
        for id in graph.input_ids.iter_mut().chain(&mut graph.output_ids).filter(|id| **id == outer_id) {
            *id = inner_id;
        }
        graph.nodes.remove(node);
        graph.values.remove(outer);
        Ok(())
    }
}
