//! `pte-emit schema`: prints the JSON Schema of the YAML.

use super::exit::{Exit, Failure};
use super::io;

/// Prints the schema to standard output.
pub fn run() -> Result<Exit, Failure> {
    io::write_to_stdout("", |out| out.write_all(crate::json_schema().as_bytes())).map(|()| Exit::Ok)
}
