//! Reports unused values, constants, delegates, named data and state, and unusual outputs. The exporter also produces
//! some of them.

use super::super::finding::{Findings, Locator};
use super::limits;
use super::method::MethodAnalysis;
use crate::RuleId::*;
use pte_analysis::operators::AccessKind;
use pte_model::program::element::{Element, Part};
use pte_model::program::pools::PoolRanges;
use pte_model::program::{EValue, Instruction, METADATA_PREFIX, Memory, Program, ValueId};
use pte_operators::kinds::Kinds;

/// Reports unused elements of a method.
pub fn check(method: &MethodAnalysis<'_>, findings: &mut Findings, locate: &Locator<'_>) {
    check_values(method, findings, locate);
    check_delegates(method, findings, locate);
    check_outputs(method, findings, locate);
    if method.accesses().is_truncated {
        method.report_more_than(method.accesses().limit, &limits::ITEMS, findings, locate);
    }
}

/// Reports named data of a program without delegates, other than metadata, which are for the application.
pub fn check_data(program: &Program, findings: &mut Findings, locate: &Locator<'_>) {
    let delegates = program.plans().iter().any(|plan| !plan.delegates().is_empty());
    let unused = program.named_data.iter().flatten().enumerate().filter(|_| !delegates);
    for (index, data) in unused.filter(|(_, data)| !data.key.starts_with(METADATA_PREFIX)) {
        findings.add(X_16, || {
            (
                locate(&Element::NamedData(index)),
                format!("data `{}` without a delegate", data.key),
                "a delegate that uses them".into(),
            )
        });
    }
}

fn check_values(method: &MethodAnalysis<'_>, findings: &mut Findings, locate: &Locator<'_>) {
    let count = method.values().len();
    let mut used: Vec<bool> =
        (0..count).map(|value| method.is_input[value] || method.accesses().repeated_outs[value]).collect();
    method.accesses().list.iter().for_each(|access| used[access.value as usize] = true);
    let lists = method.values().iter().zip(&method.stated).filter(|(_, stated)| stated.meets(Kinds::VALUE_LISTS));
    for (value, _) in lists {
        for item in value.items().iter().filter_map(|item| method.value(ValueId::of_int(item))) {
            used[item] = true;
        }
    }
    let mut idle = Vec::new();
    let accessed = accessed_memory(method, |_| true);
    for (value, _) in used.iter().enumerate().filter(|(_, used)| !**used) {
        let facts = method.facts[value];
        if facts.has_data && method.ranges[value].is_some_and(|range| accessed.overlap(&range)) {
            continue;
        }
        if !facts.has_data || !facts.has_bytes {
            idle.push(value);
        } else if !facts.is_named {
            let kind = if facts.is_planned { "state" } else { "constant" };
            findings.add(X_13, || {
                let found = format!("unused {kind}");
                (locate(&method.element(Part::Value(value))), found, "an instruction or output that uses it".into())
            });
        }
    }
    if let Some(first) = idle.first() {
        findings.add(X_14, || {
            let found = match idle.len() {
                1 => "an unused value".into(),
                count => format!("an unused value, the first of {count}"),
            };
            (locate(&method.element(Part::Value(*first))), found, "an instruction or output that uses it".into())
        });
    }
    check_states(method, findings, locate);
}

/// Returns the planned memory of the values with such an access. State may be used through tensors with its bytes only:
/// its views.
fn accessed_memory(method: &MethodAnalysis<'_>, is_such: impl Fn(AccessKind) -> bool) -> PoolRanges {
    let accesses = method.accesses().list.iter().filter(|access| is_such(access.kind));
    PoolRanges::new(accesses.filter_map(|access| method.ranges[access.value as usize]))
}

/// Reports state with initial data that is only written.
fn check_states(method: &MethodAnalysis<'_>, findings: &mut Findings, locate: &Locator<'_>) {
    let is_read = |kind| kind != AccessKind::Write;
    let read = accessed_memory(method, is_read);
    for (value, facts) in method.facts.iter().enumerate() {
        let Some(range) = method.ranges[value].filter(|_| facts.has_data && !method.is_input[value]) else { continue };
        let written = method.value_accesses(value).any(|access| !is_read(access.kind));
        if written && !read.overlap(&range) {
            findings.add(X_17, || {
                let expected = "an instruction or an output that reads it".into();
                (locate(&method.element(Part::Value(value))), "initial data that are never read".into(), expected)
            });
        }
    }
}

fn check_delegates(method: &MethodAnalysis<'_>, findings: &mut Findings, locate: &Locator<'_>) {
    let mut called = vec![false; method.plan.delegates().len()];
    for step in &method.steps {
        if let Instruction::DelegateCall { delegate_index, .. } = step.instruction
            && let Some(flag) = delegate_index.item_mut(&mut called)
        {
            *flag = true;
        }
    }
    for (index, _) in called.iter().enumerate().filter(|(_, called)| !**called) {
        findings.add(X_15, || {
            let location = locate(&method.element(Part::Delegate(index)));
            (location, "a delegate that is never called".into(), "a delegate call".into())
        });
    }
}

fn check_outputs(method: &MethodAnalysis<'_>, findings: &mut Findings, locate: &Locator<'_>) {
    let mut outputs: Vec<(ValueId, usize)> =
        method.plan.outputs.iter().flatten().enumerate().map(|(index, value)| (*value, index)).collect();
    for (value, index) in &outputs {
        let tensor = method.plan.value(*value).and_then(EValue::as_tensor);
        if tensor.is_some_and(|tensor| tensor.is_external() && tensor.memory == Memory::None) {
            findings.add(G_34, || {
                let found = format!("values[{value}], a constant in a .ptd, is an output");
                (locate(&method.element(Part::Output(*index))), found, "a constant in the program".into())
            });
        }
    }
    outputs.sort_unstable();
    for pair in outputs.windows(2).filter(|pair| pair[0].0 == pair[1].0) {
        findings.add(X_12, || {
            let (value, index) = pair[1];
            let found = format!("duplicate output values[{value}]");
            (locate(&method.element(Part::Output(index))), found, "distinct outputs".into())
        });
    }
}
