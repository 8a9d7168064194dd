# Written by pte-emit firmware from linear.pte (SHA-256 6dba4a1de8355978eadbf5cea76083c5e6dea6cf0644cf30e9010d0c5f5efc35), for ExecuTorch 1.5.1; it rewrites this file when it runs again.
# Include it in CMakeLists.txt of pico2 after project(), before INPUT_MODEL is used.
include_guard(GLOBAL)

set(INPUT_MODEL "${CMAKE_CURRENT_LIST_DIR}/../../linear.pte" CACHE FILEPATH "Program to embed" FORCE)
set(USE_SELECTIVE_BUILD ON CACHE BOOL "Link the operators of the program only" FORCE)
set(USE_CMSIS_NN OFF CACHE BOOL "Link the operators of the Cortex-M backend" FORCE)
include_directories("${CMAKE_CURRENT_LIST_DIR}")
