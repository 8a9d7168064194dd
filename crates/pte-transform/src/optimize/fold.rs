//! Folding: calls whose arguments are constants become constants, with the bytes that their kernels write.
//!
//! `candidates.rs` finds and evaluates the calls in `method.rs`, `contents.rs` has their results, `growth.rs` decides
//! by the size of the file which calls are folded, `order.rs` requires that all reads of a result are after the call on
//! all paths. What an operator computes is its evaluation (`pte_operators::evaluation`).

mod candidates;
mod contents;
mod growth;
mod method;
mod order;

pub use candidates::LeftCall;

use std::io;

use crate::remap::Remap;
use candidates::Candidates;
use growth::Ledger;
use pte_model::program::{Memory, Program, TensorData, TensorShapeDynamism};

/// Options of [`fold`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct FoldOptions {
    /// Number of bytes by which the file may grow. By default, the constants that are no longer needed pay for new
    /// ones.
    pub max_growth: u64,
}

/// Result of [`fold`].
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Folded {
    /// The calls that were removed, in the order of the methods and instructions.
    pub calls: Vec<FoldedCall>,
    /// The calls of known operators on constants that stay, in the order of the methods and instructions.
    pub left: Vec<LeftCall>,
    /// By method: indices of the parts that remain.
    pub remaps: Vec<Remap>,
    /// Estimated number of bytes by which the file grows, once unused parts are removed.
    pub growth: i64,
}

/// A call that was removed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoldedCall {
    /// Index of the method.
    pub method: usize,
    /// Position of the instruction before all changes, counted through all chains.
    pub step: usize,
    /// Operator.
    pub operator: String,
    /// The results that are constants now, as indices of values. Nothing uses its other results.
    pub constants: Vec<usize>,
    /// Number of bytes of these constants, some of which may be the data of other constants.
    pub bytes: u64,
}

/// Folds calls of the methods whose flag is set. Values keep their indices, also those that nothing uses any more;
/// [`crate::prune::prune`] removes them with the data that only they had.
///
/// The memory of tensors must be requested, not stated at offsets: methods with explicit offsets stay.
///
/// # Errors
/// Data that cannot be read.
pub fn fold(program: &mut Program, methods: &[bool], options: FoldOptions) -> io::Result<Folded> {
    let mut candidates = Candidates::find(program, methods)?;
    let mut ledger = Ledger::new(program, &candidates);
    let growth = ledger.choose(&candidates, options.max_growth);
    let is_folded = ledger.folded().to_vec();
    let mut done = Folded { left: std::mem::take(&mut candidates.left), growth, ..Folded::default() };
    for (at, call) in candidates.calls.iter().enumerate() {
        let (method, step, operator) = (call.method, call.step as usize, call.operator.clone());
        if !is_folded[at] {
            let reason = "the file would grow".to_owned();
            done.left.push(LeftCall { method, step, operator, reason, is_too_large: true });
            continue;
        }
        let mut folded = FoldedCall { method, step, operator, constants: Vec::new(), bytes: 0 };
        for &(value, content) in &call.results {
            let is_used = ledger.is_open(method, value);
            if is_used {
                folded.constants.push(value);
                folded.bytes = folded.bytes.saturating_add(candidates.contents.get(content).len());
            }
            let data = is_used.then(|| candidates.contents.stored(content, program));
            replace(program, method, value, data.map_or(TensorData::None, TensorData::Blob));
        }
        done.calls.push(folded);
    }
    done.left.sort_by_key(|call| (call.method, call.step));
    remove(program, &candidates, &is_folded, &mut done);
    Ok(done)
}

/// Makes a result a constant; without data, it has no memory.
fn replace(program: &mut Program, method: usize, value: usize, data: TensorData) {
    let Some(plan) = program.plans_mut().get_mut(method) else { return };
    if let Some(tensor) = plan.tensor_mut(value) {
        (tensor.data, tensor.memory) = (data, Memory::None);
        tensor.shape_dynamism = TensorShapeDynamism::STATIC;
        tensor.extra_tensor_info = None;
    }
    // Views of it that stay are views of a constant, which has no planned memory.
    for (_, tensor) in plan.tensors_mut() {
        if matches!(tensor.memory, Memory::View { base } if base as usize == value) {
            tensor.memory = Memory::None;
        }
    }
}

/// Removes the instructions that are folded.
fn remove(program: &mut Program, candidates: &Candidates, is_folded: &[bool], done: &mut Folded) {
    let mut kept: Vec<Vec<bool>> = program.plans().iter().map(|plan| vec![true; plan.instructions().count()]).collect();
    for (call, _) in candidates.calls.iter().zip(is_folded).filter(|(_, is_folded)| **is_folded) {
        kept[call.method][call.step as usize] = false;
    }
    for (plan, kept) in program.plans_mut().iter_mut().zip(&kept) {
        let remap = Remap::of_instructions(plan, kept);
        remap.apply(plan);
        done.remaps.push(remap);
    }
}
