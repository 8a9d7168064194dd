//! Emits the YAML grammar ([`super::shape`]) as a JSON Schema, for completion and checks in editors.
//!
//! Constraints that a schema cannot express (declared names, matching sizes) are checked by the assembler.

use serde_json::{Map, Value, json};

use super::shape::{DOCUMENT, FLATBUFFER, Form, Shape};
use crate::layout::LayoutConfig;
use crate::layout::options::{MAX_ALIGNMENT, MAX_FORCED_ALIGNMENT, OptionKind, OptionSpec, OptionValue};
use pte_model::format::ScalarType;
use pte_model::format::flatbuffer::Scalar;
use pte_payload::flat::schema::{Enumeration, Schema, Type};
use pte_payload::flat::{self, FlatFormat};
use pte_yaml::repeat::{DO, REPEAT};

/// Returns the schema of a document.
pub fn schema() -> Value {
    let mut definitions = Map::new();
    let root = of(&Form::Shape(&DOCUMENT), &mut definitions);
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": "pte-emit.schema.json",
        "title": "pte-emit document",
        "$ref": root["$ref"],
        "$defs": definitions,
    })
}

fn of(form: &Form, definitions: &mut Map<String, Value>) -> Value {
    match form {
        Form::Any => json!({}),
        Form::Null => json!({"type": "null"}),
        Form::Bool => json!({"type": "boolean"}),
        Form::Int | Form::WordOrInt([]) => json!({"type": ["integer", "string"], "pattern": whole(VARIABLE)}),
        Form::UInt => json!({"type": ["integer", "string"], "minimum": 0, "pattern": whole(VARIABLE)}),
        Form::Number => json!({"type": ["number", "string"], "pattern": whole(&format!("{NUMBER_WORD}|{VARIABLE}"))}),
        Form::Text => json!({"type": "string"}),
        // The names are suggestions: an operator may be registered by any library.
        Form::Operator => reference(
            "operator",
            definitions,
            |_| json!({"anyOf": [{"enum": pte_operators::names().collect::<Vec<_>>()}, {"type": "string"}]}),
        ),
        Form::Size => {
            json!({"type": ["integer", "string"], "minimum": 0, "pattern": whole(&format!("{UNITS}|{VARIABLE}"))})
        }
        Form::Alignment => powers_of_two(30),
        Form::Dtype => json!({"anyOf": [
            {"enum": ScalarType::names().collect::<Vec<_>>()},
            {"type": "string", "pattern": format!("^(torch\\.)?({})$", ScalarType::spellings().collect::<Vec<_>>().join("|"))},
            {"type": "string", "pattern": COUNTER},
            {"type": "integer", "minimum": -128, "maximum": 127},
        ]}),
        Form::Option(option) => of_option(option),
        Form::OneOf(words) => json!({"anyOf": [{"enum": words}, {"type": "string", "pattern": COUNTER}]}),
        Form::WordOrInt(words) => {
            json!({"anyOf": [{"enum": words}, {"type": ["integer", "string"], "pattern": whole(VARIABLE)}]})
        }
        Form::List(item) if matches!(item, Form::Shape(_)) => repeatable("array", "items", item, definitions),
        Form::List(item) => json!({"type": "array", "items": of(item, definitions)}),
        Form::Map(value) => repeatable("object", "additionalProperties", value, definitions),
        Form::Either(forms) => json!({"anyOf": forms.iter().map(|form| of(form, definitions)).collect::<Vec<_>>()}),
        Form::Shape(shape) => reference(shape.name, definitions, |definitions| of_shape(shape, definitions)),
        Form::Named(name, form) => reference(name, definitions, |definitions| of(form, definitions)),
    }
}

/// A list or a map of a form, or of repetitions (`pte_yaml::repeat`), whose `do` is the same.
fn repeatable(several: &str, items: &str, form: &Form, definitions: &mut Map<String, Value>) -> Value {
    let name = format!("{several}_of_{}", name_of(form));
    reference(&name, definitions, |definitions| {
        let counter = reference("counter", definitions, |_| {
            let values = json!({"anyOf": [
                {"type": ["integer", "string"], "minimum": 0, "pattern": whole(VARIABLE)},
                {"type": "array", "items": {"type": ["integer", "string"]}},
            ]});
            json!({"type": "object", "additionalProperties": values, "minProperties": 1, "maxProperties": 1})
        });
        let repeated = json!({
            "type": "object",
            "description": "Repetition: `$(i)` and `$(i+1)` in what is repeated are replaced.",
            "properties": {REPEAT: counter, DO: {"$ref": format!("#/$defs/{name}")}},
            "required": [REPEAT, DO],
            "additionalProperties": false,
        });
        json!({"type": several, items: {"anyOf": [of(form, definitions), repeated]}})
    })
}

