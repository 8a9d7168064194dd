//! The table of instructions, with their fields and the roles of these. Emitter, reader, decoder, resolution of names,
//! renumbering, memory planning and `check` use it.
//!
//! The effects of a kernel on its arguments are facts of its operator, not of the instruction.

use super::ids::{DelegateId, OperatorId, ValueId};
use super::ints::Args;
use crate::format::program::InstructionType;
use crate::format::table::Union;

/// A field of an [`Instruction`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InstructionField<'a> {
    /// Name in the schema.
    pub name: &'static str,
    /// Key in the YAML.
    pub key: &'static str,
    /// Slot number in the table of the instruction.
    pub slot: u16,
    /// Content of the field.
    pub reference: FieldReference<'a>,
}

/// Content of a field of an [`Instruction`]: the element that it refers to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FieldReference<'a> {
    /// Index of the operator of a kernel call.
    Operator(OperatorId),
    /// Index of the delegate of a delegate call.
    Delegate(DelegateId),
    /// Index of a value, and the effect of the instruction on it.
    Operand(ValueId, OperandAccess),
    /// Index of the instruction that may be executed next instead of the following one.
    Destination(i32),
    /// Indices of the values that are passed to a kernel or a delegate.
    Args(Option<&'a [ValueId]>),
}

/// Effect of an instruction on an operand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OperandAccess {
    /// Reads the value.
    Read,
    /// Replaces the value.
    Write,
    /// Releases its memory.
    Release,
}

/// Role of a field of an instruction. It determines the type of the field and its [`FieldReference`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FieldRole {
    /// Index of the operator of a kernel call.
    Operator,
    /// Index of the delegate of a delegate call.
    Delegate,
    /// Arguments of a call.
    Args,
    /// A value that is read.
    Read,
    /// A Bool that is read, or a tensor of them.
    Condition,
    /// A value that is replaced.
    Write,
    /// A value whose memory is released.
    Release,
    /// Index of the instruction that may be executed next instead of the following one.
    Destination,
}

/// A row of the table of instructions.
#[derive(Debug)]
pub struct InstructionRow {
    /// Key in the YAML.
    pub key: &'static str,
    /// The member of the union.
    pub kind: InstructionType,
    /// Key in the YAML and role of each field, in the order of the schema.
    pub fields: &'static [(&'static str, FieldRole)],
}

