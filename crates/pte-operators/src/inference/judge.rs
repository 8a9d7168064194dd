//! Compares the rules with the results that torch infers, which are the cases of `tests/inference/cases.txt`;
//! `lab/inference.py` writes and describes them. Also compares rules and constraints with cases that are written by
//! hand, `rules.txt` and `constraints.txt`.

#[path = "../../tests/inference/cases.rs"]
mod parser;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt::Write as _;

use parser::{Case, Expected, Outcome, Value, arguments, cases, file};

use super::{Argument, Call, Dim, InferenceError, IntMeta, ResultMeta, Rule, TensorMeta, constraints};
use crate::{ArgKind, Base, Operator, Signature, find};
use pte_model::format::{DimOrder, ScalarType};

/// Operators with fewer than [`MIN_CASES`] cases, each with the reason.
const FEW_CASES: &[(&str, &str)] = &[("executorch_prim::sym_not.Scalar", "it takes a truth value only")];

/// Cases of some operators: those with one of the given parts in their arguments, or all if there is none.
struct Listed {
    operators: &'static [&'static str],
    parts: &'static [&'static str],
    /// Reason for the difference.
    #[expect(dead_code, reason = "for the reader")]
    reason: &'static str,
}

/// Types of tensors that are not floating point; a part of arguments.
const NOT_FLOATING: &[&str] = &["b8[", "u8[", "i8[", "i16[", "i32[", "i64[", "c64["];

/// Cases that torch rejects and the rules accept.
const ACCEPTED: &[Listed] = &[
    Listed {
        operators: &[
            "aten::_fft_c2r.out",
            "aten::_log_softmax.out",
            "aten::_native_batch_norm_legit.no_stats_out",
            "aten::_native_batch_norm_legit.out",
            "aten::_native_batch_norm_legit_no_training.out",
            "aten::_softmax.out",
            "aten::elu.out",
            "aten::hardtanh.out",
            "aten::leaky_relu.out",
            "aten::masked_fill.Scalar_out",
            "aten::masked_scatter.out",
            "aten::native_dropout.out",
            "aten::native_group_norm.out",
            "aten::native_layer_norm.out",
            "aten::neg.out",
            "aten::sub.out",
            "aten::var_mean.correction_out",
            "quantized_decomposed::add.out",
        ],
        parts: NOT_FLOATING,
        reason: "the operator has no implementation for the element type; the result is well defined",
    },
    Listed {
        operators: &["aten::div.Scalar_mode_out", "aten::div.out_mode", "aten::floor_divide.out"],
        parts: &["b8[", "c64["],
        reason: "truth values and complex numbers have no floor; the result is well defined",
    },
    Listed {
        operators: &["aten::_softmax.out", "aten::_log_softmax.out"],
        parts: &[" true"],
        reason: "`half_to_float` with an element type other than float16",
    },
    Listed {
        operators: &["aten::_native_batch_norm_legit.no_stats_out"],
        parts: &[" false"],
        reason: "evaluation without statistics",
    },
    Listed {
        operators: &["aten::add.out", "aten::sub.out", "aten::rsub.Scalar_out"],
        parts: &["i32[2] i32[2] 1.5", "i32[2] 1 1.5"],
        reason: "a fractional `alpha` with integers does not change the type of the result",
    },
    Listed {
        operators: &["aten::empty.out", "dim_order_ops::_empty_dim_order.out"],
        parts: &[],
        reason: "the runtime ignores the memory format that torch's function has no result for",
    },
    Listed {
        operators: &[
            "executorch_prim::floordiv.Scalar",
            "executorch_prim::floordiv.int",
            "executorch_prim::mod.Scalar",
            "executorch_prim::mod.int",
            "executorch_prim::truediv.Scalar",
        ],
        parts: &["7 0"],
        reason: "a division by zero does not change the kind of the result",
    },
    Listed {
        operators: &["aten::_pdist_forward.out"],
        parts: &["f32[5,3]{1,0}"],
        reason: "the strides of the argument concern the implementation only",
    },
    Listed { operators: &["dim_order_ops::_clone_dim_order.out"], parts: &["true"], reason: "a copy may be blocking" },
    Listed {
        operators: &["quantized_decomposed::embedding_byte.out", "quantized_decomposed::embedding_byte.dtype_out"],
        parts: &["f32[5,4]", "f32[5,3]", "f32[5,2] f32[5]", "u8[5,0]"],
        reason: "the number of groups of columns has no effect on the result",
    },
    Listed {
        operators: &["aten::convolution.out"],
        parts: &["f32[3,1,3]", "f16[4,2,3]", "f32[0,2,3]"],
        reason: "groups of output channels and the type of the weight have no effect on the result",
    },
    Listed {
        operators: &["aten::_upsample_bilinear2d_aa.out", "aten::upsample_nearest2d.vec_out"],
        parts: &["f32[2,0,8,9]"],
        reason: "no channels: nothing is computed",
    },
    Listed {
        operators: &["aten::_fft_r2c.out"],
        parts: &["[2,0] [1]", "[0,0]"],
        reason: "the transform has no elements, or a dimension twice",
    },
    Listed {
        operators: &["aten::linear.out"],
        parts: &["f32[3] f32[1]"],
        reason: "the result of a weight of one dimension broadcasts with the bias",
    },
    Listed {
        operators: &["aten::native_group_norm.out"],
        parts: &["f32[2,4,0]"],
        reason: "no elements: nothing is computed",
    },
    Listed { operators: &["aten::gelu.out"], parts: &["sigmoid"], reason: "the string has no effect on the result" },
    Listed { operators: &["aten::full.out"], parts: &["3 1"], reason: "an integer is a list of one" },
    Listed { operators: &["aten::squeeze_copy.dims_out"], parts: &[" 1"], reason: "an integer is a list of one" },
];

