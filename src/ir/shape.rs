//! The YAML grammar as tables: the keys of each map, the form of their values, and their documentation.
//!
//! The decoder takes keys, alternatives and words from these tables; the JSON Schema and docs/yaml-reference.md are
//! generated from them. Nothing is parsed or checked here.

/// A map with a fixed set of keys.
#[derive(Debug)]
pub struct Shape {
    /// Name in the schema.
    pub name: &'static str,
    /// Documentation, one sentence.
    pub doc: &'static str,
    /// The keys it may have.
    pub keys: &'static [KeySpec],
    /// The keys it must have.
    pub required: &'static [&'static str],
    /// Keys of which it must have exactly one; none if it has no alternatives.
    pub one_of: &'static [&'static str],
    /// Keys that may stand in place of all of these.
    pub or: &'static [&'static str],
}

/// A key of a [`Shape`].
#[derive(Debug)]
pub struct KeySpec {
    /// The key.
    pub name: &'static str,
    /// Form of its value.
    pub form: Form,
    /// Documentation, one sentence.
    pub doc: &'static str,
}

/// Allowed form of a node.
#[derive(Debug, Clone, Copy)]
pub enum Form {
    /// `null`
    Null,
    /// `true` or `false`
    Bool,
    /// An integer.
    Int,
    /// A non-negative integer.
    UInt,
    /// An integer or a floating point number.
    Number,
    /// A string.
    Text,
    /// The name of an operator: of any, known ones are suggested.
    Operator,
    /// A byte count: an integer, or `4K`, `1M`.
    Size,
    /// A power of two in bytes: an integer, `4K`, `16K`, or `page`.
    Alignment,
    /// An element type: torch's name, the schema's name, or a number.
    Dtype,
    /// A value of a layout option.
    Option(&'static OptionSpec),
    /// One of these words.
    OneOf(&'static [&'static str]),
    /// One of these words, or an integer.
    WordOrInt(&'static [&'static str]),
    /// A list.
    List(&'static Form),
    /// A map with arbitrary keys.
    Map(&'static Form),
    /// A map of this shape.
    Shape(&'static Shape),
    /// One of several.
    Either(&'static [Form]),
    /// A form with a name, which may contain itself.
    Named(&'static str, &'static Form),
}

impl Form {
    /// The words among the values of the form; none if there are none.
    pub fn words(&self) -> &'static [&'static str] {
        match self {
            Form::OneOf(words) | Form::WordOrInt(words) => words,
            Form::Either(forms) => forms.iter().map(Form::words).find(|words| !words.is_empty()).unwrap_or_default(),
            Form::Null
            | Form::Bool
            | Form::Int
            | Form::UInt
            | Form::Number
            | Form::Text
            | Form::Operator
            | Form::Size
            | Form::Alignment
            | Form::Dtype
            | Form::Option(_)
            | Form::List(_)
            | Form::Map(_)
            | Form::Shape(_)
            | Form::Named(..) => &[],
        }
    }
}

impl Shape {
    /// The key called `name`.
    pub fn key(&self, name: &str) -> Option<&'static KeySpec> {
        self.keys.iter().find(|key| key.name == name)
    }
}

const fn key(name: &'static str, form: Form, doc: &'static str) -> KeySpec {
    KeySpec { name, form, doc }
}

/// The name of a module without the prefix of a raw identifier.
const fn title(module: &'static str) -> &'static str {
    match module.as_bytes() {
        [b'r', b'#', ..] => module.split_at(2).1,
        _ => module,
    }
}

macro_rules! shapes {
    ($( $name:ident = $module:ident $doc:literal required $required:tt one of $one_of:tt $(or $or:tt)? { $( $key:ident $(($text:literal))?: $form:expr, $key_doc:literal; )* } )*) => {$(
        #[doc = $doc]
        pub static $name: Shape = Shape {
            name: title(stringify!($module)),
            doc: $doc,
            keys: &[$( key($module::$key, $form, $key_doc) ),*],
            required: shapes!(@names $module $required),
            one_of: shapes!(@names $module $one_of),
            or: shapes!(@names $module $($or)?),
        };
        #[doc = concat!("The keys of a map of the shape `", stringify!($module), "`.")]
        #[allow(non_upper_case_globals, missing_docs)]
        pub mod $module {
            $( pub const $key: &str = shapes!(@text $key $($text)?); )*
        }
    )*};
    (@names $module:ident) => { &[] };
    (@names $module:ident [$( $key:ident )*]) => { &[$( $module::$key ),*] };
    (@text $key:ident) => { stringify!($key) };
    (@text $key:ident $text:literal) => { $text };
}

use crate::delegate::xnnpack::model::UNKNOWN_WORD;
use crate::delegate::xnnpack::schema::{self, DATATYPES, IDENTIFIERS, Operation, field_key};
use crate::format::words::MEMORY_FORMATS;
use crate::format::{Kind, TableSchema};
use crate::layout::options::{OPTIONS, OptionSpec};
use crate::program::MemoryPlanner;
use crate::program::attributes::{AttributeKind, TENSOR_ATTRIBUTES};
use crate::program::instruction::INSTRUCTION_KEYS;
use Form::{Alignment, Bool, Dtype, Either, Int, List, Map, Named, Null, Number, OneOf, Size, Text, UInt};

/// Words for the algorithms of the memory planner, in the order of [`MemoryPlanner::ALL`].
const PLANNERS: &[&str] = &{
    let mut words = [""; MemoryPlanner::ALL.len()];
    let mut index = 0;
    while index < words.len() {
        words[index] = MemoryPlanner::ALL[index].word();
        index += 1;
    }
    words
};

/// Words for the memory of a tensor.
pub const MEMORY_PLACEMENT_WORDS: &[&str] = &["auto", "none"];

static NUMBERS: Form = Named("numbers", &List(&Either(&[Number, Bool, Text, Form::Named("numbers", &Null)])));
static INTS: Form = List(&Int);
static SIZES: Form = List(&UInt);
static NAMES: Form = List(&Text);
static PATTERNS: Form = Either(&[Text, List(&Text)]);
static FRAMES: Form = List(&Form::Shape(&FRAME));
static INSTRUCTIONS: Form = List(&Form::Shape(&INSTRUCTION));
static SOURCE: Form = Named("data", &Either(&[Number, Bool, Text, NUMBERS, Form::Shape(&DATA)]));
static LITERAL: Form =
    Named("literal", &Either(&[Null, Bool, Number, Text, List(&Named("literal", &Null)), Form::Shape(&LITERAL_MAP)]));
static LITERALS: Form = List(&LITERAL);
static VALUE: Form =
    Either(&[Null, Bool, Number, Text, List(&LITERAL), Form::Shape(&TENSOR), Form::Shape(&LITERAL_MAP)]);
static OVERRIDE: Form = Either(&[Null, Bool, Number, Text, List(&Null), Form::Shape(&FIELD_OVERRIDE)]);
static TEST_VALUE: Form = Either(&[Null, Bool, Number, SOURCE, Form::Shape(&TEST_TENSOR)]);

shapes! {
    DOCUMENT = document "A program, or weights for one." required [] one of [] {
        name: Text, "File name of the outputs, without extension, unless the command line gives one.";
        methods: Map(&Form::Shape(&METHOD)), "The methods, in the order of the file.";
        files: Map(&Text), "Short names of files, for use where data are read from a file.";
        data: Map(&SOURCE), "Named payloads, for use where data are expected.";
        named_data: Either(&[Map(&Either(&[SOURCE, Form::Shape(&NAMED_DATA)])), Null]), "Blobs by key; in a document without methods the content of a .ptd.";
        checkpoints: List(&Form::Shape(&CHECKPOINT)), "Files of weights, which are stored in a .ptd.";
        layout: Form::Shape(&LAYOUT), "How the file is laid out.";
        raw: Form::Shape(&RAW), "Overrides that are applied after layout, for files that are malformed on purpose.";
        version: UInt, "The schema version, 0 in every release.";
    }
    METHOD = method "A method: its values, inputs, outputs and instructions." required [] one of [] {
        values: Map(&VALUE), "The values by name, in the order of their numbers.";
        inputs: LITERALS, "The inputs, by name.";
        outputs: LITERALS, "The outputs, by name; a literal makes a constant method.";
        instructions: INSTRUCTIONS, "The instructions, in order.";
        chains: List(&Form::Shape(&CHAIN)), "Several lists of instructions, in place of `instructions`.";
        delegates: Map(&Form::Shape(&DELEGATE)), "Delegates, by name.";
        operators: NAMES, "The operators in the order of the file's table; computed from the instructions.";
        memory: Form::Shape(&METHOD_MEMORY), "Planned memory; computed.";
        requires_grad: Bool, "true: constants of floating point numbers require gradients unless they state otherwise, and so do results if an argument does.";
        container_meta: Either(&[Form::Shape(&CONTAINER_META), Null]), "How containers were flattened; computed for inputs and outputs without containers, null omits it.";
        tests: List(&Form::Shape(&TEST)), "Inputs and expected outputs.";
    }
    TENSOR_BASE = tensor "A tensor." required [] one of [] {
        tensor: Dtype, "Element type; inferred if left out of what an instruction writes or a view.";
        sizes: INTS, "Size of each dimension; for a dynamic tensor the upper bound. Taken from nested data, or inferred with dim_order and dynamism, if left out. A view may have one -1.";
        dim_order: SIZES, "Dimensions from the outermost in memory to the innermost; contiguous if left out.";
        data: SOURCE, "Constant content, or the initial state of a mutable tensor.";
        mutable: Bool, "The tensor keeps its content from one execution to the next.";
        memory: Either(&[OneOf(MEMORY_PLACEMENT_WORDS), Form::Shape(&MEMORY_PLACEMENT)]), "Placement in planned memory.";
        view_of: Text, "The tensor whose memory or data this one shares, with other sizes; no instruction produces it.";
        external: Either(&[Bool, Text]), "The data are stored in a .ptd: true, or the tag that names it.";
        name: Text, "Fully qualified name; the key of external data.";
        device: Text, "cpu, cuda, cuda:1.";
        extra_tensor_info: Bool, "true: the table is present although it states nothing; else it is present if a key requires it.";
        data_buffer_idx: UInt, "With `external` and no data: the index in the file, which is unused; counted.";
        index: UInt, "Number of the value; computed in the exporter's order.";
    }
    MEMORY_PLACEMENT = memory_placement "Placement in planned memory." required [pool] one of [] {
        pool: UInt, "Number of the planned buffer, from 1.";
        offset: UInt, "Bytes from its start; computed if left out.";
    }
    LITERAL_MAP = literal_map "A value of a stated kind: one of the keys, and an optional index." required [] one of [int double bool string null dtype memory_format int_list double_list bool_list tensor_list optional_tensor_list] or [index] {
        int: Int, "An Int.";
        double: Number, "A Double.";
        bool: Bool, "A Bool.";
        string: Text, "A String.";
        null: Null, "The value None.";
        dtype: Dtype, "The Int that stands for an element type.";
        memory_format: OneOf(MEMORY_FORMATS), "The Int that stands for a memory format.";
        int_list: LITERALS, "An IntList: integers, or names of Int values.";
        double_list: List(&Number), "A DoubleList.";
        bool_list: List(&Bool), "A BoolList.";
        tensor_list: LITERALS, "A TensorList of names.";
        optional_tensor_list: LITERALS, "An OptionalTensorList of names and null.";
        index: Int, "In `values`: the number of the value. Alone, in `args`: the value of that number, unchecked.";
    }
    INSTRUCTION = instruction "An instruction: one of kernel, delegate, move, jump_false, free; a view or a value, which emit nothing; a label alone marks a position." required [] one of [kernel delegate move_ jump_false free view value] or [label] {
        kernel: Form::Operator, "Operator with overload: aten::add.out.";
        args: LITERALS, "Arguments: names, literals, {index: 3}.";
        out: Either(&[Text, List(&Either(&[Text, Null]))]), "What the operator writes, or the view; with it the stack is completed by the operator's schema. Names that are not declared become tensors; null is an out that a mask among the arguments excludes.";
        delegate: Either(&[Text, Int]), "Name of a delegate.";
        move_ ("move"): Form::Shape(&MOVE), "Makes a value the same as another: a number is copied, a tensor gets the memory of the other, which a later write changes for both.";
        jump_false: Form::Shape(&JUMP_FALSE), "Jumps if a value is false.";
        free: LITERAL, "Frees a tensor's memory.";
        view: Text, "The tensor whose memory `out` shares from here on, with other sizes.";
        sizes: INTS, "With view: size of each dimension, of which one may be -1.";
        value: Text, "A value under `values` that is numbered here, not in front of all instructions.";
        label: Text, "Name of this position, for jumps.";
        stacktrace: FRAMES, "Source of the instruction.";
    }
    MOVE = r#move "A copy of a value." required [from to] one of [] {
        from: LITERAL, "The source.";
        to: LITERAL, "The target.";
    }
    JUMP_FALSE = jump_false "A conditional jump." required [cond to] one of [] {
        cond: LITERAL, "A Bool, or a bool tensor.";
        to: Either(&[Text, Int]), "A label, or the number of an instruction.";
    }
    FRAME = frame "A line of a stack trace." required [] one of [] {
        filename: Text, "File.";
        lineno: Int, "Line.";
        name: Text, "Function.";
        context: Text, "Source of the line.";
    }
    CHAIN = chain "A list of instructions." required [instructions] one of [] {
        instructions: INSTRUCTIONS, "The instructions, in order.";
        inputs: LITERALS, "Never read by the runtime.";
        outputs: LITERALS, "Never read by the runtime.";
        stacktraces: UInt, "Number of stack traces; one for each instruction if any has one.";
    }
    DELEGATE = delegate "A part of a method that a backend runs." required [backend] one of [data graph] {
        backend: Text, "Name of the backend: XnnpackBackend.";
        data: SOURCE, "The payload, as bytes.";
        graph: Form::Shape(&GRAPH), "The payload, as a graph: of XnnpackBackend.";
        compile_specs: List(&Form::Shape(&COMPILE_SPEC)), "Options for the backend.";
        inline: Bool, "The payload stays inside the FlatBuffer.";
    }
    COMPILE_SPEC = compile_spec "An option for a backend." required [key value] one of [] {
        key: Text, "Name.";
        value: SOURCE, "Bytes; a string is stored as its bytes.";
    }
    GRAPH = graph "The payload of an XnnpackBackend delegate." required [] one of [] {
        values: Map(&Form::Shape(&GRAPH_VALUE)), "The values by name, in the order of the payload. Outputs of nodes that are not listed follow.";
        inputs: NAMES, "The values that are inputs, in the order of the arguments of the delegate.";
        outputs: NAMES, "The values that are outputs, in the order of the arguments, which follow those for the inputs.";
        nodes: List(&Form::Shape(&GRAPH_NODE)), "The operations, in order.";
        identifier: OneOf(&IDENTIFIERS), "File identifier of the graph; XN01.";
        header: Bool, "false: the payload has no header, and the graph contains the constants; true.";
        named_keys: Bool, "false: the constant that stands for none has no empty key, as before release 0.7; true.";
        version: Text, "Version of the schema; \"0\".";
        num_externs: UInt, "Number of arguments; computed.";
        input_ids: SIZES, "Ids of the inputs; computed.";
        output_ids: SIZES, "Ids of the outputs; computed.";
        mem_buffer_sizes: SIZES, "Sizes of constants without a header; computed.";
        copy: UInt, "Equal payloads share an offset in the file; those with another number have their own. 0.";
    }
    GRAPH_VALUE = graph_value "A value of a graph." required [] one of [] {
        datatype: OneOf(&DATATYPE_WORDS), "Element type; of an output of a node that of the first input, if left out.";
        sizes: SIZES, "Size of each dimension in the order of memory, so of an image batch, height, width, channels. Taken from nested data, or inferred of an output of a node, if left out.";
        data: SOURCE, "Content of a constant, in the payload. Elements of 4 bits are given as bytes of two.";
        key: Text, "Key of the content of a constant in the named data of the program, or of a .ptd. Not with `header: false`.";
        size: UInt, "Size of the constant in bytes; computed.";
        scale: Number, "One scale for all elements: `PerTensorQuant`.";
        zero_point: Int, "With scale: the number that stands for 0; 0.";
        scales: Either(&[List(&Number), Form::Shape(&GRAPH_SCALES)]), "A scale for each channel, or with group_size for each group of a channel: `PerChannelQuant`, `PerChannelGroupQuant`.";
        channel_dim: Int, "With scales: the dimension of the channels; 0.";
        group_size: Int, "With scales: number of elements of a channel that share a scale.";
        num_scales: UInt, "With scales: their number as the graph states it; computed.";
        scale_bf16: SIZES, "With group_size: a field of older releases, as integers.";
        num_nonbatch_dims: Int, "Number of trailing dimensions with a scale that is computed at run time: `PerTokenDynamicQuant`.";
        num_dims: UInt, "Number of dimensions as the graph states it; computed.";
        id: UInt, "Number of the value; its position.";
        external_id: UInt, "Number of the argument; computed.";
        flags: UInt, "1 for an input, 2 for an output; computed.";
        dq_datatype: OneOf(&DATATYPE_WORDS), "Element type of a result that is quantized at run time, before release 0.4.";
    }
    GRAPH_SCALES = graph_scales "Scales in a constant: float32, with group_size bfloat16." required [] one of [data key] {
        data: SOURCE, "Content, in the payload.";
        key: Text, "Key in the named data of the program, or of a .ptd.";
        size: UInt, "Size in bytes; computed.";
    }
    GRAPH_NODE_BASE = graph_node "An operation of a graph: its name, and what belongs to all of them." required [] one of [] {
        unknown: Form::Shape(&UNKNOWN_OPERATION), "An operation that the schema of ExecuTorch 1.5.1 does not have: all its fields are in extra.";
        extra: List(&Form::Shape(&EXTRA_FIELD)), "Fields of the operation that the schema of ExecuTorch 1.5.1 does not have.";
        output_min: Number, "Lower bound that the output is clamped to; -inf if only output_max is given. Only some operations apply it.";
        output_max: Number, "Upper bound; inf if only output_min is given.";
        debug_handle: UInt, "Number of the node in the exporter's graph; 65535.";
    }
    UNKNOWN_OPERATION = unknown_operation "An operation that the schema does not have." required [tag] one of [] {
        tag: UInt, "Number in the union of operations, 48 or more.";
    }
    EXTRA_FIELD = extra_field "A field that the schema does not have." required [slot bytes] one of [] {
        slot: UInt, "Position in the table of the operation, after those of the schema.";
        bytes: SOURCE, "A number of 1, 2, 4 or 8 bytes, or the items of a vector.";
        width: UInt, "Size of an item of a vector in bytes: 1, 2, 4 or 8.";
    }
    METHOD_MEMORY = memory "Planned memory of a method." required [] one of [] {
        non_const_buffer_sizes: INTS, "Sizes of the planned buffers in bytes, the first reserved; computed. Given sizes are checked.";
        non_const_buffer_device: List(&Form::Shape(&BUFFER_DEVICE)), "Devices of the planned buffers; computed.";
        alignment: Alignment, "Offsets are multiples of this, 16 at least.";
        planner: OneOf(PLANNERS), "greedy; naive: no tensors share memory; greedy_no_overlap: at one time, each object of memory has one tensor.";
        padding: Size, "Padding after each used buffer, in bytes; 64 with an XNNPACK delegate, but for pools of shared state, else 0.";
        reserved: List(&Size), "Bytes left free at the start of each buffer, from buffer 1.";
        shared_order: UInt, "Position of the method when the state that methods share is placed; that in the file.";
        inputs: OneOf(&["planned", "unplanned"]), "Planned memory of inputs.";
        outputs: OneOf(&["planned", "unplanned"]), "Planned memory of outputs.";
    }
    BUFFER_DEVICE = buffer_device "Device of a planned buffer." required [buffer_idx device] one of [] {
        buffer_idx: Int, "Number of the buffer.";
        device: Text, "cpu, cuda, cuda:1.";
    }
    CONTAINER_META = container_meta "How containers were flattened: pytree's JSON." required [] one of [] {
        inputs: Either(&[Text, Null]), "Of the inputs.";
        outputs: Either(&[Text, Null]), "Of the outputs.";
    }
    TEST = test "Inputs of a method and the expected outputs." required [inputs] one of [] {
        inputs: List(&TEST_VALUE), "One for each input.";
        outputs: List(&TEST_VALUE), "One for each output; without them nothing is compared.";
        atol: Number, "Allowed absolute difference; 1e-6.";
        rtol: Number, "Allowed relative difference; 1e-5.";
    }
    TEST_TENSOR = test_tensor "A tensor of a test whose sizes differ from the method's." required [data] one of [] {
        sizes: SIZES, "Size of each dimension.";
        data: SOURCE, "Content.";
    }
    NAMED_DATA = named_data "A keyed blob." required [data] one of [] {
        data: SOURCE, "Content.";
        align: Alignment, "Alignment of its segment, at least.";
        external: Either(&[Bool, Text]), "The blob is stored in a .ptd: true, or the tag that names it.";
        tensor: Dtype, "Element type, if the content is a tensor.";
        sizes: SIZES, "Size of each dimension, if the content is a tensor.";
        dim_order: SIZES, "Dimensions from the outermost in memory to the innermost.";
    }
    CHECKPOINT = checkpoint "The tensors of a .safetensors file, or of a set of them, with their names, types and sizes." required [safetensors] one of [] {
        safetensors: Text, "A .safetensors file, or the index of a set of them: model.safetensors.index.json.";
        include: PATTERNS, "Only tensors whose names match one of these, where * matches any string; all.";
        exclude: PATTERNS, "But none whose name matches one of these.";
        rename: Map(&Text), "Prefixes of names, and their replacements; the longest match counts.";
        external: Either(&[Bool, Text]), "The tag of the .ptd that stores them; the default one.";
    }
    DATA = data_map "Source of bytes: one of the keys, with those that belong to it." required [] one of [hex base64 text numbers fill iota random file npy safetensors ptd pte] {
        hex: Text, "Hexadecimal digits; spaces are ignored.";
        base64: Text, "Base64.";
        text: Text, "The bytes of a string.";
        numbers: NUMBERS, "Numbers, as a list alone.";
        fill: Either(&[Number, Bool, Text]), "The same number for every element.";
        iota: Form::Shape(&IOTA), "A progression.";
        random: Form::Shape(&RANDOM), "Random numbers, the same on every machine.";
        file: Text, "A file, relative to the YAML file, or a name under `files`; as for the other kinds of files.";
        npy: Text, "A .npy file.";
        safetensors: Text, "A .safetensors file.";
        ptd: Text, "A .ptd file.";
        pte: Text, "A .pte file: its named data, or its constants that have a name.";
        key: Text, "With ptd or pte: the key, or the name.";
        tensor: Text, "With safetensors: the tensor's name.";
        offset: Size, "With file: offset of the first byte.";
        size: Size, "With file: number of bytes; all, or with `offset`, also 0, those of the tensor, if left out. With fill and no tensor: number of elements.";
        dtype: Dtype, "Element type of numbers that are not a tensor's; of the data in a file, to convert them to that of the tensor.";
        copy: UInt, "Equal data share an offset in the file; data with another number have their own. 0.";
        align: Alignment, "For named data: alignment of the segment, at least.";
    }
    IOTA = iota "start, start + step, and so on." required [] one of [] {
        start: Number, "First number; 0.";
        step: Number, "Difference; 1.";
    }
    RANDOM = random "Random numbers." required [seed] one of [] {
        seed: UInt, "The same seed gives the same numbers.";
        distribution: OneOf(&["uniform", "normal"]), "uniform if left out.";
        low: Number, "uniform: smallest number; 0.";
        high: Number, "uniform: bound above, excluded; 1 for floats, the type's own for integers.";
        mean: Number, "normal: centre; 0.";
        std: Number, "normal: standard deviation; 1.";
    }
    RAW = raw "Overrides that are applied after layout, in this order, to the .pte, or in a document without methods to the .ptd; nothing is recomputed." required [] one of [] {
        set: Map(&OVERRIDE), "Overrides of fields of the header and the FlatBuffer, by path.";
        fill: UInt, "Byte of the padding around segments; 0.";
        patch: List(&Form::Shape(&PATCH)), "Bytes that are overwritten.";
        truncate: UInt, "Length in bytes that the file is truncated to.";
        append: SOURCE, "Bytes that are appended to the file.";
        ptd: Form::Shape(&RAW), "Overrides of the first .ptd beside a program.";
        bpte: Form::Shape(&RAW), "Overrides of the .bpte around a program.";
    }
    FIELD_OVERRIDE = field_override "An override that is neither a number nor a string." required [] one of [same_as bytes] {
        same_as: Text, "Path of another field; the offset refers to the same target.";
        bytes: SOURCE, "Bytes that overwrite a number, a string, the items of a vector, or a table, from its first byte on.";
    }
    PATCH = patch "Bytes that are overwritten." required [at bytes] one of [] {
        at: UInt, "Offset in bytes from the start of the file.";
        bytes: SOURCE, "Content.";
    }
}

// The alternatives of an instruction are the keys of the table of instructions, `view` and `value`.
const _: () = {
    assert!(INSTRUCTION.one_of.len() == INSTRUCTION_KEYS.len() + 2);
    let mut row = 0;
    while row < INSTRUCTION_KEYS.len() {
        let (mut position, mut found) = (0, false);
        while position < INSTRUCTION.one_of.len() {
            found |= same_text(INSTRUCTION.one_of[position], INSTRUCTION_KEYS[row].0);
            position += 1;
        }
        assert!(found);
        row += 1;
    }
};

const fn same_text(a: &str, b: &str) -> bool {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    let mut at = 0;
    while at < a.len() && at < b.len() && a[at] == b[at] {
        at += 1;
    }
    a.len() == b.len() && at == a.len()
}

/// A tensor: the keys of [`TENSOR_BASE`], and the rows of the table of attributes.
pub static TENSOR: Shape = Shape { keys: &TENSOR_KEYS, ..TENSOR_SHAPE };

const TENSOR_SHAPE: Shape = Shape { name: "tensor", doc: "A tensor.", keys: &[], required: &[], one_of: &[], or: &[] };

static TENSOR_KEYS: [KeySpec; TENSOR_BASE.keys.len() + TENSOR_ATTRIBUTES.len()] = {
    let mut keys = [const { key("", Form::Null, "") }; TENSOR_BASE.keys.len() + TENSOR_ATTRIBUTES.len()];
    let mut index = 0;
    while index < keys.len() {
        keys[index] = if index < TENSOR_BASE.keys.len() {
            let base = &TENSOR_BASE.keys[index];
            KeySpec { name: base.name, form: base.form, doc: base.doc }
        } else {
            let attribute = &TENSOR_ATTRIBUTES[index - TENSOR_BASE.keys.len()];
            let form = match attribute.kind {
                AttributeKind::Bool => Form::Bool,
                AttributeKind::Int => Form::Int,
                AttributeKind::Byte(words) => Form::WordOrInt(words),
            };
            KeySpec { name: attribute.key, form, doc: attribute.doc }
        };
        index += 1;
    }
    keys
};

/// The keys of `layout:`, which are the rows of the table of layout options.
pub static LAYOUT: Shape = Shape {
    name: "layout",
    doc: "Layout of the files; omitted options have the exporter's defaults.",
    keys: &LAYOUT_KEYS,
    required: &[],
    one_of: &[],
    or: &[],
};

static LAYOUT_KEYS: [KeySpec; OPTIONS.len()] = {
    let mut keys = [const { key("", Form::Null, "") }; OPTIONS.len()];
    let mut index = 0;
    while index < keys.len() {
        let option = &OPTIONS[index];
        keys[index] = KeySpec { name: option.name, form: Form::Option(option), doc: option.doc };
        index += 1;
    }
    keys
};

/// Names of the element types of XNNPACK, by number.
static DATATYPE_WORDS: [&str; DATATYPES.len()] = {
    let mut words = [""; DATATYPES.len()];
    let mut index = 0;
    while index < words.len() {
        words[index] = DATATYPES[index].name;
        index += 1;
    }
    words
};

/// An operation of a graph: a key for each operation, and the keys of [`GRAPH_NODE_BASE`].
pub static GRAPH_NODE: Shape = Shape {
    name: "graph_node",
    doc: GRAPH_NODE_BASE.doc,
    keys: &GRAPH_NODE_KEYS,
    required: &[],
    one_of: &OPERATION_WORDS,
    or: &[],
};

static OPERATION_WORDS: [&str; Operation::ALL.len() + 1] = {
    let mut words = [UNKNOWN_WORD; Operation::ALL.len() + 1];
    let mut index = 0;
    while index < Operation::ALL.len() {
        words[index] = Operation::ALL[index].word();
        index += 1;
    }
    words
};

static GRAPH_NODE_KEYS: [KeySpec; Operation::ALL.len() + GRAPH_NODE_BASE.keys.len()] = {
    let mut keys = [const { key("", Form::Null, "") }; Operation::ALL.len() + GRAPH_NODE_BASE.keys.len()];
    let mut index = 0;
    while index < keys.len() {
        keys[index] = if index < Operation::ALL.len() {
            let operation = Operation::ALL[index];
            key(operation.word(), Form::Shape(shape_of(operation)), shape_of(operation).doc)
        } else {
            let base = &GRAPH_NODE_BASE.keys[index - Operation::ALL.len()];
            key(base.name, base.form, base.doc)
        };
        index += 1;
    }
    keys
};

static OPERAND: Form = Either(&[Text, UInt, Null]);

/// Names of fields of operations, and their documentation.
const FIELD_DOCS: &[(&str, &str)] = &[
    ("flags", "Flags of XNNPACK."),
    ("axis", "Dimension of the concatenation."),
    ("num_dims", "Number of dimensions; that of the list."),
    ("perm", "For each dimension of the output that of the input."),
    ("new_shape", "Sizes of the output; one may be 0, which is the rest."),
    ("offsets", "First index in each dimension."),
    ("sizes", "Size of each dimension; 0 is all of it, if its offset is 0, too."),
    ("pre_paddings", "Elements in front of each dimension."),
    ("post_paddings", "Elements behind each dimension."),
    ("padding_value", "Value of these elements."),
    ("alpha", "Factor of negative inputs."),
    ("negative_slope", "Factor of negative inputs."),
];

const fn doc_of(name: &str) -> &'static str {
    let mut index = 0;
    while index < FIELD_DOCS.len() {
        if same_text(FIELD_DOCS[index].0, name) {
            return FIELD_DOCS[index].1;
        }
        index += 1;
    }
    "A number."
}

