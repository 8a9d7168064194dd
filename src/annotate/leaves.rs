//! The owner of each byte of a file, as short texts that can be grouped: where it is, whose it is, what it is. Prints nothing.

use std::io;

use super::map::{BlockKind, FileMap};
use super::part::FilePart;
use super::path;
use super::segments::{DataRange, FileSegment, RangeKind};
use crate::data::Origin;
use crate::format::Format;
use crate::format::flatbuffer::ObjectKind;
use crate::format::flatbuffer::walk::NONE;

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

/// Elements of a method by their lists, which end the path of an owner.
const ELEMENTS: &[&str] = &[".values[", ".instructions[", ".delegates[", ".operators["];

/// Calls `take` for all bytes of a file, in their order. The sum of [`Leaf::bytes`] is the size of the file. Returns that size.
///
/// # Errors
/// A file that cannot be read.
pub fn each(origin: &Origin, format: Format, take: &mut dyn FnMut(&Leaf<'_>)) -> io::Result<u64> {
    let map = FileMap::new(origin, format)?;
    let mut path = Vec::new();
    for block in &map.blocks {
        let part = map.part(block);
        let bytes = block.end - block.at;
        let nobody = |segment, kind| Leaf { bytes, segment, method: "", kind, owner: "" };
        match block.kind {
            BlockKind::Header => take(&nobody(name(part, "header", "header of the bundle"), "header")),
            BlockKind::Padding => take(&nobody(PADDING, PADDING)),
            BlockKind::Unreachable => take(&nobody(UNREACHABLE, UNREACHABLE)),
            BlockKind::Segment(index) => {
                let segment = &map.segments(block).list[index as usize];
                each_range(segment, block.at..block.end, take);
            }
            BlockKind::Object(id) => {
                let object = part.objects.list[id as usize];
                let inline = map.segments(block).inline.get(&(object.at as usize));
                path.clear();
                match inline {
                    Some(description) => {
                        path.extend_from_slice(description.split(": ").next().unwrap_or("").as_bytes())
                    }
                    None => path::write(part, id, false, &mut path),
                }
                let path = String::from_utf8_lossy(&path);
                take(&Leaf {
                    bytes,
                    segment: name(part, "FlatBuffer", "FlatBuffer of the bundle"),
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

/// Passes the ranges of a segment that are within `bytes`: the part that no FlatBuffer object owns.
fn each_range(segment: &FileSegment, bytes: std::ops::Range<u64>, take: &mut dyn FnMut(&Leaf<'_>)) {
    let name = format!("segment {} ({})", segment.index, segment.role);
    let mut left = bytes.end - bytes.start;
    let mut pass = |bytes: u64, kind: &str, owner: &str| {
        take(&Leaf { bytes, segment: &name, method: method(owner), kind, owner });
    };
    for DataRange { at, end, kind, owner, .. } in &segment.pieces {
        let length = (*end).min(bytes.end).saturating_sub((*at).max(bytes.start)).min(left);
        left -= length;
        match kind {
            RangeKind::Data => pass(length, &segment.role, owner),
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

/// Returns the path without the fields of a value, instruction or other element of a list.
fn owner(path: &str) -> &str {
    let after = method(path).len();
    let rest = &path[after..];
    // A name of an element may follow in parentheses.
    let element = ELEMENTS.iter().find_map(|list| rest.find(list).map(|at| at + list.len()));
    let Some(digits) = element else { return path };
    let end = after + digits + rest[digits..].find(']').map_or(0, |at| at + 1);
    match path[end..].strip_prefix(" (") {
        Some(_) => path,
        None => &path[..end],
    }
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
            ("methods.forward.values[3] (fc.weight)", "methods.forward", "methods.forward.values[3] (fc.weight)"),
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
