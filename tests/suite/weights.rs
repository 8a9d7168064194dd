//! Weights by name: `weights`, `manifest`, `verify`, `payload replace`, and placement in `.ptd` files by pattern.

use std::path::PathBuf;

use pretty_assertions::assert_eq;
use proptest::prelude::*;
use pte_emit::{
    AssembleOptions, Model,
    plan::LayoutConfig,
    weights::{Manifest, SetWeightsOptions, WeightList, compare_manifests, parse_manifest},
};

use crate::support::folder::Folder;
use crate::support::{files_below, root};

/// A program that ExecuTorch wrote, and the same one with other weights (tests/golden/README.md).
fn upstream(name: &str) -> String {
    root().join(format!("tests/golden/upstream/weights/{name}.pte")).display().to_string()
}

fn example(name: &str) -> String {
    root().join(format!("examples/{name}.yaml")).display().to_string()
}

/// Names of the constants of the programs of [`upstream`], and those of the module.
const NAMES: [(&str, &str); 4] = [
    ("linear_weight", "0.weight"),
    ("linear_bias", "0.bias"),
    ("linear_1_weight", "2.weight"),
    ("linear_1_bias", "2.bias"),
];

fn weights(path: &str) -> WeightList {
    Model::open(path).unwrap().weights().unwrap()
}

/// Writes the weights of a program as a `.safetensors` with the names of the module.
fn write_state(folder: &Folder, program: &str, name: &str) {
    let list = weights(program);
    let entry = |(constant, key): &(&str, &str)| {
        let weight = list.weights.iter().find(|weight| weight.name == *constant).unwrap();
        let data = format!("{{file: {program:?}, offset: {}}}", weight.offset.unwrap());
        format!("  {key}: {{tensor: float32, sizes: {:?}, data: {data}}}\n", weight.sizes.as_ref().unwrap())
    };
    let entries: String = NAMES.iter().map(entry).collect();
    folder.write("state.yaml", format!("named_data:\n{entries}"));
    folder.run(&["state.yaml", "-q", "-o", name]).exits(0);
}

/// The export of the second model is the judge: the first one with its weights has the same bytes.
#[test]
fn a_program_with_the_weights_of_another_is_its_export() {
    let folder = Folder::new(&[]);
    let (a, b) = (upstream("model_a"), upstream("model_b"));
    write_state(&folder, &b, "b.safetensors");
    write_state(&folder, &a, "a.safetensors");
    let maps: Vec<String> = NAMES.iter().map(|(constant, key)| format!("{constant}={key}")).collect();
    let by_map: Vec<&str> = maps.iter().flat_map(|rule| ["--map", rule]).collect();
    for names in [&by_map[..], &["--like", "a.safetensors"]] {
        let set = ["weights", "set", &a, "--from", "b.safetensors", "-o", "new.pte"];
        folder.run(&[&set[..], names].concat()).exits(0).stderr_contains("set 4 constants with 38440 bytes");
        assert!(folder.read("new.pte") == std::fs::read(&b).unwrap(), "{names:?}");
    }
    // Names that the source does not have are listed with those that it has; nothing is written.
    let before = folder.names();
    let done = folder.run(&["weights", "set", &a, "--from", "b.safetensors", "-o", "no.pte"]).exits(1);
    done.stderr_contains("`linear_weight` (float32 [128, 64]) has no source").stderr_contains("`2.bias`");
    assert_eq!(folder.names(), before);
}

