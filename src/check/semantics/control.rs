//! Where control goes: jumps, what they depend on, instructions that are never reached, loops that never end. And the two
//! instructions that are not about data: moves and frees.
//!
//! A condition is taken for constant only if it is a Bool that nothing writes.

use super::super::finding::Findings;
use super::super::finding::Locate;
use super::method::Method;
use crate::operators::kinds::Kinds;
use crate::format::ScalarType;
use crate::program::{EValue, Instruction};

/// What a jump does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Taken {
    Always,
    Never,
    Maybe,
}

/// A jump; steps count through all chains.
#[derive(Debug, Clone, Copy)]
struct Jump {
    step: u32,
    /// The step it leads to; the end of its chain is the start of the next.
    to: u32,
    taken: Taken,
}

/// The jumps of a method. Most have none, and then there is nothing else, either.
pub struct Flow {
    jumps: Vec<Jump>,
    /// For each step how many jumps before it are always taken.
    always: Vec<u32>,
    /// Steps that a first visit may reach from behind: a jump led over them, and another leads back.
    late: Vec<bool>,
}

impl Flow {
    pub fn new(method: &Method<'_>) -> Flow {
        let mut jumps = Vec::new();
        for (number, step) in method.steps.iter().enumerate() {
            let Instruction::JumpFalseCall { cond_value_index, destination_instruction } = step.what else { continue };
            let (first, end) = (method.chains[step.chain as usize], method.chains[step.chain as usize + 1]);
            // A destination outside of the chain ends it, too.
            let to = u32::try_from(*destination_instruction).ok().and_then(|to| first.checked_add(to));
            let to = to.filter(|to| *to <= end).unwrap_or(end);
            jumps.push(Jump { step: number as u32, to, taken: taken(method, *cond_value_index) });
        }
        if jumps.is_empty() {
            return Flow { jumps, always: Vec::new(), late: Vec::new() };
        }
        let steps = method.steps.len();
        let mut always = vec![0; steps + 2];
        // Where jumps forward and backward lead over, as differences.
        let (mut over, mut back) = (vec![0i64; steps + 2], vec![0i64; steps + 2]);
        for jump in &jumps {
            let (step, to) = (jump.step as usize, jump.to as usize);
            always[step + 1] += u32::from(jump.taken == Taken::Always && to != step + 1);
            if jump.taken == Taken::Never {
                continue;
            }
            let (counts, first, last) = if to > step { (&mut over, step + 1, to) } else { (&mut back, to, step + 1) };
            counts[first] += 1;
            counts[last] -= 1;
        }
        let mut late = vec![false; steps + 1];
        for step in 0..=steps {
            if step > 0 {
                over[step] += over[step - 1];
                back[step] += back[step - 1];
            }
            late[step] = over[step] > 0 && back[step] > 0;
            always[step + 1] += always[step];
        }
        Flow { jumps, always, late }
    }

    /// Whether whoever passes `from` may come to `to` by going straight ahead.
    pub fn straight(&self, from: u32, to: u32) -> bool {
        self.always.get(from as usize) == self.always.get(to as usize)
    }

    /// Whether a step may be reached for the first time from behind.
    pub fn is_late(&self, step: u32) -> bool {
        !self.jumps.is_empty() && self.late.get(step as usize).copied().unwrap_or(true)
    }

    /// Jumps back that are taken at times: head and jump.
    pub fn loops(&self) -> impl Iterator<Item = (u32, u32)> {
        self.jumps.iter().filter(|jump| jump.to <= jump.step && jump.taken != Taken::Never).map(|j| (j.to, j.step))
    }
}

fn taken(method: &Method<'_>, condition: i32) -> Taken {
    let Some(value) = method.value(condition) else { return Taken::Maybe };
    let EValue::Bool(state) = method.values()[value] else { return Taken::Maybe };
    match method.value_accesses(value).any(|access| access.how.may_write()) {
        true => Taken::Maybe,
        false if state => Taken::Never,
        false => Taken::Always,
    }
}

