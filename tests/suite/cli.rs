//! The command line: exit statuses, names of output files, standard output and error, no files left after errors.
//!
//! tests/cases/golden.rs compares the content of files, and the messages about sources.

use std::fs::{self, File};
use std::path::Path;
use std::process::{Command, Stdio};

use crate::support::folder::{Done, Folder, RELU};

/// Program with constants, which can be stored in a `.ptd`, and a delegate.
const MODEL: &str = "
methods:
  forward:
    values:
      x: {tensor: float32, sizes: [2]}
      a: {tensor: float32, sizes: [2], data: [1, 2]}
      b: {tensor: float32, sizes: [3], data: [3, 4, 5]}
      s: {tensor: float32, sizes: [2]}
      t: {tensor: float32, sizes: [3]}
      u: {tensor: float32, sizes: [2]}
    inputs: [x]
    outputs: [s, t, u]
    instructions:
      - {kernel: aten::add.out, args: [x, a], out: s}
      - {kernel: aten::relu.out, args: [b], out: t}
      - {delegate: part, args: [x, u]}
    delegates:
      part: {backend: SomeBackend, data: {hex: aabbccdd}}
";

/// Program with constants in the default `.ptd` and in `lora.ptd`.
const TAGGED: &str = "
methods:
  forward:
    values:
      x: {tensor: float32, sizes: [2]}
      a: {tensor: float32, sizes: [2], data: [1, 2], external: true}
      b: {tensor: float32, sizes: [2], data: [3, 4], external: lora}
      s: {tensor: float32, sizes: [2]}
      t: {tensor: float32, sizes: [2]}
    inputs: [x]
    outputs: [t]
    instructions:
      - {kernel: aten::add.out, args: [x, a], out: s}
      - {kernel: aten::add.out, args: [s, b], out: t}
";

/// Weights only.
const WEIGHTS: &str = "named_data:\n  weight: {tensor: float32, sizes: [2], data: [1, 2]}\n";

/// Source with an error.
const INVALID: &str = "methods: {forward: {values: {x: {tensor: floot32, sizes: [1]}}, inputs: [x], outputs: [x]}}\n";

/// Source that is assembled with a warning.
fn with_warning() -> String {
    RELU.replace("aten::relu.out", "aten::rleu.out")
}

/// Returns true for the bytes of a `.pte`.
fn is_program(bytes: &[u8]) -> bool {
    bytes.get(4..8) == Some(b"ET12")
}

/// Returns true for the bytes of a `.ptd`.
fn is_data(bytes: &[u8]) -> bool {
    bytes.get(4..8) == Some(b"FT01")
}

#[test]
fn a_source_is_assembled_and_the_exit_status_is_0() {
    let folder = Folder::new(&[("model.yaml", RELU)]);
    let done = folder.run(&["model.yaml", "-o", "model.pte"]).exits(0).stderr_contains("model.pte: ");
    assert!(is_program(&folder.read("model.pte")) && done.stdout.is_empty());
    assert_eq!(folder.names(), ["model.pte", "model.yaml"]);
}

#[test]
fn a_source_without_methods_is_assembled_to_a_ptd() {
    let folder = Folder::new(&[("weights.yaml", WEIGHTS)]);
    folder.run(&["weights.yaml", "-o", "weights.ptd"]).exits(0).stderr_contains("weights.ptd: ");
    assert!(is_data(&folder.read("weights.ptd")));
}

#[test]
fn an_invalid_source_exits_with_1_and_writes_no_output() {
    let folder = Folder::new(&[("invalid.yaml", INVALID)]);
    folder
        .run(&["invalid.yaml", "-o", "invalid.pte"])
        .exits(1)
        .stderr_contains("invalid.yaml:1:")
        .stderr_contains("did you mean `float32`?");
    assert_eq!(folder.names(), ["invalid.yaml"]);
}

#[test]
fn an_invalid_source_does_not_change_existing_outputs() {
    let folder = Folder::new(&[("invalid.yaml", INVALID), ("model.pte", "old"), ("model.ptd", "older")]);
    folder.run(&["invalid.yaml", "-o", "model.pte", "--external-data"]).exits(1);
    assert_eq!((folder.read("model.pte"), folder.read("model.ptd")), (b"old".to_vec(), b"older".to_vec()));
    assert_eq!(folder.names(), ["invalid.yaml", "model.ptd", "model.pte"]);
}

#[test]
fn an_existing_output_is_replaced() {
    let folder = Folder::new(&[("model.yaml", RELU), ("model.pte", "\0old")]);
    folder.run(&["model.yaml", "-o", "model.pte"]).exits(0);
    assert!(is_program(&folder.read("model.pte")));
    assert_eq!(folder.names(), ["model.pte", "model.yaml"]);
}

#[test]
fn a_dump_does_not_overwrite_what_it_reads() {
    let folder = Folder::new(&[("model.yaml", RELU)]);
    folder.run(&["model.yaml", "-o", "x.pte"]).exits(0);
    folder.run(&["dump", "x.pte", "-o", "x.pte"]).exits(2).stderr_contains("would be overwritten");
    folder.run(&["dump", "no.pte"]).exits(3).stderr_contains("no.pte");
    folder.run(&["check", "x.pte"]).exits(0);
}

/// Indices are not validated by the assembler, so that files can be malformed on purpose; `check` reports them.
#[test]
fn files_that_the_runtime_rejects_are_written_with_a_warning() {
    let malformed = RELU.replace("out: y", "out: y}\n      - {kernel: aten::relu.out, args: [{index: 99}, y, y]");
    let folder = Folder::new(&[("model.yaml", &malformed)]);
    folder
        .run(&["model.yaml", "-o", "x.pte"])
        .exits(0)
        .stderr_contains("invalid[I-3]")
        .stderr_contains("instructions[1].args[0]");
    folder.run(&["model.yaml", "-o", "x.pte", "-q"]).exits(0);
    folder.run(&["check", "x.pte"]).exits(1);
    folder.run(&["check", "model.yaml"]).exits(1);
}

#[test]
fn denied_warnings_are_errors() {
    let suspicious = RELU.replace("inputs: [x]", "inputs: [x, y]");
    let folder = Folder::new(&[("model.yaml", RELU), ("x.yaml", &with_warning()), ("suspicious.yaml", &suspicious)]);
    folder.run(&["x.yaml", "-o", "x.pte", "-q"]).exits(0);
    fs::create_dir(folder.path().join("out")).unwrap();
    let names = folder.names();
    let denied = "denied by `--deny-warnings`: no output is written";
    for arguments in [
        &["x.yaml", "-o", "out/y.pte"][..],
        &["x.yaml"],
        &["model.yaml", "-o", "out/y.pte", "--external-data"],
        &["model.yaml", "-o", "out/y.pte", "-D", "N=1"],
        &["model.yaml", "-D", "N=1"],
        &["x.yaml", "model.yaml", "-o", "out", "-D", "N=1"],
    ] {
        let done = folder.run(&[arguments, &["--deny-warnings", "-q"]].concat()).exits(1);
        assert!(done.stdout.is_empty(), "{arguments:?}");
        done.stderr_contains("warning").stderr_contains(denied);
        assert_eq!(folder.names(), names, "{arguments:?}");
    }
    for arguments in [&["check", "x.yaml"][..], &["check", "suspicious.yaml"], &["check", "model.yaml", "-D", "N=1"]] {
        folder.run(arguments).exits(0);
        folder.run(&[arguments, &["--deny-warnings"]].concat()).exits(1);
    }
    folder.run(&["check", "model.yaml", "--deny-warnings"]).exits(0);
    folder
        .run(&["model.yaml", "x.yaml", "-o", "out", "--deny-warnings"])
        .exits(1)
        .stderr_contains("error: 1 warning, ");
    assert!(folder.names().contains(&"out/model.pte".to_owned()) && !folder.names().contains(&"out/x.pte".to_owned()));
}

/// Once per operator, however many calls and methods there are; `--ops` declares it.
#[test]
fn an_unknown_operator_is_one_warning_of_every_command() {
    let calls = RELU.replace("aten::relu.out", "mine::scale.out");
    let twice = format!("{calls}{}", calls.replace("forward", "backward").replace("\nmethods:\n", ""));
    let folder = Folder::new(&[("mine.yaml", &twice), ("typo.yaml", &twice.replace("mine::scale", "aten::rleu"))]);
    folder.write("ops", "mine::scale.out self:T out:T!\n");
    folder.run(&["mine.yaml", "-o", "mine.pte", "-q"]).exits(0);
    let count = |done: Done| {
        let all = format!("{}{}", String::from_utf8_lossy(&done.stdout), done.stderr);
        ["unknown operator", "registers no operator"].map(|message| all.matches(message).count())
    };
    for (input, expected) in [("mine.yaml", [1, 0]), ("typo.yaml", [0, 1]), ("mine.pte", [1, 0])] {
        for output in [&["-o", "out.pte"][..], &["-o", "out.bpte"]] {
            assert_eq!(count(folder.run(&[&[input], output].concat()).exits(0)), expected, "{input} {output:?}");
        }
        let done = folder.run(&["check", input]).exits(0);
        assert!(String::from_utf8_lossy(&done.stdout).contains("0 errors, 1 warning, 0 notes"), "{input}");
        assert_eq!(count(done), expected, "{input}");
    }
    for arguments in [&["check", "mine.yaml"][..], &["check", "mine.pte"], &["mine.yaml", "-o", "out.pte"]] {
        folder.run(&[arguments, &["--ops", "ops", "--deny-warnings"]].concat()).exits(0);
    }
}

/// Notes come after the warnings. Those of one rule with the same text are combined.
#[test]
fn equal_notes_of_check_are_one() {
    let constants: String = (0..5).map(|number| format!("\n      c{number}: {{tensor: float32, data: [1]}}")).collect();
    let yaml =
        RELU.replace("    values:", &format!("    values:{constants}")).replace("aten::relu.out", "mine::relu.out");
    let folder = Folder::new(&[("model.yaml", &yaml)]);
    folder.run(&["model.yaml", "-o", "model.pte", "-q"]).exits(0);
    let stdout = |arguments: &[&str]| String::from_utf8(folder.run(arguments).exits(0).stdout).unwrap();
    let (some, all) = (stdout(&["check", "model.pte"]), stdout(&["check", "--all-notes", "model.pte"]));
    for (text, count) in [(&some, 1), (&all, 5)] {
        assert_eq!(text.matches("note[X-13]: ").count(), count, "{text}");
        assert!(text.starts_with("model.pte: suspicious[O-5]: ") && text.contains("1 warning, 5 notes"), "{text}");
    }
    assert!(some.contains("\n    the same at methods.forward.values["), "{some}");
    assert!(some.contains(" and 2 more (`--all-notes` prints each)\n"), "{some}");
    // Former names of options, which `--help` does not list.
    assert_eq!(stdout(&["check", "--all", "--all-data", "--profile", "portable", "model.pte"]), all);
    let help = stdout(&["check", "--help"]);
    assert!(["--all ", "--all-data", "--profile"].iter().all(|name| !help.contains(name)), "{help}");
}