/// The exporter's constant propagation stores transposed weights, which the old weights identify.
#[test]
fn a_folded_transposition_is_named_and_set_by_content() {
    let program = "methods: {forward: {values: {w: {tensor: float32, data: [[1, 2, 3], [4, 5, 6]]}}, outputs: [w]}}";
    let old = "named_data: {l.weight: {tensor: float32, data: [[1, 4], [2, 5], [3, 6]]}}";
    let new = "named_data: {l.weight: {tensor: float32, data: [[1, 2], [3, 4], [5, 6]]}}";
    let expected = program.replace("[[1, 2, 3], [4, 5, 6]]", "[[1, 3, 5], [2, 4, 6]]");
    let folder = Folder::new(&[("m.yaml", program), ("old.yaml", old), ("new.yaml", new), ("e.yaml", &expected)]);
    folder.run(&["old.yaml", "new.yaml", "-q", "-o", "./", "--to", "safetensors"]).exits(0);
    let set = ["weights", "set", "m.yaml", "--from", "new.safetensors", "-o", "new.pte"];
    let done = folder.run(&[&set[..], &["--map", "w=l.weight"]].concat()).exits(1);
    done.stderr_contains("the sizes are in another order: the exporter folded a transposition");
    folder.run(&[&set[..], &["--like", "old.safetensors"]].concat()).exits(0);
    folder.run(&["e.yaml", "-q", "-o", "e.pte"]).exits(0);
    assert_eq!(folder.read("new.pte"), folder.read("e.pte"));
    let table = folder.run(&[&set[..], &["--like", "old.safetensors", "--dry-run"]].concat()).exits(0);
    assert!(String::from_utf8_lossy(&table.stdout).starts_with("w <- l.weight: float32 [2, 3], 24 bytes, transposed"));
}

#[test]
fn channels_last_constants_are_reordered() {
    let numbers: Vec<String> = (0..24).map(|number| number.to_string()).collect();
    let yaml = "methods: {forward: {values: {w: {tensor: float32, sizes: [2, 3, 2, 2], dim_order: [0, 2, 3, 1], data: {fill: 0}}}, outputs: [w]}}";
    let source = format!(
        "named_data: {{w: {{tensor: float32, sizes: [2, 3, 2, 2], data: {{numbers: [{}], dtype: float32}}}}}}",
        numbers.join(", ")
    );
    let folder = Folder::new(&[("m.yaml", yaml), ("w.yaml", &source)]);
    folder.run(&["w.yaml", "-q", "-o", "w.safetensors"]).exits(0);
    folder.run(&["weights", "set", "m.yaml", "--from", "w.safetensors", "-o", "m.pte"]).exits(0);
    let program = Model::open(folder.path().join("m.pte")).unwrap().resolve().unwrap().program;
    let bytes = program.blobs[0].to_vec().unwrap();
    let found: Vec<f32> = bytes.chunks_exact(4).map(|bytes| f32::from_le_bytes(bytes.try_into().unwrap())).collect();
    // Element (n, c, h, w) is 12n + 4c + 2h + w.
    let expected = (0..24).map(|at| {
        let (n, h, w, c) = (at / 12, at / 6 % 2, at / 3 % 2, at % 3);
        (12 * n + 4 * c + 2 * h + w) as f32
    });
    assert_eq!(found, expected.collect::<Vec<f32>>());
}

#[test]
fn shared_data_are_split_or_set_together() {
    let yaml = "methods: {forward: {values: {a: {tensor: float32, data: [1, 2]}, b: {tensor: float32, data: [1, 2]}}, outputs: [a, b]}}";
    let source = "named_data: {a: {tensor: float32, data: [3, 4]}}";
    let folder = Folder::new(&[("m.yaml", yaml), ("w.yaml", source)]);
    folder.run(&["w.yaml", "-q", "-o", "w.safetensors"]).exits(0);
    folder.run(&["m.yaml", "-q", "-o", "m.pte"]).exits(0);
    let set = ["weights", "set", "m.yaml", "--from", "w.safetensors", "-o", "new.pte"];
    let done = folder.run(&set).exits(1);
    done.stderr_contains("its bytes are those of `a`, which is set: name its source with `--map 'b=NAME'`, or keep its bytes with `--partial`");
    let data = |blobs: &[&str]| {
        let program = Model::open(folder.path().join("new.pte")).unwrap().resolve().unwrap().program;
        let found: Vec<Vec<u8>> = program.blobs.iter().map(|blob| blob.to_vec().unwrap()).collect();
        let numbers = |text: &str| -> Vec<u8> {
            text.split(' ').flat_map(|number| number.parse::<f32>().unwrap().to_le_bytes()).collect()
        };
        assert_eq!(found, blobs.iter().map(|text| numbers(text)).collect::<Vec<_>>());
    };
    folder.run(&[&set[..], &["--partial"]].concat()).exits(0).stderr_contains("1 constant keeps its bytes");
    data(&["3 4", "1 2"]);
    folder.run(&[&set[..], &["--map", "b=a"]].concat()).exits(0);
    data(&["3 4"]);
}

