//! The exporter's greedy memory planner (docs/format.md, "Greedy planner"), exactly, without its quadratic cost.
//!
//! Sizes and lifetimes in, offsets out. What is to be planned and for how long it lives is [`super::memory`]'s business.

use std::collections::{BTreeMap, BinaryHeap};

use super::align_up;
use super::first_fit::FirstFit;
use super::skyline::Skyline;

/// The exporter rounds sizes up to this for sorting, whatever alignment is asked.
const SORT_ALIGNMENT: u64 = 16;

/// A tensor to place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Request {
    /// Bytes.
    pub size: u64,
    /// First moment it is needed.
    pub start: u32,
    /// Last moment it is needed.
    pub end: u32,
    /// Pool (`memory_id`), from 1.
    pub pool: u32,
}

/// What [`plan`] answers.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Placement {
    /// For each request its offset in its pool.
    pub offsets: Vec<u64>,
    /// For each pool its size; pool 0 is reserved and empty. Pools without requests have size 0.
    pub sizes: Vec<u64>,
}

/// The sizes add up beyond `u64`; the request that did it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TooLarge(pub usize);

/// Places all requests. `reserved[pool]` bytes are left free at a pool's start; `padding` bytes are added behind each
/// pool that is used.
///
/// `alignment` must be a multiple of 16: with less the exporter's algorithm meets tensors that are larger than what it
/// placed before, and stops with an assertion (docs/format.md, "Greedy planner").
///
/// # Errors
/// [`TooLarge`].
pub fn plan(requests: &[Request], alignment: u64, reserved: &[u64], padding: u64) -> Result<Placement, TooLarge> {
    let mut pools: BTreeMap<u32, Pool> = BTreeMap::new();
    let horizon = requests.iter().map(|r| r.end).max().unwrap_or(0);
    let mut offsets = vec![(0, 0); requests.len()];
    for index in largest_first(requests)? {
        let request = requests[index];
        let size = align_up(request.size, alignment).ok_or(TooLarge(index))?;
        let pool = pools.entry(request.pool).or_insert_with(|| Pool::new(horizon));
        offsets[index] = pool.place(size, request.start, request.end);
    }
    lay_out(requests, pools, offsets, reserved, padding)
}

/// Largest first; among equals the last one first.
fn largest_first(requests: &[Request]) -> Result<Vec<usize>, TooLarge> {
    let mut keyed = Vec::with_capacity(requests.len());
    for (index, request) in requests.iter().enumerate() {
        keyed.push((align_up(request.size, SORT_ALIGNMENT).ok_or(TooLarge(index))?, index));
    }
    keyed.sort_unstable_by(|a, b| b.cmp(a));
    Ok(keyed.into_iter().map(|(_, index)| index).collect())
}

/// Puts each pool's objects one behind the other.
fn lay_out(
    requests: &[Request],
    pools: BTreeMap<u32, Pool>,
    places: Vec<(usize, u64)>,
    reserved: &[u64],
    padding: u64,
) -> Result<Placement, TooLarge> {
    let top = pools.keys().next_back().map_or(0, |pool| *pool as usize);
    let mut sizes = vec![0u64; top + 1];
    let mut bases: BTreeMap<u32, Vec<u64>> = BTreeMap::new();
    let blame = requests.len().saturating_sub(1);
    for (id, pool) in &pools {
        let mut end = reserved.get(*id as usize).copied().unwrap_or(0);
        let mut starts = Vec::with_capacity(pool.objects.len());
        for object in &pool.objects {
            starts.push(end);
            end = end.checked_add(object.size).ok_or(TooLarge(blame))?;
        }
        sizes[*id as usize] = end.checked_add(padding).ok_or(TooLarge(blame))?;
        bases.insert(*id, starts);
    }
    let offsets =
        places.iter().zip(requests).map(|((object, offset), request)| bases[&request.pool][*object] + offset).collect();
    Ok(Placement { offsets, sizes })
}

/// A pool while it is planned: objects, each large enough for its first tenant, and shared by others at other times or
/// at other offsets.
struct Pool {
    objects: Vec<Object>,
    /// With more than [`FEW`] objects.
    index: Option<Index>,
    horizon: u32,
}

