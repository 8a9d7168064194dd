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
