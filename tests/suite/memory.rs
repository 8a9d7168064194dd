//! `pte-emit memory`: limits of its figures, and what counts in them. The figures are compared with the real runtime in
//! lab/tests/runtime.

use pte_emit::Model;
use pte_emit::memory::{Abi, MemoryOptions};
use serde_json::{Value, json};

use crate::support::folder::{Folder, RELU};
use crate::support::root;

/// A method whose input and output the caller provides.
const PROVIDED: &str = "
methods:
  forward:
    values:
      x: {tensor: float32, sizes: [2, 50], memory: none}
      y: {tensor: float32, sizes: [2, 50], memory: none}
    inputs: [x]
    outputs: [y, y, x]
    instructions:
      - {kernel: aten::relu.out, args: [x], out: y}
";

/// Two methods of different sizes.
const METHODS: &str = "
methods:
  small:
    values:
      x: {tensor: float32, sizes: [2, 2]}
    inputs: [x]
    outputs: [y]
    instructions:
      - {kernel: aten::relu.out, args: [x], out: y}
  large:
    values:
      x: {tensor: float32, sizes: [2, 500]}
    inputs: [x]
    outputs: [largest, places]
    instructions:
      - {kernel: aten::topk.values, args: [x, 3], out: [largest, places]}
";

/// An operator and a backend of which nothing is known.
const UNKNOWN: &str = "
methods:
  forward:
    delegates:
      part: {backend: MyBackend, data: {text: compiled}}
    values:
      x: {tensor: float32, sizes: [4]}
      y: {tensor: float32, sizes: [4]}
      z: {tensor: float32, sizes: [4]}
    inputs: [x]
    outputs: [z]
    instructions:
      - {kernel: my::scale.out, args: [x], out: y}
      - {delegate: part, args: [y, z]}
";

fn memory(folder: &Folder, arguments: &[&str], code: i32) -> Value {
    let done = folder.run(&[&["memory", "--json"], arguments].concat()).exits(code);
    serde_json::from_slice(&done.stdout).unwrap()
}

#[test]
fn the_caller_provides_what_has_no_planned_memory() {
    let folder = Folder::new(&[("provided.yaml", PROVIDED), ("relu.yaml", RELU)]);
    let found = memory(&folder, &["provided.yaml"], 0);
    let method = &found["methods"][0];
    assert_eq!((&method["planned"], &method["inputs"]["bytes"]), (&json!(0), &json!(400)));
    // `y` is listed twice, and `x` is an input.
    assert_eq!(method["outputs"]["bytes"], 400);
    let provided: Vec<&Value> =
        method["outputs"]["tensors"].as_array().unwrap().iter().map(|tensor| &tensor["provided"]).collect();
    assert_eq!(provided, [&json!(true), &json!(true), &json!(false)]);
    let parts = ["method_allocator", "temporary_allocator"].map(|part| method[part]["bytes"].as_u64().unwrap());
    assert_eq!(method["total"]["bytes"], 800 + parts.iter().sum::<u64>());
    let planned = memory(&folder, &["relu.yaml"], 0);
    assert_eq!(planned["methods"][0]["inputs"]["bytes"], 0);
    let text = folder.run(&["memory", "provided.yaml"]).exits(0).stdout;
    let text = String::from_utf8(text).unwrap();
    assert!(text.contains("  inputs that the caller provides: 400 bytes\n    400  0: x: float32 [2, 50]\n"), "{text}");
}

