//! Parsed data -> [`Blob`]: numbers are encoded, headers of files are read, and sizes are checked against the data.
//!
//! The content of files is not read here.

use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::io::{self};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::document::{At, Data, DataSource, RandomKind, Word};
use super::files::FileAccess;
use crate::ir::{Messages, NodeDiagnostic};
use pte_model::data::Origin;
use pte_model::data::files::{self, File};
use pte_model::data::number::number_word;
use pte_model::data::number::{self, NumericValue};
use pte_model::data::produce;
use pte_model::data::random::Distribution;
use pte_model::data::{Blob, BlobSource};
use pte_model::diagnostics::{Code, clipped, counted, is_io};
use pte_model::format::ScalarType;
use pte_model::format::scalar_type::Encoding;
use pte_model::program::{DimOrder, MAX_DIMENSIONS, TensorData, TensorLayout};
use pte_model::reader::flat_tensor::FlatTensorEntry;
use pte_model::reader::{self, npy, safetensors};
use pte_yaml::tree::{NodeId, NodeValue, SourceNode, beyond_float64};

/// Maximum total size in bytes of patches and compile specs: metadata are held in memory.
const MAX_IN_MEMORY: u64 = 64 << 20;

/// Use of requested data.
#[derive(Debug, Clone, Copy)]
pub enum DataRequest<'w> {
    /// A tensor: type, and sizes and order of dimensions if they are explicit.
    Tensor(ScalarType, Option<&'w [i32]>, Option<&'w DimOrder>),
    /// Bytes.
    Bytes,
    /// Bytes; an unknown name is a string whose bytes are used.
    BytesOrText,
}

/// A blob, and the sizes inferred from its source.
pub struct ResolvedData {
    /// Bytes in the dimension order of the tensor.
    pub blob: Blob,
    /// Sizes from the nesting of numbers or the header of a file.
    pub sizes: Option<Vec<i32>>,
}

/// Resolves data sources to blobs; caches the headers of files.
pub struct Finder<'d, 'a> {
    files: FileAccess,
    named: HashMap<&'d str, &'d Data<'a>>,
    used: HashSet<&'d str>,
    /// Bytes of named data, which all uses share.
    bytes: HashMap<&'d str, Blob>,
    /// Total size in bytes of the results of [`Finder::in_memory`].
    in_memory: u64,
    safetensors: HashMap<PathBuf, Arc<safetensors::SafetensorsHeader>>,
    entries: HashMap<PathBuf, Arc<[FlatTensorEntry]>>,
    /// Files that were opened.
    pub opened: BTreeSet<PathBuf>,
    /// Errors and warnings so far.
    pub diagnostics: Messages,
}

/// Blob of a tensor with the dimension order of its source.
struct LogicalTensor {
    blob: Blob,
    sizes: Option<Vec<i32>>,
    order: DimOrder,
}

impl<'d, 'a> Finder<'d, 'a> {
    /// Paths refer to `files`; names to `named`.
    pub fn new(files: &FileAccess, named: &'d [(Word<'a>, Data<'a>)]) -> Finder<'d, 'a> {
        let named = named.iter().map(|(name, data)| (&*name.value, data)).collect();
        Finder {
            files: files.clone(),
            named,
            used: HashSet::new(),
            bytes: HashMap::new(),
            in_memory: 0,
            safetensors: HashMap::new(),
            entries: HashMap::new(),
            opened: BTreeSet::new(),
            diagnostics: Messages::default(),
        }
    }

    /// Warns about unused payloads.
    pub fn warn_unused(&mut self) {
        let mut unused: Vec<_> = self.named.iter().filter(|(name, _)| !self.used.contains(*name)).collect();
        unused.sort_by_key(|(_, data)| data.id);
        for (name, data) in unused {
            let warning = Code::Unused.warning(data.id, format!("unused data `{name}`"));
            self.diagnostics.push(warning.label("unused"));
        }
    }

    fn fail<T>(&mut self, diagnostic: NodeDiagnostic) -> Option<T> {
        self.diagnostics.push(diagnostic);
        None
    }

    fn noted<T>(&mut self, found: Result<T, NodeDiagnostic>) -> Option<T> {
        found.map_err(|diagnostic| self.diagnostics.push(diagnostic)).ok()
    }

