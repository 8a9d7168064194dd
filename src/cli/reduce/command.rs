//! Runs the command of `--test`, in a process group of its own, with a time limit.
//!
//! Knows nothing of candidates but their paths.

use crate::cli::interrupt;
use std::fmt;
use std::io;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// Part of a command that the path of the candidate replaces.
pub const PLACEHOLDER: &str = "{}";

/// Outcome of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// Exit status as in `$?` of a shell: 128 plus the number of a signal that ended the process. A shell reports the
    /// end of its last command by either.
    Status(i32),
    /// Not within the time limit.
    Timeout,
}

impl Outcome {
    /// Parses the value of `--expect`.
    ///
    /// # Errors
    /// A message with the expected form.
    pub fn parse(text: &str) -> Result<Outcome, String> {
        match text.parse::<u8>() {
            Ok(status) => Ok(Outcome::Status(status.into())),
            Err(_) if text == "timeout" => Ok(Outcome::Timeout),
            Err(_) => Err("expected an exit status from 0 to 255, or timeout".into()),
        }
    }

    fn of(status: ExitStatus) -> Outcome {
        #[cfg(unix)]
        if let Some(signal) = std::os::unix::process::ExitStatusExt::signal(&status) {
            return Outcome::Status(signal.saturating_add(128));
        }
        Outcome::Status(status.code().unwrap_or(-1))
    }

    /// Returns true for the statuses by which a shell reports that it cannot start a command.
    pub fn is_not_run(self) -> bool {
        matches!(self, Outcome::Status(126 | 127))
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Outcome::Status(status @ 129..=192) => {
                write!(f, "exits with status {status} (signal {})", status - 128)
            }
            Outcome::Status(status) => write!(f, "exits with status {status}"),
            Outcome::Timeout => f.write_str("exceeds the time limit"),
        }
    }
}

/// Runs a command with a candidate. `None` if interrupted.
///
/// # Errors
/// A shell that cannot be started.
pub fn run(command: &str, candidate: &Path, limit: Duration) -> io::Result<Option<Outcome>> {
    let (shell, option) = if cfg!(windows) { ("cmd", "/C") } else { ("sh", "-c") };
    let line = command.replace(PLACEHOLDER, &quoted(&candidate.display().to_string()));
    let mut command = Command::new(shell);
    command.arg(option).arg(line).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    // An interrupt at the terminal must end the command after its outcome is ignored, not before.
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    let mut child = command.spawn()?;
    let start = Instant::now();
    let mut pause = Duration::from_micros(200);
    loop {
        if let Some(status) = child.try_wait()? {
            // The next candidate has the same path, which processes in the background could read or remove.
            kill_group(&child);
            return Ok(Some(Outcome::of(status)));
        }
        let is_late = start.elapsed() >= limit;
        if is_late || interrupt::is_requested() {
            kill(&mut child);
            child.wait()?;
            return Ok(is_late.then_some(Outcome::Timeout));
        }
        thread::sleep(pause.min(limit.saturating_sub(start.elapsed())));
        pause = (pause * 2).min(Duration::from_millis(10));
    }
}

/// Ends a command that runs, and the processes that it has started.
fn kill(child: &mut Child) {
    match cfg!(unix) {
        true => kill_group(child),
        false => _ = child.kill(),
    }
}

/// Ends the processes of the group of a command. The system does not reuse the id of the group as long as it has
/// processes, and hardly right after.
fn kill_group(child: &Child) {
    #[cfg(unix)]
    if let Ok(id) = i32::try_from(child.id()) {
        use nix::sys::signal::{Signal, killpg};
        // There may be none left.
        let _ = killpg(nix::unistd::Pid::from_raw(id), Signal::SIGKILL);
    }
    #[cfg(not(unix))]
    let _ = child;
}

/// Quotes a path for the shell, if it has characters that the shell interprets.
fn quoted(path: &str) -> String {
    let is_safe = |c: char| c.is_ascii_alphanumeric() || "/._-+:@%,\\".contains(c);
    match path.chars().all(is_safe) || cfg!(windows) {
        true => path.to_owned(),
        false => format!("'{}'", path.replace('\'', r"'\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(command: &str, path: &str) -> Option<Outcome> {
        run(command, Path::new(path), Duration::from_millis(500)).unwrap()
    }

    #[test]
    fn exit_statuses_signals_and_timeouts_are_distinguished() {
        assert_eq!(outcome("exit 3", ""), Some(Outcome::Status(3)));
        assert_eq!(outcome("kill -SEGV $$", ""), Some(Outcome::Status(139)));
        assert_eq!(outcome("sh -c 'kill -SEGV $$'; exit $?", ""), Some(Outcome::Status(139)));
        assert_eq!(outcome("sleep 60 & wait", ""), Some(Outcome::Timeout));
        assert!(outcome("./no-such-command", "").is_some_and(Outcome::is_not_run));
    }

    #[cfg(unix)]
    #[test]
    fn no_process_of_a_command_survives_it() {
        let folder = tempfile::tempdir().unwrap();
        let left = folder.path().join("left");
        assert_eq!(outcome("{ sleep 0.3; echo > {}; } & exit 3", left.to_str().unwrap()), Some(Outcome::Status(3)));
        thread::sleep(Duration::from_millis(600));
        assert!(!left.exists());
    }

    #[test]
    fn a_path_is_one_word() {
        for path in ["a/b.pte", "a b'c$(d).pte", "é;.pte"] {
            assert_eq!(
                outcome("for word in {}; do printf '%s\n' \"$word\"; done | { read a; ! read b; }", path),
                Some(Outcome::Status(0))
            );
            let test = format!(
                "test {{}} = \"$(printf '%b' '{}')\"",
                path.bytes().map(|b| format!("\\0{b:o}")).collect::<String>()
            );
            assert_eq!(outcome(&test, path), Some(Outcome::Status(0)), "{path}");
        }
    }

    #[test]
    fn expected_outcomes_are_parsed() {
        assert_eq!(Outcome::parse("139"), Ok(Outcome::Status(139)));
        assert_eq!(Outcome::parse("timeout"), Ok(Outcome::Timeout));
        assert!(Outcome::parse("256").is_err() && Outcome::parse("-1").is_err());
    }
}
