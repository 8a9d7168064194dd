//! Which data go where: constants, initial states, delegates' payloads, named data (docs/format.md, "Segments"), and for each
//! tensor its `data_buffer_idx`.
//!
//! Equal data share a place within each of these groups, as the exporter does it, never across groups.

use std::collections::HashMap;

use super::external::{Entry, External};
use super::segments::{self, Segment};
use super::{DelegateData, Header, LayoutError, MemoryPlan, Options, Plan, Storage};
use crate::data::BlobId;
use crate::program::element::{Element, Part};
use crate::program::{Memory, Program, Tensor, TensorData, TensorLayout};

/// Goes through a program in the exporter's order and gives each piece of data a place.
pub struct Collector<'a> {
    program: &'a Program,
    same: &'a [BlobId],
    options: &'a Options,
    buffer_index: Vec<Vec<u32>>,
    constants: Pool,
    mutable: Pool,
    external: External,
    delegates: Vec<Vec<DelegateData>>,
    delegate_segments: Vec<Segment>,
    inline_delegates: Vec<BlobId>,
    named_data: Vec<usize>,
    named_segments: Vec<Segment>,
    shared_bytes: u64,
    errors: Vec<LayoutError>,
}

/// Data that are referred to by number, equal ones by the same number. Number 0 is reserved.
#[derive(Default)]
struct Pool {
    numbers: HashMap<BlobId, u32>,
    blobs: Vec<BlobId>,
}

impl Pool {
    /// Number of a blob, and whether it is new.
    fn number(&mut self, blob: BlobId) -> (u32, bool) {
        let next = self.blobs.len() as u32 + 1;
        let number = *self.numbers.entry(blob).or_insert(next);
        if number == next {
            self.blobs.push(blob);
        }
        (number, number == next)
    }
}

