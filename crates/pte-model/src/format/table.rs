//! Types that describe a FlatBuffers schema (tables, fields, kinds, enums), and the macro that declares them.

/// A table of a FlatBuffers schema: its fields by slot number.
#[derive(Debug)]
pub struct TableSchema {
    /// Name in the schema.
    pub name: &'static str,
    /// Fields by slot number. A union takes two: its tag, then its value.
    pub fields: &'static [Field],
}

/// One slot of a [`TableSchema`].
#[derive(Debug)]
pub struct Field {
    /// Name in the schema; the tag of a union `val` is named `val_type`.
    pub name: &'static str,
    /// Type of the slot.
    pub kind: Kind,
}

/// Type of a slot.
#[derive(Debug, Clone, Copy)]
pub enum Kind {
    /// One byte, 0 or 1.
    Bool,
    /// `i8`.
    Byte,
    /// `i8` with named values.
    Enum(&'static Enum),
    /// `u8`: member of the union in the next slot; 0 is none, `n` is the n-th member.
    UnionTag,
    /// Offset to one of these tables.
    Union(&'static [&'static TableSchema]),
    /// `i16`.
    Short,
    /// `i32`.
    Int,
    /// `u32`.
    UInt,
    /// `i64`.
    Long,
    /// `u64`.
    ULong,
    /// `f32`.
    Float,
    /// `f64`.
    Double,
    /// Offset to a string.
    Text,
    /// Offset to a table.
    Table(&'static TableSchema),
    /// Offset to a vector of one-byte numbers.
    Bytes,
    /// Offset to a vector of one-byte numbers whose first byte has at least this alignment (`force_align`).
    AlignedBytes(u32),
    /// Offset to a vector of bools.
    Bools,
    /// Offset to a vector of `u16`.
    UShorts,
    /// Offset to a vector of `i32`.
    Ints,
    /// Offset to a vector of `u32`.
    UInts,
    /// Offset to a vector of `i64`.
    Longs,
    /// Offset to a vector of `u64`.
    ULongs,
    /// Offset to a vector of `f32`.
    Floats,
    /// Offset to a vector of `f64`.
    Doubles,
    /// Offset to a vector of tables.
    Tables(&'static TableSchema),
}

/// An enum of a schema.
#[derive(Debug)]
pub struct Enum {
    /// Name in the schema.
    pub name: &'static str,
    /// `(name, number)`, ascending by number.
    pub names: &'static [(&'static str, i8)],
}

impl Enum {
    /// Returns the schema's name of `number`; `None` if it has none.
    pub fn name_of(&self, number: i8) -> Option<&'static str> {
        self.names.iter().find(|(_, n)| *n == number).map(|(name, _)| *name)
    }

    /// Returns the number of `name`, ignoring ASCII case.
    pub fn number_of(&self, name: &str) -> Option<i8> {
        self.names.iter().find(|(n, _)| n.eq_ignore_ascii_case(name)).map(|(_, n)| *n)
    }
}

