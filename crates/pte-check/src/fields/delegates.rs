//! Checks the delegates of a method: backend name, payload and compile specs (`D-`).

use super::super::path::{Reporter, add};
use super::segments::ProgramData;
use crate::RuleId::*;
use pte_model::diagnostics::{clipped, text};
use pte_model::format::flatbuffer::view::{Table, Tables};
use pte_model::format::path::Trail;
use pte_model::format::program::{
    DataLocation, backend_delegate, backend_delegate_data_reference, backend_delegate_inline_data, compile_spec,
};

/// Checks all delegates; `called[i]` is `true` if an instruction calls delegate `i`.
pub fn check(
    delegates: Tables<'_>,
    called: &[bool],
    data: &ProgramData<'_>,
    path: &Trail<'_>,
    report: &mut Reporter<'_, '_>,
) {
    let known = pte_xnnpack::FORMATS.backends();
    for (index, delegate) in delegates.iter().enumerate() {
        let path = path.item(index);
        if !delegate.has(backend_delegate::id) {
            report.missing(D_1, &path, "id", delegate.at, "the name of a backend");
        }
        let name = delegate.text(backend_delegate::id).and_then(|name| str::from_utf8(name).ok());
        if let Some(name) = name.filter(|name| !known.contains(name)) {
            let near =
                text::nearest(name, known.iter().copied()).map_or(String::new(), |near| format!(", such as `{near}`"));
            let expected = format_args!("a backend of ExecuTorch{near}, unless the application registers it");
            report.add(D_22, &path.field("id"), delegate.at, format_args!("backend `{}`", clipped(name)), expected);
        }
        if called.get(index) == Some(&false) {
            report.add(D_10, &path, delegate.at, "a delegate that is never called", "a delegate call");
        }
        let processed = path.field("processed");
        match delegate.child(backend_delegate::processed) {
            Some(payload) => check_payload(payload, data, &processed, report),
            None => report.add(D_3, &processed, delegate.at, "no payload", "a payload (may be empty)"),
        }
        let specs = delegate.tables(backend_delegate::compile_specs);
        for (index, spec) in specs.iter().flat_map(|specs| specs.iter()).enumerate() {
            let list = path.field("compile_specs");
            for (slot, name) in [(compile_spec::key, "key"), (compile_spec::value, "value")] {
                if !spec.has(slot) {
                    let path = list.item(index);
                    add!(report, D_9, &path.field(name), spec.at, "no {name}", "a {name} (may be empty)");
                }
            }
        }
    }
}

fn check_payload(payload: Table<'_>, data: &ProgramData<'_>, path: &Trail<'_>, report: &mut Reporter<'_, '_>) {
    let index = payload.u32(backend_delegate_data_reference::index);
    let (at, index_path) = (payload.near(backend_delegate_data_reference::index), path.field("index"));
    match DataLocation(payload.i8(backend_delegate_data_reference::location)) {
        DataLocation::INLINE => {
            let Some(inline) = data.inline else {
                let found = format_args!("inline payload {index} without backend_delegate_data");
                return report.add(D_4, &index_path, at, found, "a list of inline payloads");
            };
            match inline.get(index as usize) {
                None => report.out_of_range(D_5, &index_path, at, "inline payload", index, inline.len()),
                Some(entry) if !entry.has(backend_delegate_inline_data::data) => {
                    add!(report, D_5, &index_path, at, "inline payload {index} without data", "data (may be empty)");
                }
                Some(_) => {}
            }
        }
        DataLocation::SEGMENT => data.check_segment(index, &index_path, at, report),
        DataLocation(location) => {
            let at = payload.near(backend_delegate_data_reference::location);
            report.add(D_7, &path.field("location"), at, location, "0 (inline) or 1 (segment)");
        }
    }
}
