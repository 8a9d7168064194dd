{{head}}
# Include it in CMakeLists.txt before find_package(Zephyr).
include_guard(GLOBAL)

{{program}}
{{section}}
# Operators of the program, for OP_LIST or ROOT_OPS of ExecuTorch's functions. The samples of 2026 select them from
# ET_PTE_FILE_PATH themselves, and read no list.
set(PTE_EMIT_OPERATORS {{operators}})
list(APPEND EXTRA_CONF_FILE "${CMAKE_CURRENT_LIST_DIR}/pte-emit.conf")

set(PTE_EMIT_MODEL_REGION "" CACHE STRING "Region of memory for the program; empty: with the other constants")
function(pte_emit_place_program)
  if(PTE_EMIT_MODEL_REGION)
    file(CONFIGURE OUTPUT "${CMAKE_CURRENT_BINARY_DIR}/pte-emit-region.ld" CONTENT
         ".pte_emit_program : ALIGN({{alignment}})\n{\n  KEEP(*({{quoted}}))\n  KEEP(*({{quoted}}.*))\n} > ${PTE_EMIT_MODEL_REGION}\n" @ONLY)
    zephyr_linker_sources(SECTIONS "${CMAKE_CURRENT_BINARY_DIR}/pte-emit-region.ld")
  else()
    zephyr_linker_sources(RODATA "${CMAKE_CURRENT_FUNCTION_LIST_DIR}/pte-emit.ld")
  endif()
endfunction()
cmake_language(DEFER CALL pte_emit_place_program)
