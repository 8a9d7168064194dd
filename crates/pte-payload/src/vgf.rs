//! Payloads of the VGF backend: a header, SPIR-V modules, the sequence of the model, its resources and constants.
//!
//! Described only. SPIR-V is not read.

use std::sync::LazyLock;

use super::description::{DescribeError, Fact, Facts, IntoFact, Tally, UNKNOWN};
use super::flat;
use super::flat::schema::Schema;
use super::flat::view::View;
use super::format::PayloadFormat;
use super::rows::{self, Row, number};
use super::signature::{CallRules, CountRule, SizesRule};
use pte_model::data::Blob;
use pte_model::diagnostics::counted;
use pte_model::format::ScalarType;

/// The payloads of the VGF backend.
#[derive(Debug)]
pub struct Vgf;

const MAGIC: &[u8] = b"VGF1";

/// Size of the header in bytes.
const HEADER: usize = 128;

const ROWS: &[Row] = &[
    Row::Part("modules", (16, 8), (24, 8)),
    Row::Part("sequence", (32, 8), (40, 8)),
    Row::Part("resources", (48, 8), (56, 8)),
    Row::Part("constants", (64, 8), (72, 8)),
];

/// First bytes of the constants, before their number; older files have a FlatBuffer.
const CONSTANTS: &[u8] = b"CONST00\0";

/// Bytes before the first constant; bytes of a constant.
const CONSTANTS_HEAD: (u64, u64) = (16, 24);

static SEQUENCE: LazyLock<Schema> = LazyLock::new(|| schema("ModelSequenceTable"));
static RESOURCES: LazyLock<Schema> = LazyLock::new(|| schema("ModelResourceTable"));

/// Returns the schema with a root table.
fn schema(root: &str) -> Schema {
    // A test parses it.
    let mut schema = Schema::parse(include_str!("../schemas/vgf.schema")).expect("schemas of this crate are valid");
    schema.root = schema.objects.iter().position(|object| object.name == root).expect("a table of the schema");
    schema
}

/// Numbers, names and element types of `VkFormat`, as far as the runtime takes them for tensors.
const FORMATS: &[(i64, &str, &[ScalarType])] = &[
    (13, "R8_UINT", &[ScalarType::BYTE]),
    (14, "R8_SINT", &[ScalarType::CHAR]),
    (74, "R16_UINT", &[ScalarType::UINT16]),
    (75, "R16_SINT", &[ScalarType::SHORT]),
    (76, "R16_SFLOAT", &[ScalarType::HALF]),
    (98, "R32_UINT", &[ScalarType::UINT32]),
    (99, "R32_SINT", &[ScalarType::INT]),
    (100, "R32_SFLOAT", &[ScalarType::FLOAT]),
    (111, "R64_SINT", &[ScalarType::LONG]),
    (1_000_460_000, "R8_BOOL_ARM", &[ScalarType::BOOL]),
    (1_000_460_001, "R16_SFLOAT_FPENCODING_BFLOAT16_ARM", &[ScalarType::BFLOAT16]),
];

/// The runtime compares sizes in bytes, not element types.
static RULES: CallRules = CallRules { count: CountRule::AtLeast, sizes: SizesRule::Bytes, scalar_types: [TYPES; 2] };
const TYPES: &[(&str, &[ScalarType])] = &{
    let mut types: [(&str, &[ScalarType]); FORMATS.len()] = [("", &[]); FORMATS.len()];
    let mut row = 0;
    while row < FORMATS.len() {
        types[row] = (FORMATS[row].1, FORMATS[row].2);
        row += 1;
    }
    types
};

