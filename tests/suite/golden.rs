//! `golden`: a produced file and the YAML that a test expects.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use pte_emit::diff::DiffOptions;
use pte_emit::{Golden, Model};

use crate::support::folder::{Done, Folder};
use crate::support::{files_below, root};

const LINEAR: &str = include_str!("../../examples/linear.yaml");

/// Returns a folder with the linear example, its program, and one with another operator and another bias.
fn folder() -> Folder {
    let other = LINEAR.replace("aten::relu.out", "aten::neg.out").replace("0.18261409", "0.19");
    let folder = Folder::new(&[("golden.yaml", LINEAR), ("other.yaml", &other)]);
    folder.run(&["golden.yaml", "-q", "-o", "same.pte"]).exits(0);
    folder.run(&["other.yaml", "-q", "-o", "other.pte"]).exits(0);
    folder
}

fn text(folder: &Folder, name: &str) -> String {
    String::from_utf8(folder.read(name)).unwrap()
}

/// Runs the command with a value of BLESS.
fn blessing(folder: &Folder, value: &str, arguments: &[&str]) -> Done {
    Done::of(arguments, folder.command(arguments).env("BLESS", value).output().unwrap())
}

#[test]
fn a_difference_is_printed_by_meaning_and_as_a_diff() {
    let folder = folder();
    for same in ["same.pte", "golden.yaml"] {
        assert_eq!(folder.run(&["golden", same, "golden.yaml"]).exits(0).stdout, b"");
    }
    for arguments in [&["golden", "other.pte", "golden.yaml"][..], &["golden", "other.yaml", "golden.yaml"]] {
        let found = String::from_utf8(folder.run(arguments).exits(1).stdout).unwrap();
        let lines = [
            "meaning: 3 differences",
            "  ~ methods.forward.instructions[2]: aten::relu.out(",
            "data: 1 difference",
            "  ~ methods.forward.bias (values[1]): ",
            "--- golden.yaml",
            "@@ -10,14 +10,14 @@",
            "-      - {kernel: aten::relu.out, args: [mm], out: y}  # y is planned",
            "+      - {kernel: aten::neg.out, args: [mm], out: neg}  # y is planned",
            "`--bless` writes this change into golden.yaml",
        ];
        let mut at = 0;
        for line in lines {
            at += found[at..].find(line).unwrap_or_else(|| panic!("{line} after byte {at}: {found}"));
        }
        // Neither `wt` nor `mm` got another name.
        assert_eq!(found.lines().filter(|line| line.starts_with(['-', '+'])).count(), 2 + 6, "{found}");
    }
    assert_eq!(text(&folder, "golden.yaml"), LINEAR);
    // Standard input; a part.
    let done = folder.run_with_stdin(&["golden", "-", "golden.yaml"], folder.read("other.pte")).exits(1);
    assert!(String::from_utf8(done.stdout).unwrap().starts_with("golden.yaml -> <stdin>: 4 differences\n"));
    folder.run(&["golden", "other.pte", "golden.yaml", "--only", "layout"]).exits(0);
    folder.run(&["golden", "other.pte", "golden.yaml", "--only", "data", "--compare", "none"]).exits(0);
}

