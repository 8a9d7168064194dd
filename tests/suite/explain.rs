//! `explain`: errors, rules and codes by number and name, and what is unknown.

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
    for name in ["20", "0X14", "operatormissing", "Error::OperatorMissing"] {
        assert_eq!(explained(&[name]), text);
    }
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
    for name in ["0x99", "ZZ-1", "OperatorMising", "", "-"] {
        folder.run(&["explain", name]).exits(2).stderr_contains("unknown code or rule");
    }
    folder.run(&["explain", "OperatorMising"]).exits(2).stderr_contains("did you mean `OperatorMissing`?");
    folder.run(&["explain", &"x".repeat(100_000)]).exits(2);
}
