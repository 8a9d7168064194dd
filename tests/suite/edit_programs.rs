//! Tests of `merge`, `extract`, `rename`, `strip` and `metadata`, with programs that ExecuTorch wrote and random ones.

use std::path::{Path, PathBuf};

use pretty_assertions::assert_eq;
use proptest::prelude::*;
use pte_emit::{
    AssembleOptions, Model, Resolved,
    check::CheckOptions,
    diff::{DiffArea, DiffOptions},
    edit::{
        MergeOptions, Merged, MetadataOptions, MethodRename, Optimization, OptimizeOptions, OutputOptions,
        QuantizedIoOptions, StripKind,
    },
    plan::LayoutConfig,
};
use pte_generate::calls::repeatable;
use pte_generate::programs::{KnownOperator, control_flow, program};
use pte_generate::random::Random;

use crate::support::folder::Folder;
use crate::support::program::in_place_operators;
use crate::support::{mutation, root};

/// Bytes of the `.pte` of an edited program.
fn bytes(resolved: Resolved) -> Vec<u8> {
    let assembly = resolved.to_files(&AssembleOptions::default()).unwrap_or_else(|error| panic!("{error}"));
    assembly.program_file().unwrap().to_vec().unwrap()
}

fn resolve(name: &str, bytes: &[u8]) -> Resolved {
    Model::from_binary(name, bytes).resolve().unwrap_or_else(|error| panic!("{error}"))
}

fn yaml(name: &str, text: &str) -> Resolved {
    Model::from_yaml(name, text, root()).resolve().unwrap_or_else(|error| panic!("{error}"))
}

fn merge(inputs: Vec<Resolved>) -> (Resolved, Merged) {
    Resolved::merge(inputs, &MergeOptions::default()).unwrap_or_else(|error| panic!("{error}"))
}

/// The programs that ExecuTorch wrote, and that are rewritten byte for byte.
fn upstream() -> Vec<(PathBuf, Vec<u8>)> {
    fn files(folder: &Path) -> Vec<PathBuf> {
        let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        let all = entries.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] });
        all.filter(|path| path.extension().is_some_and(|extension| extension == "pte")).collect()
    }
    let mut paths = files(&root().join("tests/golden/upstream"));
    paths.sort();
    let read = |path: PathBuf| {
        let content = std::fs::read(&path).unwrap();
        let rewritten = Model::from_binary("", &content).resolve().ok()?.to_files(&AssembleOptions::default()).ok()?;
        (rewritten.program_file()?.to_vec().ok()? == content).then_some((path, content))
    };
    paths.into_iter().filter_map(read).collect()
}

fn methods(resolved: &Resolved) -> Vec<String> {
    resolved.program.plans().iter().map(|plan| plan.name.clone().unwrap()).collect()
}

#[test]
fn an_edit_that_changes_nothing_writes_the_same_bytes() {
    let programs = upstream();
    assert!(programs.len() > 60, "{} programs", programs.len());
    for (path, content) in programs {
        let name = path.display().to_string();
        let names = methods(&resolve(&name, &content));
        if names.is_empty() {
            continue;
        }
        let (kept, _) = resolve(&name, &content).extract_methods(&["*".to_owned()]).unwrap();
        assert!(bytes(kept) == content, "extract: {name}");
        let same: Vec<MethodRename> = names.iter().map(|name| MethodRename::new(name, name)).collect();
        let (renamed, changes) = resolve(&name, &content).rename_methods(&same).unwrap();
        assert!(changes.is_empty() && bytes(renamed) == content, "rename: {name}");
        let (stripped, _) = resolve(&name, &content).strip(&[StripKind::Tests]).unwrap();
        assert!(bytes(stripped) == content, "strip: {name}");
        for entry in resolve(&name, &content).metadata().unwrap() {
            let value = entry.value.to_string();
            if let Ok((set, _)) = resolve(&name, &content).set_metadata(&entry.key, &value, &MetadataOptions::default())
            {
                let is_string = value.starts_with('"');
                assert!(is_string || bytes(set) == content, "metadata: {name}");
            }
        }
    }
}

