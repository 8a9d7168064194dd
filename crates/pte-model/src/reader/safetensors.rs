//! Reads a `.safetensors`: `__metadata__`, and names, types, sizes and offsets of its tensors. Their data are not read.

use std::fmt;
use std::io;

use indexmap::IndexMap;
use indexmap::map::Entry;
use safetensors::tensor::TensorInfo;
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::error::Category;

use crate::data::{Blob, Origin};
use crate::diagnostics::clipped;
use crate::format::ScalarType;
use crate::format::safetensors::{
    HEADER_ORDER, MAX_HEADER, METADATA, PREAMBLE, SafetensorsMetadata, TYPES, duplicate_key, key_of,
};
use crate::program::{ExternalData, MAX_DIMENSIONS, Program, TensorLayout, nbytes};

/// The header of a file.
#[derive(Debug)]
pub struct SafetensorsHeader {
    names: HeaderNames,
    /// Indices of the tensors in the order of their data.
    data_order: Vec<usize>,
    /// Offset of the data in the file.
    data_start: u64,
}

/// The JSON of a header.
#[derive(Debug, Default)]
struct HeaderNames {
    /// The tensors, in the order of the header.
    tensors: IndexMap<String, TensorInfo>,
    /// `__metadata__`, and the number of tensors before it.
    metadata: Option<(usize, SafetensorsMetadata)>,
}

/// A tensor of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SafetensorsTensor {
    /// Element type.
    pub scalar_type: ScalarType,
    /// Size of each dimension.
    pub sizes: Vec<i32>,
    /// Offset of its data in the file.
    pub offset: u64,
    /// Size in bytes.
    pub len: u64,
}

impl<'de> Deserialize<'de> for HeaderNames {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<HeaderNames, D::Error> {
        struct Names;
        impl<'de> Visitor<'de> for Names {
            type Value = HeaderNames;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "an object of tensors")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<HeaderNames, A::Error> {
                let (mut names, mut has_metadata) = (HeaderNames::default(), false);
                while let Some(name) = map.next_key::<String>()? {
                    if name == METADATA {
                        if std::mem::replace(&mut has_metadata, true) {
                            return Err(duplicate_key(METADATA));
                        }
                        // The reference implementation writes and reads `null` as a file without metadata.
                        let metadata: Option<SafetensorsMetadata> = map.next_value()?;
                        names.metadata = metadata.map(|metadata| (names.tensors.len(), metadata));
                        continue;
                    }
                    match names.tensors.entry(name) {
                        Entry::Vacant(entry) => _ = entry.insert(map.next_value()?),
                        Entry::Occupied(entry) => return Err(duplicate_key(&clipped(entry.key()))),
                    }
                }
                Ok(names)
            }
        }
        deserializer.deserialize_map(Names)
    }
}

/// Reads the header.
///
/// # Errors
/// The file cannot be read, is not a `.safetensors`, or its data are not exactly those of its header.
pub fn header(origin: &Origin) -> io::Result<SafetensorsHeader> {
    let length = origin.len()?;
    let wrong = |message: String| io::Error::other(format!("not a .safetensors file: {message}"));
    let head = origin.head(PREAMBLE)?;
    let Some(size) = head.first_chunk().map(|size| u64::from_le_bytes(*size)) else {
        return Err(wrong(format!("it has {length} bytes, expected {PREAMBLE} with the length of the header")));
    };
    let data_start = match size.checked_add(PREAMBLE) {
        Some(start) if size <= MAX_HEADER && start <= length => start,
        Some(start) if start <= length => {
            return Err(wrong(format!("its header has {size} bytes, more than the maximum of {MAX_HEADER}")));
        }
        _ => return Err(wrong(format!("its first 8 bytes state a header of {size} bytes, the file has {length}"))),
    };
    let head = origin.head(data_start)?;
    let names = header_names(head.get(PREAMBLE as usize..).unwrap_or_default()).map_err(wrong)?;
    let mut data_order: Vec<usize> = (0..names.tensors.len()).collect();
    // The sort is stable: empty tensors at the same offset keep the order of the header.
    data_order.sort_by_key(|index| names.tensors.get_index(*index).map(|(_, info)| info.data_offsets));
    let header = SafetensorsHeader { names, data_order, data_start };
    header.check_offsets(length - data_start).map_err(io::Error::other)?;
    Ok(header)
}

