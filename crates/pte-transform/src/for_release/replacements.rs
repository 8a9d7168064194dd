//! Calls of newer operators as calls of older ones that compute the same.
//!
//! A replacement looks at one call and changes nothing. It returns `None` where the results could differ: another order
//! of memory, an element type that one of the kernels rounds differently, sizes that are only known at run time.

use super::call::{CallContext, NewArg, NewCall, Rewritten};
use pte_model::format::{DimOrder, ScalarType};
use pte_model::program::{EValue, Tensor, TensorData, TensorShapeDynamism, ValueId};

/// A way to express the calls of an operator.
pub struct Replacement {
    /// The newer operator.
    pub operator: &'static str,
    /// Returns the calls in place of one with these arguments.
    pub rewrite: fn(&CallContext<'_>, &[ValueId]) -> Option<Rewritten>,
    /// The exporter of a release without dim order operators writes it, although its runtime has the newer operator.
    pub is_former_form: bool,
}

/// Shortens a row.
const fn row(operator: &'static str, rewrite: fn(&CallContext<'_>, &[ValueId]) -> Option<Rewritten>) -> Replacement {
    Replacement { operator, rewrite, is_former_form: false }
}

/// All replacements. Of several for an operator, the first one that applies is used.
pub const REPLACEMENTS: &[Replacement] = &[
    row("aten::_adaptive_avg_pool2d.out", adaptive_avg_pool2d),
    row("aten::index_put_", index_put),
    row("aten::max.unary_out", |context, args| extremum(context, args, "aten::amax.out")),
    row("aten::mean.dtype_out", mean),
    row("aten::min.unary_out", |context, args| extremum(context, args, "aten::amin.out")),
    row("aten::unfold_copy.out", unfold_copy),
    row("aten::var_mean.correction_out", var_mean),
    row("dim_order_ops::_clone_dim_order.out", clone),
    row("dim_order_ops::_clone_dim_order.out", |_, args| {
        Some(Rewritten::renamed("dim_order_ops::_to_dim_order_copy.out", args))
    }),
    row("dim_order_ops::_empty_dim_order.out", empty),
    Replacement { is_former_form: true, ..row("dim_order_ops::_to_dim_order_copy.out", to_copy) },
    row("executorch_prim::et_view.default", view_copy),
    row("executorch_prim::sym_int.Scalar", sym_int),
    row("executorch_prim::sym_not.Scalar", sym_not),
];

/// Returns the sizes of a static tensor with elements.
fn static_sizes(tensor: &Tensor) -> Option<&[i32]> {
    let is_static = tensor.shape_dynamism == TensorShapeDynamism::STATIC;
    tensor.sizes.as_deref().filter(|sizes| is_static && sizes.iter().all(|size| *size > 0))
}

/// Returns `true` if the memory of a tensor is in the order of its dimensions.
fn is_contiguous(tensor: &Tensor) -> bool {
    let rank = tensor.sizes.as_ref().map_or(0, |sizes| sizes.len());
    tensor.dim_order.as_ref().is_some_and(|order| *order == DimOrder::contiguous(rank))
}

/// `clone` with the order of its argument copies bytes.
fn clone(context: &CallContext<'_>, args: &[ValueId]) -> Option<Rewritten> {
    let [input, _, _, out, _] = *args else { return None };
    let (from, to) = (context.tensor(input)?, context.tensor(out)?);
    let is_same = from.scalar_type == to.scalar_type && from.dim_order == to.dim_order && from.dim_order.is_some();
    is_same.then(|| Rewritten::of("aten::clone.out", [input.into(), NewArg::Null, out.into(), out.into()]))
}

/// A conversion without another order of memory.
fn to_copy(context: &CallContext<'_>, args: &[ValueId]) -> Option<Rewritten> {
    let [input, non_blocking, _, out, _] = *args else { return None };
    let (from, to) = (context.tensor(input)?, context.tensor(out)?);
    let args = [input.into(), non_blocking.into(), NewArg::Null, out.into(), out.into()];
    (is_contiguous(from) && is_contiguous(to)).then(|| Rewritten::of("aten::_to_copy.out", args))
}

/// The content of the result is undefined; its order is that of its declaration.
fn empty(_: &CallContext<'_>, args: &[ValueId]) -> Option<Rewritten> {
    let [size, _, out, _] = *args else { return None };
    Some(Rewritten::of("aten::empty.out", [size.into(), NewArg::Null, out.into(), out.into()]))
}

