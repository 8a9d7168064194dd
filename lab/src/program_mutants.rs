//! Changes of programs by their meaning: values, instructions, lists and data, whatever their delegates.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use pte_generate::calls::operators;
use pte_generate::random::Random;
use pte_model::format::program::{INSTRUCTION, InstructionType, KernelType, PROGRAM};
use pte_model::format::table::Union;

use super::structured::{ProgramFile, Subject};
use super::tree::{Item, Tree, align, number};
use super::tree_changes::{FieldNames, change_field, change_items, change_numbers, changed, each};

/// Fields of programs that are not what their type says.
const NAMES: FieldNames = FieldNames { floats: &[], are_alike: |_, _| false };

/// Tables whose content the runtime does not interpret.
const IGNORED: &[&str] = &["Frame", "FrameList", "ContainerMetadata"];

/// Size of the start of a FlatBuffer: root offset and identifier, in bytes.
const START: usize = 8;

/// Offsets in the extended header, and its magic.
const MAGIC: &[u8] = b"eh00";
const PROGRAM_SIZE: usize = 16;
const SEGMENT_BASE: usize = 24;

/// Largest alignment of segments that is kept.
const MAX_ALIGNMENT: usize = 4096;

/// A program to mutate.
pub struct Base {
    pub file: ProgramFile,
    pub program: Tree,
    /// The extended header; empty if there is none.
    header: Vec<u8>,
    /// The bytes from the first segment on, and the alignment of their offset.
    segments: Vec<u8>,
    alignment: usize,
}

impl Base {
    pub fn of(file: ProgramFile) -> Base {
        let bytes = &file.bytes;
        let program = Tree::read(bytes, &PROGRAM);
        if bytes.get(START..START + MAGIC.len()) != Some(MAGIC) {
            return Base { program, header: Vec::new(), segments: Vec::new(), alignment: 1, file };
        }
        let length = number(bytes, START + MAGIC.len(), 4) as usize;
        let header = bytes[START..START + length.next_multiple_of(8)].to_vec();
        let base = number(bytes, SEGMENT_BASE, 8) as usize;
        let segments = if base == 0 { Vec::new() } else { bytes[base..].to_vec() };
        let alignment = 1 << (base | MAX_ALIGNMENT).trailing_zeros();
        Base { program, header, segments, alignment, file }
    }

    /// Returns the file with another program.
    pub fn with(&self, program: &Tree) -> Vec<u8> {
        let mut bytes = program.write("ET12", self.header.len());
        if self.header.is_empty() {
            return bytes;
        }
        bytes[START..START + self.header.len()].copy_from_slice(&self.header);
        let size = bytes.len() as u64;
        bytes[PROGRAM_SIZE..PROGRAM_SIZE + 8].copy_from_slice(&size.to_le_bytes());
        if !self.segments.is_empty() {
            align(&mut bytes, self.alignment);
            let base = bytes.len() as u64;
            bytes[SEGMENT_BASE..SEGMENT_BASE + 8].copy_from_slice(&base.to_le_bytes());
            bytes.extend(&self.segments);
        }
        bytes
    }
}

/// Returns `true` if a method has named state without memory: the caller has to give it some, which `check` accepts.
pub fn has_state_of_caller(program: &mut Tree) -> bool {
    let mut found = false;
    each(program, &mut |tensor| {
        found |= tensor.schema.name == "Tensor"
            && tensor.bits("data_buffer_idx") == 0
            && matches!(tensor.get("allocation_info"), Item::Absent)
            && matches!(tensor.get("extra_tensor_info"), Item::Table(info)
                if !matches!(info.get("fully_qualified_name"), Item::Absent));
    });
    found
}

impl Subject for Base {
    fn name(&self) -> &str {
        &self.file.name
    }

    fn bytes(&self) -> &[u8] {
        &self.file.bytes
    }

    fn data(&self) -> &[Vec<u8>] {
        &self.file.data
    }

