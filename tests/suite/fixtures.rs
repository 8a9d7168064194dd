//! `pte-emit test` with runners that are shell scripts: well-behaved ones, and those that crash, hang, print too much
//! or answer otherwise.
#![cfg(unix)]

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::support::folder::{Done, Folder, RELU};
use serde_json::Value;

/// A runner that answers `outputs` with its arguments, one line each, and counts its starts.
const RUNNER: &str = r#"echo start >> starts
n=0; for last; do case $last in model.pte|*.pte|--data|*.ptd) ;; *) n=$((n + 1));; esac; done
echo program ok
while read command rest; do
  case $command in
    outputs) echo outputs $n; i=0; for value; do case $value in *.pte|--data|*.ptd) ;; *) echo "output $i $value"; i=$((i + 1));; esac; done;;
    *) echo "$command $rest" >> commands; echo $command ok;;
  esac
done
"#;

fn folder(source: &str) -> Folder {
    Folder::new(&[("model.yaml", source), ("runner.sh", RUNNER)])
}

/// The program of [`RELU`] with these lines after it.
fn relu(tests: &str) -> String {
    format!("{RELU}    tests:\n{tests}")
}

fn text(done: &Done) -> String {
    String::from_utf8(done.stdout.clone()).unwrap()
}

fn run(folder: &Folder, runner: &str, more: &[&str]) -> Done {
    folder.run(&[&["test", "model.yaml", "--runner", runner], more].concat())
}

/// A runner whose output is the tensor [[1, 2], [3, 4]].
const ONE_TO_FOUR: &str = "sh runner.sh 'tensor 6 2,2 0,1 0000803f000000400000404000008040'";

#[test]
fn a_table_shows_the_first_element_that_differs() {
    let tests = "      - {inputs: [[[1, 2], [3, 4]]], outputs: [[[1, 2], [3, 4]]]}
      - {inputs: [[[1, 2], [3, 4]]], outputs: [[[1, 2], [3.5, 5]]], rtol: 0.1}
      - {inputs: [[[1, 2], [3, 4]]], outputs: [[[1, .nan], [3, 4]]]}
      - {inputs: [[[1, 2], [3, 4]]]}
";
    let folder = folder(&relu(tests));
    let done = run(&folder, ONE_TO_FOUR, &[]).exits(1);
    assert_eq!(
        text(&done),
        "model.yaml
  method   test  result      largest error
  forward  0     passed      0
  forward  1     failed      1.000e0
    output 0 at [1, 0]: expected 3.5, found 3.0 (error 5.000e-1, tolerance 3.500e-1); 2 of 4 elements differ
  forward  2     failed      0
    output 0 at [0, 1]: expected NaN, found 2.0; 1 of 4 elements differ
  forward  3     no_outputs  -
    there are no expected outputs; `--bless` writes those that were found
4 tests: 1 passed, 2 failed, 1 without expected outputs
"
    );
    // One process for all tests.
    assert_eq!(folder.read("starts").iter().filter(|byte| **byte == b'\n').count(), 1);
    run(&folder, ONE_TO_FOUR, &["--select", "forward/0"]).exits(0);
    run(&folder, ONE_TO_FOUR, &["--select", "f*/4"]).exits(1).stderr_contains("no test or method matches `f*/4`");
    let json: Value = serde_json::from_slice(&run(&folder, ONE_TO_FOUR, &["--json"]).exits(1).stdout).unwrap();
    let difference = &json["files"][0]["tests"][1]["comparison"]["difference"];
    assert_eq!((&difference["element"], &difference["differing"]), (&serde_json::json!([1, 0]), &Value::from(2)));
    assert_eq!(json["total"], serde_json::json!({"passed": 1, "failed": 2, "no_outputs": 1, "error": 0}));
}

