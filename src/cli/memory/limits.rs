//! Limits of `memory --max`: the most that figures of a program may be. docs/inspect.md describes the keys.

use pte_emit::command::bytes::bytes;
use pte_emit::command::text::{clipped, counted, first_names};
use pte_emit::{
    Code, Diagnostic, Severity,
    memory::{HeapShare, MemoryFigure, MethodFootprint, ProgramMemory},
};
use serde::Serialize;

use super::super::amounts::{pairs, unknown_key};

/// Limits by figure.
#[derive(Debug, Clone)]
pub struct Limits(Vec<(MemoryFigure, u64, String)>);

/// Result for a figure.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LimitLine {
    /// Name of the figure.
    key: &'static str,
    /// Limit in bytes.
    limit: u64,
    /// Amount in bytes.
    bytes: u64,
    /// The amount is a lower bound.
    at_least: bool,
    /// True if the amount exceeds the limit.
    #[serde(rename = "exceeded")]
    pub is_exceeded: bool,
    #[serde(skip)]
    figure: Option<MemoryFigure>,
    /// Limit on the command line.
    #[serde(skip)]
    text: String,
}

impl Limits {
    /// Parses `total=256K,planned=64K`.
    ///
    /// # Errors
    /// A message with the expected form.
    pub fn parse(text: &str) -> Result<Limits, String> {
        let mut limits = Vec::new();
        for (name, limit) in pairs(text, "total=256K")? {
            let names = MemoryFigure::ALL.iter().map(|figure| figure.name());
            let figure = MemoryFigure::of_name(name).ok_or_else(|| unknown_key(name, names))?;
            let most = bytes(limit).map_err(|wrong| format!("`{name}={limit}`: {wrong}"))?;
            limits.push((figure, most, limit.to_owned()));
        }
        Ok(Limits(limits))
    }

    /// Returns the result for each figure, in the order of the command line.
    pub fn lines(&self, memory: &ProgramMemory) -> Vec<LimitLine> {
        let line = |(figure, limit, text): &(MemoryFigure, u64, String)| {
            let amount = figure.of(memory);
            LimitLine {
                key: figure.name(),
                limit: *limit,
                bytes: amount.bytes,
                at_least: amount.at_least,
                is_exceeded: amount.bytes > *limit,
                figure: Some(*figure),
                text: text.clone(),
            }
        };
        self.0.iter().map(line).collect()
    }
}

impl LimitLine {
    /// Returns the message about an amount that exceeds its limit or is not known; `None` for one within it.
    pub fn message(&self, memory: &ProgramMemory) -> Option<Diagnostic> {
        let LimitLine { key, limit, bytes, at_least, is_exceeded, text, .. } = self;
        let figure = self.figure?;
        let least = if *at_least { "at least " } else { "" };
        let limit = if *text == limit.to_string() { text.clone() } else { format!("{text} ({limit})") };
        let found = format!("found {least}{bytes} {}", figure.noun());
        match (is_exceeded, at_least) {
            (true, _) => {
                let message = format!("`{key}`: {found}, expected at most {limit}");
                Some(Code::UnmetRequest.whole(message).help(Parts::of(figure, memory).text()))
            }
            (false, true) => {
                let message = format!("`{key}`: it is not known whether at most {limit} are needed: {found}");
                let help = format!("not counted: {}", not_counted(figure, memory));
                let warning = Code::UnmetRequest.whole(message).help(help);
                Some(Diagnostic { severity: Severity::Warning, ..warning })
            }
            (false, false) => None,
        }
    }
}

/// Describes the parts that a figure does not contain.
fn not_counted(figure: MemoryFigure, memory: &ProgramMemory) -> String {
    let mut names: Vec<&str> = Vec::new();
    for method in &memory.methods {
        let lists = match figure {
            MemoryFigure::Files => [&[][..], &[]],
            MemoryFigure::MethodAllocator => [&method.method_allocator.unknown_backends[..], &[]],
            MemoryFigure::TemporaryAllocator => [&method.temporary_allocator.unknown[..], &[]],
            MemoryFigure::Delegates => [&method.not_counted[..], &[]],
            _ => [&method.not_counted[..], &method.temporary_allocator.unknown[..]],
        };
        names.extend(lists.into_iter().flatten().map(String::as_str));
    }
    names.sort_unstable();
    names.dedup();
    let unknown = sizes_not_known(figure, memory);
    let takers = (!names.is_empty()).then(|| format!("all that these take: {}", first_names(names.into_iter())));
    let is_of_files = matches!(figure, MemoryFigure::Files | MemoryFigure::TotalWithFiles);
    let files = (memory.loaded.at_least && is_of_files)
        .then(|| "the metadata of the .ptd files that the program needs, which `--with` names".to_owned());
    takers.into_iter().chain(unknown).chain(files).collect::<Vec<_>>().join("; ")
}

