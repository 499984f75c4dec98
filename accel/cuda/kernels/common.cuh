// What the kernels share. They are C: a test compiles them for the CPU, too.
//
// The matrix has a row of bits for every vertex, in a topological order that it
// was computed in, and a column for every source, in the same order: bit c of
// row r says that the source with column c reaches the vertex with row r. Rows
// are handled as vectors of 16 bytes; a row takes pitch of them. 32-bit word w of
// a row has the columns from 32*w on, 64-bit word w those from 64*w on.
//
// The columns are cut into strips of (1 << shift) vectors, the lanes. No column
// depends on another, so each strip belongs to one block of threads, which goes
// through the rows alone and never waits for another block.

#ifdef ISOHOUND_CPU
#include "cpu.h"
#else
#define KERNEL extern "C" __global__ void __launch_bounds__(512)
#define DEVICE static __device__ __forceinline__
#endif

typedef unsigned long long u64;
typedef unsigned int u32;
typedef unsigned short u16;
typedef unsigned char u8;

// The sizes in kernels.go.
#define ROWS 512
#define VECTORS 1024
#define INNER 4096

DEVICE ulonglong2 unite(ulonglong2 a, ulonglong2 b)
{
    a.x |= b.x;
    a.y |= b.y;
    return a;
}

DEVICE ulonglong2 nothing(void)
{
    ulonglong2 v;
    v.x = v.y = 0;
    return v;
}

// own is the bit of column c, or of none if c is negative, within a vector.
DEVICE ulonglong2 own(int c, int vector)
{
    ulonglong2 v = nothing();
    if (c >= 0 && c >> 7 == vector) {
        if (c & 64)
            v.y = 1ull << (c & 63);
        else
            v.x = 1ull << (c & 63);
    }
    return v;
}

// bit tells whether the source with column c reaches the vertex with row r.
DEVICE u32 bit(const u32 *matrix, int pitch, int r, int c)
{
    return matrix[(size_t)r * pitch * 4 + (c >> 5)] >> (c & 31) & 1;
}
