//! Assigns constants, initial states, payloads of delegates and named data to segments (docs/format.md, "Segments"),
//! and numbers the tensors (`data_buffer_idx`).
//!
//! Equal data within one of these groups are stored once, as by the exporter; data of different groups are never
//! shared.

use std::collections::{HashMap, HashSet};

use super::external::{ExternalFiles, ExternalItem};
use super::segments::{self, Segment};
use super::{DelegateData, HeaderMode, LayoutConfig, LayoutError, Plan, Storage};
use pte_model::data::{BlobId, BlobSource};
use pte_model::diagnostics::{Code, counted};
use pte_model::format::serializer::SegmentGroup;
use pte_model::program::element::{Element, Part};
use pte_model::program::{ExecutionPlan, Memory, MemoryPlan, Program, Tensor, TensorData, TensorLayout};

/// Collects the data of a program in the order of the exporter.
pub struct Collector<'a> {
    program: &'a Program,
    same: &'a [BlobId],
    options: &'a LayoutConfig,
    buffer_index: Vec<Vec<u32>>,
    constants: NumberedBlobs,
    mutable: NumberedBlobs,
    external: ExternalFiles,
    delegates: Vec<Vec<DelegateData>>,
    delegate_segments: Vec<Segment>,
    inline_delegates: Vec<BlobId>,
    named_data: Vec<usize>,
    named_segments: Vec<Segment>,
    shared_bytes: u64,
    errors: Vec<LayoutError>,
}

/// Blobs numbered from 1; equal blobs have the same number. Number 0 is reserved.
#[derive(Default)]
struct NumberedBlobs {
    numbers: HashMap<BlobId, u32>,
    blobs: Vec<BlobId>,
}

