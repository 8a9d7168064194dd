//! The document of a report: arguments by name, payloads, the YAML, bytes, events, and the older one of two programs;
//! and `view`, which opens the page.

use super::{document, formatted, json};
use crate::support::folder::Folder;
use crate::support::root;
use pte_emit::Model;
use pte_emit::inspect::{ReportFormat, ReportOptions};
use serde_json::Value;

fn of(source: &Model) -> Value {
    document(&formatted(source, ReportFormat::Html).unwrap())
}

fn example(name: &str) -> Value {
    of(&Model::open(root().join("examples").join(name)).unwrap())
}

/// Names, texts and roles of the arguments of an instruction, as the page finds them.
fn arguments(document: &Value, node: usize) -> Vec<(String, String, String)> {
    let (graph, method) = (&document["graph"], &document["graph"]["methods"][0]);
    let node = &method["nodes"][node];
    let label = node["label"].as_u64().unwrap() as usize;
    let callee = &graph["callees"][method["callees"][label].as_u64().unwrap() as usize];
    let args = callee["args"].as_array().unwrap().iter().zip(node["args"].as_array().unwrap()).enumerate();
    let text = |index: usize, value: &Value| {
        let named = node["texts"].as_array().into_iter().flatten().find(|text| text[0] == index);
        let value = &method["values"][value.as_u64().unwrap() as usize];
        let text = named.map_or(&value["text"], |text| &text[1]);
        text.as_str().or(value["name"].as_str()).unwrap().to_owned()
    };
    let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    args.map(|(index, (arg, value))| (word(&arg["name"]), text(index, value), word(&arg["role"]))).collect()
}

#[test]
fn arguments_have_names_and_contents() {
    let yaml = "methods: {forward: {values: {x: {tensor: float32, sizes: [1, 1, 4, 4]}, w: {tensor: float32, sizes: \
                [1, 1, 3, 3], data: [1, 2, 3, 4, 5, 6, 7, 8, 9]}}, inputs: [x], outputs: [z], instructions: [
        {kernel: aten::convolution.out, args: [x, w, null, [2, 2], [1, 1], [1, 1], false, [0, 0], 1], out: y},
        {kernel: aten::cat.out, args: [[y, y], 1], out: c},
        {kernel: 'dim_order_ops::_to_dim_order_copy.out', args: [c], out: z}]}}";
    let document = of(&Model::from_yaml("conv.yaml", yaml, "."));
    let found = arguments(&document, 0);
    let found: Vec<(&str, &str, &str)> = found.iter().map(|(name, text, role)| (&**name, &**text, &**role)).collect();
    let expected = [
        ("input", "x", ""),
        ("weight", "w", ""),
        ("bias", "none", ""),
        ("stride", "[2, 2]", ""),
        ("padding", "[1, 1]", ""),
        ("dilation", "[1, 1]", ""),
        ("transposed", "false", ""),
        ("output_padding", "[0, 0]", ""),
        ("groups", "1", ""),
        ("out", "y", "out"),
    ];
    assert_eq!(found, expected);
    assert_eq!(arguments(&document, 1)[0].1, "[y, y]");
    let graph = &document["graph"];
    let kinds: Vec<&Value> = graph["callees"].as_array().unwrap().iter().map(|callee| &callee["kind"]).collect();
    assert_eq!(kinds[..3], ["convolution", "shape", "copy"]);
    // 4 results of 9 products each.
    let work = &graph["methods"][0]["nodes"][0]["work"];
    assert_eq!(*work, json!({"macs": 36, "constant": 36, "planned": 64, "written": 16}));
}

