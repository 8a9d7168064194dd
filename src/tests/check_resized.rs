//! Sizes that instructions set, elements and numbers that are the same whatever the caller passes, and loops around
//! kernels that do not end in time: with each, a kernel crashes or a method hangs by the file alone. The harmless ones
//! have no errors.

use super::check_values::errors_in;
use pte_check::RuleId::{self, *};

/// What crashes because of the sizes of a dynamic tensor; the only rule with errors.
const SIZES: &[(&str, RuleId, &str)] = &[
    (
        "a tensor that a call leaves without elements",
        O_14,
        "    values:
      t: {tensor: float32, sizes: [4], dynamism: dynamic_bound}
      o: {tensor: float32, sizes: []}
    outputs: [o]
    instructions:
      - {kernel: aten::full.out, args: [[0], 1.0, t, t]}
      - {kernel: aten::amax.out, args: [t, [], false, o, o]}",
    ),
    (
        "an empty slice of a tensor of the caller",
        O_14,
        "    values:
      x: {tensor: float32, sizes: [4]}
      s: {tensor: float32, sizes: [4], dynamism: dynamic_bound}
      o: {tensor: float32, sizes: []}
    inputs: [x]
    outputs: [o]
    instructions:
      - {kernel: aten::slice_copy.Tensor_out, args: [x, 0, 2, 2, 1, s, s]}
      - {kernel: aten::amax.out, args: [s, [], false, o, o]}",
    ),
    (
        "fewer scales than channels after a call",
        O_8,
        "    values:
      x: {tensor: int8, sizes: [4, 2], data: {fill: 1}}
      s: {tensor: float32, sizes: [4], dynamism: dynamic_bound}
      z: {tensor: int64, sizes: [4], data: {fill: 0}}
      o: {tensor: float32, sizes: [4, 2]}
    outputs: [o]
    instructions:
      - {kernel: aten::full.out, args: [[1], 1.0, s, s]}
      - {kernel: quantized_decomposed::dequantize_per_channel.out, args: [x, s, z, 0, -128, 127, 1, null, o, o]}",
    ),
    (
        "fewer scales after a row is stored",
        O_8,
        "    values:
      s: {tensor: float32, sizes: [4, 1], dynamism: dynamic_bound}
      q: {tensor: int8, sizes: [4, 2], data: {fill: 1}}
      a: {tensor: float32, sizes: [1], data: [1]}
      f: {tensor: float32, sizes: [4], dynamism: dynamic_bound}
      z: {tensor: int64, sizes: [4], data: {fill: 0}}
      o: {tensor: float32, sizes: [4, 2]}
    outputs: [o]
    instructions:
      - {kernel: aten::full.out, args: [[4, 1], 1.0, s, s]}
      - {kernel: executorch_prim::et_copy_index.tensor, args: [s, a, 0]}
      - {kernel: aten::view_copy.out, args: [s, [-1], f, f]}
      - {kernel: quantized_decomposed::dequantize_per_channel.out, args: [q, f, z, 0, -128, 127, 1, null, o, o]}",
    ),
    (
        "a resized tensor that is moved",
        O_14,
        "    values:
      a: {tensor: float32, sizes: [4], dynamism: dynamic_bound}
      b: {tensor: float32, sizes: [4], dynamism: dynamic_bound, mutable: true, data: [1, 1, 1, 1]}
      o: {tensor: float32, sizes: []}
    outputs: [o]
    instructions:
      - {kernel: aten::full.out, args: [[0], 1.0, a, a]}
      - {move: {from: a, to: b}}
      - {kernel: aten::amax.out, args: [b, [], false, o, o]}",
    ),
    (
        "a resized tensor that is moved to a static one",
        O_14,
        "    values:
      a: {tensor: float32, sizes: [4], dynamism: dynamic_bound}
      b: {tensor: float32, sizes: [4], mutable: true, data: [1, 1, 1, 1]}
      o: {tensor: float32, sizes: []}
    outputs: [o]
    instructions:
      - {kernel: aten::full.out, args: [[0], 1.0, a, a]}
      - {move: {from: a, to: b}}
      - {kernel: aten::amax.out, args: [b, [], false, o, o]}",
    ),
    (
        "an index beyond a table that a call resizes",
        O_14,
        "    values:
      w: {tensor: uint8, sizes: [4, 8], dynamism: dynamic_bound}
      i: {tensor: int64, sizes: [1], data: [3]}
      sc: {tensor: float32, sizes: [4], data: {fill: 1}}
      e: {tensor: float32, sizes: [1, 8]}
    outputs: [e]
    instructions:
      - {kernel: aten::full.out, args: [[2, 8], 1, w, w]}
      - {kernel: quantized_decomposed::embedding_byte.out, args: [w, sc, null, 0, 255, i, e, e]}",
    ),
    (
        "scales that are fewer in the second round of a loop",
        O_8,
        "    values:
      q: {tensor: int8, sizes: [4, 2], data: {fill: 1}}
      f: {tensor: float32, sizes: [4], dynamism: dynamic_bound}
      z: {tensor: int64, sizes: [4], data: {fill: 0}}
      o: {tensor: float32, sizes: [4, 2]}
      n: {int: 4}
      c: {bool: false}
    outputs: [o]
    instructions:
      - {move: {from: 4, to: n}}
      - {label: top, kernel: aten::full.out, args: [[n], 1.0, f, f]}
      - {kernel: quantized_decomposed::dequantize_per_channel.out, args: [q, f, z, 0, -128, 127, 1, null, o, o]}
      - {kernel: executorch_prim::sub.Scalar, args: [n, 1, n]}
      - {kernel: executorch_prim::lt.Scalar, args: [n, 2, c]}
      - {jump_false: {cond: c, to: top}}",
    ),
    (
        "scales that are fewer in the next execution",
        O_8,
        "    values:
      q: {tensor: int8, sizes: [4, 2], data: {fill: 1}}
      f: {tensor: float32, sizes: [4], dynamism: dynamic_bound, mutable: true, data: [1, 1, 1, 1]}
      z: {tensor: int64, sizes: [4], data: {fill: 0}}
      o: {tensor: float32, sizes: [4, 2]}
    outputs: [o]
    instructions:
      - {kernel: quantized_decomposed::dequantize_per_channel.out, args: [q, f, z, 0, -128, 127, 1, null, o, o]}
      - {kernel: aten::full.out, args: [[1], 1.0, f, f]}",
    ),
    (
        "a divisor that is the size of a resized tensor",
        O_14,
        "    values:
      t: {tensor: float32, sizes: [4], dynamism: dynamic_bound}
      n: {int: 1}
      r: {int: 1}
    outputs: [r]
    instructions:
      - {kernel: aten::full.out, args: [[0], 1.0, t, t]}
      - {kernel: aten::sym_size.int, args: [t, 0, n]}
      - {kernel: executorch_prim::mod.Scalar, args: [5, n, r]}",
    ),
    (
        "a divisor that is the number of non-zero elements of a constant",
        X_30,
        "    values:
      c: {tensor: int64, sizes: [4], data: [0,0,0,0]}
      t: {tensor: int64, sizes: [4, 1], dynamism: dynamic_bound}
      n: {int: 1}
      r: {int: 1}
    outputs: [r]
    instructions:
      - {kernel: aten::nonzero.out, args: [c, t, t]}
      - {kernel: aten::sym_size.int, args: [t, 0, n]}
      - {kernel: executorch_prim::mod.Scalar, args: [5, n, r]}",
    ),
    (
        "elements of a constant that a constant mask selects",
        X_30,
        "    values:
      x: {tensor: float32, sizes: [4], data: [1, 2, 3, 4]}
      m: {tensor: bool, sizes: [4], data: [false, false, false, false]}
      s: {tensor: float32, sizes: [4], dynamism: dynamic_bound}
      o: {tensor: float32, sizes: []}
    outputs: [o]
    instructions:
      - {kernel: aten::masked_select.out, args: [x, m, s, s]}
      - {kernel: aten::amax.out, args: [s, [], false, o, o]}",
    ),
    (
        "a loop that ends by the size of a resized tensor",
        O_14,
        "    values:
      t: {tensor: float32, sizes: [100], dynamism: dynamic_bound}
      m: {int: 0}
      n: {int: 10}
      c: {bool: false}
      r: {int: 1}
    outputs: [r]
    instructions:
      - {kernel: aten::full.out, args: [[50], 1.0, t, t]}
      - {kernel: aten::sym_size.int, args: [t, 0, m]}
      - {move: {from: 10, to: n}}
      - {label: top, kernel: executorch_prim::sub.Scalar, args: [n, 1, n]}
      - {kernel: executorch_prim::mod.Scalar, args: [5, n, r]}
      - {kernel: executorch_prim::ge.Scalar, args: [m, 51, c]}
      - {jump_false: {cond: c, to: top}}",
    ),
    (
        "a slice of a dynamic input that is always empty",
        O_14,
        "    values:
      x: {tensor: float32, sizes: [4], dynamism: dynamic_bound}
      t: {tensor: float32, sizes: [4], dynamism: dynamic_bound}
      o: {tensor: float32, sizes: []}
    inputs: [x]
    outputs: [o]
    instructions:
      - {kernel: aten::slice_copy.Tensor_out, args: [x, 0, 2, 2, 1, t, t]}
      - {kernel: aten::amax.out, args: [t, [], false, o, o]}",
    ),
];