/// A field of an instruction, to change it.
#[derive(Debug)]
pub enum FieldMut<'a> {
    /// Index of the operator of a kernel call.
    Operator(&'a mut OperatorId),
    /// Index of the delegate of a delegate call.
    Delegate(&'a mut DelegateId),
    /// Index of a value.
    Operand(&'a mut ValueId),
    /// Index of the instruction that may be executed next instead of the following one.
    Destination(&'a mut i32),
    /// The arguments of a call.
    Args(&'a mut Option<Args>),
}

/// Callee of a call, by index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Callee {
    /// A kernel of this operator.
    Operator(OperatorId),
    /// Index of a delegate of the method.
    Delegate(DelegateId),
}

/// The table of an instruction in a file.
pub trait InstructionSource {
    /// Error of reading a malformed table.
    type Error;

    /// Returns the number in a slot.
    fn index(&self, slot: u16) -> Result<i32, Self::Error>;

    /// Returns the list in a slot.
    fn args(&self, slot: u16) -> Result<Option<Args>, Self::Error>;
}

/// The fields of an instruction without arguments, by slot.
impl InstructionSource for [i32] {
    type Error = std::convert::Infallible;

    fn index(&self, slot: u16) -> Result<i32, Self::Error> {
        Ok(self.get(usize::from(slot)).copied().unwrap_or(0))
    }

    fn args(&self, _: u16) -> Result<Option<Args>, Self::Error> {
        Ok(None)
    }
}

/// Expands the role of a field to its type, its reference, the field for a change, or the code that reads it.
macro_rules! role {
    (@type Args) => { Option<Args> };
    (@type Operator) => { OperatorId };
    (@type Delegate) => { DelegateId };
    (@type Destination) => { i32 };
    (@type $access:ident) => { ValueId };
    (@reference Args $field:ident) => { FieldReference::Args($field.as_deref()) };
    (@reference Operator $field:ident) => { FieldReference::Operator(*$field) };
    (@reference Delegate $field:ident) => { FieldReference::Delegate(*$field) };
    (@reference Destination $field:ident) => { FieldReference::Destination(*$field) };
    (@reference Condition $field:ident) => { FieldReference::Operand(*$field, OperandAccess::Read) };
    (@reference $access:ident $field:ident) => { FieldReference::Operand(*$field, OperandAccess::$access) };
    (@mut Args $field:ident) => { FieldMut::Args($field) };
    (@mut Operator $field:ident) => { FieldMut::Operator($field) };
    (@mut Delegate $field:ident) => { FieldMut::Delegate($field) };
    (@mut Destination $field:ident) => { FieldMut::Destination($field) };
    (@mut $access:ident $field:ident) => { FieldMut::Operand($field) };
    (@read Args $source:ident $slot:expr) => { $source.args($slot)? };
    (@read $role:ident $source:ident $slot:expr) => { $source.index($slot)?.into() };
}

/// Declares [`Instruction`] from rows `field "key": Role`, and the functions that need all fields.
macro_rules! instructions {
    ($( $(#[$doc:meta])* $variant:ident $slots:ident $key:literal {
        $( $(#[$field_doc:meta])* $field:ident $field_key:literal : $role:ident; )*
    } )*) => {
        /// An instruction (table `Instruction`, union `InstructionArguments`). The enum is exhaustive on purpose, like
        /// [`EValue`](crate::program::EValue).
        ///
        /// ```
        /// use pte_model::program::{
        ///     Args, FieldReference, Instruction, InstructionField, OperandAccess, OperatorId, ValueId,
        /// };
        ///
        /// let call = Instruction::KernelCall { op_index: OperatorId(2), args: Some(Args::from(&[0, 1, 1])) };
        /// assert_eq!((call.operator(), call.args()), (Some(OperatorId(2)), &[0, 1, 1].map(ValueId)[..]));
        ///
        /// let jump = Instruction::JumpFalseCall { cond_value_index: ValueId(7), destination_instruction: 0 };
        /// assert_eq!((jump.destination(), jump.args()), (Some(0), &[][..]));
        ///
        /// let condition: InstructionField<'_> = jump.fields().next().unwrap();
        /// assert_eq!((condition.name, condition.slot), ("cond_value_index", 0));
        /// assert_eq!(condition.reference, FieldReference::Operand(ValueId(7), OperandAccess::Read));
        /// ```
        #[derive(Debug, Clone, PartialEq, Eq)]
        #[allow(clippy::enum_variant_names)] // The names are those of the schema.
        pub enum Instruction {
            $( $(#[$doc])* $variant { $( $(#[$field_doc])* $field: role!(@type $role) ),* }, )*
            /// An instruction of a newer schema. Its effect is unknown;
            /// [`Program::newer_parts`](crate::program::Program::newer_parts) have its bytes.
            Unknown {
                /// Tag in the union.
                tag: u8,
            },
        }

        /// The instructions, in the order of the schema.
        pub const INSTRUCTION_ROWS: &[InstructionRow] = &[$( InstructionRow {
            key: $key,
            kind: InstructionType::$variant,
            fields: &[$( ($field_key, FieldRole::$role) ),*],
        } ),*];

        /// Maximum number of fields of an instruction.
        pub const MAX_FIELDS: usize = {
            let counts = [$( [$( stringify!($field) ),*].len() ),*];
            let (mut max, mut index) = (0, 0);
            while index < counts.len() {
                max = if counts[index] > max { counts[index] } else { max };
                index += 1;
            }
            max
        };

        impl Instruction {
            /// Returns the member of the union; `None` for an instruction of a newer schema.
            pub fn kind(&self) -> Option<InstructionType> {
                match self {
                    $( Instruction::$variant { .. } => Some(InstructionType::$variant), )*
                    Instruction::Unknown { .. } => None,
                }
            }

            /// Returns the key in the YAML.
            pub fn key(&self) -> &'static str {
                match self {
                    $( Instruction::$variant { .. } => $key, )*
                    Instruction::Unknown { .. } => UNKNOWN_KEY,
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
                                reference: role!(@reference $role $field),
                            });
                        } )*
                    } )*
                    Instruction::Unknown { .. } => {}
                }
                fields.into_iter().flatten()
            }

            /// Returns the first result of `select` over the references that is not `None`. It is as fast as a match
            /// over the instructions.
            #[inline(always)]
            fn find<'a, T>(&'a self, select: impl Fn(FieldReference<'a>) -> Option<T>) -> Option<T> {
                match self {
                    $( Instruction::$variant { $( $field ),* } => {
                        None$( .or_else(|| select(role!(@reference $role $field))) )*
                    } )*
                    Instruction::Unknown { .. } => None,
                }
            }

            /// Changes the fields, in the order of the schema.
            pub fn for_each_field(&mut self, mut change: impl FnMut(FieldMut<'_>)) {
                match self {
                    $( Instruction::$variant { $( $field ),* } => {
                        $( change(role!(@mut $role $field)); )*
                    } )*
                    Instruction::Unknown { .. } => {}
                }
            }

            /// Reads the instruction of this kind from its table.
            pub fn read<S: InstructionSource + ?Sized>(kind: InstructionType, source: &S) -> Result<Instruction, S::Error> {
                Ok(match kind {
                    $( InstructionType::$variant => Instruction::$variant {
                        $( $field: role!(@read $role source crate::format::program::$slots::$field) ),*
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
        op_index "kernel": Operator;
        /// Indices of values.
        args "args": Args;
    }
    /// Runs a delegate on values.
    DelegateCall delegate_call "delegate" {
        /// Index into `delegates`.
        delegate_index "delegate": Delegate;
        /// Indices of values.
        args "args": Args;
    }
    /// Moves a value to another one: a number is copied, a tensor gets the memory of the source.
    MoveCall move_call "move" {
        /// Index of the source.
        move_from "from": Read;
        /// Index of the target.
        move_to "to": Write;
    }
    /// Jumps if a value is false.
    JumpFalseCall jump_false_call "jump_false" {
        /// Index of the condition.
        cond_value_index "cond": Condition;
        /// Index of the next instruction, absolute in its chain.
        destination_instruction "to": Destination;
    }
    /// Frees a tensor's memory.
    FreeCall free_call "free" {
        /// Index of the tensor.
        value_index "free": Release;
    }
}

/// Key in the YAML of an instruction of a newer schema.
pub const UNKNOWN_KEY: &str = "unknown";

impl Instruction {
    /// Returns the tag in the union `InstructionArguments`.
    pub fn tag(&self) -> u8 {
        match self {
            Instruction::Unknown { tag } => *tag,
            _ => self.kind().map_or(0, Union::tag),
        }
    }

    /// Returns the list of arguments of a call; empty for other instructions.
    pub fn args(&self) -> &[ValueId] {
        let args = self.find(|reference| if let FieldReference::Args(args) = reference { args } else { None });
        args.unwrap_or_default()
    }

    /// Returns the index of the operator of a kernel call; `None` for other instructions.
    pub fn operator(&self) -> Option<OperatorId> {
        self.find(|reference| if let FieldReference::Operator(index) = reference { Some(index) } else { None })
    }

    /// Returns the callee of a call; `None` for other instructions.
    #[doc(hidden)]
    pub fn callee(&self) -> Option<Callee> {
        self.find(|reference| match reference {
            FieldReference::Operator(index) => Some(Callee::Operator(index)),
            FieldReference::Delegate(index) => Some(Callee::Delegate(index)),
            FieldReference::Operand(..) | FieldReference::Destination(_) | FieldReference::Args(_) => None,
        })
    }

    /// Returns source and target of a move; `None` for other instructions.
    ///
    /// ```
    /// use pte_model::program::{Instruction, ValueId};
    ///
    /// let instruction = Instruction::MoveCall { move_from: ValueId(2), move_to: ValueId(5) };
    /// assert_eq!(instruction.moved(), Some((ValueId(2), ValueId(5))));
    /// ```
    pub fn moved(&self) -> Option<(ValueId, ValueId)> {
        let operand = |access| {
            self.find(|reference| match reference {
                FieldReference::Operand(value, other) if other == access => Some(value),
                _ => None,
            })
        };
        operand(OperandAccess::Read).zip(operand(OperandAccess::Write))
    }

    /// Returns the values in separate fields, not in `args`: name of the field, index of the value, and effect.
    ///
    /// ```
    /// use pte_model::program::{Instruction, OperandAccess, ValueId};
    ///
    /// let instruction = Instruction::FreeCall { value_index: ValueId(3) };
    /// assert_eq!(instruction.operands().next(), Some(("value_index", ValueId(3), OperandAccess::Release)));
    /// ```
    pub fn operands(&self) -> impl Iterator<Item = (&'static str, ValueId, OperandAccess)> {
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

    /// Returns the destination of a jump: the index of the instruction in its chain that may be executed next instead
    /// of the following one. `None` for other instructions.
    pub fn destination(&self) -> Option<i32> {
        self.find(|reference| if let FieldReference::Destination(index) = reference { Some(index) } else { None })
    }
}

/// An instruction for [`merged`], which only distinguishes jumps and moves.
pub enum BranchStep<T> {
    /// A jump to an instruction of the same chain.
    Jump(usize),
    /// A move to a value.
    Move(T),
    /// Any other instruction.
    Other,
}

/// Returns the targets of the moves of branches, each with the position of the forward jump before the branch, where
/// the exporter assigns their indices (E-10).
pub fn merged<T>(chain: impl IntoIterator<Item = BranchStep<T>>) -> Vec<(usize, T)> {
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
