//! `check` reports constant indices that a kernel rejects, and no others: negative ones, some of which count from the
//! end, and those beyond the end, in each place of a call where the operator selects by positions.
//!
//! Ignored by default, since it downloads the runtime: `cargo lab --test runtime indices:: -- --ignored`.

use pte_emit::{AssembleOptions, Model, check::CheckOptions};

use super::optimize_memory::{answers, script};
use crate::support::runner;

/// Calls with a tensor `x` of 3 x 3, `row` of 1 x 3, and indices `i`, `plane` (1 x 3) and `mask`.
const CALLS: &[(&str, &str, &str)] = &[
    ("aten::gather.out", "[x, 0, plane, false]", "y"),
    ("aten::gather.out", "[x, -1, plane, false]", "y"),
    ("aten::scatter.value_out", "[x, 0, plane, 2.0]", "y"),
    ("aten::scatter.src_out", "[x, 1, plane, row]", "y"),
    ("aten::scatter_add.out", "[x, 0, plane, row]", "y"),
    ("aten::index.Tensor_out", "[x, [i]]", "y"),
    ("aten::index.Tensor_out", "[x, [null, i]]", "y"),
    ("aten::index.Tensor_out", "[x, [mask, i]]", "masked"),
    ("aten::index.Tensor_out", "[x, [i, i]]", "y"),
    ("aten::index_put.out", "[x, [i], x, false]", "y"),
    ("aten::index_put.out", "[x, [null, i], x, true]", "y"),
    ("aten::index_put_", "[x, [i], other, false]", "x"),
    ("aten::index_select.out", "[x, 1, i]", "y"),
    ("aten::embedding.out", "[x, i, -1, false, false]", "y"),
];

/// Values of which a call has those that it names.
const VALUES: &[(&str, &str)] = &[
    ("x", "{tensor: float32, sizes: [3, 3]}"),
    ("other", "{tensor: float32, data: [[1, 2, 3], [4, 5, 6], [7, 8, 9]]}"),
    ("row", "{tensor: float32, data: [[1, 2, 3]]}"),
    ("mask", "{tensor: bool, data: [true, true, true]}"),
    // The assembler does not know how many positions the mask selects.
    ("masked", "{tensor: float32, sizes: [3]}"),
    ("plane", "{tensor: int64, data: [[0, INDEX, 1]]}"),
    ("i", "{tensor: int64, data: [INDEX, 0, 1]}"),
];

#[test]
#[ignore = "downloads the ExecuTorch runtime from a package index"]
fn check_reports_the_indices_that_kernels_reject() {
    let (runner, mut rejected, mut executed) = (runner::locate(), 0, 0);
    for (operator, args, out) in CALLS {
        assert!(pte_operators::find(operator).unwrap().facts.checks_indices, "{operator}");
        for index in -5..=4 {
            let is_named =
                |(name, _): &&(&str, &str)| name == out || args.split([' ', ',', '[', ']']).any(|word| word == *name);
            let line = |(name, value): &(&str, &str)| format!("      {name}: {value}\n");
            let values = VALUES.iter().filter(is_named).map(line).collect::<String>();
            let values = values.replace("INDEX", &index.to_string());
            let yaml = format!(
                "methods:\n  forward:\n    values:\n{values}    inputs: [x]\n    outputs: [{out}]\n    \
                 instructions: [{{kernel: {operator}, args: {args}, out: {out}}}]\n"
            );
            let assembly = Model::from_yaml("m.yaml", &yaml, ".")
                .assemble(&AssembleOptions::default())
                .unwrap_or_else(|error| panic!("{error}\n{yaml}"));
            let reports = assembly.check(&CheckOptions::default()).unwrap();
            let findings: Vec<_> = reports.iter().flat_map(|report| &report.list).map(ToString::to_string).collect();
            let is_reported = findings.iter().any(|finding| finding.contains("[O-14]"));
            let script = script(assembly.program()).unwrap();
            let answers = answers(&runner, &assembly, &script).unwrap_or_else(|error| panic!("{error}\n{yaml}"));
            let is_rejected = answers.iter().any(|answer| answer.starts_with("execute error 0x12"));
            assert_eq!(is_reported, is_rejected, "{findings:?}\n{answers:?}\n{yaml}");
            *if is_rejected { &mut rejected } else { &mut executed } += 1;
        }
    }
    println!("{rejected} calls rejected and reported, {executed} executed");
}