#[test]
fn nan_equals_nan_and_tolerances_are_those_of_the_test() {
    let folder = folder("methods: {f: {outputs: [1.0], tests: [{outputs: [.nan]}, {outputs: [1]}]}}");
    let done = run(&folder, "sh runner.sh 'double 7ff8000000000000'", &[]).exits(1);
    let lines = text(&done);
    assert!(lines.contains("f       0     passed      0\n"), "{lines}");
    assert!(lines.contains("output 0: expected 1.0, found NaN (tolerance 1.100e-5)\n"), "{lines}");
}

#[test]
fn outputs_of_another_shape_type_or_number_are_reported() {
    let folder = folder(&relu("      - {inputs: [[[1, 2], [3, 4]]], outputs: [[[1, 2], [3, 4]]]}\n"));
    for (value, expected) in [
        ("'tensor 6 4 0 0000803f000000400000404000008040'", "output 0, sizes: expected [2, 2], found [4]"),
        ("'tensor 4 1 0 0000803f00000040'", "output 0, element type: expected float32, found int64"),
        (
            "'tensor 6 2,2 1,0 0000803f000000400000404000008040'",
            "output 0, order of dimensions: expected [0, 1], found [1, 0]",
        ),
        ("'tensor 6 2,2 0,1 null'", "output 0: expected a tensor with memory, found one without"),
        ("'int 1'", "output 0: expected a tensor float32 [2, 2], found 1"),
        ("'other ListInt'", "found a value of the kind ListInt"),
        ("none none", "number of outputs: expected 1, found 2"),
        ("", "number of outputs: expected 1, found 0"),
        ("'tensor 6 2,2 0,1 00'", "malformed answer to `outputs`: expected `output 0 VALUE`"),
    ] {
        let lines = text(&run(&folder, &format!("sh runner.sh {value}"), &[]).exits(1));
        assert!(lines.contains(expected), "{value}: {lines}");
    }
}

/// What a runner does to one test does not concern the others: they run in another process.
#[test]
fn a_failing_runner_is_an_error_of_its_test() {
    let values = "tensor 6 2,2 0,1 0000803f000000400000404000008040";
    let script = r#"echo program ok
while read command rest; do
  case "$command $rest" in
    *0000c0400000*) CASE;;
    outputs*) echo outputs 1; echo "output 0 VALUES";;
    *) echo $command ok;;
  esac
done
test -z "$CRASHES" || kill -SEGV $$
"#
    .replace("VALUES", values);
    let test = |first: &str| format!("      - {{inputs: [[[{first}, 0], [3, 4]]], outputs: [[[1, 2], [3, 4]]]}}\n");
    let folder = folder(&relu(&(test("1") + &test("6") + &test("2"))));
    for (case, expected) in [
        ("echo broken >&2; kill -ABRT $$", "signal 6 (SIGABRT) ended the runner during `input 0`\n    | broken\n"),
        ("echo input ok; CRASHES=1", "signal 11 (SIGSEGV) ended the runner during the end of its input\n"),
        ("exit 0", "the runner ended with status 0 during `input 0`; expected an answer"),
        ("exec sleep 60", "no answer to `input 0` within 1 seconds of the start; the runner was killed"),
        ("exec cat /dev/zero", "the runner wrote more than 67109088 bytes during `input 0`, and was killed"),
        ("echo hello", "malformed answer to `input 0`: expected `input ok` or `input error 0xNN NAME`, found `hello`"),
        ("echo input error 0x12 InvalidArgument", "`input 0` fails with 0x12 InvalidArgument"),
    ] {
        folder.write("bad.sh", script.replace("CASE", case));
        let done = run(&folder, "sh bad.sh", &["--timeout", "1"]).exits(1);
        let lines = text(&done);
        assert!(lines.contains(expected), "{case}: {lines}");
        assert!(lines.ends_with("3 tests: 2 passed, 1 not run\n"), "{case}: {lines}");
    }
    let lines = text(&run(&folder, "./no-such-runner", &[]).exits(1));
    assert!(lines.contains("the runner cannot be started: ./no-such-runner: "), "{lines}");
    run(&folder, "'sh", &[]).exits(2).stderr_contains("--runner: unterminated quote `'`");
}

