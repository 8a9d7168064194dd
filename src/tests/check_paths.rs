//! a tensor that is read but not written on each path.

use super::check_semantics::found_in;
use pte_check::RuleId::*;

/// Returns the paths of findings of X-28 in a method with the input `x` of two elements and the outputs `y`.
fn unwritten(instructions: &str) -> Vec<String> {
    let method = format!(
        "    values: {{x: {{tensor: float32, sizes: [2]}}, n: 3, i: 0}}
    inputs: [x]
    outputs: [y]
    instructions:
      - {{kernel: aten::sum.IntList_out, args: [x, null], out: s}}
      - {{kernel: aten::gt.Scalar_out, args: [s, 0], out: c}}
{instructions}"
    );
    found_in(&method).into_iter().filter(|(rule, _)| *rule == X_28).map(|(_, path)| path).collect()
}

#[test]
fn a_tensor_that_one_branch_writes_is_not_read_after_both() {
    let one = "      - {jump_false: {cond: c, to: end}}
      - {kernel: aten::neg.out, args: [x], out: t}
      - {label: end}
      - {kernel: aten::add.out, args: [t, x], out: y}";
    assert_eq!(unwritten(one), ["methods.forward.instructions[4].args[0]"]);
    let both = "      - {jump_false: {cond: c, to: other}}
      - {kernel: aten::neg.out, args: [x], out: y}
      - {jump_false: {cond: false, to: end}}
      - {label: other, kernel: aten::exp.out, args: [x], out: y}
      - {label: end}";
    assert!(unwritten(both).is_empty());
    let output = both.replace("label: other, kernel: aten::exp.out, args: [x], out: y", "label: other");
    assert_eq!(unwritten(&output), ["methods.forward.outputs[0]"]);
    // Before the jump, and an instruction that reads and writes it.
    let before = "      - {kernel: aten::clone.out, args: [x], out: y}
      - {jump_false: {cond: c, to: end}}
      - {kernel: aten::relu.out, args: [y], out: y}
      - {label: end}";
    assert!(unwritten(before).is_empty());
}

#[test]
fn a_loop_is_executed_once_at_least() {
    let result = "      - {label: again, kernel: executorch_prim::lt.Scalar, args: [i, n], out: more}
      - {jump_false: {cond: more, to: end}}
      - {kernel: aten::relu.out, args: [x], out: y}
      - {kernel: executorch_prim::add.Scalar, args: [i, 1], out: i}
      - {jump_false: {cond: false, to: again}}
      - {label: end}";
    assert!(unwritten(result).is_empty());
    // A branch in the loop is not.
    let branch = result.replace(
        "      - {kernel: aten::relu",
        "      - {jump_false: {cond: c, to: skip}}\n      - {kernel: aten::relu",
    );
    let branch = branch.replace("{kernel: executorch_prim::add", "{label: skip, kernel: executorch_prim::add");
    assert_eq!(unwritten(&branch), ["methods.forward.outputs[0]"]);
}
