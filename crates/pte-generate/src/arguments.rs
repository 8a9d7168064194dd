//! Random arguments of a call, of which the rule of the operator accepts most: sizes that fit each other, dimensions
//! within the rank, positions within sizes. It does not use the rule.
//!
//! An operator of a [`Family`] has a function that chooses the arguments that depend on each other; the others follow from their name
//! and type in the schema.

use super::operand::{Content, Operand, TensorOperand};
use super::random::Random;
use pte_model::data::number::NumericValue;
use pte_model::format::{DimOrder, ScalarType};
use pte_model::program::TensorShapeDynamism;
use pte_operators::facts::{Channels, Family, Samples};
use pte_operators::kinds::Kinds;
use pte_operators::{Arg, Base, Role, Signature};

const BYTE: ScalarType = ScalarType(0);
const CHAR: ScalarType = ScalarType(1);
const INT: ScalarType = ScalarType(3);
const DOUBLE: ScalarType = ScalarType(7);
const COMPLEX: ScalarType = ScalarType(9);

/// Sizes of dimensions.
const SIZES: &[i32] = &[1, 2, 2, 3, 3, 4, 5, 8];

/// Bytes of the largest constant.
const MAX_CONSTANT: u64 = 1 << 14;

/// Element types of most tensors, with weights.
const REAL: &[(usize, ScalarType)] = &[
    (70, ScalarType::FLOAT),
    (6, ScalarType::DOUBLE),
    (6, ScalarType::LONG),
    (4, ScalarType::INT),
    (3, ScalarType::HALF),
    (3, ScalarType::BFLOAT16),
    (2, ScalarType::BOOL),
    (2, ScalarType::BYTE),
    (2, ScalarType::CHAR),
    (2, ScalarType::SHORT),
];

/// Element types of operators that compute with floating point numbers only.
const FLOATING: &[(usize, ScalarType)] =
    &[(80, ScalarType::FLOAT), (10, ScalarType::DOUBLE), (5, ScalarType::HALF), (5, ScalarType::BFLOAT16)];

/// Element types of operators that compute with bits.
const INTEGRAL: &[(usize, ScalarType)] = &[
    (4, ScalarType::LONG),
    (4, ScalarType::INT),
    (1, ScalarType::BYTE),
    (1, ScalarType::CHAR),
    (1, ScalarType::SHORT),
    (2, ScalarType::BOOL),
];

/// Element types of quantized tensors.
const QUANTIZED: &[(usize, ScalarType)] =
    &[(4, ScalarType::CHAR), (4, ScalarType::BYTE), (1, ScalarType::SHORT), (1, ScalarType::INT)];

/// Element types of numbers.
const NUMBERS: &[(usize, ScalarType)] = &[
    (70, ScalarType::FLOAT),
    (8, ScalarType::DOUBLE),
    (8, ScalarType::LONG),
    (6, ScalarType::INT),
    (2, ScalarType::BYTE),
    (2, ScalarType::CHAR),
    (2, ScalarType::SHORT),
];

/// Returns the element types of the tensors of an operator, with weights.
fn element_types(samples: Samples) -> &'static [(usize, ScalarType)] {
    match samples {
        Samples::Real => REAL,
        Samples::Numbers => NUMBERS,
        Samples::Floating => FLOATING,
        Samples::FloatOrDouble => &[(4, ScalarType::FLOAT), (1, DOUBLE)],
        Samples::Float => &[(1, ScalarType::FLOAT)],
        Samples::Integral => INTEGRAL,
        Samples::Positions => &[(3, ScalarType::LONG), (1, INT)],
        Samples::Byte => &[(1, BYTE)],
        Samples::Complex => &[(4, COMPLEX), (1, ScalarType(10))],
    }
}

/// Chooses the arguments that depend on each other.
fn choose(draft: &mut Draft<'_>, family: Family) {
    match family {
        Family::Independent => {}
        Family::AdaptivePool => adaptive_pool(draft),
        Family::Addmm => addmm(draft),
        Family::AsStrided => as_strided(draft),
        Family::AtMostRankTwo => at_most_rank_two(draft),
        Family::BatchNorm => batch_norm(draft),
        Family::Bmm => bmm(draft),
        Family::Cat => cat(draft),
        Family::Cdist => cdist(draft),
        Family::Convolution => convolution(draft),
        Family::ConvolutionBackward => convolution_backward(draft),
        Family::Copy => copy(draft),
        Family::CopyIndex => copy_index(draft),
        Family::DimOrderCopy => dim_order_copy(draft),
        Family::Embedding => embedding(draft),
        Family::EmptyInOrder => empty_in_order(draft),
        Family::Expand => expand(draft),
        Family::Fft => fft(draft),
        Family::Fill => fill(draft),
        Family::Gather => gather(draft),
        Family::Glu => glu(draft),
        Family::GridSampler => grid_sampler(draft),
        Family::GroupNorm => group_norm(draft),
        Family::Index => index(draft),
        Family::IndexSelect => index_select(draft),
        Family::LayerNorm => layer_norm(draft),
        Family::Linear => linear(draft),
        Family::Masked => masked(draft),
        Family::Matrix => matrix(draft),
        Family::MixedLinear => mixed_linear(draft),
        Family::MixedMm => mixed_mm(draft),
        Family::Mm => mm(draft),
        Family::Narrow => narrow(draft),
        Family::Pad(count) => pad(draft, count),
        Family::PadAny => pad_any(draft),
        Family::Permute => permute(draft),
        Family::PixelShuffle => pixel_shuffle(draft),
        Family::Pool => pool(draft),
        Family::PoolBackward => pool_backward(draft),
        Family::Quantized => quantized(draft),
        Family::QuantizedAdd => quantized_add(draft),
        Family::QuantizedEmbedding(packed) => quantized_embedding(draft, packed),
        Family::Range => range(draft),
        Family::RankTwo => rank_two(draft),
        Family::Repeat => repeat(draft),
        Family::RepeatInterleave => repeat_interleave(draft),
        Family::Roll => roll(draft),
        Family::Select => select(draft),
        Family::Slice => slice(draft),
        Family::SplitWithSizes => split_with_sizes(draft),
        Family::SymSize => sym_size(draft),
        Family::Topk => topk(draft),
        Family::Unfold => unfold(draft),
        Family::Unsqueeze => unsqueeze(draft),
        Family::Upsample => upsample(draft),
        Family::View => view(draft),
        Family::WithDimensions => with_dimensions(draft),
    }
}

/// Strings of arguments, by name; the first is the most frequent.
const STRINGS: &[(&str, &[&str])] =
    &[("approximate", &["none", "tanh"]), ("rounding_mode", &["trunc", "floor", "nearest"])];

