//! Pairs the data of both sides, compares them, and reports those that differ.

use std::collections::{HashMap, HashSet};
use std::io;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use super::align::{keyed, numbered, per_side};
use super::bytes::{self, BlobPair, ByteDifference};
use super::difference::{DataStatistics, DiffArea, DiffKind, DiffTopic, Difference, Differences, DifferingPart};
use super::side::{ExternalEntry, Side};
use super::view::{distinct, list};
use pte_model::data::{Blob, BlobId, workers};
use pte_model::diagnostics::{clipped, counted};
use pte_model::format::ScalarType;
use pte_model::program::element::Element;
use pte_model::program::test_cases::{MethodTests, TestCase, TestData};
use pte_model::program::{NamedData, TensorLayout};
use pte_payload::flat::schema::Schema;

/// Extent to which data are compared: an argument of [`compare`](crate::compare).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum DiffData {
    /// Data are not compared, and only metadata are read.
    None,
    /// Data are compared as bytes. Different data are reported with their SHA-256.
    Hash,
    /// Data are compared as bytes. Different data are reported with statistics of their elements.
    #[default]
    Statistics,
}

/// Size in bytes up to which data without statistics are reported with a hash. A hash takes longer than comparing them.
const MAX_HASHED: u64 = 16 << 20;

/// Data that both sides have.
struct DataPair {
    area: DiffArea,
    topic: DiffTopic,
    blobs: [Blob; 2],
    scalar_type: Option<ScalarType>,
    parts: [DifferingPart; 2],
    /// The two sides have different keys for the data.
    is_renamed: bool,
}

/// Pair of constants: methods and values of both sides.
type ConstantKey = ([usize; 2], (u32, u32));

/// Differences found so far, and data that both sides have, to be compared together.
pub struct Found {
    /// Differences without those of the data.
    pub differences: Differences,
    /// Schema of payloads whose format is not known.
    pub schema: Option<Arc<Schema>>,
    /// Number of bytes that may be read on each side. Ranges of a hostile file can overlap.
    limit: u64,
    /// Number of bytes of payloads decoded so far.
    decoded: u64,
    pairs: Vec<DataPair>,
    constants: HashMap<ConstantKey, usize>,
    by_blob: HashMap<([BlobId; 2], ScalarType), usize>,
    payloads: HashSet<[BlobId; 2]>,
    /// Keys of named data that the graphs of delegates pair.
    keys: [HashSet<String>; 2],
}

impl Deref for Found {
    type Target = Differences;

    fn deref(&self) -> &Differences {
        &self.differences
    }
}

impl DerefMut for Found {
    fn deref_mut(&mut self) -> &mut Differences {
        &mut self.differences
    }
}

impl Found {
    /// Creates a collection without data. At most `limit` bytes are read on each side.
    pub fn new(differences: Differences, limit: u64, schema: Option<Arc<Schema>>) -> Found {
        let (decoded, pairs, constants, by_blob, payloads, keys) = Default::default();
        Found { differences, schema, limit, decoded, pairs, constants, by_blob, payloads, keys }
    }

    /// Adds two constants or initial states of methods.
    pub fn add_constant(
        &mut self,
        methods: [usize; 2],
        values: (u32, u32),
        ids: [BlobId; 2],
        blobs: [Blob; 2],
        scalar_type: ScalarType,
        parts: [DifferingPart; 2],
    ) {
        let next = self.pairs.len();
        let index = *self.by_blob.entry((ids, scalar_type)).or_insert(next);
        self.constants.insert((methods, values), index);
        if index == next {
            let scalar_type = Some(scalar_type);
            let (area, topic) = (DiffArea::Data, DiffTopic::Constant);
            self.pairs.push(DataPair { area, topic, blobs, scalar_type, parts, is_renamed: false });
        }
    }

