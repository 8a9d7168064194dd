//! The fragment of a linker script that places the program.

use super::needs::FirmwareNeeds;
use super::pools::POOL_ALIGNMENT;
use super::text::Comment;

/// Alignment in bytes of the program in memory: at least that of the array in ExecuTorch's runners.
pub fn alignment(needs: &FirmwareNeeds) -> u64 {
    needs.alignment.max(POOL_ALIGNMENT)
}

/// Returns the fragment for the inside of an output section, such as `.rodata`. It keeps the program although no code may name its array.
pub fn fragment(needs: &FirmwareNeeds, section: &str) -> String {
    let alignment = alignment(needs);
    let head = Comment::Block.head(needs, &["Place of the program: include it in the output section of constants."]);
    format!("{head}. = ALIGN({alignment});\nKEEP(*({section}))\nKEEP(*({section}.*))\n")
}