/// Arguments of a call that is being chosen.
pub struct Draft<'a> {
    random: &'a mut Random,
    name: &'a str,
    signature: &'a Signature,
    /// Element type of most tensors.
    main: ScalarType,
    /// Tensors of four dimensions are channels-last.
    channels_last: bool,
    /// Kind of the numbers of an operator that accepts only one kind.
    kind: Kinds,
    /// Sizes of tensors that exist already, which are preferred.
    shapes: &'a [Vec<i32>],
    /// The arguments that are chosen already.
    args: Vec<Option<Operand>>,
}

/// Returns random arguments of an operator, without its outs. `shapes` are sizes of tensors that exist already, which are preferred.
pub fn arguments(random: &mut Random, name: &str, signature: &Signature, shapes: &[Vec<i32>]) -> Vec<Operand> {
    let facts = pte_operators::facts(name);
    let main = random.weighted(element_types(facts.samples));
    let (channels_last, kind) = (random.chance(6), random.pick(&[Kinds::INT, Kinds::DOUBLE]));
    let mut draft =
        Draft { random, name, signature, main, channels_last, kind, shapes, args: vec![None; signature.ins().count()] };
    choose(&mut draft, facts.family);
    for (at, arg) in signature.args.iter().filter(|arg| arg.role != Role::Out).enumerate() {
        if draft.args[at].is_none() {
            draft.args[at] = Some(draft.by_name(at, arg));
        }
    }
    draft.args.into_iter().flatten().collect()
}

impl Draft<'_> {
    /// Sets an argument by its name in the schema, if the operator has one.
    fn set(&mut self, name: &str, operand: Operand) {
        if let Some(at) = self.signature.ins().position(|arg| arg.name == name) {
            self.args[at] = Some(operand);
        }
    }

    /// Sets the first argument.
    fn set_first(&mut self, operand: Operand) {
        self.args[0] = Some(operand);
    }

    /// Returns true if the operator has an argument of this name.
    fn has(&self, name: &str) -> bool {
        self.signature.ins().any(|arg| arg.name == name)
    }

    /// Returns a size of at least 1.
    fn size(&mut self) -> i32 {
        self.random.pick(SIZES)
    }

    /// Returns sizes of a rank from `low` to `high`.
    fn sizes(&mut self, low: usize, high: usize) -> Vec<i32> {
        let is_known = !self.shapes.is_empty() && self.random.chance(60);
        let known = is_known.then(|| &self.shapes[self.random.below(self.shapes.len())]);
        if let Some(sizes) = known.filter(|sizes| (low..=high).contains(&sizes.len())) {
            return sizes.clone();
        }
        let rank = low + self.random.below(high - low + 1);
        (0..rank).map(|_| self.size()).collect()
    }

    /// Returns a tensor of the main type.
    fn tensor(&mut self, sizes: &[i32]) -> Operand {
        Operand::Tensor(self.typed(self.main, sizes))
    }

    /// Returns a tensor of this type; some are constants, dynamic or channels-last.
    fn typed(&mut self, scalar_type: ScalarType, sizes: &[i32]) -> TensorOperand {
        let mut tensor = TensorOperand::new(scalar_type, sizes, Content::Input);
        if sizes.len() == 4 && self.channels_last {
            tensor.dim_order = DimOrder::channels_last(4);
        }
        match self.random.below(100) {
            0..15 => {
                let numbers: Vec<NumericValue> = (0..7).map(|_| self.number(scalar_type)).collect();
                tensor.fill(&numbers, MAX_CONSTANT);
            }
            15..20 => tensor.dynamism = TensorShapeDynamism::of(sizes.iter().any(|size| *size > 1)),
            _ => {}
        }
        tensor
    }

    /// Returns a small number that a type can represent.
    fn number(&mut self, scalar_type: ScalarType) -> NumericValue {
        match scalar_type {
            ScalarType::BOOL => NumericValue::Bool(self.random.chance(50)),
            ScalarType::BYTE
            | ScalarType::CHAR
            | ScalarType::SHORT
            | ScalarType::INT
            | ScalarType::LONG
            | ScalarType::UINT16
            | ScalarType::UINT32
            | ScalarType::UINT64 => NumericValue::Int(self.random.between(1, 9).into()),
            _ => NumericValue::Float(self.random.between(-16, 16) as f64 / 8.0 + 0.0625),
        }
    }

    /// Returns a constant of numbers from 0 to below `bound`, of int64 or int32.
    fn positions(&mut self, sizes: &[i32], bound: i32) -> TensorOperand {
        let scalar_type = self.random.weighted(&[(4, ScalarType::LONG), (1, ScalarType::INT)]);
        self.positions_of(scalar_type, sizes, bound)
    }

    fn positions_of(&mut self, scalar_type: ScalarType, sizes: &[i32], bound: i32) -> TensorOperand {
        let mut tensor = TensorOperand::new(scalar_type, sizes, Content::Input);
        let count = sizes.iter().product::<i32>().clamp(1, 64);
        let numbers: Vec<NumericValue> =
            (0..count).map(|_| NumericValue::Int(self.random.between(0, i64::from(bound) - 1).into())).collect();
        tensor.fill(&numbers, MAX_CONSTANT);
        tensor
    }

    /// Returns the sizes of the first tensor that is chosen.
    fn first_sizes(&self) -> Vec<i32> {
        let has_tensors = |arg: &&Operand| matches!(arg, Operand::Tensor(_) | Operand::Tensors { .. });
        let tensors = self.args.iter().flatten().find(has_tensors).map_or_else(Vec::new, Operand::tensors);
        tensors.first().map(|tensor| tensor.sizes.clone()).unwrap_or_default()
    }

    /// Returns a dimension of a tensor of this rank; one of two is counted from the end.
    fn dim(&mut self, rank: usize) -> i64 {
        let rank = (rank as i64).max(1);
        self.random.between(-rank, rank - 1)
    }

    /// Returns different dimensions of a tensor of this rank.
    fn dims(&mut self, rank: usize, least: usize) -> Vec<i64> {
        let mut dims: Vec<i64> = (0..rank as i64).collect();
        self.random.shuffle(&mut dims);
        let count = least.min(rank) + self.random.below(rank + 1 - least.min(rank));
        dims.truncate(count);
        for dim in &mut dims {
            if self.random.chance(30) {
                *dim -= rank as i64;
            }
        }
        dims
    }

    /// Returns sizes that broadcast with others.
    fn broadcastable(&mut self, sizes: &[i32]) -> Vec<i32> {
        let mut sizes = sizes.to_vec();
        if self.random.chance(60) {
            return sizes;
        }
        sizes.drain(..self.random.below(sizes.len() + 1));
        for size in &mut sizes {
            if self.random.chance(30) {
                *size = 1;
            }
        }
        sizes
    }

    /// Returns an argument that its name and type suggest.
    fn by_name(&mut self, at: usize, arg: &Arg) -> Operand {
        let kind = arg.kind;
        if kind.optional && self.random.chance(40) {
            return Operand::Null;
        }
        let sizes = self.first_sizes();
        let rank = sizes.len();
        match (kind.base, kind.list) {
            (Base::Tensor, false) => {
                if self.args.iter().flatten().any(|arg| arg.as_tensor().is_some()) {
                    let sizes = self.broadcastable(&sizes);
                    if self.random.chance(10) && !self.name.contains("bitwise") {
                        let other = self.random.weighted(REAL);
                        return Operand::Tensor(self.typed(other, &sizes));
                    }
                    return self.tensor(&sizes);
                }
                let sizes = self.sizes(0, 4);
                self.tensor(&sizes)
            }
            (Base::Tensor, true) => {
                let sizes = self.sizes(1, 4);
                let items = (0..=self.random.below(3)).map(|_| Some(self.typed(self.main, &sizes))).collect();
                Operand::Tensors { items, optional: kind.optional_items }
            }
            (Base::Int, false) => Operand::Int(match &*arg.name {
                "dim" | "dim0" | "dim1" | "dim2" | "axis" | "dimension" => self.dim(rank),
                // For operators of integers, it is a divisor.
                "b" => self.random.between(1, 5),
                _ => self.random.between(0, 4),
            }),
            (Base::Int, true) => Operand::Ints(match &*arg.name {
                "dim" | "dims" => self.dims(rank, 0),
                "size" => self.sizes(0, 4).into_iter().map(i64::from).collect(),
                _ => (0..rank).map(|_| self.random.between(1, 3)).collect(),
            }),
            (Base::Scalar, _) => self.scalar(at),
            (Base::Float, false) if arg.name == "p" => Operand::Double(self.random.pick(&[0.0, 0.5, 1.0])),
            (Base::Float, false) => Operand::Double(self.random.pick(&[0.5, 1.0, 0.1, 1e-5, 2.0])),
            (Base::Float, true) => Operand::Doubles((0..2).map(|_| self.random.pick(&[1.0, 2.0, 0.5, 1.5])).collect()),
            (Base::Bool, false) => Operand::Bool(match &*arg.name {
                // Element types that kernels implement.
                "onesided" => true,
                "accumulate" if self.name == "aten::index_put_" => false,
                "half_to_float" | "non_blocking" | "sparse" | "scale_grad_by_freq" | "implicit" => false,
                _ => self.random.chance(50),
            }),
            (Base::Bool, true) => Operand::Bools((0..3).map(|_| self.random.chance(80)).collect()),
            (Base::Str, _) => {
                let words =
                    STRINGS.iter().find(|(name, _)| *name == arg.name).map_or(&["none"][..], |(_, words)| words);
                Operand::Str(words[self.random.below(words.len().min(2))])
            }
            (Base::Dtype, _) => match kind.optional && self.random.chance(60) {
                true => Operand::Null,
                false => Operand::Int(self.random.weighted(REAL).0.into()),
            },
            (Base::MemoryFormat, _) => match self.random.chance(60) {
                true => Operand::Null,
                // Contiguous.
                false => Operand::Int(0),
            },
        }
    }

    /// Returns a number of a kind that the operator takes at a position.
    fn scalar(&mut self, at: usize) -> Operand {
        let kinds = pte_operators::facts(self.name).narrower.and_then(|kinds| kinds.get(at).or(kinds.last())).copied();
        let name = self.signature.args.get(at).map_or("", |arg| &arg.name);
        let divides =
            ["::div.", "::floor_divide.", "::fmod.", "::remainder."].iter().any(|part| self.name.contains(part));
        let no_bool = divides || ["alpha", "beta", "start", "end", "step"].contains(&name);
        let is_integral = matches!(
            self.main,
            ScalarType::BYTE
                | ScalarType::CHAR
                | ScalarType::SHORT
                | ScalarType::INT
                | ScalarType::LONG
                | ScalarType::BOOL
        );
        let kinds = kinds.unwrap_or(if self.name.contains("bitwise") { Kinds::INT } else { Kinds::SCALAR });
        // These only compute with two numbers of the same kind.
        let kinds = if self.name.starts_with("executorch_prim") && kinds.meets(self.kind) { self.kind } else { kinds };
        let mut choices = Vec::new();
        for (kind, weight) in [(Kinds::INT, 4), (Kinds::DOUBLE, if is_integral { 1 } else { 6 }), (Kinds::BOOL, 1)] {
            if kinds.meets(kind)
                && !(kind == Kinds::BOOL && no_bool)
                && !(kind == Kinds::DOUBLE && no_bool && is_integral)
            {
                choices.push((weight, kind));
            }
        }
        match self.random.weighted(&choices) {
            Kinds::INT => Operand::Int(self.random.between(1, 5)),
            Kinds::BOOL => Operand::Bool(self.random.chance(70)),
            _ => Operand::Double(self.random.between(1, 24) as f64 / 4.0),
        }
    }
}

