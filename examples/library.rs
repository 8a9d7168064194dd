//! Builds `y = relu(x @ weight.T + bias)` without YAML, and writes `linear.pte`: `cargo run --example library --
//! FOLDER`.

use std::fs::File;
use std::path::PathBuf;

use pte_emit::{AssembleOptions, Error, MethodBuilder, Resolved, ScalarType};

const FLOAT: ScalarType = ScalarType::FLOAT;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = std::env::args_os().nth(1).map(PathBuf::from).unwrap_or_default();
    let files = linear()?.to_files(&AssembleOptions::default())?;
    files.program_file().expect("a program").write(&mut File::create(folder.join("linear.pte"))?)?;
    Ok(())
}

/// The program, in as many lines as the model has parts.
pub fn linear() -> Result<Resolved, Error> {
    let mut forward = MethodBuilder::new("forward");
    let weight = forward.constant(&[3, 4], &[1.0f32, 0.0, 2.0, 0.0, 0.0, 1.0, 0.0, 3.0, 1.0, 1.0, 1.0, 1.0]);
    let bias = forward.constant(&[3], &[0.1f32, 0.2, 0.3]);
    let x = forward.input(FLOAT, &[1, 4]);
    let wt = forward.call_inferred("aten::permute_copy.out", &[weight.into(), [1, 0].into()]);
    let mm = forward.call_inferred("aten::addmm.out", &[bias.into(), x.into(), wt.into()]);
    let y = forward.call_inferred("aten::relu.out", &[mm.into()]);
    forward.output(y);
    Resolved::from_methods([forward])
}
