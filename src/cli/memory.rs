//! `pte-emit memory FILE`: the memory that the methods of a program need.

pub mod limits;

use std::fmt::Write;
use std::path::PathBuf;

use clap::Args;
use pte_emit::command::text::{ROW, clipped, clipped_to, counted, escaped, first_names};
use pte_emit::release::EXECUTORCH;
use pte_emit::{
    Report,
    memory::{
        Abi, BoundaryBuffers, MemoryFigure, MemoryPool, MemoryTotal, MethodAllocator, MethodFootprint, PlannedTensor,
        ProgramMemory, TemporaryAllocator,
    },
};
use serde::Serialize;

use super::exit::{Exit, Failure};
use super::io::{self, Messages};
use super::json;
use super::options::{FormatArguments, LimitArguments, RuntimeArguments, TextOrJson};
use super::sources::{SourceArguments, Sources};
use super::stdout;
use limits::{LimitLine, Limits};

/// Arguments of `memory`.
#[derive(Debug, Args)]
pub struct MemoryArguments {
    /// A .pte, .bpte or YAML; - is standard input
    #[arg(value_name = "FILE")]
    input: PathBuf,
    #[command(flatten)]
    runtime: RuntimeArguments,
    /// Exit with status 1 if a figure is larger: planned, method_allocator, temporary_allocator, inputs, outputs,
    /// delegates, files, total, total_with_files, largest_method
    #[arg(long, value_name = "KEY=BYTES,...", value_parser = Limits::parse)]
    max: Vec<Limits>,
    /// The program is loaded with .ptd files, though no tensor is in them: those with data of delegates. --with implies
    /// it
    #[arg(long)]
    external: bool,
    #[command(flatten)]
    limit: LimitArguments,
    #[command(flatten)]
    format: FormatArguments<TextOrJson>,
    #[command(flatten)]
    sources: SourceArguments,
}

/// Most bars of a timeline that is not printed on a terminal.
const TIMELINE: usize = 64;

/// Spaces before a timeline.
const INDENT: usize = 4;

/// Bars of a timeline, from the lowest.
const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// Runs the command.
///
/// # Errors
/// An input that cannot be read, or has no program; output that cannot be written.
pub fn run(arguments: &MemoryArguments, messages: &Messages) -> Result<Exit, Failure> {
    let options = arguments.runtime.options().external(arguments.external);
    let sources = Sources::checked(&arguments.sources)?;
    let mut out = String::new();
    let mut reports = Vec::new();
    for source in sources.open(&arguments.input)? {
        let memory = source.memory(&options)?;
        let lines: Vec<LimitLine> = arguments.max.iter().flat_map(|limits| limits.lines(&memory)).collect();
        let messages = lines.iter().filter_map(|line| line.message(&memory));
        reports.push(Report::new(&source.label(), "", messages.collect()));
        match arguments.format.is_json() {
            true => {
                let limits = (!arguments.max.is_empty()).then_some(lines);
                out += &json::text(&MemoryDocument { memory, limits });
            }
            false => write_text(&source.label(), &memory, arguments, &mut out),
        }
    }
    sources.warn_unused(messages);
    stdout::write("", |to| to.write_all(out.as_bytes()))?;
    reports.iter().for_each(|report| messages.report(report));
    Ok(if reports.iter().any(Report::has_errors) { Exit::Input } else { Exit::Ok })
}

/// Memory with the results of limits.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MemoryDocument {
    #[serde(flatten)]
    memory: ProgramMemory,
    /// Result for each figure of `--max`.
    #[serde(skip_serializing_if = "Option::is_none")]
    limits: Option<Vec<LimitLine>>,
}

fn write_text(name: &str, memory: &ProgramMemory, arguments: &MemoryArguments, out: &mut String) {
    let limit = arguments.limit.rows();
    let methods = &memory.methods;
    for method in methods.iter().take(limit) {
        let _ = writeln!(out, "{}: method {}", escaped(name), clipped(&method.name));
        let planned = counted(method.planned, "byte");
        let at_least = least(method.pools.iter().any(|pool| pool.at_least));
        let _ = writeln!(out, "  planned memory: {at_least}{planned} in {}", counted(method.pools.len(), "pool"));
        for pool in method.pools.iter().take(limit) {
            write_pool(method, pool, limit, out);
        }
        io::write_more("  ", method.pools.len(), limit, "pool", out);
        write_allocators(&method.method_allocator, &method.temporary_allocator, memory.abi, out);
        write_buffers("inputs", &method.inputs, limit, out);
        write_buffers("outputs", &method.outputs, limit, out);
        super::delegates::write(&method.delegates, limit, out);
        write_total(method, memory.abi, out);
    }
    io::write_more("", methods.len(), limit, "method", out);
    write_program(name, memory, out);
}

