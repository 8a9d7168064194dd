//! ParsedDocument -> YAML, the inverse of [`super::decode`]: each struct is written by its rows in [`super::grammar`],
//! as a map in braces, with the keys in the order of the rows. Keys with their defaults are omitted.
//!
//! All of a document can be written except the names under `files`, which [`super::decode`] replaces by their paths.
//! Comments and lines are the caller's.

use std::borrow::Cow;

use super::document::*;
use super::grammar::grammar;
use super::shape::*;
use super::yaml::{self, FlowMap};
use crate::layout::options::OPTIONS;
use crate::overrides::OverrideValue;
use pte_model::data::number::{self, NumericValue};
use pte_model::format::path::FieldPath;
use pte_model::format::scalar_type::{Encoding, FloatFormat};
use pte_model::format::table::implement;
use pte_model::format::words::MEMORY_FORMATS;
use pte_model::format::{DimOrder, ScalarType};
use pte_model::program::attributes::{AttributeKind, TENSOR_ATTRIBUTES};
use pte_model::program::instruction::INSTRUCTION_ROWS;
use pte_model::program::{ContainerMetadata, Device, MemoryPlanner, StackFrame};
use pte_releases::Release;
use pte_xnnpack::model::NodeOperation;
use pte_xnnpack::schema::field_key;
use pte_yaml::tree::{NodeValue, SourceNode};

/// A value of a key, or an item of a list.
pub trait WriteValue {
    /// Appends the value; `key` is its row.
    fn write(&self, key: &'static KeySpec, out: &mut String);

    /// Returns true for a value whose key is omitted.
    fn is_absent(&self) -> bool {
        false
    }

    /// Returns the key of an entry of a map with arbitrary keys.
    fn name(&self) -> Cow<'_, str> {
        Cow::Borrowed("")
    }
}

