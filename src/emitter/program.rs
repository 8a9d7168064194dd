//! Emits the FlatBuffer of a program (`program.fbs`): each table with its fields in slot order, children first.
//!
//! The program and the plan determine which fields are present (W-14, W-15).

use std::io;

use super::encoding::FieldEncodings;
use super::flatbuffer::{FieldValue, FlatBuffer, Offset, Writer};
use super::newer::NewerWriter;
use super::table::{EmitField, EmitTable, slots, table, tables};
use crate::layout::{DelegateData, LayoutConfig, Plan, Segment, Storage};
use pte_model::data::BlobId;
use pte_model::format::program as schema;
use pte_model::format::program::DataLocation;
use pte_model::format::program::*;
use pte_model::format::table::Union;
use pte_model::program::attributes::{AttributeKind, TENSOR_ATTRIBUTES};
use pte_model::program::instruction::MAX_FIELDS;
use pte_model::program::tables::value_tables;
use pte_model::program::{
    BackendDelegate, Chain, EValue, ExecutionPlan, FieldReference, Instruction, Program, StackFrame, Tensor,
};

/// Emits the FlatBuffer of `program`, without extended header, with `encodings` of its fields.
///
/// # Errors
/// The program is too large for a FlatBuffer (2 GiB), or inline data cannot be read.
pub fn emit(
    program: &Program,
    plan: &Plan,
    options: &LayoutConfig,
    encodings: Option<&FieldEncodings>,
) -> io::Result<FlatBuffer> {
    let emit = |encodings: Option<&FieldEncodings>, newer: Option<NewerWriter<'_>>| {
        let w = Writer::new(options.builder, options.strings, encodings).with_newer(newer);
        let mut emitter = Emitter { w, program, plan, options };
        let root = emitter.program()?;
        emitter.w.finish(root, schema::IDENTIFIER, "the program without its segments")
    };
    let Some(parts) = program.newer_parts() else { return emit(encodings, None) };
    let default = FieldEncodings::default();
    let plain = emit(Some(&default), None)?;
    let newer = NewerWriter::new(program, parts, (&plain, &plain.tables), &PROGRAM)?;
    emit(Some(encodings.unwrap_or(&default)), Some(newer))
}

struct Emitter<'a> {
    w: Writer<'a>,
    program: &'a Program,
    plan: &'a Plan,
    options: &'a LayoutConfig,
}

impl Emitter<'_> {
    fn program(&mut self) -> io::Result<Offset> {
        let states = self.plan.mutable_data.as_ref();
        Ok(table!(self.w, PROGRAM program {
            version: self.program.version,
            execution_plan: list(&self.program.execution_plan, |method, plan| self.execution_plan(method, plan)),
            constant_buffer: self.buffers()?,
            backend_delegate_data: self.inline_delegates()?,
            segments: self.plan.segments,
            constant_segment: self.subsegments(0, &self.plan.constant_offsets),
            mutable_data_segments: states.map(|(segment, offsets)| vec![self.subsegments(*segment, offsets)]),
            named_data: list(&self.program.named_data, |index, entry| table!(self.w, NAMED_DATA named_data {
                key: entry.key,
                segment_index: self.plan.named_data[index],
            })),
        }))
    }

    fn buffers(&mut self) -> io::Result<Vec<Offset>> {
        let buffer = |blob: &Option<BlobId>| {
            let alignment = self.options.tensor_alignment;
            Ok(table!(self.w, BUFFER buffer {
                storage: match blob {
                    Some(id) => self.w.aligned_blob(self.program.blob(*id), alignment)?,
                    None => self.w.aligned_bytes(&[], alignment),
                },
            }))
        };
        self.plan.constant_buffer.iter().map(buffer).collect()
    }

    fn inline_delegates(&mut self) -> io::Result<Vec<Offset>> {
        let entry = |id: &BlobId| {
            Ok(table!(self.w, BACKEND_DELEGATE_INLINE_DATA backend_delegate_inline_data {
                data: self.w.aligned_blob(self.program.blob(*id), self.options.delegate_alignment)?,
            }))
        };
        self.plan.inline_delegates.iter().map(entry).collect()
    }

    fn subsegments(&mut self, segment: u32, offsets: &[u64]) -> Offset {
        table!(self.w, SUBSEGMENT_OFFSETS subsegment_offsets { segment_index: segment, offsets: self.w.vector(offsets) })
    }

    fn execution_plan(&mut self, method: usize, plan: &ExecutionPlan) -> Offset {
        let memory = &self.plan.memory[method];
        table!(self.w, EXECUTION_PLAN execution_plan {
            name: plan.name,
            container_meta_type: plan.container_meta_type,
            values: list(&plan.values, |index, value| self.evalue(method, index, value)),
            inputs: plan.inputs,
            outputs: plan.outputs,
            chains: plan.chains,
            operators: plan.operators,
            delegates: list(&plan.delegates, |index, delegate| self.delegate(delegate, self.plan.delegates[method][index])),
            non_const_buffer_sizes: memory.sizes,
            non_const_buffer_device: memory.devices,
        })
    }

    fn tensor(&mut self, method: usize, index: usize, t: &Tensor) -> Offset {
        let place = self.plan.memory[method].places[index];
        let mut slots = slots!(
            self.w,
            tensor {
                scalar_type: t.scalar_type,
                sizes: t.sizes,
                dim_order: t.dim_order,
                data_buffer_idx: self.plan.buffer_index[method][index],
                allocation_info: place.map(|(pool, offset)| table!(self.w, ALLOCATION_DETAILS allocation_details {
                    memory_id: pool,
                    memory_offset_low: offset as u32,
                    memory_offset_high: (offset >> 32) as u32,
                })),
                extra_tensor_info: t.extra_tensor_info,
            }
        )
        .to_vec();
        slots.extend(TENSOR_ATTRIBUTES.iter().map(|attribute| {
            let value = (attribute.get)(t);
            let content = match attribute.kind {
                AttributeKind::Bool | AttributeKind::Byte(_) => FieldValue::Byte(value as u8),
                AttributeKind::Int => FieldValue::Int(value),
            };
            (attribute.slot, content)
        }));
        slots.sort_unstable_by_key(|(slot, _)| *slot);
        self.w.table(&TENSOR, &slots)
    }

    fn delegate(&mut self, delegate: &BackendDelegate, data: DelegateData) -> Offset {
        table!(self.w, BACKEND_DELEGATE backend_delegate {
            id: delegate.id,
            processed: table!(self.w, BACKEND_DELEGATE_DATA_REFERENCE backend_delegate_data_reference {
                location: match data.storage {
                    Storage::Segment => DataLocation::SEGMENT,
                    Storage::Inline => DataLocation::INLINE,
                },
                index: data.index,
            }),
            compile_specs: delegate.compile_specs,
        })
    }
}

