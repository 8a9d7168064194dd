//! The result of a comparison, as plain data.

use std::collections::BTreeMap;

use serde::{Serialize, Serializer};

use super::align::Paired;
use pte_model::diagnostics::text::named_path;
use pte_model::diagnostics::{clipped, counted};
use pte_model::format::ScalarType;
use pte_model::format::words::words;

/// Version of the serialised form.
const VERSION: u32 = 1;

words! {
    /// Area of a [`Difference`]. Its name is also the value of `--only`.
    #[non_exhaustive]
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
    #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
    #[serde(rename_all = "lowercase")]
    pub enum DiffArea {
        /// Computation, without the bytes of data: methods, inputs, outputs, values, instructions, operators,
        /// delegates.
        Meaning "meaning",
        /// Placement: planned memory, the parts of the file, and properties that the runtime ignores.
        Layout "layout",
        /// Bytes of constants, of initial states, of named data, of `.ptd` files and of tests.
        Data "data",
    } fn name;
}

words! {
    /// Kind of a [`Difference`].
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
    #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
    #[serde(rename_all = "lowercase")]
    pub enum DiffKind {
        /// Only the right one has it.
        Added "added",
        /// Only the left one has it.
        Removed "removed",
        /// Both have it, with different content.
        Changed "changed",
        /// Both have it, with the same content at a different place.
        Moved "moved",
    } fn name;
}

impl DiffKind {
    /// Returns the kind after the two sides are exchanged.
    fn mirrored(self) -> DiffKind {
        match self {
            DiffKind::Added => DiffKind::Removed,
            DiffKind::Removed => DiffKind::Added,
            DiffKind::Changed | DiffKind::Moved => self,
        }
    }
}

words! {
    /// Kind of element that a [`Difference`] is about.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
    #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
    #[serde(rename_all = "lowercase")]
    #[non_exhaustive]
    pub enum DiffTopic {
        /// A method that was added, removed or changed.
        Method "method",
        /// An input of a method.
        Input "input",
        /// An output of a method.
        Output "output",
        /// A value of a method.
        Value "value",
        /// An instruction, or an argument of one.
        Instruction "instruction",
        /// An operator that a method calls.
        Operator "operator",
        /// A delegate: its backend, its options, or the graph in its payload.
        Delegate "delegate",
        /// Planned memory: a pool, or the location of a tensor.
        Memory "memory",
        /// A part of the file that has no other topic: its header, its segments, its size.
        File "file",
        /// Properties that the runtime ignores, such as stack traces.
        Ignored "ignored",
        /// A constant or an initial state of a method.
        Constant "constant",
        /// An entry of `named_data`.
        #[serde(rename = "named data")]
        NamedData "named data",
        /// A key of a `.ptd` or of a `.safetensors`.
        #[serde(rename = "external data")]
        ExternalData "external data",
        /// A test of a `.bpte`.
        Test "test",
        /// A part of a newer schema: a field, or a member of a union.
        #[serde(rename = "newer schema")]
        Newer "newer schema",
    } fn name;
}

/// One of the two sides of a [`Difference`].
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct DifferingPart {
    /// Path of the element, such as `methods.forward.instructions[3].args[1]`.
    pub path: String,
    /// Name of a value, in the YAML or as `dump` prints it, if the caller adds it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Description of its content.
    pub value: String,
    /// Paths of the first uses of data.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub uses: Vec<String>,
    /// Number of further uses; `None` if no use is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub more_uses: Option<u64>,
}

/// Number of uses that are listed.
const MAX_USES: usize = 4;

impl DifferingPart {
    /// Creates a part without uses.
    pub(super) fn new(path: impl Into<String>, value: impl Into<String>) -> DifferingPart {
        DifferingPart { path: path.into(), name: None, value: value.into(), uses: Vec::new(), more_uses: None }
    }

    /// Returns the path, with the name of a value: `methods.forward.linear_weight (values[2])`.
    pub fn named_path(&self) -> String {
        self.name.as_ref().map_or_else(|| self.path.clone(), |name| named_path(&self.path, &clipped(name)))
    }