/// Checks conditions, and where the jumps lead.
pub fn check(method: &Method<'_>, flow: &Flow, findings: &mut Findings, place: &Locate<'_>) {
    for (number, step) in method.steps.iter().enumerate() {
        if let Instruction::JumpFalseCall { cond_value_index, .. } = step.what {
            condition(method, number as u32, *cond_value_index, findings, place);
        }
    }
    unreached(method, flow, findings, place);
    stuck(method, flow, findings, place);
}

fn with_article(kind: &str) -> String {
    let vowel = kind.starts_with(['A', 'E', 'I', 'O', 'U']);
    format!("{} {kind}", if vowel { "an" } else { "a" })
}

fn condition(method: &Method<'_>, number: u32, index: i32, findings: &mut Findings, place: &Locate<'_>) {
    let Some(value) = method.value(index) else { return };
    let kinds = method.kinds[value];
    let found = match &method.values()[value] {
        EValue::Tensor(tensor) if !kinds.meets(Kinds::BOOL) => match tensor.scalar_type {
            ScalarType::BOOL => return,
            other => format!("a tensor of {other}"),
        },
        _ if kinds.meets(Kinds::BOOL.or(Kinds::TENSOR)) => return,
        other => with_article(other.kind()),
    };
    findings.add("I-23", || {
        let found = format!("{found}, values[{index}]");
        (place(&method.field(number, "cond_value_index")), found, "a Bool, or a tensor of bool".into())
    });
}

/// Steps that nothing leads to, and steps that lead to no end.
fn unreached(method: &Method<'_>, flow: &Flow, findings: &mut Findings, place: &Locate<'_>) {
    if flow.jumps.is_empty() {
        return;
    }
    let steps = method.steps.len();
    let mut jump_of = vec![None; steps];
    for jump in &flow.jumps {
        jump_of[jump.step as usize] = Some(*jump);
    }
    let ahead = |step: usize| jump_of[step].is_none_or(|jump| jump.taken != Taken::Always);
    let jumps = |step: usize| jump_of[step].filter(|jump| jump.taken != Taken::Never).map(|jump| jump.to as usize);

    let mut reached = vec![false; steps + 1];
    let mut open = vec![0];
    while let Some(step) = open.pop() {
        if std::mem::replace(&mut reached[step], true) || step == steps {
            continue;
        }
        open.extend(ahead(step).then_some(step + 1));
        open.extend(jumps(step));
    }
    let mut step = 0;
    while step < steps {
        if reached[step] {
            step += 1;
            continue;
        }
        let first = step;
        while step < steps && !reached[step] {
            step += 1;
        }
        findings.add("X-9", || {
            let found = match step - first {
                1 => "an instruction that nothing leads to".into(),
                count => format!("{count} instructions that nothing leads to, this one and those behind it"),
            };
            (place(&method.at(first as u32)), found, "instructions that can be reached".into())
        });
    }

    // Backwards from the end; the jumps by their destinations.
    let mut by_target: Vec<(usize, usize)> =
        flow.jumps.iter().filter(|j| j.taken != Taken::Never).map(|j| (j.to as usize, j.step as usize)).collect();
    by_target.sort_unstable();
    let mut ends = vec![false; steps + 1];
    let mut open = vec![steps];
    while let Some(step) = open.pop() {
        if std::mem::replace(&mut ends[step], true) {
            continue;
        }
        open.extend(step.checked_sub(1).filter(|before| ahead(*before)));
        let first = by_target.partition_point(|(to, _)| *to < step);
        open.extend(by_target[first..].iter().take_while(|(to, _)| *to == step).map(|(_, from)| *from));
    }
    let endless = flow.jumps.iter().find(|jump| {
        let step = jump.step as usize;
        reached[step] && !ends[step] && jump.to <= jump.step && jump.taken != Taken::Never
    });
    if let Some(jump) = endless {
        findings.add("X-10", || {
            let found =
                format!("a jump back to instruction {}, from where no way leads to the end", local(method, jump));
            (place(&method.at(jump.step)), found, "a loop that something can end".into())
        });
    }
}

