//! Tests of `for_runtime` and `runtime:`: files of the exporters of old releases, and calls that are replaced. The
//! outputs in old runtimes are compared by `lab/releases/rewritten.py`.

use std::path::{Path, PathBuf};

use pretty_assertions::assert_eq;
use pte_emit::{
    AssembleOptions, Assembly, Error, Model,
    release::{Release, Serializer},
};

use crate::support::root;

/// Options of writing for a release.
fn options(release: &str) -> AssembleOptions {
    AssembleOptions::default().for_runtime(Release::find(release).unwrap())
}

fn assemble(yaml: &str, release: &str) -> Result<Assembly, Error> {
    Model::from_yaml("model.yaml", yaml, root()).assemble(&options(release))
}

/// Bytes of the main file.
fn bytes(assembly: &Assembly, path: &Path) -> Vec<u8> {
    let read = match path.extension().and_then(|extension| extension.to_str()) {
        Some("bpte") => assembly.bundled().unwrap().to_vec(),
        Some("ptd") => assembly.data_files().next().unwrap().1.to_vec(),
        _ => assembly.program_file().unwrap().to_vec(),
    };
    read.unwrap()
}

/// Files that the exporter of a release wrote.
fn files(release: &str) -> Vec<PathBuf> {
    let folder = root().join("tests/golden/upstream/releases").join(release);
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
}

/// The instructions that the YAML of a program has, without their keys.
fn printed(assembly: &Assembly) -> Vec<String> {
    let file = Model::from_binary("model.pte", assembly.program_file().unwrap().to_vec().unwrap());
    let text = file.to_yaml(Path::new("."), &Default::default()).unwrap().text;
    let calls = text.lines().filter_map(|line| line.trim().strip_prefix("- {kernel: "));
    calls.map(|call| call.trim_end_matches('}').to_owned()).collect()
}

#[test]
fn files_of_a_release_are_written_for_it_byte_for_byte() {
    let mut count = 0;
    for (release, folder) in
        [("0.4", "0.4.0"), ("0.7", "0.7.0"), ("1.0", "1.0.1"), ("1.4", "1.4.1-flatbuffers-24.3.25")]
    {
        let mut options = options(release);
        // The exporter of this folder had an older package `flatbuffers`, which no release pins.
        if folder.contains("flatbuffers") {
            options.layout.builder = Some(Serializer::ExirSharedVtables);
            options.layout.bpte_builder = Some(Serializer::ExirSharedVtables);
        }
        for path in files(folder) {
            let written = Model::open(&path).unwrap().assemble(&options).unwrap_or_else(|error| panic!("{error}"));
            assert!(bytes(&written, &path) == std::fs::read(&path).unwrap(), "{}", path.display());
            assert!(written.written_for().unwrap().changes().is_empty(), "{}", path.display());
            count += 1;
        }
    }
    assert!(count > 80, "{count} files");
}

/// The graphs of 1.4 are those of the older exporters, but for handles of nodes and plans of memory.
#[test]
fn files_of_a_newer_release_become_those_of_an_older_one() {
    let equal = |release: &str, folder: &str| -> Vec<String> {
        let options = options(release);
        let is_equal = |path: &PathBuf| {
            let newer = root().join("tests/golden/upstream/releases/1.4.1-flatbuffers-24.3.25");
            let newer = Model::open(newer.join(path.file_name().unwrap())).unwrap();
            newer.assemble(&options).is_ok_and(|written| bytes(&written, path) == std::fs::read(path).unwrap())
        };
        let files = files(folder).into_iter().filter(is_equal);
        files.map(|path| path.file_stem().unwrap().to_string_lossy().into_owned()).collect()
    };
    let all = |names: &str| names.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(equal("0.4", "0.4.0"), all("bundled"));
    let of_0_7 = "add align bundled conv dtypes ext ext___default_external_constant index linear multi nested train_ext___default_external_constant";
    assert_eq!(equal("0.7", "0.7.0"), all(of_0_7));
    let of_1_0 = "add align bundled cond conv conv_xnn dtypes ext ext___default_external_constant ext_xnn index linear linear_xnn multi nested \
                  quant_xnn train_ext___default_external_constant xnn_inline xnn_segments";
    assert_eq!(equal("1.0", "1.0.1"), all(of_1_0));
}

