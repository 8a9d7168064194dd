//! `check --target`: targets as files and by name, findings beside those of the other rules, and refusals.

use pretty_assertions::assert_eq;
use pte_emit::{
    Model,
    check::{CheckOptions, RuleId, Target},
};
use serde_json::Value;

use crate::support::folder::{Folder, RELU};
use crate::support::{files_below, root, sources};

/// Output on standard output.
fn stdout(folder: &Folder, arguments: &[&str], code: i32) -> String {
    String::from_utf8(folder.run(arguments).exits(code).stdout).unwrap()
}

/// All examples run in the runtime of the wheel, except for those of custom operators.
#[test]
fn examples_suit_the_wheel() {
    let wheel = Target::ready("wheel-1.5.1").unwrap();
    let mut compared = 0;
    for path in files_below(&root().join("examples"), &["yaml"]) {
        if path.parent() != Some(&root().join("examples")) {
            continue;
        }
        let findings = Model::open(&path).unwrap().check_target(&wheel, &CheckOptions::default()).unwrap();
        assert_eq!(findings.list.iter().map(ToString::to_string).collect::<Vec<_>>(), [""; 0], "{}", path.display());
        compared += 1;
    }
    assert!(compared > 25, "{compared} examples");
}

#[test]
fn a_target_is_a_file_or_a_name() {
    let folder = Folder::new(&[
        ("model.yaml", RELU),
        ("board.yaml", "operators: [aten::add.out]\nbackends: [XnnpackBackend]\n"),
    ]);
    let text = stdout(&folder, &["check", "model.yaml", "--target", "board.yaml"], 1);
    for part in [
        "model.yaml: invalid[R-1]: methods.forward.operators[0]: operator `aten::relu.out` is not linked: 1 instruction calls it",
        "expected a kernel of board.yaml: add it (or portable_ops_lib) to the operators, or lower it to `XnnpackBackend`",
        "the runtime: rejects it with `OperatorMissing`",
        "help: pte-emit explain R-1\n1 file: 1 error, 0 warnings, 0 notes\n",
    ] {
        assert!(text.contains(part), "no `{part}` in\n{text}");
    }
    assert_eq!(stdout(&folder, &["check", "model.yaml"], 0), "1 file: 0 errors, 0 warnings, 0 notes\n");
    assert_eq!(
        stdout(&folder, &["check", "model.yaml", "--target", "pico2"], 0),
        "1 file: 0 errors, 0 warnings, 0 notes\n"
    );
    // A file of this name is the target.
    folder.write("pico2", "operators: []");
    assert!(stdout(&folder, &["check", "model.yaml", "--target", "pico2"], 1).contains("a kernel of pico2"));
    let json: Value =
        serde_json::from_str(&stdout(&folder, &["check", "model.yaml", "--target", "board.yaml", "--json"], 1))
            .unwrap();
    assert_eq!(json["files"][0]["findings"][0]["rule"], "R-1");
    let names = stdout(&folder, &["check", "--list-targets"], 0);
    let listed: Vec<&str> = names.lines().filter_map(|line| line.split(' ').next()).collect();
    assert_eq!(listed, Target::ready_names().collect::<Vec<_>>());
}

/// A ready target can be copied without the sources of this project.
#[test]
fn ready_targets_are_printed() {
    let folder = Folder::new(&[("model.yaml", RELU)]);
    for name in Target::ready_names() {
        let text = stdout(&folder, &["check", "--print-target", name], 0);
        let own = Target::parse(name, &text).unwrap();
        assert_eq!(own.description(), Target::ready(name).unwrap().description());
    }
    folder.run(&["check", "--print-target", "pico3"]).exits(2).stderr_contains("expected one of android-aar");
}

#[test]
fn names_that_resemble_others_are_warnings() {
    let folder = Folder::new(&[("model.yaml", RELU), ("board.yaml", "operators: [aten::relu.out, aten::clmap.out]\n")]);
    let check = ["check", "model.yaml", "--target", "board.yaml"];
    let done = folder.run(&check).exits(0);
    done.stderr_contains(
        "warning[Y-15]: no release of ExecuTorch has the operator `aten::clmap.out`\n --> board.yaml:1:29",
    )
    .stderr_contains("did you mean `aten::clamp.out`?");
    folder.run(&[&check[..], &["--deny-warnings"]].concat()).exits(1);
}

