//! What the kernels of ExecuTorch 1.5.1 demand of their arguments beyond their signatures: violations abort the process or are
//! undefined behaviour. Measured with the real runtime; the rules that use the tables are `check`'s.

/// Operators that the machine makes divide by an argument, which is an Int or a list of them.
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

/// Operators that abort at other element types than these, and the argument.
const TYPES: &[(&str, usize, &[i8])] = &[
    ("aten::embedding.out", 1, &[3, 4]),
    ("aten::div.out", 2, &[5, 6, 7, 8, 9, 10, 11, 15]),
    ("aten::cumsum.out", 3, &[0, 1, 2, 3, 4, 5, 6, 7, 11, 15]),
];

/// Element types of quantized tensors and of bits: they promote to nothing, and kernels that ask what they promote to abort.
pub const UNPROMOTED: &[i8] = &[12, 13, 14, 16, 17, 18, 19, 20, 21, 22];

/// Element types that promote to themselves alone, and the operators that promote their two operands: from which argument on.
pub const LONERS: &[i8] = &[23, 24, 25, 26, 27, 28, 29];
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

/// What operators of `aten` are called that move elements without looking at them.
const MOVES: &[&str] = &["copy", "clone", "cat", "expand", "permute", "view", "slice", "scatter", "where", "empty"];

/// The operators of quantization that are known here, and where their arguments are.
const QUANTIZATIONS: &[(&str, Quantization)] = &[
    ("quantized_decomposed::quantize_per_tensor.out", Quantization::new(true, None, false, 3)),
    ("quantized_decomposed::quantize_per_tensor.Tensor_out", Quantization::new(true, None, true, 3)),
    ("quantized_decomposed::quantize_per_channel.out", Quantization::new(true, Some(3), true, 4)),
    ("quantized_decomposed::dequantize_per_tensor.out", Quantization::new(false, None, false, 3)),
    ("quantized_decomposed::dequantize_per_tensor.Tensor_out", Quantization::new(false, None, true, 3)),
    ("quantized_decomposed::dequantize_per_channel.out", Quantization::new(false, Some(3), true, 4)),
];

/// How an operator of quantization takes its arguments: input, scale, zero point, axis if it has one, smallest and
/// largest value, type, type of the result if it dequantizes, out.
#[derive(Debug)]
pub struct Quantization {
    /// Whether numbers become small integers, and not the other way.
    pub quantizes: bool,
    /// Position of the axis, if it has one.
    pub axis: Option<usize>,
    /// Whether scale and zero point are tensors.
    pub tensors: bool,
    /// The smallest value; the largest and the type follow.
    pub range: usize,
}

impl Quantization {
    const fn new(quantizes: bool, axis: Option<usize>, tensors: bool, range: usize) -> Quantization {
        Quantization { quantizes, axis, tensors, range }
    }
}

/// The rows of the tables for one operator.
#[derive(Debug)]
pub struct Kernel {
    /// The arguments that must not be 0.
    pub divisors: Vec<usize>,
    /// The argument that is a dimension of the first one.
    pub dimension: Option<usize>,
    /// Element types that arguments must have.
    pub types: Vec<(usize, &'static [i8])>,
    /// The first of two operands that are promoted.
    pub promoted: Option<usize>,
    /// Whether it asks what its tensors promote to.
    pub promotes: bool,
    /// How it takes the arguments of a quantization.
    pub quantization: Option<&'static Quantization>,
    /// Where a range has its start, end, step and out.
    pub range: Option<[Option<usize>; 4]>,
}

impl Kernel {
    /// The facts about the operator called `name`.
    pub fn new(name: &str) -> Kernel {
        fn rows<T: Copy>(table: &'static [(&'static str, T)], name: &str) -> impl Iterator<Item = T> {
            table.iter().filter(move |(other, _)| *other == name).map(|(_, row)| *row)
        }
        let moves = |name: &str| MOVES.iter().any(|part| name.contains(part));
        Kernel {
            divisors: rows(DIVISORS, name).collect(),
            dimension: (name == "aten::sym_size.int").then_some(1),
            types: TYPES.iter().filter(|(other, ..)| *other == name).map(|(_, at, types)| (*at, *types)).collect(),
            promoted: rows(PROMOTING, name).next(),
            promotes: name.strip_prefix("aten::").is_some_and(|name| !moves(name)),
            range: match name {
                "aten::arange.out" => Some([None, Some(0), None, Some(1)]),
                "aten::arange.start_out" => Some([0, 1, 2, 3].map(Some)),
                _ => None,
            },
            quantization: QUANTIZATIONS.iter().find(|(other, _)| *other == name).map(|(_, known)| known),
        }
    }
}
