//! The last stage. It emits the metadata of all output files of a planned program, and applies field overrides.
//!
//! Data are read when a file is written. Names and paths of the files are up to the caller.

pub mod check;
mod names;

pub mod origins;
mod positions;
pub mod side;

pub use names::SourceNames;

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use self::origins::Origins;
use crate::emitter::encoding::FieldEncodings;
use crate::emitter::flatbuffer::FlatBuffer;
use crate::emitter::safetensors::{self, Safetensors};
use crate::emitter::{self, ByteSink, File, Metadata};
use crate::layout::file::Placement;
use crate::layout::segments::Segment;
use crate::layout::{self, LayoutConfig, Plan};
use crate::overrides::fields::OverrideReport;
use crate::overrides::walker::ValueNames;
use crate::overrides::{self, FileOverrides, Overrides, Patch};
use pte_model::data::{Blob, Origin, PlannedBytes};
use pte_model::diagnostics::{self, Report};
use pte_model::error::Error;
use pte_model::program::Program;
use pte_model::program::test_cases::MethodTests;
use pte_transform::for_release::WrittenFor;
use pte_transform::prune::PrunedParts;
use pte_yaml::source::SourceText;

/// A program with the metadata of its files; data are read when the files are written.
///
/// ```
/// use pte_emit::{AssembleOptions, Model};
///
/// let source = Model::open("examples/linear.yaml")?;
/// let options = AssembleOptions::default().external_data(true);
/// let assembly = source.assemble(&options)?;
/// assert!(assembly.warnings.diagnostics.is_empty());
/// assert_eq!(assembly.program().plans().len(), 1);
/// assert_eq!((assembly.value_name(0, 0), assembly.data_size()), (Some("weight"), 144));
/// assert!(assembly.plan().segments.iter().all(|segment| segment.size == 0));
///
/// let program = assembly.program_file().expect("the source has methods");
/// let mut pte = Vec::new();
/// program.write(&mut pte)?;
/// assert_eq!(program.size(), Some(pte.len() as u64));
/// assert_eq!(program.metadata()[..], pte[..]); // all data are in the .ptd
///
/// let (tag, weights) = assembly.data_files().next().expect("all constants are external");
/// assert_eq!(tag, None);
/// assert_eq!(&weights.to_vec()?[4..8], b"FT01");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Assembly {
    pub(crate) program: Program,
    pub(crate) plan: Plan,
    /// Layout options.
    pub(crate) options: LayoutConfig,
    /// Test cases of its methods.
    pub tests: Vec<MethodTests>,
    /// Field overrides and patches.
    pub(crate) overrides: Overrides,
    /// Name of the output files without extension, if the source sets one.
    pub name: Option<String>,
    /// Warnings about the source.
    pub warnings: Report,
    /// Parts that were removed from each method; empty unless the program was pruned.
    pub(crate) pruned: Vec<PrunedParts>,
    /// Release that the files were written for, and the changes for it.
    pub(crate) written_for: Option<WrittenFor>,
    /// Names of unknown operators that [`Assembly::warnings`] reports.
    pub(crate) reported_operators: BTreeSet<String>,
    /// Files that were read to resolve the source, also those without data in the program, such as an index.
    pub(crate) files: BTreeSet<PathBuf>,
    /// Nodes of the elements in the source, and their names there.
    pub(crate) origins: Origins,
    pub(crate) source: SourceText,
    /// Number of lines of the file before the source.
    pub(crate) lines_before: usize,
    program_file: Option<EmittedFile>,
    data_files: Vec<EmittedFile>,
}

/// The metadata of a file, and the overrides to apply while it is written.
#[derive(Debug)]
struct EmittedFile {
    metadata: Metadata,
    overrides: Option<FileOverrides>,
}

/// Padding of each segment, in bytes, that does not count as data.
const PAGE: u64 = 4096;

