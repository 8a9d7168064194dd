//! Files of a made-up newer release (tests/golden/next), which flatc wrote (lab/tests/runtime/next_release.rs): they
//! are read, printed with what is unknown and reproduced, and no command loses a part of them without an error.

use std::fs;

use pretty_assertions::assert_eq;
use pte_emit::{AssembleOptions, Model, check::CheckOptions, diff::DiffOptions};
use pte_generate::random::Random;

use crate::support::folder::Folder;
use crate::support::{properties, root};

/// Names of the golden files.
const FILES: [&str; 3] = ["element_type", "fields", "members"];

fn golden(name: &str) -> Vec<u8> {
    fs::read(root().join(format!("tests/golden/next/{name}.pte"))).unwrap()
}

fn folder() -> Folder {
    let folder = Folder::new(&[]);
    FILES.iter().for_each(|name| folder.write(&format!("{name}.pte"), golden(name)));
    folder
}

/// YAML of a file, which reproduces it.
fn yaml(name: &str, file: &[u8]) -> String {
    let model = Model::from_binary(name, file);
    let printed =
        model.to_yaml(root(), &properties::print_options_of(false, pte_emit::LargeData::Inline, name)).unwrap();
    assert_eq!(printed.difference, None, "{name}");
    let text = printed.text.clone();
    let assembly = Model::from_yaml("again.yaml", &text, root()).assemble(&AssembleOptions::default()).unwrap();
    assert!(assembly.program_file().unwrap().to_vec().unwrap() == file, "{name}: {text}");
    text
}

/// The comments about unknown slots.
fn slots(yaml: &str) -> Vec<&str> {
    yaml.lines().map(str::trim).filter(|line| line.starts_with("# ") && line.contains(", slot ")).collect()
}

#[test]
fn yaml_reproduces_them_and_says_what_is_unknown() {
    let texts = FILES.map(|name| yaml(name, &golden(name)));
    texts.iter().for_each(|text| assert!(!text.contains("raw:"), "{text}"));
    assert_eq!(texts[0].matches("tensor: 46").count(), 1, "{}", texts[0]);
    let expected = [
        "# Program, slot 8: object 11, the string \"made-up\"",
        "# Program, slot 9: 15 4c 35 01",
        "# Tensor, slot 10: object 1, a table of 2 slots",
        "# Tensor, slot 11: 09",
        "# DelegateCall, slot 2: 07",
        "# DelegateCall, slot 3: object 2, the string \"on queue two\"",
        "# DelegateCall, slot 4: object 3, a vector of 3 items",
        "# DelegateCall, slot 5: object 10, a table of 3 slots",
        "# DelegateCall, slot 6: 01",
    ];
    assert_eq!(slots(&texts[1]), expected);
    for (text, count) in [("- {unknown: 6}", 1), ("- {unknown: 7}", 1), ("{unknown: 12}", 1)] {
        assert_eq!(texts[2].matches(text).count(), count, "{}", texts[2]);
    }
}

#[test]
fn every_serializer_writes_them_and_is_recognised() {
    for name in ["fields", "members"] {
        for builder in ["exir", "exir-shared-vtables", "flatc"] {
            let folder = folder();
            let source = format!("{name}.pte");
            folder.run(&[&source, "-o", "new.pte", "--builder", builder]).exits(0);
            let file = folder.read("new.pte");
            let text = yaml(name, &file);
            assert!(builder == "exir" || text.contains(&format!("builder: {builder}")), "{text}");
            assert_eq!(slots(&text), slots(&yaml(name, &golden(name))), "{builder}");
        }
    }
}

#[test]
fn check_names_the_parts_with_their_bytes() {
    let found = |name: &str| {
        let findings = Model::from_binary(name, golden(name)).check(&CheckOptions::default()).unwrap();
        findings.iter().map(|(_, findings)| properties::lines(findings)).collect::<String>()
    };
    let fields = found("fields");
    assert_eq!((fields.matches("note[G-33]").count(), fields.matches("invalid").count()), (3, 0), "{fields}");
    assert!(
        fields.contains("DelegateCall with fields that the schema does not have (slot 2: 07 00 00 00; slot 3: "),
        "{fields}"
    );
    let members = found("members");
    assert_eq!((members.matches("note[G-33]").count(), members.matches("invalid[I-2]").count()), (3, 2), "{members}");
    assert_eq!(members.matches("invalid[M-13]").count(), 1, "{members}");
    assert!(found("element_type").contains("invalid[T-2]"));
}

