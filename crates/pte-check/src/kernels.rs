//! Checks constraints of kernels that relate arguments to outs or to constants, and whose violation aborts the process:
//! ranges, orders of dimensions, and the types, shapes and ranges of quantization (`O-`). The constraints were measured
//! with ExecuTorch 1.5.1.
//!
//! Only values that no instruction changes are checked. Computed values are not known before the method runs.

use std::ops::Range;

use super::contents::{Assumption, ConstantInts, Item, Node, SameInts};
use super::finding::{Findings, Locator};
use super::semantics::method::MethodAnalysis;
use super::semantics::values::Values;
use crate::RuleId::*;
use pte_analysis::operators::ResolvedOperator;
use pte_model::diagnostics::counted;
use pte_model::format::ScalarType;
use pte_model::program::{DeviceType, EValue, Tensor, TensorShapeDynamism, ValueId};
use pte_operators::Base;
use pte_operators::facts::{Channels, Quantization, Selected};
use pte_operators::inference::constraints::MASKS;

/// A call of a known operator.
#[derive(Clone, Copy)]
pub(super) struct KernelCall<'m, 'p> {
    pub method: &'m MethodAnalysis<'p>,
    pub known: &'m ResolvedOperator,
    pub step: u32,
    pub args: &'p [ValueId],
    /// The method has jumps.
    pub jumps: bool,
    /// Numbers that are assumed for values that instructions write.
    pub assumed: &'m Assumption,
    /// Tensors with other sizes than in the file, with these sizes.
    pub resized: &'m [(usize, Tensor)],
    /// Contents that the kernels of the method trust.
    pub values: &'m Values,
}

/// Checks a call with the right number of arguments.
pub(super) fn check(call: &KernelCall<'_, '_>, findings: &mut Findings, locate: &Locator<'_>) {
    if let Some(range) = call.known.facts.range {
        check_range(call, range, findings, locate);
    }
    if let Some(([indices, table], selected)) = call.known.facts.selection {
        check_indices(call, indices, (table, selected), findings, locate);
    }
    if let Some(position) = call.known.facts.numbers {
        check_numbers(call, position, findings, locate);
    }
    if let Some(repetitions) = call.known.facts.repetitions {
        check_repetitions(call, repetitions, findings, locate);
    }
    if let Some(arguments) = call.known.facts.quotient {
        check_quotient(call, arguments, findings, locate);
    }
    if let Some(position) = call.known.facts.on_device {
        check_device(call, position, findings, locate);
    }
    if call.known.facts.copies_dim_order {
        check_dim_order(call, findings, locate);
    }
    if let Some(quantization) = call.known.facts.quantization {
        check_quantization(&quantization, call, findings, locate);
    }
}

/// Checks that a range fits its out, which cannot grow: the kernel aborts when it resizes the out.
fn check_range(call: &KernelCall<'_, '_>, range: [Option<usize>; 4], findings: &mut Findings, locate: &Locator<'_>) {
    let [start, end, step, out] = range;
    let float = |position: Option<usize>, default: f64| position.map_or(Some(default), |at| call.float(at));
    let [start, end, step] = [float(start, 0.0), float(end, 0.0), float(step, 1.0)];
    let length = match (start, end, step) {
        (Some(start), Some(end), Some(step)) => ((end - start) / step).ceil(),
        // An infinite bound is wrong with any other one.
        (Some(bound), None, _) | (None, Some(bound), _) if !bound.is_finite() => f64::INFINITY,
        _ => return,
    };
    let Some((position, out)) = out.and_then(|out| Some((out, call.tensor(out)?))) else { return };
    let room = count(sizes(out));
    if !(0.0..=room as f64).contains(&length) {
        findings.add(O_12, || {
            let known =
                |number: Option<f64>| number.map_or_else(|| "an unknown number".to_owned(), |it| it.to_string());
            let (start, end, step) = (known(start), known(end), known(step));
            let found = format!("a range of {}, from {start} to {end} by {step}", counted(length, "element"));
            (
                locate(&call.method.arg(call.step, position)),
                found,
                format!("at most {}, the size of the out", counted(room, "element")),
            )
        });
    }
}