#[test]
fn a_program_and_its_ptd_are_written_together() {
    let folder = Folder::new(&[("linear.yaml", &std::fs::read_to_string(example("linear")).unwrap())]);
    let source = "named_data: {weight: {tensor: float32, sizes: [3, 4], data: {fill: 2}}, bias: {tensor: float32, data: [1, 2, 3]}}";
    folder.write("w.yaml", source);
    folder.run(&["w.yaml", "-q", "-o", "w.ptd"]).exits(0);
    folder.run(&["linear.yaml", "-q", "-o", "old.pte", "--external-data"]).exits(0);
    let set = ["weights", "set", "old.pte", "--from", "w.ptd", "-o", "new.pte"];
    folder.run(&set).exits(1).stderr_contains("its data are in a .ptd; pass the file with `--with`");
    folder.run(&[&set[..], &["--with", "old.ptd"]].concat()).exits(0);
    assert_eq!(folder.read("new.pte"), folder.read("old.pte"));
    let list = |name: &str| weights(&folder.path().join(name).display().to_string()).weights;
    let hashes = |name: &str| {
        let mut hashes: Vec<_> = list(name).into_iter().map(|weight| (weight.name, weight.sha256)).collect();
        hashes.sort();
        hashes
    };
    assert_eq!(hashes("new.ptd"), hashes("w.ptd"));
    // The .ptd alone.
    folder.run(&["weights", "set", "old.ptd", "--from", "w.ptd", "-o", "alone.ptd"]).exits(0);
    assert_eq!(folder.read("alone.ptd"), folder.read("new.ptd"));
    // Its output would replace an input.
    folder.run(&[&set[..], &["--with", "old.ptd", "-o", "old.pte"]].concat()).exits(2);
    folder.run(&["weights", "set", "old.pte", "--from", "w.ptd", "--with", "old.ptd"]).exits(2);
}

#[test]
fn an_array_of_numpy_is_a_source() {
    let yaml =
        "methods: {forward: {values: {table: {tensor: int32, sizes: [2, 3], data: {fill: 0}}}, outputs: [table]}}";
    let folder = Folder::new(&[("m.yaml", yaml)]);
    let table = root().join("examples/data/table.npy").display().to_string();
    let done = folder.run(&["weights", "set", "m.yaml", "--from", &table, "--dry-run"]);
    let text = String::from_utf8_lossy(&done.stdout).into_owned();
    assert!(text.starts_with("table <- table: "), "{text}");
}

#[test]
fn data_that_are_stored_twice_are_named_with_both_places() {
    let yaml = "
methods:
  forward:
    values:
      a: {tensor: float32, data: {fill: 1}, sizes: [8]}
      b: {tensor: float32, data: {fill: 1, copy: 1}, sizes: [8]}
      c: {tensor: float32, data: {fill: 1}, sizes: [8]}
    outputs: [a, b, c]
";
    let folder = Folder::new(&[("m.yaml", yaml)]);
    let done = folder.run(&["weights", "list", "m.yaml"]).exits(0);
    let text = String::from_utf8_lossy(&done.stdout).into_owned();
    let last = text.lines().last().unwrap();
    assert!(last.starts_with("stored twice: 32 bytes, sha256 "), "{text}");
    assert!(last.contains("`a`, `c` in segment at ") && last.contains("; `b` in segment at "), "{text}");
}

/// Constants and state with the same bytes are in segments of their own.
#[test]
fn each_weight_has_its_own_offset() {
    let yaml = "
methods:
  forward:
    values:
      c: {tensor: float32, data: [1, 2]}
      s: {tensor: float32, data: [1, 2], mutable: true}
      x: {tensor: float32, sizes: [2]}
    inputs: [x]
    outputs: [y]
    instructions:
      - {kernel: aten::add.out, args: [c, s], out: y}
      - {kernel: aten::copy_, args: [s, x], out: s}
";
    let folder = Folder::new(&[("m.yaml", yaml)]);
    folder.run(&["m.yaml", "-q", "-o", "m.pte"]).exits(0);
    let file = folder.read("m.pte");
    for source in ["m.yaml", "m.pte"] {
        let path = folder.path().join(source).display().to_string();
        let offsets = weights(&path).weights.iter().map(|weight| weight.offset.unwrap() as usize).collect::<Vec<_>>();
        assert!(offsets.len() == 2 && offsets[0] != offsets[1], "{source}: {offsets:?}");
        assert!(offsets.iter().all(|at| file[*at..at + 8] == [0, 0, 128, 63, 0, 0, 0, 64]), "{source}: {offsets:?}");
    }
}

