/* Written by pte-emit firmware from mixed.pte (SHA-256 c5936c27a0cb8b52145bc96b32a0cbd98478dbe82db5a5ff47f6ad625fde984c); it rewrites this file when it runs again. */
/* Sizes in bytes of the pools in main.cpp. Declare them as `alignas(MODEL_PTE_POOL_ALIGNMENT) static uint8_t`. */
#ifndef MODEL_PTE_POOLS_H
#define MODEL_PTE_POOLS_H

#define MODEL_PTE_POOL_ALIGNMENT 16
/* At least: the memory of EthosUBackend is not known. */
#define MODEL_PTE_METHOD_ALLOCATOR_POOL_SIZE 842
#define MODEL_PTE_ACTIVATION_POOL_1_SIZE 32
#define MODEL_PTE_ACTIVATION_POOL_2_SIZE 16
#define MODEL_PTE_ACTIVATION_POOL_3_SIZE 16

#endif