/// Declares slot tables: for each table a `static` [`TableSchema`] and a module of slot numbers, so that
/// `tensor::sizes` is a `u16` and `TENSOR.fields[tensor::sizes]` describes the field.
#[macro_export]
#[doc(hidden)]
macro_rules! tables {
    ($( $(#[$doc:meta])* $static:ident = $module:ident $name:ident { $( $field:ident : $kind:expr ),* $(,)? } )*) => {$(
        $(#[$doc])*
        pub static $static: $crate::format::TableSchema = $crate::format::TableSchema {
            name: stringify!($name),
            fields: &[$( $crate::format::Field { name: stringify!($field), kind: $kind } ),*],
        };
        #[doc = concat!("Slot numbers of `", stringify!($name), "`.")]
        // Not every slot is written or read by its number.
        #[allow(non_upper_case_globals, missing_docs, dead_code)]
        pub mod $module {
            #[allow(non_camel_case_types, dead_code)]
            enum SlotNumber { $( $field ),* }
            $( pub const $field: u16 = SlotNumber::$field as u16; )*
        }
    )*};
}
pub use crate::tables;

/// Implements a trait of one function for types: the trait and the head of the function, then rows `Type = value;`. The
/// arguments are in scope of the values.
#[macro_export]
#[doc(hidden)]
macro_rules! implement {
    ($trait:ident: fn $function:ident $arguments:tt -> $result:ty; $( $type:ty = $value:expr; )*) => {
        $( $crate::implement!(@ [] $trait, $type, $function $arguments -> $result, $value); )*
    };
    ($trait:ident<$life:lifetime>: fn $function:ident $arguments:tt -> $result:ty; $( $type:ty = $value:expr; )*) => {
        $( $crate::implement!(@ [$life] $trait<$life>, $type, $function $arguments -> $result, $value); )*
    };
    (@ [$($life:lifetime)?] $trait:path, $type:ty, $function:ident $arguments:tt -> $result:ty, $value:expr) => {
        impl<$($life)?> $trait for $type {
            #[allow(unused_variables)] // Not every value uses all arguments.
            fn $function $arguments -> $result {
                $value
            }
        }
    };
}
pub use crate::implement;

/// Declares the types of `i8` fields whose numbers have names: for each a struct that holds any number of a file, with
/// a constant for each name. A constant is followed by its word in the YAML. Numbers begin with 0.
macro_rules! numbers {
    ($( $(#[$doc:meta])* pub struct $type:ident {
        $( $(#[$constant_doc:meta])* $constant:ident = $number:literal $word:literal ),* $(,)?
    } )*) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $type(pub i8);

        #[allow(dead_code)] // Not each type is in the YAML, or an enum of the schema.
        impl $type {
            $( $(#[$constant_doc])* pub const $constant: $type = $type($number); )*
            /// The enum of the schema.
            #[doc(hidden)]
            pub const SCHEMA: $crate::format::table::Enum =
                $crate::format::table::Enum { name: stringify!($type), names: &[$( (stringify!($constant), $number) ),*] };
            /// Words in the YAML; the position of a word is its number.
            pub(crate) const WORDS: &'static [&'static str] = &[$( $word ),*];
        }

        impl std::fmt::Display for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                match usize::try_from(self.0).ok().and_then(|number| $type::WORDS.get(number)) {
                    Some(word) => f.pad(word),
                    None => self.0.fmt(f),
                }
            }
        }
    )*};
}
pub(crate) use numbers;

/// The members of a union: an enum whose variants have tags from 1 on, in the order of the schema.
pub trait Union: Copy + 'static {
    /// The tables of the members, from tag 1 on.
    const MEMBERS: &'static [&'static TableSchema];

    /// The member with this tag.
    fn of_tag(tag: u8) -> Option<Self>;

    /// The tag of the member.
    fn tag(self) -> u8;

    /// The table of the member.
    fn table(self) -> &'static TableSchema {
        Self::MEMBERS[usize::from(self.tag()) - 1]
    }
}

/// Declares unions: for each an enum of its members, and the slot tables of the members in the order of their tags.
macro_rules! unions {
    ($( $(#[$doc:meta])* $union:ident $members:ident {
        $( $(#[$member_doc:meta])* $variant:ident : $table:ident = $module:ident { $($fields:tt)* } )*
    } )*) => {$(
        $crate::format::table::tables! { $( $(#[$member_doc])* $table = $module $variant { $($fields)* } )* }

        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        // The names are those of the schema.
        #[allow(missing_docs, clippy::enum_variant_names)]
        pub enum $union {
            $( $variant ),*
        }

        $(#[$doc])*
        pub static $members: &[&$crate::format::TableSchema] = <$union as $crate::format::table::Union>::MEMBERS;

        impl $crate::format::table::Union for $union {
            const MEMBERS: &'static [&'static $crate::format::TableSchema] = &[$( &$table ),*];

            #[inline]
            fn of_tag(tag: u8) -> Option<$union> {
                const ALL: &[$union] = &[$( $union::$variant ),*];
                ALL.get(usize::from(tag).checked_sub(1)?).copied()
            }

            #[inline]
            fn tag(self) -> u8 {
                self as u8 + 1
            }
        }
    )*};
}
pub(crate) use unions;

#[cfg(test)]
mod tests {
    use crate::format::{Kind, program};

    #[test]
    fn slots_follow_the_order_of_the_fields() {
        assert_eq!(program::tensor::scalar_type, 0);
        assert_eq!(program::tensor::extra_tensor_info, 9);
        assert_eq!(program::TENSOR.fields[usize::from(program::tensor::sizes)].name, "sizes");
        assert!(
            matches!(program::EVALUE.fields[usize::from(program::evalue::val)].kind, Kind::Union(m) if m.len() == 11)
        );
    }
}
