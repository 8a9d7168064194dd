//! Operands that kernels trust, computed in many ways: each way to an operand with which the kernel crashes is an
//! error, each way to a harmless one is none, unless it is not evaluated. lab/tests/runtime/adversary executes
//! more of them.

use std::collections::BTreeSet;

use crate::Model;
use pte_check::RuleId::{self, *};
use pte_check::{CheckOptions, RuleSeverity};

/// Returns the rules of the errors of a method, without the data.
pub(super) fn errors_in(method: &str) -> Vec<RuleId> {
    let yaml = format!("methods:\n  forward:\n{method}");
    let model = Model::from_yaml("method.yaml", &yaml, ".");
    // The assembler finds some, too.
    let Ok(findings) = model.check(&CheckOptions::default()) else { return vec![O_14] };
    let errors = findings[0]
        .1
        .list
        .iter()
        .filter(|finding| matches!(finding.rule.severity, RuleSeverity::Malformed | RuleSeverity::Invalid));
    let found: BTreeSet<RuleId> = errors.map(|finding| finding.rule.id).collect();
    found.into_iter().collect()
}

/// A way to compute an operand from `V`: values, and instructions after which it is there.
struct Way {
    name: &'static str,
    values: &'static str,
    instructions: &'static str,
    /// The operand is evaluated: a harmless one is no error.
    is_evaluated: bool,
}

const fn way(name: &'static str, values: &'static str, instructions: &'static str) -> Way {
    Way { name, values, instructions, is_evaluated: true }
}

/// A way that is not evaluated: an error, whatever the operand is.
const fn open(name: &'static str, values: &'static str, instructions: &'static str) -> Way {
    Way { is_evaluated: false, ..way(name, values, instructions) }
}

