//! `pte-emit bound` against the exporter: a program that it exported with large bounds has the bytes of the one with small bounds.

use std::path::PathBuf;

use pretty_assertions::assert_eq;
use pte_emit::program::EValue;
use pte_emit::{Assembly, BoundOptions, InputBound, Model, Options};

use crate::support::folder::Folder;
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
    let mut options = BoundOptions::default();
    options.all_static = is_static;
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
            resolved.to_files(&Options::default()).unwrap()
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
