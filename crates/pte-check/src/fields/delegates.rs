//! Checks the delegates of a method: backend name, payload and compile specs (`D-`).

use super::super::path::{Node, Reporter, slot};
use super::segments::ProgramData;
use crate::RuleId::*;
use pte_model::diagnostics::{clipped, text};
use pte_model::format::flatbuffer::view::Table;
use pte_model::format::program::{
    DataLocation, backend_delegate, backend_delegate_data_reference, backend_delegate_inline_data, compile_spec,
    execution_plan,
};

/// Checks all delegates; `called[i]` is `true` if an instruction calls delegate `i`.
pub fn check(plan: Node<'_, '_>, called: &[bool], data: &ProgramData<'_>, report: &mut Reporter<'_, '_>) {
    let known = pte_xnnpack::FORMATS.backends();
    plan.each(slot!(execution_plan::delegates), |index, delegate| {
        let name = report.required(D_1, delegate, slot!(backend_delegate::id), Table::text, "the name of a backend");
        let name = name.and_then(|name| str::from_utf8(name).ok());
        if let Some(name) = name.filter(|name| !known.contains(name)) {
            let near =
                text::nearest(name, known.iter().copied()).map_or(String::new(), |near| format!(", such as `{near}`"));
            let expected = format_args!("a backend of ExecuTorch{near}, unless the application registers it");
            let (path, found) = (delegate.path.field("id"), format_args!("backend `{}`", clipped(name)));
            report.add(D_22, &path, delegate.at, found, expected);
        }
        if called.get(index) == Some(&false) {
            report.add(D_10, delegate.path, delegate.at, "a delegate that is never called", "a delegate call");
        }
        let processed = slot!(backend_delegate::processed);
        match delegate.child(processed.0) {
            Some(payload) => check_payload(Node::new(payload, &delegate.path.field(processed.1)), data, report),
            None => report.field(D_3, delegate, processed, "no payload", "a payload (may be empty)"),
        }
        delegate.each(slot!(backend_delegate::compile_specs), |_, spec| {
            report.present(D_9, spec, &[slot!(compile_spec::key)], "a key (may be empty)");
            report.present(D_9, spec, &[slot!(compile_spec::value)], "a value (may be empty)");
        });
    });
}

fn check_payload(payload: Node<'_, '_>, data: &ProgramData<'_>, report: &mut Reporter<'_, '_>) {
    let slot = slot!(backend_delegate_data_reference::index);
    let index = payload.u32(slot.0);
    match DataLocation(payload.i8(backend_delegate_data_reference::location)) {
        DataLocation::INLINE => {
            let Some(inline) = data.inline else {
                let found = format_args!("inline payload {index} without backend_delegate_data");
                return report.field(D_4, payload, slot, found, "a list of inline payloads");
            };
            let entry = report.index(D_5, payload, slot, Table::u32, ("inline payload", inline.len()));
            let entry = entry.and_then(|index| inline.get(index));
            if entry.is_some_and(|entry| !entry.has(backend_delegate_inline_data::data)) {
                let found = format_args!("inline payload {index} without data");
                report.field(D_5, payload, slot, found, "data (may be empty)");
            }
        }
        DataLocation::SEGMENT => data.check_segment(payload, slot, report),
        DataLocation(location) => {
            let slot = slot!(backend_delegate_data_reference::location);
            report.field(D_7, payload, slot, location, "0 (inline) or 1 (segment)");
        }
    }
}
