//! `check --runtime`: releases by version, all of them, and folders of tables; each rule `V-` with a release of made-up
//! facts; refusals.

use pretty_assertions::assert_eq;
use pte_emit::{
    Model,
    check::{CheckOptions, RuleId},
    release::Release,
};
use serde_json::Value;

use crate::support::folder::{Folder, RELU};
use crate::support::root;

/// Output on standard output.
fn stdout(folder: &Folder, arguments: &[&str], code: i32) -> String {
    String::from_utf8(folder.run(arguments).exits(code).stdout).unwrap()
}

/// Output on standard error.
fn stderr(folder: &Folder, arguments: &[&str], code: i32) -> String {
    folder.run(arguments).exits(code).stderr
}

/// A program with an operator that ExecuTorch 1.0 introduced.
const CLONE: &str = "methods:
  forward:
    values:
      x: {tensor: float32, sizes: [2]}
    inputs: [x]
    outputs: [y]
    instructions:
      - {kernel: dim_order_ops::_clone_dim_order.out, args: [x], out: y}
";

/// Rules of the errors of `check` with a release of these tables, beside the version.
fn rules(file: &str, release: &str, tables: [&str; 6]) -> Vec<String> {
    let [operators, backends, xnnpack, types, features, answers] = tables;
    let version = format!("version {release}\n");
    let release = Release::parse([&version, operators, backends, xnnpack, types, features, answers]).unwrap();
    let options = CheckOptions::default().runtime(release);
    let model = Model::open(root().join(file)).unwrap();
    let findings = model.check(&options).unwrap();
    let all = findings.iter().flat_map(|(_, findings)| &findings.list);
    let of_release = all.filter(|finding| finding.rule.id.as_str().starts_with("V-"));
    of_release.map(ToString::to_string).collect()
}

const LINEAR: &str = "aten::addmm.out 1\naten::permute_copy.out 1\naten::relu.out 1\n";

#[test]
fn a_release_without_an_operator_is_an_error_that_names_the_first_with_it() {
    let folder = Folder::new(&[("model.yaml", CLONE)]);
    let text = stdout(&folder, &["check", "model.yaml", "--runtime", "0.7"], 1);
    for part in [
        "model.yaml: invalid[V-1]: methods.forward.operators[0]: operator `dim_order_ops::_clone_dim_order.out`, which ExecuTorch \
         0.7.0 does not register: 1 instruction calls it, expected ExecuTorch 1.0.1, the first release that does, or later",
        "the runtime: the release rejects it with `OperatorMissing` when the method is loaded",
        "1 file: 1 error, 0 warnings, 0 notes\n",
    ] {
        assert!(text.contains(part), "no `{part}` in\n{text}");
    }
    assert_eq!(
        stdout(&folder, &["check", "model.yaml", "--runtime", "1.0"], 0),
        "1 file: 0 errors, 0 warnings, 0 notes\n"
    );
    assert_eq!(stdout(&folder, &["check", "model.yaml"], 0), "1 file: 0 errors, 0 warnings, 0 notes\n");
}

#[test]
fn all_releases_have_a_line_each() {
    let folder = Folder::new(&[("model.yaml", CLONE), ("relu.yaml", RELU)]);
    let text = stdout(&folder, &["check", "model.yaml", "relu.yaml", "--runtime", "all"], 0);
    let lines: Vec<&str> = text.lines().collect();
    let count = Release::known().len();
    assert_eq!((lines.len(), lines[3 * count]), (3 * count + 1, "help: pte-emit explain V-1"));
    for (line, release) in lines.iter().zip(Release::known()) {
        let expected = match release.has_operator("dim_order_ops::_clone_dim_order.out") {
            true => "yes",
            false => "no: [V-1] operator `dim_order_ops::_clone_dim_order.out`, which",
        };
        assert!(line.starts_with(&format!("model.yaml: {}: {expected}", release.version())), "{line}");
    }
    assert!(lines[count..2 * count].iter().all(|line| line.ends_with(": yes")), "{text}");
    for (line, release) in lines[2 * count..].iter().zip(Release::known()) {
        let runs = 1 + u8::from(release.has_operator("dim_order_ops::_clone_dim_order.out"));
        assert_eq!(*line, format!("ExecuTorch {} runs {runs} of 2 files", release.version()));
    }
    // Of files that run, nothing is printed.
    let text = stdout(&folder, &["check", "relu.yaml", "--runtime", "all", "-q"], 0);
    assert_eq!(text, "");

    let json: Value =
        serde_json::from_str(&stdout(&folder, &["check", "model.yaml", "--runtime", "all", "--json"], 0)).unwrap();
    let files = json["files"].as_array().unwrap();
    let named: Vec<&str> = files.iter().map(|file| file["runtime"].as_str().unwrap()).collect();
    let known: Vec<String> = Release::known().map(|release| release.version().to_string()).collect();
    assert_eq!(named, known);
    assert_eq!((&files[0]["errors"], &files[0]["findings"][0]["rule"]), (&1.into(), &"V-1".into()));
    // No release has the program.
    folder.write(
        "bad.yaml",
        "methods: {forward: {values: {x: {tensor: float32, sizes: [2]}}, inputs: [x], outputs: [y]}}",
    );
    let done = folder.run(&["check", "bad.yaml", "--runtime", "all"]).exits(1);
    assert_eq!(done.stderr.matches("error").count(), 1);
}