impl<'a> Collector<'a> {
    /// Starts with nothing placed.
    pub fn new(program: &'a Program, same: &'a [BlobId], options: &'a Options) -> Collector<'a> {
        Collector {
            program,
            same,
            options,
            buffer_index: Vec::new(),
            constants: Pool::default(),
            mutable: Pool::default(),
            external: External::default(),
            delegates: Vec::new(),
            delegate_segments: Vec::new(),
            inline_delegates: Vec::new(),
            named_data: Vec::new(),
            named_segments: Vec::new(),
            shared_bytes: 0,
            errors: Vec::new(),
        }
    }

    fn size(&self, blob: BlobId) -> u64 {
        self.program.blob(blob).len
    }

    fn error(&mut self, at: Element, message: impl Into<String>) {
        self.errors.push(LayoutError::new(at, message));
    }

    /// Tensors with data, method by method: constants and initial states are numbered where they first occur (E-17).
    pub fn collect_tensors(&mut self) {
        for (method, plan) in self.program.plans().iter().enumerate() {
            let mut indices = vec![0; plan.values().len()];
            for (value, tensor) in plan.tensors() {
                let at = Element::Method(method, Part::Value(value));
                if let TensorData::Elsewhere(index) = tensor.data {
                    indices[value] = index.unwrap_or_else(|| self.external.count_elsewhere(tensor));
                } else if let TensorData::Blob(blob) = tensor.data {
                    if tensor.nbytes() != Some(self.size(blob)) {
                        let expected = tensor
                            .nbytes()
                            .map_or("of a size that cannot be computed".into(), |n| format!("of {n} bytes"));
                        self.error(at, format!("the tensor is {expected}, its data have {} bytes", self.size(blob)));
                        continue;
                    }
                    indices[value] = self.collect_tensor(at, tensor, self.same[blob.0 as usize]);
                }
            }
            self.buffer_index.push(indices);
        }
        for (number, data) in self.program.external_data.iter().enumerate() {
            let entry = Entry {
                key: data.key.clone(),
                at: Element::ExternalData(number),
                blob: self.same[data.data.0 as usize],
                size: self.size(data.data),
                alignment: data.alignment,
                layout: data.tensor_layout.clone(),
            };
            self.add_external(data.tag.clone(), entry);
        }
    }

    fn collect_tensor(&mut self, at: Element, tensor: &Tensor, blob: BlobId) -> u32 {
        let size = self.size(blob);
        if let Some(extra) = tensor.extra_tensor_info.as_ref().filter(|_| tensor.is_external()) {
            let layout = TensorLayout {
                scalar_type: tensor.scalar_type,
                sizes: tensor.sizes.as_deref().unwrap_or_default().to_vec(),
                dim_order: tensor.dim_order.as_deref().unwrap_or_default().to_vec(),
            };
            let key = extra.fully_qualified_name.clone().unwrap_or_default();
            return self
                .add_external(extra.tag.clone(), Entry { key, at, blob, size, alignment: 1, layout: Some(layout) });
        }
        let pool = if tensor.memory == Memory::None { &mut self.constants } else { &mut self.mutable };
        if tensor.has_lone_state() && self.program.blob(blob).copy == 0 {
            // The exporter does not look whether the state is there already; who says which copy it is, means it.
            pool.numbers.remove(&blob);
        }
        let (number, new) = pool.number(blob);
        if !new {
            self.shared_bytes += size;
        }
        number
    }

    fn add_external(&mut self, tag: Option<String>, entry: Entry) -> u32 {
        let size = entry.size;
        match self.external.add(tag, entry) {
            Ok((index, shared)) => {
                self.shared_bytes += if shared { size } else { 0 };
                index
            }
            Err(error) => {
                self.errors.push(error);
                0
            }
        }
    }

    /// Payloads of delegates: equal ones share a segment or an entry, empty ones stay inline, one entry each (W-11).
    pub fn collect_delegates(&mut self) {
        let mut segment_of: HashMap<BlobId, u32> = HashMap::new();
        let mut inline_of: HashMap<BlobId, u32> = HashMap::new();
        for plan in self.program.plans() {
            let mut places = Vec::with_capacity(plan.delegates().len());
            for delegate in plan.delegates() {
                let blob = self.same[delegate.processed.0 as usize];
                let size = self.size(blob);
                let inline = delegate.inline.unwrap_or(self.options.delegates == Storage::Inline);
                let place = if inline || size == 0 {
                    let next = self.inline_delegates.len() as u32;
                    // Those that are inline by wish share an entry, those that stay because they are empty do not.
                    let index = if inline { *inline_of.entry(blob).or_insert(next) } else { next };
                    if index == next {
                        self.inline_delegates.push(blob);
                    } else {
                        self.shared_bytes += size;
                    }
                    DelegateData { storage: Storage::Inline, index }
                } else {
                    let next = self.delegate_segments.len() as u32;
                    let index = *segment_of.entry(blob).or_insert(next);
                    if index == next {
                        self.delegate_segments.push(Segment::of(blob, size, 1));
                    } else {
                        self.shared_bytes += size;
                    }
                    DelegateData { storage: Storage::Segment, index }
                };
                places.push(place);
            }
            self.delegates.push(places);
        }
    }

    /// Keyed blobs: equal ones share a segment, whose alignment is the one that the first key asks (W-12).
    pub fn collect_named_data(&mut self) {
        let mut segment_of: HashMap<BlobId, usize> = HashMap::new();
        let mut keys: HashMap<&str, usize> = HashMap::new();
        for (number, data) in self.program.named_data.iter().flatten().enumerate() {
            if let Some(first) = keys.insert(&data.key, number) {
                let error = LayoutError::new(Element::NamedData(number), format!("the key `{}` is taken", data.key));
                self.errors.push(error.with_related(Element::NamedData(first), "its first use"));
            }
            let blob = self.same[data.data.0 as usize];
            if let Some((first, other)) = self.external.find(&data.key)
                && other != blob
            {
                let message = format!("the key `{}` is in a .ptd, too, with other bytes", data.key);
                let error = LayoutError::new(Element::NamedData(number), message);
                self.errors.push(error.with_related(first, "its first use"));
            }
            let size = self.size(blob);
            let next = self.named_segments.len();
            let index = *segment_of.entry(blob).or_insert(next);
            if index == next {
                self.named_segments.push(Segment::of(blob, size, data.alignment));
            } else {
                self.shared_bytes += size;
            }
            self.named_data.push(index);
        }
    }

    /// Lines the segments up: constants, initial states, delegates, named data (W-1).
    ///
    /// # Errors
    /// All that were found on the way, and sizes beyond what can be addressed.
    pub fn finish(mut self, memory: Vec<MemoryPlan>) -> Result<Plan, Vec<LayoutError>> {
        let mut plan = Plan {
            memory,
            buffer_index: std::mem::take(&mut self.buffer_index),
            constant_buffer: Vec::new(),
            constant_offsets: Vec::new(),
            mutable_data: None,
            delegates: std::mem::take(&mut self.delegates),
            inline_delegates: std::mem::take(&mut self.inline_delegates),
            named_data: Vec::new(),
            segments: Vec::new(),
            external: Vec::new(),
            shared_bytes: self.shared_bytes,
        };
        if self.line_up(&mut plan).is_none() {
            self.error(Element::Program, "the data are larger than what can be addressed");
        }
        if self.options.header == Header::None && segments::total(&plan.segments) > 0 {
            self.error(
                Element::Header,
                "without a header nobody finds the segments: put constants and delegates inline, or drop `header: none`",
            );
        }
        if self.errors.is_empty() { Ok(plan) } else { Err(self.errors) }
    }

    fn line_up(&mut self, plan: &mut Plan) -> Option<()> {
        match self.options.constants {
            Storage::Inline => {
                plan.constant_buffer =
                    std::iter::once(None).chain(self.constants.blobs.iter().copied().map(Some)).collect();
            }
            Storage::Segment => {
                let mut segment = Segment { alignment: 1, ..Segment::default() };
                plan.constant_offsets = self.pack(&mut segment, &self.constants, self.options.tensor_alignment)?;
                // Without methods there was no emitter, and it is the emitter that makes this segment (W-1).
                plan.segments.push(segment);
            }
        }
        let mut mutable = Segment { alignment: 1, ..Segment::default() };
        let offsets = self.pack(&mut mutable, &self.mutable, 1)?;
        if mutable.size > 0 {
            plan.mutable_data = Some((plan.segments.len() as u32, offsets));
            plan.segments.push(mutable);
        }
        let first_delegate = plan.segments.len() as u32;
        plan.segments.append(&mut self.delegate_segments);
        for place in plan.delegates.iter_mut().flatten().filter(|place| place.storage == Storage::Segment) {
            place.index += first_delegate;
        }
        let first_named = plan.segments.len();
        plan.segments.append(&mut self.named_segments);
        plan.named_data = self.named_data.iter().map(|index| (first_named + index) as u32).collect();
        segments::place(&mut plan.segments, self.options.segment_alignment)?;
        plan.external = std::mem::take(&mut self.external).finish(self.options)?;
        Some(())
    }

    /// Packs a pool into a segment; the offsets start with the reserved entry.
    fn pack(&self, segment: &mut Segment, pool: &Pool, alignment: u64) -> Option<Vec<u64>> {
        let mut offsets = vec![0];
        for blob in &pool.blobs {
            offsets.push(segment.push(*blob, self.size(*blob), alignment)?);
        }
        Some(offsets)
    }
}

#[cfg(test)]
mod tests;