/// Ways to a tensor `i` of one int64, V.
const TENSORS: &[Way] = &[
    way("a constant", "i: {tensor: int64, data: [V]}", ""),
    way("a copy of a constant", "c: {tensor: int64, data: [V]}", "- {kernel: aten::clone.out, args: [c], out: i}"),
    way("a filled tensor", "", "- {kernel: aten::full.out, args: [[1], V], out: i}"),
    way(
        "two writers",
        "i: {tensor: int64, sizes: [1]}",
        "- {kernel: aten::full.out, args: [[1], 1], out: i}\n- {kernel: aten::full.out, args: [[1], V], out: i}",
    ),
    way("a range", "", "- {kernel: aten::arange.start_out, args: [V, {int: 100000000}, 100000000], out: i}"),
    way("state", "i: {tensor: int64, mutable: true, data: [V]}", ""),
    way(
        "state of the execution before",
        "i: {tensor: int64, mutable: true, data: [1]}\nc: {tensor: int64, data: [V]}",
        "READ\n- {kernel: aten::copy_, args: [i, c, false, i]}",
    ),
    way(
        "a moved constant",
        "c: {tensor: int64, data: [V]}\ni: {tensor: int64, sizes: [1]}",
        "- {move: {from: c, to: i}}",
    ),
    way(
        "a moved result",
        "t: {tensor: int64, sizes: [1]}\ni: {tensor: int64, sizes: [1]}",
        "- {kernel: aten::full.out, args: [[1], V], out: t}\n- {move: {from: t, to: i}}",
    ),
    way(
        "a result after it was moved",
        "t: {tensor: int64, sizes: [1]}\ni: {tensor: int64, sizes: [1]}",
        "- {kernel: aten::full.out, args: [[1], 1], out: t}\n- {move: {from: t, to: i}}\n- {kernel: aten::full.out, args: [[1], V], out: t}",
    ),
    way(
        "a view",
        "t: {tensor: int64, sizes: [1, 1]}\ni: {tensor: int64, sizes: [1]}",
        "- {kernel: aten::full.out, args: [[1, 1], V], out: t}\n- {kernel: executorch_prim::et_view.default, args: [t, [1]], out: i}",
    ),
    way(
        "a view of what is written again",
        "t: {tensor: int64, sizes: [1, 1]}\nc: {tensor: int64, sizes: [1, 1], data: [V]}\ni: {tensor: int64, sizes: [1]}",
        "- {kernel: aten::full.out, args: [[1, 1], 1], out: t}\n- {kernel: executorch_prim::et_view.default, args: [t, [1]], out: i}\n- {kernel: aten::copy_, args: [t, c, false, t]}",
    ),
    way(
        "a write through a view",
        "t: {tensor: int64, sizes: [1, 1]}\nc: {tensor: int64, data: [V]}\ni: {tensor: int64, sizes: [1]}",
        "- {kernel: aten::full.out, args: [[1], 1], out: i}\n- {kernel: executorch_prim::et_view.default, args: [i, [1, 1]], out: t}\n- {kernel: aten::full.out, args: [[1, 1], V], out: t}",
    ),
    way(
        "a copy over what nothing wrote",
        "c: {tensor: int64, data: [V]}\ni: {tensor: int64, sizes: [1], mutable: true}",
        "- {kernel: aten::copy_, args: [i, c, false, i]}",
    ),
    way(
        "a copy over an input",
        "c: {tensor: int64, data: [V]}",
        "- {kernel: aten::copy_, args: [x, c, false, x]}\n- {kernel: aten::clone.out, args: [x], out: i}",
    ),
    open(
        "an index that is stored where nothing was written",
        "c: {tensor: int64, sizes: [], data: [V]}\ni: {tensor: int64, sizes: [1], mutable: true}",
        "- {kernel: executorch_prim::et_copy_index.tensor, args: [i, c, 0]}",
    ),
    way(
        "the start of other memory",
        "f: {tensor: int64, sizes: [4], memory: {pool: 1, offset: 0}}\ni: {tensor: int64, sizes: [1], mutable: true, memory: {pool: 1, offset: 0}}",
        "- {kernel: aten::full.out, args: [[4], V], out: f}",
    ),
    way(
        "a sum",
        "c: {tensor: int64, data: [1]}",
        "- {kernel: aten::full.out, args: [[1], V], out: t}\n- {kernel: aten::mul.out, args: [t, c], out: i}",
    ),
    way(
        "a selection",
        "c: {tensor: int64, data: [1, V, 0]}",
        "- {kernel: aten::slice_copy.Tensor_out, args: [c, 0, 1, 2, 1], out: i}",
    ),
    way(
        "a concatenation",
        "c: {tensor: int64, data: [V]}\nn: {tensor: int64, data: [1]}",
        "- {kernel: aten::cat.out, args: [[n, c], 0], out: t}\n- {kernel: aten::slice_copy.Tensor_out, args: [t, 0, 1, 2, 1], out: i}",
    ),
    way(
        "a choice",
        "c: {tensor: int64, data: [V]}\nn: {tensor: int64, data: [1]}\nb: {tensor: bool, data: [true]}",
        "- {kernel: aten::where.self_out, args: [b, c, n], out: i}",
    ),
    way(
        "a conversion",
        "c: {tensor: int32, data: [V]}\ni: {tensor: int64, sizes: [1]}",
        "- {kernel: aten::_to_copy.out, args: [c], out: i}",
    ),
    way(
        "an element of a constant",
        "c: {tensor: int64, sizes: [], data: [V]}\nn: {int: 1}",
        "- {kernel: aten::_local_scalar_dense, args: [c, n]}\n- {kernel: aten::full.out, args: [[1], n], out: i}",
    ),
    way(
        "one of two branches",
        "",
        "- {jump_false: {cond: p, to: other}}\n- {kernel: aten::full.out, args: [[1], V], out: i}\n- {jump_false: {cond: false, to: end}}\n- {label: other, kernel: aten::full.out, args: [[1], 1], out: i}\n- {label: end}",
    ),
    open(
        "a kernel that is not evaluated",
        "c: {tensor: int64, data: [V]}",
        "- {kernel: aten::relu.out, args: [c], out: i}",
    ),
    open(
        "a sum of a constant",
        "c: {tensor: int64, data: [V]}",
        "- {kernel: aten::sum.IntList_out, args: [c, [0], true], out: i}",
    ),
    open("a maximum", "c: {tensor: int64, data: [V]}", "- {kernel: aten::amax.out, args: [c, [0], true], out: i}"),
    way(
        "a part of other memory",
        "f: {tensor: int64, sizes: [4], memory: {pool: 1, offset: 0}}\ni: {tensor: int64, sizes: [1], mutable: true, memory: {pool: 1, offset: 8}}",
        "- {kernel: aten::full.out, args: [[4], V], out: f}",
    ),
];

