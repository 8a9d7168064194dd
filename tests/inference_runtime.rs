//! Inference against the real ExecuTorch runtime: calls that torch accepts (`tests/inference/cases.txt`) are executed with outs that have
//! the inferred properties. A kernel resizes its out, so that one with other sizes fails.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::Path;

use pte_emit::data::number::{self, NumericValue};
use pte_emit::format::ScalarType;
use pte_emit::operators::inference::{Argument, Dim, IntMeta, ResultMeta, TensorMeta, infer, out_type};
use pte_emit::operators::{self, Base, Role, Signature};
use pte_emit::program::{EValue, Tensor};
use pte_emit::{Options, Resolved, Source};

#[path = "inference/cases.rs"]
mod cases;
mod support;

use cases::{Case, Outcome};
use support::runner::{self, Mode, Value};

const MODE: Mode = Mode { verify: "full", loader: "file" };

/// A method with one call.
struct Method {
    yaml: String,
    /// Lines of the script that set its inputs.
    inputs: String,
}

/// Change of the outs of a call that the inference completed.
type Change = Box<dyn Fn(usize, &mut Tensor)>;

/// Result of the execution of a method.
#[derive(Debug, Clone, PartialEq)]
enum Outcome_ {
    /// Its outputs.
    Executed(Vec<Value>),
    /// Answer with an error.
    Failed(String),
    /// The process ended.
    Ended(String),
    /// The assembler's message.
    Rejected(String),
}

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
    fn new(name: &str, operator: &str, signature: &Signature, case: &Case<'_>, results: &[ResultMeta]) -> Method {
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
            "  {name}:\n    values:\n{values}    inputs: [{}]\n    outputs: [{outputs}]\n    instructions:\n      - {{kernel: {operator}, args: [{}]{out}}}\n",
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
        let order = commas(&tensor.dim_order);
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

/// Executes methods, each with a change of its outs; a process that ends is started again with the next method.
fn execute(runner: &Path, methods: &[(&Method, Option<Change>)]) -> Vec<Outcome_> {
    let mut yaml = "methods:\n".to_owned();
    for (number, (method, _)) in methods.iter().enumerate() {
        yaml += &method.yaml.replacen("  m:\n", &format!("  m{number}:\n"), 1);
    }
    if methods.is_empty() {
        return Vec::new();
    }
    let source = Source::yaml("calls.yaml", &yaml, ".");
    let mut resolved: Resolved<'_> = match pte_emit::parse(&source).and_then(pte_emit::resolve) {
        Ok(resolved) => resolved,
        Err(error) if methods.len() == 1 => return vec![Outcome_::Rejected(error.to_string())],
        Err(_) => return methods.chunks(1).flat_map(|method| execute(runner, method)).collect(),
    };
    for (plan, (_, change)) in resolved.program.execution_plan.iter_mut().flatten().zip(methods) {
        let Some(change) = change else { continue };
        let outputs = plan.outputs.clone().unwrap_or_default();
        let values = plan.values.as_mut().unwrap();
        for (number, output) in outputs.iter().enumerate() {
            if let EValue::Tensor(tensor) = &mut values[usize::try_from(*output).unwrap()] {
                change(number, tensor);
            }
        }
    }
    let assembly = match pte_emit::plan(resolved, &Options::default()).and_then(pte_emit::emit) {
        Ok(assembly) => assembly,
        Err(error) if methods.len() == 1 => return vec![Outcome_::Rejected(error.to_string())],
        Err(_) => return methods.chunks(1).flat_map(|method| execute(runner, method)).collect(),
    };
    let folder = tempfile::tempdir().unwrap();
    let (pte, _) = support::files::write(&assembly, folder.path()).unwrap();
    let mut outcomes = Vec::new();
    while outcomes.len() < methods.len() {
        let first = outcomes.len();
        let mut script = String::new();
        for (number, (method, _)) in methods.iter().enumerate().skip(first) {
            write!(script, "load m{number}\n{}execute\noutputs\n", method.inputs).unwrap();
        }
        let ended = runner::start(runner, &pte, &[], MODE, &script).unwrap();
        // A library that the kernels call prints messages among the answers.
        let answers = ended.answers.iter().map(String::as_str).skip(1);
        let mut answers = answers.filter(|answer| !answer.starts_with("Eigen BLAS ERROR"));
        assert_eq!(ended.answers.first().map(String::as_str), Some("program ok"));
        for (method, _) in &methods[first..] {
            let Some(outcome) = outcome(&mut answers, method) else {
                outcomes.push(Outcome_::Ended(ended.status.to_string()));
                break;
            };
            outcomes.push(outcome);
        }
    }
    outcomes
}

