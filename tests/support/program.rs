//! Programs become files without a text, as a layout asks.
//!
//! For tests that make or change programs; what texts become is `pte_emit::assemble`'s business.

use pte_emit::data::dedup;
use pte_emit::emitter;
use pte_emit::layout::{self, Options};
use pte_emit::program::Program;

/// Writes a program as a layout asks.
pub fn write(program: &Program, options: &Options) -> Vec<u8> {
    let same = dedup::find(&program.blobs).unwrap();
    let plan = layout::plan(program, &same, options).unwrap_or_else(|errors| panic!("{errors:?}"));
    let flatbuffer = emitter::program::emit(program, &plan, options, None).unwrap();
    let placement = layout::file::program(flatbuffer.len() as u64, &plan.segments, options).unwrap();
    let file = emitter::File {
        flatbuffer: &flatbuffer,
        placement: &placement,
        segments: &plan.segments,
        blobs: &program.blobs,
        padding: 0,
    };
    file.to_vec().unwrap()
}