/// Returns the total size in bytes of the data of a program, of tests, and of overrides.
pub fn data_size(program: &Program, tests: &[MethodTests], overrides: &Overrides) -> u64 {
    let blobs = program.blobs.iter().map(|blob| blob.len);
    let tests = tests.iter().map(MethodTests::size);
    blobs.chain(tests).chain([overrides.size(), program.compile_spec_size()]).fold(0, u64::saturating_add)
}

impl EmittedFile {
    /// Returns the file, with `segments` of `blobs` after the metadata.
    fn file<'a>(&'a self, segments: &'a [Segment], blobs: &'a [Blob]) -> OutputFile<'a> {
        let mut emitted = self.metadata.file(segments, blobs);
        emitted.padding = self.overrides.as_ref().map_or(0, |overrides| overrides.fill);
        OutputFile { emitted, overrides: self.overrides.as_ref() }
    }
}

/// A program and its tests as a `.bpte`, ready to be written: the result of [`Assembly::bundled`].
#[derive(Debug)]
pub struct BundledFile(EmittedFile);

impl BundledFile {
    /// Returns the FlatBuffer: the content of the file, before patches.
    pub fn flatbuffer(&self) -> &[u8] {
        &self.0.metadata.flatbuffer
    }

    /// Returns the size in bytes; `None` beyond `u64`.
    pub fn size(&self) -> Option<u64> {
        self.file().size()
    }

    /// Writes the file.
    ///
    /// # Errors
    /// `out` returns an error, or appended data cannot be read.
    pub fn write(&self, out: &mut dyn io::Write) -> io::Result<()> {
        self.file().write(out)
    }

    /// Writes the file to a destination that may copy blobs itself, such as [`OutputSink`](crate::OutputSink).
    ///
    /// # Errors
    /// Errors of `out`, and appended data that cannot be read.
    pub fn write_to(&self, out: &mut dyn ByteSink) -> io::Result<()> {
        self.file().write_to(out)
    }

    /// Returns the file in memory.
    ///
    /// # Errors
    /// Appended data cannot be read.
    pub fn to_vec(&self) -> io::Result<Vec<u8>> {
        self.file().to_vec()
    }

    /// Returns the file, which has no segments of its own.
    pub(crate) fn file(&self) -> OutputFile<'_> {
        self.0.file(&[], &[])
    }
}

/// A file of an [`Assembly`], ready to be written.
#[derive(Debug)]
pub struct OutputFile<'a> {
    /// The file without overrides.
    pub(crate) emitted: File<'a>,
    /// Patches, truncation and appended bytes; `None` in a file without overrides.
    pub(crate) overrides: Option<&'a FileOverrides>,
}

