//! Greedy memory planner. It has the same results as the exporter's (docs/format.md, "Greedy planner"), without its
//! quadratic cost.
//!
//! It computes offsets from sizes and lifetimes; [`super::memory`] selects the tensors, and [`super::lifetimes`]
//! computes the lifetimes.

use std::collections::{BTreeMap, BinaryHeap};

use super::align_up;
use super::first_fit::FirstFit;
use super::skyline::Skyline;

/// Alignment in bytes to which sizes are rounded up for sorting, whatever alignment is requested. The exporter does the
/// same.
const SORT_ALIGNMENT: u64 = 16;

/// Tensor to place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PlanRequest {
    /// Size in bytes.
    pub size: u64,
    /// First time of its lifetime.
    pub start: u32,
    /// Last time of its lifetime.
    pub end: u32,
    /// Pool (`memory_id`), from 1.
    pub pool: u32,
}

/// Maximum number of pools of a method: each is an entry of a list.
pub const MAX_POOLS: usize = 4096;

/// Result of [`plan`].
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PoolLayout {
    /// Offset of each request in its pool.
    pub offsets: Vec<u64>,
    /// Size of each pool; pool 0 is reserved and empty. Pools without requests have size 0.
    pub sizes: Vec<u64>,
}

/// Error: the sizes exceed `u64`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TooLarge;

/// Assigns offsets to all requests. `reserved[pool]` bytes are kept free at the start of a pool; `padding` bytes are
/// added after each used pool.
///
/// `alignment` must be a multiple of 16. Otherwise the exporter's algorithm fails with an assertion, because a tensor
/// is larger than one that was placed before it (docs/format.md, "Greedy planner").
///
/// # Errors
/// [`TooLarge`] if the sizes exceed `u64`.
pub fn plan(requests: &[PlanRequest], alignment: u64, reserved: &[u64], padding: u64) -> Result<PoolLayout, TooLarge> {
    place(requests, alignment, reserved, padding, true)
}

/// Assigns offsets like [`plan`], but tensors only share memory with tensors that live at other times: none is placed
/// above a live one in the same object.
///
/// # Errors
/// [`TooLarge`] if the sizes exceed `u64`.
pub fn plan_no_overlap(
    requests: &[PlanRequest],
    alignment: u64,
    reserved: &[u64],
    padding: u64,
) -> Result<PoolLayout, TooLarge> {
    place(requests, alignment, reserved, padding, false)
}

fn place(
    requests: &[PlanRequest],
    alignment: u64,
    reserved: &[u64],
    padding: u64,
    overlap: bool,
) -> Result<PoolLayout, TooLarge> {
    let mut pools: BTreeMap<u32, Pool> = BTreeMap::new();
    let horizon = requests.iter().map(|r| r.end).max().unwrap_or(0);
    let mut offsets = vec![(0, 0); requests.len()];
    for index in largest_first(requests)? {
        let request = requests[index];
        let size = align_up(request.size, alignment).ok_or(TooLarge)?;
        let pool = pools.entry(request.pool).or_insert_with(|| Pool::new(horizon, overlap));
        offsets[index] = pool.place(size, request.start, request.end);
    }
    lay_out(requests, pools, offsets, reserved, padding)
}

/// Assigns offsets in the order of the requests without sharing memory, like the exporter's naive algorithm.
///
/// # Errors
/// [`TooLarge`] if the sizes exceed `u64`.
pub fn plan_naive(
    requests: &[PlanRequest],
    alignment: u64,
    reserved: &[u64],
    padding: u64,
) -> Result<PoolLayout, TooLarge> {
    let top = requests.iter().map(|request| request.pool as usize).max().unwrap_or(0);
    let mut sizes: Vec<u64> = (0..=top).map(|pool| reserved.get(pool).copied().unwrap_or(0)).collect();
    let mut is_used = vec![false; top + 1];
    let mut offsets = Vec::with_capacity(requests.len());
    for request in requests {
        let pool = request.pool as usize;
        is_used[pool] = true;
        offsets.push(sizes[pool]);
        let end = align_up(request.size, alignment).and_then(|size| sizes[pool].checked_add(size));
        sizes[pool] = end.ok_or(TooLarge)?;
    }
    for (size, is_used) in sizes.iter_mut().zip(is_used) {
        *size = if is_used { size.checked_add(padding).ok_or(TooLarge)? } else { 0 };
    }
    Ok(PoolLayout { offsets, sizes })
}

