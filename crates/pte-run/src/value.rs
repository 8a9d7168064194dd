//! Words of the protocol: values of inputs and outputs, and names of methods.

use std::fmt::Write as _;
use std::io;
use std::str::FromStr;

use data_encoding::{HEXLOWER, HEXLOWER_PERMISSIVE};
use pte_model::data::{Blob, number};
use pte_model::format::dim_order::is_permutation;
use pte_model::format::{DimOrder, ScalarType};
use pte_model::program::nbytes;
use pte_model::program::test_cases::TestData;

/// Value of an output.
///
/// ```
/// use pte_run::OutputValue;
/// use pte_run::pte_model::program::test_cases::TestData;
///
/// assert_eq!(OutputValue::parse("double 3ff0000000000000"), Some(OutputValue::Double(1f64)));
/// assert_eq!(OutputValue::Int(7).to_test_data(), Some(TestData::Int(7)));
/// assert!(matches!(OutputValue::parse("tensor 6 2 0 0000803f00000040"), Some(OutputValue::Tensor { .. })));
/// // The sizes are those of one element.
/// assert_eq!(OutputValue::parse("tensor 6 1 0 0000803f00000040"), None);
/// ```
#[derive(Debug, Clone, PartialEq)]
pub enum OutputValue {
    /// None.
    Null,
    /// An Int.
    Int(i64),
    /// A floating point number.
    Double(f64),
    /// A Bool.
    Bool(bool),
    /// The bytes of a string.
    String(Vec<u8>),
    /// A tensor; without bytes it has no memory.
    Tensor {
        /// Element type.
        scalar_type: ScalarType,
        /// Sizes.
        sizes: Vec<i32>,
        /// Dimensions from the outermost in memory to the innermost.
        dim_order: Vec<u8>,
        /// Bytes in the order of memory.
        bytes: Option<Vec<u8>>,
    },
    /// Any other kind, by its tag.
    Other(String),
}

impl OutputValue {
    /// Parses the words of a value. `None` if they are malformed, also if a tensor of a known element type has another
    /// number of bytes than its sizes state.
    pub fn parse(words: &str) -> Option<OutputValue> {
        let words: Vec<&str> = words.splitn(6, ' ').collect();
        Some(match words[..] {
            ["none"] => OutputValue::Null,
            ["int", n] => OutputValue::Int(n.parse().ok()?),
            ["double", bits] if bits.len() == 16 => {
                OutputValue::Double(f64::from_bits(u64::from_str_radix(bits, 16).ok()?))
            }
            ["bool", "0"] => OutputValue::Bool(false),
            ["bool", "1"] => OutputValue::Bool(true),
            ["string", bytes] => OutputValue::String(unhex(bytes)?),
            ["tensor", code, sizes, dim_order, bytes] => tensor(code, sizes, dim_order, bytes)?,
            ["other", tag] => OutputValue::Other(tag.to_owned()),
            _ => return None,
        })
    }

    /// Returns the value as an expected output. `None` for a tensor without memory, and for kinds that tests cannot
    /// have.
    pub fn to_test_data(&self) -> Option<TestData> {
        Some(match self {
            OutputValue::Null => TestData::Null,
            OutputValue::Int(n) => TestData::Int(*n),
            OutputValue::Double(x) => TestData::Double(*x),
            OutputValue::Bool(b) => TestData::Bool(*b),
            OutputValue::String(bytes) => TestData::String(String::from_utf8(bytes.clone()).ok()?),
            OutputValue::Tensor { scalar_type, sizes, dim_order, bytes } => TestData::Tensor {
                scalar_type: *scalar_type,
                sizes: sizes.clone(),
                dim_order: dim_order.iter().copied().collect::<DimOrder>(),
                data: Blob::bytes(bytes.clone()?),
            },
            OutputValue::Other(_) => return None,
        })
    }

    /// Returns test data as a value.
    ///
    /// ```
    /// use pte_run::OutputValue;
    /// use pte_run::pte_model::program::test_cases::TestData;
    ///
    /// assert_eq!(OutputValue::from_test_data(&TestData::Int(7))?, OutputValue::Int(7));
    /// # Ok::<(), std::io::Error>(())
    /// ```
    ///
    /// # Errors
    /// Data that cannot be read.
    pub fn from_test_data(data: &TestData) -> io::Result<OutputValue> {
        Ok(match data {
            TestData::Null => OutputValue::Null,
            TestData::Int(n) => OutputValue::Int(*n),
            TestData::Double(x) => OutputValue::Double(*x),
            TestData::Bool(b) => OutputValue::Bool(*b),
            TestData::String(text) => OutputValue::String(text.clone().into_bytes()),
            TestData::Tensor { scalar_type, sizes, dim_order, data } => OutputValue::Tensor {
                scalar_type: *scalar_type,
                sizes: sizes.clone(),
                dim_order: dim_order.to_vec(),
                bytes: Some(data.to_vec()?),
            },
        })
    }

    /// Returns the first elements of a tensor, as in YAML, in the order of memory. `None` for a tensor without memory
    /// or of an unknown element type, and for other values.
    ///
    /// ```
    /// let value = pte_run::OutputValue::parse("tensor 6 2 0 0000803f0000c03f").unwrap();
    /// assert_eq!(value.elements(2).unwrap(), ["1", "1.5"]);
    /// ```
    pub fn elements(&self, limit: usize) -> Option<Vec<String>> {
        let OutputValue::Tensor { scalar_type, bytes: Some(bytes), .. } = self else { return None };
        let info = scalar_type.info()?;
        let text = |bytes: &[u8]| Some(number::element(number::decode(*scalar_type, bytes)?, info.encoding));
        bytes.chunks_exact(info.size as usize).take(limit).map(text).collect()
    }
}

