//! The fragment of a linker script that places the program.

use std::fmt::Display;

use super::generated::Generated;
use super::pools::{FirmwareNeeds, POOL_ALIGNMENT};

/// Name of the file.
const FILE: &str = "pte-emit.ld";

/// Alignment in bytes of the program in memory: at least that of the array in ExecuTorch's runners.
pub fn alignment(needs: &FirmwareNeeds) -> u64 {
    needs.alignment.max(POOL_ALIGNMENT)
}

/// Adds the fragment for the inside of an output section, such as `.rodata`. It keeps the program although no code may
/// name its array.
pub fn fragment(generated: &mut Generated, needs: &FirmwareNeeds, section: &str) {
    let values: [(&str, &dyn Display); 2] = [("alignment", &alignment(needs)), ("section", &section)];
    generated.template(needs, FILE, include_str!("templates/program.ld"), &values);
}
