//! `diff`: what it reports of changed programs, and what it does not. Every field of a program is changed once; an
//! oracle that does not align anything decides whether two programs mean the same.
//!
//! tests/suite/cli.rs compares exit statuses, docs/diff.md describes the output.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::path::PathBuf;
use std::process::Command;

use pte_emit::program::{
    EValue, ExecutionPlan, FieldReference, Memory, OperandAccess, Program, Tensor, TensorData, ValueId,
};
use pte_emit::{
    AssembleOptions, Model,
    diff::{DiffArea, DiffData, DiffKind, DiffOptions, DiffTopic, Differences},
    plan::{Alignment, LayoutOptions},
};
use pte_emit::{PrintOptions, operators::OperatorArgRole as Role};
use pte_generate::random::Random;
use pte_model::data::{Blob, Origin};
use pte_model::format::Kind;
use pte_model::format::program::PROGRAM;
use pte_model::reader;

use crate::support::folder::{Folder, RELU};
use crate::support::program;
use crate::support::tree::{Item, Tree, align, number};
use crate::support::tree_changes::{self, TablePath, paths, table};
use crate::support::{files_below, root, seed, sources};

/// Options with one area.
fn only(area: DiffArea) -> DiffOptions {
    DiffOptions::default().only(area)
}

fn compared(left: &[u8], right: &[u8]) -> Differences {
    let source = |bytes: &[u8]| Model::from_binary("file", bytes);
    source(left).diff(&source(right), &DiffOptions::default()).unwrap_or_else(|error| panic!("{error}"))
}

fn assembled(yaml: &str) -> Vec<u8> {
    let assembly = sources::assembly("diff.yaml", yaml, &root().join("examples"));
    assembly.program_file().unwrap().to_vec().unwrap()
}

/// Differences as sorted lines.
fn lines(found: &Differences) -> Vec<String> {
    let mut lines: Vec<String> = found.list.iter().map(|difference| format!("{difference:?}")).collect();
    lines.sort();
    lines
}

/// Paths and kinds of the differences of an area.
fn changes(found: &Differences, area: DiffArea) -> Vec<(DiffKind, DiffTopic, String)> {
    let of = found.of(area);
    of.map(|difference| (difference.kind, difference.topic, difference.path.clone())).collect()
}

/// Examples that are one document with methods.
fn examples() -> Vec<PathBuf> {
    let files = files_below(&root().join("examples"), &["yaml"]);
    let is_example = |path: &PathBuf| path.parent().is_some_and(|folder| folder.ends_with("examples"));
    files.into_iter().filter(is_example).filter(|path| sources::read(path).contains("methods:")).collect()
}

/// Programs written by ExecuTorch.
fn exported() -> Vec<Vec<u8>> {
    let files = files_below(&root().join("tests/golden/upstream"), &["pte"]);
    let read = |path: PathBuf| std::fs::read(path).unwrap();
    let small = |bytes: &Vec<u8>| bytes.len() < 1 << 16 && bytes.get(4..8) == Some(b"ET12");
    files.into_iter().map(read).filter(small).collect()
}

#[test]
fn a_program_is_equal_to_itself_and_to_its_dump() {
    for bytes in exported() {
        let Ok(_) = reader::program::read(&Origin::Bytes(bytes[..].into())) else { continue };
        let found = compared(&bytes, &bytes);
        assert!(found.is_empty(), "{:?}", found.list);
        let source = Model::from_binary("model.pte", &bytes);
        let options = PrintOptions::default().file("model.pte".to_owned()).large_data(pte_emit::LargeData::Inline);
        let printed = source.to_yaml(".".as_ref(), &options).unwrap();
        let yaml = Model::from_yaml("dump.yaml", printed.text, ".");
        let found = source.diff(&yaml, &DiffOptions::default()).unwrap_or_else(|error| panic!("{error}"));
        // A dump states the layout, but YAML has no file.
        assert!(found.is_empty(), "{:?}", found.list);
    }
}

#[test]
fn yaml_is_equal_to_what_it_assembles_to() {
    for path in examples() {
        let source = Model::from_yaml(path.display().to_string(), sources::read(&path), path.parent().unwrap());
        let assembly = source.assemble(&AssembleOptions::default()).unwrap();
        let bytes = assembly.program_file().unwrap().to_vec().unwrap();
        let found = source.diff(&Model::from_binary("file", &bytes), &DiffOptions::default()).unwrap();
        assert!(found.is_empty(), "{}: {:?}", path.display(), found.list);
    }
}

#[test]
fn layout_and_memory_planning_are_no_meaning() {
    for path in examples() {
        let text = sources::read(&path);
        let source = Model::from_yaml("example.yaml", text, path.parent().unwrap());
        let mut options = AssembleOptions::default().layout(LayoutOptions::default());
        options.layout.segment_alignment = Some(Alignment::Page);
        options.layout.tensor_alignment = Some(Alignment::Bytes(64));
        let left = source.assemble(&AssembleOptions::default()).unwrap().program_file().unwrap().to_vec().unwrap();
        let Ok(right) = source.assemble(&options) else { continue };
        let right = right.program_file().unwrap().to_vec().unwrap();
        let found = compared(&left, &right);
        let other: Vec<_> = found.list.iter().filter(|difference| difference.area != DiffArea::Layout).collect();
        assert!(other.is_empty(), "{}: {other:?}", path.display());
    }
}

/// Returns the index of an item after a list of `count` is reversed.
fn reversed(index: i32, count: i32) -> i32 {
    if (0..count).contains(&index) { count - 1 - index } else { index }
}

/// Reverses the values, operators and delegates of a method, and everything that refers to them.
fn renumbered(plan: &mut ExecutionPlan) {
    let count = plan.values().len() as i32;
    let value = |id: ValueId| ValueId(reversed(id.0, count));
    for list in [&mut plan.inputs, &mut plan.outputs].into_iter().flatten() {
        list.iter_mut().for_each(|index| *index = value(*index));
    }
    for content in plan.values.iter_mut().flatten() {
        match content {
            EValue::IntList(Some(items)) => {
                items.iter_mut().for_each(|item| *item = value(ValueId(*item as i32)).into());
            }
            EValue::TensorList(Some(items)) | EValue::OptionalTensorList(Some(items)) => {
                items.iter_mut().for_each(|item| *item = value(*item));
            }
            _ => {}
        }
    }
    if let Some(values) = &mut plan.values {
        values.reverse();
    }
    let operators = plan.operators.as_ref().map_or(0, Vec::len) as i32;
    let delegates = plan.delegates().len() as i32;
    if let Some(operators) = &mut plan.operators {
        operators.reverse();
    }
    if let Some(delegates) = &mut plan.delegates {
        delegates.reverse();
    }
    use pte_emit::program::Instruction::*;
    for instruction in plan.chains.iter_mut().flatten().flat_map(|chain| chain.instructions.iter_mut().flatten()) {
        match instruction {
            KernelCall { op_index, args } => {
                op_index.0 = reversed(op_index.0, operators);
                args.iter_mut().flat_map(|args| args.iter_mut()).for_each(|arg| *arg = value(*arg));
            }
            DelegateCall { delegate_index, args } => {
                delegate_index.0 = reversed(delegate_index.0, delegates);
                args.iter_mut().flat_map(|args| args.iter_mut()).for_each(|arg| *arg = value(*arg));
            }
            MoveCall { move_from, move_to } => (*move_from, *move_to) = (value(*move_from), value(*move_to)),
            JumpFalseCall { cond_value_index, .. } => *cond_value_index = value(*cond_value_index),
            FreeCall { value_index } => *value_index = value(*value_index),
            Unknown { .. } => {}
        }
    }
}

/// Programs with explicit memory, of the examples and of ExecuTorch.
fn programs() -> Vec<Program> {
    let examples =
        examples().into_iter().map(|path| sources::assembled(&path).program_file().unwrap().to_vec().unwrap());
    let files = examples.chain(exported());
    files.filter_map(|bytes| Some(reader::program::read(&Origin::Bytes(bytes.into())).ok()?.program)).collect()
}

/// Returns true if all indices of values are those of values.
fn is_valid(program: &Program) -> bool {
    program.plans().iter().all(|plan| {
        let is_value = |id: &ValueId| plan.value(*id).is_some();
        let mut instructions = plan.chains.iter().flatten().flat_map(|chain| chain.instructions.iter().flatten());
        instructions.all(|instruction| {
            instruction.args().iter().all(is_value) && instruction.operands().all(|(_, value, _)| is_value(&value))
        })
    })
}

#[test]
fn renumbering_and_pruning_are_no_meaning() {
    let mut pruned_values = 0;
    for program in programs().into_iter().filter(is_valid) {
        let options = pte_emit::plan::LayoutConfig::default();
        let left = program::write(&program, &options);
        let mut other = program.clone();
        other.execution_plan.iter_mut().flatten().for_each(renumbered);
        let found = compared(&left, &program::write(&other, &options));
        assert!(found.of(DiffArea::Meaning).next().is_none(), "{:?}", found.list);
        assert!(found.of(DiffArea::Data).next().is_none(), "{:?}", found.list);
        let mut pruned = program.clone();
        let removed = pte_transform::prune::prune(&mut pruned);
        pruned_values += removed.iter().map(|method| method.values.removed()).sum::<usize>();
        let found = compared(&left, &program::write(&pruned, &options));
        assert!(found.of(DiffArea::Meaning).next().is_none(), "{:?}", found.list);
    }
    assert!(pruned_values > 0);
}

/// A file whose program can be changed.
struct Base {
    program: Tree,
    header: Vec<u8>,
    segments: Vec<u8>,
    bytes: Vec<u8>,
}

/// Size of the start of a FlatBuffer: root offset and identifier, in bytes.
const START: usize = 8;

