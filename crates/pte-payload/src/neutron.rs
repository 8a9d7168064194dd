//! Payloads of the Neutron backend of NXP: a header of bytes, microcode, weights and kernels, each aligned to 16 bytes.
//!
//! Described only. Of the microcode, only the words that the runtime reads are public.

use super::description::{DescribeError, Fact, Facts, UNKNOWN};
use super::format::PayloadFormat;
use super::rows::{self, Row, number};
use super::signature::CallRules;
use pte_model::data::Blob;
use pte_model::diagnostics::counted;

/// The payloads of the Neutron backend.
#[derive(Debug)]
pub struct Neutron;

/// First word of the microcode.
const MAGIC: u64 = 0x6443_4d6e;

/// Parts begin at multiples of this, in bytes.
const ALIGNMENT: u64 = 16;

/// Largest size in bytes of the header: three counts, a format and a position of each of 510 tensors, the version.
const MAX_HEADER: u64 = 4 + 4 * 255;

/// Position of the layout of the header without positions among those that are tried.
const OLDEST: usize = 2;

/// Bytes of the microcode that are read: 15 words.
const WORDS: usize = 15;

/// Facts of the microcode by version of the payload, and where its numbers of inputs and outputs are.
const VERSIONS: [(&[Row], usize); 2] = [
    (&[Row::Bytes("scratch", (36, 4)), Row::Bytes("sram_scratch", (40, 4))], 44),
    (&[Row::Bytes("scratch", (36, 4)), Row::Bytes("debug", (44, 4)), Row::Bytes("sram_scratch", (48, 4))], 52),
];

/// Bytes of profiling in version 1; the highest bit is a flag.
const PROFILE: (usize, usize) = (40, 4);

