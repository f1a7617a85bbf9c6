/* What becomes of requests that are given up: freed when they have completed or before, or cancelled again and again. */
#include "check.h"
#include <sched.h>
#include <unistd.h>

enum { TIMES = 200000, MOST_KIB = 6000 };

static int rank, size;

static long resident_kib(void)
{
    long pages = 0, all;
    FILE *file = fopen("/proc/self/statm", "r");
    CHECK(file && fscanf(file, "%ld %ld", &all, &pages) == 2);
    fclose(file);
    return pages * sysconf(_SC_PAGESIZE) / 1024;
}

/* Of each pair, the receive is freed after it has completed, or both are before. */
static void freed(int completed)
{
    MPI_Request requests[2];
    int got = 0, flag = 0, i;
    for (i = 0; i < TIMES; i++) {
        MPI_Irecv(&got, 1, MPI_INT, 0, 3, MPI_COMM_SELF, &requests[0]);
        if (!completed)
            CHECK(MPI_Request_free(&requests[0]) == MPI_SUCCESS && requests[0] == MPI_REQUEST_NULL);
        MPI_Isend(&i, 1, MPI_INT, 0, 3, MPI_COMM_SELF, &requests[1]);
        if (completed) {
            for (flag = 0; !flag;)
                MPI_Request_get_status(requests[0], &flag, MPI_STATUS_IGNORE);
            CHECK(MPI_Request_free(&requests[0]) == MPI_SUCCESS && requests[0] == MPI_REQUEST_NULL);
        }
        CHECK(MPI_Request_free(&requests[1]) == MPI_SUCCESS && got == i);
    }
}

static void persistent(void)
{
    MPI_Request request;
    int got = 0, flag, i;
    for (i = 0; i < TIMES; i++) {
        MPI_Recv_init(&got, 1, MPI_INT, 0, 4, MPI_COMM_SELF, &request);
        MPI_Start(&request);
        MPI_Send(&i, 1, MPI_INT, 0, 4, MPI_COMM_SELF);
        for (flag = 0; !flag;)
            MPI_Request_get_status(request, &flag, MPI_STATUS_IGNORE);
        CHECK(MPI_Request_free(&request) == MPI_SUCCESS && got == i);
    }
}

/* A message that is on its way comes, although its receive is cancelled each time. */
static void cancelled(void)
{
    MPI_Request request;
    MPI_Status status;
    int value = 7, got = 0, flag = 1;
    if (rank == 0 && size > 1)
        MPI_Send(&value, 1, MPI_INT, 1, 5, MPI_COMM_WORLD);
    while (rank == 1 && flag) {
        MPI_Irecv(&got, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &request);
        CHECK(MPI_Cancel(&request) == MPI_SUCCESS && MPI_Wait(&request, &status) == MPI_SUCCESS);
        MPI_Test_cancelled(&status, &flag);
        CHECK(flag || (got == value && status.MPI_SOURCE == 0 && status.MPI_TAG == 5));
        sched_yield();
    }
}

int main(int argc, char **argv)
{
    long before;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    cancelled();
    before = resident_kib();
    freed(0);
    freed(1);
    persistent();
    if (resident_kib() - before > MOST_KIB) {
        fprintf(stderr, "%d freed requests have left %ld KiB\n", 5 * TIMES, resident_kib() - before);
        return 1;
    }
    MPI_Finalize();
    return 0;
}
