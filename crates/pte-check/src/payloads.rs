//! Checks the payloads of delegates whose backend does not verify them, as far as their formats do (`D-11` to `D-21`).
//!
//! Constants may be in the payload, or named data of the program or of a `.ptd`. What the backend rejects itself is not
//! reported.

use std::collections::HashMap;

use super::fields::flat_tensor::ExternalKeys;
use super::finding::{Findings, Location, Locator};
use crate::RuleId::{self, *};
use pte_model::data::{Blob, BlobId};
use pte_model::diagnostics::{clipped, counted};
use pte_model::program::element::{Element, Part};
use pte_model::program::{
    DelegateId, EValue, ExecutionPlan, Instruction, Memory, Program, Tensor, TensorData, ValueId,
};
use pte_payload::Payload;
use pte_payload::arguments::{self, ArgumentMismatch};
use pte_payload::decoded::{
    CheckedArguments, CheckedPayload, KeyedData, PayloadFinding, PayloadPart, PayloadRule, ReadBudget, UnpackedConstant,
};
use pte_payload::signature::{CountRule, Signature, SizesRule};
use pte_xnnpack::payloads::Payloads;

/// Returns the id of a rule for payloads.
fn rule_id(rule: PayloadRule) -> RuleId {
    match rule {
        PayloadRule::Payload => D_11,
        PayloadRule::Graph => D_12,
        PayloadRule::Constants => D_13,
        PayloadRule::Quantization => D_15,
        PayloadRule::Types => D_16,
        PayloadRule::Sizes => D_17,
        PayloadRule::Bounds => D_19,
        PayloadRule::Lists => D_20,
        PayloadRule::BiasScale => D_23,
        PayloadRule::References => D_26,
    }
}

/// Checks the payloads of all delegates of a file of `len` bytes. `external` are the keys of the `.ptd` files loaded
/// with the program.
pub(super) fn check(
    program: &Program,
    payloads: &Payloads,
    len: u64,
    external: &ExternalKeys,
    findings: &mut Findings,
    locate: &Locator<'_>,
) {
    let named = program.named_data.iter().flatten();
    let named: HashMap<&str, &Blob> = named.map(|entry| (entry.key.as_str(), program.blob(entry.data))).collect();
    let named_data = |key: &str| match named.get(key) {
        Some(data) => Some(KeyedData { size: data.len, data: Some(*data) }),
        None => {
            let entry = external.entries.get(key.as_bytes())?;
            Some(KeyedData { size: entry.size, data: entry.data.as_ref() })
        }
    };
    let mut budget = ReadBudget::new(len);
    // A payload is checked where it is first used. `None` if it overlaps others.
    let mut checked: HashMap<BlobId, Option<CheckedPayload>> = HashMap::new();
    // Those of payloads that are only described, by backend.
    let mut signatures: HashMap<(BlobId, Option<&str>), Option<Signature>> = HashMap::new();
    for (method, plan) in program.plans().iter().enumerate() {
        let calls = delegate_calls(plan);
        for (index, delegate) in plan.delegates().iter().enumerate() {
            let Some(payload) = payloads.get(delegate) else { continue };
            if !payload.is_decoded() {
                let at = |part: PayloadPart| locate(&Element::Method(method, part.of_delegate(index)));
                let signature = signatures
                    .entry((delegate.processed, delegate.id.as_deref()))
                    .or_insert_with(|| check_described(payload, &named_data, findings, &at));
                for call in calls.get(&DelegateId::of(index)).into_iter().flatten() {
                    if let Some(signature) = signature {
                        check_signature((method, plan), *call, signature, findings, locate);
                    }
                }
                continue;
            }
            let at = |part: PayloadPart| locate(&Element::Method(method, part.of_delegate(index)));
            let checked = checked.entry(delegate.processed).or_insert_with(|| {
                let mut checked = payload.decoded().map(|decoded| decoded.check(&named_data, &mut budget));
                match &mut checked {
                    Some(checked) => {
                        for PayloadFinding { rule, part, found, expected } in std::mem::take(&mut checked.findings) {
                            findings.add(rule_id(rule), || (at(part), found, expected));
                        }
                    }
                    None => {
                        let found = "payloads larger than the file in total".to_owned();
                        findings.add(D_11, || (at(PayloadPart::Whole), found, "disjoint payloads".to_owned()));
                    }
                }
                checked
            });
            let Some(CheckedPayload { arguments: Some(arguments), unpacked, .. }) = checked else { continue };
            // The bytes of a payload inside the program live as long as the program.
            if delegate.inline != Some(true) {
                for UnpackedConstant { value, operation } in std::mem::take(unpacked) {
                    let found = format!("a constant in the payload, which `{operation}` reads when it runs");
                    let expected = "a constant in named data, by its key".to_owned();
                    findings.add(D_18, || (at(PayloadPart::Value(value)), found, expected));
                }
            }
            for call in calls.get(&DelegateId::of(index)).into_iter().flatten() {
                check_call((method, plan), *call, arguments, findings, locate);
            }
        }
    }
}

