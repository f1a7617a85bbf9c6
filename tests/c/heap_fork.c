/* Forked children and the shared heap: a child has the blocks as they were, and nothing that it does, or its parent does later, reaches the
 * other.
 * ranks: 1 2 */
#include "heap.h"
#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

enum { MB = 1 << 20, BLOCKS = 20, ROUNDS = 15 };

static unsigned char *block[BLOCKS];

static size_t len_of(int i)
{
    return (size_t)(i * i) * 5000 + 10000;
}

static void make(void)
{
    for (int i = 0; i < BLOCKS; i++) {
        CHECK((block[i] = malloc(len_of(i))));
        fill(block[i], len_of(i), (unsigned)i);
    }
    /* Holes between them. */
    for (int i = 0; i < BLOCKS; i += 5) {
        free(block[i]);
        block[i] = NULL;
    }
}

static void check(void)
{
    for (int i = 0; i < BLOCKS; i++)
        CHECK(!block[i] || is_filled(block[i], len_of(i), (unsigned)i));
}

static void drop(void)
{
    for (int i = 0; i < BLOCKS; i++)
        free(block[i]);
}

/* What a child does: looks, writes, changes and frees its blocks, and has children. */
static void child_life(int depth)
{
    unsigned char *more;
    check();
    CHECK((more = malloc(3 * MB)) && !in_job_file(more));
    fill(more, 3 * MB, 40);
    for (int i = 0; i < BLOCKS; i++)
        if (block[i]) {
            CHECK((block[i] = realloc(block[i], len_of(i) * 2)));
            CHECK(is_filled(block[i], len_of(i), (unsigned)i));
        }
    if (depth > 0) {
        pid_t child = fork();
        if (child == 0) {
            child_life(depth - 1);
            _exit(0);
        }
        expect_success(child);
    }
    check();
    for (int i = 0; i < BLOCKS; i++)
        if (block[i])
            memset(block[i], 0xee, len_of(i) * 2);
    drop();
    CHECK(is_filled(more, 3 * MB, 40));
    free(more);
}

/* The parent changes everything while the child still looks. */
static void fork_once(void)
{
    int go[2];
    char byte = 1;
    make();
    CHECK(pipe(go) == 0);
    pid_t child = fork();
    if (child == 0) {
        /* Only when the parent has changed its own. */
        CHECK(read(go[0], &byte, 1) == 1);
        child_life(1);
        _exit(0);
    }
    check();
    for (int i = 0; i < BLOCKS; i++)
        if (block[i])
            fill(block[i], len_of(i), (unsigned)i + 7);
    unsigned char *later = malloc(5 * MB);
    CHECK(later && in_job_file(later) == heap_wanted());
    fill(later, 5 * MB, 50);
    CHECK(write(go[1], &byte, 1) == 1);
    expect_success(child);
    for (int i = 0; i < BLOCKS; i++)
        CHECK(!block[i] || is_filled(block[i], len_of(i), (unsigned)i + 7));
    CHECK(is_filled(later, 5 * MB, 50));
    free(later);
    drop();
    close(go[0]);
    close(go[1]);
}

static volatile int stop;

static void *churn(void *argument)
{
    unsigned seed = (unsigned)(size_t)argument;
    while (!stop) {
        size_t len = 30000 + seed % (2 * MB);
        unsigned char *mine = malloc(len);
        CHECK(mine);
        fill(mine, len > 5000 ? 5000 : len, seed);
        CHECK(is_filled(mine, len > 5000 ? 5000 : len, seed));
        free(mine);
        seed = seed * 1103515245u + 12345u;
    }
    return NULL;
}

/* Forks while other threads allocate. */
static void fork_among_threads(void)
{
    pthread_t thread[2];
    stop = 0;
    for (size_t i = 0; i < 2; i++)
        CHECK(pthread_create(&thread[i], NULL, churn, (void *)(i + 1)) == 0);
    make();
    for (int round = 0; round < ROUNDS; round++) {
        pid_t child = fork();
        if (child == 0) {
            child_life(0);
            _exit(0);
        }
        expect_success(child);
        check();
    }
    stop = 1;
    for (int i = 0; i < 2; i++)
        CHECK(pthread_join(thread[i], NULL) == 0);
    drop();
}

static void among_other_programs(const char *self)
{
    make();
    start_other_programs(self);
    check();
    drop();
}

int main(int argc, char **argv)
{
    int sum = 0, one = 1;
#ifdef __SANITIZE_THREAD__
    /* A child gets a copy of its memory, which takes minutes. */
    return 0;
#endif
    if (argc > 1) {
        /* A program that a rank started: its large blocks are its own. */
        unsigned char *mine = malloc(4 * MB);
        fill(mine, 4 * MB, 60);
        CHECK(is_filled(mine, 4 * MB, 60));
        free(mine);
        return 0;
    }
    CHECK((block[0] = malloc(MB)) && in_job_file(block[0]) == heap_wanted());
    free(block[0]);
    fork_once();
    among_other_programs(argv[0]);
    MPI_Init(&argc, &argv);
    fork_once();
    fork_among_threads();
    among_other_programs(argv[0]);
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    CHECK(sum >= 1);
    MPI_Finalize();
    /* What becomes of a program that closes all descriptors, and gets their numbers again for its own files. */
    for (int descriptor = 3; descriptor < 1000; descriptor++)
        close(descriptor);
    for (int number = 3; number < 400; number++)
        CHECK(open(argv[0], O_RDONLY) == number);
    for (int i = 0; i < 3; i++) {
        unsigned char *large = malloc(100 * MB);
        CHECK(large);
        fill(large, 100 * MB, 9);
        free(large);
    }
    for (int descriptor = 3; descriptor < 250; descriptor++)
        close(descriptor);
    fork_once();
    return 0;
}
