//! Methods of merged programs: their names, their order, and constant methods that several inputs have.

use std::collections::HashMap;
use std::io;

use pte_model::diagnostics::{Code, Diagnostic, clipped, first_names};
use pte_model::program::test_cases::MethodTests;
use pte_model::program::{ExecutionPlan, Program, TensorData};

use super::data::have_same_bytes;
use super::{MergeInput, MergeOptions, Merged, MergedMethod};
use crate::metadata::is_constant_method;
use crate::rename::{MethodRename, name_of, rename, trained_method};

/// Renames the methods of all inputs as requested, and lists them in the report.
pub fn rename_all(
    inputs: &mut [MergeInput],
    options: &MergeOptions,
    report: &mut Merged,
    errors: &mut Vec<Diagnostic>,
) {
    for (of, MethodRename { from, .. }) in &options.renames {
        let has = |input: &MergeInput| input.program.plans().iter().any(|plan| plan.name.as_ref() == Some(from));
        let selected = |(number, _): &(usize, &MergeInput)| of.is_none_or(|of| of == *number);
        let mut searched = inputs.iter().enumerate().filter(selected).map(|(_, input)| input);
        if !searched.clone().any(has) {
            let mut names: Vec<String> =
                searched.clone().flat_map(|input| input.program.plans()).map(name_of).collect();
            names.sort_unstable();
            names.dedup();
            let list = first_names(names.iter().map(String::as_str));
            let place = of.and_then(|_| searched.next()).map_or("no input".into(), |input| input.name.clone());
            let found = if of.is_some() { "it has" } else { "the inputs have" };
            let has_not =
                if of.is_some() { format!("{place} has no method") } else { "no input has a method".to_owned() };
            let unknown = Code::UnmetRequest.whole(format!("{has_not} `{}`; {found} {list}", clipped(from)));
            errors.push(unknown.suggest(from, names.iter().map(String::as_str)));
        }
    }
    if !errors.is_empty() {
        return;
    }
    for (number, input) in inputs.iter_mut().enumerate() {
        let is_own = |of: &Option<usize>| of.is_none_or(|of| of == number);
        let names: Vec<String> = input.program.plans().iter().map(name_of).collect();
        let prefix: String =
            options.prefixes.iter().filter(|(of, _)| is_own(of)).map(|(_, prefix)| prefix.as_str()).collect();
        // A request for this input counts before one for all.
        let requested = |name: &String| {
            let of_name = options.renames.iter().filter(|(of, rename)| is_own(of) && rename.from == *name);
            of_name.max_by_key(|(of, _)| of.is_some()).map(|(_, rename)| rename.to.clone())
        };
        let new = |name: &String| match requested(name) {
            Some(to) => Some(to),
            // Descriptions for training follow their method.
            None if trained_method(name).is_some_and(|method| names.iter().any(|name| name == method)) => None,
            None if prefix.is_empty() => None,
            None => Some(format!("{prefix}{name}")),
        };
        let renames: Vec<MethodRename> =
            names.iter().filter_map(|name| Some(MethodRename::new(name, new(name)?))).collect();
        if let Err(wrong) = rename(&mut input.program, &mut input.tests, &renames) {
            errors.extend(
                wrong
                    .into_iter()
                    .map(|error| Diagnostic { message: format!("{}: {}", input.name, error.message), ..error }),
            );
        }
        let methods = input.program.plans().iter().zip(&names);
        report.methods.extend(methods.map(|(plan, original)| MergedMethod {
            name: name_of(plan),
            input: input.name.clone(),
            original: original.clone(),
        }));
    }
}