#[test]
fn named_data_move_to_a_ptd_and_back() {
    let folder = Folder::new(&[]);
    folder.run(&[&example("named_data_delegate"), "-q", "-o", "whole.pte"]).exits(0);
    folder.run(&[&example("named_data_external"), "-q", "-o", "expected.pte"]).exits(0);
    folder.run(&["whole.pte", "-q", "-o", "split.pte", "--external-data"]).exits(0);
    assert_eq!(folder.read("split.pte"), folder.read("expected.pte"));
    assert_eq!(folder.read("split.ptd"), folder.read("xnnpack.ptd"));
    folder.run(&["check", "split.pte", "--with", "split.ptd"]).exits(0);
    folder.run(&["split.pte", "-q", "--with", "split.ptd", "--internal-data", "-o", "back.pte"]).exits(0);
    assert_eq!(folder.read("back.pte"), folder.read("whole.pte"));
    // One of the keys; the other stays in a .ptd, without the one that moved.
    let one = ["split.pte", "-q", "--with", "split.ptd", "--internal-data", "24ae*", "-o", "one.pte"];
    folder.run(&one).exits(0);
    folder.run(&["check", "one.pte", "--with", "one.ptd"]).exits(0);
    let keys = |name: &str| {
        let list = weights(&folder.path().join(name).display().to_string()).weights;
        list.into_iter().map(|weight| weight.name[..4].to_owned()).collect::<Vec<_>>()
    };
    assert_eq!((keys("one.pte"), keys("one.ptd")), (vec!["24ae".to_owned()], vec!["deea".to_owned()]));
    // From YAML whose data are external.
    folder.run(&[&example("named_data_external"), "-q", "--internal-data", "-o", "inside.pte"]).exits(0);
    assert_eq!(folder.read("inside.pte"), folder.read("whole.pte"));
}

#[test]
fn constants_are_placed_by_pattern() {
    let yaml = "
methods:
  forward:
    values:
      encoder.0.w: {tensor: float32, data: [1]}
      encoder.1.w: {tensor: float32, data: [2]}
      head: {tensor: float32, data: [3]}
";
    let folder = Folder::new(&[("m.yaml", yaml)]);
    let external = |rules: &[&str]| {
        let options: Vec<&str> = rules.iter().flat_map(|rule| ["--external-data", rule]).collect();
        folder.run(&[&["m.yaml", "-q", "-o", "m.pte"][..], &options].concat())
    };
    external(&["enc*.ptd=encoder.*.w", "rest.ptd"]).exits(0);
    assert_eq!(folder.names(), ["enc0.ptd", "enc1.ptd", "m.pte", "m.yaml", "rest.ptd"]);
    let with = ["--with", "enc0.ptd", "--with", "enc1.ptd", "--with", "rest.ptd"];
    folder.run(&[&["check", "m.pte"][..], &with].concat()).exits(0);
    let inside = [&["m.pte", "-q", "-o", "part.pte", "--internal-data", "encoder.*"][..], &with].concat();
    folder.run(&inside).exits(0);
    assert_eq!(folder.names(), ["enc0.ptd", "enc1.ptd", "m.pte", "m.yaml", "part.ptd", "part.pte", "rest.ptd"]);
    folder.run(&["check", "part.pte", "--with", "part.ptd"]).exits(0);
    let names = folder.names();
    external(&["a.ptd=nothing*"])
        .exits(1)
        .stderr_contains("no name matches `nothing*`; the data in the program are `enc");
    external(&["a*.ptd=head"]).exits(2).stderr_contains("has more `*` than `head`");
    external(&["a/b.ptd=*"]).exits(2).stderr_contains("is not the name of a file");
    external(&["a.ptd", "b.ptd"]).exits(2).stderr_contains("given twice");
    external(&["a.bin=head"]).exits(2).stderr_contains("expected a .ptd file");
    folder.run(&["m.pte", "--with", "rest.ptd", "--internal-data", "x", "-o", "no.pte"]).exits(1);
    folder.run(&["m.yaml", "--internal-data", "--external-data", "-o", "no.pte"]).exits(2);
    assert_eq!(folder.names(), names);
}

