//! Constraints of the kernels of ExecuTorch 1.5.1 on their arguments, beyond their signatures: violations abort the process or are
//! undefined behaviour. Measured with the real runtime.

/// Operators that divide by an argument (an Int or a list of Ints) without a check, and the argument.
const DIVISORS: &[(&str, usize)] = &[
    ("executorch_prim::floordiv.Scalar", 1),
    ("executorch_prim::floordiv.int", 1),
    ("executorch_prim::mod.Scalar", 1),
    ("executorch_prim::mod.int", 1),
    ("aten::convolution.out", 8),
    ("aten::convolution_backward.out", 10),
    ("aten::avg_pool2d.out", 2),
    ("aten::max_pool2d_with_indices.out", 2),
    ("aten::max_pool2d_with_indices_backward.grad_input", 4),
];

/// Operators that copy a tensor to an out of a stated order of dimensions.
const DIM_ORDER_COPIES: &[&str] = &["dim_order_ops::_clone_dim_order.out", "dim_order_ops::_to_dim_order_copy.out"];

/// Operators that abort unless an argument has one of these element types.
const TYPES: &[(&str, usize, &[i8])] = &[
    ("aten::embedding.out", 1, &[3, 4]),
    ("aten::div.out", 2, &[5, 6, 7, 8, 9, 10, 11, 15]),
    ("aten::cumsum.out", 3, &[0, 1, 2, 3, 4, 5, 6, 7, 11, 15]),
];

/// Element types of quantized tensors and of bits, for which kernels with type promotion abort.
pub const UNPROMOTED: &[i8] = &[12, 13, 14, 16, 17, 18, 19, 20, 21, 22];

/// Element types that are promoted only with themselves.
pub const PROMOTED_TO_SELF: &[i8] = &[23, 24, 25, 26, 27, 28, 29];

/// Operators that promote the types of two operands, and the position of the first operand.
const PROMOTING: &[(&str, usize)] = &[
    ("aten::add.out", 0),
    ("aten::bitwise_and.Tensor_out", 0),
    ("aten::bitwise_left_shift.Tensor_out", 0),
    ("aten::bitwise_or.Tensor_out", 0),
    ("aten::bitwise_right_shift.Tensor_out", 0),
    ("aten::bitwise_xor.Tensor_out", 0),
    ("aten::div.out_mode", 0),
    ("aten::eq.Tensor_out", 0),
    ("aten::floor_divide.out", 0),
    ("aten::fmod.Tensor_out", 0),
    ("aten::ge.Tensor_out", 0),
    ("aten::gt.Tensor_out", 0),
    ("aten::le.Tensor_out", 0),
    ("aten::lt.Tensor_out", 0),
    ("aten::maximum.out", 0),
    ("aten::minimum.out", 0),
    ("aten::mul.out", 0),
    ("aten::ne.Tensor_out", 0),
    ("aten::pow.Tensor_Tensor_out", 0),
    ("aten::remainder.Tensor_out", 0),
    ("aten::sub.out", 0),
    ("aten::where.self_out", 1),
];

/// Operators whose kernels take any value of some arguments, or other ones than torch.
const IGNORED: &[(&str, &[usize])] = &[
    ("aten::avg_pool2d.out", &[0, 2]),
    ("aten::convolution.out", &[7]),
    ("aten::convolution_backward.out", &[8]),
    ("aten::empty.out", &[1]),
    ("aten::max_pool2d_with_indices.out", &[0, 2, 4]),
    ("aten::replication_pad1d.out", &[0]),
    ("aten::replication_pad2d.out", &[0]),
    ("aten::replication_pad3d.out", &[0]),
    ("dim_order_ops::_empty_dim_order.out", &[1]),
    ("quantized_decomposed::dequantize_per_channel.out", &[4, 5]),
    ("quantized_decomposed::dequantize_per_token.out", &[3, 4]),
    ("quantized_decomposed::embedding_byte.dtype_out", &[2]),
    ("quantized_decomposed::embedding_byte.out", &[2]),
];

/// Operators whose kernels write to their outs without comparing the sizes.
const UNSIZED: &[&str] = &[
    "aten::view_as_real_copy.out",
    "quantized_decomposed::choose_qparams.Tensor_out",
    "quantized_decomposed::embedding_2bit.dtype_out",
    "quantized_decomposed::embedding_2bit.out",
    "quantized_decomposed::embedding_4bit.dtype_out",
    "quantized_decomposed::embedding_4bit.out",
    "quantized_decomposed::embedding_byte.dtype_out",
    "quantized_decomposed::embedding_byte.out",
];

