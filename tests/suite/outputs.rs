//! Outputs of all commands: which existing files they replace, and that the extension decides the format.

use std::collections::BTreeSet;
use std::fs;

use crate::support::folder::{Folder, RELU};
use crate::support::root;

/// Commands that write, with `OUT` for the output; the file that they write, if it is in a folder; `true` if the output
/// is binary.
const WRITERS: &[(&[&str], &str, bool)] = &[
    (&["m.yaml", "-o", "OUT.pte"], "OUT.pte", true),
    (&["assemble", "m.yaml", "-o", "OUT.bpte"], "OUT.bpte", true),
    (&["m.pte", "-o", "OUT.pte", "--external-data"], "OUT.pte", true),
    (&["m.bpte", "--strip-tests", "-o", "OUT.pte"], "OUT.pte", true),
    (&["m.yaml", "-o", "x.pte", "--depfile", "OUT.d"], "OUT.d", false),
    (&["dump", "m.pte", "-o", "OUT.yaml"], "OUT.yaml", false),
    (&["annotate", "m.pte", "-o", "OUT.txt"], "OUT.txt", false),
    (&["report", "m.pte", "-o", "OUT.html"], "OUT.html", false),
    (&["report", "m.pte", "-o", "OUT.dot"], "OUT.dot", false),
    (&["report", "m.pte", "-o", "OUT.json"], "OUT.json", false),
    (&["kernels", "m.pte", "-o", "OUT.txt"], "OUT.txt", false),
    (&["kernels", "m.pte", "-o", "OUT.yaml"], "OUT.yaml", false),
    (&["kernels", "m.pte", "-o", "OUT", "--format", "header"], "OUT/selected_prim_ops.h", false),
    (&["embed", "m.pte", "-o", "OUT"], "OUT.c", false),
    (&["embed", "m.yaml", "-o", "OUT.S"], "OUT.bin", true),
    (&["firmware", "m.pte", "--for", "zephyr", "-o", "OUT"], "OUT/pte-emit.conf", false),
    (&["man", "-o", "OUT"], "OUT/pte-emit.1", false),
    (&["generate", "-o", "OUT"], "OUT/0-0.yaml", false),
    (&["generate", "--corpus", "OUT"], "OUT/manifest.json", false),
    (&["payload", "extract", "x.yaml", "-o", "OUT.bin"], "OUT.bin", true),
    (&["optimize", "m.pte", "-o", "OUT.pte"], "OUT.pte", true),
    (&["merge", "m.pte", "c.pte", "--rename", "c:forward=other", "-o", "OUT.pte"], "OUT.pte", true),
    (&["extract", "m.pte", "--method", "forward", "-o", "OUT.pte"], "OUT.pte", true),
    (&["rename", "m.pte", "--method", "forward=run", "-o", "OUT.pte"], "OUT.pte", true),
    (&["strip", "m.pte", "-o", "OUT.pte"], "OUT.pte", true),
    (&["bound", "m.pte", "--static", "-o", "OUT.pte"], "OUT.pte", true),
    (&["metadata", "set", "m.pte", "get_k=1", "-o", "OUT.pte"], "OUT.pte", true),
    (&["outputs", "add", "m.pte", "x", "-o", "OUT.pte"], "OUT.pte", true),
    (&["io", "q.yaml", "--quantized", "-o", "OUT.pte"], "OUT.pte", true),
    (&["io", "m.pte", "--output-type", "relu=float16", "-o", "OUT.pte"], "OUT.pte", true),
    (&["tests", "add", "m.pte", "-o", "OUT.bpte"], "OUT.bpte", true),
    (&["weights", "set", "c.pte", "--from", "w.ptd", "-o", "OUT.pte"], "OUT.pte", true),
    (&["weights", "rename", "w.ptd", "*=x.*", "-o", "OUT.ptd"], "OUT.ptd", true),
    (&["reduce", "m.pte", "--test", "false {}", "-o", "OUT.yaml"], "OUT.yaml", false),
    (&["reduce", "m.pte", "--test", "false {}", "-o", "OUT.pte"], "OUT.pte", true),
];

