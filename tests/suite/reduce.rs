//! `reduce`: the number of runs that it takes, the exit statuses that it distinguishes, and the files that it leaves.

use std::fmt::Write;
use std::fs;
use std::process::Stdio;
use std::thread;
use std::time::{Duration, Instant};

use crate::support::folder::{Done, Folder, RELU};

/// Program of `count` instructions, some of them with other operators than `neg` and `relu`: `special` is their
/// positions and names. Each instruction reads the result before it if `chained`, else the input, or the result at the
/// position that `special` names.
fn program(count: usize, chained: bool, special: &[(usize, &str, Option<usize>)]) -> String {
    let mut text =
        "methods:\n  forward:\n    values:\n      x: {tensor: float32, sizes: [4, 8]}\n    inputs: [x]\n".to_owned();
    let outputs: Vec<String> = match chained {
        true => vec![format!("v{}", count - 1)],
        false => (0..count).map(|number| format!("v{number}")).collect(),
    };
    let _ = write!(text, "    outputs: [{}]\n    instructions:\n", outputs.join(", "));
    for number in 0..count {
        let found = special.iter().find(|(position, _, _)| *position == number);
        let operator = found.map_or(["aten::neg.out", "aten::relu.out"][number % 2], |(_, operator, _)| *operator);
        let read = found.and_then(|(_, _, read)| *read).or(number.checked_sub(1).filter(|_| chained));
        let read = read.map_or("x".to_owned(), |read| format!("v{read}"));
        let _ = writeln!(text, "      - {{kernel: {operator}, args: [{read}], out: v{number}}}");
    }
    text
}

/// Shell command that counts its runs in `runs`, and exits with 7 if a candidate contains all of these strings.
fn counted(strings: &[&str]) -> String {
    let found = strings.iter().map(|string| format!("grep -q '{string}' {{}} && "));
    format!("echo >> runs; {}exit 7; exit 0", found.collect::<String>())
}

fn runs(folder: &Folder) -> usize {
    folder.read("runs").len()
}

/// Numbers of instructions and of values in a reduced program.
fn sizes(folder: &Folder, name: &str) -> (usize, usize) {
    let yaml = String::from_utf8(folder.read(name)).unwrap();
    (yaml.matches("kernel:").count(), yaml.matches("tensor:").count())
}

#[test]
fn a_program_of_2000_instructions_is_reduced_to_the_culprits_in_300_runs() {
    let chain = [(500, "aten::abs.out", None), (1100, "aten::exp.out", Some(500)), (1800, "aten::sin.out", Some(1100))];
    let cases: [(&str, String, &[&str], usize); 4] = [
        ("alone", program(2000, false, &[(777, "aten::sin.out", None)]), &["aten::sin"], 1),
        ("in a chain", program(2000, true, &[(1234, "aten::sin.out", None)]), &["aten::sin"], 1),
        ("after three", program(2000, false, &chain), &["aten::abs", "aten::exp", "aten::sin"], 3),
        ("three in a chain", program(2000, true, &chain), &["aten::abs", "aten::exp", "aten::sin"], 3),
    ];
    for (name, yaml, strings, most) in cases {
        let folder = Folder::new(&[("large.yaml", &yaml)]);
        let done = folder.run(&["reduce", "large.yaml", "--test", &counted(strings), "-o", "small.yaml"]).exits(0);
        assert!(done.stderr.contains("2000 instructions"), "{}", done.stderr);
        assert!(runs(&folder) <= 100, "{name}: {} runs", runs(&folder));
        assert!(done.stderr.contains(&format!("{} runs", runs(&folder))), "{}", done.stderr);
        let (instructions, _) = sizes(&folder, "small.yaml");
        assert_eq!(instructions, most, "{name}");
        assert_eq!(folder.names(), ["large.yaml", "runs", "small.yaml"]);
        folder.run(&["check", "small.yaml"]).exits(0);
        // The result has the defect, and reducing it again finds nothing.
        let done = folder.run(&["reduce", "small.yaml", "--test", &counted(strings), "-o", "again.pte"]).exits(0);
        assert!(done.stderr.contains(&format!("{most} instruction")), "{}", done.stderr);
        folder.run(&["check", "again.pte"]).exits(0);
    }
}

