//! Raspberry Pi Pico SDK: CMake files for the project and for the build of ExecuTorch, and a header with the sizes of
//! the pools.

use std::fmt::Display;

use super::cache;
use super::generated::{Generated, no_temporary_allocator};
use super::linker;
use super::pools::FirmwareNeeds;
use super::text::{cmake_cache, cmake_program_path};
use pte_memory::runner::{PICO, Runner};
use pte_operators::find;
use pte_operators::target::{CORTEX_M, PORTABLE, QUANTIZED};

/// Runner.
pub static RUNNER: Option<&Runner> = Some(&PICO);

/// Generates the files.
pub fn generate(needs: &FirmwareNeeds) -> Generated {
    let pools = needs.pools(needs.abi);
    let prefix = needs.symbol.to_macro();
    let mut generated = Generated {
        pools: vec![pools.method_allocator(&format!("{prefix}_METHOD_ALLOCATOR_POOL_SIZE"), PICO.order)],
        ..Generated::default()
    };
    let planned = pools.all_planned(|number| format!("{prefix}_ACTIVATION_POOL_{number}_SIZE"));
    match planned.len() {
        0 | 1 => generated.pools.push(pools.planned(&format!("{prefix}_ACTIVATION_POOL_SIZE"), 1)),
        count => {
            generated.pools.extend(planned);
            generated.warnings.push(format!(
                "the program has {count} planned pools, but the runner has one, `activation_pool`: give its HierarchicalAllocator {count} spans"
            ));
        }
    }
    generated.warnings.extend(no_temporary_allocator(needs));
    if uses(needs, QUANTIZED) {
        generated
            .warnings
            .push(format!("the runner does not link `{QUANTIZED}`, which the program needs: add it to CMakeLists.txt"));
    }
    generated.pools_header(needs);
    let [uses_cmsis_nn, uses_portable] = [CORTEX_M, PORTABLE].map(|target| uses(needs, target));
    let switch =
        |name, is_on, documentation| cmake_cache(name, if is_on { "ON" } else { "OFF" }, "BOOL", documentation);
    // With operators of the Cortex-M backend, a selective build has no others.
    let is_selective = !(uses_cmsis_nn && uses_portable);
    let values: [(&str, &dyn Display); 3] = [
        ("program", &cmake_program_path("INPUT_MODEL", needs)),
        ("selective", &switch("USE_SELECTIVE_BUILD", is_selective, "Link the operators of the program only")),
        ("cmsis_nn", &switch("USE_CMSIS_NN", uses_cmsis_nn, "Link the operators of the Cortex-M backend")),
    ];
    generated.template(needs, "pte-emit.cmake", include_str!("templates/pico.cmake"), &values);
    generated.file(cache::FILE, cache::text(needs));
    if let Some(section) = &needs.section {
        linker::fragment(&mut generated, needs, section.as_str());
    }
    generated
}

/// Returns true if a CMake target registers an operator of the program.
fn uses(needs: &FirmwareNeeds, target: &str) -> bool {
    needs.operators().filter_map(find).any(|operator| operator.target() == target)
}