#[test]
fn methods_are_loaded_together_or_one_at_a_time() {
    let folder = Folder::new(&[("methods.yaml", METHODS)]);
    for abi in ["64", "arm32"] {
        let found = memory(&folder, &["methods.yaml", "--abi", abi], 0);
        let total = |at: &Value, key: &str| at["total"][key].as_u64().unwrap();
        let methods = found["methods"].as_array().unwrap();
        let [small, large] = [0, 1].map(|index| total(&methods[index], "bytes"));
        assert_eq!(total(&found, "bytes"), small + large, "{abi}");
        assert_eq!(found["largest_method"]["bytes"], large, "{abi}");
        let files = found["loaded"]["bytes"].as_u64().unwrap();
        assert_eq!(found["largest_method"]["with_files"], large + files);
        assert_eq!(total(&found, "with_files"), small + large + files);
        // A queue of pairs of 16 bytes, which both builds have.
        let temporary = &methods[1]["temporary_allocator"];
        assert_eq!((&temporary["bytes"], &temporary["kernels"]), (&json!(8000), &json!(8000)), "{abi}");
        assert_eq!(temporary["largest"], "instruction 0, aten::topk.values");
        // Three arguments and the repeated out, each with type, dim_order and 16 dimensions.
        let lookup = if abi == "64" { 3 * 40 } else { 3 * 28 };
        assert_eq!(methods[0]["temporary_allocator"]["bytes"], lookup, "{abi}");
    }
}

#[test]
fn a_limit_that_is_exceeded_is_status_1() {
    let folder = Folder::new(&[("methods.yaml", METHODS)]);
    let found = memory(&folder, &["methods.yaml"], 0);
    let total = found["total"]["bytes"].as_u64().unwrap();
    let limits = [format!("total={total},planned=1M"), "largest_method=16KiB".to_owned()];
    let kept = memory(&folder, &["methods.yaml", "--max", &limits[0], "--max", &limits[1]], 0);
    let lines = kept["limits"].as_array().unwrap();
    assert_eq!(lines.len(), 3);
    assert_eq!(lines[0], json!({"key": "total", "limit": total, "bytes": total, "at_least": false, "exceeded": false}));
    assert!(found.get("limits").is_none());

    let limit = format!("total={},temporary_allocator=4K", total - 1);
    let done = folder.run(&["memory", "methods.yaml", "-q", "--max", &limit]).exits(1);
    let done = done.stderr_contains(&format!("`total`: found {total} bytes in total, expected at most {}", total - 1));
    let done = done.stderr_contains("temporary allocator (instruction 0, aten::topk.values) of method large: 8000;");
    done.stderr_contains(
        "`temporary_allocator`: found 8120 bytes of the temporary allocator, expected at most 4K (4096)",
    );
    for limit in ["size=1", "total", "total=", "total=1%", "total=-1", "total=1,total=1", "total=9999999999T"] {
        folder.run(&["memory", "methods.yaml", "--max", limit]).exits(2);
    }
}

#[test]
fn what_is_not_known_is_named() {
    let folder = Folder::new(&[("unknown.yaml", UNKNOWN)]);
    let found = memory(&folder, &["unknown.yaml"], 0);
    let method = &found["methods"][0];
    assert_eq!(method["temporary_allocator"]["unknown"], json!(["MyBackend", "my::scale.out"]));
    assert_eq!(method["not_counted"], json!(["MyBackend"]));
    assert_eq!((&method["total"]["at_least"], &found["total"]["at_least"]), (&json!(true), &json!(true)));
    assert_eq!(method["loaded"]["payloads"], 8);
    let done = folder.run(&["memory", "unknown.yaml", "--max", "total=1M"]).exits(0);
    let done = done.stderr_contains("warning: unknown.yaml: `total`: it is not known whether at most 1M (1048576)");
    done.stderr_contains("not counted: all that these take: `MyBackend`, `my::scale.out`");
}

/// The `.ptd` files count for loaders that read files into RAM.
#[test]
fn data_files_are_in_ram_if_a_loader_reads_them() {
    let source = std::fs::read_to_string("examples/linear_external.yaml").unwrap();
    let folder = Folder::new(&[("model.yaml", &source)]);
    folder.run(&["model.yaml", "-q", "-o", "model.pte"]).exits(0);
    let of_source = memory(&folder, &["model.yaml"], 0);
    let alone = memory(&folder, &["model.pte"], 0);
    let with = memory(&folder, &["model.pte", "--with", "model.ptd"], 0);
    assert_eq!((&with["loaded"], &with["total"]), (&of_source["loaded"], &of_source["total"]));
    assert_eq!((&alone["loaded"]["at_least"], &alone["loaded"]["data_files"]), (&json!(true), &json!(0)));
    assert_eq!(with["methods"][0]["loaded"]["external_constants"], 60);
    let text = folder.run(&["memory", "model.pte", "--max", "files=1M"]).exits(0);
    text.stderr_contains("not counted: the metadata of the .ptd files that the program needs");
}

