//! Work and memory of all commands: files of less than 1 MB in which many calls, delegates or methods refer to the same
//! list or payload, or many tensors to the same or overlapping data; many methods with loops, or with calls whose
//! results are evaluated; many moves; YAML with many documents or errors. Each command must end within 2 s of CPU time
//! and 200 MB of memory; `diff`, which reads two files, within 400 MB; `golden`, which prints a difference of all lines
//! of their YAML, too, within 400 MB and 6 s.
//!
//! The limits are those of an optimised build; a debug build gets ten times the CPU time, because it takes four to
//! eight times as long. Memory is limited as address space, with one arena of malloc, in addition to the size of the
//! binary.
//!
//! | variable | meaning |
//! |---|---|
//! | `PTE_EMIT_WORK_SEED` | a seed, 1 by default; `fresh` for a random one |
//! | `PTE_EMIT_WORK_COUNT` | number of files, 4 by default |
//! | `PTE_EMIT_WORK_BINARY` | an optimised binary to run, with a limit of 2 s |

use std::fmt::Write;
use std::path::Path;
use std::process::{Command, Output};

use pte_emit::{AssembleOptions, Model};
use pte_generate::random::Random;

use crate::support::folder::Folder;

/// Limit of the memory in KiB.
const KIBIBYTES: u64 = 200 << 10;

/// Largest file in bytes.
const SIZE: usize = 1 << 20;

/// Commands with a file `m.pte`, `other.pte` and its YAML.
const COMMANDS: &[&str] = &[
    "dump m.pte",
    "dump m.pte --data inline",
    "dump m.pte --data hash",
    "check m.pte",
    "check m.pte --format json",
    "check m.pte --runtime all",
    "m.pte -o older.pte --for-runtime 0.7",
    "inspect m.pte",
    "memory m.pte --json",
    "kernels m.pte",
    "embed m.pte -o m --facts",
    "kernels m.pte --format yaml",
    "check m.pte --target pico2",
    "size m.pte --levels method,tensor",
    "annotate m.pte",
    "payload list m.pte",
    "diff m.pte m.pte",
    "golden m.pte other.yaml",
    "golden m.pte other.yaml --bless",
    "report m.pte",
    "report m.pte --data-statistics",
    "report m.pte --to dot",
    "report m.pte --to model-explorer",
    "m.pte -o pruned.pte --prune",
    "optimize m.pte -o optimized.pte",
    "strip m.pte -o stripped.pte",
    "extract m.pte --method '*' -o extracted.pte",
    "merge m.pte other.pte -o merged.pte",
    "bound m.pte --static -o bound.pte",
    "weights list m.pte",
    "manifest m.pte",
];

/// Commands with YAML, `m.yaml`.
const YAML_COMMANDS: &[&str] = &[
    "check m.yaml",
    "check m.yaml --format json",
    "check m.yaml --format sarif",
    "check m.yaml --runtime all",
    "m.yaml -o folder/",
    "m.yaml -o folder/ --force --for-runtime 0.7",
    "inspect m.yaml",
    "memory m.yaml --json",
    "size m.yaml",
    "kernels m.yaml",
];

/// Program that is merged with `m.pte`.
const OTHER: &str = "methods: {other: {inputs: [x], outputs: [x], values: {x: {tensor: float32, sizes: [1]}}}}";

/// Runs a command within the limits.
fn limited(folder: &Folder, command: &str) -> Output {
    let optimised = std::env::var("PTE_EMIT_WORK_BINARY").ok();
    let seconds = if cfg!(debug_assertions) && optimised.is_none() { 20 } else { 2 };
    let binary = optimised.as_deref().unwrap_or(env!("CARGO_BIN_EXE_pte-emit"));
    let own = std::fs::metadata(binary).unwrap().len() >> 10;
    // These read two files.
    let is_golden = command.starts_with("golden");
    let files = if command.starts_with("diff") || is_golden { 2 } else { 1 };
    let seconds = if is_golden { 3 * seconds } else { seconds };
    let limits = format!("ulimit -v {}; ulimit -t {seconds}; exec {binary} {command} > out", files * KIBIBYTES + own);
    let mut shell = Command::new("sh");
    shell.args(["-c", &limits]).env("MALLOC_ARENA_MAX", "1").current_dir(folder.path());
    shell.output().unwrap()
}

