//! Structured mutants of the graphs of XNNPACK delegates, and operations on all combinations of element types: those
//! that `check` accepts must not crash the real runtime. The mutants that it refuses although they run are counted by
//! rule.
//!
//! Unlike `mutants.rs`, which changes bytes, it changes fields that it knows: ids, types, sizes, flags, parameters,
//! quantization, lists of values and operations.
//!
//! | variable | meaning |
//! |---|---|
//! | `PTE_EMIT_XNNPACK_SEED` | seed, a number; printed; 1 by default |
//! | `PTE_EMIT_XNNPACK_ACCEPTED` | number of accepted mutants that end the run; by default less than a minute |
//! | `PTE_EMIT_PROGRAMS` | a folder of further `.pte` files to mutate |
//! | `PTE_EMIT_XNNPACK_KEEP` | a folder for accepted mutants that crash |

use std::collections::BTreeSet;
use std::fmt::Write as _;

use pte_generate::random::Random;
use pte_model::data::{Blob, Origin};
use pte_model::format::Kind;
use pte_model::format::table::Union;
use pte_model::reader;
use pte_xnnpack::schema::{self as xnnpack, Operation};

use crate::support::driver::{Driver, crashed};
use crate::support::structured::{self, ProgramFile, Run, Subject};
use crate::support::tree::{Item, Tree};
use crate::support::tree_changes::{FieldNames, change_field, change_items, changed, each, paths, table};
use crate::support::xnnpack::Sections;

/// Accepted mutants in a sample.
const SAMPLE: usize = 2_000;

/// Mutants of one file that are made, checked and run together.
const BATCH: usize = 400;

/// Bytes for the growth of a graph.
const SLACK: usize = 512;

const FLOAT_FIELDS: &[&str] = &["scale", "output_min", "output_max", "padding_value", "alpha"];

/// Fields of graphs that are not what their type says. Ids are compared with those of values.
const NAMES: FieldNames =
    FieldNames { floats: FLOAT_FIELDS, are_alike: |one, other| one.ends_with("_id") && other == "id_out" };

/// Program with a graph to mutate, which has room to grow.
struct Base {
    name: String,
    bytes: Vec<u8>,
    /// `.ptd` files of the program.
    data: Vec<Vec<u8>>,
    graph: Tree,
    identifier: &'static str,
    /// Offset of the graph in the file, and its size with the room.
    at: usize,
    room: usize,
}

impl Base {
    /// Returns the bases of a file, one for each graph.
    fn of(name: &str, bytes: &[u8], data: &[Vec<u8>]) -> Vec<Base> {
        let Ok(contents) = reader::program::read(&Origin::Bytes(bytes.into())) else { return Vec::new() };
        let program = contents.program;
        let delegates = program.plans().iter().flat_map(|plan| plan.delegates());
        let payloads: BTreeSet<_> = delegates.map(|delegate| delegate.processed.0 as usize).collect();
        payloads
            .into_iter()
            .filter_map(|blob| {
                let payload = program.blobs[blob].read_at(0, program.blobs[blob].len() as usize).ok()?;
                let sections = Sections::of(&payload)?;
                let (from, size) = sections.graph;
                let graph = Tree::read(&payload[from..from + size], &xnnpack::GRAPH);
                let identifier =
                    xnnpack::IDENTIFIERS.into_iter().find(|id| id.as_bytes() == &payload[from + 4..from + 8])?;
                let written = graph.write(identifier, 0);
                let payload = sections.replace(&payload, &written, SLACK);
                let mut program = program.clone();
                program.blobs[blob] = Blob::bytes(payload.clone());
                let bytes = crate::support::program::files(&program).ok()?.program_file()?.to_vec().ok()?;
                let at = bytes.windows(written.len()).position(|window| window == written)?;
                let room = written.len() + SLACK;
                Some(Base { name: name.to_owned(), bytes, data: data.to_vec(), graph, identifier, at, room })
            })
            .collect()
    }

