//! Data as text: small ones as numbers or hex, large ones as a range of the file they are in, or in files of their own.

use std::collections::HashSet;
use std::io;
use std::path::PathBuf;

use super::yaml;
use crate::data::number;
use crate::data::{Blob, Source};
use crate::program::{Tensor, contiguous};

/// What becomes of data that are too large to be read with pleasure.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LargeData {
    /// They are written out all the same.
    Inline,
    /// The text refers to the range of the file.
    Refer,
    /// They are written to files in this folder.
    Extract(PathBuf),
}

/// Up to so many bytes data are written out.
const SMALL: u64 = 256;

/// Prints data.
pub struct DataPrinter<'d> {
    large: &'d LargeData,
    /// How the text calls the file.
    file: &'d str,
    taken: HashSet<String>,
}

impl<'d> DataPrinter<'d> {
    /// Prints data of a file that the text calls `file`.
    pub fn new(large: &'d LargeData, file: &'d str) -> DataPrinter<'d> {
        DataPrinter { large, file, taken: HashSet::new() }
    }

    /// The data of a tensor called `name`.
    ///
    /// # Errors
    /// Data that cannot be read, or a file that cannot be written.
    pub fn tensor(&mut self, blob: &Blob, tensor: &Tensor, name: &str) -> io::Result<String> {
        if blob.len <= SMALL || *self.large == LargeData::Inline {
            let bytes = blob.to_vec()?;
            return Ok(match numbers(&bytes, tensor) {
                Some(numbers) if blob.copy == 0 => numbers,
                _ => source(&hex(&bytes), blob),
            });
        }
        self.bytes(blob, name)
    }

    /// Bytes for something called `name`.
    ///
    /// # Errors
    /// Data that cannot be read, or a file that cannot be written.
    pub fn bytes(&mut self, blob: &Blob, name: &str) -> io::Result<String> {
        match (self.large, &blob.source) {
            (LargeData::Refer, Source::File { offset, .. }) if blob.len > SMALL => {
                let range = format!("file: {}, offset: {offset}, size: {}", yaml::text(self.file), blob.len);
                Ok(source(&range, blob))
            }
            (LargeData::Extract(folder), _) if blob.len > SMALL => {
                let path = folder.join(self.file_name(name));
                let mut file = std::fs::File::create(&path)?;
                blob.copy_to(&mut file)?;
                Ok(source(&format!("file: {}", yaml::text(&path.display().to_string())), blob))
            }
            _ => Ok(source(&hex(&blob.to_vec()?), blob)),
        }
    }

    /// A name for a file: no folders, nothing that a file system takes amiss, and none twice.
    fn file_name(&mut self, name: &str) -> String {
        let safe: String =
            name.chars().map(|c| if c.is_ascii_alphanumeric() || "._-".contains(c) { c } else { '_' }).collect();
        let safe = safe.trim_start_matches('.');
        let mut unique = format!("{safe}.bin");
        let mut number = 0;
        while !self.taken.insert(unique.clone()) {
            number += 1;
            unique = format!("{safe}_{number}.bin");
        }
        unique
    }
}

fn hex(bytes: &[u8]) -> String {
    format!("hex: \"{}\"", data_encoding::HEXLOWER.encode(bytes))
}

/// Data from a source, and which copy of equal data they are.
fn source(fields: &str, blob: &Blob) -> String {
    match blob.copy {
        0 => format!("{{{fields}}}"),
        copy => format!("{{{fields}, copy: {copy}}}"),
    }
}

/// The elements as numbers, nested as the sizes; `None` if they would not give the same bytes (not-a-number with a
/// payload), or lie in another order than they are written in.
fn numbers(bytes: &[u8], tensor: &Tensor) -> Option<String> {
    let sizes = tensor.sizes.as_deref()?;
    let info = tensor.scalar_type.info()?;
    if *tensor.dim_order.as_deref()? != *contiguous(sizes.len()) || bytes.is_empty() {
        return None;
    }
    let single = info.name != "float64" && info.name != "complex128";
    let mut items = Vec::with_capacity(bytes.len() / info.size as usize);
    for element in bytes.chunks_exact(info.size as usize) {
        let value = number::decode(tensor.scalar_type, element)?;
        let text = number::element(value, single);
        // What is read back must be what is here, to the last bit.
        let read = number::number_of(&text)?;
        let mut back = Vec::with_capacity(element.len());
        number::encode(tensor.scalar_type, read, &mut back).ok()?;
        if back != element {
            return None;
        }
        items.push(text);
    }
    let mut rows: Vec<String> = items;
    for size in sizes.iter().skip(1).rev() {
        let size = usize::try_from(*size).ok().filter(|size| *size > 0)?;
        rows = rows.chunks(size).map(bracketed).collect();
    }
    match sizes.is_empty() {
        true => rows.pop(),
        false => Some(bracketed(&rows)),
    }
}

fn bracketed(items: &[String]) -> String {
    let mut out = String::new();
    yaml::list(&mut out, items, |item, out| out.push_str(item));
    out
}