/// Ways to an Int `n`, V.
const NUMBERS: &[Way] = &[
    way("a literal", "n: {int: V}", ""),
    way("a move", "n: {int: 1}", "- {move: {from: V, to: n}}"),
    way("a move over an input", "n: {int: 1}", "- {move: {from: V, to: y}}\n- {move: {from: y, to: n}}"),
    way(
        "an unlikely choice",
        "n: {int: 1}\nb: {bool: false}",
        "- {kernel: executorch_prim::eq.Scalar, args: [1, 2, b]}\n- {kernel: executorch_prim::sym_ite.Scalar, args: [b, 7, V, n]}",
    ),
    way("a sum", "n: {int: 1}", "- {kernel: executorch_prim::add.Scalar, args: [V, 0, n]}"),
    way(
        "a product of a sum",
        "n: {int: 1}\nm: {int: 1}",
        "- {kernel: executorch_prim::add.Scalar, args: [V, 0, m]}\n- {kernel: executorch_prim::mul.Scalar, args: [m, 1, n]}",
    ),
    way(
        "a number that was a Double",
        "n: {int: 1}\nd: {double: 1.0}",
        "- {kernel: executorch_prim::sym_float.Scalar, args: [V, d]}\n- {kernel: executorch_prim::sym_int.Scalar, args: [d, n]}",
    ),
    way(
        "a choice",
        "n: {int: 1}\nb: {bool: false}",
        "- {kernel: executorch_prim::eq.Scalar, args: [1, 1, b]}\n- {kernel: executorch_prim::sym_ite.Scalar, args: [b, V, 1, n]}",
    ),
    way(
        "a comparison of large numbers",
        "n: {int: 1}\nb: {bool: false}",
        "- {kernel: executorch_prim::gt.Scalar, args: [9007199254740993, 9007199254740992, b]}\n- {kernel: executorch_prim::sym_ite.Scalar, args: [b, V, 1, n]}",
    ),
    way("a maximum", "n: {int: 1}", "- {kernel: executorch_prim::sym_max.Scalar, args: [V, -5, n]}"),
    way(
        "a negative number",
        "n: {int: 1}\nm: {int: 1}",
        "- {kernel: executorch_prim::neg.Scalar, args: [V, m]}\n- {kernel: executorch_prim::neg.Scalar, args: [m, n]}",
    ),
    way(
        "an element of a constant",
        "n: {int: 1}\nz: {tensor: int64, sizes: [], data: [V]}",
        "- {kernel: aten::_local_scalar_dense, args: [z, n]}",
    ),
    way(
        "an element of a bool",
        "n: {int: 1}\nm: {bool: false}\nz: {tensor: bool, sizes: [], data: [true]}",
        "- {kernel: aten::_local_scalar_dense, args: [z, m]}\n- {kernel: executorch_prim::sym_ite.Scalar, args: [m, V, 1, n]}",
    ),
    way(
        "a size",
        "n: {int: 1}\nc: {tensor: float32, data: [1, 2]}",
        "- {kernel: aten::sym_size.int, args: [c, 0, n]}\n- {kernel: executorch_prim::sub.Scalar, args: [n, 2, n]}\n- {kernel: executorch_prim::add.Scalar, args: [n, V, n]}",
    ),
    way(
        "a counter",
        "n: {int: 5}\nk: {int: 0}\nb: {bool: false}",
        "- {move: {from: 5, to: n}}\n- {move: {from: 0, to: k}}\n- {label: top, kernel: executorch_prim::add.Scalar, args: [k, 1, k]}\n- {kernel: executorch_prim::ge.Scalar, args: [k, 1000, b]}\n- {jump_false: {cond: b, to: top}}\n- {kernel: executorch_prim::sub.Scalar, args: [k, 1000, n]}\n- {kernel: executorch_prim::add.Scalar, args: [n, V, n]}",
    ),
    way(
        "a counter after a branch",
        "n: {int: 5}\nk: {int: 0}\nb: {bool: false}",
        "- {jump_false: {cond: p, to: skip}}\n- {label: skip}\n- {move: {from: 0, to: k}}\n- {label: top, kernel: executorch_prim::add.Scalar, args: [k, 1, k]}\n- {kernel: executorch_prim::ge.Scalar, args: [k, 300, b]}\n- {jump_false: {cond: b, to: top}}\n- {kernel: executorch_prim::sub.Scalar, args: [k, 300, n]}\n- {kernel: executorch_prim::add.Scalar, args: [n, V, n]}",
    ),
    way("the execution before", "n: {int: 1}", "READ\n- {move: {from: V, to: n}}"),
    way(
        "one of two branches",
        "n: {int: 5}",
        "- {move: {from: 5, to: n}}\n- {jump_false: {cond: p, to: end}}\n- {move: {from: V, to: n}}\n- {label: end}",
    ),
    open(
        "a long loop",
        "n: {int: 5}\nk: {int: 0}\nb: {bool: false}",
        "- {move: {from: 0, to: k}}\n- {label: top, kernel: executorch_prim::add.Scalar, args: [k, 1, k]}\n- {kernel: executorch_prim::ge.Scalar, args: [k, 200000, b]}\n- {jump_false: {cond: b, to: top}}\n- {kernel: executorch_prim::sub.Scalar, args: [k, 200000, n]}\n- {kernel: executorch_prim::add.Scalar, args: [n, V, n]}",
    ),
    open(
        "a product of Ints that overflows",
        "n: {int: 1}\nm: {int: 1}",
        "- {kernel: executorch_prim::mul.Scalar, args: [4611686018427387904, 4, m]}\n- {kernel: executorch_prim::add.Scalar, args: [m, V, n]}",
    ),
];

