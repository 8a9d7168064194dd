//! Reads an .npy file: its header is a Python dict literal with the keys `descr`, `fortran_order` and `shape`. The data
//! are not read.

use std::io;

use crate::data::{Blob, Origin};
use crate::diagnostics::{clipped, counted};
use crate::format::safetensors::MAX_HEADER;
use crate::format::{DimOrder, npy};
use crate::program::{TensorLayout, nbytes};

/// The array of a file.
#[derive(Debug, Clone, PartialEq)]
pub struct NpyTensor {
    /// Element type and sizes; the order of dimensions is reversed in a file in Fortran order.
    pub layout: TensorLayout,
    /// The data: a range of the file.
    pub data: Blob,
}

/// Reads the header of a file.
///
/// # Errors
/// The file cannot be read, is malformed, or has elements of an unsupported type.
pub fn read(origin: &Origin) -> io::Result<NpyTensor> {
    let length = origin.len()?;
    let wrong = |message: &str| Err(io::Error::other(message.to_owned()));
    let head = origin.head(12)?;
    let (start, len): (u64, u64) = match *head {
        [0x93, b'N', b'U', b'M', b'P', b'Y', 1, 0, low, high, ..] => (10, u16::from_le_bytes([low, high]).into()),
        [0x93, b'N', b'U', b'M', b'P', b'Y', 2 | 3, 0, a, b, c, d] => (12, u32::from_le_bytes([a, b, c, d]).into()),
        _ => (0, u64::MAX),
    };
    let header = len.saturating_add(start);
    // The length in the header is untrusted: it must be within the file.
    if head.len() < 12 || header > length || header > MAX_HEADER {
        return wrong("it is not a .npy file");
    }
    let text = origin.range(start, len)?;
    let Some(dict) = str::from_utf8(&text).ok().and_then(parse) else {
        return wrong("its header is not a Python dict of `descr`, `fortran_order` and `shape`");
    };
    let Some(scalar_type) = dict.element().and_then(npy::element_type) else {
        let what = match dict.element() {
            Some((">", _)) => "are big-endian; save the file as little-endian",
            _ => "have an unsupported type",
        };
        return wrong(&format!("its elements ({}) {what}", clipped(dict.descr)));
    };
    let sizes: Option<Vec<i32>> = dict.shape.iter().map(|size| i32::try_from(*size).ok()).collect();
    let len = sizes.as_ref().and_then(|sizes| nbytes(scalar_type, sizes));
    let data =
        len.filter(|len| header.checked_add(*len) == Some(length)).and_then(|len| origin.blob(header, len, length));
    let (Some(sizes), Some(data)) = (sizes, data) else {
        return wrong(&format!("its length of {} does not agree with its header", counted(length, "byte")));
    };
    let mut dim_order = DimOrder::contiguous(sizes.len());
    if dict.fortran_order {
        dim_order.reverse();
    }
    Ok(NpyTensor { layout: TensorLayout { scalar_type, sizes, dim_order }, data })
}

/// Header of an .npy file.
#[derive(Debug, PartialEq)]
pub struct NpyHeader<'h> {
    /// Element type as a Python literal, such as `'<f4'`.
    pub descr: &'h str,
    /// True if the first dimension varies fastest.
    pub fortran_order: bool,
    /// Size of each dimension.
    pub shape: Vec<u64>,
}

impl NpyHeader<'_> {
    /// Byte order and type of the elements, such as `("<", "f4")`; `None` for types with fields.
    pub fn element(&self) -> Option<(&str, &str)> {
        unquoted(self.descr)?.split_at_checked(1).filter(|(order, _)| matches!(*order, "<" | ">" | "|"))
    }
}

