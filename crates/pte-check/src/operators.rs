//! Checks number and kinds of the arguments of kernel calls against the signatures of the operators (`O-`).
//!
//! Results and moves replace values at run time, so a value has all the kinds that it may have while the method runs.
//! [`super::kernels`] and [`super::inference`] check sizes and element types.

use std::collections::BTreeSet;

use super::contents::Assumption;
use super::finding::{Findings, Locator};
use super::inference::CallInference;
use super::kernels::{self, KernelCall};
use super::semantics::method::MethodAnalysis;
use super::semantics::values::Values;

use crate::RuleId::*;
use pte_analysis::blocks::InstructionRef;
use pte_model::diagnostics::counted;
use pte_model::program::element::Part;
use pte_model::program::{EValue, Instruction, Operator, ValueId};
use pte_operators::kinds::Kinds;
use pte_operators::{Arg, Base};

/// Checks the calls of a method, also with the possible Ints of values that instructions write.
pub(super) fn check(method: &MethodAnalysis<'_>, values: &Values, findings: &mut Findings, locate: &Locator<'_>) {
    let jumps = method.steps.iter().any(|step| matches!(step.instruction, Instruction::JumpFalseCall { .. }));
    let mut inference = CallInference::new(method, jumps);
    for (number, step) in method.steps.iter().enumerate() {
        if let Instruction::DelegateCall { args: Some(args), .. } = step.instruction
            && args.is_empty()
        {
            findings.add(O_9, || {
                let expected = "the delegate's inputs and outputs".into();
                (locate(&method.field(number as u32, "args")), "a delegate call without arguments".into(), expected)
            });
        }
        let Some((known, args)) = method.call(step) else {
            inference.forget(step.instruction.args());
            continue;
        };
        let step = number as u32;
        // With sizes that are known, those in the file do not matter.
        let sized = values.sized(step);
        let (assumed, tensors) = (Assumption::new(), sized.map(|sized| values.resized(method, sized)));
        let resized = tensors.as_deref().unwrap_or_default();
        let call = KernelCall { method, known, step, args, jumps, assumed: sized.unwrap_or(&assumed), resized, values };
        let errors = findings.errors();
        call.check(findings, locate);
        // A defect is reported once, by the most specific rule.
        if findings.errors() == errors {
            match sized {
                Some(_) => inference.forget(args),
                None => inference.check(&call, findings, locate),
            }
        }
        for (number, assumed) in values.assumptions.get(&call.step).into_iter().flatten().enumerate() {
            if findings.errors() == errors {
                let resized = values.resized(method, assumed);
                let call = KernelCall { assumed, resized: &resized, ..call };
                // The first one with sizes is checked already.
                if number > 0 || sized.is_none() {
                    kernels::check(&call, findings, locate);
                }
                inference.check_assumed(&call, findings, locate);
            }
        }
        for ((_, value), open) in values.open.range((call.step, 0)..=(call.step, usize::MAX)) {
            call.report_open(*value, &open.reason(method), findings, locate);
        }
    }
    inference.finish(findings, locate);
}

/// Reports called operators that the default runtime does not register, once for each name: those of a library, and
/// unknown ones. `unknown` contains the names that were already reported.
pub(super) fn report_unregistered(
    method: &MethodAnalysis<'_>,
    unknown: &mut BTreeSet<String>,
    findings: &mut Findings,
    locate: &Locator<'_>,
) {
    let mut seen = vec![false; method.plan.operators.as_ref().map_or(0, Vec::len)];
    for InstructionRef { instruction, .. } in &method.steps {
        let Instruction::KernelCall { op_index, .. } = instruction else { continue };
        let Some(index) = op_index.within(seen.len()) else { continue };
        let known = method.operators.get(*op_index);
        let library = known.and_then(|known| known.library);
        if (known.is_some() && library.is_none()) || std::mem::replace(&mut seen[index], true) {
            continue;
        }
        let operator = method.plan.operators.as_ref().and_then(|operators| operators.get(index));
        let Some(name) = operator.and_then(Operator::full_name) else { continue };
        if unknown.insert(name.clone()) {
            findings.add(O_5, || {
                let at = locate(&method.element(Part::Operator(index)));
                match library {
                    Some(library) => {
                        let found = format!("operator `{name}` of the library `{library}`");
                        (at, found, format!("a build that links `{library}`"))
                    }
                    None => {
                        let expected = "an operator of the runtime, or a custom one that `--ops FILE` declares".into();
                        (at, format!("unknown operator `{name}`"), expected)
                    }
                }
            });
        }
    }
}

