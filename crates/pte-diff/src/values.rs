//! Matches the values of both sides, and compares matched values.
//!
//! Inputs, results, states and other tensors are matched one to one by their uses. Constants and literals are compared
//! by content wherever they are used, because equal ones are interchangeable. Indices do not matter.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::align::{by_key, grouped, in_common_order, per_side};
use super::data::Found;
use super::difference::{DiffArea, DiffTopic, Differences, DifferingPart};
use super::view::{MethodView, ValueRole, distinct, list, numbers, tensor_type};
use pte_model::diagnostics::clipped;
use pte_model::program::attributes::{AttributeKind, TENSOR_ATTRIBUTES};
use pte_model::program::{EValue, Memory, Tensor, TensorData, ValueId};

/// Maximum number of comparisons of items of lists, after which lists count as different. Lists of a hostile file can
/// share their items.
const WORK: u64 = 1 << 26;

/// Values of two methods, matched.
pub struct Matching<'s> {
    /// The two methods.
    pub views: [&'s MethodView<'s>; 2],
    to_right: Vec<Option<u32>>,
    to_left: Vec<Option<u32>>,
    /// Matched values, in the order of their matches.
    pairs: Vec<(u32, u32)>,
    /// Pairs of values whose items are matched.
    paired_lists: HashSet<(ValueId, ValueId)>,
    /// Pairs of values whose items are compared as constants.
    compared_lists: HashSet<(ValueId, ValueId)>,
    /// Results of comparing lists.
    equal_lists: HashMap<(ValueId, ValueId), bool>,
    /// Pairs of constants.
    constants: HashSet<(u32, u32)>,
    work: u64,
}

