/* Does what a profile or a trace is to tell of, by its argument.
   late: rank 0 sends late, and messages of known lengths go both ways.
   killed: rank 1 is killed in a receive.
   many: more events than there is room for. */
#include <mpi.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char bytes[5000];

static void late(int rank)
{
    int one = 1, sum;
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        usleep(300000);
        for (int message = 0; message < 5; ++message)
            MPI_Send(bytes, 400, MPI_BYTE, 1, 7, MPI_COMM_WORLD);
        MPI_Recv(bytes, sizeof bytes, MPI_BYTE, MPI_ANY_SOURCE, 8, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else if (rank == 1) {
        MPI_Request request;
        for (int message = 0; message < 5; ++message)
            MPI_Recv(bytes, sizeof bytes, MPI_BYTE, 0, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Isend(bytes, 5000, MPI_BYTE, 0, 8, MPI_COMM_WORLD, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
}

static void killed(int rank)
{
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        MPI_Send(bytes, 100, MPI_BYTE, 1, 7, MPI_COMM_WORLD);
        MPI_Recv(bytes, 100, MPI_BYTE, 1, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else {
        MPI_Recv(bytes, 100, MPI_BYTE, 0, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        raise(SIGKILL);
    }
}

static void many(int rank)
{
    for (int message = 0; message < 70000; ++message)
        if (rank == 0)
            MPI_Send(bytes, 8, MPI_BYTE, 1, 7, MPI_COMM_WORLD);
        else
            MPI_Recv(bytes, 8, MPI_BYTE, 0, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

int main(int argc, char **argv)
{
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (!strcmp(argv[1], "late"))
        late(rank);
    else if (!strcmp(argv[1], "killed"))
        killed(rank);
    else
        many(rank);
    MPI_Finalize();
    return 0;
}
