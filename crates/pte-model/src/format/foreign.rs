//! Recognises files that are something else than their reader expects, or that were damaged on their way: the cause of
//! most files that cannot be read. It does not validate, and looks only at the first bytes.

use std::fmt;

use serde::Serialize;

use super::Format;
use super::container::{PREAMBLE, SEGMENT_BASE_OFFSET, SEGMENT_DATA_SIZE};

/// Number of leading bytes that [`Diagnosis::of`] looks at.
pub const PROBE: u64 = 1 << 16;

/// What a file is that cannot be read.
///
/// ```
/// use pte_model::format::foreign::Diagnosis;
///
/// let pointer = b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12\n";
/// assert_eq!(
///     Diagnosis::of(pointer, 66).unwrap().to_string(),
///     "this is a pointer of Git LFS: run `git lfs pull`, which downloads the file itself"
/// );
/// let len = pte_model::LINEAR_PTE.len() as u64;
/// assert_eq!(Diagnosis::of(pte_model::LINEAR_PTE, len), None);
/// // A program that is cut is one that is known.
/// assert!(Diagnosis::of(&pte_model::LINEAR_PTE[..200], 200).is_some());
/// assert_eq!(Diagnosis::of_unknown(&pte_model::LINEAR_PTE[..200], 200), None);
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Diagnosis {
    /// What the file is, such as `a pointer of Git LFS`.
    pub found: String,
    /// What to do.
    pub help: &'static str,
}

impl fmt::Display for Diagnosis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "this is {}: {}", self.found, self.help)
    }
}

