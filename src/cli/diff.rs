//! `pte-emit diff A B`: what differs between two programs or files, as text, JSON or Markdown. The library compares;
//! this file reads the inputs and draws.

mod budget;
pub mod numeric;

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use pte_emit::command::text::{ROW, clipped_to, counted, escaped};
use pte_emit::{
    Error, Model, Report,
    command::is_null_device,
    diff::{
        DataStatistics, DiffArea, DiffData, DiffKind, DiffOptions, DiffTopic, Difference, Differences, DifferingPart,
    },
};
use serde::Serialize;

use super::exit::{Exit, Failure};
use super::io::{self, Messages};
use super::json;
use super::options::{FormatArguments, LimitArguments, RuntimeArguments};
use super::paint::{BETTER, CHANGED, HEADING, Paint, WORSE};
use super::sources::{SourceArguments, Sources};
use super::stdout;
use budget::{Budget, BudgetLine};
use numeric::NumericArguments;

/// Arguments of `diff`.
#[derive(Debug, Args)]
pub struct DiffArguments {
    /// A .pte, .ptd, .bpte, .safetensors or YAML file; - is standard input
    #[arg(value_name = "A")]
    left: PathBuf,
    /// The file to compare with
    #[arg(value_name = "B")]
    right: PathBuf,
    /// Restrict the command to a part: the area to compare
    #[arg(long, value_enum, value_name = "PART")]
    only: Option<AreaName>,
    /// How to compare data
    #[arg(long, value_enum, value_name = "HOW", default_value = "stats")]
    compare: DataName,
    #[command(flatten)]
    format: FormatArguments<DiffFormat>,
    #[command(flatten)]
    limit: LimitArguments,
    /// Exit with status 1 only if B exceeds A by more: size, kernel_calls, operators, and the figures of `memory --max`
    #[arg(long, value_name = "KEY=LIMIT,...", value_parser = Budget::parse)]
    budget: Option<Budget>,
    #[command(flatten)]
    execution: NumericArguments,
    #[command(flatten)]
    runtime: RuntimeArguments,
    /// .ptd with data that A refers to, and B does not; may be repeated
    #[arg(long, value_name = "FILE.ptd")]
    with_a: Vec<PathBuf>,
    /// .ptd with data that B refers to, and A does not; may be repeated
    #[arg(long, value_name = "FILE.ptd")]
    with_b: Vec<PathBuf>,
    #[command(flatten)]
    sources: SourceArguments,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum AreaName {
    /// Methods, inputs, outputs, values, instructions, operators, delegates
    Meaning,
    /// Planned memory, and the parts of the file
    Layout,
    /// Bytes of constants, states and named data
    Data,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum DataName {
    /// Read metadata only
    None,
    /// Compare bytes, and print the SHA-256 of those that differ
    Hash,
    /// Compare bytes, and compute statistics of those that differ
    Stats,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum DiffFormat {
    /// Lines for a terminal
    Text,
    /// JSON
    Json,
    /// Markdown, for a comment on a pull request
    Markdown,
}

/// Compares two inputs, and returns the exit status: 0 if they are equal or within the budget, 1 if not, 2 after a
/// failure.
pub fn run(arguments: &DiffArguments, messages: &Messages) -> Exit {
    compare(arguments, messages).unwrap_or_else(|failure| failure.report_trouble(messages))
}

fn compare(arguments: &DiffArguments, messages: &Messages) -> Result<Exit, Failure> {
    if io::reads_stream_twice(&[&arguments.left, &arguments.right]) {
        return Err(Failure::usage("standard input can be only one of both inputs"));
    }
    let sources = Sources::checked(&arguments.sources)?;
    let open = |path: &Path| open(path, &sources);
    // Those of one side first: the first file with a key counts.
    let loaded = |path: &Path, own: &[PathBuf]| {
        Ok::<_, Failure>(open(path)?.with_data_files(own.iter().chain(&arguments.sources.with)))
    };
    let (left, right) = (loaded(&arguments.left, &arguments.with_a)?, loaded(&arguments.right, &arguments.with_b)?);
    sources.warn_unused(messages);
    if arguments.execution.numeric {
        return numeric::run(arguments, [&left, &right]);
    }
    let only = arguments.only.map(|only| match only {
        AreaName::Meaning => DiffArea::Meaning,
        AreaName::Layout => DiffArea::Layout,
        AreaName::Data => DiffArea::Data,
    });
    let data = match arguments.compare {
        DataName::None => DiffData::None,
        DataName::Hash => DiffData::Hash,
        DataName::Stats => DiffData::Statistics,
    };
    let options = DiffOptions::default().data(data).only(only);
    let mut found = left.diff(&right, &options)?;
    found.left.file = Some(left.name().to_owned());
    found.right.file = Some(right.name().to_owned());
    let memory = || {
        let options = arguments.runtime.options();
        Ok([left.memory(&options)?, right.memory(&options)?])
    };
    let budget = arguments.budget.as_ref().map(|budget| budget.lines(&found, memory)).transpose()?;
    let drawing = Drawing {
        found: &found,
        names: [left.name(), right.name()],
        budget: budget.as_deref().unwrap_or_default(),
        is_data_read: options.data != DiffData::None,
        limit: arguments.limit.rows(),
        paint: messages.paint(),
    };
    let out = match arguments.format.format() {
        DiffFormat::Text => drawing.text(),
        DiffFormat::Json => json::text(&DiffDocument { differences: &found, budget: budget.as_deref() }),
        DiffFormat::Markdown => drawing.markdown(),
    };
    stdout::write("", |to| to.write_all(out.as_bytes()))?;
    let exceeded = budget.iter().flatten().filter_map(BudgetLine::message);
    messages.report(&Report::new(right.name(), "", exceeded.collect()));
    let is_within = match &budget {
        Some(lines) => lines.iter().all(|line| !line.is_exceeded),
        None => found.is_empty(),
    };
    Ok(if is_within { Exit::Ok } else { Exit::Input })
}

/// Differences with the results of a budget.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DiffDocument<'d> {
    #[serde(flatten)]
    differences: &'d Differences,
    /// Result for each key of `--budget`.
    #[serde(skip_serializing_if = "Option::is_none")]
    budget: Option<&'d [BudgetLine]>,
}

/// Opens an input; YAML must be one document. git passes the null device for a file that a version does not have.
fn open(path: &Path, sources: &Sources<'_>) -> Result<Model, Error> {
    if is_null_device(path) {
        return Ok(Model::open_binary(path));
    }
    sources.open_one(path, |count| format!("{}, expected one to compare", counted(count, "document")))
}

/// Longest Markdown in bytes; a comment may have 65,536 characters.
const MAX_COMMENT: usize = 60_000;

/// Bytes of Markdown for an area, without its lines.
const FRAME: usize = 256;

/// Divides `room`: needs of at most an equal part are met, and the others get equal parts of the rest.
fn shares(needs: &[usize], room: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..needs.len()).collect();
    order.sort_by_key(|index| needs[*index]);
    let (mut shares, mut room) = (vec![0; needs.len()], room);
    for (position, index) in order.into_iter().enumerate() {
        shares[index] = needs[index].min(room / (needs.len() - position));
        room -= shares[index];
    }
    shares
}

/// Differences and the options with which they are printed.
struct Drawing<'d> {
    found: &'d Differences,
    names: [&'d str; 2],
    budget: &'d [BudgetLine],
    is_data_read: bool,
    limit: usize,
    paint: Paint,
}

impl Drawing<'_> {
    /// Returns the number of differences in words.
    fn verdict(&self) -> String {
        let names = |is_compared: bool| {
            let areas = DiffArea::ALL.iter().filter(|area| self.found.areas.contains(area) == is_compared);
            areas.map(|area| area.name()).collect::<Vec<_>>().join(" and ")
        };
        let what = match self.found.len() {
            0 => "equal".to_owned(),
            count => counted(count as u64, "difference"),
        };
        match self.found.areas.len() == DiffArea::ALL.len() {
            true => what,
            false => format!("{what} in {}; {} not compared", names(true), names(false)),
        }
    }