#[test]
fn operations_of_payloads_have_their_parameters() {
    let document = example("xnnpack_quantized_convolution.yaml");
    let payload = &document["graph"]["payloads"][0];
    let conv = &payload["nodes"][1];
    assert_eq!((&conv["name"], &conv["kind"]), (&json!("conv2d"), &json!("convolution")));
    let attributes = conv["attributes"].as_array().unwrap();
    for expected in [json!(["stride", "1 1"]), json!(["padding", "0 0 0 0"]), json!(["groups", "1"])] {
        assert!(attributes.contains(&expected), "{expected}: {attributes:?}");
    }
    assert_eq!(conv["roles"], json!(["input1", "filter", "bias"]));
    let value = &payload["values"][1];
    assert_eq!((&value["dtype"], &value["sizes"]), (&json!("qint8"), &json!([1, 3, 3, 1])));
    assert_eq!(value["quantization"], json!([["scale", "0.5"], ["zero_point", "0"]]));
}

#[test]
fn the_yaml_has_the_lines_of_its_elements() {
    let source = Model::open(root().join("examples/xnnpack_two_delegates.yaml")).unwrap();
    let file = Model::from_binary("two.pte", source.assembly().unwrap().program_file().unwrap().to_vec().unwrap());
    for source in [source, file] {
        let document = of(&source);
        let text = &document["text"];
        let lines: Vec<&str> = text["text"].as_str().unwrap().lines().collect();
        let method = &text["methods"][0];
        let line = |of: &Value| lines[of.as_u64().unwrap() as usize - 1].trim();
        assert_eq!(line(&method["line"]), "forward:");
        assert!(line(&method["nodes"][1]).contains("kernel: aten::neg.out"));
        assert!(line(&method["values"][0]).starts_with("x:"));
        assert!(line(&method["delegates"][1]["nodes"][0]).contains("concatenate2"));
        let names = document["graph"]["methods"][0]["delegates"].as_array().unwrap();
        for (lines_of, delegate) in method["delegates"].as_array().unwrap().iter().zip(names) {
            assert_eq!(line(&lines_of["line"]), format!("{}:", delegate["name"].as_str().unwrap()));
        }
    }
}

#[test]
fn bytes_are_those_of_the_file_and_lead_to_elements() {
    let source = Model::open(root().join("examples/linear.yaml")).unwrap();
    let bytes = source.assembly().unwrap().program_file().unwrap().to_vec().unwrap();
    let found = &of(&source)["bytes"];
    assert_eq!(found["size"], bytes.len());
    let base64 = found["data"]["base64"].as_str().unwrap();
    assert_eq!(base64.len(), bytes.len().div_ceil(3) * 4);
    let [paths, elements] = ["paths", "elements"].map(|key| found[key].as_array().unwrap());
    assert_eq!(paths.len(), elements.len());
    let at = paths.iter().position(|path| path == "methods.forward.instructions[1]").unwrap();
    assert_eq!(elements[at], json!([1, 0, 1]));
    let rows = found["regions"].as_array().unwrap();
    assert_eq!(rows.iter().map(|row| row[1].as_u64().unwrap()).sum::<u64>(), bytes.len() as u64);
}

#[test]
fn methods_that_share_a_constant_have_it_once() {
    let value = "w: {tensor: float32, sizes: [2], data: [1, 2]}, x: {tensor: float32, sizes: [2]}";
    let method = format!(
        "{{values: {{{value}}}, inputs: [x], outputs: [y], instructions: [{{kernel: aten::mul.out, args: [x, w], out: y}}]}}"
    );
    let document = of(&Model::from_yaml("shared.yaml", format!("methods: {{a: {method}, b: {method}}}"), "."));
    let weights = document["graph"]["weights"].as_array().unwrap();
    assert_eq!(weights.len(), 1, "{weights:?}");
    assert_eq!((&weights[0]["bytes"], weights[0]["values"].as_array().unwrap().len()), (&json!(8), 2));
}