/// Names a form, for a definition.
fn name_of(form: &Form) -> String {
    let several = |forms: &[Form]| forms.iter().map(name_of).collect::<Vec<_>>().join("_or_");
    match form {
        Form::Shape(shape) => shape.name.to_owned(),
        Form::Named(name, _) => (*name).to_owned(),
        Form::Option(option) => option.name.to_owned(),
        Form::OneOf(words) => words.join("_or_"),
        Form::WordOrInt(words) => format!("{}_or_int", words.join("_or_")),
        Form::List(item) => format!("list_of_{}", name_of(item)),
        Form::Map(item) => format!("map_of_{}", name_of(item)),
        Form::Either(forms) => several(forms),
        Form::Any
        | Form::Null
        | Form::Bool
        | Form::Int
        | Form::UInt
        | Form::Number
        | Form::Text
        | Form::Operator
        | Form::Size
        | Form::Alignment
        | Form::Dtype => format!("{form:?}").to_lowercase(),
    }
}

/// Pattern of a number of bytes in a string, with or without a unit. The schema does not bound its value.
const UNITS: &str = r"[0-9]+(\.[0-9]{1,6})?[KMGT]?";

/// Pattern of a variable in quotes, which counts as a number (docs/yaml-reference.md, "Variables and several
/// documents"), or of a string with a counter, which may become one ("Repetition").
const VARIABLE: &str = r"\$\{[A-Za-z0-9_]+(:[^}]*)?\}|.*\$\([A-Za-z_][A-Za-z0-9_]*([-+][0-9]+)?\).*";

/// Pattern of a string with a counter, which may become a word.
const COUNTER: &str = r"\$\([A-Za-z_][A-Za-z0-9_]*\)";

/// Anchors a pattern at both ends of a string.
fn whole(pattern: &str) -> String {
    format!("^({pattern})$")
}

/// The powers of two up to `1 << most`: as numbers, or in strings, with units or `page`.
fn powers_of_two(most: u32) -> Value {
    let powers = |shift: u32| (shift..=most).map(move |power| (1u64 << power) >> shift);
    let units = [("", 0), ("K", 10), ("M", 20), ("G", 30)];
    let words = units.iter().flat_map(|(unit, shift)| powers(*shift).map(move |number| format!("{number}{unit}")));
    let pattern = whole(&format!("0*({})|page|{VARIABLE}", words.collect::<Vec<_>>().join("|")));
    json!({"anyOf": [{"enum": powers(0).collect::<Vec<_>>()}, {"type": "string", "pattern": pattern}]})
}

fn of_option(option: &OptionSpec) -> Value {
    let bytes = |least: u64, most: u64| json!({"type": "integer", "minimum": least, "maximum": most});
    let unit = || json!({"type": "string", "pattern": whole(&format!("{UNITS}|{VARIABLE}"))});
    let mut schema = match option.kind {
        OptionKind::Alignment => json!({"anyOf": [bytes(1, MAX_ALIGNMENT), unit(), {"const": "page"}]}),
        OptionKind::ForcedAlignment => powers_of_two(MAX_FORCED_ALIGNMENT.ilog2()),
        OptionKind::Bytes(least, most) => json!({"anyOf": [bytes(least, most), unit()]}),
        OptionKind::Words(words) => json!({"enum": words}),
        OptionKind::WordsOrBytes(words, least, most) => json!({"anyOf": [{"enum": words}, bytes(least, most), unit()]}),
    };
    if let Some(default) = option.get(&LayoutConfig::default()) {
        schema["default"] = match default {
            OptionValue::Bytes(bytes) => json!(bytes),
            OptionValue::Word(_) => json!(option.print(default)),
        };
    }
    schema
}

/// Pattern of numbers that JSON stores as strings: complex numbers, infinity, NaN.
const NUMBER_WORD: &str = r"-?\.?inf|\.?nan|[-+0-9.eE]+j";

/// A reference to a definition, which is built at its first use: forms may be recursive.
fn reference(
    name: &str,
    definitions: &mut Map<String, Value>,
    build: impl FnOnce(&mut Map<String, Value>) -> Value,
) -> Value {
    if !definitions.contains_key(name) {
        definitions.insert(name.to_owned(), Value::Null);
        let definition = build(definitions);
        definitions.insert(name.to_owned(), definition);
    }
    json!({"$ref": format!("#/$defs/{name}")})
}

