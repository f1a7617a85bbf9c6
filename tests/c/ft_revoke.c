/* A communicator that one rank revokes is of no use to any: whoever waits on it is told, and only it is concerned. mpiexec: --keep-going
   ranks: 2 3 4 */
#include "failures.h"

enum { LONG = 4 << 20, WAYS = 9 };

static int rank, size, value;
static char *data;

/* What a rank waits for on a communicator that another revokes. */
static int wait_in_vain(int way, MPI_Comm comm)
{
    MPI_Request request = MPI_REQUEST_NULL;
    int index, code, flag = 0;
    switch (way) {
    case 0: return MPI_Recv(&value, 1, MPI_INT, 0, 1, comm, MPI_STATUS_IGNORE);
    case 1: return MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, 1, comm, MPI_STATUS_IGNORE);
    case 2: return MPI_Probe(0, 1, comm, MPI_STATUS_IGNORE);
    case 3: return MPI_Ssend(&value, 1, MPI_INT, 0, 1, comm);
    case 4: return MPI_Send(data, LONG, MPI_CHAR, 0, 1, comm);
    case 5: return MPI_Barrier(comm);
    case 6: return MPI_Bcast(data, LONG, MPI_CHAR, 0, comm);
    case 7:
        code = MPI_Ibarrier(comm, &request);
        return code ? code : MPI_Waitany(1, &request, &index, MPI_STATUS_IGNORE);
    default:
        MPI_Irecv(&value, 1, MPI_INT, 0, 1, comm, &request);
        do code = MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
        while (code == MPI_SUCCESS && !flag);
        return code;
    }
}

int main(int argc, char **argv)
{
    MPI_Comm comm, shrunk;
    int is_revoked, flag, members;
    MPI_Init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    data = calloc(1, LONG);
    for (int way = 0; way < WAYS; way++) {
        CHECK(MPI_Comm_dup(MPI_COMM_WORLD, &comm) == MPI_SUCCESS);
        CHECK(MPIX_Comm_is_revoked(comm, &is_revoked) == MPI_SUCCESS && !is_revoked);
        CHECK(MPI_Barrier(MPI_COMM_WORLD) == MPI_SUCCESS);
        if (rank == 0) {
            usleep(5000);
            CHECK(MPIX_Comm_revoke(comm) == MPI_SUCCESS);
            CHECK(MPIX_Comm_revoke(comm) == MPI_SUCCESS);
        } else {
            int class, code = wait_in_vain(way, comm);
            MPI_Error_class(code, &class);
            /* A message that nobody receives may have left before. */
            CHECK(class == MPIX_ERR_REVOKED || (way == 4 && class == MPI_SUCCESS));
        }
        do CHECK(MPIX_Comm_is_revoked(comm, &is_revoked) == MPI_SUCCESS);
        while (!is_revoked);
        CHECK_ERROR(MPI_Send(&value, 1, MPI_INT, rank, 0, comm), MPIX_ERR_REVOKED);
        CHECK_ERROR(MPI_Send(&value, 1, MPI_INT, MPI_PROC_NULL, 0, comm), MPIX_ERR_REVOKED);
        CHECK_ERROR(MPI_Recv(&value, 1, MPI_INT, rank, 0, comm, MPI_STATUS_IGNORE), MPIX_ERR_REVOKED);
        CHECK_ERROR(MPI_Barrier(comm), MPIX_ERR_REVOKED);
        CHECK_ERROR(MPI_Comm_dup(comm, &shrunk), MPIX_ERR_REVOKED);
        /* What is local goes on, and what is for this case. */
        CHECK(MPI_Comm_size(comm, &members) == MPI_SUCCESS && members == size);
        flag = rank == 0 ? 6 : 3;
        CHECK(MPIX_Comm_agree(comm, &flag) == MPI_SUCCESS && flag == 2);
        CHECK(MPIX_Comm_shrink(comm, &shrunk) == MPI_SUCCESS);
        CHECK(MPI_Comm_size(shrunk, &members) == MPI_SUCCESS && members == size);
        CHECK(MPI_Bcast(data, LONG, MPI_CHAR, 0, shrunk) == MPI_SUCCESS);
        CHECK(MPI_Comm_free(&shrunk) == MPI_SUCCESS);
        CHECK(MPI_Comm_free(&comm) == MPI_SUCCESS && comm == MPI_COMM_NULL);
    }
    /* Parts of one communicator, which have been made at once, are told apart. */
    CHECK(MPI_Comm_split(MPI_COMM_WORLD, rank % 2, 0, &comm) == MPI_SUCCESS);
    if (rank == 0) CHECK(MPI_Comm_revoke(comm) == MPI_SUCCESS);
    CHECK(MPI_Barrier(MPI_COMM_WORLD) == MPI_SUCCESS);
    CHECK(MPIX_Comm_is_revoked(comm, &is_revoked) == MPI_SUCCESS && is_revoked == (rank % 2 == 0));
    if (rank % 2) CHECK(MPI_Barrier(comm) == MPI_SUCCESS);
    CHECK(MPI_Comm_free(&comm) == MPI_SUCCESS);
    free(data);
    MPI_Finalize();
    return 0;
}