    /// Adds a use. After the first few, only the number is increased.
    pub(super) fn add_use(&mut self, path: impl FnOnce() -> String) {
        let more = self.more_uses.get_or_insert(0);
        match self.uses.len() < MAX_USES {
            true => self.uses.push(path()),
            false => *more += 1,
        }
    }
}

/// Statistics of data that differ, element by element.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct DataStatistics {
    /// Element type; `None` for bytes without one.
    #[serde(rename = "dtype")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
    pub scalar_type: Option<ScalarType>,
    /// Number of elements, or of bytes.
    pub elements: u64,
    /// Number of elements, or of bytes, that differ. `None` if the data have different lengths or were not read.
    pub differing: Option<u64>,
    /// Number of elements that differ and are not finite on a side. The following numbers do not include them.
    pub not_finite: u64,
    /// Maximum absolute difference of the elements that are finite on both sides.
    pub max_abs: Option<f64>,
    /// Mean absolute difference of the elements that are finite on both sides.
    pub mean_abs: Option<f64>,
    /// Cosine similarity of the two sides as vectors. `None` if one of them is zero.
    pub cosine: Option<f64>,
    /// SHA-256 of both sides, for data without statistics.
    #[serde(serialize_with = "hexadecimal")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<[String; 2]>"))]
    pub sha256: Option<[[u8; 32]; 2]>,
}

fn hexadecimal<S: Serializer>(digests: &Option<[[u8; 32]; 2]>, serializer: S) -> Result<S::Ok, S::Error> {
    digests.map(|both| both.map(|digest| data_encoding::HEXLOWER.encode(&digest))).serialize(serializer)
}

/// A difference between two programs or files; [`Differences`] has an example.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Difference {
    /// Area.
    pub area: DiffArea,
    /// Kind.
    pub kind: DiffKind,
    /// Kind of element.
    pub topic: DiffTopic,
    /// Path of the element in the left one, or in the right one if it is added.
    pub path: String,
    /// The element in the left one; `None` if it is added.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub left: Option<DifferingPart>,
    /// The element in the right one; `None` if it is removed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub right: Option<DifferingPart>,
    /// Statistics of data.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data: Option<DataStatistics>,
}

impl Difference {
    /// Creates a difference. One of the two sides may lack the element.
    pub(super) fn new(
        area: DiffArea,
        kind: DiffKind,
        topic: DiffTopic,
        [left, right]: Paired<DifferingPart>,
    ) -> Difference {
        let path = left.as_ref().or(right.as_ref()).map_or(String::new(), |part| part.path.clone());
        Difference { area, kind, topic, path, left, right, data: None }
    }

    fn mirrored(self) -> Difference {
        let Difference { area, kind, topic, left, right, data, .. } = self;
        let swap = |[left, right]: [[u8; 32]; 2]| [right, left];
        let data = data.map(|data| DataStatistics { sha256: data.sha256.map(swap), ..data });
        Difference { data, ..Difference::new(area, kind.mirrored(), topic, [right, left]) }
    }
}

