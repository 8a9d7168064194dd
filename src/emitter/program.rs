//! Emits the FlatBuffer of a program (`program.fbs`): each table with its fields in slot order, children first.
//!
//! The program and the plan determine which fields are present (W-14, W-15).

use std::io;

use super::encoding::FieldEncodings;
use super::flatbuffer::{FieldValue, FlatBuffer, Offset, Writer};
use crate::format::TableSchema;
use crate::format::program as schema;
use crate::format::program::DataLocation;
use crate::format::program::*;
use crate::format::table::Union;
use crate::layout::{DelegateData, LayoutConfig, Plan, Segment, Storage};
use crate::program::attributes::{AttributeKind, TENSOR_ATTRIBUTES};
use crate::program::instruction::MAX_FIELDS;
use crate::program::tables::{model_tables, value_tables};
use crate::program::{
    BackendDelegate, Chain, CompileSpec, ContainerMetadata, EValue, ExecutionPlan, ExtraTensorInfo, FieldReference,
    Instruction, Ints, NonConstBufferDevice, Operator, Program, StackFrame, Tensor, ValueId,
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
    let w = Writer::new(options.builder, options.strings, encodings);
    let mut emitter = Emitter { w, program, plan, options };
    let root = emitter.program()?;
    emitter.w.finish(root, schema::IDENTIFIER, "the program without its segments")
}

struct Emitter<'a> {
    w: Writer<'a>,
    program: &'a Program,
    plan: &'a Plan,
    options: &'a LayoutConfig,
}

