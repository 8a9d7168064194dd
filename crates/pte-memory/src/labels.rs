//! Labels of instructions and of times, for text: the operator, the backend, or the kind of an instruction.

use pte_model::format::program::InstructionType;
use pte_model::format::table::Union;
use pte_model::program::instruction::Callee;
use pte_model::program::{ExecutionPlan, Instruction};

/// Describes the event at a time of the timeline of a method with these instructions.
pub(crate) fn event(instructions: &[String], time: usize) -> String {
    match time.checked_sub(1).map(|index| (index, instructions.get(index))) {
        None => "the inputs are set".to_owned(),
        Some((index, Some(label))) => format!("instruction {index}, {label}"),
        Some((_, None)) => "the outputs are read".to_owned(),
    }
}

/// Maximum number of characters of a label: many instructions can have the same long name.
const MAX_LABEL: usize = 200;

/// Truncates a long text.
pub(crate) fn shortened(mut text: String) -> String {
    if let Some((at, _)) = text.char_indices().nth(MAX_LABEL) {
        text.truncate(at);
        text += "...";
    }
    text
}

/// Distinct labels of the instructions of a method: the operator, the backend, or the kind of instruction.
#[derive(Debug)]
pub struct Labels {
    texts: Vec<String>,
    operators: usize,
    delegates: usize,
}

impl Labels {
    /// Labels of instructions that call neither an operator nor a delegate; they follow the labels of operators and
    /// delegates.
    const OTHERS: [&'static str; InstructionType::MEMBERS.len() + 1] =
        ["an unknown operator", "an unknown delegate", "move", "jump", "free", "an unknown instruction"];

    /// Collects the labels of a method.
    pub fn new(plan: &ExecutionPlan) -> Labels {
        let operators = plan.operators.as_deref().unwrap_or_default();
        let named = operators.iter().map(|operator| operator.full_name());
        let named = named.map(|name| name.unwrap_or_else(|| Labels::OTHERS[0].to_owned()));
        let backends = plan.delegates().iter().map(|delegate| delegate.id.clone());
        let backends = backends.map(|id| id.unwrap_or_else(|| Labels::OTHERS[1].to_owned()));
        let others = Labels::OTHERS.iter().map(|text| (*text).to_owned());
        Labels {
            texts: named.chain(backends).map(shortened).chain(others).collect(),
            operators: operators.len(),
            delegates: plan.delegates().len(),
        }
    }

    /// Returns the index of the label of an instruction.
    pub fn index(&self, instruction: &Instruction) -> usize {
        let others = self.operators + self.delegates;
        let known = match instruction.callee() {
            Some(Callee::Operator(id)) => id.within(self.operators),
            Some(Callee::Delegate(id)) => id.within(self.delegates).map(|index| self.operators + index),
            None => None,
        };
        let kind = instruction.kind().map_or(InstructionType::MEMBERS.len(), |kind| usize::from(kind.tag()) - 1);
        known.unwrap_or(others + kind)
    }

    /// Returns the label of an instruction.
    pub fn of(&self, instruction: &Instruction) -> &str {
        self.texts.get(self.index(instruction)).map_or("", String::as_str)
    }

    /// Returns all labels in the order of [`Labels::index`].
    pub fn texts(self) -> Vec<String> {
        self.texts
    }
}
