//! `pte-emit report`: the graphs agree with the program, files for other viewers are well-formed, pages are small; and,
//! in an ignored test, Graphviz draws the graphs. web/ tests the pages in a browser.

mod content;
mod models;

use std::collections::BTreeSet;
use std::collections::HashMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::folder::Folder;
use crate::support::{files_below, root};
use pte_emit::{
    Model,
    inspect::{ReportFormat, ReportOptions},
};
use pte_model::diagnostics::is_unsafe;
use serde_json::{Value, json};

fn formatted(source: &Model, format: ReportFormat) -> Result<String, pte_emit::Error> {
    let options = ReportOptions::default().format(format);
    source.report(None, &options)
}

/// The document in a page.
fn document(page: &str) -> Value {
    let (_, data) = page.split_once("id=\"data\">").expect("the page has data");
    serde_json::from_str(data.split_once("</script>").expect("the data end").0).expect("JSON")
}

/// Programs of the examples, of ExecuTorch, and malformed ones.
fn sources() -> Vec<PathBuf> {
    let mut files = files_below(&root().join("examples"), &["yaml"]);
    files.extend(files_below(&root().join("tests/golden/upstream"), &["pte", "bpte", "ptd"]));
    // Some of the many exports.
    let mut exports = 0;
    files.retain(|path| {
        exports += usize::from(path.parent().is_some_and(|folder| folder.ends_with("exports")));
        !path.parent().is_some_and(|folder| folder.ends_with("exports")) || exports % 10 == 1
    });
    files
}

/// A program of `layers` residual layers with the stack traces of an exporter; 25 have 750 instructions and 1,500
/// values.
fn transformer(layers: usize) -> String {
    let mut values = String::from("      h0: {tensor: float32, sizes: [1, 4]}\n");
    let mut instructions = String::new();
    let mut hidden = "h0".to_owned();
    let mut count = 0;
    for layer in 0..layers {
        let skip = hidden.clone();
        for step in 0..30 {
            count += 1;
            let (block, line) = if step < 18 { ("attention", 20 + step) } else { ("mlp", 60 + step) };
            let operator = ["mul", "add", "sub", "relu", "sigmoid"][step % 5];
            let out = format!("h{count}");
            let _ = writeln!(values, "      {out}: {{tensor: float32, sizes: [1, 4]}}");
            let args = match (step, operator) {
                (29, _) => format!("{hidden}, {skip}"),
                (_, "relu" | "sigmoid") => hidden.clone(),
                _ => {
                    let _ = writeln!(values, "      w{count}: {{tensor: float32, data: [{count}, 2, 3, {step}]}}");
                    format!("{hidden}, w{count}")
                }
            };
            let operator = if step == 29 { "add" } else { operator };
            let _ = writeln!(
                instructions,
                "      - {{kernel: 'aten::{operator}.out', args: [{args}], out: {out}, stacktrace: [\
                 {{filename: vit.py, lineno: {}, name: forward, context: 'x = self.layers[{layer}](x)'}}, \
                 {{filename: layer.py, lineno: {}, name: forward, context: 'x = x + self.{block}(x)'}}, \
                 {{filename: {block}.py, lineno: {line}, name: forward, context: 'x = step{step}(x)'}}]}}",
                100 + layer,
                if block == "mlp" { 12 } else { 11 },
            );
            hidden = out;
        }
    }
    format!(
        "methods:\n  forward:\n    values:\n{values}    inputs: [h0]\n    outputs: [{hidden}]\n    instructions:\n{instructions}"
    )
}

