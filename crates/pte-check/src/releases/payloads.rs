//! Parts of the graphs of XNNPACK delegates, and headers of other payloads, that a release does not accept (`V-3`).

use std::collections::{BTreeMap, HashSet};

use super::report::{Report, expected};
use crate::RuleId::*;
use pte_model::diagnostics::clipped;
use pte_model::format::ScalarType;
use pte_model::program::element::{Element, Part};
use pte_model::program::instruction::Callee;
use pte_model::program::{ExecutionPlan, Program, Tensor};
use pte_payload::{Payload, PayloadReleases};
use pte_releases::{Release, Version};
use pte_xnnpack::model::{Graph, GraphValue};
use pte_xnnpack::payloads::Payloads;
use pte_xnnpack::schema::{Datatype, EXTERNAL_OUTPUT};
use pte_xnnpack::{constants, parts};

/// The parts of all payloads of a program: each once, with the first place where it is.
#[derive(Default)]
pub struct PayloadParts {
    parts: BTreeMap<String, Element>,
    /// Releases that take the payloads of other backends, with the first delegate of each backend.
    releases: BTreeMap<(String, Version), (PayloadReleases, Element)>,
    /// First delegate with constants that the program does not have.
    pub external: Option<Element>,
}

impl PayloadParts {
    /// Collects the parts. The rules `D-` report a payload that cannot be decoded.
    pub fn of(program: &Program, payloads: &Payloads) -> PayloadParts {
        let mut found = PayloadParts::default();
        let named: HashSet<&str> = program.named_data.iter().flatten().map(|data| &*data.key).collect();
        // Delegates with the same payload have the same graph.
        let mut seen = HashSet::new();
        for (method, plan) in program.plans().iter().enumerate() {
            let graphs: Vec<Option<&Graph>> =
                plan.delegates().iter().map(|delegate| payloads.graph(delegate)).collect();
            for (index, (delegate, graph)) in plan.delegates().iter().zip(&graphs).enumerate() {
                if let Some(releases) = payloads.get(delegate).and_then(Payload::releases)
                    && let Ok(first) = releases.first.parse()
                {
                    let key = (delegate.id.clone().unwrap_or_default(), first);
                    let at = Element::Method(method, Part::Delegate(index));
                    found.releases.entry(key).or_insert((releases, at));
                }
                let Some(graph) = graph.filter(|_| seen.insert(delegate.processed)) else { continue };
                for (part, node) in parts::of(graph, delegate.inline == Some(true)) {
                    let at = node.map_or(Part::Delegate(index), |node| Part::GraphNode(index, node));
                    found.add(&part, method, at);
                }
                if constants::keys(graph).any(|key| !named.contains(key)) {
                    found.external.get_or_insert(Element::Method(method, Part::Delegate(index)));
                }
            }
            found.add_arguments(method, plan, &graphs);
        }
        found
    }

    fn add(&mut self, part: &str, method: usize, at: Part) {
        if !self.parts.contains_key(part) {
            self.parts.insert(part.to_owned(), Element::Method(method, at));
        }
    }

    /// Adds the properties of the tensors that the calls of delegates pass, in the order of the delegates.
    fn add_arguments(&mut self, method: usize, plan: &ExecutionPlan, graphs: &[Option<&Graph>]) {
        let is_output = |value: &&GraphValue| {
            let is_int32 = Datatype::of(value.datatype).is_some_and(|datatype| datatype.name == "int32");
            is_int32 && value.flags & EXTERNAL_OUTPUT != 0
        };
        let integers = |graph: &Graph| graph.values.iter().filter(is_output).map(|value| value.external_id).collect();
        let integers: Vec<Option<HashSet<u32>>> = graphs.iter().map(|graph| graph.map(integers)).collect();
        let (mut reordered, mut longs) = (None, None);
        let first =
            |found: &mut Option<usize>, index: usize| *found = Some(found.map_or(index, |first| first.min(index)));
        for call in plan.instructions() {
            let Some(Callee::Delegate(id)) = call.callee() else { continue };
            let Some((index, Some(integers))) = id.within(graphs.len()).map(|index| (index, &integers[index])) else {
                continue;
            };
            let tensors = || (0..).zip(call.args()).filter_map(|(at, arg)| Some((at, plan.value(*arg)?.as_tensor()?)));
            let is_reordered = |tensor: &Tensor| tensor.dim_order.as_ref().is_some_and(|order| !order.is_contiguous());
            if tensors().any(|(_, tensor)| is_reordered(tensor)) {
                first(&mut reordered, index);
            }
            if tensors().any(|(at, tensor)| tensor.scalar_type == ScalarType::LONG && integers.contains(&at)) {
                first(&mut longs, index);
            }
        }
        for (part, found) in [("payload.argument_channels_last", reordered), ("payload.indices_as_longs", longs)] {
            found.into_iter().for_each(|index| self.add(part, method, Part::Delegate(index)));
        }
    }

    /// Compares the parts with those that a release accepts.
    pub fn check(&self, release: &Release, report: &mut Report<'_>) {
        for ((backend, first), (releases, element)) in &self.releases {
            let version = Version { patch: None, ..release.version() };
            let last = releases.last.map_or(Ok(version), str::parse);
            if version < *first || last.is_ok_and(|last| version > last) {
                report(V_3, *element, &|| {
                    let found = format!("a payload of {} with the header of ExecuTorch {releases}", clipped(backend));
                    (found, format!("that of {}: compile the model with this release", release.version()))
                });
            }
        }
        for (part, element) in &self.parts {
            let Some(answer) = release.xnnpack(part).filter(|answer| answer.is_refusal()) else { continue };
            report(V_3, *element, &|| {
                let does = |other: &Release| other.xnnpack(part).is_some_and(|answer| !answer.is_refusal());
                (format!("`{part}` in a payload: {release} {answer}"), expected(release.first_later(does)))
            });
        }
    }
}