impl Base {
    fn of(bytes: Vec<u8>) -> Base {
        let program = Tree::read(&bytes, &PROGRAM);
        let has_header = bytes.get(START..START + 4) == Some(b"eh00");
        let header = match has_header {
            true => bytes[START..START + (number(&bytes, START + 4, 4) as usize).next_multiple_of(8)].to_vec(),
            false => Vec::new(),
        };
        let base = if has_header { number(&bytes, 24, 8) as usize } else { 0 };
        let segments = if base == 0 { Vec::new() } else { bytes[base..].to_vec() };
        let mut base = Base { program, header, segments, bytes };
        // The tree is written in another way than the file.
        base.bytes = base.with(&base.program);
        base
    }

    /// Returns the file with another program.
    fn with(&self, program: &Tree) -> Vec<u8> {
        let mut bytes = program.write("ET12", self.header.len());
        if self.header.is_empty() {
            return bytes;
        }
        bytes[START..START + self.header.len()].copy_from_slice(&self.header);
        let size = bytes.len() as u64;
        bytes[16..24].copy_from_slice(&size.to_le_bytes());
        if !self.segments.is_empty() {
            align(&mut bytes, 4096);
            let base = bytes.len() as u64;
            bytes[24..32].copy_from_slice(&base.to_le_bytes());
            bytes.extend(&self.segments);
        }
        bytes
    }
}

/// Tables whose fields do not affect the meaning, whatever they contain.
const LAYOUT: &[&str] = &["AllocationDetails", "Frame", "FrameList"];

/// Tables of places of data; other places have other data, among them payloads of delegates.
const PLACES: &[&str] = &["DataSegment", "SubsegmentOffsets"];

/// Fields of other tables that do not affect the meaning.
const LAYOUT_FIELDS: &[&str] = &[
    "Program.version",
    "Program.segments",
    "Program.constant_segment",
    "Program.mutable_data_segments",
    "Program.backend_delegate_data",
    "Program.named_data",
    "ExecutionPlan.non_const_buffer_sizes",
    "ExecutionPlan.non_const_buffer_device",
    "NonConstBufferDevice.buffer_idx",
    "NonConstBufferDevice.device_type",
    "NonConstBufferDevice.device_index",
    "ExtraTensorInfo.mutable_data_segments_idx",
    "Tensor.allocation_info",
    "Tensor.extra_tensor_info",
    "Chain.inputs",
    "Chain.outputs",
    "Chain.stacktrace",
];

/// Fields that lead to data.
const DATA_FIELDS: &[&str] =
    &["Tensor.data_buffer_idx", "NamedData.key", "NamedData.segment_index", "Program.named_data"];

/// Changes a field to other content; `None` if there is none that is sure to be read differently.
fn change(tree: &mut Tree, slot: usize) -> Option<()> {
    let kind = tree.schema.fields[slot].kind;
    let item = &mut tree.fields[slot];
    match item {
        Item::Bits(bits) => {
            *bits = match kind {
                Kind::Bool => *bits ^ 1,
                Kind::Double => 1.5f64.to_bits() ^ u64::from(*bits == 1.5f64.to_bits()),
                _ => *bits ^ 1,
            };
        }
        Item::Ints(items) => match items.first_mut() {
            Some(first) => *first ^= 1,
            None => items.push(0),
        },
        Item::Longs(items) => match items.first_mut() {
            Some(first) => *first ^= 1,
            None => items.push(0),
        },
        Item::Bytes(items) => match items.first_mut() {
            Some(first) => *first ^= 1,
            None => items.push(1),
        },
        Item::Text(text) => text.push(b'x'),
        Item::Tables(items) => {
            items.pop()?;
        }
        Item::Table(_) => *item = Item::Absent,
        Item::Absent => match kind {
            Kind::Text => *item = Item::Text(b"x".to_vec()),
            Kind::Ints => *item = Item::Ints(Vec::new()),
            Kind::Bool | Kind::Byte | Kind::Enum(_) | Kind::Int | Kind::UInt | Kind::Long | Kind::ULong => {
                *item = Item::Bits(1);
            }
            _ => return None,
        },
    }
    Some(())
}

/// Every field of every table is changed, one at a time. A file that can still be read differs, in an area of the
/// field.
#[test]
fn every_single_change_is_reported_in_its_area() {
    let names = [
        "linear.yaml",
        "mutable_buffer.yaml",
        "if_else.yaml",
        "lists.yaml",
        "named_data_delegate.yaml",
        "literals.yaml",
        "loop_result.yaml",
    ];
    let (mut reported, mut unreadable, mut failed) = (0, 0, Vec::new());
    let mut seen: BTreeSet<String> = BTreeSet::new();
    for name in names {
        let base = Base::of(sources::example(name, "pte"));
        let tables: Vec<TablePath> = paths(&base.program, &|_| true);
        for path in tables {
            let count = table(&mut base.program.clone(), &path).fields.len();
            for slot in 0..count {
                let mut program = base.program.clone();
                let tree = table(&mut program, &path);
                let field = format!("{}.{}", tree.schema.name, tree.schema.fields[slot].name);
                if change(tree, slot).is_none() || program.write("ET12", 0) == base.program.write("ET12", 0) {
                    continue;
                }
                let bytes = base.with(&program);
                let source = Model::from_binary("changed", &bytes);
                let Ok(found) = Model::from_binary("base", &base.bytes).diff(&source, &DiffOptions::default()) else {
                    unreadable += 1;
                    continue;
                };
                reported += 1;
                seen.insert(field.clone());
                if found.is_empty() {
                    failed.push(format!("{name}: {field} at {path:?} is not reported"));
                }
                let is_data = DATA_FIELDS.contains(&&*field);
                let table_name = field.split('.').next().unwrap();
                let is_layout = LAYOUT.contains(&table_name) || LAYOUT_FIELDS.contains(&&*field);
                let areas: BTreeSet<DiffArea> = found.list.iter().map(|difference| difference.area).collect();
                let texts = lines(&found);
                // Offsets of data lead to other data; a table of None is not needed.
                let is_expected = match (is_layout, is_data) {
                    _ if field == "EValue.val" || PLACES.contains(&table_name) => true,
                    (true, _) => {
                        // Other places in memory may change what reads find there.
                        let may_move = ["Tensor", "AllocationDetails"].contains(&table_name);
                        !areas.contains(&DiffArea::Meaning) || may_move || field.starts_with("Program.")
                    }
                    (false, true) => areas.contains(&DiffArea::Data) || areas.contains(&DiffArea::Meaning),
                    (false, false) => areas.contains(&DiffArea::Meaning) || is_unused(&found),
                };
                if !is_expected {
                    failed.push(format!("{name}: {field} at {path:?}: {texts:#?}"));
                }
                let mirrored = compared(&bytes, &base.bytes);
                assert_eq!(lines(&mirrored.mirrored()), texts, "{name}: {field}");
            }
        }
    }
    assert!(failed.is_empty(), "{}", failed.join("\n"));
    assert!(reported > 500, "{reported} reported, {unreadable} unreadable");
    for field in [
        "Int.int_val",
        "Tensor.scalar_type",
        "KernelCall.op_index",
        "MoveCall.move_from",
        "Operator.name",
        "AllocationDetails.memory_offset_low",
    ] {
        assert!(seen.contains(field), "{field}: {seen:?}");
    }
}

/// Returns true if differences are about parts that nothing uses.
fn is_unused(found: &Differences) -> bool {
    let unused = |difference: &pte_emit::diff::Difference| {
        let parts = difference.left.iter().chain(&difference.right);
        parts.into_iter().any(|part| part.value.contains("unused") || part.value.contains("never called"))
    };
    found.list.iter().any(unused)
}

#[test]
fn constants_that_are_not_compared_are_differences_in_the_data() {
    let yaml = |constant: &str| {
        format!("methods: {{f: {{values: {{w: {{tensor: {constant}}}}}, outputs: [w], instructions: []}}}}")
    };
    let [base, sizes, dtype] =
        ["float32, data: [1, 2]", "float32, data: [1, 2, 3]", "int32, data: [1, 2]"].map(|text| assembled(&yaml(text)));
    for (other, value) in [(sizes, "float32 [3]"), (dtype, "int32 [2]")] {
        let [left, right] = [&base, &other].map(|bytes| Model::from_binary("file", bytes));
        let found = left.diff(&right, &only(DiffArea::Data)).unwrap();
        let [difference] = &found.list[..] else { panic!("{:?}", found.list) };
        let expected = format!("{value}, not compared");
        assert_eq!(difference.right.as_ref().map(|part| &*part.value), Some(&*expected));
        assert_eq!(difference.left.as_ref().and_then(|part| part.name.as_deref()), Some("constant"));
    }
}

/// Text names values like `dump`. Tensors that moved within a pool are one line, unless each is requested.
#[test]
fn moved_tensors_are_one_line() {
    let yaml = |fill: u32, planner: &str| {
        format!(
            "
methods:
  forward:
    memory: {{planner: {planner}}}
    values:
      x: {{tensor: float32, sizes: [2, 2]}}
      w: {{tensor: float32, sizes: [2, 2], data: {{fill: {fill}}}, name: l.w}}
    inputs: [x]
    outputs: [y]
    instructions:
      - {{kernel: aten::mm.out, args: [x, w], out: a}}
      - {{kernel: aten::relu.out, args: [a], out: b}}
      - {{kernel: aten::neg.out, args: [b], out: c}}
      - {{kernel: aten::neg.out, args: [c], out: y}}
"
        )
    };
    let folder = Folder::new(&[("a.yaml", &yaml(2, "greedy")), ("b.yaml", &yaml(3, "naive"))]);
    for name in ["a", "b"] {
        folder.run(&[&format!("{name}.yaml"), "-q", "-o", &format!("{name}.pte")]).exits(0);
    }
    let text = |options: &[&str]| {
        let done = folder.run(&[&["diff", "a.pte", "b.pte"], options].concat()).exits(1);
        String::from_utf8(done.stdout).unwrap()
    };
    let short = text(&[]);
    assert!(short.contains("> methods.forward: 3 tensors at another offset in pool 1 (`--only layout`"), "{short}");
    assert!(short.contains("methods.forward.l.w (values[1]): `l.w` float32 [2, 2]"), "{short}");
    assert!(text(&["--format", "markdown"]).contains("3 tensors at another offset"));
    for options in [&["--limit", "0"][..], &["--only", "layout"]] {
        let all = text(options);
        assert_eq!(all.matches(" at pool 1, offset ").count(), 6, "{all}");
    }
}

