// closure_rows computes rows in topological order, from nothing but the edges. A
// plan cuts the rows into chunks, of at most ROWS rows, VECTORS vectors of a strip
// and INNER edges within, which fit into shared memory, and the rows of a chunk
// into levels: no edge leads from a row to another of its level.
//
// For each chunk: (a) all rows at once, whatever comes from rows of earlier
// chunks; (b) level by level, in shared memory, what comes from rows of the same
// chunk; (c) all rows to the matrix. So a deep graph costs a barrier of one block
// for each level, not a launch.
//
// first[v] is the first row that has a column in vector v or behind it: earlier
// rows are empty there, and are neither read nor written.
//
// exStart, ex: by row the edges from earlier chunks, as 2 * row.
// inStart, in: by row the edges from the same chunk, as 2 * row within it.
// levelStart, level: by chunk where its levels begin, as rows within it.
KERNEL closure_rows(ulonglong2 *matrix, int pitch, const int *__restrict__ column,
                    const int *__restrict__ first, const int *__restrict__ chunk,
                    const int *__restrict__ exStart, const int *__restrict__ ex,
                    const int *__restrict__ inStart, const u16 *__restrict__ in,
                    const int *__restrict__ levelStart, const u16 *__restrict__ level,
                    int from, int to, int shift)
{
    __shared__ ulonglong2 x[VECTORS];
    __shared__ u16 edges[INNER];
    __shared__ int begin[ROWS + 1];
    __shared__ u16 levels[ROWS + 1];

    int lanes = 1 << shift, lane = threadIdx.x & (lanes - 1);
    int group = threadIdx.x >> shift, groups = blockDim.x >> shift;
    int vector = blockIdx.x * lanes + lane;
    int start = first[blockIdx.x * lanes];

    for (int c = from; c < to; c++) {
        int r0 = chunk[c], n = chunk[c + 1] - r0;
        if (r0 + n <= start)
            continue;
        int in0 = inStart[r0], inner = inStart[r0 + n] - in0;
        int depth = levelStart[c + 1] - levelStart[c];
        for (int i = threadIdx.x; i < inner; i += blockDim.x)
            edges[i] = in[in0 + i] >> 1;
        for (int i = threadIdx.x; i <= n; i += blockDim.x)
            begin[i] = inStart[r0 + i] - in0;
        for (int i = threadIdx.x; i < depth; i += blockDim.x)
            levels[i] = level[levelStart[c] + i];
        if (threadIdx.x == 0)
            levels[depth] = n;

        for (int i = group; i < n; i += groups) {
            ulonglong2 sum = own(column[r0 + i], vector);
            if (r0 + i >= start) {
                int e = exStart[r0 + i], end = exStart[r0 + i + 1];
                // Four loads under way at once.
                for (; e + 4 <= end; e += 4) {
                    ulonglong2 v[4];
#pragma unroll
                    for (int k = 0; k < 4; k++) {
                        int u = ex[e + k] >> 1;
                        v[k] = u >= start ? matrix[(size_t)u * pitch + vector] : nothing();
                    }
                    sum = unite(sum, unite(unite(v[0], v[1]), unite(v[2], v[3])));
                }
                for (; e < end; e++) {
                    int u = ex[e] >> 1;
                    if (u >= start)
                        sum = unite(sum, matrix[(size_t)u * pitch + vector]);
                }
            }
            x[i << shift | lane] = sum;
        }
        __syncthreads();

        // The first level has no edges from its own chunk.
        for (int l = 1; l < depth; l++) {
            for (int i = levels[l] + group; i < levels[l + 1]; i += groups) {
                ulonglong2 sum = x[i << shift | lane];
                for (int e = begin[i]; e < begin[i + 1]; e++)
                    sum = unite(sum, x[edges[e] << shift | lane]);
                x[i << shift | lane] = sum;
            }
            __syncthreads();
        }

        for (int i = group; i < n; i += groups)
            if (r0 + i >= start)
                matrix[(size_t)(r0 + i) * pitch + vector] = x[i << shift | lane];
        // Later chunks read these rows, and overwrite what is shared.
        __syncthreads();
    }
}