/// `max` and `min` of all elements: `amax` and `amin` without dimensions, which do not convert.
fn extremum(context: &CallContext<'_>, args: &[ValueId], operator: &'static str) -> Option<Rewritten> {
    let [input, out, _] = *args else { return None };
    let (from, to) = (context.tensor(input)?, context.tensor(out)?);
    static_sizes(from)?;
    let args = [input.into(), NewArg::Ints(Vec::new()), NewArg::Bool(false), out.into(), out.into()];
    (from.scalar_type == to.scalar_type).then(|| Rewritten::of(operator, args))
}

/// The mean of all elements, which ExecuTorch computes as that without dimensions.
fn mean(_: &CallContext<'_>, args: &[ValueId]) -> Option<Rewritten> {
    let [input, dtype, out, _] = *args else { return None };
    let dims = NewArg::Ints(Vec::new());
    let args = [input.into(), dims, NewArg::Bool(false), dtype.into(), out.into(), out.into()];
    Some(Rewritten::of("aten::mean.out", args))
}

/// Variance and mean, of types that all releases add without rounding.
fn var_mean(context: &CallContext<'_>, args: &[ValueId]) -> Option<Rewritten> {
    let [input, dim, correction, keepdim, variance, mean, _] = *args else { return None };
    let tensors = [input, variance, mean].map(|value| context.tensor(value));
    let scalar_type = tensors[0]?.scalar_type;
    let is_plain = |tensor: &Option<&Tensor>| {
        tensor.is_some_and(|tensor| tensor.scalar_type == scalar_type && is_contiguous(tensor))
    };
    // With as many elements as the correction subtracts, or fewer, the two differ.
    let least = match context.value(correction)? {
        EValue::Null => 1.0,
        EValue::Double(number) => *number,
        _ => context.int(correction)? as f64,
    };
    if reduced_elements(context, tensors[0]?, dim)? as f64 <= least {
        return None;
    }
    if !tensors.iter().all(is_plain) || !matches!(scalar_type, ScalarType::FLOAT | ScalarType::DOUBLE) {
        return None;
    }
    let of_variance = [input, dim, correction, keepdim, variance, variance].map(NewArg::Value);
    let of_mean = [input.into(), dim.into(), keepdim.into(), NewArg::Null, mean.into(), mean.into()];
    Some(Rewritten {
        calls: vec![
            NewCall { operator: "aten::var.correction_out", args: of_variance.to_vec() },
            NewCall { operator: "aten::mean.out", args: of_mean.to_vec() },
        ],
        ..Rewritten::default()
    })
}

/// Returns the number of elements that each element of the result of a reduction comes from.
fn reduced_elements(context: &CallContext<'_>, tensor: &Tensor, dims: ValueId) -> Option<i64> {
    let sizes = static_sizes(tensor)?;
    let rank = sizes.len() as i64;
    let listed = match context.value(dims)? {
        EValue::IntList(Some(items)) => {
            let dim =
                |item: &i64| context.int(ValueId::of_int(*item)).map(|dim| if dim < 0 { dim + rank } else { dim });
            items.iter().map(dim).collect::<Option<Vec<_>>>()?
        }
        EValue::Null => Vec::new(),
        _ => return None,
    };
    let is_reduced = |dim: i64| listed.is_empty() || listed.contains(&dim);
    let reduced = (0..).zip(sizes).filter(|(dim, _)| is_reduced(*dim));
    reduced.map(|(_, size)| i64::from(*size)).try_fold(1i64, i64::checked_mul)
}

/// An update in place: computed elsewhere, then copied.
fn index_put(context: &CallContext<'_>, args: &[ValueId]) -> Option<Rewritten> {
    let [target, indices, values, accumulate, result] = *args else { return None };
    let tensor = context.tensor(target)?;
    if !is_contiguous(tensor) {
        return None;
    }
    let put = [target.into(), indices.into(), values.into(), accumulate.into(), NewArg::Temporary, NewArg::Temporary];
    let copy = [target.into(), NewArg::Temporary, NewArg::Bool(false), result.into()];
    let temporary = Tensor { data: TensorData::None, requires_grad: false, extra_tensor_info: None, ..tensor.clone() };
    Some(Rewritten {
        calls: vec![
            NewCall { operator: "aten::index_put.out", args: put.to_vec() },
            NewCall { operator: "aten::copy_", args: copy.to_vec() },
        ],
        temporary: Some(temporary),
        ..Rewritten::default()
    })
}

