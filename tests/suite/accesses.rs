//! What the parts of the package take a call to read and to write: the same for every operator. The expectation is read
//! from the signatures here; each part is asked by what it does, not by what it asks of the analysis.

use std::collections::BTreeSet;

use pte_analysis::method::Method;
use pte_analysis::operators::MethodOperators;
use pte_analysis::planning::{MethodValues, value_requests};
use pte_emit::program::{
    EValue, ExecutionPlan, Instruction, Memory, Operator, OperatorId, Program, Tensor, TensorData, ValueId,
};
use pte_emit::{
    Blob, BlobId, Model, PrintOptions, ScalarType,
    check::{CheckOptions, RuleId},
    diff::{DiffArea, DiffOptions},
    operators::{OperatorArgRole, OperatorBaseType},
};
use pte_memory::Subject;
use pte_model::program::MemoryPlan;
use pte_report::graph::ProgramGraph;
use pte_transform::prune;

/// Arguments in place whose content the kernel replaces without reading it.
const OVERWRITTEN: &[(&str, usize)] = &[("aten::copy_", 0), ("executorch_prim::et_copy_index.tensor", 0)];

/// Arguments of which the kernel reads the sizes alone, while a read of other ones needs content.
const SIZES_ONLY: &[(&str, usize)] =
    &[("aten::copy.out", 0), ("aten::fill.Scalar_out", 0), ("aten::fill.Tensor_out", 0), ("aten::full_like.out", 0)];

type Values = BTreeSet<usize>;

/// A call of an operator with a tensor for each of its tensor arguments and for each item of its lists.
struct Call {
    plan: ExecutionPlan,
    /// Tensors among the arguments.
    tensors: Values,
    /// Those that the call reads, and those that it writes.
    reads: Values,
    writes: Values,
    /// Those that it reads and that need no content.
    sizes_only: Values,
    /// Those that it writes in place.
    in_place: Values,
    /// Those that are items of lists.
    items: Values,
    /// Result that is not an argument: a number, or a view.
    result: Option<usize>,
    args: Vec<ValueId>,
}

fn tensor(number: usize) -> Tensor {
    let mut tensor = Tensor::new(ScalarType::FLOAT, &[2]);
    tensor.memory = Memory::At { pool: 1, offset: 64 * number as u64 };
    tensor
}

fn add(plan: &mut ExecutionPlan, value: EValue) -> ValueId {
    let values = plan.values.get_or_insert_default();
    values.push(value);
    ValueId::of(values.len() - 1)
}

fn add_tensor(plan: &mut ExecutionPlan) -> ValueId {
    let number = plan.values().len();
    add(plan, EValue::Tensor(tensor(number)))
}

/// Inserts a call at a position.
fn insert(plan: &mut ExecutionPlan, at: usize, name: &str, args: &[ValueId]) {
    let operators = plan.operators.get_or_insert_default();
    operators.push(Operator::new(name));
    let call = Instruction::KernelCall { op_index: OperatorId::of(operators.len() - 1), args: Some(args.into()) };
    plan.chains.as_mut().unwrap()[0].instructions.as_mut().unwrap().insert(at, call);
}

