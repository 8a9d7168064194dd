//! Pieces of C: bytes as initializers, strings, comments.

use std::fmt::Write as _;
use std::io::{self, Write};

/// Bytes of a line of an initializer.
const LINE: usize = 16;

/// Characters of a byte: `0xNN,`.
const WIDTH: usize = 5;

/// Writes bytes as initializers of an array: `0xNN,` for each, 16 in a line, without memory for more than a block.
pub(super) struct HexWriter<W> {
    out: W,
    /// Number of bytes of the last line.
    column: usize,
    block: Vec<u8>,
}

/// Bytes that are converted at a time.
const BLOCK: usize = 8 << 10;

/// The characters of each byte, with room for a copy of 8 bytes.
const TEXT: [[u8; 8]; 256] = {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let mut all = [*b"0x00,   "; 256];
    let mut byte = 0;
    while byte < 256 {
        all[byte][2] = DIGITS[byte >> 4];
        all[byte][3] = DIGITS[byte & 15];
        byte += 1;
    }
    all
};

impl<W: Write> HexWriter<W> {
    pub fn new(out: W) -> HexWriter<W> {
        HexWriter { out, column: 0, block: Vec::with_capacity(BLOCK * (WIDTH + 1)) }
    }

    /// Ends the last line.
    pub fn finish(mut self) -> io::Result<()> {
        if self.column > 0 { self.out.write_all(b"\n") } else { Ok(()) }
    }
}

impl<W: Write> Write for HexWriter<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let bytes = &bytes[..bytes.len().min(BLOCK)];
        self.block.clear();
        let (rest, lines) = bytes.split_at(bytes.len().min((LINE - self.column) % LINE));
        rest.iter().for_each(|byte| self.block.extend_from_slice(&TEXT[usize::from(*byte)][..WIDTH]));
        if self.column > 0 && self.column + rest.len() == LINE {
            self.block.push(b'\n');
        }
        for line in lines.chunks(LINE) {
            // Each copy has 8 bytes, which is faster than 5; the next one overwrites what is too much.
            let mut text = [0; LINE * WIDTH + 8];
            for (byte, at) in line.iter().zip((0..).step_by(WIDTH)) {
                text[at..at + 8].copy_from_slice(&TEXT[usize::from(*byte)]);
            }
            text[line.len() * WIDTH] = b'\n';
            let end = line.len() * WIDTH + usize::from(line.len() == LINE);
            self.block.extend_from_slice(&text[..end]);
        }
        self.column = (self.column + bytes.len()) % LINE;
        self.out.write_all(&self.block)?;
        Ok(bytes.len())
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
