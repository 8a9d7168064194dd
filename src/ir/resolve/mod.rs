//! ParsedDocument -> Program: names become indices, literals become values, data become blobs, and stacks are completed
//! by operator schemas. Indices are assigned as by the exporter, so that concise YAML reproduces its files byte for
//! byte.
//!
//! No byte offsets are assigned here, and no tensor data are read.

mod calls;
mod graph;
mod implied;
mod infer;
mod instructions;
mod literals;
mod method;
mod method_tests;
mod unknown;
mod values;

use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::path::PathBuf;

use indexmap::IndexMap;

use self::method::MethodResolver;
pub use self::method_tests::InvalidTest;
use super::data::{self, DataRequest, Finder};
use super::document::{self, At, Declaration, ParsedDocument};
use super::files::FileAccess;
use crate::assembly::origins::Origins;
use crate::ir::{Messages, NodeDiagnostic};
use crate::layout::options::LayoutOptions;
use crate::overrides::{FieldOverride, FileOverrides, OverrideValue, Overrides, Patch};
use pte_analysis::operators::OperatorLookup;
use pte_model::data::Blob;
use pte_model::diagnostics::{Code, Severity};
use pte_model::format::safetensors::{METADATA, SafetensorsMetadata, key_of};
use pte_model::format::serializer::PROGRAM_VERSION;
use pte_model::program::test_cases::MethodTests;
use pte_model::program::{DimOrder, EValue, ExecutionPlan, ExternalData, Memory, NamedData, Program, TensorLayout};
use pte_model::reader::flat_tensor::FlatTensorEntry;
use pte_releases::Release;

/// The program of a document, with its tests and options.
pub struct ResolvedProgram {
    /// Program with indices in place of names.
    pub program: Program,
    /// The tests of its methods, without the invalid ones.
    pub tests: Vec<MethodTests>,
    /// Tests with errors, in the order of the source.
    pub invalid_tests: Vec<InvalidTest>,
    /// Release that it is written for.
    pub runtime: Option<Release>,
    /// Its layout options.
    pub options: LayoutOptions,
    /// Positions of its elements in the source.
    pub origins: Origins,
    /// Overrides that are applied to the emitted files.
    pub overrides: Overrides,
    /// True if the document has methods; without them the output is a `.ptd`.
    pub has_methods: bool,
    /// Warnings.
    pub diagnostics: Vec<NodeDiagnostic>,
    /// Warnings about gaps between the requested indices of values, which have been closed: one for each method.
    pub gaps: Vec<NodeDiagnostic>,
    /// Names of unknown operators that a warning reports.
    pub reported_operators: BTreeSet<String>,
    /// Files that were read.
    pub files: BTreeSet<PathBuf>,
}

/// Resolves a document that refers to `files`. Errors of tests are in the result, if there are no others.
///
/// # Errors
/// All errors and warnings.
pub fn resolve<'a>(document: &ParsedDocument<'a>, files: &FileAccess) -> Result<ResolvedProgram, Vec<NodeDiagnostic>> {
    let implied: Vec<Vec<Declaration<'a>>> = document.methods.iter().flatten().map(implied::declarations).collect();
    let mut finder = Finder::new(files, &document.data);
    let mut program = Program { version: document.version.unwrap_or(PROGRAM_VERSION), ..Program::default() };
    let mut origins = Origins {
        runtime: document.runtime.as_ref().map(|runtime| runtime.id),
        layout: document.layout.nodes.clone(),
        ..Origins::default()
    };
    let (mut all_tests, mut invalid_tests) = (Vec::new(), Vec::new());
    let mut reported_operators = HashMap::new();
    let (mut diagnostics, mut gaps) = (Messages::default(), Vec::new());
    if let Some(methods) = &document.methods {
        let mut lookup = OperatorLookup::default();
        let mut plans = Vec::with_capacity(methods.len());
        for (method, implied) in methods.iter().zip(&implied) {
            let mut resolver = MethodResolver::new(method, implied, &mut program, &mut finder, &mut lookup);
            resolver.reported_operators = std::mem::take(&mut reported_operators);
            let plan = resolver.run();
            let has_errors = resolver.diagnostics.iter().any(NodeDiagnostic::is_error);
            reported_operators = resolver.reported_operators;
            diagnostics.append(resolver.diagnostics);
            gaps.extend(resolver.gap.take());
            let origin = resolver.origins;
            let tests =
                method_tests::resolve(method, &plan, &origin.values, has_errors, &mut finder, &mut invalid_tests);
            all_tests.extend(tests);
            origins.methods.push(origin);
            plans.push(plan);
        }
        number_shared_state(&mut plans, &origins);
        program.execution_plan = Some(plans);
    }
    named_data(document, &mut program, &mut origins, &mut finder);
    checkpoints(document, &mut program, &mut origins, &mut finder);
    if let Some(section) = &document.unknown {
        let parts = unknown::resolve(&section.value, &program, &mut finder);
        program.set_newer_parts(parts);
    }
    let overrides = overrides(&document.raw, &mut origins, &mut finder);
    if invalid_tests.is_empty()
        && diagnostics.iter().chain(finder.diagnostics.iter()).all(|d| d.severity == Severity::Warning)
    {
        finder.warn_unused();
    }
    if document.methods.is_none() && program.external_data.is_empty() && finder.diagnostics.is_empty() {
        let at = document.named_data.as_ref().map(|entries| entries.id).unwrap_or_default();
        diagnostics.push(Code::EmptyDocument.error(at, "nothing to emit").label("expected blobs, or `methods`"));
    }
    diagnostics.append(finder.diagnostics);
    if diagnostics.iter().any(NodeDiagnostic::is_error) {
        diagnostics.extend(invalid_tests.into_iter().flat_map(|test| test.diagnostics));
        diagnostics.sort();
        return Err(diagnostics.into_list());
    }
    Ok(ResolvedProgram {
        program,
        tests: all_tests,
        invalid_tests,
        runtime: document.runtime.as_ref().map(|runtime| runtime.value.clone()),
        options: document.layout.options.clone(),
        overrides,
        origins,
        has_methods: document.methods.is_some(),
        diagnostics: diagnostics.into_list(),
        gaps,
        reported_operators: reported_operators.into_keys().map(str::to_owned).collect(),
        files: finder.opened,
    })
}

