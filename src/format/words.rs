//! Words of the YAML for numbers of the schema that have no names there; the position of a word is its number.

/// `static`, `dynamic_bound`, `dynamic_unbound`, by number.
pub const DYNAMISM: &[&str] = &["static", "dynamic_bound", "dynamic_unbound"];
/// Memory formats, by the number that stands for them (E-6).
pub const MEMORY_FORMATS: &[&str] = &["contiguous", "preserve"];
/// Layouts of a tensor, by number (E-15).
pub const TENSOR_LAYOUTS: &[&str] = &["strided", "sparse"];
