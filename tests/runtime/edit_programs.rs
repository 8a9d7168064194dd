//! Edited programs in the real runtime: every method of a merged, extracted, renamed or stripped program has the outputs that it had before,
//! bit by bit, in two executions.
//!
//! Ignored by default, since it downloads the runtime: `cargo test --test runtime edit_programs:: -- --ignored`. `PTE_EMIT_EDIT_PROGRAMS` is the
//! number of random programs; `PTE_EMIT_EDIT_FOLDERS` has folders of programs to merge, separated by colons.

use std::fs;
use std::path::{Path, PathBuf};

use pretty_assertions::assert_eq;
use pte_emit::program::EValue;
use pte_emit::program::test_cases::TestData;
use pte_emit::{LayoutConfig, MergeOptions, MethodRename, Model, Options, Resolved, ScalarType, StripKind};
use pte_generate::calls::{is_repeatable, operators};
use pte_generate::programs::{KnownOperator, program};
use pte_generate::random::Random;
use pte_model::data::Blob;

use crate::support::{root, runner};

/// Programs that are merged at once.
const GROUP: usize = 3;

fn bytes(resolved: Resolved) -> Vec<u8> {
    let assembly = resolved.to_files(&Options::default()).unwrap_or_else(|error| panic!("{error}"));
    assembly.program_file().unwrap().to_vec().unwrap()
}

fn resolve(content: &[u8]) -> Resolved {
    Model::from_binary("p.pte", content).resolve().unwrap_or_else(|error| panic!("{error}"))
}

/// Inputs of the methods of a program: numbers that differ from element to element.
fn input(value: &EValue) -> Option<TestData> {
    let EValue::Tensor(tensor) = value else {
        return match value {
            EValue::Int(number) => Some(TestData::Int(*number)),
            EValue::Double(number) => Some(TestData::Double(*number)),
            EValue::Bool(value) => Some(TestData::Bool(*value)),
            _ => None,
        };
    };
    let count = tensor.nbytes()?;
    let data: Vec<u8> = match tensor.scalar_type {
        ScalarType::FLOAT => {
            (0..count / 4).flat_map(|element| (0.25 + 0.5 * (element % 7) as f32).to_le_bytes()).collect()
        }
        ScalarType::LONG => (0..count / 8).flat_map(|element| (element as i64 % 2).to_le_bytes()).collect(),
        _ => vec![1; count as usize],
    };
    Some(TestData::Tensor {
        scalar_type: tensor.scalar_type,
        sizes: tensor.sizes.as_deref()?.to_vec(),
        dim_order: tensor.dim_order.clone()?,
        data: Blob::bytes(data),
    })
}

/// Answers of the runtime for a method that is loaded and executed twice; `None` if its inputs cannot be made.
fn answers(runner: &Path, content: &[u8], method: &str, folder: &Path) -> Option<Vec<String>> {
    let program = resolve(content).program;
    let plan = program.plans().iter().find(|plan| plan.name.as_deref() == Some(method)).unwrap();
    let mut lines = vec![format!("load {}", runner::quote(method))];
    for _ in 0..2 {
        for (number, value) in plan.inputs.iter().flatten().enumerate() {
            let data = input(plan.value(*value)?)?;
            lines.push(format!("input {number} {}", runner::spell(&data).ok()?));
        }
        lines.extend(["execute".to_owned(), "outputs".to_owned()]);
    }
    lines.push(String::new());
    let path = folder.join("program.pte");
    fs::write(&path, content).unwrap();
    let mode = runner::Mode { verify: "full", loader: "file" };
    Some(runner::run(runner, &path, &[], mode, &lines.join("\n")).unwrap_or_else(|failure| vec![failure]))
}

fn methods(content: &[u8]) -> Vec<String> {
    resolve(content).program.plans().iter().map(|plan| plan.name.clone().unwrap()).collect()
}

/// Number of methods that were compared, and of those that executed.
#[derive(Default, Debug)]
struct Compared {
    methods: usize,
    executed: usize,
}

