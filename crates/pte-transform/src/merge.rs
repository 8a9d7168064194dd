//! Merges programs: the methods of all inputs, with their data and tests, become methods of one program.
//!
//! Nothing in a method changes, except that state is moved if it is shared, or if that of two inputs would have the
//! same place in a pool that methods share. Equal constants and payloads are stored once by the layout of the result,
//! which compares their bytes.

mod data;
mod methods;
mod state;
mod types;

pub use data::have_same_bytes;
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::io;
pub use types::{MergeInput, MergeOptions, Merged, MergedMethod, SharedBuffer};

use pte_model::data::{Blob, BlobId, dedup};
use pte_model::diagnostics::{Code, Diagnostic};
use pte_model::program::test_cases::MethodTests;
use pte_model::program::{Program, TensorData};

use crate::error::EditError;
use crate::remap::drop_blobs;

/// Merges programs. Inputs without methods are weights: then all are, and their entries are merged by key.
///
/// ```
/// use pte_transform::merge::{MergeInput, MergeOptions, Merged, merge};
/// use pte_transform::pte_model::program::{ExecutionPlan, Program};
/// use pte_transform::rename::MethodRename;
///
/// let input = |name: &str| MergeInput {
///     name: name.to_owned(),
///     program: Program::new(vec![ExecutionPlan::new("forward")]),
///     ..MergeInput::default()
/// };
/// let options = MergeOptions::default().renames(vec![(Some(0), MethodRename::new("forward", "encode"))]);
/// let (program, _tests, merged) = merge(vec![input("a.pte"), input("b.pte")], &options).unwrap();
/// assert_eq!(program.plans()[1].name.as_deref(), Some("forward"));
/// assert_eq!(merged.methods[0].input, "a.pte");
/// ```
///
/// # Errors
/// All conflicts, each with both origins: names of methods, keys with other data, buffers of other types or sizes,
/// versions of the schema; data that cannot be read.
pub fn merge(
    mut inputs: Vec<MergeInput>,
    options: &MergeOptions,
) -> Result<(Program, Vec<MethodTests>, Merged), EditError> {
    let mut errors = versions(&inputs);
    let has_methods: Vec<bool> = inputs.iter().map(|input| input.program.execution_plan.is_some()).collect();
    if let Some(other) = has_methods.iter().position(|has| *has != has_methods[0]) {
        let (with, without) = if has_methods[0] { (0, other) } else { (other, 0) };
        let [with, without] = [with, without].map(|number: usize| &inputs[number].name);
        let mixed = Code::UnexpectedInput.whole(format!("{with} has methods, {without} has none"));
        errors.push(mixed.help("weights are merged with weights only; `--with FILE.ptd` names those of a program"));
    }
    if !errors.is_empty() {
        return Err(errors.into());
    }
    let mut report = Merged::default();
    let is_ordered = inputs.iter().all(|input| methods::is_in_order(&input.program));
    methods::rename_all(&mut inputs, options, &mut report, &mut errors);
    if errors.is_empty() && !options.share_state {
        state::separate(&mut inputs, &mut report);
    }
    number_copies(&mut inputs)?;
    let names: Vec<String> = inputs.iter().map(|input| input.name.clone()).collect();
    let mut program =
        Program { version: inputs.first().map_or(0, |input| input.program.version), ..Program::default() };
    let mut tests = Vec::new();
    let mut parts = Vec::with_capacity(inputs.len());
    let mut shared_numbers = 0;
    for MergeInput { program: mut part, tests: own, .. } in inputs {
        move_blobs(&mut part, &mut program)?;
        if options.share_state {
            state::keep_numbers_apart(&mut part, &mut shared_numbers);
        }
        tests.extend(own);
        parts.push(part);
    }
    data::merge_keys(&mut program, &mut parts, &names, &mut report, &mut errors)?;
    data::check_external(&program, &parts, &names, &mut errors)?;
    let plans = parts.iter_mut().map(|part| part.execution_plan.take()).collect();
    program.execution_plan = methods::join(&program, plans, is_ordered, &mut report, &mut errors)?;
    if errors.is_empty() && options.share_state {
        state::share(&mut program, &mut report, &mut errors)?;
    }
    if !errors.is_empty() {
        return Err(errors.into());
    }
    drop_blobs(&mut program);
    methods::sort_tests(&program, &mut tests);
    Ok((program, tests, report))
}

