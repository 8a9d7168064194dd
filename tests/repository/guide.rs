//! docs/guide/: the `sh` blocks of a page run in sequence, as a reader runs them, in a folder of their own that has
//! `examples/` only. A `text` block directly after one is what it prints on both streams; `BLESS=1 cargo test --test
//! repository guide::` writes it.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::docs::copy;
use crate::support::{files_below, root, snapshot};

/// Pages whose commands need a runtime: the environment variable `PTE_EMIT_RUNNER` is the command of its runner
/// (docs/runners.md).
const WITH_RUNTIME: [&str; 1] = ["expected-outputs.md"];

pub fn folder() -> PathBuf {
    root().join("docs/guide")
}

/// Returns the page with what `run` returns for each `sh` block in the `text` block directly after it, and the number
/// of these.
fn with_outputs(page: &str, mut run: impl FnMut(&str) -> String) -> (String, u32) {
    let (mut updated, mut rest, mut outputs) = (String::new(), page, 0);
    while let Some((before, after)) = rest.split_once("```sh\n") {
        let (script, after) = after.split_once("```\n").expect("the block ends");
        updated += &format!("{before}```sh\n{script}```\n");
        let printed = run(script);
        rest = after;
        if let Some(after) = after.strip_prefix("\n```text\n") {
            let (_, after) = after.split_once("```\n").expect("the output ends");
            updated += &format!("\n```text\n{}\n```\n", printed.trim_end());
            (rest, outputs) = (after, outputs + 1);
        }
    }
    (updated + rest, outputs)
}

/// Runs a page, and compares its outputs.
fn follow(path: &Path) {
    let folder = tempfile::tempdir().unwrap();
    copy(&root().join("examples"), &folder.path().join("examples"));
    let binary = Path::new(env!("CARGO_BIN_EXE_pte-emit"));
    let search = format!("{}:{}", binary.parent().unwrap().display(), std::env::var("PATH").unwrap());
    let text = std::fs::read_to_string(path).unwrap();
    let (updated, outputs) = with_outputs(&text, |script| {
        let mut shell = Command::new("sh");
        shell.args(["-e", "-c", &format!("exec 2>&1\n{script}")]).current_dir(&folder);
        let output = shell.env("PATH", &search).env_remove("COLUMNS").output().unwrap();
        let printed = String::from_utf8(output.stdout).unwrap();
        assert!(output.status.success(), "{}: {script}\n{printed}", path.display());
        printed
    });
    assert!(outputs > 0, "{} shows no output", path.display());
    snapshot::update(path, &updated, "BLESS=1 cargo test --test repository guide::");
}

fn is_with_runtime(path: &Path) -> bool {
    WITH_RUNTIME.iter().any(|name| path.ends_with(name))
}

#[test]
fn every_page_runs_in_a_folder_of_its_own() {
    let pages = files_below(&folder(), &["md"]);
    let pages = pages.iter().filter(|path| !path.ends_with("README.md") && !is_with_runtime(path));
    let mut count = 0;
    for page in pages {
        follow(page);
        count += 1;
    }
    assert!(count > 5, "{count} pages");
}

#[test]
#[ignore = "needs a runner: PTE_EMIT_RUNNER"]
fn every_page_with_a_runtime_runs() {
    assert!(std::env::var_os("PTE_EMIT_RUNNER").is_some(), "PTE_EMIT_RUNNER is the command of a runner");
    for name in WITH_RUNTIME {
        follow(&folder().join(name));
    }
}

#[test]
fn only_blocks_directly_after_a_command_are_outputs() {
    let page = "a\n```sh\nls\n```\n\n```text\nold\n```\nb\n```sh\nls -a\n```\nc\n```text\nkept\n```\n";
    let (updated, outputs) = with_outputs(page, |script| format!("new {script}"));
    assert_eq!((updated, outputs), (page.replace("old", "new ls"), 1));
}
