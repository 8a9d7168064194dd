//! Emits weights as a `.safetensors`: a JSON header, followed by the contiguous data of the tensors. Unlike the other
//! formats, it needs no plan.

use std::io;

use indexmap::{IndexMap, IndexSet};
use safetensors::tensor::TensorInfo;
use serde::de::DeserializeOwned;

use super::ByteSink;
use crate::data::Blob;
use crate::diagnostics::clipped;
use crate::format::safetensors::{HEADER_ORDER, MAX_HEADER, METADATA, PREAMBLE, SafetensorsMetadata, TYPES, is_key_of};
use crate::program::{DimOrder, ExternalData, Program, TensorLayout, nbytes};

/// A `.safetensors` ready to be written: the result of [`Assembly::safetensors`](crate::Assembly::safetensors).
#[derive(Debug)]
pub struct Safetensors {
    header: Vec<u8>,
    data: Vec<Blob>,
}

/// An entry of a header.
enum HeaderEntry {
    Metadata(SafetensorsMetadata),
    Tensor(TensorInfo),
}

/// Emits the weights of a program without methods, in their order. Tensors that are not contiguous are converted,
/// because the format only has contiguous ones. Blobs with [`METADATA`] and [`HEADER_ORDER`] are read.
///
/// # Errors
/// Another blob is not a tensor, the format does not have an element type, or metadata contradict each other.
pub fn emit(program: &Program) -> io::Result<Safetensors> {
    let mut entries: IndexMap<String, HeaderEntry> = IndexMap::with_capacity(program.external_data.len());
    let (mut order, mut data, mut end): (IndexSet<String>, _, _) = (IndexSet::new(), Vec::new(), 0u64);
    for entry in &program.external_data {
        let key = &*entry.key;
        let Some(layout) = &entry.tensor_layout else {
            if is_key_of(METADATA, key) {
                let found: SafetensorsMetadata = json(program, entry, "an object of strings")?;
                let known = entries.entry(METADATA.to_owned());
                let HeaderEntry::Metadata(known) = known.or_insert(HeaderEntry::Metadata(Default::default())) else {
                    return Err(wrong(key, "is a second metadata"));
                };
                if let Some((name, _)) = known.merge(&found).first() {
                    let what = format!("has another `{}` than the {METADATA} before it", clipped(name));
                    return Err(wrong(key, &what));
                }
            } else if is_key_of(HEADER_ORDER, key) {
                order.extend(json::<Vec<String>>(program, entry, "a list of strings")?);
            } else {
                return Err(wrong(key, "is not a tensor"));
            }
            continue;
        };
        let (dtype, blob) = tensor(program, entry, layout)?;
        let start = end;
        end = start.checked_add(blob.len).ok_or_else(|| io::Error::other("the size of the tensors exceeds 64 bits"))?;
        let shape = layout.sizes.iter().map(|size| usize::try_from(*size)).collect::<Result<_, _>>();
        let (Ok(shape), Ok(first), Ok(behind)) = (shape, usize::try_from(start), usize::try_from(end)) else {
            return Err(wrong(key, "has invalid sizes"));
        };
        let info = HeaderEntry::Tensor(TensorInfo { dtype, shape, data_offsets: (first, behind) });
        if key == METADATA || entries.insert(key.to_owned(), info).is_some() {
            return Err(wrong(key, "is a duplicate or reserved key"));
        }
        data.push(blob);
    }
    if !order.is_empty() {
        // A part of a file has a part of the names. Entries that are not listed are the last ones.
        entries.sort_by_cached_key(|name, _| order.get_index_of(name).unwrap_or(usize::MAX));
    }
    Ok(Safetensors { header: header(&entries)?, data })
}

fn wrong(key: &str, what: &str) -> io::Error {
    io::Error::other(format!("`{key}` {what}; a .safetensors does not support this"))
}

/// The element type and the contiguous data of a tensor.
fn tensor(program: &Program, entry: &ExternalData, layout: &TensorLayout) -> io::Result<(safetensors::Dtype, Blob)> {
    let name = layout.scalar_type.info().map(|info| info.name);
    let Some((dtype, _)) = TYPES.iter().find(|(_, known)| Some(*known) == name) else {
        return Err(wrong(&entry.key, &format!("is of type {}", layout.scalar_type)));
    };
    if !layout.dim_order.is_permutation(layout.sizes.len()) {
        return Err(wrong(&entry.key, "has an invalid dim_order"));
    }
    if nbytes(layout.scalar_type, &layout.sizes) != Some(program.blob(entry.data).len) {
        return Err(wrong(&entry.key, "has data that do not match its sizes"));
    }
    let element = layout.scalar_type.info().map_or(1, |info| info.size);
    let order = DimOrder::contiguous(layout.sizes.len());
    let blob = program.blob(entry.data).clone();
    Ok((*dtype, blob.reordered(element, &layout.sizes, &layout.dim_order, &order)))
}

/// Reads a blob of JSON.
fn json<T: DeserializeOwned>(program: &Program, entry: &ExternalData, expected: &str) -> io::Result<T> {
    let blob = program.blob(entry.data);
    if blob.len > MAX_HEADER {
        return Err(wrong(&entry.key, &format!("has {} bytes", blob.len)));
    }
    serde_json::from_slice(&blob.to_vec()?)
        .map_err(|error| wrong(&entry.key, &format!("is not JSON of {expected} ({})", clipped(&error.to_string()))))
}

