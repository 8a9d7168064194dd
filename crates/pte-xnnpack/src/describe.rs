//! Facts of a payload, even if it cannot be decoded: counts by the numbers and tags of the schema, including unknown
//! ones.

use std::borrow::Cow;

use crate::decode::{PayloadError, Problems, ReadGraph};
use crate::model::NodeOperation;
use crate::schema::Datatype;
use pte_model::diagnostics::counted;
use pte_model::format::flatbuffer::read::ReadError;
use pte_payload::description::{Arguments, ConstantTally, DescribeError, Fact, Facts, Tally, UNKNOWN};

/// Field with the operation of a node.
const OPERATION: &str = "XNode.xnode_union_type";

/// Field with the sizes of a value.
const DIMS: &str = "XNNTensorValue.dims";

/// Returns the error of a payload that is not described.
pub fn error(error: PayloadError) -> DescribeError {
    match error {
        PayloadError::Io(error) => DescribeError::Io(error),
        PayloadError::Header(problem) | PayloadError::Identifier(problem) => DescribeError::Malformed(problem),
        PayloadError::Size(size, max) => {
            DescribeError::malformed(format!("a FlatBuffer of {}, expected at most {max}", counted(size, "byte")))
        }
    }
}

/// Returns the facts of a payload.
///
/// # Errors
/// As [`PayloadFormat::describe`](pte_payload::PayloadFormat::describe).
pub fn describe(read: &ReadGraph) -> Result<Facts, DescribeError> {
    let of = |error: &ReadError| DescribeError::Malformed(read.text(error));
    let is_cut = |problems: &&Problems| {
        problems.is_cut || problems.malformed.as_ref().is_some_and(|(_, error)| error.field == OPERATION)
    };
    let cut = [&read.nodes, &read.values].into_iter().filter(is_cut);
    let malformed = [&read.whole].into_iter().chain(cut).find_map(|problems| problems.malformed.as_ref());
    if let Some(error) = read.version.as_ref().or(malformed.map(|(_, error)| error)) {
        return Err(of(error));
    }
    let graph = &read.graph;
    let mut facts = read.sections.facts().with("identifier", graph.identifier).with("version", &*graph.version);
    let mut operations = Tally::default();
    for node in &graph.nodes {
        operations.count(match node.operation {
            NodeOperation::Known(operation) => Cow::Borrowed(operation.word()),
            NodeOperation::Unknown(tag) => format!("{UNKNOWN} {tag}").into(),
        });
    }
    facts.add("operations", operations);
    let (mut inputs, mut outputs) = (Arguments::new(&graph.input_ids), Arguments::new(&graph.output_ids));
    let mut values = Tally::default();
    for (index, (value, tables)) in graph.values.iter().zip(&read.value_tables).enumerate() {
        // Of a malformed value, only the quantization is not needed, and the sizes if it is no argument.
        let malformed = read.values.malformed.as_ref().filter(|(at, _)| *at == index && tables.quantized == 0);
        if tables.is_unknown {
            values.count(UNKNOWN);
            continue;
        }
        if let Some((_, error)) = malformed
            && error.field != DIMS
        {
            return Err(of(error));
        }
        let datatype = match Datatype::of(value.datatype) {
            Some(datatype) => Cow::Borrowed(datatype.name),
            None => format!("{UNKNOWN} {}", value.datatype).into(),
        };
        let malformed = read.values.malformed.as_ref().filter(|(at, _)| *at == index && tables.quantized == 0);
        for arguments in [&mut inputs, &mut outputs] {
            arguments.take(value.id, || match malformed {
                Some((_, error)) => Err(of(error)),
                None => Ok(Fact::tensor(&datatype, value.dims.iter().map(|size| i64::from(*size)))),
            })?;
        }
        values.count(datatype);
    }
    let mut constants = ConstantTally::default();
    for (index, constant) in graph.constants.iter().enumerate() {
        match constant.key.as_deref().filter(|key| !key.is_empty()) {
            Some(key) => constants.named(key, constant.size),
            // The first one is reserved and means none.
            None if index > 0 => constants.inside(constant.size),
            None => {}
        }
    }
    facts.add("values", values);
    facts.add("inputs", inputs);
    facts.add("outputs", outputs);
    facts.add("constants", constants);
    Ok(facts)
}