/// Captures are parts of names of files from strangers.
#[test]
fn a_pattern_does_not_leave_the_folder() {
    let yaml = "methods: {forward: {values: {\"../../x\": {tensor: float32, data: [1]}}, outputs: [\"../../x\"]}}";
    let folder = Folder::new(&[("m.yaml", yaml)]);
    let done = folder.run(&["m.yaml", "-o", "m.pte", "--external-data", "*.ptd=*"]).exits(1);
    done.stderr_contains("is not the name of a file");
    assert_eq!(folder.names(), ["m.yaml"]);
}

#[test]
fn a_manifest_is_independent_of_the_placement() {
    let folder = Folder::new(&[]);
    for name in ["named_data_delegate", "linear", "mutable_buffer", "xnnpack_linear"] {
        folder.run(&[&example(name), "-q", "-o", "whole.pte"]).exits(0);
        let manifest = folder.run(&["manifest", "whole.pte"]).exits(0).stdout;
        folder.write("m.json", &manifest);
        folder.run(&["verify", "whole.pte", "m.json"]).exits(0);
        folder.run(&["verify", &example(name), "m.json"]).exits(0);
        folder.run(&["whole.pte", "-q", "-o", "split.pte", "--external-data", "--segment-alignment", "4K"]).exits(0);
        if folder.names().contains(&"split.ptd".to_owned()) {
            assert_eq!(folder.run(&["manifest", "split.pte", "split.ptd"]).exits(0).stdout, manifest, "{name}");
            folder.run(&["verify", "split.pte", "m.json", "--with", "split.ptd"]).exits(0);
            std::fs::remove_file(folder.path().join("split.ptd")).unwrap();
        }
    }
}

#[test]
fn verify_lists_what_differs() {
    let yaml = |name: &str, number: u32| {
        format!("named_data: {{a: {{tensor: float32, data: [{number}]}}, {name}: {{tensor: float32, data: [2]}}}}")
    };
    let folder = Folder::new(&[("old.yaml", &yaml("b", 1)), ("new.yaml", &yaml("c", 3))]);
    let manifest = folder.run(&["manifest", "old.yaml"]).exits(0).stdout;
    folder.write("m.json", manifest);
    let done = folder.run(&["verify", "new.yaml", "m.json"]).exits(1);
    let text = String::from_utf8_lossy(&done.stdout).into_owned();
    let starts: Vec<&str> = text.lines().map(|line| line.split(": expected").next().unwrap()).collect();
    assert_eq!(starts[..2], ["differs: tensor `a`", "missing: tensor `b`"]);
    assert!(starts[2].starts_with("added: tensor `c`: found float32 [1], 4 bytes, sha256 "));
    assert_eq!(starts[3], "new.yaml: 2 entries, 1 differ, 1 missing, 1 added");
    for (text, message) in [
        ("", "not a manifest"),
        ("{}", "missing field"),
        ("{\"manifest\": 2, \"entries\": []}", "version 2, expected 1"),
        ("{\"manifest\": 1, \"entries\": [], \"x\": 1}", "unknown field"),
    ] {
        folder.write("bad.json", text);
        folder.run(&["verify", "old.yaml", "bad.json"]).exits(1).stderr_contains(message);
    }
    folder.write("bad.json", [0xff, 0xfe]);
    folder.run(&["verify", "old.yaml", "bad.json"]).exits(1).stderr_contains("not UTF-8");
    folder.run(&["verify", "old.yaml", "none.json"]).exits(3);
    folder.run(&["manifest", "old.yaml", "new.yaml"]).exits(2).stderr_contains("one program");
}

