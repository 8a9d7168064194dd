//! Payloads of the QNN backend: a header and a context binary, or the context binary alone.
//!
//! Described only. The format of context binaries is not public.

use super::description::{DescribeError, Fact, Facts, UNKNOWN};
use super::format::PayloadFormat;
use super::generic;
use pte_model::data::Blob;
use pte_model::diagnostics::counted;
use pte_model::format::flatbuffer::array;

/// The payloads of the QNN backend.
#[derive(Debug)]
pub struct Qnn;

/// First bytes of a payload with a header.
const MAGIC: [u8; 4] = 0x5678_abcd_u32.to_le_bytes();

/// Offset of the context binary in a payload with a header, in bytes. Offsets in the header: signature at 4, size of
/// the context binary at 12.
const CONTEXT: u64 = 256;

impl PayloadFormat for Qnn {
    fn name(&self) -> &'static str {
        "QNN"
    }

    fn backends(&self) -> &'static [&'static str] {
        &["QnnBackend"]
    }

    fn has_magic(&self, head: &[u8]) -> bool {
        head.starts_with(&MAGIC)
    }

    fn describe(&self, payload: &Blob) -> Result<Facts, DescribeError> {
        let head = payload.read_at(0, payload.len().min(CONTEXT) as usize)?;
        let mut facts = Facts::default();
        let (start, size) = match self.has_magic(&head) {
            true => {
                let (Some(signature), Some(size), true) =
                    (array(&head, 4), array(&head, 12), head.len() as u64 == CONTEXT)
                else {
                    let found = counted(payload.len(), "byte");
                    return Err(DescribeError::malformed(format!(
                        "a payload of {found}, expected a header of {CONTEXT}"
                    )));
                };
                facts.add("signature", Fact::Number(i64::from_le_bytes(signature)));
                (CONTEXT, u64::from_le_bytes(size))
            }
            false => (0, payload.len()),
        };
        let rest = payload.len() - start;
        if size > rest {
            let size = counted(size, "byte");
            let message =
                format!("a context binary of {size} at byte {start:#x} (size at byte 0xc), expected at most {rest}");
            return Err(DescribeError::malformed(message));
        }
        let first = payload.read_at(start, size.min(generic::FIRST) as usize)?;
        let mut context = Facts::default();
        context.add("offset", Fact::Bytes(start));
        context.add("size", Fact::Bytes(size));
        context.add("first_bytes", &*data_encoding::HEXLOWER.encode(&first));
        facts.add("context_binary", context);
        facts.add("graphs", UNKNOWN);
        Ok(facts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::description::IntoFact;

    fn payload(size: u64, context: &[u8]) -> Blob {
        let mut bytes = MAGIC.to_vec();
        bytes.extend((-7i64).to_le_bytes());
        bytes.extend(size.to_le_bytes());
        bytes.resize(CONTEXT as usize, 0);
        bytes.extend(context);
        Blob::bytes(bytes)
    }

    fn described(payload: &Blob) -> Result<String, String> {
        let facts = Qnn.describe(payload).map_err(|error| error.to_string())?;
        Ok(serde_json::to_string(&facts.into_fact()).unwrap())
    }

    #[test]
    fn a_context_binary_is_behind_the_header_or_alone() {
        let expected = r#"{"offset":256,"size":3,"first_bytes":"010203"},"graphs":"unknown"}"#;
        let found = described(&payload(3, &[1, 2, 3, 4])).unwrap();
        assert_eq!(found, format!(r#"{{"signature":-7,"context_binary":{expected}"#));
        let alone = described(&Blob::bytes([1, 2])).unwrap();
        assert_eq!(alone, r#"{"context_binary":{"offset":0,"size":2,"first_bytes":"0102"},"graphs":"unknown"}"#);
    }

    #[test]
    fn a_context_binary_must_fit() {
        let error = described(&payload(u64::MAX, &[1])).unwrap_err();
        assert!(
            error.contains("18446744073709551615 bytes at byte 0x100 (size at byte 0xc), expected at most 1"),
            "{error}"
        );
        let error = described(&Blob::bytes(MAGIC)).unwrap_err();
        assert_eq!(error, "a payload of 4 bytes, expected a header of 256");
    }
}
