//! Whether kernels get the arguments they take: as many, and of the kinds that their signatures say.
//!
//! Kinds are those that a value may have while the method runs, not only the one the file states, since results and moves
//! replace values. Says nothing about sizes and element types: those are each kernel's own business.

use std::collections::HashSet;

use super::finding::Findings;
use super::finding::Locate;
use super::kernels;
use super::semantics::method::{kinds_of, Known, Method, Step, full_name, list};
use crate::operators::kinds::Kinds;
use crate::operators::{Arg, ArgKind, Base};
use crate::program::element::Part;
use crate::program::{EValue, Instruction};

/// Checks the kernel calls of a method. `unknown` holds the names that were reported as unknown already.
pub(super) fn check(method: &Method<'_>, unknown: &mut HashSet<String>, findings: &mut Findings, place: &Locate<'_>) {
    report_unknown(method, unknown, findings, place);
    let jumps = method.steps.iter().any(|step| matches!(step.what, Instruction::JumpFalseCall { .. }));
    for (number, step) in method.steps.iter().enumerate() {
        if let Instruction::DelegateCall { args: Some(args), .. } = step.what
            && args.is_empty()
        {
            findings.add("O-9", || {
                let expected = "the delegate's inputs and outputs".into();
                (place(&method.field(number as u32, "args")), "a delegate call without arguments".into(), expected)
            });
        }
        let Some((known, args)) = method.call(step) else { continue };
        Call { method, known, number: number as u32, args, jumps }.check(findings, place);
    }
}

/// Unknown operators that are called, once for each name.
fn report_unknown(method: &Method<'_>, unknown: &mut HashSet<String>, findings: &mut Findings, place: &Locate<'_>) {
    let mut seen = vec![false; method.operators.len()];
    for Step { what, .. } in &method.steps {
        let Instruction::KernelCall { op_index, .. } = what else { continue };
        let Some(index) = usize::try_from(*op_index).ok().filter(|index| *index < seen.len()) else { continue };
        if method.operators[index].is_some() || std::mem::replace(&mut seen[index], true) {
            continue;
        }
        let operator = method.plan.operators.as_ref().and_then(|operators| operators.get(index));
        let Some(name) = operator.and_then(full_name) else { continue };
        if unknown.insert(name.clone()) {
            findings.add("O-5", || {
                let expected = "an operator that the runtime registers, or one that --ops describes".into();
                (place(&method.element(Part::Operator(index))), format!("the unknown operator {name}"), expected)
            });
        }
    }
}

struct Call<'m, 'p> {
    method: &'m Method<'p>,
    known: &'m Known,
    number: u32,
    args: &'p [i32],
    jumps: bool,
}

impl Call<'_, '_> {
    fn check(&self, findings: &mut Findings, place: &Locate<'_>) {
        let signature = &self.known.signature;
        let has_outs = !self.known.outs.is_empty();
        let expected = signature.args.len() + usize::from(has_outs || signature.result.is_some());
        if self.args.len() != expected {
            findings.add("O-1", || {
                let what = format!("{} arguments for {}", self.args.len(), self.known.name);
                (place(&self.method.at(self.number)), what, format!("{expected}: {}", self.listed()))
            });
            return;
        }
        let mut kinds_fit = true;
        let narrower = self.known.narrower;
        for (position, arg) in signature.args.iter().enumerate() {
            let Some(value) = self.method.value(self.args[position]) else { continue };
            let accepted = match narrower {
                Some(kinds) => kinds[position.min(kinds.len() - 1)],
                None => accepted(arg.kind),
            };
            if self.method.kinds[value].meets(accepted) {
                self.check_items(position, arg, value, findings, place);
                continue;
            }
            kinds_fit = false;
            findings.add("O-2", || {
                let wanted = if narrower.is_some() { names(accepted) } else { arg.kind.to_string() };
                (place(&self.method.arg(self.number, position)), self.found(value), self.expected(position, &wanted))
            });
        }
        self.check_result(has_outs, findings, place);
        let Call { method, known, number, args, jumps } = *self;
        if !kinds_fit {
            return;
        }
        let (name, kernel) = (&*known.name, &known.kernel);
        kernels::check(&kernels::Call { method, name, kernel, number, args, jumps }, findings, place);
    }

    /// The items of a list of ints are values of their own.
    fn check_items(&self, position: usize, arg: &Arg, value: usize, findings: &mut Findings, place: &Locate<'_>) {
        let EValue::IntList(Some(items)) = &self.method.values()[value] else { return };
        if self.method.tangled || !arg.kind.list {
            return;
        }
        let wrong = items.iter().enumerate().find_map(|(number, item)| {
            let item = self.method.value(i32::try_from(*item).ok()?)?;
            (!self.method.kinds[item].meets(Kinds::INT)).then_some((number, item))
        });
        if let Some((number, item)) = wrong {
            findings.add("O-3", || {
                let found = format!("a list whose item {number} is {}", self.found(item));
                let expected = self.expected(position, "list of Int values");
                (place(&self.method.arg(self.number, position)), found, expected)
            });
        }
    }

