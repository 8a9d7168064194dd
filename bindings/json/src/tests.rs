use std::sync::Arc;

use serde_json::{Value, json};

use crate::{HostFiles, call};

fn ask(request: &Value) -> (Value, Vec<(String, Vec<u8>)>) {
    let answer = call(&request.to_string(), &HostFiles::default());
    (serde_json::from_str(&answer.json).unwrap(), answer.files)
}

const ADD: &str = include_str!("../../../examples/add.yaml");

#[test]
fn a_source_in_the_request_is_assembled_and_checked() {
    let (answer, files) = ask(&json!({"command": "assemble", "input": "add.yaml", "files": {"add.yaml": ADD}}));
    assert_eq!(answer["files"][0]["name"], "add.pte", "{answer}");
    assert_eq!(&files[0].1[4..8], b"ET12");
    let mut given = HostFiles::default();
    given.add("add.pte".as_ref(), Arc::new(Arc::<[u8]>::from(&*files[0].1)));
    let checked = call(r#"{"command": "check", "input": "add.pte", "runtime": ["1.0.1", "1.1"]}"#, &given);
    let checked: Value = serde_json::from_str(&checked.json).unwrap();
    assert_eq!(checked["result"]["errors"], 0, "{checked}");
    assert_eq!(checked["result"]["files"].as_array().unwrap().len(), 2, "{checked}");
}

#[test]
fn messages_have_positions_and_suggestions() {
    let yaml = ADD.replace("inputs:", "inptus:");
    let (answer, _) = ask(&json!({"command": "assemble", "input": "a.yaml", "files": {"a.yaml": yaml}}));
    let found = &answer["error"]["files"][0]["findings"][0];
    assert!(found["source"]["line"].as_u64().unwrap() > 1, "{answer}");
    assert_eq!(found["help"], "did you mean `inputs`?", "{answer}");
    for (request, expected) in [
        (json!({"command": "chekc"}), "unknown command `chekc`: expected one of assemble"),
        (json!({"command": "check", "inptu": "x"}), "did you mean `input`?"),
        (json!({"command": "check"}), "missing option `input`"),
        (json!({"command": "check", "input": 3}), "option `input`: expected a string, found 3"),
        (json!({"command": "check", "input": "a.pte"}), "no such file among those of the call"),
        (json!({"command": "assemble", "input": "a.yaml", "alignmnet": 3}), "unknown option of `assemble` `alignmnet`"),
        (
            json!({"command": "version", "files": ["a.yaml"]}),
            "option `files`: expected an object of texts by name, found [",
        ),
        (json!({"command": "version", "files": {"a.yaml": 5}}), "option `files[a.yaml]`: expected a text, found 5"),
        (json!([]), "the request is not a JSON object"),
    ] {
        let (answer, _) = ask(&request);
        let message = answer["error"]["message"].as_str().unwrap();
        assert!(message.contains(expected), "{message}");
    }
}

/// A source with characters that have other lengths in bytes and in UTF-16.
const RELU: &str = "# \u{e9}\u{1f600}\nmethods:\n  f:\n    values:\n      x: {tensor: float32, sizes: [2]}\n    inputs: [x]\n    outputs: [y]\n    instructions:\n      - {kernel: aten::relu.out, args: [x], out: y}\n";

/// Asks a question about a text, with offsets in UTF-16.
fn question(text: &str, question: &str, options: &Value) -> Value {
    let mut request = json!({"command": "language", "question": question, "input": "a.yaml", "units": "utf-16", "files": {"a.yaml": text}});
    request.as_object_mut().unwrap().extend(options.as_object().unwrap().clone());
    let (answer, _) = ask(&request);
    if answer["error"].is_null() { answer["result"].clone() } else { answer["error"]["message"].clone() }
}

/// Returns the part of a text at a range in UTF-16.
fn part(text: &str, range: &Value) -> String {
    let units: Vec<u16> = text.encode_utf16().collect();
    let at = |key: &str| usize::try_from(range[key].as_u64().unwrap()).unwrap();
    String::from_utf16(&units[at("start")..at("end")]).unwrap()
}

#[test]
fn questions_of_an_editor_are_answered_in_its_units() {
    let at = |before: &str| json!({"at": RELU[..RELU.find(before).unwrap() + before.len()].encode_utf16().count()});
    let with = |mut options: Value, name: &str, value: &str| {
        options[name] = value.into();
        options
    };
    assert_eq!(question(RELU, "messages", &json!({})), json!([]));
    let wrong = RELU.replace("float32", "float23");
    let messages = question(&wrong, "messages", &json!({}));
    assert_eq!((part(&wrong, &messages[0]["range"]).as_str(), &messages[0]["code"]), ("float23", &json!("Y-10")));
    let actions = question(&wrong, "actions", &json!({}));
    assert_eq!(part(&wrong, &actions[0]["edits"][0]["range"]), "float23");
    assert_eq!(actions[0]["corrects"], messages[0]["range"]);
    let hover = question(RELU, "hover", &at("out: "));
    assert!(part(RELU, &hover["range"]) == "y" && hover["text"].as_str().unwrap().contains("float32 [2]"), "{hover}");
    let items = question(RELU, "completions", &at("args: ["));
    assert!(part(RELU, &items[0]["range"]) == "x" && items[0]["label"] == "x", "{items}");
    let signature = question(RELU, "signature", &at("args: ["));
    let active = &signature["arguments"][usize::try_from(signature["active"].as_u64().unwrap()).unwrap()];
    assert_eq!(part(signature["label"].as_str().unwrap(), active), "self: Tensor");
    let hints = question(RELU, "hints", &json!({"hints": ["types", "memory"]}));
    assert!(hints[0]["at"] == at("out: y")["at"] && hints[0]["label"] == ": float32 [2]", "{hints}");
    assert_eq!((&hints[1]["kind"], hints.as_array().unwrap().len()), (&json!("memory"), 2));
    let definition = question(RELU, "definition", &at("args: ["));
    assert_eq!(definition["start"], at("values:\n      ")["at"]);
    let references = question(RELU, "references", &at("out: "));
    let found: Vec<String> = references.as_array().unwrap().iter().map(|found| part(RELU, &found["range"])).collect();
    assert_eq!(found, ["y", "y"]);
    assert_eq!(part(RELU, &question(RELU, "renameable", &at("out: "))), "y");
    assert!(question(RELU, "renameable", &json!({"at": 0})).is_null());
    let edits = question(RELU, "rename", &with(at("out: "), "name", "z"));
    assert_eq!(edits.as_array().unwrap().len(), 2, "{edits}");
    assert!(question(RELU, "rename", &with(at("out: "), "name", "x")).is_string());
    let symbols = question(RELU, "symbols", &json!({}));
    assert_eq!(part(RELU, &symbols[0]["children"][0]["selection"]), "f", "{symbols}");
    let tokens = question(RELU, "tokens", &json!({}));
    assert_eq!((part(RELU, &tokens[0]["range"]).as_str(), &tokens[0]["kind"]), ("methods", &json!("key")));
    assert_eq!(tokens[1]["kind"], json!({"name": "method"}));
    let edits = question(&RELU.replace("inputs: [x]", "inputs:   [ x]"), "formatting", &json!({}));
    assert_eq!(edits.as_array().unwrap().len(), 1, "{edits}");
    assert_eq!(question(RELU, "formatting", &json!({})), json!([]));
}

#[test]
fn requests_of_an_editor_have_options() {
    for (name, options, expected) in [
        ("hovr", json!({}), "did you mean `hover`?"),
        ("hover", json!({}), "missing option `at`"),
        ("messages", json!({"at": 3}), "unknown option of `messages` `at`"),
        (
            "hover",
            json!({"at": 0, "units": "utf-32"}),
            "unknown value of `units` `utf-32`: expected one of utf-8, utf-16",
        ),
        ("hints", json!({"hints": ["type"]}), "did you mean `types`?"),
        ("messages", json!({"target": "esp33"}), "did you mean `esp32`?"),
        ("messages", json!({"input": "b.yaml"}), "no such file among those of the call"),
        ("formatting", json!({"files": {"a.yaml": "a: [b"}}), "a.yaml"),
    ] {
        let found = question(RELU, name, &options);
        assert!(found.as_str().unwrap().contains(expected), "{name}: {found}");
    }
    let defined = RELU.replace("[2]}", "[${N}]}");
    assert_eq!(question(&defined, "messages", &json!({"define": {"N": 2}})), json!([]));
    assert!(question(&defined, "messages", &json!({})).to_string().contains("undefined variable"));
    // Any offset, and texts that are cut there.
    for at in 0..60 {
        let cut: String = RELU.chars().take(at * 4).collect();
        for name in ["hover", "completions", "signature", "definition", "references"] {
            question(&cut, name, &json!({"at": at * 5}));
        }
    }
}

#[test]
fn a_text_is_analysed_again_only_after_a_change() {
    use std::io;
    use std::sync::atomic::{AtomicU64, Ordering};

    use crate::HostFile;

    /// A file that counts how often it is read.
    struct Counted(Vec<u8>, AtomicU64);

    impl HostFile for Counted {
        fn len(&self) -> u64 {
            self.0.len() as u64
        }

        fn read_exact_at(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
            self.1.fetch_add(1, Ordering::Relaxed);
            let start = usize::try_from(offset).unwrap();
            out.copy_from_slice(&self.0[start..start + out.len()]);
            Ok(())
        }
    }

    let file = Arc::new(Counted(RELU.as_bytes().to_vec(), AtomicU64::new(0)));
    let mut given = HostFiles::default();
    given.add("a.yaml".as_ref(), file.clone());
    let reads = || file.1.load(Ordering::Relaxed);
    let ask = |options: &str, given: &HostFiles| {
        let request = format!(r#"{{"command": "language", "input": "a.yaml", {options}}}"#);
        assert!(call(&request, given).json.starts_with(r#"{"result""#), "{request}");
    };
    ask(r#""question": "messages""#, &given);
    let once = reads();
    assert!(once > 0);
    ask(r#""question": "hover", "at": 50"#, &given);
    ask(r#""question": "tokens""#, &given);
    assert_eq!(reads(), once);
    ask(r#""question": "tokens", "runtime": "1.0.1""#, &given);
    assert_eq!(reads(), 2 * once);
    given.add("other".as_ref(), file.clone());
    ask(r#""question": "tokens", "runtime": "1.0.1""#, &given);
    assert_eq!(reads(), 3 * once);
}
