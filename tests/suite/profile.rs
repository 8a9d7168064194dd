//! `pte-emit profile` and `report --etdump`, with what the real runtime recorded of examples
//! (crates/pte-etdump/tests/recorded).

use pte_emit::{
    Model,
    inspect::ReportOptions,
    profile::{Recording, TimeProfile},
};
use serde_json::Value;

use crate::support::folder::Folder;
use crate::support::recordings::{example, recorded, run_profile as run};
use crate::support::root;

fn profile(name: &str) -> TimeProfile {
    Model::open(example(name)).unwrap().profile(&Recording::open(recorded(name)).unwrap(), &[]).unwrap()
}

#[test]
fn times_are_joined_with_the_instructions() {
    let linear = profile("linear");
    let [forward] = &linear.methods[..] else { panic!() };
    let rows: Vec<_> =
        forward.instructions.iter().map(|row| (row.index, &*row.path, &*row.label, &row.results)).collect();
    let names = ["wt", "mm", "y"].map(|name| vec![name.to_owned()]);
    assert_eq!(
        rows,
        [
            (0, "methods.forward.instructions[0]", "aten::permute_copy.out", &names[0]),
            (1, "methods.forward.instructions[1]", "aten::addmm.out", &names[1]),
            (2, "methods.forward.instructions[2]", "aten::relu.out", &names[2]),
        ]
    );
    // Two executions; instructions and what is outside of them are the whole.
    assert!(forward.instructions.iter().all(|row| row.time.count == 2 && row.time.min <= row.time.max));
    let inside: u64 = forward.instructions.iter().map(|row| row.time.total).sum();
    assert_eq!(inside + forward.overhead.total, forward.executions.total);
    let shares: f64 = forward.instructions.iter().map(|row| row.time.share).sum();
    assert!((shares + forward.overhead.share - 1.0).abs() < 1e-9);
    assert_eq!((linear.loading.count, forward.executions.count), (1, 2));
    assert!(forward.operators.is_sorted_by_key(|row| std::cmp::Reverse(row.time.total)));
}

#[test]
fn instructions_of_loops_and_results_of_lists_are_counted() {
    let profile = profile("loop");
    let times: Vec<(usize, u64)> =
        profile.methods[0].instructions.iter().map(|row| (row.index, row.time.count)).collect();
    assert_eq!(times, [(0, 1), (1, 1), (2, 1), (3, 4), (4, 4), (5, 3), (6, 3), (7, 3)]);
    let lists = self::profile("lists");
    assert_eq!(lists.methods[0].instructions[1].results, ["left", "middle", "right"]);
    // The method is found by its instructions.
    assert_eq!(self::profile("quantize").methods[0].name, "per_channel");
}

#[test]
fn operations_are_inside_of_their_delegates() {
    let profile = profile("xnnpack_two_delegates");
    let forward = &profile.methods[0];
    assert_eq!(forward.instructions[0].delegate.as_deref(), Some("scale"));
    let mut found: Vec<_> = forward.delegates.iter().map(|row| (&*row.name, &*row.operations[0].operation)).collect();
    found.sort_unstable();
    assert_eq!(found, [("join", "Copy (NC, X32) #1"), ("scale", "Multiply (ND) #1")]);
    assert!(forward.delegates.iter().all(|row| row.operations[0].time.total <= row.time.total));
    assert_eq!(forward.operators.len(), 1);
}

/// XNNPACK merges a padding, bounds and conversions into operators, replaces a convolution of one pixel and functions
/// of integers, and adds an operator for bounds. Each event has the operations that its operator executes.
#[test]
fn events_of_operators_have_the_operations_that_they_execute() {
    let dump = recorded("xnnpack_operators");
    let model = Model::open(dump.with_extension("yaml")).unwrap();
    let profile = model.profile(&Recording::open(&dump).unwrap(), &[]).unwrap();
    let operations = &profile.methods[0].delegates[0].operations;
    let mut found: Vec<(String, &str)> = operations
        .iter()
        .map(|row| {
            let nodes = row.nodes.iter().map(|node| format!("{} {}", node.index, node.name));
            (nodes.collect::<Vec<_>>().join(", "), &*row.operation)
        })
        .collect();
    found.sort_unstable();
    let expected = [
        ("1 conv2d, 0 static_constant_pad, 2 clamp", "Convolution (NHWC, F32) IGEMM #1"),
        ("11 fully_connected, 10 convert", "Fully Connected (NC, QDU8, F32, QC8W) GEMM #1"),
        ("12 concatenate2", "Copy (NC, X32) #1"),
        ("3 conv2d", "Fully Connected (NC, F32) GEMM #1"),
        ("4 add", "Add (ND) #1"),
        ("4 add", "Clamp (NC) #1"),
        ("5 convert", "Convert (NC) #1"),
        ("7 tanh, 6 sigmoid", "Invalid Unary Op #1"),
        ("8 convert", "Convert (NC) #2"),
        ("9 static_reshape", "Static Reshape (NC) #1"),
    ];
    assert_eq!(found, expected.map(|(nodes, event)| (nodes.to_owned(), event)));
}