/// The exporter's own program of several methods is the judge of their order, their memory and what is stored once.
#[test]
fn methods_of_the_exporter_are_extracted_and_merged_to_the_same_bytes() {
    let (mut merged_programs, mut with_state) = (0, 0);
    for (path, content) in upstream() {
        let name = path.display().to_string();
        let names = methods(&resolve(&name, &content));
        if names.len() < 2 {
            continue;
        }
        let one = |method: &String| {
            let (resolved, _) = resolve(&name, &content).extract_methods(std::slice::from_ref(method)).unwrap();
            resolve(method, &bytes(resolved))
        };
        // A description for training is extracted with its method.
        let is_own = |name: &&String| !name.starts_with("__et_training_");
        let (merged, report) = merge(names.iter().filter(is_own).map(one).collect());
        if !report.moved_state.is_empty() {
            with_state += 1;
            assert_eq!(methods(&merged), names, "{name}");
            continue;
        }
        let merged = bytes(merged);
        // A file with one of the methods may not show all options of the layout.
        if path.iter().any(|part| part == "releases" || part == "serializer" || part == "backends") {
            let found = Model::from_binary("merged", &merged).diff(&Model::from_binary("", &content), &only_meaning());
            assert!(found.unwrap().is_empty(), "{name}");
        } else {
            assert!(merged == content, "{name}");
        }
        merged_programs += 1;
    }
    assert!(merged_programs >= 8 && with_state >= 1, "{merged_programs} programs, {with_state} with shared state");
}

fn only_meaning() -> DiffOptions {
    DiffOptions::default().only(DiffArea::Meaning)
}

fn generated(seed: u64, index: u64, operators: &[KnownOperator]) -> Vec<u8> {
    let program = program(&mut Random::of_item(seed, index), operators, 4);
    crate::support::program::write(&program, &LayoutConfig::default())
}

#[test]
fn merged_random_programs_are_extracted_to_the_same_bytes() {
    let operators = repeatable();
    for first in (0..60).step_by(3) {
        let programs: Vec<Vec<u8>> = (first..first + 3).map(|index| generated(7, index, &operators)).collect();
        let inputs = programs.iter().enumerate().map(|(number, content)| resolve(&format!("{number}.pte"), content));
        let mut options = MergeOptions::default();
        options.prefixes = (0..3).map(|number| (Some(number), format!("m{number}_"))).collect();
        let (merged, _) = Resolved::merge(inputs.collect(), &options).unwrap_or_else(|error| panic!("{error}"));
        let merged = bytes(merged);
        for (_, finding) in Model::from_binary("merged", &merged).check(&CheckOptions::default()).unwrap() {
            assert!(!finding.has_errors(), "{first}: {:?}", finding.list);
        }
        for (number, content) in programs.iter().enumerate() {
            let prefix = format!("m{number}_");
            let (one, report) = resolve("merged", &merged).extract_methods(&[format!("{prefix}*")]).unwrap();
            let back = report.methods.iter().map(|name| MethodRename::new(name, name.strip_prefix(&prefix).unwrap()));
            let (one, _) = one.rename_methods(&back.collect::<Vec<_>>()).unwrap();
            assert!(bytes(one) == *content, "{first} {number}");
        }
    }
}

