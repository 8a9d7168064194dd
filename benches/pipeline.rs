//! Times of each stage from YAML to bytes and back, with ratios to a baseline of the same run: parsing the same YAML
//! into the same tree, or copying the same bytes. docs/performance.md has the figures. There are no thresholds.

mod input;
mod verifier;

use std::fs::{self, File};
use std::hint::black_box;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;
use std::time::Duration;

use input::{Case, Results, chain, events, interleaved, json, print, yaml};
use pte_emit::cli::atomic::AtomicFiles;
use pte_emit::program::Program;
use pte_emit::{AssembleOptions, Assembly, LargeData, Model, PrintOptions, Resolved};
use pte_inspect::annotate;
use pte_model::data::{Blob, Origin};
use pte_model::format::Format;
use pte_model::format::table::Union;
use pte_model::reader;
use pte_payload::PayloadFormat;
use pte_xnnpack::Xnnpack;
use pte_xnnpack::draft::{Draft, DraftField, DraftNode, DraftValue, default_field};
use pte_xnnpack::model::NodeOperation;
use pte_xnnpack::schema::{FP32, Operation};
use pte_yaml::tree;

fn whole(text: &str) -> Vec<u8> {
    let input = Model::from_yaml("bench", text, Path::new(""));
    let assembly = input.assemble(&AssembleOptions::default()).unwrap_or_else(|error| panic!("{error}"));
    assembly.program_file().expect("it has methods").to_vec().expect("no data files")
}

fn json_of(count: usize, results: Results) -> String {
    json(&chain(count, results))
}

fn pipeline(count: usize, rounds: usize) {
    let yaml = yaml(count);
    let json = json(&yaml);
    let tree = || tree::parse(&yaml).expect("valid YAML");
    let model = Model::from_yaml("bench", &yaml, "");
    let program = model.resolve().expect("valid names").program;
    let options = AssembleOptions::default();
    let copy = || Resolved::from(program.clone());
    let (unknown, inferred) = (json_of(count, Results::Unknown), json_of(count, Results::Inferred));
    let mut cases: Vec<Case<'_>> = vec![
        ("events of YAML (baseline)", Box::new(|| events(&yaml))),
        ("parse YAML", Box::new(|| drop(black_box(tree())))),
        ("whole run from YAML", Box::new(|| drop(black_box(whole(&yaml))))),
        ("parse JSON", Box::new(|| drop(black_box(tree::parse(&json).expect("valid JSON"))))),
        ("whole run from JSON", Box::new(|| drop(black_box(whole(&json))))),
        ("whole run from JSON, nothing to infer", Box::new(|| drop(black_box(whole(&unknown))))),
        ("whole run from JSON, all results inferred", Box::new(|| drop(black_box(whole(&inferred))))),
        ("parse and decode YAML", Box::new(|| drop(black_box(model.parse().expect("valid YAML"))))),
        ("parse, decode and resolve YAML", Box::new(|| drop(black_box(model.resolve().expect("valid names"))))),
        ("copy of the program", Box::new(|| drop(black_box(copy())))),
        ("plan a copy", Box::new(|| drop(black_box(copy().plan(&options).expect("a valid plan"))))),
        ("plan and emit a copy", Box::new(|| drop(black_box(copy().to_files(&options).expect("a valid plan"))))),
    ];
    let times = interleaved(rounds, &mut cases);
    let rows: Vec<(&str, Duration)> = cases.iter().map(|(name, _)| *name).zip(times.iter().copied()).collect();
    let bytes = whole(&yaml).len();
    let title = format!(
        "{count} instructions, {} tensors: {:.1} MB of YAML, {:.1} MB of JSON, {:.1} MB of program; ratio to the events of the YAML",
        count + 1,
        yaml.len() as f64 / 1e6,
        json.len() as f64 / 1e6,
        bytes as f64 / 1e6
    );
    print(&title, times[0], &rows);
}

