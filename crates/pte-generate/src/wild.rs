//! Calls that may crash a runtime: valid ones with random changes of element types, sizes, numbers, constants, outs and
//! memory. This module does not know which of them are valid; `check` and the runtime decide.

use std::sync::LazyLock;

use super::calls::{complete, guessed, loose, valid};
use super::inferred::inferred;
use super::operand::{Content, GeneratedCall, Operand, TensorOperand};
use super::random::Random;
use pte_model::data::number::NumericValue;
use pte_model::format::{DimOrder, ScalarType};
use pte_operators::{ArgKind, Base, Signature};

/// Largest tensor in elements.
const MAX_ELEMENTS: i64 = 1 << 18;

/// Bytes of the largest constant.
const MAX_CONSTANT: u64 = 1 << 14;

/// Element types that many kernels support.
const COMMON: &[ScalarType] = &[
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
];
static RARE: LazyLock<Vec<ScalarType>> =
    LazyLock::new(|| ScalarType::all().filter(|scalar_type| !COMMON.contains(scalar_type)).collect());

/// Integers at the limits of types.
const LIMITS: &[i64] = &[
    i64::MIN,
    i64::MIN + 1,
    i64::MAX,
    i64::MAX - 1,
    i32::MIN as i64,
    i32::MAX as i64,
    i32::MAX as i64 + 1,
    u32::MAX as i64,
    1 << 40,
    -(1 << 40),
    1 << 62,
];

/// Integers that are beyond small sizes, ranks and quantized types.
const MEDIUM: &[i64] =
    &[5, 7, 16, 17, 64, 100, 127, 128, 255, 256, 1000, 65_535, 65_536, -2, -3, -4, -5, -16, -128, -129];

/// Floating point numbers that kernels handle differently.
const DOUBLES: &[f64] = &[
    0.0,
    -0.0,
    1.0,
    -1.0,
    0.5,
    1e-40,
    1e-320,
    1e300,
    -1e300,
    1e10,
    -1e10,
    9.3e18,
    f64::INFINITY,
    f64::NEG_INFINITY,
    f64::NAN,
];

/// Strings for arguments that are strings.
const STRINGS: &[&str] = &["none", "tanh", "trunc", "floor", "nearest", "", "x"];

/// Returns a call of an operator with random changes.
pub fn wild(random: &mut Random, name: &'static str, signature: &Signature) -> GeneratedCall {
    let valid = if random.chance(88) { valid(random, name, signature) } else { None };
    let mut call = valid.unwrap_or_else(|| loose(random, name, signature));
    let ins = signature.ins().count();
    let mut args: Vec<Operand> = call.args.drain(..).collect();
    let outs = args.split_off(ins.min(args.len()));
    let changes = random.weighted(&[(3, 0), (10, 1), (5, 2), (2, 4)]);
    for _ in 0..changes {
        change(random, &mut args, signature);
    }
    let call = match random.chance(75) {
        true => {
            let results = inferred(name, signature, &args).filter(|results| !results.is_empty());
            let known = results.clone().and_then(|results| complete(name, signature, args.clone(), &results));
            known.or_else(|| match random.chance(50) {
                true => complete(name, signature, args.clone(), &guessed(signature, &args)),
                false => None,
            })
        }
        false => None,
    };
    let mut call = call.unwrap_or(GeneratedCall { operator: name, args: [args, outs].concat() });
    if call.args.len() > ins {
        if random.chance(18) {
            change_out(random, &mut call, ins);
        }
        if random.chance(8) {
            share(random, &mut call, ins);
        }
    }
    limit(&mut call);
    call
}