/// Checks a payload that is described only: the data and the parts of its graph that it refers to. Returns its
/// signature.
fn check_described<'d>(
    payload: &Payload,
    named_data: &dyn Fn(&str) -> Option<KeyedData<'d>>,
    findings: &mut Findings,
    at: &dyn Fn(PayloadPart) -> Location,
) -> Option<Signature> {
    for key in payload.keys().into_iter().flatten().filter(|key| named_data(key).is_none()) {
        let found = format!("data `{}`, neither in the program nor in a given .ptd", clipped(&key));
        findings.add(D_25, || (at(PayloadPart::Whole), found, "the data that the payload refers to".to_owned()));
    }
    let whole = |found: String, expected: &str| (at(PayloadPart::Whole), found, expected.to_owned());
    if let Some(found) = payload.graph_error() {
        findings.add(D_26, || whole(found, "a graph whose references are compared"));
    }
    let Some(graph) = payload.graph() else { return payload.signature() };
    for PayloadFinding { rule, part, found, expected } in &graph.problems {
        findings.add(rule_id(*rule), || (at(*part), found.clone(), expected.clone()));
    }
    for _ in 0..graph.more_problems {
        findings.add(D_26, || whole("another reference".to_owned(), "a value of the graph"));
    }
    payload.signature()
}

/// By delegate, its calls in a method: chain, index in the chain, arguments.
type DelegateCalls<'p> = HashMap<DelegateId, Vec<(usize, usize, &'p [ValueId])>>;

fn delegate_calls(plan: &ExecutionPlan) -> DelegateCalls<'_> {
    let mut calls = DelegateCalls::new();
    for (chain, step, instruction) in plan.instructions_by_chain() {
        if let Instruction::DelegateCall { delegate_index, args } = instruction {
            calls.entry(*delegate_index).or_default().push((chain, step, args.as_deref().unwrap_or_default()));
        }
    }
    calls
}

/// Checks that a call has the arguments that the payload states: their number, kinds, element types and sizes, as far
/// as the runtime of the backend compares them.
fn check_signature(
    (method, plan): (usize, &ExecutionPlan),
    (chain, step, args): (usize, usize, &[ValueId]),
    signature: &Signature,
    findings: &mut Findings,
    locate: &Locator<'_>,
) {
    let mut report = |part: Part, found: String, expected: String| {
        findings.add(D_24, || (locate(&Element::Method(method, part)), found, expected));
    };
    let value = |arg: &ValueId| arg.get().and_then(|value| plan.values().get(value));
    let is_list = |arg: &ValueId| matches!(value(arg), Some(EValue::TensorList(_) | EValue::OptionalTensorList(_)));
    // A payload may state the tensors of a list one by one.
    if args.iter().any(is_list) {
        return;
    }
    if signature.rejects_count(args.len()) {
        let (inputs, outputs) = (signature.inputs.len() as u64, signature.outputs.len() as u64);
        let expected = format!("{} and {}, as the payload has", counted(inputs, "input"), counted(outputs, "output"));
        return report(Part::Instruction(chain, step), counted(args.len() as u64, "argument"), expected);
    }
    // Where nothing is compared, names of arguments may have another order than the call.
    if signature.count == CountRule::Unchecked && signature.sizes == SizesRule::Unknown {
        return;
    }
    let outputs = if signature.is_complete { &signature.outputs[..] } else { &[] };
    let stated = signature.inputs.iter().chain(outputs);
    for (number, (expected, arg)) in stated.zip(args).enumerate() {
        let value = value(arg);
        let is_input = number < signature.inputs.len();
        let part = Part::Arg(chain, step, number);
        let types = || expected.scalar_types.iter().map(ToString::to_string).collect::<Vec<_>>().join(" or ");
        match value {
            _ if expected.scalar_types.is_empty() => {}
            Some(EValue::Tensor(tensor)) if !expected.scalar_types.contains(&tensor.scalar_type) => {
                report(part, format!("a tensor of {}", tensor.scalar_type), format!("a tensor of {}", types()));
            }
            Some(EValue::Tensor(tensor)) => {
                let sizes = tensor.sizes.as_deref().unwrap_or_default();
                if let Some(sizes_expected) = expected.sizes.as_deref().filter(|_| is_input)
                    && !signature.sizes.accepts(sizes, sizes_expected)
                {
                    report(part, format!("a tensor of sizes {sizes:?}"), format!("sizes {sizes_expected:?}"));
                }
            }
            Some(other) => {
                report(part, format!("values[{arg}] of kind {}", other.kind()), format!("a tensor of {}", types()));
            }
            None => {}
        }
    }
}

