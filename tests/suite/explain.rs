//! `explain`: errors, rules and codes by number and name, messages of a log, what they are about in a program, and what
//! is unknown. Lines of real logs are in tests/golden/snapshots/explain.cases.

use pte_emit::{Code, check::RuntimeError};
use serde_json::Value;

use crate::support::folder::Folder;

fn explained(arguments: &[&str]) -> String {
    let done = Folder::new(&[]).run(&[&["explain"], arguments].concat()).exits(0).stderr_is_empty();
    String::from_utf8(done.stdout).unwrap()
}

#[test]
fn errors_have_several_names() {
    let text = explained(&["0x14"]);
    for part in ["OperatorMissing 0x14 (20): ", "what to do: ", "    O-5 R-1 V-1\n"] {
        assert!(text.contains(part), "no `{part}` in\n{text}");
    }
    let others =
        ["20", "0X14", "operatormissing", "Error::OperatorMissing", "0x:14", "error 20", "Code=20", "status=0x14"];
    for name in
        others.into_iter().chain(["Failed to load method forward, error: 0x:14", "I get Error::OperatorMissing (20)"])
    {
        assert_eq!(explained(&[name]), text, "{name}");
    }
    // A line without quotes.
    assert_eq!(explained(&["load", "failed", "with", "error", "0x14"]), text);
}

#[test]
fn a_log_is_explained_in_its_order_and_once() {
    let log = "I/ET(1): Loading\nE method.cpp:824] Missing operator: [3] my::op.out\nE method.cpp:824] Missing operator: [3] my::op.out\n\
               E memory_allocator.h:105] Memory allocation failed: 48B requested\nload failed with 0x14, status=0x23; see X-4\n";
    let done = Folder::new(&[]).run_with_stdin(&["explain", "-", "--json"], log).exits(0).stderr_is_empty();
    let document: Value = serde_json::from_slice(&done.stdout).unwrap();
    let texts = [
        ("message", "Missing operator: [3] my::op.out"),
        ("message", "Memory allocation failed: 48B requested"),
        ("name", "InvalidProgram"),
        ("rule", "X-4"),
    ];
    assert_eq!(document.as_array().unwrap().len(), texts.len(), "{document:#}");
    for (item, (key, text)) in document.as_array().unwrap().iter().zip(texts) {
        assert_eq!(item[key], text);
    }
    assert_eq!(document[0]["error"], 0x14);
    // Nothing is known in it, or it is no text.
    for log in [&b"I/ET(1): Loading, 3 files\n"[..], b"", &[0xff, 0, 0x80]] {
        Folder::new(&[]).run_with_stdin(&["explain", "-"], log).exits(2).stderr_contains("in standard input: expected");
    }
}

/// Lines of other programs are no errors of ExecuTorch; a crash and a truncated file have an answer.
#[test]
fn a_log_of_android_has_what_is_of_executorch() {
    let log = "11-24 09:35:11.0  900  900 E AudioFlinger: openOutput failed: status 32, error 20\n\
               11-24 09:35:11.1  901  901 W libc    : Access denied: error code 0x12\n\
               11-24 09:35:11.2  902  902 I ExecuTorch: Loading of method forward failed with status 0x21\n\
               11-24 09:35:11.3  903  903 E App     : model.pte: short read\n\
               11-24 09:35:11.4  903  903 F libc    : Fatal signal 11 (SIGSEGV), code 1 (SEGV_MAPERR), fault addr 0x12\n\
               11-24 09:35:11.5  904  904 F DEBUG   : signal 11 (SIGSEGV), code 1 (SEGV_MAPERR), fault addr 0x20\n";
    let done = Folder::new(&[]).run_with_stdin(&["explain", "-"], log).exits(0).stderr_is_empty();
    let text = String::from_utf8(done.stdout).unwrap();
    let items: Vec<&str> = text.lines().filter(|line| !line.is_empty() && !line.starts_with(' ')).collect();
    assert!(
        matches!(items[..], [memory, read, crash] if memory.starts_with("MemoryAllocationFailed 0x21")
            && read.starts_with("short read") && crash.starts_with("signal 11 (SIGSEGV)")),
        "{text}"
    );
    contains(&text, &["while the program or a method is loaded", "`check --read-data`", "how many bytes are missing"]);
    contains(
        &explained(&["Missing operator: [0] aten::view_copy.dtype_out"]),
        &["No library of ExecuTorch", "Replace it in the export"],
    );
    contains(&explained(&["Failed to parse model file: x.pte"]), &["Validate the file: `check`"]);
}

