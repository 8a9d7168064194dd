//! Transforms programs: moves constants to `.ptd` files, and back; removes unused parts; infers the properties of results.

pub mod externalize;
pub mod inference;
pub mod internalize;
pub mod prune;