/// Checks that argument `n` of a call is a tensor with the type of the graph's external value `n`, which the backend
/// does not check.
fn check_call(
    (method, plan): (usize, &ExecutionPlan),
    (chain, step, args): (usize, usize, &[ValueId]),
    graph: &CheckedArguments,
    findings: &mut Findings,
    locate: &Locator<'_>,
) {
    let argument = |id: u32| {
        let value = args.get(id as usize).and_then(|arg| arg.get());
        value.and_then(|value| plan.values().get(value))
    };
    // If there are fewer arguments, this is skipped: all values would be visited for each call.
    let is_dynamic = graph.list.len() <= args.len()
        && arguments::has_dynamic_input(&graph.list, |number| argument(number)?.as_tensor());
    if args.len() as u64 > graph.count {
        let found = counted(args.len() as u64, "argument");
        let expected = format!("{}, as the graph has", graph.count);
        let at = Element::Method(method, Part::Instruction(chain, step));
        findings.add(D_21, || (locate(&at), found, expected));
    }
    for external in &graph.list {
        let id = external.number;
        let report = |findings: &mut Findings, part: Part, found: String, expected: String| {
            findings.add(D_14, || (locate(&Element::Method(method, part)), found, expected));
        };
        let Some(arg) = args.get(id as usize) else {
            let expected = format!("at least {}, for external value {id} of the graph", u64::from(id) + 1);
            report(findings, Part::Instruction(chain, step), counted(args.len() as u64, "argument"), expected);
            break;
        };
        if let Some(EValue::Tensor(Tensor { data: TensorData::Blob(_), memory: Memory::None, .. })) = argument(id)
            && !external.is_input
        {
            findings.add(X_7, || {
                let found = format!("a delegate writes to the constant values[{arg}]");
                let at = Element::Method(method, Part::Arg(chain, step, id as usize));
                (locate(&at), found, "a tensor in planned memory".to_owned())
            });
            continue;
        }
        let names = || external.tensor_types.iter().map(ToString::to_string).collect::<Vec<_>>().join(" or ");
        let (found, expected) = match argument(id) {
            Some(EValue::Tensor(tensor)) => match external.mismatch(tensor, is_dynamic) {
                Some(ArgumentMismatch::Type) => {
                    (format!("a tensor of {}", tensor.scalar_type), format!("a tensor of {}", names()))
                }
                Some(ArgumentMismatch::Sizes) => {
                    let found = format!("a tensor of sizes {}", arguments::sizes_of(tensor));
                    (found, format!("sizes {:?}", external.dims))
                }
                None => continue,
            },
            Some(other) => (format!("values[{arg}] of kind {}", other.kind()), format!("a tensor of {}", names())),
            None => continue,
        };
        report(findings, Part::Arg(chain, step, id as usize), found, expected);
    }
}
