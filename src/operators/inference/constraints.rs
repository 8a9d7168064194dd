//! What the kernels of the default runtime need of the arguments of one call, beyond their kinds and what the rules of inference check:
//! the process aborts, or the call fails, otherwise. Facts of ExecuTorch 1.5.1 as tables; not the sizes and types of results.
//!
//! Two tables, both with a row per operator: `types.table` (element types, measured in the runtime by tests/inference/types.rs, which
//! writes it) and [`VALUES`] (all others, and types that such calls do not show). A constraint about an argument that is None, missing or not known holds.

use std::borrow::Cow;
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
    /// A tensor with a dimension of the size of a dimension of another argument, if both exist; of the greatest sizes, if they are dynamic.
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
    /// Ints, the sizes of a window, whose product is in a limit: the kernel visits all of the window, even beyond its input.
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
    /// Optional tensors that select along no more dimensions than another argument has: masks along all of theirs, indices along one.
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
    /// A tensor whose elements along a dimension the kernel reads at the stride of that dimension, and the dimensions before and after it
    /// as if it was contiguous: in bounds.
    Lines {
        /// Position of the tensor.
        argument: usize,
        /// Position of the dimension.
        dim: usize,
    },
    /// A tensor with an element, at least, for each channel of the result of a convolution; of the greatest sizes, if they are dynamic.
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
    /// A tensor of no dimensions, or with all those of another argument, except one: the kernel compares the sizes of the others.
    OtherDimensions {
        /// Position of the argument.
        argument: usize,
        /// Position of the tensor.
        tensor: usize,
        /// Position of the dimension that it may lack.
        dim: usize,
    },
    /// Sizes of which one may be -1: the number of elements is divided by the product of the others, of which 64 bits are kept.
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
}

const fn divisor(argument: usize) -> Constraint {
    Constraint::Divisor { argument }
}

/// All element types.
const ANY: TypeSet = TypeSet(u64::MAX);

/// int64.
const INT64: TypeSet = TypeSet(1 << ScalarType::LONG.0);

/// Types of masks among indices: uint8 and bool.
const MASKS: TypeSet = TypeSet(1 << ScalarType::BYTE.0 | 1 << ScalarType::BOOL.0);

/// Types of complex numbers.
const COMPLEX: TypeSet =
    TypeSet(1 << ScalarType::COMPLEXHALF.0 | 1 << ScalarType::COMPLEXFLOAT.0 | 1 << ScalarType::COMPLEXDOUBLE.0);

/// Both operands of a division are complex, of the same type and sizes, or neither is: the kernel reads both as one type, element by
/// element.
const COMPLEX_DIVISION: [Constraint; 3] = [
    Constraint::ComplexSizes { argument: 1, other: 0 },
    Constraint::SameType { argument: 1, other: 0, when: COMPLEX },
    Constraint::SameType { argument: 0, other: 1, when: COMPLEX },
];

const fn same_size(argument: usize, other: usize, [dim, other_dim]: [usize; 2]) -> Constraint {
    Constraint::SameSize { argument, dim, other, other_dim }
}

const fn rank_1(argument: usize) -> Constraint {
    Constraint::Rank { argument, min: 1, max: 1 }
}

const fn not_empty(argument: usize) -> Constraint {
    Constraint::NotEmpty { argument, last: usize::MAX }
}

/// The last dimensions of the first argument are not empty.
const fn not_empty_last(last: usize) -> Constraint {
    Constraint::NotEmpty { argument: 0, last }
}

/// Greatest number of elements of a window of pooling: of a picture of 4096 by 4096.
const MAX_WINDOW: i64 = 1 << 24;

/// The element type of another argument.
const fn same_type(argument: usize, other: usize) -> Constraint {
    Constraint::SameType { argument, other, when: ANY }
}

/// Factor of the sizes of two dimensions; its square is an Int.
const FACTOR: Constraint = Constraint::Int { argument: 1, min: 1, max: i32::MAX as i64 };