    /// Returns the totals that differ: name, both numbers, and the change.
    fn totals(&self) -> Vec<[String; 4]> {
        let rows = || self.found.left.rows().zip(self.found.right.rows());
        let differs = |((_, left), (_, right)): &((&str, u64), (&str, u64))| left != right;
        if !rows().any(|row| differs(&row)) {
            return Vec::new();
        }
        // Next to the sizes of files, what is outside of them.
        let is_outside = |((name, left), (_, right)): &((&str, u64), (&str, u64))| {
            *name == "external data" && (*left > 0 || *right > 0)
        };
        rows()
            .filter(|row| differs(row) || is_outside(row))
            .map(|((name, left), (_, right))| {
                [name.to_owned(), left.to_string(), right.to_string(), change(left, right)]
            })
            .collect()
    }

    fn heading(&self, area: DiffArea) -> String {
        let what = match self.found.of(area).count() {
            0 if area == DiffArea::Data && !self.is_data_read => "equal as far as metadata say".to_owned(),
            0 => "equal".to_owned(),
            count => counted(count as u64, "difference"),
        };
        format!("{}: {what}", area.name())
    }

    /// Returns the lines of an area. Tensors that moved within a pool are one line, unless only the layout is compared,
    /// or all lines are requested.
    fn rows(&self, area: DiffArea) -> Vec<Row> {
        let is_joined = self.found.areas.len() > 1 && self.limit != usize::MAX;
        let mut joined: HashMap<(&str, &str), usize> = HashMap::new();
        let mut rows: Vec<Row> = Vec::new();
        for difference in self.found.of(area) {
            if let Some(place) = moved_within(difference).filter(|_| is_joined) {
                match joined.entry(place) {
                    Entry::Occupied(row) => {
                        rows[*row.get()].count += 1;
                        continue;
                    }
                    Entry::Vacant(row) => _ = row.insert(rows.len()),
                }
            }
            rows.push(Row { kind: difference.kind, text: line(difference), count: 1 });
        }
        for ((method, pool), row) in joined {
            let row = &mut rows[row];
            if row.count == 1 {
                continue;
            }
            let tensors = counted(row.count as u64, "tensor");
            row.text = format!("{method}: {tensors} at another offset in {pool} (`--only layout` lists them)");
        }
        rows
    }