#[test]
fn bless_keeps_comments_names_and_tests() {
    let folder = folder();
    let expected = LINEAR
        .replace("bias: {tensor: float32, data: [0.18261409", "bias: {tensor: float32, sizes: [3], data: [0.19")
        .replace("outputs: [y]", "outputs: [neg]")
        .replace("aten::relu.out, args: [mm], out: y", "aten::neg.out, args: [mm], out: neg");
    folder.run(&["golden", "same.pte", "golden.yaml", "--bless"]).exits(0).stderr_contains("golden.yaml: unchanged");
    assert_eq!(text(&folder, "golden.yaml"), LINEAR);
    for no in ["", "0", "false", "no", "off"] {
        blessing(&folder, no, &["golden", "other.pte", "golden.yaml"]).exits(1);
    }
    blessing(&folder, "1", &["golden", "other.pte", "golden.yaml"]).exits(0).stderr_contains("golden.yaml: written");
    assert_eq!(text(&folder, "golden.yaml"), expected);
    for yes in ["true", "yes"] {
        blessing(&folder, yes, &["golden", "other.pte", "golden.yaml"]).exits(0).stderr_contains("unchanged");
    }
    folder.run(&["golden", "other.pte", "golden.yaml"]).exits(0);
    // YAML that is invalid keeps its comments, too.
    folder.write("golden.yaml", "# mine\nmethods:\n  forward: 7 # seven\n");
    folder.run(&["golden", "other.pte", "golden.yaml"]).exits(1).stderr_contains("golden.yaml:3");
    folder.run(&["golden", "other.pte", "golden.yaml", "--bless"]).exits(0);
    let blessed = text(&folder, "golden.yaml");
    assert!(blessed.starts_with("# mine\nmethods:\n  # seven\n  forward:\n"), "{blessed}");
    folder.run(&["golden", "other.pte", "golden.yaml"]).exits(0);
}

#[test]
fn a_missing_golden_is_written_with_bless_only() {
    let folder = folder();
    let new = ["golden", "same.pte", "new.yaml"];
    let error = "error: new.yaml: the golden YAML does not exist; `--bless`, or BLESS=1 in the environment, writes it";
    folder.run(&new).exits(1).stderr_contains(error);
    assert!(!folder.path().join("new.yaml").exists());
    folder.run(&[&new[..], &["--bless"]].concat()).exits(0);
    folder.run(&new).exits(0);
    assert!(text(&folder, "new.yaml").starts_with("# yaml-language-server: "));
    for (golden, status, error) in [
        ("new.pte", 1, "expected the extension .yaml or .yml"),
        ("-", 2, "the golden YAML is a file"),
        ("no/new.yaml", 3, "no/new.yaml"),
    ] {
        folder.run(&["golden", "same.pte", golden, "--bless"]).exits(status).stderr_contains(error);
    }
}

/// Data of more than 256 bytes are in files beside the YAML.
#[test]
fn large_data_are_in_files() {
    let yaml = |fill: &str| {
        format!("methods: {{forward: {{values: {{w: {{tensor: float32, sizes: [100], data: {{fill: {fill}}}}}, x: {{tensor: float32, sizes: [100]}}}},
            inputs: [x], outputs: [y], instructions: [{{kernel: aten::add.out, args: [x, w, 1], out: y}}]}}}}")
    };
    let folder = Folder::new(&[("one.yaml", &yaml("1")), ("two.yaml", &yaml("2"))]);
    folder.run(&["golden", "one.yaml", "golden.yaml", "--bless"]).exits(0);
    let golden = text(&folder, "golden.yaml");
    assert!(golden.contains("data: {file: \"golden.data/add_other.bin\"}"), "{golden}");
    folder.run(&["golden", "one.yaml", "golden.yaml"]).exits(0);
    let done = folder.run(&["golden", "two.yaml", "golden.yaml"]).exits(1);
    assert!(String::from_utf8(done.stdout).unwrap().contains("100 of 100 elements differ, max |d| 1,"));
    folder.run(&["golden", "two.yaml", "golden.yaml", "--bless"]).exits(0);
    assert_eq!(folder.read("golden.data/add_other.bin"), 2f32.to_le_bytes().repeat(100));
    assert_eq!(text(&folder, "golden.yaml"), golden);
    folder.run(&["golden", "two.yaml", "golden.yaml"]).exits(0);
}

