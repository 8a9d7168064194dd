//! Checks a tensor: shape, planned memory, and location of its data (`T-`; docs/format.md, "Location of tensor data").

use super::super::finding::shown;
use super::super::path::{Node, Reporter, add, slot};
use super::flat_tensor::ExternalKeys;
use super::listed;
use super::segments::{ConstantStorage, ProgramData};
use crate::RuleId::*;
use pte_model::diagnostics::Counted;
use pte_model::format::ScalarType;
use pte_model::format::dim_order::is_permutation;
use pte_model::format::flatbuffer::view::{Table, Vector};
use pte_model::format::program::{
    DeviceType, allocation_details, buffer, data_segment, extra_tensor_info, subsegment_offsets, tensor,
};
use pte_model::program::{MAX_DIMENSIONS, TensorDataLocation, TensorShapeDynamism};

/// Maximum stride of the runtime, whose strides have 31 bits.
const MAX_STRIDE: u64 = 0x7fff_ffff;

/// The lists that the tensors of a method refer to.
pub struct TensorContext<'a, 'e> {
    /// Segments and constants of the program.
    pub data: ProgramData<'a>,
    /// Keys of the given `.ptd` files.
    pub external: &'e ExternalKeys,
    /// Sizes of the planned buffers in bytes.
    pub pools: Option<Vector<'a, 8>>,
}

/// Size of a tensor with a valid shape, in bytes.
struct TensorSize {
    element: u64,
    bytes: u64,
}

impl TensorContext<'_, '_> {
    /// Checks a tensor.
    pub fn check(&self, t: Node<'_, '_>, report: &mut Reporter<'_, '_>) {
        report.equals(T_1, t, slot!(tensor::storage_offset), Table::i32, 0);
        let dynamism = TensorShapeDynamism(t.i8(tensor::shape_dynamism));
        if ![TensorShapeDynamism::STATIC, TensorShapeDynamism::DYNAMIC_BOUND].contains(&dynamism) {
            let rule = if dynamism == TensorShapeDynamism::DYNAMIC_UNBOUND { T_3 } else { T_4 };
            let expected = "0 (static) or 1 (dynamic with a bound)";
            report.field(rule, t, slot!(tensor::shape_dynamism), dynamism.0, expected);
        }
        let extra = t.child(tensor::extra_tensor_info);
        let path = t.path.field("extra_tensor_info");
        let extra = extra.map(|extra| Node::new(extra, &path));
        if let Some(extra) = extra {
            check_extra(extra, report);
        }
        let Some(size) = tensor_size(t, report) else { return };
        let allocation = t.child(tensor::allocation_info);
        if let Some(allocation) = allocation {
            self.allocation(Node::new(allocation, &t.path.field("allocation_info")), &size, report);
        }
        let index = t.u32(tensor::data_buffer_idx);
        match extra.filter(|extra| is_external(extra)) {
            Some(extra) => self.external(t, extra, &size, report),
            None if index == 0 => {}
            None if allocation.is_some() => self.initial_state(t, index, size.bytes, report),
            None => self.constant(t, index, &size, report),
        }
    }

    /// Checks the location in planned memory.
    fn allocation(&self, a: Node<'_, '_>, size: &TensorSize, report: &mut Reporter<'_, '_>) {
        let Some(pools) = self.pools else { return };
        let id = a.u32(allocation_details::memory_id);
        let low = u64::from(a.u32(allocation_details::memory_offset_low));
        let high = u64::from(a.u32(allocation_details::memory_offset_high));
        let offset = high << 32 | low;
        let (path, at) = (a.path, a.near(allocation_details::memory_offset_low));
        if high != 0 {
            add!(report, T_24, &path.field("memory_offset_high"), at, "offset {offset}", "less than 2^32");
        }
        let pool_size = if id == 0 { None } else { pools.get(id as usize) };
        let Some(pool_size) = pool_size else {
            let expected = format_args!("1 to {}", pools.len().saturating_sub(1));
            return report.field(T_21, a, slot!(allocation_details::memory_id), format_args!("buffer {id}"), expected);
        };
        let found = format_args!("{} at offset {offset}", Counted(size.bytes, "byte"));
        match offset.checked_add(size.bytes) {
            None => report.add(T_22, path, at, found, "an end below 2^64"),
            // A negative size was reported by G-23.
            Some(end) if pool_size <= i64::MAX as u64 && end > pool_size => {
                add!(report, T_23, path, at, "{found}", "an end of at most {pool_size}, the size of buffer {id}");
            }
            Some(_) if offset % size.element != 0 => {
                let expected = format_args!("a multiple of {}", size.element);
                report.add(T_25, path, at, format_args!("offset {offset}"), expected);
            }
            Some(_) => {}
        }
    }

