# Written by pte-emit firmware from mixed.pte (SHA-256 21a54f84f346570d56aadc0db5f4f00835fd3303ef3e56728d23c00df98bb871), for ExecuTorch 1.5.1; it rewrites this file when it runs again.
# Include it in CMakeLists.txt of pico2 after project(), before INPUT_MODEL is used.
include_guard(GLOBAL)

set(INPUT_MODEL "${CMAKE_CURRENT_LIST_DIR}/../../mixed.pte" CACHE FILEPATH "Program to embed" FORCE)
set(USE_SELECTIVE_BUILD ON CACHE BOOL "Link the operators of the program only" FORCE)
set(USE_CMSIS_NN ON CACHE BOOL "Link the operators of the Cortex-M backend" FORCE)
include_directories("${CMAKE_CURRENT_LIST_DIR}")