#[test]
fn unknown_releases_are_refused() {
    let folder = Folder::new(&[("relu.yaml", RELU)]);
    let known: Vec<String> = Release::known().map(|release| release.version().to_string()).collect();
    let known = known.join(", ");
    for (value, expected) in [
        ("9.9", "unknown release `9.9` of ExecuTorch: expected one of"),
        ("0.1", "ExecuTorch 0.1 is older than the first release with a stable format, 0.4.0: expected one of"),
        ("latest", "unknown release `latest` of ExecuTorch: expected one of"),
    ] {
        let text = stderr(&folder, &["check", "relu.yaml", "--runtime", value], 2);
        assert!(text.contains(expected) && text.contains(&known), "{text}");
    }
    // A folder without tables, and one with a malformed table.
    folder.write("empty/x", "");
    folder.write("own/release.table", "version 1.5.1\n");
    folder.write("own/features.table", "device sometimes\n");
    assert!(stderr(&folder, &["check", "relu.yaml", "--runtime", "empty"], 3).contains("release.table"));
    let text = stderr(&folder, &["check", "relu.yaml", "--runtime", "own"], 1);
    assert!(text.contains("error: own: features.table:1: expected FEATURE ANSWER"), "{text}");
}

#[test]
fn a_folder_of_tables_is_a_release() {
    let folder = Folder::new(&[("relu.yaml", RELU), ("own/release.table", "version 1.5.1\n")]);
    // Absent tables are those of the release.
    assert!(stdout(&folder, &["check", "relu.yaml", "--runtime", "own"], 0).contains("1 file: 0 errors"));
    folder.write("own/operators.table", "my::relu.out 1\n");
    let text = stdout(&folder, &["check", "relu.yaml", "--runtime", "own"], 1);
    assert!(text.contains("which the build `own` of ExecuTorch 1.5.1 does not register"), "{text}");
    assert!(text.contains("expected ExecuTorch 1.5.1, the first release that does, or later"), "{text}");
    assert!(text.contains("invalid[V-1]: methods.forward.operators[0]: operator `aten::relu.out`"), "{text}");
    folder.write("own/operators.table", "aten::relu.out 1\n");
    assert_eq!(
        stdout(&folder, &["check", "relu.yaml", "--runtime", "own"], 0),
        "1 file: 0 errors, 0 warnings, 0 notes\n"
    );
}

#[test]
fn tables_of_a_build_are_validated() {
    let folder = Folder::new(&[("relu.yaml", RELU), ("own/release.table", "version 1.5.1\n")]);
    for (table, text, expected) in [
        ("operators", "aten::relu.out 0\n", "operators.table:1: expected NAME KERNELS"),
        ("operators", "aten::relu.out 1\naten::relu.out 2\n", "operators.table:2: expected each name once"),
        ("features", "header.128 reads\n", "features.table: `header.128` is in the table of no known release"),
        (
            "xnnpack",
            "gelu_of_tomorrow reads\n",
            "xnnpack.table: `gelu_of_tomorrow` is in the table of no known release",
        ),
    ] {
        folder.write(&format!("own/{table}.table"), text);
        let error = stderr(&folder, &["check", "relu.yaml", "--runtime", "own"], 1);
        assert!(error.contains(expected), "{expected}: {error}");
        std::fs::remove_file(folder.path().join(format!("own/{table}.table"))).unwrap();
    }
    folder.write("own/backends.table", "MyBackend\n");
    let xnnpack = root().join("examples/xnnpack_linear.yaml");
    let text = stdout(&folder, &["check", xnnpack.to_str().unwrap(), "--runtime", "own"], 1);
    assert!(
        text.contains(
            "invalid[V-3]: methods.forward.delegates.linear: backend `XnnpackBackend`, which the build `own`"
        ),
        "{text}"
    );
}

