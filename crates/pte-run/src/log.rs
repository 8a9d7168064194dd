//! End of the standard error of a runner.

use std::collections::VecDeque;
use std::io::Read;

/// Bytes that are kept.
const KEPT: usize = 16 << 10;

/// Lines that are reported.
const LINES: usize = 5;

/// Characters of a line that are reported.
const WIDTH: usize = 400;

/// Last bytes of a stream.
#[derive(Debug, Default)]
pub struct Tail(VecDeque<u8>);

impl Tail {
    /// Reads a stream to its end; `kept` takes each block, which it can do with the last bytes only.
    pub fn follow(mut stream: impl Read, mut kept: impl FnMut(&[u8])) {
        let mut block = [0; 4 << 10];
        while let Ok(count @ 1..) = stream.read(&mut block) {
            kept(&block[..count]);
        }
    }

    /// Appends bytes.
    pub fn push(&mut self, bytes: &[u8]) {
        let bytes = &bytes[bytes.len().saturating_sub(KEPT)..];
        self.0.drain(..(self.0.len() + bytes.len()).saturating_sub(KEPT));
        self.0.extend(bytes);
    }

    /// Returns the last lines, truncated.
    pub fn lines(&self) -> Vec<String> {
        let bytes: Vec<u8> = self.0.iter().copied().collect();
        let text = String::from_utf8_lossy(&bytes);
        // ExecuTorch lists the arguments of a call that failed, after the reason.
        let is_argument = |line: &str| line.contains("] arg ") && line.contains(" with type id ");
        let lines = text.lines().map(str::trim_end).filter(|line| !line.is_empty() && !is_argument(line));
        let lines: Vec<&str> = lines.collect();
        let last = &lines[lines.len().saturating_sub(LINES)..];
        last.iter().map(|line| line.chars().take(WIDTH).collect()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::{KEPT, Tail};

    #[test]
    fn the_last_lines_are_kept() {
        let mut tail = Tail::default();
        tail.push(&vec![b'x'; 3 * KEPT]);
        tail.push(b"\none\n\ntwo\r\nE executorch:method.cpp:1493] arg 0 with type id 1\nthree");
        assert_eq!(tail.0.len(), KEPT);
        assert_eq!(tail.lines()[1..], ["one", "two", "three"]);
    }
}