/// Of the folder of data, files that the YAML does not name are kept; those that it no longer names are removed.
#[test]
fn bless_keeps_files_of_others() {
    let yaml = |name: &str, fill: &str| {
        format!(
            "methods: {{forward: {{values: {{{name}: {{tensor: uint8, sizes: [300], name: {name}, data: {{fill: {fill}}}}}}}, outputs: [{name}]}}}}"
        )
    };
    let folder = Folder::new(&[("one.yaml", &yaml("a", "1")), ("two.yaml", &yaml("b", "2"))]);
    folder.write("golden.data/b.bin", "mine");
    folder.write("golden.data/notes.txt", "mine");
    folder.run(&["golden", "one.yaml", "golden.yaml", "--bless"]).exits(0);
    let first = text(&folder, "golden.yaml");
    assert!(first.contains("golden.data/a.bin"), "{first}");
    let bless = ["golden", "two.yaml", "golden.yaml", "--bless"];
    folder.run(&bless).exits(2).stderr_contains("golden.data/b.bin exists and would be lost");
    let path = folder.path().join("golden.yaml");
    let check = |name: &str| {
        let produced = Model::open(folder.path().join(name)).unwrap();
        Golden::open(&path).unwrap().check(&produced, &DiffOptions::default(), true)
    };
    let error = check("two.yaml").unwrap_err().to_string();
    assert!(error.contains("b.bin exists and would be lost; remove it first"), "{error}");
    assert_eq!((folder.read("golden.data/b.bin"), text(&folder, "golden.yaml")), (b"mine".to_vec(), first.clone()));
    folder.run(&[&bless[..], &["--force"]].concat()).exits(0);
    assert_eq!(folder.read("golden.data/b.bin"), [2; 300]);
    assert!(!folder.path().join("golden.data/a.bin").exists());
    // The library does the same. What is no longer named was the last file but that of the user.
    assert_eq!(check("one.yaml").unwrap(), None);
    assert!(!folder.path().join("golden.data/b.bin").exists());
    assert_eq!(
        (folder.read("golden.data/a.bin"), folder.read("golden.data/notes.txt")),
        (vec![1; 300], b"mine".to_vec())
    );
    folder.run(&["golden", "one.yaml", "golden.yaml"]).exits(0);
}

#[cfg(unix)]
#[test]
fn bless_follows_no_links_of_data_and_keeps_variables() {
    let yaml = "methods: {forward: {values: {w: {tensor: uint8, sizes: [300], data: {fill: ${N:1}}}}, outputs: [w]}}";
    let folder = Folder::new(&[("one.yaml", yaml), ("golden.yaml", yaml)]);
    std::os::unix::fs::symlink("/tmp", folder.path().join("linked.data")).unwrap();
    let done = folder.run(&["golden", "one.yaml", "linked.yaml", "--bless"]).exits(1);
    done.stderr_contains("linked.data is a symbolic link: nothing is written");
    folder.run(&["one.yaml", "-D", "N=2", "-q", "-o", "two.pte"]).exits(0);
    folder.run(&["golden", "two.pte", "golden.yaml", "-D", "N=2"]).exits(0);
    let done = folder.run(&["golden", "two.pte", "golden.yaml", "--bless"]).exits(1);
    done.stderr_contains("the file has variables (`${NAME}`), which would be lost");
    assert_eq!(text(&folder, "golden.yaml"), yaml);
}

/// Files of each format: a `.bpte` with its tests, a `.ptd`, and a malformed program.
#[test]
fn all_formats_have_golden_yaml() {
    let folder = folder();
    folder.run(&["golden.yaml", "-q", "-o", "same.bpte"]).exits(0);
    folder.run(&["golden.yaml", "-q", "-o", "split.pte", "--external-data", "weights.ptd"]).exits(0);
    let malformed = root().join("examples/malformed/program_size_beyond_file.yaml");
    folder.run(&[malformed.to_str().unwrap(), "-q", "-o", "malformed.pte"]);
    for produced in ["same.bpte", "split.pte", "weights.ptd", "malformed.pte"] {
        let arguments = ["golden", produced, "new.yaml"];
        let _ = fs::remove_file(folder.path().join("new.yaml"));
        folder.run(&[&arguments[..], &["--bless"]].concat()).exits(0);
        folder.run(&arguments).exits(0);
    }
    // Of the golden file with the same format.
    folder.run(&["golden", "same.bpte", "golden.yaml"]).exits(0);
    folder.run(&["golden", "weights.ptd", "golden.yaml"]).exits(1).stderr_contains("assembles to no ptd");
    folder.write("other.yaml", LINEAR.replace("[0.357310295", "[0.5"));
    folder.run(&["golden", "same.bpte", "other.yaml"]).exits(1);
    folder.run(&["golden", "same.bpte", "other.yaml", "--bless"]).exits(0);
    folder.run(&["golden", "same.bpte", "other.yaml"]).exits(0);
    assert_eq!(text(&folder, "other.yaml").matches('#').count(), LINEAR.matches('#').count());
}

