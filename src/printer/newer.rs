//! Prints the parts of a newer schema: what they are in comments, and the bytes that reproduce them.

use std::fmt::Write;

use super::yaml;
use pte_model::format::program::PROGRAM;
use pte_model::format::unknown::{ShownBytes, table_named};
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
        for (slot, bytes) in slots {
            let _ = writeln!(out, "    # {}, slot {slot}: {}", table.name, describe(parts, &table.object, slot, bytes));
        }
        let path = Some(program.path_of(table, &PROGRAM)).filter(|path| !path.is_empty());
        let path = path.map_or(String::new(), |path| format!("at: {}, ", yaml::quoted(&path)));
        let _ = write!(out, "    - {{{path}table: {}, object: ", table.name);
        object(&table.object, out);
        out.push_str("}\n");
    }
    if !parts.objects.is_empty() {
        out.push_str("  objects:\n");
    }
    for (number, of) in parts.objects.iter().enumerate() {
        let _ = write!(out, "    # {number}: {}\n    - ", kind(of));
        object(of, out);
        out.push('\n');
    }
}

/// Describes the content of a slot: its bytes, or the object that it refers to.
fn describe(parts: &UnknownParts, table: &UnknownObject, slot: u16, bytes: &[u8]) -> String {
    let entry = table.vtable.get(usize::from(slot) + 1).copied().unwrap_or(0);
    let target = table.references.iter().find(|(position, _)| *position == u32::from(entry));
    match target.and_then(|(_, id)| Some((id, parts.objects.get(*id as usize)?))) {
        Some((id, of)) => format!("object {id}, {}", kind(of)),
        None => ShownBytes(bytes).to_string(),
    }
}

/// Describes an object as far as its bytes show it.
fn kind(of: &UnknownObject) -> String {
    let count = of.bytes.first_chunk().map_or(0, |count| u32::from_le_bytes(*count)) as usize;
    let text = of.bytes.get(4..).and_then(|bytes| std::str::from_utf8(bytes.get(..count)?).ok());
    match text.filter(|text| !text.is_empty() && !text.contains(char::is_control)) {
        _ if !of.vtable.is_empty() => format!("a table of {} slots", of.vtable.len() - 1),
        _ if !of.references.is_empty() => format!("a vector of {count} offsets"),
        Some(text) if of.bytes.get(4 + count) == Some(&0) => {
            format!("the string {:?}", pte_model::diagnostics::clipped(text))
        }
        Some(_) | None => format!("a vector of {count} items"),
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
