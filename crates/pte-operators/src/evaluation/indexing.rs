//! Elements selected by positions, masks and conditions, and tensors joined.

use pte_model::data::Blob;
use pte_model::format::ScalarType;

use super::call::{Constant, ConstantCall, nbytes};
use super::elements::broadcast;
use super::error::{Result, refuse};
use super::movement::{dim, dims, element, sizes, wrapped};
use super::numbers::{Kind, Number};
use super::strided::Strided;

/// Largest result of tensors joined that is computed; a larger one is read when it is needed, if possible.
const SMALL: u64 = 1 << 20;

/// Returns the only result of a call with contiguous tensors, in memory.
fn contiguous(call: &ConstantCall<'_>) -> Result<Vec<u8>> {
    call.check_contiguous()?;
    Ok(Vec::with_capacity(call.bounded(nbytes(call.out()?))?))
}

/// Returns the positions that a tensor of int32 or int64 has, each from 0 to less than `count`.
fn positions(call: &ConstantCall<'_>, tensor: &Constant<'_>, count: i64) -> Result<Vec<usize>> {
    if !matches!(tensor.meta.scalar_type, ScalarType::INT | ScalarType::LONG) {
        return refuse("positions are neither int32 nor int64");
    }
    let kind = Kind::of(tensor.meta.scalar_type)?;
    let position = |item| match kind.load(item)? {
        Number::Int(int) if (0..count).contains(&int) => Ok(int as usize),
        _ => refuse("a position is out of range"),
    };
    call.read(tensor)?.chunks_exact(kind.size()).map(position).collect()
}

/// Returns the number of elements before and after a dimension.
fn around(sizes: &[i64], dim: usize) -> (usize, usize) {
    let count = |sizes: &[i64]| sizes.iter().product::<i64>() as usize;
    (count(&sizes[..dim]), count(&sizes[dim + 1..]))
}

/// Appends blocks at positions of a dimension.
fn blocks(source: &[u8], block: usize, outer: usize, own: usize, at: &[usize], out: &mut Vec<u8>) {
    for index in 0..outer {
        for position in at {
            let start = (index * own + position) * block;
            out.extend_from_slice(&source[start..start + block]);
        }
    }
}

/// Parts of a dimension at listed positions.
pub(crate) fn index_selected(call: &ConstantCall<'_>) -> Result<Vec<Blob>> {
    let (tensor, index) = (call.tensor(0)?, call.tensor(2)?);
    call.check_type(tensor.meta.scalar_type)?;
    let mut out = contiguous(call)?;
    let own = sizes(tensor.meta);
    let dim = dim(call, 1, own.len())?;
    let at = positions(call, &index, own[dim])?;
    let (outer, inner) = around(&own, dim);
    let block = inner * element(tensor.meta)? as usize;
    blocks(&call.read(&tensor)?, block, outer, own[dim] as usize, &at, &mut out);
    Ok(vec![Blob::bytes(out)])
}

/// Rows of a table.
pub(crate) fn embedded(call: &ConstantCall<'_>) -> Result<Vec<Blob>> {
    let (table, index) = (call.tensor(0)?, call.tensor(1)?);
    call.check_type(table.meta.scalar_type)?;
    let mut out = contiguous(call)?;
    let [rows, columns] = sizes(table.meta)[..] else { return refuse("a table has two dimensions") };
    let row = columns as u64 * element(table.meta)?;
    // Only the rows that are used are read.
    for position in positions(call, &index, rows)? {
        out.extend_from_slice(&table.data.contents(position as u64 * row, call.bounded(Some(row))?)?);
    }
    Ok(vec![Blob::bytes(out)])
}

