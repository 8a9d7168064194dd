#[[
PteEmit: programs of ExecuTorch in CMake projects, without Python. docs/firmware.md has an example.

  include(path/to/pte-emit/cmake/PteEmit.cmake)

pte_emit_program(<target> SOURCE <model.yaml> [OUTPUT <model.pte>] [EXTERNAL_DATA]
                 [DEFINE <NAME=VALUE>...] [WITH <file.ptd>...] [OPTIONS <option>...])

  Assembles a program. <target> is a target of its own, a part of `all`; pte_emit_embed takes it as a file. The property PTE_EMIT_FILES of
  the target has the paths of the program and, with EXTERNAL_DATA, of its .ptd. OUTPUT is relative to the binary folder, by default
  <target>.pte.

pte_emit_embed(<target> FILES <file or target of pte_emit_program>... [OUTPUT <name>] [FORM c|header|assembly]
               [STYLE <style>] [SYMBOL <name>...] [SECTION <name>] [FACTS] [ANY] [DEFINE <NAME=VALUE>...] [WITH <file.ptd>...]
               [OPTIONS <option>...])

  A library with the files as arrays: `target_link_libraries(app PRIVATE <target>)` adds the arrays, and `#include "<name>.h"` finds the
  header. OUTPUT is relative to the binary folder, by default <target>. FORM is that of the style by default; `assembly` needs the language ASM
  in `project()`.

pte_emit_kernels(<target> FILES <file or target of pte_emit_program>... [LIST <variable>] [YAML <selected_operators.yaml>]
                 [HEADERS <folder>] [DEFINE <NAME=VALUE>...] [OPTIONS <option>...])

  The operators of all files together. LIST sets a variable when CMake configures, as EXECUTORCH_SELECT_OPS_LIST needs it; a program of a target
  is read from its source then. YAML and HEADERS are written by the build, relative to the binary folder; <target> is a part of `all`.

Outputs are made again when a source, a file that YAML refers to, or the tool changes. Needs CMake 3.24, Make or Ninja, and the tool:
PTE_EMIT_EXECUTABLE, or one in PATH or in ~/.cargo/bin, or cargo, which then builds it from the sources beside this file. The tool runs on
the machine that builds, also when a toolchain file is in use.
]]

cmake_minimum_required(VERSION 3.24)
include_guard(GLOBAL)

get_filename_component(_PTE_EMIT_ROOT "${CMAKE_CURRENT_LIST_DIR}/.." ABSOLUTE)
set(_PTE_EMIT_ROOT "${_PTE_EMIT_ROOT}" CACHE INTERNAL "Source tree of pte-emit")

# Sets `command` to the path of the tool, and `depends` to what an output of it depends on. Tools of the target platform are not searched.
function(_pte_emit_find command depends)
  find_program(PTE_EMIT_EXECUTABLE pte-emit HINTS "$ENV{HOME}/.cargo/bin" NO_CMAKE_FIND_ROOT_PATH
               DOC "The tool pte-emit; without one, it is built with cargo")
  if(PTE_EMIT_EXECUTABLE)
    get_property(checked GLOBAL PROPERTY _PTE_EMIT_CHECKED)
    if(NOT checked STREQUAL PTE_EMIT_EXECUTABLE)
      execute_process(COMMAND "${PTE_EMIT_EXECUTABLE}" embed --help RESULT_VARIABLE status OUTPUT_QUIET ERROR_QUIET)
      if(NOT status EQUAL 0)
        message(FATAL_ERROR "PTE_EMIT_EXECUTABLE (${PTE_EMIT_EXECUTABLE}) is no pte-emit that has the command `embed`: "
                            "install a newer one with `cargo install --path ${_PTE_EMIT_ROOT} --locked`")
      endif()
      set_property(GLOBAL PROPERTY _PTE_EMIT_CHECKED "${PTE_EMIT_EXECUTABLE}")
    endif()
    set(${command} "${PTE_EMIT_EXECUTABLE}" PARENT_SCOPE)
    set(${depends} "${PTE_EMIT_EXECUTABLE}" PARENT_SCOPE)
    return()
  endif()
  set(folder "${CMAKE_BINARY_DIR}/pte-emit")
  set(tool "${folder}/release/pte-emit${CMAKE_HOST_EXECUTABLE_SUFFIX}")
  if(CMAKE_HOST_WIN32)
    set(tool "${folder}/release/pte-emit.exe")
  endif()
  set(${command} "${tool}" PARENT_SCOPE)
  set(${depends} pte_emit_tool "${tool}" PARENT_SCOPE)
  if(TARGET pte_emit_tool)
    return()
  endif()
  find_program(PTE_EMIT_CARGO cargo HINTS "$ENV{HOME}/.cargo/bin" NO_CMAKE_FIND_ROOT_PATH DOC "cargo, which builds pte-emit")
  if(NOT PTE_EMIT_CARGO OR NOT EXISTS "${_PTE_EMIT_ROOT}/Cargo.lock")
    message(FATAL_ERROR "pte-emit was not found: set PTE_EMIT_EXECUTABLE to its path, or install it with "
                        "`cargo install --path <source tree of pte-emit> --locked`")
  endif()
  # cargo decides what is out of date. It does not write an executable that is up to date, and nothing that depends on it is made again.
  add_custom_target(pte_emit_tool
    COMMAND "${PTE_EMIT_CARGO}" build --release --locked --quiet --bin pte-emit --target-dir "${folder}"
    BYPRODUCTS "${tool}" WORKING_DIRECTORY "${_PTE_EMIT_ROOT}" COMMENT "Building pte-emit" VERBATIM)