    fn text(&self) -> String {
        let mut out = format!("{} -> {}: {}\n", escaped(self.names[0]), escaped(self.names[1]), self.verdict());
        let totals = self.totals();
        let width = |column: usize| totals.iter().map(|row| row[column].len()).max().unwrap_or(0);
        let widths = [width(0), width(1), width(2)];
        for [name, left, right, change] in &totals {
            let [first, second, third] = widths;
            let _ = writeln!(out, "  {name:<first$}  {left:>second$} -> {right:>third$}  {change}");
        }
        for line in self.budget {
            let _ = writeln!(out, "{}", self.paint.text(if line.is_exceeded { WORSE } else { BETTER }, &line.text()));
        }
        for area in &self.found.areas {
            let _ = writeln!(out, "{}", self.paint.text(HEADING, &self.heading(*area)));
            let rows = self.rows(*area);
            let more: usize = rows.iter().skip(self.limit).map(|row| row.count).sum();
            for Row { kind, text, .. } in rows.iter().take(self.limit) {
                let (mark, style) = match kind {
                    DiffKind::Added => ("+", BETTER),
                    DiffKind::Removed => ("-", WORSE),
                    DiffKind::Changed => ("~", CHANGED),
                    DiffKind::Moved => (">", CHANGED),
                };
                let _ = writeln!(out, "  {} {}", self.paint.text(style, mark), clipped_to(text, ROW));
            }
            if more > 0 {
                let _ = writeln!(out, "  ... and {more} more (`--limit 0` for all)");
            }
        }
        out
    }

    /// Returns the differences of an area as items of a list, up to the limit.
    fn markdown_lines(&self, area: DiffArea) -> Vec<(String, usize)> {
        let mut room = MAX_COMMENT;
        let shown = self.rows(area).into_iter().take(self.limit).map(|Row { kind, text, count }| {
            (format!("- **{}** {}\n", kind.name(), markdown(&clipped_to(&text, ROW))), count)
        });
        let mut lines = Vec::new();
        for (line, count) in shown {
            room = room.saturating_sub(line.len());
            lines.push((line, count));
            // Nothing is printed after the first one that does not fit.
            if room == 0 {
                break;
            }
        }
        lines
    }