    fn mutant(&self, random: &mut Random) -> Option<(Vec<u8>, String)> {
        let mut program = self.program.clone();
        let count = random.pick(&[1, 1, 2, 3]);
        let steps: Vec<String> = (0..count).map(|_| mutate(&mut program, random)).collect();
        Some((self.with(&program), steps.join("; ")))
    }
}

/// A change of a method; `None` if the method has nothing to change so.
type Change = fn(&mut Tree, &mut Random) -> Option<String>;

/// The changes of a method, and how often each is made.
const CHANGES: &[(usize, Change)] = &[
    (2, swap_values),
    (3, copy_value),
    (2, replace_value),
    (4, change_memory),
    (4, change_type),
    (5, change_sizes),
    (2, change_dim_order),
    (2, change_dynamism),
    (8, change_argument),
    (2, change_operator_index),
    (4, change_operator),
    (6, change_constant),
    (3, change_list),
    (3, change_control),
    (2, insert_instruction),
    (3, change_instructions),
    (3, change_interface),
];

/// One in this many changes is that of any field.
const ANY_FIELD: usize = 6;

/// Changes a program in one way; returns what it changed.
fn mutate(program: &mut Tree, random: &mut Random) -> String {
    let methods = program.tables("execution_plan").len();
    if methods == 0 || random.below(ANY_FIELD) == 0 {
        // All tables of a schema are as likely together as those of any other.
        let mut schemas = BTreeMap::new();
        each(program, &mut |tree| _ = schemas.insert(tree.schema.name, ()));
        let names: Vec<&str> = schemas.into_keys().filter(|name| !IGNORED.contains(name)).collect();
        let name = random.pick(&names);
        return change_field(program, &NAMES, &|tree| tree.schema.name == name, random);
    }
    let method = random.below(methods);
    for _ in 0..8 {
        let change = random.weighted(CHANGES);
        if let Some(text) = change(&mut program.tables("execution_plan")[method], random) {
            return text;
        }
    }
    "nothing".to_owned()
}

/// Tag of the table of a value, which the one in the file may not be.
fn tag(value: &Tree) -> u64 {
    let Item::Table(member) = value.get("val") else { return 0 };
    KernelType::MEMBERS.iter().position(|table| std::ptr::eq(*table, member.schema)).map_or(0, |at| at as u64 + 1)
}

fn is(value: &Tree, kind: KernelType) -> bool {
    tag(value) == u64::from(kind.tag())
}

/// The table of a value or an instruction.
fn member<'t>(tree: &'t mut Tree, field: &str) -> Option<&'t mut Tree> {
    match tree.get_mut(field) {
        Item::Table(member) => Some(member),
        _ => None,
    }
}

/// Returns the index of a random value that matches.
fn pick_value(method: &mut Tree, random: &mut Random, matches: impl Fn(&Tree) -> bool) -> Option<usize> {
    let values = method.tables("values");
    let all: Vec<usize> = (0..values.len()).filter(|index| matches(&values[*index])).collect();
    (!all.is_empty()).then(|| random.pick(&all))
}

/// Returns the index of a random value, which usually has the kind of another one.
fn pick_like(method: &mut Tree, random: &mut Random, index: usize) -> Option<usize> {
    let kind = method.tables("values").get(index).map(tag);
    match kind.filter(|_| random.chance(80)) {
        Some(kind) => pick_value(method, random, |value| tag(value) == kind),
        None => pick_value(method, random, |_| true),
    }
}

fn tensor(method: &mut Tree, index: usize) -> Option<&mut Tree> {
    let value = method.tables("values").get_mut(index).filter(|value| is(value, KernelType::Tensor))?;
    member(value, "val")
}

fn pick_tensor(method: &mut Tree, random: &mut Random) -> Option<usize> {
    pick_value(method, random, |value| is(value, KernelType::Tensor))
}