/// Pooling to sizes that divide those of the argument: windows of equal sizes side by side. The newer kernel adds in
/// `float32`.
fn adaptive_avg_pool2d(context: &CallContext<'_>, args: &[ValueId]) -> Option<Rewritten> {
    let [input, _, out, _] = *args else { return None };
    let (from, to) = (context.tensor(input)?, context.tensor(out)?);
    let plain = |tensor: &Tensor| tensor.scalar_type == ScalarType::FLOAT && is_contiguous(tensor);
    if !plain(from) || !plain(to) {
        return None;
    }
    let ([.., height, width], [.., rows, columns]) = (static_sizes(from)?, static_sizes(to)?) else { return None };
    if height % rows != 0 || width % columns != 0 {
        return None;
    }
    let window = || NewArg::Ints(vec![(height / rows).into(), (width / columns).into()]);
    let args = [
        input.into(),
        window(),
        window(),
        NewArg::Ints(vec![0, 0]),
        NewArg::Bool(false),
        NewArg::Bool(true),
        NewArg::Null,
        out.into(),
        out.into(),
    ];
    Some(Rewritten::of("aten::avg_pool2d.out", args))
}

/// Overlapping windows of a dimension, as a copy with strides.
fn unfold_copy(context: &CallContext<'_>, args: &[ValueId]) -> Option<Rewritten> {
    let [input, dim, size, step, out, _] = *args else { return None };
    let (from, to) = (context.tensor(input)?, context.tensor(out)?);
    let (sizes, result) = (static_sizes(from)?, static_sizes(to)?);
    let is_plain = from.scalar_type == to.scalar_type && is_contiguous(from) && is_contiguous(to);
    if !is_plain || sizes.is_empty() || result.len() != sizes.len() + 1 {
        return None;
    }
    let dim = context.int(dim)?;
    let dim = usize::try_from(if dim < 0 { dim.checked_add(sizes.len() as i64)? } else { dim }).ok()?;
    let (size, step) = (context.int(size)?, context.int(step)?);
    if *sizes.get(dim)? < i32::try_from(size).ok()? || step <= 0 {
        return None;
    }
    // Strides of the argument, then that of the elements of a window.
    let mut strides = vec![1i64; sizes.len()];
    for axis in (0..sizes.len() - 1).rev() {
        strides[axis] = strides[axis + 1].checked_mul(sizes[axis + 1].into())?;
    }
    strides.push(strides[dim]);
    strides[dim] = strides[dim].checked_mul(step)?;
    let sizes = NewArg::Ints(result.iter().map(|size| i64::from(*size)).collect());
    let args = [input.into(), sizes, NewArg::Ints(strides), NewArg::Null, out.into(), out.into()];
    Some(Rewritten::of("aten::as_strided_copy.out", args))
}

/// A view whose memory nothing writes while it is used: a copy with memory of its own.
fn view_copy(context: &CallContext<'_>, args: &[ValueId]) -> Option<Rewritten> {
    let [input, size, out] = *args else { return None };
    if !context.is_unchanged(input, out) {
        return None;
    }
    let rewritten = Rewritten::of("aten::view_copy.out", [input.into(), size.into(), out.into(), out.into()]);
    Some(Rewritten { own_memory: Some(out), ..rewritten })
}

/// The integer of a number.
fn sym_int(context: &CallContext<'_>, args: &[ValueId]) -> Option<Rewritten> {
    let [number, out] = *args else { return None };
    match context.value(number)? {
        EValue::Double(_) => Some(Rewritten::renamed("executorch_prim::trunc.Scalar", args)),
        EValue::Int(_) if context.is_always_int(number) => {
            Some(Rewritten::of("executorch_prim::add.Scalar", [number.into(), NewArg::Int(0), out.into()]))
        }
        _ => None,
    }
}

/// The opposite of a truth value.
fn sym_not(_: &CallContext<'_>, args: &[ValueId]) -> Option<Rewritten> {
    let [truth, out] = *args else { return None };
    Some(Rewritten::of("executorch_prim::eq.Scalar", [truth.into(), NewArg::Bool(false), out.into()]))
}

#[cfg(test)]
mod tests {
    use super::super::method::{RewrittenMethod, rewrite};
    use super::super::target::Target;
    use pte_model::format::ScalarType;
    use pte_model::program::{
        Args, Chain, EValue, ExecutionPlan, Instruction, Memory, Operator, OperatorId, Tensor, ValueId,
    };
    use pte_releases::Release;

    const AUTO: Memory = Memory::Auto { pool: None, persistent: false, shared: None };
    // Values of the method; value 2 is the item of the sizes.
    const X: i32 = 0;
    const BASE: i32 = 1;
    const SIZE: i32 = 3;
    const VIEW: i32 = 4;
    const Y: i32 = 5;

