/* Rank 1 comes to its end in the way that the first argument names, while the others wait for it as the second says. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int is(const char *one, const char *other)
{
    return strcmp(one, other) == 0;
}

static void end(const char *how)
{
    if (is(how, "finalize") || is(how, "finalize-and-fail")) {
        MPI_Finalize();
        exit(is(how, "finalize") ? 0 : 8);
    }
    if (is(how, "exit"))
        exit(0);
    if (is(how, "_exit"))
        _exit(0);
    if (is(how, "exec"))
        execlp("sleep", "sleep", "100", (char *)NULL);
}

static void wait_for_rank_1(const char *how, int rank)
{
    static char data[1 << 20];
    int all[64], flag = 0;
    MPI_Request request;
    if (is(how, "barrier"))
        MPI_Barrier(MPI_COMM_WORLD);
    if (is(how, "bcast"))
        MPI_Bcast(data, 100, MPI_BYTE, 1, MPI_COMM_WORLD);
    if (is(how, "long-bcast"))
        MPI_Bcast(data, sizeof data, MPI_BYTE, 1, MPI_COMM_WORLD);
    if (is(how, "allreduce"))
        MPI_Allreduce(&rank, all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (is(how, "gather") && rank == 0)
        MPI_Gather(&rank, 1, MPI_INT, all, 1, MPI_INT, 0, MPI_COMM_WORLD);
    if (is(how, "ibarrier")) {
        MPI_Ibarrier(MPI_COMM_WORLD, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    if (is(how, "recv"))
        MPI_Recv(data, 100, MPI_BYTE, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (is(how, "waitall")) {
        MPI_Irecv(data, 100, MPI_BYTE, 1, 0, MPI_COMM_WORLD, &request);
        MPI_Waitall(1, &request, MPI_STATUSES_IGNORE);
    }
    if (is(how, "any") && rank == 0)
        MPI_Recv(data, 100, MPI_BYTE, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (is(how, "probe"))
        MPI_Probe(1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (is(how, "send"))
        MPI_Send(data, sizeof data, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
    if (is(how, "ssend"))
        MPI_Ssend(data, 1, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
    if (is(how, "test"))
        for (MPI_Irecv(data, 100, MPI_BYTE, 1, 0, MPI_COMM_WORLD, &request); !flag;)
            MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
}

int main(int argc, char **argv)
{
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 1) {
        end(argv[1]);
        return 0;
    }
    if (argc > 2 && !is(argv[2], "nothing")) {
        wait_for_rank_1(argv[2], rank);
        printf("rank %d has got past it\n", rank);
    }
    MPI_Finalize();
    usleep(1500000);
    printf("rank %d has saved its results\n", rank);
    return 0;
}