/// Returns a method with a way to an operand, and the call that reads it.
fn method(way: &Way, operand: &str, values: &str, call: &str) -> String {
    let indent = |text: &str, by: &str| text.lines().map(|line| format!("{by}{line}\n")).collect::<String>();
    let instructions = match way.instructions.contains("READ") {
        true => way.instructions.replace("READ", call),
        false => format!("{}\n{call}", way.instructions),
    };
    let text = format!(
        "    values:\n{}{}      p: {{bool: true}}\n      y: {{int: 1}}\n      x: {{tensor: int64, sizes: [1]}}\n    inputs: [p, y, x]\n    outputs: [e]\n    instructions:\n{}",
        indent(values, "      "),
        indent(way.values, "      "),
        indent(instructions.trim(), "      ")
    );
    text.replace('V', operand)
}

/// Asserts that each way to a crashing operand is an error, and that each way to a harmless one is none.
fn assert_ways(ways: &[Way], [crashing, harmless]: [&str; 2], values: &str, call: &str) {
    for way in ways {
        let found = |operand| errors_in(&method(way, operand, values, call));
        assert!(!found(crashing).is_empty(), "{}: {}", way.name, method(way, crashing, values, call));
        let found = found(harmless);
        let is_expected = if way.is_evaluated { found.is_empty() } else { found.contains(&X_30) };
        assert!(is_expected, "{}: {found:?}\n{}", way.name, method(way, harmless, values, call));
    }
}

#[test]
fn indices_are_followed_however_they_are_computed() {
    let values =
        "w: {tensor: uint8, sizes: [4, 8], data: {fill: 1}}\ns: {tensor: float32, sizes: [4], data: [1, 1, 1, 1]}";
    let call = "- {kernel: quantized_decomposed::embedding_byte.out, args: [w, s, null, 0, 255, i], out: e}";
    assert_ways(TENSORS, ["1000000", "2"], values, call);
}

#[test]
fn divisors_are_followed_however_they_are_computed() {
    let call = "- {kernel: executorch_prim::mod.Scalar, args: [5, n, e]}";
    assert_ways(NUMBERS, ["0", "2"], "e: {int: 1}", call);
}

#[test]
fn dimensions_are_followed_however_they_are_computed() {
    let call = "- {kernel: aten::sym_size.int, args: [w, n, e]}";
    assert_ways(NUMBERS, ["9", "1"], "w: {tensor: float32, sizes: [4, 8], data: {fill: 1}}\ne: {int: 0}", call);
}

/// An element of a tensor without elements is not read.
#[test]
fn a_number_of_a_tensor_without_elements_is_not_known() {
    let found = errors_in(
        "    values:
      z: {tensor: int64, sizes: [0], data: []}
      n: {int: 1}
      r: {int: 1}
    outputs: [r]
    instructions:
      - {kernel: aten::_local_scalar_dense, args: [z, n]}
      - {kernel: executorch_prim::mod.Scalar, args: [5, n, r]}",
    );
    assert!(!found.is_empty());
}

/// A size that is chosen is checked as it is, not as its bound.
#[test]
fn the_greater_of_two_numbers_that_is_not_chosen_is_not_checked() {
    let found = errors_in(
        "    values:
      x: {tensor: float32, sizes: [3]}
      b: {bool: false}
      n: {int: 1}
      e: {tensor: float32, sizes: [1]}
    inputs: [x]
    outputs: [e]
    instructions:
      - {kernel: executorch_prim::eq.Scalar, args: [1, 1, b]}
      - {kernel: executorch_prim::sym_ite.Scalar, args: [b, 0, 1, n]}
      - {kernel: aten::narrow_copy.out, args: [x, n, 1, 1], out: e}",
    );
    assert_eq!(found, []);
}

/// The least integer and -1 belong to other elements.
#[test]
fn quotients_are_those_of_elements() {
    let call = |divisors: &str| {
        errors_in(&format!(
            "    values:
      a: {{tensor: int64, data: [-9223372036854775808, 5]}}
      b: {{tensor: int64, data: {divisors}}}
      o: {{tensor: int64, sizes: [2]}}
    outputs: [o]
    instructions:
      - {{kernel: aten::floor_divide.out, args: [a, b], out: o}}"
        ))
    };
    assert_eq!((call("[2, -1]"), call("[-1, 2]")), (vec![], vec![O_14]));
}

#[test]
fn operands_of_the_caller_are_not_errors() {
    let values = "    values:
      w: {tensor: uint8, sizes: [4, 8], data: {fill: 1}}
      s: {tensor: float32, sizes: [4], data: [1, 1, 1, 1]}
      x: {tensor: int64, sizes: [1]}
      n: {int: 1}
      state: {tensor: int64, sizes: [1], mutable: true, name: position}
    inputs: [x, n]
    outputs: [e]
    instructions:
";
    let read = "      - {kernel: quantized_decomposed::embedding_byte.out, args: [w, s, null, 0, 255, i], out: e}";
    for way in [
        "      - {kernel: aten::relu.out, args: [x], out: i}",
        "      - {kernel: aten::full.out, args: [[1], n], out: i}",
        "      - {kernel: aten::amax.out, args: [x, [0], true], out: i}",
        "      - {kernel: aten::relu.out, args: [state], out: i}",
    ] {
        assert_eq!(errors_in(&format!("{values}{way}\n{read}")), [], "{way}");
    }
}