impl NumberedBlobs {
    /// Returns the number of a blob, and true if the number is new.
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
    /// Creates a collector without data.
    pub fn new(program: &'a Program, same: &'a [BlobId], options: &'a LayoutConfig) -> Collector<'a> {
        Collector {
            program,
            same,
            options,
            buffer_index: Vec::new(),
            constants: NumberedBlobs::default(),
            mutable: NumberedBlobs::default(),
            external: ExternalFiles::default(),
            delegates: Vec::new(),
            delegate_segments: Vec::new(),
            inline_delegates: Vec::new(),
            named_data: Vec::new(),
            named_segments: Vec::new(),
            shared_bytes: 0,
            errors: Vec::new(),
        }
    }

    /// Adds data that are not stored again to the bytes saved, unless a file has them only once, too.
    fn share(&mut self, data: BlobId, kept: BlobId) {
        let [data, kept] = [data, kept].map(|blob| self.program.blob(blob));
        let is_once = matches!(data.source, BlobSource::File { .. }) && data.source == kept.source;
        self.shared_bytes += if is_once { 0 } else { data.len };
    }

    fn size(&self, blob: BlobId) -> u64 {
        self.program.blob(blob).len
    }

    fn error(&mut self, code: Code, at: Element, message: impl Into<String>) {
        self.errors.push(LayoutError::new(code, at, message));
    }

    /// Collects the data of tensors, method by method. Constants and initial states are numbered in the order of their
    /// first use (E-17).
    pub fn collect_tensors(&mut self) {
        for (method, plan) in self.program.plans().iter().enumerate() {
            let mut indices = vec![0; plan.values().len()];
            let mut whole = None;
            for (value, tensor) in plan.tensors() {
                let at = Element::Method(method, Part::Value(value));
                if let TensorData::Elsewhere(index) = tensor.data {
                    indices[value] = index.unwrap_or_else(|| self.external.number_elsewhere(tensor));
                } else if let TensorData::Blob(blob) = tensor.data {
                    let fits = match tensor.nbytes() {
                        Some(nbytes) if nbytes < self.size(blob) => {
                            whole
                                .get_or_insert_with(|| self.whole_constants(plan))
                                .contains(&self.same[blob.0 as usize])
                                && tensor.memory == Memory::None
                        }
                        // The size of an element type of a newer schema is unknown.
                        None => tensor.scalar_type.info().is_none(),
                        nbytes => nbytes == Some(self.size(blob)),
                    };
                    if !fits {
                        let expected =
                            tensor.nbytes().map_or("an unknown number of bytes".into(), |n| counted(n, "byte"));
                        self.error(
                            Code::DataSize,
                            at,
                            format!("the tensor has {expected}, its data have {}", counted(self.size(blob), "byte")),
                        );
                        continue;
                    }
                    indices[value] = self.collect_tensor(at, tensor, blob);
                }
            }
            self.buffer_index.push(indices);
        }
        for (number, data) in self.program.external_data.iter().enumerate() {
            let entry = ExternalItem {
                key: data.key.clone(),
                at: Element::ExternalData(number),
                blob: self.same[data.data.0 as usize],
                size: self.size(data.data),
                alignment: data.alignment,
                layout: data.tensor_layout.clone(),
            };
            self.add_external(data.tag.clone(), entry, data.data);
        }
    }

    fn collect_tensor(&mut self, at: Element, tensor: &Tensor, data: BlobId) -> u32 {
        let blob = self.same[data.0 as usize];
        let size = self.size(blob);
        if let Some(extra) = tensor.extra_tensor_info.as_ref().filter(|_| tensor.is_external()) {
            let layout = TensorLayout::of(tensor);
            let key = extra.fully_qualified_name.clone().unwrap_or_default();
            return self.add_external(
                extra.tag.clone(),
                ExternalItem { key, at, blob, size, alignment: 1, layout: Some(layout) },
                data,
            );
        }
        let pool = if tensor.memory == Memory::None { &mut self.constants } else { &mut self.mutable };
        if tensor.has_lone_state() && self.program.blob(blob).copy == 0 {
            // The exporter stores such a state again even if an equal one is stored; an explicit `copy` overrides this.
            pool.numbers.remove(&blob);
        }
        let (number, new) = pool.number(blob);
        if !new {
            self.share(data, blob);
        }
        number
    }

    /// Returns the data of which a constant of a method has all bytes. Other tensors of the method may be views of
    /// their first bytes.
    fn whole_constants(&self, plan: &ExecutionPlan) -> HashSet<BlobId> {
        let constants = plan.tensors().filter(|(_, tensor)| tensor.memory == Memory::None && !tensor.is_external());
        let whole = constants.filter_map(|(_, tensor)| match tensor.data {
            TensorData::Blob(blob) if tensor.nbytes() == Some(self.size(blob)) => Some(self.same[blob.0 as usize]),
            TensorData::Blob(_) | TensorData::Elsewhere(_) | TensorData::None => None,
        });
        whole.collect()
    }

    fn add_external(&mut self, tag: Option<String>, entry: ExternalItem, data: BlobId) -> u32 {
        let blob = entry.blob;
        match self.external.add(tag, entry) {
            Ok((index, is_shared)) => {
                if is_shared {
                    self.share(data, blob);
                }
                index
            }
            Err(error) => {
                self.errors.push(error);
                0
            }
        }
    }

    /// Collects payloads of delegates. Equal payloads share a segment or an inline entry; each empty payload is an
    /// inline entry of its own (W-11).
    pub fn collect_delegates(&mut self) {
        let mut segment_of: HashMap<BlobId, u32> = HashMap::new();
        let mut inline_of: HashMap<BlobId, u32> = HashMap::new();
        for plan in self.program.plans() {
            let mut list = Vec::with_capacity(plan.delegates().len());
            for delegate in plan.delegates() {
                let blob = self.same[delegate.processed.0 as usize];
                let size = self.size(blob);
                let inline = delegate.inline.unwrap_or(self.options.delegates == Storage::Inline);
                let data = if inline || size == 0 {
                    let next = self.inline_delegates.len() as u32;
                    // Payloads that are inline by option share an entry; those that are inline because they are empty
                    // do not.
                    let index = if inline { *inline_of.entry(blob).or_insert(next) } else { next };
                    if index == next {
                        self.inline_delegates.push(blob);
                    } else {
                        self.share(delegate.processed, blob);
                    }
                    DelegateData { storage: Storage::Inline, index }
                } else {
                    let next = self.delegate_segments.len() as u32;
                    let index = *segment_of.entry(blob).or_insert(next);
                    if index == next {
                        self.delegate_segments.push(Segment::of(blob, size, 1));
                    } else {
                        self.share(delegate.processed, blob);
                    }
                    DelegateData { storage: Storage::Segment, index }
                };
                list.push(data);
            }
            self.delegates.push(list);
        }
    }

    /// Collects named data. Equal blobs share a segment, with the alignment of the first key (W-12).
    pub fn collect_named_data(&mut self) {
        let mut segment_of: HashMap<BlobId, usize> = HashMap::new();
        let mut keys: HashMap<&str, usize> = HashMap::new();
        for (number, data) in self.program.named_data.iter().flatten().enumerate() {
            if let Some(first) = keys.insert(&data.key, number) {
                let error = LayoutError::new(
                    Code::ConflictingData,
                    Element::NamedData(number),
                    format!("duplicate key `{}`", data.key),
                );
                self.errors.push(error.with_related(Element::NamedData(first), "first defined here"));
            }
            let blob = self.same[data.data.0 as usize];
            if let Some((first, other)) = self.external.find(&data.key)
                && other != blob
            {
                let message = format!("duplicate key `{}`: a .ptd has it with different data", data.key);
                let error = LayoutError::new(Code::ConflictingData, Element::NamedData(number), message);
                self.errors.push(error.with_related(first, "first defined here"));
            }
            let size = self.size(blob);
            let next = self.named_segments.len();
            let index = *segment_of.entry(blob).or_insert(next);
            if index == next {
                self.named_segments.push(Segment::of(blob, size, data.alignment));
            } else {
                self.share(data.data, blob);
            }
            self.named_data.push(index);
        }
    }

    /// Assigns the offsets of the segments: constants, initial states, delegates, named data (W-1).
    ///
    /// # Errors
    /// All errors of the collected data, and sizes that exceed `u64`.
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
        if self.assign_offsets(&mut plan).is_none() {
            self.error(Code::LimitExceeded, Element::Program, "the total size of the data exceeds 64 bits");
        }
        if self.options.header == HeaderMode::None && segments::total(&plan.segments) > 0 {
            self.error(
                Code::InvalidLayoutOption,
                Element::Header,
                "segments require the extended header: store constants and delegates inline, or remove `header: none`",
            );
        }
        if self.errors.is_empty() { Ok(plan) } else { Err(self.errors) }
    }