#[test]
fn a_mistyped_command_is_no_input() {
    let folder = Folder::new(&[("model.yaml", RELU)]);
    for (arguments, expected) in [
        (&["info", "model.yaml"][..], "no such file `info`; did you mean the command `inspect`?"),
        (&["inspct", "model.yaml"], "no such file `inspct`; did you mean the command `inspect`?"),
        (&["compile", "model.yaml", "-o", "a.pte"], "no such file `compile`; did you mean the command `assemble`?"),
        (&["frobnicate", "model.yaml"], "no such file `frobnicate`; `pte-emit --help` lists the commands"),
    ] {
        folder.run(arguments).exits(2).stderr_contains(expected);
    }
    // A file of that name is an input, and a word alone may be a file that is missing.
    folder.run(&["model", "-o", "a.pte"]).exits(3);
    std::fs::copy(folder.path().join("model.yaml"), folder.path().join("info")).unwrap();
    folder.run(&["info", "-o", "a.pte"]).exits(0);
}

#[test]
fn operators_are_found_in_any_case_and_by_names_of_torch() {
    let folder = Folder::new(&[]);
    let stdout = |arguments: &[&str]| String::from_utf8(folder.run(arguments).exits(0).stdout).unwrap();
    assert_eq!(stdout(&["ops", ""]), stdout(&["ops"]));
    assert!(stdout(&["ops", "SUM"]).contains("aten::sum.IntList_out\n"));
    assert_eq!(stdout(&["ops", "ATEN::ADD.OUT"]), stdout(&["ops", "aten::add.out"]));
    let conversion = stdout(&["ops", "_to_dim_order_copy"]);
    assert!(conversion.contains("another element type is declared under `values`"), "{conversion}");
    for (name, nearest) in [("relu6", "aten::hardtanh.out"), ("AATEN::ADD.OUT", "aten::add.out")] {
        folder.run(&["ops", name]).exits(2).stderr_contains(&format!("nearest names: {nearest}"));
    }
}

#[test]
fn an_invalid_command_line_exits_with_2() {
    let folder = Folder::new(&[("model.yaml", RELU)]);
    folder.run(&[]).exits(2);
    folder.run(&["model.yaml", "-o", "x.pte", "--no-such-option"]).exits(2).stderr_contains("--no-such-option");
    folder.run(&["model.yaml", "-o", "x.pte", "--tensor-alignment", "100"]).exits(2).stderr_contains("power of two");
    folder.run(&["model.yaml", "-o", "x.pte", "--header", "12"]).exits(2).stderr_contains("a length from 24");
    folder.run(&["model.yaml", "-o", "x.pte", "--max-size", "many"]).exits(2).stderr_contains("number of bytes");
    assert_eq!(folder.names(), ["model.yaml"]);
}

#[test]
fn help_version_and_schema_exit_with_0() {
    let folder = Folder::new(&[]);
    for arguments in [&["--help"][..], &["-h"], &["--version"], &["schema"]] {
        let done = folder.run(arguments).exits(0).stderr_is_empty();
        assert!(!done.stdout.is_empty(), "{arguments:?}");
    }
    assert!(folder.names().is_empty());
}

/// Data files that cannot be opened are I/O errors, not errors in the source.
#[test]
fn a_missing_data_file_exits_with_3() {
    let data = "named_data: {a: {file: missing.bin}}\n";
    let checkpoint = "checkpoints: [{safetensors: missing.safetensors}]\n";
    let folder = Folder::new(&[("data.yaml", data), ("checkpoint.yaml", checkpoint)]);
    folder.run(&["data.yaml", "-o", "x.ptd"]).exits(3).stderr_contains("missing.bin");
    folder.run(&["checkpoint.yaml", "-o", "x.ptd"]).exits(3).stderr_contains("missing.safetensors");
    folder.run(&["check", "data.yaml"]).exits(3).stderr_contains("missing.bin");
    assert_eq!(folder.names(), ["checkpoint.yaml", "data.yaml"]);
}

#[test]
fn a_missing_ptd_exits_with_3() {
    let folder = Folder::new(&[("model.yaml", RELU)]);
    folder.run(&["model.yaml", "-o", "x.pte", "--with", "missing.ptd"]).exits(3).stderr_contains("missing.ptd");
    folder.run(&["check", "model.yaml", "--with", "missing.ptd"]).exits(3).stderr_contains("missing.ptd");
    assert_eq!(folder.names(), ["model.yaml"]);
}

#[test]
fn a_missing_input_exits_with_3() {
    let folder = Folder::new(&[]);
    folder.run(&["nothing.yaml", "-o", "x.pte"]).exits(3).stderr_contains("nothing.yaml");
    folder.run(&[".", "-o", "x.pte"]).exits(3);
    assert!(folder.names().is_empty());
}

#[test]
fn an_input_that_is_not_utf_8_is_invalid() {
    let folder = Folder::new(&[]);
    folder.write("model.yaml", b"methods: \xff\xfe\n");
    let done = folder.run(&["model.yaml", "-o", "model.pte"]).stderr_contains("line 1, byte 9, is not UTF-8");
    // The input can be read, but is invalid.
    done.exits(1);
    assert_eq!(folder.names(), ["model.yaml"]);
}

#[test]
fn an_output_that_cannot_be_written_exits_with_3() {
    let folder = Folder::new(&[("model.yaml", RELU), ("file", "")]);
    folder.run(&["model.yaml", "-o", "missing/model.pte"]).exits(3).stderr_contains("missing/model.pte");
    folder.run(&["model.yaml", "-o", "file/model.pte"]).exits(3).stderr_contains("file/model.pte");
    assert_eq!(folder.names(), ["file", "model.yaml"]);
}

#[cfg(unix)]
#[test]
fn an_output_in_a_read_only_folder_exits_with_3() {
    use std::os::unix::fs::PermissionsExt;
    use std::os::unix::process::CommandExt;
    let folder = Folder::new(&[("model.yaml", RELU)]);
    let locked = folder.path().join("locked");
    fs::create_dir(&locked).unwrap();
    fs::set_permissions(&locked, fs::Permissions::from_mode(0o555)).unwrap();
    let mut command = folder.command(&["model.yaml", "-o", "locked/model.pte"]);
    if File::create(locked.join("probe")).is_ok() {
        // Root can write there: run a copy of the command as another user.
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
        let copy = folder.path().join("pte-emit");
        fs::copy(command.get_program(), &copy).unwrap();
        command = Command::new(copy);
        command.args(["model.yaml", "-o", "locked/model.pte"]).current_dir(folder.path()).uid(65534);
    }
    // Another test may start a process while the copy is open for writing: the copy is busy until that process executes
    // its program.
    let output = loop {
        match command.output() {
            Err(error) if error.kind() == std::io::ErrorKind::ExecutableFileBusy => std::thread::yield_now(),
            output => break output.unwrap(),
        }
    };
    Done::of(&["model.yaml", "-o", "locked/model.pte"], output).exits(3).stderr_contains("locked/model.pte");
    fs::set_permissions(&locked, fs::Permissions::from_mode(0o755)).unwrap();
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_behind_standard_output_exits_with_3() {
    let folder = Folder::new(&[("model.yaml", RELU)]);
    let full = File::options().write(true).open("/dev/full").unwrap();
    let output = folder.command(&["model.yaml"]).stdout(full).output().unwrap();
    Done::of(&["model.yaml > /dev/full"], output).exits(3).stderr_contains("space");
}

#[cfg(unix)]
#[test]
fn a_symbolic_link_at_the_output_path_is_followed() {
    let folder = Folder::new(&[("model.yaml", RELU), ("real.pte", "\0old")]);
    std::os::unix::fs::symlink("real.pte", folder.path().join("model.pte")).unwrap();
    folder.run(&["model.yaml", "-o", "model.pte"]).exits(0);
    assert!(fs::symlink_metadata(folder.path().join("model.pte")).unwrap().is_symlink());
    assert!(is_program(&folder.read("real.pte")));
}

/// `-o /dev/null` and `-o >(cmd)` are written through, not replaced; a named pipe stands for them here.
#[cfg(unix)]
#[test]
fn a_pipe_at_the_output_path_stays_a_pipe() {
    use std::os::unix::fs::FileTypeExt;
    let folder = Folder::new(&[("model.yaml", RELU)]);
    let pipe = folder.path().join("pipe.pte");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let writer = folder.command(&["model.yaml", "-o", "pipe.pte"]).stderr(Stdio::piped()).spawn().unwrap();
    // Opening a pipe blocks until the other end is opened, forever if the command replaced it: the reader is a process,
    // to be killed.
    let mut reader = Command::new("cat").arg(&pipe).stdout(Stdio::piped()).spawn().unwrap();
    let written = writer.wait_with_output().unwrap();
    let still_pipe = fs::metadata(&pipe).unwrap().file_type().is_fifo();
    if !still_pipe {
        reader.kill().unwrap();
    }
    let read = reader.wait_with_output().unwrap();
    assert!(written.status.success() && still_pipe && is_program(&read.stdout));
}

#[test]
fn a_dash_stands_for_the_standard_streams() {
    let folder = Folder::new(&[("model.yaml", RELU)]);
    folder.run(&["model.yaml", "-o", "model.pte"]).exits(0);
    let expected = folder.read("model.pte");
    for arguments in [&["-"][..], &["-", "-o", "-"], &["-o", "-", "-"]] {
        assert_eq!(folder.run_with_stdin(arguments, RELU).exits(0).stdout, expected, "{arguments:?}");
    }
    assert_eq!(folder.run(&["model.yaml"]).exits(0).stdout, expected);
    folder.run_with_stdin(&["-", "-o", "from_stdin.pte"], RELU).exits(0);
    assert_eq!(folder.read("from_stdin.pte"), expected);
    assert_eq!(folder.names(), ["from_stdin.pte", "model.pte", "model.yaml"]);
}

#[test]
fn an_invalid_source_on_standard_input_writes_no_byte() {
    let folder = Folder::new(&[]);
    let done = folder.run_with_stdin(&["-"], INVALID).exits(1).stderr_contains("<stdin>:1:");
    assert!(done.stdout.is_empty());
    let done = folder.run_with_stdin(&["-"], b"\xff").stderr_contains("<stdin>");
    assert!(done.stdout.is_empty());
}

#[test]
fn standard_input_can_be_read_only_once() {
    let folder = Folder::new(&[]);
    fs::create_dir(folder.path().join("out")).unwrap();
    folder.run_with_stdin(&["-", "-", "-o", "out"], RELU).exits(2);
}

/// As of `| head`: the output is incomplete, which is not a success, but the reader knows it.
#[test]
fn a_closed_pipe_exits_with_3_without_a_message() {
    let folder = Folder::new(&[("big.yaml", "named_data: {a: {fill: 0, size: 16M}}\n"), ("model.yaml", MODEL)]);
    folder.run(&["model.yaml", "-o", "model.pte", "-q"]).exits(0);
    for arguments in [
        &["big.yaml"][..],
        &["dump", "model.pte"],
        &["annotate", "model.pte"],
        &["annotate", "--json", "model.pte"],
        &["check", "model.pte"],
        &["check", "--json", "model.pte"],
        &["model.pte", "--external-data", "w.ptd"],
        &["payload", "list", "--json", "model.pte"],
        &["payload", "show", "--json", "model.pte"],
        &["schema"],
        &["--help"],
        &["--version"],
    ] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let output = folder.command(arguments).stdout(writer).output().unwrap();
        Done::of(arguments, output).exits(3).stderr_is_empty();
    }
    assert_eq!(folder.names(), ["big.yaml", "model.pte", "model.yaml"]);
}

