//! Times of instructions, operators and delegates: what the runtime measured in an ETDump, joined with the program.
//! `compare` adds the times of a second ETDump; `timeline` has the single
//! events.

mod compare;
mod operators;
mod timeline;
mod times;

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

pub use timeline::{Timeline, TimelineEvent, TimelineExecution};
pub use times::{ComparedTime, MeasuredTime};

use super::Subject;
use operators::{OperatorMatcher, delegate_operators, event_name};
use pte_etdump::{EtDump, Execution, MatchError, MethodRun};
use pte_memory::labels::Labels;
use pte_model::program::element::{Element, Part};
use pte_model::program::instruction::Callee;
use pte_model::program::{EValue, ExecutionPlan, Instruction};
use pte_payload::decoded::PayloadOperator;
use times::Tally;

/// Version of the serialised form.
const VERSION: u32 = 1;

/// Name of the event of loading a method.
const LOADING: &str = "Program::load_method";

/// Times of the methods of a program. They are in ticks of the clock of the platform: nanoseconds on Linux, macOS,
/// Windows and Android.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct TimeProfile {
    /// Version of the serialised form: it grows when a key changes.
    pub version: u32,
    /// Times of loading methods; an ETDump does not say which.
    pub loading: MeasuredTime,
    /// Methods that were executed, in the order of the program.
    pub methods: Vec<MethodProfile>,
}

/// Times of a method.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct MethodProfile {
    /// Name; empty if it has none.
    pub name: String,
    /// Index in the program.
    pub index: usize,
    /// Times of whole executions.
    pub executions: MeasuredTime,
    /// Times of executions outside of instructions.
    pub overhead: MeasuredTime,
    /// Instructions that were executed, in the order of the program.
    pub instructions: Vec<InstructionTime>,
    /// Operators that were called, the one that took longest first.
    pub operators: Vec<OperatorTime>,
    /// Delegates that were called, the one that took longest first.
    pub delegates: Vec<DelegateTime>,
}

/// Times of an instruction.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct InstructionTime {
    /// Path in the program, such as `methods.forward.instructions[3]`.
    pub path: String,
    /// Index among the instructions of all chains of the method.
    pub index: usize,
    /// Operator, backend, or kind of the instruction.
    pub label: String,
    /// Name of the delegate that it calls, as in `payload show`, without the method.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delegate: Option<String>,
    /// Names of its results, the first 16. Those of a delegate are not known.
    pub results: Vec<String>,
    /// Number of other results.
    pub more_results: usize,
    /// Times of its executions.
    #[serde(flatten)]
    pub time: MeasuredTime,
}

/// Times of an operator.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct OperatorTime {
    /// Name with the overload, such as `aten::add.out`.
    pub operator: String,
    /// Number of instructions that called it.
    pub instructions: usize,
    /// Times of its calls.
    #[serde(flatten)]
    pub time: MeasuredTime,
}

/// Times of a delegate.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct DelegateTime {
    /// Name as in `payload show`, without the method.
    pub name: String,
    /// Name of the backend; empty if it has none.
    pub backend: String,
    /// Number of instructions that called it.
    pub instructions: usize,
    /// Times of its calls.
    #[serde(flatten)]
    pub time: MeasuredTime,
    /// Operations inside of it that the backend measured, the one that took longest first.
    pub operations: Vec<OperationTime>,
}

/// Times of an operation inside of a delegate.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct OperationTime {
    /// Name or number that the backend gave.
    pub operation: String,
    /// Operations of the graph of the payload that it executes: first the one of its kind. Empty if they are not known.
    pub nodes: Vec<GraphOperation>,
    /// Times of its executions.
    #[serde(flatten)]
    pub time: MeasuredTime,
}

/// An operation of the graph of a payload.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct GraphOperation {
    /// Position among the operations of the graph.
    pub index: usize,
    /// Name of the operation, such as `conv2d`; empty if the graph is not printed.
    pub name: String,
}

