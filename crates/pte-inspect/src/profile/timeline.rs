//! The events of an ETDump in the order of time, joined with instructions, and with the operations of payloads whose
//! names fit. Times are in ticks from the start of the first execution.

use std::collections::HashMap;

use indexmap::IndexSet;
use serde::Serialize;

use super::Subject;
use pte_etdump::{DelegateEventId, EtDump, Execution, MatchError, MethodRun};
use pte_model::diagnostics::clipped;
use pte_model::program::{ExecutionPlan, Instruction};
use pte_payload::decoded::{PayloadGraph, PayloadNode};

/// Maximum number of events.
const MAX_EVENTS: usize = 50_000;

/// Number of operations after the last one that is found among which the operation of an event is looked for.
const MAX_SKIPPED: usize = 64;

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
            nodes: HashMap::new(),
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
    /// Operations of the payload that an instruction calls, for [`OperationMatcher`].
    nodes: HashMap<usize, Vec<(String, usize)>>,
    timeline: Timeline,
}

impl TimelineBuilder<'_> {
    fn add(&mut self, dump: &EtDump, run: &MethodRun<'_>) {
        let Some(start) = start(dump, run) else { return };
        let end = dump.runs.get(run.run).and_then(|run| run.time()).map(|time| time.end.saturating_sub(self.origin));
        let mut events = Vec::new();
        self.nodes.clear();
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
            if !execution.delegate.is_empty() {
                let graph =
                    plan.zip(instructions.get(*step)).and_then(|(plan, call)| payload(self.subject, plan, call));
                self.operations(execution, *step, graph, &mut events);
            }
        }
        let start = start.saturating_sub(self.origin);
        self.timeline.executions.push(TimelineExecution { method: run.method, start, end, events });
    }

    fn operations(
        &mut self,
        execution: &Execution<'_>,
        step: usize,
        graph: Option<&PayloadGraph>,
        events: &mut Vec<TimelineEvent>,
    ) {
        // A concatenation copies each of its inputs.
        let events_of = |node: &PayloadNode| if node.name.starts_with("concat") { node.reads.len() } else { 1 };
        let nodes = self.nodes.entry(step).or_insert_with(|| {
            let nodes = graph.iter().flat_map(|graph| &graph.nodes);
            nodes.map(|node| (letters(&node.name), events_of(node))).collect()
        });
        let mut matcher = OperationMatcher { nodes, next: 0, used: 0 };
        for event in &execution.delegate {
            let name = match &event.delegate {
                Some(DelegateEventId::Name(name)) => clipped(name),
                Some(DelegateEventId::Number(number)) => number.to_string(),
                None => continue,
            };
            let operation = matcher.find(&name);
            let (name, _) = self.names.insert_full(name);
            let start = event.start.saturating_sub(self.origin);
            let duration = event.end.saturating_sub(event.start);
            events.push(TimelineEvent::Operation(start, duration, step, name, operation));
        }
    }
}

/// Returns the graph of the payload that an instruction calls.
fn payload<'s>(subject: &'s Subject<'_>, plan: &ExecutionPlan, instruction: &Instruction) -> Option<&'s PayloadGraph> {
    let Instruction::DelegateCall { delegate_index, .. } = instruction else { return None };
    let delegate = plan.delegates().get(delegate_index.within(plan.delegates().len())?)?;
    subject.payloads.get(delegate)?.graph()
}

/// Names that XNNPACK's profiler gives to operations whose names in the schema are others.
const SYNONYMS: &[(&str, &[&str])] = &[
    ("convolution", &["conv", "depthwiseconv"]),
    ("deconvolution", &["convtranspose"]),
    ("divide", &["div"]),
    ("averagepooling", &["avgpooling"]),
    ("globalaveragepooling", &["globalavgpooling"]),
    ("mean", &["globalavgpooling"]),
    ("copy", &["concatenate", "reshape", "copy"]),
];

/// Finds the operations of the events of a call, which are in the order of the payload. Operations that the backend
/// fused or removed have no event.
struct OperationMatcher<'n> {
    /// Letters of the names of the operations, and the number of events that each may have.
    nodes: &'n [(String, usize)],
    /// First operation that may be next.
    next: usize,
    /// Number of events that it already has.
    used: usize,
}

impl OperationMatcher<'_> {
    /// Returns the operation of the next event, such as `Convolution (NHWC, F32) IGEMM #1`.
    fn find(&mut self, event: &str) -> Option<usize> {
        let name = letters(event.split(" (").next().unwrap_or_default());
        let is_same = |node: &str| {
            let synonyms = SYNONYMS.iter().find(|(synonym, _)| *synonym == name);
            synonyms.map_or(node == name, |(_, names)| names.contains(&node))
        };
        let rest = self.nodes.get(self.next..)?;
        let at = rest.iter().take(MAX_SKIPPED).enumerate().position(|(offset, (node, events))| {
            let used = if offset == 0 { self.used } else { 0 };
            used < *events && is_same(node)
        })?;
        self.used = if at == 0 { self.used + 1 } else { 1 };
        self.next += at;
        Some(self.next)
    }
}

/// Returns the letters of a name in lower case, without words that only one of the two names has.
fn letters(name: &str) -> String {
    let name = name.to_ascii_lowercase();
    let name = name.strip_prefix("static_").unwrap_or(&name);
    let name = name.strip_suffix("2d").unwrap_or(name);
    name.chars().filter(char::is_ascii_lowercase).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_matched_in_the_order_of_the_payload() {
        let nodes = ["conv2d", "clamp", "static_reshape", "conv2d", "concatenate2", "static_transpose", "add"];
        let nodes: Vec<(String, usize)> =
            nodes.iter().map(|name| (letters(name), if name.starts_with("concat") { 2 } else { 1 })).collect();
        let mut matcher = OperationMatcher { nodes: &nodes, next: 0, used: 0 };
        let events = [
            ("Convolution (NHWC, F32) IGEMM #1", Some(0)),
            ("Convolution (NHWC, F32) DWConv #1", Some(3)),
            ("Copy (NC, X32) #1", Some(4)),
            ("Copy (NC, X32) #2", Some(4)),
            ("Unknown", None),
            ("Transpose (ND, X32) #1", Some(5)),
            ("Add (ND)", Some(6)),
            ("Add (ND)", None),
        ];
        for (event, expected) in events {
            assert_eq!(matcher.find(event), expected, "{event}");
        }
    }
}
