//! Payloads of the Ethos-U backend: a stream of named blocks (`vela_bin_stream`) with commands, weights and locations
//! of tensors.
//!
//! Described only.

use super::description::{self, DescribeError, Fact, Facts, IntoFact, MAX_LISTED};
use super::format::PayloadFormat;
use super::memory::{Accuracy, DelegateMemory, DelegatePart, Held, MemorySource, Processor};
use super::signature::{CallRules, CountRule, SizesRule};
use pte_model::data::Blob;
use pte_model::diagnostics::counted;
use pte_model::format::ScalarType;
use pte_model::format::flatbuffer::{array, u32_at};

/// The payloads of the Ethos-U backend.
#[derive(Debug)]
pub struct EthosU;

/// Names of the backend in a program; the second is that of older releases.
pub const BACKENDS: [&str; 2] = ["EthosUBackend", "ArmBackend"];

/// Number of pointers and sizes in the object that the backend creates for a delegate.
const HANDLE_WORDS: u64 = 9;

/// Name of the first block.
const START: &str = "vela_bin_stream";
/// Name of the last block.
const END: &str = "vela_end_stream";

/// Name of the block with the size of the scratch.
const SCRATCH_SIZE: &str = "scratch_size";

/// Name of the block of release 0.6 that is the scratch.
const SCRATCH_DATA: &str = "scratch_data";

/// Size in bytes of the head of a block: name, size, mark of external data, and zeros.
const BLOCK_HEAD: u64 = 32;
/// Size in bytes of the name of a block, which zeros fill.
const NAME: usize = 16;
/// Blocks begin at multiples of this, in bytes.
const ALIGNMENT: u64 = 16;
/// Mark of a block whose content is the key of named data.
const EXTERNAL: u8 = 1;
/// Largest number of blocks; the compiler writes seven.
const MAX_BLOCKS: usize = MAX_LISTED;

/// Numbers of dimensions of a tensor: since release 1.0, and before. Only the size of the block tells them apart.
const DIMS: [usize; 2] = [6, 4];
/// Number of words of a tensor after its sizes: the size of an element in bytes, offset, region.
const WORDS: usize = 3;

/// Largest size in bytes of a block that is read: all tensors that are listed.
const MAX_BLOCK: u64 = 4 + (MAX_LISTED * (DIMS[0] + WORDS) * 4) as u64;

/// Action of the driver that has the configuration of the chip and the version of its architecture after it.
const CONFIGURATION: u32 = 1;

/// Products by the four highest bits of the configuration.
const PRODUCTS: &[&str] = &["Ethos-U55", "Ethos-U65", "Ethos-U85"];

/// Metadata of a `COP2` stream, and their offset; the configuration follows the magic and two words.
const METADATA: (&[u8], usize) = (b"VEUM", 28);

/// The runtime compares inputs only: the number of elements, and that the type has the size of an element.
static RULES: CallRules = CallRules {
    count: CountRule::Unchecked,
    sizes: SizesRule::Elements,
    scalar_types: [
        &[
            ("1", &[ScalarType::CHAR, ScalarType::BYTE, ScalarType::BOOL]),
            ("2", &[ScalarType::SHORT]),
            ("4", &[ScalarType::INT]),
        ],
        &[],
    ],
};

/// Returns the chip that commands are for, and the version of its architecture.
fn chip(commands: &[u8]) -> Option<(String, String)> {
    let at = match commands.get(..4)? {
        b"COP1" if u32_at(commands, 4)? & 0xff == CONFIGURATION => 8,
        b"COP2" if commands.get(METADATA.1..)?.starts_with(METADATA.0) => METADATA.1 + 12,
        _ => return None,
    };
    let (configuration, id) = (u32_at(commands, at)?, u32_at(commands, at + 4)?);
    let product = PRODUCTS.get((configuration >> 28) as usize)?;
    let macs = 1u32 << (configuration & 15);
    let version = format!("{}.{}.{}", id >> 28, (id >> 20) & 0xff, (id >> 16) & 15);
    Some((format!("{product}-{macs}"), version))
}

/// A block.
struct Block {
    name: String,
    at: u64,
    size: u64,
    is_external: bool,
}

