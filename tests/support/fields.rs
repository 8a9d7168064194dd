//! Names every byte of a well-formed file: a part of the header, of a vtable, of a field, or padding.
//!
//! Used in messages about mutated bytes. Panics if the file is malformed.

use pte_model::format::{Kind, TableSchema, bundled_program, flat_tensor, program};
use pte_xnnpack::schema as xnnpack;

/// Kind of data inside the metadata: inline payloads and constants, segments of a bundled program.
pub const DATA: &str = "data";

/// Name of a byte.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Name {
    /// Kind, independent of the position: `Tensor.sizes: length`. Empty for padding.
    pub kind: String,
    /// Path from the root: `execution_plan[0].values[3].val`.
    pub path: String,
}

/// Names each byte of the metadata and of XNNPACK graphs; the bytes after them are data.
pub fn of(file: &[u8]) -> Vec<Name> {
    let (root, end) = match &file[4..8] {
        b"ET12" => (&program::PROGRAM, program_size(file)),
        b"FT01" => (&flat_tensor::FLAT_TENSOR, (u64_at(file, 16) + u64_at(file, 24)) as usize),
        b"BP08" => (&bundled_program::BUNDLED_PROGRAM, file.len()),
        other => panic!("unknown identifier {other:?}"),
    };
    let mut walk = Walk { file, names: vec![Name::default(); end] };
    walk.mark(0, 4, "root offset", "");
    walk.mark(4, 4, "identifier", "");
    if matches!(&file[8..12], b"eh00" | b"FH01") {
        let fields: &[&str] = if &file[8..12] == b"eh00" {
            &["program_size", "segment_base_offset", "segment_data_size"]
        } else {
            &["flatbuffer_offset", "flatbuffer_size", "segment_base_offset", "segment_data_size"]
        };
        walk.mark(8, 4, "header: magic", "");
        walk.mark(12, 4, "header: length", "");
        let length = u32_at(file, 12) as usize;
        for (number, field) in fields.iter().enumerate().take_while(|(number, _)| 8 + 8 * number + 16 <= 8 + length) {
            walk.mark(16 + 8 * number, 8, &format!("header: {field}"), "");
        }
    }
    walk.table(follow(file, 0), root, "");
    walk.graphs();
    walk.names
}

/// Magic at byte 4 of the header of an XNNPACK payload, and the size of the header in bytes.
const PAYLOAD: &[u8] = b"XH00";
const PAYLOAD_HEADER: usize = 30;

/// Size of the metadata of a `.pte` in bytes.
pub fn program_size(file: &[u8]) -> usize {
    if &file[8..12] == b"eh00" { u64_at(file, 16) as usize } else { file.len() }
}

fn u16_at(file: &[u8], at: usize) -> usize {
    u16::from_le_bytes(file[at..at + 2].try_into().unwrap()).into()
}

fn u32_at(file: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(file[at..at + 4].try_into().unwrap())
}

fn u64_at(file: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(file[at..at + 8].try_into().unwrap())
}

fn follow(file: &[u8], at: usize) -> usize {
    at + u32_at(file, at) as usize
}

struct Walk<'a> {
    file: &'a [u8],
    names: Vec<Name>,
}

