//! Finds the calls that can be folded, in the order of the methods and instructions, and evaluates them.

use std::collections::HashMap;
use std::io;

use super::contents::Contents;
use super::method::{Contained, Method, Refusal, is_plain, refuse};
use pte_analysis::inference::stated;
use pte_analysis::operators::{AccessKind, ResolvedOperator};
use pte_model::data::{Blob, BlobSource};
use pte_model::program::{Memory, Program, TensorData, ValueId};
use pte_operators::evaluation::{ArgumentData, Unevaluated};
use pte_operators::inference::{InferenceError, TensorMeta};

/// Largest result that is computed in memory, in bytes.
const MAX_RESULT: u64 = 64 << 20;

/// Bytes of arguments and results that are computed in memory, in addition to a multiple of the data of the program.
const WORK: u64 = 64 << 20;
const WORK_PER_BYTE: u64 = 8;

/// Bytes of results in memory, in addition to the bytes of the data of the program.
const RESIDENT: u64 = 64 << 20;

/// A call that stays.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftCall {
    /// Index of the method.
    pub method: usize,
    /// Position of the instruction before all changes, counted through all chains.
    pub step: usize,
    /// Operator.
    pub operator: String,
    /// Reason why it stays, in words.
    pub reason: String,
    /// The file would grow by more than [`super::FoldOptions::max_growth`].
    pub is_too_large: bool,
}

/// A call that can be folded.
pub struct Candidate {
    pub method: usize,
    pub step: u32,
    pub operator: String,
    /// Tensors that it reads, once for each access, with their contents.
    pub reads: Vec<(usize, usize)>,
    /// Its results with their contents.
    pub results: Vec<(usize, usize)>,
}

/// Readers of a constant or a result.
pub enum Reader {
    /// A call that can be folded.
    Candidate(usize),
    /// Another instruction, or the caller.
    Other,
}

/// Calls that can be folded, and the readers of the constants.
pub struct Candidates {
    pub calls: Vec<Candidate>,
    pub left: Vec<LeftCall>,
    pub contents: Contents,
    /// Constants that no instruction writes, by method and value, with their contents.
    pub constants: HashMap<(usize, usize), usize>,
    /// By method and value: the reads of constants and of results of these calls, once for each access.
    pub readers: HashMap<(usize, usize), Vec<Reader>>,
    work: u64,
    resident: u64,
}

impl Candidates {
    /// Finds the calls of the methods whose flag is set.
    ///
    /// # Errors
    /// Data that cannot be read.
    pub fn find(program: &Program, methods: &[bool]) -> io::Result<Candidates> {
        let data = program.blobs.iter().fold(0u64, |sum, blob| sum.saturating_add(blob.len()));
        let mut candidates = Candidates {
            calls: Vec::new(),
            left: Vec::new(),
            contents: Contents::of(program)?,
            constants: HashMap::new(),
            readers: HashMap::new(),
            work: WORK.saturating_add(data.saturating_mul(WORK_PER_BYTE)),
            resident: RESIDENT.saturating_add(data),
        };
        for (index, plan) in program.plans().iter().enumerate() {
            let is_open = methods.get(index) == Some(&true);
            // Other tensors may overlap those at explicit offsets.
            let is_placed = plan.tensors().any(|(_, tensor)| matches!(tensor.memory, Memory::At { .. }));
            let Some(mut method) = Method::new(index, plan) else { continue };
            candidates.constants(program, &mut method);
            if is_open && !is_placed {
                candidates.add(&mut method)?;
            } else if is_open {
                candidates.leave_all(&method, "the method has tensors at explicit offsets");
            }
            candidates.read(&method);
        }
        Ok(candidates)
    }

    /// Finds the constants: tensors with data that nothing writes.
    fn constants(&mut self, program: &Program, method: &mut Method<'_>) {
        for (value, tensor) in method.analysis.plan.tensors() {
            let TensorData::Blob(id) = tensor.data else { continue };
            let is_constant = tensor.memory == Memory::None
                && !tensor.is_external()
                && !method.is_input[value]
                && method.storage().writes(value).is_empty()
                && is_plain(tensor);
            let len = program.blobs.get(id.0 as usize).map(Blob::len);
            let (Some(meta), Some(content)) = (stated(tensor), self.contents.of_blob(id)) else { continue };
            if is_constant && tensor.nbytes().is_some() && tensor.nbytes() == len {
                method.known[value] = Some((meta, content));
                self.constants.insert((method.index, value), content);
            }
        }
    }

    /// Evaluates the calls of a method.
    fn add(&mut self, method: &mut Method<'_>) -> io::Result<()> {
        for (step, instruction) in (0..).zip(method.analysis.plan.instructions()) {
            let args = instruction.args();
            let operators = method.analysis.operators.clone();
            let Some(operator) = operators.called(instruction) else { continue };
            match self.call(method, step, operator, args) {
                Ok(results) => {
                    for (value, meta, content) in &results {
                        method.known[*value] = Some((meta.clone(), *content));
                    }
                    self.calls.push(Candidate {
                        method: method.index,
                        step,
                        operator: operator.name.to_string(),
                        reads: method.reads(step),
                        results: results.into_iter().map(|(value, _, content)| (value, content)).collect(),
                    });
                }
                Err(Refusal::NotConstant) => {}
                Err(Refusal::Io(error)) => return Err(error),
                Err(Refusal::Reason(reason)) => self.left.push(LeftCall {
                    method: method.index,
                    step: step as usize,
                    operator: operator.name.to_string(),
                    reason,
                    is_too_large: false,
                }),
            }
        }
        Ok(())
    }

