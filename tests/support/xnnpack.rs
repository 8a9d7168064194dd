//! Graphs in XNNPACK payloads that tests change and write again, and programs with one operation.

use pte_emit::{AssembleOptions, MethodBuilder, Resolved};
use pte_model::format::ScalarType;
use pte_model::format::table::Union;
use pte_xnnpack::schema::{self as xnnpack, Datatype, Operation, Quantization};

use super::tree::{Item, Tree, align, number};

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
    fn new() -> GraphBuilder {
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
        let payload = build_payload(&self.graph.write("XN01", 0), 0, &self.constants);
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
        program.to_files(&AssembleOptions::default()).unwrap().program_file().unwrap().to_vec().unwrap()
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

/// Returns a program with one operation on operands of these types, without a bias if `bias` is `false`. Inputs that
/// are quantized at run time are converted from float32 first.
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
