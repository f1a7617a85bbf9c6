/* The first rank has begun a collective that the others never begin, as they hear of a death before. They must not match its messages in
   the collective that they begin next, of whatever form. mpiexec: --keep-going ranks: 3 4 */
#include "failures.h"

int main(int argc, char **argv)
{
    int rank, size, data[2] = {0};
    MPI_Comm blocking, nonblocking, persistent, twin, made;
    MPI_Request request, repeated;
    MPI_Init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_dup(MPI_COMM_WORLD, &blocking);
    MPI_Comm_dup(MPI_COMM_WORLD, &nonblocking);
    MPI_Comm_dup(MPI_COMM_WORLD, &persistent);
    MPI_Comm_dup(MPI_COMM_WORLD, &twin);
    MPI_Bcast_init(data, rank == 0 ? 1 : 2, MPI_INT, 0, persistent, MPI_INFO_NULL, &repeated);
    /* Whoever is still here when a rank dies has all communicators. */
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        /* In such a job these are messages, which short data do not wait for. */
        CHECK(MPI_Bcast(data, 1, MPI_INT, 0, blocking) == MPI_SUCCESS);
        CHECK(MPI_Ibcast(data, 1, MPI_INT, 0, nonblocking, &request) == MPI_SUCCESS);
        CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS);
        CHECK(MPI_Start(&repeated) == MPI_SUCCESS && MPI_Wait(&repeated, MPI_STATUS_IGNORE) == MPI_SUCCESS);
        CHECK(MPI_Bcast(data, 1, MPI_INT, 0, twin) == MPI_SUCCESS);
        for (int other = 1; other < size; other++) tell(other, MPI_COMM_WORLD);
    } else {
        await_word_of(0, MPI_COMM_WORLD);
        if (rank == size - 1) die();
        await_deaths(MPI_COMM_WORLD, 1);
        CHECK_ERROR(MPI_Bcast(data, 2, MPI_INT, 0, blocking), MPIX_ERR_PROC_FAILED);
        CHECK(MPI_Ibcast(data, 2, MPI_INT, 0, nonblocking, &request) == MPI_SUCCESS);
        CHECK_ERROR(MPI_Wait(&request, MPI_STATUS_IGNORE), MPIX_ERR_PROC_FAILED);
        CHECK(MPI_Start(&repeated) == MPI_SUCCESS);
        CHECK_ERROR(MPI_Wait(&repeated, MPI_STATUS_IGNORE), MPIX_ERR_PROC_FAILED);
        CHECK_ERROR(MPI_Comm_dup(twin, &made), MPIX_ERR_PROC_FAILED);
    }
    MPI_Request_free(&repeated);
    MPI_Comm_free(&blocking);
    MPI_Comm_free(&nonblocking);
    MPI_Comm_free(&persistent);
    MPI_Comm_free(&twin);
    MPI_Finalize();
    return 0;
}
