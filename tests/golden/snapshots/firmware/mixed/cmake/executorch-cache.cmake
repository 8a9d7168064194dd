# Written by pte-emit firmware from mixed.pte (SHA-256 c5936c27a0cb8b52145bc96b32a0cbd98478dbe82db5a5ff47f6ad625fde984c); it rewrites this file when it runs again.
# Cache of the build of ExecuTorch: cmake -C executorch-cache.cmake ...
set(EXECUTORCH_SELECT_OPS_LIST "cortex_m::quantize_per_tensor.out,quantized_decomposed::dequantize_per_tensor.out" CACHE STRING "Operators of the program" FORCE)
set(EXECUTORCH_BUILD_ARM_BAREMETAL ON CACHE BOOL "Needed by the program" FORCE)
set(EXECUTORCH_BUILD_CORTEX_M ON CACHE BOOL "Needed by the program" FORCE)
set(EXECUTORCH_BUILD_KERNELS_QUANTIZED ON CACHE BOOL "Needed by the program" FORCE)