/// What `share_mutable_buffers` does is known from a program of the exporter, here with names of the buffers.
#[test]
fn state_is_shared_as_by_the_exporter() {
    let source = std::fs::read_to_string(root().join("tests/golden/upstream/bytes/shared_state.yaml")).unwrap();
    let mut named = source.clone();
    for state in ["state", "state_1", "state_2"] {
        named = named.lines().fold(String::new(), |text, line| {
            let declares = line.trim_start().starts_with(&format!("{state}: {{"));
            text + &if declares {
                line.replace("mutable: true", &format!("mutable: true, name: {state}"))
            } else {
                line.to_owned()
            } + "\n"
        });
    }
    let expected = bytes(yaml("shared.yaml", &named));
    let apart = named.replace(", memory: {pool: 2}", "");
    let all = methods(&yaml("apart.yaml", &apart));
    let inputs = |all: &[String]| -> Vec<Resolved> {
        let one = |method: &String| {
            let (one, _) = yaml("apart.yaml", &apart).extract_methods(std::slice::from_ref(method)).unwrap();
            Model::from_binary(method, bytes(one)).resolve_for_changes().unwrap()
        };
        all.iter().map(one).collect()
    };
    let options = MergeOptions::default().share_state(true);
    let (merged, report) = Resolved::merge(inputs(&all), &options).unwrap_or_else(|error| panic!("{error}"));
    let names: Vec<&str> = report.shared_state.iter().map(|buffer| buffer.name.as_str()).collect();
    assert_eq!(names, ["state", "state_1"]);
    assert!(bytes(merged) == expected);
}

#[test]
fn the_state_of_two_programs_stays_apart() {
    let path = root().join("tests/golden/upstream/bytes/shared_state/model.pte");
    let content = std::fs::read(path).unwrap();
    let renamed = |prefix: &str| {
        let resolved = resolve(prefix, &content);
        let renames: Vec<MethodRename> =
            methods(&resolved).iter().map(|name| MethodRename::new(name, format!("{prefix}{name}"))).collect();
        resolved.rename_methods(&renames).unwrap().0
    };
    let (merged, report) = merge(vec![renamed("a_"), renamed("b_")]);
    let original = resolve("", &content);
    let size = original.program.plans()[0].memory.non_const_buffer_sizes.as_ref().unwrap()[2];
    assert_eq!(report.moved_state.len(), 1);
    for plan in merged.program.plans() {
        let sizes = plan.memory.non_const_buffer_sizes.as_ref().unwrap();
        let expected = (size as u64).next_multiple_of(16) * 2;
        assert_eq!(sizes.get(2).copied(), Some(expected as i64), "{:?}", plan.name);
    }
    let assembly = merged.to_files(&AssembleOptions::default()).unwrap();
    assert!(!assembly.check(&CheckOptions::default()).unwrap()[0].has_errors());
}

#[test]
fn equal_metadata_are_kept_once_and_data_of_keys_are_merged() {
    let method = |name: &str, data: &str| {
        format!(
            "{{methods: {{{name}: {{values: {{x: {{tensor: float32, sizes: [2]}}}}, inputs: [x], outputs: [x]}}, \
             get_n: {{outputs: [7]}}}}, named_data: {{shared: {{hex: '{data}'}}}}}}"
        )
    };
    let (merged, report) = merge(vec![yaml("a.yaml", &method("b", "01")), yaml("b.yaml", &method("a", "01"))]);
    assert_eq!(methods(&merged), ["a", "b", "get_n"]);
    assert_eq!((report.equal_constant_methods.len(), report.equal_keys.len()), (1, 1));
    assert_eq!(merged.program.blobs.len(), 1);
    let inputs = vec![yaml("a.yaml", &method("b", "01")), yaml("b.yaml", &method("a", "02"))];
    let error = Resolved::merge(inputs, &MergeOptions::default()).unwrap_err().to_string();
    assert!(error.contains("a.yaml and b.yaml have the key `shared` with other bytes"), "{error}");
}