/// What no value decides, or what values decide in another way: lists that are moved, delegates that write constants,
/// contents of random numbers, work without end. Each with the rule, and the method.
const OTHER_DEFECTS: &[(&str, RuleId, &str)] = &[
    (
        "a mask that is moved",
        X_26,
        "    values:
      mask: {bool_list: [false, false, false]}
      all: {bool_list: [true, true, true]}
      x: {tensor: float32, sizes: [1]}
    inputs: [x]
    outputs: [e]
    instructions:
      - {move: {from: all, to: mask}}
      - {kernel: aten::relu.out, args: [x], out: e}",
    ),
    (
        "a delegate that writes a constant",
        X_7,
        "    values:
      i: {tensor: float32, sizes: [2, 3]}
      e: {tensor: float32, sizes: [2, 3], data: {fill: 1}}
    delegates:
      d:
        backend: XnnpackBackend
        graph:
          values: {x: {datatype: fp32, sizes: [2, 3]}}
          inputs: [x]
          outputs: [y]
          nodes: [{clamp: {input: x, output: y}, output_min: 0, output_max: 6}]
    inputs: [i]
    outputs: [e]
    instructions:
      - {delegate: d, args: [i, e]}",
    ),
    (
        "a window of 2^24 for each of 262,145 results",
        O_14,
        "    values:
      x: {tensor: float32, sizes: [1, 1, 1, 262144]}
      e: {tensor: float32, sizes: [1, 1, 1, 262145]}
    inputs: [x]
    outputs: [e]
    instructions:
      - {kernel: aten::avg_pool2d.out, args: [x, [1, 16777216], [1, 1], [0, 8388608], false, true, null, e, e]}",
    ),
    (
        "tensors without elements in 2^62 rows",
        O_14,
        "    values:
      x: {tensor: float32, sizes: [2147483647, 2147483647, 0]}
    inputs: [x]
    outputs: [e]
    instructions:
      - {kernel: aten::cat.out, args: [[x, x], 2], out: e}",
    ),
    (
        "a loop of literals that does not end",
        X_10,
        "    values:
      k: {int: 0}
      c: {bool: false}
      x: {tensor: float32, sizes: [2]}
    inputs: [x]
    outputs: [e]
    instructions:
      - {move: {from: 0, to: k}}
      - {label: top, kernel: aten::relu.out, args: [x], out: e}
      - {kernel: executorch_prim::mul.Scalar, args: [k, 1, k]}
      - {kernel: executorch_prim::ge.Scalar, args: [k, 5, c]}
      - {jump_false: {cond: c, to: top}}",
    ),
    (
        "a dynamic tensor that is moved",
        O_14,
        "    values:
      x: {tensor: int8, sizes: [], dynamism: dynamic_bound}
      b: {tensor: int8, sizes: [], dynamism: dynamic_bound}
      e: {tensor: int8, sizes: []}
    inputs: [x]
    outputs: [e]
    instructions:
      - {move: {from: x, to: b}}
      - {kernel: aten::bmm.out, args: [b, b, e, e]}",
    ),
    (
        "a delegate that replaces numbers, and may write NaN",
        X_30,
        "    values:
      i: {tensor: float32, data: [.nan, 1]}
      f: {tensor: float32, sizes: [2], mutable: true, data: [0, 1]}
      e: {tensor: float64, sizes: [1]}
      z: {tensor: int64, sizes: [1]}
    delegates:
      d:
        backend: XnnpackBackend
        graph:
          values: {x: {datatype: fp32, sizes: [2]}}
          inputs: [x]
          outputs: [y]
          nodes: [{clamp: {input: x, output: y}, output_min: -.inf, output_max: .inf}]
    outputs: [e, z]
    instructions:
      - {delegate: d, args: [i, f]}
      - {kernel: quantized_decomposed::choose_qparams.Tensor_out, args: [f, 0, 255, 0.00001, 0], out: [e, z]}",
    ),
    (
        "NaN in state",
        O_14,
        "    values:
      f: {tensor: float32, sizes: [2], mutable: true, data: [.nan, 1]}
      e: {tensor: float64, sizes: [1]}
      z: {tensor: int64, sizes: [1]}
    outputs: [e, z]
    instructions:
      - {kernel: quantized_decomposed::choose_qparams.Tensor_out, args: [f, 0, 255, 0.00001, 0], out: [e, z]}",
    ),
    (
        "an index of random numbers",
        X_30,
        "    values:
      w: {tensor: uint8, sizes: [4, 8], data: {fill: 1}}
      sc: {tensor: float32, sizes: [4], data: {fill: 1}}
      r: {tensor: float32, sizes: [1]}
      k: {tensor: float32, sizes: [1], data: [1.0e12]}
      m: {tensor: float32, sizes: [1]}
      i: {tensor: int64, sizes: [1]}
      e: {tensor: float32, sizes: [1, 8]}
    outputs: [e]
    instructions:
      - {kernel: aten::rand.out, args: [[1], r, r]}
      - {kernel: aten::mul.out, args: [r, k, m, m]}
      - {kernel: dim_order_ops::_to_dim_order_copy.out, args: [m, false, [0], i, i]}
      - {kernel: quantized_decomposed::embedding_byte.out, args: [w, sc, null, 0, 255, i, e, e]}",
    ),
    (
        "an index that dropout copies",
        X_30,
        "    values:
      c: {tensor: float32, sizes: [1], data: [1.0e9]}
      m: {tensor: float32, sizes: [1]}
      k: {tensor: bool, sizes: [1]}
      i: {tensor: int64, sizes: [1]}
      w: {tensor: uint8, sizes: [4, 8], data: {fill: 1}}
      sc: {tensor: float32, sizes: [4], data: {fill: 1}}
      e: {tensor: float32, sizes: [1, 8]}
    outputs: [e]
    instructions:
      - {kernel: aten::native_dropout.out, args: [c, 0.0, false, m, k, {tensor_list: [m, k]}]}
      - {kernel: dim_order_ops::_to_dim_order_copy.out, args: [m, false, [0], i, i]}
      - {kernel: quantized_decomposed::embedding_byte.out, args: [w, sc, null, 0, 255, i, e, e]}",
    ),
    (
        "a tensor that is filled, like one of the caller",
        O_14,
        "    values:
      x: {tensor: int64, sizes: [1]}
      c: {tensor: int64, sizes: [1], data: [1000000]}
      t: {tensor: bool, sizes: [1], data: [true]}
      b: {tensor: bool, sizes: [1]}
      i: {tensor: int64, sizes: [1]}
      w: {tensor: uint8, sizes: [4, 8], data: {fill: 1}}
      sc: {tensor: float32, sizes: [4], data: {fill: 1}}
      e: {tensor: float32, sizes: [1, 8]}
    inputs: [x]
    outputs: [e]
    instructions:
      - {kernel: aten::full_like.out, args: [x, 1000000, null, i, i]}
      - {kernel: quantized_decomposed::embedding_byte.out, args: [w, sc, null, 0, 255, i, e, e]}",
    ),
    (
        "a divisor from a Double input",
        O_14,
        "    values:
      d: {double: 0.0}
      n: {int: 1}
      r: {int: 1}
    inputs: [d]
    outputs: [r]
    instructions:
      - {kernel: executorch_prim::trunc.Scalar, args: [d, n]}
      - {kernel: executorch_prim::mod.Scalar, args: [5, n, r]}",
    ),
    (
        "an index that grows in each execution",
        X_30,
        "    values:
      w: {tensor: uint8, sizes: [18, 8], data: {fill: 1}}
      sc: {tensor: float32, sizes: [18], data: {fill: 1}}
      i: {tensor: int64, sizes: [1], mutable: true, data: [0]}
      k: {tensor: int64, sizes: [1], data: [1]}
      e: {tensor: float32, sizes: [1, 8]}
    outputs: [e]
    instructions:
      - {kernel: quantized_decomposed::embedding_byte.out, args: [w, sc, null, 0, 255, i, e, e]}
      - {kernel: aten::add.out, args: [i, k, 1, i, i]}",
    ),
    (
        "large content of another element type",
        O_14,
        "    values:
      w: {tensor: uint8, sizes: [4, 1], data: {fill: 1}}
      s: {tensor: float32, sizes: [4], data: [1, 1, 1, 1]}
      f: {tensor: float32, sizes: [2097152], memory: {pool: 1, offset: 0}}
      i: {tensor: int64, sizes: [1048576], mutable: true, memory: {pool: 1, offset: 0}}
      e: {tensor: float32, sizes: [1048576, 1], memory: {pool: 2, offset: 0}}
    outputs: [e]
    instructions:
      - {kernel: aten::full.out, args: [[2097152], 1.0e10], out: f}
      - {kernel: quantized_decomposed::embedding_byte.out, args: [w, s, null, 0, 255, i], out: e}",
    ),
    (
        "the least integer divided by -1",
        O_14,
        "    values:
      a: {tensor: int32, sizes: [1], data: [-2147483648]}
      b: {tensor: int32, sizes: [1], data: [-1]}
      o: {tensor: int32, sizes: [1]}
    outputs: [o]
    instructions:
      - {kernel: aten::floor_divide.out, args: [a, b, o, o]}",
    ),
    (
        "the remainder of the least integer by -1",
        O_14,
        "    values:
      a: {tensor: int64, sizes: [1], data: [-9223372036854775808]}
      o: {tensor: int64, sizes: [1]}
    outputs: [o]
    instructions:
      - {kernel: aten::remainder.Scalar_out, args: [a, -1, o, o]}",
    ),
    (
        "repetitions whose sum overflows",
        O_14,
        "    values:
      r: {tensor: int64, sizes: [5], data: [4611686018427387904, 4611686018427387904, 4611686018427387904, 4611686018427387904, 8]}
      o: {tensor: int64, sizes: [8]}
    outputs: [o]
    instructions:
      - {kernel: aten::repeat_interleave.Tensor_out, args: [r, null, o, o]}",
    ),
    (
        "a delegate that writes a moved constant",
        X_7,
        "    delegates:
      d:
        backend: XnnpackBackend
        graph:
          values:
            x: {datatype: fp32, sizes: [4]}
          inputs: [x]
          outputs: [y]
          nodes:
            - {clamp: {input: x, output: y}, output_min: 0, output_max: 6}
    values:
      x: {tensor: float32, sizes: [4]}
      c: {tensor: float32, sizes: [4], data: [1, 2, 3, 4]}
      b: {tensor: float32, sizes: [4], mutable: true, data: [0, 0, 0, 0]}
    inputs: [x]
    outputs: [b]
    instructions:
      - {move: {from: c, to: b}}
      - {delegate: d, args: [x, b]}",
    ),
    (
        "a loop whose condition is a tensor of the file",
        O_14,
        "    values:
      i: {tensor: int64, sizes: []}
      one: {tensor: int64, sizes: [], data: [1]}
      ten: {tensor: int64, sizes: [], data: [10]}
      c: {tensor: bool, sizes: []}
      n: {int: 10}
      r: {int: 1}
    outputs: [r]
    instructions:
      - {kernel: aten::full.out, args: [[], 0, i, i]}
      - {move: {from: 8, to: n}}
      - {label: top, kernel: executorch_prim::sub.Scalar, args: [n, 1, n]}
      - {kernel: executorch_prim::mod.Scalar, args: [5, n, r]}
      - {kernel: aten::add.out, args: [i, one, 1, i, i]}
      - {kernel: aten::ge.Tensor_out, args: [i, ten, c, c]}
      - {jump_false: {cond: c, to: top}}",
    ),
    (
        "a convolution of 2.5 * 10^15 products",
        O_14,
        "    values:
      x: {tensor: float32, sizes: [1, 1, 5000, 5000]}
      w: {tensor: float32, sizes: [1, 1, 5000, 5000]}
      o: {tensor: float32, sizes: [1, 1, 9999, 9999]}
    inputs: [x, w]
    outputs: [o]
    instructions:
      - {kernel: aten::convolution.out, args: [x, w, null, [1, 1], [4999, 4999], [1, 1], false, [0, 0], 1, o, o]}",
    ),
    (
        "a loop without end by a tensor of the file",
        X_10,
        "    values:
      a: {tensor: int64, sizes: [], data: [1]}
      b: {tensor: int64, sizes: [], data: [2]}
      c: {tensor: bool, sizes: []}
      x: {tensor: float32, sizes: [1024, 1024]}
      o: {tensor: float32, sizes: [1024, 1024]}
    inputs: [x]
    outputs: [o]
    instructions:
      - {label: top, kernel: aten::mm.out, args: [x, x, o, o]}
      - {kernel: aten::eq.Tensor_out, args: [a, b, c, c]}
      - {jump_false: {cond: c, to: top}}",
    ),
];

