//! Transforms programs: moves constants to `.ptd` files and back, removes unused parts, and finds smaller programs with
//! the same defect.

pub mod externalize;
pub mod internalize;
pub mod prune;