/// A map of a shape: a struct whose fields are its keys.
pub trait WriteKeys {
    /// Appends the keys without braces.
    fn keys(&self, map: &mut FlowMap<'_>);

    /// Returns true if there are no keys.
    fn is_empty(&self) -> bool {
        let mut out = String::new();
        self.keys(&mut FlowMap::new(&mut out));
        out == "{"
    }
}

/// The fields of a struct that are not keys.
trait WriteRest {
    /// Appends what precedes a row, or is in its place.
    fn before(&self, _: &str, _: &mut FlowMap<'_>) {}

    /// Appends the value if it needs no keys.
    fn short(&self, _: &mut String) -> bool {
        false
    }

    fn name(&self) -> Cow<'_, str> {
        Cow::Borrowed("")
    }
}

/// The row of a value that is not that of a key.
static NO_ROW: KeySpec = KeySpec { name: "", form: Form::Null, what: "", doc: "" };

/// Appends a value.
pub fn write(value: &impl WriteValue, out: &mut String) {
    value.write(&NO_ROW, out);
}

/// Appends a node of any kind.
pub fn node(node: &SourceNode<'_>, out: &mut String) {
    match &node.value {
        NodeValue::Text(text) => out.push_str(&yaml::text(text)),
        NodeValue::List(items) => yaml::list(out, items, self::node),
        NodeValue::Map(entries) => map(out, |map| {
            entries.iter().for_each(|(key, value)| self::node(value, map.key(&yaml::text(&key.text))));
        }),
        NodeValue::Null | NodeValue::Bool(_) | NodeValue::Int(_) | NodeValue::UInt(_) | NodeValue::Float(_) => {
            node.write(&NO_ROW, out);
        }
    }
}

/// Appends a line with a key, unless its value is absent.
pub fn line(out: &mut String, indent: &str, key: &str, value: &impl WriteValue) {
    if !value.is_absent() {
        out.extend([indent, key, ": "]);
        write(value, out);
        out.push('\n');
    }
}

/// Appends the line of an entry of a map.
pub fn entry(out: &mut String, indent: &str, entry: &impl WriteValue) {
    line(out, indent, &entry.name(), &Some(entry));
}

/// Appends the line of an item of a list.
pub fn item(out: &mut String, indent: &str, item: &impl WriteValue) {
    out.extend([indent, "- "]);
    write(item, out);
    out.push('\n');
}

/// Appends a map with the keys that `write` appends.
pub fn map(out: &mut String, write: impl FnOnce(&mut FlowMap<'_>)) {
    let mut map = FlowMap::new(out);
    write(&mut map);
    map.end();
}

macro_rules! display {
    ($($type:ty)*) => {$(
        impl WriteValue for $type {
            fn write(&self, _: &'static KeySpec, out: &mut String) {
                yaml::number(self, out);
            }
        }
    )*};
}

display! { u8 u16 i32 u32 i64 u64 ScalarType }

implement! {
    WriteValue: fn write(&self, key: &'static KeySpec, out: &mut String) -> ();
    f32 = single(*self, out);
    f64 = number::double(self, out);
    // Positions of words of the row.
    i16 = usize::try_from(*self).unwrap_or(0).write(key, out);
    usize = out.push_str(key.form.words().get(*self).or(key.form.words().first()).unwrap_or(&""));
    &str = out.push_str(&yaml::text(self));
    Cow<'_, str> = out.push_str(&yaml::text(self));
    String = out.push_str(&yaml::text(self));
    Release = out.push_str(&yaml::quoted(&self.version().to_string()));
    NumericValue = match self {
        NumericValue::Float(x) => number::double(x, out),
        NumericValue::Int(_) | NumericValue::Bool(_) | NumericValue::Complex(..) => yaml::number(self, out),
    };
    DimOrder = yaml::list(out, self.iter(), yaml::number);
    Device = match self.index {
        0 => yaml::number(self, out),
        _ => out.push_str(&yaml::quoted(&self.to_string())),
    };
    MemoryPlacement = match self {
        MemoryPlacement::Auto => out.push_str("auto"),
        MemoryPlacement::None => out.push_str("none"),
        MemoryPlacement::In(placement) => placement.write(key, out),
    };
    // A number of a tensor, of which only complex ones and NaN are words.
    SourceNode<'_> = match &self.value {
        // No number.
        NodeValue::Null | NodeValue::Map(_) => out.push_str("null"),
        NodeValue::Bool(b) => yaml::number(b, out),
        NodeValue::Int(n) => yaml::number(n, out),
        NodeValue::UInt(n) => yaml::number(n, out),
        NodeValue::Float(x) => number::double(x, out),
        NodeValue::Text(text) => match number::number_word(text) {
            Some(number) => number.write(key, out),
            None => out.push_str(&yaml::text(text)),
        },
        NodeValue::List(items) => items.write(key, out),
    };
    Literal<'_> = match self {
        Literal::Null => out.push_str("null"),
        Literal::Int(n) => yaml::number(n, out),
        Literal::Double(x) => number::double(x, out),
        Literal::Bool(b) => yaml::number(b, out),
        Literal::Word(text) => out.push_str(&yaml::text(text)),
        Literal::List(items) => items.write(key, out),
        _ => map(out, |map| self.kind(map)),
    };
    ParsedInstruction<'_> = map(out, |map| {
        map.value(instruction::label, &self.label);
        self.action.iter().for_each(|action| action.keys(map));
        map.value(instruction::stacktrace, &self.stacktrace);
    });
    ParsedField<'_> = match self {
        ParsedField::Value(name) => name.write(key, out),
        ParsedField::NoValue => out.push_str("null"),
        ParsedField::UInt(number) => number.write(key, out),
        ParsedField::Float(number) => number.write(key, out),
        ParsedField::UInts(items) => items.write(key, out),
    };
    TestValue<'_> = match self {
        TestValue::Null => out.push_str("null"),
        TestValue::Number(number) => number.write(key, out),
        TestValue::Text(text) => text.write(key, out),
        TestValue::Tensor(TestTensor { sizes: None, data }) => data.write(key, out),
        TestValue::Tensor(tensor) => map(out, |map| tensor.keys(map)),
    };
    ParsedConstant<'_> = map(out, |map| self.keys(map));
    OverrideValue = match self {
        OverrideValue::Integer(n) => yaml::number(n, out),
        OverrideValue::Float(x) => number::double(x, out),
        OverrideValue::Absent => out.push_str("absent"),
        OverrideValue::Null => out.push_str("null"),
        OverrideValue::Empty => out.push_str("empty"),
        OverrideValue::Text(text) => out.push_str(&yaml::quoted(text)),
        OverrideValue::SameAs(path) => {
            map(out, |map| map.key(field_override::same_as).push_str(&yaml::quoted(&path.to_string())));
        }
        OverrideValue::Bytes(bytes) => map(out, |map| map.key(field_override::bytes).push_str(&yaml::hex(bytes))),
    };
}

