//! Checks a tensor: shape, planned memory, and location of its data (`T-`; docs/format.md, "Location of tensor data").

use super::super::finding::shown;
use super::super::path::{Reporter, add};
use super::flat_tensor::ExternalKeys;
use super::listed;
use super::segments::{ConstantStorage, ProgramData};
use crate::RuleId::*;
use pte_model::diagnostics::Counted;
use pte_model::format::ScalarType;
use pte_model::format::dim_order::is_permutation;
use pte_model::format::flatbuffer::view::{Table, Vector};
use pte_model::format::path::Trail;
use pte_model::format::program::{
    DEVICE_TYPE, allocation_details, buffer, extra_tensor_info, subsegment_offsets, tensor,
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
    pub fn check(&self, t: Table<'_>, path: &Trail<'_>, report: &mut Reporter<'_, '_>) {
        let offset = t.i32(tensor::storage_offset);
        report.differs(T_1, path, ("storage_offset", t, tensor::storage_offset, offset), 0);
        let dynamism = TensorShapeDynamism(t.i8(tensor::shape_dynamism));
        if ![TensorShapeDynamism::STATIC, TensorShapeDynamism::DYNAMIC_BOUND].contains(&dynamism) {
            let rule = if dynamism == TensorShapeDynamism::DYNAMIC_UNBOUND { T_3 } else { T_4 };
            let at = t.near(tensor::shape_dynamism);
            report.add(rule, &path.field("shape_dynamism"), at, dynamism.0, "0 (static) or 1 (dynamic with a bound)");
        }
        let extra = t.child(tensor::extra_tensor_info);
        if let Some(extra) = extra {
            check_extra(extra, &path.field("extra_tensor_info"), report);
        }
        let Some(size) = tensor_size(t, path, report) else { return };
        let allocation = t.child(tensor::allocation_info);
        if let Some(allocation) = allocation {
            self.allocation(allocation, &size, &path.field("allocation_info"), report);
        }
        let index = t.u32(tensor::data_buffer_idx);
        match extra.filter(is_external) {
            Some(extra) => self.external(t, extra, &size, path, report),
            None if index == 0 => {}
            None if allocation.is_some() => self.initial_state(t, index, size.bytes, path, report),
            None => self.constant(t, index, &size, path, report),
        }
    }

    /// Checks the location in planned memory.
    fn allocation(&self, a: Table<'_>, size: &TensorSize, path: &Trail<'_>, report: &mut Reporter<'_, '_>) {
        let Some(pools) = self.pools else { return };
        let id = a.u32(allocation_details::memory_id);
        let low = u64::from(a.u32(allocation_details::memory_offset_low));
        let high = u64::from(a.u32(allocation_details::memory_offset_high));
        let offset = high << 32 | low;
        let at = a.near(allocation_details::memory_offset_low);
        if high != 0 {
            add!(report, T_24, &path.field("memory_offset_high"), at, "offset {offset}", "less than 2^32");
        }
        let pool_size = if id == 0 { None } else { pools.get(id as usize) };
        let Some(pool_size) = pool_size else {
            let expected = format_args!("1 to {}", pools.len().saturating_sub(1));
            let at = a.near(allocation_details::memory_id);
            return report.add(T_21, &path.field("memory_id"), at, format_args!("buffer {id}"), expected);
        };
        let found = format_args!("{} at offset {offset}", Counted(size.bytes, "byte"));
        match offset.checked_add(size.bytes) {
            None => report.add(T_22, path, at, found, "an end below 2^64"),
            // A negative size was reported by G-23.
            Some(end) if pool_size <= i64::MAX as u64 && end > pool_size => {
                add!(report, T_23, path, at, "{found}", "an end of at most {pool_size}, the size of buffer {id}");
            }
            Some(_) if offset % size.element != 0 => {
                report.add(
                    T_25,
                    path,
                    at,
                    format_args!("offset {offset}"),
                    format_args!("a multiple of {}", size.element),
                );
            }
            Some(_) => {}
        }
    }

    /// Checks the data of a constant.
    fn constant(&self, t: Table<'_>, index: u32, size: &TensorSize, path: &Trail<'_>, report: &mut Reporter<'_, '_>) {
        let (at, path) = (t.near(tensor::data_buffer_idx), path.field("data_buffer_idx"));
        let outside = |report: &mut Reporter<'_, '_>, rule, count: usize| {
            let expected = format_args!("less than {count}, the number of constants including the reserved one");
            report.add(rule, &path, at, format_args!("constant {index}"), expected);
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
                    report.add(P_K3, &path, at, found, format_args!("at least {}", Counted(size.bytes, "byte")));
                }
            }
            ConstantStorage::Segment { offsets, segment_size } => {
                let Some(offset) = offsets.get(index as usize) else {
                    return outside(report, P_K1, offsets.len());
                };
                if segment_size == 0 {
                    report.add(P_C7, &path, at, "a constant in a segment of 0 bytes", "a segment that contains it");
                }
                if segment_size.checked_sub(offset).is_none_or(|rest| rest < size.bytes) {
                    let found = format_args!("{} at offset {offset}", Counted(size.bytes, "byte"));
                    let expected = format_args!("an end of at most {segment_size}, the size of the segment");
                    return report.add(P_K2, &path, at, found, expected);
                }
                if offset % size.element != 0 {
                    let expected = format_args!("a multiple of {}", size.element);
                    report.add(P_K6, &path, at, format_args!("a constant at offset {offset}"), expected);
                }
                // An empty constant has the same offset as the next one. The bound limits the work for many of them.
                let next = offsets.iter().skip(index as usize + 1).take(64).find(|next| *next > offset);
                if let Some(next) = next.filter(|next| next - offset < size.bytes) {
                    let found = format_args!("{} at offset {offset}", Counted(size.bytes, "byte"));
                    report.add(
                        G_20,
                        &path,
                        at,
                        found,
                        format_args!("an end of at most {next}, the offset of the next constant"),
                    );
                }
            }
        }
    }

    /// Checks the initial data of a tensor in planned memory.
    fn initial_state(&self, t: Table<'_>, index: u32, bytes: u64, path: &Trail<'_>, report: &mut Reporter<'_, '_>) {
        let (at, path) = (t.near(tensor::data_buffer_idx), path.field("data_buffer_idx"));
        if self.data.segment_base == 0 {
            let expected = "a header with a segment base offset";
            return report.add(S_10, &path, at, format_args!("initial data {index} without segments"), expected);
        }
        let Some(entry) = self.data.mutable else {
            return add!(report, S_11, &path, at, "initial data {index}", "an entry of mutable_data_segments");
        };
        let offsets = entry.u64s(subsegment_offsets::offsets);
        let count = offsets.map_or(0, |offsets| offsets.len());
        let Some(offset) = offsets.and_then(|offsets| offsets.get(index as usize)) else {
            let expected = format_args!("less than {count}, the number of offsets including the reserved one");
            return report.add(S_12, &path, at, format_args!("initial data {index}"), expected);
        };
        let segment = entry.u32(subsegment_offsets::segment_index);
        let Some(segments) = self.data.segments.filter(|segments| (segment as usize) < segments.len()) else {
            let count = self.data.segments.map_or(0, |segments| segments.len());
            return report.out_of_range(S_13, &path, at, "segment", segment, count);
        };
        let size = segments.get(segment as usize).map_or(0, |s| s.u64(pte_model::format::program::data_segment::size));
        let found = format_args!("{} at offset {offset}", Counted(bytes, "byte"));
        match offset.checked_add(bytes) {
            None => report.add(S_14, &path, at, found, "an end below 2^64"),
            Some(end) if end > size => {
                report.add(S_15, &path, at, found, format_args!("an end of at most {size}, the size of the segment"));
            }
            Some(_) => {}
        }
    }

    /// Checks data in a `.ptd`.
    fn external(
        &self,
        t: Table<'_>,
        extra: Table<'_>,
        size: &TensorSize,
        path: &Trail<'_>,
        report: &mut Reporter<'_, '_>,
    ) {
        let info = path.field("extra_tensor_info");
        let (at, path) = (extra.near(extra_tensor_info::fully_qualified_name), info.field("fully_qualified_name"));
        let Some(key) = extra.text(extra_tensor_info::fully_qualified_name) else {
            return report.add(T_31, &path, at, "external data without a key", "a key");
        };
        let shown = shown(&extra, extra_tensor_info::fully_qualified_name);
        if self.external.files.is_empty() {
            return add!(report, T_30, &path, at, "external data {shown:?} without a .ptd", "a .ptd with this key");
        }
        let Some(entry) = self.external.entries.get(key) else {
            let expected = format_args!("a key in {}", self.external.files.join(", "));
            return report.add(T_32, &path, at, format_args!("unknown key {shown:?}"), expected);
        };
        let file = &self.external.files[entry.file];
        let Some((scalar_type, sizes, order)) = &entry.layout else {
            return add!(report, N_15, &path, at, "key {shown:?} of a blob in {file}", "a key with a tensor_layout");
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
            report.add(T_33, &path, at, found, expected);
        } else if entry.size < size.bytes {
            let found = format_args!("{} of {shown:?} in {file}", Counted(entry.size, "byte"));
            report.add(T_34, &path, at, found, format_args!("at least {}", Counted(size.bytes, "byte")));
        }
    }
}

