//! Evaluations of single calls: contents, what is refused, results that are not in memory, and hostile sizes. The real
//! runtime judges random calls (`lab/tests/runtime/evaluation.rs` of the repository).

use std::borrow::Cow;
use std::path::Path;
use std::sync::Arc;

use pte_model::data::{Blob, BlobSource};
use pte_model::format::{DimOrder, ScalarType};

use super::{ArgumentData, Unevaluated};
use crate::inference::{Argument, Dim, IntMeta, TensorMeta};

fn meta(scalar_type: ScalarType, sizes: &[i64]) -> TensorMeta {
    TensorMeta::contiguous(scalar_type, sizes.iter().copied().map(Dim::fixed).collect())
}

fn ints(items: &[i64]) -> Argument<'static> {
    Argument::Ints(items.iter().copied().map(IntMeta::Exact).collect())
}

fn int(int: i64) -> Argument<'static> {
    Argument::Int(IntMeta::Exact(int))
}

/// Evaluates a call of a tensor and other arguments.
fn evaluated(
    name: &str,
    (own, blob): (&TensorMeta, &Blob),
    others: &[Argument<'_>],
    out: &TensorMeta,
) -> Result<Blob, Unevaluated> {
    let operator = crate::find(name).unwrap();
    let mut arguments = vec![Argument::Tensor(Cow::Borrowed(own))];
    arguments.extend_from_slice(others);
    let mut data = vec![ArgumentData::None; arguments.len()];
    data[0] = ArgumentData::Tensor(blob);
    operator.evaluate(&arguments, &data, std::slice::from_ref(out), 1 << 20).map(|mut blobs| blobs.remove(0))
}

fn reason(result: Result<Blob, Unevaluated>) -> String {
    match result {
        Err(Unevaluated::Reason(reason)) => reason.to_owned(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn every_evaluation_has_a_rule_and_tensors_as_results() {
    for operator in crate::all().filter(|operator| operator.facts.evaluation.is_some()) {
        assert!(operator.facts.rule.is_some(), "{}", operator.name);
        assert!(!operator.facts.is_undetermined, "{}", operator.name);
        assert!(operator.library.is_none(), "{}: the judge has no kernel of it", operator.name);
    }
}

#[test]
fn large_blobs_are_reordered_when_they_are_read() {
    // No such file exists: nothing is read.
    let source = BlobSource::File { path: Arc::from(Path::new("no/such/file")), offset: 64 };
    let (rows, columns) = (1 << 13, 1 << 12);
    let own = meta(ScalarType::FLOAT, &[rows, columns]);
    let blob = Blob::new(4 * (rows * columns) as u64, source);
    let transposed = meta(ScalarType::FLOAT, &[columns, rows]);
    let result = evaluated("aten::t_copy.out", (&own, &blob), &[], &transposed).unwrap();
    assert!(matches!(result.source(), BlobSource::Reordered { .. }) && result.len() == blob.len());
    let whole = evaluated("aten::view_copy.out", (&own, &blob), &[ints(&[columns, rows])], &transposed).unwrap();
    assert_eq!(whole, blob);
    let part = meta(ScalarType::FLOAT, &[rows / 2, columns]);
    let slice = [int(0), int(rows / 2), Argument::Null, int(1)];
    let slice = evaluated("aten::slice_copy.Tensor_out", (&own, &blob), &slice, &part).unwrap();
    assert!(matches!(slice.source(), BlobSource::File { offset, .. } if *offset == 64 + blob.len() / 2));
    // A part that is neither contiguous nor small.
    let column = [int(1), int(0), int(columns / 2), int(1)];
    let out = meta(ScalarType::FLOAT, &[rows, columns / 2]);
    let refused = evaluated("aten::slice_copy.Tensor_out", (&own, &blob), &column, &out);
    assert_eq!(reason(refused), "a result is too large to be computed");
}

#[test]
fn what_depends_on_the_build_is_refused() {
    let floats = |numbers: &[f32]| Blob::bytes(numbers.iter().flat_map(|n| n.to_le_bytes()).collect::<Vec<u8>>());
    let two = meta(ScalarType::FLOAT, &[2]);
    type Expected = Result<[f32; 2], &'static str>;
    let cases: [(&str, [f32; 2], &[Argument<'_>], Expected); 6] = [
        ("aten::add.Scalar_out", [1.0, -0.0], &[Argument::Double(2.0), int(1)], Ok([3.0, 2.0])),
        (
            "aten::add.Scalar_out",
            [1.0, 2.0],
            &[Argument::Double(2.0), int(2)],
            Err("the factor of an operand is not 1"),
        ),
        ("aten::div.Scalar_out", [1.0, 3.0], &[Argument::Double(4.0)], Ok([0.25, 0.75])),
        (
            "aten::div.Scalar_out",
            [1.0, 5.0],
            &[Argument::Double(49.0)],
            Err("the kernels of two libraries round differently"),
        ),
        ("aten::sqrt.out", [4.0, -1.0], &[], Err("a result is NaN, whose bits depend on the processor")),
        ("aten::abs.out", [-4.0, -0.0], &[], Ok([4.0, -0.0])),
    ];
    for (name, input, others, expected) in cases {
        let found = evaluated(name, (&two, &floats(&input)), others, &two);
        match expected {
            Ok(expected) => assert_eq!(found.unwrap().to_vec().unwrap(), floats(&expected).to_vec().unwrap(), "{name}"),
            Err(expected) => assert_eq!(reason(found), expected, "{name}"),
        }
    }
}

#[test]
fn orders_of_memory_are_followed_or_refused() {
    let own = meta(ScalarType::BYTE, &[1, 2, 2, 2]);
    let last = TensorMeta { dim_order: DimOrder::channels_last(4), ..own.clone() };
    let blob = Blob::bytes([0, 1, 2, 3, 4, 5, 6, 7]);
    let order = [Argument::Bool(false), ints(&[0, 2, 3, 1])];
    let copy = evaluated("dim_order_ops::_to_dim_order_copy.out", (&own, &blob), &order, &last).unwrap();
    assert_eq!(copy.to_vec().unwrap(), [0, 4, 1, 5, 2, 6, 3, 7]);
    let opposite = evaluated("aten::bitwise_not.out", (&last, &copy), &[], &last).unwrap();
    assert_eq!(opposite.to_vec().unwrap(), [255, 251, 254, 250, 253, 249, 252, 248]);
    let permuted = evaluated("aten::permute_copy.out", (&last, &copy), &[ints(&[0, 1, 3, 2])], &last);
    assert_eq!(reason(permuted), "a tensor has an order of memory that the kernel does not follow");
}

/// Sizes and arguments whose products overflow, or whose results exceed memory.
#[test]
fn hostile_sizes_are_refused_without_work() {
    let extremes = [0, 1, -1, 2, 7, 1 << 20, i64::from(i32::MAX), i64::from(i32::MIN), i64::MAX, i64::MIN];
    let blob = Blob::bytes([1; 8]);
    let tensors = [meta(ScalarType::LONG, &[]), meta(ScalarType::BYTE, &[2, 2, 2]), meta(ScalarType::INT, &[1, 2])];
    let names: Vec<&str> =
        crate::all().filter(|operator| operator.facts.evaluation.is_some()).map(|operator| operator.name).collect();
    let mut evaluated_calls = 0;
    for name in names {
        let signature = &crate::find(name).unwrap().signature;
        for (at, own) in tensors.iter().enumerate() {
            for (turn, extreme) in extremes.iter().enumerate() {
                let argument = |position: usize, arg: &crate::Arg| {
                    let other = extremes[(turn + at + position) % extremes.len()];
                    match (arg.kind.base, arg.kind.list) {
                        (crate::Base::Tensor, true) => Argument::Tensors(vec![Some(Cow::Borrowed(own)); 2]),
                        (crate::Base::Tensor, false) => Argument::Tensor(Cow::Borrowed(own)),
                        (_, true) => ints(&[*extreme, other]),
                        (crate::Base::Bool, false) => Argument::Bool(false),
                        (crate::Base::Float, false) => Argument::Double(other as f64),
                        _ => int(if position.is_multiple_of(2) { *extreme } else { other }),
                    }
                };
                let arguments: Vec<Argument<'_>> =
                    signature.ins().enumerate().map(|(position, arg)| argument(position, arg)).collect();
                let data: Vec<ArgumentData<'_>> = arguments
                    .iter()
                    .map(|argument| match argument {
                        Argument::Tensor(_) => ArgumentData::Tensor(&blob),
                        Argument::Tensors(items) => ArgumentData::Tensors(vec![Some(&blob); items.len()]),
                        _ => ArgumentData::None,
                    })
                    .collect();
                // Outs of the sizes that are inferred, and of the argument.
                let call = crate::inference::Call::new(signature, &arguments);
                let inferred = crate::find(name).unwrap().facts.rule.unwrap()(&call).unwrap_or_default();
                let outs: Vec<TensorMeta> = inferred
                    .into_iter()
                    .flat_map(|result| match result {
                        crate::inference::ResultMeta::Tensor(meta) => vec![meta],
                        crate::inference::ResultMeta::Tensors(metas) => metas,
                        _ => Vec::new(),
                    })
                    .collect();
                for outs in [outs, vec![own.clone()]] {
                    let found = crate::find(name).unwrap().evaluate(&arguments, &data, &outs, 1 << 20);
                    let Ok(blobs) = found else { continue };
                    evaluated_calls += 1;
                    let in_memory =
                        |blob: &Blob| !matches!(blob.source(), BlobSource::Bytes(bytes) if bytes.len() > 1 << 20);
                    assert!(blobs.iter().all(in_memory), "{name} {arguments:?}");
                }
            }
        }
    }
    assert!(evaluated_calls > 100, "{evaluated_calls}");
}
