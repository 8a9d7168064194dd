# Written by pte-emit firmware from mixed.pte (SHA-256 21a54f84f346570d56aadc0db5f4f00835fd3303ef3e56728d23c00df98bb871), for ExecuTorch 1.5.1; it rewrites this file when it runs again.
# Include it in CMakeLists.txt of the project, whose folder it is in, before project.cmake of ESP-IDF.
include_guard(GLOBAL)

set(ET_PTE_FILE_PATH "${CMAKE_CURRENT_LIST_DIR}/../../mixed.pte" CACHE FILEPATH "Program to embed" FORCE)
# Bytes in the order of allocation: 48 for planned memory, 592 for loading, 32 for values of inputs.
set(ET_ESP_METHOD_ALLOCATOR_POOL_SIZE 672 CACHE STRING "Size of a pool in bytes" FORCE)
set(ET_ESP_SCRATCH_TEMP_ALLOCATOR_POOL_SIZE 720 CACHE STRING "Size of a pool in bytes" FORCE)

if(NOT DEFINED SDKCONFIG_DEFAULTS AND EXISTS "${CMAKE_CURRENT_LIST_DIR}/sdkconfig.defaults")
  set(SDKCONFIG_DEFAULTS "${CMAKE_CURRENT_LIST_DIR}/sdkconfig.defaults")
endif()
list(APPEND SDKCONFIG_DEFAULTS "${CMAKE_CURRENT_LIST_DIR}/sdkconfig.pte-emit")
