//! Formats of delegate payloads. Each has a module that implements the trait [`PayloadFormat`], or is a row of
//! [`small`], and a row of [`FORMATS`]. XNNPACK, whose graphs are also changed and written, is the crate
//! `pte-xnnpack`, which has the [`Formats`] of all backends. [`decoded`] has what is asked of a payload whose format
//! is decoded, [`compile_specs`] what the exporter's options mean.
//!
//! This crate depends neither on YAML nor on programs: it compares arguments with their tensors, and reads no methods.

// Types of it are arguments and results.
pub use pte_model;

/// Compiles and runs the Rust block of README.md.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

pub mod aoti;
pub mod arguments;
pub mod compile_specs;
pub mod coreai;
pub mod coreml;
pub mod decoded;
pub mod description;
pub mod ethos_u;
pub mod flat;
pub mod format;
pub mod generic;
mod graph;
pub mod header;
pub mod memory;
pub mod mlx;
pub mod mps;
pub mod native;
pub mod neutron;
pub mod openvino;
mod protobuf;
pub mod qnn;
mod rows;
pub mod signature;
pub mod small;
pub mod tosa;
pub mod vgf;
pub mod vulkan;

pub use format::{Formats, HEAD, Payload, PayloadFormat, PayloadReleases};

/// The formats of this crate: all but XNNPACK's.
pub const FORMATS: &[&dyn PayloadFormat] = &[
    &vulkan::Vulkan,
    &ethos_u::EthosU,
    &qnn::Qnn,
    &coreml::CoreMl,
    &mps::Mps,
    &mlx::Mlx,
    &tosa::Tosa,
    &native::Native,
    &vgf::Vgf,
    &aoti::Aoti,
    &coreai::CoreAi,
    &neutron::Neutron,
    &openvino::OpenVino,
    &small::NEUROPILOT,
    &small::TENSOR_RT,
    &small::EXECUTOR,
    &small::DEMO,
];

#[cfg(test)]
mod tests;