/// Numbers the state in pools other than 1, which methods share by its name in the file, else by its name in the YAML.
fn number_shared_state(plans: &mut [ExecutionPlan], origins: &Origins) {
    let mut numbers: HashMap<(u32, String), u32> = HashMap::new();
    for (plan, origin) in plans.iter_mut().zip(&origins.methods) {
        let mut own = HashSet::new();
        for (value, (_, name)) in plan.values.iter_mut().flatten().zip(&origin.values) {
            let EValue::Tensor(tensor) = value else { continue };
            let Memory::Auto { pool: Some(pool @ 2..), persistent: true, shared } = &mut tensor.memory else {
                continue;
            };
            let extra = tensor.extra_tensor_info.as_ref();
            let name = extra
                .and_then(|extra| extra.fully_qualified_name.clone())
                .or_else(|| name.as_deref().map(str::to_owned));
            let Some(name) = name else { continue };
            let next = numbers.len() as u32;
            let number = *numbers.entry((*pool, name)).or_insert(next);
            // Two values of a method are two states, whatever their names in the file.
            *shared = own.insert(number).then_some(number);
        }
    }
}

/// Resolves the `raw` section.
fn overrides<'d, 'a>(
    raw: &'d document::ParsedOverrides<'a>,
    origins: &mut Origins,
    finder: &mut Finder<'d, 'a>,
) -> Overrides {
    let main = self::raw(raw, origins, finder);
    let mut other = |raw: &'d Option<Box<document::ParsedOverrides<'a>>>| {
        raw.as_ref().map(|raw| self::raw(raw, origins, finder)).unwrap_or_default()
    };
    let (ptd, bpte) = (other(&raw.ptd), other(&raw.bpte));
    Overrides { main, ptd, bpte }
}

fn raw<'d, 'a>(
    raw: &'d document::ParsedOverrides<'a>,
    origins: &mut Origins,
    finder: &mut Finder<'d, 'a>,
) -> FileOverrides {
    let mut out = FileOverrides { fill: raw.fill.unwrap_or(0), truncate: raw.truncate, ..FileOverrides::default() };
    for (path, value) in &raw.fields {
        let value = match value {
            document::OverrideSource::Value(value) => value.clone(),
            document::OverrideSource::Bytes(data) => match finder.in_memory(data, DataRequest::Bytes) {
                Some(bytes) => OverrideValue::Bytes(bytes),
                None => continue,
            },
        };
        out.fields.push(FieldOverride { number: origins.field_overrides.len(), path: path.value.clone(), value });
        origins.field_overrides.push(path.id);
    }
    for document::ParsedPatch { at, bytes } in &raw.patches {
        let Some(bytes) = finder.in_memory(bytes, DataRequest::Bytes) else { continue };
        origins.patches.push(at.id);
        out.patches.push(Patch { at: at.value, bytes });
    }
    out.append = raw.append.as_ref().and_then(|data| Some(finder.find(data, DataRequest::Bytes)?.blob));
    out
}