/// What crashes because of elements or numbers that do not depend on the caller.
const SAME: &[(&str, RuleId, &str)] = &[
    (
        "an index between equal bounds",
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
      - {kernel: aten::clamp.out, args: [x, 1000000, 1000000, i, i]}
      - {kernel: quantized_decomposed::embedding_byte.out, args: [w, sc, null, 0, 255, i, e, e]}",
    ),
    (
        "an index of the file instead of one of the caller",
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
      - {kernel: aten::where.self_out, args: [t, c, x, i, i]}
      - {kernel: quantized_decomposed::embedding_byte.out, args: [w, sc, null, 0, 255, i, e, e]}",
    ),
    (
        "an index that replaces one of the caller",
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
      - {kernel: aten::masked_fill.Scalar_out, args: [x, t, 1000000, i, i]}
      - {kernel: quantized_decomposed::embedding_byte.out, args: [w, sc, null, 0, 255, i, e, e]}",
    ),
    (
        "an index by a comparison of an input with itself",
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
      - {kernel: aten::eq.Tensor_out, args: [x, x, b, b]}
      - {kernel: aten::where.self_out, args: [b, c, c, i, i]}
      - {kernel: quantized_decomposed::embedding_byte.out, args: [w, sc, null, 0, 255, i, e, e]}",
    ),
    (
        "an index beside one of the caller, in a slice",
        O_14,
        "    values:
      x: {tensor: int64, sizes: [1]}
      c: {tensor: int64, sizes: [1], data: [1000000]}
      b: {tensor: int64, sizes: [2]}
      i: {tensor: int64, sizes: [1]}
      w: {tensor: uint8, sizes: [4, 8], data: {fill: 1}}
      sc: {tensor: float32, sizes: [4], data: {fill: 1}}
      e: {tensor: float32, sizes: [1, 8]}
    inputs: [x]
    outputs: [e]
    instructions:
      - {kernel: aten::cat.out, args: [[x, c], 0, b, b]}
      - {kernel: aten::slice_copy.Tensor_out, args: [b, 0, 1, 2, 1, i, i]}
      - {kernel: quantized_decomposed::embedding_byte.out, args: [w, sc, null, 0, 255, i, e, e]}",
    ),
    (
        "an index beside one of the caller",
        O_14,
        "    values:
      x: {tensor: int64, sizes: [1]}
      c: {tensor: int64, sizes: [1], data: [1000000]}
      b: {tensor: int64, sizes: [2]}
      w: {tensor: uint8, sizes: [4, 8], data: {fill: 1}}
      sc: {tensor: float32, sizes: [4], data: {fill: 1}}
      e: {tensor: float32, sizes: [2, 8]}
    inputs: [x]
    outputs: [e]
    instructions:
      - {kernel: aten::cat.out, args: [[x, c], 0, b, b]}
      - {kernel: quantized_decomposed::embedding_byte.out, args: [w, sc, null, 0, 255, b, e, e]}",
    ),
    (
        "an index that is a product of the caller and 0",
        O_14,
        "    values:
      x: {tensor: int64, sizes: [1]}
      b: {tensor: int64, sizes: [1]}
      i: {tensor: int64, sizes: [1]}
      w: {tensor: uint8, sizes: [4, 8], data: {fill: 1}}
      sc: {tensor: float32, sizes: [4], data: {fill: 1}}
      e: {tensor: float32, sizes: [1, 8]}
    inputs: [x]
    outputs: [e]
    instructions:
      - {kernel: aten::mul.Scalar_out, args: [x, 0, b, b]}
      - {kernel: aten::add.Scalar_out, args: [b, 1000000, 1, i, i]}
      - {kernel: quantized_decomposed::embedding_byte.out, args: [w, sc, null, 0, 255, i, e, e]}",
    ),
    (
        "a divisor that is a difference of a number of the caller and itself",
        O_14,
        "    values:
      x: {tensor: int64, sizes: []}
      n: {int: 1}
      r: {int: 1}
    inputs: [x]
    outputs: [r]
    instructions:
      - {kernel: aten::_local_scalar_dense, args: [x, n]}
      - {kernel: executorch_prim::sub.Scalar, args: [n, n, n]}
      - {kernel: executorch_prim::mod.Scalar, args: [5, n, r]}",
    ),
    (
        "a divisor that is a difference of a size of the caller and itself",
        O_14,
        "    values:
      t: {tensor: float32, sizes: [8], dynamism: dynamic_bound}
      n: {int: 0}
      r: {int: 1}
    inputs: [t]
    outputs: [r]
    instructions:
      - {kernel: aten::sym_size.int, args: [t, 0, n]}
      - {kernel: executorch_prim::sub.Scalar, args: [n, n, n]}
      - {kernel: executorch_prim::mod.Scalar, args: [5, n, r]}",
    ),
    (
        "the least integer by -1, whatever the caller passes",
        O_14,
        "    values:
      x: {tensor: int64, sizes: [1]}
      b: {tensor: int64, sizes: [1]}
      i: {tensor: int64, sizes: [1]}
      m: {tensor: int64, sizes: [1], data: [-1]}
      o: {tensor: int64, sizes: [1]}
    inputs: [x]
    outputs: [o]
    instructions:
      - {kernel: aten::mul.Scalar_out, args: [x, 0, b, b]}
      - {kernel: aten::add.Scalar_out, args: [b, -9223372036854775808, 1, i, i]}
      - {kernel: aten::floor_divide.out, args: [i, m, o, o]}",
    ),
    (
        "two numbers that do not depend on the caller",
        O_14,
        "    values:
      x: {tensor: int64, sizes: [1]}
      b: {tensor: int64, sizes: [1]}
      n: {int: 0}
      m: {int: 0}
      d: {int: 1}
      r: {int: 0}
    inputs: [x]
    outputs: [r]
    instructions:
      - {kernel: aten::mul.Scalar_out, args: [x, 0, b, b]}
      - {kernel: aten::_local_scalar_dense, args: [b, n]}
      - {kernel: executorch_prim::sub.Scalar, args: [n, 9223372036854775807, m]}
      - {kernel: executorch_prim::sub.Scalar, args: [m, 1, m]}
      - {kernel: executorch_prim::sub.Scalar, args: [n, 1, d]}
      - {kernel: executorch_prim::floordiv.Scalar, args: [m, d, r]}",
    ),
];