impl Call {
    fn new(name: &'static str) -> Call {
        let signature = &pte_operators::find(name).unwrap().signature;
        let mut call = Call {
            plan: ExecutionPlan::default(),
            tensors: Values::new(),
            reads: Values::new(),
            writes: Values::new(),
            sizes_only: Values::new(),
            in_place: Values::new(),
            items: Values::new(),
            result: None,
            args: Vec::new(),
        };
        let plan = &mut call.plan;
        plan.memory.non_const_buffer_sizes = Some(vec![0, 1 << 16]);
        let mut args = Vec::new();
        for (position, arg) in signature.args.iter().enumerate() {
            let is_tensor = arg.kind.base == OperatorBaseType::Tensor;
            let count = usize::from(is_tensor) * if arg.kind.list { 2 } else { 1 };
            let tensors: Vec<ValueId> = (0..count).map(|_| add_tensor(plan)).collect();
            let overwritten = OVERWRITTEN.contains(&(name, position));
            for tensor in tensors.iter().filter_map(|tensor| tensor.get()) {
                call.tensors.insert(tensor);
                call.items.extend(arg.kind.list.then_some(tensor));
                let kinds = [
                    (&mut call.reads, arg.role != OperatorArgRole::Out && !overwritten),
                    (&mut call.writes, arg.role != OperatorArgRole::In),
                    (&mut call.in_place, arg.role == OperatorArgRole::InPlace),
                    (&mut call.sizes_only, SIZES_ONLY.contains(&(name, position))),
                ];
                for (values, _) in kinds.into_iter().filter(|(_, is_of)| *is_of) {
                    values.insert(tensor);
                }
            }
            args.push(match (arg.kind.base, arg.kind.list) {
                (OperatorBaseType::Tensor, false) => tensors[0],
                (OperatorBaseType::Tensor, true) if arg.kind.optional_items => {
                    add(plan, EValue::OptionalTensorList(Some([&tensors[..], &[ValueId::NONE]].concat())))
                }
                (OperatorBaseType::Tensor, true) => add(plan, EValue::TensorList(Some(tensors))),
                (OperatorBaseType::Int, true) => {
                    let item = add(plan, EValue::Int(1));
                    add(plan, EValue::IntList(Some(vec![item.into()])))
                }
                (OperatorBaseType::Float, true) => add(plan, EValue::DoubleList(Some(vec![1.0]))),
                (OperatorBaseType::Bool, true) => add(plan, EValue::BoolList(Some(vec![true]))),
                (OperatorBaseType::Float, false) => add(plan, EValue::Double(1.0)),
                (OperatorBaseType::Bool, false) => add(plan, EValue::Bool(true)),
                (OperatorBaseType::Str, false) => add(plan, EValue::String(Some("none".into()))),
                _ => add(plan, EValue::Int(0)),
            });
        }
        let outs: Vec<ValueId> = signature
            .args
            .iter()
            .zip(&args)
            .filter(|(arg, _)| arg.role == OperatorArgRole::Out)
            .map(|(_, value)| *value)
            .collect();
        match (signature.result, &outs[..]) {
            (None, []) => {}
            (None, [out]) => args.push(*out),
            (None, _) => {
                call.items.extend(outs.iter().filter_map(|out| out.get()));
                args.push(add(plan, EValue::TensorList(Some(outs))));
            }
            (Some(OperatorBaseType::Tensor), _) if !call.in_place.is_empty() => args.push(args[0]),
            (Some(result), _) => {
                let value = match result {
                    OperatorBaseType::Tensor => add_tensor(plan),
                    OperatorBaseType::Bool => add(plan, EValue::Bool(false)),
                    _ => add(plan, EValue::Int(0)),
                };
                call.result = value.get();
                args.push(value);
            }
        }
        insert(plan, 0, name, &args);
        call.args = args;
        call
    }

    fn program(&self, edit: impl FnOnce(&mut ExecutionPlan)) -> Program {
        let mut plan = self.plan.clone();
        edit(&mut plan);
        Program::new(vec![plan])
    }
}

fn bytes(program: &Program) -> Vec<u8> {
    crate::support::program::files(program).unwrap().program_file().unwrap().to_vec().unwrap()
}

/// Values in messages of a rule of `check`: `values[3]`.
fn found(bytes: &[u8], rules: &[RuleId], what: &str) -> Values {
    let findings = Model::from_binary("file", bytes).check(&CheckOptions::default()).unwrap();
    let of_rule =
        findings.iter().flat_map(|(_, findings)| &findings.list).filter(|finding| rules.contains(&finding.rule.id));
    let value = |text: &str| text.split_once(what)?.1.split_once(']')?.0.parse().ok();
    of_rule.filter_map(|finding| value(&finding.found)).collect()
}

