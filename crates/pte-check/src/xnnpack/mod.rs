//! Checks the payloads of XNNPACK delegates, which the backend does not verify (`D-11` to `D-21`).
//!
//! A payload is a header, a graph (a FlatBuffer) and constants; constants may also be named data of the program or of a
//! `.ptd`. Only header, graph and scales are read. Operations that XNNPACK itself rejects are not reported.

use std::collections::HashMap;

use super::fields::flat_tensor::ExternalKeys;
use super::finding::{Findings, Location, Locator};
use crate::RuleId::{self, *};
use pte_model::data::{Blob, BlobId};
use pte_model::diagnostics::counted;
use pte_model::program::element::{Element, Part};
use pte_model::program::{DelegateId, EValue, ExecutionPlan, Instruction, Program, ValueId};
use pte_xnnpack::BACKEND;
use pte_xnnpack::arguments::{self, GraphArgument};
use pte_xnnpack::check::{GraphFinding, GraphPart, GraphRule, NamedData, ScaleBudget, UnpackedConstant};
use pte_xnnpack::decode::{PayloadError, ReadGraph};

/// The arguments of a graph, and its constants in the payload that operations read when they run.
struct Graph {
    arguments: Vec<GraphArgument>,
    /// Number of arguments that XNNPACK allocates.
    num_arguments: u64,
    unpacked: Vec<UnpackedConstant>,
}

/// Returns the id of a rule for graphs.
fn rule_id(rule: GraphRule) -> RuleId {
    match rule {
        GraphRule::Graph => D_12,
        GraphRule::Constants => D_13,
        GraphRule::Quantization => D_15,
        GraphRule::Types => D_16,
        GraphRule::Sizes => D_17,
        GraphRule::Bounds => D_19,
        GraphRule::Lists => D_20,
    }
}

/// Checks the payloads of all XNNPACK delegates of a file of `len` bytes. `external` are the keys of the `.ptd` files
/// loaded with the program.
pub(super) fn check(
    program: &Program,
    len: u64,
    external: &ExternalKeys,
    findings: &mut Findings,
    locate: &Locator<'_>,
) {
    let named = program.named_data.iter().flatten();
    let named: HashMap<&str, &Blob> = named.map(|entry| (entry.key.as_str(), program.blob(entry.data))).collect();
    let named_data = |key: &str| match named.get(key) {
        Some(data) => Some(NamedData { size: data.len, data: Some(*data) }),
        None => {
            let entry = external.entries.get(key.as_bytes())?;
            Some(NamedData { size: entry.size, data: entry.data.as_ref() })
        }
    };
    let mut scales = ScaleBudget::new(len);
    let mut graphs: HashMap<BlobId, Option<Graph>> = HashMap::new();
    let mut left = len;
    for (method, plan) in program.plans().iter().enumerate() {
        let calls = DelegateCalls::new(plan);
        for (index, delegate) in plan.delegates().iter().enumerate() {
            if delegate.id.as_deref() != Some(BACKEND) {
                continue;
            }
            let at = |part: GraphPart| locate(&Element::Method(method, part.of_delegate(index)));
            let payload = program.blob(delegate.processed);
            let graph = graphs.entry(delegate.processed).or_insert_with(|| {
                // The total size is bounded, because overlapping payloads could otherwise be read once per delegate.
                let (rest, fits) = left.checked_sub(payload.len).map_or((left, false), |rest| (rest, true));
                left = rest;
                if !fits {
                    let expected = "disjoint payloads".to_owned();
                    findings.add(D_11, || {
                        (at(GraphPart::Whole), "payloads larger than the file in total".into(), expected)
                    });
                    return None;
                }
                check_payload(payload, &named_data, &mut scales, findings, &at)
            });
            if let Some(graph) = graph {
                // The bytes of a payload inside the program live as long as the program.
                if delegate.inline != Some(true) {
                    for UnpackedConstant { value, operation } in std::mem::take(&mut graph.unpacked) {
                        let found =
                            format!("a constant in the payload, which `{}` reads when it runs", operation.word());
                        let expected = "a constant in named data, by its key".to_owned();
                        findings.add(D_18, || (at(GraphPart::Value(value)), found, expected));
                    }
                }
                calls.check(method, index, graph, findings, locate);
            }
        }
    }
}

