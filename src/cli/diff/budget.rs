//! Budgets of `diff`: how much the second file may exceed the first one. docs/diff.md describes the keys.

use pte_emit::Differences;
use pte_emit::text::clipped;
use serde::Serialize;

/// What a key of a budget limits.
#[derive(Debug, Clone, Copy)]
struct BudgetKey {
    name: &'static str,
    /// Noun for messages.
    noun: &'static str,
    /// True for bytes, false for what is counted.
    is_bytes: bool,
    /// Returns the amounts in both files.
    amounts: fn(&Differences) -> (u64, u64),
}

/// All keys.
const KEYS: &[BudgetKey] = &[
    BudgetKey {
        name: "size",
        noun: "bytes of the file",
        is_bytes: true,
        amounts: |found| (found.left.size, found.right.size),
    },
    BudgetKey {
        name: "memory",
        noun: "bytes of planned memory",
        is_bytes: true,
        amounts: |found| (found.left.planned_memory, found.right.planned_memory),
    },
    BudgetKey {
        name: "kernel_calls",
        noun: "kernel calls outside of delegates",
        is_bytes: false,
        amounts: |found| (found.left.kernel_calls, found.right.kernel_calls),
    },
    BudgetKey {
        name: "operators",
        noun: "operators that the first file does not call",
        is_bytes: false,
        amounts: |found| {
            let is_new = |name: &&String| found.left.operator_names.binary_search(name).is_err();
            (0, found.right.operator_names.iter().filter(is_new).count() as u64)
        },
    },
];

/// How much more is allowed; of negative ones, how much less is required.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Allowance {
    Amount(i128),
    /// Millionths of a percent.
    Percent(i128),
}

/// Units of byte counts, and the powers of two that they are.
const UNITS: [(&str, u32); 10] =
    [("", 0), ("B", 0), ("K", 10), ("KiB", 10), ("M", 20), ("MiB", 20), ("G", 30), ("GiB", 30), ("T", 40), ("TiB", 40)];

/// Limits by key.
#[derive(Debug, Clone)]
pub struct Budget(Vec<(BudgetKey, Allowance, String)>);

/// Result for a key.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BudgetLine {
    key: &'static str,
    #[serde(skip)]
    noun: &'static str,
    limit: String,
    /// Amount in the first file.
    left: u64,
    /// Amount in the second file.
    right: u64,
    /// True if the second file exceeds the limit.
    #[serde(rename = "exceeded")]
    pub is_exceeded: bool,
}

/// Millionths in one.
const MILLION: i128 = 1_000_000;

impl Budget {
    /// Parses `size=+1%,memory=+0`.
    ///
    /// # Errors
    /// A message with the expected form.
    pub fn parse(text: &str) -> Result<Budget, String> {
        let mut limits: Vec<(BudgetKey, Allowance, String)> = Vec::new();
        for part in text.split(',') {
            let (name, limit) = part.split_once('=').ok_or_else(|| match part.trim() {
                "" => "nothing where a KEY=LIMIT is expected: a comma too many?".to_owned(),
                part => format!("`{part}`: expected KEY=LIMIT, such as size=+1%"),
            })?;
            let key = KEYS.iter().find(|key| key.name == name.trim()).copied().ok_or_else(|| {
                let names: Vec<&str> = KEYS.iter().map(|key| key.name).collect();
                format!("unknown key `{}`; expected one of {}", name.trim(), names.join(", "))
            })?;
            if limits.iter().any(|(other, ..)| other.name == key.name) {
                return Err(format!("duplicate key `{}`", key.name));
            }
            let allowance =
                Allowance::parse(limit.trim(), &key).map_err(|wrong| format!("`{}`: {wrong}", part.trim()))?;
            limits.push((key, allowance, limit.trim().to_owned()));
        }
        Ok(Budget(limits))
    }

    /// Returns the result for each key, in the order of the command line.
    pub fn lines(&self, found: &Differences) -> Vec<BudgetLine> {
        let line = |(key, allowance, limit): &(BudgetKey, Allowance, String)| {
            let amounts = (key.amounts)(found);
            let is_exceeded = !allowance.permits(amounts);
            let (left, right) = amounts;
            BudgetLine { key: key.name, noun: key.noun, limit: limit.clone(), left, right, is_exceeded }
        };
        self.0.iter().map(line).collect()
    }
}

impl Allowance {
    /// Parses `+4`, `+1.5K` or `-10%`.
    fn parse(text: &str, key: &BudgetKey) -> Result<Allowance, String> {
        let (sign, rest) = match text.strip_prefix('-') {
            Some(rest) => (-1, rest),
            None => (1, text.strip_prefix('+').unwrap_or(text)),
        };
        let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
        let (number, unit) = rest.split_at(end);
        if number.is_empty() {
            let forms = if key.is_bytes { "+0, +1.5K, +2MiB or -10%" } else { "0, +4 or +10%" };
            return Err(format!("expected a number, such as {forms}"));
        }
        let millionths = millionths(number)?;
        let is_whole = millionths % MILLION == 0;
        let allowance = match (unit.trim_start(), key.is_bytes) {
            ("%", _) if sign < 0 && millionths > 100 * MILLION => return Err("nothing is less than -100%".to_owned()),
            ("%", _) => Allowance::Percent(sign * millionths),
            ("", false) if is_whole => Allowance::Amount(sign * (millionths / MILLION)),
            ("" | "B", true) if !is_whole => return Err("expected a whole number of bytes".to_owned()),
            ("", false) => return Err("expected a whole number".to_owned()),
            (unit, is_bytes) => match UNITS.iter().find(|(name, _)| *name == unit) {
                Some((_, shift)) if is_bytes => Allowance::Amount(sign * ((millionths << shift) / MILLION)),
                Some(_) => return Err(format!("the limit is a number of {}, which has no unit", key.noun)),
                None => {
                    let names: Vec<&str> = UNITS[1..].iter().map(|(name, _)| *name).collect();
                    return Err(format!("unknown unit `{}`, expected % or one of {}", clipped(unit), names.join(", ")));
                }
            },
        };
        match allowance {
            Allowance::Amount(amount) if amount < 0 && key.name == "operators" => {
                Err("the number of new operators is never negative".to_owned())
            }
            allowed => Ok(allowed),
        }
    }

