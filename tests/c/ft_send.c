/* Small messages to a rank that has died fail at once, although their sender never waits for anything.
   mpiexec: --keep-going ranks: 2 3 */
#include "failures.h"

/* Fewer than find room in the ring to one that takes nothing out. */
enum { MOST = 100, PAUSE = 50000 };

int main(int argc, char **argv)
{
    int rank, code = MPI_SUCCESS, value = 0, sent;
    MPI_Request request;
    MPI_Init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 1) die();
    for (sent = 0; code == MPI_SUCCESS && sent < MOST; sent++) {
        code = MPI_Send(&value, 1, MPI_INT, 1, 0, MPI_COMM_WORLD);
        usleep(PAUSE);
    }
    CHECK_ERROR(code, MPIX_ERR_PROC_FAILED);
    code = MPI_Isend(&value, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, &request);
    if (code == MPI_SUCCESS) code = MPI_Wait(&request, MPI_STATUS_IGNORE);
    CHECK_ERROR(code, MPIX_ERR_PROC_FAILED);
    /* Those who live are reached as before. */
    if (rank == 0) {
        int size;
        MPI_Comm_size(MPI_COMM_WORLD, &size);
        if (size == 3) CHECK(MPI_Send(&value, 1, MPI_INT, 2, 0, MPI_COMM_WORLD) == MPI_SUCCESS);
    } else {
        CHECK(MPI_Recv(&value, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    }
    MPI_Finalize();
    return 0;
}
