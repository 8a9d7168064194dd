//! Whether a program's text needs no hints, seen without assembling it: for programs of which the answer is plain (kernel
//! calls of known operators on planned tensors), where assembling would take ten times as long as printing.
//!
//! `false` means that it is not plain, not that hints are needed. What is claimed here is what `crate::ir::resolve` does
//! with the text that `super::method` prints; the tests hold the claim against it for every file they print.

use std::collections::HashSet;

use super::method::MethodPrinter;
use crate::layout::memory;
use crate::program::{
    EValue, ExecutionPlan, Instruction, Memory, MemoryRequest, Program, Tensor, TensorData, is_dim_order,
};
use crate::schema::operators::{ArgKind, Base, Role};

/// What a method's text without hints says of each value's memory; `None` if it is not plain that it gives the numbers.
pub fn numbers_are_plain(printer: &MethodPrinter<'_>) -> Option<Vec<Memory>> {
    Walk { printer, plan: printer.plan(), next: 0 }.run()
}

/// Whether the planner gives every tensor of each method the place that it has, by what the text says of its memory.
pub fn places_are_planned(program: &Program, wishes: &[Vec<Memory>]) -> bool {
    program.plans().iter().zip(wishes).enumerate().all(|(method, (plan, wishes))| {
        let planned = memory::plan_as(method, plan, wishes, &MemoryRequest::default());
        planned.is_ok_and(|planned| planned.is_stated_by(plan))
    })
}

/// A walk through a method in the order in which the text's values are numbered.
struct Walk<'w, 'p> {
    printer: &'w MethodPrinter<'p>,
    plan: &'p ExecutionPlan,
    /// The number that the next value gets.
    next: i32,
}

