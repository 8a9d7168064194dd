//! `pte-emit diff --numeric` with runners that are scripts: they answer as for examples/linear.yaml, with what the real
//! runtime recorded (crates/pte-etdump/tests/recorded). lab/tests/runtime/numeric.rs has the real runtime.

#![cfg(unix)]

use serde_json::Value;

use crate::support::folder::Folder;
use crate::support::recordings::{compare, json};
use crate::support::root;

#[test]
fn equal_values_are_no_difference() {
    let done = compare("none", &["--json"]).exits(0).stderr_is_empty();
    let found = json(&done);
    assert_eq!(found["equal"], true);
    let method = &found["methods"][0];
    assert_eq!(
        (&method["compared"], &method["unrecorded"], &method["differences"]),
        (&3.into(), &0.into(), &Value::Array(vec![]))
    );
    assert_eq!(method["outputs"][0]["max_abs"], 0.0);
    let text = String::from_utf8(compare("none", &[]).exits(0).stdout).unwrap();
    assert!(text.starts_with("a.pte -> b.pte: equal values (atol 1e-6, rtol 1e-5)\n"), "{text}");
    assert!(text.contains("no instruction computes other values"), "{text}");
}

/// The second element of the result of addmm is NaN in B: relu and the output, which follow, are as recorded.
#[test]
fn the_first_instruction_with_other_values_is_found() {
    let found = json(&compare("value", &["--json"]).exits(1));
    let differences = found["methods"][0]["differences"].as_array().unwrap();
    assert_eq!(differences.len(), 1);
    let first = &differences[0];
    assert_eq!(first["left"], "methods.forward.instructions[1]");
    assert_eq!(first["labels"][1], "aten::addmm.out");
    let value = &first["values"][0];
    assert_eq!((&value["elements"], &value["differing"]), (&3.into(), &1.into()));
    assert_eq!((&value["first"]["index"], &value["first"]["right"]), (&serde_json::json!([0, 1]), &"NaN".into()));
    assert_eq!(value["nan"], serde_json::json!([0, 1]));
    let text = String::from_utf8(compare("value", &[]).exits(1).stdout).unwrap();
    assert!(
        text.contains("first instruction with other values:\n    methods.forward.instructions[1]: aten::addmm.out\n"),
        "{text}"
    );
    assert!(text.contains("1 of 3 elements differ") && text.contains("NaN 0 -> 1; first at [0, 1]:"), "{text}");
}

#[test]
fn outputs_that_differ_are_differences() {
    let found = json(&compare("output", &["--json"]).exits(1));
    let output = &found["methods"][0]["outputs"][0];
    assert_eq!((&output["differing"], &output["nan"]), (&2.into(), &serde_json::json!([0, 1])));
    assert!((output["max_abs"].as_f64().unwrap() - 2.0275).abs() < 1e-3, "{output}");
    // A NaN is never within a tolerance.
    let found = json(&compare("output", &["--json", "--atol", "10"]).exits(1));
    assert_eq!(found["methods"][0]["outputs"][0]["differing"], 1);
    let found = json(&compare("shape", &["--json"]).exits(1));
    assert_eq!(found["methods"][0]["outputs"][0]["mismatch"], "float32 [1, 3] -> float32 [1, 1]");
}

#[test]
fn failures_of_the_runner_are_errors_of_the_program() {
    let failure = |kind: &str, options: &[&str]| {
        let done = compare(kind, options).exits(2);
        assert!(done.stdout.is_empty());
        done.stderr_contains("b.pte: method `forward`: ").stderr
    };
    let is = |kind: &str, expected: &str| {
        let stderr = failure(kind, &[]);
        assert!(stderr.contains(expected), "{kind}: {stderr}");
    };
    is("crash", "signal 11 (SIGSEGV) ended the runner during `load forward`");
    is(
        "unrecorded",
        "the runner does not record values (`--etdump FILE --debug-buffer FILE`): it ignores these options; use one",
    );
    is("program", "the ETDump is of another program");
    is(
        "cut",
        "the recorded value of methods.forward.instructions[0]: a tensor of 48 bytes at byte 0x0 of a debug buffer of 20 bytes",
    );
    let stderr = failure("hang", &["--timeout", "0.5"]);
    assert!(stderr.contains("no answer to `execute` within 0.5 seconds"), "{stderr}");
    is("garbage", "the runner wrote no valid ETDump: expected the file identifier \"ED00\", found");
    is("empty", "the runner wrote no valid ETDump: the file is empty");
}