    /// Adds a use of two constants.
    pub fn add_use(&mut self, methods: [usize; 2], values: (u32, u32), uses: [&dyn Fn() -> String; 2]) {
        let pair = self.constants.get(&(methods, values)).and_then(|index| self.pairs.get_mut(*index));
        if let Some(pair) = pair {
            pair.parts.iter_mut().zip(uses).for_each(|(part, path)| part.add_use(path));
        }
    }

    /// Returns true for the first call with two payloads.
    pub fn is_new_payload(&mut self, ids: [BlobId; 2]) -> bool {
        self.payloads.insert(ids)
    }

    /// Returns true if a payload of `bytes` bytes may be decoded. The limit on the total allows each byte of a file a
    /// few times.
    pub fn may_decode(&mut self, bytes: u64) -> bool {
        self.decoded = self.decoded.saturating_add(bytes);
        self.decoded <= self.limit
    }

    /// Adds two payloads of delegates whose content is not known.
    pub fn add_payload(&mut self, blobs: [Blob; 2], parts: [DifferingPart; 2]) {
        let (area, topic) = (DiffArea::Meaning, DiffTopic::Delegate);
        self.pairs.push(DataPair { area, topic, blobs, scalar_type: None, parts, is_renamed: false });
    }

    /// Adds two constants of the graphs of delegates.
    pub fn add_graph_constant(
        &mut self,
        blobs: [Blob; 2],
        scalar_type: Option<ScalarType>,
        parts: [DifferingPart; 2],
        keys: [Option<&str>; 2],
    ) {
        keys.into_iter().enumerate().for_each(|(side, key)| key.into_iter().for_each(|key| self.know_key(side, key)));
        let is_renamed = keys[0] != keys[1];
        let (area, topic) = (DiffArea::Data, DiffTopic::Constant);
        self.pairs.push(DataPair { area, topic, blobs, scalar_type, parts, is_renamed });
    }

    /// Records that the entry of `named_data` with this key is compared where it is used.
    pub fn know_key(&mut self, side: usize, key: &str) {
        self.keys[side].insert(key.to_owned());
    }

    /// Adds the data that no method refers to: named data, keys of `.ptd` files, tests.
    pub fn add_files(&mut self, sides: [&Side; 2]) {
        self.add_named(sides);
        // The `.ptd` files of a `.pte` are not known. Those of YAML are known, and a file of weights has nothing else.
        let is_weights = |side: &&Side| side.program.execution_plan.is_none();
        let has_external = |side: &&Side| side.external.is_some() || side.file.is_none();
        if sides.iter().any(is_weights) || sides.iter().all(has_external) {
            self.add_external(sides);
        }
        // YAML may be assembled to a `.pte`, which has no tests.
        let has_tests = |side: &&Side| side.tests.is_some() || side.file.is_none();
        if sides.iter().all(has_tests) || sides.iter().all(|side| side.file.is_some()) {
            self.add_tests(sides.map(|side| side.tests.as_deref().unwrap_or_default()));
        }
    }

    fn add_named(&mut self, sides: [&Side; 2]) {
        let entries = per_side(|side| {
            let entries = sides[side].program.named_data.iter().flatten().zip(0usize..);
            let free = entries.filter(|(entry, _)| !self.keys[side].contains(&entry.key));
            numbered(free.map(|(entry, index)| (entry.key.as_str(), (index, entry))))
        });
        let part = |side: usize, (index, entry): (usize, &NamedData)| {
            let bytes = counted(sides[side].program.blob(entry.data).len(), "byte");
            DifferingPart::new(format!("named_data[{index}]"), format!("`{}` {bytes}", clipped(&entry.key)))
        };
        let (area, topic) = (DiffArea::Data, DiffTopic::NamedData);
        for ((key, _), pair) in keyed(entries) {
            let Some([l, r]) = self.both(area, topic, pair, part) else { continue };
            let mut parts = [part(0, l), part(1, r)];
            let path = |side: usize| Element::NamedData([l.0, r.0][side]).path(&sides[side].program);
            let missing = per_side(|side| sides[side].missing(&path(side)));
            if missing[0] != missing[1] {
                for (part, missing) in parts.iter_mut().zip(missing) {
                    missing.into_iter().for_each(|text| part.value = format!("`{}` {text}", clipped(key)));
                }
                self.changed(area, topic, parts);
                continue;
            }
            let blobs = [sides[0].program.blob(l.1.data).clone(), sides[1].program.blob(r.1.data).clone()];
            self.pairs.push(DataPair { area, topic, blobs, scalar_type: None, parts, is_renamed: false });
        }
        let presence = per_side(|side| sides[side].program.named_data.as_ref().map(|_| "present".to_owned()));
        self.compared(DiffArea::Layout, DiffTopic::File, ["named_data"; 2], presence);
    }

