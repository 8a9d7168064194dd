//! The table of operators that work in place (`sharing.table` of the release), measured with the real runtime: the
//! calls of `crates/pte-operators/tests/inference/cases.txt` with an out in memory of its own, and in exactly the
//! memory of each argument with its type and sizes. Works in place: all results are equal.
//!
//! Ignored by default, since it downloads the runtime: `cargo lab --test runtime sharing:: -- --ignored`. `BLESS=1`
//! writes the table; a part of a name in `PTE_EMIT_OPERATOR` prints the measurement of some operators.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::PathBuf;
use std::sync::LazyLock;

use pte_emit::program::{
    Chain, EValue, ExecutionPlan, Instruction, Memory, Operator, OperatorId, Program, Tensor, ValueId,
};
use pte_model::data::number::{self, NumericValue};
use pte_model::format::ScalarType;
use pte_operators::inference::{Argument, Call, Dim, IntMeta, ResultMeta, TensorMeta};
use pte_operators::{ArgKind, Base, Role, Signature};

use crate::inference_runtime::cases::{self, Case, Outcome};
use crate::support::runner::{self, Mode, Value};

const MODE: Mode = Mode { verify: "full", loader: "file" };
/// Number of methods of a program.
const METHODS: usize = 200;
/// Calls that move elements to other positions of a tensor of the same sizes, which the cases of inference do not have.
const MOVES: &str = "\
aten::_log_softmax.out
 f32[3,4,5] 1 false -> f32[3,4,5]
 f32[3,4,5] 0 false -> f32[3,4,5]
 f32[3,40] 1 false -> f32[3,40]
aten::_softmax.out
 f32[3,4,5] 1 false -> f32[3,4,5]
 f32[3,4,5] 0 false -> f32[3,4,5]
 f32[3,40] 1 false -> f32[3,40]
aten::as_strided_copy.out
 f32[3,3] [3,3] [1,3] 0 -> f32[3,3]
aten::cumsum.out
 f32[3,4] 0 none -> f32[3,4]
aten::gather.out
 f32[3,3] 0 i64[3,3] false -> f32[3,3]
 i64[3,3] 0 i64[3,3] false -> i64[3,3]
aten::index.Tensor_out
 f32[3,3] <i64[3]> -> f32[3,3]
 i64[3] <i64[3]> -> i64[3]
aten::index_select.out
 f32[3,3] 0 i64[3] -> f32[3,3]
 i64[3] 0 i64[3] -> i64[3]
aten::permute_copy.out
 f32[3,3] [1,0] -> f32[3,3]
aten::reflection_pad1d.out
 f32[2,6] [1,-1] -> f32[2,6]
aten::reflection_pad2d.out
 f32[2,6,6] [1,-1,0,0] -> f32[2,6,6]
aten::reflection_pad3d.out
 f32[2,6,6,6] [1,-1,0,0,0,0] -> f32[2,6,6,6]
aten::replication_pad1d.out
 f32[2,6] [1,-1] -> f32[2,6]
aten::replication_pad2d.out
 f32[2,6,6] [1,-1,0,0] -> f32[2,6,6]
aten::replication_pad3d.out
 f32[2,6,6,6] [1,-1,0,0,0,0] -> f32[2,6,6,6]
aten::transpose_copy.int_out
 f32[3,3] 0 1 -> f32[3,3]
aten::mm.out
 f32[3,3] f32[3,3] -> f32[3,3]
aten::bmm.out
 f32[2,3,3] f32[2,3,3] -> f32[2,3,3]
aten::linear.out
 f32[3,3] f32[3,3] none -> f32[3,3]
aten::addmm.out
 f32[3,3] f32[3,3] f32[3,3] 1 1 -> f32[3,3]
";

/// Number of elements from which a result can show that a kernel does not work in place.
const MIN_ELEMENTS: i64 = 6;

static RUNNER: LazyLock<PathBuf> = LazyLock::new(runner::locate);