/// An embedding with quantized weights, of which `packed` are in an element. The arguments are weight, scales, zero points, quant_min and
/// quant_max; the out is at the position `out`.
const fn embedding(out: usize, packed: i64) -> [Constraint; 7] {
    [
        Constraint::Rank { argument: 0, min: 2, max: 2 },
        Constraint::Rank { argument: 1, min: 1, max: 2 },
        same_size(1, 0, [0, 0]),
        Constraint::Groups { argument: 1, other: 0, packed },
        Constraint::SameSizes { argument: 2, other: 1 },
        Constraint::AtLeast { argument: 4, other: 3 },
        same_type(2, out),
    ]
}

/// An embedding whose kernel reads scales, zero points and out as one type.
const fn one_type_embedding(packed: i64) -> [Constraint; 8] {
    let [weight, scales, rows, groups, zero_points, range, types] = embedding(6, packed);
    [weight, scales, rows, groups, zero_points, range, types, same_type(1, 6)]
}

/// Indices that fit the tensor.
const SELECTS: Constraint = Constraint::Selects { argument: 1, tensor: 0 };

/// The index of a scatter, which has the dimensions of the tensor.
const INDEX_RANK: Constraint = Constraint::RankOf { argument: 2, other: 0 };

/// A tensor with rows.
const ROWS: Constraint = Constraint::Rank { argument: 0, min: 1, max: usize::MAX };

/// Both ends of a quantized range of `quantized_decomposed::add`, whatever the element type is.
const fn byte(argument: usize) -> Constraint {
    Constraint::Int { argument, min: 0, max: 255 }
}

/// An Int of 32 bits.
const fn int32(argument: usize) -> Constraint {
    Constraint::Int { argument, min: i32::MIN as i64, max: i32::MAX as i64 }
}

