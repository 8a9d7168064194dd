//! Adapters in one process (ignored: it downloads the runtime): instances of programs whose XNNPACK delegate takes base
//! weights and adapters from `.ptd` files, with the cache of packed weights off and on. `lab/conformance/adapters.cpp`
//! loads, executes and destroys them; docs/edit.md says what follows.

use std::fs;
use std::io::Write as _;
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::{Command, Stdio};

use pretty_assertions::assert_eq;
use pte_emit::{AssembleOptions, Model};
use tempfile::TempDir;

use crate::support::runner;

/// Number of inputs and outputs.
const SIZE: usize = 512;
/// Bytes of the base weights.
const BASE: usize = SIZE * SIZE * 4;
/// Bytes of an adapter of rank 64.
const ADAPTER: usize = 2 * 64 * SIZE * 4;
/// Outputs for inputs that are all 1: the base weights are 1, those of adapter A are 1 and those of B are 2.
const A: &str = "ok 33280 33280 33280 33280";
const B: &str = "ok 131584 131584 131584 131584";
/// The adapter with weights of 1 and rank 128.
const RANK: &str = "ok 66048 66048 66048 66048";

/// Writes `NAME.pte`, `NAME.ptd` with the adapter, and `base.ptd`. The program does not depend on `value`, with which
/// the weights of the adapter are filled; their keys begin with `prefix`.
fn write(folder: &Path, name: &str, prefix: &str, rank: usize, value: i32) {
    let elements = rank * SIZE;
    let yaml = format!(
        "methods:
  forward:
    values:
      x: &t {{tensor: float32, sizes: [1, {SIZE}]}}
      y: *t
    delegates:
      part:
        backend: XnnpackBackend
        graph:
          values:
            x: {{datatype: fp32, sizes: [1, {SIZE}]}}
            base: {{datatype: fp32, sizes: [{SIZE}, {SIZE}], key: base}}
            a: {{datatype: fp32, sizes: [{rank}, {SIZE}], key: {prefix}.a}}
            b: {{datatype: fp32, sizes: [{SIZE}, {rank}], key: {prefix}.b}}
          inputs: [x]
          outputs: [y]
          nodes:
            - {{fully_connected: {{input: x, filter: base, output: plain}}}}
            - {{fully_connected: {{input: x, filter: a, output: down}}}}
            - {{fully_connected: {{input: down, filter: b, output: up}}}}
            - {{add: {{input1: plain, input2: up, output: y}}}}
    inputs: [x]
    outputs: [y]
    instructions:
      - {{delegate: part, args: [x, y]}}
named_data:
  base: {{external: base, data: {{fill: 1, size: {}, dtype: float32}}}}
  {prefix}.a: {{external: {name}, data: {{fill: {value}, size: {elements}, dtype: float32}}}}
  {prefix}.b: {{external: {name}, data: {{fill: {value}, size: {elements}, dtype: float32}}}}
",
        SIZE * SIZE
    );
    let model = Model::from_yaml(name, yaml, ".");
    let assembly = model.assemble(&AssembleOptions::default()).unwrap_or_else(|error| panic!("{name}: {error}"));
    let program = assembly.program_file().unwrap().to_vec().unwrap();
    fs::write(folder.join(format!("{name}.pte")), program).unwrap();
    for (tag, content) in assembly.data_files() {
        fs::write(folder.join(format!("{}.ptd", tag.unwrap())), content.to_vec().unwrap()).unwrap();
    }
}

/// Programs and adapters: `a` and `b` have the same program and keys, `own` has the weights of `b` with other keys,
/// `rank` those of `a` with the same keys and another rank.
fn files() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "a", "lora", 64, 1);
    write(folder.path(), "b", "lora", 64, 2);
    write(folder.path(), "own", "other", 64, 2);
    write(folder.path(), "rank", "lora", 128, 1);
    let read = |name: &str| fs::read(folder.path().join(name)).unwrap();
    assert_eq!(read("a.pte"), read("b.pte"));
    folder
}

/// Result of a process: the answers, and the signal that ended it.
struct Ended {
    answers: Vec<String>,
    signal: Option<i32>,
}

impl Ended {
    /// Bytes of the heap that the commands `heap` printed.
    fn heap(&self) -> Vec<usize> {
        self.answers.iter().filter_map(|answer| answer.parse().ok()).collect()
    }

    /// Answers of the commands `run`.
    fn outputs(&self) -> Vec<&str> {
        self.answers.iter().filter(|answer| answer.starts_with("ok ")).map(String::as_str).collect()
    }
}