/// Parts of the names of operators of `aten` that copy elements without type promotion.
const COPIES: &[&str] = &["copy", "clone", "cat", "expand", "permute", "view", "slice", "scatter", "where", "empty"];

/// Quantizing and dequantizing operators, and the positions of their arguments.
const QUANTIZATIONS: &[(&str, Quantization)] = &[
    ("quantized_decomposed::quantize_per_tensor.out", Quantization::new(true, None, false, 3)),
    ("quantized_decomposed::quantize_per_tensor.Tensor_out", Quantization::new(true, None, true, 3)),
    ("quantized_decomposed::quantize_per_channel.out", Quantization::new(true, Some(3), true, 4)),
    ("quantized_decomposed::dequantize_per_tensor.out", Quantization::new(false, None, false, 3)),
    ("quantized_decomposed::dequantize_per_tensor.Tensor_out", Quantization::new(false, None, true, 3)),
    ("quantized_decomposed::dequantize_per_channel.out", Quantization::new(false, Some(3), true, 4)),
];

/// Arguments of a quantizing or dequantizing operator: input, scale, zero point, axis if it has one, quant_min, quant_max, dtype,
/// out_dtype if it dequantizes, out.
#[derive(Debug)]
pub struct Quantization {
    /// `true` if it quantizes, `false` if it dequantizes.
    pub quantizes: bool,
    /// Position of the axis, if it has one.
    pub axis: Option<usize>,
    /// `true` if scale and zero point are tensors.
    pub tensors: bool,
    /// Position of quant_min; quant_max and dtype follow.
    pub range: usize,
}

impl Quantization {
    const fn new(quantizes: bool, axis: Option<usize>, tensors: bool, range: usize) -> Quantization {
        Quantization { quantizes, axis, tensors, range }
    }
}

/// Operators that write only some of their outs, and the argument that lists for each out whether it is written.
const OUT_MASKS: &[(&str, usize)] = &[("aten::convolution_backward.out", 10)];

/// Constraints of one operator.
#[derive(Debug)]
pub struct KernelConstraints {
    /// Positions of arguments that must not be 0.
    pub divisors: Vec<usize>,
    /// Position of the argument that is a dimension of argument 0.
    pub dimension: Option<usize>,
    /// Positions of arguments, and the element types they must have.
    pub types: Vec<(usize, &'static [i8])>,
    /// Position of the first of two operands that are promoted.
    pub promoted: Option<usize>,
    /// `true` if it promotes the types of its tensors.
    pub promotes: bool,
    /// Arguments of a quantization.
    pub quantization: Option<&'static Quantization>,
    /// Positions of start, end, step and out of a range.
    pub range: Option<[Option<usize>; 4]>,
    /// Copies tensor 0 to its out, argument 3, in the dim_order of argument 2, by default in that of tensor 0; argument 1 is false.
    pub copies_dim_order: bool,
    /// Positions of arguments that the kernel does not check as torch does.
    pub ignored: &'static [usize],
    /// Position of the argument that lists for each out whether it is written.
    pub out_mask: Option<usize>,
    /// The outs have any sizes, with enough elements for the results: the kernel writes beyond smaller ones.
    pub is_unsized: bool,
    /// Replaces the content of argument 0 without reading it.
    pub overwrites_self: bool,
}

impl KernelConstraints {
    /// Returns the constraints of an operator.
    pub fn new(name: &str) -> KernelConstraints {
        fn rows<T: Copy>(table: &'static [(&'static str, T)], name: &str) -> impl Iterator<Item = T> {
            table.iter().filter(move |(other, _)| *other == name).map(|(_, row)| *row)
        }
        let copies = |name: &str| COPIES.iter().any(|part| name.contains(part));
        KernelConstraints {
            divisors: rows(DIVISORS, name).collect(),
            dimension: (name == "aten::sym_size.int").then_some(1),
            copies_dim_order: DIM_ORDER_COPIES.contains(&name),
            overwrites_self: super::overwrites_first_argument(name),
            out_mask: rows(OUT_MASKS, name).next(),
            is_unsized: UNSIZED.contains(&name),
            ignored: rows(IGNORED, name).next().unwrap_or_default(),
            types: TYPES.iter().filter(|(other, ..)| *other == name).map(|(_, at, types)| (*at, *types)).collect(),
            promoted: rows(PROMOTING, name).next(),
            promotes: name.strip_prefix("aten::").is_some_and(|name| !copies(name)),
            range: match name {
                "aten::arange.out" => Some([None, Some(0), None, Some(1)]),
                "aten::arange.start_out" => Some([0, 1, 2, 3].map(Some)),
                _ => None,
            },
            quantization: QUANTIZATIONS.iter().find(|(other, _)| *other == name).map(|(_, known)| known),
        }
    }
}