/// Constraints that are no element types, sorted by operator.
const VALUES: &[(&str, &[Constraint])] = &[
    ("aten::_fft_c2r.out", &[Constraint::HalfSpectrum { argument: 0, dims: 1, size: 3 }]),
    (
        "aten::_log_softmax.out",
        &[Constraint::Bool { argument: 2, value: false }, Constraint::NotEmptyFrom { argument: 0, dim: 1 }],
    ),
    (
        "aten::_softmax.out",
        &[Constraint::Bool { argument: 2, value: false }, Constraint::Lines { argument: 0, dim: 1 }],
    ),
    ("aten::_upsample_bilinear2d_aa.out", &[not_empty_last(2)]),
    ("aten::amax.out", &[not_empty(0)]),
    ("aten::amin.out", &[not_empty(0)]),
    ("aten::argmax.out", &[Constraint::NotEmptyUnless { argument: 0, other: 1 }]),
    ("aten::argmin.out", &[Constraint::NotEmptyUnless { argument: 0, other: 1 }]),
    ("aten::avg_pool2d.out", &[divisor(2), Constraint::Window { argument: 1 }]),
    (
        "aten::bmm.out",
        &[Constraint::Rank { argument: 0, min: 3, max: 3 }, same_size(1, 0, [0, 0]), same_size(1, 0, [1, 2])],
    ),
    ("aten::constant_pad_nd.out", &[Constraint::Int { argument: 1, min: 0, max: i64::MAX }]),
    (
        "aten::convolution.out",
        &[
            Constraint::Rank { argument: 0, min: 3, max: 4 },
            Constraint::Int { argument: 8, min: 1, max: i64::MAX },
            Constraint::Channels { argument: 2, weight: 1, transposed: 6, groups: 8 },
        ],
    ),
    ("aten::convolution_backward.out", &[divisor(9), Constraint::BiasSizes { argument: 3, gradient: 0, mask: 10 }]),
    ("aten::div.Scalar_mode_out", &[Constraint::DivisorOfType { argument: 1, other: 0 }]),
    ("aten::div.out", &COMPLEX_DIVISION),
    ("aten::div.out_mode", &COMPLEX_DIVISION),
    ("aten::gather.out", &[Constraint::OtherDimensions { argument: 2, tensor: 0, dim: 1 }]),
    ("aten::gelu.out", &[Constraint::Text { argument: 1, texts: &["none", "tanh"] }]),
    ("aten::grid_sampler_2d.out", &[not_empty_last(2)]),
    ("aten::index.Tensor_out", &[same_type(2, 0), SELECTS]),
    ("aten::index_put.out", &[SELECTS]),
    ("aten::index_put_", &[Constraint::Indexed { argument: 2, indices: 1 }, SELECTS]),
    ("aten::masked_select.out", &[same_type(2, 0), Constraint::Rank { argument: 2, min: 1, max: 1 }]),
    ("aten::max_pool2d_with_indices.out", &[divisor(2), Constraint::Window { argument: 1 }]),
    (
        "aten::max_pool2d_with_indices_backward.grad_input",
        &[divisor(3), Constraint::SameSizes { argument: 7, other: 0 }],
    ),
    ("aten::narrow_copy.out", &[Constraint::FrontDimension { argument: 1, tensor: 0 }]),
    ("aten::native_group_norm.out", &[Constraint::Rank { argument: 0, min: 2, max: usize::MAX }, rank_1(1), rank_1(2)]),
    (
        "aten::nonzero.out",
        &[Constraint::Types { argument: 1, types: INT64 }, Constraint::Rank { argument: 1, min: 2, max: 2 }],
    ),
    ("aten::pixel_shuffle.out", &[FACTOR]),
    ("aten::pixel_unshuffle.out", &[FACTOR]),
    ("aten::remainder.Scalar_out", &[Constraint::DivisorOfType { argument: 1, other: 0 }]),
    ("aten::replication_pad1d.out", &[not_empty_last(1)]),
    ("aten::replication_pad2d.out", &[not_empty_last(2)]),
    ("aten::replication_pad3d.out", &[not_empty_last(3)]),
    ("aten::scatter.src_out", &[INDEX_RANK]),
    ("aten::scatter.value_out", &[INDEX_RANK]),
    ("aten::scatter_add.out", &[INDEX_RANK]),
    ("aten::split_with_sizes_copy.out", &[Constraint::OneType { argument: 3 }]),
    ("aten::sum.IntList_out", &[Constraint::Dimension { argument: 1, tensor: 0 }]),
    ("aten::sym_size.int", &[Constraint::FrontDimension { argument: 1, tensor: 0 }]),
    ("aten::topk.values", &[Constraint::Lines { argument: 0, dim: 2 }]),
    ("aten::unbind_copy.int_out", &[Constraint::OneType { argument: 2 }]),
    ("aten::unfold_copy.out", &[ROWS]),
    ("aten::upsample_bilinear2d.vec_out", &[not_empty_last(2)]),
    ("aten::upsample_nearest2d.vec_out", &[not_empty_last(2)]),
    ("aten::var_mean.correction_out", &[same_type(5, 4)]),
    ("aten::view_copy.out", &[Constraint::ViewSizes { argument: 1 }]),
    ("executorch_prim::et_view.default", &[Constraint::ViewSizes { argument: 1 }]),
    ("executorch_prim::floordiv.Scalar", &[divisor(1), Constraint::Quotient { argument: 0, other: 1 }]),
    ("executorch_prim::floordiv.int", &[divisor(1), Constraint::Quotient { argument: 0, other: 1 }]),
    ("executorch_prim::mod.Scalar", &[divisor(1), Constraint::Quotient { argument: 0, other: 1 }]),
    ("executorch_prim::mod.int", &[divisor(1), Constraint::Quotient { argument: 0, other: 1 }]),
    (
        "quantized_decomposed::add.out",
        &[
            Constraint::SameSizes { argument: 5, other: 0 },
            Constraint::SameSizes { argument: 14, other: 0 },
            byte(3),
            byte(4),
            Constraint::AtLeast { argument: 4, other: 3 },
            byte(8),
            byte(9),
            Constraint::AtLeast { argument: 9, other: 8 },
            byte(12),
            byte(13),
            Constraint::AtLeast { argument: 13, other: 12 },
        ],
    ),
    (
        "quantized_decomposed::choose_qparams.Tensor_out",
        &[
            not_empty(0),
            int32(1),
            int32(2),
            Constraint::Above { argument: 2, other: 1, max: i32::MAX as i64 },
            Constraint::OneElement { argument: 5 },
            Constraint::OneElement { argument: 6 },
        ],
    ),
    ("quantized_decomposed::choose_qparams_per_token_asymmetric.out", &[ROWS, not_empty_last(1)]),
    ("quantized_decomposed::dequantize_per_token.out", &[ROWS]),
    ("quantized_decomposed::embedding_2bit.dtype_out", &embedding(7, 4)),
    ("quantized_decomposed::embedding_2bit.out", &one_type_embedding(4)),
    ("quantized_decomposed::embedding_4bit.dtype_out", &embedding(7, 2)),
    ("quantized_decomposed::embedding_4bit.out", &one_type_embedding(2)),
    ("quantized_decomposed::embedding_byte.dtype_out", &embedding(7, 1)),
    ("quantized_decomposed::embedding_byte.out", &one_type_embedding(1)),
    ("quantized_decomposed::mixed_linear.out", &[not_empty(2)]),
    ("quantized_decomposed::quantize_per_token.out", &[ROWS]),
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

/// Returns the numbers of dimensions of the tensors of an argument.
fn ranks_of(call: &Call<'_>, at: usize) -> impl Iterator<Item = usize> {
    tensors_of(call, at).map(|tensor| tensor.sizes.len())
}

/// Returns the sizes of a tensor, at most.
fn sizes_of(call: &Call<'_>, at: usize) -> Option<Vec<i64>> {
    let Some(Argument::Tensor(tensor)) = call.argument(at) else { return None };
    Some(tensor.sizes.iter().map(|dim| dim.size).collect())
}

/// Returns the size of a dimension of a tensor, at most, if it has the dimension.
fn size_of(call: &Call<'_>, at: usize, dim: usize) -> Option<i64> {
    let Some(Argument::Tensor(tensor)) = call.argument(at) else { return None };
    tensor.sizes.get(dim).map(|dim| dim.size)
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
        Constraint::ComplexSizes { argument, other } => {
            types_of(call, argument).find(|found| COMPLEX.contains(*found))?;
            violation(Constraint::SameSizes { argument, other }, call)
        }
        Constraint::RankOf { argument, other } => {
            let (found, with) = (ranks_of(call, argument).next()?, ranks_of(call, other).next()?);
            let expected = || format!("rank {with} at least, that of `{}`", call.name(other));
            (found < with).then(|| (argument, format!("a tensor of rank {found}"), expected()))
        }
        Constraint::Above { argument, other, max } => {
            let below = ints_of(call, other).next()?;
            let is_above = |int: i64| int > below && int.abs_diff(below) <= max.unsigned_abs();
            let found = ints_of(call, argument).find(|int| !is_above(*int))?;
            let expected = format!("above {below}, the value of `{}`, by at most {max}", call.name(other));
            Some((argument, found.to_string(), expected))
        }
        Constraint::SameSize { argument, dim, other, other_dim } => {
            let (found, with) = (size_of(call, argument, dim)?, size_of(call, other, other_dim)?);
            let expected = || format!("{with}, the size of dimension {other_dim} of `{}`", call.name(other));
            (found != with).then(|| (argument, format!("size {found} of dimension {dim}"), expected()))
        }
        Constraint::Groups { argument, other, packed } => {
            let (groups, columns) = (size_of(call, argument, 1)?, size_of(call, other, 1)?.saturating_mul(packed));
            let is_wrong = columns.checked_rem(groups) != Some(0);
            let expected = || format!("a divisor of {columns}, the number of columns of `{}`", call.name(other));
            is_wrong.then(|| (argument, format!("{groups} groups"), expected()))
        }
        Constraint::SameSizes { argument, other } => {
            let (found, with) = (sizes_of(call, argument)?, sizes_of(call, other)?);
            let expected = || format!("{with:?}, the sizes of `{}`", call.name(other));
            (found != with).then(|| (argument, format!("sizes {found:?}"), expected()))
        }
        Constraint::OneType { argument } => {
            let first = types_of(call, argument).next()?;
            let found = types_of(call, argument).find(|found| *found != first)?;
            Some((argument, described(argument, found), format!("{first}, the type of the first one")))
        }
        Constraint::Window { argument } => {
            let elements = ints_of(call, argument).fold(1, i64::saturating_mul);
            let found = || format!("a window of {elements} elements");
            (elements > MAX_WINDOW).then(|| (argument, found(), format!("at most {MAX_WINDOW}")))
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
        Constraint::BiasSizes { argument, gradient, mask } => {
            let (Argument::Ints(_), Argument::Bools(mask)) = (call.argument(argument)?, call.argument(mask)?) else {
                return None;
            };
            let (sizes, channels) = (ints_of(call, argument).collect::<Vec<_>>(), size_of(call, gradient, 1)?);
            let is_wrong = mask.get(2) == Some(&true) && sizes != [channels];
            let expected = || format!("[{channels}], the channels of `{}`", call.name(gradient));
            is_wrong.then(|| (argument, format!("{sizes:?}"), expected()))
        }
        Constraint::OneElement { argument } => {
            let sizes = sizes_of(call, argument)?;
            let is_wrong = sizes.iter().any(|size| *size != 1);
            is_wrong.then(|| (argument, format!("sizes {sizes:?}"), "one element".to_owned()))
        }
        Constraint::Dimension { argument, tensor } => {
            let rank = i64::try_from(ranks_of(call, tensor).next()?).ok()?;
            let found = ints_of(call, argument).find(|dim| !(-rank..rank).contains(dim))?;
            let expected = match rank {
                0 => "none, since the tensor has no dimensions".to_owned(),
                _ => format!("{} to {}", -rank, rank - 1),
            };
            Some((argument, format!("dimension {found}"), expected))
        }
        Constraint::HalfSpectrum { argument, dims, size } => {
            let (dim, length) = (ints_of(call, dims).last()?, ints_of(call, size).next()?);
            let found = size_of(call, argument, usize::try_from(dim).ok()?)?;
            let least = length / 2 + 1;
            let expected = || format!("{least} at least, for a result of {length}");
            (found < least).then(|| (argument, format!("size {found} of dimension {dim}"), expected()))
        }
        Constraint::NotEmptyUnless { argument, other } => match call.argument(other)? {
            Argument::Null => violation(not_empty(argument), call),
            _ => None,
        },
        Constraint::NotEmpty { argument, last } => {
            let sizes = sizes_of(call, argument)?;
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
        Constraint::OtherDimensions { argument, tensor, dim } => {
            let (tensor, at) = dimension_of(call, tensor, dim)?;
            let (found, rank) = (ranks_of(call, argument).next()?, tensor.sizes.len());
            let is_wrong = found > 0 && (found..rank).any(|other| other != at);
            is_wrong.then(|| (argument, format!("a tensor of rank {found}"), format!("rank {rank}")))
        }
        Constraint::ViewSizes { argument } => {
            let (open, others): (Vec<i64>, Vec<i64>) = ints_of(call, argument).partition(|size| *size == -1);
            let is_wrong =
                !open.is_empty() && others.iter().fold(1, |product: i64, size| product.wrapping_mul(*size)) == 0;
            let expected = "sizes beside -1 whose product is not 0 modulo 2^64".to_owned();
            is_wrong.then(|| (argument, format!("sizes {others:?} beside -1"), expected))
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
    use super::super::testing::{i, list, t, tensors};
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
                    | Constraint::OneElement { argument }
                    | Constraint::OneType { argument }
                    | Constraint::Window { argument }
                    | Constraint::ViewSizes { argument }
                    | Constraint::Rank { argument, .. } => [argument, argument],
                    Constraint::TypesWith { argument, other, .. }
                    | Constraint::SameType { argument, other, .. }
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
                    | Constraint::FrontDimension { argument, tensor: other } => [argument, other],
                };
                assert!(positions.iter().all(|position| *position < count), "{name}");
            }
        }
    }

    /// A call, and what it violates: the argument, and a part of what is expected; none if it violates nothing.
    type Case = (&'static str, Vec<Argument<'static>>, Option<(usize, &'static str)>);

    #[test]
    fn calls_violate_constraints() {
        let none = || Argument::Null;
        let quantized = |scales: &str, zero_points: &str, range: [i64; 2], out: &str| {
            let weight = t("uint8 3 4");
            vec![weight, t(scales), t(zero_points), i(range[0]), i(range[1]), t("int64 2"), t(out)]
        };
        let add = |a: &str, b: &str, max: i64| {
            let float = || Argument::Double(1.0);
            let (range, out) = ([i(0), i(0), i(255)], [i(0), i(0), i(max), t("uint8 2")]);
            let [zero, min, most] = range;
            let mut args = vec![t(a), float(), zero.clone(), min.clone(), most.clone(), t(b), float(), zero, min, most];
            args.push(float());
            args.extend(out);
            args
        };
        let parameters = |range: [i64; 2], scale: &str| {
            let (low, high) = (i(range[0]), i(range[1]));
            vec![t("float32 2"), low, high, Argument::Double(0.0), i(1), t(scale), t("int64 1")]
        };
        let backward = |bias: &[i64], mask: &'static [bool]| {
            let (one, zero) = (|| list(&[1, 1]), || list(&[0, 0]));
            let operands = [t("float32 1 4 3 3"), t("float32 1 4 3 3"), t("float32 4 4 1 1")];
            let window = [list(bias), one(), zero(), one(), Argument::Bool(false), zero(), i(1), Argument::Bools(mask)];
            operands.into_iter().chain(window).collect::<Vec<_>>()
        };
        let convolution = |weight: &str, bias: &str| {
            let (one, zero) = (|| list(&[1, 1]), || list(&[0, 0]));
            let window = [one(), zero(), one(), Argument::Bool(true), zero(), i(6)];
            [t("float32 1 6 2 2"), t(weight), t(bias)].into_iter().chain(window).collect::<Vec<_>>()
        };
        let no = Argument::Bool(false);
        let cases: Vec<Case> = vec![
            ("aten::_fft_c2r.out", vec![t("complex64 2 9"), list(&[1]), i(0), i(16)], None),
            ("aten::_fft_c2r.out", vec![t("complex64 2 8"), list(&[1]), i(0), i(16)], Some((0, "9 at least"))),
            ("aten::_log_softmax.out", vec![t("float32 0 8"), i(1), no.clone()], None),
            ("aten::_log_softmax.out", vec![t("float32 0 8"), i(-2), no.clone()], Some((0, "other than 0"))),
            ("aten::_softmax.out", vec![t("float32 2 3 4 5 @0231"), i(1), no.clone()], None),
            ("aten::_softmax.out", vec![t("float32 2 3 4 5"), i(-1), no.clone()], None),
            (
                "aten::_softmax.out",
                vec![t("float32 2 3 4 5 @0231"), i(2), no.clone()],
                Some((0, "a contiguous tensor")),
            ),
            ("aten::argmax.out", vec![t("float32 0 8"), i(1), no.clone()], None),
            ("aten::argmax.out", vec![t("float32 0 8"), none(), no.clone()], Some((0, "other than 0"))),
            ("aten::avg_pool2d.out", vec![t("float32 1 1 9 9"), list(&[4096, 4096]), list(&[1, 1])], None),
            ("aten::avg_pool2d.out", vec![t("float32 1 1 9 9"), list(&[4096, 4097])], Some((1, "at most 16777216"))),
            ("aten::bmm.out", vec![t("float32 5 2 8"), t("float32 5 8 2")], None),
            ("aten::bmm.out", vec![t("float32 5 2 8"), t("float32 5 2 8")], Some((1, "8, the size of dimension 2"))),
            ("aten::bmm.out", vec![t("float32 5 2 8"), t("float32 4 8 2")], Some((1, "5, the size of dimension 0"))),
            ("aten::convolution.out", convolution("float32 6 <=2 1 1", "float32 12"), None),
            ("aten::convolution.out", convolution("float32 6 <=2 1 1", "float32 6"), Some((2, "12 at least"))),
            ("aten::convolution_backward.out", backward(&[4], &[true, true, true]), None),
            ("aten::convolution_backward.out", backward(&[0], &[true, true, false]), None),
            ("aten::convolution_backward.out", backward(&[0], &[true, true, true]), Some((3, "[4], the channels"))),
            ("aten::div.out", vec![t("complex64 2"), t("complex64 2")], None),
            ("aten::div.out", vec![t("complex64 2"), t("complex64 1")], Some((1, "[2], the sizes"))),
            ("aten::div.out", vec![t("float32 2"), t("complex64 2")], Some((0, "complex64"))),
            ("aten::gather.out", vec![t("float32 2"), i(0), t("int64")], None),
            ("aten::gather.out", vec![t("float32 2 3"), i(-1), t("int64 0")], None),
            ("aten::gather.out", vec![t("float32 2 3"), i(0), t("int64 0")], Some((2, "rank 2"))),
            ("aten::index_put_", vec![t("float32 3 4"), tensors(&["int64 2"]), t("float32 2 4")], None),
            ("aten::index_put_", vec![t("float32 3 4"), tensors(&["int64 2"]), t("float32")], Some((2, "rank 1"))),
            (
                "aten::index_put.out",
                vec![t("float32 3"), tensors(&["bool 3 1"]), t("float32 1")],
                Some((1, "1 at most")),
            ),
            ("aten::native_group_norm.out", vec![t("float32 2 8 5"), t("float32")], Some((1, "rank 1"))),
            ("aten::native_group_norm.out", vec![t("float32 8"), none()], Some((0, "rank 2 at least"))),
            ("aten::scatter.value_out", vec![t("float32"), i(0), t("int64 1"), i(1)], None),
            ("aten::scatter.value_out", vec![t("float32 2"), i(0), t("int64"), i(1)], Some((2, "rank 1 at least"))),
            (
                "aten::split_with_sizes_copy.out",
                vec![t("float32 3"), list(&[1, 2]), i(0), tensors(&["int8 1", "int8 2"])],
                None,
            ),
            (
                "aten::split_with_sizes_copy.out",
                vec![t("float32 3"), list(&[1, 2]), i(0), tensors(&["int8 1", "float32 2"])],
                Some((3, "int8, the type of the first one")),
            ),
            ("aten::sum.IntList_out", vec![t("float32"), list(&[])], None),
            ("aten::sum.IntList_out", vec![t("float32"), list(&[-1])], Some((1, "none, since"))),
            ("aten::view_copy.out", vec![t("float32 2 3"), list(&[3, -1])], None),
            ("aten::view_copy.out", vec![t("float32 0"), list(&[0])], None),
            ("aten::view_copy.out", vec![t("float32 <=2 3"), list(&[0, -1])], Some((1, "not 0"))),
            (
                "executorch_prim::et_view.default",
                vec![t("float32 0"), list(&[1 << 33, -1, 1 << 31])],
                Some((1, "not 0 modulo 2^64")),
            ),
            ("quantized_decomposed::add.out", add("uint8 2", "uint8 2", 255), None),
            ("quantized_decomposed::add.out", add("uint8 2", "uint8 2", 256), Some((13, "0 to 255"))),
            ("quantized_decomposed::add.out", add("uint8 2", "uint8 1", 255), Some((5, "[2], the sizes"))),
            ("quantized_decomposed::choose_qparams.Tensor_out", parameters([0, 255], "float64 1 1"), None),
            ("quantized_decomposed::choose_qparams.Tensor_out", parameters([0, 0], "float64 1"), Some((2, "above 0"))),
            (
                "quantized_decomposed::choose_qparams.Tensor_out",
                parameters([0, 1], "float64 2"),
                Some((5, "one element")),
            ),
            (
                "quantized_decomposed::embedding_4bit.out",
                quantized("float32 3 2", "float32 3 2", [0, 1], "float32 2 8"),
                None,
            ),
            (
                "quantized_decomposed::embedding_4bit.out",
                quantized("float32 3 3", "float32 3 3", [0, 1], "float32 2 8"),
                Some((1, "a divisor of 8")),
            ),
            (
                "quantized_decomposed::embedding_4bit.out",
                quantized("float32 2 2", "float32 2 2", [0, 1], "float32 2 8"),
                Some((1, "3, the size of dimension 0")),
            ),
            (
                "quantized_decomposed::embedding_4bit.out",
                quantized("float32 3 2", "float32 3 1", [0, 1], "float32 2 8"),
                Some((2, "[3, 2], the sizes")),
            ),
            (
                "quantized_decomposed::embedding_4bit.out",
                quantized("float16 3 2", "float32 3 2", [0, 1], "float32 2 8"),
                Some((1, "float32, the type of `out`")),
            ),
            (
                "quantized_decomposed::embedding_4bit.out",
                quantized("float32 3 2", "float32 3 2", [1, 0], "float32 2 8"),
                Some((4, "at least 1")),
            ),
        ];
        for (name, args, expected) in cases {
            let signature = signature(name);
            let found = check(&constraints(name, &signature), &Call::new(&signature, &args));
            match (found, expected) {
                (Ok(()), None) => {}
                (Err(found), Some((argument, part))) => {
                    assert!(found.argument == argument && found.expected.contains(part), "{name}: {found:?}");
                }
                (found, expected) => panic!("{name}: {found:?}, expected {expected:?}"),
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