fn programs() -> Folder {
    let delegate = "methods: {forward: {values: {x: {tensor: float32, sizes: [2]}}, delegates: {part: {backend: Mine, data: {hex: 00ff}}},
        inputs: [x], outputs: [x], instructions: [{delegate: part, args: [x]}]}}";
    let quantized =
        "methods: {forward: {values: {x: {tensor: float32, sizes: [2]}}, inputs: [x], outputs: [q], instructions:
        [{kernel: quantized_decomposed::quantize_per_tensor.out, args: [x, 0.5, 0, 0, 255, uint8], out: q}]}}";
    let folder = Folder::new(&[("m.yaml", RELU), ("x.yaml", delegate), ("q.yaml", quantized)]);
    let linear = root().join("examples/linear.yaml");
    for (from, to) in [("m.yaml", "m.pte"), ("m.yaml", "m.bpte"), (linear.to_str().unwrap(), "c.pte")] {
        folder.run(&[from, "-q", "-o", to]).exits(0);
    }
    let weights =
        "named_data: {linear_weight: {tensor: float32, sizes: [3, 4], data: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]},
        linear_bias: {tensor: float32, data: [1, 2, 3]}}";
    folder.write("w.yaml", weights);
    folder.run(&["w.yaml", "-q", "-o", "w.ptd"]).exits(0);
    folder
}

/// A file that the command has not written is replaced with `--force` only; its own earlier output is replaced without.
#[test]
fn outputs_replace_only_what_can_be_written_again() {
    const WORK: &[u8] = b"# a day of work\n";
    for (arguments, name, is_binary) in WRITERS {
        let folder = programs();
        let arguments: Vec<&str> = arguments.to_vec();
        folder.write(name, WORK);
        let before = folder.names();
        let done = folder.run(&arguments).exits(2);
        done.stderr_contains(&format!("output {name} exists and would be lost; name another, remove it first"));
        assert_eq!((folder.read(name), folder.names()), (WORK.to_vec(), before), "{arguments:?}");
        folder.run(&[&arguments[..], &["--force"]].concat()).exits(0);
        let written = folder.read(name);
        assert_ne!(written, WORK, "{arguments:?}");
        // These do not look at the content: `generate` writes new files, `reduce` works long before it writes.
        if arguments[0] != "generate" && (arguments[0] != "reduce" || *is_binary) {
            // The same content loses nothing.
            folder.run(&arguments).exits(0);
            assert_eq!(folder.read(name), written, "{arguments:?}");
        }
        if *is_binary {
            folder.write(name, b"\0an older output");
            folder.run(&arguments).exits(0);
            assert_eq!(folder.read(name), written, "{arguments:?}");
        }
    }
}

/// Generated text is known by its mark; YAML that was dumped may have been edited.
#[test]
fn text_of_an_older_program_is_replaced_if_it_has_a_mark() {
    let folder = programs();
    for (arguments, is_marked) in [
        (&["report", "PROGRAM", "-o", "r.html"][..], true),
        (&["embed", "PROGRAM", "--symbol", "p", "-o", "e"], true),
        (&["kernels", "PROGRAM", "-o", "k.yaml"], true),
        (&["kernels", "PROGRAM", "-o", "headers", "--format", "header"], true),
        (&["firmware", "PROGRAM", "--for", "zephyr", "-o", "app"], true),
        (&["PROGRAM", "-q", "-o", "o.pte", "--depfile", "o.d"], true),
        (&["dump", "PROGRAM", "-o", "d.yaml"], false),
        (&["report", "PROGRAM", "-o", "g.dot"], false),
    ] {
        let of =
            |program| arguments.iter().map(|word| if *word == "PROGRAM" { program } else { *word }).collect::<Vec<_>>();
        folder.run(&of("m.pte")).exits(0);
        folder.run(&of("c.pte")).exits(if is_marked { 0 } else { 2 });
    }
}

/// Every command that has `-o` has `--force` and is in the table. `golden` writes an argument, `run` by other options.
#[test]
fn all_commands_that_write_are_tested() {
    let tested: BTreeSet<String> = WRITERS.iter().map(|(arguments, ..)| arguments[0].to_owned()).collect();
    let help = |arguments: &[&str]| {
        let folder = Folder::new(&[]);
        String::from_utf8(folder.run(&[arguments, &["--help"]].concat()).exits(0).stdout).unwrap()
    };
    let commands = help(&[]);
    let commands = commands.split("Commands:\n").nth(1).unwrap().split("\n\n").next().unwrap().lines();
    // After the column of groups.
    let mut all: Vec<Vec<&str>> = commands.map(|line| vec![line[9..21].trim()]).collect();
    assert!(all.len() > 30 && all.iter().all(|words| !words[0].contains(' ')), "{all:?}");
    for (command, children) in
        [("payload", &["extract", "replace"][..]), ("weights", &["set"]), ("metadata", &["set", "remove"])]
    {
        all.extend(children.iter().map(|child| vec![command, child]));
    }
    for command in all {
        let text = help(&command);
        let writes = text.contains("--output <PATH>") || ["golden", "run"].contains(&command[0]);
        assert_eq!(writes, text.contains("--force"), "{command:?}");
        if text.contains("--output <PATH>") {
            assert!(tested.contains(command[0]), "{command:?}");
        }
    }
}

