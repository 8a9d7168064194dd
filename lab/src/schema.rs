//! The JSON Schemas of docs/.

use jsonschema::Validator;
use serde_json::Value;

use crate::root;

/// Reads a JSON file of the repository.
pub fn read(path: &str) -> Value {
    serde_json::from_str(&std::fs::read_to_string(root().join(path)).unwrap()).unwrap()
}

/// Validator of `docs/NAME.schema.json`.
pub fn schema(name: &str) -> Validator {
    jsonschema::validator_for(&read(&format!("docs/{name}.schema.json"))).unwrap()
}

/// Asserts that a document is valid; `what` describes it.
#[track_caller]
pub fn assert_valid(schema: &Validator, document: &Value, what: &str) {
    let errors = schema.iter_errors(document).map(|error| format!("{}: {error}", error.instance_path()));
    assert_eq!(errors.collect::<Vec<_>>(), Vec::<String>::new(), "{what}");
}
