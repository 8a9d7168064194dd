//! What is in constants and initial states: read only if asked for, since they are most of a file (`T-40` and behind).

use std::collections::HashMap;
use std::io::{self, Write};

use half::{bf16, f16};

use super::finding::Findings;
use super::finding::Locate;
use crate::format::ScalarType;
use crate::program::element::{Element, Part};
use crate::program::{EValue, Program, TensorData};

/// Data that overlap are read as often as they are there, but not more often than this in all.
const OFTEN: u64 = 8;

/// Reads the data of all tensors of files of `len` bytes, each once, and checks them; data that cannot be read are a
/// finding, too.
pub(super) fn check(program: &Program, len: u64, findings: &mut Findings, place: &Locate<'_>) {
    let mut seen = HashMap::new();
    let mut left = len.saturating_mul(OFTEN);
    for (method, plan) in program.plans().iter().enumerate() {
        for (index, value) in plan.values().iter().enumerate() {
            let EValue::Tensor(tensor) = value else { continue };
            let TensorData::Blob(id) = tensor.data else { continue };
            let Some(odd) = odd(tensor.scalar_type) else { continue };
            let look = seen.entry((id, tensor.scalar_type.0)).or_insert_with(|| {
                let mut scan = Scan { odd, rest: Vec::new(), elements: 0, found: 0, first: 0 };
                let blob = program.blob(id);
                let read = match left.checked_sub(blob.len) {
                    Some(rest) => {
                        left = rest;
                        blob.copy_to(&mut scan).map_err(|error| error.to_string())
                    }
                    None => Err("data that are the same bytes as too many others".to_owned()),
                };
                (read, scan.found, scan.first)
            });
            let at = || place(&Element::Method(method, Part::Value(index)));
            match look {
                (Err(error), ..) => {
                    findings.add("T-42", || (at(), error.clone(), "data that can be read".into()));
                }
                (Ok(()), 1.., first) => {
                    let found = format!("{} of the elements, the first of them element {first}, {}", look.1, odd.what);
                    findings.add(odd.rule, || (at(), found, odd.expected.into()));
                }
                _ => {}
            }
        }
    }
}

/// Elements that nobody means.
#[derive(Clone, Copy)]
struct Odd {
    rule: &'static str,
    /// Bytes of an element.
    size: usize,
    is: fn(&[u8]) -> bool,
    what: &'static str,
    expected: &'static str,
}

fn odd(scalar_type: ScalarType) -> Option<Odd> {
    fn number<const N: usize>(bytes: &[u8]) -> [u8; N] {
        bytes.first_chunk().copied().unwrap_or([0; N])
    }
    let nan = |size, is| Odd { rule: "T-41", size, is, what: "not a number", expected: "numbers" };
    Some(match scalar_type {
        ScalarType::BOOL => {
            let is = |bytes: &[u8]| bytes[0] > 1;
            Odd { rule: "T-40", size: 1, is, what: "neither 0 nor 1", expected: "bools of 0 and 1" }
        }
        ScalarType(5) => nan(2, |bytes| f16::from_le_bytes(number(bytes)).is_nan()),
        ScalarType(15) => nan(2, |bytes| bf16::from_le_bytes(number(bytes)).is_nan()),
        ScalarType::FLOAT => nan(4, |bytes| f32::from_le_bytes(number(bytes)).is_nan()),
        ScalarType(7) => nan(8, |bytes| f64::from_le_bytes(number(bytes)).is_nan()),
        _ => return None,
    })
}

/// Looks at elements as they come.
struct Scan {
    odd: Odd,
    /// The beginning of an element.
    rest: Vec<u8>,
    elements: u64,
    found: u64,
    first: u64,
}

impl Scan {
    fn look(&mut self, elements: &[u8]) {
        for element in elements.chunks_exact(self.odd.size) {
            if (self.odd.is)(element) {
                if self.found == 0 {
                    self.first = self.elements;
                }
                self.found += 1;
            }
            self.elements += 1;
        }
    }
}

impl Write for Scan {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let all = bytes.len();
        let mut bytes = bytes;
        if !self.rest.is_empty() {
            let missing = (self.odd.size - self.rest.len()).min(bytes.len());
            self.rest.extend_from_slice(&bytes[..missing]);
            bytes = &bytes[missing..];
            if self.rest.len() == self.odd.size {
                let element = std::mem::take(&mut self.rest);
                self.look(&element);
            }
        }
        let whole = bytes.len() / self.odd.size * self.odd.size;
        self.look(&bytes[..whole]);
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
    use crate::check::Place;
    use crate::data::{Blob, Source};
    use crate::program::{ExecutionPlan, Tensor};

    #[test]
    fn elements_are_found_wherever_they_are_cut() {
        let bytes: Vec<u8> = [1.0f32, f32::NAN, 2.0, f32::NAN].iter().flat_map(|x| x.to_le_bytes()).collect();
        for cut in 0..=bytes.len() {
            let odd = odd(ScalarType::FLOAT).unwrap();
            let mut scan = Scan { odd, rest: Vec::new(), elements: 0, found: 0, first: 0 };
            scan.write_all(&bytes[..cut]).unwrap();
            scan.write_all(&bytes[cut..]).unwrap();
            assert_eq!((scan.found, scan.first, scan.elements), (2, 1, 4), "{cut}");
        }
    }

    #[test]
    fn data_that_are_gone_are_told() {
        let mut tensor = Tensor::new(ScalarType::FLOAT, &[1]);
        let mut program = Program::default();
        let gone = Source::File { path: Path::new("no such file").into(), offset: 0 };
        tensor.data = TensorData::Blob(program.add_blob(Blob::new(4, gone)));
        let values = Some(vec![EValue::Tensor(tensor)]);
        program.execution_plan = Some(vec![ExecutionPlan { values, ..ExecutionPlan::default() }]);
        let mut findings = Findings::new(Profile::Strict);
        check(&program, 4, &mut findings, &|element| Place { offset: None, path: element.path(&program) });
        assert_eq!(findings.list().iter().map(|finding| finding.rule.id).collect::<Vec<_>>(), ["T-42"]);
    }
}