/// Returns sizes as integers of a list.
fn ints(sizes: &[i32]) -> Operand {
    Operand::Ints(sizes.iter().copied().map(i64::from).collect())
}

fn rank_two(draft: &mut Draft<'_>) {
    let sizes = draft.sizes(2, 2);
    let first = draft.tensor(&sizes);
    draft.set_first(first);
}

fn with_dimensions(draft: &mut Draft<'_>) {
    let sizes = draft.sizes(1, 4);
    let first = draft.tensor(&sizes);
    draft.set_first(first);
}

fn sym_size(draft: &mut Draft<'_>) {
    with_dimensions(draft);
    let rank = draft.first_sizes().len();
    let dim = Operand::Int(draft.random.below(rank) as i64);
    draft.set("dim", dim);
}

fn at_most_rank_two(draft: &mut Draft<'_>) {
    let sizes = draft.sizes(0, 2);
    let first = draft.tensor(&sizes);
    draft.set_first(first);
}

/// A tensor of two dimensions or more, and two different dimensions.
fn matrix(draft: &mut Draft<'_>) {
    let sizes = draft.sizes(2, 4);
    let first = draft.tensor(&sizes);
    draft.set_first(first);
    let mut dims: Vec<i64> = (0..sizes.len() as i64).collect();
    draft.random.shuffle(&mut dims);
    draft.set("dim1", Operand::Int(dims[0]));
    draft.set("dim2", Operand::Int(dims[1]));
    let diagonal = Operand::Int(draft.random.between(-3, 3));
    draft.set("diagonal", diagonal.clone());
    draft.set("offset", diagonal);
}

fn mm(draft: &mut Draft<'_>) {
    let [n, k, m] = [draft.size(), draft.size(), draft.size()];
    let [a, b] = [draft.tensor(&[n, k]), draft.tensor(&[k, m])];
    draft.set("self", a);
    draft.set("mat2", b);
}

fn bmm(draft: &mut Draft<'_>) {
    let [batch, n, k, m] = [draft.size(), draft.size(), draft.size(), draft.size()];
    let [a, b] = [draft.tensor(&[batch, n, k]), draft.tensor(&[batch, k, m])];
    draft.set("self", a);
    draft.set("mat2", b);
}

