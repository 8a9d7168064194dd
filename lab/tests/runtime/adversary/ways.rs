//! Ways on which a value becomes what it shall be before a kernel reads it: each computes, moves, stores, aliases or
//! converts another value, which is computed on a way of its own.

use pte_emit::program::{EValue, TensorShapeDynamism, ValueId};
use pte_generate::operand::TensorOperand;
use pte_model::data::number::NumericValue;
use pte_model::format::ScalarType;

use super::builder::{Builder, Elements, Goal};

/// A way.
pub struct Way {
    /// Name, unique.
    pub name: &'static str,
    /// `check` does not evaluate it.
    pub open: bool,
    /// Appends it, and returns the value; `None` if it cannot lead to the goal. The number is the depth of the ways to
    /// other values.
    pub make: fn(&mut Builder, &Goal, usize) -> Option<ValueId>,
}

const fn way(name: &'static str, make: fn(&mut Builder, &Goal, usize) -> Option<ValueId>) -> Way {
    Way { name, open: false, make }
}

const fn open(name: &'static str, make: fn(&mut Builder, &Goal, usize) -> Option<ValueId>) -> Way {
    Way { name, open: true, make }
}

/// Returns all ways to a goal.
pub fn ways(goal: &Goal) -> Vec<&'static Way> {
    let (moves, own) = match goal {
        Goal::Int(_) => (MOVES, INTS),
        Goal::Double(_) => (MOVES, DOUBLES),
        Goal::Bool(_) => (MOVES, BOOLS),
        Goal::Bools(_) => (LISTS, LISTS),
        Goal::Content(_) => (TENSORS, ARITHMETIC),
        Goal::Shape(_) => (SHAPES, SHAPES),
    };
    let own = if std::ptr::eq(moves, own) { &[] } else { own };
    moves.iter().chain(own).collect()
}

/// Returns the number of ways.
pub fn count() -> usize {
    [MOVES, INTS, DOUBLES, BOOLS, LISTS, TENSORS, ARITHMETIC, SHAPES].iter().map(|ways| ways.len()).sum()
}

fn ints(goal: &Goal, change: impl Fn(i64) -> Option<i64>) -> Option<Goal> {
    let Goal::Int([one, other]) = goal else { return None };
    Some(Goal::Int([change(*one)?, change(*other)?]))
}

fn doubles(goal: &Goal, change: impl Fn(f64) -> Option<f64>) -> Option<Goal> {
    let Goal::Double([one, other]) = goal else { return None };
    Some(Goal::Double([change(*one)?, change(*other)?]))
}

fn as_double(int: i64) -> Option<f64> {
    (int.unsigned_abs() < 1 << 53).then_some(int as f64)
}

/// Appends a loop of `rounds` iterations; `body` gets the counter.
fn repeat(b: &mut Builder, rounds: i64, body: impl FnOnce(&mut Builder, ValueId)) -> ValueId {
    let (counter, zero, one, count, is_end) = (b.int(0), b.int(0), b.int(1), b.int(rounds), b.bool(false));
    let top = b.label();
    b.move_to(zero, counter);
    b.land(top);
    body(b, counter);
    b.call("executorch_prim::add.Scalar", &[counter, one, counter]);
    b.call("executorch_prim::ge.Scalar", &[counter, count, is_end]);
    b.jump_false(is_end, top);
    counter
}

/// Appends two branches that do the same, of which a condition selects one.
fn branches(b: &mut Builder, condition: ValueId, mut branch: impl FnMut(&mut Builder)) {
    let (other, end) = (b.label(), b.label());
    b.jump_false(condition, other);
    branch(b);
    b.jump(end);
    b.land(other);
    branch(b);
    b.land(end);
}

/// A number, a truth value: moved, chosen, kept.
const MOVES: &[Way] = &[
    way("a move", |b, goal, depth| {
        let (from, to) = (b.produce(goal, depth), b.other(goal));
        b.move_to(from, to);
        Some(to)
    }),
    way("an input that is overwritten", |b, goal, depth| {
        let (from, to) = (b.produce(goal, depth), b.input_other(goal));
        b.move_to(from, to);
        Some(to)
    }),
    way("two writers", |b, goal, depth| {
        let (first, to) = (b.other(goal), b.other(goal));
        b.move_to(first, to);
        let from = b.produce(goal, depth);
        b.move_to(from, to);
        Some(to)
    }),
    way("a write that is not reached", |b, goal, depth| {
        let (from, to, other, end) = (b.produce(goal, depth), b.other(goal), b.other(goal), b.label());
        b.move_to(from, to);
        b.jump(end);
        b.move_to(other, to);
        b.land(end);
        Some(to)
    }),
    way("both branches of the caller", |b, goal, depth| {
        let (condition, to) = (b.input_bool(), b.other(goal));
        branches(b, condition, |b| {
            let from = b.produce(goal, depth);
            b.move_to(from, to);
        });
        Some(to)
    }),
    way("a branch of the caller before", |b, goal, depth| {
        let (condition, unused, one, end) = (b.input_bool(), b.int(0), b.int(1), b.label());
        b.jump_false(condition, end);
        b.move_to(one, unused);
        b.land(end);
        Some(b.produce(goal, depth))
    }),
    way("a branch with a known condition", |b, goal, depth| {
        let (first, to, end) = (b.other(goal), b.other(goal), b.label());
        b.move_to(first, to);
        let condition = b.produce(&Goal::Bool([true; 2]), depth);
        b.jump_false(condition, end);
        let from = b.produce(goal, depth);
        b.move_to(from, to);
        b.land(end);
        Some(to)
    }),
    way("the execution before", |b, goal, depth| {
        let to = b.literal(goal, 1);
        b.after(|b| {
            let from = b.produce(goal, depth);
            b.move_to(from, to);
        });
        Some(to)
    }),
    way("a chain of moves", |b, goal, depth| {
        let mut from = b.produce(goal, depth);
        for _ in 0..4 {
            let to = b.other(goal);
            b.move_to(from, to);
            from = to;
        }
        Some(from)
    }),
    way("moves from round to round", |b, goal, depth| {
        let (first, second, third) = (b.other(goal), b.other(goal), b.other(goal));
        let from = b.produce(goal, depth);
        let rounds = 3 + b.random.below(20) as i64;
        repeat(b, rounds, |b, _| {
            b.move_to(second, third);
            b.move_to(first, second);
            b.move_to(from, first);
        });
        Some(third)
    }),
    way("moves from execution to execution", |b, goal, depth| {
        let to = b.literal(goal, 1);
        let between = b.literal(goal, 1);
        let from = b.produce(goal, depth);
        b.move_to(between, to);
        b.move_to(from, between);
        Some(to)
    }),
    way("a choice", |b, goal, depth| {
        let condition = b.produce(&Goal::Bool([true; 2]), depth);
        let (from, other, to) = (b.produce(goal, depth), b.other(goal), b.other(goal));
        b.call("executorch_prim::sym_ite.Scalar", &[condition, from, other, to]);
        Some(to)
    }),
    way("the choice of the last round", |b, goal, depth| {
        let (from, other, to, is_last) = (b.produce(goal, depth), b.other(goal), b.other(goal), b.bool(false));
        let rounds = 2 + b.random.below(200) as i64;
        let last = b.int(rounds - 1);
        repeat(b, rounds, |b, counter| {
            b.call("executorch_prim::eq.Scalar", &[counter, last, is_last]);
            b.call("executorch_prim::sym_ite.Scalar", &[is_last, from, other, to]);
        });
        Some(to)
    }),
];

fn binary(b: &mut Builder, operator: &'static str, one: ValueId, other: ValueId) -> ValueId {
    b.number(operator, &[one, other], EValue::Int(1))
}

fn double(b: &mut Builder, operator: &'static str, one: ValueId, other: ValueId) -> ValueId {
    b.number(operator, &[one, other], EValue::Double(1.0))
}

