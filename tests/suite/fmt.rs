//! Properties of `fmt`: it is idempotent, and keeps comments, the tree and the files; `dump` prints what it restores.
//! Its inputs are all sources of the repository, random documents, and both in random styles. The library itself
//! verifies comments and tree; here, other code does.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use pte_emit::{ComputedKeys, Model};
use pte_yaml::quotes;
use pte_yaml::tree::{self, NodeValue, SourceNode};

use crate::support::folder::Folder;
use crate::support::{files_below, properties, root, sources};

fn formatted(text: &str) -> Result<String, String> {
    Model::from_yaml("f.yaml", text, ".").formatted(ComputedKeys::AsWritten).map_err(|error| error.to_string())
}

/// Formats a source, and asserts what holds for all of them.
fn checked(text: &str) -> String {
    let once = formatted(text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let twice = formatted(&once).unwrap_or_else(|error| panic!("{error}\n{once}"));
    pretty_assertions::assert_eq!(once, twice, "not idempotent:\n{text}");
    let has_end = once.is_empty() || once.ends_with('\n');
    assert!(has_end && !once.contains('\t') && !once.lines().any(|line| line.ends_with(' ')), "{once}");
    once
}

fn same_tree(a: &str, b: &str) {
    let tree = |text: &str| format!("{:?}", tree::parse(text).unwrap());
    assert_eq!(tree(a), tree(b), "{a}\n{b}");
}

/// Files of a source; `None` if it has errors, or would be large.
fn files(text: &str, folder: &Path) -> Option<Vec<(&'static str, Vec<u8>)>> {
    let options = pte_emit::AssembleOptions::default().max_size(1 << 20);
    let assembly = Model::from_yaml("f.yaml", text, folder).assemble(&options).ok()?;
    assembly.program_file().is_none_or(|file| file.size().is_some_and(|size| size < 1 << 20)).then_some(())?;
    Some(sources::files(&assembly))
}

/// All sources of the repository.
fn all_sources() -> Vec<std::path::PathBuf> {
    let mut paths: Vec<_> =
        ["examples", "tests/golden"].iter().flat_map(|folder| files_below(&root().join(folder), &["yaml"])).collect();
    paths.sort();
    paths
}

#[test]
fn sources_of_the_repository() {
    let (mut count, mut assembled) = (0, 0);
    for path in all_sources() {
        let Ok(text) = fs::read_to_string(&path) else { continue };
        let Ok(once) = formatted(&text) else { continue };
        count += 1;
        assert_eq!(checked(&text), once, "{}", path.display());
        let filled =
            |text: &str| pte_yaml::template::fill(text, &Default::default()).map(|found| found.text.into_owned());
        let (Ok(before), Ok(after)) = (filled(&text), filled(&once)) else { continue };
        let folder = path.parent().unwrap();
        if let Some(files_before) = files(&before, folder) {
            assembled += 1;
            assert!(files(&after, folder) == Some(files_before), "{} has other files", path.display());
        }
    }
    assert!(count > 500 && assembled > 300, "{count} sources, of which {assembled} assemble");
}

#[test]
fn examples_are_formatted() {
    let folder = root().join("examples");
    let mut arguments = vec!["fmt".to_owned(), "--check".to_owned()];
    let names = files_below(&folder, &["yaml"]).into_iter();
    let names = names.filter(|path| !path.components().any(|part| part.as_os_str() == "malformed"));
    arguments.extend(names.map(|path| path.display().to_string()));
    assert!(arguments.len() > 30);
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let done = Folder::new(&[]).run(&arguments);
    assert_eq!(done.code, Some(0), "{}", String::from_utf8_lossy(&done.stdout));
}

/// Numbers from a seed.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % bound
    }

    fn one_in(&mut self, count: usize) -> bool {
        self.below(count) == 0
    }
}

/// Writer of a tree in random styles, with numbered comments.
struct Ugly {
    random: Random,
    out: String,
    comments: usize,
    /// A block scalar has ended: what is indented would belong to it.
    after_block: bool,
}

impl Ugly {
    fn write(node: &SourceNode<'_>, seed: u64) -> Ugly {
        let mut ugly = Ugly { random: Random(seed), out: String::new(), comments: 0, after_block: false };
        ugly.lines(0);
        ugly.node(node, 0, true);
        ugly.lines(0);
        ugly
    }