/// Checks that constant indices are in the range of what they select.
fn check_indices(
    call: &KernelCall<'_, '_>,
    indices: usize,
    (table, selected): (usize, Selected),
    findings: &mut Findings,
    locate: &Locator<'_>,
) {
    let (Some(sizes), Some((value, list))) = (call.tensor(table).map(sizes), call.argument(indices)) else { return };
    let mut check = |value: usize, range: Range<i128>, selected: &dyn Fn() -> String| {
        let constants = call.ints(value, findings, locate);
        let is_outside = |index: &i64| !range.contains(&i128::from(*index));
        let mut all = call.values.contents.borrow_mut();
        let mut of_content = constants.iter().filter_map(|ints| {
            let bounds = all.bounds(ints);
            bounds.iter().flatten().any(is_outside).then(|| ints.iter().copied().find(is_outside))?
        });
        let of_same = || call.same(value).and_then(|same| same.iter().flatten().copied().find(is_outside));
        if let Some(wrong) = of_content.next().or_else(of_same) {
            findings.add(O_14, || {
                let name = &call.known.signature.args[indices].name;
                let found = format!("index {wrong} for argument `{name}` of {}", call.known.name);
                let expected = format!("{} to {}, the {} of argument {table}", range.start, range.end - 1, selected());
                (locate(&call.method.arg(call.step, indices)), found, expected)
            });
        }
    };
    let planes = &sizes[sizes.len().saturating_sub(2)..];
    match selected {
        Selected::Rows => check(value, 0..count(&sizes[..sizes.len().min(1)]), &|| "rows".to_owned()),
        Selected::Elements => check(value, 0..count(planes), &|| "elements of each plane".to_owned()),
        Selected::Along(at) => {
            if let Some(size) = call.int(at).and_then(|dim| dimension(dim, sizes)) {
                check(value, 0..size, &|| "positions of the dimension".to_owned());
            }
        }
        // Without elements to select, the kernel does not visit the indices.
        Selected::Items { .. } if sizes.contains(&0) || !call.is_unchanged(value) => {}
        Selected::Items { from_end } => {
            let items = list.as_tensors().iter().map(|item| call.method.value(*item));
            let mut dim = 0;
            for (value, item) in items.map(|value| (value, value.and_then(|value| call.tensor_of(value)))) {
                let is_mask = |item: &Tensor| MASKS.contains(item.scalar_type);
                if let (Some(value), Some(size), false) = (value, sizes.get(dim), item.is_some_and(is_mask)) {
                    let size = i128::from(*size);
                    check(value, if from_end { -size } else { 0 }..size, &|| format!("positions of dimension {dim}"));
                }
                dim += item.filter(|item| is_mask(item)).map_or(1, |mask| self::sizes(mask).len());
            }
        }
    }
}

/// Checks that a content of float32 that follows from the file has no NaN.
fn check_numbers(call: &KernelCall<'_, '_>, position: usize, findings: &mut Findings, locate: &Locator<'_>) {
    let Some((value, _)) = call.argument(position) else { return };
    let is_float = |tensor: &&Tensor| tensor.scalar_type == ScalarType::FLOAT;
    if call.tensor(position).filter(is_float).is_none() {
        return;
    }
    let contents = call.contents(value, findings, locate);
    let mut all = call.values.contents.borrow_mut();
    let is_always = call.values.always_nan.contains(&(call.step, value));
    if is_always || contents.into_iter().any(|content| all.has_nan(call.method, content)) {
        findings.add(O_14, || {
            let name = &call.known.signature.args[position].name;
            let found = format!("NaN in the constant for argument `{name}` of {}", call.known.name);
            (locate(&call.method.arg(call.step, position)), found, "numbers".to_owned())
        });
    }
}

