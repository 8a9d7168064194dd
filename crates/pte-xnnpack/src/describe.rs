//! Facts of a payload, even if it cannot be decoded: counts by the numbers and tags of the schema, including unknown
//! ones.

use std::borrow::Cow;

use crate::schema::*;
use pte_model::data::Blob;
use pte_model::format::flatbuffer::read::{self, TableRef};
use pte_model::format::table::Union;
use pte_payload::description::{self, Arguments, ConstantTally, DescribeError, Fact, Facts, Tally, UNKNOWN};
use pte_payload::header::{HEADER, Sections};

/// Returns the facts of a payload.
///
/// # Errors
/// As [`PayloadFormat::describe`](pte_payload::format::PayloadFormat::describe).
pub fn describe(payload: &Blob) -> Result<Facts, DescribeError> {
    let head = payload.read_at(0, payload.len().min(HEADER as u64) as usize)?;
    let sections = Sections::read(MAGIC, &head, payload.len()).map_err(DescribeError::Malformed)?;
    let (start, size) = sections.graph;
    let found = payload.read_at(start, size.min(8) as usize)?;
    let is_found = |identifier: &&&str| found.get(4..8) == Some(identifier.as_bytes());
    let identifier = IDENTIFIERS.iter().find(is_found).copied().unwrap_or(IDENTIFIERS[0]);
    let facts = sections.facts().with("identifier", identifier);
    description::flatbuffer(payload, (start, size), Some(identifier), &GRAPH, |root| {
        graph(root, facts, sections.constants.is_some())
    })
}

/// Adds the facts of a graph.
fn graph(t: &TableRef<'_, '_>, mut facts: Facts, has_header: bool) -> read::Result<Facts> {
    facts.add("version", &*t.text(graph::version)?.unwrap_or_default());
    let mut operations = Tally::default();
    t.children(graph::xnodes, &NODE, |t| {
        let tag = t.u8(node::xnode_union_type)?;
        operations.count(match Operation::of_tag(tag) {
            Some(operation) => Cow::Borrowed(operation.word()),
            None => format!("{UNKNOWN} {tag}").into(),
        });
        Ok(())
    })?;
    facts.add("operations", operations);
    let mut inputs = Arguments::read(t, graph::input_ids)?;
    let mut outputs = Arguments::read(t, graph::output_ids)?;
    let mut values = Tally::default();
    t.children(graph::xvalues, &VALUE, |t| {
        let tag = t.u8(value::xvalue_union_type)?;
        let tensor = match tag {
            1 => t.child(value::xvalue_union, &TENSOR_VALUE)?,
            2 => match t.child(value::xvalue_union, &QUANTIZED_TENSOR_VALUE)? {
                Some(t) => t.child(quantized_tensor_value::tensor_value, &TENSOR_VALUE)?,
                None => None,
            },
            _ => None,
        };
        let Some(t) = tensor else {
            values.count(UNKNOWN);
            return Ok(());
        };
        let number = t.i16(tensor_value::datatype)?;
        let datatype = match usize::try_from(number).ok().and_then(|number| DATATYPES.get(number)) {
            Some(datatype) => Cow::Borrowed(datatype.name),
            None => format!("{UNKNOWN} {number}").into(),
        };
        let id = t.u32(tensor_value::id_out)?;
        for arguments in [&mut inputs, &mut outputs] {
            arguments.take(id, || {
                let dims: Vec<u32> = t.u32s(tensor_value::dims)?.unwrap_or_default();
                Ok(Fact::tensor(&datatype, dims.into_iter().map(i64::from)))
            })?;
        }
        values.count(datatype);
        Ok(())
    })?;
    facts.add("values", values);
    facts.add("inputs", inputs);
    facts.add("outputs", outputs);
    facts.add("constants", constants(t, has_header)?);
    Ok(facts)
}

/// Counts the constants, except the first one, which is reserved and means none.
fn constants(t: &TableRef<'_, '_>, has_header: bool) -> read::Result<ConstantTally> {
    let (mut constants, mut number) = (ConstantTally::default(), 0usize);
    let mut count = |key: Option<String>, size: u64| {
        match key.filter(|key| !key.is_empty()) {
            Some(key) => constants.named(&key, size),
            None if number > 0 => constants.inside(size),
            None => {}
        }
        number += 1;
    };
    match has_header {
        true => t.children(graph::constant_data, &CONSTANT_DATA_OFFSET, |t| {
            count(t.text(constant_data_offset::named_key)?, t.u64(constant_data_offset::size)?);
            Ok(())
        })?,
        false => t.children(graph::constant_buffer, &BUFFER, |t| {
            count(None, t.range(buffer::storage)?.map_or(0, |(_, size)| size));
            Ok(())
        })?,
    };
    Ok(constants)
}