/// Parses the JSON of a header.
fn header_names(json: &[u8]) -> Result<HeaderNames, String> {
    let text = str::from_utf8(json)
        .map_err(|error| format!("its header is not UTF-8 at byte {}", PREAMBLE + error.valid_up_to() as u64))?;
    if let Some(first) = text.chars().next().filter(|first| *first != '{') {
        return Err(format!("its header begins with {first:?} at byte {PREAMBLE}, expected '{{'"));
    }
    serde_json::from_str(text).map_err(|error| {
        // The position of the library is a line and a column in bytes.
        let lines = text.split_inclusive('\n').take(error.line().saturating_sub(1)).map(str::len).sum::<usize>();
        let at = PREAMBLE + (lines + error.column().saturating_sub(1)) as u64;
        let message = error.to_string();
        let message = message.rsplit_once(" at line ").map_or(&*message, |(message, _)| message);
        let what = match error.classify() {
            Category::Data => "has an error",
            Category::Syntax | Category::Eof | Category::Io => "is not JSON",
        };
        format!("its header {what} at byte {at}: {}", clipped_message(message))
    })
}

/// Truncates a message of a library, which may quote a string of the file of any length.
fn clipped_message(message: &str) -> String {
    const MAX: usize = 200;
    match message.char_indices().nth(MAX) {
        Some((at, _)) => format!("{}...", &message[..at]),
        None => message.to_owned(),
    }
}

impl SafetensorsHeader {
    /// The tensors with their names, in the order of their data.
    pub fn tensors(&self) -> impl Iterator<Item = (&str, &TensorInfo)> {
        let entry = |index: &usize| self.names.tensors.get_index(*index);
        self.data_order.iter().filter_map(entry).map(|(name, info)| (name.as_str(), info))
    }

    /// A tensor by name.
    pub fn info(&self, name: &str) -> Option<&TensorInfo> {
        self.names.tensors.get(name)
    }

    /// `__metadata__`.
    pub fn metadata(&self) -> Option<&SafetensorsMetadata> {
        self.names.metadata.as_ref().map(|(_, metadata)| metadata)
    }

    /// Checks that the data of the tensors follow each other without gaps, have the sizes of the tensors, and fill the
    /// `available` bytes.
    fn check_offsets(&self, available: u64) -> Result<(), String> {
        let (mut end, mut last) = (0u64, None);
        for (name, info) in self.tensors() {
            let (start, stop) = (info.data_offsets.0 as u64, info.data_offsets.1 as u64);
            let wrong = |what: String| Err(format!("tensor `{}` {what}", clipped(name)));
            if stop < start {
                return wrong(format!("has data_offsets [{start},{stop}], whose end is before the start"));
            }
            if start > end {
                return wrong(format!("begins at byte {start} of the data, but no tensor has the bytes from {end}"));
            }
            if let Some(last) = last.filter(|_| start < end) {
                let last = clipped(last);
                return wrong(format!(
                    "begins at byte {start} of the data, inside of tensor `{last}`, which ends at {end}"
                ));
            }
            let elements = info.shape.iter().try_fold(1u64, |product, size| product.checked_mul(*size as u64));
            let bits = elements.and_then(|elements| elements.checked_mul(info.dtype.bitsize() as u64));
            match bits {
                Some(bits) if bits % 8 == 0 && bits / 8 == stop - start => {}
                Some(bits) => {
                    let bytes = if bits % 8 == 0 { format!("{}", bits / 8) } else { format!("{bits}/8") };
                    return wrong(format!(
                        "has {} bytes by its data_offsets, {bytes} by its type and shape",
                        stop - start
                    ));
                }
                None => return wrong("has a shape whose number of bytes overflows".to_owned()),
            }
            if stop > available {
                return wrong(format!("ends at byte {stop} of the data, of which the file has {available}"));
            }
            (end, last) = (stop, Some(name));
        }
        match available - end {
            0 => Ok(()),
            rest => Err(format!(
                "the file has {available} bytes after its header, of which the last {rest} belong to no tensor"
            )),
        }
    }