/// Returns what `check` takes to be written: constants, of which it reports each.
fn written_for_check(call: &Call) -> Values {
    let mut program = call.program(|plan| {
        for value in &call.tensors {
            if let EValue::Tensor(tensor) = &mut plan.values.as_mut().unwrap()[*value] {
                (tensor.memory, tensor.data) = (Memory::None, TensorData::Blob(BlobId(0)));
            }
        }
    });
    program.blobs = vec![Blob::bytes([1; 8])];
    found(&bytes(&program), &[RuleId::X_7], "a write to the constant values[")
}

/// Returns what `check` takes to be read: tensors without content.
fn read_for_check(call: &Call) -> Values {
    found(&bytes(&call.program(|_| {})), &[RuleId::X_1, RuleId::X_19, RuleId::X_21], "values[")
}

/// Returns what the graph of a report reads and writes.
fn graph(call: &Call) -> [Values; 2] {
    let program = call.program(|_| {});
    let memory: Vec<MemoryPlan> = vec![MemoryPlan::default()];
    let plan = &program.plans()[0];
    let names = vec![None; plan.values().len()];
    let values = MethodValues { names, memory: value_requests(plan, &MethodOperators::known(plan)) };
    let subject = Subject::new(&program, &memory, vec![values], Vec::new());
    let graph = ProgramGraph::new(&subject, &[], &[]);
    let node = &graph.methods[0].nodes[0];
    [node.reads.iter().map(|read| read.value).collect(), node.writes.iter().copied().collect()]
}

/// Returns what a comparison takes to be read: tensors whose bytes another instruction wrote on one side.
fn read_for_diff(call: &Call) -> Values {
    let side = |is_left: bool| {
        let edit = |plan: &mut ExecutionPlan| {
            let source = add_tensor(plan);
            plan.inputs = Some(vec![source]);
            for (number, value) in call.tensors.iter().enumerate() {
                let over = add_tensor(plan);
                if let EValue::Tensor(tensor) = &mut plan.values.as_mut().unwrap()[over.get().unwrap()]
                    && is_left
                {
                    tensor.memory = Memory::At { pool: 1, offset: 64 * *value as u64 };
                }
                insert(plan, 2 * number, "aten::relu.out", &[source, ValueId::of(*value), ValueId::of(*value)]);
                insert(plan, 2 * number + 1, "aten::relu.out", &[source, over, over]);
            }
        };
        bytes(&call.program(edit))
    };
    let (left, right) = (side(true), side(false));
    let options = DiffOptions::default();
    let found = Model::from_binary("left", &left).diff(&Model::from_binary("right", &right), &options).unwrap();
    let read = found.of(DiffArea::Meaning).filter_map(|difference| difference.left.as_ref());
    let read = read.filter(|part| part.value.contains("in the memory of"));
    let position = |path: &str| path.split_once("args[")?.1.split_once(']')?.0.parse::<usize>().ok();
    read.filter_map(|part| position(&part.path)).filter_map(|position| call.args[position].get()).collect()
}

/// Returns the tensors whose earlier writers are needed.
fn needed(call: &Call) -> Values {
    let program = call.program(|plan| {
        for value in plan.values.iter_mut().flatten() {
            if let EValue::Tensor(tensor) = value {
                tensor.memory = Memory::Auto { pool: None, persistent: false, shared: None };
            }
        }
        let source = add_tensor(plan);
        plan.inputs = Some(vec![source]);
        plan.outputs = Some(call.writes.iter().chain(&call.result).copied().map(ValueId::of).collect());
        for (number, value) in call.tensors.iter().enumerate() {
            insert(plan, number, "aten::relu.out", &[source, ValueId::of(*value), ValueId::of(*value)]);
        }
    });
    let needed = &prune::needed_instructions(&program)[0];
    call.tensors.iter().zip(needed).filter(|(_, needed)| **needed).map(|(value, _)| *value).collect()
}

/// Returns the tensors that keep their content from one execution to the next, if all of them are written after the
/// call.
fn state(call: &Call) -> Values {
    let program = call.program(|plan| {
        let source = add_tensor(plan);
        plan.inputs = Some(vec![source]);
        for (number, value) in call.tensors.iter().enumerate() {
            insert(plan, number + 1, "aten::relu.out", &[source, ValueId::of(*value), ValueId::of(*value)]);
        }
    });
    let plan = &program.plans()[0];
    let method = Method::new(plan);
    let execution = method.execution(method.requests());
    call.tensors.iter().copied().filter(|value| execution.is_state[*value]).collect()
}

