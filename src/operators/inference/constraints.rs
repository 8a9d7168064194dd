//! What the kernels of the default runtime need of the arguments of one call, beyond their kinds and what the rules of inference check:
//! the process aborts, or the call fails, otherwise. Facts of ExecuTorch 1.5.1 as tables; not the sizes and types of results.
//!
//! Two tables, both with a row per operator: `types.table` (element types, measured in the runtime by tests/kernel_types.rs, which writes
//! it) and [`VALUES`] (all others). A constraint about an argument that is None, missing or not known holds.

use std::fmt;
use std::sync::LazyLock;

use super::Call;
use super::types::{Argument, Dim, IntMeta, InvalidArgument, TensorMeta};
use crate::format::ScalarType;
use crate::operators::{Base, Signature};

/// A set of element types: a bit for each code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TypeSet(u64);

impl TypeSet {
    /// Returns `true` if a type is in the set; types that the runtime does not know are in none.
    pub fn contains(self, scalar_type: ScalarType) -> bool {
        u32::try_from(scalar_type.0).ok().and_then(|code| self.0.checked_shr(code)).is_some_and(|bits| bits & 1 == 1)
    }

    /// Returns the set with one more type; types that the runtime does not know are in none.
    #[must_use]
    pub fn with(self, scalar_type: ScalarType) -> TypeSet {
        match scalar_type.info() {
            Some(_) => TypeSet(self.0 | 1 << scalar_type.0),
            None => self,
        }
    }

    /// Returns the types, ascending by code.
    pub fn types(self) -> impl Iterator<Item = ScalarType> {
        (0..ScalarType::COUNT as i8).map(ScalarType).filter(move |scalar_type| self.contains(*scalar_type))
    }
}

impl FromIterator<ScalarType> for TypeSet {
    fn from_iter<I: IntoIterator<Item = ScalarType>>(types: I) -> TypeSet {
        types.into_iter().fold(TypeSet(0), TypeSet::with)
    }
}

/// `float16, float32 or float64`
impl fmt::Display for TypeSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<String> = self.types().map(|scalar_type| scalar_type.to_string()).collect();
        match &names[..] {
            [] => f.write_str("no element type"),
            [only] => f.write_str(only),
            [first @ .., last] => write!(f, "{} or {last}", first.join(", ")),
        }
    }
}

/// What a kernel needs of an argument. Arguments are positions in the schema; the element type of an argument is that of the tensor, of
/// each tensor of the list, or the one that an Int of the kind ScalarType states.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Constraint {
    /// One of these element types.
    Types {
        /// Position of the argument.
        argument: usize,
        /// Accepted types.
        types: TypeSet,
    },
    /// One of these element types, if another argument has one of certain types.
    TypesWith {
        /// Position of the argument.
        argument: usize,
        /// Position of the other argument, before it.
        other: usize,
        /// Types of the other argument.
        when: TypeSet,
        /// Accepted types.
        types: TypeSet,
    },
    /// The element type of another argument, if that has one of certain types.
    SameType {
        /// Position of the argument.
        argument: usize,
        /// Position of the other argument.
        other: usize,
        /// Types of the other argument.
        when: TypeSet,
    },
    /// A number, or numbers of a list, that are not the Int 0.
    Divisor {
        /// Position of the argument.
        argument: usize,
    },
    /// An Int, or Ints of a list, in a range.
    Int {
        /// Position of the argument.
        argument: usize,
        /// Least value.
        min: i64,
        /// Greatest value.
        max: i64,
    },
    /// A truth value.
    Bool {
        /// Position of the argument.
        argument: usize,
        /// Accepted value.
        value: bool,
    },
    /// One of these strings.
    Text {
        /// Position of the argument.
        argument: usize,
        /// Accepted strings.
        texts: &'static [&'static str],
    },
    /// A tensor, or tensors of a list, with a number of dimensions in a range.
    Rank {
        /// Position of the argument.
        argument: usize,
        /// Least number of dimensions.
        min: usize,
        /// Greatest number of dimensions.
        max: usize,
    },
    /// An Int that the element type of another argument has: one of an integer type.
    IntOfType {
        /// Position of the argument.
        argument: usize,
        /// Position of the other argument.
        other: usize,
    },
    /// An Int that is not 0 as an element of another argument, which has an integer type: the kernel keeps the low bits.
    DivisorOfType {
        /// Position of the argument.
        argument: usize,
        /// Position of the other argument.
        other: usize,
    },
    /// Two Ints whose quotient is an Int: not -2^63 and -1.
    Quotient {
        /// Position of the dividend.
        argument: usize,
        /// Position of the divisor.
        other: usize,
    },
    /// An Int that is another Int at least.
    AtLeast {
        /// Position of the argument.
        argument: usize,
        /// Position of the other argument.
        other: usize,
    },
    /// A tensor of the same sizes as another argument.
    SameSizes {
        /// Position of the argument.
        argument: usize,
        /// Position of the other argument.
        other: usize,
    },
    /// A tensor whose last dimensions are not empty; all of them, if it has no more.
    NotEmpty {
        /// Position of the argument.
        argument: usize,
        /// Number of dimensions, from the last one.
        last: usize,
    },
    /// A tensor whose dimensions from one on are not empty.
    NotEmptyFrom {
        /// Position of the tensor.
        argument: usize,
        /// Position of the first dimension.
        dim: usize,
    },
    /// A tensor that is not empty, if another argument is None.
    NotEmptyUnless {
        /// Position of the tensor.
        argument: usize,
        /// Position of the other argument.
        other: usize,
    },
    /// A tensor whose elements along a dimension the kernel reads at the stride of that dimension, and the dimensions before and after it
    /// as if it was contiguous: in bounds.
    Lines {
        /// Position of the tensor.
        argument: usize,
        /// Position of the dimension.
        dim: usize,
    },
    /// An Int that is a dimension of another argument, counted from the front.
    FrontDimension {
        /// Position of the argument.
        argument: usize,
        /// Position of the tensor.
        tensor: usize,
    },
}

