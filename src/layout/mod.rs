//! Program -> [`Plan`]: where every byte goes. Sizes in, offsets out; no I/O, and no byte is looked at.
//!
//! A plan leaves one thing open: how long the FlatBuffer is, which only its making tells. [`file::Placement`] closes it.

pub mod data;
pub mod external;
pub mod file;
mod first_fit;
mod greedy;
mod lifetimes;
pub mod memory;
pub mod segments;
mod skyline;

use crate::program::{BlobId, Program};
pub use external::ExternalFile;
pub use memory::MemoryPlan;
pub use segments::Segment;

/// The order in which a FlatBuffer's parts are written: which of upstream's two writers is followed (byte-layout.md).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Builder {
    /// Python's object API: `.pte` since ExecuTorch 1.2.
    Exir,
    /// flatc from JSON: `.ptd`, and older `.pte`.
    Flatc,
}

/// The extended header of a `.pte` (rules H-4 to H-6, W-2).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Header {
    /// 32 bytes if there are segment bytes, none otherwise.
    Auto,
    /// None.
    None,
    /// This many bytes: 24 (before ExecuTorch 1.0) or 32.
    Length(u32),
}

/// Whether equal strings of a FlatBuffer are written once. Neither of upstream's writers shares them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Strings {
    /// Each is written where it is needed.
    Separate,
    /// Equal ones are one.
    Shared,
}

/// Where constants or delegates' payloads are put.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Home {
    /// In segments behind the FlatBuffer.
    Segment,
    /// Inside the FlatBuffer, for old loaders.
    Inline,
}

/// The largest alignment of what may lie inside a FlatBuffer, whose header is padded to it (W-4).
pub const MAX_FORCED_ALIGNMENT: u64 = 65536;

/// What a user may choose about the layout; the defaults are the exporter's (runtime-rules.md, 9.1).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// Segments start at multiples of this, in bytes.
    pub segment_alignment: u64,
    /// Constants start at multiples of this within their segment; also the `force_align` of inline constants.
    pub tensor_alignment: u64,
    /// The `force_align` of inline payloads of delegates.
    pub delegate_alignment: u64,
    /// The first segment starts at a multiple of this in the file. `None`: the least that aligns every segment in the
    /// file, not only relative to the first; `segment_alignment` is what the exporter does (W-6).
    pub base_alignment: Option<u64>,
    /// Order of the program's FlatBuffer.
    pub builder: Builder,
    /// Order of the `.ptd` files' FlatBuffers.
    pub ptd_builder: Builder,
    /// Order of the `.bpte`'s FlatBuffer. `None`: as the program's.
    pub bpte_builder: Option<Builder>,
    /// The extended header.
    pub header: Header,
    /// Bytes of the extended header with its padding. `None`: the least that leaves aligned what is aligned (W-4).
    pub header_size: Option<u64>,
    /// Whether the program's equal strings are shared.
    pub strings: Strings,
    /// Where constants are put.
    pub constants: Home,
    /// Where delegates' payloads are put.
    pub delegates: Home,
    /// How the `.ptd` without a tag is split into several. `None`: it is not.
    pub shards: Option<Shards>,
}

/// A `.ptd` in several files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shards {
    /// Bytes of data in a file, at most; a single tensor may have more.
    pub max_bytes: u64,
    /// The tags of the files are this, a number and how many there are: `model-00002-of-00005`.
    pub name: String,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            segment_alignment: 128,
            tensor_alignment: 16,
            delegate_alignment: 16,
            base_alignment: None,
            builder: Builder::Exir,
            ptd_builder: Builder::Flatc,
            bpte_builder: None,
            header: Header::Auto,
            header_size: None,
            strings: Strings::Separate,
            constants: Home::Segment,
            delegates: Home::Segment,
            shards: None,
        }
    }
}

