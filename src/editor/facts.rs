//! What the assembler knows about a document: messages and findings, and of a valid one the values, the memory plan and
//! the files. It runs the stages as a command does; nothing is computed here.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use super::options::LanguageOptions;
use super::tree::Syntax;
use crate::assembly::SourceNames;
use crate::facade::documents::findings::Level;
use crate::facade::documents::validation::validate_source;
use crate::facade::inspection::MemoryOptions;
use crate::facade::model::Model;
use crate::facade::source::Source;
use crate::ir::resolve::InvalidTest;
use crate::pipeline::{AssembleOptions, Document, Resolved};
use pte_check::{CheckOptions, Finding, Findings};
use pte_inspect::summary::describe;
use pte_memory::memory::{PlannedTensor, ProgramMemory};
use pte_model::data::BlobSource;
use pte_model::data::number;
use pte_model::diagnostics::Diagnostic;
use pte_model::error::Error;
use pte_model::program::{EValue, Program, Tensor, TensorData};

/// Result of assembling a document.
pub(super) struct Facts {
    /// Messages of the assembler, with ranges in the text of the tree.
    pub messages: Vec<Diagnostic>,
    findings: OnceLock<Vec<NamedFinding>>,
    /// Program; `None` if the document is not valid.
    pub assembled: Option<Assembled>,
}

/// A finding with the names of the source.
pub(super) struct NamedFinding {
    pub level: Level,
    pub finding: Finding,
    pub advice: Option<String>,
}

/// A valid document.
pub(super) struct Assembled {
    /// Model, which has its assembly.
    pub model: Model,
    /// Values by method and name.
    values: OnceLock<Vec<HashMap<String, usize>>>,
    memory: OnceLock<Option<ProgramMemory>>,
}

/// Number of bytes of constants that are shown.
const PREVIEW: u64 = 4096;
/// Number of elements that are shown.
const ELEMENTS: usize = 8;

impl Facts {
    /// Assembles a document, whose tree is known. `early` is called with the messages about names and types, before
    /// memory is planned and files are emitted.
    pub fn new(syntax: &Syntax, source: &Arc<Source>, early: &mut dyn FnMut(&[Diagnostic])) -> Facts {
        Facts::of_tree(syntax, source, early).unwrap_or_else(|error| Facts::failed(&error))
    }

    fn of_tree(syntax: &Syntax, source: &Arc<Source>, early: &mut dyn FnMut(&[Diagnostic])) -> Result<Facts, Error> {
        let root = syntax.expanded().map_err(|error| source.error(vec![error.clone().diagnostic()]))?;
        let strings = syntax.source().spans().copies().strings.clone();
        let (resolved, invalid_tests) = Resolved::of_tree(source, root.clone(), strings)?;
        Ok(Facts::of_resolved(source, resolved, invalid_tests, early))
    }

    /// Returns the findings of `check`.
    pub fn findings(&self, options: &LanguageOptions) -> &[NamedFinding] {
        let found = || self.assembled.as_ref().and_then(|assembled| findings(&assembled.model, options).ok());
        self.findings.get_or_init(|| found().unwrap_or_default())
    }

    fn failed(error: &Error) -> Facts {
        let messages = error.report().diagnostics.clone();
        Facts { messages, findings: OnceLock::new(), assembled: None }
    }

    /// Runs the stages. Errors of tests, and those of the layout, leave the program known.
    pub fn assembled(source: &Arc<Source>) -> Result<Facts, Error> {
        let (resolved, invalid_tests) = Document::parse(source)?.resolve_with_invalid_tests()?;
        Ok(Facts::of_resolved(source, resolved, invalid_tests, &mut |_| {}))
    }

