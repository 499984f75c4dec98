// What the C that was made of PTX needs.

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "cpu.h"

typedef int8_t s8;
typedef int16_t s16;
typedef int32_t s32;
typedef long long s64;
typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef unsigned long long u64;

static char fake_windows[48 << 10] __attribute__((aligned(16), section("fake_shared")));

// fake_window is an address in shared memory, of which a kernel has so many bytes.
static inline u64 fake_window(u64 at, u64 size)
{
    if ((u32)at >= size) {
        fprintf(stderr, "fake CUDA driver: byte %u of %llu of shared memory\n", (u32)at, size);
        abort();
    }
    return (u64)(fake_windows + (u32)at);
}

static inline void fake_aligned_at(u64 at, u64 size)
{
    if (at % size != 0) {
        fprintf(stderr, "fake CUDA driver: %llu bytes at the address %llx\n", size, at);
        abort();
    }
}

#define fake_aligned(at, size) fake_aligned_at((u64)(at), size)

static inline u32 fake_reverse(u32 x)
{
    u32 y = 0;
    for (int i = 0; i < 32; i++)
        y |= (x >> i & 1) << (31 - i);
    return y;
}
