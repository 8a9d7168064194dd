//! Stored calls that crash the runtime, each with a harmless twin that differs in one operand: `calls.jsonl`, a call on
//! each line. [`harvest`] finds further ones.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use pte_emit::program::TensorShapeDynamism;
use pte_generate::calls::operators;
use pte_generate::lower::{BoundaryMemory, program};
use pte_generate::operand::{Content, GeneratedCall, Operand, TensorOperand};
use pte_generate::random::Random;
use pte_generate::wild::wild;
use pte_model::data::number::NumericValue;
use pte_model::format::ScalarType;
use pte_operators::Role;
use serde_json::{Value, json};

use super::{always_crashes, bytes_of, errors_of, run};
use crate::support::driver::Driver;

/// A call that crashes with one operand, and executes with another one.
#[derive(Debug, Clone)]
pub struct Target {
    /// The call that crashes.
    pub call: GeneratedCall,
    /// Position of the operand.
    pub at: usize,
    /// Position in the list, if the operand is an item of a list.
    pub item: Option<usize>,
    /// The operand with which the call executes.
    pub good: Operand,
}

impl Target {
    /// Returns the harmless call.
    pub fn harmless(&self) -> GeneratedCall {
        let mut call = self.call.clone();
        call.args[self.at] = self.good.clone();
        call
    }
}

/// Returns the stored calls.
pub fn stored() -> Vec<Target> {
    include_str!("calls.jsonl").lines().map(|line| read(line).unwrap_or_else(|| panic!("malformed: {line}"))).collect()
}

fn written(target: &Target) -> String {
    let args: Vec<Value> = target.call.args.iter().map(operand).collect();
    json!({"call": target.call.operator, "args": args, "at": target.at, "good": operand(&target.good)}).to_string()
}

fn read(line: &str) -> Option<Target> {
    let line: Value = serde_json::from_str(line).ok()?;
    let operator = pte_operators::find(line["call"].as_str()?)?.name;
    let args = line["args"].as_array()?.iter().map(operand_of).collect::<Option<Vec<_>>>()?;
    let at = usize::try_from(line["at"].as_u64()?).ok()?;
    let good = operand_of(&line["good"])?;
    let item = match (args.get(at)?, &good) {
        (Operand::Ints(one), Operand::Ints(other)) if one.len() == other.len() => {
            one.iter().zip(other).position(|(one, other)| one != other)
        }
        (Operand::Tensors { items, .. }, Operand::Tensors { items: others, .. }) if items.len() == others.len() => {
            items.iter().zip(others).position(|(one, other)| one != other)
        }
        _ => None,
    };
    Some(Target { call: GeneratedCall { operator, args }, at, item, good })
}

fn operand(operand: &Operand) -> Value {
    match operand {
        Operand::Null => Value::Null,
        Operand::Int(int) => json!({"int": int}),
        Operand::Bool(value) => json!({"bool": value}),
        Operand::Double(double) => json!({"double": format!("{double:?}")}),
        Operand::Str(text) => json!({"str": text}),
        Operand::Tensor(tensor) => self::tensor(tensor),
        Operand::Ints(items) => json!({"ints": items}),
        Operand::Doubles(items) => json!({"doubles": items.iter().map(|item| format!("{item:?}")).collect::<Vec<_>>()}),
        Operand::Bools(items) => json!({"bools": items}),
        Operand::Tensors { items, optional } => {
            let items: Vec<Value> = items.iter().map(|item| item.as_ref().map_or(Value::Null, self::tensor)).collect();
            json!({"tensors": items, "optional": optional})
        }
        Operand::Same(at) => json!({"same": at}),
    }
}

fn tensor(tensor: &TensorOperand) -> Value {
    let mut value = json!({"type": tensor.scalar_type.0, "sizes": tensor.sizes, "content": match &tensor.content {
        Content::Input => json!("input"),
        Content::Constant(bytes) => json!(bytes),
        Content::Over { argument, offset } => json!({"over": argument, "offset": offset}),
        Content::Written => json!("written"),
        Content::Unplaced => json!("unplaced"),
        Content::Missing | Content::Value(_) => json!("missing"),
    }});
    if !tensor.dim_order.is_sorted() {
        value["order"] = json!(tensor.dim_order.to_vec());
    }
    if tensor.dynamism != TensorShapeDynamism::STATIC {
        value["dynamic"] = json!(true);
    }
    value
}

