//! The sources of the malformed examples, which are part of the command.

use std::fmt::Write;

/// A source of `examples/malformed`.
pub struct Example {
    /// Path below that folder, without the extension.
    pub path: &'static str,
    /// Content.
    pub text: &'static str,
}

/// All examples, in alphabetical order; build.rs lists them.
pub const EXAMPLES: &[Example] = include!(concat!(env!("OUT_DIR"), "/examples.rs"));

/// The only file that sources refer to.
const LINEAR: (&str, &[u8]) = ("data/linear.xnnpack", include_bytes!("../../../examples/data/linear.xnnpack"));

/// Replaces a file in a source by its bytes, or by the first `size` ones: the command has no folder with the file.
pub fn inlined(text: &str) -> String {
    let (name, bytes) = LINEAR;
    let Some((before, rest)) = text.split_once("{file: ") else { return text.to_owned() };
    let Some((path, after)) = rest.split_once('}').filter(|(path, _)| path.contains(name)) else {
        return text.to_owned();
    };
    let size = path.split_once(", size: ").and_then(|(_, size)| size.parse().ok()).unwrap_or(bytes.len());
    let mut hex = String::new();
    bytes.iter().take(size).for_each(|byte| _ = write!(hex, "{byte:02x}"));
    format!("{before}{{hex: {hex:?}}}{after}")
}
