//! Constraints of the kernels of the default runtime on the arguments of a call, in addition to their kinds and the
//! rules of inference. Violations abort the process, or make the call fail. They do not cover the sizes and types of
//! results.
//!
//! A release states the constraints of its operators: `types.table` has those of element types, rows have all others,
//! and types that the measured calls do not show. A constraint about an argument that is None, missing or not known
//! holds.

use std::borrow::Cow;
use std::fmt;

use super::Call;
pub use super::promotion::Category;
use super::promotion::{category, result_type};
use super::shape::element_count;
use super::types::{Argument, Dim, IntMeta, InvalidArgument, TensorMeta};
use crate::{Base, Signature};
use pte_model::format::{DimOrder, ScalarType};

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
        ScalarType::all().filter(move |scalar_type| self.contains(*scalar_type))
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

/// Constraint of a kernel on an argument. Arguments are positions in the schema. The element type of an argument is
/// that of the tensor, of each tensor of the list, or the one that an Int of the kind ScalarType means.
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
    /// A factor of the second operand, the arguments 0 and 1: a number that is an element of the type to which they are
    /// promoted.
    Factor {
        /// Position of the argument.
        argument: usize,
    },
    /// A number of at most the category of another argument, or of a certain one.
    Number {
        /// Position of the argument.
        argument: usize,
        /// Position of the other argument.
        other: usize,
        /// Category that is always accepted.
        least: Category,
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
    /// An Int that is not 0 as an element of another argument, which has an integer type: the kernel keeps the low
    /// bits.
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
    /// An Int that is not less than another Int.
    AtLeast {
        /// Position of the argument.
        argument: usize,
        /// Position of the other argument.
        other: usize,
    },
    /// A tensor of complex numbers of the same sizes as another argument.
    ComplexSizes {
        /// Position of the argument.
        argument: usize,
        /// Position of the other argument.
        other: usize,
    },
    /// A tensor with as many dimensions as another argument, or more.
    RankOf {
        /// Position of the argument.
        argument: usize,
        /// Position of the other argument.
        other: usize,
    },
    /// An Int that is greater than another Int by a number in a range.
    Above {
        /// Position of the argument.
        argument: usize,
        /// Position of the other argument.
        other: usize,
        /// Greatest difference.
        max: i64,
    },
    /// A tensor with a dimension of the size of a dimension of another argument, if both exist; of the greatest sizes,
    /// if they are dynamic.
    SameSize {
        /// Position of the argument.
        argument: usize,
        /// Its dimension.
        dim: usize,
        /// Position of the other argument.
        other: usize,
        /// The dimension of the other argument.
        other_dim: usize,
    },
    /// A tensor whose second dimension, if it has one, divides that of another argument.
    Groups {
        /// Position of the argument.
        argument: usize,
        /// Position of the other argument.
        other: usize,
        /// Elements in one of the other argument.
        packed: i64,
    },
    /// A tensor of the same sizes as another argument; of the same greatest sizes, if they are dynamic.
    SameSizes {
        /// Position of the argument.
        argument: usize,
        /// Position of the other argument.
        other: usize,
    },
    /// A list of tensors of one element type.
    OneType {
        /// Position of the argument.
        argument: usize,
    },
    /// Ints, the sizes of a window, or a filter, whose product is in a limit: the kernel visits all of the window for
    /// each result, even beyond its input.
    Window {
        /// Position of the argument.
        argument: usize,
    },
    /// A tensor that has the dimension of the first index in a list of optional tensors.
    Indexed {
        /// Position of the argument.
        argument: usize,
        /// Position of the list.
        indices: usize,
    },
    /// Optional tensors that select along no more dimensions than another argument has: masks along all of theirs,
    /// indices along one.
    Selects {
        /// Position of the argument.
        argument: usize,
        /// Position of the tensor.
        tensor: usize,
    },
    /// Sizes of the gradient of a bias, if a mask asks for it: one, the channels of the gradient of the result.
    BiasSizes {
        /// Position of the argument.
        argument: usize,
        /// Position of the gradient of the result.
        gradient: usize,
        /// Position of the mask, whose third item is that of the bias.
        mask: usize,
    },
    /// A tensor of one element.
    OneElement {
        /// Position of the argument.
        argument: usize,
    },
    /// Ints that are dimensions of another argument, counted from the front or the end.
    Dimension {
        /// Position of the argument.
        argument: usize,
        /// Position of the tensor.
        tensor: usize,
    },
    /// An Int that is a dimension of one of several tensors, if none has elements: the kernel then does not check it.
    DimensionOfEmpty {
        /// Position of the argument.
        argument: usize,
        /// Position of the list of tensors.
        tensors: usize,
    },
    /// A tensor of complex numbers that is long enough for the real result of a Fourier transform.
    HalfSpectrum {
        /// Position of the argument.
        argument: usize,
        /// Position of the transformed dimensions; the last one is halved.
        dims: usize,
        /// Position of the size of that dimension in the result.
        size: usize,
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
    /// A tensor whose elements along a dimension the kernel reads at the stride of that dimension, and the dimensions
    /// before and after it as if it was contiguous: in bounds.
    Lines {
        /// Position of the tensor.
        argument: usize,
        /// Position of the dimension.
        dim: usize,
    },
    /// A tensor with an element, at least, for each channel of the result of a convolution; of the greatest sizes, if
    /// they are dynamic.
    Channels {
        /// Position of the tensor.
        argument: usize,
        /// Position of the weight.
        weight: usize,
        /// Position of the Bool that is true if the convolution is transposed.
        transposed: usize,
        /// Position of the number of groups.
        groups: usize,
    },
    /// A tensor of no dimensions, or with all those of another argument, except one: the kernel compares the sizes of
    /// the others.
    OtherDimensions {
        /// Position of the argument.
        argument: usize,
        /// Position of the tensor.
        tensor: usize,
        /// Position of the dimension that it may lack.
        dim: usize,
    },
    /// Tensors that are all in the default order of dimensions, or all channels last.
    OneOrder,
    /// A tensor in the default order of dimensions: the kernel compares it with that of a result without dimensions.
    DefaultOrder {
        /// Position of the tensor.
        argument: usize,
    },
    /// Sizes, one of which may be -1: the number of elements divided by the product of the others modulo 2^64.
    ViewSizes {
        /// Position of the sizes.
        argument: usize,
    },
    /// An Int that is a dimension of another argument, counted from the front.
    FrontDimension {
        /// Position of the argument.
        argument: usize,
        /// Position of the tensor.
        tensor: usize,
    },
    /// Strides that stay within a tensor: the kernel computes the end with numbers of 64 bits that wrap.
    Strides {
        /// Position of the strides.
        argument: usize,
        /// Position of the tensor.
        tensor: usize,
        /// Position of the sizes.
        sizes: usize,
        /// Position of the offset, which is 0 if it is None.
        offset: usize,
    },
}

/// All element types.
const ANY: TypeSet = TypeSet(u64::MAX);

/// Types of masks among indices: uint8 and bool.
pub const MASKS: TypeSet = TypeSet(1 << ScalarType::BYTE.0 | 1 << ScalarType::BOOL.0);

/// Types of complex numbers.
const COMPLEX: TypeSet =
    TypeSet(1 << ScalarType::COMPLEXHALF.0 | 1 << ScalarType::COMPLEXFLOAT.0 | 1 << ScalarType::COMPLEXDOUBLE.0);

/// Greatest number of elements of a window of pooling: of a picture of 4096 by 4096.
const MAX_WINDOW: i64 = 1 << 24;

/// Greatest number of steps of a kernel that do not visit elements in memory; they take an hour.
const MAX_STEPS: i64 = 1_000_000_000_000;

/// Greatest number of products of a convolution; they take days.
const MAX_PRODUCTS: i64 = 1_000_000_000_000_000;

impl Constraint {
    /// Returns `true` if it depends on sizes of tensors, not only on their ranks and element types.
    pub fn reads_sizes(&self) -> bool {
        match self {
            Constraint::Types { .. }
            | Constraint::TypesWith { .. }
            | Constraint::SameType { .. }
            | Constraint::Divisor { .. }
            | Constraint::Factor { .. }
            | Constraint::Number { .. }
            | Constraint::Int { .. }
            | Constraint::Bool { .. }
            | Constraint::Text { .. }
            | Constraint::Rank { .. }
            | Constraint::DivisorOfType { .. }
            | Constraint::Quotient { .. }
            | Constraint::AtLeast { .. }
            | Constraint::RankOf { .. }
            | Constraint::Above { .. }
            | Constraint::OneType { .. }
            | Constraint::Indexed { .. }
            | Constraint::Selects { .. }
            | Constraint::Dimension { .. }
            | Constraint::OneOrder
            | Constraint::DefaultOrder { .. }
            | Constraint::FrontDimension { .. } => false,
            Constraint::ComplexSizes { .. }
            | Constraint::SameSize { .. }
            | Constraint::Groups { .. }
            | Constraint::SameSizes { .. }
            | Constraint::Window { .. }
            | Constraint::BiasSizes { .. }
            | Constraint::OneElement { .. }
            | Constraint::DimensionOfEmpty { .. }
            | Constraint::HalfSpectrum { .. }
            | Constraint::NotEmpty { .. }
            | Constraint::NotEmptyFrom { .. }
            | Constraint::NotEmptyUnless { .. }
            | Constraint::Lines { .. }
            | Constraint::Channels { .. }
            | Constraint::OtherDimensions { .. }
            | Constraint::ViewSizes { .. }
            | Constraint::Strides { .. } => true,
        }
    }
}

// Constraints of the rows of releases.
impl Constraint {
    /// A tensor of int64.
    pub(crate) const fn int64(argument: usize) -> Constraint {
        Constraint::Types { argument, types: TypeSet(1 << 4) }
    }

    /// The element type of another argument.
    pub(crate) const fn same_type(argument: usize, other: usize) -> Constraint {
        Constraint::SameType { argument, other, when: ANY }
    }

    /// The element type of another argument, if that is complex.
    pub(crate) const fn same_complex(argument: usize, other: usize) -> Constraint {
        Constraint::SameType { argument, other, when: COMPLEX }
    }

    /// No divisor 0.
    pub(crate) const fn divisor(argument: usize) -> Constraint {
        Constraint::Divisor { argument }
    }

    /// The size of a dimension is that of a dimension of another argument.
    pub(crate) const fn same_size(argument: usize, other: usize, [dim, other_dim]: [usize; 2]) -> Constraint {
        Constraint::SameSize { argument, dim, other, other_dim }
    }

    /// This number of dimensions.
    pub(crate) const fn rank(argument: usize, rank: usize) -> Constraint {
        Constraint::Rank { argument, min: rank, max: rank }
    }

    /// At least this number of dimensions.
    pub(crate) const fn min_rank(argument: usize, min: usize) -> Constraint {
        Constraint::Rank { argument, min, max: usize::MAX }
    }

    /// No dimension is empty.
    pub(crate) const fn not_empty(argument: usize) -> Constraint {
        Constraint::NotEmpty { argument, last: usize::MAX }
    }

    /// The last dimensions of the first argument are not empty.
    pub(crate) const fn not_empty_last(last: usize) -> Constraint {
        Constraint::NotEmpty { argument: 0, last }
    }
}

/// Parses a constraint of `types.table`, whose first lines describe the form; `None` if it is malformed. `set` returns
/// the types of a named set, empty for an unknown one.
pub(crate) fn parse(word: &str, signature: &Signature, set: impl Fn(&str) -> &'static str) -> Option<Constraint> {
    // Names of sets and of types, separated by `|`.
    let types = |text: &str| -> Option<TypeSet> {
        text.split('|').try_fold(TypeSet(0), |all, name| {
            let types = match set(name) {
                "" => TypeSet(0).with(ScalarType::parse(name)?),
                types => types.split(' ').filter_map(ScalarType::parse).collect(),
            };
            Some(TypeSet(all.0 | types.0))
        })
    };
    let (left, right) = word.split_once(':')?;
    match left.split_once('@') {
        None => Some(Constraint::Types { argument: signature.position(left)?, types: types(right)? }),
        Some((argument, condition)) => {
            let (other, when) = condition.split_once('=').unwrap_or((condition, "any"));
            let (argument, other) = (signature.position(argument)?, signature.position(other)?);
            match right {
                "same" => Some(Constraint::SameType { argument, other, when: types(when)? }),
                _ => Some(Constraint::TypesWith { argument, other, when: types(when)?, types: types(right)? }),
            }
        }
    }
}

/// Returns the element types that an argument may have, in words; `None` without a constraint. Types that depend on
/// those of another argument are left out, except that both are the same.
pub(crate) fn element_types(constraints: &[Constraint], signature: &Signature, at: usize) -> Option<String> {
    let is_any = |when: TypeSet| ScalarType::all().all(|known| known.info().is_none() || when.contains(known));
    let same = constraints.iter().find_map(|constraint| match *constraint {
        Constraint::SameType { argument, other, when } if argument == at && is_any(when) => signature.args.get(other),
        _ => None,
    });
    let types = || {
        constraints.iter().find_map(|constraint| match *constraint {
            Constraint::Types { argument, types } if argument == at => Some(types.to_string()),
            _ => None,
        })
    };
    same.map(|other| format!("that of `{}`", other.name)).or_else(types)
}

/// Returns the first argument whose element type does not meet the constraints on types, by its position. `types`
/// returns the element type of the argument at a position.
pub(crate) fn refused_type(
    constraints: &[Constraint],
    types: &dyn Fn(usize) -> Option<ScalarType>,
) -> Option<(usize, ScalarType)> {
    let has = |argument: usize, set: TypeSet| types(argument).is_some_and(|found| set.contains(found));
    constraints.iter().find_map(|constraint| {
        let (argument, is_met) = match *constraint {
            Constraint::Types { argument, types } => (argument, has(argument, types)),
            Constraint::TypesWith { argument, other, when, types } => {
                (argument, !has(other, when) || has(argument, types))
            }
            Constraint::SameType { argument, other, when } => {
                (argument, !has(other, when) || types(other) == types(argument))
            }
            _ => return None,
        };
        let found = types(argument)?;
        (!is_met).then_some((argument, found))
    })
}

/// Returns the element types of an argument; none if it is not known.
fn types_of(call: &Call<'_>, at: usize) -> impl Iterator<Item = ScalarType> {
    let stated = match call.argument(at) {
        Some(Argument::Int(IntMeta::Exact(int))) if call.base(at) == Some(Base::Dtype) => {
            i8::try_from(*int).ok().map(ScalarType)
        }
        Some(_) | None => None,
    };
    stated.into_iter().chain(tensors_of(call, at).map(|tensor| tensor.scalar_type))
}

/// Returns the tensors of an argument: itself, or the items of the list.
fn tensors_of<'a>(call: &Call<'a>, at: usize) -> impl Iterator<Item = &'a TensorMeta> {
    let (one, items) = match call.argument(at) {
        Some(Argument::Tensor(tensor)) => (Some(&**tensor), &[][..]),
        Some(Argument::Tensors(items)) => (None, &items[..]),
        Some(_) | None => (None, &[][..]),
    };
    one.into_iter().chain(items.iter().flatten().map(|tensor| &**tensor))
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

