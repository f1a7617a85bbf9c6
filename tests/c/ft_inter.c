/* Intercommunicators of which a rank dies, or that are revoked: agreements and what is left are of both groups. mpiexec: --keep-going ranks: 4 */
#include "failures.h"

enum { DEAD = 3 };

int main(int argc, char **argv)
{
    MPI_Comm local, inter, shrunk, revoked;
    MPI_Request request;
    int rank, value = 1, flag, members, others, is_revoked;
    MPI_Init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_split(MPI_COMM_WORLD, rank / 2, 0, &local);
    MPI_Intercomm_create(local, 0, MPI_COMM_WORLD, rank < 2 ? 2 : 0, 0, &inter);
    CHECK(MPI_Comm_dup(inter, &revoked) == MPI_SUCCESS);

    flag = 1 << rank;
    CHECK(MPIX_Comm_agree(inter, &flag) == MPI_SUCCESS && flag == 0);
    flag = 9;
    CHECK(MPIX_Comm_iagree(inter, &flag, &request) == MPI_SUCCESS && MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS && flag == 9);
    CHECK(MPIX_Comm_shrink(inter, &shrunk) == MPI_SUCCESS);
    CHECK(MPI_Comm_remote_size(shrunk, &others) == MPI_SUCCESS && others == 2 && MPI_Barrier(shrunk) == MPI_SUCCESS);
    CHECK(MPI_Comm_free(&shrunk) == MPI_SUCCESS);

    if (rank == 0) CHECK(MPIX_Comm_revoke(revoked) == MPI_SUCCESS);
    do CHECK(MPIX_Comm_is_revoked(revoked, &is_revoked) == MPI_SUCCESS);
    while (!is_revoked);
    CHECK_ERROR(MPI_Barrier(revoked), MPIX_ERR_REVOKED);
    CHECK(MPI_Barrier(inter) == MPI_SUCCESS);

    /* A barrier of which somebody has died before all have left it may fail. */
    if (rank == DEAD) {
        for (int from = 0; from < DEAD; from++) MPI_Recv(&value, 1, MPI_INT, from, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        die();
    }
    CHECK(MPI_Send(&value, 1, MPI_INT, DEAD, 0, MPI_COMM_WORLD) == MPI_SUCCESS);
    if (rank < 2) {
        CHECK_ERROR(MPI_Recv(&value, 1, MPI_INT, 1, 1, inter, MPI_STATUS_IGNORE), MPIX_ERR_PROC_FAILED);
        CHECK_ERROR(MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, 1, inter, MPI_STATUS_IGNORE), MPIX_ERR_PROC_FAILED);
    } else {
        /* Nobody has died that could send to this one. */
        CHECK(MPI_Irecv(&value, 1, MPI_INT, MPI_ANY_SOURCE, 2, inter, &request) == MPI_SUCCESS);
        await_deaths(inter, 1);
    }
    CHECK_ERROR(MPI_Barrier(inter), MPIX_ERR_PROC_FAILED);
    flag = 5;
    CHECK_ERROR(MPIX_Comm_agree(inter, &flag), MPIX_ERR_PROC_FAILED);
    CHECK(flag == 5);
    if (rank == 0) CHECK(MPI_Send(&rank, 1, MPI_INT, 0, 2, inter) == MPI_SUCCESS);
    if (rank == 2) CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS && value == 0);
    CHECK(MPIX_Comm_shrink(inter, &shrunk) == MPI_SUCCESS);
    MPI_Comm_size(shrunk, &members);
    MPI_Comm_remote_size(shrunk, &others);
    CHECK(members == (rank < 2 ? 2 : 1) && others == (rank < 2 ? 1 : 2));
    CHECK(MPI_Barrier(shrunk) == MPI_SUCCESS);
    CHECK(MPI_Comm_free(&shrunk) == MPI_SUCCESS);
    MPI_Finalize();
    return 0;
}
