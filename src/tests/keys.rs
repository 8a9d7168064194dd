//! The tables of keys in docs/yaml-reference.md are those of the grammar.

use std::path::Path;

use crate::ir::shape::{self, Form, Shape};

#[test]
fn the_tables_of_keys_are_up_to_date() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/yaml-reference.md");
    let text = std::fs::read_to_string(&path).unwrap();
    let shapes = shapes();
    let mut updated = String::new();
    let mut rest = text.as_str();
    let mut described = Vec::new();
    while let Some((before, after)) = rest.split_once("<!-- keys of ") {
        let (name, after) = after.split_once(" -->").expect("the comment is closed");
        let (_, after) = after.split_once("<!-- end -->").expect("the table ends");
        let shape =
            shapes.iter().find(|shape| shape.name == name).unwrap_or_else(|| panic!("no shape is called {name}"));
        updated += &format!("{before}<!-- keys of {name} -->\n{}<!-- end -->", table(shape));
        described.push(name);
        rest = after;
    }
    updated += rest;
    for shape in &shapes {
        // `iota` has two keys, which the table of `data_map` describes.
        assert!(
            described.contains(&shape.name) || shape.name == "iota",
            "docs/yaml-reference.md leaves out {}",
            shape.name
        );
    }
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&path, updated).unwrap();
    } else {
        pretty_assertions::assert_eq!(
            text,
            updated,
            "`BLESS=1 cargo test -p pte-emit --lib keys` writes {}",
            path.display()
        );
    }
}

/// All shapes that are reachable from the document.
pub(super) fn shapes() -> Vec<&'static Shape> {
    fn visit(form: &Form, found: &mut Vec<&'static Shape>, names: &mut Vec<&'static str>) {
        match form {
            // A form with a name may contain itself.
            Form::Named(name, _) if names.contains(name) => {}
            Form::Named(name, form) => {
                names.push(name);
                visit(form, found, names);
            }
            Form::List(form) | Form::Map(form) => visit(form, found, names),
            Form::Either(forms) => forms.iter().for_each(|form| visit(form, found, names)),
            Form::Shape(shape) if !found.iter().any(|other| other.name == shape.name) => {
                found.push(shape);
                shape.keys.iter().for_each(|key| visit(&key.form, found, names));
            }
            _ => {}
        }
    }
    let mut found = Vec::new();
    visit(&Form::Shape(&shape::DOCUMENT), &mut found, &mut Vec::new());
    found
}

fn table(shape: &Shape) -> String {
    let mut table = String::from("\n| key | type | description |\n|---|---|---|\n");
    for key in shape.keys {
        let required = if shape.required.contains(&key.name) { " (required)" } else { "" };
        table += &format!("| `{}`{required} | {} | {} |\n", key.name, describe(&key.form), key.doc);
    }
    table + "\n"
}

fn describe(form: &Form) -> String {
    match form {
        Form::Any => "anything".into(),
        Form::Null => "null".into(),
        Form::Bool => "true or false".into(),
        Form::Int => "an integer".into(),
        Form::UInt => "a non-negative integer".into(),
        Form::Number => "a number".into(),
        Form::Text | Form::Operator => "a string".into(),
        Form::Size => "a byte count (`4096`, `4K`)".into(),
        Form::Alignment => "an alignment".into(),
        Form::Dtype => "an element type".into(),
        Form::Option(option) => format!("{}; default: {}", option.expected(), option.default),
        Form::WordOrInt(words) => format!("{} or an integer", describe(&Form::OneOf(words))),
        Form::OneOf(words) => words.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", "),
        Form::List(item) => format!("a list: {}", describe(item)),
        Form::Map(value) => format!("a map: {}", describe(value)),
        Form::Shape(shape) => format!("{{{}}}", shape.name),
        Form::Named(name, _) => format!("*{name}*"),
        Form::Either(forms) => forms.iter().map(describe).collect::<Vec<_>>().join(" or "),
    }
}
