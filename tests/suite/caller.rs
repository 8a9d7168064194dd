//! docs/check.md, "What the caller decides": for each row, methods whose crash depends on the caller, which `check`
//! accepts, and the same defects in the file, which are errors. A row without methods fails.

use std::collections::BTreeSet;

use pte_check::RuleSeverity;
use pte_emit::Model;
use pte_emit::check::{CheckOptions, RuleId};

use crate::support::root;

/// A row of the table: its first cell; methods that the caller may make crash; methods that crash by the file alone,
/// each with its rule, or `None` if the assembler rejects it already.
struct Row {
    name: &'static str,
    of_caller: &'static [&'static str],
    of_file: &'static [(Option<RuleId>, &'static str)],
}

const ROWS: &[Row] = &[
    Row {
        name: "the content of inputs, of state without initial data, and of tensors computed from them: indices (also those of quantized embeddings), lengths, divisors, conditions, zero points",
        of_caller: &[
            "values: {w: {tensor: float32, sizes: [4, 8]}, i: {tensor: int64, sizes: [2]}}, inputs: [w, i], outputs: [e],
             instructions: [{kernel: aten::index_select.out, args: [w, 0, i], out: e}]",
            "values: {w: {tensor: uint8, sizes: [4, 8], data: {fill: 1}}, s: {tensor: float32, sizes: [4], data: {fill: 1}},
               i: {tensor: int64, sizes: [1], mutable: true}}, outputs: [e],
             instructions: [{kernel: quantized_decomposed::embedding_byte.out, args: [w, s, null, 0, 255, i], out: e}]",
            "values: {w: {tensor: uint8, sizes: [4, 8], data: {fill: 1}}, s: {tensor: float32, sizes: [4], data: {fill: 1}},
               x: {tensor: int64, sizes: [1]}}, inputs: [x], outputs: [e],
             instructions: [{kernel: aten::relu.out, args: [x], out: i},
               {kernel: quantized_decomposed::embedding_byte.out, args: [w, s, null, 0, 255, i], out: e}]",
            "values: {n: {int: 1}, e: {int: 1}}, inputs: [n], outputs: [e],
             instructions: [{kernel: executorch_prim::mod.Scalar, args: [5, n, e]}]",
            "values: {p: {bool: true}, x: {tensor: float32, sizes: [2]}, n: {int: 1}, e: {int: 1}}, inputs: [p, x], outputs: [e],
             instructions: [{move: {from: 1, to: n}}, {label: top, kernel: executorch_prim::add.Scalar, args: [n, 1, n]},
               {jump_false: {cond: p, to: top}}, {kernel: executorch_prim::mod.Scalar, args: [5, n, e]}]",
            "values: {x: {tensor: int8, sizes: [2, 3]}, s: {tensor: float64, sizes: [2, 1]}, z: {tensor: int64, sizes: [2, 1]},
               e: {tensor: float32, sizes: [2, 3]}}, inputs: [x, s, z], outputs: [e], instructions: [
               {kernel: quantized_decomposed::dequantize_per_token.out, args: [x, s, z, -128, 127, 1, 6], out: e}]",
        ],
        of_file: &[
            (
                Some(RuleId::O_14),
                "values: {x: {tensor: int64, sizes: [1]}, t: {tensor: bool, data: [true]}, w: {tensor: uint8, sizes: [4, 8], data: {fill: 1}},
               s: {tensor: float32, sizes: [4], data: {fill: 1}}}, inputs: [x], outputs: [e], instructions: [
               {kernel: aten::masked_fill.Scalar_out, args: [x, t, 1000000], out: i},
               {kernel: quantized_decomposed::embedding_byte.out, args: [w, s, null, 0, 255, i], out: e}]",
            ),
            (
                Some(RuleId::O_14),
                "values: {w: {tensor: float32, sizes: [4, 8]}, i: {tensor: int64, data: [0, 4]}}, inputs: [w], outputs: [e],
                 instructions: [{kernel: aten::index_select.out, args: [w, 0, i], out: e}]",
            ),
            (
                Some(RuleId::O_14),
                "values: {w: {tensor: uint8, sizes: [4, 8], data: {fill: 1}}, s: {tensor: float32, sizes: [4], data: {fill: 1}},
                   i: {tensor: int64, mutable: true, data: [4]}}, outputs: [e],
                 instructions: [{kernel: quantized_decomposed::embedding_byte.out, args: [w, s, null, 0, 255, i], out: e}]",
            ),
            (
                Some(RuleId::X_30),
                "values: {w: {tensor: uint8, sizes: [4, 8], data: {fill: 1}}, s: {tensor: float32, sizes: [4], data: {fill: 1}},
                   x: {tensor: int64, data: [4]}}, outputs: [e],
                 instructions: [{kernel: aten::relu.out, args: [x], out: i},
                   {kernel: quantized_decomposed::embedding_byte.out, args: [w, s, null, 0, 255, i], out: e}]",
            ),
            (
                Some(RuleId::O_14),
                "values: {n: {int: 1}, e: {int: 1}}, outputs: [e],
                 instructions: [{move: {from: 0, to: n}}, {kernel: executorch_prim::mod.Scalar, args: [5, n, e]}]",
            ),
            (
                Some(RuleId::X_10),
                "values: {p: {bool: false}, n: {int: 1}, x: {tensor: float32, sizes: [2]}}, inputs: [x], outputs: [e],
                 instructions: [{label: top, kernel: aten::relu.out, args: [x], out: e},
                   {kernel: executorch_prim::eq.Scalar, args: [1, 2, p]}, {jump_false: {cond: p, to: top}}]",
            ),
            (
                Some(RuleId::O_8),
                "values: {x: {tensor: int8, sizes: [2, 3]}, s: {tensor: float64, sizes: [2, 1]},
                   z: {tensor: int64, sizes: [2, 1], data: [[0], [128]]}, e: {tensor: float32, sizes: [2, 3]}},
                 inputs: [x, s], outputs: [e], instructions: [
                   {kernel: quantized_decomposed::dequantize_per_token.out, args: [x, s, z, -128, 127, 1, 6], out: e}]",
            ),
        ],
    },
    Row {
        name: "the sizes of results that depend on data, such as those of `masked_select` and `nonzero`, within their bounds",
        of_caller: &[
            "values: {x: {tensor: float32, sizes: [4]}, m: {tensor: bool, sizes: [4]},
               s: {tensor: float32, sizes: [4], dynamism: dynamic_bound}, e: {tensor: float32, sizes: []}},
             inputs: [x, m], outputs: [e], instructions: [{kernel: aten::masked_select.out, args: [x, m], out: s},
               {kernel: aten::amax.out, args: [s, [0], false], out: e}]",
        ],
        of_file: &[(
            None,
            "values: {s: {tensor: float32, sizes: [0]}, e: {tensor: float32, sizes: []}}, inputs: [s], outputs: [e],
             instructions: [{kernel: aten::amax.out, args: [s, [0], false], out: e}]",
        )],
    },
    Row {
        name: "the sizes of dynamic inputs, within their bounds, and those that follow from them",
        of_caller: &[
            "values: {a: {tensor: float32, sizes: [4], dynamism: dynamic_bound},
               b: {tensor: float32, sizes: [4], dynamism: dynamic_bound},
               e: {tensor: float32, sizes: [4], dynamism: dynamic_bound}}, inputs: [a, b], outputs: [e],
             instructions: [{kernel: aten::add.out, args: [a, b], out: e}]"],
        of_file: &[(Some(RuleId::O_8), "values: {x: {tensor: int8, sizes: [4, 2], data: {fill: 1}}, s: {tensor: float32, sizes: [4], dynamism: dynamic_bound},
               z: {tensor: int64, sizes: [4], data: {fill: 0}}, o: {tensor: float32, sizes: [4, 2]}}, outputs: [o], instructions: [
               {kernel: aten::full.out, args: [[1], 1.0], out: s},
               {kernel: quantized_decomposed::dequantize_per_channel.out, args: [x, s, z, 0, -128, 127, 1, null, o, o]}]"), (
            None,
            "values: {a: {tensor: float32, sizes: [4]}, b: {tensor: float32, sizes: [3]}, e: {tensor: float32, sizes: [4]}},
             inputs: [a, b], outputs: [e], instructions: [{kernel: aten::add.out, args: [a, b], out: e}]",
        )],
    },
    Row {
        name: "memory: as many pools as the program has, of their sizes",
        of_caller: &["values: {x: {tensor: float32, sizes: [4], memory: {pool: 1, offset: 0}},
               e: {tensor: float32, sizes: [4], memory: {pool: 2, offset: 0}}}, inputs: [x], outputs: [e],
             memory: {non_const_buffer_sizes: [0, 16, 16]}, instructions: [{kernel: aten::relu.out, args: [x], out: e}]"],
        of_file: &[(
            None,
            "values: {x: {tensor: float32, sizes: [4], memory: {pool: 1, offset: 0}},
               e: {tensor: float32, sizes: [4], memory: {pool: 2, offset: 0}}}, inputs: [x], outputs: [e],
             memory: {non_const_buffer_sizes: [0, 16, 8]}, instructions: [{kernel: aten::relu.out, args: [x], out: e}]",
        )],
    },
    Row {
        name: "named state without planned memory, which the method reads before it writes it",
        of_caller: &["values: {x: {tensor: float32, sizes: [4]}, s: {tensor: float32, sizes: [4], mutable: true, name: s, memory: none}},
             inputs: [x], outputs: [e], instructions: [{kernel: aten::add.out, args: [x, s], out: e},
               {kernel: aten::copy_, args: [s, x], out: s}]"],
        of_file: &[(
            Some(RuleId::X_3),
            "values: {x: {tensor: float32, sizes: [4]}, s: {tensor: float32, sizes: [4], memory: none}},
             inputs: [x], outputs: [e], instructions: [{kernel: aten::relu.out, args: [x], out: s},
               {kernel: aten::relu.out, args: [s], out: e}]",
        )],
    },
    Row {
        name: "operators of libraries, custom operators, backends other than XNNPACK",
        of_caller: &[
            "values: {w: {tensor: float32, sizes: [4, 8]}, c: {tensor: int64, data: [9]}, i: {tensor: int64, sizes: [1]}},
             inputs: [w], outputs: [e], instructions: [{kernel: mine::index.out, args: [c, i]},
               {kernel: aten::index_select.out, args: [w, 0, i], out: e}]",
            "delegates: {d: {backend: OtherBackend, data: {hex: '00'}}}, values: {c: {tensor: int64, data: [9]},
               w: {tensor: float32, sizes: [4, 8]}, i: {tensor: int64, sizes: [1]}}, inputs: [w], outputs: [e],
             instructions: [{delegate: d, args: [c, i]}, {kernel: aten::index_select.out, args: [w, 0, i], out: e}]",
        ],
        of_file: &[],
    },
    Row {
        name: "external data",
        of_caller: &["values: {w: {tensor: float32, sizes: [4, 8]}, i: {tensor: int64, external: true, data: [9]}},
             inputs: [w], outputs: [e], instructions: [{kernel: aten::index_select.out, args: [w, 0, i], out: e}]"],
        of_file: &[],
    },
];