/// What a value is, as an argument: its content, or its number in the order of first use.
struct Oracle<'p> {
    plan: &'p ExecutionPlan,
    written: HashSet<ValueId>,
    numbers: BTreeMap<ValueId, usize>,
    text: Vec<String>,
}

impl<'p> Oracle<'p> {
    /// Describes the meaning of a method: two descriptions are equal if and only if the methods mean the same.
    fn describe(program: &Program, plan: &'p ExecutionPlan) -> Vec<String> {
        let mut oracle =
            Oracle { plan, written: HashSet::new(), numbers: BTreeMap::new(), text: vec![format!("{:?}", plan.name)] };
        oracle.find_written();
        oracle.find_contents();
        for (name, list) in [("inputs", &plan.inputs), ("outputs", &plan.outputs)] {
            let shown = list.as_ref().map(|list| list.iter().map(|value| oracle.value(*value, 0)).collect::<Vec<_>>());
            oracle.text.push(format!("{name} {shown:?}"));
        }
        oracle.text.push(format!("{:?}", plan.container_meta_type));
        for list in [plan.values.is_some(), plan.operators.is_some(), plan.delegates.is_some(), plan.chains.is_some()] {
            oracle.text.push(list.to_string());
        }
        for chain in plan.chains.iter().flatten() {
            oracle.text.push(format!("chain {}", chain.instructions.is_some()));
            let instructions = chain.instructions.as_deref().unwrap_or_default();
            for instruction in instructions {
                let mut line = format!("{:?}", std::mem::discriminant(instruction));
                for field in instruction.fields() {
                    line += &match field.reference {
                        FieldReference::Operator(index) => match plan.operator(index) {
                            Some(operator) => format!(" {operator:?}"),
                            None => format!(" {index}"),
                        },
                        FieldReference::Delegate(index) => match plan.delegate(index) {
                            Some(delegate) => {
                                let payload = program.blob(delegate.processed).to_vec().unwrap();
                                format!(" {:?} {:?} {payload:?}", delegate.id, delegate.compile_specs)
                            }
                            None => format!(" {index}"),
                        },
                        FieldReference::Operand(value, _) => oracle.value(value, 0),
                        // Beyond the end, the number is what matters.
                        FieldReference::Destination(to) => format!(" to {to}"),
                        FieldReference::Args(args) => {
                            let shown: Option<Vec<String>> =
                                args.map(|args| args.iter().map(|value| oracle.value(*value, 0)).collect());
                            format!(" {shown:?}")
                        }
                    };
                }
                oracle.text.push(line);
            }
        }
        oracle.text
    }

    fn find_written(&mut self) {
        self.written.extend(self.plan.inputs.iter().flatten());
        for instruction in self.plan.chains.iter().flatten().flat_map(|chain| chain.instructions.iter().flatten()) {
            for (_, value, access) in instruction.operands() {
                if access == OperandAccess::Write {
                    self.written.insert(value);
                }
            }
            let operator = instruction.operator().and_then(|id| self.plan.operator(id));
            let signature = operator.and_then(|operator| Some(&pte_operators::find(&full_name(operator)?)?.signature));
            for (position, value) in instruction.args().iter().enumerate() {
                let role =
                    signature.as_ref().map(|signature| signature.args.get(position).map_or(Role::Out, |arg| arg.role));
                let content = self.plan.value(*value);
                let may_be_written = match (role, content) {
                    (Some(role), _) => role != Role::In,
                    (None, Some(EValue::Int(_) | EValue::Bool(_) | EValue::Double(_))) => true,
                    (None, _) => false,
                };
                if may_be_written {
                    self.written.insert(*value);
                    self.written.extend(items(content));
                }
            }
        }
    }

    /// Follows every byte of planned memory: what wrote it last, and which byte of that it is. Each read finds such
    /// bytes.
    fn find_contents(&mut self) {
        let plan = self.plan;
        let bytes = |index: ValueId| -> Vec<(u32, u64)> {
            let value = plan.value(index);
            let Some(EValue::Tensor(tensor)) = value else { return Vec::new() };
            // The caller provides memory for inputs and outputs.
            let ends = plan.inputs.iter().chain(&plan.outputs).flatten();
            let is_of_caller = ends.flat_map(|end| items(plan.value(*end)).chain([*end])).any(|end| end == index);
            let (pool, offset) = match tensor.memory {
                Memory::At { pool, offset } => (pool, offset),
                Memory::None if is_of_caller && tensor.data == TensorData::None => (u32::MAX, (index.0 as u64) << 20),
                _ => return Vec::new(),
            };
            let is_moved =
                plan.chains.iter().flatten().flat_map(|chain| chain.instructions.iter().flatten()).any(|instruction| {
                    instruction.operands().any(|(_, to, access)| to == index && access == OperandAccess::Write)
                });
            let count = tensor.nbytes().filter(|bytes| !is_moved && *bytes < 1 << 12).unwrap_or(0);
            (0..count).filter_map(|byte| Some((pool, offset.checked_add(byte)?))).collect()
        };
        let mut memory: BTreeMap<(u32, u64), (String, usize)> = BTreeMap::new();
        let mut found: Vec<String> = Vec::new();
        let write = |memory: &mut BTreeMap<(u32, u64), (String, usize)>, index: ValueId, writer: String| {
            for (number, byte) in bytes(index).into_iter().enumerate() {
                memory.insert(byte, (writer.clone(), number));
            }
        };
        let read = |memory: &BTreeMap<(u32, u64), (String, usize)>, index: ValueId, place: String| {
            let content: Vec<Option<&(String, usize)>> = bytes(index).iter().map(|byte| memory.get(byte)).collect();
            format!("{place} finds {content:?}")
        };
        let is_state = |index: ValueId| match plan.value(index) {
            Some(EValue::Tensor(tensor)) => {
                let name = tensor.extra_tensor_info.as_ref().and_then(|extra| extra.fully_qualified_name.as_ref());
                let is_input = plan.inputs.iter().flatten().any(|input| *input == index);
                (tensor.data != TensorData::None || name.is_some()) && tensor.memory != Memory::None && !is_input
            }
            _ => false,
        };
        let states: Vec<ValueId> = (0..plan.values().len()).map(ValueId::of).filter(|index| is_state(*index)).collect();
        // By the order of first use, as all values.
        let number = |index: ValueId| format!("value {index}");
        states.iter().for_each(|state| write(&mut memory, *state, number(*state)));
        plan.inputs.iter().flatten().for_each(|input| write(&mut memory, *input, number(*input)));
        let mut written: HashSet<ValueId> =
            plan.inputs.iter().flatten().copied().chain(states.iter().copied()).collect();
        for chain in plan.chains.iter().flatten() {
            let instructions = chain.instructions.as_deref().unwrap_or_default();
            let targets: HashSet<i32> =
                instructions.iter().filter_map(|instruction| instruction.destination()).collect();
            let mut follows_jump = false;
            for (step, instruction) in (0i32..).zip(instructions) {
                if follows_jump || targets.contains(&step) {
                    memory.clear();
                }
                follows_jump = instruction.destination().is_some();
                let operator = instruction.operator().and_then(|id| plan.operator(id));
                let signature =
                    operator.and_then(|operator| Some(&pte_operators::find(&full_name(operator)?)?.signature));
                let mut outs: Vec<ValueId> = Vec::new();
                for (_, value, access) in instruction.operands() {
                    if access == OperandAccess::Read {
                        found.push(read(&memory, value, format!("{step}")));
                    }
                }
                for (position, value) in instruction.args().iter().enumerate() {
                    let items = items(plan.value(*value));
                    let all: Vec<ValueId> = std::iter::once(*value).chain(items).collect();
                    let role =
                        signature.as_ref().map(|found| found.args.get(position).map_or(Role::Out, |arg| arg.role));
                    for value in all {
                        let is_out = match role {
                            Some(role) => role == Role::Out,
                            None => !written.contains(&value),
                        };
                        if !is_out && !outs.contains(&value) {
                            found.push(read(&memory, value, format!("{step}.{position}")));
                        }
                        if (is_out || role == Some(Role::InPlace)) && !outs.contains(&value) {
                            outs.push(value);
                        }
                    }
                }
                for (result, value) in outs.into_iter().enumerate() {
                    write(&mut memory, value, format!("{step}, {result}"));
                    written.insert(value);
                }
            }
            if follows_jump || targets.contains(&(instructions.len() as i32)) {
                memory.clear();
            }
        }
        for value in plan.outputs.iter().flatten().chain(&states) {
            found.push(read(&memory, *value, "end".to_owned()));
        }
        self.text.extend(found);
    }

    fn value(&mut self, index: ValueId, depth: usize) -> String {
        let Some(value) = self.plan.value(index) else {
            return format!(" no value {index}");
        };
        let is_constant = |tensor: &Tensor| tensor.data != TensorData::None && tensor.memory == Memory::None;
        let is_written = self.written.contains(&index);
        let content = match value {
            EValue::Tensor(tensor) => meta(tensor),
            EValue::IntList(_) | EValue::TensorList(_) | EValue::OptionalTensorList(_) if depth == 0 => {
                let items: Vec<String> = items(Some(value)).map(|item| self.value(item, 1)).collect();
                format!("{} {items:?}", value.kind())
            }
            other => format!("{other:?}"),
        };
        let by_content = match value {
            EValue::Tensor(tensor) => is_constant(tensor) && !is_written,
            EValue::Int(_) | EValue::Bool(_) | EValue::Double(_) => !is_written,
            _ => true,
        };
        if by_content {
            return format!(" {content}");
        }
        let next = self.numbers.len();
        format!(" #{} {content}", self.numbers.entry(index).or_insert(next))
    }
}

