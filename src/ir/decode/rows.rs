//! The code that is expanded from the rows of the grammar: a decoder for each struct, and the types of their fields.

use std::borrow::Cow;

use super::decoder::{Decoder, MapFields, word};
use crate::ir::document::*;
use crate::ir::grammar::grammar;
use crate::ir::shape::*;
use pte_model::data::number::NumericValue;
use pte_model::diagnostics::Code;
use pte_model::format::path::FieldPath;
use pte_model::format::table::implement;
use pte_model::format::{DimOrder, ScalarType};
use pte_model::program::{ContainerMetadata, Device, MemoryPlanner, StackFrame};
use pte_releases::Release;
use pte_xnnpack::model::NodeOperation;
use pte_yaml::tree::{NodeId, NodeValue, SourceNode};

/// A type that the value of a key decodes to.
pub(super) trait Decode<'a>: Sized {
    /// Decodes the value of a key; reports an invalid one.
    fn decode(decoder: &mut Decoder, node: SourceNode<'a>, key: &'static KeySpec) -> Option<Self>;

    /// Decodes an item of the list that is the value of a key.
    fn item(decoder: &mut Decoder, node: SourceNode<'a>, key: &'static KeySpec) -> Option<Self> {
        Self::decode(decoder, node, key)
    }

    /// Decodes the list that is the value of a key. Returns an empty list for a value that is not a list.
    fn list(decoder: &mut Decoder, node: SourceNode<'a>, key: &'static KeySpec) -> Vec<Self> {
        let items = decoder.list(node, key.what);
        items.into_iter().filter_map(|item| Self::item(decoder, item, key)).collect()
    }
}

macro_rules! integers {
    ($($type:ty)*) => {$(
        impl<'a> Decode<'a> for $type {
            fn decode(decoder: &mut Decoder, node: SourceNode<'a>, key: &'static KeySpec) -> Option<$type> {
                decoder.int(&node, key.what)
            }

            fn list(decoder: &mut Decoder, node: SourceNode<'a>, key: &'static KeySpec) -> Vec<$type> {
                decoder.ints(node, key.what)
            }
        }
    )*};
}

integers! { i8 u8 u16 i32 u32 i64 u64 }

impl Decoder {
    /// The entries of a map with arbitrary keys.
    pub(super) fn named<'a, T: Named<'a>>(&mut self, node: SourceNode<'a>, what: &str) -> Vec<T> {
        let entries = self.entries(node, what);
        entries.into_iter().filter_map(|(key, node)| T::named(self, word(key), node)).collect()
    }

    pub(super) fn map<'a, T: Named<'a>>(&mut self, node: SourceNode<'a>, key: &KeySpec) -> Option<Vec<T>> {
        Some(self.named(node, key.what))
    }
}

implement! {
    Decode<'a>: fn decode(decoder: &mut Decoder, node: SourceNode<'a>, key: &'static KeySpec) -> Option<Self>;
    bool = decoder.bool(node);
    String = decoder.text(node, key.what).map(|word| word.value.into_owned());
    ScalarType = decoder.dtype(&node);
    DimOrder = Vec::<u8>::decode(decoder, node, key).map(|order| DimOrder::from(&order[..]));
    Literal<'a> = decoder.literal(node).map(|literal| literal.value);
    TestValue<'a> = decoder.test_value(node);
    MemoryPlacement = decoder.memory_placement(node);
    MemoryPlanner = decoder.position(node, key).map(|position| MemoryPlanner::ALL[position]);
    NumericValue = decoder.number(&node);
    f32 = decoder.single(&node);
    Data<'a> = decoder.data(node);
    ParsedInstruction<'a> = decoder.instruction(node);
    ParsedNode<'a> = decoder.graph_node(node);
    ParsedGraph<'a> = {
        let mut fields = decoder.fields(node, &GRAPH)?;
        let id = fields.id;
        ParsedGraph::keys(decoder, &mut fields, (Some(id),))
    };
    ParsedExtraField<'a> = {
        let mut fields = decoder.fields(node, &EXTRA_FIELD)?;
        let id = fields.id;
        ParsedExtraField::keys(decoder, &mut fields, (Some(id),))
    };
    ParsedOverrides<'a> = {
        let mut fields = decoder.fields(node, &RAW)?;
        let raw = ParsedOverrides::keys(decoder, &mut fields, ())?;
        for inner in [&raw.ptd, &raw.bpte].into_iter().flatten() {
            if inner.ptd.is_some() || inner.bpte.is_some() {
                decoder.error(Code::ConflictingKeys, fields.id, "`ptd` and `bpte` must not be nested", "move them to the outer `raw`");
            }
        }
        Some(raw)
    };
}