/// Returns the rules of the errors of a method, as a file alone; `None` if the assembler rejects it.
fn errors(method: &str) -> Option<BTreeSet<RuleId>> {
    let yaml = format!("methods: {{forward: {{{method}}}}}");
    let assembly = Model::from_yaml("method.yaml", &yaml, ".").assemble(&Default::default());
    let bytes = assembly.ok()?.program_file().unwrap().to_vec().unwrap();
    let found = Model::from_binary("method.pte", bytes).check(&CheckOptions::default()).unwrap();
    let errors = found[0].1.list.iter().filter(|finding| finding.rule.severity <= RuleSeverity::Invalid);
    Some(errors.map(|finding| finding.rule.id).collect())
}

#[test]
fn each_row_of_the_table_depends_on_the_caller_or_is_an_error() {
    let page = std::fs::read_to_string(root().join("docs/check.md")).unwrap();
    let (_, table) = page.split_once("| depends on the caller |").expect("the table");
    let rows = table.lines().skip(2).take_while(|line| line.starts_with('|'));
    let names: Vec<&str> = rows.map(|row| row.split('|').nth(1).unwrap().trim()).collect();
    assert_eq!(names, ROWS.iter().map(|row| row.name).collect::<Vec<_>>());
    for row in ROWS {
        assert!(!row.of_caller.is_empty(), "{}", row.name);
        for method in row.of_caller {
            assert_eq!(errors(method), Some(BTreeSet::new()), "{}: {method}", row.name);
        }
        for (rule, method) in row.of_file {
            assert_eq!(errors(method), rule.map(|rule| BTreeSet::from([rule])), "{}: {method}", row.name);
        }
    }
}
