//! The command `kernels`: its forms against what the scripts of ExecuTorch write, several programs, and refusals.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use pretty_assertions::assert_eq;
use pte_emit::Model;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::support::folder::{Folder, RELU};
use crate::support::root;

/// What ExecuTorch's scripts write, by path. lab/conformance/oplist.py recorded it.
fn recorded() -> Value {
    serde_json::from_str(&std::fs::read_to_string(root().join("tests/data/inspect/oplist.json")).unwrap()).unwrap()
}

/// Examples that ExecuTorch's scripts have not seen yet: recording them needs torch.
const NOT_RECORDED: [&str; 1] = ["transformer_12_blocks.yaml"];

/// Reference files, and the examples.
#[test]
fn forms_are_those_of_the_scripts_of_executorch() {
    let recorded = recorded();
    let programs = recorded["programs"].as_object().unwrap();
    assert!(programs.len() > 100, "{} programs", programs.len());
    let examples = std::fs::read_dir(root().join("examples")).unwrap();
    let examples = examples.filter(|entry| entry.as_ref().unwrap().path().extension().is_some_and(|end| end == "yaml"));
    let expected = examples.count() - NOT_RECORDED.len();
    assert_eq!(programs.keys().filter(|path| path.starts_with("examples/")).count(), expected);
    for (path, expected) in programs {
        let kernels = Model::open(Path::new(path)).unwrap().kernels().unwrap();
        let yaml: Value = serde_yaml::from_str(&kernels.selected_operators()).unwrap();
        let operator = json!({
            "debug_info": [path], "include_all_overloads": false, "is_root_operator": true, "is_used_for_training": true,
        });
        let names = expected["operators"].as_array().unwrap().iter().map(|name| name.as_str().unwrap().to_owned());
        let document = json!({
            "build_features": [], "custom_classes": [], "include_all_non_op_selectives": false, "include_all_operators": false,
            "kernel_metadata": {}, "et_kernel_metadata": expected["kernels"],
            "operators": names.map(|name| (name, operator.clone())).collect::<BTreeMap<String, Value>>(),
        });
        assert_eq!(yaml, document, "{path}");
        for (name, text) in kernels.headers().unwrap() {
            let hash: String = Sha256::digest(&text).iter().map(|byte| format!("{byte:02x}")).collect();
            assert_eq!(expected["headers"][name], json!(hash), "{path}: {name}\n{text}");
        }
    }
}

#[test]
fn the_kernels_of_several_programs_are_those_of_each() {
    let recorded = recorded();
    let programs = recorded["programs"].as_object().unwrap();
    let paths: Vec<&String> = programs.keys().filter(|path| path.starts_with("examples/")).collect();
    let models: Vec<Model> = paths.iter().map(|path| Model::open(Path::new(path)).unwrap()).collect();
    let joined = Model::kernels_of(&models).unwrap();
    let mut expected: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for path in &paths {
        for (name, keys) in programs[*path]["kernels"].as_object().unwrap() {
            let keys = keys.as_array().unwrap().iter().map(|key| key.as_str().unwrap().to_owned());
            expected.entry(name.clone()).or_default().extend(keys);
        }
    }
    let found: BTreeMap<String, BTreeSet<String>> =
        joined.operators.iter().map(|one| (one.name.clone(), one.variants.iter().cloned().collect())).collect();
    assert_eq!(found, expected);
    let each: Vec<pte_emit::deploy::KernelList> = models.iter().map(|model| model.kernels().unwrap()).collect();
    assert_eq!(Some(joined.max_arguments), each.iter().map(|list| list.max_arguments).max());
    let calls = |list: &pte_emit::deploy::KernelList| list.operators.iter().map(|one| one.instructions).sum::<u64>();
    assert_eq!(calls(&joined), each.iter().map(calls).sum::<u64>());
    assert_eq!(joined.max_kernels, expected.values().map(BTreeSet::len).sum::<usize>() + 28);
    assert_eq!(joined.backends.len(), 1);
}

