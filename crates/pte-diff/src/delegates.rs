//! Compares the delegates that aligned instructions call: backend, options and payload. Payloads of XNNPACK are
//! compared as graphs, those with a schema as FlatBuffers, others as bytes.

use std::collections::BTreeSet;
use std::sync::Arc;

use indexmap::IndexSet;

use super::align::{merged, numbered, per_side};
use super::data::Found;
use super::difference::{DiffArea, DiffTopic, Differences, DifferingPart};
use super::flat;
use super::graph::{self, GraphSide};
use super::view::{MethodView, distinct};
use pte_model::data::Blob;
use pte_model::diagnostics::{clipped, counted};
use pte_model::program::element::Part;
use pte_model::program::{BackendDelegate, CompileSpec, DelegateId, FieldReference};
use pte_payload::flat::{PLAIN, read_by};

/// Compares the delegates of two methods; `called` has the pairs that aligned instructions call.
pub fn compare(views: [&MethodView<'_>; 2], called: &IndexSet<(DelegateId, DelegateId)>, found: &mut Found) {
    for (left, right) in called {
        let pair = [(views[0], *left), (views[1], *right)];
        if let [Some((left, l)), Some((right, r))] = pair.map(|(view, id)| id.get().zip(view.delegate(id))) {
            compare_pair(views, [left, right], [l, r], found);
        }
    }
    compare_uncalled(views, found);
}

fn compare_pair(views: [&MethodView<'_>; 2], indices: [usize; 2], delegates: [&BackendDelegate; 2], found: &mut Found) {
    let paths = per_side(|side| views[side].side.path(views[side].number, Part::Delegate(indices[side])));
    let (area, topic) = (DiffArea::Meaning, DiffTopic::Delegate);
    let ids = delegates.map(|delegate| delegate.id.as_deref());
    if ids[0] != ids[1] {
        found.differing(area, topic, paths.each_ref().map(|path| format!("{path}.id")), optional(ids).map(Some));
    }
    compare_specs(&paths, delegates, found);
    let missing = per_side(|side| views[side].side.missing(&paths[side]));
    if missing != [None, None] {
        let text = |text: Option<&str>| Some(text.unwrap_or("with a payload").to_owned());
        return found.compared(area, topic, paths, missing.map(text));
    }
    let payloads = delegates.map(|delegate| delegate.processed);
    if !found.is_new_payload(payloads) {
        return;
    }
    let blobs = per_side(|side| views[side].side.program.blob(payloads[side]).clone());
    let graphs = per_side(|side| {
        let is_decoded = ids[side] == Some(pte_xnnpack::BACKEND) && found.may_decode(blobs[side].len());
        is_decoded.then(|| views[side].side.payloads().graph(delegates[side])).flatten()
    });
    if let [Some(l), Some(r)] = graphs {
        let new = |side: usize| GraphSide::new([l, r][side], views[side].side, format!("{}.graph", paths[side]));
        return graph::compare([&new(0), &new(1)], found);
    }
    if compare_flat(views, delegates, [&paths[0], &paths[1]], found) {
        return;
    }
    let text = |side: usize| format!("payload of {}", counted(blobs[side].len(), "byte"));
    let parts = per_side(|side| DifferingPart::new(&*paths[side], text(side)));
    found.add_payload(blobs, parts);
}

/// Compares payloads that are FlatBuffers of the same schema, and what follows them. Returns `false` if they are not,
/// or if only their arrangement differs.
fn compare_flat(
    views: [&MethodView<'_>; 2],
    delegates: [&BackendDelegate; 2],
    paths: [&str; 2],
    found: &mut Found,
) -> bool {
    let payloads =
        per_side(|side| views[side].side.payloads().get(delegates[side]).filter(|payload| !payload.overlaps));
    let [Some(left), Some(right)] = payloads else { return false };
    let given = found.schema.clone();
    let schemas = [left, right].map(|payload| {
        let known = payload.flat().map(|format| (format.schema(), format.layout));
        // The schema that is given is that of a format which is not known.
        let given = || Some((given.clone().filter(|_| payload.is_unknown())?, PLAIN));
        known.or_else(given).filter(|_| found.may_decode(payload.blob.len()))
    });
    let [Some((schema, layout)), Some((other, other_layout))] = schemas else { return false };
    if !Arc::ptr_eq(&schema, &other) {
        return false;
    }
    let (Ok(l), Ok(r)) = (read_by(&schema, layout, &left.blob), read_by(&other, other_layout, &right.blob)) else {
        return false;
    };
    if !flat::compare(&schema, [&l.root, &r.root], paths, found) {
        return false;
    }
    let rest = [l.rest, r.rest].map(|rest| rest.unwrap_or_else(|| Blob::bytes([])));
    if rest[0].len() + rest[1].len() > 0 {
        let parts = per_side(|side| {
            let text = format!("constants of {}", counted(rest[side].len(), "byte"));
            DifferingPart::new(format!("{}.constants", paths[side]), text)
        });
        found.add_payload(rest, parts);
    }
    true
}

fn compare_specs(paths: &[String; 2], delegates: [&BackendDelegate; 2], found: &mut Differences) {
    let specs = delegates.map(|delegate| delegate.compile_specs.as_deref());
    if specs[0] == specs[1] {
        return;
    }
    let (area, topic) = (DiffArea::Meaning, DiffTopic::Delegate);
    let value = |spec: &CompileSpec| match &spec.value {
        None => "absent".to_owned(),
        Some(bytes) => match bytes.len() {
            0..=32 => format!("hex {}", data_encoding::HEXLOWER.encode(bytes)),
            len => format!("{}, hash {:016x}", counted(len as u64, "byte"), hash(bytes)),
        },
    };
    let presence = specs.map(|specs| specs.map(|_| "present".to_owned()));
    let list = per_side(|side| format!("{}.compile_specs", paths[side]));
    found.compared(area, topic, [&list[0], &list[1]], presence);
    let specs = specs.map(Option::unwrap_or_default);
    for index in 0..specs[0].len().max(specs[1].len()) {
        let paths = per_side(|side| format!("{}[{index}]", list[side]));
        let pair = [specs[0].get(index), specs[1].get(index)];
        if pair[0] != pair[1] {
            let keys = optional(pair.map(|spec| spec.and_then(|spec| spec.key.as_deref())));
            let text = |side: usize| pair[side].map(|spec| format!("{}: {}", keys[side], value(spec)));
            found.differing(area, topic, paths, [text(0), text(1)]);
        }
    }
}

/// Describes two texts. Different texts have different descriptions.
fn optional(texts: [Option<&str>; 2]) -> [String; 2] {
    match texts {
        [Some(left), Some(right)] if left != right => distinct([left, right]),
        _ => texts.map(|text| text.map_or("absent".to_owned(), clipped)),
    }
}

/// Returns a hash of bytes, for descriptions only.
fn hash(bytes: &[u8]) -> u64 {
    use std::hash::{DefaultHasher, Hash, Hasher};
    let mut hasher = DefaultHasher::new();
    bytes.hash(&mut hasher);
    hasher.finish()
}

/// Compares the delegates that no instruction calls, as a multiset.
fn compare_uncalled(views: [&MethodView<'_>; 2], found: &mut Found) {
    let uncalled = |view: &MethodView<'_>| {
        let fields = view.steps.iter().flat_map(|step| step.instruction.fields());
        let called: BTreeSet<DelegateId> = fields
            .filter_map(|field| match field.reference {
                FieldReference::Delegate(index) => Some(index),
                FieldReference::Operator(_)
                | FieldReference::Operand(..)
                | FieldReference::Destination(_)
                | FieldReference::Args(_) => None,
            })
            .collect();
        let all = view.plan.delegates().iter().enumerate();
        let free = all.filter(|(index, _)| !called.contains(&DelegateId::of(*index)));
        numbered(free.map(|(index, delegate)| {
            let id = delegate.id.as_deref().map_or("absent".to_owned(), clipped);
            let bytes = counted(view.side.program.blob(delegate.processed).len(), "byte");
            (format!("delegate {id} with a payload of {bytes}, never called"), index)
        }))
    };
    let (area, topic) = (DiffArea::Layout, DiffTopic::Delegate);
    for ((name, _), pair) in merged(views.map(uncalled)) {
        let part = |side: usize, index: usize| {
            DifferingPart::new(views[side].side.path(views[side].number, Part::Delegate(index)), name.clone())
        };
        if let Some([l, r]) = found.both(area, topic, pair, part) {
            compare_pair(views, [l, r], [&views[0].plan.delegates()[l], &views[1].plan.delegates()[r]], found);
        }
    }
}
