//! Nodes of the elements of a program in its source, for messages and findings. `SourceText` has the byte ranges of
//! nodes.

use std::collections::BTreeMap;

use crate::overrides::payload::DelegateNames;
use pte_model::program::element::{Element, Part};
use pte_transform::remap::Remap;
use pte_yaml::tree::NodeId;

/// Nodes of the elements of a program, and their names in the source.
#[derive(Debug, Clone, Default)]
pub struct Origins {
    /// Methods.
    pub methods: Vec<MethodOrigins>,
    /// Entries of `named_data`.
    pub named_data: Vec<NodeId>,
    /// Entries of the external data.
    pub external_data: Vec<NodeId>,
    /// Patches.
    pub patches: Vec<NodeId>,
    /// Field overrides.
    pub field_overrides: Vec<NodeId>,
    /// The key `runtime`.
    pub runtime: Option<NodeId>,
    /// The layout options that are stated, by name.
    pub layout: BTreeMap<&'static str, NodeId>,
    /// `true` if the methods have names only: the source is a binary file.
    pub names_only: bool,
}

/// Nodes of the parts of a method.
#[derive(Debug, Clone, Default)]
pub struct MethodOrigins {
    /// Node of the method in the source.
    pub id: NodeId,
    /// Node and, for declared values, name.
    pub values: Vec<(NodeId, Option<String>)>,
    /// Delegates.
    pub delegates: Vec<DelegateOrigin>,
    /// Instructions, by chain.
    pub instructions: Vec<Vec<NodeId>>,
}

/// Positions of a delegate and its parts.
#[derive(Debug, Clone, Default)]
pub struct DelegateOrigin {
    /// Node of the name.
    pub id: NodeId,
    /// Name.
    pub name: String,
    /// Graph of the payload; empty if it is stated as bytes.
    pub graph: GraphOrigins,
}

/// Nodes of the parts of a graph.
#[derive(Debug, Clone, Default)]
pub struct GraphOrigins {
    /// Node of the name, name and id in the graph of each value.
    pub values: Vec<(NodeId, String, u32)>,
    /// Operations.
    pub nodes: Vec<NodeId>,
}

impl DelegateNames for Origins {
    fn delegate(&self, method: usize, name: &str) -> Option<usize> {
        self.methods.get(method)?.delegates.iter().position(|delegate| delegate.name == name)
    }

    fn value(&self, method: usize, delegate: usize, name: &str) -> Option<usize> {
        let graph = &self.methods.get(method)?.delegates.get(delegate)?.graph;
        graph.values.iter().position(|(_, known, _)| known == name)
    }
}

impl Origins {
    /// Removes all nodes, and keeps the names.
    pub fn keep_names(&mut self) {
        *self = Origins { methods: std::mem::take(&mut self.methods), names_only: true, ..Origins::default() };
    }

    /// Origins of values that have names only, by method and index.
    pub fn of_names(names: impl IntoIterator<Item = Vec<Option<String>>>) -> Origins {
        let method = |names: Vec<Option<String>>| {
            let values = names.into_iter().map(|name| (NodeId::default(), name)).collect();
            MethodOrigins { values, ..MethodOrigins::default() }
        };
        Origins { methods: names.into_iter().map(method).collect(), names_only: true, ..Origins::default() }
    }

    /// Returns `true` if methods have positions in a source.
    pub fn has_positions(&self) -> bool {
        !self.names_only && !self.methods.is_empty()
    }

    /// The layout option `header`.
    pub fn header(&self) -> Option<NodeId> {
        self.layout.get("header").copied()
    }

    /// The node of an element.
    pub fn node(&self, element: Element) -> Option<NodeId> {
        match element {
            Element::Method(..) if self.names_only => None,
            Element::Program => None,
            Element::Header => self.header(),
            Element::NamedData(number) => self.named_data.get(number).copied(),
            Element::ExternalData(number) => self.external_data.get(number).copied(),
            Element::Method(method, part) => {
                let method = self.methods.get(method)?;
                match part {
                    Part::Value(value) => Some(method.values.get(value)?.0),
                    Part::Delegate(delegate) => Some(method.delegates.get(delegate)?.id),
                    Part::GraphValue(delegate, value) => {
                        Some(method.delegates.get(delegate)?.graph.values.get(value)?.0)
                    }
                    Part::GraphNode(delegate, node) => method.delegates.get(delegate)?.graph.nodes.get(node).copied(),
                    Part::Instruction(chain, position) => {
                        let instruction = method.instructions.get(chain).and_then(|chain| chain.get(position));
                        Some(instruction.copied().unwrap_or(method.id))
                    }
                    Part::Whole | Part::Output(_) | Part::Operator(_) | Part::Arg(..) | Part::Field(..) => {
                        Some(method.id)
                    }
                }
            }
        }
    }

    /// Keeps the origins of the values and delegates of all methods that remain. Those of instructions are kept only if
    /// all instructions of the method remain.
    pub fn retain(&mut self, remaps: &[Remap]) {
        for (method, remap) in self.methods.iter_mut().zip(remaps) {
            if remap.instructions.removed() > 0 {
                method.instructions.clear();
            }
            remap.values.retain(&mut method.values);
            remap.delegates.retain(&mut method.delegates);
        }
    }

    /// Moves the origins of the instructions of a method; `order` has their former indices, counted through all chains.
    pub fn reorder(&mut self, method: usize, order: &[u32]) {
        let Some(method) = self.methods.get_mut(method) else { return };
        let former: Vec<NodeId> = method.instructions.iter().flatten().copied().collect();
        if former.len() != order.len() {
            method.instructions.clear();
        }
        let moved = order.iter().filter_map(|step| former.get(*step as usize));
        method.instructions.iter_mut().flatten().zip(moved).for_each(|(node, former)| *node = *former);
    }

    /// The node of a field override, by its number.
    pub fn field_override(&self, number: usize) -> Option<NodeId> {
        self.field_overrides.get(number).copied()
    }

    /// The node of a patch, by its number.
    pub fn patch(&self, number: usize) -> Option<NodeId> {
        self.patches.get(number).copied()
    }

    /// Names and indices of the declared values of a method.
    pub fn values(&self, method: usize) -> Vec<(String, usize)> {
        let values = self.methods.get(method).into_iter().flat_map(|method| method.values.iter().zip(0..));
        values.filter_map(|((_, name), index)| Some((name.as_deref()?.to_owned(), index))).collect()
    }

    /// Names of the values, by method.
    pub fn value_names(&self) -> Vec<Vec<Option<String>>> {
        let names = |method: &MethodOrigins| method.values.iter().map(|(_, name)| name.clone()).collect();
        self.methods.iter().map(names).collect()
    }

    /// Names of the delegates, by method.
    pub fn delegate_names(&self) -> Vec<Vec<String>> {
        let names = |method: &MethodOrigins| method.delegates.iter().map(|delegate| delegate.name.clone()).collect();
        self.methods.iter().map(names).collect()
    }

    /// The name of a value in the source.
    pub fn name(&self, method: usize, value: usize) -> Option<&str> {
        self.methods.get(method)?.values.get(value)?.1.as_deref()
    }
}