/// The standard library ignores that the descriptor cannot be written.
#[cfg(target_os = "linux")]
#[test]
fn a_read_only_standard_output_exits_with_3() {
    let folder = Folder::new(&[("model.yaml", RELU)]);
    folder.run(&["model.yaml", "-o", "model.pte", "-q"]).exits(0);
    let program = folder.command(&[]).get_program().to_owned();
    for arguments in
        ["model.yaml", "dump model.pte", "annotate model.pte", "check model.pte", "schema", "--help", "--version"]
    {
        let line = format!("exec \"$0\" {arguments} 1</dev/null");
        let output = Command::new("sh").args(["-c", &line]).arg(&program).current_dir(folder.path()).output();
        let done = Done::of(&[&line], output.unwrap()).exits(3);
        done.stderr_contains("error: cannot write <stdout>: Bad file descriptor");
    }
}

#[test]
fn several_inputs_need_a_folder() {
    let folder = Folder::new(&[("a.yaml", RELU), ("b.yaml", MODEL)]);
    folder.run(&["a.yaml", "b.yaml"]).exits(2).stderr_contains("-o FOLDER");
    folder.run(&["a.yaml", "b.yaml", "-o", "-"]).exits(2).stderr_contains("folder");
    folder.run(&["a.yaml", "b.yaml", "-o", "model.pte"]).exits(2).stderr_contains("folder");
    folder.run(&["a.yaml", "b.yaml", "-o", "missing"]).exits(2).stderr_contains("folder");
    assert_eq!(folder.names(), ["a.yaml", "b.yaml"]);
}

/// `-o FOLDER/` creates the folder, and names the files as in one that exists.
#[test]
fn an_output_folder_is_created() {
    let folder = Folder::new(&[("model.yaml", MODEL), ("b.yaml", RELU), ("invalid.yaml", INVALID)]);
    folder.run(&["model.yaml", "-o", "one/"]).exits(0);
    folder.run(&["model.yaml", "b.yaml", "-o", "two/below/", "--external-data"]).exits(0);
    folder.run(&["model.yaml", "invalid.yaml", "-o", "three/"]).exits(1);
    let inputs = ["b.yaml", "invalid.yaml", "model.yaml"].map(str::to_owned);
    let created = |names: Vec<String>| names.into_iter().filter(|name| !inputs.contains(name)).collect::<Vec<_>>();
    assert_eq!(
        created(folder.names()),
        [
            "one",
            "one/model.pte",
            "three",
            "three/model.pte",
            "two",
            "two/below",
            "two/below/b.pte",
            "two/below/model.ptd",
            "two/below/model.pte"
        ]
    );
    // Nothing stays of a command without outputs.
    let folder = Folder::new(&[("model.yaml", MODEL), ("invalid.yaml", INVALID), ("file", "")]);
    let names = folder.names();
    folder.run(&["invalid.yaml", "-o", "new/below/"]).exits(1);
    folder.run(&["missing.yaml", "-o", "new/"]).exits(3);
    folder.run(&["model.yaml", "-o", "new/", "--to", "ptd"]).exits(2);
    folder.run(&["model.yaml", "-o", "file/"]).exits(3).stderr_contains("error: cannot create folder file/: ");
    folder
        .run(&["model.yaml", "-o", "file/below/"])
        .exits(3)
        .stderr_contains("error: cannot create folder file/below/: ");
    if cfg!(target_os = "linux") {
        folder
            .run(&["model.yaml", "-o", "/proc/new/"])
            .exits(3)
            .stderr_contains("error: cannot create folder /proc/new/: ");
    }
    assert_eq!(folder.names(), names);
}

#[test]
fn several_inputs_are_written_to_a_folder() {
    let folder =
        Folder::new(&[("a.yaml", RELU), ("b.yaml", MODEL), ("w.json", "{\"named_data\": {\"a\": {\"hex\": \"00\"}}}")]);
    fs::create_dir(folder.path().join("out")).unwrap();
    folder.run(&["a.yaml", "b.yaml", "w.json", "-o", "out"]).exits(0);
    assert_eq!(folder.names(), ["a.yaml", "b.yaml", "out", "out/a.pte", "out/b.pte", "out/w.ptd", "w.json"]);
}

#[test]
fn an_invalid_input_does_not_stop_the_others() {
    let folder = Folder::new(&[("a.yaml", RELU), ("invalid.yaml", INVALID), ("z.yaml", MODEL)]);
    fs::create_dir(folder.path().join("out")).unwrap();
    folder.run(&["a.yaml", "invalid.yaml", "z.yaml", "-o", "out"]).exits(1).stderr_contains("invalid.yaml:1:");
    assert_eq!(folder.names(), ["a.yaml", "invalid.yaml", "out", "out/a.pte", "out/z.pte", "z.yaml"]);
    folder.run(&["a.yaml", "invalid.yaml", "nothing.yaml", "-o", "out"]).exits(3);
}

/// Named data that no delegate refers to stay where they are, with a warning.
#[test]
fn named_data_that_are_not_moved_are_reported() {
    let folder = Folder::new(&[]);
    let example = |name: &str| format!("{}/examples/{name}.yaml", env!("CARGO_MANIFEST_DIR"));
    folder.run(&[&example("named_data_external"), "-q", "-o", "split.pte"]).exits(0);
    // Without delegates, the other keys of a shared .ptd are not needed.
    folder.run(&[&example("linear"), "-q", "-o", "linear.pte"]).exits(0);
    folder.run(&["linear.pte", "--with", "xnnpack.ptd", "--internal-data", "-o", "same.pte"]).exits(0);
    assert_eq!(folder.read("same.pte"), folder.read("linear.pte"));
    // Constants of tensors are moved, and the others are reported.
    let both = std::fs::read_to_string(example("linear")).unwrap();
    let both = format!("named_data: {{key: {{hex: \"00\"}}}}\n{both}");
    folder.write("both.yaml", both);
    folder
        .run(&["both.yaml", "--external-data", "-o", "both.pte"])
        .exits(0)
        .stderr_contains("`key` of `named_data` stay");
    folder.run(&["both.yaml", "--external-data", "--deny-warnings", "-o", "no.pte"]).exits(1);
    folder.run(&["both.yaml", "--external-data", "key.ptd=k*", "-q", "-o", "key.pte"]).exits(0);
    // A key that the graphs of all delegates do not refer to.
    folder.write("more.yaml", "named_data: {more: {hex: \"00\"}}");
    folder.run(&["more.yaml", "-q", "-o", "more.ptd"]).exits(0);
    let inside = ["split.pte", "--with", "xnnpack.ptd", "--with", "more.ptd", "--internal-data", "-o", "inside.pte"];
    folder.run(&inside).exits(0).stderr_contains("not moved, because no delegate refers to it: `more`");
}

#[test]
fn all_findings_of_a_rule_are_printed_on_request() {
    let constants: String =
        (0..34).map(|number| format!("\n      c{number}: {{tensor: float32, data: [1]}}")).collect();
    let yaml = RELU.replace("    values:", &format!("    values:{constants}"));
    let folder = Folder::new(&[("m.yaml", &yaml)]);
    folder.run(&["m.yaml", "-q", "-o", "m.pte"]).exits(0);
    let count = |options: &[&str]| {
        let done = folder.run(&[&["check", "m.pte"], options].concat());
        String::from_utf8(done.stdout).unwrap().matches("note[X-13]: ").count()
    };
    // Without the option, one finding and the number of all.
    assert_eq!([count(&["--all-notes"]), count(&[])], [34, 2]);
}

#[test]
fn weights_can_be_split_into_several_files() {
    let yaml = |keys: &[&str]| {
        let tensor =
            |key: &&str| format!("{key}: {{tensor: float32, sizes: [4], data: {{random: {{seed: {}}}}}}}", key.len());
        let values: Vec<String> = keys.iter().map(tensor).collect();
        format!("methods: {{forward: {{values: {{{}}}}}}}", values.join(", "))
    };
    // 16 bytes each; `c` and `d` are equal.
    let folder =
        Folder::new(&[("m.yaml", &yaml(&["aaa", "bb", "d", "c"])), ("n.yaml", &yaml(&["c", "aaa", "d", "bb"]))]);
    folder.run(&["m.yaml", "-o", "m.pte"]).exits(0);
    folder.run(&["m.yaml", "-o", "small.pte", "--external-data", "w.ptd", "--max-shard-size", "39"]).exits(0);
    assert_eq!(
        folder.names(),
        ["m.pte", "m.yaml", "n.yaml", "small.pte", "w-00001-of-00002.ptd", "w-00002-of-00002.ptd"]
    );
    let shards = ["w-00001-of-00002.ptd", "w-00002-of-00002.ptd"].map(|name| folder.read(name));
    // Independent of their order in the program.
    folder.run(&["n.yaml", "-o", "other.pte", "--external-data", "w.ptd", "--max-shard-size", "39"]).exits(0);
    assert!(shards == ["w-00001-of-00002.ptd", "w-00002-of-00002.ptd"].map(|name| folder.read(name)));
    // Joined, they yield the same program.
    let with = ["--with", "w-00001-of-00002.ptd", "--with", "w-00002-of-00002.ptd"];
    folder.run(&["check", "small.pte", with[0], with[1], with[2], with[3]]).exits(0);
    folder.run(&["small.pte", with[0], with[1], with[2], with[3], "--internal-data", "-o", "back.pte"]).exits(0);
    folder.run(&["back.pte", "-o", "again.pte", "--external-data"]).exits(0);
    // Data that fit one file are not split.
    folder.run(&["m.yaml", "-o", "one.pte", "--external-data", "--max-shard-size", "1K"]).exits(0);
    assert!(is_data(&folder.read("one.ptd")) && folder.read("one.pte") == folder.read("again.pte"));
    folder
        .run(&["m.yaml", "-o", "no.pte", "--external-data", "--max-shard-size", "2X"])
        .exits(2)
        .stderr_contains("unknown unit `X`");
}

#[test]
fn safetensors_are_converted_to_a_ptd_and_back() {
    let folder = Folder::new(&[]);
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/data/linear.safetensors");
    let source = source.to_str().unwrap();
    folder.run(&[source, "-o", "w.ptd"]).exits(0);
    assert!(is_data(&folder.read("w.ptd")));
    folder.run(&["check", "w.ptd"]).exits(0);
    folder.run(&["w.ptd", "-o", "w.safetensors"]).exits(0);
    folder.run(&["w.safetensors", "-o", "again.ptd"]).exits(0);
    assert!(folder.read("w.ptd") == folder.read("again.ptd"));
    // Both files have the same data.
    let yaml = |data: &str| format!("named_data: {{w: {{tensor: float32, data: {{{data}, tensor: weight}}}}}}");
    folder.write("one.yaml", yaml("safetensors: w.safetensors"));
    folder.write("two.yaml", yaml(&format!("safetensors: {source}")));
    let outputs = ["one", "two"].map(|name| {
        folder.run(&[&format!("{name}.yaml"), "-o", "out.ptd"]).exits(0);
        folder.read("out.ptd")
    });
    assert!(outputs[0] == outputs[1]);

    // The format has no dim_order: elements are permuted to the order of the sizes.
    folder.write(
        "t.yaml",
        "named_data: {t: {tensor: uint8, sizes: [2, 3], dim_order: [1, 0], data: [[1, 2, 3], [4, 5, 6]]}}",
    );
    folder.run(&["t.yaml", "-o", "t.safetensors"]).exits(0);
    assert!(folder.read("t.safetensors").ends_with(&[1, 2, 3, 4, 5, 6]));

    // A .ptd with an invalid dim_order, or with sizes that do not match its data.
    folder.run(&["t.yaml", "-o", "t.ptd"]).exits(0);
    for (order, message) in
        [([9, 0], "`t` has an invalid dim_order"), ([1, 0], "`t` has data that do not match its sizes")]
    {
        let mut bytes = folder.read("t.ptd");
        let at = bytes.windows(6).position(|bytes| bytes == [2, 0, 0, 0, 1, 0]).unwrap();
        bytes[at + 4..at + 6].copy_from_slice(&order);
        let at = bytes.windows(12).position(|bytes| bytes == [2, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0]).unwrap();
        bytes[at + 4] = 200;
        folder.write("malformed.ptd", bytes);
        folder.run(&["malformed.ptd", "-o", "malformed.safetensors"]).exits(1).stderr_contains(message);
    }

    folder.write("blob.yaml", "named_data: {b: {hex: '00'}}");
    folder.run(&["blob.yaml", "-o", "b.safetensors"]).exits(1).stderr_contains("`b` is not a tensor");
    folder.write("relu.yaml", RELU);
    folder
        .run(&["relu.yaml", "-o", "r.safetensors"])
        .exits(2)
        .stderr_contains("the input has methods, which a .safetensors cannot store: expected .pte");
    folder.write("short.safetensors", [9, 0, 0, 0, 0, 0, 0, 0, b'{', b'"', b'a']);
    folder.run(&["short.safetensors", "-o", "s.ptd"]).exits(1);
}