/// Name of an operator with its overload.
fn full_name(operator: &pte_emit::program::Operator) -> Option<String> {
    let overload = operator.overload.as_deref().filter(|overload| !overload.is_empty());
    Some(operator.name.clone()? + &overload.map_or(String::new(), |overload| format!(".{overload}")))
}

/// Values that a list refers to.
fn items(value: Option<&EValue>) -> impl Iterator<Item = ValueId> {
    let items: Vec<ValueId> = match value {
        Some(EValue::IntList(Some(items))) => items.iter().map(|item| ValueId(*item as i32)).collect(),
        Some(EValue::TensorList(Some(items)) | EValue::OptionalTensorList(Some(items))) => items.clone(),
        _ => Vec::new(),
    };
    items.into_iter()
}

/// Properties of a tensor that are meaning.
fn meta(tensor: &Tensor) -> String {
    let extra = tensor.extra_tensor_info.as_ref();
    let kind = match (&tensor.data, tensor.memory == Memory::None) {
        (TensorData::None, _) => "no data",
        (_, true) => "constant",
        (_, false) => "state",
    };
    format!(
        "{} {:?} {:?} {} {} {} {} {kind} {:?} {:?} {:?}",
        tensor.scalar_type,
        tensor.sizes.as_deref(),
        tensor.dim_order.as_deref(),
        tensor.storage_offset,
        tensor.requires_grad,
        tensor.layout,
        tensor.shape_dynamism,
        extra.and_then(|extra| extra.fully_qualified_name.as_deref()),
        extra.map_or(0, |extra| extra.location.0),
        tensor.device(),
    )
}

/// Describes the meaning of a file, method by method, in the order of names.
fn meaning(bytes: &[u8]) -> Option<(bool, Vec<Vec<String>>)> {
    let program = reader::program::read(&Origin::Bytes(bytes.into())).ok()?.program;
    let mut methods: Vec<Vec<String>> = program.plans().iter().map(|plan| Oracle::describe(&program, plan)).collect();
    methods.sort();
    Some((program.execution_plan.is_some(), methods))
}

/// Random changes of programs: no difference in the area of the meaning is reported if and only if the oracle finds
/// none.
#[test]
fn programs_without_differences_in_meaning_mean_the_same() {
    let names =
        ["linear.yaml", "mutable_buffer.yaml", "if_else.yaml", "lists.yaml", "loop.yaml", "topk.yaml", "kv_cache.yaml"];
    let bases: Vec<Base> = names.iter().map(|name| Base::of(sources::example(name, "pte"))).collect();
    let mut random = Random::new(seed("PTE_EMIT_DIFF_SEED", 17));
    const NAMES: tree_changes::FieldNames = tree_changes::FieldNames { floats: &[], are_alike: |_, _| false };
    let (mut equal, mut different) = (0, 0);
    for _ in 0..1500 {
        let base = &bases[random.below(bases.len())];
        let mut program = base.program.clone();
        let steps: Vec<String> = (0..random.pick(&[1, 1, 2]))
            .map(|_| tree_changes::change_field(&mut program, &NAMES, &|_| true, &mut random))
            .collect();
        let bytes = base.with(&program);
        let (Some(left), Some(right)) = (meaning(&base.bytes), meaning(&bytes)) else { continue };
        let found = compared(&base.bytes, &bytes);
        let reported = found.of(DiffArea::Meaning).count();
        let is_equal = left == right;
        match is_equal {
            true => equal += 1,
            false => different += 1,
        }
        // Instructions without effect do not affect the meaning.
        let is_without_effect = found.of(DiffArea::Layout).any(|difference| difference.topic == DiffTopic::Instruction);
        assert!(is_equal || reported > 0 || is_without_effect, "{steps:?}: nothing is reported\n{left:#?}\n{right:#?}");
        if is_equal {
            let texts: Vec<_> = found.of(DiffArea::Meaning).collect();
            assert_eq!(reported, 0, "{steps:?}: {texts:#?}");
        }
        let mirrored = compared(&bytes, &base.bytes).mirrored();
        assert_eq!(lines(&found), lines(&mirrored), "{steps:?}");
    }
    assert!(equal > 100 && different > 100, "{equal} equal, {different} different");
}

/// Returns a position of a list with items.
fn position<T>(items: &[T], random: &mut Random) -> Option<usize> {
    (!items.is_empty()).then(|| random.below(items.len()))
}

/// Changes the structure of a program at random: order, number and content of its lists.
fn restructure(program: &mut Program, random: &mut Random) -> Option<&'static str> {
    let blobs = program.blobs.len();
    let plans = program.execution_plan.as_mut()?;
    let method = position(plans, random)?;
    if random.chance(15) {
        plans.reverse();
        return Some("methods in reverse");
    }
    let plan = &mut plans[method];
    let value = ValueId::of(position(plan.values(), random)?);
    let ends = if random.chance(50) { &mut plan.inputs } else { &mut plan.outputs }.get_or_insert_default();
    match random.below(9) {
        0 => ends.insert(random.below(ends.len() + 1), value),
        1 => _ = ends.remove(position(ends, random)?),
        2 => ends.reverse(),
        3 => {
            let at = position(ends, random)?;
            ends[at] = value;
        }
        4 => {
            renumbered(plan);
            return Some("renumbered");
        }
        kind => {
            let chain = plan.chains.as_mut()?.first_mut()?;
            let instructions = chain.instructions.as_mut()?;
            chain.stacktrace = None;
            let at = position(instructions, random)?;
            match kind {
                5 => _ = instructions.remove(at),
                6 => instructions.insert(random.below(instructions.len() + 1), instructions[at].clone()),
                7 => instructions.swap(at, 0),
                _ => {
                    let values = plan.values.as_mut()?;
                    let tensor = match value.item_mut(values) {
                        Some(EValue::Tensor(tensor)) => tensor,
                        _ => return None,
                    };
                    let TensorData::Blob(_) = tensor.data else { return None };
                    tensor.data = TensorData::Blob(pte_model::data::BlobId(random.below(blobs) as u32));
                }
            }
        }
    }
    Some("changed")
}

/// Differences do not depend on which side is the left one: areas, kinds, paths and texts of both directions are
/// compared, for programs that are changed at random on one side or on both.
#[test]
fn differences_are_symmetric() {
    let bases: Vec<Program> = programs().into_iter().filter(is_valid).collect();
    let options = pte_emit::plan::LayoutConfig::default();
    let mut random = Random::new(seed("PTE_EMIT_DIFF_SEED", 20_617));
    let (mut compared_pairs, mut found_differences) = (0, 0);
    for _ in 0..1000 {
        let base = &bases[random.below(bases.len())];
        let mut sides = [base.clone(), base.clone()];
        for _ in 0..1 + random.below(4) {
            let side = random.below(2);
            restructure(&mut sides[side], &mut random);
        }
        let is_writable = |program: &Program| {
            let fits = |(_, tensor): (usize, &Tensor)| match tensor.data {
                TensorData::Blob(blob) => tensor.nbytes().is_some_and(|bytes| bytes == program.blob(blob).len()),
                TensorData::None | TensorData::Elsewhere(_) => true,
            };
            program.plans().iter().all(|plan| plan.tensors().all(fits))
                && pte_emit::Resolved::from(program.clone()).plan(&pte_emit::AssembleOptions::default()).is_ok()
        };
        if !sides.iter().all(is_writable) {
            continue;
        }
        let [left, right] = sides.map(|program| program::write(&program, &options));
        let (found, mirrored) = (compared(&left, &right), compared(&right, &left).mirrored());
        assert_eq!((&found.left, &found.right), (&mirrored.left, &mirrored.right));
        pretty_assertions::assert_eq!(lines(&found), lines(&mirrored));
        compared_pairs += 1;
        found_differences += usize::from(!found.is_empty());
    }
    assert!(compared_pairs > 500 && found_differences > 300, "{compared_pairs} pairs, {found_differences} differ");
}

/// An output whose value is matched with one that is not an output on the other side is treated the same in both
/// directions.
#[test]
fn outputs_of_other_numbers_are_symmetric() {
    let more = format!("{CHAIN}      - {{kernel: aten::neg.out, args: [x], out: n}}\n");
    let programs = [
        (CHAIN, "[c]"),
        (CHAIN, "[a, c]"),
        (CHAIN, "[a, x]"),
        (CHAIN, "[b, b, c]"),
        (CHAIN, "[c, b, a, c]"),
        (&more, "[n]"),
        (&more, "[n, a, c]"),
        (&more, "[n, n]"),
    ];
    let files = programs.map(|(instructions, output)| {
        assembled(&model("", instructions, "c").replace("outputs: [c]", &format!("outputs: {output}")))
    });
    for (left, left_file) in files.iter().enumerate() {
        for (right, right_file) in files.iter().enumerate() {
            let found = compared(left_file, right_file);
            let mirrored = compared(right_file, left_file).mirrored();
            pretty_assertions::assert_eq!(
                lines(&found),
                lines(&mirrored),
                "{:?} {:?}",
                programs[left],
                programs[right]
            );
            assert_eq!(found.of(DiffArea::Meaning).count() == 0, left == right, "{left} {right}");
        }
    }
}

