//! Mutable buffers of merged programs. By default, they stay apart; on request, methods share those of the same name
//! (docs/format.md, "Shared state").

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io;

use pte_analysis::lifetimes::Execution;
use pte_analysis::method::Method;
use pte_model::diagnostics::{Code, Diagnostic, clipped, first_names};
use pte_model::program::memory_plan::DEFAULT_ALIGNMENT;
use pte_model::program::{Device, EValue, ExecutionPlan, Memory, Program, Tensor, TensorData, TensorLayout};

use super::data::have_same_bytes;
use super::{MergeInput, Merged, SharedBuffer};
use crate::rename::name_of;

/// Pool in which the exporter places the state that methods share.
const SHARED_POOL: u32 = 2;

/// Returns, by method, what its values are while it is executed: the tensors that keep their content, and those that
/// are used.
fn executions(program: &Program) -> Vec<Execution> {
    let of = |method: &Method<'_>| {
        let memory = |value: &EValue| value.as_tensor().map_or(Memory::None, |tensor| tensor.memory);
        method.execution(&method.values().iter().map(memory).collect::<Vec<Memory>>())
    };
    Method::of_program(program).iter().map(of).collect()
}

/// Returns the tensors in pools other than 1, which methods of an input may share: pool and whether it may be
/// state: it is, or nothing uses it, as in a method that only shares it.
fn shared_tensors(program: &Program) -> Vec<(u32, bool)> {
    let place = |tensor: &Tensor| match tensor.memory {
        Memory::At { pool: pool @ SHARED_POOL.., .. } if tensor.device() == Device::CPU => Some(pool),
        Memory::None | Memory::Auto { .. } | Memory::View { .. } | Memory::At { .. } => None,
    };
    if !program.plans().iter().flat_map(ExecutionPlan::tensors).any(|(_, tensor)| place(tensor).is_some()) {
        return Vec::new();
    }
    let executions = executions(program);
    let placed = program.plans().iter().zip(&executions).flat_map(|(plan, execution)| {
        let may_be_state = |value: usize| execution.is_state[value] || execution.times[value].is_none();
        plan.tensors().filter_map(move |(value, tensor)| Some((place(tensor)?, may_be_state(value))))
    });
    placed.collect()
}

/// Size of a pool in bytes: the largest of the methods of a program.
fn pool_size(program: &Program, pool: u32) -> u64 {
    let sizes = program.plans().iter().filter_map(|plan| plan.memory.non_const_buffer_sizes.as_ref());
    let sizes = sizes.filter_map(|sizes| u64::try_from(*sizes.get(pool as usize)?).ok());
    sizes.max().unwrap_or(0)
}

/// Moves the state that methods of one input share behind that of the inputs before it, in pools that have nothing
/// else: an application that shares these pools between methods would otherwise mix the state of two inputs.
pub fn separate(inputs: &mut [MergeInput], report: &mut Merged) {
    let placed: Vec<Vec<(u32, bool)>> = inputs.iter().map(|input| shared_tensors(&input.program)).collect();
    let pools: BTreeSet<u32> = placed.iter().flatten().map(|(pool, _)| *pool).collect();
    for pool in pools {
        let of_pool = |input: usize| placed[input].iter().filter(move |(of, _)| *of == pool);
        let users: Vec<usize> = (0..inputs.len()).filter(|input| of_pool(*input).next().is_some()).collect();
        if users.len() < 2 {
            continue;
        }
        let with_others: Vec<usize> =
            users.iter().copied().filter(|input| of_pool(*input).any(|(_, is_state)| !is_state)).collect();
        let has_state = users.iter().any(|input| of_pool(*input).any(|(_, is_state)| *is_state));
        if !with_others.is_empty() {
            if has_state {
                let names = first_names(users.iter().map(|input| inputs[*input].name.as_str()));
                report.notes.push(format!(
                    "pool {pool} of {names} has state, and tensors that are no state: an application must not share it between methods"
                ));
            }
            continue;
        }
        let mut end = 0u64;
        for input in &users {
            let offset = end;
            let own = pool_size(&inputs[*input].program, pool);
            end = end
                .checked_add(own)
                .and_then(|end| end.checked_next_multiple_of(DEFAULT_ALIGNMENT))
                .unwrap_or(u64::MAX);
            if offset > 0 {
                shift(&mut inputs[*input].program, pool, offset);
                report.moved_state.push((pool, inputs[*input].name.clone(), offset));
            }
        }
        for input in users {
            resize(&mut inputs[input].program, pool, end);
        }
    }
}