#[test]
fn dump_prints_the_release_of_several_keys() {
    let last = |folder: &str, name: &str| {
        let file = Model::open(root().join("tests/golden/upstream/releases").join(folder).join(name)).unwrap();
        let printed = file.to_yaml(Path::new("."), &Default::default()).unwrap();
        assert_eq!(printed.difference, None);
        let lines =
            printed.text.lines().skip_while(|line| !line.starts_with("runtime:") && !line.starts_with("layout:"));
        lines.map(str::trim).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(last("0.4.0", "linear.pte"), r#"runtime: "0.7""#);
    let aligned = "layout: segment_alignment: 4096 tensor_alignment: 32 delegate_alignment: 64";
    assert_eq!(last("0.7.0", "align.pte"), format!(r#"runtime: "0.7" {aligned}"#));
    assert_eq!(last("0.7.0", "bundled.bpte"), r#"runtime: "0.7""#);
    // One key; the release says nothing about files without segments.
    assert_eq!(last("0.7.0", "ext.pte"), "layout: builder: flatc");
    assert_eq!(last("1.0.1", "linear.pte"), "layout: builder: flatc");
}

/// A file with the layout of 0.7 and an operator that it does not have is printed with the keys.
#[test]
fn dump_prints_keys_for_a_program_that_the_release_does_not_have() {
    let yaml = "methods: {forward: {values: {x: {tensor: int32, sizes: [2]}, w: {tensor: int32, data: [1, 2]}}, inputs: [x], outputs: [y],
      instructions: [{kernel: aten::bitwise_left_shift.Tensor_out, args: [x, w], out: y}]}}\nlayout: {builder: flatc, header: 24}";
    let file = Model::from_yaml("shift.yaml", yaml, ".").assembly().unwrap().program_file().unwrap().to_vec().unwrap();
    let printed = Model::from_binary("shift.pte", file).to_yaml(Path::new("."), &Default::default()).unwrap();
    assert!(printed.text.ends_with("layout:\n  builder: flatc\n  header: 24\n"), "{}", printed.text);
}

/// An edited file keeps the layout of its release, but not the release: the result may have newer operators.
#[test]
fn an_edited_file_keeps_its_layout() {
    let path = root().join("tests/golden/upstream/releases/0.7.0/linear.pte");
    let resolved = Model::open(path).unwrap().resolve_for_changes().unwrap();
    assert!(resolved.runtime.is_none());
    assert_eq!(resolved.layout.builder, Serializer::Flatc);
    let file = resolved.to_files(&AssembleOptions::default()).unwrap().program_file().unwrap().to_vec().unwrap();
    assert_eq!(file[12..16], 24u32.to_le_bytes());
}

/// A method with one call; its tensors are `values`.
fn method(values: &str, outputs: &str, call: &str) -> String {
    format!(
        "methods: {{forward: {{values: {{{values}}}, inputs: [x], outputs: [{outputs}], instructions: [{{kernel: {call}}}]}}}}"
    )
}

#[test]
fn calls_of_newer_operators_are_replaced_where_they_are_equal() {
    let float = |sizes: &str| format!("x: {{tensor: float32, sizes: {sizes}}}");
    let cases = [
        ("0.7", float("[2, 3]"), "y", "dim_order_ops::_clone_dim_order.out, args: [x, false, [0, 1]], out: y", "aten::clone.out, args: [x], out: clone"),
        (
            "0.7",
            float("[1, 2, 2, 2], dim_order: [0, 2, 3, 1]"),
            "y",
            "dim_order_ops::_clone_dim_order.out, args: [x, false, [0, 1, 2, 3]], out: y",
            "dim_order_ops::_to_dim_order_copy.out, args: [x, false, [0, 1, 2, 3]], out: to_copy",
        ),
        ("0.4", float("[2]"), "y", "dim_order_ops::_empty_dim_order.out, args: [[2], null], out: y", "aten::empty.out, args: [[2]], out: empty"),
        ("0.4", float("[2]"), "y", "dim_order_ops::_to_dim_order_copy.out, args: [x, false, null], out: y", "aten::_to_copy.out, args: [x], out: to_copy"),
        ("0.4", float("[2, 3]"), "y", "aten::max.unary_out, args: [x], out: y", "aten::amax.out, args: [x], out: amax"),
        ("0.4", float("[2, 3]"), "y", "aten::min.unary_out, args: [x], out: y", "aten::amin.out, args: [x], out: amin"),
        ("0.5", float("[2, 3]"), "y", "aten::mean.dtype_out, args: [x], out: y", "aten::mean.out, args: [x, [], false, none], out: mean"),
        (
            "1.1",
            float("[2, 3]"),
            "v, m",
            "aten::var_mean.correction_out, args: [x, [1], 1, true], out: [v, m]",
            "aten::var.correction_out, args: [x, list, int_1, flag], out: var; aten::mean.out, args: [x, list, flag], out: mean",
        ),
        (
            "1.1",
            float("[1, 2, 6, 4]"),
            "y",
            "aten::_adaptive_avg_pool2d.out, args: [x, [3, 2]], out: y",
            "aten::avg_pool2d.out, args: [x, [2, 2], [2, 2], [0, 0], flag], out: avg_pool2d",
        ),
        (
            "0.5",
            float("[2, 5]"),
            "y",
            "aten::unfold_copy.out, args: [x, -1, 3, 2], out: y",
            "aten::as_strided_copy.out, args: [x, [2, 2, 3], [5, 2, 1], none], out: as_strided_copy",
        ),
        (
            "0.6",
            "x: {tensor: float32, sizes: [2]}, state: {tensor: float32, sizes: [4], mutable: true}, i: {tensor: int64, data: [1, 3]}".to_owned(),
            "state",
            "aten::index_put_, args: [state, [i], x], out: state",
            "aten::index_put.out, args: [state, [index_put_indices], x], out: index_put; aten::copy_, args: [state, index_put], out: state",
        ),
        ("1.3", "x: {double: 2.5}".to_owned(), "y", "executorch_prim::sym_int.Scalar, args: [x], out: y", "executorch_prim::trunc.Scalar, args: [x], out: trunc"),
        ("1.3", "x: {int: 2}".to_owned(), "y", "executorch_prim::sym_int.Scalar, args: [x], out: y", "executorch_prim::add.Scalar, args: [x, 0], out: add"),
        ("1.3", "x: {bool: true}".to_owned(), "y", "executorch_prim::sym_not.Scalar, args: [x], out: y", "executorch_prim::eq.Scalar, args: [x, false], out: eq"),
    ];
    let mut others = Vec::new();
    for (release, values, outputs, call, expected) in cases {
        let assembly =
            assemble(&method(&values, outputs, call), release).unwrap_or_else(|error| panic!("{call}: {error}"));
        let found = printed(&assembly).join("; ");
        if found != expected {
            others.push(format!("{call}: {found}, expected {expected}"));
        }
        let written = assembly.written_for().unwrap();
        assert_eq!(written.replaced.values().map(|calls| calls.count).sum::<u64>(), 1, "{call}");
        // The same program, as YAML that states the release.
        let yaml = format!("runtime: \"{release}\"\n{}", method(&values, outputs, call));
        let stated = Model::from_yaml("model.yaml", yaml, ".").assemble(&AssembleOptions::default()).unwrap();
        assert_eq!(
            stated.program_file().unwrap().to_vec().unwrap(),
            assembly.program_file().unwrap().to_vec().unwrap()
        );
        // The newest release has all of them.
        assert!(assemble(&method(&values, outputs, call), "1.5").unwrap().written_for().unwrap().replaced.is_empty());
    }
    assert_eq!(others, [""; 0]);
}

#[test]
fn calls_that_are_not_equal_are_errors() {
    let cases = [
        // A conversion, other sizes than those of windows, a mean in float16, sizes that are only known at run time.
        (
            "0.4",
            "x: {tensor: int32, sizes: [2]}, y: {tensor: float32, sizes: []}",
            "y",
            "aten::max.unary_out, args: [x], out: y",
        ),
        (
            "1.1",
            "x: {tensor: float32, sizes: [1, 2, 5, 4]}",
            "y",
            "aten::_adaptive_avg_pool2d.out, args: [x, [3, 2]], out: y",
        ),
        (
            "1.1",
            "x: {tensor: float16, sizes: [2, 3]}",
            "v, m",
            "aten::var_mean.correction_out, args: [x, [1], 1, true], out: [v, m]",
        ),
        (
            "0.5",
            "x: {tensor: float32, sizes: [2, 5], dynamism: dynamic_bound}",
            "y",
            "aten::unfold_copy.out, args: [x, -1, 3, 2], out: y",
        ),
        (
            "0.4",
            "x: {tensor: float32, sizes: [2, 3]}, w: {tensor: float32, sizes: [4, 3], data: {fill: 1}}",
            "y",
            "aten::linear.out, args: [x, w], out: y",
        ),
        // One element has no variance, and with it no mean.
        (
            "1.1",
            "x: {tensor: float32, sizes: [2, 1]}",
            "v, m",
            "aten::var_mean.correction_out, args: [x, [1], 1, true], out: [v, m]",
        ),
    ];
    for (release, values, outputs, call) in cases {
        let error = assemble(&method(values, outputs, call), release).unwrap_err();
        assert!(error.to_string().contains("does not register"), "{call}: {error}");
    }
}

/// A value that is declared as an Int holds a Double.
#[test]
fn numbers_of_another_kind_than_declared_are_not_rewritten() {
    let source = |operator: &str| {
        format!(
            "methods:\n  forward:\n    values: {{n: {{int: 3}}, t: {{int: 0}}, r: {{int: 0}}}}\n    inputs: [n]\n    outputs: [r]\n    \
             instructions:\n      - {{kernel: executorch_prim::{operator}, args: [n, 2], out: t}}\n      - {{kernel: \
             executorch_prim::sym_int.Scalar, args: [t], out: r}}\n"
        )
    };
    let error = assemble(&source("truediv.Scalar"), "0.7").unwrap_err();
    assert!(error.to_string().contains("does not register"), "{error}");
    assert!(assemble(&source("floordiv.Scalar"), "0.7").is_ok() && assemble(&source("add.Scalar"), "0.7").is_ok());
}

/// Sums of a release need operands of certain ranks: the operator exists, but not for the call.
#[test]
fn calls_that_a_runtime_refuses_are_errors() {
    let values = "x: {tensor: float32, sizes: [2]}, w: {tensor: float32, sizes: [1, 2], data: {fill: 1}}";
    let sum = method(values, "y", "aten::add.out, args: [x, w], out: y");
    let error = assemble(&sum, "0.7").unwrap_err().to_string();
    for part in [
        "not in ExecuTorch 0.7.0: a call of `aten::add.out`",
        "rejects it (execute: InvalidArgument)",
        "ExecuTorch 1.0.1",
    ] {
        assert!(error.contains(part), "{error}");
    }
    assert!(assemble(&sum, "1.0").is_ok());
}

/// Jumps lead to the same instructions, although one before them became two.
#[test]
fn jumps_follow_replaced_calls() {
    let yaml = "
methods:
  forward:
    values: {x: {tensor: float32, sizes: [2, 3]}, c: {bool: true}}
    inputs: [c, x]
    outputs: [v]
    instructions:
      - {jump_false: {cond: c, to: end}}
      - {kernel: aten::var_mean.correction_out, args: [x, [1], 1, true], out: [v, m]}
      - {kernel: aten::var_mean.correction_out, args: [x, [1], 0, true], out: [v, m]}
      - {label: end}
";
    let program = assemble(yaml, "1.1").unwrap();
    let plan = &program.program().plans()[0];
    let destinations: Vec<i32> = plan.instructions().filter_map(|instruction| instruction.destination()).collect();
    assert_eq!((destinations, plan.instructions().count()), (vec![5], 5));
    let names: Vec<String> = plan.operators.iter().flatten().filter_map(|operator| operator.full_name()).collect();
    assert_eq!(names, ["aten::var.correction_out", "aten::mean.out"]);
}

/// A file with explicit places is planned again, so that the new tensor shares memory.
#[test]
fn a_new_tensor_of_a_file_is_planned() {
    let yaml = method(
        "x: {tensor: float32, sizes: [4]}, state: {tensor: float32, sizes: [4], mutable: true}, i: {tensor: int64, data: [0, 1, 2, 3]}",
        "state",
        "aten::index_put_, args: [state, [i], x], out: state",
    );
    let file = Model::from_yaml("put.yaml", yaml, ".").assembly().unwrap().program_file().unwrap().to_vec().unwrap();
    let written = Model::from_binary("put.pte", file).assemble(&options("0.6")).unwrap();
    // `state`, `x` and the new tensor.
    assert_eq!(written.plan().memory[0].sizes, [0, 48]);
}

/// Constants of XNNPACK graphs: inside the payload before 0.6, scales in the graph before 0.7.
#[test]
fn constants_of_graphs_are_where_a_release_finds_them() {
    let conv = Model::open(root().join("tests/golden/upstream/bytes/conv_xnn/model.pte")).unwrap();
    let keys = |release: &str| {
        let assembly = conv.assemble(&options(release)).unwrap();
        let named = assembly.program().named_data.as_ref().map(Vec::len);
        (named, assembly.written_for().unwrap().payloads)
    };
    assert_eq!(keys("0.5"), (None, 2));
    assert_eq!(keys("0.6"), (Some(4), 0));
    assert_eq!(keys("1.5"), (Some(4), 0));

    let graph = "{values: {x: {datatype: fp32, sizes: [1, 2]}, q: {datatype: qdint8, num_nonbatch_dims: 1},
        w: {datatype: qcint8, sizes: [2, 2], scales: {key: s}, key: w}, y: {datatype: fp32}},
        inputs: [x], outputs: [y], nodes: [{convert: {input: x, output: q}}, {fully_connected: {input: q, filter: w, output: y}}]}";
    let yaml = format!(
        "methods: {{forward: {{values: {{x: {{tensor: float32, sizes: [1, 2]}}, y: {{tensor: float32, sizes: [1, 2]}}}},
        delegates: {{part: {{backend: XnnpackBackend, graph: {graph}}}}}, inputs: [x], outputs: [y],
        instructions: [{{delegate: part, args: [x, y]}}]}}}}\nnamed_data: {{s: {{hex: 0000803f 00000040}}, w: {{hex: \"01020304\"}}}}"
    );
    let text = |release: &str| {
        let assembly = assemble(&yaml, release).unwrap_or_else(|error| panic!("{error}"));
        let file = Model::from_binary("model.pte", assembly.program_file().unwrap().to_vec().unwrap());
        file.to_yaml(Path::new("."), &Default::default()).unwrap().text
    };
    assert!(text("0.7").contains("scales: {key: s}"), "{}", text("0.7"));
    assert!(text("0.6").contains("scales: [1, 2], key: w"), "{}", text("0.6"));
    assert!(text("0.5").contains("scales: [1, 2], data: [[1, 2], [3, 4]]"), "{}", text("0.5"));
    assert!(text("0.5").contains("named_keys: false") && !text("0.5").contains("named_data:"));
}

/// Names of tensors are part of a file since 0.7, delegates of one method are shared before 1.0.
#[test]
fn fields_are_those_of_the_exporter() {
    let yaml = "
data: {payload: {text: compiled}}
methods:
  forward:
    values: {x: {tensor: float32, sizes: [2]}, y: {tensor: float32, sizes: [2]}, state: {tensor: float32, sizes: [2], mutable: true, name: s}}
    delegates: {one: {backend: Own, data: payload}, other: {backend: Own, data: payload}, last: {backend: Own, data: {text: else}}}
    inputs: [x]
    outputs: [y, state]
    instructions:
      - {delegate: one, args: [x, y]}
      - {delegate: last, args: [y, state]}
      - {delegate: other, args: [state, y]}
";
    let plan = |release| assemble(yaml, release).unwrap().program().plans()[0].clone();
    let called = |release| -> Vec<i32> {
        let calls = plan(release).instructions().map(|call| format!("{call:?}")).collect::<Vec<_>>();
        let number = |call: &String| call.split("delegate_index: ").nth(1)?.split(',').next()?.parse().ok();
        calls.iter().filter_map(number).collect()
    };
    assert_eq!((called("1.0"), plan("1.0").delegates().len()), (vec![0, 2, 1], 3));
    assert_eq!((called("0.7"), plan("0.7").delegates().len()), (vec![0, 1, 0], 2));
    let names = |release| plan(release).tensors().filter(|(_, tensor)| tensor.name().is_some()).count();
    assert_eq!((names("0.7"), names("0.6")), (1, 0));
}

/// A `.ptd` has the alignment of its release, the program that of the export.
#[test]
fn data_files_have_the_alignment_of_the_release() {
    let linear = Model::open(root().join("examples/linear.yaml")).unwrap();
    let offset = |release: &str| {
        let mut options = options(release);
        options.external_data = true;
        let assembly = linear.assemble(&options).unwrap();
        let segments = &assembly.plan().external[0].segments;
        segments[1].offset
    };
    assert_eq!((offset("0.7"), offset("1.0"), offset("1.1")), (48, 48, 128));
}
