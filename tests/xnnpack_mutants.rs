//! Structured mutants of the graphs of XNNPACK delegates, and operations on all combinations of element types: those that `check` accepts
//! must not crash the real runtime. The mutants that it refuses although they run are counted by rule.
//!
//! Unlike `mutants.rs`, which changes bytes, it changes fields that it knows: ids, types, sizes, flags, parameters, quantization, lists of
//! values and operations.
//!
//! | variable | meaning |
//! |---|---|
//! | `PTE_EMIT_XNNPACK_SEED` | seed, a number; printed; 1 by default |
//! | `PTE_EMIT_XNNPACK_ACCEPTED` | number of accepted mutants after which the run ends; by default a sample of less than a minute |
//! | `PTE_EMIT_PROGRAMS` | a folder of further `.pte` files to mutate |
//! | `PTE_EMIT_XNNPACK_KEEP` | a folder for accepted mutants that crash |

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::io::{Seek, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use pte_emit::check::{self, DataFile, RuleSeverity, ValidatorOptions};
use pte_emit::data::{Blob, Origin};
use pte_emit::delegate::xnnpack::{self, Operation};
use pte_emit::format::Kind;
use pte_emit::format::table::Union;
use pte_emit::{Options, reader};

mod support;

use support::xnnpack::{Item, Sections, Tree};
use support::{files_below, root, runner};

/// Accepted mutants in a sample.
const SAMPLE: usize = 2_000;

/// Mutants of one file that are made, checked and run together.
const BATCH: usize = 400;

/// Largest file that is mutated, in bytes: the driver copies it for each mutant.
const MAX_FILE: usize = 1 << 17;

/// Bytes for the growth of a graph.
const SLACK: usize = 512;

/// Accepted mutants between two lines of progress.
const PROGRESS: usize = 10_000;

/// A refused mutant in this many is run.
const REFUSED: usize = 6;

/// Accepted mutants that may crash, in 100,000.
const ALLOWED: usize = 1;

/// Generator splitmix64, for reproducible mutants.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound.max(1) as u64) as usize
    }

    fn pick<T: Copy>(&mut self, items: &[T]) -> T {
        items[self.below(items.len())]
    }
}

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
                let graph = Tree::graph(&payload[from..from + size]);
                let identifier =
                    xnnpack::IDENTIFIERS.into_iter().find(|id| id.as_bytes() == &payload[from + 4..from + 8])?;
                let written = graph.write(identifier);
                let payload = sections.replace(&payload, &written, SLACK);
                let mut program = program.clone();
                program.blobs[blob] = Blob::bytes(payload.clone());
                let bytes = program.to_files(&Options::default()).ok()?.program_file()?.to_vec().ok()?;
                let at = bytes.windows(written.len()).position(|window| window == written)?;
                let room = written.len() + SLACK;
                Some(Base { name: name.to_owned(), bytes, data: data.to_vec(), graph, identifier, at, room })
            })
            .collect()
    }

    /// Returns the bytes of the file that differ if the graph is replaced; `None` if it does not fit.
    fn changes(&self, graph: &Tree) -> Option<Vec<(usize, u8)>> {
        let mut written = graph.write(self.identifier);
        if written.len() > self.room {
            return None;
        }
        written.resize(self.room, 0);
        let changed = written.iter().enumerate().map(|(offset, byte)| (self.at + offset, *byte));
        Some(changed.filter(|(at, byte)| self.bytes[*at] != *byte).collect())
    }
}

fn apply(bytes: &[u8], changes: &[(usize, u8)]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    for (at, byte) in changes {
        bytes[*at] = *byte;
    }
    bytes
}

/// Position of a table in a tree: slots, and the index in a vector.
type TablePath = Vec<(usize, usize)>;

fn paths(tree: &Tree, here: &TablePath, found: &mut Vec<TablePath>) {
    found.push(here.clone());
    for (slot, item) in tree.fields.iter().enumerate() {
        let children = match item {
            Item::Table(child) => std::slice::from_ref(child),
            Item::Tables(children) => children,
            Item::Absent | Item::Bits(_) | Item::Ints(_) | Item::Bytes(_) | Item::Text(_) => &[],
        };
        for (index, child) in children.iter().enumerate() {
            paths(child, &[&**here, &[(slot, index)]].concat(), found);
        }
    }
}