    fn assign_offsets(&mut self, plan: &mut Plan) -> Option<()> {
        for group in self.options.builder.facts().segments {
            let first = plan.segments.len() as u32;
            match group {
                SegmentGroup::Constants => match self.options.constants {
                    Storage::Inline => {
                        let blobs = self.constants.blobs.iter().copied().map(Some);
                        plan.constant_buffer = std::iter::once(None).chain(blobs).collect();
                    }
                    Storage::Segment => {
                        let mut segment = Segment { alignment: 1, ..Segment::default() };
                        plan.constant_offsets =
                            self.pack(&mut segment, &self.constants, self.options.tensor_alignment)?;
                        // This segment is present even without constants: the exporter always writes it (W-1).
                        plan.segments.push(segment);
                    }
                },
                SegmentGroup::MutableData => {
                    let mut segment = Segment { alignment: 1, ..Segment::default() };
                    let offsets = self.pack(&mut segment, &self.mutable, 1)?;
                    if segment.size > 0 {
                        plan.mutable_data = Some((first, offsets));
                        plan.segments.push(segment);
                    }
                }
                SegmentGroup::Delegates => {
                    plan.segments.append(&mut self.delegate_segments);
                    let delegates = plan.delegates.iter_mut().flatten();
                    delegates.filter(|data| data.storage == Storage::Segment).for_each(|data| data.index += first);
                }
                SegmentGroup::NamedData => {
                    plan.segments.append(&mut self.named_segments);
                    plan.named_data = self.named_data.iter().map(|index| first + *index as u32).collect();
                }
            }
        }
        segments::place(&mut plan.segments, self.options.segment_alignment)?;
        plan.external = std::mem::take(&mut self.external).finish(self.options)?;
        Some(())
    }

    /// Appends blobs to a segment and returns their offsets, after the reserved entry 0.
    fn pack(&self, segment: &mut Segment, blobs: &NumberedBlobs, alignment: u64) -> Option<Vec<u64>> {
        let mut offsets = vec![0];
        for blob in &blobs.blobs {
            offsets.push(segment.push(*blob, self.size(*blob), alignment)?);
        }
        Some(offsets)
    }
}
