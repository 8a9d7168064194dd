# Written by pte-emit firmware from mixed.pte (SHA-256 21a54f84f346570d56aadc0db5f4f00835fd3303ef3e56728d23c00df98bb871), for ExecuTorch 1.5.1; it rewrites this file when it runs again.
# Include it in CMakeLists.txt, and link pte_emit_mixed_pte: its compile definitions are sizes in bytes.
include_guard(GLOBAL)

set(MIXED_PTE_FILE "${CMAKE_CURRENT_LIST_DIR}/../../mixed.pte" CACHE FILEPATH "Program to embed" FORCE)
if(CMAKE_SIZEOF_VOID_P EQUAL 8)
  set(MIXED_PTE_METHOD_ALLOCATOR_SIZE 864)
  set(MIXED_PTE_TEMP_ALLOCATOR_SIZE 720)
else()
  set(MIXED_PTE_METHOD_ALLOCATOR_SIZE 592)
  set(MIXED_PTE_TEMP_ALLOCATOR_SIZE 720)
endif()
set(MIXED_PTE_PLANNED_POOL_1_SIZE 32)
set(MIXED_PTE_PLANNED_POOL_2_SIZE 16)
set(MIXED_PTE_PLANNED_POOL_3_SIZE 16)
set(MIXED_PTE_INPUT_BUFFERS_SIZE 20)
# Operators of the program.
set(MIXED_PTE_OPERATORS "cortex_m::quantize_per_tensor.out,quantized_decomposed::dequantize_per_tensor.out")

add_library(pte_emit_mixed_pte INTERFACE)
target_compile_definitions(pte_emit_mixed_pte INTERFACE
  MIXED_PTE_POOL_ALIGNMENT=16
  MIXED_PTE_PLANNED_POOLS=3
  MIXED_PTE_METHOD_ALLOCATOR_SIZE=${MIXED_PTE_METHOD_ALLOCATOR_SIZE}
  MIXED_PTE_TEMP_ALLOCATOR_SIZE=${MIXED_PTE_TEMP_ALLOCATOR_SIZE}
  MIXED_PTE_PLANNED_POOL_1_SIZE=${MIXED_PTE_PLANNED_POOL_1_SIZE}
  MIXED_PTE_PLANNED_POOL_2_SIZE=${MIXED_PTE_PLANNED_POOL_2_SIZE}
  MIXED_PTE_PLANNED_POOL_3_SIZE=${MIXED_PTE_PLANNED_POOL_3_SIZE}
  MIXED_PTE_INPUT_BUFFERS_SIZE=${MIXED_PTE_INPUT_BUFFERS_SIZE}
)
