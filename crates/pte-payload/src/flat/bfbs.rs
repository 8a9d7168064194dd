//! Reads the schemas of users: `.bfbs` files, which `flatc --binary --schema` writes. They are FlatBuffers themselves,
//! of a schema that this crate has.

use std::collections::HashMap;
use std::sync::LazyLock;

use super::read;
use super::schema::{Enumeration, Field, Object, Schema, Type, masked};
use super::view::View;
use pte_model::data::Blob;
use pte_model::format::flatbuffer::Scalar;

/// Schema of schemas.
static REFLECTION: LazyLock<Schema> = LazyLock::new(|| {
    // A test parses it.
    Schema::parse(include_str!("../../schemas/reflection.schema")).expect("the schema of this crate is valid")
});

/// Largest alignment of a vector that a schema may demand with `force_align`, in bytes.
const MAX_FORCED: usize = 256;

/// Reads a schema.
///
/// # Errors
/// Bytes that are not such a file, and schemas that contradict themselves or have what is not supported: unions of
/// structs or strings are accepted, their members are not.
pub fn read(bytes: &[u8]) -> Result<Schema, String> {
    let root = read::read(&REFLECTION, bytes, &Blob::bytes(bytes), 0).map_err(|error| error.to_string())?;
    let root = View::new(&REFLECTION, &root);
    let [objects, enums] = ["objects", "enums"].map(|name| root.children(name).collect::<Vec<_>>());
    let names: HashMap<&str, usize> = objects.iter().map(name).zip(0..).collect();
    let mut reader = Reader { objects: objects.len(), enums: Vec::new(), scalars: Vec::new() };
    for found in &enums {
        let enumeration = reader.enumeration(found)?;
        reader.enums.push(enumeration);
    }
    let is_struct = |object: &View<'_>| object.number("is_struct") != 0;
    let mut found = Vec::with_capacity(objects.len());
    for object in &objects {
        let fields = object.children("fields");
        let fields = fields.filter_map(|field| reader.field(name(object), &field, is_struct(object)).transpose());
        let size = |field| usize::try_from(object.number(field)).unwrap_or(usize::MAX);
        found.push(Object {
            name: name(object).to_owned(),
            layout: is_struct(object).then(|| (size("bytesize"), size("minalign"))),
            fields: fields.collect::<Result<Vec<Field>, String>>()?,
            order: Vec::new(),
            added: Vec::new(),
        });
    }
    // The members of unions are tables only.
    for union in &mut reader.enums {
        for member in &mut union.members {
            *member = member.filter(|member| found[*member].layout.is_none());
        }
    }
    let identifier = root.text("file_ident").filter(|identifier| !identifier.is_empty());
    let identifier = identifier.map(|identifier| identifier.as_bytes().try_into());
    let root = root.child("root_table").ok_or("the schema has no root type")?;
    Schema {
        identifier: identifier.transpose().map_err(|_| "a file identifier that does not have four bytes")?,
        root: *names.get(name(&root)).ok_or("the root table is not among the objects")?,
        objects: found,
        enums: reader.enums,
    }
    .checked()
}

/// Returns the name of a declaration.
fn name<'t>(found: &View<'t>) -> &'t str {
    found.text("name").unwrap_or_default()
}

struct Reader {
    /// Number of objects.
    objects: usize,
    enums: Vec<Enumeration>,
    /// Type of the numbers of each enum; `None` for a union.
    scalars: Vec<Option<Scalar>>,
}