/// Runs `explain` with an example as the model.
fn about(model: &str, arguments: &[&str]) -> String {
    let model = crate::support::root().join("examples").join(model);
    explained(&[arguments, &["--model", model.to_str().unwrap()]].concat())
}

#[track_caller]
fn contains(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "no `{part}` in\n{text}");
    }
}

#[test]
fn a_model_has_the_instruction_its_arguments_and_its_stack_trace() {
    let failed = "KernelCall failed at instruction 0:0 in operator aten::permute_copy.out: 0x12";
    let text = about("linear.yaml", &[failed]);
    contains(
        &text,
        &[
            "    method forward:\n      instruction 0:0: aten::permute_copy.out\n",
            "arg 0: weight: float32 [3, 4]\n",
            "arg 1: [1, 0]\n",
        ],
    );
    let other = about("linear.yaml", &["KernelCall failed at instruction 0:0 in operator my::op.out: 0x12"]);
    contains(
        &other,
        &[
            "it has no `my::op.out` at instruction 0:0: the message is of another program",
            "instruction 0:0: aten::permute_copy.out",
        ],
    );
    let delegate = about("xnnpack_linear.yaml", &["CALL_DELEGATE execute failed at instruction 0: 0x1"]);
    contains(&delegate, &["instruction 0:0: XnnpackBackend\n", "arg 0: x: float32 [2, 3]\n", "Internal 0x01"]);
    contains(
        &about("linear.yaml", &["CALL_DELEGATE execute failed at instruction 7: 0x1"]),
        &["it has no call of a delegate at instruction 7"],
    );

    let traced = "methods: {forward: {values: {x: {tensor: float32, sizes: [2]}}, inputs: [x], outputs: [y], instructions: [\
        {kernel: aten::neg.out, args: [x], out: y, stacktrace: [{filename: m.py, lineno: 7, name: forward, context: return -x}]}]}}";
    let folder = Folder::new(&[("traced.yaml", traced)]);
    let failed = "KernelCall failed at instruction 0:0 in operator aten::neg.out: 0x12";
    let done = folder.run(&["explain", failed, "--model", "traced.yaml"]).exits(0);
    contains(&String::from_utf8(done.stdout).unwrap(), &["      File \"m.py\", line 7, in forward: return -x\n"]);
}

#[test]
fn a_model_has_its_memory_operators_backends_inputs_and_keys() {
    // The same figures as `memory`.
    let folder = Folder::new(&[]);
    let linear = crate::support::root().join("examples/linear.yaml");
    let memory = folder.run(&["memory", linear.to_str().unwrap(), "--abi", "arm32"]).exits(0);
    let memory = String::from_utf8(memory.stdout).unwrap();
    let text = about("linear.yaml", &["Memory allocation failed: 48B requested", "--abi", "arm32"]);
    contains(&text, &["      pool 1: 80 bytes\n"]);
    let figures = memory.lines().filter(|line| line.contains(" allocator (32-bit Arm): "));
    let figures: Vec<&str> = figures.collect();
    assert_eq!(figures.len(), 2, "{memory}");
    contains(&text, &figures);

    let text = about("linear.yaml", &["Missing operator: [2] aten::relu.out"]);
    contains(
        &text,
        &["operator aten::relu.out: 1 call, library portable_ops_lib\n", "instruction 0:2: aten::relu.out\n"],
    );
    contains(
        &about("linear.yaml", &["0x14"]),
        &["operator aten::addmm.out: 1 call", "operator aten::permute_copy.out: 1 call"],
    );
    let text = about("xnnpack_two_delegates.yaml", &["Backend XnnpackBackend is not registered."]);
    contains(&text, &["delegate scale: backend XnnpackBackend, 1 call\n"]);
    contains(&about("linear.yaml", &["Backend QnnBackend is not registered."]), &["it has no `QnnBackend`: "]);
    contains(&about("linear.yaml", &["Missing operator: [0] my::op.out"]), &["it has no `my::op.out`: "]);
    contains(
        &about("dynamic_batch.yaml", &["Input 0 has not been set"]),
        &["    method forward:\n      input 0: x: float32 <=[4, 2, 2]\n"],
    );
    contains(
        &about("linear_external.yaml", &["external_data_map is null"]),
        &["keys that it needs: l.bias, l.weight\n"],
    );
    contains(
        &about("methods.yaml", &["No method named 'forwrad' in program"]),
        &["    method forward\n", "    method forward2\n"],
    );
    // A method without inputs has no empty title.
    let folder =
        Folder::new(&[("a.yaml", "methods: {forward: {values: {w: {tensor: float32, data: [1]}}, outputs: [w]}}")]);
    for error in ["0x12", "0x21", "0x14", "0x10", "Check failed (a)", "Backend a is not registered"] {
        let done = folder.run(&["explain", error, "--model", "a.yaml"]).exits(0);
        let text = String::from_utf8(done.stdout).unwrap();
        let indents: Vec<(usize, &str)> =
            text.lines().map(|line| (line.len() - line.trim_start().len(), line)).collect();
        let is_title = |pair: &[(usize, &str)]| pair[0].1.ends_with(':') && pair[1].0 <= pair[0].0;
        assert!(!indents.windows(2).any(is_title) && !text.ends_with(":\n"), "{error}:\n{text}");
    }
    // Rules and codes are about no part of a program.
    assert!(!about("linear.yaml", &["X-4"]).contains("  in "));
}

