//! What a program needs, from the figures of `pte-inspect`: for arrays, project files and targets.

use crate::inspection::Inspected;
use crate::model::Model;
use pte_analysis::abi::Abi;
use pte_analysis::kernels::ProgramKernels;
use pte_analysis::needs::{BuildNeeds, MethodNeeds, PoolNeeds, PortNeeds, ProgramNeeds, TensorNeeds, UnknownNeeds};
use pte_inspect::allocator::{RuntimeKind, loaded_memory, lookup_bytes};
use pte_inspect::boundary::BoundaryBuffers;
use pte_inspect::delegates::{DelegateHeap, heaps};
use pte_inspect::memory::{MethodFootprint, ProgramMemory, needs_data_files};
use pte_model::diagnostics::Code;
use pte_model::error::Error;
use pte_model::program::instruction::Callee;
use pte_model::program::memory_plan::DEFAULT_ALIGNMENT;
use pte_model::program::{Device, EValue, ExecutionPlan, Program, TensorShapeDynamism, ValueId};

/// Program of a model with its needs.
pub(crate) struct NeededProgram {
    /// The program, as its file has it.
    pub program: Program,
    /// What it needs.
    pub needs: ProgramNeeds,
}

impl NeededProgram {
    /// Reads the program of a file of `bytes` bytes. `external`: it is loaded with `.ptd` files.
    ///
    /// # Errors
    /// The file cannot be read, is malformed or has no program, or the YAML is invalid.
    pub fn of(model: &Model, bytes: u64, external: bool) -> Result<NeededProgram, Error> {
        let inspected = Inspected::with_program(model)?.ok_or_else(|| {
            Error::input(Code::UnexpectedInput, &model.label(), "expected a program: the YAML has no methods")
        })?;
        let needs = {
            let subject = inspected.view();
            let external = external || needs_data_files(subject.program);
            // What depends on the binary interface is computed for each one below.
            let abi = Abi::default();
            let runtime = RuntimeKind { external, abi, processor: abi.processor() };
            let memory = ProgramMemory::new(&subject, inspected.loaded, runtime);
            let heaps =
                Abi::ALL.map(|other| if other == abi { Vec::new() } else { heaps(&subject, other.processor()) });
            let plans = subject.program.plans().iter().zip(&memory.methods).enumerate();
            let methods = plans.map(|(method, (plan, footprint))| {
                let names = subject.values.get(method).map_or(&[][..], |values| &values.names);
                let name = |value: usize| names.get(value).cloned().flatten().unwrap_or_default();
                MethodNeeds {
                    name: footprint.name.clone(),
                    pools: pools(footprint),
                    inputs: ports(plan, plan.inputs.as_deref(), &footprint.inputs, &name),
                    outputs: ports(plan, plan.outputs.as_deref(), &footprint.outputs, &name),
                    builds: Abi::ALL.map(|abi| {
                        let heap = abi.of(&heaps).get(method).cloned();
                        let heap = heap.unwrap_or_else(|| DelegateHeap {
                            bytes: footprint.delegate_bytes,
                            not_counted: footprint.not_counted.clone(),
                        });
                        build(subject.program, plan, footprint, external, abi, heap)
                    }),
                }
            });
            ProgramNeeds {
                bytes,
                needs_data_files: needs_data_files(subject.program),
                kernels: ProgramKernels::of(subject.program),
                methods: methods.collect(),
            }
        };
        Ok(NeededProgram { program: inspected.program, needs })
    }
}

/// Returns the pools by their numbers, from 1. Empty pools have no row in the footprint.
fn pools(method: &MethodFootprint) -> Vec<PoolNeeds> {
    let count = method.pools.iter().map(|pool| pool.pool).max().unwrap_or(0);
    let empty = PoolNeeds { bytes: 0, alignment: DEFAULT_ALIGNMENT, device: Device::CPU.to_string() };
    let mut pools = vec![empty; count];
    for pool in &method.pools {
        if let Some(needs) = pool.pool.checked_sub(1).and_then(|index| pools.get_mut(index)) {
            *needs = PoolNeeds { bytes: pool.bytes, alignment: pool.alignment, device: pool.device.clone() };
        }
    }
    pools
}

/// Returns the inputs or outputs of a method.
fn ports(
    plan: &ExecutionPlan,
    list: Option<&[ValueId]>,
    buffers: &BoundaryBuffers,
    name: &impl Fn(usize) -> String,
) -> Vec<PortNeeds> {
    let mut is_provided = vec![false; list.map_or(0, <[ValueId]>::len)];
    for tensor in &buffers.tensors {
        if let Some(is) = is_provided.get_mut(tensor.index) {
            *is = tensor.is_provided;
        }
    }
    let port = |(id, is_provided): (&ValueId, bool)| PortNeeds {
        name: id.get().map_or_else(String::new, name),
        tensor: plan.value(*id).and_then(EValue::as_tensor).and_then(|tensor| {
            Some(TensorNeeds {
                scalar_type: tensor.scalar_type,
                sizes: tensor.sizes.as_deref()?.to_vec(),
                is_dynamic: tensor.shape_dynamism != TensorShapeDynamism::STATIC,
                bytes: tensor.nbytes()?,
                is_provided,
            })
        }),
    };
    list.into_iter().flatten().zip(is_provided).map(port).collect()
}

/// Returns what depends on the binary interface. What kernels take does not, but their lookup does.
fn build(
    program: &Program,
    plan: &ExecutionPlan,
    method: &MethodFootprint,
    external: bool,
    abi: Abi,
    heap: DelegateHeap,
) -> BuildNeeds {
    let loaded = loaded_memory(program, plan, external, abi);
    let calls = plan.instructions().filter(|call| matches!(call.callee(), Some(Callee::Operator(_))));
    BuildNeeds {
        loading: loaded.bytes,
        loading_alone: loaded.without_temporary,
        lookup: calls.map(|call| lookup_bytes(call.args().len(), abi)).max().unwrap_or(0),
        kernels: method.temporary_allocator.kernels,
        largest: method.temporary_allocator.largest.clone(),
        heap: heap.bytes,
        unknown: UnknownNeeds {
            method_allocator: method.method_allocator.unknown_backends.clone(),
            temporary_allocator: method.temporary_allocator.unknown.clone(),
            heap: heap.not_counted,
        },
    }
}