const fn divisor(argument: usize) -> Constraint {
    Constraint::Divisor { argument }
}

const fn of_type(argument: usize, other: usize) -> Constraint {
    Constraint::IntOfType { argument, other }
}

const fn not_empty(argument: usize) -> Constraint {
    Constraint::NotEmpty { argument, last: usize::MAX }
}

/// Factor of the sizes of two dimensions; its square is an Int.
const FACTOR: Constraint = Constraint::Int { argument: 1, min: 1, max: i32::MAX as i64 };

/// An embedding: its quantization range is not empty.
const EMBEDDING: &[Constraint] = &[Constraint::AtLeast { argument: 4, other: 3 }];

/// Constraints that are no element types, sorted by operator.
const VALUES: &[(&str, &[Constraint])] = &[
    (
        "aten::_log_softmax.out",
        &[Constraint::Bool { argument: 2, value: false }, Constraint::NotEmptyFrom { argument: 0, dim: 1 }],
    ),
    ("aten::_softmax.out", &[Constraint::Bool { argument: 2, value: false }]),
    ("aten::amax.out", &[not_empty(0)]),
    ("aten::amin.out", &[not_empty(0)]),
    ("aten::argmax.out", &[Constraint::NotEmptyUnless { argument: 0, other: 1 }]),
    ("aten::argmin.out", &[Constraint::NotEmptyUnless { argument: 0, other: 1 }]),
    ("aten::avg_pool2d.out", &[divisor(2)]),
    ("aten::bmm.out", &[Constraint::Rank { argument: 0, min: 3, max: 3 }]),
    (
        "aten::convolution.out",
        &[Constraint::Rank { argument: 0, min: 3, max: 4 }, Constraint::Int { argument: 8, min: 1, max: i64::MAX }],
    ),
    ("aten::convolution_backward.out", &[divisor(9)]),
    ("aten::gelu.out", &[Constraint::Text { argument: 1, texts: &["none", "tanh"] }]),
    ("aten::max_pool2d_with_indices.out", &[divisor(2)]),
    ("aten::max_pool2d_with_indices_backward.grad_input", &[divisor(3)]),
    ("aten::narrow_copy.out", &[Constraint::FrontDimension { argument: 1, tensor: 0 }]),
    ("aten::pixel_shuffle.out", &[FACTOR]),
    ("aten::pixel_unshuffle.out", &[FACTOR]),
    ("aten::remainder.Scalar_out", &[Constraint::DivisorOfType { argument: 1, other: 0 }]),
    ("aten::sym_size.int", &[Constraint::FrontDimension { argument: 1, tensor: 0 }]),
    ("aten::topk.values", &[Constraint::Lines { argument: 0, dim: 2 }]),
    ("aten::upsample_bilinear2d.vec_out", &[Constraint::NotEmpty { argument: 0, last: 2 }]),
    ("executorch_prim::floordiv.Scalar", &[divisor(1), Constraint::Quotient { argument: 0, other: 1 }]),
    ("executorch_prim::floordiv.int", &[divisor(1), Constraint::Quotient { argument: 0, other: 1 }]),
    ("executorch_prim::mod.Scalar", &[divisor(1), Constraint::Quotient { argument: 0, other: 1 }]),
    ("executorch_prim::mod.int", &[divisor(1), Constraint::Quotient { argument: 0, other: 1 }]),
    (
        "quantized_decomposed::add.out",
        &[
            Constraint::SameSizes { argument: 5, other: 0 },
            of_type(3, 0),
            of_type(4, 0),
            of_type(8, 5),
            of_type(9, 5),
            of_type(12, 0),
            of_type(13, 0),
        ],
    ),
    ("quantized_decomposed::choose_qparams.Tensor_out", &[not_empty(0)]),
    (
        "quantized_decomposed::choose_qparams_per_token_asymmetric.out",
        &[Constraint::Rank { argument: 0, min: 1, max: usize::MAX }, not_empty(0)],
    ),
    ("quantized_decomposed::embedding_2bit.dtype_out", EMBEDDING),
    ("quantized_decomposed::embedding_2bit.out", EMBEDDING),
    ("quantized_decomposed::embedding_4bit.dtype_out", EMBEDDING),
    ("quantized_decomposed::embedding_4bit.out", EMBEDDING),
    ("quantized_decomposed::embedding_byte.dtype_out", EMBEDDING),
    ("quantized_decomposed::embedding_byte.out", EMBEDDING),
];

