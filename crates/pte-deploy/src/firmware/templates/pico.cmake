{{head}}
# Include it in CMakeLists.txt of pico2 after project(), before INPUT_MODEL is used.
include_guard(GLOBAL)

{{program}}
{{selective}}
{{cmsis_nn}}
include_directories("${CMAKE_CURRENT_LIST_DIR}")
