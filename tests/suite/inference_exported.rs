//! Inference on programs that ExecuTorch's exporter wrote: what is inferred for the results of each kernel call is what
//! the exporter declared. A table of the counts is printed (`--nocapture`).
//!
//! `PTE_EMIT_PROGRAMS=FOLDER cargo test --test suite inference_exported:: -- --ignored --nocapture` does so for other
//! programs.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use pte_analysis::inference::{self, Difference, Inference};
use pte_analysis::operators::MethodOperators;
use pte_emit::Model;
use pte_emit::program::{ExecutionPlan, Instruction};
use pte_operators::inference::InferenceError;

use crate::support::{files_below, root};

/// Differences between inferred and declared results of the programs in the repository: their number by operator and
/// kind. The conversions and `full` take the element type of the out, for want of an argument. `select_copy` has one
/// dimension of a tensor that is dynamic as a whole.
const DIFFERENCES: &[(&str, &str, usize)] = &[
    ("aten::_to_copy.out", "element type", 18),
    ("aten::full.out", "element type", 4),
    ("aten::select_copy.int_out", "dynamism", 1),
    ("aten::slice_copy.Tensor_out", "dynamism", 2),
    ("dim_order_ops::_to_dim_order_copy.out", "element type", 100),
];

/// Calls of the programs in the repository whose results are not inferred: their number by operator and reason.
const NOT_INFERRED: &[(&str, &str, usize)] = &[
    ("demo::all", UNKNOWN, 2),
    ("demo::grow", UNKNOWN, 2),
    ("demo::next", UNKNOWN, 6),
    ("demo::nothing", UNKNOWN, 6),
    ("demo::pair", UNKNOWN, 2),
    ("demo::relu", UNKNOWN, 2),
    ("mein::größe", UNKNOWN, 2),
];

/// Reason for an operator that the built-in tables do not have.
const UNKNOWN: &str = "unknown operator";

/// Reason for an operator of a library.
const WITHOUT_RULE: &str = "no rule";

/// Counts over programs.
#[derive(Default)]
struct Counts {
    programs: usize,
    kernel_calls: usize,
    other_instructions: usize,
    /// Calls of operators that the built-in tables have.
    inferred: usize,
    not_inferred: BTreeMap<(String, String), usize>,
    tensors: usize,
    differences: BTreeMap<(String, &'static str), usize>,
    /// The differences, one a line.
    listed: String,
}

impl Counts {
    fn add_program(&mut self, path: &Path) {
        let source = Model::open(path).unwrap();
        let resolved = match source.resolve() {
            Ok(resolved) => resolved,
            Err(error) => panic!("{}: {error}", path.display()),
        };
        self.programs += 1;
        for plan in resolved.program.plans() {
            self.add_method(path, plan);
        }
    }

    fn add_method(&mut self, path: &Path, plan: &ExecutionPlan) {
        let operators = MethodOperators::known(plan);
        let mut inference = Inference::new(plan, &operators);
        let values = plan.values();
        for instruction in plan.chains.iter().flatten().flat_map(|chain| chain.instructions.iter().flatten()) {
            let Instruction::KernelCall { op_index, args } = instruction else {
                self.other_instructions += 1;
                continue;
            };
            self.kernel_calls += 1;
            let args = args.as_deref().unwrap_or_default();
            let Some(operator) = operators.get(*op_index) else {
                let name = plan.operator(*op_index).and_then(|operator| operator.name.clone()).unwrap_or_default();
                *self.not_inferred.entry((name, UNKNOWN.to_owned())).or_default() += 1;
                continue;
            };
            let results = match inference.call(values, operator, args) {
                Ok(results) => results,
                Err(error) => {
                    let reason = match error {
                        InferenceError::UnknownOperator => WITHOUT_RULE.to_owned(),
                        InferenceError::Undetermined(reason) => reason.to_owned(),
                        InferenceError::Invalid(invalid) | InferenceError::Unsupported(invalid) => {
                            format!("{invalid:?}")
                        }
                    };
                    *self.not_inferred.entry((operator.name.to_string(), reason)).or_default() += 1;
                    continue;
                }
            };
            self.inferred += 1;
            for (value, meta) in inference::tensors(values, operator, args, &results) {
                self.tensors += 1;
                let pte_emit::program::EValue::Tensor(tensor) = &values[value] else {
                    panic!("{}: value {value} is no tensor", path.display())
                };
                let Some(difference) = inference::difference(tensor, meta) else { continue };
                let kind = match difference {
                    Difference::ScalarType => "element type",
                    Difference::Sizes => "sizes",
                    Difference::DimOrder => "dim_order",
                    Difference::Dynamism => "dynamism",
                };
                *self.differences.entry((operator.name.to_string(), kind)).or_default() += 1;
                let declared = (tensor.scalar_type, tensor.sizes.as_deref(), tensor.dim_order.as_deref());
                writeln!(
                    self.listed,
                    "{}: {} value {value} ({kind}): declared {declared:?} dynamism {}, inferred {meta:?}",
                    path.display(),
                    operator.name,
                    tensor.shape_dynamism
                )
                .unwrap();
            }
            inference.record_results(values, operator, args, &results);
        }
    }

    fn table(&self) -> String {
        let mut table = format!(
            "{} programs, {} kernel calls, {} other instructions; {} calls inferred with {} tensors\n",
            self.programs, self.kernel_calls, self.other_instructions, self.inferred, self.tensors
        );
        writeln!(table, "not inferred: {}", self.not_inferred.values().sum::<usize>()).unwrap();
        for ((operator, reason), count) in &self.not_inferred {
            writeln!(table, "    {count:6} {operator}: {reason}").unwrap();
        }
        writeln!(table, "different: {}", self.differences.values().sum::<usize>()).unwrap();
        for ((operator, kind), count) in &self.differences {
            writeln!(table, "    {count:6} {operator}: {kind}").unwrap();
        }
        table
    }
}

fn counts(folder: &Path) -> Counts {
    let mut counts = Counts::default();
    for path in files_below(folder, &["pte", "bpte"]) {
        counts.add_program(&path);
    }
    counts
}

#[test]
fn results_are_those_of_the_exporter() {
    let counts = counts(&root().join("tests/golden/upstream"));
    println!("{}", counts.table());
    let found: Vec<(&str, &str, usize)> =
        counts.differences.iter().map(|((operator, kind), count)| (&**operator, *kind, *count)).collect();
    assert_eq!(found, DIFFERENCES, "{}", counts.listed);
    let found: Vec<(&str, &str, usize)> =
        counts.not_inferred.iter().map(|((operator, reason), count)| (&**operator, &**reason, *count)).collect();
    assert_eq!(found, NOT_INFERRED);
}

#[test]
#[ignore = "needs a folder of programs"]
fn results_of_other_programs_are_those_of_the_exporter() {
    let folder = std::env::var_os("PTE_EMIT_PROGRAMS").expect("PTE_EMIT_PROGRAMS is a folder");
    let counts = counts(Path::new(&folder));
    println!("{}\n{}", counts.table(), counts.listed);
}