    /// Returns the file with another graph; `None` if it does not fit.
    fn with(&self, graph: &Tree) -> Option<Vec<u8>> {
        let mut written = graph.write(self.identifier, 0);
        if written.len() > self.room {
            return None;
        }
        written.resize(self.room, 0);
        let mut bytes = self.bytes.clone();
        bytes[self.at..self.at + self.room].copy_from_slice(&written);
        Some(bytes)
    }
}

impl Subject for Base {
    fn name(&self) -> &str {
        &self.name
    }

    fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    fn data(&self) -> &[Vec<u8>] {
        &self.data
    }

    fn mutant(&self, random: &mut Random) -> Option<(Vec<u8>, String)> {
        let mut graph = self.graph.clone();
        let steps: Vec<String> = (0..random.pick(&[1, 1, 2, 3])).map(|_| mutate(&mut graph, random)).collect();
        Some((self.with(&graph)?, steps.join("; ")))
    }
}

/// Changes a graph in one way; returns what it changed.
fn mutate(graph: &mut Tree, random: &mut Random) -> String {
    match random.below(16) {
        0 => {
            let list = random.pick(&["xnodes", "xvalues", "xnodes", "constant_data"]);
            format!("{list}: {}", change_items(graph.tables(list), random))
        }
        // A size in all values.
        1 => {
            let mut sizes = BTreeSet::new();
            let lists = ["dims", "new_shape", "sizes"];
            let mut visit_lists = |visit: &mut dyn FnMut(&mut Vec<u32>)| {
                each(graph, &mut |tree| {
                    for (field, item) in tree.schema.fields.iter().zip(&mut tree.fields) {
                        if let (true, Item::Ints(items)) = (lists.contains(&field.name), item) {
                            visit(items);
                        }
                    }
                });
            };
            visit_lists(&mut |items| sizes.extend(items.iter().copied()));
            let sizes: Vec<u32> = sizes.into_iter().collect();
            if sizes.is_empty() {
                return "nothing".to_owned();
            }
            let old = random.pick(&sizes);
            let new = changed(u64::from(old), &[], random) as u32;
            visit_lists(&mut |items| items.iter_mut().filter(|item| **item == old).for_each(|item| *item = new));
            format!("size {old} -> {new}")
        }
        // A type of all values.
        2 => {
            let (old, new) = (random.pick(&[1, 1, 2, 3, 3, 4, 6, 9]), random.below(15) as u64);
            each(graph, &mut |tree| {
                for (field, item) in tree.schema.fields.iter().zip(&mut tree.fields) {
                    if let ("datatype", Item::Bits(found)) = (field.name, item)
                        && *found == old
                    {
                        *found = new;
                    }
                }
            });
            format!("datatype {old} -> {new}")
        }
        // Another operation with the same fields.
        3 | 4 => {
            let nodes = graph.tables("xnodes");
            if nodes.is_empty() {
                return "nothing".to_owned();
            }
            let at = random.below(nodes.len());
            let (tag, union) = (nodes[at].slot("xnode_union_type"), nodes[at].slot("xnode_union"));
            let Item::Table(member) = &mut nodes[at].fields[union] else { return "nothing".to_owned() };
            let operation = random.pick(&Operation::ALL);
            if random.below(8) != 0 && !std::ptr::eq(operation.table(), member.schema) {
                let alike = Operation::ALL.iter().filter(|other| std::ptr::eq(other.table(), member.schema));
                let alike: Vec<Operation> = alike.copied().collect();
                let operation = random.pick(&alike);
                nodes[at].fields[tag] = Item::Bits(u64::from(operation.tag()));
                return format!("xnodes[{at}] = {operation:?}");
            }
            // The fields keep their slots.
            let mut table = Tree::new(operation.table());
            for (slot, field) in operation.table().fields.iter().enumerate() {
                let old = member.schema.fields.iter().position(|old| old.name == field.name).unwrap_or(slot);
                if let (Some(Item::Bits(bits)), Kind::UInt) = (member.fields.get(old), field.kind) {
                    table.fields[slot] = Item::Bits(*bits);
                }
            }
            *member = table;
            nodes[at].fields[tag] = Item::Bits(u64::from(operation.tag()));
            format!("xnodes[{at}] = {operation:?}, converted")
        }
        // Another kind of quantization.
        5 => {
            let mut seen = 0;
            let all = paths(graph, &|tree| tree.schema.name == "XNNQuantizedTensorValue");
            if let Some(path) = (!all.is_empty()).then(|| &all[random.below(all.len())]) {
                let tree = table(graph, path);
                seen = random.below(xnnpack::QUANT_PARAMS.len());
                let (tag, union) = (tree.slot("quant_params_type"), tree.slot("quant_params"));
                tree.fields[tag] = Item::Bits(seen as u64 + 1);
                let mut params = Tree::new(xnnpack::QUANT_PARAMS[seen]);
                if let Item::Table(old) = &tree.fields[union] {
                    for (slot, field) in params.schema.fields.iter().enumerate() {
                        let alike = |old: &&pte_model::format::Field| {
                            old.name == field.name
                                && std::mem::discriminant(&old.kind) == std::mem::discriminant(&field.kind)
                        };
                        let position = old.schema.fields.iter().position(|old| alike(&old));
                        params.fields[slot] = position.map_or(Item::Absent, |position| old.fields[position].clone());
                    }
                }
                tree.fields[union] = Item::Table(params);
            }
            format!("quantization {seen}")
        }
        _ => change_field(graph, &NAMES, &|_| true, random),
    }
}