#[test]
fn weights_in_files_need_a_release_that_reads_them() {
    let folder = Folder::new(&[]);
    let source = root().join("examples/linear_external.yaml");
    folder.run(&[source.to_str().unwrap(), "-o", "model.pte", "-q"]).exits(0);
    for file in ["model.pte", "model.ptd"] {
        for (release, code) in [("0.4", 1), ("0.5", 1), ("0.6", 1), ("0.7", 0), ("1.5", 0)] {
            let text = stdout(&folder, &["check", file, "--runtime", release], code);
            assert_eq!(text.contains("[V-4]"), code == 1, "{file}, {release}: {text}");
        }
    }
    // Constants of a payload.
    let source = root().join("examples/named_data_external.yaml");
    folder.run(&[source.to_str().unwrap(), "-o", "named.pte", "-q"]).exits(0);
    let text = stdout(&folder, &["check", "named.pte", "--runtime", "0.6"], 1);
    assert!(text.contains("constants of a payload in a .ptd: ExecuTorch 0.6.0 crashes"), "{text}");
}

#[test]
fn each_rule_compares_with_the_facts() {
    let none = ["", "", "", "", "", ""];
    let with = |table: usize, text: &'static str| {
        let mut tables = none;
        tables[0] = LINEAR;
        tables[table] = text;
        tables
    };
    assert_eq!(rules("examples/linear.yaml", "1.0.1", with(0, LINEAR)), [""; 0]);
    assert_eq!(rules("examples/linear.yaml", "1.0.1", none).len(), 3);
    let types =
        rules("examples/linear.yaml", "1.0.1", with(3, "aten::relu.out self:integer\naten::addmm.out mat1:floating"));
    assert!(
        types.len() == 1 && types[0].starts_with("invalid[V-2]: methods.forward.instructions[2].args[0]: "),
        "{types:?}"
    );
    assert!(
        types[0].contains("`self` of float32 for `aten::relu.out`, which the kernel of ExecuTorch 1.0.1 refuses"),
        "{types:?}"
    );
    let payload = rules("examples/xnnpack_linear.yaml", "0.4.0", with(2, "fully_connected load Internal"));
    assert_eq!(payload.len(), 1, "{payload:?}");
    assert!(payload[0].contains("invalid[V-3]: methods.forward.delegates.linear.graph.nodes[0]: "), "{payload:?}");
    assert!(payload[0].contains("`fully_connected` in a payload: ExecuTorch 0.4.0 rejects it (load: Internal)"));
    for (answer, rule) in [
        ("reads", None),
        ("unable", Some("V-4")),
        ("ignores", Some("V-5")),
        ("load InvalidArgument", Some("V-4")),
        ("crashes", Some("V-4")),
    ] {
        let mut tables = none;
        let features = format!("state.initial {answer}\n");
        tables[0] = "aten::add.out 1\naten::copy_ 1\naten::copy_.out 1\naten::index_put.out 1\naten::clone.out 1";
        tables[4] = &features;
        let found = rules("examples/mutable_buffer.yaml", "1.0.1", tables);
        let of_rule: Vec<&String> = found.iter().filter(|text| !text.contains("[V-1]")).collect();
        assert_eq!(of_rule.len(), usize::from(rule.is_some()), "{answer}: {found:?}");
        assert!(
            of_rule.iter().all(|text| text.contains(&format!("invalid[{}]", rule.unwrap()))),
            "{answer}: {found:?}"
        );
    }
}

