//! Any project with CMake: compile definitions with the sizes of the pools, for an application that has each planned pool, the method
//! allocator, the temporary allocator, inputs and outputs in memory of their own.

use super::cache;
use super::generated::Generated;
use super::linker;
use super::needs::FirmwareNeeds;
use super::pools::{FirmwarePool, POOL_ALIGNMENT, Pools};
use super::text::{Comment, cmake_program_path, cmake_string};
use pte_memory::abi::Abi;
use pte_memory::runner::{LOADING, Runner};

/// The application has a runner of its own.
pub const RUNNER: Option<&Runner> = None;

/// Names of the generated files.
const CMAKE: &str = "pte-emit.cmake";
const LINKER: &str = "pte-emit.ld";

/// Generates the files.
pub fn generate(needs: &FirmwareNeeds) -> Generated {
    let mut generated = Generated::default();
    let prefix = needs.symbol.to_macro();
    let name = |suffix: &str| format!("{prefix}_{suffix}_SIZE");
    let of_build = |abi: Abi| {
        let pools = Pools { methods: &needs.methods, abi };
        let sized =
            [pools.method_allocator(&name("METHOD_ALLOCATOR"), LOADING), pools.temporary(&name("TEMP_ALLOCATOR"))];
        sized.map(|pool| FirmwarePool { pointer_bytes: Some(abi.pointer_bytes()), ..pool })
    };
    let builds = [of_build(Abi::Arm32), of_build(Abi::Bits64)];
    let pools = Pools { methods: &needs.methods, abi: needs.abi };
    let mut common = pools.all_planned(|number| name(&format!("PLANNED_POOL_{number}")));
    let planned = common.len();
    let input = pools.buffers(&name("INPUT_BUFFERS"), "inputs that are not planned", |method| &method.inputs);
    let output = pools.buffers(&name("OUTPUT_BUFFERS"), "outputs that are not planned", |method| &method.outputs);
    common.extend(input.into_iter().chain(output));
    generated.file(CMAKE, project(needs, &builds, &common, planned));
    generated.file(cache::FILE, cache::text(needs));
    if let Some(section) = &needs.section {
        generated.file(LINKER, linker::fragment(needs, section.as_str()));
    }
    generated.pools = builds.into_iter().flatten().chain(common).collect();
    generated
}

/// CMake file of the project.
fn project(needs: &FirmwareNeeds, builds: &[[FirmwarePool; 2]; 2], common: &[FirmwarePool], planned: usize) -> String {
    let (prefix, target) = (needs.symbol.to_macro(), format!("pte_emit_{}", needs.symbol));
    let usage = format!("Include it in CMakeLists.txt, and link {target}: its compile definitions are sizes in bytes.");
    let mut out = Comment::Hash.head(needs, &[&usage]);
    let path = format!("{prefix}_FILE");
    out += &format!("include_guard(GLOBAL)\n\n{}", cmake_program_path(&path, needs));
    let set = |pool: &FirmwarePool, indent: &str| {
        let comments: String = Comment::Hash.pool(pool).lines().map(|line| format!("{indent}{line}\n")).collect();
        format!("{comments}{indent}set({} {})\n", pool.name, pool.bytes)
    };
    let [bits32, bits64] = builds;
    let sets = |pools: &[FirmwarePool]| pools.iter().map(|pool| set(pool, "  ")).collect::<String>();
    out += &format!("if(CMAKE_SIZEOF_VOID_P EQUAL 8)\n{}else()\n{}endif()\n", sets(bits64), sets(bits32));
    out += &common.iter().map(|pool| set(pool, "")).collect::<String>();
    out +=
        &format!("# Operators of the program.\nset({prefix}_OPERATORS {})\n\n", cmake_string(&needs.operator_list()));
    out += &format!("add_library({target} INTERFACE)\ntarget_compile_definitions({target} INTERFACE\n");
    out += &format!("  {prefix}_POOL_ALIGNMENT={POOL_ALIGNMENT}\n  {prefix}_PLANNED_POOLS={planned}\n");
    for pool in bits32.iter().chain(common) {
        out += &format!("  {name}=${{{name}}}\n", name = pool.name);
    }
    out + ")\n"
}
