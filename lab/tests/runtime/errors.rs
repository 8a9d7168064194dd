//! The table of errors against the header of the real runtime, and its causes and the messages of the log against what
//! the runtime answers: `lab/conformance/errors.cpp` produces each.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::process::Command;

use pretty_assertions::assert_eq;
use pte_emit::check::{LogMessage, Recognized, RuntimeError, recognize};
use pte_emit::release::EXECUTORCH;
use pte_emit::{AssembleOptions, Model};

use crate::support::runner;

#[test]
#[ignore = "downloads the ExecuTorch runtime"]
fn errors_are_those_of_the_header() {
    let folder = runner::locate().parent().expect("a folder").to_owned();
    // Wheels of other releases may be beside it.
    let header = format!("executorch-{EXECUTORCH}/executorch/include/executorch/runtime/core/error.h");
    let header = folder.join(header);
    let text = fs::read_to_string(header).expect("it is readable");
    let (_, body) = text.split_once("enum class Error").expect("the enum");
    let (body, _) = body.split_once("};").expect("its end");
    let enumerator = |line: &str| {
        let (name, number) = line.trim().strip_suffix(',')?.split_once(" = 0x")?;
        Some((u32::from_str_radix(number, 16).ok()?, name.to_owned()))
    };
    let expected: BTreeMap<u32, String> = body.lines().filter_map(enumerator).collect();
    let found: BTreeMap<u32, String> =
        RuntimeError::all().iter().map(|error| (error.code, error.name.to_owned())).collect();
    assert_eq!(found, expected);
    assert!(found.len() > 15);
}

/// Start of a method in YAML.
const METHOD: &str = "methods: {forward: {memory: {}, outputs: [y], values: {";

/// Programs that `errors.cpp` reads, by name: the values, the inputs, the instructions, and other keys of the method.
const PROGRAMS: [(&str, &str); 11] = [
    (
        "static",
        "x: {tensor: float32, sizes: [2, 2]}, n: 3}, inputs: [x, n], instructions: [{kernel: aten::add.out, args: [x, x, n], out: y}]",
    ),
    (
        "dynamic",
        "x: &d {tensor: float32, sizes: [4], dynamism: dynamic_bound}, z: *d}, inputs: [x, z], instructions: [{kernel: aten::add.out, args: [x, z], out: y}]",
    ),
    (
        "steps",
        "x: {tensor: float32, sizes: [2, 2]}}, inputs: [x], instructions: [{kernel: aten::neg.out, args: [x], out: t}, {kernel: aten::neg.out, args: [t], out: y}]",
    ),
    (
        "unplanned",
        "x: {tensor: float32, sizes: [2, 2]}}, inputs: [x], instructions: [{kernel: aten::neg.out, args: [x], out: y}]",
    ),
    (
        "topk",
        "x: {tensor: float32, sizes: [2, 4]}}, inputs: [x], instructions: [{kernel: aten::topk.values, args: [x, 2], out: [y, i]}]",
    ),
    (
        "state",
        "t: {tensor: float32, mutable: true, data: [7, 7]}}, inputs: [], instructions: [{kernel: aten::neg.out, args: [t], out: y}]",
    ),
    (
        "external",
        "w: {tensor: float32, external: true, data: [1, 2]}}, inputs: [], instructions: [{kernel: aten::neg.out, args: [w], out: y}]",
    ),
    (
        "other",
        "v: {tensor: float32, external: true, data: [1, 2]}}, inputs: [], instructions: [{kernel: aten::neg.out, args: [v], out: y}]",
    ),
    (
        "wrong",
        "w: {tensor: int32, external: true, data: [1, 2]}}, inputs: [], instructions: [{kernel: aten::neg.out, args: [w], out: y}]",
    ),
    (
        "missing",
        "x: &t {tensor: float32, sizes: [2]}, y: *t}, inputs: [x], instructions: [{kernel: my::op.out, args: [x], out: y}]",
    ),
    (
        "backend",
        "x: &t {tensor: float32, sizes: [2]}, y: *t}, inputs: [x], delegates: {a: {backend: NoBackend, data: {hex: '00'}}}, instructions: [{delegate: a, args: [x, y]}]",
    ),
];