struct Object {
    size: u64,
    /// The highest end of a tenant at each time.
    skyline: Skyline,
}

/// So many objects are looked at one by one, which is faster as long as they are few, as in most programs.
const FEW: usize = 16;

impl Pool {
    fn new(horizon: u32) -> Pool {
        Pool { objects: Vec::new(), index: None, horizon }
    }

    /// Object and offset in it for a tensor not larger than all before.
    fn place(&mut self, size: u64, start: u32, end: u32) -> (usize, u64) {
        let found = match &mut self.index {
            Some(index) => index.find(&self.objects, size, start, end),
            None => self.look(size, start, end),
        };
        let (object, offset) = found.unwrap_or_else(|| (self.add_object(size), 0));
        let height = offset + size;
        self.objects[object].skyline.raise(start, end, height);
        if let Some(index) = &mut self.index {
            index.occupy(&self.objects, object, start, end, height);
        }
        (object, offset)
    }

    /// The first object that is empty all the time, or else the first that has tenants and room above them.
    fn look(&self, size: u64, start: u32, end: u32) -> Option<(usize, u64)> {
        let mut above = None;
        for (number, object) in self.objects.iter().enumerate() {
            match object.skyline.top(start, end) {
                None => return Some((number, 0)),
                Some(top) if above.is_none() && top > 0 && object.size - top >= size => above = Some((number, top)),
                Some(_) => {}
            }
        }
        above
    }

    fn add_object(&mut self, size: u64) -> usize {
        self.objects.push(Object { size, skyline: Skyline::new() });
        if let Some(index) = &mut self.index {
            index.add_object();
        } else if self.objects.len() > FEW {
            self.index = Some(Index::new(&self.objects, self.horizon));
        }
        self.objects.len() - 1
    }
}

/// Answers for many objects what [`Pool::look`] answers for few.
struct Index {
    /// When no tenant of an object lives at all.
    empty: FirstFit,
    /// When an object has room above its tenants for a tensor of the current size.
    roomy: FirstFit,
    /// Stretches of time in which an object has too little room now, by how much it has.
    cramped: BinaryHeap<(u64, usize, u32, u32)>,
    /// Tenants of size zero need an answer of their own; built when the first comes.
    occupied: Option<FirstOccupied>,
    horizon: u32,
}

