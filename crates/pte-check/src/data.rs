//! Checks the elements of constants and initial states (`T-40` to `T-42`). They are read only with `--data`, because
//! they are most of a file.

use std::collections::HashMap;

use super::finding::{Findings, Locator};
use crate::RuleId::{self, *};
use pte_model::data::elements;
use pte_model::format::ScalarType;
use pte_model::format::scalar_type::Encoding;
use pte_model::program::element::{Element, Part};
use pte_model::program::{EValue, Program, TensorData};

/// Maximum number of bytes to read, as a multiple of the size of the files. Data may overlap.
const MAX_READ_FACTOR: u64 = 8;

/// Reads the data of all tensors, each once, and checks the elements. Data that cannot be read are a finding. `len` is
/// the size in bytes of the program and its `.ptd` files.
pub(super) fn check(program: &Program, len: u64, findings: &mut Findings, locate: &Locator<'_>) {
    let mut seen = HashMap::new();
    let mut left = len.saturating_mul(MAX_READ_FACTOR);
    for (method, plan) in program.plans().iter().enumerate() {
        for (index, value) in plan.values().iter().enumerate() {
            let EValue::Tensor(tensor) = value else { continue };
            let TensorData::Blob(id) = tensor.data else { continue };
            let Some(rule) = element_rule(tensor.scalar_type) else { continue };
            let scanned = seen.entry((id, tensor.scalar_type)).or_insert_with(|| {
                let (mut index, mut found, mut first) = (0u64, 0u64, None);
                let blob = program.blob(id);
                left = left.checked_sub(blob.len).ok_or("data that overlap too many other data")?;
                let read = elements::each_real(blob, tensor.scalar_type, |element| {
                    if (rule.violates)(element) {
                        found += 1;
                        first.get_or_insert(index);
                    }
                    index += 1;
                });
                read.map(|_| first.map(|first| (found, first))).map_err(|error| error.to_string())
            });
            let at = || locate(&Element::Method(method, Part::Value(index)));
            match scanned {
                Err(error) => {
                    findings.add(T_42, || (at(), format!("unreadable data: {error}"), "readable data".into()));
                }
                Ok(Some((count, first))) => {
                    let found = format!("{}: {count}, the first at index {first}", rule.found);
                    findings.add(rule.id, || (at(), found, rule.expected.into()));
                }
                Ok(None) => {}
            }
        }
    }
}

/// A rule about elements of one type.
struct ElementRule {
    id: RuleId,
    violates: fn(f64) -> bool,
    found: &'static str,
    expected: &'static str,
}

fn element_rule(scalar_type: ScalarType) -> Option<ElementRule> {
    match scalar_type.info()?.encoding {
        Encoding::Bool => {
            let found = "elements that are neither 0 nor 1";
            Some(ElementRule { id: T_40, violates: |element| element > 1.0, found, expected: "0 or 1" })
        }
        // Quantized weights of eight bits use every bit pattern.
        Encoding::Float(format) if format.size() > 1 => {
            Some(ElementRule { id: T_41, violates: f64::is_nan, found: "NaN elements", expected: "no NaN" })
        }
        Encoding::Float(_) | Encoding::Unsigned | Encoding::Signed | Encoding::Complex(_) | Encoding::Opaque => None,
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::super::rules::Profile;
    use super::*;
    use crate::Location;
    use pte_model::data::{Blob, BlobSource};
    use pte_model::program::{ExecutionPlan, Tensor};

    #[test]
    fn elements_of_all_blocks_are_found() {
        let count = pte_model::data::produce::BLOCK as usize / 4 + 3;
        let number = |index: usize| if index == 1 || index + 1 == count { f32::NAN } else { 1.0 };
        let bytes: Vec<u8> = (0..count).flat_map(|index| number(index).to_le_bytes()).collect();
        let list = checked(Blob::bytes(bytes), count);
        assert_eq!(list, [(T_41, "NaN elements: 2, the first at index 1".to_owned())]);
    }

    /// Findings in a tensor of float32.
    fn checked(data: Blob, count: usize) -> Vec<(RuleId, String)> {
        let mut tensor = Tensor::new(ScalarType::FLOAT, &[count as i32]);
        let (mut program, len) = (Program::default(), data.len());
        tensor.data = TensorData::Blob(program.add_blob(data));
        let values = Some(vec![EValue::Tensor(tensor)]);
        program.execution_plan = Some(vec![ExecutionPlan { values, ..ExecutionPlan::default() }]);
        let mut findings = Findings::new(Profile::Strict);
        check(&program, len, &mut findings, &|element| Location { offset: None, path: element.path(&program) });
        findings.list.iter().map(|finding| (finding.rule.id, finding.found.clone())).collect()
    }

    #[test]
    fn unreadable_data_are_reported() {
        let missing = BlobSource::File { path: Path::new("no such file").into(), offset: 0 };
        let list = checked(Blob::new(4, missing), 1);
        assert_eq!(list.into_iter().map(|(id, _)| id).collect::<Vec<_>>(), [T_42]);
    }
}