#[test]
fn a_difference_of_an_unknown_part_is_a_difference() {
    let file = golden("fields");
    let model = |bytes: &[u8]| Model::from_binary("file", bytes);
    let same = model(&file).diff(&model(&file), &DiffOptions::default()).unwrap();
    assert!(same.is_empty());
    // A number, a character of a string, a number in a table, a word of a vector, and the tag of an unknown member.
    let text = file.windows(12).position(|bytes| bytes == b"on queue two").unwrap();
    let build = file.windows(4).position(|bytes| bytes == 20_270_101u32.to_le_bytes()).unwrap();
    let weight = file.windows(8).position(|bytes| bytes == 0.25f64.to_le_bytes()).unwrap();
    let deps = file.windows(8).position(|bytes| bytes == (-2i64).to_le_bytes()).unwrap();
    for at in [text, build, weight, deps] {
        let mut changed = file.clone();
        changed[at] ^= 1;
        let found = model(&file).diff(&model(&changed), &DiffOptions::default()).unwrap();
        let topics: Vec<&str> = found.list.iter().map(|difference| difference.topic.name()).collect();
        assert_eq!(topics, ["newer schema"], "byte {at}");
    }
}

#[test]
fn annotate_explains_all_bytes() {
    for name in FILES {
        let folder = folder();
        let text = String::from_utf8(folder.run(&["annotate", &format!("{name}.pte")]).exits(0).stdout).unwrap();
        assert!(text.contains(" 0 unreachable, 0 overlapping"), "{name}: {}", text.lines().last().unwrap());
    }
}

#[test]
fn inspect_lists_the_parts() {
    let text = String::from_utf8(folder().run(&["inspect", "fields.pte", "--limit", "0"]).exits(0).stdout).unwrap();
    assert!(text.contains("instructions[0].instr_args: DelegateCall slot 2: 07"), "{text}");
    assert!(text.contains("DelegateCall slot 3: object 2, the string \"on queue two\""), "{text}");
}

#[test]
fn edits_keep_the_parts_or_refuse() {
    let edits: &[&[&str]] = &[
        &["FILE", "-o", "new.pte"],
        &["FILE", "-o", "new.pte", "--prune"],
        &["FILE", "-o", "new.pte", "--external-data"],
        &["strip", "FILE", "-o", "new.pte"],
        &["optimize", "FILE", "-o", "new.pte"],
        &["rename", "FILE", "--method", "forward=other", "-o", "new.pte"],
        &["extract", "FILE", "--method", "forward", "-o", "new.pte"],
        &["metadata", "set", "FILE", "get_version=2", "-o", "new.pte"],
        &["merge", "FILE", "other.yaml", "-o", "new.pte"],
        &["bound", "FILE", "--static", "-o", "new.pte"],
        &["payload", "replace", "FILE", "forward/part0", "payload.bin", "-o", "new.pte"],
    ];
    let mut kept = 0;
    for name in ["fields", "members"] {
        for edit in edits {
            let folder = folder();
            folder.write("other.yaml", "methods: {get_version: {outputs: [2]}}\nlayout: {builder: flatc}\n");
            let source = format!("{name}.pte");
            let arguments: Vec<&str> =
                edit.iter().map(|word| if *word == "FILE" { source.as_str() } else { *word }).collect();
            folder.run(&["payload", "extract", &source, "-o", "payload.bin"]).exits(0);
            let done = folder.run(&arguments);
            let Some(0) = done.code else {
                // A program with instructions that the runtime rejects has errors.
                let is_named = ["newer schema", "invalid[I-2]"].iter().any(|text| done.stderr.contains(text));
                assert!(done.code == Some(1) && is_named, "{arguments:?}: {}", done.stderr);
                assert!(!folder.path().join("new.pte").exists(), "{arguments:?}");
                continue;
            };
            kept += 1;
            let (before, after) = (yaml(name, &golden(name)), yaml(name, &folder.read("new.pte")));
            assert_eq!(slots(&after), slots(&before), "{arguments:?}");
        }
    }
    assert_eq!(kept, 12);
}

