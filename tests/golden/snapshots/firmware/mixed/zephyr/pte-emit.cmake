# Written by pte-emit firmware from mixed.pte (SHA-256 21a54f84f346570d56aadc0db5f4f00835fd3303ef3e56728d23c00df98bb871), for ExecuTorch 1.5.1; it rewrites this file when it runs again.
# Include it in CMakeLists.txt before find_package(Zephyr).
include_guard(GLOBAL)

set(ET_PTE_FILE_PATH "${CMAKE_CURRENT_LIST_DIR}/../../mixed.pte" CACHE FILEPATH "Program to embed" FORCE)
set(ET_PTE_SECTION "network_model_sec" CACHE STRING "Section of the program" FORCE)
# Operators of the program, for OP_LIST or ROOT_OPS of ExecuTorch's functions. The samples of 2026 select them from
# ET_PTE_FILE_PATH themselves, and read no list.
set(PTE_EMIT_OPERATORS "cortex_m::quantize_per_tensor.out,quantized_decomposed::dequantize_per_tensor.out")
list(APPEND EXTRA_CONF_FILE "${CMAKE_CURRENT_LIST_DIR}/pte-emit.conf")

set(PTE_EMIT_MODEL_REGION "" CACHE STRING "Region of memory for the program; empty: with the other constants")
function(pte_emit_place_program)
  if(PTE_EMIT_MODEL_REGION)
    file(CONFIGURE OUTPUT "${CMAKE_CURRENT_BINARY_DIR}/pte-emit-region.ld" CONTENT
         ".pte_emit_program : ALIGN(128)\n{\n  KEEP(*(network_model_sec))\n  KEEP(*(network_model_sec.*))\n} > ${PTE_EMIT_MODEL_REGION}\n" @ONLY)
    zephyr_linker_sources(SECTIONS "${CMAKE_CURRENT_BINARY_DIR}/pte-emit-region.ld")
  else()
    zephyr_linker_sources(RODATA "${CMAKE_CURRENT_FUNCTION_LIST_DIR}/pte-emit.ld")
  endif()
endfunction()
cmake_language(DEFER CALL pte_emit_place_program)
