//! The layout of a file as text, and what of a file that is written anew is not as it was.

use std::fmt::Write as _;
use std::io::{self, Write};

use crate::Assembly;
use crate::emitter::File;
use crate::layout::{Header, Options};
use crate::reader::{Origin, flat_tensor};

/// The lines of `layout:`, if any are needed.
pub fn print(o: &Options, out: &mut String) {
    let default = Options::default();
    let mut lines = String::new();
    let mut number = |name: &str, value: u64, default: u64| {
        if value != default {
            let _ = writeln!(lines, "  {name}: {value}");
        }
    };
    number("segment_alignment", o.segment_alignment, default.segment_alignment);
    number("tensor_alignment", o.tensor_alignment, default.tensor_alignment);
    number("delegate_alignment", o.delegate_alignment, default.delegate_alignment);
    number("base_alignment", o.base_alignment.unwrap_or(0), 0);
    let mut word = |name: &str, value: &str, different: bool| {
        if different {
            let _ = writeln!(lines, "  {name}: {value}");
        }
    };
    word("builder", "flatc", o.builder != default.builder);
    word("ptd_builder", "exir", o.ptd_builder != default.ptd_builder);
    word("constants", "inline", o.constants != default.constants);
    word("delegates", "inline", o.delegates != default.delegates);
    match o.header {
        Header::Auto => {}
        Header::None => word("header", "none", true),
        Header::Length(length) => word("header", &length.to_string(), true),
    }
    if !lines.is_empty() {
        out.push_str("layout:\n");
        out.push_str(&lines);
    }
}

/// What of a program that is written anew is not as in the file, if anything is.
///
/// # Errors
/// A file that cannot be read.
pub fn difference(
    origin: &Origin,
    metadata: &[u8],
    segments: &[(u64, u64)],
    file: &File<'_>,
) -> io::Result<Option<String>> {
    let mut compared = Compared { expected: metadata, at: 0, same: true };
    file.write_flatbuffer(&mut compared)?;
    if !compared.same || compared.at < metadata.len() {
        return Ok(Some(format!("the program differs from byte {:#x} on", compared.at)));
    }
    let length = origin.len()?;
    if length != file.placement.file_size {
        return Ok(Some(format!("the file has {length} bytes, the text makes {}", file.placement.file_size)));
    }
    if !file.segments.iter().map(|segment| (segment.offset, segment.size)).eq(segments.iter().copied()) {
        return Ok(Some("the segments lie elsewhere".into()));
    }
    // Data are taken from the file itself or were compared when they were written out; what is between them is not.
    let mut covered: Vec<(u64, u64)> = vec![(0, metadata.len() as u64)];
    for segment in file.segments {
        for piece in &segment.pieces {
            let start = file.placement.segment_base_offset + segment.offset + piece.offset;
            let blob = &file.blobs[piece.blob.0 as usize];
            covered.push((start, start + blob.len));
            if !origin.is_range(blob, start) && blob.to_vec()? != origin.range(start, blob.len)? {
                return Ok(Some(format!("the data at byte {start:#x} differ")));
            }
        }
    }
    covered.sort_unstable();
    let mut end = 0;
    for (start, stop) in covered {
        if start > end && origin.range(end, start - end)?.iter().any(|byte| *byte != 0) {
            return Ok(Some(format!("the padding from byte {end:#x} on is not zero")));
        }
        end = end.max(stop);
    }
    if end < length && origin.range(end, length - end)?.iter().any(|byte| *byte != 0) {
        return Ok(Some(format!("there are bytes from {end:#x} on that belong to nothing")));
    }
    Ok(None)
}

/// Compares what is written with what is expected, as far as it is the same.
struct Compared<'e> {
    expected: &'e [u8],
    /// So many bytes are the same.
    at: usize,
    same: bool,
}

impl Write for Compared<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let expected = &self.expected[self.at..];
        if self.same && !expected.starts_with(bytes) {
            self.at += bytes.iter().zip(expected).take_while(|(made, wanted)| made == wanted).count();
            self.same = false;
        } else if self.same {
            self.at += bytes.len();
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// What of an assembled `.ptd` is not as in the file, if anything is.
///
/// # Errors
/// A file that cannot be read.
pub fn flat_tensor_difference(origin: &Origin, assembly: &Assembly) -> io::Result<Option<String>> {
    let frame = flat_tensor::frame(origin)?;
    match assembly.data_files().next() {
        Some((_, file)) => difference(origin, &origin.head(frame.metadata)?, &frame.segments, &file),
        None => Ok(Some("it has no keys".into())),
    }
}