impl Emitter<'_> {
    fn program(&mut self) -> io::Result<Offset> {
        let plans = self.program.execution_plan.as_ref().map(|plans| {
            plans.iter().enumerate().map(|(method, plan)| self.execution_plan(method, plan)).collect::<Vec<_>>()
        });
        let plans = self.w.tables(plans.as_deref());
        let buffers = self.buffers()?;
        let inline = self.inline_delegates()?;
        let segments = segments(&mut self.w, &self.plan.segments);
        let constants = self.subsegments(0, &self.plan.constant_offsets);
        let mutable =
            self.plan.mutable_data.as_ref().map(|(segment, offsets)| vec![self.subsegments(*segment, offsets)]);
        let mutable = self.w.tables(mutable.as_deref());
        let named = self.named_data();
        Ok(self.w.table(
            &PROGRAM,
            &[
                (program::version, FieldValue::UInt(self.program.version)),
                (program::execution_plan, plans),
                (program::constant_buffer, buffers),
                (program::backend_delegate_data, inline),
                (program::segments, segments),
                (program::constant_segment, FieldValue::Child(Some(constants))),
                (program::mutable_data_segments, mutable),
                (program::named_data, named),
            ],
        ))
    }

    fn buffers(&mut self) -> io::Result<FieldValue> {
        let mut buffers = Vec::with_capacity(self.plan.constant_buffer.len());
        for blob in &self.plan.constant_buffer {
            let storage = match blob {
                Some(id) => self.w.aligned_blob(self.program.blob(*id), self.options.tensor_alignment)?,
                None => self.w.aligned_bytes(&[], self.options.tensor_alignment),
            };
            buffers.push(self.w.table(&BUFFER, &[(buffer::storage, storage)]));
        }
        Ok(self.w.tables(Some(&buffers)))
    }

    fn inline_delegates(&mut self) -> io::Result<FieldValue> {
        let mut entries = Vec::with_capacity(self.plan.inline_delegates.len());
        for id in &self.plan.inline_delegates {
            let data = self.w.aligned_blob(self.program.blob(*id), self.options.delegate_alignment)?;
            entries.push(self.w.table(&BACKEND_DELEGATE_INLINE_DATA, &[(backend_delegate_inline_data::data, data)]));
        }
        Ok(self.w.tables(Some(&entries)))
    }

    fn subsegments(&mut self, segment: u32, offsets: &[u64]) -> Offset {
        let offsets = self.w.vector(Some(offsets));
        self.w.table(
            &SUBSEGMENT_OFFSETS,
            &[(subsegment_offsets::segment_index, FieldValue::UInt(segment)), (subsegment_offsets::offsets, offsets)],
        )
    }

    fn named_data(&mut self) -> FieldValue {
        let Some(entries) = &self.program.named_data else { return FieldValue::Child(None) };
        let mut tables = Vec::with_capacity(entries.len());
        for (entry, segment) in entries.iter().zip(&self.plan.named_data) {
            let key = self.w.string(&entry.key);
            let slots = [(named_data::key, key), (named_data::segment_index, FieldValue::UInt(*segment))];
            tables.push(self.w.table(&NAMED_DATA, &slots));
        }
        self.w.tables(Some(&tables))
    }

    fn execution_plan(&mut self, method: usize, plan: &ExecutionPlan) -> Offset {
        let memory = &self.plan.memory[method];
        let name = self.w.text(plan.name.as_deref());
        let container = plan.container_meta_type.as_ref().map(|meta| meta.table(&mut self.w));
        let values = plan.values.as_ref().map(|values| {
            values.iter().enumerate().map(|(index, value)| self.evalue(method, index, value)).collect::<Vec<_>>()
        });
        let values = self.w.tables(values.as_deref());
        let inputs = plan.inputs.emit(&mut self.w);
        let outputs = plan.outputs.emit(&mut self.w);
        let chains = plan.chains.emit(&mut self.w);
        let operators = plan.operators.emit(&mut self.w);
        let delegates = plan.delegates.as_ref().map(|delegates| {
            delegates
                .iter()
                .zip(&self.plan.delegates[method])
                .map(|(d, data)| self.delegate(d, *data))
                .collect::<Vec<_>>()
        });
        let delegates = self.w.tables(delegates.as_deref());
        let sizes = self.w.vector(Some(&memory.sizes));
        let devices = memory.devices.emit(&mut self.w);
        self.w.table(
            &EXECUTION_PLAN,
            &[
                (execution_plan::name, name),
                (execution_plan::container_meta_type, FieldValue::Child(container)),
                (execution_plan::values, values),
                (execution_plan::inputs, inputs),
                (execution_plan::outputs, outputs),
                (execution_plan::chains, chains),
                (execution_plan::operators, operators),
                (execution_plan::delegates, delegates),
                (execution_plan::non_const_buffer_sizes, sizes),
                (execution_plan::non_const_buffer_device, devices),
            ],
        )
    }

    fn tensor(&mut self, method: usize, index: usize, t: &Tensor) -> Offset {
        let sizes = self.w.vector(t.sizes.as_deref());
        let dim_order = self.w.vector(t.dim_order.as_deref());
        let allocation = self.plan.memory[method].places[index].map(|(pool, offset)| {
            let slots = [
                (allocation_details::memory_id, FieldValue::UInt(pool)),
                (allocation_details::memory_offset_low, FieldValue::UInt(offset as u32)),
                (allocation_details::memory_offset_high, FieldValue::UInt((offset >> 32) as u32)),
            ];
            self.w.table(&ALLOCATION_DETAILS, &slots)
        });
        let extra = t.extra_tensor_info.as_ref().map(|extra| extra.table(&mut self.w));
        let mut slots = vec![
            (tensor::scalar_type, FieldValue::Byte(t.scalar_type.0 as u8)),
            (tensor::sizes, sizes),
            (tensor::dim_order, dim_order),
            (tensor::data_buffer_idx, FieldValue::UInt(self.plan.buffer_index[method][index])),
            (tensor::allocation_info, FieldValue::Child(allocation)),
            (tensor::extra_tensor_info, FieldValue::Child(extra)),
        ];
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
        let id = self.w.text(delegate.id.as_deref());
        let location = if data.storage == Storage::Segment { DataLocation::SEGMENT } else { DataLocation::INLINE };
        let processed = self.w.table(
            &BACKEND_DELEGATE_DATA_REFERENCE,
            &[
                (backend_delegate_data_reference::location, FieldValue::Byte(location.0 as u8)),
                (backend_delegate_data_reference::index, FieldValue::UInt(data.index)),
            ],
        );
        let specs = delegate.compile_specs.emit(&mut self.w);
        self.w.table(
            &BACKEND_DELEGATE,
            &[
                (backend_delegate::id, id),
                (backend_delegate::processed, FieldValue::Child(Some(processed))),
                (backend_delegate::compile_specs, specs),
            ],
        )
    }
}

/// Writes a table with only a union: tag in slot 0, value in slot 1.
fn union(w: &mut Writer<'_>, table: &'static TableSchema, tag: u8, value: Offset) -> Offset {
    w.table(table, &[(0, FieldValue::Byte(tag)), (1, FieldValue::Child(Some(value)))])
}