/// Changes an argument, or all tensors.
fn change(random: &mut Random, args: &mut [Operand], signature: &Signature) {
    if args.is_empty() {
        return;
    }
    if random.chance(12) {
        let scalar_type = element_type(random);
        args.iter_mut().flat_map(Operand::tensors_mut).for_each(|tensor| retype(random, tensor, scalar_type));
        return;
    }
    let at = random.below(args.len());
    let sizes: Vec<i32> =
        args.iter().find_map(Operand::as_tensor).map(|tensor| tensor.sizes.clone()).unwrap_or_default();
    let tensors: Vec<usize> =
        (0..args.len()).filter(|other| *other != at && args[*other].as_tensor().is_some()).collect();
    let kind = signature.args.get(at).map(|arg| arg.kind);
    if random.chance(if kind.is_some_and(|kind| kind.optional) { 15 } else { 1 }) {
        args[at] = Operand::Null;
        return;
    }
    match &mut args[at] {
        Operand::Tensor(tensor) => match random.below(20) {
            0 if !tensors.is_empty() => args[at] = Operand::Same(random.pick(&tensors)),
            _ => change_tensor(random, tensor),
        },
        Operand::Tensors { items, .. } => change_items(random, items),
        Operand::Int(int) => match random.below(12) {
            0 if kind.is_some_and(|kind| kind.base == Base::Scalar) => args[at] = Operand::Double(random.pick(DOUBLES)),
            1 if kind.is_some_and(|kind| kind.base == Base::Scalar) => args[at] = Operand::Bool(random.chance(50)),
            _ => *int = integer(random, &sizes, *int),
        },
        Operand::Double(double) => match random.below(8) {
            0 => args[at] = Operand::Int(integer(random, &sizes, 1)),
            1 => args[at] = Operand::Bool(random.chance(50)),
            _ => *double = random.pick(DOUBLES),
        },
        Operand::Bool(value) => match random.below(8) {
            0 if kind.is_some_and(|kind| kind.base == Base::Scalar) => {
                args[at] = Operand::Int(integer(random, &sizes, 1));
            }
            _ => *value = !*value,
        },
        Operand::Str(text) => *text = random.pick(STRINGS),
        Operand::Ints(items) => change_integers(random, items, &sizes),
        Operand::Doubles(items) => match random.below(4) {
            0 => _ = items.pop(),
            1 => items.push(random.pick(DOUBLES)),
            _ => items.iter_mut().for_each(|item| *item = random.pick(DOUBLES)),
        },
        Operand::Bools(items) => match random.below(4) {
            0 => _ = items.pop(),
            1 => items.push(random.chance(50)),
            _ => items.iter_mut().for_each(|item| *item = random.chance(50)),
        },
        Operand::Null => args[at] = present(random, kind, &sizes),
        Operand::Same(_) => {}
    }
}

/// Changes the number of items, or one of them.
fn change_integers(random: &mut Random, items: &mut Vec<i64>, sizes: &[i32]) {
    match random.below(8) {
        0 => items.clear(),
        1 => _ = items.pop(),
        2 => {
            let item = integer(random, sizes, 1);
            items.insert(random.below(items.len() + 1), item);
        }
        3 if !items.is_empty() => {
            let copy = random.pick(items);
            let at = random.below(items.len());
            items[at] = copy;
        }
        _ if !items.is_empty() => {
            let item = random.below(items.len());
            items[item] = integer(random, sizes, items[item]);
        }
        _ => items.push(integer(random, sizes, 1)),
    }
}

/// Returns an argument of a kind in place of null.
fn present(random: &mut Random, kind: Option<ArgKind>, sizes: &[i32]) -> Operand {
    let list = |random: &mut Random| -> Vec<i64> { (0..2).map(|_| integer(random, sizes, 2)).collect() };
    match kind.map(|kind| (kind.base, kind.list)) {
        Some((Base::Tensor, _)) => {
            let mut tensor = TensorOperand::new(ScalarType::FLOAT, sizes, Content::Input);
            change_tensor(random, &mut tensor);
            Operand::Tensor(tensor)
        }
        Some((Base::Int | Base::Dtype | Base::MemoryFormat, true)) => Operand::Ints(list(random)),
        Some((Base::Int | Base::Dtype | Base::MemoryFormat, false)) => Operand::Int(integer(random, sizes, 1)),
        Some((Base::Float | Base::Scalar, false)) => Operand::Double(random.pick(DOUBLES)),
        Some((Base::Float | Base::Scalar, true)) => Operand::Doubles(vec![random.pick(DOUBLES); 2]),
        Some((Base::Bool, _)) => Operand::Bool(random.chance(50)),
        Some((Base::Str, _)) => Operand::Str(random.pick(STRINGS)),
        None => Operand::Null,
    }
}

fn element_type(random: &mut Random) -> ScalarType {
    let types = if random.chance(70) { COMMON } else { &RARE };
    random.pick(types)
}

