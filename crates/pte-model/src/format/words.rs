//! YAML words for numbers that the schema does not name; the position of a word is its number.

/// Memory formats (E-6).
pub const MEMORY_FORMATS: &[&str] = &["contiguous", "preserve"];
