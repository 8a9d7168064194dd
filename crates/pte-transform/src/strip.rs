//! Removes the parts of a program that the runtime does not need to execute it: stack traces, names of constants,
//! numbers for profilers, tests, and parts without effect.
//!
//! The caller measures the bytes that each kind saves, because they depend on the layout of the file.

use std::collections::HashMap;

use pte_model::data::{Blob, BlobId};
use pte_model::format::words::words;
use pte_model::program::test_cases::MethodTests;
use pte_model::program::{ExecutionPlan, ExtraTensorInfo, Memory, Program};
use pte_xnnpack::{decode, encode};
use serde::Serialize;

use crate::prune::prune;
use crate::remap::{Remap, drop_blobs};

words! {
    /// A kind of information that [`strip`] removes, in the order in which they are removed.
    ///
    /// ```
    /// use pte_transform::strip::StripKind;
    ///
    /// assert_eq!(StripKind::ALL.map(StripKind::word), ["traces", "names", "handles", "tests", "unused"]);
    /// assert_eq!(StripKind::parse("names"), Some(StripKind::Names));
    /// assert_eq!(StripKind::Handles.noun(), "debug handle");
    /// ```
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
    #[serde(rename_all = "lowercase")]
    pub enum StripKind {
        /// Stack traces of instructions.
        Traces "traces",
        /// Fully qualified names of constants in the program. State and data in a `.ptd` are found by their names,
        /// which are kept.
        Names "names",
        /// Numbers of the exporter's nodes in XNNPACK graphs, by which a profiler names operations.
        Handles "handles",
        /// Test cases.
        Tests "tests",
        /// Instructions without effect, unreferenced values, operators and delegates, as `--prune` removes them.
        Unused "unused",
    } fn word; Display;
}

impl StripKind {
    /// Returns the kind of a word.
    pub fn parse(word: &str) -> Option<StripKind> {
        StripKind::ALL.into_iter().find(|kind| kind.word() == word)
    }

    /// Returns the noun for the counted parts.
    pub const fn noun(self) -> &'static str {
        match self {
            StripKind::Traces => "stack trace",
            StripKind::Names => "name",
            StripKind::Handles => "debug handle",
            StripKind::Tests => "test",
            StripKind::Unused => "unused part",
        }
    }
}

/// Removes one kind of information. Returns how many there were: traces, names, nodes, tests, or unused instructions,
/// values, operators and delegates.
pub fn strip(program: &mut Program, tests: &mut Vec<MethodTests>, kind: StripKind) -> usize {
    match kind {
        StripKind::Traces => traces(program),
        StripKind::Names => names(program),
        StripKind::Handles => handles(program),
        StripKind::Tests => std::mem::take(tests).iter().map(|tests| tests.cases.len()).sum(),
        StripKind::Unused => prune(program).iter().flat_map(Remap::removed).sum(),
    }
}

fn traces(program: &mut Program) -> usize {
    let chains = program.plans_mut().iter_mut().flat_map(|plan| plan.chains.iter_mut().flatten());
    chains.filter_map(|chain| chain.stacktrace.take()).map(|traces| traces.iter().flatten().count()).sum()
}

fn names(program: &mut Program) -> usize {
    let mut count = 0;
    for (_, tensor) in program.plans_mut().iter_mut().flat_map(ExecutionPlan::tensors_mut) {
        // The application finds state, and the runtime finds data of a `.ptd`, by the name.
        if tensor.memory != Memory::None || tensor.is_external() {
            continue;
        }
        let Some(extra) = &mut tensor.extra_tensor_info else { continue };
        count += usize::from(extra.fully_qualified_name.take().is_some());
        if **extra == ExtraTensorInfo::default() {
            tensor.extra_tensor_info = None;
        }
    }
    count
}

/// Removes the numbers of nodes in the XNNPACK graphs that can be written again byte for byte.
fn handles(program: &mut Program) -> usize {
    let mut done: HashMap<BlobId, Option<(BlobId, usize)>> = HashMap::new();
    let mut count = 0;
    let Program { execution_plan, blobs, .. } = program;
    for delegate in execution_plan.iter_mut().flatten().flat_map(|plan| plan.delegates.iter_mut().flatten()) {
        let id = delegate.processed;
        let without = *done.entry(id).or_insert_with(|| {
            let (payload, handles) = without_handles(blobs.get(id.0 as usize)?)?;
            blobs.push(payload);
            Some((BlobId(u32::try_from(blobs.len() - 1).ok()?), handles))
        });
        if let Some((payload, handles)) = without {
            delegate.processed = payload;
            count += handles;
        }
    }
    if count > 0 {
        drop_blobs(program);
    }
    count
}

/// Returns an XNNPACK payload without the numbers of its nodes, and how many there were; `None` without any, and for
/// other payloads.
fn without_handles(payload: &Blob) -> Option<(Blob, usize)> {
    let mut graph = decode::decode(payload).ok()?;
    let count = graph.nodes.iter().filter(|node| node.debug_handle != 0).count();
    if count == 0 || encode::encode(&graph).ok()?.digest().ok()? != payload.digest().ok()? {
        return None;
    }
    graph.nodes.iter_mut().for_each(|node| node.debug_handle = 0);
    let mut stripped = encode::encode(&graph).ok()?;
    stripped.copy = payload.copy;
    Some((stripped, count))
}

#[cfg(test)]
mod tests {
    use super::*;
    use pte_model::format::ScalarType;
    use pte_model::program::{EValue, StackFrame, Tensor, TensorData, TensorDataLocation};

    #[test]
    fn names_that_are_looked_up_are_kept() {
        let named = |memory, location| {
            let extra =
                ExtraTensorInfo { fully_qualified_name: Some("w".to_owned()), location, ..ExtraTensorInfo::default() };
            let mut tensor = Tensor::new(ScalarType::FLOAT, &[1]);
            (tensor.memory, tensor.data) = (memory, TensorData::Elsewhere(None));
            tensor.extra_tensor_info = Some(Box::new(extra));
            EValue::Tensor(tensor)
        };
        let state = Memory::At { pool: 1, offset: 0 };
        let values = vec![
            named(Memory::None, TensorDataLocation::SEGMENT),
            named(Memory::None, TensorDataLocation::EXTERNAL),
            named(state, TensorDataLocation::SEGMENT),
        ];
        let mut program = Program::new(vec![ExecutionPlan { values: Some(values), ..ExecutionPlan::default() }]);
        assert_eq!(strip(&mut program, &mut Vec::new(), StripKind::Names), 1);
        let infos: Vec<bool> =
            program.plans()[0].tensors().map(|(_, tensor)| tensor.extra_tensor_info.is_some()).collect();
        assert_eq!(infos, [false, true, true]);
    }

    #[test]
    fn traces_are_counted() {
        let mut program = Program::new(vec![ExecutionPlan::default()]);
        program.execution_plan.as_mut().unwrap()[0].chains.as_mut().unwrap()[0].stacktrace =
            Some(vec![Some(vec![StackFrame::default()]), None]);
        assert_eq!(strip(&mut program, &mut Vec::new(), StripKind::Traces), 1);
        assert_eq!(program, Program::new(vec![ExecutionPlan::default()]));
    }
}
