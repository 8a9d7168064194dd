//! Field overrides in payloads of XNNPACK delegates: `methods.forward.delegates.part.payload.nodes[0].input_id`.
//!
//! They overwrite bytes of the header and the graph before the program is planned. A payload is not encoded again. A
//! field that is absent because it has its default can therefore not be set.

use std::ops::Range;

use super::fields::{OverrideMessage, OverrideReport, PayloadField, encoded, text_of_length};
use super::walker::Walker;
use super::{FieldOverride, FileOverrides, OverrideValue};
use pte_model::data::Blob;
use pte_model::format::path::{FieldPath, PathStep};
use pte_model::program::Program;
use pte_payload::header::{HEADER, HEADER_FIELDS, Sections};
use pte_xnnpack::schema::{GRAPH, IDENTIFIERS, MAGIC};

/// Step from a delegate to its payload.
const PAYLOAD: &str = "payload";

/// Maximum size in bytes of the header and graph of a payload with overrides.
const MAX_HEAD: u64 = 64 << 20;

/// Names in the source that paths may use for delegates and for values of their graphs.
pub trait DelegateNames {
    /// Returns the index of a delegate of a method.
    fn delegate(&self, method: usize, name: &str) -> Option<usize>;
    /// Returns the position of a value in the graph of a delegate of a method.
    fn value(&self, method: usize, delegate: usize, name: &str) -> Option<usize>;
}

/// Position of a payload, and a path in it.
struct PayloadPath {
    method: usize,
    delegate: usize,
    path: FieldPath,
}

/// Applies the overrides of fields of payloads, and removes them from `overrides`. Errors and warnings are added to
/// `report`.
pub fn apply(
    overrides: &mut FileOverrides,
    program: &mut Program,
    names: &dyn DelegateNames,
    report: &mut OverrideReport,
) {
    let is_in_payload = |field: &FieldOverride| position(&field.path).is_some();
    if !overrides.fields.iter().any(is_in_payload) {
        return;
    }
    let (own, others) = std::mem::take(&mut overrides.fields).into_iter().partition(is_in_payload);
    overrides.fields = others;
    for field in own {
        let message = |message: String| OverrideMessage { number: field.number, message };
        match override_field(&field, program, names) {
            Ok(true) => {}
            Ok(false) => {
                let text = format!("`{}` changes nothing: the field already has this value", field.path);
                report.warnings.push(message(text));
            }
            Err(error) => report.errors.push(message(format!("`{}`: {error}", field.path))),
        }
    }
}

/// Returns the position of the step to the payload in a path; `None` if the path is not in one.
fn position(path: &FieldPath) -> Option<usize> {
    let name = |step: &PathStep, name: &str| *step == PathStep::Name(name.to_owned());
    let [root, _, delegates, _, payload, _, ..] = &path.0[..] else { return None };
    let is_root = name(root, "methods") || name(root, "execution_plan");
    (is_root && name(delegates, "delegates") && name(payload, PAYLOAD)).then_some(4)
}

/// Resolves the names of method, delegate and value in a path.
fn resolve(path: &FieldPath, program: &Program, names: &dyn DelegateNames) -> Result<PayloadPath, String> {
    let steps = &path.0[..];
    let Some((at, [_, method, _, delegate])) = position(path).zip(steps.first_chunk()) else {
        return Err("not a field of a payload".into());
    };
    let plans = program.plans();
    let method = match method {
        PathStep::Index(index) => Some(*index),
        PathStep::Name(name) => program.method_index(Some(name)),
    };
    let method = method.filter(|method| *method < plans.len()).ok_or("unknown method")?;
    let delegate = match delegate {
        PathStep::Index(index) => Some(*index),
        PathStep::Name(name) => names.delegate(method, name),
    };
    let count = plans[method].delegates().len();
    let delegate = delegate.filter(|delegate| *delegate < count).ok_or("unknown delegate")?;
    let mut rest = steps[at + 1..].to_vec();
    if let [PathStep::Name(list), PathStep::Name(name), ..] = &rest[..]
        && matches!(list.as_str(), "values" | "xvalues")
        && !name.starts_with('@')
    {
        let value = names.value(method, delegate, name).ok_or_else(|| format!("unknown value `{name}`"))?;
        rest[1] = PathStep::Index(value);
    }
    Ok(PayloadPath { method, delegate, path: FieldPath(rest) })
}