/// Declares [`DiffTotals`] from rows `field "name"`.
macro_rules! totals {
    ($( $(#[$doc:meta])* $field:ident $name:literal, )*) => {
        /// Totals of one of the two sides.
        #[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
        #[non_exhaustive]
        pub struct DiffTotals {
            /// Name of the file, if the caller adds it.
            #[serde(skip_serializing_if = "Option::is_none")]
            pub file: Option<String>,
            $( $(#[$doc])* pub $field: u64, )*
            /// Names of the operators that kernel calls use, sorted.
            pub operator_names: Vec<String>,
        }

        impl DiffTotals {
            /// Returns the numbers with their names.
            pub fn rows(&self) -> impl Iterator<Item = (&'static str, u64)> {
                [$( ($name, self.$field) ),*].into_iter()
            }
        }
    };
}

totals! {
    /// Bytes of the file, or of the program that YAML assembles to.
    size "size",
    /// Bytes of its metadata.
    metadata "metadata",
    /// Bytes of the planned pools of all methods.
    planned_memory "planned memory",
    /// Instructions of all methods.
    instructions "instructions",
    /// Kernel calls: instructions that run operators outside of delegates.
    kernel_calls "kernel calls",
    /// Calls of delegates.
    delegate_calls "delegate calls",
    /// Different operators that kernel calls use.
    operators "operators",
    /// Bytes of constants and initial states, each stored range once.
    constants "constants",
    /// Bytes of the payloads of delegates.
    payloads "payloads",
    /// Bytes of named data.
    named_data "named data",
    /// Bytes of the data in a `.ptd` or a `.safetensors`; for a program, of those that it refers to.
    external_data "external data",
}

/// All differences between two programs or files in a fixed order, and [`DiffTotals`] of both sides. Each
/// [`Difference`] has a [`DiffArea`], a [`DiffKind`], a [`DiffTopic`] and one or two [`DifferingPart`]s; differences of
/// data have [`DataStatistics`].
///
/// ```
/// use pte_diff::{
///     DataStatistics, DiffArea, DiffData, DiffKind, DiffTopic, DiffTotals, Difference, Differences, DifferingPart,
///     Side,
/// };
/// use pte_model::LINEAR_PTE;
/// use pte_model::data::Origin;
///
/// let older = Side::of_file(&Origin::Bytes(LINEAR_PTE.into()))?;
/// // The last 12 bytes are the bias: its last element becomes 1.
/// let mut changed = LINEAR_PTE.to_vec();
/// let last = changed.len() - 4;
/// changed[last..].copy_from_slice(&1f32.to_le_bytes());
/// let newer = Side::of_file(&Origin::Bytes(changed.into()))?;
/// let found: Differences = pte_diff::compare([&older, &newer], &DiffArea::ALL, DiffData::default(), None)?;
/// assert_eq!((found.len(), found.is_empty(), found.of(DiffArea::Data).count()), (1, false, 1));
///
/// let difference: &Difference = &found.list[0];
/// assert_eq!((&*difference.path, difference.kind), ("methods.forward.values[1]", DiffKind::Changed));
/// assert_eq!((difference.topic, difference.topic.name()), (DiffTopic::Constant, "constant"));
/// assert_eq!((difference.area.name(), difference.kind.name()), ("data", "changed"));
/// let left: &DifferingPart = difference.left.as_ref().unwrap();
/// assert_eq!((&*left.value, &*left.named_path()), ("float32 [3]", "methods.forward.values[1]"));
/// let data: &DataStatistics = difference.data.as_ref().unwrap();
/// assert_eq!((data.elements, data.differing), (3, Some(1)));
///
/// let totals: &DiffTotals = &found.left;
/// assert!(totals.rows().any(|row| row == ("constants", 60)));
/// assert_eq!(found.areas, DiffArea::ALL);
/// assert_eq!(found.clone().mirrored().mirrored(), found);
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Differences {
    /// Version of the serialised form: it grows when a key is removed or changes its meaning.
    #[cfg_attr(feature = "schema", schemars(extend("const" = VERSION)))]
    pub version: u32,
    /// There are no differences.
    pub equal: bool,
    /// Areas that were compared.
    #[serde(rename = "compared")]
    pub areas: Vec<DiffArea>,
    /// Number of differences of each area that was compared.
    pub counts: BTreeMap<DiffArea, usize>,
    /// Totals of the left one.
    pub left: DiffTotals,
    /// Totals of the right one.
    pub right: DiffTotals,
    /// All differences, in the order of the areas.
    #[serde(rename = "differences")]
    pub list: Vec<Difference>,
}

impl Differences {
    /// Creates an empty list of differences in these areas.
    pub(super) fn new(left: DiffTotals, right: DiffTotals, areas: &[DiffArea]) -> Differences {
        let (areas, counts) = (areas.to_vec(), BTreeMap::new());
        Differences { version: VERSION, equal: true, areas, counts, left, right, list: Vec::new() }
    }

    /// Sorts the differences by area, and counts them.
    pub(super) fn finish(mut self) -> Differences {
        self.list.sort_by_key(|difference| difference.area);
        self.counts = self.areas.iter().map(|area| (*area, self.of(*area).count())).collect();
        self.equal = self.is_empty();
        self
    }

    /// Returns the differences of an area.
    pub fn of(&self, area: DiffArea) -> impl Iterator<Item = &Difference> {
        self.list.iter().filter(move |difference| difference.area == area)
    }

    /// Returns true if there is no difference in the areas that were compared.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// Returns the number of differences.
    pub fn len(&self) -> usize {
        self.list.len()
    }

    /// Returns the differences with the two sides exchanged.
    #[must_use]
    pub fn mirrored(self) -> Differences {
        let Differences { left, right, list, .. } = self;
        Differences { left: right, right: left, list: list.into_iter().map(Difference::mirrored).collect(), ..self }
    }

    /// Returns true if an area is compared.
    pub(super) fn has(&self, area: DiffArea) -> bool {
        self.areas.contains(&area)
    }

    /// Adds a difference, unless its area is not compared.
    pub(super) fn push(&mut self, difference: Difference) {
        if self.has(difference.area) {
            self.list.push(difference);
        }
    }

    /// Adds an element that both sides have.
    pub(super) fn changed(&mut self, area: DiffArea, topic: DiffTopic, parts: [DifferingPart; 2]) {
        self.push(Difference::new(area, DiffKind::Changed, topic, parts.map(Some)));
    }

    /// Adds an element with the same content at a different place.
    pub(super) fn moved(&mut self, area: DiffArea, topic: DiffTopic, parts: [DifferingPart; 2]) {
        self.push(Difference::new(area, DiffKind::Moved, topic, parts.map(Some)));
    }

    /// Adds an element that only the left one has.
    pub(super) fn removed(&mut self, area: DiffArea, topic: DiffTopic, left: DifferingPart) {
        self.push(Difference::new(area, DiffKind::Removed, topic, [Some(left), None]));
    }

    /// Adds an element that only the right one has.
    pub(super) fn added(&mut self, area: DiffArea, topic: DiffTopic, right: DifferingPart) {
        self.push(Difference::new(area, DiffKind::Added, topic, [None, Some(right)]));
    }

    /// Returns an element that both sides have, and adds one that a side lacks.
    pub(super) fn both<T>(
        &mut self,
        area: DiffArea,
        topic: DiffTopic,
        pair: Paired<T>,
        part: impl Fn(usize, T) -> DifferingPart,
    ) -> Option<[T; 2]> {
        match pair {
            [Some(left), Some(right)] => return Some([left, right]),
            [Some(left), None] => self.removed(area, topic, part(0, left)),
            [None, Some(right)] => self.added(area, topic, part(1, right)),
            [None, None] => {}
        }
        None
    }

    /// Adds one difference of a property that the runtime ignores, for all elements in which it differs. `part`
    /// returns path and property of an element.
    pub(super) fn first_differing(
        &mut self,
        properties: &str,
        element: &str,
        mut differing: impl Iterator<Item = (usize, usize)>,
        part: impl Fn(usize, usize) -> (String, String),
    ) {
        let Some((left, right)) = differing.next() else { return };
        let count = counted(1 + differing.count() as u64, element);
        let parts = [part(0, left), part(1, right)]
            .map(|(path, text)| DifferingPart::new(path, format!("{properties} of {count}, the first: {text}")));
        self.changed(DiffArea::Layout, DiffTopic::Ignored, parts);
    }

    /// Adds an element that one side may lack, if its descriptions differ. They must be complete, neither truncated nor
    /// escaped.
    pub(super) fn compared<P: Into<String>>(
        &mut self,
        area: DiffArea,
        topic: DiffTopic,
        paths: [P; 2],
        values: [Option<String>; 2],
    ) {
        if values[0] != values[1] {
            self.differing(area, topic, paths, values);
        }
    }

    /// Adds an element that is known to differ, even if its descriptions are equal. One side may lack it.
    pub(super) fn differing<P: Into<String>>(
        &mut self,
        area: DiffArea,
        topic: DiffTopic,
        paths: [P; 2],
        values: [Option<String>; 2],
    ) {
        let ([left_path, right_path], [left, right]) = (paths, values);
        let left = left.map(|value| DifferingPart::new(left_path, value));
        let right = right.map(|value| DifferingPart::new(right_path, value));
        if let Some(parts) = self.both(area, topic, [left, right], |_, part| part) {
            self.changed(area, topic, parts);
        }
    }
}
