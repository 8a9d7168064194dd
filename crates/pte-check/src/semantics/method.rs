//! The data about a method that the checks share: its steps, and the accesses to its values by step and by value.
//!
//! A step is the position of an instruction, counted through all chains. Indices that are out of range are skipped.

use std::ops::Deref;
use std::sync::{Mutex, OnceLock};

use super::super::finding::{Findings, Locator};
use super::limits::{self, Budget, Limit, Work};
use crate::RuleId::X_18;

use pte_analysis::access::Access;
use pte_analysis::aliases::AliasKind;
use pte_analysis::blocks::{self, InstructionRef};
use pte_analysis::method::Method;
use pte_analysis::operators::{MethodOperators, ResolvedOperator};
use pte_model::data::{Blob, BlobId, workers};
use pte_model::diagnostics::counted;
use pte_model::format::ScalarType;
use pte_model::program::element::{Element, Part};
use pte_model::program::pools::PoolRange;
use pte_model::program::{EValue, Instruction, Memory, Program, Tensor, TensorData, TensorShapeDynamism, ValueId};
use pte_operators::kinds::Kinds;
use pte_operators::{Base, OperatorSet};

/// Number of instructions from which on two threads examine and check a method.
pub const LARGE: usize = 1 << 12;

/// Properties of a tensor; the default for other values.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TensorFacts {
    /// The size in bytes is known and not 0.
    pub has_bytes: bool,
    /// Element type.
    pub scalar_type: ScalarType,
    /// The file has data for it.
    pub has_data: bool,
    /// It is in planned memory.
    pub is_planned: bool,
    /// It has a name, with which the caller can access it.
    pub is_named: bool,
    /// Its sizes are unbounded, so that the runtime allocates it.
    pub is_unbound: bool,
}

fn facts(value: &EValue) -> TensorFacts {
    let EValue::Tensor(tensor) = value else { return TensorFacts::default() };
    TensorFacts {
        has_bytes: tensor.nbytes().is_some_and(|bytes| bytes > 0),
        scalar_type: tensor.scalar_type,
        has_data: tensor.data != TensorData::None,
        is_planned: tensor.memory != Memory::None,
        is_named: tensor.name().is_some(),
        is_unbound: tensor.shape_dynamism == TensorShapeDynamism::DYNAMIC_UNBOUND,
    }
}

/// A method and the accesses to its values.
pub struct MethodAnalysis<'p> {
    pub program: &'p Program,
    pub index: usize,
    method: Method<'p>,
    /// Instructions of all chains, in their order.
    pub steps: Vec<InstructionRef<'p>>,
    /// First step of each chain, followed by [`MethodAnalysis::end`].
    pub chains: Vec<u32>,
    /// By position in [`Method::by_value`]: the step of the first read of the value from there on; `u32::MAX` if there
    /// is none. They are computed on first use.
    next_reads: OnceLock<Vec<u32>>,
    /// By value: the first step that may write it; `u32::MAX` if there is none.
    first_writes: Vec<u32>,
    /// By value: its kind in the file, as a set. Most checks read this and `facts`, which take less memory than the
    /// values.
    pub stated: Vec<Kinds>,
    /// By value: the kinds that it may have while the method runs.
    pub kinds: Vec<Kinds>,
    /// By value: the planned memory of a tensor that is not empty.
    pub ranges: Vec<Option<PoolRange>>,
    /// Facts of the tensors, by value.
    pub facts: Vec<TensorFacts>,
    pub is_input: Vec<bool>,
    /// Bytes of constants that may still be read.
    pub constant_bytes: Mutex<Budget>,
    work: Work,
    /// What was left of the common work when the checks of the method began.
    left: Vec<usize>,
}

impl<'p> Deref for MethodAnalysis<'p> {
    type Target = Method<'p>;

    fn deref(&self) -> &Method<'p> {
        &self.method
    }
}

impl<'p> MethodAnalysis<'p> {
    /// Returns the work of a kind that the method may take.
    pub fn budget(&self, limit: &'static Limit) -> Budget {
        self.work.budget(limit, &self.left, self.accesses().list.len())
    }

    /// Returns the number of units of work that the method may take, if no other method takes common ones.
    pub fn limit(&self, limit: &Limit) -> usize {
        limit.of(self.accesses().list.len())
    }

    /// Reports that a limit is exceeded.
    pub fn report(&self, limit: &Limit, findings: &mut Findings, locate: &Locator<'_>) {
        self.report_more_than(self.limit(limit), limit, findings, locate);
    }

