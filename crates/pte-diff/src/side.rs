//! One of the two sides of a comparison: the program of a file or of YAML as [`pte_model::reader`] returns it, with
//! explicit offsets, and the facts of its file. Data are not read.

use std::cell::OnceCell;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::path::Path;

use super::difference::DiffTotals;
use pte_model::data::{Blob, BlobId, Origin};
use pte_model::diagnostics::{clipped, counted};
use pte_model::format::Format;
use pte_model::format::container::HEAD;
use pte_model::format::path::{MethodName, Methods};
use pte_model::program::element::{Element, Part};
use pte_model::program::instruction::Callee;
use pte_model::program::test_cases::MethodTests;
use pte_model::program::{ExecutionPlan, OperatorId, Program, TensorData, TensorLayout};
use pte_model::reader;
use pte_model::reader::program::{DataEntry, ProgramContents};
use pte_xnnpack::payloads::Payloads;

/// A key of a `.ptd` or of a `.safetensors`.
pub struct ExternalEntry {
    /// Key.
    pub key: String,
    /// Data.
    pub data: Blob,
    /// Type and shape, if the data are a tensor.
    pub tensor_layout: Option<TensorLayout>,
}

/// Returns true for the path that git passes for a file that does not exist in a version.
///
/// ```
/// assert!(pte_diff::is_null_device("/dev/null".as_ref()));
/// ```
pub fn is_null_device(path: &Path) -> bool {
    path == Path::new("/dev/null") || cfg!(windows) && path.as_os_str().eq_ignore_ascii_case("nul")
}

/// Facts of a file apart from its content.
#[derive(Default)]
pub struct FileFacts {
    /// Properties as text, by path.
    pub facts: BTreeMap<String, String>,
    /// Offsets of the constants in their segment, with the reserved entry.
    pub constant_offsets: Vec<u64>,
    /// Offset and size of each segment, relative to the first one.
    pub segments: Vec<(u64, u64)>,
}

/// One of the two sides.
#[derive(Default)]
pub struct Side {
    /// The program; without methods for a file of weights.
    pub program: Program,
    /// Keys of the `.ptd` files; `None` for a program without them.
    pub external: Option<Vec<ExternalEntry>>,
    /// Tests of a `.bpte`.
    pub tests: Option<Vec<MethodTests>>,
    /// Facts of the file; `None` for YAML, whose file is not written.
    pub(crate) file: Option<FileFacts>,
    /// The file; `None` for YAML.
    pub origin: Option<Origin>,
    /// Bytes of the file, or of the program that YAML assembles to.
    pub size: u64,
    /// Bytes of its metadata.
    pub metadata: u64,
    /// Keys of the `.ptd` files that are loaded with the program, and their data.
    with: HashMap<String, Blob>,
    /// Invalid references to data, each with a message.
    wrong: Vec<(Element, String)>,
    /// Messages about invalid references to data, by path of the element.
    missing: HashMap<String, String>,
    /// Names of the values in the source, by method.
    value_names: Vec<Vec<Option<String>>>,
    /// First steps of the paths of the methods.
    method_paths: Vec<String>,
    /// Blobs of `named_data`, by key.
    keys: OnceCell<HashMap<String, BlobId>>,
    payloads: OnceCell<Payloads>,
    /// By blob: hash of a few of its bytes.
    samples: OnceCell<Vec<u64>>,
}

impl Methods for Side {
    fn write_name(&self, index: usize, out: &mut Vec<u8>) {
        out.extend_from_slice(self.method_path(index).as_bytes());
    }

    fn has_one_chain(&self, index: usize) -> bool {
        self.program.plans().get(index).and_then(|plan| plan.chains.as_ref()).is_some_and(|chains| chains.len() < 2)
    }
}

