//! Arithmetic of alignments.

/// The least multiple of `alignment` that is not less than `value`; `None` beyond `u64`. An alignment of 0 is 1.
pub fn align_up(value: u64, alignment: u64) -> Option<u64> {
    match value % alignment.max(1) {
        0 => Some(value),
        rest => value.checked_add(alignment - rest),
    }
}

/// The least common multiple; `None` beyond `u64`. Zero counts as 1.
pub fn lcm(a: u64, b: u64) -> Option<u64> {
    let (a, b) = (a.max(1), b.max(1));
    let (mut x, mut y) = (a, b);
    while y != 0 {
        (x, y) = (y, x % y);
    }
    (a / x).checked_mul(b)
}