const INTS: &[Way] = &[
    way("a sum", |b, goal, depth| {
        let by = b.random.pick(&[-3, 5, 1 << 20, 1 << 40]);
        let (one, by) = (b.produce(&ints(goal, |int| int.checked_sub(by))?, depth), b.int(by));
        Some(binary(b, "executorch_prim::add.Scalar", one, by))
    }),
    way("a sum of two", |b, goal, depth| {
        let by = b.random.pick(&[-7, 3, 1 << 33]);
        let other = Goal::Int([by; 2]);
        let (one, other) = (b.produce(&ints(goal, |int| int.checked_sub(by))?, depth), b.produce(&other, depth));
        Some(binary(b, "executorch_prim::add.Scalar", one, other))
    }),
    way("a difference", |b, goal, depth| {
        let by = b.random.pick(&[-3, 5, 1 << 20, 1 << 40]);
        let (one, by) = (b.produce(&ints(goal, |int| int.checked_add(by))?, depth), b.int(by));
        Some(binary(b, "executorch_prim::sub.Scalar", one, by))
    }),
    way("a negated number", |b, goal, depth| {
        let one = b.produce(&ints(goal, i64::checked_neg)?, depth);
        Some(b.number("executorch_prim::neg.Scalar", &[one], EValue::Int(1)))
    }),
    way("a product", |b, goal, depth| {
        let (one, by) = (b.produce(goal, depth), b.int(1));
        Some(binary(b, "executorch_prim::mul.Scalar", one, by))
    }),
    way("a quotient", |b, goal, depth| {
        let by = b.random.pick(&[2, 7, 1000]);
        let (one, by) = (b.produce(&ints(goal, |int| int.checked_mul(by))?, depth), b.int(by));
        Some(binary(b, "executorch_prim::floordiv.Scalar", one, by))
    }),
    way("a remainder", |b, goal, depth| {
        let least = |int: i64| (0..1 << 32).contains(&int).then_some(int);
        let modulus = 1 << 33;
        let of = ints(goal, |int| least(int)?.checked_add(modulus * 3))?;
        let (one, by) = (b.produce(&of, depth), b.int(modulus));
        Some(binary(b, "executorch_prim::mod.Scalar", one, by))
    }),
    way("a maximum", |b, goal, depth| {
        let less = ints(goal, |int| int.checked_sub(1))?;
        let (one, less) = (b.produce(goal, depth), b.literal(&less, b.which));
        Some(binary(b, "executorch_prim::sym_max.Scalar", one, less))
    }),
    way("a minimum", |b, goal, depth| {
        let more = ints(goal, |int| int.checked_add(1))?;
        let (one, more) = (b.produce(goal, depth), b.literal(&more, b.which));
        Some(binary(b, "executorch_prim::sym_min.Scalar", more, one))
    }),
    way("a truncated Double", |b, goal, depth| {
        let Goal::Int([one, other]) = goal else { return None };
        let double = b.produce(&Goal::Double([as_double(*one)?, as_double(*other)?]), depth);
        let operator = b.random.pick(&[
            "executorch_prim::sym_int.Scalar",
            "executorch_prim::trunc.Scalar",
            "executorch_prim::round.Scalar",
            "executorch_prim::ceil.Scalar",
        ]);
        Some(b.number(operator, &[double], EValue::Int(1)))
    }),
    way("the size of a resized tensor", |b, goal, depth| {
        let tensor = resized(b, goal, depth)?;
        let dim = b.int(0);
        Some(b.number("aten::sym_size.int", &[tensor, dim], EValue::Int(1)))
    }),
    way("the size of a resized tensor that is moved", |b, goal, depth| {
        let tensor = resized(b, goal, depth)?;
        let (to, dim) = (b.bounded(ScalarType::FLOAT, &[MOST_ROWS as i32]), b.int(0));
        b.move_to(tensor, to);
        Some(b.number("aten::sym_size.int", &[to, dim], EValue::Int(1)))
    }),
    way("the number of elements after a copy of a resized tensor", |b, goal, depth| {
        let tensor = resized(b, goal, depth)?;
        let (null, out) = (b.null(), b.bounded(ScalarType::FLOAT, &[MOST_ROWS as i32]));
        let copy = b.call_out("aten::clone.out", &[tensor, null], out);
        Some(b.number("aten::sym_numel", &[copy], EValue::Int(1)))
    }),
    way("a rounded Double", |b, goal, depth| {
        let Goal::Int([one, other]) = goal else { return None };
        let half = |int: i64| (int.unsigned_abs() < 1 << 50).then_some(int as f64 - 0.25);
        let double = b.produce(&Goal::Double([half(*one)?, half(*other)?]), depth);
        let operator = b.random.pick(&["executorch_prim::round.Scalar", "executorch_prim::ceil.Scalar"]);
        Some(b.number(operator, &[double], EValue::Int(1)))
    }),
    way("an element", |b, goal, depth| {
        let Goal::Int([one, other]) = goal else { return None };
        let numbers = [one, other].map(|int| vec![NumericValue::Int((*int).into())]);
        let types = [ScalarType::LONG, ScalarType::INT, ScalarType::SHORT, ScalarType::CHAR, ScalarType::BYTE];
        let scalar_type = b.random.pick(&types);
        let elements = Elements { scalar_type, sizes: vec![], numbers }.of_type(scalar_type)?;
        let tensor = b.produce(&Goal::Content(elements), depth);
        Some(b.number("aten::_local_scalar_dense", &[tensor], EValue::Int(1)))
    }),
    way("a size", |b, goal, _| {
        let Goal::Int(ints) = goal else { return None };
        let sizes = ints.map(|int| i32::try_from(int).ok().filter(|size| (0..=64).contains(size)));
        let size = [sizes[0]?, sizes[1]?][b.which];
        let (tensor, dim) = (b.tensor(ScalarType::FLOAT, &[3, size]), b.int(1));
        b.fill(tensor, &[3, size]);
        Some(b.number("aten::sym_size.int", &[tensor, dim], EValue::Int(1)))
    }),
    way("a number of elements", |b, goal, _| {
        let Goal::Int(ints) = goal else { return None };
        let sizes = ints.map(|int| i32::try_from(int).ok().filter(|size| (0..=64).contains(size)));
        let size = [sizes[0]?, sizes[1]?][b.which];
        let tensor = b.tensor(ScalarType::FLOAT, &[1, size]);
        b.fill(tensor, &[1, size]);
        Some(b.number("aten::sym_numel", &[tensor], EValue::Int(1)))
    }),
    way("a counter", |b, goal, depth| {
        let rounds = 2 + b.random.below(300) as i64;
        let first = b.produce(&ints(goal, |int| int.checked_sub(rounds))?, depth);
        let counter = repeat(b, rounds, |_, _| {});
        Some(binary(b, "executorch_prim::add.Scalar", counter, first))
    }),
    way("a sum of rounds", |b, goal, depth| {
        let rounds = 2 + b.random.below(30) as i64;
        let first = b.produce(&ints(goal, |int| int.checked_sub(3 * rounds))?, depth);
        let (sum, by) = (b.int(1), b.int(3));
        b.move_to(first, sum);
        repeat(b, rounds, |b, _| b.call("executorch_prim::add.Scalar", &[sum, by, sum]));
        Some(sum)
    }),
    way("a comparison of large numbers", |b, goal, depth| {
        let (large, less, is_more) = (b.int((1 << 53) + 1), b.int(1 << 53), b.bool(false));
        b.call("executorch_prim::gt.Scalar", &[large, less, is_more]);
        let (from, other, to) = (b.produce(goal, depth), b.other(goal), b.other(goal));
        b.call("executorch_prim::sym_ite.Scalar", &[is_more, from, other, to]);
        Some(to)
    }),
    way("a sum in place", |b, goal, depth| {
        let from = b.produce(&ints(goal, |int| int.checked_sub(4))?, depth);
        let (to, by) = (b.int(1), b.int(4));
        b.move_to(from, to);
        b.call("executorch_prim::add.Scalar", &[to, by, to]);
        Some(to)
    }),
    open("a long loop", |b, goal, depth| {
        // Unoptimized, `check` takes a second for it.
        let rounds = if b.random.chance(5) { 200_000 } else { return None };
        let first = b.produce(&ints(goal, |int| int.checked_sub(rounds))?, depth);
        let counter = repeat(b, rounds, |_, _| {});
        Some(binary(b, "executorch_prim::add.Scalar", counter, first))
    }),
    open("an overflow", |b, goal, depth| {
        let (one, by) = (b.int(1 << 62), b.int(4));
        let zero = binary(b, "executorch_prim::mul.Scalar", one, by);
        let from = b.produce(goal, depth);
        Some(binary(b, "executorch_prim::add.Scalar", zero, from))
    }),
];

