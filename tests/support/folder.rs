//! Runs of the command in a temporary folder.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use tempfile::TempDir;

/// Program without data.
pub const RELU: &str = "
methods:
  forward:
    values:
      x: {tensor: float32, sizes: [2, 2]}
      y: {tensor: float32, sizes: [2, 2]}
    inputs: [x]
    outputs: [y]
    instructions:
      - {kernel: aten::relu.out, args: [x], out: y}
";

/// Temporary folder to run the command in.
pub struct Folder(TempDir);

impl Folder {
    /// Creates a folder with these files.
    pub fn new(files: &[(&str, &str)]) -> Folder {
        let folder = Folder(tempfile::tempdir().unwrap());
        for (name, content) in files {
            folder.write(name, content);
        }
        folder
    }

    pub fn path(&self) -> &Path {
        self.0.path()
    }

    pub fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        let path = self.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    pub fn read(&self, name: &str) -> Vec<u8> {
        fs::read(self.path().join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(super::command());
        command.args(arguments).current_dir(self.path()).stdin(Stdio::null()).env_remove("RUST_BACKTRACE");
        // Runners of the user are not found.
        command.env("PTE_EMIT_CACHE", "cache");
        // Of these tests, not of `golden`.
        command.env_remove("BLESS");
        command
    }

    pub fn run(&self, arguments: &[&str]) -> Done {
        Done::of(arguments, self.command(arguments).output().unwrap())
    }

    pub fn run_with_stdin(&self, arguments: &[&str], stdin: impl AsRef<[u8]>) -> Done {
        let mut command = self.command(arguments);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        // A command that fails before reading closes the pipe.
        let _ = child.stdin.take().unwrap().write_all(stdin.as_ref());
        Done::of(arguments, child.wait_with_output().unwrap())
    }

    /// Paths of all files in the folder and below it, including hidden ones such as temporary files.
    pub fn names(&self) -> Vec<String> {
        let mut names = Vec::new();
        collect(self.path(), "", &mut names);
        names.sort();
        names
    }
}

fn collect(folder: &Path, prefix: &str, names: &mut Vec<String>) {
    for entry in fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        let name = format!("{prefix}{}", entry.file_name().to_str().unwrap());
        if entry.file_type().unwrap().is_dir() {
            collect(&entry.path(), &format!("{name}/"), names);
        }
        names.push(name);
    }
}

/// Result of a command.
pub struct Done {
    pub command: String,
    pub code: Option<i32>,
    pub stdout: Vec<u8>,
    pub stderr: String,
}

impl Done {
    pub fn of(arguments: &[&str], output: Output) -> Done {
        let Output { status, stdout, stderr } = output;
        let stderr = String::from_utf8(stderr).expect("messages are UTF-8");
        Done { command: arguments.join(" "), code: status.code(), stdout, stderr }
    }

    /// Asserts the exit status.
    #[track_caller]
    pub fn exits(self, code: i32) -> Done {
        assert_eq!(self.code, Some(code), "pte-emit {}\n{}", self.command, self.stderr);
        self
    }

    /// Asserts that standard error contains a string.
    #[track_caller]
    pub fn stderr_contains(self, expected: &str) -> Done {
        assert!(self.stderr.contains(expected), "pte-emit {}: no `{expected}` in\n{}", self.command, self.stderr);
        self
    }

    /// Asserts that standard error is empty.
    #[track_caller]
    pub fn stderr_is_empty(self) -> Done {
        assert_eq!(self.stderr, "", "pte-emit {}", self.command);
        self
    }
}
