//! Tests in the real runtime with one case per file: `cargo lab --test cases -- --list`. Filters are parts of
//! `conformance::examples/linear`.

use pte_emit_lab as support;

mod conformance;
mod malformed;

use std::process::ExitCode;

fn main() -> ExitCode {
    support::run([("conformance", conformance::trials()), ("malformed", malformed::trials())])
}