    fn tensor(sizes: &[i32], memory: Memory) -> EValue {
        EValue::Tensor(Tensor { memory, ..Tensor::new(ScalarType::FLOAT, sizes) })
    }

    fn call(operator: i32, args: &[i32]) -> Instruction {
        let args: Args = args.iter().map(|value| ValueId(*value)).collect();
        Instruction::KernelCall { op_index: OperatorId(operator), args: Some(args) }
    }

    fn relu(from: i32, to: i32) -> Instruction {
        call(0, &[from, to, to])
    }

    /// The relu of an input, a view of it, and the relu of the view, with instructions between these.
    fn plan(between: &[Instruction]) -> ExecutionPlan {
        let view = call(1, &[BASE, SIZE, VIEW]);
        let instructions = [&[relu(X, BASE), view], between, &[relu(VIEW, Y)]].concat();
        ExecutionPlan {
            values: Some(vec![
                tensor(&[2, 3], AUTO),
                tensor(&[2, 3], AUTO),
                EValue::Int(6),
                EValue::IntList(Some(vec![2])),
                tensor(&[6], Memory::View { base: 1 }),
                tensor(&[6], AUTO),
            ]),
            inputs: Some(vec![ValueId(X)]),
            outputs: Some(vec![ValueId(Y)]),
            operators: Some(vec![Operator::new("aten::relu.out"), Operator::new("executorch_prim::et_view.default")]),
            chains: Some(vec![Chain::new(instructions)]),
            ..ExecutionPlan::default()
        }
    }

    /// Rewrites for a build without views; all measured releases have them.
    fn without_views(plan: &mut ExecutionPlan) -> RewrittenMethod {
        let operators = "aten::relu.out 1\naten::view_copy.out 1";
        let build = Release::parse(["version 1.5.1", operators, "", "", "", "", ""]).unwrap();
        rewrite(0, plan, &Target::of(&build))
    }

    fn memory_of_view(plan: &ExecutionPlan) -> &Memory {
        &plan.values()[VIEW as usize].as_tensor().unwrap().memory
    }

    #[test]
    fn a_view_becomes_a_copy_with_memory_of_its_own() {
        let mut plan = plan(&[]);
        let done = without_views(&mut plan);
        assert!(done.problems.is_empty() && done.needs_memory);
        assert_eq!((done.replaced.len(), done.remap.values.former()), (1, &[0, 1, 2, 3, 4, 5][..]));
        assert_eq!(plan.operator(OperatorId(1)), Some(&Operator::new("aten::view_copy.out")));
        assert_eq!(plan.instructions().nth(1), Some(&call(1, &[BASE, SIZE, VIEW, VIEW])));
        assert_eq!((memory_of_view(&plan), plan.operators.as_ref().unwrap().len()), (&AUTO, 2));
    }

    #[test]
    fn the_copy_of_a_planned_view_is_behind_the_others() {
        let mut plan = plan(&[]);
        let values = plan.values.as_mut().unwrap();
        values[BASE as usize] = tensor(&[2, 3], Memory::At { pool: 1, offset: 0 });
        values[VIEW as usize] = tensor(&[6], Memory::At { pool: 1, offset: 0 });
        plan.memory.non_const_buffer_sizes = Some(vec![0, 24]);
        assert!(without_views(&mut plan).problems.is_empty());
        assert_eq!(memory_of_view(&plan), &Memory::At { pool: 1, offset: 32 });
        assert_eq!(plan.memory.non_const_buffer_sizes, Some(vec![0, 56]));
    }

    /// A copy would not have what is written after it was made, nor would the base have what is written to the copy;
    /// with jumps, that is unknown.
    #[test]
    fn a_view_of_memory_that_is_written_is_not_replaced() {
        let jump = Instruction::JumpFalseCall { cond_value_index: ValueId(2), destination_instruction: 3 };
        for between in [relu(X, BASE), relu(X, VIEW), jump] {
            let mut plan = plan(&[between]);
            let before = plan.clone();
            let done = without_views(&mut plan);
            assert!(done.problems[0].what.starts_with("operator `executorch_prim::et_view.default`"), "{done:?}");
            assert_eq!((done.problems.len(), plan), (1, before));
        }
        // Written before the view is made.
        let mut plan = plan(&[]);
        let instructions = plan.chains.as_mut().unwrap()[0].instructions.as_mut().unwrap();
        instructions.insert(1, relu(X, BASE));
        assert!(without_views(&mut plan).problems.is_empty());
    }
}