/// Reading, checking, annotating and printing a program of `count` instructions, compared with a copy of its bytes and
/// with the verifier of the `flatbuffers` crate.
fn reading(count: usize, rounds: usize) {
    let bytes = whole(&yaml(count));
    let origin = Origin::Bytes(bytes.as_slice().into());
    let options = PrintOptions::default();
    let mut cases: Vec<Case<'_>> = vec![
        ("copy in memory (baseline)", Box::new(|| drop(black_box(bytes.clone())))),
        ("verify, by the flatbuffers crate", Box::new(|| verifier::verify(black_box(&bytes)).expect("a valid file"))),
        ("read", Box::new(|| drop(black_box(reader::program::read(&origin).expect("a valid file"))))),
        (
            "check",
            Box::new(|| {
                let findings =
                    pte_check::file(&Origin::Bytes(bytes[..].into()), &pte_check::CheckOptions::default()).unwrap();
                assert!(!black_box(findings).has_errors());
            }),
        ),
        (
            "annotate",
            Box::new(|| {
                let options = annotate::AnnotateOptions::default();
                annotate::annotate(&origin, Format::Program, &options, &mut io::sink()).expect("a valid file");
            }),
        ),
        (
            "print, and assemble to compare",
            Box::new(|| {
                drop(black_box(
                    Model::from_binary("bench", &bytes).to_yaml(Path::new(""), &options).expect("a valid file"),
                ))
            }),
        ),
    ];
    let times = interleaved(rounds, &mut cases);
    let rows: Vec<(&str, Duration)> = cases.iter().map(|(name, _)| *name).zip(times.iter().copied()).collect();
    let title = format!("reading {:.1} MB of program with {count} instructions", bytes.len() as f64 / 1e6);
    print(&title, times[0], &rows);
}

/// Writes all files of an assembly: the program, and one data file. Each case has its own folder, so that it overwrites
/// its own output.
fn write(assembly: &Assembly, folder: &Path) {
    fs::create_dir_all(folder).expect("there is room");
    let mut outputs = AtomicFiles::default();
    let program = assembly.program_file().expect("it has methods");
    outputs
        .write(&folder.join("out.pte"), program.size().expect("it is finite"), &|_| (), |out| program.write_to(out))
        .expect("there is room");
    for (_, file) in assembly.data_files() {
        outputs
            .write(&folder.join("out.ptd"), file.size().expect("it is finite"), &|_| (), |out| file.write_to(out))
            .expect("there is room");
    }
    outputs.commit().expect("a private folder");
}

