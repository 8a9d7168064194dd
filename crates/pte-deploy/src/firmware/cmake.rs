//! Any project with CMake: compile definitions with the sizes of the pools, for an application that has each planned
//! pool, the method allocator, the temporary allocator, inputs and outputs in memory of their own.

use std::fmt::Display;

use super::cache;
use super::generated::Generated;
use super::linker;
use super::pools::{FirmwareNeeds, FirmwarePool, POOL_ALIGNMENT};
use super::text::{Comment, cmake_program_path, cmake_string};
use pte_memory::abi::Abi;
use pte_memory::runner::{LOADING, Runner};

/// The application has a runner of its own.
pub const RUNNER: Option<&Runner> = None;

/// Generates the files.
pub fn generate(needs: &FirmwareNeeds) -> Generated {
    let mut generated = Generated::default();
    let prefix = needs.symbol.to_macro();
    let name = |suffix: &str| format!("{prefix}_{suffix}_SIZE");
    let of_build = |abi: Abi| {
        let pools = needs.pools(abi);
        let sized =
            [pools.method_allocator(&name("METHOD_ALLOCATOR"), LOADING), pools.temporary(&name("TEMP_ALLOCATOR"))];
        sized.map(|pool| FirmwarePool { pointer_bytes: Some(abi.pointer_bytes()), ..pool })
    };
    let builds = [of_build(Abi::Arm32), of_build(Abi::Bits64)];
    let pools = needs.pools(needs.abi);
    let mut common = pools.all_planned(|number| name(&format!("PLANNED_POOL_{number}")));
    let planned = common.len();
    let input = pools.buffers(&name("INPUT_BUFFERS"), "inputs that are not planned", |method| &method.inputs);
    let output = pools.buffers(&name("OUTPUT_BUFFERS"), "outputs that are not planned", |method| &method.outputs);
    common.extend(input.into_iter().chain(output));
    let set = |pool: &FirmwarePool, indent: &str| {
        let comments: String = Comment::Hash.pool(pool).lines().map(|line| format!("{indent}{line}\n")).collect();
        format!("{comments}{indent}set({} {})\n", pool.name, pool.bytes)
    };
    let sets = |pools: &[FirmwarePool], indent: &str| pools.iter().map(|pool| set(pool, indent)).collect::<String>();
    let [bits32, bits64] = &builds;
    let define = |pool: &FirmwarePool| format!("  {name}=${{{name}}}\n", name = pool.name);
    let values: [(&str, &dyn Display); 10] = [
        ("prefix", &prefix),
        ("target", &format!("pte_emit_{}", needs.symbol)),
        ("program", &cmake_program_path(&format!("{prefix}_FILE"), needs)),
        ("sizes64", &sets(bits64, "  ")),
        ("sizes32", &sets(bits32, "  ")),
        ("sizes", &sets(&common, "")),
        ("operators", &cmake_string(&needs.operator_list())),
        ("alignment", &POOL_ALIGNMENT),
        ("planned", &planned),
        ("definitions", &bits32.iter().chain(&common).map(define).collect::<String>()),
    ];
    generated.template(needs, "pte-emit.cmake", include_str!("templates/cmake.cmake"), &values);
    generated.file(cache::FILE, cache::text(needs));
    if let Some(section) = &needs.section {
        linker::fragment(&mut generated, needs, section.as_str());
    }
    generated.pools = builds.into_iter().flatten().chain(common).collect();
    generated
}
