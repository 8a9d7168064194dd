//! pte-emit is an assembler for ExecuTorch: a readable YAML (or JSON) text becomes a `.pte` program and `.ptd` weights,
//! byte for byte what ExecuTorch's own exporter writes for the same program.
//!
//! ```text
//! text --parse--> Document --resolve--> Program --plan--> Plan --emit--> bytes
//! ```
//!
//! [`assemble`] is that line as a function. Each stage can be used alone: [`ir`] reads texts, [`program`] is the model,
//! [`layout`] places every byte, [`emitter`] writes them.
//!
//! ```
//! let text = "
//! methods:
//!   forward:
//!     values:
//!       x: {tensor: float32, sizes: [2, 2]}
//!       y: {tensor: float32, sizes: [2, 2]}
//!     inputs: [x]
//!     outputs: [y]
//!     instructions:
//!       - {kernel: aten::relu.out, args: [x], out: y}
//! ";
//! let input = pte_emit::Input { name: "relu.yaml", text, folder: ".".as_ref() };
//! let assembly = pte_emit::assemble(&input, &pte_emit::Overrides::default()).map_err(|report| report.render(false)).unwrap();
//! let bytes = assembly.program_file().unwrap().to_vec().unwrap();
//! assert_eq!(&bytes[4..8], b"ET12");
//! ```

pub mod annotate;
pub mod check;
pub mod cli;
pub mod diagnostics;
pub mod emitter;
pub mod ir;
pub mod layout;
mod pages;
pub mod printer;
pub mod program;
pub mod raw;
pub mod reader;
pub mod schema;
mod workers;

#[cfg(test)]
mod golden;

use std::io;
use std::path::{Path, PathBuf};

use diagnostics::{Diagnostic, Report, Severity};
use ir::document::{Document, Layout};
use ir::resolve::{Origins, Resolved};
use ir::tests::MethodTests;
use layout::{LayoutError, Locus, Options, Plan, Shards};
use program::Program;
use raw::lies::Outcome;
use raw::make::{Made, make};
use raw::place::Values;
use raw::{Patch, Raw, Raws};
use reader::layout::FlatTensor;
use reader::{Format, Origin};

/// A text to assemble.
#[derive(Debug, Clone, Copy)]
pub struct Input<'a> {
    /// What to call it in messages.
    pub name: &'a str,
    /// The text: YAML or JSON.
    pub text: &'a str,
    /// Where the files are that it names.
    pub folder: &'a Path,
}

/// What the caller wants otherwise than the text says.
#[derive(Debug, Clone, Default)]
pub struct Overrides {
    /// Keys of `layout:` that win over the text's.
    pub layout: Layout,
    /// All constants go to a `.ptd`.
    pub external_data: bool,
    /// All external data that are in these `.ptd` files go into the program.
    pub internal_data: bool,
    /// `.ptd` files with data that the program refers to.
    pub with: Vec<PathBuf>,
    /// Data larger than this, in bytes, are refused; `None` is [`DEFAULT_MAX_SIZE`].
    pub max_size: Option<u64>,
    /// How the `.ptd` without a tag is split into several.
    pub shards: Option<Shards>,
}

/// A slip such as `sizes: [1000000, 1000000]` must not fill a disk.
pub const DEFAULT_MAX_SIZE: u64 = 64 << 30;

/// An assembled program: everything but the bytes of its data, which are read when the files are written.
#[derive(Debug)]
pub struct Assembly {
    /// What the text means.
    pub program: Program,
    /// Where every byte goes.
    pub plan: Plan,
    /// The layout that was asked for.
    pub options: Options,
    /// The tests of the methods.
    pub tests: Vec<MethodTests>,
    /// What is made wrong in the end.
    pub raws: Raws,
    /// What the text wants to be called, without an extension.
    pub name: Option<String>,
    /// Warnings.
    pub warnings: Report,
    pte: Option<Made>,
    ptds: Vec<Made>,
}