#[test]
fn sizes_data_methods_and_names_are_reduced() {
    let yaml = "
methods:
  other: {outputs: [1]}
  forward:
    values:
      w: {tensor: float32, sizes: [64, 32], data: {random: {seed: 1}}, name: weight}
      b: {tensor: float32, sizes: [64], data: {random: {seed: 2}}}
      x: {tensor: float32, sizes: [16, 32]}
    inputs: [x]
    outputs: [y]
    instructions:
      - {kernel: aten::permute_copy.out, args: [w, [1, 0]], out: wt}
      - {kernel: aten::addmm.out, args: [b, x, wt], out: mm}
      - {kernel: aten::view_copy.out, args: [mm, [4, 4, 64]], out: v}
      - {kernel: aten::relu.out, args: [v], out: y}
";
    let folder = Folder::new(&[("model.yaml", yaml)]);
    folder.run(&["model.yaml", "-o", "model.pte", "-q"]).exits(0);
    for input in ["model.yaml", "model.pte"] {
        let test = "grep -q aten::addmm {} && exit 7; exit 0";
        folder.run(&["reduce", input, "--test", test, "--force", "-o", "small.yaml", "-q"]).exits(0).stderr_is_empty();
        let small = String::from_utf8(folder.read("small.yaml")).unwrap();
        let unwanted = ["64", " 32", "16", "weight", "other:", "random", "permute", "relu", "view"];
        assert!(unwanted.iter().all(|unwanted| !small.contains(unwanted)), "{small}");
        assert!(small.contains("aten::addmm.out"), "{small}");
        folder.run(&["check", "small.yaml"]).exits(0);
        // Two instructions, of which one depends on sizes.
        let test = "grep -q aten::addmm {} && grep -q aten::view_copy {} && exit 7; exit 0";
        folder.run(&["reduce", input, "--test", test, "-o", "small.pte", "-q"]).exits(0);
        folder.run(&["check", "small.pte"]).exits(0);
    }
    assert_eq!(folder.names(), ["model.pte", "model.yaml", "small.pte", "small.yaml"]);
}

#[test]
fn files_in_all_formats_are_reduced() {
    let weights =
        "named_data:\n  a: {tensor: float32, sizes: [2], data: [1, 2]}\n  b: {text: hello}\n  c: {text: other}\n";
    let bundle =
        format!("{RELU}    tests:\n      - {{inputs: [[[1, 2], [3, 4]]]}}\n      - {{inputs: [[[5, 6], [7, 8]]]}}\n");
    let folder = Folder::new(&[("weights.yaml", weights), ("bundle.yaml", &bundle)]);
    folder.run(&["weights.yaml", "-o", "weights.ptd", "-q"]).exits(0);
    folder.run(&["bundle.yaml", "-o", "bundle.bpte", "-q"]).exits(0);
    for (input, test, output) in [
        ("weights.yaml", "grep -q hello {} || exit 1; exit 7", "small.ptd"),
        ("weights.ptd", "grep -q hello {} || exit 1; exit 7", "weights-small.yaml"),
        ("bundle.bpte", "case {} in *.bpte) ;; *) exit 1;; esac; grep -q aten::relu {} && exit 7", "small.bpte"),
        ("bundle.bpte", "case {} in *.pte) ;; *) exit 1;; esac; grep -q aten::relu {} && exit 7", "small.pte"),
        ("bundle.yaml", "case {} in *.yaml) ;; *) exit 1;; esac; grep -q aten::relu {} && exit 7", "small.yaml"),
    ] {
        let candidate = output.rsplit('.').next().unwrap();
        let candidate = if input.starts_with("weights") { "ptd" } else { candidate };
        let test = ["reduce", input, "--test", test, "--candidate", candidate, "-o", output];
        let done = folder.run(&test).exits(0);
        folder.run(&["check", output]).exits(0);
        assert!(done.stderr.contains("status 7"), "{}", done.stderr);
    }
    let small = String::from_utf8(folder.read("weights-small.yaml")).unwrap();
    // The bytes of `hello`, but not those of `other`.
    assert!(small.contains("68656c6c6f") && !small.contains("6f74686572"), "{small}");
    let done = folder.run(&["reduce", "weights.ptd", "--test", "exit 7 # {}", "-o", "x.pte"]).exits(2);
    assert!(done.stderr.contains("has no methods"), "{}", done.stderr);
}

