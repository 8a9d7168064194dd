//! `run` and `runner`: inputs as text, outputs, comparison, and what an installation misses. The runtime is a script
//! that returns its last input; lab/ has the real one.
#![cfg(unix)]

use crate::support::folder::{Done, Folder, RELU};
use serde_json::{Value, json};

/// A runner whose output is the last input.
const ECHO: &str = r#"echo program ok
while read command rest; do
  case $command in
    input) value=${rest#* }; echo input ok;;
    execute) echo run >> executions; echo execute ok;;
    outputs) echo outputs 1; echo "output 0 $value";;
    *) echo $command ok;;
  esac
done
"#;

/// A program with a dynamic input and three numbers.
const INPUTS: &str = "methods:
  encode:
    values:
      x: {tensor: int32, sizes: [4, 2], dynamism: dynamic_bound}
      n: 3
      text: {string: a}
      y: {tensor: int32, sizes: [4, 2], dynamism: dynamic_bound}
    inputs: [n, text, x]
    outputs: [y]
    instructions:
      - {kernel: aten::relu.out, args: [x], out: y}
  get_n:
    outputs: [1]
";

fn folder() -> Folder {
    Folder::new(&[("relu.yaml", RELU), ("inputs.yaml", INPUTS), ("runner.sh", ECHO)])
}

fn run(folder: &Folder, arguments: &[&str]) -> Done {
    folder.run(&[&["run"], arguments, &["--runner", "sh runner.sh"]].concat())
}

/// Returns the sizes and elements of the output.
fn output(folder: &Folder, arguments: &[&str]) -> (Value, Value) {
    let done = run(folder, &[arguments, &["--json"]].concat()).exits(0).stderr_is_empty();
    let mut document: Value = serde_json::from_slice(&done.stdout).unwrap();
    (document["outputs"][0]["sizes"].take(), document["outputs"][0]["data"].take())
}

#[test]
fn inputs_are_text_files_random_numbers_or_ones() {
    let folder = folder();
    let ones = (json!([2, 2]), json!([1, 1, 1, 1]));
    assert_eq!(output(&folder, &["relu.yaml"]), ones);
    for text in
        ["1,-2,3.5,.nan", "[1, -2, 3.5, .nan]", "[[1, -2], [3.5, .nan]]", "{hex: 0000803f000000c0000060400000c07f}"]
    {
        let expected = (json!([2, 2]), json!([1, -2, 3.5, ".nan"]));
        assert_eq!(output(&folder, &["relu.yaml", "--input", &format!("x={text}")]), expected, "{text}");
    }
    assert_eq!(output(&folder, &["relu.yaml", "-i", "0=-7"]).1, json!([-7, -7, -7, -7]));
    let random = |arguments: &[&str]| output(&folder, &[&["relu.yaml"], arguments].concat()).1;
    assert_eq!(random(&["--random"]), random(&["-i", "x=random"]));
    assert_eq!(random(&["--random", "5"]), random(&["-i", "x=random:5"]));
    assert_ne!(random(&["--random", "5"]), random(&["--random"]));
    assert_eq!(output(&folder, &["inputs.yaml", "-i", "x=[[1, 2], [3, 4]]"]), (json!([2, 2]), json!([1, 2, 3, 4])));
    assert_eq!(output(&folder, &["inputs.yaml"]).0, json!([4, 2]));

    // An output is a file that an input, or an expectation, reads.
    run(&folder, &["relu.yaml", "-i", "x=1,2,3,4", "--save-outputs", "out.safetensors"]).exits(0);
    assert_eq!(output(&folder, &["relu.yaml", "-i", "x=@out.safetensors:y"]).1, json!([1, 2, 3, 4]));
    run(&folder, &["relu.yaml", "-i", "x=1,2,3,4.000001", "--expected", "out.safetensors"]).exits(0);
    folder.run(&["relu.yaml", "-q", "-o", "relu.pte"]).exits(0);
    run(&folder, &["relu.pte", "-i", "x=1,2,3,4", "--expected", "out.safetensors"]).exits(0);
    let done = run(&folder, &["relu.yaml", "-i", "x=1,2,3,5", "--expected", "out.safetensors"]).exits(1);
    done.stderr_contains("`y`: output 0 at [1, 1]: expected 4.0, found 5.0");
}