/// Assembles a text.
///
/// # Errors
/// A report of everything that is wrong with the text, or of data that cannot be read.
pub fn assemble(input: &Input<'_>, overrides: &Overrides) -> Result<Assembly, Report> {
    let tree = ir::tree::parse(input.text).map_err(|error| Report::syntax(input.name, input.text, vec![error]))?;
    let (document, mut messages) = ir::decode::decode(tree);
    let mut resolved = resolve(&document, &mut messages, input)?;
    let name = document.name.as_ref().map(|name| name.value.clone().into_owned());
    drop(document);
    merge_layout(&mut resolved.options, &overrides.layout);
    let report = |messages| Report::new(input.name, input.text, messages);
    let Resolved { program, tests, options, raws, origins, has_methods, .. } = resolved;
    let parts = Parts { program, tests, options, raws, has_methods };
    let (mut assembly, warnings) =
        finish(parts, overrides, &origins).map_err(|errors| report(placed(errors, &origins)))?;
    assembly.name = name;
    let warnings = placed(warnings, &origins);
    messages.extend(warnings.into_iter().map(|message| Diagnostic { severity: Severity::Warning, ..message }));
    assembly.warnings = report(messages);
    Ok(assembly)
}

/// Assembles a binary file anew: a `.pte`, a `.ptd`, or the program and the tests of a `.bpte`. `name` is what to call it
/// in messages.
///
/// # Errors
/// A report of what cannot be read, or cannot be done with it.
pub fn reassemble(name: &str, origin: &Origin, overrides: &Overrides) -> Result<Assembly, Report> {
    let report = |messages| Report::new(name, "", messages);
    let mut parts = read_parts(origin).map_err(|error| report(vec![unplaced(error.to_string())]))?;
    merge_layout(&mut parts.options, &overrides.layout);
    let nothing = Origins::default();
    let assembly = finish(parts, overrides, &nothing).map_err(|errors| report(placed(errors, &nothing)))?;
    Ok(assembly.0)
}

/// What is assembled, wherever it came from.
struct Parts {
    program: Program,
    tests: Vec<MethodTests>,
    options: Options,
    raws: Raws,
    has_methods: bool,
}

/// Reads a binary file, told apart by its identifier.
fn read_parts(origin: &Origin) -> io::Result<Parts> {
    let binary =
        |program, options, tests, has_methods| Parts { program, tests, options, raws: Raws::default(), has_methods };
    match reader::format(&origin.head(reader::TELLING)?, origin.len()?) {
        Some(Format::BundledProgram) => {
            let bundled = reader::bundled_program::read(origin)?;
            let (program, options) = reader::layout::program_with_layout(&bundled.program_origin()?)?;
            Ok(binary(program, options, bundled.tests, true))
        }
        Some(Format::FlatTensor) => {
            let FlatTensor { program, options, .. } = reader::layout::flat_tensor(origin)?;
            Ok(binary(program, options, Vec::new(), false))
        }
        Some(Format::Safetensors) => {
            Ok(binary(reader::safetensors::read(origin)?, Options::default(), Vec::new(), false))
        }
        Some(Format::Program) | None => {
            let (program, options) = reader::layout::program_with_layout(origin)?;
            Ok(binary(program, options, Vec::new(), true))
        }
    }
}

/// Moves data where they are wanted, plans, and makes the metadata of all files; with what deserves a warning.
fn finish(
    parts: Parts,
    overrides: &Overrides,
    origins: &Origins<'_>,
) -> Result<(Assembly, Vec<LayoutError>), Vec<LayoutError>> {
    let Parts { mut program, tests, mut options, raws, has_methods } = parts;
    options.shards = overrides.shards.clone();
    let whole = |error: io::Error| vec![LayoutError::new(Locus::Program, error.to_string())];
    check_size(&program, overrides.max_size.unwrap_or(DEFAULT_MAX_SIZE)).map_err(|error| vec![error])?;
    if overrides.internal_data || !overrides.with.is_empty() {
        program::internalize::internalize(&mut program, &overrides.with, overrides.internal_data).map_err(whole)?;
    }
    let same = program::dedup::find(&program.blobs).map_err(|(_, error)| whole(error))?;
    if overrides.external_data {
        let name = |method, value| origins.name(method, value).map(str::to_owned);
        program::externalize::externalize(&mut program, &same, name);
    }
    let plan = layout::plan(&program, &same, &options)?;
    let mut assembly = Assembly {
        program,
        plan,
        options,
        tests,
        raws,
        name: None,
        warnings: Report::default(),
        pte: None,
        ptds: Vec::new(),
    };
    let outcome = assembly.make(has_methods, &|method| origins.values(method)).map_err(whole)?;
    let at = |remark: raw::lies::Remark| LayoutError::new(Locus::Lie(remark.number), remark.message);
    let mut errors: Vec<LayoutError> = outcome.errors.into_iter().map(at).collect();
    errors.extend(assembly.patches_beyond());
    if errors.is_empty() { Ok((assembly, outcome.warnings.into_iter().map(at).collect())) } else { Err(errors) }
}

