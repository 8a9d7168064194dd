//! Writes `values:`.

use std::fmt::Write;
use std::io;

use super::super::data::DataPrinter;
use super::super::facts::views::View;
use super::MethodText;
use crate::ir::document::{Declaration, Declared, MemoryPlacement, ParsedPlacement, ParsedTensor};
use crate::ir::write::{self, WriteValue};
use pte_model::program::attributes::TENSOR_ATTRIBUTES;
use pte_model::program::{
    Device, DimOrder, EValue, ExtraTensorInfo, Memory, Tensor, TensorData, TensorDataLocation, TensorShapeDynamism,
};
use pte_operators::inference::TensorMeta;

impl MethodText<'_> {
    /// Appends `values:` with the values that are neither literals nor declared by instructions.
    pub(super) fn values(&self, out: &mut String, data: &mut DataPrinter<'_>) -> io::Result<()> {
        let facts = self.facts;
        let mut heading = match facts.order.indices.is_empty() {
            true => "    values:\n",
            false => {
                "    # `index` states the numbers that the order of the instructions does not give.\n    values:\n"
            }
        };
        for (index, value) in facts.plan.values().iter().enumerate() {
            let Some(name) = &facts.names[index] else { continue };
            let is_numbered = facts.states_index(index);
            if !is_numbered && facts.is_implied(index) {
                continue;
            }
            let value = match value {
                EValue::Tensor(tensor) => Declared::Tensor(Box::new(self.tensor(index, name, tensor, data)?)),
                value => Declared::Other(self.declared(value).into()),
            };
            let index = is_numbered.then(|| (index as u32).into());
            let declaration = Declaration { name: (&**name).into(), index, value };
            let mut text = String::new();
            write::write(&declaration, &mut text);
            // Otherwise, an instruction declares it.
            if text != "{}" {
                out.push_str(std::mem::take(&mut heading));
                let _ = writeln!(out, "      {}: {text}", declaration.name());
            }
        }
        Ok(())
    }

    /// Returns the properties of a tensor that are not inferred: none for a view that an entry among the instructions
    /// declares.
    fn tensor<'t>(
        &'t self,
        index: usize,
        name: &str,
        tensor: &'t Tensor,
        data: &mut DataPrinter<'_>,
    ) -> io::Result<ParsedTensor<'t>> {
        let facts = self.facts;
        let name_of = |index: usize| facts.names[index].as_deref().map(Into::into);
        if let Some(View { base, .. }) = facts.order.views[index] {
            if !facts.declares_view(index) {
                return Ok(ParsedTensor::default());
            }
            return Ok(ParsedTensor { view_of: name_of(base), ..self.elements(index, name, tensor) });
        }
        let mut parsed = self.elements(index, name, tensor);
        (parsed.mutable, parsed.memory) = self.location(index, tensor);
        match tensor.data {
            TensorData::Elsewhere(Some(number)) if facts.hints.external || facts.hints.everything => {
                parsed.data_buffer_idx = Some(number.into());
            }
            TensorData::Blob(id) => {
                let blob = self.program.blob(id);
                let base = facts.order.bases.get(&id).filter(|_| tensor.nbytes() != Some(blob.len));
                parsed.view_of = base.and_then(|base| name_of(*base));
                if parsed.view_of.is_none() {
                    parsed.data = Some(data.tensor(blob, tensor, name)?);
                }
            }
            TensorData::Elsewhere(_) | TensorData::None => {}
        }
        Ok(parsed)
    }

    /// Returns the element type, sizes, order of dimensions and attributes that are not inferred, and the optional
    /// properties.
    fn elements<'t>(&self, index: usize, name: &str, tensor: &'t Tensor) -> ParsedTensor<'t> {
        let sizes = tensor.sizes.as_deref().unwrap_or_default();
        let inferred = self.facts.inferred[index].as_ref().filter(|_| self.facts.uses.produced[index]);
        let has_sizes = |meta: &&TensorMeta| {
            let dims = meta.sizes.iter().map(|dim| dim.size);
            tensor.sizes.is_some() && dims.eq(sizes.iter().map(|size| i64::from(*size)))
        };
        let meta = inferred.filter(has_sizes);
        let order = tensor.dim_order.clone().unwrap_or_default();
        let computed_order = meta.map_or_else(|| DimOrder::contiguous(sizes.len()), |meta| meta.dim_order.clone());
        let is_dynamic = meta.is_some_and(TensorMeta::is_dynamic);
        let attributes = TENSOR_ATTRIBUTES.iter().enumerate().filter_map(|(position, attribute)| {
            let default = match attribute.key {
                "dynamism" => i32::from(is_dynamic),
                "requires_grad" => i32::from(self.facts.gradients.computed[index]),
                _ => 0,
            };
            let value = (attribute.get)(tensor);
            (value != default).then_some((position, value))
        });
        let is_type = |meta: &TensorMeta| meta.scalar_type == tensor.scalar_type;
        let extra = tensor.extra_tensor_info.as_deref();
        let is_external = extra.is_some_and(|extra| extra.location == TensorDataLocation::EXTERNAL);
        let stated = extra.and_then(|extra| extra.fully_qualified_name.as_deref());
        ParsedTensor {
            scalar_type: (!inferred.is_some_and(is_type)).then(|| tensor.scalar_type.into()),
            sizes: meta.is_none().then(|| sizes.to_vec().into()),
            dim_order: Some(order).filter(|order| *order != computed_order).map(Into::into),
            attributes: attributes.collect(),
            external: is_external.then(|| None.into()),
            name: stated.filter(|stated| !is_external || *stated != name).map(Into::into),
            extra_tensor_info: extra.is_some_and(|extra| *extra == ExtraTensorInfo::default()),
            device: extra.map(ExtraTensorInfo::device).filter(|device| *device != Device::CPU),
            ..ParsedTensor::default()
        }
    }

    /// Returns `mutable` and `memory`.
    fn location(&self, index: usize, tensor: &Tensor) -> (bool, Option<MemoryPlacement>) {
        let uses = &self.facts.uses;
        let is_planned = tensor.memory != Memory::None;
        let has_data = matches!(tensor.data, TensorData::Blob(_));
        let is_scratch = self.facts.hints.memory.scratch && uses.overwritten[index];
        let is_own = !uses.is_input[index] && !uses.produced[index] && !self.facts.is_alias[index];
        let is_state = is_own && !is_scratch;
        // State that the caller places is neither planned nor written before it is read.
        let is_unplanned_state = tensor.data == TensorData::None && uses.first[index].is_some() && !is_planned;
        let is_mutable = is_state && is_unplanned_state || is_planned && (has_data || is_state);
        let memory = match tensor.memory {
            Memory::At { pool, offset } if self.facts.states_offset(tensor) => {
                Some(MemoryPlacement::In(ParsedPlacement { pool, offset: Some(offset) }))
            }
            // Pools of other devices follow those of the CPU, and are computed.
            Memory::At { pool, .. } if pool != 1 && tensor.device() == Device::CPU => {
                Some(MemoryPlacement::In(ParsedPlacement { pool, offset: None }))
            }
            Memory::None
                if tensor.data == TensorData::None && tensor.shape_dynamism != TensorShapeDynamism::DYNAMIC_UNBOUND =>
            {
                Some(MemoryPlacement::None)
            }
            Memory::None | Memory::Auto { .. } | Memory::At { .. } | Memory::View { .. } => None,
        };
        (is_mutable, memory)
    }
}
