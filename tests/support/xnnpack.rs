//! Graphs of XNNPACK payloads as trees that tests change and write again, and programs with one operation.
//!
//! Trees are read from valid files only; nothing here validates.

use pte_emit::delegate::xnnpack::{self, Datatype, Operation, Quantization};
use pte_emit::format::table::Union;
use pte_emit::format::{Kind, ScalarType, TableSchema};
use pte_emit::{MethodBuilder, Options, Resolved};

/// A table.
#[derive(Debug, Clone)]
pub struct Tree {
    pub schema: &'static TableSchema,
    /// By slot.
    pub fields: Vec<Item>,
}

/// A field of a table.
#[derive(Debug, Clone)]
pub enum Item {
    Absent,
    /// A number or a tag, as its bits.
    Bits(u64),
    Ints(Vec<u32>),
    Bytes(Vec<u8>),
    Text(Vec<u8>),
    Table(Tree),
    Tables(Vec<Tree>),
}

/// Size of a number in bytes.
fn width(kind: Kind) -> usize {
    match kind {
        Kind::UnionTag | Kind::Bool | Kind::Byte | Kind::Enum(_) => 1,
        Kind::Short => 2,
        Kind::ULong | Kind::Long | Kind::Double => 8,
        _ => 4,
    }
}

impl Tree {
    /// A table without fields.
    pub fn new(schema: &'static TableSchema) -> Tree {
        Tree { schema, fields: vec![Item::Absent; schema.fields.len()] }
    }

    /// Slot of a field.
    pub fn slot(&self, name: &str) -> usize {
        let slot = self.schema.fields.iter().position(|field| field.name == name);
        slot.unwrap_or_else(|| panic!("no field {name} in {}", self.schema.name))
    }

    pub fn set(mut self, name: &str, item: impl Into<Item>) -> Tree {
        let slot = self.slot(name);
        self.fields[slot] = item.into();
        self
    }

    /// Sets a union.
    fn set_union(self, name: &str, tag: u8, table: Tree) -> Tree {
        self.set(&format!("{name}_type"), u64::from(tag)).set(name, Item::Table(table))
    }

    /// Reads the graph of a FlatBuffer.
    pub fn graph(bytes: &[u8]) -> Tree {
        read_table(bytes, follow(bytes, 0), &xnnpack::GRAPH)
    }

    /// Writes a FlatBuffer.
    pub fn write(&self, identifier: &str) -> Vec<u8> {
        let mut bytes = vec![0; 8];
        bytes[4..].copy_from_slice(identifier.as_bytes());
        let root = write_table(&mut bytes, self);
        bytes[..4].copy_from_slice(&(root as u32).to_le_bytes());
        bytes
    }

    /// The items of a vector of tables; none if it is absent.
    pub fn tables(&mut self, name: &str) -> &mut Vec<Tree> {
        let slot = self.slot(name);
        if !matches!(self.fields[slot], Item::Tables(_)) {
            self.fields[slot] = Item::Tables(Vec::new());
        }
        match &mut self.fields[slot] {
            Item::Tables(tables) => tables,
            _ => unreachable!(),
        }
    }
}

impl From<u64> for Item {
    fn from(bits: u64) -> Item {
        Item::Bits(bits)
    }
}

impl From<f32> for Item {
    fn from(number: f32) -> Item {
        Item::Bits(u64::from(number.to_bits()))
    }
}

impl From<&[u64]> for Item {
    fn from(items: &[u64]) -> Item {
        Item::Ints(items.iter().map(|item| *item as u32).collect())
    }
}

fn number(bytes: &[u8], at: usize, width: usize) -> u64 {
    let mut word = [0; 8];
    word[..width].copy_from_slice(&bytes[at..at + width]);
    u64::from_le_bytes(word)
}

fn follow(bytes: &[u8], at: usize) -> usize {
    at + number(bytes, at, 4) as usize
}