    fn comment(&mut self) {
        let _ = write!(self.out, "# {{comment}} {}: 'x", self.comments);
        self.comments += 1;
    }

    /// Comments and blank lines.
    fn lines(&mut self, indent: usize) {
        let is_after_block = std::mem::take(&mut self.after_block);
        while self.random.one_in(5) {
            match self.random.one_in(2) {
                true => self.out.push_str(if is_after_block || self.random.one_in(2) { "\n" } else { "   \n" }),
                false => {
                    let more = self.random.below(3);
                    self.out.push_str(&" ".repeat(if is_after_block { 0 } else { indent + more }));
                    self.comment();
                    self.out.push('\n');
                }
            }
        }
    }

    fn end(&mut self) {
        if self.random.one_in(6) {
            self.out.push_str([" ", "   "][self.random.below(2)]);
            self.comment();
        }
        self.out.push_str(["\n", " \n"][self.random.below(2)]);
    }

    /// A value after `-`, `:` or nothing: on the line, or a block.
    fn node(&mut self, node: &SourceNode<'_>, indent: usize, is_root: bool) {
        let step = if is_root { 0 } else { 1 + self.random.below(4) };
        let inner = indent + step;
        match &node.value {
            NodeValue::List(items) if !items.is_empty() && self.random.one_in(2) => {
                if !is_root {
                    self.end();
                }
                for item in items {
                    self.lines(inner);
                    self.out.push_str(&" ".repeat(inner));
                    self.out.push('-');
                    self.node(item, inner, false);
                }
            }
            NodeValue::Map(entries) if !entries.is_empty() && self.random.one_in(2) => {
                if !is_root {
                    self.end();
                }
                for (key, value) in entries {
                    self.lines(inner);
                    self.out.push_str(&" ".repeat(inner));
                    self.string(&key.text);
                    self.out.push(':');
                    self.node(value, inner, false);
                }
            }
            NodeValue::Text(text) if is_block_text(text) && !is_root && self.random.one_in(3) => {
                self.out.push_str(if text.ends_with('\n') { " |" } else { " |-" });
                self.end();
                for line in text.lines() {
                    let indent = if line.is_empty() { 0 } else { inner };
                    self.out.push_str(&format!("{}{line}\n", " ".repeat(indent)));
                }
                self.after_block = true;
            }
            _ => {
                self.out.push_str(if is_root { "" } else { [" ", "   "][self.random.below(2)] });
                self.flow(node, indent + 1);
                self.end();
            }
        }
    }

    /// Space inside of brackets.
    fn space(&mut self, indent: usize) {
        match self.random.below(12) {
            0 => {
                self.out.push_str("  ");
                self.comment();
                self.out.push_str(&format!("\n{}", " ".repeat(indent)));
            }
            1 => self.out.push_str(&format!("\n\n{}", " ".repeat(indent + 3))),
            2..7 => self.out.push(' '),
            _ => {}
        }
    }

    fn flow(&mut self, node: &SourceNode<'_>, indent: usize) {
        match &node.value {
            NodeValue::List(items) => {
                self.out.push('[');
                for (position, item) in items.iter().enumerate() {
                    self.out.push_str(if position == 0 { "" } else { "," });
                    self.space(indent);
                    self.flow(item, indent);
                    self.space(indent);
                }
                self.space(indent);
                self.out.push(']');
            }
            NodeValue::Map(entries) => {
                self.out.push('{');
                for (position, (key, value)) in entries.iter().enumerate() {
                    self.out.push_str(if position == 0 { "" } else { "," });
                    self.space(indent);
                    self.string(&key.text);
                    self.out.push_str(": ");
                    self.space(indent);
                    self.flow(value, indent);
                    self.space(indent);
                }
                self.out.push('}');
            }
            NodeValue::Text(text) => self.string(text),
            NodeValue::Null => self.out.push_str(["null", "~"][self.random.below(2)]),
            NodeValue::Bool(value) => self.out.push_str(if *value { "true" } else { "False" }),
            NodeValue::Int(number) => _ = write!(self.out, "{number}"),
            NodeValue::UInt(number) => _ = write!(self.out, "{number:#x}"),
            NodeValue::Float(number) if number.is_nan() => self.out.push_str(".nan"),
            NodeValue::Float(number) if number.is_infinite() => {
                self.out.push_str(if *number > 0.0 { ".inf" } else { "-.inf" });
            }
            NodeValue::Float(number) => _ = write!(self.out, "{number:?}"),
        }
    }

