//! A made-up release 1.6: flatc writes files with the schema of 1.5.1 and some additions. The golden files of
//! tests/golden/next are these files, edits keep what they do not know, as flatc reads it, and the runtime of 1.5.1
//! does what `check` says.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::Command;

use pretty_assertions::assert_eq;
use pte_emit::Model;

use crate::support::folder::Folder;
use crate::support::runner::{self, Mode};

/// A program with a delegate, a kernel and a constant. The length of its header is that of the exporter.
const BASE: &str = "
methods:
  forward:
    delegates:
      linear:
        backend: XnnpackBackend
        graph:
          values:
            x: {datatype: fp32, sizes: [2, 3]}
            filter: {datatype: fp32, data: [[1, 2, 3], [4, 5, 6]]}
            bias: {datatype: fp32, data: [0.5, -0.5]}
          inputs: [x]
          outputs: [y]
          nodes:
            - {fully_connected: {input: x, filter: filter, bias: bias, output: y}}
    values:
      x: {tensor: float32, sizes: [2, 3]}
      w: {tensor: float32, sizes: [2, 2], data: [[1, 2], [3, 4]], name: w}
      y: {tensor: float32, sizes: [2, 2]}
    inputs: [x]
    outputs: [z]
    instructions:
      - {delegate: linear, args: [x, y]}
      - {kernel: aten::add.out, args: [y, w], out: z}
layout: {builder: flatc}
";