impl OutputFile<'_> {
    /// Returns the size in bytes; `None` beyond `u64`.
    pub fn size(&self) -> Option<u64> {
        let size = self.emitted.placement.file_size;
        self.overrides.map_or(Some(size), |overrides| overrides.size(size))
    }

    /// Writes the file.
    ///
    /// # Errors
    /// Errors of `out`, and data that cannot be read.
    pub fn write(&self, out: &mut dyn io::Write) -> io::Result<()> {
        self.write_to(&mut emitter::WriterSink(out))
    }

    /// Writes the file to a destination that may copy blobs itself, such as [`OutputSink`](crate::OutputSink).
    ///
    /// # Errors
    /// Errors of `out`, and data that cannot be read.
    pub fn write_to(&self, out: &mut dyn ByteSink) -> io::Result<()> {
        match self.overrides {
            None => self.emitted.write(out),
            Some(overrides) => overrides.write(out, |out| self.emitted.write(out)),
        }
    }

    /// Returns header, offsets and sizes of the file, without overrides.
    ///
    /// ```
    /// use pte_emit::Model;
    /// use pte_emit::plan::Placement;
    ///
    /// let linear = Model::open("examples/linear.yaml")?;
    /// let file = linear.assembly()?.program_file().unwrap();
    /// let Placement { segment_base_offset, segment_data_size, file_size, .. } = file.placement();
    /// assert_eq!((file.segment_count(), segment_base_offset + segment_data_size), (1, *file_size));
    /// # Ok::<(), pte_emit::Error>(())
    /// ```
    pub fn placement(&self) -> &Placement {
        self.emitted.placement
    }

    /// Returns the size in bytes of the padding around the segments, without overrides.
    ///
    /// ```
    /// let linear = pte_emit::Model::open("examples/linear.yaml")?;
    /// let file = linear.assembly()?.program_file().unwrap();
    /// let after_program = file.placement().segment_base_offset - file.placement().program_size;
    /// assert_eq!(file.padding(), after_program); // the only segment has no padding in it
    /// # Ok::<(), pte_emit::Error>(())
    /// ```
    pub fn padding(&self) -> u64 {
        let data = self.emitted.segments.iter().map(|segment| segment.size).fold(0, u64::saturating_add);
        self.placement().file_size.saturating_sub(self.placement().program_size).saturating_sub(data)
    }

    /// Returns the number of segments.
    pub fn segment_count(&self) -> usize {
        self.emitted.segments.len()
    }

    /// Returns the metadata as written: FlatBuffer and header, patched and truncated.
    pub fn metadata(&self) -> Vec<u8> {
        let mut bytes = self.emitted.metadata();
        if let Some(overrides) = self.overrides {
            overrides.patch(0, &mut bytes);
            bytes.truncate(usize::try_from(overrides.truncate.unwrap_or(u64::MAX)).unwrap_or(usize::MAX));
        }
        bytes
    }

    /// Returns the file as an input. Its metadata are in memory, its data in their sources; a file with overrides is in
    /// memory as a whole.
    ///
    /// # Errors
    /// Data that cannot be read.
    pub(crate) fn origin(&self) -> io::Result<Origin> {
        if self.overrides.is_some() {
            return Ok(Origin::Bytes(self.to_vec()?.into()));
        }
        let File { padding, placement, .. } = &self.emitted;
        let mut planned = PlannedBytes::default();
        planned.add(0, Blob::bytes(self.emitted.metadata()), *padding);
        self.emitted.ranges().for_each(|((offset, _), blob)| planned.add(offset, blob.clone(), *padding));
        planned.add(placement.file_size, Blob::bytes([]), *padding);
        Ok(Origin::Planned(Arc::new(planned)))
    }

    /// Returns the file in memory.
    ///
    /// # Errors
    /// Data that cannot be read.
    pub fn to_vec(&self) -> io::Result<Vec<u8>> {
        // Reserve only the metadata: the sizes of data files are untrusted.
        let mut bytes = Vec::with_capacity(self.emitted.placement.program_size as usize);
        self.write_to(&mut bytes)?;
        Ok(bytes)
    }
}

/// Emits the metadata of all files of a planned program. A program file is emitted if `has_methods`; `values` returns
/// the names that overrides may use for the values of a method. Errors and warnings about overrides are in the returned
/// [`OverrideReport`].
///
/// # Errors
/// A FlatBuffer or a file is larger than its format allows (`FileTooLarge`), or inline data cannot be read.
pub fn emit(
    program: Program,
    plan: Plan,
    options: LayoutConfig,
    tests: Vec<MethodTests>,
    overrides: Overrides,
    has_methods: bool,
    values: &ValueNames<'_>,
) -> io::Result<(Assembly, OverrideReport)> {
    let mut report = OverrideReport::default();
    let mut program_file = None;
    if has_methods {
        let emit = |encodings: Option<&_>| emitter::program::emit(&program, &plan, &options, encodings);
        let place = |len| layout::file::program(len, &plan.segments, &options).ok_or_else(too_large);
        let file = emit_file(&overrides.main, values, &mut report, emit, place)?;
        if file.metadata.flatbuffer.has_moved {
            return Err(io::Error::other(
                "parts of a newer schema can only be written at the offsets that they have (`fixed` under `unknown`), and something before them has another size",
            ));
        }
        program_file = Some(file);
    }
    let none = FileOverrides::default();
    let mut data_files = Vec::with_capacity(plan.external.len());
    for (number, file) in plan.external.iter().enumerate() {
        let overrides = match number {
            0 if has_methods => &overrides.ptd,
            0 => &overrides.main,
            _ => &none,
        };
        let emit = |encodings: Option<&_>| emitter::flat_tensor::emit(file, options.ptd_builder, encodings);
        let place = |len| layout::file::flat_tensor(len, &file.segments, &options).ok_or_else(too_large);
        data_files.push(emit_file(overrides, values, &mut report, emit, place)?);
    }
    let assembly = Assembly {
        program,
        plan,
        options,
        tests,
        overrides,
        name: None,
        warnings: Report::default(),
        pruned: Vec::new(),
        written_for: None,
        reported_operators: BTreeSet::new(),
        files: BTreeSet::new(),
        origins: Origins::default(),
        source: SourceText::default(),
        lines_before: 0,
        program_file,
        data_files,
    };
    Ok((assembly, report))
}

