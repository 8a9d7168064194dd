//! `diff --numeric` in the real runtime: a changed constant in a model of hundreds of instructions is found at the
//! instruction that reads it, in kernels, in a loop, in a delegate, and with element types that ETDump does not have.
//!
//! Ignored by default, since it downloads the runtime: `cargo lab --test runtime numeric:: -- --ignored`.

use std::fmt::Write;

use serde_json::Value;

use crate::support::folder::Folder;
use crate::support::{root, runner};

/// Number of instructions of the model.
const INSTRUCTIONS: usize = 300;

/// A chain of additions, products and differences with constants. `changed` has another constant.
fn chain(changed: Option<usize>, dtype: &str) -> String {
    let (mut values, mut instructions) = (String::new(), String::new());
    for index in 0..INSTRUCTIONS {
        let constant = if changed == Some(index) { 7.25 } else { 0.5 + (index % 7) as f64 * 0.125 };
        let operator = ["add", "mul", "sub"][index % 3];
        let read = index.checked_sub(1).map_or("x".to_owned(), |before| format!("v{before}"));
        let alpha = if index % 3 == 1 { "" } else { ", 1" };
        let _ = writeln!(values, "      c{index}: {{tensor: {dtype}, sizes: [1, 16], data: {{fill: {constant}}}}}");
        let _ = writeln!(
            instructions,
            "      - {{kernel: aten::{operator}.out, args: [{read}, c{index}{alpha}], out: v{index}}}"
        );
    }
    let last = INSTRUCTIONS - 1;
    format!(
        "methods:\n  forward:\n    values:\n      x: {{tensor: {dtype}, sizes: [1, 16]}}\n{values}    inputs: [x]\n    outputs: [v{last}]\n    instructions:\n{instructions}"
    )
}

/// Compares two sources in the real runtime, and returns the document.
fn compare(sources: [&str; 2], options: &[&str], status: i32) -> Value {
    let folder = Folder::new(&[("a.yaml", sources[0]), ("b.yaml", sources[1])]);
    let runner = runner::locate().display().to_string();
    let arguments = ["diff", "--numeric", "a.yaml", "b.yaml", "--json", "--runner", &runner];
    let done = folder.run(&[&arguments, options].concat()).exits(status).stderr_is_empty();
    serde_json::from_slice(&done.stdout).unwrap()
}

fn first(found: &Value) -> (&str, u64) {
    let first = &found["methods"][0]["differences"][0];
    (first["left"].as_str().unwrap(), first["execution"].as_u64().unwrap())
}

#[test]
#[ignore = "downloads the runtime"]
fn a_changed_constant_is_found_at_its_instruction() {
    // bfloat16 and float16 are recorded as other types of two bytes.
    for (dtype, changed) in [("float32", 150), ("float32", 0), ("float32", 299), ("float16", 77), ("bfloat16", 201)] {
        let found = compare([&chain(None, dtype), &chain(Some(changed), dtype)], &[], 1);
        let method = &found["methods"][0];
        assert_eq!(method["compared"], INSTRUCTIONS, "{dtype}");
        assert_eq!(first(&found), (&*format!("methods.forward.instructions[{changed}]"), 0), "{dtype}");
        let value = &method["differences"][0]["values"][0];
        assert_eq!((&value["type"], &value["differing"]), (&format!("{dtype} [1, 16]").into(), &16.into()));
        assert!(method["differences"].as_array().unwrap().len() <= INSTRUCTIONS - changed);
        let equal = compare([&chain(None, dtype), &chain(None, dtype)], &["--atol", "0", "--rtol", "0"], 0);
        assert_eq!((&equal["equal"], &equal["methods"][0]["compared"]), (&true.into(), &INSTRUCTIONS.into()));
    }
}

/// An inserted instruction shifts the others, and is none of the differences.
#[test]
#[ignore = "downloads the runtime"]
fn instructions_are_aligned() {
    let model = chain(None, "float32");
    let inserted = chain(Some(200), "float32").replace(
        "      - {kernel: aten::add.out, args: [v98,",
        "      - {kernel: aten::clone.out, args: [v98], out: copy}\n      - {kernel: aten::add.out, args: [copy,",
    );
    let found = compare([&model, &inserted], &[], 1);
    assert_eq!(found["methods"][0]["unaligned"], serde_json::json!([0, 1]));
    assert_eq!(first(&found).0, "methods.forward.instructions[200]");
    assert_eq!(found["methods"][0]["differences"][0]["right"], "methods.forward.instructions[201]");
}

#[test]
#[ignore = "downloads the runtime"]
fn loops_and_delegates_are_compared() {
    let read = |name: &str| std::fs::read_to_string(root().join("examples").join(name)).unwrap();
    // The body of the loop is executed several times; its first execution differs.
    let model = read("loop.yaml");
    let found = compare([&model, &model.replace("[y, 2]", "[y, 3]")], &[], 1);
    assert_eq!(first(&found), ("methods.forward.instructions[5]", 0));
    assert!(found["methods"][0]["unrecorded"].as_u64().unwrap() > 0 && found["methods"][0]["seed"].is_null());
    // Twice as many steps: the executions that both have are equal.
    let found = compare([&model, &model.replace("[i, 1], out: i", "[i, 2], out: i")], &[], 1);
    let last = found["methods"][0]["differences"].as_array().unwrap().last().unwrap();
    assert!(last["mismatch"].as_str().unwrap().contains("executions -> "), "{found}");
    let model = read("xnnpack_two_delegates.yaml");
    let found = compare([&model, &model.replace("numbers: [10, 20]", "numbers: [10, 21]")], &[], 1);
    assert_eq!(first(&found).0, "methods.forward.instructions[0]");
    let values = found["methods"][0]["differences"][0]["values"].as_array().unwrap();
    let differing: Vec<u64> = values.iter().map(|value| value["differing"].as_u64().unwrap()).collect();
    assert_eq!(differing, [0, 2], "the input is equal, the output differs: {values:?}");
}

/// Every example with equal sides is equal, whatever it contains: lists, scalars, states, several methods, external
/// data.
#[test]
#[ignore = "downloads the runtime"]
fn examples_are_equal_to_themselves() {
    let runner = runner::locate().display().to_string();
    let mut compared = 0;
    for entry in std::fs::read_dir(root().join("examples")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "yaml") {
            continue;
        }
        let path = path.display().to_string();
        let folder = Folder::new(&[]);
        let done = folder.run(&[
            "diff",
            "--numeric",
            &path,
            &path,
            "--json",
            "--atol",
            "0",
            "--rtol",
            "0",
            "--runner",
            &runner,
        ]);
        let done = done.exits(0);
        let found: Value = serde_json::from_slice(&done.stdout).unwrap();
        compared +=
            found["methods"].as_array().unwrap().iter().filter(|method| method["compared"].as_u64() > Some(0)).count();
    }
    assert!(compared > 20, "{compared} methods");
}