/// Joins the methods of all inputs, which the report lists. If each input has the exporter's order (E-1), so has the
/// result; otherwise, one input follows the other.
pub fn join(
    program: &Program,
    parts: Vec<Option<Vec<ExecutionPlan>>>,
    is_ordered: bool,
    report: &mut Merged,
    errors: &mut Vec<Diagnostic>,
) -> io::Result<Option<Vec<ExecutionPlan>>> {
    if parts.iter().all(Option::is_none) {
        return Ok(None);
    }
    let plans = parts.into_iter().enumerate();
    let plans = plans.flat_map(|(input, plans)| plans.into_iter().flatten().map(move |plan| (input, plan)));
    let listed = std::mem::take(&mut report.methods);
    let mut joined: Vec<(usize, ExecutionPlan, MergedMethod)> = Vec::with_capacity(listed.len());
    let mut first: HashMap<String, usize> = HashMap::new();
    for ((input, plan), method) in plans.zip(listed) {
        let next = joined.len();
        let at = *first.entry(method.name.clone()).or_insert(next);
        match joined.get(at) {
            Some((other, present, origin)) if *other != input => {
                if is_constant_method(&plan) && are_equal(program, present, &plan)? {
                    report.equal_constant_methods.push(method.name);
                } else {
                    errors.push(conflict((present, origin), (&plan, &method)));
                }
            }
            // An input may have two methods of a name, which are kept.
            Some(_) | None => joined.push((input, plan, method)),
        }
    }
    if is_ordered {
        joined.sort_by(|(_, a, _), (_, b, _)| order(a).cmp(&order(b)));
    }
    let (plans, methods) = joined.into_iter().map(|(_, plan, method)| (plan, method)).unzip();
    report.methods = methods;
    Ok(Some(plans))
}

/// Returns the message about two methods of a name.
fn conflict(
    (plan, one): (&ExecutionPlan, &MergedMethod),
    (other_plan, other): (&ExecutionPlan, &MergedMethod),
) -> Diagnostic {
    let origin = |method: &MergedMethod| match method.name == method.original {
        true => method.input.clone(),
        false => format!("{} (`{}` there)", method.input, clipped(&method.original)),
    };
    let what = match [plan, other_plan].map(is_constant_method) {
        [true, true] => "constant method",
        [true, false] | [false, true] | [false, false] => "method",
    };
    let also = if what == "method" { "" } else { ", with other values" };
    let message = format!("{} and {} have a {what} `{}`{also}", origin(one), origin(other), clipped(&one.name));
    let (file, name) = (&other.input, clipped(&other.original));
    let help = format!("rename one, such as with `--rename {file}:{name}=NEW`, or `--prefix {file}:NEW_`");
    Code::DuplicateName.whole(message).help(help)
}

/// Returns the position of a method among the groups of the exporter (E-1): methods, descriptions for training,
/// constant methods.
fn rank(plan: &ExecutionPlan) -> u8 {
    match plan.name.as_deref().and_then(trained_method) {
        _ if !is_constant_method(plan) => 0,
        Some(_) => 1,
        None => 2,
    }
}

/// Key by which the exporter sorts methods: the group, and the name in the first one.
fn order(plan: &ExecutionPlan) -> (u8, &str) {
    let rank = rank(plan);
    (rank, if rank == 0 { plan.name.as_deref().unwrap_or_default() } else { "" })
}

/// Returns `true` if the methods of a program are in the exporter's order.
pub fn is_in_order(program: &Program) -> bool {
    program.plans().iter().map(order).is_sorted()
}

/// Returns `true` if two constant methods return the same values.
fn are_equal(program: &Program, a: &ExecutionPlan, b: &ExecutionPlan) -> io::Result<bool> {
    let (mut without, mut blobs) = ([a.clone(), b.clone()], [Vec::new(), Vec::new()]);
    for (plan, blobs) in without.iter_mut().zip(&mut blobs) {
        for (_, tensor) in plan.tensors_mut() {
            if let TensorData::Blob(blob) = tensor.data {
                blobs.push(blob);
                tensor.data = TensorData::None;
            }
        }
    }
    let [a, b] = without;
    let [blobs_a, blobs_b] = blobs;
    if a != b || blobs_a.len() != blobs_b.len() {
        return Ok(false);
    }
    for (a, b) in blobs_a.into_iter().zip(blobs_b) {
        if !have_same_bytes(program.blob(a), program.blob(b))? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Sorts tests by the order of their methods.
pub fn sort_tests(program: &Program, tests: &mut [MethodTests]) {
    let positions: HashMap<String, usize> =
        program.plans().iter().enumerate().rev().map(|(number, plan)| (name_of(plan), number)).collect();
    tests.sort_by_key(|tests| positions.get(&tests.method).copied().unwrap_or(usize::MAX));
}