#[test]
fn only_what_is_quantized_alone_becomes_a_quantized_input() {
    let model = |uses: &str| {
        let yaml = format!(
            "methods: {{forward: {{values: {{x: {{tensor: float32, sizes: [2]}}}}, inputs: [x], outputs: [q, y],
               instructions: [{{kernel: quantized_decomposed::quantize_per_tensor.out, args: [x, 0.5, 0, 0, 255, uint8],
               out: q}}, {{kernel: aten::relu.out, args: [{uses}], out: y}}]}}}}"
        );
        Model::from_yaml("q.yaml", yaml, ".")
    };
    let quantized = |model: &Model, names: &[&str]| {
        let names = names.iter().map(|name| (*name).to_owned()).collect();
        let done = model.quantize_io(&QuantizedIoOptions::default().names(names));
        done.map(|(resolved, _)| resolved).map_err(|error| error.to_string())
    };
    let changed = quantized(&model("q"), &[]).unwrap();
    assert_eq!(changed.program.plans()[0].instructions().count(), 1);
    for (uses, names, expected) in [
        ("x", &[][..], "no input is quantized by the first instruction that uses it"),
        ("x", &["x"], "`x` cannot be quantized: several instructions use it"),
        ("q", &["y"], "`y` cannot be quantized: it is a tensor of uint8"),
        ("q", &["z"], "no input or output `z`; there are `x`, `q`, `y`"),
    ] {
        let error = quantized(&model(uses), names).map(|_| ()).unwrap_err();
        assert!(error.contains(expected), "{error}");
    }
}

/// A graph of XNNPACK that converts `q` at several ends.
const CONVERTED: &str = "methods: {forward: {delegates: {c: {backend: XnnpackBackend, graph: {values: {
    x: {datatype: fp32, sizes: [4]}, q: {datatype: qint8, scale: 0.5, zero_point: 3}, y: {datatype: fp32}, z: {datatype: fp32}},
    inputs: [x], outputs: [y, z], nodes: [{convert: {input: x, output: q}}, {convert: {input: q, output: y}},
    {convert: {input: q, output: z}}]}}}, values: {x: {tensor: float32, sizes: [4]}, y: {tensor: float32, sizes: [4]},
    z: {tensor: float32, sizes: [4]}}, inputs: [x], outputs: [y, z], instructions: [{delegate: c, args: [x, y, z]}]}}";

/// Integers that a payload converts at several ends are one of them; `inspect` has the scale of all.
#[test]
fn integers_are_one_input_or_output() {
    let folder = Folder::new(&[("m.yaml", CONVERTED)]);
    let io = |arguments: &[&str]| {
        let done = folder.run(&[&["io", "m.yaml", "--quantized", "--force", "-o", "q.pte"], arguments].concat());
        (done.code, done.stderr)
    };
    let (code, text) = io(&[]);
    assert_eq!((code, text.lines().next()), (Some(0), Some("input `x`: int8, scale 0.5, zero point 3")), "{text}");
    assert!(!text.contains("output"), "{text}");
    assert!(io(&["z"]).1.starts_with("output `z`: int8, scale 0.5, zero point 3\n"));
    for (names, refused) in [(["x", "y"], "y"), (["y", "z"], "z")] {
        let expected = "cannot be quantized: the integers that its payload converts are another input or output";
        let (code, text) = io(&names);
        assert!(code == Some(1) && text.contains(&format!("`{refused}` {expected}")), "{text}");
    }
    for (file, count) in [("m.yaml", 3), ("q.pte", 3)] {
        let text = String::from_utf8(folder.run(&["inspect", file, "-q"]).exits(0).stdout).unwrap();
        assert_eq!(text.matches("[4], scale 0.5, zero point 3").count(), count, "{text}");
    }
}