impl Side {
    /// Reads the metadata of a file.
    ///
    /// # Errors
    /// A file that cannot be read, or is malformed.
    pub fn of_file(origin: &Origin) -> io::Result<Side> {
        let size = origin.len()?;
        let format = match origin.recognized_format()? {
            Some(format) => format,
            None => {
                // The error is about its first bytes. The rest may be large.
                reader::program::read_part(&Origin::Bytes(origin.head(HEAD)?.to_vec().into()))?;
                Format::Program
            }
        };
        let mut side = match format {
            Format::Program => Side::of_contents(reader::program::read_part(origin)?),
            Format::BundledProgram => {
                let bundled = reader::bundled_program::read(origin)?;
                let mut side = Side::of_contents(reader::program::read_part(&bundled.program_origin()?)?);
                let facts = side.file.get_or_insert_default();
                facts.facts.insert("bundle.version".to_owned(), bundled.version.to_string());
                facts.facts.insert("bundle.program.size".to_owned(), bundled.program.len().to_string());
                side.tests = Some(bundled.tests);
                side
            }
            Format::FlatTensor => {
                let frame = reader::flat_tensor::frame(origin)?;
                let entries = reader::flat_tensor::read(origin)?;
                let entry = |entry: reader::flat_tensor::FlatTensorEntry| {
                    let reader::flat_tensor::FlatTensorEntry { key, data, tensor_layout } = entry;
                    ExternalEntry { key, data, tensor_layout }
                };
                let facts = BTreeMap::from([
                    ("metadata.size".to_owned(), frame.metadata.to_string()),
                    ("header.segment_base_offset".to_owned(), frame.base.to_string()),
                ]);
                Side {
                    external: Some(entries.into_iter().map(entry).collect()),
                    file: Some(FileFacts { facts, constant_offsets: Vec::new(), segments: frame.segments }),
                    metadata: frame.metadata,
                    ..Side::default()
                }
            }
            Format::Safetensors => Side {
                external: Some(external_of(&reader::safetensors::read(origin)?)),
                file: Some(FileFacts::default()),
                ..Side::default()
            },
        };
        let facts = side.file.get_or_insert_default();
        facts.facts.insert("format".to_owned(), extension(format).to_owned());
        facts.facts.insert("size".to_owned(), size.to_string());
        (side.origin, side.size) = (Some(origin.clone()), size);
        Ok(side.complete())
    }

    /// A program that is not written to a file, with the names of its values by method; without a program, a file of
    /// weights. The caller sets the sizes, the keys and the tests.
    pub fn unwritten(contents: Option<ProgramContents>, value_names: Vec<Vec<Option<String>>>) -> Side {
        let side = contents.map_or_else(Side::default, Side::of_contents);
        Side { file: None, value_names, ..side }.complete()
    }

    fn of_contents(contents: ProgramContents) -> Side {
        let mut facts: BTreeMap<String, String> = BTreeMap::new();
        let mut fact = |path: &str, value: Option<u64>| {
            facts.extend(value.map(|value| (path.to_owned(), value.to_string())));
        };
        let header = contents.header;
        fact("header.length", header.map(|header| header.length.into()));
        fact("header.program_size", header.map(|header| header.program_size));
        fact("header.segment_base_offset", header.map(|header| header.segment_base_offset));
        fact("header.segment_data_size", header.and_then(|header| header.segment_data_size));
        fact("metadata.size", Some(contents.metadata.len() as u64));
        let constants = if contents.inline_constants { "inside the FlatBuffer" } else { "in a segment" };
        facts.insert("constants".to_owned(), constants.to_owned());
        for (index, segment) in contents.named_segments.iter().enumerate() {
            facts.insert(format!("named_data[{index}].segment_index"), segment.to_string());
        }
        let unused = contents.data.unused(contents.segments.len());
        facts.extend(unused.into_iter().map(|entry| {
            let name = match entry {
                DataEntry::Constant(index) => format!("constants[{index}]"),
                DataEntry::InitialState(index) => format!("mutable_data_segments[0].offsets[{index}]"),
                DataEntry::Inline(index) => format!("backend_delegate_data[{index}]"),
                DataEntry::Segment(index) => format!("segments[{index}]"),
            };
            (format!("unused {name}"), "not used".to_owned())
        }));
        Side {
            metadata: contents.metadata.len() as u64,
            file: Some(FileFacts { facts, constant_offsets: contents.constant_offsets, segments: contents.segments }),
            wrong: contents.missing,
            program: contents.program,
            ..Side::default()
        }
    }

    /// Computes the fields that follow from the program.
    fn complete(mut self) -> Side {
        let plans = self.program.plans();
        let name = |index: usize| plans.get(index)?.name.as_deref().map(str::as_bytes);
        self.method_paths =
            (0..plans.len()).map(|index| MethodName::of(plans.len(), name, index).to_string()).collect();
        let wrong = std::mem::take(&mut self.wrong);
        self.missing = wrong.into_iter().map(|(at, text)| (at.path_among(&self), text)).collect();
        self
    }

    /// Returns the path of a part of a method.
    pub fn path(&self, method: usize, part: Part) -> String {
        Element::Method(method, part).path_among(self)
    }

    /// Returns the first steps of the path of a method.
    pub fn method_path(&self, method: usize) -> &str {
        self.method_paths.get(method).map_or("", String::as_str)
    }

    /// Returns the name of a value in the source.
    pub fn value_name(&self, method: usize, value: usize) -> Option<&str> {
        self.value_names.get(method)?.get(value)?.as_deref()
    }

    /// Returns true if the values have names in a source.
    pub fn has_value_names(&self) -> bool {
        !self.value_names.is_empty()
    }

