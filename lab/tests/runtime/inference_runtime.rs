//! Inference against the real ExecuTorch runtime: calls that torch accepts
//! (`crates/pte-operators/tests/inference/cases.txt`) are executed with outs that have the inferred properties, then
//! with others. A kernel resizes its out, so that a static one of other sizes fails.
//!
//! Ignored by default, since they download the runtime: `cargo lab --test runtime inference_runtime:: -- --ignored
//! --nocapture` prints what was executed and what the kernels do not implement; a part of a name in `PTE_EMIT_OPERATOR`
//! selects operators.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::PathBuf;
use std::sync::LazyLock;

use pte_analysis::inference;
use pte_analysis::operators::ResolvedOperator;
use pte_emit::program::{EValue, Tensor, TensorShapeDynamism};
use pte_emit::{AssembleOptions, Model, Resolved};
use pte_model::data::number::{self, NumericValue};
use pte_model::format::{DimOrder, ScalarType};
use pte_operators::inference::constraints;
use pte_operators::inference::{Argument, Call, Dim, IntMeta, ResultMeta, TensorMeta};
use pte_operators::{ArgKind, Base, Role, Signature, find};

#[path = "../../../crates/pte-operators/tests/inference/cases.rs"]
pub mod cases;
#[path = "types.rs"]
mod types;

use crate::support::runner::{self, Mode, Value};
use cases::{Case, Outcome};

const MODE: Mode = Mode { verify: "full", loader: "file" };

static RUNNER: LazyLock<PathBuf> = LazyLock::new(runner::locate);

/// A method with one call.
struct Method {
    yaml: String,
    /// Lines of the script that set its inputs.
    inputs: String,
}

/// Change of the outs of a call that the inference completed; the first argument is the number of the out.
type Change = Box<dyn Fn(usize, &mut Tensor)>;

/// A method, with a change of its outs.
type Variant<'m> = (&'m Method, Option<Change>);

/// Result of the execution of a method.
#[derive(Debug, Clone, PartialEq)]
enum Execution {
    /// Its outputs.
    Executed(Vec<Value>),
    /// Answer with an error.
    Failed(String),
    /// Exit status of the process, which ended.
    Ended(String),
    /// The assembler's message.
    Rejected(String),
}

/// Returns the content of an input: small numbers, none of them 0 except indices, which are all within the bounds.
fn fill(name: &str, tensor: &TensorMeta) -> Vec<u8> {
    let is_index = name.contains("ind") || name.contains("zero_point");
    let count: i64 = tensor.sizes.iter().map(|dim| dim.size).product();
    let mut bytes = Vec::new();
    for at in 0..count {
        let number = if is_index { NumericValue::Int(0) } else { NumericValue::Int(1 + i128::from(at % 2)) };
        let number = if tensor.scalar_type == ScalarType::BOOL { NumericValue::Bool(!is_index) } else { number };
        number::encode(tensor.scalar_type, number, &mut bytes).unwrap();
    }
    bytes
}

fn commas<T: ToString>(items: impl IntoIterator<Item = T>) -> String {
    items.into_iter().map(|item| item.to_string()).collect::<Vec<_>>().join(",")
}

fn double(number: f64) -> String {
    match number {
        _ if number.is_nan() => ".nan".to_owned(),
        f64::INFINITY => ".inf".to_owned(),
        f64::NEG_INFINITY => "-.inf".to_owned(),
        _ => format!("{number:?}"),
    }
}

