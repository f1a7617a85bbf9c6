/* Hangs in the way that the first argument names. */
#include <mpi.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static int rank, size, ten[10];

static void tags(void)
{
    if (rank == 0) {
        MPI_Send(ten, 1, MPI_INT, 1, 7, MPI_COMM_WORLD);
        MPI_Recv(ten, 1, MPI_INT, 1, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else {
        MPI_Recv(ten, 1, MPI_INT, 0, 8, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
}

static void cycle(void)
{
    MPI_Recv(ten, 1, MPI_INT, (rank + 1) % size, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void *sleep_for_ever(void *unused)
{
    static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    static pthread_cond_t work = PTHREAD_COND_INITIALIZER;
    pthread_mutex_lock(&mutex);
    for (;;)
        pthread_cond_wait(&work, &mutex);
    return unused;
}

/* Beside threads that have nothing to do, as those of OpenBLAS. */
static void pool(void)
{
    pthread_t other;
    for (int i = 0; i < 3; i++)
        pthread_create(&other, NULL, sleep_for_ever, NULL);
    cycle();
}

static void sends(void)
{
    size_t length = 10 << 20;
    char *long_one = calloc(length, 1);
    MPI_Send(long_one, (int)length, MPI_CHAR, 1 - rank, 1, MPI_COMM_WORLD);
    free(long_one);
}

static void waitall(void)
{
    MPI_Request requests[3];
    for (int i = 0; i < 3; i++)
        MPI_Irecv(ten + i, 1, MPI_INT, 1 - rank, 20 + i, MPI_COMM_WORLD, requests + i);
    if (rank == 0)
        MPI_Send(ten, 1, MPI_INT, 1, 21, MPI_COMM_WORLD);
    MPI_Waitall(3, requests, MPI_STATUSES_IGNORE);
}

static void waitany(void)
{
    MPI_Request requests[2];
    int found;
    for (int i = 0; i < 2; i++)
        MPI_Irecv(ten + i, 1, MPI_INT, MPI_ANY_SOURCE, 30 + i, MPI_COMM_WORLD, requests + i);
    MPI_Waitany(2, requests, &found, MPI_STATUS_IGNORE);
}

static void collectives(void)
{
    if (rank == 1)
        MPI_Bcast(ten, 10, MPI_INT, 0, MPI_COMM_WORLD);
    else
        MPI_Barrier(MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
}

static void order(void)
{
    MPI_Comm other;
    MPI_Comm_dup(MPI_COMM_WORLD, &other);
    MPI_Barrier(rank == 0 ? MPI_COMM_WORLD : other);
    MPI_Barrier(rank == 0 ? other : MPI_COMM_WORLD);
}

static void odd(void)
{
    if (rank == size - 1)
        MPI_Recv(ten, 1, MPI_INT, 0, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
}

static void communicator(void)
{
    MPI_Comm other;
    MPI_Comm_dup(MPI_COMM_WORLD, &other);
    if (rank == 0)
        MPI_Send(ten, 2, MPI_INT, 1, 4, MPI_COMM_WORLD);
    MPI_Recv(ten, 2, MPI_INT, 1 - rank, 4, other, MPI_STATUS_IGNORE);
}

static void probe(void)
{
    MPI_Probe(MPI_ANY_SOURCE, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void lock(void)
{
    MPI_Win window;
    int *memory;
    MPI_Win_allocate(sizeof(int), 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &window);
    if (rank == 0) {
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, window);
        MPI_Win_flush(0, window);
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Recv(ten, 1, MPI_INT, 1, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else {
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, window);
        MPI_Win_flush(0, window);
    }
}

static void itself(void)
{
    MPI_Recv(ten, 1, MPI_INT, rank, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void nonblocking(void)
{
    MPI_Request request;
    if (rank == 0) {
        MPI_Ibarrier(MPI_COMM_WORLD, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    } else {
        MPI_Recv(ten, 1, MPI_INT, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
}

/* All but the last, which finalizes. */
static void leaving(void)
{
    if (rank < size - 1)
        MPI_Recv(ten, 1, MPI_INT, (rank + 1) % (size - 1), 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void finalize(void)
{
    if (rank == 0)
        MPI_Recv(ten, 1, MPI_INT, 1, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static const struct {
    const char *name;
    void (*hang)(void);
} hangs[] = {
    {"tags", tags},   {"cycle", cycle}, {"sends", sends},
    {"waitall", waitall}, {"waitany", waitany}, {"collectives", collectives},
    {"order", order}, {"odd", odd}, {"communicator", communicator}, {"probe", probe},
    {"lock", lock},   {"itself", itself}, {"nonblocking", nonblocking},
    {"finalize", finalize}, {"leaving", leaving}, {"threads", cycle}, {"pool", pool},
};

int main(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "";
    int level = strcmp(name, "threads") == 0 || strcmp(name, "pool") == 0 ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE;
    MPI_Init_thread(&argc, &argv, level, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (size_t i = 0; i < sizeof hangs / sizeof *hangs; i++)
        if (strcmp(name, hangs[i].name) == 0)
            hangs[i].hang();
    MPI_Finalize();
    return 0;
}