/// Returns all Ints of a list; `None` if one is not known.
fn exact_ints_of(call: &Call<'_>, at: usize) -> Option<Vec<i64>> {
    let Some(Argument::Ints(items)) = call.argument(at) else { return None };
    Some(ints_of(call, at).collect()).filter(|ints: &Vec<i64>| ints.len() == items.len())
}

/// Returns the number of elements up to the last one that a strided view has, 0 for an empty one; `None` if the offset
/// is not known.
fn strided_end(sizes: &[i64], strides: &[i64], offset: &Argument<'_>) -> Option<i128> {
    let offset = match offset {
        Argument::Null => 0,
        Argument::Int(IntMeta::Exact(offset)) => i128::from(*offset),
        _ => return None,
    };
    let steps =
        sizes.iter().zip(strides).map(|(size, stride)| (i128::from(*size) - 1).saturating_mul((*stride).into()));
    let end = steps.fold(offset.saturating_add(1), i128::saturating_add);
    Some(if sizes.contains(&0) { 0 } else { end })
}

/// Returns the numbers of dimensions of the tensors of an argument.
fn ranks_of(call: &Call<'_>, at: usize) -> impl Iterator<Item = usize> {
    tensors_of(call, at).map(|tensor| tensor.sizes.len())
}

/// Returns the maximum sizes of a tensor.
fn sizes_of(call: &Call<'_>, at: usize) -> Option<Vec<i64>> {
    let Some(Argument::Tensor(tensor)) = call.argument(at) else { return None };
    Some(tensor.sizes.iter().map(|dim| dim.size).collect())
}

