//! Edited programs in the real runtime: every method of a merged, extracted, renamed or stripped program has the
//! outputs that it had before, bit by bit, in two executions.
//!
//! Ignored by default, since it downloads the runtime: `cargo lab --test runtime edit_programs:: -- --ignored`.
//! `PTE_EMIT_EDIT_PROGRAMS` is the number of random programs; `PTE_EMIT_EDITS_SEED` and `PTE_EMIT_EDITS_COUNT` choose
//! those of which every edit is compared; `PTE_EMIT_EDIT_FOLDERS` has folders of programs to merge, separated by
//! colons.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use pretty_assertions::assert_eq;
use pte_emit::program::test_cases::TestData;
use pte_emit::program::{EValue, MemoryPlanner};
use pte_emit::{
    AssembleOptions, Assembly, Model, PrintOptions, Reproduction, Resolved, ScalarType,
    check::{CheckOptions, RuleId},
    edit::{MergeOptions, MethodRename, OptimizeOptions, StripKind},
    plan::LayoutConfig,
};
use pte_generate::calls::repeatable;
use pte_generate::programs::{control_flow, program};
use pte_generate::random::Random;
use pte_model::data::Blob;

use super::optimize_memory::{answers as outputs, script};
use crate::support::program::in_place_operators;
use crate::support::{files as written, root, runner, seed};

/// Programs that are merged at once.
const GROUP: usize = 3;

