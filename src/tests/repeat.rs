//! Repetition (`pte_yaml::repeat`) in documents: the bytes are those of the text written out.

use super::resolve::assembled;
use crate::Model;

/// A source with the lines of each `do` repeated by hand. Repetitions are not nested, and count `i`.
fn written_out(text: &str) -> String {
    let (mut out, mut lines) = (String::new(), text.lines().peekable());
    while let Some(line) = lines.next() {
        let Some((before, count)) = line.split_once("repeat: {i: ") else {
            // The name of a repetition in a map.
            if !lines.peek().is_some_and(|next| next.trim_start().starts_with("repeat:")) {
                out += &format!("{line}\n");
            }
            continue;
        };
        let count: i64 = count.trim_end_matches('}').parse().unwrap();
        let indent = lines.next().unwrap().find("do:").unwrap();
        let outer = before.len() - 2;
        let mut body = Vec::new();
        while let Some(line) = lines.next_if(|line| line.find(|c| c != ' ').is_some_and(|at| at > indent)) {
            body.push(&line[indent + 2..]);
        }
        for i in 0..count {
            for line in &body {
                let line = line.replace("$(i)", &i.to_string()).replace("$(i+1)", &(i + 1).to_string());
                out += &format!("{}{line}\n", " ".repeat(outer));
            }
        }
    }
    out
}

#[test]
fn the_bytes_are_those_of_the_text_written_out() {
    let text = include_str!("../../examples/transformer_12_blocks.yaml");
    let written = written_out(text);
    assert!(written.lines().count() > 300 && !written.contains("$("), "{written}");
    let bytes = |yaml| assembled(yaml).program_file().unwrap().to_vec().unwrap();
    assert!(bytes(text) == bytes(&written));
}

/// An error in what is repeated is reported once, at its line, with the first counter.
#[test]
fn an_error_is_reported_once() {
    let text = "methods:\n  f:\n    outputs: [y]\n    instructions:\n      - repeat: {i: 9}\n        do: [{kernel: aten::relu.out, args: [x$(i)], out: y$(i)}]\n";
    let error = Model::from_yaml("test", text, ".").resolve().unwrap_err().to_string();
    assert_eq!(error.matches("unknown value `x").count(), 1, "{error}");
    assert!(error.contains("`x0` in method `f` (i = 0, and 8 other copies)") && error.contains("test:6:"), "{error}");
}

/// More messages than are kept precede the last instruction: its operand is one that a trial removed.
#[test]
fn many_messages_are_counted() {
    let yaml = "methods: {f: {values: {x: {tensor: float32, sizes: [2]}}, inputs: [x], outputs: [y], instructions: [\
                {repeat: {i: 3000}, do: [{kernel: aten::relu.out, args: [x], out: y$(i)}]}, {kernel: aten::relu.out, \
                args: [x], out: y}]}}";
    crate::Model::from_yaml("m.yaml", yaml, ".").formatted(crate::ComputedKeys::Omitted).unwrap();
}