#[test]
fn a_file_that_is_no_program_is_reduced_as_bytes() {
    let folder = Folder::new(&[("relu.yaml", RELU)]);
    folder.run(&["relu.yaml", "-o", "relu.pte", "-q"]).exits(0);
    let mut bytes = folder.read("relu.pte");
    // The offset of the root table is beyond the end.
    bytes[..4].copy_from_slice(&[255, 255, 255, 127]);
    folder.write("bad.pte", &bytes);
    let test = "grep -q ET12 {} && exit 7; exit 0";
    for output in ["small.pte", "small.yaml"] {
        folder.run(&["reduce", "bad.pte", "--test", test, "-o", output]).exits(0).stderr_contains("8 bytes");
    }
    assert_eq!(folder.read("small.pte"), b"\0\0\0\0ET12");
    folder.run(&["small.yaml", "-o", "again.pte", "-q"]).exits(0);
    assert_eq!(folder.read("again.pte"), folder.read("small.pte"));
    let done = folder
        .run(&["reduce", "bad.pte", "--candidate", "yaml", "--test", test, "--force", "-o", "small.yaml"])
        .exits(1);
    assert!(!done.stderr.is_empty());
}

#[test]
fn the_outcome_of_the_original_is_kept() {
    let folder = Folder::new(&[("relu.yaml", RELU)]);
    let reduce = |test: &str, more: &[&str]| -> Done {
        folder.run(&[&["reduce", "relu.yaml", "--test", test, "--force", "-o", "small.yaml"], more].concat())
    };
    reduce("exit 3", &[]).exits(2).stderr_contains("no `{}`");
    reduce("test -e {}", &[]).exits(2).stderr_contains("--expect 0");
    reduce("./no-such-command {}", &[]).exits(2).stderr_contains("cannot be started");
    reduce("test -e {}; exit 3", &["--expect", "4"]).exits(1).stderr_contains("exits with status 3");
    assert_eq!(folder.names(), ["relu.yaml"]);
    reduce("grep -q aten::relu {}", &["--expect", "0"]).exits(0).stderr_contains("status 0");
    assert_eq!(sizes(&folder, "small.yaml").0, 1);
    reduce("grep -q aten::relu {} && kill -SEGV $$; exit 1", &[]).exits(0).stderr_contains("signal 11");
    assert_eq!(sizes(&folder, "small.yaml").0, 1);
    let hangs = "grep -q aten::relu {} && sleep 600; exit 1";
    reduce(hangs, &["--timeout", "0.3"]).exits(0).stderr_contains("exceeds the time limit");
    assert_eq!(sizes(&folder, "small.yaml").0, 1);
    reduce("test -e {}; exit 3", &["--timeout", "none"]).exits(2);
    reduce("test -e {}; exit 3", &["-o", "small.txt"]).exits(2);
    folder.run(&["reduce", "relu.yaml", "--test", "exit 3 # {}", "-o", "relu.yaml"]).exits(2);
    folder.run(&["reduce", "no.pte", "--test", "exit 3 # {}", "-o", "x.yaml"]).exits(3);
}

/// A runner that a program with an operator crashes.
const CRASHES: &str = "echo program ok
while read command rest; do
  case $command in
    execute) if grep -aq aten::sin \"$1\"; then kill -ABRT $$; fi; echo execute ok;;
    outputs) echo outputs 0;;
    *) echo $command ok;;
  esac
done
";

#[test]
fn programs_that_crash_the_runtime_are_reduced_without_a_command() {
    let yaml = program(50, true, &[(30, "aten::sin.out", None)]);
    let folder = Folder::new(&[("large.yaml", &yaml), ("relu.yaml", RELU), ("runner.sh", CRASHES)]);
    let reduce = |input: &str, more: &[&str]| -> Done {
        let arguments = ["reduce", input, "--crashes", "--runner", "sh runner.sh", "--force", "-o", "small.yaml"];
        folder.run(&[&arguments[..], more].concat())
    };
    reduce("large.yaml", &[]).exits(0).stderr_contains("status 134 (signal 6)");
    assert_eq!(sizes(&folder, "small.yaml").0, 1);
    reduce("relu.yaml", &[]).exits(2).stderr_contains("no method crashes the runner with inputs of ones");
    reduce("large.yaml", &["--test", "true {}"]).exits(2);
    folder.run(&["reduce", "large.yaml", "-o", "small.yaml"]).exits(2).stderr_contains("--test <COMMAND>");
}

