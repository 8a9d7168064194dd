//! The grammar of the text ([`super::shape`]) as a JSON Schema, so that editors complete and check while one types.
//!
//! What a schema cannot say (names that must exist, sizes that must agree) is left to the assembler.

use serde_json::{Map, Value, json};

use super::shape::{DOCUMENT, Form, Shape};
use crate::schema::ScalarType;

/// The schema of the text.
pub fn schema() -> Value {
    let mut definitions = Map::new();
    let root = of(&Form::Shape(&DOCUMENT), &mut definitions);
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": "pte-emit.schema.json",
        "title": "pte-emit text",
        "$ref": root["$ref"],
        "$defs": definitions,
    })
}

fn of(form: &Form, definitions: &mut Map<String, Value>) -> Value {
    match form {
        Form::Null => json!({"type": "null"}),
        Form::Bool => json!({"type": "boolean"}),
        Form::Int => json!({"type": "integer"}),
        Form::UInt => json!({"type": "integer", "minimum": 0}),
        Form::Number => json!({"type": ["number", "string"], "pattern": NUMBER_WORD}),
        Form::Text => json!({"type": "string"}),
        Form::Size => json!({"type": ["integer", "string"], "minimum": 0, "pattern": "^[0-9]+[KMG]$"}),
        Form::Alignment => json!({"anyOf": [
            {"enum": (0..=30).map(|power| 1u64 << power).collect::<Vec<_>>()},
            {"type": "string", "pattern": "^(page|(1|2|4|8|16|32|64|128|256|512)[KM]|1G)$"},
        ]}),
        Form::Dtype => json!({"anyOf": [
            {"enum": ScalarType::names().collect::<Vec<_>>()},
            {"type": "string", "pattern": "^(torch\\.\\w+|[A-Z0-9]+|short|int|long|half|float|double|chalf|cfloat|cdouble)$"},
            {"type": "integer", "minimum": -128, "maximum": 127},
        ]}),
        Form::OneOf(words) => json!({"enum": words}),
        Form::List(item) => json!({"type": "array", "items": of(item, definitions)}),
        Form::Map(value) => json!({"type": "object", "additionalProperties": of(value, definitions)}),
        Form::Either(forms) => json!({"anyOf": forms.iter().map(|form| of(form, definitions)).collect::<Vec<_>>()}),
        Form::Shape(shape) => reference(shape.name, definitions, |definitions| of_shape(shape, definitions)),
        Form::Named(name, form) => reference(name, definitions, |definitions| of(form, definitions)),
    }
}

/// Numbers that JSON writes as texts: complex ones, infinity, not a number.
const NUMBER_WORD: &str = r"^(-?\.?inf|\.?nan|[-+0-9.eE]+j)$";

/// A reference to a definition, which is made when it is first referred to: forms may contain themselves.
fn reference(
    name: &str,
    definitions: &mut Map<String, Value>,
    make: impl FnOnce(&mut Map<String, Value>) -> Value,
) -> Value {
    if !definitions.contains_key(name) {
        definitions.insert(name.to_owned(), Value::Null);
        let made = make(definitions);
        definitions.insert(name.to_owned(), made);
    }
    json!({"$ref": format!("#/$defs/{name}")})
}

fn of_shape(shape: &Shape, definitions: &mut Map<String, Value>) -> Value {
    let mut properties = Map::new();
    for key in shape.keys {
        let mut property = of(&key.form, definitions);
        if let Value::Object(property) = &mut property {
            property.insert("description".into(), key.doc.into());
        }
        properties.insert(key.name.into(), property);
    }
    json!({
        "type": "object",
        "description": shape.doc,
        "properties": properties,
        "required": shape.required,
        "additionalProperties": false,
    })
}
