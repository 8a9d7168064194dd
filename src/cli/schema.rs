//! `pte-emit schema`: the JSON Schema of the text.

use super::{Exit, io};

/// Prints the schema to standard output.
pub fn run() -> Exit {
    let schema = crate::ir::json_schema::schema();
    let mut text = serde_json::to_string_pretty(&schema).unwrap_or_default();
    text.push('\n');
    match io::write_to_stdout(|out| out.write_all(text.as_bytes())) {
        Ok(()) => Exit::Ok,
        Err(_) => Exit::Io,
    }
}
