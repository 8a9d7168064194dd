#!/usr/bin/env bash
# Builds runner.cpp with the headers and libraries of ExecuTorch's Python package: build.sh FOLDER OUTPUT, where FOLDER
# is the unpacked wheel. A runtime of your own has other libraries: replace those after -L. The runner finds them by
# their absolute path: after FOLDER is moved, build it again.
set -euo pipefail
tree=$(cd "$1" && pwd)/executorch
g++ -std=c++17 -O1 -Wall -Wextra -DC10_USING_CUSTOM_GENERATED_MACROS -DET_USE_THREADPOOL \
  -isystem "$tree/include" -isystem "$tree/include/executorch/runtime/core/portable_type/c10" \
  "$(dirname "$0")/runner.cpp" -o "$2" \
  -L"$tree/lib" -Wl,--no-as-needed -lexecutorch -lexecutorch_kernels_optimized -lexecutorch_kernels_quantized \
  -lexecutorch_backend_xnnpack -lexecutorch_threadpool -Wl,-rpath,"$tree/lib"
