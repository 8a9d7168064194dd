//! Calls that 1.5.1 executes, or another release, and some releases do not survive, refuse, or compute otherwise
//! (`V-4`, `V-5`). A condition of a call and its operator are a feature of the tables, `CONDITION/OPERATOR`;
//! `lab/releases/calls.py` has a call for each, by the same words.

use std::collections::HashMap;

use super::report::{Report, expected};
use crate::RuleId::*;
use pte_model::diagnostics::clipped;
use pte_model::format::ScalarType;
use pte_model::program::element::{Element, Part};
use pte_model::program::instruction::Callee;
use pte_model::program::{EValue, ExecutionPlan, Program, Tensor, TensorShapeDynamism, ValueId};
use pte_operators::{Base, Operator};
use pte_releases::{Answer, Release};

/// A property of a call.
struct Condition {
    /// Its word in the tables.
    word: &'static str,
    /// Description of such a call.
    text: &'static str,
    has: fn(&Call<'_>) -> bool,
}

/// Declares the conditions: word, text, and the function that says whether a call has the property.
macro_rules! conditions {
    ($( $word:ident $text:literal $has:expr; )*) => {
        const CONDITIONS: &[Condition] = &[$( Condition { word: stringify!($word), text: $text, has: $has } ),*];
    };
}

conditions! {
    all "any arguments" |_| true;
    accumulate "values that are added" |call| matches!(call.named("accumulate"), Some(EValue::Bool(true)));
    axis_of_vector "a tensor of one dimension" |call| call.axis().is_some_and(|(_, rank)| rank == 1);
    axis_inside "an axis that is not the last of three dimensions or more"
        |call| call.axis().is_some_and(|(axis, rank)| rank > 2 && axis + 1 < rank);
    bool_number "a truth value in place of a number" has_bool_number;
    float64_scales "scales of float64" |call| {
        let scales = call.named("scales").and_then(EValue::as_tensor);
        scales.is_some_and(|scales| scales.scalar_type == ScalarType::DOUBLE)
    };
    rank_0 "two tensors without dimensions"
        |call| [0, 1].iter().all(|at| call.tensor(*at).is_some_and(|tensor| sizes(tensor).is_empty()));
    smaller_output "an output that is smaller than the input" |call| {
        let out = call.operator.signature.args.len().checked_sub(1).and_then(|at| call.tensor(at));
        let (Some(input), Some(out)) = (call.tensor(0), out) else { return false };
        sizes(out).iter().zip(sizes(input)).any(|(out, input)| out < input)
    };
    float16 "tensors of float16" |call| call.is_of(ScalarType::HALF);
    bfloat16 "tensors of bfloat16" |call| call.is_of(ScalarType::BFLOAT16);
    no_elements "a reduction of no elements" reduces_no_elements;
    channels_last "a reduction over dimensions that are not neighbours in memory" reduces_distant_dimensions;
    leading_ones_of_self "a first tensor with more leading dimensions of size 1 than the second one"
        |call| call.are_equal_but_for_ones().is_some_and(|(first, second)| first > second);
    leading_ones_of_other "a second tensor with more leading dimensions of size 1 than the first one"
        |call| call.are_equal_but_for_ones().is_some_and(|(first, second)| first < second);
    self_is_broadcast "a first tensor that is broadcast to the sizes of the second one" |call| call.is_broadcast(0, 1);
    other_is_broadcast "a second tensor that is broadcast to the sizes of the first one" |call| call.is_broadcast(1, 0);
    larger_type "a copy of larger elements than those of its result"
        |call| call.widths_of_copy().is_some_and(|(to, from)| from > to);
    smaller_type "a copy of elements of another type, which are not larger than those of its result"
        |call| call.widths_of_copy().is_some_and(|(to, from)| from <= to);
    static_rows "a static tensor that is filled row by row, which resizes it" resizes_a_static_tensor;
}

/// Compares the calls of all methods with a release; of each operator and condition, the first call of a method is
/// reported.
pub fn check(program: &Program, release: &Release, report: &mut Report<'_>) {
    // By name, because methods repeat operators.
    let mut of_names: HashMap<&'static str, Conditions<'_>> = HashMap::new();
    for (method, plan) in program.plans().iter().enumerate() {
        // By operator: conditions that the release does not meet, which are removed once they are reported.
        let operators = plan.operators.iter().flatten().map(|operator| {
            let known = pte_operators::find(&operator.full_name()?)?;
            Some(of_names.entry(known.name).or_insert_with(|| of(known, release)).clone())
        });
        let mut conditions: Vec<Conditions<'_>> = operators.map(Option::unwrap_or_default).collect();
        if conditions.iter().all(|conditions| conditions.found.is_empty()) {
            continue;
        }
        for (chain, index, instruction) in plan.instructions_by_chain() {
            let Some(Callee::Operator(operator)) = instruction.callee() else { continue };
            let Some(Conditions { operator, found }) = operator.item_mut(&mut conditions) else { continue };
            let Some(operator) = *operator else { continue };
            let name = operator.name;
            let call = Call { plan, operator, args: instruction.args() };
            found.retain(|(condition, key, answer)| {
                if !(condition.has)(&call) {
                    return true;
                }
                let rule = if **answer == Answer::Ignores { V_5 } else { V_4 };
                report(rule, Element::Method(method, Part::Instruction(chain, index)), &|| {
                    let is_other = **answer == Answer::Ignores;
                    let does = if is_other { "computes something else".to_owned() } else { answer.to_string() };
                    let found = format!("a call of `{}` with {}: {release} {does}", clipped(name), condition.text);
                    let is_met = |other: &Release| other.has_operator(name) && other.feature(key).is_none();
                    (found, expected(release.first_later(is_met)))
                });
                false
            });
        }
    }
}

/// The conditions under which a release does not execute an operator; none for an unknown one.
#[derive(Clone, Default)]
struct Conditions<'r> {
    operator: Option<&'static Operator>,
    /// With their keys in the tables.
    found: Vec<(&'static Condition, String, &'r Answer)>,
}