    fn markdown(&self) -> String {
        let title = format!("{} \u{2192} {}: {}", self.names[0], self.names[1], self.verdict());
        let mut out = format!("### {}\n\n", markdown(&title));
        for line in self.budget {
            let mark = if line.is_exceeded { "\u{274c}" } else { "\u{2705}" };
            let _ = writeln!(out, "{mark} {}\n", markdown(&line.text()));
        }
        let totals = self.totals();
        if !totals.is_empty() {
            out.push_str("| | before | after | change |\n|---|--:|--:|--:|\n");
            for row in totals {
                let _ = writeln!(out, "| {} |", row.map(|cell| markdown(&cell)).join(" | "));
            }
            out.push('\n');
        }
        let areas: Vec<DiffArea> =
            self.found.areas.iter().copied().filter(|area| self.found.of(*area).next().is_some()).collect();
        let lists: Vec<Vec<(String, usize)>> = areas.iter().map(|area| self.markdown_lines(*area)).collect();
        let needs: Vec<usize> = lists.iter().map(|lines| lines.iter().map(|(line, _)| line.len()).sum()).collect();
        let frames = areas.len() * FRAME;
        let shares = shares(&needs, MAX_COMMENT.saturating_sub(out.len() + frames));
        for ((area, lines), share) in areas.into_iter().zip(lists).zip(shares) {
            let _ = writeln!(out, "<details><summary>{}</summary>\n", markdown(&self.heading(area)));
            let mut room = share;
            let fitting = lines.iter().take_while(|(line, _)| {
                let rest = room.checked_sub(line.len());
                room = rest.unwrap_or(0);
                rest.is_some()
            });
            let fitting = fitting.count();
            lines[..fitting].iter().for_each(|(line, _)| out.push_str(line));
            let more = self.found.of(area).count() - lines[..fitting].iter().map(|(_, count)| count).sum::<usize>();
            if fitting < lines.len() {
                let _ =
                    writeln!(out, "- and {more} more, beyond the 65,536 characters that GitHub allows for a comment");
            } else if more > 0 {
                let _ = writeln!(out, "- and {more} more (`--limit 0` for as many as fit)");
            }
            out.push_str("\n</details>\n\n");
        }
        out
    }
}

/// A line of an area.
struct Row {
    kind: DiffKind,
    text: String,
    /// Number of differences that it describes.
    count: usize,
}

/// Returns the text of a difference up to the offset in a pool, if it is about a tensor that moved within this pool:
/// the method, and the pool.
fn moved_within(difference: &Difference) -> Option<(&str, &str)> {
    let is_moved = difference.kind == DiffKind::Moved && difference.topic == DiffTopic::Memory;
    let (left, right) = difference.left.as_ref().zip(difference.right.as_ref()).filter(|_| is_moved)?;
    let [from, to] = [left, right].map(|part| part.value.rsplit_once(" at ")?.1.rsplit_once(", offset "));
    let pool = from?.0;
    let (method, _) = difference.path.rsplit_once('.')?;
    (pool == to?.0).then_some((method, pool))
}

/// Describes a difference in one line.
fn line(difference: &Difference) -> String {
    let part = difference.left.as_ref().or(difference.right.as_ref());
    let path = part.map_or_else(|| difference.path.clone(), DifferingPart::named_path);
    let value = match (&difference.left, &difference.right) {
        (Some(left), Some(right)) if left.value == right.value => left.value.clone(),
        (Some(left), Some(right)) => format!("{} -> {}", left.value, right.value),
        (Some(part), None) | (None, Some(part)) => part.value.clone(),
        (None, None) => String::new(),
    };
    let moved = match (&difference.left, &difference.right) {
        (Some(left), Some(right)) if left.path != right.path => {
            format!(" (now {})", rest(&left.path, &right.named_path()))
        }
        _ => String::new(),
    };
    let data = difference.data.as_ref().map_or(String::new(), |data| format!("; {}", statistics(data)));
    format!("{path}{moved}: {value}{data}{}", part.map_or(String::new(), uses))
}