    /// Reports that a limit of `most` units is exceeded.
    pub fn report_more_than(&self, most: usize, limit: &Limit, findings: &mut Findings, locate: &Locator<'_>) {
        findings.add(X_18, || {
            let most = counted(most as u64, limit.unit);
            let expected = format!("fewer, without {}", limit.reached_by);
            (locate(&self.element(Part::Whole)), format!("not fully checked: more than {most}"), expected)
        });
    }

    /// Returns the data of a constant; `None` for other tensors.
    pub fn constant(&self, tensor: &Tensor) -> Option<BlobId> {
        let TensorData::Blob(data) = tensor.data else { return None };
        (tensor.memory == Memory::None).then_some(data)
    }

    /// Reads data; `None` if they cannot be read, or if constants are too large in total.
    pub fn read(&self, blob: &Blob) -> Option<Vec<u8>> {
        workers::lock(&self.constant_bytes).spend(usize::try_from(blob.len()).unwrap_or(usize::MAX))?;
        blob.to_vec().ok()
    }

    /// Collects the accesses of a method, whose checks take from `work`. `None` if it has more than 2^32 instructions
    /// or values.
    pub fn new(program: &'p Program, index: usize, set: &OperatorSet, work: &Work) -> Option<MethodAnalysis<'p>> {
        let plan = program.plans().get(index)?;
        let values = plan.values();
        let count = plan.instructions().count();
        if u32::try_from(count.max(values.len())).is_err() {
            return None;
        }
        let is_large = count >= LARGE;
        let lists = || {
            let kinds: Vec<Kinds> = values.iter().map(|value| Kinds::of_tag(value.tag())).collect();
            let ranges: Vec<Option<PoolRange>> = values.iter().map(PoolRange::of).collect();
            (kinds, ranges, values.iter().map(facts).collect())
        };
        let method = Method::with_operators(plan, MethodOperators::new(plan, set));
        let ((stated, ranges, facts), accesses) = workers::both(is_large, lists, || method.accesses().list.len());
        let left = work.now();
        let mut analysis = MethodAnalysis {
            program,
            index,
            steps: blocks::steps(plan),
            chains: blocks::chain_starts(plan),
            next_reads: OnceLock::new(),
            first_writes: vec![u32::MAX; values.len()],
            kinds: Vec::new(),
            stated,
            ranges,
            facts,
            is_input: plan.is_input(),
            constant_bytes: Mutex::new(work.budget(&limits::CONSTANTS, &left, accesses)),
            work: work.clone(),
            left,
            method,
        };
        (_, analysis.kinds) = workers::both(is_large, || _ = analysis.by_value(), || analysis.propagated_kinds());
        for access in analysis.method.accesses().list.iter().rev().filter(|access| access.kind.may_write()) {
            analysis.first_writes[access.value as usize] = access.step;
        }
        Some(analysis)
    }

    /// Returns the step after the last instruction, at which the caller reads the outputs.
    pub fn end(&self) -> u32 {
        self.steps.len() as u32
    }

    /// Returns the accesses of a step or of [`MethodAnalysis::end`].
    pub fn step_accesses(&self, step: u32) -> &[Access] {
        self.accesses().of_step(step as usize)
    }

    /// Returns the first step that may write a value; `None` if none does.
    pub fn first_write(&self, value: usize) -> Option<u32> {
        Some(self.first_writes[value]).filter(|step| *step != u32::MAX)
    }

    /// Returns the first step that reads a value, from `step` on.
    pub fn next_read(&self, value: usize, step: u32) -> Option<u32> {
        let next_reads = self.next_reads.get_or_init(|| {
            let accesses = &self.accesses().list;
            let mut next_reads = vec![u32::MAX; accesses.len()];
            let mut following: Option<&Access> = None;
            for (position, index) in self.by_value().all().iter().enumerate().rev() {
                let access = &accesses[*index as usize];
                let is_read = access.kind.keeps();
                following = if is_read { Some(access) } else { following.filter(|read| read.value == access.value) };
                next_reads[position] = following.map_or(u32::MAX, |read| read.step);
            }
            next_reads
        });
        let positions = self.by_value().positions(value);
        let first = positions.start + self.first_from(value, step);
        positions.contains(&first).then(|| next_reads[first]).filter(|step| *step != u32::MAX)
    }

    /// Returns the last step before `step` that may write a value.
    pub fn last_write(&self, value: usize, step: u32) -> Option<u32> {
        let before = &self.by_value().of(value)[..self.first_from(value, step)];
        let accesses = before.iter().rev().map(|access| &self.accesses().list[*access as usize]);
        { accesses }.find(|access| access.kind.may_write()).map(|access| access.step)
    }

    /// Returns the number of accesses to a value before `step`.
    fn first_from(&self, value: usize, step: u32) -> usize {
        self.by_value().of(value).partition_point(|access| self.accesses().list[*access as usize].step < step)
    }

    /// Returns the operator and the arguments of a kernel call; `None` if the operator is unknown.
    pub fn call(&self, step: &InstructionRef<'p>) -> Option<(&ResolvedOperator, &'p [ValueId])> {
        let Instruction::KernelCall { op_index, args } = step.instruction else { return None };
        Some((self.operators.get(*op_index)?, args.as_deref()?))
    }

    /// Returns the element of a step.
    pub fn at(&self, step: u32) -> Element {
        self.element(match self.steps.get(step as usize) {
            Some(step) => Part::Instruction(step.chain as usize, step.index as usize),
            None => Part::Whole,
        })
    }

    /// Returns the element of a field of a step.
    pub fn field(&self, step: u32, name: &'static str) -> Element {
        self.element(match self.steps.get(step as usize) {
            Some(step) => Part::Field(step.chain as usize, step.index as usize, name),
            None => Part::Whole,
        })
    }

    /// Returns the element of an argument of a step, or of an output.
    pub fn arg(&self, step: u32, arg: usize) -> Element {
        self.element(match self.steps.get(step as usize) {
            Some(step) => Part::Arg(step.chain as usize, step.index as usize, arg),
            None => Part::Output(arg),
        })
    }

    /// Returns the element of an access.
    pub fn element_of(&self, access: &Access) -> Element {
        let instruction = self.steps.get(access.step as usize).map(|step| step.instruction);
        match instruction.and_then(|instruction| instruction.operands().nth(access.arg as usize)) {
            Some((field, ..)) => self.field(access.step, field),
            None => self.arg(access.step, access.arg as usize),
        }
    }

    pub fn element(&self, part: Part) -> Element {
        Element::Method(self.index, part)
    }

    /// Returns the index of a value; `None` if it is out of range.
    pub fn value(&self, id: ValueId) -> Option<usize> {
        id.within(self.values().len())
    }

    /// Returns the kinds that values have in the file, and get from results and moves.
    fn propagated_kinds(&self) -> Vec<Kinds> {
        let mut kinds = self.stated.clone();
        let moves = self.aliases().iter().filter(|alias| alias.kind == AliasKind::Move);
        let mut moves: Vec<(usize, usize)> = moves.map(|alias| (alias.base, alias.result)).collect();
        for step in self.steps.iter().filter(|step| step.instruction.operator().is_some()) {
            self.add_result_kinds(step, step.instruction.args(), &mut kinds);
        }
        let adds_kinds = |kinds: &[Kinds], (from, to): (usize, usize)| kinds[from].0 & !kinds[to].0 != 0;
        let mut changed: Vec<usize> =
            moves.iter().filter(|pair| adds_kinds(&kinds, **pair)).map(|(from, _)| *from).collect();
        if !changed.is_empty() {
            moves.sort_unstable();
        }
        while let Some(from) = changed.pop() {
            let first = moves.partition_point(|(other, _)| *other < from);
            for &(_, to) in moves[first..].iter().take_while(|(other, _)| *other == from) {
                if adds_kinds(&kinds, (from, to)) {
                    kinds[to] = kinds[to].or(kinds[from]);
                    changed.push(to);
                }
            }
        }
        kinds
    }

    fn add_result_kinds(&self, step: &InstructionRef<'p>, args: &[ValueId], kinds: &mut [Kinds]) {
        let Some((known, _)) = self.call(step) else {
            for arg in args {
                if let Some(kinds) = arg.item_mut(kinds).filter(|kinds| kinds.meets(Kinds::SCALAR)) {
                    *kinds = kinds.or(Kinds::SCALAR);
                }
            }
            return;
        };
        let result = match known.signature.result {
            None => return,
            Some(Base::Tensor) => Kinds::TENSOR,
            Some(Base::Int) => Kinds::INT,
            Some(Base::Float) => Kinds::DOUBLE,
            Some(Base::Bool) => Kinds::BOOL,
            Some(Base::Scalar | Base::Str | Base::Dtype | Base::MemoryFormat) => Kinds::SCALAR,
        };
        if let Some(slot) = args.get(known.signature.args.len()).and_then(|slot| self.value(*slot)) {
            kinds[slot] = kinds[slot].or(result);
        }
    }
}