/// `executorch` of a target is what `--runtime` is: operators, features, `.ptd` files.
#[test]
fn the_release_of_a_target_is_that_of_runtime() {
    let folder = Folder::new(&[
        ("clone.yaml", &RELU.replace("aten::relu.out", "dim_order_ops::_clone_dim_order.out")),
        ("named.yaml", "named_data: {key: {hex: \"00\"}}\nmethods: {forward: {outputs: [1]}}\n"),
        (
            "two.yaml",
            "methods: {forward: {values: {v: {tensor: float32, external: a, data: [1]}, w: {tensor: float32, external: b, data: [2]}}, \
             outputs: [v, w]}}\n",
        ),
    ]);
    let releases = ["0.4", "0.5", "0.7", "1.0", "1.1", "1.5.1"];
    for (file, expected) in [
        ("clone.yaml", ["V-1", "V-1", "V-1", "", "", ""]),
        ("named.yaml", ["V-5", "V-5", "", "", "", ""]),
        ("two.yaml", ["V-4", "V-4", "V-4", "V-4", "", ""]),
    ] {
        for (release, rule) in releases.into_iter().zip(expected) {
            folder.write("board.yaml", format!("executorch: \"{release}\""));
            let code = i32::from(!rule.is_empty());
            let text = stdout(&folder, &["check", file, "--target", "board.yaml"], code);
            assert_eq!(text, stdout(&folder, &["check", file, "--runtime", release], code).replace(" (1.5.1)", ""));
            assert!(text.contains(&format!("[{rule}]")) != rule.is_empty(), "{file} {release}\n{text}");
        }
    }
    let text = stdout(&folder, &["check", "two.yaml", "--runtime", "0.7"], 1);
    let several =
        "2 .ptd files (`a`, `b`): ExecuTorch 0.7.0 has no functions for it, expected one of them, or ExecuTorch 1.1.0";
    assert!(text.contains(several), "{text}");
    // The option is before the target.
    folder.write("board.yaml", "executorch: \"0.7\"");
    stdout(&folder, &["check", "clone.yaml", "--target", "board.yaml", "--runtime", "1.5"], 0);
}

/// The total that is compared with `ram` is the one that `memory` prints, also of the heap of delegates.
#[test]
fn totals_are_those_of_memory() {
    let folder = Folder::new(&[]);
    let examples = files_below(&root().join("examples"), &["yaml", "pte"]);
    let mut compared = 0;
    for path in examples.iter().filter(|path| path.parent() == Some(&root().join("examples"))) {
        for abi in ["64", "arm32"] {
            let memory = folder.run(&["memory", path.to_str().unwrap(), "--abi", abi, "--json"]);
            let Ok(json) = serde_json::from_slice::<Value>(&memory.stdout) else { continue };
            let totals: Vec<u64> = json["methods"]
                .as_array()
                .unwrap()
                .iter()
                .map(|method| method["total"]["bytes"].as_u64().unwrap())
                .collect();
            let most = totals.into_iter().max().unwrap();
            for (ram, is_enough) in [(most, true), (most - 1, false)] {
                folder.write("board.yaml", format!("abi: {abi}\nram: {ram}"));
                let text = folder.run(&["check", path.to_str().unwrap(), "--target", "board.yaml"]).stdout;
                let text = String::from_utf8(text).unwrap();
                assert_eq!(!text.contains("[R-12]"), is_enough, "{} {abi} {ram}\n{text}", path.display());
            }
            compared += 1;
        }
    }
    assert!(compared > 40, "{compared} totals");
}

#[test]
fn the_target_decides_about_libraries_and_custom_operators() {
    let folder = Folder::new(&[
        ("model.yaml", &RELU.replace("aten::relu.out", "my::op.out")),
        ("with.yaml", "operators: [my::op.out]"),
        ("without.yaml", "operators: []"),
        ("silent.yaml", "backends: []"),
    ]);
    let rules = |target: &str, code: i32| {
        let text = stdout(&folder, &["check", "model.yaml", "--target", target], code);
        text.matches("[O-5]").count() * 10 + text.matches("[R-1]").count()
    };
    assert_eq!((rules("with.yaml", 0), rules("without.yaml", 1)), (0, 1));
    // What a target does not state is not compared.
    let warned = stdout(&folder, &["check", "model.yaml", "--target", "silent.yaml"], 0);
    assert!(!warned.contains("[R-1]"), "{warned}");
}

#[test]
fn files_of_operators_are_beside_the_target() {
    let folder = Folder::new(&[
        ("model.yaml", RELU),
        ("in/board.yaml", "operators: {file: ops/selected_operators.yaml}"),
        ("secret.txt", "aten::relu.out self:T out:T!"),
        ("in/outside.yaml", "operators: {file: ../secret.txt}"),
    ]);
    folder.write("in/ops/x", "");
    folder.run(&["kernels", "model.yaml", "--format", "yaml", "-o", "in/ops/selected_operators.yaml"]).exits(0);
    folder.run(&["check", "model.yaml", "--target", "in/board.yaml"]).exits(0);
    folder.run(&["check", "in/ops", "--target", "in/board.yaml"]).exits(3);
    folder.run(&["check", "model.yaml", "--target", "in/outside.yaml"]).exits(0);
    let denied = folder.run(&["check", "model.yaml", "--target", "in/outside.yaml", "--confine", "in"]);
    denied.exits(1).stderr_contains("it is not in the folder in");
}