/// A reference to data that are not in the file is a difference with its place; what it leads to on both sides is none.
#[test]
fn references_that_lead_nowhere_are_differences() {
    let yaml = "methods:
  forward:
    values:
      x: {tensor: float32, sizes: [2]}
      w: {tensor: float32, data: [1, 2]}
      s: {tensor: float32, sizes: [2], mutable: true, data: [3, 4]}
    inputs: [x]
    outputs: [y, s]
    delegates: {d: {backend: B, data: {text: payload}}}
    instructions:
      - {kernel: aten::add.out, args: [x, w], out: y}
      - {kernel: aten::add.out, args: [s, x], out: s}
      - {delegate: d, args: [y]}
named_data: {n: {hex: '00'}}
";
    let cases = [
        (
            "methods.forward.values.w.data_buffer_idx: 99",
            DiffArea::Data,
            "methods.forward.values",
            "data 99 are out of range",
        ),
        ("methods.forward.values.w.sizes[0]: 1000", DiffArea::Data, "methods.forward.values", "exceed its data"),
        (
            "methods.forward.values.s.data_buffer_idx: 7",
            DiffArea::Data,
            "methods.forward.values",
            "data 7 are out of range",
        ),
        (
            "methods.forward.delegates[0].processed.index: 5",
            DiffArea::Meaning,
            "methods.forward.delegates[0]",
            "payload 5",
        ),
        ("named_data[0].segment_index: 9", DiffArea::Data, "named_data[0]", "segment 9 is out of range"),
        ("constant_segment.segment_index: 9", DiffArea::Layout, "constant_segment", "segment 9 of constants"),
    ];
    let left = assembled(yaml);
    for (set, area, path, text) in cases {
        let (field, value) = set.split_once(": ").unwrap();
        let right = assembled(&format!("{yaml}raw: {{set: {{\"{field}\": {value}}}}}\n"));
        let found = compared(&left, &right);
        let is_it = |difference: &pte_emit::diff::Difference| {
            difference.area == area
                && difference.path.starts_with(path)
                && difference.right.as_ref().is_some_and(|part| part.value.contains(text))
        };
        assert!(found.list.iter().any(is_it), "{set}: {:#?}", found.list);
        assert_eq!(lines(&found), lines(&compared(&right, &left).mirrored()), "{set}");
        assert!(compared(&right, &right).is_empty(), "{set}");
    }
}

/// Weights in a `.ptd` are compared where the programs use them, if the files are given; then they may move between
/// both.
#[test]
fn external_data_are_compared_with_the_files() {
    let yaml = sources::read(&root().join("examples/linear.yaml"));
    let folder = Folder::new(&[("a.yaml", &yaml), ("b.yaml", &yaml.replace("0.18261409", "0.19"))]);
    for name in ["a", "b"] {
        folder.run(&[&format!("{name}.yaml"), "-q", "-o", &format!("{name}.pte"), "--external-data"]).exits(0);
    }
    folder.run(&["b.yaml", "-q", "-o", "whole.pte"]).exits(0);
    let text = |arguments: &[&str], code: i32| {
        String::from_utf8(folder.run(&[&["diff"], arguments].concat()).exits(code).stdout).unwrap()
    };
    // Only the keys are compared.
    text(&["a.pte", "b.pte"], 0);
    let found = text(&["a.pte", "b.pte", "--with-a", "a.ptd", "--with-b", "b.ptd"], 1);
    assert!(
        found.contains("1 of 3 elements differs") && found.contains("used by methods.forward.instructions[1]"),
        "{found}"
    );
    text(&["a.pte", "b.pte", "--with", "a.ptd"], 0);
    text(&["a.pte", "a.pte", "--with-a", "a.ptd", "--with-b", "a.ptd"], 0);
    // The first file with a key counts, and those of one side are before those of both.
    text(&["a.pte", "b.pte", "--with", "a.ptd", "--with-b", "b.ptd"], 1);
    let moved = text(&["b.pte", "whole.pte", "--with", "b.ptd", "--only", "data"], 1);
    assert!(moved.contains("in a .ptd -> ") && !moved.contains("elements differ"), "{moved}");
    let changed = text(&["a.pte", "whole.pte", "--with", "a.ptd", "--only", "data"], 1);
    assert!(changed.contains("1 of 3 elements differs"), "{changed}");
    folder.write("other.yaml", "named_data: {other: {tensor: float32, data: [1]}}");
    folder.run(&["other.yaml", "-q", "-o", "other.ptd"]).exits(0);
    folder.run(&["diff", "a.pte", "b.pte", "--with", "other.ptd"]).exits(2).stderr_contains("has the key `");
    folder.run(&["diff", "a.pte", "b.pte", "--with", "none.ptd"]).exits(2).stderr_contains("none.ptd");
}

/// `y = relu(x) + w` with further lines.
fn model(values: &str, instructions: &str, output: &str) -> String {
    format!(
        "methods:
  forward:
    values:
      x: {{tensor: float32, sizes: [2, 2]}}
      w: {{tensor: float32, sizes: [2, 2], data: [[1, 2], [3, 4]]}}
{values}
    inputs: [x]
    outputs: [{output}]
    instructions:
{instructions}
"
    )
}

const CHAIN: &str = "      - {kernel: aten::relu.out, args: [x], out: a}
      - {kernel: aten::add.out, args: [a, w], out: b}
      - {kernel: aten::mul.out, args: [b, b], out: c}
";

#[test]
fn an_inserted_instruction_is_one_difference_and_one_argument() {
    let left = assembled(&model("", CHAIN, "c"));
    let inserted = CHAIN.replace(
        "      - {kernel: aten::mul.out, args: [b, b]",
        "      - {kernel: aten::neg.out, args: [b], out: n}\n      - {kernel: aten::mul.out, args: [b, n]",
    );
    let found = compared(&left, &assembled(&model("", &inserted, "c")));
    let expected = [
        (DiffKind::Added, DiffTopic::Instruction, "methods.forward.instructions[2]"),
        (DiffKind::Changed, DiffTopic::Instruction, "methods.forward.instructions[2].args[1] (other)"),
        (DiffKind::Added, DiffTopic::Operator, "methods.forward.operators"),
    ];
    let expected = expected.map(|(kind, topic, path)| (kind, topic, path.to_owned()));
    assert_eq!(changes(&found, DiffArea::Meaning), expected, "{:#?}", found.list);
    assert_eq!(found.of(DiffArea::Data).count(), 0);
}

/// The explicit offsets of a file do not make an instruction necessary.
#[test]
fn instructions_without_effect_are_layout() {
    let dead =
        "      - {kernel: aten::neg.out, args: [a], out: n}\n      - {kernel: aten::abs.out, args: [n], out: m}\n";
    let [first, second, third] = CHAIN.split_inclusive('\n').collect::<Vec<_>>()[..] else { panic!("three lines") };
    let left = assembled(&model("", CHAIN, "c"));
    for inserted in [
        format!("{first}{dead}{second}{third}"),
        format!("{first}{second}{dead}{third}"),
        format!("{first}{second}{third}{dead}"),
    ] {
        let found = compared(&left, &assembled(&model("", &inserted, "c")));
        assert_eq!(found.of(DiffArea::Meaning).count(), 0, "{inserted}: {:#?}", found.list);
        let added = changes(&found, DiffArea::Layout).into_iter().filter(|change| change.0 == DiffKind::Added);
        assert_eq!(added.filter(|change| change.1 == DiffTopic::Instruction).count(), 2, "{:#?}", found.list);
    }
}

#[test]
fn data_that_differ_have_statistics_and_uses() {
    let left = assembled(&model("", CHAIN, "c"));
    let right = assembled(&model("", CHAIN, "c").replace("[3, 4]", "[3, 6]"));
    let found = compared(&left, &right);
    let [difference] = &found.list[..] else { panic!("{:#?}", found.list) };
    assert_eq!((difference.area, difference.topic), (DiffArea::Data, DiffTopic::Constant));
    let data = difference.data.as_ref().unwrap();
    assert_eq!((data.elements, data.differing, data.max_abs, data.mean_abs), (4, Some(1), Some(2.0), Some(0.5)));
    let cosine = (1.0 + 4.0 + 9.0 + 24.0) / (30f64.sqrt() * 50f64.sqrt());
    assert!((data.cosine.unwrap() - cosine).abs() < 1e-12);
    assert_eq!(difference.left.as_ref().unwrap().uses, ["methods.forward.instructions[1].args[1] (other)"]);
    // Without reading them, data are equal; with hashes there are no statistics.
    let source = |bytes: &[u8]| Model::from_binary("file", bytes);
    let mut options = DiffOptions::default().data(DiffData::None);
    assert!(source(&left).diff(&source(&right), &options).unwrap().is_empty());
    options.data = DiffData::Hash;
    let found = source(&left).diff(&source(&right), &options).unwrap();
    let data = found.list[0].data.as_ref().unwrap();
    assert!(data.max_abs.is_none() && data.sha256.is_some() && data.differing == Some(1));
}

#[test]
fn elements_that_are_not_finite_have_no_distance() {
    let folder = Folder::new(&[
        ("a.yaml", &model("", CHAIN, "c")),
        ("b.yaml", &model("", CHAIN, "c").replace("[3, 4]", "[3, .nan]")),
    ]);
    let done = folder.run(&["diff", "a.yaml", "b.yaml"]).exits(1);
    let text = String::from_utf8(done.stdout).unwrap();
    assert!(text.contains("1 of 4 elements differs, 1 not finite, all finite elements are equal; used by"), "{text}");
}