/// Builds a `.safetensors` of tensors of one byte.
fn safetensors(tensors: &[(&str, u8)]) -> Vec<u8> {
    let entry = |(at, (name, _)): (usize, &(&str, u8))| {
        format!("\"{name}\": {{\"dtype\": \"U8\", \"shape\": [1], \"data_offsets\": [{at}, {}]}}", at + 1)
    };
    let header = format!("{{{}}}", tensors.iter().enumerate().map(entry).collect::<Vec<_>>().join(", "));
    let mut bytes = (header.len() as u64).to_le_bytes().to_vec();
    bytes.extend(header.bytes().chain(tensors.iter().map(|(_, byte)| *byte)));
    bytes
}

#[test]
fn a_sharded_checkpoint_is_assembled_to_a_ptd() {
    let folder = Folder::new(&[
        (
            "model.safetensors.index.json",
            "{\"metadata\": {\"total_size\": 4}, \"weight_map\": {\"m.a.w\": \"1.safetensors\", \"m.a.b\": \"1.safetensors\", \
             \"m.z.w\": \"2.safetensors\", \"m.z.gone\": \"2.safetensors\"}}",
        ),
        ("all.yaml", "checkpoints: [{safetensors: model.safetensors.index.json}]"),
        (
            "some.yaml",
            "checkpoints: [{safetensors: model.safetensors.index.json, include: ['m.*.w', 'm.*.b'], exclude: '*.gone', \
             rename: {m.: '', m.z.: last.}}]",
        ),
        (
            "alone.yaml",
            "named_data: {a.b: {tensor: uint8, data: [2]}, a.w: {tensor: uint8, data: [1]}, last.w: {tensor: uint8, data: [3]}}",
        ),
    ]);
    // `x` is not in the index.
    folder.write("1.safetensors", safetensors(&[("m.a.b", 2), ("m.a.w", 1), ("x", 9)]));
    folder.write("2.safetensors", safetensors(&[("m.z.w", 3)]));
    folder
        .run(&["all.yaml", "-o", "all.ptd"])
        .exits(1)
        .stderr_contains("2.safetensors has no tensor `m.z.gone`, which the index lists");
    folder.run(&["some.yaml", "-o", "some.ptd"]).exits(0);
    folder.run(&["alone.yaml", "-o", "alone.ptd"]).exits(0);
    assert!(folder.read("some.ptd") == folder.read("alone.ptd"));
}

#[test]
fn outputs_of_two_inputs_do_not_overwrite_each_other() {
    let yaml = |key: &str| format!("named_data: {{{key}: {{external: shared, data: {{hex: \"00\"}}}}}}");
    let folder = Folder::new(&[("a.yaml", &yaml("k")), ("b.yaml", &yaml("l")), ("c.yaml", RELU)]);
    fs::create_dir(folder.path().join("out")).unwrap();
    folder
        .run(&["a.yaml", "b.yaml", "c.yaml", "-o", "out"])
        .exits(2)
        .stderr_contains("out/shared.ptd; assemble them one by one");
    assert_eq!(folder.names(), ["a.yaml", "b.yaml", "c.yaml", "out", "out/c.pte", "out/shared.ptd"]);
    let shared = folder.read("out/shared.ptd");
    assert!(shared.contains(&b'k') && is_data(&shared));
}

#[test]
fn inputs_of_the_same_name_do_not_overwrite_each_other() {
    let folder = Folder::new(&[("model.yaml", RELU), ("model.json", "{\"methods\": {}}")]);
    fs::create_dir(folder.path().join("out")).unwrap();
    folder.run(&["model.yaml", "model.json", "-o", "out"]).exits(2).stderr_contains("model.pte");
    assert_eq!(folder.names(), ["model.json", "model.yaml", "out"]);
}

#[test]
fn a_name_with_dots_keeps_them() {
    let folder = Folder::new(&[("model.v1.5.yaml", RELU)]);
    fs::create_dir(folder.path().join("out")).unwrap();
    folder.run(&["model.v1.5.yaml", "-o", "out"]).exits(0);
    assert_eq!(folder.names(), ["model.v1.5.yaml", "out", "out/model.v1.5.pte"]);
}

#[test]
fn external_data_are_named_like_the_program() {
    for arguments in [
        &["model.yaml", "-o", "model.pte", "--external-data"][..],
        &["--external-data", "model.yaml", "-o", "model.pte"],
        &["-o", "model.pte", "--external-data", "model.yaml"],
        &["model.yaml", "-o", "model.pte", "--external-data", "model.ptd"],
        &["model.yaml", "-o", "model.pte", "--external-data=model.ptd"],
    ] {
        let folder = Folder::new(&[("model.yaml", MODEL)]);
        folder.run(arguments).exits(0);
        assert!(is_program(&folder.read("model.pte")) && is_data(&folder.read("model.ptd")), "{arguments:?}");
        assert_eq!(folder.names(), ["model.ptd", "model.pte", "model.yaml"], "{arguments:?}");
    }
}

#[test]
fn external_data_can_have_another_name() {
    let folder = Folder::new(&[("model.yaml", MODEL)]);
    fs::create_dir(folder.path().join("data")).unwrap();
    folder.run(&["model.yaml", "-o", "model.pte", "--external-data", "data/weights.ptd"]).exits(0);
    assert_eq!(folder.names(), ["data", "data/weights.ptd", "model.pte", "model.yaml"]);
    let done = folder.run(&["model.yaml", "--external-data", "weights.ptd"]).exits(0);
    assert!(is_program(&done.stdout) && is_data(&folder.read("weights.ptd")));
}

#[test]
fn external_data_of_a_program_on_standard_output_need_a_name() {
    let folder = Folder::new(&[("model.yaml", MODEL)]);
    let done = folder.run(&["model.yaml", "--external-data"]).exits(2).stderr_contains("--external-data FILE.ptd");
    assert!(done.stdout.is_empty());
    assert_eq!(folder.names(), ["model.yaml"]);
}

#[test]
fn an_external_data_file_of_another_extension_is_not_an_input() {
    let folder = Folder::new(&[("model.yaml", MODEL)]);
    // The message must name the option, not a missing input.
    folder.run(&["model.yaml", "-o", "model.pte", "--external-data", "weights.bin"]).exits(2).stderr_contains(".ptd");
    assert_eq!(folder.names(), ["model.yaml"]);
}

#[test]
fn the_default_ptd_is_named_like_the_output() {
    let folder = Folder::new(&[("model.yaml", TAGGED)]);
    folder
        .run(&["model.yaml", "-o", "other.pte"])
        .exits(0)
        .stderr_contains("other.pte")
        .stderr_contains("other.ptd")
        .stderr_contains("lora.ptd");
    assert_eq!(folder.names(), ["lora.ptd", "model.yaml", "other.ptd", "other.pte"]);
}

#[test]
fn tagged_data_are_written_to_the_folder_of_the_program() {
    let folder = Folder::new(&[("model.yaml", TAGGED)]);
    fs::create_dir(folder.path().join("out")).unwrap();
    folder.run(&["model.yaml", "-o", "out"]).exits(0);
    assert_eq!(folder.names(), ["model.yaml", "out", "out/lora.ptd", "out/model.ptd", "out/model.pte"]);
}

#[test]
fn two_outputs_of_the_same_name_are_an_error() {
    let folder = Folder::new(&[("model.yaml", TAGGED), ("same.yaml", &TAGGED.replace("lora", "same"))]);
    folder.run(&["model.yaml", "-o", "lora.pte"]).exits(2).stderr_contains("lora.ptd");
    folder.run(&["same.yaml", "-o", "same.pte"]).exits(2).stderr_contains("same.ptd");
    folder
        .run(&["model.yaml", "-o", "x.ptd", "--to", "pte", "--external-data", "x.ptd"])
        .exits(2)
        .stderr_contains("x.ptd");
    folder.run(&["model.yaml", "-o", "x.pte", "--external-data", "./lora.ptd"]).exits(2).stderr_contains("lora.ptd");
    assert_eq!(folder.names(), ["model.yaml", "same.yaml"]);
}

#[test]
fn an_output_never_overwrites_its_input() {
    let folder = Folder::new(&[("model.yaml", RELU)]);
    folder.run(&["model.yaml", "-o", "model.yaml"]).exits(2).stderr_contains("model.yaml");
    assert_eq!(folder.read("model.yaml"), RELU.as_bytes());
}

#[test]
fn the_extension_of_the_output_must_match_the_input() {
    let folder = Folder::new(&[("model.yaml", RELU), ("weights.yaml", WEIGHTS)]);
    folder.run(&["model.yaml", "-o", "model.ptd"]).exits(2).stderr_contains("has methods");
    folder.run(&["weights.yaml", "-o", "weights.pte"]).exits(2).stderr_contains("no methods");
    folder.run(&["model.yaml", "--to", "ptd"]).exits(2).stderr_contains("has methods");
    folder.run(&["weights.yaml", "--to", "pte"]).exits(2).stderr_contains("no methods");
    assert_eq!(folder.names(), ["model.yaml", "weights.yaml"]);
}

#[test]
fn an_unknown_extension_needs_a_format() {
    let folder = Folder::new(&[("model.yaml", RELU)]);
    for name in ["model.foo", "model.v1.5", "new.yaml", "new.json", "model.hex.txt", ".yaml"] {
        let done = folder.run(&["model.yaml", "-o", name]).exits(2).stderr_contains("--to FORMAT");
        done.stderr_contains("expected .pte, .ptd, .bpte");
    }
    assert_eq!(folder.names(), ["model.yaml"]);
    folder.run(&["model.yaml", "-o", "model.foo", "--to", "pte"]).exits(0);
    assert!(is_program(&folder.read("model.foo")));
    // Devices and pipes have no extension.
    folder.run(&["model.yaml", "-o", "model"]).exits(0);
    folder.run(&["model.yaml", "-o", "MODEL.PTE"]).exits(0);
    assert!(is_program(&folder.read("model")) && is_program(&folder.read("MODEL.PTE")));
    folder.run(&["model.yaml", "--to", "foo"]).exits(2).stderr_contains("pte, ptd, bpte");
    // The extension of a folder is not that of its files.
    fs::create_dir(folder.path().join("out.v1")).unwrap();
    folder.run(&["model.yaml", "-o", "out.v1"]).exits(0);
    assert!(is_program(&folder.read("out.v1/model.pte")));
}