/// Largest rank of a tensor that is accepted; the runtime has 16.
const MAX_RANK: usize = 64;

fn tensor(code: &str, sizes: &str, dim_order: &str, bytes: &str) -> Option<OutputValue> {
    let scalar_type = ScalarType(code.parse().ok()?);
    let (sizes, dim_order) = (list::<i32>(sizes)?, list::<u8>(dim_order)?);
    let rank = sizes.len();
    if rank > MAX_RANK || !is_permutation(dim_order.iter().copied(), rank) {
        return None;
    }
    let size = nbytes(scalar_type, &sizes);
    let is_known = scalar_type.info().is_some();
    if is_known && size.is_none() {
        return None;
    }
    let bytes = if bytes == "null" { None } else { Some(unhex(bytes)?) };
    let fits = |bytes: &Vec<u8>| !is_known || Some(bytes.len() as u64) == size;
    bytes.as_ref().is_none_or(fits).then_some(OutputValue::Tensor { scalar_type, sizes, dim_order, bytes })
}

/// Formats a value for a command.
///
/// ```
/// use pte_run::pte_model::program::test_cases::TestData;
///
/// assert_eq!(pte_run::value::words(&TestData::Double(1f64))?, "double 3ff0000000000000");
/// assert_eq!(pte_run::value::words(&TestData::String("a".into()))?, "string 61");
/// # Ok::<(), std::io::Error>(())
/// ```
///
/// # Errors
/// Data that cannot be read.
pub fn words(value: &TestData) -> io::Result<String> {
    Ok(match value {
        TestData::Null => "none".into(),
        TestData::Int(n) => format!("int {n}"),
        TestData::Double(x) => format!("double {:016x}", x.to_bits()),
        TestData::Bool(b) => format!("bool {}", u8::from(*b)),
        TestData::String(text) => format!("string {}", hex(text.as_bytes())),
        TestData::Tensor { scalar_type, sizes, dim_order, data } => {
            let data = hex(&data.to_vec()?);
            format!("tensor {} {} {} {data}", scalar_type.0, commas(sizes), commas(dim_order))
        }
    })
}

/// Formats a method's name as one word.
///
/// ```
/// assert_eq!(pte_run::value::quoted("a b%"), "a%20b%25");
/// assert_eq!(pte_run::value::unquoted("a%20b%25").as_deref(), Some("a b%"));
/// ```
pub fn quoted(name: &str) -> String {
    let mut word = String::new();
    for byte in name.bytes() {
        match byte {
            b'!'..=b'~' if byte != b'%' => word.push(char::from(byte)),
            _ => {
                let _ = write!(word, "%{byte:02x}");
            }
        }
    }
    if word.is_empty() { "%".into() } else { word }
}

/// Parses a word of [`quoted`]. `None` if it is malformed or not UTF-8.
pub fn unquoted(word: &str) -> Option<String> {
    if word == "%" {
        return Some(String::new());
    }
    let mut parts = word.split('%');
    let mut bytes = parts.next()?.as_bytes().to_vec();
    for part in parts {
        bytes.extend(HEXLOWER_PERMISSIVE.decode(part.get(..2)?.as_bytes()).ok()?);
        bytes.extend(part.get(2..)?.as_bytes());
    }
    String::from_utf8(bytes).ok()
}

fn hex(bytes: &[u8]) -> String {
    if bytes.is_empty() { "-".into() } else { HEXLOWER.encode(bytes) }
}

fn unhex(word: &str) -> Option<Vec<u8>> {
    if word == "-" { Some(Vec::new()) } else { HEXLOWER_PERMISSIVE.decode(word.as_bytes()).ok() }
}

fn commas<T: ToString>(items: &[T]) -> String {
    if items.is_empty() { "-".into() } else { items.iter().map(T::to_string).collect::<Vec<_>>().join(",") }
}

fn list<T: FromStr>(word: &str) -> Option<Vec<T>> {
    if word == "-" { Some(Vec::new()) } else { word.split(',').map(|item| item.parse().ok()).collect() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_an_input_are_those_of_an_output() {
        for words in [
            "none",
            "int -9223372036854775808",
            "double 7ff8000000000000",
            "bool 1",
            "string -",
            "string c3a9",
            "tensor 6 2,1 1,0 0000803f00000040",
            "tensor 4 - - 0700000000000000",
            "tensor 6 0 0 -",
        ] {
            let value = OutputValue::parse(words).unwrap().to_test_data().unwrap();
            assert_eq!(super::words(&value).unwrap(), words);
            let again = OutputValue::from_test_data(&value).unwrap().to_test_data().unwrap();
            assert_eq!(super::words(&again).unwrap(), words);
        }
    }

    #[test]
    fn malformed_values_are_rejected() {
        for words in [
            "",
            "int",
            "int 1 2",
            "int 9223372036854775808",
            "double 1.0",
            "bool 2",
            "string 6",
            "string zz",
            "tensor 6 2 0",
            "tensor 6 2 0 00",
            "tensor 6 2 1 0000803f00000040",
            "tensor 6 2,1 0,0 0000803f00000040",
            "tensor 6 -1 0 -",
            "tensor 6 2147483647,2147483647,2147483647 0,1,2 00",
            "tensor 6 2 0 0000803f00000040 more",
        ] {
            assert_eq!(OutputValue::parse(words), None, "{words}");
        }
        assert!(matches!(OutputValue::parse("tensor 6 2 0 null"), Some(OutputValue::Tensor { bytes: None, .. })));
        assert_eq!(unquoted("a%2"), None);
        assert_eq!(unquoted("%ff"), None);
        assert_eq!(unquoted("%"), Some(String::new()));
    }
}
