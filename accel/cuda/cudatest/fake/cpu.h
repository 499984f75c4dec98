// What CUDA C has and C does not, for running the kernels on a CPU: the threads
// of a block are fibers, which take turns at barriers.

#include <stddef.h>

typedef struct { unsigned x, y, z; } fake_dim;
typedef struct { unsigned long long x, y; } __attribute__((aligned(16))) ulonglong2;
typedef struct { int x, y; } __attribute__((aligned(8))) int2;

extern fake_dim fake_thread, fake_block, fake_threads, fake_blocks;
void fake_barrier(void);
unsigned fake_ballot(int predicate);

#define KERNEL static void
#define DEVICE static inline
#define threadIdx fake_thread
#define blockIdx fake_block
#define blockDim fake_threads
#define gridDim fake_blocks
// In a section, so that all of it can be spoilt between blocks.
#define __shared__ static __attribute__((section("fake_shared")))
#define __syncthreads() fake_barrier()
#define __ballot_sync(mask, predicate) fake_ballot(predicate)
#define __ffs(x) __builtin_ffs(x)
#define __ffsll(x) __builtin_ffsll(x)
#define __popc(x) __builtin_popcount(x)
#define atomicOr(at, bits) __atomic_fetch_or(at, bits, __ATOMIC_RELAXED)
#define atomicAdd(at, n) __atomic_fetch_add(at, n, __ATOMIC_RELAXED)