/// Returns the indices of the requests by descending size, and for equal sizes by descending index.
fn largest_first(requests: &[PlanRequest]) -> Result<Vec<usize>, TooLarge> {
    let mut keyed = Vec::with_capacity(requests.len());
    for (index, request) in requests.iter().enumerate() {
        keyed.push((align_up(request.size, SORT_ALIGNMENT).ok_or(TooLarge)?, index));
    }
    keyed.sort_unstable_by(|a, b| b.cmp(a));
    Ok(keyed.into_iter().map(|(_, index)| index).collect())
}

/// Concatenates the objects of each pool.
fn lay_out(
    requests: &[PlanRequest],
    pools: BTreeMap<u32, Pool>,
    places: Vec<(usize, u64)>,
    reserved: &[u64],
    padding: u64,
) -> Result<PoolLayout, TooLarge> {
    let top = pools.keys().next_back().map_or(0, |pool| *pool as usize);
    let mut sizes = vec![0u64; top + 1];
    let mut bases: BTreeMap<u32, Vec<u64>> = BTreeMap::new();
    for (id, pool) in &pools {
        let mut end = reserved.get(*id as usize).copied().unwrap_or(0);
        let mut starts = Vec::with_capacity(pool.objects.len());
        for object in &pool.objects {
            starts.push(end);
            end = end.checked_add(object.size).ok_or(TooLarge)?;
        }
        sizes[*id as usize] = end.checked_add(padding).ok_or(TooLarge)?;
        bases.insert(*id, starts);
    }
    let offsets =
        places.iter().zip(requests).map(|((object, offset), request)| bases[&request.pool][*object] + offset).collect();
    Ok(PoolLayout { offsets, sizes })
}

/// Pool during planning. Each object has the size of its first tensor; other tensors share it at other times or
/// offsets.
struct Pool {
    objects: Vec<MemoryObject>,
    /// Index of the objects; present if there are more than [`FEW`].
    index: Option<ObjectIndex>,
    horizon: u32,
    /// A tensor may be placed above live ones in an object.
    overlap: bool,
}

struct MemoryObject {
    size: u64,
    /// Greatest end of a tensor at each time.
    skyline: Skyline,
}

/// Maximum number of objects for a linear search, which is faster for few objects. Most programs have few.
const FEW: usize = 16;

impl Pool {
    fn new(horizon: u32, overlap: bool) -> Pool {
        Pool { objects: Vec::new(), index: None, horizon, overlap }
    }

    /// Returns the object and the offset in it for a tensor that is not larger than any earlier one.
    fn place(&mut self, size: u64, start: u32, end: u32) -> (usize, u64) {
        let found = match &mut self.index {
            Some(index) => index.find(&self.objects, size, start, end, self.overlap),
            None => self.search(size, start, end),
        };
        let (object, offset) = found.unwrap_or_else(|| (self.add_object(size), 0));
        let height = offset + size;
        self.objects[object].skyline.raise(start, end, height);
        if let Some(index) = &mut self.index {
            index.occupy(&self.objects, object, start, end, height);
        }
        (object, offset)
    }

    /// Returns the first object that is unused during the interval, or otherwise the first one with room above its
    /// tensors; `None` if there is neither.
    fn search(&self, size: u64, start: u32, end: u32) -> Option<(usize, u64)> {
        let mut above = None;
        for (number, object) in self.objects.iter().enumerate() {
            match object.skyline.top(start, end) {
                None => return Some((number, 0)),
                Some(top) if self.overlap && above.is_none() && top > 0 && object.size - top >= size => {
                    above = Some((number, top));
                }
                Some(_) => {}
            }
        }
        above
    }

    fn add_object(&mut self, size: u64) -> usize {
        self.objects.push(MemoryObject { size, skyline: Skyline::new() });
        if let Some(index) = &mut self.index {
            index.add_object();
        } else if self.objects.len() > FEW {
            self.index = Some(ObjectIndex::new(&self.objects, self.horizon));
        }
        self.objects.len() - 1
    }
}

/// Index for many objects, with the same results as [`Pool::search`].
struct ObjectIndex {
    /// Times at which an object is unused.
    empty: FirstFit,
    /// Times at which an object has room above its tensors for the current size.
    roomy: FirstFit,
    /// Intervals in which an object has too little room for the current size, by room.
    cramped: BinaryHeap<(u64, usize, u32, u32)>,
    /// Index for tensors of size 0. It is built for the first of them.
    occupied: Option<FirstOccupied>,
    horizon: u32,
}

impl ObjectIndex {
    fn new(objects: &[MemoryObject], horizon: u32) -> ObjectIndex {
        let mut index = ObjectIndex {
            empty: FirstFit::new(horizon),
            roomy: FirstFit::new(horizon),
            cramped: BinaryHeap::new(),
            occupied: None,
            horizon,
        };
        for (number, object) in objects.iter().enumerate() {
            index.add_object();
            for (start, end, height) in object.skyline.stretches() {
                index.occupy(objects, number, start, end, height);
            }
        }
        index
    }