fn too_large() -> io::Error {
    io::Error::new(io::ErrorKind::FileTooLarge, "the file exceeds the maximum size of its format")
}

/// Emits one file, through [`raw`] if it has overrides.
fn emit_file(
    overrides: &FileOverrides,
    values: &ValueNames<'_>,
    report: &mut OverrideReport,
    emit: impl Fn(Option<&FieldEncodings>) -> io::Result<FlatBuffer>,
    place: impl Fn(u64) -> io::Result<Placement>,
) -> io::Result<EmittedFile> {
    if overrides.is_empty() {
        let flatbuffer = emit(None)?;
        let placement = place(flatbuffer.len() as u64)?;
        return Ok(EmittedFile { metadata: Metadata { flatbuffer, placement }, overrides: None });
    }
    let (metadata, overrides) = overrides::apply::emit(overrides, values, report, emit, place)?;
    Ok(EmittedFile { metadata, overrides: Some(overrides) })
}

impl Assembly {
    /// Returns the total size in bytes of all data, and of padding that is larger than a page for each segment.
    pub fn data_size(&self) -> u64 {
        data_size(&self.program, &self.tests, &self.overrides).saturating_add(self.padding())
    }

    /// Returns the total size in bytes of the padding around segments, without files in which it is up to a page for
    /// each segment.
    pub(crate) fn padding(&self) -> u64 {
        let files = self.program_file().into_iter().chain(self.data_files().map(|(_, file)| file));
        let usual = |file: &OutputFile<'_>| PAGE * (file.segment_count() as u64 + 1);
        files
            .map(|file| (file.padding(), usual(&file)))
            .filter(|(padding, usual)| padding > usual)
            .map(|(padding, _)| padding)
            .fold(0, u64::saturating_add)
    }

    /// Returns the name that the source gives to a value of a method; `None` if it has none.
    pub fn value_name(&self, method: usize, value: usize) -> Option<&str> {
        self.origins.name(method, value)
    }

    /// Returns what [`AssembleOptions::prune`](crate::AssembleOptions::prune) removed from each method; empty unless
    /// the program was pruned.
    ///
    /// ```
    /// use pte_emit::{AssembleOptions, Model};
    /// use pte_emit::edit::PrunedParts;
    ///
    /// let yaml = "methods: {forward: {values: {x: {tensor: float32, sizes: [2]}}, inputs: [x], outputs: [x],
    ///   instructions: [{kernel: aten::relu.out, args: [x], out: y}]}}";
    /// let options = AssembleOptions::default().prune(true);
    /// let assembly = Model::from_yaml("m.yaml", yaml, ".").assemble(&options)?;
    /// let removed: &PrunedParts = &assembly.pruned()[0];
    /// assert_eq!((removed.instructions, &removed.names[..]), (1, &["y".to_owned()][..]));
    /// # Ok::<(), pte_emit::Error>(())
    /// ```
    pub fn pruned(&self) -> &[PrunedParts] {
        &self.pruned
    }