/// Calls a function with each tensor.
fn each_tensor(method: &mut Tree, mut visit: impl FnMut(&mut Tree)) {
    for value in method.tables("values").iter_mut().filter(|value| is(value, KernelType::Tensor)) {
        if let Some(tensor) = member(value, "val") {
            visit(tensor);
        }
    }
}

/// Returns the sizes of all tensors, and the numbers next to them.
fn sizes(method: &mut Tree) -> Vec<u64> {
    let mut sizes = Vec::new();
    each_tensor(method, |tensor| {
        if let Item::Ints(items) = tensor.get("sizes") {
            sizes
                .extend(items.iter().flat_map(|size| [0, 1, u64::MAX].map(|more| u64::from(*size).wrapping_add(more))));
            sizes.push(items.len() as u64);
        }
    });
    sizes
}

/// A value of a kind.
fn value(kind: KernelType, fields: impl FnOnce(Tree) -> Tree) -> Tree {
    Tree::new(&pte_model::format::program::EVALUE).set_union("val", kind.tag(), fields(Tree::new(kind.table())))
}

/// A value that is not a tensor.
fn new_value(method: &mut Tree, random: &mut Random) -> Tree {
    let near = sizes(method);
    let int = |random: &mut Random| changed(random.pick(&[0, 1, 2, 3]), &near, random);
    let double =
        |random: &mut Random| random.pick(&[0.0, 1.0, -1.0, 0.5, 1e-9, f64::MAX, f64::INFINITY, f64::NAN]).to_bits();
    let ints = |method: &mut Tree, random: &mut Random| -> Item {
        let count = random.below(5);
        let picked = (0..count).filter_map(|_| pick_value(method, random, |value| is(value, KernelType::Int)));
        Item::Longs(picked.map(|index| index as u64).collect())
    };
    match random.below(9) {
        0 => value(KernelType::Null, |tree| tree),
        1..=3 => value(KernelType::Int, |tree| tree.set("int_val", int(random))),
        4 => value(KernelType::Bool, |tree| tree.set("bool_val", random.below(2) as u64)),
        5 => value(KernelType::Double, |tree| tree.set("double_val", double(random))),
        6 => value(KernelType::DoubleList, |tree| {
            tree.set("items", Item::Longs((0..random.below(4)).map(|_| double(random)).collect()))
        }),
        7 => value(KernelType::BoolList, |tree| tree.set("items", Item::Bytes(vec![1; random.below(4)]))),
        _ => value(KernelType::IntList, |tree| tree.set("items", ints(method, random))),
    }
}

fn swap_values(method: &mut Tree, random: &mut Random) -> Option<String> {
    let one = pick_value(method, random, |_| true)?;
    let other = pick_like(method, random, one)?;
    method.tables("values").swap(one, other);
    Some(format!("values {one} and {other} swapped"))
}

fn copy_value(method: &mut Tree, random: &mut Random) -> Option<String> {
    let one = pick_value(method, random, |_| true)?;
    let other = pick_like(method, random, one)?;
    let values = method.tables("values");
    values[one] = values[other].clone();
    Some(format!("values[{one}] = values[{other}]"))
}

fn replace_value(method: &mut Tree, random: &mut Random) -> Option<String> {
    let index = pick_value(method, random, |_| true)?;
    let value = new_value(method, random);
    let text = format!("values[{index}] = {value:?}");
    method.tables("values")[index] = value;
    Some(text)
}

