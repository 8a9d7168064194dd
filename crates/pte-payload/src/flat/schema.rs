//! FlatBuffers schemas as data: those of known payloads from a compact text, those of users from the `.bfbs` files that
//! `flatc --binary --schema` writes.
//!
//! A line of the text is a declaration, which indented lines continue; `#` begins a comment:
//!
//! ```text
//! identifier VK00
//! root Graph
//! enum Kind:uint8 NONE SMALL LARGE=7
//! struct Range offset:uint64 size:uint64
//! union Member Add Text
//! table Graph version:string! nodes:[Node] kind:Kind=LARGE member:Member -
//! ```
//!
//! A field is `name:type`, with `=default` and `!` if it is required; `-` is a slot without a field. A union takes two
//! slots; a member is a table, or `name:table`. `bytes` is a vector of `uint8`, `bytes@16` one whose first byte has
//! this alignment. `order TABLE FIELD ...` and `added TABLE FIELD ...` have the order of [`Object::order`] and
//! [`Object::added`]. Nothing is read or written here.

use std::collections::HashMap;

use pte_model::format::ScalarType;
use pte_model::format::flatbuffer::Scalar;

/// Largest size in bytes of a table, and of its vtable: their sizes are 16-bit numbers.
const MAX_TABLE: usize = 60_000;

/// Largest depth of structs in structs.
const MAX_DEPTH: usize = 16;

/// Largest alignment in bytes of a struct or a vector.
pub const MAX_ALIGNMENT: usize = 256;

/// A FlatBuffers schema.
#[derive(Debug, Clone, PartialEq)]
pub struct Schema {
    /// Bytes 4..8 of its files; `None` if it has no identifier.
    pub identifier: Option<[u8; 4]>,
    /// Index of the root table among the objects.
    pub root: usize,
    /// Tables and structs.
    pub objects: Vec<Object>,
    /// Enums and unions.
    pub enums: Vec<Enumeration>,
}

/// A table or a struct.
#[derive(Debug, Clone, PartialEq)]
pub struct Object {
    /// Name in the schema, with its namespace.
    pub name: String,
    /// Size and alignment in bytes of a struct; `None` for a table.
    pub layout: Option<(usize, usize)>,
    /// Fields, ascending by [`Field::at`].
    pub fields: Vec<Field>,
    /// Slots in the order in which their writer creates what they refer to; the others follow in their own order.
    pub order: Vec<u16>,
    /// Slots in the order in which a writer in Python adds them; the others follow in their own order.
    pub added: Vec<u16>,
}

/// A field of a table or a struct.
#[derive(Debug, Clone, PartialEq)]
pub struct Field {
    /// Name.
    pub name: String,
    /// Slot in the vtable, of a union that of its value; in a struct the offset in bytes.
    pub at: u16,
    /// Type.
    pub ty: Type,
    /// Bits of a number that is absent.
    pub default: u64,
    /// A table without the field is invalid.
    pub is_required: bool,
}

/// Type of a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Type {
    /// A number, with the index of its enum.
    Number(Scalar, Option<usize>),
    /// A string.
    Text,
    /// A table or a struct, by index.
    Object(usize),
    /// A member of a union, by the index of the union.
    Union(usize),
    /// A vector of numbers, with the index of their enum and the alignment of the first one in bytes.
    Numbers(Scalar, Option<usize>, usize),
    /// A vector of strings.
    Texts,
    /// A vector of tables or structs.
    Objects(usize),
    /// In a struct: a number of numbers, with the index of their enum.
    Array(Scalar, Option<usize>, usize),
}

/// An enum or a union.
#[derive(Debug, Clone, PartialEq)]
pub struct Enumeration {
    /// Name in the schema, with its namespace.
    pub name: String,
    /// Names and numbers.
    pub values: Vec<(String, i64)>,
    /// Of a union, for each value the index of its table; `None` for `NONE`, and for members that are not tables.
    pub members: Vec<Option<usize>>,
    /// Position of each name, and of each number: lists of numbers may be long.
    by_name: HashMap<String, usize>,
    by_number: HashMap<i64, usize>,
}

