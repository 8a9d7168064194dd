//! Checks the elements of constants and initial states (`T-40` to `T-42`). They are read only with `--data`, because
//! they are most of a file.

use std::collections::HashMap;
use std::io::{self, Write};

use half::{bf16, f16};

use super::finding::{Findings, Locator};
use crate::RuleId::{self, *};
use pte_model::format::ScalarType;
use pte_model::format::scalar_type::{Encoding, FloatFormat};
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
                let mut scan = ElementScan { rule, rest: Vec::new(), elements: 0, found: 0, first: 0 };
                let blob = program.blob(id);
                let read = match left.checked_sub(blob.len) {
                    Some(rest) => {
                        left = rest;
                        blob.copy_to(&mut scan).map_err(|error| error.to_string())
                    }
                    None => Err("data that overlap too many other data".to_owned()),
                };
                (read, scan.found, scan.first)
            });
            let at = || locate(&Element::Method(method, Part::Value(index)));
            match scanned {
                (Err(error), ..) => {
                    findings.add(T_42, || (at(), format!("unreadable data: {error}"), "readable data".into()));
                }
                (Ok(()), 1.., first) => {
                    let found = format!("{}: {}, the first at index {first}", rule.found, scanned.1);
                    findings.add(rule.id, || (at(), found, rule.expected.into()));
                }
                (Ok(()), 0, _) => {}
            }
        }
    }
}

/// A rule about elements of one type.
#[derive(Clone, Copy)]
struct ElementRule {
    id: RuleId,
    /// Size of an element in bytes.
    size: usize,
    violates: fn(&[u8]) -> bool,
    found: &'static str,
    expected: &'static str,
}

fn element_rule(scalar_type: ScalarType) -> Option<ElementRule> {
    fn bytes<const N: usize>(element: &[u8]) -> [u8; N] {
        element.first_chunk().copied().unwrap_or([0; N])
    }
    let nan = |size, violates| ElementRule { id: T_41, size, violates, found: "NaN elements", expected: "no NaN" };
    Some(match scalar_type.info()?.encoding {
        Encoding::Bool => {
            let violates = |element: &[u8]| element[0] > 1;
            ElementRule { id: T_40, size: 1, violates, found: "elements that are neither 0 nor 1", expected: "0 or 1" }
        }
        Encoding::Float(format) => match format {
            FloatFormat::Binary16 => nan(2, |element| f16::from_le_bytes(bytes(element)).is_nan()),
            FloatFormat::Bfloat16 => nan(2, |element| bf16::from_le_bytes(bytes(element)).is_nan()),
            FloatFormat::Binary32 => nan(4, |element| f32::from_le_bytes(bytes(element)).is_nan()),
            FloatFormat::Binary64 => nan(8, |element| f64::from_le_bytes(bytes(element)).is_nan()),
            // Quantized weights use every bit pattern.
            FloatFormat::Float8E5m2
            | FloatFormat::Float8E4m3fn
            | FloatFormat::Float8E5m2fnuz
            | FloatFormat::Float8E4m3fnuz => return None,
        },
        Encoding::Unsigned | Encoding::Signed | Encoding::Complex(_) | Encoding::Opaque => return None,
    })
}

/// Checks elements while they are written to it.
struct ElementScan {
    rule: ElementRule,
    /// First bytes of an element whose other bytes are not written yet.
    rest: Vec<u8>,
    elements: u64,
    /// Number of elements that violate the rule.
    found: u64,
    /// Index of the first of them.
    first: u64,
}

impl ElementScan {
    fn check(&mut self, elements: &[u8]) {
        for element in elements.chunks_exact(self.rule.size) {
            if (self.rule.violates)(element) {
                if self.found == 0 {
                    self.first = self.elements;
                }
                self.found += 1;
            }
            self.elements += 1;
        }
    }
}

impl Write for ElementScan {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let all = bytes.len();
        let mut bytes = bytes;
        if !self.rest.is_empty() {
            let missing = (self.rule.size - self.rest.len()).min(bytes.len());
            self.rest.extend_from_slice(&bytes[..missing]);
            bytes = &bytes[missing..];
            if self.rest.len() == self.rule.size {
                let element = std::mem::take(&mut self.rest);
                self.check(&element);
            }
        }
        let whole = bytes.len() / self.rule.size * self.rule.size;
        self.check(&bytes[..whole]);
        self.rest.extend_from_slice(&bytes[whole..]);
        Ok(all)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
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
    fn elements_are_found_in_any_chunks() {
        let bytes: Vec<u8> = [1.0f32, f32::NAN, 2.0, f32::NAN].iter().flat_map(|x| x.to_le_bytes()).collect();
        for cut in 0..=bytes.len() {
            let rule = element_rule(ScalarType::FLOAT).unwrap();
            let mut scan = ElementScan { rule, rest: Vec::new(), elements: 0, found: 0, first: 0 };
            scan.write_all(&bytes[..cut]).unwrap();
            scan.write_all(&bytes[cut..]).unwrap();
            assert_eq!((scan.found, scan.first, scan.elements), (2, 1, 4), "{cut}");
        }
    }

    #[test]
    fn unreadable_data_are_reported() {
        let mut tensor = Tensor::new(ScalarType::FLOAT, &[1]);
        let mut program = Program::default();
        let missing = BlobSource::File { path: Path::new("no such file").into(), offset: 0 };
        tensor.data = TensorData::Blob(program.add_blob(Blob::new(4, missing)));
        let values = Some(vec![EValue::Tensor(tensor)]);
        program.execution_plan = Some(vec![ExecutionPlan { values, ..ExecutionPlan::default() }]);
        let mut findings = Findings::new(Profile::Strict);
        check(&program, 4, &mut findings, &|element| Location { offset: None, path: element.path(&program) });
        assert_eq!(findings.list.iter().map(|finding| finding.rule.id).collect::<Vec<_>>(), [T_42]);
    }
}
