//! `inspect` and `size` against the files: every byte has one owner, the JSON has the documented schema, equal
//! questions have equal answers for YAML and for the file that it assembles to.

use std::path::{Path, PathBuf};

use crate::dump::without_header;
use crate::support::folder::{Folder, RELU};
use crate::support::root;
use pte_emit::{
    Model,
    check::{CheckOptions, DataFile},
    inspect::{InspectOptions, SizeDimension, SizeOptions},
    memory::MemoryOptions,
    release::Release,
};
use serde_json::Value;

/// All files of the repository with one of the extensions.
fn files(folder: &Path, extensions: &[&str]) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extensions.iter().any(|other| extension == *other)) {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

fn sizes(source: &Model, dimensions: &[SizeDimension]) -> Option<Vec<(String, Value)>> {
    let options = SizeOptions::default().dimensions(dimensions.to_vec());
    let files = source.size(&options).ok()?;
    Some(files.into_iter().map(|(name, file)| (name, serde_json::to_value(file).unwrap())).collect())
}

/// Every node is the sum of its children.
fn assert_sums(node: &Value, name: &str) {
    let Some(children) = node["children"].as_array().filter(|children| !children.is_empty()) else { return };
    let sum: u64 = children.iter().map(|child| child["bytes"].as_u64().unwrap()).sum();
    assert_eq!(node["bytes"], sum, "{name}: {}", node["name"]);
    children.iter().for_each(|child| assert_sums(child, name));
}

const ALL: &[SizeDimension] =
    &[SizeDimension::Segment, SizeDimension::Method, SizeDimension::Kind, SizeDimension::Tensor];

#[test]
fn every_byte_of_the_references_has_one_owner() {
    let paths = files(Path::new("tests/golden"), &["pte", "ptd", "bpte"]);
    assert!(paths.len() > 150, "{} files", paths.len());
    for path in paths {
        let name = path.display().to_string();
        let len = std::fs::metadata(&path).unwrap().len();
        let source = Model::open(&path).unwrap();
        let measured = sizes(&source, ALL).unwrap_or_else(|| panic!("{name} is measured"));
        assert_eq!(measured[0].1["bytes"], len, "{name}");
        assert_sums(&measured[0].1, &name);
        let alone = sizes(&source, &[SizeDimension::Tensor]).unwrap();
        assert_eq!(alone[0].1["bytes"], len, "{name}");
        assert_sums(&alone[0].1, &name);
    }
}

/// YAML is measured without its data: these have 60 GiB.
#[test]
fn the_data_of_yaml_are_not_read_for_their_sizes() {
    let tensor =
        |name: &str| format!("{name}: {{tensor: uint8, sizes: [15, 1073741824], data: {{fill: {}}}}}", name.len());
    let values: Vec<String> = ["a", "bb", "ccc", "dddd"].into_iter().map(tensor).collect();
    let yaml = format!("methods: {{forward: {{values: {{{}}}, outputs: [a, bb, ccc, dddd]}}}}", values.join(", "));
    let source = Model::from_yaml("large.yaml", yaml, ".");
    let files = sizes(&source, ALL).unwrap();
    assert!(files[0].1["bytes"].as_u64().unwrap() > 60 << 30);
    assert_sums(&files[0].1, "large.yaml");
}

/// The sizes of YAML are those of the files that it assembles to.
#[test]
fn yaml_has_the_sizes_of_its_files() {
    let mut compared = 0;
    for path in files(Path::new("examples"), &["yaml"]) {
        let Ok(source) = Model::open(&path) else { continue };
        let Ok(assembly) = source.assemble(&pte_emit::AssembleOptions::default()) else { continue };
        let Some(measured) = sizes(&source, ALL) else { continue };
        for ((extension, bytes), (name, found)) in crate::support::sources::files(&assembly).into_iter().zip(measured) {
            let Some(expected) = sizes(&Model::from_binary(format!("a.{extension}"), &bytes), ALL) else { continue };
            assert_eq!(found["bytes"], expected[0].1["bytes"], "{name}");
            let parts = |tree: &Value| -> Vec<Value> {
                tree["children"].as_array().unwrap().iter().map(|child| child["bytes"].clone()).collect()
            };
            assert_eq!(parts(&found), parts(&expected[0].1), "{name}");
            compared += 1;
        }
    }
    assert!(compared > 300, "{compared} files");
}

/// Malformed files, too: whatever their offsets say.
#[test]
fn every_byte_of_malformed_files_has_one_owner() {
    let mut measured = 0;
    for path in files(Path::new("examples"), &["yaml"]) {
        let Ok(source) = Model::open(&path) else { continue };
        let Ok(assembly) = source.assemble(&pte_emit::AssembleOptions::default()) else { continue };
        for (extension, bytes) in crate::support::sources::files(&assembly) {
            let name = format!("{}.{extension}", path.display());
            let Some(files) = sizes(&Model::from_binary(name.clone(), &bytes), ALL) else { continue };
            assert_eq!(files[0].1["bytes"], bytes.len(), "{name}");
            assert_sums(&files[0].1, &name);
            measured += 1;
        }
    }
    assert!(measured > 300, "{measured} files");
}

/// YAML and the file that it assembles to have the same contents, and need the same memory.
#[test]
fn yaml_is_inspected_as_its_files() {
    let mut compared = 0;
    let examples = files(Path::new("examples"), &["yaml"]);
    let examples = examples.into_iter().filter(|path| path.parent() == Some(Path::new("examples")));
    for path in examples.chain(files(Path::new("tests/golden/upstream"), &["yaml"])) {
        let Ok(source) = Model::open(&path) else { continue };
        let Ok(documents) = source.inspect(&InspectOptions::default()) else { continue };
        let Ok(assembly) = source.assemble(&pte_emit::AssembleOptions::default()) else { continue };
        let Some(program) = assembly.program_file() else { continue };
        let file = Model::from_binary("file.pte", program.to_vec().unwrap());
        // The releases are those that run it with its weights.
        let mut options = InspectOptions::default();
        let data =
            assembly.data_files().map(|(_, file)| DataFile::from_bytes("w.ptd", file.to_vec().unwrap()).unwrap());
        options.check.with = data.collect();
        let found = file.inspect(&options).unwrap();
        let [mut yaml, mut binary] = [&documents, &found].map(|files| serde_json::to_value(&files[0].1).unwrap());
        yaml["file"] = "file.pte".into();
        // Names are those of the source, or those that `dump` would print.
        for document in [&mut yaml, &mut binary] {
            for data in document["duplicates"].as_array_mut().unwrap() {
                data["copies"] = data["copies"].as_array().unwrap().len().into();
            }
            for method in document["methods"].as_array_mut().unwrap() {
                for list in ["inputs", "outputs", "state", "delegates"] {
                    method[list].as_array_mut().unwrap().iter_mut().for_each(|value| value["name"] = Value::Null);
                }
            }
        }
        pretty_assertions::assert_eq!(yaml, binary, "{}", path.display());
        let has_data_files = assembly.data_files().next().is_some();
        let needed = |source: &Model| {
            let memory = source.memory(&MemoryOptions::default()).unwrap();
            let mut document = serde_json::to_value(memory).unwrap();
            // The metadata of the .ptd files, which the program alone does not have.
            if has_data_files {
                ["loaded", "total", "largest_method"].into_iter().for_each(|key| document[key] = Value::Null);
            }
            for method in document["methods"].as_array_mut().unwrap() {
                for list in ["/inputs/tensors", "/outputs/tensors", "/delegates"] {
                    let list = method.pointer_mut(list).unwrap().as_array_mut().unwrap();
                    list.iter_mut().for_each(|item| item["name"] = Value::Null);
                }
                for pool in method["pools"].as_array_mut().unwrap() {
                    let tensors = pool["tensors"].as_array_mut().unwrap();
                    tensors.iter_mut().for_each(|tensor| tensor["name"] = Value::Null);
                }
            }
            document
        };
        pretty_assertions::assert_eq!(needed(&source), needed(&file), "{}", path.display());
        compared += 1;
    }
    assert!(compared > 80, "{compared} sources");
}

/// Tensors live while instructions use them: also those of other branches and of later iterations, and views do not
/// count.
#[test]
fn lifetimes_are_those_of_the_execution() {
    let pool = |name: &str| -> Value {
        let source = Model::open(format!("tests/golden/upstream/bytes/{name}/model.pte")).unwrap();
        let memory = source.memory(&MemoryOptions::default()).unwrap();
        serde_json::to_value(memory).unwrap()["methods"][0]["pools"][0].clone()
    };
    let alive = |pool: &Value, wanted: &str| -> Value {
        let tensors = pool["tensors"].as_array().unwrap();
        tensors.iter().find(|tensor| tensor["name"] == wanted).unwrap_or_else(|| panic!("{wanted}: {pool}"))["alive"]
            .clone()
    };
    assert_eq!(alive(&pool("cond"), "x"), serde_json::json!([0, 7]));
    let scan = pool("scan");
    assert_eq!(alive(&scan, "mul"), serde_json::json!([5, 7]));
    assert_eq!(alive(&scan, "x"), serde_json::json!([0, 13]));
    // What the second iteration reads again lives in the whole loop; a copy overwrites the state before.
    assert_eq!(alive(&scan, "x_1"), serde_json::json!([0, 10]));
    assert_eq!((&scan["unshared"], &scan["lower_bound"]), (&384.into(), &240.into()));
    assert_eq!(pool("view_dyn")["unshared"], 968);
}

/// What nothing refers to, or what is not a FlatBuffer, is not read: the memory is limited to less than the files have.
#[cfg(target_os = "linux")]
#[test]
fn large_files_without_content_are_not_read() {
    let folder = Folder::new(&[]);
    let program = std::fs::read("tests/golden/upstream/bytes/linear/model.pte").unwrap();
    let header = |magic: &[u8], offset: u8| [&[offset, 0, 0, 0], magic].concat();
    for (name, content, status) in [
        ("zeros.pte", Vec::new(), 1),
        ("model.gguf", b"GGUF\x03\0\0\0".to_vec(), 1),
        ("root.pte", header(b"ET12", 99), 1),
        ("tests.bpte", header(b"BP08", 48), 1),
        ("weights.ptd", header(b"FT01", 48), 1),
        ("text.yaml", Vec::new(), 1),
        ("no_extension", Vec::new(), 1),
        ("tail.pte", program, 0),
    ] {
        folder.write(name, content);
        std::fs::File::options().write(true).open(folder.path().join(name)).unwrap().set_len(1 << 30).unwrap();
        for command in ["inspect", "memory", "size"] {
            let is_measured = command == "size" && !["text.yaml", "no_extension", "model.gguf"].contains(&name);
            let run = std::process::Command::new("sh")
                .args(["-c", "ulimit -v 700000; exec \"$@\"", "sh", env!("CARGO_BIN_EXE_pte-emit"), command, name])
                .current_dir(folder.path())
                .output()
                .unwrap();
            let error = String::from_utf8_lossy(&run.stderr);
            assert_eq!(run.status.code(), Some(if is_measured { 0 } else { status }), "{command} {name}: {error}");
        }
        std::fs::remove_file(folder.path().join(name)).unwrap();
    }
}

/// Rows of several files, and of several documents, say which one they are of.
#[test]
fn files_and_documents_are_told_apart() {
    let split =
        RELU.replace("    inputs:", "      w: {tensor: float32, data: [1, 2], name: w, external: true}\n    inputs:");
    let folder = Folder::new(&[("split.yaml", &split), ("two.yaml", &format!("{}---{RELU}", RELU.trim_start()))]);
    let text = |arguments: &[&str]| String::from_utf8(folder.run(arguments).exits(0).stdout).unwrap();
    let csv = text(&["size", "split.yaml", "--format", "csv", "-d", "segment"]);
    let both = text(&["size", "split.yaml", "split.yaml", "--format", "csv", "-d", "segment"]);
    assert_eq!(both.lines().count(), 2 * csv.lines().count() - 1, "one title: {both}");
    assert!(csv.starts_with("file,segment,bytes\n\"split.pte\","), "{csv}");
    let short = text(&["size", "split.yaml", "--format", "csv", "-d", "kind", "--limit", "2"]);
    assert!(short.contains(" more)\","), "{short}");
    for command in ["inspect", "size", "memory"] {
        let shown = text(&[command, "two.yaml"]);
        assert!(shown.contains("document 1:") && shown.contains("document 2:"), "{shown}");
    }
    folder.run(&["inspect", "-", "-"]).exits(2).stderr_contains("standard input can be read only once");
}

/// A spreadsheet evaluates cells that begin like formulas.
#[test]
fn no_cell_is_a_formula() {
    for name in ["=1+1", "+1", "-1", "@x"] {
        let folder = Folder::new(&[(&format!("{name}.yaml"), RELU)]);
        let done = folder.run(&["size", "--format", "csv", "--", &format!("{name}.yaml")]).exits(0);
        let csv = String::from_utf8(done.stdout).unwrap();
        assert!(csv.contains(&format!("\n\"'{name}.pte\",")), "{csv}");
    }
}

/// The header and the segments of a `.bpte` are those of its program.
#[test]
fn bundled_programs_have_the_facts_of_the_program() {
    let source = Model::open("tests/golden/upstream/bundled/addmul/model.bpte").unwrap();
    let files = source.inspect(&InspectOptions::default()).unwrap();
    let bundle: Value = serde_json::to_value(&files[0].1).unwrap();
    assert_eq!(bundle["header"]["magic"], "eh00");
    assert_eq!(bundle["segments"].as_array().map(Vec::len), Some(1));
    assert!(bundle["metadata_bytes"].as_u64() < bundle["bytes"].as_u64());
}

/// Data of delegates have the name of the operation that reads them, and delegates that of `payload show`.
#[test]
fn weights_of_delegates_have_names() {
    let source = Model::open("tests/golden/upstream/bytes/conv_xnn/model.pte").unwrap();
    let files = source.inspect(&InspectOptions::default()).unwrap();
    let document: Value = serde_json::to_value(&files[0].1).unwrap();
    let delegates = document["methods"][0]["delegates"].as_array().unwrap();
    let known: Vec<String> = source.payloads().unwrap().into_iter().map(|payload| payload.path).collect();
    assert_eq!(
        delegates.iter().map(|delegate| &delegate["name"]).collect::<Vec<_>>(),
        known.iter().collect::<Vec<_>>()
    );
    let data = document["named_data"].as_object().unwrap();
    let total: u64 = data.values().filter_map(Value::as_u64).sum();
    assert!(total > 0);
    assert_eq!(delegates.iter().filter_map(|delegate| delegate["named_data_bytes"].as_u64()).sum::<u64>(), total);
    let users = document["named_data_users"].as_object().unwrap();
    assert_eq!(users.len(), data.len());
    let is_weight =
        |user: &Value| user.as_str().unwrap().ends_with("filter") || user.as_str().unwrap().ends_with("bias");
    assert!(users.values().all(is_weight), "{users:?}");
    let tree = sizes(&source, &[SizeDimension::Tensor]).unwrap();
    let largest = tree[0].1["children"][0]["name"].as_str().unwrap();
    let (name, path) = largest.split_once(" (").unwrap();
    assert!(name.contains("conv2d_") && name.contains(" filter"), "{largest}");
    assert!(path.starts_with("methods.forward.delegates[0].payload.values["), "{largest}");
}

/// Operators that are called, against ExecuTorch's `gen_oplist` (tests/data/inspect/oplist.json says how it was
/// recorded).
#[test]
fn operators_are_those_of_gen_oplist() {
    let recorded: Value =
        serde_json::from_str(&std::fs::read_to_string("tests/data/inspect/oplist.json").unwrap()).unwrap();
    let programs = recorded["programs"].as_object().unwrap();
    assert!(programs.len() > 20, "{} programs", programs.len());
    for (path, expected) in programs {
        let source = Model::open(Path::new(path)).unwrap();
        let documents = source.inspect(&InspectOptions::default()).unwrap();
        let document: Value = serde_json::to_value(&documents[0].1).unwrap();
        let methods = document["methods"].as_array().unwrap();
        let mut names: Vec<&String> =
            methods.iter().flat_map(|method| method["operators"].as_object().unwrap().keys()).collect();
        names.sort();
        names.dedup();
        let called: Vec<&String> = expected["kernels"].as_object().unwrap().keys().collect();
        assert_eq!(names, called, "{path}");
    }
}

/// Of a malformed file, what can be read is printed, and the errors beside it.
#[test]
fn malformed_files_are_inspected_as_far_as_they_can_be_read() {
    let folder = Folder::new(&[
        (
            "weights.yaml",
            "named_data: {a: {tensor: int8, data: [1, 2]}, b: {tensor: float32, data: [3]}}\nraw: {set: {\"named_data[1].segment_index\": 9}}",
        ),
        (
            "program.yaml",
            "methods: {forward: {values: {x: {tensor: int8, sizes: [1]}, w: {tensor: int8, data: [1]}}, inputs: [x], outputs: [y], instructions: [{kernel: 'aten::add.out', args: [x, w], out: y}]}}\nraw: {set: {methods.forward.values.w.data_buffer_idx: 9}}",
        ),
    ]);
    folder.run(&["weights.yaml", "-q", "-o", "weights.ptd"]).exits(0);
    folder.run(&["program.yaml", "-q", "-o", "program.pte"]).exits(0);
    let text = |arguments: &[&str]| {
        let done = folder.run(&[&["inspect"], arguments].concat()).exits(1).stderr_contains(arguments[0]);
        String::from_utf8(done.stdout).unwrap()
    };
    let weights = text(&["weights.ptd"]);
    assert!(
        weights.contains("a: int8 [2], 2 bytes") && weights.contains("errors") && weights.contains("segment 9"),
        "{weights}"
    );
    let program = text(&["program.pte"]);
    assert!(program.contains("method forward") && program.contains("aten::add.out"), "{program}");
    assert!(program.contains(": data 9 are out of range"), "{program}");
    let json: Value = serde_json::from_str(&text(&["program.pte", "--json"])).unwrap();
    assert_eq!((json["errors"].as_array().unwrap().len(), &json["methods"][0]["name"]), (1, &"forward".into()));
    // The FlatBuffer is cut: only the header is known. Other files are printed, too.
    let bytes = folder.read("program.pte");
    folder.write("cut.pte", &bytes[..bytes.len() / 2]);
    let both = text(&["cut.pte", "program.pte"]);
    assert!(
        both.contains("cut.pte: program (.pte)") && both.contains("header") && both.contains("method forward"),
        "{both}"
    );
    for (name, start) in [("weights.ptd", 60), ("weights.ptd", 8), ("program.pte", 8), ("program.pte", 100)] {
        folder.write(&format!("short.{}", &name[name.len() - 3..]), &folder.read(name)[..start]);
        assert!(text(&[&format!("short.{}", &name[name.len() - 3..])]).contains("errors"), "{name} {start}");
    }
}

/// An empty file is called that.
#[test]
fn empty_files_are_called_empty() {
    let folder = Folder::new(&[("a.pte", ""), ("a.ptd", ""), ("a.bpte", ""), ("relu.yaml", RELU)]);
    for name in ["a.pte", "a.ptd", "a.bpte"] {
        for command in ["inspect", "memory", "dump"] {
            folder.run(&[command, name]).exits(1).stderr_contains("the file is empty");
        }
        folder.run(&["diff", "relu.yaml", name]).exits(2).stderr_contains("the file is empty");
    }
}

/// A list that is cut says so, and how to see all; programs of any size have a screen of text.
#[test]
fn long_lists_are_cut_with_a_line_that_says_so() {
    let values: Vec<String> = (0..40).map(|i| format!("x{i}: {{tensor: float32, sizes: [{}]}}", i + 1)).collect();
    let names: Vec<String> = (0..40).map(|i| format!("x{i}")).collect();
    let methods: Vec<String> = (0..30)
        .map(|i| format!("m{i}: {{values: {{{}}}, inputs: [{}], outputs: [y], instructions: [{{kernel: 'aten::relu.out', args: [x0], out: y}}]}}", values.join(", "), names.join(", ")))
        .collect();
    let folder = Folder::new(&[("many.yaml", &format!("methods: {{{}}}", methods.join(", ")))]);
    let text = |arguments: &[&str]| String::from_utf8(folder.run(arguments).exits(0).stdout).unwrap();
    for command in ["memory", "inspect"] {
        let short = text(&[command, "many.yaml"]);
        assert!(short.contains("and 20 more methods (`--limit 0` for all)"), "{short}");
        assert!(short.lines().count() < 300, "{short}");
        let all = text(&[command, "many.yaml", "--limit", "0"]);
        assert!(!all.contains("--limit") && all.contains("method m29") && all.contains("x39"), "{all}");
    }
    let xnnpack =
        text(&["memory", Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/xnnpack_linear.yaml").to_str().unwrap()]);
    assert!(xnnpack.contains("64  after the last tensor, which the exporter adds for XNNPACK"), "{xnnpack}");
}

/// The copies of data that are stored twice are named; methods come first, header and segments last.
#[test]
fn copies_are_named() {
    let values = "a: {tensor: float32, data: [1, 2]}, b: {tensor: float32, data: {numbers: [1, 2], copy: 1}}, x: {tensor: float32, sizes: [1]}";
    let yaml = format!("methods: {{f: {{values: {{{values}}}, inputs: [x], outputs: [a, b]}}}}");
    let folder = Folder::new(&[("m.yaml", &yaml)]);
    let text = String::from_utf8(folder.run(&["inspect", "m.yaml"]).exits(0).stdout).unwrap();
    let line = "stored twice        8 bytes: `methods.f.a (values[0])`, `methods.f.b (values[1])`";
    let labels = ["  method f", line, "  header", "  segments"];
    let found = labels.map(|label| text.find(label).unwrap_or_else(|| panic!("no `{label}` in {text}")));
    assert!(found.is_sorted(), "{text}");
    let json: Value = serde_json::from_slice(&folder.run(&["inspect", "m.yaml", "--json"]).exits(0).stdout).unwrap();
    assert_eq!((json["duplicated_bytes"].as_u64(), json["duplicates"][0]["bytes"].as_u64()), (Some(8), Some(8)));
    assert_eq!(json["duplicates"][0]["copies"].as_array().unwrap().len(), 2);
}

/// A summary, `memory` and the summary of the dump have the same bytes of tensors, also if some of them are views.
#[test]
fn the_bytes_of_tensors_are_those_of_the_dump() {
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples");
    let with_views = "methods:\n  forward:\n    values: {x: {tensor: float32, sizes: [4]}}\n    inputs: [x]\n    outputs: [c]\n    \
                      instructions:\n      - {kernel: aten::exp.out, args: [x], out: a}\n      - {view: a, sizes: [2, 2], out: b}\n      \
                      - {kernel: aten::relu.out, args: [b], out: c}\n";
    // What nothing writes is not a view if it has bytes of its own.
    let unwritten = "methods:\n  forward:\n    values: {x: {tensor: float32, sizes: [4]}, s: {tensor: float32, sizes: [4], mutable: true}}\n    \
                     inputs: [x]\n    outputs: [c]\n    instructions:\n      - {kernel: aten::mul.out, args: [x, s], out: c}\n";
    let mut views = 0;
    for name in
        ["views", "unwritten", "dynamic_batch", "dtypes", "kv_cache", "topk", "xnnpack_two_delegates", "methods"]
    {
        let folder = Folder::new(&[("views.yaml", with_views), ("unwritten.yaml", unwritten)]);
        let file = format!("{name}.yaml");
        let source = if folder.names().contains(&file) { file.into() } else { examples.join(file) };
        folder.run(&[source.to_str().unwrap(), "-o", "m.pte", "-q"]).exits(0);
        let dump = folder.run(&["dump", "m.pte", "-o", "m.yaml"]).exits(0);
        assert_eq!(dump.stderr, "", "{name}");
        views += String::from_utf8(folder.read("m.yaml")).unwrap().matches("view: ").count();
        let bytes_of = |file: &str| -> Vec<u64> {
            let summary = folder.run(&[file, "-o", "again.pte"]).exits(0).stderr;
            let counts = summary.split(" for tensors of ").skip(1);
            counts.map(|rest| rest.split_once(" byte").unwrap().0.parse().unwrap()).collect()
        };
        let json: Value = serde_json::from_slice(&folder.run(&["memory", "m.pte", "--json"]).exits(0).stdout).unwrap();
        let pools = |method: &Value| -> u64 {
            method["pools"].as_array().unwrap().iter().map(|pool| pool["unshared"].as_u64().unwrap()).sum()
        };
        // The summary of a method without planned memory has no bytes.
        let expected = json["methods"].as_array().unwrap().iter().map(pools).filter(|bytes| *bytes > 0);
        let expected: Vec<u64> = expected.collect();
        assert_eq!([bytes_of("m.pte"), bytes_of("m.yaml")], [expected.clone(), expected], "{name}");
    }
    assert!(views > 0);
}

/// The releases that `inspect` lists are those with which `check` has no errors: for all examples, and for files that
/// releases do not run.
/// Scale and zero point follow from the calls, and a tensor is planned, of the caller, a constant, or another value.
#[test]
fn inputs_and_outputs_have_their_quantization_and_memory() {
    let yaml = "
methods:
  forward:
    values:
      q: {tensor: int8, sizes: [4], memory: none}
      x: {tensor: float32, sizes: [4]}
      c: {tensor: int8, data: [1, 2]}
      r: {tensor: int8, sizes: [4]}
      n: 3
    inputs: [q, n]
    outputs: [r, c, q, x]
    instructions:
      - {kernel: quantized_decomposed::dequantize_per_tensor.out, args: [q, 0.5, -3, -128, 127, int8], out: x}
      - {kernel: quantized_decomposed::quantize_per_tensor.out, args: [x, 0.25, 7, -128, 127, int8], out: r}
";
    let folder = Folder::new(&[("m.yaml", yaml)]);
    let text = String::from_utf8(folder.run(&["inspect", "m.yaml", "-q"]).exits(0).stdout).unwrap();
    let (_, text) = text.split_once("    inputs ").unwrap();
    let (text, _) = text.split_once("    memory ").unwrap();
    let lines: Vec<&str> = text.lines().map(|line| line.trim_start_matches("    outputs ").trim()).collect();
    assert_eq!(
        lines,
        [
            "q: int8 [4], scale 0.5, zero point -3, not planned",
            "n: 3",
            "r: int8 [4], scale 0.25, zero point 7, planned",
            "c: int8 [2]",
            "q: int8 [4]",
            "x: float32 [4], scale 0.5, zero point -3, planned"
        ]
    );
    let json: Value = serde_json::from_slice(&folder.run(&["inspect", "m.yaml", "--json"]).exits(0).stdout).unwrap();
    let method = &json["methods"][0];
    assert_eq!(method["inputs"][0]["zero_point"], -3);
    assert_eq!((&method["inputs"][0]["planned"], &method["outputs"][0]["scale"]), (&false.into(), &0.25.into()));
    assert_eq!((&method["inputs"][1]["planned"], &method["outputs"][1]["planned"]), (&Value::Null, &Value::Null));
}

#[test]
fn inspect_and_check_agree_about_releases() {
    let mut models: Vec<Model> =
        files(&root().join("examples"), &["yaml"]).iter().filter_map(|path| Model::open(path).ok()).collect();
    let linear = Model::open(root().join("examples/linear.yaml")).unwrap();
    let linear = linear.assembly().unwrap().program_file().unwrap().to_vec().unwrap();
    models.push(Model::from_binary("lost.pte", without_header(&linear)));
    let inline =
        "layout: {constants: inline}\nmethods: {forward: {values: {c: {tensor: float32, data: [1]}}, outputs: [c]}}";
    models.push(Model::from_yaml("inline.yaml", inline, "."));
    let (mut all, mut some, mut none) = (0, 0, 0);
    for model in models {
        let Ok(files) = model.inspect(&InspectOptions::default()) else { continue };
        let Some(found) = files.iter().find_map(|(_, file)| file.contents.as_ref()?.releases.clone()) else { continue };
        let mut options = CheckOptions::default();
        if model.is_text() {
            options.reported.clone_from(model.assembly().unwrap().unknown_operators());
        }
        let mut runs = |release: &Release| {
            options.runtime = Some(release.clone());
            !model.check(&options).unwrap().first().is_some_and(|(_, found)| found.has_errors())
        };
        let expected: Vec<String> =
            Release::known().filter(|release| runs(release)).map(|release| release.version().to_string()).collect();
        assert_eq!(found, expected, "{}", model.label());
        match expected.len() {
            0 => none += 1,
            count if count == Release::known().count() => all += 1,
            _ => some += 1,
        }
    }
    assert!(all > 10 && some > 10 && none > 10, "{all} {some} {none}");
}

/// Tensors with the same names in many layers are one row by default, and a stored name does not divide a tensor.
#[test]
fn size_groups_layers_and_counts_a_named_tensor_once() {
    let mut values = String::new();
    let mut calls = String::new();
    for layer in 0..40 {
        let name = format!("layers.{layer}.scale.weight");
        values += &format!("      w{layer}: {{tensor: float32, data: {{fill: {layer}}}, sizes: [64], name: {name}}}\n");
        calls += &format!("      - {{kernel: aten::add.out, args: [x, w{layer}], out: x}}\n");
    }
    let yaml = format!(
        "methods:\n  forward:\n    values:\n{values}      x: {{tensor: float32, sizes: [64]}}\n    inputs: [x]\n    \
         outputs: [x]\n    instructions:\n{calls}"
    );
    let folder = Folder::new(&[("model.yaml", &yaml)]);
    folder.run(&["model.yaml", "-o", "model.pte", "-q"]).exits(0);
    let text = |arguments: &[&str]| String::from_utf8(folder.run(arguments).exits(0).stdout).unwrap();
    let grouped = text(&["size", "model.pte"]);
    let mut lines = grouped.lines();
    let title = lines.next().unwrap();
    assert!(title.ends_with("bytes, by pattern of names and their number (`--levels tensor` lists each)"), "{grouped}");
    assert!(lines.next().unwrap().ends_with("  layers.*.scale.weight (40)"), "{grouped}");
    assert!(!grouped.contains("(none)") && grouped.contains("  padding\n"), "{grouped}");
    let tensors = text(&["size", "model.pte", "-d", "tensor", "--limit", "0"]);
    assert_eq!(text(&["size", "model.pte", "--limit", "0"]), tensors);
    let rows = tensors.lines().filter(|line| line.contains("layers.7.scale.weight") || line.contains("values[7]"));
    assert_eq!(rows.count(), 1, "{tensors}");
    let source = text(&["size", "model.yaml", "model.pte"]);
    assert!(source.starts_with("model.pte: 18176 bytes, assembled from model.yaml, by pattern "), "{source}");
    assert!(source.contains("\nmodel.pte: 18176 bytes, by pattern "), "{source}");
    // Data have all tensors.
    let json: Value = serde_json::from_str(&text(&["size", "model.pte", "--json"])).unwrap();
    assert_eq!(json["dimensions"], serde_json::json!(["tensor"]));
}