impl Method {
    fn new(operator: &str, signature: &Signature, case: &Case<'_>, results: &[ResultMeta]) -> Method {
        let mut method = Method { yaml: String::new(), inputs: String::new() };
        let (mut values, mut args, mut inputs) = (String::new(), Vec::new(), Vec::new());
        for (at, (argument, arg)) in case.arguments().iter().zip(&signature.args).enumerate() {
            let value = format!("a{at}");
            // A word in the place of a string is a string, not the name of a value.
            if arg.kind.base == Base::Str {
                args.push(match argument {
                    Argument::Str(text) => format!("\"{text}\""),
                    _ => "null".to_owned(),
                });
                continue;
            }
            args.push(value.clone());
            let text = match argument {
                Argument::Tensor(tensor) => method.input(&arg.name, &value, tensor, &mut inputs),
                Argument::Tensors(items) => {
                    let mut names = Vec::new();
                    for (number, item) in items.iter().enumerate() {
                        let Some(tensor) = item else {
                            names.push("null".to_owned());
                            continue;
                        };
                        let item = format!("{value}_{number}");
                        let text = method.input(&arg.name, &item, tensor, &mut inputs);
                        writeln!(values, "      {item}: {text}").unwrap();
                        names.push(item);
                    }
                    let kind = if arg.kind.optional_items { "optional_tensor_list" } else { "tensor_list" };
                    format!("{{{kind}: [{}]}}", names.join(","))
                }
                Argument::Null => "null".to_owned(),
                Argument::Int(IntMeta::Exact(int)) if arg.kind.base == Base::Float => {
                    format!("{{double: {}}}", double(*int as f64))
                }
                Argument::Int(IntMeta::Exact(int)) if arg.kind.list => format!("{{int_list: [{int}]}}"),
                Argument::Int(IntMeta::Exact(int)) => format!("{{int: {int}}}"),
                Argument::Bool(value) => format!("{{bool: {value}}}"),
                Argument::Double(value) => format!("{{double: {}}}", double(*value)),
                Argument::Str(text) => format!("{{string: \"{text}\"}}"),
                Argument::Ints(items) => {
                    let items = items.iter().map(|item| match item {
                        IntMeta::Exact(int) => int,
                        IntMeta::AtMost(_) | IntMeta::Unknown => unreachable!("the cases have known integers"),
                    });
                    format!("{{int_list: [{}]}}", commas(items))
                }
                Argument::Doubles(items) => {
                    format!("{{double_list: [{}]}}", commas(items.iter().map(|item| double(*item))))
                }
                Argument::Bools(items) => format!("{{bool_list: [{}]}}", commas(items.iter())),
                Argument::Int(_) | Argument::Unknown => unreachable!("the cases have known integers"),
            };
            writeln!(values, "      {value}: {text}").unwrap();
        }
        let in_place = signature.args.iter().position(|arg| arg.role == Role::InPlace);
        let outs: Vec<String> = match in_place {
            Some(at) if signature.outs().next().is_none() => vec![format!("a{at}")],
            _ => {
                let count = |result: &ResultMeta| match result {
                    ResultMeta::Tensors(items) => items.len(),
                    ResultMeta::Tensor(_) | ResultMeta::Unwritten(_) | ResultMeta::Int(_) | ResultMeta::Scalar => 1,
                };
                (0..results.iter().map(count).sum()).map(|number| format!("o{number}")).collect()
            }
        };
        let out = match &outs[..] {
            _ if results.is_empty() => String::new(),
            [only] if !matches!(results, [ResultMeta::Tensors(_)]) => format!(", out: {only}"),
            _ => format!(", out: [{}]", commas(&outs)),
        };
        let outputs = if results.is_empty() { String::new() } else { commas(&outs) };
        method.yaml = format!(
            "  m:\n    values:\n{values}    inputs: [{}]\n    outputs: [{outputs}]\n    instructions:\n      - {{kernel: {operator}, args: [{}]{out}}}\n",
            commas(&inputs),
            commas(&args),
        );
        if values.is_empty() {
            method.yaml = method.yaml.replace("    values:\n", "");
        }
        method
    }

    fn input(&mut self, arg: &str, value: &str, tensor: &TensorMeta, inputs: &mut Vec<String>) -> String {
        let sizes = commas(tensor.sizes.iter().map(|dim| dim.size));
        let order = commas(&*tensor.dim_order);
        let word = |list: &str| if list.is_empty() { "-".to_owned() } else { list.to_owned() };
        let bytes = fill(arg, tensor);
        let hex = if bytes.is_empty() { "-".to_owned() } else { data_encoding::HEXLOWER.encode(&bytes) };
        let scalar_type = tensor.scalar_type.0;
        writeln!(self.inputs, "input {} tensor {scalar_type} {} {} {hex}", inputs.len(), word(&sizes), word(&order))
            .unwrap();
        inputs.push(value.to_owned());
        format!("{{tensor: {}, sizes: [{sizes}], dim_order: [{order}]}}", tensor.scalar_type)
    }
}

/// Executes methods, each with a change of its outs, by a process for all; one that ends is started again with the next
/// method.
fn execute(methods: &[Variant<'_>]) -> Vec<Execution> {
    let mut yaml = "methods:\n".to_owned();
    for (number, (method, _)) in methods.iter().enumerate() {
        yaml += &method.yaml.replacen("  m:\n", &format!("  m{number}:\n"), 1);
    }
    if methods.is_empty() {
        return Vec::new();
    }
    let source = Model::from_yaml("calls.yaml", &yaml, ".");
    let mut resolved: Resolved = match source.resolve() {
        Ok(resolved) => resolved,
        Err(error) if methods.len() == 1 => return vec![Execution::Rejected(error.to_string())],
        Err(_) => return methods.chunks(1).flat_map(|method| execute(method)).collect(),
    };
    for (plan, (_, change)) in resolved.program.execution_plan.iter_mut().flatten().zip(methods) {
        let Some(change) = change else { continue };
        let outputs = plan.outputs.clone().unwrap_or_default();
        let values = plan.values.as_mut().unwrap();
        for (number, output) in outputs.iter().enumerate() {
            if let Some(EValue::Tensor(tensor)) = output.item_mut(values) {
                change(number, tensor);
            }
        }
    }
    let assembly = match resolved.to_files(&AssembleOptions::default()) {
        Ok(assembly) => assembly,
        Err(error) if methods.len() == 1 => return vec![Execution::Rejected(error.to_string())],
        Err(_) => return methods.chunks(1).flat_map(|method| execute(method)).collect(),
    };
    let folder = tempfile::tempdir().unwrap();
    let (pte, _) = crate::support::files::write(&assembly, folder.path()).unwrap();
    let mut outcomes = Vec::new();
    while outcomes.len() < methods.len() {
        let first = outcomes.len();
        let mut script = String::new();
        for (number, (method, _)) in methods.iter().enumerate().skip(first) {
            write!(script, "load m{number}\n{}execute\noutputs\n", method.inputs).unwrap();
        }
        let ended = runner::start(&RUNNER, &pte, &[], MODE, &script).unwrap();
        // A library that the kernels call prints messages among the answers.
        let answers = ended.answers.iter().map(String::as_str).skip(1);
        let mut answers = answers.filter(|answer| !answer.starts_with("Eigen BLAS ERROR"));
        assert_eq!(ended.answers.first().map(String::as_str), Some("program ok"));
        for (method, _) in &methods[first..] {
            let Some(outcome) = outcome(&mut answers, method) else {
                outcomes.push(Execution::Ended(ended.status.to_string()));
                break;
            };
            outcomes.push(outcome);
        }
    }
    outcomes
}

/// Reads the answers about a method; `None` if they end.
fn outcome<'t>(answers: &mut impl Iterator<Item = &'t str>, method: &Method) -> Option<Execution> {
    let mut failure = None;
    for _ in 0..method.inputs.lines().count() + 2 {
        let answer = answers.next()?;
        if !answer.ends_with(" ok") && failure.is_none() {
            failure = Some(answer.to_owned());
        }
    }
    let count: usize = match answers.next()?.strip_prefix("outputs ") {
        Some(count) => count.parse().unwrap_or(0),
        None => 0,
    };
    let mut outputs = Vec::new();
    for number in 0..count {
        let answer = answers.next()?;
        outputs.push(runner::read(answer.strip_prefix(&format!("output {number} "))?)?);
    }
    Some(failure.map_or(Execution::Executed(outputs), Execution::Failed))
}

