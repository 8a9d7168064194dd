# Written by pte-emit firmware from mixed.pte (SHA-256 c5936c27a0cb8b52145bc96b32a0cbd98478dbe82db5a5ff47f6ad625fde984c); it rewrites this file when it runs again.
# Include it in CMakeLists.txt of the project, whose folder it is in, before project.cmake of ESP-IDF.
include_guard(GLOBAL)

set(ET_PTE_FILE_PATH "${CMAKE_CURRENT_LIST_DIR}/../../mixed.pte" CACHE FILEPATH "Program to embed" FORCE)
# Bytes in the order of allocation: 48 for planned memory, 592 for loading, 32 for values of inputs.
# At least: the memory of EthosUBackend is not known.
set(ET_ESP_METHOD_ALLOCATOR_POOL_SIZE 672 CACHE STRING "Size of a pool in bytes" FORCE)
# At least: the memory of EthosUBackend is not known.
set(ET_ESP_SCRATCH_TEMP_ALLOCATOR_POOL_SIZE 252 CACHE STRING "Size of a pool in bytes" FORCE)

if(NOT DEFINED SDKCONFIG_DEFAULTS AND EXISTS "${CMAKE_CURRENT_LIST_DIR}/sdkconfig.defaults")
  set(SDKCONFIG_DEFAULTS "${CMAKE_CURRENT_LIST_DIR}/sdkconfig.defaults")
endif()
list(APPEND SDKCONFIG_DEFAULTS "${CMAKE_CURRENT_LIST_DIR}/sdkconfig.pte-emit")
