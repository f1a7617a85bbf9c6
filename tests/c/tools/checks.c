/* Does what does not go together, in the way that the first argument names; without --check nothing of it shows. */
#include <mpi.h>
#include <string.h>

int main(int argc, char **argv)
{
    const char *kind = argc > 1 ? argv[1] : "";
    int rank, size, data[4] = {0}, result[4];
    MPI_Request request;
    MPI_Comm part;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (strcmp(kind, "operations") == 0)
        for (int i = 0; i < 3; i++)
            MPI_Allreduce(data, result, 4, MPI_INT, rank == 1 ? MPI_MAX : MPI_SUM, MPI_COMM_WORLD);
    if (strcmp(kind, "message") == 0 && rank == 0)
        MPI_Send(data, 3, MPI_INT, 1, 42, MPI_COMM_WORLD);
    if (strcmp(kind, "request") == 0 && rank == 1)
        MPI_Isend(data, 1, MPI_INT, 0, 7, MPI_COMM_WORLD, &request);
    if (strcmp(kind, "request") == 0 && rank == 0) {
        MPI_Recv(data, 1, MPI_INT, 1, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Irecv(data, 1, MPI_INT, 1, 8, MPI_COMM_WORLD, &request);
    }
    if (strcmp(kind, "request") == 0 && rank == 1)
        MPI_Send(data, 1, MPI_INT, 0, 8, MPI_COMM_WORLD);
    if (strcmp(kind, "roots") == 0)
        MPI_Bcast(data, 4, MPI_INT, rank == 1, MPI_COMM_WORLD);
    if (strcmp(kind, "lengths") == 0)
        MPI_Bcast(data, rank == 1 ? 2 : 4, MPI_INT, 0, MPI_COMM_WORLD);
    if (strcmp(kind, "calls") == 0) {
        if (rank == 1)
            MPI_Barrier(MPI_COMM_WORLD);
        else
            MPI_Bcast(data, 1, MPI_INT, 0, MPI_COMM_WORLD);
    }
    if (strcmp(kind, "started-operations") == 0) {
        MPI_Iallreduce(data, result, 4, MPI_INT, rank == 1 ? MPI_MAX : MPI_SUM, MPI_COMM_WORLD, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    if (strcmp(kind, "started-roots") == 0) {
        MPI_Ibcast(data, 4, MPI_INT, rank == 1, MPI_COMM_WORLD, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    if (strcmp(kind, "started-calls") == 0) {
        if (rank == 1)
            MPI_Ibarrier(MPI_COMM_WORLD, &request);
        else
            MPI_Ibcast(data, 1, MPI_INT, 0, MPI_COMM_WORLD, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    if (strcmp(kind, "forms") == 0) {
        if (rank == 1) {
            MPI_Ibarrier(MPI_COMM_WORLD, &request);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
        } else {
            MPI_Barrier(MPI_COMM_WORLD);
        }
    }
    if (strcmp(kind, "made") == 0) {
        MPI_Bcast_init(data, 4, MPI_INT, rank == 1, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
        MPI_Request_free(&request);
    }
    if (strcmp(kind, "end") == 0 && rank == 1)
        MPI_Barrier(MPI_COMM_WORLD);
    if (strcmp(kind, "part") == 0) {
        if (rank == 1)
            MPI_Comm_split(MPI_COMM_WORLD, 0, 0, &part);
        else
            MPI_Barrier(MPI_COMM_WORLD);
    }
    if (strcmp(kind, "well") == 0) {
        MPI_Bcast(data, 4, MPI_INT, 0, MPI_COMM_WORLD);
        MPI_Reduce(data, rank == 0 ? result : NULL, 4, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
        MPI_Gather(data, 1, MPI_INT, result, 1, MPI_INT, size - 1, MPI_COMM_WORLD);
        MPI_Sendrecv(data, 1, MPI_INT, (rank + 1) % size, 0, result, 1, MPI_INT, (rank + size - 1) % size, 0,
                     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        /* Who starts a collective waits for nobody. */
        if (rank == 1)
            MPI_Recv(data, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Ibcast(result, 4, MPI_INT, 0, MPI_COMM_WORLD, &request);
        if (rank == 0)
            MPI_Send(data, 1, MPI_INT, 1, 1, MPI_COMM_WORLD);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        MPI_Allreduce_init(data, result, 4, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
        MPI_Start(&request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        MPI_Request_free(&request);
        MPI_Comm_split(MPI_COMM_WORLD, rank % 2, 0, &part);
        MPI_Bcast(data, 4, MPI_INT, 0, part);
        MPI_Comm_free(&part);
    }
    MPI_Finalize();
    return 0;
}