/// The JSON of a header, as the reference implementation writes it.
fn header(entries: &IndexMap<String, HeaderEntry>) -> io::Result<Vec<u8>> {
    let mut json = vec![b'{'];
    for (name, entry) in entries {
        if json.len() > 1 {
            json.push(b',');
        }
        serde_json::to_writer(&mut json, name)?;
        json.push(b':');
        match entry {
            HeaderEntry::Metadata(metadata) => serde_json::to_writer(&mut json, metadata)?,
            HeaderEntry::Tensor(info) => serde_json::to_writer(&mut json, info)?,
        }
    }
    json.push(b'}');
    // The data begin at a multiple of 8.
    json.resize(json.len().next_multiple_of(8), b' ');
    if json.len() as u64 > MAX_HEADER {
        return Err(io::Error::other(format!(
            "the header of the .safetensors has {} bytes, more than the maximum of {MAX_HEADER}",
            json.len()
        )));
    }
    Ok(json)
}

impl Safetensors {
    /// Returns the size of the file in bytes.
    pub fn size(&self) -> u64 {
        self.data.iter().fold(PREAMBLE + self.header.len() as u64, |sum, blob| sum.saturating_add(blob.len))
    }

    /// Writes the file.
    ///
    /// # Errors
    /// Errors of `out`, and data that cannot be read.
    pub fn write(&self, out: &mut dyn io::Write) -> io::Result<()> {
        self.write_to(&mut super::WriterSink(out))
    }

    /// Writes the file to a destination that may copy blobs itself, such as [`OutputSink`](crate::OutputSink).
    ///
    /// # Errors
    /// Errors of `out`, and data that cannot be read.
    pub fn write_to(&self, out: &mut dyn ByteSink) -> io::Result<()> {
        out.write_all(&(self.header.len() as u64).to_le_bytes())?;
        out.write_all(&self.header)?;
        self.data.iter().try_for_each(|blob| out.blob(blob))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::resolve::tests::assembled;

    /// The header of the `.safetensors` of YAML, without its padding, or the error.
    fn emitted(yaml: &str) -> Result<String, String> {
        let emitted = emit(&assembled(yaml).program).map_err(|error| error.to_string())?;
        assert!(emitted.header.len().is_multiple_of(8));
        Ok(String::from_utf8(emitted.header).unwrap().trim_end().to_owned())
    }

    const TENSORS: &str = "  b: {tensor: uint8, data: [1, 2]}\n  a: {tensor: float32, data: 0}\n";

    #[test]
    fn the_header_has_the_order_of_the_keys() {
        let b = r#""b":{"dtype":"U8","shape":[2],"data_offsets":[0,2]}"#;
        let a = r#""a":{"dtype":"F32","shape":[],"data_offsets":[2,6]}"#;
        assert_eq!(emitted(&format!("named_data:\n{TENSORS}")).unwrap(), format!("{{{b},{a}}}"));
        let metadata = "  __metadata__: {text: '{\"z\": \"1\", \"y\": \"\"}'}\n";
        let json = r#""__metadata__":{"z":"1","y":""}"#;
        assert_eq!(emitted(&format!("named_data:\n{metadata}{TENSORS}")).unwrap(), format!("{{{json},{b},{a}}}"));
        assert_eq!(emitted(&format!("named_data:\n{TENSORS}{metadata}")).unwrap(), format!("{{{b},{a},{json}}}"));
        let order = "  __header__.b: {text: '[\"a\", \"__metadata__\", \"b\"]'}\n";
        assert_eq!(
            emitted(&format!("named_data:\n{order}{metadata}{TENSORS}")).unwrap(),
            format!("{{{a},{json},{b}}}")
        );
    }

    #[test]
    fn an_order_may_have_other_names_than_the_file() {
        let b = r#""b":{"dtype":"U8","shape":[2],"data_offsets":[0,2]}"#;
        let a = r#""a":{"dtype":"F32","shape":[],"data_offsets":[2,6]}"#;
        for (order, expected) in [
            (r#"["x", "a", "__metadata__"]"#, [a, b]),
            (r#"["a", "a", "b", "a"]"#, [a, b]),
            (r#"["b"]"#, [b, a]),
            ("[]", [b, a]),
        ] {
            let yaml = format!("named_data:\n{TENSORS}  __header__.z: {{text: '{order}'}}\n");
            assert_eq!(emitted(&yaml).unwrap(), format!("{{{}}}", expected.join(",")), "{order}");
        }
    }

    #[test]
    fn metadata_of_several_files_are_merged() {
        let metadata = |key: &str, json: &str| format!("  __metadata__.{key}: {{text: '{json}'}}\n");
        let (a, b) = (metadata("a", r#"{"format":"pt"}"#), metadata("b", r#"{"x":"1","format":"pt"}"#));
        assert_eq!(emitted(&format!("named_data:\n{a}{b}")).unwrap(), r#"{"__metadata__":{"format":"pt","x":"1"}}"#);
        let c = metadata("c", r#"{"format":"tf"}"#);
        let error = emitted(&format!("named_data:\n{a}{c}")).unwrap_err();
        assert!(error.contains("`__metadata__.c` has another `format`"), "{error}");
    }

    #[test]
    fn blobs_that_the_reader_does_not_write_are_errors() {
        for (blob, message) in [
            ("__metadata__: {text: '{\"a\": 1}'}", "`__metadata__` is not JSON of an object of strings"),
            ("__metadata__.x: {fill: 0, size: 100000001}", "`__metadata__.x` has 100000001 bytes"),
            ("__metadata__: {tensor: uint8, data: [1]}", "`__metadata__` is a duplicate or reserved key"),
            ("__header__: {text: '{}'}", "`__header__` is not JSON of a list of strings"),
            ("__metadata: {text: '{}'}", "`__metadata` is not a tensor"),
        ] {
            let error = emitted(&format!("named_data:\n{TENSORS}  {blob}\n")).unwrap_err();
            assert!(error.starts_with(message), "{error}");
        }
    }
}