/// A call without arguments, one of a tensor without an element type of C++, and an operator that nothing calls.
#[test]
fn unusual_calls_are_counted() {
    let yaml = "
methods:
  forward:
    values: {x: {tensor: float32, sizes: [2]}, n: null}
    inputs: [x]
    outputs: [x]
    operators: [aten::sub.out]
    instructions:
      - {kernel: my::nothing, args: []}
      - {kernel: my::nothing, args: [n, x]}
      - {kernel: my::other, args: [n, n, n]}
";
    let kernels = Model::from_yaml("m.yaml", yaml, ".").kernels().unwrap();
    let found: Vec<(&str, u64, &[usize], Vec<&str>)> = kernels
        .operators
        .iter()
        .map(|one| (&*one.name, one.instructions, &one.arguments[..], one.variants.iter().map(|key| &**key).collect()))
        .collect();
    let expected: [(&str, u64, &[usize], Vec<&str>); 3] = [
        ("aten::sub.out", 0, &[], vec![]),
        ("my::nothing", 2, &[0, 2], vec!["v1", "v1/6;0"]),
        ("my::other", 1, &[3], vec!["v1"]),
    ];
    assert_eq!(found, expected);
    assert_eq!((kernels.max_arguments, kernels.max_kernels), (3, 28 + 1 + 2 + 1));
    let headers = kernels.headers().unwrap();
    // An element type is not known of all calls, so that all are compiled.
    assert!(headers[0].1.contains("compare(\"my::nothing\") == 0)\n        && (true))"), "{}", headers[0].1);
}

#[test]
fn outputs_are_written_together_and_replace_no_input() {
    let folder = Folder::new(&[("a.yaml", RELU), ("b.yaml", &RELU.replace("relu", "abs"))]);
    // Two lines cannot be the value of a variable.
    for format in ["list", "yaml"] {
        let refused = folder.run(&["kernels", "a.yaml", "b.yaml", "--format", format]).exits(2);
        refused.stderr_contains("--union");
    }
    let joined = folder.run(&["kernels", "a.yaml", "b.yaml", "--union", "--format", "list"]).exits(0).stdout;
    assert_eq!(joined, b"aten::abs.out,aten::relu.out\n");
    folder.run(&["kernels", "a.yaml", "--format", "header"]).exits(2).stderr_contains("`-o`");
    folder.run(&["kernels", "a.yaml", "--format", "yaml", "-o", "a.yaml"]).exits(2).stderr_contains("overwritten");
    assert_eq!(folder.names(), ["a.yaml", "b.yaml"]);
    folder.run(&["kernels", "a.yaml", "b.yaml", "--union", "--format", "header", "-o", "build/h"]).exits(0);
    let headers = ["selected_max_kernel_num.h", "selected_op_variants.h", "selected_prim_ops.h"];
    let written = folder.names().into_iter().filter(|name| name.ends_with(".h")).collect::<Vec<_>>();
    assert_eq!(written, headers.map(|name| format!("build/h/{name}")));
    for header in headers {
        assert!(!folder.read(&format!("build/h/{header}")).is_empty());
    }
    // A second run replaces them.
    folder.run(&["kernels", "a.yaml", "--format", "header", "-o", "build/h"]).exits(0);
    assert!(!String::from_utf8(folder.read("build/h/selected_prim_ops.h")).unwrap().contains("ABS"));
}

#[test]
fn what_no_build_can_select_is_an_error_and_nothing_is_written() {
    let wide = format!("[{}]", ["1"; 17].join(", "));
    let folder = Folder::new(&[
        ("comma.yaml", &RELU.replace("aten::relu.out", "\"my::a,b\"")),
        ("weights.yaml", "named_data: {w: {tensor: float32, data: [1]}}"),
        ("type.yaml", &format!("{RELU}raw: {{set: {{methods.forward.values.x.scalar_type: 100}}}}\n")),
        ("wide.yaml", &RELU.replace("[2, 2]", &wide)),
        ("text.pte", "not a program"),
    ]);
    let before = folder.names();
    for (input, form, message) in [
        ("comma.yaml", "list", "operator `my::a,b` cannot be selected by a build"),
        ("comma.yaml", "header", "operator `my::a,b` cannot be selected by a build"),
        ("weights.yaml", "text", "expected a program"),
        ("type.yaml", "header", "unknown element type 100"),
        ("wide.yaml", "yaml", "17 dimensions"),
        ("text.pte", "list", "text.pte"),
    ] {
        folder.run(&["kernels", input, "--format", form, "-o", "out"]).exits(1).stderr_contains(message);
        assert_eq!(folder.names(), before, "{input} {form}");
    }
    folder.run(&["kernels", "comma.yaml", "--format", "yaml"]).exits(0);
}