/// Loops that do not end in hours.
const LOOPS: &[(&str, RuleId, &str)] = &[
    (
        "a loop without end by the size of a resized tensor",
        X_10,
        "    values:
      t: {tensor: float32, sizes: [4], dynamism: dynamic_bound}
      n: {int: 0}
      c: {bool: false}
      x: {tensor: float32, sizes: [1024, 1024]}
      o: {tensor: float32, sizes: [1024, 1024]}
    inputs: [x]
    outputs: [o]
    instructions:
      - {kernel: aten::full.out, args: [[3], 1.0, t, t]}
      - {kernel: aten::sym_size.int, args: [t, 0, n]}
      - {label: top, kernel: aten::mm.out, args: [x, x, o, o]}
      - {kernel: executorch_prim::ge.Scalar, args: [n, 100, c]}
      - {jump_false: {cond: c, to: top}}",
    ),
    (
        "a loop of 2^64 rounds around a kernel",
        X_30,
        "    values:
      i: {int: 0}
      c: {bool: false}
      x: {tensor: float32, sizes: [1024, 1024]}
      o: {tensor: float32, sizes: [1024, 1024]}
    inputs: [x]
    outputs: [o]
    instructions:
      - {move: {from: 0, to: i}}
      - {label: top, kernel: aten::mm.out, args: [x, x, o, o]}
      - {kernel: executorch_prim::add.Scalar, args: [i, 1, i]}
      - {kernel: executorch_prim::eq.Scalar, args: [i, -5, c]}
      - {jump_false: {cond: c, to: top}}",
    ),
    (
        "a loop of millions of rounds around a kernel",
        X_30,
        "    values:
      i: {int: 0}
      c: {bool: false}
      x: {tensor: float32, sizes: [1024, 1024]}
      o: {tensor: float32, sizes: [1024, 1024]}
    inputs: [x]
    outputs: [o]
    instructions:
      - {move: {from: 0, to: i}}
      - {label: top, kernel: aten::mm.out, args: [x, x, o, o]}
      - {kernel: executorch_prim::add.Scalar, args: [i, 1, i]}
      - {kernel: executorch_prim::ge.Scalar, args: [i, 3000000, c]}
      - {jump_false: {cond: c, to: top}}",
    ),
    (
        "a loop around a kernel after one that takes too long",
        X_30,
        "    values:
      i: {int: 0}
      j: {int: 0}
      c: {bool: false}
      x: {tensor: float32, sizes: [1024, 1024]}
      o: {tensor: float32, sizes: [1024, 1024]}
    inputs: [x]
    outputs: [o]
    instructions:
      - {move: {from: 0, to: i}}
      - {label: a, kernel: executorch_prim::add.Scalar, args: [i, 1, i]}
      - {kernel: executorch_prim::ge.Scalar, args: [i, 200000, c]}
      - {jump_false: {cond: c, to: a}}
      - {move: {from: 0, to: j}}
      - {label: top, kernel: aten::mm.out, args: [x, x, o, o]}
      - {kernel: executorch_prim::mul.Scalar, args: [j, 1, j]}
      - {kernel: executorch_prim::ge.Scalar, args: [j, 5, c]}
      - {jump_false: {cond: c, to: top}}",
    ),
    (
        "a loop that is short in the first execution only",
        X_30,
        "    values:
      x: {tensor: float32, sizes: [256, 256], data: {fill: 1}}
      y: {tensor: float32, sizes: [256, 256]}
      i: {int: 0}
      m: {int: 0}
      c: {bool: false}
    outputs: [y]
    instructions:
      - {move: {from: 0, to: i}}
      - {label: inner, kernel: aten::mm.out, args: [x, x, y, y]}
      - {kernel: executorch_prim::add.Scalar, args: [i, 1, i]}
      - {kernel: executorch_prim::ge.Scalar, args: [i, m, c]}
      - {jump_false: {cond: c, to: inner}}
      - {move: {from: 1000000000000, to: m}}",
    ),
    (
        "a loop that a size within its bound does not end",
        X_10,
        "    values:
      z: {tensor: float32, sizes: [4], dynamism: dynamic_bound}
      x: {tensor: float32, sizes: [256, 256], data: {fill: 1}}
      y: {tensor: float32, sizes: [256, 256]}
      n: {int: 0}
      i: {int: 0}
      c: {bool: false}
    inputs: [z]
    outputs: [y]
    instructions:
      - {label: inner, kernel: aten::mm.out, args: [x, x, y, y]}
      - {kernel: aten::sym_size.int, args: [z, 0, n]}
      - {kernel: executorch_prim::ge.Scalar, args: [n, 5, c]}
      - {jump_false: {cond: c, to: inner}}",
    ),
];