/// The header of a context binary had 20 bytes up to 1.1, and has 256 since 1.2.
#[test]
fn payloads_of_qnn_are_those_of_the_release() {
    let yaml = |header: usize| {
        let payload = format!("cdab7856{}0400000000000000{}01020304", "00".repeat(8), "00".repeat(header - 20));
        let delegate = format!("delegates: {{d: {{backend: QnnBackend, data: {{hex: \"{payload}\"}}}}}}");
        let values = "values: {x: {tensor: float32, sizes: [2]}, y: {tensor: float32, sizes: [2]}}";
        let calls = "inputs: [x]\n    outputs: [y]\n    instructions: [{delegate: d, args: [x, y]}]";
        format!("methods:\n  forward:\n    {delegate}\n    {values}\n    {calls}\n")
    };
    let folder = Folder::new(&[("old.yaml", &yaml(20)), ("new.yaml", &yaml(256))]);
    for (file, release, is_found) in [
        ("old.yaml", "0.5.0", true),
        ("old.yaml", "0.6.0", false),
        ("old.yaml", "1.1.0", false),
        ("old.yaml", "1.2.0", true),
        ("new.yaml", "1.1.0", true),
        ("new.yaml", "1.5.1", false),
    ] {
        let text = folder.run(&["check", file, "--runtime", release]).stdout;
        let text = String::from_utf8(text).unwrap();
        assert_eq!(text.contains("a payload of QnnBackend with the header of"), is_found, "{file} {release}\n{text}");
    }
}

#[test]
fn malformed_files_are_compared_with_the_answers_to_examples_of_their_rules() {
    let folder = Folder::new(&[
        ("relu.yaml", RELU),
        ("own/release.table", "version 1.0.1\n"),
        ("own/operators.table", "aten::relu.out 1\n"),
    ]);
    folder.run(&["relu.yaml", "-o", "bad.pte", "-q"]).exits(0);
    let mut bytes = std::fs::read(folder.path().join("bad.pte")).unwrap();
    bytes[4..8].copy_from_slice(b"ET99");
    std::fs::write(folder.path().join("bad.pte"), bytes).unwrap();
    folder.write(
        "own/answers.table",
        "H-13 identifier_of_no_file crashes\nH-13 identifier_of_another_version program InvalidProgram\n",
    );
    let text = stdout(&folder, &["check", "bad.pte", "--runtime", "own"], 1);
    assert!(text.contains("malformed[H-13]"), "{text}");
    assert!(
        text.contains(
            "invalid[V-6]: a violation of H-13, which the build `own` of ExecuTorch 1.0.1 may not survive: with the example `identifier_of_no_file`, it \
             crashes"
        ),
        "{text}"
    );
    folder.write("own/answers.table", "H-13 identifier_of_no_file program InvalidProgram\n");
    assert!(!stdout(&folder, &["check", "bad.pte", "--runtime", "own"], 1).contains("V-6"));
    assert_eq!(RuleId::V_6.as_str(), "V-6");
}

/// A program of one call, with the sizes and types of its tensors, and the arguments after them.
fn call(operator: &str, tensors: &[&str], args: &str, out: &str) -> String {
    let value = |(name, tensor): (char, &&str)| format!("      {name}: {{tensor: {tensor}}}\n");
    let values: String = ('a'..).zip(tensors).map(value).collect();
    let names: Vec<String> = ('a'..).take(tensors.len()).map(String::from).collect();
    let names = names.join(", ");
    let args = if args.is_empty() { names.clone() } else { format!("{names}, {args}") };
    format!(
        "methods:\n  forward:\n    values:\n{values}      y: {{tensor: {out}, memory: {{pool: 2, offset: 0}}}}\n    inputs: [{names}]\n    \
         outputs: [y]\n    instructions:\n      - {{kernel: {operator}, args: [{args}], out: y}}\n"
    )
}