    /// Returns the message about the reference to data of the element with this path; `None` if the reference is valid.
    pub fn missing(&self, path: &str) -> Option<&str> {
        self.missing.get(path).map(String::as_str)
    }

    /// Returns a hash of the length and a few bytes of a blob, or only of its length if it cannot be read.
    pub fn sample(&self, blob: BlobId) -> u64 {
        let samples = self.samples.get_or_init(|| self.program.blobs.iter().map(sample).collect());
        samples.get(blob.0 as usize).copied().unwrap_or(0)
    }

    /// Sets the data of the tensors whose data are in `.ptd` files to those of these keys. The first of several equal
    /// keys counts.
    ///
    /// # Errors
    /// The key of a tensor is not among them.
    pub fn load(&mut self, keys: impl IntoIterator<Item = (String, Blob)>) -> io::Result<()> {
        for (key, data) in keys {
            self.with.entry(key).or_insert(data);
        }
        let Side { program, with, .. } = self;
        let mut blobs: HashMap<(&str, u64), BlobId> = HashMap::new();
        let mut wrong = Vec::new();
        for (method, plan) in program.execution_plan.iter_mut().flatten().enumerate() {
            for (index, tensor) in plan.tensors_mut() {
                if !tensor.is_external() || tensor.data == TensorData::None {
                    continue;
                }
                let key = tensor.name().unwrap_or_default();
                let Some((key, data)) = with.get_key_value(key) else {
                    let message = format!("no .ptd that is given with it has the key `{}`", clipped(key));
                    return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
                };
                let found = tensor.nbytes().and_then(|len| Some((len, data.part_or_whole(0, len).ok()??)));
                match found {
                    Some((len, part)) => {
                        let all = &mut program.blobs;
                        let id = blobs.entry((key, len)).or_insert_with(|| {
                            all.push(part);
                            BlobId(all.len() as u32 - 1)
                        });
                        tensor.data = TensorData::Blob(*id);
                    }
                    None => {
                        let at = Element::Method(method, Part::Value(index));
                        wrong.push((
                            at,
                            format!("its key in a .ptd has {}, fewer than the tensor", counted(data.len(), "byte")),
                        ));
                    }
                }
            }
        }
        let wrong: Vec<(String, String)> = wrong.into_iter().map(|(at, text)| (at.path_among(self), text)).collect();
        self.missing.extend(wrong);
        Ok(())
    }

    /// Returns the data of a key of the `.ptd` files that are loaded with the program.
    pub fn loaded(&self, key: &str) -> Option<&Blob> {
        self.with.get(key)
    }

    /// Returns the number of bytes of the file, and of its data in other files.
    pub fn data_size(&self) -> u64 {
        let external = self.external.iter().flatten().map(|entry| entry.data.len());
        let tests = self.tests.iter().flatten().map(MethodTests::size);
        let with = self.with.values().map(Blob::len);
        external.chain(tests).chain(with).fold(self.size, u64::saturating_add)
    }

    /// Returns the blob of the first entry of `named_data` with a key.
    pub fn named(&self, key: &str) -> Option<BlobId> {
        let keys = self.keys.get_or_init(|| {
            let entries = self.program.named_data.as_deref().unwrap_or_default().iter().enumerate().rev();
            let is_there = |number: usize| self.missing(&Element::NamedData(number).path(&self.program)).is_none();
            let entries = entries.filter(|(number, _)| self.missing.is_empty() || is_there(*number));
            entries.map(|(_, entry)| (entry.key.clone(), entry.data)).collect()
        });
        keys.get(key).copied()
    }

    /// Returns the number of bytes of external data: of all keys of the side, and of the keys that the program refers
    /// to. The size of a tensor is known without the `.ptd`.
    fn external_data(&self) -> u64 {
        let own = self.external.iter().flatten().map(|entry| (entry.key.as_str(), entry.data.len()));
        let mut keys: HashMap<&str, u64> = HashMap::new();
        for (_, tensor) in self.program.plans().iter().flat_map(ExecutionPlan::tensors) {
            if let Some(key) = tensor.name().filter(|_| tensor.is_external() && tensor.data != TensorData::None) {
                let bytes = keys.entry(key).or_default();
                *bytes = tensor.nbytes().unwrap_or(0).max(*bytes);
            }
        }
        let loaded = self.graph_keys();
        let loaded = loaded.iter().filter_map(|key| self.with.get_key_value(key.as_str()));
        let loaded: Vec<(&str, u64)> = loaded.map(|(key, data)| (key.as_str(), data.len())).collect();
        keys.extend(loaded);
        // Equal keys of a file are separate entries.
        own.clone().for_each(|(key, _)| _ = keys.remove(key));
        own.map(|(_, bytes)| bytes).chain(keys.into_values()).fold(0, u64::saturating_add)
    }