/// Returns the maximum size of a dimension of a tensor; `None` if it has no such dimension.
fn size_of(call: &Call<'_>, at: usize, dim: usize) -> Option<i64> {
    let Some(Argument::Tensor(tensor)) = call.argument(at) else { return None };
    tensor.sizes.get(dim).map(|dim| dim.size)
}

/// Returns a tensor, and the index of the dimension that another argument states, which counts from the end if it is
/// negative. `None` if either is not known, or the tensor has no such dimension.
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
    let found = empty_loop(call).or_else(|| constraints.iter().find_map(|constraint| violation(*constraint, call)));
    match found {
        None => Ok(()),
        Some((argument, found, expected)) => Err(InvalidArgument { argument, found, expected }),
    }
}

/// Returns a tensor without elements whose other dimensions a kernel would visit for hours.
fn empty_loop(call: &Call<'_>) -> Option<Violation> {
    let is_long = |tensor: &TensorMeta| {
        let sizes = tensor.sizes.iter().map(|dim| dim.size);
        let is_empty = sizes.clone().any(|size| size == 0);
        is_empty && sizes.filter(|size| *size > 0).fold(1, i64::saturating_mul) > MAX_STEPS
    };
    let found = (0..).map_while(|at| Some((at, call.argument(at)?))).find_map(|(at, argument)| match argument {
        Argument::Tensor(tensor) => is_long(tensor).then(|| (at, tensor.size_list())),
        Argument::Tensors(items) => {
            let tensor = items.iter().flatten().find(|tensor| is_long(tensor))?;
            Some((at, tensor.size_list()))
        }
        _ => None,
    });
    let expected = || format!("sizes whose product without 0 is at most {MAX_STEPS}: kernels loop over them");
    found.map(|(at, sizes)| (at, format!("sizes {sizes}"), expected()))
}