endfunction()

# Sets `out` to arguments of the command line: DEFINE, WITH and OPTIONS.
function(_pte_emit_arguments out defines with options)
  set(arguments)
  foreach(define IN LISTS defines)
    list(APPEND arguments -D "${define}")
  endforeach()
  foreach(file IN LISTS with)
    get_filename_component(file "${file}" ABSOLUTE)
    list(APPEND arguments --with "${file}")
  endforeach()
  set(${out} ${arguments} ${options} PARENT_SCOPE)
endfunction()

# Stops if arguments are unknown, or without a value.
function(_pte_emit_check name unknown missing)
  if(NOT unknown STREQUAL "")
    message(FATAL_ERROR "${name}: unknown arguments: ${unknown}")
  endif()
  if(NOT missing STREQUAL "")
    message(FATAL_ERROR "${name}: arguments without a value: ${missing}")
  endif()
endfunction()

function(pte_emit_program target)
  cmake_policy(SET CMP0116 NEW)
  cmake_parse_arguments(PARSE_ARGV 1 arg "EXTERNAL_DATA" "SOURCE;OUTPUT" "DEFINE;WITH;OPTIONS")
  _pte_emit_check("pte_emit_program(${target})" "${arg_UNPARSED_ARGUMENTS}" "${arg_KEYWORDS_MISSING_VALUES}")
  if(NOT arg_SOURCE)
    message(FATAL_ERROR "pte_emit_program(${target}): expected SOURCE <model.yaml>")
  endif()
  if(NOT arg_OUTPUT)
    set(arg_OUTPUT "${target}.pte")
  endif()
  get_filename_component(source "${arg_SOURCE}" ABSOLUTE)
  get_filename_component(output "${arg_OUTPUT}" ABSOLUTE BASE_DIR "${CMAKE_CURRENT_BINARY_DIR}")
  get_filename_component(folder "${output}" DIRECTORY)
  set(outputs "${output}")
  _pte_emit_arguments(arguments "${arg_DEFINE}" "${arg_WITH}" "${arg_OPTIONS}")
  if(arg_EXTERNAL_DATA)
    cmake_path(REPLACE_EXTENSION output LAST_ONLY ".ptd" OUTPUT_VARIABLE data)
    if(data STREQUAL output)
      message(FATAL_ERROR "pte_emit_program(${target}): OUTPUT ${arg_OUTPUT} is the path of the .ptd, too: expected <model.pte>")
    endif()
    list(APPEND outputs "${data}")
    list(APPEND arguments --external-data "${data}")
  endif()
  _pte_emit_find(tool tool_depends)
  add_custom_command(OUTPUT ${outputs}
    COMMAND "${CMAKE_COMMAND}" -E make_directory "${folder}"
    COMMAND "${tool}" assemble "${source}" -o "${output}" --depfile "${output}.d" --quiet ${arguments}
    DEPENDS "${source}" ${tool_depends} DEPFILE "${output}.d" COMMENT "Assembling ${arg_OUTPUT}" VERBATIM COMMAND_EXPAND_LISTS)
  add_custom_target(${target} ALL DEPENDS ${outputs})
  set_target_properties(${target} PROPERTIES PTE_EMIT_FILES "${outputs}" PTE_EMIT_SOURCE "${source}" PTE_EMIT_DEFINES "${arg_DEFINE}")
endfunction()