#[test]
fn a_moved_instruction_is_an_error() {
    let text = yaml("fields", &golden("fields"));
    let moved = text.replacen(
        "      - {delegate:",
        "      - {kernel: aten::relu.out, args: [x], out: r}\n      - {delegate:",
        1,
    );
    let error =
        Model::from_yaml("moved.yaml", moved, root()).assemble(&AssembleOptions::default()).unwrap_err().to_string();
    assert!(
        error.contains("`methods.forward.instructions[0].instr_args`") && error.contains("no DelegateCall"),
        "{error}"
    );
    let without: String = text.split_inclusive('\n').take_while(|line| !line.starts_with("unknown:")).collect();
    Model::from_yaml("without.yaml", without, root()).assemble(&AssembleOptions::default()).unwrap();
}

#[test]
fn memory_is_not_planned_around_unknown_instructions() {
    let text = yaml("members", &golden("members"));
    let start = text.find(", memory: {pool").expect("explicit offsets");
    let end = start + text[start..].find('}').unwrap() + 1;
    let auto = text[..start].to_owned() + &text[end..];
    let error =
        Model::from_yaml("auto.yaml", auto, root()).assemble(&AssembleOptions::default()).unwrap_err().to_string();
    assert!(error.contains("cannot be planned, because it has an instruction of a newer schema"), "{error}");
}

/// Changed files are read or rejected, in bounded time, and what is printed of them reproduces them if it says so.
#[test]
fn changed_files_do_not_panic() {
    let mut random = Random::new(1);
    let words = [0u32, 1, 4, 8, 0x7fff_ffff, 0xffff_ffff, 0xffff_fffc, 0x0010_0010];
    for name in ["fields", "members"] {
        let file = golden(name);
        let size = u32::from_le_bytes(*file[16..].first_chunk().unwrap()) as usize;
        for _ in 0..60 {
            let mut changed = file.clone();
            for _ in 0..=random.below(2) {
                let at = 40 + random.below(size - 44);
                match random.below(3) {
                    0 => changed[at] = random.below(256) as u8,
                    1 => changed[at] = changed[at].wrapping_add(4),
                    _ => changed[at..at + 4].copy_from_slice(&words[random.below(8)].to_le_bytes()),
                }
            }
            let model = Model::from_binary("changed", &changed);
            let _ = model.check(&CheckOptions::default());
            let _ = model.annotate(&Default::default(), &mut std::io::sink());
            let _ = Model::from_binary("file", &file).diff(&model, &DiffOptions::default());
            let options = properties::print_options_of(false, pte_emit::LargeData::Inline, name);
            let Ok(printed) = model.to_yaml(root(), &options) else { continue };
            if printed.difference.is_none() {
                let assembly =
                    Model::from_yaml("again.yaml", &printed.text, root()).assemble(&AssembleOptions::default());
                assert!(assembly.unwrap().program_file().unwrap().to_vec().unwrap() == changed);
            }
        }
    }
}

#[test]
fn a_new_operator_is_known_by_its_signature() {
    let folder = Folder::new(&[(
        "new.yaml",
        "methods: {forward: {values: {x: {tensor: float32, sizes: [2]}, y: {tensor: float32, sizes: [2]}}, inputs: [x], outputs: [y],
  instructions: [{kernel: aten::made_up.out, args: [x, y, y]}]}}\n",
    )]);
    folder.write("ops.txt", "aten::made_up.out self:T out:T!\n");
    folder.run(&["-q", "new.yaml", "-o", "new.pte"]).exits(0);
    let found = |arguments: &[&str]| String::from_utf8(folder.run(arguments).stdout).unwrap();
    let (without, with) = (found(&["check", "new.pte"]), found(&["check", "new.pte", "--ops", "ops.txt"]));
    assert!(without.contains("made_up") && !with.contains("made_up"), "{without}{with}");
}