/// Budgets of `diff` have the names of the figures.
#[test]
fn budgets_have_the_same_figures() {
    let folder = Folder::new(&[("relu.yaml", RELU), ("provided.yaml", PROVIDED), ("weights.ptd", "")]);
    let figures = "planned,method_allocator,temporary_allocator,inputs,outputs,delegates,files,total,total_with_files,largest_method";
    let budget: Vec<String> = figures.split(',').map(|figure| format!("{figure}=+0")).collect();
    let done = folder.run(&["diff", "relu.yaml", "provided.yaml", "--json", "--budget", &budget.join(",")]).exits(1);
    let document: Value = serde_json::from_slice(&done.stdout).unwrap();
    let [relu, provided] = ["relu.yaml", "provided.yaml"].map(|file| memory(&folder, &[file], 0));
    let line = |key: &str| {
        let lines = document["budget"].as_array().unwrap();
        lines.iter().find(|line| line["key"] == key).unwrap_or_else(|| panic!("{key}")).clone()
    };
    let of = |memory: &Value| memory["total"]["bytes"].clone();
    let expected = json!({"key": "total", "limit": "+0", "left": of(&relu), "right": of(&provided), "exceeded": true});
    assert_eq!(line("total"), expected);
    assert_eq!((&line("inputs")["right"], &line("planned")["left"]), (&json!(400), &relu["methods"][0]["planned"]));
    assert_eq!(document["budget"].as_array().unwrap().len(), budget.len());
    folder.run(&["diff", "relu.yaml", "relu.yaml", "--abi", "arm32", "--budget", "total=+0"]).exits(0);
    folder.run(&["diff", "relu.yaml", "weights.ptd", "--budget", "total=+0"]).exits(2);
}

/// Two delegates of XNNPACK that share a workspace: the parts in a message add up to the figure.
#[test]
fn the_parts_of_a_figure_are_its_sum() {
    let graph = |size: usize| {
        format!(
            "{{backend: XnnpackBackend, graph: {{values: {{x: {{datatype: fp32, sizes: [{size}]}}}}, inputs: [x], outputs: [y], \
             nodes: [{{abs: {{input: x, output: a}}}}, {{softmax: {{input: a, output: y}}}}]}}}}"
        )
    };
    let tensor = |name: &str, size: usize| format!("      {name}: {{tensor: float32, sizes: [{size}]}}\n");
    let tensors: String =
        [("a", 500), ("b", 500), ("c", 400), ("d", 400)].map(|(name, size)| tensor(name, size)).concat();
    let source = format!(
        "methods:\n  forward:\n    delegates:\n      one: {}\n      two: {}\n    values:\n{tensors}    inputs: [a, c]\n    outputs: [b, d]\n    \
         instructions:\n      - {{delegate: one, args: [a, b]}}\n      - {{delegate: two, args: [c, d]}}\n",
        graph(500),
        graph(400)
    );
    let folder = Folder::new(&[("two.yaml", &source)]);
    let found = memory(&folder, &["two.yaml"], 0);
    let method = &found["methods"][0];
    let shared = method["delegates"]
        .as_array()
        .unwrap()
        .iter()
        .flat_map(|delegate| delegate["memory"]["parts"].as_array().unwrap());
    assert_eq!(shared.filter(|part| part["shared"] == true).count(), 2, "{method}");
    for (figure, expected) in [("delegates", &method["delegate_bytes"]), ("total", &found["total"]["bytes"])] {
        let done = folder.run(&["memory", "two.yaml", "-q", "--max", &format!("{figure}=1")]).exits(1);
        let text = done.stderr;
        let (_, parts) = text.split_once("the largest parts in bytes: ").unwrap();
        let parts = parts.lines().next().unwrap().split("; ").map(|part| part.rsplit_once(": ").unwrap().1);
        assert_eq!(&json!(parts.map(|bytes| bytes.parse::<u64>().unwrap()).sum::<u64>()), expected, "{figure}: {text}");
    }
}

