# Written by pte-emit firmware from mixed.pte (SHA-256 21a54f84f346570d56aadc0db5f4f00835fd3303ef3e56728d23c00df98bb871), for ExecuTorch 1.5.1; it rewrites this file when it runs again.
# Cache of the build of ExecuTorch: cmake -C executorch-cache.cmake ...
set(EXECUTORCH_SELECT_OPS_LIST "cortex_m::quantize_per_tensor.out,quantized_decomposed::dequantize_per_tensor.out" CACHE STRING "Operators of the program" FORCE)
set(EXECUTORCH_BUILD_ARM_BAREMETAL ON CACHE BOOL "Needed by the program" FORCE)
set(EXECUTORCH_BUILD_CORTEX_M ON CACHE BOOL "Needed by the program" FORCE)
set(EXECUTORCH_BUILD_KERNELS_QUANTIZED ON CACHE BOOL "Needed by the program" FORCE)