    /// The bytes of `data`, or `None` with a message.
    pub fn find(&mut self, data: &Data<'a>, want: DataRequest<'_>) -> Option<ResolvedData> {
        if let DataSource::Name(name) = &data.source {
            if let Some((name, _)) = self.named.get_key_value(&**name) {
                self.used.insert(name);
            }
            let Some(payload) = self.named.get(&**name).copied() else {
                if let DataRequest::BytesOrText = want {
                    return Some(ResolvedData { blob: Blob::bytes(name.as_bytes()), sizes: None });
                }
                let unknown = Code::UnknownName.error(data.id, format!("unknown data `{name}`"));
                let unknown = unknown.label("expected a name under `data`, or data such as [1, 2] or {hex: ...}");
                let diagnostic = unknown.suggest_among(self.diagnostics.len(), name, self.named.keys().copied());
                return self.fail(diagnostic);
            };
            if let DataSource::Name(_) = payload.source {
                let named = Code::WrongKind.error(payload.id, "data by name must not be another name");
                return self.fail(named.label("expected data such as [1, 2] or {hex: ...}"));
            }
            return match want {
                DataRequest::Tensor(..) => self.find(payload, want),
                DataRequest::Bytes | DataRequest::BytesOrText => self.named_bytes(name, payload),
            };
        }
        let mut found = match want {
            DataRequest::Tensor(scalar_type, sizes, dim_order) => self.find_tensor(data, scalar_type, sizes, dim_order),
            DataRequest::Bytes | DataRequest::BytesOrText => self.find_bytes(data),
        }?;
        found.blob.copy = data.copy;
        Some(found)
    }

    /// The bytes of named data, or `None` with a message.
    fn named_bytes(&mut self, name: &str, payload: &'d Data<'a>) -> Option<ResolvedData> {
        if let Some(blob) = self.bytes.get(name) {
            return Some(ResolvedData { blob: blob.clone(), sizes: None });
        }
        let found = self.find(payload, DataRequest::Bytes)?;
        let (name, _) = self.named.get_key_value(name)?;
        self.bytes.insert(name, found.blob.clone());
        Some(found)
    }

    /// The bytes of `data` that are stored in metadata, such as those of a patch; `None` with a message.
    pub(super) fn in_memory(&mut self, data: &Data<'a>, want: DataRequest<'_>) -> Option<Vec<u8>> {
        let blob = self.find(data, want)?.blob;
        let total = self.in_memory.saturating_add(blob.len);
        if total > MAX_IN_MEMORY {
            let message = format!("the patches and compile specs have {} so far", counted(total, "byte"));
            let label = format!("expected {MAX_IN_MEMORY} in total at most");
            return self.fail(Code::LimitExceeded.error(data.id, message).label(label));
        }
        self.in_memory = total;
        let unusable = |error: io::Error| {
            let message = format!("cannot use the data: {error}");
            NodeDiagnostic { at: Some(data.id), ..NodeDiagnostic::of_io(message, &error) }
        };
        let bytes = blob.to_vec().map_err(unusable);
        self.noted(bytes)
    }