/// Element types of outs that are tried.
const TYPES: [ScalarType; 11] = [
    ScalarType::BYTE,
    ScalarType::CHAR,
    ScalarType::SHORT,
    ScalarType::INT,
    ScalarType::LONG,
    ScalarType::HALF,
    ScalarType::FLOAT,
    ScalarType::DOUBLE,
    ScalarType::COMPLEXFLOAT,
    ScalarType::BOOL,
    ScalarType::BFLOAT16,
];

/// Number of methods of a program.
const METHODS: usize = 200;

/// A case with what is inferred for it and its execution.
struct Run<'c, 't> {
    case: &'c Case<'t>,
    method: Method,
    /// The inferred tensors, in the order of the outputs; `None` for another result.
    metas: Vec<Option<TensorMeta>>,
    execution: Execution,
}

impl Run<'_, '_> {
    /// The outputs; `None` if the call failed.
    fn outputs(&self) -> Option<&[Value]> {
        match &self.execution {
            Execution::Executed(outputs) => Some(outputs),
            Execution::Failed(_) | Execution::Ended(_) | Execution::Rejected(_) => None,
        }
    }

    /// The arguments and the inferred outs; missing arguments are not known.
    fn with_outs(&self, signature: &Signature) -> Vec<Argument<'_>> {
        let mut arguments = self.case.arguments();
        arguments.resize(signature.ins().count(), Argument::Unknown);
        let out = |meta: &Option<TensorMeta>| {
            meta.clone().map_or(Argument::Unknown, |meta| Argument::Tensor(Cow::Owned(meta)))
        };
        arguments.extend(self.metas.iter().take(signature.outs().count()).map(out));
        arguments
    }

    fn args(&self) -> &str {
        arguments_text(self.case)
    }

    /// Types of the tensors and numbers among the arguments, as the case states them.
    fn types(&self) -> String {
        let words = self.args().split([' ', '<', '>', ';']);
        let types = words.filter_map(|word| match word.split_once('[') {
            Some((name, _)) if !name.is_empty() => Some(name),
            _ => word.strip_prefix('@'),
        });
        types.collect::<Vec<_>>().join(" ")
    }
}

fn arguments_text<'t>(case: &Case<'t>) -> &'t str {
    case.text.split("->").next().unwrap_or_default().trim()
}

/// Properties of the outputs that results become.
fn metas(results: &[ResultMeta]) -> Vec<Option<TensorMeta>> {
    let mut metas = Vec::new();
    for result in results {
        match result {
            ResultMeta::Tensor(meta) => metas.push(Some(meta.clone())),
            ResultMeta::Tensors(items) => metas.extend(items.iter().cloned().map(Some)),
            ResultMeta::Unwritten(_) | ResultMeta::Int(_) | ResultMeta::Scalar => metas.push(None),
        }
    }
    metas
}