#[test]
fn a_test_that_does_not_suit_its_method_leaves_the_others() {
    let tests = "      - {outputs: [[[1, 2], [3, 4]]]}
      - {inputs: [[[1, 2], [3, 4]]], outputs: [[[1, 2], [3, 4]]]}
      - {inputs: [[[1, 2, 3]]], outputs: [[[1, 2], [3, 4]]]}
";
    let folder = folder(&relu(tests));
    let lines = text(&run(&folder, ONE_TO_FOUR, &[]).exits(1));
    assert!(lines.contains("12:9: the test has 0 inputs, the method 1: expected 1\n"), "{lines}");
    assert!(lines.ends_with("3 tests: 1 passed, 2 not run\n"), "{lines}");
    // Assembled, they are errors of the source.
    folder.run(&["assemble", "model.yaml", "-o", "model.bpte"]).exits(1).stderr_contains("the test has 0 inputs");
    run(&folder, ONE_TO_FOUR, &["--bless"]).exits(1).stderr_contains("2 tests without outputs: nothing is written");
}

/// Tests of a method with state run after those before them.
#[test]
fn state_is_that_of_the_tests_before() {
    let source = std::fs::read_to_string(crate::support::root().join("examples/mutable_buffer.yaml")).unwrap();
    let tests = source.matches("{inputs:").count();
    assert!(tests > 1, "{tests}");
    let folder = folder(&source);
    run(&folder, "sh runner.sh none", &[]).exits(1);
    let commands = String::from_utf8(folder.read("commands")).unwrap();
    let executions: Vec<usize> = commands.split("load ").skip(1).map(|run| run.matches("execute").count()).collect();
    assert_eq!(executions, [tests]);
}

#[test]
fn other_inputs_are_errors() {
    let folder = folder("methods: {f: {outputs: [1]}}");
    run(&folder, "sh runner.sh", &[]).exits(1).stderr_contains("there are no tests");
    folder.write("invalid.yaml", "methods: {f: {outputs: [x]}}");
    folder.write("model.yaml", "methods: {f: {outputs: [1], tests: [{outputs: [1]}]}}");
    let both = ["test", "invalid.yaml", "model.yaml", "no.yaml", "--runner", "sh runner.sh 'int 1'"];
    let done = folder.run(&both).exits(3).stderr_contains("invalid.yaml:1:").stderr_contains("no.yaml");
    assert!(text(&done).ends_with("1 test: 1 passed\n"));
    folder.write("relu.yaml", relu("      - {inputs: [[[1, 2], [3, 4]]], outputs: [[[1, 2], [3, 4]]]}\n"));
    folder.run(&["assemble", "relu.yaml", "-o", "model.pte"]).exits(0);
    folder.run(&["assemble", "relu.yaml", "-o", "model.bpte"]).exits(0);
    let runner = ["--runner", ONE_TO_FOUR];
    folder.run(&[&["test", "model.pte"][..], &runner].concat()).exits(1).stderr_contains("found a file without tests");
    folder.run(&[&["test", "model.bpte"][..], &runner].concat()).exits(0);
    let done = folder.run(&[&["test", "model.bpte", "--bless"][..], &["--runner", "sh runner.sh 'int 2'"]].concat());
    done.exits(1).stderr_contains("`pte-emit dump` prints this file as YAML");
    let mut command = folder.command(&["test", "model.yaml"]);
    command.env_remove("PTE_EMIT_RUNNER").env("PTE_EMIT_PYTHON", "./no-python");
    let done = Done::of(&["test"], command.output().unwrap()).exits(2);
    done.stderr_contains("`pte-emit runner install` builds one");
    let done = Done::of(&["test"], command.env("PTE_EMIT_RUNNER", "sh runner.sh 'int 1'").output().unwrap());
    done.exits(0);
}