/// A program in which all strings are hostile to HTML, to scripts and to who reads them.
fn hostile() -> String {
    let hostile = |letter: &str| {
        format!(
            "{letter}</script><script>window.broken=1</script><img src=x onerror=window.broken=2>&lt;\u{202e}\u{2028}\u{9b}\"'`\\${{1}}\n"
        )
    };
    let trace = json!([{"filename": hostile("a"), "name": hostile("b"), "context": hostile("c"), "lineno": 1}]);
    let tensor = json!({"tensor": "float32", "sizes": [2]});
    let mut values = serde_json::Map::new();
    values.insert(hostile("w"), json!({"tensor": "float32", "sizes": [2], "data": [1, 2]}));
    values.insert("x".into(), tensor.clone());
    values.insert("y".into(), tensor.clone());
    values.insert(hostile("z"), tensor);
    values.insert("s".into(), json!({"string": hostile("s")}));
    let method = json!({
        "values": values, "inputs": ["x"], "outputs": ["y", hostile("z"), "s"],
        "delegates": {hostile("d"): {"backend": hostile("B"), "data": {"text": "p"}}},
        "instructions": [
            {"kernel": format!("{}::{}.{}", hostile("n"), hostile("o"), hostile("l")), "args": [hostile("w"), "y"], "stacktrace": trace},
            {"kernel": format!("{}::{}.{}", hostile("n"), hostile("o"), hostile("l")), "args": [hostile("w"), "y"], "stacktrace": trace},
            {"delegate": hostile("d"), "args": ["x", hostile("z")]},
        ],
    });
    // A `$` would be a variable.
    json!({"methods": {hostile("m"): method}, "named_data": {hostile("q"): {"hex": "00"}}})
        .to_string()
        .replace("${", "$$")
}

#[test]
fn graphs_have_the_instructions_and_values_of_their_programs() {
    let mut methods = 0;
    for path in sources() {
        let source = Model::open(&path).unwrap();
        let Ok(page) = formatted(&source, ReportFormat::Html) else { continue };
        let name = path.display();
        assert!(!page.contains(|c: char| c != '\n' && c != '\t' && is_unsafe(c)), "{name}");
        let document = document(&page);
        let size = document["bytes"]["size"].as_u64().unwrap_or(0);
        assert!(page.len() as u64 <= 300_000 + 24 * size, "{name}: {} bytes", page.len());
        let contents = &document["files"][0]["contents"];
        let graphs = document["graph"]["methods"].as_array().into_iter().flatten();
        let by_name = |wanted: &Value| {
            let mut list = contents["methods"].as_array().into_iter().flatten();
            list.find(|method| method["name"] == *wanted).cloned()
        };
        for graph in graphs {
            let nodes = graph["nodes"].as_array().unwrap();
            let values = graph["values"].as_array().unwrap().len() as u64;
            if let Some(method) = by_name(&graph["name"]) {
                assert_eq!(nodes.len() as u64, method["instructions"].as_u64().unwrap(), "{name}");
                assert_eq!(values, method["values"].as_u64().unwrap(), "{name}");
                methods += 1;
            }
            // In a loop, the writer of the previous iteration can be after the reader.
            let back = |node: &(usize, &Value)| Some((usize::try_from(node.1["jump"].as_u64()?).ok()?, node.0));
            let loops: Vec<(usize, usize)> = nodes.iter().enumerate().filter_map(|node| back(&node)).collect();
            let is_before = |writer: usize, index: usize| {
                writer < index || loops.iter().any(|(first, last)| *first <= index && writer <= *last)
            };
            for (index, node) in nodes.iter().enumerate() {
                for read in node["reads"].as_array().into_iter().flatten() {
                    assert!(read[0].as_u64().unwrap() < values, "{name}");
                    for writer in read.as_array().unwrap().iter().skip(1) {
                        assert!(writer.is_null() || is_before(writer.as_u64().unwrap() as usize, index), "{name}");
                    }
                }
            }
        }
        assert_alive_while_used(&document, &path);
    }
    assert!(methods > 150, "{methods} methods");
}

/// Planned tensors are alive at each instruction that has them, or views of them, as arguments, and fit their pools
/// then.
fn assert_alive_while_used(document: &Value, path: &Path) {
    let graphs = document["graph"]["methods"].as_array().into_iter().flatten();
    for (graph, memory) in graphs.zip(document["memory"]["methods"].as_array().into_iter().flatten()) {
        let pools = || memory["pools"].as_array().unwrap().iter();
        // Pools of malformed files may be smaller than their tensors.
        let fits = |pool: &Value| pool["lower_bound"].as_u64() <= pool["bytes"].as_u64();
        assert!(path.to_string_lossy().contains("malformed") || pools().all(fits), "{}", path.display());
        let tensors = pools().flat_map(|pool| pool["tensors"].as_array().unwrap());
        let alive: HashMap<u64, &Value> =
            tensors.map(|tensor| (tensor["value"].as_u64().unwrap(), &tensor["alive"])).collect();
        for (index, node) in graph["nodes"].as_array().unwrap().iter().enumerate() {
            let values =
                node["args"].as_array().into_iter().flatten().chain(node["writes"].as_array().into_iter().flatten());
            for value in values.filter_map(Value::as_u64) {
                let owner = graph["values"][value as usize]["base"].as_u64().unwrap_or(value);
                let Some(times) = alive.get(&owner) else { continue };
                let is_alive = times[0].as_u64().is_some_and(|first| first <= index as u64 + 1)
                    && times[1].as_u64().is_some_and(|last| last > index as u64);
                assert!(is_alive, "{}: values[{owner}] at instruction {index}: {times}", path.display());
            }
        }
    }
}

