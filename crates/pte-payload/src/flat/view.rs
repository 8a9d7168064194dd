//! Access to the fields of a [`Table`] by their names in its schema, with the defaults of those that are absent.

use std::borrow::Cow;
use std::io;

use super::schema::{Field, Object, Schema, Type, extended};
use super::value::{Table, Value};
use crate::decoded::Attributes;
use crate::description::UNKNOWN;
use pte_model::data::Blob;
use pte_model::format::flatbuffer::{Scalar, number};

/// Items of a list that an attribute has.
const MAX_ITEMS: usize = 16;

/// Returns the text of a number.
pub(super) fn element(scalar: Scalar, bits: u64) -> String {
    match scalar {
        // With an exponent where the digits are many.
        Scalar::F32 => format!("{:?}", f32::from_bits(bits as u32)).trim_end_matches(".0").to_owned(),
        Scalar::F64 => format!("{:?}", f64::from_bits(bits)).trim_end_matches(".0").to_owned(),
        Scalar::Bool => (bits != 0).to_string(),
        Scalar::U64 => bits.to_string(),
        Scalar::U8 | Scalar::I8 | Scalar::U16 | Scalar::I16 | Scalar::U32 | Scalar::I32 | Scalar::I64 => {
            extended(bits, scalar).to_string()
        }
    }
}

/// A table with its schema. A name that the schema does not have is that of a field which is absent.
#[derive(Debug, Clone, Copy)]
pub struct View<'t> {
    table: &'t Table,
    object: usize,
    schema: &'t Schema,
}

