//! Finds the method of a program that each block of a dump executed. The runtime does not record it: the executed
//! instructions must be those of the method.

use std::collections::HashMap;
use std::fmt;

use super::dump::{EtDump, InstructionIndex};
use super::executions::{CallKind, Execution};
use pte_model::diagnostics::{clipped, counted};
use pte_model::format::program::InstructionType;
use pte_model::program::{ExecutionPlan, Instruction, Program};

/// Maximum number of comparisons of instructions. Only a hostile program with many methods needs more.
const WORK: u64 = 1 << 26;

/// A block of a dump that executed a method.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct MethodRun<'d> {
    /// Index of the block in [`EtDump::runs`].
    pub run: usize,
    /// Index of the method in the program.
    pub method: usize,
    /// Executions of instructions, in the order of time.
    pub executions: Vec<Execution<'d>>,
    /// By execution: index of the instruction among those of all chains.
    pub steps: Vec<usize>,
}

/// Reason why a dump is not about a program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MatchError(String);

impl MatchError {
    /// Creates an error about a dump and a program.
    #[doc(hidden)]
    pub fn new(message: impl Into<String>) -> MatchError {
        MatchError(message.into())
    }
}

impl fmt::Display for MatchError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for MatchError {}

impl EtDump {
    /// Returns the blocks that executed instructions, with their methods. Only the methods for which `is_candidate`
    /// returns true are considered; its arguments are the index and the method.
    ///
    /// # Errors
    /// There is no such method; a block whose instructions no method has, or several methods.
    pub fn method_runs(
        &self,
        program: &Program,
        is_candidate: &dyn Fn(usize, &ExecutionPlan) -> bool,
    ) -> Result<Vec<MethodRun<'_>>, MatchError> {
        let plans = program.plans().iter().enumerate().filter(|(index, plan)| is_candidate(*index, plan));
        let methods: Vec<Candidate<'_>> = plans.map(|(index, plan)| Candidate::new(index, plan)).collect();
        if methods.is_empty() {
            return Err(MatchError("the program has no such method".to_owned()));
        }
        let mut work = WORK;
        let mut found = Vec::new();
        for (number, run) in self.runs.iter().enumerate() {
            let executions = run.executions();
            if executions.is_empty() {
                continue;
            }
            let candidate = pick(&methods, &executions, &mut work)
                .map_err(|text| MatchError(format!("block {number} (`{}`): {text}", clipped(&run.name))))?;
            let steps = executions.iter().filter_map(|execution| candidate.step(execution.instruction)).collect();
            found.push(MethodRun { run: number, method: candidate.method, executions, steps });
        }
        Ok(found)
    }
}

/// Returns the only method whose instructions were executed.
fn pick<'c, 'p>(
    methods: &'c [Candidate<'p>],
    executions: &[Execution<'_>],
    work: &mut u64,
) -> Result<&'c Candidate<'p>, String> {
    // An instruction in a loop is compared once.
    let mut distinct: HashMap<(InstructionIndex, Option<CallKind>, Option<&str>), usize> = HashMap::new();
    for (number, execution) in executions.iter().enumerate() {
        distinct.entry((execution.instruction, execution.kind, execution.kernel)).or_insert(number);
    }
    let mut first: Vec<usize> = distinct.into_values().collect();
    first.sort_unstable();
    let mut found: Option<&Candidate<'_>> = None;
    let mut reason = None;
    for method in methods {
        let mut mismatch = None;
        for execution in &first {
            *work = work.checked_sub(1).ok_or("too many methods to compare with: select one with `--method NAME`")?;
            mismatch = method.mismatch(&executions[*execution]);
            if mismatch.is_some() {
                break;
            }
        }
        match (mismatch, found) {
            (None, None) => found = Some(method),
            (None, Some(other)) => {
                let names = [other, method].map(|candidate| format!("`{}`", candidate.name()));
                return Err(format!(
                    "the methods {} have the executed instructions: select one with `--method NAME`",
                    names.join(" and ")
                ));
            }
            (Some(text), _) => _ = reason.get_or_insert(text),
        }
    }
    match found {
        Some(method) => Ok(method),
        None => {
            let others = match methods.len() - 1 {
                0 => String::new(),
                others => format!("; {} do not match either", counted(others as u64, "other method")),
            };
            Err(format!(
                "{}{others}: the ETDump is of another program, or of this one before a change: record one with this file, \
                 or name the file that was recorded",
                reason.unwrap_or_default()
            ))
        }
    }
}