const DOUBLES: &[Way] = &[
    way("a sum of Doubles", |b, goal, depth| {
        let exact =
            |double: f64| (double - 1024.0 + 1024.0 == double || !double.is_finite()).then_some(double - 1024.0);
        let (one, by) = (b.produce(&doubles(goal, exact)?, depth), b.double(1024.0));
        Some(double(b, "executorch_prim::add.Scalar", one, by))
    }),
    way("a quotient of Doubles", |b, goal, depth| {
        let twice = doubles(goal, |double| (double * 2.0 / 2.0 == double || double.is_nan()).then_some(double * 2.0))?;
        let (one, by) = (b.produce(&twice, depth), b.double(2.0));
        Some(double(b, "executorch_prim::truediv.Scalar", one, by))
    }),
    way("a quotient of Ints", |b, goal, depth| {
        let twice = |double: f64| (double.fract() == 0.0 && double.abs() < 1e9).then(|| double as i64 * 2);
        let Goal::Double([one, other]) = goal else { return None };
        let (one, by) = (b.produce(&Goal::Int([twice(*one)?, twice(*other)?]), depth), b.int(2));
        Some(double(b, "executorch_prim::truediv.Scalar", one, by))
    }),
    way("a product of Doubles", |b, goal, depth| {
        let (one, by) = (b.produce(goal, depth), b.double(1.0));
        Some(double(b, "executorch_prim::mul.Scalar", one, by))
    }),
    way("a negated Double", |b, goal, depth| {
        let one = b.produce(&doubles(goal, |double| Some(-double))?, depth);
        Some(b.number("executorch_prim::neg.Scalar", &[one], EValue::Double(1.0)))
    }),
    way("a Double of an Int", |b, goal, depth| {
        let int = |double: f64| (double.fract() == 0.0 && double.abs() < 1e15).then_some(double as i64);
        let Goal::Double([one, other]) = goal else { return None };
        let one = b.produce(&Goal::Int([int(*one)?, int(*other)?]), depth);
        Some(b.number("executorch_prim::sym_float.Scalar", &[one], EValue::Double(1.0)))
    }),
    way("an element of floating point", |b, goal, depth| {
        let Goal::Double(both) = goal else { return None };
        let numbers = both.map(|double| vec![NumericValue::Float(double)]);
        let scalar_type = b.random.pick(&[ScalarType::DOUBLE, ScalarType::FLOAT]);
        let elements = Elements { scalar_type, sizes: vec![], numbers }.of_type(scalar_type)?;
        let tensor = b.produce(&Goal::Content(elements), depth);
        Some(b.number("aten::_local_scalar_dense", &[tensor], EValue::Double(1.0)))
    }),
];

const BOOLS: &[Way] = &[
    way("a comparison", |b, goal, depth| {
        let Goal::Bool(both) = goal else { return None };
        let (operator, yes, no): (_, i64, i64) = b.random.pick(&[
            ("executorch_prim::eq.Scalar", 5, 4),
            ("executorch_prim::gt.Scalar", 6, 5),
            ("executorch_prim::ge.Scalar", 5, 4),
            ("executorch_prim::lt.Scalar", 4, 5),
            ("executorch_prim::le.Scalar", 5, 6),
        ]);
        let one = b.produce(&Goal::Int(both.map(|value| if value { yes } else { no })), depth);
        let five = b.produce(&Goal::Int([5; 2]), depth);
        Some(b.number(operator, &[one, five], EValue::Bool(false)))
    }),
    way("a comparison of Doubles", |b, goal, depth| {
        let Goal::Bool(both) = goal else { return None };
        let one = b.produce(&Goal::Double(both.map(|value| if value { 0.5 } else { f64::NAN })), depth);
        let other = b.double(0.5);
        Some(b.number("executorch_prim::eq.Scalar", &[one, other], EValue::Bool(false)))
    }),
    way("a negation", |b, goal, depth| {
        let Goal::Bool(both) = goal else { return None };
        let one = b.produce(&Goal::Bool(both.map(|value| !value)), depth);
        Some(b.number("executorch_prim::sym_not.Scalar", &[one], EValue::Bool(false)))
    }),
    way("an element of bool", |b, goal, depth| {
        let Goal::Bool(both) = goal else { return None };
        let numbers = both.map(|value| vec![NumericValue::Bool(value)]);
        let elements = Elements { scalar_type: ScalarType::BOOL, sizes: vec![], numbers };
        let tensor = b.produce(&Goal::Content(elements), depth);
        Some(b.number("aten::_local_scalar_dense", &[tensor], EValue::Bool(false)))
    }),
    way("a negation in each round", |b, goal, depth| {
        let from = b.produce(goal, depth);
        let to = b.bool(false);
        let rounds = 2 * (1 + b.random.below(50) as i64);
        b.move_to(from, to);
        repeat(b, rounds, |b, _| b.call("executorch_prim::sym_not.Scalar", &[to, to]));
        Some(to)
    }),
];

/// A list of truth values.
const LISTS: &[Way] = &[
    way("a move of a list", |b, goal, depth| {
        let (from, to) = (b.produce(goal, depth), b.other(goal));
        b.move_to(from, to);
        Some(to)
    }),
    way("a move of a list in a branch of the caller", |b, goal, depth| {
        let (condition, to) = (b.input_bool(), b.other(goal));
        let from = b.produce(goal, depth);
        branches(b, condition, |b| b.move_to(from, to));
        Some(to)
    }),
    way("a move of a list in the execution before", |b, goal, depth| {
        let to = b.literal(goal, 1);
        b.after(|b| {
            let from = b.produce(goal, depth);
            b.move_to(from, to);
        });
        Some(to)
    }),
];

/// Maximum size of a tensor that is resized.
const MOST_ROWS: i64 = 64;

/// Appends a call that gives a dynamic tensor the size of a goal.
fn resized(b: &mut Builder, goal: &Goal, depth: usize) -> Option<ValueId> {
    let rows = b.produce(&ints(goal, |int| (0..=MOST_ROWS).contains(&int).then_some(int))?, depth);
    let (sizes, one) = (b.push(EValue::IntList(Some([i64::from(rows)].into_iter().collect()))), b.double(1.0));
    let out = b.bounded(ScalarType::FLOAT, &[MOST_ROWS as i32]);
    Some(b.call_out("aten::full.out", &[sizes, one], out))
}

/// Elements among others, which are those of the harmless method.
fn among(elements: &Elements, before: usize, after: usize) -> Option<Elements> {
    let filler = *elements.numbers[1].first()?;
    let with = |numbers: &Vec<NumericValue>| [&vec![filler; before][..], numbers, &vec![filler; after]].concat();
    let numbers = [with(&elements.numbers[0]), with(&elements.numbers[1])];
    Some(Elements { sizes: vec![(before + elements.len() + after) as i32], numbers, ..elements.clone() })
}

fn content(goal: &Goal) -> Option<&Elements> {
    match goal {
        Goal::Content(elements) => Some(elements),
        _ => None,
    }
}

/// A view of a flat tensor with the sizes of a goal.
fn shaped(b: &mut Builder, flat: ValueId, e: &Elements) -> ValueId {
    if e.sizes.len() == 1 {
        return flat;
    }
    let (sizes, out) = (b.sizes(&e.sizes), b.tensor(e.scalar_type, &e.sizes));
    b.call_out("aten::view_copy.out", &[flat, sizes], out)
}

/// Appends a call that copies a tensor.
fn copied(b: &mut Builder, goal: &Goal, depth: usize, operator: &'static str, more: usize) -> Option<ValueId> {
    let e = content(goal)?;
    let mut args = vec![b.produce(goal, depth)];
    args.extend((0..more).map(|_| b.null()));
    let out = b.tensor(e.scalar_type, &e.sizes);
    Some(b.call_out(operator, &args, out))
}

/// Appends a copy of the harmless elements.
fn harmless(b: &mut Builder, e: &Elements, to: ValueId) {
    let other = b.constant(&Elements { numbers: [e.numbers[1].clone(), e.numbers[1].clone()], ..e.clone() });
    copy_to(b, other, to);
}

/// Appends a copy of a tensor to another one of the same type.
fn copy_to(b: &mut Builder, from: ValueId, to: ValueId) {
    let never = b.bool(false);
    b.call("aten::copy_", &[to, from, never, to]);
}

/// Appends a copy of what a goal needs to a tensor.
fn write(b: &mut Builder, goal: &Goal, depth: usize, to: ValueId) {
    let from = b.produce(goal, depth);
    copy_to(b, from, to);
}

