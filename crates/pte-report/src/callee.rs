//! Operators and backends that instructions call: their kinds, and the names of their arguments, each once per program.

use std::borrow::Cow;

use indexmap::IndexMap;
use serde::Serialize;

use crate::kind::OperationKind;
use pte_model::format::ScalarType;
use pte_model::program::{EValue, ExecutionPlan, Instruction, Operator};
use pte_operators::{Base, Role};

/// Operator, backend or kind of instruction.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Callee {
    /// Kind.
    pub kind: OperationKind,
    /// Arguments of the operator in the order of [`GraphNode::args`](crate::graph::GraphNode::args), which has the
    /// results again after them; empty for an operator that is not known, and for other instructions.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub args: Vec<CalleeArg>,
    /// Library with the kernel; `None` for kernels of the default runtime, and for other instructions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub library: Option<Cow<'static, str>>,
}

/// An argument of a [`Callee`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CalleeArg {
    /// Name in the schema of the operator.
    pub name: Cow<'static, str>,
    /// Type, such as `Tensor` or `int[]?`.
    #[serde(rename = "type")]
    pub kind: String,
    /// Effect of the call on it, if it is not only read.
    #[serde(skip_serializing_if = "is_read")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<Role>"))]
    pub role: Role,
}

fn is_read(role: &Role) -> bool {
    *role == Role::In
}

/// Callees of a program, each once, by name.
#[derive(Default)]
pub struct Callees(IndexMap<String, Callee>);

impl Callees {
    /// Returns the callee of each label of a method, in the order of its
    /// [`labels`](crate::graph::MethodGraph::labels): operators, delegates, then kinds of instructions.
    pub fn of(&mut self, plan: &ExecutionPlan) -> Vec<usize> {
        let mut found = Vec::new();
        for operator in plan.operators.iter().flatten() {
            found.push(self.operator(operator));
        }
        found.extend(plan.delegates().iter().map(|_| self.other("delegate call", OperationKind::Delegate)));
        let (other, delegate) = (OperationKind::Other, OperationKind::Delegate);
        let (copy, control) = (OperationKind::Copy, OperationKind::Control);
        // An unknown operator and delegate, move, jump, free, and an unknown instruction.
        for (name, kind) in [
            ("unknown operator", other),
            ("delegate call", delegate),
            ("move", copy),
            ("jump", control),
            ("free", control),
            ("unknown instruction", other),
        ] {
            found.push(self.other(name, kind));
        }
        found
    }

    fn operator(&mut self, operator: &Operator) -> usize {
        let name = operator.full_name().unwrap_or_default();
        let callee = || {
            let known = pte_operators::find(&name);
            let args = known.into_iter().flat_map(|operator| &operator.signature.args).map(|arg| CalleeArg {
                name: arg.name.clone(),
                kind: arg.kind.to_string(),
                role: arg.role,
            });
            Callee {
                kind: OperationKind::of(&name),
                args: args.collect(),
                library: known.and_then(|operator| operator.library).map(Cow::Borrowed),
            }
        };
        match pte_operators::find(&name) {
            Some(_) => self.take(&name, callee),
            // Of the others, only the kind is known.
            None => {
                let kind = OperationKind::of(&name);
                self.other(&format!("{kind:?}"), kind)
            }
        }
    }

    fn other(&mut self, name: &str, kind: OperationKind) -> usize {
        self.take(name, || Callee { kind, args: Vec::new(), library: None })
    }

    fn take(&mut self, name: &str, callee: impl FnOnce() -> Callee) -> usize {
        let entry = self.0.entry(name.to_owned());
        let index = entry.index();
        entry.or_insert_with(callee);
        index
    }

    /// Returns the callees in the order of their indices.
    pub fn into_list(self) -> Vec<Callee> {
        self.0.into_values().collect()
    }
}

/// Memory formats by the numbers of PyTorch.
const MEMORY_FORMATS: [&str; 4] = ["contiguous", "preserve", "channels_last", "channels_last_3d"];

/// Returns the names of the numbers in the arguments of a call that stand for element types and memory formats, by
/// position.
pub fn names_of_numbers(plan: &ExecutionPlan, instruction: &Instruction) -> Vec<(usize, String)> {
    let Instruction::KernelCall { op_index, .. } = instruction else { return Vec::new() };
    let operator = plan.operators.as_deref().and_then(|operators| op_index.item(operators));
    let known = operator.and_then(Operator::full_name).and_then(|name| pte_operators::find(&name));
    let Some(known) = known else { return Vec::new() };
    let name = |(position, (arg, value)): (usize, (&pte_operators::Arg, _))| {
        let Some(EValue::Int(number)) = plan.value(value) else { return None };
        let text = match arg.kind.base {
            Base::Dtype => i8::try_from(*number).ok().map(|number| ScalarType(number).to_string())?,
            Base::MemoryFormat => (*MEMORY_FORMATS.get(usize::try_from(*number).ok()?)?).to_owned(),
            Base::Tensor | Base::Scalar | Base::Int | Base::Float | Base::Bool | Base::Str => return None,
        };
        Some((position, text))
    };
    known.signature.args.iter().zip(instruction.args().iter().copied()).enumerate().filter_map(name).collect()
}