    /// Checks the data of a constant.
    fn constant(&self, t: Node<'_, '_>, index: u32, size: &TensorSize, report: &mut Reporter<'_, '_>) {
        let slot = slot!(tensor::data_buffer_idx);
        let outside = |report: &mut Reporter<'_, '_>, rule, count: usize| {
            let expected = format_args!("less than {count}, the number of constants including the reserved one");
            report.field(rule, t, slot, format_args!("constant {index}"), expected);
        };
        match self.data.constants {
            ConstantStorage::Unknown => {}
            ConstantStorage::None => outside(report, P_K1, 1),
            ConstantStorage::Buffers(buffers) => {
                let Some(entry) = buffers.get(index as usize) else {
                    return outside(report, P_K3, buffers.len());
                };
                let found = entry.u8s(buffer::storage).map_or(0, |storage| storage.len() as u64);
                if !entry.has(buffer::storage) || found < size.bytes {
                    let found = format_args!("constant {index} of {}", Counted(found, "byte"));
                    report.field(P_K3, t, slot, found, format_args!("at least {}", Counted(size.bytes, "byte")));
                }
            }
            ConstantStorage::Segment { offsets, segment_size } => {
                let Some(offset) = offsets.get(index as usize) else {
                    return outside(report, P_K1, offsets.len());
                };
                if segment_size == 0 {
                    report.field(P_C7, t, slot, "a constant in a segment of 0 bytes", "a segment that contains it");
                }
                if segment_size.checked_sub(offset).is_none_or(|rest| rest < size.bytes) {
                    let found = format_args!("{} at offset {offset}", Counted(size.bytes, "byte"));
                    let expected = format_args!("an end of at most {segment_size}, the size of the segment");
                    return report.field(P_K2, t, slot, found, expected);
                }
                if offset % size.element != 0 {
                    let expected = format_args!("a multiple of {}", size.element);
                    report.field(P_K6, t, slot, format_args!("a constant at offset {offset}"), expected);
                }
                // An empty constant has the same offset as the next one. The bound limits the work for many of them.
                let next = offsets.iter().skip(index as usize + 1).take(64).find(|next| *next > offset);
                if let Some(next) = next.filter(|next| next - offset < size.bytes) {
                    let found = format_args!("{} at offset {offset}", Counted(size.bytes, "byte"));
                    report.field(
                        G_20,
                        t,
                        slot,
                        found,
                        format_args!("an end of at most {next}, the offset of the next constant"),
                    );
                }
            }
        }
    }

    /// Checks the initial data of a tensor in planned memory.
    fn initial_state(&self, t: Node<'_, '_>, index: u32, bytes: u64, report: &mut Reporter<'_, '_>) {
        let slot = slot!(tensor::data_buffer_idx);
        if self.data.segment_base == 0 {
            let expected = "a header with a segment base offset";
            return report.field(S_10, t, slot, format_args!("initial data {index} without segments"), expected);
        }
        let Some(entry) = self.data.mutable else {
            return report.field(
                S_11,
                t,
                slot,
                format_args!("initial data {index}"),
                "an entry of mutable_data_segments",
            );
        };
        let offsets = entry.u64s(subsegment_offsets::offsets);
        let count = offsets.map_or(0, |offsets| offsets.len());
        let Some(offset) = offsets.and_then(|offsets| offsets.get(index as usize)) else {
            let expected = format_args!("less than {count}, the number of offsets including the reserved one");
            return report.field(S_12, t, slot, format_args!("initial data {index}"), expected);
        };
        let index = entry.u32(subsegment_offsets::segment_index);
        let Some(segment) = self.data.segments.and_then(|segments| segments.get(index as usize)) else {
            let count = self.data.segments.map_or(0, |segments| segments.len());
            return report.out_of_range(S_13, &t.path.field(slot.1), t.near(slot.0), "segment", index, count);
        };
        let size = segment.u64(data_segment::size);
        let found = format_args!("{} at offset {offset}", Counted(bytes, "byte"));
        match offset.checked_add(bytes) {
            None => report.field(S_14, t, slot, found, "an end below 2^64"),
            Some(end) if end > size => {
                report.field(S_15, t, slot, found, format_args!("an end of at most {size}, the size of the segment"));
            }
            Some(_) => {}
        }
    }

