//! Transforms programs: moves constants to `.ptd` files, and back.

pub mod externalize;
pub mod internalize;