/// One process runs the tests of a file, until one of them ends it.
#[test]
fn tests_of_a_file_share_a_process() {
    let tests = |name: &str, count: usize| {
        format!(
            "  {name}: {{values: {{x: {{tensor: float32, sizes: [2]}}}}, inputs: [x], outputs: [y], instructions:
              [{{kernel: aten::relu.out, args: [x], out: y}}], tests: [{}]}}\n",
            "{inputs: [[1, 2]], outputs: [[1, 2]]}, ".repeat(count)
        )
    };
    let yaml = format!("methods:\n{}{}", tests("a", 3), tests("b", 2));
    let folder = Folder::new(&[("tests.yaml", &yaml), ("runner.sh", &format!("echo start >> starts\n{ECHO}"))]);
    let starts = || String::from_utf8(folder.read("starts")).unwrap().lines().count();
    folder.run(&["test", "tests.yaml", "--runner", "sh runner.sh"]).exits(0);
    assert_eq!(starts(), 1);
    // The third execution of a process crashes: each process runs two tests, the last one of each again.
    let crashing = ECHO.replace("execute) ", "execute) n=$((n + 1)); test $n -lt 3 || kill -ABRT $$; ");
    folder.write("runner.sh", format!("echo start >> starts\n{crashing}"));
    folder.run(&["test", "tests.yaml", "--runner", "sh runner.sh"]).exits(0);
    assert_eq!(starts(), 1 + 3);
    let crashing = ECHO.replace("execute) ", "execute) kill -ABRT $$; ");
    folder.write("runner.sh", format!("echo start >> starts\n{crashing}"));
    folder.run(&["test", "tests.yaml", "--runner", "sh runner.sh"]).exits(1);
    assert_eq!(starts(), 1 + 3 + 5);
}

/// A test is executed after those before it, and so is the one that is added.
#[test]
fn a_test_is_added_after_the_others() {
    let folder = folder();
    let add = |from: &str, to: &str| {
        let arguments = ["tests", "add", from, "-i", "x=1,2,3,4", "--bless", "-o", to, "--runner", "sh runner.sh"];
        folder.run(&arguments).exits(0);
    };
    add("relu.yaml", "one.bpte");
    add("one.bpte", "two.bpte");
    assert_eq!(folder.read("executions"), b"run\nrun\nrun\n");
    folder.run(&["test", "two.bpte", "--runner", "sh runner.sh"]).exits(0);
    folder.run(&["tests", "add", "relu.yaml", "-o", "one.pte"]).exits(2).stderr_contains("tests are in a .bpte");
}