/// Rest of the method `xnnpack`: a sum of two tensors with dynamic sizes.
const XNNPACK: &str = "x: &d {tensor: float32, sizes: [4], dynamism: dynamic_bound}, z: *d, y: *d}, inputs: [x, z], \
    delegates: {a: {backend: XnnpackBackend, graph: {values: {x: &g {datatype: fp32, sizes: [4]}, z: *g}, inputs: [x, z], outputs: [y], \
    nodes: [{add: {input1: x, input2: z, output: y}}]}}}, instructions: [{delegate: a, args: [x, z, y]}]";

/// Parts of lines of the log that belong to a message before or after them.
const DETAILS: [&str; 3] = ["with type id", "operator_registry.cpp", "broadcast_util.h"];

#[test]
#[ignore = "downloads the ExecuTorch runtime"]
fn each_cause_and_message_has_the_error_of_the_table() {
    let program = runner::locate().with_file_name("errors");
    let folder = tempfile::tempdir().unwrap();
    for (name, rest) in PROGRAMS.into_iter().chain([("xnnpack", XNNPACK)]) {
        let memory = if name == "unplanned" { "memory: {outputs: unplanned}" } else { "memory: {}" };
        let yaml = format!("{METHOD}{rest}}}}}\n").replace("memory: {}", memory);
        let model = Model::from_yaml(name, &yaml, ".");
        let assembly = model.assemble(&AssembleOptions::default()).unwrap_or_else(|error| panic!("{name}: {error}"));
        let write = |name: String, bytes: Vec<u8>| fs::write(folder.path().join(name), bytes).unwrap();
        write(format!("{name}.pte"), assembly.program_file().unwrap().to_vec().unwrap());
        for (_, file) in assembly.data_files() {
            write(format!("{name}.ptd"), file.to_vec().unwrap());
        }
    }
    let output = Command::new(program).arg(folder.path()).output().unwrap();
    let [answers, log] = [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned());
    assert!(output.status.success(), "{log}");

    // Causes: those of the table, with their errors, and no others.
    let answer = |line: &str| {
        let (code, cause) = line.strip_prefix("0x")?.split_once(' ')?;
        Some((u32::from_str_radix(code, 16).ok()?, cause.to_owned()))
    };
    let (causes, needed): (BTreeSet<_>, BTreeSet<_>) =
        answers.lines().filter_map(answer).partition(|(_, cause)| !cause.is_empty());
    let of_error = |error: &'static RuntimeError| error.causes.iter().map(|cause| (error.code, (*cause).to_owned()));
    assert_eq!(causes, RuntimeError::all().iter().flat_map(of_error).collect());
    assert_eq!(needed, BTreeSet::from([(0, String::new())]), "what a cause needs succeeds");

    // Messages: each line is known, and its error is the one that the runtime returns after it.
    let (mut messages, mut known): (Vec<(&str, &RuntimeError)>, BTreeSet<&str>) = Default::default();
    for line in log.lines() {
        if let Some((code, _)) = answer(line) {
            for (line, error) in messages.drain(..) {
                assert_eq!(error.code, code, "{line}");
            }
        } else if line.starts_with("E ") {
            let mut is_known = DETAILS.iter().any(|detail| line.contains(detail));
            for found in recognize(line) {
                let Recognized::Message(found) = found else { continue };
                known.insert(found.message.meaning);
                is_known = true;
                messages.extend(found.error.map(|error| (line, error)));
            }
            assert!(is_known, "no message of the table: {line}");
        }
    }
    assert!(known.len() > 35, "{} of {} messages", known.len(), LogMessage::all().len());
}