fn addmm(draft: &mut Draft<'_>) {
    let [n, k, m] = [draft.size(), draft.size(), draft.size()];
    let bias = draft.broadcastable(&[n, m]);
    let [a, b, c] = [draft.tensor(&bias), draft.tensor(&[n, k]), draft.tensor(&[k, m])];
    draft.set("self", a);
    draft.set("mat1", b);
    draft.set("mat2", c);
}

fn linear(draft: &mut Draft<'_>) {
    let mut lead = draft.sizes(1, 3);
    let [k, m] = [draft.size(), draft.size()];
    lead.push(k);
    let [a, b, c] = [draft.tensor(&lead), draft.tensor(&[m, k]), draft.tensor(&[m])];
    draft.set("input", a);
    draft.set("weight", b);
    let bias = if draft.random.chance(50) { c } else { Operand::Null };
    draft.set("bias", bias);
}

fn mixed_mm(draft: &mut Draft<'_>) {
    let [n, k, m] = [draft.size(), draft.size(), draft.size()];
    let a = draft.tensor(&[n, k]);
    let b = Operand::Tensor(draft.typed(ScalarType::CHAR, &[k, m]));
    let scales = draft.tensor(&[k]);
    draft.set("input", a);
    draft.set("weight", b);
    draft.set("weight_scales", scales);
    draft.set("weight_zero_points", Operand::Null);
}

fn mixed_linear(draft: &mut Draft<'_>) {
    let [n, k, m] = [draft.size(), draft.size(), draft.size()];
    let a = draft.tensor(&[n, k]);
    let b = Operand::Tensor(draft.typed(ScalarType::CHAR, &[m, k]));
    let scales = draft.tensor(&[m]);
    draft.set("input", a);
    draft.set("weight", b);
    draft.set("weight_scales", scales);
    draft.set("weight_zero_points", Operand::Null);
    let dtype = if draft.random.chance(50) { Operand::Null } else { Operand::Int(ScalarType::FLOAT.0.into()) };
    draft.set("dtype", dtype);
}

fn cdist(draft: &mut Draft<'_>) {
    let lead = draft.sizes(0, 2);
    let [p, r, d] = [draft.size(), draft.size(), draft.size()];
    let [a, b] = [[&lead[..], &[p, d]].concat(), [&lead[..], &[r, d]].concat()];
    let [a, b] = [draft.tensor(&a), draft.tensor(&b)];
    draft.set("x1", a);
    draft.set("x2", b);
    let power = draft.random.pick(&[0.0, 1.0, 2.0, 3.0, f64::INFINITY]);
    draft.set("p", Operand::Double(power));
    let mode = draft.random.pick(&[Operand::Null, Operand::Int(0)].each_ref()).clone();
    draft.set("compute_mode", mode);
}

/// Sizes of an input, kernel, stride, padding and dilation of two spatial dimensions. The kernel fits the input.
struct Window {
    input: Vec<i32>,
    kernel: Vec<i32>,
    stride: Vec<i64>,
    padding: Vec<i64>,
    dilation: Vec<i64>,
}

fn window(draft: &mut Draft<'_>, spatial: usize) -> Window {
    let mut window =
        Window { input: Vec::new(), kernel: Vec::new(), stride: Vec::new(), padding: Vec::new(), dilation: Vec::new() };
    for _ in 0..spatial {
        let kernel = draft.random.pick(&[1, 1, 2, 3]);
        let dilation = draft.random.pick(&[1, 1, 1, 2]);
        window.kernel.push(kernel);
        window.dilation.push(dilation);
        window.padding.push(draft.random.between(0, (i64::from(kernel) / 2).min(1)));
        window.stride.push(draft.random.pick(&[1, 1, 2, 3]));
        let least = i64::from(kernel - 1) * dilation + 1;
        window.input.push(least as i32 + draft.random.below(6) as i32);
    }
    window
}

fn convolution(draft: &mut Draft<'_>) {
    let (input, weight, bias, transposed) = convolved(draft);
    let mut adjust = |name: &str, sizes: &[i32], optional: bool| {
        let tensor = draft.tensor(sizes);
        let tensor = if optional && draft.random.chance(40) { Operand::Null } else { tensor };
        draft.set(name, tensor);
    };
    adjust("input", &input, false);
    adjust("weight", &weight, false);
    adjust("bias", &[bias], true);
    draft.set("transposed", Operand::Bool(transposed));
}

/// Sets the integers of a convolution. Returns the sizes of the input and the weight, the number of channels of the result, and whether it
/// is transposed.
fn convolved(draft: &mut Draft<'_>) -> (Vec<i32>, Vec<i32>, i32, bool) {
    // The kernel of the gradients has two.
    let spatial = if draft.has("bias") { draft.random.weighted(&[(1, 1), (4, 2)]) } else { 2 };
    let window = window(draft, spatial);
    let groups = draft.random.pick(&[1, 1, 2, 3]);
    let [batch, own, other] = [draft.size(), draft.size().min(4), draft.size().min(4)];
    let transposed = draft.random.chance(25) && draft.has("bias");
    let input = [&[batch, own * groups], &window.input[..]].concat();
    let weight = match transposed {
        false => [&[other * groups, own], &window.kernel[..]].concat(),
        true => [&[own * groups, other], &window.kernel[..]].concat(),
    };
    let zeros = vec![0; spatial];
    for (name, list) in [
        ("stride", window.stride),
        ("padding", window.padding),
        ("dilation", window.dilation),
        ("output_padding", zeros),
    ] {
        draft.set(name, Operand::Ints(list));
    }
    draft.set("groups", Operand::Int(groups.into()));
    (input, weight, other * groups, transposed)
}

fn convolution_backward(draft: &mut Draft<'_>) {
    let (input, weight, channels, _) = convolved(draft);
    let mut gradient = vec![input[0], channels];
    let list = |draft: &Draft<'_>, name: &str| -> Vec<i64> {
        let at = draft.signature.ins().position(|arg| arg.name == name);
        match at.and_then(|at| draft.args[at].clone()) {
            Some(Operand::Ints(items)) => items,
            _ => Vec::new(),
        }
    };
    let (stride, padding, dilation) = (list(draft, "stride"), list(draft, "padding"), list(draft, "dilation"));
    for dim in 0..stride.len() {
        let reach = i64::from(input[dim + 2]) + 2 * padding[dim] - dilation[dim] * (i64::from(weight[dim + 2]) - 1) - 1;
        gradient.push((reach.div_euclid(stride[dim]) + 1) as i32);
    }
    let [gradient, input, weight] = [draft.tensor(&gradient), draft.tensor(&input), draft.tensor(&weight)];
    draft.set("grad_output", gradient);
    draft.set("input", input);
    draft.set("weight", weight);
    draft.set("bias_sizes", Operand::Ints(vec![channels.into()]));
    draft.set("transposed", Operand::Bool(false));
}