    fn string(&mut self, text: &str) {
        let is_printable = text.chars().all(|c| (' '..='~').contains(&c)) && !text.contains("${");
        let written = match self.random.below(3) {
            0 => quotes::text(text).into_owned(),
            1 if is_printable => format!("'{}'", text.replace('\'', "''")),
            _ => quotes::quoted(text),
        };
        self.out.push_str(&written);
    }
}

/// Returns true for a string that a block scalar may have: without spaces at the start, and one line end at most.
fn is_block_text(text: &str) -> bool {
    let is_line = |c: char| (' '..='~').contains(&c) || c == '\n';
    !text.trim().is_empty()
        && !text.starts_with([' ', '\n'])
        && !text.ends_with("\n\n")
        && text.chars().all(is_line)
        && !text.contains("${")
        && !text.lines().any(|line| line.ends_with(' '))
}

/// A random tree, whose keys are partly those of the grammar.
fn random_tree(random: &mut Random, depth: usize) -> String {
    const WORDS: [&str; 24] = [
        "methods",
        "values",
        "instructions",
        "tests",
        "graph",
        "nodes",
        "data",
        "x",
        "a b",
        "",
        "- a",
        "a: b",
        "a #b",
        "1",
        "true",
        "\"",
        "'",
        "\\n\\n x",
        "layout",
        "delegates",
        "flatbuffer",
        "root",
        "hex",
        "\\u00e9,[]{}&*!|>%@`",
    ];
    let word = |random: &mut Random| format!("\"{}\"", WORDS[random.below(WORDS.len())].replace('"', "\\\""));
    match random.below(if depth == 0 { 4 } else { 8 }) {
        0 => word(random),
        1 => ["1", "-2.5", "null", "true", "1e300", "18446744073709551615"][random.below(6)].to_owned(),
        2 => format!("\"{} word\\nline {}\"", "long ".repeat(random.below(30)), random.below(9)),
        3 => ["[]", "{}"][random.below(2)].to_owned(),
        kind => {
            let count = random.below(5);
            let item = |random: &mut Random, key: bool| match key {
                true => format!("{}: {}", word(random), random_tree(random, depth - 1)),
                false => random_tree(random, depth - 1),
            };
            let items: Vec<String> = (0..count).map(|_| item(random, kind % 2 == 0)).collect();
            if kind % 2 == 0 { format!("{{{}}}", items.join(", ")) } else { format!("[{}]", items.join(", ")) }
        }
    }
}

/// Asserts what holds for a tree in a random style.
fn check_ugly(node: &SourceNode<'_>, seed: u64) -> String {
    let Ugly { out, comments, .. } = Ugly::write(node, seed);
    let once = checked(&out);
    let values = |node: &SourceNode<'_>| serde_json::Value::from(node);
    assert_eq!(values(&tree::parse(&out).unwrap()), values(node), "the style is another document:\n{out}");
    same_tree(&out, &once);
    let numbers = |text: &str| -> Vec<usize> {
        let found = text.match_indices("# {comment} ").map(|(at, found)| &text[at + found.len()..]);
        found.map(|rest| rest[..rest.find(':').unwrap()].parse().unwrap()).collect()
    };
    assert_eq!(numbers(&once), (0..comments).collect::<Vec<_>>(), "seed {seed}\n{out}\n{once}");
    once
}

#[test]
fn random_documents_in_random_styles() {
    for seed in 0..3000 {
        let text = format!("{{\"methods\": {}}}", random_tree(&mut Random(seed), 5));
        let node = tree::parse(&text).unwrap_or_else(|error| panic!("{error:?} {text}"));
        check_ugly(&node, seed);
    }
}

