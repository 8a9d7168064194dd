//! Process of a runner: lines to its standard input and from its standard output, within limits. Knows nothing of the
//! protocol.
//!
//! Threads write its standard input and read both outputs, so that a runner that reads or writes nothing, or too much,
//! does not block the caller. They hold a line and the end of the log. The process is in a group of its own, which is
//! killed when it is dropped.

use std::io::{self, BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender, SyncSender};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use pte_model::data::workers::lock;

use crate::command::RunnerCommand;
use crate::error::{RunError, RunErrorKind};
use crate::log::Tail;

/// Stops runs from another thread, for example after Ctrl-C. Clones are the same flag.
///
/// ```
/// use pte_run::StopFlag;
///
/// let stop = StopFlag::default();
/// stop.clone().set();
/// assert!(stop.is_set());
/// ```
#[derive(Debug, Clone, Default)]
pub struct StopFlag(Arc<AtomicBool>);

impl StopFlag {
    /// Ends the runs that have this flag, and prevents others.
    pub fn set(&self) {
        self.0.store(true, Ordering::Release);
    }

    /// Returns true after [`StopFlag::set`].
    pub fn is_set(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }
}

/// A flag that is also used otherwise.
impl From<Arc<AtomicBool>> for StopFlag {
    fn from(flag: Arc<AtomicBool>) -> StopFlag {
        StopFlag(flag)
    }
}

/// Limits of a runner process.
///
/// ```
/// use pte_run::RunLimits;
///
/// let limits = RunLimits::default();
/// assert_eq!((limits.time.as_secs(), limits.output), (60, 64 << 20));
/// ```
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct RunLimits {
    /// Time from the start of the process, or of its next test, to its last answer; a minute.
    pub time: Duration,
    /// Bytes on its standard output; 64 MiB. A byte of a tensor is two of an answer.
    pub output: u64,
    /// Ends it early.
    pub stop: StopFlag,
}

impl Default for RunLimits {
    fn default() -> RunLimits {
        RunLimits { time: Duration::from_secs(60), output: 64 << 20, stop: StopFlag::default() }
    }
}

/// Longest time between two looks at the flag and the clock.
const TICK: Duration = Duration::from_millis(20);

/// Time that a process has to end, and its log to arrive, after its outputs are closed.
const GRACE: Duration = Duration::from_secs(2);

/// Bytes that a process wrote to its standard output.
enum Line {
    /// A line without its end. Bytes that are not UTF-8 are replaced.
    Complete(String),
    /// More than the limit.
    TooMuch,
}

/// A running process.
pub struct Process {
    child: Child,
    /// `None` after its end was closed.
    input: Option<Sender<Vec<u8>>>,
    lines: Receiver<Line>,
    log: Arc<Mutex<Tail>>,
    /// Disconnected when the log is complete.
    log_end: Receiver<()>,
    start: Instant,
    limits: RunLimits,
}

