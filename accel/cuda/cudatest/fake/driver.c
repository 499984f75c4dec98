// A stand-in for the CUDA driver's library: device memory is memory of the host,
// between pages that nobody may touch, and kernels are their CUDA C source,
// compiled for the CPU. What it is told to, by fake_configure or the environment
// variable ISOHOUND_FAKE_CUDA, goes wrong: see options.

#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#ifdef ISOHOUND_PTX
#include "ptx.h"
fake_dim fake_thread, fake_block, fake_threads, fake_blocks;
#include "ptx.c"
#else
#include "reach.cu"
fake_dim fake_thread, fake_block, fake_threads, fake_blocks;
#endif

#include "fibers.h"

enum { INVALID_VALUE = 1, OUT_OF_MEMORY = 2, NOT_INITIALIZED = 3, NO_DEVICE = 100, INVALID_DEVICE = 101,
       INVALID_PTX = 218, INVALID_CONTEXT = 201, NOT_FOUND = 500, LAUNCH_FAILED = 719 };

// options are separated by blanks:
//
//   memory=BYTES  devices=N  version=CUDA  major=CAPABILITY  threads=OF_A_BLOCK
//   wrong=KERNEL                the first word of its results is wrong
//   fail=CALL:NTH:CODE          that call fails, from now on counted from 1
//   disorder=0                  threads take turns in ascending order only
static struct {
    long long memory;
    int devices, version, major, threads, disorder;
    char wrong[32], fail[40];
    int nth, code;
} options;

static int initialized, sticky, asked;
static __thread void *context;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

#define EXPORT __attribute__((visibility("default")))

EXPORT void fake_configure(const char *text)
{
    memset(&options, 0, sizeof options);
    options.memory = 1ll << 30;
    options.devices = 1;
    options.version = 12040;
    options.major = 7;
    options.threads = 64;
    options.disorder = 1;
    sticky = asked = 0;
    char copy[512], *rest = 0;
    snprintf(copy, sizeof copy, "%s", text ? text : "");
    for (char *word = strtok_r(copy, " ", &rest); word; word = strtok_r(0, " ", &rest)) {
        int ok = sscanf(word, "memory=%lld", &options.memory) == 1 || sscanf(word, "devices=%d", &options.devices) == 1 ||
                 sscanf(word, "version=%d", &options.version) == 1 || sscanf(word, "major=%d", &options.major) == 1 ||
                 sscanf(word, "threads=%d", &options.threads) == 1 || sscanf(word, "disorder=%d", &options.disorder) == 1 ||
                 sscanf(word, "wrong=%31s", options.wrong) == 1 ||
                 sscanf(word, "fail=%39[^:]:%d:%d", options.fail, &options.nth, &options.code) == 3;
        if (!ok) {
            fprintf(stderr, "fake CUDA driver: no option %s\n", word);
            abort();
        }
    }
}

// enter is what every call begins with.
static int enter(const char *call, int needs_context)
{
    if (strcmp(call, options.fail) == 0 && ++asked == options.nth) {
        if (options.code >= 700)
            sticky = options.code;
        return options.code;
    }
    if (sticky)
        return sticky;
    if (!initialized)
        return NOT_INITIALIZED;
    return needs_context && !context ? INVALID_CONTEXT : 0;
}

#define ENTER(call, needs_context)                \
    do {                                          \
        int failed = enter(call, needs_context);  \
        if (failed)                               \
            return failed;                        \
    } while (0)

EXPORT int cuInit(unsigned flags)
{
    if (!initialized && !options.memory)
        fake_configure(getenv("ISOHOUND_FAKE_CUDA"));
    initialized = 1;
    ENTER("cuInit", 0);
    return options.devices ? 0 : NO_DEVICE;
}

EXPORT int cuDriverGetVersion(int *version)
{
    ENTER("cuDriverGetVersion", 0);
    *version = options.version;
    return 0;
}

EXPORT int cuDeviceGetCount(int *n)
{
    ENTER("cuDeviceGetCount", 0);
    *n = options.devices;
    return 0;
}