    fn leave_all(&mut self, method: &Method<'_>, reason: &str) {
        for (step, instruction) in method.analysis.plan.instructions().enumerate() {
            if let Some(operator) = method.analysis.operators.called(instruction) {
                let (operator, reason) = (operator.name.to_string(), reason.to_owned());
                self.left.push(LeftCall { method: method.index, step, operator, reason, is_too_large: false });
            }
        }
    }

    /// Evaluates a call. Returns the results with their properties and contents.
    fn call(
        &mut self,
        method: &Method<'_>,
        step: u32,
        operator: &ResolvedOperator,
        args: &[ValueId],
    ) -> Result<Vec<(usize, TensorMeta, usize)>, Refusal> {
        let arguments = method.arguments(operator, args)?;
        // The record of a custom operator with this name is another one.
        let record = pte_operators::find(&operator.name).filter(|record| record.facts.evaluation.is_some());
        let Some(record) = record.filter(|_| operator.rule.is_some()) else {
            return refuse("what the operator computes is not the same on all processors, or is not known");
        };
        if args.len() != operator.arguments() {
            return refuse("the number of arguments is not that of the operator");
        }
        let results = method.results(operator, step, args)?;
        let views = results.iter().map(|(value, meta)| method.views_of(operator, step, *value, meta));
        let views: Vec<Vec<(usize, TensorMeta)>> = views.collect::<Result<_, _>>()?;
        let outs: Vec<TensorMeta> = results.iter().map(|(_, meta)| meta.clone()).collect();
        let contents = &self.contents;
        let data: Vec<ArgumentData<'_>> = arguments
            .contents
            .iter()
            .map(|contained| match contained {
                Contained::None => ArgumentData::None,
                Contained::Tensor(content) => ArgumentData::Tensor(contents.get(*content)),
                Contained::Tensors(items) => {
                    ArgumentData::Tensors(items.iter().map(|item| item.map(|item| contents.get(item))).collect())
                }
            })
            .collect();
        let limit = MAX_RESULT.min(self.resident).min(self.work);
        let blobs = match record.evaluate(&arguments.list, &data, &outs, limit) {
            Ok(blobs) => blobs,
            Err(Unevaluated::Io(error)) => return Err(Refusal::Io(error)),
            Err(error) => return Err(Refusal::Reason(reason(operator, error))),
        };
        let sources: Vec<usize> = method.reads(step).into_iter().map(|(_, content)| content).collect();
        self.spend(&blobs, &sources);
        let mut found = Vec::with_capacity(blobs.len());
        for (((value, meta), views), blob) in results.into_iter().zip(views).zip(blobs) {
            let content = self.contents.intern(blob, &sources).map_err(Refusal::Io)?;
            found.push((value, meta, content));
            found.extend(views.into_iter().map(|(view, meta)| (view, meta, content)));
        }
        Ok(found)
    }

    /// Counts the work of a call with these results.
    fn spend(&mut self, results: &[Blob], sources: &[usize]) {
        let computed = results.iter().filter(|blob| matches!(blob.source(), BlobSource::Bytes(_)));
        let bytes = computed.fold(0u64, |sum, blob| sum.saturating_add(blob.len()));
        let read = sources.iter().fold(0u64, |sum, source| sum.saturating_add(self.contents.get(*source).len()));
        self.resident = self.resident.saturating_sub(bytes);
        self.work = self.work.saturating_sub(if bytes > 0 { bytes.saturating_add(read.min(MAX_RESULT)) } else { 0 });
    }

    /// Records the readers of the constants and results of a method.
    fn read(&mut self, method: &Method<'_>) {
        let first = self.calls.partition_point(|call| call.method < method.index);
        let candidates: HashMap<u32, usize> =
            self.calls.iter().enumerate().skip(first).map(|(at, call)| (call.step, at)).collect();
        for access in &method.analysis.accesses().list {
            let value = access.value as usize;
            if method.known[value].is_none() || !access.kind.reads() && access.kind != AccessKind::Unknown {
                continue;
            }
            let reader = candidates.get(&access.step).map_or(Reader::Other, |at| Reader::Candidate(*at));
            self.readers.entry((method.index, value)).or_default().push(reader);
        }
        let mentioned = method.analysis.plan.chains.iter().flatten();
        let mentioned = mentioned.flat_map(|chain| chain.inputs.iter().chain(&chain.outputs).flatten());
        for value in mentioned.filter_map(|value| value.within(method.known.len())) {
            self.readers.entry((method.index, value)).or_default().push(Reader::Other);
        }
    }
}

/// Returns the reason why a call is not evaluated, in words.
fn reason(operator: &ResolvedOperator, error: Unevaluated) -> String {
    match error {
        Unevaluated::Operator => "the operator has no evaluation".to_owned(),
        Unevaluated::Reason(reason) => reason.to_owned(),
        Unevaluated::Inference(InferenceError::UnknownOperator) => "its results are not inferred".to_owned(),
        Unevaluated::Inference(InferenceError::Undetermined(reason)) => reason.to_owned(),
        Unevaluated::Inference(InferenceError::Invalid(found) | InferenceError::Unsupported(found)) => {
            let name = operator.signature.args.get(found.argument).map_or("", |arg| &arg.name);
            format!("argument `{name}` is {}, expected {}", found.found, found.expected)
        }
        Unevaluated::Io(error) => error.to_string(),
    }
}