/// Where in a [`Program`] something is; the text it came from knows the line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Locus {
    /// The program as a whole.
    Program,
    /// The wish for a header or none.
    Header,
    /// A method by number.
    Method(usize),
    /// A value by method and index.
    Value(usize, usize),
    /// A delegate by method and index.
    Delegate(usize, usize),
    /// An entry of `named_data`.
    NamedData(usize),
    /// An entry of [`Program::external_data`].
    ExternalData(usize),
    /// A patch of the finished file.
    Patch(usize),
    /// A place of the finished file that is made to say something else.
    Lie(usize),
}

/// Why there is no plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LayoutError {
    /// Where.
    pub at: Locus,
    /// What, and what was expected.
    pub message: String,
    /// What else is concerned, and what it is.
    pub related: Option<(Locus, String)>,
}

impl LayoutError {
    /// An error at a place.
    pub fn new(at: Locus, message: impl Into<String>) -> LayoutError {
        LayoutError { at, message: message.into(), related: None }
    }

    /// Names a second place.
    pub fn with_related(mut self, at: Locus, what: &str) -> LayoutError {
        self.related = Some((at, what.to_owned()));
        self
    }
}

/// Where every byte of the outputs goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// Planned memory by method.
    pub memory: Vec<MemoryPlan>,
    /// `data_buffer_idx` by method and value.
    pub buffer_index: Vec<Vec<u32>>,
    /// Constants in the FlatBuffer (`constant_buffer`), entry 0 reserved; empty if they are in a segment.
    pub constant_buffer: Vec<Option<BlobId>>,
    /// Offsets of constants in segment 0 (`constant_segment`), entry 0 reserved; empty if they are inline.
    pub constant_offsets: Vec<u64>,
    /// Segment and offsets of initial states (`mutable_data_segments`).
    pub mutable_data: Option<(u32, Vec<u64>)>,
    /// Where each delegate's payload is, by method and delegate.
    pub delegates: Vec<Vec<DelegateData>>,
    /// Payloads in the FlatBuffer (`backend_delegate_data`).
    pub inline_delegates: Vec<BlobId>,
    /// Segment of each entry of `named_data`.
    pub named_data: Vec<u32>,
    /// The segments of the program, relative to the first one's start.
    pub segments: Vec<Segment>,
    /// The `.ptd` files.
    pub external: Vec<ExternalFile>,
    /// Bytes that sharing of equal data saved.
    pub shared_bytes: u64,
}

/// Where a delegate's payload is (table `BackendDelegateDataReference`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DelegateData {
    /// Inside the FlatBuffer or in a segment.
    pub home: Home,
    /// Index into the list that this means.
    pub index: u32,
}

/// Plans a program. `same[i]` is the first blob with the bytes of blob `i` ([`crate::program::dedup::find`]).
///
/// # Errors
/// All [`LayoutError`]s that are found.
pub fn plan(program: &Program, same: &[BlobId], options: &Options) -> Result<Plan, Vec<LayoutError>> {
    let mut errors = Vec::new();
    let mut memory = Vec::with_capacity(program.plans().len());
    for (method, execution_plan) in program.plans().iter().enumerate() {
        memory.push(memory::plan(method, execution_plan).unwrap_or_else(|found| {
            errors.extend(found);
            MemoryPlan::default()
        }));
    }
    match place_data(program, same, options, memory) {
        Ok(plan) if errors.is_empty() => Ok(plan),
        Ok(_) => Err(errors),
        Err(more) => {
            errors.extend(more);
            Err(errors)
        }
    }
}

/// Places the data of a program whose memory is planned.
pub(crate) fn place_data(
    program: &Program,
    same: &[BlobId],
    options: &Options,
    memory: Vec<MemoryPlan>,
) -> Result<Plan, Vec<LayoutError>> {
    let mut data = data::Collector::new(program, same, options);
    data.collect_tensors();
    data.collect_delegates();
    data.collect_named_data();
    data.finish(memory)
}

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
