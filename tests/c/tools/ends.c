/* Rank 1 comes to its end in the way that the first argument names, while the others wait for it as the second says; with a third, only rank 0
   does, and others wait for that. */
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
    /* More than is buffered for a rank that does not receive, in any kind of memory. */
    static char data[1 << 26];
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
    if (is(how, "waitany") || is(how, "waitsome") || is(how, "waitany-of-kinds")) {
        MPI_Request requests[3] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL, MPI_REQUEST_NULL};
        int number, indices[3];
        MPI_Irecv(data, 100, MPI_BYTE, 1, 0, MPI_COMM_WORLD, &requests[0]);
        MPI_Issend(data + 100, 1, MPI_BYTE, 1, 0, MPI_COMM_WORLD, &requests[1]);
        if (is(how, "waitany-of-kinds")) {
            MPI_Recv_init(data + 200, 100, MPI_BYTE, 1, 0, MPI_COMM_WORLD, &requests[2]);
            MPI_Start(&requests[2]);
        }
        if (is(how, "waitsome"))
            MPI_Waitsome(3, requests, &number, indices, MPI_STATUSES_IGNORE);
        else
            MPI_Waitany(3, requests, &number, MPI_STATUS_IGNORE);
    }
    if (is(how, "test"))
        for (MPI_Irecv(data, 100, MPI_BYTE, 1, 0, MPI_COMM_WORLD, &request); !flag;)
            MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
}

/* Rank 0 waits for rank 1, but for rank 2, too, which waits for rank 0. */
static void wait_in_chain(const char *how, int rank)
{
    static char data[300], all[300];
    MPI_Request requests[2];
    if (rank == 2)
        MPI_Recv(data, 100, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (is(how, "gather"))
        MPI_Gather(data, 100, MPI_BYTE, all, 100, MPI_BYTE, 0, MPI_COMM_WORLD);
    if (is(how, "waitall") || is(how, "waitall-of-kinds")) {
        MPI_Irecv(data, 100, MPI_BYTE, 2, 0, MPI_COMM_WORLD, &requests[0]);
        if (is(how, "waitall")) {
            MPI_Irecv(data + 100, 100, MPI_BYTE, 1, 0, MPI_COMM_WORLD, &requests[1]);
        } else {
            MPI_Recv_init(data + 100, 100, MPI_BYTE, 1, 0, MPI_COMM_WORLD, &requests[1]);
            MPI_Start(&requests[1]);
        }
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    }
    if (is(how, "ibarrier") || is(how, "ialltoall")) {
        if (is(how, "ibarrier"))
            MPI_Ibarrier(MPI_COMM_WORLD, &requests[0]);
        else
            MPI_Ialltoall(data, 50, MPI_BYTE, data + 150, 50, MPI_BYTE, MPI_COMM_WORLD, &requests[0]);
        MPI_Recv(data, 1, MPI_BYTE, 2, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
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
        if (argc > 3)
            wait_in_chain(argv[2], rank);
        else
            wait_for_rank_1(argv[2], rank);
        printf("rank %d has got past it\n", rank);
    }
    MPI_Finalize();
    usleep(1500000);
    printf("rank %d has saved its results\n", rank);
    return 0;
}