/// Merges programs, and compares their methods in the merged program, extracted from it, renamed and stripped.
fn compare(runner: &Path, programs: &[Vec<u8>], label: &str, compared: &mut Compared) {
    let folder = tempfile::tempdir().unwrap();
    let mut options = MergeOptions::default();
    options.prefixes = (0..programs.len()).map(|number| (Some(number), format!("m{number}_"))).collect();
    let inputs = programs.iter().map(|content| resolve(content)).collect();
    let (merged, _) = Resolved::merge(inputs, &options, &[]).unwrap_or_else(|error| panic!("{label}: {error}"));
    let merged = bytes(merged);
    let stripped = bytes(resolve(&merged).strip(&StripKind::ALL).unwrap().0);
    for (number, content) in programs.iter().enumerate() {
        for method in methods(content) {
            let Some(expected) = answers(runner, content, &method, folder.path()) else { continue };
            let new = format!("m{number}_{method}");
            let one = resolve(&merged).extract_methods(std::slice::from_ref(&new)).unwrap().0;
            let renamed = one.rename_methods(&[MethodRename::new(&new, "other")]).unwrap().0;
            for (what, content, name) in [
                ("merged", &merged, new.as_str()),
                ("stripped", &stripped, &new),
                ("extracted", &bytes(renamed), "other"),
            ] {
                let found = answers(runner, content, name, folder.path()).unwrap();
                assert_eq!(found, expected, "{label}: {what} {new}");
            }
            compared.methods += 1;
            compared.executed += usize::from(expected.iter().any(|answer| answer == "execute ok"));
        }
    }
}

#[test]
#[ignore = "downloads the ExecuTorch runtime from a package index; run it with `cargo test --test runtime edit_programs:: -- --ignored`"]
fn edited_methods_have_the_same_outputs() {
    let runner = runner::locate();
    let operators: Vec<KnownOperator> = operators().into_iter().filter(|(name, _)| is_repeatable(name)).collect();
    let count = std::env::var("PTE_EMIT_EDIT_PROGRAMS").map_or(90, |count| count.parse().expect("a number"));
    let mut compared = Compared::default();
    for first in (0..count).step_by(GROUP) {
        let generated = (first..first + GROUP as u64).map(|index| {
            let program = program(&mut Random::of_item(11, index), &operators, 6);
            crate::support::program::write(&program, &LayoutConfig::default())
        });
        compare(&runner, &generated.collect::<Vec<_>>(), &format!("random {first}"), &mut compared);
    }
    println!("random programs: {compared:?}");
    assert!(compared.executed * 10 >= compared.methods * 8 && compared.methods >= count as usize, "{compared:?}");
    let upstream =
        ["addmul", "buffers", "buffer_names", "cond", "multi", "conv_xnn", "shared_state", "nested", "index"];
    let upstream = upstream.map(|name| root().join(format!("tests/golden/upstream/bytes/{name}/model.pte")));
    let mut folders = vec![upstream.to_vec()];
    for folder in std::env::var("PTE_EMIT_EDIT_FOLDERS").iter().flat_map(|list| list.split(':')) {
        let files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        let mut files: Vec<PathBuf> = files.filter(|path| path.extension().is_some_and(|of| of == "pte")).collect();
        files.sort();
        folders.push(files);
    }
    for files in folders {
        let mut compared = Compared::default();
        let label = files[0].display().to_string();
        let programs: Vec<Vec<u8>> = files.iter().map(|path| fs::read(path).unwrap()).collect();
        compare(&runner, &programs, &label, &mut compared);
        println!("{label} and others: {compared:?}");
        assert!(compared.executed > 0, "{label}");
    }
}

/// Values of other kinds are not made.
#[test]
fn inputs_are_made_for_tensors_and_numbers() {
    assert!(input(&EValue::Int(3)).is_some() && input(&EValue::String(None)).is_none());
}