/// A method with one call whose tensors are all planned, and the lines of the script that set its inputs.
struct Method {
    plan: ExecutionPlan,
    inputs: String,
    /// The case.
    text: String,
    /// Values of the written tensors, in the order of the signature.
    written: Vec<usize>,
    /// Position of the argument, and value, of each tensor that is read.
    read: Vec<(usize, usize)>,
}

/// Bytes of an input: numbers that differ, also from those of inputs with another `salt`, in which indices are within
/// the bounds.
fn fill(name: &str, tensor: &TensorMeta, salt: i64) -> Vec<u8> {
    let is_index = name.contains("ind") || name.contains("zero_point");
    let count: i64 = tensor.sizes.iter().map(|dim| dim.size).product();
    let mut bytes = Vec::new();
    for at in 0..count {
        let digit = (at * 5 + 3 + salt * 2) % 7;
        let number = match (tensor.scalar_type, is_index) {
            (ScalarType::BOOL, _) => NumericValue::Bool(digit < 3),
            // Descending, so that a kernel in place reads elements that it has overwritten.
            (_, true) => NumericValue::Int(i128::from((at + 1) % 2)),
            (_, false) => NumericValue::Int(i128::from(1 + digit)),
        };
        number::encode(tensor.scalar_type, number, &mut bytes).unwrap();
    }
    bytes
}

fn commas<T: ToString>(items: &[T]) -> String {
    if items.is_empty() { "-".to_owned() } else { items.iter().map(T::to_string).collect::<Vec<_>>().join(",") }
}

fn planned(meta: &TensorMeta, end: &mut u64) -> Tensor {
    let sizes: Vec<i32> = meta.sizes.iter().map(|dim| i32::try_from(dim.size).unwrap()).collect();
    let mut tensor = Tensor::new(meta.scalar_type, &sizes);
    tensor.dim_order = Some(meta.dim_order.clone());
    tensor.memory = Memory::At { pool: 1, offset: *end };
    *end = (*end + tensor.nbytes().unwrap()).next_multiple_of(64);
    tensor
}

/// Returns the default of an argument that a case omits; `None` for one that is a list, or absent.
fn default(arg: &pte_operators::Arg) -> Option<EValue> {
    let text = &**arg.default.as_ref()?;
    Some(match text {
        "null" => EValue::Null,
        "true" | "false" => EValue::Bool(text == "true"),
        _ => match text.parse() {
            Ok(int) if arg.kind.base != Base::Float => EValue::Int(int),
            Ok(_) | Err(_) => EValue::Double(text.parse().ok()?),
        },
    })
}

