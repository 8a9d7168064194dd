//! Constraints of the kernels of ExecuTorch 1.5.1 that relate arguments to outs, to other arguments or to constants: violations abort the
//! process or are undefined behaviour. Those of single arguments are in [`super::inference::constraints`]. Measured with the real runtime.

/// Operators that copy a tensor to an out of a stated order of dimensions.
const DIM_ORDER_COPIES: &[&str] = &["dim_order_ops::_clone_dim_order.out", "dim_order_ops::_to_dim_order_copy.out"];

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
const UNSIZED: &[&str] = &["aten::view_as_real_copy.out", "quantized_decomposed::choose_qparams.Tensor_out"];

/// Operators that abort, where others fail, if their outs are too small for results of the greatest sizes of their arguments.
const ABORTING: &[&str] = &[
    "quantized_decomposed::choose_qparams_per_token_asymmetric.out",
    "quantized_decomposed::embedding_2bit.dtype_out",
    "quantized_decomposed::embedding_2bit.out",
    "quantized_decomposed::embedding_4bit.dtype_out",
    "quantized_decomposed::embedding_4bit.out",
    "quantized_decomposed::embedding_byte.dtype_out",
    "quantized_decomposed::embedding_byte.out",
];

/// Operators that abort if their arguments do not fit each other or their outs, also if there is nothing to compute; [`ABORTING`] ones do, too.
const THOROUGH: &[&str] = &[
    "aten::_fft_c2r.out",
    "aten::native_group_norm.out",
    "aten::scatter.value_out",
    "aten::split_with_sizes_copy.out",
    "aten::squeeze_copy.dims_out",
    "aten::unbind_copy.int_out",
    "aten::unfold_copy.out",
    "aten::view_copy.out",
    "quantized_decomposed::add.out",
];

/// Quantizing and dequantizing operators, and the positions of their arguments.
const QUANTIZATIONS: &[(&str, Quantization)] = &[
    ("quantized_decomposed::quantize_per_tensor.out", Quantization::new(true, Channels::One, false, 3)),
    ("quantized_decomposed::quantize_per_tensor.Tensor_out", Quantization::new(true, Channels::One, true, 3)),
    ("quantized_decomposed::quantize_per_channel.out", Quantization::new(true, Channels::Axis(3), true, 4)),
    ("quantized_decomposed::quantize_per_token.out", Quantization::new(true, Channels::Rows, true, 3)),
    ("quantized_decomposed::dequantize_per_tensor.out", Quantization::new(false, Channels::One, false, 3)),
    ("quantized_decomposed::dequantize_per_tensor.Tensor_out", Quantization::new(false, Channels::One, true, 3)),
    ("quantized_decomposed::dequantize_per_channel.out", Quantization::new(false, Channels::Axis(3), true, 4)),
    ("quantized_decomposed::dequantize_per_token.out", Quantization::new(false, Channels::Rows, true, 3)),
];

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
#[derive(Debug)]
pub struct Quantization {
    /// `true` if it quantizes, `false` if it dequantizes.
    pub quantizes: bool,
    /// What has a scale of its own.
    pub channels: Channels,
    /// `true` if scale and zero point are tensors.
    pub tensors: bool,
    /// Position of quant_min; quant_max and dtype follow.
    pub range: usize,
}

impl Quantization {
    const fn new(quantizes: bool, channels: Channels, tensors: bool, range: usize) -> Quantization {
        Quantization { quantizes, channels, tensors, range }
    }
}

/// Operators that replace the content of their first argument, which needs none before: `et_copy_index` does so index by index.
pub(super) const OVERWRITING: &[&str] = &["aten::copy.out", "aten::copy_", "executorch_prim::et_copy_index.tensor"];

/// Returns true for an operator that replaces the content of its first argument without reading it.
pub fn overwrites_self(name: &str) -> bool {
    OVERWRITING.contains(&name)
}

/// What indices select.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Selected {
    /// Rows: indices of the first dimension.
    Rows,
    /// Elements of planes: the last two dimensions.
    Elements,
}