impl Walk<'_> {
    /// Names headers and graphs of XNNPACK payloads, which `check` reads; the bytes between are data.
    fn graphs(&mut self) {
        let magics = self.file.windows(4).enumerate().filter(|(_, word)| *word == PAYLOAD);
        let payloads: Vec<usize> = magics.filter_map(|(at, _)| at.checked_sub(4)).collect();
        for at in payloads {
            let graph = at + u32_at(self.file, at + 10) as usize;
            let end = graph + u32_at(self.file, at + 14) as usize;
            let data = Name { kind: DATA.to_owned(), path: String::new() };
            if self.names.len() < end {
                self.names.resize(end, data);
            }
            self.names[at..at + PAYLOAD_HEADER].fill(Name { kind: "payload header".to_owned(), path: String::new() });
            self.names[graph..end].fill(Name::default());
            self.table(follow(self.file, graph), &xnnpack::GRAPH, "payload");
        }
    }

    /// Names bytes, unless they have a name already: vtables are shared.
    fn mark(&mut self, at: usize, len: usize, kind: &str, path: &str) {
        for name in self.names.iter_mut().skip(at).take(len).filter(|name| name.kind.is_empty()) {
            *name = Name { kind: kind.to_owned(), path: path.to_owned() };
        }
    }

    fn table(&mut self, at: usize, table: &'static TableSchema, path: &str) {
        let vtable = (at as i64 - i64::from(u32_at(self.file, at) as i32)) as usize;
        self.mark(at, 4, &format!("{}: vtable offset", table.name), path);
        self.mark(vtable, 2, &format!("{} vtable: size", table.name), path);
        self.mark(vtable + 2, 2, &format!("{} vtable: table size", table.name), path);
        let size = u16_at(self.file, vtable);
        let mut members: &[&'static TableSchema] = &[];
        for (slot, field) in table.fields.iter().enumerate() {
            let entry = vtable + 4 + 2 * slot;
            if entry >= vtable + size {
                break;
            }
            self.mark(entry, 2, &format!("{} vtable: {}", table.name, field.name), path);
            let offset = u16_at(self.file, entry);
            if let (Kind::UnionTag, Kind::Union(all)) =
                (field.kind, table.fields.get(slot + 1).map_or(field.kind, |next| next.kind))
            {
                let tag = if offset == 0 { 0 } else { usize::from(self.file[at + offset]) };
                members = tag.checked_sub(1).map_or(&[], |member| &all[member..=member]);
            }
            if offset != 0 {
                let dot = if path.is_empty() { "" } else { "." };
                let kind = format!("{}.{}", table.name, field.name);
                self.field(at + offset, field.kind, members, &kind, &format!("{path}{dot}{}", field.name));
            }
        }
    }

    fn field(&mut self, at: usize, kind: Kind, members: &[&'static TableSchema], name: &str, path: &str) {
        let item = match kind {
            Kind::Bool | Kind::Byte | Kind::Enum(_) | Kind::UnionTag => return self.mark(at, 1, name, path),
            Kind::Short => return self.mark(at, 2, name, path),
            Kind::Int | Kind::UInt | Kind::Float => return self.mark(at, 4, name, path),
            Kind::Long | Kind::ULong | Kind::Double => return self.mark(at, 8, name, path),
            Kind::Text | Kind::Bytes | Kind::AlignedBytes(_) | Kind::Bools => 1,
            Kind::UShorts => 2,
            Kind::Ints | Kind::UInts | Kind::Floats | Kind::Tables(_) => 4,
            Kind::Longs | Kind::ULongs | Kind::Doubles => 8,
            Kind::Table(_) | Kind::Union(_) => 0,
        };
        self.mark(at, 4, &format!("{name}: offset"), path);
        let target = follow(self.file, at);
        match kind {
            Kind::Table(table) => return self.table(target, table, path),
            Kind::Union(_) => {
                let [table] = members else { panic!("{path} has no member") };
                return self.table(target, table, &format!("{path}({})", table.name));
            }
            _ => {}
        }
        let length = u32_at(self.file, target) as usize;
        self.mark(target, 4, &format!("{name}: length"), path);
        if name == "BundledProgram.program" {
            let inner = of(&self.file[target + 4..target + 4 + length]);
            self.mark(target + 4 + inner.len(), length - inner.len(), DATA, path);
            for (number, mut inner) in inner.into_iter().enumerate() {
                inner.path = format!("{path}: {}", inner.path);
                self.names[target + 4 + number] = inner;
            }
            return;
        }
        if matches!(name, "BackendDelegateInlineData.data" | "Buffer.storage") {
            return self.mark(target + 4, length, DATA, path);
        }
        for number in 0..length {
            let at = target + 4 + number * item;
            let path = format!("{path}[{number}]");
            if let Kind::Tables(table) = kind {
                self.mark(at, 4, &format!("{name}: item offset"), &path);
                self.table(follow(self.file, at), table, &path);
            } else {
                self.mark(at, item, &format!("{name}: item"), &path);
            }
        }
        if matches!(kind, Kind::Text) {
            self.mark(target + 4 + length, 1, &format!("{name}: terminator"), path);
        }
    }
}
