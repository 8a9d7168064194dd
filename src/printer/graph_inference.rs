//! Finds the element types, quantization and sizes of a graph that assembling does not infer, and that printed YAML
//! must therefore have.
//!
//! It applies the rules in the order of the nodes, like the assembler. A property is also printed if the rules give
//! another one.

use pte_xnnpack::draft::{Draft, DraftNode, DraftQuantization, DraftValue};
use pte_xnnpack::draft_sizes;
use pte_xnnpack::inferred;
use pte_xnnpack::model::{NodeOperation, Sizes};

/// Properties of a value that are printed.
#[derive(Clone, Copy)]
pub struct StatedValue {
    /// `true` to print the element type.
    pub datatype: bool,
    /// `true` to print the quantization.
    pub quantization: bool,
    /// `true` to print the sizes.
    pub sizes: bool,
}

impl StatedValue {
    /// All properties.
    pub const ALL: StatedValue = StatedValue { datatype: true, quantization: true, sizes: true };
}

/// A value while the nodes are visited.
struct Visited<'d> {
    value: &'d DraftValue,
    dims: Vec<u64>,
    stated: StatedValue,
    has_type: bool,
    has_quantization: bool,
    has_sizes: bool,
    /// It was the first input of an operation.
    is_read: bool,
}

impl<'d> Visited<'d> {
    fn datatype(&self) -> Option<i16> {
        self.has_type.then_some(self.value.datatype)
    }

    fn quantization(&self) -> Option<&'d DraftQuantization> {
        self.value.quantization.as_ref().filter(|_| self.has_quantization)
    }
}

/// Returns the properties to print for each value of a graph, by position.
pub fn stated(draft: &Draft) -> Vec<StatedValue> {
    let (mut is_written, mut is_bias) = (vec![false; draft.values.len()], vec![false; draft.values.len()]);
    for node in &draft.nodes {
        node.values(true).for_each(|output| is_written[output] = true);
        inferred::bias_position(node).into_iter().for_each(|bias| is_bias[bias] = true);
    }
    // An input, and a value that no node writes, keep their type and sizes.
    draft.inputs.iter().for_each(|input| is_written[*input] = false);
    let values = draft.values.iter().enumerate().map(|(position, value)| {
        let is_fixed = !is_written[position];
        let has_scales = value.quantization.as_ref().is_some_and(|quantization| quantization.kind().has_scales());
        Visited {
            value,
            dims: value.dims.iter().map(|size| u64::from(*size)).collect(),
            stated: StatedValue::ALL,
            has_type: is_fixed || value.constant.is_some(),
            has_quantization: is_fixed && !is_bias[position],
            // Scales by channel need the sizes.
            has_sizes: is_fixed || value.constant.is_some() || has_scales,
            is_read: false,
        }
    });
    let mut values: Vec<Visited<'_>> = values.collect();
    draft.nodes.iter().for_each(|node| visit(node, &mut values));
    values.into_iter().map(|value| value.stated).collect()
}

fn visit(node: &DraftNode, values: &mut [Visited<'_>]) {
    let NodeOperation::Known(operation) = node.operation else { return };
    let sized = |position: usize| {
        let Visited { value, dims, has_sizes, .. } = &values[position];
        (has_sizes.then(|| Sizes::from(&dims[..])), value.datatype)
    };
    // Nothing is inferred from a node that violates a rule.
    let found = draft_sizes::outputs(node, sized).unwrap_or_default();
    // The number of scales is compared first, so that the work is that of the scales in the graph.
    let open = |position: usize| {
        let Visited { value, has_quantization, .. } = &values[position];
        let own = value.quantization.as_ref().filter(|_| !has_quantization)?;
        let count = own.params.floats(0).len();
        (count > 0 && count as u64 == value.scales().max(1)).then_some(*value)
    };
    let bias = inferred::bias(node, open, |position| values[position].quantization());
    if let Some((position, found)) = inferred::dynamic(node, |position| values[position].value) {
        let value = &mut values[position];
        if !std::mem::replace(&mut value.is_read, true) {
            value.stated.quantization = value.value.quantization != Some(found);
        }
    }
    for operand in operation.operands().filter(|operand| operand.is_output) {
        let Some(output) = node.position(operand.slot) else { continue };
        let Visited { value, has_type, has_sizes, .. } = values[output];
        if !has_type {
            let same = node.values(false).next().filter(|first| values[*first].datatype() == Some(value.datatype));
            let moved = inferred::moved(node, |position| values[position].quantization()).filter(|_| same.is_some());
            let own = value.quantization.as_ref().filter(|own| moved != Some(own));
            let datatype = inferred::datatype(node, operand.slot, own, |position| values[position].datatype());
            let Visited { stated, has_type, has_quantization, .. } = &mut values[output];
            // A quantized value is easier to read with its type.
            stated.datatype = own.is_some() || datatype != Some(value.datatype);
            stated.quantization = own.is_some();
            (*has_type, *has_quantization) = (true, true);
        }
        if !has_sizes {
            let mut own = found.iter().filter(|(slot, _)| *slot == operand.slot);
            values[output].stated.sizes = own.next().is_none_or(|(_, sizes)| sizes[..] != values[output].dims[..]);
            values[output].has_sizes = true;
        }
    }
    if let Some(position) = inferred::bias_position(node).filter(|bias| !values[*bias].has_quantization) {
        let value = &mut values[position];
        value.stated.quantization = bias.map(|(_, found)| found) != value.value.quantization;
        value.has_quantization = true;
    }
}

/// Returns the number of values to print. The others are at the end: they have no keys according to `is_empty`, and get
/// their positions from the nodes that write them.
pub fn listed(draft: &Draft, is_empty: impl Fn(usize) -> bool) -> usize {
    let mut rank: Vec<Option<usize>> = vec![None; draft.values.len()];
    for (order, output) in draft.nodes.iter().flat_map(|node| node.values(true)).enumerate() {
        rank[output].get_or_insert(order);
    }
    let mut count = draft.values.len();
    let mut next = usize::MAX;
    while let Some(last) = count.checked_sub(1)
        && let Some(order) = rank[last]
        && order < next
        && is_empty(last)
    {
        (count, next) = (last, order);
    }
    count
}