/// Programs of the repository, of the folder in `PTE_EMIT_PROGRAMS`, and of single operations, which have a graph.
fn bases() -> Vec<Base> {
    let mut bases = Vec::new();
    for ProgramFile { name, bytes, data } in structured::programs() {
        if bytes.windows(14).any(|window| window == b"XnnpackBackend") {
            bases.extend(Base::of(&name, &bytes, &data));
        }
    }
    for (operation, types) in EXAMPLES {
        let bytes = crate::support::xnnpack::program(*operation, types, true);
        bases.extend(Base::of(&format!("{operation:?} of {types:?}"), &bytes, &[]));
    }
    let mut seen = BTreeSet::new();
    bases.retain(|base| seen.insert(base.bytes.clone()));
    bases
}

/// Operations that the programs of the repository do not have.
const EXAMPLES: &[(Operation, &[i16])] = {
    use xnnpack::*;
    &[
        (Operation::FullyConnected, &[QDINT8, QBINT4, FP32, FP32]),
        (Operation::FullyConnected, &[QDINT8, QCINT4, FP32, FP32]),
        (Operation::FullyConnected, &[QDINT8, QCINT8, FP32, FP32]),
        (Operation::FullyConnected, &[QINT8, QCINT8, QCINT32, QINT8]),
        (Operation::FullyConnected, &[QUINT8, QUINT8, QINT32, QUINT8]),
        (Operation::FullyConnected, &[FP16, FP16, FP16, FP16]),
        (Operation::FullyConnected, &[BF16, BF16, FP32, FP32]),
        (Operation::Conv2d, &[FP32, FP32, FP32, FP32]),
        (Operation::Conv2d, &[QDINT8, QCINT8, FP32, FP32]),
        (Operation::Conv2d, &[QINT8, QCINT8, QCINT32, QINT8]),
        (Operation::DepthwiseConv2d, &[FP32, FP32, FP32, FP32]),
        (Operation::DepthwiseConv2d, &[QINT8, QCINT8, QCINT32, QINT8]),
        (Operation::ConvTranspose2d, &[FP32, FP32, FP32, FP32]),
        (Operation::ConvTranspose2d, &[QINT8, QCINT8, QCINT32, QINT8]),
        (Operation::ConvTranspose2d, &[QDINT8, QCINT8, FP32, FP32]),
        (Operation::AvgPooling2d, &[FP32, FP32]),
        (Operation::MaxPooling2d, &[FP32, FP32]),
        (Operation::MaxPooling2d, &[QINT8, QINT8]),
        (Operation::ArgMaxPooling2d, &[FP32, FP32, INT32]),
        (Operation::GlobalAvgPooling2d, &[FP32, FP32]),
        (Operation::StaticResizeBilinear2D, &[FP32, FP32]),
        (Operation::StaticResizeBilinear2D, &[QINT8, QINT8]),
        (Operation::StaticTranspose, &[FP32, FP32]),
        (Operation::StaticReshape, &[FP32, FP32]),
        (Operation::StaticSlice, &[FP32, FP32]),
        (Operation::StaticConstantPad, &[FP32, FP32]),
        (Operation::StaticConstantPad, &[QINT8, QINT8]),
        (Operation::BatchMatrixMultiply, &[FP32, FP32, FP32]),
        (Operation::Concatenate2, &[FP32, FP32, FP32]),
        (Operation::Concatenate3, &[QINT8, QINT8, QINT8, QINT8]),
        (Operation::Concatenate5, &[FP32, FP32, FP32, FP32, FP32, FP32]),
        (Operation::Softmax, &[FP32, FP32]),
        (Operation::Sigmoid, &[QINT8, QINT8]),
        (Operation::Clamp, &[FP16, FP16]),
        (Operation::LeakyReLU, &[FP32, FP32]),
        (Operation::ELU, &[FP32, FP32]),
        (Operation::PReLU, &[FP32, FP32, FP32]),
        (Operation::Multiply, &[FP32, FP32, FP32]),
        (Operation::Subtract, &[QINT8, QINT8, QINT8]),
        (Operation::Add, &[QUINT8, QUINT8, QUINT8]),
        (Operation::Convert, &[FP32, QINT8]),
        (Operation::Convert, &[QINT8, FP32]),
        (Operation::Convert, &[FP32, FP16]),
        (Operation::Copy, &[FP32, FP32]),
    ]
};