/// Types whose key is omitted if they have this value, and their text otherwise.
macro_rules! omitted {
    ($( $type:ty, |$value:ident, $key:ident, $out:ident| $is_absent:expr => $write:expr; )*) => {$(
        impl WriteValue for $type {
            #[allow(unused_variables)] // Not every value uses all arguments.
            fn write(&self, $key: &'static KeySpec, $out: &mut String) {
                let $value = self;
                $write
            }

            fn is_absent(&self) -> bool {
                let $value = self;
                $is_absent
            }
        }
    )*};
}

omitted! {
    // One of two words, or itself.
    bool, |value, key, out| !value => match key.form.words().get(usize::from(*value)) {
        Some(word) => out.push_str(word),
        None => yaml::number(value, out),
    };
    MemoryPlanner, |planner, key, out| *planner == MemoryPlanner::default() => out.push_str(planner.word());
    Layout, |layout, key, out| layout.nodes.is_empty() => map(out, |map| {
        for option in OPTIONS {
            if let Some(value) = option.requested(&layout.options) {
                map.key(option.name).push_str(&option.print(value));
            }
        }
    });
}

/// Appends a float32 with the fewest digits that reproduce it.
fn single(number: f32, out: &mut String) {
    let wide = f64::from(number);
    let text = number::element(NumericValue::Float(wide), Encoding::Float(FloatFormat::Binary32));
    let same = number::number_of(&text).is_some_and(|read| (read.to_f64() as f32).to_bits() == number.to_bits());
    match same {
        true => out.push_str(&text),
        false => number::double(&wide, out),
    }
}

impl<T: WriteValue> WriteValue for Option<T> {
    fn write(&self, key: &'static KeySpec, out: &mut String) {
        match self {
            Some(value) => value.write(key, out),
            // A key without a value: the default tag, or nothing.
            None => out.push_str(if let Form::Either([Form::Bool, ..]) = key.form { "true" } else { "null" }),
        }
    }

    fn is_absent(&self) -> bool {
        self.is_none()
    }
}

impl<T: WriteValue> WriteValue for &T {
    fn write(&self, key: &'static KeySpec, out: &mut String) {
        (**self).write(key, out);
    }
}

impl<T: WriteValue> WriteValue for Box<T> {
    fn write(&self, key: &'static KeySpec, out: &mut String) {
        (**self).write(key, out);
    }
}

impl<T: WriteValue> WriteValue for At<T> {
    fn write(&self, key: &'static KeySpec, out: &mut String) {
        self.value.write(key, out);
    }
}

impl<T: WriteValue> WriteValue for Vec<T> {
    fn write(&self, key: &'static KeySpec, out: &mut String) {
        match key.form {
            Form::Map(_) | Form::Either([Form::Map(_), ..]) => {
                map(out, |map| self.iter().for_each(|entry| entry.write(&NO_ROW, map.key(&entry.name()))));
            }
            _ => yaml::list(out, self, |item, out| item.write(key, out)),
        }
    }

    fn is_absent(&self) -> bool {
        self.is_empty()
    }
}