/// A file of a test.
enum File {
    /// A program, `m.pte`.
    Program(Vec<u8>),
    /// YAML, `m.yaml`.
    Yaml(String),
}

impl File {
    fn len(&self) -> usize {
        match self {
            File::Program(bytes) => bytes.len(),
            File::Yaml(text) => text.len(),
        }
    }

    fn commands(&self) -> &'static [&'static str] {
        match self {
            File::Program(_) => COMMANDS,
            File::Yaml(_) => YAML_COMMANDS,
        }
    }
}

/// Returns the commands that exceed the limits for a file.
fn exceeding(name: &str, file: &File, commands: &[&str]) -> Vec<String> {
    let folder = Folder::new(&[]);
    match file {
        File::Program(bytes) => folder.write("m.pte", bytes),
        File::Yaml(text) => folder.write("m.yaml", text),
    }
    folder.write("other.pte", assembled(OTHER));
    folder.write("other.yaml", OTHER);
    let fails = |command: &&&str| {
        let Output { status, stderr, .. } = limited(&folder, command);
        let is_over =
            !matches!(status.code(), Some(0..=3)) || String::from_utf8_lossy(&stderr).contains("memory allocation");
        if is_over {
            println!("{name}: {command}: {status}: {}", String::from_utf8_lossy(&stderr).lines().next().unwrap_or(""));
        }
        is_over
    };
    commands.iter().filter(fails).map(|command| format!("{name}: {command}")).collect()
}

/// Program in which `calls` calls of an operator have a list of `items` items, of which `distinct` are different.
fn lists(operator: &str, kind: &str, items: usize, distinct: usize, calls: usize) -> String {
    let mut values = String::new();
    for number in 0..distinct {
        let value = if kind == "int_list" { "{int: 1}" } else { "{tensor: float32, sizes: [1]}" };
        let _ = writeln!(values, "      x{number}: {value}");
    }
    let names: Vec<String> = (0..items).map(|item| format!("x{}", item % distinct)).collect();
    let call = format!("      - {{kernel: {operator}, args: [l, zero, y, y]}}\n");
    format!(
        "methods:\n  forward:\n    values:\n{values}      zero: {{int: 0}}\n      l: {{{kind}: [{}]}}\n      \
         y: {{tensor: float32, sizes: [{items}]}}\n    outputs: [y]\n    instructions:\n{}",
        names.join(", "),
        call.repeat(calls)
    )
}

/// Program in which `delegates` delegates of `methods` methods have the same payload, as a file: YAML that repeats a
/// graph takes as much time to assemble as its delegates have nodes.
fn payloads(payload: &[u8], methods: usize, delegates: usize) -> Vec<u8> {
    let folder = Folder::new(&[]);
    folder.write("payload.bin", payload);
    let mut out = "methods:\n".to_owned();
    for method in 0..methods {
        let _ = writeln!(out, "  m{method}:\n    outputs: [1]\n    delegates:");
        for delegate in 0..delegates {
            let _ = writeln!(out, "      d{delegate}: {{backend: XnnpackBackend, data: {{file: payload.bin}}}}");
        }
    }
    assembled_in(folder.path(), &out)
}