    fn add_external(&mut self, sides: [&Side; 2]) {
        // Data of tensors that moved to or from a `.ptd` are reported with the tensors.
        let moved = per_side(|side| match sides[1 - side].external {
            None if sides[1 - side].program.execution_plan.is_some() => sides[side].external_tensors(),
            None | Some(_) => HashSet::new(),
        });
        let entries = per_side(|side| {
            let entries = sides[side].external.iter().flatten().filter(|entry| !moved[side].contains(&*entry.key));
            numbered(entries.map(|entry| (entry.key.as_str(), entry)))
        });
        let has_same_keys = entries[0].keys().eq(entries[1].keys());
        let part = |_, entry: &ExternalEntry| DifferingPart::new(key_path(&entry.key), describe_entry(entry));
        let (area, topic) = (DiffArea::Data, DiffTopic::ExternalData);
        for (_, pair) in keyed(entries) {
            let Some([l, r]) = self.both(area, topic, pair, part) else { continue };
            let parts = [part(0, l), part(1, r)];
            if l.tensor_layout != r.tensor_layout {
                self.changed(area, topic, parts);
                continue;
            }
            let blobs = [l.data.clone(), r.data.clone()];
            let scalar_type = l.tensor_layout.as_ref().map(|layout| layout.scalar_type);
            self.pairs.push(DataPair { area, topic, blobs, scalar_type, parts, is_renamed: false });
        }
        let order =
            |side: &Side| side.external.iter().flatten().map(|entry| entry.key.clone()).collect::<Vec<String>>();
        let orders = sides.map(order);
        if orders[0] != orders[1] && has_same_keys {
            // The order differs from this key on.
            let first = orders[0].iter().zip(&orders[1]).take_while(|(l, r)| l == r).count();
            let text = |keys: &[String]| {
                let shown: Vec<String> =
                    keys.iter().skip(first).take(4).map(|key| format!("`{}`", clipped(key))).collect();
                let more = if keys.len() > first + 4 { ", ..." } else { "" };
                let keys = counted(keys.len() as u64, "key");
                DifferingPart::new("named_data", format!("{keys}, from [{first}] on: {}{more}", shown.join(", ")))
            };
            self.moved(DiffArea::Layout, DiffTopic::File, orders.each_ref().map(|keys| text(keys)));
        }
    }

    fn add_tests(&mut self, tests: [&[MethodTests]; 2]) {
        let tests = tests.map(|tests| numbered(tests.iter().map(|tests| (tests.method.as_str(), tests))));
        let part = |_, tests: &MethodTests| {
            let cases = counted(tests.cases.len() as u64, "test");
            DifferingPart::new(format!("tests.{}", clipped(&tests.method)), cases)
        };
        let (area, topic) = (DiffArea::Data, DiffTopic::Test);
        for (_, pair) in keyed(tests) {
            let Some([l, r]) = self.both(area, topic, pair, part) else { continue };
            if l.cases.len() != r.cases.len() {
                self.changed(area, topic, [part(0, l), part(1, r)]);
            }
            for (number, (l_case, r_case)) in l.cases.iter().zip(&r.cases).enumerate() {
                let path = format!("tests.{}[{number}]", clipped(&l.method));
                self.add_case(&path, [l_case, r_case]);
            }
        }
    }

