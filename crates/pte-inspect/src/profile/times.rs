//! Durations of several executions: count, sum and extremes.

use serde::Serialize;

/// Durations in ticks.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct MeasuredTime {
    /// Number of executions; 0 if there was none.
    pub count: u64,
    /// Sum.
    pub total: u64,
    /// Mean of an execution.
    pub mean: f64,
    /// Shortest one.
    pub min: u64,
    /// Longest one.
    pub max: u64,
    /// Part of the time of the method, from 0 to 1.
    pub share: f64,
    /// Times of the second ETDump, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub compared: Option<ComparedTime>,
}

/// Durations in the second ETDump, and their relation to those in the first one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct ComparedTime {
    /// Number of executions.
    pub count: u64,
    /// Sum.
    pub total: u64,
    /// Mean of an execution.
    pub mean: f64,
    /// Shortest one.
    pub min: u64,
    /// Longest one.
    pub max: u64,
    /// Part of the time of the method, from 0 to 1.
    pub share: f64,
    /// Time per execution of the method in the first one, in ticks.
    pub first: f64,
    /// Time per execution of the method in the second one, in ticks.
    pub second: f64,
    /// Change of the time per execution of the method, in ticks.
    pub delta: f64,
    /// Time per execution of the method as a multiple of that in the first one; `None` if that is 0.
    pub ratio: Option<f64>,
}

/// Collects durations.
#[derive(Clone, Copy, Default)]
pub struct Tally {
    count: u64,
    total: u64,
    min: u64,
    max: u64,
}

impl Tally {
    /// Adds a duration.
    pub fn add(&mut self, ticks: u64) {
        self.join(&Tally { count: 1, total: ticks, min: ticks, max: ticks });
    }

    /// Adds all durations of another one.
    pub fn join(&mut self, other: &Tally) {
        if other.count == 0 {
            return;
        }
        self.min = if self.count == 0 { other.min } else { self.min.min(other.min) };
        self.max = self.max.max(other.max);
        self.count += other.count;
        self.total = self.total.saturating_add(other.total);
    }

    /// Sum of the durations.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// Returns the durations as a part of `all` ticks; the share is 0 if that is 0.
    pub fn time(&self, all: u64) -> MeasuredTime {
        let Tally { count, total, min, max } = *self;
        MeasuredTime {
            count,
            total,
            mean: quotient(total, count),
            min,
            max,
            share: quotient(total, all),
            compared: None,
        }
    }
}

/// Returns a quotient; 0 for a divisor of 0.
pub fn quotient(number: u64, divisor: u64) -> f64 {
    if divisor == 0 { 0.0 } else { number as f64 / divisor as f64 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_summed() {
        let mut tally = Tally::default();
        [3, 1, 8].into_iter().for_each(|ticks| tally.add(ticks));
        let mut both = Tally::default();
        both.join(&tally);
        both.join(&Tally::default());
        let time = both.time(24);
        assert_eq!((time.count, time.total, time.mean, time.min, time.max, time.share), (3, 12, 4.0, 1, 8, 0.5));
        assert_eq!(Tally::default().time(0), MeasuredTime::default());
    }
}
