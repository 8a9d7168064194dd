//! Prints data: small data as numbers or hex, large data as a range of the input file or as another file.

use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::fmt::Write;
use std::io;

use super::extracted::{ExtractedFiles, Identity, identity};
use super::options::{LargeData, PrintOptions, Printer};
use super::shared_constants::SharedConstants;
use crate::ir::data::node_of;
use crate::ir::document::{Data, DataSource};
use crate::ir::{write, yaml};
use pte_model::data::number::{self, NumericValue};
use pte_model::data::{Blob, BlobId, BlobSource};
use pte_model::format::ScalarType;
use pte_model::program::{DimOrder, Tensor};
use pte_yaml::tree::{NodeId, NodeValue, SourceNode};

/// Maximum size in bytes of data that are always written in the YAML.
const SMALL: u64 = 256;

/// Maximum number of equal elements that are printed as a list. More are printed as one number.
const SHORT_LIST: usize = 8;

/// Maximum length of the name of the input file under `files`.
const NAME: usize = 32;

/// Printer of data.
pub struct DataPrinter<'d> {
    options: &'d PrintOptions,
    /// Name of the input file under `files`; `None` if the YAML has its path instead.
    name: Option<String>,
    /// `true` after a range of the input file was printed.
    refers: bool,
    extracted: &'d RefCell<ExtractedFiles>,
    /// Payloads under `data`, with their names.
    named: HashMap<BlobId, String>,
    /// Large data that were printed.
    printed: HashMap<Identity, PrintedData>,
    /// Size in bytes of large data that may still be printed for the first time.
    readable: u64,
    /// Number of large data under `data`.
    named_data: usize,
    /// Size in bytes of large data that may still be repeated.
    repeatable: u64,
    /// Constants of graphs that are printed once.
    shared: Option<&'d SharedConstants>,
    /// Names of those under `data`.
    defined: HashSet<&'d str>,
    /// Entries of `data`.
    definitions: String,
    /// Sizes in bytes of the graphs of payloads that were printed.
    graphs: HashMap<BlobId, usize>,
    /// Size in bytes of graphs that may still be repeated.
    left: usize,
}

/// Form in which large data were printed.
#[derive(Default)]
struct PrintedData {
    /// Name under `data`.
    name: Option<String>,
    /// The number that all elements have, by their type.
    fills: Vec<(ScalarType, NumericValue)>,
}

/// Maximum size in bytes of the data that are written in the YAML of a file of this size, or to other files. Data of a
/// regular file do not overlap; those of a hostile one may all be the same bytes.
pub fn readable(file_len: u64) -> u64 {
    file_len.saturating_add(1 << 20)
}

/// Maximum size in bytes of the graphs of payloads that are printed at more than one delegate, and of large data that
/// are repeated.
const MAX_REPEATED: usize = 1 << 20;