/// Returns the element type with the encoding of a number.
pub fn element_type(scalar: Scalar) -> ScalarType {
    match scalar {
        Scalar::Bool => ScalarType::BOOL,
        Scalar::U8 => ScalarType::BYTE,
        Scalar::I8 => ScalarType::CHAR,
        Scalar::U16 => ScalarType::UINT16,
        Scalar::I16 => ScalarType::SHORT,
        Scalar::U32 => ScalarType::UINT32,
        Scalar::I32 => ScalarType::INT,
        Scalar::U64 => ScalarType::UINT64,
        Scalar::I64 => ScalarType::LONG,
        Scalar::F32 => ScalarType::FLOAT,
        Scalar::F64 => ScalarType::DOUBLE,
    }
}

impl Enumeration {
    /// Creates an enum, or a union with the tables of its members. The first name of a number counts.
    pub fn new(name: String, values: Vec<(String, i64)>, members: Vec<Option<usize>>) -> Enumeration {
        let by_name = values.iter().map(|(name, _)| name.clone()).zip(0..).collect();
        let by_number = values.iter().enumerate().rev().map(|(position, (_, number))| (*number, position)).collect();
        Enumeration { name, values, members, by_name, by_number }
    }

    /// Returns the name of a number.
    pub fn name_of(&self, number: i64) -> Option<&str> {
        self.by_number.get(&number).map(|position| self.values[*position].0.as_str())
    }

    /// Returns the number of a name.
    pub fn number_of(&self, name: &str) -> Option<i64> {
        self.by_name.get(name).map(|position| self.values[*position].1)
    }

    /// Returns the table of the member of a union with a tag; `None` for an unknown tag, and for a member that is not a
    /// table.
    pub fn member(&self, tag: u8) -> Option<usize> {
        *self.members.get(*self.by_number.get(&tag.into())?)?
    }
}

impl Object {
    /// Returns the field with a name.
    pub fn field(&self, name: &str) -> Option<&Field> {
        self.fields.iter().find(|field| field.name == name)
    }

    /// Checks that no slot of a table has two fields, and that only structs have arrays.
    fn check_slots(&self) -> Result<(), String> {
        let mut free = 0;
        for field in &self.fields {
            let (first, is_array) = match field.ty {
                Type::Union(_) => (usize::from(field.at).checked_sub(1), false),
                ty => (Some(field.at.into()), matches!(ty, Type::Array(..))),
            };
            if is_array || first.is_none_or(|first| first < free) {
                return Err(format!("the slot of field `{}.{}` is taken, or it is an array", self.name, field.name));
            }
            free = usize::from(field.at) + 1;
        }
        Ok(())
    }

    /// Returns the field with a slot of a table.
    pub fn at(&self, slot: u16) -> Option<&Field> {
        self.fields.binary_search_by_key(&slot, |field| field.at).ok().map(|position| &self.fields[position])
    }

    /// Returns the number of slots of a table.
    pub fn slots(&self) -> usize {
        self.fields.last().map_or(0, |field| usize::from(field.at) + 1)
    }
}

impl Schema {
    /// Returns the root table.
    pub fn root(&self) -> &Object {
        &self.objects[self.root]
    }

    /// Returns the name of a number of an enum, by the index of the enum.
    pub fn name_of(&self, bits: u64, scalar: Scalar, names: Option<usize>) -> Option<&str> {
        self.enums[names?].name_of(extended(bits, scalar))
    }

    /// Returns size and alignment in bytes of a field in its table or struct: a number, a struct, or an offset.
    pub fn inline(&self, ty: Type) -> (usize, usize) {
        match ty {
            Type::Number(scalar, _) => (scalar.size(), scalar.size()),
            Type::Array(scalar, _, count) => (scalar.size() * count, scalar.size()),
            Type::Object(object) => self.objects[object].layout.unwrap_or((4, 4)),
            Type::Text | Type::Union(_) | Type::Numbers(..) | Type::Texts | Type::Objects(_) => (4, 4),
        }
    }

