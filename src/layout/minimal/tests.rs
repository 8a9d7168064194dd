use super::*;
use proptest::prelude::*;

fn requests(count: std::ops::Range<usize>, times: u32) -> impl Strategy<Value = Vec<PlanRequest>> {
    let sizes = prop_oneof![Just(0u64), Just(16), 1..200u64, 1..5000u64];
    let request = (sizes, 0..times, 0..times, 1..3u32).prop_map(|(size, a, b, pool)| PlanRequest {
        size,
        start: a.min(b),
        end: a.max(b),
        pool,
    });
    prop::collection::vec(request, count)
}

/// Asserts that tensors that are alive together have disjoint memory in their pool, at aligned offsets.
fn assert_valid(requests: &[PlanRequest], layout: &PoolLayout, alignment: u64, reserved: u64, padding: u64) {
    for (index, (one, offset)) in requests.iter().zip(&layout.offsets).enumerate() {
        assert_eq!(offset % alignment, 0, "{index}");
        assert!(*offset >= reserved && offset + one.size + padding <= layout.sizes[one.pool as usize], "{index}");
        for (other, start) in requests.iter().zip(&layout.offsets).skip(index + 1) {
            let is_together = one.pool == other.pool && one.start <= other.end && other.start <= one.end;
            assert!(!is_together || offset + one.size <= *start || start + other.size <= *offset, "{one:?} {other:?}");
        }
    }
}

/// The smallest sizes of all orders in which each tensor is placed above those before it.
fn least(requests: &[PlanRequest], alignment: u64, pool: u32) -> u64 {
    fn descend(rest: &mut Vec<PlanRequest>, placed: &mut Vec<(PlanRequest, u64)>, height: u64, best: &mut u64) {
        if rest.is_empty() {
            *best = height.min(*best);
        }
        for index in 0..rest.len() {
            let request = rest.remove(index);
            let together = placed.iter().filter(|(other, _)| request.start <= other.end && other.start <= request.end);
            let end = together.map(|(_, end)| *end).max().unwrap_or(0) + request.size;
            placed.push((request, end));
            descend(rest, placed, height.max(end), best);
            placed.pop();
            rest.insert(index, request);
        }
    }
    let own = requests.iter().filter(|request| request.pool == pool);
    let mut rest =
        own.map(|request| PlanRequest { size: request.size.next_multiple_of(alignment), ..*request }).collect();
    let mut best = u64::MAX;
    descend(&mut rest, &mut Vec::new(), 0, &mut best);
    best
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]
    #[test]
    fn few_tensors_have_the_smallest_plan(requests in requests(1..8, 6), alignment in prop::sample::select(vec![16u64, 64])) {
        let layout = plan(&requests, alignment, &[], 0).unwrap();
        assert_valid(&requests, &layout, alignment, 0, 0);
        for (pool, size) in layout.sizes.iter().enumerate().skip(1) {
            if requests.iter().any(|request| request.pool as usize == pool) {
                prop_assert_eq!(*size, least(&requests, alignment, pool as u32));
            }
        }
    }

    #[test]
    fn the_plan_is_valid_and_never_larger_than_the_greedy_one(
        requests in requests(0..60, 40),
        alignment in prop::sample::select(vec![16u64, 48, 64]),
    ) {
        let reserved = [0, alignment * 3, 0];
        let layout = plan(&requests, alignment, &reserved, 64).unwrap();
        let pools = if requests.is_empty() { 1 } else { layout.sizes.len() };
        for reserved in &reserved[..pools.min(2)] {
            let own: Vec<PlanRequest> = requests.iter().copied().filter(|request| (request.pool == 1) == (*reserved > 0)).collect();
            let offsets = requests.iter().zip(&layout.offsets).filter(|(request, _)| (request.pool == 1) == (*reserved > 0));
            let offsets = offsets.map(|(_, offset)| *offset).collect();
            assert_valid(&own, &PoolLayout { offsets, sizes: layout.sizes.clone() }, alignment, *reserved, 64);
        }
        let greedy = greedy::plan(&requests, alignment, &reserved, 64).unwrap();
        prop_assert!(layout.sizes.iter().zip(&greedy.sizes).all(|(one, other)| one <= other));
        prop_assert_eq!(layout.sizes.len(), greedy.sizes.len());
        prop_assert_eq!(&layout, &plan(&requests, alignment, &reserved, 64).unwrap());
    }
}

/// The exporter's algorithm places no tensor across the end of an object, so that two of 3 do not fit below one of 4.
#[test]
fn objects_are_no_limit() {
    let request = |size: u64, start, end| PlanRequest { size: size * 16, start, end, pool: 1 };
    let requests = [request(4, 0, 1), request(3, 2, 3), request(3, 2, 3)];
    let layout = plan(&requests, 16, &[], 0).unwrap();
    assert_eq!(layout.sizes, [0, 6 * 16]);
    assert_eq!(greedy::plan(&requests, 16, &[], 0).unwrap().sizes, [0, 7 * 16]);
}

#[test]
fn sizes_beyond_64_bits_are_rejected() {
    let request = PlanRequest { size: 1 << 63, start: 0, end: 1, pool: 1 };
    assert_eq!(plan(&[request, request], 16, &[], 0), Err(TooLarge));
    assert_eq!(plan(&[PlanRequest { size: u64::MAX, ..request }], 16, &[], 0), Err(TooLarge));
    assert_eq!(plan(&[request], 16, &[0, u64::MAX], 0), Err(TooLarge));
    let small = PlanRequest { size: 20, ..request };
    assert_eq!(plan(&[small, small], 16, &[0, 40], 64).unwrap().sizes, [0, 48 + 64 + 64]);
}

/// Many tensors, with few and with many alive at once: the work is bounded.
#[test]
fn many_tensors_are_placed() {
    let mut state = 1u64;
    let mut next = |limit: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % limit
    };
    for longest in [3, 500, 100_000] {
        let count = 100_000;
        let requests: Vec<PlanRequest> = (0..count)
            .map(|_| {
                let start = next(count) as u32;
                PlanRequest { size: 1 + next(100_000), start, end: start + next(longest) as u32, pool: 1 }
            })
            .collect();
        let layout = plan(&requests, 16, &[], 0).unwrap();
        let bound = lower_bound(requests.iter().map(|request| Item {
            size: request.size,
            start: request.start,
            end: request.end,
        }));
        let size = layout.sizes[1];
        assert!(size >= bound && size <= greedy::plan(&requests, 16, &[], 0).unwrap().sizes[1]);
    }
}