EXPORT int cuDeviceGet(int *device, int i)
{
    ENTER("cuDeviceGet", 0);
    if (i < 0 || i >= options.devices)
        return INVALID_DEVICE;
    *device = i + 7;
    return 0;
}

EXPORT int cuDeviceGetName(char *name, int size, int device)
{
    ENTER("cuDeviceGetName", 0);
    snprintf(name, size, "Fake %d", device - 7);
    return 0;
}

EXPORT int cuDeviceTotalMem_v2(size_t *bytes, int device)
{
    ENTER("cuDeviceTotalMem", 0);
    *bytes = options.memory;
    return 0;
}

EXPORT int cuDeviceGetAttribute(int *value, int attribute, int device)
{
    ENTER("cuDeviceGetAttribute", 0);
    switch (attribute) {
    case 1: *value = options.threads; return 0;
    case 16: *value = 4; return 0;
    case 36: *value = 1000000; return 0;
    case 37: *value = 256; return 0;
    case 75: *value = options.major; return 0;
    case 76: *value = 5; return 0;
    }
    return INVALID_VALUE;
}

static int retained;
static void free_all(void);

EXPORT int cuDevicePrimaryCtxRetain(void **c, int device)
{
    ENTER("cuDevicePrimaryCtxRetain", 0);
    *c = &options;
    retained++;
    return 0;
}

EXPORT int cuDevicePrimaryCtxRelease(int device)
{
    ENTER("cuDevicePrimaryCtxRelease", 0);
    if (--retained == 0)
        free_all();
    return 0;
}

// What the other binding makes instead of a primary context.
EXPORT int cuCtxCreate_v2(void **c, unsigned flags, int device)
{
    int failed = cuDevicePrimaryCtxRetain(c, device);
    context = failed ? 0 : *c;
    return failed;
}

EXPORT int cuCtxDestroy_v2(void *c) { return cuDevicePrimaryCtxRelease(7); }

EXPORT int cuCtxSetCurrent(void *c)
{
    ENTER("cuCtxSetCurrent", 0);
    context = c;
    return 0;
}

EXPORT int cuCtxSynchronize(void)
{
    ENTER("cuCtxSynchronize", 1);
    return 0;
}

EXPORT int cuGetErrorName(int code, const char **name)
{
    switch (code) {
    case OUT_OF_MEMORY: *name = "CUDA_ERROR_OUT_OF_MEMORY"; return 0;
    case INVALID_PTX: *name = "CUDA_ERROR_INVALID_PTX"; return 0;
    case LAUNCH_FAILED: *name = "CUDA_ERROR_LAUNCH_FAILED"; return 0;
    }
    return INVALID_VALUE;
}

// Memory: a list of what is allocated. The end of an allocation, rounded up to 16
// bytes, is the end of a page, and the next page is nobody's.
typedef struct block {
    struct block *next;
    char *at, *map;
    size_t bytes, mapped;
} block;

static block *blocks;
static long long used;
#define PAGE 4096
#define SPOILT 0xa5

static block *find(const char *p, size_t bytes)
{
    for (block *b = blocks; b; b = b->next)
        if (p >= b->at && p + bytes <= b->at + b->bytes)
            return b;
    return 0;
}

EXPORT int cuMemGetInfo_v2(size_t *free, size_t *total)
{
    ENTER("cuMemGetInfo", 1);
    *free = options.memory - used;
    *total = options.memory;
    return 0;
}