/// Assembling, splitting, checking and printing files with `count` tensors of 4 MiB.
fn weights(count: usize, rounds: usize) {
    const SIZE: usize = 4 << 20;
    let folder = tempfile::tempdir().expect("there is room");
    let folder = folder.path();
    let mut file = File::create(folder.join("weights.bin")).expect("there is room");
    let mut state = 1u64;
    let mut text = String::from("methods:\n  forward:\n    values:\n");
    for i in 0..count {
        // xorshift64: all tensors differ.
        let mut next = || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state.to_le_bytes()
        };
        let data: Vec<u8> = (0..SIZE / 8).flat_map(|_| next()).collect();
        file.write_all(&data).expect("there is room");
        let offset = i * SIZE;
        text += &format!(
            "      w{i}: {{tensor: uint8, sizes: [{SIZE}], data: {{file: weights.bin, offset: {offset}, size: {SIZE}}}}}\n"
        );
    }
    drop(file);
    text += "    inputs: []\n    outputs: [w0]\n";
    let assembled = |overrides: &AssembleOptions| {
        Model::from_yaml("bench", &text, folder).assemble(overrides).unwrap_or_else(|error| panic!("{error}"))
    };
    let split = { AssembleOptions::default().external_data(true) };
    write(&assembled(&AssembleOptions::default()), &folder.join("model"));
    let model = folder.join("model/out.pte");
    let options = PrintOptions::default().large_data(LargeData::Refer).file("out.pte".to_owned());
    let mut cases: Vec<Case<'_>> = vec![
        (
            "copy, in blocks of 1 MiB (baseline)",
            Box::new(|| {
                let mut from = File::open(folder.join("weights.bin")).expect("a valid file");
                let mut to = File::create(folder.join("copy.bin")).expect("there is room");
                let mut block = vec![0; 1 << 20];
                loop {
                    let read = from.read(&mut block).expect("a valid file");
                    if read == 0 {
                        break;
                    }
                    to.write_all(&block[..read]).expect("there is room");
                }
            }),
        ),
        (
            "copy, by the system",
            Box::new(|| {
                let mut to = File::create(folder.join("system.bin")).expect("there is room");
                io::copy(&mut File::open(folder.join("weights.bin")).expect("a valid file"), &mut to).expect("room");
            }),
        ),
        ("YAML and weights to .pte", Box::new(|| write(&assembled(&AssembleOptions::default()), &folder.join("one")))),
        ("YAML and weights to .pte and .ptd", Box::new(|| write(&assembled(&split), &folder.join("two")))),
        (
            ".pte split into .pte and .ptd",
            Box::new(|| {
                write(
                    &Model::open(&model).expect("a valid file").assemble(&split).expect("a valid file"),
                    &folder.join("split"),
                )
            }),
        ),
        (
            "check the .pte",
            Box::new(|| {
                let findings =
                    pte_check::file(&Origin::File(model.as_path().into()), &pte_check::CheckOptions::default())
                        .expect("a valid file");
                assert!(!black_box(findings).has_errors());
            }),
        ),
        (
            "print the .pte, referring to its weights",
            Box::new(|| {
                drop(black_box(
                    Model::open(&model)
                        .expect("a valid file")
                        .to_yaml(&folder.join("model"), &options)
                        .expect("a valid file"),
                ))
            }),
        ),
    ];
    let times = interleaved(rounds, &mut cases);
    let rows: Vec<(&str, Duration)> = cases.iter().map(|(name, _)| *name).zip(times.iter().copied()).collect();
    print(&format!("{} MiB of weights in {count} tensors, from file to file", (count * SIZE) >> 20), times[0], &rows);
}

/// Comparing files with `count` tensors of 4 MiB: equal ones, and ones that differ in one weight. The baseline reads
/// both in blocks, as `cmp` does.
fn comparing(count: usize, rounds: usize) {
    const ELEMENTS: usize = 1 << 20;
    let folder = tempfile::tempdir().expect("there is room");
    let folder = folder.path();
    let mut text = String::from("methods:\n  forward:\n    values:\n");
    for i in 0..count {
        text += &format!("      w{i}: {{tensor: float32, sizes: [{ELEMENTS}], data: {{random: {{seed: {i}}}}}}}\n");
    }
    text += "    inputs: []\n    outputs: [w0]\n";
    let assembly = Model::from_yaml("bench", &text, folder).assemble(&AssembleOptions::default());
    let assembly = assembly.unwrap_or_else(|error| panic!("{error}"));
    let paths = ["old", "equal", "changed"].map(|name| {
        write(&assembly, &folder.join(name));
        folder.join(name).join("out.pte")
    });
    let mut changed = fs::OpenOptions::new().write(true).open(&paths[2]).expect("a valid file");
    let length = changed.metadata().expect("a valid file").len();
    changed.seek(SeekFrom::Start(length / 2 / 4 * 4)).expect("it is a file");
    changed.write_all(&0.25f32.to_le_bytes()).expect("there is room");
    drop(changed);
    let differences = |other: &Path| {
        let open = |path: &Path| Model::open(path).unwrap();
        open(&paths[0]).diff(&open(other), &pte_emit::diff::DiffOptions::default()).expect("valid files").len()
    };
    let mut cases: Vec<Case<'_>> = vec![
        (
            "compare, in blocks of 128 KiB (baseline)",
            Box::new(|| {
                let mut files = [&paths[0], &paths[1]].map(|path| File::open(path).expect("a valid file"));
                let mut blocks = [vec![0; 1 << 17], vec![0; 1 << 17]];
                loop {
                    let [left, right] = &mut files;
                    let [first, second] = &mut blocks;
                    let read = left.read(first).expect("a valid file");
                    assert_eq!(read, right.read(second).expect("a valid file"));
                    if read == 0 {
                        break;
                    }
                    assert!(first[..read] == second[..read]);
                }
            }),
        ),
        ("diff of equal files", Box::new(|| assert_eq!(differences(&paths[1]), 0))),
        ("diff of files that differ in one weight", Box::new(|| assert_eq!(differences(&paths[2]), 1))),
    ];
    let times = interleaved(rounds, &mut cases);
    let rows: Vec<(&str, Duration)> = cases.iter().map(|(name, _)| *name).zip(times.iter().copied()).collect();
    print(&format!("comparing two files with {} MiB of weights in {count} tensors", count * 4), times[0], &rows);
}

