//! `pte-emit schema`: prints the JSON Schema of the YAML.

use super::exit::{Exit, Failure};
use super::stdout;

/// Prints the schema to standard output.
pub fn run() -> Result<Exit, Failure> {
    stdout::write("", |out| out.write_all(crate::json_schema().as_bytes())).map(|()| Exit::Ok)
}