    /// Returns the keys that payloads refer to; empty if no `.ptd` files are given. The payloads that are
    /// decoded are together not larger than the file.
    fn graph_keys(&self) -> HashSet<String> {
        if self.with.is_empty() {
            return HashSet::new();
        }
        let keys = self.payloads().within(self.size).filter_map(|(_, payload)| payload.keys()).flatten();
        keys.filter(|key| self.named(key).is_none()).collect()
    }

    /// Returns the payloads of its delegates, each decoded once.
    pub fn payloads(&self) -> &Payloads {
        self.payloads.get_or_init(|| Payloads::of(&self.program, u64::MAX))
    }

    /// Returns the keys of the tensors whose data are in a `.ptd`.
    pub fn external_tensors(&self) -> HashSet<&str> {
        let tensors = self.program.plans().iter().flat_map(ExecutionPlan::tensors);
        let external = tensors.filter(|(_, tensor)| tensor.is_external() && tensor.data != TensorData::None);
        external.filter_map(|(_, tensor)| tensor.name()).collect()
    }

    /// Returns the blobs of tensors.
    fn constants(&self) -> HashSet<BlobId> {
        let tensors = self.program.plans().iter().flat_map(ExecutionPlan::tensors);
        let blob = |data: &TensorData| match data {
            TensorData::Blob(blob) => Some(*blob),
            TensorData::None | TensorData::Elsewhere(_) => None,
        };
        tensors.filter(|(_, tensor)| !tensor.is_external()).filter_map(|(_, tensor)| blob(&tensor.data)).collect()
    }

    /// Returns the totals.
    pub fn totals(&self) -> DiffTotals {
        let plans = || self.program.plans().iter();
        let bytes = |blobs: &HashSet<BlobId>| {
            blobs.iter().map(|blob| self.program.blob(*blob).len()).fold(0, u64::saturating_add)
        };
        let pools = plans().flat_map(|plan| plan.memory.non_const_buffer_sizes.iter().flatten());
        let mut totals = DiffTotals {
            size: self.size,
            metadata: self.metadata,
            planned_memory: pools.fold(0, |sum, size| sum.saturating_add(u64::try_from(*size).unwrap_or(0))),
            constants: bytes(&self.constants()),
            payloads: bytes(&plans().flat_map(|plan| plan.delegates()).map(|delegate| delegate.processed).collect()),
            named_data: bytes(&self.program.named_data.iter().flatten().map(|entry| entry.data).collect()),
            external_data: self.external_data(),
            ..DiffTotals::default()
        };
        let mut called: HashSet<(usize, OperatorId)> = HashSet::new();
        for (method, plan) in plans().enumerate() {
            for instruction in plan.instructions() {
                totals.instructions += 1;
                match instruction.callee() {
                    Some(Callee::Operator(index)) => {
                        totals.kernel_calls += 1;
                        called.insert((method, index));
                    }
                    Some(Callee::Delegate(_)) => totals.delegate_calls += 1,
                    None => {}
                }
            }
        }
        let name = |(method, operator): (usize, OperatorId)| {
            let plan = self.program.plans().get(method)?;
            plan.operator(operator)?.full_name()
        };
        totals.operator_names = called.into_iter().filter_map(name).collect();
        totals.operator_names.sort_unstable();
        totals.operator_names.dedup();
        totals.operators = totals.operator_names.len() as u64;
        totals
    }
}

/// Returns the extension of a format.
fn extension(format: Format) -> &'static str {
    format.container().map_or(pte_model::format::safetensors::EXTENSION, |container| container.extension)
}

fn external_of(program: &Program) -> Vec<ExternalEntry> {
    let entry = |entry: &pte_model::program::ExternalData| ExternalEntry {
        key: entry.key.clone(),
        data: program.blob(entry.data).clone(),
        tensor_layout: entry.tensor_layout.clone(),
    };
    program.external_data.iter().map(entry).collect()
}

/// Number of bytes of a sample. Three samples are read.
const SAMPLE: usize = 64;

fn sample(blob: &Blob) -> u64 {
    let mut hasher = DefaultHasher::new();
    blob.len().hash(&mut hasher);
    let bytes = match blob.len() {
        0 => Ok(Vec::new()),
        len if len <= 3 * SAMPLE as u64 => blob.read_at(0, len as usize),
        len => blob.read_several([0, len / 2, len - SAMPLE as u64], SAMPLE),
    };
    // Data that cannot be read are reported when they are compared.
    bytes.unwrap_or_default().hash(&mut hasher);
    hasher.finish()
}
