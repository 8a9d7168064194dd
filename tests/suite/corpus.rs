//! `generate --corpus`: the files of all malformed examples, and a manifest that says what their first lines say.

use std::collections::BTreeSet;
use std::fs;

use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use crate::support::folder::Folder;
use crate::support::malformed::{self, FirstLine, NO_RULE, RELEASES, Security};
use crate::support::sources;

#[test]
fn the_corpus_has_the_files_of_every_example() {
    let folder = Folder::new(&[]);
    folder.run(&["generate", "--corpus", "a/corpus"]).exits(0).stderr_is_empty();
    let manifest: Value = serde_json::from_slice(&folder.read("a/corpus/manifest.json")).unwrap();
    assert_eq!(manifest["executorch"], pte_emit::release::EXECUTORCH);

    let examples = manifest["examples"].as_array().unwrap();
    let mut written = vec!["manifest.json".to_owned()];
    let cases = malformed::cases();
    let names: Vec<&str> = cases.iter().map(|case| case.name()).collect();
    assert_eq!(names, examples.iter().map(|example| example["name"].as_str().unwrap()).collect::<Vec<_>>());
    for (case, example) in cases.iter().zip(examples) {
        written.extend(says_what_the_first_lines_say(case.name(), &case.input, example));
        let expected = assembled(case.name(), &case.input);
        let files = example["files"].as_array().unwrap().iter().map(|file| file.as_str().unwrap());
        let found: Vec<Vec<u8>> = files.map(|file| folder.read(&format!("a/corpus/{file}"))).collect();
        assert!(found == expected, "{}: other bytes than those of the example", case.name());
    }
    written.extend(["bpte", "pte", "ptd"].map(str::to_owned));
    written.sort();
    let names = folder.names().into_iter().filter_map(|name| Some(name.strip_prefix("a/corpus/")?.to_owned()));
    assert_eq!(names.collect::<Vec<_>>(), written);
    // Seeds for fuzzers of each format.
    let count = |extension: &str| written.iter().filter(|name| name.ends_with(extension)).count();
    let counts = [".pte", ".ptd", ".bpte"].map(count);
    assert!(counts[0] > 300 && counts[1] > 20 && counts[2] > 10, "{counts:?}");
}

/// Compares an entry of the manifest with the first lines. Returns the names of the files.
fn says_what_the_first_lines_say(name: &str, path: &std::path::Path, example: &Value) -> Vec<String> {
    let text = fs::read_to_string(path).unwrap();
    let FirstLine { rule, defect, answers } = FirstLine::read(name, &text);
    assert_eq!(example["source"], format!("examples/malformed/{}.yaml", malformed::relative(path)), "{name}");
    assert_eq!(example["defect"], defect, "{name}");
    let reported: BTreeSet<&str> =
        example["reported"].as_array().unwrap().iter().map(|rule| rule.as_str().unwrap()).collect();
    match rule.as_str() {
        NO_RULE => assert_eq!((&example["rule"], reported.len()), (&Value::Null, 0), "{name}"),
        rule => {
            assert_eq!(example["rule"], rule, "{name}");
            let severity = rule.parse::<pte_check::rules::RuleId>().unwrap().rule().severity;
            let is_note = severity == pte_check::RuleSeverity::Note;
            assert!(is_note || reported.contains(rule), "{name}: {reported:?}");
        }
    }
    let list = |answers: &str| answers.split(" or ").map(str::to_owned).collect::<Vec<String>>();
    let expected = answers.map(|[verified, unverified]| {
        let (verified, unverified) = (list(&verified), list(&unverified));
        json!({"verified": verified, "unverified": unverified})
    });
    assert_eq!(example["expected"], json!(expected), "{name}");
    let security = malformed::is_security(path).then(|| {
        let Security { ids, fixes, safe_since, affected, harm } = Security::read(name, &text);
        let affected = affected
            .into_iter()
            .map(|(release, condition, answer)| json!({"release": release, "condition": condition, "answer": answer}));
        let affected: Vec<Value> = affected.collect();
        json!({"ids": ids, "fixes": fixes, "safe_since": safe_since, "affected": affected, "harm": harm})
    });
    assert_eq!(example["security"], json!(security), "{name}");
    for (release, answer) in example["answers"].as_object().unwrap() {
        assert!(RELEASES.contains(&release.as_str()), "{name}: {release}");
        assert!(malformed::is_answer(answer.as_str().unwrap()), "{name}: {answer}");
    }
    example["files"].as_array().unwrap().iter().map(|file| file.as_str().unwrap().to_owned()).collect()
}

/// The files of an example in the repository, in the order of the manifest.
fn assembled(name: &str, path: &std::path::Path) -> Vec<Vec<u8>> {
    let text = fs::read_to_string(path).unwrap();
    let assembly = sources::assembly(name, &text, path.parent().unwrap());
    let data = assembly.data_files().map(|(_, file)| file.to_vec().unwrap());
    let first = match FirstLine::read(name, &text).answers {
        None => Some(assembly.bundled().unwrap().to_vec().unwrap()),
        Some(_) => assembly.program_file().map(|file| file.to_vec().unwrap()),
    };
    first.into_iter().chain(data).collect()
}

#[test]
fn existing_files_are_not_overwritten() {
    let folder = Folder::new(&[("corpus/ptd/other.ptd", "seed"), ("corpus/pte/jump_to_itself.pte", "mine")]);
    let before = folder.names();
    let done = folder.run(&["generate", "--corpus", "corpus"]).exits(2);
    done.stderr_contains("jump_to_itself.pte exists and would be lost");
    assert_eq!(folder.names(), before);
    fs::remove_file(folder.path().join("corpus/pte/jump_to_itself.pte")).unwrap();
    folder.run(&["generate", "--corpus", "corpus"]).exits(0).stderr_is_empty();
    assert_eq!(folder.read("corpus/ptd/other.ptd"), b"seed");
    let done = Folder::new(&[("corpus", "a file")]).run(&["generate", "--corpus", "corpus"]).exits(3);
    done.stderr_contains("cannot create folder corpus: ");
}

#[test]
fn random_programs_are_no_part_of_a_corpus() {
    let folder = Folder::new(&[]);
    for option in ["--seed=1", "--count=1", "--operators=add", "--instructions=1", "--wild", "--to=pte", "-o=out"] {
        let done = folder.run(&["generate", "--corpus", "corpus", option]).exits(2);
        done.stderr_contains("'--corpus <DIR>'");
    }
    folder.run(&["generate"]).exits(2).stderr_contains("--output <PATH>");
    assert_eq!(folder.names(), [""; 0]);
}