/// The run of mutants. A mutant that crashes with some inputs only counts: operations do not read indices.
const RUN: Run = Run { variables: "PTE_EMIT_XNNPACK", sample: SAMPLE, batch: BATCH, also_crashes_with: &[], open: &[] };

#[test]
#[ignore = "downloads the ExecuTorch runtime from a package index; run it with `cargo lab --test runtime xnnpack_mutants:: -- --ignored`"]
fn accepted_graphs_do_not_crash_the_runtime() {
    let bases = bases();
    assert!(bases.len() > 40, "{} programs", bases.len());
    RUN.test(&bases);
}

/// Types that operands are given.
const TYPES: &[i16] = {
    use xnnpack::*;
    &[FP32, FP16, QINT8, QUINT8, QINT32, QCINT8, QCINT32, QCINT4, QDINT8, QBINT4, INT32, BF16]
};

/// Types of the operands of operations with a filter.
const FILTERED: &[(&str, &[i16])] = {
    use xnnpack::*;
    &[
        ("input1_id", &[FP32, FP16, BF16, QINT8, QUINT8, QDINT8]),
        ("filter_id", &[FP32, FP16, BF16, QINT8, QUINT8, QCINT8, QCINT4, QBINT4]),
        ("bias_id", &[FP32, FP16, QINT32, QCINT32]),
        ("output_id", &[FP32, FP16, BF16, QINT8, QUINT8]),
    ]
};

/// Operations that the runtime executes on other types of outputs: it writes elements of the type of the input, also
/// beyond the end of the output, or of integers.
const OTHER_OUTPUTS: &[Operation] = &[
    Operation::StaticResizeBilinear2D,
    Operation::AvgPooling2d,
    Operation::GlobalAvgPooling2d,
    Operation::ArgMaxPooling2d,
];