/// Gives a tensor another element type, and constants of it other data.
fn retype(random: &mut Random, tensor: &mut TensorOperand, scalar_type: ScalarType) {
    tensor.scalar_type = scalar_type;
    if matches!(tensor.content, Content::Constant(_)) {
        tensor.content = Content::Input;
        tensor.fill(&[NumericValue::Int(1), NumericValue::Int(0)], MAX_CONSTANT);
        if random.chance(30) {
            tensor.content = Content::Input;
        }
    }
}

/// Returns an integer that differs from the one before, often by little.
fn integer(random: &mut Random, sizes: &[i32], before: i64) -> i64 {
    let rank = sizes.len() as i64;
    match random.below(20) {
        0..5 => before.saturating_add(random.pick(&[-1, 1, 1, 2, -2])),
        5..8 => random.pick(&[0, 0, 1, -1, 2, 3, 4, 6]),
        8..11 => random.pick(&[rank, rank - 1, -rank, -rank - 1, rank + 1]),
        11..14 => sizes.get(random.below(sizes.len())).map_or(0, |size| i64::from(*size) + random.between(-1, 1)),
        14 => before.saturating_neg(),
        15..18 => random.pick(MEDIUM),
        _ => random.pick(LIMITS),
    }
}

/// Changes a tensor.
fn change_tensor(random: &mut Random, tensor: &mut TensorOperand) {
    match random.below(12) {
        0..3 => {
            let scalar_type = element_type(random);
            retype(random, tensor, scalar_type);
        }
        3..6 => resize(random, tensor),
        6 => {
            let at = random.below(tensor.sizes.len() + 1);
            tensor.sizes.insert(at, random.pick(&[1, 1, 2, 3, 0]));
            reshaped(tensor);
        }
        7 if !tensor.sizes.is_empty() => {
            tensor.sizes.remove(random.below(tensor.sizes.len()));
            reshaped(tensor);
        }
        8 => {
            let rank = random.below(7);
            tensor.sizes = (0..rank).map(|_| random.pick(&[1, 2, 3, 0, 5])).collect();
            reshaped(tensor);
        }
        9 => match tensor.sizes.len() {
            4 if random.chance(60) => tensor.dim_order = DimOrder::channels_last(4),
            5 if random.chance(60) => tensor.dim_order = DimOrder::channels_last(5),
            _ => random.shuffle(&mut tensor.dim_order),
        },
        10 => tensor.dynamism.0 ^= 1,
        _ => recontent(random, tensor),
    }
}

fn resize(random: &mut Random, tensor: &mut TensorOperand) {
    if tensor.sizes.is_empty() {
        return;
    }
    let size = random.below(tensor.sizes.len());
    let size = &mut tensor.sizes[size];
    *size = match random.below(8) {
        0 => 0,
        1 => 1,
        2 | 3 => *size + 1,
        4 => (*size - 1).max(0),
        5 => *size * 2,
        _ => random.pick(&[2, 3, 4, 5, 7, 16, 33, 64, 100, 257, 1000, 65_537]),
    };
    reshaped(tensor);
}

/// Adapts the order of dimensions and the data to the sizes.
fn reshaped(tensor: &mut TensorOperand) {
    if tensor.dim_order.len() != tensor.sizes.len() {
        tensor.dim_order = DimOrder::contiguous(tensor.sizes.len());
    }
    let Some(len) = tensor.nbytes() else { return };
    if let Content::Constant(bytes) = &mut tensor.content {
        if len > MAX_CONSTANT {
            tensor.content = Content::Input;
            return;
        }
        let pattern = if bytes.is_empty() { vec![0] } else { bytes.clone() };
        *bytes = pattern.into_iter().cycle().take(len as usize).collect();
    }
}

/// Makes a tensor a constant with numbers in and out of range, or an input.
fn recontent(random: &mut Random, tensor: &mut TensorOperand) {
    if random.chance(25) {
        tensor.content = Content::Input;
        return;
    }
    let (scalar_type, sizes) = (tensor.scalar_type, tensor.sizes.clone());
    let number = |random: &mut Random| match scalar_type {
        ScalarType::BOOL => NumericValue::Bool(random.chance(50)),
        _ if !scalar_type.is_differentiable() => NumericValue::Int(integer(random, &sizes, 0).into()),
        _ => NumericValue::Float(random.pick(DOUBLES)),
    };
    for _ in 0..4 {
        let numbers: Vec<NumericValue> = (0..3).map(|_| number(random)).collect();
        tensor.fill(&numbers, MAX_CONSTANT);
        if matches!(tensor.content, Content::Constant(_)) {
            return;
        }
    }
}