impl<'t> View<'t> {
    /// The root table of a FlatBuffer.
    pub fn new(schema: &'t Schema, table: &'t Table) -> View<'t> {
        View { table, object: schema.root, schema }
    }

    fn field(&self, name: &str) -> Option<&'t Field> {
        let object: &'t Object = &self.schema.objects[self.object];
        object.field(name)
    }

    fn get(&self, name: &str) -> Option<(&'t Value, &'t Field)> {
        let field = self.field(name)?;
        Some((self.table.get(field.at)?, field))
    }

    /// Returns `true` if a field is present.
    pub fn has(&self, name: &str) -> bool {
        self.get(name).is_some()
    }

    /// Returns an integer; 0 for a field that is none.
    pub fn number(&self, name: &str) -> i64 {
        match self.field(name) {
            Some(Field { at, ty: Type::Number(scalar, _), default, .. }) => {
                let found = self.table.get(*at);
                extended(if let Some(Value::Number(bits)) = found { *bits } else { *default }, *scalar)
            }
            Some(_) | None => 0,
        }
    }

    /// Returns the name of a number of an enum.
    pub fn word(&self, name: &str) -> Cow<'t, str> {
        let number = self.number(name);
        let found = match self.field(name).map(|field| field.ty) {
            Some(Type::Number(_, Some(names))) => self.schema.enums[names].name_of(number),
            Some(_) | None => None,
        };
        found.map_or_else(|| format!("{UNKNOWN} {number}").into(), Cow::Borrowed)
    }

    /// Returns a string.
    pub fn text(&self, name: &str) -> Option<&'t str> {
        match self.get(name)? {
            (Value::Text(text), _) => Some(text),
            _ => None,
        }
    }

    /// Returns the strings of a vector.
    pub fn texts(&self, name: &str) -> &'t [String] {
        match self.get(name) {
            Some((Value::Texts(texts), _)) => texts,
            _ => &[],
        }
    }

    /// Returns a table.
    pub fn child(&self, name: &str) -> Option<View<'t>> {
        match self.get(name)? {
            (Value::Table(table), Field { ty: Type::Object(object), .. }) => {
                Some(View { table, object: *object, schema: self.schema })
            }
            _ => None,
        }
    }

    /// Returns the tables of a vector.
    pub fn children(&self, name: &str) -> impl ExactSizeIterator<Item = View<'t>> + Clone + use<'t> {
        let schema = self.schema;
        let (tables, object) = match self.get(name) {
            Some((Value::Tables(tables), Field { ty: Type::Objects(object), .. })) => (tables.as_slice(), *object),
            _ => (&[][..], 0),
        };
        tables.iter().map(move |table| View { table, object, schema })
    }

    /// Returns the name and the table of a member of a union.
    pub fn member(&self, name: &str) -> Option<(&'t str, View<'t>)> {
        let (Value::Union(tag, table), Field { ty: Type::Union(index), .. }) = self.get(name)? else { return None };
        let union = &self.schema.enums[*index];
        let view = View { table, object: union.member(*tag)?, schema: self.schema };
        Some((union.name_of((*tag).into())?, view))
    }

    /// Returns the name of the member of a union, whether or not its table is known.
    pub fn tag(&self, name: &str) -> Cow<'t, str> {
        let (tag, known) = match self.get(name) {
            Some((Value::Union(tag, _), Field { ty: Type::Union(index), .. })) => {
                (*tag, self.schema.enums[*index].name_of((*tag).into()))
            }
            _ => (0, None),
        };
        known.map_or_else(|| format!("{UNKNOWN} {tag}").into(), Cow::Borrowed)
    }

    /// Returns the bytes of a vector of numbers.
    pub fn bytes(&self, name: &str) -> Option<&'t Blob> {
        if let Some((Value::Numbers(blob), _)) = self.get(name) { Some(blob) } else { None }
    }

    /// Returns the names of all fields, whether or not they are present.
    pub fn names(&self) -> impl Iterator<Item = &'t str> + use<'t> {
        self.schema.objects[self.object].fields.iter().map(|field| field.name.as_str())
    }

    /// Returns `true` if a field is a vector of numbers.
    pub fn is_vector(&self, name: &str) -> bool {
        self.field(name).is_some_and(|field| matches!(field.ty, Type::Numbers(..)))
    }

    /// Returns the integers of a vector.
    ///
    /// # Errors
    /// A payload that cannot be read.
    pub fn numbers(&self, name: &str) -> io::Result<Vec<i64>> {
        let Some((Value::Numbers(blob), Field { ty: Type::Numbers(scalar, ..), .. })) = self.get(name) else {
            return Ok(Vec::new());
        };
        let bytes = blob.read_at(0, usize::try_from(blob.len()).unwrap_or(usize::MAX))?;
        Ok(bytes.chunks_exact(scalar.size()).map(|item| extended(number(item), *scalar)).collect())
    }

    /// Returns the name of the structs of a field, and the bytes of each; none of a field without structs.
    pub fn structs(&self, name: &str) -> (&'t str, impl Iterator<Item = &'t [u8]> + use<'t>) {
        let (object, bytes) = match self.get(name) {
            Some((Value::Struct(bytes), Field { ty: Type::Object(object), .. }))
            | Some((Value::Structs(bytes), Field { ty: Type::Objects(object), .. })) => {
                (Some(*object), bytes.as_slice())
            }
            _ => (None, &[][..]),
        };
        let object = object.map(|object| &self.schema.objects[object]);
        let size = object.and_then(|object| object.layout).map_or(1, |(size, _)| size.max(1));
        (object.map_or("", |object| object.name.as_str()), bytes.chunks_exact(size))
    }

    /// Returns the text of the fields that are present and plain: numbers, texts and lists of a few of them.
    pub fn attributes(&self, is_shown: impl Fn(&str) -> bool) -> Attributes {
        let shown = self.fields().filter(|(name, _)| is_shown(name));
        shown.filter_map(|(name, field)| Some((name.to_owned().into(), self.shown(name, field)?))).collect()
    }

    /// Returns the text of all fields as for [`View::attributes`], with the defaults of those that are absent.
    pub fn text_of_all(&self) -> String {
        let fields = self.schema.objects[self.object].fields.iter();
        fields.filter_map(|field| self.shown(&field.name, field)).collect::<Vec<_>>().join(" ")
    }

    fn shown(&self, name: &str, field: &Field) -> Option<String> {
        match field.ty {
            Type::Number(_, Some(_)) => Some(self.word(name).into_owned()),
            Type::Number(scalar, None) => {
                let found = self.table.get(field.at);
                Some(element(scalar, if let Some(Value::Number(bits)) = found { *bits } else { field.default }))
            }
            Type::Text => self.text(name).map(str::to_owned),
            Type::Numbers(scalar, None, _) => {
                let (Value::Numbers(blob), _) = self.get(name)? else { return None };
                let bytes = blob.read_at(0, blob.len().min((MAX_ITEMS * scalar.size()) as u64) as usize).ok()?;
                let mut items: Vec<String> =
                    bytes.chunks_exact(scalar.size()).map(|item| element(scalar, number(item))).collect();
                items.extend((blob.len() > bytes.len() as u64).then(|| "...".to_owned()));
                Some(items.join(" "))
            }
            Type::Texts => Some(self.texts(name).iter().take(MAX_ITEMS).cloned().collect::<Vec<_>>().join(" ")),
            Type::Object(_) | Type::Union(_) | Type::Numbers(_, Some(_), _) | Type::Objects(_) | Type::Array(..) => {
                None
            }
        }
    }

    /// Returns the fields that are present, with their names.
    pub fn fields(&self) -> impl Iterator<Item = (&'t str, &'t Field)> + use<'t> {
        let (table, fields) = (self.table, &self.schema.objects[self.object].fields);
        fields.iter().filter(|field| table.get(field.at).is_some()).map(|field| (field.name.as_str(), field))
    }
}
