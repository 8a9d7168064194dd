{{head}}
# Include it in CMakeLists.txt of the project, whose folder it is in, before project.cmake of ESP-IDF.
include_guard(GLOBAL)

{{program}}
{{pools}}

if(NOT DEFINED SDKCONFIG_DEFAULTS AND EXISTS "${CMAKE_CURRENT_LIST_DIR}/sdkconfig.defaults")
  set(SDKCONFIG_DEFAULTS "${CMAKE_CURRENT_LIST_DIR}/sdkconfig.defaults")
endif()
list(APPEND SDKCONFIG_DEFAULTS "${CMAKE_CURRENT_LIST_DIR}/sdkconfig.pte-emit")
