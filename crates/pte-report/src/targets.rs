//! Finds the instruction, value or delegate that a finding of `check` or a difference is about by its path.

use std::collections::HashMap;

use serde::Serialize;

use pte_model::program::Program;
use pte_model::program::element::{Element, Part};

/// Prefix of the paths in the program of a `.bpte`.
const BUNDLED: &str = "program.";

/// Maximum number of steps of a path after its method.
const MAX_STEPS: usize = 8;

/// Findings and differences by the element that they are about.
#[derive(Default)]
pub struct Targets(HashMap<Target, Marks>);

/// Findings and differences about an element, as indices in the lists from which a
/// [`ProgramGraph`](crate::graph::ProgramGraph) is built.
#[derive(Debug, Clone, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Marks {
    /// Findings of `check`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<usize>,
    /// Differences from another program.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub differences: Vec<usize>,
}

/// Element of a program that can be marked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Target {
    /// A method, or a part of it that is no other target.
    Method(usize),
    /// Index of a method, and of an instruction counted through all chains.
    Instruction(usize, usize),
    /// Method and index.
    Value(usize, usize),
    /// Method and index.
    Delegate(usize, usize),
}

/// Finds elements by their paths.
pub struct TargetFinder<'p> {
    program: &'p Program,
    /// Methods by path.
    methods: HashMap<String, usize>,
}

impl<'p> TargetFinder<'p> {
    /// Prepares the paths of the methods of a program.
    pub fn new(program: &'p Program) -> TargetFinder<'p> {
        let path = |method| (Element::Method(method, Part::Whole).path(program), method);
        TargetFinder { program, methods: (0..program.plans().len()).map(path).collect() }
    }

    /// Returns the element that a path is about.
    pub fn find(&self, path: &str) -> Option<Target> {
        target(self.program, &self.methods, path)
    }
}

impl Targets {
    /// Finds the targets of findings and differences by their paths.
    pub fn new(program: &Program, findings: &[&str], differences: &[&str]) -> Targets {
        let finder = TargetFinder::new(program);
        let mut targets = Targets::default();
        for (index, path) in findings.iter().enumerate() {
            if let Some(target) = finder.find(path) {
                targets.0.entry(target).or_default().findings.push(index);
            }
        }
        for (index, path) in differences.iter().enumerate() {
            if let Some(target) = finder.find(path) {
                targets.0.entry(target).or_default().differences.push(index);
            }
        }
        targets
    }

    /// Returns the findings and differences about an element.
    pub fn of(&self, target: Target) -> Marks {
        self.0.get(&target).cloned().unwrap_or_default()
    }
}

fn target(program: &Program, methods: &HashMap<String, usize>, path: &str) -> Option<Target> {
    let path = path.strip_prefix(BUNDLED).unwrap_or(path);
    // The name of a method can have brackets and dots: the last match is after it.
    let part = |list: &str| {
        let at = path.rfind(list)?;
        let method = *methods.get(&path[..at])?;
        let (index, rest) = path[at + list.len()..].split_once(']')?;
        Some((method, index.parse::<usize>().ok()?, rest))
    };
    if let Some((method, chain, rest)) = part(".chains[") {
        let (index, _) = rest.strip_prefix(".instructions[")?.split_once(']')?;
        let chains = program.plans().get(method)?.chains.as_ref()?;
        let before = chains.iter().take(chain).map(|chain| chain.instructions.as_ref().map_or(0, Vec::len));
        let number = before.sum::<usize>().checked_add(index.parse().ok()?)?;
        return Some(Target::Instruction(method, number));
    }
    if let Some((method, index, _)) = part(".instructions[") {
        return Some(Target::Instruction(method, index));
    }
    if let Some((method, index, _)) = part(".values[") {
        return Some(Target::Value(method, index));
    }
    if let Some((method, index, _)) = part(".delegates[") {
        return Some(Target::Delegate(method, index));
    }
    let ends = [path.len()].into_iter().chain(path.rmatch_indices('.').map(|(at, _)| at));
    let method = ends.take(MAX_STEPS).find_map(|end| methods.get(&path[..end]));
    method.map(|method| Target::Method(*method))
}

#[cfg(test)]
mod tests {
    use super::*;
    use pte_model::program::{Chain, ExecutionPlan, Instruction, ValueId};

    #[test]
    fn paths_lead_to_their_elements() {
        let chain = |count| Chain {
            instructions: Some(vec![Instruction::FreeCall { value_index: ValueId(0) }; count]),
            ..Chain::default()
        };
        let plan = |name: &str, chains: Vec<Chain>| ExecutionPlan {
            name: Some(name.to_owned()),
            chains: Some(chains),
            ..ExecutionPlan::default()
        };
        let plans = vec![plan("forward", vec![chain(9)]), plan("a.values[3]", vec![chain(4), chain(2)])];
        let program = Program { execution_plan: Some(plans), ..Program::default() };
        let quoted = Element::Method(1, Part::Whole).path(&program);
        let cases = [
            ("methods.forward.instructions[3].args[1]".to_owned(), Some(Target::Instruction(0, 3))),
            ("program.methods.forward.values[7].sizes".to_owned(), Some(Target::Value(0, 7))),
            ("methods.forward.delegates[0]".to_owned(), Some(Target::Delegate(0, 0))),
            ("methods.forward.non_const_buffer_sizes[1]".to_owned(), Some(Target::Method(0))),
            (format!("{quoted}.chains[1].instructions[1]"), Some(Target::Instruction(1, 5))),
            (quoted, Some(Target::Method(1))),
            ("methods.other.values[1]".to_owned(), None),
            ("segments[0]".to_owned(), None),
            (String::new(), None),
        ];
        for (path, expected) in cases {
            let targets = Targets::new(&program, &[&path], &[]);
            assert_eq!(targets.0.keys().next().copied(), expected, "{path}");
        }
    }
}