    /// Returns type, sizes and range of a tensor.
    ///
    /// # Errors
    /// The type, a size or the number of dimensions is not supported.
    pub fn find(&self, name: &str, info: &TensorInfo) -> Result<SafetensorsTensor, String> {
        let wrong = |what: String| Err(format!("tensor `{}` {what}", clipped(name)));
        let known = TYPES.iter().find(|(dtype, _)| *dtype == info.dtype);
        let Some(scalar_type) = known.and_then(|(_, name)| ScalarType::parse(name)) else {
            return wrong(format!("has type {}, which a .ptd does not support", info.dtype));
        };
        if info.shape.len() > MAX_DIMENSIONS {
            let rank = info.shape.len();
            return wrong(format!("has {rank} dimensions, the runtime supports {MAX_DIMENSIONS} at most"));
        }
        let mut sizes = Vec::with_capacity(info.shape.len());
        for size in &info.shape {
            let Ok(size) = i32::try_from(*size) else {
                return wrong(format!("has a dimension of size {size}, the runtime supports {} at most", i32::MAX));
            };
            sizes.push(size);
        }
        let (start, end) = (info.data_offsets.0 as u64, info.data_offsets.1 as u64);
        match (nbytes(scalar_type, &sizes), self.data_start.checked_add(start)) {
            (Some(len), Some(offset)) if end.checked_sub(start) == Some(len) => {
                Ok(SafetensorsTensor { scalar_type, sizes, offset, len })
            }
            _ => wrong("has data that do not match its sizes".to_owned()),
        }
    }

    /// Names of the header in their order, if it is not the order of the data.
    fn order(&self) -> Option<Vec<&str>> {
        if self.data_order.is_sorted() {
            return None;
        }
        let mut names: Vec<&str> = self.names.tensors.keys().map(String::as_str).collect();
        if let Some((position, _)) = &self.names.metadata {
            names.insert(*position, METADATA);
        }
        Some(names)
    }
}