/// Returns the element type that constraints leave for an argument; `None` if there are several.
pub fn only_type(constraints: &[Constraint], call: &Call<'_>, at: usize) -> Option<ScalarType> {
    constraints.iter().find_map(|constraint| match *constraint {
        Constraint::Types { argument, types } if argument == at => {
            let mut types = types.types();
            types.next().filter(|_| types.next().is_none())
        }
        Constraint::SameType { argument, other, when } if argument == at => {
            types_of(call, other).find(|with| when.contains(*with))
        }
        _ => None,
    })
}

/// An argument that violates a constraint, with the value found and the value expected.
type Violation = (usize, String, String);

fn violation(constraint: Constraint, call: &Call<'_>) -> Option<Violation> {
    match constraint {
        Constraint::Types { .. }
        | Constraint::TypesWith { .. }
        | Constraint::SameType { .. }
        | Constraint::OneType { .. } => violated_types(constraint, call),
        Constraint::Divisor { .. }
        | Constraint::Factor { .. }
        | Constraint::Number { .. }
        | Constraint::Int { .. }
        | Constraint::DivisorOfType { .. }
        | Constraint::Quotient { .. }
        | Constraint::AtLeast { .. }
        | Constraint::Above { .. }
        | Constraint::Bool { .. }
        | Constraint::Text { .. }
        | Constraint::Window { .. }
        | Constraint::ViewSizes { .. } => violated_numbers(constraint, call),
        Constraint::Rank { .. }
        | Constraint::RankOf { .. }
        | Constraint::OtherDimensions { .. }
        | Constraint::Indexed { .. }
        | Constraint::Selects { .. }
        | Constraint::Dimension { .. }
        | Constraint::DimensionOfEmpty { .. }
        | Constraint::FrontDimension { .. } => violated_dimensions(constraint, call),
        Constraint::ComplexSizes { .. }
        | Constraint::SameSize { .. }
        | Constraint::SameSizes { .. }
        | Constraint::Groups { .. }
        | Constraint::BiasSizes { .. }
        | Constraint::HalfSpectrum { .. }
        | Constraint::Channels { .. } => violated_sizes(constraint, call),
        Constraint::DefaultOrder { .. }
        | Constraint::OneOrder
        | Constraint::Strides { .. }
        | Constraint::Lines { .. } => violated_order(constraint, call),
        Constraint::OneElement { .. }
        | Constraint::NotEmpty { .. }
        | Constraint::NotEmptyFrom { .. }
        | Constraint::NotEmptyUnless { .. } => violated_elements(constraint, call),
    }
}

