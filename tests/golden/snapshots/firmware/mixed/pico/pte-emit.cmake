# Written by pte-emit firmware from mixed.pte (SHA-256 c5936c27a0cb8b52145bc96b32a0cbd98478dbe82db5a5ff47f6ad625fde984c); it rewrites this file when it runs again.
# Include it in CMakeLists.txt of pico2 after project(), before INPUT_MODEL is used.
include_guard(GLOBAL)

set(INPUT_MODEL "${CMAKE_CURRENT_LIST_DIR}/../../mixed.pte" CACHE FILEPATH "Program to embed" FORCE)
set(USE_SELECTIVE_BUILD ON CACHE BOOL "Link the operators of the program only" FORCE)
set(USE_CMSIS_NN ON CACHE BOOL "Link the operators of the Cortex-M backend" FORCE)
include_directories("${CMAKE_CURRENT_LIST_DIR}")
