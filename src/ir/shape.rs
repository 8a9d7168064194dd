//! The grammar of the YAML as tables: the keys of each map, the form of their values, and one sentence about each.
//!
//! The decoder takes keys, alternatives and words from here, the JSON Schema and docs/yaml-reference.md are generated from here, so
//! none can know a key that the others do not.

/// A map with a fixed set of keys.
#[derive(Debug)]
pub struct Shape {
    /// Name in the schema.
    pub name: &'static str,
    /// One sentence.
    pub doc: &'static str,
    /// The keys it may have.
    pub keys: &'static [Key],
    /// The keys it must have.
    pub required: &'static [&'static str],
    /// Keys of which it must have exactly one; none if it has no alternatives.
    pub one_of: &'static [&'static str],
}

/// A key of a [`Shape`].
#[derive(Debug)]
pub struct Key {
    /// The key.
    pub name: &'static str,
    /// What it holds.
    pub form: Form,
    /// One sentence.
    pub doc: &'static str,
}

/// What a node may be.
#[derive(Debug, Clone, Copy)]
pub enum Form {
    /// `null`
    Null,
    /// `true` or `false`
    Bool,
    /// An integer.
    Int,
    /// An integer from 0.
    UInt,
    /// An integer or a floating point number.
    Number,
    /// A text.
    Text,
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
    /// A map with names of the user's.
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
            _ => &[],
        }
    }
}

impl Shape {
    /// The key called `name`.
    pub fn key(&self, name: &str) -> Option<&'static Key> {
        self.keys.iter().find(|key| key.name == name)
    }
}

const fn key(name: &'static str, form: Form, doc: &'static str) -> Key {
    Key { name, form, doc }
}

