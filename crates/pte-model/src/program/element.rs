//! Elements of a program by index, and their paths from the root: `methods.forward.instructions[3].args[1]`.
//!
//! This module does not know byte offsets in files.

use super::{Program, TensorData};
use crate::data::BlobId;
use crate::format::path::SchemaStep::{Field, Item};
use crate::format::path::{self, MethodName, Methods, SchemaStep};

/// An element of a program, of its external data, or of the container.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Element {
    /// The program as a whole.
    Program,
    /// The extended header of the file.
    Header,
    /// An entry of `named_data`.
    NamedData(usize),
    /// An entry of [`Program::external_data`].
    ExternalData(usize),
    /// A part of the method with this index.
    Method(usize, Part),
}

/// A part of a method.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// The method as a whole.
    Whole,
    /// Value of a method, by index.
    Value(usize),
    /// An entry of `outputs`.
    Output(usize),
    /// Delegate of a method, by index.
    Delegate(usize),
    /// A value of the graph in the payload of a delegate: delegate, value.
    GraphValue(usize, usize),
    /// An operation of the graph in the payload of a delegate: delegate, node.
    GraphNode(usize, usize),
    /// Operator of a method, by index.
    Operator(usize),
    /// An instruction: its chain, and its index in the chain.
    Instruction(usize, usize),
    /// An argument of an instruction: chain, instruction, argument.
    Arg(usize, usize, usize),
    /// A field of an instruction that is not in a list: chain, instruction, name.
    Field(usize, usize, &'static str),
}

impl Element {
    /// Returns the path of the element. It contains the name of a method if that is unique, otherwise the index
    /// (`methods[2]`). Chains are part of it only if there are several.
    pub fn path(&self, program: &Program) -> String {
        self.path_among(&ProgramMethods(program))
    }

    /// Returns the path of the element in a program with these methods.
    pub fn path_among(&self, methods: &dyn Methods) -> String {
        let mut out = Vec::new();
        path::write(&self.steps(), false, methods, &mut out);
        String::from_utf8_lossy(&out).into_owned()
    }

    fn steps(&self) -> Vec<SchemaStep> {
        let (method, part) = match *self {
            Element::Program => return Vec::new(),
            Element::Header => return vec![Field("header")],
            Element::NamedData(index) => return vec![Field("named_data"), Item(index)],
            Element::ExternalData(index) => return vec![Field("external_data"), Item(index)],
            Element::Method(method, part) => (method, part),
        };
        let mut steps = vec![Field("execution_plan"), Item(method)];
        let graph =
            |delegate, list, index| [Field("delegates"), Item(delegate), Field("graph"), Field(list), Item(index)];
        let instruction = |chain, index| [Field("chains"), Item(chain), Field("instructions"), Item(index)];
        match part {
            Part::Whole => {}
            Part::Value(value) => steps.extend([Field("values"), Item(value)]),
            Part::Output(index) => steps.extend([Field("outputs"), Item(index)]),
            Part::Delegate(index) => steps.extend([Field("delegates"), Item(index)]),
            Part::GraphValue(delegate, value) => steps.extend(graph(delegate, "values", value)),
            Part::GraphNode(delegate, node) => steps.extend(graph(delegate, "nodes", node)),
            Part::Operator(index) => steps.extend([Field("operators"), Item(index)]),
            Part::Instruction(chain, index) => steps.extend(instruction(chain, index)),
            Part::Arg(chain, index, arg) => {
                steps.extend(instruction(chain, index));
                steps.extend([Field("instr_args"), Field("args"), Item(arg)]);
            }
            Part::Field(chain, index, name) => {
                steps.extend(instruction(chain, index));
                steps.extend([Field("instr_args"), Field(name)]);
            }
        }
        steps
    }
}

impl Program {
    /// Returns the elements with data, and their blobs.
    #[doc(hidden)]
    pub fn blob_references(&self) -> impl Iterator<Item = (Element, BlobId)> {
        let methods = self.plans().iter().enumerate().flat_map(|(method, plan)| {
            let tensors = plan.tensors().filter_map(move |(value, tensor)| match tensor.data {
                TensorData::Blob(blob) => Some((Element::Method(method, Part::Value(value)), blob)),
                TensorData::None | TensorData::Elsewhere(_) => None,
            });
            let delegates = plan.delegates().iter().enumerate();
            let delegates = delegates
                .map(move |(index, delegate)| (Element::Method(method, Part::Delegate(index)), delegate.processed));
            tensors.chain(delegates)
        });
        let named = self.named_data.iter().flatten().enumerate();
        let named = named.map(|(number, data)| (Element::NamedData(number), data.data));
        let external = self.external_data.iter().enumerate();
        methods.chain(named).chain(external.map(|(number, data)| (Element::ExternalData(number), data.data)))
    }

    /// Calls a function with each reference to a blob.
    #[doc(hidden)]
    pub fn for_each_blob_mut(&mut self, mut change: impl FnMut(&mut BlobId)) {
        for plan in self.plans_mut() {
            for (_, tensor) in plan.tensors_mut() {
                if let TensorData::Blob(blob) = &mut tensor.data {
                    change(blob);
                }
            }
            plan.delegates.iter_mut().flatten().for_each(|delegate| change(&mut delegate.processed));
        }
        self.named_data.iter_mut().flatten().for_each(|named| change(&mut named.data));
        self.external_data.iter_mut().for_each(|external| change(&mut external.data));
    }
}

/// The methods of a program, for paths.
pub(super) struct ProgramMethods<'p>(pub &'p Program);

impl Methods for ProgramMethods<'_> {
    fn write_name(&self, index: usize, out: &mut Vec<u8>) {
        let plans = self.0.plans();
        let name = |index: usize| plans.get(index)?.name.as_deref().map(str::as_bytes);
        out.extend_from_slice(MethodName::of(plans.len(), name, index).to_string().as_bytes());
    }

    fn has_one_chain(&self, index: usize) -> bool {
        let chains = self.0.plans().get(index).and_then(|plan| plan.chains.as_ref());
        chains.is_some_and(|chains| chains.len() < 2)
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
            (Element::Method(0, Part::Arg(0, 3, 1)), "methods.forward.instructions[3].args[1]"),
            (Element::Method(0, Part::Value(7)), "methods.forward.values[7]"),
            (Element::Method(1, Part::Arg(1, 3, 0)), "methods[1].chains[1].instructions[3].args[0]"),
            (Element::Method(2, Part::Value(4)), "methods.\"a.b\".values[4]"),
            (Element::Method(9, Part::Output(2)), "methods[9].outputs[2]"),
            (Element::Method(0, Part::GraphNode(1, 2)), "methods.forward.delegates[1].graph.nodes[2]"),
            (Element::Method(0, Part::GraphValue(0, 3)), "methods.forward.delegates[0].graph.values[3]"),
            (Element::NamedData(1), "named_data[1]"),
        ];
        for (element, path) in cases {
            assert_eq!(element.path(&program), path);
        }
    }
}