    fn find_tensor(
        &mut self,
        data: &Data<'a>,
        scalar_type: ScalarType,
        sizes: Option<&[i32]>,
        dim_order: Option<&DimOrder>,
    ) -> Option<ResolvedData> {
        let what = match (&data.source, data.dtype, data.align) {
            (source, Some(dtype), _) if dtype != scalar_type && !source.is_stored() => {
                Some("`dtype` differs from the element type of the tensor")
            }
            (_, _, Some(_)) => Some("`align` is for named data; a tensor is aligned by the layout options"),
            (DataSource::Fill(_, Some(_)), ..) => {
                Some("`size` is for data without a tensor; here the sizes give the number of elements")
            }
            _ => None,
        };
        if let Some(what) = what {
            return self.fail(Code::ConflictingKeys.error(data.id, what).label("remove it"));
        }
        // Data of another element type are converted if `dtype` is given.
        let stored = data.dtype.unwrap_or(scalar_type);
        let nbytes = sizes.and_then(|sizes| pte_model::program::nbytes(stored, sizes));
        let raw = |blob: Blob| match blob.converted(stored, scalar_type) {
            Some(blob) => Ok(ResolvedData { blob, sizes: None }),
            None => Err(Code::DataType.error(data.id, format!("{stored} cannot be converted to {scalar_type}"))),
        };
        let logical = match &data.source {
            DataSource::Bytes(bytes) => return self.noted(raw(Blob::bytes(bytes.clone()))),
            DataSource::Text(text) => return self.noted(raw(Blob::bytes(text.as_bytes()))),
            DataSource::FlatBuffer(parsed) => {
                let blob = self.flatbuffer(parsed)?;
                return self.noted(raw(blob));
            }
            DataSource::File { path, offset, size } => {
                let blob = self.file(path, *offset, size.or(nbytes.filter(|_| offset.is_some())))?;
                return self.noted(raw(blob));
            }
            DataSource::Numbers(items) => self.numbers(data, items, scalar_type, sizes)?,
            DataSource::Npy(path) => self.npy(path, Some((stored, sizes)))?.1,
            DataSource::Safetensors(path, name) => self.safetensors(path, name, Some((stored, sizes)))?.1,
            DataSource::Ptd(path, key) | DataSource::Pte(path, key) => {
                let entry = self.keyed(data, path, key)?;
                if let Some(layout) = &entry.tensor_layout {
                    let what = format!("`{}` of {}", key.value, self.path(&path.value).display());
                    self.check_tensor(path.id, &what, (layout.scalar_type, &layout.sizes), Some((stored, sizes)))?;
                    let order = layout.dim_order.clone();
                    LogicalTensor { blob: entry.data, sizes: Some(layout.sizes.clone()), order }
                } else {
                    return self.noted(raw(entry.data));
                }
            }
            DataSource::Fill(..) | DataSource::Iota(..) | DataSource::Random(..) => {
                if nbytes.is_none() && sizes.is_some() {
                    let message = format!("the number of bytes of sizes {:?} overflows", sizes.unwrap_or_default());
                    return self.fail(Code::LimitExceeded.error(data.id, message));
                }
                let Some(len) = nbytes else {
                    let unsized_data = Code::UndeterminedTensor.error(data.id, "data of unknown length");
                    return self.fail(unsized_data.label("the tensor needs `sizes`"));
                };
                let blob = self.generated(data, scalar_type, len)?;
                let rank = sizes.map_or(0, <[i32]>::len);
                LogicalTensor { blob, sizes: None, order: DimOrder::contiguous(rank) }
            }
            DataSource::Name(_) => return None,
        };
        let sizes = sizes.map(<[i32]>::to_vec).or(logical.sizes.clone());
        let rank = sizes.as_ref().map_or(0, Vec::len);
        let to = dim_order.cloned().unwrap_or_else(|| DimOrder::contiguous(rank));
        let element = stored.element_size();
        let blob = logical.blob.reordered(element, sizes.as_deref().unwrap_or_default(), &logical.order, &to);
        let found = self.noted(raw(blob))?;
        Some(ResolvedData { sizes, ..found })
    }

    fn find_bytes(&mut self, data: &Data<'a>) -> Option<ResolvedData> {
        let blob = match &data.source {
            DataSource::Bytes(bytes) => Blob::bytes(bytes.clone()),
            DataSource::Text(text) => Blob::bytes(text.as_bytes()),
            DataSource::FlatBuffer(parsed) => self.flatbuffer(parsed)?,
            DataSource::File { path, offset, size } => self.file(path, *offset, *size)?,
            DataSource::Npy(path) => self.npy(path, None)?.1.blob,
            DataSource::Safetensors(path, name) => self.safetensors(path, name, None)?.1.blob,
            DataSource::Ptd(path, key) | DataSource::Pte(path, key) => self.keyed(data, path, key)?.data,
            DataSource::Numbers(items) => {
                let Some(scalar_type) = data.dtype else {
                    let untyped = Code::UndeterminedTensor.error(data.id, "numbers without an element type");
                    return self.fail(untyped.label("add `dtype` as in {numbers: [...], dtype: int32}, or use hex"));
                };
                self.numbers(data, items, scalar_type, None)?.blob
            }
            DataSource::Fill(_, Some(count)) => {
                let scalar_type = data.dtype.unwrap_or(ScalarType::BYTE);
                let element = scalar_type.element_size();
                let Some(len) = count.checked_mul(element) else {
                    return self.fail(Code::LimitExceeded.error(data.id, "the number of bytes overflows"));
                };
                self.generated(data, scalar_type, len)?
            }
            DataSource::Fill(_, None) | DataSource::Iota(..) | DataSource::Random(..) | DataSource::Name(_) => {
                let unsized_data = Code::UndeterminedTensor.error(data.id, "data of unknown length");
                return self
                    .fail(unsized_data.label("expected a tensor with sizes, or `size` as in {fill: 0, size: 16}"));
            }
        };
        Some(ResolvedData { blob, sizes: None })
    }

