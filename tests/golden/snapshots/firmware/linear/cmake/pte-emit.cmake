# Written by pte-emit firmware from linear.pte (SHA-256 6dba4a1de8355978eadbf5cea76083c5e6dea6cf0644cf30e9010d0c5f5efc35), for ExecuTorch 1.5.1; it rewrites this file when it runs again.
# Include it in CMakeLists.txt, and link pte_emit_linear_pte: its compile definitions are sizes in bytes.
include_guard(GLOBAL)

set(LINEAR_PTE_FILE "${CMAKE_CURRENT_LIST_DIR}/../../linear.pte" CACHE FILEPATH "Program to embed" FORCE)
if(CMAKE_SIZEOF_VOID_P EQUAL 8)
  set(LINEAR_PTE_METHOD_ALLOCATOR_SIZE 888)
  set(LINEAR_PTE_TEMP_ALLOCATOR_SIZE 280)
else()
  set(LINEAR_PTE_METHOD_ALLOCATOR_SIZE 564)
  set(LINEAR_PTE_TEMP_ALLOCATOR_SIZE 196)
endif()
set(LINEAR_PTE_PLANNED_POOL_1_SIZE 80)
# Operators of the program.
set(LINEAR_PTE_OPERATORS "aten::addmm.out,aten::permute_copy.out,aten::relu.out")

add_library(pte_emit_linear_pte INTERFACE)
target_compile_definitions(pte_emit_linear_pte INTERFACE
  LINEAR_PTE_POOL_ALIGNMENT=16
  LINEAR_PTE_PLANNED_POOLS=1
  LINEAR_PTE_METHOD_ALLOCATOR_SIZE=${LINEAR_PTE_METHOD_ALLOCATOR_SIZE}
  LINEAR_PTE_TEMP_ALLOCATOR_SIZE=${LINEAR_PTE_TEMP_ALLOCATOR_SIZE}
  LINEAR_PTE_PLANNED_POOL_1_SIZE=${LINEAR_PTE_PLANNED_POOL_1_SIZE}
)
