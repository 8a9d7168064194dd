//! Errors of the command line: exit statuses (1: invalid input, 2: invalid command line, 3: I/O), and the file that a
//! message names.

use std::fs::{self, File};

use crate::support::folder::{Done, Folder, RELU};

/// Program with data in a `.ptd`.
const EXTERNAL: &str = "methods: {forward: {values: {w: {tensor: float32, external: true, data: [1, 2]}}, inputs: [], \
    outputs: [y], instructions: [{kernel: aten::neg.out, args: [w], out: y}]}}\n";

/// Program with data larger than those that `dump` prints as numbers by default.
const LARGE: &str = "methods: {forward: {values: {w: {tensor: float32, sizes: [100], data: {iota: {start: 1}}}}}}\n";

/// Header of an `.npy` of int64.
fn npy(numbers: &[i64]) -> Vec<u8> {
    let header = format!("{{'descr': '<i8', 'fortran_order': False, 'shape': ({},), }}", numbers.len());
    let data = numbers.iter().flat_map(|number| number.to_le_bytes());
    [&b"\x93NUMPY\x01\0\x76\0"[..], format!("{header:<117}\n").as_bytes()].concat().into_iter().chain(data).collect()
}

#[test]
fn a_safetensors_is_an_invalid_input_of_check() {
    let folder = Folder::new(&[("w.yaml", "named_data: {w: {tensor: float32, sizes: [1], data: [1]}}")]);
    folder.run(&["w.yaml", "-o", "w.safetensors"]).exits(0);
    let message = "no runtime loads a .safetensors file";
    folder.run(&["check", "w.safetensors"]).exits(1).stderr_contains(&format!("w.safetensors: {message}"));
    folder.run_with_stdin(&["check", "-"], folder.read("w.safetensors")).exits(1).stderr_contains(message);
    folder.run(&["annotate", "w.safetensors"]).exits(1);
    folder.run(&["dump", "w.safetensors"]).exits(1);
}

#[test]
fn a_safetensors_in_place_of_a_ptd_is_converted_first() {
    let folder = Folder::new(&[("m.yaml", EXTERNAL)]);
    folder.run(&["m.yaml", "-o", "m.pte"]).exits(0);
    folder.run(&["m.ptd", "-o", "w.safetensors"]).exits(0);
    folder.write("damaged.safetensors", "no header");
    for command in [
        &["check", "m.pte"][..],
        &["m.pte", "-o", "x.pte", "--internal-data"],
        &["weights", "list", "m.pte"],
        &["weights", "rename", "m.pte", "w=v", "-o", "x.pte"],
        &["optimize", "m.pte", "-o", "x.pte"],
        &["memory", "m.pte"],
        &["size", "m.pte"],
        &["report", "m.pte"],
        &["manifest", "m.pte"],
    ] {
        for file in ["w.safetensors", "damaged.safetensors"] {
            let message = format!("{file}: expected a .ptd, found a .safetensors");
            let done = folder.run(&[command, &["--with", file]].concat());
            assert!(done.stderr.contains(&message), "{command:?}: {}", done.stderr);
            done.exits(1).stderr_contains("`pte-emit FILE.safetensors -o FILE.ptd` writes");
        }
    }
    folder.run(&["w.safetensors", "-o", "w.ptd"]).exits(0);
    folder.run(&["check", "m.pte", "--with", "w.ptd"]).exits(0);
}

#[test]
fn a_folder_in_place_of_a_file_exits_with_3() {
    let folder = Folder::new(&[("model.yaml", RELU)]);
    fs::create_dir(folder.path().join("dir")).unwrap();
    for data in ["file: dir", "npy: dir", "safetensors: dir, tensor: t", "ptd: dir, key: k", "pte: dir, key: k"] {
        folder.write("data.yaml", format!("named_data: {{a: {{tensor: float32, sizes: [1], data: {{{data}}}}}}}\n"));
        for arguments in [&["data.yaml", "-o", "x.ptd"][..], &["check", "data.yaml"]] {
            folder.run(arguments).exits(3).stderr_contains("cannot read dir: expected a regular file");
        }
    }
    for arguments in [
        &["dir", "-o", "x.pte"][..],
        &["model.yaml", "-o", "x.pte", "--with", "dir"],
        &["check", "dir"],
        &["check", "model.yaml", "--with", "dir"],
        &["dump", "dir"],
        &["annotate", "dir"],
        &["dir", "--strip-tests", "-o", "x.pte"],
    ] {
        folder.run(arguments).exits(3).stderr_contains("error: cannot read dir: expected a regular file");
    }
}

