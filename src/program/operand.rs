//! The values that an instruction refers to, by kind of reference: one place to state them for a new instruction.
//!
//! What a kernel does with its arguments is a fact of its operator, not of the instruction.

use super::Instruction;

/// A value in a field of an instruction, not in a list of arguments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Operand {
    /// Name of the field in the schema.
    pub field: &'static str,
    /// Index of the value.
    pub value: i32,
    /// What the instruction does with it.
    pub access: OperandAccess,
}

/// What an instruction does with an operand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OperandAccess {
    /// Reads the value.
    Read,
    /// Replaces the value.
    Write,
    /// Releases its memory.
    Release,
}

impl Instruction {
    /// Returns the list of arguments of a call; empty for other instructions.
    pub fn args(&self) -> &[i32] {
        match self {
            Instruction::KernelCall { args, .. } | Instruction::DelegateCall { args, .. } => {
                args.as_deref().unwrap_or_default()
            }
            Instruction::MoveCall { .. } | Instruction::JumpFalseCall { .. } | Instruction::FreeCall { .. } => &[],
        }
    }

    /// Returns the index of the operator of a kernel call.
    pub fn operator(&self) -> Option<i32> {
        if let Instruction::KernelCall { op_index, .. } = self { Some(*op_index) } else { None }
    }

    /// Returns the values in fields of their own, in the order of the schema.
    ///
    /// ```
    /// use pte_emit::program::Instruction;
    /// use pte_emit::program::operand::{Operand, OperandAccess};
    ///
    /// let instruction = Instruction::MoveCall { move_from: 3, move_to: 5 };
    /// assert_eq!(instruction.operands().map(|operand| operand.value).collect::<Vec<_>>(), [3, 5]);
    /// let written = instruction.operands().find(|operand| operand.access == OperandAccess::Write);
    /// assert_eq!(written.unwrap(), Operand { field: "move_to", value: 5, access: OperandAccess::Write });
    /// ```
    pub fn operands(&self) -> impl Iterator<Item = Operand> + use<> {
        let operand = |field, value, access| Some(Operand { field, value, access });
        let operands = match self {
            Instruction::KernelCall { .. } | Instruction::DelegateCall { .. } => [None, None],
            Instruction::MoveCall { move_from, move_to } => [
                operand("move_from", *move_from, OperandAccess::Read),
                operand("move_to", *move_to, OperandAccess::Write),
            ],
            Instruction::JumpFalseCall { cond_value_index, .. } => {
                [operand("cond_value_index", *cond_value_index, OperandAccess::Read), None]
            }
            Instruction::FreeCall { value_index } => {
                [operand("value_index", *value_index, OperandAccess::Release), None]
            }
        };
        operands.into_iter().flatten()
    }

    /// Returns the index of the instruction that may be executed next instead of the following one.
    pub fn destination(&self) -> Option<i32> {
        match self {
            Instruction::JumpFalseCall { destination_instruction, .. } => Some(*destination_instruction),
            Instruction::KernelCall { .. }
            | Instruction::DelegateCall { .. }
            | Instruction::MoveCall { .. }
            | Instruction::FreeCall { .. } => None,
        }
    }
}