impl Reader {
    fn enumeration(&mut self, found: &View<'_>) -> Result<Enumeration, String> {
        let values = found.children("values");
        let is_union = found.number("is_union") != 0;
        let underlying = found.child("underlying_type").map_or(0, |ty| ty.number("base_type"));
        self.scalars.push(if is_union { None } else { scalar(underlying) });
        let member = |value: &View<'_>| {
            let index = value.child("union_type").filter(|ty| ty.number("base_type") == OBJECT)?.number("index");
            usize::try_from(index).ok().filter(|index| *index < self.objects)
        };
        let members = if is_union { values.clone().map(|value| member(&value)).collect() } else { Vec::new() };
        let values = values.map(|value| (name(&value).to_owned(), value.number("value"))).collect();
        Ok(Enumeration::new(name(found).to_owned(), values, members))
    }

    /// Returns a field; `None` for one that is deprecated, and for the tag of a union, which its value has.
    fn field(&self, object: &str, found: &View<'_>, is_struct: bool) -> Result<Option<Field>, String> {
        let ty = found.child("type").ok_or("a field without a type")?;
        let unsupported = |what: &str| format!("field `{object}.{}` is {what}, which is not supported", name(found));
        let (base, element) = (ty.number("base_type"), ty.number("element"));
        if found.number("deprecated") != 0 || base == TAG || (base == VECTOR && element == TAG) {
            return Ok(None);
        }
        if found.number("offset64") != 0 || base > ARRAY {
            return Err(unsupported("of 64-bit offsets"));
        }
        let index = usize::try_from(ty.number("index")).ok();
        let names = index.filter(|index| self.scalars.get(*index).is_some_and(Option::is_some));
        let object_index =
            || index.filter(|index| *index < self.objects).ok_or_else(|| unsupported("of an unknown type"));
        let union = index.filter(|index| self.scalars.get(*index).is_some_and(Option::is_none));
        let forced = found.children("attributes").find(|attribute| attribute.text("key") == Some("force_align")).map(
            |attribute| {
                attribute
                    .text("value")
                    .and_then(|value| value.parse().ok())
                    .filter(|size: &usize| size.is_power_of_two() && *size <= MAX_FORCED)
            },
        );
        let alignment = forced.unwrap_or(Some(1)).ok_or_else(|| unsupported("aligned to no power of two up to 256"))?;
        let ty = match (base, scalar(base), scalar(element)) {
            (_, Some(scalar), _) => Type::Number(scalar, names),
            (TEXT, ..) => Type::Text,
            (OBJECT, ..) => Type::Object(object_index()?),
            (UNION, ..) => Type::Union(union.ok_or_else(|| unsupported("of an unknown union"))?),
            (VECTOR, _, Some(scalar)) => Type::Numbers(scalar, names, alignment.max(scalar.size())),
            (VECTOR, ..) if element == TEXT => Type::Texts,
            (VECTOR, ..) if element == OBJECT => Type::Objects(object_index()?),
            (ARRAY, _, Some(scalar)) => Type::Array(scalar, names, ty.number("fixed_length") as u16 as usize),
            _ => return Err(unsupported("a vector of unions, or an array of structs")),
        };
        let default = match ty {
            Type::Number(Scalar::F32, _) => {
                (f64::from_bits(found.number("default_real") as u64) as f32).to_bits().into()
            }
            Type::Number(Scalar::F64, _) => found.number("default_real") as u64,
            Type::Number(scalar, _) => masked(found.number("default_integer") as u64, scalar),
            _ => 0,
        };
        // In a struct, the offset of a field is its place, and `id` counts the fields.
        let at = found.number(if is_struct { "offset" } else { "id" }) as u16;
        Ok(Some(Field { name: name(found).to_owned(), at, ty, default, is_required: found.number("required") != 0 }))
    }
}

/// Numbers of the types of fields in a schema.
const TAG: i64 = 1;
const TEXT: i64 = 13;
const VECTOR: i64 = 14;
const OBJECT: i64 = 15;
const UNION: i64 = 16;
const ARRAY: i64 = 17;

/// Returns the type of numbers with a number in a schema.
fn scalar(base: i64) -> Option<Scalar> {
    use Scalar::{Bool, F32, F64, I8, I16, I32, I64, U8, U16, U32, U64};
    [Bool, I8, U8, I16, U16, I32, U32, I64, U64, F32, F64].get(usize::try_from(base.checked_sub(2)?).ok()?).copied()
}