fn of<'r>(operator: &'static Operator, release: &'r Release) -> Conditions<'r> {
    let found = CONDITIONS.iter().filter_map(|condition| {
        let key = format!("{}/{}", condition.word, operator.name);
        let answer = release.feature(&key)?;
        Some((condition, key, answer))
    });
    Conditions { operator: Some(operator), found: found.collect() }
}

/// A call of an operator of the tables.
struct Call<'p> {
    plan: &'p ExecutionPlan,
    operator: &'static Operator,
    args: &'p [ValueId],
}

impl<'p> Call<'p> {
    fn argument(&self, position: usize) -> Option<&'p EValue> {
        self.plan.value(*self.args.get(position)?)
    }

    fn tensor(&self, position: usize) -> Option<&'p Tensor> {
        self.argument(position)?.as_tensor()
    }

    fn named(&self, name: &str) -> Option<&'p EValue> {
        self.argument(self.operator.signature.args.iter().position(|arg| arg.name == name)?)
    }

    fn is_of(&self, scalar_type: ScalarType) -> bool {
        self.tensor(0).is_some_and(|tensor| tensor.scalar_type == scalar_type)
    }

    /// Returns the argument `axis`, which is not negative, and the rank of the first tensor.
    fn axis(&self) -> Option<(usize, usize)> {
        let EValue::Int(axis) = self.named("axis")? else { return None };
        let rank = sizes(self.tensor(0)?).len();
        let axis = if *axis < 0 { axis.checked_add(rank as i64)? } else { *axis };
        Some((usize::try_from(axis).ok()?, rank))
    }

    /// Returns the dimensions that the call reduces, which are those of the first tensor; `None` for an operator that
    /// does not reduce.
    fn reduced(&self) -> Option<Vec<usize>> {
        let rank = sizes(self.tensor(0)?).len();
        let dimension = |dim: i64| {
            let dim = if dim < 0 { dim.checked_add(rank as i64)? } else { dim };
            usize::try_from(dim).ok().filter(|dim| *dim < rank)
        };
        if let Some((axis, _)) = self.axis() {
            return Some((0..rank).filter(|dim| *dim != axis).collect());
        }
        let mut dims = match self.named("dim")? {
            EValue::Int(dim) => vec![dimension(*dim)?],
            EValue::IntList(Some(items)) if !items.is_empty() => {
                let item = |item: &i64| {
                    let EValue::Int(dim) = self.plan.value(ValueId::of_int(*item))? else { return None };
                    dimension(*dim)
                };
                items.iter().map(item).collect::<Option<Vec<_>>>()?
            }
            EValue::Null | EValue::IntList(_) => (0..rank).collect(),
            // The call is malformed, as O-2 says.
            EValue::Bool(_)
            | EValue::Double(_)
            | EValue::String(_)
            | EValue::Tensor(_)
            | EValue::DoubleList(_)
            | EValue::BoolList(_)
            | EValue::TensorList(_)
            | EValue::OptionalTensorList(_)
            | EValue::Unknown(_) => return None,
        };
        dims.sort_unstable();
        dims.dedup();
        Some(dims)
    }

    /// Returns the ranks of the first two tensors, if their sizes without leading ones are the same.
    fn are_equal_but_for_ones(&self) -> Option<(usize, usize)> {
        let (first, second) = (sizes(self.tensor(0)?), sizes(self.tensor(1)?));
        (without_ones(first) == without_ones(second)).then_some((first.len(), second.len()))
    }

    /// Returns `true` if a tensor is broadcast to the sizes of another one that differ from its own in more than
    /// leading ones.
    fn is_broadcast(&self, from: usize, to: usize) -> bool {
        let (Some(from), Some(to)) = (self.tensor(from), self.tensor(to)) else { return false };
        let (from, to) = (without_ones(sizes(from)), without_ones(sizes(to)));
        from.len() <= to.len() && from != to
    }

    /// Returns the sizes of the elements of the target and of the source of a copy between tensors of different types
    /// and the same sizes.
    fn widths_of_copy(&self) -> Option<(u64, u64)> {
        let (to, from) = (self.tensor(0)?, self.tensor(1)?);
        let is_alike = without_ones(sizes(to)) == without_ones(sizes(from)) && !sizes(from).contains(&0);
        let width = |scalar_type: ScalarType| Some(scalar_type.info()?.size);
        let widths = (width(to.scalar_type)?, width(from.scalar_type)?);
        (is_alike && to.scalar_type != from.scalar_type).then_some(widths)
    }
}