    /// What stands behind the arguments: the outs again, or room for the result.
    fn check_result(&self, has_outs: bool, findings: &mut Findings, place: &Locate<'_>) {
        let signature = &self.known.signature;
        let position = signature.args.len();
        let Some(value) = self.args.get(position).and_then(|value| self.method.value(*value)) else { return };
        let report = |findings: &mut Findings, rule, expected: &str| {
            findings.add(rule, || {
                let expected = format!("{expected} as the result (argument {position}) of {}", self.known.name);
                (place(&self.method.arg(self.number, position)), self.found(value), expected)
            });
        };
        if has_outs {
            if !self.repeats_outs(value) {
                report(
                    findings,
                    "O-4",
                    if self.known.outs.len() == 1 { "the out again" } else { "a list of the outs again" },
                );
            }
            return;
        }
        let stated = kinds_of(&self.method.values()[value]);
        match signature.result {
            // A view has to have a tensor to make one of; other results replace whatever is there.
            Some(Base::Tensor) if self.known.is_view && !stated.meets(Kinds::TENSOR) => {
                report(findings, "O-2", "a Tensor");
            }
            Some(Base::Tensor) if !stated.meets(Kinds::TENSOR) => report(findings, "O-6", "a Tensor"),
            Some(Base::Tensor) | None => {}
            Some(Base::Bool) if !stated.meets(Kinds::BOOL.or(Kinds::NULL)) => report(findings, "O-6", "a Bool"),
            Some(Base::Int) if !stated.meets(Kinds::INT.or(Kinds::NULL)) => report(findings, "O-6", "an Int"),
            Some(_) if !stated.meets(Kinds::SCALAR.or(Kinds::NULL)) => report(findings, "O-6", "a number or a Bool"),
            Some(_) => {}
        }
    }

    /// Whether a value is the one out, or a list of the outs.
    fn repeats_outs(&self, value: usize) -> bool {
        let values = self.method.values();
        if let [out] = *self.known.outs {
            let out = self.method.value(self.args[out]);
            if out == Some(value) {
                return true;
            }
            // The out is a list: then there are two lists of the same tensors.
            return match (out.and_then(|out| list(&values[out])), list(&values[value])) {
                (Some(out), Some(again)) if self.method.tangled => out.len() == again.len(),
                (Some(out), Some(again)) => out.iter().eq(again.iter()),
                _ => false,
            };
        }
        list(&values[value]).is_some_and(|again| again.iter().eq(self.known.outs.iter().map(|out| self.args[*out])))
    }

    fn found(&self, value: usize) -> String {
        let value_kind = self.method.values()[value].kind();
        format!("the {value_kind} values[{value}]")
    }

    fn expected(&self, position: usize, kind: &str) -> String {
        let name = &self.known.signature.args[position].name;
        format!("{kind} for the argument `{name}` ({position}) of {}", self.known.name)
    }

    fn listed(&self) -> String {
        let signature = &self.known.signature;
        let mut names: Vec<&str> = signature.args.iter().map(|arg| &*arg.name).collect();
        if !self.known.outs.is_empty() {
            names.push("and the outs again");
        } else if signature.result.is_some() {
            names.push("and the result");
        }
        names.join(", ")
    }
}

/// What the runtime takes for an argument; whatever else aborts it.
fn accepted(kind: ArgKind) -> Kinds {
    let single = match (kind.list, kind.base) {
        (false, Base::Tensor) => Kinds::TENSOR,
        (false, Base::Scalar) => Kinds::SCALAR,
        (false, Base::Int | Base::Dtype | Base::MemoryFormat) => Kinds::INT,
        (false, Base::Float) => Kinds::DOUBLE,
        (false, Base::Bool) => Kinds::BOOL,
        (false, Base::Str) => Kinds::STRING,
        (true, Base::Tensor) if kind.optional_items => Kinds::OPTIONAL_TENSOR_LIST,
        (true, Base::Tensor) => Kinds::TENSOR_LIST,
        (true, Base::Int) => Kinds::INT_LIST,
        (true, Base::Float) => Kinds::DOUBLE_LIST,
        (true, Base::Bool) => Kinds::BOOL_LIST,
        // No kernel takes other lists.
        (true, _) => Kinds::ANY,
    };
    if kind.optional { single.or(Kinds::NULL) } else { single }
}

/// The kinds of a set, as the schema calls them.
fn names(kinds: Kinds) -> String {
    let types = crate::format::program::KERNEL_TYPES.iter().zip(1..);
    let names: Vec<&str> = types.filter(|(_, tag)| kinds.0 >> *tag & 1 == 1).map(|(kind, _)| kind.name).collect();
    names.join(" or ")
}