const fn field_keys<const N: usize>(table: &TableSchema) -> [KeySpec; N] {
    let mut keys = [const { key("", Form::Null, "") }; N];
    let mut slot = 0;
    while slot < N {
        let name = field_key(table, slot);
        keys[slot] = match table.fields[slot].kind {
            Kind::Float => key(name, Number, doc_of(name)),
            Kind::UInts => key(name, SIZES, doc_of(name)),
            _ if !same_text(name, table.fields[slot].name) => key(
                name,
                OPERAND,
                "A value; null or left out for none. A number is an id, which need not exist; no sizes are inferred from it.",
            ),
            _ => key(name, UInt, doc_of(name)),
        };
        slot += 1;
    }
    keys
}

macro_rules! operation_shapes {
    ($( $name:ident $text:literal $doc:literal = $table:ident: $( $operation:ident )|*; )*) => {
        /// Returns the keys of an operation.
        pub const fn shape_of(operation: Operation) -> &'static Shape {
            match operation {
                $( $( Operation::$operation )|* => &$name, )*
            }
        }

        $(
            static $name: Shape = Shape {
                name: $text,
                doc: $doc,
                keys: &const { field_keys::<{ schema::$table.fields.len() }>(&schema::$table) },
                required: &[],
                one_of: &[],
                or: &[],
            };
        )*
    };
}