/// Rows of `types.table`: an operator, and its constraints as text. Sorted by operator.
static TYPES: LazyLock<Vec<(&'static str, &'static str)>> = LazyLock::new(|| {
    let lines = include_str!("types.table").lines().filter(|line| !line.starts_with(['#', '=']));
    lines.map(|line| line.split_once(' ').unwrap_or((line, ""))).collect()
});

/// Sets of `types.table` with a name.
static SETS: LazyLock<Vec<(&'static str, TypeSet)>> = LazyLock::new(|| {
    let lines = include_str!("types.table").lines().filter_map(|line| line.strip_prefix('=')?.split_once(' '));
    lines.map(|(name, types)| (name, types.split(' ').filter_map(ScalarType::parse).collect())).collect()
});

/// Returns the constraints of an operator of the default runtime.
pub fn constraints(name: &str, signature: &Signature) -> Vec<Constraint> {
    let types = TYPES.binary_search_by(|(other, _)| (*other).cmp(name)).ok().map(|at| TYPES[at].1);
    let words = types.into_iter().flat_map(|words| words.split(' ')).filter(|word| !word.is_empty());
    let mut found: Vec<Constraint> = words.filter_map(|word| parse(word, signature)).collect();
    if let Ok(at) = VALUES.binary_search_by(|(other, _)| (*other).cmp(name)) {
        found.extend(VALUES[at].1);
    }
    found
}

/// Parses a constraint of `types.table`, whose first lines describe the form; `None` if it is malformed.
fn parse(word: &str, signature: &Signature) -> Option<Constraint> {
    let position = |name: &str| signature.args.iter().position(|arg| arg.name == name);
    let (left, right) = word.split_once(':')?;
    match left.split_once('@') {
        None => Some(Constraint::Types { argument: position(left)?, types: set(right)? }),
        Some((argument, condition)) => {
            let (other, when) = condition.split_once('=').unwrap_or((condition, "any"));
            let (argument, other, when) = (position(argument)?, position(other)?, set(when)?);
            match right {
                "same" => Some(Constraint::SameType { argument, other, when }),
                _ => Some(Constraint::TypesWith { argument, other, when, types: set(right)? }),
            }
        }
    }
}