impl<'a, T: Decode<'a>> Decode<'a> for Vec<T> {
    fn decode(decoder: &mut Decoder, node: SourceNode<'a>, key: &'static KeySpec) -> Option<Vec<T>> {
        Some(T::list(decoder, node, key))
    }
}

impl<'a, T: Decode<'a>> Decode<'a> for Box<T> {
    fn decode(decoder: &mut Decoder, node: SourceNode<'a>, key: &'static KeySpec) -> Option<Box<T>> {
        T::decode(decoder, node, key).map(Box::new)
    }
}

impl<'a, T: Decode<'a>> Decode<'a> for At<T> {
    fn decode(decoder: &mut Decoder, node: SourceNode<'a>, key: &'static KeySpec) -> Option<At<T>> {
        Some(At { id: node.id, value: T::decode(decoder, node, key)? })
    }

    fn item(decoder: &mut Decoder, node: SourceNode<'a>, key: &'static KeySpec) -> Option<At<T>> {
        Some(At { id: node.id, value: T::item(decoder, node, key)? })
    }
}

impl<'a> Decode<'a> for Cow<'a, str> {
    fn decode(decoder: &mut Decoder, node: SourceNode<'a>, key: &'static KeySpec) -> Option<Cow<'a, str>> {
        decoder.text(node, key.what).map(|word| word.value)
    }

    fn item(decoder: &mut Decoder, node: SourceNode<'a>, _: &'static KeySpec) -> Option<Cow<'a, str>> {
        decoder.text(node, "a name").map(|word| word.value)
    }
}

/// A map of a shape: a struct whose fields are its keys.
pub(super) trait Node<'a>: Sized {
    /// Fields that are not keys. If one of them is `None`, the node is not decoded.
    type Rest;

    /// Decodes all keys. Returns `None` if one that is required is absent or invalid.
    fn keys(decoder: &mut Decoder, fields: &mut MapFields<'a>, rest: Self::Rest) -> Option<Self>;
}

/// A map of a shape that is decoded by its rows alone.
pub(super) trait WholeNode<'a>: Node<'a, Rest = ()> {
    const SHAPE: &'static Shape;

    fn whole(decoder: &mut Decoder, node: SourceNode<'a>) -> Option<Self> {
        let mut fields = decoder.fields(node, Self::SHAPE)?;
        Self::keys(decoder, &mut fields, ())
    }
}

/// An entry of a map with arbitrary keys.
pub(super) trait Named<'a>: Sized {
    fn named(decoder: &mut Decoder, name: Word<'a>, node: SourceNode<'a>) -> Option<Self>;
}

implement! {
    Named<'a>: fn named(decoder: &mut Decoder, name: Word<'a>, node: SourceNode<'a>) -> Option<Self>;
    (Word<'a>, Word<'a>) = decoder.text(node, "a replacement").map(|to| (name, to));
    (Word<'a>, u32) = decoder.int(&node, "a non-negative integer").map(|number| (name, number));
    (Word<'a>, Data<'a>) = decoder.data(node).map(|data| (name, data));
    (At<FieldPath>, OverrideSource<'a>) = {
        let label = "expected a path such as methods.forward.values[0].sizes";
        let path = At { id: name.id, value: decoder.field_path(name.id, &name.value, label)? };
        Some((path, decoder.field_override(node)?))
    };
    Method<'a> = {
        let mut fields = decoder.fields(node, &METHOD)?;
        let chains = decoder.chains(&mut fields);
        Method::keys(decoder, &mut fields, (Some(name), Some(chains)))
    };
    Delegate<'a> = {
        let mut fields = decoder.fields(node, &DELEGATE)?;
        let payload = decoder.payload(&mut fields);
        Delegate::keys(decoder, &mut fields, (Some(name), payload))
    };
    ParsedGraphValue<'a> = {
        let mut fields = decoder.fields(node, &GRAPH_VALUE)?;
        let keys = [graph_value::data, graph_value::key, graph_value::size];
        let constant = decoder.graph_constant(&mut fields, keys);
        let quantization = decoder.graph_quantization(&mut fields);
        ParsedGraphValue::keys(decoder, &mut fields, (Some(name), Some(constant), Some(quantization)))
    };
    ParsedNamedData<'a> = {
        let key = name;
        let described =
            matches!(&node.value, NodeValue::Map(entries) if entries.iter().any(|(key, _)| key.text == "data"));
        if !described {
            let mut data = decoder.data(node)?;
            let (align, external, scalar_type, sizes, dim_order) = (data.align.take(), None, None, None, None);
            return Some(ParsedNamedData { key, data, align, external, scalar_type, sizes, dim_order });
        }
        let mut fields = decoder.fields(node, &NAMED_DATA)?;
        let mut entry = ParsedNamedData::keys(decoder, &mut fields, (Some(key),))?;
        let sizes = entry.sizes.as_ref().map(|sizes| sizes.id);
        if entry.scalar_type.is_none()
            && let Some(id) = sizes.or(entry.dim_order.as_ref().map(|order| order.id))
        {
            decoder.error(
                Code::MissingKey,
                id,
                "`sizes` or `dim_order` without an element type",
                "give the element type with `tensor`",
            );
        }
        if entry.align.is_some() && entry.data.align.is_some() {
            decoder.error(Code::DuplicateKey, entry.data.id, "duplicate `align`", "remove one of the two");
        }
        entry.align = entry.align.or(entry.data.align.take());
        Some(entry)
    };
}

