//! Resolves declared values (literals, lists, tensors with data and memory placement), operators and delegates.
//!
//! Offsets of planned memory are assigned later, by [`crate::layout::memory`].

use super::graph;
use super::method::{DeclarationState, MethodResolver, NumberedValue};
use crate::assembly::origins::DelegateOrigin;
use crate::ir::data::{self, DataRequest};
use crate::ir::document::{
    self, Declaration, Declared, Literal, MemoryPlacement, ParsedPayload, ParsedPlacement, Word,
};
use crate::layout::memory::MAX_POOLS;
use pte_model::diagnostics::{Code, clipped, counted};
use pte_model::format::{DimOrder, ScalarType};
use pte_model::program::attributes::TENSOR_ATTRIBUTES;
use pte_model::program::{
    BackendDelegate, CompileSpec, Device, EValue, ExtraTensorInfo, Memory, Operator, Tensor, TensorData,
    TensorDataLocation, TensorShapeDynamism,
};

impl<'d, 'a> MethodResolver<'d, 'a, '_> {
    pub(super) fn operators(&mut self) -> Vec<Operator> {
        let operators = std::mem::take(&mut self.operators);
        let text = |text: &str| Some(text.to_owned());
        let operator = |(name, overload)| Operator { name: text(name), overload: text(overload) };
        operators.into_keys().map(operator).collect()
    }

    pub(super) fn delegates(&mut self) -> Vec<BackendDelegate> {
        let mut delegates = Vec::with_capacity(self.method.delegates.len());
        for delegate in &self.method.delegates {
            let mut origin = DelegateOrigin {
                id: delegate.name.id,
                name: delegate.name.value.to_string(),
                ..DelegateOrigin::default()
            };
            let mut specs = Vec::with_capacity(delegate.compile_specs.len());
            for document::ParsedCompileSpec { key, value } in &delegate.compile_specs {
                if let Some(bytes) = self.finder.in_memory(value, DataRequest::BytesOrText) {
                    specs.push(CompileSpec::new(key.to_string(), bytes));
                }
            }
            let mut arguments = Vec::new();
            let payload = match &delegate.payload {
                ParsedPayload::Data(data) => self.finder.find(data, DataRequest::Bytes).map(|found| found.blob),
                ParsedPayload::Graph(graph) => {
                    graph::payload(graph, &delegate.backend, self.finder).map(|(payload, origins, found)| {
                        (origin.graph, arguments) = (origins, found);
                        payload
                    })
                }
            };
            self.origins.delegates.push(origin);
            self.graph_arguments.push(arguments);
            if let Some(payload) = payload {
                delegates.push(BackendDelegate {
                    inline: delegate.inline,
                    compile_specs: Some(specs),
                    ..BackendDelegate::new(delegate.backend.value.to_string(), self.program.add_blob(payload))
                });
            }
        }
        delegates
    }

    /// All values, ordered by index.
    pub(super) fn values(&mut self) -> Vec<EValue> {
        let mut slots = std::mem::take(&mut self.slots);
        slots.sort_by_key(|(number, _)| *number);
        let count = slots.len();
        let mut values = Vec::with_capacity(count);
        self.origins.values.reserve(count);
        let has_gap = slots.iter().zip(0..).any(|((number, _), expected)| *number != expected);
        if has_gap {
            self.numbers = slots.iter().map(|(number, _)| *number).collect();
        }
        for (number, slot) in slots {
            let (value, at, declaration) = match slot {
                NumberedValue::Anonymous(value, at) => (value, at, None),
                NumberedValue::Declared(declaration) => {
                    (self.declared_value(declaration), self.values[declaration].name.id, Some(declaration))
                }
            };
            if let Some((index, name)) =
                declaration.and_then(|d| Some((self.values[d].index.as_ref()?, &self.values[d].name)))
                && number as usize >= count
                && self.gap.is_none()
            {
                let values = counted(count, "value");
                let message = format!("index {number} of `{}` leaves a gap: the values are renumbered", name.value);
                let label = format!("method `{}` has {values}", clipped(&self.method.name.value));
                let gap = Code::RenumberedValue.warning(index.id, message).label(label);
                self.gap = Some(gap.help("remove `index` from the values of the method"));
            }
            self.origins.values.push((at, declaration.map(|d| self.values[d].name.value.to_string())));
            values.push(value);
        }
        values
    }

    pub(super) fn declared_value(&mut self, declaration: usize) -> EValue {
        let value: &'d Declaration<'a> = self.values[declaration];
        match &value.value {
            Declared::Tensor(tensor) => EValue::Tensor(self.tensor(declaration, value, tensor)),
            Declared::Other(literal) => match &literal.value {
                Literal::Word(text) => EValue::String(Some(text.to_string())),
                Literal::Typed(_, items) | Literal::List(items) => {
                    let kind = match &literal.value {
                        Literal::Typed(kind, _) => Some(*kind),
                        _ => self.guess_list_kind(literal.id, items),
                    };
                    let Some(kind) = kind else { return EValue::Null };
                    let numbers = self.item_numbers.remove(&declaration).unwrap_or_default();
                    self.list_value(kind, items, Some(&numbers))
                }
                Literal::Index(_) => {
                    let message = "a declared value cannot refer to another value";
                    self.error(Code::WrongKind, literal.id, message, "expected a tensor, or a literal");
                    EValue::Null
                }
                scalar => scalar.scalar().unwrap_or(EValue::Null),
            },
        }
    }

    pub(super) fn tensor(
        &mut self,
        declaration: usize,
        value: &'d Declaration<'a>,
        written: &'d document::ParsedTensor<'a>,
    ) -> Tensor {
        let known = self.declared[declaration];
        let scalar_type =
            written.scalar_type.as_ref().map(|stated| stated.value).or_else(|| self.base_type(declaration));
        let mut tensor = Tensor::new(scalar_type.unwrap_or(ScalarType::FLOAT), &[]);
        let is_floating = scalar_type.is_some_and(ScalarType::is_differentiable);
        tensor.requires_grad = self.method.requires_grad && is_floating && written.data.is_some() && !written.mutable;
        let stated = written.sizes.as_ref().map(|sizes| sizes.value.as_slice());
        self.check_memory(value, written);
        for (attribute, value) in &written.attributes {
            (TENSOR_ATTRIBUTES[*attribute].set)(&mut tensor, *value);
        }
        let is_view = written.view_of.is_some();
        let has_open_size = is_view && stated.is_some_and(|sizes| sizes.contains(&-1));
        let sizes = written.sizes.as_ref().filter(|_| !has_open_size);
        if sizes.is_some_and(|sizes| self.noted(data::check_sizes(sizes)).is_none()) {
            return tensor;
        }
        // Results and views are completed by inference.
        let is_inferred = (known.produced || is_view) && written.data.is_none();
        if is_inferred
            && (scalar_type.is_none() || stated.is_none() || has_open_size || (is_view && self.method.requires_grad))
            && let Some(number) = known.number
        {
            self.unfinished.insert(number, declaration);
            tensor.sizes = stated.filter(|_| !has_open_size).map(Into::into);
            tensor.dim_order = None;
            tensor.memory = self.memory(written, known, tensor.shape_dynamism == TensorShapeDynamism::DYNAMIC_UNBOUND);
            tensor.extra_tensor_info = extra_tensor_info(value, written);
            return tensor;
        }
        // Without the instruction that wrote it: where it is read has an error.
        if known.reported && !known.is_input && written.data.is_none() && (scalar_type.is_none() || stated.is_none()) {
            return tensor;
        }
        let Some((sizes, data)) = self.content(value, written, known, scalar_type) else {
            self.invalid.push(declaration);
            return tensor;
        };
        tensor.data = data;
        let order = written.dim_order.as_ref().map(|order| order.value.clone());
        tensor.dim_order = Some(order.unwrap_or_else(|| DimOrder::contiguous(sizes.len())));
        tensor.sizes = Some(sizes.into());
        tensor.memory = self.memory(written, known, tensor.shape_dynamism == TensorShapeDynamism::DYNAMIC_UNBOUND);
        if let Some(view_of) = &written.view_of {
            self.share(declaration, view_of, &mut tensor);
        }
        tensor.extra_tensor_info = extra_tensor_info(value, written);
        tensor
    }

    /// Reports placement and data index of a tensor that contradict its other properties.
    fn check_memory(&mut self, value: &'d Declaration<'a>, written: &document::ParsedTensor<'a>) {
        let name = &value.name;
        let wrong = match (written.mutable, written.memory) {
            (false, Some(MemoryPlacement::Auto | MemoryPlacement::In(_))) if written.data.is_some() => {
                let message = format!("`{}` is a constant and cannot be placed in planned memory", name.value);
                Some((message, "add `mutable: true` if the data are its initial state, or drop `memory`"))
            }
            (true, Some(MemoryPlacement::None)) if written.data.is_some() => {
                let message = format!("`{}` is mutable, but has no memory for its initial state", name.value);
                Some((message, "drop `memory: none`, or `mutable`"))
            }
            (_, Some(MemoryPlacement::In(ParsedPlacement { pool: 0, .. }))) => {
                Some((format!("`{}` is placed in pool 0, which is reserved", name.value), "pools count from 1"))
            }
            (_, Some(MemoryPlacement::In(ParsedPlacement { pool, .. }))) if pool as usize > MAX_POOLS => {
                let message = format!("pool {pool} exceeds the maximum of {MAX_POOLS} pools of a method");
                Some((message, "expected a smaller number"))
            }
            _ => None,
        };
        if let Some((message, label)) = wrong {
            self.error(Code::MemoryPlacement, name.id, message, label);
        }
        if let Some(index) = &written.data_buffer_idx
            && (written.data.is_some() || written.external.is_none())
        {
            let message = "`data_buffer_idx` is computed for this tensor";
            self.error(Code::ConflictingKeys, index.id, message, "only external tensors without data may state it");
        }
    }

    /// Returns sizes and data of a tensor that inference does not complete; `None` if they are invalid, which is
    /// reported.
    fn content(
        &mut self,
        value: &'d Declaration<'a>,
        written: &'d document::ParsedTensor<'a>,
        known: DeclarationState,
        scalar_type: Option<ScalarType>,
    ) -> Option<(Vec<i32>, TensorData)> {
        let stated = written.sizes.as_ref().map(|sizes| sizes.value.as_slice());
        let order = written.dim_order.as_ref().map(|order| &order.value);
        let Some(scalar_type) = scalar_type else {
            let label = match known.written || known.is_input || written.mutable || written.data.is_some() {
                true => "add `tensor`",
                false => "add `tensor`, or delete it: no instruction writes it",
            };
            let message = format!("the element type of `{}` is not known", value.name.value);
            self.error(Code::UndeterminedTensor, value.name.id, message, label);
            return None;
        };
        if let (Some(order), Some(sizes)) = (&written.dim_order, stated) {
            self.noted(data::check_dim_order(order, sizes.len()))?;
        }
        let found = match &written.data {
            Some(data) => Some((data, self.finder.find(data, DataRequest::Tensor(scalar_type, stated, order))?)),
            None => None,
        };
        let inferred = || found.as_ref()?.1.sizes.clone();
        let Some(sizes) = stated.map(<[i32]>::to_vec).or_else(inferred) else {
            let is_given = known.is_input || written.mutable || written.data.is_some() || written.external.is_some();
            let label = if is_given { "add `sizes`" } else { "add `sizes`, or delete it: no instruction writes it" };
            let message = format!("the sizes of `{}` are not known", value.name.value);
            self.error(Code::UndeterminedTensor, value.name.id, message, label);
            return None;
        };
        if let (Some(order), None) = (&written.dim_order, stated) {
            self.noted(data::check_dim_order(order, sizes.len()))?;
        }
        if let Some((data, found)) = found {
            // The size of an element type of a newer schema is unknown.
            let is_known = scalar_type.info().is_some();
            if is_known && pte_model::program::nbytes(scalar_type, &sizes) != Some(found.blob.len) {
                self.diagnostics.push(data::bytes_disagree(data.id, scalar_type, &sizes, found.blob.len));
                return None;
            }
            return Some((sizes, TensorData::Blob(self.program.add_blob(found.blob))));
        }
        let index = written.data_buffer_idx.as_ref().map(|index| index.value);
        Some((sizes, if written.external.is_some() { TensorData::Elsewhere(index) } else { TensorData::None }))
    }

    /// Returns the declared element type of the base of a view.
    fn base_type(&self, declaration: usize) -> Option<ScalarType> {
        self.written(self.base_of(declaration))?.scalar_type.as_ref().map(|stated| stated.value)
    }

    /// Sets the memory or the data of a view to those of its base.
    pub(super) fn share(&mut self, declaration: usize, view_of: &'d Word<'a>, tensor: &mut Tensor) {
        let base = self.base_of(declaration);
        let value: &'d Declaration<'a> = self.values[base];
        let expected = "expected a tensor with memory or data of its own";
        // `check_bases` reports a base that is no tensor, and cycles.
        let Some(of) = value.tensor().filter(|of| of.view_of.is_none()) else { return };
        if of.external.is_some() {
            let message = format!("`{}` is in a .ptd, where each tensor has a key", value.name.value);
            return self.error(Code::InvalidView, view_of.id, message, expected);
        }
        if let (Some(data), false) = (&of.data, of.mutable) {
            let (order, sizes) = (of.dim_order.as_ref().map(|o| &o.value), of.sizes.as_ref().map(|s| &*s.value));
            let Some(scalar_type) = of.scalar_type.as_ref().map(|stated| stated.value) else { return };
            let Some(found) = self.finder.find(data, DataRequest::Tensor(scalar_type, sizes, order)) else { return };
            if tensor.nbytes().is_none_or(|nbytes| nbytes > found.blob.len) {
                let own = counted(tensor.nbytes().unwrap_or(0), "byte");
                let message = format!("a view of {own} of a constant of {}", found.blob.len);
                return self.error(Code::InvalidView, view_of.id, message, "expected at most that many");
            }
            tensor.data = TensorData::Blob(self.program.add_blob(found.blob));
            tensor.memory = Memory::None;
        } else {
            tensor.memory = Memory::View { base: self.number(base).0 as u32 };
        }
    }

    pub(super) fn memory(
        &self,
        written: &document::ParsedTensor<'a>,
        known: DeclarationState,
        unbound: bool,
    ) -> Memory {
        let unplanned = (known.is_input && self.method.memory.unplanned_inputs)
            || (known.is_output && self.method.memory.unplanned_outputs);
        let persistent = written.mutable;
        match written.memory {
            Some(MemoryPlacement::None) => Memory::None,
            Some(MemoryPlacement::In(ParsedPlacement { pool, offset: Some(offset) })) => Memory::At { pool, offset },
            Some(MemoryPlacement::In(ParsedPlacement { pool, offset: None })) => {
                Memory::Auto { pool: Some(pool), persistent, shared: None }
            }
            Some(MemoryPlacement::Auto) => Memory::Auto { pool: None, persistent, shared: None },
            // Unbounded tensors are allocated at run time (docs/format.md, "Planned tensors").
            None if written.is_constant() || unplanned || unbound => Memory::None,
            None => Memory::Auto { pool: None, persistent, shared: None },
        }
    }
}

/// Returns name, external data and device of a tensor; `None` if it has none of them (E-15).
pub(super) fn extra_tensor_info(
    value: &Declaration<'_>,
    written: &document::ParsedTensor<'_>,
) -> Option<Box<ExtraTensorInfo>> {
    let device = written.device.unwrap_or_default();
    let name = written.name.as_ref().map(|name| name.value.to_string());
    let is_stated = name.is_some() || written.external.is_some() || device != Device::CPU;
    if !is_stated && !written.extra_tensor_info {
        return None;
    }
    Some(Box::new(ExtraTensorInfo {
        mutable_data_segments_idx: 0,
        fully_qualified_name: name.or_else(|| written.external.as_ref().map(|_| value.name.value.to_string())),
        location: match written.external {
            Some(_) => TensorDataLocation::EXTERNAL,
            None => TensorDataLocation::SEGMENT,
        },
        device_type: device.device_type,
        device_index: device.index,
        tag: written.external.as_ref().and_then(|tag| tag.value.as_ref()).map(|tag| tag.to_string()),
    }))
}
