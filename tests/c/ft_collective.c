/* Collectives that a dead rank would have taken part in fail at some ranks, and none waits for ever; agreements among the others, and what is
   made of them, go on. mpiexec: --keep-going ranks: 2 3 4 */
#include "failures.h"

enum { LONG = 100000 };

static int rank, size;

/* Each kind of collective, with and without a root that has died. Calls it until it fails: it may have ended well where the dead was not needed. */
static int call(int kind, MPI_Comm comm, int *data, int *result)
{
    switch (kind) {
    case 0: return MPI_Barrier(comm);
    case 1: return MPI_Bcast(data, LONG, MPI_INT, size - 1, comm);
    case 2: return MPI_Allreduce(data, result, 1, MPI_INT, MPI_SUM, comm);
    case 3: return MPI_Allreduce(data, result, LONG, MPI_INT, MPI_SUM, comm);
    case 4: return MPI_Allgather(data, LONG / size, MPI_INT, result, LONG / size, MPI_INT, comm);
    case 5: return MPI_Alltoall(data, 3, MPI_INT, result, 3, MPI_INT, comm);
    default: {
        MPI_Request request;
        /* That a rank has died is told by what completes the operation, whenever it is found out. */
        CHECK(MPI_Iallreduce(data, result, LONG, MPI_INT, MPI_SUM, comm, &request) == MPI_SUCCESS);
        return MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    }
}

static void agree(MPI_Comm comm, int expected)
{
    int flag = rank == 0 ? 3 : 6;
    CHECK_ERROR(MPIX_Comm_agree(comm, &flag), expected);
    CHECK(flag == (size == 2 ? 3 : 2));
}

int main(int argc, char **argv)
{
    int *data, *result, me, members, flag, sum = 0, is_revoked;
    MPI_Comm comms[7], split, shrunk;
    MPI_Request request;
    MPI_Group failed, all;
    MPI_Init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    data = calloc(LONG, sizeof *data);
    result = calloc(LONG, sizeof *result);
    for (int kind = 0; kind < 7; kind++) CHECK(MPI_Comm_dup(MPI_COMM_WORLD, &comms[kind]) == MPI_SUCCESS);
    /* Before anybody has died all is as ever. */
    for (int kind = 0; kind < 7; kind++) CHECK(call(kind, comms[kind], data, result) == MPI_SUCCESS);
    flag = -1;
    CHECK(MPIX_Comm_agree(MPI_COMM_WORLD, &flag) == MPI_SUCCESS && flag == -1);
    if (rank == size - 1) die();

    for (int kind = 0; kind < 7; kind++) {
        int code;
        do code = call(kind, comms[kind], data, result);
        while (code == MPI_SUCCESS && size > 2 && kind != 1);
        CHECK_ERROR(code, MPIX_ERR_PROC_FAILED);
    }
    CHECK_ERROR(MPI_Comm_dup(MPI_COMM_WORLD, &split), MPIX_ERR_PROC_FAILED);
    CHECK(split == MPI_COMM_NULL);

    /* The death is new to all until all have acknowledged it. */
    agree(MPI_COMM_WORLD, MPIX_ERR_PROC_FAILED);
    if (rank == 0) CHECK(MPIX_Comm_failure_ack(MPI_COMM_WORLD) == MPI_SUCCESS);
    if (size > 2) agree(MPI_COMM_WORLD, MPIX_ERR_PROC_FAILED);
    if (rank > 0) CHECK(MPIX_Comm_failure_ack(MPI_COMM_WORLD) == MPI_SUCCESS);
    agree(MPI_COMM_WORLD, MPI_SUCCESS);
    CHECK(MPI_Comm_get_failed(MPI_COMM_WORLD, &failed) == MPI_SUCCESS);
    MPI_Comm_group(MPI_COMM_WORLD, &all);
    MPI_Group_translate_ranks(failed, 1, (int[]){0}, all, &me);
    CHECK(me == size - 1);
    MPI_Group_free(&failed);
    MPI_Group_free(&all);

    /* Those who live go on together, in one way and in the other. */
    CHECK(MPIX_Comm_shrink(MPI_COMM_WORLD, &shrunk) == MPI_SUCCESS);
    MPI_Comm_size(shrunk, &members);
    MPI_Comm_rank(shrunk, &me);
    CHECK(members == size - 1 && me == rank);
    for (int kind = 0; kind < 7; kind++) {
        int before = size;
        size = members;
        CHECK(call(kind, shrunk, data, result) == MPI_SUCCESS);
        size = before;
    }
    CHECK(MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, shrunk) == MPI_SUCCESS && sum == (size - 1) * (size - 2) / 2);
    CHECK(MPI_Comm_free(&shrunk) == MPI_SUCCESS);
    CHECK(MPIX_Comm_ishrink(comms[0], &shrunk, &request) == MPI_SUCCESS);
    CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    MPI_Comm_size(shrunk, &members);
    CHECK(members == size - 1 && MPI_Barrier(shrunk) == MPI_SUCCESS);
    flag = 5;
    CHECK(MPIX_Comm_iagree(shrunk, &flag, &request) == MPI_SUCCESS && MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS && flag == 5);
    CHECK(MPIX_Comm_is_revoked(shrunk, &is_revoked) == MPI_SUCCESS && !is_revoked);
    CHECK(MPI_Comm_free(&shrunk) == MPI_SUCCESS);
    for (int kind = 0; kind < 7; kind++) CHECK(MPI_Comm_free(&comms[kind]) == MPI_SUCCESS);
    free(data);
    free(result);
    MPI_Finalize();
    return 0;
}