/// Program with `tensors` constants. Those of the file are small; `raw` then makes them ranges of the first one, which
/// has `bytes` bytes: the same range if `step` is 0, or ranges that overlap, each of which begins `step` bytes after
/// the previous one.
fn constants(tensors: usize, bytes: usize, step: usize) -> String {
    let mut out = format!(
        "methods:\n  forward:\n    outputs: [w0]\n    values:\n      w0: {{tensor: uint8, sizes: [{bytes}], data: {{random: {{seed: 1}}}}}}\n"
    );
    let mut set = String::new();
    for number in 1..tensors {
        let _ = writeln!(out, "      w{number}: {{tensor: int32, sizes: [1], data: [{number}]}}");
        let size = bytes.saturating_sub(step * number) / 4;
        let _ = writeln!(set, "    methods.forward.values[{number}].sizes[0]: {size}");
        let _ = writeln!(set, "    constant_segment.offsets[{}]: {}", number + 1, step * number);
    }
    format!("{out}raw:\n  set:\n{set}")
}

/// Program of methods with a loop that takes `rounds` rounds, of which each changes `counters` numbers.
fn loops(methods: usize, counters: usize, rounds: i64) -> String {
    let mut out = "methods:\n".to_owned();
    for method in 0..methods {
        let _ = writeln!(out, "  m{method}:\n    values:\n      c: {{bool: false}}");
        (0..counters).for_each(|counter| _ = writeln!(out, "      i{counter}: {{int: 0}}"));
        out += "    outputs: [i0]\n    instructions:\n      - {move: {from: {int: 1}, to: i0}}\n";
        for counter in 0..counters {
            let label = if counter == 0 { "label: top, " } else { "" };
            let by = if counter == 0 { "{int: 1}".to_owned() } else { format!("i{}", counter - 1) };
            let _ = writeln!(
                out,
                "      - {{{label}kernel: 'executorch_prim::add.Scalar', args: [i{counter}, {by}, i{counter}]}}"
            );
        }
        let _ = writeln!(
            out,
            "      - {{kernel: 'executorch_prim::ge.Scalar', args: [i0, {{int: {rounds}}}, c]}}\n      - \
             {{jump_false: {{cond: c, to: top}}}}"
        );
    }
    out
}

/// Program of methods that compute indices of an embedding from constants, in `calls` calls with results of `elements`
/// elements.
fn evaluations(methods: usize, operator: &str, calls: usize, elements: usize) -> String {
    let mut out = "methods:\n".to_owned();
    for method in 0..methods {
        let _ = writeln!(
            out,
            "  m{method}:\n    values:\n      w: {{tensor: uint8, sizes: [4, 8], data: {{fill: 1}}}}\n      s: {{tensor: \
             float32, sizes: [4], data: [1, 1, 1, 1]}}\n    outputs: [y]\n    instructions:\n      - {{kernel: \
             aten::arange.start_out, args: [0, {elements}], out: i0}}"
        );
        for call in 0..calls {
            let other = if operator == "aten::add.out" { format!(", i{call}") } else { String::new() };
            let _ = writeln!(out, "      - {{kernel: {operator}, args: [i{call}{other}], out: i{}}}", call + 1);
        }
        let _ = writeln!(
            out,
            "      - {{kernel: quantized_decomposed::embedding_byte.out, args: [w, s, null, 0, 255, i{calls}], out: y}}"
        );
    }
    out
}

/// Program of methods that move tensors to others; a second call of each tensor writes it again.
fn moves(random: &mut Random, methods: usize, tensors: usize, moves: usize, is_rewritten: bool) -> String {
    let mut out = "methods:\n".to_owned();
    for method in 0..methods {
        let _ = writeln!(
            out,
            "  m{method}:\n    values: {{x: {{tensor: float32, sizes: [2]}}}}\n    inputs: [x]\n    outputs: [y]\n    \
             instructions:"
        );
        let calls = |out: &mut String| {
            for tensor in 0..tensors {
                let _ = writeln!(out, "      - {{kernel: aten::relu.out, args: [x], out: r{tensor}}}");
            }
        };
        calls(&mut out);
        for _ in 0..moves {
            let (from, to) = (random.below(tensors), random.below(tensors));
            let _ = writeln!(out, "      - {{move: {{from: r{from}, to: r{to}}}}}");
        }
        if is_rewritten {
            calls(&mut out);
        }
        out += "      - {kernel: aten::relu.out, args: [r0], out: y}\n";
    }
    out
}

