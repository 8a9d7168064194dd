//! Numbers of bytes with a unit.

/// Parses a number of bytes: digits, optionally with K, M, G or T for a power of 1024. `None` for anything else.
///
/// ```
/// use pte_yaml::bytes::parse_bytes;
///
/// assert_eq!((parse_bytes("4K"), parse_bytes("many"), parse_bytes("")), (Some(4096), None, None));
/// ```
pub fn parse_bytes(text: &str) -> Option<u64> {
    let (digits, unit) = text.split_at(text.len() - usize::from(text.ends_with(['K', 'M', 'G', 'T'])));
    let shift = match unit {
        "K" => 10,
        "M" => 20,
        "G" => 30,
        "T" => 40,
        _ => 0, // No unit.
    };
    if !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    digits.parse::<u64>().ok()?.checked_mul(1 << shift)
}