/// Methods that execute, or whose crash depends on the caller.
const HARMLESS: &[(&str, &str)] = &[
    (
        "a tensor that a call leaves with elements",
        "    values:
      t: {tensor: float32, sizes: [4], dynamism: dynamic_bound}
      o: {tensor: float32, sizes: []}
    outputs: [o]
    instructions:
      - {kernel: aten::full.out, args: [[2], 1.0, t, t]}
      - {kernel: aten::amax.out, args: [t, [], false, o, o]}",
    ),
    (
        "resized indices in their range",
        "    values:
      i: {tensor: int64, sizes: [4], dynamism: dynamic_bound}
      w: {tensor: uint8, sizes: [4, 8], data: {fill: 1}}
      sc: {tensor: float32, sizes: [4], data: {fill: 1}}
      e: {tensor: float32, sizes: [4, 8], dynamism: dynamic_bound}
    outputs: [e]
    instructions:
      - {kernel: aten::full.out, args: [[2], 3, i, i]}
      - {kernel: quantized_decomposed::embedding_byte.out, args: [w, sc, null, 0, 255, i, e, e]}",
    ),
    (
        "sizes by a number of the caller",
        "    values:
      x: {tensor: float32, sizes: [4], dynamism: dynamic_bound}
      n: {int: 0}
      t: {tensor: float32, sizes: [4], dynamism: dynamic_bound}
      o: {tensor: float32, sizes: []}
    inputs: [x]
    outputs: [o]
    instructions:
      - {kernel: aten::sym_size.int, args: [x, 0, n]}
      - {kernel: aten::full.out, args: [[n], 1.0, t, t]}
      - {kernel: aten::amax.out, args: [t, [], false, o, o]}",
    ),
    (
        "elements of the caller that a mask of the file selects",
        "    values:
      x: {tensor: float32, sizes: [4]}
      m: {tensor: bool, sizes: [4]}
      s: {tensor: float32, sizes: [4], dynamism: dynamic_bound}
      o: {tensor: float32, sizes: []}
    inputs: [x, m]
    outputs: [o]
    instructions:
      - {kernel: aten::masked_select.out, args: [x, m, s, s]}
      - {kernel: aten::amax.out, args: [s, [], false, o, o]}",
    ),
    (
        "an index of the caller within bounds that the caller can meet",
        "    values:
      x: {tensor: int64, sizes: [1]}
      i: {tensor: int64, sizes: [1]}
      w: {tensor: uint8, sizes: [4, 8], data: {fill: 1}}
      sc: {tensor: float32, sizes: [4], data: {fill: 1}}
      e: {tensor: float32, sizes: [1, 8]}
    inputs: [x]
    outputs: [e]
    instructions:
      - {kernel: aten::clamp.out, args: [x, 0, 1000000, i, i]}
      - {kernel: quantized_decomposed::embedding_byte.out, args: [w, sc, null, 0, 255, i, e, e]}",
    ),
    (
        "an index beside one of the caller, in the range",
        "    values:
      x: {tensor: int64, sizes: [1]}
      c: {tensor: int64, sizes: [1], data: [3]}
      i: {tensor: int64, sizes: [2]}
      w: {tensor: uint8, sizes: [4, 8], data: {fill: 1}}
      sc: {tensor: float32, sizes: [4], data: {fill: 1}}
      e: {tensor: float32, sizes: [2, 8]}
    inputs: [x]
    outputs: [e]
    instructions:
      - {kernel: aten::cat.out, args: [[x, c], 0, i, i]}
      - {kernel: quantized_decomposed::embedding_byte.out, args: [w, sc, null, 0, 255, i, e, e]}",
    ),
    (
        "a loop of thousands of rounds around a kernel",
        "    values:
      i: {int: 0}
      c: {bool: false}
      x: {tensor: float32, sizes: [4]}
      o: {tensor: float32, sizes: [4]}
    inputs: [x]
    outputs: [o]
    instructions:
      - {move: {from: 0, to: i}}
      - {label: top, kernel: aten::sin.out, args: [x, o, o]}
      - {kernel: executorch_prim::add.Scalar, args: [i, 1, i]}
      - {kernel: executorch_prim::ge.Scalar, args: [i, 3000, c]}
      - {jump_false: {cond: c, to: top}}",
    ),
    (
        "a loop of the caller around one of the file",
        "    values:
      i: {int: 0}
      c: {bool: false}
      x: {tensor: float32, sizes: [4]}
      m: {tensor: bool, sizes: []}
      o: {tensor: float32, sizes: [4]}
    inputs: [x, m]
    outputs: [o]
    instructions:
      - {move: {from: 0, to: i}}
      - {label: top, kernel: aten::sin.out, args: [x, o, o]}
      - {kernel: executorch_prim::add.Scalar, args: [i, 1, i]}
      - {kernel: executorch_prim::ge.Scalar, args: [i, 3, c]}
      - {jump_false: {cond: c, to: top}}
      - {jump_false: {cond: m, to: top}}",
    ),
    (
        "indices up to a size of the caller",
        "    values:
      x: {tensor: int64, sizes: [1, 16], dynamism: dynamic_bound}
      w: {tensor: float32, sizes: [100, 8], data: {fill: 1}}
      pw: {tensor: float32, sizes: [16, 8], data: {fill: 1}}
    inputs: [x]
    outputs: [y]
    instructions:
      - {kernel: aten::sym_size.int, args: [x, 1], out: n}
      - {kernel: aten::embedding.out, args: [w, x], out: e}
      - {kernel: aten::arange.start_out, args: [0, n], out: r}
      - {kernel: aten::embedding.out, args: [pw, r], out: p}
      - {kernel: aten::add.out, args: [e, p], out: y}",
    ),
    (
        "a position in a ring",
        "    values:
      s: {int: 0}
      r: {int: 0}
    outputs: [r]
    instructions:
      - {kernel: executorch_prim::mod.Scalar, args: [s, 64, r]}
      - {kernel: executorch_prim::add.Scalar, args: [s, 1, s]}",
    ),
    (
        "a difference of two inputs",
        "    values:
      start: {tensor: int64, sizes: [1]}
      end: {tensor: int64, sizes: [1]}
      len: {tensor: int64, sizes: [1]}
      i: {tensor: int64, sizes: [1]}
      w: {tensor: uint8, sizes: [4, 8], data: {fill: 1}}
      sc: {tensor: float32, sizes: [4], data: {fill: 1}}
      e: {tensor: float32, sizes: [1, 8]}
    inputs: [start, end]
    outputs: [e]
    instructions:
      - {kernel: aten::sub.out, args: [end, start, 1, len, len]}
      - {kernel: aten::sub.Scalar_out, args: [len, 1, 1, i, i]}
      - {kernel: quantized_decomposed::embedding_byte.out, args: [w, sc, null, 0, 255, i, e, e]}",
    ),
    (
        "a difference of elements of two inputs",
        "    values:
      ids: {tensor: int64, sizes: [1, 16]}
      pd: {tensor: int64, sizes: [1, 16]}
      k: {tensor: float32, sizes: [64, 8], data: {fill: 1}}
    inputs: [ids, pd]
    outputs: [y]
    instructions:
      - {kernel: aten::sub.out, args: [ids, pd], out: d}
      - {kernel: aten::sub.Scalar_out, args: [d, 1, 1], out: idx}
      - {kernel: aten::embedding.out, args: [k, idx], out: y}",
    ),
    (
        "distances between 1,024 positions of the caller",
        "    values:
      pos: {tensor: int64, sizes: [1024]}
      w: {tensor: float32, sizes: [33, 4], data: {fill: 1}}
    inputs: [pos]
    outputs: [y]
    instructions:
      - {kernel: aten::view_copy.out, args: [pos, [1024, 1]], out: a}
      - {kernel: aten::view_copy.out, args: [pos, [1, 1024]], out: b}
      - {kernel: aten::sub.out, args: [a, b], out: rel}
      - {kernel: aten::clamp.out, args: [rel, -16, 16], out: cl}
      - {kernel: aten::add.Scalar_out, args: [cl, 16], out: idx}
      - {kernel: aten::embedding.out, args: [w, idx], out: y}",
    ),
    (
        "positions that are counted",
        "    values:
      ids: {tensor: int64, sizes: [1, 16]}
      w: {tensor: float32, sizes: [100, 8], data: {fill: 1}}
      pw: {tensor: float32, sizes: [18, 8], data: {fill: 1}}
      m: {tensor: int64}
    inputs: [ids]
    outputs: [y]
    instructions:
      - {kernel: aten::ones.out, args: [[1, 16]], out: m}
      - {kernel: aten::cumsum.out, args: [m, 1], out: c}
      - {kernel: aten::add.Scalar_out, args: [c, 1], out: c3}
      - {kernel: aten::embedding.out, args: [pw, c3], out: p}
      - {kernel: aten::embedding.out, args: [w, ids], out: e}
      - {kernel: aten::add.out, args: [e, p], out: y}",
    ),
    (
        "a loop of the caller with the condition in front",
        "    values:
      x: {tensor: float32, sizes: [16, 4]}
      h: {tensor: float32, sizes: [1, 4]}
      n: {tensor: int64, sizes: [1]}
      z: {tensor: float32, sizes: [16], dynamism: dynamic_bound}
    inputs: [x, n, z]
    outputs: [h]
    instructions:
      - {move: {from: 0, to: i}}
      - {label: top, kernel: aten::_local_scalar_dense, args: [n], out: m}
      - {kernel: executorch_prim::lt.Scalar, args: [i, m], out: c}
      - {jump_false: {cond: c, to: end}}
      - {kernel: aten::select_copy.int_out, args: [x, 0, i], out: u}
      - {kernel: aten::view_copy.out, args: [u, [1, 4]], out: h}
      - {kernel: executorch_prim::add.Scalar, args: [i, 1], out: i}
      - {jump_false: {cond: false, to: top}}
      - {label: end}",
    ),
    (
        "a loop of the caller and of a size",
        "    values:
      x: {tensor: float32, sizes: [16], dynamism: dynamic_bound}
      w: {tensor: float32, sizes: [4], dynamism: dynamic_bound}
      y: {tensor: float32, sizes: [4], dynamism: dynamic_bound}
    inputs: [x, w]
    outputs: [y, rem]
    instructions:
      - {kernel: aten::clone.out, args: [w], out: y}
      - {kernel: aten::sym_size.int, args: [x, 0], out: rem}
      - {kernel: aten::sym_size.int, args: [w, 0], out: c}
      - {label: top, kernel: aten::mul.Scalar_out, args: [y, 2], out: y}
      - {kernel: executorch_prim::sub.Scalar, args: [rem, c], out: rem}
      - {kernel: executorch_prim::lt.Scalar, args: [rem, c], out: less}
      - {jump_false: {cond: less, to: top}}
      ",
    ),
    (
        "a divisor in a window of the caller",
        "    values:
      x: {tensor: int64, sizes: [1]}
    inputs: [x]
    outputs: [y]
    instructions:
      - {kernel: aten::_local_scalar_dense, args: [x], out: s}
      - {kernel: executorch_prim::sub.Scalar, args: [s, 100], out: a}
      - {kernel: executorch_prim::ge.Scalar, args: [a, 0], out: lo}
      - {kernel: executorch_prim::lt.Scalar, args: [a, 8], out: hi}
      - {kernel: executorch_prim::sym_ite.Scalar, args: [hi, a, 0], out: n}
      - {kernel: executorch_prim::sym_ite.Scalar, args: [lo, n, 0], out: k}
      - {kernel: executorch_prim::mod.Scalar, args: [64, k], out: d}
      - {kernel: aten::full.out, args: [[1, 4], d], out: y}",
    ),
    (
        "an index of the greatest element",
        "    values:
      x: {tensor: float32, sizes: [16, 4]}
      c: {tensor: float32, sizes: [16], data: {fill: 0.5}}
    inputs: [x]
    outputs: [y]
    instructions:
      - {kernel: aten::argmax.out, args: [c, 0], out: i}
      - {kernel: aten::unsqueeze_copy.out, args: [i, 0], out: u}
      - {kernel: aten::index_select.out, args: [x, 0, u], out: y}",
    ),
];

fn are_errors(defects: &[(&str, RuleId, &str)]) {
    for (what, expected, text) in defects {
        assert_eq!(errors_in(text), [*expected], "{what}");
    }
}

#[test]
fn sizes_that_follow_from_the_file_are_followed() {
    are_errors(SIZES);
}

#[test]
fn what_is_the_same_for_every_caller_is_evaluated() {
    are_errors(SAME);
}

#[test]
fn loops_that_take_hours_are_errors() {
    are_errors(LOOPS);
}

#[test]
fn harmless_sizes_elements_and_loops_are_accepted() {
    for (what, text) in HARMLESS {
        assert_eq!(errors_in(text), [], "{what}");
    }
}