/// Payload of XNNPACK with a graph of `nodes` operations.
fn graph(nodes: usize) -> Vec<u8> {
    let nodes: Vec<String> = (0..nodes)
        .map(|node| {
            format!(
                "{{abs: {{input: {}, output: v{node}}}}}",
                node.checked_sub(1).map_or("x".into(), |n| format!("v{n}"))
            )
        })
        .collect();
    let last = nodes.len() - 1;
    let graph = format!(
        "{{values: {{x: {{datatype: fp32, sizes: [1]}}}}, inputs: [x], outputs: [v{last}], nodes: [{}]}}",
        nodes.join(", ")
    );
    let yaml = format!("methods: {{m: {{delegates: {{d: {{backend: XnnpackBackend, graph: {graph}}}}}}}}}");
    let payload = &Model::from_yaml("m.yaml", yaml, ".").payloads().unwrap_or_else(|error| panic!("{error}"))[0];
    payload.data.to_vec().unwrap()
}

fn assembled(yaml: &str) -> Vec<u8> {
    assembled_in(Path::new("."), yaml)
}

/// Assembles YAML that refers to files in a folder.
fn assembled_in(folder: &Path, yaml: &str) -> Vec<u8> {
    let model = Model::from_yaml("m.yaml", yaml, folder);
    let assembly = model.assembly().unwrap_or_else(|error| panic!("{error}\n{}", &yaml[..yaml.len().min(2000)]));
    assembly.program_file().unwrap().to_vec().unwrap()
}

/// YAML with many documents or errors, with its description.
fn random_yaml(random: &mut Random) -> (String, String) {
    let (what, part) = random.pick(&[
        (
            "documents of a method",
            "methods: {f: {inputs: [x], outputs: [x], values: {x: {tensor: float32, sizes: [1]}}}}\n---\n",
        ),
        ("documents of a loop", LOOP),
        ("documents without methods", "a: 1\n---\n"),
        ("empty documents", "---\n"),
        ("unknown values", "z,"),
        ("unknown keys", "k: 1,"),
        ("wrong kinds", "{},"),
        ("undefined variables", "${A},"),
        ("unknown operators", "{kernel: 'a::b', args: []},"),
        ("tests with unknown values", "{inputs: [z]},"),
    ]);
    let count = 1 + random.below((SIZE - 100) / part.len());
    let all = part.repeat(count);
    let text = match what {
        "unknown values" | "undefined variables" => format!("methods: {{f: {{outputs: [{all}]}}}}"),
        "unknown keys" => format!("methods: {{f: {{{all}}}}}"),
        "wrong kinds" => format!("methods: {{f: {{inputs: [{all}]}}}}"),
        "unknown operators" => format!("methods: {{f: {{instructions: [{all}]}}}}"),
        "tests with unknown values" => format!("methods: {{f: {{outputs: [1], tests: [{all}]}}}}"),
        _ => all,
    };
    (format!("{count} {what}"), text)
}

/// A document with a loop from literals.
const LOOP: &str = "methods: {f: {values: {i: {int: 0}, c: {bool: false}}, outputs: [i], instructions: [{move: {from: \
                    {int: 1}, to: i}}, {label: top, kernel: 'executorch_prim::add.Scalar', args: [i, {int: 1}, i]}, \
                    {kernel: 'executorch_prim::ge.Scalar', args: [i, {int: 1000000}, c]}, {jump_false: {cond: c, to: \
                    top}}]}}\n---\n";

