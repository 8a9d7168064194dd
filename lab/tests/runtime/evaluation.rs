//! Evaluation of calls on constants against the real ExecuTorch runtime: random calls of every operator with an
//! evaluation, of all element types, with NaN, infinities, negative zeros and extreme integers, empty and broadcast
//! tensors, in several orders of memory. The outputs of a program with the call must be those of a program that has the
//! computed bytes as constants.
//!
//! Ignored by default, since it downloads the runtime. Variables of the environment: `PTE_EMIT_EVALUATIONS` is the
//! number of random calls of each operator, `PTE_EMIT_EVALUATIONS_SEED` a seed (`fresh` for a random one),
//! `PTE_EMIT_EVALUATIONS_OF` a part of the names of operators.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use pte_emit::program::{EValue, ExecutionPlan, Memory, Program, Tensor, TensorData, TensorShapeDynamism, ValueId};
use pte_generate::calls::{executable, operators, valid};
use pte_generate::lower::{BoundaryMemory, program};
use pte_generate::operand::{Content, GeneratedCall, Operand, TensorOperand};
use pte_generate::random::Random;
use pte_model::data::Blob;
use pte_model::format::ScalarType;
use pte_model::format::scalar_type::Encoding;
use pte_operators::evaluation::{ArgumentData, Unevaluated};
use pte_operators::inference::Argument;
use pte_operators::{Operator, Role};

use crate::support::driver::Driver;

/// Random calls of each operator: of a sample.
const SAMPLE: usize = 60;

/// Calls that one process of the driver runs.
const BATCH: usize = 400;

/// Differences that are printed.
const LISTED: usize = 40;

/// Largest result that is computed in memory.
const LIMIT: u64 = 64 << 20;

/// Element types of random tensors.
const TYPES: [ScalarType; 14] = [
    ScalarType::BYTE,
    ScalarType::CHAR,
    ScalarType::SHORT,
    ScalarType::INT,
    ScalarType::LONG,
    ScalarType::HALF,
    ScalarType::FLOAT,
    ScalarType::DOUBLE,
    ScalarType::BOOL,
    ScalarType::BFLOAT16,
    ScalarType::FLOAT,
    ScalarType::LONG,
    ScalarType::BOOL,
    ScalarType::COMPLEXFLOAT,
];

/// A call on constants with the bytes of its results.
struct Evaluated {
    text: String,
    call: Vec<u8>,
    constants: Vec<u8>,
}

/// Returns the bytes of an element of a random tensor: often one at the edge of its type.
fn element(random: &mut Random, scalar_type: ScalarType, specials: bool, small: Option<i64>) -> Vec<u8> {
    let info = scalar_type.info().unwrap();
    let size = info.size as usize;
    if let Some(bound) = small {
        let number = random.between(0, bound.max(1) - 1);
        return number.to_le_bytes()[..size.min(8)].to_vec();
    }
    let floats = [
        0.0,
        -0.0,
        1.0,
        -1.0,
        0.5,
        3.0,
        1e-8,
        1e30,
        f64::INFINITY,
        f64::NEG_INFINITY,
        f64::NAN,
        65504.0,
        1e-45,
        16777217.0,
    ];
    let float = if specials && random.chance(40) {
        random.pick(&floats)
    } else if random.chance(40) {
        random.between(-9, 9) as f64
    } else {
        (random.between(-1 << 40, 1 << 40) as f64) / 2f64.powi(random.between(8, 44) as i32)
    };
    match info.encoding {
        Encoding::Bool => vec![u8::from(random.chance(50))],
        Encoding::Float(_) | Encoding::Complex(_) => {
            let mut bytes = Vec::new();
            pte_model::data::number::encode(
                scalar_type,
                pte_model::data::number::NumericValue::Float(float),
                &mut bytes,
            )
            .unwrap();
            bytes
        }
        Encoding::Signed | Encoding::Unsigned | Encoding::Opaque => {
            let number = match random.below(if specials { 5 } else { 3 }) {
                0..3 => random.between(-9, 12),
                3 => random.pick(&[
                    i64::MIN,
                    i64::MAX,
                    i64::from(i32::MIN),
                    i64::from(i32::MAX),
                    -1,
                    0,
                    127,
                    -128,
                    255,
                    1 << 53,
                ]),
                _ => random.bits() as i64,
            };
            let number = if matches!(info.encoding, Encoding::Unsigned) && !specials { number.abs() } else { number };
            number.to_le_bytes()[..size].to_vec()
        }
    }
}