#[test]
fn the_extension_decides_the_format() {
    let folder = programs();
    for (arguments, output, begin) in [
        (&["report", "m.pte"][..], "m.html", "<!doctype html>"),
        (&["report", "m.pte"], "m.DOT", "digraph "),
        (&["report", "m.pte"], "m.json", "{\n  \"label\""),
        (&["report", "m.pte"], "report", "<!doctype html>"),
        (&["report", "m.pte", "--to", "dot"], "m.gv", "digraph "),
        (&["kernels", "m.pte"], "k.json", "{\n"),
        (&["kernels", "m.pte"], "k.yml", "build_features:"),
        (&["kernels", "m.pte"], "k.txt", "m.pte: 1 operator"),
        (&["kernels", "m.pte", "--format", "list"], "k.cmake", "aten::"),
        (&["dump", "m.pte"], "d.yml", "# yaml-language-server"),
        (&["dump", "m.pte"], "dumped", "# yaml-language-server"),
    ] {
        folder.run(&[arguments, &["-o", output]].concat()).exits(0);
        let text = String::from_utf8(folder.read(output)).unwrap();
        assert!(text.starts_with(begin), "{output}: {}", &text[..text.len().min(80)]);
    }
    for (arguments, output, expected) in [
        (&["report", "m.pte"][..], "m.svg", "expected .html, .dot or .json; use `--to FORMAT`"),
        (&["dump", "m.pte"], "d.json", "expected .yaml or .yml"),
        (&["kernels", "m.pte"], "k.h", "expected .txt, .json, .yaml or .yml; use `--format FORMAT`"),
        (&["reduce", "m.pte", "--test", "false {}"], "r.html", "expected .yaml, .yml, .pte, .ptd or .bpte"),
        (&["embed", "m.pte"], "e.rs", "expected .c, .h or .S, or none"),
        (&["m.yaml"], "n.html", "expected .pte, .ptd, .bpte or .safetensors; use `--to FORMAT`"),
    ] {
        let extension = output.split('.').nth(1).unwrap();
        let found = format!("unknown extension `.{extension}` of output {output}: {expected}");
        folder.run(&[arguments, &["-o", output]].concat()).exits(2).stderr_contains(&found);
        assert!(!fs::exists(folder.path().join(output)).unwrap());
    }
}

/// `script` gives the command a terminal.
#[cfg(target_os = "linux")]
#[test]
fn pages_and_binary_files_are_not_printed_to_a_terminal() {
    let folder = programs();
    let program = env!("CARGO_BIN_EXE_pte-emit");
    let on_terminal = |arguments: &str| {
        let mut script = std::process::Command::new("script");
        script.args(["-qefc", &format!("{program} {arguments}"), "/dev/null"]).current_dir(folder.path());
        let output = script.output().unwrap();
        (output.status.code().unwrap(), String::from_utf8_lossy(&output.stdout).into_owned())
    };
    for (arguments, what) in [
        ("report m.pte", "a page of HTML"),
        ("report m.pte -o -", "a page of HTML"),
        ("m.yaml", "a binary file"),
        ("m.yaml -o -", "a binary file"),
        ("strip m.pte", "a binary file"),
        ("payload extract x.yaml -o -", "a binary file"),
    ] {
        let (status, text) = on_terminal(arguments);
        let expected =
            format!("error: cannot write {what} to a terminal; add `-o FILE`, or redirect standard output\r\n");
        assert_eq!((status, text), (2, expected), "{arguments}");
    }
    assert_eq!(on_terminal("report m.pte --to dot").0, 0);
    assert!(folder.run(&["report", "m.pte"]).exits(0).stdout.starts_with(b"<!doctype html>"));
}