fn table<'t>(tree: &'t mut Tree, path: &[(usize, usize)]) -> &'t mut Tree {
    let Some(((slot, index), rest)) = path.split_first() else { return tree };
    match &mut tree.fields[*slot] {
        Item::Table(child) => table(child, rest),
        Item::Tables(children) => table(&mut children[*index], rest),
        _ => panic!("no table in slot {slot} of {}", tree.schema.name),
    }
}

/// Calls a function with each table.
fn each(tree: &mut Tree, visit: &mut dyn FnMut(&mut Tree)) {
    visit(tree);
    for item in &mut tree.fields {
        match item {
            Item::Table(child) => each(child, visit),
            Item::Tables(children) => children.iter_mut().for_each(|child| each(child, visit)),
            Item::Absent | Item::Bits(_) | Item::Ints(_) | Item::Bytes(_) | Item::Text(_) => {}
        }
    }
}

const NUMBERS: &[u64] = &[
    0,
    1,
    2,
    3,
    4,
    5,
    6,
    7,
    8,
    9,
    12,
    16,
    31,
    32,
    33,
    64,
    100,
    127,
    128,
    255,
    256,
    1000,
    4095,
    4096,
    65_535,
    65_536,
    1 << 20,
    1 << 24,
    0x7fff_ffff,
    0x8000_0000,
    0xffff_fffe,
    0xffff_ffff,
    u64::MAX,
];

const FLOATS: &[f32] =
    &[0.0, -0.0, 1.0, -1.0, 0.5, 1e-3, 1e-45, 1e-30, 1e30, 255.0, f32::MAX, f32::INFINITY, f32::NEG_INFINITY, f32::NAN];

const FLOAT_FIELDS: &[&str] = &["scale", "output_min", "output_max", "padding_value", "alpha"];

/// Changes a number; `others` are those of fields of the same name.
fn changed(old: u64, others: &[u64], random: &mut Random) -> u64 {
    match random.below(5) {
        0 | 1 if !others.is_empty() => random.pick(others),
        0..=2 => random.pick(NUMBERS),
        3 => old.wrapping_add(random.pick(&[1, 2, 4, u64::MAX, u64::MAX - 1])),
        _ => random.pick(&[old.wrapping_mul(2), old / 2, old.wrapping_mul(3)]),
    }
}

fn change_items<T: Clone>(items: &mut Vec<T>, random: &mut Random) -> &'static str {
    let (one, other) = (random.below(items.len()), random.below(items.len()));
    match random.below(4) {
        0 if !items.is_empty() => {
            items.remove(one);
            "drop"
        }
        1 if !items.is_empty() => {
            let item = items[one].clone();
            items.insert(other, item);
            "duplicate"
        }
        2 if !items.is_empty() => {
            let item = items.remove(one);
            items.insert(other.min(items.len()), item);
            "move"
        }
        _ if !items.is_empty() => {
            items.swap(one, other);
            "swap"
        }
        _ => "nothing",
    }
}

