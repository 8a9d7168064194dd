//! Options that several commands have: inputs, forms of the output, quiet. Their names and descriptions are tested in
//! src/cli/mod.rs.

use crate::support::folder::{Done, Folder, RELU};
use crate::support::{files_below, root};
use serde_json::Value;

/// A method that reads a value which does not exist, and an unknown operator.
const INVALID: &str = "methods:\n  forward: {values: {x: {tensor: flaot32, sizes: [1]}}, inputs: [x], outputs: [x]}\n";

fn stdout(done: &Done) -> String {
    String::from_utf8(done.stdout.clone()).unwrap()
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

/// A program whose call of an unknown operator is a warning.
fn with_warning() -> String {
    RELU.replace("aten::relu.out", "mine::relu.out")
}

#[test]
fn assemble_is_the_default_command() {
    let folder = Folder::new(&[("model.yaml", RELU), ("invalid.yaml", INVALID)]);
    let all: [&[&str]; 6] = [
        &["model.yaml", "-o", "a.pte"],
        &["model.yaml", "-o", "a.pte", "-q"],
        &["model.yaml", "--segment-alignment", "64", "-o", "a.pte"],
        &["invalid.yaml", "-o", "a.pte"],
        &["no.yaml", "-o", "a.pte"],
        &["model.yaml", "-o", "a.foo"],
    ];
    for arguments in all {
        let long = [&["assemble"], arguments].concat();
        let [bare, named] = [arguments, &long].map(|arguments| {
            let done = folder.run(arguments);
            let bytes = std::fs::read(folder.path().join("a.pte")).ok();
            let _ = std::fs::remove_file(folder.path().join("a.pte"));
            (done.code, done.stdout, done.stderr, bytes)
        });
        assert_eq!(bare, named, "{arguments:?}");
    }
    folder.run(&[]).exits(2).stderr_contains("\n  write  assemble    ");
    folder.run(&["assemble"]).exits(2).stderr_contains("no input");
    let help = stdout(&folder.run(&["assemble", "--help"]).exits(0));
    assert!(help.contains("\nLayout:\n") && help.contains("\nSources:\n"), "{help}");
}

/// YAML from strangers is confined, limited and complete in every command that assembles it.
#[test]
fn every_command_that_reads_yaml_has_the_options_of_sources() {
    let secret = "named_data: {a: {file: ../secret}}\nmethods: {f: {outputs: [1]}}\n";
    let folder = Folder::new(&[("secret", "x"), ("in/model.yaml", secret), ("model.yaml", "")]);
    folder.write("model.yaml", format!("name: ${{N:n}}\nnamed_data: {{a: {{fill: 0, size: 64K}}}}{RELU}"));
    let commands: [&[&str]; 12] = [
        &["embed", "-o", "array", "--facts"],
        &["assemble", "-o", "out.pte"],
        &["check"],
        &["inspect"],
        &["memory"],
        &["kernels"],
        &["firmware", "--for", "zephyr", "-o", "app"],
        &["size"],
        &["payload", "list"],
        &["diff", "/dev/null"],
        &["report"],
        &["reduce", "--test", "true {}", "--expect", "0", "--force", "-o", "small.yaml"],
    ];
    for command in commands {
        let run = |arguments: &[&str]| folder.run(&[command, arguments].concat());
        let text = |done: &Done| format!("{}{}", stdout(done), done.stderr);
        let denied = run(&["in/model.yaml", "--confine", "in"]);
        assert!(
            denied.code != Some(0) && text(&denied).contains("not in the folder in"),
            "{command:?} {}",
            text(&denied)
        );
        let large = run(&["model.yaml", "--max-size", "1K"]);
        assert!(large.code != Some(0) && text(&large).contains("`max-size` raises"), "{command:?} {}", text(&large));
        for option in ["--with", "--ops"] {
            let missing = run(&["model.yaml", option, "no"]);
            assert!(missing.code != Some(0) && text(&missing).contains("cannot read no"), "{command:?} {option}");
        }
        let unused = run(&["model.yaml", "-D", "M=1"]);
        assert!(unused.stderr.contains("warning: unused definition `-D M`"), "{command:?} {}", unused.stderr);
        let quiet = run(&["model.yaml", "-D", "M=1", "-q"]);
        assert_eq!((quiet.code, &*quiet.stderr), (unused.code, ""), "{command:?}");
        assert!(!run(&["model.yaml", "-D", "N=m"]).stderr.contains("unused"), "{command:?}");
    }
}

#[test]
fn json_is_short_for_format_json() {
    let folder = Folder::new(&[("model.yaml", RELU)]);
    folder.run(&["model.yaml", "-o", "model.pte", "-q"]).exits(0);
    let commands: [&[&str]; 10] = [
        &["check", "model.pte"],
        &["annotate", "model.pte"],
        &["inspect", "model.pte"],
        &["memory", "model.pte"],
        &["kernels", "model.pte"],
        &["firmware", "model.pte", "--for", "zephyr", "-o", "app"],
        &["size", "model.pte"],
        &["payload", "list", "model.pte"],
        &["diff", "model.pte", "model.pte"],
        &["ops", "aten::relu.out"],
    ];
    for command in commands {
        let forms = [&["--json"][..], &["--format", "json"], &[], &["--format", "text"]];
        let [short, long, default, text] = forms.map(|form| stdout(&folder.run(&[command, form].concat()).exits(0)));
        assert_eq!((&short, &default), (&long, &text), "{command:?}");
        json(&short);
        folder
            .run(&[command, &["--json", "--format", "text"]].concat())
            .exits(2)
            .stderr_contains("cannot be used with");
    }
}

/// `check` and the assembler report the same messages in every form.
#[test]
fn messages_of_the_assembler_have_the_form_of_findings() {
    let folder = Folder::new(&[("invalid.yaml", INVALID), ("warned.yaml", &with_warning())]);
    let assemble = |input: &str, format: &str| folder.run(&[input, "-o", "out.pte", "--format", format]);
    for input in ["invalid.yaml", "warned.yaml"] {
        for format in ["json", "github", "sarif"] {
            let (assembled, checked) = (assemble(input, format), folder.run(&["check", input, "--format", format]));
            assert_eq!(
                (assembled.code, assembled.stderr.clone()),
                (checked.code, stdout(&checked)),
                "{input} {format}"
            );
            assert!(assembled.stdout.is_empty() && checked.stderr.is_empty(), "{input} {format}");
        }
    }
    let document = json(&assemble("invalid.yaml", "json").exits(1).stderr);
    let finding = &document["files"][0]["findings"][0];
    assert_eq!((&document["errors"], &document["files"][0]["file"]), (&1.into(), &"invalid.yaml".into()));
    assert_eq!((&finding["level"], &finding["rule"]), (&"error".into(), &Value::from("Y-10")));
    assert_eq!(finding["source"], serde_json::json!({"start": 42, "end": 49, "line": 2, "column": 34}));
    assert_eq!(finding["help"], "did you mean `float32`?");
    let line = assemble("invalid.yaml", "github").exits(1).stderr;
    assert!(line.starts_with("::error file=invalid.yaml,line=2,col=34,endLine=2,endColumn=41,title=Y-10::"), "{line}");
    assert!(line.ends_with(" (help: did you mean `float32`?)\n"), "{line}");
    // Errors without a file, and a warning that is denied.
    let usage = folder.run(&["invalid.yaml", "-o", "out.foo", "--format", "json"]).exits(2).stderr;
    assert_eq!(json(&usage)["files"][0]["findings"][0]["level"], "error");
    let arguments = ["warned.yaml", "-o", "out.pte", "-q", "--deny-warnings", "--format", "json"];
    let denied = json(&folder.run(&arguments).exits(1).stderr);
    assert_eq!((&denied["errors"], &denied["warnings"]), (&1.into(), &1.into()), "{denied}");
    // The program itself may be on standard output.
    let streamed = folder.run(&["warned.yaml", "--format", "json"]).exits(0);
    assert_eq!((&streamed.stdout[4..8], &json(&streamed.stderr)["warnings"]), (&b"ET12"[..], &1.into()));
}

/// What the assembler writes on purpose is a warning of the assembler, and an error of `check`.
#[test]
fn findings_in_outputs_are_warnings_of_the_assembler() {
    let folder = Folder::new(&[("old.yaml", &format!("{RELU}version: 7\n"))]);
    let assembled = json(&folder.run(&["old.yaml", "-o", "old.pte", "--json"]).exits(0).stderr);
    let checked = json(&stdout(&folder.run(&["check", "old.pte", "--json"]).exits(1)));
    for (document, level) in [(&assembled, "warning"), (&checked, "error")] {
        let finding = &document["files"][0]["findings"][0];
        assert_eq!((&finding["rule"], &finding["level"]), (&"P-1".into(), &level.into()), "{document}");
        assert_eq!(document[format!("{level}s")], 1, "{document}");
    }
}

/// Options of all commands may be before the name of the command, too.
#[test]
fn quiet_and_color_have_any_position() {
    let folder = Folder::new(&[("warned.yaml", &with_warning())]);
    for arguments in [
        &["-q", "check", "warned.yaml"][..],
        &["--color", "always", "-q", "check", "warned.yaml"],
        &["--quiet", "--color=never", "check", "warned.yaml"],
        &["check", "-q", "warned.yaml"],
        &["check", "warned.yaml", "--quiet"],
    ] {
        let done = folder.run(arguments).exits(0).stderr_is_empty();
        assert!(done.stdout.is_empty(), "{arguments:?}");
    }
    folder.run(&["-q", "warned.yaml", "-o", "out.pte"]).exits(0).stderr_is_empty();
}

/// Colours add control sequences to what is printed; a pipe gets none by default.
#[test]
fn outputs_have_colours_on_request() {
    let folder = Folder::new(&[("old.yaml", &format!("{}version: 7\n", with_warning())), ("good.yaml", RELU)]);
    folder.write("warned.yaml", with_warning());
    for (arguments, code, part) in [
        (&["check", "old.yaml"][..], 1, "\u{1b}[1m\u{1b}[31minvalid[P-1]\u{1b}[0m: "),
        (&["check", "warned.yaml"], 0, "\u{1b}[1m\u{1b}[33msuspicious[O-5]\u{1b}[0m: "),
        (&["inspect", "good.yaml"], 0, "\u{1b}[1mmethod forward\u{1b}[0m: "),
        (&["diff", "good.yaml", "old.yaml"], 1, "\u{1b}[31m-\u{1b}[0m "),
    ] {
        let plain = stdout(&folder.run(arguments).exits(code));
        let coloured = stdout(&folder.run(&[arguments, &["--color", "always"]].concat()).exits(code));
        assert!(coloured.contains(part), "{coloured}");
        let mut parts = coloured.split('\u{1b}');
        let first = parts.next().unwrap_or_default().to_owned();
        let rest = parts.map(|part| part.split_once('m').unwrap_or_else(|| panic!("{part:?}")).1);
        assert_eq!(rest.fold(first, |text, part| text + part), plain);
    }
}

#[test]
fn quiet_check_prints_errors_only() {
    let folder = Folder::new(&[("old.yaml", &format!("{}version: 7\n", with_warning())), ("good.yaml", RELU)]);
    folder.run(&["old.yaml", "-o", "old.pte", "-q"]).exits(0).stderr_is_empty();
    let check = |arguments: &[&str], code: i32| stdout(&folder.run(&[&["check"], arguments].concat()).exits(code));
    let quiet = check(&["old.pte", "-q"], 1);
    assert!(
        quiet.starts_with("old.pte: invalid[P-1]: ") && !quiet.contains("O-5") && !quiet.contains("1 file"),
        "{quiet}"
    );
    assert_eq!(check(&["good.yaml", "-q"], 0), "");
    assert_eq!(check(&["old.pte", "-q", "--format", "github"], 1).lines().count(), 1);
    // A denied warning is the reason of the exit status.
    folder.write("warned.yaml", with_warning());
    folder.run(&["check", "warned.yaml", "-q"]).exits(0).stderr_is_empty();
    assert!(check(&["warned.yaml", "-q", "--deny-warnings"], 1).starts_with("warned.yaml: suspicious[O-5]: "));
}

/// A required part of SARIF 2.1.0: keys of objects, values of enumerations, indices.
fn assert_is_sarif(log: &Value, context: &str) {
    let keys = |value: &Value, required: &[&str], optional: &[&str]| {
        let object = value.as_object().unwrap_or_else(|| panic!("{context}: expected an object, found {value}"));
        required.iter().for_each(|key| assert!(object.contains_key(*key), "{context}: no {key} in {value}"));
        let is_known = |key: &&String| required.contains(&key.as_str()) || optional.contains(&key.as_str());
        assert!(object.keys().all(|key| is_known(&key)), "{context}: unknown key in {value}");
    };
    let text = |value: &Value| {
        keys(value, &["text"], &[]);
        assert!(value["text"].as_str().is_some_and(|text| !text.is_empty()), "{context}: {value}");
    };
    let levels = ["none", "note", "warning", "error"];
    keys(log, &["version", "runs"], &["$schema"]);
    assert_eq!(log["version"], "2.1.0");
    let [run] = &log["runs"].as_array().unwrap()[..] else { panic!("{context}: one run") };
    keys(run, &["tool"], &["results", "columnKind"]);
    assert_eq!(run["columnKind"], "unicodeCodePoints");
    keys(&run["tool"], &["driver"], &[]);
    let driver = &run["tool"]["driver"];
    keys(driver, &["name"], &["version", "rules"]);
    let rules = driver["rules"].as_array().unwrap();
    for rule in rules {
        keys(rule, &["id"], &["shortDescription", "fullDescription", "help", "defaultConfiguration"]);
        ["shortDescription", "fullDescription", "help"].iter().for_each(|key| text(&rule[key]));
        keys(&rule["defaultConfiguration"], &[], &["level"]);
        assert!(levels.iter().any(|level| rule["defaultConfiguration"]["level"] == *level), "{context}: {rule}");
    }
    let ids: std::collections::BTreeSet<&str> = rules.iter().map(|rule| rule["id"].as_str().unwrap()).collect();
    assert_eq!(ids.len(), rules.len(), "{context}: a rule is listed once");
    for result in run["results"].as_array().unwrap() {
        keys(result, &["message"], &["level", "ruleId", "ruleIndex", "locations"]);
        text(&result["message"]);
        assert!(levels.iter().any(|level| result["level"] == *level), "{context}: {result}");
        if let Some(index) = result.get("ruleIndex") {
            assert_eq!(rules[index.as_u64().unwrap() as usize]["id"], result["ruleId"], "{context}");
        }
        for location in result.get("locations").and_then(Value::as_array).into_iter().flatten() {
            keys(location, &[], &["physicalLocation", "logicalLocations"]);
            for logical in location.get("logicalLocations").and_then(Value::as_array).into_iter().flatten() {
                keys(logical, &["fullyQualifiedName"], &[]);
            }
            let Some(physical) = location.get("physicalLocation") else { continue };
            keys(physical, &["artifactLocation"], &["region"]);
            keys(&physical["artifactLocation"], &["uri"], &[]);
            let uri = physical["artifactLocation"]["uri"].as_str().unwrap();
            let is_valid = |c: char| c.is_ascii_alphanumeric() || "-._~/%:".contains(c);
            assert!(!uri.is_empty() && uri.chars().all(is_valid), "{context}: {uri}");
            let Some(region) = physical.get("region") else { continue };
            let number = |key: &str| region.get(key).map(|value| value.as_u64().unwrap());
            match number("byteOffset") {
                Some(_) => keys(region, &["byteOffset"], &[]),
                None => {
                    keys(region, &["startLine", "startColumn"], &["endLine", "endColumn"]);
                    let start = (number("startLine").unwrap(), number("startColumn").unwrap());
                    assert!(start.0 > 0 && start.1 > 0, "{context}: {region}");
                    if let Some(end) = number("endLine").zip(number("endColumn")) {
                        assert!(start <= end, "{context}: {region}");
                    }
                }
            }
        }
    }
}

/// Of every example with a defect, as YAML and as the file that it assembles to.
#[test]
fn findings_are_printed_as_sarif() {
    let folder = Folder::new(&[("invalid.yaml", INVALID), ("a b#c.yaml", INVALID), ("junk.pte", "junk")]);
    let examples = files_below(&root().join("examples/malformed"), &["yaml"]);
    assert!(examples.len() > 100);
    std::fs::create_dir(folder.path().join("out")).unwrap();
    let paths: Vec<&str> = examples.iter().map(|path| path.to_str().unwrap()).collect();
    let written = folder.run(&[&paths[..], &["-o", "out", "--format", "sarif"]].concat());
    assert_is_sarif(&json(&written.stderr), "assembling");
    let binary: Vec<String> = folder.names().into_iter().filter(|name| name.starts_with("out/")).collect();
    let binary: Vec<&str> = binary.iter().map(String::as_str).collect();
    let other = ["invalid.yaml", "a b#c.yaml", "junk.pte", "no.pte"];
    for (files, code) in [(&paths[..], None), (&binary, Some(1)), (&other, Some(3))] {
        let done = folder.run(&[&["check", "--format", "sarif"], files].concat());
        assert!(code.is_none() || done.code == code, "{}", done.stderr);
        let log = json(&stdout(&done));
        assert_is_sarif(&log, files[0]);
        assert!(log["runs"][0]["results"].as_array().unwrap().len() >= 4, "{log}");
    }
    let log = json(&stdout(&folder.run(&["check", "--format", "sarif", "a b#c.yaml", "no.pte"]).exits(3)));
    let results = &log["runs"][0]["results"];
    let location = &results[0]["locations"][0]["physicalLocation"];
    assert_eq!(location["artifactLocation"]["uri"], "a%20b%23c.yaml");
    assert_eq!(
        location["region"],
        serde_json::json!({"startLine": 2, "startColumn": 34, "endLine": 2, "endColumn": 41})
    );
    assert!(results[1]["message"]["text"].as_str().unwrap().starts_with("cannot read no.pte: "), "{results}");
}

#[test]
fn several_operators_are_a_list_and_one_is_described() {
    let folder = Folder::new(&[]);
    let ops = |arguments: &[&str]| stdout(&folder.run(&[&["ops"], arguments].concat()).exits(0));
    for (name, least) in [("conv", 21), ("add.out", 2), ("aten::", 21)] {
        let list = ops(&[name]);
        assert!(list.lines().count() >= least, "{list}");
        assert!(list.lines().all(|line| line.contains(name) && !line.starts_with(' ')), "{list}");
        assert_eq!(json(&ops(&[name, "--json"])).as_array().unwrap().len(), list.lines().count());
    }
    let one = ops(&["aten::add.out"]);
    assert!(one.starts_with("aten::add.out\n  arguments:\n"), "{one}");
    // Operations of XNNPACK graphs and their keys; their names in YAML have no prefix.
    let nodes = ops(&["xnnpack::"]);
    assert!(nodes.contains("xnnpack::conv2d XnnpackBackend\n") && nodes.contains("xnnpack::concatenate5 "), "{nodes}");
    let node = ops(&["xnnpack::max_pooling2d"]);
    for line in [
        "    pooling_height: integer, may be left out. ",
        "    input: value. A value that it reads.\n",
        "    output: result. ",
    ] {
        assert!(node.contains(line), "{line}\n{node}");
    }
    assert!(node.ends_with("  example:\n    - {max_pooling2d: {input: input, output: output}}\n"), "{node}");
    assert!(!ops(&["xnnpack::concatenate2"]).contains("input3"));
    // A part of a single name is enough.
    assert_eq!(ops(&["constant_pad_nd"]), ops(&["aten::constant_pad_nd.out"]));
}

/// A file has what standard output would have, without colours; an offset is a range of one byte.
#[test]
fn annotate_writes_a_file_and_takes_an_offset() {
    let folder = Folder::new(&[("model.yaml", RELU), ("notes.txt", "mine")]);
    folder.run(&["model.yaml", "-o", "model.pte", "-q"]).exits(0);
    let printed = stdout(&folder.run(&["annotate", "model.pte"]).exits(0));
    folder.run(&["annotate", "model.pte", "-o", "all.txt", "--color", "always"]).exits(0);
    assert_eq!(String::from_utf8(folder.read("all.txt")).unwrap(), printed);
    folder.run(&["annotate", "model.pte", "-o", "notes.txt"]).exits(2).stderr_contains("would be lost");
    folder.run(&["annotate", "model.pte", "-o", "notes.txt", "--force"]).exits(0);
    folder.run(&["annotate", "model.pte", "-o", "model.pte", "--force"]).exits(2).stderr_contains("model.pte");
    let ranges =
        ["0x9", "9..10"].map(|range| stdout(&folder.run(&["annotate", "model.pte", "--range", range]).exits(0)));
    assert!(ranges[0] == ranges[1] && ranges[0].lines().count() < printed.lines().count(), "{ranges:?}");
}

/// Commands that find nothing say so.
#[test]
fn nothing_is_reported() {
    let folder = Folder::new(&[("model.yaml", RELU)]);
    for command in ["list", "show"] {
        let done = folder.run(&["payload", command, "model.yaml"]).exits(0);
        assert_eq!((stdout(&done), &*done.stderr), (String::new(), "model.yaml: no delegates\n"));
        folder.run(&["payload", command, "model.yaml", "-q"]).exits(0).stderr_is_empty();
    }
    let done = folder.run(&["test", "model.yaml", "--runner", "true"]).exits(1).stderr_contains("there are no tests");
    assert_eq!(stdout(&done), "");
}

/// The values of options are in their help, not in a document.
#[test]
fn helps_have_the_passes_and_the_letters_of_operators() {
    let folder = Folder::new(&[]);
    let help = stdout(&folder.run(&["optimize", "--help"]).exits(0));
    let help = help.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(pte_emit::edit::OptimizePass::WORDS.iter().all(|pass| help.contains(&format!("{pass} ("))), "{help}");
    assert!(help.contains("T Tensor, S Scalar, i int") && !help.contains("docs/"), "{help}");
}

/// Inputs are numbered in their order, also if the values have another.
#[test]
fn inputs_have_their_order_in_names() {
    let yaml = "methods:\n  forward:\n    values:\n      pos: {tensor: int64, sizes: [1]}\n      image: {tensor: float32, sizes: [4]}\n    \
                inputs: [image, pos]\n    outputs: [y, z]\n    instructions:\n      - {kernel: aten::relu.out, args: [image], out: y}\n      \
                - {kernel: aten::add.out, args: [pos, pos], out: z}\n";
    let folder = Folder::new(&[("model.yaml", yaml)]);
    folder.run(&["model.yaml", "-o", "model.pte", "-q"]).exits(0);
    let shown = stdout(&folder.run(&["inspect", "model.pte"]).exits(0));
    let (first, second) = (shown.find("x: float32 [4]").unwrap(), shown.find("x_1: int64 [1]").unwrap());
    assert!(first < second, "{shown}");
    assert!(stdout(&folder.run(&["dump", "model.pte", "--exact"]).exits(0)).contains("inputs: [x, x_1]"));
}

/// The page is sent to others, whom folders of this machine do not concern.
#[test]
fn reports_have_no_absolute_paths() {
    let folder = Folder::new(&[("model.yaml", RELU)]);
    folder.run(&["model.yaml", "-o", "model.pte", "-q"]).exits(0);
    let path = folder.path().join("model.pte");
    for newer in [&[][..], &["model.pte"]] {
        let done = folder.run(&[&["report", path.to_str().unwrap()], newer].concat()).exits(0);
        let page = stdout(&done);
        assert!(page.contains("model.pte") && !page.contains(folder.path().to_str().unwrap()));
    }
}

/// A line for each target; a file that suits one of all has no errors.
#[test]
fn several_targets_are_lines() {
    let large = RELU.replace("[2, 2]", "[1000, 1000]");
    let folder = Folder::new(&[("model.yaml", &large), ("old.yaml", &format!("{RELU}version: 7\n"))]);
    let names: Vec<String> = stdout(&folder.run(&["check", "--list-targets"]))
        .lines()
        .map(|line| line.split(' ').next().unwrap().into())
        .collect();
    let all = stdout(&folder.run(&["check", "model.yaml", "--target", "all"]).exits(0));
    let lines: Vec<&str> = all.lines().filter(|line| line.starts_with("model.yaml: ")).collect();
    assert_eq!(lines.len(), names.len(), "{all}");
    assert!(names.iter().zip(&lines).all(|(name, line)| line.starts_with(&format!("model.yaml: {name}: "))), "{all}");
    assert!(lines.iter().any(|line| line.ends_with(": yes")) && all.contains("model.yaml: pico2: no: [R-"), "{all}");
    folder.run(&["check", "old.yaml", "--target", "all"]).exits(1);
    // Each of those that are named.
    folder.run(&["check", "model.yaml", "--target", "wheel-1.5.1", "--target", "pico2"]).exits(1);
    let document = json(&stdout(&folder.run(&["check", "model.yaml", "--target", "all", "--json"]).exits(0)));
    let targets = document["files"].as_array().unwrap().iter().map(|file| file["target"].as_str().unwrap());
    assert!(targets.eq(names.iter()), "{document}");
    folder
        .run(&["check", "model.yaml", "--target", "all", "--runtime", "all"])
        .exits(2)
        .stderr_contains("all of one kind");
}

#[test]
fn embed_creates_its_folder() {
    let folder = Folder::new(&[("model.yaml", RELU)]);
    folder.run(&["model.yaml", "-o", "model.pte", "-q"]).exits(0);
    folder.run(&["embed", "model.pte", "-o", "new/app/model.h"]).exits(0);
    folder.run(&["embed", "model.pte", "-o", "asm/model.S"]).exits(0);
    let source = String::from_utf8(folder.read("asm/model.S")).unwrap();
    assert!(folder.names().contains(&"new/app/model.h".to_owned()) && source.contains("../model.pte"), "{source}");
}