/// Makes all tensors of the arguments constants of random elements; those of positions are less than `bound`.
fn fill(random: &mut Random, names: &[&str], args: &mut [Operand], bound: i64) {
    let specials = random.chance(35);
    for (name, arg) in names.iter().zip(args) {
        let small = (name.contains("ind") && !name.contains("padding")).then_some(bound);
        for tensor in arg.tensors_mut() {
            let count: i64 = tensor.sizes.iter().map(|size| i64::from(*size)).product();
            let mut bytes = Vec::new();
            for _ in 0..count {
                bytes.extend(element(random, tensor.scalar_type, specials, small));
            }
            // The runtime rejects constants without bytes.
            tensor.content = if bytes.is_empty() { Content::Input } else { Content::Constant(bytes) };
            tensor.dynamism = TensorShapeDynamism::STATIC;
        }
    }
}

/// Returns a random call of an operator on constants; `None` if no arguments were found.
fn call(random: &mut Random, operator: &'static Operator) -> Option<GeneratedCall> {
    let signature = &operator.signature;
    let mut call = valid(random, operator.name, signature)?;
    let ins = signature.ins().count();
    if let Some(at) = signature.args.iter().position(|arg| arg.name == "alpha").filter(|_| random.chance(90)) {
        // Others are not evaluated.
        call.args[at] = Operand::Int(1);
    }
    if random.chance(60) {
        // Other element types: of all tensors, or of each.
        let mut args = call.args[..ins].to_vec();
        let common = random.pick(&TYPES);
        let mixed = random.chance(30);
        let names: Vec<&str> = signature.args.iter().map(|arg| &*arg.name).collect();
        for (name, arg) in names.iter().zip(&mut args) {
            let keeps = name.contains("ind") || name.contains("mask") || name.contains("condition");
            for tensor in arg.tensors_mut().into_iter().filter(|_| !keeps) {
                tensor.scalar_type = if mixed { random.pick(&TYPES) } else { common };
            }
            match arg {
                Operand::Double(_) | Operand::Int(_) | Operand::Bool(_)
                    if is_scalar(operator, name) && random.chance(50) =>
                {
                    *arg = match random.below(4) {
                        0 => Operand::Int(random.between(-5, 5)),
                        1 => Operand::Int(random.pick(&[i64::MAX, i64::MIN, 255, 256, -129, 70000, 1])),
                        2 => Operand::Double(random.pick(&[
                            0.5,
                            -0.0,
                            2.0,
                            1.0,
                            1e300,
                            f64::INFINITY,
                            f64::NAN,
                            3.7,
                            -2.0,
                            0.1,
                        ])),
                        _ => Operand::Bool(random.chance(50)),
                    };
                }
                _ => {}
            }
        }
        call = executable(operator.name, signature, args)?;
    }
    if random.chance(12) {
        // Outs of another element type, to which some kernels convert.
        let scalar_type = random.pick(&TYPES);
        call.args[ins..].iter_mut().flat_map(Operand::tensors_mut).for_each(|out| out.scalar_type = scalar_type);
    }
    let bound =
        call.args[..ins].iter().flat_map(Operand::tensors).flat_map(|tensor| tensor.sizes.iter().copied()).min();
    let names: Vec<&str> = signature.args.iter().map(|arg| &*arg.name).collect();
    fill(random, &names, &mut call.args[..ins], bound.unwrap_or(1).into());
    for out in call.args[ins..].iter_mut().flat_map(Operand::tensors_mut) {
        out.dynamism = TensorShapeDynamism::STATIC;
    }
    Some(call)
}

