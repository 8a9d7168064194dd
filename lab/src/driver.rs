//! Runs many files in the real runtime, each in a process of its own: `mutants` with `--many`
//! (lab/conformance/README.md).

use std::fmt::Write as _;
use std::fs;
use std::io::{BufRead as _, BufReader, Seek, Write as _};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use super::runner;

/// Accepted files for each one that may crash the runtime.
const ACCEPTED_PER_CRASH: usize = 100_000;

/// Files that may crash besides, if the seed is new: a few can be unknown so far, which is not a fault of the change
/// that is tested; more are one. They are printed.
const ALLOWED_NEW: usize = 2;

/// glibc fills allocations, to detect the use of uninitialized memory.
const PERTURB: (&str, &str) = ("MALLOC_PERTURB_", "165");

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
        command.env(PERTURB.0, PERTURB.1);
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

/// The driver as a process that runs one file after the other.
pub struct Server {
    process: Child,
    files: ChildStdin,
    answers: BufReader<ChildStdout>,
    number: u64,
}

impl Server {
    /// Starts it.
    ///
    /// # Panics
    /// If there is no driver.
    pub fn start(options: &[&str]) -> Server {
        let mut command = Command::new(Driver::locate().0);
        command.args(["--serve", "yes"]).args(options).env(PERTURB.0, PERTURB.1);
        let mut process = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let (files, answers) = (process.stdin.take().unwrap(), BufReader::new(process.stdout.take().unwrap()));
        Server { process, files, answers, number: 0 }
    }

    /// Outcome of a file without `.ptd` files.
    ///
    /// # Panics
    /// If the driver ends.
    pub fn run(&mut self, file: &[u8]) -> String {
        let number = self.number.to_string();
        self.number += 1;
        self.files.write_all(&[format!("{}\n", file.len()).as_bytes(), file].concat()).unwrap();
        let mut line = Vec::new();
        loop {
            line.clear();
            let read = self.answers.read_until(b'\n', &mut line).unwrap();
            assert!(read > 0, "the driver ended with {:?}", self.process.wait());
            // Libraries of kernels print messages among the answers.
            match String::from_utf8_lossy(&line).trim_end().split_once(' ') {
                Some((found, answer)) if found == number => return answer.to_owned(),
                _ => {}
            }
        }
    }
}

/// Returns `true` if the runtime crashed or did not end.
pub fn crashed(answer: &str) -> bool {
    ["signal", "timeout", "exit"].iter().any(|word| answer.starts_with(word))
}
