//! YAML words for numbers that the schema does not name; the position of a word is its number.

/// Values of `shape_dynamism`.
pub const DYNAMISM: &[&str] = &["static", "dynamic_bound", "dynamic_unbound"];
/// Memory formats (E-6).
pub const MEMORY_FORMATS: &[&str] = &["contiguous", "preserve"];
/// Layouts of a tensor (E-15).
pub const TENSOR_LAYOUTS: &[&str] = &["strided", "sparse"];
