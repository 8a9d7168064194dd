//! An upper bound of a FlatBuffer's size, so that one that cannot be is refused before it is built: the crate itself
//! goes on past 2 GiB and finishes a corrupt buffer.

use std::io;

use crate::format::container::MAX_FLATBUFFER;
use crate::layout::{ExternalFile, Plan};
use crate::program::{EValue, Instruction, Program};

/// More than any of our tables takes with its vtable, its place in a vector and padding.
const TABLE: u64 = 96;

/// More than a vector's or string's length, terminator and padding take.
const VECTOR: u64 = 16;

/// Refuses more than a FlatBuffer holds.
pub fn check(size: u64, what: &str) -> io::Result<()> {
    if size <= MAX_FLATBUFFER {
        return Ok(());
    }
    Err(io::Error::new(
        io::ErrorKind::FileTooLarge,
        format!(
            "{what} may take {size} bytes; a FlatBuffer holds {MAX_FLATBUFFER}. Inline constants and payloads belong in segments"
        ),
    ))
}

fn text(text: Option<&String>) -> u64 {
    text.map_or(0, |text| text.len() as u64 + VECTOR)
}

fn list<T>(items: Option<&[T]>) -> u64 {
    items.map_or(0, |items| items.len() as u64 * size_of::<T>() as u64 + VECTOR)
}

/// Not less than the FlatBuffer of a program takes.
pub fn of_program(program: &Program, plan: &Plan) -> u64 {
    let mut size = 1024 + TABLE * plan.segments.len() as u64 + 8 * plan.constant_offsets.len() as u64;
    size += plan.mutable_data.as_ref().map_or(0, |(_, offsets)| 8 * offsets.len() as u64);
    let inline = plan.constant_buffer.iter().flatten().chain(&plan.inline_delegates);
    let inline = inline.map(|blob| program.blob(*blob).len.saturating_add(TABLE + 65536));
    size = inline.chain([TABLE]).fold(size, u64::saturating_add);
    size += program.named_data.iter().flatten().map(|data| TABLE + VECTOR + data.key.len() as u64).sum::<u64>();
    for (execution_plan, memory) in program.plans().iter().zip(&plan.memory) {
        size += 4 * TABLE + text(execution_plan.name.as_ref()) + list(execution_plan.inputs.as_deref());
        size +=
            list(execution_plan.outputs.as_deref()) + list(Some(&memory.sizes)) + list(memory.devices.as_deref()) * 8;
        if let Some(meta) = &execution_plan.container_meta_type {
            size += text(meta.encoded_inp_str.as_ref()) + text(meta.encoded_out_str.as_ref());
        }
        size += execution_plan.values().iter().map(of_value).sum::<u64>();
        for operator in execution_plan.operators.iter().flatten() {
            size += TABLE + text(operator.name.as_ref()) + text(operator.overload.as_ref());
        }
        for delegate in execution_plan.delegates() {
            size += 2 * TABLE + text(delegate.id.as_ref());
            for spec in delegate.compile_specs.iter().flatten() {
                size += TABLE + text(spec.key.as_ref()) + list(spec.value.as_deref());
            }
        }
        for chain in execution_plan.chains.iter().flatten() {
            size += TABLE + list(chain.inputs.as_deref()) + list(chain.outputs.as_deref());
            for instruction in chain.instructions.iter().flatten() {
                size += 2 * TABLE;
                if let Instruction::KernelCall { args, .. } | Instruction::DelegateCall { args, .. } = instruction {
                    size += list(args.as_deref());
                }
            }
            for frame in chain.stacktrace.iter().flatten().flatten().flatten() {
                size += 2 * TABLE
                    + text(frame.filename.as_ref())
                    + text(frame.name.as_ref())
                    + text(frame.context.as_ref());
            }
            size += TABLE * chain.stacktrace.as_ref().map_or(0, Vec::len) as u64;
        }
    }
    size
}

fn of_value(value: &EValue) -> u64 {
    2 * TABLE
        + match value {
            EValue::Null | EValue::Int(_) | EValue::Bool(_) | EValue::Double(_) => 0,
            EValue::String(string) => text(string.as_ref()),
            EValue::IntList(items) => list(items.as_deref()),
            EValue::DoubleList(items) => list(items.as_deref()),
            EValue::BoolList(items) => list(items.as_deref()),
            EValue::TensorList(items) | EValue::OptionalTensorList(items) => list(items.as_deref()),
            EValue::Tensor(tensor) => {
                let name = tensor.extra_tensor_info.as_ref().and_then(|extra| extra.fully_qualified_name.as_ref());
                2 * TABLE
                    + list(tensor.sizes.as_deref())
                    + tensor.dim_order.as_ref().map_or(0, |order| VECTOR + order.len() as u64)
                    + text(name)
            }
        }
}

/// Not less than the FlatBuffer of a `.ptd` takes.
pub fn of_flat_tensor(file: &ExternalFile) -> u64 {
    let entry = |data: &crate::layout::external::NamedData| {
        let layout = data.tensor_layout.as_ref().map_or(0, |l| list(Some(&l.sizes)) + list(Some(&l.dim_order)));
        2 * TABLE + VECTOR + data.key.len() as u64 + layout
    };
    1024 + TABLE * file.segments.len() as u64 + file.named_data.iter().map(entry).sum::<u64>()
}
