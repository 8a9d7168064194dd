//! The section `unknown`: parts of a newer schema, which are written again as they are. What the emitter relies on is
//! checked here.

use std::collections::HashSet;

use crate::ir::data::{DataRequest, Finder};
use crate::ir::document::{ParsedUnknown, ParsedUnknownObject, ParsedUnknownTable};
use pte_model::diagnostics::{Code, clipped};
use pte_model::format::path::FieldPath;
use pte_model::format::program::PROGRAM;
use pte_model::format::unknown::{self, MAX_TABLE};
use pte_model::program::{Program, UnknownObject, UnknownParts, UnknownTable};
use pte_yaml::tree::NodeId;

/// Returns the parts of the section, whose tables are those of `program`. Errors are added to `finder`.
pub fn resolve<'d, 'a>(section: &'d ParsedUnknown<'a>, program: &Program, finder: &mut Finder<'d, 'a>) -> UnknownParts {
    let mut parts = UnknownParts { root_end: section.root, is_fixed: section.fixed, ..UnknownParts::default() };
    for (number, parsed) in section.objects.iter().enumerate() {
        parts.objects.push(object(parsed, number, finder).unwrap_or_default());
    }
    let mut paths = HashSet::new();
    for parsed in &section.tables {
        let Some(table) = table(parsed, program, section.objects.len(), finder) else { continue };
        if !paths.insert(table.path.clone()) {
            let duplicate = Code::DuplicateName.error(parsed.table.id, format!("duplicate {}", table.name));
            finder.diagnostics.push(duplicate.label("the table of this path has an entry"));
        }
        parts.tables.push(table);
    }
    parts
}

fn table<'d, 'a>(
    parsed: &'d ParsedUnknownTable<'a>,
    program: &Program,
    objects: usize,
    finder: &mut Finder<'d, 'a>,
) -> Option<UnknownTable> {
    let object = object(&parsed.object.value, objects, finder)?;
    let path = parsed.at.as_ref().map_or(Ok(Vec::new()), |at| {
        let path = FieldPath::parse(&at.value).and_then(|path| program.table_at(&path, &PROGRAM));
        path.map_err(|message| {
            finder.diagnostics.push(Code::InvalidString.error(at.id, message).label("expected the path of a table"));
        })
    });
    let name = unknown::table_named(&PROGRAM, &parsed.table.value).map(|table| table.name);
    if name.is_none() {
        let message = format!("unknown table `{}`", clipped(&parsed.table.value));
        finder
            .diagnostics
            .push(Code::UnknownWord.error(parsed.table.id, message).label("expected a name of the schema"));
    }
    let problem = match object.bytes.len() {
        _ if object.vtable.is_empty() => "a table needs a `vtable`",
        size if size > MAX_TABLE => "the table is too large",
        _ => return Some(UnknownTable { path: path.ok()?, name: name?, object }),
    };
    finder.diagnostics.push(Code::OutOfRange.error(parsed.object.id, problem));
    None
}

/// Returns an object that may refer to the first `count` objects.
fn object<'d, 'a>(
    parsed: &'d ParsedUnknownObject<'a>,
    count: usize,
    finder: &mut Finder<'d, 'a>,
) -> Option<UnknownObject> {
    let bytes = finder.in_memory(&parsed.bytes, DataRequest::Bytes)?;
    let mut references = Vec::with_capacity(parsed.references.len());
    let (size, end, vtable) = (bytes.len(), parsed.end.value, parsed.vtable.clone());
    let mut wrong = |at: NodeId, message: String, label: String| {
        finder.diagnostics.push(Code::OutOfRange.error(at, message).label(label));
    };
    let mut is_valid = true;
    if size < 4 || !end.is_multiple_of(4) || (end as usize) < size {
        let message = format!("an object of {size} bytes cannot begin {end} bytes before the end");
        wrong(parsed.end.id, message, "expected 4 bytes or more, at a multiple of 4".to_owned());
        is_valid = false;
    }
    let fits = |offset: &u16| *offset == 0 || (4..size).contains(&usize::from(*offset));
    if let Some((stated, entries)) = vtable.split_first()
        && (usize::from(*stated) != size || !entries.iter().all(fits) || entries.len() > MAX_SLOTS)
    {
        let label = format!("expected the {size} bytes of the table, then offsets of fields inside");
        wrong(parsed.bytes.id, "the vtable does not suit the bytes".to_owned(), label);
        is_valid = false;
    }
    let mut positions = HashSet::new();
    for (position, target) in &parsed.references {
        let place = position.value.parse::<u32>().ok().filter(|place| (*place as usize) + 4 <= size && *place >= 4);
        match place.filter(|place| (*target as usize) < count && positions.insert(*place)) {
            Some(place) => references.push((place, *target)),
            None => {
                let message = format!("a reference at {} to object {target}", clipped(&position.value));
                let label =
                    format!("expected a position inside the {size} bytes, and one of the {count} objects before");
                wrong(position.id, message, label);
                is_valid = false;
            }
        }
    }
    is_valid.then_some(UnknownObject { end, vtable, bytes, references })
}

/// Maximum number of slots of a vtable.
const MAX_SLOTS: usize = 32000;