function(pte_emit_embed target)
  cmake_policy(SET CMP0116 NEW)
  cmake_parse_arguments(PARSE_ARGV 1 arg "FACTS;ANY" "OUTPUT;FORM;STYLE;SECTION" "FILES;SYMBOL;DEFINE;WITH;OPTIONS")
  _pte_emit_check("pte_emit_embed(${target})" "${arg_UNPARSED_ARGUMENTS}" "${arg_KEYWORDS_MISSING_VALUES}")
  if(NOT arg_FILES)
    message(FATAL_ERROR "pte_emit_embed(${target}): expected FILES <file>...")
  endif()
  if(NOT arg_OUTPUT)
    set(arg_OUTPUT "${target}")
  endif()
  if(NOT arg_STYLE)
    set(arg_STYLE c)
  endif()
  if(NOT arg_FORM)
    set(arg_FORM c)
    if(arg_STYLE MATCHES "^(arm|zephyr|arduino|esp32)$")
      set(arg_FORM header)
    endif()
  endif()
  get_filename_component(base "${arg_OUTPUT}" ABSOLUTE BASE_DIR "${CMAKE_CURRENT_BINARY_DIR}")
  get_filename_component(folder "${base}" DIRECTORY)
  set(files)
  set(targets)
  set(has_yaml FALSE)
  foreach(file IN LISTS arg_FILES)
    if(TARGET "${file}")
      get_target_property(made "${file}" PTE_EMIT_FILES)
      if(NOT made)
        message(FATAL_ERROR "pte_emit_embed(${target}): ${file} is no target of pte_emit_program")
      endif()
      list(APPEND files ${made})
      list(APPEND targets "${file}")
    else()
      get_filename_component(file "${file}" ABSOLUTE)
      list(APPEND files "${file}")
      if(file MATCHES "\\.(yaml|yml|json)$")
        set(has_yaml TRUE)
      endif()
    endif()
  endforeach()
  _pte_emit_arguments(arguments "${arg_DEFINE}" "${arg_WITH}" "${arg_OPTIONS}")
  list(APPEND arguments --style "${arg_STYLE}")
  foreach(symbol IN LISTS arg_SYMBOL)
    list(APPEND arguments --symbol "${symbol}")
  endforeach()
  if(arg_SECTION)
    list(APPEND arguments --section "${arg_SECTION}")
  endif()
  foreach(flag FACTS ANY)
    if(arg_${flag})
      string(TOLOWER "${flag}" option)
      list(APPEND arguments "--${option}")
    endif()
  endforeach()
  _pte_emit_outputs("${arg_FORM}" "${base}" "${files}" "${arg_FACTS}" "${has_yaml}" outputs sources main)
  _pte_emit_find(tool tool_depends)
  add_custom_command(OUTPUT ${outputs}
    COMMAND "${CMAKE_COMMAND}" -E make_directory "${folder}"
    COMMAND "${tool}" embed ${files} -o "${main}" --depfile "${base}.d" --quiet ${arguments}
    DEPENDS ${files} ${targets} ${tool_depends} DEPFILE "${base}.d" COMMENT "Embedding ${arg_OUTPUT}" VERBATIM COMMAND_EXPAND_LISTS)
  _pte_emit_library(${target} "${folder}" "${outputs}" "${sources}" "${files}")
endfunction()

# Sets `outputs` to all files of a form, `sources` to those that are compiled, and `main` to the value of `-o`.
function(_pte_emit_outputs form base files facts has_yaml outputs sources main)
  list(LENGTH files count)
  set(compiled)
  set(others "${base}.h")
  if(form STREQUAL "header")
    set(${main} "${base}.h" PARENT_SCOPE)
  elseif(form STREQUAL "c")
    set(compiled "${base}.c")
    set(${main} "${base}.c" PARENT_SCOPE)
  elseif(form STREQUAL "assembly")
    if(has_yaml)
      message(FATAL_ERROR "pte_emit_embed: FORM assembly includes files: assemble YAML with pte_emit_program, and name its target")
    endif()
    set(compiled "${base}.S")
    if(facts OR count GREATER 1)
      list(APPEND compiled "${base}_tables.c")
    endif()
    set(${main} "${base}.S" PARENT_SCOPE)
  else()
    message(FATAL_ERROR "pte_emit_embed: unknown FORM ${form}: expected c, header or assembly")
  endif()
  # The header is the last one that the tool writes, so that it is the newest.
  set(${outputs} ${others} ${compiled} PARENT_SCOPE)
  set(${sources} "${compiled}" PARENT_SCOPE)