fn write_pool(method: &MethodFootprint, pool: &MemoryPool, limit: usize, out: &mut String) {
    let MemoryPool { pool: number, device, bytes, unshared, .. } = pool;
    let at_least = least(pool.at_least);
    let bytes_of_pool = counted(*bytes, "byte");
    let _ =
        writeln!(out, "  pool {number} ({device}): {at_least}{bytes_of_pool}, {at_least}{unshared} without sharing");
    if pool.tensors.is_empty() {
        return;
    }
    let event = clipped_to(&pool.peak.event, ROW);
    let _ = writeln!(out, "    peak: {} alive at once, the lower bound: {event}", counted(pool.lower_bound, "byte"));
    let times = method.instructions.len() + 2;
    let terminal = stdout::columns().map(|columns| columns.saturating_sub(INDENT).max(1));
    let columns = times.min(terminal.unwrap_or(TIMELINE));
    let _ = writeln!(out, "{:INDENT$}{}", "", timeline(&pool.timeline, times, columns, *bytes));
    if terminal.is_some() && columns < times {
        let (least, most) = (times / columns, times.div_ceil(columns));
        let each = if least == most { most.to_string() } else { format!("{least} or {most}") };
        let _ = writeln!(out, "{:INDENT$}each bar is {each} instructions", "");
    }
    let is_alive = |tensor: &&PlannedTensor| {
        let at_peak = |(first, last): (u32, u32)| (first as usize..=last as usize).contains(&pool.peak.time);
        tensor.bytes > 0 && tensor.alive.is_some_and(at_peak)
    };
    let mut alive: Vec<&PlannedTensor> = pool.tensors.iter().filter(is_alive).collect();
    alive.sort_by_key(|tensor| (std::cmp::Reverse(tensor.bytes), tensor.offset));
    let width = alive.first().map_or(0, |tensor| tensor.bytes.to_string().len());
    for tensor in alive.iter().take(limit) {
        let PlannedTensor { name, shape, offset, bytes, .. } = tensor;
        let _ = writeln!(out, "    {bytes:>width$}  {}: {} at {offset}", clipped(name), clipped_to(shape, ROW));
    }
    io::write_more(&format!("    {:>width$}  ", ""), alive.len(), limit, "tensor", out);
    if pool.padding > 0 {
        let reason = match (pool.padding_for_xnnpack, pool.padding) {
            (true, MemoryPool::XNNPACK_PADDING) => ", which the exporter adds for XNNPACK".to_owned(),
            (true, _) => format!(", {} of which the exporter adds for XNNPACK", MemoryPool::XNNPACK_PADDING),
            (false, _) => String::new(),
        };
        let _ = writeln!(out, "    {:>width$}  after the last tensor{reason}", pool.padding);
    }
}

/// Name of a build in text.
fn build(abi: Abi) -> &'static str {
    match abi {
        Abi::Arm32 => "32-bit Arm",
        _ => "64-bit",
    }
}

/// Words before a lower bound.
fn least(is_lower_bound: bool) -> &'static str {
    if is_lower_bound { "at least " } else { "" }
}

/// Words before a total.
fn bound(at_least: bool, is_estimated: bool) -> &'static str {
    match (at_least, is_estimated) {
        (true, true) => "at least about ",
        (true, false) => "at least ",
        (false, true) => "about ",
        (false, false) => "",
    }
}

/// Writes the rows of the allocators of a method.
pub fn write_allocators(memory: &MethodAllocator, temporary: &TemporaryAllocator, abi: Abi, out: &mut String) {
    let abi = build(abi);
    let at_least = least(memory.at_least);
    let _ = writeln!(
        out,
        "  method allocator ({abi}): {at_least}{}, {at_least}{} without a temporary allocator",
        counted(memory.bytes, "byte"),
        memory.without_temporary_allocator
    );
    if !memory.unknown_backends.is_empty() {
        let backends = first_names(memory.unknown_backends.iter().map(String::as_str));
        let _ = writeln!(out, "    it is not known how much these backends take: {backends}");
    }
    let memory = temporary;
    let at_least = least(memory.at_least);
    let bytes = counted(memory.bytes, "byte");
    let _ = writeln!(
        out,
        "  temporary allocator ({abi}): {at_least}{bytes}: {} to find kernels, {at_least}{} for what they take",
        memory.lookup, memory.kernels
    );
    if let Some(largest) = &memory.largest {
        let _ = writeln!(out, "    most: {}", clipped_to(largest, ROW));
    }
    if !memory.unknown.is_empty() {
        let names = first_names(memory.unknown.iter().map(String::as_str));
        let _ = writeln!(out, "    it is not known how much these take: {names}");
    }
}

