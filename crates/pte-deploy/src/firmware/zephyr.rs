//! Zephyr: a Kconfig fragment, a linker fragment, and a CMake file that adds both.

use super::generated::{Generated, SECTION};
use super::linker;
use super::needs::FirmwareNeeds;
use super::pools::Pools;
use super::text::{Comment, cmake_cache, cmake_program_path, cmake_string};
use crate::embed::Section;
use pte_memory::runner::{Runner, ZEPHYR};

/// Runner.
pub static RUNNER: Option<&Runner> = Some(&ZEPHYR);

/// Names of the generated files.
const CONF: &str = "pte-emit.conf";
const LINKER: &str = "pte-emit.ld";
const CMAKE: &str = "pte-emit.cmake";

/// Generates the files.
pub fn generate(needs: &FirmwareNeeds) -> Generated {
    let pools = Pools { methods: &needs.methods, abi: needs.abi };
    let mut generated = Generated {
        pools: vec![
            pools.method_allocator("CONFIG_EXECUTORCH_METHOD_ALLOCATOR_POOL_SIZE", ZEPHYR.order),
            pools.temporary("CONFIG_EXECUTORCH_TEMP_ALLOCATOR_POOL_SIZE"),
        ],
        ..Generated::default()
    };
    let mut conf = Comment::Hash.head(needs, &["Kconfig fragment: pte-emit.cmake adds it to EXTRA_CONF_FILE."]);
    conf += "CONFIG_EXECUTORCH=y\n";
    conf += "# The application links the operators of the program only.\nCONFIG_EXECUTORCH_BUILD_PORTABLE_OPS=n\n";
    if needs.uses_ethos_u() {
        conf += "# The driver of the processor; the name is CONFIG_ARM_ETHOS_U since Zephyr 4.3.\nCONFIG_ETHOS_U=y\n";
    }
    for pool in &generated.pools {
        conf += &format!("{}{}={}\n", Comment::Hash.pool(pool), pool.name, pool.bytes);
    }
    let section = needs.section.as_ref().map_or(SECTION, Section::as_str);
    generated.file(CONF, conf);
    generated.file(LINKER, linker::fragment(needs, section));
    generated.file(CMAKE, cmake(needs, section));
    generated
}

/// CMake file. The linker fragments are added at the end of the folder, when Zephyr's functions exist.
fn cmake(needs: &FirmwareNeeds, section: &str) -> String {
    let mut out = Comment::Hash.head(needs, &["Include it in CMakeLists.txt before find_package(Zephyr)."]);
    out += "include_guard(GLOBAL)\n\n";
    out += &cmake_program_path("ET_PTE_FILE_PATH", needs);
    out += &cmake_cache("ET_PTE_SECTION", &cmake_string(section), "STRING", "Section of the program");
    out += "# Operators of the program, for OP_LIST or ROOT_OPS of ExecuTorch's functions.\n";
    out += &format!("set(PTE_EMIT_OPERATORS {})\n", cmake_string(&needs.operator_list()));
    out += &format!("list(APPEND EXTRA_CONF_FILE \"${{CMAKE_CURRENT_LIST_DIR}}/{CONF}\")\n\n");
    let (alignment, quoted) = (linker::alignment(needs), section.replace('$', "\\$"));
    out += &format!(
        r#"set(PTE_EMIT_MODEL_REGION "" CACHE STRING "Region of memory for the program; empty: with the other constants")
function(pte_emit_place_program)
  if(PTE_EMIT_MODEL_REGION)
    file(CONFIGURE OUTPUT "${{CMAKE_CURRENT_BINARY_DIR}}/pte-emit-region.ld" CONTENT
         ".pte_emit_program : ALIGN({alignment})\n{{\n  KEEP(*({quoted}))\n  KEEP(*({quoted}.*))\n}} > ${{PTE_EMIT_MODEL_REGION}}\n" @ONLY)
    zephyr_linker_sources(SECTIONS "${{CMAKE_CURRENT_BINARY_DIR}}/pte-emit-region.ld")
  else()
    zephyr_linker_sources(RODATA "${{CMAKE_CURRENT_FUNCTION_LIST_DIR}}/{LINKER}")
  endif()
endfunction()
cmake_language(DEFER CALL pte_emit_place_program)
"#
    );
    out
}
