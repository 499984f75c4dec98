// Threads of one block as fibers: each has a stack and runs until it waits.

#include <stdlib.h>

#define MOST_THREADS 512
#define STACK (32 << 10)

typedef struct {
    void *sp;
    int done;
    unsigned votes; // ballots that it took part in
} fiber;

static fiber fibers[MOST_THREADS];
static char *stacks;
static void *scheduler_sp;
static int current;
static void (*body)(void **);
static void **body_args;

static int live, arrived, generation;        // of the barrier
static unsigned char vote[2][MOST_THREADS];  // by parity of the ballot
static int voted[MOST_THREADS / 32], vote_generation[MOST_THREADS / 32];

#if defined(__x86_64__)
void fake_switch(void **save, void *to);
__asm__(".text\n.local fake_switch\n.type fake_switch,@function\nfake_switch:\n"
        "push %rbp\npush %rbx\npush %r12\npush %r13\npush %r14\npush %r15\n"
        "mov %rsp,(%rdi)\nmov %rsi,%rsp\n"
        "pop %r15\npop %r14\npop %r13\npop %r12\npop %rbx\npop %rbp\nret\n"
        ".size fake_switch,.-fake_switch\n");
#elif defined(__aarch64__)
void fake_switch(void **save, void *to);
__asm__(".text\n.local fake_switch\n.type fake_switch,%function\nfake_switch:\n"
        "sub sp,sp,#160\n"
        "stp x19,x20,[sp]\nstp x21,x22,[sp,#16]\nstp x23,x24,[sp,#32]\n"
        "stp x25,x26,[sp,#48]\nstp x27,x28,[sp,#64]\nstp x29,x30,[sp,#80]\n"
        "stp d8,d9,[sp,#96]\nstp d10,d11,[sp,#112]\nstp d12,d13,[sp,#128]\nstp d14,d15,[sp,#144]\n"
        "mov x9,sp\nstr x9,[x0]\nmov sp,x1\n"
        "ldp x19,x20,[sp]\nldp x21,x22,[sp,#16]\nldp x23,x24,[sp,#32]\n"
        "ldp x25,x26,[sp,#48]\nldp x27,x28,[sp,#64]\nldp x29,x30,[sp,#80]\n"
        "ldp d8,d9,[sp,#96]\nldp d10,d11,[sp,#112]\nldp d12,d13,[sp,#128]\nldp d14,d15,[sp,#144]\n"
        "add sp,sp,#160\nret\n"
        ".size fake_switch,.-fake_switch\n");
#else
#error "the fake driver switches stacks on amd64 and arm64 only"
#endif

static void yield(void) { fake_switch(&fibers[current].sp, scheduler_sp); }

static void fiber_main(void)
{
    body(body_args);
    fibers[current].done = 1;
    live--;
    yield();
    abort();
}

static void prepare(int i)
{
    char *top = stacks + (size_t)(i + 1) * STACK;
    void **sp = (void **)top;
#if defined(__x86_64__)
    *--sp = 0; // as if fiber_main had been called
    *--sp = (void *)fiber_main;
    for (int k = 0; k < 6; k++)
        *--sp = 0;
#else
    sp -= 20;
    for (int k = 0; k < 20; k++)
        sp[k] = 0;
    sp[11] = (void *)fiber_main;
#endif
    fibers[i].sp = sp;
    fibers[i].done = 0;
    fibers[i].votes = 0;
}

void fake_barrier(void)
{
    int g = generation;
    arrived++;
    while (g == generation)
        yield();
}

unsigned fake_ballot(int predicate)
{
    int warp = current / 32, parity = fibers[current].votes++ & 1;
    int g = vote_generation[warp];
    vote[parity][current] = predicate != 0;
    if (++voted[warp] == 32) {
        voted[warp] = 0;
        vote_generation[warp]++;
    }
    while (g == vote_generation[warp])
        yield();
    unsigned sum = 0;
    for (int k = 0; k < 32; k++)
        sum |= (unsigned)vote[parity][warp * 32 + k] << k;
    return sum;
}

static unsigned long long turn = 1; // of a generator of random numbers

static unsigned draw(unsigned n)
{
    turn = turn * 6364136223846793005ull + 1442695040888963407ull;
    return (unsigned)(turn >> 33) % n;
}

// run_block runs the threads of a block, in an order that changes from turn to
// turn: upwards, downwards, or from any one on. It returns 0 if all of them wait
// for each other.
static int run_block(int threads, int disorder)
{
    if (!stacks)
        stacks = malloc((size_t)MOST_THREADS * STACK);
    for (int i = 0; i < threads; i++)
        prepare(i);
    live = threads;
    arrived = generation = 0;
    for (int w = 0; w < threads / 32; w++)
        voted[w] = vote_generation[w] = 0;
    while (live > 0) {
        int before = live, votes = 0;
        for (int w = 0; w < threads / 32; w++)
            votes += vote_generation[w];
        int start = disorder ? draw(threads) : 0, step = disorder && draw(2) ? threads - 1 : 1;
        for (int k = 0, i = start; k < threads; k++, i = (i + step) % threads) {
            if (fibers[i].done)
                continue;
            current = i;
            fake_thread.x = i;
            fake_switch(&scheduler_sp, fibers[i].sp);
        }
        if (live > 0 && arrived == live) {
            arrived = 0;
            generation++;
            continue;
        }
        for (int w = 0; w < threads / 32; w++)
            votes -= vote_generation[w];
        if (before == live && votes == 0)
            return 0;
    }
    return 1;
}