impl PayloadFormat for Neutron {
    fn name(&self) -> &'static str {
        "Neutron"
    }

    fn backends(&self) -> &'static [&'static str] {
        &["NeutronBackend"]
    }

    fn has_magic(&self, _head: &[u8]) -> bool {
        false
    }

    fn rules(&self) -> &'static CallRules {
        &CallRules::UNKNOWN
    }

    fn describe(&self, payload: &Blob) -> Result<Facts, DescribeError> {
        let head = payload.read_at(0, payload.len().min(MAX_HEADER) as usize)?;
        let too_short = || DescribeError::malformed(format!("{}, expected a header", counted(head.len(), "byte")));
        let count = |at: usize| head.get(at).copied().map(usize::from).ok_or_else(too_short);
        let (inputs, outputs, arguments) = (count(0)?, count(1)?, count(2)?);
        let tensors = inputs + outputs;
        // Release 1.0 writes no version: then the byte is padding or belongs to the microcode. Before, there were
        // neither the number of arguments nor positions.
        let end = 3 + 2 * tensors;
        let starts = [end + 1, end, 2 + tensors].map(|end| (end as u64).next_multiple_of(ALIGNMENT));
        let word = |start: u64| Ok::<_, DescribeError>(number(&payload.read_at(start, 4)?, (0, 4)));
        let fits = |start: &u64| start.saturating_add(4 * WORDS as u64) <= payload.len();
        let mut found = None;
        for (layout, start) in starts.into_iter().enumerate().filter(|(_, start)| fits(start)) {
            if found.is_none() && word(start)? == Some(MAGIC) {
                found = Some((layout, start));
            }
        }
        let Some((layout, start)) = found else {
            let [first, ..] = starts;
            let message = format!("no microcode at byte {first:#x}, expected the word {MAGIC:#x}");
            return Err(DescribeError::malformed(message));
        };
        let version = if layout == 0 { count(end)? } else { 0 };
        let formats = if layout == OLDEST { 2 } else { 3 };
        let formats = head.get(formats..formats + tensors).ok_or_else(too_short)?;
        let Some((rows, counts)) = VERSIONS.get(version) else {
            let message = format!("version {version} at byte {end:#x}, expected 0 or 1");
            return Err(DescribeError::malformed(message));
        };
        let microcode = payload.read_at(start, 4 * WORDS)?;
        let size = |at: usize| number(&microcode, (at, 4)).unwrap_or(0);
        for (name, at, stated) in [("inputs", *counts, inputs), ("outputs", counts + 4, outputs)] {
            if size(at) != stated as u64 {
                let place = start + at as u64;
                let message = format!("{} {name} of the microcode at byte {place:#x}, expected {stated}", size(at));
                return Err(DescribeError::malformed(message));
            }
        }
        let mut facts = Facts::default().with("version", &*version.to_string());
        let mut at = start;
        for (name, place) in [("microcode", 24), ("weights", 28)] {
            let part = size(place);
            if at.saturating_add(part) > payload.len() {
                let (found, len) = (counted(part, "byte"), counted(payload.len(), "byte"));
                let place = start + place as u64;
                let message =
                    format!("{name} of {found} at byte {at:#x} (size at byte {place:#x}), expected it in {len}");
                return Err(DescribeError::malformed(message));
            }
            facts.add_part(name, at, part);
            at = at.saturating_add(part.next_multiple_of(ALIGNMENT));
        }
        facts.add_part("kernels", at.min(payload.len()), payload.len().saturating_sub(at));
        let mut memory = rows::facts(rows, &microcode, start, payload)?;
        if version == 1 {
            memory.add("profile", Fact::Bytes(size(PROFILE.0) & 0x7fff_ffff));
        }
        facts.add("memory", memory);
        let stated = match layout {
            OLDEST => (inputs, outputs),
            _ => {
                // Positions of outputs are those after the inputs.
                let places = head.get(3 + tensors + inputs..end).ok_or_else(too_short)?;
                (arguments, places.iter().max().map_or(0, |last| usize::from(*last) + 1))
            }
        };
        // A header of an earlier release that is padded to the same size looks the same.
        match stated.0 < inputs {
            true => facts.add("inputs", UNKNOWN),
            false => facts.add("inputs", stated.0),
        }
        facts.add("outputs", stated.1);
        facts.add("channels_last", formats.iter().filter(|format| **format == 1).count());
        Ok(facts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A payload: the header, padded, and microcode with these words from the seventh on.
    fn payload(header: &[u8], words: &[u32]) -> Vec<u8> {
        let mut payload = header.to_vec();
        payload.resize(payload.len().next_multiple_of(16), 0);
        payload.extend((MAGIC as u32).to_le_bytes());
        payload.resize(payload.len() + 20, 0);
        payload.extend(words.iter().flat_map(|word| word.to_le_bytes()));
        payload.resize(payload.len() + 64, 0);
        payload
    }

    fn described(payload: &[u8]) -> Result<String, String> {
        let facts = Neutron.describe(&Blob::bytes(payload)).map_err(|error| error.to_string())?;
        Ok(serde_json::to_string(&crate::description::IntoFact::into_fact(facts)).unwrap())
    }

    #[test]
    fn versions_have_their_own_words() {
        let first = payload(&[2, 1, 2, 1, 1, 0, 0, 1, 0, 0], &[64, 16, 0, 99, 5, 2, 1]);
        let found = described(&first).unwrap();
        assert!(found.contains(r#""memory":{"scratch":99,"sram_scratch":5},"inputs":2,"outputs":1,"channels_last":2"#));
        let second = payload(&[1, 1, 3, 0, 0, 2, 4, 1], &[64, 16, 0, 99, 0x8000_0007, 8, 9, 1, 1]);
        let found = described(&second).unwrap();
        let expected = r#"{"scratch":99,"debug":8,"sram_scratch":9,"profile":7},"inputs":3,"outputs":5"#;
        assert!(found.contains(expected), "{found}");
        assert!(described(&payload(&[1, 1, 1, 0, 0, 0, 0, 2], &[0; 9])).unwrap_err().contains("version 2 at byte 0x7"));
    }

    /// Three bytes and two for each of 26 tensors end in the third block of 16 bytes, a version in the fourth.
    #[test]
    fn a_header_without_a_version_is_shorter() {
        let header =
            [&[13, 13, 13][..], &[0; 26], &(0..13).collect::<Vec<u8>>(), &(0..13).collect::<Vec<u8>>()].concat();
        assert_eq!(header.len().next_multiple_of(16), 64);
        let found = described(&payload(&header[..55], &[64, 0, 0, 0, 0, 13, 13])).unwrap();
        assert!(
            found.contains(r#""microcode":{"offset":64"#) && found.contains(r#""inputs":13,"outputs":13"#),
            "{found}"
        );
    }

    #[test]
    fn counts_and_parts_must_fit() {
        let error = described(&payload(&[1, 1, 1, 0, 0, 0, 0, 0], &[64, 16, 0, 0, 0, 2, 1])).unwrap_err();
        assert_eq!(error, "2 inputs of the microcode at byte 0x3c, expected 1");
        let error = described(&payload(&[1, 1, 1, 0, 0, 0, 0, 0], &[u32::MAX, 16, 0, 0, 0, 1, 1])).unwrap_err();
        assert!(error.starts_with("microcode of 4294967295 bytes at byte 0x10 (size at byte 0x28)"), "{error}");
        assert!(described(&[255, 255]).unwrap_err().contains("expected a header"));
        assert!(described(&[0; 32]).unwrap_err().contains("no microcode at byte 0x10"));
    }
}