operation_shapes! {
    TWO_INPUTS "binary_operation" "An operation with two inputs." = NODE_2X1:
        Add | Div | Minimum | Multiply | Subtract | Maximum | PReLU | BatchMatrixMultiply;
    ONE_INPUT "unary_operation" "An operation with one input." = NODE_1X1:
        Softmax | Sigmoid | Clamp | Floor | Convert | GlobalAvgPooling2d | SquareRoot | Ceiling | Hardswish | Negate | Square
        | Abs | ReciprocalSquareRoot | Log | Gelu | Tanh | Exp | Sin | Copy | Cos;
    CONCATENATION "concatenation" "A concatenation." = CAT:
        Concatenate2 | Concatenate3 | Concatenate4 | Concatenate5;
    MATRIX "matrix_product" "A matrix product: input times the transposed filter, plus bias." = FULLY_CONNECTED: FullyConnected;
    CONVOLUTION "convolution" "A convolution of images." = CONV: Conv2d | DepthwiseConv2d | ConvTranspose2d;
    POOL "pooling" "A pooling of images." = POOLING: AvgPooling2d | MaxPooling2d;
    ARG_MAX_POOL "index_pooling" "A maximum pooling with indices." = ARG_MAX_POOLING: ArgMaxPooling2d;
    PERMUTATION "permutation" "A permutation of dimensions." = TRANSPOSE: StaticTranspose;
    NEW_SHAPE "reshape" "A change of sizes." = RESHAPE: StaticReshape;
    PART "slice" "A part of a value." = SLICE: StaticSlice;
    RESIZE "resize" "A bilinear resize of images." = RESIZE_BILINEAR: StaticResizeBilinear2D;
    PAD "padding" "A padding with a constant." = CONSTANT_PAD: StaticConstantPad;
    ELU "exponential_unit" "An exponential linear unit." = ELU: ELU;
    LEAKY_RELU "leaky_unit" "A leaky rectified linear unit." = LEAKY_RELU: LeakyReLU;
    ATTENTION "attention" "Scaled dot-product attention, which the runtime rejects." = ATTENTION: ScaledDotProductAttention;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::table::Union;

    #[test]
    fn operations_have_the_keys_of_their_tables() {
        for operation in Operation::ALL {
            let (shape, table) = (shape_of(*operation), operation.table());
            let keys: Vec<&str> = shape.keys.iter().map(|key| key.name).collect();
            let expected: Vec<&str> = (0..table.fields.len()).map(|slot| field_key(table, slot)).collect();
            assert_eq!(keys, expected, "{}", operation.word());
        }
    }
}
