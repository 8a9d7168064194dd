//! Emits programs that are built without a source.

use pte_emit::data::dedup;
use pte_emit::emitter;
use pte_emit::layout::{self, LayoutConfig};
use pte_emit::program::Program;

/// Emits a program with these layout options.
pub fn write(program: &Program, options: &LayoutConfig) -> Vec<u8> {
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