/// Returns an error if programs have different versions of the schema.
fn versions(inputs: &[MergeInput]) -> Vec<Diagnostic> {
    let other = inputs.iter().find(|input| input.program.version != inputs[0].program.version);
    let message = other.map(|other| {
        let [a, b] = [&inputs[0], other].map(|input| (&input.name, input.program.version));
        format!("the programs have different versions of the schema: {} in {}, {} in {}", a.1, a.0, b.1, b.0)
    });
    message.map(|message| Code::UnmetRequest.whole(message)).into_iter().collect()
}

/// Moves the blobs of a program to another one.
fn move_blobs(part: &mut Program, program: &mut Program) -> io::Result<()> {
    let start = program.blobs.len() as u64;
    let end = start + part.blobs.len() as u64;
    u32::try_from(end).map_err(|_| io::Error::other("the programs have more than 2^32 pieces of data"))?;
    program.blobs.append(&mut part.blobs);
    part.for_each_blob_mut(|blob| blob.0 += start as u32);
    Ok(())
}

/// Numbers the copies of equal data again, by input. Files are read with numbers that count data of equal samples,
/// whose other bytes may differ; equal data of two inputs are only stored once if their numbers are equal, too.
fn number_copies(inputs: &mut [MergeInput]) -> io::Result<()> {
    for input in inputs.iter_mut().filter(|input| input.program.blobs.iter().any(|blob| blob.copy > 0)) {
        let program = &mut input.program;
        let lone = program.plans().iter().flat_map(|plan| plan.tensors());
        let lone = lone.filter(|(_, tensor)| tensor.has_lone_state()).filter_map(|(_, tensor)| match tensor.data {
            TensorData::Blob(blob) => Some(blob.0 as usize),
            TensorData::None | TensorData::Elsewhere(_) => None,
        });
        let lone: HashSet<usize> = lone.collect();
        let alike: Vec<_> = program.blobs.iter().cloned().map(|blob| Blob { copy: 0, ..blob }).collect();
        let same = dedup::find(&alike).map_err(|(_, error)| error)?;
        let mut copies: BTreeMap<BlobId, BTreeSet<u32>> = BTreeMap::new();
        for (number, (blob, first)) in program.blobs.iter().zip(&same).enumerate() {
            let numbers = copies.entry(*first).or_default();
            numbers.insert(blob.copy);
            // State with the number 0 is never stored together: the numbers of the others stay above it.
            if lone.contains(&number) {
                numbers.insert(0);
            }
        }
        for (blob, first) in program.blobs.iter_mut().zip(&same) {
            blob.copy = copies[first].range(..blob.copy).count() as u32;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use pte_model::format::ScalarType;
    use pte_model::program::{EValue, ExecutionPlan, Memory, Tensor, ValueId};

    use super::*;
    use crate::rename::MethodRename;

    /// A program of methods that return their input.
    fn input(name: &str, methods: &[&str]) -> MergeInput {
        let method = |name: &&str| {
            let mut plan = ExecutionPlan::new(*name);
            plan.values = Some(vec![EValue::Tensor(Tensor::new(ScalarType::FLOAT, &[1]))]);
            (plan.inputs, plan.outputs) = (Some(vec![ValueId(0)]), Some(vec![ValueId(0)]));
            plan
        };
        let program = Program::new(methods.iter().map(method).collect());
        MergeInput { name: name.to_owned(), program, tests: Vec::new() }
    }

    fn constant(name: &str, value: i64) -> ExecutionPlan {
        let mut plan = ExecutionPlan::new(name);
        (plan.values, plan.outputs) = (Some(vec![EValue::Int(value)]), Some(vec![ValueId(0)]));
        plan
    }

    fn names(program: &Program) -> Vec<&str> {
        program.plans().iter().filter_map(|plan| plan.name.as_deref()).collect()
    }

    fn messages(error: EditError) -> Vec<String> {
        match error {
            EditError::Request(messages) => messages.into_iter().map(|message| message.message).collect(),
            EditError::Io(error) => panic!("{error}"),
        }
    }

    #[test]
    fn methods_are_in_the_order_of_the_exporter_if_those_of_the_inputs_are() {
        let mut first = input("a.pte", &["b", "d"]);
        first.program.execution_plan.as_mut().unwrap().push(constant("get_b", 1));
        let (program, _, _) =
            merge(vec![first.clone(), input("b.pte", &["a", "c"])], &MergeOptions::default()).unwrap();
        assert_eq!(names(&program), ["a", "b", "c", "d", "get_b"]);
        let (program, _, _) = merge(vec![first, input("b.pte", &["c", "a"])], &MergeOptions::default()).unwrap();
        assert_eq!(names(&program), ["b", "d", "get_b", "c", "a"]);
    }

    #[test]
    fn a_name_that_two_inputs_have_is_a_conflict() {
        let error = merge(vec![input("a.pte", &["f"]), input("b.pte", &["f"])], &MergeOptions::default()).unwrap_err();
        assert_eq!(messages(error), ["a.pte and b.pte have a method `f`"]);
        let renames = vec![(Some(1), MethodRename::new("g", "f"))];
        let mut options = MergeOptions { renames, ..MergeOptions::default() };
        let error = merge(vec![input("a.pte", &["f"]), input("b.pte", &["g"])], &options).unwrap_err();
        assert_eq!(messages(error), ["a.pte and b.pte (`g` there) have a method `f`"]);
        options.renames.clear();
        options.prefixes = vec![(Some(1), "b_".to_owned())];
        let (program, _, report) = merge(vec![input("a.pte", &["f"]), input("b.pte", &["f"])], &options).unwrap();
        assert_eq!((names(&program), report.methods[1].original.as_str()), (vec!["b_f", "f"], "f"));
    }

    #[test]
    fn constant_methods_are_compared() {
        let with = |name: &str, value| {
            let mut input = input(&format!("{name}.pte"), &[name]);
            input.program.execution_plan.as_mut().unwrap().push(constant("n", value));
            input
        };
        let (program, _, report) = merge(vec![with("a", 1), with("b", 1)], &MergeOptions::default()).unwrap();
        assert_eq!((names(&program), &report.equal_constant_methods[..]), (vec!["a", "b", "n"], &["n".to_owned()][..]));
        let error = merge(vec![with("a", 1), with("b", 2)], &MergeOptions::default()).unwrap_err();
        assert_eq!(messages(error), ["a.pte and b.pte have a constant method `n`, with other values"]);
    }

    #[test]
    fn copies_of_data_are_counted_by_their_bytes() {
        let mut one = input("a.pte", &["a"]);
        let plan = &mut one.program.execution_plan.as_mut().unwrap()[0];
        // Two blobs with equal samples, but other bytes between them, and a copy of the first one.
        let mut other = vec![1u8; 9000];
        other[3000] = 2;
        for (bytes, copy) in [(vec![1; 9000], 0), (other, 1), (vec![1; 9000], 2)] {
            let blob = one.program.blobs.len() as u32;
            one.program.blobs.push(Blob { copy, ..Blob::bytes(bytes) });
            let mut tensor = Tensor::new(ScalarType::BYTE, &[9000]);
            (tensor.memory, tensor.data) = (Memory::None, TensorData::Blob(BlobId(blob)));
            plan.values.as_mut().unwrap().push(EValue::Tensor(tensor));
        }
        let mut inputs = [one];
        number_copies(&mut inputs).unwrap();
        assert_eq!(inputs[0].program.blobs.iter().map(|blob| blob.copy).collect::<Vec<_>>(), [0, 0, 1]);
    }
}