impl Process {
    /// Starts a command with these arguments after its own.
    ///
    /// # Errors
    /// A program that cannot be started.
    pub fn start(command: &RunnerCommand, arguments: &[PathBuf], limits: &RunLimits) -> io::Result<Process> {
        let mut process = Command::new(command.program());
        process.args(command.arguments()).args(arguments);
        process.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        // An interrupt at the terminal is for the caller, and all processes of the runner are killed together.
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut process, 0);
        let start = Instant::now();
        let mut child = process.spawn()?;
        let missing = || io::Error::other("no pipe to the process");
        let stdin = child.stdin.take().ok_or_else(missing)?;
        let stdout = child.stdout.take().ok_or_else(missing)?;
        let stderr = child.stderr.take().ok_or_else(missing)?;
        let (input, to_write) = mpsc::channel();
        // A runner that prints faster than its answers are read waits.
        let (to_read, lines) = mpsc::sync_channel(16);
        let (ended, log_end) = mpsc::channel::<()>();
        let log = Arc::new(Mutex::new(Tail::default()));
        let (kept, limit) = (log.clone(), limits.output);
        thread::spawn(move || write_all(stdin, &to_write));
        thread::spawn(move || read_lines(stdout, limit, &to_read));
        thread::spawn(move || {
            Tail::follow(stderr, |bytes| lock(&kept).push(bytes));
            drop(ended);
        });
        Ok(Process { child, input: Some(input), lines, log, log_end, start, limits: limits.clone() })
    }

    /// Begins the time limit again.
    pub fn renew(&mut self) {
        self.start = Instant::now();
    }

    /// Sends bytes to the standard input. Whether they are read is not known: a process that has ended is an error of
    /// the next line.
    pub fn send(&mut self, bytes: Vec<u8>) {
        if let Some(input) = &self.input {
            let _ = input.send(bytes);
        }
    }

    /// Closes the standard input, once everything that was sent is written.
    pub fn close_input(&mut self) {
        self.input = None;
    }

    /// Returns the next line of the standard output; `None` at its end.
    ///
    /// # Errors
    /// A limit is exceeded, or the flag is set: the process is killed. `step` is in the error.
    pub fn line(&mut self, step: &str) -> Result<Option<String>, RunError> {
        loop {
            if self.limits.stop.is_set() {
                return Err(self.killed(RunErrorKind::Stopped, step));
            }
            let left = self.limits.time.saturating_sub(self.start.elapsed());
            match self.lines.recv_timeout(TICK.min(left)) {
                Ok(Line::Complete(line)) => return Ok(Some(line)),
                Ok(Line::TooMuch) => {
                    return Err(self.killed(RunErrorKind::TooMuchOutput(self.limits.output), step));
                }
                Err(RecvTimeoutError::Disconnected) => return Ok(None),
                Err(RecvTimeoutError::Timeout) if left.is_zero() => {
                    return Err(self.killed(RunErrorKind::Timeout(self.limits.time), step));
                }
                Err(RecvTimeoutError::Timeout) => {}
            }
        }
    }

    /// Waits for the end of the process, which has closed its standard output. One that does not end is killed.
    ///
    /// # Errors
    /// The process does not end in time, or cannot be waited for.
    pub fn end(&mut self, step: &str) -> Result<ExitStatus, RunError> {
        self.end_within(GRACE, step)
    }

    /// Waits like [`Process::end`], but as long as all of the run may take: a runtime may need seconds to end.
    ///
    /// # Errors
    /// Those of [`Process::end`].
    pub fn end_in_time(&mut self, step: &str) -> Result<ExitStatus, RunError> {
        let left = self.limits.time.saturating_sub(self.start.elapsed());
        self.end_within(left.max(GRACE), step)
    }

    fn end_within(&mut self, time: Duration, step: &str) -> Result<ExitStatus, RunError> {
        self.close_input();
        let start = Instant::now();
        loop {
            match self.child.try_wait() {
                Ok(Some(status)) => return Ok(status),
                Err(error) => return Err(self.killed(RunErrorKind::Io(error.to_string()), step)),
                Ok(None) if start.elapsed() < time && !self.limits.stop.is_set() => {
                    thread::sleep(Duration::from_millis(1));
                }
                Ok(None) => return Err(self.killed(RunErrorKind::Timeout(self.limits.time), step)),
            }
        }
    }

    /// Kills the processes that are left, and returns an error with the log.
    pub fn killed(&mut self, kind: RunErrorKind, step: &str) -> RunError {
        self.kill();
        let _ = self.log_end.recv_timeout(GRACE);
        RunError { kind, step: step.to_owned(), log: lock(&self.log).lines() }
    }

    fn kill(&mut self) {
        // The system does not reuse the number of the group as long as it has processes, or its first one is not waited
        // for.
        #[cfg(unix)]
        if let Ok(id) = i32::try_from(self.child.id()) {
            use nix::sys::signal::{Signal, killpg};
            let _ = killpg(nix::unistd::Pid::from_raw(id), Signal::SIGKILL);
        }
        // Both fail for a process that has ended and was waited for.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Ends the process and those that it has started.
impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Writes the lines that are sent; ends when the sender is dropped, or the process reads no more.
fn write_all(mut stdin: ChildStdin, blocks: &Receiver<Vec<u8>>) {
    while let Ok(block) = blocks.recv() {
        if stdin.write_all(&block).is_err() {
            return;
        }
    }
}

/// Sends the complete lines of a stream, up to a number of bytes in total.
fn read_lines(stdout: ChildStdout, limit: u64, lines: &SyncSender<Line>) {
    let mut stdout = io::Read::take(BufReader::with_capacity(64 << 10, stdout), limit.saturating_add(1));
    loop {
        let mut line = Vec::new();
        let is_read = stdout.read_until(b'\n', &mut line).is_ok_and(|count| count > 0);
        if stdout.limit() == 0 {
            let _ = lines.send(Line::TooMuch);
            return;
        }
        if !is_read || line.pop() != Some(b'\n') {
            return;
        }
        if line.last() == Some(&b'\r') {
            line.pop();
        }
        let line =
            String::from_utf8(line).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned());
        if lines.send(Line::Complete(line)).is_err() {
            return;
        }
    }
}
