//! Budgets of `diff`: how much the second file may exceed the first one. docs/diff.md describes the keys.

use pte_emit::command::bytes::{MILLION, UNITS, millionths, unit, unknown_unit};
use pte_emit::{
    Code, Diagnostic, Error, Severity,
    diff::Differences,
    memory::{MemoryAmount, MemoryFigure, ProgramMemory},
};
use serde::Serialize;

use super::super::amounts::{pairs, unknown_key};

/// Figure that a key of a budget limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum BudgetKey {
    /// Bytes of the file.
    Size,
    /// Bytes of the data in `.ptd` files.
    ExternalData,
    /// Kernel calls outside of delegates.
    KernelCalls,
    /// Operators that the first file does not call.
    Operators,
    /// A figure of memory.
    Memory(MemoryFigure),
}

impl BudgetKey {
    /// All keys.
    fn all() -> impl Iterator<Item = BudgetKey> {
        let others = [BudgetKey::Size, BudgetKey::ExternalData, BudgetKey::KernelCalls, BudgetKey::Operators];
        others.into_iter().chain(MemoryFigure::ALL.iter().copied().map(BudgetKey::Memory))
    }

    fn name(self) -> &'static str {
        match self {
            BudgetKey::Size => "size",
            BudgetKey::ExternalData => "external_data",
            BudgetKey::KernelCalls => "kernel_calls",
            BudgetKey::Operators => "operators",
            BudgetKey::Memory(figure) => figure.name(),
        }
    }

    /// Noun for messages.
    fn noun(self) -> &'static str {
        match self {
            BudgetKey::Size => "bytes of the file",
            BudgetKey::ExternalData => "bytes of data in .ptd files",
            BudgetKey::KernelCalls => "kernel calls outside of delegates",
            BudgetKey::Operators => "operators that the first file does not call",
            BudgetKey::Memory(figure) => figure.noun(),
        }
    }

    /// True for bytes, false for counts.
    fn is_bytes(self) -> bool {
        matches!(self, BudgetKey::Size | BudgetKey::ExternalData | BudgetKey::Memory(_))
    }

    /// Returns true for a figure that is computed from the memory of both programs.
    fn needs_memory(self) -> bool {
        // A .ptd has no pools, and its planned memory is none.
        matches!(self, BudgetKey::Memory(figure) if figure != MemoryFigure::Planned)
    }

    /// Returns the amounts in both files. `memory` is that of both if a key needs it.
    fn amounts(self, found: &Differences, memory: Option<&[ProgramMemory; 2]>) -> [MemoryAmount; 2] {
        let amounts = match self {
            BudgetKey::Size => [found.left.size, found.right.size],
            BudgetKey::ExternalData => [found.left.external_data, found.right.external_data],
            BudgetKey::KernelCalls => [found.left.kernel_calls, found.right.kernel_calls],
            BudgetKey::Operators => {
                let is_new = |name: &&String| found.left.operator_names.binary_search(name).is_err();
                [0, found.right.operator_names.iter().filter(is_new).count() as u64]
            }
            BudgetKey::Memory(figure) => match memory {
                Some(memory) => return memory.each_ref().map(|memory| figure.of(memory)),
                None => [found.left.planned_memory, found.right.planned_memory],
            },
        };
        amounts.map(MemoryAmount::exact)
    }
}

/// Allowed increase; if negative, required decrease.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Allowance {
    Amount(i128),
    /// Millionths of a percent.
    Percent(i128),
}

/// Limits by key.
#[derive(Debug, Clone)]
pub struct Budget(Vec<(BudgetKey, Allowance, String)>);

/// Result for a key.
#[derive(Serialize)]
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
    /// An amount is a lower bound.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    at_least: bool,
    /// True if the second file exceeds the limit.
    #[serde(rename = "exceeded")]
    pub is_exceeded: bool,
}

impl Budget {
    /// Parses `size=+1%,planned=+0`.
    ///
    /// # Errors
    /// A message with the expected form.
    pub fn parse(text: &str) -> Result<Budget, String> {
        let mut limits = Vec::new();
        for (name, limit) in pairs(text, "size=+1%")? {
            let key = BudgetKey::all().find(|key| key.name() == name);
            let key = key.ok_or_else(|| unknown_key(name, BudgetKey::all().map(BudgetKey::name)))?;
            let allowance = Allowance::parse(limit, key).map_err(|wrong| format!("`{name}={limit}`: {wrong}"))?;
            limits.push((key, allowance, limit.to_owned()));
        }
        Ok(Budget(limits))
    }