#[test]
fn a_format_does_not_allow_to_overwrite_sources() {
    let folder = Folder::new(&[("model.yaml", RELU), ("other.YML", "x"), ("other.json", "x"), ("w.yaml", WEIGHTS)]);
    for name in ["other.YML", "other.json", "w.yaml"] {
        folder.run(&["model.yaml", "-o", name, "--to", "pte"]).exits(2).stderr_contains("exists and would be lost");
    }
    folder.run(&["model.yaml", "-o", "model.yaml", "--to", "pte"]).exits(2).stderr_contains("is also an input");
    // Nor other inputs.
    folder.run(&["w.yaml", "-o", "w.ptd"]).exits(0);
    fs::create_dir(folder.path().join("out")).unwrap();
    folder.run(&["model.yaml", "-o", "out/w.pte"]).exits(0);
    let before = folder.read("w.ptd");
    folder.run(&["model.yaml", "--with", "w.ptd", "-o", "w.ptd", "--to", "pte"]).exits(2).stderr_contains("w.ptd");
    let inputs = &["model.yaml", "out/w.pte", "-o", "out"];
    folder.run(inputs).exits(2).stderr_contains("out/w.pte is also an input");
    assert_eq!(folder.read("w.ptd"), before);
    assert_eq!(folder.read("other.json"), b"x");
}

#[test]
fn strip_tests_writes_a_pte_only() {
    let folder = Folder::new(&[("model.yaml", RELU)]);
    folder.run(&["model.yaml", "-o", "model.bpte"]).exits(0);
    folder.run(&["model.yaml", "-o", "model.pte"]).exits(0);
    let refused = [("x.foo", "unknown extension"), ("x.ptd", "found .ptd"), ("x.bpte", "found .bpte")];
    for (name, message) in refused {
        folder.run(&["model.bpte", "--strip-tests", "-o", name]).exits(2).stderr_contains(message);
    }
    folder.run(&["model.bpte", "--strip-tests", "-o", "model.bpte", "--to", "pte"]).exits(2);
    folder.run(&["model.bpte", "--strip-tests", "-o", "x.foo", "--to", "pte"]).exits(0);
    let stdout = folder.run(&["model.bpte", "--strip-tests"]).exits(0).stdout;
    assert!(folder.read("x.foo") == folder.read("model.pte") && stdout == folder.read("model.pte"));
}

#[test]
fn the_summary_has_the_size_of_every_format() {
    let folder = Folder::new(&[("model.yaml", RELU), ("weights.yaml", WEIGHTS)]);
    for (source, name) in [("model", "x.pte"), ("model", "x.bpte"), ("weights", "x.ptd"), ("weights", "x.safetensors")]
    {
        let done = folder.run(&[&format!("{source}.yaml"), "-o", name]).exits(0);
        let size = folder.read(name).len();
        done.stderr_contains(&format!("{name}: {size} bytes"));
    }
}

/// A heading of the options of the main command must not be inherited by options of all commands.
#[test]
fn headings_of_options() {
    let folder = Folder::new(&[]);
    let help = |arguments: &[&str]| String::from_utf8(folder.run(arguments).exits(0).stdout).unwrap();
    for command in ["dump", "check", "annotate", "payload", "schema"] {
        let help = help(&[command, "--help"]);
        assert!(help.contains("--color") && !help.contains("Layout:"), "{help}");
    }
    let help = help(&["--help"]);
    let (options, layout) = help.split_once("\nLayout:\n").expect("the layout options have a heading");
    let (layout, general) = layout.split_once("\nGeneral:\n").expect("options of all commands have a heading");
    assert!(general.contains("--color") && !layout.contains("--color") && !options.contains("--color"));
    assert!(layout.contains("--segment-alignment") && options.contains("--to "));
}

#[test]
fn outputs_are_written_atomically() {
    let folder = Folder::new(&[("model.yaml", TAGGED)]);
    // The last of three targets is a folder.
    fs::create_dir(folder.path().join("lora.ptd")).unwrap();
    folder.run(&["model.yaml", "-o", "model.pte"]).exits(3).stderr_contains("lora.ptd");
    assert_eq!(folder.names(), ["lora.ptd", "model.yaml"]);
    folder.write("model.pte", "\0old");
    folder.run(&["model.yaml", "-o", "model.pte"]).exits(3);
    assert_eq!(folder.read("model.pte"), b"\0old");
    assert_eq!(folder.names(), ["lora.ptd", "model.pte", "model.yaml"]);
}

#[test]
fn an_output_whose_ptd_cannot_be_written_is_not_written() {
    let folder = Folder::new(&[("model.yaml", MODEL)]);
    folder
        .run(&["model.yaml", "-o", "model.pte", "--external-data", "missing/w.ptd"])
        .exits(3)
        .stderr_contains("missing/w.ptd");
    let done = folder.run(&["model.yaml", "--external-data", "missing/w.ptd"]).exits(3);
    assert!(done.stdout.is_empty());
    assert_eq!(folder.names(), ["model.yaml"]);
}

#[test]
fn a_data_file_that_is_too_short_writes_no_output() {
    let folder = Folder::new(&[("short.yaml", "named_data: {a: {file: data.bin, size: 8}}\n"), ("data.bin", "1234")]);
    folder.run(&["short.yaml", "-o", "short.ptd"]).exits(1).stderr_contains("data.bin");
    assert_eq!(folder.names(), ["data.bin", "short.yaml"]);
}

/// Opening a pipe blocks until it is opened for writing, maybe forever.
#[cfg(unix)]
#[test]
fn data_from_a_pipe_are_an_error_without_blocking() {
    let folder = Folder::new(&[("pipe.yaml", "named_data: {a: {file: pipe}}\n")]);
    assert!(Command::new("mkfifo").arg(folder.path().join("pipe")).status().unwrap().success());
    let mut command = folder.command(&["pipe.yaml", "-o", "pipe.ptd"]);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let start = std::time::Instant::now();
    let ended = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break Some(status);
        }
        if start.elapsed() > std::time::Duration::from_secs(5) {
            child.kill().unwrap();
            break None;
        }
        std::thread::sleep(std::time::Duration::from_millis(10));
    };
    assert_eq!(ended.expect("it waits for the pipe").code(), Some(3));
}

#[test]
fn an_empty_source_is_an_error() {
    let folder = Folder::new(&[("empty.yaml", "named_data: {}\n")]);
    folder.run(&["empty.yaml", "-o", "empty.ptd"]).exits(1).stderr_contains("nothing to emit");
    assert_eq!(folder.names(), ["empty.yaml"]);
}

#[test]
fn warnings_and_the_summary_go_to_standard_error_unless_quiet() {
    let folder = Folder::new(&[("model.yaml", &with_warning()), ("invalid.yaml", INVALID)]);
    let done = folder
        .run(&["model.yaml", "-o", "model.pte"])
        .exits(0)
        .stderr_contains("warning[Y-27]: ")
        .stderr_contains("model.pte: ");
    assert!(done.stdout.is_empty());
    for quiet in ["--quiet", "-q"] {
        let done = folder.run(&["model.yaml", "-o", "model.pte", quiet]).exits(0).stderr_is_empty();
        assert!(done.stdout.is_empty());
        folder.run(&["invalid.yaml", "-o", "invalid.pte", quiet]).exits(1).stderr_contains("error[Y-10]: ");
        folder.run(&["nothing.yaml", "-o", "x.pte", quiet]).exits(3).stderr_contains("error: ");
    }
}

#[test]
fn colours_are_as_requested() {
    let folder = Folder::new(&[("invalid.yaml", INVALID)]);
    for (arguments, coloured) in [
        (&["invalid.yaml", "-o", "x.pte"][..], false),
        (&["invalid.yaml", "-o", "x.pte", "--color", "never"], false),
        (&["invalid.yaml", "-o", "x.pte", "--color", "always"], true),
    ] {
        assert_eq!(folder.run(arguments).exits(1).stderr.contains('\x1b'), coloured, "{arguments:?}");
    }
}

#[test]
fn data_larger_than_max_size_are_an_error() {
    let folder = Folder::new(&[("big.yaml", "named_data: {a: {fill: 0, size: 64K}}\n")]);
    folder.run(&["big.yaml", "-o", "big.ptd", "--max-size", "64K"]).exits(0);
    folder
        .run(&["big.yaml", "-o", "big2.ptd", "--max-size", "65535"])
        .exits(1)
        .stderr_contains("the option `max-size`");
    assert_eq!(folder.names(), ["big.ptd", "big.yaml"]);
}

/// Alignment counts for the limit, before the first segment, too, and takes no disk space.
#[test]
fn padding_of_a_large_alignment_counts_for_max_size_and_is_a_hole() {
    let yaml = |blobs: &str| format!("named_data: {{{blobs}}}\nlayout: {{segment_alignment: 1G}}\n");
    let folder = Folder::new(&[
        ("one.yaml", &yaml("a: {fill: 1, size: 5}")),
        ("two.yaml", &yaml("a: {fill: 1, size: 5}, b: {fill: 2, size: 6}")),
    ]);
    for (name, size) in [("one", (1 << 30) + 5), ("two", (2 << 30) + 6)] {
        let (source, target) = (format!("{name}.yaml"), format!("{name}.ptd"));
        let small = folder.run(&[&source, "-o", &target, "--max-size", "512M"]);
        small.exits(1).stderr_contains("the data and their padding").stderr_contains("the option `max-size` raises");
        assert!(!folder.path().join(&target).exists());
        folder.run(&[&source, "-o", &target]).exits(0);
        let written = std::fs::metadata(folder.path().join(&target)).unwrap();
        assert_eq!(written.len(), size);
        #[cfg(target_os = "linux")]
        assert!(std::os::unix::fs::MetadataExt::blocks(&written) * 512 < 1 << 20);
    }
    let mut file = std::fs::File::open(folder.path().join("one.ptd")).unwrap();
    std::io::Seek::seek(&mut file, std::io::SeekFrom::Start(1 << 30)).unwrap();
    let mut bytes = Vec::new();
    std::io::Read::read_to_end(&mut file, &mut bytes).unwrap();
    assert_eq!(bytes, [1; 5]);
    // Both together.
    folder
        .run(&["one.yaml", "two.yaml", "-o", "out/", "--max-size", "2200M"])
        .exits(1)
        .stderr_contains("of all inputs");
}

/// Data of tests, compile specs and overrides count, too; a huge size does not allocate memory.
#[test]
fn all_data_count_for_max_size() {
    let methods = "values: {x: {tensor: uint8, sizes: [100000]}}, inputs: [x], outputs: [x]";
    let test = format!("methods: {{f: {{{methods}, tests: [{{inputs: [{{fill: 0}}]}}]}}}}\n");
    let append = "methods: {f: {outputs: [1]}}\nraw: {append: {fill: 0, size: 100000}}\n";
    let patch = "methods: {f: {outputs: [1]}}\nraw: {patch: [{at: 0, bytes: {fill: 0, size: 100000}}]}\n";
    let spec = "{key: k, value: {fill: 0, size: 100000}}";
    let spec = format!(
        "methods: {{f: {{delegates: {{d: {{backend: B, data: {{hex: ff}}, compile_specs: [{spec}]}}}}, outputs: [1]}}}}\n"
    );
    let sources = [("test.yaml", &*test), ("append.yaml", append), ("patch.yaml", patch), ("spec.yaml", &*spec)];
    let folder = Folder::new(&sources);
    for (name, text) in sources {
        let out = name.replace("yaml", "pte");
        folder.run(&[name, "-o", &out, "--max-size", "99999"]).exits(1).stderr_contains("the option `max-size` raises");
        folder.write("huge.yaml", text.replace("100000", "2000000000000"));
        folder.run(&["huge.yaml", "-o", &out]).exits(1);
    }
    // Each of them fits, all together do not.
    let patch = "{at: 0, bytes: {fill: 0, size: 60000000}}";
    folder.write("many.yaml", format!("methods: {{}}\nraw: {{patch: [{}]}}\n", [patch; 50].join(", ")));
    folder.run(&["many.yaml", "-o", "many.pte"]).exits(1).stderr_contains("expected 67108864 in total at most");
    assert!(!folder.names().iter().any(|name| name.ends_with(".pte")), "{:?}", folder.names());
}