/// The name of a module without the prefix of a raw identifier.
const fn title(module: &'static str) -> &'static str {
    match module.as_bytes() {
        [b'r', b'#', ..] => module.split_at(2).1,
        _ => module,
    }
}

macro_rules! shapes {
    ($( $name:ident = $module:ident $doc:literal required $required:tt one of $one_of:tt { $( $key:ident $(($text:literal))?: $form:expr, $key_doc:literal; )* } )*) => {$(
        #[doc = $doc]
        pub static $name: Shape = Shape {
            name: title(stringify!($module)),
            doc: $doc,
            keys: &[$( key($module::$key, $form, $key_doc) ),*],
            required: shapes!(@names $module $required),
            one_of: shapes!(@names $module $one_of),
        };
        #[doc = concat!("The keys of a map of the shape `", stringify!($module), "`.")]
        #[allow(non_upper_case_globals, missing_docs)]
        pub mod $module {
            $( pub const $key: &str = shapes!(@text $key $($text)?); )*
        }
    )*};
    (@names $module:ident [$( $key:ident )*]) => { &[$( $module::$key ),*] };
    (@text $key:ident) => { stringify!($key) };
    (@text $key:ident $text:literal) => { $text };
}

use crate::format::words::MEMORY_FORMATS;
use crate::layout::options::{OPTIONS, OptionSpec};
use crate::program::attributes::{AttributeKind, TENSOR_ATTRIBUTES};
use Form::{Alignment, Bool, Dtype, Either, Int, List, Map, Named, Null, Number, OneOf, Size, Text, UInt};

/// Words for the memory of a tensor.
pub const PLACE_WORDS: &[&str] = &["auto", "none"];

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
static LIE: Form = Either(&[Null, Bool, Number, Text, List(&Null), Form::Shape(&LIE_MAP)]);
static TEST_VALUE: Form = Either(&[Null, Bool, Number, SOURCE, Form::Shape(&TEST_TENSOR)]);

shapes! {
    DOCUMENT = document "A program, or weights for one." required [] one of [] {
        name: Text, "What the outputs are called, without an extension, where the command line leaves it open.";
        methods: Map(&Form::Shape(&METHOD)), "The methods, in the order of the file.";
        data: Map(&SOURCE), "Payloads with a name, to be used where data are expected.";
        named_data: Either(&[Map(&Either(&[SOURCE, Form::Shape(&NAMED_DATA)])), Null]), "Blobs by key; in a text without methods the content of a .ptd.";
        checkpoints: List(&Form::Shape(&CHECKPOINT)), "Whole files of weights, which go to a .ptd.";
        layout: Form::Shape(&LAYOUT), "How the file is laid out.";
        raw: Named("raw", &Form::Shape(&RAW)), "What is made wrong when all is laid out.";
        version: UInt, "The schema version, 0 in every release.";
    }
    METHOD = method "A method: its values, what goes in and out, and what is done." required [] one of [] {
        values: Map(&VALUE), "The values by name, in the order of their numbers.";
        inputs: LITERALS, "The inputs, by name.";
        outputs: LITERALS, "The outputs, by name; a literal makes a constant method.";
        instructions: INSTRUCTIONS, "What is done, in order.";
        chains: List(&Form::Shape(&CHAIN)), "Several lists of instructions, in place of `instructions`.";
        delegates: Map(&Form::Shape(&DELEGATE)), "Parts that a backend runs, by name.";
        operators: NAMES, "The operators in the order of the file's table; computed from the instructions.";
        memory: Form::Shape(&METHOD_MEMORY), "Planned memory; computed.";
        container_meta: Either(&[Form::Shape(&CONTAINER_META), Null]), "How containers were flattened; computed for plain inputs and outputs, null leaves it out.";
        tests: List(&Form::Shape(&TEST)), "Inputs and the outputs they must give.";
    }
    TENSOR_BASE = tensor "A tensor." required [tensor] one of [] {
        tensor: Dtype, "Element type.";
        sizes: SIZES, "Size of each dimension; for a dynamic tensor the upper bound. Taken from nested data if left out.";
        dim_order: SIZES, "Dimensions from the outermost in memory to the innermost; contiguous if left out.";
        data: SOURCE, "Constant content, or the initial state of a mutable tensor.";
        mutable: Bool, "The tensor keeps its content from one execution to the next.";
        memory: Either(&[OneOf(PLACE_WORDS), Form::Shape(&PLACE)]), "Place in planned memory.";
        view_of: Text, "The tensor whose memory or data this one shares, with other sizes; no instruction makes it.";
        external: Either(&[Bool, Text]), "The data go to a .ptd: true, or the tag that names it.";
        name: Text, "Fully qualified name; the key of external data.";
        device: Text, "cpu, cuda, cuda:1.";
        data_buffer_idx: UInt, "With `external` and no data: the number in the file, which nobody reads; counted.";
        index: UInt, "Number of the value; computed in the exporter's order.";
    }
    PLACE = place "A place in planned memory." required [pool] one of [] {
        pool: UInt, "Number of the planned buffer, from 1.";
        offset: UInt, "Bytes from its start; computed if left out.";
    }
    LITERAL_MAP = literal_map "A value that says its kind: one of the keys, and an index if wanted." required [] one of [int double bool string null dtype memory_format int_list double_list bool_list tensor_list optional_tensor_list] {
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
    INSTRUCTION = instruction "An instruction: one of kernel, delegate, move, jump_false, free; a label alone marks a place." required [] one of [kernel delegate move_ jump_false free] {
        kernel: Text, "Operator with overload: aten::add.out.";
        args: LITERALS, "Arguments: names, literals, {index: 3}.";
        out: Either(&[Text, NAMES]), "What the operator writes; with it the stack is completed by the operator's schema.";
        delegate: Either(&[Text, Int]), "Name of a delegate.";
        move_ ("move"): Form::Shape(&MOVE), "Copies a value into another.";
        jump_false: Form::Shape(&JUMP_FALSE), "Jumps if a value is false.";
        free: LITERAL, "Frees a tensor's memory.";
        label: Text, "Name of this place, for jumps.";
        stacktrace: FRAMES, "Where the instruction came from.";
    }
    MOVE = r#move "What is copied." required [from to] one of [] {
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
        instructions: INSTRUCTIONS, "What is done, in order.";
        inputs: LITERALS, "Never read by the runtime.";
        outputs: LITERALS, "Never read by the runtime.";
    }
    DELEGATE = delegate "A part that a backend runs." required [backend data] one of [] {
        backend: Text, "Name of the backend: XnnpackBackend.";
        data: SOURCE, "The payload.";
        compile_specs: List(&Form::Shape(&COMPILE_SPEC)), "Options for the backend.";
        inline: Bool, "The payload stays inside the FlatBuffer.";
    }
    COMPILE_SPEC = compile_spec "An option for a backend." required [key value] one of [] {
        key: Text, "Name.";
        value: SOURCE, "Bytes; a text stands for itself.";
    }
    METHOD_MEMORY = memory "Planned memory of a method." required [] one of [] {
        non_const_buffer_sizes: INTS, "Sizes of the planned buffers in bytes, the first reserved; computed. What is given is checked.";
        non_const_buffer_device: List(&Form::Shape(&BUFFER_DEVICE)), "Devices of the planned buffers; computed.";
        alignment: Alignment, "Offsets are multiples of this, 16 at least.";
        padding: Size, "Bytes behind each used buffer; 64 with an XNNPACK delegate, else 0.";
        reserved: List(&Size), "Bytes left free at the start of each buffer, from buffer 1.";
        inputs: OneOf(&["planned", "unplanned"]), "Whether inputs get planned memory.";
        outputs: OneOf(&["planned", "unplanned"]), "Whether outputs get planned memory.";
    }
    BUFFER_DEVICE = buffer_device "Device of a planned buffer." required [buffer_idx device] one of [] {
        buffer_idx: Int, "Number of the buffer.";
        device: Text, "cpu, cuda, cuda:1.";
    }
    CONTAINER_META = container_meta "How containers were flattened: pytree's JSON." required [] one of [] {
        inputs: Either(&[Text, Null]), "Of the inputs.";
        outputs: Either(&[Text, Null]), "Of the outputs.";
    }
    TEST = test "Inputs of a method and the outputs they must give." required [inputs] one of [] {
        inputs: List(&TEST_VALUE), "One for each input.";
        outputs: List(&TEST_VALUE), "One for each output; without them nothing is compared.";
        atol: Number, "Allowed absolute difference; 1e-6.";
        rtol: Number, "Allowed relative difference; 1e-5.";
    }
    TEST_TENSOR = test_tensor "A tensor of a test whose sizes are not the method's." required [data] one of [] {
        sizes: SIZES, "Size of each dimension.";
        data: SOURCE, "Content.";
    }
    NAMED_DATA = named_data "A keyed blob." required [data] one of [] {
        data: SOURCE, "Content.";
        align: Alignment, "Alignment of its segment, at least.";
        external: Either(&[Bool, Text]), "The blob goes to a .ptd: true, or the tag that names it.";
        tensor: Dtype, "Element type, if the content is a tensor.";
        sizes: SIZES, "Size of each dimension, if the content is a tensor.";
        dim_order: SIZES, "Dimensions from the outermost in memory to the innermost.";
    }
    CHECKPOINT = checkpoint "The tensors of a .safetensors file, or of a set of them, with their names, types and sizes." required [safetensors] one of [] {
        safetensors: Text, "A .safetensors file, or the index of a set of them: model.safetensors.index.json.";
        include: PATTERNS, "Only tensors whose names match one of these, where * stands for any text; all.";
        exclude: PATTERNS, "But none whose name matches one of these.";
        rename: Map(&Text), "Beginnings of names, and what takes their place; the longest that fits counts.";
        external: Either(&[Bool, Text]), "The tag of the .ptd they go to; the default one.";
    }
    DATA = data_map "Where bytes come from: one of the keys, with those that belong to it." required [] one of [hex base64 text numbers fill iota random file npy safetensors ptd pte] {
        hex: Text, "Hexadecimal digits, with spaces if liked.";
        base64: Text, "Base64.";
        text: Text, "The bytes of a text.";
        numbers: NUMBERS, "Numbers, as a list alone.";
        fill: Either(&[Number, Bool, Text]), "The same number for every element.";
        iota: Form::Shape(&IOTA), "A progression.";
        random: Form::Shape(&RANDOM), "Random numbers, the same on every machine.";
        file: Text, "A file beside the text.";
        npy: Text, "A .npy file.";
        safetensors: Text, "A .safetensors file.";
        ptd: Text, "A .ptd file.";
        pte: Text, "A .pte file: its named data, or its constants that have a name.";
        key: Text, "With ptd or pte: the key, or the name.";
        tensor: Text, "With safetensors: the tensor's name.";
        offset: Size, "With file: where to start.";
        size: Size, "With file: how many bytes; with fill and no tensor: how many elements.";
        dtype: Dtype, "Element type of numbers that are not a tensor's; of what a file stores for a tensor, if it is to be converted.";
        copy: UInt, "Equal data share a place in the file; those with another number here have one of their own. 0.";
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
    RAW = raw "What is made wrong when all is laid out, in this order, in the .pte or in a text without methods in the .ptd; nothing is computed anew." required [] one of [] {
        set: Map(&LIE), "Places of the header and the FlatBuffer, by path, and what they are made to say.";
        fill: UInt, "The byte that padding around the segments consists of; 0.";
        patch: List(&Form::Shape(&PATCH)), "Bytes that are overwritten.";
        truncate: UInt, "The length that the file is cut to.";
        append: SOURCE, "Bytes behind the end.";
        ptd: Named("raw", &Form::Shape(&RAW)), "The same for the first .ptd beside a program.";
        bpte: Named("raw", &Form::Shape(&RAW)), "The same for the .bpte around a program.";
    }
    LIE_MAP = lie "What is no number and no word." required [] one of [same_as bytes] {
        same_as: Text, "The path of a place; the offset leads to what that one refers to.";
        bytes: SOURCE, "Bytes, from the first one on of a number, a text, the items of a vector, or a table.";
    }
    PATCH = patch "Bytes that are overwritten." required [at bytes] one of [] {
        at: UInt, "Where, in bytes from the start of the file.";
        bytes: SOURCE, "What is written there.";
    }
}

/// Number of kinds of instructions.
pub const INSTRUCTION_KINDS: usize = INSTRUCTION.one_of.len();

/// A tensor: the keys of [`TENSOR_BASE`], and the rows of the table of attributes.
pub static TENSOR: Shape = Shape { keys: &TENSOR_KEYS, ..TENSOR_SHAPE };

const TENSOR_SHAPE: Shape =
    Shape { name: "tensor", doc: "A tensor.", keys: &[], required: &[tensor::tensor], one_of: &[] };

static TENSOR_KEYS: [Key; TENSOR_BASE.keys.len() + TENSOR_ATTRIBUTES.len()] = {
    let mut keys = [const { key("", Form::Null, "") }; TENSOR_BASE.keys.len() + TENSOR_ATTRIBUTES.len()];
    let mut index = 0;
    while index < keys.len() {
        keys[index] = if index < TENSOR_BASE.keys.len() {
            let base = &TENSOR_BASE.keys[index];
            Key { name: base.name, form: base.form, doc: base.doc }
        } else {
            let attribute = &TENSOR_ATTRIBUTES[index - TENSOR_BASE.keys.len()];
            let form = match attribute.kind {
                AttributeKind::Bool => Form::Bool,
                AttributeKind::Int => Form::Int,
                AttributeKind::Byte(words) => Form::WordOrInt(words),
            };
            Key { name: attribute.key, form, doc: attribute.doc }
        };
        index += 1;
    }
    keys
};

/// The keys of `layout:`, which are the rows of the table of layout options.
pub static LAYOUT: Shape = Shape {
    name: "layout",
    doc: "Layout of the files; what is left out is the exporter's default.",
    keys: &LAYOUT_KEYS,
    required: &[],
    one_of: &[],
};

static LAYOUT_KEYS: [Key; OPTIONS.len()] = {
    let mut keys = [const { key("", Form::Null, "") }; OPTIONS.len()];
    let mut index = 0;
    while index < keys.len() {
        let option = &OPTIONS[index];
        keys[index] = Key { name: option.name, form: Form::Option(option), doc: option.doc };
        index += 1;
    }
    keys
};
