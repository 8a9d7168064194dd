/* Written by pte-emit firmware from linear.pte (SHA-256 6dba4a1de8355978eadbf5cea76083c5e6dea6cf0644cf30e9010d0c5f5efc35), for ExecuTorch 1.5.1; it rewrites this file when it runs again. */
/* Sizes in bytes of the pools. Declare them as `alignas(MODEL_PTE_POOL_ALIGNMENT) static uint8_t`. */
#ifndef MODEL_PTE_POOLS_H
#define MODEL_PTE_POOLS_H

#define MODEL_PTE_POOL_ALIGNMENT 16
#define MODEL_PTE_METHOD_ALLOCATOR_POOL_SIZE 790
#define MODEL_PTE_ACTIVATION_POOL_SIZE 80

#endif