/// In a chain of instructions, each but the first reads what the one before wrote, also through views.
#[test]
fn edges_follow_views() {
    let yaml = "
methods:
  forward:
    values:
      x: {tensor: float32, sizes: [2, 2]}
      a: {tensor: float32, sizes: [2, 2]}
      v: {tensor: float32, sizes: [4], view_of: a}
      y: {tensor: float32, sizes: [4]}
    inputs: [x]
    outputs: [y]
    instructions:
      - {kernel: 'aten::relu.out', args: [x], out: a}
      - {kernel: 'aten::neg.out', args: [v], out: y}
";
    let page = formatted(&Model::from_yaml("views.yaml", yaml, "."), ReportFormat::Html).unwrap();
    let graph = &document(&page)["graph"]["methods"][0];
    let value =
        |name: &str| graph["values"].as_array().unwrap().iter().position(|value| value["name"] == name).unwrap();
    assert_eq!(graph["nodes"][0]["reads"], json!([[value("x"), null]]));
    assert_eq!(graph["nodes"][1]["reads"], json!([[value("v"), 0]]));
    assert_eq!(graph["outputs"], json!([[value("y"), 1]]));
}

#[test]
fn malformed_files_have_a_report_of_what_can_be_read() {
    for path in files_below(&root().join("examples/malformed"), &["yaml"]) {
        let source = Model::open(&path).unwrap();
        let Ok(assembly) = source.assemble(&pte_emit::AssembleOptions::default()) else { continue };
        let page = formatted(&source, ReportFormat::Html).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let files = document(&page)["files"].as_array().map_or(0, Vec::len);
        let written = usize::from(assembly.program_file().is_some()) + assembly.data_files().count();
        assert_eq!(files, written, "{}", path.display());
        let Some(bytes) = assembly.program_file().and_then(|file| file.to_vec().ok()) else { continue };
        for bytes in [&bytes[..], &bytes[..bytes.len() / 2]] {
            let page = formatted(&Model::from_binary("malformed.pte", bytes), ReportFormat::Html);
            let document = document(&page.unwrap_or_else(|error| panic!("{}: {error}", path.display())));
            let file = &document["files"][0];
            assert_eq!(file["size"]["bytes"], bytes.len(), "{}", path.display());
            assert!(document["graph"].is_object() || document["error"].is_string(), "{}", path.display());
        }
    }
}

#[test]
fn a_report_of_a_malformed_data_file_says_what_it_is() {
    let source = Model::open(root().join("examples/malformed/ptd_header_magic_unknown.yaml")).unwrap();
    let document = document(&formatted(&source, ReportFormat::Html).unwrap());
    assert!(document["error"].as_str().unwrap().contains("expected a header with the magic FH01"));
    assert_eq!(document["files"][1]["findings"][0]["rule"], "H-21");
    assert!(document["graph"].is_object());
    // What it takes in RAM is not known.
    assert_eq!(document["memory"]["loaded"]["at_least"], true);
}

#[test]
fn findings_are_at_their_nodes() {
    let source = Model::open(root().join("examples/malformed/jump_out_of_range.yaml")).unwrap();
    let document = document(&formatted(&source, ReportFormat::Html).unwrap());
    let node = &document["graph"]["methods"][0]["nodes"][0];
    let finding = node["findings"][0].as_u64().expect("the jump has a finding");
    let path = &document["files"][0]["findings"][finding as usize]["path"];
    assert_eq!(path, "methods.forward.instructions[0].destination_instruction");
}