/// One rendering for all commands and options.
#[test]
fn a_missing_file_is_reported_in_one_way() {
    let folder = Folder::new(&[("model.yaml", RELU), ("data.yaml", "named_data: {a: {file: no}}")]);
    for arguments in [
        &["no", "-o", "x.pte"][..],
        &["data.yaml", "-o", "x.ptd"],
        &["model.yaml", "-o", "x.pte", "--with", "no"],
        &["no", "--strip-tests", "-o", "x.pte"],
        &["check", "no"],
        &["check", "data.yaml"],
        &["check", "model.yaml", "--with", "no"],
        &["check", "model.yaml", "--ops", "no"],
        &["dump", "no"],
        &["annotate", "no"],
    ] {
        let done = folder.run(arguments).exits(3).stderr_contains("error: cannot read no: No such file or directory");
        assert_eq!(done.stderr.matches("No such file").count(), 1, "{}", done.stderr);
    }
    let json = folder.run(&["check", "no", "--json"]).exits(3).stdout;
    assert!(String::from_utf8(json).unwrap().contains("\"message\": \"cannot read no: No such file"));
}

#[test]
fn an_invalid_list_of_operators_exits_with_1() {
    let folder = Folder::new(&[("model.yaml", RELU), ("junk", "mine::f.out (\nmine::g.out )\n")]);
    folder.write("latin1", b"m\xfcne::f.out self:T out:T!\n");
    let done = folder.run(&["check", "model.yaml", "--ops", "junk"]).exits(1);
    done.stderr_contains("error: junk: line 1").stderr_contains("error: junk: line 2");
    folder
        .run(&["check", "model.yaml", "--ops", "latin1"])
        .exits(1)
        .stderr_contains("error: latin1: ")
        .stderr_contains("UTF-8");
}

#[test]
fn strip_tests_of_an_invalid_file_exits_with_1() {
    let folder = Folder::new(&[("junk.bpte", "junk, not a bundle"), ("model.yaml", RELU)]);
    folder
        .run(&["--strip-tests", "junk.bpte", "-o", "o.pte"])
        .exits(1)
        .stderr_contains("junk.bpte: expected the file identifier \"BP08\"");
    folder.run(&["--strip-tests", "model.yaml", "-o", "o.pte"]).exits(1).stderr_contains("found YAML");
    assert_eq!(folder.names(), ["junk.bpte", "model.yaml"]);
}

