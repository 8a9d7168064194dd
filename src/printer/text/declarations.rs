//! Writes `values:`.

use std::fmt::Write;
use std::io;

use super::super::data::DataPrinter;
use super::super::facts::views::View;
use super::super::yaml::{self, FlowMap};
use super::{MethodText, device};
use pte_model::data::number;
use pte_model::program::attributes::{AttributeKind, TENSOR_ATTRIBUTES};
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
            let is_scalar = matches!(value, EValue::Int(_) | EValue::Bool(_) | EValue::Null)
                || matches!(value, EValue::Double(x) if !number::has_nan_payload(*x));
            let is_numbered = facts.states_index(index);
            if !is_numbered && facts.is_implied(index) {
                continue;
            }
            let mut text = String::new();
            if is_scalar && !is_numbered {
                self.literal(value, None, &mut text);
            } else {
                let mut fields = FlowMap::new(&mut text);
                match value {
                    EValue::Tensor(tensor) => self.tensor(index, name, tensor, &mut fields, data)?,
                    value => self.declared(value, &mut fields),
                }
                fields.optional("index", is_numbered.then_some(index));
                fields.end();
            }
            // Otherwise, an instruction declares it.
            if text != "{}" {
                out.push_str(std::mem::take(&mut heading));
                let _ = writeln!(out, "      {}: {text}", yaml::text(name));
            }
        }
        Ok(())
    }

    /// Appends the properties of a tensor that are not inferred. Appends nothing for a view that an entry among the
    /// instructions declares.
    fn tensor(
        &self,
        index: usize,
        name: &str,
        tensor: &Tensor,
        fields: &mut FlowMap<'_>,
        data: &mut DataPrinter<'_>,
    ) -> io::Result<()> {
        let facts = self.facts;
        if let Some(View { base, .. }) = facts.order.views[index] {
            if facts.declares_view(index) {
                self.elements(index, tensor, fields);
                fields.text("view_of", facts.names[base].as_deref());
                extra_info(tensor, name, fields);
            }
            return Ok(());
        }
        self.elements(index, tensor, fields);
        self.location(index, tensor, fields);
        extra_info(tensor, name, fields);
        match tensor.data {
            TensorData::Elsewhere(Some(number)) if facts.hints.external || facts.hints.everything => {
                yaml::number(number, fields.key("data_buffer_idx"));
            }
            TensorData::Blob(id) => {
                let blob = self.program.blob(id);
                let base = facts.order.bases.get(&id).filter(|_| tensor.nbytes() != Some(blob.len));
                match base.and_then(|base| facts.names[*base].as_deref()) {
                    Some(base) => fields.text("view_of", Some(base)),
                    None => fields.key("data").push_str(&data.tensor(blob, tensor, name)?),
                }
            }
            TensorData::Elsewhere(_) | TensorData::None => {}
        }
        Ok(())
    }

    /// Appends the element type, sizes, order of dimensions and attributes that are not inferred.
    fn elements(&self, index: usize, tensor: &Tensor, fields: &mut FlowMap<'_>) {
        let sizes = tensor.sizes.as_deref().unwrap_or_default();
        let order = tensor.dim_order.as_deref().unwrap_or_default();
        let inferred = self.facts.inferred[index].as_ref().filter(|_| self.facts.uses.produced[index]);
        if inferred.is_none_or(|meta| meta.scalar_type != tensor.scalar_type) {
            yaml::number(tensor.scalar_type, fields.key("tensor"));
        }
        let has_sizes = |meta: &&TensorMeta| {
            let dims = meta.sizes.iter().map(|dim| dim.size);
            tensor.sizes.is_some() && dims.eq(sizes.iter().map(|size| i64::from(*size)))
        };
        let meta = inferred.filter(has_sizes);
        if meta.is_none() {
            yaml::list(fields.key("sizes"), sizes, yaml::number);
        }
        let computed_order = meta.map_or_else(|| DimOrder::contiguous(sizes.len()), |meta| meta.dim_order.clone());
        if *order != *computed_order {
            yaml::list(fields.key("dim_order"), order, yaml::number);
        }
        let is_dynamic = meta.is_some_and(TensorMeta::is_dynamic);
        for attribute in TENSOR_ATTRIBUTES {
            let value = (attribute.get)(tensor);
            let default = match attribute.key {
                "dynamism" => i32::from(is_dynamic),
                "requires_grad" => i32::from(self.facts.gradients.computed[index]),
                _ => 0,
            };
            if value == default {
                continue;
            }
            let out = fields.key(attribute.key);
            match attribute.kind {
                AttributeKind::Bool => yaml::number(value != 0, out),
                AttributeKind::Int => yaml::number(value, out),
                AttributeKind::Byte(words) => match usize::try_from(value).ok().and_then(|number| words.get(number)) {
                    Some(word) => out.push_str(word),
                    None => yaml::number(value, out),
                },
            }
        }
    }

    /// Appends `mutable` and `memory`.
    fn location(&self, index: usize, tensor: &Tensor, fields: &mut FlowMap<'_>) {
        let uses = &self.facts.uses;
        let is_planned = tensor.memory != Memory::None;
        let has_data = matches!(tensor.data, TensorData::Blob(_));
        let is_scratch = self.facts.hints.memory.scratch && uses.overwritten[index];
        let is_own = !uses.is_input[index] && !uses.produced[index] && !self.facts.is_alias[index];
        let is_state = is_own && !is_scratch;
        // State that the caller places is neither planned nor written before it is read.
        let is_unplanned_state = tensor.data == TensorData::None && uses.first[index].is_some() && !is_planned;
        if is_state && is_unplanned_state || is_planned && (has_data || is_state) {
            fields.key("mutable").push_str("true");
        }
        match tensor.memory {
            Memory::At { pool, offset } if self.facts.states_offset(tensor) => {
                let _ = write!(fields.key("memory"), "{{pool: {pool}, offset: {offset}}}");
            }
            // Pools of other devices follow those of the CPU, and are computed.
            Memory::At { pool, .. } if pool != 1 && tensor.device() == Device::CPU => {
                _ = write!(fields.key("memory"), "{{pool: {pool}}}")
            }
            Memory::None
                if tensor.data == TensorData::None && tensor.shape_dynamism != TensorShapeDynamism::DYNAMIC_UNBOUND =>
            {
                fields.key("memory").push_str("none");
            }
            Memory::None | Memory::Auto { .. } | Memory::At { .. } | Memory::View { .. } => {}
        }
    }
}

/// Appends the optional properties of a tensor.
fn extra_info(tensor: &Tensor, name: &str, fields: &mut FlowMap<'_>) {
    let Some(extra) = &tensor.extra_tensor_info else { return };
    if extra.location == TensorDataLocation::EXTERNAL {
        fields.key("external").push_str("true");
    }
    let stated = extra.fully_qualified_name.as_deref();
    fields.text("name", stated.filter(|stated| extra.location != TensorDataLocation::EXTERNAL || *stated != name));
    if **extra == ExtraTensorInfo::default() {
        fields.key("extra_tensor_info").push_str("true");
    }
    if extra.device() != Device::CPU {
        fields.key("device").push_str(&device(extra.device()));
    }
}