/// What the caller passes is not clamped, so that a narrower range would be lost.
#[test]
fn a_clamped_input_keeps_its_call() {
    let yaml = |range: &str| {
        format!(
            "methods: {{forward: {{values: {{x: {{tensor: float32, sizes: [4]}}}}, inputs: [x], outputs: [y],
             instructions: [{{kernel: quantized_decomposed::quantize_per_tensor.out, args: [x, 0.5, 3, {range}, int8], out: q}},
             {{kernel: quantized_decomposed::dequantize_per_tensor.out, args: [q, 0.5, 3, -64, 63, int8], out: y}}]}}}}"
        )
    };
    let folder = Folder::new(&[("narrow.yaml", &yaml("-64, 63")), ("all.yaml", &yaml("-128, 127"))]);
    let io = |file: &str, name: &str| folder.run(&["io", file, "--quantized", name, "-o", "q.pte", "--force"]);
    io("narrow.yaml", "x").exits(1).stderr_contains("its call clamps it to -64..63, narrower than -128..127 of int8");
    io("narrow.yaml", "y").exits(0);
    io("all.yaml", "x").exits(0);
}

#[test]
fn what_a_jump_skips_is_no_output() {
    let cond = root().join("tests/golden/upstream/exports/portable_cond.bpte");
    let model = Model::open(cond).unwrap();
    let add = |model: &Model, name: &str| {
        let changed = model.change_outputs(&OutputOptions::default().add(vec![name.to_owned()]));
        changed.map(|_| ()).map_err(|error| error.to_string())
    };
    let error = add(&model, "sin").unwrap_err();
    let expected =
        "`sin` cannot be an output: it is computed only in some executions: instruction 3 may be skipped by the jump 2";
    assert!(error.contains(expected), "{error}");
    assert!(add(&model, "cos").unwrap_err().contains("instruction 6 may be skipped by the jump 5"));
    assert_eq!(add(&model, "gt"), Ok(()));
    // Both branches write it; a loop does so at least once; a condition that is false always jumps.
    let yaml = |instructions: &str| {
        let yaml = format!(
            "methods: {{forward: {{values: {{x: {{tensor: float32, sizes: [2]}}, c: {{tensor: bool, sizes: [1]}},
               y: {{tensor: float32, sizes: [2]}}}}, inputs: [x, c], outputs: [x], instructions: [{instructions}]}}}}"
        );
        Model::from_yaml("m.yaml", yaml, ".")
    };
    let write = "{kernel: aten::neg.out, args: [x], out: y}";
    for (instructions, is_written) in [
        (
            format!(
                "{{jump_false: {{cond: c, to: A}}}}, {write}, {{jump_false: {{cond: false, to: B}}}},
                  {{label: A, kernel: aten::abs.out, args: [x], out: y}}, {{label: B}}"
            ),
            true,
        ),
        ("{label: A, kernel: aten::neg.out, args: [x], out: y}, {jump_false: {cond: c, to: A}}".to_owned(), true),
        (format!("{{jump_false: {{cond: false, to: A}}}}, {write}, {{label: A}}"), false),
        (format!("{{jump_false: {{cond: c, to: A}}}}, {write}, {{label: A}}"), false),
        (format!("{{jump_false: {{cond: c, to: A}}}}, {write}, {{label: A}}, {write}"), true),
    ] {
        assert_eq!(add(&yaml(&instructions), "y").is_ok(), is_written, "{instructions}");
    }
}

