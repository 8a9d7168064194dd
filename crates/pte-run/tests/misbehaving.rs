//! Runners that crash, hang, print too much or answer otherwise: each call ends with an error that says so.
#![cfg(unix)]

use std::time::{Duration, Instant};

use pte_run::{OutputValue, RunError, RunErrorKind, RunLimits, RunnerCommand, Session, StopFlag};

/// Runs a method in a runner that is a shell script after the answer to `load`.
fn run(script: &str, limits: &RunLimits) -> Result<Vec<OutputValue>, RunError> {
    let script = format!("echo program ok; read line; echo load ok; {script}");
    let mut session = Session::start(&shell(&script), "model.pte".as_ref(), &[], limits)?;
    session.load("forward")?;
    session.run(&[])
}

fn shell(script: &str) -> RunnerCommand {
    RunnerCommand::new("sh").with_arguments(["-c", script])
}

fn limits() -> RunLimits {
    let mut limits = RunLimits::default();
    (limits.time, limits.output) = (Duration::from_secs(20), 1 << 20);
    limits
}

fn failure(script: &str) -> String {
    let error = run(script, &limits()).unwrap_err();
    format!("{}: {error}", error.kind.name())
}

#[test]
fn crashes_and_early_ends_are_errors_with_the_log() {
    let error = run("echo one >&2; echo two >&2; kill -SEGV $$", &limits()).unwrap_err();
    assert_eq!(error.kind, RunErrorKind::Signal(11, Some("SIGSEGV")));
    assert_eq!(error.log, ["one", "two"]);
    assert_eq!(error.to_string(), "signal 11 (SIGSEGV) ended the runner during `execute`");
    assert_eq!(
        failure("read line; echo execute ok; exit 0"),
        "ended: the runner ended with status 0 during `outputs`; expected an answer"
    );
    // A line without its end is not an answer.
    let cut = failure("printf 'execute ok'; exit 3");
    assert_eq!(cut, "ended: the runner ended with status 3 during `execute`; expected an answer");
}

#[test]
fn a_runner_that_does_not_start_is_an_error() {
    let runner = RunnerCommand::parse("./no-such-runner -x").unwrap();
    let error = Session::start(&runner, "model.pte".as_ref(), &[], &limits()).err().unwrap();
    assert_eq!(error.kind.name(), "not-started");
    assert!(error.to_string().starts_with("the runner cannot be started: ./no-such-runner -x: "), "{error}");
}

#[test]
fn a_runner_that_hangs_is_killed_with_what_it_started() {
    let folder = tempfile::tempdir().unwrap();
    let left = folder.path().join("left");
    let mut limits = limits();
    limits.time = Duration::from_millis(300);
    let start = Instant::now();
    let error = run(&format!("(sleep 1; echo > '{}') & sleep 60", left.display()), &limits).unwrap_err();
    assert!(start.elapsed() < Duration::from_secs(10), "{:?}", start.elapsed());
    assert_eq!(error.to_string(), "no answer to `execute` within 0.3 seconds of the start; the runner was killed");
    std::thread::sleep(Duration::from_millis(1200));
    assert!(!left.exists());
}

#[test]
fn endless_output_is_killed() {
    let expected = "too-much-output: the runner wrote more than 1048576 bytes during `execute`, and was killed";
    // Without line ends, and in lines that are answers.
    assert_eq!(failure("exec cat /dev/zero"), expected);
    let lines = failure("read line; echo execute ok; echo outputs 99999999999; exec yes 'output 0 none'");
    assert!(lines.starts_with("malformed-answer: malformed answer to `outputs`: expected `output 1 VALUE`"), "{lines}");
    // The log is not an answer; it is bounded by the time only.
    let mut limits = limits();
    limits.time = Duration::from_millis(300);
    let error = run("exec yes >&2", &limits).unwrap_err();
    assert_eq!(error.kind.name(), "timeout");
    assert_eq!(error.log.last().map(String::as_str), Some("y"));
}

#[test]
fn other_answers_are_malformed() {
    for (script, expected) in [
        (
            "echo hello",
            "malformed answer to `execute`: expected `execute ok` or `execute error 0xNN NAME`, found `hello`",
        ),
        ("echo execute error 0x12 InvalidArgument", "`execute` fails with 0x12 InvalidArgument"),
        ("echo execute error 12", "expected `execute ok` or `execute error 0xNN NAME`, found `execute error 12`"),
        (
            "echo execute ok; echo outputs -1",
            "expected `outputs COUNT` or `outputs error 0xNN NAME`, found `outputs -1`",
        ),
        ("echo execute ok; echo outputs error 0x02 InvalidState", "`outputs` fails with 0x02 InvalidState"),
        (
            "echo execute ok; echo outputs 1; echo output 0 tensor 6 2 0 00",
            "expected `output 0 VALUE`, with the bytes that its sizes state",
        ),
        ("echo execute ok; echo outputs 1; echo output 1 none", "expected `output 0 VALUE`"),
    ] {
        let found = failure(script);
        assert!(found.contains(expected), "{script}: {found}");
    }
    // Bytes that are not UTF-8 are an answer like others.
    assert!(failure(r"printf '\377\n'").contains("found `\u{fffd}`"));
}

#[test]
fn a_runner_that_reads_nothing_blocks_nobody() {
    let input = pte_run::pte_model::program::test_cases::TestData::String("x".repeat(4 << 20));
    let mut limits = limits();
    limits.time = Duration::from_millis(500);
    let runner = shell("echo program ok; echo load ok; exec sleep 60");
    let mut session = Session::start(&runner, "model.pte".as_ref(), &[], &limits).unwrap();
    session.load("forward").unwrap();
    assert_eq!(session.run(&[input]).unwrap_err().kind.name(), "timeout");
}

#[test]
fn a_flag_stops_a_run() {
    let mut limits = limits();
    limits.stop = StopFlag::default();
    let stop = limits.stop.clone();
    let start = Instant::now();
    std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(200));
        stop.set();
    });
    assert_eq!(run("sleep 60", &limits).unwrap_err().kind, RunErrorKind::Stopped);
    assert!(start.elapsed() < Duration::from_secs(10), "{:?}", start.elapsed());
}

#[test]
fn the_end_of_a_runner_is_awaited() {
    let finish = |script: &str| {
        let session = Session::start(&shell(script), "model.pte".as_ref(), &[], &limits()).unwrap();
        session.finish().map_err(|error| error.kind.name())
    };
    assert_eq!(finish("echo program ok; cat; exit 0"), Ok(()));
    assert_eq!(finish("echo program ok; cat; exit 1"), Err("ended"));
    assert_eq!(finish("echo program ok; cat; echo more"), Err("malformed-answer"));
}

#[test]
fn the_files_of_a_run_follow_the_command() {
    let runner = shell("echo \"program ok\"; read line; echo \"load error 0x01 $0:$*\"");
    let files = ["a b.ptd".into(), "c.ptd".into()];
    let mut session = Session::start(&runner, "m.pte".as_ref(), &files, &limits()).unwrap();
    let error = session.load("forward").unwrap_err();
    assert_eq!(error.kind, RunErrorKind::Rejected("0x01 m.pte:--data a b.ptd --data c.ptd".to_owned()));
}
