// Squaring of the matrix, which has a column for every row here, of the same
// number. It is done in place: a bit that is set early is a true one all the same.

// seed_rows gives each row its own bit and those of its edges.
KERNEL seed_rows(u32 *matrix, int pitch, const int *__restrict__ exStart,
                 const int *__restrict__ ex, int count)
{
    int r = blockIdx.x * blockDim.x + threadIdx.x;
    if (r >= count)
        return;
    u32 *row = matrix + (size_t)r * pitch * 4;
    row[r >> 5] |= 1u << (r & 31);
    for (int e = exStart[r]; e < exStart[r + 1]; e++) {
        int u = ex[e] >> 1;
        row[u >> 5] |= 1u << (u & 31);
    }
}

// square_rows gives each row what the rows of its bits have: a block of threads
// does so for one strip of as many rows as it has groups of lanes, going through
// the matrix by 128 rows, which it keeps in shared memory. *grown is set if
// anything was new.
KERNEL square_rows(ulonglong2 *matrix, int pitch, int from, int count, int shift, u32 *grown)
{
    __shared__ ulonglong2 x[VECTORS];

    int lanes = 1 << shift, lane = threadIdx.x & (lanes - 1);
    int group = threadIdx.x >> shift, groups = blockDim.x >> shift;
    int vector = blockIdx.x * lanes + lane;
    int r0 = from + blockIdx.y * groups, r = r0 + group;
    int last = r0 + groups <= count ? r0 + groups : count; // of the block
    ulonglong2 old = nothing();
    if (r < count)
        old = matrix[(size_t)r * pitch + vector];
    ulonglong2 sum = old;

    // Rows before the first column of the strip are empty there; rows behind the
    // last one of the block are no bits of any of its rows.
    for (int k0 = blockIdx.x * lanes; k0 << 7 < last; k0++) {
        for (int i = group; i < 128; i += groups) {
            int u = k0 << 7 | i;
            x[i << shift | lane] = u < last ? matrix[(size_t)u * pitch + vector] : nothing();
        }
        __syncthreads();
        if (r < count) {
            ulonglong2 bits = matrix[(size_t)r * pitch + k0];
            for (; bits.x; bits.x &= bits.x - 1)
                sum = unite(sum, x[(__ffsll(bits.x) - 1) << shift | lane]);
            for (; bits.y; bits.y &= bits.y - 1)
                sum = unite(sum, x[(__ffsll(bits.y) + 63) << shift | lane]);
        }
        __syncthreads();
    }
    if (r < count && (sum.x != old.x || sum.y != old.y)) {
        matrix[(size_t)r * pitch + vector] = sum;
        *grown = 1;
    }
}