impl<'s> Matching<'s> {
    /// Creates a matching with the named states whose names each method has once.
    pub fn new(views: [&'s MethodView<'s>; 2]) -> Matching<'s> {
        let [left, right] = views.map(|view| view.roles.len());
        let mut matching = Matching {
            views,
            to_right: vec![None; left],
            to_left: vec![None; right],
            pairs: Vec::new(),
            paired_lists: HashSet::new(),
            compared_lists: HashSet::new(),
            equal_lists: HashMap::new(),
            constants: HashSet::new(),
            work: WORK,
        };
        matching.pair_states();
        matching
    }

    fn pair_states(&mut self) {
        let named = |view: &MethodView<'s>| {
            let mut found: HashMap<&'s str, Vec<ValueId>> = HashMap::new();
            for (index, tensor) in view.plan.tensors() {
                if let (ValueRole::State, Some(name)) = (view.roles[index], tensor.name()) {
                    found.entry(name).or_default().push(ValueId::of(index));
                }
            }
            found
        };
        let right = named(self.views[1]);
        // States are in the order of their names, unless both sides have the same order.
        let left: BTreeMap<&str, Vec<ValueId>> = named(self.views[0]).into_iter().collect();
        let mut pairs: Vec<(ValueId, ValueId)> = Vec::new();
        for (name, left) in left {
            if let ([left], Some([right])) = (&left[..], right.get(name).map(Vec::as_slice)) {
                pairs.push((*left, *right));
            }
        }
        in_common_order(&mut pairs);
        pairs.into_iter().for_each(|(left, right)| self.pair(left, right));
    }

    /// Matches two values, unless one of them already has a match or their kinds differ.
    pub fn pair(&mut self, left: ValueId, right: ValueId) {
        let Some((l, r)) = self.values(left, right) else { return };
        if std::mem::discriminant(l) != std::mem::discriminant(r) {
            return;
        }
        if self.paired_lists.insert((left, right)) {
            for (left, right) in self.inner(l, r) {
                self.pair_single(left, right);
            }
        }
        self.pair_single(left, right);
    }

    /// Returns the pairs of items of two lists, up to the length of the shorter one and the bound on the work.
    fn inner(&mut self, left: &EValue, right: &EValue) -> Vec<(ValueId, ValueId)> {
        let count = left.items().len().min(right.items().len());
        let Some(work) = self.work.checked_sub(count as u64) else { return Vec::new() };
        self.work = work;
        let ids = |(left, right)| (ValueId::of_int(left), ValueId::of_int(right));
        left.items().iter().zip(right.items().iter()).map(ids).collect()
    }

    fn values(&self, left: ValueId, right: ValueId) -> Option<(&'s EValue, &'s EValue)> {
        self.views[0].plan.value(left).zip(self.views[1].plan.value(right))
    }

    fn pair_single(&mut self, left: ValueId, right: ValueId) {
        let Some((l, r)) = self.values(left, right) else { return };
        let (Some(left_role), Some(right_role)) = (self.views[0].role(left), self.views[1].role(right)) else { return };
        if left_role.is_by_content() || right_role.is_by_content() {
            return;
        }
        // Numbers can only be distinguished by their content.
        let is_alike = match (l, r) {
            (EValue::Tensor(_), EValue::Tensor(_)) => true,
            _ => same_scalar(l, r),
        };
        let (Some(left), Some(right)) = (left.get(), right.get()) else { return };
        if is_alike && self.to_right[left].is_none() && self.to_left[right].is_none() {
            self.to_right[left] = Some(right as u32);
            self.to_left[right] = Some(left as u32);
            self.pairs.push((left as u32, right as u32));
        }
    }

    /// Returns the matched values, in the order of their matches.
    pub fn pairs(&self) -> Vec<(usize, usize)> {
        self.pairs.iter().map(|(left, right)| (*left as usize, *right as usize)).collect()
    }

    /// Returns the value of the right side that matches a value of the left side; `None` without a match.
    pub fn right_of(&self, left: ValueId) -> Option<u32> {
        *left.item(&self.to_right)?
    }

    /// Returns true if two values are equal as arguments. All constants count as equal here; their content is compared
    /// later.
    pub fn is_same(&mut self, left: ValueId, right: ValueId) -> bool {
        let Some((l, r)) = self.values(left, right) else {
            let is_absent = |view: &MethodView<'_>, index| view.plan.value(index).is_none();
            return left == right && is_absent(self.views[0], left) && is_absent(self.views[1], right);
        };
        if let Some(known) = self.equal_lists.get(&(left, right)) {
            return *known;
        }
        if !self.is_same_single(left, right) {
            return false;
        }
        let (count, other) = (l.items().len(), r.items().len());
        if count + other == 0 {
            return true;
        }
        let work = self.work.checked_sub(count.max(other) as u64);
        self.work = work.unwrap_or(0);
        let is_same = work.is_some()
            && count == other
            && l.items().iter().zip(r.items().iter()).all(|(left, right)| {
                let ids = [ValueId::of_int(left), ValueId::of_int(right)];
                // -1 means None; other indices are invalid.
                match self.values(ids[0], ids[1]) {
                    Some(_) => self.is_same_single(ids[0], ids[1]),
                    None => left == right && (0..2).all(|side| self.views[side].plan.value(ids[side]).is_none()),
                }
            });
        self.equal_lists.insert((left, right), is_same);
        is_same
    }

    /// Returns true if two values are equal as arguments, without comparing the items of lists.
    fn is_same_single(&self, left: ValueId, right: ValueId) -> bool {
        let Some((l, r)) = self.values(left, right) else { return false };
        match (self.views[0].role(left), self.views[1].role(right)) {
            (Some(ValueRole::Constant), Some(ValueRole::Constant)) => true,
            (Some(ValueRole::Literal), Some(ValueRole::Literal)) => same_scalar(l, r),
            (Some(left_role), Some(right_role)) if left_role.is_by_content() || right_role.is_by_content() => false,
            _ => self.right_of(left) == u32::try_from(right.0).ok(),
        }
    }

    /// Compares the constants of two equal arguments, including items of lists, and registers their data.
    pub fn compare_constants(
        &mut self,
        left: ValueId,
        right: ValueId,
        uses: [&dyn Fn() -> String; 2],
        found: &mut Found,
    ) {
        let Some((l, r)) = self.values(left, right) else { return };
        self.compare_constant(left, right, uses, found);
        if self.compared_lists.insert((left, right)) {
            for (left, right) in self.inner(l, r) {
                self.compare_constant(left, right, uses, found);
            }
        }
    }

    fn compare_constant(&mut self, left: ValueId, right: ValueId, uses: [&dyn Fn() -> String; 2], found: &mut Found) {
        let roles = (self.views[0].role(left), self.views[1].role(right));
        if roles != (Some(ValueRole::Constant), Some(ValueRole::Constant)) {
            return;
        }
        let key = (left.0 as u32, right.0 as u32);
        if self.constants.insert(key) {
            self.compare_pair(key, DiffTopic::Constant, found);
        }
        found.add_use([self.views[0].number, self.views[1].number], key, uses);
    }

    /// Compares all matched values, and the unused values.
    pub fn compare_all(&self, found: &mut Found) {
        for pair in &self.pairs {
            self.compare_pair(*pair, DiffTopic::Value, found);
        }
        self.compare_unused(found);
    }

    /// Compares two matched values, but not their indices.
    fn compare_pair(&self, pair: (u32, u32), topic: DiffTopic, found: &mut Found) {
        let (left, right) = (pair.0 as usize, pair.1 as usize);
        let [l, r] = [&self.views[0].plan.values()[left], &self.views[1].plan.values()[right]];
        let paths = || [self.views[0].value_path(left), self.views[1].value_path(right)];
        let (EValue::Tensor(l), EValue::Tensor(r)) = (l, r) else {
            // Numbers are matched only if they are equal.
            return;
        };
        // A value that is an input on only one side counts as an input.
        let topic = match (self.views[0].roles[left], self.views[1].roles[right]) {
            (ValueRole::Input(_), _) | (_, ValueRole::Input(_)) => DiffTopic::Input,
            _ => topic,
        };
        let (meaning, ignored) = properties(l, r);
        let mut add = |area, topic, texts: Vec<(String, [String; 2])>| {
            if texts.is_empty() {
                return;
            }
            let text = |side: usize| {
                let shown: Vec<String> = texts.iter().map(|(name, values)| format!("{name}{}", values[side])).collect();
                let name = [l, r][side].name().map_or(String::new(), |name| format!("`{}` ", clipped(name)));
                Some(format!("{name}{}", shown.join(", ")))
            };
            found.differing(area, topic, paths(), per_side(text));
        };
        add(DiffArea::Meaning, topic, meaning);
        add(DiffArea::Layout, DiffTopic::Ignored, ignored);
        let is_needed = (self.views[0].is_used[left] || self.views[1].is_used[right])
            && !(self.views[0].is_of_caller[left] && self.views[1].is_of_caller[right])
            && [l, r].iter().all(|tensor| tensor.data == TensorData::None);
        self.compare_memory((l, r), is_needed, &paths, found);
        self.compare_contents(pair, (l, r), &paths, found);
    }

    /// Compares the data of two tensors, or adds them to those to compare later.
    fn compare_contents(
        &self,
        pair: (u32, u32),
        (l, r): (&Tensor, &Tensor),
        paths: &dyn Fn() -> [String; 2],
        found: &mut Found,
    ) {
        let missing = self.missing(pair);
        if missing != [None, None] {
            if missing[0] != missing[1] {
                let text = |side: usize| {
                    Some(format!("{}, {}", tensor_type([l, r][side]), missing[side].unwrap_or("with data")))
                };
                found.differing(DiffArea::Data, DiffTopic::Constant, paths(), per_side(text));
            }
            return;
        }
        let is_alike = l.scalar_type == r.scalar_type && l.sizes.as_deref() == r.sizes.as_deref();
        if let (TensorData::Blob(l_blob), TensorData::Blob(r_blob)) = (&l.data, &r.data) {
            let describe = |view: &MethodView<'_>, tensor: &Tensor, index: u32| {
                let name = tensor.name().or_else(|| view.side.value_name(view.number, index as usize));
                let name = name.map_or(String::new(), |name| format!("`{}` ", clipped(name)));
                format!("{name}{}", tensor_type(tensor))
            };
            let [left_path, right_path] = paths();
            let parts = [
                DifferingPart::new(left_path, describe(self.views[0], l, pair.0)),
                DifferingPart::new(right_path, describe(self.views[1], r, pair.1)),
            ];
            if !is_alike {
                let parts = parts.map(|part| DifferingPart { value: part.value + ", not compared", ..part });
                return found.changed(DiffArea::Data, DiffTopic::Constant, parts);
            }
            let ids = [*l_blob, *r_blob];
            let blobs = per_side(|side| self.views[side].side.program.blob(ids[side]).clone());
            found.add_constant(self.views.map(|view| view.number), pair, ids, blobs, l.scalar_type, parts);
        }
        if l.is_external() != r.is_external() && [l, r].iter().all(|tensor| tensor.data != TensorData::None) {
            let place = |tensor: &Tensor| if tensor.is_external() { "in a .ptd" } else { "in the program" };
            let paths = paths();
            let text = |side: usize| format!("{} {}", tensor_type([l, r][side]), place([l, r][side]));
            let parts = per_side(|side| DifferingPart::new(&*paths[side], text(side)));
            found.moved(DiffArea::Data, DiffTopic::Constant, parts);
        }
    }

    /// Returns the messages about the references of two tensors to their data; `None` for a valid reference.
    fn missing(&self, pair: (u32, u32)) -> [Option<&'s str>; 2] {
        [self.views[0].missing(pair.0 as usize), self.views[1].missing(pair.1 as usize)]
    }

    /// Compares the locations of two tensors in planned memory. A tensor that is needed during the execution cannot be
    /// used without it; for those of the caller, the caller provides memory.
    fn compare_memory(
        &self,
        (l, r): (&Tensor, &Tensor),
        is_needed: bool,
        paths: &dyn Fn() -> [String; 2],
        found: &mut Differences,
    ) {
        if l.memory == r.memory {
            return;
        }
        let paths = paths();
        let text = |side: usize| format!("{} {}", tensor_type([l, r][side]), place([l, r][side]));
        let parts = per_side(|side| DifferingPart::new(&*paths[side], text(side)));
        match (l.memory, r.memory) {
            (Memory::None, _) | (_, Memory::None) => {
                let area = if is_needed { DiffArea::Meaning } else { DiffArea::Layout };
                found.changed(area, DiffTopic::Memory, parts);
            }
            _ => found.moved(DiffArea::Layout, DiffTopic::Memory, parts),
        }
    }

    /// Compares the unused values as a multiset.
    fn compare_unused(&self, found: &mut Found) {
        let unused = |view: &MethodView<'s>, matched: &[Option<u32>]| {
            let free = (0..view.roles.len()).filter(|index| !view.is_used[*index] && matched[*index].is_none());
            let mut known = vec![None; view.roles.len()];
            grouped(free.map(|index| ((view.describe_unused(index), view.content_hash(index, &mut known)), index)))
        };
        let groups: Vec<_> =
            by_key([unused(self.views[0], &self.to_right), unused(self.views[1], &self.to_left)]).collect();
        let mut descriptions: HashMap<&str, usize> = HashMap::new();
        groups.iter().for_each(|((name, _), _)| *descriptions.entry(name).or_default() += 1);
        for ((name, hash), [lefts, rights]) in &groups {
            let hash = match descriptions.get(&**name) {
                Some(2..) => format!(", hash {hash:016x}"),
                _ => String::new(),
            };
            let common = lefts.len().min(rights.len());
            for (l, r) in lefts.iter().zip(rights) {
                self.compare_pair((*l as u32, *r as u32), DiffTopic::Constant, found);
            }
            let text = |rest: &[usize], view: &MethodView<'_>| {
                let path = rest.first().map(|index| view.value_path(*index))?;
                let count = if rest.len() > 1 { format!(", {} of them", rest.len()) } else { String::new() };
                Some(DifferingPart::new(path, format!("unused {name}{hash}{count}")))
            };
            let (area, topic) = (DiffArea::Layout, DiffTopic::Value);
            text(&lefts[common..], self.views[0]).into_iter().for_each(|part| found.removed(area, topic, part));
            text(&rights[common..], self.views[1]).into_iter().for_each(|part| found.added(area, topic, part));
        }
    }
}

