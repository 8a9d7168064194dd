//! The release of ExecuTorch that a program needs: the first one whose schema has its newest field (`G-32`; docs/releases.md).

use super::finding::{Findings, Locator};
use crate::format::ScalarType;
use crate::program::element::{Element, Part};
use crate::program::{ExecutionPlan, Memory, Program, Tensor, TensorData};

/// Returns the first element that uses a feature.
type Find = fn(&Program) -> Option<Element>;

/// Features that a schema introduced, the newest first: what, the release, and its first use.
const FEATURES: &[(&str, &str, Find)] = &[
    ("memory on another device than the CPU", "1.3", device),
    ("named data", "0.6", |program| program.named_data.as_ref().map(|_| Element::Program)),
    ("a tensor whose data are in a .ptd", "0.5", |program| tensor(program, Tensor::is_external)),
    ("an unsigned or float8 element type", "0.5", |program| tensor(program, |tensor| is_recent(tensor.scalar_type))),
    ("an initial state of a tensor", "0.4", |program| tensor(program, has_state)),
];

/// Returns the release that a program needs and its newest feature, which needs it.
pub fn needed_release(program: &Program) -> Option<(&'static str, &'static str)> {
    let newest = FEATURES.iter().find(|(.., find)| find(program).is_some());
    newest.map(|(feature, release, _)| (*release, *feature))
}

/// Reports the newest feature of a program.
pub fn check(program: &Program, findings: &mut Findings, locate: &Locator<'_>) {
    for (feature, release, find) in FEATURES {
        if let Some(element) = find(program) {
            findings.add("G-32", || {
                (locate(&element), (*feature).to_owned(), format!("a runtime of ExecuTorch {release} or later"))
            });
            return;
        }
    }
}

fn tensor(program: &Program, is_used: impl Fn(&Tensor) -> bool) -> Option<Element> {
    program.plans().iter().enumerate().find_map(|(method, plan)| {
        let value = plan.tensors().find(|(_, tensor)| is_used(tensor));
        value.map(|(value, _)| Element::Method(method, Part::Value(value)))
    })
}

fn device(program: &Program) -> Option<Element> {
    let pool = |plan: &ExecutionPlan| plan.memory.non_const_buffer_device.is_some();
    let pool = program.plans().iter().position(pool).map(|method| Element::Method(method, Part::Whole));
    tensor(program, |tensor| tensor.device() != (0, 0)).or(pool)
}

fn has_state(tensor: &Tensor) -> bool {
    tensor.memory != Memory::None && matches!(tensor.data, TensorData::Blob(_))
}

/// Returns true for the element types that the schema of 0.5 added: bits16, the float8 types, and uint16 to uint64.
fn is_recent(scalar_type: ScalarType) -> bool {
    (22..=29).contains(&scalar_type.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recent_element_types_have_consecutive_codes() {
        let recent = ScalarType::names().filter(|name| ScalarType::parse(name).is_some_and(is_recent));
        let expected = [
            "bits16",
            "float8_e5m2",
            "float8_e4m3fn",
            "float8_e5m2fnuz",
            "float8_e4m3fnuz",
            "uint16",
            "uint32",
            "uint64",
        ];
        assert_eq!(recent.collect::<Vec<_>>(), expected);
    }
}