fn read_table(bytes: &[u8], at: usize, schema: &'static TableSchema) -> Tree {
    let vtable = (at as i64 - i64::from(number(bytes, at, 4) as i32)) as usize;
    let size = number(bytes, vtable, 2) as usize;
    let mut tree = Tree::new(schema);
    let mut tag = 0;
    for (slot, field) in schema.fields.iter().enumerate() {
        let entry = 4 + 2 * slot;
        let offset = if entry < size { number(bytes, vtable + entry, 2) as usize } else { 0 };
        if offset == 0 {
            continue;
        }
        let at = at + offset;
        let vector = |width: usize| {
            let from = follow(bytes, at);
            let count = number(bytes, from, 4) as usize;
            (from + 4, count, bytes[from + 4..from + 4 + count * width].to_vec())
        };
        tree.fields[slot] = match field.kind {
            Kind::UnionTag => {
                tag = number(bytes, at, 1) as usize;
                Item::Bits(tag as u64)
            }
            Kind::Union(members) if tag == 0 || tag > members.len() => Item::Absent,
            Kind::Union(members) => Item::Table(read_table(bytes, follow(bytes, at), members[tag - 1])),
            Kind::Table(schema) => Item::Table(read_table(bytes, follow(bytes, at), schema)),
            Kind::Tables(schema) => {
                let (from, count, _) = vector(4);
                let item = |index: usize| read_table(bytes, follow(bytes, from + 4 * index), schema);
                Item::Tables((0..count).map(item).collect())
            }
            Kind::Ints => {
                let items = vector(4).2.chunks(4).map(|word| number(word, 0, 4) as u32).collect();
                Item::Ints(items)
            }
            Kind::Bytes | Kind::AlignedBytes(_) | Kind::Bools => Item::Bytes(vector(1).2),
            Kind::Text => Item::Text(vector(1).2),
            kind => Item::Bits(number(bytes, at, width(kind))),
        };
    }
    tree
}

fn align(bytes: &mut Vec<u8>, alignment: usize) {
    bytes.resize(bytes.len().next_multiple_of(alignment), 0);
}

fn put(bytes: &mut [u8], at: usize, target: usize) {
    bytes[at..at + 4].copy_from_slice(&((target - at) as u32).to_le_bytes());
}

/// Writes the vtable, the table, and then what it refers to; returns the offset of the table.
fn write_table(bytes: &mut Vec<u8>, tree: &Tree) -> usize {
    align(bytes, 2);
    let mut offsets = Vec::new();
    let mut end = 4;
    for (item, field) in tree.fields.iter().zip(tree.schema.fields) {
        if matches!(item, Item::Absent) {
            offsets.push(0);
            continue;
        }
        let width = width(field.kind);
        let at = usize::next_multiple_of(end, width);
        offsets.push(at);
        end = at + width;
    }
    let vtable = bytes.len();
    bytes.extend((4 + 2 * offsets.len() as u16).to_le_bytes());
    bytes.extend((end as u16).to_le_bytes());
    offsets.iter().for_each(|offset| bytes.extend((*offset as u16).to_le_bytes()));
    align(bytes, 8);
    let table = bytes.len();
    bytes.resize(table + end, 0);
    bytes[table..table + 4].copy_from_slice(&((table - vtable) as u32).to_le_bytes());
    for ((item, field), offset) in tree.fields.iter().zip(tree.schema.fields).zip(offsets) {
        let at = table + offset;
        let vector = |bytes: &mut Vec<u8>, count: usize, alignment: usize, data: &[u8]| {
            bytes.resize((bytes.len() + 4).next_multiple_of(alignment) - 4, 0);
            let from = bytes.len();
            put(bytes, at, from);
            bytes.extend((count as u32).to_le_bytes());
            bytes.extend(data);
            from + 4
        };
        match item {
            Item::Absent => {}
            Item::Bits(bits) => {
                let width = width(field.kind);
                bytes[at..at + width].copy_from_slice(&bits.to_le_bytes()[..width]);
            }
            Item::Ints(items) => {
                let data: Vec<u8> = items.iter().flat_map(|item| item.to_le_bytes()).collect();
                vector(bytes, items.len(), 4, &data);
            }
            Item::Bytes(items) => {
                vector(bytes, items.len(), 16, items);
            }
            Item::Text(items) => {
                vector(bytes, items.len(), 4, items);
                bytes.push(0);
            }
            Item::Table(child) => {
                let child = write_table(bytes, child);
                put(bytes, at, child);
            }
            Item::Tables(children) => {
                let from = vector(bytes, children.len(), 4, &vec![0; 4 * children.len()]);
                for (index, child) in children.iter().enumerate() {
                    let child = write_table(bytes, child);
                    put(bytes, from + 4 * index, child);
                }
            }
        }
    }
    table
}