/// Returns sizes of an image with these spatial ones, with or without batch.
fn image(draft: &mut Draft<'_>, spatial: &[i32]) -> Vec<i32> {
    let lead = draft.random.weighted(&[(1, 1), (4, 2)]);
    let mut sizes = draft.sizes(lead, lead);
    sizes.extend(spatial);
    sizes
}

fn pool(draft: &mut Draft<'_>) {
    let window = window(draft, 2);
    let sizes = image(draft, &window.input);
    let first = draft.tensor(&sizes);
    draft.set_first(first);
    draft.set("kernel_size", ints(&window.kernel));
    let stride = if draft.random.chance(20) { Vec::new() } else { window.stride };
    draft.set("stride", Operand::Ints(stride));
    let padding = window.padding.iter().zip(&window.kernel).map(|(pad, kernel)| *pad.min(&i64::from(kernel / 2)));
    draft.set("padding", Operand::Ints(padding.collect()));
    draft.set("dilation", Operand::Ints(window.dilation));
    draft.set("divisor_override", Operand::Null);
}

fn pool_backward(draft: &mut Draft<'_>) {
    let [batch, channels, height, width] = [draft.size(), draft.size(), draft.size(), draft.size()];
    // A kernel of 3 by 3, with a padding of 1.
    let stride = draft.random.pick(&[1, 2]);
    let whole = [batch, channels, height, width];
    let pooled = [batch, channels, (height - 1) / stride + 1, (width - 1) / stride + 1];
    let [gradient, input] = [&pooled, &whole].map(|sizes| TensorOperand::new(draft.main, sizes, Content::Input));
    draft.set("grad_output", Operand::Tensor(gradient));
    draft.set("self", Operand::Tensor(input));
    let indices = draft.positions_of(ScalarType::LONG, &pooled, height * width);
    draft.set("indices", Operand::Tensor(indices));
    for (name, item) in [("kernel_size", 3), ("stride", stride), ("padding", 1), ("dilation", 1)] {
        draft.set(name, ints(&[item, item]));
    }
    draft.set("ceil_mode", Operand::Bool(false));
}

fn adaptive_pool(draft: &mut Draft<'_>) {
    let spatial = draft.sizes(2, 2);
    let sizes = image(draft, &spatial);
    let first = draft.tensor(&sizes);
    draft.set_first(first);
    let size = draft.sizes(2, 2);
    draft.set("output_size", ints(&size));
}

fn upsample(draft: &mut Draft<'_>) {
    let sizes = draft.sizes(4, 4);
    let first = draft.tensor(&sizes);
    draft.set_first(first);
    let by_size = draft.random.chance(50) || !draft.has("scale_factors");
    let size = draft.sizes(2, 2);
    draft.set("output_size", if by_size { ints(&size) } else { Operand::Null });
    let factors = (0..2).map(|_| draft.random.pick(&[1.0, 2.0, 1.5, 3.0])).collect();
    draft.set("scale_factors", if by_size { Operand::Null } else { Operand::Doubles(factors) });
    for name in ["scales_h", "scales_w"] {
        draft.set(name, Operand::Null);
    }
}

fn grid_sampler(draft: &mut Draft<'_>) {
    let sizes = draft.sizes(4, 4);
    let [height, width] = [draft.size(), draft.size()];
    let [input, grid] = [draft.tensor(&sizes), draft.tensor(&[sizes[0], height, width, 2])];
    draft.set("input", input);
    draft.set("grid", grid);
    for name in ["interpolation_mode", "padding_mode"] {
        let mode = Operand::Int(draft.random.between(0, 2));
        draft.set(name, mode);
    }
}

fn pixel_shuffle(draft: &mut Draft<'_>) {
    let factor = draft.random.pick(&[1, 2, 3]);
    let mut sizes = draft.sizes(3, 4);
    let [channels, height, width] = sizes.last_chunk_mut::<3>().expect("three sizes");
    match draft.name.contains("unshuffle") {
        true => [*height, *width] = [*height * factor, *width * factor],
        false => *channels *= factor * factor,
    }
    let first = draft.tensor(&sizes);
    draft.set_first(first);
    for name in ["upscale_factor", "downscale_factor"] {
        draft.set(name, Operand::Int(factor.into()));
    }
}

fn batch_norm(draft: &mut Draft<'_>) {
    let sizes = draft.sizes(2, 4);
    let input = draft.tensor(&sizes);
    draft.set("input", input);
    for name in ["weight", "bias", "running_mean", "running_var"] {
        let mut statistic = TensorOperand::new(draft.main, &sizes[1..2], Content::Input);
        if draft.random.chance(50) && !draft.name.ends_with("_legit.out") {
            statistic.fill(&[NumericValue::Float(0.5), NumericValue::Float(1.0)], MAX_CONSTANT);
        }
        let optional = name == "weight" || name == "bias";
        let operand = if optional && draft.random.chance(30) { Operand::Null } else { Operand::Tensor(statistic) };
        draft.set(name, operand);
    }
    let training = draft.name.ends_with("no_stats_out");
    draft.set("training", Operand::Bool(training));
    draft.set("momentum", Operand::Double(0.1));
    draft.set("eps", Operand::Double(1e-5));
}

fn layer_norm(draft: &mut Draft<'_>) {
    let sizes = draft.sizes(1, 4);
    let from = draft.random.below(sizes.len());
    let input = draft.tensor(&sizes);
    draft.set("input", input);
    draft.set("normalized_shape", ints(&sizes[from..]));
    for name in ["weight", "bias"] {
        let tensor = draft.tensor(&sizes[from..]);
        let tensor = if draft.random.chance(30) { Operand::Null } else { tensor };
        draft.set(name, tensor);
    }
    draft.set("eps", Operand::Double(1e-5));
}

fn group_norm(draft: &mut Draft<'_>) {
    let group = draft.random.pick(&[1, 2, 3]);
    let mut sizes = draft.sizes(2, 4);
    sizes[1] *= group;
    let input = draft.tensor(&sizes);
    draft.set("input", input);
    for name in ["weight", "bias"] {
        let tensor = draft.tensor(&sizes[1..2]);
        let tensor = if draft.random.chance(30) { Operand::Null } else { tensor };
        draft.set(name, tensor);
    }
    let rest = sizes[2..].iter().product::<i32>();
    for (name, number) in [("N", sizes[0]), ("C", sizes[1]), ("HxW", rest), ("group", group)] {
        draft.set(name, Operand::Int(number.into()));
    }
    draft.set("eps", Operand::Double(1e-5));
}