/// How a file is recognised.
enum Magic {
    /// By bytes at an offset.
    At(usize, &'static [u8]),
    /// By text after white space, in letters of any case.
    Text(&'static str),
    /// A protocol buffer whose first fields are a small version and a name.
    Onnx,
}

use Magic::{At, Onnx, Text};

const EXPORT: &str = "lower the exported program with ExecuTorch (`to_edge_transform_and_lower`, `to_executorch`), and use the .pte that it writes";
const CONVERT: &str = "ExecuTorch does not read it: export the model from PyTorch as a .pte";
const UNPACK: &str = "unpack it first";
const DOWNLOAD: &str = "the download failed or needs a login: download the file itself, not its page";

/// Formats of other programs, by what users confuse with programs and weights.
static FORMATS: &[(Magic, &str, &str)] = &[
    (
        Text("version https://git-lfs.github.com/spec/"),
        "a pointer of Git LFS",
        "run `git lfs pull`, which downloads the file itself",
    ),
    (Text("<!doctype html"), "an HTML page", DOWNLOAD),
    (Text("<html"), "an HTML page", DOWNLOAD),
    (At(0, b"PK\x03\x04"), "a zip archive, such as a .pt2 or .pt of PyTorch", EXPORT),
    (At(0, b"\x80\x02"), "a pickle of Python, such as an old .pt of PyTorch", EXPORT),
    (At(4, b"TFL3"), "a model of TensorFlow Lite", CONVERT),
    (At(0, b"GGUF"), "a GGUF of llama.cpp", CONVERT),
    (Onnx, "a model of ONNX", CONVERT),
    (At(4, b"ED00"), "an ETDump", "`pte-emit profile MODEL.pte FILE.etdump` prints it"),
    (At(0, b"\x93NUMPY"), "an array of NumPy", "refer to it in YAML, as `data: {npy: FILE.npy}`"),
    (At(0, b"\x1f\x8b"), "compressed by gzip", UNPACK),
    (At(0, b"\x28\xb5\x2f\xfd"), "compressed by Zstandard", UNPACK),
    (At(0, b"\xfd7zXZ\0"), "compressed by xz", UNPACK),
    (At(257, b"ustar"), "a tar archive", UNPACK),
    (
        At(0, b"\x7fELF"),
        "an executable or a library of Linux",
        "an application loads the .pte from a file, or links it as data",
    ),
];

/// Returns what a file of another program is, by its first bytes: neither a format of ExecuTorch nor YAML.
pub fn other_format(head: &[u8]) -> Option<Diagnosis> {
    let is = |magic: &Magic| match magic {
        At(offset, bytes) => head.get(*offset..).is_some_and(|rest| rest.starts_with(bytes)),
        Text(text) => {
            let head = head.trim_ascii_start();
            head.get(..text.len()).is_some_and(|start| start.eq_ignore_ascii_case(text.as_bytes()))
        }
        Onnx => matches!(head, [0x08, 1..=30, 0x12, _, name, ..] if name.is_ascii_alphabetic()),
    };
    let (_, found, help) = FORMATS.iter().find(|(magic, ..)| is(magic))?;
    Some(Diagnosis::new(*found, help))
}

impl Diagnosis {
    /// Returns what a binary file of `len` bytes is that cannot be read, by its first bytes, up to [`PROBE`] of them;
    /// `None` if it looks like what it should be.
    pub fn of(head: &[u8], len: u64) -> Option<Diagnosis> {
        match Format::identify_damaged(head, len) {
            _ if len == 0 => Some(Diagnosis::new("an empty file", "write or download it again")),
            None => Diagnosis::of_unknown(head, len),
            Some(_) if has_converted_lines(head) => Some(Diagnosis::new(
                "a file in which every line feed follows a carriage return, as after a conversion of line ends",
                "copy the original in binary mode; in Git, write `*.pte binary` to .gitattributes",
            )),
            Some(format) if header_overlaps(format, head) => Some(Diagnosis::new(
                "a file with an extended header over the bytes of its FlatBuffer, which has no room for one",
                "use the original file; a header is written with the FlatBuffer and cannot be added later",
            )),
            Some(format) => {
                let missing = stated_size(format, head)?.checked_sub(len).filter(|missing| *missing > 0)?;
                let found = format!("a file that is cut: {missing} bytes are missing, by its header");
                Some(Diagnosis::new(found, "copy or download it again"))
            }
        }
    }

    /// Returns what a file of `len` bytes is that has no format of ExecuTorch; `None` if it has one, if it is empty, or
    /// if nothing is known about it.
    pub fn of_unknown(head: &[u8], len: u64) -> Option<Diagnosis> {
        if Format::identify_damaged(head, len).is_some() {
            return None;
        }
        let text = || Diagnosis::new("text", "YAML is assembled by `pte-emit FILE.yaml -o FILE.pte`");
        other_format(head).or_else(|| is_text(head, (head.len() as u64) < len).then(text))
    }

    fn new(found: impl Into<String>, help: &'static str) -> Diagnosis {
        Diagnosis { found: found.into(), help }
    }
}

/// Returns `true` if the root table of the FlatBuffer, or its vtable, begins before the end of the shortest extended
/// header of the file.
fn header_overlaps(format: Format, head: &[u8]) -> bool {
    let Some(header) = format.container().and_then(|container| container.header) else { return false };
    let end = PREAMBLE as u64 + u64::from(header.minimum);
    let word = |at: u64| Some(u32::from_le_bytes(*head.get(usize::try_from(at).ok()?..)?.first_chunk()?));
    let Some(root) = word(0).map(u64::from).filter(|_| header.is_in(head)) else { return false };
    // In a table over which a header was written, this is any number.
    let vtable = word(root).and_then(|offset| root.checked_add_signed(-i64::from(offset as i32)));
    root < end || vtable.is_some_and(|vtable| vtable < end)
}

/// Returns the size in bytes that the header of a file states.
fn stated_size(format: Format, head: &[u8]) -> Option<u64> {
    let header = format.container()?.header.filter(|header| header.is_in(head))?;
    let end = header.get(head, SEGMENT_BASE_OFFSET)?.checked_add(header.get(head, SEGMENT_DATA_SIZE)?)?;
    // A size that is not stated would be the one of the file.
    Some(format.metadata_len(head, u64::MAX)).filter(|len| *len < u64::MAX).map(|len| len.max(end))
}

/// Returns `true` for text: UTF-8 without null bytes, which may be cut inside a character if it is a part of a file.
pub fn is_text(head: &[u8], is_part: bool) -> bool {
    let utf8 = match str::from_utf8(head) {
        Ok(_) => true,
        Err(error) => error.error_len().is_none() && is_part,
    };
    utf8 && !head.is_empty() && !head.contains(&0)
}

/// Returns `true` if several line feeds follow carriage returns, and no other.
fn has_converted_lines(head: &[u8]) -> bool {
    let mut feeds = (0..head.len()).filter(|at| head[*at] == b'\n').peekable();
    let first = feeds.by_ref().take(2).filter(|at| *at > 0 && head[at - 1] == b'\r').count();
    first == 2 && feeds.all(|at| head[at - 1] == b'\r')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(bytes: &[u8]) -> Option<String> {
        Diagnosis::of(bytes, bytes.len() as u64).map(|diagnosis| diagnosis.found)
    }

    #[test]
    fn other_formats_are_recognised() {
        let zeros = [0; 300];
        for (magic, expected, _) in FORMATS {
            let mut file = Vec::new();
            match magic {
                At(offset, bytes) => file.extend([&zeros[..*offset], bytes, &zeros].concat()),
                Onnx => file.extend(b"\x08\x0a\x12\x07pytorch\x1a\x052.8.0"),
                Text(text) => file.extend(format!("\n  {}\n", text.to_uppercase()).bytes()),
            }
            assert_eq!(found(&file).as_deref(), Some(*expected));
        }
        assert_eq!(found(b"hello: 1").as_deref(), Some("text"));
        assert_eq!(found(b"").as_deref(), Some("an empty file"));
        assert_eq!(found(&[1, 0, 2, 0, 3]), None);
    }

    #[test]
    fn damaged_files_are_recognised() {
        let file = crate::LINEAR_PTE.to_vec();
        assert_eq!(found(&file), None);
        let cut = &file[..file.len() - 100];
        assert!(found(cut).unwrap().contains("100 bytes are missing"), "{:?}", found(cut));
        // A FlatBuffer without room for a header, as other tools write it: the root table is before byte 32.
        let mut pasted = file.clone();
        pasted[..4].copy_from_slice(&24u32.to_le_bytes());
        assert!(found(&pasted).unwrap().contains("extended header over"), "{:?}", found(&pasted));
        let mut lines = file.clone();
        lines.extend(b"\n\n\n");
        assert_eq!(found(&lines), None);
        let converted: Vec<u8> =
            lines.iter().flat_map(|byte| if *byte == b'\n' { vec![b'\r', b'\n'] } else { vec![*byte] }).collect();
        assert!(found(&converted).unwrap().contains("carriage return"));
    }
}