/// A field of a [`Node`]: the value of a key that may be absent or invalid.
pub(super) trait Field: Sized {
    /// Type of the value.
    type Value;

    /// Returns the field; `None` if it has no default.
    fn of(value: Option<Self::Value>) -> Option<Self>;
}

impl<T> Field for Option<T> {
    type Value = T;

    fn of(value: Option<T>) -> Option<Option<T>> {
        Some(value)
    }
}

/// Declares types of fields, with their generic parameters in braces, and the field of a key that is absent or invalid.
macro_rules! fields {
    ($( |$value:ident| $field:expr => $( { $($param:tt),* } $type:ty; )* )*) => {$($(
        impl<$($param),*> Field for $type {
            type Value = Self;

            fn of($value: Option<Self>) -> Option<Self> {
                $field
            }
        }
    )*)*};
}

fields! {
    // Keys that are required.
    |value| value => {T} At<T>; {'a} Cow<'a, str>; {'a} Data<'a>; {} Device; {} u16; {} i32; {} u32;
    |value| Some(value.unwrap_or_default()) =>
        {T} Vec<T>; {'a} ParsedOverrides<'a>; {} bool; {} Layout; {} MemoryPlanner; {} MethodMemory;
}

macro_rules! decoders {
    ($( $table:ident = $module:ident $doc:literal required $required:tt one of $one_of:tt $(or $or:tt)? => $struct:tt $rows:tt )*) => {
        $( decoders!(@struct $table $module $struct $rows); )*
    };
    (@struct $table:ident $module:ident [] $rows:tt) => {};
    (@struct $table:ident $module:ident [node $attribute:tt $attributes:tt $name:ident $(<$life:lifetime>)?] $rows:tt) => {
        decoders!(@whole $table $module ($name $(<$life>)?) $rows);
    };
    (@struct $table:ident $module:ident [model $name:ident] $rows:tt) => {
        decoders!(@whole $table $module ($name) $rows);
    };
    (@struct $table:ident $module:ident [node $attribute:tt $attributes:tt $name:ident $(<$life:lifetime>)? { $( $extra:ident: $extra_type:ty ),* }] $rows:tt) => {
        decoders!(@node $module ($name $(<$life>)?) { $($extra: $extra_type),* } $rows);
    };
    (@whole $table:ident $module:ident ($($type:tt)*) $rows:tt) => {
        decoders!(@node $module ($($type)*) {} $rows);

        impl<'a> WholeNode<'a> for $($type)* {
            const SHAPE: &'static Shape = &$table;
        }

        impl<'a> Decode<'a> for $($type)* {
            fn decode(decoder: &mut Decoder, node: SourceNode<'a>, _: &'static KeySpec) -> Option<Self> {
                Self::whole(decoder, node)
            }
        }
    };
    (@node $module:ident ($name:ident $(<$life:lifetime>)?) { $( $extra:ident: $extra_type:ty ),* } {
        $( $field:ident $(($key:literal))? : $form:expr $(=> $type:ty $(as $decoder:ident)? $(= $default:literal)? $(: $what:literal)?)?, $key_doc:literal; )*
    }) => {
        impl<'a> Node<'a> for $name $(<$life>)? {
            type Rest = ($( Option<$extra_type>, )*);

            fn keys(decoder: &mut Decoder, fields: &mut MapFields<'a>, ($( $extra, )*): Self::Rest) -> Option<Self> {
                $($(
                    let $field = fields.value(decoder, $module::$field, decoders!(@decoder $($decoder)?));
                    let $field = <$type as Field>::of($field)$(.or(Some($default)))?;
                )?)*
                Some($name { $( $extra: $extra?, )* $($( $field: { let found: Option<$type> = $field; found? }, )?)* })
            }
        }
    };
    (@decoder) => { Decode::decode };
    (@decoder $decoder:ident) => { Decoder::$decoder };
}

grammar!(decoders);
