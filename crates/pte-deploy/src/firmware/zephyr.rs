//! Zephyr: a Kconfig fragment, a linker fragment, and a CMake file that adds both.

use std::fmt::Display;

use super::generated::{Generated, SECTION};
use super::linker;
use super::pools::{FirmwareNeeds, FirmwarePool};
use super::text::{Comment, cmake_cache, cmake_program_path, cmake_string};
use crate::embed::Section;
use pte_memory::runner::{Runner, ZEPHYR};

/// Runner.
pub static RUNNER: Option<&Runner> = Some(&ZEPHYR);

/// Generates the files.
pub fn generate(needs: &FirmwareNeeds) -> Generated {
    let pools = needs.pools(needs.abi);
    let mut generated = Generated {
        pools: vec![
            pools.method_allocator("CONFIG_EXECUTORCH_METHOD_ALLOCATOR_POOL_SIZE", ZEPHYR.order),
            pools.temporary("CONFIG_EXECUTORCH_TEMP_ALLOCATOR_POOL_SIZE"),
        ],
        ..Generated::default()
    };
    let ethos_u = "# The driver of the processor; the name is CONFIG_ARM_ETHOS_U since Zephyr 4.3.\nCONFIG_ETHOS_U=y\n";
    let ethos_u = if needs.uses_ethos_u() { ethos_u } else { "" };
    let sized = |pool: &FirmwarePool| format!("{}{}={}\n", Comment::Hash.pool(pool), pool.name, pool.bytes);
    let pools: String = generated.pools.iter().map(sized).collect();
    let values: [(&str, &dyn Display); 2] = [("ethos_u", &ethos_u), ("pools", &pools)];
    generated.template(needs, "pte-emit.conf", include_str!("templates/zephyr.conf"), &values);
    let section = needs.section.as_ref().map_or(SECTION, Section::as_str);
    linker::fragment(&mut generated, needs, section);
    // The linker fragments are added at the end of the folder, when Zephyr's functions exist.
    let values: [(&str, &dyn Display); 5] = [
        ("program", &cmake_program_path("ET_PTE_FILE_PATH", needs)),
        ("section", &cmake_cache("ET_PTE_SECTION", &cmake_string(section), "STRING", "Section of the program")),
        ("operators", &cmake_string(&needs.operator_list())),
        ("alignment", &linker::alignment(needs)),
        ("quoted", &section.replace('$', "\\$")),
    ];
    generated.template(needs, "pte-emit.cmake", include_str!("templates/zephyr.cmake"), &values);
    generated
}