#[test]
fn two_files_have_their_differences() {
    let yaml = std::fs::read_to_string(root().join("examples/linear.yaml")).unwrap();
    let before = Model::from_yaml("old.yaml", &yaml, "examples");
    let now = Model::from_yaml("new.yaml", yaml.replace("aten::relu.out", "aten::neg.out"), "examples");
    let document = document(&now.report(Some(&before), &ReportOptions::default()).unwrap());
    assert_eq!(document["before"], "old.yaml");
    let nodes = document["graph"]["methods"][0]["nodes"].as_array().unwrap();
    let changed = nodes.iter().filter(|node| node["differences"].is_array()).count();
    assert_eq!(changed, 1, "{}", document["changes"]);
}

#[test]
fn a_report_says_why_files_cannot_be_compared() {
    let now = Model::open(root().join("examples/add.yaml")).unwrap();
    let before = Model::from_binary("cut.pte", b"\x30\0\0\0ET12");
    let document = document(&now.report(Some(&before), &ReportOptions::default()).unwrap());
    let error = document["comparison_error"].as_str().unwrap();
    assert!(error.contains("cut.pte"), "{error}");
    assert!(document["changes"].is_null() && document["graph"].is_object());
}

#[test]
fn a_report_replaces_none_of_its_sources() {
    let weights = "named_data: {w: {tensor: float32, data: [1, 2]}}";
    let yaml = "methods: {forward: {values: {w: {tensor: uint8, sizes: [4], data: {file: w.bin}}}, outputs: [w]}}";
    let folder = Folder::new(&[("a.yaml", yaml), ("w.bin", "abcd"), ("w.yaml", weights), ("old.html", "old")]);
    folder.run(&["a.yaml", "-q", "-o", "a.pte"]).exits(0);
    folder.run(&["w.yaml", "-q", "-o", "w.ptd"]).exits(0);
    let sources = ["a.yaml", "w.bin", "w.ptd", "a.pte"].map(|name| (name, folder.read(name)));
    for (arguments, output) in [
        (&["a.yaml"][..], "a.yaml"),
        (&["a.yaml"][..], "./w.bin"),
        (&["a.pte", "--with", "w.ptd"], "w.ptd"),
        (&["a.pte", "a.yaml"], "w.bin"),
        (&["a.pte", "a.yaml"], "a.pte"),
    ] {
        let all = [&["report", "--to", "html"], arguments, &["-o", output]].concat();
        folder.run(&all).exits(2).stderr_contains(&format!("output {output} is also an input"));
    }
    for (name, bytes) in sources {
        assert_eq!(folder.read(name), bytes, "{name}");
    }
    folder.run(&["report", "a.yaml", "-o", "old.html", "--force"]).exits(0);
    assert!(folder.read("old.html").starts_with(b"<!doctype html>"));
}

#[test]
fn graph_files_have_no_unsafe_characters() {
    let source = Model::from_bytes("h.json", hostile().into_bytes(), ".").unwrap();
    for format in [ReportFormat::Dot, ReportFormat::ModelExplorer] {
        let text = formatted(&source, format).unwrap();
        assert!(!text.contains(|c: char| c != '\n' && is_unsafe(c)), "{text}");
    }
}

/// A value has edges from the writers of all branches, and a jump to the end of the method leads to the outputs.
#[test]
fn branches_lead_to_what_reads_their_results() {
    let source = Model::open(root().join("examples/if_else.yaml")).unwrap();
    let text = formatted(&source, ReportFormat::Dot).unwrap();
    for edge in
        ["m0_n3 -> m0_out0", "m0_n5 -> m0_out0", "m0_n2 -> m0_n5 [style=dashed", "m0_n4 -> m0_out0 [style=dashed"]
    {
        assert!(text.contains(edge), "{edge}\n{text}");
    }
    let json: Value = serde_json::from_str(&formatted(&source, ReportFormat::ModelExplorer).unwrap()).unwrap();
    let nodes = json["graphs"][0]["nodes"].as_array().unwrap();
    let output = nodes.iter().find(|node| node["id"] == "output 0").unwrap();
    let from: Vec<&Value> =
        output["incomingEdges"].as_array().unwrap().iter().map(|edge| &edge["sourceNodeId"]).collect();
    assert_eq!(from, ["3", "5"]);
    // A write that no jump leads around replaces those before.
    let yaml =
        "methods: {forward: {values: {x: {tensor: float32, sizes: [2]}}, inputs: [x], outputs: [y], instructions: [
        {kernel: aten::sin.out, args: [x], out: y}, {kernel: aten::cos.out, args: [x], out: y}]}}";
    let text = formatted(&Model::from_yaml("a.yaml", yaml, "."), ReportFormat::Dot).unwrap();
    assert!(!text.contains("m0_n0 -> m0_out0") && text.contains("m0_n1 -> m0_out0"), "{text}");
}