#[test]
fn malformed_targets_are_errors() {
    let folder = Folder::new(&[
        ("model.yaml", RELU),
        ("key.yaml", "method_alocator: 4K\npool: 3\n"),
        ("missing.yaml", "operators: {file: nothing.yaml}"),
        ("weights.yaml", "named_data: {w: {tensor: float32, data: [1]}}"),
        ("text.pte", "not a program"),
    ]);
    folder.write("binary.yaml", b"\xff\xfe");
    let before = folder.names();
    let done = folder.run(&["check", "model.yaml", "--target", "key.yaml"]).exits(1);
    let done =
        done.stderr_contains("unknown key `method_alocator`").stderr_contains("did you mean `method_allocator`?");
    done.stderr_contains("unknown key `pool`").stderr_contains("--> key.yaml:2:1");
    folder
        .run(&["check", "model.yaml", "--target", "missing.yaml"])
        .exits(3)
        .stderr_contains("cannot read nothing.yaml");
    folder.run(&["check", "model.yaml", "--target", "binary.yaml"]).exits(1).stderr_contains("UTF-8");
    folder.run(&["check", "model.yaml", "--target", "nothing.yaml"]).exits(3).stderr_contains("nothing.yaml");
    folder.run(&["check", "model.yaml", "--target", "pico"]).exits(2).stderr_contains("one of android-aar");
    folder.run(&["check", "--list-targets", "model.yaml"]).exits(2);
    // Files without a program are checked without the target.
    folder.run(&["check", "weights.yaml", "--target", "pico2"]).exits(0);
    folder.run(&["check", "text.pte", "--target", "pico2"]).exits(1);
    assert_eq!(folder.names(), before);
}

/// Memory at exactly the limits of a target, and one byte more.
#[test]
fn limits_are_exact() {
    let model = Model::from_yaml("topk.yaml", sources::TOPK, ".");
    let memory = model.memory(&Default::default()).unwrap();
    let method = &memory.methods[0];
    let size = model.assembly().unwrap().program_file().unwrap().size().unwrap();
    let (pool, temporary) = (&method.pools[0], method.temporary_allocator.kernels);
    assert_eq!((method.pools.len(), temporary), (1, 1600));
    let planned = pool.bytes.next_multiple_of(pool.alignment);
    let allocator = method.method_allocator.bytes;
    let rules = |yaml: String| -> Vec<RuleId> {
        let target = Target::parse("board.yaml", &yaml).unwrap();
        let found = model.check_target(&target, &CheckOptions::default()).unwrap();
        found.list.iter().map(|finding| finding.rule.id).collect()
    };
    for (key, exact, rule) in [
        ("pools: [N]", pool.bytes, RuleId::R_5),
        ("pools: {total: N}", planned, RuleId::R_5),
        ("method_allocator: N", allocator, RuleId::R_6),
        ("{pools: method_allocator, method_allocator: N}", allocator + planned, RuleId::R_6),
        ("temp_allocator: N", temporary, RuleId::R_7),
        ("largest_file: N", size, RuleId::R_9),
    ] {
        assert_eq!(rules(key.replace('N', &exact.to_string())), [], "{key}");
        assert_eq!(rules(key.replace('N', &(exact - 1).to_string())), [rule], "{key}");
    }
}

/// Parts of targets and of the files that they name, which random texts consist of.
const PARTS: [&str; 28] = [
    "operators: ",
    "backends: ",
    "pools: ",
    "abi: ",
    "executorch: ",
    "alignment: ",
    "[",
    "]",
    "{",
    "}",
    "file: x",
    "library: ",
    "portable_ops_lib",
    "dtype_selective: true",
    "total: ",
    "4K",
    "-1",
    "1.5",
    "18446744073709551616",
    "\n",
    "- ",
    ", ",
    "Kernel(\"a::b\", stack.size() == ",
    "/*",
    "//",
    "et_kernel_metadata: {a: [v1/6;0|",
    "op: add(",
    "my::op.out a:T out:T!",
];

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig { failure_persistence: None, ..Default::default() })]

    /// Random targets and files of operators are errors or targets, which compare programs without a panic.
    #[test]
    fn random_targets_never_panic(
        target in proptest::collection::vec(proptest::sample::select(PARTS.to_vec()), 0..12),
        file in proptest::collection::vec(proptest::sample::select(PARTS.to_vec()), 0..12),
        cut in proptest::prelude::any::<proptest::sample::Index>(),
    ) {
        let folder = Folder::new(&[]);
        folder.write("x", file.concat());
        let text = target.concat();
        let at = cut.index(text.len() + 1);
        for text in [format!("operators: {{file: x}}\n{text}"), text.clone(), text[..text.floor_char_boundary(at)].to_owned()] {
            folder.write("target.yaml", &text);
            if let Ok(target) = Target::open(&folder.path().join("target.yaml"), Some(folder.path())) {
                let relu = Model::from_yaml("m.yaml", RELU, ".");
                relu.check_target(&target, &CheckOptions::default()).unwrap();
            }
        }
    }
}