/// Adds an offset to the tensors of a pool.
fn shift(program: &mut Program, pool: u32, by: u64) {
    for (_, tensor) in program.plans_mut().iter_mut().flat_map(ExecutionPlan::tensors_mut) {
        if tensor.device() == Device::CPU
            && let Memory::At { pool: of, offset } = &mut tensor.memory
            && *of == pool
        {
            *offset = offset.saturating_add(by);
        }
    }
}

/// Sets the size of a pool in the methods that have it.
fn resize(program: &mut Program, pool: u32, size: u64) {
    for plan in program.plans_mut() {
        if let Some(own) = plan.memory.non_const_buffer_sizes.as_mut().and_then(|sizes| sizes.get_mut(pool as usize)) {
            *own = i64::try_from(size).unwrap_or(i64::MAX);
        }
    }
}

/// Numbers the shared state of a program from `first` on, and increases `first` by their number.
pub fn keep_numbers_apart(program: &mut Program, first: &mut u32) {
    let start = *first;
    for (_, tensor) in program.plans_mut().iter_mut().flat_map(ExecutionPlan::tensors_mut) {
        if let Memory::Auto { shared: Some(number), .. } = &mut tensor.memory {
            *number = number.saturating_add(start);
            *first = (*first).max(number.saturating_add(1));
        }
    }
}

/// A mutable buffer with a name: method, value.
type Buffer = (usize, usize);

/// Shares the mutable buffers of the same name between all methods, in a pool that has nothing else.
///
/// # Errors
/// Data that cannot be read. Buffers of a name that differ, and a program without buffers to share, are added to
/// `errors`.
pub fn share(program: &mut Program, report: &mut Merged, errors: &mut Vec<Diagnostic>) -> io::Result<()> {
    let states: Vec<Vec<bool>> = executions(program).into_iter().map(|execution| execution.is_state).collect();
    let mut buffers: BTreeMap<String, Vec<Buffer>> = BTreeMap::new();
    for (method, value, tensor) in
        program.tensors().filter(|(method, value, _)| states[*method].get(*value) == Some(&true))
    {
        if let Some(name) = tensor.name().filter(|name| !name.is_empty()) {
            let list = buffers.entry(name.to_owned()).or_default();
            // Two buffers of a method are two, whatever their names.
            if list.last().is_none_or(|(last, _)| *last != method) {
                list.push((method, value));
            }
        }
    }
    let is_shared = |(_, list): &(&String, &Vec<Buffer>)| list.iter().any(|(method, _)| *method != list[0].0);
    if !buffers.iter().any(|entry| is_shared(&entry)) {
        let list = first_names(buffers.keys().map(String::as_str));
        let found = if buffers.is_empty() { "none has a name".to_owned() } else { format!("found {list}") };
        let message = format!("no two methods have a mutable buffer of the same fully qualified name; {found}");
        let help =
            "the exporter writes names of buffers with `emit_mutable_buffer_names=True` of `ExecutorchBackendConfig`";
        errors.push(Code::UnmetRequest.whole(message).help(help));
        return Ok(());
    }
    let before = errors.len();
    for entry in buffers.iter().filter(is_shared) {
        compare(program, entry, report, errors)?;
    }
    if errors.len() > before {
        return Ok(());
    }
    report.shared_state = buffers.iter().filter(is_shared).map(|entry| described(program, entry)).collect();
    move_to_pool(program, &states, &buffers);
    Ok(())
}