fn cat(draft: &mut Draft<'_>) {
    let sizes = draft.sizes(1, 4);
    let is_stack = draft.name.contains("stack");
    let dim = draft.dim(sizes.len() + usize::from(is_stack));
    let mut items = Vec::new();
    for _ in 0..=draft.random.below(4) {
        let mut sizes = sizes.clone();
        if !is_stack {
            let at = if dim < 0 { dim + sizes.len() as i64 } else { dim };
            sizes[at as usize] = draft.size();
        }
        items.push(Some(draft.typed(draft.main, &sizes)));
    }
    draft.set_first(Operand::Tensors { items, optional: false });
    draft.set("dim", Operand::Int(dim));
}

fn split_with_sizes(draft: &mut Draft<'_>) {
    let mut sizes = draft.sizes(1, 4);
    let dim = draft.random.below(sizes.len());
    let parts = draft.sizes(1, 4);
    sizes[dim] = parts.iter().sum();
    let first = draft.tensor(&sizes);
    draft.set_first(first);
    draft.set("split_sizes", ints(&parts));
    draft.set("dim", Operand::Int(dim as i64));
}

fn embedding(draft: &mut Draft<'_>) {
    let [rows, width] = [draft.size(), draft.size()];
    let table = draft.tensor(&[rows, width]);
    draft.set("weight", table);
    let sizes = draft.sizes(0, 3);
    let indices = draft.positions(&sizes, rows);
    draft.set("indices", Operand::Tensor(indices));
    draft.set("padding_idx", Operand::Int(-1));
}

fn quantized_embedding(draft: &mut Draft<'_>, packed: i64) {
    let [rows, groups] = [draft.size(), draft.random.pick(&[1, 1, 2])];
    let width = draft.size() * groups;
    let of_weight = if packed > 1 || draft.random.chance(50) { BYTE } else { CHAR };
    let weight = draft.typed(of_weight, &[rows, width]);
    let (least, most) = match packed {
        4 => (-2, 1),
        2 => (-8, 7),
        _ if weight.scalar_type == ScalarType::BYTE => (0, 255),
        _ => (-128, 127),
    };
    draft.set("weight", Operand::Tensor(weight));
    let sizes: &[i32] = if groups == 1 { &[rows] } else { &[rows, groups] };
    let scales = draft.tensor(sizes);
    draft.set("weight_scales", scales);
    let zeros = if draft.random.chance(50) { Operand::Null } else { draft.tensor(sizes) };
    draft.set("weight_zero_points", zeros);
    draft.set("weight_quant_min", Operand::Int(least));
    draft.set("weight_quant_max", Operand::Int(most));
    let sizes = draft.sizes(1, 2);
    let indices = draft.positions_of(ScalarType::LONG, &sizes, rows);
    draft.set("indices", Operand::Tensor(indices));
    let dtype = if draft.random.chance(30) { Operand::Null } else { Operand::Int(ScalarType::FLOAT.0.into()) };
    draft.set("dtype", dtype);
}

fn gather(draft: &mut Draft<'_>) {
    let sizes = draft.sizes(1, 4);
    let first = draft.tensor(&sizes);
    draft.set_first(first);
    let dim = draft.random.below(sizes.len());
    let mut index: Vec<i32> = sizes.iter().map(|size| 1 + draft.random.below(*size as usize) as i32).collect();
    index[dim] = draft.size();
    let source = index.iter().map(|size| size + i32::from(draft.random.chance(20))).collect::<Vec<_>>();
    let positions = draft.positions_of(ScalarType::LONG, &index, sizes[dim]);
    draft.set("index", Operand::Tensor(positions));
    draft.set("dim", Operand::Int(dim as i64));
    let source = draft.tensor(&source);
    draft.set("src", source);
}

fn index(draft: &mut Draft<'_>) {
    let sizes = draft.sizes(1, 4);
    let first = TensorOperand::new(draft.main, &sizes, Content::Input);
    draft.set("self", Operand::Tensor(first));
    // The kernel that works in place takes one index of one dimension, and as many values.
    let in_place = draft.name == "aten::index_put_";
    let (low, high) = if in_place { (1, 1) } else { (0, 2) };
    let common = draft.sizes(low, high);
    let count = 1 + if in_place { 0 } else { draft.random.below(sizes.len()) };
    let mut items = Vec::new();
    for size in &sizes[..count] {
        let is_none = draft.random.chance(25) && items.len() + 1 < count;
        let sizes = if in_place { common.clone() } else { draft.broadcastable(&common) };
        let item = draft.positions(&sizes, *size);
        items.push(if is_none { None } else { Some(item) });
    }
    draft.set("indices", Operand::Tensors { items, optional: true });
    let values = if in_place { [&common[..], &sizes[1..]].concat() } else { Vec::new() };
    let values = TensorOperand::new(draft.main, &values, Content::Input);
    draft.set("values", Operand::Tensor(values));
}

fn index_select(draft: &mut Draft<'_>) {
    let sizes = draft.sizes(1, 4);
    let first = draft.tensor(&sizes);
    draft.set("self", first);
    let dim = draft.random.below(sizes.len());
    draft.set("dim", Operand::Int(dim as i64));
    let count = draft.sizes(1, 1);
    let positions = draft.positions(&count, sizes[dim]);
    draft.set("index", Operand::Tensor(positions));
}

fn select(draft: &mut Draft<'_>) {
    let mut sizes = draft.sizes(1, 4);
    let first = draft.tensor(&sizes);
    draft.set("self", first);
    let dim = draft.random.below(sizes.len());
    let size = i64::from(sizes.remove(dim));
    draft.set("dim", Operand::Int(dim as i64));
    let index = Operand::Int(draft.random.between(-size, size - 1));
    draft.set("index", index);
    let source = draft.tensor(&sizes);
    draft.set("src", source);
}

fn slice(draft: &mut Draft<'_>) {
    let mut sizes = draft.sizes(1, 4);
    let first = draft.tensor(&sizes);
    draft.set("self", first);
    let dim = draft.random.below(sizes.len());
    let size = i64::from(sizes[dim]);
    let start = draft.random.between(0, size - 1);
    let end = draft.random.between(start, size);
    let step = draft.random.pick(&[1, 1, 2, 3]);
    sizes[dim] = ((end - start + step - 1) / step) as i32;
    for (name, number) in [("dim", dim as i64), ("start", start), ("end", end), ("step", step)] {
        draft.set(name, Operand::Int(number));
    }
    let source = draft.tensor(&sizes);
    draft.set("src", source);
}

fn narrow(draft: &mut Draft<'_>) {
    let sizes = draft.sizes(1, 4);
    let first = draft.tensor(&sizes);
    draft.set("self", first);
    let dim = draft.random.below(sizes.len());
    let size = i64::from(sizes[dim]);
    let start = draft.random.between(0, size - 1);
    let length = draft.random.between(0, size - start);
    for (name, number) in [("dim", dim as i64), ("start", start), ("length", length)] {
        draft.set(name, Operand::Int(number));
    }
}