/// A random file, with its description.
fn random_file(random: &mut Random) -> (String, File) {
    let name;
    let yaml = match random.below(10) {
        0 | 1 => {
            let (operator, kind) = random.pick(&[
                ("aten::cat.out", "tensor_list"),
                ("aten::stack.out", "tensor_list"),
                ("my::op.out", "tensor_list"),
                ("my::op.out", "optional_tensor_list"),
                ("my::op.out", "int_list"),
            ]);
            let calls = 1000 + random.below(15_000);
            let items = (SIZE - 60 * calls) / 4;
            let items = 1 + random.below(items.min(100_000));
            let distinct = 1 + random.below(items.min((SIZE - 4 * items - 50 * calls.min(12_000)) / 80).max(1));
            let calls = ((SIZE - 4 * items - 80 * distinct) / 70).min(calls);
            name = format!("{items} items of a {kind}, {distinct} distinct, in {calls} calls of {operator}");
            lists(operator, kind, items, distinct, calls)
        }
        2 => {
            let (tensors, bytes) = (2 + random.below(2500), 1000 + random.below(600_000));
            let step = random.pick(&[0, 4, 16]);
            name = format!("{tensors} constants in the same {bytes} bytes, each {step} after the previous one");
            constants(tensors, bytes, step)
        }
        3 => {
            let (counters, rounds) = (1 + random.below(30), random.pick(&[100, 10_000, 1_000_000_000]));
            let methods = 1 + random.below(SIZE / (700 + 170 * counters));
            name = format!("{methods} methods with a loop of {rounds} rounds that changes {counters} numbers");
            loops(methods, counters, rounds)
        }
        4 => {
            let operator = random.pick(&["aten::add.out", "aten::neg.out", "aten::abs.out", "aten::clone.out"]);
            let (calls, elements) = (1 + random.below(200), 1 + random.below(2_000_000));
            let methods = 1 + random.below(SIZE / (1500 + 150 * calls));
            name = format!("{methods} methods with {calls} calls of {operator} on {elements} elements");
            evaluations(methods, operator, calls, elements)
        }
        5 => {
            let (methods, tensors) = (1 + random.below(4), 1 + random.below(3000));
            let (count, is_rewritten) = (1 + random.below(8000 / methods), random.below(2) == 0);
            let tensors = tensors / methods + 1;
            name = format!("{methods} methods with {count} moves among {tensors} tensors, rewritten: {is_rewritten}");
            moves(random, methods, tensors, count, is_rewritten)
        }
        6..=8 => {
            let (name, text) = random_yaml(random);
            return (name, File::Yaml(text));
        }
        _ => {
            let (methods, delegates) = (1 + random.below(20), 1 + random.below(250));
            let (kind, payload) = match random.below(2) {
                0 => ("graphs", graph(1 + random.below(2000))),
                _ => ("payloads", vec![1; 1 + random.below(400_000)]),
            };
            let size = payload.len();
            let name = format!("{methods} methods with {delegates} delegates of the same {kind} of {size} bytes");
            return (name, File::Program(payloads(&payload, methods, delegates)));
        }
    };
    (name, File::Program(assembled(&yaml)))
}

#[test]
fn constants_that_overlap_are_not_written_apart_without_bound() {
    let folder = Folder::new(&[]);
    folder.write("m.pte", assembled(&constants(200, 400_000, 4)));
    let file = folder.path().join("m.pte");
    let written = |options: AssembleOptions| {
        Model::open(&file).unwrap().assemble(&options).map(|assembly| assembly.program_file().unwrap().size().unwrap())
    };
    let error = written(AssembleOptions::default()).unwrap_err().to_string();
    assert!(error.contains("are written for 400000 bytes; remove what is unused with the option `prune`"), "{error}");
    assert!(written(AssembleOptions::default().prune(true)).unwrap() < 1 << 20);
    assert!(written(AssembleOptions::default().max_size(1 << 30)).unwrap() > 79_000_000);
}