impl PayloadFormat for EthosU {
    fn name(&self) -> &'static str {
        "Ethos-U"
    }

    fn backends(&self) -> &'static [&'static str] {
        &BACKENDS
    }

    fn has_magic(&self, head: &[u8]) -> bool {
        head.starts_with(START.as_bytes())
    }

    fn describe(&self, payload: &Blob) -> Result<Facts, DescribeError> {
        let blocks = blocks(payload)?;
        let mut facts = Facts::default();
        facts.add(
            "blocks",
            Fact::list(blocks.iter().map(|block| block.fact(payload)).collect::<Result<Vec<_>, _>>()?, blocks.len()),
        );
        let inside = |name: &str| blocks.iter().find(|block| block.name == name && !block.is_external);
        if let Some(block) = inside("cmd_data") {
            let magic = payload.read_at(block.at, block.size.min(4) as usize)?;
            facts.add("commands", &*magic.escape_ascii().to_string());
            if let Some((target, architecture)) = chip(&block.content(payload)?) {
                facts.add_target([target]);
                facts.add("architecture", &*architecture);
            }
        }
        if let Some(block) = inside(SCRATCH_SIZE) {
            facts.add(SCRATCH_SIZE, Fact::Bytes(block.number(payload)?));
        }
        for name in ["inputs", "outputs"] {
            if let Some(block) = inside(name) {
                facts.add(name, block.tensors(payload)?);
            }
        }
        Ok(facts)
    }

    fn rules(&self) -> &'static CallRules {
        &RULES
    }

    fn memory(&self, payload: &Blob, processor: Processor) -> Option<Result<DelegateMemory, DescribeError>> {
        Some(memory(payload, processor))
    }
}

/// Returns the memory of a delegate. The backend of ExecuTorch 1.5.1 takes nothing from the method allocator; each call
/// takes the scratch from the temporary allocator, and copies inputs and outputs to and from it, so that it contains
/// them.
fn memory(payload: &Blob, processor: Processor) -> Result<DelegateMemory, DescribeError> {
    let blocks = blocks(payload)?;
    let inside = |name: &str| blocks.iter().find(|block| block.name == name && !block.is_external);
    let Some(scratch) = inside(SCRATCH_SIZE)
        .map(|block| block.number(payload))
        .or_else(|| inside(SCRATCH_DATA).map(|block| Ok(block.size)))
    else {
        return Err(DescribeError::malformed(format!(
            "no block `{SCRATCH_SIZE}`, expected one with the size of the scratch"
        )));
    };
    let pointer = processor.pointer();
    let scratch = scratch?;
    let parts = [
        DelegatePart::new("state of the delegate", HANDLE_WORDS * pointer, pointer, MemorySource::Heap, Held::Load),
        DelegatePart::new("scratch", scratch, ALIGNMENT, MemorySource::TemporaryAllocator, Held::Call),
        DelegatePart::new("payload in place", payload.len(), ALIGNMENT, MemorySource::Loader, Held::Load),
    ];
    // The application defines its address and size, and the compiler does not write the size that it assumed.
    let not_counted =
        vec!["fast scratch memory (`ethosu_fast_scratch_size`), which the application provides".to_owned()];
    Ok(DelegateMemory { not_counted, ..DelegateMemory::new(parts, Accuracy::Exact) })
}

/// Returns the blocks up to the last one, which ends the payload.
fn blocks(payload: &Blob) -> Result<Vec<Block>, DescribeError> {
    let (mut blocks, mut at) = (Vec::new(), 0u64);
    loop {
        let head = description::metadata(payload, at, BLOCK_HEAD, "the head of a block")?;
        let name = head[..NAME].split(|byte| *byte == 0).next().unwrap_or_default();
        let name = name.escape_ascii().to_string();
        let size = u64::from(u32_at(&head, NAME).unwrap_or(0));
        let start = at.saturating_add(BLOCK_HEAD);
        let next = start.saturating_add(size.next_multiple_of(ALIGNMENT));
        if next > payload.len() {
            let (found, len) = (counted(size, "byte"), counted(payload.len(), "byte"));
            return Err(DescribeError::malformed(format!(
                "block `{name}` of {found} at byte {at:#x}, expected it in {len}"
            )));
        }
        if blocks.is_empty() && name != START {
            return Err(DescribeError::malformed(format!("block `{name}` at byte {at:#x}, expected `{START}`")));
        }
        let is_end = name == END;
        blocks.push(Block { name, at: start, size, is_external: head[NAME + 4] == EXTERNAL });
        if is_end && next < payload.len() {
            let more = counted(payload.len() - next, "byte");
            return Err(DescribeError::malformed(format!("{more} after `{END}` at byte {next:#x}, expected none")));
        }
        if is_end {
            return Ok(blocks);
        }
        if blocks.len() == MAX_BLOCKS {
            return Err(DescribeError::malformed(format!("no `{END}` among the first {MAX_BLOCKS} blocks")));
        }
        at = next;
    }
}