/// Files of weights are merged, shards too.
#[test]
fn files_of_weights_are_merged() {
    let named = |key: &str| format!("named_data: {{{key}: {{tensor: float32, data: [1, 2]}}}}\n");
    let all = "named_data: {a: {tensor: float32, data: [1, 2]}, b: {tensor: float32, data: [3, 4]}, c: {tensor: float32, data: [5, 6]}}\n";
    let folder = Folder::new(&[("all.yaml", all), ("a.yaml", &named("a"))]);
    folder.run(&["all.yaml", "-o", "all.ptd", "-q"]).exits(0);
    folder.run(&["all.yaml", "-o", "s.ptd", "--max-shard-size", "8", "-q"]).exits(0);
    let shard = |number: u32| format!("s-0000{number}-of-00003.ptd");
    folder.run(&[&shard(1), "--with", &shard(2), "--with", &shard(3), "-o", "back.ptd"]).exits(0);
    assert_eq!(folder.read("back.ptd"), folder.read("all.ptd"));
    folder.run(&["a.yaml", "--with", "all.ptd", "-o", "x.ptd"]).exits(1).stderr_contains("duplicate key `a`");
    folder
        .run(&["a.yaml", "--with", &shard(2), "--internal-data", "-o", "x.ptd"])
        .exits(1)
        .stderr_contains("no methods");
}

/// A text file is never an output, whatever its extension; a YAML that `dump` prints replaces no binary file.
#[test]
fn outputs_do_not_replace_sources_and_models() {
    let folder = Folder::new(&[("model.yaml", MODEL), ("text.pte", MODEL), ("script", "#!/bin/sh\n")]);
    folder.run(&["model.yaml", "-o", "model.pte"]).exits(0);
    for output in ["text.pte", "script"] {
        folder.run(&["model.yaml", "-o", output]).exits(2).stderr_contains("exists and would be lost");
    }
    folder.run(&["model.yaml", "-o", "model.pte"]).exits(0);
    folder.run(&["model.yaml", "-o", "other.pte"]).exits(0);
    folder.run(&["dump", "model.pte", "-o", "other.pte"]).exits(2).stderr_contains("unknown extension `.pte`");
    folder.run(&["dump", "model.pte", "-o", "dumped.yaml"]).exits(0);
    folder.run(&["dump", "model.pte", "-o", "dumped.yaml"]).exits(0);
    folder.run(&["dump", "model.pte", "--folder", "x"]).exits(2).stderr_contains("is for `--data extract`");
}

/// Of a file with several documents all outputs are written, or none; the size limit is that of all of them.
#[test]
fn the_documents_of_a_file_are_written_together() {
    let document = "named_data: {a: {fill: 0, size: 1000}}\n";
    let folder = Folder::new(&[
        ("good.yaml", &[document; 3].join("---\n")),
        ("bad.yaml", &[document, "methods: {f: {outputs: [x]}}\n", document].join("---\n")),
        ("same.yaml", &["name: a\n".to_owned() + document, "name: a\n".to_owned() + document].join("---\n")),
        ("warns.yaml", &[document, "methods: {f: {outputs: [1]}}\ndata: {unused: [1]}\n"].join("---\n")),
    ]);
    folder.run(&["bad.yaml", "-o", "out/"]).exits(1).stderr_contains("document 2");
    folder.run(&["same.yaml", "-o", "out/"]).exits(2).stderr_contains("two documents have the output out/a.ptd");
    folder.run(&["warns.yaml", "--deny-warnings", "-o", "out/"]).exits(1).stderr_contains("denied");
    folder.run(&["good.yaml", "--max-size", "2999", "-o", "out/"]).exits(1).stderr_contains("exceed the limit of 2999");
    folder.run(&["good.yaml", "-o", "out"]).exits(2).stderr_contains("write `-o out/` to create it");
    assert!(!folder.path().join("out").exists());
    folder.run(&["good.yaml", "--max-size", "3000", "-o", "out/"]).exits(0);
    assert_eq!(std::fs::read_dir(folder.path().join("out")).unwrap().count(), 3);
    folder.run(&["check", "good.yaml", "--max-size", "999"]).exits(1);
}

/// YAML from strangers reads no file outside of the folder of `--confine`, and an index none outside of its own.
#[test]
fn files_are_confined() {
    let named = |file: &str| format!("named_data: {{a: {{file: {file}}}}}\n");
    let folder = Folder::new(&[
        ("secret.bin", "secret"),
        ("in/a.bin", "public"),
        ("in/inside.yaml", &named("a.bin")),
        ("in/outside.yaml", &named("../secret.bin")),
        ("in/missing.yaml", &named("../missing.bin")),
        ("in/absolute.yaml", &named("/etc/passwd")),
        ("in/index.yaml", "checkpoints: [{safetensors: index.json}]\n"),
        ("in/index.json", r#"{"weight_map": {"a": "../x.safetensors"}}"#),
        ("in/two.yaml", &format!("{}---\n{}", named("a.bin"), named("../secret.bin"))),
    ]);
    let confined = ["--confine", "in", "-o", "out.ptd"];
    folder.run(&[&["in/inside.yaml"], &confined[..]].concat()).exits(0);
    folder.run(&["check", "in/inside.yaml", "--confine", "in"]).exits(0);
    std::fs::remove_file(folder.path().join("out.ptd")).unwrap();
    let confined = |name: &str| {
        let message = "it is not in the folder in, to which files are confined";
        folder.run(&[&[name], &confined[..]].concat()).exits(1).stderr_contains(message);
        let done = folder.run(&["check", name, "--confine", "in"]).exits(1);
        assert!(done.stderr.contains(message), "{name}: {}", done.stderr);
    };
    for name in ["in/outside.yaml", "in/missing.yaml", "in/absolute.yaml"] {
        confined(name);
    }
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink("../secret.bin", folder.path().join("in/link.bin")).unwrap();
        folder.write("in/link.yaml", named("link.bin"));
        confined("in/link.yaml");
    }
    std::fs::create_dir(folder.path().join("out")).unwrap();
    folder.run(&["in/two.yaml", "--confine", "in", "-o", "out"]).exits(1).stderr_contains("confined");
    folder.run(&["in/inside.yaml", "--confine", "nowhere", "-o", "x.ptd"]).exits(2).stderr_contains("existing folder");
    folder
        .run(&["in/index.yaml", "-o", "out.ptd"])
        .exits(1)
        .stderr_contains("its tensor `a` is in `../x.safetensors`; expected a file in the folder of the index");
}

/// Every layout option has the effect of its key, and has an effect.
#[test]
fn layout_options_equal_keys() {
    let folder = Folder::new(&[("model.yaml", MODEL)]);
    let default = ["model.yaml", "-q", "--external-data", "default.ptd", "-o", "default.pte"];
    folder.run(&default).exits(0);
    folder.run(&["model.yaml", "-q", "-o", "inside.pte"]).exits(0);
    let mut failures = Vec::new();
    let mut compare = |option: &str, value: &str, file: &str, unlike: &str, more: &[&str]| {
        let key = option.replace('-', "_");
        folder.write("keyed.yaml", format!("{MODEL}layout: {{{key}: {value}}}\n"));
        let extension = Path::new(file).extension().unwrap().to_str().unwrap();
        let outputs = |name: &str| [format!("{name}.pte"), format!("{name}.ptd")];
        let [by_key, by_key_data] = outputs("by_key");
        let [by_option, by_option_data] = outputs("by_option");
        let external = |data: &str| match extension {
            "ptd" => vec!["--external-data".to_owned(), data.to_owned()],
            _ => Vec::new(),
        };
        let run = |source: &str, out: &str, data: &str, option: Option<(&str, &str)>| {
            let mut arguments: Vec<String> = [source, "-q", "-o", out].map(str::to_owned).to_vec();
            arguments.extend(external(data));
            arguments.extend(more.iter().map(|word| (*word).to_owned()));
            arguments.extend(option.iter().flat_map(|(name, value)| [format!("--{name}"), (*value).to_owned()]));
            folder.run(&arguments.iter().map(String::as_str).collect::<Vec<_>>()).exits(0);
        };
        run("keyed.yaml", &by_key, &by_key_data, None);
        run("model.yaml", &by_option, &by_option_data, Some((option, value)));
        let (key_file, option_file) =
            (folder.read(&format!("by_key.{extension}")), folder.read(&format!("by_option.{extension}")));
        if key_file != option_file {
            failures.push(format!("--{option} {value} differs from {key}: {value}"));
        }
        if option_file == folder.read(unlike) {
            failures.push(format!("--{option} {value} has no effect"));
        }
    };
    for (option, value) in [
        ("segment-alignment", "4096"),
        ("segment-alignment", "page"),
        ("tensor-alignment", "64"),
        ("base-alignment", "16K"),
        ("builder", "flatc"),
        ("header", "24"),
        ("constants", "inline"),
        ("delegates", "inline"),
    ] {
        compare(option, value, "x.pte", "inside.pte", &[]);
    }
    compare("delegate-alignment", "1024", "x.pte", "inside.pte", &["--delegates", "inline"]);
    compare("header", "none", "x.pte", "inside.pte", &["--delegates", "inline", "--constants", "inline"]);
    compare("segment-alignment", "4096", "x.ptd", "default.ptd", &[]);
    compare("ptd-builder", "exir", "x.ptd", "default.ptd", &[]);
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn an_option_overrides_the_key() {
    let folder = Folder::new(&[("model.yaml", MODEL)]);
    folder.write("keyed.yaml", format!("{MODEL}layout: {{segment_alignment: 4096}}\n"));
    folder.run(&["model.yaml", "-o", "plain.pte", "--segment-alignment", "256"]).exits(0);
    folder.run(&["keyed.yaml", "-o", "keyed.pte", "--segment-alignment", "256"]).exits(0);
    assert_eq!(folder.read("plain.pte"), folder.read("keyed.pte"));
}

#[test]
fn paths_are_relative_to_the_folder_of_the_source() {
    let folder = Folder::new(&[]);
    fs::create_dir(folder.path().join("sources")).unwrap();
    folder.write("sources/w.yaml", "named_data: {a: {file: w.bin}}\n");
    folder.write("sources/w.bin", "1234");
    folder.run(&["sources/w.yaml", "-o", "w.ptd"]).exits(0);
    assert!(is_data(&folder.read("w.ptd")));
    // On standard input: relative to the current folder.
    folder.write("v.bin", "1234");
    let done = folder.run_with_stdin(&["-"], "named_data: {a: {file: v.bin}}\n").exits(0);
    assert!(is_data(&done.stdout));
}

#[cfg(unix)]
#[test]
fn a_new_output_has_the_permissions_of_any_new_file() {
    use std::os::unix::fs::PermissionsExt;
    let folder = Folder::new(&[("model.yaml", RELU)]);
    folder.run(&["model.yaml", "-o", "model.pte"]).exits(0);
    let mode = |name: &str| fs::metadata(folder.path().join(name)).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode("model.pte"), mode("model.yaml"));
}

