//! Document -> Program: names become numbers, literals become values, data become blobs, and what an operator's schema
//! implies is filled in. Values are numbered as the exporter numbers them, so that a short text gives its bytes.
//!
//! Knows no byte offsets and reads no weights.

mod calls;
mod instructions;
mod literals;
mod method;
mod method_tests;
pub mod origins;
mod values;

use std::borrow::Cow;
use std::path::Path;

use self::method::MethodResolver;
use self::origins::Origins;
use super::data::{self, Finder, Want};
use super::document::{self, At, Document};
use super::tree::NodeId;
use crate::diagnostics::Severity;
use crate::format::ScalarType;
use crate::ir::Diagnostic;
use crate::layout::options::OptionOverrides;
use crate::program::test_cases::MethodTests;
use crate::program::{ExternalData, NamedData, Program, TensorLayout, contiguous};
use crate::raw::{FieldOverride, FileOverrides, OverrideValue, Overrides, Patch};

/// What a text means.
#[derive(Debug)]
pub struct Resolved<'a> {
    /// The program.
    pub program: Program,
    /// The tests of its methods.
    pub tests: Vec<MethodTests>,
    /// Its layout options.
    pub options: OptionOverrides,
    /// Where its parts stand in the text.
    pub origins: Origins<'a>,
    /// What it makes wrong in the end.
    pub overrides: Overrides,
    /// Whether the text has methods; without them it makes a `.ptd`.
    pub has_methods: bool,
    /// Warnings.
    pub diagnostics: Vec<Diagnostic>,
}

/// Resolves a document; files are looked for beside `folder`.
///
/// # Errors
/// Everything that is wrong, with the warnings.
pub fn resolve<'a>(document: &Document<'a>, folder: &Path) -> Result<Resolved<'a>, Vec<Diagnostic>> {
    let mut finder = Finder::new(folder, &document.data);
    let mut program = Program { version: document.version.unwrap_or(0), ..Program::default() };
    let mut origins = Origins { header: document.layout.header_at, ..Origins::default() };
    let mut all_tests = Vec::new();
    let mut diagnostics = Vec::new();
    if let Some(methods) = &document.methods {
        let mut plans = Vec::with_capacity(methods.len());
        for method in methods {
            let mut resolver = MethodResolver::new(method, &mut program, &mut finder);
            let plan = resolver.run();
            diagnostics.append(&mut resolver.diagnostics);
            let origin = resolver.origins;
            all_tests.extend(method_tests::resolve(method, &plan, &origin.values, &mut finder));
            origins.methods.push(origin);
            plans.push(plan);
        }
        program.execution_plan = Some(plans);
    }
    named_data(document, &mut program, &mut origins, &mut finder);
    for checkpoint in &document.checkpoints {
        for entry in finder.checkpoint(checkpoint) {
            let data = program.add_blob(entry.data);
            let (key, tag, alignment) = (entry.key, checkpoint.tag.clone().map(Cow::into_owned), 1);
            origins.external_data.push(checkpoint.safetensors.id);
            let tensor_layout = entry.tensor_layout;
            program.external_data.push(ExternalData { key, tag, data, alignment, tensor_layout });
        }
    }
    let overrides = overrides(&document.raw, &mut origins, &mut finder);
    if diagnostics.iter().chain(&finder.diagnostics).all(|d| d.severity == Severity::Warning) {
        finder.warn_unused();
    }
    if document.methods.is_none() && program.external_data.is_empty() && finder.diagnostics.is_empty() {
        let at = document.named_data_at.unwrap_or_default();
        diagnostics.push(Diagnostic::error(at, "there is nothing to write").label("expected blobs, or `methods`"));
    }
    diagnostics.append(&mut finder.diagnostics);
    if diagnostics.iter().any(|d| d.severity == Severity::Error) {
        // In the order of the text, whatever stage found them.
        diagnostics.sort_by_key(|d| d.at);
        return Err(diagnostics);
    }
    Ok(Resolved {
        program,
        tests: all_tests,
        options: document.layout.options.clone(),
        overrides,
        origins,
        has_methods: document.methods.is_some(),
        diagnostics,
    })
}

/// The largest patch: patches are held in memory.
const MAX_PATCH: u64 = 64 << 20;

/// What is made wrong when all is laid out.
fn overrides<'d, 'a>(raw: &'d document::Raw<'a>, origins: &mut Origins<'_>, finder: &mut Finder<'d, 'a>) -> Overrides {
    let main = self::raw(raw, origins, finder);
    let mut other = |raw: &'d Option<Box<document::Raw<'a>>>| {
        raw.as_ref().map(|raw| self::raw(raw, origins, finder)).unwrap_or_default()
    };
    let (ptd, bpte) = (other(&raw.ptd), other(&raw.bpte));
    Overrides { main, ptd, bpte }
}

