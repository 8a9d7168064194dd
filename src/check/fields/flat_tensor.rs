//! A `.ptd`: its keys, and whether each has the bytes that its layout promises (`N-`).

use std::collections::HashMap;

use super::super::header::Frame;
use super::super::path::Reporter;
use crate::format::flatbuffer::verify::Report;
use crate::format::path::Trail;
use super::{Names, listed};
use crate::data::{Blob, BlobId};
use super::super::finding::shown;
use crate::format::ScalarType;
use crate::format::container::{FLAT_TENSOR_HEADER, SEGMENT_BASE_OFFSET};
use crate::format::flat_tensor::{flat_tensor, named_data, tensor_layout};
use crate::format::program::data_segment;
use crate::format::flatbuffer::view::Table;
use crate::program::{EValue, Program, TensorData, is_dim_order, nbytes};
use crate::reader::program::Ranges;

/// The data behind a key.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// Which of the given files it is in.
    pub file: usize,
    /// Bytes of its segment.
    pub size: u64,
    /// Its segment, if that is inside the file.
    pub data: Option<Blob>,
    /// How they are to be understood, if they are a tensor: element type, sizes, dim order.
    pub layout: Option<(ScalarType, Vec<i32>, Vec<u8>)>,
}

/// The data of all `.ptd` files that are given with a program, by key.
#[derive(Debug, Default)]
pub struct External {
    /// What the files are called; none were given if there is none.
    pub files: Vec<String>,
    /// The keys.
    pub entries: HashMap<Vec<u8>, Entry>,
}

impl External {
    /// Gives the tensors of a program the data that are here: what they are like was judged before.
    pub fn put_into(&self, program: &mut Program) {
        let Program { execution_plan, blobs, .. } = program;
        for value in execution_plan.iter_mut().flatten().flat_map(|plan| plan.values.iter_mut().flatten()) {
            let EValue::Tensor(tensor) = value else { continue };
            let Some(extra) = tensor.extra_tensor_info.as_ref().filter(|extra| extra.location == 1) else { continue };
            let entry = extra.fully_qualified_name.as_ref().and_then(|key| self.entries.get(key.as_bytes()));
            let Some(data) = entry.and_then(|entry| entry.data.clone()) else { continue };
            if let (Ok(id), true) = (u32::try_from(blobs.len()), tensor.nbytes() == Some(data.len)) {
                tensor.data = TensorData::Blob(BlobId(id));
                blobs.push(data);
            }
        }
    }
}

/// Looks at a `.ptd`.
pub fn check(bytes: &[u8], frame: &Frame, report: &mut Reporter<'_, '_>) {
    let Some(root) = Table::root(bytes) else { return };
    let path = &Trail::ROOT;
    let version = root.u32(flat_tensor::version);
    if version != 0 {
        let at = root.near(flat_tensor::version);
        report.add("G-6", &path.field("version"), at, format_args!("{version}"), format_args!("0"));
    }
    let (segments, named) = (root.tables(flat_tensor::segments), root.tables(flat_tensor::named_data));
    for (list, name) in [(segments, "segments"), (named, "named_data")] {
        if list.is_none() {
            report.add("H-27", &path.field(name), root.at, format_args!("nothing"), format_args!("a list"));
        }
    }
    let (Some(segments), Some(named)) = (segments, named) else { return };
    super::segments::check(segments, frame, &path.field("segments"), report);
    if named.len() == 0 {
        let at = root.near(flat_tensor::named_data);
        report.add("N-30", &path.field("named_data"), at, format_args!("no keys"), format_args!("one at least"));
    }
    let mut names = Names::new();
    let list = path.field("named_data");
    for (index, entry) in named.iter().enumerate() {
        let path = list.item(index);
        match entry.text(named_data::key) {
            None => report.add("N-11", &path.field("key"), entry.at, format_args!("no key"), format_args!("one")),
            Some(key) => {
                if let Some(first) = names.insert(key, index) {
                    let found = format_args!("{:?}, which entry {first} has, too", shown(&entry, named_data::key));
                    report.add(
                        "N-2",
                        &path.field("key"),
                        entry.near(named_data::key),
                        found,
                        format_args!("another key"),
                    );
                }
            }
        }
        let number = entry.u32(named_data::segment_index);
        let segment = segments.get(number as usize);
        if segment.is_none() {
            let at = entry.near(named_data::segment_index);
            let expected = format_args!("one of {} segments", segments.len());
            report.add("N-12", &path.field("segment_index"), at, format_args!("segment {number}"), expected);
        }
        if let Some(layout) = entry.child(named_data::tensor_layout) {
            let path = path.field("tensor_layout");
            check_layout(layout, segment.map(|segment| segment.u64(data_segment::size)), &path, report);
        }
    }
}