/// Fixed files: a list in many calls, and a payload of many delegates.
#[test]
#[cfg(target_os = "linux")]
fn shared_lists_and_payloads_are_printed_once() {
    // Debug builds are slow, so these are smaller than the limits permit.
    let list = assembled(&lists("my::op.out", "tensor_list", 10_000, 300, 1500));
    let payload = payloads(&[1; 200_000], 4, 250);
    let repeated = payloads(&graph(300), 2, 150);
    let list = File::Program(list);
    let mut failed = exceeding("list", &list, &["dump m.pte", "memory m.pte", "report m.pte --to model-explorer"]);
    for (name, file) in [("payload", payload), ("graph", repeated)] {
        failed.extend(exceeding(
            name,
            &File::Program(file),
            &["dump m.pte", "dump m.pte --data inline", "report m.pte --data-statistics"],
        ));
    }
    for (name, step) in [("same constants", 0), ("overlapping constants", 16)] {
        let file = File::Program(assembled(&constants(1000, 400_000, step)));
        failed.extend(exceeding(name, &file, &["dump m.pte --data inline", "dump m.pte --data hash", "check m.pte"]));
    }
    assert!(failed.is_empty(), "{failed:#?}");
}

/// Indices of 1.6 GB that are a part of memory which is filled with a number.
const PART: &str = "methods:
  forward:
    values:
      w: {tensor: uint8, sizes: [4, 8], data: {fill: 1}}
      s: {tensor: float32, sizes: [4], data: [1, 1, 1, 1]}
      f: {tensor: int64, sizes: [268435456], memory: {pool: 1, offset: 0}}
      i: {tensor: int64, sizes: [200000000], mutable: true, memory: {pool: 1, offset: 8}}
      e: {tensor: float32, sizes: [200000000, 8]}
    outputs: [e]
    instructions:
      - {kernel: aten::full.out, args: [[268435456], 2], out: f}
      - {kernel: quantized_decomposed::embedding_byte.out, args: [w, s, null, 0, 255, i], out: e}
";

/// Fixed files: what methods, documents and messages multiply.
#[test]
#[cfg(target_os = "linux")]
fn methods_documents_and_messages_share_their_limits() {
    let program = |yaml: String| File::Program(assembled(&yaml));
    let check: &[&str] = &["check m.pte", "check m.pte --runtime all"];
    let mut random = Random::of_item(1, 1);
    let mut failed = exceeding("loops", &program(loops(60, 4, 1_000_000_000)), check);
    failed.extend(exceeding("evaluations", &program(evaluations(20, "aten::add.out", 100, 100_000)), check));
    failed.extend(exceeding("a part of other memory", &program(PART.to_owned()), check));
    failed.extend(exceeding("moves", &program(moves(&mut random, 1, 1500, 2000, false)), &["optimize m.pte -o o.pte"]));
    let payload = File::Program(payloads(&graph(1000), 1, 500));
    failed.extend(exceeding("payloads", &payload, &["m.pte -o o.pte --for-runtime 0.7"]));
    let yaml: &[&str] = &["check m.yaml", "check m.yaml --format json", "m.yaml -o folder/"];
    for (name, text) in [
        ("documents", "a: 1\n---\n".repeat(20_000)),
        ("loops", LOOP.repeat(300)),
        ("names", format!("methods: {{f: {{outputs: [{}]}}}}", "z,".repeat(400_000))),
    ] {
        failed.extend(exceeding(name, &File::Yaml(text), yaml));
    }
    assert!(failed.is_empty(), "{failed:#?}");
}

#[test]
#[cfg(target_os = "linux")]
#[ignore = "takes a minute; .ci/run runs it with an optimised binary"]
fn no_command_exceeds_its_limits() {
    let variable = |name: &str| std::env::var(name).ok();
    let seed = match variable("PTE_EMIT_WORK_SEED").as_deref() {
        Some("fresh") => std::time::UNIX_EPOCH.elapsed().unwrap().as_nanos() as u64,
        seed => seed.map_or(1, |seed| seed.parse().unwrap()),
    };
    let count = variable("PTE_EMIT_WORK_COUNT").map_or(4, |count| count.parse().unwrap());
    println!("seed {seed}");
    let mut failed = Vec::new();
    for number in 0..count {
        let (name, file) = random_file(&mut Random::of_item(seed, number));
        println!("{number}: {name}: {} bytes", file.len());
        failed.extend(exceeding(&format!("{number}: {name}"), &file, file.commands()));
    }
    assert!(failed.is_empty(), "seed {seed}: {failed:#?}");
}
