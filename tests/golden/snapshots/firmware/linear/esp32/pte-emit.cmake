# Written by pte-emit firmware from linear.pte (SHA-256 6dba4a1de8355978eadbf5cea76083c5e6dea6cf0644cf30e9010d0c5f5efc35), for ExecuTorch 1.5.1; it rewrites this file when it runs again.
# Include it in CMakeLists.txt of the project, whose folder it is in, before project.cmake of ESP-IDF.
include_guard(GLOBAL)

set(ET_PTE_FILE_PATH "${CMAKE_CURRENT_LIST_DIR}/../../linear.pte" CACHE FILEPATH "Program to embed" FORCE)
# Bytes in the order of allocation: 80 for planned memory, 564 for loading, 20 for values of inputs.
set(ET_ESP_METHOD_ALLOCATOR_POOL_SIZE 664 CACHE STRING "Size of a pool in bytes" FORCE)
set(ET_ESP_SCRATCH_TEMP_ALLOCATOR_POOL_SIZE 196 CACHE STRING "Size of a pool in bytes" FORCE)

if(NOT DEFINED SDKCONFIG_DEFAULTS AND EXISTS "${CMAKE_CURRENT_LIST_DIR}/sdkconfig.defaults")
  set(SDKCONFIG_DEFAULTS "${CMAKE_CURRENT_LIST_DIR}/sdkconfig.defaults")
endif()
list(APPEND SDKCONFIG_DEFAULTS "${CMAKE_CURRENT_LIST_DIR}/sdkconfig.pte-emit")
