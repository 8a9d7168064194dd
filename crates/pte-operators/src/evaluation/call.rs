//! A call on constants: access of evaluations to its arguments and outs, and the checks of all of them.

use pte_model::data::Blob;
use pte_model::format::ScalarType;

use super::error::{Result, refuse};
use super::numbers::Number;
use crate::inference::{Argument, Call, IntMeta, TensorMeta};
use crate::movement::Movement;

/// The function of an operator: the content of each result, with the items of lists one after another.
pub type Evaluation = fn(&ConstantCall<'_>) -> Result<Vec<Blob>>;

/// Content of an argument.
#[derive(Debug, Clone)]
pub enum ArgumentData<'a> {
    /// The argument has no tensors.
    None,
    /// That of a tensor.
    Tensor(&'a Blob),
    /// Those of a list of tensors; `None` for None.
    Tensors(Vec<Option<&'a Blob>>),
}

/// A call whose arguments are known.
#[derive(Debug)]
pub struct ConstantCall<'a> {
    pub(super) call: Call<'a>,
    data: &'a [ArgumentData<'a>],
    outs: &'a [TensorMeta],
    /// The elements that the operator moves, if it does nothing else.
    pub(super) movement: Option<Movement>,
    /// Largest number of bytes of a result that is computed in memory.
    limit: u64,
}

/// A tensor argument with its content.
#[derive(Clone, Copy)]
pub(super) struct Constant<'a> {
    pub meta: &'a TensorMeta,
    pub data: &'a Blob,
}

/// Returns the number of bytes of a tensor; `None` for an unknown element type, and if it exceeds `u64`.
pub fn nbytes(meta: &TensorMeta) -> Option<u64> {
    let element = meta.scalar_type.info()?.size;
    meta.sizes.iter().try_fold(element, |product, dim| product.checked_mul(u64::try_from(dim.size).ok()?))
}

