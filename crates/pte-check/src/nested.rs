//! Checks the programs that are payloads of delegates of ExecutorBackend, each as a file of its own. Their findings
//! have the path of the delegate before their own, and no offset.

use std::collections::HashSet;

use super::finding::{Finding, Findings, Location, Locator};
use crate::RuleId::{V_6, X_18};
use pte_model::data::Blob;
use pte_model::format::Format;
use pte_model::format::container::HEAD;
use pte_model::program::Program;
use pte_model::program::element::{Element, Part};
use pte_model::reader::program::Ranges;
use pte_payload::format::{MAX_NESTED, Payload};
use pte_xnnpack::payloads::Payloads;

/// Validates a program by its bytes up to the end of its metadata, its size, and access to its data. Returns the
/// findings for each release.
pub type Validate<'v> = dyn Fn(&[u8], u64, &Ranges<'_>) -> Vec<Findings> + 'v;

/// Checks all of them. Their findings are added to those of each release. `depth` is the number of programs around
/// `program`.
pub(super) fn check(
    (program, payloads, depth): (&Program, &Payloads, usize),
    validate: &Validate<'_>,
    found: &mut [Findings],
    locate: &Locator<'_>,
) {
    let mut seen = HashSet::new();
    for (method, index, delegate) in program.delegates() {
        let Some(payload) = payloads.get(delegate).filter(|payload| payload.has_program()) else { continue };
        if !seen.insert(delegate.processed) {
            continue;
        }
        let at = locate(&Element::Method(method, Part::Delegate(index)));
        if payload.overlaps || depth == MAX_NESTED {
            let (what, expected) = match payload.overlaps {
                true => ("payloads larger than the file in total".to_owned(), "disjoint payloads".to_owned()),
                false => (format!("a program in {depth} others"), "fewer programs, one inside the other".to_owned()),
            };
            let what = what + ", which is not checked";
            found.iter_mut().for_each(|found| found.add(X_18, || (at.clone(), what.clone(), expected.clone())));
            continue;
        }
        let inner = metadata(payload).map(|head| {
            let data = |offset, len| payload.blob.part(offset, len).ok().flatten();
            validate(&head, payload.blob.len(), &data)
        });
        for (found, mut inner) in found.iter_mut().zip(inner.unwrap_or_default()) {
            // The program around it is compared with the answers to examples, with all findings.
            inner.remove(V_6);
            for Finding { location, .. } in &mut inner.list {
                let dot = if location.path.is_empty() { "" } else { "." };
                // The payload may be in another file, or in none.
                *location = Location::new(None, format!("{}.program{dot}{}", at.path, location.path));
            }
            found.append(inner);
        }
    }
}

/// Returns the bytes of a program up to the end of its metadata; `None` if they cannot be read.
fn metadata(payload: &Payload) -> Option<Vec<u8>> {
    let Blob { len, .. } = payload.blob;
    let read = |size: u64| payload.blob.read_at(0, usize::try_from(size).ok()?).ok();
    let head = read(len.min(HEAD))?;
    read(Format::Program.metadata_len(&head, len).min(len))
}