/// Location of the graph in a payload, and of its constants: offset and size.
#[derive(Debug, Clone, Copy)]
pub struct Sections {
    pub graph: (usize, usize),
    /// `None` without a header.
    pub constants: Option<(usize, usize)>,
}

/// Size of a header, in bytes.
const HEADER: usize = 32;

impl Sections {
    /// Reads the header of a payload; `None` if it has no graph.
    pub fn of(payload: &[u8]) -> Option<Sections> {
        let identifier = |at: usize| {
            let found = payload.get(at + 4..at + 8)?;
            xnnpack::IDENTIFIERS.iter().find(|identifier| identifier.as_bytes() == found)
        };
        if payload.get(4..8) != Some(b"XH00") {
            identifier(0)?;
            return Some(Sections { graph: (0, payload.len()), constants: None });
        }
        let word = |at: usize| number(payload, at, 4) as usize;
        identifier(word(10))?;
        let constants = (word(18), number(payload, 22, 8) as usize);
        Some(Sections { graph: (word(10), word(14)), constants: Some(constants) })
    }

    /// Returns a payload with another graph, which has `slack` more bytes.
    pub fn replace(&self, payload: &[u8], graph: &[u8], slack: usize) -> Vec<u8> {
        let Some((from, size)) = self.constants else {
            return [graph, &vec![0; slack]].concat();
        };
        build_payload(graph, slack, &payload[from..from + size])
    }
}

/// Returns a payload with a header.
fn build_payload(graph: &[u8], slack: usize, constants: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0; HEADER];
    bytes.extend(graph);
    bytes.resize(bytes.len() + slack, 0);
    let end = bytes.len();
    align(&mut bytes, 16);
    let from = bytes.len();
    bytes.extend(constants);
    bytes[4..8].copy_from_slice(b"XH00");
    bytes[8..10].copy_from_slice(&30u16.to_le_bytes());
    for (at, number) in [(10, HEADER), (14, end - HEADER), (18, from), (22, constants.len())] {
        bytes[at..at + 4].copy_from_slice(&(number as u32).to_le_bytes());
    }
    bytes
}

/// Role of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    Input,
    Output,
    Constant,
    Inner,
}

/// A graph under construction.
pub struct GraphBuilder {
    graph: Tree,
    constants: Vec<u8>,
    externals: Vec<(ScalarType, Vec<i32>, Role)>,
}

/// Returns a type of the table.
fn datatype(code: i16) -> &'static Datatype {
    &xnnpack::DATATYPES[code as usize]
}

impl GraphBuilder {
    pub fn new() -> GraphBuilder {
        let mut graph = Tree::new(&xnnpack::GRAPH).set("version", Item::Text(b"0".to_vec()));
        // Index 0 means no constant.
        graph.tables("constant_data").push(Tree::new(&xnnpack::CONSTANT_DATA_OFFSET));
        graph.tables("xnodes");
        GraphBuilder { graph, constants: Vec::new(), externals: Vec::new() }
    }

    /// Adds a constant and returns its index.
    fn constant(&mut self, bytes: &[u8]) -> u64 {
        align(&mut self.constants, 16);
        let offset = self.constants.len() as u64;
        self.constants.extend(bytes);
        let list = self.graph.tables("constant_data");
        let entry = Tree::new(&xnnpack::CONSTANT_DATA_OFFSET);
        list.push(entry.set("offset", offset).set("size", bytes.len() as u64));
        list.len() as u64 - 1
    }

