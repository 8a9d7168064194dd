//! The YAML grammar as tables, from the rows in [`super::grammar`]: the keys of each map, the form of their values, and
//! their documentation.
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
    /// Alternative keys: a map must have exactly one of them. Empty if it has no alternatives.
    pub one_of: &'static [&'static str],
    /// Keys that may replace all of these.
    pub or: &'static [&'static str],
}

/// A key of a [`Shape`].
#[derive(Debug)]
pub struct KeySpec {
    /// Name of the key in YAML.
    pub name: &'static str,
    /// Form of its value.
    pub form: Form,
    /// Expected value, for messages about another one; empty if the form determines it.
    pub what: &'static str,
    /// Documentation, one sentence.
    pub doc: &'static str,
}

/// Allowed form of a node.
#[derive(Debug, Clone, Copy)]
pub enum Form {
    /// Any value: what it may be depends on a file.
    Any,
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
    /// The name of any operator; known ones are suggested.
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
    /// A list whose items have this form.
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
    /// The form that this one stands for: that of its name.
    pub fn unnamed(&self) -> &Form {
        let mut form = self;
        while let Form::Named(_, inner) = form {
            form = inner;
        }
        form
    }

    /// What a function finds first among the forms that this one is one of, without names.
    pub fn find<'f, T>(&'f self, find: &mut dyn FnMut(&'f Form) -> Option<T>) -> Option<T> {
        match self.unnamed() {
            Form::Either(forms) => forms.iter().find_map(|form| form.find(find)),
            form => find(form),
        }
    }

    /// The forms that this one is one of, without names.
    pub fn alternatives(&self) -> Vec<&Form> {
        let mut all = Vec::new();
        self.find(&mut |form| {
            all.push(form);
            None::<()>
        });
        all
    }

    /// The words among the values of the form; none if there are none.
    pub fn words(&self) -> &'static [&'static str] {
        let words = self.find(&mut |form| match form {
            Form::OneOf(words) | Form::WordOrInt(words) if !words.is_empty() => Some(*words),
            _ => None,
        });
        words.unwrap_or_default()
    }

    /// The shapes that a node of this form may have.
    pub fn shapes(&self) -> impl Iterator<Item = &'static Shape> {
        let shape = |form: &Form| if let Form::Shape(shape) = form { Some(*shape) } else { None };
        self.alternatives().into_iter().filter_map(shape)
    }
}

impl Shape {
    /// The key called `name`.
    pub fn key(&self, name: &str) -> Option<&'static KeySpec> {
        self.keys.iter().find(|key| key.name == name)
    }

    /// The shapes of a form, but for those of forms with names, which many keys have.
    fn own(form: &Form) -> Box<dyn Iterator<Item = &'static Shape> + '_> {
        match form {
            Form::Shape(shape) => Box::new(std::iter::once(*shape)),
            Form::Either(forms) => Box::new(forms.iter().flat_map(Shape::own)),
            _ => Box::new(std::iter::empty()),
        }
    }

    /// The key whose value is a map of names to maps with these keys.
    pub fn map_of<'n>(&self, mut keys: impl Iterator<Item = &'n str> + Clone) -> Option<&'static str> {
        let has_all = |of: &Form| Shape::own(of).any(|shape| keys.clone().all(|name| shape.key(name).is_some()));
        let maps = |key: &&KeySpec| matches!(key.form, Form::Map(of) if has_all(of));
        self.keys.iter().find(maps).filter(|_| keys.next().is_some()).map(|key| key.name)
    }

    /// Says where a key of this name is allowed: in a map that is the value of a key of this one.
    pub fn holder(&self, name: &str) -> Option<String> {
        let holds = |form: &Form| Shape::own(form).any(|shape| shape.key(name).is_some());
        self.keys.iter().find_map(|key| match key.form {
            Form::Map(of) if holds(of) => Some(format!("`{name}` is a key of each entry of `{}`", key.name)),
            form if holds(&form) => Some(format!("`{name}` is a key of `{}`", key.name)),
            _ => None,
        })
    }
}

/// An array whose items a constant expression computes by index.
macro_rules! array {
    ([$first:expr; $len:expr] $index:ident => $value:expr) => {{
        let (mut items, mut $index) = ([const { $first }; $len], 0);
        while $index < items.len() {
            items[$index] = $value;
            $index += 1;
        }
        items
    }};
}

const NO_KEY: KeySpec = key("", Form::Null, "");

const fn key(name: &'static str, form: Form, doc: &'static str) -> KeySpec {
    KeySpec { name, form, what: "", doc }
}

