// Questions. row[v] is the row of vertex v, column[v] the column of source v.

// closing_edges sets bit i of out if edge i, from its x to its y, would close a
// cycle: if y reaches x.
KERNEL closing_edges(const u32 *__restrict__ matrix, int pitch, const int *__restrict__ row,
                     const int *__restrict__ column, const int2 *__restrict__ edges,
                     int count, u32 *out)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x)
        if (bit(matrix, pitch, row[edges[i].x], column[edges[i].y]))
            atomicOr(&out[i >> 5], 1u << (i & 31));
}

// among_groups computes words of the matrices of groups, as accel.Groups lays them
// out: those from word from on, count of them.
KERNEL among_groups(const u32 *__restrict__ matrix, int pitch, const int *__restrict__ row,
                    const int *__restrict__ column, const int *__restrict__ start,
                    const int *__restrict__ members, const long long *__restrict__ at,
                    int groups, long long from, int count, u64 *out)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) {
        // The last group that begins at this word or before: those without
        // members have no words.
        int low = 0, high = groups;
        while (high - low > 1) {
            int mid = low + (high - low) / 2;
            if (at[mid] <= from + i)
                low = mid;
            else
                high = mid;
        }
        const int *list = members + start[low];
        int n = start[low + 1] - start[low], words = (n + 63) / 64;
        int offset = (int)(from + i - at[low]);
        int r = row[list[offset / words]], a = offset % words * 64;
        u64 sum = 0;
        for (int k = 0; k < 64 && a + k < n; k++)
            sum |= (u64)bit(matrix, pitch, r, column[list[a + k]]) << k;
        out[i] = sum;
    }
}

// gather_bits computes a matrix of bits over edges: bit j of its row i says that
// the end of edge j reaches the beginning of edge i. tails has the rows of the
// beginnings, heads the columns of the ends. out has words 32-bit words a row.
KERNEL gather_bits(const u32 *__restrict__ matrix, int pitch, const int *__restrict__ tails,
                   const int *__restrict__ heads, int rows, int columns, int words, u32 *out)
{
    int j = blockIdx.x * blockDim.x + threadIdx.x;
    int c = j < columns ? heads[j] : -1;
    for (int i = blockIdx.y; i < rows; i += gridDim.y) {
        u32 sum = __ballot_sync(0xffffffffu, c >= 0 && bit(matrix, pitch, tails[i], c));
        if ((threadIdx.x & 31) == 0 && j >> 5 < words)
            out[(size_t)i * words + (j >> 5)] = sum;
    }
}

// join_pairs lists the pairs of edges that close a cycle together, i before j: of
// the edges i from i0 to i0 + rows, and j from i0 to i0 + columns. there is what
// gather_bits computed for rows i and columns j, back for rows j and columns i.
// *found counts pairs, also those that out, with room for some, did not take.
KERNEL join_pairs(const u32 *__restrict__ there, const u32 *__restrict__ back, int i0, int rows,
                  int columns, u64 *found, u64 room, u64 *out)
{
    __shared__ u32 tile[512];

    int t = threadIdx.x & 31, a = blockIdx.y;
    int b = blockIdx.x * (blockDim.x >> 5) + (threadIdx.x >> 5);
    int across = (columns + 31) / 32, down = (rows + 31) / 32;
    int i = a * 32 + t, j = b * 32 + t;
    tile[threadIdx.x] = b >= a && j < columns ? back[(size_t)j * down + a] : 0;
    __syncthreads();
    if (b < a || b >= across || i >= rows)
        return;
    u32 both = there[(size_t)i * across + b];
    if (a == b)
        both &= t == 31 ? 0 : ~0u << (t + 1);
    if (!both)
        return;
    u32 mine = 0;
    for (int k = 0; k < 32; k++)
        mine |= (tile[(threadIdx.x & ~31) + k] >> t & 1) << k;
    both &= mine;
    if (!both)
        return;
    u64 at = atomicAdd(found, (u64)__popc(both));
    for (; both; both &= both - 1, at++)
        if (at < room)
            out[at] = (u64)(i0 + i) << 32 | (u32)(i0 + b * 32 + __ffs(both) - 1);
}
