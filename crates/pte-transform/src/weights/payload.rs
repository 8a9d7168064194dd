//! Sets constants in the graphs of XNNPACK delegates by name (`payload replace --weights`): float32 and float16, whose
//! layout is that of a tensor, and filters of convolutions, whose channels are last.
//!
//! A constant has the name of its key, or else of the value of the graph, as `payload show` prints it. Named data get
//! new keys, because the key is a hash of the data: XNNPACK's cache of packed weights finds them by key.

use std::collections::{HashMap, HashSet};
use std::io;

use super::set::{
    SetRequest, UnsetWeight, UnsettableWeight, UnusedSource, WeightChanges, assignment, shape, suggestion,
};
use super::source::SourceTensor;
use crate::payloads::{NewPayload, key_of};
use pte_model::data::Blob;
use pte_model::format::ScalarType;
use pte_model::program::{Program, TensorLayout};
use pte_xnnpack::constants::{self, ConstantContent, GraphConstant};
use pte_xnnpack::encode;
use pte_xnnpack::model::{Graph, NodeOperation};
use pte_xnnpack::schema::{Operation, conv};

/// Dimensions of the filter of a convolution in XNNPACK (out, height, width, in), by those of torch (out, in, height,
/// width).
const CHANNELS_LAST: [u8; 4] = [0, 2, 3, 1];

/// Sets constants of a graph. `names` are the names of its values. Returns what fits and what does not, and the changed
/// payload with its named data.
///
/// # Errors
/// Data that cannot be read, or a graph that cannot be encoded.
pub fn set(
    program: &Program,
    graph: &Graph,
    names: &[String],
    sources: Vec<SourceTensor>,
    request: &SetRequest<'_>,
) -> io::Result<(WeightChanges, NewPayload)> {
    let mut changes = WeightChanges::default();
    let mut graph = graph.clone();
    let filters = filters(&graph);
    let by_name: HashMap<&str, usize> =
        sources.iter().enumerate().map(|(index, source)| (source.name.as_str(), index)).collect();
    let mut used = vec![false; sources.len()];
    let (mut named_data, mut all_names) = (Vec::new(), Vec::new());
    for constant in constants::of(&graph) {
        let at = constant.index;
        let value_name = match &constant.content {
            ConstantContent::Plain { value, .. } => names.get(*value).cloned(),
            ConstantContent::Quantized(_) | ConstantContent::Scales | ConstantContent::Unknown => None,
        };
        let shown = value_name.clone().or(constant.key.clone()).unwrap_or_else(|| format!("constants[{at}]"));
        let (layout, value, old) = match settable(program, &graph, &constant) {
            Ok(settable) => settable,
            Err(reason) => {
                changes.unsettable.push(UnsettableWeight { name: shown, reason });
                continue;
            }
        };
        let candidates: Vec<String> = value_name.iter().chain(&constant.key).cloned().collect();
        all_names.extend(candidates.iter().cloned());
        let is_filter = filters.contains(&value);
        let found = request.source(&candidates, (&layout, &old), &sources, &by_name, &mut used);
        let (found, source) = match found {
            Ok(found) => found,
            Err(ambiguous) => {
                changes.unset.push(UnsetWeight { ambiguous, ..UnsetWeight::new(shown.clone(), shape(&layout)) });
                continue;
            }
        };
        let tensor = oriented(&sources[source], &layout, is_filter);
        match assignment(&shown, &layout, &tensor, found.is_transposed, old.len()) {
            Ok(mut assignment) => {
                assignment.reordered |= tensor.layout != sources[source].layout;
                changes.set.push(assignment);
                let new = data_of(&tensor, &layout, found.is_transposed);
                match &constant.key {
                    None => graph.constants[at].data = new,
                    Some(_) => {
                        let key = key_of(&new)?;
                        graph.constants[at].key = Some(key.clone());
                        named_data.push((key, new));
                    }
                }
            }
            Err(mismatch) => changes.mismatches.push(mismatch),
        }
    }
    report(&mut changes, &sources, &used, &all_names, request);
    changes.sources = sources;
    Ok((changes, NewPayload { data: encode::encode(&graph)?, named_data }))
}

