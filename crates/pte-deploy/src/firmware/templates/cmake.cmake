{{head}}
# Include it in CMakeLists.txt, and link {{target}}: its compile definitions are sizes in bytes.
include_guard(GLOBAL)

{{program}}
if(CMAKE_SIZEOF_VOID_P EQUAL 8)
{{sizes64}}
else()
{{sizes32}}
endif()
{{sizes}}
# Operators of the program.
set({{prefix}}_OPERATORS {{operators}})

add_library({{target}} INTERFACE)
target_compile_definitions({{target}} INTERFACE
  {{prefix}}_POOL_ALIGNMENT={{alignment}}
  {{prefix}}_PLANNED_POOLS={{planned}}
{{definitions}}
)
