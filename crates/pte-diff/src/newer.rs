//! Compares the parts of a newer schema: fields that the schema does not have, and members of unions, by their tables
//! and slots. Their meaning is unknown, so each difference counts as one of the meaning.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use super::align::merged;
use super::difference::{DiffArea, DiffTopic, Differences};
use super::side::Side;
use pte_model::format::unknown::SlotBytes;
use pte_model::program::{NewerSlot, Program, UnknownParts};

/// Compares the parts of two programs.
pub fn compare(sides: [&Side; 2], found: &mut Differences) {
    for (path, texts) in merged(sides.map(|side| slots(&side.program))) {
        found.compared(DiffArea::Meaning, DiffTopic::Newer, [&path; 2], texts);
    }
}

/// Returns the content of the unknown slots by their paths.
fn slots(program: &Program) -> BTreeMap<String, String> {
    let mut slots = BTreeMap::new();
    let Some(parts) = program.newer_parts() else { return slots };
    let digests = digests(parts);
    for NewerSlot { path, table, slot, content } in program.newer_slots() {
        let text = match content {
            SlotBytes::Inline(bytes) => bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>(),
            SlotBytes::Object(id) => {
                let kind = parts.objects.get(id as usize).map(|object| object.kind()).unwrap_or_default();
                format!("{kind}, digest {:016x}", digests.get(id as usize).copied().unwrap_or(0))
            }
        };
        slots.insert(format!("{path}, slot {slot} of {table}"), text);
    }
    slots
}

/// Returns a digest of the content of each object, with the objects that it refers to.
fn digests(parts: &UnknownParts) -> Vec<u64> {
    let mut digests: Vec<u64> = Vec::with_capacity(parts.objects.len());
    for object in &parts.objects {
        let mut hasher = DefaultHasher::new();
        (&object.vtable, &object.bytes).hash(&mut hasher);
        for (position, id) in &object.references {
            (position, digests.get(*id as usize)).hash(&mut hasher);
        }
        digests.push(hasher.finish());
    }
    digests
}