impl Method {
    /// Returns the method of a case; `None` if a tensor is empty or an argument is none that the case states.
    fn new(operator: &str, signature: &Signature, case: &Case<'_>, results: &[ResultMeta]) -> Option<Method> {
        let mut method = Method {
            plan: ExecutionPlan::default(),
            inputs: String::new(),
            text: case.text.to_owned(),
            written: Vec::new(),
            read: Vec::new(),
        };
        let in_place = signature.args.iter().any(|arg| arg.role == Role::InPlace);
        let (mut values, mut args, mut inputs, mut end) = (Vec::new(), Vec::new(), Vec::new(), 0);
        for (position, (argument, arg)) in case.arguments().iter().zip(&signature.args).enumerate() {
            let value = method.value((position, in_place), arg, argument, &mut values, &mut inputs, &mut end)?;
            values.push(value);
            args.push(ValueId::of(values.len() - 1));
        }
        for arg in signature.args.iter().filter(|arg| arg.role != Role::Out).skip(args.len()) {
            values.push(default(arg)?);
            args.push(ValueId::of(values.len() - 1));
        }
        let mut outputs = method.written.iter().copied().map(ValueId::of).collect::<Vec<_>>();
        for result in results {
            let ResultMeta::Tensor(meta) = result else { return None };
            if signature.outs().next().is_some() {
                values.push(EValue::Tensor(planned(meta, &mut end)));
                method.written.push(values.len() - 1);
                args.push(ValueId::of(values.len() - 1));
                outputs.push(ValueId::of(values.len() - 1));
            }
        }
        if args.len() != signature.args.len() {
            return None;
        }
        match method.written[..] {
            [] => return None,
            [only] => args.push(ValueId::of(only)),
            _ => {
                values.push(EValue::TensorList(Some(outputs.clone())));
                args.push(ValueId::of(values.len() - 1));
            }
        }
        if signature.outs().next().is_none() && signature.result.is_none() {
            args.pop();
        }
        let has_bytes = |value: &EValue| !matches!(value, EValue::Tensor(tensor) if tensor.nbytes() == Some(0));
        if !values.iter().all(has_bytes) {
            return None;
        }
        method.plan.operators = Some(vec![Operator::new(operator)]);
        let call = Instruction::KernelCall { op_index: OperatorId(0), args: Some(args[..].into()) };
        method.plan.chains = Some(vec![Chain::new(vec![call])]);
        method.plan.memory.non_const_buffer_sizes = Some(vec![0, end as i64]);
        method.plan.values = Some(values);
        method.plan.inputs = Some(inputs);
        method.plan.outputs = Some(outputs);
        Some(method)
    }

    fn value(
        &mut self,
        (position, in_place): (usize, bool),
        arg: &pte_operators::Arg,
        argument: &Argument<'_>,
        values: &mut Vec<EValue>,
        inputs: &mut Vec<ValueId>,
        end: &mut u64,
    ) -> Option<EValue> {
        // What an operator overwrites in place has the content of the tensor that it shares memory with.
        let salt = if in_place { 0 } else { position as i64 };
        let mut input = |meta: &TensorMeta, value: usize| {
            let sizes: Vec<i64> = meta.sizes.iter().map(|dim: &Dim| dim.size).collect();
            let (sizes, order) = (commas(&sizes), commas(&meta.dim_order));
            let hex = data_encoding::HEXLOWER.encode(&fill(&arg.name, meta, salt));
            let hex = if hex.is_empty() { "-" } else { &hex };
            writeln!(self.inputs, "input {} tensor {} {sizes} {order} {hex}", inputs.len(), meta.scalar_type.0)
                .unwrap();
            inputs.push(ValueId::of(value));
            match arg.role {
                Role::In => self.read.push((position, value)),
                Role::InPlace | Role::Out => self.written.push(value),
            }
            EValue::Tensor(planned(meta, end))
        };
        let is_float = arg.kind.base == Base::Float;
        Some(match argument {
            Argument::Tensor(meta) => input(meta, values.len()),
            Argument::Tensors(items) => {
                let mut list = Vec::new();
                for item in items {
                    list.push(match item {
                        None => ValueId::NONE,
                        Some(meta) => {
                            let tensor = input(meta, values.len());
                            values.push(tensor);
                            ValueId::of(values.len() - 1)
                        }
                    });
                }
                match arg.kind {
                    ArgKind { optional_items: true, .. } => EValue::OptionalTensorList(Some(list)),
                    _ => EValue::TensorList(Some(list)),
                }
            }
            Argument::Null => EValue::Null,
            Argument::Int(IntMeta::Exact(int)) if is_float => EValue::Double(*int as f64),
            Argument::Int(IntMeta::Exact(int)) if arg.kind.list => {
                values.push(EValue::Int(*int));
                EValue::IntList(Some(vec![values.len() as i64 - 1]))
            }
            Argument::Int(IntMeta::Exact(int)) => EValue::Int(*int),
            Argument::Bool(value) => EValue::Bool(*value),
            Argument::Double(value) => EValue::Double(*value),
            Argument::Str(text) => EValue::String(Some((*text).to_owned())),
            Argument::Ints(items) => {
                let mut list = Vec::new();
                for item in items {
                    let IntMeta::Exact(int) = item else { return None };
                    values.push(EValue::Int(*int));
                    list.push(values.len() as i64 - 1);
                }
                EValue::IntList(Some(list))
            }
            Argument::Doubles(items) => EValue::DoubleList(Some(items.to_vec())),
            Argument::Bools(items) => EValue::BoolList(Some(items.to_vec())),
            Argument::Int(_) | Argument::Unknown => return None,
        })
    }