    /// Fill, iota and random: any number of elements from a few numbers.
    fn generated(&mut self, data: &Data<'a>, scalar_type: ScalarType, len: u64) -> Option<Blob> {
        let mut encode = |number| {
            let mut bytes = Vec::new();
            match number::encode(scalar_type, number, &mut bytes) {
                Ok(()) => Some(bytes),
                Err(message) => {
                    self.diagnostics.push(Code::DataNumber.error(data.id, message));
                    None
                }
            }
        };
        let count = len / scalar_type.element_size();
        let source = match &data.source {
            DataSource::Fill(number, _) => BlobSource::Repeat(encode(*number)?.into()),
            DataSource::Iota(start, step) => {
                encode(*start)?;
                // If a progression leaves the range of the type, its last element does.
                encode(produce::iota(*start, *step, count.saturating_sub(1)))?;
                encode(produce::iota(*start, *step, 1.min(count.saturating_sub(1))))?;
                BlobSource::Iota { scalar_type, start: *start, step: *step }
            }
            DataSource::Random(seed, kind) => {
                let distribution = self.distribution(data.id, *kind, scalar_type)?;
                BlobSource::Random { scalar_type, seed: *seed, distribution }
            }
            DataSource::Name(_)
            | DataSource::Numbers(_)
            | DataSource::Bytes(_)
            | DataSource::Text(_)
            | DataSource::FlatBuffer(_)
            | DataSource::File { .. }
            | DataSource::Npy(_)
            | DataSource::Safetensors(..)
            | DataSource::Ptd(..)
            | DataSource::Pte(..) => return None,
        };
        Some(Blob::new(len, source))
    }

    fn distribution(&mut self, at: NodeId, kind: RandomKind, scalar_type: ScalarType) -> Option<Distribution> {
        let integers = match scalar_type.info() {
            Some(info) => match info.encoding {
                Encoding::Bool => Some((0, 2)),
                Encoding::Signed => Some((-(1i128 << (info.size * 8 - 1)), 1i128 << (info.size * 8 - 1))),
                Encoding::Unsigned | Encoding::Opaque => Some((0, 1i128 << (info.size * 8))),
                Encoding::Float(_) | Encoding::Complex(_) => None,
            },
            None => None,
        };
        let wrong = match (kind, integers) {
            (RandomKind::Normal(..), Some(_)) => "the normal distribution is not for integers",
            (RandomKind::Normal(mean, std), None) => return Some(Distribution::Normal { mean, std }),
            (RandomKind::Uniform(low, high), None) => {
                let (low, high) = (low.map_or(0.0, NumericValue::to_f64), high.map_or(1.0, NumericValue::to_f64));
                if low < high && low.is_finite() && high.is_finite() {
                    return Some(Distribution::Uniform { low, high });
                }
                "`low` must be below `high`, and both finite"
            }
            (RandomKind::Uniform(low, high), Some((least, bound))) => {
                match (low.unwrap_or(NumericValue::Int(least)), high.unwrap_or(NumericValue::Int(bound))) {
                    (NumericValue::Int(low), NumericValue::Int(high))
                        if least <= low && low < high && high <= bound =>
                    {
                        return Some(Distribution::Integers { low, high });
                    }
                    _ => "`low` and `high` must be integers that the type holds, and `low` below `high`",
                }
            }
        };
        self.fail(Code::DataNumber.error(at, format!("no random numbers of {scalar_type}: {wrong}")))
    }