/// Overrides a field; returns `false` if nothing changes.
fn override_field(field: &FieldOverride, program: &mut Program, names: &dyn DelegateNames) -> Result<bool, String> {
    let PayloadPath { method, delegate, path } = resolve(&field.path, program, names)?;
    let same_as = match &field.value {
        OverrideValue::SameAs(other) => {
            let target = resolve(other, program, names).map_err(|error| format!("`{other}`: {error}"))?;
            let is_same = (target.method, target.delegate) == (method, delegate);
            Some(is_same.then_some(target.path).ok_or_else(|| format!("`{other}` is not in the same payload"))?)
        }
        OverrideValue::Integer(_)
        | OverrideValue::Float(_)
        | OverrideValue::Absent
        | OverrideValue::Null
        | OverrideValue::Empty
        | OverrideValue::Text(_)
        | OverrideValue::Bytes(_) => None,
    };
    let blob = program.plans()[method].delegates()[delegate].processed.0 as usize;
    let payload = program.blobs.get(blob).ok_or("the payload is missing")?;
    let unreadable = |error: std::io::Error| format!("the payload cannot be read: {error}");
    let head = payload.read_at(0, payload.len().min(HEADER as u64) as usize).map_err(unreadable)?;
    let (start, size) = Sections::read(MAGIC, &head, payload.len())?.graph;
    let end = start.saturating_add(size);
    if end > MAX_HEAD {
        return Err(format!("a graph of more than {MAX_HEAD} bytes"));
    }
    let end = end.max(head.len() as u64);
    let mut head = payload.read_at(0, end as usize).map_err(unreadable)?;
    let graph = start as usize..(start + size) as usize;
    let (range, bytes) = patch(&path, same_as, &field.value, &head, graph)?;
    let old = head.get_mut(range).ok_or("the field is outside of the payload")?;
    if *old == bytes[..] {
        return Ok(false);
    }
    old.copy_from_slice(&bytes);
    let rest = payload.part(end, payload.len() - end).map_err(unreadable)?;
    let parts = std::iter::once(Blob::bytes(head)).chain(rest);
    let joined = Blob::joined(parts).ok_or("the payload is too large")?;
    program.blobs[blob] = Blob { copy: payload.copy, ..joined };
    Ok(true)
}

/// Returns the range in the payload that an override changes, and its new bytes.
fn patch(
    path: &FieldPath,
    same_as: Option<FieldPath>,
    value: &OverrideValue,
    head: &[u8],
    graph: Range<usize>,
) -> Result<(Range<usize>, Vec<u8>), String> {
    if let [PathStep::Name(header), PathStep::Name(name)] = &path.0[..]
        && header == "header"
    {
        let known = || HEADER_FIELDS.iter().map(|field| field.name).collect::<Vec<_>>().join(", ");
        let field = HEADER_FIELDS.iter().find(|field| field.name == name);
        let field = field.ok_or_else(|| format!("unknown header field; expected {}", known()))?;
        let bytes = match (value, field.number) {
            (OverrideValue::Bytes(bytes), _) if bytes.len() <= field.size => bytes.clone(),
            (OverrideValue::Text(text), None) => text_of_length(text, field.size)?,
            (value, Some(number)) => encoded(value, number)?,
            (_, None) => return Err("expected a text or {bytes: ...}".into()),
        };
        return Ok((field.at..field.at + bytes.len(), bytes));
    }
    let bytes = head.get(graph.clone()).unwrap_or_default();
    if !IDENTIFIERS.iter().any(|identifier| bytes.get(4..8) == Some(identifier.as_bytes())) {
        return Err("the payload has no graph of XNNPACK".into());
    }
    let walker = Walker { bytes, root: &GRAPH, values: &|_| Vec::new() };
    let patch = PayloadField { path, same_as, value }.patch(&walker)?;
    let at = graph.start.checked_add(patch.at as usize).ok_or("the field is outside of the payload")?;
    Ok((at..at.saturating_add(patch.bytes.len()), patch.bytes))
}
