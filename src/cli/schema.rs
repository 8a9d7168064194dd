//! `pte-emit schema`: prints the JSON Schema of the YAML.

use super::exit::Exit;
use super::io;

/// Prints the schema to standard output.
pub fn run() -> Exit {
    match io::write_to_stdout(|out| out.write_all(crate::json_schema().as_bytes())) {
        Ok(()) => Exit::Ok,
        Err(_) => Exit::Io,
    }
}