/// A graph whose constants are in the payload becomes one whose constants are named data, as the exporter writes it.
#[test]
fn a_payload_is_replaced_by_a_graph_with_named_data() {
    let graph = "
graph:
  values:
    x: {datatype: fp32, sizes: [2, 3]}
    filter: {datatype: fp32, sizes: [2, 3], data: [[1, 2, 3], [4, 5, 7]]}
    bias: {datatype: fp32, sizes: [2], data: [0.5, -0.5]}
    y: {}
  inputs: [x]
  outputs: [y]
  nodes:
    - {fully_connected: {input: x, filter: filter, bias: bias, output: y}}
";
    let folder = Folder::new(&[("graph.yaml", graph), ("bad.yaml", &graph.replace("y: {}", "y: {datatype: fp33}"))]);
    folder.run(&[&example("named_data_delegate"), "-q", "-o", "m.pte"]).exits(0);
    let replace = |new: &str| folder.run(&["payload", "replace", "m.pte", "forward/part0", new, "-o", "new.pte"]);
    let done = replace("graph.yaml").exits(0);
    // The bias is the same as before.
    done.stderr_contains("named data removed, because no delegate refers to it: `24ae2dfe8df5");
    let list = weights(&folder.path().join("new.pte").display().to_string());
    let found: Vec<(String, String)> =
        list.weights.iter().map(|weight| (weight.name.clone(), weight.sha256.clone().unwrap())).collect();
    assert_eq!(found.len(), 2);
    assert!(found.iter().all(|(key, hash)| key == hash), "{found:?}");
    assert!(found.iter().any(|(key, _)| key.starts_with("deea3b24")), "{found:?}");
    // Positions are those of the graph.
    replace("bad.yaml").exits(1).stderr_contains("bad.yaml:7:19");
    folder.write("other.yaml", "values: {}\n");
    replace("other.yaml")
        .exits(1)
        .stderr_contains("expected an XNNPACK graph under the key `graph:`, found `values: {}`");
}

#[test]
fn a_payload_is_replaced_by_bytes_whose_keys_exist() {
    let folder = Folder::new(&[]);
    folder.run(&[&example("named_data_delegate"), "-q", "-o", "m.pte"]).exits(0);
    folder.run(&[&example("xnnpack_linear"), "-q", "-o", "inside.pte"]).exits(0);
    folder.run(&["payload", "extract", "m.pte", "-o", "keys.bin"]).exits(0);
    folder.run(&["payload", "extract", "inside.pte", "-o", "inside.bin"]).exits(0);
    let replace = |program: &str, payload: &str, new: &str| {
        folder.run(&["payload", "replace", program, payload, new, "-o", "new.pte"])
    };
    replace("m.pte", "forward/part0", "inside.bin").exits(0).stderr_contains("named data removed");
    assert_eq!(weights(&folder.path().join("new.pte").display().to_string()).weights.len(), 0);
    let done = replace("inside.pte", "forward/0", "keys.bin").exits(1);
    done.stderr_contains("the payload refers to the key `24ae2dfe8df5").stderr_contains("pass the .ptd with `--with`");
    folder.run(&[&example("named_data_external"), "-q", "-o", "split.pte"]).exits(0);
    let with = ["payload", "replace", "inside.pte", "forward/0", "keys.bin", "-o", "new.pte", "--with", "xnnpack.ptd"];
    folder.run(&with).exits(0);
    replace("m.pte", "forward/part7", "inside.bin")
        .exits(1)
        .stderr_contains("unknown payload `forward/part7`; there are `forward/part0`");
    folder.write("junk.bin", "junk");
    replace("m.pte", "forward/part0", "junk.bin").exits(1).stderr_contains("the result has errors: it is not written");
    replace("m.pte", "forward/part0", "none.bin").exits(3);
    folder.run(&["payload", "replace", "m.pte", "forward/part0", "-o", "new.pte"]).exits(2);
}