impl<T: WriteValue> WriteValue for (Word<'_>, T) {
    fn write(&self, key: &'static KeySpec, out: &mut String) {
        self.1.write(key, out);
    }

    // A number needs no quotes, as a key.
    fn name(&self) -> Cow<'_, str> {
        let name = &*self.0.value;
        let is_number = name.parse::<u32>().is_ok_and(|number| number.to_string() == name);
        if is_number { Cow::Borrowed(name) } else { yaml::text(name) }
    }
}

impl WriteValue for (At<FieldPath>, OverrideSource<'_>) {
    fn write(&self, key: &'static KeySpec, out: &mut String) {
        match &self.1 {
            OverrideSource::Value(value) => value.write(key, out),
            OverrideSource::Bytes(data) => map(out, |map| map.value(field_override::bytes, data)),
        }
    }

    fn name(&self) -> Cow<'_, str> {
        Cow::Owned(yaml::quoted(&self.0.value.to_string()))
    }
}

impl WriteValue for Declaration<'_> {
    fn write(&self, key: &'static KeySpec, out: &mut String) {
        let index = |map: &mut FlowMap<'_>| map.value(literal_map::index, &self.index);
        match &self.value {
            Declared::Tensor(tensor) => map(out, |map| {
                tensor.keys(map);
                index(map);
            }),
            // A NaN with a payload would be a string.
            Declared::Other(At { value: Literal::Double(x), .. })
                if !number::has_nan_payload(*x) && self.index.is_none() =>
            {
                number::double(x, out);
            }
            Declared::Other(literal) if self.index.is_none() && !matches!(literal.value, Literal::Double(_)) => {
                literal.write(key, out);
            }
            Declared::Other(literal) => map(out, |map| {
                literal.value.kind(map);
                index(map);
            }),
        }
    }

    fn name(&self) -> Cow<'_, str> {
        yaml::text(&self.name.value)
    }
}

impl Literal<'_> {
    /// Appends the literal with its kind as the key.
    fn kind(&self, map: &mut FlowMap<'_>) {
        match self {
            Literal::Null => map.key("\"null\"").push_str("null"),
            Literal::Int(n) => map.value(literal_map::int, n),
            Literal::Double(x) => map.value(literal_map::double, x),
            Literal::Bool(b) => yaml::number(b, map.key(literal_map::bool)),
            Literal::Word(text) | Literal::String(text) => map.value(literal_map::string, text),
            Literal::Dtype(dtype) => map.value(literal_map::dtype, dtype),
            Literal::MemoryFormat(n) => {
                let word = usize::try_from(*n).ok().and_then(|n| MEMORY_FORMATS.get(n));
                map.key(literal_map::memory_format).push_str(word.unwrap_or(&""));
            }
            Literal::Index(index) => map.value(literal_map::index, index),
            Literal::Unknown(tag) => map.value(literal_map::unknown, tag),
            Literal::List(items) => items.write(&NO_ROW, map.key(literal_map::int_list)),
            Literal::Typed(kind, items) => items.write(
                &NO_ROW,
                map.key(match kind {
                    ListKind::Int => literal_map::int_list,
                    ListKind::Double => literal_map::double_list,
                    ListKind::Bool => literal_map::bool_list,
                    ListKind::Tensor => literal_map::tensor_list,
                    ListKind::OptionalTensor => literal_map::optional_tensor_list,
                }),
            ),
        }
    }
}