/// A loop has an edge back for its jump, without a condition that is always false, and for what the next iteration
/// reads.
#[test]
fn loops_have_edges_back() {
    let source = Model::open(root().join("examples/loop.yaml")).unwrap();
    let text = formatted(&source, ReportFormat::Dot).unwrap();
    for edge in
        ["m0_n6 -> m0_n3 [", "m0_n7 -> m0_n3 [style=dashed];", "m0_n4 -> m0_out0 [style=dashed, label=\"if false\"];"]
    {
        assert!(text.contains(edge), "{edge}\n{text}");
    }
    let text = formatted(&source, ReportFormat::ModelExplorer).unwrap();
    assert!(text.contains("jumps to") && text.matches("if false").count() == 1, "{text}");
    // A condition that an instruction writes is not a constant.
    let yaml = std::fs::read_to_string(root().join("examples/loop.yaml")).unwrap();
    let written = yaml.replace("cond: false, to: again", "cond: more, to: again");
    let text = formatted(&Model::from_yaml("a.yaml", written, "."), ReportFormat::Dot).unwrap();
    assert!(text.contains("m0_n7 -> m0_n3 [style=dashed, label=\"if false\"];"), "{text}");
}

/// Statistics are those of the data, of methods and of payloads, and only on request.
#[test]
fn statistics_are_those_of_the_data() {
    let source = Model::from_yaml(
        "w.yaml",
        "methods: {forward: {values: {w: {tensor: float16, data: [-1, 0, 0, 3, .inf]}, x: {tensor: float16, sizes: [5]}}, inputs: [x], \
         outputs: [y], instructions: [{kernel: aten::mul.out, args: [x, w], out: y}]}}",
        ".",
    );
    let options = ReportOptions::default().data_statistics(true);
    let find = |document: &Value| {
        let values = document["graph"]["methods"][0]["values"].as_array().unwrap();
        values.iter().find(|value| value["name"] == "w").unwrap()["statistics"].clone()
    };
    let found = find(&document(&source.report(None, &options).unwrap()));
    for (key, expected) in
        [("elements", 5.0), ("not_finite", 1.0), ("zeros", 2.0), ("minimum", -1.0), ("maximum", 3.0), ("mean", 0.5)]
    {
        assert_eq!(found[key].as_f64(), Some(expected), "{key}");
    }
    assert!(find(&document(&formatted(&source, ReportFormat::Html).unwrap())).is_null());
    let page = document(&models::delegated(1, 0).report(None, &options).unwrap());
    let values = page["graph"]["payloads"][0]["values"].as_array().unwrap();
    let read: Vec<&Value> = values.iter().filter(|value| value["statistics"].is_object()).collect();
    assert_eq!(read.len(), 6);
    assert!(read.iter().any(|value| value["name"] == "depthwise_conv2d_2 filter"), "{read:?}");
}

/// Graph files of two files mark what changed; of files that cannot be compared, there is none.
#[test]
fn graph_files_mark_what_changed() {
    let program = |operator: &str| {
        format!(
            "methods: {{forward: {{values: {{x: {{tensor: float32, sizes: [2]}}}}, inputs: [x], outputs: [y], instructions: [
            {{kernel: aten::sin.out, args: [x], out: a}}, {{kernel: aten::{operator}.out, args: [a], out: y}}]}}}}"
        )
    };
    let folder = Folder::new(&[("a.yaml", &program("cos")), ("b.yaml", &program("exp")), ("bad.pte", "????")]);
    let text = |arguments: &[&str]| String::from_utf8(folder.run(arguments).exits(0).stdout).unwrap();
    let dot = text(&["report", "a.yaml", "b.yaml", "--to", "dot"]);
    let changed: Vec<&str> = dot.lines().filter(|line| line.contains("penwidth")).collect();
    assert!(changed.len() == 1 && changed[0].contains("aten::exp.out"), "{dot}");
    assert!(text(&["report", "a.yaml", "b.yaml", "--to", "model-explorer"]).contains("differs from the older file"));
    assert!(!text(&["report", "a.yaml", "a.yaml", "--to", "dot"]).contains("penwidth"));
    let run = folder.run(&["report", "bad.pte", "b.yaml", "--to", "dot"]).exits(1);
    run.stderr_contains("cannot mark what changed since bad.pte");
}