#[test]
fn inputs_and_outputs_are_quantized_and_dequantized() {
    let folder = Folder::new(&[(
        "m.yaml",
        "methods: {forward: {values: {x: {tensor: float32, sizes: [4]}, d: {tensor: float64, sizes: [4]},
           i: {tensor: int16, sizes: [4]}}, inputs: [x, d, i], outputs: [y, e, j, i], instructions: [
           {kernel: aten::relu.out, args: [x], out: y}, {kernel: aten::relu.out, args: [d], out: e},
           {kernel: aten::neg.out, args: [i], out: j}]}}",
    )]);
    let io = |arguments: &[&str]| folder.run(&[&["io", "m.yaml", "--force", "-o", "q.pte"], arguments].concat());
    for (argument, expected) in [
        ("--quantize=z=1/0", "no input or output `z`; there are `x`, `d`, `i`"),
        ("--quantize=x=inf/0", "`x` cannot be quantized: its scale is inf, expected a positive number of float32"),
        ("--quantize=x=NaN/0", "its scale is NaN"),
        ("--quantize=x=0/0", "its scale is 0"),
        ("--quantize=x=-1/0", "its scale is -1"),
        ("--quantize=x=1e-60/0", "its scale is 1e-60"),
        ("--quantize=x=1/-129", "int8 has no zero point -129: expected -128 to 127"),
        ("--quantize=x=1/-1/uint8", "uint8 has no zero point -1: expected 0 to 255"),
        (
            "--quantize=x=1/0/int64",
            "int64 is no type of quantized tensors, expected one of int8, uint8, int16, uint16, int32",
        ),
        ("--quantize=e=1/0", "`e` cannot be quantized: it is a tensor of float64, expected one of float32, float16"),
        ("--quantize=j=1/0", "it is a tensor of int16, expected one of float32, float16"),
        ("--quantize=i=1/0", "`i` cannot be quantized: it is an input and an output"),
        ("--dequantize=x=1/0", "`x` cannot be dequantized: it is a tensor of float32, expected one of int8, uint8"),
        ("--dequantize=j=1/0/int8", "it is a tensor of int16, not of int8"),
        ("--dequantize=j=1/40000", "int16 has no zero point 40000"),
    ] {
        io(&[argument]).exits(1).stderr_contains(expected);
    }
    io(&["--quantize=x=1/0", "--input-type=x=uint8"]).exits(1).stderr_contains("`x` is named twice");
    for argument in ["x=1", "x=a/0", "x=1/0.5", "x=1/0/image", "x=1/0/int8/2", "1/0", "=1/0"] {
        io(&["--quantize", argument]).exits(2).stderr_contains("expected NAME=SCALE/ZERO_POINT");
    }
    io(&["--quantized", "--quantize=x=1/0"]).exits(2);
    assert_eq!(folder.names(), ["m.yaml"]);
    let done =
        io(&["--quantize=x=0.5/3", "--quantize=d=0.5/3/uint8", "--quantize=y=0.25/-7/int16", "--dequantize=j=2/1"])
            .exits(0);
    for line in
        ["input `x`: int8, dim_order [0], 1 call", "input `d`: uint8", "output `y`: int16", "output `j`: float32"]
    {
        assert!(done.stderr.contains(line), "{line}");
    }
    folder.run(&["check", "q.pte", "--deny-warnings"]).exits(0);
    let text = String::from_utf8(folder.run(&["inspect", "q.pte", "-q"]).exits(0).stdout).unwrap();
    for line in [
        "int8 [4], scale 0.5, zero point 3",
        "uint8 [4], scale 0.5, zero point 3",
        "int16 [4], scale 0.25, zero point -7",
    ] {
        assert!(text.contains(line), "{text}");
    }
}

#[test]
fn what_cannot_be_converted_is_said() {
    let folder = Folder::new(&[(
        "m.yaml",
        "methods: {forward: {values: {x: {tensor: float32, sizes: [1, 3, 2, 2]}, n: 4}, inputs: [x, n], outputs: [y],
          instructions: [{kernel: aten::relu.out, args: [x], out: y}]}}",
    )]);
    let io = |arguments: &[&str]| folder.run(&[&["io", "m.yaml", "-o", "new.pte"], arguments].concat());
    for (argument, expected) in [
        ("--input-type=z=uint8", "no input `z`; there are `x`, `n`"),
        ("--output-type=x=uint8", "no output `x`; there are `y`"),
        ("--input-type=n=uint8", "`n` cannot be converted: it is no tensor"),
        ("--input-type=x=float32", "it is a tensor of float32 in this order already"),
        ("--normalize=x=1,2/3", "expected one number, or one for each of 3 channels"),
        ("--normalize=x=1/0", "it cannot be divided by 0"),
    ] {
        io(&[argument]).exits(1).stderr_contains(expected);
    }
    for argument in ["--input-type=x=image", "--normalize=x=1", "--input-type=uint8"] {
        io(&[argument]).exits(2).stderr_contains("expected NAME=");
    }
    io(&[]).exits(2);
    io(&["--quantized", "--input-type=x=uint8"]).exits(2);
    assert_eq!(folder.names(), ["m.yaml"]);
    io(&["--input-type=x=uint8,channels_last", "--normalize=x=1,2,3/4"])
        .exits(0)
        .stderr_contains("input `x`: uint8, dim_order [0, 2, 3, 1], 3 calls");
    folder.run(&["check", "new.pte"]).exits(0);
}

