//! `pte-emit bound` against the exporter: a program that it exported with large bounds has the bytes of the one with
//! small bounds.

use std::path::PathBuf;

use pretty_assertions::assert_eq;
use pte_emit::program::{EValue, TensorShapeDynamism};
use pte_emit::{
    AssembleOptions, Assembly, Model,
    edit::{BoundOptions, InputBound},
};
use pte_generate::calls::repeatable;
use pte_generate::programs::program;
use pte_generate::random::Random;

use crate::support::folder::Folder;
use crate::support::program::files;
use crate::support::root;

fn folders() -> Vec<PathBuf> {
    let entries = std::fs::read_dir(root().join("tests/golden/upstream/bounds")).unwrap();
    let mut folders: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    folders.sort();
    folders
}

/// Bounds of the inputs of a program; with a dynamic input, if `is_static` makes it static.
fn bounds_of(model: &Model, is_static: bool) -> BoundOptions {
    let plan = &model.program().unwrap().plans()[0];
    let mut options = BoundOptions::default().all_static(is_static);
    for (number, input) in plan.inputs.iter().flatten().enumerate() {
        if let Some(EValue::Tensor(tensor)) = plan.value(*input) {
            let sizes = tensor.sizes.as_deref().unwrap().iter().copied().map(Some).collect();
            options.inputs.push(InputBound { input: number.to_string(), sizes, is_static: false });
        }
    }
    options
}

fn planned(assembly: &Assembly) -> Vec<i64> {
    assembly.plan().memory[0].sizes.clone()
}

#[test]
fn a_lower_bound_gives_what_the_exporter_writes() {
    for folder in folders() {
        let open = |name: &str| Model::open(folder.join(name)).unwrap();
        let bounded = |is_static: bool, other: &Model| {
            let mut resolved = open("large.pte").resolve_for_changes().unwrap();
            resolved.bound(&bounds_of(other, is_static)).unwrap();
            resolved.to_files(&AssembleOptions::default()).unwrap()
        };
        let (small, fixed) = (open("small.pte"), open("static.pte"));
        let assembly = bounded(false, &small);
        let bytes = assembly.program_file().unwrap().to_vec().unwrap();
        assert!(bytes == std::fs::read(folder.join("small.pte")).unwrap(), "{}", folder.display());
        assert!(planned(&assembly) < planned(open("large.pte").assembly().unwrap()), "{}", folder.display());
        // The exporter may delegate more of a static program.
        let [own, exported] =
            [&bounded(true, &fixed), fixed.assembly().unwrap()].map(|assembly| planned(assembly).iter().sum::<i64>());
        assert!(own * 100 <= exported * 101, "{}: {own} and {exported}", folder.display());
    }
    assert!(folders().len() >= 3);
}

#[test]
fn the_command_writes_nothing_after_an_error() {
    let folder = Folder::new(&[]);
    let large = root().join("tests/golden/upstream/bounds/conv1d_time/large.pte");
    let large = large.to_str().unwrap();
    folder
        .run(&["bound", large, "--input", "x=1x4x8192", "-o", "out.pte"])
        .exits(1)
        .stderr_contains("above the bound 1280");
    folder.run(&["bound", large, "--input", "x=8", "-o", "out.pte"]).exits(1).stderr_contains("it has 3 dimensions");
    folder.run(&["bound", large, "-o", "out.pte"]).exits(2).stderr_contains("add `--input NAME=SIZES` or `--static`");
    folder.run(&["bound", large, "--input", "x", "-o", "out.pte"]).exits(2).stderr_contains("expected NAME=SIZES");
    folder.run(&["bound", large, "--input", "x=1x4x8", "--dry-run"]).exits(0).stderr_contains("bytes from 163840");
    assert_eq!(folder.names(), [""; 0]);
    folder
        .run(&["bound", large, "--input", "0=_x_x8!", "-o", "out.pte"])
        .exits(0)
        .stderr_contains("`x`: [1, 4, 8] from [1, 4, 1280], now static");
    assert_eq!(folder.names(), ["out.pte"]);
}

/// The planner of a program with larger bounds may be a worse one for smaller bounds.
#[test]
fn a_lower_bound_never_needs_more_memory() {
    let operators = repeatable();
    let mut bounded = 0;
    for index in (1208..1408).chain(0..200) {
        let mut random = Random::of_item(30, index);
        let original = files(&program(&mut random, &operators, 4)).unwrap();
        let plan = &original.program().plans()[0];
        let mut options = BoundOptions::default().method(plan.name.clone());
        for (number, input) in plan.inputs.iter().flatten().enumerate() {
            let Some(EValue::Tensor(tensor)) = plan.value(*input) else { continue };
            if tensor.shape_dynamism == TensorShapeDynamism::DYNAMIC_BOUND {
                let sizes = tensor.sizes.as_deref().unwrap();
                let dim = random.below(sizes.len().max(1));
                let lower = |(at, size): (usize, &i32)| {
                    (at == dim && *size > 1).then(|| random.between(1, i64::from(*size)) as i32)
                };
                let sizes = sizes.iter().enumerate().map(lower).collect();
                options.inputs.push(InputBound { input: number.to_string(), sizes, is_static: false });
            }
        }
        let mut resolved = Model::from_binary("p.pte", original.program_file().unwrap().to_vec().unwrap())
            .resolve_for_changes()
            .unwrap();
        if options.inputs.is_empty() || resolved.bound(&options).is_err() {
            continue;
        }
        let after = resolved.to_files(&AssembleOptions::default()).unwrap();
        let [before, after] = [&original, &after].map(|assembly| planned(assembly).iter().sum::<i64>());
        assert!(after <= before, "{index}: {after} from {before}");
        bounded += 1;
    }
    assert!(bounded > 10, "{bounded}");
}

/// Sizes that a kernel rejects, although no size of a result shows it.
#[test]
fn sizes_that_kernels_reject_are_refused() {
    let values = "x: {tensor: float32, sizes: [8, 3], dynamism: dynamic_bound}";
    for (calls, sizes) in [
        ("{kernel: aten::select_scatter.out, args: [m, x, 0, 1], out: y}", "x=1x_"),
        ("{kernel: aten::embedding.out, args: [x, i, -1, false, false], out: y}", "x=2x_"),
        ("{kernel: aten::index_select.out, args: [x, 0, i], out: y}", "x=2x_"),
        (
            "{kernel: aten::_native_batch_norm_legit_no_training.out, args: [x, b, b, b, b, 0.1, 1e-5], out: [y, p, q]}",
            "x=_x2",
        ),
    ] {
        let yaml = format!(
            "methods: {{forward: {{values: {{{values}, m: {{tensor: float32, sizes: [2, 8, 3]}}, i: {{tensor: int64, data: [2, 0]}}, \
             b: {{tensor: float32, data: [1, 1, 1]}}}}, inputs: [x, m], outputs: [y], instructions: [{calls}]}}}}"
        );
        let folder = Folder::new(&[("p.yaml", &yaml)]);
        folder.run(&["p.yaml", "--prune", "-o", "p.pte"]).exits(0);
        folder.run(&["bound", "p.pte", "--input", "x=8x3", "-o", "n.pte"]).exits(0);
        folder.run(&["bound", "p.pte", "--input", sizes, "-o", "n.pte"]).exits(1);
    }
}
