//! Structured mutants of programs, whatever their delegates: those that `check` accepts must not crash the real
//! runtime. The mutants that it refuses although they run are counted by rule. The changes are also those of the fuzz
//! target `execute`.
//!
//! Unlike `mutants.rs`, which changes bytes, it changes values, instructions, lists and data by their meaning; unlike
//! `xnnpack_mutants.rs`, it does not look into delegates.
//!
//! | variable | meaning |
//! |---|---|
//! | `PTE_EMIT_PROGRAM_MUTANTS_SEED` | seed, a number; printed; 1 by default |
//! | `PTE_EMIT_PROGRAM_MUTANTS_ACCEPTED` | number of accepted mutants that end the run; by default less than a minute |
//! | `PTE_EMIT_PROGRAM_MUTANTS_KEEP` | a folder for accepted mutants that crash |
//! | `PTE_EMIT_PROGRAMS` | a folder of further `.pte` files to mutate |

use std::fs;

use pte_emit::{AssembleOptions, Model};

use crate::support::driver::Driver;
use crate::support::program_mutants::Base;
use crate::support::structured::{self, ProgramFile, Run};
use crate::support::{files_below, root};

/// The run of mutants.
const RUN: Run = Run {
    variables: "PTE_EMIT_PROGRAM_MUTANTS",
    sample: 2_000,
    batch: 60,
    // The contents of inputs are not known before the method runs.
    also_crashes_with: &["zeros", "ones", "hundreds"],
    open: &[
        ("buffer_names", "signal 11 exec", "the caller may give memory to state that has a name"),
        ("shared_order", "signal 11 exec", "the caller may give memory to state that has a name"),
    ],
};

/// Programs of the repository and of the folder in `PTE_EMIT_PROGRAMS`, and the examples, with internal and with
/// external weights.
fn bases() -> Vec<Base> {
    let mut files = structured::programs();
    let examples = root().join("examples");
    for path in files_below(&examples, &["yaml"]) {
        // Files that are malformed on purpose, and inputs of others.
        if path.parent() != Some(&examples) {
            continue;
        }
        let name = path.strip_prefix(root()).unwrap_or(&path).display().to_string();
        let text = fs::read_to_string(&path).unwrap();
        for external_data in [false, true] {
            let options = AssembleOptions::default().external_data(external_data);
            let source = Model::from_yaml(&name, &text, &examples);
            let assembly = source.assemble(&options).unwrap_or_else(|error| panic!("{error}"));
            let data: Vec<Vec<u8>> = assembly.data_files().map(|(_, file)| file.to_vec().unwrap()).collect();
            if let Some(file) = assembly.program_file() {
                files.push(ProgramFile { name: name.clone(), bytes: file.to_vec().unwrap(), data });
            }
        }
    }
    let driver = Driver::locate();
    files.retain(|file| {
        let runs = driver.run(&[&file.bytes], &file.data, &["--executions", "2"])[0].starts_with("ok");
        runs && structured::errors(&file.bytes, &file.data).is_empty()
    });
    files.into_iter().map(Base::of).collect()
}

#[test]
#[ignore = "downloads the ExecuTorch runtime from a package index; run it with `cargo lab --test runtime program_mutants:: -- --ignored`"]
fn accepted_programs_do_not_crash_the_runtime() {
    let bases = bases();
    println!("{} programs", bases.len());
    assert!(bases.len() > 120, "{} programs", bases.len());
    RUN.test(&bases);
}

#[test]
fn programs_are_written_as_they_are_read() {
    for file in structured::programs() {
        let base = Base::of(file);
        let written = base.with(&base.program);
        assert_eq!(structured::errors(&written, &base.file.data), [], "{}", base.file.name);
        let read = |bytes: &[u8]| {
            let mut program = Model::from_binary("program", bytes).resolve().unwrap().program;
            // A blob knows the file that it is a part of.
            let blobs: Vec<Vec<u8>> = program.blobs.drain(..).map(|blob| blob.to_vec().unwrap()).collect();
            // A NaN is not equal to itself.
            (format!("{program:#?}"), blobs)
        };
        let (found, expected) = (read(&written), read(&base.file.bytes));
        pretty_assertions::assert_eq!(found.0, expected.0, "{}", base.file.name);
        assert!(found.1 == expected.1, "{}: blobs", base.file.name);
    }
}
