//! Facts of payloads of unknown formats: hash, first bytes, identifier of a FlatBuffer, readable strings.

use std::io;

use super::description::{Fact, Facts, IntoFact};
use pte_model::data::Blob;
use pte_model::format::flatbuffer::{Vtable, u32_at};

/// Number of first bytes that are facts.
pub const FIRST: u64 = 32;

/// Number of first bytes in which strings and the root of a FlatBuffer are looked for.
const SCANNED: u64 = 1 << 20;

/// Smallest number of characters of a readable string.
const MIN_STRING: usize = 6;

/// Largest number of characters of a string that are facts.
const MAX_STRING: usize = 60;

/// Largest number of strings.
const MAX_STRINGS: usize = 16;

/// Returns the facts of a payload. All of it is read for the hash, block by block.
///
/// # Errors
/// A payload that cannot be read.
pub fn describe(payload: &Blob) -> io::Result<Facts> {
    let head = payload.read_at(0, payload.len().min(SCANNED) as usize)?;
    let mut facts = Facts::default();
    facts.add("sha256", &*data_encoding::HEXLOWER.encode(&payload.digest()?));
    facts.add("first_bytes", &*data_encoding::HEXLOWER.encode(&head[..head.len().min(FIRST as usize)]));
    if let Some(identifier) = identifier(&head) {
        facts.add("flatbuffer", &*identifier);
    }
    let strings = strings(&head);
    if !strings.is_empty() {
        let count = strings.len();
        facts.add("strings", Fact::list(strings, count));
    }
    Ok(facts)
}

/// Returns the file identifier of a FlatBuffer: four readable bytes at 4, and a root table with a vtable.
fn identifier(head: &[u8]) -> Option<String> {
    let identifier = head.get(4..8).filter(|identifier| identifier.iter().all(|byte| (b' '..=b'~').contains(byte)))?;
    let root = u32_at(head, 0)? as usize;
    let vtable = Vtable::of(head, root).filter(|_| root >= 8)?;
    let is_vtable = vtable.size >= 4 && vtable.size % 2 == 0 && vtable.inline >= 4;
    is_vtable.then(|| String::from_utf8_lossy(identifier).into_owned())
}

/// Returns the first few different strings of ASCII characters.
fn strings(bytes: &[u8]) -> Vec<Fact> {
    let mut strings: Vec<Fact> = Vec::new();
    for run in bytes.split(|byte| !(b' '..=b'~').contains(byte)).filter(|run| run.len() >= MIN_STRING) {
        let string = String::from_utf8_lossy(&run[..run.len().min(MAX_STRING)]).as_ref().into_fact();
        if !strings.contains(&string) {
            strings.push(string);
        }
        if strings.len() == MAX_STRINGS {
            break;
        }
    }
    strings
}

#[cfg(test)]
mod tests {
    use super::*;

    fn described(payload: &[u8]) -> String {
        serde_json::to_string(&describe(&Blob::bytes(payload)).unwrap().into_fact()).unwrap()
    }

    #[test]
    fn strings_and_first_bytes_are_facts() {
        let hash = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        assert_eq!(described(&[]), format!(r#"{{"sha256":"{hash}","first_bytes":""}}"#));
        let text = described(b"\xff\0short\0a longer string\0a longer string\x1b[2J colours");
        assert!(text.ends_with(r#""strings":["a longer string","[2J colours"]}"#), "{text}");
        let many: Vec<u8> = (0..1000).flat_map(|n| format!("string {n}\0").into_bytes()).collect();
        assert_eq!(described(&many).matches("string ").count(), MAX_STRINGS);
    }

    #[test]
    fn a_flatbuffer_has_an_identifier_and_a_root() {
        let table = [16u32.to_le_bytes(), *b"ABCD", [4, 0, 4, 0], [0; 4], 8u32.to_le_bytes()].concat();
        assert!(described(&table).contains(r#""flatbuffer":"ABCD""#));
        for at in [0, 4, 8, 16] {
            let mut wrong = table.clone();
            wrong[at..at + 4].fill(0xff);
            assert!(!described(&wrong).contains("flatbuffer"), "{at}");
        }
    }
}
