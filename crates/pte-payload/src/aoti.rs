//! Payloads of AOTInductor's backends, CUDA and Metal: keys of a library and of its weights in named data.
//!
//! Described only. CUDA of ExecuTorch 1.5 writes a table of constants, others two keys as lines of text, and releases
//! up to 1.3 nothing: the keys follow from the method's name.

use super::description::{ConstantTally, DescribeError, Fact, Facts, Tally, UNKNOWN};
use super::format::PayloadFormat;
use super::rows::number;
use super::signature::{CallRules, CountRule};
use pte_model::data::Blob;
use pte_model::diagnostics::counted;
use pte_model::format::ScalarType;

/// The payloads of AOTInductor's backends.
#[derive(Debug)]
pub struct Aoti;

/// First bytes of a table of constants, before the digit of its version.
const TABLE: &[u8] = b"ETCUDAFQN";

/// The version of the table that is known.
const VERSION: u8 = b'3';

/// Largest size in bytes of lines of keys.
const MAX_LINES: u64 = 64 << 10;

/// Names of devices by number.
const DEVICES: &[&str] = &["cpu", "cuda"];

/// The library has the numbers of inputs and outputs.
static RULES: CallRules = CallRules { count: CountRule::Exact, ..CallRules::UNKNOWN };

impl PayloadFormat for Aoti {
    fn name(&self) -> &'static str {
        "AOTInductor"
    }

    fn backends(&self) -> &'static [&'static str] {
        &["CudaBackend", "MetalBackend"]
    }

    fn has_magic(&self, head: &[u8]) -> bool {
        head.starts_with(TABLE)
    }

    fn rules(&self) -> &'static CallRules {
        &RULES
    }

    fn describe(&self, payload: &Blob) -> Result<Facts, DescribeError> {
        let head = payload.read_at(0, payload.len().min(TABLE.len() as u64) as usize)?;
        match self.has_magic(&head) {
            true => table(&super::description::metadata(payload, 0, payload.len(), "a table of constants")?),
            false => lines(payload),
        }
    }
}

fn lines(payload: &Blob) -> Result<Facts, DescribeError> {
    if payload.len() > MAX_LINES {
        let size = counted(payload.len(), "byte");
        return Err(DescribeError::malformed(format!("{size}, expected two keys of at most {MAX_LINES} together")));
    }
    let bytes = payload.read_at(0, payload.len() as usize)?;
    let keys = match bytes.split_first() {
        None => Some((UNKNOWN, UNKNOWN)),
        Some(_) => std::str::from_utf8(&bytes).ok().and_then(|text| text.split_once('\n')),
    };
    let Some((library, weights)) = keys else {
        let found = counted(bytes.len(), "byte");
        return Err(DescribeError::malformed(format!(
            "{found} without a line feed, expected two keys as lines of text"
        )));
    };
    Ok([("library", library), ("weights", weights)].into_iter().fold(Facts::default(), |facts, (name, key)| {
        facts.with(name, Facts::default().with("named_data", Fact::Text(key.to_owned())))
    }))
}

/// The bytes of a table that are left.
struct Cursor<'b> {
    bytes: &'b [u8],
    at: usize,
}

impl<'b> Cursor<'b> {
    fn wrong<T>(&self, expected: &str) -> Result<T, DescribeError> {
        let left = counted(self.bytes.len() - self.at, "byte");
        Err(DescribeError::malformed(format!("{left} from byte {:#x} on, expected {expected}", self.at)))
    }

    fn take(&mut self, size: usize, what: &str) -> Result<&'b [u8], DescribeError> {
        match self.bytes.get(self.at..self.at.saturating_add(size)) {
            Some(found) => {
                self.at += size;
                Ok(found)
            }
            None => self.wrong(&format!("{what} of {}", counted(size, "byte"))),
        }
    }

    fn number(&mut self, size: usize, what: &str) -> Result<u64, DescribeError> {
        Ok(number(self.take(size, what)?, (0, size)).unwrap_or(0))
    }

    fn text(&mut self, what: &str) -> Result<&'b str, DescribeError> {
        let size = self.number(4, "a length")? as usize;
        let at = self.at;
        let bytes = self.take(size, what)?;
        std::str::from_utf8(bytes).map_err(|_| DescribeError::malformed(format!("{what} at byte {at:#x} is not UTF-8")))
    }
}