/// Parses the text of a header, without the lengths before it. `None` unless it has exactly the three keys of the
/// format, as NumPy requires. Time and memory are linear in the length of `text`.
pub fn parse(text: &str) -> Option<NpyHeader<'_>> {
    let mut rest = text.trim().strip_prefix('{')?.strip_suffix('}')?.trim_start();
    let (mut descr, mut fortran_order, mut shape) = (None, None, None);
    while !rest.is_empty() {
        let (key, after) = split(rest, b':');
        let (value, after) = split(after?, b',');
        match unquoted(key)? {
            "descr" => descr = Some(value),
            "fortran_order" if value == "True" => fortran_order = Some(true),
            "fortran_order" if value == "False" => fortran_order = Some(false),
            "shape" => shape = Some(sizes(value)?),
            _ => return None,
        }
        rest = after.unwrap_or_default();
    }
    Some(NpyHeader { descr: descr?, fortran_order: fortran_order?, shape: shape? })
}

/// Splits at the first `separator` that is neither quoted nor in brackets; without one the second part is `None`.
fn split(text: &str, separator: u8) -> (&str, Option<&str>) {
    let (mut quote, mut depth) = (None, 0u32);
    let mut bytes = text.bytes().enumerate();
    while let Some((at, byte)) = bytes.next() {
        match (quote, byte) {
            (Some(_), b'\\') => _ = bytes.next(),
            (Some(opened), _) if byte == opened => quote = None,
            (Some(_), _) => {}
            (None, b'\'' | b'"') => quote = Some(byte),
            (None, b'(' | b'[' | b'{') => depth += 1,
            (None, b')' | b']' | b'}') => depth = depth.saturating_sub(1),
            // The separators are ASCII: both sides are whole characters.
            (None, _) if depth == 0 && byte == separator => {
                return (text[..at].trim(), Some(text[at + 1..].trim_start()));
            }
            _ => {}
        }
    }
    (text.trim(), None)
}

/// Content of a string literal without escapes.
fn unquoted(literal: &str) -> Option<&str> {
    let quote = literal.chars().next().filter(|quote| matches!(quote, '\'' | '"'))?;
    let content = literal.strip_prefix(quote)?.strip_suffix(quote)?;
    (!content.contains([quote, '\\'])).then_some(content)
}

