//! Tests of the repository: layers of the code, the list of the public API, commands and tables of the documentation, citations.

#[path = "../support/mod.rs"]
mod support;

mod architecture;
mod citations;
mod counts;
mod docs;
mod list;
mod public_api;