impl WriteKeys for Action<'_> {
    fn keys(&self, map: &mut FlowMap<'_>) {
        match self {
            Action::Kernel { name, args, out } => {
                map.key(instruction::kernel).push_str(&yaml::operator(&name.value));
                args.write(&NO_ROW, map.key(instruction::args));
                match out.as_deref() {
                    None => {}
                    Some([out]) if out.value != MISSING_OUT => map.value(instruction::out, out),
                    Some(outs) => yaml::list(map.key(instruction::out), outs, |out, text| match &*out.value {
                        MISSING_OUT => text.push_str("null"),
                        name => text.push_str(&yaml::text(name)),
                    }),
                }
            }
            Action::Delegate { delegate, args } => {
                match &delegate.value {
                    NameOrNumber::Name(name) => map.value(instruction::delegate, name),
                    NameOrNumber::Number(number) => map.value(instruction::delegate, number),
                }
                args.write(&NO_ROW, map.key(instruction::args));
            }
            Action::Plain(kind, operands) => {
                let Some(row) = INSTRUCTION_ROWS.iter().find(|row| row.kind == *kind) else { return };
                match (&operands[..], row.fields) {
                    ([(_, operand)], [(key, _)]) if *key == row.key => map.value(row.key, operand),
                    _ => self::map(map.key(row.key), |map| {
                        operands.iter().zip(row.fields).for_each(|((_, operand), (key, _))| map.value(key, operand));
                    }),
                }
            }
            Action::Unknown(tag) => map.value(instruction::unknown, tag),
            Action::View { base, out, sizes } => {
                map.value(instruction::view, base);
                map.value(instruction::sizes, sizes);
                map.value(instruction::out, out);
            }
            Action::Value(name) => map.value(instruction::value, name),
        }
    }
}

impl WriteRest for Method<'_> {
    fn before(&self, key: &str, map: &mut FlowMap<'_>) {
        match (key, &self.chains[..]) {
            (method::instructions, [chain]) if chain.is_alone() => map.value(key, &chain.instructions),
            (method::chains, chains) if !matches!(chains, [chain] if chain.is_alone()) => {
                self.chains.write(&NO_ROW, map.key(key));
            }
            _ => {}
        }
    }

    fn name(&self) -> Cow<'_, str> {
        yaml::text(&self.name.value)
    }
}

impl ParsedChain<'_> {
    /// Returns true for a chain that has nothing but instructions.
    fn is_alone(&self) -> bool {
        self.inputs.is_empty() && self.outputs.is_empty() && self.stacktraces.is_none()
    }
}

impl WriteRest for ParsedTensor<'_> {
    fn before(&self, key: &str, map: &mut FlowMap<'_>) {
        if key != tensor::mutable {
            return;
        }
        for (attribute, value) in &self.attributes {
            let attribute = &TENSOR_ATTRIBUTES[*attribute];
            let out = map.key(attribute.key);
            match attribute.kind {
                AttributeKind::Bool => yaml::number(*value != 0, out),
                AttributeKind::Int => yaml::number(value, out),
                AttributeKind::Byte(words) => match usize::try_from(*value).ok().and_then(|number| words.get(number)) {
                    Some(word) => out.push_str(word),
                    None => yaml::number(value, out),
                },
            }
        }
    }
}

impl WriteRest for Delegate<'_> {
    fn before(&self, key: &str, map: &mut FlowMap<'_>) {
        match (key, &self.payload) {
            (delegate::data, ParsedPayload::Data(data)) => map.value(key, data),
            (delegate::graph, ParsedPayload::Graph(graph)) => map.value(key, graph),
            _ => {}
        }
    }

    fn name(&self) -> Cow<'_, str> {
        yaml::text(&self.name.value)
    }
}

impl WriteKeys for ParsedConstant<'_> {
    fn keys(&self, map: &mut FlowMap<'_>) {
        match &self.source {
            ParsedConstantSource::Data(data) => map.value(graph_scales::data, data),
            ParsedConstantSource::Key(key) => map.value(graph_scales::key, key),
        }
        map.value(graph_scales::size, &self.size);
    }
}