/// Elements at the positions of a dimension.
pub(crate) fn gathered(call: &ConstantCall<'_>) -> Result<Vec<Blob>> {
    let (tensor, index) = (call.tensor(0)?, call.tensor(2)?);
    call.check_type(tensor.meta.scalar_type)?;
    let mut out = contiguous(call)?;
    let (own, shape) = (dims(tensor.meta)?, sizes(index.meta));
    if own.is_empty() || own.len() != shape.len() {
        return refuse("positions have another number of dimensions than the tensor");
    }
    let dim = dim(call, 1, own.len())?;
    if own.iter().zip(&shape).enumerate().any(|(at, ((own, _), size))| at != dim && own < size) {
        return refuse("a position is out of range");
    }
    let at = positions(call, &index, own[dim].0)?;
    let size = element(tensor.meta)? as usize;
    let source = call.read(&tensor)?;
    let mut coordinates = vec![0i64; shape.len()];
    for position in at {
        let others = coordinates.iter().zip(&own).enumerate();
        let base: i64 = others.map(|(other, (index, (_, stride)))| if other == dim { 0 } else { index * stride }).sum();
        let start = (base + position as i64 * own[dim].1) as usize * size;
        out.extend_from_slice(&source[start..start + size]);
        for (coordinate, size) in coordinates.iter_mut().zip(&shape).rev() {
            *coordinate += 1;
            if *coordinate < *size {
                break;
            }
            *coordinate = 0;
        }
    }
    Ok(vec![Blob::bytes(out)])
}

/// Returns the truth values of a tensor that is broadcast to the out.
fn conditions(call: &ConstantCall<'_>, at: usize) -> Result<Vec<bool>> {
    let (mask, out) = (call.tensor(at)?, call.out()?);
    let bytes = broadcast(call, &mask, out)?;
    let condition = |byte: &u8| match mask.meta.scalar_type {
        ScalarType::BOOL if *byte > 1 => refuse("a bool is neither 0 nor 1"),
        ScalarType::BOOL => Ok(*byte == 1),
        _ => refuse("a condition is not a bool"),
    };
    bytes.iter().map(condition).collect()
}

/// One of two arguments by a condition.
pub(crate) fn chosen(call: &ConstantCall<'_>) -> Result<Vec<Blob>> {
    call.check_elementwise()?;
    let (first, second, out) = (call.tensor(1)?, call.tensor(2)?, call.out()?);
    if first.meta.scalar_type != second.meta.scalar_type {
        return refuse("two arguments have different element types");
    }
    call.check_type(first.meta.scalar_type)?;
    Kind::of(out.scalar_type)?;
    let size = element(out)? as usize;
    let (first, second) = (broadcast(call, &first, out)?, broadcast(call, &second, out)?);
    let pairs = first.chunks_exact(size).zip(second.chunks_exact(size));
    let mut bytes = Vec::with_capacity(first.len());
    for (condition, (first, second)) in conditions(call, 0)?.into_iter().zip(pairs) {
        bytes.extend_from_slice(if condition { first } else { second });
    }
    Ok(vec![Blob::bytes(bytes)])
}

/// The first argument, with a number where a mask is true.
pub(crate) fn masked(call: &ConstantCall<'_>) -> Result<Vec<Blob>> {
    call.check_elementwise()?;
    let (tensor, out) = (call.tensor(0)?, call.out()?);
    call.check_type(tensor.meta.scalar_type)?;
    let number = Kind::of(out.scalar_type)?.filled(call.number(2)?)?;
    let source = broadcast(call, &tensor, out)?;
    let mut bytes = Vec::with_capacity(source.len());
    for (condition, item) in conditions(call, 1)?.into_iter().zip(source.chunks_exact(number.len())) {
        bytes.extend_from_slice(if condition { &number } else { item });
    }
    Ok(vec![Blob::bytes(bytes)])
}

/// Tensors one after another in a dimension. Those without elements are ignored.
pub(crate) fn joined(call: &ConstantCall<'_>) -> Result<Vec<Blob>> {
    let tensors = call.tensors(0)?;
    let rank = call.out()?.rank();
    let dim = wrapped(call.call.exact(1)?, rank)?;
    let mut parts = Vec::with_capacity(tensors.len());
    for tensor in &tensors {
        let sizes = sizes(tensor.meta);
        if sizes.contains(&0) {
            continue;
        }
        if sizes.len() != rank {
            return refuse("tensors that are joined have different numbers of dimensions");
        }
        parts.push((tensor, around(&sizes, dim).0, 1));
    }
    join(call, &parts)
}