/// Cases that torch rejects and the rules leave undetermined.
const UNDETERMINED: &[Listed] = &[Listed {
    operators: &["aten::view_copy.out", "executorch_prim::et_view.default"],
    parts: &["9223372036854775807"],
    reason: "the number of elements overflows",
}];

/// Cases whose results differ.
const DIFFERENT: &[Listed] = &[
    Listed {
        operators: &["aten::logical_and.out", "aten::logical_or.out", "aten::logical_xor.out"],
        parts: &["{"],
        reason: "torch does not keep the dim_order of the second operand for these three operators alone",
    },
    Listed {
        operators: &["aten::clamp.out", "aten::hardtanh.out", "aten::logit.out", "aten::relu.out"],
        parts: &["f32[0,3,2,2]{0,2,3,1}"],
        reason: "a tensor without elements has any dim_order",
    },
    Listed {
        operators: &["aten::_log_softmax.out"],
        parts: &["f32[2,1,4,4]{0,2,1,3}"],
        reason: "torch does not copy a tensor that is contiguous in both memory formats",
    },
    Listed {
        operators: &["executorch_prim::sym_ite.Scalar"],
        parts: &[],
        reason: "the condition is not evaluated; both values contribute to the result",
    },
];

const MIN_CASES: usize = 10;

/// Number of differences that are printed for an operator.
const PRINTED: usize = 20;

fn tensor_text(tensor: &TensorMeta) -> String {
    let join = |items: Vec<String>| items.join(",");
    let sizes = tensor.sizes.iter().map(|dim| format!("{}{}", if dim.dynamic { "<=" } else { "" }, dim.size));
    let name = tensor.scalar_type.to_string();
    let mut text = format!("{name}[{}]", join(sizes.collect()));
    if !tensor.dim_order.is_sorted() {
        write!(text, "{{{}}}", join(tensor.dim_order.iter().map(ToString::to_string).collect())).unwrap();
    }
    text
}

fn result_text(result: &ResultMeta) -> String {
    match result {
        ResultMeta::Tensor(tensor) => tensor_text(tensor),
        ResultMeta::Unwritten(tensor) => format!("unwritten {}", tensor_text(tensor)),
        ResultMeta::Tensors(items) => {
            format!("<{}>", items.iter().map(tensor_text).collect::<Vec<_>>().join(";"))
        }
        ResultMeta::Int(IntMeta::Exact(int)) => int.to_string(),
        ResultMeta::Int(IntMeta::AtMost(int)) => format!("<={int}"),
        ResultMeta::Int(IntMeta::Unknown) => "int".to_owned(),
        ResultMeta::Scalar => "scalar".to_owned(),
    }
}

fn got_text(got: &Result<Vec<ResultMeta>, InferenceError>) -> String {
    match got {
        Ok(results) => results.iter().map(result_text).collect::<Vec<_>>().join(" "),
        Err(InferenceError::UnknownOperator) => "no rule".to_owned(),
        Err(InferenceError::Undetermined(reason)) => format!("undetermined: {reason}"),
        Err(InferenceError::Invalid(invalid) | InferenceError::Unsupported(invalid)) => {
            format!("argument {}: {}; expected {}", invalid.argument, invalid.found, invalid.expected)
        }
    }
}