/// An interrupt ends the runner and the command, which leave nothing.
#[test]
fn an_interrupted_run_ends() {
    let folder = folder();
    folder.write("slow.sh", "echo program ok; echo > started; sleep 60");
    let slow = ["relu.yaml", "--runner", "sh slow.sh"];
    for arguments in [&["run"][..], &["profile", "--run"], &["tests", "add", "--bless", "-o", "out.bpte"]] {
        let mut child = folder.command(&[arguments, &slow].concat()).spawn().unwrap();
        while !folder.path().join("started").exists() {
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        let interrupt = std::process::Command::new("kill").args(["-INT", &child.id().to_string()]).status();
        assert!(interrupt.unwrap().success());
        assert_eq!(child.wait().unwrap().code(), Some(130), "{arguments:?}");
        std::fs::remove_file(folder.path().join("started")).unwrap();
        assert!(!folder.path().join("out.bpte").exists());
    }
}

/// What a run reads is not overwritten, nor text.
#[test]
fn files_that_are_read_are_kept() {
    let folder = folder();
    folder.write("notes.safetensors", "some text\n");
    run(&folder, &["relu.yaml", "--save-outputs", "x.npy"]).exits(0);
    let weight = RELU.replace(
        "x: {tensor: float32, sizes: [2, 2]}",
        "x: {tensor: float32, sizes: [2, 2]}
      w: {tensor: float32, sizes: [2, 2], data: {npy: x.npy}}",
    );
    folder.write("weight.yaml", weight.replace("args: [x", "args: [w"));
    run(&folder, &["relu.yaml", "--save-outputs", "many.npz"]).exits(0);
    folder.run(&["relu.yaml", "-q", "-o", "relu.pte"]).exits(0);
    run(&folder, &["relu.yaml", "-i", "x=1,2,3,4", "--save-outputs", "out.safetensors"]).exits(0);
    for arguments in [
        &["relu.pte", "--save-etdump", "relu.pte"][..],
        &["relu.yaml", "-i", "x=@out.safetensors:y", "--save-outputs", "out.safetensors"],
        &["relu.yaml", "--expected", "out.safetensors", "--save-outputs", "out.safetensors"],
        &["relu.yaml", "--save-outputs", "notes.safetensors"],
        &["relu.yaml", "-i", "x=@many.npz:y", "--save-outputs", "many.npz"],
        &["relu.yaml", "-i", "x={npy: x.npy}", "--save-outputs", "x.npy"],
        &["weight.yaml", "--save-outputs", "x.npy"],
    ] {
        run(&folder, arguments).exits(2);
    }
    // A file of another run is replaced.
    run(&folder, &["relu.yaml", "--save-outputs", "out.safetensors"]).exits(0);
    assert_eq!(folder.read("notes.safetensors"), b"some text\n");
}

#[test]
fn outputs_are_printed_with_statistics_and_times() {
    let folder = folder();
    let done = run(&folder, &["relu.yaml", "-i", "x=1,2,3,4", "--repeat", "3"]).exits(0);
    let text = String::from_utf8(done.stdout).unwrap();
    assert!(text.starts_with("method forward\n  3 executions: first "), "{text}");
    assert!(text.ends_with("  y: float32 [2, 2], 1 to 4, mean 2.5\n    [1, 2, 3, 4]\n"), "{text}");
    assert_eq!(folder.read("executions"), b"run\nrun\nrun\n");
}

/// `NAME#2` is an input of a second execution; the others stay as they are.
#[test]
fn executions_have_inputs_of_their_own() {
    let folder = folder();
    let inputs = ["-i", "x=1", "-i", "x#2=2", "-i", "0#3=[[3, 4], [5, 6]]"];
    let done = run(&folder, &[&["relu.yaml"], &inputs[..], &["--repeat", "2", "--json"]].concat()).exits(0);
    let document: Value = serde_json::from_slice(&done.stdout).unwrap();
    assert_eq!(document["outputs"][0]["data"], json!([3, 4, 5, 6]));
    let earlier: Vec<&Value> =
        document["earlier"].as_array().unwrap().iter().map(|outputs| &outputs[0]["data"]).collect();
    assert_eq!(earlier, [&json!([1, 1, 1, 1]), &json!([2, 2, 2, 2])]);
    assert_eq!(folder.read("executions"), b"run\n".repeat(6));
    let text = String::from_utf8(run(&folder, &[&["relu.yaml"], &inputs[..4]].concat()).exits(0).stdout).unwrap();
    assert!(text.starts_with("method forward\n  execution 1\n  y: float32 [2, 2], 1 to 1"), "{text}");
    let (_, data) = output(&folder, &["inputs.yaml", "-i", "x=[[1, 2]]", "-i", "x#2=[[3, 4]]"]);
    assert_eq!(data, json!([3, 4]));

    // What is not given again is not read again.
    folder
        .run(&["run", "relu.yaml", "-i", "x=1,2,3,4", "--save-outputs", "x.npy", "--runner", "sh runner.sh"])
        .exits(0);
    let two = INPUTS.replace("      n: 3\n", "      n: {tensor: float32, sizes: [1]}\n");
    folder.write("two.yaml", two.replace("int32", "float32").replace("[4, 2]", "[2, 2]"));
    let arguments = ["run", "two.yaml", "-i", "x=@-", "-i", "n#2=2", "--json", "--runner", "sh runner.sh"];
    let done = folder.run_with_stdin(&arguments, folder.read("x.npy")).exits(0);
    let document: Value = serde_json::from_slice(&done.stdout).unwrap();
    assert_eq!(document["outputs"][0]["data"], json!([1, 2, 3, 4]));
    assert_eq!(document["outputs"], document["earlier"][0]);

    for (arguments, message) in [
        (&["-i", "x#3=1"][..], "no input of execution 2, as `x#2=...`"),
        (&["-i", "x=1", "-i", "0=2"], "input `x` of execution 1 is given twice; that of another execution is `x#2`"),
        (&["-i", "x#0=1"], "no input `x#0`"),
        (&["-i", "x#2=1,2"], "input `x`: found 2 numbers"),
    ] {
        run(&folder, &[&["relu.yaml"], arguments].concat()).exits(1).stderr_contains(message);
    }
    // All outputs are files, and the file is compared with all of them.
    let saved = |inputs: &[&str], option: &str| run(&folder, &[&["relu.yaml"], inputs, &[option, "both.npz"]].concat());
    saved(&["-i", "x=1", "-i", "x#2=2"], "--save-outputs").exits(0);
    saved(&["-i", "x=1", "-i", "x#2=2"], "--expected").exits(0).stderr_contains("2 outputs as expected within 1e-6");
    saved(&["-i", "x=3", "-i", "x#2=2"], "--expected")
        .exits(1)
        .stderr_contains("`y#1`: output 1 at [0, 0]: expected 1.0");
    let failing = ECHO.replace(
        "echo execute ok",
        "n=$((n + 1)); test $n = 2 && echo execute error 0x12 InvalidArgument || echo execute ok",
    );
    folder.write("failing.sh", failing);
    let done = folder.run(&["run", "relu.yaml", "-i", "x=1", "-i", "x#2=2", "--runner", "sh failing.sh"]).exits(1);
    done.stderr_contains("`execute` 2 fails with 0x12 InvalidArgument");

    let add = ["tests", "add", "relu.yaml", "-i", "x=1", "-i", "x#2=2", "-o", "two.bpte"];
    folder.run(&add).exits(1).stderr_contains("a test has the inputs of one execution");
}

/// Bytes are in the order of memory, from a file and from standard input.
#[test]
fn bytes_of_elements_are_in_the_order_of_memory() {
    let folder = folder();
    let tensor = "{tensor: uint8, sizes: [1, 3, 1, 2], dim_order: [0, 2, 3, 1]}";
    let yaml = format!(
        "methods: {{forward: {{values: {{x: {tensor}, y: {tensor}}}, inputs: [x], outputs: [y],
          instructions: [{{kernel: aten::relu.out, args: [x], out: y}}]}}}}"
    );
    folder.write("last.yaml", yaml);
    folder.write("x.bin", [1, 2, 3, 4, 5, 6]);
    let expected = json!([1, 2, 3, 4, 5, 6]);
    assert_eq!(output(&folder, &["last.yaml", "-i", "x=@x.bin"]).1, expected);
    let arguments = ["run", "last.yaml", "-i", "x=@-", "--json", "--runner", "sh runner.sh"];
    let done = folder.run_with_stdin(&arguments, folder.read("x.bin")).exits(0);
    let document: Value = serde_json::from_slice(&done.stdout).unwrap();
    assert_eq!(document["outputs"][0]["data"], expected);
    run(&folder, &["last.yaml", "--times", "--json"]).exits(2).stderr_contains("profile --run --json");
}

