//! Payloads of XNNPACK delegates as a release has them: constants inside a payload in place of named data, scales in
//! the graph.

use std::collections::{HashMap, HashSet};
use std::io;

use super::problems::{Inexpressible, first_exporter};
use super::target::Target;
use crate::remap::drop_blobs;
use pte_model::data::{Blob, BlobId};
use pte_model::format::DimOrder;
use pte_model::format::exporter::XnnpackConstants;
use pte_model::program::element::{Element, Part};
use pte_model::program::memory_plan::is_xnnpack_call;
use pte_model::program::{EValue, NamedData, Program, ValueId};
use pte_releases::{Answer, Release};
use pte_xnnpack::draft::{ConstantSource, Draft, DraftConstant, DraftQuantization};
use pte_xnnpack::model::{FieldContent, Graph};
use pte_xnnpack::payloads::Payloads;
use pte_xnnpack::schema::{QuantParams, per_channel_group_quant};
use pte_xnnpack::{constants, encode, parts};

/// Result of rewriting the payloads of a program.
#[derive(Default)]
pub struct RewrittenPayloads {
    /// Number of distinct payloads that changed.
    pub rewritten: usize,
    /// Parts that the release cannot express.
    pub problems: Vec<Inexpressible>,
}

/// Rewrites the payloads of all XNNPACK delegates.
///
/// # Errors
/// Data that cannot be read.
pub fn rewrite(program: &mut Program, target: &Target<'_>) -> io::Result<RewrittenPayloads> {
    let payloads = Payloads::of_program(program);
    let mut done = RewrittenPayloads::default();
    let mut new: HashMap<BlobId, BlobId> = HashMap::new();
    // Delegates with the same payload have the same graph: it is examined where it is first used.
    let mut seen: HashSet<(BlobId, bool)> = HashSet::new();
    let mut used: HashSet<String> = HashSet::new();
    let delegates = program.delegates().filter_map(|(method, index, delegate)| {
        let is_inline = delegate.inline == Some(true);
        Some((method, index, delegate.processed, is_inline, payloads.graph(delegate)?))
    });
    for (method, delegate, payload, is_inline, graph) in delegates.collect::<Vec<_>>() {
        if !seen.insert((payload, is_inline)) {
            continue;
        }
        for (part, node) in parts::of(graph, is_inline) {
            let part_of = node.map_or(Part::Delegate(delegate), |node| Part::GraphNode(delegate, node));
            if !is_rewritten(&part, target) {
                done.problems.extend(unknown_part(&part, Element::Method(method, part_of), target));
            }
        }
        blocks(graph, method, delegate, target, &mut done.problems);
        if seen.contains(&(payload, !is_inline))
            || target.exporter.xnnpack_constants == XnnpackConstants::NamedWithScales
        {
            continue;
        }
        let at = Element::Method(method, Part::Delegate(delegate));
        let draft = match Draft::of(graph) {
            Ok(draft) => draft,
            Err(reason) => {
                let runtime = target.release;
                let what = format!("a payload whose constants {runtime} does not find: {reason}");
                done.problems.push(Inexpressible::new(at, what, None));
                continue;
            }
        };
        let mut inside = Inside { program, target, missing: Vec::new(), is_changed: false };
        let draft = inside.draft(draft)?;
        let Inside { missing, is_changed, .. } = inside;
        done.problems.extend(missing.into_iter().map(|key| {
            let what = format!("a payload with the key `{key}`, whose data the program does not have");
            let help = "`--with FILE.ptd --internal-data` moves data into the program".to_owned();
            Inexpressible { at, what, help }
        }));
        if is_changed {
            used.extend(constants::keys(graph).map(str::to_owned));
            let payload_data = encode::encode(&draft.complete())?;
            new.insert(payload, program.add_blob(payload_data));
            done.rewritten += 1;
        }
    }
    if !new.is_empty() && done.problems.is_empty() {
        for plan in program.plans_mut() {
            for delegate in plan.delegates.iter_mut().flatten() {
                delegate.processed = new.get(&delegate.processed).copied().unwrap_or(delegate.processed);
            }
        }
        remove_unused(program, &used, target);
    }
    Ok(done)
}

/// Removes the named data that only rewritten payloads referred to.
fn remove_unused(program: &mut Program, used: &HashSet<String>, target: &Target<'_>) {
    let keys = Payloads::of_program(program).keys();
    let Some(list) = program.named_data.take() else { return };
    let stays = |entry: &NamedData| !used.contains(&entry.key) || keys.may_refer_to(&entry.key);
    let list: Vec<NamedData> = list.into_iter().filter(stays).collect();
    program.named_data = Some(list).filter(|list| target.exporter.has_named_data || !list.is_empty());
    drop_blobs(program);
}

/// Returns `true` for a part of a graph that the payloads for a release do not have.
fn is_rewritten(part: &str, target: &Target<'_>) -> bool {
    let parts: &[&str] = match target.exporter.xnnpack_constants {
        XnnpackConstants::Inside => &[parts::NAMED_CONSTANT, parts::NAMED_SCALES, parts::CONSTANT_SCALES],
        XnnpackConstants::Named => &[parts::NAMED_SCALES, parts::CONSTANT_SCALES],
        XnnpackConstants::NamedWithScales => &[],
    };
    parts.contains(&part)
}

