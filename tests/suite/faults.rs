//! Failures of the environment: full disks, data files that shrink, signals, concurrent processes with the same output.
//! The output is complete or unchanged, and errors are reported.
#![cfg(unix)]

use std::fs::{self, File};
use std::process::Stdio;
use std::time::Duration;

use crate::support::folder::{Done, Folder};

/// Writes a source with this many bytes of weights, which are a sparse file.
fn model(folder: &Folder, bytes: u64) {
    File::create(folder.path().join("weights.bin")).unwrap().set_len(bytes).unwrap();
    let elements = bytes / 4;
    folder.write(
        "model.yaml",
        format!(
            "methods: {{forward: {{values: {{w: {{tensor: float32, sizes: [{elements}], data: {{file: weights.bin}}}}}}, \
             outputs: [w]}}}}"
        ),
    );
}

/// Runs the command with a limit of the shell.
fn limited(folder: &Folder, limit: &str, arguments: &str) -> Done {
    let command = folder.command(&[]);
    let line = format!("{limit}; exec {} {arguments}", command.get_program().to_str().unwrap());
    let mut shell = std::process::Command::new("sh");
    shell.args(["-c", &line]).current_dir(folder.path());
    Done::of(&[limit, arguments], shell.output().unwrap())
}

#[test]
fn a_full_disk_is_reported_and_the_old_output_is_unchanged() {
    let folder = Folder::new(&[("model.pte", "\0old")]);
    model(&folder, 8 << 20);
    // A limit of the file size in blocks.
    for limit in ["ulimit -f 1024", "ulimit -f 1", "trap '' XFSZ; ulimit -f 1"] {
        limited(&folder, limit, "model.yaml -o model.pte").exits(3).stderr_contains("model.pte: File too large");
        assert_eq!(folder.read("model.pte"), b"\0old");
        assert_eq!(folder.names(), ["model.pte", "model.yaml", "weights.bin"]);
    }
    // A file to which standard output is redirected stays, as for any command.
    for arguments in ["model.yaml --external-data w.ptd -o new.pte", "model.yaml -q > new.pte"] {
        limited(&folder, "ulimit -f 1024", arguments).exits(3).stderr_contains("File too large");
        let _ = fs::remove_file(folder.path().join("new.pte"));
        assert_eq!(folder.names(), ["model.pte", "model.yaml", "weights.bin"]);
    }
    if cfg!(target_os = "linux") {
        folder.run(&["model.yaml", "-o", "/dev/full"]).exits(3).stderr_contains("/dev/full: No space left on device");
    }
}

/// Data are permuted and converted in blocks: the limit is less than half of their size.
#[test]
#[cfg(target_os = "linux")]
fn converting_large_data_needs_little_memory() {
    let folder = Folder::new(&[]);
    let (rows, columns) = (1u64 << 14, 1u64 << 12);
    File::create(folder.path().join("weights.bin")).unwrap().set_len(8 * rows * columns).unwrap();
    let npy = format!("{{'descr': '<i8', 'fortran_order': True, 'shape': ({rows}, {columns}), }}");
    let npy = [&b"\x93NUMPY\x01\0\x76\0"[..], format!("{npy:<117}\n").as_bytes()].concat();
    folder.write("weights.npy", &npy);
    let file = File::options().write(true).open(folder.path().join("weights.npy")).unwrap();
    file.set_len(npy.len() as u64 + 8 * rows * columns).unwrap();
    for (name, tensor) in [
        ("permuted.yaml", "tensor: int64, data: {npy: weights.npy}".to_owned()),
        (
            "converted.yaml",
            format!("tensor: bfloat16, sizes: [{}], data: {{file: weights.bin, dtype: float32}}", 2 * rows * columns),
        ),
    ] {
        folder.write(name, format!("methods: {{forward: {{values: {{w: {{{tensor}}}}}, outputs: [w]}}}}"));
        // 512 MiB of weights; the limit in KiB includes the program.
        limited(&folder, "ulimit -v 250000", &format!("{name} -o /dev/null -q")).exits(0);
    }
}

#[test]
fn an_output_folder_that_cannot_be_written_is_reported() {
    let folder = Folder::new(&[]);
    model(&folder, 64);
    if cfg!(target_os = "linux") {
        folder.run(&["model.yaml", "-o", "/proc/model.pte"]).exits(3).stderr_contains("/proc/model.pte: ");
    }
    folder
        .run(&["model.yaml", "-o", "model.yaml/model.pte"])
        .exits(3)
        .stderr_contains("model.yaml/model.pte: folder model.yaml does not exist");
}

/// Sends a signal to the command after increasing delays.
fn interrupted(signal: &str, leftovers: bool) {
    let folder = Folder::new(&[]);
    model(&folder, 48 << 20);
    folder.run(&["model.yaml", "-o", "whole.pte"]).exits(0);
    let whole = folder.read("whole.pte");
    let mut interrupted = 0;
    for moment in 0..24 {
        folder.write("model.pte", "\0old");
        let mut child = folder.command(&["model.yaml", "-o", "model.pte"]).stderr(Stdio::null()).spawn().unwrap();
        std::thread::sleep(Duration::from_millis(2 * moment));
        let kill = std::process::Command::new("kill").args([signal, &child.id().to_string()]).output().unwrap();
        let status = child.wait().unwrap();
        let found = folder.read("model.pte");
        assert!(found == b"\0old" || found == whole, "{signal} after {} ms: {} bytes", 2 * moment, found.len());
        assert!(found == whole || !status.success(), "{signal} after {} ms: {kill:?}", 2 * moment);
        interrupted += usize::from(!status.success());
        let mut names = folder.names();
        if leftovers {
            for name in names.iter().filter(|name| name.starts_with(".pte-emit-")) {
                fs::remove_file(folder.path().join(name)).unwrap();
            }
            names.retain(|name| !name.starts_with(".pte-emit-"));
        }
        assert_eq!(names, ["model.pte", "model.yaml", "weights.bin", "whole.pte"], "{signal} after {} ms", 2 * moment);
    }
    assert!(interrupted > 0, "{signal} was always too late");
}

#[test]
fn an_interrupted_command_leaves_no_files() {
    interrupted("-INT", false);
    interrupted("-TERM", false);
    interrupted("-HUP", false);
}

#[test]
fn a_killed_command_does_not_corrupt_outputs() {
    interrupted("-KILL", true);
}

#[test]
fn concurrent_processes_with_one_output_write_a_complete_file() {
    let folder = Folder::new(&[]);
    model(&folder, 16 << 20);
    let other = String::from_utf8(folder.read("model.yaml")).unwrap().replace("forward", "backward");
    folder.write("other.yaml", other);
    let outputs = ["model", "other"].map(|name| {
        folder.run(&[&format!("{name}.yaml"), "-o", "one.pte"]).exits(0);
        folder.read("one.pte")
    });
    for _ in 0..8 {
        let start = |name| folder.command(&[name, "-o", "one.pte", "-q"]).spawn().unwrap();
        for mut child in [start("model.yaml"), start("other.yaml")] {
            assert!(child.wait().unwrap().success());
        }
        assert!(outputs.contains(&folder.read("one.pte")));
        assert_eq!(folder.names(), ["model.yaml", "one.pte", "other.yaml", "weights.bin"]);
    }
}