    /// Resolves a list of numbers, which is flat or nested like the tensor.
    fn numbers(
        &mut self,
        data: &Data<'a>,
        items: &[SourceNode<'a>],
        scalar_type: ScalarType,
        sizes: Option<&[i32]>,
    ) -> Option<LogicalTensor> {
        // A single number is a tensor of rank 0; its item has the id of the data.
        let scalar = matches!(items, [item] if item.id == data.id);
        let mut list =
            NumberListEncoder { scalar_type, shape: Vec::new(), bytes: Vec::new(), count: 0, diagnostics: Vec::new() };
        if scalar {
            list.number(&items[0]);
        } else {
            list.items(data.id, items, 0);
        }
        let NumberListEncoder { shape, bytes, count, mut diagnostics, .. } = list;
        if diagnostics.is_empty()
            && let Some(sizes) = sizes
        {
            let expected = sizes.iter().try_fold(1u64, |n, size| n.checked_mul(u64::try_from(*size).ok()?));
            let flat = shape.len() <= 1;
            let nested_right = shape.iter().map(|n| *n as i128).eq(sizes.iter().map(|n| i128::from(*n)));
            if !flat && !nested_right && Some(count) == expected {
                let message = format!("the numbers are nested as {shape:?}, the sizes are {sizes:?}");
                diagnostics.push(
                    Code::DataSize.error(data.id, message).label("expected a flat list, or one nested as the sizes"),
                );
            } else if Some(count) != expected {
                let found = counted(count, "number");
                let message = match expected {
                    Some(expected) => format!("found {found}, but sizes {sizes:?} have {expected}"),
                    None => format!("found {found}, but the number of elements of sizes {sizes:?} overflows"),
                };
                let label =
                    expected.map_or(String::new(), |expected| format!("expected {}", counted(expected, "number")));
                diagnostics.push(Code::DataSize.error(data.id, message).label(label));
            }
        }
        if !diagnostics.is_empty() {
            self.diagnostics.extend(diagnostics);
            return None;
        }
        let found: Option<Vec<i32>> = shape.iter().map(|n| i32::try_from(*n).ok()).collect();
        let rank = sizes.map_or(shape.len(), <[i32]>::len);
        Some(LogicalTensor { blob: Blob::bytes(bytes), sizes: found, order: DimOrder::contiguous(rank) })
    }

    pub(super) fn path(&self, path: &str) -> PathBuf {
        self.files.folder.join(path)
    }

    pub(super) fn unreadable<T>(&mut self, at: NodeId, path: &Path, error: &io::Error) -> Option<T> {
        self.unusable(Code::of_io(error), at, path, error)
    }

    fn unusable<T>(&mut self, code: Code, at: NodeId, path: &Path, error: &io::Error) -> Option<T> {
        // Errors of libraries may have several lines. The first one is the message.
        let text = error.to_string();
        let text = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or("it cannot be read");
        let verb = if is_io(error) { "read" } else { "use" };
        let message = format!("cannot {verb} {}: {text}", path.display());
        self.fail(NodeDiagnostic { code, at: Some(at), ..NodeDiagnostic::of_io(message, error) }.label("this file"))
    }

    /// An error about the content of a file.
    pub(super) fn malformed<T>(&mut self, at: NodeId, path: &Path, what: impl Into<String>) -> Option<T> {
        self.unreadable(at, path, &io::Error::new(io::ErrorKind::InvalidData, what.into()))
    }

    /// Opens a file, and returns it with its length. Pipes and devices, which might never end, are rejected.
    pub(super) fn open(&mut self, at: NodeId, path: &Path) -> Option<(File, u64)> {
        if let Err(error) = self.files.check(path) {
            return self.unusable(Code::ConfinedFile, at, path, &error);
        }
        match files::metadata(path) {
            Ok(metadata) if !metadata.is_file() => {
                let error = io::Error::new(io::ErrorKind::IsADirectory, "expected a regular file");
                return self.unreadable(at, path, &error);
            }
            Ok(_) => {}
            Err(error) => {
                let message = format!("cannot read {}: {error}", path.display());
                let missing = NodeDiagnostic { at: Some(at), ..NodeDiagnostic::of_io(message, &error) };
                return self.fail(missing.label("paths are relative to the YAML file"));
            }
        }
        match File::open(path).and_then(|file| Ok((file.metadata()?.len(), file))) {
            Ok((length, file)) => {
                self.opened.insert(path.to_owned());
                Some((file, length))
            }
            Err(error) => self.unreadable(at, path, &error),
        }
    }

    fn file(&mut self, path: &Word<'a>, offset: Option<u64>, size: Option<u64>) -> Option<Blob> {
        let (at, path) = (path.id, self.path(&path.value));
        if let Some(planned) = self.files.planned.get(&path).filter(|_| offset.is_none())
            && size.is_none_or(|size| size == planned.len)
        {
            return Some(Blob { copy: 0, ..planned.clone() });
        }
        let offset = offset.unwrap_or(0);
        let (_, length) = self.open(at, &path)?;
        let available = length.checked_sub(offset);
        let len = size.or(available).filter(|len| Some(*len) <= available);
        let Some(len) = len else {
            let requested = size.map_or("the rest".to_owned(), |size| counted(size, "byte"));
            let message = format!(
                "{} has {}: too short for {requested} from byte {offset}",
                path.display(),
                counted(length, "byte")
            );
            return self.fail(Code::DataSize.error(at, message));
        };
        Some(Blob::new(len, BlobSource::File { path: path.into(), offset }))
    }

    /// Checks that a tensor in a file has the expected element type and sizes.
    fn check_tensor(
        &mut self,
        at: NodeId,
        what: &str,
        found: (ScalarType, &[i32]),
        expected: Option<(ScalarType, Option<&[i32]>)>,
    ) -> Option<()> {
        let Some((scalar_type, sizes)) = expected else { return Some(()) };
        if found.0 != scalar_type {
            let message = format!("{what} has element type {}, the tensor is {scalar_type}", found.0);
            let label = format!("declare the tensor as {0}, or add `dtype: {0}` to convert the data", found.0);
            return self.fail(Code::DataType.error(at, message).label(label));
        }
        if let Some(sizes) = sizes.filter(|sizes| *sizes != found.1) {
            let message = format!("{what} has sizes {:?}, the tensor {sizes:?}", found.1);
            return self.fail(Code::DataSize.error(at, message).label("sizes must agree"));
        }
        Some(())
    }

    fn npy(
        &mut self,
        path: &Word<'a>,
        expected: Option<(ScalarType, Option<&[i32]>)>,
    ) -> Option<(ScalarType, LogicalTensor)> {
        let (at, path) = (path.id, self.path(&path.value));
        let origin = match self.files.planned.get(&path).map(Blob::to_vec) {
            Some(Ok(content)) => Origin::Bytes(content.into()),
            Some(Err(error)) => return self.unreadable(at, &path, &error),
            None => {
                self.open(at, &path)?;
                Origin::File(path.as_path().into())
            }
        };
        let found = match npy::read(&origin) {
            Ok(found) => found,
            Err(error) if is_io(&error) => return self.unreadable(at, &path, &error),
            Err(error) => return self.malformed(at, &path, error.to_string()),
        };
        let TensorLayout { scalar_type, sizes, dim_order } = found.layout;
        self.check_tensor(at, &path.display().to_string(), (scalar_type, &sizes), expected)?;
        Some((scalar_type, LogicalTensor { blob: found.data, sizes: Some(sizes), order: dim_order }))
    }

    fn safetensors(
        &mut self,
        path: &Word<'a>,
        name: &Word<'a>,
        expected: Option<(ScalarType, Option<&[i32]>)>,
    ) -> Option<(ScalarType, LogicalTensor)> {
        let (at, path) = (path.id, self.path(&path.value));
        let header = self.safetensors_header(at, &path)?;
        let Some(info) = header.info(&name.value) else {
            let mut names: Vec<&str> = header.tensors().map(|(name, _)| name).collect();
            names.sort_unstable();
            let message = format!("{} has no tensor `{}`", path.display(), name.value);
            return self.missing(name, message, &names);
        };
        let found = match header.find(&name.value, info) {
            Ok(found) => found,
            Err(error) => return self.malformed(at, &path, error),
        };
        let safetensors::SafetensorsTensor { scalar_type, sizes, offset, len } = found;
        let what = format!("tensor `{}` of {}", name.value, path.display());
        self.check_tensor(at, &what, (scalar_type, &sizes), expected)?;
        let order = DimOrder::contiguous(sizes.len());
        let blob = Blob::new(len, BlobSource::File { path: path.into(), offset });
        Some((scalar_type, LogicalTensor { blob, sizes: Some(sizes), order }))
    }

    /// Data of a `.ptd` or `.pte` by key.
    fn keyed(&mut self, data: &Data<'a>, path: &Word<'a>, key: &Word<'a>) -> Option<FlatTensorEntry> {
        let file = self.path(&path.value);
        self.open(path.id, &file)?;
        if !self.entries.contains_key(&file) {
            let origin = Origin::File(file.as_path().into());
            let entries = match data.source {
                DataSource::Ptd(..) => reader::flat_tensor::read(&origin),
                _ => reader::program::read(&origin).map(|found| entries_of(&found.program)),
            };
            match entries {
                Ok(entries) => self.entries.insert(file.clone(), entries.into()),
                Err(error) => return self.unreadable(path.id, &file, &error),
            };
        }
        let entries = self.entries[&file].clone();
        if let Some(entry) = entries.iter().find(|entry| entry.key == key.value) {
            return Some(entry.clone());
        }
        let keys: Vec<&str> = entries.iter().map(|entry| entry.key.as_str()).collect();
        self.missing(key, format!("{} has no key `{}`", file.display(), clipped(&key.value)), &keys)
    }

    /// An error about a name that is not among those of a file.
    fn missing<T>(&mut self, name: &Word<'a>, message: String, known: &[&str]) -> Option<T> {
        let more = if known.len() > 5 { ", ..." } else { "" };
        let label = format!("it has {}{more}", known[..known.len().min(5)].join(", "));
        let unknown = Code::MissingInFile.error(name.id, message).label(label);
        let diagnostic = unknown.suggest_among(self.diagnostics.len(), &name.value, known.iter().copied());
        self.fail(diagnostic)
    }

    pub(super) fn safetensors_header(
        &mut self,
        at: NodeId,
        path: &Path,
    ) -> Option<Arc<safetensors::SafetensorsHeader>> {
        if let Some(header) = self.safetensors.get(path) {
            return Some(header.clone());
        }
        self.open(at, path)?;
        match safetensors::header(&Origin::File(path.into())) {
            Ok(header) => {
                let header = Arc::new(header);
                self.safetensors.insert(path.to_owned(), header.clone());
                Some(header)
            }
            Err(error) => self.unreadable(at, path, &error),
        }
    }
}

/// Named data of a program, and its constants with a name.
fn entries_of(program: &pte_model::program::Program) -> Vec<FlatTensorEntry> {
    let named = program.named_data.iter().flatten().map(|data| FlatTensorEntry {
        key: data.key.clone(),
        data: program.blob(data.data).clone(),
        tensor_layout: None,
    });
    let tensors = program.plans().iter().flat_map(|plan| plan.tensors()).filter_map(|(_, tensor)| {
        let TensorData::Blob(blob) = tensor.data else { return None };
        let key = tensor.name()?.to_owned();
        let (Some(_), Some(_)) = (&tensor.sizes, &tensor.dim_order) else { return None };
        let tensor_layout = Some(TensorLayout::of(tensor));
        Some(FlatTensorEntry { key, data: program.blob(blob).clone(), tensor_layout })
    });
    named.chain(tensors).collect()
}

/// Returns the number that a node is, which may be in quotes.
pub fn number_of(value: &NodeValue<'_>) -> Option<NumericValue> {
    match value {
        NodeValue::Int(n) => Some(NumericValue::Int((*n).into())),
        NodeValue::UInt(n) => Some(NumericValue::Int((*n).into())),
        NodeValue::Float(x) => Some(NumericValue::Float(*x)),
        NodeValue::Bool(b) => Some(NumericValue::Bool(*b)),
        NodeValue::Text(text) => number_word(text),
        NodeValue::Null | NodeValue::List(_) | NodeValue::Map(_) => None,
    }
}

/// Returns a number as a node, the inverse of [`number_of`].
pub fn node_of(number: NumericValue) -> NodeValue<'static> {
    match number {
        NumericValue::Int(n) => match (i64::try_from(n), u64::try_from(n)) {
            (Ok(n), _) => NodeValue::Int(n),
            (Err(_), Ok(n)) => NodeValue::UInt(n),
            (Err(_), Err(_)) => NodeValue::Float(n as f64),
        },
        NumericValue::Float(x) => NodeValue::Float(x),
        NumericValue::Bool(b) => NodeValue::Bool(b),
        NumericValue::Complex(..) => NodeValue::Text(number.to_string().into()),
    }
}