fn operand_of(value: &Value) -> Option<Operand> {
    let Some((key, item)) = value.as_object().and_then(|object| object.iter().next()) else {
        return value.is_null().then_some(Operand::Null);
    };
    let double = |item: &Value| item.as_str()?.parse::<f64>().ok();
    let list = || item.as_array().map(Vec::as_slice).unwrap_or_default().iter();
    Some(match key.as_str() {
        "int" => Operand::Int(item.as_i64()?),
        "bool" => Operand::Bool(item.as_bool()?),
        "double" => Operand::Double(double(item)?),
        "str" => Operand::Str(item.as_str()?.to_owned().leak()),
        "ints" => Operand::Ints(list().map(Value::as_i64).collect::<Option<_>>()?),
        "doubles" => Operand::Doubles(list().map(double).collect::<Option<_>>()?),
        "bools" => Operand::Bools(list().map(Value::as_bool).collect::<Option<_>>()?),
        "same" => Operand::Same(usize::try_from(item.as_u64()?).ok()?),
        _ if value.get("tensors").is_some() => {
            let items = value["tensors"].as_array()?.iter();
            let items = items.map(|item| if item.is_null() { Some(None) } else { tensor_of(item).map(Some) });
            Operand::Tensors { items: items.collect::<Option<_>>()?, optional: value["optional"].as_bool()? }
        }
        _ => Operand::Tensor(tensor_of(value)?),
    })
}

fn tensor_of(value: &Value) -> Option<TensorOperand> {
    let sizes = value["sizes"].as_array()?.iter().map(|size| i32::try_from(size.as_i64()?).ok());
    let sizes: Vec<i32> = sizes.collect::<Option<_>>()?;
    let byte = |byte: &Value| u8::try_from(byte.as_u64()?).ok();
    let content = match &value["content"] {
        Value::String(word) => match word.as_str() {
            "input" => Content::Input,
            "written" => Content::Written,
            "unplaced" => Content::Unplaced,
            _ => Content::Missing,
        },
        Value::Array(bytes) => Content::Constant(bytes.iter().map(byte).collect::<Option<_>>()?),
        over => {
            Content::Over { argument: usize::try_from(over["over"].as_u64()?).ok()?, offset: over["offset"].as_u64()? }
        }
    };
    let scalar_type = ScalarType(i8::try_from(value["type"].as_i64()?).ok()?);
    let mut tensor = TensorOperand::new(scalar_type, &sizes, content);
    if let Some(order) = value["order"].as_array() {
        tensor.dim_order = order.iter().map(byte).collect::<Option<Vec<u8>>>()?.as_slice().into();
    }
    if value["dynamic"] == true {
        tensor.dynamism = TensorShapeDynamism::DYNAMIC_BOUND;
    }
    Some(tensor)
}

/// Returns the calls that do not crash, and those whose twin does not execute or is rejected.
pub fn wrong(driver: &Driver, targets: &[Target]) -> Vec<String> {
    let bytes = |call: &GeneratedCall| bytes_of(&program(call, BoundaryMemory::Planned)).expect("it assembles");
    let all = |calls: Vec<GeneratedCall>| calls.iter().map(bytes).collect::<Vec<_>>();
    let crashing = all(targets.iter().map(|target| target.call.clone()).collect());
    let harmless = all(targets.iter().map(Target::harmless).collect());
    let crashes = always_crashes(driver, &crashing.iter().map(Vec::as_slice).collect::<Vec<_>>());
    let answers = run(driver, &harmless.iter().map(Vec::as_slice).collect::<Vec<_>>(), "mixed");
    let is_wrong =
        |at: &usize| !crashes[*at] || !answers[*at].starts_with("ok") || !errors_of(&harmless[*at]).is_empty();
    let line = |at: usize| {
        let rules = errors_of(&harmless[at]);
        format!("{} {} {rules:?}: {}", crashes[at], answers[at], written(&targets[at]))
    };
    (0..targets.len()).filter(is_wrong).map(line).collect()
}

/// Calls of each operator that are generated, and pairs of it that are kept.
const GENERATED: u64 = 250;
const KEPT: usize = 5;

/// Crashing calls of an operator for which a twin is searched.
const MOST: usize = 24;