/// A method that a block may have executed.
struct Candidate<'p> {
    method: usize,
    plan: &'p ExecutionPlan,
    /// By chain: index of its first instruction among those of all chains.
    starts: Vec<usize>,
    /// Names of the operators, without their namespaces.
    operators: Vec<Option<String>>,
}

impl<'p> Candidate<'p> {
    fn new(method: usize, plan: &'p ExecutionPlan) -> Candidate<'p> {
        let mut next = 0;
        let chains = plan.chains.iter().flatten().map(|chain| {
            let start = next;
            next += chain.instructions.as_ref().map_or(0, Vec::len);
            start
        });
        let starts = chains.collect();
        let operators =
            plan.operators.iter().flatten().map(|operator| {
                operator.full_name().map(|name| name.rsplit("::").next().unwrap_or_default().to_owned())
            });
        Candidate { method, plan, starts, operators: operators.collect() }
    }

    fn name(&self) -> String {
        clipped(self.plan.name.as_deref().unwrap_or_default())
    }

    fn instructions(&self, chain: u32) -> Option<&'p [Instruction]> {
        let chain = self.plan.chains.as_ref()?.get(chain as usize)?;
        Some(chain.instructions.as_deref().unwrap_or_default())
    }

    fn step(&self, at: InstructionIndex) -> Option<usize> {
        Some(self.starts.get(at.chain as usize)? + at.instruction as usize)
    }

    /// Returns the reason why an executed instruction is not one of the method.
    fn mismatch(&self, execution: &Execution<'_>) -> Option<String> {
        let InstructionIndex { chain, instruction: index } = execution.instruction;
        let name = self.name();
        let Some(instructions) = self.instructions(chain) else {
            let count = counted(self.starts.len() as u64, "chain");
            return Some(format!("an instruction of chain {chain} was executed, but method `{name}` has {count}"));
        };
        let place = if self.starts.len() == 1 { String::new() } else { format!(" of chain {chain}") };
        let Some(instruction) = instructions.get(index as usize) else {
            let count = counted(instructions.len() as u64, "instruction");
            return Some(format!("instruction {index}{place} was executed, but method `{name}` has {count}"));
        };
        let kind = instruction.kind().map(call_kind);
        if let (Some(executed), Some(kind)) = (execution.kind, kind)
            && executed != kind
        {
            let (executed, kind) = (executed.name(), kind.name());
            return Some(format!(
                "instruction {index}{place} was executed as {executed}, but it is a {kind} in method `{name}`"
            ));
        }
        let operator =
            instruction.operator().and_then(|id| self.operators.get(id.within(self.operators.len())?)?.as_deref());
        match (execution.kernel, operator) {
            (Some(kernel), Some(operator)) if kernel != operator => Some(format!(
                "instruction {index}{place} executed `{}`, but it is `{}` in method `{name}`",
                clipped(kernel),
                clipped(operator)
            )),
            _ => None,
        }
    }
}

fn call_kind(kind: InstructionType) -> CallKind {
    match kind {
        InstructionType::KernelCall => CallKind::Operator,
        InstructionType::DelegateCall => CallKind::Delegate,
        InstructionType::MoveCall => CallKind::Move,
        InstructionType::JumpFalseCall => CallKind::Jump,
        InstructionType::FreeCall => CallKind::Free,
    }
}
