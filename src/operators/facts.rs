//! What is known of an operator beyond its signature: what the rows of a release state. Measured with the real runtime, or read off
//! its kernels; [`super::release`] joins them with the generated tables.

use super::inference::Rule;
use super::inference::constraints::Constraint;
use super::inference::out_type::Conversion;
use super::kinds::{Kinds, ResultKinds};

/// Comparison of two numbers.
pub type Comparison = fn(f64, f64) -> bool;

/// Defines [`Facts`]: a row per fact with its value for an operator of which it is not stated, and a setter of the same name for the rows
/// of a release.
macro_rules! facts {
    ($($(#[$attribute:meta])* $name:ident: $type:ty = $default:expr,)*) => {
        /// Facts of an operator that its signature does not have. Arguments are positions in the signature.
        ///
        /// Constraints of single arguments are in `constraints`; `quantization` to `is_thorough` relate arguments to outs, to other
        /// arguments or to constants: violations abort the process or are undefined behaviour.
        #[derive(Debug, Clone, Copy)]
        pub struct Facts {
            /// Name of the operator with its overload; empty if nothing is known of it.
            pub name: &'static str,
            $($(#[$attribute])* pub $name: $type,)*
        }

        impl Facts {
            /// Facts of an operator of which nothing is known.
            pub const NONE: Facts = Facts { name: "", $($name: $default,)* };

            $(pub(super) const fn $name(mut self, $name: $type) -> Facts {
                self.$name = $name;
                self
            })*
        }
    };
}

facts! {
    /// Infers the results; `None` if they are declared.
    rule: Option<Rule> = None,
    /// Why the sizes of the results depend on data at each call, and the rule of the largest ones.
    data_dependent: Option<(&'static str, Rule)> = None,
    /// Element types to which the kernel converts its results.
    conversion: Conversion = Conversion::None,
    /// Constraints of the arguments, without those of `types.table`.
    constraints: &'static [Constraint] = &[],
    /// Kinds that it accepts by argument, if they are fewer than those of the signature; the last entry applies to all further arguments.
    narrower: Option<&'static [Kinds]> = None,
    /// Kinds of a result of type `Scalar`.
    result_kinds: Option<ResultKinds> = None,
    /// Position of the argument whose memory the result is, though the operator does not write it.
    aliased: Option<usize> = None,
    /// Replaces the content of its first argument without reading it: `et_copy_index` does so index by index.
    overwrites_self: bool = false,
    /// Reads the sizes of its tensors and not their content.
    reads_sizes: bool = false,
    /// Results that require gradients if an argument does.
    gradients: Gradients = Gradients::All,
    /// The result is that of a comparison of two numbers.
    comparison: Option<Comparison> = None,
    /// Arguments of a quantization.
    quantization: Option<Quantization> = None,
    /// Positions of start, end, step and out of a range.
    range: Option<[Option<usize>; 4]> = None,
    /// Copies tensor 0 to its out, argument 3, in the dim_order of argument 2, by default in that of tensor 0; argument 1 is false.
    copies_dim_order: bool = false,
    /// Positions of arguments of which the kernel takes any value, or other ones than torch.
    ignored: &'static [usize] = &[],
    /// Positions of indices that the kernel does not check, and of the tensor from which they select.
    selection: Option<([usize; 2], Selected)> = None,
    /// Position of an argument without NaN: the kernel aborts.
    numbers: Option<usize> = None,
    /// Position of the argument that lists for each out whether it is written: a call may leave outs away.
    out_mask: Option<usize> = None,
    /// The kernel does not compare the sizes of its outs, and writes beyond those with too few elements.
    is_unsized: bool = false,
    /// The kernel aborts, where others fail, if the outs are too small for results of the greatest sizes of the arguments.
    aborts: bool = false,
    /// The kernel aborts if the arguments do not fit each other or the outs, also if there is nothing to compute; those that `aborts` says
    /// do, too.
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
    #[cfg_attr(not(feature = "cli"), allow(dead_code, reason = "`generate` reads it"))]
    maps_floats: bool = false,
    /// Random arguments that depend on each other.
    family: Family = Family::Independent,
    /// Element types of random tensors.
    samples: Samples = Samples::Real,
    /// The kernel takes contiguous tensors only.
    contiguous_only: bool = false,
    /// Copies between devices: a runtime without any rejects it.
    copies_between_devices: bool = false,
}

impl Facts {
    /// Sets what random calls need.
    pub(super) const fn random(self, family: Family, samples: Samples) -> Facts {
        self.family(family).samples(samples)
    }
}

/// Returns a row of a release: an operator with its rule.
pub(super) const fn operator(name: &'static str, rule: Rule) -> Facts {
    Facts { name, ..Facts::NONE }.rule(Some(rule))
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

/// What has a scale and a zero point of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Channels {
    /// The whole tensor.
    One,
    /// An index of a dimension, which the argument at this position states.
    Axis(usize),
    /// A row: the elements along the last dimension (a token).
    Rows,
}

/// Arguments of a quantizing or dequantizing operator: input, scale, zero point, axis if it has one, quant_min, quant_max, dtype,
/// out_dtype if it dequantizes, out.
#[derive(Debug, Clone, Copy)]
pub struct Quantization {
    /// `true` if it quantizes, `false` if it dequantizes.
    pub quantizes: bool,
    /// What has a scale of its own.
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

/// What indices select.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Selected {
    /// Rows: indices of the first dimension.
    Rows,
    /// Elements of planes: the last two dimensions.
    Elements,
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

/// Operators whose random arguments are chosen together, since they depend on each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Family {
    /// Arguments do not depend on each other.
    Independent,
    AdaptivePool,
    Addmm,
    AsStrided,
    AtMostRankTwo,
    BatchNorm,
    Bmm,
    Cat,
    Cdist,
    Convolution,
    ConvolutionBackward,
    Copy,
    CopyIndex,
    DimOrderCopy,
    Embedding,
    EmptyInOrder,
    Expand,
    Fft,
    Fill,
    Gather,
    Glu,
    GridSampler,
    GroupNorm,
    Index,
    IndexSelect,
    LayerNorm,
    Linear,
    Masked,
    Matrix,
    MixedLinear,
    MixedMm,
    Mm,
    Narrow,
    /// Padding of this number of last dimensions.
    Pad(usize),
    PadAny,
    Permute,
    PixelShuffle,
    Pool,
    PoolBackward,
    Quantized,
    QuantizedAdd,
    /// This number of elements in a byte.
    QuantizedEmbedding(i64),
    Range,
    RankTwo,
    Repeat,
    RepeatInterleave,
    Roll,
    Select,
    Slice,
    SplitWithSizes,
    SymSize,
    Topk,
    Unfold,
    Unsqueeze,
    Upsample,
    View,
    WithDimensions,
}