#[test]
fn other_defects_that_crash_are_errors() {
    for (what, expected, text) in OTHER_DEFECTS {
        assert_eq!(errors_in(text), [*expected], "{what}");
    }
}

/// The packages of ExecuTorch have the CPU only.
#[test]
fn a_tensor_on_another_device_is_a_note() {
    let yaml = "methods: {forward: {
      values: {x: {tensor: float32, sizes: [2], device: cuda}, e: {tensor: float32, sizes: [2]}},
      inputs: [x], outputs: [e], instructions: [{kernel: aten::relu.out, args: [x], out: e}]}}";
    let findings = Model::from_yaml("device.yaml", yaml, ".").check(&CheckOptions::default()).unwrap();
    let found = findings[0].1.list.iter().find(|finding| finding.rule.id == T_14).expect("a finding");
    assert_eq!((&*found.found, found.rule.severity), ("CUDA", RuleSeverity::Note));
}

#[test]
fn the_first_element_of_an_empty_constant_is_not_read() {
    let yaml = "methods: {forward: {values: {
      w: {tensor: float32, sizes: [3, 0, 3], data: {hex: \"\"}}, n: {int: 0}},
      outputs: [n], instructions: [{kernel: aten::_local_scalar_dense, args: [w, n]}]}}";
    let model = crate::Model::from_yaml("m.yaml", yaml, ".");
    assert!(model.check(&pte_check::CheckOptions::default()).is_ok());
}