    /// Returns the release that the files were written for, with the changes for it; `None` for the current one.
    ///
    /// ```
    /// use pte_emit::{AssembleOptions, Model};
    /// use pte_emit::edit::{ReplacedCalls, WrittenFor};
    /// use pte_emit::release::Release;
    ///
    /// let yaml = "
    /// methods:
    ///   forward:
    ///     values: {x: {tensor: float32, sizes: [2]}}
    ///     inputs: [x]
    ///     outputs: [y]
    ///     instructions: [{kernel: dim_order_ops::_clone_dim_order.out, args: [x, false, null], out: y}]
    /// ";
    /// let options = AssembleOptions::default().for_runtime(Release::find("0.7").unwrap());
    /// let assembly = Model::from_yaml("clone.yaml", yaml, ".").assemble(&options)?;
    /// assert_eq!(assembly.program().plans()[0].operators.as_ref().unwrap()[0].name.as_deref(), Some("aten::clone"));
    /// let written: &WrittenFor = assembly.written_for().unwrap();
    /// assert_eq!(written.release.to_string(), "0.7.0");
    /// let clone: &ReplacedCalls = &written.replaced["dim_order_ops::_clone_dim_order.out"];
    /// assert_eq!((clone.count, &clone.by[..]), (1, &["aten::clone.out"][..]));
    /// assert_eq!(written.changes(), ["1 call of dim_order_ops::_clone_dim_order.out replaced by aten::clone.out"]);
    /// # Ok::<(), pte_emit::Error>(())
    /// ```
    pub fn written_for(&self) -> Option<&WrittenFor> {
        self.written_for.as_ref()
    }

    /// Returns the names of unknown operators that [`Assembly::warnings`] reports.
    ///
    /// ```
    /// use pte_emit::Model;
    ///
    /// let add = Model::open("examples/add.yaml")?;
    /// assert!(add.assembly()?.unknown_operators().is_empty());
    /// # Ok::<(), pte_emit::Error>(())
    /// ```
    pub fn unknown_operators(&self) -> &BTreeSet<String> {
        &self.reported_operators
    }

    /// Calls `each` with the paths of the files that the source refers to: those that the data are read from, and
    /// indices of such files. A path can be repeated.
    ///
    /// ```
    /// use pte_emit::Model;
    ///
    /// let yaml = "named_data: {x: {file: Cargo.toml}}";
    /// let (model, mut files) = (Model::from_yaml("m.yaml", yaml, "."), Vec::new());
    /// model.assembly()?.data_sources(&mut |path| files.push(path));
    /// assert!(files[0].ends_with("Cargo.toml"));
    /// # Ok::<(), pte_emit::Error>(())
    /// ```
    pub fn data_sources<'a>(&'a self, each: &mut dyn FnMut(&'a Path)) {
        self.program.blobs.iter().for_each(|blob| blob.each_file(each));
        self.files.iter().for_each(|file| each(file));
    }

    /// Returns the program.
    pub fn program(&self) -> &Program {
        &self.program
    }