/// Adds the values of a graph whose dynamic quantization a release does not have.
fn blocks(graph: &Graph, method: usize, delegate: usize, target: &Target<'_>, problems: &mut Vec<Inexpressible>) {
    if target.exporter.has_xnnpack_blocks {
        return;
    }
    for (value, found) in graph.values.iter().enumerate() {
        let Some(params) = found.quantization.as_ref().filter(|params| params.kind == QuantParams::PerTokenDynamic)
        else {
            continue;
        };
        if params.fields.first() != Some(&FieldContent::Int(1)) {
            let at = Element::Method(method, Part::GraphValue(delegate, value));
            let what = "dynamic quantization over several dimensions in a payload".to_owned();
            problems.push(Inexpressible::new(at, what, first_exporter(|exporter| exporter.has_xnnpack_blocks)));
        }
    }
}

/// Adds the calls of XNNPACK delegates with arguments in an order of memory that a release does not take.
pub fn orders(program: &Program, target: &Target<'_>, problems: &mut Vec<Inexpressible>) {
    if target.exporter.has_xnnpack_orders {
        return;
    }
    for (method, plan) in program.plans().iter().enumerate() {
        for (chain, index, call) in plan.instructions_by_chain() {
            let is_ordered = |value: &ValueId| {
                let tensor = plan.value(*value).and_then(EValue::as_tensor);
                tensor.and_then(|tensor| tensor.dim_order.as_ref()).is_none_or(DimOrder::is_contiguous)
            };
            if is_xnnpack_call(plan, call) && !call.args().iter().all(is_ordered) {
                let at = Element::Method(method, Part::Instruction(chain, index));
                let what = "arguments of an XNNPACK delegate in another order of memory";
                problems.push(Inexpressible::new(at, what, first_exporter(|exporter| exporter.has_xnnpack_orders)));
            }
        }
    }
}

/// Returns a problem if a release does not accept payloads with a part of this name.
fn unknown_part(part: &str, at: Element, target: &Target<'_>) -> Option<Inexpressible> {
    let is_refused = |release: &Release| release.xnnpack(part).is_some_and(Answer::is_refusal);
    is_refused(target.release).then(|| {
        let runtime = target.release;
        let what = format!("`{part}` in a payload, which the XNNPACK backend of {runtime} refuses");
        Inexpressible::new(at, what, target.release.first_later(|other| !is_refused(other)))
    })
}

/// Conversion of a draft.
struct Inside<'p> {
    program: &'p Program,
    target: &'p Target<'p>,
    /// Keys without data.
    missing: Vec<String>,
    is_changed: bool,
}

impl Inside<'_> {
    /// Moves the constants that a release cannot read into the payload.
    fn draft(&mut self, mut draft: Draft) -> io::Result<Draft> {
        let constants_stay = self.target.exporter.xnnpack_constants == XnnpackConstants::Named;
        for value in &mut draft.values {
            if let Some(constant) = value.constant.as_mut().filter(|_| !constants_stay) {
                self.constant(constant);
            }
            let Some(quantization) = &mut value.quantization else { continue };
            let Some(data) = self.scales(quantization) else { continue };
            let numbers = data.contents(0, data.len() as usize)?;
            match quantization.kind() {
                QuantParams::PerChannelGroup => {
                    let numbers = numbers.as_chunks().0.iter().map(|bytes| u16::from_le_bytes(*bytes));
                    let slot = usize::from(per_channel_group_quant::scale_bf16);
                    quantization.params.fields[slot] = FieldContent::UShorts(numbers.collect());
                }
                QuantParams::PerChannel | QuantParams::PerTensor | QuantParams::PerTokenDynamic => {
                    let numbers = numbers.as_chunks().0.iter().map(|bytes| f32::from_le_bytes(*bytes));
                    quantization.params.fields[0] = FieldContent::Floats(numbers.collect());
                }
            }
            (quantization.scales, quantization.num_scales) = (None, Some(0));
        }
        if self.is_changed && !constants_stay {
            draft.has_named_keys = false;
        }
        Ok(draft)
    }

    fn constant(&mut self, constant: &mut DraftConstant) {
        let ConstantSource::Key(key) = &constant.source else { return };
        match self.named(key) {
            Some(data) => {
                *constant = DraftConstant { source: ConstantSource::Data(data), size: None };
                self.is_changed = true;
            }
            None => self.missing.push(key.clone()),
        }
    }

    /// Returns the data of scales in a constant.
    fn scales(&mut self, quantization: &DraftQuantization) -> Option<Blob> {
        let data = match &quantization.scales.as_ref()?.source {
            ConstantSource::Data(data) => Some(data.clone()),
            ConstantSource::Key(key) => {
                let data = self.named(key);
                if data.is_none() {
                    self.missing.push(key.clone());
                }
                data
            }
        };
        self.is_changed |= data.is_some();
        data
    }

    fn named(&self, key: &str) -> Option<Blob> {
        let entry = self.program.named_data.iter().flatten().find(|entry| entry.key == key)?;
        Some(self.program.blob(entry.data).clone())
    }
}