/// Memory of a tensor: that of another one, moved, or none.
fn change_memory(method: &mut Tree, random: &mut Random) -> Option<String> {
    let (one, other) = (pick_tensor(method, random)?, pick_tensor(method, random)?);
    let from = tensor(method, other)?.clone();
    let to = tensor(method, one)?;
    Some(match random.below(6) {
        0 | 1 => {
            *to.get_mut("allocation_info") = from.get("allocation_info").clone();
            format!("memory of {one} = that of {other}")
        }
        2 => {
            *to.get_mut("data_buffer_idx") = from.get("data_buffer_idx").clone();
            format!("data of {one} = those of {other}")
        }
        3 => {
            *to.get_mut("allocation_info") = from.get("allocation_info").clone();
            *to.get_mut("data_buffer_idx") = from.get("data_buffer_idx").clone();
            format!("data and memory of {one} = those of {other}")
        }
        4 => {
            *to.get_mut("allocation_info") = Item::Absent;
            format!("memory of {one} removed")
        }
        _ => {
            let info = member(to, "allocation_info")?;
            let by = random.pick(&[1, 2, 4, 8, 16, 32, 64, 128]);
            let old = info.bits("memory_offset_low");
            let new = if random.chance(50) { old.wrapping_add(by) } else { old.wrapping_sub(by) };
            *info.get_mut("memory_offset_low") = Item::Bits(new);
            format!("offset of {one}: {old} -> {}", new as u32)
        }
    })
}

fn change_type(method: &mut Tree, random: &mut Random) -> Option<String> {
    let (one, other) = (pick_tensor(method, random)?, pick_tensor(method, random)?);
    let others = tensor(method, other)?.bits("scalar_type");
    let new = if random.chance(40) { others } else { random.pick(&[0, 1, 2, 3, 4, 5, 6, 7, 11, 12, 13, 15, 25]) };
    let old = tensor(method, one)?.bits("scalar_type");
    if random.chance(50) {
        tensor(method, one)?.get_mut("scalar_type").clone_from(&Item::Bits(new));
        return Some(format!("type of {one}: {old} -> {new}"));
    }
    each_tensor(method, |tensor| {
        if tensor.bits("scalar_type") == old {
            *tensor.get_mut("scalar_type") = Item::Bits(new);
        }
    });
    Some(format!("type {old} -> {new}"))
}

/// Sizes of a tensor: their order, a number, or the rank; or a size in all tensors.
fn change_sizes(method: &mut Tree, random: &mut Random) -> Option<String> {
    let near = sizes(method);
    let one = pick_tensor(method, random)?;
    let tensor = tensor(method, one)?;
    let Item::Ints(items) = tensor.get_mut("sizes") else { return None };
    match random.below(6) {
        0 => {
            change_items(items, random);
        }
        1 | 2 => {
            let at = random.below(items.len());
            let item = items.get_mut(at)?;
            *item = changed(u64::from(*item), &near, random) as u32;
        }
        3 | 4 => {
            let (at, more) = (random.below(items.len()), random.pick(&[0, 1, 1, 2, 3, 8]));
            let old = *items.get(at)?;
            let new = if random.chance(50) { more } else { old.wrapping_add(more) };
            each_tensor(method, |tensor| {
                if let Item::Ints(items) = tensor.get_mut("sizes") {
                    items.iter_mut().filter(|item| **item == old).for_each(|item| *item = new);
                }
            });
            return Some(format!("size {old} -> {new}"));
        }
        _ => change_rank(items, random),
    }
    let text = format!("sizes of {one} = {items:?}");
    let rank = items.len();
    if let Item::Bytes(order) = tensor.get_mut("dim_order")
        && order.len() != rank
    {
        *order = (0..rank).map(|dim| dim as u8).collect();
    }
    Some(text)
}

/// Adds a dimension of size 1, or merges two.
fn change_rank(items: &mut Vec<u32>, random: &mut Random) {
    if items.len() < 2 || random.chance(50) {
        items.insert(random.below(items.len() + 1), 1);
    } else {
        let at = random.below(items.len() - 1);
        let size = items.remove(at);
        items[at] = items[at].wrapping_mul(size);
    }
}

