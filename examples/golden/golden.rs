//! Tests of a loader and of an exporter: `cargo test --manifest-path macros/Cargo.toml`.

use std::error::Error;

use pte_emit::{AssembleOptions, MethodBuilder, Resolved, ScalarType};
use pte_emit_macros::{assert_program_eq, include_pte};

/// Stands for an exporter.
fn exported() -> Result<Vec<u8>, Box<dyn Error>> {
    let mut forward = MethodBuilder::new("forward");
    let x = forward.input(ScalarType::FLOAT, &[2, 2]);
    let y = forward.input(ScalarType::FLOAT, &[2, 2]);
    let sum = forward.call_inferred("aten::add.out", &[x.into(), y.into()]);
    forward.output(sum);
    let files = Resolved::from_methods([forward])?.to_files(&AssembleOptions::default())?;
    Ok(files.program_file().ok_or("no program")?.to_vec()?)
}

/// A fixture: an error in the YAML is an error of the compiler.
#[test]
fn the_loader_accepts_the_program() {
    let program: &[u8] = include_pte!("add.yaml");
    assert_eq!(&program[4..8], b"ET12");
    assert!(program.as_ptr().cast::<u128>().is_aligned());
}

/// `BLESS=1 cargo test` writes what the program is now into the YAML.
#[test]
fn the_program_is_the_golden_one() -> Result<(), Box<dyn Error>> {
    assert_program_eq!(exported()?, "add.yaml");
    Ok(())
}