    /// Adds a value and returns its id. Channels are the dimension `channel`.
    pub fn value(&mut self, code: i16, dims: &[u64], role: Role, channel: usize) -> u64 {
        let id = self.graph.tables("xvalues").len() as u64;
        let (mut external, mut flags, mut index) = (u64::from(xnnpack::NO_ID), 0, 0);
        let datatype = datatype(code);
        let count: u64 = dims.iter().product();
        match role {
            Role::Input | Role::Output => {
                flags = if role == Role::Input { 1 } else { 2 };
                external = self.externals.len() as u64;
                let sizes = dims.iter().map(|size| *size as i32).collect();
                let tensor = datatype.tensors.first().copied().unwrap_or(ScalarType::FLOAT);
                self.externals.push((tensor, sizes, role));
            }
            Role::Constant => {
                // 1 in all floating point types.
                let element: &[u8] = match code {
                    xnnpack::FP32 => &1f32.to_le_bytes(),
                    xnnpack::FP16 => &[0, 0x3c],
                    xnnpack::BF16 => &[0x80, 0x3f],
                    _ => &[1],
                };
                let size = (count * datatype.bits).div_ceil(8) as usize;
                let bytes: Vec<u8> = element.iter().copied().cycle().take(size).collect();
                index = self.constant(&bytes);
            }
            Role::Inner => {}
        }
        let tensor = Tree::new(&xnnpack::TENSOR_VALUE)
            .set("datatype", code as u64)
            .set("num_dims", dims.len() as u64)
            .set("dims", dims)
            .set("constant_buffer_idx", index)
            .set("external_id", external)
            .set("flags", flags)
            .set("id_out", id);
        let kinds = [Quantization::Channel, Quantization::Tensor, Quantization::Token, Quantization::Group];
        let kind = datatype.quantization.unwrap_or(Quantization::None);
        let value = Tree::new(&xnnpack::VALUE);
        let value = match kinds.iter().position(|known| *known == kind) {
            None => value.set_union("xvalue_union", 1, tensor),
            Some(position) => {
                let params = Tree::new(xnnpack::QUANT_PARAMS[position]);
                let channels = dims.get(channel).copied().unwrap_or(1);
                let params = match kind {
                    Quantization::None => unreachable!(),
                    Quantization::Tensor => params.set("scale", 0.5f32).set("zero_point", 0),
                    Quantization::Token => params.set("num_nonbatch_dims", if dims.len() == 4 { 3 } else { 1 }),
                    Quantization::Channel => {
                        let scales: Vec<u8> = (0..channels).flat_map(|_| 0.5f32.to_le_bytes()).collect();
                        let index = self.constant(&scales);
                        let params = params.set("channel_dim", channel as u64).set("num_scales", channels);
                        params.set("scale_buffer_idx", index)
                    }
                    Quantization::Group => {
                        let groups = count / 32;
                        let scales: Vec<u8> = (0..groups).flat_map(|_| [0x80, 0x3f]).collect();
                        let index = self.constant(&scales);
                        let params = params.set("channel_dim", channel as u64).set("num_scales", groups);
                        params.set("scale_buffer_idx", index).set("group_size", 32)
                    }
                };
                let quantized = Tree::new(&xnnpack::QUANTIZED_TENSOR_VALUE).set("tensor_value", Item::Table(tensor));
                let quantized = quantized.set_union("quant_params", position as u8 + 1, params);
                value.set_union("xvalue_union", 2, quantized)
            }
        };
        self.graph.tables("xvalues").push(value);
        id
    }

    /// Adds an operation with these operands and other fields.
    pub fn node(&mut self, operation: Operation, operands: &[u64], fields: &[(&str, Item)]) {
        let mut table = Tree::new(operation.table());
        for (operand, id) in operation.operands().zip(operands) {
            table.fields[usize::from(operand.slot)] = Item::Bits(*id);
        }
        for (name, item) in fields {
            table = table.set(name, item.clone());
        }
        let node = Tree::new(&xnnpack::NODE).set_union("xnode_union", operation.tag(), table);
        self.graph.tables("xnodes").push(node);
    }