/// Describes the location of a tensor in planned memory.
fn place(tensor: &Tensor) -> String {
    match tensor.memory {
        Memory::None => "without planned memory".to_owned(),
        Memory::At { pool, offset } => format!("at pool {pool}, offset {offset}"),
        Memory::Auto { .. } | Memory::View { .. } => "not planned yet".to_owned(),
    }
}

/// Returns true if two values that are not tensors are equal. Of lists of values, only the kind is compared.
fn same_scalar(left: &EValue, right: &EValue) -> bool {
    let same_bits = |l: &[f64], r: &[f64]| l.iter().map(|x| x.to_bits()).eq(r.iter().map(|x| x.to_bits()));
    match (left, right) {
        (EValue::Double(l), EValue::Double(r)) => l.to_bits() == r.to_bits(),
        (EValue::DoubleList(Some(l)), EValue::DoubleList(Some(r))) => same_bits(l, r),
        (EValue::IntList(l), EValue::IntList(r)) => l.is_some() == r.is_some(),
        (EValue::TensorList(l), EValue::TensorList(r)) => l.is_some() == r.is_some(),
        (EValue::OptionalTensorList(l), EValue::OptionalTensorList(r)) => l.is_some() == r.is_some(),
        _ => left == right,
    }
}

/// Properties that differ: the name, which ends with a space, and both values.
type DifferingProperties = Vec<(String, [String; 2])>;