/// Additions to the schema: text of the schema, and what replaces it.
const SCHEMA: &[(&str, &str)] = &[
    (
        "union InstructionArguments {",
        "table CallOptions { retries: int; names: [string]; parts: [CallPart]; }
        table CallPart { id: int; weight: double; }
        table WaitCall { value_index: int; timeout: double; reason: string; }
        table SignalCall { value_index: int; }
        union InstructionArguments {",
    ),
    ("  FreeCall,\n", "  FreeCall, WaitCall, SignalCall,\n"),
    (
        "union KernelTypes {",
        "table TensorQuantization { scales: [double]; axis: int; }
        table Complex { re: double; im: double; }
        union KernelTypes {",
    ),
    ("  OptionalTensorList,\n", "  OptionalTensorList, Complex,\n"),
];

/// Fields that are added to tables.
const FIELDS: &[(&str, &str)] = &[
    ("DelegateCall", "stream: int; note: string; deps: [long]; options: CallOptions; urgent: bool;"),
    ("Program", "producer: string; build: ulong;"),
    ("Tensor", "quantization: TensorQuantization; alias: short;"),
];

/// A change of a program as JSON without white space: what is inserted between two adjacent texts.
type Insertion = (&'static str, &'static str, &'static str);

const CALL: Insertion = (
    r#""instr_args_type":"DelegateCall","instr_args":{"args":[0,2]"#,
    r#","stream":7,"note":"on queue two","deps":[1,-2,3],"options":{"retries":3,"names":["a","bcd"],"parts":[{"id":1,"weight":0.5},{"id":2,"weight":0.25}]},"urgent":true"#,
    "}",
);
const ROOT: Insertion = (r#""offsets":[0,0]}"#, r#","producer":"made-up","build":20270101"#, "}");
const TENSOR: Insertion =
    (r#""allocation_info":{"memory_id":1}"#, r#","quantization":{"scales":[0.5,0.25],"axis":1},"alias":9"#, "}");
const INSTRUCTION: Insertion = (
    r#""instructions":["#,
    r#"{"instr_args_type":"WaitCall","instr_args":{"value_index":1,"timeout":1.5,"reason":"event"}},{"instr_args_type":"SignalCall","instr_args":{"value_index":1}},"#,
    "{",
);
const VALUE: Insertion = ("}}", r#",{"val_type":"Complex","val":{"re":1.0,"im":-2.0}}"#, r#"],"inputs":"#);

/// The files: name, and their insertions.
const FILES: &[(&str, &[Insertion])] =
    &[("fields", &[CALL, ROOT, TENSOR]), ("members", &[INSTRUCTION, VALUE]), ("element_type", &[])];

/// Size in bytes of the extended header.
const HEADER: usize = 32;

/// flatc, the schemas and a folder for its files.
struct Flatc {
    folder: Folder,
    program: PathBuf,
    runner: PathBuf,
    /// The unpacked package of ExecuTorch.
    wheel: PathBuf,
}

impl Flatc {
    fn new() -> Flatc {
        let runner = runner::locate();
        let folder = runner.parent().expect("a folder");
        let wheels = fs::read_dir(folder).expect("fetch.sh made it").map(|entry| entry.expect("it is readable").path());
        // `lab/releases` unpacks parts of other packages beside it.
        let is_whole = |path: &PathBuf| path.join("data/bin/flatc").is_file();
        let wheel = wheels.map(|path| path.join("executorch")).find(is_whole).expect("the unpacked wheel");
        let folder = Folder::new(&[]);
        let program = folder.path().join("flatc");
        fs::copy(wheel.join("data/bin/flatc"), &program).expect("the wheel has flatc");
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        let read = |name: &str| fs::read_to_string(wheel.join("schema").join(name)).expect("the wheel has the schema");
        let (mut schema, types) = (read("program.fbs"), read("scalar_type.fbs"));
        for (name, content) in [("old/program.fbs", &schema), ("old/scalar_type.fbs", &types)] {
            folder.write(name, content);
        }
        for (before, after) in SCHEMA {
            schema = replaced(&schema, before, after);
        }
        for (table, fields) in FIELDS {
            let start = schema.find(&format!("table {table} {{")).expect("the schema has the table");
            let end = start + schema[start..].find("\n}").expect("the end of the table");
            schema.insert_str(end, &format!("\n  {fields}"));
        }
        folder.write("new/program.fbs", schema);
        folder.write("new/scalar_type.fbs", replaced(&types, "UINT64 = 29,", "UINT64 = 29, FLOAT6 = 46,"));
        Flatc { folder, program, runner, wheel }
    }

    fn run(&self, arguments: &[&str]) {
        let output = Command::new(&self.program).args(arguments).current_dir(self.folder.path()).output().unwrap();
        assert!(output.status.success(), "flatc {arguments:?}: {}", String::from_utf8_lossy(&output.stdout));
    }

    /// Reads a file by a schema, as JSON without white space.
    fn json(&self, schema: &str, file: &[u8]) -> String {
        self.folder.write("read.pte", without_header(file));
        let schema = format!("{schema}/program.fbs");
        self.run(&["--json", "--strict-json", "--raw-binary", "-o", ".", &schema, "--", "read.pte"]);
        compact(&String::from_utf8(self.folder.read("read.json")).unwrap())
    }

    /// Writes a file from JSON by the new schema. Its segments are those of `base`.
    fn file(&self, json: &str, base: &[u8]) -> Vec<u8> {
        self.folder.write("write.json", json);
        self.run(&["--binary", "-o", ".", "new/program.fbs", "write.json"]);
        with_header(&self.folder.read("write.pte"), base)
    }

    /// The files of the release, by name.
    fn files(&self, base: &[u8]) -> Vec<(String, Vec<u8>)> {
        let plain = self.json("old", base);
        let mut files: Vec<(String, Vec<u8>)> = Vec::new();
        for (name, insertions) in FILES {
            let json = insertions.iter().fold(plain.clone(), |json, insertion| inserted(&json, *insertion));
            let json = match *name {
                "element_type" => replaced(
                    &json,
                    r#""FLOAT","sizes":[2,2],"dim_order":[0,1],"data_buffer_idx":1"#,
                    r#""FLOAT6","sizes":[2,2],"dim_order":[0,1],"data_buffer_idx":1"#,
                ),
                _ => json,
            };
            files.push(((*name).to_owned(), self.file(&json, base)));
        }
        files
    }
}

/// JSON without white space between its tokens.
fn compact(json: &str) -> String {
    let (mut in_string, mut escaped) = (false, false);
    let keep = |character: &char| {
        let is_kept = in_string || !character.is_whitespace();
        in_string ^= *character == '"' && !escaped;
        escaped = *character == '\\' && !escaped;
        is_kept
    };
    json.chars().filter(keep).collect()
}

fn replaced(text: &str, before: &str, after: &str) -> String {
    assert!(text.contains(before), "no {before} in {text}");
    text.replacen(before, after, 1)
}

fn inserted(json: &str, (before, insertion, after): Insertion) -> String {
    replaced(json, &format!("{before}{after}"), &format!("{before}{insertion}{after}"))
}

fn u64_at(file: &[u8], at: usize) -> usize {
    u64::from_le_bytes(*file[at..].first_chunk().unwrap()) as usize
}

/// The FlatBuffer of a file.
fn without_header(file: &[u8]) -> Vec<u8> {
    let root = u32::from_le_bytes(*file.first_chunk().unwrap()) - HEADER as u32;
    [&root.to_le_bytes(), &file[4..8], &file[8 + HEADER..u64_at(file, 16)]].concat()
}

/// A file with this FlatBuffer and the segments of `base`.
fn with_header(flatbuffer: &[u8], base: &[u8]) -> Vec<u8> {
    let root = u32::from_le_bytes(*flatbuffer.first_chunk().unwrap()) + HEADER as u32;
    let size = flatbuffer.len() + HEADER;
    let data = &base[u64_at(base, 24)..];
    let start = size.next_multiple_of(128);
    let mut file = [&root.to_le_bytes(), &flatbuffer[4..8], b"eh00", &(HEADER as u32).to_le_bytes()].concat();
    [size, start, u64_at(base, 32)].iter().for_each(|number| file.extend((*number as u64).to_le_bytes()));
    file.extend(&flatbuffer[8..]);
    file.resize(start, 0);
    file.extend(data);
    file
}

fn base() -> Vec<u8> {
    let model = Model::from_yaml("base.yaml", BASE, ".");
    model.assembly().unwrap().program_file().unwrap().to_vec().unwrap()
}

/// Loads and executes a file; returns the answers after the start.
fn executed(flatc: &Flatc, name: &str, method: &str, verify: &'static str) -> Vec<String> {
    let script = format!(
        "load {method}\ninput 0 tensor 6 2,3 0,1 0000803f0000803f000000000000803f00000000000080bf\nexecute\noutputs\n"
    );
    let path = flatc.folder.path().join(name);
    let data = flatc.folder.path().join("edited.ptd");
    let ptds = if data.exists() { vec![data] } else { Vec::new() };
    // The runner ends after a program that is rejected.
    runner::start(&flatc.runner, &path, &ptds, Mode { verify, loader: "file" }, &script).unwrap().answers
}

#[test]
#[ignore = "downloads the ExecuTorch runtime"]
fn golden_files_are_those_of_flatc() {
    let (flatc, base) = (Flatc::new(), base());
    assert!(flatc.file(&flatc.json("old", &base), &base) == base, "without additions");
    let folder = crate::support::root().join("tests/golden/next");
    for (name, file) in flatc.files(&base) {
        let golden = folder.join(format!("{name}.pte"));
        if std::env::var_os("BLESS").is_some() {
            fs::create_dir_all(&folder).unwrap();
            fs::write(&golden, &file).unwrap();
        }
        assert!(fs::read(&golden).unwrap() == file, "{}", golden.display());
    }
}

#[test]
#[ignore = "downloads the ExecuTorch runtime"]
fn edits_keep_what_they_do_not_know() {
    let (flatc, base) = (Flatc::new(), base());
    let (_, file) = flatc.files(&base).swap_remove(0);
    let before = executed_bytes(&flatc, &base, "forward");
    let edits: &[(&str, &[&str])] = &[
        ("forward", &["in.pte", "-o", "edited.pte"]),
        ("forward", &["in.pte", "-o", "edited.pte", "--builder", "exir"]),
        ("forward", &["in.pte", "-o", "edited.pte", "--segment-alignment", "64", "--delegates", "inline"]),
        ("forward", &["in.pte", "-o", "edited.pte", "--external-data"]),
        ("forward", &["strip", "in.pte", "-o", "edited.pte"]),
        ("forward", &["metadata", "set", "in.pte", "get_version=2", "-o", "edited.pte"]),
        ("forward", &["optimize", "in.pte", "-o", "edited.pte"]),
        ("other", &["rename", "in.pte", "--method", "forward=other", "-o", "edited.pte"]),
        ("forward", &["extract", "in.pte", "--method", "forward", "-o", "edited.pte"]),
        (
            "forward",
            &["weights", "set", "in.pte", "--from", "in.npy", "--map", "w=in", "--partial", "-o", "edited.pte"],
        ),
    ];
    for (method, arguments) in edits {
        flatc.folder.write("in.pte", &file);
        flatc.folder.write("in.npy", npy());
        for name in ["edited.pte", "edited.ptd"] {
            let _ = fs::remove_file(flatc.folder.path().join(name));
        }
        flatc.folder.run(arguments).exits(0);
        let json = flatc.json("new", &flatc.folder.read("edited.pte"));
        for (_, insertion, _) in [CALL, ROOT, TENSOR] {
            assert!(json.contains(insertion), "{arguments:?}: no {insertion} in {json}");
        }
        let after = executed(&flatc, "edited.pte", method, "full");
        assert_eq!(after, before, "{arguments:?}");
    }
}

fn executed_bytes(flatc: &Flatc, file: &[u8], method: &str) -> Vec<String> {
    flatc.folder.write("run.pte", file);
    executed(flatc, "run.pte", method, "full")
}

/// The constant of the program as a `.npy`.
fn npy() -> Vec<u8> {
    let header =
        b"{'descr': '<f4', 'fortran_order': False, 'shape': (2, 2), }                                              \n";
    let length = (header.len() as u16).to_le_bytes();
    let numbers: Vec<u8> = [1f32, 2.0, 3.0, 4.0].iter().flat_map(|number| number.to_le_bytes()).collect();
    [&b"\x93NUMPY\x01\x00"[..], &length, header, &numbers].concat()
}

#[test]
#[ignore = "downloads the ExecuTorch runtime"]
fn the_runtime_ignores_fields_and_rejects_members() {
    let (flatc, base) = (Flatc::new(), base());
    let before = executed_bytes(&flatc, &base, "forward");
    assert_eq!(before.last().map(|answer| answer.starts_with("output 0 tensor 6 2,2 0,1 ")), Some(true), "{before:?}");
    for (name, file) in flatc.files(&base) {
        flatc.folder.write("run.pte", &file);
        for verify in ["full", "minimal"] {
            let found = executed(&flatc, "run.pte", "forward", verify);
            match &*name {
                "fields" => assert_eq!(found, before),
                // Full verification finds it when the program is loaded.
                "element_type" if verify == "full" => assert_eq!(found, ["program error 0x23 InvalidProgram"]),
                _ => assert_eq!(found[1], "load error 0x23 InvalidProgram", "{name}"),
            }
        }
    }
}

#[test]
#[ignore = "downloads the ExecuTorch runtime"]
fn weights_with_unknown_fields_are_not_rewritten() {
    let flatc = Flatc::new();
    let schema = flatc.wheel.join("extension/flat_tensor/serialize");
    let read = |name: &str| fs::read_to_string(schema.join(name)).expect("the wheel has the schema");
    let mut text = read("flat_tensor.fbs");
    let start = text.find("table NamedData {").expect("the table");
    let end = start + text[start..].find("\n}").expect("its end");
    text.insert_str(end, "\n  checksum: ulong;");
    flatc.folder.write("ptd/flat_tensor.fbs", text);
    flatc.folder.write("ptd/scalar_type.fbs", read("scalar_type.fbs"));
    let json = r#"{"version": 0, "segments": [{"offset": 0, "size": 4}], "named_data": [{"key": "a", "segment_index": 0, "checksum": 77}]}"#;
    flatc.folder.write("weights.json", json);
    flatc.run(&["--binary", "-o", ".", "ptd/flat_tensor.fbs", "weights.json"]);
    let flatbuffer = flatc.folder.read("weights.ptd");
    // The header of a .ptd has the offset and the size of the FlatBuffer, and those of the segments.
    let root = u32::from_le_bytes(*flatbuffer.first_chunk().unwrap()) + 40;
    let (size, base) = (flatbuffer.len(), (flatbuffer.len() + 40).next_multiple_of(128));
    let mut file = [&root.to_le_bytes(), &flatbuffer[4..8], b"FH01", &40u32.to_le_bytes()].concat();
    [40, size, base, 4].iter().for_each(|number| file.extend((*number as u64).to_le_bytes()));
    file.extend(&flatbuffer[8..]);
    file.resize(base, 0);
    file.extend([1, 2, 3, 4]);
    let folder = Folder::new(&[]);
    folder.write("weights.ptd", &file);
    let found = folder.run(&["check", "weights.ptd"]).exits(0);
    let text = String::from_utf8_lossy(&found.stdout).into_owned();
    assert!(text.contains("note[G-33]: named_data[0]") && text.contains("4d 00 00 00"), "{text}");
    let lost = "has parts of a newer schema, which would be lost: in `NamedData`";
    folder.run(&["weights.ptd", "-o", "new.ptd"]).exits(1).stderr_contains(lost);
    let text = String::from_utf8(folder.run(&["dump", "weights.ptd", "--exact"]).exits(0).stdout).unwrap();
    assert!(text.contains("raw:"), "patches reproduce a small file: {text}");
    assert_eq!(folder.names(), ["weights.ptd"]);
}
