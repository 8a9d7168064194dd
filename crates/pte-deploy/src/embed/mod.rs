//! Programs and `.ptd` files as arrays: a header and a source for C and C++, or for an assembler that includes the
//! files.
//!
//! [`Embedding`] checks the names and writes; an [`EmbedStyle`] is the form of the output.

mod assembly;
mod c;
mod embedding;
mod facts;
mod facts_table;
mod macros;
mod section;
mod style;
mod text;

pub use c::BANNER;
pub use embedding::{EmbedError, EmbedOptions, EmbeddedFile, Embedding, MAX_ALIGNMENT, MIN_ALIGNMENT, alignment};
pub use facts::{InterfaceFacts, MethodFacts, ProgramFacts, TensorFacts};
pub use section::{Section, SectionError};
pub use style::EmbedStyle;
