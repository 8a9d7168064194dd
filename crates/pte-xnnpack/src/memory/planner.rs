//! The memory planner of XNNPACK: places the values of a graph in one workspace. The largest value first, each in the
//! smallest gap that fits it among those values that live at the same time. It knows sizes and times only.

/// A value, or the memory that an operation needs while it runs.
#[derive(Clone, Copy)]
pub struct Usage {
    /// Size in bytes, rounded as the workspace needs it; 0 for a value that has the memory of another one.
    pub bytes: u64,
    /// Numbers of the first and of the last operation that use it.
    pub nodes: (usize, usize),
}

/// A value with its offset.
struct Placed {
    start: u64,
    end: u64,
    nodes: (usize, usize),
}

/// Returns the size of the workspace in bytes, without the bytes that are added at its end. It saturates. The work is
/// quadratic in the number of values.
pub fn workspace(usages: &[Usage]) -> u64 {
    let mut sorted: Vec<Usage> = usages.iter().copied().filter(|usage| usage.bytes > 0).collect();
    sorted.sort_by_key(|usage| std::cmp::Reverse(usage.bytes));
    // Sorted by start.
    let mut placed: Vec<Placed> = Vec::with_capacity(sorted.len());
    for Usage { bytes, nodes } in &sorted {
        let start = gap(placed.iter().filter(|other| overlap(other.nodes, *nodes)), *bytes);
        let at = placed.partition_point(|other| other.start <= start);
        placed.insert(at, Placed { start, end: start.saturating_add(*bytes), nodes: *nodes });
    }
    placed.iter().map(|value| value.end).max().unwrap_or(0)
}

/// Returns `true` if two values live at the same time.
fn overlap(one: (usize, usize), other: (usize, usize)) -> bool {
    one.0 <= other.1 && other.0 <= one.1
}

/// Returns the start of the smallest gap of at least this many bytes between values, otherwise the end of the last one.
fn gap<'p>(live: impl Iterator<Item = &'p Placed>, bytes: u64) -> u64 {
    let (mut end, mut best) = (0u64, None);
    for value in live {
        let size = value.start.saturating_sub(end);
        if size >= bytes && best.is_none_or(|(smallest, _)| size < smallest) {
            best = Some((size, end));
        }
        end = end.max(value.end);
    }
    best.map_or(end, |(_, start)| start)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn usages(list: &[(u64, usize, usize)]) -> Vec<Usage> {
        list.iter().map(|(bytes, first, last)| Usage { bytes: *bytes, nodes: (*first, *last) }).collect()
    }

    #[test]
    fn values_share_memory_unless_they_live_at_the_same_time() {
        assert_eq!(workspace(&usages(&[])), 0);
        assert_eq!(workspace(&usages(&[(64, 0, 1), (64, 1, 2)])), 128);
        assert_eq!(workspace(&usages(&[(64, 0, 1), (64, 2, 3)])), 64);
        // A chain alternates between two places.
        assert_eq!(workspace(&usages(&[(64, 0, 1), (128, 1, 2), (64, 2, 3), (32, 3, 4)])), 192);
    }

    #[test]
    fn the_smallest_gap_that_fits_is_taken() {
        // 256 at 0, 128 at 256, 64 at 384; the value of 32 bytes lives with the first and the last.
        let list = [(256, 0, 9), (128, 0, 3), (64, 0, 9), (32, 5, 6)];
        assert_eq!(workspace(&usages(&list)), 448);
        assert_eq!(workspace(&usages(&[(u64::MAX, 0, 1), (64, 0, 1)])), u64::MAX);
    }
}