    /// Checks data in a `.ptd`.
    fn external(&self, t: Node<'_, '_>, extra: Node<'_, '_>, size: &TensorSize, report: &mut Reporter<'_, '_>) {
        let slot = slot!(extra_tensor_info::fully_qualified_name);
        let Some(key) = extra.text(slot.0) else {
            return report.field(T_31, extra, slot, "external data without a key", "a key");
        };
        let shown = shown(&extra, slot.0);
        if self.external.files.is_empty() {
            let found = format_args!("external data {shown:?} without a .ptd");
            return report.field(T_30, extra, slot, found, "a .ptd with this key");
        }
        let Some(entry) = self.external.entries.get(key) else {
            let expected = format_args!("a key in {}", self.external.files.join(", "));
            return report.field(T_32, extra, slot, format_args!("unknown key {shown:?}"), expected);
        };
        let file = &self.external.files[entry.file];
        let Some((scalar_type, sizes, order)) = &entry.layout else {
            return report.field(
                N_15,
                extra,
                slot,
                format_args!("key {shown:?} of a blob in {file}"),
                "a key with a tensor_layout",
            );
        };
        let own_type = ScalarType(t.i8(tensor::scalar_type));
        let (own_sizes, own_order) = (t.i32s(tensor::sizes), t.u8s(tensor::dim_order));
        let same = own_type == *scalar_type
            && own_sizes.is_some_and(|own| own.iter().eq(sizes.iter().copied()))
            && own_order.is_some_and(|own| own.iter().eq(order.iter().copied()));
        if !same {
            let own_sizes = listed(own_sizes.iter().flat_map(|own| own.iter()));
            let own_order = listed(own_order.iter().flat_map(|own| own.iter()));
            let found = format_args!("{own_type} {own_sizes} with dim_order {own_order}");
            let (sizes, order) = (listed(sizes.iter()), listed(order.iter()));
            let expected =
                format_args!("{scalar_type} {sizes} with dim_order {order}, the layout of {shown:?} in {file}");
            report.field(T_33, extra, slot, found, expected);
        } else if entry.size < size.bytes {
            let found = format_args!("{} of {shown:?} in {file}", Counted(entry.size, "byte"));
            report.field(T_34, extra, slot, found, format_args!("at least {}", Counted(size.bytes, "byte")));
        }
    }
}

/// Returns `true` if the data of a tensor are in a `.ptd`.
pub fn is_external(extra: &Table<'_>) -> bool {
    TensorDataLocation(extra.i8(extra_tensor_info::location)) == TensorDataLocation::EXTERNAL
}

fn check_extra(extra: Node<'_, '_>, report: &mut Reporter<'_, '_>) {
    let location = TensorDataLocation(extra.i8(extra_tensor_info::location));
    if ![TensorDataLocation::SEGMENT, TensorDataLocation::EXTERNAL].contains(&location) {
        report.field(G_25, extra, slot!(extra_tensor_info::location), location.0, "0 (segment) or 1 (external)");
    }
    report.equals(G_26, extra, slot!(extra_tensor_info::mutable_data_segments_idx), Table::u64, 0);
    let device = (extra.i8(extra_tensor_info::device_type), extra.i8(extra_tensor_info::device_index));
    if DeviceType::SCHEMA.name_of(device.0).is_none() || device.1 < 0 {
        let found = format_args!("type {}, index {}", device.0, device.1);
        report.field(T_13, extra, slot!(extra_tensor_info::device_type), found, "type 0 or 1, index at least 0");
    } else if device.0 != DeviceType::CPU.0 {
        let name = DeviceType::SCHEMA.name_of(device.0).unwrap_or_default();
        report.field(T_14, extra, slot!(extra_tensor_info::device_type), name, "CPU, or a runtime with this device");
    }
}