impl TimeProfile {
    /// Joins a dump with a program. Of the methods for which `is_candidate` returns true, those that were executed are
    /// found by their instructions.
    ///
    /// # Errors
    /// The dump is of another program, or has no times.
    #[doc(hidden)]
    pub fn new(
        subject: &Subject<'_>,
        dump: &EtDump,
        is_candidate: &dyn Fn(usize, &ExecutionPlan) -> bool,
    ) -> Result<TimeProfile, MatchError> {
        let mut by_method: BTreeMap<usize, Vec<MethodRun<'_>>> = BTreeMap::new();
        for run in dump.method_runs(subject.program, is_candidate)? {
            by_method.entry(run.method).or_default().push(run);
        }
        let plans = subject.program.plans();
        let methods = by_method.into_iter().filter_map(|(number, runs)| {
            let mut times = MethodTimes::new(subject, number, plans.get(number)?);
            runs.iter().for_each(|run| times.add(dump, run));
            times.finish()
        });
        let methods: Vec<MethodProfile> = methods.collect();
        if methods.is_empty() {
            return Err(MatchError::new(
                "the ETDump has no times of instructions: a method must be executed while they are recorded",
            ));
        }
        let mut loading = Tally::default();
        dump.runs.iter().filter_map(|run| run.named(LOADING)).for_each(|time| loading.add(time.duration()));
        Ok(TimeProfile { version: VERSION, loading: loading.time(0), methods })
    }
}

/// Collects the times of a method.
struct MethodTimes<'s> {
    subject: &'s Subject<'s>,
    method: usize,
    plan: &'s ExecutionPlan,
    instructions: Vec<&'s Instruction>,
    executions: Tally,
    overhead: Tally,
    steps: BTreeMap<usize, Tally>,
    /// By delegate and name of the operation.
    operations: BTreeMap<(usize, String), (Tally, Vec<usize>)>,
    /// Operators of the payloads, by delegate.
    operators: BTreeMap<usize, Vec<PayloadOperator>>,
}

