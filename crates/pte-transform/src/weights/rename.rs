//! Gives weights other names: constants and states of methods, named data, and entries of `.ptd` files. The bytes stay.
//!
//! Names that delegates look up in their payloads stay: a payload would not find them.

use std::collections::HashMap;

use pte_model::data::BlobId;
use pte_model::diagnostics::{Code, Diagnostic, clipped, first_names};
use pte_model::program::{EValue, Program, TensorData};
use pte_xnnpack::payloads::Payloads;
use serde::Serialize;

use crate::pattern::NameMap;

/// A weight with another name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct RenamedWeight {
    /// Former name.
    pub from: String,
    /// New name.
    pub to: String,
}

/// Renames weights, all at once. Returns those that have other names now, sorted.
///
/// # Errors
/// A rule that applies to no weight; names that delegates look up; different weights that would have one name. Nothing
/// is changed.
pub fn rename(program: &mut Program, names: &NameMap) -> Result<Vec<RenamedWeight>, Vec<Diagnostic>> {
    let keys = Payloads::of_program(program).keys();
    let (mut errors, mut all) = (Vec::new(), Vec::<(String, Option<BlobId>)>::new());
    for plan in program.plans() {
        for (_, tensor) in plan.tensors() {
            let data = match tensor.data {
                TensorData::Blob(data) => Some(data),
                _ => None,
            };
            all.extend(tensor.name().filter(|_| tensor.has_content()).map(|name| (name.to_owned(), data)));
        }
    }
    let of_methods = all.len();
    all.extend(program.external_data.iter().map(|entry| (entry.key.clone(), Some(entry.data))));
    all.extend(program.named_data.iter().flatten().map(|entry| (entry.key.clone(), Some(entry.data))));
    if all.is_empty() {
        let message = "no weight has a stored name, which `name:` of a tensor gives in YAML";
        return Err(vec![Code::UnmetRequest.whole(message.to_owned())]);
    }
    for rule in names.unused(all.iter().map(|(name, _)| name.as_str())) {
        let known = all.iter().map(|(name, _)| name.as_str());
        let (from, list) = (names.rules[rule].from.to_string(), first_names(known.clone()));
        let message = format!("no weight `{}`; there are {list}", clipped(&from));
        errors.push(Code::UnmetRequest.whole(message).suggest(&from, known));
    }
    let mut owners: HashMap<String, (&str, Option<BlobId>)> = HashMap::new();
    let mut renamed: Vec<RenamedWeight> = Vec::new();
    for (number, (name, data)) in all.iter().enumerate() {
        let to = names.apply(name);
        if to != *name {
            if number >= of_methods && keys.may_refer_to(name) {
                let message = format!("`{}` stays: a delegate looks it up by this name", clipped(name));
                errors.push(Code::UnmetRequest.whole(message));
            }
            renamed.push(RenamedWeight { from: name.clone(), to: to.clone() });
        }
        let (other, other_data) = *owners.entry(to.clone()).or_insert((name, *data));
        if other != name && (other_data.is_none() || other_data != *data) {
            let [other, name, to] = [other, name, &to].map(clipped);
            errors.push(Code::DuplicateName.whole(format!("`{other}` and `{name}` would both be called `{to}`")));
        }
    }
    if !errors.is_empty() {
        return Err(errors);
    }
    for plan in program.plans_mut() {
        for value in plan.values.iter_mut().flatten() {
            let EValue::Tensor(tensor) = value else { continue };
            let is_weight = tensor.has_content();
            if let Some(name) = tensor.extra_tensor_info.as_mut().and_then(|info| info.fully_qualified_name.as_mut())
                && is_weight
            {
                *name = names.apply(name);
            }
        }
    }
    program.external_data.iter_mut().for_each(|entry| entry.key = names.apply(&entry.key));
    program.named_data.iter_mut().flatten().for_each(|entry| entry.key = names.apply(&entry.key));
    renamed.sort();
    renamed.dedup();
    Ok(renamed)
}