/// Checks the shape of a tensor. Returns its size; `None` if the shape is invalid.
fn tensor_size(t: Node<'_, '_>, report: &mut Reporter<'_, '_>) -> Option<TensorSize> {
    let scalar_type = ScalarType(t.i8(tensor::scalar_type));
    let info = scalar_type.info();
    if info.is_none() {
        let expected = format_args!("0 to {}", ScalarType::COUNT - 1);
        report.field(T_2, t, slot!(tensor::scalar_type), scalar_type.0, expected);
    }
    let (sizes, order) = shape(t, report)?;
    let path = t.path.field("sizes");
    let element = info?.size;
    let size_of = |dim: u8| sizes.get(usize::from(dim)).unwrap_or(0) as u64;
    let inner = order.iter().skip(1).map(|dim| size_of(dim).max(1));
    let stride = inner.fold(1u64, |product, size| product.saturating_mul(size));
    if stride > MAX_STRIDE {
        let found = format_args!("stride {stride} of sizes {}", listed(sizes.iter()));
        report.add(T_11, &path, sizes.at, found, format_args!("at most {MAX_STRIDE}"));
    }
    let overflow = |rule, report: &mut Reporter<'_, '_>| {
        let found = format_args!("sizes {} of type {scalar_type}", listed(sizes.iter()));
        report.add(rule, &path, sizes.at, found, "less than 2^63 bytes");
    };
    // The verifier multiplies from left to right, and rejects an overflow even if a 0 follows.
    let product = sizes.iter().try_fold(1i64, |product, size| product.checked_mul(i64::from(size)));
    let bytes = product.and_then(|product| product.checked_mul(element as i64));
    let Some(bytes) = bytes else {
        overflow(if sizes.iter().any(|size| size == 0) { P_V4 } else { T_12 }, report);
        return None;
    };
    if bytes as u64 > u64::from(u32::MAX) {
        report.add(G_5, &path, sizes.at, Counted(bytes, "byte"), "less than 2^32");
    }
    Some(TensorSize { element, bytes: bytes as u64 })
}

/// Checks sizes and dim_order of a tensor. Returns them; `None` if they are invalid.
fn shape<'a>(t: Node<'a, '_>, report: &mut Reporter<'_, '_>) -> Option<(Vector<'a, 4>, Vector<'a, 1>)> {
    let (slot, order_slot) = (slot!(tensor::sizes), slot!(tensor::dim_order));
    let sizes = report.required(T_5, t, slot, Table::i32s, "a list (empty for rank 0)")?;
    let (rank, path) = (sizes.len(), t.path.field(slot.1));
    if rank > MAX_DIMENSIONS {
        let expected = format_args!("at most {MAX_DIMENSIONS}");
        report.add(T_6, &path, sizes.at, Counted(rank, "dimension"), expected);
        return None;
    }
    if let Some((index, size)) = sizes.iter().enumerate().find(|(_, size)| *size < 0) {
        report.add(T_8, &path.item(index), sizes.offset(index), size, "at least 0");
        return None;
    }
    let order = t.u8s(order_slot.0);
    let Some(order) = order.filter(|order| order.len() == rank) else {
        let found = order.map(|order| format!("dim_order of length {}", order.len()));
        let expected = format_args!("length {rank}, the number of sizes");
        report.field(T_7, t, order_slot, found.unwrap_or("no dim_order".to_owned()), expected);
        return None;
    };
    if !is_permutation(order.iter(), rank) {
        let expected = format_args!("each of 0 to {} once", rank - 1);
        report.add(T_9, &t.path.field(order_slot.1), order.at, listed(order.iter()), expected);
        return None;
    }
    Some((sizes, order))
}