/// Adds the keyed blobs to the program, or to a `.ptd` if they are `external` or the document has no methods.
fn named_data<'d, 'a>(
    document: &'d ParsedDocument<'a>,
    program: &mut Program,
    origins: &mut Origins,
    finder: &mut Finder<'d, 'a>,
) {
    let Some(At { value: entries, .. }) = &document.named_data else { return };
    let data_only = document.methods.is_none();
    let mut inside = Vec::new();
    for entry in entries {
        let order = entry.dim_order.as_ref().map(|order| &order.value);
        let want = match entry.scalar_type {
            Some(scalar_type) => {
                DataRequest::Tensor(scalar_type, entry.sizes.as_ref().map(|sizes| &*sizes.value), order)
            }
            None => DataRequest::Bytes,
        };
        let Some(found) = finder.find(&entry.data, want) else { continue };
        let mut layout = None;
        if let Some(scalar_type) = entry.scalar_type {
            let stated = entry.sizes.as_ref().map(|sizes| sizes.value.clone());
            let Some(sizes) = stated.or(found.sizes) else {
                let unknown = Code::UndeterminedTensor.error(entry.key.id, "the tensor's sizes are not known");
                finder.diagnostics.push(unknown.label("add `sizes`"));
                continue;
            };
            let id = entry.sizes.as_ref().map_or(entry.key.id, |sizes| sizes.id);
            let dim_order = order.cloned().unwrap_or_else(|| DimOrder::contiguous(sizes.len()));
            let check = data::check_sizes(&At { id, value: sizes.clone() }).and_then(|()| match &entry.dim_order {
                Some(order) => data::check_dim_order(order, sizes.len()),
                None => Ok(()),
            });
            if let Err(diagnostic) = check {
                finder.diagnostics.push(diagnostic);
                continue;
            }
            if pte_model::program::nbytes(scalar_type, &sizes) != Some(found.blob.len) {
                finder.diagnostics.push(data::bytes_disagree(entry.data.id, scalar_type, &sizes, found.blob.len));
                continue;
            }
            layout = Some(TensorLayout { scalar_type, sizes, dim_order });
        }
        let alignment = entry.align.unwrap_or(1);
        let data = program.add_blob(found.blob);
        let key = entry.key.value.clone().into_owned();
        if data_only || entry.external.is_some() {
            let tag = entry.external.as_ref().and_then(|tag| tag.value.clone()).map(Cow::into_owned);
            origins.external_data.push(entry.key.id);
            program.external_data.push(ExternalData { key, tag, data, alignment, tensor_layout: layout });
        } else {
            origins.named_data.push(entry.key.id);
            inside.push(NamedData { key, data, alignment });
        }
    }
    // An empty list in the source is emitted as an empty vector; a list whose entries are all external is omitted.
    if !data_only && (entries.is_empty() || !inside.is_empty()) {
        program.named_data = Some(inside);
    }
}

/// Adds the tensors of the checkpoints to their `.ptd` files, each file after a blob with its metadata.
fn checkpoints<'d, 'a>(
    document: &'d ParsedDocument<'a>,
    program: &mut Program,
    origins: &mut Origins,
    finder: &mut Finder<'d, 'a>,
) {
    let mut contents = Vec::with_capacity(document.checkpoints.len());
    let mut metadata: IndexMap<Option<&str>, Option<SafetensorsMetadata>> = IndexMap::new();
    for checkpoint in &document.checkpoints {
        let content = finder.checkpoint(checkpoint);
        if let Some(found) = &content.metadata {
            let merged = metadata.entry(checkpoint.tag.as_deref()).or_default();
            finder.merge_metadata(checkpoint.safetensors.id, &checkpoint.safetensors.value, merged, found);
        }
        contents.push((checkpoint, content.entries));
    }
    let keys: HashSet<String> =
        contents.iter().flat_map(|(_, entries)| entries).map(|entry| entry.key.clone()).collect();
    for (checkpoint, entries) in contents {
        let tag = checkpoint.tag.clone().map(Cow::into_owned);
        let mut add = |key, data, tensor_layout| {
            let data = program.add_blob(data);
            origins.external_data.push(checkpoint.safetensors.id);
            program.external_data.push(ExternalData {
                tag: tag.clone(),
                tensor_layout,
                ..ExternalData::new(key, data)
            });
        };
        let found = metadata.shift_remove(&checkpoint.tag.as_deref()).flatten();
        if let Some(json) = found.and_then(|metadata| serde_json::to_vec(&metadata).ok()) {
            let names = entries.iter().map(|entry| &*entry.key);
            add(key_of(METADATA, names, |key| keys.contains(key)), Blob::bytes(json), None);
        }
        for FlatTensorEntry { key, data, tensor_layout } in entries {
            add(key, data, tensor_layout);
        }
    }
}