/// Runs a script in a process of its own. `load NAME` stands for loading `NAME.pte` with `base.ptd` and `NAME.ptd`.
fn process(folder: &Path, script: &str) -> Ended {
    let mut child = Command::new(runner::locate().with_file_name("adapters"))
        .current_dir(folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut lines = String::new();
    for line in script.lines().map(str::trim) {
        match *line.split(' ').collect::<Vec<_>>() {
            ["load", id, name, ref options @ ..] => {
                lines += &format!("load {id} {name}.pte base.ptd {name}.ptd {}\n", options.join(" "));
            }
            ["run", id] => lines += &format!("run {id} 1\n"),
            _ => lines += &format!("{line}\n"),
        }
    }
    // A process that crashes reads no more.
    let _ = child.stdin.take().unwrap().write_all(lines.as_bytes());
    let output = child.wait_with_output().unwrap();
    let answers: Vec<String> = String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect();
    assert!(!answers.iter().any(|answer| answer.starts_with("not a command")), "{answers:?}");
    assert!(!answers.iter().any(|answer| answer.starts_with("error")), "{answers:?}");
    Ended { answers, signal: output.status.signal() }
}

/// Asserts that a process ends, and returns it.
fn completed(folder: &Path, script: &str) -> Ended {
    let ended = process(folder, script);
    assert_eq!(ended.signal, None, "{:?}", ended.answers);
    ended
}

/// The libraries of the package have the cache, which is off until an option turns it on.
#[test]
#[ignore = "downloads the ExecuTorch runtime"]
fn the_cache_is_off_by_default() {
    let folder = tempfile::tempdir().unwrap();
    let ended = completed(folder.path(), "cache default\ncache on\ncache default\ncache off");
    assert_eq!(ended.answers, ["off", "on", "on", "off"]);
}

#[test]
#[ignore = "downloads the ExecuTorch runtime"]
fn without_the_cache_every_instance_has_its_adapter() {
    let folder = files();
    let script =
        "load a a\nrun a\nload b b\nrun b\nrun a\nload r rank\nrun r\ndestroy a\nrun b\nload a a\nrun a\nrun r";
    assert_eq!(completed(folder.path(), script).outputs(), [A, B, A, RANK, B, A, RANK]);
}

/// The instance that is loaded first decides, whichever adapter it has.
#[test]
#[ignore = "downloads the ExecuTorch runtime"]
fn the_cache_gives_a_second_adapter_with_the_same_keys_the_weights_of_the_first() {
    let folder = files();
    let script = "cache on\nload a a\nrun a\nload b b\nrun b\nrun a\ndestroy a\nrun b\nload c b\nrun c";
    assert_eq!(completed(folder.path(), script).outputs(), [A, A, A, A, A]);
    let script = "cache on\nload b b\nload a a\nrun a\nrun b";
    assert_eq!(completed(folder.path(), script).outputs(), [B, B]);
    // Once no instance uses the keys, their packed weights are freed.
    let script = "cache on\nload a a\nrun a\ndestroy a\nload b b\nrun b";
    assert_eq!(completed(folder.path(), script).outputs(), [A, B]);
}

/// Options of a single load, keys of its own, or a file of packed weights of its own.
#[test]
#[ignore = "downloads the ExecuTorch runtime"]
fn adapters_that_the_cache_separates() {
    let folder = files();
    for script in [
        "load a a cache=on\nload b b cache=off\nrun b\nrun a\nrun b",
        "cache on\nload a a\nload b b cache=off\nrun b\nrun a\nrun b",
        "cache on\nload a a\nload b own\nrun b\nrun a\nrun b",
        "cache on\nload a a path=packed.a\nload b b path=packed.b\nrun b\nrun a\nrun b",
    ] {
        assert_eq!(completed(folder.path(), script).outputs(), [B, A, B], "{script}");
    }
    let script = "cache on\nload a a\nload b own\nrun b\ndestroy a\nrun b";
    assert_eq!(completed(folder.path(), script).outputs(), [B, B]);
}

/// A file of packed weights keeps those of the first adapter, also for later processes.
#[test]
#[ignore = "downloads the ExecuTorch runtime"]
fn a_file_of_packed_weights_keeps_the_first_adapter() {
    let folder = files();
    let script = "load a a cache=on path=packed\nrun a\ndestroy a\nload b b cache=on path=packed\nrun b";
    assert_eq!(completed(folder.path(), script).outputs(), [A, A]);
    let script = "load b b cache=on path=packed\nrun b";
    assert_eq!(completed(folder.path(), script).outputs(), [A]);
    let script = "load b own cache=on path=packed\nrun b";
    assert_eq!(completed(folder.path(), script).outputs(), [B]);
}

/// With another rank, weights of the same key are packed again and replace the entry in the cache. The packed weights
/// of the instance that is left are freed with the first instance.
#[test]
#[ignore = "downloads the ExecuTorch runtime"]
fn the_cache_frees_weights_in_use_if_a_key_has_other_sizes() {
    let folder = files();
    let before = "cache on\nload a a\nload r rank\nrun r\nrun a";
    assert_eq!(completed(folder.path(), before).outputs(), [RANK, A]);
    let ended = process(folder.path(), &format!("{before}\ndestroy a\nrun r"));
    assert!(ended.signal.is_some() || ended.outputs() != [RANK, A, RANK], "{:?}", ended.answers);
    // In the other order, too.
    let before = "cache on\nload r rank\nload a a\nrun r\nrun a";
    assert_eq!(completed(folder.path(), before).outputs(), [RANK, A]);
    let ended = process(folder.path(), &format!("{before}\ndestroy r\nrun a"));
    assert!(ended.signal.is_some() || ended.outputs() != [RANK, A, A], "{:?}", ended.answers);
}

/// Bytes of the heap that a second instance takes.
#[test]
#[ignore = "downloads the ExecuTorch runtime"]
fn the_cache_shares_base_weights_of_several_programs() {
    let folder = files();
    let second = |first: &str, second: &str| {
        let script = format!("{first}\nload a a\nrun a\nheap\nload b {second}\nrun b\nheap");
        let heap = completed(folder.path(), &script).heap();
        heap[1] - heap[0]
    };
    let [apart, shared, same] = [second("cache off", "b"), second("cache on", "own"), second("cache on", "b")];
    println!("second instance: {apart} bytes without the cache, {shared} with it, {same} with the same keys");
    // What an instance takes in addition to weights: its memory for the method, and XNNPACK's structures.
    let others = 100 << 10;
    assert!((BASE + ADAPTER..BASE + ADAPTER + others).contains(&apart), "{apart}");
    assert!((ADAPTER..ADAPTER + others).contains(&shared), "{shared}");
    assert!(same < others, "{same}");
}