impl Block {
    fn wrong(&self, expected: &str) -> DescribeError {
        let Block { name, at, size, .. } = self;
        DescribeError::malformed(format!("block `{name}` of {} at byte {at:#x}, {expected}", counted(*size, "byte")))
    }

    /// Returns the first [`MAX_BLOCK`] bytes of the content.
    fn content(&self, payload: &Blob) -> Result<Vec<u8>, DescribeError> {
        Ok(payload.read_at(self.at, self.size.min(MAX_BLOCK) as usize)?)
    }

    /// Returns the number that is the content.
    fn number(&self, payload: &Blob) -> Result<u64, DescribeError> {
        let number = u32_at(&self.content(payload)?, 0);
        number.map(u64::from).ok_or_else(|| self.wrong("expected 4 bytes"))
    }

    fn fact(&self, payload: &Blob) -> Result<Fact, DescribeError> {
        let mut facts = Facts::default().with("name", &*self.name);
        match self.is_external {
            true => facts.add("named_data", &*self.content(payload)?.escape_ascii().to_string()),
            false => {
                facts.add("offset", Fact::Bytes(self.at));
                facts.add("size", Fact::Bytes(self.size));
            }
        }
        Ok(facts.into_fact())
    }

    /// Returns the tensors of a block of inputs or outputs.
    fn tensors(&self, payload: &Blob) -> Result<Fact, DescribeError> {
        let content = self.content(payload)?;
        let count = u32_at(&content, 0).map(u64::from);
        let size = |dims: usize| Some(4 + count? * 4 * (dims + WORDS) as u64);
        let is_old = size(DIMS[1]) == Some(self.size);
        let dims = DIMS[usize::from(is_old)];
        let Some(count) = count.filter(|_| size(dims).is_some_and(|size| size <= self.size)) else {
            return Err(self.wrong("expected a number, and as many tensors of 36 bytes"));
        };
        let tensors = content[4..].chunks_exact(4 * (dims + WORDS)).take(count as usize).map(|tensor| {
            let word = |index: usize| i64::from(array(tensor, 4 * index).map_or(0, i32::from_le_bytes));
            let mut facts = Facts::default().with("sizes", Fact::sizes((0..dims).map(word)));
            for (name, index) in [("element_size", dims), ("offset", dims + 1), ("region", dims + 2)] {
                facts.add(name, Fact::Number(word(index)));
            }
            facts.into_fact()
        });
        Ok(Fact::list(tensors, count as usize))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block(name: &str, content: &[u8], external: u8) -> Vec<u8> {
        let mut block = name.as_bytes().to_vec();
        block.resize(NAME, 0);
        block.extend((content.len() as u32).to_le_bytes());
        block.push(external);
        block.resize(BLOCK_HEAD as usize, 0);
        block.extend(content);
        block.resize(block.len().next_multiple_of(ALIGNMENT as usize), 0);
        block
    }

    /// Describes a stream of these blocks between the first and the last one; YAML with one fact per line, or the
    /// error.
    fn described(blocks: &[Vec<u8>]) -> Result<String, String> {
        let stream = [block(START, &[], 0), blocks.concat(), block(END, &[], 0)].concat();
        let facts = EthosU.describe(&Blob::bytes(stream)).map_err(|error| error.to_string())?;
        Ok(serde_json::to_string(&facts.into_fact()).unwrap())
    }

    #[test]
    fn blocks_in_named_data_have_keys() {
        let text =
            described(&[block("weight_data", &[b'a'; 64], EXTERNAL), block("cmd_data", b"COP2....", 0)]).unwrap();
        assert!(text.contains(&format!(r#"{{"name":"weight_data","named_data":"{}"}}"#, "a".repeat(64))), "{text}");
        assert!(text.contains(r#""commands":"COP2""#), "{text}");
    }

    #[test]
    fn tensors_must_fit_their_block() {
        let tensor: Vec<u8> = (1..=9i32).flat_map(i32::to_le_bytes).collect();
        let good = [&1i32.to_le_bytes()[..], &tensor].concat();
        let text = described(&[block("inputs", &good, 0)]).unwrap();
        assert!(text.contains(r#"{"sizes":[1,2,3,4,5,6],"element_size":7,"offset":8,"region":9}"#), "{text}");
        for count in [2, -1, i32::MAX] {
            let wrong = [&count.to_le_bytes()[..], &tensor].concat();
            let error = described(&[block("inputs", &wrong, 0)]).unwrap_err();
            assert_eq!(
                error,
                "block `inputs` of 40 bytes at byte 0x40, expected a number, and as many tensors of 36 bytes"
            );
        }
    }

    #[test]
    fn each_call_takes_the_scratch() {
        let stream =
            |blocks: &[Vec<u8>]| Blob::bytes([block(START, &[], 0), blocks.concat(), block(END, &[], 0)].concat());
        let found = memory(&stream(&[block(SCRATCH_SIZE, &720u32.to_le_bytes(), 0)]), Processor::Arm32).unwrap();
        let parts: Vec<_> = found.parts.iter().map(|part| (part.source, part.bytes)).collect();
        assert_eq!(
            parts,
            [(MemorySource::Heap, 36), (MemorySource::TemporaryAllocator, 720), (MemorySource::Loader, 112)]
        );
        let error = memory(&stream(&[]), Processor::Arm32).unwrap_err();
        assert_eq!(error.to_string(), "no block `scratch_size`, expected one with the size of the scratch");
        let short = memory(&stream(&[block(SCRATCH_SIZE, &[1], 0)]), Processor::Arm32).unwrap_err();
        assert_eq!(short.to_string(), "block `scratch_size` of 1 byte at byte 0x40, expected 4 bytes");
    }

    #[test]
    fn sizes_and_ends_are_checked() {
        let mut large = block("cmd_data", &[], 0);
        large[NAME..NAME + 4].fill(0xff);
        let error = described(&[large]).unwrap_err();
        assert_eq!(error, "block `cmd_data` of 4294967295 bytes at byte 0x20, expected it in 96 bytes");
        let error = described(&[block(END, &[], 0)]).unwrap_err();
        assert_eq!(error, "32 bytes after `vela_end_stream` at byte 0x40, expected none");
        let error = described(&vec![block("x", &[], 0); 1000]).unwrap_err();
        assert_eq!(error, "no `vela_end_stream` among the first 64 blocks");
        assert_eq!(
            described(&[block("scratch_size", &[1], 0)]).unwrap_err(),
            "block `scratch_size` of 1 byte at byte 0x40, expected 4 bytes"
        );
    }

    #[test]
    fn commands_state_their_chip() {
        let words = |words: &[u32]| words.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<u8>>();
        let first = |configuration| words(&[0x3150_4f43, 0x0010_0001, configuration, 0x1006_6001]);
        for (configuration, chip) in
            [(0x1807, "Ethos-U55-128"), (0x1000_6009, "Ethos-U65-512"), (0x2000_261b, "Ethos-U85-2048")]
        {
            assert_eq!(super::chip(&first(configuration)), Some((chip.to_owned(), "1.0.6".to_owned())));
        }
        assert_eq!(super::chip(&first(0x3000_0000)), None);
        let second = words(&[0x3250_4f43, 1, 388, 0, 1, 380, 36, 0x4d55_4556, 1, 0x14, 0x2000_0118, 0x2000_7000]);
        assert_eq!(super::chip(&second), Some(("Ethos-U85-256".to_owned(), "2.0.0".to_owned())));
        (0..second.len()).for_each(|len| assert_eq!(super::chip(&second[..len]), None));
    }

    /// Release 0.6 wrote four sizes for each tensor, and zeros instead of the size of the scratch.
    #[test]
    fn older_tensors_have_four_sizes() {
        let tensor: Vec<u8> = [1, 2, 3, 4, 1, 16, 1i32].iter().flat_map(|word| word.to_le_bytes()).collect();
        let old = [&1i32.to_le_bytes()[..], &tensor].concat();
        let text = described(&[block("inputs", &old, 0)]).unwrap();
        assert!(text.contains(r#"{"sizes":[1,2,3,4],"element_size":1,"offset":16,"region":1}"#), "{text}");
        let stream = [block(START, &[], 0), block(SCRATCH_DATA, &[0; 48], 0), block(END, &[], 0)].concat();
        let found = memory(&Blob::bytes(stream), Processor::Arm32).unwrap();
        assert!(found.parts.iter().any(|part| part.bytes == 48));
    }
}