/// Checks that an Int is the sum of constant numbers of repetitions.
fn check_repetitions(
    call: &KernelCall<'_, '_>,
    [repetitions, size]: [usize; 2],
    findings: &mut Findings,
    locate: &Locator<'_>,
) {
    let Some((value, EValue::Tensor(_))) = call.argument(repetitions) else { return };
    let Some(tensor) = call.tensor_of(value) else { return };
    let stated = call.int(size);
    if stated.is_none() && !matches!(call.argument(size), Some((_, EValue::Null))) {
        return;
    }
    // A tensor that is filled with numbers has them once.
    let elements = count(sizes(tensor));
    let sums = call.ints(value, findings, locate).into_iter().map(|ints| {
        let sum: i128 = ints.iter().map(|int| i128::from(*int)).sum();
        sum.saturating_mul(elements) / (ints.len() as i128).max(1)
    });
    let is_wrong = |sum: &i128| match stated {
        Some(stated) => *sum != i128::from(stated),
        None => *sum > i128::from(i32::MAX),
    };
    if let Some(sum) = sums.into_iter().find(is_wrong) {
        findings.add(O_14, || {
            let names = [repetitions, size].map(|at| &call.known.signature.args[at].name);
            let Some(stated) = stated else {
                let found = format!("numbers in argument `{}` of {} whose sum is {sum}", names[0], call.known.name);
                let expected = format!("a sum of at most {}, the largest size", i32::MAX);
                return (locate(&call.method.arg(call.step, repetitions)), found, expected);
            };
            let found = format!("{stated} for argument `{}` of {}", names[1], call.known.name);
            (locate(&call.method.arg(call.step, size)), found, format!("{sum}, the sum of `{}`", names[0]))
        });
    }
}

/// Checks that the least integer is not divided by -1.
fn check_quotient(
    call: &KernelCall<'_, '_>,
    [dividend, divisor]: [usize; 2],
    findings: &mut Findings,
    locate: &Locator<'_>,
) {
    let least = |scalar_type: ScalarType| match scalar_type {
        ScalarType::INT => Some(i64::from(i32::MIN)),
        ScalarType::LONG => Some(i64::MIN),
        _ => None,
    };
    let (Some((value, EValue::Tensor(tensor))), Some((by, other))) = (call.argument(dividend), call.argument(divisor))
    else {
        return;
    };
    let Some(least) = least(tensor.scalar_type) else { return };
    // Without a rounding mode, it divides floating point numbers.
    let has_mode = call.known.signature.args.get(2).is_some_and(|arg| arg.kind.base == Base::Str);
    if has_mode && matches!(call.argument(2), Some((_, EValue::Null)))
        || call.is_only_callers(value) && call.same(value).is_none()
    {
        return;
    }
    let divisors: Vec<SameInts> = match other {
        EValue::Tensor(other) if tensor.scalar_type == ScalarType::INT && other.scalar_type == ScalarType::LONG => {
            return;
        }
        EValue::Tensor(_) => call.elements(by, -1, findings, locate),
        _ if call.int(divisor) == Some(-1) => vec![[Some(-1)].into()],
        _ => return,
    };
    if !divisors.iter().any(|divisors| divisors.contains(&Some(-1))) {
        return;
    }
    // Tensors of equal sizes are divided element by element; of others, any element may be divided by any.
    let is_alike = other.as_tensor().is_some_and(|other| sizes(other) == sizes(tensor));
    let overflows = |dividends: &SameInts, divisors: &SameInts| match is_alike && dividends.len() == divisors.len() {
        true => dividends.iter().zip(divisors.iter()).any(|pair| pair == (&Some(least), &Some(-1))),
        false => dividends.contains(&Some(least)) && divisors.contains(&Some(-1)),
    };
    let dividends = call.elements(value, least, findings, locate);
    if dividends.iter().any(|dividends| divisors.iter().any(|divisors| overflows(dividends, divisors))) {
        findings.add(O_14, || {
            let names = [dividend, divisor].map(|at| &call.known.signature.args[at].name);
            let found = format!("{least} in argument `{}` of {}, with the divisor -1", names[0], call.known.name);
            let expected = "numbers whose quotient is of their element type".to_owned();
            (locate(&call.method.arg(call.step, dividend)), found, expected)
        });
    }
}