/// Returns the layout of a constant, the position of its value, and its data; a reason if it cannot be set.
fn settable(program: &Program, graph: &Graph, constant: &GraphConstant) -> Result<(TensorLayout, usize, Blob), String> {
    let (layout, value) = match &constant.content {
        ConstantContent::Plain { scalar_type: scalar_type @ (ScalarType::FLOAT | ScalarType::HALF), sizes, value } => {
            (TensorLayout::new(*scalar_type, sizes.clone()), *value)
        }
        ConstantContent::Plain { scalar_type, .. } => {
            return Err(format!("constants of type {scalar_type} cannot be set"));
        }
        ConstantContent::Quantized(datatype) => return Err(format!("it is quantized ({datatype})")),
        ConstantContent::Scales => return Err("it has the scales of a quantized constant".to_owned()),
        ConstantContent::Unknown => return Err("no value of the graph has it".to_owned()),
    };
    let data = match &constant.key {
        None => graph.constants[constant.index].data.clone(),
        Some(key) => named(program, key).ok_or("its data are in a .ptd; move them with `--internal-data` first")?,
    };
    Ok((layout, value, data))
}

/// Returns a tensor whose sizes are those of a filter of XNNPACK, if it is a filter of torch with the same elements.
fn oriented(source: &SourceTensor, expected: &TensorLayout, is_filter: bool) -> SourceTensor {
    let sizes = &source.layout.sizes;
    if !is_filter || sizes.len() != 4 || *sizes == expected.sizes {
        return source.clone();
    }
    let permuted: Vec<i32> = CHANNELS_LAST.iter().map(|dim| sizes[usize::from(*dim)]).collect();
    // The dimension at each position of the memory, by its new number.
    let new = |dim: &u8| CHANNELS_LAST.iter().position(|old| old == dim).unwrap_or_default() as u8;
    let dim_order: Vec<u8> = source.layout.dim_order.iter().map(new).collect();
    let layout = TensorLayout { sizes: permuted, dim_order: dim_order.into(), ..source.layout.clone() };
    SourceTensor { layout, ..source.clone() }
}

/// Returns the bytes of a tensor in the order of a constant.
fn data_of(source: &SourceTensor, layout: &TensorLayout, is_transposed: bool) -> Blob {
    let from = if is_transposed { super::set::transposed(&source.layout) } else { source.layout.clone() };
    let element = layout.scalar_type.element_size();
    source.data.clone().reordered(element, &layout.sizes, &from.dim_order, &layout.dim_order)
}

/// Returns the data of a key of the program.
fn named(program: &Program, key: &str) -> Option<Blob> {
    let named = program.named_data.iter().flatten().find(|entry| entry.key == key).map(|entry| entry.data);
    Some(program.blob(named?).clone())
}

/// Returns the positions of the values that are filters of convolutions with two dimensions.
fn filters(graph: &Graph) -> HashSet<usize> {
    let positions = graph.positions();
    let nodes = graph.nodes.iter().filter(|node| node.operation == NodeOperation::Known(Operation::Conv2d));
    nodes.filter_map(|node| positions.get(&node.uint(conv::filter_id)).copied()).collect()
}

/// Reports the sources without a constant, the nearest names, and the rules without effect.
fn report(
    changes: &mut WeightChanges,
    sources: &[SourceTensor],
    used: &[bool],
    names: &[String],
    request: &SetRequest<'_>,
) {
    let unused: Vec<&SourceTensor> =
        sources.iter().zip(used).filter(|(_, is_used)| !**is_used).map(|(source, _)| source).collect();
    for (number, unset) in changes.unset.iter_mut().enumerate() {
        unset.nearest = suggestion(number, &unset.name, unused.iter().map(|source| source.name.as_str()));
    }
    let known: Vec<String> = changes.unset.iter().map(|unset| unset.name.clone()).collect();
    changes.unused = unused
        .iter()
        .enumerate()
        .map(|(number, source)| {
            let nearest = suggestion(number, &source.name, known.iter().map(String::as_str));
            UnusedSource::new(source.name.clone(), shape(&source.layout), nearest)
        })
        .collect();
    let rules = request.map.unused(names.iter().map(String::as_str));
    changes.unused_rules = rules.into_iter().map(|rule| request.map.rules[rule].to_string()).collect();
}
