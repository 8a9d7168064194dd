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
                    ResultMeta::Tensor(_) | ResultMeta::Int(_) | ResultMeta::Scalar => 1,
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
    let planned = pte_emit::plan(resolved, &Options::default()).unwrap_or_else(|error| panic!("{error}\n{yaml}"));
    let assembly = pte_emit::emit(planned).unwrap_or_else(|error| panic!("{error}\n{yaml}"));
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
        let mut answers = ended.answers.iter().map(String::as_str).skip(1).peekable();
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
        let mut counts = [0; 4];
        for ((case, _, _), outcome) in methods.iter().zip(&outcomes) {
            let (at, text) = match outcome {
                Outcome_::Executed(_) => (0, String::new()),
                Outcome_::Failed(answer) => (1, answer.clone()),
                Outcome_::Ended(status) => (2, status.clone()),
                Outcome_::Rejected(message) => (3, message.clone()),
            };
            counts[at] += 1;
            *totals.entry(["executed", "failed", "ended", "rejected"][at]).or_default() += 1;
            if at > 0 {
                println!("{name} {}: {text}", case.text);
            }
        }
        println!("== {name} {counts:?}");
    }
    println!("{totals:?}");
}
