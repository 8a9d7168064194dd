//! Prints the parts of a newer schema: their description in comments, and the bytes that reproduce them.

use std::fmt::Write;

use super::yaml::{self, FlowMap};
use pte_model::format::program::PROGRAM;
use pte_model::format::unknown::table_named;
use pte_model::program::{Program, UnknownObject, UnknownParts};

/// Appends the section `unknown`.
pub fn print(program: &Program, parts: &UnknownParts, out: &mut String) {
    out.push_str("unknown:\n");
    if parts.is_fixed {
        let _ = writeln!(
            out,
            "  # A word may be an offset or a number: nothing may move.\n  fixed: true\n  root: {}",
            parts.root_end
        );
    }
    out.push_str("  tables:\n");
    for table in &parts.tables {
        let slots = table_named(&PROGRAM, table.name).map(|schema| table.slots(schema)).unwrap_or_default();
        for (slot, content) in slots {
            let _ = writeln!(out, "    # {}, slot {slot}: {}", table.name, parts.describe(content));
        }
        let path = match table.path.is_empty() {
            true => String::new(),
            false => format!("at: {}, ", yaml::quoted(&program.path_of(table, &PROGRAM))),
        };
        let _ = write!(out, "    - {{{path}table: {}, object: ", yaml::text(table.name));
        object(&table.object, out);
        out.push_str("}\n");
    }
    if !parts.objects.is_empty() {
        out.push_str("  objects:\n");
    }
    for (number, of) in parts.objects.iter().enumerate() {
        let _ = write!(out, "    # {number}: {}\n    - ", of.kind());
        object(of, out);
        out.push('\n');
    }
}

/// Appends an object.
fn object(of: &UnknownObject, out: &mut String) {
    let mut fields = FlowMap::new(out);
    fields.optional("end", Some(of.end));
    if !of.vtable.is_empty() {
        yaml::list(fields.key("vtable"), &of.vtable, yaml::number);
    }
    fields.key("bytes").push_str(&yaml::hex(&of.bytes));
    if !of.references.is_empty() {
        let mut references = FlowMap::new(fields.key("references"));
        of.references.iter().for_each(|(position, id)| references.optional(&position.to_string(), Some(id)));
        references.end();
    }
    fields.end();
}
