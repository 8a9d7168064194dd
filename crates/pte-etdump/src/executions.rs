//! Groups the events of a block by the executed instructions.

use super::dump::{DebugEvent, Event, InstructionIndex, ProfileEvent, Run, TracedValue};
use pte_model::format::words::words;

/// Start and end in ticks of the platform's clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Span {
    /// Start.
    pub start: u64,
    /// End.
    pub end: u64,
}

impl Span {
    /// Duration in ticks; 0 if the clock went backwards.
    pub fn duration(&self) -> u64 {
        self.end.saturating_sub(self.start)
    }
}

words! {
    /// Kind of an executed instruction.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    pub enum CallKind {
        /// Call of a kernel.
        Operator "OPERATOR_CALL",
        /// Call of a delegate.
        Delegate "DELEGATE_CALL",
        /// Conditional jump.
        Jump "JF_CALL",
        /// Move of a value.
        Move "MOVE_CALL",
        /// Release of memory.
        Free "FREE_CALL",
    } fn name;
}

impl CallKind {
    fn of(name: &str) -> Option<CallKind> {
        CallKind::ALL.into_iter().find(|kind| kind.name() == name)
    }
}

/// Prefix of the names of events of kernels; the name of the operator without its namespace follows.
const KERNEL: &str = "native_call_";

/// Name of the event of a whole execution.
const EXECUTE: &str = "Method::execute";

/// An execution of an instruction.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Execution<'d> {
    /// Instruction.
    pub instruction: InstructionIndex,
    /// Kind of the instruction; `None` if the block ends before it, or instructions were not measured.
    pub kind: Option<CallKind>,
    /// Operator with its overload, without its namespace, such as `add.out`; `None` for operators of the runtime
    /// itself.
    pub kernel: Option<&'d str>,
    /// Time; `None` like `kind`.
    pub time: Option<Span>,
    /// Events of delegates.
    pub delegate: Vec<&'d ProfileEvent>,
    /// Values that the instruction computed; those of a delegate call are all of its arguments. Values inside of
    /// delegates are in `inner`.
    pub values: Vec<&'d TracedValue>,
    /// Values inside of delegates.
    pub inner: Vec<&'d DebugEvent>,
}

impl<'d> Execution<'d> {
    fn new(instruction: InstructionIndex) -> Execution<'d> {
        Execution {
            instruction,
            kind: None,
            kernel: None,
            time: None,
            delegate: Vec::new(),
            values: Vec::new(),
            inner: Vec::new(),
        }
    }
}

impl Run {
    /// Returns the executions of instructions, in the order of time. An instruction in a loop has several.
    pub fn executions(&self) -> Vec<Execution<'_>> {
        let mut all = Vec::new();
        let mut current: Option<Execution<'_>> = None;
        for event in &self.events {
            let instruction = match event {
                Event::Profile(event) => event.instruction,
                Event::Debug(event) => event.instruction,
                Event::Allocation(_) => None,
            };
            let Some(instruction) = instruction else { continue };
            if let Some(finished) = current.take_if(|current| current.instruction != instruction) {
                all.push(finished);
            }
            let execution = current.get_or_insert_with(|| Execution::new(instruction));
            match event {
                Event::Profile(event) => {
                    let name = event.name.as_deref().unwrap_or_default();
                    if event.delegate.is_some() {
                        execution.delegate.push(event);
                    } else if let Some(kind) = CallKind::of(name) {
                        execution.kind = Some(kind);
                        execution.time = Some(Span { start: event.start, end: event.end });
                        all.extend(current.take());
                    } else if let Some(kernel) = name.strip_prefix(KERNEL) {
                        execution.kernel = Some(kernel);
                    }
                }
                Event::Debug(event) if event.delegate.is_some() => execution.inner.push(event),
                Event::Debug(event) => execution.values.push(&event.value),
                Event::Allocation(_) => {}
            }
        }
        all.extend(current);
        all
    }

    /// Returns the outputs of the method; empty if they were not recorded.
    pub fn outputs(&self) -> Vec<&TracedValue> {
        let outputs = self.events.iter().filter_map(|event| match event {
            // Only tensors are marked as outputs.
            Event::Debug(event) if event.is_output || event.instruction.is_none() => Some(&event.value),
            Event::Debug(_) | Event::Profile(_) | Event::Allocation(_) => None,
        });
        outputs.collect()
    }

    /// Returns the time of the execution of the method; `None` if it did not end, or the block is none.
    pub fn time(&self) -> Option<Span> {
        self.named(EXECUTE)
    }

    /// Returns the time of the first event with a name.
    pub fn named(&self, name: &str) -> Option<Span> {
        self.events.iter().find_map(|event| match event {
            Event::Profile(event) if event.name.as_deref() == Some(name) => {
                Some(Span { start: event.start, end: event.end })
            }
            Event::Profile(_) | Event::Debug(_) | Event::Allocation(_) => None,
        })
    }
}