/// Encodes a nested list of numbers.
struct NumberListEncoder {
    scalar_type: ScalarType,
    /// Lengths of the lists by depth.
    shape: Vec<u64>,
    bytes: Vec<u8>,
    count: u64,
    diagnostics: Vec<NodeDiagnostic>,
}

/// Maximum number of errors reported for one list.
const MAX_ERRORS: usize = 3;

impl NumberListEncoder {
    fn items(&mut self, at: NodeId, items: &[SourceNode<'_>], depth: usize) {
        let length = items.len() as u64;
        match self.shape.get(depth) {
            None => self.shape.push(length),
            Some(expected) if *expected == length => {}
            Some(expected) => {
                let message = format!("a list of {length} beside lists of {expected}");
                self.diagnostics.push(
                    Code::DataNumber.error(at, message).label(format!("expected {}", counted(*expected, "item"))),
                );
                return;
            }
        }
        for item in items {
            if self.diagnostics.len() >= MAX_ERRORS {
                return;
            }
            match &item.value {
                NodeValue::List(below) => {
                    if self.count > 0 && self.shape.len() == depth + 1 {
                        self.diagnostics
                            .push(Code::DataNumber.error(item.id, "a list beside numbers").label("expected a number"));
                        return;
                    }
                    self.items(item.id, below, depth + 1);
                }
                _ if self.shape.len() > depth + 1 => {
                    self.diagnostics
                        .push(Code::DataNumber.error(item.id, "a number beside lists").label("expected a list"));
                    return;
                }
                _ => self.number(item),
            }
        }
    }

    fn number(&mut self, node: &SourceNode<'_>) {
        self.count += 1;
        let Some(number) = number_of(&node.value) else {
            let expected = if self.scalar_type == ScalarType::BOOL { "true or false" } else { "a number" };
            let message = match &node.value {
                NodeValue::Text(text) if number::is_beyond_float64(text) => beyond_float64(text),
                value => format!("expected {expected}, found {}", value.describe()),
            };
            return self
                .diagnostics
                .push(Code::DataNumber.error(node.id, message).label(format!("expected {expected}")));
        };
        if let Err(message) = number::encode(self.scalar_type, number, &mut self.bytes) {
            self.diagnostics.push(Code::DataNumber.error(node.id, message));
        }
    }
}

/// Returns the error about data of another number of bytes than a tensor has.
pub fn bytes_disagree(at: NodeId, scalar_type: ScalarType, sizes: &[i32], found: u64) -> NodeDiagnostic {
    let expected = pte_model::program::nbytes(scalar_type, sizes)
        .map_or("more bytes than can be counted".into(), |n| counted(n, "byte"));
    Code::DataSize
        .error(at, format!("the data have {}, {scalar_type} {sizes:?} has {expected}", counted(found, "byte")))
        .label(format!("expected {expected}"))
        .help("data of another element type are converted if `dtype` in `data` states it")
}

/// Help for a size that is not a number: -1, or a name.
pub const VARIABLE_SIZE: &str = "a size that varies has its upper bound here, and the tensor `dynamism: dynamic_bound`";

/// Checks the sizes of a tensor (rules T-6, T-8).
pub fn check_sizes(sizes: &At<Vec<i32>>) -> Result<(), NodeDiagnostic> {
    if let Some(size) = sizes.value.iter().find(|size| **size < 0) {
        return Err(Code::InvalidSizes
            .error(sizes.id, format!("a size cannot be {size}"))
            .label("expected sizes from 0")
            .help(VARIABLE_SIZE));
    }
    if sizes.value.len() > MAX_DIMENSIONS {
        let message = format!("{} dimensions exceed the maximum of the runtime", sizes.value.len());
        return Err(Code::InvalidSizes.error(sizes.id, message).label(format!("expected {MAX_DIMENSIONS} at most")));
    }
    Ok(())
}

/// Checks an order of `rank` dimensions (rules T-7, T-9).
pub fn check_dim_order(order: &At<DimOrder>, rank: usize) -> Result<(), NodeDiagnostic> {
    if order.value.is_permutation(rank) {
        return Ok(());
    }
    let message = format!("{:?} is not an order of {}", order.value, counted(rank, "dimension"));
    let all: Vec<Cow<'_, str>> = (0..rank).map(|d| Cow::Owned(d.to_string())).collect();
    Err(Code::InvalidSizes.error(order.id, message).label(format!("expected each of {} once", all.join(", "))))
}