/// Checks that a tensor of a copy between devices is not on the CPU.
fn check_device(call: &KernelCall<'_, '_>, position: usize, findings: &mut Findings, locate: &Locator<'_>) {
    let on_cpu = |tensor: &&Tensor| tensor.device().device_type == DeviceType::CPU;
    if call.tensor(position).filter(on_cpu).is_some() {
        findings.add(O_14, || {
            let name = &call.known.signature.args[position].name;
            let found = format!("a tensor on the CPU for argument `{name}` of {}", call.known.name);
            (locate(&call.method.arg(call.step, position)), found, "a tensor on another device".to_owned())
        });
    }
}

/// Checks the out of a copy to another order of dimensions, and that the copy is blocking.
fn check_dim_order(call: &KernelCall<'_, '_>, findings: &mut Findings, locate: &Locator<'_>) {
    let mut report = |position: usize, found: String, expected: String| {
        findings.add(O_13, || (locate(&call.method.arg(call.step, position)), found, expected));
    };
    if let Some((value, EValue::Bool(true))) = call.argument(1)
        && call.is_unchanged(value)
    {
        report(1, "non_blocking: true".to_owned(), "false".to_owned());
    }
    let (Some(from), Some(to), Some((_, order))) = (call.tensor(0), call.tensor(3), call.argument(2)) else { return };
    let dim_order =
        |tensor: &Tensor| tensor.dim_order.as_deref().map(|order| order.iter().map(|d| i64::from(*d)).collect());
    let (expected, why): (Option<Vec<i64>>, _) = match order {
        EValue::Null => (dim_order(from), "that of the input, since the call has none"),
        EValue::IntList(Some(items)) if !call.method.accesses().is_truncated => {
            let item = |item: &i64| call.unchanged_int(call.method.value(ValueId::of_int(*item))?);
            (items.iter().map(item).collect(), "that of argument 2")
        }
        _ => return,
    };
    let found: Option<Vec<i64>> = dim_order(to);
    if let (Some(expected), Some(found)) = (expected, found)
        && expected != found
    {
        report(3, format!("dim_order {found:?}"), format!("{expected:?}, {why}"));
    }
}