/// Finds calls that crash, with a harmless twin of each, by random search.
pub fn harvest(driver: &Driver, seed: u64, part: &str) -> String {
    let mut lines = String::new();
    for (name, signature) in operators() {
        if !name.contains(part) {
            continue;
        }
        let mut calls = Vec::new();
        for index in 0..GENERATED {
            let mut random = Random::of_item(seed, index);
            let call = wild(&mut random, name, &signature);
            let shares = call.args.iter().any(|arg| arg.contents().iter().any(|it| matches!(it, Content::Over { .. })));
            if let Some(bytes) = bytes_of(&program(&call, BoundaryMemory::Planned)).filter(|_| !shares)
                && !errors_of(&bytes).is_empty()
            {
                calls.push((call, bytes));
            }
        }
        let files: Vec<&[u8]> = calls.iter().map(|(_, bytes)| &**bytes).collect();
        let crashes = always_crashes(driver, &files);
        // By position and kind of change: crashing calls for which a twin is searched.
        let mut kept: BTreeMap<(usize, &'static str), usize> = BTreeMap::new();
        let crashing = calls.iter().zip(crashes).filter(|(_, crashes)| *crashes);
        let outs = |at: usize| signature.args.get(at).is_some_and(|arg| arg.role == Role::Out);
        for ((call, _), _) in crashing.take(MOST) {
            let twins: Vec<Target> = (0..call.args.len())
                .filter(|at| !outs(*at))
                .flat_map(|at| {
                    alternatives(call, at).into_iter().map(move |good| (at, good)).map(|(at, good)| Target {
                        call: call.clone(),
                        at,
                        item: None,
                        good,
                    })
                })
                .collect();
            let twins: Vec<(Target, Vec<u8>)> = twins
                .into_iter()
                .filter_map(|twin| {
                    let bytes = bytes_of(&program(&twin.harmless(), BoundaryMemory::Planned))?;
                    errors_of(&bytes).is_empty().then_some((twin, bytes))
                })
                .collect();
            let files: Vec<&[u8]> = twins.iter().map(|(_, bytes)| &**bytes).collect();
            let answers = run(driver, &files, "mixed");
            for ((twin, _), _) in twins.iter().zip(answers).filter(|(_, answer)| answer.starts_with("ok")) {
                let count = kept.entry((twin.at, kind(&twin.good))).or_default();
                *count += 1;
                if *count == 1 {
                    writeln!(lines, "{}", written(twin)).unwrap();
                    break;
                }
            }
            if kept.len() >= KEPT {
                break;
            }
        }
        println!("{name}: {kept:?}");
    }
    lines
}

fn kind(operand: &Operand) -> &'static str {
    match operand {
        Operand::Tensor(tensor) if matches!(tensor.content, Content::Constant(_)) => "content",
        Operand::Tensor(_) | Operand::Tensors { .. } => "tensor",
        Operand::Int(_) => "int",
        Operand::Bool(_) => "bool",
        Operand::Double(_) => "double",
        Operand::Ints(_) => "ints",
        Operand::Bools(_) => "bools",
        Operand::Null | Operand::Str(_) | Operand::Doubles(_) | Operand::Same(_) => "other",
    }
}

/// Returns operands of the same kind as one.
fn alternatives(call: &GeneratedCall, at: usize) -> Vec<Operand> {
    const INTS: [i64; 9] = [1, 0, 2, 3, -1, 6, 4, 127, 255];
    match &call.args[at] {
        Operand::Int(_) => INTS.iter().map(|int| Operand::Int(*int)).collect(),
        Operand::Bool(value) => vec![Operand::Bool(!value)],
        Operand::Double(_) => [1.0, 0.5, 0.0, 2.0].iter().map(|double| Operand::Double(*double)).collect(),
        Operand::Ints(items) => {
            let with = |item: usize, int: i64| {
                let mut items = items.clone();
                items[item] = int;
                Operand::Ints(items)
            };
            (0..items.len()).flat_map(|item| INTS[..5].iter().map(move |int| with(item, *int))).collect()
        }
        Operand::Bools(items) => {
            let with = |item: usize| {
                let mut items = items.clone();
                items[item] = !items[item];
                Operand::Bools(items)
            };
            (0..items.len()).map(with).collect()
        }
        Operand::Tensor(tensor) => {
            let mut found = Vec::new();
            if matches!(tensor.content, Content::Constant(_)) {
                for number in [0, 1, 2] {
                    let mut other = tensor.clone();
                    other.fill(&[NumericValue::Int(number)], 1 << 14);
                    found.push(other);
                }
            } else {
                let others = call.args.iter().filter_map(Operand::as_tensor);
                for other in others.filter(|other| other.scalar_type != tensor.scalar_type) {
                    found.push(TensorOperand { scalar_type: other.scalar_type, ..tensor.clone() });
                }
                for scalar_type in [ScalarType::FLOAT, ScalarType::LONG, ScalarType::BYTE, ScalarType::INT] {
                    found.push(TensorOperand { scalar_type, ..tensor.clone() });
                }
                for dim in 0..tensor.sizes.len() {
                    for size in [1, 2, 3] {
                        let mut other = tensor.clone();
                        other.sizes[dim] = size;
                        found.push(other);
                    }
                }
                for other in call.args.iter().filter_map(Operand::as_tensor) {
                    found.push(TensorOperand { content: tensor.content.clone(), ..other.clone() });
                }
            }
            found.into_iter().filter(|other| other != tensor).map(Operand::Tensor).collect()
        }
        Operand::Null | Operand::Str(_) | Operand::Doubles(_) | Operand::Tensors { .. } | Operand::Same(_) => {
            Vec::new()
        }
    }
}
