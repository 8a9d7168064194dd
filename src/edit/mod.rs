//! Edits of programs: methods of [`crate::Resolved`], one file for each group. The changes themselves are functions of `pte-transform`.

mod layouts;
pub mod programs;