/// Returns `true` if the data of a tensor are in a `.ptd`.
pub fn is_external(extra: &Table<'_>) -> bool {
    TensorDataLocation(extra.i8(extra_tensor_info::location)) == TensorDataLocation::EXTERNAL
}

fn check_extra(extra: Table<'_>, path: &Trail<'_>, report: &mut Reporter<'_, '_>) {
    let location = TensorDataLocation(extra.i8(extra_tensor_info::location));
    if ![TensorDataLocation::SEGMENT, TensorDataLocation::EXTERNAL].contains(&location) {
        let at = extra.near(extra_tensor_info::location);
        report.add(G_25, &path.field("location"), at, location.0, "0 (segment) or 1 (external)");
    }
    let slot = extra_tensor_info::mutable_data_segments_idx;
    report.differs(G_26, path, ("mutable_data_segments_idx", extra, slot, extra.u64(slot)), 0);
    let device = (extra.i8(extra_tensor_info::device_type), extra.i8(extra_tensor_info::device_index));
    if DEVICE_TYPE.name_of(device.0).is_none() || device.1 < 0 {
        let at = extra.near(extra_tensor_info::device_type);
        let found = format_args!("type {}, index {}", device.0, device.1);
        report.add(T_13, &path.field("device_type"), at, found, "type 0 or 1, index at least 0");
    }
}