/// Items of a tuple of non-negative integers: `()`, `(2,)`, `(2, 3)`.
fn sizes(literal: &str) -> Option<Vec<u64>> {
    let items = literal.strip_prefix('(')?.strip_suffix(')')?.trim();
    if items.is_empty() {
        return Some(Vec::new());
    }
    // `(2)` is a number in brackets.
    let items = items.strip_suffix(',').or(items.contains(',').then_some(items))?;
    items.split(',').map(|item| item.trim().parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::ScalarType;
    use proptest::prelude::*;

    #[test]
    fn headers_that_are_written_are_read_again() {
        for (_, name) in npy::TYPES {
            let scalar_type = ScalarType::parse(name).unwrap();
            for sizes in [&[][..], &[3], &[2, 3], &[0, 7], &[1; 16]] {
                let mut file = npy::header(scalar_type, sizes).unwrap();
                let elements = sizes.iter().product::<i32>() as usize;
                assert_eq!(file.len() % 64, 0);
                file.resize(file.len() + elements * scalar_type.element_size() as usize, 1);
                let found = read(&Origin::Bytes(file.into())).unwrap();
                assert_eq!((found.layout.scalar_type, &*found.layout.sizes), (scalar_type, sizes), "{name}");
            }
        }
    }

    #[test]
    fn a_header_as_numpy_writes_it() {
        let text = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }               \n";
        let header = parse(text).unwrap();
        assert_eq!(header, NpyHeader { descr: "'<f4'", fortran_order: false, shape: vec![2, 3] });
        assert_eq!(header.element(), Some(("<", "f4")));
    }

    #[test]
    fn other_spellings_of_the_same_dict() {
        for (text, shape) in [
            ("{\"shape\":(),'fortran_order':True,'descr':'<f4'}", &[][..]),
            ("{ 'shape' : ( 7 , ) , 'descr' : '<f4' , 'fortran_order' : True }", &[7]),
            ("{'descr': '<f4', 'fortran_order': True,\n 'shape': (18446744073709551615, 0,)}", &[u64::MAX, 0]),
        ] {
            let expected = NpyHeader { descr: "'<f4'", fortran_order: true, shape: shape.to_vec() };
            assert_eq!(parse(text), Some(expected), "{text}");
        }
    }

    #[test]
    fn types_with_fields_are_kept_as_text() {
        for descr in ["[('a', '<f4'), ('b,:)', '<i4', (2,))]", r"[('it\'s }, ', '<f4')]", "('<f4', (2, 3))", "7"] {
            let text = format!("{{'descr': {descr}, 'fortran_order': False, 'shape': (1,), }}");
            let header = parse(&text).unwrap();
            assert_eq!((header.descr, header.element()), (descr, None));
        }
    }

    #[test]
    fn other_strings_are_rejected() {
        let with = |shape: &str| format!("{{'descr': '<f4', 'fortran_order': False, 'shape': {shape}, }}");
        assert!(parse(&with("(1,)")).is_some());
        for shape in [
            "(1)",
            "(,)",
            "(1,,)",
            "(-1,)",
            "(1.0,)",
            "(18446744073709551616,)",
            "[1]",
            "1",
            "(1,",
            "(1 2,)",
            "((1,),)",
        ] {
            assert_eq!(parse(&with(shape)), None, "{shape}");
        }
        for text in [
            "",
            "{",
            "}",
            "{}",
            "{,}",
            "{:}",
            "{'descr': '<f4', 'fortran_order': False}",
            "{'descr': '<f4', 'fortran_order': 0, 'shape': (1,)}",
            "{'descr': '<f4', 'fortran_order': False, 'shape': (1,), 'more': 1}",
            "{descr: '<f4', 'fortran_order': False, 'shape': (1,)}",
            "{'descr': '<f4', 'fortran_order': False, 'shape': (1,)",
            "{'descr: '<f4', 'fortran_order': False, 'shape': (1,)}",
            "{'descr': '<f4' 'fortran_order': False, 'shape': (1,)}",
        ] {
            assert_eq!(parse(text), None, "{text}");
        }
    }

    #[test]
    fn elements_of_irregular_strings() {
        for descr in ["''", "'", "", "'é4'", "'<f4\\'", "'<f4\"", "'<' 'f4'", "<f4", "'f4'", "'=f4'"] {
            let header = NpyHeader { descr, fortran_order: false, shape: Vec::new() };
            assert_eq!(header.element(), None, "{descr}");
        }
    }

    #[test]
    fn deep_and_long_headers_take_linear_time() {
        for hostile in ["(", "[", "{", "'", "\\", ",", ":", "'a':", "'shape':(1,),", "}"] {
            let _ = parse(&format!("{{{}}}", hostile.repeat(1 << 18)));
        }
    }

    proptest! {
        #[test]
        fn no_text_panics(text in ".*", pieces in "([{}(),:'\"\\\\ é]|descr|fortran_order|shape|True|False|[0-9]){0,60}") {
            for text in [text, format!("{{{pieces}}}")] {
                if let Some(header) = parse(&text) {
                    let _ = header.element();
                }
            }
        }

        #[test]
        fn any_shape_round_trips(shape in prop::collection::vec(any::<u64>(), 0..20), fortran_order: bool) {
            let sizes: String = shape.iter().map(|size| format!("{size}, ")).collect();
            let order = if fortran_order { "True" } else { "False" };
            let text = format!("{{'descr': '<f4', 'fortran_order': {order}, 'shape': ({sizes}), }}\n");
            prop_assert_eq!(parse(&text), Some(NpyHeader { descr: "'<f4'", fortran_order, shape }));
        }
    }
}
