//! Arduino: a header with the size of the pool of a sketch.

use super::generated::{Generated, no_temporary_allocator};
use super::pools::FirmwareNeeds;
use pte_memory::runner::{ARDUINO, Runner};
use pte_model::diagnostics::text::first_names;
use pte_operators::find;
use pte_operators::target::{CORTEX_M, PORTABLE, PRIM_OPS};

/// Runner.
pub static RUNNER: Option<&Runner> = Some(&ARDUINO);

/// Portable operators that the library registers unless its build lists others, of August 2026: `DEFAULT_ROOT_OPS` in
/// `build_arduino_library.sh`. Those of the Cortex-M backend and of the runtime are always registered.
const REGISTERED: &[&str] = &[
    "aten::_softmax.out",
    "aten::add.out",
    "aten::cat.out",
    "aten::clone.out",
    "aten::div.out",
    "aten::mean.out",
    "aten::mul.out",
    "aten::permute_copy.out",
    "aten::relu.out",
    "aten::slice_copy.Tensor_out",
    "aten::sub.out",
    "aten::view_copy.out",
    "dim_order_ops::_clone_dim_order.out",
    "dim_order_ops::_to_dim_order_copy.out",
];

/// Generates the files.
pub fn generate(needs: &FirmwareNeeds) -> Generated {
    let name = format!("{}_METHOD_POOL_SIZE", needs.symbol.to_macro());
    let pools = vec![needs.pools(needs.abi).method_allocator(&name, ARDUINO.order)];
    let mut generated = Generated { pools, ..Generated::default() };
    generated.warnings.extend(no_temporary_allocator(needs));
    let (mut selectable, mut others) = (Vec::new(), Vec::new());
    for name in needs.operators().filter(|name| !REGISTERED.contains(name)) {
        match find(name).map(|operator| operator.target()) {
            Some(CORTEX_M | PRIM_OPS) => {}
            Some(PORTABLE) => selectable.push(name),
            Some(_) | None => others.push(name),
        }
    }
    for (names, remedy) in [
        (selectable, "build it with `ROOT_OPS` set to the list of `pte-emit kernels --format list`"),
        (others, "add a source that registers it to the library"),
    ] {
        if !names.is_empty() {
            let names = first_names(names.into_iter());
            generated.warnings.push(format!("the library does not register {names} by default: {remedy}"));
        }
    }
    generated.pools_header(needs);
    generated
}
