//! Transforms programs: moves constants to `.ptd` files, and back; removes unused parts.

pub mod externalize;
pub mod internalize;
pub mod prune;
