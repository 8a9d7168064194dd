//! What is in a program and does nothing: values, constants, delegates, named data, state. And what is there twice.
//!
//! Nothing here hurts; the exporter leaves some of it behind, too.

use super::super::finding::Findings;
use super::super::finding::Locate;
use super::method::{How, Method, list};
use crate::program::element::{Element, Part};
use crate::program::{Instruction, Program};

/// Checks a method for what it does not use.
pub fn check(method: &Method<'_>, findings: &mut Findings, place: &Locate<'_>) {
    values(method, findings, place);
    delegates(method, findings, place);
    outputs(method, findings, place);
    if method.tangled {
        findings.add("X-18", || {
            let found = "lists that are used so often that not every use of their items was looked at".into();
            (place(&method.element(Part::Whole)), found, "a method whose lists are used a few times".into())
        });
    }
}

/// Checks the data of a program for what no method can use.
pub fn check_data(program: &Program, findings: &mut Findings, place: &Locate<'_>) {
    let delegates = program.plans().iter().any(|plan| !plan.delegates().is_empty());
    for (index, data) in program.named_data.iter().flatten().enumerate().filter(|_| !delegates) {
        findings.add("X-16", || {
            (
                place(&Element::NamedData(index)),
                format!("the data `{}`", data.key),
                "a delegate that could ask for them".into(),
            )
        });
    }
}

fn values(method: &Method<'_>, findings: &mut Findings, place: &Locate<'_>) {
    let count = method.values().len();
    let mut used: Vec<bool> = (0..count).map(|value| method.is_input[value] || method.is_mentioned(value)).collect();
    method.accesses.iter().for_each(|access| used[access.value as usize] = true);
    for value in method.values() {
        for item in list(value).iter().flat_map(|items| items.iter()).filter_map(|item| method.value(item)) {
            used[item] = true;
        }
    }
    let mut idle = Vec::new();
    for (value, _) in used.iter().enumerate().filter(|(_, used)| !**used) {
        let facts = method.facts[value];
        if !facts.has_data || !facts.has_bytes {
            idle.push(value);
        } else if !facts.is_named {
            let what = if facts.is_planned { "state" } else { "a constant" };
            findings.add("X-13", || {
                let found = format!("{what} that nothing uses");
                (place(&method.element(Part::Value(value))), found, "something that uses it".into())
            });
        }
    }
    if let Some(first) = idle.first() {
        findings.add("X-14", || {
            let found = match idle.len() {
                1 => "a value that nothing uses".into(),
                count => format!("a value that nothing uses, the first of {count}"),
            };
            (place(&method.element(Part::Value(*first))), found, "values that are used".into())
        });
    }
    states(method, findings, place);
}

/// State that is written, and never looked at.
fn states(method: &Method<'_>, findings: &mut Findings, place: &Locate<'_>) {
    for (value, facts) in method.facts.iter().enumerate() {
        if !facts.has_data || method.spans[value].is_none() || method.is_input[value] {
            continue;
        }
        let mut written = false;
        let looked_at = method.value_accesses(value).any(|access| {
            written |= access.how == How::Write;
            access.how != How::Write
        });
        if written && !looked_at {
            findings.add("X-17", || {
                let expected = "an instruction or an output that reads it".into();
                (
                    place(&method.element(Part::Value(value))),
                    "state with initial data that nothing reads".into(),
                    expected,
                )
            });
        }
    }
}

fn delegates(method: &Method<'_>, findings: &mut Findings, place: &Locate<'_>) {
    let mut called = vec![false; method.plan.delegates().len()];
    for step in &method.steps {
        if let Instruction::DelegateCall { delegate_index, .. } = step.what
            && let Some(flag) = usize::try_from(*delegate_index).ok().and_then(|index| called.get_mut(index))
        {
            *flag = true;
        }
    }
    for (index, _) in called.iter().enumerate().filter(|(_, called)| !**called) {
        findings.add("X-15", || {
            let place = place(&method.element(Part::Delegate(index)));
            (place, "a delegate that nothing calls".into(), "an instruction that calls it".into())
        });
    }
}

fn outputs(method: &Method<'_>, findings: &mut Findings, place: &Locate<'_>) {
    let mut outputs: Vec<(i32, usize)> =
        method.plan.outputs.iter().flatten().enumerate().map(|(index, value)| (*value, index)).collect();
    outputs.sort_unstable();
    for pair in outputs.windows(2).filter(|pair| pair[0].0 == pair[1].0) {
        findings.add("X-12", || {
            let (value, index) = pair[1];
            let found = format!("values[{value}], an output before");
            (place(&method.element(Part::Output(index))), found, "outputs that are different".into())
        });
    }
}
