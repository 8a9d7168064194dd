/* Written by pte-emit firmware from mixed.pte (SHA-256 21a54f84f346570d56aadc0db5f4f00835fd3303ef3e56728d23c00df98bb871), for ExecuTorch 1.5.1; it rewrites this file when it runs again. */
/* Sizes in bytes of the pools. Declare them as `alignas(MODEL_PTE_POOL_ALIGNMENT) static uint8_t`. */
#ifndef MODEL_PTE_POOLS_H
#define MODEL_PTE_POOLS_H

#define MODEL_PTE_POOL_ALIGNMENT 16
#define MODEL_PTE_METHOD_ALLOCATOR_POOL_SIZE 842
#define MODEL_PTE_ACTIVATION_POOL_1_SIZE 32
#define MODEL_PTE_ACTIVATION_POOL_2_SIZE 16
#define MODEL_PTE_ACTIVATION_POOL_3_SIZE 16

#endif