#[test]
fn a_runner_without_the_options_is_reported() {
    let folder = Folder::new(&[("old.sh", "echo 'usage: old MODEL.pte' >&2; exit 2")]);
    let linear = root().join("examples/linear.yaml");
    let linear = linear.to_str().unwrap();
    let done = folder.run(&["diff", "--numeric", linear, linear, "--runner", "sh old.sh"]).exits(2);
    done.stderr_contains("its log ends with `usage: old MODEL.pte`");
}

/// A runner of the protocol without recording takes the first option for the program; another one ignores options.
#[test]
fn a_runner_that_does_not_record_is_named() {
    let answers = "echo program ok; while read command rest; do case $command in
        outputs) echo outputs 1; echo output 0 tensor 6 1,3 0,1 60f1b63e00000000346c0a3e;; *) echo $command ok;; esac; done";
    let strict =
        format!("test -f $1 && test $1 != --etdump || {{ echo program error 0x22 AccessFailed; exit 1; }}; {answers}");
    let folder = Folder::new(&[("strict.sh", &*strict), ("lenient.sh", answers)]);
    let linear = root().join("examples/linear.yaml");
    let linear = linear.to_str().unwrap();
    for (runner, found) in [
        ("strict.sh", "without these options it loads the program, with them the start fails with 0x22 AccessFailed"),
        ("lenient.sh", "it ignores these options"),
    ] {
        let done = folder.run(&["diff", "--numeric", linear, linear, "--runner", &format!("sh {runner}")]).exits(2);
        let expected = format!("the runner does not record values (`--etdump FILE --debug-buffer FILE`): {found}");
        done.stderr_contains(&expected).stderr_contains("use one that records, such as `python3 -m pte_emit.runner`");
    }
}

#[test]
fn programs_that_cannot_be_compared_are_errors() {
    let input = |sizes: &str, kind: &str| {
        format!(
            "methods: {{forward: {{values: {{x: {{tensor: {kind}, sizes: {sizes}}}}}, inputs: [x], outputs: [y],
             instructions: [{{kernel: aten::relu.out, args: [x], out: y}}]}}}}"
        )
    };
    let folder = Folder::new(&[
        ("a.yaml", &input("[2, 3]", "float32")),
        ("sizes.yaml", &input("[2, 4]", "float32")),
        ("type.yaml", &input("[2, 3]", "int32")),
        (
            "two.yaml",
            "methods: {forward: {values: {x: {tensor: float32, sizes: [2, 3]}, z: {tensor: float32, sizes: [2, 3]}}, inputs: [x, z], outputs: [x]}}",
        ),
        ("other.yaml", &input("[2, 3]", "float32").replace("forward", "other")),
        ("weights.yaml", "named_data: {w: {tensor: float32, data: [1]}}"),
    ]);
    let compare = |other: &str, options: &[&str]| {
        folder.run(&[&["diff", "--numeric", "a.yaml", other, "--runner", "true"], options].concat()).exits(2)
    };
    compare("sizes.yaml", &[])
        .stderr_contains("input 0: both programs must take the same: float32 [2, 3] in A, float32 [2, 4] in B");
    compare("type.yaml", &[]).stderr_contains("float32 [2, 3] in A, int32 [2, 3] in B");
    compare("two.yaml", &[]).stderr_contains("2 inputs, but 1 input in a.yaml");
    compare("weights.yaml", &[]).stderr_contains("expected a program");
    compare("a.yaml", &["--method", "nope"]).stderr_contains("expected a method with the selected name");
    compare("a.yaml", &["--format", "markdown"]).stderr_contains("`--numeric` prints text or JSON");
    compare("a.yaml", &["--atol=-1"]).stderr_contains("expected a number that is not negative");
    folder.run(&["diff", "a.yaml", "a.yaml", "--atol", "1"]).exits(2).stderr_contains("--numeric");
    // Methods that one side lacks are a difference, and nothing is executed.
    let done = folder.run(&["diff", "--numeric", "a.yaml", "other.yaml", "--runner", "false"]).exits(1);
    let text = String::from_utf8(done.stdout).unwrap();
    assert!(text.ends_with("- method forward\n+ method other\n"), "{text}");
}