/// Appends a view of a tensor, of the type of `e`.
fn viewed(b: &mut Builder, base: ValueId, e: &Elements, sizes: &[i32]) -> ValueId {
    let (list, view) = (b.sizes(sizes), b.unplaced(e.scalar_type, sizes));
    b.call("executorch_prim::et_view.default", &[base, list, view]);
    view
}

/// Indices from a first one on.
fn range(first: i128, count: usize) -> Elements {
    let numbers: Vec<NumericValue> = (first..).take(count).map(NumericValue::Int).collect();
    Elements { scalar_type: ScalarType::LONG, sizes: vec![count as i32], numbers: [numbers.clone(), numbers] }
}

/// A mask that selects all elements.
fn all_true(e: &Elements) -> Elements {
    let numbers = vec![NumericValue::Bool(true); e.len()];
    Elements { scalar_type: ScalarType::BOOL, sizes: e.sizes.clone(), numbers: [numbers.clone(), numbers] }
}

/// Tensors: elements that are moved.
const TENSORS: &[Way] = &[
    way("state with data", |b, goal, _| Some(b.state(content(goal)?, b.which))),
    way("a clone", |b, goal, depth| copied(b, goal, depth, "aten::clone.out", 1)),
    way("an alias copy", |b, goal, depth| copied(b, goal, depth, "aten::alias_copy.out", 0)),
    way("a fresh copy", |b, goal, depth| copied(b, goal, depth, "aten::lift_fresh_copy.out", 0)),
    way("a detached copy", |b, goal, depth| copied(b, goal, depth, "aten::detach_copy.out", 0)),
    way("a copy in an order of dimensions", |b, goal, depth| {
        let e = content(goal)?;
        let (from, never, null) = (b.produce(goal, depth), b.bool(false), b.null());
        let out = b.tensor(e.scalar_type, &e.sizes);
        let operator = b.random.pick(&[
            "dim_order_ops::_clone_dim_order.out",
            "dim_order_ops::_to_dim_order_copy.out",
            "aten::_to_copy.out",
        ]);
        Some(b.call_out(operator, &[from, never, null], out))
    }),
    way("a copy in place", |b, goal, depth| {
        let (from, to) = (b.produce(goal, depth), b.other(goal));
        copy_to(b, from, to);
        Some(to)
    }),
    way("an input tensor that is overwritten", |b, goal, depth| {
        let (from, to) = (b.produce(goal, depth), b.input_other(goal));
        copy_to(b, from, to);
        Some(to)
    }),
    way("an input tensor that is moved, then overwritten", |b, goal, depth| {
        let (input, to) = (b.input_other(goal), b.other(goal));
        b.move_to(input, to);
        write(b, goal, depth, input);
        Some(to)
    }),
    way("a view of a view", |b, goal, depth| {
        let e = content(goal)?;
        let (rows, flat) = ([1, e.len() as i32], [e.len() as i32, 1, 1]);
        let base = b.other(&Goal::Content(e.reshaped(&rows)));
        harmless(b, &e.reshaped(&rows), base);
        let view = viewed(b, base, e, &flat);
        let second = viewed(b, view, e, &e.sizes);
        write(b, &Goal::Content(e.reshaped(&flat)), depth, view);
        Some(second)
    }),
    way("a view that is moved", |b, goal, depth| {
        let e = content(goal)?;
        let rows = [1, e.len() as i32];
        let base = b.other(&Goal::Content(e.reshaped(&rows)));
        harmless(b, &e.reshaped(&rows), base);
        let (sizes, view, to) = (b.sizes(&e.sizes), b.unplaced(e.scalar_type, &e.sizes), b.other(goal));
        b.call("executorch_prim::et_view.default", &[base, sizes, view]);
        b.move_to(view, to);
        write(b, &Goal::Content(e.reshaped(&rows)), depth, base);
        Some(to)
    }),
    way("a view of a moved tensor", |b, goal, depth| {
        let e = content(goal)?;
        let (base, moved) = (b.other(goal), b.other(goal));
        harmless(b, e, base);
        b.move_to(base, moved);
        let view = viewed(b, moved, e, &e.sizes);
        write(b, goal, depth, base);
        Some(view)
    }),
    way("a write through a view, to other memory", |b, goal, depth| {
        let e = content(goal)?;
        let larger = Goal::Content(among(e, 0, 3)?);
        let base = b.other(&larger);
        let inside = b.tensor_in(base, 0, e.scalar_type, &e.sizes);
        let sizes = [1, e.len() as i32 + 3];
        let view = viewed(b, base, e, &sizes);
        write(b, &Goal::Content(among(e, 0, 3)?.reshaped(&sizes)), depth, view);
        Some(inside)
    }),
    way("a copy over a fill", |b, goal, depth| {
        let e = content(goal)?;
        let to = b.other(goal);
        harmless(b, e, to);
        write(b, goal, depth, to);
        Some(to)
    }),
    way("copy.out", |b, goal, depth| {
        let e = content(goal)?;
        let other = b.constant(&e.map(|_| Some(e.numbers[1].clone()))?);
        let (from, never, out) = (b.produce(goal, depth), b.bool(false), b.other(goal));
        Some(b.call_out("aten::copy.out", &[other, from, never], out))
    }),
    way("a full tensor", |b, goal, depth| {
        let e = content(goal)?;
        let number = b.element(e, depth)?;
        let (sizes, out) = (b.sizes(&e.sizes), b.tensor(e.scalar_type, &e.sizes));
        Some(b.call_out("aten::full.out", &[sizes, number], out))
    }),
    way("a full tensor like another one", |b, goal, depth| {
        let e = content(goal)?;
        let number = b.element(e, depth)?;
        let (like, null, out) = (b.constant(e), b.null(), b.tensor(e.scalar_type, &e.sizes));
        Some(b.call_out("aten::full_like.out", &[like, number, null], out))
    }),
    way("a filled tensor", |b, goal, depth| {
        let e = content(goal)?;
        let number = b.element(e, depth)?;
        let (like, out) = (b.constant(e), b.tensor(e.scalar_type, &e.sizes));
        Some(b.call_out("aten::fill.Scalar_out", &[like, number], out))
    }),
    way("a number as a tensor", |b, goal, depth| {
        let e = content(goal).filter(|e| e.sizes.is_empty())?;
        let number = b.element(e, depth)?;
        let out = b.tensor(e.scalar_type, &[]);
        Some(b.call_out("aten::scalar_tensor.out", &[number], out))
    }),
    way("a range", |b, goal, depth| {
        let e = content(goal).filter(|e| e.len() == 1 && e.scalar_type == ScalarType::LONG)?;
        let int = |which: usize| match e.numbers[which][0] {
            NumericValue::Int(int) if int.unsigned_abs() < 1 << 52 => i64::try_from(int).ok(),
            _ => None,
        };
        let start = b.produce(&Goal::Int([int(0)?, int(1)?]), depth);
        let (end, step) = (b.literal(&Goal::Int([int(0)? + 1, int(1)? + 1]), b.which), b.int(1));
        let out = b.tensor(e.scalar_type, &[1]);
        let flat = b.call_out("aten::arange.start_out", &[start, end, step], out);
        Some(shaped(b, flat, e))
    }),
    way("a move of a tensor", |b, goal, depth| {
        let (from, to) = (b.produce(goal, depth), b.other(goal));
        b.move_to(from, to);
        Some(to)
    }),
    way("a move of a tensor that is written again", |b, goal, depth| {
        let e = content(goal)?;
        let (base, to) = (b.other(goal), b.other(goal));
        harmless(b, e, base);
        b.move_to(base, to);
        write(b, goal, depth, base);
        Some(to)
    }),
    way("a write through a moved tensor", |b, goal, depth| {
        let e = content(goal)?;
        let (base, to) = (b.other(goal), b.other(goal));
        harmless(b, e, base);
        b.move_to(base, to);
        write(b, goal, depth, to);
        Some(base)
    }),
    way("a view", |b, goal, depth| {
        let e = content(goal)?;
        let from = b.produce(&Goal::Content(e.reshaped(&[1, e.len() as i32])), depth);
        let view = viewed(b, from, e, &e.sizes);
        Some(view)
    }),
    way("a view of what is written again", |b, goal, depth| {
        let e = content(goal)?;
        let flat = Goal::Content(e.reshaped(&[e.len() as i32, 1]));
        let base = b.other(&flat);
        harmless(b, &e.reshaped(&[e.len() as i32, 1]), base);
        let view = viewed(b, base, e, &e.sizes);
        write(b, &flat, depth, base);
        Some(view)
    }),
    way("a write through a view", |b, goal, depth| {
        let e = content(goal)?;
        let flat = Goal::Content(e.reshaped(&[e.len() as i32, 1]));
        let base = b.other(goal);
        harmless(b, e, base);
        let view = viewed(b, base, e, &[e.len() as i32, 1]);
        write(b, &flat, depth, view);
        Some(base)
    }),
    way("a copied view", |b, goal, depth| {
        let e = content(goal)?;
        let from = b.produce(&Goal::Content(e.reshaped(&[e.len() as i32, 1])), depth);
        let (sizes, out) = (b.sizes(&e.sizes), b.tensor(e.scalar_type, &e.sizes));
        Some(b.call_out("aten::view_copy.out", &[from, sizes], out))
    }),
    way("a copy with one more dimension", |b, goal, depth| {
        let e = content(goal)?;
        let sizes: Vec<i32> = [&[1], &e.sizes[..]].concat();
        let from = b.produce(&Goal::Content(e.reshaped(&sizes)), depth);
        let (zero, out) = (b.int(0), b.tensor(e.scalar_type, &e.sizes));
        Some(b.call_out("aten::squeeze_copy.dim_out", &[from, zero], out))
    }),
    way("a copy with one dimension less", |b, goal, depth| {
        let e = content(goal).filter(|e| e.sizes.first() == Some(&1))?;
        let from = b.produce(&Goal::Content(e.reshaped(&e.sizes[1..])), depth);
        let (zero, out) = (b.int(0), b.tensor(e.scalar_type, &e.sizes));
        Some(b.call_out("aten::unsqueeze_copy.out", &[from, zero], out))
    }),
    way("permuted dimensions", |b, goal, depth| {
        let e = content(goal)?;
        let from = b.produce(&Goal::Content(e.reshaped(&[1, e.len() as i32])), depth);
        let out = b.tensor(e.scalar_type, &[e.len() as i32, 1]);
        let (zero, one) = (b.int(0), b.int(1));
        let turned = match b.random.below(3) {
            0 => b.call_out("aten::t_copy.out", &[from], out),
            1 => b.call_out("aten::transpose_copy.int_out", &[from, zero, one], out),
            _ => {
                let dims = b.ints(&[1, 0]);
                b.call_out("aten::permute_copy.out", &[from, dims], out)
            }
        };
        let flat = b.tensor(e.scalar_type, &[e.len() as i32]);
        let sizes = b.sizes(&[e.len() as i32]);
        let flat = b.call_out("aten::view_copy.out", &[turned, sizes], flat);
        Some(shaped(b, flat, e))
    }),
    way("a slice", |b, goal, depth| {
        let e = content(goal)?;
        let from = b.produce(&Goal::Content(among(e, 2, 1)?), depth);
        let n = e.len() as i64;
        let (dim, start, end, step) = (b.int(0), b.int(2), b.int(2 + n), b.int(1));
        let out = b.tensor(e.scalar_type, &[e.len() as i32]);
        let flat = b.call_out("aten::slice_copy.Tensor_out", &[from, dim, start, end, step], out);
        Some(shaped(b, flat, e))
    }),
    way("a narrow part", |b, goal, depth| {
        let e = content(goal)?;
        let from = b.produce(&Goal::Content(among(e, 1, 1)?), depth);
        let (dim, start, len) = (b.int(0), b.int(1), b.int(e.len() as i64));
        let out = b.tensor(e.scalar_type, &[e.len() as i32]);
        let flat = b.call_out("aten::narrow_copy.out", &[from, dim, start, len], out);
        Some(shaped(b, flat, e))
    }),
    way("a selected row", |b, goal, depth| {
        let e = content(goal)?;
        let n = e.len();
        let rows = among(e, n, n)?.reshaped(&[3, n as i32]);
        let (from, dim) = (b.produce(&Goal::Content(rows), depth), b.int(0));
        let index = b.produce(&Goal::Int([1; 2]), depth);
        let out = b.tensor(e.scalar_type, &[n as i32]);
        let flat = b.call_out("aten::select_copy.int_out", &[from, dim, index], out);
        Some(shaped(b, flat, e))
    }),
    way("a concatenation", |b, goal, depth| {
        let e = content(goal)?;
        let flat = e.reshaped(&[e.len() as i32]);
        let others = flat.map(|_| Some(e.numbers[1].clone()))?;
        let (other, from) = (b.constant(&others), b.produce(&Goal::Content(flat), depth));
        let (list, dim, n) = (b.tensors(&[other, from]), b.int(0), e.len() as i64);
        let out = b.tensor(e.scalar_type, &[2 * n as i32]);
        let all = b.call_out("aten::cat.out", &[list, dim], out);
        let (dim, start, end, step) = (b.int(0), b.int(n), b.int(2 * n), b.int(1));
        let out = b.tensor(e.scalar_type, &[n as i32]);
        let flat = b.call_out("aten::slice_copy.Tensor_out", &[all, dim, start, end, step], out);
        Some(shaped(b, flat, e))
    }),
    way("a stack", |b, goal, depth| {
        let e = content(goal)?;
        let flat = e.reshaped(&[e.len() as i32]);
        let others = flat.map(|_| Some(e.numbers[1].clone()))?;
        let (other, from) = (b.constant(&others), b.produce(&Goal::Content(flat), depth));
        let (list, dim, n) = (b.tensors(&[from, other]), b.int(0), e.len() as i32);
        let out = b.tensor(e.scalar_type, &[2, n]);
        let all = b.call_out("aten::stack.out", &[list, dim], out);
        let (dim, index, out) = (b.int(0), b.int(0), b.tensor(e.scalar_type, &[n]));
        let flat = b.call_out("aten::select_copy.int_out", &[all, dim, index], out);
        Some(shaped(b, flat, e))
    }),
    way("a part of a split", |b, goal, depth| {
        let e = content(goal)?;
        let n = e.len() as i32;
        let from = b.produce(&Goal::Content(among(e, e.len(), 0)?), depth);
        let parts = [b.tensor(e.scalar_type, &[n]), b.tensor(e.scalar_type, &[n])];
        let list = b.tensors(&parts);
        match b.random.below(2) {
            0 => {
                let (size, dim) = (b.int(n.into()), b.int(0));
                b.call("aten::split_copy.Tensor_out", &[from, size, dim, list, list]);
            }
            _ => {
                let (sizes, dim) = (b.ints(&[n.into(), n.into()]), b.int(0));
                b.call("aten::split_with_sizes_copy.out", &[from, sizes, dim, list, list]);
            }
        }
        Some(shaped(b, parts[1], e))
    }),
    way("a row of all", |b, goal, depth| {
        let e = content(goal)?;
        let n = e.len() as i32;
        let from = b.produce(&Goal::Content(among(e, e.len(), 0)?.reshaped(&[2, n])), depth);
        let (parts, dim) = ([b.tensor(e.scalar_type, &[n]), b.tensor(e.scalar_type, &[n])], b.int(0));
        let list = b.tensors(&parts);
        b.call("aten::unbind_copy.int_out", &[from, dim, list, list]);
        Some(shaped(b, parts[1], e))
    }),
    way("a choice of elements", |b, goal, depth| {
        let e = content(goal)?;
        let mask = all_true(e);
        let other = b.constant(&e.map(|_| Some(e.numbers[1].clone()))?);
        let (mask, from) = (b.produce(&Goal::Content(mask), depth), b.produce(goal, depth));
        let out = b.tensor(e.scalar_type, &e.sizes);
        Some(b.call_out("aten::where.self_out", &[mask, from, other], out))
    }),
    way("masked elements", |b, goal, depth| {
        let e = content(goal)?;
        let number = b.element(e, depth)?;
        let mask = all_true(e);
        let other = b.constant(&e.map(|_| Some(e.numbers[1].clone()))?);
        let mask = b.produce(&Goal::Content(mask), depth);
        let out = b.tensor(e.scalar_type, &e.sizes);
        Some(b.call_out("aten::masked_fill.Scalar_out", &[other, mask, number], out))
    }),
    way("selected elements", |b, goal, depth| {
        let e = content(goal)?;
        let n = e.len();
        let from = b.produce(&Goal::Content(among(e, 2, 0)?), depth);
        let positions = range(2, n);
        let (indices, dim) = (b.produce(&Goal::Content(positions), depth), b.int(0));
        let out = b.tensor(e.scalar_type, &[n as i32]);
        let flat = match b.random.below(2) {
            0 => b.call_out("aten::index_select.out", &[from, dim, indices], out),
            _ => {
                let never = b.bool(false);
                b.call_out("aten::gather.out", &[from, dim, indices, never], out)
            }
        };
        Some(shaped(b, flat, e))
    }),
    way("reversed elements", |b, goal, depth| {
        let e = content(goal)?;
        let reversed = e.map(|numbers| Some(numbers.iter().rev().copied().collect()))?;
        let from = b.produce(&Goal::Content(reversed.reshaped(&[e.len() as i32])), depth);
        let (dims, out) = (b.ints(&[0]), b.tensor(e.scalar_type, &[e.len() as i32]));
        let flat = b.call_out("aten::flip.out", &[from, dims], out);
        Some(shaped(b, flat, e))
    }),
    way("rolled elements", |b, goal, depth| {
        let e = content(goal)?;
        let rolled = e.map(|numbers| {
            let mut numbers = numbers.to_vec();
            numbers.rotate_left(1);
            Some(numbers)
        })?;
        let from = b.produce(&Goal::Content(rolled.reshaped(&[e.len() as i32])), depth);
        let (shifts, dims, out) = (b.ints(&[1]), b.ints(&[0]), b.tensor(e.scalar_type, &[e.len() as i32]));
        let flat = b.call_out("aten::roll.out", &[from, shifts, dims], out);
        Some(shaped(b, flat, e))
    }),
    way("repeated elements", |b, goal, depth| {
        let e = content(goal)?;
        let n = e.len() as i32;
        let from = b.produce(&Goal::Content(e.reshaped(&[n])), depth);
        let (repeats, out) = (b.ints(&[2]), b.tensor(e.scalar_type, &[2 * n]));
        let twice = b.call_out("aten::repeat.out", &[from, repeats], out);
        let (dim, start, len) = (b.int(0), b.int(n.into()), b.int(n.into()));
        let out = b.tensor(e.scalar_type, &[n]);
        let flat = b.call_out("aten::narrow_copy.out", &[twice, dim, start, len], out);
        Some(shaped(b, flat, e))
    }),
    way("an expanded element", |b, goal, depth| {
        let e = content(goal)?;
        let numbers = e.uniform()?.map(|number| vec![number]);
        let one = Elements { sizes: vec![1], numbers, ..e.clone() };
        let from = b.produce(&Goal::Content(one), depth);
        let (sizes, never, out) =
            (b.sizes(&[e.len() as i32]), b.bool(false), b.tensor(e.scalar_type, &[e.len() as i32]));
        let flat = b.call_out("aten::expand_copy.out", &[from, sizes, never], out);
        Some(shaped(b, flat, e))
    }),
    way("padded elements", |b, goal, depth| {
        let e = content(goal)?;
        let n = e.len() as i32;
        let from = b.produce(&Goal::Content(e.reshaped(&[n])), depth);
        let (pad, zero, out) = (b.ints(&[1, 2]), b.int(0), b.tensor(e.scalar_type, &[n + 3]));
        let padded = b.call_out("aten::constant_pad_nd.out", &[from, pad, zero], out);
        let (dim, start, len) = (b.int(0), b.int(1), b.int(n.into()));
        let out = b.tensor(e.scalar_type, &[n]);
        let flat = b.call_out("aten::narrow_copy.out", &[padded, dim, start, len], out);
        Some(shaped(b, flat, e))
    }),
    way("a diagonal", |b, goal, depth| {
        let e = content(goal).filter(|e| e.len() == 1)?;
        let from = b.produce(&Goal::Content(e.reshaped(&[1, 1])), depth);
        let (zero, first, second, out) = (b.int(0), b.int(0), b.int(1), b.tensor(e.scalar_type, &[1]));
        let flat = b.call_out("aten::diagonal_copy.out", &[from, zero, first, second], out);
        Some(shaped(b, flat, e))
    }),
    way("the start of other memory", |b, goal, depth| {
        let e = content(goal)?;
        let larger = Goal::Content(among(e, 0, 3)?);
        let base = b.other(&larger);
        let view = b.tensor_in(base, 0, e.scalar_type, &e.sizes);
        write(b, &larger, depth, base);
        Some(view)
    }),
    way("a part of other memory", |b, goal, depth| {
        let e = content(goal)?;
        // Kernels read aligned elements.
        let size = e.scalar_type.info()?.size;
        let larger = Goal::Content(among(e, 16 / usize::try_from(size).ok()?.max(1), 1)?);
        let base = b.other(&larger);
        let view = b.tensor_in(base, 16, e.scalar_type, &e.sizes);
        write(b, &larger, depth, base);
        Some(view)
    }),
    way("bytes of another type", |b, goal, depth| {
        let e = content(goal).filter(|e| e.len() > 0)?;
        let mut numbers = [Vec::new(), Vec::new()];
        for (which, numbers) in numbers.iter_mut().enumerate() {
            for number in &e.numbers[which] {
                let mut bytes = Vec::new();
                pte_model::data::number::encode(e.scalar_type, *number, &mut bytes).ok()?;
                numbers.extend(bytes.into_iter().map(|byte| NumericValue::Int(byte.into())));
            }
        }
        let sizes = vec![numbers[0].len() as i32];
        let bytes = Goal::Content(Elements { scalar_type: ScalarType::BYTE, sizes, numbers });
        let base = b.other(&bytes);
        let view = b.tensor_in(base, 0, e.scalar_type, &e.sizes);
        write(b, &bytes, depth, base);
        Some(view)
    }),
    way("both branches, with tensors", |b, goal, depth| {
        let (condition, to) = (b.input_bool(), b.other(goal));
        branches(b, condition, |b| write(b, goal, depth, to));
        Some(to)
    }),
    way("a copy in a branch with a known condition", |b, goal, depth| {
        let e = content(goal)?;
        let (to, end) = (b.other(goal), b.label());
        harmless(b, e, to);
        let condition = b.produce(&Goal::Bool([true; 2]), depth);
        b.jump_false(condition, end);
        write(b, goal, depth, to);
        b.land(end);
        Some(to)
    }),
    way("a copy in each round", |b, goal, depth| {
        let e = content(goal)?;
        let (between, to) = (b.other(goal), b.other(goal));
        harmless(b, e, between);
        let from = b.produce(goal, depth);
        let rounds = 2 + b.random.below(20) as i64;
        repeat(b, rounds, |b, _| {
            copy_to(b, between, to);
            copy_to(b, from, between);
        });
        Some(to)
    }),
    way("state that the execution before writes", |b, goal, depth| {
        let e = content(goal)?;
        let state = b.state(e, 1);
        b.after(|b| {
            write(b, goal, depth, state);
        });
        Some(state)
    }),
    way("state in other memory, for the next execution", |b, goal, depth| {
        let e = content(goal)?;
        let state = b.state(e, 1);
        let alias = b.tensor_in(state, 0, e.scalar_type, &e.sizes);
        b.after(|b| {
            write(b, goal, depth, alias);
        });
        Some(state)
    }),
    way("two states, one after the other", |b, goal, depth| {
        let e = content(goal)?;
        let (state, between) = (b.state(e, 1), b.state(e, 1));
        let from = b.produce(goal, depth);
        copy_to(b, between, state);
        copy_to(b, from, between);
        Some(state)
    }),
    way("a row that a loop stores", |b, goal, depth| {
        let e = content(goal).filter(|e| e.len() == 1)?;
        let (from, to) = (b.produce(&Goal::Content(e.reshaped(&[])), depth), b.tensor(e.scalar_type, &[1]));
        repeat(b, 1, |b, counter| b.call("executorch_prim::et_copy_index.tensor", &[to, from, counter]));
        Some(shaped(b, to, e))
    })
    .not_evaluated(),
    open("elements of a list of indices", |b, goal, depth| {
        let e = content(goal)?;
        let from = b.produce(&Goal::Content(among(e, 2, 0)?), depth);
        let positions = range(2, e.len());
        let indices = b.produce(&Goal::Content(positions), depth);
        let list = b.push(EValue::OptionalTensorList(Some(vec![indices])));
        let out = b.tensor(e.scalar_type, &[e.len() as i32]);
        let flat = b.call_out("aten::index.Tensor_out", &[from, list], out);
        Some(shaped(b, flat, e))
    }),
    open("elements put at indices", |b, goal, depth| {
        let e = content(goal)?;
        let flat = e.reshaped(&[e.len() as i32]);
        let other = b.constant(&flat.map(|_| Some(e.numbers[1].clone()))?);
        let positions = range(0, e.len());
        let (indices, from) = (b.constant(&positions), b.produce(&Goal::Content(flat), depth));
        let (list, never) = (b.push(EValue::OptionalTensorList(Some(vec![indices]))), b.bool(false));
        let out = b.tensor(e.scalar_type, &[e.len() as i32]);
        let flat = b.call_out("aten::index_put.out", &[other, list, from, never], out);
        Some(shaped(b, flat, e))
    }),
    open("a slice of another tensor that is replaced", |b, goal, depth| {
        let e = content(goal)?;
        let flat = e.reshaped(&[e.len() as i32]);
        let other = b.constant(&flat.map(|_| Some(e.numbers[1].clone()))?);
        let from = b.produce(&Goal::Content(flat), depth);
        let (dim, start, end, step) = (b.int(0), b.int(0), b.int(e.len() as i64), b.int(1));
        let out = b.tensor(e.scalar_type, &[e.len() as i32]);
        let flat = b.call_out("aten::slice_scatter.out", &[other, from, dim, start, end, step], out);
        Some(shaped(b, flat, e))
    }),
    open("a delegate that replaces other elements", |b, goal, depth| {
        let e = content(goal).filter(|e| e.scalar_type == ScalarType::FLOAT && (1..=4).contains(&e.sizes.len()))?;
        let to = b.other(goal);
        harmless(b, e, to);
        let from = b.produce(goal, depth);
        b.delegate(from, to, &e.sizes);
        Some(to)
    }),
    open("a delegate that writes an input", |b, goal, depth| {
        let e = content(goal).filter(|e| e.scalar_type == ScalarType::FLOAT && (1..=4).contains(&e.sizes.len()))?;
        let (from, to) = (b.produce(goal, depth), b.input_other(goal));
        b.delegate(from, to, &e.sizes);
        Some(to)
    }),
    open("a delegate that writes state", |b, goal, depth| {
        let e = content(goal).filter(|e| e.scalar_type == ScalarType::FLOAT && (1..=4).contains(&e.sizes.len()))?;
        let to = b.state(e, 1);
        b.after(|b| {
            let from = b.produce(goal, depth);
            b.delegate(from, to, &e.sizes);
        });
        Some(to)
    }),
    open("a delegate that writes through a view", |b, goal, depth| {
        let e = content(goal).filter(|e| e.scalar_type == ScalarType::FLOAT && e.len() > 0)?;
        let (base, n) = (b.other(goal), e.len() as i32);
        harmless(b, e, base);
        let view = viewed(b, base, e, &[1, n]);
        let from = b.produce(&Goal::Content(e.reshaped(&[1, n])), depth);
        b.delegate(from, view, &[1, n]);
        Some(base)
    }),
    open("a delegate", |b, goal, depth| {
        let e = content(goal).filter(|e| e.scalar_type == ScalarType::FLOAT && (1..=4).contains(&e.sizes.len()))?;
        let (from, to) = (b.produce(goal, depth), b.other(goal));
        b.delegate(from, to, &e.sizes);
        Some(to)
    }),
];