/// The runtime accepts only the stored value for an Int or a Bool that is an input (I-27).
#[test]
fn numbers_that_are_inputs_are_those_of_the_file() {
    let program = |divisor: i64| {
        format!(
            "methods: {{forward: {{values: {{x: {divisor}, y: 7, z: 64}}, inputs: [x], outputs: [z],
            instructions: [{{kernel: executorch_prim::floordiv.Scalar, args: [y, x], out: z}}]}}}}"
        )
    };
    let rejected = |divisor: i64| crate::Model::from_yaml("m.yaml", program(divisor), ".").assembly().is_err();
    assert!(rejected(0) && !rejected(3));
}

/// State without initial data has zeros in the first execution, and what another tensor left in its memory in the next.
#[test]
fn state_without_data_reads_what_shares_its_memory() {
    let program = |offset: u64, scalar_type: &str| {
        format!(
            "methods: {{forward: {{values: {{table: {{tensor: float32, data: [[1, 2], [3, 4], [5, 6]]}},
            state: {{tensor: int64, sizes: [2], mutable: true, memory: {{pool: 1, offset: 64}}}},
            x: {{tensor: {scalar_type}, sizes: [2], memory: {{pool: 1, offset: 0}}}},
            y: {{tensor: {scalar_type}, sizes: [2], memory: {{pool: 1, offset: {offset}}}}},
            z: {{tensor: float32, sizes: [2, 2], memory: {{pool: 1, offset: 128}}}}}}, inputs: [x], outputs: [z, y],
            memory: {{non_const_buffer_sizes: [0, 256]}}, instructions: [
            {{kernel: aten::embedding.out, args: [table, state, -1, false, false], out: z}},
            {{kernel: aten::abs.out, args: [x], out: y}}]}}}}"
        )
    };
    let options = pte_check::CheckOptions::default();
    let has_errors = |yaml: String| {
        let found = crate::Model::from_yaml("m.yaml", yaml, ".").check(&options).unwrap();
        found.iter().any(|(_, findings)| findings.has_errors())
    };
    assert!(has_errors(program(64, "float32")) && has_errors(program(64, "float64")));
    assert!(!has_errors(program(80, "float32")) && !has_errors(program(80, "int64")));
}