/// Reads a file as weights alone: its tensors in the order of their data, and blobs with [`METADATA`] and
/// [`HEADER_ORDER`].
///
/// # Errors
/// As [`header`] and [`SafetensorsHeader::find`].
pub fn read(origin: &Origin) -> io::Result<Program> {
    let (header, length) = (header(origin)?, origin.len()?);
    let mut program = Program::default();
    for (name, info) in header.tensors() {
        let SafetensorsTensor { scalar_type, sizes, offset, len } =
            header.find(name, info).map_err(io::Error::other)?;
        let blob = origin.blob(offset, len, length).ok_or_else(|| io::Error::from(io::ErrorKind::UnexpectedEof))?;
        let data = program.add_blob(blob);
        let tensor_layout = Some(TensorLayout::new(scalar_type, sizes));
        program.external_data.push(ExternalData { tensor_layout, ..ExternalData::new(name, data) });
    }
    let mut insert = |position: usize, kind: &str, json: Vec<u8>| {
        let key = key_of(kind, header.tensors().map(|(name, _)| name), |key| header.info(key).is_some());
        let data = program.add_blob(Blob::bytes(json));
        program.external_data.insert(position, ExternalData::new(key, data));
    };
    let order = header.order();
    if let Some((position, metadata)) = &header.names.metadata {
        // If the order of the header is stored, it has the position of the metadata.
        insert(if order.is_some() { 0 } else { *position }, METADATA, serde_json::to_vec(metadata)?);
    }
    if let Some(names) = order {
        insert(0, HEADER_ORDER, serde_json::to_vec(&names)?);
    }
    Ok(program)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a file with this JSON, followed by `data` bytes.
    fn file(json: &str, data: usize) -> Origin {
        let bytes = [&(json.len() as u64).to_le_bytes()[..], json.as_bytes(), &vec![7; data]].concat();
        Origin::Bytes(bytes.into())
    }

    fn entry(dtype: &str, shape: &str, start: u64, end: u64) -> String {
        format!(r#"{{"dtype":"{dtype}","shape":{shape},"data_offsets":[{start},{end}]}}"#)
    }

    /// Keys of a file as weights, each with the bytes of a blob or the size of a tensor.
    fn keys(file: &Origin) -> Vec<(String, String)> {
        let program = read(file).unwrap();
        let content = |data: &ExternalData| match data.tensor_layout {
            Some(_) => program.blob(data.data).len.to_string(),
            None => String::from_utf8(program.blob(data.data).to_vec().unwrap()).unwrap(),
        };
        program.external_data.iter().map(|data| (data.key.clone(), content(data))).collect()
    }

    fn pairs(expected: &[(&str, &str)]) -> Vec<(String, String)> {
        expected.iter().map(|(key, content)| ((*key).to_owned(), (*content).to_owned())).collect()
    }

    #[test]
    fn tensors_are_in_the_order_of_their_data_and_a_blob_has_that_of_the_header() {
        let (a, b, c) = (entry("F32", "[2]", 3, 11), entry("I8", "[2,1]", 0, 2), entry("U8", "[1]", 2, 3));
        let found = file(&format!(r#"{{"a":{a},"b":{b},"__metadata__":{{"x":"y"}},"c":{c}}}"#), 11);
        let order = r#"["a","b","__metadata__","c"]"#;
        let expected =
            [("__header__.b", order), ("__metadata__.b", r#"{"x":"y"}"#), ("b", "2"), ("c", "1"), ("a", "8")];
        assert_eq!(keys(&found), pairs(&expected));
        let layout = read(&found).unwrap().external_data[2].tensor_layout.clone().unwrap();
        assert_eq!(layout, TensorLayout::new(ScalarType::CHAR, vec![2, 1]));
    }

    #[test]
    fn metadata_have_their_position_in_the_header() {
        let (a, b) = (entry("I8", "[2]", 0, 2), entry("U8", "[0]", 2, 2));
        let metadata = r#""__metadata__":{"z":"1","a":"2"}"#;
        let at = |json: String| keys(&file(&json, 2)).iter().position(|(key, _)| key == "__metadata__.a");
        assert_eq!(at(format!(r#"{{{metadata},"a":{a},"b":{b}}}"#)), Some(0));
        assert_eq!(at(format!(r#"{{"a":{a},{metadata},"b":{b}}}"#)), Some(1));
        assert_eq!(at(format!(r#"{{"a":{a},"b":{b},{metadata}}}"#)), Some(2));
        assert_eq!(at(format!(r#"{{"a":{a},"b":{b},"__metadata__":null}}"#)), None);
        assert_eq!(keys(&file(r#"{"__metadata__":{}}"#, 0)), pairs(&[("__metadata__", "{}")]));
    }

    /// The error about a file.
    fn error(file: &Origin) -> String {
        read(file).unwrap_err().to_string()
    }

    #[test]
    fn errors_of_a_header_have_their_position() {
        let raw = |length: u64, json: &[u8]| Origin::Bytes([&length.to_le_bytes()[..], json].concat().into());
        let prefix = "not a .safetensors file: its ";
        let a = entry("U8", "[1]", 0, 1);
        for (file, message) in [
            (raw(1000, b"{}"), "first 8 bytes state a header of 1000 bytes, the file has 10"),
            (raw(u64::MAX, b"{}"), "first 8 bytes state a header of 18446744073709551615 bytes, the file has 10"),
            (raw(4, b"{\"\xff\""), "header is not UTF-8 at byte 10"),
            (raw(2, b" {"), "header begins with ' ' at byte 8, expected '{'"),
            (raw(2, b"{\""), "header is not JSON at byte 9: EOF while parsing a string"),
            (raw(3, b"{}x"), "header is not JSON at byte 10: trailing characters"),
            (raw(5, b"{\n\n!}"), "header is not JSON at byte 11: key must be a string"),
            (
                file(r#"{"a":{"dtype":"F32","shape":[]}}"#, 4),
                "header has an error at byte 38: missing field `data_offsets`",
            ),
            (file(&format!(r#"{{"a":{a},"a":{a}}}"#), 1), "header has an error at byte 63: duplicate key `a`"),
            (
                file(r#"{"__metadata__":{},"__metadata__":{}}"#, 0),
                "header has an error at byte 40: duplicate key `__metadata__`",
            ),
            (
                file(r#"{"__metadata__":{"a":1}}"#, 0),
                "header has an error at byte 29: invalid type: integer `1`, expected a string",
            ),
        ] {
            assert_eq!(error(&file), format!("{prefix}{message}"));
        }
        let short = "not a .safetensors file: it has 3 bytes, expected 8 with the length of the header";
        assert_eq!(error(&Origin::Bytes([0; 3].into())), short);
        let quoted = format!(r#"{{"a":{}}}"#, entry(&"F".repeat(1 << 20), "[]", 0, 4));
        assert!(error(&file(&quoted, 4)).len() < 300);
    }

    #[test]
    fn the_data_are_exactly_those_of_the_tensors() {
        let of = |tensors: &[&str], data: usize| {
            let named = tensors.iter().zip(["a", "b", "c"]).map(|(info, name)| format!(r#""{name}":{info}"#));
            error(&file(&format!("{{{}}}", named.collect::<Vec<_>>().join(",")), data))
        };
        let entry = |start, end| entry("U8", "[2]", start, end);
        for (found, message) in [
            (of(&[&entry(0, 2)], 1), "tensor `a` ends at byte 2 of the data, of which the file has 1"),
            (of(&[&entry(0, 2)], 3), "the file has 3 bytes after its header, of which the last 1 belong to no tensor"),
            (of(&[], 3), "the file has 3 bytes after its header, of which the last 3 belong to no tensor"),
            (
                of(&[&entry(3, 5), &entry(0, 2)], 5),
                "tensor `a` begins at byte 3 of the data, but no tensor has the bytes from 2",
            ),
            (
                of(&[&entry(1, 3), &entry(0, 2)], 3),
                "tensor `a` begins at byte 1 of the data, inside of tensor `b`, which ends at 2",
            ),
            (of(&[&entry(2, 0)], 2), "tensor `a` has data_offsets [2,0], whose end is before the start"),
            (of(&[&entry(0, 3)], 3), "tensor `a` has 3 bytes by its data_offsets, 2 by its type and shape"),
        ] {
            assert_eq!(found, message);
        }
        let huge = r#"{"a":{"dtype":"U8","shape":[4294967296,4294967296],"data_offsets":[0,0]}}"#;
        assert!(error(&file(huge, 0)).contains("overflows"));
    }

    /// The reference implementation reads the same files.
    #[test]
    fn the_crate_safetensors_accepts_the_same_files() {
        let a = entry("U8", "[1]", 0, 1);
        let json = [
            "{}".to_owned(),
            "{} ".into(),
            "[]".into(),
            format!(r#"{{"a":{a}}}"#),
            format!(r#"{{"a":{a},"b":{}}}"#, entry("F4", "[2]", 1, 2)),
            format!(r#"{{"a":{a},"b":{}}}"#, entry("F4", "[3]", 1, 2)),
            format!(r#"{{"a":{a},"b":{}}}"#, entry("U8", "[0]", 0, 0)),
            format!(r#"{{"a":{a},"b":{}}}"#, entry("U8", "[1]", 0, 1)),
            format!(r#"{{"a":{a},"__metadata__":null}}"#),
            format!(r#"{{"a":{a},"__metadata__":{{"a":null}}}}"#),
            r#"{"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1],"more":[{}]}}"#.into(),
            r#"{"a":{"dtype":"U8","shape":[-1],"data_offsets":[0,1]}}"#.into(),
            r#"{"a":{"dtype":"U8","dtype":"U8","shape":[1],"data_offsets":[0,1]}}"#.into(),
        ];
        for (json, data) in json.iter().flat_map(|json| (0..3).map(move |data| (json, data))) {
            let file = file(json, data);
            let bytes = file.range(0, file.len().unwrap()).unwrap();
            let theirs = safetensors::SafeTensors::deserialize(&bytes);
            assert_eq!(header(&file).is_ok(), theirs.is_ok(), "{json} and {data} bytes: {theirs:?}");
        }
    }

    #[test]
    fn bytes_count_from_the_end_of_the_json() {
        let json = format!(r#"{{"a":{}}}"#, entry("U8", "[3]", 0, 3));
        assert_eq!(header(&file(&json, 3)).unwrap().data_start, 8 + json.len() as u64);
        assert_eq!(read(&file(&json, 3)).unwrap().blobs[0].to_vec().unwrap(), [7, 7, 7]);
    }

    #[test]
    fn a_header_beyond_its_largest_size_is_not_read() {
        let size = MAX_HEADER + 1;
        assert!(header(&Origin::Bytes(size.to_le_bytes().to_vec().into())).is_err());
    }

    #[test]
    fn a_type_or_size_that_no_program_has_and_other_bytes_than_the_sizes_give_are_errors() {
        let of = |dtype: &str, shape: &str, end: u64| {
            read(&file(&format!(r#"{{"a":{}}}"#, entry(dtype, shape, 0, end)), end as usize))
        };
        assert!(of("I16", "[2]", 4).is_ok());
        assert!(of("I16", "[2]", 5).is_err());
        assert!(of("F8_E8M0", "[2]", 2).is_err());
        assert!(of("I8", "[0,4294967296]", 0).is_err());
        let ones = |rank| format!("[{}]", vec!["1"; rank].join(","));
        assert!(of("I8", &ones(MAX_DIMENSIONS), 1).is_ok());
        let error = of("I8", &ones(17), 1).unwrap_err().to_string();
        assert_eq!(error, "tensor `a` has 17 dimensions, the runtime supports 16 at most");
    }
}
