// insert_rows brings rows up to date after edges were added. Its plan has the
// rows that the new edges lead to, in a topological order, and the rows where the
// new edges begin; it is laid out like that of closure_rows, by positions instead
// of rows, and rows[p] is the row at position p. Edges are 2 * position, + 1 if
// the edge is new.
//
// A row contains, before, the old rows of all its old edges. So of an old edge it
// needs the other end only where that has news in this strip; of a new edge it
// needs it always. news[strip * count + p] is set where it has. changed[p] is the
// news of a row over all strips: bit b stands for the columns that are b modulo
// 64. Only the columns in asked count there.
KERNEL insert_rows(ulonglong2 *matrix, int pitch, const int *__restrict__ rows,
                   const int *__restrict__ chunk,
                   const int *__restrict__ exStart, const int *__restrict__ ex,
                   const int *__restrict__ inStart, const u16 *__restrict__ in,
                   const int *__restrict__ levelStart, const u16 *__restrict__ level,
                   int from, int to, int shift, u8 *news, int count,
                   const ulonglong2 *__restrict__ asked, u64 *changed)
{
    __shared__ ulonglong2 x[VECTORS]; // whole rows where touched
    __shared__ u16 edges[INNER];
    __shared__ int begin[ROWS + 1];
    __shared__ u16 levels[ROWS + 1];
    __shared__ u8 touched[ROWS]; // something may be new
    __shared__ u8 dirty[ROWS];   // something is

    int lanes = 1 << shift, lane = threadIdx.x & (lanes - 1);
    int group = threadIdx.x >> shift, groups = blockDim.x >> shift;
    int vector = blockIdx.x * lanes + lane;
    news += (size_t)blockIdx.x * count;

    for (int c = from; c < to; c++) {
        int r0 = chunk[c], n = chunk[c + 1] - r0;
        int in0 = inStart[r0], inner = inStart[r0 + n] - in0;
        int depth = levelStart[c + 1] - levelStart[c];
        for (int i = threadIdx.x; i < inner; i += blockDim.x)
            edges[i] = in[in0 + i];
        for (int i = threadIdx.x; i <= n; i += blockDim.x)
            begin[i] = inStart[r0 + i] - in0;
        for (int i = threadIdx.x; i < depth; i += blockDim.x)
            levels[i] = level[levelStart[c] + i];
        if (threadIdx.x == 0)
            levels[depth] = n;

        for (int i = group; i < n; i += groups) {
            ulonglong2 sum = nothing();
            int any = 0;
            for (int e = exStart[r0 + i]; e < exStart[r0 + i + 1]; e++) {
                int p = ex[e] >> 1;
                if (ex[e] & 1 || news[p]) {
                    sum = unite(sum, matrix[(size_t)rows[p] * pitch + vector]);
                    any = 1;
                }
            }
            x[i << shift | lane] = sum;
            if (lane == 0) {
                touched[i] = any;
                dirty[i] = 0;
            }
        }
        __syncthreads();

        for (int l = 0; l < depth; l++) {
            for (int i = levels[l] + group; i < levels[l + 1]; i += groups) {
                ulonglong2 sum = x[i << shift | lane];
                int any = touched[i];
                for (int e = begin[i]; e < begin[i + 1]; e++) {
                    int k = edges[e] >> 1;
                    if (dirty[k]) {
                        sum = unite(sum, x[k << shift | lane]);
                        any = 1;
                    } else if (edges[e] & 1) {
                        sum = unite(sum, matrix[(size_t)rows[r0 + k] * pitch + vector]);
                        any = 1;
                    }
                }
                if (!any)
                    continue;
                size_t at = (size_t)rows[r0 + i] * pitch + vector;
                ulonglong2 old = matrix[at];
                ulonglong2 more;
                more.x = sum.x & ~old.x;
                more.y = sum.y & ~old.y;
                sum = unite(sum, old);
                x[i << shift | lane] = sum;
                if (more.x | more.y) {
                    matrix[at] = sum;
                    dirty[i] = 1;
                    news[r0 + i] = 1;
                    u64 bits = (more.x & asked[vector].x) | (more.y & asked[vector].y);
                    if (bits)
                        atomicOr(&changed[r0 + i], bits);
                }
            }
            __syncthreads();
        }
    }
}
