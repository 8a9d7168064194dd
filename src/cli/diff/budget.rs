//! Budgets of `diff`: how much the second file may exceed the first one. docs/diff.md describes the keys.

use serde_json::{Value, json};

use crate::diff::Differences;
use crate::layout::options::parse_bytes;

/// What a key of a budget limits.
#[derive(Debug, Clone, Copy)]
struct BudgetKey {
    name: &'static str,
    /// Noun for messages.
    noun: &'static str,
    /// Returns the amounts in both files.
    amounts: fn(&Differences) -> (u64, u64),
}

/// All keys.
const KEYS: &[BudgetKey] = &[
    BudgetKey { name: "size", noun: "bytes of the file", amounts: |found| (found.left.size, found.right.size) },
    BudgetKey {
        name: "memory",
        noun: "bytes of planned memory",
        amounts: |found| (found.left.planned_memory, found.right.planned_memory),
    },
    BudgetKey {
        name: "delegates",
        noun: "kernel calls outside of delegates",
        amounts: |found| (found.left.kernel_calls, found.right.kernel_calls),
    },
    BudgetKey {
        name: "operators",
        noun: "operators that the first file does not call",
        amounts: |found| {
            let is_new = |name: &&String| found.left.operator_names.binary_search(name).is_err();
            (0, found.right.operator_names.iter().filter(is_new).count() as u64)
        },
    },
];

/// How much more is allowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Allowance {
    Amount(u64),
    /// Millionths of a percent.
    Percent(u64),
}

/// Limits by key.
#[derive(Debug, Clone)]
pub struct Budget(Vec<(BudgetKey, Allowance, String)>);

/// Result for a key.
#[derive(Debug)]
pub struct BudgetLine {
    key: BudgetKey,
    limit: String,
    amounts: (u64, u64),
    /// True if the second file exceeds the limit.
    pub is_exceeded: bool,
}

/// Millionths in one.
const MILLION: u64 = 1_000_000;

impl Budget {
    /// Parses `size=+1%,memory=+0`.
    ///
    /// # Errors
    /// A message with the expected form.
    pub fn parse(text: &str) -> Result<Budget, String> {
        let mut limits: Vec<(BudgetKey, Allowance, String)> = Vec::new();
        for part in text.split(',') {
            let (name, limit) = part.split_once('=').ok_or_else(|| format!("`{part}`: expected KEY=LIMIT"))?;
            let key = KEYS.iter().find(|key| key.name == name.trim()).copied().ok_or_else(|| {
                let names: Vec<&str> = KEYS.iter().map(|key| key.name).collect();
                format!("unknown key `{}`; expected one of {}", name.trim(), names.join(", "))
            })?;
            if limits.iter().any(|(other, ..)| other.name == key.name) {
                return Err(format!("duplicate key `{}`", key.name));
            }
            let allowance = Allowance::parse(limit.trim())
                .ok_or_else(|| format!("`{}`: expected an increase such as +0, +4K or +1.5%", limit.trim()))?;
            limits.push((key, allowance, limit.trim().to_owned()));
        }
        Ok(Budget(limits))
    }

    /// Returns the result for each key, in the order of the command line.
    pub fn lines(&self, found: &Differences) -> Vec<BudgetLine> {
        let line = |(key, allowance, limit): &(BudgetKey, Allowance, String)| {
            let amounts = (key.amounts)(found);
            let is_exceeded = !allowance.permits(amounts);
            BudgetLine { key: *key, limit: limit.clone(), amounts, is_exceeded }
        };
        self.0.iter().map(line).collect()
    }
}

impl Allowance {
    fn parse(text: &str) -> Option<Allowance> {
        let text = text.strip_prefix('+').unwrap_or(text);
        let Some(percent) = text.strip_suffix('%') else { return parse_bytes(text).map(Allowance::Amount) };
        let (whole, fraction) = percent.split_once('.').unwrap_or((percent, ""));
        let are_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        if whole.is_empty() || !are_digits(whole) || !are_digits(fraction) || fraction.len() > 6 {
            return None;
        }
        let millionths: u64 = format!("{fraction:0<6}").parse().ok()?;
        let whole: u64 = whole.parse().ok()?;
        whole.checked_mul(MILLION)?.checked_add(millionths).map(Allowance::Percent)
    }

    /// Returns true if the second amount is at most the first one and the allowance.
    fn permits(self, (left, right): (u64, u64)) -> bool {
        let (left, right) = (u128::from(left), u128::from(right));
        match self {
            Allowance::Amount(amount) => right <= left + u128::from(amount),
            Allowance::Percent(millionths) => {
                let whole = u128::from(100 * MILLION);
                // At most 2^128: both factors are 64-bit numbers.
                right * whole <= left.saturating_mul(whole + u128::from(millionths))
            }
        }
    }
}

impl BudgetLine {
    /// Describes the result in one line.
    pub fn text(&self) -> String {
        let BudgetLine { key: BudgetKey { name, noun, .. }, limit, amounts: (left, right), is_exceeded } = self;
        let verdict = if *is_exceeded { "exceeded" } else { "kept" };
        format!("budget {verdict}: {name}={limit}: {left} -> {right} {noun}")
    }

    /// Returns the result as JSON.
    pub fn json(&self) -> Value {
        json!({
            "key": self.key.name,
            "limit": self.limit,
            "left": self.amounts.0,
            "right": self.amounts.1,
            "exceeded": self.is_exceeded,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_amounts_or_percentages() {
        assert_eq!(Allowance::parse("+1%"), Some(Allowance::Percent(MILLION)));
        assert_eq!(Allowance::parse("0.5%"), Some(Allowance::Percent(500_000)));
        assert_eq!(Allowance::parse("+4K"), Some(Allowance::Amount(4096)));
        for wrong in ["", "-1", "%", "+%", "1.2345678%", "x", "99999999999999999999%"] {
            assert_eq!(Allowance::parse(wrong), None, "{wrong}");
        }
        let error = |text: &str| Budget::parse(text).unwrap_err();
        assert!(error("speed=1").contains("expected one of size, memory, delegates, operators"));
        assert!(error("size").contains("KEY=LIMIT") && error("size=1,size=2").contains("duplicate"));
    }

    #[test]
    fn a_limit_is_inclusive() {
        let percent = Allowance::Percent(MILLION);
        assert!(percent.permits((1000, 1010)) && !percent.permits((1000, 1011)) && percent.permits((0, 0)));
        assert!(Allowance::Percent(u64::MAX).permits((u64::MAX, u64::MAX)));
        assert!(Allowance::Amount(0).permits((5, 4)) && !Allowance::Amount(0).permits((5, 6)));
    }
}
