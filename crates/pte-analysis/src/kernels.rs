//! The kernels that a program needs, which a build of the runtime must register and link.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use pte_model::format::{DimOrder, ScalarType};
use pte_model::program::instruction::Callee;
use pte_model::program::{EValue, ExecutionPlan, Program, Tensor, ValueId};

/// Kernels and backends that a program needs.
///
/// A kernel is needed if the operator table of a method names it, even if no instruction calls it: the runtime resolves
/// all of them when the method is loaded.
#[derive(Debug, Clone, Default)]
pub struct ProgramKernels {
    /// Operators by full name, such as `aten::add.out`. Those without a name are left out.
    pub operators: BTreeMap<String, KernelCalls>,
    /// Backends of the delegates, with the number of delegates.
    pub backends: BTreeMap<String, u64>,
    /// Different tensors of the calls, which [`KernelCalls::variants`] refer to.
    pub tensors: Vec<TensorVariant>,
}

/// Calls of an operator.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct KernelCalls {
    /// Number of instructions that call it.
    pub instructions: u64,
    /// Numbers of arguments of its calls, with the result.
    pub arguments: BTreeSet<usize>,
    /// Tensors of its calls, in the order of the arguments, each combination once: indices of
    /// [`ProgramKernels::tensors`]. A list of tensors counts as its first tensor; other arguments, and lists without a
    /// tensor, are left out.
    pub variants: BTreeSet<Vec<u32>>,
}

/// Properties of a tensor by which the runtime selects a kernel.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct TensorVariant {
    /// Element type.
    pub scalar_type: ScalarType,
    /// Order of its dimensions; empty if the file has none.
    pub dim_order: DimOrder,
}

impl ProgramKernels {
    /// Collects the kernels of all methods of a program.
    ///
    /// ```
    /// use pte_analysis::kernels::ProgramKernels;
    /// use pte_model::data::Origin;
    /// use pte_model::reader::program::read;
    ///
    /// let program = read(&Origin::Bytes(pte_model::LINEAR_PTE.into()))?.program;
    /// let kernels = ProgramKernels::of(&program);
    /// let addmm = &kernels.operators["aten::addmm.out"];
    /// assert_eq!((addmm.instructions, addmm.arguments.first()), (1, Some(&7)));
    /// assert_eq!(addmm.variants.first().unwrap().len(), 5);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn of(program: &Program) -> ProgramKernels {
        let mut kernels = ProgramKernels::default();
        let mut numbers = HashMap::new();
        for plan in program.plans() {
            kernels.add(plan, &mut numbers);
        }
        kernels
    }

    /// Adds the kernels of a method; `numbers` has the indices of `tensors`.
    fn add(&mut self, plan: &ExecutionPlan, numbers: &mut HashMap<TensorVariant, u32>) {
        for delegate in plan.delegates() {
            *self.backends.entry(delegate.id.clone().unwrap_or_default()).or_default() += 1;
        }
        // By operator: duplicates in the table of a method have calls of their own.
        let mut calls = vec![KernelCalls::default(); plan.operators.as_ref().map_or(0, Vec::len)];
        let mut known: Vec<Option<Option<u32>>> = vec![None; plan.values().len()];
        for instruction in plan.instructions() {
            let Some(Callee::Operator(operator)) = instruction.callee() else { continue };
            let Some(call) = operator.item_mut(&mut calls) else { continue };
            let args = instruction.args();
            call.instructions += 1;
            call.arguments.insert(args.len());
            let variant = args.iter().filter_map(|arg| {
                // Many calls can have the same long list.
                *arg.item_mut(&mut known)?.get_or_insert_with(|| {
                    let tensor = first_tensor(plan, *arg)?;
                    let dim_order = tensor.dim_order.clone().unwrap_or_default();
                    let variant = TensorVariant { scalar_type: tensor.scalar_type, dim_order };
                    Some(*numbers.entry(variant).or_insert_with_key(|variant| {
                        self.tensors.push(variant.clone());
                        (self.tensors.len() - 1) as u32
                    }))
                })
            });
            call.variants.insert(variant.collect());
        }
        for (operator, calls) in plan.operators.iter().flatten().zip(calls) {
            let Some(name) = operator.full_name() else { continue };
            let all = self.operators.entry(name).or_default();
            all.instructions += calls.instructions;
            all.arguments.extend(calls.arguments);
            all.variants.extend(calls.variants);
        }
    }

    /// Returns the tensors of a combination.
    pub fn tensors_of<'k>(&'k self, variant: &'k [u32]) -> impl Iterator<Item = &'k TensorVariant> {
        variant.iter().filter_map(|tensor| self.tensors.get(*tensor as usize))
    }
}

/// Returns the tensor that stands for an argument: itself, or the first one of a list. `gen_oplist` of ExecuTorch reads
/// lists in this way.
pub fn first_tensor(plan: &ExecutionPlan, arg: ValueId) -> Option<&Tensor> {
    let find = |id: ValueId| plan.value(id)?.as_tensor();
    match plan.value(arg)? {
        EValue::Tensor(tensor) => Some(tensor),
        EValue::TensorList(items) => find(*items.as_ref()?.first()?),
        EValue::OptionalTensorList(items) => items.iter().flatten().find_map(|item| find(*item)),
        EValue::Null
        | EValue::Int(_)
        | EValue::Bool(_)
        | EValue::Double(_)
        | EValue::String(_)
        | EValue::IntList(_)
        | EValue::DoubleList(_)
        | EValue::BoolList(_)
        | EValue::Unknown(_) => None,
    }
}