/// Checks a payload and its constants. Returns the graph; `None` if it cannot be read.
fn check_payload<'p>(
    blob: &Blob,
    named_data: &dyn Fn(&str) -> Option<NamedData<'p>>,
    scales: &mut ScaleBudget,
    findings: &mut Findings,
    at: &dyn Fn(GraphPart) -> Location,
) -> Option<Graph> {
    let mut report = |GraphFinding { rule, part, found, expected }: GraphFinding| {
        findings.add(rule_id(rule), || (at(part), found, expected));
    };
    // The payloads of a file are not larger than the file in total.
    let read = match ReadGraph::read(blob, u64::MAX) {
        Ok(read) => read,
        Err(error) => {
            let found = match error {
                PayloadError::Io(error) => format!("unreadable data: {error}"),
                PayloadError::Identifier(_) => "a payload without an XNNPACK identifier".to_owned(),
                error @ (PayloadError::Header(_) | PayloadError::Size(..)) => error.to_string(),
            };
            findings.add(D_11, || (at(GraphPart::Whole), found, "a graph and constants inside the payload".into()));
            return None;
        }
    };
    let checked = match pte_xnnpack::check::check(&read) {
        Ok(checked) => checked,
        Err(finding) => {
            report(finding);
            return None;
        }
    };
    checked.data_finding(&read, named_data, scales).into_iter().for_each(&mut report);
    checked.remarks.into_iter().for_each(&mut report);
    let num_arguments = read.graph.num_externs.into();
    Some(Graph { arguments: checked.arguments, num_arguments, unpacked: checked.unpacked })
}

/// The delegate calls of a method.
struct DelegateCalls<'p> {
    plan: &'p ExecutionPlan,
    /// Calls, by index of the delegate.
    by_delegate: HashMap<DelegateId, Vec<DelegateCall<'p>>>,
}

/// A delegate call: chain, index in the chain, arguments.
struct DelegateCall<'p> {
    chain: usize,
    step: usize,
    args: &'p [ValueId],
}

impl<'p> DelegateCalls<'p> {
    fn new(plan: &'p ExecutionPlan) -> DelegateCalls<'p> {
        let mut by_delegate: HashMap<DelegateId, Vec<_>> = HashMap::new();
        for (chain, step, instruction) in plan.instructions_by_chain() {
            if let Instruction::DelegateCall { delegate_index, args } = instruction {
                let args = args.as_deref().unwrap_or_default();
                by_delegate.entry(*delegate_index).or_default().push(DelegateCall { chain, step, args });
            }
        }
        DelegateCalls { plan, by_delegate }
    }

    /// Checks that argument `n` is a tensor with the type of the graph's external value `n`, which the backend does not
    /// check.
    fn check(&self, method: usize, delegate: usize, graph: &Graph, findings: &mut Findings, locate: &Locator<'_>) {
        let calls = self.by_delegate.get(&DelegateId::of(delegate));
        for &DelegateCall { chain, step, args } in calls.into_iter().flatten() {
            let argument = |id: u32| {
                let value = args.get(id as usize).and_then(|arg| arg.get());
                value.and_then(|value| self.plan.values().get(value))
            };
            // If there are fewer arguments, this is skipped: all values would be visited for each call.
            let is_dynamic = graph.arguments.len() <= args.len()
                && arguments::has_dynamic_input(&graph.arguments, |number| argument(number)?.as_tensor());
            if args.len() as u64 > graph.num_arguments {
                let found = counted(args.len() as u64, "argument");
                let expected = format!("{}, as the graph has", graph.num_arguments);
                let at = Element::Method(method, Part::Instruction(chain, step));
                findings.add(D_21, || (locate(&at), found, expected));
            }
            for external in &graph.arguments {
                let id = external.number;
                let mut report = |part: Part, found: String, expected: String| {
                    findings.add(D_14, || (locate(&Element::Method(method, part)), found, expected));
                };
                let Some(arg) = args.get(id as usize) else {
                    let expected = format!("at least {}, for external value {id} of the graph", u64::from(id) + 1);
                    report(Part::Instruction(chain, step), counted(args.len() as u64, "argument"), expected);
                    break;
                };
                let value = argument(id);
                let types = external.tensor_types();
                let found = match value {
                    Some(EValue::Tensor(tensor)) if !types.contains(&tensor.scalar_type) => {
                        format!("a tensor of {}", tensor.scalar_type)
                    }
                    Some(EValue::Tensor(tensor)) if !external.takes_sizes_of(tensor, is_dynamic) => {
                        let found = format!("a tensor of sizes {}", arguments::sizes_of(tensor));
                        report(Part::Arg(chain, step, id as usize), found, format!("sizes {:?}", external.dims));
                        continue;
                    }
                    Some(EValue::Tensor(_)) | None => continue,
                    Some(other) => format!("values[{arg}] of kind {}", other.kind()),
                };
                let names: Vec<String> = types.iter().map(ToString::to_string).collect();
                report(Part::Arg(chain, step, id as usize), found, format!("a tensor of {}", names.join(" or ")));
            }
        }
    }
}
