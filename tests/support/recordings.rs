//! What the real runtime recorded of examples (crates/pte-etdump/tests/recorded), and runs of commands that read it.

use std::path::PathBuf;

use serde_json::Value;

use crate::folder::{Done, Folder};
use crate::root;

/// Path of a recording.
pub fn recorded(name: &str) -> PathBuf {
    root().join("crates/pte-etdump/tests/recorded").join(format!("{name}.etdump"))
}

pub fn example(name: &str) -> PathBuf {
    root().join("examples").join(format!("{name}.yaml"))
}

pub fn run_profile(program: &str, recordings: &[&str], options: &[&str]) -> Done {
    let paths: Vec<String> = recordings.iter().map(|name| recorded(name).display().to_string()).collect();
    let (program, paths) = (example(program).display().to_string(), paths.iter().map(String::as_str));
    let arguments: Vec<&str> = ["profile", &program].into_iter().chain(paths).chain(options.iter().copied()).collect();
    Folder::new(&[]).run(&arguments)
}

/// Answers for linear.yaml. `$kind` says what is wrong of program `b.pte`.
pub const RUNNER: &str = r#"
kind=$1; shift
test "$1 $3" = "--etdump --debug-buffer" || { echo "unknown option $1" >&2; exit 2; }
events=$2; values=$4; name=$(basename $5)
test $name = b.pte || kind=none
output=60f1b63e00000000346c0a3e
sizes=1,3
case $kind in
  output) output=60f1b63e0000c07f346c0a40;;
  shape) output=60f1b63e; sizes=1,1;;
esac
echo program ok
while read command rest; do
  case $command in
    load) test $kind = crash && kill -SEGV $$; echo load ok;;
    input) echo input ok;;
    execute) test $kind = hang && sleep 60; echo execute ok;;
    outputs) echo outputs 1; echo output 0 tensor 6 $sizes 0,1 $output;;
  esac
done
case $kind in
  unrecorded) ;;
  program) cp RECORDED/loop.etdump $events; cp RECORDED/loop.values $values;;
  garbage) echo garbage > $events; cp RECORDED/linear.values $values;;
  cut) cp RECORDED/linear.etdump $events; head -c 20 RECORDED/linear.values > $values;;
  empty) : > $events; : > $values;;
  value) cp RECORDED/linear.etdump $events; { head -c 52 RECORDED/linear.values; printf '\0\0\300\177'; tail -c +57 RECORDED/linear.values; } > $values;;
  *) cp RECORDED/linear.etdump $events; cp RECORDED/linear.values $values;;
esac
"#;

/// Compares two files of linear.yaml, the second one with a defect of the runner.
pub fn compare(kind: &str, options: &[&str]) -> Done {
    let recorded = root().join("crates/pte-etdump/tests/recorded");
    let folder = Folder::new(&[("runner.sh", &RUNNER.replace("RECORDED", recorded.to_str().unwrap()))]);
    let linear = root().join("examples/linear.yaml");
    for name in ["a.pte", "b.pte"] {
        folder.run(&[linear.to_str().unwrap(), "-q", "-o", name]).exits(0);
    }
    let runner = format!("sh runner.sh {kind}");
    folder.run(&[&["diff", "--numeric", "a.pte", "b.pte", "--runner", &runner], options].concat())
}

pub fn json(done: &Done) -> Value {
    serde_json::from_slice(&done.stdout).unwrap()
}