/// Writes the buffers that the caller provides, if there are any.
fn write_buffers(what: &str, buffers: &BoundaryBuffers, limit: usize, out: &mut String) {
    let provided = || buffers.tensors.iter().filter(|tensor| tensor.is_provided);
    if provided().next().is_none() {
        return;
    }
    let at_least = least(buffers.at_least);
    let _ = writeln!(out, "  {what} that the caller provides: {at_least}{}", counted(buffers.bytes, "byte"));
    let width = provided().map(|tensor| tensor.bytes.to_string().len()).max().unwrap_or(0);
    for tensor in provided().take(limit) {
        let (bytes, name, shape) = (tensor.bytes, clipped(&tensor.name), clipped_to(&tensor.shape, ROW));
        let _ = writeln!(out, "    {bytes:>width$}  {}: {name}: {shape}", tensor.index);
    }
    io::write_more(&format!("    {:>width$}  ", ""), provided().count(), limit, "buffer", out);
}

fn write_total(method: &MethodFootprint, abi: Abi, out: &mut String) {
    let total = method.total;
    let bytes = counted(total.bytes, "byte");
    let _ = writeln!(out, "  total ({}): {}{bytes}", build(abi), bound(total.at_least, total.is_estimated));
    if !method.not_counted.is_empty() {
        let backends = first_names(method.not_counted.iter().map(String::as_str));
        let _ = writeln!(out, "    without all that these backends take: {backends}");
    }
}

/// Writes the figures of the program.
fn write_program(name: &str, memory: &ProgramMemory, out: &mut String) {
    let _ = writeln!(out, "{}: files in RAM", escaped(name));
    let loaded = &memory.loaded;
    let mut parts = loaded.parts().to_vec();
    for (bytes, what) in memory.methods.iter().flat_map(|method| method.loaded.parts()) {
        match parts.iter_mut().find(|(_, other)| *other == what) {
            Some((sum, _)) => *sum = sum.saturating_add(bytes),
            None => parts.push((bytes, what)),
        }
    }
    let parts = parts.iter().filter(|(bytes, _)| *bytes > 0).map(|(bytes, what)| format!("{bytes} {what}"));
    let files = MemoryFigure::Files.of(memory);
    let at_least = least(files.at_least);
    let parts = parts.collect::<Vec<_>>().join(", ");
    let _ = writeln!(out, "  if a loader reads them there: {at_least}{}: {parts}", counted(files.bytes, "byte"));
    let freed = memory.methods.iter().map(|method| method.loaded.while_loading).max().unwrap_or(0);
    if freed > 0 {
        let _ =
            writeln!(out, "    and up to {freed} more while a method is loaded: payloads and named data of XNNPACK");
    }
    if loaded.at_least {
        let _ = writeln!(out, "    the metadata of the .ptd files count with --with");
    }
    let _ = writeln!(out, "  if they are mapped, or in memory such as flash: 0 bytes");
    let total = |total: MemoryTotal| {
        let MemoryTotal { with_files, at_least, with_files_at_least, is_estimated, .. } = total;
        let bytes = counted(total.bytes, "byte");
        let [bytes_bound, files_bound] = [at_least, with_files_at_least].map(|at_least| bound(at_least, is_estimated));
        format!("{bytes_bound}{bytes}, {files_bound}{with_files} with files in RAM")
    };
    let abi = build(memory.abi);
    let _ = writeln!(out, "{}: total ({abi}): {}", escaped(name), total(memory.total));
    if memory.methods.len() > 1 {
        let _ = writeln!(out, "  if only one method is loaded at a time: {}", total(memory.largest_method));
    }
    let delegates = memory.methods.iter().any(|method| !method.delegates.is_empty());
    let processor = if delegates { format!(", with delegates on {}", memory.processor) } else { String::new() };
    let _ = writeln!(out, "  as in ExecuTorch {EXECUTORCH}{processor}");
}

/// Returns a row of bars, one for each column: the largest number of bytes in its share of `times`, in relation to
/// `full`. `changes` has the times at which the number changes.
fn timeline(changes: &[(u32, u64)], times: usize, columns: usize, full: u64) -> String {
    let column = |number: usize| {
        let (start, end) = (number * times / columns, (number + 1) * times / columns);
        // The first one is what is in use when the column begins.
        let from = changes.partition_point(|(time, _)| *time as usize <= start).saturating_sub(1);
        let within = changes[from..].iter().take_while(|(time, _)| (*time as usize) < end);
        let most = within.map(|(_, bytes)| *bytes).max().unwrap_or(0);
        let level = u128::from(most) * BARS.len() as u128 / u128::from(full.max(1));
        BARS[(level as usize).min(BARS.len() - 1)]
    };
    (0..columns).map(column).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timelines_show_the_largest_of_each_column() {
        assert_eq!(timeline(&[(0, 0), (1, 50), (2, 100)], 3, 3, 100), "▁▅█");
        assert_eq!(timeline(&[(0, 0), (1, 100)], 3, 3, 100), "▁██");
        assert_eq!(timeline(&[(0, 0), (15, 8), (16, 0)], 640, 64, 8), format!("▁█{}", "▁".repeat(62)));
    }
}