/// Tensors one after another in a dimension that is inserted.
pub(crate) fn stacked(call: &ConstantCall<'_>) -> Result<Vec<Blob>> {
    let tensors = call.tensors(0)?;
    let dim = wrapped(call.call.exact(1)?, call.out()?.rank())?;
    let parts: Vec<(&Constant<'_>, usize, usize)> = tensors
        .iter()
        .map(|tensor| (tensor, sizes(tensor.meta)[..dim.min(tensor.meta.rank())].iter().product::<i64>() as usize, 1))
        .collect();
    join(call, &parts)
}

/// Joins tensors, each with its number of blocks before the dimension.
fn join(call: &ConstantCall<'_>, parts: &[(&Constant<'_>, usize, usize)]) -> Result<Vec<Blob>> {
    call.check_contiguous()?;
    let out = call.out()?;
    for tensor in call.tensors(0)? {
        call.check_type(tensor.meta.scalar_type)?;
    }
    let outer = parts.first().map_or(0, |(_, outer, _)| *outer);
    if parts.iter().any(|(_, other, _)| *other != outer) {
        return refuse("tensors that are joined have different sizes");
    }
    if outer == 1 && nbytes(out).is_some_and(|bytes| bytes > SMALL) {
        return match Blob::joined(parts.iter().map(|(tensor, ..)| tensor.data.clone())) {
            Some(joined) => Ok(vec![joined]),
            None => refuse("a result is too large"),
        };
    }
    let mut bytes = contiguous(call)?;
    if outer > 0 {
        let contents = parts.iter().map(|(tensor, ..)| call.read(tensor)).collect::<Result<Vec<_>>>()?;
        for index in 0..outer {
            for content in &contents {
                let block = content.len() / outer;
                bytes.extend_from_slice(&content[index * block..(index + 1) * block]);
            }
        }
    }
    Ok(vec![Blob::bytes(bytes)])
}

/// A tensor with a number around it.
pub(crate) fn padded(call: &ConstantCall<'_>) -> Result<Vec<Blob>> {
    let (tensor, out) = (call.tensor(0)?, call.out()?);
    call.check_type(tensor.meta.scalar_type)?;
    let mut bytes = contiguous(call)?;
    let pad = call.call.exact_ints(1)?;
    let number = Kind::of(out.scalar_type)?.filled(call.number(2)?)?;
    let (own, shape) = (dims(tensor.meta)?, sizes(out));
    if own.is_empty() || pad.iter().any(|pad| *pad < 0) {
        return refuse("a padding is negative, or of no dimension");
    }
    let before: Vec<i64> = (0..own.len()).map(|dim| *pad.get(2 * (own.len() - 1 - dim)).unwrap_or(&0)).collect();
    let source = call.read(&tensor)?;
    let size = number.len();
    bytes.extend(number.iter().cycle().take(call.bounded(nbytes(out))?));
    let Some(places) = super::strided::strides(&shape) else { return refuse("a result is too large") };
    let row = own[own.len() - 1].0 as usize * size;
    if row == 0 {
        return Ok(vec![Blob::bytes(bytes)]);
    }
    let mut coordinates = vec![0i64; own.len() - 1];
    for item in source.chunks_exact(row) {
        let outer = coordinates.iter().enumerate().map(|(dim, index)| (index + before[dim]) * places[dim]);
        let start = (outer.sum::<i64>() + before[own.len() - 1]) as usize * size;
        let Some(target) = bytes.get_mut(start..start + row) else { return refuse("a result is too small") };
        target.copy_from_slice(item);
        for (coordinate, (size, _)) in coordinates.iter_mut().zip(&own).rev() {
            *coordinate += 1;
            if *coordinate < *size {
                break;
            }
            *coordinate = 0;
        }
    }
    Ok(vec![Blob::bytes(bytes)])
}