EXPORT int cuMemAlloc_v2(unsigned long long *p, size_t bytes)
{
    ENTER("cuMemAlloc", 1);
    if (bytes == 0)
        return INVALID_VALUE;
    if (used + (long long)bytes > options.memory)
        return OUT_OF_MEMORY;
    block *b = malloc(sizeof *b);
    size_t whole = (bytes + 15) & ~(size_t)15, inside = (whole + PAGE - 1) & ~(size_t)(PAGE - 1);
    b->bytes = bytes;
    b->mapped = inside + 2 * PAGE;
    b->map = mmap(0, b->mapped, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (b->map == MAP_FAILED || mprotect(b->map + PAGE, inside, PROT_READ | PROT_WRITE) != 0)
        abort();
    memset(b->map + PAGE, SPOILT, inside);
    b->at = b->map + PAGE + inside - whole;
    b->next = blocks;
    blocks = b;
    used += bytes;
    *p = (unsigned long long)b->at;
    return 0;
}

static int spoilt(const char *from, const char *to)
{
    for (; from < to; from++)
        if (*(unsigned char *)from != SPOILT)
            return 0;
    return 1;
}

EXPORT int cuMemFree_v2(unsigned long long p)
{
    ENTER("cuMemFree", 1);
    for (block **at = &blocks; *at; at = &(*at)->next) {
        block *b = *at;
        if (b->at != (char *)p)
            continue;
        if (!spoilt(b->map + PAGE, b->at) || !spoilt(b->at + b->bytes, b->map + b->mapped - PAGE)) {
            fprintf(stderr, "fake CUDA driver: a kernel wrote outside of %zu bytes\n", b->bytes);
            abort();
        }
        *at = b->next;
        used -= b->bytes;
        munmap(b->map, b->mapped);
        free(b);
        return 0;
    }
    return INVALID_VALUE;
}

static long long leaked;

// free_all frees what goes with the last context, and counts it.
static void free_all(void)
{
    leaked = used;
    for (block *b = blocks, *next; b; b = next) {
        next = b->next;
        munmap(b->map, b->mapped);
        free(b);
    }
    blocks = 0;
    used = 0;
}

// fake_leaks returns the bytes that were allocated when the last context was
// released.
EXPORT long long fake_leaks(void) { return leaked; }

EXPORT int cuMemcpyHtoD_v2(unsigned long long to, const void *from, size_t bytes)
{
    ENTER("cuMemcpyHtoD", 1);
    if (!find((char *)to, bytes))
        return INVALID_VALUE;
    memcpy((char *)to, from, bytes);
    return 0;
}

EXPORT int cuMemcpyDtoH_v2(void *to, unsigned long long from, size_t bytes)
{
    ENTER("cuMemcpyDtoH", 1);
    if (!find((char *)from, bytes))
        return INVALID_VALUE;
    memcpy(to, (char *)from, bytes);
    return 0;
}

EXPORT int cuMemsetD8_v2(unsigned long long p, unsigned char value, size_t bytes)
{
    ENTER("cuMemsetD8", 1);
    if (!find((char *)p, bytes))
        return INVALID_VALUE;
    memset((char *)p, value, bytes);
    return 0;
}

// Kernels: their arguments come as addresses of cells.
#ifndef ISOHOUND_PTX
#define P(i, type) (*(type *)args[i])

static void run_closure_rows(void **args)
{
    closure_rows(P(0, ulonglong2 *), P(1, int), P(2, int *), P(3, int *), P(4, int *), P(5, int *), P(6, int *),
                 P(7, int *), P(8, u16 *), P(9, int *), P(10, u16 *), P(11, int), P(12, int), P(13, int));
}

static void run_insert_rows(void **args)
{
    insert_rows(P(0, ulonglong2 *), P(1, int), P(2, int *), P(3, int *), P(4, int *), P(5, int *), P(6, int *),
                P(7, u16 *), P(8, int *), P(9, u16 *), P(10, int), P(11, int), P(12, int), P(13, u8 *), P(14, int),
                P(15, ulonglong2 *), P(16, u64 *));
}

static void run_seed_rows(void **args) { seed_rows(P(0, u32 *), P(1, int), P(2, int *), P(3, int *), P(4, int)); }

static void run_square_rows(void **args)
{
    square_rows(P(0, ulonglong2 *), P(1, int), P(2, int), P(3, int), P(4, int), P(5, u32 *));
}

static void run_closing_edges(void **args)
{
    closing_edges(P(0, u32 *), P(1, int), P(2, int *), P(3, int *), P(4, int2 *), P(5, int), P(6, u32 *));
}

static void run_among_groups(void **args)
{
    among_groups(P(0, u32 *), P(1, int), P(2, int *), P(3, int *), P(4, int *), P(5, int *), P(6, long long *),
                 P(7, int), P(8, long long), P(9, int), P(10, u64 *));
}

static void run_gather_bits(void **args)
{
    gather_bits(P(0, u32 *), P(1, int), P(2, int *), P(3, int *), P(4, int), P(5, int), P(6, int), P(7, u32 *));
}

static void run_join_pairs(void **args)
{
    join_pairs(P(0, u32 *), P(1, u32 *), P(2, int), P(3, int), P(4, int), P(5, u64 *), P(6, u64), P(7, u64 *));
}

#endif

typedef struct {
    const char *name, *takes; // arguments: of 8 bytes p, of 4 bytes i
    void (*run)(void **);
    int result; // the argument that points to results
} kernel;

static kernel kernels[] = {
    {"closure_rows", "pippppppppp" "iii", run_closure_rows, 0},
    {"insert_rows", "pipppppppp" "iiipipp", run_insert_rows, 0},
    {"seed_rows", "pippi", run_seed_rows, 0},
    {"square_rows", "piiiip", run_square_rows, 0},
    {"closing_edges", "pipppip", run_closing_edges, 6},
    {"among_groups", "pipppppipip", run_among_groups, 10},
    {"gather_bits", "pippiiip", run_gather_bits, 7},
    {"join_pairs", "ppiiippp", run_join_pairs, 5},
};

#define KERNELS (int)(sizeof kernels / sizeof *kernels)

// takes tells whether the text of an entry begins with the kernel's arguments.
static int takes(const char *entry, const kernel *k)
{
    for (int i = 0; k->takes[i]; i++) {
        char param[80];
        snprintf(param, sizeof param, "\t.param .%s %s_param_%d%s\n", k->takes[i] == 'p' ? "u64" : "u32", k->name, i,
                 k->takes[i + 1] ? "," : "");
        if (strncmp(entry, param, strlen(param)) != 0)
            return 0;
        entry += strlen(param);
    }
    return *entry == ')';
}

// A module is good if its text is PTX that has all kernels.
EXPORT int cuModuleLoadData(void **module, const char *text)
{
    ENTER("cuModuleLoadData", 1);
    if (!strstr(text, "\n.version 6.0\n.target sm_60\n.address_size 64\n"))
        return INVALID_PTX;
    for (int i = 0; i < KERNELS; i++) {
        char line[64];
        snprintf(line, sizeof line, "\n.visible .entry %s(\n", kernels[i].name);
        const char *entry = strstr(text, line);
        if (!entry || !takes(entry + strlen(line), &kernels[i]))
            return INVALID_PTX;
    }
    *module = kernels;
    return 0;
}

EXPORT int cuModuleGetFunction(void **f, void *module, const char *name)
{
    ENTER("cuModuleGetFunction", 1);
    for (int i = 0; i < KERNELS; i++)
        if (module == kernels && strcmp(kernels[i].name, name) == 0) {
            *f = &kernels[i];
            return 0;
        }
    return NOT_FOUND;
}

extern char __start_fake_shared[], __stop_fake_shared[];

EXPORT int cuLaunchKernel(void *f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                          unsigned shared, void *stream, void **args, void **extra)
{
    ENTER("cuLaunchKernel", 1);
    kernel *k = f;
    if (gx == 0 || gy == 0 || gy > 65535 || gz != 1 || bx == 0 || bx > MOST_THREADS || bx > (unsigned)options.threads ||
        by != 1 || bz != 1 || shared || stream || extra || k < kernels || k >= kernels + KERNELS)
        return INVALID_VALUE;
    pthread_mutex_lock(&lock);
    fake_threads.x = bx;
    fake_blocks.x = gx;
    fake_blocks.y = gy;
    body = k->run;
    body_args = args;
    int ok = 1;
    unsigned total = gx * gy, shift = options.disorder ? draw(total) : 0;
    for (unsigned i = 0; i < total && ok; i++) {
        unsigned b = (i + shift) % total;
        fake_block.x = b % gx;
        fake_block.y = b / gx;
        memset(__start_fake_shared, SPOILT, __stop_fake_shared - __start_fake_shared);
        ok = run_block(bx, options.disorder);
    }
    if (strcmp(options.wrong, k->name) == 0)
        **(u32 **)args[k->result] ^= ~0u;
    pthread_mutex_unlock(&lock);
    if (!ok)
        return sticky = LAUNCH_FAILED;
    return 0;
}
