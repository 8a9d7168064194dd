//! Finds the owner of each byte of a file as short texts that can be grouped: the part of the file, the method, the
//! element, and the kind of data.

use std::io;

use super::block::{BlockKind, FileBlock};
use super::map::FileMap;
use super::part::FilePart;
use super::path;
pub use super::segments::named_data_owner;
use super::segments::{DataRange, RangeKind};
use pte_model::data::Origin;
use pte_model::format::Format;
use pte_model::format::flatbuffer::ObjectKind;
use pte_model::format::flatbuffer::walk::NONE;

/// Bytes of a file with one owner.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Leaf<'l> {
    /// Number of bytes.
    pub bytes: u64,
    /// Part of the file: `header`, `FlatBuffer`, `segment 0 (constants)`, `padding`.
    pub segment: &'l str,
    /// Path of the method; empty if the bytes belong to none.
    pub method: &'l str,
    /// Table of the schema, or kind of the data: `Tensor`, `vtable`, `constants`, `padding`.
    pub kind: &'l str,
    /// Path of the value, instruction or other element, or key of the data; empty if the bytes belong to none.
    pub owner: &'l str,
}

const PADDING: &str = "padding";
const UNREACHABLE: &str = "unreachable";

/// Lists of a method whose elements are owners: the path of an owner ends with such an element.
const ELEMENTS: &[&str] = &[".values[", ".nodes[", ".instructions[", ".delegates[", ".operators["];

/// Calls `take` for all bytes of a file, in their order. Returns the size of the file, which is the sum of
/// [`Leaf::bytes`].
///
/// # Errors
/// A file that cannot be read.
pub fn each(origin: &Origin, format: Format, take: &mut dyn FnMut(&Leaf<'_>)) -> io::Result<u64> {
    let map = FileMap::new(origin, format)?;
    let mut path = Vec::new();
    // The segment that the payload of a delegate is in.
    let mut segment_name = String::new();
    for block in &map.blocks {
        let part = map.part(block);
        let bytes = block.end - block.at;
        let is_in_segment = part.payload.as_ref().is_some_and(|payload| payload.in_segment);
        let place = if is_in_segment { &*segment_name } else { name(part, "FlatBuffer", "FlatBuffer of the bundle") };
        let nobody = |segment, kind| Leaf { bytes, segment, method: "", kind, owner: "" };
        let payload = part.prefix.trim_end_matches('.');
        let in_payload = |kind| Leaf { bytes, segment: place, method: method(payload), kind, owner: owner(payload) };
        match block.kind {
            BlockKind::PayloadHeader => take(&in_payload("payload header")),
            BlockKind::Header | BlockKind::Padding | BlockKind::Unreachable if part.payload.is_some() => {
                take(&in_payload(match block.kind {
                    BlockKind::Padding => PADDING,
                    BlockKind::Unreachable => UNREACHABLE,
                    _ => "payload header",
                }));
            }
            BlockKind::PayloadConstants => {
                each_range(&map.segments(block).constants, place, "payload constants", block, payload, take);
            }
            BlockKind::Header => take(&nobody(name(part, "header", "header of the bundle"), "header")),
            BlockKind::Padding => take(&nobody(PADDING, PADDING)),
            BlockKind::Newer => take(&nobody(place, "newer schema")),
            BlockKind::Unreachable => take(&nobody(UNREACHABLE, UNREACHABLE)),
            BlockKind::Segment(index) => {
                let segment = &map.segments(block).list[index as usize];
                segment_name = format!("segment {} ({})", segment.index, segment.role);
                each_range(&segment.pieces, &segment_name, &segment.role, block, "", take);
            }
            BlockKind::Object(id) => {
                let object = part.objects.list[id as usize];
                let inline = map.segments(block).inline.get(&(object.at as usize));
                path.clear();
                match inline {
                    Some(description) if part.payload.is_none() => {
                        path.extend_from_slice(description.split(": ").next().unwrap_or("").as_bytes());
                    }
                    Some(_) | None => path::write(part, id, false, &mut path),
                }
                let path = String::from_utf8_lossy(&path);
                take(&Leaf {
                    bytes,
                    segment: place,
                    method: method(&path),
                    kind: if inline.is_some() { "data" } else { kind(part, id) },
                    owner: owner(&path),
                });
            }
        }
    }
    Ok(map.len)
}

/// Returns the name of a part of a program, or of the bundle around it.
fn name(part: &FilePart, program: &'static str, bundle: &'static str) -> &'static str {
    if let Format::BundledProgram = part.format { bundle } else { program }
}