fn unfold(draft: &mut Draft<'_>) {
    let sizes = draft.sizes(1, 4);
    let first = draft.tensor(&sizes);
    draft.set("self", first);
    let dim = draft.random.below(sizes.len());
    draft.set("dimension", Operand::Int(dim as i64));
    let size = Operand::Int(draft.random.between(1, sizes[dim].into()));
    draft.set("size", size);
    let step = Operand::Int(draft.random.between(1, 3));
    draft.set("step", step);
}

fn topk(draft: &mut Draft<'_>) {
    let sizes = draft.sizes(1, 4);
    let first = draft.tensor(&sizes);
    draft.set("self", first);
    let dim = draft.random.below(sizes.len());
    draft.set("dim", Operand::Int(dim as i64));
    let k = Operand::Int(draft.random.between(1, sizes[dim].into()));
    draft.set("k", k);
}

fn expand(draft: &mut Draft<'_>) {
    let sizes = draft.sizes(0, 4);
    let own = draft.broadcastable(&sizes);
    let first = draft.tensor(&own);
    draft.set("self", first);
    draft.set("size", ints(&sizes));
}

fn repeat(draft: &mut Draft<'_>) {
    let sizes = draft.sizes(0, 3);
    let first = draft.tensor(&sizes);
    draft.set("self", first);
    let count = sizes.len() + draft.random.below(2);
    let repeats = (0..count).map(|_| draft.random.between(1, 3)).collect();
    draft.set("repeats", Operand::Ints(repeats));
}

fn repeat_interleave(draft: &mut Draft<'_>) {
    let sizes = draft.sizes(1, 1);
    let repeats = draft.positions_of(draft.main, &sizes, 4);
    let total = match &repeats.content {
        Content::Constant(bytes) => {
            bytes.chunks(if draft.main == ScalarType::INT { 4 } else { 8 }).map(|item| item[0]).map(i64::from).sum()
        }
        Content::Input
        | Content::Written
        | Content::Over { .. }
        | Content::Unplaced
        | Content::Missing
        | Content::Value(_) => 0,
    };
    draft.set("repeats", Operand::Tensor(repeats));
    draft.set("output_size", Operand::Int(total));
}

fn permute(draft: &mut Draft<'_>) {
    let sizes = draft.sizes(0, 4);
    let first = draft.tensor(&sizes);
    draft.set("self", first);
    let dims = draft.dims(sizes.len(), sizes.len());
    draft.set("dims", Operand::Ints(dims));
}

fn roll(draft: &mut Draft<'_>) {
    let sizes = draft.sizes(1, 4);
    let first = draft.tensor(&sizes);
    draft.set("self", first);
    let dims = draft.dims(sizes.len(), 1);
    let shifts = dims.iter().map(|_| draft.random.between(-4, 4)).collect();
    draft.set("dims", Operand::Ints(dims));
    draft.set("shifts", Operand::Ints(shifts));
}

fn glu(draft: &mut Draft<'_>) {
    let mut sizes = draft.sizes(1, 4);
    let dim = draft.random.below(sizes.len());
    sizes[dim] *= 2;
    let first = draft.tensor(&sizes);
    draft.set("self", first);
    draft.set("dim", Operand::Int(dim as i64));
}

fn unsqueeze(draft: &mut Draft<'_>) {
    let sizes = draft.sizes(0, 4);
    let first = draft.tensor(&sizes);
    draft.set("self", first);
    let dim = draft.dim(sizes.len() + 1);
    draft.set("dim", Operand::Int(dim));
}

/// Sizes that another tensor of as many elements has.
fn view(draft: &mut Draft<'_>) {
    let sizes = draft.sizes(0, 4);
    let mut first = draft.typed(draft.main, &sizes);
    first.dim_order = DimOrder::contiguous(sizes.len());
    if first.dynamism != TensorShapeDynamism::STATIC {
        first.dynamism = TensorShapeDynamism::STATIC;
    }
    draft.set("self", Operand::Tensor(first));
    let mut other: Vec<i64> = sizes.iter().copied().map(i64::from).collect();
    match draft.random.below(4) {
        0 => other = vec![other.iter().product()],
        1 => other.reverse(),
        2 if other.len() > 1 => {
            let last = other.pop().unwrap_or(1);
            other[0] *= last;
        }
        _ => other.insert(draft.random.below(other.len() + 1), 1),
    }
    if draft.random.chance(25) && !other.is_empty() {
        let at = draft.random.below(other.len());
        other[at] = -1;
    }
    draft.set("size", Operand::Ints(other));
}

fn as_strided(draft: &mut Draft<'_>) {
    let sizes = draft.sizes(1, 3);
    let first = TensorOperand::new(draft.main, &sizes, Content::Input);
    draft.set("self", Operand::Tensor(first));
    let mut rest = sizes.iter().product::<i32>();
    let (mut size, mut stride) = (Vec::new(), Vec::new());
    for _ in 0..=draft.random.below(2) {
        let part = 1 + draft.random.below(rest as usize) as i32;
        size.push(i64::from(part));
        rest /= part;
        stride.push(1);
    }
    // The last dimension is the innermost.
    for at in (0..size.len().saturating_sub(1)).rev() {
        stride[at] = stride[at + 1] * size[at + 1];
    }
    draft.set("size", Operand::Ints(size));
    draft.set("stride", Operand::Ints(stride));
    draft.set("storage_offset", Operand::Null);
}

fn pad_any(draft: &mut Draft<'_>) {
    let sizes = draft.sizes(0, 4);
    let first = draft.tensor(&sizes);
    draft.set("self", first);
    let count = 2 * draft.random.below(sizes.len() + 1);
    let paddings = (0..count).map(|_| draft.random.between(0, 2)).collect();
    draft.set("pad", Operand::Ints(paddings));
}

fn pad(draft: &mut Draft<'_>, count: usize) {
    let rank = count + 1 + draft.random.below(2);
    let mut sizes = draft.sizes(rank, rank);
    let mut paddings = Vec::new();
    for size in sizes.iter_mut().rev().take(count) {
        *size += 1;
        for _ in 0..2 {
            paddings.push(draft.random.between(0, i64::from(*size) - 1));
        }
    }
    let first = draft.tensor(&sizes);
    draft.set("self", first);
    draft.set("padding", Operand::Ints(paddings));
}

fn fft(draft: &mut Draft<'_>) {
    let mut sizes = draft.sizes(1, 4);
    let mut dims = draft.dims(sizes.len(), 1);
    dims.iter_mut().filter(|dim| **dim < 0).for_each(|dim| *dim += sizes.len() as i64);
    // Without elements to transform, the kernel leaves its out as it was.
    dims.iter().for_each(|dim| sizes[*dim as usize] = sizes[*dim as usize].max(1));
    let first = TensorOperand::new(draft.main, &sizes, Content::Input);
    draft.set("self", Operand::Tensor(first));
    let last = sizes[dims[dims.len() - 1] as usize];
    draft.set("dim", Operand::Ints(dims));
    let normalization = Operand::Int(draft.random.between(0, 2));
    draft.set("normalization", normalization);
    let size = (2 * (i64::from(last) - 1) + draft.random.between(0, 1)).max(1);
    draft.set("last_dim_size", Operand::Int(size));
}