fn change_dim_order(method: &mut Tree, random: &mut Random) -> Option<String> {
    let (one, other) = (pick_tensor(method, random)?, pick_tensor(method, random)?);
    let from = tensor(method, other)?.get("dim_order").clone();
    let to = tensor(method, one)?.get_mut("dim_order");
    match to {
        Item::Bytes(order) if order.len() > 1 && random.chance(70) => {
            let (one, other) = (random.below(order.len()), random.below(order.len()));
            order.swap(one, other);
        }
        _ => *to = from,
    }
    Some(format!("order of dimensions of {one} = {to:?}"))
}

fn change_dynamism(method: &mut Tree, random: &mut Random) -> Option<String> {
    let one = pick_tensor(method, random)?;
    let new = Item::Bits(random.below(3) as u64);
    let text = format!("dynamism of {one} = {new:?}");
    if random.chance(30) {
        each_tensor(method, |tensor| *tensor.get_mut("shape_dynamism") = new.clone());
        return Some(text + ", of all");
    }
    *tensor(method, one)?.get_mut("shape_dynamism") = new;
    Some(text)
}

/// Returns the position of a random instruction of one of these kinds.
fn pick_instruction(method: &mut Tree, random: &mut Random, kinds: &[InstructionType]) -> Option<(usize, usize)> {
    let mut found = Vec::new();
    for (chain, tree) in method.tables("chains").iter_mut().enumerate() {
        for (index, instruction) in tree.tables("instructions").iter().enumerate() {
            let Item::Table(member) = instruction.get("instr_args") else { continue };
            if kinds.iter().any(|kind| std::ptr::eq(kind.table(), member.schema)) {
                found.push((chain, index));
            }
        }
    }
    (!found.is_empty()).then(|| random.pick(&found))
}

const CALLS: &[InstructionType] = &[InstructionType::KernelCall, InstructionType::DelegateCall];

fn instruction(method: &mut Tree, (chain, index): (usize, usize)) -> Option<&mut Tree> {
    member(&mut method.tables("chains")[chain].tables("instructions")[index], "instr_args")
}

/// The arguments of a call: exchanged, another value, a new value.
fn change_argument(method: &mut Tree, random: &mut Random) -> Option<String> {
    let at = pick_instruction(method, random, CALLS)?;
    let Item::Ints(args) = instruction(method, at)?.get("args").clone() else { return None };
    let (position, other) = (random.below(args.len()), random.below(args.len()));
    let old = *args.get(position)?;
    let mut args = args;
    match random.below(10) {
        0 => args.swap(position, other),
        1 => {
            change_items(&mut args, random);
        }
        2 => args[position] = args[other],
        3 | 4 => {
            args[position] = method.tables("values").len() as u32;
            let value = new_value(method, random);
            method.tables("values").push(value);
        }
        // A copy, so that other calls keep theirs.
        5 => {
            args[position] = method.tables("values").len() as u32;
            let value = method.tables("values").get(old as usize)?.clone();
            method.tables("values").push(value);
        }
        6 => {
            let from = pick_instruction(method, random, CALLS)?;
            if let Item::Ints(others) = instruction(method, from)?.get("args") {
                args[position] = *others.get(position.min(others.len().saturating_sub(1)))?;
            }
        }
        _ => args[position] = pick_like(method, random, old as usize)? as u32,
    }
    let text = format!("args of {at:?} = {args:?}");
    *instruction(method, at)?.get_mut("args") = Item::Ints(args);
    Some(text)
}

fn change_operator_index(method: &mut Tree, random: &mut Random) -> Option<String> {
    let kinds = &[InstructionType::KernelCall];
    let (one, other) = (pick_instruction(method, random, kinds)?, pick_instruction(method, random, kinds)?);
    let (first, second) =
        (instruction(method, one)?.get("op_index").clone(), instruction(method, other)?.get("op_index").clone());
    *instruction(method, one)?.get_mut("op_index") = second;
    if random.chance(50) {
        *instruction(method, other)?.get_mut("op_index") = first;
    }
    Some(format!("operators of {one:?} and {other:?}"))
}