/// Reads the answers about a method; `None` if they end.
fn outcome<'t>(answers: &mut impl Iterator<Item = &'t str>, method: &Method) -> Option<Outcome_> {
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
    Some(failure.map_or(Outcome_::Executed(outputs), Outcome_::Failed))
}

const TYPES: [ScalarType; 11] = [
    ScalarType(0),
    ScalarType(1),
    ScalarType(2),
    ScalarType(3),
    ScalarType(4),
    ScalarType(5),
    ScalarType(6),
    ScalarType(7),
    ScalarType(9),
    ScalarType(11),
    ScalarType(15),
];

fn split(list: Vec<(&Method, Option<Change>)>) -> Vec<Vec<(&Method, Option<Change>)>> {
    let mut lists = vec![Vec::new()];
    for item in list {
        if lists.last().unwrap().len() >= 200 {
            lists.push(Vec::new());
        }
        lists.last_mut().unwrap().push(item);
    }
    lists
}

#[test]
#[ignore = "needs the runtime"]
fn explore() {
    let runner = runner::locate();
    let file = cases::file();
    let only = std::env::var("ONLY").ok();
    let limit: usize = std::env::var("LIMIT").ok().and_then(|n| n.parse().ok()).unwrap_or(usize::MAX);
    let mut totals = BTreeMap::<&str, usize>::new();
    for (name, (signature, cases)) in cases::cases(&file) {
        if operators::library(name).is_some() || only.as_ref().is_some_and(|only| !name.contains(&**only)) {
            continue;
        }
        let mut methods = Vec::new();
        for case in &cases {
            if case.outcome == Outcome::Error || methods.len() >= limit {
                continue;
            }
            let Ok(results) = infer(name, &case.arguments()) else {
                println!("{name} {}: not inferred", case.text);
                continue;
            };
            methods.push((case, Method::new("m", name, &signature, case, &results), results));
        }
        let list: Vec<(&Method, Option<Change>)> = methods.iter().map(|(_, method, _)| (method, None)).collect();
        let outcomes = execute(&runner, &list);
        let failing: Vec<usize> =
            (0..methods.len()).filter(|at| !matches!(outcomes[*at], Outcome_::Executed(_))).collect();
        let mut variants: Vec<(usize, String, Change)> = Vec::new();
        for &at in &failing {
            let (case, _, results) = &methods[at];
            if matches!(outcomes[at], Outcome_::Rejected(_)) {
                println!("REJECTED {name} {}: {:?}", case.text, outcomes[at]);
                continue;
            }
            let outs = results
                .iter()
                .map(|result| match result {
                    ResultMeta::Tensors(items) => items.len(),
                    _ => 1,
                })
                .sum::<usize>();
            for code in TYPES {
                variants.push((at, format!("all {code}"), Box::new(move |_, tensor| tensor.scalar_type = code)));
                for out in (0..outs).filter(|_| outs > 1) {
                    variants.push((
                        at,
                        format!("out {out} {code}"),
                        Box::new(move |number, tensor| {
                            if number == out {
                                tensor.scalar_type = code
                            }
                        }),
                    ));
                }
            }
            variants.push((
                at,
                "larger".to_owned(),
                Box::new(|_, tensor| {
                    tensor.shape_dynamism = 1;
                    let sizes: Vec<i32> = tensor.sizes.as_deref().unwrap().iter().map(|size| size + 4).collect();
                    tensor.sizes = Some(sizes.into());
                }),
            ));
            let mut orders: Vec<Vec<u8>> = vec![vec![0, 2, 3, 1], vec![0, 2, 3, 4, 1]];
            for arg in case.arguments() {
                if let Argument::Tensor(tensor) = arg {
                    orders.push(tensor.dim_order.clone());
                }
            }
            for rank in 1..7 {
                orders.push((0..rank).collect());
            }
            orders.sort();
            orders.dedup();
            for order in orders {
                let fits = results.iter().any(|result| match result {
                    ResultMeta::Tensor(tensor) => tensor.dim_order.len() == order.len() && tensor.dim_order != order,
                    _ => false,
                });
                if !fits {
                    continue;
                }
                variants.push((
                    at,
                    format!("order {order:?}"),
                    Box::new(move |_, tensor| {
                        if tensor.sizes.as_deref().unwrap().len() == order.len() {
                            tensor.dim_order = Some(order.clone().into());
                        }
                    }),
                ));
            }
        }
        let mut groups = Vec::new();
        let names: Vec<(usize, String)> = variants.iter().map(|(at, text, _)| (*at, text.clone())).collect();
        let list: Vec<(&Method, Option<Change>)> =
            variants.into_iter().map(|(at, _, change)| (&methods[at].1, Some(change))).collect();
        for chunk in split(list) {
            groups.extend(execute(&runner, &chunk));
        }
        let mut passing: BTreeMap<usize, Vec<(String, Outcome_)>> = BTreeMap::new();
        for ((at, text), outcome) in names.into_iter().zip(groups) {
            if let Outcome_::Executed(_) = outcome {
                passing.entry(at).or_default().push((text, outcome));
            }
        }
        for (at, outcome) in outcomes.iter().enumerate() {
            let text = methods[at].0.text;
            if let Outcome_::Executed(outputs) = outcome {
                *totals.entry("executed").or_default() += 1;
                let mut found = Vec::new();
                for result in &methods[at].2 {
                    match result {
                        ResultMeta::Tensor(meta) => found.push(meta.clone()),
                        ResultMeta::Tensors(metas) => found.extend(metas.iter().cloned()),
                        _ => {}
                    }
                }
                for (meta, output) in found.iter().zip(outputs) {
                    if let Value::Tensor { sizes, .. } = output {
                        let same = sizes.len() == meta.sizes.len()
                            && sizes.iter().zip(&meta.sizes).all(|(size, dim): (&i32, &Dim)| {
                                i64::from(*size) == dim.size || dim.dynamic && i64::from(*size) <= dim.size
                            });
                        if !same {
                            println!("SIZES {name} {text}: {sizes:?}");
                        }
                    }
                }
            } else if let Some(passing) = passing.get(&at) {
                *totals.entry("other").or_default() += 1;
                let texts: Vec<String> = passing
                    .iter()
                    .map(|(text, outcome)| match outcome {
                        Outcome_::Executed(values) if text == "larger" => {
                            let sizes = values.iter().map(|value| match value {
                                Value::Tensor { sizes, .. } => format!("{sizes:?}"),
                                _ => String::new(),
                            });
                            format!("larger -> {}", commas(sizes))
                        }
                        _ => text.clone(),
                    })
                    .collect();
                println!("OTHER {name} {text}: {texts:?}");
            } else {
                *totals.entry("unsupported").or_default() += 1;
                println!("UNSUPPORTED {name} {text}: {outcome:?}");
            }
        }
    }
    println!("{totals:?}");
}

