//! Elements of tensors that follow from the file: constants, and what calls compute from constants alone, as the
//! operators evaluate them. Other computed values are not known before the method runs.

use std::borrow::Cow;

use super::kernels::KernelCall;
use super::semantics::method::{ConstantInts, Contents};
use pte_analysis::inference::{literal_argument, stated};
use pte_model::data::{Blob, BlobSource, elements, workers};
use pte_model::format::ScalarType;
use pte_model::program::{EValue, Tensor, ValueId};
use pte_operators::evaluation::ArgumentData;
use pte_operators::inference::{Argument, Dim, IntMeta, TensorMeta};

/// Largest result that is computed, in bytes.
const MAX_RESULT: usize = 16 << 20;

/// Arguments of a call, with the content of each that has tensors.
type Arguments<'p> = Vec<(Argument<'p>, Vec<Option<Blob>>)>;

impl<'p> KernelCall<'_, 'p> {
    /// Returns the elements of a tensor of int32 or int64 that follow from the file, in the order of its memory; those
    /// of a tensor that is filled with a number, once. `None` if they are not known.
    pub(super) fn constant_ints(&self, value: usize) -> Option<ConstantInts> {
        let EValue::Tensor(tensor) = &self.method.values()[value] else { return None };
        if let Some(data) = self.method.constant(tensor) {
            return self.method.constant_ints(data, tensor.scalar_type);
        }
        if !matches!(tensor.scalar_type, ScalarType::INT | ScalarType::LONG) {
            return None;
        }
        let mut known = workers::lock(&self.method.written_ints);
        if let Some(ints) = known.get(&value) {
            return ints.clone();
        }
        let content = self.content(value);
        let ints = content.and_then(|blob| {
            let bytes = match blob.source() {
                BlobSource::Repeat(pattern) if pattern.len() == 1 => pattern.repeat(8),
                BlobSource::Repeat(pattern) => pattern.to_vec(),
                _ => self.read(&blob)?,
            };
            elements::ints(tensor.scalar_type, &bytes)
        });
        known.insert(value, ints.clone());
        ints
    }

    /// Reads a content, if constants are not too large in total.
    fn read(&self, blob: &Blob) -> Option<Vec<u8>> {
        let len = usize::try_from(blob.len()).unwrap_or(usize::MAX);
        workers::lock(&self.method.constant_bytes).spend(len)?;
        blob.to_vec().ok()
    }

    /// Returns the content of a tensor that only one earlier call writes, computed from constants.
    fn content(&self, value: usize) -> Option<Blob> {
        let mut contents = workers::lock(&self.method.contents);
        // Calls whose arguments are computed first; each is earlier than the one before, so that the search ends.
        let mut open = vec![(value, self.step)];
        while let Some(&(value, step)) = open.last() {
            if !contents.contains_key(&value) {
                let writer = self.writer(value, step);
                let next = writer.as_ref().map(|writer| writer.unknown(&contents)).unwrap_or_default();
                if let (Some(writer), false) = (&writer, next.is_empty()) {
                    open.extend(next.into_iter().map(|value| (value, writer.step)));
                    continue;
                }
                let content = writer.and_then(|writer| writer.evaluated(value, &contents));
                contents.insert(value, content);
            }
            open.pop();
        }
        contents.get(&value).cloned().flatten()
    }

    /// Returns the only call that writes a tensor, if it is before a step.
    fn writer(&self, value: usize, step: u32) -> Option<KernelCall<'_, 'p>> {
        let mut writes = self.method.value_accesses(value).filter(|access| access.kind.may_write());
        let (Some(write), None) = (writes.next(), writes.next()) else { return None };
        if !self.method.facts[value].has_bytes || self.method.is_input[value] || write.step >= step {
            return None;
        }
        let (known, args) = self.method.call(&self.method.steps[write.step as usize])?;
        let is_known = known.facts.evaluation.is_some() && known.rule.is_some() && args.len() == known.arguments();
        is_known.then_some(KernelCall { known, step: write.step, args, assumed: &[], ..*self })
    }

    /// Returns the tensors among the arguments whose content is not known yet.
    fn unknown(&self, contents: &Contents) -> Vec<usize> {
        let ins = self.args.iter().take(self.known.signature.ins().count());
        let items = ins.flat_map(|arg| match arg.item(self.method.values()) {
            Some(EValue::Tensor(_)) => std::slice::from_ref(arg),
            Some(list) => list.as_tensors(),
            None => &[],
        });
        let values = items.filter_map(|item| self.method.value(*item));
        let is_computed = |value: &usize| match &self.method.values()[*value] {
            EValue::Tensor(tensor) => self.method.constant(tensor).is_none() && !contents.contains_key(value),
            _ => false,
        };
        values.filter(is_computed).collect()
    }

    /// Returns the content of a result, if those of the arguments are known.
    fn evaluated(&self, value: usize, contents: &Contents) -> Option<Blob> {
        let arguments = self.arguments(contents)?;
        let (list, data): (Vec<Argument<'_>>, Vec<ArgumentData<'_>>) = arguments
            .iter()
            .map(|(argument, blobs)| {
                let data = match (argument, &blobs[..]) {
                    (Argument::Tensor(_), [Some(blob)]) => ArgumentData::Tensor(blob),
                    (Argument::Tensors(_), items) => ArgumentData::Tensors(items.iter().map(Option::as_ref).collect()),
                    _ => ArgumentData::None,
                };
                (argument.clone(), data)
            })
            .unzip();
        let places = self.args.get(self.known.results(self.args.len()))?;
        let results = places.iter().flat_map(|place| match place.item(self.method.values()) {
            Some(list) if !list.as_tensors().is_empty() => list.as_tensors(),
            _ => std::slice::from_ref(place),
        });
        let results: Vec<ValueId> = results.copied().collect();
        let meta = |result: &ValueId| fixed(result.item(self.method.values())?.as_tensor()?);
        let outs: Vec<TensorMeta> = results.iter().map(meta).collect::<Option<_>>()?;
        // An evaluation reads no larger content in memory.
        let read = |blob: &Blob| usize::try_from(blob.len()).unwrap_or(usize::MAX).min(MAX_RESULT);
        let read = arguments.iter().flat_map(|(_, blobs)| blobs).flatten().map(read).fold(0, usize::saturating_add);
        workers::lock(&self.method.constant_bytes).spend(read)?;
        let record = pte_operators::find(&self.known.name)?;
        let found = record.evaluate(&list, &data, &outs, MAX_RESULT as u64).ok()?;
        let at = results.iter().position(|result| result.get() == Some(value))?;
        let blob = found.into_iter().nth(at)?;
        if let BlobSource::Bytes(bytes) = blob.source() {
            workers::lock(&self.method.constant_bytes).spend(bytes.len())?;
        }
        Some(blob)
    }

    /// Returns the arguments before the outs; `None` if one is not known.
    fn arguments(&self, contents: &Contents) -> Option<Arguments<'p>> {
        let ins = self.args.iter().take(self.known.signature.ins().count());
        ins.map(|arg| self.known_argument(*arg, contents)).collect()
    }

    fn known_argument(&self, arg: ValueId, contents: &Contents) -> Option<(Argument<'p>, Vec<Option<Blob>>)> {
        let value = self.method.value(arg)?;
        let tensor = |value: usize, tensor: &Tensor| {
            let blob = match self.method.constant(tensor) {
                Some(data) => self.method.program.blob(data).clone(),
                None => contents.get(&value)?.clone()?,
            };
            Some((fixed(tensor)?, blob))
        };
        let argument = match &self.method.values()[value] {
            EValue::Tensor(of) => {
                let (meta, blob) = tensor(value, of)?;
                return Some((Argument::Tensor(Cow::Owned(meta)), vec![Some(blob)]));
            }
            EValue::Unknown(_) => return None,
            _ if !self.is_unchanged(value) => return None,
            literal @ (EValue::Null
            | EValue::Int(_)
            | EValue::Bool(_)
            | EValue::Double(_)
            | EValue::String(_)
            | EValue::DoubleList(_)
            | EValue::BoolList(_)) => literal_argument(literal)?,
            EValue::IntList(_) | EValue::TensorList(_) | EValue::OptionalTensorList(_)
                if self.method.accesses().is_truncated =>
            {
                return None;
            }
            EValue::IntList(items) => {
                let int = |item: &i64| self.unchanged_int(self.method.value(ValueId::of_int(*item))?);
                let ints = items.as_deref()?.iter().map(|item| int(item).map(IntMeta::Exact));
                Argument::Ints(ints.collect::<Option<_>>()?)
            }
            EValue::TensorList(items) | EValue::OptionalTensorList(items) => {
                let (mut metas, mut blobs) = (Vec::new(), Vec::new());
                for item in items.as_deref()? {
                    if *item == ValueId::NONE {
                        metas.push(None);
                        blobs.push(None);
                        continue;
                    }
                    let item = self.method.value(*item)?;
                    let (meta, blob) = tensor(item, self.method.values()[item].as_tensor()?)?;
                    metas.push(Some(Cow::Owned(meta)));
                    blobs.push(Some(blob));
                }
                return Some((Argument::Tensors(metas), blobs));
            }
        };
        Some((argument, Vec::new()))
    }
}

/// Returns the properties of a tensor that constants determine: its upper bounds are its sizes.
fn fixed(tensor: &Tensor) -> Option<TensorMeta> {
    let meta = stated(tensor)?;
    let sizes = meta.sizes.iter().map(|dim| Dim::fixed(dim.size)).collect();
    Some(TensorMeta { sizes, ..meta })
}