    /// Returns the plans in which a written tensor is in exactly the memory of a read one, with the position of the
    /// latter.
    fn shared(&self) -> Vec<(usize, ExecutionPlan)> {
        let values = self.plan.values.as_deref().unwrap();
        let mut plans = Vec::new();
        for &written in &self.written {
            for &(position, read) in &self.read {
                let (EValue::Tensor(out), EValue::Tensor(input)) = (&values[written], &values[read]) else { continue };
                // Broadcasting in another order than the contiguous one is not in place.
                let is_contiguous = out.dim_order.as_deref().is_none_or(|order| order.is_sorted());
                let same_sizes = |&(_, value): &(usize, usize)| match &values[value] {
                    EValue::Tensor(other) => other.sizes == out.sizes,
                    _ => true,
                };
                if !is_contiguous && !self.read.iter().all(same_sizes) {
                    continue;
                }
                if out.scalar_type == input.scalar_type && out.sizes == input.sizes && out.dim_order == input.dim_order
                {
                    let mut plan = self.plan.clone();
                    if let EValue::Tensor(tensor) = &mut plan.values.as_mut().unwrap()[written] {
                        tensor.memory = input.memory;
                    }
                    plans.push((position, plan));
                }
            }
        }
        plans
    }

    fn elements(&self) -> i64 {
        let EValue::Tensor(out) = &self.plan.values.as_deref().unwrap()[self.written[0]] else { return 0 };
        out.sizes.as_deref().unwrap().iter().map(|size| i64::from(*size)).product()
    }
}

/// Executes methods and returns their outputs; `None` for one that fails or ends the process.
fn execute(methods: &[(&ExecutionPlan, &str)]) -> Vec<Option<Vec<Value>>> {
    let plans = methods.iter().enumerate().map(|(number, (plan, _))| {
        let mut plan = (*plan).clone();
        plan.name = Some(format!("m{number}"));
        plan
    });
    let program = Program::new(plans.collect());
    let assembly = crate::support::program::files(&program).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let (pte, _) = crate::support::files::write(&assembly, folder.path()).unwrap();
    let mut outcomes = Vec::new();
    while outcomes.len() < methods.len() {
        let first = outcomes.len();
        let mut script = String::new();
        for (number, (_, inputs)) in methods.iter().enumerate().skip(first) {
            write!(script, "load m{number}\n{inputs}execute\noutputs\n").unwrap();
        }
        let ended = runner::start(&RUNNER, &pte, &[], MODE, &script).unwrap();
        assert_eq!(ended.answers.first().map(String::as_str), Some("program ok"));
        let mut answers = ended.answers.iter().map(String::as_str).skip(1);
        for (_, inputs) in &methods[first..] {
            let outcome = outcome(&mut answers, inputs.lines().count());
            outcomes.push(outcome.clone().flatten());
            if outcome.is_none() {
                break;
            }
        }
    }
    outcomes
}

/// Reads the answers about a method; `None` if they end, `Some(None)` if one is an error.
fn outcome<'t>(answers: &mut impl Iterator<Item = &'t str>, inputs: usize) -> Option<Option<Vec<Value>>> {
    let mut is_executed = true;
    for _ in 0..inputs + 2 {
        is_executed &= answers.next()?.ends_with(" ok");
    }
    let count: usize = answers.next()?.strip_prefix("outputs ").and_then(|count| count.parse().ok()).unwrap_or(0);
    let mut outputs = Vec::new();
    for number in 0..count {
        outputs.push(runner::read(answers.next()?.strip_prefix(&format!("output {number} "))?)?);
    }
    Some(is_executed.then_some(outputs))
}