    fn add_object(&mut self) {
        self.empty.add_object();
        self.roomy.add_object();
    }

    fn find(
        &mut self,
        objects: &[MemoryObject],
        size: u64,
        start: u32,
        end: u32,
        overlap: bool,
    ) -> Option<(usize, u64)> {
        self.release_roomy(objects, size);
        if let Some(object) = self.empty.find(start, end) {
            return Some((object, 0));
        }
        if !overlap {
            return None;
        }
        let object = if size == 0 {
            // A tensor of size 0 is placed above others only in an object whose height is above 0 at some time of its
            // lifetime.
            self.occupied.get_or_insert_with(|| FirstOccupied::new(objects, self.horizon)).first(start, end)
        } else {
            self.roomy.find(start, end)
        }?;
        Some((object, objects[object].skyline.top(start, end).unwrap_or(0)))
    }

    /// Marks intervals with enough room for `size` as free. Sizes never increase from call to call.
    fn release_roomy(&mut self, objects: &[MemoryObject], size: u64) {
        while let Some(&(room, object, start, end)) = self.cramped.peek() {
            if room < size {
                break;
            }
            self.cramped.pop();
            // The interval is outdated if a tensor was placed in it since.
            let MemoryObject { size: whole, skyline } = &objects[object];
            if skyline.stretch(start).is_some_and(|(until, height)| until == end && whole - height == room) {
                self.roomy.release(object, start, end);
            }
        }
    }

    /// Updates the index for a tensor that raises an object to `height`. The remainders of split intervals are released
    /// already: a tensor is placed in released intervals only.
    fn occupy(&mut self, objects: &[MemoryObject], object: usize, start: u32, end: u32, height: u64) {
        self.empty.occupy(object, start, end);
        self.roomy.occupy(object, start, end);
        if let Some(occupied) = self.occupied.as_mut().filter(|_| height > 0) {
            occupied.add(object, start, end);
        }
        let room = objects[object].size - height;
        // Intervals without room are never released; tensors of size 0 use `occupied`.
        if room > 0 {
            self.cramped.push((room, object, start, end));
        }
    }
}

/// Finds the first object with a height above 0 at some time of an interval, for tensors of size 0. A segment tree over
/// time: node `i` has children `2i` and `2i + 1`.
struct FirstOccupied {
    /// First object with a height above 0 at all times of a node.
    throughout: Vec<u32>,
    /// First object with a height above 0 at some time of a node.
    sometime: Vec<u32>,
}

impl FirstOccupied {
    fn new(objects: &[MemoryObject], horizon: u32) -> FirstOccupied {
        let nodes = 2 * (horizon as usize + 1).next_power_of_two();
        let mut tree = FirstOccupied { throughout: vec![u32::MAX; nodes], sometime: vec![u32::MAX; nodes] };
        for (number, object) in objects.iter().enumerate() {
            for (start, end, _) in object.skyline.stretches().filter(|(.., height)| *height > 0) {
                tree.add(number, start, end);
            }
        }
        tree
    }

    fn add(&mut self, object: usize, start: u32, end: u32) {
        let object = object as u32;
        self.cover(start, end, |tree, node| {
            tree.throughout[node] = tree.throughout[node].min(object);
            let mut above = node;
            while above > 0 {
                tree.sometime[above] = tree.sometime[above].min(object);
                above /= 2;
            }
        });
    }

    fn first(&mut self, start: u32, end: u32) -> Option<usize> {
        let mut best = u32::MAX;
        self.cover(start, end, |tree, node| {
            best = best.min(tree.sometime[node]);
            let mut above = node / 2;
            while above > 0 {
                best = best.min(tree.throughout[above]);
                above /= 2;
            }
        });
        (best != u32::MAX).then_some(best as usize)
    }

