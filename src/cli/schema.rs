//! `pte-emit schema`: prints the JSON Schema of the YAML.

use super::exit::{Exit, Failure};
use super::io;

/// Prints the schema to standard output.
pub fn run() -> Result<Exit, Failure> {
    let written = io::write_to_stdout(|out| out.write_all(crate::json_schema().as_bytes()));
    written.map(|()| Exit::Ok).map_err(|error| Failure::writing("<stdout>", &error))
}
