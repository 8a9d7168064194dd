//! Finds the calls that can be folded, in the order of the methods and instructions, and evaluates them.

use std::collections::HashMap;
use std::io;

use super::LeftCall;
use super::contents::Contents;
use super::order::Order;
use pte_analysis::access::{Access, Accesses, ValueIndex};
use pte_analysis::inference::stated;
use pte_analysis::operators::{AccessKind, MethodOperators, ResolvedOperator};
use pte_analysis::storage::Storage;
use pte_model::data::{Blob, BlobSource};
use pte_model::program::{
    Device, EValue, ExecutionPlan, Memory, Program, Tensor, TensorData, TensorShapeDynamism, ValueId,
};
use pte_operators::evaluation::{ArgumentData, Unevaluated};
use pte_operators::inference::{Argument, Dim, InferenceError, IntMeta, TensorMeta};

/// Largest result that is computed in memory, in bytes.
const MAX_RESULT: u64 = 64 << 20;

/// Bytes of arguments and results that are computed in memory, in addition to a multiple of the data of the program.
const WORK: u64 = 256 << 20;
const WORK_PER_BYTE: u64 = 8;

/// Bytes of results in memory, in addition to the bytes of the data of the program.
const RESIDENT: u64 = 64 << 20;

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

/// What reads a constant or a result.
pub enum Reader {
    /// A call that can be folded.
    Candidate(usize),
    /// Another instruction, or the caller.
    Other,
}

/// The calls that can be folded, and what reads the constants.
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

/// A method in which calls are evaluated.
struct Method<'p> {
    index: usize,
    plan: &'p ExecutionPlan,
    operators: MethodOperators,
    storage: Storage,
    accesses: Accesses,
    by_value: ValueIndex,
    order: Order,
    is_input: Vec<bool>,
    is_output: Vec<bool>,
    /// By value: properties and content of a constant, or of a result that is one.
    known: Vec<Option<(TensorMeta, usize)>>,
    /// By value: the tensors that no instruction writes, because they are views of it.
    views: HashMap<usize, Vec<usize>>,
}

/// Arguments of a call.
struct Arguments<'p> {
    list: Vec<Argument<'p>>,
    /// By argument: the contents of its tensors.
    contents: Vec<Contained>,
}

