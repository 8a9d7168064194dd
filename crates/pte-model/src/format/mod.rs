//! Facts of the file formats, each defined once: the slot tables of the FlatBuffers schemas, element types, identifiers
//! and headers of the containers, and access to the bytes of a FlatBuffer.
//!
//! The same tables drive the emitter, the readers, the validator and the annotator. A field that is not in these tables
//! does not exist for this project. Defaults are zero in all three schemas, so the tables have no column for them. The
//! model of a program is [`crate::program`].

pub mod bundled_program;
pub mod container;
pub mod dim_order;
pub mod exporter;
pub mod flat_tensor;
pub mod flatbuffer;
pub mod foreign;
pub mod npy;
pub mod path;
pub mod program;
pub mod safetensors;
pub mod scalar_type;
pub mod serializer;
pub mod table;
pub mod unknown;
pub mod words;

pub use container::Format;
pub use dim_order::DimOrder;
pub use scalar_type::{ScalarType, ScalarTypeInfo};
pub use table::{Field, Kind, TableSchema};
