/* Messages from and to memory that forked children share, while they look at it.
 * ranks: 2 3 */
#include "heap.h"
#include <pthread.h>
#include <unistd.h>

enum { MB = 1 << 20, LEN = 4 * MB, ROUNDS = 4 };

static int rank, ranks;
static unsigned char array[LEN], other_array[LEN];

/* A child that finds a block filled as it was when it tells. */
static pid_t child_that_finds(unsigned char *block, unsigned seed, int *go)
{
    int ends[2];
    char byte;
    CHECK(pipe(ends) == 0);
    pid_t child = fork();
    if (child == 0) {
        close(ends[1]);
        CHECK(read(ends[0], &byte, 1) == 1);
        _exit(!is_filled(block, LEN, seed));
    }
    close(ends[0]);
    *go = ends[1];
    return child;
}

static void let_end(pid_t child, int go)
{
    CHECK(write(go, "", 1) == 1);
    expect_success(child);
    close(go);
}

static void round_trip(unsigned char *out, unsigned char *in, unsigned seed)
{
    int next = (rank + 1) % ranks, previous = (rank + ranks - 1) % ranks;
    fill(out, LEN, seed + (unsigned)rank);
    memset(in, 0, LEN);
    MPI_Sendrecv(out, LEN, MPI_BYTE, next, 1, in, LEN, MPI_BYTE, previous, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK(is_filled(in, LEN, seed + (unsigned)previous) && is_filled(out, LEN, seed + (unsigned)rank));
}

/* Receives and sends that are under way when the process forks. */
static void around_fork(unsigned char *out, unsigned char *in, unsigned seed)
{
    int next = (rank + 1) % ranks, previous = (rank + ranks - 1) % ranks, go[2];
    MPI_Request request[2];
    fill(out, LEN, seed + (unsigned)rank);
    memset(in, 0, LEN);
    MPI_Irecv(in, LEN, MPI_BYTE, previous, 2, MPI_COMM_WORLD, &request[0]);
    if (seed % 2)
        MPI_Isend(out, LEN, MPI_BYTE, next, 2, MPI_COMM_WORLD, &request[1]);
    MPI_Barrier(MPI_COMM_WORLD);
    pid_t child = child_that_finds(out, seed + (unsigned)rank, &go[0]);
    MPI_Barrier(MPI_COMM_WORLD);
    if (seed % 2 == 0)
        MPI_Isend(out, LEN, MPI_BYTE, next, 2, MPI_COMM_WORLD, &request[1]);
    MPI_Waitall(2, request, MPI_STATUSES_IGNORE);
    CHECK(is_filled(in, LEN, seed + (unsigned)previous));
    fill(out, LEN, 99);
    let_end(child, go[0]);
    child = child_that_finds(in, seed + (unsigned)previous, &go[0]);
    round_trip(in, out, seed + 1);
    let_end(child, go[0]);
}

/* A collective that is under way. */
static void collectives(unsigned char *block, unsigned seed)
{
    int go;
    MPI_Request request;
    fill(block, LEN, rank ? 7 : seed);
    MPI_Ibcast(block, LEN, MPI_BYTE, 0, MPI_COMM_WORLD, &request);
    int *sums = malloc(LEN), *counts = (int *)array;
    for (int i = 0; i < LEN / 4; i++)
        counts[i] = i;
    pid_t child = fork();
    if (child == 0)
        _exit(0);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    CHECK(is_filled(block, LEN, seed));
    expect_success(child);
    child = child_that_finds(block, seed, &go);
    MPI_Allreduce(counts, sums, LEN / 4, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    for (int i = 0; i < LEN / 4; i += 77)
        CHECK(sums[i] == i * ranks);
    MPI_Allreduce(MPI_IN_PLACE, block, LEN, MPI_BYTE, MPI_BOR, MPI_COMM_WORLD);
    CHECK(is_filled(block, LEN, seed));
    memset(block, 0, LEN);
    let_end(child, go);
    free(sums);
}

/* Blocks that were sent and received, with nothing under way, are shared with children as others are; and what comes after is shared with peers again. */
static void idle(unsigned char *out, unsigned char *in)
{
    int go;
    round_trip(out, in, 70);
    MPI_Barrier(MPI_COMM_WORLD);
    pid_t child = child_that_finds(out, 70 + (unsigned)rank, &go);
    /* A thread of the library's own may be at work. */
    if (heap_wanted() && !getenv("RWMPI_PROGRESS") && !getenv("RWMPI_LANES"))
        CHECK(sharing(out) == 'p' && sharing(in) == 'p');
    round_trip(in, out, 80);
    unsigned char *later = malloc(LEN);
    CHECK(in_job_file(later) == heap_wanted());
    round_trip(later, in, 90);
    let_end(child, go);
    free(later);
}

static void *receive(void *into)
{
    MPI_Recv(into, LEN, MPI_BYTE, (rank + ranks - 1) % ranks, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return NULL;
}

/* Forks while another thread waits for a message. */
static void among_threads(unsigned char *out, unsigned char *in)
{
    pthread_t thread;
    int go;
    fill(out, LEN, 20 + (unsigned)rank);
    memset(in, 0, LEN);
    CHECK(pthread_create(&thread, NULL, receive, in) == 0);
    for (int round = 0; round < ROUNDS; round++) {
        usleep(1000);
        pid_t child = child_that_finds(out, 20 + (unsigned)rank, &go);
        let_end(child, go);
    }
    MPI_Send(out, LEN, MPI_BYTE, (rank + 1) % ranks, 3, MPI_COMM_WORLD);
    CHECK(pthread_join(thread, NULL) == 0);
    CHECK(is_filled(in, LEN, 20 + (unsigned)((rank + ranks - 1) % ranks)));
}

int main(int argc, char **argv)
{
#ifdef __SANITIZE_THREAD__
    /* The run-time part counts on what it has in children. */
    return 0;
#endif
    int level;
    unsigned char *early = malloc(LEN), *late;
    fill(early, LEN, 5);
    /* Before the library looks where its memory is. */
    pid_t child = fork();
    if (child == 0)
        _exit(!is_filled(early, LEN, 5));
    expect_success(child);
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    late = malloc(LEN);
    CHECK(in_job_file(late) == heap_wanted());
    round_trip(early, late, 1);
    for (unsigned seed = 10; seed < 14; seed++) {
        around_fork(late, early, seed);
        around_fork(array, late, seed);
        around_fork(early, other_array, seed);
        free(late);
        late = malloc(LEN);
    }
    collectives(early, 30);
    collectives(late, 31);
    collectives(other_array, 32);
    if (level == MPI_THREAD_MULTIPLE)
        among_threads(late, other_array);
    free(late);
    free(early);
    early = malloc(LEN);
    late = malloc(LEN);
    idle(early, late);
    MPI_Finalize();
    free(early);
    free(late);
    return 0;
}
