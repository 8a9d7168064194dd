//! The releases of ExecuTorch whose operators are known, a folder each: tables and rows.

pub mod v1_5_1;

pub use v1_5_1::RELEASE as CURRENT;

/// All releases.
#[cfg(test)]
pub(super) static RELEASES: &[&super::release::Release] = &[&v1_5_1::RELEASE];
