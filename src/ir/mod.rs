//! Text -> Program: [`tree`] reads YAML or JSON, [`decode`] makes a [`document::Document`] of it, [`resolve`] a program.

mod checkpoint;
pub mod data;
pub mod decode;
pub mod document;
pub mod json_schema;
pub mod resolve;
pub mod shape;
pub mod template;
pub mod tests;
pub mod tree;