/// Checks element types. `None` for other constraints.
fn violated_types(constraint: Constraint, call: &Call<'_>) -> Option<Violation> {
    match constraint {
        Constraint::Types { argument, types } => {
            let found = types_of(call, argument).find(|found| !types.contains(*found))?;
            Some((argument, described(call, argument, found), types.to_string()))
        }
        Constraint::TypesWith { argument, other, when, types } => {
            let with = types_of(call, other).find(|with| when.contains(*with))?;
            let found = types_of(call, argument).find(|found| !types.contains(*found))?;
            let expected = format!("{types}, with `{}` of {with}", call.name(other));
            Some((argument, described(call, argument, found), expected))
        }
        Constraint::SameType { argument, other, when } => {
            let with = types_of(call, other).find(|with| when.contains(*with))?;
            let found = types_of(call, argument).find(|found| *found != with)?;
            Some((argument, described(call, argument, found), format!("{with}, the type of `{}`", call.name(other))))
        }
        Constraint::OneType { argument } => {
            let first = types_of(call, argument).next()?;
            let found = types_of(call, argument).find(|found| *found != first)?;
            Some((argument, described(call, argument, found), format!("{first}, the type of the first one")))
        }
        _ => None,
    }
}

/// Checks the category of a number.
fn violated_category(
    call: &Call<'_>,
    argument: usize,
    taken: &[Category],
    with: impl FnOnce() -> String,
) -> Option<Violation> {
    let name = |category: &Category| match category {
        Category::Bool => "a Bool",
        Category::Integer => "an Int",
        Category::Floating | Category::Complex => "a Double",
    };
    let found = Category::from(call.optional_scalar(argument).ok()??);
    let expected = || taken.iter().map(name).collect::<Vec<_>>().join(" or ");
    (!taken.contains(&found)).then(|| (argument, name(&found).to_owned(), format!("{}, with {}", expected(), with())))
}

/// Checks the number of elements of a window, and of those of all results.
fn violated_window(call: &Call<'_>, argument: usize) -> Option<Violation> {
    let (elements, most) = match call.argument(argument) {
        // A filter is in memory.
        Some(Argument::Tensor(filter)) => (element_count(filter.sizes.get(1..)?), MAX_PRODUCTS),
        _ => (ints_of(call, argument).fold(1, i64::saturating_mul), MAX_STEPS),
    };
    let found = || format!("a window of {elements} elements");
    if elements > MAX_WINDOW && most == MAX_STEPS {
        return Some((argument, found(), format!("at most {MAX_WINDOW}")));
    }
    // The last tensor is the result, if it is known.
    let last = (0..).map_while(|at| call.argument(at)).filter_map(|argument| match argument {
        Argument::Tensor(tensor) => Some(element_count(&tensor.sizes)),
        _ => None,
    });
    let results = last.last()?;
    let expected = || format!("at most {most} elements in the windows of {results} results");
    (elements.saturating_mul(results) > most).then(|| (argument, found(), expected()))
}