fn numbers(value: &Value) -> Option<Vec<f64>> {
    let Value::Tensor { scalar_type, bytes, .. } = value else { return None };
    let size = scalar_type.info()?.size as usize;
    bytes.as_ref()?.chunks(size).map(|bytes| number::decode(*scalar_type, bytes).map(NumericValue::to_f64)).collect()
}

/// `None` if the data say nothing.
fn converted(exact: &Value, other: &Value) -> Option<bool> {
    let (from, to) = (numbers(exact)?, numbers(other)?);
    let Value::Tensor { scalar_type, .. } = other else { return None };
    if from.len() != to.len() {
        return Some(false);
    }
    let name = scalar_type.to_string();
    let mut informative = false;
    for (a, b) in from.iter().zip(&to) {
        if !a.is_finite() || a.abs() > 100.0 || (a.fract() != 0.0 && a.abs() < 1.0) {
            continue;
        }
        let expected = match &*name {
            "bool" => f64::from(u8::from(*a != 0.0)),
            _ if name.starts_with("uint") => f64::from(a.trunc() as i64 as u8),
            _ if name.starts_with("int") => a.trunc(),
            _ => *a,
        };
        if (expected - b).abs() > 0.02 * expected.abs() {
            return Some(false);
        }
        informative |= expected != 0.0;
    }
    informative.then_some(true)
}