/// Calls in place with the same results as with memory of their own, and with other ones.
#[derive(Debug, Default)]
struct Measured {
    /// Calls with at least `MIN_ELEMENTS` elements.
    equal: usize,
    different: Vec<String>,
}

/// Returns for each position of an argument what was measured, and `true` if all calls write one tensor.
fn measure(name: &str, signature: &Signature, cases: &[Case<'_>]) -> (BTreeMap<usize, Measured>, bool) {
    let rule = pte_operators::facts(name).rule.unwrap();
    let accepted = cases.iter().filter(|case| case.outcome != Outcome::Error);
    let methods: Vec<Method> = accepted
        .filter_map(|case| {
            let results = rule(&Call::new(signature, &case.arguments())).ok()?;
            Method::new(name, signature, case, &results)
        })
        .collect();
    let mut found: BTreeMap<usize, Measured> = BTreeMap::new();
    let has_one = methods.iter().all(|method| method.written.len() == 1);
    let shared: Vec<(&Method, usize, ExecutionPlan)> = methods
        .iter()
        .flat_map(|method| method.shared().into_iter().map(move |(position, plan)| (method, position, plan)))
        .collect();
    for chunk in shared.chunks(METHODS / 2) {
        let plans: Vec<(&ExecutionPlan, &str)> = chunk
            .iter()
            .flat_map(|(method, _, plan)| [(&method.plan, &*method.inputs), (plan, &*method.inputs)])
            .collect();
        for ((method, position, _), results) in chunk.iter().zip(execute(&plans).chunks(2)) {
            let [Some(own), shared] = results else { continue };
            let measured = found.entry(*position).or_default();
            match shared.as_ref() == Some(own) {
                true => measured.equal += usize::from(method.elements() >= MIN_ELEMENTS),
                false => measured.different.push(method.text.clone()),
            }
        }
    }
    (found, has_one)
}

#[test]
#[ignore = "downloads the runtime"]
fn operators_work_in_place() {
    let file = cases::file();
    let mut moves = cases::cases(MOVES);
    let selected = std::env::var("PTE_EMIT_OPERATOR").unwrap_or_default();
    let mut table = String::new();
    for (name, (signature, mut cases)) in cases::cases(&file) {
        if pte_operators::library(name).is_some() || !name.contains(&selected) {
            continue;
        }
        cases.extend(moves.remove(name).into_iter().flat_map(|(_, cases)| cases));
        let (measured, has_one) = measure(name, &signature, &cases);
        if !selected.is_empty() || !has_one {
            println!("{name}: {measured:?}{}", if has_one { "" } else { ", several results" });
        }
        let in_place =
            measured.iter().filter(|(_, measured)| has_one && measured.different.is_empty() && measured.equal > 0);
        let positions: Vec<usize> = in_place.map(|(position, _)| *position).collect();
        if !positions.is_empty() {
            let names: Vec<&str> = positions.iter().map(|position| &*signature.args[*position].name).collect();
            writeln!(table, "{name} {}", names.join(" ")).unwrap();
        }
    }
    if !selected.is_empty() {
        return;
    }
    let path = format!(
        "{}/crates/pte-operators/src/releases/v{}/sharing.table",
        crate::support::root().display(),
        pte_operators::CURRENT.version.replace('.', "_")
    );
    let old = std::fs::read_to_string(&path).unwrap();
    let (head, rows): (Vec<&str>, Vec<&str>) = old.lines().partition(|line| line.starts_with('#'));
    if std::env::var_os("BLESS").is_some() {
        return std::fs::write(&path, format!("{}\n{table}", head.join("\n"))).unwrap();
    }
    assert_eq!(table.lines().collect::<Vec<_>>(), rows);
}