/// Resolves a document if there is nothing wrong with it so far; what is found is added to `messages`.
fn resolve<'a>(
    document: &Document<'a>,
    messages: &mut Vec<Diagnostic>,
    input: &Input<'_>,
) -> Result<Resolved<'a>, Report> {
    let report = |messages| Report::new(input.name, input.text, messages);
    if !messages.is_empty() {
        // Names of what could not be read would be reported as unknown.
        return Err(report(std::mem::take(messages)));
    }
    let mut resolved = ir::resolve::resolve(document, input.folder).map_err(report)?;
    messages.append(&mut resolved.diagnostics);
    Ok(resolved)
}

impl Assembly {
    /// Makes the metadata of all files, and frames them.
    fn make(&mut self, has_methods: bool, values: &Values<'_>) -> io::Result<Outcome> {
        let (program, plan, options) = (&self.program, &self.plan, &self.options);
        let too_large = || io::Error::new(io::ErrorKind::FileTooLarge, "the file is larger than what can be addressed");
        let mut outcome = Outcome::default();
        if has_methods {
            let emit = |forced: Option<&_>| emitter::program::emit(program, plan, options, forced);
            let frame = |len| layout::file::program(len, &plan.segments, options).ok_or_else(too_large);
            self.pte = Some(make(&self.raws.main, values, &mut outcome, emit, frame)?);
        }
        let untouched = Raw::default();
        for (number, file) in plan.external.iter().enumerate() {
            let raw = match number {
                0 if has_methods => &self.raws.ptd,
                0 => &self.raws.main,
                _ => &untouched,
            };
            let emit = |forced: Option<&_>| emitter::flat_tensor::emit(file, options.ptd_builder, forced);
            let frame = |len| layout::file::flat_tensor(len, &file.segments, options).ok_or_else(too_large);
            self.ptds.push(make(raw, values, &mut outcome, emit, frame)?);
        }
        Ok(outcome)
    }

    /// The `.pte`; `None` for a text of data only.
    pub fn program_file(&self) -> Option<emitter::File<'_>> {
        Some(self.pte.as_ref()?.file(&self.plan.segments, &self.program.blobs))
    }

    /// Patches that are not inside their file.
    fn patches_beyond(&self) -> Vec<LayoutError> {
        let mut files = self.program_file().into_iter().chain(self.data_files().map(|(_, file)| file));
        let mut number = 0;
        let mut errors = Vec::new();
        for raw in [&self.raws.main, &self.raws.ptd] {
            let size = files.next().map_or(Some(0), |file| file.size()).unwrap_or(u64::MAX);
            for patch in &raw.patches {
                if patch.end().is_none_or(|end| end > size) {
                    let Patch { at, bytes } = patch;
                    let message = format!("{} bytes at {at} go beyond the file, which has {size}", bytes.len());
                    errors.push(LayoutError::new(Locus::Patch(number), message));
                }
                number += 1;
            }
        }
        errors
    }

    /// The program and its tests as a `.bpte`.
    ///
    /// # Errors
    /// Tests of kinds that a `.bpte` cannot hold, data that cannot be read, a text without methods, places that it does not have.
    pub fn bundled(&self) -> io::Result<Made> {
        let program =
            self.program_file().ok_or_else(|| io::Error::other("without methods there is nothing to test"))?;
        let order = self.options.bpte_builder.unwrap_or(self.options.builder);
        let bytes = program.to_vec()?;
        let mut outcome = Outcome::default();
        let emit = |forced: Option<&_>| emitter::bundled_program::emit(&bytes, &self.tests, order, forced);
        let made = make(&self.raws.bpte, &|_| Vec::new(), &mut outcome, emit, |len| Ok(layout::file::bare(len)))?;
        match outcome.errors.first() {
            Some(error) => Err(io::Error::other(format!("raw.bpte: {}", error.message))),
            None => Ok(made),
        }
    }

    /// The `.ptd` files, each with its tag; the default one has none.
    pub fn data_files(&self) -> impl Iterator<Item = (Option<&str>, emitter::File<'_>)> {
        let files = self.plan.external.iter().zip(&self.ptds);
        files.map(|(file, made)| (file.tag.as_deref(), made.file(&file.segments, &self.program.blobs)))
    }
}