/// The name of a module without the prefix of a raw identifier.
const fn title(module: &'static str) -> &'static str {
    match module.as_bytes() {
        [b'r', b'#', ..] => module.split_at(2).1,
        _ => module,
    }
}

macro_rules! shapes {
    ($( $name:ident = $module:ident $doc:literal required $required:tt one of $one_of:tt $(or $or:tt)? => $struct:tt {
        $( $key:ident $(($text:literal))? : $form:expr $(=> $type:ty $(as $decoder:ident)? $(= $default:literal)? $(: $what:literal)?)?, $key_doc:literal; )*
    } )*) => {$(
        #[doc = $doc]
        pub static $name: Shape = Shape {
            name: title(stringify!($module)),
            doc: $doc,
            keys: &[$( KeySpec { name: $module::$key, form: $form, what: concat!($($($what)?)?), doc: $key_doc } ),*],
            required: shapes!(@names $module $required),
            one_of: shapes!(@names $module $one_of),
            or: shapes!(@names $module $($or)?),
        };
        #[doc = concat!("The keys of a map of the shape `", stringify!($module), "`, by their fields.")]
        // Not every key is decoded by its name.
        #[allow(non_upper_case_globals, missing_docs, dead_code)]
        pub mod $module {
            $( pub const $key: &str = shapes!(@text $key $($text)?); )*
        }
    )*};
    (@names $module:ident) => { &[] };
    (@names $module:ident [$( $key:ident )*]) => { &[$( $module::$key ),*] };
    (@text $key:ident) => { stringify!($key) };
    (@text $key:ident $text:literal) => { $text };
}

use super::grammar::grammar;
use crate::layout::options::{OPTIONS, OptionSpec};
use Form::{Alignment, Bool, Dtype, Either, Int, List, Map, Named, Null, Number, OneOf, Size, Text, UInt};
use pte_model::format::words::MEMORY_FORMATS;
use pte_model::format::{Kind, TableSchema};
use pte_model::program::MemoryPlanner;
use pte_model::program::attributes::{AttributeKind, TENSOR_ATTRIBUTES};
use pte_model::program::instruction::INSTRUCTION_ROWS;
use pte_payload::flat::FlatWriter;
use pte_xnnpack::model::UNKNOWN_WORD;
use pte_xnnpack::schema::{self, DATATYPES, IDENTIFIERS, Operation, field_key};

/// Words for the memory of a tensor.
pub const MEMORY_PLACEMENT_WORDS: &[&str] = &["auto", "none"];

static NUMBERS: Form = Named("numbers", &NUMBER_LIST);
static NUMBER_LIST: Form = List(&Either(&[Number, Bool, Text, Named("numbers", &NUMBER_LIST)]));
static INTS: Form = List(&Int);
static SIZES: Form = List(&UInt);
static NAMES: Form = List(&Text);
static PATTERNS: Form = Either(&[Text, List(&Text)]);
static FRAMES: Form = List(&Form::Shape(&FRAME));
static INSTRUCTIONS: Form = List(&Form::Shape(&INSTRUCTION));
static SOURCE: Form = Named("data", &Either(&[Number, Bool, Text, NUMBERS, Form::Shape(&DATA)]));
static LITERAL: Form = Named("literal", &LITERAL_FORMS);
static LITERAL_FORMS: Form =
    Either(&[Null, Bool, Number, Text, List(&Named("literal", &LITERAL_FORMS)), Form::Shape(&LITERAL_MAP)]);
static LITERALS: Form = List(&LITERAL);
static VALUE: Form =
    Either(&[Null, Bool, Number, Text, List(&LITERAL), Form::Shape(&TENSOR), Form::Shape(&LITERAL_MAP)]);
static OVERRIDE: Form = Either(&[Null, Bool, Number, Text, List(&Null), Form::Shape(&FIELD_OVERRIDE)]);
static TEST_VALUE: Form = Either(&[Null, Bool, Number, SOURCE, Form::Shape(&TEST_TENSOR)]);

grammar!(shapes);

// The alternatives of an instruction are the keys of the table of instructions, `unknown`, `view` and `value`.
const _: () = {
    assert!(INSTRUCTION.one_of.len() == INSTRUCTION_ROWS.len() + 3);
    let mut row = 0;
    while row < INSTRUCTION_ROWS.len() {
        let (mut position, mut found) = (0, false);
        while position < INSTRUCTION.one_of.len() {
            found |= same_text(INSTRUCTION.one_of[position], INSTRUCTION_ROWS[row].key);
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

static TENSOR_KEYS: [KeySpec; TENSOR_BASE.keys.len() + TENSOR_ATTRIBUTES.len()] = array!([NO_KEY; TENSOR_BASE.keys.len() + TENSOR_ATTRIBUTES.len()] index => if index < TENSOR_BASE.keys.len() {
    KeySpec { ..TENSOR_BASE.keys[index] }
} else {
    let attribute = &TENSOR_ATTRIBUTES[index - TENSOR_BASE.keys.len()];
    let form = match attribute.kind {
        AttributeKind::Bool => Form::Bool,
        AttributeKind::Int => Form::Int,
        AttributeKind::Byte(words) => Form::WordOrInt(words),
    };
    key(attribute.key, form, attribute.doc)
});

/// The keys of `layout:`, which are the rows of the table of layout options.
pub static LAYOUT: Shape = Shape {
    name: "layout",
    doc: "Layout of the files; omitted options have the exporter's defaults.",
    keys: &LAYOUT_KEYS,
    required: &[],
    one_of: &[],
    or: &[],
};

static LAYOUT_KEYS: [KeySpec; OPTIONS.len()] = array!([NO_KEY; OPTIONS.len()] index => {
    let option = &OPTIONS[index];
    key(option.name, Form::Option(option), option.doc)
});

/// Names of the element types of XNNPACK, by number.
static DATATYPE_WORDS: [&str; DATATYPES.len()] = array!([""; DATATYPES.len()] index => DATATYPES[index].name);

/// An operation of a graph: a key for each operation, and the keys of [`GRAPH_NODE_BASE`].
pub static GRAPH_NODE: Shape = Shape {
    name: "graph_node",
    doc: GRAPH_NODE_BASE.doc,
    keys: &GRAPH_NODE_KEYS,
    required: &[],
    one_of: &OPERATION_WORDS,
    or: &[],
};

static OPERATION_WORDS: [&str; Operation::ALL.len() + 1] = array!([""; Operation::ALL.len() + 1] index => match index < Operation::ALL.len() {
    true => Operation::ALL[index].word(),
    false => UNKNOWN_WORD,
});

static GRAPH_NODE_KEYS: [KeySpec; Operation::ALL.len() + GRAPH_NODE_BASE.keys.len()] = array!([NO_KEY; Operation::ALL.len() + GRAPH_NODE_BASE.keys.len()] index => if index < Operation::ALL.len() {
    let operation = Operation::ALL[index];
    key(operation.word(), Form::Shape(shape_of(operation)), shape_of(operation).doc)
} else {
    KeySpec { ..GRAPH_NODE_BASE.keys[index - Operation::ALL.len()] }
});

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
    ("pre_paddings", "Elements before each dimension."),
    ("post_paddings", "Elements after each dimension."),
    ("padding_value", "Value of these elements."),
    ("alpha", "Factor of negative inputs."),
    ("negative_slope", "Factor of negative inputs."),
    ("kernel_height", "Height of the filter, from which it follows."),
    ("kernel_width", "Width of the filter, from which it follows."),
    ("subsampling_height", "Vertical stride; 1 if it is left out."),
    ("subsampling_width", "Horizontal stride; 1 if it is left out."),
    ("stride_height", "Vertical stride; 1 if it is left out."),
    ("stride_width", "Horizontal stride; 1 if it is left out."),
    (
        "dilation_height",
        "Vertical distance of the pixels of a window; 1 if it is left out, and 0 of an average pooling.",
    ),
    (
        "dilation_width",
        "Horizontal distance of the pixels of a window; 1 if it is left out, and 0 of an average pooling.",
    ),
    ("groups", "Number of groups; 1 if it is left out."),
    ("group_input_channels", "Input channels of a group; they follow from the filter."),
    ("group_output_channels", "Output channels of a group; they follow from the filter and the number of groups."),
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
    const DOC: &str =
        "A value; null or left out for none. A number is an id, which need not exist; no sizes are inferred from it.";
    array!([NO_KEY; N] slot => {
        let name = field_key(table, slot);
        match table.fields[slot].kind {
            Kind::Float => key(name, Number, doc_of(name)),
            Kind::UInts => key(name, SIZES, doc_of(name)),
            _ if !same_text(name, table.fields[slot].name) => key(name, OPERAND, DOC),
            _ => key(name, UInt, doc_of(name)),
        }
    })
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
    use pte_model::format::table::Union;

    #[test]
    fn operations_have_the_keys_of_their_tables() {
        for operation in Operation::ALL {
            let (shape, table) = (shape_of(operation), operation.table());
            let keys: Vec<&str> = shape.keys.iter().map(|key| key.name).collect();
            let expected: Vec<&str> = (0..table.fields.len()).map(|slot| field_key(table, slot)).collect();
            assert_eq!(keys, expected, "{}", operation.word());
        }
    }
}