/// Where a jump leads, in its chain.
fn local(method: &Method<'_>, jump: &Jump) -> u32 {
    jump.to - method.chains[method.steps[jump.step as usize].chain as usize]
}

/// Loops whose condition nothing in them changes, and that nothing else leaves: once they turn, they turn for ever.
fn stuck(method: &Method<'_>, flow: &Flow, findings: &mut Findings, place: &Locate<'_>) {
    let mut extent: Option<Extents> = None;
    for jump in flow.jumps.iter().filter(|jump| jump.taken == Taken::Maybe && jump.to <= jump.step) {
        let Instruction::JumpFalseCall { cond_value_index, .. } = method.steps[jump.step as usize].what else {
            continue;
        };
        let Some(value) = method.value(*cond_value_index) else { continue };
        if !matches!(method.values()[value], EValue::Bool(_)) {
            continue;
        }
        let extent = extent.get_or_insert_with(|| Extents::new(method, flow));
        if extent.is_written(value as u32, jump.to, jump.step) || extent.leaves(jump.to, jump.step) {
            continue;
        }
        findings.add("X-11", || {
            let found = format!("a loop in which nothing writes its condition, values[{cond_value_index}]");
            (place(&method.at(jump.step)), found, "a loop that changes what it depends on".into())
        });
    }
}

/// Answers what happens between two steps.
struct Extents {
    /// Value and step of each write of a Bool, sorted.
    writes: Vec<(u32, u32)>,
    steps: Vec<u32>,
    /// `levels[k][i]`: least and greatest destination of the jumps `i .. i + 2^k`.
    levels: Vec<Vec<(u32, u32)>>,
}

impl Extents {
    fn new(method: &Method<'_>, flow: &Flow) -> Extents {
        let is_bool = |value: u32| matches!(method.values()[value as usize], EValue::Bool(_));
        let writes = method.accesses.iter().filter(|a| a.how.may_write() && is_bool(a.value));
        let mut writes: Vec<(u32, u32)> = writes.map(|access| (access.value, access.step)).collect();
        writes.sort_unstable();
        let jumps: Vec<&Jump> = flow.jumps.iter().filter(|jump| jump.taken != Taken::Never).collect();
        let mut levels = vec![jumps.iter().map(|jump| (jump.to, jump.to)).collect::<Vec<_>>()];
        let mut width = 1;
        while 2 * width <= jumps.len() {
            let below = &levels[levels.len() - 1];
            let wider = |i: usize| (below[i].0.min(below[i + width].0), below[i].1.max(below[i + width].1));
            levels.push((0..=jumps.len() - 2 * width).map(wider).collect());
            width *= 2;
        }
        Extents { writes, steps: jumps.iter().map(|jump| jump.step).collect(), levels }
    }

    fn is_written(&self, value: u32, first: u32, last: u32) -> bool {
        let at = self.writes.partition_point(|write| *write < (value, first));
        self.writes.get(at).is_some_and(|(other, step)| *other == value && *step <= last)
    }

    /// Whether a jump of the steps leads out of them.
    fn leaves(&self, first: u32, last: u32) -> bool {
        let low = self.steps.partition_point(|step| *step < first);
        // The loop's own jump is the last of them; going straight on from it is what its condition decides.
        let high = self.steps.partition_point(|step| *step < last);
        let Some(count) = high.checked_sub(low).filter(|count| *count > 0) else { return false };
        let level = count.ilog2() as usize;
        let (left, right) = (self.levels[level][low], self.levels[level][high - (1 << level)]);
        left.0.min(right.0) < first || left.1.max(right.1) > last
    }
}