/// Operators with the same kinds of arguments.
static ALIKE: LazyLock<BTreeMap<String, Vec<&'static str>>> = LazyLock::new(|| {
    let mut alike: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for (name, signature) in operators() {
        let kinds: Vec<_> = signature.args.iter().map(|arg| (&arg.kind, arg.role)).collect();
        alike.entry(format!("{kinds:?} {:?}", signature.result)).or_default().push(name);
    }
    alike
});

/// Another operator with the same kinds of arguments.
fn change_operator(method: &mut Tree, random: &mut Random) -> Option<String> {
    let operators = method.tables("operators");
    let at = random.below(operators.len());
    let operator = operators.get_mut(at)?;
    let text = |item: &Item| if let Item::Text(text) = item { String::from_utf8(text.clone()).ok() } else { None };
    let (base, overload) = (text(operator.get("name"))?, text(operator.get("overload")).unwrap_or_default());
    let name = if overload.is_empty() { base } else { format!("{base}.{overload}") };
    let others = ALIKE.values().find(|names| names.contains(&&*name))?;
    let new = random.pick(others);
    let (base, overload) = new.split_once('.').unwrap_or((new, ""));
    *operator.get_mut("name") = Item::Text(base.into());
    *operator.get_mut("overload") = Item::Text(overload.into());
    Some(format!("{name} -> {new}"))
}

fn change_constant(method: &mut Tree, random: &mut Random) -> Option<String> {
    let near = sizes(method);
    let scalars = [KernelType::Int, KernelType::Bool, KernelType::Double];
    let at = pick_value(method, random, |value| scalars.iter().any(|kind| is(value, *kind)))?;
    let value = member(&mut method.tables("values")[at], "val")?;
    let (name, new) = match value.schema.name {
        "Int" => ("int_val", changed(value.bits("int_val"), &near, random)),
        "Bool" => ("bool_val", 1 - value.bits("bool_val").min(1)),
        _ => {
            let old = f64::from_bits(value.bits("double_val"));
            let new = random.pick(&[0.0, 1.0, -1.0, 0.5, -old, old * 2.0, 1e300, 1e-300, f64::INFINITY, f64::NAN]);
            ("double_val", new.to_bits())
        }
    };
    *value.get_mut(name) = Item::Bits(new);
    Some(match name {
        "double_val" => format!("values[{at}] = {:e}", f64::from_bits(new)),
        _ => format!("values[{at}] = {}", new as i64),
    })
}

/// The items of a list: other values, their number and order.
fn change_list(method: &mut Tree, random: &mut Random) -> Option<String> {
    let at = pick_value(method, random, |value| tag(value) >= u64::from(KernelType::IntList.tag()))?;
    let kind = method.tables("values")[at].clone();
    let of = if is(&kind, KernelType::IntList) { KernelType::Int } else { KernelType::Tensor };
    let item = pick_value(method, random, |value| is(value, of)).unwrap_or_default() as u64;
    let item = if random.chance(10) { random.pick(&[u64::MAX, 0, 1, 1000]) } else { item };
    let list = member(&mut method.tables("values")[at], "val")?;
    let doubles = list.schema.name == "DoubleList";
    let text = match list.get_mut("items") {
        Item::Longs(items) if doubles => change_numbers(items, random, |_, random| {
            random.pick(&[0.0, 1.0, -1.0, 0.5, 1e300, f64::INFINITY, f64::NAN]).to_bits()
        }),
        Item::Longs(items) => change_numbers(items, random, |_, _| item),
        Item::Ints(items) => change_numbers(items, random, |_, _| item as u32),
        Item::Bytes(items) => change_numbers(items, random, |old, _| 1 - old.min(1)),
        _ => return None,
    };
    Some(format!("values[{at}] {text}"))
}