/// Metadata are for the application, and no data that a delegate lacks.
#[test]
fn named_metadata_need_no_delegate() {
    let resolved = Model::from_yaml("m.yaml", "methods: {forward: {outputs: [7]}}", ".").resolve().unwrap();
    let (resolved, _) = resolved.set_metadata("metadata.author", "me", &MetadataOptions::default()).unwrap();
    let found = resolved.to_files(&AssembleOptions::default()).unwrap().check(&CheckOptions::default()).unwrap();
    assert!(found.iter().flat_map(|found| &found.list).all(|finding| finding.rule.id.as_str() != "X-16"));
}

#[test]
fn metadata_have_the_form_of_the_exporter() {
    let content = std::fs::read(root().join("tests/golden/upstream/bytes/multi/model.pte")).unwrap();
    let getters = ["get_vocab", "get_eps", "use_kv", "name"].map(str::to_owned);
    let (mut resolved, removed) = resolve("", &content).remove_metadata(&getters).unwrap();
    assert_eq!(removed.len(), 4);
    for (key, value) in [("get_vocab", "32000"), ("get_eps", "1e-5"), ("use_kv", "true"), ("name", "toy")] {
        resolved = resolved.set_metadata(key, value, &MetadataOptions::default()).unwrap().0;
    }
    assert!(bytes(resolved) == content);
    // A list.
    let path = root().join("tests/golden/upstream/releases/1.5.1-flatbuffers-25.2.10/multi.pte");
    let original = resolve("", &std::fs::read(path).unwrap());
    let plan = |resolved: &Resolved| {
        resolved.program.plans().iter().find(|plan| plan.name.as_deref() == Some("shape")).cloned().unwrap()
    };
    let expected = plan(&original);
    let (without, _) = original.remove_metadata(&["shape".to_owned()]).unwrap();
    let (with, _) = without.set_metadata("shape", "[1, 2, 3]", &MetadataOptions::default()).unwrap();
    let found = resolve("", &bytes(with));
    assert_eq!(plan(&found), expected);
}

