//! Arguments with which the out of an operator may share its bytes: kernels of ExecuTorch 1.5.1 that compute the same in place.
//! `tests/sharing.rs` measures the table with the real runtime.

/// Operators with one out, and the positions of the tensors that may be the same bytes with the same element type, sizes and
/// dim_order. All other sharing gives other results, or makes the kernel read indices that it has overwritten.
pub const IN_PLACE: &[(&str, &[usize])] = &[];

/// Returns the positions of the arguments whose exact bytes the out of an operator of the default runtime may have.
pub fn in_place(name: &str) -> &'static [usize] {
    IN_PLACE.binary_search_by(|(other, _)| (*other).cmp(name)).map_or(&[], |at| IN_PLACE[at].1)
}
