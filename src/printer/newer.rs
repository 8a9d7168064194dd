//! Prints the parts of a newer schema: their description in comments, and the bytes that reproduce them.

use std::borrow::Cow;
use std::fmt::Write;

use crate::ir::document::{DataSource, ParsedUnknownObject, ParsedUnknownTable};
use crate::ir::write;
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
        let path = (!table.path.is_empty()).then(|| program.path_of(table, &PROGRAM));
        let table = ParsedUnknownTable {
            at: path.map(|path| Cow::from(path).into()),
            table: table.name.into(),
            object: object(&table.object).into(),
        };
        write::item(out, "    ", &table);
    }
    if !parts.objects.is_empty() {
        out.push_str("  objects:\n");
    }
    for (number, of) in parts.objects.iter().enumerate() {
        let _ = writeln!(out, "    # {number}: {}", of.kind());
        write::item(out, "    ", &object(of));
    }
}

/// Returns an object.
fn object(of: &UnknownObject) -> ParsedUnknownObject<'static> {
    let references = of.references.iter().map(|(position, id)| (Cow::from(position.to_string()).into(), *id));
    ParsedUnknownObject {
        end: of.end.into(),
        vtable: of.vtable.clone(),
        bytes: DataSource::Bytes(of.bytes.clone().into()).into(),
        references: references.collect(),
    }
}