impl<'d> DataPrinter<'d> {
    /// Creates a printer of data that refers to the input file by its path, and prints up to `readable` bytes.
    pub fn new(options: &'d PrintOptions, readable: u64, extracted: &'d RefCell<ExtractedFiles>) -> DataPrinter<'d> {
        DataPrinter {
            options,
            name: None,
            refers: false,
            extracted,
            named: HashMap::new(),
            printed: HashMap::new(),
            readable,
            named_data: 0,
            repeatable: MAX_REPEATED as u64,
            shared: None,
            defined: HashSet::new(),
            definitions: String::new(),
            graphs: HashMap::new(),
            left: MAX_REPEATED,
        }
    }

    /// Creates a printer of data that refers to the input file by the name that [`DataPrinter::definitions`] declares,
    /// and prints shared constants of graphs there.
    pub fn with_name(printer: Printer<'d>, shared: Option<&'d SharedConstants>) -> DataPrinter<'d> {
        DataPrinter {
            name: Some(file_name(&printer.options.file)),
            shared,
            ..DataPrinter::new(printer.options, printer.readable, printer.extracted)
        }
    }

    /// Returns the declaration of the input file under `files`, and the payloads under `data`; empty if the YAML refers
    /// to neither.
    pub fn definitions(&self) -> String {
        let mut out = match &self.name {
            Some(name) if self.refers => format!("files: {{{name}: {}}}\n", yaml::text(&self.options.file)),
            Some(_) | None => String::new(),
        };
        if !self.definitions.is_empty() {
            out += "# Data that are used several times.\ndata:\n";
            out += &self.definitions;
        }
        out
    }

    /// Returns true if the graph of a payload may be printed: once, and at further delegates up to a total size.
    pub fn takes_graph(&mut self, payload: BlobId) -> bool {
        let left = self.graphs.get(&payload).map(|size| self.left.checked_sub(*size));
        self.left = left.flatten().unwrap_or(self.left);
        left != Some(None)
    }

    /// Records the size in bytes of a graph that was printed.
    pub fn record_graph(&mut self, payload: BlobId, size: usize) {
        self.graphs.insert(payload, size);
    }

    /// Returns the payload of a delegate in YAML: one of several delegates as a name under `data`, unless it is short
    /// as a reference. `name` is the base of the name of an extracted file.
    ///
    /// # Errors
    /// Data that cannot be read.
    pub fn payload(&mut self, id: BlobId, blob: &Blob, is_shared: bool, name: &str) -> io::Result<Data<'static>> {
        if !is_shared || blob.len <= SMALL || self.options.large_data == LargeData::Refer {
            return self.bytes(blob, name);
        }
        if let Some(name) = self.named.get(&id) {
            return Ok(named(name));
        }
        let own = format!("payload{}", self.named.len());
        self.claim(blob)?;
        let bytes = self.large(blob, &own)?;
        self.define(&own, &bytes);
        let data = named(&own);
        self.named.insert(id, own);
        Ok(data)
    }

    /// Returns the data of a constant of a graph in YAML: of one that is shared, a name under `data`.
    ///
    /// # Errors
    /// Data that cannot be read.
    pub fn constant(&mut self, blob: &Blob, tensor: &Tensor, name: &str) -> io::Result<Data<'static>> {
        let Some(own) = self.shared.and_then(|shared| shared.name(blob, tensor)) else {
            return self.tensor(blob, tensor, name);
        };
        if self.defined.insert(own) {
            let content = self.tensor(blob, tensor, own)?;
            self.define(own, &content);
        }
        Ok(named(own))
    }

    /// Returns the data of a tensor in YAML. `name` is the base of the name of an extracted file.
    ///
    /// # Errors
    /// Data that cannot be read.
    pub fn tensor(&mut self, blob: &Blob, tensor: &Tensor, name: &str) -> io::Result<Data<'static>> {
        if blob.len <= SMALL || self.options.large_data == LargeData::Inline {
            if let Some(printed) = self.again(blob, Some(tensor))? {
                return Ok(printed);
            }
            let bytes = blob.to_vec()?;
            if let Some(number) = fill(&bytes, tensor) {
                if let Some(known) = identity(blob).and_then(|identity| self.printed.get_mut(&identity)) {
                    known.fills.push((tensor.scalar_type, number));
                }
                return Ok(data(DataSource::Fill(number, None), blob));
            }
            return Ok(match numbers(&bytes, tensor) {
                Some(numbers) if blob.copy == 0 => numbers,
                Some(_) | None => data(DataSource::Bytes(bytes.into()), blob),
            });
        }
        self.claim(blob)?;
        self.large(blob, name)
    }

    /// Counts the bytes of large data that are read to be printed, unless they were printed before. Returns `true` for
    /// new ones.
    ///
    /// # Errors
    /// The data of the file overlap, so that printing them would take more than its size.
    fn claim(&mut self, blob: &Blob) -> io::Result<bool> {
        if blob.len <= SMALL || self.options.large_data == LargeData::Refer {
            return Ok(true);
        }
        let identity = identity(blob);
        if identity.as_ref().is_some_and(|identity| self.printed.contains_key(identity)) {
            return Ok(false);
        }
        let left = self.readable.checked_sub(blob.len).ok_or_else(|| {
            io::Error::other("the data overlap, and are larger than the file in total; print them with `--data refer`")
        });
        self.readable = left?;
        self.printed.extend(identity.map(|identity| (identity, PrintedData::default())));
        Ok(true)
    }

    /// Returns large inline data as they were printed before: as one number, or beyond a total size as a name under
    /// `data`. `None` if they are printed in place.
    ///
    /// # Errors
    /// Data that cannot be read, and those that overlap.
    fn again(&mut self, blob: &Blob, tensor: Option<&Tensor>) -> io::Result<Option<Data<'static>>> {
        if self.claim(blob)? {
            return Ok(None);
        }
        let Some(known) = identity(blob).and_then(|identity| self.printed.get_mut(&identity)) else { return Ok(None) };
        if let Some(tensor) = tensor.filter(|tensor| tensor.nbytes() == Some(blob.len))
            && let Some((_, number)) = known.fills.iter().find(|(scalar_type, _)| *scalar_type == tensor.scalar_type)
        {
            return Ok(Some(data(DataSource::Fill(*number, None), blob)));
        }
        if known.name.is_none() {
            if let Some(left) = self.repeatable.checked_sub(blob.len) {
                self.repeatable = left;
                return Ok(None);
            }
            if self.name.is_none() {
                return Err(io::Error::other("the same data are repeated too often to print them"));
            }
            let name = format!("data{}", self.named_data);
            self.named_data += 1;
            known.name = Some(name.clone());
            self.define(&name, &data(DataSource::Bytes(blob.to_vec()?.into()), blob));
            return Ok(Some(named(&name)));
        }
        Ok(known.name.as_deref().map(named))
    }

    /// Returns bytes as YAML. Small data are printed as numbers of the tensor's element type, with that type. `name` is
    /// the base of the name of an extracted file.
    ///
    /// # Errors
    /// Data that cannot be read.
    pub fn typed(&mut self, blob: &Blob, tensor: &Tensor, name: &str) -> io::Result<Data<'static>> {
        let is_whole = tensor.nbytes() == Some(blob.len) && blob.len > 0;
        if !is_whole || (blob.len > SMALL && self.options.large_data != LargeData::Inline) {
            return self.bytes(blob, name);
        }
        if let Some(printed) = self.again(blob, None)? {
            return Ok(printed);
        }
        let bytes = blob.to_vec()?;
        let count = tensor.scalar_type.info().map_or(1, |info| blob.len / info.size);
        let found = match (fill(&bytes, tensor), numbers(&bytes, tensor)) {
            (Some(number), _) => DataSource::Fill(number, Some(count)),
            (None, Some(numbers)) => numbers.source,
            (None, None) => return Ok(data(DataSource::Bytes(bytes.into()), blob)),
        };
        Ok(Data { dtype: Some(tensor.scalar_type), ..data(found, blob) })
    }

    /// Returns bytes in YAML. `name` is the base of the name of an extracted file.
    ///
    /// # Errors
    /// Data that cannot be read.
    pub fn bytes(&mut self, blob: &Blob, name: &str) -> io::Result<Data<'static>> {
        if blob.len <= SMALL {
            return Ok(data(DataSource::Bytes(blob.to_vec()?.into()), blob));
        }
        let printed = match self.options.large_data {
            LargeData::Inline => self.again(blob, None)?,
            LargeData::Refer | LargeData::Extract(_) | LargeData::Hash => self.claim(blob).map(|_| None)?,
        };
        printed.map_or_else(|| self.large(blob, name), Ok)
    }

    /// Returns large data as a reference, if that is requested and possible. The reference has the size, so that
    /// changed sizes of the tensor do not make it read other bytes.
    fn large(&mut self, blob: &Blob, name: &str) -> io::Result<Data<'static>> {
        let (path, offset, size) = match (&self.options.large_data, &blob.source) {
            (LargeData::Refer, BlobSource::File { offset, .. }) => {
                self.refers = true;
                (self.name.clone().unwrap_or_else(|| self.options.file.clone()), Some(*offset), Some(blob.len))
            }
            (LargeData::Extract(folder), _) => (self.extracted.borrow_mut().add(folder, name, blob), None, None),
            (LargeData::Hash, _) => (self.extracted.borrow_mut().add_digest(blob)?, None, Some(blob.len)),
            (LargeData::Refer | LargeData::Inline, _) => {
                return Ok(data(DataSource::Bytes(blob.to_vec()?.into()), blob));
            }
        };
        Ok(data(DataSource::File { path: Cow::from(path).into(), offset, size }, blob))
    }

    /// Adds an entry to `data`.
    fn define(&mut self, name: &str, data: &Data<'_>) {
        let _ = write!(self.definitions, "  {name}: ");
        write::write(data, &mut self.definitions);
        self.definitions.push('\n');
    }
}

