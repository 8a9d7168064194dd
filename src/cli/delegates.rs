//! The memory of delegates as text: a part of what `memory` prints.

use std::fmt::Write;

use pte_emit::command::text::{ROW, clipped, clipped_to, counted};
use pte_emit::memory::{DelegateAccuracy, DelegateFootprint, DelegateMemory, DelegatePart, Held, MemorySource};

use super::io::write_more;

/// Writes the rows of the delegates of a method.
pub fn write(delegates: &[DelegateFootprint], limit: usize, out: &mut String) {
    for delegate in delegates.iter().take(limit) {
        write_delegate(delegate, out);
    }
    write_more("  ", delegates.len(), limit, "delegate", out);
}

fn write_delegate(delegate: &DelegateFootprint, out: &mut String) {
    let DelegateFootprint { name, backend, memory, not_counted, .. } = delegate;
    let head = format!("  delegate {} ({}): ", clipped(name), clipped(backend));
    let Some(memory) = memory else {
        let reason = not_counted.as_deref().unwrap_or_default();
        let _ = writeln!(out, "{head}not counted: {}", clipped_to(reason, ROW));
        return;
    };
    let _ = writeln!(out, "{head}{}{}", counted(memory.total(), "byte"), accuracy(memory));
    let width = memory.parts.iter().map(|part| part.bytes.to_string().len()).max().unwrap_or(0);
    for DelegatePart { content, bytes, source, held, shared, .. } in &memory.parts {
        let source = match source {
            MemorySource::Heap => "heap",
            MemorySource::MethodAllocator => "method allocator",
            MemorySource::TemporaryAllocator => "temporary allocator",
            MemorySource::Loader => "data loader, nothing if it maps the file",
        };
        let held = match held {
            Held::Load => "from loading on",
            Held::FirstExecution => "from the first execution on",
            Held::Call => "during each call",
        };
        let shared = if *shared { ", shared by all delegates of the process" } else { "" };
        let _ = writeln!(out, "    {bytes:>width$}  {content}: {source}, {held}{shared}");
    }
    for missing in &memory.not_counted {
        let _ = writeln!(out, "    not counted: {}", clipped_to(missing, ROW));
    }
}

/// Says how exact the figures are.
fn accuracy(memory: &DelegateMemory) -> String {
    match memory.accuracy {
        DelegateAccuracy::Exact => String::new(),
        DelegateAccuracy::Percent(percent) => format!(", within {percent} %"),
        DelegateAccuracy::AtMost => ", at most".to_owned(),
        DelegateAccuracy::Unmeasured => ", estimated for a processor without a measurement".to_owned(),
    }
}