/// Parses names of sets and of types, separated by `|`.
fn set(text: &str) -> Option<TypeSet> {
    text.split('|').try_fold(TypeSet(0), |all, name| {
        let named = SETS.iter().find(|(other, _)| *other == name).map(|(_, types)| *types);
        Some(TypeSet(all.0 | named.or_else(|| Some(TypeSet(0).with(ScalarType::parse(name)?)))?.0))
    })
}

/// Returns the element types of an argument; none if it is not known.
fn types_of(call: &Call<'_>, at: usize) -> impl Iterator<Item = ScalarType> {
    let (one, items) = match call.argument(at) {
        Some(Argument::Tensor(tensor)) => (Some(tensor.scalar_type), &[][..]),
        Some(Argument::Tensors(items)) => (None, &items[..]),
        Some(Argument::Int(IntMeta::Exact(int))) if call.base(at) == Some(Base::Dtype) => {
            (i8::try_from(*int).ok().map(ScalarType), &[][..])
        }
        Some(_) | None => (None, &[][..]),
    };
    one.into_iter().chain(items.iter().flatten().map(|tensor| tensor.scalar_type))
}

/// Returns the Ints of an argument that are known.
fn ints_of<'a>(call: &Call<'a>, at: usize) -> impl Iterator<Item = i64> {
    let items = match call.argument(at) {
        Some(Argument::Int(int)) => std::slice::from_ref(int),
        Some(Argument::Ints(items)) => &items[..],
        Some(_) | None => &[],
    };
    items.iter().filter_map(|item| match item {
        IntMeta::Exact(int) => Some(*int),
        IntMeta::AtMost(_) | IntMeta::Unknown => None,
    })
}

/// Returns the numbers of dimensions of the tensors of an argument.
fn ranks_of(call: &Call<'_>, at: usize) -> impl Iterator<Item = usize> {
    let (one, items) = match call.argument(at) {
        Some(Argument::Tensor(tensor)) => (Some(tensor.sizes.len()), &[][..]),
        Some(Argument::Tensors(items)) => (None, &items[..]),
        Some(_) | None => (None, &[][..]),
    };
    one.into_iter().chain(items.iter().flatten().map(|tensor| tensor.sizes.len()))
}

/// Returns a tensor, and the index of the dimension that another argument states, which counts from the end if it is negative. `None` if
/// either is not known, or the tensor has no such dimension.
fn dimension_of<'a>(call: &Call<'a>, argument: usize, dim: usize) -> Option<(&'a TensorMeta, usize)> {
    let Some(Argument::Tensor(tensor)) = call.argument(argument) else { return None };
    let at = ints_of(call, dim).next()?;
    let at = if at < 0 { at.checked_add_unsigned(tensor.sizes.len() as u64)? } else { at };
    let at = usize::try_from(at).ok().filter(|at| *at < tensor.sizes.len())?;
    Some((tensor, at))
}

/// Checks the arguments of a call: those of the schema in its order, the outs included as far as they are known.
///
/// # Errors
/// The first argument that violates a constraint.
pub fn check(constraints: &[Constraint], call: &Call<'_>) -> Result<(), InvalidArgument> {
    constraints.iter().try_for_each(|constraint| match violation(*constraint, call) {
        None => Ok(()),
        Some((argument, found, expected)) => Err(InvalidArgument { argument, found, expected }),
    })
}