    /// Checks what readers and writers rely on: structs end, their fields are inside and aligned, slots are not used
    /// twice.
    ///
    /// # Errors
    /// A message with the name of the declaration.
    pub fn checked(mut self) -> Result<Schema, String> {
        if self.objects.get(self.root).is_none_or(|root| root.layout.is_some()) {
            return Err("the schema has no root table".to_owned());
        }
        for object in &mut self.objects {
            object.fields.sort_by_key(|field| field.at);
        }
        self.objects.iter().try_for_each(|object| match object.layout {
            None if self.largest(object) > MAX_TABLE => Err(format!("table `{}` is too large", object.name)),
            None => object.check_slots(),
            Some(layout) => self.check_struct(object, layout),
        })?;
        Ok(self)
    }

    fn check_struct(&self, object: &Object, (size, alignment): (usize, usize)) -> Result<(), String> {
        if size == 0
            || size > MAX_TABLE
            || !alignment.is_power_of_two()
            || alignment > MAX_ALIGNMENT
            || !size.is_multiple_of(alignment)
        {
            return Err(format!("struct `{}` has {size} bytes aligned to {alignment}", object.name));
        }
        let mut end = 0;
        for field in &object.fields {
            let (bytes, alignment) = self.inline(field.ty);
            let is_inline = match field.ty {
                Type::Number(..) | Type::Array(..) => true,
                Type::Object(inner) => self.objects[inner].layout.is_some() && self.ends(inner),
                Type::Text | Type::Union(_) | Type::Numbers(..) | Type::Texts | Type::Objects(_) => false,
            };
            let at = usize::from(field.at);
            // A field without bytes could hide that a struct has the size of another field, and contains itself.
            if !is_inline || bytes == 0 || at < end || !at.is_multiple_of(alignment) || at + bytes > size {
                return Err(format!("field `{}` of struct `{}` does not fit it", field.name, object.name));
            }
            end = at + bytes;
        }
        Ok(())
    }

    /// Returns an upper bound of the size of a table in bytes.
    fn largest(&self, table: &Object) -> usize {
        let fields = table.fields.iter().map(|field| {
            let (size, alignment) = self.inline(field.ty);
            size + alignment
        });
        fields.fold(table.slots() * 2, usize::saturating_add)
    }

    /// Returns `false` if a struct may contain itself: it has the size of its only field, and so on.
    fn ends(&self, mut object: usize) -> bool {
        (0..MAX_DEPTH).any(|_| match &self.objects[object].fields[..] {
            [Field { ty: Type::Object(inner), .. }] => {
                object = *inner;
                false
            }
            _ => true,
        })
    }

    /// Parses the compact text of a schema.
    ///
    /// # Errors
    /// A message with the line.
    pub fn parse(text: &str) -> Result<Schema, String> {
        let mut lines: Vec<(usize, Vec<&str>)> = Vec::new();
        for (line, text) in (1..).zip(text.lines()).filter(|(_, text)| !text.starts_with('#')) {
            match lines.last_mut().filter(|_| text.starts_with(' ')) {
                Some((_, words)) => words.extend(text.split_whitespace()),
                None => lines.push((line, text.split_whitespace().collect())),
            }
        }
        let mut names = Names::default();
        for (_, words) in &lines {
            names.declare(words);
        }
        let mut schema = Schema { identifier: None, root: usize::MAX, objects: Vec::new(), enums: Vec::new() };
        // Fields have defaults by the names of enums: these come first.
        for is_enum in [true, false] {
            for (line, words) in &lines {
                if is_enum == matches!(words[0], "enum" | "union") {
                    schema.declare(words, &names).map_err(|message| format!("line {line}: {message}"))?;
                }
            }
        }
        schema.lay_out()?;
        schema.checked()
    }