#[test]
#[ignore = "needs the runtime"]
fn explore_types() {
    let runner = runner::locate();
    let file = cases::file();
    let only = std::env::var("ONLY").ok();
    for (name, (signature, cases)) in cases::cases(&file) {
        if operators::library(name).is_some() || only.as_ref().is_some_and(|only| !name.contains(&**only)) {
            continue;
        }
        let mut methods = Vec::new();
        let mut keys = BTreeSet::new();
        for case in &cases {
            if case.outcome == Outcome::Error || !keys.insert(key(case)) {
                continue;
            }
            let Ok(results) = infer(name, &case.arguments()) else { continue };
            methods.push((case, Method::new("m", name, &signature, case, &results), results));
        }
        let list: Vec<(&Method, Option<Change>)> = methods.iter().map(|(_, method, _)| (method, None)).collect();
        let outcomes = execute(&runner, &list);
        let mut variants = Vec::new();
        let mut labels = Vec::new();
        for (at, outcome) in outcomes.iter().enumerate() {
            let Outcome_::Executed(outputs) = outcome else { continue };
            for (out, output) in outputs.iter().enumerate() {
                let Value::Tensor { scalar_type: from, .. } = output else { continue };
                for to in TYPES.into_iter().filter(|to| to != from) {
                    labels.push((at, out, *from, to));
                    let change: Change = Box::new(move |number, tensor: &mut Tensor| {
                        if number == out {
                            tensor.scalar_type = to;
                        }
                    });
                    variants.push((&methods[at].1, Some(change)));
                }
            }
        }
        let mut results = Vec::new();
        for chunk in split(variants) {
            results.extend(execute(&runner, &chunk));
        }
        for ((at, out, from, to), result) in labels.into_iter().zip(results) {
            let verdict = match (&result, &outcomes[at]) {
                (Outcome_::Executed(found), Outcome_::Executed(exact)) => match converted(&exact[out], &found[out]) {
                    Some(true) => "converted",
                    Some(false) => "garbage",
                    None => "executed",
                },
                (Outcome_::Ended(_), _) => "ended",
                _ => "failed",
            };
            let accepted = out_type::accepts(name, from, to);
            println!("TYPE\t{name}\t{out}\t{from}\t{to}\t{verdict}\t{accepted}\t{}", methods[at].0.text);
        }
    }
}

/// The arguments of a case without sizes.
fn key(case: &Case<'_>) -> String {
    let args = case.text.split("->").next().unwrap();
    let mut key = String::new();
    let mut depth = None;
    for char in args.chars() {
        match (char, depth) {
            ('[' | '{', _) => {
                key.push(char);
                depth = Some(char);
            }
            (']' | '}', _) => {
                key.push(char);
                depth = None;
            }
            (_, Some(_)) => {
                if !key.ends_with('n') {
                    key.push('n');
                }
            }
            _ => key.push(char),
        }
    }
    key
}