/// The error of a program whose weights are elsewhere says which are missing.
#[test]
fn missing_weights_are_named() {
    let yaml = "methods:\n  f:\n    values: {w: {tensor: float32, external: true, data: [1]}}\n    inputs: []\n    outputs: [w]\n    tests: [{outputs: [[1]]}]\n";
    let folder = folder(yaml);
    folder.run(&["model.yaml", "-q", "-o", "w.bpte", "--external-data", "w.ptd"]).exits(0);
    folder.write("loads.sh", "echo program ok; read command; echo load error 0x01 NotFound");
    let test = |more: &[&str]| {
        let done = folder.run(&[&["test", "w.bpte", "--runner", "sh loads.sh"], more].concat()).exits(1);
        text(&done)
    };
    let expected = "fails with 0x01 NotFound; the program needs data of .ptd files, which `--with` names: `w`\n";
    let without = test(&[]);
    assert!(without.contains(expected), "{without}");
    assert!(!test(&["--with", "w.ptd"]).contains("--with"));
}

/// Blesses a source with a runner of these outputs; returns the new text.
fn blessed(source: &str, values: &str) -> String {
    let folder = folder(source);
    run(&folder, &format!("sh runner.sh {values}"), &["--bless"]).exits(0);
    let new = String::from_utf8(folder.read("model.yaml")).unwrap();
    // The outputs are those that were found.
    run(&folder, &format!("sh runner.sh {values}"), &[]).exits(0);
    new
}

#[test]
fn bless_keeps_all_other_text() {
    let one_to_four = "'tensor 6 2,2 0,1 0000803f000000400000404000008040'";
    let inputs = "inputs: [[[1, 2], [3, 4]]]";
    let outputs = "outputs: [[[1, 2], [3, 4]]]";
    for (before, after) in [
        (format!("{{{inputs}}}  # a"), format!("{{{inputs}, {outputs}}}  # a")),
        (
            format!("{{{inputs},  # b\n         atol: 0.1}}"),
            format!("{{{inputs}, {outputs},  # b\n         atol: 0.1}}"),
        ),
        (format!("{inputs}   # c\n        atol: 0.1"), format!("{inputs}   # c\n        {outputs}\n        atol: 0.1")),
        (
            format!("{{{inputs}, outputs: [ [[1, 2], [3, 9]] ]}}"),
            format!("{{{inputs}, outputs: [ [[1, 2], [3, 4]] ]}}"),
        ),
        // Within the tolerance, an output stays as it is written.
        (
            format!("{{{inputs}, outputs: [[[1.0, 2.00], [3, 4e0]]]}}"),
            format!("{{{inputs}, outputs: [[[1.0, 2.00], [3, 4e0]]]}}"),
        ),
        (
            format!(
                "{inputs}\n        outputs:\n          # one\n          - [[9, 2], [3, 4]]  # two\n        rtol: 0"
            ),
            format!(
                "{inputs}\n        outputs:\n          # one\n          - [[1, 2], [3, 4]]  # two\n        rtol: 0"
            ),
        ),
        (
            format!(
                "{inputs}\n        outputs:\n          -\n            - [9, 2]\n            - [3, 4]\n        rtol: 0"
            ),
            format!("{inputs}\n        {outputs}\n        rtol: 0"),
        ),
    ] {
        let source = |test: &str| format!("# head\n{}\n# tail\n", relu(&format!("      - {test}")));
        assert_eq!(blessed(&source(&before), one_to_four), source(&after));
    }
}

