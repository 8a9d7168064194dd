//! Payloads of XNNPACK delegates: a header, a graph (a FlatBuffer) and constants.
//!
//! [`schema`] has the tables of the graph, [`model`] the graph as plain data, which [`decode`] and [`encode`] convert from and to bytes.
//! [`draft`] is a graph without what follows from rules. Nothing here depends on a program or on YAML.

pub mod decode;
pub mod draft;
pub mod encode;
pub mod header;
pub mod model;
pub mod schema;

pub use schema::*;

/// Name of the backend in a program.
pub const BACKEND: &str = "XnnpackBackend";