impl WriteRest for ParsedGraphValue<'_> {
    fn before(&self, key: &str, map: &mut FlowMap<'_>) {
        if key == graph_value::data {
            self.constant.iter().for_each(|constant| constant.keys(map));
        }
        let Some(At { value: quantization, .. }) = self.quantization.as_ref().filter(|_| key == graph_value::scale)
        else {
            return;
        };
        match quantization {
            ParsedQuantization::Tensor(scale, zero_point) => {
                map.value(graph_value::scale, scale);
                map.value(graph_value::zero_point, &Some(*zero_point).filter(|zero_point| *zero_point != 0));
            }
            ParsedQuantization::Token(dims) => map.value(graph_value::num_nonbatch_dims, dims),
            ParsedQuantization::Channels { channel_dim, group_size, scales, num_scales, scale_bf16 } => {
                map.value(graph_value::channel_dim, channel_dim);
                map.value(graph_value::group_size, group_size);
                map.value(graph_value::scale_bf16, scale_bf16);
                match scales {
                    ParsedScales::Listed(scales) => scales.write(&NO_ROW, map.key(graph_value::scales)),
                    ParsedScales::Constant(constant) => map.value(graph_value::scales, constant),
                }
                map.value(graph_value::num_scales, num_scales);
            }
        }
    }

    fn name(&self) -> Cow<'_, str> {
        yaml::text(&self.name.value)
    }
}

impl WriteRest for ParsedNode<'_> {
    fn before(&self, key: &str, map: &mut FlowMap<'_>) {
        if key == graph_node::unknown {
            self::map(map.key(self.operation.word()), |map| {
                for (slot, field) in &self.fields {
                    map.value(field_key(self.operation.table(), *slot), field);
                }
                if let NodeOperation::Unknown(tag) = self.operation {
                    map.value(unknown_operation::tag, &tag);
                }
            });
        }
    }
}

impl WriteRest for ParsedExtraField<'_> {
    // Spaces separate the bytes, because nothing else says what they are.
    fn short(&self, out: &mut String) -> bool {
        let DataSource::Bytes(bytes) = &self.bytes.source else { return false };
        map(out, |map| {
            map.value(extra_field::slot, &self.slot);
            map.value(extra_field::width, &self.width);
            let hex: Vec<String> = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
            self::map(map.key(extra_field::bytes), |map| {
                map.key(data_map::hex).push_str(&yaml::quoted(&hex.join(" ")))
            });
        });
        true
    }
}

impl WriteRest for ParsedNamedData<'_> {
    fn name(&self) -> Cow<'_, str> {
        yaml::text(&self.key.value)
    }
}

impl WriteRest for Data<'_> {
    fn short(&self, out: &mut String) -> bool {
        match &self.source {
            _ if self.align.is_some() || self.dtype.is_some() || self.copy != 0 => return false,
            DataSource::Name(name) => name.write(&NO_ROW, out),
            DataSource::Numbers(items) => match &items[..] {
                // The only number of a tensor without dimensions.
                [item] if item.id == self.id => item.write(&NO_ROW, out),
                items => yaml::list(out, items, |item, out| item.write(&NO_ROW, out)),
            },
            _ => return false,
        }
        true
    }

    fn before(&self, key: &str, map: &mut FlowMap<'_>) {
        use DataSource::{Bytes, File, Fill, FlatBuffer, Iota, Npy, Numbers, Ptd, Pte, Random, Safetensors, Text};
        match (key, &self.source) {
            (data_map::hex, Bytes(bytes)) => {
                map.key(key).push_str(&yaml::quoted(&data_encoding::HEXLOWER.encode(bytes)));
            }
            (data_map::text, Text(text)) => map.value(key, text),
            (data_map::flatbuffer, FlatBuffer(parsed)) => self::map(map.key(key), |map| {
                map.key(flatbuffer::schema).push_str(&yaml::path(&parsed.schema.value));
                map.value(flatbuffer::writer, &parsed.writer.map(|writer| writer.to_string()));
                if !parsed.header {
                    map.value(flatbuffer::header, &false);
                }
                node(&parsed.root, map.key(flatbuffer::root));
                map.value(flatbuffer::constants, &parsed.constants);
            }),
            (data_map::numbers, Numbers(items)) => items.write(&NO_ROW, map.key(key)),
            (data_map::fill, Fill(number, _)) => map.value(key, number),
            (data_map::iota, Iota(start, step)) => {
                map.value(key, &ParsedIota { start: Some(*start), step: Some(*step) })
            }
            (data_map::random, Random(seed, kind)) => self::map(map.key(key), |map| {
                map.value(random::seed, seed);
                match kind {
                    RandomKind::Uniform(low, high) => {
                        map.value(random::low, low);
                        map.value(random::high, high);
                    }
                    RandomKind::Normal(mean, std) => {
                        map.value(random::distribution, &"normal");
                        map.value(random::mean, mean);
                        map.value(random::std, std);
                    }
                }
            }),
            (data_map::file, File { path, .. })
            | (data_map::npy, Npy(path))
            | (data_map::safetensors, Safetensors(path, _))
            | (data_map::ptd, Ptd(path, _))
            | (data_map::pte, Pte(path, _)) => map.key(key).push_str(&yaml::path(&path.value)),
            (data_map::key, Ptd(_, name) | Pte(_, name)) | (data_map::tensor, Safetensors(_, name)) => {
                map.value(key, name)
            }
            (data_map::offset, File { offset: bytes, .. })
            | (data_map::size, File { size: bytes, .. } | Fill(_, bytes)) => map.value(key, bytes),
            _ => {}
        }
    }
}