/// Messages must not depend on the order of hash maps.
#[test]
fn messages_are_deterministic() {
    let folder = Folder::new(&[("invalid.yaml", &RELU.replace("args: [x]", "args: [z]"))]);
    let first = folder.run(&["invalid.yaml", "-o", "x.pte"]).exits(1).stderr;
    for _ in 0..8 {
        assert_eq!(folder.run(&["invalid.yaml", "-o", "x.pte"]).exits(1).stderr, first);
    }
}

#[test]
fn definitions_and_documents_yield_families_of_files() {
    let text = "name: one\nnamed_data: {a: {hex: '${A}'}}\n---\nnamed_data: {a: {hex: '${B:02}'}}\n";
    let folder = Folder::new(&[("family.yaml", text)]);
    fs::create_dir(folder.path().join("out")).unwrap();
    folder.run(&["family.yaml", "-o", "out", "-D", "A=01", "-q"]).exits(0);
    let last = |name: &str| folder.read(name).last().copied();
    assert_eq!((last("out/one.ptd"), last("out/family-2.ptd")), (Some(1), Some(2)));
    folder
        .run(&["family.yaml", "-o", "out", "-D", "A=01", "-D", "B=07", "-D", "C=1"])
        .exits(0)
        .stderr_contains("unused definition `-D C`");
    assert_eq!(last("out/family-2.ptd"), Some(7));

    folder
        .run(&["family.yaml", "-o", "out"])
        .exits(1)
        .stderr_contains("family.yaml:2:24")
        .stderr_contains("document 1: undefined variable")
        .stderr_contains("-D A=VALUE");
    folder
        .run(&["family.yaml", "-o", "x.ptd", "-D", "A=01"])
        .exits(2)
        .stderr_contains("has 2 documents, which need an output folder");
    folder.run(&["family.yaml", "-o", "out", "-D", "A"]).exits(2).stderr_contains("expected NAME=VALUE");
    // The errors of all documents are reported, with lines of the file, and nothing is written.
    folder.write(
        "mixed.yaml",
        "named_data: {a: {hex: zz}}\n---\nnamed_data: {a: {hex: zz}}\n---\nname: c\nnamed_data: {a: {hex: ff}}\n",
    );
    folder
        .run(&["mixed.yaml", "-o", "out", "-q"])
        .exits(1)
        .stderr_contains("mixed.yaml:1:")
        .stderr_contains("mixed.yaml:3:");
    assert!(!folder.path().join("out/c.ptd").exists());
    folder.run(&["check", "family.yaml", "-D", "A=01"]).exits(0);
    for name in ["../x", ".x", "a/b", ""] {
        folder.write("name.yaml", format!("name: '{name}'\nnamed_data: {{a: {{hex: ff}}}}\n"));
        folder.run(&["name.yaml", "-o", "out"]).exits(1).stderr_contains("expected a file name");
    }
}

/// `"${N}"` is YAML for formatters and other tools.
#[test]
fn a_variable_in_quotes_is_a_number() {
    let text = RELU.replace("[2, 2]", "[\"${N:2}\", '${M:2}']").replace("args: [x]", "args: [\"x\"]");
    let text = format!("name: '${{NAME:7}}'\n{}raw: {{fill: \"${{FILL:0}}\"}}\n", text.trim_start());
    let folder = Folder::new(&[("model.yaml", RELU), ("quoted.yaml", &text)]);
    assert!(serde_yaml::from_str::<serde_yaml::Value>(&text).is_ok());
    folder.run(&["model.yaml", "-o", "model.pte"]).exits(0);
    folder.run(&["quoted.yaml", "-o", "out/"]).exits(0);
    // Where a string is expected, it is one.
    assert_eq!(folder.read("out/7.pte"), folder.read("model.pte"));
    let text = text.replace("${M:2}", "${M:2}0").replace("'${NAME:7}'", "x");
    folder.write("text.yaml", text);
    folder.run(&["text.yaml", "-o", "out/"]).exits(1).stderr_contains("expected a size, found the string `20`");
    folder.run(&["quoted.yaml", "-o", "out/", "-D", "N=x"]).exits(1).stderr_contains("found the string `x`");
    folder.run(&["check", "quoted.yaml", "-D", "N=4"]).exits(0);
}

/// Messages of a file with one document have no number.
#[test]
fn messages_name_the_document_of_a_file_with_several() {
    let (relu, typo) = (RELU, with_warning());
    let invalid = RELU.replace("args: [x], out: y", "args: [{index: 99}, y, y]");
    let folder = Folder::new(&[
        ("several.yaml", &format!("{relu}---{typo}---{invalid}---\nmethods: {{}}\nfoo: 1\n---\nnamed_data: {{}}\n")),
        ("one.yaml", &invalid),
    ]);
    for (arguments, expected) in [
        (&["several.yaml", "-o", "out/"][..], "warning: several.yaml: document 3: invalid[I-3]"),
        (&["check", "several.yaml"], "several.yaml: document 3: invalid[I-3]"),
    ] {
        let done = folder.run(arguments).exits(1);
        let all = format!("{}{}", String::from_utf8_lossy(&done.stdout), done.stderr);
        for expected in [
            expected,
            "warning[Y-27]: document 2: the runtime registers no operator `aten::rleu.out`\n  --> several.yaml:20:",
            "error[Y-5]: document 4: unknown key `foo`",
            ": document 5: nothing to emit",
        ] {
            assert!(all.contains(expected), "{expected}\n{all}");
        }
        assert!(!all.contains("document 1"), "{all}");
    }
    let json = folder.run(&["check", "--json", "several.yaml"]).exits(1).stdout;
    assert!(String::from_utf8(json).unwrap().contains("\"document\": 3"));
    let done = folder.run(&["one.yaml", "-o", "one.pte"]).exits(0).stderr_contains("warning: one.yaml: invalid[I-3]");
    assert!(!done.stderr.contains("document"), "{}", done.stderr);
}

#[test]
fn overrides_apply_to_every_kind_of_file() {
    let text = "methods: {forward: {values: {w: {tensor: float32, data: [1]}, x: {tensor: float32, sizes: [1]}}, inputs: [x], \
         tests: [{inputs: [[1]]}]}}\n\
         raw: {set: {version: 7}, fill: 0xaa, ptd: {set: {header.magic: FH99}, append: {hex: ee}}, \
         bpte: {set: {identifier: BP99, version: 3}, truncate: 300}}\n";
    let folder = Folder::new(&[("model.yaml", text)]);
    folder.run(&["model.yaml", "-o", "model.pte", "--external-data"]).exits(0);
    let ptd = folder.read("model.ptd");
    assert_eq!((&ptd[8..12], ptd.last()), (&b"FH99"[..], Some(&0xee)));
    folder.run(&["model.yaml", "-o", "model.bpte"]).exits(0);
    let bpte = folder.read("model.bpte");
    assert_eq!((&bpte[4..8], bpte.len()), (&b"BP99"[..], 300));
    folder.run(&["model.yaml", "-o", "model.pte"]).exits(0);
    let pte = folder.read("model.pte");
    let data = pte.len() - 4;
    assert_eq!((pte[data - 1], &pte[data..]), (0xaa, &1f32.to_le_bytes()[..]));
    folder.write("invalid.yaml", text.replace("identifier", "identifiar"));
    folder.run(&["invalid.yaml", "-o", "invalid.bpte"]).exits(1).stderr_contains("raw.bpte: `identifiar`");
}

/// Data of another element type or dim_order are converted in blocks, for any size.
#[test]
fn large_data_are_converted_and_permuted() {
    let (rows, columns) = (3000u64, 1100u64);
    let number = |row: u64, column: u64| ((row * 31 + column * 7) % 2000) as f32 / 8.0;
    let all = (0..rows).flat_map(|row| (0..columns).map(move |column| (row, column)));
    let numbers: Vec<u8> = all.flat_map(|(row, column)| number(row, column).to_le_bytes()).collect();
    let folder = Folder::new(&[]);
    folder.write("w.bin", &numbers);
    folder.write(
        "model.yaml",
        format!(
            "methods: {{forward: {{values: {{\
             half: {{tensor: float16, sizes: [{rows}, {columns}], data: {{file: w.bin, dtype: float32}}}}, \
             permuted: {{tensor: float32, sizes: [{rows}, {columns}], dim_order: [1, 0], data: {{npy: w.npy}}}}}}, \
             outputs: [half, permuted]}}}}"
        ),
    );
    let header = format!("{{'descr': '<f4', 'fortran_order': False, 'shape': ({rows}, {columns}), }}");
    let header = format!("{header:<117}\n");
    folder.write("w.npy", [&b"\x93NUMPY\x01\0\x76\0"[..], header.as_bytes(), &numbers].concat());
    folder.run(&["model.yaml", "-o", "model.pte", "-q"]).exits(0);
    let pte = folder.read("model.pte");
    let count = (rows * columns) as usize;
    let permuted = &pte[pte.len() - 4 * count..];
    for (row, column) in [(0, 0), (1, 0), (0, 1), (1234, 567), (rows - 1, columns - 1)] {
        let at = 4 * (column * rows + row) as usize;
        assert_eq!(permuted[at..at + 4], number(row, column).to_le_bytes(), "{row} {column}");
    }
    let start = pte.len() - 4 * count - (2 * count).next_multiple_of(16);
    let half = &pte[start..start + 2 * count];
    for (row, column) in [(0, 0), (1, 0), (2999, 1099)] {
        let at = 2 * (row * columns + column) as usize;
        assert_eq!(half[at..at + 2], half_bits(number(row, column)).to_le_bytes(), "{row} {column}");
    }
    folder.write("narrow.yaml", "methods: {forward: {values: {w: {tensor: int8, sizes: [2], data: {file: n.bin, dtype: int64}}}, outputs: [w]}}");
    folder.write("n.bin", [1i64, 300].map(i64::to_le_bytes).concat());
    folder
        .run(&["narrow.yaml", "-o", "narrow.pte"])
        .exits(1)
        .stderr_contains("n.bin: element 1 cannot be converted: 300 is out of range for int8");
    assert!(!folder.names().contains(&"narrow.pte".to_owned()));
}

/// Bits of a float16, for a normal number that it represents exactly.
fn half_bits(x: f32) -> u16 {
    if x == 0.0 { 0 } else { (((x.to_bits() >> 23) - 112) << 10) as u16 | (x.to_bits() >> 13 & 0x3ff) as u16 }
}