#[test]
fn pictures_are_small() {
    let pictures = files_below(&root().join("docs/pictures"), &["png"]);
    assert_eq!(pictures.len(), 6);
    for picture in pictures {
        assert!(std::fs::metadata(&picture).unwrap().len() < 64 << 10, "{}: `optipng -o4`", picture.display());
    }
}

#[test]
fn model_explorer_opens_all_graphs() {
    for path in sources() {
        let source = Model::open(&path).unwrap();
        let Ok(text) = formatted(&source, ReportFormat::ModelExplorer) else { continue };
        let collection: Value = serde_json::from_str(&text).unwrap();
        let name = path.display();
        let graphs = collection["graphs"].as_array().unwrap();
        let ids: BTreeSet<&str> = graphs.iter().map(|graph| graph["id"].as_str().unwrap()).collect();
        assert_eq!(ids.len(), graphs.len(), "{name}");
        for graph in graphs {
            let nodes = graph["nodes"].as_array().unwrap();
            let known: BTreeSet<&str> = nodes.iter().map(|node| node["id"].as_str().unwrap()).collect();
            assert_eq!(known.len(), nodes.len(), "{name}");
            for node in nodes {
                assert!(node["label"].is_string() && node["namespace"].as_str().is_none_or(|n| !n.starts_with('/')));
                for edge in node["incomingEdges"].as_array().into_iter().flatten() {
                    assert!(known.contains(edge["sourceNodeId"].as_str().unwrap()), "{name}: {edge}");
                    assert!(edge["sourceNodeOutputId"].is_string() && edge["targetNodeInputId"].is_string());
                }
                for subgraph in node["subgraphIds"].as_array().into_iter().flatten() {
                    assert!(ids.contains(subgraph.as_str().unwrap()), "{name}");
                }
            }
        }
    }
}

#[test]
fn a_long_operator_is_not_repeated_for_each_instruction() {
    let mut yaml = transformer(1).replace("aten::relu.out", &format!("my::{}", "x".repeat(100_000)));
    yaml = yaml.replace("aten::sigmoid.out", &format!("my::{}", "x".repeat(100_000)));
    let page = formatted(&Model::from_yaml("long.yaml", yaml, "."), ReportFormat::Html).unwrap();
    assert!(page.len() < 1_500_000, "{} bytes", page.len());
}

/// Runs a command that must succeed, and returns its output.
fn run(command: &mut Command) -> String {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
#[ignore = "needs Graphviz"]
fn graphviz_draws_all_graphs() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("hostile.json"), hostile()).unwrap();
    std::fs::write(folder.path().join("transformer.yaml"), transformer(2)).unwrap();
    let mut files = files_below(&root().join("examples"), &["yaml"]);
    files.extend(["hostile.json", "transformer.yaml"].map(|name| folder.path().join(name)));
    let mut drawn = 0;
    for path in files {
        let Ok(text) = formatted(&Model::open(&path).unwrap(), ReportFormat::Dot) else { continue };
        let input = folder.path().join("graph.dot");
        std::fs::write(&input, &text).unwrap();
        let svg = run(Command::new("dot").arg("-Tsvg").arg(&input));
        // A hostile string may have the text of a node.
        let nodes = text.lines().filter(|line| line.starts_with("    m") && !line.contains(" -> ")).count();
        assert_eq!(svg.matches("class=\"node\"").count(), nodes, "{}", path.display());
        assert!(!svg.contains("<script"), "{}", path.display());
        drawn += 1;
    }
    assert!(drawn > 30, "{drawn} files");
}
