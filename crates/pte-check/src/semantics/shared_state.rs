//! Checks state that several methods have under the same name (`X-27`, `X-29`). `initialisation.rs` checks the use of
//! state in a single method.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use super::super::finding::{Findings, Locator};
use crate::RuleId::*;
use pte_model::diagnostics::{clipped, counted};
use pte_model::program::element::{Element, Part};
use pte_model::program::{Memory, Program, Tensor};

/// The pool of activations, which methods do not share by default.
const ACTIVATIONS: u32 = 1;

/// Reports tensors with a name and a pool that another method has at a different offset, or with a different size, and
/// those in a pool that methods do not share.
pub fn check(program: &Program, findings: &mut Findings, locate: &Locator<'_>) {
    if program.plans().len() < 2 {
        return;
    }
    let mut first: HashMap<(u32, &str), (usize, u64, Option<u64>)> = HashMap::new();
    for (method, value, tensor) in program.tensors() {
        let Memory::At { pool, offset } = tensor.memory else { continue };
        let Some(name) = name(tensor) else { continue };
        let place = (offset, tensor.nbytes());
        let (other, offset, bytes) = match first.entry((pool, name)) {
            Entry::Occupied(entry) => *entry.get(),
            Entry::Vacant(entry) => {
                entry.insert((method, place.0, place.1));
                continue;
            }
        };
        if other == method {
            continue;
        }
        let method_name = || clipped(program.plans()[other].name.as_deref().unwrap_or_default());
        if pool == ACTIVATIONS {
            findings.add(X_29, || {
                let found = format!("`{}` in pool {pool}, also of method `{}`", clipped(name), method_name());
                let expected = "another pool, if the methods share the state".to_owned();
                (locate(&Element::Method(method, Part::Value(value))), found, expected)
            });
            continue;
        }
        if place == (offset, bytes) {
            continue;
        }
        findings.add(X_27, || {
            let shown = |(offset, bytes): (u64, Option<u64>)| {
                let bytes = bytes.map_or_else(|| "an unknown size".to_owned(), |bytes| counted(bytes, "byte"));
                format!("offset {offset} and {bytes}")
            };
            let found = format!("`{}` in pool {pool} at {}", clipped(name), shown(place));
            let expected = format!("{}, as in method `{}`", shown((offset, bytes)), method_name());
            (locate(&Element::Method(method, Part::Value(value))), found, expected)
        });
    }
}

fn name(tensor: &Tensor) -> Option<&str> {
    tensor.name().filter(|name| !name.is_empty())
}