fn equal(expected: &Expected, got: &ResultMeta) -> bool {
    match (expected, got) {
        (Expected::Omitted, ResultMeta::Unwritten(_)) => true,
        (Expected::Result(expected), got) => expected == got,
        (Expected::Omitted, _) => false,
    }
}

/// Returns `true` if only execution determines a part of the result.
fn is_open(result: &ResultMeta) -> bool {
    match result {
        ResultMeta::Tensor(tensor) => tensor.sizes.iter().any(|dim| dim.dynamic),
        ResultMeta::Tensors(items) => items.iter().any(|tensor| tensor.sizes.iter().any(|dim| dim.dynamic)),
        ResultMeta::Unwritten(_) => false,
        ResultMeta::Int(int) => !matches!(int, IntMeta::Exact(_)),
        ResultMeta::Scalar => true,
    }
}

/// Comparison of a case.
#[derive(Clone, Copy)]
enum Verdict {
    Inferred,
    Undetermined,
    Wrong,
}

fn listed(list: &[Listed], operator: &str, case: &Case<'_>) -> bool {
    let args = case.text.split("->").next().unwrap_or_default();
    list.iter().any(|listed| {
        let has_part = listed.parts.is_empty() || listed.parts.iter().any(|part| args.contains(part));
        listed.operators.contains(&operator) && has_part
    })
}

fn verdict(operator: &str, case: &Case<'_>, got: &Result<Vec<ResultMeta>, InferenceError>) -> Verdict {
    match (&case.outcome, got) {
        (Outcome::Results(expected), Ok(got)) => {
            let equal =
                expected.len() == got.len() && expected.iter().zip(got).all(|(expected, got)| equal(expected, got));
            if equal { Verdict::Inferred } else { Verdict::Wrong }
        }
        (Outcome::DataDependent, Ok(got)) if got.iter().any(is_open) => Verdict::Inferred,
        (Outcome::DataDependent, Err(InferenceError::Undetermined(_)))
        | (Outcome::Error, Err(InferenceError::Invalid(_) | InferenceError::Unsupported(_))) => Verdict::Inferred,
        (Outcome::Error, Ok(_)) if listed(ACCEPTED, operator, case) => Verdict::Inferred,
        (_, Err(InferenceError::Undetermined(_) | InferenceError::UnknownOperator)) => Verdict::Undetermined,
        (Outcome::Error | Outcome::DataDependent, Ok(_))
        | (
            Outcome::Results(_) | Outcome::DataDependent,
            Err(InferenceError::Invalid(_) | InferenceError::Unsupported(_)),
        ) => Verdict::Wrong,
    }
}

/// Returns the rule of each operator of the file with its cases.
fn ruled<'c, 't>(
    cases: &'c BTreeMap<&'t str, (Signature, Vec<Case<'t>>)>,
) -> impl Iterator<Item = (&'t str, Rule, &'c Signature, &'c [Case<'t>])> {
    cases.iter().filter_map(|(name, (signature, cases))| Some((*name, crate::facts(name).rule?, signature, &cases[..])))
}