/// Changes a list of tensors.
fn change_items(random: &mut Random, items: &mut Vec<Option<TensorOperand>>) {
    match random.below(10) {
        0 => items.clear(),
        1 => _ = items.pop(),
        2 if !items.is_empty() && items.len() < 10 => items.push(items[random.below(items.len())].clone()),
        3 if !items.is_empty() => {
            let at = random.below(items.len());
            items[at] = None;
        }
        _ if !items.is_empty() => {
            let at = random.below(items.len());
            if let Some(item) = &mut items[at] {
                change_tensor(random, item);
            }
        }
        _ => {}
    }
}

/// Changes an out.
fn change_out(random: &mut Random, call: &mut GeneratedCall, ins: usize) {
    let at = ins + random.below(call.args.len() - ins);
    match &mut call.args[at] {
        Operand::Tensor(tensor) => match random.below(10) {
            0..4 => tensor.scalar_type = element_type(random),
            4 | 5 => resize(random, tensor),
            6 => {
                let rank = random.below(6);
                tensor.sizes = (0..rank).map(|_| random.pick(&[1, 2, 3, 0, 8])).collect();
                reshaped(tensor);
            }
            7 | 8 => tensor.dynamism.0 ^= 1,
            _ => random.shuffle(&mut tensor.dim_order),
        },
        Operand::Tensors { items, .. } => match random.below(4) {
            0 => _ = items.pop(),
            1 if !items.is_empty() && items.len() < 10 => items.push(items[random.below(items.len())].clone()),
            _ => {
                if let Some(Some(item)) = items.get_mut(random.below(8)) {
                    change_tensor(random, item);
                    item.content = Content::Written;
                }
            }
        },
        Operand::Int(_) | Operand::Bool(_) | Operand::Double(_) | Operand::Null => {
            call.args[at] = random
                .pick(&[Operand::Int(1), Operand::Double(1.0), Operand::Bool(true), Operand::Null].each_ref())
                .clone();
        }
        Operand::Str(_) | Operand::Ints(_) | Operand::Doubles(_) | Operand::Bools(_) | Operand::Same(_) => {}
    }
}

/// Lets an out be an argument, or overlap one in memory.
fn share(random: &mut Random, call: &mut GeneratedCall, ins: usize) {
    let outs: Vec<usize> = (ins..call.args.len()).filter(|at| call.args[*at].as_tensor().is_some()).collect();
    let tensors: Vec<usize> = (0..call.args.len()).filter(|at| call.args[*at].as_tensor().is_some()).collect();
    if outs.is_empty() {
        return;
    }
    let out = random.pick(&outs);
    let before: Vec<usize> = tensors.into_iter().filter(|at| *at < out).collect();
    if before.is_empty() {
        return;
    }
    let other = random.pick(&before);
    let (len, element) = match call.args[other].as_tensor() {
        Some(tensor) => (tensor.nbytes().unwrap_or_default(), tensor.scalar_type.element_size()),
        None => return,
    };
    if random.chance(35) {
        call.args[out] = Operand::Same(other);
    } else if let Operand::Tensor(tensor) = &mut call.args[out] {
        let offset = random.pick(&[0, 0, element, 16, 32, len / 2 / 16 * 16]);
        tensor.content = Content::Over { argument: other, offset };
    }
}

/// Shortens tensors that would need much memory.
fn limit(call: &mut GeneratedCall) {
    for tensor in call.args.iter_mut().flat_map(Operand::tensors_mut) {
        while tensor
            .sizes
            .iter()
            .try_fold(1i64, |n, size| n.checked_mul((*size).into()))
            .is_none_or(|n| n > MAX_ELEMENTS)
        {
            let Some(largest) = tensor.sizes.iter_mut().max() else { break };
            *largest = (*largest / 2).max(1);
            reshaped(tensor);
        }
    }
}