impl PayloadFormat for Vgf {
    fn name(&self) -> &'static str {
        "VGF"
    }

    fn backends(&self) -> &'static [&'static str] {
        &["VgfBackend"]
    }

    fn has_magic(&self, head: &[u8]) -> bool {
        head.starts_with(MAGIC)
    }

    fn rules(&self) -> &'static CallRules {
        &RULES
    }

    fn describe(&self, payload: &Blob) -> Result<Facts, DescribeError> {
        let head = rows::head(payload, HEADER)?;
        if !self.has_magic(&head) {
            let found = head[..MAGIC.len()].escape_ascii();
            return Err(DescribeError::malformed(format!("the magic \"{found}\" at byte 0x0, expected \"VGF1\"")));
        }
        let header = rows::facts(ROWS, &head, 0, payload)?;
        let part = |name| rows::part(&header, name).unwrap_or_default();
        let version = format!("{}.{}.{}", head[8], head[9], head[10]);
        let sequence = flat::read_part(&SEQUENCE, payload, part("sequence"))?;
        let resources = flat::read_part(&RESOURCES, payload, part("resources"))?;
        let (sequence, resources) = (View::new(&SEQUENCE, &sequence), View::new(&RESOURCES, &resources));
        let (mut segments, mut categories) = (Tally::default(), Tally::default());
        sequence.children("segments").for_each(|segment| segments.count(segment.word("type").into_owned()));
        resources.children("mrt_entry").for_each(|entry| categories.count(entry.word("category").into_owned()));
        let constants = constants(payload, part("constants"))?;
        let mut facts = Facts::default().with("header", header).with("version", &*version);
        facts.add("segments", segments);
        facts.add("resources", categories);
        for (name, names) in [("inputs", "input_names"), ("outputs", "output_names")] {
            let (slots, names) = (sequence.children(name), sequence.texts(names));
            let total = slots.len();
            let list = slots.take(super::description::MAX_LISTED).enumerate().map(|(position, slot)| {
                let index = usize::try_from(slot.number("mrt_index")).unwrap_or(usize::MAX);
                argument(names.get(position), resources.children("mrt_entry").nth(index))
            });
            facts.add(name, Fact::list(list.collect::<Result<Vec<_>, _>>()?, total));
        }
        facts.add("constants", constants);
        Ok(facts)
    }
}

/// Returns name, format and sizes of an argument.
fn argument(name: Option<&String>, resource: Option<View<'_>>) -> Result<Fact, DescribeError> {
    let mut facts = Facts::default();
    if let Some(name) = name {
        facts.add("name", name.as_str());
    }
    let Some(resource) = resource else { return Ok(facts.with("datatype", UNKNOWN).into_fact()) };
    let format = resource.number("vk_format");
    match FORMATS.iter().find(|(number, ..)| *number == format) {
        Some((_, word, _)) => facts.add("datatype", *word),
        None => facts.add("datatype", &*format!("{UNKNOWN} {format}")),
    }
    if let Some(description) = resource.child("description") {
        // The converter writes the smallest number for a size that is not known before the call.
        facts.add("sizes", Fact::sizes(description.numbers("shape")?.into_iter().map(|size| size.max(-1))));
    }
    Ok(facts.into_fact())
}

/// Counts the constants of a section.
fn constants(payload: &Blob, (at, size): (u64, u64)) -> Result<Facts, DescribeError> {
    let (first, each) = CONSTANTS_HEAD;
    let mut facts = Facts::default();
    let head = payload.read_at(at, size.min(first) as usize)?;
    let count = number(&head, (CONSTANTS.len(), 8)).filter(|_| head.starts_with(CONSTANTS));
    let Some(count) = count else { return Ok(facts.with("count", UNKNOWN)) };
    if count.checked_mul(each).and_then(|bytes| bytes.checked_add(first)).is_none_or(|bytes| bytes > size) {
        let found = format!("{} in a section of {} at byte {at:#x}", counted(count, "constant"), counted(size, "byte"));
        return Err(DescribeError::malformed(format!("{found}, expected {each} bytes for each after {first}")));
    }
    facts.add("count", Fact::Number(i64::try_from(count).unwrap_or(i64::MAX)));
    facts.add("size", Fact::Bytes(size - first - count * each));
    Ok(facts)
}
