//! Finds the element types and sizes of a graph that assembling does not infer, and that printed YAML must therefore
//! have.
//!
//! It applies the rules in the order of the nodes, like the assembler. A property is also printed if the rules give
//! another one.

use pte_xnnpack::draft::{Draft, DraftNode, DraftValue};
use pte_xnnpack::draft_sizes;
use pte_xnnpack::model::{NodeOperation, Sizes};

/// Properties of a value that are printed.
#[derive(Clone, Copy)]
pub struct StatedValue {
    /// `true` to print the element type.
    pub datatype: bool,
    /// `true` to print the sizes.
    pub sizes: bool,
}

/// A value while the nodes are visited.
struct Visited<'d> {
    value: &'d DraftValue,
    dims: Vec<u64>,
    stated: StatedValue,
    has_type: bool,
    has_sizes: bool,
}

/// Returns the properties to print for each value of a graph, by position.
pub fn stated(draft: &Draft) -> Vec<StatedValue> {
    let mut values: Vec<Visited<'_>> = draft.values.iter().map(visited).collect();
    for position in &draft.inputs {
        (values[*position].has_type, values[*position].has_sizes) = (true, true);
    }
    // A value that no node writes keeps its sizes.
    let mut is_written = vec![false; values.len()];
    for output in draft.nodes.iter().flat_map(|node| node.values(true)) {
        is_written[output] = true;
    }
    for (value, _) in values.iter_mut().zip(is_written).filter(|(_, is_written)| !is_written) {
        (value.has_type, value.has_sizes) = (true, true);
    }
    draft.nodes.iter().for_each(|node| visit(node, &mut values));
    values.into_iter().map(|value| value.stated).collect()
}

fn visited(value: &DraftValue) -> Visited<'_> {
    let stated = StatedValue { datatype: true, sizes: true };
    // A quantized value is easier to read with its type, and scales by channel need the sizes.
    let (has_type, has_sizes) = match &value.quantization {
        None => (value.constant.is_some(), value.constant.is_some()),
        Some(quantization) => (true, value.constant.is_some() || quantization.kind().has_scales()),
    };
    Visited { value, dims: value.dims.iter().map(|size| u64::from(*size)).collect(), stated, has_type, has_sizes }
}

fn visit(node: &DraftNode, values: &mut [Visited<'_>]) {
    let NodeOperation::Known(_) = node.operation else { return };
    let first = node.values(false).next().map(|first| &values[first]).filter(|first| first.has_type);
    let datatype = first.map(|first| first.value.datatype);
    let sized = |position: usize| {
        let Visited { value, dims, has_sizes, .. } = &values[position];
        (has_sizes.then(|| Sizes::from(&dims[..])), value.datatype)
    };
    // Nothing is inferred from a node that violates a rule.
    let found = draft_sizes::outputs(node, sized).unwrap_or_default();
    for output in node.values(true) {
        let value = &mut values[output];
        if !value.has_type {
            value.stated.datatype = datatype != Some(value.value.datatype);
            value.has_type = true;
        }
        if !value.has_sizes {
            let mut own = found.iter().filter(|(slot, _)| node.position(*slot) == Some(output));
            value.stated.sizes = own.next().is_none_or(|(_, sizes)| sizes[..] != value.dims[..]);
            value.has_sizes = true;
        }
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