/// Returns what differs after printing and assembling a program in which what the call reads are inputs, so that other
/// tensors have no content before it.
fn difference_after_printing(call: &Call) -> Option<String> {
    let program = call.program(|plan| {
        plan.inputs = Some(call.reads.iter().copied().map(ValueId::of).collect());
        plan.outputs = Some(call.writes.iter().chain(&call.result).copied().map(ValueId::of).collect());
    });
    let bytes = bytes(&program);
    Model::from_binary("file", &bytes).to_yaml("".as_ref(), &PrintOptions::default()).unwrap().difference
}

/// All operators, one call of each.
fn calls() -> impl Iterator<Item = (&'static str, Call)> {
    pte_operators::names().map(|name| (name, Call::new(name)))
}

impl Call {
    /// Returns the tensors among the arguments that are in a set.
    fn tensors(&self, values: impl IntoIterator<Item = usize>) -> Values {
        values.into_iter().filter(|value| self.tensors.contains(value)).collect()
    }

    /// Returns the tensors and numbers that the call writes.
    fn written(&self) -> Values {
        self.writes.iter().chain(&self.result).copied().collect()
    }
}

#[test]
fn check_reports_writes_and_reads() {
    for (name, call) in calls() {
        assert_eq!(written_for_check(&call), call.writes, "{name}: writes");
        // Of the tensors that are written in place, only the first is reported.
        let read = call.tensors(read_for_check(&call));
        let in_place: Values = call.in_place.intersection(&call.reads).copied().collect();
        let plain: Values = call.reads.difference(&in_place).copied().collect();
        assert!(read.is_subset(&call.reads) && read.is_superset(&plain), "{name}: reads: {read:?}");
        assert_eq!(read.is_disjoint(&in_place), in_place.is_empty(), "{name}: reads in place: {read:?}");
    }
}

#[test]
fn diff_follows_reads() {
    for (name, call) in calls() {
        // Items of a list have the path of the list.
        let single: Values = call.reads.difference(&call.items).copied().collect();
        assert_eq!(call.tensors(read_for_diff(&call)), single, "{name}");
    }
}

#[test]
fn graphs_reduction_and_memory_agree() {
    for (name, call) in calls() {
        let [reads, writes] = graph(&call);
        assert_eq!((call.tensors(reads), writes), (call.reads.clone(), call.written()), "{name}: graph of a report");

        let inputs = call.tensors.iter().copied().map(ValueId::of).collect();
        let program = call.program(|plan| plan.inputs = Some(inputs));
        let flow = pte_reduce::flow::MethodFlow::new(&program.plans()[0]);
        assert_eq!(call.tensors(flow.reads(0)), call.reads, "{name}: reads of reduce");
        assert_eq!(flow.writes(0).collect::<Values>(), call.written(), "{name}: writes of reduce");

        let written = MethodOperators::known(&call.plan).written(&call.plan).into_iter();
        let written: Values =
            written.filter(|value| call.tensors.contains(value) || call.result == Some(*value)).collect();
        assert_eq!(written, call.written(), "{name}: writes of memory planning");
        let needs_content: Values = call.reads.difference(&call.sizes_only).copied().collect();
        assert_eq!(state(&call), needs_content, "{name}: lifetimes");
    }
}

#[test]
fn prune_keeps_what_a_call_reads() {
    for (name, call) in calls() {
        let needed = needed(&call);
        // A call that writes in place has an effect, and what a list has in common stays.
        let may_stay =
            |value: &usize| !call.in_place.is_empty() || call.reads.contains(value) || call.items.contains(value);
        assert!(needed.is_superset(&call.reads) && needed.iter().all(may_stay), "{name}: {needed:?}");
    }
}

#[test]
fn printer_and_assembler_agree() {
    for (name, call) in calls() {
        assert_eq!(difference_after_printing(&call), None, "{name}");
    }
}
