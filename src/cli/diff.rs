//! `pte-emit diff A B`: what differs between two programs or files, as text, JSON or Markdown. The library compares;
//! this file reads the inputs and draws.

mod budget;
pub mod numeric;

use std::borrow::Cow;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use pte_emit::command::text::{ROW, clipped_to, counted, escaped};
use pte_emit::{
    Error, Model, Report,
    command::{DiffRow, DiffStyle, DiffText, is_null_device},
    diff::{DiffArea, DiffData, DiffKind, DiffOptions, Differences, PayloadSchema},
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
    #[command(flatten)]
    comparison: ComparisonArguments,
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

/// What of two files is compared.
#[derive(Debug, Args)]
pub struct ComparisonArguments {
    /// Restrict the command to a part: the area to compare
    #[arg(long, value_enum, value_name = "PART")]
    only: Option<AreaName>,
    /// How to compare data
    #[arg(long, alias = "compare", value_enum, value_name = "HOW", default_value = "stats")]
    compare_data: DataName,
    /// Read payloads by this schema: a .bfbs, which `flatc --binary --schema` writes
    #[arg(long, value_name = "BFBS")]
    schema: Option<PathBuf>,
}

impl ComparisonArguments {
    /// Returns the options of the comparison.
    ///
    /// # Errors
    /// The schema cannot be read.
    pub fn options(&self) -> Result<DiffOptions, Failure> {
        let only = self.only.map(|only| match only {
            AreaName::Meaning => DiffArea::Meaning,
            AreaName::Layout => DiffArea::Layout,
            AreaName::Data => DiffArea::Data,
        });
        let data = match self.compare_data {
            DataName::None => DiffData::None,
            DataName::Hash => DiffData::Hash,
            DataName::Stats => DiffData::Statistics,
        };
        let schema = self.schema.as_ref().map(|path| {
            let name = path.display().to_string();
            let bytes = std::fs::read(path).map_err(|error| Failure::reading(&name, &error))?;
            Ok::<_, Failure>(PayloadSchema { name, bytes })
        });
        Ok(DiffOptions::default().data(data).only(only).schema(schema.transpose()?))
    }
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
    let options = arguments.comparison.options()?;
    let mut found = left.diff(&right, &options)?;
    found.left.file = Some(left.name().to_owned());
    found.right.file = Some(right.name().to_owned());
    let memory = || {
        let options = arguments.runtime.options();
        Ok([left.memory(&options)?, right.memory(&options)?])
    };
    let budget = arguments.budget.as_ref().map(|budget| budget.lines(&found, memory)).transpose()?;
    let differences = DiffText {
        found: &found,
        names: [left.name(), right.name()],
        is_data_read: options.data != DiffData::None,
        limit: arguments.limit.rows(),
    };
    let budget_lines = budget.as_deref().unwrap_or_default();
    let drawing = Drawing { differences, budget: budget_lines, paint: messages.paint() };
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
    differences: DiffText<'d>,
    budget: &'d [BudgetLine],
    paint: Paint,
}

/// Returns a part of the text of differences in its colour.
pub fn painted(paint: Paint, style: DiffStyle, text: &str) -> Cow<'_, str> {
    let style = match style {
        DiffStyle::Heading => HEADING,
        DiffStyle::Mark(DiffKind::Added) => BETTER,
        DiffStyle::Mark(DiffKind::Removed) => WORSE,
        DiffStyle::Mark(DiffKind::Changed | DiffKind::Moved) => CHANGED,
    };
    paint.text(style, text)
}

impl Drawing<'_> {
    fn text(&self) -> String {
        let mut out = self.differences.totals_text();
        for line in self.budget {
            let _ = writeln!(out, "{}", self.paint.text(if line.is_exceeded { WORSE } else { BETTER }, &line.text()));
        }
        out + &self.differences.areas_text(|style, text| painted(self.paint, style, text))
    }

    /// Returns the differences of an area as items of a list, up to the limit.
    fn markdown_lines(&self, area: DiffArea) -> Vec<(String, usize)> {
        let mut room = MAX_COMMENT;
        let shown = self.differences.rows(area).into_iter().take(self.differences.limit).map(
            |DiffRow { kind, text, count }| {
                (format!("- **{}** {}\n", kind.name(), markdown(&clipped_to(&text, ROW))), count)
            },
        );
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
        let title = format!(
            "{} \u{2192} {}: {}",
            self.differences.names[0],
            self.differences.names[1],
            self.differences.verdict()
        );
        let mut out = format!("### {}\n\n", markdown(&title));
        for line in self.budget {
            let mark = if line.is_exceeded { "\u{274c}" } else { "\u{2705}" };
            let _ = writeln!(out, "{mark} {}\n", markdown(&line.text()));
        }
        let totals = self.differences.totals();
        if !totals.is_empty() {
            out.push_str("| | before | after | change |\n|---|--:|--:|--:|\n");
            for row in totals {
                let _ = writeln!(out, "| {} |", row.map(|cell| markdown(&cell)).join(" | "));
            }
            out.push('\n');
        }
        let areas: Vec<DiffArea> = self
            .differences
            .found
            .areas
            .iter()
            .copied()
            .filter(|area| self.differences.found.of(*area).next().is_some())
            .collect();
        let lists: Vec<Vec<(String, usize)>> = areas.iter().map(|area| self.markdown_lines(*area)).collect();
        let needs: Vec<usize> = lists.iter().map(|lines| lines.iter().map(|(line, _)| line.len()).sum()).collect();
        let frames = areas.len() * FRAME;
        let shares = shares(&needs, MAX_COMMENT.saturating_sub(out.len() + frames));
        for ((area, lines), share) in areas.into_iter().zip(lists).zip(shares) {
            let _ = writeln!(out, "<details><summary>{}</summary>\n", markdown(&self.differences.heading(area)));
            let mut room = share;
            let fitting = lines.iter().take_while(|(line, _)| {
                let rest = room.checked_sub(line.len());
                room = rest.unwrap_or(0);
                rest.is_some()
            });
            let fitting = fitting.count();
            lines[..fitting].iter().for_each(|(line, _)| out.push_str(line));
            let more = self.differences.found.of(area).count()
                - lines[..fitting].iter().map(|(_, count)| count).sum::<usize>();
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
