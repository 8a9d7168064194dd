//! Fixtures in the real runtime: outputs that are blessed, a changed weight, and the runner in examples/runner, in C++.

use std::process::Command;

use crate::support::folder::Folder;
use crate::support::schema::{assert_valid, schema};
use crate::support::{root, runner};

/// y = x * weight + 1, without expected outputs.
const SOURCE: &str = "# a fixture
methods:
  forward:
    values:
      weight: {tensor: float32, data: [0.5, 2, -1]}  # by hand
      one: {tensor: float32, data: [1, 1, 1]}
      x: {tensor: float32, sizes: [3]}
    inputs: [x]
    outputs: [y]
    instructions:
      - {kernel: aten::mul.out, args: [x, weight], out: product}
      - {kernel: aten::add.out, args: [product, one, 1], out: y}
    tests:
      - inputs: [[1, 2, 3]]   # small
      - {inputs: [[-4, 0.25, 1e3]]}
";

/// Runs a flow of a user with a runner: no outputs, bless, change a weight, see the element that differs.
fn bless_and_change(runner: &str) {
    let folder = Folder::new(&[("model.yaml", SOURCE)]);
    let run = |more: &[&str]| folder.run(&[&["test", "model.yaml", "--runner", runner], more].concat());
    run(&[]).exits(1);
    run(&["--bless"]).exits(0).stderr_contains("model.yaml: wrote the outputs of 2 tests");
    let blessed = String::from_utf8(folder.read("model.yaml")).unwrap();
    let expected = SOURCE.replace("# small\n", "# small\n        outputs: [[1.5, 5, -2]]\n");
    let expected = expected.replace("1e3]]}", "1e3]], outputs: [[-1, 1.5, -999]]}");
    assert_eq!(blessed, expected);
    run(&[]).exits(0);
    folder.write("model.yaml", blessed.replace("[0.5, 2, -1]", "[0.5, 2.25, -1]"));
    let done = run(&[]).exits(1);
    let text = String::from_utf8(done.stdout).unwrap();
    assert!(text.contains("output 0 at [1]: expected 5.0, found 5.5 (error 5.000e-1, tolerance "), "{text}");
    assert!(text.contains("; 1 of 3 elements differ\n"), "{text}");
    assert!(text.contains("output 0 at [1]: expected 1.5, found 1.5625 (error 6.250e-2, tolerance "), "{text}");
}

#[test]
#[ignore = "needs the ExecuTorch runtime"]
fn a_blessed_fixture_shows_a_changed_weight() {
    bless_and_change(runner::locate().to_str().unwrap());
}

/// The runner for people with a runtime of their own: what docs/runners.md says of it.
#[test]
#[ignore = "needs the ExecuTorch runtime, and g++"]
fn the_example_of_a_runner_runs_the_examples() {
    let libraries = runner::locate().with_file_name("executorch-1.5.1");
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("runner");
    // Relative paths, from a folder in which the runner is not used.
    let mut build = Command::new(root().join("examples/runner/build.sh"));
    build.arg(libraries.file_name().unwrap()).arg(&program).current_dir(libraries.parent().unwrap());
    let built = build.output().unwrap();
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    assert_eq!(String::from_utf8_lossy(&built.stderr), "");
    let program = program.to_str().unwrap();
    bless_and_change(program);
    let examples =
        ["channels_last", "dynamic_batch", "kv_cache", "linear_external", "methods", "scalars", "xnnpack_linear"];
    let examples: Vec<String> = examples.iter().map(|name| format!("examples/{name}.yaml")).collect();
    let names: Vec<&str> = examples.iter().map(String::as_str).collect();
    let output = Command::new(crate::support::command())
        .args([&["test"], &names[..], &["--runner", program]].concat())
        .current_dir(root())
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
}

/// Tests of several documents with variables, as a user has them.
#[test]
#[ignore = "needs the ExecuTorch runtime"]
fn documents_and_variables_are_run() {
    let test = |expected: &str| {
        format!(
            "methods:
  forward:
    values: {{x: {{tensor: float32, sizes: [\"${{N:2}}\"]}}}}
    inputs: [x]
    outputs: [y]
    instructions: [{{kernel: aten::relu.out, args: [x], out: y}}]
    tests: [{{inputs: [[-1, 2]], outputs: [{expected}]}}]
"
        )
    };
    let folder = Folder::new(&[("good.yaml", &format!("{}---\n{}", test("[0, 2]"), test("[0, 2]")))]);
    folder.write("bad.yaml", test("[0, 3]"));
    let runner = runner::locate();
    let run = |names: &[&str]| folder.run(&[&["test"], names, &["--runner", runner.to_str().unwrap()]].concat());
    let done = run(&["good.yaml"]).exits(0);
    let text = String::from_utf8(done.stdout).unwrap();
    assert!(text.contains("good.yaml: document 2\n") && text.ends_with("2 tests: 2 passed\n"), "{text}");
    let text = String::from_utf8(run(&["good.yaml", "bad.yaml"]).exits(1).stdout).unwrap();
    assert!(text.contains("output 0 at [1]: expected 3.0, found 2.0"), "{text}");
    let document = serde_json::from_slice(&run(&["good.yaml", "bad.yaml", "--json"]).exits(1).stdout).unwrap();
    assert_valid(&schema("test"), &document, "test");
}
