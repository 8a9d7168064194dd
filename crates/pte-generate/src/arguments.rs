//! Random arguments of a call, of which the rule of the operator accepts most: sizes that fit each other, dimensions
//! within the rank, positions within sizes.
//!
//! Rows of `arguments.table` relate the arguments that depend on each other, the others follow from their name and type
//! in the schema. What does not fit, the rule of the operator refuses; then all are chosen again.

use std::collections::BTreeMap;

use super::inferred::results;
use super::operand::{Content, Operand, TensorOperand};
use super::random::Random;
use pte_model::data::number::NumericValue;
use pte_model::format::{DimOrder, ScalarType};
use pte_model::program::TensorShapeDynamism;
use pte_operators::facts::Samples;
use pte_operators::kinds::Kinds;
use pte_operators::{Arg, Base, Role, Signature};

/// Sizes of dimensions.
const SIZES: &[i32] = &[1, 2, 2, 3, 3, 4, 5, 8];

/// Bytes of the largest constant.
const MAX_CONSTANT: u64 = 1 << 14;

/// Element types of quantized values.
const QUANTIZED: &str = "4 int8 4 uint8 1 int16 1 int32";

/// Returns the element types of the tensors of an operator, with weights.
fn element_types(samples: Samples) -> Vec<(usize, ScalarType)> {
    weights(match samples {
        Samples::Real => "70 float32 6 float64 6 int64 4 int32 3 float16 3 bfloat16 2 bool 2 uint8 2 int8 2 int16",
        Samples::Numbers => "70 float32 8 float64 8 int64 6 int32 2 uint8 2 int8 2 int16",
        Samples::Floating => "80 float32 10 float64 5 float16 5 bfloat16",
        Samples::FloatOrDouble => "4 float32 1 float64",
        Samples::Float => "1 float32",
        Samples::Integral => "4 int64 4 int32 1 uint8 1 int8 1 int16 2 bool",
        Samples::Positions => "3 int64 1 int32",
        Samples::Byte => "1 uint8",
        Samples::Complex => "4 complex64 1 complex128",
    })
}

/// Returns pairs of a weight and an element type.
fn weights(text: &str) -> Vec<(usize, ScalarType)> {
    let words: Vec<&str> = text.split(' ').collect();
    words
        .as_chunks()
        .0
        .iter()
        .filter_map(|[weight, name]| Some((weight.parse().ok()?, ScalarType::parse(name)?)))
        .collect()
}

/// Strings of arguments, by name; the first is the most frequent.
const STRINGS: &[(&str, &[&str])] =
    &[("approximate", &["none", "tanh"]), ("rounding_mode", &["trunc", "floor", "nearest"])];

/// Rows of operators whose arguments depend on each other.
const TABLE: &str = include_str!("arguments.table");

/// Choices of arguments until the rule accepts them.
const ATTEMPTS: usize = 60;

/// Returns the rows of an operator: their arguments with values.
fn rows(name: &str) -> Vec<&'static str> {
    let function = name.split('.').next();
    let rows = TABLE.lines().filter(|line| !line.starts_with('#')).filter_map(|line| line.split_once(" = "));
    let is_own = |names: &str| names.split(' ').any(|own| own == name || Some(own) == function);
    rows.filter(|(names, _)| is_own(names)).map(|(_, items)| items).collect()
}

/// Returns true if the arguments of an operator depend on each other.
pub fn depend(name: &str) -> bool {
    !rows(name).is_empty()
}

/// Arguments of a call that is being chosen.
struct Draft<'a> {
    random: &'a mut Random,
    name: &'a str,
    signature: &'a Signature,
    /// Element type of most tensors.
    main: ScalarType,
    /// Element type of quantized values.
    quantized: ScalarType,
    /// Tensors of four dimensions are channels-last.
    channels_last: bool,
    /// Kind of the numbers of an operator that accepts only one kind.
    kind: Kinds,
    /// Sizes of tensors that exist already, which are preferred.
    shapes: &'a [Vec<i32>],
    /// The arguments that are chosen already.
    args: Vec<Option<Operand>>,
    variables: Variables,
}

/// Variables of a row.
#[derive(Default)]
struct Variables {
    ints: BTreeMap<char, i64>,
    /// Lists of sizes; that of `A<` is `a`.
    lists: BTreeMap<char, Vec<i32>>,
    /// Chosen dimensions of lists.
    dims: BTreeMap<char, usize>,
    /// Sum of the positions that were chosen last.
    sum: i64,
}

