//! The way to a place: a list on the stack while looking, a text such as `methods.forward.values[3].sizes` once something
//! is found there.
//!
//! Nothing is allocated for a place where nothing is wrong.

use std::fmt::{self, Write};

use super::finding::{Findings, Place};
use super::locus::{Locus, Part};
use super::view::Table;
use crate::program::Program;
use crate::schema::program::{chain, execution_plan, instruction, kernel_call, program};

/// A step on the way.
#[derive(Debug, Clone, Copy)]
enum Step {
    /// The root.
    Root,
    /// Into a field of a table.
    Field(&'static str),
    /// To an item of a list.
    Item(usize),
}

/// The way from the root to a place.
#[derive(Debug, Clone, Copy)]
pub struct Path<'p> {
    above: Option<&'p Path<'p>>,
    step: Step,
}

impl Path<'static> {
    /// The root table.
    pub const ROOT: Path<'static> = Path { above: None, step: Step::Root };
}

impl<'p> Path<'p> {
    /// On into a field.
    pub fn field(&'p self, name: &'static str) -> Path<'p> {
        Path { above: Some(self), step: Step::Field(name) }
    }

    /// On to an item.
    pub fn item(&'p self, index: usize) -> Path<'p> {
        Path { above: Some(self), step: Step::Item(index) }
    }

    fn steps(&self) -> Vec<Step> {
        let mut steps = vec![self.step];
        let mut path = self.above;
        while let Some(above) = path {
            steps.push(above.step);
            path = above.above;
        }
        steps.reverse();
        steps
    }
}

/// Takes findings of a FlatBuffer and says where they are.
pub struct Reporter<'f, 'a> {
    /// The findings.
    pub findings: &'f mut Findings,
    bytes: &'a [u8],
    prefix: &'static str,
    start: u64,
}

impl<'f, 'a> Reporter<'f, 'a> {
    /// For a file of its own, or a file inside another: `bytes` begin at `start`, and paths begin with `prefix`.
    pub fn new(findings: &'f mut Findings, bytes: &'a [u8], prefix: &'static str, start: u64) -> Reporter<'f, 'a> {
        Reporter { findings, bytes, prefix, start }
    }

    /// A rule is broken at a byte.
    pub fn add(
        &mut self,
        id: &str,
        path: &Path<'_>,
        at: usize,
        found: fmt::Arguments<'_>,
        expected: fmt::Arguments<'_>,
    ) {
        let (bytes, prefix, start) = (self.bytes, self.prefix, self.start);
        self.findings.add(id, || {
            let place = Place { offset: Some(start.saturating_add(at as u64)), path: render(bytes, prefix, path) };
            (place, found.to_string(), expected.to_string())
        });
    }
}

/// Where a part of a program is: its table, or the place of a number in a list.
fn byte_of(bytes: &[u8], locus: &Locus) -> Option<usize> {
    let root = Table::root(bytes)?;
    let (method, part) = match *locus {
        Locus::NamedData(index) => return Some(root.tables(program::named_data)?.get(index)?.at),
        Locus::Method(method, part) => (method, part),
    };
    let plan = root.tables(program::execution_plan)?.get(method)?;
    let entry = |slot: u16, index: usize| Some(plan.tables(slot)?.get(index)?.at);
    let number = |slot: u16, index: usize| Some(plan.i32s(slot)?.place(index));
    let instruction = |chain: usize, index: usize| {
        let chain = plan.tables(execution_plan::chains)?.get(chain)?;
        chain.tables(chain::instructions)?.get(index)
    };
    match part {
        Part::Whole => Some(plan.at),
        Part::Value(index) | Part::Item(index, _) => entry(execution_plan::values, index),
        Part::Input(index) => number(execution_plan::inputs, index),
        Part::Output(index) => number(execution_plan::outputs, index),
        Part::Delegate(index) => entry(execution_plan::delegates, index),
        Part::Operator(index) => entry(execution_plan::operators, index),
        Part::Instruction(chain, index) | Part::Field(chain, index, _) => Some(instruction(chain, index)?.at),
        Part::Arg(chain, index, arg) => {
            let call = instruction(chain, index)?.child(instruction::instr_args)?;
            // Both kinds of calls have their arguments in the same slot.
            Some(call.i32s(kernel_call::args)?.place(arg))
        }
    }
}

/// The path as text. Methods are called by their names, what a union or a list of one chain adds is left out.
fn render(bytes: &[u8], prefix: &str, path: &Path<'_>) -> String {
    let mut out = String::from(prefix);
    let steps = path.steps();
    let mut plan = None;
    let mut position = 1;
    while let Some(step) = steps.get(position) {
        let last = position + 1 == steps.len();
        let next = steps.get(position + 1);
        position += 1;
        match (step, next) {
            (Step::Field("execution_plan"), Some(Step::Item(index))) => {
                plan = Some(*index);
                position += 1;
                let _ = match method_name(bytes, *index) {
                    Some(name) => write!(out, "methods.{name}"),
                    None => write!(out, "methods[{index}]"),
                };
            }
            (Step::Field("execution_plan"), _) => out.push_str("methods"),
            (Step::Field("chains"), Some(Step::Item(_))) if position + 1 < steps.len() && one_chain(bytes, plan) => {
                position += 1;
            }
            (Step::Field("val" | "instr_args"), _) if !last => {}
            (Step::Field(name), _) => {
                if !out.is_empty() && !out.ends_with('.') {
                    out.push('.');
                }
                out.push_str(name);
            }
            (Step::Item(index), _) => {
                let _ = write!(out, "[{index}]");
            }
            (Step::Root, _) => {}
        }
    }
    if out == prefix { prefix.trim_end_matches('.').to_owned() } else { out }
}

fn plan(bytes: &[u8], index: usize) -> Option<Table<'_>> {
    Table::root(bytes)?.tables(program::execution_plan)?.get(index)
}

/// The name of a method if no other has it, quoted if it is no plain word.
fn method_name(bytes: &[u8], index: usize) -> Option<String> {
    let name = plan(bytes, index)?.text(execution_plan::name)?;
    let name = std::str::from_utf8(name).ok().filter(|name| name.len() <= 100)?;
    let plans = Table::root(bytes)?.tables(program::execution_plan)?;
    // Among very many methods nobody looks for a second one of the name.
    let same = plans.iter().take(1000).filter(|plan| plan.text(execution_plan::name) == Some(name.as_bytes())).count();
    let plain = !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || c == '_');
    (same == 1).then(|| if plain { name.to_owned() } else { format!("{name:?}") })
}

fn one_chain(bytes: &[u8], index: Option<usize>) -> bool {
    let chains = index.and_then(|index| plan(bytes, index)).and_then(|plan| plan.tables(execution_plan::chains));
    chains.is_some_and(|chains| chains.len() == 1 && chains.get(0).is_some_and(|c| c.has(chain::instructions)))
}

/// Says of a part of the program in these bytes, which begin at `start` of the file, where it is.
pub fn locator<'p>(
    bytes: &'p [u8],
    prefix: &'static str,
    start: u64,
    program: &'p Program,
) -> impl Fn(&Locus) -> Place + use<'p> {
    move |locus| Place {
        offset: byte_of(bytes, locus).map(|at| start.saturating_add(at as u64)),
        path: format!("{prefix}{}", locus.path(program)),
    }
}