/// Returns the argument that violates a constraint, what was found and what was expected.
fn violation(constraint: Constraint, call: &Call<'_>) -> Option<(usize, String, String)> {
    let described = |argument: usize, found: ScalarType| match call.base(argument) {
        Some(Base::Dtype) => found.to_string(),
        _ => format!("a tensor of {found}"),
    };
    match constraint {
        Constraint::Types { argument, types } => {
            let found = types_of(call, argument).find(|found| !types.contains(*found))?;
            Some((argument, described(argument, found), types.to_string()))
        }
        Constraint::TypesWith { argument, other, when, types } => {
            let with = types_of(call, other).find(|with| when.contains(*with))?;
            let found = types_of(call, argument).find(|found| !types.contains(*found))?;
            let expected = format!("{types}, with `{}` of {with}", call.name(other));
            Some((argument, described(argument, found), expected))
        }
        Constraint::SameType { argument, other, when } => {
            let with = types_of(call, other).find(|with| when.contains(*with))?;
            let found = types_of(call, argument).find(|found| *found != with)?;
            Some((argument, described(argument, found), format!("{with}, the type of `{}`", call.name(other))))
        }
        Constraint::Divisor { argument } => ints_of(call, argument)
            .any(|int| int == 0)
            .then(|| (argument, "divisor 0".to_owned(), "a non-zero divisor".to_owned())),
        Constraint::Int { argument, min, max } => {
            let found = ints_of(call, argument).find(|int| !(min..=max).contains(int))?;
            let expected = match (min, max) {
                (_, i64::MAX) => format!("at least {min}"),
                (i64::MIN, _) => format!("at most {max}"),
                _ => format!("{min} to {max}"),
            };
            Some((argument, found.to_string(), expected))
        }
        Constraint::IntOfType { argument, other } => {
            let with = types_of(call, other).next()?;
            let (min, max) = with.integers()?;
            let found = ints_of(call, argument).find(|int| !(min..=max).contains(int))?;
            Some((argument, found.to_string(), format!("{min} to {max}, the range of {with}")))
        }
        Constraint::DivisorOfType { argument, other } => {
            let with = types_of(call, other).next()?;
            let (min, max) = with.integers()?;
            let bits = max.abs_diff(min);
            let found = ints_of(call, argument).find(|int| int.cast_unsigned() & bits == 0)?;
            Some((argument, format!("divisor {found}"), format!("a divisor that is not 0 as {with}")))
        }
        Constraint::Quotient { argument, other } => {
            let is_least = ints_of(call, argument).any(|int| int == i64::MIN);
            let is_wrong = is_least && ints_of(call, other).any(|int| int == -1);
            is_wrong.then(|| (argument, i64::MIN.to_string(), "at least -2^63 + 1, with the divisor -1".to_owned()))
        }
        Constraint::AtLeast { argument, other } => {
            let least = ints_of(call, other).next()?;
            let found = ints_of(call, argument).find(|int| *int < least)?;
            Some((argument, found.to_string(), format!("at least {least}, the value of `{}`", call.name(other))))
        }
        Constraint::SameSizes { argument, other } => {
            let (Some(Argument::Tensor(found)), Some(Argument::Tensor(with))) =
                (call.argument(argument), call.argument(other))
            else {
                return None;
            };
            let sizes = |tensor: &TensorMeta| tensor.sizes.iter().map(|dim| dim.size).collect::<Vec<_>>();
            let is_known = |tensor: &TensorMeta| tensor.sizes.iter().all(|dim| !dim.dynamic);
            let differs = sizes(found) != sizes(with) && is_known(found) && is_known(with);
            let expected = || format!("{:?}, the sizes of `{}`", sizes(with), call.name(other));
            differs.then(|| (argument, format!("sizes {:?}", sizes(found)), expected()))
        }
        Constraint::NotEmptyUnless { argument, other } => match call.argument(other)? {
            Argument::Null => violation(not_empty(argument), call),
            _ => None,
        },
        Constraint::NotEmpty { argument, last } => {
            let Some(Argument::Tensor(found)) = call.argument(argument) else { return None };
            let sizes: Vec<i64> = found.sizes.iter().map(|dim| dim.size).collect();
            let is_empty = sizes.iter().rev().take(last).any(|size| *size == 0);
            is_empty.then(|| (argument, format!("sizes {sizes:?}"), "sizes other than 0".to_owned()))
        }
        Constraint::Bool { argument, value } => match call.argument(argument)? {
            Argument::Bool(found) if *found != value => Some((argument, found.to_string(), value.to_string())),
            _ => None,
        },
        Constraint::Text { argument, texts } => match call.argument(argument)? {
            Argument::Str(found) if !texts.contains(found) => {
                Some((argument, format!("`{found}`"), format!("`{}`", texts.join("` or `"))))
            }
            _ => None,
        },
        Constraint::Rank { argument, min, max } => {
            let found = ranks_of(call, argument).find(|rank| !(min..=max).contains(rank))?;
            let expected = match max {
                usize::MAX => format!("rank {min} at least"),
                _ if min == max => format!("rank {min}"),
                _ => format!("rank {min} to {max}"),
            };
            Some((argument, format!("a tensor of rank {found}"), expected))
        }
        Constraint::NotEmptyFrom { argument, dim } => {
            let (tensor, at) = dimension_of(call, argument, dim)?;
            violation(Constraint::NotEmpty { argument, last: tensor.sizes.len() - at }, call)
        }
        Constraint::Lines { argument, dim } => {
            let (tensor, at) = dimension_of(call, argument, dim)?;
            let count = |dims: &[Dim]| dims.iter().fold(1i64, |count, dim| count.saturating_mul(dim.size));
            let (before, size) = (count(&tensor.sizes[..at]), tensor.sizes[at].size);
            let (after, stride) = (count(&tensor.sizes[at + 1..]), tensor.strides()[at]);
            let lines = (before - 1).saturating_mul(size).saturating_add(size - 1).saturating_mul(stride);
            let last = lines.saturating_add(after - 1);
            let is_beyond = before > 0 && size > 0 && after > 0 && last >= count(&tensor.sizes);
            let expected = || format!("a contiguous tensor, for dimension {at}");
            is_beyond.then(|| (argument, format!("a tensor with dim_order {:?}", tensor.dim_order), expected()))
        }
        Constraint::FrontDimension { argument, tensor } => {
            let rank = ranks_of(call, tensor).next()? as i64;
            if let Some(Argument::Int(IntMeta::AtMost(most))) = call.argument(argument)
                && *most >= rank
            {
                return Some((argument, format!("a size of at most {most}"), format!("0 to {}", rank - 1)));
            }
            let found = ints_of(call, argument).find(|dim| !(0..rank).contains(dim))?;
            Some((argument, format!("dimension {found}"), format!("0 to {}", rank - 1)))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::operators;

    fn signature(name: &str) -> Signature {
        operators::find(name).unwrap()
    }

    #[test]
    fn rows_are_sorted_and_name_operators_of_the_runtime() {
        let names =
            [TYPES.iter().map(|(name, _)| *name).collect::<Vec<_>>(), VALUES.iter().map(|(name, _)| *name).collect()];
        for names in names {
            assert!(names.windows(2).all(|pair| pair[0] < pair[1]));
            assert!(names.iter().all(|name| operators::find(name).is_some() && operators::library(name).is_none()));
        }
    }

    #[test]
    fn all_words_of_the_table_are_constraints() {
        for (name, words) in TYPES.iter() {
            let signature = signature(name);
            let malformed: Vec<&str> = words.split(' ').filter(|word| parse(word, &signature).is_none()).collect();
            assert!(malformed.is_empty(), "{name}: {malformed:?}");
        }
        for line in include_str!("types.table").lines().filter_map(|line| line.strip_prefix('=')) {
            assert!(line.split(' ').skip(1).all(|name| ScalarType::parse(name).is_some()), "{line}");
        }
    }

    #[test]
    fn arguments_of_values_exist() {
        for (name, constraints) in VALUES {
            let count = signature(name).args.len();
            for constraint in *constraints {
                let positions = match *constraint {
                    Constraint::Types { argument, .. }
                    | Constraint::Divisor { argument }
                    | Constraint::Int { argument, .. }
                    | Constraint::Bool { argument, .. }
                    | Constraint::Text { argument, .. }
                    | Constraint::NotEmpty { argument, .. }
                    | Constraint::Rank { argument, .. } => [argument, argument],
                    Constraint::TypesWith { argument, other, .. }
                    | Constraint::SameType { argument, other, .. }
                    | Constraint::IntOfType { argument, other }
                    | Constraint::DivisorOfType { argument, other }
                    | Constraint::Quotient { argument, other }
                    | Constraint::SameSizes { argument, other }
                    | Constraint::AtLeast { argument, other }
                    | Constraint::NotEmptyFrom { argument, dim: other }
                    | Constraint::NotEmptyUnless { argument, other }
                    | Constraint::Lines { argument, dim: other }
                    | Constraint::FrontDimension { argument, tensor: other } => [argument, other],
                };
                assert!(positions.iter().all(|position| *position < count), "{name}");
            }
        }
    }

    #[test]
    fn sets_are_described() {
        let set: TypeSet = [ScalarType::FLOAT, ScalarType::BOOL, ScalarType(100)].into_iter().collect();
        assert_eq!(set.to_string(), "float32 or bool");
        assert!(set.contains(ScalarType::BOOL) && !set.contains(ScalarType(-1)) && !set.contains(ScalarType(100)));
        assert_eq!(set.types().count(), 2);
    }
}