#[test]
fn stripped_debug_handles_leave_the_operations() {
    let source = Model::open(root().join("examples/xnnpack_two_delegates.yaml")).unwrap().resolve().unwrap();
    let before = bytes(Model::open(root().join("examples/xnnpack_two_delegates.yaml")).unwrap().resolve().unwrap());
    let (stripped, report) = source.strip(&[StripKind::Handles]).unwrap();
    let after = bytes(stripped);
    assert!(report[0].count > 0);
    assert_eq!(before.len() - after.len(), report[0].bytes as usize);
    let graphs = |content: &[u8]| {
        let payloads = Model::from_binary("", content).payloads().unwrap();
        let graphs = payloads.iter().map(|payload| {
            let mut graph = pte_xnnpack::decode::decode(&payload.data).unwrap();
            let handles = graph.nodes.iter().filter(|node| node.debug_handle != 0).count();
            graph.nodes.iter_mut().for_each(|node| node.debug_handle = 0);
            (graph, handles)
        });
        graphs.unzip::<_, _, Vec<_>, Vec<usize>>()
    };
    let ((before_graphs, some), (after_graphs, none)) = (graphs(&before), graphs(&after));
    assert_eq!(before_graphs, after_graphs);
    assert_eq!((some.iter().sum::<usize>(), none.iter().sum::<usize>()), (report[0].count, 0));
    assert!(!Model::from_binary("", &after).check(&CheckOptions::default()).unwrap()[0].1.has_errors());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    /// A malformed file is an error, or is edited; nothing panics.
    #[test]
    fn edits_of_malformed_files_never_panic(
        source in 0..64usize,
        mutations in prop::collection::vec(mutation::mutation(), 1..6),
    ) {
        thread_local!(static PROGRAMS: Vec<(PathBuf, Vec<u8>)> = upstream());
        let [content, other] = PROGRAMS.with(|programs| {
            [0, 1].map(|next| programs[(source + next) % programs.len()].1.clone())
        });
        let mut changed = content;
        mutations.iter().for_each(|change| mutation::apply(&mut changed, change));
        let read = || Model::from_binary("changed.pte", &changed).resolve();
        if read().is_err() {
            return Ok(());
        }
        let emit = |resolved: Resolved| drop(resolved.to_files(&AssembleOptions::default()).map(|files| {
            files.program_file().map(|file| file.to_vec().is_ok())
        }));
        let mut options = MergeOptions::default().prefixes(vec![(Some(0), "p_".to_owned())]);
        let sides = || vec![read().unwrap(), Model::from_binary("other.pte", &other).resolve().unwrap()];
        drop(Resolved::merge(sides(), &options).map(|(merged, _)| emit(merged)));
        options.share_state = true;
        drop(Resolved::merge(sides(), &options).map(|(merged, _)| emit(merged)));
        drop(read().unwrap().extract_methods(&["f*".to_owned()]).map(|(one, _)| emit(one)));
        drop(read().unwrap().strip(&StripKind::ALL).map(|(stripped, _)| emit(stripped)));
        drop(read().unwrap().metadata());
        drop(read().unwrap().set_metadata("forward", "[1, 2]", &MetadataOptions::default().change_type(true)).map(|(set, _)| emit(set)));
        drop(read().unwrap().remove_metadata(&["*".to_owned()]).map(|(removed, _)| emit(removed)));
    }
}

/// Bytes of an optimized file, and what was done.
fn optimized(content: &[u8]) -> Option<(Vec<u8>, Optimization)> {
    let mut resolved = Model::from_binary("p.pte", content).resolve_for_changes().ok()?;
    let done = resolved.optimize(&OptimizeOptions::default()).ok()?;
    Some((bytes(resolved), done))
}

#[test]
fn optimizing_twice_changes_nothing() {
    let (known, few) = (repeatable(), in_place_operators());
    let random = (0..150).map(|index| (format!("random {index}"), generated(23, index, &known)));
    let control = (0..60).map(|index| {
        let program = control_flow(&mut Random::of_item(24, index), &few, [16, 30][index as usize % 2]);
        (format!("control flow {index}"), crate::support::program::write(&program, &LayoutConfig::default()))
    });
    let written = upstream().into_iter().map(|(path, content)| (path.display().to_string(), content));
    let (mut changed, mut repaired) = (0, 0);
    for (name, content) in written.chain(random).chain(control) {
        let Some((once, first)) = optimized(&content) else { continue };
        let (twice, second) = optimized(&once).unwrap_or_else(|| panic!("{name}"));
        changed += usize::from(once != content);
        repaired += first.methods.iter().filter(|method| method.overwrites == [true, false]).count();
        assert!(first.methods.iter().all(|method| !method.overwrites[1]), "{name}: {first:?}");
        assert!(once == twice && !second.is_changed, "{name}: {first:?}\n{second:?}");
    }
    // Plans of the exporter's algorithm overwrite results of branches.
    assert!(repaired > 0);
    assert!(changed > 100, "{changed} programs changed");
}
