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
pub mod printer;
pub mod program;
pub mod reader;
pub mod schema;
mod workers;

#[cfg(test)]
mod golden;

use std::io;
use std::path::{Path, PathBuf};

use diagnostics::{Diagnostic, Report};
use emitter::flatbuffer::FlatBuffer;
use emitter::raw::{self, Raw};
use ir::document::{Document, Layout};
use ir::resolve::{Origins, Resolved};
use ir::tests::MethodTests;
use layout::file::Placement;
use layout::{LayoutError, Locus, Options, Plan, Shards};
use program::Program;
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
    /// What is changed in the end: in the program, or if there is none in the first `.ptd`.
    pub raw: Raw,
    /// Warnings.
    pub warnings: Report,
    pte: Option<Built>,
    ptds: Vec<Built>,
}

/// Metadata of a file, made.
#[derive(Debug)]
struct Built {
    flatbuffer: FlatBuffer,
    placement: Placement,
}

/// Assembles a text.
///
/// # Errors
/// A report of everything that is wrong with the text, or of data that cannot be read.
pub fn assemble(input: &Input<'_>, overrides: &Overrides) -> Result<Assembly, Report> {
    let tree = ir::tree::parse(input.text).map_err(|error| Report::syntax(input.name, input.text, error))?;
    let (document, mut messages) = ir::decode::decode(tree);
    let mut resolved = resolve(&document, &mut messages, input)?;
    drop(document);
    merge_layout(&mut resolved.options, &overrides.layout);
    let report = |messages| Report::new(input.name, input.text, messages);
    let Resolved { program, tests, options, raw, origins, has_methods, .. } = resolved;
    let parts = Parts { program, tests, options, raw, has_methods };
    let name = |method, value| origins.name(method, value).map(str::to_owned);
    let mut assembly = finish(parts, overrides, name).map_err(|errors| report(placed(errors, &origins)))?;
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
    finish(parts, overrides, |_, _| None).map_err(|errors| report(placed(errors, &Origins::default())))
}

/// What is assembled, wherever it came from.
struct Parts {
    program: Program,
    tests: Vec<MethodTests>,
    options: Options,
    raw: Raw,
    has_methods: bool,
}

/// Reads a binary file, told apart by its identifier.
fn read_parts(origin: &Origin) -> io::Result<Parts> {
    let binary =
        |program, options, tests, has_methods| Parts { program, tests, options, raw: Raw::default(), has_methods };
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

/// Moves data where they are wanted, plans, and makes the metadata of all files.
fn finish(
    parts: Parts,
    overrides: &Overrides,
    name: impl Fn(usize, usize) -> Option<String>,
) -> Result<Assembly, Vec<LayoutError>> {
    let Parts { mut program, tests, mut options, raw, has_methods } = parts;
    options.shards = overrides.shards.clone();
    let whole = |error: io::Error| vec![LayoutError::new(Locus::Program, error.to_string())];
    check_size(&program, overrides.max_size.unwrap_or(DEFAULT_MAX_SIZE)).map_err(|error| vec![error])?;
    if overrides.internal_data || !overrides.with.is_empty() {
        program::internalize::internalize(&mut program, &overrides.with, overrides.internal_data).map_err(whole)?;
    }
    let same = program::dedup::find(&program.blobs).map_err(|(_, error)| whole(error))?;
    if overrides.external_data {
        program::externalize::externalize(&mut program, &same, name);
    }
    let plan = layout::plan(&program, &same, &options)?;
    let (pte, ptds) = build(&program, &plan, &options, has_methods).map_err(whole)?;
    let assembly = Assembly { program, plan, options, tests, raw, warnings: Report::default(), pte, ptds };
    assembly.check_patches()?;
    Ok(assembly)
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

/// Makes the metadata of all files and frames it.
fn build(
    program: &Program,
    plan: &Plan,
    options: &Options,
    has_methods: bool,
) -> io::Result<(Option<Built>, Vec<Built>)> {
    let too_large = || io::Error::new(io::ErrorKind::FileTooLarge, "the file is larger than what can be addressed");
    let pte = if has_methods {
        let flatbuffer = emitter::program::emit(program, plan, options)?;
        let placement =
            layout::file::program(flatbuffer.len() as u64, &plan.segments, options).ok_or_else(too_large)?;
        Some(Built { flatbuffer, placement })
    } else {
        None
    };
    let mut ptds = Vec::with_capacity(plan.external.len());
    for file in &plan.external {
        let flatbuffer = emitter::flat_tensor::emit(file, options.ptd_builder)?;
        let placement =
            layout::file::flat_tensor(flatbuffer.len() as u64, &file.segments, options).ok_or_else(too_large)?;
        ptds.push(Built { flatbuffer, placement });
    }
    Ok((pte, ptds))
}

impl Assembly {
    /// The `.pte`; `None` for a text of data only.
    pub fn program_file(&self) -> Option<emitter::File<'_>> {
        let built = self.pte.as_ref()?;
        Some(self.file(built, &self.plan.segments, &self.raw))
    }

    /// Patches are inside the file.
    fn check_patches(&self) -> Result<(), Vec<LayoutError>> {
        let file = self.program_file().or_else(|| self.data_files().next().map(|(_, file)| file));
        let size = file.map_or(Some(0), |file| file.size()).unwrap_or(u64::MAX);
        let beyond = |patch: &&raw::Patch| patch.end().is_none_or(|end| end > size);
        let patches = self.raw.patches.iter().enumerate().filter(|(_, patch)| beyond(patch));
        let errors: Vec<LayoutError> = patches
            .map(|(number, patch)| {
                let message =
                    format!("{} bytes at {} go beyond the file, which has {size}", patch.bytes.len(), patch.at);
                LayoutError::new(Locus::Patch(number), message)
            })
            .collect();
        if errors.is_empty() { Ok(()) } else { Err(errors) }
    }

    /// The program and its tests as a `.bpte`.
    ///
    /// # Errors
    /// Tests of kinds that a `.bpte` cannot hold, data that cannot be read, a text without methods.
    pub fn bundled(&self) -> io::Result<FlatBuffer> {
        let program =
            self.program_file().ok_or_else(|| io::Error::other("without methods there is nothing to test"))?;
        let order = self.options.bpte_builder.unwrap_or(self.options.builder);
        emitter::bundled_program::emit(&program.to_vec()?, &self.tests, order)
    }

    /// The `.ptd` files, each with its tag; the default one has none.
    pub fn data_files(&self) -> impl Iterator<Item = (Option<&str>, emitter::File<'_>)> {
        const UNCHANGED: &Raw = &Raw { patches: Vec::new(), append: None };
        let files = self.plan.external.iter().zip(&self.ptds).enumerate();
        files.map(|(number, (file, built))| {
            let raw = if self.pte.is_none() && number == 0 { &self.raw } else { UNCHANGED };
            (file.tag.as_deref(), self.file(built, &file.segments, raw))
        })
    }

    fn file<'a>(&'a self, built: &'a Built, segments: &'a [layout::Segment], raw: &'a Raw) -> emitter::File<'a> {
        emitter::File {
            flatbuffer: &built.flatbuffer,
            placement: &built.placement,
            segments,
            blobs: &self.program.blobs,
            raw,
        }
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
