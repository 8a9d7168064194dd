//! The instructions: one table declares each with its fields and what a field refers to. Emitter, reader, memory planning and `check`
//! use the table.
//!
//! What a kernel does with its arguments is a fact of its operator, not of the instruction.

use super::ints::Args;
use crate::format::program::InstructionType;

/// A field of an [`Instruction`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InstructionField<'a> {
    /// Name in the schema.
    pub name: &'static str,
    /// Key in the YAML.
    pub key: &'static str,
    /// Slot number in the table of the instruction.
    pub slot: u16,
    /// What it refers to.
    pub reference: FieldReference<'a>,
}

/// What a field of an instruction refers to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FieldReference<'a> {
    /// Index of the operator of a kernel call.
    Operator(i32),
    /// Index of the delegate of a delegate call.
    Delegate(i32),
    /// Index of a value, and what the instruction does with it.
    Operand(i32, OperandAccess),
    /// Index of the instruction that may be executed next instead of the following one.
    Destination(i32),
    /// Indices of the values that are passed to a kernel or a delegate.
    Args(Option<&'a [i32]>),
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

/// The table of an instruction in a file.
pub(crate) trait InstructionSource {
    /// Error of a damaged table.
    type Error;

    /// Returns the number in a slot.
    fn index(&self, slot: u16) -> Result<i32, Self::Error>;

    /// Returns the list in a slot.
    fn args(&self, slot: u16) -> Result<Option<Args>, Self::Error>;
}

/// Type of a field of an instruction.
trait FieldType: Sized {
    fn read<S: InstructionSource>(source: &S, slot: u16) -> Result<Self, S::Error>;
}

impl FieldType for i32 {
    fn read<S: InstructionSource>(source: &S, slot: u16) -> Result<i32, S::Error> {
        source.index(slot)
    }
}

impl FieldType for Option<Args> {
    fn read<S: InstructionSource>(source: &S, slot: u16) -> Result<Option<Args>, S::Error> {
        source.args(slot)
    }
}

/// Declares [`Instruction`] from rows `field "key": type = reference`, and the functions that need all fields.
macro_rules! instructions {
    ($( $(#[$doc:meta])* $variant:ident $slots:ident $key:literal {
        $( $(#[$field_doc:meta])* $field:ident $field_key:literal : $type:ty = $reference:expr; )*
    } )*) => {
        /// An instruction (table `Instruction`, union `InstructionArguments`). Exhaustive on purpose, as
        /// [`EValue`](crate::program::EValue).
        ///
        /// ```
        /// use pte_emit::program::{Args, FieldReference, Instruction, InstructionField, OperandAccess};
        ///
        /// let call = Instruction::KernelCall { op_index: 2, args: Some(Args::from(&[0, 1, 1])) };
        /// assert_eq!((call.operator(), call.args()), (Some(2), &[0, 1, 1][..]));
        ///
        /// let jump = Instruction::JumpFalseCall { cond_value_index: 7, destination_instruction: 0 };
        /// assert_eq!((jump.destination(), jump.args()), (Some(0), &[][..]));
        ///
        /// let condition: InstructionField<'_> = jump.fields().next().unwrap();
        /// assert_eq!((condition.name, condition.slot), ("cond_value_index", 0));
        /// assert_eq!(condition.reference, FieldReference::Operand(7, OperandAccess::Read));
        /// ```
        #[derive(Debug, Clone, PartialEq, Eq)]
        #[allow(clippy::enum_variant_names)] // The names are those of the schema.
        pub enum Instruction {
            $( $(#[$doc])* $variant { $( $(#[$field_doc])* $field: $type ),* } ),*
        }

        /// The YAML key of each instruction.
        pub(crate) const INSTRUCTION_KEYS: &[(&str, InstructionType)] = &[$( ($key, InstructionType::$variant) ),*];

        /// Largest number of fields of an instruction.
        pub(crate) const MAX_FIELDS: usize = {
            let counts = [$( [$( stringify!($field) ),*].len() ),*];
            let (mut max, mut index) = (0, 0);
            while index < counts.len() {
                max = if counts[index] > max { counts[index] } else { max };
                index += 1;
            }
            max
        };

        impl Instruction {
            /// Returns the member of the union.
            pub(crate) fn kind(&self) -> InstructionType {
                match self {
                    $( Instruction::$variant { .. } => InstructionType::$variant ),*
                }
            }

            /// Returns the key in the YAML.
            pub(crate) fn key(&self) -> &'static str {
                match self {
                    $( Instruction::$variant { .. } => $key ),*
                }
            }

            /// Returns the fields in the order of the schema.
            pub fn fields(&self) -> impl Iterator<Item = InstructionField<'_>> {
                let mut fields = [None; MAX_FIELDS];
                let mut rest = fields.iter_mut();
                match self {
                    $( Instruction::$variant { $( $field ),* } => {
                        $( if let Some(field) = rest.next() {
                            *field = Some(InstructionField {
                                name: stringify!($field),
                                key: $field_key,
                                slot: crate::format::program::$slots::$field,
                                reference: $reference,
                            });
                        } )*
                    } )*
                }
                fields.into_iter().flatten()
            }

            /// Returns what `select` returns for the first reference for which that is not `None`. As fast as a match over the instructions.
            #[inline(always)]
            fn find<'a, T>(&'a self, select: impl Fn(FieldReference<'a>) -> Option<T>) -> Option<T> {
                match self {
                    $( Instruction::$variant { $( $field ),* } => {
                        None$( .or_else(|| select($reference)) )*
                    } )*
                }
            }

            /// Reads the instruction of this kind from its table.
            pub(crate) fn read<S: InstructionSource>(kind: InstructionType, source: &S) -> Result<Instruction, S::Error> {
                Ok(match kind {
                    $( InstructionType::$variant => Instruction::$variant {
                        $( $field: FieldType::read(source, crate::format::program::$slots::$field)? ),*
                    } ),*
                })
            }
        }
    };
}

instructions! {
    /// Runs a kernel on values.
    KernelCall kernel_call "kernel" {
        /// Index into `operators`.
        op_index "kernel": i32 = FieldReference::Operator(*op_index);
        /// Indices of values.
        args "args": Option<Args> = FieldReference::Args(args.as_deref());
    }
    /// Runs a delegate on values.
    DelegateCall delegate_call "delegate" {
        /// Index into `delegates`.
        delegate_index "delegate": i32 = FieldReference::Delegate(*delegate_index);
        /// Indices of values.
        args "args": Option<Args> = FieldReference::Args(args.as_deref());
    }
    /// Makes a value the same as another: a number is copied, a tensor gets the memory of the other.
    MoveCall move_call "move" {
        /// Index of the source.
        move_from "from": i32 = FieldReference::Operand(*move_from, OperandAccess::Read);
        /// Index of the target.
        move_to "to": i32 = FieldReference::Operand(*move_to, OperandAccess::Write);
    }
    /// Jumps if a value is false.
    JumpFalseCall jump_false_call "jump_false" {
        /// Index of the condition.
        cond_value_index "cond": i32 = FieldReference::Operand(*cond_value_index, OperandAccess::Read);
        /// Index of the next instruction, absolute in its chain.
        destination_instruction "to": i32 = FieldReference::Destination(*destination_instruction);
    }
    /// Frees a tensor's memory.
    FreeCall free_call "free" {
        /// Index of the tensor.
        value_index "free": i32 = FieldReference::Operand(*value_index, OperandAccess::Release);
    }
}

impl Instruction {
    /// Returns the list of arguments of a call; empty for other instructions.
    pub fn args(&self) -> &[i32] {
        let args = self.find(|reference| if let FieldReference::Args(args) = reference { args } else { None });
        args.unwrap_or_default()
    }

    /// Returns the index of the operator of a kernel call.
    pub fn operator(&self) -> Option<i32> {
        self.find(|reference| if let FieldReference::Operator(index) = reference { Some(index) } else { None })
    }

    /// Returns the values in fields of their own: name of the field, index of the value, access.
    ///
    /// ```
    /// use pte_emit::program::{Instruction, OperandAccess};
    ///
    /// let instruction = Instruction::FreeCall { value_index: 3 };
    /// assert_eq!(instruction.operands().next(), Some(("value_index", 3, OperandAccess::Release)));
    /// ```
    pub fn operands(&self) -> impl Iterator<Item = (&'static str, i32, OperandAccess)> {
        // Most instructions are calls, and have none.
        let any = self.find(|reference| matches!(reference, FieldReference::Operand(..)).then_some(()));
        any.into_iter().flat_map(|()| self.fields()).filter_map(|field| match field.reference {
            FieldReference::Operand(value, access) => Some((field.name, value, access)),
            FieldReference::Operator(_)
            | FieldReference::Delegate(_)
            | FieldReference::Destination(_)
            | FieldReference::Args(_) => None,
        })
    }

    /// Returns the index of the instruction that may be executed next instead of the following one.
    pub fn destination(&self) -> Option<i32> {
        self.find(|reference| if let FieldReference::Destination(index) = reference { Some(index) } else { None })
    }
}

/// An instruction as far as it matters where the values are numbered that branches move their results to.
pub(crate) enum BranchStep<T> {
    /// A jump to an instruction of the same chain.
    Jump(usize),
    /// A move to a value.
    Move(T),
    /// Any other instruction.
    Other,
}

/// Returns the targets of the moves of branches, each with the position of the forward jump in front of the branch: the exporter assigns
/// their indices there (E-10).
pub(crate) fn merged<T>(chain: impl IntoIterator<Item = BranchStep<T>>) -> Vec<(usize, T)> {
    let mut merged = Vec::new();
    // Positions and destinations of the jumps over the current instruction.
    let mut open: Vec<(usize, usize)> = Vec::new();
    for (position, step) in chain.into_iter().enumerate() {
        while open.last().is_some_and(|(_, end)| *end <= position) {
            open.pop();
        }
        match step {
            BranchStep::Jump(destination) if destination > position => open.push((position, destination)),
            BranchStep::Move(target) => merged.extend(open.last().map(|(jump, _)| (*jump, target))),
            BranchStep::Jump(_) | BranchStep::Other => {}
        }
    }
    merged
}