fn check_layout(t: Table<'_>, size: Option<u64>, path: &Trail<'_>, report: &mut Reporter<'_, '_>) {
    let scalar_type = ScalarType(t.i8(tensor_layout::scalar_type));
    if scalar_type.info().is_none() {
        let at = t.near(tensor_layout::scalar_type);
        report.add("N-16", &path.field("scalar_type"), at, format_args!("{scalar_type}"), format_args!("0 to 29"));
    }
    let (Some(sizes), Some(order)) = (t.i32s(tensor_layout::sizes), t.u8s(tensor_layout::dim_order)) else {
        let found = format_args!("a layout without sizes or dim_order");
        return report.add("N-18", path, t.at, found, format_args!("both, empty for a tensor without dimensions"));
    };
    if sizes.len() > 16 || !is_dim_order(order.iter(), sizes.len()) {
        let found = format_args!("{} for {} dimensions", listed(order.iter()), sizes.len());
        let expected = format_args!("each dimension once, and 16 at most");
        report.add("N-18", &path.field("dim_order"), order.at, found, expected);
    }
    let numbers: Vec<i32> = sizes.iter().collect();
    let bytes = nbytes(scalar_type, &numbers).filter(|bytes| i64::try_from(*bytes).is_ok());
    match bytes {
        None if scalar_type.info().is_some() => {
            let found = format_args!("{} of type {scalar_type}", listed(sizes.iter()));
            report.add(
                "N-17",
                &path.field("sizes"),
                sizes.at,
                found,
                format_args!("from 0 up, and less than 2^63 bytes"),
            );
        }
        Some(bytes) if size.is_some_and(|size| size < bytes) => {
            let found = format_args!("{} bytes in the segment", size.unwrap_or(0));
            report.add("N-19", path, t.at, found, format_args!("{bytes}, as the layout says"));
        }
        _ => {}
    }
}

/// Adds the keys of a `.ptd` whose structure holds; what two files both have is left to the caller to report.
pub fn collect(bytes: &[u8], name: &str, data: &Ranges<'_>, external: &mut External) -> Vec<(Vec<u8>, usize)> {
    let file = external.files.len();
    external.files.push(name.to_owned());
    let mut twice = Vec::new();
    let Some(root) = Table::root(bytes) else { return twice };
    let base = FLAT_TENSOR_HEADER.get(bytes, SEGMENT_BASE_OFFSET).unwrap_or(0);
    let segments = root.tables(flat_tensor::segments);
    let named = root.tables(flat_tensor::named_data);
    for entry in named.iter().flat_map(|named| named.iter()) {
        let Some(key) = entry.text(named_data::key) else { continue };
        let segment = segments.and_then(|segments| segments.get(entry.u32(named_data::segment_index) as usize));
        let layout = entry.child(named_data::tensor_layout).map(|t| {
            let sizes = t.i32s(tensor_layout::sizes).map_or(Vec::new(), |sizes| sizes.iter().collect());
            let order = t.u8s(tensor_layout::dim_order).map_or(Vec::new(), |order| order.iter().collect());
            (ScalarType(t.i8(tensor_layout::scalar_type)), sizes, order)
        });
        let size = segment.map_or(0, |segment| segment.u64(data_segment::size));
        match external.entries.get(key) {
            Some(other) if other.file != file => twice.push((key.to_owned(), other.file)),
            Some(_) => {}
            None => {
                let place = segment.and_then(|segment| base.checked_add(segment.u64(data_segment::offset)));
                let data = place.and_then(|place| data(place, size));
                external.entries.insert(key.to_owned(), Entry { file, size, data, layout });
            }
        }
    }
    twice
}