fn merge_layout(options: &mut Options, wanted: &Layout) {
    let Layout {
        segment_alignment, tensor_alignment, delegate_alignment, base_alignment, builder, ptd_builder, ..
    } = *wanted;
    let Layout { bpte_builder, header, header_size, strings, constants, delegates, .. } = *wanted;
    options.bpte_builder = bpte_builder.or(options.bpte_builder);
    options.segment_alignment = segment_alignment.unwrap_or(options.segment_alignment);
    options.tensor_alignment = tensor_alignment.unwrap_or(options.tensor_alignment);
    options.delegate_alignment = delegate_alignment.unwrap_or(options.delegate_alignment);
    options.base_alignment = base_alignment.or(options.base_alignment);
    options.builder = builder.unwrap_or(options.builder);
    options.ptd_builder = ptd_builder.unwrap_or(options.ptd_builder);
    options.header = header.unwrap_or(options.header);
    options.header_size = header_size.or(options.header_size);
    options.strings = strings.unwrap_or(options.strings);
    options.constants = constants.unwrap_or(options.constants);
    options.delegates = delegates.unwrap_or(options.delegates);
}

/// Refuses data beyond a limit; says where the largest are.
fn check_size(program: &Program, limit: u64) -> Result<(), LayoutError> {
    let total = program.blobs.iter().fold(0u64, |sum, blob| sum.saturating_add(blob.len));
    if total <= limit {
        return Ok(());
    }
    let tensors = program.plans().iter().enumerate().flat_map(|(method, plan)| {
        plan.tensors().filter_map(move |(value, tensor)| match tensor.data {
            program::TensorData::Blob(blob) => Some((Locus::Value(method, value), blob)),
            _ => None,
        })
    });
    let named =
        program.named_data.iter().flatten().enumerate().map(|(number, data)| (Locus::NamedData(number), data.data));
    let external = program.external_data.iter().enumerate();
    let external = external.map(|(number, data)| (Locus::ExternalData(number), data.data));
    let largest = tensors.chain(named).chain(external).max_by_key(|(_, blob)| program.blob(*blob).len);
    let message = format!("the data have {total} bytes, more than the {limit} that --max-size allows");
    Err(LayoutError::new(largest.map_or(Locus::Program, |(locus, _)| locus), message))
}

fn unplaced(message: String) -> Diagnostic {
    Diagnostic { at: None, ..Diagnostic::error(ir::tree::NodeId(0), message) }
}

fn placed(errors: Vec<LayoutError>, origins: &Origins<'_>) -> Vec<Diagnostic> {
    let mut messages: Vec<Diagnostic> = errors
        .into_iter()
        .map(|error| {
            let mut message = unplaced(error.message);
            message.at = origins.node(error.at);
            if let Some((locus, what)) = error.related
                && let Some(id) = origins.node(locus)
            {
                message = message.related(id, what);
            }
            message
        })
        .collect();
    messages.sort_by_key(|message| message.at);
    messages
}