fn is_scalar(operator: &Operator, name: &str) -> bool {
    operator
        .signature
        .args
        .iter()
        .any(|arg| arg.name == name && arg.kind.base == pte_operators::Base::Scalar && arg.name != "alpha")
}

fn constant(tensor: &TensorOperand) -> Option<Blob> {
    match &tensor.content {
        Content::Constant(bytes) => Some(Blob::bytes(bytes.clone())),
        Content::Input => Some(Blob::bytes([])),
        Content::Written | Content::Over { .. } | Content::Unplaced | Content::Missing | Content::Value(_) => None,
    }
}

/// Returns the content of the results of a call, with their declarations.
fn contents(operator: &Operator, call: &GeneratedCall) -> Result<Vec<(TensorOperand, Vec<u8>)>, Unevaluated> {
    let ins = operator.signature.ins().count();
    let arguments: Vec<Argument<'_>> = call.args[..ins].iter().map(|arg| arg.argument(&call.args)).collect();
    let blobs: Vec<Vec<Option<Blob>>> = call.args[..ins]
        .iter()
        .map(|arg| match arg {
            Operand::Tensors { items, .. } => items.iter().map(|item| item.as_ref().and_then(constant)).collect(),
            arg => arg.tensors().into_iter().map(constant).collect(),
        })
        .collect();
    let data: Vec<ArgumentData<'_>> = call.args[..ins]
        .iter()
        .zip(&blobs)
        .map(|(arg, blobs)| match (arg, &blobs[..]) {
            (Operand::Tensors { .. }, items) => ArgumentData::Tensors(items.iter().map(Option::as_ref).collect()),
            (Operand::Tensor(_), [Some(blob)]) => ArgumentData::Tensor(blob),
            _ => ArgumentData::None,
        })
        .collect();
    let outs: Vec<TensorOperand> = call.args[ins..].iter().flat_map(Operand::tensors).cloned().collect();
    let metas: Vec<_> = outs.iter().map(TensorOperand::meta).collect();
    let contents = operator.evaluate(&arguments, &data, &metas, LIMIT)?;
    Ok(outs.into_iter().zip(contents.iter().map(|blob| blob.to_vec().unwrap())).collect())
}

/// Returns a program whose outputs are constants.
fn constants(contents: &[(TensorOperand, Vec<u8>)]) -> Program {
    let mut program = Program::default();
    let mut plan = ExecutionPlan::new("forward");
    let mut values = Vec::new();
    for (out, bytes) in contents {
        let data = TensorData::Blob(program.add_blob(Blob::bytes(bytes.clone())));
        values.push(EValue::Tensor(Tensor { memory: Memory::None, data, ..out.tensor() }));
    }
    plan.outputs = Some((0..values.len()).map(ValueId::of).collect());
    plan.values = Some(values);
    program.execution_plan = Some(vec![plan]);
    program
}

fn bytes(program: &Program) -> Option<Vec<u8>> {
    crate::support::program::files(program).ok()?.program_file()?.to_vec().ok()
}

/// Result of the calls of an operator.
#[derive(Default)]
struct Tally {
    evaluated: usize,
    /// Calls that were not evaluated, by reason.
    refused: BTreeMap<String, usize>,
    different: Vec<String>,
}

fn compare(driver: &Driver, calls: &[Evaluated], tally: &mut Tally) {
    let files: Vec<&[u8]> = calls.iter().flat_map(|call| [&call.call[..], &call.constants[..]]).collect();
    let answers = driver.run(&files, &[], &["--gigabytes", "2"]);
    for (call, answers) in calls.iter().zip(answers.chunks(2)) {
        tally.evaluated += 1;
        if answers[0] != answers[1] || !answers[0].starts_with("ok") {
            tally.different.push(format!("{} against {}: {}", answers[0], answers[1], call.text));
        }
    }
}

