//! Tests with one case per file: `cargo test --test cases -- --list`. The kind of a case is its
//! module, and filters are parts of `golden::upstream/bytes/linear`.

use pte_emit_test_support as support;

mod broken;
mod examples;
mod golden;
mod malformed;

use std::process::ExitCode;

use libtest_mimic::Trial;

fn main() -> ExitCode {
    let all: [(&str, Vec<Trial>); 3] =
        [("examples", examples::trials()), ("golden", golden::trials()), ("malformed", malformed::trials())];
    support::run(all)
}