/// Checks numbers, truth values and strings. `None` for other constraints.
fn violated_numbers(constraint: Constraint, call: &Call<'_>) -> Option<Violation> {
    match constraint {
        Constraint::Divisor { argument } => ints_of(call, argument)
            .any(|int| int == 0)
            .then(|| (argument, "divisor 0".to_owned(), "a non-zero divisor".to_owned())),
        Constraint::Factor { argument } => {
            let with = result_type(call, &[0, 1]).ok()?;
            let taken: &[Category] = match category(with)? {
                Category::Bool => &[Category::Integer, Category::Bool],
                Category::Integer => &[Category::Integer],
                Category::Floating => &[Category::Integer, Category::Floating],
                Category::Complex => return None,
            };
            violated_category(call, argument, taken, || format!("operands that are promoted to {with}"))
        }
        Constraint::Number { argument, other, least } => {
            let with = types_of(call, other).next()?;
            let most = category(with)?.max(least);
            let taken: Vec<Category> = [Category::Bool, Category::Integer, Category::Floating, Category::Complex]
                .into_iter()
                .filter(|taken| *taken <= most)
                .collect();
            violated_category(call, argument, &taken, || format!("`{}` of {with}", call.name(other)))
        }
        Constraint::Int { argument, min, max } => {
            let found = ints_of(call, argument).find(|int| !(min..=max).contains(int))?;
            let expected = match (min, max) {
                (_, i64::MAX) => format!("at least {min}"),
                (i64::MIN, _) => format!("at most {max}"),
                _ => format!("{min} to {max}"),
            };
            Some((argument, found.to_string(), expected))
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
        Constraint::Above { argument, other, max } => {
            let below = ints_of(call, other).next()?;
            let is_above = |int: i64| int > below && int.abs_diff(below) <= max.unsigned_abs();
            let found = ints_of(call, argument).find(|int| !is_above(*int))?;
            let expected = format!("above {below}, the value of `{}`, by at most {max}", call.name(other));
            Some((argument, found.to_string(), expected))
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
        Constraint::Window { argument } => violated_window(call, argument),
        Constraint::ViewSizes { argument } => {
            let (open, others): (Vec<i64>, Vec<i64>) = ints_of(call, argument).partition(|size| *size == -1);
            let is_wrong =
                !open.is_empty() && others.iter().fold(1, |product: i64, size| product.wrapping_mul(*size)) == 0;
            let expected = "sizes beside -1 whose product is not 0 modulo 2^64".to_owned();
            is_wrong.then(|| (argument, format!("sizes {others:?} beside -1"), expected))
        }
        _ => None,
    }
}

/// Checks numbers of dimensions, and Ints that are dimensions. `None` for other constraints.
fn violated_dimensions(constraint: Constraint, call: &Call<'_>) -> Option<Violation> {
    match constraint {
        Constraint::Rank { argument, min, max } => {
            let found = ranks_of(call, argument).find(|rank| !(min..=max).contains(rank))?;
            let expected = match max {
                usize::MAX => format!("rank {min} at least"),
                _ if min == max => format!("rank {min}"),
                _ => format!("rank {min} to {max}"),
            };
            Some((argument, format!("a tensor of rank {found}"), expected))
        }
        Constraint::RankOf { argument, other } => {
            let (found, with) = (ranks_of(call, argument).next()?, ranks_of(call, other).next()?);
            let expected = || format!("rank {with} at least, that of `{}`", call.name(other));
            (found < with).then(|| (argument, format!("a tensor of rank {found}"), expected()))
        }
        Constraint::OtherDimensions { argument, tensor, dim } => {
            let (tensor, at) = dimension_of(call, tensor, dim)?;
            let (found, rank) = (ranks_of(call, argument).next()?, tensor.sizes.len());
            let is_wrong = found > 0 && (found..rank).any(|other| other != at);
            is_wrong.then(|| (argument, format!("a tensor of rank {found}"), format!("rank {rank}")))
        }
        Constraint::Indexed { argument, indices } => {
            let Some(Argument::Tensors(items)) = call.argument(indices) else { return None };
            let (dim, rank) = (items.iter().position(Option::is_some)?, ranks_of(call, argument).next()?);
            let found = || format!("a tensor of rank {rank}");
            let expected = || format!("rank {} at least, since dimension {dim} is indexed", dim + 1);
            (rank <= dim).then(|| (argument, found(), expected()))
        }
        Constraint::Selects { argument, tensor } => {
            let Some(Argument::Tensors(items)) = call.argument(argument) else { return None };
            let dimensions = |item: &Option<Cow<'_, TensorMeta>>| match item {
                Some(mask) if MASKS.contains(mask.scalar_type) => mask.sizes.len(),
                Some(_) | None => 1,
            };
            let (found, rank) = (items.iter().map(dimensions).sum::<usize>(), ranks_of(call, tensor).next()?);
            let expected = || format!("{rank} at most, those of `{}`", call.name(tensor));
            (found > rank).then(|| (argument, format!("indices of {found} dimensions"), expected()))
        }
        Constraint::Dimension { argument, tensor } => {
            let rank = i64::try_from(ranks_of(call, tensor).next()?).ok()?;
            outside(call, argument, rank)
        }
        Constraint::DimensionOfEmpty { argument, tensors } => {
            let tensors: Vec<&TensorMeta> = call.tensors(tensors).ok()?.into_iter().flatten().collect();
            let has_elements = |tensor: &&TensorMeta| tensor.sizes.iter().all(|dim| dim.size != 0);
            let rank = tensors.iter().map(|tensor| tensor.rank()).max()?;
            outside(call, argument, i64::try_from(rank).ok()?).filter(|_| !tensors.iter().any(has_elements))
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
        _ => None,
    }
}

/// Returns the violation of Ints that are not dimensions of a tensor of this rank, counted from the front or the end.
fn outside(call: &Call<'_>, argument: usize, rank: i64) -> Option<Violation> {
    let found = ints_of(call, argument).find(|dim| !(-rank..rank).contains(dim))?;
    let expected = match rank {
        0 => "none, since the tensor has no dimensions".to_owned(),
        _ => format!("{} to {}", -rank, rank - 1),
    };
    Some((argument, format!("dimension {found}"), expected))
}

/// Checks sizes that depend on other arguments. `None` for other constraints.
fn violated_sizes(constraint: Constraint, call: &Call<'_>) -> Option<Violation> {
    match constraint {
        Constraint::ComplexSizes { argument, other } => {
            types_of(call, argument).find(|found| COMPLEX.contains(*found))?;
            violation(Constraint::SameSizes { argument, other }, call)
        }
        Constraint::SameSize { argument, dim, other, other_dim } => {
            let (found, with) = (size_of(call, argument, dim)?, size_of(call, other, other_dim)?);
            let expected = || format!("{with}, the size of dimension {other_dim} of `{}`", call.name(other));
            (found != with).then(|| (argument, format!("size {found} of dimension {dim}"), expected()))
        }
        Constraint::SameSizes { argument, other } => {
            let (found, with) = (sizes_of(call, argument)?, sizes_of(call, other)?);
            let expected = || format!("{with:?}, the sizes of `{}`", call.name(other));
            (found != with).then(|| (argument, format!("sizes {found:?}"), expected()))
        }
        Constraint::Groups { argument, other, packed } => {
            let (groups, columns) = (size_of(call, argument, 1)?, size_of(call, other, 1)?.saturating_mul(packed));
            let is_wrong = columns.checked_rem(groups) != Some(0);
            let expected = || format!("a divisor of {columns}, the number of columns of `{}`", call.name(other));
            is_wrong.then(|| (argument, format!("{groups} groups"), expected()))
        }
        Constraint::BiasSizes { argument, gradient, mask } => {
            let (Argument::Ints(_), Argument::Bools(mask)) = (call.argument(argument)?, call.argument(mask)?) else {
                return None;
            };
            let (sizes, channels) = (ints_of(call, argument).collect::<Vec<_>>(), size_of(call, gradient, 1)?);
            let is_wrong = mask.get(2) == Some(&true) && sizes != [channels];
            let expected = || format!("[{channels}], the channels of `{}`", call.name(gradient));
            is_wrong.then(|| (argument, format!("{sizes:?}"), expected()))
        }
        Constraint::HalfSpectrum { argument, dims, size } => {
            let (dim, length) = (ints_of(call, dims).last()?, ints_of(call, size).next()?);
            let found = size_of(call, argument, usize::try_from(dim).ok()?)?;
            let least = length / 2 + 1;
            let expected = || format!("{least} at least, for a result of {length}");
            (found < least).then(|| (argument, format!("size {found} of dimension {dim}"), expected()))
        }
        Constraint::Channels { argument, weight, transposed, groups } => {
            let Argument::Bool(transposed) = call.argument(transposed)? else { return None };
            let channels = match transposed {
                true => size_of(call, weight, 1)?.saturating_mul(ints_of(call, groups).next()?),
                false => size_of(call, weight, 0)?,
            };
            let found = size_of(call, argument, 0)?;
            let expected = || format!("{channels} at least, the number of channels of the result");
            (found < channels).then(|| (argument, format!("size {found}"), expected()))
        }
        _ => None,
    }
}

/// Checks dim orders and strides. `None` for other constraints.
fn violated_order(constraint: Constraint, call: &Call<'_>) -> Option<Violation> {
    match constraint {
        Constraint::DefaultOrder { argument } => {
            let Some(Argument::Tensor(tensor)) = call.argument(argument) else { return None };
            let default = DimOrder::contiguous(tensor.sizes.len());
            let found = || format!("a tensor with dim_order {:?}", tensor.dim_order);
            (tensor.dim_order != default).then(|| (argument, found(), format!("{default:?}")))
        }
        Constraint::OneOrder => {
            let arguments = (0..).map_while(|at| Some((at, call.argument(at)?)));
            let (at, order) = other_order(arguments.filter_map(|(at, argument)| match argument {
                Argument::Tensor(tensor) => Some((at, &tensor.dim_order)),
                _ => None,
            }))?;
            Some((at, format!("a tensor with dim_order {order:?}"), ONE_ORDER.to_owned()))
        }
        Constraint::Strides { argument, tensor, sizes, offset } => {
            let elements = sizes_of(call, tensor)?.into_iter().fold(1i128, |all, size| all.saturating_mul(size.into()));
            let end =
                strided_end(&exact_ints_of(call, sizes)?, &exact_ints_of(call, argument)?, call.argument(offset)?)?;
            let expected = || format!("strides within the {elements} elements of `{}`", call.name(tensor));
            (end > elements).then(|| (argument, format!("strides to element {}", end - 1), expected()))
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
        _ => None,
    }
}

/// What [`Facts::one_order`](crate::facts::Facts::one_order) requires.
const ONE_ORDER: &str = "tensors that are all in the default order of dimensions, or all channels last of rank 4 or 5";

/// Returns the first of some tensors whose order of dimensions does not suit the ones before it (`ONE_ORDER`).
pub fn other_order<'o>(orders: impl Iterator<Item = (usize, &'o DimOrder)>) -> Option<(usize, &'o DimOrder)> {
    let (mut is_default, mut is_last) = (true, true);
    orders.into_iter().find(|(_, order)| {
        is_default &= order.is_contiguous();
        is_last &= (4..=5).contains(&order.len()) && **order == DimOrder::channels_last(order.len());
        !is_default && !is_last
    })
}

/// Checks numbers of elements. `None` for other constraints.
fn violated_elements(constraint: Constraint, call: &Call<'_>) -> Option<Violation> {
    match constraint {
        Constraint::OneElement { argument } => {
            let sizes = sizes_of(call, argument)?;
            let is_wrong = sizes.iter().any(|size| *size != 1);
            is_wrong.then(|| (argument, format!("sizes {sizes:?}"), "one element".to_owned()))
        }
        Constraint::NotEmpty { argument, last } => {
            let sizes = sizes_of(call, argument)?;
            let is_empty = sizes.iter().rev().take(last).any(|size| *size == 0);
            is_empty.then(|| (argument, format!("sizes {sizes:?}"), "sizes other than 0".to_owned()))
        }
        Constraint::NotEmptyFrom { argument, dim } => {
            let (tensor, at) = dimension_of(call, argument, dim)?;
            violation(Constraint::NotEmpty { argument, last: tensor.sizes.len() - at }, call)
        }
        Constraint::NotEmptyUnless { argument, other } => match call.argument(other)? {
            Argument::Null => violation(Constraint::not_empty(argument), call),
            _ => None,
        },
        _ => None,
    }
}

/// Describes an element type that was found: of a tensor, or the one that an Int states.
fn described(call: &Call<'_>, argument: usize, found: ScalarType) -> String {
    match call.base(argument) {
        Some(Base::Dtype) => found.to_string(),
        _ => format!("a tensor of {found}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_of_strided_views_do_not_overflow() {
        let end = |sizes: &[i64], strides: &[i64]| strided_end(sizes, strides, &Argument::Null).unwrap();
        assert_eq!(end(&[2, 3], &[5, 2]), 10);
        assert_eq!(end(&[2, 0], &[5, 2]), 0);
        assert_eq!(end(&[i64::MIN], &[1]), i128::from(i64::MIN));
        assert!(end(&[i64::MAX; 9], &[i64::MAX; 9]) > i128::from(i64::MAX));
    }

    #[test]
    fn arguments_of_values_exist() {
        for operator in crate::all() {
            let (name, count) = (operator.name, operator.signature.args.len());
            for constraint in operator.facts.constraints {
                let positions = match *constraint {
                    Constraint::OneOrder => [0, 0],
                    Constraint::Types { argument, .. }
                    | Constraint::Divisor { argument }
                    | Constraint::Factor { argument }
                    | Constraint::Int { argument, .. }
                    | Constraint::Bool { argument, .. }
                    | Constraint::Text { argument, .. }
                    | Constraint::NotEmpty { argument, .. }
                    | Constraint::OneElement { argument }
                    | Constraint::OneType { argument }
                    | Constraint::DefaultOrder { argument }
                    | Constraint::Window { argument }
                    | Constraint::ViewSizes { argument }
                    | Constraint::Rank { argument, .. } => [argument, argument],
                    Constraint::TypesWith { argument, other, .. }
                    | Constraint::SameType { argument, other, .. }
                    | Constraint::Number { argument, other, .. }
                    | Constraint::DivisorOfType { argument, other }
                    | Constraint::Quotient { argument, other }
                    | Constraint::SameSizes { argument, other }
                    | Constraint::AtLeast { argument, other }
                    | Constraint::ComplexSizes { argument, other }
                    | Constraint::RankOf { argument, other }
                    | Constraint::Above { argument, other, .. }
                    | Constraint::SameSize { argument, other, .. }
                    | Constraint::Groups { argument, other, .. }
                    | Constraint::Indexed { argument, indices: other }
                    | Constraint::BiasSizes { argument, gradient: other, .. }
                    | Constraint::OtherDimensions { argument, tensor: other, .. }
                    | Constraint::Channels { argument, weight: other, .. }
                    | Constraint::Selects { argument, tensor: other }
                    | Constraint::Dimension { argument, tensor: other }
                    | Constraint::HalfSpectrum { argument, dims: other, .. }
                    | Constraint::NotEmptyFrom { argument, dim: other }
                    | Constraint::NotEmptyUnless { argument, other }
                    | Constraint::Lines { argument, dim: other }
                    | Constraint::DimensionOfEmpty { argument, tensors: other }
                    | Constraint::Strides { argument, offset: other, .. }
                    | Constraint::FrontDimension { argument, tensor: other } => [argument, other],
                };
                assert!(positions.iter().all(|position| *position < count), "{name}");
            }
        }
    }

    #[test]
    fn element_types_are_described() {
        let types = |name: &str, at: usize| {
            let operator = crate::find(name).unwrap();
            element_types(&operator.constraints, &operator.signature, at)
        };
        let number = "uint8, int8, int16, int32, int64, float16, float32, float64 or bfloat16";
        assert_eq!(types("aten::mm.out", 0).as_deref(), Some(number));
        assert_eq!(types("aten::mm.out", 1).as_deref(), Some("that of `self`"));
        assert_eq!(types("aten::mm.out", 2), None);
    }

    #[test]
    fn sets_are_described() {
        let set: TypeSet = [ScalarType::FLOAT, ScalarType::BOOL, ScalarType(100)].into_iter().collect();
        assert_eq!(set.to_string(), "float32 or bool");
        assert!(set.contains(ScalarType::BOOL) && !set.contains(ScalarType(-1)) && !set.contains(ScalarType(100)));
        assert_eq!(set.types().count(), 2);
    }
}