/// Calls `visit` with the cases of each operator of the default runtime whose results are inferred, executed with the
/// inferred outs; and with the number of those that are not inferred. `sample`: one case of those that differ in sizes
/// only, in contiguous order.
fn each_operator(sample: bool, mut visit: impl FnMut(&str, &[Run<'_, '_>], usize)) {
    let file = cases::file();
    let selected = std::env::var("PTE_EMIT_OPERATOR").unwrap_or_default();
    for (name, (signature, cases)) in cases::cases(&file) {
        if pte_operators::library(name).is_some() || !name.contains(&selected) {
            continue;
        }
        let rule = pte_operators::facts(name).rule.unwrap();
        let mut shapes = BTreeSet::new();
        let mut is_sampled =
            |case: &Case<'_>| !case.text.contains('{') && shapes.insert(without_sizes(arguments_text(case)));
        let accepted = cases.iter().filter(|case| case.outcome != Outcome::Error);
        let accepted: Vec<&Case<'_>> = accepted.filter(|case| !sample || is_sampled(case)).collect();
        let prepare = |case| {
            let results = rule(&Call::new(&signature, &Case::arguments(case))).ok()?;
            let mut method = Method::new(name, &signature, case, &results);
            method.yaml = types::unchecked(&method, &signature, case.args.len(), &results);
            Some((case, method, metas(&results)))
        };
        let prepared: Vec<_> = accepted.iter().copied().filter_map(prepare).collect();
        let executions = execute(&prepared.iter().map(|(_, method, _)| (method, None)).collect::<Vec<_>>());
        let runs: Vec<Run<'_, '_>> = prepared
            .into_iter()
            .zip(executions)
            .map(|((case, method, metas), execution)| Run { case, method, metas, execution })
            .collect();
        visit(name, &runs, accepted.len() - runs.len());
    }
}

/// Executes variants in programs of limited size.
fn execute_all(variants: Vec<Variant<'_>>) -> Vec<Execution> {
    variants.chunks(METHODS).flat_map(execute).collect()
}

fn with_type(at: impl Fn(usize) -> bool + 'static, scalar_type: ScalarType) -> Change {
    Box::new(move |number, tensor| {
        if at(number) {
            tensor.scalar_type = scalar_type;
        }
    })
}

/// Changes of outs with which a call may execute that fails with the inferred ones, each with the property that it
/// changes. `types`: also other element types.
fn other_outs(run: &Run<'_, '_>, types: bool) -> Vec<(&'static str, Change)> {
    let mut changes: Vec<(&str, Change)> = Vec::new();
    let outs: Vec<(usize, &TensorMeta)> =
        run.metas.iter().enumerate().filter_map(|(at, meta)| Some((at, meta.as_ref()?))).collect();
    for scalar_type in TYPES.into_iter().filter(|_| types) {
        if outs.iter().any(|(_, meta)| meta.scalar_type != scalar_type) {
            changes.push(("element type", with_type(|_| true, scalar_type)));
        }
        for &(at, meta) in outs.iter().filter(|_| outs.len() > 1) {
            if meta.scalar_type != scalar_type {
                changes.push(("element type", with_type(move |number| number == at, scalar_type)));
            }
        }
    }
    let larger = |_: usize, tensor: &mut Tensor| {
        tensor.shape_dynamism = TensorShapeDynamism::DYNAMIC_BOUND;
        let sizes: Vec<i32> = tensor.sizes.as_deref().unwrap().iter().map(|size| size + 4).collect();
        tensor.sizes = Some(sizes.into());
    };
    // Some kernels read memory beyond a result without elements, so that chance decides.
    if outs.iter().all(|(_, meta)| meta.sizes.iter().all(|dim| dim.size > 0)) {
        changes.push(("sizes", Box::new(larger)));
    }
    let mut orders = BTreeSet::from([4, 5].map(DimOrder::channels_last));
    orders.extend((1..7).map(DimOrder::contiguous));
    for argument in run.case.arguments() {
        if let Argument::Tensor(tensor) = argument {
            orders.insert(tensor.dim_order.clone());
        }
    }
    for order in orders {
        if outs.iter().any(|(_, meta)| meta.dim_order.len() == order.len() && meta.dim_order != order) {
            let change = move |_: usize, tensor: &mut Tensor| {
                if tensor.sizes.as_deref().unwrap().len() == order.len() {
                    tensor.dim_order = Some(order.clone());
                }
            };
            changes.push(("dim_order", Box::new(change)));
        }
    }
    changes
}

/// Operators of which some calls execute with other outs than the inferred ones only: a property of these outs, and why
/// torch infers another.
const OTHER_OUTS: &[(&str, &[&str], &str)] = &[
    (
        "dim_order",
        &[
            "aten::_fft_c2r.out",
            "aten::_fft_r2c.out",
            "aten::_softmax.out",
            "aten::alias_copy.out",
            "aten::amax.out",
            "aten::amin.out",
            "aten::any.dims_out",
            "aten::any.out",
            "aten::argmax.out",
            "aten::argmin.out",
            "aten::clone.out",
            "aten::convolution.out",
            "aten::copy_",
            "aten::cumsum.out",
            "aten::detach_copy.out",
            "aten::div.out_mode",
            "aten::floor_divide.out",
            "aten::glu.out",
            "aten::lift_fresh_copy.out",
            "aten::masked_fill.Scalar_out",
            "aten::permute_copy.out",
            "aten::roll.out",
            "aten::slice_copy.Tensor_out",
            "aten::split_copy.Tensor_out",
            "aten::split_with_sizes_copy.out",
            "aten::transpose_copy.int_out",
            "aten::view_as_real_copy.out",
            "dim_order_ops::_clone_dim_order.out",
            "dim_order_ops::_to_dim_order_copy.out",
        ],
        "the kernel needs an out in the order of an argument, where torch's result is contiguous or the reverse",
    ),
    ("element type", &["aten::full_like.out"], "the kernel has no complex numbers"),
    ("element type", &["aten::logit.out"], "the kernel writes float32 and float64 only"),
    ("element type", &["aten::scalar_tensor.out"], "the number is too large for float32"),
    (
        "element type",
        &["aten::sum.IntList_out"],
        "the kernel's code for equal types does not take tensors without dimensions",
    ),
    ("element type", &["aten::where.self_out"], "the kernel promotes tensors without dimensions as the others"),
    (
        "element type",
        &["quantized_decomposed::embedding_2bit.out", "quantized_decomposed::embedding_4bit.out"],
        "the kernel needs an out of the type of the scales",
    ),
];

/// Operators of which no call is executed, each with the reason.
const NOT_IMPLEMENTED: &[(&str, &str)] = &[
    ("et_copy::_d2h_copy.out", "no device is registered"),
    ("et_copy::_h2d_copy.out", "no device is registered"),
    ("quantized_decomposed::quantize_per_tensor.Tensor_out", "the range of the only case exceeds uint8"),
];

/// Operators of which some calls fail with any out although others with tensors of the same types are executed, and
/// neither the order of memory nor a lack of elements explains it: what the kernel does not take.
const PARTLY_IMPLEMENTED: &[(&str, &str)] = &[
    ("aten::_log_softmax.out", "`half_to_float`"),
    ("aten::_native_batch_norm_legit.out", "training"),
    ("aten::_pdist_forward.out", "3 dimensions, a negative exponent"),
    ("aten::_softmax.out", "`half_to_float`"),
    ("aten::_to_copy.out", "memory formats, copies that do not block"),
    ("aten::add.Scalar_out", "a number of a higher category"),
    ("aten::arange.out", "a truth value"),
    ("aten::arange.start_out", "a truth value"),
    ("aten::as_strided_copy.out", "elements beyond the tensor"),
    ("aten::bitwise_and.Scalar_out", "a floating point number"),
    ("aten::bitwise_left_shift.Tensor_Scalar_out", "a floating point number"),
    ("aten::bitwise_or.Scalar_out", "a floating point number"),
    ("aten::bitwise_right_shift.Tensor_Scalar_out", "a floating point number"),
    ("aten::bitwise_xor.Scalar_out", "a floating point number"),
    ("aten::clone.out", "memory formats"),
    ("aten::constant_pad_nd.out", "negative padding"),
    ("aten::copy.out", "a copy that does not block"),
    ("aten::copy_", "a copy that does not block"),
    ("aten::cumsum.out", "no dimensions"),
    ("aten::div.Scalar_mode_out", "`trunc` of truth values"),
    ("aten::div.out_mode", "`trunc` of truth values and complex numbers"),
    ("aten::expand_copy.out", "`implicit`"),
    ("aten::fmod.Scalar_out", "truth values"),
    ("aten::full_like.out", "memory formats"),
    ("aten::index_put_", "a value without dimensions"),
    ("aten::linear.out", "a vector, a bias of other than one dimension"),
    ("aten::masked_scatter.out", "the case has fewer numbers than the mask needs"),
    ("aten::mul.out", "complex numbers without dimensions"),
    ("aten::narrow_copy.out", "a negative start"),
    ("aten::native_dropout.out", "`train` is None"),
    ("aten::pow.Scalar_out", "truth values"),
    ("aten::pow.Tensor_Scalar_out", "truth values"),
    ("aten::remainder.Scalar_out", "truth values"),
    ("aten::repeat_interleave.Tensor_out", "an output size that is not the sum of the repeats"),
    ("aten::roll.out", "no dimensions are given"),
    ("aten::sub.out", "complex numbers without dimensions"),
    ("aten::sum.IntList_out", "no dimensions"),
    ("aten::sym_size.int", "a negative dimension"),
    ("dim_order_ops::_to_dim_order_copy.out", "a copy that does not block"),
    ("executorch_prim::et_copy_index.tensor", "an index beyond the rows written before"),
    ("quantized_decomposed::choose_qparams_per_token_asymmetric.out", "no dimensions"),
    ("quantized_decomposed::dequantize_per_token.out", "one scale for several rows"),
    ("quantized_decomposed::mixed_linear.out", "zero points"),
];

/// Why a call fails with any out, as far as the other calls of the operator say it.
fn reason(run: &Run<'_, '_>, runs: &[Run<'_, '_>]) -> &'static str {
    let executed = |same: &dyn Fn(&Run<'_, '_>) -> bool| runs.iter().any(|run| run.outputs().is_some() && same(run));
    let is_permuted = |run: &Run<'_, '_>| run.args().contains('{');
    let is_empty = |run: &Run<'_, '_>| run.args().split(['[', ',', ']', ';', ' ']).any(|word| word == "0");
    match () {
        () if !executed(&|_| true) => "no call of the operator is executed",
        () if !executed(&|other| other.types() == run.types()) => "element types",
        () if is_permuted(run) => "dim_order",
        () if is_empty(run) => "no elements",
        () => "other",
    }
}