#[test]
fn two_recordings_are_compared() {
    let mut both = profile("linear");
    both.compare(&profile("linear"));
    let forward = &both.methods[0];
    for time in forward.instructions.iter().map(|row| &row.time).chain([&forward.executions, &forward.overhead]) {
        let second = time.compared.unwrap();
        assert_eq!((second.total, second.delta, second.ratio), (time.total, 0.0, Some(1.0)));
        assert_eq!(second.first, time.total as f64 / 2.0);
    }
    // A branch that only the second one took: both rows are present.
    let mut first = profile("loop");
    let second = first.clone();
    first.methods[0].instructions.remove(5);
    first.methods[0].delegates.clear();
    first.compare(&second);
    let rows = &first.methods[0].instructions;
    assert_eq!((rows.len(), rows[5].index, rows[5].time.count), (8, 5, 0));
    let compared = rows[5].time.compared.unwrap();
    assert_eq!((compared.count, compared.ratio), (3, None));
    // The operations of an added delegate, too.
    let mut empty = profile("xnnpack_two_delegates");
    empty.methods[0].delegates.clear();
    empty.compare(&profile("xnnpack_two_delegates"));
    let inner = &empty.methods[0].delegates[0].operations[0].time;
    assert_eq!((inner.count, inner.compared.unwrap().count), (0, 2));
}

#[test]
fn the_command_prints_the_longest_first() {
    let done = run("linear", &["linear"], &["--by", "instruction", "--limit", "1"]).exits(0).stderr_is_empty();
    let text = String::from_utf8(done.stdout).unwrap();
    assert!(
        text.contains("method forward: 2 executions\n") && text.contains("[1] aten::addmm.out -> `mm`\n"),
        "{text}"
    );
    assert!(
        text.contains("and 2 more instructions") && !text.contains("permute_copy") && !text.contains("operator"),
        "{text}"
    );
    let text = String::from_utf8(run("linear", &["linear", "linear"], &[]).exits(0).stdout).unwrap();
    assert!(text.contains("first") && text.contains("+0.0   1.00  [1] aten::addmm.out"), "{text}");
    let text = String::from_utf8(
        run("xnnpack_two_delegates", &["xnnpack_two_delegates"], &["--by", "delegate"]).exits(0).stdout,
    );
    assert!(text.unwrap().contains("  scale (XnnpackBackend), 1 instruction\n"));
}

#[test]
fn a_recording_of_another_program_is_an_error() {
    let other = "the ETDump is of another program, or of this one before a change: record one with this file";
    run("linear", &["loop"], &[])
        .exits(1)
        .stderr_contains("instruction 1 executed `clone.out`, but it is `addmm.out`")
        .stderr_contains(other);
    run("add", &["linear"], &[])
        .exits(1)
        .stderr_contains("instruction 0 executed `permute_copy.out`, but it is `add.out`");
    run("lists", &["loop"], &[])
        .exits(1)
        .stderr_contains("instruction 1 executed `clone.out`, but it is `split_copy.Tensor_out`");
    run("lists", &["xnnpack_two_delegates"], &[])
        .exits(1)
        .stderr_contains("instruction 0 was executed as DELEGATE_CALL, but it is a OPERATOR_CALL in method `forward`");
    run("linear", &["linear"], &["--method", "other"]).exits(1).stderr_contains("the program has no such method");
    // The first instructions of both are the same.
    let short = "methods: {forward: {values: {x: {tensor: float32, sizes: [2]}, n: {tensor: int64, sizes: []}}, inputs: [x, n], outputs: [y],
      instructions: [{kernel: aten::_local_scalar_dense, args: [n], out: limit}, {kernel: aten::clone.out, args: [x], out: y}]}}";
    let folder = Folder::new(&[("short.yaml", short), ("bad.etdump", "not a dump"), ("empty.etdump", "")]);
    let path = recorded("loop").display().to_string();
    let done = folder.run(&["profile", "short.yaml", &path]).exits(1);
    done.stderr_contains("instruction 2 was executed, but method `forward` has 2 instructions");
    folder.run(&["profile", "short.yaml", "bad.etdump"]).exits(1).stderr_contains("bad.etdump: not a valid ETDump:");
    folder.run(&["profile", "short.yaml", "empty.etdump"]).exits(1).stderr_contains("the file is empty");
    folder.run(&["profile", "short.yaml", "missing.etdump"]).exits(3);
    folder.run(&["report", "short.yaml", "--etdump", &path]).exits(1).stderr_contains(other);
}

