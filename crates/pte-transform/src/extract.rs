//! Reduces a program to some of its methods, with the data that they need.
//!
//! Methods, their memory plans and the data that stay are not changed. Which named data a delegate looks up is only
//! known to its backend: data are removed if their key is in the payloads of removed delegates only, and kept
//! otherwise.

use std::collections::HashSet;
use std::io;

use pte_model::data::Blob;
use pte_model::diagnostics::{Code, Diagnostic, clipped, first_names};
use pte_model::program::test_cases::MethodTests;
use pte_model::program::{BackendDelegate, Program};
use serde::Serialize;

use crate::error::EditError;
use crate::keys::KeyFinder;
use crate::pattern::Pattern;
use crate::remap::{drop_blobs, retain};
use crate::rename::{name_of, trained_method};

/// Names of the parts that [`extract`] kept and removed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Extracted {
    /// Methods that were kept, in the order of the program.
    pub methods: Vec<String>,
    /// Methods that were removed.
    pub removed_methods: Vec<String>,
    /// Keys of removed named data.
    pub removed_keys: Vec<String>,
    /// Keys that no payload contains, neither a kept nor a removed one: it is not known who needs these data, so they
    /// were kept.
    pub unknown_keys: Vec<String>,
    /// Bytes of data that nothing refers to any more.
    pub removed_bytes: u64,
}

/// Keeps the methods whose names match a [pattern](crate::pattern), with the constant methods that describe them for
/// training, and removes all others with their tests, and the data that nothing needs any more.
///
/// # Errors
/// A pattern that no method matches; payloads that cannot be read. Nothing is changed.
pub fn extract(
    program: &mut Program,
    tests: &mut Vec<MethodTests>,
    patterns: &[String],
) -> Result<Extracted, EditError> {
    let names: Vec<String> = program.plans().iter().map(name_of).collect();
    let is_selected = |name: &String| patterns.iter().any(|pattern| Pattern::new(pattern.as_str()).matches(name));
    let unmatched: Vec<Diagnostic> = patterns
        .iter()
        .filter(|pattern| !names.iter().any(|name| Pattern::new(pattern.as_str()).matches(name)))
        .map(|pattern| unmatched(pattern, &names))
        .collect();
    if !unmatched.is_empty() {
        return Err(unmatched.into());
    }
    let kept: HashSet<&String> = names.iter().filter(|name| is_selected(name)).collect();
    let is_kept = |name: &String| {
        kept.contains(name) || trained_method(name).is_some_and(|method| kept.contains(&method.to_owned()))
    };
    let flags: Vec<bool> = names.iter().map(is_kept).collect();
    let (removed_keys, unknown_keys) = keys_by_use(program, &flags)?;
    let mut report = Extracted { unknown_keys, ..Extracted::default() };
    for (name, kept) in names.iter().zip(&flags) {
        if *kept { &mut report.methods } else { &mut report.removed_methods }.push(name.clone());
    }
    if !report.removed_methods.is_empty() {
        program.execution_plan.iter_mut().for_each(|plans| retain(plans, &flags));
        let is_needed = |key: &String| !removed_keys.contains(key);
        program.named_data.iter_mut().for_each(|list| list.retain(|entry| is_needed(&entry.key)));
        program.external_data.retain(|entry| is_needed(&entry.key));
        tests.retain(|tests| report.methods.contains(&tests.method));
        let bytes = |program: &Program| program.blobs.iter().map(|blob| blob.len()).fold(0, u64::saturating_add);
        let before = bytes(program);
        drop_blobs(program);
        report.removed_bytes = before - bytes(program);
        report.removed_keys = removed_keys.into_iter().collect();
        report.removed_keys.sort_unstable();
    } else {
        report.unknown_keys.clear();
    }
    Ok(report)
}

fn unmatched(pattern: &str, names: &[String]) -> Diagnostic {
    let list = first_names(names.iter().map(String::as_str));
    let what = if pattern.contains('*') { "no method matches" } else { "unknown method" };
    let message = format!("{what} `{}`; the program has {list}", clipped(pattern));
    Code::UnmetRequest.whole(message).suggest(pattern, names.iter().map(String::as_str))
}

/// Returns the keys of data that only removed methods need, and those that no method is known to need. `kept` is by
/// method.
fn keys_by_use(program: &Program, kept: &[bool]) -> io::Result<(HashSet<String>, Vec<String>)> {
    let named = program.named_data.iter().flatten().map(|entry| entry.key.as_str());
    let keys: Vec<&str> = named.chain(program.external_data.iter().map(|entry| entry.key.as_str())).collect();
    if keys.is_empty() {
        return Ok((HashSet::new(), Vec::new()));
    }
    let finder = KeyFinder::new(keys.iter().copied());
    let (mut needed, mut others) = (vec![false; keys.len()], vec![false; keys.len()]);
    let mut seen = HashSet::new();
    for (plan, kept) in program.plans().iter().zip(kept) {
        for delegate in plan.delegates() {
            let found = if *kept { &mut needed } else { &mut others };
            if seen.insert((delegate.processed, *kept)) {
                finder.mark(program.blob(delegate.processed), found)?;
            }
            for spec in specs(delegate) {
                finder.mark(&spec, found)?;
            }
        }
        // The key of a tensor in a `.ptd` is its name.
        let external =
            plan.tensors().filter(|(_, tensor)| tensor.is_external()).filter_map(|(_, tensor)| tensor.name());
        let names: HashSet<&str> = external.collect();
        let found = if *kept { &mut needed } else { &mut others };
        keys.iter().zip(found).filter(|(key, _)| names.contains(*key)).for_each(|(_, found)| *found = true);
    }
    let select = |wanted: [bool; 2]| {
        let flags = needed.iter().zip(&others).map(move |(needed, others)| [*needed, *others] == wanted);
        keys.iter().zip(flags).filter(|(_, wanted)| *wanted).map(|(key, _)| (*key).to_owned())
    };
    Ok((select([false, true]).collect(), select([false, false]).collect()))
}

fn specs(delegate: &BackendDelegate) -> impl Iterator<Item = Blob> {
    let values = delegate.compile_specs.iter().flatten().filter_map(|spec| spec.value.as_deref());
    values.map(Blob::bytes)
}