#[test]
fn the_number_of_runs_is_limited_and_the_output_can_be_reduced_further() {
    let yaml = program(200, true, &[(150, "aten::sin.out", None)]);
    let folder = Folder::new(&[("large.yaml", &yaml)]);
    let test = counted(&["aten::sin"]);
    let reduce = |input: &str, output: &str| {
        folder.run(&["reduce", input, "--test", &test, "-o", output, "--max-runs", "12"]).exits(0)
    };
    reduce("large.yaml", "1.pte").stderr_contains("stopped early");
    assert_eq!(runs(&folder), 12);
    let mut count = 1;
    while reduce(&format!("{count}.pte"), &format!("{}.pte", count + 1)).stderr.contains("stopped early") {
        count += 1;
        assert!(count < 20);
    }
    folder.run(&["dump", &format!("{}.pte", count + 1), "--force", "-o", "small.yaml"]).exits(0);
    assert_eq!(sizes(&folder, "small.yaml").0, 1);
}

#[test]
#[cfg(unix)]
fn an_interrupt_writes_the_best_so_far_and_ends_the_command() {
    let yaml = program(200, true, &[(150, "aten::sin.out", None)]);
    let folder = Folder::new(&[("large.yaml", &yaml)]);
    let temporary = Folder::new(&[]);
    // The fifth run hangs.
    let test = "echo >> runs; test $(wc -l < runs) -ge 5 && sleep 600; grep -q aten::sin {} && exit 7; exit 0";
    let mut command = folder.command(&["reduce", "large.yaml", "--test", test, "-o", "small.pte"]);
    let child = command.env("TMPDIR", temporary.path()).stderr(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let start = Instant::now();
    while fs::read(folder.path().join("runs")).map_or(0, |runs| runs.len()) < 5 {
        assert!(start.elapsed() < Duration::from_secs(60));
        thread::sleep(Duration::from_millis(10));
    }
    let id = child.id().to_string();
    assert!(std::process::Command::new("kill").args(["-INT", &id]).status().unwrap().success());
    let done = Done::of(&["reduce"], child.wait_with_output().unwrap()).exits(130);
    assert!(done.stderr.contains("stopped early"), "{}", done.stderr);
    folder.run(&["check", "small.pte"]).exits(0);
    assert_eq!(folder.names(), ["large.yaml", "runs", "small.pte"]);
    assert_eq!(temporary.names(), Vec::<String>::new());
}

#[test]
#[cfg(unix)]
fn the_command_gets_a_copy_of_the_input() {
    let yaml = program(6, false, &[]);
    let folder = Folder::new(&[("large.yaml", &yaml)]);
    folder.run(&["large.yaml", "-o", "large.pte"]).exits(0);
    let pte = folder.read("large.pte");
    for (input, candidate) in [("large.pte", "pte"), ("large.yaml", "yaml"), ("large.pte", "yaml")] {
        let test = "rm -f {}; exit 7";
        let output = format!("small.{candidate}");
        folder.run(&["reduce", input, "--candidate", candidate, "--test", test, "--force", "-o", &output]).exits(0);
        assert_eq!(folder.read("large.pte"), pte);
        assert_eq!(folder.read("large.yaml"), yaml.as_bytes());
    }
}

/// Candidates that are YAML have the tests of the program, which `pte-emit test` runs.
#[test]
#[cfg(unix)]
fn candidates_in_yaml_have_tests() {
    let yaml = format!("{RELU}    tests:\n      - {{inputs: [[1, 2, 3, 4]]}}\n      - {{inputs: [[5, 6, 7, 77]]}}\n");
    let folder = Folder::new(&[("large.yaml", &yaml)]);
    folder.run(&["large.yaml", "-o", "large.bpte"]).exits(0);
    for input in ["large.yaml", "large.bpte"] {
        let arguments = ["reduce", input, "--candidate", "yaml", "--force", "-o", "small.yaml", "--expect", "0"];
        folder.run(&[&arguments[..], &["--test", "grep -q 77 {}"]].concat()).exits(0);
        let small = String::from_utf8(folder.read("small.yaml")).unwrap();
        assert!(small.contains("77") && small.matches("inputs: [[").count() == 1, "{input}\n{small}");
    }
}

/// The runtime frees the payload in a segment, so that constants of zeros must be named data.
#[test]
fn operations_of_graphs_are_removed() {
    for inline in [false, true] {
        let mut nodes = String::new();
        for node in 0..12 {
            let operation = if node == 6 { "hardswish" } else { ["abs", "negate", "square"][node % 3] };
            let input = node.checked_sub(1).map_or("x".to_owned(), |before| format!("v{before}"));
            let _ = writeln!(nodes, "            - {{{operation}: {{input: {input}, output: v{node}}}}}");
        }
        let yaml = format!(
            "methods:\n  forward:\n    values: {{x: {{tensor: float32, sizes: [4]}}, y: {{tensor: float32, sizes: [4]}}}}\n    \
             inputs: [x]\n    outputs: [y]\n    delegates:\n      part:\n        backend: XnnpackBackend\n        inline: {inline}\n        \
             graph:\n          values: {{x: {{datatype: fp32, sizes: [4]}}}}\n          inputs: [x]\n          outputs: [v11]\n          \
             nodes:\n{nodes}    instructions:\n      - {{delegate: part, args: [x, y]}}\n"
        );
        let folder = Folder::new(&[("graph.yaml", &yaml)]);
        let test = format!("{} payload show {{}} | grep -q hardswish", env!("CARGO_BIN_EXE_pte-emit"));
        folder.run(&["reduce", "graph.yaml", "--test", &test, "--expect", "0", "-o", "small.yaml"]).exits(0);
        folder.run(&["check", "small.yaml"]).exits(0);
        let small = String::from_utf8(folder.read("small.yaml")).unwrap();
        assert!(small.matches("{input:").count() <= 2 && small.contains("hardswish"), "{small}");
    }
}

/// The list of the results of an operator with several outs has one item for each.
#[test]
fn lists_of_results_keep_their_items() {
    let topk = "
      x: {tensor: float32, sizes: [8]}
    inputs: [x]
    outputs: [v, i]
    instructions:
      - {kernel: aten::topk.values, args: [x, 3], out: [v, i]}
";
    let batch_norm = "
      x: {tensor: float32, sizes: [1, 2, 4]}
      w: {tensor: float32, sizes: [2], data: [1, 2]}
      b: {tensor: float32, sizes: [2], data: [0.5, 0]}
      mean: {tensor: float32, sizes: [2], data: [0, 1]}
      var: {tensor: float32, sizes: [2], data: [1, 4]}
    inputs: [x]
    outputs: [z]
    instructions:
      - kernel: aten::_native_batch_norm_legit_no_training.out
        args: [x, w, b, mean, var, 0.1, 1.0e-5]
        out: [y, save_mean, save_invstd]
      - {kernel: aten::relu.out, args: [y], out: z}
";
    for (operator, outs, yaml) in
        [("aten::topk", 2, topk), ("aten::_native_batch_norm_legit_no_training", 3, batch_norm)]
    {
        let yaml = format!("methods:\n  forward:\n    values:{yaml}");
        let folder = Folder::new(&[("large.yaml", &yaml)]);
        let test = counted(&[operator]);
        folder.run(&["reduce", "large.yaml", "--test", &test, "-o", "small.yaml"]).exits(0);
        folder.run(&["small.yaml", "-o", "small.pte"]).exits(0);
        folder.run(&["check", "small.pte"]).exits(0);
        let small = String::from_utf8(folder.read("small.yaml")).unwrap();
        let (_, out) = small.split_once("out: [").unwrap_or_else(|| panic!("{small}"));
        assert_eq!(out.split(']').next().unwrap().split(", ").count(), outs, "{small}");
        assert!(!small.contains("Every property") && !small.contains("relu"), "{small}");
    }
}

/// Offsets and indices that the command does not need are not in the result.
#[test]
fn what_only_reproduces_the_file_is_omitted() {
    let yaml = "
methods:
  forward:
    values:
      x: {tensor: float32, sizes: [2], memory: {pool: 1, offset: 64}, index: 2}
      y: {tensor: float32, sizes: [2], memory: {pool: 1, offset: 16}, index: 1}
    inputs: [x]
    outputs: [y]
    memory: {non_const_buffer_sizes: [0, 96]}
    instructions: [{kernel: aten::relu.out, args: [x], out: y}]
";
    let folder = Folder::new(&[("p.yaml", yaml)]);
    folder.run(&["p.yaml", "-o", "p.pte"]).exits(0);
    let reduce = |test: &str| folder.run(&["reduce", "p.pte", "-o", "small.yaml", "--force", "--test", test]).exits(0);
    reduce(&counted(&["aten::relu"]));
    let short = String::from_utf8(folder.read("small.yaml")).unwrap();
    assert!(!short.contains("offset") && !short.contains("index") && short.contains("aten::relu.out"), "{short}");
    // The command fails only with this offset.
    let offset = "echo >> runs; od -An -tu4 -v {} | tr -s ' \\n' ' ' | grep -q ' 64 ' && grep -q aten::relu {} && exit 7; exit 0";
    reduce(offset);
    assert!(String::from_utf8(folder.read("small.yaml")).unwrap().contains("offset: 64"));
}