fn table(bytes: &[u8]) -> Result<Facts, DescribeError> {
    let mut cursor = Cursor { bytes, at: TABLE.len() };
    let version = cursor.take(1, "a version")?;
    if version != [VERSION] {
        let found = version.escape_ascii();
        return Err(DescribeError::malformed(format!("version \"{found}\" of the table at byte 0x9, expected \"3\"")));
    }
    let mut facts = Facts::default().with("version", "3");
    let library = cursor.text("the key of the library")?.to_owned();
    facts.add("library", Facts::default().with("named_data", Fact::Text(library)));
    let (mut constants, mut devices, mut types) = (ConstantTally::default(), Tally::default(), Tally::default());
    for _ in 0..cursor.number(4, "the number of constants")? {
        cursor.text("the name of a constant")?;
        let key = cursor.text("the key of a constant")?;
        let size = cursor.number(8, "the size of a constant")?;
        let datatype = i8::try_from(cursor.number(4, "the type of a constant")?).ok().map(ScalarType);
        let device = usize::try_from(cursor.number(4, "the device of a constant")?).unwrap_or(usize::MAX);
        cursor.number(8, "the offset of a constant")?;
        let rank = cursor.number(4, "the rank of a constant")? as usize;
        cursor.take(rank.saturating_mul(16), "sizes and strides")?;
        constants.named(key, size);
        devices.count(DEVICES.get(device).copied().unwrap_or(UNKNOWN));
        types.count(datatype.and_then(ScalarType::info).map_or(UNKNOWN, |info| info.name));
    }
    if cursor.at < bytes.len() {
        return cursor.wrong("the end of the table");
    }
    facts.add("devices", devices);
    facts.add("datatypes", types);
    facts.add("constants", constants);
    Ok(facts)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn described(payload: &[u8]) -> Result<String, String> {
        let facts = Aoti.describe(&Blob::bytes(payload)).map_err(|error| error.to_string())?;
        Ok(serde_json::to_string(&crate::description::IntoFact::into_fact(facts)).unwrap())
    }

    #[test]
    fn lines_are_two_keys() {
        let expected = r#"{"library":{"named_data":"a_so_blob"},"weights":{"named_data":"a\nb"}}"#;
        assert_eq!(described(b"a_so_blob\na\nb").unwrap(), expected);
        assert!(described(b"a").unwrap_err().starts_with("1 byte without a line feed"));
        assert!(described(&[0xff, b'\n']).is_err());
        // The keys follow from the name of the method.
        assert!(described(b"").unwrap().contains("unknown"));
        assert_eq!(Aoti.keys(&Blob::bytes([])).unwrap(), None);
    }

    #[test]
    fn a_table_is_not_larger_than_its_payload() {
        let table = |constants: u32, rest: &[u8]| {
            let count = constants.to_le_bytes();
            [TABLE, b"3", &1u32.to_le_bytes(), b"k", &count, rest].concat()
        };
        assert!(described(&table(0, &[])).unwrap().starts_with(r#"{"version":"3","library":{"named_data":"k"}"#));
        assert_eq!(
            described(&table(u32::MAX, &[])).unwrap_err(),
            "0 bytes from byte 0x13 on, expected a length of 4 bytes"
        );
        let rank = [&[0; 4][..], &[0; 4], &[0; 24], &u32::MAX.to_le_bytes()].concat();
        assert!(described(&table(1, &rank)).unwrap_err().contains("sizes and strides of 68719476720 bytes"));
        assert!(described(&table(0, &[0])).unwrap_err().contains("expected the end of the table"));
        assert!(described(b"ETCUDAFQN4").unwrap_err().contains("version \"4\""));
    }
}