impl<'s> MethodTimes<'s> {
    fn new(subject: &'s Subject<'s>, method: usize, plan: &'s ExecutionPlan) -> MethodTimes<'s> {
        let instructions = plan.instructions().collect();
        let (executions, overhead) = Default::default();
        let (steps, operations, operators) = Default::default();
        MethodTimes { subject, method, plan, instructions, executions, overhead, steps, operations, operators }
    }

    fn add(&mut self, dump: &EtDump, run: &MethodRun<'_>) {
        let mut inside = 0u64;
        for (execution, step) in run.executions.iter().zip(&run.steps) {
            let Some(time) = execution.time else { continue };
            inside = inside.saturating_add(time.duration());
            self.steps.entry(*step).or_default().add(time.duration());
            self.add_operations(execution, *step);
        }
        // An execution that failed has no end.
        if let Some(whole) = dump.runs.get(run.run).and_then(|run| run.time()) {
            self.executions.add(whole.duration());
            self.overhead.add(whole.duration().saturating_sub(inside));
        }
    }

    fn add_operations(&mut self, execution: &Execution<'_>, step: usize) {
        let Some(instruction) = self.instructions.get(step).filter(|_| !execution.delegate.is_empty()) else { return };
        let Some(delegate) = self.delegate(instruction) else { return };
        let (subject, plan) = (self.subject, self.plan);
        let operators = self.operators.entry(delegate);
        let operators = operators.or_insert_with(|| delegate_operators(subject, plan, instruction));
        let mut matcher = OperatorMatcher::new(operators);
        for event in &execution.delegate {
            let Some(name) = event_name(event) else { continue };
            let nodes = matcher.find(&name).map(|operator| operator.nodes.clone()).unwrap_or_default();
            let (tally, _) = self.operations.entry((delegate, name)).or_insert_with(|| (Tally::default(), nodes));
            tally.add(event.end.saturating_sub(event.start));
        }
    }

    fn delegate(&self, instruction: &Instruction) -> Option<usize> {
        match instruction.callee() {
            Some(Callee::Delegate(id)) => id.within(self.plan.delegates().len()),
            Some(Callee::Operator(_)) | None => None,
        }
    }

    /// Ticks that shares are parts of: the whole executions, or the instructions if no execution has ended.
    fn all(&self) -> u64 {
        match self.executions.total() {
            0 => self.steps.values().fold(0, |all, tally| all.saturating_add(tally.total())),
            total => total,
        }
    }

    fn finish(self) -> Option<MethodProfile> {
        if self.steps.is_empty() {
            return None;
        }
        let all = self.all();
        Some(MethodProfile {
            name: self.plan.name.clone().unwrap_or_default(),
            index: self.method,
            executions: self.executions.time(all),
            overhead: self.overhead.time(all),
            instructions: self.instruction_times(all),
            operators: self.operator_times(all),
            delegates: self.delegate_times(all),
        })
    }

    fn instruction_times(&self, all: u64) -> Vec<InstructionTime> {
        let labels = Labels::new(self.plan);
        let places = self.plan.instructions_by_chain().map(|(chain, at, _)| (chain, at));
        let places: Vec<(usize, usize)> = places.collect();
        let times = self.steps.iter().filter_map(|(step, tally)| {
            let (instruction, (chain, at)) = (self.instructions.get(*step)?, *places.get(*step)?);
            let (results, more_results) = self.results(instruction);
            Some(InstructionTime {
                path: Element::Method(self.method, Part::Instruction(chain, at)).path(self.subject.program),
                index: *step,
                label: labels.of(instruction).to_owned(),
                delegate: self.delegate(instruction).map(|index| self.subject.delegate_name(self.method, index)),
                results,
                more_results,
                time: tally.time(all),
            })
        });
        times.collect()
    }

    /// Returns the names of the values that an instruction writes, each once, and the number of others.
    fn results(&self, instruction: &Instruction) -> (Vec<String>, usize) {
        let values = self.plan.values();
        let method = self.subject.methods.get(self.method);
        let uses = method.into_iter().flat_map(|method| method.operators.uses(instruction));
        let written = uses.filter(|usage| usage.kind.is_result() || usage.kind.is_in_place());
        let (mut found, mut more): (Vec<usize>, usize) = (Vec::new(), 0);
        // A list of results is an argument and a result, which may be two values.
        let mut lists = BTreeSet::new();
        for value in written.filter_map(|usage| usage.value.within(values.len())) {
            match &values[value] {
                EValue::TensorList(items) => {
                    let items = items.as_deref().unwrap_or_default();
                    let first = &items[..items.len().min(MAX_RESULTS)];
                    if lists.insert((items.len(), first)) {
                        found.extend(first.iter().filter_map(|item| item.within(values.len())));
                        more += items.len() - first.len();
                    }
                }
                _ => found.push(value),
            }
        }
        let mut seen = BTreeSet::new();
        found.retain(|value| seen.insert(*value));
        more += found.len().saturating_sub(MAX_RESULTS);
        let names = found.into_iter().take(MAX_RESULTS).map(|value| self.subject.value_name(self.method, value));
        (names.collect(), more)
    }

    fn operator_times(&self, all: u64) -> Vec<OperatorTime> {
        let labels = Labels::new(self.plan);
        let mut tallies: BTreeMap<&str, (usize, Tally)> = BTreeMap::new();
        for (step, tally) in &self.steps {
            let Some(instruction) = self.instructions.get(*step) else { continue };
            if let Some(Callee::Operator(_)) = instruction.callee() {
                let (count, all) = tallies.entry(labels.of(instruction)).or_default();
                *count += 1;
                all.join(tally);
            }
        }
        let times = tallies.into_iter().map(|(operator, (instructions, tally))| OperatorTime {
            operator: operator.to_owned(),
            instructions,
            time: tally.time(all),
        });
        longest_first(times.collect(), |row| &row.time)
    }

    fn delegate_times(&self, all: u64) -> Vec<DelegateTime> {
        let mut tallies: BTreeMap<usize, (usize, Tally)> = BTreeMap::new();
        for (step, tally) in &self.steps {
            if let Some(delegate) = self.instructions.get(*step).and_then(|instruction| self.delegate(instruction)) {
                let (count, all) = tallies.entry(delegate).or_default();
                *count += 1;
                all.join(tally);
            }
        }
        let times = tallies.into_iter().map(|(delegate, (instructions, tally))| {
            let operations = self.operations.range((delegate, String::new())..(delegate + 1, String::new()));
            let graph = self.plan.delegates().get(delegate).and_then(|found| self.subject.payloads.get(found));
            let graph = graph.and_then(|payload| payload.graph());
            let name = |index: usize| graph.and_then(|graph| Some(graph.nodes.get(index)?.name.clone().into_owned()));
            let node = |index: &usize| GraphOperation { index: *index, name: name(*index).unwrap_or_default() };
            let operations = operations.map(|((_, name), (tally, nodes))| OperationTime {
                operation: name.clone(),
                nodes: nodes.iter().map(node).collect(),
                time: tally.time(all),
            });
            DelegateTime {
                name: self.subject.delegate_name(self.method, delegate),
                backend: self.plan.delegates().get(delegate).and_then(|found| found.id.clone()).unwrap_or_default(),
                instructions,
                time: tally.time(all),
                operations: longest_first(operations.collect(), |row| &row.time),
            }
        });
        longest_first(times.collect(), |row| &row.time)
    }
}

/// Maximum number of names of results of an instruction: a list can have many items.
const MAX_RESULTS: usize = 16;

/// Sorts rows by the time that they took in total. Equal ones keep their order.
fn longest_first<T>(mut rows: Vec<T>, time: impl Fn(&T) -> &MeasuredTime) -> Vec<T> {
    rows.sort_by_key(|row| std::cmp::Reverse(time(row).total));
    rows
}