    /// Returns the plan: the placement of the program's data and buffers.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Returns the `.pte`; `None` for a source without methods.
    pub fn program_file(&self) -> Option<OutputFile<'_>> {
        Some(self.program_file.as_ref()?.file(&self.plan.segments, &self.program.blobs))
    }

    /// Returns the `.ptd` files with their tags. The default file has no tag.
    pub fn data_files(&self) -> impl Iterator<Item = (Option<&str>, OutputFile<'_>)> {
        let files = self.plan.external.iter().zip(&self.data_files);
        files.map(|(file, emitted)| (file.tag.as_deref(), emitted.file(&file.segments, &self.program.blobs)))
    }

    /// Returns the program and its tests as a `.bpte`.
    ///
    /// ```
    /// use pte_emit::Model;
    ///
    /// let linear = Model::open("examples/linear.yaml")?;
    /// let assembly = linear.assembly()?;
    /// let bundled = assembly.bundled()?;
    /// assert_eq!(&bundled.flatbuffer()[4..8], b"BP08");
    /// let mut bpte = Vec::new();
    /// bundled.write(&mut bpte)?;
    /// assert_eq!(bundled.size(), Some(bpte.len() as u64));
    /// assert_eq!(bundled.to_vec()?, bpte);
    /// let mut copy = Vec::new();
    /// bundled.write_to(&mut copy)?;
    /// assert_eq!(copy, bpte);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// The source has no methods, tests have values that the format does not support, data cannot be read, or an
    /// override is of an unknown field.
    pub fn bundled(&self) -> Result<BundledFile, Error> {
        self.bundle().map_err(|error| self.error(&error))
    }

    /// Returns the tensors of an assembly without methods as a `.safetensors` file.
    ///
    /// ```
    /// use pte_emit::Model;
    ///
    /// let yaml = "named_data: {bias: {tensor: float32, sizes: [2], data: [0.5, -0.5]}}";
    /// let weights = Model::from_yaml("weights.yaml", yaml, ".").assembly()?.safetensors()?;
    /// let mut file = Vec::new();
    /// weights.write(&mut file)?;
    /// assert_eq!(file.len() as u64, weights.size());
    /// let mut copy = Vec::new();
    /// weights.write_to(&mut copy)?;
    /// assert_eq!(copy, file);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// The assembly has methods, a blob is not a tensor, or the format does not have an element type. The message names
    /// the key.
    pub fn safetensors(&self) -> Result<Safetensors, Error> {
        self.tensors().map_err(|error| self.error(&error))
    }

    /// Implements [`Assembly::safetensors`] with an error that does not name the source.
    pub(crate) fn tensors(&self) -> io::Result<Safetensors> {
        match self.program_file() {
            None => safetensors::emit(&self.program),
            Some(_) => {
                let methods = diagnostics::counted(self.program.plans().len() as u64, "method");
                Err(io::Error::other(format!("a .safetensors has no methods, the program has {methods}")))
            }
        }
    }

    /// Returns an error about the source.
    pub(crate) fn error(&self, error: &io::Error) -> Error {
        Error::io(&self.warnings.label(), "", error)
    }

    /// Implements [`Assembly::bundled`] with an error that does not name the source.
    pub(crate) fn bundle(&self) -> io::Result<BundledFile> {
        let program = self.program_file().ok_or_else(|| io::Error::other("a bundled program needs methods"))?;
        let order = self.options.bpte_builder.unwrap_or(self.options.builder);
        let bytes = program.to_vec()?;
        let mut report = OverrideReport::default();
        let emit = |encodings: Option<&_>| emitter::bundled_program::emit(&bytes, &self.tests, order, encodings);
        let place = |len| Ok(layout::file::bare(len));
        let emitted = emit_file(&self.overrides.bpte, &|_| Vec::new(), &mut report, emit, place)?;
        match report.errors.first() {
            Some(error) => Err(io::Error::other(format!("raw.bpte: {}", error.message))),
            None => Ok(BundledFile(emitted)),
        }
    }

    /// Returns the patches that are outside their file, each with its index in the source and the size of the file in
    /// bytes.
    pub(crate) fn patches_beyond_the_end(&self) -> Vec<(usize, &Patch, u64)> {
        let mut files = self.program_file().into_iter().chain(self.data_files().map(|(_, file)| file));
        let patches = [&self.overrides.main, &self.overrides.ptd].into_iter().flat_map(|overrides| {
            let size = files.next().map_or(Some(0), |file| file.size()).unwrap_or(u64::MAX);
            overrides.patches.iter().map(move |patch| (patch, size))
        });
        let numbered = patches.enumerate().map(|(number, (patch, size))| (number, patch, size));
        numbered.filter(|(_, patch, size)| patch.end().is_none_or(|end| end > *size)).collect()
    }
}
