//! Renders the paths of objects, in the notation of `check`.

use super::part::FilePart;
use pte_model::format::flatbuffer::ObjectKind;
use pte_model::format::flatbuffer::walk::NONE;
use pte_model::format::path::{self, Methods, SchemaStep};

/// Upper bound on the nesting depth of the schemas.
const MAX_DEPTH: usize = 24;

/// Appends the path of an object. With `open`, a field name will follow.
pub fn write(part: &FilePart, object: u32, open: bool, out: &mut Vec<u8>) {
    let objects = &part.objects.list;
    let mut steps = [SchemaStep::Item(0); MAX_DEPTH];
    let mut first = MAX_DEPTH;
    let mut id = object;
    while let Some(object) = objects.get(id as usize)
        && object.parent != NONE
        && first > 0
    {
        // A vtable has the path of its table.
        if !matches!(object.what, ObjectKind::Vtable(_)) {
            first -= 1;
            steps[first] = match objects[object.parent as usize].what {
                ObjectKind::Table(table) => SchemaStep::Field(table.fields[object.step as usize].name),
                ObjectKind::Vtable(_) | ObjectKind::Tables(_) | ObjectKind::Scalars(_) | ObjectKind::Text => {
                    SchemaStep::Item(object.step as usize)
                }
            };
        }
        id = object.parent;
    }
    let prefix = if first == MAX_DEPTH && !open { part.prefix.trim_end_matches('.') } else { &part.prefix };
    out.extend_from_slice(prefix.as_bytes());
    path::write(&steps[first..], open, part, out);
}

impl Methods for FilePart {
    fn write_name(&self, index: usize, out: &mut Vec<u8>) {
        match self.methods.get(index) {
            Some(method) => out.extend_from_slice(method.path.as_bytes()),
            None => {
                out.extend_from_slice(b"methods");
                path::write_item(index as u64, out);
            }
        }
    }

    fn has_one_chain(&self, index: usize) -> bool {
        self.methods.get(index).is_some_and(|method| method.one_chain)
    }
}