impl Index {
    fn new(objects: &[Object], horizon: u32) -> Index {
        let mut index = Index {
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

    fn find(&mut self, objects: &[Object], size: u64, start: u32, end: u32) -> Option<(usize, u64)> {
        self.let_smaller_in(objects, size);
        if let Some(object) = self.empty.find(start, end) {
            return Some((object, 0));
        }
        let object = if size == 0 {
            // Of tensors without a size only those find a place above others that live beside a tensor that has one.
            self.occupied.get_or_insert_with(|| FirstOccupied::new(objects, self.horizon)).first(start, end)
        } else {
            self.roomy.find(start, end)
        }?;
        Some((object, objects[object].skyline.top(start, end).unwrap_or(0)))
    }

    /// The sizes asked for only fall: stretches with enough room for `size` are opened.
    fn let_smaller_in(&mut self, objects: &[Object], size: u64) {
        while let Some(&(room, object, start, end)) = self.cramped.peek() {
            if room < size {
                break;
            }
            self.cramped.pop();
            // A stretch that was built upon since has become another.
            let Object { size: whole, skyline } = &objects[object];
            if skyline.stretch(start).is_some_and(|(until, height)| until == end && whole - height == room) {
                self.roomy.release(object, start, end);
            }
        }
    }

    /// An object was built up. What is left of stretches that were cut is open already: nothing is built where there is
    /// no room.
    fn occupy(&mut self, objects: &[Object], object: usize, start: u32, end: u32, height: u64) {
        self.empty.occupy(object, start, end);
        self.roomy.occupy(object, start, end);
        if let Some(occupied) = self.occupied.as_mut().filter(|_| height > 0) {
            occupied.add(object, start, end);
        }
        let room = objects[object].size - height;
        // What has no room is never opened: tensors without a size are `occupied`'s.
        if room > 0 {
            self.cramped.push((room, object, start, end));
        }
    }
}

/// For tensors without a size: the first object whose skyline rises above zero at some time of an interval. A segment
/// tree over time; node `i` has children `2i` and `2i + 1`.
struct FirstOccupied {
    /// The first object that rises throughout a node's time.
    throughout: Vec<u32>,
    /// The first object that rises at some time of a node's.
    sometime: Vec<u32>,
}

impl FirstOccupied {
    fn new(objects: &[Object], horizon: u32) -> FirstOccupied {
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

    /// Visits the nodes that together make up an interval.
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

    /// The algorithm as the rules tell it, one loop inside another.
    fn plainly(requests: &[Request], alignment: u64) -> Result<Placement, TooLarge> {
        type Tenant = (u32, u32, u64, u64);
        let mut pools: BTreeMap<u32, Vec<(u64, Vec<Tenant>)>> = BTreeMap::new();
        let mut places = vec![(0, 0); requests.len()];
        for index in largest_first(requests)? {
            let Request { size, start, end, pool } = requests[index];
            let size = align_up(size, alignment).unwrap();
            let objects = pools.entry(pool).or_default();
            let meets = |t: &Tenant| !(end < t.0 || start > t.1);
            let top = |tenants: &[Tenant]| tenants.iter().filter(|t| meets(t)).map(|t| t.2 + t.3).max().unwrap_or(0);
            let place = match objects.iter().position(|(_, tenants)| !tenants.iter().any(meets)) {
                Some(object) => (object, 0),
                None => {
                    match objects.iter().position(|(room, tenants)| top(tenants) > 0 && top(tenants) + size <= *room) {
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
        let offset = |(place, request): (&(usize, u64), &Request)| {
            pools[&request.pool][..place.0].iter().map(|o| o.0).sum::<u64>() + place.1
        };
        Ok(Placement { offsets: places.iter().zip(requests).map(offset).collect(), sizes })
    }

    fn requests() -> impl Strategy<Value = Vec<Request>> {
        let sizes = prop_oneof![Just(0u64), Just(16), 1..200u64, 1..5000u64];
        prop::collection::vec(
            (sizes, 0..60u32, 0..60u32, 1..3u32).prop_map(|(size, a, b, pool)| Request {
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
        fn equals_the_plain_algorithm(requests in requests(), alignment in prop::sample::select(vec![16u64, 32, 48, 64])) {
            prop_assert_eq!(plan(&requests, alignment, &[], 0), plainly(&requests, alignment));
        }
    }

    /// `tests/golden/upstream/planner/cases.json` holds what ExecuTorch's own planner answered.
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
        let text = std::fs::read_to_string(crate::golden::upstream("planner/cases.json")).unwrap();
        let cases: Cases = serde_json::from_str(&text).unwrap();
        assert!(cases.cases.len() > 100);
        for (number, case) in cases.cases.iter().enumerate() {
            let requests: Vec<Request> = case
                .tensors
                .iter()
                .map(|(size, start, end, pool)| Request { size: *size, start: *start, end: *end, pool: (*pool).max(1) })
                .collect();
            let got = plan(&requests, case.alignment, &[], 0).unwrap_or_else(|e| panic!("case {number}: {e:?}"));
            let offsets: Vec<u64> = case.places.iter().map(|(_, offset)| *offset).collect();
            assert_eq!(got.offsets, offsets, "case {number}");
            let sizes = if requests.is_empty() { vec![0] } else { case.sizes.clone() };
            assert_eq!(got.sizes, sizes, "case {number}");
        }
    }

    #[test]
    fn reserved_room_and_padding_stay_free() {
        let request = Request { size: 20, start: 0, end: 1, pool: 1 };
        let got = plan(&[request, request], 16, &[0, 48], 64).unwrap();
        assert_eq!(got, Placement { offsets: vec![80, 48], sizes: vec![0, 48 + 64 + 64] });
        let huge = Request { size: u64::MAX, ..request };
        assert_eq!(plan(&[huge], 16, &[], 0), Err(TooLarge(0)));
    }
}
