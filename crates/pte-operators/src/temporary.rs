//! Bytes that kernels take from the temporary allocator of the runtime while they run. The runtime resets it after each
//! instruction. What kernels take from the heap is not part of it.
//!
//! `lab/tests/runtime/memory_trials.rs` of the repository compares it with the allocations of the kernels of the
//! default runtime.

use super::inference::{Argument, Call, IntMeta, TensorMeta};

/// Returns the bytes that a call takes from a temporary allocator whose memory begins at a multiple of 16 bytes. For a
/// dynamic tensor, this is the number for the upper bounds of its sizes. `None` if it depends on an unknown argument.
pub type TemporaryRule = fn(&Call<'_>) -> Option<u64>;

/// Bytes that a kernel takes from the temporary allocator.
#[derive(Debug, Clone, Copy)]
pub enum Temporary {
    /// Nothing.
    Nothing,
    /// Bytes that follow from the arguments.
    Bytes(TemporaryRule),
    /// Not known: it depends on the processor or its number of threads, or was not measured.
    Unknown,
}

/// Bytes of an element in the queue of `topk`: its value, of at most 8 bytes, and its index, in a structure that is
/// aligned to 8 bytes in all ABIs whose 64-bit integers are.
const QUEUE_ELEMENT: u64 = 16;

/// The elements along one dimension of the first argument, which the second argument selects the largest of, and the
/// third one states.
pub(super) fn topk(call: &Call<'_>) -> Option<u64> {
    let tensor: &TensorMeta = call.tensor(0).ok()?;
    let sizes = || tensor.sizes.iter().map(|dim| dim.size.unsigned_abs());
    let is_empty = sizes().any(|size| size == 0);
    let selects_nothing = matches!(call.argument(1), Some(Argument::Int(IntMeta::Exact(0)))) && sizes().len() > 0;
    if is_empty || selects_nothing {
        return Some(0);
    }
    let size = match call.int(2).ok()? {
        IntMeta::Exact(dim) => {
            let rank = sizes().len() as i64;
            let dim = if dim < 0 { dim.checked_add(rank)? } else { dim };
            usize::try_from(dim).ok().and_then(|dim| sizes().nth(dim)).unwrap_or(1)
        }
        // The longest one.
        IntMeta::AtMost(_) | IntMeta::Unknown => sizes().max().unwrap_or(1),
    };
    size.checked_mul(QUEUE_ELEMENT)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inference::Dim;
    use pte_model::format::{DimOrder, ScalarType};
    use std::borrow::Cow;

    fn of_topk(sizes: &[i64], k: IntMeta, dim: IntMeta) -> Option<u64> {
        let operator = crate::find("aten::topk.values").unwrap();
        let sizes: Vec<Dim> = sizes.iter().map(|size| Dim::fixed(*size)).collect();
        let dim_order = DimOrder::contiguous(sizes.len());
        let tensor = TensorMeta { scalar_type: ScalarType::FLOAT, sizes, dim_order };
        let arguments = [Argument::Tensor(Cow::Owned(tensor)), Argument::Int(k), Argument::Int(dim)];
        let Temporary::Bytes(rule) = operator.temporary else { panic!("{:?}", operator.temporary) };
        rule(&Call::new(&operator.signature, &arguments))
    }

    #[test]
    fn the_queue_of_topk_has_the_elements_of_a_dimension() {
        let (exact, unknown) = (IntMeta::Exact, IntMeta::Unknown);
        assert_eq!(of_topk(&[2, 30], exact(3), exact(1)), Some(480));
        assert_eq!(of_topk(&[2, 30], exact(1), exact(-2)), Some(32));
        assert_eq!(of_topk(&[2, 30], unknown, unknown), Some(480));
        assert_eq!(of_topk(&[], exact(0), exact(-1)), Some(16));
        assert_eq!(of_topk(&[2, 30], exact(0), exact(1)), Some(0));
        assert_eq!(of_topk(&[0, 30], exact(1), exact(1)), Some(0));
        assert_eq!(of_topk(&[i64::MAX], exact(1), exact(0)), None);
    }

    #[test]
    fn kernels_of_libraries_are_known_only_if_their_sources_were_read() {
        let of = |name: &str| crate::find(name).unwrap().temporary;
        assert!(matches!(of("aten::add.out"), Temporary::Nothing));
        assert!(matches!(of("cortex_m::quantized_linear.out"), Temporary::Nothing));
        assert!(matches!(of("llama::update_cache.out"), Temporary::Nothing));
        assert!(matches!(of("llama::custom_sdpa.out"), Temporary::Unknown));
        assert!(matches!(of("cadence::quantized_matmul.out"), Temporary::Unknown));
    }
}