    fn add_case(&mut self, path: &str, cases: [&TestCase; 2]) {
        let none: &[TestData] = &[];
        let lists = [
            ("inputs", cases.map(|case| case.inputs.as_slice())),
            ("outputs", cases.map(|case| case.outputs.as_deref().unwrap_or(none))),
        ];
        let (area, topic) = (DiffArea::Data, DiffTopic::Test);
        let presence = cases.map(|case| case.outputs.as_ref().map(|_| "present".to_owned()));
        let outputs = format!("{path}.outputs");
        self.compared(area, topic, [&outputs; 2], presence);
        for (name, values) in [("atol", cases.map(|case| case.atol)), ("rtol", cases.map(|case| case.rtol))] {
            let path = format!("{path}.{name}");
            self.compared(area, topic, [&path; 2], values.map(|value| Some(format!("{value:?}"))));
        }
        for (name, [left, right]) in lists {
            for position in 0..left.len().max(right.len()) {
                let path = format!("{path}.{name}[{position}]");
                let values = [left.get(position), right.get(position)];
                let is_same = match values {
                    [Some(left), Some(right)] => is_same_test(left, right),
                    [_, _] => false,
                };
                let texts = match values {
                    [Some(TestData::String(left)), Some(TestData::String(right))] if left != right => {
                        distinct([left, right]).map(Some)
                    }
                    _ => values.map(|value| value.map(describe_test)),
                };
                if !is_same {
                    self.differing(area, topic, [&path; 2], texts);
                    continue;
                }
                if let [Some(TestData::Tensor { data: l, scalar_type, .. }), Some(TestData::Tensor { data: r, .. })] =
                    values
                {
                    let parts = texts.map(|text| DifferingPart::new(path.clone(), text.unwrap_or_default()));
                    let (blobs, scalar_type) = ([l.clone(), r.clone()], Some(*scalar_type));
                    self.pairs.push(DataPair { area, topic, blobs, scalar_type, parts, is_renamed: false });
                }
            }
        }
    }