impl<'a> ConstantCall<'a> {
    /// Returns a call of these arguments; `data` has the content of those that are tensors. The outs are those that a
    /// rule of inference accepts.
    pub(crate) fn new(
        call: Call<'a>,
        data: &'a [ArgumentData<'a>],
        outs: &'a [TensorMeta],
        limit: u64,
        movement: Option<Movement>,
    ) -> Result<ConstantCall<'a>> {
        let call = ConstantCall { call, data, outs, limit, movement };
        call.check_tensors()?;
        Ok(call)
    }

    /// Checks that all tensors are static, and that their content has the size of their declaration.
    fn check_tensors(&self) -> Result<()> {
        for at in 0..self.data.len() {
            match (self.call.argument(at), &self.data[at]) {
                (Some(Argument::Tensor(meta)), ArgumentData::Tensor(data)) => check_tensor(meta, data)?,
                (Some(Argument::Tensors(metas)), ArgumentData::Tensors(data)) if metas.len() == data.len() => {
                    for (meta, data) in metas.iter().zip(data) {
                        match (meta, data) {
                            (Some(meta), Some(data)) => check_tensor(meta, data)?,
                            (None, None) => {}
                            _ => return refuse("the content of an argument is not known"),
                        }
                    }
                }
                (Some(Argument::Tensor(_) | Argument::Tensors(_)), _) => {
                    return refuse("the content of an argument is not known");
                }
                (Some(Argument::Unknown), _) => return refuse("an argument is not known"),
                (_, ArgumentData::None) => {}
                _ => return refuse("the content of an argument is not known"),
            }
        }
        Ok(())
    }

    /// Returns the outs.
    pub(super) fn outs(&self) -> &'a [TensorMeta] {
        self.outs
    }

    /// Returns the only out.
    pub(super) fn out(&self) -> Result<&'a TensorMeta> {
        match self.outs {
            [out] => Ok(out),
            _ => refuse("the number of results is not that of the operator"),
        }
    }

    /// Returns a tensor argument.
    pub(super) fn tensor(&self, at: usize) -> Result<Constant<'a>> {
        match self.optional_tensor(at)? {
            Some(tensor) => Ok(tensor),
            None => refuse("a tensor is None"),
        }
    }

    /// Returns a tensor argument, or `None` for None.
    pub(super) fn optional_tensor(&self, at: usize) -> Result<Option<Constant<'a>>> {
        match (self.call.optional_tensor(at)?, self.data.get(at)) {
            (Some(meta), Some(ArgumentData::Tensor(data))) => Ok(Some(Constant { meta, data })),
            (None, _) => Ok(None),
            _ => refuse("the content of an argument is not known"),
        }
    }

    /// Returns the tensors of a list, none of which is None.
    pub(super) fn tensors(&self, at: usize) -> Result<Vec<Constant<'a>>> {
        let Some(ArgumentData::Tensors(data)) = self.data.get(at) else {
            return refuse("the content of an argument is not known");
        };
        let metas = self.call.tensors(at)?;
        let mut tensors = Vec::with_capacity(metas.len());
        for (meta, data) in metas.into_iter().zip(data) {
            match (meta, data) {
                (Some(meta), Some(data)) => tensors.push(Constant { meta, data }),
                _ => return refuse("a tensor of a list is None"),
            }
        }
        Ok(tensors)
    }

    /// Returns a number that is an argument.
    pub(super) fn number(&self, at: usize) -> Result<Number> {
        match self.optional_number(at)? {
            Some(number) => Ok(number),
            None => refuse("a number is None"),
        }
    }

    /// Returns a number that is an argument, or `None` for None.
    pub(super) fn optional_number(&self, at: usize) -> Result<Option<Number>> {
        match self.call.argument(at) {
            Some(Argument::Null) => Ok(None),
            Some(Argument::Int(IntMeta::Exact(int))) => Ok(Some(Number::Int(*int))),
            // A file does not store it, because it equals the default of the field.
            Some(Argument::Double(double)) if *double == 0.0 && double.is_sign_negative() => refuse("a number is -0.0"),
            Some(Argument::Double(double)) => Ok(Some(Number::Double(*double))),
            Some(Argument::Bool(value)) => Ok(Some(Number::Bool(*value))),
            _ => refuse("a number is not known"),
        }
    }

    /// Checks that all tensors are contiguous: kernels that compute positions ignore other orders of memory.
    pub(super) fn check_contiguous(&self) -> Result<()> {
        if self.metas().all(|meta| meta.dim_order.is_contiguous()) { Ok(()) } else { refuse(ORDER) }
    }

    /// Checks that all tensors have the same sizes and order of memory as the out, so that the position of an element
    /// does not matter, or that all are contiguous.
    pub(super) fn check_elementwise(&self) -> Result<()> {
        let out = self.out()?;
        let alike = |meta: &TensorMeta| meta.sizes == out.sizes && meta.dim_order == out.dim_order;
        if self.metas().all(alike) { Ok(()) } else { self.check_contiguous() }
    }

    /// Checks that the element type of the out is that of a tensor.
    pub(super) fn check_type(&self, scalar_type: ScalarType) -> Result<()> {
        if self.outs.iter().all(|out| out.scalar_type == scalar_type) {
            Ok(())
        } else {
            refuse("a result has another element type than its argument")
        }
    }

    fn metas(&self) -> impl Iterator<Item = &TensorMeta> {
        let of_argument = |at| match self.call.argument(at) {
            Some(Argument::Tensor(meta)) => vec![&**meta],
            Some(Argument::Tensors(metas)) => metas.iter().flatten().map(|meta| &**meta).collect(),
            _ => Vec::new(),
        };
        (0..self.data.len()).flat_map(of_argument).chain(self.outs)
    }

    /// Returns a number of bytes that is computed in memory.
    pub(super) fn bounded(&self, bytes: Option<u64>) -> Result<usize> {
        match bytes.filter(|bytes| *bytes <= self.limit).map(usize::try_from) {
            Some(Ok(bytes)) => Ok(bytes),
            _ => refuse("a result is too large to be computed"),
        }
    }

    /// Returns the content of a tensor, in memory.
    pub(super) fn read(&self, tensor: &Constant<'_>) -> Result<Vec<u8>> {
        self.bounded(Some(tensor.data.len()))?;
        Ok(tensor.data.to_vec()?)
    }
}

const ORDER: &str = "a tensor has an order of memory that the kernel does not follow";

fn check_tensor(meta: &TensorMeta, data: &Blob) -> Result<()> {
    if meta.is_dynamic() {
        return refuse("the sizes of an argument are dynamic");
    }
    if !meta.dim_order.is_permutation(meta.rank()) {
        return refuse("an argument has no order of dimensions");
    }
    if nbytes(meta) == Some(data.len()) {
        Ok(())
    } else {
        refuse("the content of an argument is not that of its sizes")
    }
}