/// Returns the comments of YAML.
fn comments(yaml: &str) -> BTreeSet<&str> {
    yaml.lines()
        .filter_map(|line| Some(&line[line.find("# ").filter(|at| line[..*at].trim_end().len() < *at || *at == 0)?..]))
        .collect()
}

/// Each example is the golden YAML of its program, and of the next example's after it was blessed, with all comments.
#[test]
fn examples_are_golden() {
    let folder = tempfile::tempdir().unwrap();
    let files = files_below(&root().join("examples"), &["yaml"]);
    let files: Vec<_> = files.into_iter().filter(|file| file.parent().unwrap().ends_with("examples")).collect();
    assert!(files.len() > 25);
    let program = |file: &Path| {
        let model = Model::open(file).unwrap();
        let file = model.assembly().unwrap().program_file()?.to_vec().unwrap();
        Some(Model::from_binary("produced.pte", file))
    };
    let options = DiffOptions::default();
    for (number, file) in files.iter().enumerate() {
        let Some(produced) = program(file) else { continue };
        assert_eq!(Golden::open(file).unwrap().check(&produced, &options, false).unwrap(), None, "{}", file.display());
        let Some(other) = program(&files[(number + 1) % files.len()]) else { continue };
        let copy = folder.path().join(file.file_name().unwrap());
        let old = fs::read_to_string(file).unwrap();
        fs::write(&copy, &old).unwrap();
        if let Some(report) =
            Golden::open(&copy).unwrap().check(&other, &options, false).unwrap_or_else(|error| Some(error.to_string()))
        {
            assert!(!report.is_empty());
        }
        assert_eq!(Golden::open(&copy).unwrap().check(&other, &options, true).unwrap(), None, "{}", file.display());
        assert_eq!(Golden::open(&copy).unwrap().check(&other, &options, false).unwrap(), None, "{}", file.display());
        let new = fs::read_to_string(&copy).unwrap();
        let (new, old) = (comments(&new), comments(&old));
        let lost: Vec<_> = old.difference(&new).collect();
        assert_eq!(lost, [&""; 0], "{}", file.display());
    }
}

/// Only YAML of a program or of data is replaced.
#[test]
fn other_yaml_is_no_golden() {
    let other = "services: {web: {image: nginx}}\n";
    let folder = Folder::new(&[("m.yaml", LINEAR), ("compose.yaml", other)]);
    folder.run(&["m.yaml", "-q", "-o", "m.pte"]).exits(0);
    folder.run(&["golden", "m.pte", "compose.yaml", "--bless"]).exits(1);
    assert_eq!(folder.read("compose.yaml"), other.as_bytes());
}

/// A library user loses no variables either.
#[test]
fn a_golden_with_variables_is_not_written() {
    let folder = Folder::new(&[("m.yaml", LINEAR), ("g.yaml", &LINEAR.replace("forward:", "${NAME:forward}:"))]);
    folder.run(&["m.yaml", "-q", "-o", "m.pte"]).exits(0);
    let golden = Golden::open(folder.path().join("g.yaml")).unwrap();
    let other = folder.path().join("other.pte");
    let other_yaml = LINEAR.replace("aten::relu.out", "aten::sigmoid.out");
    folder.write("other.yaml", &other_yaml);
    folder.run(&["other.yaml", "-q", "-o", "other.pte"]).exits(0);
    let error = golden.check(&Model::open(other).unwrap(), &DiffOptions::default(), true).unwrap_err();
    assert!(error.to_string().contains("variables"), "{error}");
}