/// What is not known in the files is a lower bound of them, and of the total with files, only.
#[test]
fn unknown_files_are_lower_bounds() {
    let source = std::fs::read_to_string("examples/linear_external.yaml").unwrap();
    let folder = Folder::new(&[("model.yaml", &source)]);
    folder.run(&["model.yaml", "-q", "-o", "model.pte"]).exits(0);
    let bounds = |found: &Value| {
        let of = |total: &Value| ["at_least", "with_files_at_least"].map(|key| total[key].as_bool().unwrap());
        [of(&found["total"]), of(&found["largest_method"])]
    };
    assert_eq!(bounds(&memory(&folder, &["model.pte"], 0)), [[false, true]; 2]);
    assert_eq!(bounds(&memory(&folder, &["model.yaml"], 0)), [[false, false]; 2]);
    let text = String::from_utf8(folder.run(&["memory", "model.pte"]).exits(0).stdout).unwrap();
    let total = text.lines().rev().nth(1).unwrap();
    assert!(total.contains("total (64-bit): ") && total.matches("at least ").count() == 1, "{total}");
    assert!(total.contains(" bytes, at least "), "{total}");
}

/// The named data that a payload refers to are not known if it cannot be decoded.
#[test]
fn payloads_that_cannot_be_decoded_are_lower_bounds() {
    let source = UNKNOWN.replace("MyBackend", "XnnpackBackend");
    let folder = Folder::new(&[
        ("unknown.yaml", &source),
        ("known.yaml", &std::fs::read_to_string("examples/xnnpack_linear.yaml").unwrap()),
    ]);
    let found = memory(&folder, &["unknown.yaml"], 0);
    assert_eq!(found["methods"][0]["loaded"]["at_least"], true);
    assert_eq!(memory(&folder, &["known.yaml"], 0)["methods"][0]["loaded"]["at_least"], false);
    let done = folder.run(&["memory", "unknown.yaml", "--max", "files=1M"]).exits(0);
    done.stderr_contains("not counted: named data and constants in files whose size is not known");
    let text = String::from_utf8(folder.run(&["memory", "unknown.yaml"]).exits(0).stdout).unwrap();
    assert!(text.contains("  if a loader reads them there: at least "), "{text}");
}

/// Sizes that a malformed file does not state are not 0.
#[test]
fn unknown_sizes_are_lower_bounds() {
    let unknown = |values: &str, raw: &str| {
        let source = PROVIDED.replace("x: {tensor: float32, sizes: [2, 50], memory: none}", values);
        format!("{source}raw:\n  set:\n    {raw}\n")
    };
    let provided = "x: {tensor: float32, sizes: [2, 50], memory: none}";
    let planned = "x: {tensor: float32, sizes: [2, 50]}";
    let files = [
        ("pool.yaml", unknown(planned, "methods.forward.non_const_buffer_sizes[1]: -1")),
        ("planned.yaml", unknown(planned, "methods.forward.values[0].sizes[0]: -1")),
        ("input.yaml", unknown(provided, "methods.forward.values[0].sizes[0]: -1")),
        ("output.yaml", unknown(provided, "methods.forward.values[1].sizes[0]: -1")),
    ];
    let folder = Folder::new(&files.each_ref().map(|(name, source)| (*name, source.as_str())));
    for ((name, _), (figure, missing)) in files.iter().zip([
        ("planned", "planned memory whose size the program does not state"),
        ("planned", "planned memory whose size the program does not state"),
        ("inputs", "inputs of unknown size"),
        ("outputs", "outputs of unknown size"),
    ]) {
        for figure in [figure, "total", "total_with_files", "largest_method"] {
            let done = folder.run(&["memory", name, "--max", &format!("{figure}=1M"), "--json"]).exits(0);
            let found: Value = serde_json::from_slice(&done.stdout).unwrap();
            assert_eq!(found["limits"][0]["at_least"], true, "{name}: {figure}");
            done.stderr_contains(missing);
        }
    }
}