#[test]
fn weights_of_a_graph_are_set_by_name() {
    let source = "named_data: {fc.weight: {tensor: float32, data: [[6, 5, 4], [3, 2, 1]]}, fc.bias: {tensor: float32, data: [1, 2]}}";
    let folder = Folder::new(&[("w.yaml", source)]);
    folder.run(&["w.yaml", "-q", "-o", "w.safetensors"]).exits(0);
    let set = |program: &str, options: &[&str]| {
        let replace = ["payload", "replace", program, "forward/0", "--weights", "w.safetensors", "-o", "new.pte"];
        folder.run(&[&replace[..], options].concat())
    };
    let map = ["--map", "filter*=fc.weight", "--map", "bias*=fc.bias"];
    // In named data, and in the payload.
    for program in ["named_data_delegate", "xnnpack_linear"] {
        set(&example(program), &map).exits(0);
        let shown = folder.run(&["payload", "show", "new.pte"]).exits(0);
        let shown = String::from_utf8_lossy(&shown.stdout).into_owned();
        match program {
            "xnnpack_linear" => assert!(shown.contains("data: [[6, 5, 4], [3, 2, 1]]"), "{shown}"),
            _ => {
                let list = weights(&folder.path().join("new.pte").display().to_string()).weights;
                assert!(list.iter().all(|weight| Some(&weight.name) == weight.sha256.as_ref()), "{list:?}");
                assert_eq!(list.len(), 2);
            }
        }
    }
    set(&example("xnnpack_linear"), &[])
        .exits(1)
        .stderr_contains("`fc.weight` (float32 [2, 3]) of the source sets no constant");
    let done = set(&example("xnnpack_linear"), &["--map", "filter*=fc.bias", "--partial"]).exits(1);
    done.stderr_contains("`filter1`: expected float32 [2, 3], found float32 [2] in `fc.bias` of the source");
    let quantized =
        set(&example("xnnpack_quantized_convolution"), &["--map", "filter*=fc.weight", "--partial"]).exits(1);
    quantized.stderr_contains("it is quantized (");
}

/// Truncations and changed bytes of sources of weights are errors, or other weights; nothing panics.
#[test]
fn malformed_sources_are_reported() {
    let folder = Folder::new(&[]);
    let path = folder.path().join("w");
    let linear = Model::open(example("linear")).unwrap();
    for file in ["linear.safetensors", "table.npy"] {
        let bytes = std::fs::read(root().join("examples/data").join(file)).unwrap();
        let name = path.with_extension(file.rsplit('.').next().unwrap());
        for at in 0..bytes.len().min(200) {
            for changed in [bytes[..at].to_vec(), [&bytes[..at], &[bytes[at] ^ 0x41], &bytes[at + 1..]].concat()] {
                std::fs::write(&name, changed).unwrap();
                let _ = linear.resolve().unwrap().weight_changes(&[], &name, &SetWeightsOptions::default());
            }
        }
    }
}

fn resolved_layout(model: &Model) -> LayoutConfig {
    model.resolve().unwrap().layout
}

