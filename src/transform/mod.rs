//! Program -> Program: constants sent to `.ptd` files, and put back.

pub mod externalize;
pub mod internalize;