    fn of_resolved(
        source: &Arc<Source>,
        resolved: Resolved,
        invalid_tests: Vec<InvalidTest>,
        early: &mut dyn FnMut(&[Diagnostic]),
    ) -> Facts {
        let nodes = invalid_tests.into_iter().flat_map(|test| test.diagnostics).collect();
        let mut messages = source.report_nodes(nodes).diagnostics;
        early(&messages);
        let planned = resolved.plan(&AssembleOptions::default()).and_then(|planned| planned.emit());
        let assembly = match planned {
            Ok(assembly) => assembly,
            Err(error) => {
                messages.extend(error.report().diagnostics.iter().cloned());
                return Facts { messages, findings: OnceLock::new(), assembled: None };
            }
        };
        messages.extend(assembly.warnings.diagnostics.iter().cloned());
        let model = Model::assembled_from(source.clone(), assembly);
        let assembled = Assembled { model, values: OnceLock::new(), memory: OnceLock::new() };
        Facts { messages, findings: OnceLock::new(), assembled: Some(assembled) }
    }
}

/// Validates the files of a document.
fn findings(model: &Model, options: &LanguageOptions) -> Result<Vec<NamedFinding>, Error> {
    let validated =
        validate_source(model, &CheckOptions::default(), std::slice::from_ref(&options.runtime), &options.targets)?;
    let names = SourceNames::new(model.assembly()?);
    let files = validated.into_iter().flat_map(|(files, _)| files).flat_map(|file| file.file.findings);
    let named = |finding: &Finding| {
        let (finding, advice) = names.named(finding);
        NamedFinding { level: Level::of_rule(finding.rule.severity), finding, advice }
    };
    Ok(files.flat_map(|Findings { list, .. }| list).map(|finding| named(&finding)).collect())
}

impl Assembled {
    /// Returns the program.
    pub fn program(&self) -> Option<&Program> {
        self.model.program().ok()
    }

    /// Returns the index of a value of a method, both counted from 0.
    pub fn value(&self, method: usize, name: &str) -> Option<usize> {
        let values = self.values.get_or_init(|| {
            let origins = self.model.assembly().map(|assembly| &assembly.origins).into_iter();
            origins.flat_map(|all| (0..all.methods.len()).map(|of| all.values(of).into_iter().collect())).collect()
        });
        values.get(method)?.get(name).copied()
    }

    /// Returns a value of a method.
    pub fn evalue(&self, method: usize, value: usize) -> Option<&EValue> {
        self.program()?.plans().get(method)?.values().get(value)
    }

    /// Describes the type of a value, or its content if it is no tensor.
    pub fn describe(&self, method: usize, name: &str) -> Option<String> {
        self.evalue(method, self.value(method, name)?).map(describe)
    }

    /// Returns pool and offset of a value in planned memory.
    pub fn placement(&self, method: usize, value: usize) -> Option<(u32, u64)> {
        let assembly = self.model.assembly().ok()?;
        *assembly.plan().memory.get(method)?.places.get(value)?
    }

    /// Returns the row of a value in the plan of the memory of its method.
    pub fn planned(&self, method: usize, value: usize) -> Option<&PlannedTensor> {
        let memory = self.memory.get_or_init(|| self.model.memory(&MemoryOptions::default()).ok()).as_ref()?;
        let pools = &memory.methods.get(method)?.pools;
        pools.iter().flat_map(|pool| &pool.tensors).find(|tensor| tensor.value == value)
    }

    /// Returns the first elements of a constant, and how many there are, if its bytes are in the document.
    pub fn preview(&self, tensor: &Tensor) -> Option<String> {
        let TensorData::Blob(id) = tensor.data else { return None };
        let blob = self.program()?.blob(id);
        let is_small = !matches!(blob.source, BlobSource::File { .. }) && blob.len <= PREVIEW && blob.file().is_none();
        let bytes = is_small.then(|| blob.to_vec().ok()).flatten()?;
        let info = tensor.scalar_type.info()?;
        let size = usize::try_from(info.size).ok().filter(|size| *size > 0)?;
        let elements = bytes.chunks_exact(size).take(ELEMENTS);
        let element = |bytes| Some(number::element(number::decode(tensor.scalar_type, bytes)?, info.encoding));
        let elements: Vec<String> = elements.filter_map(element).collect();
        let more = if bytes.len() > ELEMENTS * size { ", ..." } else { "" };
        Some(format!("[{}{more}]", elements.join(", ")))
    }
}