#[test]
fn sources_in_random_styles() {
    let mut assembled = 0;
    for (seed, path) in (0..).zip(all_sources()) {
        let Ok(text) = fs::read_to_string(&path) else { continue };
        let Ok(filled) = pte_yaml::template::fill(&text, &Default::default()) else { continue };
        let Ok(node) = tree::parse(&filled.text) else { continue };
        // The names of the file's own are its meaning; numbers in other spellings are the same numbers.
        let once = check_ugly(&node, seed);
        let folder = path.parent().unwrap();
        if let (Some(expected), true) = (files(&filled.text, folder), seed % 5 == 0) {
            assembled += 1;
            assert!(files(&once, folder) == Some(expected), "{}\n{once}", path.display());
        }
    }
    assert!(assembled > 50, "{assembled}");
}

/// What `dump` prints stays as it is.
#[test]
fn dump_prints_the_canonical_layout() {
    let mut count = 0;
    for path in files_below(&root().join("tests/golden/upstream"), &["pte", "ptd", "bpte"]) {
        for explicit in [false, true] {
            let Ok(printed) = properties::print(&path, explicit, pte_emit::LargeData::Inline) else { continue };
            pretty_assertions::assert_eq!(formatted(&printed.text).unwrap(), printed.text, "{}", path.display());
            count += 1;
        }
    }
    // Assembling and printing all of them takes a minute.
    for path in all_sources().into_iter().step_by(4) {
        let Ok(text) = fs::read_to_string(&path) else { continue };
        for (extension, bytes) in files(&text, path.parent().unwrap()).into_iter().flatten() {
            let model = Model::from_binary(format!("f.{extension}"), bytes);
            let Ok(printed) = model.to_yaml(Path::new(""), &properties::print_options()) else { continue };
            // What cannot be expressed is not finished.
            if printed.difference.is_some() {
                continue;
            }
            pretty_assertions::assert_eq!(formatted(&printed.text).unwrap(), printed.text, "{}", path.display());
            count += 1;
        }
    }
    assert!(count > 300, "{count}");
}

const UGLY: &str = "{methods: {f: {outputs: [1] # one\n}}}";
const PRETTY: &str = "methods:\n  f:\n    outputs: [1]  # one\n";

#[test]
fn files_are_replaced_if_they_change() {
    let folder = Folder::new(&[("a.yaml", UGLY), ("b.yaml", PRETTY), ("c.json", "{}")]);
    let done = folder.run(&["fmt", "a.yaml", "b.yaml", "c.json"]);
    assert_eq!((done.code, done.stdout.len()), (Some(0), 0));
    assert_eq!(done.stderr, "a.yaml: formatted\nc.json: formatted\n");
    assert_eq!(folder.read("a.yaml"), PRETTY.as_bytes());
    assert_eq!(folder.read("c.json"), b"{}\n");
    assert_eq!(folder.names(), ["a.yaml", "b.yaml", "c.json"]);
}

/// JSON copies of all sources stay JSON of the same values, in one layout.
#[test]
fn json_stays_json() {
    let mut count = 0;
    for path in all_sources() {
        let Ok(text) = fs::read_to_string(&path) else { continue };
        let Ok(node) = tree::parse(&text) else { continue };
        let value = serde_json::Value::from(&node);
        let [compact, pretty] = [value.to_string(), serde_json::to_string_pretty(&value).unwrap()];
        if !value.is_object() || pte_yaml::template::variables(&compact).is_err() {
            continue;
        }
        let once = checked(&compact);
        pretty_assertions::assert_eq!(once, checked(&pretty.replace('\n', "\r\n")), "{}", path.display());
        same_tree(&compact, &once);
        assert_eq!(serde_json::from_str::<serde_json::Value>(&once).unwrap(), value, "{once}");
        count += 1;
    }
    assert!(count > 300, "{count}");
}

#[test]
fn json_has_its_own_layout_and_no_computed_keys() {
    let json = r#"{"methods": {"f": {"inputs": ["x"], "outputs": ["x"], "values": {"x": {"tensor": "float32", "sizes": [0, 1.50]}}}}}"#;
    let expected = r#"{
  "methods": {
    "f": {
      "inputs": ["x"],
      "outputs": ["x"],
      "values": {
        "x": {
          "tensor": "float32",
          "sizes": [0, 1.50]
        }
      }
    }
  }
}
"#;
    let folder = Folder::new(&[("a.yaml", json), ("b.json", "{\"methods\": {},}"), ("c.json", "{\"methods\": {}}\n")]);
    let done = folder.run(&["fmt", "a.yaml", "b.json"]);
    assert_eq!(folder.read("a.yaml"), expected.as_bytes());
    assert_eq!(
        (done.code, &*done.stderr),
        (
            Some(1),
            "a.yaml: formatted\nerror: b.json: the name ends with .json, but the content is not JSON: key must be a string at line 1 column 16\n\n"
        )
    );
    assert_eq!(folder.read("b.json"), b"{\"methods\": {},}");
    for option in ["--shortest", "--explicit"] {
        let done = folder.run(&["fmt", option, "c.json"]);
        let message = "error: c.json: computed keys can be left out or stated only in YAML; this is JSON\n\n";
        assert_eq!((done.code, &*done.stderr), (Some(1), message));
    }
    assert_eq!(folder.read("c.json"), b"{\"methods\": {}}\n");
}

