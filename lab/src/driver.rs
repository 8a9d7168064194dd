//! Runs many files in the real runtime, each in a process of its own: `mutants` with `--many`
//! (lab/conformance/README.md).

use std::fmt::Write as _;
use std::fs;
use std::io::{Seek, Write as _};
use std::path::PathBuf;
use std::process::{Command, Stdio};

use super::runner;

/// Accepted files for each one that may crash the runtime.
const ACCEPTED_PER_CRASH: usize = 100_000;

/// Files that may crash besides, if the seed is new: a few can be unknown so far, which is not a fault of the change
/// that is tested; more are one. They are printed.
const ALLOWED_NEW: usize = 2;

/// Number of accepted files that may crash the runtime.
pub fn allowed_crashes(accepted: usize, is_new_seed: bool) -> usize {
    accepted / ACCEPTED_PER_CRASH + if is_new_seed { ALLOWED_NEW } else { 0 }
}

/// The driver.
pub struct Driver(PathBuf);

impl Driver {
    /// The driver next to the runner.
    ///
    /// # Panics
    /// If there is none.
    pub fn locate() -> Driver {
        Driver(runner::locate().with_file_name("mutants"))
    }

    /// Outcome of each file; all are loaded with these `.ptd` files.
    ///
    /// # Panics
    /// If the driver fails, or does not answer for a file.
    pub fn run(&self, files: &[&[u8]], data: &[Vec<u8>], options: &[&str]) -> Vec<String> {
        if files.is_empty() {
            return Vec::new();
        }
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, bytes: &[u8]| {
            let path = folder.path().join(name);
            fs::write(&path, bytes).unwrap();
            path
        };
        let (mut all, mut lines) = (Vec::new(), String::new());
        for file in files {
            writeln!(lines, "{} {}", all.len(), file.len()).unwrap();
            all.extend_from_slice(file);
        }
        // Through a file: a long list cannot cause a deadlock.
        let mut script = tempfile::tempfile().unwrap();
        script.write_all(lines.as_bytes()).unwrap();
        script.rewind().unwrap();
        let mut command = Command::new(&self.0);
        command.arg(write("files", &all)).args(["--many", "yes"]).args(options);
        for (number, data) in data.iter().enumerate() {
            command.arg("--data").arg(write(&number.to_string(), data));
        }
        // glibc fills allocations, to detect the use of uninitialized memory.
        command.env("MALLOC_PERTURB_", "165");
        let output = command.stdin(Stdio::from(script)).stderr(Stdio::inherit()).output().unwrap();
        assert!(output.status.success(), "the driver ended with {}", output.status);
        let mut answers = vec![String::new(); files.len()];
        // Libraries of kernels print messages among the answers.
        for line in String::from_utf8_lossy(&output.stdout).lines() {
            let Some((number, answer)) = line.split_once(' ') else { continue };
            if let Some(slot) = number.parse::<usize>().ok().and_then(|number| answers.get_mut(number)) {
                *slot = answer.to_owned();
            }
        }
        assert!(answers.iter().all(|answer| !answer.is_empty()), "missing outcomes of the driver");
        answers
    }
}

/// Returns `true` if the runtime crashed or did not end.
pub fn crashed(answer: &str) -> bool {
    ["signal", "timeout", "exit"].iter().any(|word| answer.starts_with(word))
}