    /// Returns a program with a call of the graph.
    pub fn program(mut self) -> Vec<u8> {
        let ids = |role: Role| {
            let listed: Vec<u64> =
                (0..).zip(&self.externals).filter(|(_, external)| external.2 == role).map(|(id, _)| id).collect();
            listed
        };
        // The lists are of external ids, which are those of the values here if externals come first.
        let (inputs, outputs) = (ids(Role::Input), ids(Role::Output));
        self.graph = self.graph.set("num_externs", self.externals.len() as u64);
        self.graph = self.graph.set("input_ids", &*inputs).set("output_ids", &*outputs);
        let payload = build_payload(&self.graph.write("XN01"), 0, &self.constants);
        let mut method = MethodBuilder::new("forward");
        let mut args = Vec::new();
        for (scalar_type, sizes, role) in &self.externals {
            args.push(match role {
                Role::Input => method.input(*scalar_type, sizes),
                _ => method.tensor(*scalar_type, sizes),
            });
        }
        method.call_delegate("XnnpackBackend", payload, &args);
        for (arg, (.., role)) in args.iter().zip(&self.externals) {
            if *role == Role::Output {
                method.output(*arg);
            }
        }
        let program = Resolved::from_methods([method]).unwrap_or_else(|error| panic!("{error}"));
        program.to_files(&Options::default()).unwrap().program_file().unwrap().to_vec().unwrap()
    }
}

/// Returns the sizes of the operands of an operation, in their order, and its other fields.
fn example(operation: Operation) -> (Vec<&'static [u64]>, Vec<(&'static str, Item)>) {
    let numbers = |fields: &[(&'static str, u64)]| -> Vec<(&'static str, Item)> {
        fields.iter().map(|(name, number)| (*name, Item::Bits(*number))).collect()
    };
    let window = numbers(&[
        ("kernel_height", 3),
        ("kernel_width", 3),
        ("subsampling_height", 1),
        ("subsampling_width", 1),
        ("dilation_height", 1),
        ("dilation_width", 1),
    ]);
    let pool = numbers(&[
        ("pooling_height", 2),
        ("pooling_width", 2),
        ("stride_height", 2),
        ("stride_width", 2),
        ("dilation_height", 1),
        ("dilation_width", 1),
    ]);
    let with = |mut fields: Vec<(&'static str, Item)>, more: &[(&'static str, u64)]| {
        fields.extend(numbers(more));
        fields
    };
    let channels = |inputs, outputs, groups| {
        [("group_input_channels", inputs), ("group_output_channels", outputs), ("groups", groups)]
    };
    match operation {
        Operation::FullyConnected => (vec![&[4, 64], &[16, 64], &[16], &[4, 16]], Vec::new()),
        Operation::Conv2d => {
            (vec![&[1, 6, 6, 8], &[4, 3, 3, 8], &[4], &[1, 4, 4, 4]], with(window, &channels(8, 4, 1)))
        }
        Operation::DepthwiseConv2d => {
            (vec![&[1, 6, 6, 8], &[1, 3, 3, 8], &[8], &[1, 4, 4, 8]], with(window, &channels(1, 1, 8)))
        }
        Operation::ConvTranspose2d => {
            (vec![&[1, 6, 6, 8], &[4, 3, 3, 8], &[4], &[1, 8, 8, 4]], with(window, &channels(8, 4, 1)))
        }
        Operation::AvgPooling2d | Operation::MaxPooling2d => (vec![&[1, 6, 6, 4], &[1, 3, 3, 4]], pool),
        Operation::ArgMaxPooling2d => {
            (vec![&[1, 6, 6, 4], &[1, 3, 3, 4], &[1, 3, 3, 4]], numbers(&[("pooling_height", 2), ("pooling_width", 2)]))
        }
        Operation::GlobalAvgPooling2d => (vec![&[1, 6, 6, 4], &[1, 1, 1, 4]], numbers(&[("flags", 64)])),
        Operation::StaticResizeBilinear2D => {
            (vec![&[1, 6, 6, 4], &[1, 9, 12, 4]], numbers(&[("new_height", 9), ("new_width", 12)]))
        }
        Operation::StaticTranspose => {
            (vec![&[2, 3, 4], &[4, 2, 3]], vec![("num_dims", Item::Bits(3)), ("perm", Item::Ints(vec![2, 0, 1]))])
        }
        Operation::StaticReshape => {
            (vec![&[2, 3, 4], &[6, 4]], vec![("num_dims", Item::Bits(2)), ("new_shape", Item::Ints(vec![6, 0]))])
        }
        Operation::StaticSlice => {
            let lists = vec![("offsets", Item::Ints(vec![1, 0])), ("sizes", Item::Ints(vec![2, 5]))];
            (vec![&[4, 6], &[2, 5]], lists)
        }
        Operation::StaticConstantPad => {
            let lists = vec![("pre_paddings", Item::Ints(vec![1, 0])), ("post_paddings", Item::Ints(vec![2, 3]))];
            (vec![&[4, 6], &[7, 9]], lists)
        }
        Operation::BatchMatrixMultiply => (vec![&[2, 4, 32], &[2, 32, 6], &[2, 4, 6]], Vec::new()),
        Operation::Concatenate2 => (vec![&[2, 3], &[2, 5], &[2, 8]], numbers(&[("axis", 1)])),
        Operation::Concatenate3 => (vec![&[2, 3], &[1, 3], &[2, 3], &[5, 3]], Vec::new()),
        Operation::Concatenate4 => (vec![&[2, 3], &[1, 3], &[2, 3], &[1, 3], &[6, 3]], Vec::new()),
        // The fifth input is after the output.
        Operation::Concatenate5 => (vec![&[2, 3], &[1, 3], &[2, 3], &[1, 3], &[8, 3], &[2, 3]], Vec::new()),
        Operation::ScaledDotProductAttention => {
            (vec![&[1, 2, 4, 8], &[1, 2, 4, 8], &[1, 2, 4, 8], &[8], &[4, 4], &[1, 2, 4, 8]], Vec::new())
        }
        Operation::PReLU => (vec![&[2, 6, 6, 8], &[8], &[2, 6, 6, 8]], Vec::new()),
        _ if operation.operands().count() == 3 => (vec![&[4, 8], &[1, 8], &[4, 8]], Vec::new()),
        _ => (vec![&[4, 8], &[4, 8]], vec![]),
    }
}