#[test]
fn check_prints_a_diff() {
    let folder = Folder::new(&[("a.yaml", UGLY), ("b.yaml", PRETTY), ("c.yaml", &PRETTY.replace('\n', "\r\n"))]);
    let done = folder.run(&["fmt", "--check", "a.yaml", "b.yaml", "c.yaml"]);
    let expected = "--- a.yaml
+++ a.yaml (formatted)
@@ -1,2 +1,3 @@
-{methods: {f: {outputs: [1] # one
-}}}
+methods:
+  f:
+    outputs: [1]  # one
c.yaml: line ends differ
";
    assert_eq!((done.code, String::from_utf8(done.stdout).unwrap().as_str()), (Some(1), expected));
    assert_eq!(folder.read("a.yaml"), UGLY.as_bytes());
}

#[test]
fn standard_input_becomes_standard_output() {
    let done = Folder::new(&[]).run_with_stdin(&["fmt", "-"], UGLY);
    assert_eq!((done.code, done.stdout), (Some(0), PRETTY.as_bytes().to_vec()));
    assert_eq!(Folder::new(&[]).run(&["fmt", "-", "-"]).code, Some(2));
}

/// The message is that of assembling, and the other files are formatted.
#[test]
fn malformed_files_stay() {
    for text in ["methods: [\n", "a: ${\n", "a: 1\n  b: 2\n", "a: 017\n", "\u{1}"] {
        let folder = Folder::new(&[("a.yaml", text), ("b.yaml", UGLY)]);
        let done = folder.run(&["fmt", "a.yaml", "b.yaml"]);
        let assembled = folder.run(&["a.yaml", "-o", "a.pte"]);
        assert_eq!((done.code, folder.read("a.yaml")), (Some(1), text.as_bytes().to_vec()));
        let message = |stderr: &str| stderr.lines().next().unwrap().to_owned();
        assert_eq!(message(&done.stderr), message(&assembled.stderr), "{text}");
        assert_eq!(folder.read("b.yaml"), PRETTY.as_bytes());
    }
    let folder = Folder::new(&[]);
    folder.write("a.yaml", b"\xff");
    folder.write("a.pte", b"\0\0\0\0ET12");
    assert_eq!(folder.run(&["fmt", "a.yaml"]).code, Some(1));
    assert_eq!(folder.run(&["fmt", "a.pte"]).code, Some(1));
    assert_eq!(folder.run(&["fmt", "none.yaml"]).code, Some(3));
}

/// Formats a file of the repository with keys omitted or stated.
fn with_keys(path: &Path, keys: ComputedKeys) -> Result<String, pte_emit::Error> {
    Model::open(path).unwrap().formatted(keys)
}

/// `--shortest` and `--explicit` keep the files, comments and layout, and undo each other's keys.
#[test]
fn computed_keys_are_omitted_and_stated() {
    let (mut shorter, mut longer) = (0, 0);
    for path in files_below(&root().join("examples"), &["yaml"]) {
        if path.components().any(|part| part.as_os_str() == "malformed") {
            continue;
        }
        let (text, folder) = (fs::read_to_string(&path).unwrap(), path.parent().unwrap());
        let expected = files(&text, folder).expect("examples assemble");
        for keys in [ComputedKeys::Omitted, ComputedKeys::Stated] {
            let found = with_keys(&path, keys).unwrap_or_else(|error| panic!("{error}"));
            assert!(files(&found, folder).as_ref() == Some(&expected), "{keys:?} {}\n{found}", path.display());
            assert_eq!(checked(&found), found);
            let comments = |text: &str| text.lines().filter_map(|line| line.split_once("# ")).count();
            assert_eq!(comments(&found), comments(&text), "{keys:?} {}\n{found}", path.display());
            let size = (found.len(), text.len());
            shorter += usize::from(keys == ComputedKeys::Omitted && size.0 < size.1);
            longer += usize::from(keys == ComputedKeys::Stated && size.0 > size.1);
        }
    }
    assert!(shorter > 3 && longer > 25, "{shorter} shorter, {longer} longer");
}