/// Numbers are tensors without dimensions in a file.
#[test]
fn outputs_that_are_numbers_are_written_and_compared() {
    let folder = folder();
    for (words, other) in [("int -7", "int 7"), ("double 3ff0000000000000", "double 0"), ("bool 1", "bool 0")] {
        for (name, words) in [("number.sh", words), ("other.sh", other)] {
            folder.write(name, ECHO.replace("$value", words));
        }
        for file in ["out.safetensors", "out.npz", "out.npy"] {
            let run = |runner: &str, option: &str| {
                folder.run(&["run", "relu.yaml", option, file, "--runner", &format!("sh {runner}")])
            };
            run("number.sh", "--save-outputs").exits(0);
            run("number.sh", "--expected").exits(0);
            run("other.sh", "--expected").exits(1);
        }
    }
    run(&folder, &["relu.yaml", "--save-outputs", "out.txt"]).exits(2).stderr_contains(".safetensors, .npz or .npy");
}

/// Malformed archives, pictures and streams are errors about the input.
#[test]
fn malformed_files_of_inputs_are_errors() {
    let folder = folder();
    run(&folder, &["relu.yaml", "--save-outputs", "good.npz"]).exits(0);
    let good = folder.read("good.npz");
    for (length, message) in [(0, "it is not a .npz"), (good.len() / 2, "it is not a .npz")] {
        folder.write("cut.npz", &good[..length]);
        run(&folder, &["relu.yaml", "-i", "x=@cut.npz:y"]).exits(1).stderr_contains(message);
        run(&folder, &["relu.yaml", "--expected", "cut.npz"]).exits(1).stderr_contains(message);
    }
    for at in (0..good.len()).step_by(3) {
        let mut changed = good.clone();
        changed[at] ^= 0xff;
        folder.write("changed.npz", changed);
        let found = run(&folder, &["relu.yaml", "-i", "x=@changed.npz"]).code;
        assert!(matches!(found, Some(0 | 1)), "byte {at}: {found:?}");
    }
    for (name, content) in [("p.png", &b"\x89PNG\r\n\x1a\n"[..]), ("p.jpg", b"\xff\xd8\xff"), ("q.png", b"text")] {
        folder.write(name, content);
        let input = format!("x=@{name}");
        run(&folder, &["relu.yaml", "-i", &input]).exits(1).stderr_contains(&format!("input `x`: {name}: "));
    }
    for (name, message) in [
        ("p.webp:resize", "a picture is a .png or .jpg"),
        ("x.csv", "a file has elements as bytes, or is a .npy"),
        ("p.png:Resize", "expected `:resize` or nothing after the picture, found `:Resize`"),
    ] {
        run(&folder, &["relu.yaml", "-i", &format!("x=@{name}")]).exits(1).stderr_contains(message);
    }
    let done = run(&folder, &["relu.yaml", "-i", "x=@-"]).exits(1);
    done.stderr_contains("standard input is no .npy, and has 0 bytes; expected 16");
    run(&folder, &["-", "-i", "x=@-"]).exits(2).stderr_contains("standard input can be read only once");
}