/// A row counts the results that it does not name, also those beyond the ones in the document.
#[test]
fn results_beyond_the_first_are_counted() {
    let parts: Vec<String> = (0..21).map(|part| format!("r{part}")).collect();
    let yaml = format!(
        "methods:\n  forward:\n    values: {{x: {{tensor: float32, sizes: [2, 20]}}, y: {{tensor: float32, sizes: [2, 1]}}}}\n    \
         inputs: [x, y]\n    outputs: [pair]\n    instructions:\n      - {{kernel: aten::cat.out, args: [[x, y, x], 1], out: wide}}\n      \
         - {{kernel: aten::split_copy.Tensor_out, args: [wide, 2, 1], out: [{}]}}\n      \
         - {{kernel: aten::stack.out, args: [[r0, r1]], out: pair}}\n",
        parts.join(", ")
    );
    let folder = Folder::new(&[("m.yaml", &yaml)]);
    let path = recorded("lists").display().to_string();
    let done = folder.run(&["profile", "m.yaml", &path, "--by", "instruction"]).exits(0);
    let text = String::from_utf8(done.stdout).unwrap();
    assert!(text.contains("-> `r0`, `r1`, `r2`, `r3`, `r4` and 16 more\n"), "{text}");
    let json: Value =
        serde_json::from_slice(&folder.run(&["profile", "m.yaml", &path, "--json"]).exits(0).stdout).unwrap();
    let split = &json["methods"][0]["instructions"][1];
    assert_eq!((split["results"].as_array().unwrap().len(), &split["more_results"]), (16, &5.into()));
}

#[test]
fn methods_with_the_same_instructions_are_selected_by_name() {
    let yaml = std::fs::read_to_string(example("linear")).unwrap();
    let method = yaml.split_once("  forward:\n").unwrap().1;
    let folder = Folder::new(&[("two.yaml", &format!("methods:\n  forward:\n{method}  again:\n{method}"))]);
    std::fs::create_dir_all(folder.path().join("data")).unwrap();
    std::fs::copy(root().join("examples/data/linear.safetensors"), folder.path().join("data/linear.safetensors"))
        .unwrap();
    let path = recorded("linear").display().to_string();
    let ambiguous = "the methods `forward` and `again` have the executed instructions: select one with `--method NAME`";
    folder.run(&["profile", "two.yaml", &path]).exits(1).stderr_contains(ambiguous);
    let done = folder.run(&["profile", "two.yaml", &path, "--method", "aga*"]).exits(0);
    assert!(String::from_utf8(done.stdout).unwrap().contains("method again: 2 executions"));
}

#[test]
fn reports_have_the_times() {
    let model = Model::open(example("linear")).unwrap();
    let mut options = ReportOptions::default();
    let without = model.report(None, &options).unwrap();
    options.profile = Some(profile("linear"));
    let page = model.report(None, &options).unwrap();
    let document = |page: &str| -> Value {
        let start = page.find("id=\"data\">").unwrap() + "id=\"data\">".len();
        serde_json::from_str(page[start..].split_once("</script>").unwrap().0).unwrap()
    };
    assert!(document(&without).get("profile").is_none());
    let found = document(&page);
    assert_eq!(found["profile"]["methods"][0]["instructions"][1]["label"], "aten::addmm.out");
    assert_eq!(found["profile"], serde_json::to_value(profile("linear")).unwrap());
}