/// A part of the model that is a table.
trait EmitTable {
    /// Writes the table, its children first.
    fn table(&self, w: &mut Writer<'_>) -> Offset;
}

/// A field of a table.
trait EmitField {
    /// Writes the object that the field refers to, and returns the content of the field.
    fn emit(&self, w: &mut Writer<'_>) -> FieldValue;
}

macro_rules! fields {
    ($( $type:ty = |$value:ident, $w:ident| $content:expr; )*) => {$(
        impl EmitField for $type {
            fn emit(&self, $w: &mut Writer<'_>) -> FieldValue {
                let $value = self;
                $content
            }
        }
    )*};
}

fields! {
    bool = |value, _w| FieldValue::Byte((*value).into());
    i8 = |value, _w| FieldValue::Byte(*value as u8);
    TensorDataLocation = |value, _w| FieldValue::Byte(value.0 as u8);
    DeviceType = |value, _w| FieldValue::Byte(value.0 as u8);
    i32 = |value, _w| FieldValue::Int(*value);
    i64 = |value, _w| FieldValue::Long(*value);
    u64 = |value, _w| FieldValue::ULong(*value);
    f64 = |value, _w| FieldValue::Double(*value);
    Option<String> = |value, w| w.text(value.as_deref());
    Option<Vec<u8>> = |value, w| w.vector(value.as_deref());
    Option<Vec<bool>> = |value, w| w.vector(value.as_deref());
    Option<Vec<i32>> = |value, w| w.vector(value.as_deref());
    Option<Vec<ValueId>> = |value, w| ids(value.as_deref(), w);
    Option<Vec<i64>> = |value, w| w.vector(value.as_deref());
    Option<Vec<f64>> = |value, w| w.vector(value.as_deref());
}

/// Writes a list of values.
fn ids(ids: Option<&[ValueId]>, w: &mut Writer<'_>) -> FieldValue {
    let numbers = ids.map(|ids| ids.iter().map(|id| id.0).collect::<Ints<6>>());
    w.vector(numbers.as_deref())
}

impl<T: EmitTable> EmitField for Option<Vec<T>> {
    fn emit(&self, w: &mut Writer<'_>) -> FieldValue {
        let tables = self.as_ref().map(|items| items.iter().map(|item| item.table(w)).collect::<Vec<_>>());
        w.tables(tables.as_deref())
    }
}

macro_rules! tables {
    ($( $name:ident = $table:ident $module:ident { $( $field:ident ),* } $( (without $rest:ident) )? )*) => {$(
        impl EmitTable for $name {
            fn table(&self, w: &mut Writer<'_>) -> Offset {
                let slots = [$( ($module::$field, self.$field.emit(w)) ),*];
                w.table(&$table, &slots)
            }
        }
    )*};
}

model_tables!(tables);
// The reader reads instructions apart from their chains.
tables! {
    Chain = CHAIN chain { inputs, outputs, instructions, stacktrace }
}

/// Frames of an instruction.
impl EmitTable for Option<Vec<StackFrame>> {
    fn table(&self, w: &mut Writer<'_>) -> Offset {
        let items = self.emit(w);
        w.table(&FRAME_LIST, &[(frame_list::items, items)])
    }
}

impl EmitTable for Instruction {
    fn table(&self, w: &mut Writer<'_>) -> Offset {
        let mut slots = [(0, FieldValue::Int(0)); MAX_FIELDS];
        let mut count = 0;
        for field in self.fields() {
            let value = match field.reference {
                FieldReference::Args(args) => ids(args, w),
                FieldReference::Operator(id) => FieldValue::Int(id.0),
                FieldReference::Delegate(id) => FieldValue::Int(id.0),
                FieldReference::Operand(id, _) => FieldValue::Int(id.0),
                FieldReference::Destination(index) => FieldValue::Int(index),
            };
            slots[count] = (field.slot, value);
            count += 1;
        }
        let kind = self.kind();
        let table = w.table(kind.table(), &slots[..count]);
        union(w, &INSTRUCTION, kind.tag(), table)
    }
}

macro_rules! values {
    ($( $variant:ident = $table:ident $module:ident $field:ident; )*) => {
        impl Emitter<'_> {
            fn evalue(&mut self, method: usize, index: usize, value: &EValue) -> Offset {
                let table = match value {
                    EValue::Null => self.w.table(&NULL, &[]),
                    EValue::Tensor(tensor) => self.tensor(method, index, tensor),
                    $( EValue::$variant(content) => {
                        let content = content.emit(&mut self.w);
                        self.w.table(&$table, &[($module::$field, content)])
                    } )*
                };
                union(&mut self.w, &EVALUE, value.tag(), table)
            }
        }
    };
}

value_tables!(values);

/// Writes the vector of segments, which `.pte` and `.ptd` share.
pub(super) fn segments(w: &mut Writer<'_>, segments: &[Segment]) -> FieldValue {
    let mut tables = Vec::with_capacity(segments.len());
    for segment in segments {
        let slots = [
            (data_segment::offset, FieldValue::ULong(segment.offset)),
            (data_segment::size, FieldValue::ULong(segment.size)),
        ];
        tables.push(w.table(&DATA_SEGMENT, &slots));
    }
    w.tables(Some(&tables))
}

#[cfg(test)]
mod tests;