    fn declare(&mut self, words: &[&str], names: &Names<'_>) -> Result<(), String> {
        let [keyword, name, rest @ ..] = words else { return Err("expected a name".to_owned()) };
        match *keyword {
            "identifier" => self.identifier = Some(name.as_bytes().try_into().map_err(|_| "expected four bytes")?),
            "root" => self.root = *names.objects.get(name).ok_or_else(|| format!("unknown table `{name}`"))?,
            "enum" | "union" => {
                let is_union = *keyword == "union";
                let mut values: Vec<(String, i64)> = Vec::new();
                let mut members = Vec::new();
                if is_union {
                    values.push(("NONE".to_owned(), 0));
                    members.push(None);
                }
                for word in rest {
                    let (word, member) = match word.split_once(':').filter(|_| is_union) {
                        Some((name, member)) => (name, member),
                        None => (*word, *word),
                    };
                    let (name, number) = match word.split_once('=') {
                        Some((name, number)) => (name, number.parse().map_err(|_| format!("the number of `{word}`"))?),
                        None => (word, values.last().map_or(0, |(_, number)| number + 1)),
                    };
                    values.push((name.to_owned(), number));
                    if is_union {
                        let member = names.objects.get(member).ok_or_else(|| format!("unknown table `{member}`"))?;
                        members.push(Some(*member));
                    }
                }
                let name = name.split(':').next().unwrap_or_default().to_owned();
                self.enums.push(Enumeration::new(name, values, members));
            }
            "table" | "struct" => {
                let mut fields = Vec::new();
                let mut slot = 0u16;
                for word in rest {
                    if *word != "-" {
                        let (field, slots) = self.field(word, slot, names)?;
                        slot += slots - 1;
                        fields.push(Field { at: slot, ..field });
                    }
                    slot += 1;
                }
                // The layout of structs follows when all are known.
                let layout = (*keyword == "struct").then_some((0, 1));
                self.objects.push(Object {
                    name: (*name).to_owned(),
                    layout,
                    fields,
                    order: Vec::new(),
                    added: Vec::new(),
                });
            }
            "order" | "added" => {
                let object = names.objects.get(name).ok_or_else(|| format!("unknown table `{name}`"))?;
                let object = &mut self.objects[*object];
                let slot =
                    |name: &&str| object.field(name).map(|field| field.at).ok_or_else(|| format!("no field `{name}`"));
                let slots: Result<Vec<u16>, String> = rest.iter().map(slot).collect();
                *(if *keyword == "order" { &mut object.order } else { &mut object.added }) = slots?;
            }
            _ => return Err(format!("unknown word `{keyword}`")),
        }
        Ok(())
    }

    /// Parses a field; returns it, and its number of slots.
    fn field(&self, word: &str, slot: u16, names: &Names<'_>) -> Result<(Field, u16), String> {
        let (name, ty) = word.split_once(':').ok_or_else(|| format!("expected a type in `{word}`"))?;
        let (ty, is_required) = ty.strip_suffix('!').map_or((ty, false), |ty| (ty, true));
        let (ty, default) = ty.split_once('=').map_or((ty, None), |(ty, default)| (ty, Some(default)));
        let found = names.ty(ty).ok_or_else(|| format!("unknown type `{ty}`"))?;
        let default = match (default, found) {
            (None, _) => 0,
            (Some(text), Type::Number(_, Some(index))) => {
                let number = self.enums[index].number_of(text).or_else(|| text.parse().ok());
                number.ok_or_else(|| format!("the default `{text}`"))? as u64
            }
            (Some(text), Type::Number(scalar, None)) => {
                let parsed = match scalar {
                    Scalar::F32 => text.parse().ok().map(|number: f32| u64::from(number.to_bits())),
                    Scalar::F64 => text.parse().ok().map(f64::to_bits),
                    Scalar::Bool => text.parse().ok().map(|is_true: bool| is_true.into()),
                    _ => text.parse().ok().map(|number: i64| number as u64),
                };
                parsed.ok_or_else(|| format!("the default `{text}`"))?
            }
            (Some(text), _) => return Err(format!("the default `{text}` of a field that is no number")),
        };
        let slots = if let Type::Union(_) = found { 2 } else { 1 };
        let Type::Number(scalar, _) = found else {
            return Ok((Field { name: name.to_owned(), at: slot, ty: found, default, is_required }, slots));
        };
        let default = masked(default, scalar);
        Ok((Field { name: name.to_owned(), at: slot, ty: found, default, is_required }, slots))
    }

