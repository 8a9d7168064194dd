//! Determines the release of ExecuTorch that a program needs: the first one whose schema has all its fields, and whose
//! runtime reads them (docs/releases.md).

use super::element::{Element, Part};
use super::{Device, ExecutionPlan, Memory, Program, Tensor, TensorData};
use crate::format::ScalarType;

/// A feature that a schema introduced.
pub struct Feature {
    /// Its word in the tables of `pte-releases`.
    pub key: &'static str,
    /// Description of the feature.
    pub name: &'static str,
    /// First release whose schema has it and whose runtime was measured to read it: `pte-check` tests that.
    pub release: &'static str,
    /// Function that returns `true` if a tensor uses it.
    in_tensor: fn(&Tensor) -> bool,
    /// Function that returns the first element other than a tensor that uses it.
    elsewhere: fn(&Program) -> Option<Element>,
}

/// Key of the feature of a program with tensors whose data are in a `.ptd`.
pub const EXTERNAL: &str = "constants.external";

/// Key of the feature of a program that has both named data and tensors with data in a `.ptd`.
pub const NAMED_BESIDE_EXTERNAL: &str = "named_data.program_beside_external";

/// Declares the features, the newest one first: key, name, release, whether a tensor uses it, and the first other
/// element that does.
macro_rules! features {
    ($( $key:expr, $name:literal, $release:literal, $in_tensor:expr, $elsewhere:expr; )*) => {
        /// All features, the newest one first.
        pub const FEATURES: &[Feature] = &[$(
            Feature { key: $key, name: $name, release: $release, in_tensor: $in_tensor, elsewhere: $elsewhere }
        ),*];
    };
}

features! {
    "device.cuda", "memory on another device than the CPU", "1.3", |tensor| tensor.device() != Device::CPU, |_| None;
    "device.buffer_cuda", "a planned buffer with a device", "1.3", |_| false, |program| {
        let has_device = |plan: &ExecutionPlan| plan.memory.non_const_buffer_device.is_some();
        program.plans().iter().position(has_device).map(|method| Element::Method(method, Part::Whole))
    };
    NAMED_BESIDE_EXTERNAL, "named data in the program beside tensors whose data are in a .ptd", "1.0", |_| false,
        |program| {
            let has_named = program.named_data.as_ref().is_some_and(|named| !named.is_empty());
            (has_named && program.tensors().any(|(.., tensor)| tensor.is_external())).then_some(Element::Program)
        };
    "state.external", "a state whose initial value is in a .ptd", "0.7",
        |tensor| tensor.is_external() && tensor.memory != Memory::None, |_| None;
    EXTERNAL, "a tensor whose data are in a .ptd", "0.7", Tensor::is_external, |_| None;
    "named_data.program", "named data", "0.6", |_| false,
        |program| program.named_data.as_ref().map(|_| Element::Program);
    // Each element type has a word of its own, `type.uint16`.
    "", "an unsigned or float8 element type", "0.5", |tensor| is_recent(tensor.scalar_type), |_| None;
    "state.initial", "an initial state of a tensor", "0.4", has_state, |_| None;
}

/// Returns the newest feature of a program, and the first element that uses it.
pub fn newest(program: &Program) -> Option<(&'static Feature, Element)> {
    used(program).into_iter().next()
}

/// Returns the features of a program, the newest one first, each with the first element that uses it.
pub fn used(program: &Program) -> Vec<(&'static Feature, Element)> {
    // One pass finds all features, because reading the tensors takes most of the time.
    let mut found: Vec<Option<Element>> = FEATURES.iter().map(|feature| (feature.elsewhere)(program)).collect();
    for (method, value, tensor) in program.tensors() {
        for (feature, found) in FEATURES.iter().zip(&mut found) {
            if found.is_none() && (feature.in_tensor)(tensor) {
                *found = Some(Element::Method(method, Part::Value(value)));
            }
        }
    }
    FEATURES.iter().zip(found).filter_map(|(feature, found)| Some((feature, found?))).collect()
}

fn has_state(tensor: &Tensor) -> bool {
    tensor.memory != Memory::None && matches!(tensor.data, TensorData::Blob(_))
}

/// Returns true for the element types that the schema of 0.5 added: bits16, the float8 types, and uint16 to uint64.
fn is_recent(scalar_type: ScalarType) -> bool {
    (ScalarType::BITS16..=ScalarType::UINT64).contains(&scalar_type)
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
