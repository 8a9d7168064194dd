//! Documents of results that are not those of one method of the library: of the command line with `--json`, of the
//! Python package and of the bindings.

pub mod explanation;
pub mod findings;
pub mod operators;
pub mod validation;