/// Checks the shape of a tensor. Returns its size; `None` if the shape is invalid.
fn tensor_size(t: Table<'_>, path: &Trail<'_>, report: &mut Reporter<'_, '_>) -> Option<TensorSize> {
    let scalar_type = ScalarType(t.i8(tensor::scalar_type));
    let info = scalar_type.info();
    if info.is_none() {
        let at = t.near(tensor::scalar_type);
        report.add(T_2, &path.field("scalar_type"), at, scalar_type.0, format_args!("0 to {}", ScalarType::COUNT - 1));
    }
    let (sizes, order) = shape(t, path, report)?;
    let element = info?.size;
    let size_of = |dim: u8| sizes.get(usize::from(dim)).unwrap_or(0) as u64;
    let inner = order.iter().skip(1).map(|dim| size_of(dim).max(1));
    let stride = inner.fold(1u64, |product, size| product.saturating_mul(size));
    if stride > MAX_STRIDE {
        let found = format_args!("stride {stride} of sizes {}", listed(sizes.iter()));
        report.add(T_11, &path.field("sizes"), sizes.at, found, format_args!("at most {MAX_STRIDE}"));
    }
    let overflow = |rule, report: &mut Reporter<'_, '_>| {
        let found = format_args!("sizes {} of type {scalar_type}", listed(sizes.iter()));
        report.add(rule, &path.field("sizes"), sizes.at, found, "less than 2^63 bytes");
    };
    // The verifier multiplies from left to right, and rejects an overflow even if a 0 follows.
    let product = sizes.iter().try_fold(1i64, |product, size| product.checked_mul(i64::from(size)));
    let bytes = product.and_then(|product| product.checked_mul(element as i64));
    let Some(bytes) = bytes else {
        overflow(if sizes.iter().any(|size| size == 0) { P_V4 } else { T_12 }, report);
        return None;
    };
    if bytes as u64 > u64::from(u32::MAX) {
        report.add(G_5, &path.field("sizes"), sizes.at, Counted(bytes, "byte"), "less than 2^32");
    }
    Some(TensorSize { element, bytes: bytes as u64 })
}

/// Checks sizes and dim_order of a tensor. Returns them; `None` if they are invalid.
fn shape<'a>(t: Table<'a>, path: &Trail<'_>, report: &mut Reporter<'_, '_>) -> Option<(Vector<'a, 4>, Vector<'a, 1>)> {
    let Some(sizes) = t.i32s(tensor::sizes) else {
        report.missing(T_5, path, "sizes", t.at, "a list (empty for rank 0)");
        return None;
    };
    let rank = sizes.len();
    if rank > MAX_DIMENSIONS {
        let expected = format_args!("at most {MAX_DIMENSIONS}");
        report.add(T_6, &path.field("sizes"), sizes.at, Counted(rank, "dimension"), expected);
        return None;
    }
    if let Some(wrong) = sizes.iter().position(|size| size < 0) {
        let found = format_args!("{}", sizes.get(wrong).unwrap_or(0));
        report.add(T_8, &path.field("sizes").item(wrong), sizes.offset(wrong), found, "at least 0");
        return None;
    }
    let order = t.u8s(tensor::dim_order).filter(|order| order.len() == rank);
    let Some(order) = order else {
        let found = t.u8s(tensor::dim_order).map(|order| format!("dim_order of length {}", order.len()));
        let found = found.unwrap_or("no dim_order".to_owned());
        report.add(
            T_7,
            &path.field("dim_order"),
            t.near(tensor::dim_order),
            found,
            format_args!("length {rank}, the number of sizes"),
        );
        return None;
    };
    if !is_permutation(order.iter(), rank) {
        let expected = format_args!("each of 0 to {} once", rank - 1);
        report.add(T_9, &path.field("dim_order"), order.at, listed(order.iter()), expected);
        return None;
    }
    Some((sizes, order))
}