fn test(driver: &Driver, seed: u64, operator: &'static Operator, count: usize) -> Tally {
    let mut tally = Tally::default();
    let mut batch = Vec::new();
    for index in 0..count as u64 {
        let mut random = Random::of_item(seed, index);
        let Some(call) = call(&mut random, operator) else {
            *tally.refused.entry("no arguments".to_owned()).or_default() += 1;
            continue;
        };
        let contents = match contents(operator, &call) {
            Ok(contents) => contents,
            Err(error) => {
                let text = format!("{error:?}");
                *tally.refused.entry(text.chars().take(90).collect()).or_default() += 1;
                continue;
            }
        };
        if contents.iter().any(|(_, bytes)| bytes.is_empty()) {
            *tally.refused.entry("a result is empty".to_owned()).or_default() += 1;
            continue;
        }
        let boundary = BoundaryMemory::random(&mut random);
        let Some((of_call, of_constants)) = bytes(&program(&call, boundary)).zip(bytes(&constants(&contents))) else {
            *tally.refused.entry("not assembled".to_owned()).or_default() += 1;
            continue;
        };
        batch.push(Evaluated {
            text: format!("#{index} {call:?} = {contents:?}"),
            call: of_call,
            constants: of_constants,
        });
        if batch.len() >= BATCH {
            compare(driver, &std::mem::take(&mut batch), &mut tally);
        }
    }
    compare(driver, &batch, &mut tally);
    tally
}

#[test]
#[ignore = "downloads the ExecuTorch runtime from a package index; run it with `cargo lab --test runtime evaluation:: -- --ignored`"]
fn evaluated_calls_have_the_bytes_of_the_runtime() {
    let driver = Driver::locate();
    let part = std::env::var("PTE_EMIT_EVALUATIONS_OF").unwrap_or_default();
    let count = std::env::var("PTE_EMIT_EVALUATIONS").map_or(SAMPLE, |text| text.parse().unwrap());
    let seed = match std::env::var("PTE_EMIT_EVALUATIONS_SEED").as_deref() {
        Ok("fresh") => {
            let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
            Random::new(since.as_nanos() as u64).bits()
        }
        Ok(text) => text.parse().unwrap(),
        Err(_) => 1,
    };
    println!("seed {seed}: PTE_EMIT_EVALUATIONS_SEED={seed} repeats this run");
    let (mut evaluated, mut different, mut rare, mut lines) = (0, Vec::new(), Vec::new(), String::new());
    for (name, _) in operators().into_iter().filter(|(name, _)| name.contains(&part)) {
        let operator = pte_operators::find(name).unwrap();
        if operator.facts.evaluation.is_none() {
            continue;
        }
        let tally = test(&driver, seed, operator, count);
        rare.extend((tally.evaluated <= count / 20).then_some(name));
        writeln!(
            lines,
            "{name}: {} evaluated, {} different, refused: {:?}",
            tally.evaluated,
            tally.different.len(),
            tally.refused
        )
        .unwrap();
        evaluated += tally.evaluated;
        different.extend(
            tally.different.into_iter().map(|text| format!("{name} {}", text.chars().take(1500).collect::<String>())),
        );
    }
    println!("{lines}{evaluated} calls evaluated, {} different", different.len());
    assert!(rare.is_empty(), "few calls are evaluated of {rare:?}");
    let shown: Vec<String> = different.iter().take(LISTED).cloned().collect();
    assert!(different.is_empty(), "{} different:\n{}", different.len(), shown.join("\n"));
}

/// The roles of arguments that the test relies on: outs are last.
#[test]
fn outs_are_the_last_arguments() {
    for (name, signature) in operators() {
        let first = signature.args.iter().position(|arg| arg.role == Role::Out).unwrap_or(signature.args.len());
        assert!(signature.args[first..].iter().all(|arg| arg.role == Role::Out), "{name}");
    }
}
