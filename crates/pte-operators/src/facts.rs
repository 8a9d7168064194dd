//! Facts of operators in addition to their signatures, which the rows of a release have. They were measured with the
//! real runtime, or read from the source of its kernels. `release.rs` joins them with the generated tables.

use super::evaluation::Evaluation;
use super::inference::Rule;
use super::inference::constraints::Constraint;
use super::inference::numbers::Computation;
use super::inference::out_type::Conversion;
use super::kinds::{Kinds, ResultKinds};
use super::movement::Movement;
use super::temporary::Temporary;

/// Defines [`Facts`] from one row per fact with its default, and a setter of the same name for the rows of a release.
macro_rules! facts {
    ($($(#[$attribute:meta])* $name:ident: $type:ty = $default:expr,)*) => {
        /// Facts of an operator that its signature does not have. Arguments are positions in the signature.
        ///
        /// Constraints of single arguments are in `constraints`. The facts from `quantization` to `is_thorough` relate
        /// arguments to outs, to other arguments or to constants; their violations abort the process or are undefined
        /// behaviour.
        #[derive(Debug, Clone, Copy)]
        pub struct Facts {
            $($(#[$attribute])* pub $name: $type,)*
        }

        impl Facts {
            /// Facts of an unknown operator.
            pub const NONE: Facts = Facts { $($name: $default,)* };

            $(pub(super) const fn $name(mut self, $name: $type) -> Facts {
                self.$name = $name;
                self
            })*
        }
    };
}

facts! {
    /// Rule that infers the results; `None` if they must be declared.
    rule: Option<Rule> = None,
    /// Reason why the sizes of the results depend on data, and the rule for their upper bounds.
    data_dependent: Option<(&'static str, Rule)> = None,
    /// Element types to which the kernel converts its results.
    conversion: Conversion = Conversion::None,
    /// Constraints of the arguments, without those of `types.table`.
    constraints: &'static [Constraint] = &[],
    /// By argument, the accepted kinds, if they are fewer than those of the signature. The last entry applies to all
    /// further arguments.
    narrower: Option<&'static [Kinds]> = None,
    /// Kinds of a result of type `Scalar`.
    result_kinds: Option<ResultKinds> = None,
    /// Position of the argument whose memory the result has although the operator does not write it.
    aliased: Option<usize> = None,
    /// The operator does not read the content of its first argument: it replaces it, or takes its sizes only.
    /// `et_copy_index` replaces one index per call.
    overwrites_self: bool = false,
    /// The operator reads only the sizes of its tensors, not their content.
    reads_sizes: bool = false,
    /// Results that require gradients if an argument does.
    gradients: Gradients = Gradients::All,
    /// Function that computes a number from numbers; `None` if the result is a tensor, or depends on one.
    computation: Option<Computation> = None,
    /// Arguments of a quantization.
    quantization: Option<Quantization> = None,
    /// Positions of start, end, step and out of a range.
    range: Option<[Option<usize>; 4]> = None,
    /// The operator copies tensor 0 to its out, argument 3, in the dim_order of argument 2, by default in that of
    /// tensor 0. Argument 1 must be false.
    copies_dim_order: bool = false,
    /// Positions of arguments for which the kernel accepts any value, or other values than torch.
    ignored: &'static [usize] = &[],
    /// Positions of indices, which the kernel rejects or does not check if they are out of range, and of the tensor
    /// from which they select.
    selection: Option<([usize; 2], Selected)> = None,
    /// The kernel rejects indices of `selection` that are out of range, whatever they are.
    checks_indices: bool = false,
    /// Function that computes the content of the results from constants; `None` if it is not the same in all builds.
    evaluation: Option<Evaluation> = None,
    /// The result as elements of the first argument, if the operator only moves them.
    movement: Option<Movement> = None,
    /// Positions of dividend and divisor of a quotient of integers, which is computed with an instruction of the
    /// processor: the least integer divided by -1 ends the process.
    quotient: Option<[usize; 2]> = None,
    /// Position of an argument for whose NaNs the kernel aborts.
    numbers: Option<usize> = None,
    /// Position of the argument that determines which outs are written, so that a call may omit outs.
    out_mask: Option<usize> = None,
    /// The kernel does not compare the sizes of its outs, and writes beyond those with too few elements.
    is_unsized: bool = false,
    /// The kernel aborts, where other kernels fail, if the outs are too small for results of the maximum sizes of the
    /// arguments.
    aborts: bool = false,
    /// The kernel aborts if the arguments do not match each other or the outs, even if there is nothing to compute;
    /// with `aborts`, also in the cases of that fact.
    is_thorough: bool = false,
    /// Name of the results if it is not that of the operator: the name of torch's layer.
    short_name: Option<&'static str> = None,
    /// Names of constants by the names of arguments, as torch's layers call them.
    constant_names: &'static [(&'static str, &'static str)] = &[],
    /// Transposes its first argument.
    transposes: bool = false,
    /// Functions of torch, without the namespace, that are exported as the operator under another name.
    functions: &'static [&'static str] = &[],
    /// Its part in the loops that the exporter emits for `torch.map` and `scan`.
    loop_part: Option<LoopPart> = None,
    /// Maps a tensor of floating point numbers to one like it: a call of random branches and loops.
    maps_floats: bool = false,
    /// Element types of random tensors.
    samples: Samples = Samples::Real,
    /// The kernel takes tensors, also as outs, that are all in the default order of dimensions, or all channels last of
    /// rank 4 or 5.
    one_order: bool = false,
    /// The kernel takes contiguous tensors only.
    contiguous_only: bool = false,
    /// The kernel leaves the content of its outs, or a part of it, as it was, or writes random numbers.
    is_undetermined: bool = false,
    /// Position of the tensor on a device other than the CPU, of a copy from or to it.
    on_device: Option<usize> = None,
    /// Bytes that the kernel takes from the temporary allocator; `None` for those of its library
    /// (`without_temporary` of a release).
    temporary: Option<Temporary> = None,
    /// Positions of numbers of repetitions, and of an optional Int that is their sum.
    repetitions: Option<[usize; 2]> = None,
    /// How many products it adds up: the multiply-accumulate operations (MACs) by which work is measured.
    products: Option<Products> = None,
    /// CMake target that registers its kernel, of an operator of the default runtime that is not registered by the
    /// target of its namespace.
    target: Option<&'static str> = None,
}

/// Number of products that an operator adds up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Products {
    /// For each element of the result, as many as the last dimension of this argument has.
    Inner(usize),
    /// A convolution: for each element of the result, or of the input if it is transposed, as many as the filter has
    /// for a channel of it.
    Filter {
        /// Position of the input.
        input: usize,
        /// Position of the filter.
        filter: usize,
        /// Position of the Bool that is true for a transposed convolution.
        transposed: usize,
    },
}

/// Results of an operator that require gradients in torch if an argument does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Gradients {
    /// All.
    All,
    /// The first one: the others are statistics.
    First,
    /// None.
    None,
}

/// Part of a tensor that has a separate scale and zero point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Channels {
    /// The whole tensor.
    One,
    /// An index of a dimension, which the argument at this position states.
    Axis(usize),
    /// A row: the elements along the last dimension (a token).
    Rows,
}

/// Arguments of a quantizing or dequantizing operator: input, scale, zero point, axis if it has one, quant_min,
/// quant_max, dtype, out_dtype if it dequantizes, out.
#[derive(Debug, Clone, Copy)]
pub struct Quantization {
    /// `true` if it quantizes, `false` if it dequantizes.
    pub quantizes: bool,
    /// Part that has a separate scale.
    pub channels: Channels,
    /// `true` if scale and zero point are tensors.
    pub tensors: bool,
}

impl Quantization {
    /// Returns the position of quant_min; quant_max and dtype follow.
    pub fn range(&self) -> usize {
        match self.channels {
            Channels::One | Channels::Rows => 3,
            Channels::Axis(axis) => axis + 1,
        }
    }
}

/// Elements that indices select.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Selected {
    /// Rows: indices of the first dimension.
    Rows,
    /// Elements of planes: the last two dimensions.
    Elements,
    /// Indices of the dimension that the argument at this position is.
    Along(usize),
    /// Elements of a list of optional tensors: each item has the indices of one dimension, a mask selects of all of
    /// its own.
    Items {
        /// Negative indices count from the end.
        from_end: bool,
    },
}

/// Part of a loop over the slices of a tensor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LoopPart {
    /// Returns the number of slices.
    Count,
    /// Copies an initial value, or a value for the next iteration.
    Copy,
    /// Selects a slice.
    Slice,
    /// Stores a result at its index.
    Store,
}

/// Element types of the random tensors of an operator: types that its kernel supports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Samples {
    /// Real numbers and truth values.
    Real,
    /// Numbers without truth values.
    Numbers,
    /// Floating point numbers.
    Floating,
    /// float32 and float64.
    FloatOrDouble,
    /// float32.
    Float,
    /// Integers and truth values.
    Integral,
    /// int32 and int64.
    Positions,
    /// uint8.
    Byte,
    /// Complex numbers.
    Complex,
}