/// Values with the names and types of the arguments make the example of each operator a program.
#[test]
fn the_examples_of_operators_assemble() {
    let output = Command::new(env!("CARGO_BIN_EXE_pte-emit")).args(["ops", "--json"]).output().unwrap();
    assert!(output.status.success());
    let operators: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    // Operations of XNNPACK graphs are listed, too.
    let is_operator = |operator: &&serde_json::Value| !operator["name"].as_str().unwrap().starts_with("xnnpack::");
    let operators: Vec<&serde_json::Value> = operators.as_array().unwrap().iter().filter(is_operator).collect();
    assert_eq!(operators.len(), pte_emit::operators::OperatorSet::new().names().count());
    let value = |kind: &str| match kind.trim_end_matches('?') {
        "Tensor" => "{tensor: float32, sizes: [1], mutable: true}",
        "Scalar" | "int" | "ScalarType" | "MemoryFormat" => "1",
        "float" => "1.0",
        "bool" => "true",
        "str" => "{string: word}",
        "Tensor[]" => "{tensor_list: []}",
        "Tensor?[]" => "{optional_tensor_list: [null]}",
        "int[]" => "{int_list: [1]}",
        "float[]" => "{double_list: [1.0]}",
        "bool[]" => "{bool_list: [true]}",
        other => panic!("{other}"),
    };
    for operator in operators {
        let text = |object: &serde_json::Value, key: &str| object[key].as_str().unwrap().to_owned();
        let mut values = String::new();
        for argument in operator["arguments"].as_array().unwrap() {
            let kind = if argument["role"] == "out" { "Tensor".to_owned() } else { text(argument, "type") };
            values += &format!("      {}: {}\n", text(argument, "name"), value(&kind));
        }
        if let Some(kind) = operator["returns"].as_str() {
            values += &format!("      result: {}\n", value(kind));
        }
        let example = text(operator, "example");
        let yaml = format!("methods:\n  forward:\n    values:\n{values}    instructions:\n      {example}\n");
        let source = pte_emit::Model::from_yaml("example.yaml", &yaml, "");
        let assembly = source.assemble(&pte_emit::AssembleOptions::default());
        // No operator accepts the sizes; the number and kinds of the arguments are right.
        match assembly {
            Ok(assembly) => {
                let warnings = assembly.warnings.to_string();
                assert!(warnings.lines().all(|line| line.contains("unused value")), "{yaml}{warnings}");
            }
            Err(error) => {
                let error = error.to_string();
                assert!(error.contains("does not take") || error.contains("is declared with"), "{yaml}{error}");
            }
        }
    }
}

/// Two methods, of which the second has the payload of the first, and another; names need escapes.
const DELEGATES: &str = "
data: {p: {text: some payload}}
methods:
  forward:
    delegates: {d: {backend: Mine, data: p}}
    values: {x: {tensor: float32, sizes: [1]}, y: {tensor: float32, sizes: [1]}}
    inputs: [x]
    outputs: [y]
    instructions: [{delegate: d, args: [x, y]}]
  other:
    delegates:
      same: {backend: Mine, data: p}
      \"e\\x1b[2J\": {backend: VulkanBackend, data: {hex: '0000000056483030'}}
";

#[test]
fn payloads_are_listed() {
    let folder = Folder::new(&[("m.yaml", DELEGATES), ("none.yaml", RELU)]);
    folder.run(&["m.yaml", "-o", "m.pte", "-q"]).exits(0);
    let list = |arguments: &[&str]| {
        let done = folder.run(&[&["payload", "list"], arguments].concat()).exits(0);
        String::from_utf8(done.stdout).unwrap()
    };
    let yaml = "forward/d: Mine, unknown format, 12 bytes, 1 call\n\
                other/same: Mine, unknown format, 12 bytes, 0 calls, same data as forward/d\n\
                other/e\\u{1b}[2J: VulkanBackend, Vulkan, 8 bytes, 0 calls\n";
    assert_eq!(list(&["m.yaml"]), yaml);
    let file = yaml.replace("forward/d", "forward/part0").replace("other/same", "other/part0");
    assert_eq!(list(&["m.pte"]), file.replace("other/e\\u{1b}[2J", "other/part1"));
    let json: serde_json::Value = serde_json::from_str(&list(&["--json", "m.yaml"])).unwrap();
    assert_eq!((&json[1]["same_as"], &json[2]["delegate"]), (&"forward/d".into(), &"e\x1b[2J".into()));
    assert!(!list(&["--json", "m.yaml"]).contains('\x1b'));
    assert_eq!((list(&["none.yaml"]), list(&["--json", "none.yaml"])), (String::new(), "[]\n".into()));
}

#[test]
fn payloads_are_shown() {
    let folder = Folder::new(&[("m.yaml", DELEGATES)]);
    let show = |arguments: &[&str]| {
        let done = folder.run(&[&["payload", "show", "m.yaml"], arguments].concat()).exits(0);
        String::from_utf8(done.stdout).unwrap()
    };
    let all = show(&[]);
    assert!(all.contains("\"other/same\":\n  backend: Mine\n  calls: 0\n  same_as: \"forward/d\"\n"), "{all}");
    assert!(all.contains("problem: \"a payload of 8 bytes, smaller than its header\""), "{all}");
    // A payload that is named is described, whatever it shares.
    assert!(show(&["other/same"]).contains("  strings: [\"some payload\"]\n"));
    assert_eq!(show(&["other/0"]), show(&["other/same"]));
    let json: serde_json::Value = serde_json::from_str(&show(&["--json"])).unwrap();
    assert_eq!((&json[0]["strings"][0], &json[1]["same_as"]), (&"some payload".into(), &"forward/d".into()));
    let unknown = folder.run(&["payload", "show", "m.yaml", "forward/1"]).exits(1);
    unknown.stderr_contains("unknown payload `forward/1`; there are `forward/d`, `other/same`, `other/e\\u{1b}[2J`");
}

#[test]
fn payloads_are_extracted() {
    let folder = Folder::new(&[("m.yaml", DELEGATES), ("none.yaml", RELU)]);
    folder.run(&["payload", "extract", "m.yaml", "-o", "p.bin"]).exits(1).stderr_contains("expected METHOD/DELEGATE");
    folder.run(&["payload", "extract", "none.yaml", "-o", "p.bin"]).exits(1).stderr_contains("there are no payloads");
    folder.run(&["payload", "extract", "m.yaml", "forward/d", "-o", "m.yaml"]).exits(2);
    assert_eq!(folder.names(), ["m.yaml", "none.yaml"]);
    folder.run(&["payload", "extract", "m.yaml", "forward/d", "-o", "p.bin"]).exits(0);
    assert_eq!(folder.read("p.bin"), b"some payload");
    assert_eq!(folder.run(&["payload", "extract", "m.yaml", "other/0", "-o", "-"]).exits(0).stdout, b"some payload");
    folder.run(&["payload", "extract", "m.yaml", "other/0", "-o", "missing/p.bin"]).exits(3);
    let payload = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/payloads/vulkan.bin");
    folder.run(&["payload", "show", payload]).exits(1).stderr_contains("found a payload of the format Vulkan");
}

#[test]
fn dump_names_the_formats_of_payloads() {
    let folder = Folder::new(&[("m.yaml", DELEGATES)]);
    folder.run(&["m.yaml", "-o", "m.pte", "-q"]).exits(0);
    let dump = String::from_utf8(folder.run(&["dump", "--exact", "m.pte"]).exits(0).stdout).unwrap();
    let comment = "# The payload of part1 is not of the format Vulkan: a payload of 8 bytes, smaller than its header.";
    assert!(dump.contains(comment), "{dump}");
}

#[test]
fn sizes_have_each_level_once_and_no_row_of_nothing() {
    let folder = Folder::new(&[("model.yaml", MODEL), ("empty.pte", "")]);
    let done = folder.run(&["size", "--format", "csv", "-d", "kind", "empty.pte"]).exits(0);
    assert_eq!(done.stdout, b"file,kind,bytes\n");
    folder.run(&["size", "-d", "kind,segment,kind", "model.yaml"]).exits(2).stderr_contains("the level kind twice");
}

#[test]
fn a_size_has_a_limit_for_each_file() {
    let external = "methods: {forward: {values: {w: {tensor: float32, sizes: [1024], external: w, data: {fill: 1}}}, outputs: [w]}}";
    let folder = Folder::new(&[("model.yaml", external), ("more.yaml", &external.replace("1024", "2048"))]);
    folder.run(&["size", "model.yaml", "--max-bytes", "8K"]).exits(0).stderr_is_empty();
    let done = folder.run(&["size", "model.yaml", "--max", "2K"]).exits(1);
    let done = done.stderr_contains("error: w.ptd: found 4").stderr_contains(" bytes, expected at most 2048");
    assert!(!done.stderr.contains("model.pte") && String::from_utf8(done.stdout).unwrap().contains("model.pte: "));
    folder.run(&["size", "model.yaml", "--max", "2KB"]).exits(2).stderr_contains("unknown unit `KB`");
    // A budget has the data beside the program, too.
    for (limit, code) in [("external_data=+4K", 0), ("external_data=+4095", 1)] {
        folder.run(&["diff", "model.yaml", "more.yaml", "--budget", limit]).exits(code);
    }
}

/// YAML has no file of its own name with another extension.
#[test]
fn the_title_of_yaml_is_its_name() {
    let folder = Folder::new(&[("model.yaml", MODEL)]);
    let text = String::from_utf8(folder.run(&["inspect", "model.yaml"]).exits(0).stdout).unwrap();
    assert!(text.starts_with("model.yaml: assembles to a program (.pte), "), "{text}");
    folder.run(&["model.yaml", "-o", "model.pte", "-q"]).exits(0);
    let text = String::from_utf8(folder.run(&["inspect", "model.pte"]).exits(0).stdout).unwrap();
    assert!(text.starts_with("model.pte: program (.pte), "), "{text}");
}

#[test]
fn names_of_processors_and_files_in_other_places_have_help() {
    let folder = Folder::new(&[("model.yaml", MODEL)]);
    for abi in ["arm64", "aarch64", "x86-64"] {
        let done = folder.run(&["memory", "model.yaml", "--abi", abi]).exits(2);
        let done = done.stderr_contains("expected `64` for 64-bit x86 and Arm, with `--processor arm64`");
        assert!(!done.stderr.contains("similar"), "{}", done.stderr);
    }
    folder.run(&["memory", "model.yaml", "--abi", "riscv"]).exits(2).stderr_contains("[possible values: 64, arm32]");
    for (command, known) in [("weights", "list, set"), ("metadata", "get, set, remove"), ("payload", "list, show, ")] {
        folder.run(&[command]).exits(2).stderr_contains("\nCommands:\n");
        folder.run(&[command, "model.yaml"]).exits(2).stderr_contains(&format!("tip: the subcommands are {known}"));
    }
}

#[test]
fn inspect_prints_the_files_that_are_readable() {
    let folder = Folder::new(&[("model.yaml", MODEL), ("cut.pte", "")]);
    let done = folder.run(&["inspect", "model.yaml", "cut.pte", "model.yaml"]).exits(1).stderr_contains("cut.pte");
    assert_eq!(String::from_utf8(done.stdout).unwrap().matches("program (.pte)").count(), 2);
    let done = folder.run(&["inspect", "missing.pte", "model.yaml", "cut.pte", "--json"]).exits(3);
    assert_eq!(serde_json::from_slice::<serde_json::Value>(&done.stdout).unwrap()["format"], "pte");
    assert!(done.stderr.contains("missing.pte") && done.stderr.contains("cut.pte"), "{}", done.stderr);
}

#[test]
fn files_with_a_damaged_identifier_are_binary_by_their_names() {
    let folder = Folder::new(&[("model.yaml", MODEL)]);
    folder.run(&["model.yaml", "-o", "model.pte"]).exits(0);
    let mut bytes = folder.read("model.pte");
    bytes[4..8].copy_from_slice(&[0xff; 4]);
    folder.write("damaged.pte", &bytes);
    let size = folder.run(&["size", "damaged.pte", "-d", "segment"]).exits(0);
    let title = format!("damaged.pte: {} bytes\n", bytes.len());
    assert!(size.stdout.starts_with(title.as_bytes()), "{}", String::from_utf8_lossy(&size.stdout));
    for command in ["inspect", "memory"] {
        let done = folder.run(&[command, "damaged.pte"]);
        assert_ne!(done.code, Some(0), "{command}");
        assert!(!done.stderr.contains("UTF-8"), "{command}: {}", done.stderr);
    }
}
