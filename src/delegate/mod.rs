//! Formats of delegate payloads, one module each.

pub mod xnnpack;
