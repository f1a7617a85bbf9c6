/* Calls take little of the stack, as threads may have little: ranks: 2 3 */
#include "check.h"
#include <pthread.h>

/* What a thread has of its stack before it does anything is in it: its own data, and the C library's (some 4.7 KiB). Of the rest, a
 * library built for release takes at most 9 KiB, and one built for tests three times as much. */
#define MOST (32 << 10)
#define STACK (1 << 20)
#define FILL 0xa5

static int rank, size;
static long *sent, *got;
static MPI_Comm twin;
static const int few = 1, many = 100000;

static void send_one(int count)
{
    MPI_Request request;
    MPI_Irecv(got, count, MPI_LONG, (rank + size - 1) % size, 1, MPI_COMM_WORLD, &request);
    MPI_Send(sent, count, MPI_LONG, (rank + 1) % size, 1, MPI_COMM_WORLD);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}
static void wait_for(MPI_Request request) { MPI_Wait(&request, MPI_STATUS_IGNORE); }
static void messages(void) { send_one(few); }
static void long_messages(void) { send_one(many); }
static void dup_and_free(void)
{
    MPI_Comm_dup(MPI_COMM_WORLD, &twin);
    MPI_Comm_free(&twin);
}
static void split_and_free(void)
{
    MPI_Comm_split(MPI_COMM_WORLD, 0, rank, &twin);
    MPI_Comm_free(&twin);
}
static void barrier(void) { MPI_Barrier(MPI_COMM_WORLD); }

/* A collective, blocking and not, of few elements and of many. */
#define COLLECTIVE(name, nonblocking, ...)                                                                      \
    static void name##_of(int n)                                                                   \
    {                                                                                              \
        MPI_##name(__VA_ARGS__, MPI_COMM_WORLD);                                                   \
    }                                                                                              \
    static void I##name##_of(int n)                                                                \
    {                                                                                              \
        MPI_Request request;                                                                       \
        nonblocking(__VA_ARGS__, MPI_COMM_WORLD, &request);                                        \
        wait_for(request);                                                                         \
    }                                                                                              \
    static void few_##name(void) { name##_of(few); }                                               \
    static void many_##name(void) { name##_of(many); }                                             \
    static void few_I##name(void) { I##name##_of(few); }                                           \
    static void many_I##name(void) { I##name##_of(many); }
COLLECTIVE(Bcast, MPI_Ibcast, sent, n, MPI_LONG, 0)
COLLECTIVE(Reduce, MPI_Ireduce, sent, got, n, MPI_LONG, MPI_SUM, 0)
COLLECTIVE(Allreduce, MPI_Iallreduce, sent, got, n, MPI_LONG, MPI_SUM)
COLLECTIVE(Gather, MPI_Igather, sent, n, MPI_LONG, got, n, MPI_LONG, 0)
COLLECTIVE(Scatter, MPI_Iscatter, sent, n, MPI_LONG, got, n, MPI_LONG, 0)
COLLECTIVE(Allgather, MPI_Iallgather, sent, n, MPI_LONG, got, n, MPI_LONG)
COLLECTIVE(Alltoall, MPI_Ialltoall, sent, n, MPI_LONG, got, n, MPI_LONG)
COLLECTIVE(Scan, MPI_Iscan, sent, got, n, MPI_LONG, MPI_SUM)
COLLECTIVE(Exscan, MPI_Iexscan, sent, got, n, MPI_LONG, MPI_SUM)

#define FORMS(name) {#name, few_##name}, {#name ", long", many_##name}, {"I" #name, few_I##name}, {"I" #name ", long", many_I##name}
static const struct {
    const char *name;
    void (*function)(void);
} calls[] = {
    {"messages", messages}, {"long messages", long_messages}, {"Comm_dup", dup_and_free}, {"Comm_split", split_and_free}, {"Barrier", barrier},
    FORMS(Bcast), FORMS(Reduce), FORMS(Allreduce), FORMS(Gather), FORMS(Scatter), FORMS(Allgather), FORMS(Alltoall), FORMS(Scan), FORMS(Exscan),
};

static void *run(void *function)
{
    (*(void (**)(void))function)();
    return NULL;
}

/* How much of its stack a thread uses that does that. */
static size_t used(void (*function)(void))
{
    unsigned char *stack = aligned_alloc(4096, STACK);
    pthread_attr_t attributes;
    pthread_t thread;
    size_t free_bytes = 0;
    memset(stack, FILL, STACK);
    pthread_attr_init(&attributes);
    CHECK(pthread_attr_setstack(&attributes, stack, STACK) == 0);
    CHECK(pthread_create(&thread, &attributes, run, &function) == 0);
    CHECK(pthread_join(thread, NULL) == 0);
    while (free_bytes < STACK && stack[free_bytes] == FILL)
        free_bytes++;
    free(stack);
    return STACK - free_bytes;
}

int main(int argc, char **argv)
{
    int provided;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    sent = calloc((size_t)many * size, sizeof *sent);
    got = calloc((size_t)many * size, sizeof *got);
    for (size_t number = 0; number < sizeof calls / sizeof *calls; number++) {
        /* What is made for the first call of its kind is there then. */
        calls[number].function();
        size_t bytes = used(calls[number].function);
        if (getenv("SHOW_STACKS") && rank == 0)
            printf("%-16s %zu bytes of stack\n", calls[number].name, bytes);
        if (bytes > MOST) {
            fprintf(stderr, "%s takes %zu bytes of stack\n", calls[number].name, bytes);
            exit(1);
        }
    }
    free(sent);
    free(got);
    MPI_Finalize();
    return 0;
}
