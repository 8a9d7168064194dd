//! The text of a comparison: its first line, totals that differ, and a line for each difference.

use std::borrow::Cow;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::fmt::Write as _;

use super::difference::{DataStatistics, DiffArea, DiffKind, DiffTopic, Difference, Differences, DifferingPart};
use pte_model::diagnostics::text::{ROW, clipped_to};
use pte_model::diagnostics::{counted, escaped};

/// Differences as text.
#[derive(Debug, Clone, Copy)]
pub struct DiffText<'d> {
    /// Differences.
    pub found: &'d Differences,
    /// Names of both sides.
    pub names: [&'d str; 2],
    /// False if data of equal type and size count as equal.
    pub is_data_read: bool,
    /// Maximum number of lines of an area.
    pub limit: usize,
}

/// Style of a part of the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DiffStyle {
    /// First line of an area.
    Heading,
    /// Mark of a difference.
    Mark(DiffKind),
}

/// A line of an area.
#[derive(Debug)]
pub struct DiffRow {
    /// Kind of the first difference.
    pub kind: DiffKind,
    /// Text after the mark.
    pub text: String,
    /// Number of differences that it describes.
    pub count: usize,
}

impl DiffText<'_> {
    /// Returns the first line, and the totals that differ.
    pub fn totals_text(&self) -> String {
        let mut out = format!("{} -> {}: {}\n", escaped(self.names[0]), escaped(self.names[1]), self.verdict());
        let totals = self.totals();
        let width = |column: usize| totals.iter().map(|row| row[column].len()).max().unwrap_or(0);
        let widths = [width(0), width(1), width(2)];
        for [name, left, right, change] in &totals {
            let [first, second, third] = widths;
            let _ = writeln!(out, "  {name:<first$}  {left:>second$} -> {right:>third$}  {change}");
        }
        out
    }

    /// Returns the differences by area, with parts that `paint` returns in their style.
    pub fn areas_text(&self, paint: impl Fn(DiffStyle, &str) -> Cow<'_, str>) -> String {
        let mut out = String::new();
        for area in &self.found.areas {
            let _ = writeln!(out, "{}", paint(DiffStyle::Heading, &self.heading(*area)));
            let rows = self.rows(*area);
            let more: usize = rows.iter().skip(self.limit).map(|row| row.count).sum();
            for DiffRow { kind, text, .. } in rows.iter().take(self.limit) {
                let mark = match kind {
                    DiffKind::Added => "+",
                    DiffKind::Removed => "-",
                    DiffKind::Changed => "~",
                    DiffKind::Moved => ">",
                };
                let _ = writeln!(out, "  {} {}", paint(DiffStyle::Mark(*kind), mark), clipped_to(text, ROW));
            }
            if more > 0 {
                let _ = writeln!(out, "  ... and {more} more (`--limit 0` for all)");
            }
        }
        out
    }

    /// Returns the number of differences in words.
    pub fn verdict(&self) -> String {
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
    pub fn totals(&self) -> Vec<[String; 4]> {
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

    /// Returns the first line of an area.
    pub fn heading(&self, area: DiffArea) -> String {
        let what = match self.found.of(area).count() {
            0 if area == DiffArea::Data && !self.is_data_read => "equal as far as metadata say".to_owned(),
            0 => "equal".to_owned(),
            count => counted(count as u64, "difference"),
        };
        format!("{}: {what}", area.name())
    }

    /// Returns the lines of an area. Tensors that moved within a pool are one line, unless only the layout is compared,
    /// or all lines are requested.
    pub fn rows(&self, area: DiffArea) -> Vec<DiffRow> {
        let is_joined = self.found.areas.len() > 1 && self.limit != usize::MAX;
        let mut joined: HashMap<(&str, &str), usize> = HashMap::new();
        let mut rows: Vec<DiffRow> = Vec::new();
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
            rows.push(DiffRow { kind: difference.kind, text: line(difference), count: 1 });
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short() {
        let texts = [0.0, 0.5, 1.0, 123456.7, 1e-9, 0.123456789, 2.5e7].map(short);
        assert_eq!(texts, ["0", "0.5", "1", "123457", "1.00000e-9", "0.123457", "2.50000e7"]);
        assert_eq!([change(0, 5), change(1000, 900)], ["+5", "-100 (-10.0%)"]);
    }
}
