//! Prints the parts of a newer schema: their description in comments, and the bytes that reproduce them.

use std::fmt::Write;

use super::yaml;
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
    let _ = write!(out, "{{end: {}", of.end);
    if !of.vtable.is_empty() {
        out.push_str(", vtable: ");
        yaml::list(out, &of.vtable, yaml::number);
    }
    out.push_str(", bytes: {hex: \"");
    of.bytes.iter().for_each(|byte| _ = write!(out, "{byte:02x}"));
    out.push_str("\"}");
    if !of.references.is_empty() {
        let references = of.references.iter().map(|(position, id)| format!("{position}: {id}"));
        let _ = write!(out, ", references: {{{}}}", references.collect::<Vec<String>>().join(", "));
    }
    out.push('}');
}