fn of_shape(shape: &Shape, definitions: &mut Map<String, Value>) -> Value {
    let mut properties = Map::new();
    // A shape inside itself has none of the keys that contain it.
    let is_nested = |form: &Form| matches!(form, Form::Shape(inner) if inner.name == shape.name);
    let nested: Vec<Value> =
        shape.keys.iter().filter(|key| is_nested(&key.form)).map(|key| json!({"required": [key.name]})).collect();
    for key in shape.keys {
        let mut property = of(&key.form, definitions);
        if let Value::Object(property) = &mut property {
            if is_nested(&key.form) {
                property.insert("not".into(), json!({"anyOf": nested}));
            }
            let doc = match &key.form {
                Form::Option(option) => format!("{}; default: {}.", key.doc, option.default),
                _ => key.doc.to_owned(),
            };
            property.insert("description".into(), doc.into());
        }
        properties.insert(key.name.into(), property);
    }
    let mut schema = json!({
        "type": "object",
        "description": shape.doc,
        "properties": properties,
        "required": shape.required,
        "additionalProperties": false,
    });
    if shape.name == FLATBUFFER.name {
        schema["allOf"] = flat::formats().map(|format| of_flat_format(format, definitions)).collect();
    }
    if !shape.one_of.is_empty() {
        let required = |key: &&str| json!({"required": [key]});
        let mut alternatives: Vec<Value> = shape.one_of.iter().map(required).collect();
        if !shape.or.is_empty() {
            let none = json!({"not": {"anyOf": alternatives.clone()}, "required": shape.or});
            alternatives.push(none);
        }
        schema["oneOf"] = alternatives.into();
    }
    schema
}

/// The root table of a FlatBuffer, if it is by the schema of a format.
fn of_flat_format(format: &FlatFormat, definitions: &mut Map<String, Value>) -> Value {
    let schema = format.schema();
    let root = of_table(format.name, &schema, schema.root, definitions);
    json!({
        "if": {"properties": {"schema": {"const": format.name}}, "required": ["schema"]},
        "then": {"properties": {"root": root}},
    })
}

/// A table or a struct of a FlatBuffer: its fields by their names.
fn of_table(format: &str, schema: &Schema, object: usize, definitions: &mut Map<String, Value>) -> Value {
    let object = &schema.objects[object];
    let table = |index| of_table_name(format, schema, index);
    let name = format!("{format}.{}", object.name);
    let mut inner = Vec::new();
    let found = reference(&name, definitions, |_| {
        let mut properties = Map::new();
        for field in &object.fields {
            let property = match field.ty {
                Type::Number(Scalar::Bool, None) => json!({"type": "boolean"}),
                Type::Number(_, Some(names)) => {
                    // Several names are flags.
                    let names = words(&schema.enums[names]);
                    json!({"anyOf": [names, {"type": "integer"}, {"type": "array", "items": names}]})
                }
                Type::Number(_, None) => json!({"type": ["number", "string"]}),
                Type::Text => json!({"type": "string"}),
                Type::Object(index) => {
                    inner.push(index);
                    table(index)
                }
                Type::Union(index) => {
                    let union = &schema.enums[index];
                    let members = union.values.iter().zip(&union.members).filter_map(|((name, _), member)| {
                        let member = (*member)?;
                        inner.push(member);
                        Some((name.clone(), table(member)))
                    });
                    let members: Map<String, Value> = members.collect();
                    json!({"type": "object", "properties": members, "additionalProperties": false, "minProperties": 1, "maxProperties": 1})
                }
                Type::Numbers(..) | Type::Array(..) => json!({"type": ["array", "object"]}),
                Type::Texts => json!({"type": "array", "items": {"type": "string"}}),
                Type::Objects(index) => {
                    inner.push(index);
                    json!({"type": "array", "items": table(index)})
                }
            };
            properties.insert(field.name.clone(), property);
        }
        let required: Vec<&str> =
            object.fields.iter().filter(|field| field.is_required).map(|field| field.name.as_str()).collect();
        // Fields that the schema does not have, by their slots.
        properties.entry(super::flatbuffer::UNKNOWN).or_insert_with(|| json!({}));
        json!({"type": "object", "properties": properties, "required": required, "additionalProperties": false})
    });
    inner.into_iter().for_each(|index| _ = of_table(format, schema, index, definitions));
    found
}

/// A reference to the definition of a table.
fn of_table_name(format: &str, schema: &Schema, index: usize) -> Value {
    json!({"$ref": format!("#/$defs/{format}.{}", schema.objects[index].name)})
}

fn words(names: &Enumeration) -> Value {
    json!({"enum": names.values.iter().map(|(name, _)| name).collect::<Vec<_>>()})
}