#[test]
fn a_method_of_the_model_is_selected() {
    let all = about("methods.yaml", &["0x21"]);
    let methods: Vec<&str> =
        all.lines().filter_map(|line| line.strip_prefix("    method ")?.strip_suffix(':')).collect();
    let named: Vec<&str> = methods.iter().copied().filter(|line| !line.contains("allocator")).collect();
    assert!(named.len() > 1, "{all}");
    let one = about("methods.yaml", &["0x21", "--method", named[0]]);
    assert!(one.contains(named[0]) && !one.contains(&format!("    method {}:\n", named[1])), "{one}");
    let path = crate::support::root().join("examples/methods.yaml");
    let folder = Folder::new(&[]);
    folder
        .run(&["explain", "0x21", "--model", path.to_str().unwrap(), "--method", "none"])
        .exits(1)
        .stderr_contains("unknown method `none`");
    folder.run(&["explain", "--model", path.to_str().unwrap()]).exits(2);
    let document: Value = serde_json::from_str(&about("methods.yaml", &["0x21", "--json"])).unwrap();
    assert_eq!(document[0]["programs"][0]["methods"].as_array().unwrap().len(), named.len());
}

#[test]
fn rules_name_their_errors_and_codes_their_meaning() {
    let rule = explained(&["R-4"]);
    assert!(rule.starts_with("R-4 (invalid): ") && rule.contains("\n  NotFound 0x20: "), "{rule}");
    assert!(explained(&["G-5"]).contains("profiles of `check`: 32-bit\n"));
    let code = explained(&["y-5"]);
    assert!(code.starts_with("Y-5 unknown-key: A map has a key"), "{code}");
    assert_eq!(explained(&["unknown-key"]), code);
    // Every rule and code is explained.
    let ids: Vec<&str> = pte_check::rules::RULES.iter().map(|rule| rule.id.as_str()).collect();
    let all = explained(&ids);
    assert_eq!(all.matches("\n  reason: ").count(), ids.len());
    let codes: Vec<&str> = Code::ALL.iter().map(|code| code.as_str()).collect();
    assert_eq!(explained(&codes).lines().filter(|line| line.starts_with("Y-")).count(), codes.len());
}

#[test]
fn without_names_the_errors_are_listed() {
    let listed = explained(&[]);
    assert_eq!(listed.lines().count(), RuntimeError::all().len());
    assert!(listed.contains("0x21  MemoryAllocationFailed "), "{listed}");
}

#[test]
fn json_has_the_same() {
    let document: Value = serde_json::from_str(&explained(&["0x14", "R-1", "Y-5", "--json"])).unwrap();
    assert_eq!((&document[0]["error"], &document[0]["rules"]), (&20.into(), &serde_json::json!(["O-5", "R-1", "V-1"])));
    assert_eq!((&document[1]["rule"], &document[1]["errors"]), (&"R-1".into(), &serde_json::json!([20])));
    assert_eq!(document[2]["name"], "unknown-key");
}

#[test]
fn unknown_names_are_errors() {
    let folder = Folder::new(&[]);
    for name in ["0x99", "ZZ-1", "OperatorMising", ""] {
        folder.run(&["explain", name]).exits(2).stderr_contains("unknown code, rule or message");
    }
    folder.run(&["explain", "OperatorMising"]).exits(2).stderr_contains("did you mean `OperatorMissing`?");
    folder.run(&["explain", &"x".repeat(100_000)]).exits(2);
}
