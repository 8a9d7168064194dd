//! Arithmetic of alignments: rounding up, least common multiple.

/// Returns the least multiple of `alignment` that is not less than `value`; `None` if it exceeds `u64`. An alignment of
/// 0 counts as 1.
pub fn align_up(value: u64, alignment: u64) -> Option<u64> {
    match value % alignment.max(1) {
        0 => Some(value),
        rest => value.checked_add(alignment - rest),
    }
}

/// Returns the least common multiple; `None` if it exceeds `u64`. Zero counts as 1.
pub fn lcm(a: u64, b: u64) -> Option<u64> {
    let (a, b) = (a.max(1), b.max(1));
    let (mut x, mut y) = (a, b);
    while y != 0 {
        (x, y) = (y, x % y);
    }
    (a / x).checked_mul(b)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_rounded_up_to_multiples() {
        assert_eq!([0, 1, 16, 17].map(|value| align_up(value, 16)), [0, 16, 16, 32].map(Some));
        assert_eq!(align_up(7, 0), Some(7));
        assert_eq!((align_up(u64::MAX - 15, 16), align_up(u64::MAX - 14, 16)), (Some(u64::MAX - 15), None));
    }

    #[test]
    fn the_least_common_multiple_of_numbers_with_a_common_factor_is_less_than_their_product() {
        assert_eq!((lcm(48, 128), lcm(128, 48), lcm(0, 7)), (Some(384), Some(384), Some(7)));
        assert_eq!(lcm(u64::MAX, u64::MAX - 1), None);
    }
}