/// A pair of texts in a template: the difference is found although descriptions show only a part of it.
#[test]
fn differences_that_descriptions_do_not_show_are_reported() {
    let long = "x".repeat(60);
    let spec = |key: &str| {
        format!(
            "methods:
  forward:
    values:
      x: {{tensor: float32, sizes: [2]}}
      y: {{tensor: float32, sizes: [2]}}
    delegates:
      part: {{backend: Demo, data: {{text: payload}}, compile_specs: [{{key: {key}, value: fp16}}]}}
    inputs: [x]
    outputs: [y]
    instructions:
      - {{delegate: part, args: [x, y]}}
"
        )
    };
    let unused = |value: &str| format!("methods: {{forward: {{values: {{u: {value}}}, outputs: [1]}}}}");
    let bools = |last: &str| unused(&format!("{{bool_list: [{}{last}]}}", "true, ".repeat(9)));
    let ints = |last: &str| unused(&format!("{{int_list: [{}{last}]}}", "1, ".repeat(9)));
    let test = |outputs: &str, more: &str| {
        format!("{RELU}    tests:\n      - {{inputs: [[[1, 2], [3, 4]]]{outputs}{more}}}\n")
    };
    let outputs = ", outputs: [[[1, 2], [3, 4]]]";
    let text = |text: &str| {
        format!(
            "methods: {{forward: {{values: {{x: {{string: a}}}}, inputs: [x], outputs: [x], tests: [{{inputs: [{text}]}}]}}}}"
        )
    };
    use DiffArea::{Data, Layout, Meaning};
    let cases: Vec<(&str, [String; 2], DiffArea)> = vec![
        ("specs", [spec(&format!("{long}1")), spec(&format!("{long}2"))], Meaning),
        ("escapes", [spec(r#""a\nb""#), spec(r#""a\\nb""#)], Meaning),
        ("bools", [bools("true"), bools("false")], Layout),
        ("ints", [ints("1"), ints("2")], Layout),
        ("strings", [unused(&format!("{{string: {long}1}}")), unused(&format!("{{string: {long}2}}"))], Layout),
        ("tests", [test(outputs, ""), RELU.to_owned()], Data),
        ("outputs of tests", [test(outputs, ""), test("", "")], Data),
        ("tolerance", [test(outputs, ", atol: 0.5"), test(outputs, "")], Data),
        ("strings of tests", [text(&format!("{long}1")), text(&format!("{long}2"))], Data),
    ];
    for (name, [left, right], area) in cases {
        let [l, r] = [&left, &right].map(|text| Model::from_yaml("diff.yaml", text, "."));
        let found = l.diff(&r, &DiffOptions::default()).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert!(found.of(area).next().is_some(), "{name}: {:#?}", found.list);
        assert!(found.list.iter().all(|difference| difference.area == area), "{name}: {:#?}", found.list);
        for difference in &found.list {
            let texts = [&difference.left, &difference.right].map(|part| part.as_ref().map(|part| &part.value));
            assert_ne!(texts[0], texts[1], "{name}");
        }
        let mirrored = r.diff(&l, &DiffOptions::default()).unwrap().mirrored();
        assert_eq!(lines(&found), lines(&mirrored), "{name}");
    }
}

/// Data of `.ptd` files of YAML, and constants of graphs that no node reads.
#[test]
fn data_that_one_side_lacks_or_nothing_reads_are_compared() {
    let text = sources::read(&root().join("examples/xnnpack_linear.yaml"));
    let source = |text: &str| Model::from_yaml("xnnpack.yaml", text, root().join("examples"));
    let key = "named_data: {one: {external: xnnpack, data: {numbers: [1, 2], dtype: float32}}}\n";
    let found = source(&format!("{text}{key}")).diff(&source(&text), &DiffOptions::default()).unwrap();
    let expected = (DiffKind::Removed, DiffTopic::ExternalData, "keys.one".to_owned());
    assert_eq!(changes(&found, DiffArea::Data), [expected], "{:#?}", found.list);
    assert_eq!(found.len(), 1);
    let unread = |last: u8| {
        let value = "            bias:";
        text.replace(value, &format!("            unread: {{datatype: fp32, data: [7, {last}]}}\n{value}"))
    };
    let found = source(&unread(8)).diff(&source(&unread(9)), &DiffOptions::default()).unwrap();
    let [difference] = &found.list[..] else { panic!("{:#?}", found.list) };
    assert_eq!((difference.area, difference.topic), (DiffArea::Data, DiffTopic::Constant));
}

#[test]
fn statistics_are_exact_for_wide_integers_and_leave_out_what_is_not_finite() {
    let statistics = |dtype: &str, left: &str, right: &str| {
        let yaml = |data: &str| format!("named_data: {{a: {{tensor: {dtype}, data: [{data}]}}}}");
        let [left, right] = [left, right].map(|data| Model::from_yaml("data.yaml", yaml(data), "."));
        let found = left.diff(&right, &DiffOptions::default()).unwrap();
        let data = found.list[0].data.as_ref().unwrap();
        (data.max_abs, data.mean_abs)
    };
    assert_eq!(statistics("int64", "9007199254740992, 1", "9007199254740993, 1"), (Some(1.0), Some(0.5)));
    assert_eq!(statistics("uint64", "18446744073709551615, 0", "18446744073709551614, 0"), (Some(1.0), Some(0.5)));
    let [least, most] = ["-9223372036854775808", "9223372036854775807"];
    assert_eq!(statistics("int64", least, most), (Some(u64::MAX as f64), Some(u64::MAX as f64)));
    assert_eq!(statistics("float32", ".nan, .nan, .nan, 1", "0, 0, 0, 2"), (Some(1.0), Some(1.0)));
    assert_eq!(statistics("float32", ".nan, 1", "2, 1"), (Some(0.0), Some(0.0)));
    assert_eq!(statistics("float32", ".nan", "2"), (None, None));
}

#[test]
fn a_program_and_a_file_of_weights_differ_in_the_methods() {
    let weights = Model::from_yaml("weights.yaml", "named_data: {a: {tensor: float32, data: [1]}}", ".");
    let program = Model::from_yaml("relu.yaml", RELU, ".");
    let found = program.diff(&weights, &only(DiffArea::Meaning)).unwrap();
    let expected = [(DiffKind::Removed, DiffTopic::Method, "methods.forward".to_owned())];
    assert_eq!(changes(&found, DiffArea::Meaning), expected);
}

#[test]
fn a_tensor_of_another_type_is_one_difference() {
    let embedding = |dtype: &str| {
        let data: Vec<String> = (0..1000).map(|i| (i % 100).to_string()).collect();
        format!(
            "named_data:\n  table: {{tensor: {dtype}, sizes: [1000], data: [{}]}}\n  other: {{tensor: int8, data: [1]}}\n",
            data.join(", ")
        )
    };
    let source = |dtype: &str| Model::from_yaml("weights.yaml", embedding(dtype), ".");
    let found = source("float32").diff(&source("int8"), &DiffOptions::default()).unwrap();
    let [difference] = &found.list[..] else { panic!("{:#?}", found.list) };
    assert_eq!(difference.left.as_ref().unwrap().value, "float32 [1000], 4000 bytes");
    assert_eq!(difference.right.as_ref().unwrap().value, "int8 [1000], 1000 bytes");
}

/// What a view is a view of, and writes to memory in use, are meaning; offsets are not.
#[test]
fn what_reads_find_in_memory_is_meaning() {
    let program = |view: u64, relu: u64| {
        format!(
            "methods:
  forward:
    values:
      x: {{tensor: float32, sizes: [2, 3], memory: {{pool: 1, offset: 0}}}}
      a: {{tensor: float32, sizes: [2, 3], memory: {{pool: 1, offset: {relu}}}}}
      b: {{tensor: float32, sizes: [2, 3], memory: {{pool: 1, offset: 96}}}}
      v: {{tensor: float32, sizes: [3, 2], mutable: true, memory: {{pool: 1, offset: {view}}}}}
      c: {{tensor: float32, sizes: [3, 2], memory: {{pool: 1, offset: 192}}}}
      d: {{tensor: float32, sizes: [2, 3], memory: {{pool: 1, offset: 224}}}}
    inputs: [x]
    outputs: [c, d]
    instructions:
      - {{kernel: aten::relu.out, args: [x], out: a}}
      - {{kernel: aten::abs.out, args: [x], out: b}}
      - {{kernel: aten::neg.out, args: [v], out: c}}
      - {{kernel: aten::add.out, args: [a, b], out: d}}
"
        )
    };
    let found = |left: (u64, u64), right: (u64, u64)| {
        let [left, right] = [left, right].map(|(view, relu)| assembled(&program(view, relu)));
        let found = compared(&left, &right);
        assert_eq!(lines(&found), lines(&compared(&right, &left).mirrored()));
        found
    };
    // The view moves with its base.
    assert_eq!(changes(&found((32, 32), (160, 160)), DiffArea::Meaning), []);
    let argument = |step: usize, name: &str| {
        let path = format!("methods.forward.instructions[{step}].args[0] ({name})");
        (DiffKind::Changed, DiffTopic::Instruction, path)
    };
    let view = found((32, 32), (0, 32));
    assert_eq!(changes(&view, DiffArea::Meaning), [argument(2, "self")]);
    let texts = [&view.list[0].left, &view.list[0].right].map(|part| part.as_ref().unwrap().value.clone());
    assert_eq!(
        texts,
        [
            "float32 [3, 2] in the memory of the result of instructions[0] (aten::relu.out)",
            "float32 [3, 2] in the memory of inputs[0]"
        ]
    );
    // A part of another tensor.
    assert_eq!(changes(&found((32, 32), (40, 32)), DiffArea::Meaning), [argument(2, "self")]);
    // `a` is overwritten by `b` before it is read.
    assert_eq!(changes(&found((0, 32), (0, 96)), DiffArea::Meaning), [argument(3, "self")]);
}

/// A tensor that consists of the results of many instructions, and is read many times, has more parts than are
/// followed. Later reads are then not compared, which is a difference.
#[test]
fn reads_that_are_not_compared_are_a_difference() {
    let program = |count: usize, last: usize| {
        let memory = |sizes: usize, offset: usize| {
            format!("{{tensor: float32, sizes: [{sizes}], mutable: true, memory: {{pool: 1, offset: {offset}}}}}")
        };
        let result = |name: &str, offset: usize| {
            let memory = format!("memory: {{pool: 1, offset: {offset}}}");
            format!("      {name}: {{tensor: float32, sizes: [4], {memory}}}\n")
        };
        let mut values: String = (0..count).map(|number| result(&format!("a{number}"), 16 * number)).collect();
        let end = 16 * count;
        values += &result("x", end);
        values += &result("p", end + 16 + 16 * last);
        values += &result("q", end + 48 - 16 * (last + 1));
        values += &format!("      all: {}\n      c: {}\n", memory(4 * count, 0), memory(4 * count, end + 64));
        values += &format!("      r: {}\n      d: {}\n", memory(4, end + 16), memory(4, 2 * end + 64));
        let mut instructions: String = (0..count)
            .map(|number| format!("      - {{kernel: aten::relu.out, args: [x], out: a{number}}}\n"))
            .collect();
        instructions += &"      - {kernel: aten::abs.out, args: [all], out: c}\n".repeat(count);
        instructions +=
            "      - {kernel: aten::relu.out, args: [x], out: p}\n      - {kernel: aten::abs.out, args: [x], out: q}\n";
        instructions += "      - {kernel: aten::neg.out, args: [r], out: d}\n";
        assembled(&format!(
            "methods:\n  forward:\n    values:\n{values}    inputs: [x]\n    outputs: [c, d]\n    instructions:\n{instructions}"
        ))
    };
    let meaning = |count: usize| {
        let [left, right] = [0, 1].map(|last| program(count, last));
        assert_eq!(compared(&left, &left).list, []);
        let found = compared(&left, &right);
        assert_eq!(lines(&found), lines(&compared(&right, &left).mirrored()));
        let found = found.list.into_iter().filter(|difference| difference.area == DiffArea::Meaning);
        found.map(|difference| (difference.path, difference.left.unwrap().value)).collect::<Vec<_>>()
    };
    // The last instruction reads another result.
    let few = meaning(100);
    assert!(few.len() == 1 && few[0].0.starts_with("methods.forward.instructions[202].args[0]"), "{few:?}");
    let many = meaning(1500);
    let [(path, value)] = &many[..] else { panic!("{many:?}") };
    assert_eq!(path, "methods.forward");
    assert!(value.starts_with("not compared from instruction "), "{value}");
}

/// The same program with memory of its own for each tensor: another plan, and the same meaning.
#[test]
fn another_planner_is_no_meaning() {
    let (mut others, mut count) = (0, 0);
    let dumps = exported().into_iter().filter_map(|bytes| {
        let options = PrintOptions::default().large_data(pte_emit::LargeData::Inline);
        Some(Model::from_binary("model.pte", &bytes).to_yaml(".".as_ref(), &options).ok()?.text)
    });
    let texts = examples().iter().map(|path| sources::read(path)).chain(dumps).collect::<Vec<String>>();
    for text in texts {
        let source = Model::from_yaml("program.yaml", &text, root().join("examples"));
        let assembled = |is_naive: bool| {
            let mut resolved = source.parse().ok()?.resolve().ok()?;
            for plan in resolved.program.execution_plan.iter_mut().flatten().filter(|_| is_naive) {
                plan.memory.planner = pte_emit::program::MemoryPlanner::Naive;
            }
            let assembly = resolved.plan(&AssembleOptions::default()).ok()?.emit().ok()?;
            assembly.program_file()?.to_vec().ok()
        };
        let (Some(left), Some(right)) = (assembled(false), assembled(true)) else { continue };
        let found = compared(&left, &right);
        assert!(found.list.iter().all(|difference| difference.area == DiffArea::Layout), "{text}\n{:#?}", found.list);
        count += 1;
        others += usize::from(!found.is_empty());
    }
    assert!(count > 100 && others > 20, "{count} programs, {others} with another plan");
}

#[test]
fn a_removed_layer_does_not_shift_the_others() {
    let layer = |number: usize, input: &str| {
        format!(
            "      - {{kernel: aten::add.out, args: [{input}, w{number}], out: a{number}}}\n      - {{kernel: aten::relu.out, args: [a{number}], out: r{number}}}\n"
        )
    };
    let network = |layers: &[usize]| {
        let mut values = String::new();
        let (mut text, mut input) = (String::new(), "x".to_owned());
        for number in layers {
            values +=
                &format!("      w{number}: {{tensor: float32, sizes: [2, 2], data: {{random: {{seed: {number}}}}}}}\n");
            text += &layer(*number, &input);
            input = format!("r{number}");
        }
        assembled(&model(&values, &text, &input))
    };
    // All layers have the same shapes, and their weights have no names.
    let found = compared(&network(&[0, 1, 2, 3, 4, 5, 6, 7]), &network(&[0, 1, 2, 4, 5, 6, 7]));
    assert_eq!(found.of(DiffArea::Data).count(), 0, "{:#?}", found.list);
    let removed = found.of(DiffArea::Meaning).filter(|difference| difference.kind == DiffKind::Removed);
    let paths: Vec<&str> = removed.map(|difference| &*difference.path).collect();
    assert_eq!(paths, ["methods.forward.instructions[6]", "methods.forward.instructions[7]"]);
}

#[test]
fn graphs_of_delegates_are_compared_node_by_node() {
    let text = sources::read(&root().join("examples/xnnpack_linear.yaml"));
    let source = |text: &str| Model::from_yaml("xnnpack.yaml", text, root().join("examples"));
    assert!(source(&text).diff(&source(&text), &DiffOptions::default()).unwrap().is_empty());
    let bytes = sources::example("xnnpack_linear.yaml", "pte");
    let resolved = Model::from_binary("x.pte", &bytes).resolve().unwrap().program.clone();
    assert!(!resolved.plans()[0].delegates().is_empty());
    let quantized = Model::open(root().join("examples/xnnpack_quantized_convolution.yaml")).unwrap();
    let found = source(&text).diff(&quantized, &only(DiffArea::Meaning)).unwrap();
    let paths: Vec<&str> = found.list.iter().map(|difference| &*difference.path).collect();
    assert!(paths.iter().any(|path| path.contains("delegates[0].graph.nodes[")), "{paths:?}");
}

#[test]
fn methods_are_found_by_name_and_bytes_without_meaning_are_layout() {
    let two = |first: &str, second: &str| {
        let method = |name: &str, value: &str| format!("  {name}: {{outputs: [{value}]}}\n");
        assembled(&format!(
            "methods:\n{}{}",
            method(first, if first == "a" { "1" } else { "2" }),
            method(second, if second == "a" { "1" } else { "2" })
        ))
    };
    let found = compared(&two("a", "b"), &two("b", "a"));
    assert!(found.list.iter().all(|difference| difference.area == DiffArea::Layout), "{:#?}", found.list);
    assert!(changes(&found, DiffArea::Layout).iter().any(|change| change.0 == DiffKind::Moved));
    let mut bytes = assembled(&model("", CHAIN, "c"));
    let original = bytes.clone();
    // Padding between the program and the segment.
    let size = u64::from_le_bytes(bytes[16..24].try_into().unwrap()) as usize;
    assert_eq!(bytes[size], 0);
    bytes[size] = 1;
    let found = compared(&original, &bytes);
    assert_eq!(changes(&found, DiffArea::Layout), [(DiffKind::Changed, DiffTopic::File, "bytes".to_owned())]);
    assert_eq!(found.len(), 1);
    let text = &found.list[0].left.as_ref().unwrap().value;
    assert_eq!(*text, format!("1 byte that no other difference explains, the first at offset {size}"));
}

#[test]
fn the_exit_status_is_that_of_diff() {
    let neg = RELU.replace("aten::relu.out", "aten::neg.out");
    let folder = Folder::new(&[
        ("relu.yaml", RELU),
        ("neg.yaml", &neg),
        ("wrong.yaml", "methods: 1"),
        ("two.yaml", "name: a\n---\nname: b\n"),
    ]);
    folder.run(&["relu.yaml", "-o", "relu.pte"]).exits(0);
    let done = folder.run(&["diff", "relu.yaml", "relu.pte"]).exits(0).stderr_is_empty();
    assert_eq!(done.stdout, b"relu.yaml -> relu.pte: equal\nmeaning: equal\nlayout: equal\ndata: equal\n");
    let done = folder.run(&["diff", "relu.pte", "neg.yaml"]).exits(1).stderr_is_empty();
    let text = String::from_utf8(done.stdout).unwrap();
    assert!(
        text.contains(
            "~ methods.forward.instructions[0]: aten::relu.out(inputs[0], out: float32 [2, 2]) -> aten::neg.out("
        ),
        "{text}"
    );
    let done = folder.run(&["diff", "relu.pte", "neg.yaml", "--only", "data"]).exits(0);
    assert_eq!(done.stdout, b"relu.pte -> neg.yaml: equal in data; meaning and layout not compared\ndata: equal\n");
    folder.run(&["diff", "relu.pte", "missing.pte"]).exits(2).stderr_contains("missing.pte");
    folder.run(&["diff", "relu.pte", "wrong.yaml"]).exits(2).stderr_contains("wrong.yaml");
    folder.run(&["diff", "relu.pte", "two.yaml"]).exits(2).stderr_contains("2 documents");
    folder.run(&["diff", "-", "-"]).exits(2);
    folder.run(&["diff", "relu.pte", "neg.yaml", "--budget", "speed=1"]).exits(2).stderr_contains("unknown key");
    folder.run_with_stdin(&["diff", "-", "relu.pte"], RELU).exits(0);
}

#[test]
fn a_budget_allows_differences_up_to_its_limits() {
    let neg = RELU.replace("aten::relu.out", "aten::neg.out");
    let folder = Folder::new(&[("relu.yaml", RELU), ("neg.yaml", &neg)]);
    let budget = |limits: &str, code: i32| {
        let done = folder.run(&["diff", "relu.yaml", "neg.yaml", "--budget", limits, "--json"]).exits(code);
        serde_json::from_slice::<serde_json::Value>(&done.stdout).unwrap()
    };
    let kept = budget("size=+1%,planned=+0,kernel_calls=0,operators=1", 0);
    assert_eq!((kept["version"].as_u64(), kept["equal"].as_bool()), (Some(1), Some(false)));
    assert_eq!(kept["budget"].as_array().unwrap().len(), 4);
    let exceeded = budget("kernel_calls=0,operators=0", 1);
    let lines: Vec<bool> =
        exceeded["budget"].as_array().unwrap().iter().map(|line| line["exceeded"].as_bool().unwrap()).collect();
    assert_eq!(lines, [false, true]);
    let done = folder.run(&["diff", "relu.yaml", "neg.yaml", "--budget", "operators=0,size=+1%"]).exits(1);
    // Also where the standard output is a file.
    let done = done.stderr_contains("error: neg.yaml: `operators`: found 0 -> 1 operators that the first file does not call, expected an increase of at most 0");
    assert!(!done.stderr.contains("`size`"));
    assert!(String::from_utf8(done.stdout).unwrap().contains("budget exceeded: operators=0: 0 -> 1 operators"));
    folder.run(&["diff", "relu.yaml", "neg.yaml", "--budget", "operators=1"]).exits(0).stderr_is_empty();
    let comment = folder.run(&["diff", "relu.yaml", "neg.yaml", "--format", "markdown"]).exits(1).stdout;
    let comment = String::from_utf8(comment).unwrap();
    assert!(comment.contains("<details><summary>meaning: 3 differences</summary>"), "{comment}");
    assert!(comment.contains("- **changed** methods.forward.instructions&#91;0&#93;:"), "{comment}");
}

/// All areas of a comment get a part of the room.
#[test]
fn a_comment_has_lines_of_each_area() {
    let steps = |kernel: &str, from: u64| {
        let mut text = String::new();
        for number in 0..600 {
            let input = if number == 0 { "x".to_owned() } else { format!("v{}", number - 1) };
            text += &format!("      - {{kernel: aten::{kernel}.out, args: [{input}], out: v{number}}}\n");
        }
        let place = |number: u64| 1024 * from + 16 * number;
        let values: String = (0..600)
            .map(|number| {
                format!(
                    "      v{number}: {{tensor: float32, sizes: [2, 2], memory: {{pool: 1, offset: {}}}}}\n",
                    place(number)
                )
            })
            .collect();
        model(&values, &text, "v599")
    };
    let folder = Folder::new(&[("a.yaml", &steps("relu", 0)), ("b.yaml", &steps("neg", 1))]);
    let shown = folder.run(&["diff", "a.yaml", "b.yaml", "--format", "markdown", "--limit", "0"]).exits(1).stdout;
    let shown = String::from_utf8(shown).unwrap();
    assert!(shown.len() < 65_536, "{}", shown.len());
    assert!(shown.contains("beyond the 65,536 characters that GitHub allows"), "{shown}");
    for area in ["meaning", "layout"] {
        let (_, rest) = shown.split_once(&format!("<summary>{area}: ")).unwrap();
        let (lines, _) = rest.split_once("</details>").unwrap();
        assert!(lines.matches("\n- **").count() > 100, "{area}: {lines}");
    }
    let limited = folder.run(&["diff", "a.yaml", "b.yaml", "--format", "markdown", "--limit", "2"]).exits(1).stdout;
    assert!(String::from_utf8(limited).unwrap().contains(" more (`--limit 0` for as many as fit)"));
}

/// A file that is none is refused by its first bytes.
#[test]
fn a_large_file_of_another_format_is_not_read() {
    let folder = Folder::new(&[("relu.yaml", RELU)]);
    std::fs::File::create(folder.path().join("large.pte")).unwrap().set_len(1 << 40).unwrap();
    folder.run(&["diff", "large.pte", "large.pte"]).exits(2).stderr_contains("large.pte: expected the file identifier");
    folder.run(&["diff", "relu.yaml", "/dev/null"]).exits(1);
    folder.run(&["diff", "/dev/null", "/dev/null"]).exits(0);
}

/// What programs use of `.ptd` files is theirs only.
#[test]
fn external_data_are_those_that_a_program_refers_to() {
    let yaml = sources::read(&root().join("examples/linear.yaml"));
    let folder = Folder::new(&[("linear.yaml", &yaml)]);
    folder.run(&["linear.yaml", "-q", "-o", "whole.pte"]).exits(0);
    folder.run(&["linear.yaml", "-q", "-o", "split.pte", "--external-data"]).exits(0);
    for with in [&["--with", "split.ptd"][..], &["--with-b", "split.ptd"], &[]] {
        let arguments = [&["diff", "whole.pte", "split.pte"], with].concat();
        let text = String::from_utf8(folder.run(&arguments).exits(1).stdout).unwrap();
        assert!(text.contains("  external data     0 ->   60  +60\n"), "{text}");
        let json = folder.run(&[&arguments[..], &["--json"]].concat()).exits(1).stdout;
        let json: serde_json::Value = serde_json::from_slice(&json).unwrap();
        let bytes = ["left", "right"].map(|side| json[side]["external_data"].as_u64());
        assert_eq!(bytes, [Some(0), Some(60)]);
    }
}

/// `git diff` with the configuration of docs/diff.md.
#[test]
fn git_shows_differences_of_files() {
    let docs = std::fs::read_to_string(root().join("docs/diff.md")).unwrap();
    let (_, setup) = docs.split_once("<!-- git -->\n```text\n").expect("docs/diff.md has the marker");
    let (setup, _) = setup.split_once("```").unwrap();
    let gelu = RELU.replace("aten::relu.out", "aten::gelu.out");
    let folder = Folder::new(&[("relu.yaml", RELU), ("gelu.yaml", &gelu)]);
    let run = |script: &str| {
        let binary = PathBuf::from(env!("CARGO_BIN_EXE_pte-emit"));
        let path = format!("{}:{}", binary.parent().unwrap().display(), std::env::var("PATH").unwrap());
        let mut command = Command::new("sh");
        command.args(["-e", "-c", script]).current_dir(folder.path()).env("PATH", path).env("HOME", folder.path());
        command.env("GIT_CONFIG_NOSYSTEM", "1").env("GIT_PAGER", "cat");
        let output = command.output().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{script}\n{stderr}");
        String::from_utf8(output.stdout).unwrap()
    };
    run("git init -q . && git config user.email a@b && git config user.name n");
    run(setup);
    run(
        "pte-emit relu.yaml -q -o model.pte && git add model.pte && git commit -qm relu && pte-emit gelu.yaml -q -o model.pte",
    );
    let shown = run("git diff model.pte");
    assert!(shown.contains("-      - {kernel: aten::relu.out"), "{shown}");
    assert!(shown.contains("+      - {kernel: aten::gelu.out"), "{shown}");
    let shown = run("git difftool -y -t pte-emit model.pte");
    assert!(shown.contains("~ methods.forward.instructions[0]: aten::relu.out("), "{shown}");
    // Files that only one version has.
    run(
        "git checkout -q model.pte && pte-emit gelu.yaml -q -o new.pte && git add new.pte && git rm -q --cached model.pte",
    );
    let shown = run("git difftool -y -t pte-emit --cached --no-renames");
    assert!(shown.contains("/dev/null -> ") && shown.contains("+ methods.forward: 1 instruction"), "{shown}");
    assert!(shown.contains(" -> /dev/null: ") && shown.contains("- methods.forward: 1 instruction"), "{shown}");
    // A file that cannot be read.
    run("git reset -q && echo damaged > model.pte");
    let shown = run("git diff model.pte");
    assert!(shown.contains("-      - {kernel: aten::relu.out"), "{shown}");
    assert!(shown.contains("+error: ") && shown.contains("this is text"), "{shown}");
}

/// What the runtime reads of a graph, without its numbering of constants and without their bytes.
fn graph_meaning(graph: &pte_xnnpack::model::Graph) -> String {
    let mut graph = graph.clone();
    let keys: Vec<Option<String>> = graph.constants.iter().map(|constant| constant.key.clone()).collect();
    (graph.version, graph.constants, graph.constants_len, graph.mem_buffer_sizes) = Default::default();
    graph.nodes.iter_mut().for_each(|node| node.debug_handle = 0);
    // Keys in the order of the values; the first constant stands for none.
    let constants = graph.values.iter().filter(|value| value.constant != 0);
    let used: Vec<_> = constants.map(|value| keys.get(value.constant as usize)).collect();
    format!("{graph:?} {used:?}")
}

/// Each byte of the payloads is changed: what the runtime reads is a difference of meaning or of data.
#[test]
fn every_byte_of_an_xnnpack_payload_is_compared() {
    let bytes = std::fs::read(root().join("tests/golden/upstream/bytes/conv_xnn/model.pte")).unwrap();
    let payload = |bytes: &[u8]| {
        let program = reader::program::read(&Origin::Bytes(bytes.into())).ok()?.program;
        Some(program.blob(program.plans()[0].delegates()[0].processed).to_vec().unwrap())
    };
    let original = payload(&bytes).unwrap();
    let at = (0..bytes.len()).find(|at| bytes[*at..].starts_with(&original)).unwrap();
    let decode = |payload: &[u8]| pte_xnnpack::decode::decode(&Blob::bytes(payload.to_vec())).ok();
    let expected = graph_meaning(&decode(&original).unwrap());
    let (mut changed, mut keys) = (0, 0);
    for offset in 0..original.len() {
        for bit in [0, 4, 7] {
            let mut other = bytes.clone();
            other[at + offset] ^= 1 << bit;
            let Some(graph) = payload(&other).as_deref().and_then(decode) else { continue };
            if graph_meaning(&graph) == expected {
                continue;
            }
            changed += 1;
            let found = compared(&bytes, &other);
            let counts = [DiffArea::Meaning, DiffArea::Data].map(|area| found.of(area).count());
            assert!(counts != [0, 0], "byte {offset}, bit {bit}: {:#?}", found.list);
            keys += usize::from(found.list.iter().any(|difference| difference.path.ends_with(".constant")));
        }
    }
    assert!(changed > 300 && keys > 100, "{changed} changes, {keys} of keys");
}