/// Reports buffers of a name that cannot have the same bytes.
fn compare(
    program: &Program,
    (name, list): (&String, &Vec<Buffer>),
    report: &Merged,
    errors: &mut Vec<Diagnostic>,
) -> io::Result<()> {
    let tensor = |(method, value): &Buffer| program.plans()[*method].values()[*value].as_tensor();
    let Some(first) = list.first().and_then(tensor) else { return Ok(()) };
    for buffer in &list[1..] {
        let Some(other) = tensor(buffer) else { continue };
        let same = match (&first.data, &other.data) {
            (TensorData::Blob(a), TensorData::Blob(b)) => have_same_bytes(program.blob(*a), program.blob(*b))?,
            (a, b) => a == b,
        };
        let layouts = [first, other].map(TensorLayout::of);
        if same && layouts[0] == layouts[1] {
            continue;
        }
        let origin = |method: usize| {
            let name = clipped(&name_of(&program.plans()[method]));
            report.methods.get(method).map_or(format!("`{name}`"), |method| format!("`{name}` of {}", method.input))
        };
        let [a, b] = [list[0].0, buffer.0].map(origin);
        let shape = |layout: &TensorLayout| format!("{} {:?}", layout.scalar_type, layout.sizes);
        let what = match layouts[0] == layouts[1] {
            true => "another initial state".to_owned(),
            false => format!("other types or sizes: {} and {}", shape(&layouts[0]), shape(&layouts[1])),
        };
        let message = format!("{a} and {b} cannot share the buffer `{}`: it has {what}", clipped(name));
        let help = "without `--share-state`, each method has its own";
        errors.push(Code::ConflictingData.whole(message).help(help));
    }
    Ok(())
}

fn described(program: &Program, (name, list): (&String, &Vec<Buffer>)) -> SharedBuffer {
    let bytes = |(method, value): &Buffer| program.plans()[*method].values()[*value].as_tensor()?.nbytes();
    SharedBuffer {
        name: name.clone(),
        bytes: list.first().and_then(bytes).unwrap_or(0),
        methods: list.iter().map(|(method, _)| name_of(&program.plans()[*method])).collect(),
    }
}

/// Moves all named buffers to one pool, as the exporter does, with equal numbers for equal names. Their methods are
/// planned again.
fn move_to_pool(program: &mut Program, states: &[Vec<bool>], buffers: &BTreeMap<String, Vec<Buffer>>) {
    let named: HashMap<Buffer, &String> =
        buffers.iter().flat_map(|(name, list)| list.iter().map(move |buffer| (*buffer, name))).collect();
    let mut taken = BTreeSet::new();
    let mut next = 0;
    for (method, value, tensor) in program.tensors() {
        let pool = match tensor.memory {
            Memory::At { pool, .. } => Some(pool),
            Memory::Auto { pool, shared, .. } => {
                next = next.max(shared.map_or(0, |number| number.saturating_add(1)));
                pool
            }
            Memory::None | Memory::View { .. } => None,
        };
        if !named.contains_key(&(method, value)) && states[method].get(value) != Some(&true) {
            taken.extend(pool);
        }
    }
    let pool = (SHARED_POOL..).find(|pool| !taken.contains(pool)).unwrap_or(SHARED_POOL);
    let numbers: HashMap<&String, u32> = buffers.keys().zip(next..).collect();
    for (method, plan) in program.plans_mut().iter_mut().enumerate() {
        if (0..plan.values().len()).any(|value| named.contains_key(&(method, value))) {
            plan.memory.non_const_buffer_sizes = None;
        }
        for (value, tensor) in plan.tensors_mut() {
            if let Some(name) = named.get(&(method, value)) {
                tensor.memory = Memory::Auto { pool: Some(pool), persistent: true, shared: Some(numbers[*name]) };
            }
        }
    }
}
