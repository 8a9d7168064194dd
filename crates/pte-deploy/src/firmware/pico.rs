//! Raspberry Pi Pico SDK: CMake files for the project and for the build of ExecuTorch, and a header with the sizes of the pools.

use super::cache;
use super::generated::Generated;
use super::linker;
use super::needs::FirmwareNeeds;
use super::pools::{POOL_ALIGNMENT, Pools};
use super::text::{Comment, cmake_cache, cmake_program_path};
use pte_memory::runner::{PICO, Runner};
use pte_operators::find;
use pte_operators::target::{CORTEX_M, PORTABLE, QUANTIZED};

/// Runner.
pub static RUNNER: Option<&Runner> = Some(&PICO);

/// Names of the generated files.
const HEADER: &str = "pte_emit_pools.h";
const CMAKE: &str = "pte-emit.cmake";
const LINKER: &str = "pte-emit.ld";

/// Generates the files.
pub fn generate(needs: &FirmwareNeeds) -> Generated {
    let pools = Pools { methods: &needs.methods, abi: needs.abi };
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
    if needs.methods.iter().any(|method| method.build(needs.abi).temporary_allocator.kernels > 0) {
        let text =
            "kernels take temporary memory, but the runner has no temporary allocator: give its MemoryManager one";
        generated.warnings.push(text.to_owned());
    }
    if uses(needs, QUANTIZED) {
        generated
            .warnings
            .push(format!("the runner does not link `{QUANTIZED}`, which the program needs: add it to CMakeLists.txt"));
    }
    let header = header(needs, &generated);
    generated.file(HEADER, header);
    generated.file(CMAKE, project(needs));
    generated.file(cache::FILE, cache::text(needs));
    if let Some(section) = &needs.section {
        generated.file(LINKER, linker::fragment(needs, section.as_str()));
    }
    generated
}

/// Returns true if a CMake target registers an operator of the program.
fn uses(needs: &FirmwareNeeds, target: &str) -> bool {
    needs.operators().filter_map(find).any(|operator| operator.target() == target)
}

/// Header with the sizes.
fn header(needs: &FirmwareNeeds, generated: &Generated) -> String {
    let prefix = needs.symbol.to_macro();
    let usage = format!(
        "Sizes in bytes of the pools in main.cpp. Declare them as `alignas({prefix}_POOL_ALIGNMENT) static uint8_t`."
    );
    let mut out = Comment::Block.head(needs, &[&usage]);
    out += &format!("#ifndef {prefix}_POOLS_H\n#define {prefix}_POOLS_H\n\n");
    out += &format!("#define {prefix}_POOL_ALIGNMENT {POOL_ALIGNMENT}\n");
    for pool in &generated.pools {
        out += &Comment::Block.pool(pool);
        out += &format!("#define {} {}\n", pool.name, pool.bytes);
    }
    out + "\n#endif\n"
}

/// CMake file of the project.
fn project(needs: &FirmwareNeeds) -> String {
    let mut out = Comment::Hash
        .head(needs, &["Include it in CMakeLists.txt of pico2 after project(), before INPUT_MODEL is used."]);
    out += "include_guard(GLOBAL)\n\n";
    out += &cmake_program_path("INPUT_MODEL", needs);
    let [uses_cmsis_nn, uses_portable] = [CORTEX_M, PORTABLE].map(|target| uses(needs, target));
    let switch = |is_on: bool| if is_on { "ON" } else { "OFF" };
    // With operators of the Cortex-M backend, a selective build has no others.
    let is_selective = !(uses_cmsis_nn && uses_portable);
    out += &cmake_cache("USE_SELECTIVE_BUILD", switch(is_selective), "BOOL", "Link the operators of the program only");
    out += &cmake_cache("USE_CMSIS_NN", switch(uses_cmsis_nn), "BOOL", "Link the operators of the Cortex-M backend");
    out += "include_directories(\"${CMAKE_CURRENT_LIST_DIR}\")\n";
    out
}