    /// Computes offsets and sizes of structs, which contain only earlier ones.
    fn lay_out(&mut self) -> Result<(), String> {
        for index in 0..self.objects.len() {
            if self.objects[index].layout.is_none() {
                continue;
            }
            let (mut end, mut alignment) = (0usize, 1);
            let types: Vec<Type> = self.objects[index].fields.iter().map(|field| field.ty).collect();
            for (position, ty) in types.into_iter().enumerate() {
                let (size, field_alignment) = self.inline(ty);
                end = end.next_multiple_of(field_alignment);
                self.objects[index].fields[position].at = u16::try_from(end).map_err(|_| "a struct is too large")?;
                end += size;
                alignment = alignment.max(field_alignment);
            }
            self.objects[index].layout = Some((end.next_multiple_of(alignment), alignment));
        }
        Ok(())
    }
}

/// Returns the bits of a number that its type has.
pub fn masked(bits: u64, scalar: Scalar) -> u64 {
    match scalar.size() {
        8 => bits,
        size => bits & ((1 << (8 * size)) - 1),
    }
}

/// Returns the number with these bits.
pub fn extended(bits: u64, scalar: Scalar) -> i64 {
    match scalar {
        Scalar::I8 => i64::from(bits as i8),
        Scalar::I16 => i64::from(bits as i16),
        Scalar::I32 => i64::from(bits as i32),
        Scalar::Bool
        | Scalar::U8
        | Scalar::U16
        | Scalar::U32
        | Scalar::U64
        | Scalar::I64
        | Scalar::F32
        | Scalar::F64 => bits as i64,
    }
}

/// Names of declarations.
#[derive(Default)]
struct Names<'t> {
    objects: HashMap<&'t str, usize>,
    enums: HashMap<&'t str, (usize, Option<Scalar>)>,
}

impl<'t> Names<'t> {
    fn declare(&mut self, words: &[&'t str]) {
        let [keyword, name, ..] = words else { return };
        match *keyword {
            "table" | "struct" => _ = self.objects.insert(name, self.objects.len()),
            "union" => _ = self.enums.insert(name, (self.enums.len(), None)),
            "enum" => {
                let (name, scalar) = name.split_once(':').unwrap_or((name, "int8"));
                self.enums.insert(name, (self.enums.len(), scalar_of(scalar)));
            }
            _ => {}
        }
    }

    fn ty(&self, name: &str) -> Option<Type> {
        if let Some(item) = name.strip_prefix('[').and_then(|name| name.strip_suffix(']')) {
            return match self.ty(item)? {
                Type::Number(scalar, names) => Some(Type::Numbers(scalar, names, scalar.size())),
                Type::Text => Some(Type::Texts),
                Type::Object(object) => Some(Type::Objects(object)),
                Type::Union(_) | Type::Numbers(..) | Type::Texts | Type::Objects(_) | Type::Array(..) => None,
            };
        }
        if let Some((scalar, alignment)) = name.strip_prefix("bytes").map(|alignment| (Scalar::U8, alignment)) {
            return Some(Type::Numbers(
                scalar,
                None,
                alignment.strip_prefix('@').map_or(Some(1), |at| at.parse().ok())?,
            ));
        }
        let of_enum = |(index, scalar): &(usize, Option<Scalar>)| match scalar {
            Some(scalar) => Type::Number(*scalar, Some(*index)),
            None => Type::Union(*index),
        };
        match name {
            "string" => Some(Type::Text),
            _ => None
                .or_else(|| scalar_of(name).map(|scalar| Type::Number(scalar, None)))
                .or_else(|| self.enums.get(name).map(of_enum))
                .or_else(|| self.objects.get(name).map(|object| Type::Object(*object))),
        }
    }
}

/// Returns the type with a name of flatc.
fn scalar_of(name: &str) -> Option<Scalar> {
    Some(match name {
        "bool" => Scalar::Bool,
        "int8" => Scalar::I8,
        "uint8" => Scalar::U8,
        "int16" => Scalar::I16,
        "uint16" => Scalar::U16,
        "int32" => Scalar::I32,
        "uint32" => Scalar::U32,
        "int64" => Scalar::I64,
        "uint64" => Scalar::U64,
        "float32" => Scalar::F32,
        "float64" => Scalar::F64,
        _ => return None,
    })
}