/// Memory planning for different patterns of lifetimes.
fn planner(count: usize, rounds: usize) {
    use pte_emit::program::{Chain, EValue, ExecutionPlan, Instruction, OperatorId, Tensor, ValueId};
    use pte_model::format::ScalarType;
    let plan_of = |span: &dyn Fn(usize) -> (usize, usize), size: &dyn Fn(usize) -> i32| {
        let mut calls = vec![Vec::new(); count + 1];
        for i in 0..count {
            let (start, end) = span(i);
            calls[start].push(ValueId::of(i));
            calls[end].push(ValueId::of(i));
        }
        let tensor = |i| EValue::Tensor(Tensor::new(ScalarType::FLOAT, &[size(i)]));
        let instructions = calls
            .into_iter()
            .map(|args| Instruction::KernelCall { op_index: OperatorId(0), args: Some(args.into()) })
            .collect();
        ExecutionPlan {
            values: Some((0..count).map(tensor).collect()),
            chains: Some(vec![Chain::new(instructions)]),
            ..ExecutionPlan::default()
        }
    };
    let scatter = |i: usize, salt: u64| ((i as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15 ^ salt) >> 33) as usize;
    let random = |i: usize| {
        let (a, b) = (scatter(i, 1) % (count + 1), scatter(i, 2) % (count + 1));
        (a.min(b), a.max(b))
    };
    let various = |i: usize| 1 + (scatter(i, 3) % 5000) as i32;
    let plans = [
        ("a chain, equal sizes", plan_of(&|i| (i, i + 1), &|_| 64)),
        ("a chain, various sizes", plan_of(&|i| (i, i + 1), &various)),
        ("all alive at once, equal sizes", plan_of(&|_| (0, count), &|_| 64)),
        ("all alive at once, various sizes", plan_of(&|_| (0, count), &various)),
        ("nested", plan_of(&|i| (i / 2, count - i / 2), &various)),
        ("random lifetimes, equal sizes", plan_of(&random, &|_| 64)),
        ("random lifetimes, various sizes", plan_of(&random, &various)),
        ("short random lifetimes, various sizes", plan_of(&|i| (i, (i + scatter(i, 4) % 200).min(count)), &various)),
        ("all alive at once, size 0", plan_of(&|_| (0, count), &|_| 0)),
    ];
    let text = yaml(count);
    let mut cases: Vec<Case<'_>> =
        vec![("parse YAML of as many tensors (baseline)", Box::new(|| drop(black_box(tree::parse(&text)))))];
    for (name, plan) in plans {
        let program = Program::new(vec![plan]);
        let planned = move || {
            let options = AssembleOptions::default();
            Resolved::from(program.clone()).plan(&options).expect("a valid plan")
        };
        cases.push((name, Box::new(move || drop(black_box(planned())))));
    }
    let times = interleaved(rounds, &mut cases);
    let rows: Vec<(&str, Duration)> = cases.iter().map(|(name, _)| *name).zip(times.iter().copied()).collect();
    print(
        &format!("planning the memory of {count} tensors; ratio to parsing YAML with as many tensors"),
        times[0],
        &rows,
    );
}