#[test]
fn bless_writes_all_kinds_of_values() {
    for (values, written) in [
        ("'int -7'", "-7"),
        ("'double 7ff0000000000000'", ".inf"),
        ("'double 3fb999999999999a'", "0.1"),
        ("'bool 1'", "true"),
        ("'string 61223a'", r#""a\":""#),
        ("'tensor 5 0 0 -'", "{sizes: [0], data: "),
    ] {
        let value = match values {
            "'int -7'" => "1",
            "'bool 1'" => "false",
            "'string 61223a'" => "{string: text}",
            "'tensor 5 0 0 -'" => "{tensor: float16, sizes: [0], data: []}",
            _ => "1.0",
        };
        let source = format!("methods:\n  f:\n    values: {{v: {value}}}\n    outputs: [v]\n    tests: [{{}}]\n");
        let new = blessed(&source, values);
        assert!(new.contains(&format!("tests: [{{outputs: [{written}")), "{values}: {new}");
    }
    // JSON stays JSON.
    let source = r#"{"methods": {"f": {"values": {"v": 1.0}, "outputs": ["v"], "tests": [{"inputs": []}]}}}"#;
    let new = blessed(source, "'double 7ff0000000000000'");
    assert_eq!(new, source.replace(r#""inputs": []"#, r#""inputs": [], "outputs": ["inf"]"#));
}

#[test]
fn large_outputs_are_files() {
    let source = "methods:\n  f:\n    values: {v: {tensor: uint8, sizes: [300], data: {fill: 0}}}\n    outputs: [v]\n    tests: [{}]\n";
    let bytes: String = (0..300).map(|n| format!("{:02x}", n % 256)).collect();
    let folder = folder(source);
    let runner = format!("sh runner.sh 'tensor 0 300 0 {bytes}'");
    run(&folder, &runner, &["--bless"]).exits(0);
    let new = String::from_utf8(folder.read("model.yaml")).unwrap();
    assert!(new.contains("data: {file: \"model.outputs/f.output0.0.bin\"}"), "{new}");
    assert_eq!(folder.read("model.outputs/f.output0.0.bin").len(), 300);
    run(&folder, &runner, &[]).exits(0);
}

#[test]
fn bless_writes_nothing_that_it_does_not_understand() {
    for (source, values, expected) in [
        ("methods: {f: {outputs: [1.0], tests: [{}]}}", "'double 7ff8000000000000'", "output 0 is NaN; "),
        (
            "methods: {f: {values: {v: {tensor: float32, data: [0, 0]}}, outputs: [v], tests: [{}]}}",
            "'tensor 6 2 0 000000000000c07f'",
            "output 0 is NaN at [1]; ",
        ),
        ("methods: {f: {outputs: [1], tests: [{}]}}", "'other ListInt'", "output 0 is a list"),
        ("methods: {f: {outputs: ['${N:1}'], tests: [{}]}}", "'string 31'", "the file has variables"),
        (
            "methods:\n  f:\n    values: {v: {tensor: float32, data: [[1, 2], [3, 4]]}}\n    outputs: [v]\n    tests:\n      - outputs:\n          -\n            # rows\n            - [9, 2]\n            - [3, 4]\n",
            "'tensor 6 2,2 0,1 0000803f000000400000404000008040'",
            "comments between the items",
        ),
        (
            "methods:\n  f: {outputs: [1], tests: &t [{}]}\n  g: {outputs: [1], tests: *t}\n",
            "'int 1'",
            "write them by hand",
        ),
    ] {
        let folder = folder(source);
        run(&folder, &format!("sh runner.sh {values}"), &["--bless"]).exits(1).stderr_contains(expected);
        assert_eq!(String::from_utf8(folder.read("model.yaml")).unwrap(), source);
        assert!(!folder.names().iter().any(|name| name.starts_with(".pte-emit")), "{:?}", folder.names());
    }
}

/// Outputs that are also weights, inputs, or the expected outputs of another test.
#[test]
fn bless_changes_nothing_else() {
    let method = "outputs: [v], tests: [{outputs: [&e [9, 9]]}";
    let values = "values: {v: {tensor: float32, data: [1, 2]}}";
    for (source, more) in [
        (
            format!(
                "methods:\n  f: {{{values}, {method}]}}\n  g: {{values: {{c: {{tensor: float32, data: *e}}}}, outputs: [c]}}\n"
            ),
            &[][..],
        ),
        (format!("methods:\n  f: {{{values}, {method}, {{outputs: [*e]}}]}}\n"), &["--select", "f/0"][..]),
    ] {
        let folder = folder(&source);
        let runner = "sh runner.sh 'tensor 6 2 0 0000803f00000040'";
        run(&folder, runner, &[&["--bless"], more].concat())
            .exits(1)
            .stderr_contains("the new outputs would change something else");
        assert_eq!(String::from_utf8(folder.read("model.yaml")).unwrap(), source);
    }
}

/// Files of other tests, of other YAML, and those that links lead to stay.
#[test]
fn bless_overwrites_only_the_files_of_the_outputs() {
    let tests = |first: &str| {
        format!(
            "methods:\n  f:\n    values: {{v: {{tensor: uint8, sizes: [300], data: {{fill: 0}}}}}}\n    outputs: [v]\n    tests:\n{first}      - {{}}\n"
        )
    };
    let runner = |byte: &str| format!("sh runner.sh 'tensor 0 300 0 {}'", byte.repeat(300));
    let folder = folder(&tests(""));
    run(&folder, &runner("01"), &["--bless"]).exits(0);
    let blessed = String::from_utf8(folder.read("model.yaml")).unwrap();
    // A test before it has the number of the one that the file was named after.
    folder.write("model.yaml", blessed.replace("    tests:\n", "    tests:\n      - {}\n"));
    run(&folder, &runner("02"), &["--select", "f/0", "--bless"]).exits(0);
    assert_eq!(folder.read("model.outputs/f.output0.0.bin"), [1; 300]);
    run(&folder, &runner("01"), &["--select", "f/1"]).exits(0);
    run(&folder, &runner("02"), &["--select", "f/0"]).exits(0);
    // Its own file is replaced.
    let files = folder.names().len();
    run(&folder, &runner("03"), &["--select", "f/0", "--bless"]).exits(0);
    assert_eq!(folder.names().len(), files);
    run(&folder, &runner("03"), &["--select", "f/0"]).exits(0);

    folder.write("other.yml", tests(""));
    folder.write("other.yaml", tests(""));
    folder.run(&["test", "other.yml", "other.yaml", "--bless", "--runner", &runner("04")]).exits(0);
    assert_eq!(folder.read("other.yml.outputs/f.output0.0.bin"), folder.read("other.outputs/f.output0.0.bin"));

    folder.write("linked.yaml", tests(""));
    std::os::unix::fs::symlink("/tmp", folder.path().join("linked.outputs")).unwrap();
    let done = folder.run(&["test", "linked.yaml", "--bless", "--runner", &runner("05")]).exits(1);
    done.stderr_contains("linked.outputs is a symbolic link: nothing is written");
}

#[test]
fn bless_writes_the_outputs_of_all_documents() {
    let document = "methods:\n  f:\n    outputs: [7]\n    tests:\n      - {}\n";
    let new = blessed(&format!("{document}--- # second\n{document}"), "'int 7'");
    let blessed = document.replace("{}", "{outputs: [7]}");
    assert_eq!(new, format!("{blessed}--- # second\n{blessed}"));
}

#[test]
fn an_interrupt_ends_the_runner() {
    let folder = folder(&relu("      - {inputs: [[[1, 2], [3, 4]]]}\n      - {inputs: [[[1, 2], [3, 4]]]}\n"));
    folder.write("slow.sh", "echo $$ > pid; echo program ok; (sleep 2; echo > left) & sleep 60");
    let mut command = folder.command(&["test", "model.yaml", "--runner", "sh slow.sh"]);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let started = Instant::now();
    while !folder.names().contains(&"pid".to_owned()) {
        assert!(started.elapsed() < Duration::from_secs(30), "the runner does not start");
        std::thread::sleep(Duration::from_millis(10));
    }
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
    let done = Done::of(&["test"], child.wait_with_output().unwrap()).exits(130);
    assert_eq!(text(&done), "");
    std::thread::sleep(Duration::from_millis(2500));
    assert!(!folder.names().contains(&"left".to_owned()), "a process of the runner is left");
}