    /// Compares all data.
    ///
    /// # Errors
    /// Data that cannot be read.
    pub fn compare(&mut self, mode: DiffData) -> io::Result<()> {
        let mut left = self.limit;
        let (mut compared, mut others) = (Vec::new(), Vec::new());
        for (number, pair) in std::mem::take(&mut self.pairs).into_iter().enumerate() {
            if !self.has(pair.area) {
                continue;
            }
            let [l, r] = [&pair.blobs[0], &pair.blobs[1]].map(Blob::len);
            let fits = left.checked_sub(l);
            match (mode, fits) {
                _ if l != r => others.push((number, pair, None)),
                (DiffData::None, _) => {}
                (_, None) => others.push((number, pair, Some("not compared: the data of the files overlap too often"))),
                (_, Some(fits)) => {
                    left = fits;
                    compared.push((number, pair));
                }
            }
        }
        let blobs: Vec<BlobPair<'_>> = compared
            .iter()
            .map(|(_, pair)| BlobPair { blobs: [&pair.blobs[0], &pair.blobs[1]], scalar_type: pair.scalar_type })
            .collect();
        let results = bytes::compare(&blobs, mode == DiffData::Statistics)?;
        let hashed = |index: &usize| {
            let is_small = blobs[*index].blobs[0].len() <= MAX_HASHED;
            let is_hashed = |difference: &ByteDifference| difference.sums.is_none() && is_small;
            results[*index].as_ref().is_some_and(|difference| mode == DiffData::Hash || is_hashed(difference))
        };
        let digests = workers::map((0..results.len()).filter(hashed).collect(), workers::cores(), |index| {
            let [left, right] = blobs[index].blobs;
            Ok::<_, io::Error>((index, [left.digest()?, right.digest()?]))
        });
        let digests: HashMap<usize, [[u8; 32]; 2]> = digests.into_iter().collect::<io::Result<_>>()?;
        drop(blobs);
        let mut reported: Vec<(usize, Difference)> = Vec::new();
        for (index, ((number, pair), result)) in compared.into_iter().zip(results).enumerate() {
            let DataPair { area, topic, parts, scalar_type, is_renamed, .. } = pair;
            let parts = parts.map(Some);
            match result {
                None if is_renamed => {
                    reported.push((number, Difference::new(area, DiffKind::Moved, topic, parts)));
                }
                None => {}
                Some(difference) => {
                    let sums = difference.sums;
                    let data = DataStatistics {
                        scalar_type,
                        elements: difference.elements,
                        differing: Some(difference.differing),
                        not_finite: sums.map_or(0, |sums| sums.not_finite),
                        max_abs: sums.filter(|sums| sums.finite > 0).map(|sums| sums.max_abs),
                        mean_abs: sums.filter(|sums| sums.finite > 0).map(|sums| sums.sum_abs / sums.finite as f64),
                        cosine: sums.and_then(|sums| sums.cosine()),
                        sha256: digests.get(&index).copied(),
                    };
                    let changed = Difference::new(area, DiffKind::Changed, topic, parts);
                    reported.push((number, Difference { data: Some(data), ..changed }));
                }
            }
        }
        for (number, pair, remark) in others {
            let DataPair { area, topic, blobs, parts, .. } = pair;
            let parts = per_side(|side| {
                let part = parts[side].clone();
                let bytes = counted(blobs[side].len(), "byte");
                let value = match remark {
                    Some(remark) => format!("{}, {remark}", part.value),
                    None if part.value.ends_with(&bytes) => part.value,
                    None => format!("{}, {bytes}", part.value),
                };
                Some(DifferingPart { value, ..part })
            });
            reported.push((number, Difference::new(area, DiffKind::Changed, topic, parts)));
        }
        reported.sort_by_key(|(number, _)| *number);
        reported.into_iter().for_each(|(_, difference)| self.push(difference));
        Ok(())
    }

    /// Returns the ranges of a file that are compared with the same range of another one.
    pub fn ranges(&self) -> Vec<[Blob; 2]> {
        self.pairs.iter().map(|pair| pair.blobs.clone()).collect()
    }
}

/// Returns the path of a key of a `.ptd`.
fn key_path(key: &str) -> String {
    format!("keys.{}", clipped(key))
}

fn describe_entry(entry: &ExternalEntry) -> String {
    let bytes = counted(entry.data.len(), "byte");
    match &entry.tensor_layout {
        Some(TensorLayout { scalar_type, sizes, dim_order }) => {
            let order = format!(" dim_order {}", list(Some(dim_order.iter())));
            let order = if dim_order.is_contiguous() { "" } else { &order };
            format!("{scalar_type} {}{order}, {bytes}", list(Some(sizes)))
        }
        None => bytes,
    }
}

/// Returns true if two values of tests are equal, without comparing the data of tensors.
fn is_same_test(left: &TestData, right: &TestData) -> bool {
    match (left, right) {
        (TestData::Double(l), TestData::Double(r)) => l.to_bits() == r.to_bits(),
        (
            TestData::Tensor { scalar_type, sizes, dim_order, .. },
            TestData::Tensor { scalar_type: r_type, sizes: r_sizes, dim_order: r_order, .. },
        ) => (scalar_type, sizes, dim_order) == (r_type, r_sizes, r_order),
        (l, r) => l == r,
    }
}

fn describe_test(value: &TestData) -> String {
    match value {
        TestData::Null => "none".to_owned(),
        TestData::Int(number) => number.to_string(),
        TestData::Double(number) => format!("{number:?}"),
        TestData::Bool(bool) => bool.to_string(),
        TestData::String(text) => format!("{:?}", clipped(text)),
        TestData::Tensor { scalar_type, sizes, dim_order, .. } => {
            format!("{scalar_type} {} dim_order {}", list(Some(sizes)), list(Some(dim_order.iter())))
        }
    }
}