/// Returns the name of a file for `files`: its own without the extension, because dumps of several files may be merged
/// by hand.
fn file_name(path: &str) -> String {
    let stem = path.rsplit(['/', '\\']).next().and_then(|name| name.split('.').next()).unwrap_or_default();
    let word: String = stem.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).take(NAME).collect();
    match word.chars().next() {
        Some(first) if first.is_ascii_alphabetic() && yaml::text(&word) == word => word,
        Some(_) | None => format!("file_{word}"),
    }
}

/// Returns data with a source, and the copy number of the blob.
fn data(source: DataSource<'static>, blob: &Blob) -> Data<'static> {
    Data { copy: blob.copy, ..source.into() }
}

/// Returns a reference to an entry of `data`.
fn named(name: &str) -> Data<'static> {
    DataSource::Name(Cow::Owned(name.to_owned())).into()
}

/// Returns the elements as nested lists of numbers; `None` if the numbers do not reproduce the bytes (NaN with a
/// payload), or the dimensions are not in the default order.
fn numbers(bytes: &[u8], tensor: &Tensor) -> Option<Data<'static>> {
    let sizes = tensor.sizes.as_deref()?;
    let info = tensor.scalar_type.info()?;
    if tensor.dim_order != Some(DimOrder::contiguous(sizes.len())) || bytes.is_empty() {
        return None;
    }
    let node = |value| SourceNode { id: ITEM, value };
    let elements = bytes.chunks_exact(info.size as usize);
    let items: Option<Vec<_>> =
        elements.map(|element| Some(node(node_of(number(tensor.scalar_type, element)?)))).collect();
    let mut rows = items?;
    for size in sizes.iter().skip(1).rev() {
        let size = usize::try_from(*size).ok().filter(|size| *size > 0)?;
        let mut items = rows.into_iter().peekable();
        rows = Vec::new();
        while items.peek().is_some() {
            rows.push(node(NodeValue::List(items.by_ref().take(size).collect())));
        }
    }
    let id = if sizes.is_empty() { ITEM } else { NodeId::default() };
    Some(Data::new(id, DataSource::Numbers(rows)))
}

/// Id of the numbers in a list, which has another one.
const ITEM: NodeId = NodeId(1);

/// Returns the number that all elements have; `None` if they differ, are few enough for a list, or are not reproduced
/// by the number.
fn fill(bytes: &[u8], tensor: &Tensor) -> Option<NumericValue> {
    let mut elements = bytes.chunks_exact(tensor.scalar_type.info()?.size as usize);
    let first = elements.next().filter(|_| elements.len() >= SHORT_LIST)?;
    let is_whole = tensor.nbytes() == u64::try_from(bytes.len()).ok();
    (is_whole && elements.all(|element| element == first)).then(|| number(tensor.scalar_type, first))?
}

/// Returns an element as the number with the fewest digits; `None` if the number does not reproduce it exactly.
pub fn number(scalar_type: ScalarType, element: &[u8]) -> Option<NumericValue> {
    let text = number::element(number::decode(scalar_type, element)?, scalar_type.info()?.encoding);
    let number = number::number_of(&text)?;
    let mut encoded = Vec::with_capacity(element.len());
    number::encode(scalar_type, number, &mut encoded).ok()?;
    (encoded == element).then_some(number)
}