/// XNNPACK removes a copy of an input that one operation uses, and replaces one use only.
#[test]
fn a_copy_of_an_input_is_used_once_by_an_operation() {
    let has_errors = |nodes: &str| {
        let yaml = format!(
            "methods: {{forward: {{values: {{x: {{tensor: float32, sizes: [2]}}, y: {{tensor: float32, sizes: [2]}}}},
            inputs: [x], outputs: [y], instructions: [{{delegate: part, args: [x, y]}}], delegates: {{part:
            {{backend: XnnpackBackend, graph: {{values: {{x: {{datatype: fp32, sizes: [2]}}}}, inputs: [x],
            outputs: [y], nodes: [{nodes}]}}}}}}}}}}"
        );
        let found = crate::Model::from_yaml("m.yaml", yaml, ".").check(&pte_check::CheckOptions::default()).unwrap();
        found.iter().any(|(_, findings)| findings.has_errors())
    };
    let copy = "{copy: {input: x, output: v}}";
    let square = "{multiply: {input1: v, input2: v, output: y}}";
    assert!(has_errors(&format!("{copy}, {square}")));
    assert!(has_errors(&format!("{{copy: {{input: x, output: u}}}}, {{copy: {{input: u, output: v}}}}, {square}")));
    // Not a copy of an input, one use, two operations: each executes in the runtime.
    assert!(!has_errors(&format!("{{abs: {{input: x, output: u}}}}, {{copy: {{input: u, output: v}}}}, {square}")));
    assert!(!has_errors(&format!("{copy}, {{multiply: {{input1: v, input2: x, output: y}}}}")));
    let two = "{abs: {input: v, output: b}}, {multiply: {input1: v, input2: v, output: c}}, \
               {add: {input1: b, input2: c, output: y}}";
    assert!(!has_errors(&format!("{copy}, {two}")));
}

/// Messages about tests are limited as all others are.
#[test]
fn the_messages_about_tests_are_limited() {
    let yaml = format!("methods: {{f: {{outputs: [1], tests: [{}]}}}}", "{inputs: [1]},".repeat(3000));
    let error = crate::Model::from_yaml("m.yaml", yaml, ".").resolve().unwrap_err();
    let last = error.diagnostics().last().map(|last| last.message.to_string());
    assert_eq!((error.diagnostics().len(), last.as_deref()), (1001, Some("2000 more errors not listed here")));
}