#[test]
fn calls_that_a_release_does_not_execute_are_errors() {
    const LAST: &str = "float32, sizes: [1, 4, 3, 3], dim_order: [0, 2, 3, 1]";
    let add = |a, b, out| call("aten::add.out", &[a, b], "", out);
    let amax = |dims, out| call("aten::amax.out", &[LAST], dims, out);
    let copy = |to, from| call("aten::copy.out", &[to, from], "", to);
    let any = |sizes| call("aten::any.out", &[sizes], "1, false", "bool, sizes: [2]");
    // A call with the condition, and one without it.
    let cases = [
        ("no_elements/aten::any.out", any("bool, sizes: [2, 0]"), any("bool, sizes: [2, 1]")),
        (
            "channels_last/aten::amax.out",
            amax("[1, 2], true", "float32, sizes: [1, 1, 1, 3], dim_order: [0, 2, 3, 1]"),
            // Rows and columns are neighbours in memory.
            amax("[-2, -1], true", "float32, sizes: [1, 4, 1, 1], dim_order: [0, 2, 3, 1]"),
        ),
        (
            "leading_ones_of_self/aten::add.out",
            add("float32, sizes: [1, 2]", "float32, sizes: [2]", "float32, sizes: [1, 2]"),
            add("float32, sizes: [2]", "float32, sizes: [1, 2]", "float32, sizes: [1, 2]"),
        ),
        (
            "leading_ones_of_other/aten::add.out",
            add("float32, sizes: [2]", "float32, sizes: [1, 2]", "float32, sizes: [1, 2]"),
            add("float32, sizes: [1, 2]", "float32, sizes: [1, 2]", "float32, sizes: [1, 2]"),
        ),
        (
            "self_is_broadcast/aten::add.out",
            add("float32, sizes: [2]", "float32, sizes: [3, 2]", "float32, sizes: [3, 2]"),
            add("float32, sizes: [3, 2]", "float32, sizes: [2]", "float32, sizes: [3, 2]"),
        ),
        (
            "other_is_broadcast/aten::add.out",
            add("float32, sizes: [3, 2]", "float32, sizes: [3, 1]", "float32, sizes: [3, 2]"),
            add("float32, sizes: [1, 2]", "float32, sizes: [2]", "float32, sizes: [1, 2]"),
        ),
        (
            "larger_type/aten::copy.out",
            copy("int8, sizes: [2]", "int16, sizes: [2]"),
            copy("int16, sizes: [2]", "int8, sizes: [2]"),
        ),
        (
            "smaller_type/aten::copy.out",
            copy("int16, sizes: [2]", "uint8, sizes: [2]"),
            copy("int16, sizes: [2]", "int16, sizes: [2]"),
        ),
        (
            "float16/aten::add.out",
            add("float16, sizes: [2]", "float16, sizes: [2]", "float16, sizes: [2]"),
            add("float32, sizes: [2]", "float16, sizes: [2]", "float32, sizes: [2]"),
        ),
        (
            "bfloat16/aten::add.out",
            add("bfloat16, sizes: [2]", "float32, sizes: [2]", "float32, sizes: [2]"),
            add("float16, sizes: [2]", "float16, sizes: [2]", "float16, sizes: [2]"),
        ),
    ];
    for (key, with, without) in cases {
        let operator = key.split_once('/').unwrap().1;
        let folder =
            Folder::new(&[("with.yaml", &with), ("without.yaml", &without), ("own/release.table", "version 1.0.1\n")]);
        folder.write("own/operators.table", format!("{operator} 1\n"));
        folder.write("own/features.table", format!("{key} crashes\n"));
        let text = stdout(&folder, &["check", "with.yaml", "--runtime", "own"], 1);
        assert!(text.contains("invalid[V-4]: methods.forward.instructions[0]: a call of "), "{key}: {text}");
        let text = stdout(&folder, &["check", "without.yaml", "--runtime", "own"], 0);
        assert!(!text.contains("V-4"), "{key}: {text}");
        folder.write("own/features.table", format!("{key} ignores\n"));
        let text = stdout(&folder, &["check", "with.yaml", "--runtime", "own"], 1);
        assert!(text.contains("invalid[V-5]: ") && text.contains("computes something else"), "{key}: {text}");
    }
}

#[test]
fn rows_of_a_static_tensor_are_refused_for_the_releases_that_resize_it() {
    let rows = |dynamism: &str, index: u8| {
        format!(
            "methods:\n  forward:\n    values:\n      x: {{tensor: float32, sizes: [4]}}\n      y: {{tensor: float32, sizes: [3, 4], mutable: \
             true{dynamism}}}\n      i: {index}\n    inputs: [x]\n    outputs: [y]\n    instructions:\n      - {{kernel: \
             executorch_prim::et_copy_index.tensor, args: [y, x, i]}}\n"
        )
    };
    let folder = Folder::new(&[
        ("static.yaml", &rows("", 0)),
        ("last.yaml", &rows("", 2)),
        ("dynamic.yaml", &rows(", dynamism: dynamic_bound", 0)),
    ]);
    assert!(
        stdout(&folder, &["check", "static.yaml"], 1).contains("ExecuTorch 1.5.1 rejects it (execute: InvalidState)")
    );
    assert!(!stdout(&folder, &["check", "last.yaml"], 0).contains("V-4"));
    assert!(!stdout(&folder, &["check", "dynamic.yaml"], 0).contains("V-4"));
    assert!(!stdout(&folder, &["check", "static.yaml", "--runtime", "1.0.1"], 0).contains("V-4"));
}
