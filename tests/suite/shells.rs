//! `completions` and `man`, and the first line of `dump`: what shells, `man` and editors read. `.ci/release` uses them
//! in the real programs.

use crate::support::folder::{Folder, RELU};

fn stdout(folder: &Folder, arguments: &[&str]) -> String {
    String::from_utf8(folder.run(arguments).exits(0).stderr_is_empty().stdout).unwrap()
}

#[test]
fn completions_name_their_command() {
    let folder = Folder::new(&[]);
    for (shell, expected) in [
        ("bash", "complete -F _pte__emit "),
        ("elvish", "set edit:completion:arg-completer[pte-emit]"),
        ("fish", "complete -c pte-emit "),
        ("powershell", "Register-ArgumentCompleter -Native -CommandName 'pte-emit'"),
        ("zsh", "#compdef pte-emit"),
    ] {
        let script = stdout(&folder, &["completions", shell]);
        assert!(script.contains(expected), "{shell}: {script}");
        assert!(!script.contains("pte__subcmd__emit"), "{shell}: names of bash have one form");
    }
    folder.run(&["completions", "tcsh"]).exits(2).stderr_contains("bash, elvish, fish, powershell, zsh");
}

/// Values that are names of something, from where the command has them.
#[test]
fn completions_have_names_of_releases_targets_errors_rules_and_operators() {
    let folder = Folder::new(&[]);
    for shell in ["bash", "zsh", "fish"] {
        let script = stdout(&folder, &["completions", shell]);
        let lines = |words: &[&str]| script.lines().any(|line| words.iter().all(|word| line.contains(word)));
        let unescaped = script.replace('\\', "");
        for words in [&["pico2", "wheel-1.5.1"][..], &["0.7.0", "1.5.1", "all"], &["segment", "pattern"]] {
            let is_listed = lines(words) || words.iter().all(|word| script.contains(&format!("\n{word}\\t")));
            assert!(is_listed, "{shell}: {words:?}");
        }
        for word in ["OperatorMissing", "0x14", "X-4", "Y-5", "aten::add.out", "xnnpack::conv2d"] {
            assert!(unescaped.contains(word), "{shell}: {word}");
        }
    }
    // A file is a target, too.
    assert!(stdout(&folder, &["completions", "zsh"]).contains("wheel-1.5.1 zephyr-hello all; _files}'"));
    let fish = stdout(&folder, &["completions", "fish"]);
    let target = fish.lines().find(|line| line.contains(" -l target ")).unwrap();
    assert!(target.contains(" -r -F "), "{target}");
}

#[test]
fn pages_are_printed_and_written() {
    let folder = Folder::new(&[]);
    let first = stdout(&folder, &["man"]);
    let check = stdout(&folder, &["man", "check"]);
    for (page, titles) in [(&first, "COMMANDS"), (&check, "EXAMPLES")] {
        for title in ["NAME\n", &format!("{titles}\n.nf\n"), "\"EXIT STATUS\"\n.nf\n"] {
            assert!(page.contains(&format!(".SH {title}")), "{title}: {page}");
        }
    }
    folder.run(&["man", "-o", "a/man1"]).exits(0).stderr_is_empty();
    let written = |name: &str| std::fs::read_to_string(folder.path().join("a/man1").join(name)).unwrap();
    assert_eq!(written("pte-emit.1"), first);
    assert_eq!(written("pte-emit-payload-list.1"), stdout(&folder, &["man", "payload", "list"]));
    assert!(folder.names().iter().all(|name| name.ends_with(".1") || !name.contains('.')), "{:?}", folder.names());
    folder.run(&["man", "payload", "lst"]).exits(2).stderr_contains("unknown command `payload lst`; `pte-emit --help`");
    folder.run(&["man", "check", "-o", "b"]).exits(2).stderr_contains("cannot be used with");
    folder.write("file", "");
    folder.run(&["man", "-o", "file"]).exits(3).stderr_contains("cannot write file: it exists and is not a folder");
}

#[test]
fn dumps_name_the_schema_unless_they_have_digests() {
    let folder = Folder::new(&[("model.yaml", RELU)]);
    folder.run(&["model.yaml", "-o", "model.pte", "-q"]).exits(0);
    let printed = stdout(&folder, &["dump", "model.pte", "--exact"]);
    assert!(printed.starts_with(pte_emit::SCHEMA_LINE), "{printed}");
    folder.run(&["dump", "model.pte", "-o", "dumped.yaml"]).exits(0);
    assert_eq!(std::fs::read_to_string(folder.path().join("dumped.yaml")).unwrap(), printed);
    let digests = stdout(&folder, &["dump", "model.pte", "--data", "hash"]);
    assert_eq!(printed.strip_prefix(pte_emit::SCHEMA_LINE), Some(&*digests));
}