    /// Visits the nodes that partition an interval.
    fn cover(&mut self, start: u32, end: u32, mut visit: impl FnMut(&mut Self, usize)) {
        let leaves = self.sometime.len() / 2;
        let (mut low, mut high) = (start as usize + leaves, end as usize + leaves + 1);
        while low < high {
            if low & 1 == 1 {
                visit(self, low);
                low += 1;
            }
            if high & 1 == 1 {
                high -= 1;
                visit(self, high);
            }
            (low, high) = (low / 2, high / 2);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Reference implementation with nested loops.
    fn reference(requests: &[PlanRequest], alignment: u64, overlap: bool) -> Result<PoolLayout, TooLarge> {
        type Tenant = (u32, u32, u64, u64);
        let mut pools: BTreeMap<u32, Vec<(u64, Vec<Tenant>)>> = BTreeMap::new();
        let mut places = vec![(0, 0); requests.len()];
        for index in largest_first(requests)? {
            let PlanRequest { size, start, end, pool } = requests[index];
            let size = align_up(size, alignment).unwrap();
            let objects = pools.entry(pool).or_default();
            let meets = |t: &Tenant| !(end < t.0 || start > t.1);
            let top = |tenants: &[Tenant]| tenants.iter().filter(|t| meets(t)).map(|t| t.2 + t.3).max().unwrap_or(0);
            let place = match objects.iter().position(|(_, tenants)| !tenants.iter().any(meets)) {
                Some(object) => (object, 0),
                None => {
                    let has_room =
                        |(room, tenants): &(u64, Vec<Tenant>)| top(tenants) > 0 && top(tenants) + size <= *room;
                    match objects.iter().position(has_room).filter(|_| overlap) {
                        Some(object) => (object, top(&objects[object].1)),
                        None => {
                            objects.push((size, Vec::new()));
                            (objects.len() - 1, 0)
                        }
                    }
                }
            };
            objects[place.0].1.push((start, end, place.1, size));
            places[index] = place;
        }
        let mut sizes = vec![0; pools.keys().max().map_or(1, |p| *p as usize + 1)];
        for (pool, objects) in &pools {
            sizes[*pool as usize] = objects.iter().map(|o| o.0).sum();
        }
        let offset = |(place, request): (&(usize, u64), &PlanRequest)| {
            pools[&request.pool][..place.0].iter().map(|o| o.0).sum::<u64>() + place.1
        };
        Ok(PoolLayout { offsets: places.iter().zip(requests).map(offset).collect(), sizes })
    }

    fn requests() -> impl Strategy<Value = Vec<PlanRequest>> {
        let sizes = prop_oneof![Just(0u64), Just(16), 1..200u64, 1..5000u64];
        prop::collection::vec(
            (sizes, 0..60u32, 0..60u32, 1..3u32).prop_map(|(size, a, b, pool)| PlanRequest {
                size,
                start: a.min(b),
                end: a.max(b),
                pool,
            }),
            0..120,
        )
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(512))]
        #[test]
        fn equals_the_reference(requests in requests(), alignment in prop::sample::select(vec![16u64, 32, 48, 64])) {
            prop_assert_eq!(plan(&requests, alignment, &[], 0), reference(&requests, alignment, true));
            prop_assert_eq!(plan_no_overlap(&requests, alignment, &[], 0), reference(&requests, alignment, false));
        }
    }

    /// `tests/golden/upstream/planner/cases.json` contains results of ExecuTorch's planner.
    #[test]
    fn equals_the_exporter() {
        #[derive(serde::Deserialize)]
        struct Cases {
            cases: Vec<Case>,
        }
        #[derive(serde::Deserialize)]
        struct Case {
            alignment: u64,
            tensors: Vec<(u64, u32, u32, u32)>,
            places: Vec<(u32, u64)>,
            sizes: Vec<u64>,
        }
        let text =
            std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/upstream/planner/cases.json"))
                .unwrap();
        let cases: Cases = serde_json::from_str(&text).unwrap();
        assert_eq!(cases.cases.len(), 135);
        for (number, case) in cases.cases.iter().enumerate() {
            let requests: Vec<PlanRequest> = case
                .tensors
                .iter()
                .map(|(size, start, end, pool)| PlanRequest {
                    size: *size,
                    start: *start,
                    end: *end,
                    pool: (*pool).max(1),
                })
                .collect();
            let got = plan(&requests, case.alignment, &[], 0).unwrap_or_else(|e| panic!("case {number}: {e:?}"));
            let offsets: Vec<u64> = case.places.iter().map(|(_, offset)| *offset).collect();
            assert_eq!(got.offsets, offsets, "case {number}");
            let sizes = if requests.is_empty() { vec![0] } else { case.sizes.clone() };
            assert_eq!(got.sizes, sizes, "case {number}");
        }
    }

    #[test]
    fn reserved_bytes_and_padding_stay_free() {
        let request = PlanRequest { size: 20, start: 0, end: 1, pool: 1 };
        let got = plan(&[request, request], 16, &[0, 48], 64).unwrap();
        assert_eq!(got, PoolLayout { offsets: vec![80, 48], sizes: vec![0, 48 + 64 + 64] });
        let huge = PlanRequest { size: u64::MAX, ..request };
        assert_eq!(plan(&[huge], 16, &[], 0), Err(TooLarge));
    }
}