/// A string in JSON is the string, whatever its characters.
#[test]
fn strings_are_strings_in_json() {
    let folder = folder();
    // `a"\` and a line break.
    let runner = ECHO.replace("\"output 0 $value\"", "output 0 string 61225c0a");
    folder.write("string.sh", runner);
    let done = folder.run(&["run", "relu.yaml", "--json", "--runner", "sh string.sh"]).exits(0);
    let document: Value = serde_json::from_slice(&done.stdout).unwrap();
    assert_eq!(document["outputs"][0]["data"], json!(["a\"\\\n"]));
}

#[test]
fn inputs_that_do_not_suit_the_method_are_errors() {
    let folder = folder();
    // The runner gets inputs as text: a file of a few bytes must not take as much memory as it says.
    folder.write("large.yaml", RELU.replace("[2, 2]", "[2, 2147483647]"));
    for (arguments, message) in [
        (&["relu.yaml", "-i", "z=1"][..], "no input `z`; the method has `x`"),
        (&["relu.yaml", "-i", "1=1"], "no input `1`"),
        (&["relu.yaml", "-i", "x=1,2,3"], "input `x`: found 3 numbers, but sizes [2, 2] have 4"),
        (&["relu.yaml", "-i", "x=@none.npy"], "cannot read"),
        (&["relu.yaml", "-i", "x=x.npy"], "input `x`: a file is written after `@`, as in `@x.npy`"),
        (&["relu.yaml", "-i", "x=one"], "expected a number, found the string `one`"),
        (&["large.yaml"], "inputs of 17179869176 bytes, expected at most 268435456"),
        (
            &["relu.yaml", "--tap", "z"],
            "no value `z` to record, and no instruction of this number; the method has `x`, `y`",
        ),
        (&["relu.yaml", "--method", "encode"], "unknown method `encode`; the program has `forward`"),
        (&["relu.yaml", "--expected", "runner.sh"], "expected a .safetensors, .ptd or .npy file"),
        (&["inputs.yaml", "-i", "x=[[1.5, 2]]"], "1.5 is not an integer"),
        (&["inputs.yaml", "-i", "x=[[1, 2, 3], [1, 2, 3], [1, 2, 3]]"], "input `x`: "),
        (&["inputs.yaml", "-i", "text=3"], "is a String, the test gives the number 3"),
    ] {
        let code = if message == "cannot read" { 3 } else { 1 };
        run(&folder, arguments).exits(code).stderr_contains(message);
    }
    run(&folder, &["relu.yaml", "-i", "x"]).exits(2).stderr_contains("expected NAME=VALUE");
    let done = folder.run(&["run", "relu.yaml", "--runner", "sh -c 'echo program ok; echo broken >&2; kill -SEGV $$'"]);
    done.exits(1).stderr_contains("signal 11 (SIGSEGV)");
}