/// Returns the properties of two tensors that differ: those that matter, and those that the runtime ignores. Planned
/// memory and the bytes of data are not compared.
fn properties(l: &Tensor, r: &Tensor) -> (DifferingProperties, DifferingProperties) {
    let (mut found, mut ignored) = (Vec::new(), Vec::new());
    if l.scalar_type != r.scalar_type || l.sizes.as_deref() != r.sizes.as_deref() {
        found.push((String::new(), [l, r].map(tensor_type)));
    }
    if l.dim_order.as_deref() != r.dim_order.as_deref() {
        found.push(("dim_order ".to_owned(), [l, r].map(|tensor| list(tensor.dim_order.as_deref()))));
    }
    for attribute in TENSOR_ATTRIBUTES {
        let values = [(attribute.get)(l), (attribute.get)(r)];
        if values[0] != values[1] {
            let word = |value: i32| match attribute.kind {
                AttributeKind::Byte(words) => usize::try_from(value).ok().and_then(|value| words.get(value).copied()),
                AttributeKind::Bool | AttributeKind::Int => None,
            };
            let values = values.map(|value| word(value).map_or_else(|| value.to_string(), str::to_owned));
            found.push((format!("{} ", attribute.key), values));
        }
    }
    if l.device() != r.device() {
        let device = |tensor: &Tensor| numbers(tensor.device());
        found.push(("device ".to_owned(), [l, r].map(device)));
    }
    let kind = |tensor: &Tensor| match tensor.data {
        TensorData::None => "no data",
        TensorData::Blob(_) | TensorData::Elsewhere(_) => "data",
    };
    if kind(l) != kind(r) {
        found.push((String::new(), [l, r].map(|tensor| kind(tensor).to_owned())));
    }
    let is_moved = l.is_external() != r.is_external();
    let names = [l, r].map(Tensor::name);
    // Data need a name in a `.ptd`, so that moving them adds it.
    if names[0] != names[1] && !(is_moved && names.contains(&None)) {
        let texts = match names {
            [Some(left), Some(right)] => distinct([left, right]).map(|name| format!("`{name}`")),
            _ => names.map(|name| name.map_or("absent".to_owned(), |name| format!("`{}`", clipped(name)))),
        };
        found.push(("name ".to_owned(), texts));
    }
    let extra = |tensor: &Tensor| {
        let extra = tensor.extra_tensor_info.as_ref();
        extra.map(|extra| (extra.location.0, extra.mutable_data_segments_idx))
    };
    if extra(l) != extra(r) && !is_moved {
        let text = |tensor: &Tensor| match extra(tensor) {
            None => "absent".to_owned(),
            Some((location, index)) => format!("location {location}, mutable_data_segments_idx {index}"),
        };
        let texts = [l, r].map(text);
        let is_location = extra(l).map_or(0, |(location, _)| location) != extra(r).map_or(0, |(location, _)| location);
        let list = if is_location { &mut found } else { &mut ignored };
        list.push(("extra_tensor_info ".to_owned(), texts));
    }
    (found, ignored)
}