impl<'m, 'p: 'm> KernelCall<'m, 'p> {
    pub(super) fn argument(&self, position: usize) -> Option<(usize, &'p EValue)> {
        let value = self.method.value(*self.args.get(position)?)?;
        Some((value, &self.method.values()[value]))
    }

    fn tensor(&self, position: usize) -> Option<&'m Tensor> {
        self.tensor_of(self.argument(position)?.0)
    }

    /// Returns a tensor with the sizes that it has when the call is reached.
    pub(super) fn tensor_of(&self, value: usize) -> Option<&'m Tensor> {
        let resized = self.resized.iter().find(|(other, _)| *other == value);
        resized.map(|(_, tensor)| tensor).or_else(|| self.method.values()[value].as_tensor())
    }

    /// Returns an Int or Double argument; `None` for other kinds, and if an instruction replaces it.
    fn float(&self, position: usize) -> Option<f64> {
        let (value, argument) = self.argument(position)?;
        if let Some(Item::Double(bits)) = self.assumed(value) {
            return Some(f64::from_bits(bits));
        }
        if let EValue::Double(float) = argument {
            return self.is_unchanged(value).then_some(*float);
        }
        self.unchanged_int(value).map(|int| int as f64)
    }

    /// Returns an Int argument; `None` for other kinds, and if an instruction replaces it.
    fn int(&self, position: usize) -> Option<i64> {
        self.unchanged_int(self.argument(position)?.0)
    }

    /// Returns the Int of a value if it is unchanged when the call is reached.
    pub(super) fn unchanged_int(&self, value: usize) -> Option<i64> {
        match self.assumed(value) {
            Some(Item::Int(int)) => return Some(int),
            Some(_) => return None,
            None => {}
        }
        let EValue::Int(int) = &self.method.values()[value] else { return None };
        self.is_unchanged(value).then_some(*int)
    }

    fn assumed(&self, value: usize) -> Option<Item> {
        self.assumed.iter().find(|(other, _)| *other == value).map(|(_, item)| *item)
    }

    /// Returns the contents that a tensor may have, as far as they follow from the file. Reports those that are not
    /// evaluated.
    fn contents(&self, value: usize, findings: &mut Findings, locate: &Locator<'_>) -> Vec<u32> {
        // A kernel that rejects wrong indices does not trust them.
        let is_trusted = !self.known.facts.checks_indices;
        let EValue::Tensor(tensor) = &self.method.values()[value] else { return Vec::new() };
        let mut all = self.values.contents.borrow_mut();
        let Some(possible) = self.values.trusted.get(&(self.step, value)) else {
            let constant = self.method.constant(tensor).filter(|_| self.is_unchanged(value));
            return constant.map(|data| all.add(Node::Constant(data))).into_iter().collect();
        };
        let mut contents = Vec::new();
        for item in &possible.known {
            let Item::Content(content) = *item else { continue };
            match all.evaluate(self.method, content) {
                Ok(_) => contents.push(content),
                Err(reason) if is_trusted => self.report_open(value, &reason, findings, locate),
                Err(_) => {}
            }
        }
        if let Some(open) = possible.open.filter(|_| is_trusted) {
            self.report_open(value, &open.reason(self.method), findings, locate);
        }
        contents
    }

    /// Returns the Ints that a tensor may have, in the order of its memory, also with those that are the same whatever
    /// the caller passes: as far as an element may be `wanted`.
    fn elements(&self, value: usize, wanted: i64, findings: &mut Findings, locate: &Locator<'_>) -> Vec<SameInts> {
        let mut known = self.ints(value, findings, locate);
        let mut all = self.values.contents.borrow_mut();
        // They are read once more for each call.
        known.retain(|ints| {
            let may_be = all.bounds(ints).is_some_and(|[least, most]| (least..=most).contains(&wanted));
            may_be && all.spend(self.method, ints.len().saturating_mul(8)).is_some()
        });
        let known = known.into_iter().map(|ints| ints.iter().copied().map(Some).collect::<SameInts>());
        known.chain(self.same(value).cloned()).collect()
    }

    /// Returns the elements of a tensor that are the same whatever the caller passes.
    fn same(&self, value: usize) -> Option<&'m SameInts> {
        self.values.same.get(&(self.step, value))
    }

    /// Returns `true` for a tensor whose content only the caller decides.
    fn is_only_callers(&self, value: usize) -> bool {
        let possible = self.values.trusted.get(&(self.step, value));
        possible.is_some_and(|possible| possible.known.is_empty() && possible.open.is_none())
    }

    /// Returns the Ints that a tensor of int32 or int64 may have, as far as they follow from the file, in the order of
    /// its memory; those of a tensor that is filled with a number, once. Reports those that are not evaluated.
    fn ints(&self, value: usize, findings: &mut Findings, locate: &Locator<'_>) -> Vec<ConstantInts> {
        let scalar_type = self.method.facts[value].scalar_type;
        if !matches!(scalar_type, ScalarType::INT | ScalarType::LONG) {
            return Vec::new();
        }
        let contents = self.contents(value, findings, locate);
        let mut all = self.values.contents.borrow_mut();
        // A content that is too large to be read is reported as a limit.
        contents.into_iter().filter_map(|content| all.ints(self.method, content, scalar_type)).collect()
    }

    /// Reports an operand that follows from the file, but is not evaluated.
    pub(super) fn report_open(&self, value: usize, reason: &str, findings: &mut Findings, locate: &Locator<'_>) {
        let step = self.method.step_accesses(self.step);
        let tensor = value % self.method.values().len();
        let Some(access) = step.iter().find(|access| access.value as usize == tensor && access.kind.keeps()) else {
            return;
        };
        findings.add(X_30, || {
            let name = self.known.signature.args.get(access.arg as usize).map_or("", |arg| &*arg.name);
            let what = if value == tensor { "" } else { "the sizes of " };
            let found = format!(
                "not fully checked: {what}values[{tensor}], for argument `{name}` of {}, follows from the file; {reason}",
                self.known.name
            );
            let expected = "a constant, or a value that is computed from inputs, or by operators that are evaluated";
            (locate(&self.method.element_of(access)), found, expected.to_owned())
        });
    }

    /// Returns `true` if no earlier instruction writes a value. In a method with jumps, no instruction may write it,
    /// because a later one may run first.
    pub(super) fn is_unchanged(&self, value: usize) -> bool {
        self.method.first_write(value).is_none_or(|write| !self.jumps && write >= self.step)
    }
}