/// Memory of a program, as JSON; `None` if the file cannot be read.
fn computed(source: &Model, abi: Abi) -> Option<Value> {
    let options = MemoryOptions::default().abi(abi);
    let memory = source.memory(&options).ok()?;
    Some(serde_json::to_value(memory).expect("JSON"))
}

/// Figures of the runtime built for 64-bit x86 and for 32-bit Arm.
#[test]
fn the_method_allocator_of_both_abis() {
    for (name, bits64, arm32) in [
        ("add", 384, 240),
        ("linear", 888, 564),
        ("nested", 896, 532),
        ("stateful_init", 872, 520),
        ("index", 936, 596),
        ("conv_dyn", 3104, 2080),
    ] {
        let path = root().join(format!("tests/golden/upstream/bytes/{name}/model.pte"));
        let source = Model::open(&path).expect("a golden file");
        for (abi, expected) in [(Abi::Bits64, bits64), (Abi::Arm32, arm32)] {
            let memory = computed(&source, abi).expect("a valid file");
            assert_eq!(memory["methods"][0]["method_allocator"]["bytes"], expected, "{name} {abi:?}");
        }
    }
}

/// A plan has room for all that is alive, and its timeline covers all instructions.
#[test]
fn no_pool_is_smaller_than_what_is_alive() {
    let examples =
        std::fs::read_dir(root().join("examples")).expect("the examples").map(|entry| entry.expect("an entry").path());
    let mut pools = 0;
    for path in examples.filter(|path| path.extension().is_some_and(|extension| extension == "yaml")) {
        let Ok(source) = Model::open(&path) else { continue };
        let Some(memory) = computed(&source, Abi::Bits64) else { continue };
        for method in memory["methods"].as_array().expect("methods") {
            let instructions = method["instructions"].as_array().expect("instructions").len();
            for pool in method["pools"].as_array().expect("pools") {
                let number = |key: &str| pool[key].as_u64().expect("a number");
                assert!(number("lower_bound") <= number("bytes"), "{}: {pool}", path.display());
                let timeline = pool["timeline"].as_array().expect("a timeline");
                let times: Vec<u64> = timeline.iter().filter_map(|change| change[0].as_u64()).collect();
                assert_eq!(times[0], 0, "{}", path.display());
                assert!(times.is_sorted() && times.iter().all(|time| *time < instructions as u64 + 2), "{times:?}");
                let most = timeline.iter().filter_map(|change| change[1].as_u64()).max();
                assert_eq!(most, Some(number("lower_bound")), "{}", path.display());
                pools += 1;
            }
        }
    }
    assert!(pools > 30, "{pools} pools");
}

/// What is stored of a pool follows from its tensors, not from the number of instructions.
#[test]
fn the_timelines_of_many_pools_are_small() {
    let count = 1000;
    let pool =
        |number: usize| format!("      v{number}: {{tensor: float32, sizes: [4], memory: {{pool: {}}}}}\n", number + 1);
    let call = |number: usize| format!("      - {{kernel: aten::relu.out, args: [v{}], out: v{number}}}\n", number - 1);
    let yaml = format!(
        "methods:\n  forward:\n    values:\n{}    inputs: [v0]\n    outputs: [v{}]\n    instructions:\n{}",
        (0..=count).map(pool).collect::<String>(),
        count,
        (1..=count).map(call).collect::<String>()
    );
    let memory = computed(&Model::from_yaml("pools.yaml", yaml, "."), Abi::Bits64).expect("a program");
    let pools = memory["methods"][0]["pools"].as_array().expect("pools");
    assert_eq!(pools.len(), count + 1);
    assert_eq!(pools[7]["timeline"], serde_json::json!([[0, 0], [7, 16], [9, 0]]));
}