impl<'p> Walk<'_, 'p> {
    /// What the text says of each value's memory; `None` if the numbers are not plain.
    fn run(mut self) -> Option<Vec<Memory>> {
        let wishes = self.declared()?;
        let chain = match self.plan.chains.as_deref()? {
            [chain] => chain,
            _ => return None,
        };
        let empty = |list: &Option<Vec<i32>>| list.as_ref().is_some_and(Vec::is_empty);
        if !empty(&chain.inputs) || !empty(&chain.outputs) || chain.stacktrace.is_some() {
            return None;
        }
        let mut operators = Operators::new(self.plan)?;
        for instruction in chain.instructions.as_deref()? {
            let Instruction::KernelCall { op_index, args } = instruction else { return None };
            operators.meet(*op_index)?;
            self.call(*op_index, args.as_deref()?)?;
        }
        let interface = self.plan.inputs.as_deref()?.iter().chain(self.plan.outputs.as_deref()?);
        let named = interface.copied().all(|index| self.printer.name(index).is_some());
        let complete = named && operators.all_met() && self.next as usize == self.plan.values().len();
        complete.then_some(wishes)
    }

    /// The values that no instruction makes come first, in their order.
    fn declared(&mut self) -> Option<Vec<Memory>> {
        let mut inputs = HashSet::new();
        if !self.plan.inputs.as_deref()?.iter().all(|input| inputs.insert(*input)) {
            return None;
        }
        let mut wishes = Vec::with_capacity(self.plan.values().len());
        for (index, value) in self.plan.values().iter().enumerate() {
            let index = i32::try_from(index).ok()?;
            let (declared, produced) = (self.printer.name(index).is_some(), self.printer.is_produced(index));
            let wish = match value {
                EValue::Tensor(tensor) => self.tensor(tensor, produced, inputs.contains(&index))?,
                EValue::Int(_) | EValue::Bool(_) | EValue::Null => Memory::None,
                EValue::Double(x) if !x.is_nan() => Memory::None,
                // A list without a kind of its own, a text that may be a name: not plain.
                _ if declared => return None,
                _ => Memory::None,
            };
            wishes.push(wish);
            if declared && !produced {
                self.number(index)?;
            }
        }
        Some(wishes)
    }

    /// What the text says of a tensor's memory.
    fn tensor(&self, tensor: &Tensor, produced: bool, input: bool) -> Option<Memory> {
        let has_data = match tensor.data {
            TensorData::None => false,
            TensorData::Blob(_) => true,
            TensorData::Elsewhere(_) => return None,
        };
        let (sizes, order) = (tensor.sizes.as_deref()?, tensor.dim_order.as_deref()?);
        let plain = sizes.len() <= 16
            && is_dim_order(order.iter().copied(), sizes.len())
            && tensor.nbytes().is_some()
            && tensor.shape_dynamism != 2
            && tensor.extra_tensor_info.as_ref().is_none_or(|extra| {
                let device = (0..=1).contains(&extra.device_type) && extra.device_index >= 0;
                extra.mutable_data_segments_idx == 0 && (0..=1).contains(&extra.location) && device
            });
        // What an instruction makes has no content before; what it reads must have some.
        let has_content = produced || input || has_data || tensor.memory != Memory::None;
        if !plain || !has_content || (produced && has_data) {
            return None;
        }
        match tensor.memory {
            Memory::At { pool, .. } => {
                let persistent = has_data || !(input || produced);
                Some(Memory::Auto { pool: (pool != 1).then_some(pool), persistent })
            }
            memory => Some(memory),
        }
    }

    fn number(&mut self, index: i32) -> Option<()> {
        let as_expected = index == self.next;
        self.next += 1;
        as_expected.then_some(())
    }

    /// An out is numbered before the arguments, a result behind them, and the list of several outs last.
    fn call(&mut self, op_index: i32, args: &[i32]) -> Option<()> {
        let signature = self.printer.signature(op_index)?;
        let call = self.printer.call(op_index, args);
        let in_place = signature.args.iter().any(|arg| arg.role == Role::InPlace);
        if call.outs.is_empty() || in_place {
            return None;
        }
        let out_first = signature.outs().next().is_some();
        if out_first {
            call.outs.iter().try_for_each(|out| self.out(*out, true))?;
        }
        for (arg, given) in signature.ins().zip(call.ins) {
            self.argument(*given, arg.kind)?;
        }
        if !out_first {
            call.outs.iter().try_for_each(|out| self.out(*out, false))?;
        }
        call.list.map_or(Some(()), |list| self.number(list))
    }

    fn out(&mut self, index: i32, tensor: bool) -> Option<()> {
        let is_tensor = matches!(self.value(index)?, EValue::Tensor(_));
        if !self.printer.is_produced(index) || is_tensor != tensor {
            return None;
        }
        if index < self.next { Some(()) } else { self.number(index) }
    }

    fn value(&self, index: i32) -> Option<&'p EValue> {
        self.plan.values().get(usize::try_from(index).ok()?)
    }

    /// An argument that is read: a value that has a number already, or a literal that the text's reader takes for the
    /// same value.
    fn argument(&mut self, index: i32, kind: ArgKind) -> Option<()> {
        let value = self.value(index)?;
        let one = |bases: &[Base]| !kind.list && bases.contains(&kind.base);
        let list = |base: Base| kind.list && kind.base == base;
        if self.printer.name(index).is_some() {
            let fits = match value {
                EValue::Tensor(_) => one(&[Base::Tensor]),
                EValue::Int(_) => one(&[Base::Int, Base::Scalar]),
                _ => false,
            };
            return (fits && index < self.next).then_some(());
        }
        let fits = match value {
            EValue::Null => kind.optional,
            EValue::Int(_) => one(&[Base::Int, Base::Scalar, Base::Dtype, Base::MemoryFormat]),
            EValue::Bool(_) => one(&[Base::Bool, Base::Scalar]),
            EValue::Double(_) => one(&[Base::Float, Base::Scalar]),
            EValue::DoubleList(Some(items)) => list(Base::Float) && !items.iter().any(|x| x.is_nan()),
            EValue::BoolList(Some(_)) => list(Base::Bool),
            EValue::IntList(Some(items)) if list(Base::Int) => {
                for item in items {
                    let item = i32::try_from(*item).ok()?;
                    match (self.value(item)?, self.printer.name(item)) {
                        (EValue::Int(_), Some(_)) if item < self.next => {}
                        (EValue::Int(_), None) => self.number(item)?,
                        _ => return None,
                    }
                }
                true
            }
            EValue::TensorList(Some(items)) => list(Base::Tensor) && !kind.optional_items && self.are_tensors(items),
            EValue::OptionalTensorList(Some(items)) => {
                let some: Vec<i32> = items.iter().copied().filter(|item| *item != -1).collect();
                list(Base::Tensor) && kind.optional_items && self.are_tensors(&some)
            }
            _ => false,
        };
        if fits { self.number(index) } else { None }
    }

    fn are_tensors(&self, items: &[i32]) -> bool {
        items.iter().all(|item| {
            *item < self.next
                && self.printer.name(*item).is_some()
                && matches!(self.value(*item), Some(EValue::Tensor(_)))
        })
    }
}

/// The table of operators has each once, in the order of their first calls.
struct Operators {
    count: i32,
    met: i32,
}

impl Operators {
    fn new(plan: &ExecutionPlan) -> Option<Operators> {
        let operators = plan.operators.as_deref()?;
        let mut seen = HashSet::new();
        // A name is split where its overload begins, which is told by the first dot.
        let plain = operators.iter().all(|operator| {
            let name = operator.name.as_deref().unwrap_or_default();
            let bare = name.split_once("::").map_or(name, |(_, bare)| bare);
            !bare.is_empty() && !bare.contains('.') && operator.overload.is_some() && seen.insert(operator)
        });
        let count = i32::try_from(operators.len()).ok()?;
        plain.then_some(Operators { count, met: 0 })
    }

    fn meet(&mut self, op_index: i32) -> Option<()> {
        match op_index {
            index if index == self.met => self.met += 1,
            index if index < 0 || index > self.met => return None,
            _ => {}
        }
        Some(())
    }

    fn all_met(&self) -> bool {
        self.met == self.count
    }
}