/// Returns a program with one operation on operands of these types, without a bias if `bias` is `false`. Inputs that are quantized at run time
/// are converted from float32 first.
pub fn program(operation: Operation, types: &[i16], bias: bool) -> Vec<u8> {
    let (sizes, fields) = example(operation);
    let operands: Vec<_> = operation.operands().collect();
    let mut graph = GraphBuilder::new();
    let is_constant = |name: &str| matches!(name, "filter_id" | "bias_id");
    let channel = |name: &str| if name == "filter_id" && operation == Operation::DepthwiseConv2d { 3 } else { 0 };
    // Arguments first: their ids are those of the values.
    let mut ids = vec![u64::from(xnnpack::NO_ID); operands.len()];
    let mut converted = Vec::new();
    for (at, operand) in operands.iter().enumerate().filter(|(_, operand)| !is_constant(operand.name)) {
        let role = if operand.is_output { Role::Output } else { Role::Input };
        match datatype(types[at]).quantization {
            Some(Quantization::Token) if operand.is_output => {}
            Some(Quantization::Token) => converted.push((at, graph.value(xnnpack::FP32, sizes[at], role, 0))),
            Some(Quantization::Channel | Quantization::Group) if !operand.is_output => {}
            _ => ids[at] = graph.value(types[at], sizes[at], role, 0),
        }
    }
    for (at, outside) in converted {
        ids[at] = graph.value(types[at], sizes[at], Role::Inner, 0);
        graph.node(Operation::Convert, &[outside, ids[at]], &[]);
    }
    for at in 0..operands.len() {
        let absent = !bias && operands[at].name == "bias_id";
        if ids[at] == u64::from(xnnpack::NO_ID) && !absent {
            let role = if operands[at].is_output { Role::Inner } else { Role::Constant };
            ids[at] = graph.value(types[at], sizes[at], role, channel(operands[at].name));
        }
    }
    graph.node(operation, &ids, &fields);
    graph.program()
}
