{{head}}
/* Sizes in bytes of the pools. Declare them as `alignas({{prefix}}_POOL_ALIGNMENT) static uint8_t`. */
#ifndef {{prefix}}_POOLS_H
#define {{prefix}}_POOLS_H

#define {{prefix}}_POOL_ALIGNMENT {{alignment}}
{{pools}}

#endif