/// Contents of the tensors of an argument.
enum Contained {
    None,
    Tensor(usize),
    Tensors(Vec<Option<usize>>),
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
            method.constants(program, &mut candidates);
            if is_open && !is_placed {
                candidates.add(&mut method)?;
            } else if is_open {
                candidates.leave_all(&method, "the method has tensors at explicit offsets");
            }
            candidates.read(&method);
        }
        Ok(candidates)
    }

    /// Evaluates the calls of a method.
    fn add(&mut self, method: &mut Method<'_>) -> io::Result<()> {
        for (step, instruction) in (0..).zip(method.plan.instructions()) {
            let args = instruction.args();
            let operators = method.operators.clone();
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
                Err(Refusal::Io(error)) => return Err(error),
                Err(Refusal::Reason(reason)) => self.left.push(LeftCall {
                    method: method.index,
                    step: step as usize,
                    operator: operator.name.to_string(),
                    reason,
                }),
            }
        }
        Ok(())
    }

    fn leave_all(&mut self, method: &Method<'_>, reason: &str) {
        for (step, instruction) in method.plan.instructions().enumerate() {
            if let Some(operator) = method.operators.called(instruction) {
                let (operator, reason) = (operator.name.to_string(), reason.to_owned());
                self.left.push(LeftCall { method: method.index, step, operator, reason });
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

    /// Records what reads the constants and results of a method.
    fn read(&mut self, method: &Method<'_>) {
        let first = self.calls.partition_point(|call| call.method < method.index);
        let candidates: HashMap<u32, usize> =
            self.calls.iter().enumerate().skip(first).map(|(at, call)| (call.step, at)).collect();
        for access in &method.accesses.list {
            let value = access.value as usize;
            if method.known[value].is_none() || !access.kind.reads() && access.kind != AccessKind::Unknown {
                continue;
            }
            let reader = candidates.get(&access.step).map_or(Reader::Other, |at| Reader::Candidate(*at));
            self.readers.entry((method.index, value)).or_default().push(reader);
        }
        let mentioned = method.plan.chains.iter().flatten();
        let mentioned = mentioned.flat_map(|chain| chain.inputs.iter().chain(&chain.outputs).flatten());
        for value in mentioned.filter_map(|value| value.within(method.known.len())) {
            self.readers.entry((method.index, value)).or_default().push(Reader::Other);
        }
    }
}

/// Why a call is not a candidate.
enum Refusal {
    Reason(String),
    Io(io::Error),
}

fn refuse<T>(reason: impl Into<String>) -> Result<T, Refusal> {
    Err(Refusal::Reason(reason.into()))
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

impl<'p> Method<'p> {
    /// Returns a method; `None` if it has too many accesses.
    fn new(index: usize, plan: &'p ExecutionPlan) -> Option<Method<'p>> {
        let operators = MethodOperators::known(plan);
        let storage = Storage::new(plan, &operators)?;
        let is_input = plan.is_input();
        let has_content = |(value, is_input): (&EValue, &bool)| {
            *is_input || value.as_tensor().is_none_or(|tensor| tensor.data != TensorData::None)
        };
        let has_content = plan.values().iter().zip(&is_input).map(has_content).collect();
        let accesses = Accesses::of(plan, &operators, has_content, &[]);
        if accesses.is_truncated {
            return None;
        }
        let by_value = ValueIndex::new(&accesses.list, plan.values().len());
        let mut is_output = vec![false; plan.values().len()];
        for output in plan.outputs.iter().flatten() {
            output.item_mut(&mut is_output).into_iter().for_each(|flag| *flag = true);
        }
        let (order, known) = (Order::new(plan), vec![None; plan.values().len()]);
        let views = HashMap::new();
        let mut method =
            Method { index, plan, operators, storage, accesses, by_value, order, is_input, is_output, known, views };
        for (value, tensor) in plan.tensors() {
            let is_written = || method.accesses_of(value).any(|access| access.kind.may_write());
            if let Memory::View { base } = tensor.memory
                && !is_written()
            {
                method.views.entry(base as usize).or_default().push(value);
            }
        }
        Some(method)
    }

    /// Finds the constants: tensors with data that nothing writes.
    fn constants(&mut self, program: &Program, candidates: &mut Candidates) {
        for (value, tensor) in self.plan.tensors() {
            let TensorData::Blob(id) = tensor.data else { continue };
            let is_constant = tensor.memory == Memory::None
                && !tensor.is_external()
                && !self.is_input[value]
                && self.storage.writes(value).is_empty()
                && is_plain(tensor);
            let len = program.blobs.get(id.0 as usize).map(Blob::len);
            let (Some(meta), Some(content)) = (stated(tensor), candidates.contents.of_blob(id)) else { continue };
            if is_constant && tensor.nbytes().is_some() && tensor.nbytes() == len {
                self.known[value] = Some((meta, content));
                candidates.constants.insert((self.index, value), content);
            }
        }
    }

    fn accesses_of(&self, value: usize) -> impl Iterator<Item = &Access> {
        self.by_value.of(value).iter().map(|access| &self.accesses.list[*access as usize])
    }

    /// Returns the constants that a step reads, once for each access, with their contents.
    fn reads(&self, step: u32) -> Vec<(usize, usize)> {
        let accesses = self.accesses.of_step(step as usize).iter().filter(|access| access.kind.reads());
        accesses
            .filter_map(|access| Some((access.value as usize, self.known[access.value as usize].as_ref()?.1)))
            .collect()
    }

    /// Returns the arguments of a call, if they are constants.
    fn arguments(&self, operator: &ResolvedOperator, args: &[ValueId]) -> Result<Arguments<'p>, Refusal> {
        let count = operator.signature.ins().count();
        let mut arguments = Arguments { list: Vec::with_capacity(count), contents: Vec::with_capacity(count) };
        for (at, arg) in args.iter().take(count).enumerate() {
            let found = arg.within(self.known.len()).and_then(|value| self.argument(value));
            let Some((argument, contained)) = found else {
                let name = operator.signature.args.get(at).map_or("", |arg| &arg.name);
                return refuse(format!("argument `{name}` is not a constant"));
            };
            arguments.list.push(argument);
            arguments.contents.push(contained);
        }
        Ok(arguments)
    }

    /// Returns an argument that is a constant.
    fn argument(&self, value: usize) -> Option<(Argument<'p>, Contained)> {
        use std::borrow::Cow;
        if let Some((meta, content)) = &self.known[value] {
            return Some((Argument::Tensor(Cow::Owned(meta.clone())), Contained::Tensor(*content)));
        }
        if self.is_input[value] || self.accesses_of(value).any(|access| access.kind.may_write()) {
            return None;
        }
        let argument = match &self.plan.values()[value] {
            EValue::Null => Argument::Null,
            EValue::Int(int) => Argument::Int(IntMeta::Exact(*int)),
            EValue::Bool(value) => Argument::Bool(*value),
            EValue::Double(value) => Argument::Double(*value),
            EValue::String(text) => Argument::Str(text.as_deref()?),
            EValue::DoubleList(items) => Argument::Doubles(items.as_deref()?),
            EValue::BoolList(items) => Argument::Bools(items.as_deref()?),
            EValue::IntList(items) => {
                let int = |item: &i64| match self.argument(ValueId::of_int(*item).within(self.known.len())?)? {
                    (Argument::Int(int), _) => Some(int),
                    _ => None,
                };
                Argument::Ints(items.as_deref()?.iter().map(int).collect::<Option<_>>()?)
            }
            EValue::Tensor(_) => return None,
            EValue::TensorList(items) | EValue::OptionalTensorList(items) => {
                let (mut metas, mut contents) = (Vec::new(), Vec::new());
                for item in items.as_deref()? {
                    let known = match *item {
                        ValueId::NONE => None,
                        item => Some(self.known.get(item.get()?)?.as_ref()?),
                    };
                    metas.push(known.map(|(meta, _)| Cow::Owned(meta.clone())));
                    contents.push(known.map(|(_, content)| *content));
                }
                return Some((Argument::Tensors(metas), Contained::Tensors(contents)));
            }
        };
        Some((argument, Contained::None))
    }

    /// Returns the results of a call with their properties, if they can be constants.
    fn results(
        &self,
        operator: &ResolvedOperator,
        step: u32,
        args: &[ValueId],
    ) -> Result<Vec<(usize, TensorMeta)>, Refusal> {
        let mut results = Vec::new();
        for place in args.get(operator.results(args.len())).unwrap_or_default() {
            let list = place.item(self.plan.values()).map_or(&[][..], EValue::as_tensors);
            for result in if list.is_empty() { std::slice::from_ref(place) } else { list } {
                let tensor = result.item(self.plan.values()).and_then(EValue::as_tensor);
                let (Some(value), Some(tensor)) = (result.get(), tensor) else {
                    return refuse("a result is not a tensor");
                };
                if let Some(reason) = self.obstacle(operator, step, value, tensor) {
                    return refuse(reason);
                }
                let Some(meta) = properties(tensor) else { return refuse("a result has no sizes") };
                results.push((value, meta));
            }
        }
        if results.is_empty() { refuse("it has no results") } else { Ok(results) }
    }

    /// Returns the views of a result that no instruction writes, with their properties, if they can be constants.
    fn views_of(
        &self,
        operator: &ResolvedOperator,
        step: u32,
        value: usize,
        meta: &TensorMeta,
    ) -> Result<Vec<(usize, TensorMeta)>, Refusal> {
        let mut views = Vec::new();
        for &view in self.views.get(&value).map_or(&[][..], Vec::as_slice) {
            let tensor = self.plan.values()[view].as_tensor().filter(|tensor| {
                let bytes = self.plan.values()[value].as_tensor().and_then(Tensor::nbytes);
                tensor.scalar_type == meta.scalar_type && tensor.nbytes() == bytes && tensor.data == TensorData::None
            });
            let view_meta = tensor.and_then(properties);
            let (Some(tensor), Some(view_meta)) = (tensor, view_meta) else {
                return refuse("a view of a result has other elements");
            };
            let is_plain = meta.dim_order.is_contiguous() && view_meta.dim_order.is_contiguous();
            if operator.is_view()
                || !is_plain && (meta.dim_order != view_meta.dim_order || meta.sizes != view_meta.sizes)
            {
                return refuse("a view of a result has another order of dimensions");
            }
            if tensor.name().is_some() || self.is_output[view] || self.is_input[view] || !is_fixed(tensor) {
                return refuse("the method returns a view of a result");
            }
            if self.accesses_of(view).any(|access| !self.order.is_after(step, access.step)) {
                return refuse(EARLY);
            }
            views.push((view, view_meta));
        }
        Ok(views)
    }

    /// Returns why a result cannot be a constant.
    fn obstacle(&self, operator: &ResolvedOperator, step: u32, value: usize, tensor: &Tensor) -> Option<&'static str> {
        if tensor.name().is_some() || tensor.data != TensorData::None {
            return Some("a result is state");
        }
        let has_place = match tensor.memory {
            Memory::Auto { persistent, shared, .. } => !persistent && shared.is_none(),
            Memory::None | Memory::View { .. } => operator.is_view(),
            Memory::At { .. } => false,
        };
        if self.is_output[value] {
            return Some("the method returns a result");
        }
        if self.is_input[value] || !has_place || !is_fixed(tensor) {
            return Some("the memory of a result is not its own");
        }
        let mut writes = self.accesses_of(value).filter(|access| access.kind.may_write());
        let is_only = writes.next().is_some_and(|access| access.step == step) && writes.next().is_none();
        if !is_only || !operator.is_view() && self.storage.writes(value) != [step] {
            return Some("other instructions write the memory of a result");
        }
        let mut others = self.accesses_of(value).filter(|access| !access.kind.may_write());
        let is_early = others.any(|access| !self.order.is_after(step, access.step));
        is_early.then_some(EARLY)
    }
}

const EARLY: &str = "a path reads a result before it is written";

/// Returns the properties of a result of constants, whose upper bounds are its sizes.
fn properties(tensor: &Tensor) -> Option<TensorMeta> {
    let meta = stated(tensor)?;
    let sizes = meta.sizes.iter().map(|dim| Dim::fixed(dim.size)).collect();
    Some(TensorMeta { sizes, ..meta })
}

/// Returns `true` for a tensor whose sizes and memory are those of a constant.
fn is_plain(tensor: &Tensor) -> bool {
    tensor.shape_dynamism == TensorShapeDynamism::STATIC && is_fixed(tensor)
}

/// Returns `true` for a tensor on the CPU without an offset.
fn is_fixed(tensor: &Tensor) -> bool {
    let is_bounded = tensor.shape_dynamism != TensorShapeDynamism::DYNAMIC_UNBOUND;
    is_bounded && tensor.device() == Device::CPU && tensor.storage_offset == 0
}