impl KernelCall<'_, '_> {
    fn check(&self, findings: &mut Findings, locate: &Locator<'_>) {
        let signature = &self.known.signature;
        let has_outs = !self.known.outs.is_empty();
        let expected = self.known.arguments();
        if self.args.len() != expected {
            findings.add(O_1, || {
                let found = format!("{} for {}", counted(self.args.len() as u64, "argument"), self.known.name);
                (locate(&self.method.at(self.step)), found, format!("{expected}: {}", self.parameters()))
            });
            return;
        }
        let mut kinds_fit = true;
        for (position, arg) in signature.args.iter().enumerate() {
            let Some(value) = self.method.value(self.args[position]) else { continue };
            let accepted = self.known.accepted(position);
            if self.method.kinds[value].meets(accepted) {
                self.check_items(position, arg, value, findings, locate);
                continue;
            }
            kinds_fit = false;
            findings.add(O_2, || {
                let is_narrower = self.known.facts.narrower.is_some();
                let expected = if is_narrower { accepted.names() } else { arg.kind.to_string() };
                (locate(&self.method.arg(self.step, position)), self.found(value), self.expected(position, &expected))
            });
        }
        self.check_result(has_outs, findings, locate);
        if kinds_fit {
            kernels::check(self, findings, locate);
        }
    }

    /// Checks the kinds of the items of an IntList, which are indices of values.
    fn check_items(&self, position: usize, arg: &Arg, value: usize, findings: &mut Findings, locate: &Locator<'_>) {
        let EValue::IntList(Some(items)) = &self.method.values()[value] else { return };
        if self.method.accesses().is_truncated || !arg.kind.list {
            return;
        }
        let wrong = items.iter().enumerate().find_map(|(index, item)| {
            let item = self.method.value(ValueId::of_int(*item))?;
            (!self.method.kinds[item].meets(Kinds::INT)).then_some((index, item))
        });
        if let Some((index, item)) = wrong {
            findings.add(O_3, || {
                let found = format!("a list whose item {index} is {}", self.found(item));
                let expected = self.expected(position, "a list of Int values");
                (locate(&self.method.arg(self.step, position)), found, expected)
            });
        }
    }

    /// Checks the last argument, which repeats the outs, or is the value that the result replaces.
    fn check_result(&self, has_outs: bool, findings: &mut Findings, locate: &Locator<'_>) {
        let signature = &self.known.signature;
        let position = signature.args.len();
        let Some(value) = self.args.get(position).and_then(|value| self.method.value(*value)) else { return };
        let report = |findings: &mut Findings, rule, expected: &str| {
            findings.add(rule, || {
                let expected = format!("{expected} as result (argument {position}) of {}", self.known.name);
                (locate(&self.method.arg(self.step, position)), self.found(value), expected)
            });
        };
        if has_outs {
            if !self.repeats_outs(value) {
                report(findings, O_4, if self.known.outs.len() == 1 { "the out" } else { "a list of the outs" });
            }
            return;
        }
        let stated = self.method.stated[value];
        match signature.result {
            // The kernel of a view reads the tensor there; other results replace the value without reading it.
            Some(Base::Tensor) if self.known.is_view() && !stated.meets(Kinds::TENSOR) => {
                report(findings, O_2, "a Tensor");
            }
            Some(Base::Tensor) if !stated.meets(Kinds::TENSOR) => report(findings, O_6, "a Tensor"),
            Some(Base::Tensor) | None => {}
            // A symbolic bool of the exporter is an Int in the file. X-23 covers the instructions that read the value
            // later.
            Some(_) if !stated.meets(Kinds::SCALAR.or(Kinds::NULL)) => report(findings, O_6, "a number or a Bool"),
            Some(_) => {}
        }
    }

    /// Returns `true` if a value is the only out, or a list of the outs.
    fn repeats_outs(&self, value: usize) -> bool {
        let values = self.method.values();
        if let [out] = *self.known.outs {
            let out = self.method.value(self.args[out]);
            if out == Some(value) {
                return true;
            }
            // The out is a list, and the value another list of the same tensors.
            return match (out.and_then(|out| values[out].list_items()), values[value].list_items()) {
                (Some(out), Some(again)) if self.method.accesses().is_truncated => out.len() == again.len(),
                (Some(out), Some(again)) => out.iter().eq(again.iter()),
                (None, _) | (_, None) => false,
            };
        }
        let outs = || self.known.outs.iter().map(|out| i64::from(self.args[*out]));
        values[value].list_items().is_some_and(|again| again.iter().eq(outs()))
    }

    fn found(&self, value: usize) -> String {
        format!("values[{value}] of kind {}", self.method.values()[value].kind())
    }

    fn expected(&self, position: usize, kind: &str) -> String {
        let name = &self.known.signature.args[position].name;
        format!("{kind} for argument `{name}` ({position}) of {}", self.known.name)
    }

    fn parameters(&self) -> String {
        let signature = &self.known.signature;
        let mut names: Vec<&str> = signature.args.iter().map(|arg| &*arg.name).collect();
        if !self.known.outs.is_empty() || signature.result.is_some() {
            names.push("result");
        }
        names.join(", ")
    }
}