/// Operators that do not check their indices: positions of the indices, and of the tensor from which they select.
const SELECTIONS: &[(&str, ([usize; 2], Selected))] = &[
    ("aten::max_pool2d_with_indices_backward.grad_input", ([7, 1], Selected::Elements)),
    ("quantized_decomposed::embedding_2bit.dtype_out", ([5, 0], Selected::Rows)),
    ("quantized_decomposed::embedding_2bit.out", ([5, 0], Selected::Rows)),
    ("quantized_decomposed::embedding_4bit.dtype_out", ([5, 0], Selected::Rows)),
    ("quantized_decomposed::embedding_4bit.out", ([5, 0], Selected::Rows)),
    ("quantized_decomposed::embedding_byte.dtype_out", ([5, 0], Selected::Rows)),
    ("quantized_decomposed::embedding_byte.out", ([5, 0], Selected::Rows)),
];

/// Operators that abort if an element of an argument is NaN: positions of the arguments.
const NUMBERS: &[(&str, usize)] = &[
    ("quantized_decomposed::choose_qparams.Tensor_out", 0),
    ("quantized_decomposed::choose_qparams_per_token_asymmetric.out", 0),
];

/// Operators that write only some of their outs, and the argument that lists for each out whether it is written.
pub(super) const OUT_MASKS: &[(&str, usize)] = &[("aten::convolution_backward.out", 10)];

/// Constraints of one operator.
#[derive(Debug)]
pub struct KernelConstraints {
    /// Arguments of a quantization.
    pub quantization: Option<&'static Quantization>,
    /// Positions of start, end, step and out of a range.
    pub range: Option<[Option<usize>; 4]>,
    /// Copies tensor 0 to its out, argument 3, in the dim_order of argument 2, by default in that of tensor 0; argument 1 is false.
    pub copies_dim_order: bool,
    /// Positions of arguments that the kernel does not check as torch does.
    pub ignored: &'static [usize],
    /// Positions of constant indices, and of the tensor from which they select.
    pub selection: Option<([usize; 2], Selected)>,
    /// Position of a constant that is not NaN.
    pub numbers: Option<usize>,
    /// Position of the argument that lists for each out whether it is written.
    pub out_mask: Option<usize>,
    /// The outs have any sizes, with enough elements for the results: the kernel writes beyond smaller ones.
    pub is_unsized: bool,
    /// The kernel aborts if the outs are too small for the greatest sizes of the results.
    pub aborts: bool,
    /// The kernel compares sizes also if there is nothing to compute.
    pub is_thorough: bool,
    /// Replaces the content of argument 0 without reading it.
    pub overwrites_self: bool,
}

impl KernelConstraints {
    /// Returns the constraints of an operator.
    pub fn new(name: &str) -> KernelConstraints {
        fn rows<T: Copy>(table: &'static [(&'static str, T)], name: &str) -> impl Iterator<Item = T> {
            table.iter().filter(move |(other, _)| *other == name).map(|(_, row)| *row)
        }
        KernelConstraints {
            copies_dim_order: DIM_ORDER_COPIES.contains(&name),
            overwrites_self: overwrites_self(name),
            selection: rows(SELECTIONS, name).next(),
            numbers: rows(NUMBERS, name).next(),
            out_mask: rows(OUT_MASKS, name).next(),
            is_unsized: UNSIZED.contains(&name),
            aborts: ABORTING.contains(&name),
            is_thorough: THOROUGH.contains(&name) || ABORTING.contains(&name),
            ignored: rows(IGNORED, name).next().unwrap_or_default(),
            range: match name {
                "aten::arange.out" => Some([None, Some(0), None, Some(1)]),
                "aten::arange.start_out" => Some([0, 1, 2, 3].map(Some)),
                _ => None,
            },
            quantization: QUANTIZATIONS.iter().find(|(other, _)| *other == name).map(|(_, known)| known),
        }
    }
}