endfunction()

# Creates the library of `sources`, whose users include headers of `folder`.
function(_pte_emit_library target folder outputs sources files)
  get_property(languages GLOBAL PROPERTY ENABLED_LANGUAGES)
  add_custom_target(${target}_files ALL DEPENDS ${outputs})
  if(NOT sources)
    add_library(${target} INTERFACE)
    target_include_directories(${target} INTERFACE "${folder}")
    add_dependencies(${target} ${target}_files)
    return()
  endif()
  add_library(${target} STATIC ${outputs})
  add_dependencies(${target} ${target}_files)
  target_include_directories(${target} PUBLIC "${folder}")
  foreach(source IN LISTS sources)
    if(source MATCHES "\\.S$")
      if(NOT "ASM" IN_LIST languages)
        message(FATAL_ERROR "pte_emit_embed(${target}): FORM assembly needs the language ASM: add it to `project()`")
      endif()
      # The assembler reads them; the compiler does not list them.
      set_source_files_properties("${source}" PROPERTIES OBJECT_DEPENDS "${files}")
    elseif(NOT "C" IN_LIST languages)
      set_source_files_properties("${source}" PROPERTIES LANGUAGE CXX)
    endif()
  endforeach()
endfunction()

function(pte_emit_kernels target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "LIST;YAML;HEADERS" "FILES;DEFINE;OPTIONS")
  _pte_emit_check("pte_emit_kernels(${target})" "${arg_UNPARSED_ARGUMENTS}" "${arg_KEYWORDS_MISSING_VALUES}")
  if(NOT arg_FILES)
    message(FATAL_ERROR "pte_emit_kernels(${target}): expected FILES <file>...")
  endif()
  set(files)
  set(sources)
  set(targets)
  foreach(file IN LISTS arg_FILES)
    if(TARGET "${file}")
      get_target_property(made "${file}" PTE_EMIT_FILES)
      get_target_property(source "${file}" PTE_EMIT_SOURCE)
      get_target_property(defines "${file}" PTE_EMIT_DEFINES)
      # The program is the first file; the others are its .ptd files.
      list(GET made 0 made)
      list(APPEND files "${made}")
      list(APPEND sources "${source}")
      list(APPEND targets "${file}")
      list(APPEND arg_DEFINE ${defines})
    else()
      get_filename_component(file "${file}" ABSOLUTE)
      list(APPEND files "${file}")
      list(APPEND sources "${file}")
    endif()
  endforeach()
  list(REMOVE_DUPLICATES arg_DEFINE)
  _pte_emit_arguments(arguments "${arg_DEFINE}" "" "${arg_OPTIONS}")
  _pte_emit_find(tool tool_depends)
  if(arg_LIST)
    if(NOT EXISTS "${tool}")
      execute_process(COMMAND "${PTE_EMIT_CARGO}" build --release --locked --quiet --bin pte-emit --target-dir "${CMAKE_BINARY_DIR}/pte-emit"
        WORKING_DIRECTORY "${_PTE_EMIT_ROOT}" COMMAND_ERROR_IS_FATAL ANY)
    endif()
    execute_process(COMMAND "${tool}" kernels ${sources} --union --format list --quiet ${arguments}
      OUTPUT_VARIABLE list OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${sources})
    set(${arg_LIST} "${list}" PARENT_SCOPE)
  endif()
  set(outputs)
  foreach(form YAML HEADERS)
    if(NOT arg_${form})
      continue()
    endif()
    get_filename_component(output "${arg_${form}}" ABSOLUTE BASE_DIR "${CMAKE_CURRENT_BINARY_DIR}")
    set(format yaml)
    set(made "${output}")
    get_filename_component(folder "${output}" DIRECTORY)
    if(form STREQUAL "HEADERS")
      set(format header)
      set(made "${output}/selected_op_variants.h" "${output}/selected_prim_ops.h" "${output}/selected_max_kernel_num.h")
      set(folder "${output}")
    endif()
    add_custom_command(OUTPUT ${made}
      COMMAND "${CMAKE_COMMAND}" -E make_directory "${folder}"
      COMMAND "${tool}" kernels ${files} --union --format ${format} -o "${output}" --quiet ${arguments}
      DEPENDS ${files} ${targets} ${tool_depends} COMMENT "Selecting kernels for ${target}" VERBATIM COMMAND_EXPAND_LISTS)
    list(APPEND outputs ${made})
  endforeach()
  add_custom_target(${target} ALL DEPENDS ${outputs})
endfunction()
