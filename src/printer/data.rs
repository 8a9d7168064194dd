//! Prints data: small ones as numbers or hex, large ones as a range of the input file, or in other files.

use std::cell::RefCell;
use std::io;

use super::extracted::ExtractedFiles;
use super::options::{LargeData, PrintOptions, Printer};
use super::yaml;
use crate::data::number;
use crate::data::{Blob, BlobSource};
use crate::program::{Tensor, contiguous};

/// Maximum size in bytes of data that are always written in the YAML.
const SMALL: u64 = 256;

/// Printer of data.
pub struct DataPrinter<'d> {
    options: &'d PrintOptions,
    extracted: &'d RefCell<ExtractedFiles>,
}

impl<'d> DataPrinter<'d> {
    /// Creates a printer of data.
    pub fn new(printer: Printer<'d>) -> DataPrinter<'d> {
        DataPrinter { options: printer.options, extracted: printer.extracted }
    }

    /// Returns the data of a tensor in YAML. `name` is the base of the name of an extracted file.
    ///
    /// # Errors
    /// Data that cannot be read.
    pub fn tensor(&mut self, blob: &Blob, tensor: &Tensor, name: &str) -> io::Result<String> {
        if blob.len <= SMALL || self.options.large_data == LargeData::Inline {
            let bytes = blob.to_vec()?;
            return Ok(match numbers(&bytes, tensor) {
                Some(numbers) if blob.copy == 0 => numbers,
                _ => source(&hex(&bytes), blob),
            });
        }
        self.bytes(blob, name)
    }

    /// Returns bytes in YAML. `name` is the base of the name of an extracted file.
    ///
    /// # Errors
    /// Data that cannot be read.
    pub fn bytes(&mut self, blob: &Blob, name: &str) -> io::Result<String> {
        match (&self.options.large_data, &blob.source) {
            (LargeData::Refer, BlobSource::File { offset, .. }) if blob.len > SMALL => {
                let range = format!("file: {}, offset: {offset}, size: {}", yaml::text(&self.options.file), blob.len);
                Ok(source(&range, blob))
            }
            (LargeData::Extract(folder), _) if blob.len > SMALL => {
                let path = self.extracted.borrow_mut().add(folder, name, blob);
                Ok(source(&format!("file: {}", yaml::text(&path)), blob))
            }
            _ => Ok(source(&hex(&blob.to_vec()?), blob)),
        }
    }
}

fn hex(bytes: &[u8]) -> String {
    format!("hex: \"{}\"", data_encoding::HEXLOWER.encode(bytes))
}

/// Returns a map of the fields, with the copy number of the data.
fn source(fields: &str, blob: &Blob) -> String {
    match blob.copy {
        0 => format!("{{{fields}}}"),
        copy => format!("{{{fields}, copy: {copy}}}"),
    }
}

/// Returns the elements as nested lists of numbers; `None` if the numbers would not reproduce the bytes (NaN with a payload), or the
/// dimensions are not in the default order.
fn numbers(bytes: &[u8], tensor: &Tensor) -> Option<String> {
    let sizes = tensor.sizes.as_deref()?;
    let info = tensor.scalar_type.info()?;
    if *tensor.dim_order.as_deref()? != *contiguous(sizes.len()) || bytes.is_empty() {
        return None;
    }
    let mut items = Vec::with_capacity(bytes.len() / info.size as usize);
    for element in bytes.chunks_exact(info.size as usize) {
        let value = number::decode(tensor.scalar_type, element)?;
        let text = number::element(value, info.encoding);
        // The number must reproduce the element exactly.
        let read = number::number_of(&text)?;
        let mut encoded = Vec::with_capacity(element.len());
        number::encode(tensor.scalar_type, read, &mut encoded).ok()?;
        if encoded != element {
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