/// Values and destinations of moves, jumps and frees.
fn change_control(method: &mut Tree, random: &mut Random) -> Option<String> {
    use InstructionType::{FreeCall, JumpFalseCall, MoveCall};
    let at = pick_instruction(method, random, &[MoveCall, JumpFalseCall, FreeCall])?;
    let count = method.tables("chains")[at.0].tables("instructions").len();
    let tree = instruction(method, at)?;
    let slot = random.below(tree.schema.fields.len());
    let name = tree.schema.fields[slot].name;
    let old = tree.bits(name) as usize;
    let new = match name {
        "destination_instruction" => random.below(count + 1),
        _ => pick_like(method, random, old)?,
    };
    *instruction(method, at)?.get_mut(name) = Item::Bits(new as u64);
    Some(format!("{name} of {at:?}: {old} -> {new}"))
}

/// Inserts a move, a jump or a free; the destinations of jumps stay or move with it.
fn insert_instruction(method: &mut Tree, random: &mut Random) -> Option<String> {
    let one = pick_value(method, random, |_| true)?;
    let other = pick_like(method, random, one)?;
    let chains = method.tables("chains");
    let chain = random.below(chains.len());
    let count = chains.get_mut(chain)?.tables("instructions").len();
    let at = random.below(count + 1);
    let kind = random.pick(&[InstructionType::MoveCall, InstructionType::JumpFalseCall, InstructionType::FreeCall]);
    let tree = Tree::new(kind.table());
    let tree = match kind {
        InstructionType::MoveCall => tree.set("move_from", other as u64).set("move_to", one as u64),
        InstructionType::JumpFalseCall => {
            let condition = pick_value(method, random, |value| is(value, KernelType::Bool)).unwrap_or(one);
            let destination = random.below(count + 2) as u64;
            tree.set("cond_value_index", condition as u64).set("destination_instruction", destination)
        }
        InstructionType::FreeCall | InstructionType::KernelCall | InstructionType::DelegateCall => {
            tree.set("value_index", one as u64)
        }
    };
    let instruction = Tree::new(&INSTRUCTION).set_union("instr_args", kind.tag(), tree);
    let instructions = method.tables("chains")[chain].tables("instructions");
    instructions.insert(at, instruction);
    if random.chance(70) {
        for (_, instruction) in instructions.iter_mut().enumerate().filter(|(index, _)| *index != at) {
            let Some(jump) = member(instruction, "instr_args") else { continue };
            if jump.schema.name == "JumpFalseCall" {
                let old = jump.bits("destination_instruction");
                let new = old + u64::from(old > at as u64);
                *jump.get_mut("destination_instruction") = Item::Bits(new);
            }
        }
    }
    Some(format!("{kind:?} inserted at {at}: {one}, {other}"))
}

/// Drops, duplicates, moves or swaps instructions or chains.
fn change_instructions(method: &mut Tree, random: &mut Random) -> Option<String> {
    let chains = method.tables("chains");
    if random.chance(10) {
        return Some(format!("chains: {}", change_items(chains, random)));
    }
    let chain = random.below(chains.len());
    Some(format!("instructions: {}", change_items(chains.get_mut(chain)?.tables("instructions"), random)))
}

/// Inputs and outputs: other values, their number and order.
fn change_interface(method: &mut Tree, random: &mut Random) -> Option<String> {
    let name = random.pick(&["inputs", "outputs"]);
    let other = if name == "inputs" { "outputs" } else { "inputs" };
    let one = pick_value(method, random, |_| true)?;
    let others = method.get(other).clone();
    let Item::Ints(items) = method.get(name).clone() else { return None };
    let like = items.first().and_then(|first| pick_like(method, random, *first as usize)).unwrap_or(one) as u32;
    let Item::Ints(items) = method.get_mut(name) else { return None };
    match others {
        Item::Ints(others) if random.chance(10) => *items = others,
        _ => _ = change_numbers(items, random, |_, _| like),
    }
    Some(format!("{name} = {items:?}"))
}
