//! JSON of results, in one form for all commands. `stdout` writes it.

use pte_emit::command::text::escaped_json;
use serde::Serialize;

/// Formats a result as a JSON document, whose keys are in alphabetical order. Characters that are unsafe on a terminal
/// are escaped.
pub fn text(result: &impl Serialize) -> String {
    // A value sorts the keys; it cannot be built of maps whose keys are not strings, which no result has.
    let document = serde_json::to_value(result).unwrap_or_default();
    escaped_json(&format!("{document:#}\n")).into_owned()
}
