//! Pieces of C: bytes as initializers, strings, comments.

use std::fmt::Write as _;
use std::io::{self, Write};

/// Bytes of a line of an initializer.
const LINE: usize = 16;

/// Characters of a byte: `0xNN,`.
const WIDTH: usize = 5;

/// Characters of a line, with its end.
const LINE_WIDTH: usize = LINE * WIDTH + 1;

/// Lines that are converted at a time.
const LINES: usize = 512;

/// The two digits of each byte.
const DIGITS: [[u8; 2]; 256] = {
    const DIGIT: &[u8; 16] = b"0123456789abcdef";
    let mut all = [[0; 2]; 256];
    let mut byte = 0;
    while byte < 256 {
        all[byte] = [DIGIT[byte >> 4], DIGIT[byte & 15]];
        byte += 1;
    }
    all
};

/// Writes bytes as initializers of an array: `0xNN,` for each, 16 in a line, without memory for more than a block.
pub(super) struct HexWriter<W> {
    out: W,
    /// Number of bytes of the last line.
    column: usize,
    /// Lines of zeros, in which only the digits are replaced: one store for each byte.
    lines: Vec<u8>,
}

impl<W: Write> HexWriter<W> {
    pub fn new(out: W) -> HexWriter<W> {
        let line = "0x00,".repeat(LINE) + "\n";
        HexWriter { out, column: 0, lines: line.repeat(LINES).into_bytes() }
    }

    /// Ends the last line.
    pub fn finish(mut self) -> io::Result<()> {
        if self.column > 0 { self.out.write_all(b"\n") } else { Ok(()) }
    }

    /// Writes bytes that do not exceed the last line.
    fn write_part(&mut self, bytes: &[u8]) -> io::Result<()> {
        let mut text = String::new();
        bytes.iter().for_each(|byte| _ = write!(text, "0x{byte:02x},"));
        self.column += bytes.len();
        if self.column == LINE {
            self.column = 0;
            text.push('\n');
        }
        self.out.write_all(text.as_bytes())
    }
}

impl<W: Write> Write for HexWriter<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let (lines, rest) = bytes.as_chunks::<LINE>();
        if self.column > 0 || lines.is_empty() {
            let part = if self.column > 0 { &bytes[..bytes.len().min(LINE - self.column)] } else { rest };
            return self.write_part(part).map(|()| part.len());
        }
        let lines = &lines[..lines.len().min(LINES)];
        for (line, text) in lines.iter().zip(self.lines.as_chunks_mut::<LINE_WIDTH>().0) {
            for (byte, digits) in line.iter().zip(text.as_chunks_mut::<WIDTH>().0) {
                [digits[2], digits[3]] = DIGITS[usize::from(*byte)];
            }
        }
        self.out.write_all(&self.lines[..lines.len() * LINE_WIDTH])?;
        Ok(lines.len() * LINE)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// Returns a string literal of C, which is also one of GNU as. Other bytes than printable ASCII are octal escapes.
pub(super) fn string(text: &str) -> String {
    let mut out = String::from("\"");
    for byte in text.bytes() {
        match byte {
            b'"' | b'\\' => out.extend(['\\', char::from(byte)]),
            // `?` begins a trigraph.
            b'?' => out.push_str("\\077"),
            b' '..=b'~' => out.push(char::from(byte)),
            _ => {
                let _ = write!(out, "\\{byte:03o}");
            }
        }
    }
    out + "\""
}

/// Returns a text that ends no comment and no line.
pub(super) fn comment(text: &str) -> String {
    let clean = |c: char| if c.is_control() || c == '\\' { '?' } else { c };
    text.chars().map(clean).collect::<String>().replace("*/", "* /").replace("/*", "/ *")
}

/// Returns true for a name that `#include "NAME"` can contain: no `"`, `\\` and control characters, and no `??`, which
/// begins a trigraph.
pub(super) fn is_header_name(name: &str) -> bool {
    !name.contains(|c: char| c.is_control() || c == '"' || c == '\\') && !name.contains("??")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The definition of the form, without blocks.
    fn expected(bytes: &[u8]) -> String {
        let line = |line: &[u8]| line.iter().map(|byte| format!("0x{byte:02x},")).collect::<String>() + "\n";
        bytes.chunks(LINE).map(line).collect()
    }

    #[test]
    fn bytes_have_the_same_lines_however_they_arrive() {
        let bytes: Vec<u8> = (0..1000u32).map(|n| (n * 7) as u8).collect();
        for len in [0, 1, 15, 16, 17, 31, 32, 100, 1000] {
            for step in [1, 3, 15, 16, 17, 999] {
                let mut out = Vec::new();
                let mut hex = HexWriter::new(&mut out);
                bytes[..len].chunks(step).for_each(|chunk| hex.write_all(chunk).unwrap());
                hex.finish().unwrap();
                assert_eq!(String::from_utf8(out).unwrap(), expected(&bytes[..len]), "{len} by {step}");
            }
        }
    }

    #[test]
    fn names_cannot_leave_strings_and_comments() {
        assert_eq!(string("a\"b\\c\n??/é"), "\"a\\\"b\\\\c\\012\\077\\077/\\303\\251\"");
        assert_eq!(comment("a*/b\n\\/*"), "a* /b??/ *");
    }
}