/// Writes the items of a list, each with its index.
fn list<T>(items: &Option<Vec<T>>, mut write: impl FnMut(usize, &T) -> Offset) -> Option<Vec<Offset>> {
    let items = items.as_ref()?.iter().enumerate();
    Some(items.map(|(index, item)| write(index, item)).collect())
}

// The reader reads instructions apart from their chains, and segments as ranges of the file.
tables! {
    Chain = CHAIN chain { inputs, outputs, instructions, stacktrace }
    Segment = DATA_SEGMENT data_segment { offset, size }
}

/// Frames of an instruction.
impl EmitTable for Option<Vec<StackFrame>> {
    fn table(&self, w: &mut Writer<'_>) -> Offset {
        table!(*w, FRAME_LIST frame_list { items: self })
    }
}

impl EmitTable for Instruction {
    fn table(&self, w: &mut Writer<'_>) -> Offset {
        let mut slots = [(0, FieldValue::Int(0)); MAX_FIELDS];
        let mut count = 0;
        for field in self.fields() {
            let value = match field.reference {
                FieldReference::Args(args) => args.emit(w),
                FieldReference::Operator(id) => FieldValue::Int(id.0),
                FieldReference::Delegate(id) => FieldValue::Int(id.0),
                FieldReference::Operand(id, _) => FieldValue::Int(id.0),
                FieldReference::Destination(index) => FieldValue::Int(index),
            };
            slots[count] = (field.slot, value);
            count += 1;
        }
        // The instruction of a newer schema is one of its unknown parts.
        let table = self.kind().map(|kind| w.table(kind.table(), &slots[..count]));
        table!(*w, INSTRUCTION instruction { instr_args_type: self.tag(), instr_args: table })
    }
}

macro_rules! values {
    ($( $variant:ident = $table:ident $module:ident $field:ident; )*) => {
        impl Emitter<'_> {
            fn evalue(&mut self, method: usize, index: usize, value: &EValue) -> Offset {
                let table = match value {
                    EValue::Null => Some(self.w.table(&NULL, &[])),
                    EValue::Tensor(tensor) => Some(self.tensor(method, index, tensor)),
                    // It is one of the unknown parts.
                    EValue::Unknown(_) => None,
                    $( EValue::$variant(content) => Some(table!(self.w, $table $module { $field: content })), )*
                };
                table!(self.w, EVALUE evalue { val_type: value.tag(), val: table })
            }
        }
    };
}

value_tables!(values);