fn sizes(tensor: &Tensor) -> &[i32] {
    tensor.sizes.as_deref().unwrap_or_default()
}

fn without_ones(sizes: &[i32]) -> &[i32] {
    &sizes[sizes.iter().take_while(|size| **size == 1).count()..]
}

fn has_bool_number(call: &Call<'_>) -> bool {
    let args = call.operator.signature.args.iter().enumerate();
    let mut numbers = args.filter(|(_, arg)| arg.kind.base == Base::Scalar);
    numbers.any(|(at, _)| matches!(call.argument(at), Some(EValue::Bool(_))))
}

/// The call resizes its target to the rows up to the index: a static one must have as many already. In a loop, the
/// first index counts, which the file states.
fn resizes_a_static_tensor(call: &Call<'_>) -> bool {
    let (Some(target), Some(EValue::Int(index))) = (call.tensor(0), call.argument(2)) else { return false };
    let rows = sizes(target).first().copied().map_or(0, i64::from);
    // The rule O-14 reports a negative index.
    target.shape_dynamism == TensorShapeDynamism::STATIC && *index >= 0 && index.checked_add(1) != Some(rows)
}

fn reduces_no_elements(call: &Call<'_>) -> bool {
    let (Some(tensor), Some(reduced)) = (call.tensor(0), call.reduced()) else { return false };
    reduced.iter().any(|dim| sizes(tensor)[*dim] == 0)
}

/// Kernels before 1.5 step back to the first index of a reduced dimension by the stride of the dimension before it:
/// this is correct if that stride is the product of size and stride.
fn reduces_distant_dimensions(call: &Call<'_>) -> bool {
    let (Some(tensor), Some(reduced)) = (call.tensor(0), call.reduced()) else { return false };
    let sizes: Option<Vec<u64>> = sizes(tensor).iter().map(|size| u64::try_from(*size).ok()).collect();
    let strides = sizes.as_deref().and_then(|sizes| tensor.dim_order.as_ref()?.strides(sizes));
    let (Some(sizes), Some(strides)) = (sizes, strides) else { return false };
    let is_distant = |dim: &usize| sizes[*dim].checked_mul(strides[*dim]) != Some(strides[*dim - 1]);
    reduced.iter().skip(1).any(is_distant)
}
