//! JSON Schema: `pte-emit schema` prints the file at the root of the repository, which the examples refer to.
//! lab/tests/schemas validates sources and documents.

use crate::support::root;

#[test]
fn the_printed_schema_is_the_one_at_the_root() {
    let output = std::process::Command::new(env!("CARGO_BIN_EXE_pte-emit")).arg("schema").output().unwrap();
    assert!(output.status.success());
    let printed = String::from_utf8(output.stdout).unwrap();
    let path = root().join("pte-emit.schema.json");
    crate::support::snapshot::update(&path, &printed, "BLESS=1 cargo test --test suite schema::");
}
