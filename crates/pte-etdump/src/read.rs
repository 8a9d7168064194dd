//! Reads an ETDump. The bytes are untrusted: work and memory are proportional to their number.

use std::fmt;

use super::dump::{
    AllocationEvent, DebugEvent, DelegateEventId, EtDump, Event, InstructionIndex, ProfileEvent, Run, TracedValue,
};
use super::schema::{
    ALLOCATION_EVENT, ALLOCATOR, BOOL, DEBUG_EVENT, DOUBLE, ETDUMP, EVENT, FLOAT, IDENTIFIER, INT, PROFILE_EVENT,
    RUN_DATA, TENSOR, TENSOR_LIST, VALUE, allocation_event, allocator, bool_, debug_event, double, etdump, event,
    float, int, profile_event, run_data, tensor, tensor_list, value, value_type,
};
use super::tensor::TracedTensor;
use pte_model::format::ScalarType;
use pte_model::format::container::MAX_FLATBUFFER;
use pte_model::format::flatbuffer;
use pte_model::format::flatbuffer::read::{Buffer, Result, TableRef};

/// Reason why a file is not an ETDump: location, value found, value expected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DumpError(String);

impl fmt::Display for DumpError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for DumpError {}

impl EtDump {
    /// Reads the bytes of a file.
    ///
    /// ```
    /// use pte_etdump::EtDump;
    ///
    /// let error = EtDump::read(b"\x08\0\0\0ET12\0\0\0\0").unwrap_err();
    /// assert_eq!(error.to_string(), r#"expected the file identifier "ED00", found "ET12" (at byte 0x4)"#);
    /// assert!(EtDump::read(b"").unwrap_err().to_string().starts_with("the file is empty"));
    /// ```
    ///
    /// # Errors
    /// The file is empty, not an ETDump, or malformed.
    pub fn read(bytes: &[u8]) -> std::result::Result<EtDump, DumpError> {
        if bytes.is_empty() {
            return Err(DumpError(
                "the file is empty: the runtime recorded nothing, or was built without event tracing".into(),
            ));
        }
        if bytes.len() as u64 > MAX_FLATBUFFER {
            return Err(DumpError(format!("an ETDump of {} bytes, expected at most {MAX_FLATBUFFER}", bytes.len())));
        }
        let start = prefix(bytes).map_err(DumpError)?;
        let buffer = Buffer::new(&bytes[start..]);
        buffer.root(IDENTIFIER, &ETDUMP).and_then(|root| dump(&root)).map_err(|mut error| {
            error.offset = error.offset.saturating_add(start as u64);
            DumpError(error.to_string())
        })
    }
}

/// Returns the length of the prefix, which has the size of the FlatBuffer after it; 0 for a file without one. The
/// runtime always writes it.
fn prefix(bytes: &[u8]) -> std::result::Result<usize, String> {
    const PREFIX: usize = 4;
    if bytes.get(PREFIX + 4..PREFIX + 8) != Some(IDENTIFIER.as_bytes()) {
        return Ok(0);
    }
    let stated = flatbuffer::u32_at(bytes, 0).unwrap_or_default();
    let found = bytes.len() - PREFIX;
    match stated as usize == found {
        true => Ok(PREFIX),
        false => Err(format!(
            "the size in the first four bytes is {stated}, but {found} bytes follow: the file is incomplete"
        )),
    }
}

fn dump(t: &TableRef<'_, '_>) -> Result<EtDump> {
    let runs = t.children(etdump::run_data, &RUN_DATA, |t| run(&t))?;
    Ok(EtDump { version: t.u32(etdump::version)?, runs: runs.unwrap_or_default() })
}

fn run(t: &TableRef<'_, '_>) -> Result<Run> {
    let allocators = t.children(run_data::allocators, &ALLOCATOR, |t| t.text(allocator::name))?;
    let events = t.children(run_data::events, &EVENT, |t| event(&t))?;
    Ok(Run {
        name: t.text(run_data::name)?.unwrap_or_default(),
        bundled_input: or_minus_1(t, run_data::bundled_input_index)?,
        allocators: allocators.unwrap_or_default().into_iter().map(Option::unwrap_or_default).collect(),
        events: events.unwrap_or_default(),
    })
}

/// Returns a field whose default is -1; `None` for -1.
fn or_minus_1(t: &TableRef<'_, '_>, slot: u16) -> Result<Option<u32>> {
    if !t.has(slot)? {
        return Ok(None);
    }
    match t.i32(slot)? {
        -1 => Ok(None),
        number => match u32::try_from(number) {
            Ok(number) => Ok(Some(number)),
            Err(_) => t.wrong(slot, format!("found {number}, expected -1 or a number from 0 on")),
        },
    }
}

fn event(t: &TableRef<'_, '_>) -> Result<Event> {
    let profile = t.child(event::profile_event, &PROFILE_EVENT)?;
    let allocation = t.child(event::allocation_event, &ALLOCATION_EVENT)?;
    let debug = t.child(event::debug_event, &DEBUG_EVENT)?;
    match (profile, allocation, debug) {
        (Some(t), None, None) => profile_event(&t).map(Event::Profile),
        (None, Some(t), None) => Ok(Event::Allocation(AllocationEvent {
            allocator: t.i32(allocation_event::allocator_id)?,
            size: t.u64(allocation_event::allocation_size)?,
        })),
        (None, None, Some(t)) => debug_event(&t).map(Event::Debug),
        (profile, allocation, debug) => {
            let count =
                [profile.is_some(), allocation.is_some(), debug.is_some()].map(usize::from).iter().sum::<usize>();
            t.wrong(event::profile_event, format!("an event with {count} of its three fields, expected one"))
        }
    }
}