/// Returns the steps of a path from the first one on that another path does not have.
fn rest<'p>(other: &str, path: &'p str) -> &'p str {
    let same = path.bytes().zip(other.bytes()).take_while(|(left, right)| left == right).count();
    let start = path.as_bytes()[..same].iter().rposition(|byte| *byte == b'.').map_or(0, |dot| dot + 1);
    path.get(start..).unwrap_or(path)
}

fn uses(part: &DifferingPart) -> String {
    if part.uses.is_empty() {
        return String::new();
    }
    let more = part.more_uses.filter(|more| *more > 0).map_or(String::new(), |more| format!(" and {more} more"));
    format!("; used by {}{more}", part.uses.join(", "))
}

fn statistics(data: &DataStatistics) -> String {
    let unit = if data.scalar_type.is_some() { "element" } else { "byte" };
    let mut parts = Vec::new();
    if let Some(differing) = data.differing {
        let verb = if differing == 1 { "differs" } else { "differ" };
        parts.push(format!("{differing} of {} {verb}", counted(data.elements, unit)));
    }
    if data.not_finite > 0 {
        parts.push(format!("{} not finite", data.not_finite));
    }
    // The numbers are those of the elements that are finite on both sides.
    if data.not_finite > 0 && data.differing == Some(data.not_finite) {
        let has_finite = data.max_abs.is_some();
        parts.extend(has_finite.then(|| "all finite elements are equal".to_owned()));
        return parts.join(", ");
    }
    let mut number =
        |name: &str, value: Option<f64>| parts.extend(value.map(|value| format!("{name} {}", short(value))));
    number("max |d|", data.max_abs);
    number("mean |d|", data.mean_abs);
    number("cosine", data.cosine);
    if let Some(digests) = data.sha256 {
        let [left, right] = digests.map(|digest| data_encoding::HEXLOWER.encode(&digest[..8]));
        parts.push(format!("sha256 {left}... -> {right}..."));
    }
    parts.join(", ")
}

/// Formats a number with six significant digits.
fn short(value: f64) -> String {
    let magnitude = value.abs();
    if magnitude != 0.0 && !(1e-4..1e6).contains(&magnitude) {
        return format!("{value:.5e}");
    }
    let digits = if magnitude >= 1.0 { 5 - magnitude.log10().floor() as usize } else { 6 };
    let text = format!("{value:.digits$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

/// Formats a change: the difference, and its share.
fn change(left: u64, right: u64) -> String {
    let sign = if right < left { '-' } else { '+' };
    let difference = left.abs_diff(right);
    match left {
        0 => format!("{sign}{difference}"),
        _ => format!("{sign}{difference} ({sign}{:.1}%)", left.abs_diff(right) as f64 / left as f64 * 100.0),
    }
}

/// Escapes a text for Markdown: nothing in it is markup, a mention or a link.
fn markdown(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in escaped(text).chars() {
        match c.is_alphanumeric() || " .,:;+-/%()=\u{2192}".contains(c) {
            true => out.push(c),
            false => _ = write!(out, "&#{};", u32::from(c)),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short() {
        let texts = [0.0, 0.5, 1.0, 123456.7, 1e-9, 0.123456789, 2.5e7].map(short);
        assert_eq!(texts, ["0", "0.5", "1", "123457", "1.00000e-9", "0.123457", "2.50000e7"]);
        assert_eq!([change(0, 5), change(1000, 900)], ["+5", "-100 (-10.0%)"]);
    }

    #[test]
    fn room_is_shared_out() {
        assert_eq!(shares(&[100, 5, 30], 60), [28, 5, 27]);
        assert_eq!(shares(&[10, 5, 30], 60), [10, 5, 30]);
        assert!(shares(&[], 60).is_empty());
    }

    #[test]
    fn markdown_is_no_markup() {
        assert_eq!(markdown("a|<b>`@x`"), "a&#124;&#60;b&#62;&#96;&#64;x&#96;");
        assert_eq!(markdown("\u{1b}[31m"), "&#92;u&#123;1b&#125;&#91;31m");
    }
}