/// Changes one field of a table.
fn change_field(graph: &mut Tree, random: &mut Random) -> String {
    let mut all = Vec::new();
    paths(graph, &Vec::new(), &mut all);
    let path = &all[random.below(all.len())];
    let count = table(graph, path).fields.len();
    let mut slot = random.below(count);
    // Tables have changes of their own; most of the others fields are there.
    for _ in 0..4 {
        let item = &table(graph, path).fields[slot];
        if !matches!(item, Item::Table(_) | Item::Absent) {
            break;
        }
        slot = random.below(count);
    }
    let field = &table(graph, path).schema.fields[slot];
    let (mut bits, mut ints) = (Vec::new(), Vec::new());
    each(graph, &mut |tree| {
        for (other, item) in tree.schema.fields.iter().zip(&tree.fields) {
            // Ids are compared with those of values.
            let alike = other.name == field.name || (field.name.ends_with("_id") && other.name == "id_out");
            match item {
                Item::Bits(number) if alike => bits.push(*number),
                Item::Ints(items) if alike => ints.extend(items.iter().map(|item| u64::from(*item))),
                Item::Bits(_) | Item::Ints(_) | Item::Absent | Item::Bytes(_) | Item::Text(_) => {}
                Item::Table(_) | Item::Tables(_) => {}
            }
        }
    });
    let tree = table(graph, path);
    let name = format!("{}.{}", tree.schema.name, field.name);
    let item = &mut tree.fields[slot];
    if random.below(20) == 0 {
        *item = Item::Absent;
        return format!("{name} removed");
    }
    if matches!(item, Item::Absent) {
        *item = match field.kind {
            Kind::Ints => Item::Ints(Vec::new()),
            Kind::Text => Item::Text(b"x".to_vec()),
            Kind::Table(schema) => Item::Table(Tree::new(schema)),
            Kind::Bytes | Kind::AlignedBytes(_) => Item::Bytes(vec![1; 8]),
            Kind::Tables(_) | Kind::Union(_) => Item::Absent,
            _ => Item::Bits(0),
        };
    }
    match item {
        Item::Bits(number) if FLOAT_FIELDS.contains(&field.name) => {
            *number = u64::from(random.pick(FLOATS).to_bits());
            format!("{name} = {}", f32::from_bits(*number as u32))
        }
        Item::Bits(number) => {
            *number = changed(*number, &bits, random);
            format!("{name} = {number}")
        }
        Item::Ints(items) if items.is_empty() || random.below(4) == 0 => {
            let number = changed(0, &ints, random) as u32;
            match random.below(3) {
                0 if !items.is_empty() => {
                    items.pop();
                }
                1 => items.insert(0, number),
                _ => items.push(number),
            }
            format!("{name} = {:?}", &items[..items.len().min(8)])
        }
        Item::Ints(items) => {
            let at = random.below(items.len());
            if random.below(4) == 0 {
                change_items(items, random);
            } else {
                items[at] = changed(u64::from(items[at]), &ints, random) as u32;
            }
            format!("{name} = {:?}", &items[..items.len().min(8)])
        }
        Item::Bytes(items) => {
            items.truncate(random.below(items.len()));
            format!("{name} of {} bytes", items.len())
        }
        Item::Text(items) => {
            let at = random.below(items.len());
            if let Some(byte) = items.get_mut(at) {
                *byte ^= 1;
            }
            format!("{name} changed")
        }
        Item::Tables(items) => format!("{name}: {}", change_items(items, random)),
        Item::Table(_) | Item::Absent => format!("{name} kept"),
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
            let operation = random.pick(Operation::ALL);
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
            let (mut all, mut seen) = (Vec::new(), 0);
            paths(graph, &Vec::new(), &mut all);
            all.retain(|path| table(graph, path).schema.name == "XNNQuantizedTensorValue");
            if let Some(path) = (!all.is_empty()).then(|| &all[random.below(all.len())]) {
                let tree = table(graph, path);
                seen = random.below(xnnpack::QUANT_PARAMS.len());
                let (tag, union) = (tree.slot("quant_params_type"), tree.slot("quant_params"));
                tree.fields[tag] = Item::Bits(seen as u64 + 1);
                let mut params = Tree::new(xnnpack::QUANT_PARAMS[seen]);
                if let Item::Table(old) = &tree.fields[union] {
                    for (slot, field) in params.schema.fields.iter().enumerate() {
                        let alike = |old: &&pte_emit::format::Field| {
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
        _ => change_field(graph, random),
    }
}

/// Programs of the repository, of the folder in `PTE_EMIT_PROGRAMS`, and of single operations, which have a graph.
fn bases() -> Vec<Base> {
    let mut files = files_below(&root().join("tests/golden/upstream"), &["pte"]);
    if let Some(folder) = std::env::var_os("PTE_EMIT_PROGRAMS") {
        files.extend(files_below(Path::new(&folder), &["pte"]));
    }
    let mut bases = Vec::new();
    for path in files {
        let bytes = fs::read(&path).unwrap();
        if bytes.len() > MAX_FILE || !bytes.windows(14).any(|window| window == b"XnnpackBackend") {
            continue;
        }
        let stem = path.file_stem().unwrap().to_string_lossy().into_owned();
        let data = files_below(path.parent().unwrap(), &["ptd"]);
        let named = data.iter().filter(|path| path.file_name().unwrap().to_string_lossy().starts_with(&stem));
        let read =
            |paths: Vec<&PathBuf>| -> Vec<Vec<u8>> { paths.iter().map(|path| fs::read(path).unwrap()).collect() };
        // The `.ptd` files of the program, if it needs any.
        let sets = [Vec::new(), read(named.collect()), read(data.iter().collect())];
        let Some(data) = sets.into_iter().find(|data| errors(&bytes, data).is_empty()) else { continue };
        bases.extend(Base::of(&path.display().to_string(), &bytes, &data));
    }
    for (operation, types) in EXAMPLES {
        let bytes = support::xnnpack::program(*operation, types, true);
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

/// Variant of a file for the driver: changed bytes, and its length.
#[derive(Default)]
struct Variant {
    changes: Vec<(usize, u8)>,
    length: Option<usize>,
}

impl Variant {
    /// Returns a file as a variant of one that is not shorter.
    fn of(bytes: &[u8], base: &[u8]) -> Variant {
        let changed = bytes.iter().zip(base).enumerate().filter(|(_, (new, old))| new != old);
        Variant { changes: changed.map(|(at, (new, _))| (at, *new)).collect(), length: Some(bytes.len()) }
    }
}

/// Outcomes of variants of a file in the runtime.
fn run(driver: &Path, bytes: &[u8], data: &[Vec<u8>], variants: &[Variant]) -> Vec<String> {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, bytes: &[u8]| {
        let path = folder.path().join(name);
        fs::write(&path, bytes).unwrap();
        path
    };
    let mut lines = tempfile::tempfile().unwrap();
    let mut text = String::new();
    for Variant { changes, length } in variants {
        changes.iter().for_each(|(at, byte)| write!(text, "{at}={byte} ").unwrap());
        match length {
            Some(length) => write!(text, "<{length}").unwrap(),
            None => text.truncate(text.trim_end_matches(' ').len()),
        }
        text.push('\n');
    }
    lines.write_all(text.as_bytes()).unwrap();
    lines.rewind().unwrap();
    let mut command = Command::new(driver);
    command.arg(write("base", bytes)).args(["--verify", "full", "--loader", "apart"]);
    for (number, data) in data.iter().enumerate() {
        command.arg("--data").arg(write(&number.to_string(), data));
    }
    // glibc fills allocations, to detect the use of uninitialized memory.
    command.env("MALLOC_PERTURB_", "165");
    let output = command.stdin(Stdio::from(lines)).stderr(Stdio::inherit()).output().unwrap();
    assert!(output.status.success(), "the driver ended with {}", output.status);
    let mut answers = vec![String::new(); variants.len()];
    for line in String::from_utf8(output.stdout).unwrap().lines() {
        let (number, answer) = line.split_once(' ').unwrap();
        answers[number.parse::<usize>().unwrap()] = answer.to_owned();
    }
    assert!(answers.iter().all(|answer| !answer.is_empty()), "missing outcomes of the driver");
    answers
}

fn crashed(answer: &str) -> bool {
    ["signal", "timeout", "exit"].iter().any(|word| answer.starts_with(word))
}

/// Errors of `check`: rule, found and expected.
fn errors(bytes: &[u8], data: &[Vec<u8>]) -> Vec<(&'static str, String)> {
    let open = |bytes: &Vec<u8>| DataFile::open("data", &Origin::Bytes(bytes.as_slice().into())).unwrap();
    let options = ValidatorOptions { with: data.iter().map(open).collect(), ..ValidatorOptions::default() };
    let findings = check::file(&Origin::Bytes(bytes.into()), &options).unwrap();
    let errors = findings.list().iter().filter(|finding| finding.rule.severity <= RuleSeverity::Invalid);
    errors.map(|finding| (finding.rule.id, finding.found.clone())).collect()
}

/// Results.
#[derive(Default)]
struct Tally {
    mutants: usize,
    accepted: usize,
    /// Accepted mutants that the runtime rejects, by outcome.
    rejected_by_runtime: BTreeMap<String, usize>,
    /// Accepted mutants that crash.
    crashes: Vec<String>,
    /// Refused mutants that were run.
    refused: usize,
    /// Those of them that run, by rule: number and examples.
    harmless: BTreeMap<&'static str, (usize, Vec<String>)>,
}

impl Tally {
    fn merge(&mut self, other: Tally) {
        self.mutants += other.mutants;
        self.accepted += other.accepted;
        self.refused += other.refused;
        self.crashes.extend(other.crashes);
        for (key, number) in other.rejected_by_runtime {
            *self.rejected_by_runtime.entry(key).or_default() += number;
        }
        for (key, (number, examples)) in other.harmless {
            let entry = self.harmless.entry(key).or_default();
            entry.0 += number;
            entry.1.extend(examples);
        }
    }

    fn report(&self) -> String {
        let mut text = String::new();
        writeln!(text, "{} mutants, {} accepted, {} crash", self.mutants, self.accepted, self.crashes.len()).unwrap();
        writeln!(text, "accepted, but rejected by the runtime: {:?}", self.rejected_by_runtime).unwrap();
        writeln!(text, "refused, of {} that were run the runtime executes:", self.refused).unwrap();
        for (rule, (number, examples)) in &self.harmless {
            writeln!(text, "{number:7} {rule}").unwrap();
            for example in examples.iter().take(40) {
                writeln!(text, "          {example}").unwrap();
            }
        }
        text
    }
}

fn batch(driver: &Path, base: &Base, random: &mut Random) -> Tally {
    let mut found = Tally::default();
    let mut variants = vec![Variant::default()];
    let mut described = vec![(String::new(), Vec::new())];
    for _ in 0..BATCH {
        let mut graph = base.graph.clone();
        let steps: Vec<String> = (0..random.pick(&[1, 1, 2, 3])).map(|_| mutate(&mut graph, random)).collect();
        let Some(changes) = base.changes(&graph) else { continue };
        if changes.is_empty() {
            continue;
        }
        found.mutants += 1;
        let errors = errors(&apply(&base.bytes, &changes), &base.data);
        if errors.is_empty() || random.below(REFUSED) == 0 {
            found.accepted += usize::from(errors.is_empty());
            found.refused += usize::from(!errors.is_empty());
            variants.push(Variant { changes, length: None });
            described.push((steps.join("; "), errors));
        }
    }
    let answers = run(driver, &base.bytes, &base.data, &variants);
    let unchanged = errors(&base.bytes, &base.data);
    if !answers[0].starts_with("ok") || !unchanged.is_empty() {
        found.crashes.push(format!("{}: the unmodified file: {}, {unchanged:?}", base.name, answers[0]));
        return found;
    }
    for (number, (answer, (steps, errors))) in answers.iter().zip(&described).enumerate().skip(1) {
        match errors.first() {
            None if crashed(answer) => {
                found.crashes.push(format!("{}: {steps} -> {answer}", base.name));
                if let Some(folder) = std::env::var_os("PTE_EMIT_XNNPACK_KEEP") {
                    fs::create_dir_all(&folder).unwrap();
                    let name = format!("{:016x}.pte", random.next());
                    fs::write(Path::new(&folder).join(&name), apply(&base.bytes, &variants[number].changes)).unwrap();
                    found.crashes.last_mut().unwrap().push_str(&format!(" [{name}]"));
                }
            }
            None if !answer.starts_with("ok") => *found.rejected_by_runtime.entry(answer.clone()).or_default() += 1,
            Some((rule, message)) if answer.starts_with("ok") => {
                let entry = found.harmless.entry(rule).or_default();
                entry.0 += 1;
                if errors.len() == 1 && entry.1.len() < 3 {
                    entry.1.push(format!("{}: {steps}: {message}", base.name));
                }
            }
            None | Some(_) => {}
        }
    }
    found
}

fn variable(name: &str) -> Option<u64> {
    Some(std::env::var(name).ok()?.parse().unwrap_or_else(|_| panic!("{name} is a number")))
}

#[test]
#[ignore = "downloads the ExecuTorch runtime from a package index; run it with `cargo test --test xnnpack_mutants -- --ignored`"]
fn accepted_graphs_do_not_crash_the_runtime() {
    let driver = runner::locate().with_file_name("mutants");
    let seed = variable("PTE_EMIT_XNNPACK_SEED").unwrap_or(1);
    let target = variable("PTE_EMIT_XNNPACK_ACCEPTED").map_or(SAMPLE, |number| number as usize);
    println!("seed {seed}");
    let bases = bases();
    assert!(bases.len() > 40, "{} programs", bases.len());
    let (next, accepted, sum) = (AtomicUsize::new(0), AtomicUsize::new(0), Mutex::new(Tally::default()));
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                while accepted.load(Ordering::Relaxed) < target {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    let mut random = Random(seed.wrapping_mul(0x9e37_79b9).wrapping_add(number as u64) << 8);
                    // All in turn, from one that depends on the seed.
                    let base = &bases[(number + seed as usize % bases.len()) % bases.len()];
                    let found = batch(&driver, base, &mut random);
                    let before = accepted.fetch_add(found.accepted, Ordering::Relaxed);
                    let mut sum = sum.lock().unwrap();
                    sum.merge(found);
                    if before / PROGRESS != accepted.load(Ordering::Relaxed) / PROGRESS {
                        println!("{} accepted, {} crash", sum.accepted, sum.crashes.len());
                    }
                }
            });
        }
    });
    let found = sum.into_inner().unwrap();
    println!("{}", found.report());
    let shown = &found.crashes[..found.crashes.len().min(100)];
    assert!(
        found.crashes.len() <= found.accepted * ALLOWED / 100_000,
        "{} crash:\n{}",
        found.crashes.len(),
        shown.join("\n")
    );
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

/// Operations that the runtime executes on other types of outputs: it writes elements of the type of the input, also beyond the end of the
/// output, or of integers.
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

/// Returns `true` if the operands are arguments of these types: other values are constants, or XNNPACK removes the operation that writes them.
fn are_arguments(types: &[i16]) -> bool {
    types.iter().all(|code| !xnnpack::DATATYPES[*code as usize].tensors.is_empty())
}

#[test]
#[ignore = "downloads the ExecuTorch runtime from a package index; run it with `cargo test --test xnnpack_mutants -- --ignored`"]
fn types_of_operands_are_those_that_the_runtime_has() {
    let driver = runner::locate().with_file_name("mutants");
    let only = std::env::var("PTE_EMIT_OPERATOR").unwrap_or_default();
    // One in this many combinations of more than two operands.
    let sample = variable("PTE_EMIT_XNNPACK_ACCEPTED").map_or(60, |_| 1);
    let mut random = Random(variable("PTE_EMIT_XNNPACK_SEED").unwrap_or(1));
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
                    let bytes = support::xnnpack::program(*operation, &types, bias);
                    let judged = are_arguments(&types) || has_bias;
                    let judged = judged && !OTHER_OUTPUTS.contains(operation);
                    programs.push((format!("{operation:?} {names:?} bias {bias}"), bytes, judged));
                }
            }
        }
        let mut executed = 0;
        for chunk in programs.chunks(BATCH) {
            // One base for the driver: the longest program.
            let base = chunk.iter().map(|(_, bytes, _)| bytes).max_by_key(|bytes| bytes.len()).unwrap();
            let variants: Vec<Variant> = chunk.iter().map(|(_, bytes, _)| Variant::of(bytes, base)).collect();
            for ((name, bytes, judged), answer) in chunk.iter().zip(run(&driver, base, &[], &variants)) {
                let errors = errors(bytes, &[]);
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