/// Receiver of an invalid argument: its position, the value found, and the value expected.
type Report<'r> = dyn FnMut(usize, String, String) + 'r;

/// Checks the arguments of a quantization or dequantization.
fn check_quantization(
    quantization: &Quantization,
    call: &KernelCall<'_, '_>,
    findings: &mut Findings,
    locate: &Locator<'_>,
) {
    let report = &mut |position: usize, found: String, expected: String| {
        findings.add(O_8, || (locate(&call.method.arg(call.step, position)), found, expected));
    };
    let Some(quantized) = QuantizationCall::of(quantization, call) else { return };
    quantized.check_types(report);
    quantized.check_range(report);
    quantized.check_sizes(report);
    let Some(channels) = quantized.channels(report).filter(|_| quantization.tensors) else { return };
    let zero_points = quantized.zero_points(findings, locate);
    let report = &mut |position: usize, found: String, expected: String| {
        findings.add(O_8, || (locate(&call.method.arg(call.step, position)), found, expected));
    };
    quantized.check_zero_points(zero_points, report);
    quantized.check_scales(channels, report);
}

/// A call that quantizes or dequantizes.
struct QuantizationCall<'c, 'm, 'p> {
    facts: &'c Quantization,
    call: &'c KernelCall<'m, 'p>,
    input: &'m Tensor,
    result: &'m Tensor,
    /// Position of the out.
    out: usize,
    /// Range of the type of the quantized tensor; `None` if the type is not a quantized one.
    bounds: Option<(i64, i64)>,
    /// quant_min and quant_max; `None` if they are not known.
    range: (Option<i64>, Option<i64>),
}