#[test]
fn every_operator_has_cases() {
    let file = file();
    let cases = cases(&file);
    let mut wrong = Vec::new();
    for name in crate::names().filter(|name| crate::library(name).is_none()) {
        let count = cases.get(name).map_or(0, |(_, cases)| cases.len());
        if count < MIN_CASES && !FEW_CASES.iter().any(|(other, _)| *other == name) {
            wrong.push(format!("{name} has {count} cases"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn results_are_those_of_torch() {
    let file = file();
    let cases = cases(&file);
    let mut table = format!("{:70} cases inferred undetermined wrong\n", "");
    let mut differences = String::new();
    let mut totals = [0_usize; 4];
    for (name, rule, signature, cases) in ruled(&cases) {
        let mut counts = [cases.len(), 0, 0, 0];
        let mut printed = 0;
        for case in cases {
            let got = rule(&Call::new(signature, &case.arguments()));
            let verdict = verdict(name, case, &got);
            counts[verdict as usize + 1] += 1;
            let is_difference = match verdict {
                Verdict::Inferred => false,
                Verdict::Undetermined => !listed(UNDETERMINED, name, case),
                Verdict::Wrong => !listed(DIFFERENT, name, case),
            };
            if is_difference && printed < PRINTED {
                printed += 1;
                writeln!(differences, "{name} {}, got {}", case.text, got_text(&got)).unwrap();
            }
        }
        totals.iter_mut().zip(counts).for_each(|(total, count)| *total += count);
        if printed > 0 {
            writeln!(table, "{name:70} {:5} {:8} {:12} {:5}", counts[0], counts[1], counts[2], counts[3]).unwrap();
        }
    }
    writeln!(table, "{:70} {:5} {:8} {:12} {:5}", "all", totals[0], totals[1], totals[2], totals[3]).unwrap();
    assert!(differences.is_empty(), "{table}\n{differences}");
}

/// Calls `check` with the operator, the arguments and the expected outcome of each line of a file, and panics with the
/// lines for which it returns another outcome.
fn each_line(file: &str, check: impl Fn(&Operator, &[Argument<'_>], &str) -> Option<String>) {
    let path = format!("{}/tests/inference/{file}", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(path).unwrap();
    let mut wrong = String::new();
    for (number, line) in text.lines().enumerate().filter(|(_, line)| !line.starts_with('#')) {
        let (call, expected) = line.split_once(" ->").unwrap_or_else(|| panic!("{file}:{}: no `->`", number + 1));
        let (name, args) = call.split_once(' ').unwrap_or((call, ""));
        let operator = find(name).unwrap_or_else(|| panic!("{file}:{}: unknown operator", number + 1));
        let values = arguments(args, &operator.signature);
        let args: Vec<Argument<'_>> = values.iter().map(Value::argument).collect();
        if let Some(got) = check(operator, &args, expected.trim()) {
            writeln!(wrong, "{file}:{}: {line}\n    got {got}", number + 1).unwrap();
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

#[test]
fn rules_infer_what_the_lines_state() {
    each_line("rules.txt", |operator, args, expected| {
        let got = operator.facts.rule.unwrap()(&Call::new(&operator.signature, args));
        let is_expected = match &got {
            Ok(got) if !expected.starts_with("argument ") && !expected.starts_with("undetermined: ") => {
                let expected = parser::results(expected);
                expected.len() == got.len() && expected.iter().zip(got).all(|(expected, got)| equal(expected, got))
            }
            got => got_text(got) == expected,
        };
        (!is_expected).then(|| got_text(&got))
    });
}

#[test]
fn constraints_are_violated_as_the_lines_state() {
    each_line("constraints.txt", |operator, args, expected| {
        let got = constraints::check(&operator.constraints, &Call::new(&operator.signature, args));
        let is_expected =
            match (&got, expected.strip_prefix("argument ").and_then(|expected| expected.split_once(": "))) {
                (Ok(()), None) => expected == "accepted",
                (Err(got), Some((position, part))) => {
                    got.argument.to_string() == position && got.expected.contains(part)
                }
                (Ok(()), Some(_)) | (Err(_), None) => false,
            };
        (!is_expected).then(|| format!("{got:?}"))
    });
}

/// Returns arguments that differ in one part from the given ones: sizes, integers, kinds, missing ones.
fn variants<'a>(args: &[Argument<'a>]) -> Vec<Vec<Argument<'a>>> {
    const INTS: [IntMeta; 7] = [
        IntMeta::Exact(i64::MIN),
        IntMeta::Exact(-1),
        IntMeta::Exact(0),
        IntMeta::Exact(i64::MAX),
        IntMeta::AtMost(0),
        IntMeta::AtMost(i64::MAX),
        IntMeta::Unknown,
    ];
    const SIZES: [Dim; 3] = [Dim::fixed(0), Dim::fixed(i64::MAX), Dim { size: i64::MAX, dynamic: true }];
    let mut found: Vec<Vec<Argument<'a>>> = (0..args.len()).map(|length| args[..length].to_vec()).collect();
    for (at, arg) in args.iter().enumerate() {
        let mut replace = |arg: Argument<'a>| {
            let mut args = args.to_vec();
            args[at] = arg;
            found.push(args);
        };
        let kinds =
            [Argument::Null, Argument::Unknown, Argument::Bool(true), Argument::Double(f64::NAN), Argument::Str("")];
        kinds.into_iter().for_each(&mut replace);
        replace(Argument::Ints(Vec::new()));
        replace(Argument::Tensors(Vec::new()));
        replace(Argument::Tensors(vec![None]));
        match arg {
            Argument::Int(_) => INTS.into_iter().for_each(|int| replace(Argument::Int(int))),
            Argument::Ints(items) => {
                for at in 0..items.len() {
                    for int in INTS {
                        let mut items = items.clone();
                        items[at] = int;
                        replace(Argument::Ints(items));
                    }
                }
            }
            Argument::Tensor(tensor) => {
                for at in 0..tensor.sizes.len() {
                    for size in SIZES {
                        let mut tensor = tensor.clone().into_owned();
                        tensor.sizes[at] = size;
                        replace(Argument::Tensor(Cow::Owned(tensor)));
                    }
                }
                let mut larger = tensor.clone().into_owned();
                let outermost = u8::try_from(larger.sizes.len()).unwrap();
                larger.dim_order = std::iter::once(outermost).chain(larger.dim_order.iter().copied()).collect();
                larger.sizes.push(Dim::fixed(i64::MAX));
                replace(Argument::Tensor(Cow::Owned(larger)));
            }
            Argument::Double(_) => {
                [f64::INFINITY, -1e300, 0.0].into_iter().for_each(|number| replace(Argument::Double(number)));
            }
            Argument::Null
            | Argument::Bool(_)
            | Argument::Str(_)
            | Argument::Doubles(_)
            | Argument::Bools(_)
            | Argument::Tensors(_)
            | Argument::Unknown => {}
        }
    }
    found
}

fn tensors(results: &[ResultMeta]) -> Vec<&TensorMeta> {
    let mut found = Vec::new();
    for result in results {
        match result {
            ResultMeta::Tensor(tensor) | ResultMeta::Unwritten(tensor) => found.push(tensor),
            ResultMeta::Tensors(items) => found.extend(items),
            ResultMeta::Int(_) | ResultMeta::Scalar => {}
        }
    }
    found
}

#[test]
fn malformed_arguments_give_well_formed_results() {
    let file = file();
    for (name, rule, signature, cases) in ruled(&cases(&file)) {
        for case in cases {
            for args in variants(&case.arguments()) {
                let Ok(results) = rule(&Call::new(signature, &args)) else { continue };
                for tensor in tensors(&results) {
                    let is_valid = tensor.dim_order.is_permutation(tensor.sizes.len())
                        && tensor.sizes.iter().all(|dim| dim.size >= 0);
                    assert!(is_valid, "{name} {args:?}: {}", tensor_text(tensor));
                }
            }
        }
    }
}

/// Returns arguments with other sizes.
fn resized<'a>(args: &[Argument<'a>], size: impl Fn(Dim) -> Dim) -> Vec<Argument<'a>> {
    let tensor = |tensor: &TensorMeta| {
        let sizes = tensor.sizes.iter().copied().map(&size).collect();
        Cow::Owned(TensorMeta { sizes, ..tensor.clone() })
    };
    let arg = |arg: &Argument<'a>| match arg {
        Argument::Tensor(meta) => Argument::Tensor(tensor(meta)),
        Argument::Tensors(items) => Argument::Tensors(items.iter().map(|item| item.as_deref().map(tensor)).collect()),
        Argument::Null
        | Argument::Int(_)
        | Argument::Bool(_)
        | Argument::Double(_)
        | Argument::Str(_)
        | Argument::Ints(_)
        | Argument::Doubles(_)
        | Argument::Bools(_)
        | Argument::Unknown => arg.clone(),
    };
    args.iter().map(arg).collect()
}

/// The sizes that are inferred for dynamic dimensions are upper bounds, and those without dynamism do not change.
#[test]
fn results_of_smaller_arguments_are_within_the_bounds() {
    let file = file();
    let mut differences = String::new();
    for (name, rule, signature, cases) in ruled(&cases(&file)) {
        let mut printed = 0;
        for case in cases {
            let args = case.arguments();
            let bounded = resized(&args, |dim| Dim { size: dim.size, dynamic: dim.size > 2 });
            let Ok(bounds) = rule(&Call::new(signature, &bounded)) else { continue };
            for smaller in
                [args.clone(), resized(&args, |dim| Dim::fixed(if dim.size > 2 { dim.size - 1 } else { dim.size }))]
            {
                let Ok(results) = rule(&Call::new(signature, &smaller)) else { continue };
                let (bounds, results) = (tensors(&bounds), tensors(&results));
                let holds = |(bound, result): (&&TensorMeta, &&TensorMeta)| {
                    let within = |(bound, dim): (&Dim, &Dim)| {
                        if bound.dynamic { dim.size <= bound.size } else { dim.size == bound.size }
                    };
                    bound.sizes.len() == result.sizes.len() && bound.sizes.iter().zip(&result.sizes).all(within)
                };
                if !bounds.iter().zip(&results).all(holds) && printed < PRINTED {
                    printed += 1;
                    let text =
                        |tensors: &[&TensorMeta]| tensors.iter().map(|t| tensor_text(t)).collect::<Vec<_>>().join(" ");
                    writeln!(differences, "{name} {}: bounds {}, got {}", case.text, text(&bounds), text(&results))
                        .unwrap();
                }
            }
        }
    }
    assert!(differences.is_empty(), "{differences}");
}
