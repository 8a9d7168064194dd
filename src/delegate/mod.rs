//! Payloads of delegates, one module per format.

pub mod xnnpack;
