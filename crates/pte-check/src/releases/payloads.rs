//! Parts of the graphs of XNNPACK delegates that a release does not accept (`V-3`).

use std::collections::{BTreeMap, BTreeSet};

use super::report::{Report, expected};
use crate::RuleId::*;
use pte_model::data::BlobId;
use pte_model::format::ScalarType;
use pte_model::program::element::{Element, Part};
use pte_model::program::instruction::Callee;
use pte_model::program::{ExecutionPlan, Instruction, Program, Tensor};
use pte_releases::Release;
use pte_xnnpack::decode::decode;
use pte_xnnpack::model::{Graph, GraphValue};
use pte_xnnpack::schema::{Datatype, EXTERNAL_OUTPUT};
use pte_xnnpack::{BACKEND, constants, parts};

/// The parts of all payloads of a program: each once, with the first place where it is.
pub struct Payloads {
    parts: BTreeMap<String, Element>,
    /// First delegate with constants that the program does not have.
    pub external: Option<Element>,
}

impl Payloads {
    /// Decodes the payloads of all XNNPACK delegates.
    pub fn of(program: &Program) -> Payloads {
        let mut payloads = Payloads { parts: BTreeMap::new(), external: None };
        let named: BTreeSet<&str> = program.named_data.iter().flatten().map(|data| &*data.key).collect();
        // Delegates with the same payload have the same graph.
        let mut graphs: BTreeMap<BlobId, Option<Graph>> = BTreeMap::new();
        for (method, index, delegate) in program.delegates() {
            if delegate.id.as_deref() != Some(BACKEND) {
                continue;
            }
            let is_new = !graphs.contains_key(&delegate.processed);
            // The rules D- report a payload that cannot be decoded.
            let decoded = || decode(program.blob(delegate.processed)).ok();
            let Some(graph) = graphs.entry(delegate.processed).or_insert_with(decoded) else { continue };
            if is_new {
                for (part, node) in parts::of(graph, delegate.inline == Some(true)) {
                    let at = node.map_or(Part::Delegate(index), |node| Part::GraphNode(index, node));
                    payloads.add(&part, method, at);
                }
                if constants::keys(graph).any(|key| !named.contains(key)) {
                    payloads.external.get_or_insert(Element::Method(method, Part::Delegate(index)));
                }
            }
            payloads.add_arguments(method, index, &program.plans()[method], graph);
        }
        payloads
    }

    fn add(&mut self, part: &str, method: usize, at: Part) {
        if !self.parts.contains_key(part) {
            self.parts.insert(part.to_owned(), Element::Method(method, at));
        }
    }

    /// Adds the properties of the tensors that the calls of a delegate pass.
    fn add_arguments(&mut self, method: usize, index: usize, plan: &ExecutionPlan, graph: &Graph) {
        let is_output = |value: &&GraphValue| {
            let is_int32 = Datatype::of(value.datatype).is_some_and(|datatype| datatype.name == "int32");
            is_int32 && value.flags & EXTERNAL_OUTPUT != 0
        };
        let integers: Vec<u32> = graph.values.iter().filter(is_output).map(|value| value.external_id).collect();
        let is_call =
            |call: &&Instruction| matches!(call.callee(), Some(Callee::Delegate(id)) if id.get() == Some(index));
        let calls = plan.instructions().filter(is_call);
        for call in calls {
            let tensors = || (0..).zip(call.args()).filter_map(|(at, arg)| Some((at, plan.value(*arg)?.as_tensor()?)));
            let is_reordered = |tensor: &Tensor| tensor.dim_order.as_ref().is_some_and(|order| !order.is_contiguous());
            if tensors().any(|(_, tensor)| is_reordered(tensor)) {
                self.add("payload.argument_channels_last", method, Part::Delegate(index));
            }
            if tensors().any(|(at, tensor)| tensor.scalar_type == ScalarType::LONG && integers.contains(&at)) {
                self.add("payload.indices_as_longs", method, Part::Delegate(index));
            }
        }
    }

    /// Compares the parts with those that a release accepts.
    pub fn check(&self, release: &Release, report: &mut Report<'_>) {
        for (part, element) in &self.parts {
            let Some(answer) = release.xnnpack(part).filter(|answer| answer.is_refusal()) else { continue };
            report(V_3, *element, &|| {
                let does = |other: &Release| other.xnnpack(part).is_some_and(|answer| !answer.is_refusal());
                (format!("`{part}` in a payload: {release} {answer}"), expected(release.first_later(does)))
            });
        }
    }
}