impl<'c, 'm, 'p> QuantizationCall<'c, 'm, 'p> {
    fn of(facts: &'c Quantization, call: &'c KernelCall<'m, 'p>) -> Option<QuantizationCall<'c, 'm, 'p>> {
        let out = facts.range() + if facts.quantizes { 3 } else { 4 };
        let (input, result) = (call.tensor(0)?, call.tensor(out)?);
        let small = if facts.quantizes { result } else { input };
        let bounds = small.scalar_type.integers().filter(|_| small.scalar_type != ScalarType::LONG);
        let range = (call.int(facts.range()), call.int(facts.range() + 1));
        Some(QuantizationCall { facts, call, input, result, out, bounds, range })
    }

    /// Returns the type of the quantized tensor, and that of the other one.
    fn types(&self) -> (ScalarType, ScalarType) {
        let (input, result) = (self.input.scalar_type, self.result.scalar_type);
        if self.facts.quantizes { (result, input) } else { (input, result) }
    }

    /// Returns `true` for a call that dequantizes per channel or per token.
    fn dequantizes_several(&self) -> bool {
        self.facts.channels != Channels::One && !self.facts.quantizes
    }

    /// Checks the types of the tensors, and the arguments that repeat them. Types of the other arguments are in
    /// `types.table` (O-14).
    fn check_types(&self, report: &mut Report<'_>) {
        let (call, out, dtype, (small, real)) = (self.call, self.out, self.facts.range() + 2, self.types());
        let quantizes = self.facts.quantizes;
        if !quantizes && !matches!(real, ScalarType::HALF | ScalarType::FLOAT | ScalarType::DOUBLE) {
            report(out, format!("a tensor of {real}"), "float16, float32 or float64".into());
        }
        if quantizes && self.bounds.is_none() {
            report(out, format!("a tensor of {small}"), "uint8, int8, int16, int32 or uint16".into());
        }
        if let Some(code) = call.int(dtype).filter(|code| *code != i64::from(small.0)) {
            report(dtype, format!("dtype {code}"), format!("{}, the type of the quantized tensor", small.0));
        }
        if !quantizes && let Some(code) = call.int(dtype + 1).filter(|code| *code != i64::from(real.0)) {
            report(dtype + 1, format!("out_dtype {code}"), format!("{}, the type of the out", real.0));
        }
        // In this case, the kernel for int8 writes float32, whatever the type of the out.
        if let (true, Some((_, EValue::Null))) = (self.dequantizes_several(), call.argument(dtype + 1))
            && small == ScalarType::CHAR
            && real != ScalarType::FLOAT
        {
            report(out, format!("a tensor of {real}"), "float32, without an out_dtype".into());
        }
    }

    /// Checks quant_min and quant_max.
    fn check_range(&self, report: &mut Report<'_>) {
        let (position, (least, most), (small, _)) = (self.facts.range(), self.range, self.types());
        if let (true, Some((low, high))) = (self.facts.quantizes, self.bounds) {
            if let Some(least) = least.filter(|least| *least < low) {
                report(position, format!("quant_min {least}"), format!("at least {low}, the minimum of {small}"));
            }
            if let Some(most) = most.filter(|most| *most > high) {
                report(position + 1, format!("quant_max {most}"), format!("at most {high}, the maximum of {small}"));
            }
        }
        if let (false, Some(least), Some(most)) = (self.facts.quantizes, least, most)
            && least > most
        {
            report(position, format!("quant_min {least}"), format!("at most {most}, the quant_max"));
        }
    }

    /// Checks that the out has the sizes of the input, or can be resized to them.
    fn check_sizes(&self, report: &mut Report<'_>) {
        let (input, out) = (sizes(self.input), sizes(self.result));
        let fits = match self.result.shape_dynamism {
            TensorShapeDynamism::STATIC => input == out,
            _ => input.len() == out.len() && count(input) <= count(out),
        };
        if !fits {
            report(self.out, format!("sizes {out:?}"), format!("{input:?}, the sizes of the input"));
        }
    }

    /// Returns the number of scales; `None` if the axis is not known, or is invalid, which is reported.
    fn channels(&self, report: &mut Report<'_>) -> Option<i128> {
        let sizes = sizes(self.input);
        match self.facts.channels {
            Channels::One => Some(1),
            Channels::Rows => Some(sizes.split_last().map_or(1, |(_, rows)| count(rows))),
            Channels::Axis(at) => {
                let axis = self.call.int(at)?;
                let size = dimension(axis, sizes);
                if size.is_none() {
                    report(at, format!("axis {axis}"), format!("a dimension of a tensor of rank {}", sizes.len()));
                }
                size
            }
        }
    }

    /// Returns `true` if the zero points are None, which means zero points of 0.
    fn has_no_zero_points(&self) -> bool {
        matches!(self.call.argument(2), Some((value, EValue::Null)) if self.call.is_unchanged(value))
    }

    /// Returns the zero points that follow from the file, if the kernel compares them.
    fn zero_points(&self, findings: &mut Findings, locate: &Locator<'_>) -> Vec<ConstantInts> {
        match self.call.argument(2) {
            _ if !self.compares_zero_points() => Vec::new(),
            _ if self.has_no_zero_points() => vec![ConstantInts::from([0])],
            Some((value, EValue::Tensor(_))) => {
                let mut ints = self.call.ints(value, findings, locate);
                ints.extend(self.call.same(value).map(|same| same.iter().flatten().copied().collect()));
                ints
            }
            Some(_) | None => Vec::new(),
        }
    }

    /// Checks that zero points of int8 are in the range of quantized values, if the kernel compares them.
    fn check_zero_points(&self, zero_points: Vec<ConstantInts>, report: &mut Report<'_>) {
        let (Some(least), Some(most)) = self.range else { return };
        if !self.compares_zero_points() {
            return;
        }
        let mut zeros = zero_points.iter().flat_map(|zeros| zeros.iter()).copied();
        if let Some(wrong) = zeros.find(|zero| !(least..=most).contains(zero)) {
            let is_absent = self.has_no_zero_points();
            let found = if is_absent { "no zero points".to_owned() } else { format!("zero point {wrong}") };
            report(2, found, format!("{least} to {most}, the range of quantized values"));
        }
        // Torch also rejects such a range: it contains no zero point of the type.
        if let Some((low, high)) = self.bounds.filter(|(low, high)| least > *high || most < *low) {
            let found = format!("a range of quantized values from {least} to {most}");
            report(self.facts.range(), found, format!("values of {}, {low} to {high}", self.types().0));
        }
    }

    /// Returns `true` if a kernel that dequantizes per channel or per token aborts for a zero point outside the range
    /// of quantized values. Only the kernel for contiguous int8 and float32 does, if there are elements. It reads
    /// tokens as if they were contiguous.
    fn compares_zero_points(&self) -> bool {
        let sizes = sizes(self.input);
        let is_contiguous =
            || self.input.dim_order.iter().flat_map(|order| order.iter()).copied().map(usize::from).eq(0..sizes.len());
        self.dequantizes_several()
            && self.types() == (ScalarType::CHAR, ScalarType::FLOAT)
            && !sizes.contains(&0)
            && (self.facts.channels == Channels::Rows || is_contiguous())
    }

    /// Checks the tensors of scales and zero points.
    fn check_scales(&self, channels: i128, report: &mut Report<'_>) {
        for position in [1, 2] {
            let Some(tensor) = self.call.tensor(position) else { continue };
            // Dequantizing per channel or token takes zero points of int32 and reads them as int64.
            if position == 2 && tensor.scalar_type != ScalarType::LONG {
                report(position, format!("a tensor of {}", tensor.scalar_type), ScalarType::LONG.to_string());
            }
            // Inputs can have at most the sizes in the file, and the kernel aborts with these.
            if count(sizes(tensor)) != channels {
                report(position, counted(count(sizes(tensor)), "element"), format!("{channels}, one per channel"));
            }
        }
    }
}

fn sizes(tensor: &Tensor) -> &[i32] {
    tensor.sizes.as_deref().unwrap_or_default()
}

fn count(sizes: &[i32]) -> i128 {
    sizes.iter().map(|size| i128::from(*size)).fold(1, i128::saturating_mul)
}

/// Returns the size of a dimension; a negative axis counts from the end. `None` if it is out of range.
fn dimension(axis: i64, sizes: &[i32]) -> Option<i128> {
    let rank = sizes.len() as i64;
    let at = if axis < 0 { axis.checked_add(rank)? } else { axis };
    sizes.get(usize::try_from(at).ok()?).map(|size| i128::from(*size))
}