/// Passes the parts of ranges of data that are in a block. `payload` is the path of the payload that contains them.
fn each_range(
    ranges: &[DataRange],
    segment: &str,
    role: &str,
    block: &FileBlock,
    payload: &str,
    take: &mut dyn FnMut(&Leaf<'_>),
) {
    let mut left = block.end - block.at;
    let mut pass = |bytes: u64, kind: &str, found: &str| {
        let within = format!("{payload}.{found}");
        let path = match (payload, found) {
            ("", _) => found,
            (_, "") => payload,
            _ => &within,
        };
        take(&Leaf { bytes, segment, method: method(path), kind, owner: owner(path) });
    };
    for DataRange { at, end, kind, owner, .. } in ranges {
        let length = (*end).min(block.end).saturating_sub((*at).max(block.at)).min(left);
        left -= length;
        match kind {
            RangeKind::Data => pass(length, role, owner),
            RangeKind::Padding => pass(length, PADDING, ""),
            RangeKind::Unreachable => pass(length, UNREACHABLE, ""),
        }
    }
    pass(left, UNREACHABLE, "");
}

/// Returns the table that an object is part of: vectors and strings are part of the table that refers to them.
fn kind(part: &FilePart, object: u32) -> &'static str {
    let objects = &part.objects.list;
    let mut id = object;
    while let Some(object) = objects.get(id as usize) {
        match object.what {
            ObjectKind::Vtable(_) => return "vtable",
            ObjectKind::Table(table) | ObjectKind::Tables(table) => return table.name,
            ObjectKind::Scalars(_) | ObjectKind::Text if object.parent == NONE => break,
            ObjectKind::Scalars(_) | ObjectKind::Text => id = object.parent,
        }
    }
    "FlatBuffer"
}

/// Returns the path of the method at the start of a path; empty if there is none.
fn method(path: &str) -> &str {
    let Some(start) = path.find("methods").filter(|start| *start == 0 || path[..*start].ends_with('.')) else {
        return "";
    };
    let rest = &path[start + "methods".len()..];
    let end = if let Some(quoted) = rest.strip_prefix(".\"") {
        let mut escaped = false;
        let closing = quoted.find(|c: char| {
            let closes = c == '"' && !escaped;
            escaped = c == '\\' && !escaped;
            closes
        });
        closing.map_or(rest.len(), |at| at + 3)
    } else if let Some(name) = rest.strip_prefix('.') {
        name.find(['.', '[']).map_or(rest.len(), |at| at + 1)
    } else {
        rest.find(']').map_or(0, |at| at + 1)
    };
    if end == 0 { "" } else { &path[..start + "methods".len() + end] }
}

/// Returns the path without the fields of a value, instruction or other element of a list, and without its stored name,
/// which may follow in parentheses.
fn owner(path: &str) -> &str {
    let after = method(path).len();
    let rest = &path[after..];
    let element = ELEMENTS.iter().find_map(|list| rest.find(list).map(|at| at + list.len()));
    let Some(digits) = element else { return path };
    let end = after + digits + rest[digits..].find(']').map_or(0, |at| at + 1);
    &path[..end]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn methods_and_owners_of_paths() {
        for (path, expected_method, expected_owner) in [
            ("methods.forward.values[3].sizes", "methods.forward", "methods.forward.values[3]"),
            ("methods.\"a.b\\\"\".values[3]", "methods.\"a.b\\\"\"", "methods.\"a.b\\\"\".values[3]"),
            ("methods[2].chains[0].instructions[1].instr_args", "methods[2]", "methods[2].chains[0].instructions[1]"),
            ("methods.forward.values[3] (fc.weight)", "methods.forward", "methods.forward.values[3]"),
            ("program.methods.forward.name", "program.methods.forward", "program.methods.forward.name"),
            ("methods", "", "methods"),
            ("named_data[0].key", "", "named_data[0].key"),
            ("\"key\"", "", "\"key\""),
            ("", "", ""),
        ] {
            assert_eq!((method(path), owner(path)), (expected_method, expected_owner), "{path}");
        }
    }
}
