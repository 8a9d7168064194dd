//! The three FlatBuffers schemas, and that of XNNPACK's payloads, as tables of our own: which slot a field has, what it holds, what it is called.
//!
//! One description serves whoever writes bytes, reads bytes or explains bytes. It is not a schema language: a field
//! that is not in these tables does not exist for this project. Defaults are zero in all of them, so a table
//! needs no column for them.

pub mod bundled_program;
pub mod flat_tensor;
pub mod operators;
pub mod program;
pub mod scalar_type;
pub mod table;
pub mod xnnpack;

pub use scalar_type::ScalarType;
pub use table::{Enum, Field, Kind, Table};