fn bytes(resolved: Resolved) -> Vec<u8> {
    let assembly = resolved.to_files(&AssembleOptions::default()).unwrap_or_else(|error| panic!("{error}"));
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
    let (merged, _) = Resolved::merge(inputs, &options).unwrap_or_else(|error| panic!("{label}: {error}"));
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
#[ignore = "downloads the ExecuTorch runtime from a package index; run it with `cargo lab --test runtime edit_programs:: -- --ignored`"]
fn edited_methods_have_the_same_outputs() {
    let runner = runner::locate();
    let operators = repeatable();
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

/// The files of a program after each edit, with its name.
fn edited(model: &Model, folder: &Path) -> Vec<(&'static str, Assembly)> {
    let resolve = || model.resolve_for_changes().unwrap();
    let files = |resolved: Resolved, options: &AssembleOptions| {
        resolved.to_files(options).unwrap_or_else(|error| panic!("{error}"))
    };
    let plain = |resolved: Resolved| files(resolved, &AssembleOptions::default());
    let external = AssembleOptions::default().external_data(true);
    let pruned = AssembleOptions::default().prune(true);
    let mut optimized = resolve();
    optimized.optimize(&OptimizeOptions::default()).unwrap_or_else(|error| panic!("{error}"));
    let moved = files(model.resolve().unwrap(), &external);
    let findings = moved.check(&CheckOptions::default()).unwrap();
    assert!(findings.iter().flat_map(|findings| &findings.list).all(|finding| finding.rule.id != RuleId::G_34));
    let (pte, ptds) = written::write(&moved, folder).unwrap();
    let internal = AssembleOptions::default().internal_data(true).with(ptds);
    let name = model.program().unwrap().plans()[0].name.clone().unwrap();
    let renamed = resolve().rename_methods(&[MethodRename::new(&name, "other")]).unwrap().0;
    let back = renamed.rename_methods(&[MethodRename::new("other", &name)]).unwrap().0;
    vec![
        ("rewritten", plain(model.resolve().unwrap())),
        ("printed", plain(resolve())),
        ("pruned", files(model.resolve().unwrap(), &pruned)),
        ("printed and pruned", files(resolve(), &pruned)),
        ("stripped", plain(model.resolve().unwrap().strip(&StripKind::ALL).unwrap().0)),
        ("optimized", plain(optimized)),
        ("optimized and pruned", {
            let mut optimized = model.resolve_for_changes().unwrap();
            optimized.optimize(&OptimizeOptions::default()).unwrap();
            files(optimized, &pruned)
        }),
        ("renamed", plain(back)),
        ("internal again", files(Model::open(pte).unwrap().resolve().unwrap(), &internal)),
        ("external", moved),
    ]
}

/// Random programs with what exporters do not write: state through views, constants as outputs, values with two kinds
/// of writers.
#[test]
#[ignore = "downloads the ExecuTorch runtime from a package index; run it with `cargo lab --test runtime edit_programs:: -- --ignored`"]
fn edits_keep_the_outputs_of_several_executions() {
    let (first, count) = (seed("PTE_EMIT_EDITS_SEED", 1), seed("PTE_EMIT_EDITS_COUNT", 60));
    let operators = in_place_operators();
    let (runner, next, executed, compared) =
        (runner::locate(), AtomicU64::new(0), AtomicU64::new(0), AtomicU64::new(0));
    let work = || {
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            if index >= count {
                break;
            }
            let name = format!("seed {first} number {index}");
            let mut program =
                control_flow(&mut Random::of_item(first, index), &operators, [8, 16, 30][index as usize % 3]);
            program.execution_plan.iter_mut().flatten().for_each(|plan| plan.memory.planner = MemoryPlanner::Minimal);
            let Some(script) = script(&program) else { continue };
            let folder = tempfile::tempdir().unwrap();
            let before = Resolved::from(program).to_files(&AssembleOptions::default()).unwrap();
            let expected = outputs(&runner, &before, &script).unwrap_or_else(|error| panic!("{name}: {error}"));
            executed.fetch_add(u64::from(expected.iter().any(|answer| answer == "execute ok")), Ordering::Relaxed);
            let model = Model::from_binary("p.pte", before.program_file().unwrap().to_vec().unwrap());
            for (what, assembly) in edited(&model, folder.path()) {
                let found =
                    outputs(&runner, &assembly, &script).unwrap_or_else(|error| panic!("{name}: {what}: {error}"));
                assert!(found == expected, "{name}: {what}\n{:?}", expected.iter().zip(&found).find(|(a, b)| a != b));
                compared.fetch_add(1, Ordering::Relaxed);
            }
        }
    };
    std::thread::scope(|scope| (0..2).for_each(|_| drop(scope.spawn(work))));
    println!("{executed:?} of {count} programs executed, {compared:?} edits compared");
    assert!(executed.into_inner() * 10 >= count * 8);
}

/// Outputs of the second execution of `forward`, of float32.
fn second(runner: &Path, assembly: &Assembly) -> Vec<Vec<f32>> {
    let answers = outputs(runner, assembly, &script(assembly.program()).unwrap()).unwrap();
    let mut executions = answers.split(|answer| answer == "execute ok").skip(2);
    let numbers = |answer: &String| {
        let bytes = data_encoding::HEXLOWER.decode(answer.strip_prefix("output ")?.split(' ').next_back()?.as_bytes());
        Some(bytes.ok()?.chunks(4).map(|chunk| f32::from_le_bytes(chunk.try_into().unwrap())).collect())
    };
    executions.next().unwrap_or_else(|| panic!("{answers:?}")).iter().filter_map(numbers).collect()
}

#[test]
#[ignore = "downloads the ExecuTorch runtime from a package index; run it with `cargo lab --test runtime edit_programs:: -- --ignored`"]
fn state_is_read_through_its_views_and_added_outputs_are_planned() {
    let runner = runner::locate();
    let model = |yaml: &str| Model::from_yaml("m.yaml", yaml, ".");
    let written = |yaml: &str| {
        let assembly =
            model(yaml).assemble(&AssembleOptions::default()).unwrap_or_else(|error| panic!("{error}\n{yaml}"));
        Model::from_binary("m.pte", assembly.program_file().unwrap().to_vec().unwrap())
    };
    let state = written(
        "methods:
  forward:
    values:
      s: {tensor: float32, sizes: [2, 3], mutable: true, data: {fill: 1.5}}
      w: {view_of: s, sizes: [6]}
    outputs: [y]
    instructions:
      - {kernel: aten::neg.out, args: [w], out: y}
",
    );
    let pruned = AssembleOptions::default().prune(true);
    let stripped =
        state.resolve().unwrap().strip(&StripKind::ALL).unwrap().0.to_files(&AssembleOptions::default()).unwrap();
    for assembly in [state.resolve().unwrap().to_files(&pruned).unwrap(), stripped] {
        assert_eq!(second(&runner, &assembly), [[-1.5; 6]]);
    }
    // The offsets of the exporter's planner: c has the memory of a.
    let chain = written(
        "methods:
  forward:
    values:
      x: {tensor: float32, sizes: [2], data: [0, -1]}
    outputs: [c]
    instructions:
      - {kernel: aten::neg.out, args: [x], out: a}
      - {kernel: aten::relu.out, args: [a], out: b}
      - {kernel: aten::mul.Scalar_out, args: [b, 2], out: d}
      - {kernel: aten::mul.Scalar_out, args: [d, 2], out: c}
",
    );
    let mut options = PrintOptions::default();
    let with_output = |options: &PrintOptions| {
        let yaml = chain.to_yaml(Path::new(""), options).unwrap().text;
        yaml.replace("outputs: [mul_1]", "outputs: [mul_1, neg]")
    };
    options.reproduction = Reproduction::AllButOffsets;
    let replanned = with_output(&options);
    assert!(replanned.contains("[mul_1, neg]") && !replanned.contains("offset"), "{replanned}");
    assert_eq!(
        second(&runner, &model(&replanned).assemble(&AssembleOptions::default()).unwrap()),
        [[0.0, 4.0], [-0.0, 1.0]]
    );
}

/// Values of other kinds are not made.
#[test]
fn inputs_are_made_for_tensors_and_numbers() {
    assert!(input(&EValue::Int(3)).is_some() && input(&EValue::String(None)).is_none());
}