#[test]
fn runners_are_found_listed_and_removed() {
    let folder = folder();
    folder.run(&["run", "relu.yaml"]).exits(2).stderr_contains("`pte-emit runner install` builds one");
    for command in ["path", "remove"] {
        folder.run(&["runner", command]).exits(1).stderr_contains("ExecuTorch 1.5.1: no such runner is installed");
    }
    assert!(folder.run(&["runner", "list"]).exits(0).stdout.is_empty());
    for release in ["1.5.1", "1.5.0"] {
        let path = format!("cache/runners/{release}/runner");
        folder.write(&path, format!("#!/bin/sh\n{ECHO}"));
        let executable = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(folder.path().join(&path), executable).unwrap();
    }
    let listed = String::from_utf8(folder.run(&["runner", "list"]).exits(0).stdout).unwrap();
    assert_eq!(listed, "1.5.0  cache/runners/1.5.0/runner\n1.5.1  cache/runners/1.5.1/runner\n");
    folder.run(&["run", "relu.yaml"]).exits(0);
    folder.run(&["runner", "remove"]).exits(0);
    folder.run(&["run", "relu.yaml"]).exits(2);
    folder.run(&["run", "relu.yaml", "--runner", "1.5.0"]).exits(0);
}

#[test]
fn an_installation_says_what_is_missing_and_leaves_nothing() {
    let folder = Folder::new(&[("lib/libexecutorch.so", ""), ("whole/lib/libexecutorch.so", "")]);
    folder.write("whole/include/executorch/runtime/executor/program.h", "");
    for (name, value, arguments, message) in [
        ("CXX", "./no-compiler", &["--package", "."][..], "there is no C++ compiler: tried `./no-compiler`"),
        ("CXX", "true", &["--package", "none.whl"], "failed"),
        ("CXX", "true", &["--package", "."], "no header"),
        ("CXX", "true", &["--package", "whole"], "no shared library `libexecutorch_kernels_optimized`"),
        ("CXX", "true", &["--package", "cache"], "no shared library `lib/libexecutorch`"),
        ("CXX", "true", &["../1.5.1", "--package", "."], "is no release"),
        ("CXX", "true", &["1.3.0"], "has no libraries to link: those since 1.5.0 have"),
    ] {
        let mut command = folder.command(&[&["runner", "install"], arguments].concat());
        std::fs::create_dir_all(folder.path().join("cache")).unwrap();
        let done = Done::of(&["runner", "install"], command.env(name, value).output().unwrap());
        done.exits(1).stderr_contains(message);
        assert!(!folder.names().iter().any(|name| name.contains(".new-")), "{message}: {:?}", folder.names());
    }
}