/// Returns random arguments of an operator, without its outs. `shapes` are sizes of tensors that exist already, which
/// are preferred.
pub fn arguments(random: &mut Random, name: &str, signature: &Signature, shapes: &[Vec<i32>]) -> Vec<Operand> {
    let rows = rows(name);
    let mut args = chosen(random, name, signature, shapes, &rows);
    for _ in 1..ATTEMPTS {
        if results(name, signature, &args).is_some() {
            break;
        }
        args = chosen(random, name, signature, shapes, &rows);
    }
    args
}

/// Returns random arguments, of which some may not fit each other.
fn chosen(
    random: &mut Random,
    name: &str,
    signature: &Signature,
    shapes: &[Vec<i32>],
    rows: &[&'static str],
) -> Vec<Operand> {
    let main = random.weighted(&element_types(pte_operators::facts(name).samples));
    let (quantized, channels_last) = (random.weighted(&weights(QUANTIZED)), random.chance(6));
    let kind = random.pick(&[Kinds::INT, Kinds::DOUBLE]);
    let row = (!rows.is_empty()).then(|| random.pick(rows));
    let args = vec![None; signature.ins().count()];
    let variables = Variables::default();
    let mut draft = Draft { random, name, signature, main, quantized, channels_last, kind, shapes, args, variables };
    if let Some(row) = row {
        draft.related(row);
    }
    for (at, arg) in signature.ins().enumerate() {
        if draft.args[at].is_none() {
            draft.args[at] = Some(draft.by_name(at, arg));
        }
    }
    draft.args.into_iter().flatten().collect()
}

impl Draft<'_> {
    /// Sets the arguments of a row.
    fn related(&mut self, row: &'static str) {
        for (name, values) in row.split(' ').filter_map(|item| item.split_once(':')) {
            let at = self.signature.ins().position(|arg| arg.name == name || name == "0");
            if let Some(at) = at {
                let values: Vec<&str> = values.split('|').collect();
                let value = self.random.pick(&values);
                self.args[at] = Some(self.value(value, &self.signature.args[at]));
            }
        }
    }

    /// Returns the operand of a value of a row.
    fn value(&mut self, text: &str, arg: &Arg) -> Operand {
        match text.as_bytes() {
            b"null" => Operand::Null,
            b"true" | b"false" => Operand::Bool(text == "true"),
            [b'@', name, range @ ..] => Operand::Int(self.dimension(char::from(*name), range)),
            [b'(', .., b')'] => Operand::Ints(self.list(&text[1..text.len() - 1])),
            [b'{', .., b'}'] => {
                let items = text[1..text.len() - 1].split(';');
                let items: Vec<_> =
                    items.map(|item| (item != "null").then(|| self.related_tensor(item, arg.role))).collect();
                Operand::Tensors { items, optional: arg.kind.optional_items }
            }
            [.., b']'] => Operand::Tensor(self.related_tensor(text, arg.role)),
            _ => match text.parse() {
                Ok(number) if text.contains('.') || text == "inf" => Operand::Double(number),
                _ => Operand::Int(self.int(text)),
            },
        }
    }

    /// Returns the tensor of a value.
    fn related_tensor(&mut self, text: &str, role: Role) -> TensorOperand {
        let (before, sizes) = text.trim_end_matches(']').split_once('[').unwrap_or(("", text));
        let (bound, before) = before.split_once('>').map_or((None, before), |(bound, rest)| (Some(bound), rest));
        let mut sizes: Vec<i32> = self.list(sizes).iter().map(|size| (*size).max(1) as i32).collect();
        if before.contains('~') {
            sizes = self.broadcastable(&sizes);
        }
        let scalar_type = match before.trim_matches(['~', '+']) {
            "" => None,
            "type" => Some(self.quantized),
            name => ScalarType::parse(name),
        };
        if let Some(bound) = bound {
            let bound = self.int(bound);
            return self.positions(scalar_type, &sizes, bound);
        }
        let scalar_type = scalar_type.unwrap_or(self.main);
        let mut tensor = match role {
            Role::InPlace => TensorOperand::new(scalar_type, &sizes, Content::Input),
            Role::In | Role::Out => self.typed(scalar_type, &sizes),
        };
        if before.contains('+') {
            tensor.fill(&[NumericValue::Float(0.5), NumericValue::Float(0.125)], MAX_CONSTANT);
        }
        tensor
    }

    /// Returns the Ints or the sizes of a list.
    fn list(&mut self, text: &str) -> Vec<i64> {
        let mut list = Vec::new();
        for part in text.split(',').filter(|part| !part.is_empty()) {
            match part.as_bytes() {
                [name @ b'A'..=b'Z', rest @ ..] if !matches!(rest, [b'*' | b'@', ..]) => {
                    list.extend(self.sizes_of(char::from(*name), rest).into_iter().map(i64::from));
                }
                [b'#', name] => {
                    let rank = self.sizes_of(char::from(*name), b"").len();
                    list.extend(self.dimensions(rank, 30).iter().map(|dim| dim.rem_euclid(rank as i64)));
                }
                _ => list.push(self.int(part)),
            }
        }
        list
    }

    /// Returns the sizes of a variable: all, or those that what follows its name says.
    fn sizes_of(&mut self, name: char, rest: &[u8]) -> Vec<i32> {
        if let [low, b'.', b'.', high] = rest {
            let sizes = self.sizes(usize::from(low - b'0'), usize::from(high - b'0'));
            self.variables.lists.insert(name, sizes);
        }
        let mut sizes = self.variables.lists.get(&name).cloned().unwrap_or_default();
        let dim = self.variables.dims.get(&name).copied();
        match (rest, dim) {
            (b"-", Some(dim)) => drop(sizes.remove(dim)),
            ([b'=', size @ ..], Some(dim)) => sizes[dim] = self.int(&String::from_utf8_lossy(size)) as i32,
            (b"<", _) => {
                sizes.iter_mut().for_each(|size| *size = 1 + self.random.below(*size as usize) as i32);
                dim.into_iter().for_each(|dim| sizes[dim] = self.size());
                self.variables.lists.insert(name.to_ascii_lowercase(), sizes.clone());
            }
            (b">", _) => {
                sizes = self.variables.lists.get(&name.to_ascii_lowercase()).cloned().unwrap_or_default();
                sizes.iter_mut().for_each(|size| *size += i32::from(self.random.chance(20)));
            }
            _ => {}
        }
        sizes
    }

    /// Chooses a dimension of the sizes of a variable; some are counted from the end.
    fn dimension(&mut self, name: char, range: &[u8]) -> i64 {
        let rank = self.sizes_of(name, range).len();
        let dim = self.random.below(rank);
        self.variables.dims.insert(name, dim);
        if self.random.chance(30) { dim as i64 - rank as i64 } else { dim as i64 }
    }

    /// Returns an Int: a sum of products.
    fn int(&mut self, text: &str) -> i64 {
        let mut sum = 0;
        for term in text.split('+') {
            for (at, product) in term.split('-').enumerate().filter(|(_, product)| !product.is_empty()) {
                let product: i64 = product.split('*').map(|factor| self.factor(factor)).product();
                sum += if at == 0 { product } else { -product };
            }
        }
        sum
    }

    /// Returns a factor of a product.
    fn factor(&mut self, text: &str) -> i64 {
        let (least, most) = self.quantized.integers().unwrap_or_default();
        match text.as_bytes() {
            b"min" => least,
            b"max" => most,
            b"type" => self.quantized.0.into(),
            b"$" => self.variables.sum,
            [b'%', name] => self.sizes_of(char::from(*name), b"").into_iter().map(i64::from).sum(),
            [name @ b'A'..=b'Z', b'@'] => {
                let name = char::from(*name);
                let (sizes, dim) = (self.sizes_of(name, b""), self.variables.dims.get(&name));
                dim.and_then(|dim| sizes.get(*dim).copied()).unwrap_or(1).into()
            }
            [name @ b'A'..=b'Z', rest @ ..] => {
                self.sizes_of(char::from(*name), rest).into_iter().map(i64::from).product()
            }
            [name @ b'a'..=b'z', range @ ..] => {
                let name = char::from(*name);
                if let Some(known) = self.variables.ints.get(&name) {
                    return *known;
                }
                let number = if range.is_empty() { self.size().into() } else { self.range(&text[1..]) };
                self.variables.ints.insert(name, number);
                number
            }
            _ => self.range(text),
        }
    }

    /// Returns a number, or one of a range.
    fn range(&mut self, text: &str) -> i64 {
        let (low, high) = text.split_once("..").unwrap_or((text, text));
        let [low, high] = [low, high].map(|bound| bound.parse().unwrap_or_default());
        if low == high { low } else { self.random.between(low, high) }
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

    /// Returns a constant of numbers from 0 to below `bound`, by default of int64 or int32.
    fn positions(&mut self, scalar_type: Option<ScalarType>, sizes: &[i32], bound: i64) -> TensorOperand {
        let scalar_type = scalar_type.unwrap_or_else(|| self.random.weighted(&element_types(Samples::Positions)));
        let mut tensor = TensorOperand::new(scalar_type, sizes, Content::Input);
        let count = sizes.iter().product::<i32>().clamp(1, 64);
        let numbers: Vec<i64> = (0..count).map(|_| self.random.between(0, bound - 1)).collect();
        self.variables.sum = numbers.iter().sum();
        tensor
            .fill(&numbers.iter().map(|number| NumericValue::Int((*number).into())).collect::<Vec<_>>(), MAX_CONSTANT);
        tensor
    }

    /// Returns the sizes of the first tensor that is chosen.
    fn first_sizes(&self) -> Vec<i32> {
        let has_tensors = |arg: &&Operand| matches!(arg, Operand::Tensor(_) | Operand::Tensors { .. });
        let tensors = self.args.iter().flatten().find(has_tensors).map_or_else(Vec::new, Operand::tensors);
        tensors.first().map(|tensor| tensor.sizes.clone()).unwrap_or_default()
    }

    /// Returns different dimensions of a tensor of this rank: as many as shifts that precede them, or `percent` often
    /// all.
    fn dimensions(&mut self, rank: usize, percent: usize) -> Vec<i64> {
        let mut dims: Vec<i64> = (0..rank as i64).collect();
        self.random.shuffle(&mut dims);
        dims.truncate(match self.args.get(1) {
            Some(Some(Operand::Ints(shifts))) => shifts.len(),
            _ if self.random.chance(percent) => rank,
            _ => self.random.below(rank + 1),
        });
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
                        let other = self.random.weighted(&element_types(Samples::Real));
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
                // One operator inserts a dimension.
                "dim" | "dim0" | "dim1" | "dim2" | "axis" | "dimension" => {
                    self.random.between(-1 - rank as i64, rank as i64)
                }
                "diagonal" | "offset" => self.random.between(-3, 3),
                // For operators of integers, it is a divisor.
                "b" => self.random.between(1, 5),
                _ => self.random.between(0, 4),
            }),
            (Base::Int, true) => Operand::Ints(match &*arg.name {
                "dim" => self.dimensions(rank, 0),
                "dims" => self.dimensions(rank, 70),
                "dim_order" => match &self.args[0] {
                    _ if self.random.chance(40) => vec![0, 2, 3, 1],
                    Some(Operand::Ints(sizes)) => (0..sizes.len() as i64).collect(),
                    _ => (0..rank as i64).collect(),
                },
                "pad" => (0..2 * self.random.below(rank + 1)).map(|_| self.random.between(0, 2)).collect(),
                "repeats" => (0..rank + self.random.below(2)).map(|_| self.random.between(1, 3)).collect(),
                "shifts" => (0..=self.random.below(rank.max(1))).map(|_| self.random.between(-4, 4)).collect(),
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
                false => Operand::Int(self.random.weighted(&element_types(Samples::Real)).0.into()),
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
        let is_integral = self.main == ScalarType::BOOL || self.main.integers().is_some();
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::calls::operators;

    #[test]
    fn rows_are_of_known_operators_and_their_arguments() {
        let operators = operators();
        let rows = TABLE.lines().filter(|line| !line.starts_with('#') && !line.is_empty());
        for (names, items) in rows.map(|line| line.split_once(" = ").expect(line)) {
            let is_own = |known: &str, name: &str| known == name || known.split('.').next() == Some(name);
            let of = |name| operators.iter().filter(move |(known, _)| is_own(known, name));
            names.split(' ').for_each(|name| assert!(of(name).next().is_some(), "{name}"));
            let args: Vec<_> = names.split(' ').flat_map(of).flat_map(|(_, own)| own.ins()).collect();
            for (arg, _) in items.split(' ').map(|item| item.split_once(':').expect(item)) {
                assert!(arg == "0" || args.iter().any(|known| known.name == arg), "{names}: {arg}");
            }
        }
    }

    #[test]
    fn the_rule_accepts_almost_all_arguments() {
        for (name, signature) in operators() {
            let mut random = Random::new(3);
            let accepted =
                (0..20).filter(|_| results(name, &signature, &arguments(&mut random, name, &signature, &[])).is_some());
            assert!(accepted.count() >= 19, "{name}");
        }
    }
}
