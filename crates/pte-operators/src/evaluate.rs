//! Evaluation of an operator: the checks before and after it that are the same for all operators.

use std::borrow::Cow;

use pte_model::data::Blob;

use super::evaluation::{ArgumentData, ConstantCall, Result, Unevaluated, nbytes, refuse};
use super::inference::{Argument, Call, InferenceError, ResultMeta, TensorMeta, constraints};
use super::release::Operator;

/// Largest number of results of a call.
const MAX_RESULTS: usize = 1 << 12;

impl Operator {
    /// Returns the content of the results of a call: of its outs, with the items of a list one after another, or of the
    /// tensor that it returns.
    ///
    /// `arguments` are the arguments before the outs, `data` has the content of those that are tensors, `outs` are the
    /// declared properties of the results. A result of more than `limit` bytes that is neither a part of an argument,
    /// nor a reordering of one, nor a repeated element, is refused.
    ///
    /// ```
    /// use pte_model::data::Blob;
    /// use pte_model::format::ScalarType;
    /// use pte_operators::evaluation::ArgumentData;
    /// use pte_operators::inference::{Argument, Dim, IntMeta, TensorMeta};
    /// use std::borrow::Cow;
    ///
    /// let meta = |sizes: [i64; 2]| TensorMeta::contiguous(ScalarType::BYTE, sizes.map(Dim::fixed).to_vec());
    /// let weight = Blob::bytes([1, 2, 3, 4, 5, 6]);
    /// let dims = Argument::Ints([1, 0].map(IntMeta::Exact).to_vec());
    /// let arguments = [Argument::Tensor(Cow::Owned(meta([2, 3]))), dims];
    /// let data = [ArgumentData::Tensor(&weight), ArgumentData::None];
    /// let permute = pte_operators::find("aten::permute_copy.out").unwrap();
    /// let results = permute.evaluate(&arguments, &data, &[meta([3, 2])], 1 << 20).unwrap();
    /// assert_eq!(results[0].to_vec().unwrap(), [1, 4, 2, 5, 3, 6]);
    /// ```
    ///
    /// # Errors
    /// The call is not evaluated, for the reason in the error.
    pub fn evaluate(
        &self,
        arguments: &[Argument<'_>],
        data: &[ArgumentData<'_>],
        outs: &[TensorMeta],
        limit: u64,
    ) -> Result<Vec<Blob>> {
        let Some(evaluation) = self.facts.evaluation else { return Err(Unevaluated::Operator) };
        if arguments.len() != self.signature.ins().count() || arguments.len() != data.len() {
            return refuse("the number of arguments is not that of the operator");
        }
        let call = Call::new(&self.signature, arguments);
        self.check_outs(&call, arguments, outs)?;
        let call = ConstantCall::new(call, data, outs, limit, self.facts.movement)?;
        let contents = evaluation(&call)?;
        let is_complete = contents.len() == outs.len()
            && contents.iter().zip(outs).all(|(content, out)| nbytes(out) == Some(content.len()));
        if is_complete { Ok(contents) } else { refuse("a result has another size than its declaration") }
    }

    /// Checks that the kernel accepts the arguments and the outs, and that the outs are those that are inferred.
    fn check_outs(&self, call: &Call<'_>, arguments: &[Argument<'_>], outs: &[TensorMeta]) -> Result<()> {
        let Some(rule) = self.facts.rule else { return Err(Unevaluated::Operator) };
        if outs.len() > MAX_RESULTS {
            return refuse("it has too many results");
        }
        self.check_constraints(arguments, outs)?;
        let results = rule(call)?;
        let inferred = results.iter().flat_map(|result| match result {
            ResultMeta::Tensor(meta) => std::slice::from_ref(meta),
            ResultMeta::Tensors(metas) => metas,
            ResultMeta::Unwritten(_) | ResultMeta::Int(_) | ResultMeta::Scalar => &[],
        });
        let mut inferred = inferred.fuse();
        for out in outs {
            let Some(expected) = inferred.next() else { return refuse("a result is not a tensor") };
            if expected.is_dynamic() || out.is_dynamic() {
                return refuse("the sizes of a result are dynamic");
            }
            if expected.sizes != out.sizes {
                return refuse("a result has other sizes than those that are inferred");
            }
            if !self.facts.conversion.accepts(expected.scalar_type, out.scalar_type) {
                return refuse("a result has another element type than the one that is inferred");
            }
            if !out.dim_order.is_permutation(out.rank()) {
                return refuse("a result has no order of dimensions");
            }
        }
        if inferred.next().is_some() { refuse("a result is missing") } else { Ok(()) }
    }

    /// Checks the constraints of the kernel, also those on outs.
    fn check_constraints(&self, arguments: &[Argument<'_>], outs: &[TensorMeta]) -> Result<()> {
        let mut all = arguments.to_vec();
        if self.signature.outs().next().is_some_and(|out| out.kind.list) {
            all.push(Argument::Tensors(outs.iter().map(|out| Some(Cow::Borrowed(out))).collect()));
        } else {
            all.extend(outs.iter().map(|out| Argument::Tensor(Cow::Borrowed(out))));
        }
        constraints::check(&self.constraints, &Call::new(&self.signature, &all))
            .map_err(|found| Unevaluated::Inference(InferenceError::Unsupported(found)))
    }
}