fn range(draft: &mut Draft<'_>) {
    let start = draft.random.between(0, 5);
    let end = start + draft.random.between(1, 9);
    let step = draft.random.between(1, 3);
    for (name, number) in [("start", start), ("end", end), ("step", step)] {
        draft.set(name, Operand::Int(number));
    }
}

fn copy(draft: &mut Draft<'_>) {
    let sizes = draft.sizes(0, 4);
    let first = TensorOperand::new(draft.main, &sizes, Content::Input);
    draft.set("self", Operand::Tensor(first));
    let sizes = draft.broadcastable(&sizes);
    let source = draft.tensor(&sizes);
    draft.set("src", source);
}

fn fill(draft: &mut Draft<'_>) {
    let sizes = draft.sizes(0, 4);
    let [first, value] = [draft.tensor(&sizes), draft.tensor(&[])];
    draft.set("self", first);
    draft.set("value", value);
}

fn masked(draft: &mut Draft<'_>) {
    let sizes = draft.sizes(0, 4);
    let [first, other, source] = [0, 1, 2].map(|_| draft.tensor(&sizes));
    draft.set("self", first);
    draft.set("other", other);
    draft.set("source", source);
    let sizes = draft.broadcastable(&sizes);
    let mask = Operand::Tensor(draft.typed(ScalarType::BOOL, &sizes));
    draft.set("mask", mask.clone());
    draft.set("condition", mask);
}

fn dim_order_copy(draft: &mut Draft<'_>) {
    let sizes = draft.sizes(1, 4);
    let first = draft.tensor(&sizes);
    draft.set("self", first);
    let order = order_of(draft, sizes.len());
    draft.set("dim_order", order);
}

fn order_of(draft: &mut Draft<'_>, rank: usize) -> Operand {
    match draft.random.below(3) {
        0 => Operand::Null,
        1 if rank == 4 => Operand::Ints(vec![0, 2, 3, 1]),
        _ => Operand::Ints((0..rank as i64).collect()),
    }
}

fn empty_in_order(draft: &mut Draft<'_>) {
    let sizes = draft.sizes(0, 4);
    draft.set("size", ints(&sizes));
    let order = order_of(draft, sizes.len());
    draft.set("dim_order", order);
}

fn copy_index(draft: &mut Draft<'_>) {
    let mut sizes = draft.sizes(1, 4);
    sizes[0] = sizes[0].max(1);
    let to = TensorOperand::new(draft.main, &sizes, Content::Input);
    let from = TensorOperand::new(draft.main, &sizes[1..], Content::Input);
    draft.set("copy_to", Operand::Tensor(to));
    draft.set("copy_from", Operand::Tensor(from));
    // The kernel shortens the tensor to the rows up to this one.
    draft.set("index", Operand::Int(i64::from(sizes[0]) - 1));
}

/// Returns the range of a type of quantized values.
fn range_of(scalar_type: ScalarType) -> (i64, i64) {
    match scalar_type {
        ScalarType::CHAR => (-128, 127),
        ScalarType::SHORT => (-32_768, 32_767),
        ScalarType::INT => (-2_147_483_648, 2_147_483_647),
        _ => (0, 255),
    }
}

/// Quantization, its inverse, and the choice of its parameters.
fn quantized(draft: &mut Draft<'_>) {
    let of_bytes = [(1, ScalarType::CHAR), (1, ScalarType::BYTE)];
    // None of an operator that chooses the parameters.
    let quantization = pte_operators::facts(draft.name).quantization;
    let of_values = draft.random.weighted(if quantization.is_some() { QUANTIZED } else { &of_bytes });
    let (least, most) = range_of(of_values);
    let sizes = draft.sizes(1, 4);
    let inverse = quantization.is_some_and(|quantization| !quantization.quantizes);
    let first = draft.typed(if inverse { of_values } else { draft.main }, &sizes);
    draft.set("input", Operand::Tensor(first));
    let axis = draft.random.below(sizes.len());
    draft.set("axis", Operand::Int(axis as i64));
    let parameters: Vec<i32> = match quantization.map(|quantization| quantization.channels) {
        Some(Channels::Axis(_)) => vec![sizes[axis]],
        Some(Channels::Rows) => {
            let mut sizes = sizes.clone();
            if let Some(last) = sizes.last_mut() {
                *last = 1;
            }
            sizes
        }
        Some(Channels::One) | None => vec![1],
    };
    let mut scales = TensorOperand::new(ScalarType::DOUBLE, &parameters, Content::Input);
    scales.fill(&[NumericValue::Float(0.5), NumericValue::Float(0.125)], MAX_CONSTANT);
    let mut zeros = TensorOperand::new(ScalarType::LONG, &parameters, Content::Input);
    zeros.fill(&[NumericValue::Int(0), NumericValue::Int(3)], MAX_CONSTANT);
    for name in ["scales", "scale"] {
        let is_tensor = draft.signature.ins().any(|arg| arg.name == name && arg.kind.base == Base::Tensor);
        draft.set(name, if is_tensor { Operand::Tensor(scales.clone()) } else { Operand::Double(0.25) });
    }
    for name in ["zero_points", "zero_point"] {
        let is_tensor = draft.signature.ins().any(|arg| arg.name == name && arg.kind.base == Base::Tensor);
        draft.set(name, if is_tensor { Operand::Tensor(zeros.clone()) } else { Operand::Int(2) });
    }
    draft.set("quant_min", Operand::Int(least));
    draft.set("quant_max", Operand::Int(most));
    draft.set("dtype", Operand::Int(of_values.0.into()));
    for name in ["out_dtype", "output_dtype"] {
        let is_optional = draft.signature.ins().any(|arg| arg.name == name && arg.kind.optional);
        let dtype = if is_optional && draft.random.chance(50) {
            Operand::Null
        } else {
            Operand::Int(ScalarType::FLOAT.0.into())
        };
        draft.set(name, dtype);
    }
    draft.set("eps", Operand::Double(1e-5));
}

fn quantized_add(draft: &mut Draft<'_>) {
    let of_values = draft.main;
    let (least, most) = range_of(of_values);
    let sizes = draft.sizes(0, 4);
    for name in ["a", "b"] {
        let tensor = draft.typed(of_values, &sizes);
        draft.set(name, Operand::Tensor(tensor));
    }
    for part in ["a", "b", "out"] {
        draft.set(&format!("{part}_scale"), Operand::Double(0.5));
        draft.set(&format!("{part}_zero_point"), Operand::Int(1));
        draft.set(&format!("{part}_quant_min"), Operand::Int(least));
        draft.set(&format!("{part}_quant_max"), Operand::Int(most));
    }
}