#[test]
#[ignore = "needs the runtime"]
fn explore_sizes() {
    let runner = runner::locate();
    let file = cases::file();
    let only = std::env::var("ONLY").ok();
    for (name, (signature, cases)) in cases::cases(&file) {
        if operators::library(name).is_some() || only.as_ref().is_some_and(|only| !name.contains(&**only)) {
            continue;
        }
        let mut methods = Vec::new();
        for case in &cases {
            if case.outcome == Outcome::Error {
                continue;
            }
            let Ok(results) = infer(name, &case.arguments()) else { continue };
            methods.push((case, Method::new("m", name, &signature, case, &results), results));
        }
        let list: Vec<(&Method, Option<Change>)> = methods.iter().map(|(_, method, _)| (method, None)).collect();
        let outcomes = execute(&runner, &list);
        let mut variants = Vec::new();
        let mut labels = Vec::new();
        let mut keys = BTreeSet::new();
        for (at, outcome) in outcomes.iter().enumerate() {
            let Outcome_::Executed(outputs) = outcome else { continue };
            if methods[at].0.text.contains('{') || methods[at].0.text.contains("[]") {
                continue;
            }
            for (out, output) in outputs.iter().enumerate() {
                let Value::Tensor { sizes, scalar_type, .. } = output else { continue };
                if sizes.contains(&0) || !keys.insert((out, sizes.len())) {
                    continue;
                }
                let reversed: Vec<i32> = sizes.iter().rev().copied().collect();
                let larger: Vec<i32> = sizes.iter().map(|size| size + 1).collect();
                let mut first_larger = sizes.clone();
                if let Some(size) = first_larger.first_mut() {
                    *size += 1;
                }
                let mut smaller = sizes.clone();
                if let Some(size) = smaller.iter_mut().find(|size| **size > 1) {
                    *size -= 1;
                }
                let mut one_more = sizes.clone();
                one_more.push(1);
                let mut flat_first = vec![1; sizes.len()];
                if let Some(first) = flat_first.first_mut() {
                    *first = sizes.iter().product();
                }
                let meta = TensorMeta {
                    scalar_type: *scalar_type,
                    sizes: sizes.iter().map(|size| Dim::fixed(i64::from(*size))).collect(),
                    dim_order: Vec::new(),
                };
                for (label, dynamism, sizes) in [
                    ("static reversed", 0, reversed.clone()),
                    ("static larger", 0, first_larger.clone()),
                    ("static smaller", 0, smaller.clone()),
                    ("static rank+1", 0, one_more.clone()),
                    ("static same count", 0, flat_first.clone()),
                    ("bound reversed", 1, reversed),
                    ("bound larger", 1, larger),
                    ("bound smaller", 1, smaller),
                    ("bound rank+1", 1, one_more),
                    ("bound same count", 1, flat_first),
                    ("bound same", 1, sizes.clone()),
                    ("unbound same", 2, sizes.clone()),
                ] {
                    if (dynamism == 0 || !label.ends_with("same"))
                        && sizes.iter().map(|s| i64::from(*s)).eq(meta.sizes.iter().map(|d| d.size))
                    {
                        continue;
                    }
                    let mut tensor = Tensor::new(*scalar_type, &sizes);
                    tensor.shape_dynamism = dynamism;
                    let mismatch = pte_emit::transform::inference::mismatch(&tensor, &meta, name).is_some();
                    labels.push((at, out, label, mismatch, sizes.clone()));
                    let change: Change = Box::new(move |number, tensor: &mut Tensor| {
                        if number == out {
                            tensor.shape_dynamism = dynamism;
                            if tensor.dim_order.as_deref().unwrap().len() != sizes.len() {
                                tensor.dim_order = Some((0..sizes.len() as u8).collect::<Vec<u8>>().into());
                            }
                            tensor.sizes = Some(sizes.clone().into());
                        }
                    });
                    variants.push((&methods[at].1, Some(change)));
                }
            }
        }
        let mut results = Vec::new();
        for chunk in split(variants) {
            results.extend(execute(&runner, &chunk));
        }
        for ((at, out, label, mismatch, sizes), result) in labels.into_iter().zip(results) {
            let (executed, found) = match &result {
                Outcome_::Executed(values) => (
                    true,
                    match (
                        &values[out],
                        match &outcomes[at] {
                            Outcome_::Executed(exact) => &exact[out],
                            _ => unreachable!(),
                        },
                    ) {
                        (Value::Tensor { sizes, .. }, Value::Tensor { sizes: exact, .. }) => {
                            if sizes == exact {
                                "resized".to_owned()
                            } else {
                                format!("{sizes:?}")
                            }
                        }
                        _ => String::new(),
                    },
                ),
                other => (false, format!("{other:?}")),
            };
            println!(
                "SIZE\t{name}\t{out}\t{label}\t{executed}\t{}\t{sizes:?}\t{found}\t{}",
                !mismatch, methods[at].0.text
            );
        }
    }
}
