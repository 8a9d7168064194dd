//! Edits of programs: methods of [`Resolved`](crate::Resolved), one file per group.

mod bound;

pub use bound::BoundReport;