impl Way {
    const fn not_evaluated(self) -> Way {
        Way { open: true, ..self }
    }
}

fn ints_of(elements: &Elements, change: impl Fn(i64) -> Option<i64>) -> Option<Elements> {
    matches!(elements.scalar_type, ScalarType::LONG | ScalarType::INT).then_some(())?;
    let change = |number: &NumericValue| match number {
        NumericValue::Int(int) => Some(NumericValue::Int(change(i64::try_from(*int).ok()?)?.into())),
        _ => None,
    };
    elements.map(|numbers| numbers.iter().map(change).collect())?.of_type(elements.scalar_type)
}

/// Appends a call of an operator of tensors whose other operand is a constant of equal numbers.
fn with_constant(
    b: &mut Builder,
    e: &Elements,
    of: Elements,
    depth: usize,
    (operator, by, is_first): (&'static str, i64, bool),
    more: &[ValueId],
) -> Option<ValueId> {
    let by = b.constant(&of.map(|numbers| Some(vec![NumericValue::Int(by.into()); numbers.len()]))?);
    let of = b.produce(&Goal::Content(of), depth);
    let out = b.tensor(e.scalar_type, &e.sizes);
    let both = if is_first { [by, of] } else { [of, by] };
    Some(b.call_out(operator, &[&both, more].concat(), out))
}

fn unary(b: &mut Builder, e: &Elements, of: Elements, depth: usize, operator: &'static str) -> Option<ValueId> {
    let of = b.produce(&Goal::Content(of), depth);
    let out = b.tensor(e.scalar_type, &e.sizes);
    Some(b.call_out(operator, &[of], out))
}

fn converted(b: &mut Builder, goal: &Goal, depth: usize, types: &[ScalarType]) -> Option<ValueId> {
    let e = content(goal)?;
    let from = e.of_type(b.random.pick(types))?;
    (from.scalar_type != e.scalar_type).then_some(())?;
    let (from, never, null) = (b.produce(&Goal::Content(from), depth), b.bool(false), b.null());
    let out = b.tensor(e.scalar_type, &e.sizes);
    let operator = b.random.pick(&["aten::_to_copy.out", "dim_order_ops::_to_dim_order_copy.out"]);
    Some(b.call_out(operator, &[from, never, null], out))
}

/// Tensors: elements that are computed.
const ARITHMETIC: &[Way] = &[
    way("a sum of tensors", |b, goal, depth| {
        let e = content(goal)?;
        let one = b.int(1);
        with_constant(b, e, ints_of(e, |int| int.checked_sub(9))?, depth, ("aten::add.out", 9, false), &[one])
    }),
    way("a difference of tensors", |b, goal, depth| {
        let e = content(goal)?;
        let one = b.int(1);
        with_constant(b, e, ints_of(e, |int| int.checked_add(9))?, depth, ("aten::sub.out", 9, false), &[one])
    }),
    way("a sum with a number", |b, goal, depth| {
        let e = content(goal)?;
        let of = b.produce(&Goal::Content(ints_of(e, |int| int.checked_sub(6))?), depth);
        let by = b.produce(&Goal::Int([6; 2]), depth);
        let (one, out) = (b.int(1), b.tensor(e.scalar_type, &e.sizes));
        Some(b.call_out("aten::add.Scalar_out", &[of, by, one], out))
    }),
    way("a product of tensors", |b, goal, depth| {
        let e = content(goal)?;
        with_constant(b, e, ints_of(e, Some)?, depth, ("aten::mul.out", 1, false), &[])
    }),
    way("a product with a number", |b, goal, depth| {
        let e = content(goal)?;
        let (of, by) = (b.produce(&Goal::Content(ints_of(e, i64::checked_neg)?), depth), b.int(-1));
        let out = b.tensor(e.scalar_type, &e.sizes);
        Some(b.call_out("aten::mul.Scalar_out", &[of, by], out))
    }),
    way("negated elements", |b, goal, depth| {
        let e = content(goal)?;
        unary(b, e, ints_of(e, i64::checked_neg)?, depth, "aten::neg.out")
    }),
    way("inverted bits", |b, goal, depth| {
        let e = content(goal)?;
        unary(b, e, ints_of(e, |int| Some(!int))?, depth, "aten::bitwise_not.out")
    }),
    way("absolute elements", |b, goal, depth| {
        let e = content(goal)?;
        unary(b, e, ints_of(e, |int| (int >= 0).then(|| -int))?, depth, "aten::abs.out")
    }),
    way("the greater of two", |b, goal, depth| {
        let e = content(goal)?;
        let of = ints_of(e, |int| (int >= -5).then_some(int))?;
        with_constant(b, e, of, depth, ("aten::maximum.out", -5, true), &[])
    }),
    way("the smaller of two", |b, goal, depth| {
        let e = content(goal)?;
        let of = ints_of(e, |int| (int <= 1 << 30).then_some(int))?;
        with_constant(b, e, of, depth, ("aten::minimum.out", 1 << 30, false), &[])
    }),
    way("clamped elements", |b, goal, depth| {
        let e = content(goal)?;
        let of =
            b.produce(&Goal::Content(ints_of(e, |int| (-(1 << 31)..1 << 31).contains(&int).then_some(int))?), depth);
        let (least, most, out) = (b.int(-(1 << 31)), b.int((1 << 31) - 1), b.tensor(e.scalar_type, &e.sizes));
        Some(b.call_out("aten::clamp.out", &[of, least, most], out))
    }),
    way("a remainder of tensors", |b, goal, depth| {
        let e = content(goal)?;
        let of = ints_of(e, |int| (0..1 << 29).contains(&int).then(|| int + (1 << 29)))?;
        let (of, by) = (b.produce(&Goal::Content(of), depth), b.int(1 << 29));
        let out = b.tensor(e.scalar_type, &e.sizes);
        Some(b.call_out("aten::remainder.Scalar_out", &[of, by], out))
    }),
    way("a sum in place of tensors", |b, goal, depth| {
        let e = content(goal)?;
        let (to, one) = (b.other(goal), b.int(1));
        write(b, &Goal::Content(ints_of(e, |int| int.checked_sub(1))?), depth, to);
        let ones = b.constant(&ints_of(e, |_| Some(1))?);
        b.call("aten::add.out", &[to, ones, one, to, to]);
        Some(to)
    }),
    way("a sum of rounds of tensors", |b, goal, depth| {
        let e = content(goal)?;
        let rounds = 2 + b.random.below(6) as i64;
        let (to, between, one) = (b.other(goal), b.other(goal), b.int(1));
        write(b, &Goal::Content(ints_of(e, |int| int.checked_sub(rounds))?), depth, to);
        let ones = b.constant(&ints_of(e, |_| Some(1))?);
        repeat(b, rounds, |b, _| {
            b.call("aten::add.out", &[to, ones, one, between, between]);
            copy_to(b, between, to);
        });
        Some(to)
    }),
    way("converted integers", |b, goal, depth| {
        let types = [ScalarType::INT, ScalarType::LONG, ScalarType::SHORT, ScalarType::CHAR, ScalarType::BYTE];
        converted(b, goal, depth, &types)
    }),
    way("converted floating point numbers", |b, goal, depth| {
        converted(b, goal, depth, &[ScalarType::FLOAT, ScalarType::DOUBLE])
    }),
    way("converted truth values", |b, goal, depth| converted(b, goal, depth, &[ScalarType::BOOL])),
    open("elements copied to another type", |b, goal, depth| {
        let e = content(goal)?;
        let from = e.of_type(b.random.pick(&[ScalarType::INT, ScalarType::LONG, ScalarType::FLOAT]))?;
        (from.scalar_type != e.scalar_type).then_some(())?;
        let (from, to) = (b.produce(&Goal::Content(from), depth), b.other(goal));
        copy_to(b, from, to);
        Some(to)
    }),
    open("positive elements", |b, goal, depth| {
        let e = content(goal)?;
        unary(b, e, ints_of(e, |int| (int >= 0).then_some(int))?, depth, "aten::relu.out")
    }),
    open("a maximum of elements", |b, goal, depth| {
        let e = content(goal)?;
        let rows = ints_of(e, Some)?.reshaped(&[1, e.len() as i32]);
        let (of, dims, never) = (b.produce(&Goal::Content(rows), depth), b.ints(&[0]), b.bool(false));
        let out = b.tensor(e.scalar_type, &[e.len() as i32]);
        let operator = b.random.pick(&["aten::amax.out", "aten::amin.out"]);
        let flat = b.call_out(operator, &[of, dims, never], out);
        Some(shaped(b, flat, e))
    }),
    open("a sum of elements", |b, goal, depth| {
        let e = content(goal)?;
        let rows = ints_of(e, Some)?.reshaped(&[1, e.len() as i32]);
        let (of, dims, never, null) = (b.produce(&Goal::Content(rows), depth), b.ints(&[0]), b.bool(false), b.null());
        let out = b.tensor(e.scalar_type, &[e.len() as i32]);
        let flat = b.call_out("aten::sum.IntList_out", &[of, dims, never, null], out);
        Some(shaped(b, flat, e))
    }),
    open("a cumulative sum", |b, goal, depth| {
        let e = content(goal).filter(|e| e.len() == 1)?;
        let (of, dim, null) = (b.produce(&Goal::Content(ints_of(e, Some)?.reshaped(&[1])), depth), b.int(0), b.null());
        let out = b.tensor(e.scalar_type, &[1]);
        let flat = b.call_out("aten::cumsum.out", &[of, dim, null], out);
        Some(shaped(b, flat, e))
    }),
    open("dequantized elements", |b, goal, depth| {
        let e = content(goal).filter(|e| e.scalar_type == ScalarType::FLOAT)?;
        let from = e.of_type(ScalarType::BYTE)?;
        let from = b.produce(&Goal::Content(from), depth);
        let (scale, zero, least, most, dtype) = (b.double(1.0), b.int(0), b.int(0), b.int(255), b.int(0));
        let (null, out) = (b.null(), b.other(goal));
        let args = [from, scale, zero, least, most, dtype, null];
        Some(b.call_out("quantized_decomposed::dequantize_per_tensor.out", &args, out))
    }),
];

fn shape(goal: &Goal, which: usize) -> Option<&TensorOperand> {
    match goal {
        Goal::Shape(both) => Some(&both[which]),
        _ => None,
    }
}

/// Tensors of a type and sizes.
const SHAPES: &[Way] = &[
    way("a move of an input", |b, goal, depth| {
        let (from, to) = (b.produce(goal, depth), b.like(shape(goal, b.which)?));
        b.move_to(from, to);
        Some(to)
    }),
    way("moves of an input", |b, goal, depth| {
        let mut from = b.produce(goal, depth);
        for _ in 0..3 {
            let to = b.like(shape(goal, b.which)?);
            b.move_to(from, to);
            from = to;
        }
        Some(from)
    }),
    way("a move of a dynamic input", |b, goal, _| {
        let operand = shape(goal, b.which)?;
        let dynamic = TensorOperand { dynamism: TensorShapeDynamism::DYNAMIC_BOUND, ..operand.clone() };
        let (from, to) = (b.input_like(&dynamic), b.like(&dynamic));
        b.move_to(from, to);
        Some(to)
    }),
    way("a tensor that a call resizes", |b, goal, _| {
        let operand = shape(goal, b.which)?;
        // A move is between tensors of the same sizes in the file.
        let is_moved = b.path.len() > 1;
        let most: Vec<i32> = operand.sizes.iter().map(|size| size + if is_moved { 0 } else { 3 }).collect();
        let dynamic = TensorOperand { dynamism: TensorShapeDynamism::DYNAMIC_BOUND, sizes: most, ..operand.clone() };
        let (tensor, sizes, one) = (b.like(&dynamic), b.sizes(&operand.sizes), b.int(1));
        Some(b.call_out("aten::full.out", &[sizes, one], tensor))
    }),
    way("a move of an input in branches of the caller", |b, goal, depth| {
        let (condition, to) = (b.input_bool(), b.like(shape(goal, b.which)?));
        let from = b.produce(goal, depth);
        branches(b, condition, |b| b.move_to(from, to));
        Some(to)
    }),
    way("a move of an input in each round", |b, goal, depth| {
        let (from, to) = (b.produce(goal, depth), b.like(shape(goal, b.which)?));
        repeat(b, 3, |b, _| b.move_to(from, to));
        Some(to)
    }),
    way("a copied input", |b, goal, depth| {
        let (from, to, never) = (b.produce(goal, depth), b.like(shape(goal, b.which)?), b.bool(false));
        b.call("aten::copy_", &[to, from, never, to]);
        Some(to)
    }),
    way("an input in other memory", |b, goal, depth| {
        let operand = shape(goal, b.which)?.clone();
        let from = b.produce(goal, depth);
        let base = b.tensor(ScalarType::BYTE, &[i32::try_from(operand.nbytes()?).ok()?]);
        let view = b.tensor_in(base, 0, operand.scalar_type, &operand.sizes);
        let never = b.bool(false);
        b.call("aten::copy_", &[view, from, never, view]);
        Some(view)
    }),
    way("a view of an input", |b, goal, depth| {
        let operand = shape(goal, b.which)?.clone();
        let from = b.produce(goal, depth);
        let (sizes, view) = (b.sizes(&operand.sizes), b.unplaced(operand.scalar_type, &operand.sizes));
        b.call("executorch_prim::et_view.default", &[from, sizes, view]);
        Some(view)
    }),
];
