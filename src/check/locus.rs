//! Where in a program something is, in indices, and its way there from the root as text.
//!
//! Knows no bytes: which byte of a file a place has, only who read the file can say.

use std::fmt;

use super::finding::Place;
use crate::program::Program;

/// A place in a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Locus {
    /// An entry of `named_data`.
    NamedData(usize),
    /// A part of the method with this index.
    Method(usize, Part),
}

/// A part of a method.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// All of it.
    Whole,
    /// A value.
    Value(usize),
    /// An item of a value that is a list: value, item.
    Item(usize, usize),
    /// An entry of `inputs`.
    Input(usize),
    /// An entry of `outputs`.
    Output(usize),
    /// A delegate.
    Delegate(usize),
    /// An operator.
    Operator(usize),
    /// An instruction: its chain, and its index there.
    Instruction(usize, usize),
    /// An argument of an instruction: chain, instruction, argument.
    Arg(usize, usize, usize),
    /// A field of an instruction that is not in a list: chain, instruction, name.
    Field(usize, usize, &'static str),
}

impl Locus {
    /// The way there: `methods.forward.instructions[3].args[1]`. A method whose name is absent or does not read like a
    /// name goes by its index (`methods[2]`), and chains are mentioned only if there are several.
    pub fn path(&self, program: &Program) -> String {
        Path { locus: *self, program }.to_string()
    }
}

/// Places without bytes, for who knows none.
pub fn without_offset(program: &Program) -> impl Fn(&Locus) -> Place {
    |locus| Place { offset: None, path: locus.path(program) }
}

/// Says where a part of a program is, as a byte of the file and as a path.
pub type Locate<'a> = dyn Fn(&Locus) -> Place + 'a;

struct Path<'p> {
    locus: Locus,
    program: &'p Program,
}

impl fmt::Display for Path<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (method, part) = match self.locus {
            Locus::NamedData(index) => return write!(f, "named_data[{index}]"),
            Locus::Method(method, part) => (method, part),
        };
        let plan = self.program.plans().get(method);
        let readable = |name: &&str| {
            !name.is_empty() && name.len() < 100 && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
        };
        match plan.and_then(|plan| plan.name.as_deref()).filter(readable) {
            Some(name) => write!(f, "methods.{name}")?,
            None => write!(f, "methods[{method}]")?,
        }
        let several = plan.and_then(|plan| plan.chains.as_ref()).is_some_and(|chains| chains.len() > 1);
        let step = |f: &mut fmt::Formatter<'_>, chain: usize, index: usize| {
            if several {
                write!(f, ".chains[{chain}]")?;
            }
            write!(f, ".instructions[{index}]")
        };
        match part {
            Part::Whole => Ok(()),
            Part::Value(value) => write!(f, ".values[{value}]"),
            Part::Item(value, item) => write!(f, ".values[{value}].items[{item}]"),
            Part::Input(index) => write!(f, ".inputs[{index}]"),
            Part::Output(index) => write!(f, ".outputs[{index}]"),
            Part::Delegate(index) => write!(f, ".delegates[{index}]"),
            Part::Operator(index) => write!(f, ".operators[{index}]"),
            Part::Instruction(chain, index) => step(f, chain, index),
            Part::Arg(chain, index, arg) => step(f, chain, index).and_then(|()| write!(f, ".args[{arg}]")),
            Part::Field(chain, index, name) => step(f, chain, index).and_then(|()| write!(f, ".{name}")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::program::{Chain, ExecutionPlan};

    #[test]
    fn paths_name_the_method_and_the_chain_if_there_are_several() {
        let plan = |name: Option<&str>, chains: usize| ExecutionPlan {
            name: name.map(str::to_owned),
            chains: Some(vec![Chain::default(); chains]),
            ..ExecutionPlan::default()
        };
        let plans = vec![plan(Some("forward"), 1), plan(None, 2), plan(Some("a.b"), 1)];
        let program = Program { execution_plan: Some(plans), ..Program::default() };
        let cases = [
            (Locus::Method(0, Part::Arg(0, 3, 1)), "methods.forward.instructions[3].args[1]"),
            (Locus::Method(0, Part::Value(7)), "methods.forward.values[7]"),
            (Locus::Method(1, Part::Arg(1, 3, 0)), "methods[1].chains[1].instructions[3].args[0]"),
            (Locus::Method(2, Part::Item(4, 2)), "methods[2].values[4].items[2]"),
            (Locus::Method(9, Part::Output(2)), "methods[9].outputs[2]"),
            (Locus::NamedData(1), "named_data[1]"),
        ];
        for (locus, path) in cases {
            assert_eq!(locus.path(&program), path);
        }
    }
}