    /// Returns the result for each key, in the order of the command line. `compute` returns the memory of both
    /// programs.
    ///
    /// # Errors
    /// A limit of the memory of a file that has no program.
    pub fn lines(
        &self,
        found: &Differences,
        compute: impl FnOnce() -> Result<[ProgramMemory; 2], Error>,
    ) -> Result<Vec<BudgetLine>, Error> {
        let needs_memory = self.0.iter().any(|(key, ..)| key.needs_memory());
        let memory = if needs_memory { Some(compute()?) } else { None };
        let line = |(key, allowance, limit): &(BudgetKey, Allowance, String)| {
            let amounts = key.amounts(found, memory.as_ref());
            let [left, right] = amounts.map(|amount| amount.bytes);
            let at_least = amounts.iter().any(|amount| amount.at_least);
            let is_exceeded = !allowance.permits((left, right));
            BudgetLine { key: key.name(), noun: key.noun(), limit: limit.clone(), left, right, at_least, is_exceeded }
        };
        Ok(self.0.iter().map(line).collect())
    }
}

impl Allowance {
    /// Parses `+4`, `+1.5K` or `-10%`.
    fn parse(text: &str, key: BudgetKey) -> Result<Allowance, String> {
        let (sign, rest) = match text.strip_prefix('-') {
            Some(rest) => (-1, rest),
            None => (1, text.strip_prefix('+').unwrap_or(text)),
        };
        let (number, unit) = unit(rest);
        if number.is_empty() {
            let forms = if key.is_bytes() { "+0, +1.5K, +2MiB or -10%" } else { "0, +4 or +10%" };
            return Err(format!("expected a number, such as {forms}"));
        }
        let millionths = millionths(number)?;
        let is_whole = millionths % MILLION == 0;
        let allowance = match (unit, key.is_bytes()) {
            ("%", _) if sign < 0 && millionths > 100 * MILLION => return Err("nothing is less than -100%".to_owned()),
            ("%", _) => Allowance::Percent(sign * millionths),
            ("", false) if is_whole => Allowance::Amount(sign * (millionths / MILLION)),
            ("" | "B", true) if !is_whole => return Err("expected a whole number of bytes".to_owned()),
            ("", false) => return Err("expected a whole number".to_owned()),
            (unit, is_bytes) => match UNITS.iter().find(|(name, _)| *name == unit) {
                Some((_, shift)) if is_bytes => Allowance::Amount(sign * ((millionths << shift) / MILLION)),
                Some(_) => return Err(format!("the limit is a number of {}, which has no unit", key.noun())),
                None => return Err(unknown_unit(unit, "% or ")),
            },
        };
        match allowance {
            Allowance::Amount(amount) if amount < 0 && key == BudgetKey::Operators => {
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

impl BudgetLine {
    /// Describes the result in one line.
    pub fn text(&self) -> String {
        let BudgetLine { key, noun, limit, left, right, at_least, is_exceeded } = self;
        let verdict = if *is_exceeded { "exceeded" } else { "kept" };
        let least = if *at_least { ", at least" } else { "" };
        format!("budget {verdict}: {key}={limit}: {left} -> {right} {noun}{least}")
    }

    /// Returns the message about an amount that exceeds its limit or is not known; `None` for one within it.
    pub fn message(&self) -> Option<Diagnostic> {
        let BudgetLine { key, noun, limit, left, right, at_least, is_exceeded } = self;
        let least = if *at_least { "at least " } else { "" };
        let found = format!("found {least}{left} -> {right} {noun}");
        match (is_exceeded, at_least) {
            (true, _) => {
                let message = format!("`{key}`: {found}, expected an increase of at most {limit}");
                Some(Code::UnmetRequest.whole(message))
            }
            (false, true) => {
                let message = format!("`{key}`: it is not known whether the increase is at most {limit}: {found}");
                Some(Diagnostic { severity: Severity::Warning, ..Code::UnmetRequest.whole(message) })
            }
            (false, false) => None,
        }
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
            ("planned=-10%", Allowance::Percent(-10 * MILLION)),
            ("size=+4K", Allowance::Amount(4096)),
            ("size=+1.5K", Allowance::Amount(1536)),
            ("size=+2MiB", Allowance::Amount(2 << 20)),
            ("planned=0.5 GiB", Allowance::Amount(1 << 29)),
            ("planned=-64B", Allowance::Amount(-64)),
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
            ("speed=1", "expected one of size, external_data, kernel_calls, operators, planned, method_allocator"),
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
            ("planned=-101%", "less than -100%"),
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