/// Describing and decoding an XNNPACK payload of `count` operations: a FlatBuffer without constants.
fn payload(count: u32, rounds: usize) {
    let mut draft = Draft::new();
    draft.values = (0..=count).map(|_| DraftValue::new(FP32, vec![1, 64, 32, 32])).collect();
    (draft.inputs, draft.outputs) = (vec![0], vec![count as usize]);
    let node = |number: usize| {
        let mut fields: Vec<DraftField> = Operation::Abs.table().fields.iter().map(default_field).collect();
        fields[..2].clone_from_slice(&[DraftField::Value(number), DraftField::Value(number + 1)]);
        DraftNode {
            operation: NodeOperation::Known(Operation::Abs),
            fields,
            debug_handle: None,
            output_min_max: None,
            extra: Vec::new(),
        }
    };
    draft.nodes = (0..count as usize).map(node).collect();
    let bytes = draft.encode().and_then(|payload| payload.to_vec()).expect("a valid graph");
    let payload = Blob::bytes(&bytes[..]);
    let mut cases: Vec<Case<'_>> = vec![
        ("copy in memory (baseline)", Box::new(|| drop(black_box(bytes.clone())))),
        ("describe", Box::new(|| drop(black_box(Xnnpack.describe(&payload).expect("a valid payload"))))),
        ("decode", Box::new(|| drop(black_box(pte_xnnpack::decode::decode(&payload).expect("a valid payload"))))),
        (
            "decode, and encode to compare",
            Box::new(|| drop(black_box(Draft::read(&payload).expect("a valid payload")))),
        ),
    ];
    let times = interleaved(rounds, &mut cases);
    let rows: Vec<(&str, Duration)> = cases.iter().map(|(name, _)| *name).zip(times.iter().copied()).collect();
    let title = format!("an XNNPACK payload of {:.1} MB with {count} operations", bytes.len() as f64 / 1e6);
    print(&title, times[0], &rows);
}

fn main() {
    // `cargo test --benches` runs it with small inputs.
    let quick = std::env::args().any(|arg| arg == "--test");
    if quick {
        pipeline(100, 1);
        reading(100, 1);
        payload(100, 1);
        comparing(2, 1);
        return weights(2, 1);
    }
    // `cargo bench --bench pipeline -- 100000` measures only programs of that many instructions.
    let counts: Vec<usize> = std::env::args().filter_map(|arg| arg.parse().ok()).collect();
    // `-- --payload 100000` measures only payloads.
    if std::env::args().any(|arg| arg == "--payload") {
        return counts.iter().for_each(|count| payload(*count as u32, 15));
    }
    // `-- --yaml 100000` and `-- --json 100000` print the source, for measuring the command.
    let has_flag = |flag: &str| std::env::args().any(|arg| arg == flag);
    if has_flag("--yaml") || has_flag("--json") {
        let sources = counts.iter().map(|count| yaml(*count));
        return sources.for_each(|text| print!("{}", if has_flag("--json") { json(&text) } else { text }));
    }
    if counts.is_empty() {
        for (count, rounds) in [(1_000, 31), (10_000, 11), (100_000, 5)] {
            pipeline(count, rounds);
        }
        planner(100_000, 3);
        reading(100_000, 15);
        payload(100_000, 15);
        weights(64, 9);
        comparing(64, 9);
    }
    for count in counts {
        pipeline(count, 5);
        reading(count, 15);
    }
}