/// Each program that is moved to `.ptd` files and back has the same bytes.
#[test]
fn external_then_internal_gives_the_file_back() {
    let folder = Folder::new(&[]);
    let mut moved = 0;
    for path in files_below(&root().join("tests/golden/upstream"), &["pte"]) {
        let original = std::fs::read(&path).unwrap();
        let model = Model::open(&path).unwrap();
        let Ok(resolved) = model.resolve() else { continue };
        let same =
            resolved.to_files(&AssembleOptions::default()).ok().and_then(|files| files.program_file()?.to_vec().ok());
        // A program without data has no alignment of segments to recover.
        if same.as_ref() != Some(&original) || resolved_layout(&model) != LayoutConfig::default() {
            continue;
        }
        let options = AssembleOptions::default().external_data(true);
        let split = model.assemble(&options).unwrap();
        let with: Vec<PathBuf> = split
            .data_files()
            .enumerate()
            .map(|(number, (_, file))| {
                let name = format!("{number}.ptd");
                folder.write(&name, file.to_vec().unwrap());
                folder.path().join(name)
            })
            .collect();
        let program = Model::from_binary("split.pte", split.program_file().unwrap().to_vec().unwrap());
        let is_whole = !program
            .program()
            .unwrap()
            .plans()
            .iter()
            .any(|plan| plan.tensors().any(|(_, tensor)| tensor.is_external() && tensor.name().is_none()));
        // Programs that have a .ptd already lack their data here.
        if with.is_empty() || !is_whole || model.weights().unwrap().weights.iter().any(|weight| weight.sha256.is_none())
        {
            continue;
        }
        let back = AssembleOptions::default().with(with).internal_data(true);
        let back = program.assemble(&back).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        assert!(back.program_file().unwrap().to_vec().unwrap() == original, "{}", path.display());
        moved += 1;
    }
    assert!(moved > 10, "{moved}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// What is set is what the list has, and nothing else changes.
    #[test]
    fn set_weights_are_listed(sizes in prop::collection::vec(1usize..5, 1..5), chosen in prop::collection::vec(any::<bool>(), 5), seed in 0u32..1000) {
        let tensor = |number: usize, size: &usize, first: u32| {
            let data: Vec<String> = (0..*size).map(|at| (first + (number * 10 + at) as u32).to_string()).collect();
            format!("t{number}: {{tensor: float32, data: [{}]}}", data.join(", "))
        };
        let values: Vec<String> = sizes.iter().enumerate().map(|(number, size)| tensor(number, size, 1)).collect();
        let new = sizes.iter().enumerate().filter(|(number, _)| chosen[*number]);
        let new: Vec<String> = new.map(|(number, size)| tensor(number, size, 5000 + seed)).collect();
        prop_assume!(!new.is_empty());
        let outputs: Vec<String> = (0..sizes.len()).map(|number| format!("t{number}")).collect();
        let yaml = format!("methods: {{forward: {{values: {{{}}}, outputs: [{}]}}}}", values.join(", "), outputs.join(", "));
        let weights_yaml = format!("named_data: {{{}}}", new.join(", "));
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("w.safetensors");
        let source = Model::from_yaml("w.yaml", weights_yaml, ".");
        let mut bytes = Vec::new();
        source.assembly().unwrap().safetensors().unwrap().write(&mut bytes).unwrap();
        std::fs::write(&path, bytes).unwrap();
        let model = Model::from_yaml("m.yaml", yaml, ".");
        let mut resolved = model.resolve().unwrap();
        let changes = resolved.weight_changes(&[], &path, &SetWeightsOptions::default()).unwrap();
        prop_assert!(changes.problems(true).is_empty());
        prop_assert_eq!(changes.problems(false).is_empty(), new.len() == sizes.len());
        resolved.set_weights(0, &changes);
        let file = resolved.to_files(&AssembleOptions::default()).unwrap().program_file().unwrap().to_vec().unwrap();
        let hashes = |list: WeightList| list.weights.into_iter().map(|weight| weight.sha256.unwrap()).collect::<Vec<_>>();
        let found = hashes(Model::from_binary("m.pte", file).weights().unwrap());
        let (old, mut new) = (hashes(model.weights().unwrap()), hashes(source.weights().unwrap()).into_iter());
        let expected = old.into_iter().enumerate().map(|(at, old)| if chosen[at] { new.next().unwrap() } else { old });
        prop_assert_eq!(found, expected.collect::<Vec<_>>());
    }

    #[test]
    fn no_manifest_panics(text in ".*", entries in prop::collection::vec((0u8..3, "[ab]", "[0-9a-f]{64}", any::<bool>()), 0..8)) {
        let _ = parse_manifest("m.json", &text);
        let kinds = ["tensor", "data", "payload"];
        let manifest = |entries: &[(u8, String, String, bool)]| -> Manifest {
            let entries: Vec<String> = entries.iter().map(|(kind, name, hash, stored)| {
                let kind = kinds[usize::from(*kind)];
                format!("{{\"kind\":\"{kind}\",\"name\":\"{name}\",\"is_stored_name\":{stored},\"type\":null,\"sizes\":null,\"dim_order\":null,\"bytes\":1,\"sha256\":\"{hash}\"}}")
            }).collect();
            parse_manifest("m.json", &format!("{{\"manifest\":1,\"entries\":[{}]}}", entries.join(","))).unwrap()
        };
        let all = manifest(&entries);
        prop_assert!(compare_manifests(&all, &all).is_empty());
        let half = manifest(&entries[entries.len() / 2..]);
        prop_assert_eq!(compare_manifests(&all, &half).len(), entries.len() / 2);
        prop_assert_eq!(compare_manifests(&half, &all).len(), entries.len() / 2);
    }
}
