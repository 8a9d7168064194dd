//! The events of an ETDump in the order of time, joined with instructions, and with the operations of payloads. Times
//! are in ticks from the start of the first execution.

use std::collections::HashMap;

use indexmap::IndexSet;
use serde::Serialize;

use super::Subject;
use super::operators::{OperatorMatcher, delegate_operators, event_name};
use pte_etdump::{EtDump, Execution, MatchError, MethodRun};
use pte_model::diagnostics::clipped;
use pte_model::program::{ExecutionPlan, Instruction};
use pte_payload::decoded::PayloadOperator;

/// Maximum number of events.
const MAX_EVENTS: usize = 50_000;

/// Executions of the methods of a program, in order.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Timeline {
    /// Distinct names of events of backends.
    pub names: Vec<String>,
    /// Executions.
    pub executions: Vec<TimelineExecution>,
    /// Number of events beyond the first 50,000, which are missing.
    pub dropped: u64,
}

/// An execution of a method.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct TimelineExecution {
    /// Index of the method.
    pub method: usize,
    /// Start in ticks.
    pub start: u64,
    /// End in ticks; `None` if the execution did not end.
    pub end: Option<u64>,
    /// Events in order.
    pub events: Vec<TimelineEvent>,
}

/// An event. Serialised as an array.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged)]
#[non_exhaustive]
pub enum TimelineEvent {
    /// An instruction: start and duration in ticks, and its index among those of all chains.
    Instruction(u64, u64, usize),
    /// An event of a backend in a call of a delegate: start, duration, index of the instruction, index of its name, and
    /// index of the operation in the payload, if it is known.
    Operation(u64, u64, usize, usize, Option<usize>),
}

impl Timeline {
    /// Joins a dump with a program, like [`TimeProfile::new`](super::TimeProfile::new).
    ///
    /// # Errors
    /// The dump is of another program.
    #[doc(hidden)]
    pub fn new(
        subject: &Subject<'_>,
        dump: &EtDump,
        is_candidate: &dyn Fn(usize, &ExecutionPlan) -> bool,
    ) -> Result<Timeline, MatchError> {
        let runs = dump.method_runs(subject.program, is_candidate)?;
        let starts = runs.iter().filter_map(|run| start(dump, run));
        let mut builder = TimelineBuilder {
            subject,
            origin: starts.min().unwrap_or(0),
            left: MAX_EVENTS,
            names: IndexSet::new(),
            operators: HashMap::new(),
            timeline: Timeline::default(),
        };
        runs.iter().for_each(|run| builder.add(dump, run));
        Ok(Timeline { names: builder.names.into_iter().collect(), ..builder.timeline })
    }
}

/// Returns the start of an execution.
fn start(dump: &EtDump, run: &MethodRun<'_>) -> Option<u64> {
    let whole = dump.runs.get(run.run).and_then(|run| run.time());
    let first = || run.executions.iter().find_map(|execution| execution.time);
    whole.or_else(first).map(|time| time.start)
}

struct TimelineBuilder<'s> {
    subject: &'s Subject<'s>,
    origin: u64,
    /// Number of events that may still be added.
    left: usize,
    /// Distinct names of events of backends.
    names: IndexSet<String>,
    /// Operators of the payload that an instruction calls.
    operators: HashMap<usize, Vec<PayloadOperator>>,
    timeline: Timeline,
}

impl TimelineBuilder<'_> {
    fn add(&mut self, dump: &EtDump, run: &MethodRun<'_>) {
        let Some(start) = start(dump, run) else { return };
        let end = dump.runs.get(run.run).and_then(|run| run.time()).map(|time| time.end.saturating_sub(self.origin));
        let mut events = Vec::new();
        self.operators.clear();
        let plan = self.subject.program.plans().get(run.method);
        let instructions: Vec<&Instruction> = plan.iter().flat_map(|plan| plan.instructions()).collect();
        for (execution, step) in run.executions.iter().zip(&run.steps) {
            let Some(time) = execution.time else { continue };
            let count = 1 + execution.delegate.len();
            if count > self.left {
                self.timeline.dropped = self.timeline.dropped.saturating_add(count as u64);
                continue;
            }
            self.left -= count;
            events.push(TimelineEvent::Instruction(time.start.saturating_sub(self.origin), time.duration(), *step));
            if let Some((plan, call)) = plan.zip(instructions.get(*step)).filter(|_| !execution.delegate.is_empty()) {
                let subject = self.subject;
                self.operators.entry(*step).or_insert_with(|| delegate_operators(subject, plan, call));
                self.operations(execution, *step, &mut events);
            }
        }
        let start = start.saturating_sub(self.origin);
        self.timeline.executions.push(TimelineExecution { method: run.method, start, end, events });
    }

    fn operations(&mut self, execution: &Execution<'_>, step: usize, events: &mut Vec<TimelineEvent>) {
        let operators = self.operators.get(&step).map_or(&[][..], Vec::as_slice);
        let mut matcher = OperatorMatcher::new(operators);
        for event in &execution.delegate {
            let Some(name) = event_name(event).map(|name| clipped(&name)) else { continue };
            let operation = matcher.find(&name).and_then(|operator| operator.nodes.first().copied());
            let (name, _) = self.names.insert_full(name);
            let start = event.start.saturating_sub(self.origin);
            let duration = event.end.saturating_sub(event.start);
            events.push(TimelineEvent::Operation(start, duration, step, name, operation));
        }
    }
}
