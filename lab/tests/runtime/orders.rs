//! Kernels of operators with [`one_order`](pte_operators::facts::Facts::one_order) reject calls whose tensors are in
//! several orders of dimensions: random calls of all element types, of which some tensors get another order.
//!
//! Ignored by default, since it downloads the runtime: `cargo lab --test runtime orders:: -- --ignored`.
//! `PTE_EMIT_ORDERS_SEED` chooses the calls.

use pte_emit::program::{DimOrder, EValue, Program};
use pte_emit::{AssembleOptions, Resolved};
use pte_generate::calls::{operators, valid};
use pte_generate::lower::{BoundaryMemory, MethodWriter};
use pte_generate::random::Random;
use pte_operators::inference::constraints::other_order;

use super::optimize_memory::{EXECUTIONS, answers, script};
use crate::support::{runner, seed};

/// Calls of an operator.
const CALLS: u64 = 60;

/// Gives some of the tensors of a method another order of dimensions; returns `false` if all of them may be together.
fn reorder(random: &mut Random, values: &mut [EValue]) -> bool {
    let tensors =
        values.iter_mut().filter_map(|value| if let EValue::Tensor(tensor) = value { Some(tensor) } else { None });
    let mut orders = Vec::new();
    for tensor in tensors {
        let rank = tensor.sizes.as_ref().map_or(0, |sizes| sizes.len());
        let mut order = DimOrder::contiguous(rank);
        match random.below(3) {
            0 => order = DimOrder::channels_last(rank),
            1 => random.shuffle(&mut order),
            _ => {}
        }
        tensor.dim_order = Some(order.clone());
        orders.push(order);
    }
    other_order(orders.iter().enumerate()).is_some()
}

#[test]
#[ignore = "downloads the ExecuTorch runtime from a package index"]
fn kernels_reject_tensors_in_several_orders() {
    let first = seed("PTE_EMIT_ORDERS_SEED", 1);
    let runner = runner::locate();
    let (mut count, mut missing, mut taken) = (0, Vec::new(), Vec::new());
    for (name, signature) in operators().into_iter().filter(|(name, _)| pte_operators::facts(name).one_order) {
        let mut program = Program::default();
        for index in 0..CALLS {
            let random = &mut Random::of_item(first, index);
            let Some(call) = valid(random, name, &signature) else { continue };
            let mut method = MethodWriter::new(BoundaryMemory::Planned);
            let values = method.call(&mut program, &call);
            method.output(*values.last().unwrap());
            method.finish(&mut program, &format!("m{index}"));
            let plans = program.execution_plan.as_mut().unwrap();
            if !reorder(random, plans.last_mut().unwrap().values.as_mut().unwrap()) {
                plans.pop();
            }
        }
        let methods = program.plans().len();
        if methods == 0 {
            missing.push(name);
            continue;
        }
        let script = script(&program).unwrap();
        let assembly = Resolved::from(program)
            .to_files(&AssembleOptions::default())
            .unwrap_or_else(|error| panic!("{name}: {error}"));
        let answers = answers(&runner, &assembly, &script).unwrap_or_else(|error| panic!("{name}: {error}"));
        let executed = answers.iter().filter(|answer| *answer == "execute ok").count();
        let rejected = answers.iter().filter(|answer| answer.starts_with("execute error 0x12")).count();
        if (executed, rejected) != (0, EXECUTIONS as usize * methods) {
            taken.push((name, executed, rejected, methods));
        }
        count += methods;
    }
    println!("{count} calls rejected; without calls: {missing:?}");
    assert!(taken.is_empty(), "executed, rejected, methods: {taken:?}");
    assert!(count > 1000 && missing.len() < 5, "{count}, {missing:?}");
}