/// Structs whose fields are keys.
macro_rules! no_rest {
    ($($type:ty)*) => { $( impl WriteRest for $type {} )* };
}

no_rest! {
    ParsedDocument<'_> ParsedPlacement StackFrame ParsedChain<'_> ParsedCompileSpec<'_> ParsedGraph<'_>
    MethodMemory ParsedBufferDevice ContainerMetadata Test<'_> TestTensor<'_> Checkpoint<'_> ParsedIota ParsedUnknown<'_>
    ParsedUnknownTable<'_> ParsedUnknownObject<'_> ParsedOverrides<'_> ParsedPatch<'_>
}

macro_rules! writers {
    ($( $table:ident = $module:ident $doc:literal required $required:tt one of $one_of:tt $(or $or:tt)? => $struct:tt $rows:tt )*) => {
        $( writers!(@ $table $module $struct $rows); )*
    };
    (@ $table:ident $module:ident [] $rows:tt) => {};
    (@ $table:ident $module:ident [model $name:ident] $rows:tt) => {
        writers!(@ $table $module [node # [] $name] $rows);
    };
    (@ $table:ident $module:ident [node $attribute:tt $attributes:tt $name:ident $(<$life:lifetime>)? $({ $($rest:tt)* })?] {
        $( $field:ident $(($key:literal))? : $form:expr $(=> $type:ty $(as $decoder:ident)? $(= $default:literal)? $(: $what:literal)?)?, $key_doc:literal; )*
    }) => {
        impl $(<$life>)? WriteKeys for $name $(<$life>)? {
            fn keys(&self, map: &mut FlowMap<'_>) {
                let mut rows = $table.keys.iter();
                $(
                    self.before($module::$field, map);
                    if let Some(_row) = rows.next() {
                        $(
                            let value: &$type = &self.$field;
                            let is_default = value.is_absent() $(|| *value == $default)?;
                            if !is_default || $table.required.contains(&_row.name) {
                                value.write(_row, map.key(_row.name));
                            }
                        )?
                    }
                )*
            }
        }

        impl $(<$life>)? WriteValue for $name $(<$life>)? {
            fn write(&self, _: &'static KeySpec, out: &mut String) {
                if !self.short(out) {
                    map(out, |map| self.keys(map));
                }
            }

            fn is_absent(&self) -> bool {
                // A struct without keys that are required.
                $table.required.is_empty() && $table.one_of.is_empty() && self.is_empty()
            }

            fn name(&self) -> Cow<'_, str> {
                WriteRest::name(self)
            }
        }
    };
}

grammar!(writers);

impl FlowMap<'_> {
    /// Appends a key, unless its value is absent.
    pub fn value(&mut self, key: &str, value: &impl WriteValue) {
        if !value.is_absent() {
            value.write(&NO_ROW, self.key(key));
        }
    }
}