#[test]
fn events_lead_to_instructions_and_operations() {
    let folder = Folder::new(&[]);
    let [program, dump] = ["xnnpack_two_delegates.yaml", "data/xnnpack_two_delegates.etdump"]
        .map(|name| root().join("examples").join(name).display().to_string());
    let done = folder.run(&["report", &program, "--etdump", &dump]).exits(0);
    let document = document(&String::from_utf8(done.stdout).unwrap());
    let timeline = &document["timeline"];
    assert_eq!(timeline["dropped"], 0);
    let executions = timeline["executions"].as_array().unwrap();
    assert_eq!(executions.len(), 2);
    for execution in executions {
        let events = execution["events"].as_array().unwrap();
        let nodes: Vec<(&Value, &Value)> = events.iter().map(|event| (&event[2], &event[4])).collect();
        let (null, zero) = (Value::Null, json!(0));
        let [one, two] = [json!(1), json!(2)];
        assert_eq!(nodes, [(&zero, &null), (&zero, &zero), (&one, &null), (&two, &null), (&two, &zero)]);
    }
}

#[test]
fn the_older_program_shows_what_was_removed() {
    let program = |middle: &str| {
        format!(
            "methods: {{forward: {{values: {{x: {{tensor: float32, sizes: [2]}}}}, inputs: [x], outputs: [y], instructions: [
            {{kernel: aten::sin.out, args: [x], out: a}}, {middle} {{kernel: aten::exp.out, args: [b], out: y}}]}}}}"
        )
    };
    let before = Model::from_yaml("a.yaml", program("{kernel: aten::cos.out, args: [a], out: b},"), ".");
    let now = program("{kernel: aten::neg.out, args: [a], out: c}, {kernel: aten::cos.out, args: [c], out: b},");
    let now = Model::from_yaml("b.yaml", now, ".");
    let both = |now: &Model, before: &Model| document(&now.report(Some(before), &ReportOptions::default()).unwrap());
    let added = both(&now, &before);
    assert_eq!(added["base"]["methods"][0]["nodes"], json!([0, null, 1, 2]));
    assert_eq!(added["base"]["graph"]["methods"][0]["nodes"].as_array().unwrap().len(), 3);
    let removed = both(&before, &now);
    assert_eq!(removed["base"]["methods"][0]["nodes"], json!([0, 2, 3]));
    let node = &removed["base"]["graph"]["methods"][0]["nodes"][1];
    assert!(node["differences"].is_array(), "{node}");
    assert_eq!(added["base"]["memory"], removed["memory"]);
}

#[cfg(unix)]
#[test]
fn view_opens_the_page_and_keeps_it() {
    use std::os::unix::fs::PermissionsExt;

    let folder = Folder::new(&[("browser", "#!/bin/sh\ncp \"$2\" opened.html && echo \"$1 $2\" > arguments\n")]);
    let browser = folder.path().join("browser");
    std::fs::set_permissions(&browser, std::fs::Permissions::from_mode(0o755)).unwrap();
    let linear = root().join("examples/linear.yaml").display().to_string();
    let view = |browser: &str| {
        let mut command = folder.command(&["view", &linear]);
        command.env("BROWSER", browser).env("TMPDIR", folder.path()).output().unwrap()
    };
    let done = view("./browser --new");
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let page = String::from_utf8(folder.read("opened.html")).unwrap();
    assert!(page.starts_with("<!doctype html>") && document(&page)["graph"].is_object());
    let arguments = String::from_utf8(folder.read("arguments")).unwrap();
    let path = arguments.trim_end().strip_prefix("--new ").unwrap();
    assert!(std::path::Path::new(path).exists() && path.contains("/pte-emit-view-1/linear-"), "{path}");
    // The page of the same source replaces it.
    view("./browser --new");
    assert_eq!(String::from_utf8(folder.read("arguments")).unwrap(), arguments);
    for (browser, expected) in [("no-such-browser", "is not installed"), ("false", "did not open the page")] {
        let done = view(browser);
        let stderr = String::from_utf8_lossy(&done.stderr);
        assert_eq!(done.status.code(), Some(2), "{stderr}");
        assert!(stderr.contains(expected) && stderr.contains("pte-emit-view-1/linear-"), "{stderr}");
    }
}