/// Calls that the runner executes and the constraints reject: operator, part of the arguments, reason.
const REJECTED: &[(&str, &str, &str)] = &[
    ("aten::div.out", "c64", READS_BEYOND),
    ("aten::div.out_mode", "c64", READS_BEYOND),
    ("quantized_decomposed::embedding_2bit.out", "f16[5]", READS_SCALES_BEYOND),
    ("quantized_decomposed::embedding_4bit.out", "f16[5]", READS_SCALES_BEYOND),
    ("quantized_decomposed::embedding_byte.out", "f16[5]", READS_SCALES_BEYOND),
];

const READS_BEYOND: &str =
    "the kernel reads the smaller operand as complex numbers, beyond its end; the runner has no guard pages";
const READS_SCALES_BEYOND: &str =
    "the kernel reads the scales as the element type of the out; the runner has no guard pages";

/// Every call that torch accepts is executed with the inferred outs, or fails with any.
#[test]
#[ignore = "needs the runtime"]
fn calls_are_executed_with_the_inferred_outs() {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    let mut differences: BTreeSet<(&'static str, String)> = BTreeSet::new();
    let mut listed = String::new();
    let mut wrong = String::new();
    let mut unsupported: BTreeMap<(&'static str, String), BTreeSet<String>> = BTreeMap::new();
    each_operator(false, |name, runs, not_inferred| {
        let pte_operators::Operator { signature, constraints: kernel, .. } = pte_operators::find(name).unwrap();
        *counts.entry("operators".to_owned()).or_default() += 1;
        *counts.entry("cases".to_owned()).or_default() += runs.len() + not_inferred;
        *counts.entry("not inferred: the sizes depend on data".to_owned()).or_default() += not_inferred;
        let mut tried = BTreeSet::new();
        let (mut variants, mut labels) = (Vec::new(), Vec::new());
        for (at, run) in runs.iter().enumerate() {
            match &run.execution {
                Execution::Executed(outputs) => {
                    *counts.entry("executed".to_owned()).or_default() += 1;
                    if let Err(refused) = constraints::check(kernel, &Call::new(signature, &run.with_outs(signature)))
                        && !REJECTED.iter().any(|(operator, part, _)| *operator == name && run.args().contains(part))
                    {
                        writeln!(wrong, "{name} {}: executed, but {refused:?}", run.case.text).unwrap();
                    }
                    for (meta, output) in run.metas.iter().zip(outputs) {
                        if !meta.as_ref().is_none_or(|meta| is_within(output, meta)) {
                            writeln!(wrong, "{name} {}: {output:?}", run.case.text).unwrap();
                        }
                    }
                }
                Execution::Rejected(message) => writeln!(wrong, "{name} {}: {message}", run.case.text).unwrap(),
                Execution::Failed(_) | Execution::Ended(_) => {
                    for (property, change) in other_outs(run, tried.insert((run.types(), run.args().contains("[]")))) {
                        variants.push((&run.method, Some(change)));
                        labels.push((at, property));
                    }
                }
            }
        }
        let executions = execute_all(variants);
        let mut others: BTreeMap<usize, BTreeSet<&'static str>> = BTreeMap::new();
        for ((at, property), execution) in labels.into_iter().zip(executions) {
            if matches!(execution, Execution::Executed(_)) {
                others.entry(at).or_default().insert(property);
            }
        }
        for (at, run) in runs.iter().enumerate() {
            let other = others.get(&at);
            match (&run.execution, other) {
                (Execution::Executed(_) | Execution::Rejected(_), _) => {}
                (_, Some(properties)) => {
                    *counts.entry("executed with another out only".to_owned()).or_default() += 1;
                    writeln!(listed, "{name} {}: {properties:?}", run.case.text).unwrap();
                    differences.extend(properties.iter().map(|property| (*property, name.to_owned())));
                }
                (_, None) => {
                    let reason = reason(run, runs);
                    *counts.entry(format!("fails with any out: {reason}")).or_default() += 1;
                    let what = if reason == "element types" { run.types() } else { run.args().to_owned() };
                    unsupported.entry((reason, name.to_owned())).or_default().insert(what);
                }
            }
        }
    });
    for ((reason, name), what) in &unsupported {
        println!("{reason}: {name}: {}", what.iter().map(String::as_str).collect::<Vec<_>>().join("; "));
    }
    println!("executed with another out only:\n{listed}");
    counts.iter().for_each(|(what, count)| println!("{count:6} {what}"));
    assert!(wrong.is_empty(), "{wrong}");
    if std::env::var_os("PTE_EMIT_OPERATOR").is_some() {
        return;
    }
    let expected =
        OTHER_OUTS.iter().flat_map(|(property, names, _)| names.iter().map(|name| (*property, (*name).to_owned())));
    assert_eq!(differences, expected.collect());
    for (reason, table) in [("no call of the operator is executed", NOT_IMPLEMENTED), ("other", PARTLY_IMPLEMENTED)] {
        let found: Vec<&str> =
            unsupported.keys().filter(|(found, _)| *found == reason).map(|(_, name)| &**name).collect();
        assert_eq!(found, table.iter().map(|(name, _)| *name).collect::<Vec<_>>(), "{reason}");
    }
}

/// Returns true if an output has the inferred sizes, or smaller ones where they are dynamic.
fn is_within(output: &Value, meta: &TensorMeta) -> bool {
    let Value::Tensor { sizes, scalar_type, .. } = output else { return false };
    let fits =
        |(size, dim): (&i32, &Dim)| i64::from(*size) == dim.size || (dim.dynamic && i64::from(*size) <= dim.size);
    *scalar_type == meta.scalar_type && sizes.len() == meta.sizes.len() && sizes.iter().zip(&meta.sizes).all(fits)
}

/// Arguments without their sizes and orders.
fn without_sizes(args: &str) -> String {
    let mut text = String::new();
    let mut open = false;
    for char in args.chars() {
        match char {
            '[' | '{' => open = true,
            ']' | '}' => open = false,
            _ if open => {
                if !text.ends_with('#') {
                    text.push('#');
                }
                continue;
            }
            _ => {}
        }
        text.push(char);
    }
    text
}

fn numbers(value: &Value) -> Option<Vec<f64>> {
    let Value::Tensor { scalar_type, bytes, .. } = value else { return None };
    let size = scalar_type.info()?.size as usize;
    bytes.as_ref()?.chunks(size).map(|bytes| Some(number::decode(*scalar_type, bytes)?.to_f64())).collect()
}

/// Operators whose results are random.
const RANDOM: &[&str] = &["aten::rand.out", "aten::randn.out"];

/// Returns true if an out of another element type has the numbers of the result, as far as that type has them.
fn is_converted(result: &Value, other: &Value) -> bool {
    let (Some(from), Some(to)) = (numbers(result), numbers(other)) else { return false };
    let Value::Tensor { scalar_type, .. } = other else { return false };
    let name = scalar_type.to_string();
    let same = |(from, to): (&f64, &f64)| match &*name {
        // Conversions of other numbers differ between kernels.
        _ if !from.is_finite() || from.abs() > 100.0 || (from.fract() != 0.0 && from.abs() < 1.0) => true,
        "bool" => *to == f64::from(u8::from(*from != 0.0)),
        "uint8" if *from < 0.0 => true,
        _ if name.starts_with("int") || name == "uint8" => *to == from.trunc(),
        _ => (from - to).abs() <= 0.02 * from.abs(),
    };
    from.len() == to.len() && from.iter().zip(&to).all(same)
}

/// Operators whose kernels do not compare the type of the out with that of the result in some calls: they write numbers
/// of the latter.
const UNCHECKED: &[&str] = &[
    "aten::cat.out",
    "aten::split_with_sizes_copy.out",
    "quantized_decomposed::dequantize_per_channel.out",
    "quantized_decomposed::embedding_2bit.out",
    "quantized_decomposed::embedding_4bit.out",
    "quantized_decomposed::embedding_byte.out",
];

/// Operators with accepted outs into which no call of the sample writes, each with the reason.
const WITHOUT_CALL: &[(&str, &str)] = &[
    ("aten::abs.out", "only the absolute values of complex numbers are converted"),
    ("aten::cumsum.out", "a result of truth values is one that the call requests"),
    ("aten::div.Scalar_mode_out", "the sampled quotients are those of truth values"),
    ("aten::prod.int_out", "a result of truth values is one that the call requests"),
    ("aten::sum.IntList_out", "a result of truth values is one that the call requests"),
    ("aten::where.self_out", "only operands without dimensions give such results"),
    ("dim_order_ops::_to_dim_order_copy.out", "the kernel has no code for a copy of integers to complex numbers"),
];

/// What is executed with an out of another element type is accepted; what never is, is not.
#[test]
#[ignore = "needs the runtime"]
fn accepted_types_of_outs_are_those_of_the_kernels() {
    let mut refused: BTreeSet<String> = BTreeSet::new();
    let mut never: BTreeSet<String> = BTreeSet::new();
    let mut unchecked: BTreeSet<String> = BTreeSet::new();
    let mut executed = 0;
    each_operator(true, |name, runs, _| {
        let mut tried = BTreeSet::new();
        let (mut variants, mut labels) = (Vec::new(), Vec::new());
        for run in runs {
            let Some(outputs) = run.outputs() else { continue };
            let inferred: Vec<i8> = run.metas.iter().flatten().map(|meta| meta.scalar_type.0).collect();
            if !tried.insert(inferred.clone()) {
                continue;
            }
            let inferred: BTreeSet<i8> = inferred.into_iter().collect();
            for scalar_type in TYPES {
                // Lists have one type; of several outs, each has its own.
                let groups: Vec<std::ops::Range<usize>> = match inferred.len() {
                    1 => vec![0..outputs.len(), 0..1],
                    _ => (0..outputs.len()).map(|at| at..at + 1).collect(),
                };
                for range in groups {
                    let Some(meta) = run.metas.get(range.start).and_then(Option::as_ref) else { continue };
                    // Kernels of quotients write complex numbers into any out.
                    if meta.scalar_type != scalar_type && category(meta.scalar_type) != "complex" {
                        let changed = range.clone();
                        let change = with_type(move |number| changed.contains(&number), scalar_type);
                        variants.push((&run.method, Some(change)));
                        labels.push((run, range, meta.scalar_type, scalar_type));
                    }
                }
            }
        }
        let executions = execute_all(variants);
        let mut accepted: BTreeMap<(&str, &str), bool> = BTreeMap::new();
        for ((run, range, from, to), execution) in labels.into_iter().zip(executions) {
            let accepts = pte_operators::facts(name).conversion.accepts(from, to);
            let outputs = run.outputs().unwrap();
            let ok = match &execution {
                Execution::Executed(found) => {
                    executed += 1;
                    if !RANDOM.contains(&name) && !range.clone().all(|at| is_converted(&outputs[at], &found[at])) {
                        unchecked.insert(name.to_owned());
                    } else if !accepts {
                        refused.insert(format!("{name} {from} {to}: {}", run.case.text));
                    }
                    true
                }
                Execution::Failed(_) | Execution::Ended(_) | Execution::Rejected(_) => false,
            };
            if accepts {
                *accepted.entry((category(from), category(to))).or_default() |= ok;
            }
        }
        never.extend(accepted.iter().filter(|(_, ok)| !**ok).map(|((from, to), _)| {
            println!("no call with a result of {from} and an out of {to}: {name}");
            name.to_owned()
        }));
    });
    println!("{executed} calls executed with outs of other types");
    assert!(refused.is_empty(), "{refused:#?}");
    if std::env::var_os("PTE_EMIT_OPERATOR").is_none() {
        let found: Vec<&String> = unchecked.iter().filter(|name| !UNCHECKED.contains(&&***name)).collect();
        assert!(found.is_empty(), "numbers that are not the result: {found:?}");
        assert_eq!(
            never.into_iter().collect::<Vec<_>>(),
            WITHOUT_CALL.iter().map(|(name, _)| *name).collect::<Vec<_>>()
        );
    }
}

/// Category of an element type.
fn category(scalar_type: ScalarType) -> &'static str {
    let name = scalar_type.to_string();
    let is = |part: &&&str| name.contains(**part);
    ["bool", "int", "float", "complex"].iter().find(is).copied().unwrap_or_default()
}

/// Operators whose kernels do not resize an out, or only one that has the sizes of the result already.
const FIXED: &[&str] = &[
    "aten::_upsample_bilinear2d_aa.out",
    "aten::max.dim_max",
    "aten::min.dim_min",
    "aten::split_copy.Tensor_out",
    "aten::unbind_copy.int_out",
    "executorch_prim::et_view.default",
    "quantized_decomposed::add.out",
    "quantized_decomposed::choose_qparams.Tensor_out",
];

/// Operators whose kernels do not compare the rank of an out: they read sizes of the result beyond their end, so that
/// the call fails, or leaves other sizes than those of the result, depending on what is there.
const ANY_RANK: &[&str] = &[
    "aten::view_as_real_copy.out",
    "quantized_decomposed::choose_qparams.Tensor_out",
    "quantized_decomposed::embedding_2bit.dtype_out",
    "quantized_decomposed::embedding_2bit.out",
    "quantized_decomposed::embedding_4bit.dtype_out",
    "quantized_decomposed::embedding_4bit.out",
    "quantized_decomposed::embedding_byte.dtype_out",
    "quantized_decomposed::embedding_byte.out",
];

/// A declared out is a mismatch if the kernel fails to resize it.
#[test]
#[ignore = "needs the runtime"]
fn mismatches_of_sizes_are_those_of_the_kernels() {
    let (mut refused, mut fixed) = (BTreeSet::new(), BTreeSet::new());
    let mut total = 0;
    each_operator(true, |name, runs, _| {
        let operator = ResolvedOperator::find(name, None).unwrap();
        let mut tried = BTreeSet::new();
        let (mut variants, mut labels) = (Vec::new(), Vec::new());
        for run in runs {
            for (out, output) in run.outputs().unwrap_or_default().iter().enumerate() {
                let (Value::Tensor { sizes, .. }, Some(Some(meta))) = (output, run.metas.get(out)) else { continue };
                let is_dynamic = meta.sizes.iter().any(|dim| dim.dynamic);
                if is_dynamic || sizes.is_empty() || sizes.contains(&0) || !tried.insert(out) {
                    continue;
                }
                for (dynamism, sizes) in other_sizes(sizes) {
                    let mut tensor = Tensor::new(meta.scalar_type, &sizes);
                    tensor.shape_dynamism = dynamism;
                    labels.push((
                        run,
                        dynamism,
                        sizes.clone(),
                        inference::mismatch(&tensor, meta, &operator).is_some(),
                    ));
                    let change: Change = Box::new(move |number, tensor| {
                        if number == out {
                            tensor.dim_order = Some(DimOrder::contiguous(sizes.len()));
                            tensor.shape_dynamism = dynamism;
                            tensor.sizes = Some(sizes.clone().into());
                        }
                    });
                    variants.push((&run.method, Some(change)));
                }
            }
        }
        total += variants.len();
        for ((run, dynamism, sizes, mismatch), execution) in labels.into_iter().zip(execute_all(variants)) {
            let set = match (matches!(execution, Execution::Executed(_)), mismatch) {
                (true, true) => &mut refused,
                (false, false) => &mut fixed,
                (true, false) | (false, true) => continue,
            };
            set.insert(name.to_owned());
            println!("{name} {}: dynamism {dynamism}, sizes {sizes:?}: {execution:?}", run.case.text);
        }
    });
    println!("{total} outs of other sizes");
    if std::env::var_os("PTE_EMIT_OPERATOR").is_none() {
        let others: Vec<&String> = refused.iter().filter(|name| !ANY_RANK.contains(&name.as_str())).collect();
        assert_eq!(others, [""; 0], "kernels execute calls whose outs are mismatches");
        assert_eq!(fixed.iter().map(String::as_str).collect::<Vec<_>>(), FIXED);
    }
}

/// Dynamism and sizes of outs that differ from those of a result: static ones, and bounds.
fn other_sizes(sizes: &[i32]) -> Vec<(TensorShapeDynamism, Vec<i32>)> {
    let mut more = sizes.to_vec();
    more.push(1);
    let mut lists: Vec<Vec<i32>> =
        vec![sizes.iter().rev().copied().collect(), sizes.iter().map(|size| size + 1).collect(), more];
    let mut smaller = sizes.to_vec();
    if let Some(size) = smaller.iter_mut().find(|size| **size > 1) {
        *size -= 1;
        lists.push(smaller);
    }
    if !sizes.is_empty() {
        let mut flat = vec![1; sizes.len()];
        flat[0] = sizes.iter().product();
        lists.push(flat);
    }
    lists.retain(|list| list != sizes);
    let bound = |list: &[i32]| (TensorShapeDynamism::DYNAMIC_BOUND, list.to_vec());
    let bounds: Vec<_> = lists.iter().map(|list| bound(list)).chain([bound(sizes)]).collect();
    lists.into_iter().map(|list| (TensorShapeDynamism::STATIC, list)).chain(bounds).collect()
}