/// The assembler converts data when it writes them; `check --read-data` reads them.
#[test]
fn data_that_cannot_be_converted_are_an_error_of_check() {
    let folder = Folder::new(&[]);
    folder.write("i.npy", npy(&[300, -5]));
    for element in ["bool", "int8"] {
        let source = format!(
            "methods: {{forward: {{values: {{w: {{tensor: {element}, sizes: [2], data: {{npy: i.npy, dtype: int64}}}}}}, outputs: [w]}}}}"
        );
        folder.write("k.yaml", source);
        let message = "error: k.yaml: i.npy: element 0 cannot be converted: 300 is ";
        folder.run(&["k.yaml", "-o", "k.pte"]).exits(1).stderr_contains(message);
        folder.run(&["check", "--read-data", "k.yaml"]).exits(1).stderr_contains(message);
    }
    // Without `--data` no data are read.
    folder.run(&["check", "k.yaml"]).exits(0);
    assert_eq!(folder.names(), ["i.npy", "k.yaml"]);
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_behind_standard_output_is_reported_by_every_command() {
    let folder = Folder::new(&[("model.yaml", RELU)]);
    folder.run(&["model.yaml", "-o", "model.pte"]).exits(0);
    for arguments in [
        &["schema"][..],
        &["dump", "model.pte"],
        &["check", "model.pte"],
        &["annotate", "model.pte"],
        &["model.yaml"],
        &["model.pte", "--external-data", "w.ptd"],
        &["--help"],
        &["dump", "--help"],
        &["--version"],
    ] {
        let full = File::options().write(true).open("/dev/full").unwrap();
        let output = folder.command(arguments).stdout(full).output().unwrap();
        Done::of(arguments, output).exits(3).stderr_contains("error: cannot write <stdout>: No space left on device");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_output_is_named_instead_of_the_input() {
    let folder = Folder::new(&[("model.yaml", LARGE)]);
    folder.write(
        "bundle.yaml",
        fs::read(crate::support::root().join("tests/golden/upstream/bundled/multi.yaml")).unwrap(),
    );
    folder.run(&["model.yaml", "-o", "model.pte"]).exits(0);
    folder.run(&["bundle.yaml", "-o", "bundle.bpte"]).exits(0);
    std::os::unix::fs::symlink("/dev/full", folder.path().join("full.ptd")).unwrap();
    for (arguments, output) in [
        (&["model.yaml", "-o", "/dev/full"][..], "/dev/full"),
        (&["model.pte", "-o", "/dev/full", "--to", "pte"], "/dev/full"),
        (&["model.yaml", "--external-data", "full.ptd", "-o", "out.pte"], "/dev/full"),
        (&["bundle.yaml", "-o", "/dev/full", "--to", "bpte"], "/dev/full"),
        (&["bundle.bpte", "-o", "/dev/full", "--strip-tests"], "/dev/full"),
        (&["dump", "model.pte", "-o", "/dev/full"], "/dev/full"),
        (&["dump", "model.pte", "-o", "/dev/full", "--exact"], "/dev/full"),
    ] {
        let done = folder.run(arguments).exits(3);
        let first = done.stderr.lines().find(|line| line.starts_with("error")).unwrap();
        assert!(
            first.starts_with(&format!("error: cannot write {output}: No space left on device")),
            "{}",
            done.stderr
        );
    }
}

#[test]
fn a_message_names_the_output_that_cannot_be_written() {
    let folder = Folder::new(&[("model.yaml", LARGE), ("ok.yaml", "")]);
    folder.run(&["model.yaml", "-o", "ok.pte"]).exits(0);
    let named = |arguments: &[&str], message: &str| {
        let done = folder.run(arguments).exits(3).stderr_contains(message);
        assert!(!done.stderr.contains("ok.pte"), "{}", done.stderr);
    };
    named(&["dump", "ok.pte", "-o", "missing/x.yaml"], "error: cannot write missing/x.yaml: No such file");
    let extract = ["dump", "ok.pte", "--data", "extract", "--folder"];
    named(&[&extract[..], &["ok.yaml"]].concat(), "error: cannot create folder ok.yaml: it exists and is not a folder");
    fs::create_dir_all(folder.path().join("full/constant.bin")).unwrap();
    let full = folder.run(&[&extract[..], &["full"]].concat()).exits(2);
    full.stderr_contains("output full/constant.bin exists and would be lost");
    named(&["model.yaml", "-o", "missing/x.pte"], "error: cannot write missing/x.pte: folder missing does not exist");
}

/// Extracted data never overwrite a file, are all written or none, and have names that every file system accepts.
#[test]
fn extracted_data_are_new_files() {
    let keys = ["w", "W", "raw.append", "../../w", "nul", &"k".repeat(300), "a/\\x24{HOME}/b", "line\\nbreak"];
    let entry = |(number, key): (usize, &&str)| format!("  \"{key}\": {{data: {{fill: {number}, size: 300}}}}\n");
    let entries: String = keys.iter().enumerate().map(entry).collect();
    let text = format!("named_data:\n{entries}raw: {{append: {{fill: 9, size: 300}}}}\n");
    let folder = Folder::new(&[("model.yaml", &text), ("victim", "precious")]);
    folder.run(&["model.yaml", "-o", "model.ptd"]).exits(0);
    let extract = |yaml: &str, to: &str| {
        folder.run(&["dump", "model.ptd", "--exact", "-o", yaml, "--data", "extract", "--folder", to])
    };
    extract("out/dumped.yaml", "out/w${X}").exits(3).stderr_contains("cannot write out/dumped.yaml: No such");
    fs::create_dir_all(folder.path().join("sub")).unwrap();
    for (yaml, to, reference) in [
        ("dumped.yaml", "one", "one/w.bin"),
        ("sub/dumped.yaml", "two", "../two/w.bin"),
        ("again.yaml", "${X}/z", "\\u0024{X}/z/w.bin"),
        ("sub/below.yaml", "sub", "w.bin"),
    ] {
        extract(yaml, to).exits(0);
        let text = String::from_utf8(folder.read(yaml)).unwrap();
        assert!(
            text.contains(&format!("file: {reference}")) || text.contains(&format!("file: \"{reference}\"")),
            "{text}"
        );
        let files = fs::read_dir(folder.path().join(to)).unwrap();
        let names: Vec<String> = files.map(|file| file.unwrap().file_name().into_string().unwrap()).collect();
        let bins: Vec<_> = names.iter().filter(|name| name.ends_with(".bin")).collect();
        let lower: std::collections::HashSet<_> = bins.iter().map(|name| name.to_lowercase()).collect();
        assert_eq!((bins.len(), lower.len()), (keys.len() + 1, keys.len() + 1), "{names:?}");
        assert!(bins.iter().all(|name| name.len() < 140 && !name.starts_with("nul")), "{names:?}");
        folder.run(&[yaml, "-o", "back.ptd"]).exits(0);
        assert_eq!(folder.read("back.ptd"), folder.read("model.ptd"), "{yaml}");
    }
    extract("big/w.bin", "big").exits(2);
    fs::create_dir(folder.path().join("big")).unwrap();
    extract("big/W_1.BIN", "big").exits(2).stderr_contains("unknown extension `.BIN`");
    // A second time they are the same; with other content, nothing is written.
    extract("new.yaml", "one").exits(0);
    fs::remove_file(folder.path().join("new.yaml")).unwrap();
    let extracted = fs::read_dir(folder.path().join("one")).unwrap().next().unwrap().unwrap().path();
    fs::write(&extracted, "own").unwrap();
    extract("new.yaml", "one").exits(2).stderr_contains("exists and would be lost");
    extract("missing/new.yaml", "new/folder").exits(3);
    extract("sub", "new/folder").exits(3);
    assert!(!folder.path().join("new").exists());
    assert!(!folder.names().contains(&"new.yaml".to_owned()));
    #[cfg(unix)]
    {
        fs::create_dir(folder.path().join("trap")).unwrap();
        std::os::unix::fs::symlink("../victim", folder.path().join("trap/W_1.bin")).unwrap();
        extract("new.yaml", "trap").exits(2).stderr_contains("trap/W_1.bin exists and would be lost");
        assert_eq!(folder.read("victim"), b"precious");
        assert_eq!(fs::read_dir(folder.path().join("trap")).unwrap().count(), 1);
    }
}

#[test]
fn dump_and_annotate_of_yaml_say_that_it_is_yaml() {
    let folder = Folder::new(&[("model.yaml", RELU), ("notes.txt", "some text\n"), ("junk.pte", "some text\n")]);
    for command in ["dump", "annotate"] {
        folder
            .run(&[command, "model.yaml"])
            .exits(1)
            .stderr_contains("model.yaml: expected a .pte, .ptd or .bpte file, found YAML")
            .stderr_contains("`annotate` and `--strip-tests` read binary files");
        folder.run(&[command, "notes.txt"]).exits(1).stderr_contains("found text");
        folder.run_with_stdin(&[command, "-"], RELU).exits(1).stderr_contains("<stdin>: expected a .pte");
    }
    fs::copy(crate::support::root().join("examples/data/linear.safetensors"), folder.path().join("w.safetensors"))
        .unwrap();
    folder.run(&["dump", "w.safetensors"]).exits(1).stderr_contains("found a .safetensors; convert it");
    // By its extension it is a malformed program.
    folder.run(&["dump", "junk.pte"]).exits(1).stderr_contains("junk.pte: ").stderr_contains("this is text");
    folder.run(&["annotate", "junk.pte"]).exits(0);
}

#[test]
fn dump_reads_standard_input() {
    let folder = Folder::new(&[("model.yaml", LARGE)]);
    folder.run(&["model.yaml", "-o", "model.pte"]).exits(0);
    let pte = folder.read("model.pte");
    let inline = folder.run(&["dump", "model.pte", "--data", "inline"]).exits(0).stdout;
    for arguments in [&["dump", "-"][..], &["dump", "-", "-o", "-"], &["dump", "-", "--data", "inline", "--exact"]] {
        assert_eq!(folder.run_with_stdin(arguments, &pte).exits(0).stdout, inline, "{arguments:?}");
    }
    folder.run_with_stdin(&["dump", "-", "-o", "dumped.yaml"], &pte).exits(0);
    folder.run(&["dumped.yaml", "-o", "again.pte"]).exits(0);
    assert_eq!(folder.read("again.pte"), pte);
    folder.run_with_stdin(&["dump", "-", "--data", "extract", "--folder", "data", "-o", "e.yaml"], &pte).exits(0);
    folder.run(&["e.yaml", "-o", "again.pte"]).exits(0);
    assert_eq!(folder.read("again.pte"), pte);
    folder.run_with_stdin(&["dump", "-", "--data", "refer"], &pte).exits(2).stderr_contains("--data inline");
    folder.run_with_stdin(&["dump", "-"], &pte[..40]).exits(1).stderr_contains("<stdin>: ");
}