/// Combinations of types of operands. If there are more than three without a filter, all have the same type.
fn combinations(operation: Operation) -> Vec<Vec<i16>> {
    let operands: Vec<_> = operation.operands().collect();
    let filtered = operands.iter().any(|operand| operand.name == "filter_id");
    if operands.len() > 3 && !filtered {
        return TYPES.iter().map(|code| vec![*code; operands.len()]).collect();
    }
    let mut all: Vec<Vec<i16>> = vec![Vec::new()];
    for operand in &operands {
        let choices =
            FILTERED.iter().find(|(name, _)| filtered && *name == operand.name).map_or(TYPES, |(_, types)| types);
        let extended = |types: Vec<i16>| choices.iter().map(move |code| [&*types, &[*code]].concat());
        all = all.into_iter().flat_map(extended).collect();
    }
    all
}

/// Returns `true` if the operands are arguments of these types: other values are constants, or XNNPACK removes the
/// operation that writes them.
fn are_arguments(types: &[i16]) -> bool {
    types.iter().all(|code| !xnnpack::DATATYPES[*code as usize].tensors.is_empty())
}

#[test]
#[ignore = "downloads the ExecuTorch runtime from a package index; run it with `cargo lab --test runtime xnnpack_mutants:: -- --ignored`"]
fn types_of_operands_are_those_that_the_runtime_has() {
    let driver = Driver::locate();
    let only = std::env::var("PTE_EMIT_OPERATOR").unwrap_or_default();
    // One in this many combinations of more than two operands.
    let sample = RUN.variable("ACCEPTED").map_or(60, |_| 1);
    let mut random = Random::new(RUN.variable("SEED").unwrap_or(1));
    let (mut failures, mut rejected, mut text) = (Vec::new(), String::new(), String::new());
    for operation in Operation::ALL.iter().filter(|operation| format!("{operation:?}").contains(&only)) {
        let has_bias = operation.operands().any(|operand| operand.name == "bias_id");
        let mut programs = Vec::new();
        for types in combinations(*operation) {
            // Combinations of equal types are always run.
            let equal = types.iter().all(|code| *code == types[0]);
            for bias in [true, false].into_iter().filter(|bias| *bias || has_bias) {
                if equal || types.len() < 3 || random.below(sample) == 0 {
                    let names: Vec<&str> = types.iter().map(|code| xnnpack::DATATYPES[*code as usize].name).collect();
                    let bytes = crate::support::xnnpack::program(*operation, &types, bias);
                    let judged = are_arguments(&types) || has_bias;
                    let judged = judged && !OTHER_OUTPUTS.contains(operation);
                    programs.push((format!("{operation:?} {names:?} bias {bias}"), bytes, judged));
                }
            }
        }
        let mut executed = 0;
        for chunk in programs.chunks(BATCH) {
            let files: Vec<&[u8]> = chunk.iter().map(|(_, bytes, _)| &**bytes).collect();
            for ((name, bytes, judged), answer) in chunk.iter().zip(driver.run(&files, &[], &[])) {
                let errors = structured::errors(bytes, &[]);
                executed += usize::from(answer.starts_with("ok"));
                match errors.is_empty() {
                    true if crashed(&answer) => failures.push(format!("accepted: {name}: {answer}")),
                    false if *judged && answer.starts_with("ok") => {
                        failures.push(format!("refused: {name}: {errors:?}"))
                    }
                    true if !answer.starts_with("ok") => writeln!(rejected, "{name}: {answer}").unwrap(),
                    _ => {}
                }
            }
        }
        let count = programs.len();
        writeln!(text, "{operation:?}: {count} combinations, {executed} executed").unwrap();
    }
    println!("{text}accepted, but rejected by the runtime:\n{rejected}");
    assert!(failures.is_empty(), "{}:\n{}", failures.len(), failures.join("\n"));
}