/// Elements moved in dimensions; those beyond the end are at the beginning.
pub(crate) fn rolled(call: &ConstantCall<'_>) -> Result<Vec<Blob>> {
    let tensor = call.tensor(0)?;
    call.check_type(tensor.meta.scalar_type)?;
    contiguous(call)?;
    let own = sizes(tensor.meta);
    let (shifts, list) = (call.call.exact_ints(1)?, call.call.exact_ints(2)?);
    if shifts.len() != list.len() || list.is_empty() {
        return refuse("the numbers of shifts and dimensions differ");
    }
    let mut bytes = call.read(&tensor)?;
    if bytes.is_empty() {
        return Ok(vec![Blob::bytes(bytes)]);
    }
    for (shift, dim) in shifts.into_iter().zip(list) {
        let dim = wrapped(dim, own.len())?;
        let (outer, inner) = around(&own, dim);
        let block = inner * element(tensor.meta)? as usize;
        let count = own[dim];
        let at: Vec<usize> = (0..count).map(|to| ((to - shift.rem_euclid(count)).rem_euclid(count)) as usize).collect();
        let mut moved = Vec::with_capacity(bytes.len());
        blocks(&bytes, block, outer, count as usize, &at, &mut moved);
        bytes = moved;
    }
    Ok(vec![Blob::bytes(bytes)])
}

/// The elements on and below a diagonal of matrices; the others are 0.
pub(crate) fn lower(call: &ConstantCall<'_>) -> Result<Vec<Blob>> {
    let tensor = call.tensor(0)?;
    call.check_type(tensor.meta.scalar_type)?;
    contiguous(call)?;
    let diagonal = call.call.exact(1)?;
    let [.., rows, columns] = sizes(tensor.meta)[..] else { return refuse("a matrix has two dimensions") };
    let size = element(tensor.meta)? as usize;
    let mut bytes = call.read(&tensor)?;
    if bytes.is_empty() {
        return Ok(vec![Blob::bytes(bytes)]);
    }
    let row_bytes = columns as usize * size;
    for (index, row) in bytes.chunks_exact_mut(row_bytes).enumerate() {
        let row_index = index as i64 % rows;
        let kept = row_index.saturating_add(diagonal).saturating_add(1).clamp(0, columns) as usize;
        row[kept * size..].fill(0);
    }
    Ok(vec![Blob::bytes(bytes)])
}

/// The second argument, broadcast to the sizes of the first, of one element type.
pub(crate) fn replaced(call: &ConstantCall<'_>) -> Result<Vec<Blob>> {
    if call.call.bool(2)? {
        return refuse("a copy does not block");
    }
    call.check_elementwise()?;
    let (source, out) = (call.tensor(1)?, call.out()?);
    call.check_type(call.tensor(0)?.meta.scalar_type)?;
    call.check_type(source.meta.scalar_type)?;
    if source.meta.sizes == out.sizes {
        return Ok(vec![source.data.clone()]);
    }
    Kind::of(out.scalar_type)?;
    Ok(vec![Blob::bytes(broadcast(call, &source, out)?)])
}

/// Windows of a dimension, as the last one.
pub(crate) fn unfolded(call: &ConstantCall<'_>) -> Result<Vec<Blob>> {
    let tensor = call.tensor(0)?;
    call.check_type(tensor.meta.scalar_type)?;
    call.check_contiguous()?;
    let mut view = dims(tensor.meta)?;
    let dim = dim(call, 1, view.len())?;
    let (size, step) = (call.call.exact(2)?, call.call.exact(3)?);
    let Some(count) = call.out()?.sizes.get(dim) else { return refuse("a result has too few dimensions") };
    let stride = view[dim].1;
    view[dim] = (count.size, stride.saturating_mul(step));
    view.push((size.max(0), stride));
    Ok(vec![Strided { offset: 0, dims: view }.read(call, tensor.data, element(tensor.meta)?)?])
}
