//! Emits the FlatBuffer of a program (`program.fbs`): each table with its fields in slot order, children first.
//!
//! The program and the plan determine which fields are present (W-14, W-15).

use std::io;

use super::encoding::FieldEncodings;
use super::flatbuffer::{FieldValue, FlatBuffer, Offset, Writer};
use crate::format::program as schema;
use crate::format::program::DataLocation;
use crate::format::program::*;
use crate::format::table::Union;
use crate::layout::{DelegateData, LayoutConfig, Plan, Segment, Storage};
use crate::program::attributes::{AttributeKind, TENSOR_ATTRIBUTES};
use crate::program::instruction::MAX_FIELDS;
use crate::program::{
    BackendDelegate, Chain, ContainerMetadata, EValue, ExecutionPlan, ExtraTensorInfo, FieldReference, Instruction,
    Program, StackFrame, Tensor,
};

/// Emits the FlatBuffer of `program`, without extended header, with `encodings` of its fields.
///
/// # Errors
/// A program too large for a FlatBuffer (2 GiB); inline data that cannot be read.
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
        let container = plan.container_meta_type.as_ref().map(|meta| self.container_metadata(meta));
        let values = plan.values.as_ref().map(|values| {
            values.iter().enumerate().map(|(index, value)| self.evalue(method, index, value)).collect::<Vec<_>>()
        });
        let values = self.w.tables(values.as_deref());
        let inputs = self.w.vector(plan.inputs.as_deref());
        let outputs = self.w.vector(plan.outputs.as_deref());
        let chains =
            plan.chains.as_ref().map(|chains| chains.iter().map(|chain| self.chain(chain)).collect::<Vec<_>>());
        let chains = self.w.tables(chains.as_deref());
        let operators = plan.operators.as_ref().map(|operators| {
            let mut tables = Vec::with_capacity(operators.len());
            for op in operators {
                let name = self.w.text(op.name.as_deref());
                let overload = self.w.text(op.overload.as_deref());
                tables.push(self.w.table(&OPERATOR, &[(operator::name, name), (operator::overload, overload)]));
            }
            tables
        });
        let operators = self.w.tables(operators.as_deref());
        let delegates = plan.delegates.as_ref().map(|delegates| {
            delegates
                .iter()
                .zip(&self.plan.delegates[method])
                .map(|(d, data)| self.delegate(d, *data))
                .collect::<Vec<_>>()
        });
        let delegates = self.w.tables(delegates.as_deref());
        let sizes = self.w.vector(Some(&memory.sizes));
        let devices = memory.devices.as_ref().map(|devices| {
            let mut tables = Vec::with_capacity(devices.len());
            for device in devices {
                let slots = [
                    (non_const_buffer_device::buffer_idx, FieldValue::Int(device.buffer_idx)),
                    (non_const_buffer_device::device_type, FieldValue::Byte(device.device.device_type.0 as u8)),
                    (non_const_buffer_device::device_index, FieldValue::Byte(device.device.index as u8)),
                ];
                tables.push(self.w.table(&NON_CONST_BUFFER_DEVICE, &slots));
            }
            tables
        });
        let devices = self.w.tables(devices.as_deref());
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

    fn container_metadata(&mut self, meta: &ContainerMetadata) -> Offset {
        let inputs = self.w.text(meta.encoded_inp_str.as_deref());
        let outputs = self.w.text(meta.encoded_out_str.as_deref());
        self.w.table(
            &CONTAINER_METADATA,
            &[(container_metadata::encoded_inp_str, inputs), (container_metadata::encoded_out_str, outputs)],
        )
    }

    fn evalue(&mut self, method: usize, index: usize, value: &EValue) -> Offset {
        let table = match value {
            EValue::Null => self.w.table(&NULL, &[]),
            EValue::Int(n) => self.w.table(&INT, &[(int::int_val, FieldValue::Long(*n))]),
            EValue::Bool(b) => self.w.table(&BOOL, &[(bool_::bool_val, FieldValue::Byte(u8::from(*b)))]),
            EValue::Double(x) => self.w.table(&DOUBLE, &[(double::double_val, FieldValue::Double(*x))]),
            EValue::Tensor(tensor) => self.tensor(method, index, tensor),
            EValue::String(text) => {
                let text = self.w.text(text.as_deref());
                self.w.table(&STRING, &[(string::string_val, text)])
            }
            EValue::IntList(items) => {
                let items = self.w.vector(items.as_deref());
                self.w.table(&INT_LIST, &[(int_list::items, items)])
            }
            EValue::DoubleList(items) => {
                let items = self.w.vector(items.as_deref());
                self.w.table(&DOUBLE_LIST, &[(double_list::items, items)])
            }
            EValue::BoolList(items) => {
                let items = self.w.vector(items.as_deref());
                self.w.table(&BOOL_LIST, &[(bool_list::items, items)])
            }
            EValue::TensorList(items) => {
                let items = self.w.vector(items.as_deref());
                self.w.table(&TENSOR_LIST, &[(tensor_list::items, items)])
            }
            EValue::OptionalTensorList(items) => {
                let items = self.w.vector(items.as_deref());
                self.w.table(&OPTIONAL_TENSOR_LIST, &[(optional_tensor_list::items, items)])
            }
        };
        self.union(&EVALUE, value.tag(), table)
    }

    /// Writes a table with only a union: tag in slot 0, value in slot 1.
    fn union(&mut self, table: &'static crate::format::TableSchema, tag: u8, value: Offset) -> Offset {
        self.w.table(table, &[(0, FieldValue::Byte(tag)), (1, FieldValue::Child(Some(value)))])
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
        let extra = t.extra_tensor_info.as_ref().map(|extra| self.extra_tensor_info(extra));
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

    fn extra_tensor_info(&mut self, extra: &ExtraTensorInfo) -> Offset {
        let name = self.w.text(extra.fully_qualified_name.as_deref());
        self.w.table(
            &EXTRA_TENSOR_INFO,
            &[
                (extra_tensor_info::mutable_data_segments_idx, FieldValue::ULong(extra.mutable_data_segments_idx)),
                (extra_tensor_info::fully_qualified_name, name),
                (extra_tensor_info::location, FieldValue::Byte(extra.location.0 as u8)),
                (extra_tensor_info::device_type, FieldValue::Byte(extra.device.device_type.0 as u8)),
                (extra_tensor_info::device_index, FieldValue::Byte(extra.device.index as u8)),
            ],
        )
    }

    fn chain(&mut self, c: &Chain) -> Offset {
        let inputs = self.w.vector(c.inputs.as_deref());
        let outputs = self.w.vector(c.outputs.as_deref());
        let instructions =
            c.instructions.as_ref().map(|list| list.iter().map(|i| self.instruction(i)).collect::<Vec<_>>());
        let instructions = self.w.tables(instructions.as_deref());
        let traces = c
            .stacktrace
            .as_ref()
            .map(|traces| traces.iter().map(|t| self.frame_list(t.as_deref())).collect::<Vec<_>>());
        let traces = self.w.tables(traces.as_deref());
        self.w.table(
            &CHAIN,
            &[
                (chain::inputs, inputs),
                (chain::outputs, outputs),
                (chain::instructions, instructions),
                (chain::stacktrace, traces),
            ],
        )
    }

    fn instruction(&mut self, instruction: &Instruction) -> Offset {
        let mut slots = [(0, FieldValue::Int(0)); MAX_FIELDS];
        let mut count = 0;
        for field in instruction.fields() {
            let value = match field.reference {
                FieldReference::Args(args) => self.w.vector(args),
                FieldReference::Operator(index)
                | FieldReference::Delegate(index)
                | FieldReference::Operand(index, _)
                | FieldReference::Destination(index) => FieldValue::Int(index),
            };
            slots[count] = (field.slot, value);
            count += 1;
        }
        let kind = instruction.kind();
        let table = self.w.table(kind.table(), &slots[..count]);
        self.union(&INSTRUCTION, kind.tag(), table)
    }

    fn frame_list(&mut self, frames: Option<&[StackFrame]>) -> Offset {
        let frames = frames.map(|frames| frames.iter().map(|f| self.frame(f)).collect::<Vec<_>>());
        let frames = self.w.tables(frames.as_deref());
        self.w.table(&FRAME_LIST, &[(frame_list::items, frames)])
    }

    fn frame(&mut self, f: &StackFrame) -> Offset {
        let filename = self.w.text(f.filename.as_deref());
        let name = self.w.text(f.name.as_deref());
        let context = self.w.text(f.context.as_deref());
        self.w.table(
            &FRAME,
            &[
                (frame::filename, filename),
                (frame::lineno, FieldValue::Int(f.lineno)),
                (frame::name, name),
                (frame::context, context),
            ],
        )
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
        let specs = delegate.compile_specs.as_ref().map(|specs| {
            let mut tables = Vec::with_capacity(specs.len());
            for spec in specs {
                let key = self.w.text(spec.key.as_deref());
                let value = self.w.vector(spec.value.as_deref());
                tables.push(self.w.table(&COMPILE_SPEC, &[(compile_spec::key, key), (compile_spec::value, value)]));
            }
            tables
        });
        let specs = self.w.tables(specs.as_deref());
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