fn profile_event(t: &TableRef<'_, '_>) -> Result<ProfileEvent> {
    let chain = match t.i32(profile_event::chain_index)? {
        -1 => None,
        chain => match u32::try_from(chain) {
            Ok(chain) => Some(chain),
            Err(_) => {
                return t
                    .wrong(profile_event::chain_index, format!("found {chain}, expected -1 or the index of a chain"));
            }
        },
    };
    Ok(ProfileEvent {
        name: t.text(profile_event::name)?,
        instruction: instruction(chain, or_minus_1(t, profile_event::instruction_id)?),
        delegate: delegate(t, profile_event::delegate_debug_id_int, profile_event::delegate_debug_id_str)?,
        metadata: t.bytes(profile_event::delegate_debug_metadata)?.unwrap_or_default().to_vec(),
        start: t.u64(profile_event::start_time)?,
        end: t.u64(profile_event::end_time)?,
    })
}

fn debug_event(t: &TableRef<'_, '_>) -> Result<DebugEvent> {
    // The runtime stores its 32-bit -1 as an unsigned number of 64 bits.
    let chain = match t.u64(debug_event::chain_index)? {
        u64::MAX => None,
        chain => match u32::try_from(chain) {
            Ok(chain) => Some(chain),
            Err(_) => {
                return t.wrong(debug_event::chain_index, format!("found {chain}, expected the index of a chain"));
            }
        },
    };
    let Some(entry) = t.child(debug_event::debug_entry, &VALUE)? else {
        return t.wrong(debug_event::debug_entry, "no value, expected one");
    };
    let is_output = match entry.child(value::output, &BOOL)? {
        Some(flag) => flag.bool(bool_::bool_val)?,
        None => false,
    };
    Ok(DebugEvent {
        instruction: instruction(chain, or_minus_1(t, debug_event::instruction_id)?),
        delegate: delegate(t, debug_event::delegate_debug_id_int, debug_event::delegate_debug_id_str)?,
        name: t.text(debug_event::name)?,
        is_output,
        value: traced_value(&entry)?,
    })
}

fn instruction(chain: Option<u32>, instruction: Option<u32>) -> Option<InstructionIndex> {
    chain.zip(instruction).map(|(chain, instruction)| InstructionIndex { chain, instruction })
}

fn delegate(t: &TableRef<'_, '_>, number: u16, name: u16) -> Result<Option<DelegateEventId>> {
    if let Some(name) = t.text(name)? {
        return Ok(Some(DelegateEventId::Name(name)));
    }
    let has_number = t.has(number)? && t.i32(number)? != -1;
    Ok(if has_number { Some(DelegateEventId::Number(t.i32(number)?)) } else { None })
}

fn traced_value(t: &TableRef<'_, '_>) -> Result<TracedValue> {
    let needed = |slot: u16, table| match t.child(slot, table)? {
        Some(child) => Ok(child),
        None => t.wrong(slot, format!("no content of a value of type {}", t.i8(value::val)?)),
    };
    Ok(match t.i8(value::val)? {
        value_type::NULL | value_type::STRING => TracedValue::Null,
        value_type::INT => TracedValue::Int(needed(value::int_value, &INT)?.i64(int::int_val)?),
        value_type::BOOL => TracedValue::Bool(needed(value::bool_value, &BOOL)?.bool(bool_::bool_val)?),
        value_type::FLOAT => TracedValue::Double(needed(value::float_value, &FLOAT)?.f32(float::float_val)?.into()),
        value_type::DOUBLE => TracedValue::Double(needed(value::double_value, &DOUBLE)?.f64(double::double_val)?),
        value_type::TENSOR => TracedValue::Tensor(tensor(&needed(value::tensor, &TENSOR)?)?),
        value_type::TENSOR_LIST => {
            let list = needed(value::tensor_list, &TENSOR_LIST)?;
            let tensors = list.children(tensor_list::tensors, &TENSOR, |t| tensor(&t))?;
            TracedValue::TensorList(tensors.unwrap_or_default())
        }
        other => {
            return t
                .wrong(value::val, format!("unknown type {other} of a value, expected 0 to {}", value_type::STRING));
        }
    })
}

fn tensor(t: &TableRef<'_, '_>) -> Result<TracedTensor> {
    let scalar_type = ScalarType(t.i8(tensor::scalar_type)?);
    let sizes: Vec<i64> = t.i64s(tensor::sizes)?.unwrap_or_default();
    let strides: Vec<i64> = t.i64s(tensor::strides)?.unwrap_or_default();
    // The runtime writes -1 for a tensor without bytes.
    let offset = u64::try_from(t.i64(tensor::offset)?).ok();
    match TracedTensor::new(scalar_type, sizes, strides, offset) {
        Ok(tensor) => Ok(tensor),
        Err(error) => t.wrong(tensor::sizes, error.to_string()),
    }
}