const STATED: &str = "
methods:
  forward:
    values:
      x: {tensor: float32, sizes: [2]} # the input
      w:
        tensor: float32
        sizes: [2] # of the data
        dim_order: [0]
        data: [1, 2]
      # the sum
      y: {tensor: float32, sizes: [2], dynamism: static}
    inputs: [x]
    outputs: [y]
    operators: [aten::add.out]
    instructions:
      - {kernel: aten::add.out, args: [x, w], out: y}
layout: {header: auto} # as always
";

#[test]
fn shortest_leaves_comments() {
    let expected = "methods:
  forward:
    values:
      x: {tensor: float32, sizes: [2]}  # the input
      w:
        tensor: float32
        # of the data
        data: [1, 2]
      # the sum
    inputs: [x]
    outputs: [y]
    instructions:
      - {kernel: aten::add.out, args: [x, w], out: y}
# as always
";
    let shortest = Model::from_yaml("f.yaml", STATED, ".").formatted(ComputedKeys::Omitted).unwrap();
    pretty_assertions::assert_eq!(shortest, expected);
    let explicit = Model::from_yaml("f.yaml", &shortest, ".").formatted(ComputedKeys::Stated).unwrap();
    let expected = expected.replace("        # of the data\n", "        sizes: [2]\n        # of the data\n");
    let expected = expected.replace("      # the sum\n", "      y: {tensor: float32, sizes: [2]}\n      # the sum\n");
    pretty_assertions::assert_eq!(explicit, expected);
}

/// The comment after a list or map that becomes a block stays at its end.
#[test]
fn a_closing_comment_stays_at_its_item() {
    let text = "\
methods:
  f:
    instructions:
      - {kernel: aten::relu.out, args: [a, # one
          b], out: c}  # two
      - {kernel: aten::relu.out, args: [a, # three
          [1, 2]]}  # four
";
    let expected = "\
methods:
  f:
    instructions:
      - kernel: aten::relu.out
        args:
          - a  # one
          - b
        out: c  # two
      - kernel: aten::relu.out
        args:
          - a  # three
          - [1, 2]
        # four
";
    assert_eq!(checked(text), expected);
    let list = "methods: {f: {inputs: [a, # one\n  b]}} # two\n";
    assert_eq!(checked(list), "methods:\n  f:\n    inputs:\n      - a  # one\n      - b\n  # two\n");
}

#[test]
fn untrusted_files_are_confined() {
    let text = "methods: {f: {values: {w: {tensor: float32, sizes: [1], data: {file: ../w.bin}}}, outputs: [w]}}\n";
    let folder = Folder::new(&[("w.bin", "abcd")]);
    std::fs::create_dir(folder.path().join("in")).unwrap();
    std::fs::write(folder.path().join("in/m.yaml"), text).unwrap();
    let refused = folder.run(&["fmt", "--shortest", "--confine", "in", "in/m.yaml"]).exits(1);
    assert!(refused.stderr.contains("to which files are confined"), "{}", refused.stderr);
    folder.run(&["fmt", "--shortest", "--confine", ".", "in/m.yaml"]).exits(0);
    folder.run(&["fmt", "--shortest", "--max-size", "1", "in/m.yaml"]).exits(1);
}

#[test]
fn keys_of_a_source_that_does_not_assemble_stay() {
    for (text, message) in [("methods: {f: {outputs: [x]}}", "unknown value `x`"), ("name: ${N:a}", "has variables")] {
        let folder = Folder::new(&[("a.yaml", text)]);
        for option in ["--shortest", "--explicit"] {
            let done = folder.run(&["fmt", option, "a.yaml"]);
            assert_eq!((done.code, folder.read("a.yaml")), (Some(1), text.as_bytes().to_vec()));
            assert!(done.stderr.contains(message), "{}", done.stderr);
        }
    }
}
