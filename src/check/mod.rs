//! The judge: what is wrong with a `.pte`, `.ptd` or `.bpte`, rule by rule, before a runtime meets it.
//!
//! ```text
//! bytes --header--> metadata --structure--> tables --fields--> Program --semantics--> findings
//! ```
//!
//! Each step runs only if the one before it found nothing malformed: what cannot be read cannot be judged. Only the
//! metadata are read, never the weights. The rules themselves are a table ([`rules`]); what each step looks at is in the
//! files beside this one. Nothing here repairs anything.

pub mod finding;
pub mod locus;
mod operators;
pub mod rules;
pub mod semantics;

pub use finding::{Finding, Findings, Place};
pub use locus::{Locus, Part};
pub use rules::{Profile, Rule, Severity};