fn raw<'d, 'a>(raw: &'d document::Raw<'a>, origins: &mut Origins<'_>, finder: &mut Finder<'d, 'a>) -> FileOverrides {
    let mut out = FileOverrides { fill: raw.fill.unwrap_or(0), truncate: raw.truncate, ..FileOverrides::default() };
    for (path, lie) in &raw.sets {
        let value = match lie {
            document::Lie::Integer(n) => OverrideValue::Integer(*n),
            document::Lie::Float(x) => OverrideValue::Float(*x),
            document::Lie::Text(text) => OverrideValue::Bytes(text.as_bytes().to_vec()),
            document::Lie::Absent => OverrideValue::Absent,
            document::Lie::Null => OverrideValue::Null,
            document::Lie::Empty => OverrideValue::Empty,
            document::Lie::SameAs(path) => OverrideValue::SameAs(path.clone()),
            document::Lie::Bytes(data) => match in_memory(data, finder) {
                Some(bytes) => OverrideValue::Bytes(bytes),
                None => continue,
            },
        };
        out.fields.push(FieldOverride { number: origins.field_overrides.len(), path: path.value.clone(), value });
        origins.field_overrides.push(path.id);
    }
    for (at, data) in &raw.patches {
        let Some(bytes) = in_memory(data, finder) else { continue };
        origins.patches.push(at.id);
        out.patches.push(Patch { at: at.value, bytes });
    }
    out.append = raw.append.as_ref().and_then(|data| Some(finder.find(data, Want::Bytes)?.blob));
    out
}

/// The bytes of a patch, or `None` with a message.
fn in_memory<'d, 'a>(data: &'d document::Data<'a>, finder: &mut Finder<'d, 'a>) -> Option<Vec<u8>> {
    let found = finder.find(data, Want::Bytes)?;
    let bytes = match found.blob.len {
        0..=MAX_PATCH => found.blob.to_vec(),
        len => Err(std::io::Error::other(format!("{len} bytes are too many for a patch"))),
    };
    let wrong = |error| {
        let wrong = Diagnostic::error(data.id, format!("cannot take the data: {error}"));
        finder.diagnostics.push(wrong.label(format!("expected {MAX_PATCH} bytes at most")));
    };
    bytes.map_err(wrong).ok()
}

/// Keyed blobs: into the program, or into a `.ptd` if they say so or if there is no program.
fn named_data<'d, 'a>(
    document: &'d Document<'a>,
    program: &mut Program,
    origins: &mut Origins<'_>,
    finder: &mut Finder<'d, 'a>,
) {
    let Some(entries) = &document.named_data else { return };
    let data_only = document.methods.is_none();
    let mut inside = Vec::new();
    for entry in entries {
        let order = entry.dim_order.as_ref().map(|order| &*order.value);
        let want = match entry.scalar_type {
            Some(scalar_type) => Want::Tensor(scalar_type, entry.sizes.as_ref().map(|sizes| &*sizes.value), order),
            None => Want::Bytes,
        };
        let Some(found) = finder.find(&entry.data, want) else { continue };
        let mut layout = None;
        if let Some(scalar_type) = entry.scalar_type {
            let stated = entry.sizes.as_ref().map(|sizes| sizes.value.clone());
            let Some(sizes) = stated.or(found.sizes) else {
                finder
                    .diagnostics
                    .push(Diagnostic::error(entry.key.id, "the tensor's sizes are not known").label("add `sizes`"));
                continue;
            };
            let id = entry.sizes.as_ref().map_or(entry.key.id, |sizes| sizes.id);
            let dim_order = order.map_or_else(|| contiguous(sizes.len()).into_owned(), <[u8]>::to_vec);
            let check = data::check_sizes(&At { id, value: sizes.clone() }).and_then(|()| match &entry.dim_order {
                Some(order) => data::check_dim_order(order, sizes.len()),
                None => Ok(()),
            });
            if let Err(diagnostic) = check {
                finder.diagnostics.push(diagnostic);
                continue;
            }
            if crate::program::nbytes(scalar_type, &sizes) != Some(found.blob.len) {
                finder.diagnostics.push(bytes_disagree(entry.data.id, scalar_type, &sizes, found.blob.len));
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
    // A list that is empty as written is present in the file; one whose entries all went elsewhere is not.
    if !data_only && (entries.is_empty() || !inside.is_empty()) {
        program.named_data = Some(inside);
    }
}

fn bytes_disagree(at: NodeId, scalar_type: ScalarType, sizes: &[i32], found: u64) -> Diagnostic {
    let expected = crate::program::nbytes(scalar_type, sizes)
        .map_or("more bytes than can be counted".into(), |n| format!("{n} bytes"));
    Diagnostic::error(at, format!("the data have {found} bytes, {scalar_type} {sizes:?} has {expected}"))
        .label(format!("expected {expected}"))
}

#[cfg(test)]
pub(crate) mod tests;