    /// Returns true if the second amount is at most the first one and the allowance.
    fn permits(self, (left, right): (u64, u64)) -> bool {
        let (left, right) = (i128::from(left), i128::from(right));
        match self {
            Allowance::Amount(amount) => right <= left + amount,
            // At most 2^64 * 2^85, which is beyond the type only for percentages that allow anything.
            Allowance::Percent(millionths) => right * 100 * MILLION <= left.saturating_mul(100 * MILLION + millionths),
        }
    }
}

/// Parses a decimal number as millionths.
fn millionths(number: &str) -> Result<i128, String> {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, "0"));
    if whole.is_empty() || fraction.is_empty() || fraction.contains('.') {
        return Err(format!("`{}` is not a number", clipped(number)));
    }
    if fraction.len() > 6 {
        return Err("more than six digits after the decimal point".to_owned());
    }
    let too_large = |_| "the number is too large".to_owned();
    let whole: u64 = whole.parse().map_err(too_large)?;
    let fraction: u64 = format!("{fraction:0<6}").parse().map_err(too_large)?;
    Ok(i128::from(whole) * MILLION + i128::from(fraction))
}

impl BudgetLine {
    /// Describes the result in one line.
    pub fn text(&self) -> String {
        let BudgetLine { key, noun, limit, left, right, is_exceeded } = self;
        let verdict = if *is_exceeded { "exceeded" } else { "kept" };
        format!("budget {verdict}: {key}={limit}: {left} -> {right} {noun}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Result<Allowance, String> {
        Ok(Budget::parse(text)?.0[0].1)
    }

    #[test]
    fn limits_are_amounts_or_percentages() {
        let cases = [
            ("size=+1%", Allowance::Percent(MILLION)),
            ("size=0.5%", Allowance::Percent(MILLION / 2)),
            ("memory=-10%", Allowance::Percent(-10 * MILLION)),
            ("size=+4K", Allowance::Amount(4096)),
            ("size=+1.5K", Allowance::Amount(1536)),
            ("size=+2MiB", Allowance::Amount(2 << 20)),
            ("memory=0.5 GiB", Allowance::Amount(1 << 29)),
            ("memory=-64B", Allowance::Amount(-64)),
            ("kernel_calls=-2", Allowance::Amount(-2)),
            ("operators=+10%", Allowance::Percent(10 * MILLION)),
            ("size=18446744073709551615T", Allowance::Amount(i128::from(u64::MAX) << 40)),
        ];
        for (text, expected) in cases {
            assert_eq!(parsed(text), Ok(expected), "{text}");
        }
    }

    #[test]
    fn errors_say_what_is_wrong_with_which_limit() {
        let cases = [
            ("size", "`size`: expected KEY=LIMIT"),
            ("size=1,", "a comma too many"),
            ("speed=1", "expected one of size, memory, kernel_calls, operators"),
            ("size=1,size=2", "duplicate key `size`"),
            ("size=", "`size=`: expected a number, such as +0, +1.5K"),
            ("size=+%", "`size=+%`: expected a number"),
            ("kernel_calls=x", "expected a number, such as 0, +4 or +10%"),
            ("size=--1", "expected a number"),
            ("size=4KB", "unknown unit `KB`, expected % or one of B, K, KiB"),
            ("size=4k", "unknown unit `k`"),
            ("size=1.2.3", "`1.2.3` is not a number"),
            ("size=.5K", "`.5` is not a number"),
            ("size=1.5", "a whole number of bytes"),
            ("size=1.2345678%", "six digits"),
            ("size=99999999999999999999%", "too large"),
            ("memory=-101%", "less than -100%"),
            ("kernel_calls=1K", "kernel calls outside of delegates, which has no unit"),
            ("kernel_calls=1.5", "a whole number"),
            ("operators=-1", "never negative"),
        ];
        for (text, expected) in cases {
            let error = Budget::parse(text).unwrap_err();
            assert!(error.contains(expected), "{text}: {error}");
        }
    }

    #[test]
    fn a_limit_is_inclusive() {
        let percent = Allowance::Percent(MILLION);
        assert!(percent.permits((1000, 1010)) && !percent.permits((1000, 1011)) && percent.permits((0, 0)));
        let less = Allowance::Percent(-10 * MILLION);
        assert!(less.permits((1000, 900)) && !less.permits((1000, 901)));
        let (most, all) = (i128::from(u64::MAX) * MILLION, (u64::MAX, u64::MAX));
        assert!(Allowance::Percent(most).permits(all) && Allowance::Amount(most << 40).permits(all));
        assert!(Allowance::Amount(0).permits((5, 4)) && !Allowance::Amount(0).permits((5, 6)));
        assert!(Allowance::Amount(-2).permits((5, 3)) && !Allowance::Amount(-2).permits((1, 0)));
    }
}
