//! `pte-emit memory FILE`: the memory that the methods of a program need.

use std::fmt::Write;
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use pte_emit::text::{ROW, clipped, clipped_to, counted, escaped, first_names};
use pte_emit::{Abi, MemoryOptions, MemoryPool, MethodFootprint, PlannedTensor, Processor, ProgramMemory};

use super::exit::{Exit, Failure};
use super::io::{self, Messages};
use super::json;
use super::options::{FormatArguments, LimitArguments, TextOrJson};
use super::sources::{SourceArguments, Sources};
use super::stdout;

/// Arguments of `memory`.
#[derive(Debug, Args)]
pub struct MemoryArguments {
    /// A .pte, .bpte or YAML; - is standard input
    #[arg(value_name = "FILE")]
    input: PathBuf,
    /// Build of the runtime, for the method allocator
    #[arg(long, value_enum, value_name = "ABI", default_value = "64")]
    abi: AbiName,
    /// Processor that executes delegates, which decides how they pack weights; by default x86-avx512, and arm32 with --abi arm32
    #[arg(long, value_enum, value_name = "PROCESSOR")]
    processor: Option<ProcessorName>,
    /// The program is loaded with .ptd files, though no tensor is in them: those with data of delegates. --with implies it
    #[arg(long)]
    external: bool,
    #[command(flatten)]
    limit: LimitArguments,
    #[command(flatten)]
    format: FormatArguments<TextOrJson>,
    #[command(flatten)]
    sources: SourceArguments,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum AbiName {
    /// 64-bit x86 and Arm
    #[value(name = "64")]
    Bits64,
    /// 32-bit Arm
    Arm32,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum ProcessorName {
    /// 64-bit x86 with AVX-512 and VNNI
    X86Avx512,
    /// 64-bit x86 with AVX2
    X86Avx2,
    /// 64-bit Arm with dot product instructions
    Arm64,
    /// 32-bit Arm with NEON
    Arm32,
}

impl From<ProcessorName> for Processor {
    fn from(name: ProcessorName) -> Processor {
        match name {
            ProcessorName::X86Avx512 => Processor::X86Avx512,
            ProcessorName::X86Avx2 => Processor::X86Avx2,
            ProcessorName::Arm64 => Processor::Arm64,
            ProcessorName::Arm32 => Processor::Arm32,
        }
    }
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
    let abi = match arguments.abi {
        AbiName::Bits64 => Abi::Bits64,
        AbiName::Arm32 => Abi::Arm32,
    };
    let mut options = MemoryOptions::default();
    (options.abi, options.external) = (abi, arguments.external || !arguments.sources.with.is_empty());
    options.processor = arguments.processor.map(Processor::from);
    let sources = Sources::checked(&arguments.sources)?;
    let mut out = String::new();
    for source in sources.open(&arguments.input)? {
        let memory = source.memory(&options)?;
        match arguments.format.is_json() {
            true => out += &json::text(&memory),
            false => write_text(&source.label(), &memory, arguments, &mut out),
        }
    }
    sources.warn_unused(messages);
    stdout::write("", |to| to.write_all(out.as_bytes())).map(|()| Exit::Ok)
}

fn write_text(name: &str, memory: &ProgramMemory, arguments: &MemoryArguments, out: &mut String) {
    let limit = arguments.limit.rows();
    let methods = &memory.methods;
    for method in methods.iter().take(limit) {
        let _ = writeln!(out, "{}: method {}", escaped(name), clipped(&method.name));
        let planned = counted(method.planned, "byte");
        let _ = writeln!(out, "  planned memory: {planned} in {}", counted(method.pools.len(), "pool"));
        for pool in method.pools.iter().take(limit) {
            write_pool(method, pool, limit, out);
        }
        write_more("  ", method.pools.len(), limit, "pool", out);
        write_allocator(method, arguments.abi, out);
        super::delegates::write(&method.delegates, limit, out);
    }
    write_more("", methods.len(), limit, "method", out);
}

/// Says how many items are not printed.
pub fn write_more(indent: &str, count: usize, limit: usize, noun: &str, out: &mut String) {
    if let Some(left) = io::rows_left(count, limit, &format!("more {noun}")) {
        let _ = writeln!(out, "{indent}{left}");
    }
}

fn write_pool(method: &MethodFootprint, pool: &MemoryPool, limit: usize, out: &mut String) {
    let MemoryPool { pool: number, device, bytes, unshared, .. } = pool;
    let _ = writeln!(out, "  pool {number} ({device}): {}, {unshared} without sharing", counted(*bytes, "byte"));
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
    write_more(&format!("    {:>width$}  ", ""), alive.len(), limit, "tensor", out);
    if pool.padding > 0 {
        let reason = match (pool.padding_for_xnnpack, pool.padding) {
            (true, MemoryPool::XNNPACK_PADDING) => ", which the exporter adds for XNNPACK".to_owned(),
            (true, _) => format!(", {} of which the exporter adds for XNNPACK", MemoryPool::XNNPACK_PADDING),
            (false, _) => String::new(),
        };
        let _ = writeln!(out, "    {:>width$}  after the last tensor{reason}", pool.padding);
    }
}

fn write_allocator(method: &MethodFootprint, abi: AbiName, out: &mut String) {
    let abi = match abi {
        AbiName::Bits64 => "64-bit",
        AbiName::Arm32 => "32-bit Arm",
    };
    let memory = &method.method_allocator;
    let least = if memory.at_least { "at least " } else { "" };
    let _ = writeln!(
        out,
        "  method allocator ({abi}): {least}{}, {least}{} without a temporary allocator",
        counted(memory.bytes, "byte"),
        memory.without_temporary_allocator
    );
    if !memory.unknown_backends.is_empty() {
        let backends = first_names(memory.unknown_backends.iter().map(String::as_str));
        let _ = writeln!(out, "    it is not known how much these backends take: {backends}");
    }
}

/// Returns a row of bars, one for each column: the largest number of bytes in its share of `times`, in relation to `full`. `changes` has the
/// times at which the number changes.
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