/// Names the figures among the parts of one that contain tensors or pools whose sizes are not known, and payloads that
/// are not counted.
fn sizes_not_known(figure: MemoryFigure, memory: &ProgramMemory) -> Vec<String> {
    let nested = figure.parts().iter().flat_map(|part| sizes_not_known(*part, memory));
    let methods = || memory.methods.iter();
    let own = match figure {
        MemoryFigure::Planned if methods().any(|method| method.pools.iter().any(|pool| pool.at_least)) => {
            Some("planned memory whose size the program does not state")
        }
        MemoryFigure::Inputs if methods().any(|method| method.inputs.at_least) => Some("inputs of unknown size"),
        MemoryFigure::Outputs if methods().any(|method| method.outputs.at_least) => Some("outputs of unknown size"),
        MemoryFigure::Files if methods().any(|method| method.loaded.at_least) => {
            Some("named data and constants in files whose size is not known")
        }
        _ => None,
    };
    nested.chain(own.map(str::to_owned)).collect()
}

/// Parts of a figure, the largest first.
struct Parts(Vec<(u64, String)>);

/// Number of parts that a message names.
const SHOWN: usize = 3;

impl Parts {
    fn of(figure: MemoryFigure, memory: &ProgramMemory) -> Parts {
        let mut parts: Vec<(u64, String)> =
            memory.methods.iter().flat_map(|method| of_method(figure, method)).collect();
        if matches!(figure, MemoryFigure::Files | MemoryFigure::TotalWithFiles) {
            parts.extend(memory.loaded.parts().map(|(bytes, what)| (bytes, what.to_owned())));
        }
        if figure == MemoryFigure::LargestMethod {
            let largest = memory.methods.iter().max_by_key(|method| method.total.bytes);
            parts = largest.into_iter().flat_map(|method| of_method(MemoryFigure::Total, method)).collect();
        }
        parts.retain(|(bytes, _)| *bytes > 0);
        parts.sort_by_key(|(bytes, _)| std::cmp::Reverse(*bytes));
        Parts(parts)
    }

    fn text(&self) -> String {
        let shown = self.0.iter().take(SHOWN).map(|(bytes, name)| format!("{name}: {bytes}"));
        let more = self.0.iter().skip(SHOWN).map(|(bytes, _)| *bytes).fold(0, u64::saturating_add);
        let more = (more > 0).then(|| format!("others: {more}"));
        format!("the largest parts in bytes: {}", shown.chain(more).collect::<Vec<_>>().join("; "))
    }
}

/// Returns the parts of a figure in a method.
fn of_method(figure: MemoryFigure, method: &MethodFootprint) -> Vec<(u64, String)> {
    let name = clipped(&method.name);
    let of = |bytes: u64, what: &str| (bytes, format!("{what} of method {name}"));
    let boundary = |buffers: &pte_emit::memory::BoundaryBuffers, what: &str| {
        let provided = buffers.tensors.iter().filter(|tensor| tensor.is_provided);
        let part = |tensor: &pte_emit::memory::BoundaryTensor| {
            (tensor.bytes, format!("{what} {} ({}) of method {name}", tensor.index, clipped(&tensor.name)))
        };
        provided.map(part).collect()
    };
    match figure {
        MemoryFigure::Planned => {
            let pool = |pool: &pte_emit::memory::MemoryPool| {
                let peak = &pool.peak;
                let at = format!(
                    "pool {} of method {name} ({} alive at once, {})",
                    pool.pool,
                    counted(pool.lower_bound, "byte"),
                    clipped(&peak.event)
                );
                (pool.bytes, at)
            };
            method.pools.iter().map(pool).collect()
        }
        MemoryFigure::MethodAllocator => vec![of(method.method_allocator.bytes, "method allocator")],
        MemoryFigure::TemporaryAllocator => {
            let temporary = &method.temporary_allocator;
            let most = match &temporary.largest {
                Some(largest) if temporary.kernels > temporary.lookup => clipped(largest),
                _ => "to find kernels".to_owned(),
            };
            vec![of(temporary.bytes, &format!("temporary allocator ({most})"))]
        }
        MemoryFigure::Delegates => {
            let share = |share: HeapShare<'_>| match share.is_shared {
                true => (share.bytes, format!("{} that the delegates of method {name} share", share.name)),
                false => of(share.bytes, &format!("delegate {}", clipped(share.name))),
            };
            method.heap_shares().into_iter().map(share).collect()
        }
        MemoryFigure::Inputs => boundary(&method.inputs, "input"),
        MemoryFigure::Outputs => boundary(&method.outputs, "output"),
        MemoryFigure::Files => method.loaded.parts().map(|(bytes, what)| of(bytes, what)).to_vec(),
        _ => figure.parts().iter().flat_map(|part| of_method(*part, method)).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_named_figures() {
        let Limits(limits) = Limits::parse("total=256K, planned=64").unwrap();
        let limits: Vec<(MemoryFigure, u64)> = limits.into_iter().map(|(figure, most, _)| (figure, most)).collect();
        assert_eq!(limits, [(MemoryFigure::Total, 256 << 10), (MemoryFigure::Planned, 64)]);
        for (text, expected) in [
            ("total", "expected KEY=LIMIT, such as total=256K"),
            ("size=1", "unknown key `size`; expected one of planned, method_allocator, temporary_allocator"),
            ("total=x", "`total=x`: expected a number of bytes"),
            ("total=1%", "unknown unit `%`"),
            ("total=1,total=2", "duplicate key `total`"),
        ] {
            let error = Limits::parse(text).unwrap_err();
            assert!(error.contains(expected), "{text}: {error}");
        }
    }
}
