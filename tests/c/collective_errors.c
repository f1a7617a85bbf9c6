/* What can be said against the arguments of a collective by one rank alone. */
#include "check.h"

static void mistakes(const MPI_Comm comm, int rank, int size)
{
    int data[8] = {0}, result[8], negative[64], starts[64] = {0}, i;
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Datatype fresh;
    for (i = 0; i < 64; i++)
        negative[i] = -1;
    CHECK_ERROR(MPI_Bcast(data, 1, MPI_INT, size, comm), MPI_ERR_ROOT);
    CHECK_ERROR(MPI_Bcast(data, 1, MPI_INT, -7, comm), MPI_ERR_ROOT);
    CHECK_ERROR(MPI_Bcast(data, 1, MPI_INT, MPI_ROOT, comm), MPI_ERR_ROOT);
    CHECK_ERROR(MPI_Bcast(data, -1, MPI_INT, 0, comm), MPI_ERR_COUNT);
    CHECK_ERROR(MPI_Bcast(NULL, 1, MPI_INT, 0, comm), MPI_ERR_BUFFER);
    CHECK_ERROR(MPI_Bcast(data, 1, MPI_DATATYPE_NULL, 0, comm), MPI_ERR_TYPE);
    CHECK_ERROR(MPI_Bcast(MPI_IN_PLACE, 1, MPI_INT, 0, comm), MPI_ERR_BUFFER);
    CHECK_ERROR(MPI_Barrier(MPI_COMM_NULL), MPI_ERR_COMM);
    CHECK_ERROR(MPI_Allreduce(data, data, 1, MPI_INT, MPI_SUM, comm), MPI_ERR_BUFFER);
    CHECK_ERROR(MPI_Allreduce(data, MPI_IN_PLACE, 1, MPI_INT, MPI_SUM, comm), MPI_ERR_BUFFER);
    CHECK_ERROR(MPI_Allreduce(data, NULL, 1, MPI_INT, MPI_SUM, comm), MPI_ERR_BUFFER);
    CHECK_ERROR(MPI_Allreduce(data, result, -1, MPI_INT, MPI_SUM, comm), MPI_ERR_COUNT);
    CHECK_ERROR(MPI_Allreduce(data, result, 1, MPI_DATATYPE_NULL, MPI_SUM, comm), MPI_ERR_TYPE);
    CHECK_ERROR(MPI_Allreduce(data, result, 1, MPI_INT, MPI_OP_NULL, comm), MPI_ERR_OP);
    CHECK_ERROR(MPI_Allreduce(data, result, 1, MPI_FLOAT, MPI_BAND, comm), MPI_ERR_OP);
    CHECK_ERROR(MPI_Iallreduce(data, result, 1, MPI_INT, MPI_MINLOC, comm, &request), MPI_ERR_OP);
    CHECK_ERROR(MPI_Reduce(data, result, 1, MPI_INT, MPI_SUM, size, comm), MPI_ERR_ROOT);
    CHECK_ERROR(MPI_Reduce(rank == 0 ? data : MPI_IN_PLACE, rank == 0 ? NULL : data, 1, MPI_INT, MPI_SUM, 0, comm), MPI_ERR_BUFFER);
    CHECK_ERROR(MPI_Gather(data, 1, MPI_INT, result, 1, MPI_INT, size, comm), MPI_ERR_ROOT);
    CHECK_ERROR(MPI_Gather(data, 1, MPI_INT, data, 1, MPI_INT, 0, MPI_COMM_SELF), MPI_ERR_BUFFER);
    CHECK_ERROR(MPI_Scatter(data, 1, MPI_INT, result, 1, MPI_INT, size, comm), MPI_ERR_ROOT);
    CHECK_ERROR(MPI_Scatter(data, 1, MPI_INT, result, 1, MPI_INT, -7, comm), MPI_ERR_ROOT);
    CHECK_ERROR(MPI_Scatter(data, 1, MPI_INT, data, 1, MPI_INT, 0, MPI_COMM_SELF), MPI_ERR_BUFFER);
    CHECK_ERROR(MPI_Scatter(NULL, 1, MPI_INT, result, 1, MPI_INT, 0, MPI_COMM_SELF), MPI_ERR_BUFFER);
    CHECK_ERROR(MPI_Scatter(MPI_IN_PLACE, 1, MPI_INT, result, 1, MPI_INT, 0, MPI_COMM_SELF), MPI_ERR_BUFFER);
    CHECK_ERROR(MPI_Scatter(data, 2, MPI_INT, result, 1, MPI_INT, 0, MPI_COMM_SELF), MPI_ERR_TRUNCATE);
    CHECK_ERROR(MPI_Scatter(data, 1, MPI_INT, NULL, 1, MPI_INT, rank, comm), MPI_ERR_BUFFER);
    CHECK_ERROR(MPI_Scatter(data, 1, MPI_INT, result, -1, MPI_INT, 0, comm), MPI_ERR_COUNT);
    CHECK_ERROR(MPI_Scatter(data, 1, MPI_DATATYPE_NULL, result, 1, MPI_DATATYPE_NULL, 0, comm), MPI_ERR_TYPE);
    CHECK_ERROR(MPI_Reduce_scatter_block(data, data, 1, MPI_INT, MPI_SUM, comm), MPI_ERR_BUFFER);
    CHECK_ERROR(MPI_Reduce_scatter_block(NULL, result, 1, MPI_INT, MPI_SUM, comm), MPI_ERR_BUFFER);
    CHECK_ERROR(MPI_Reduce_scatter_block(data, NULL, 1, MPI_INT, MPI_SUM, comm), MPI_ERR_BUFFER);
    CHECK_ERROR(MPI_Reduce_scatter_block(data, MPI_IN_PLACE, 1, MPI_INT, MPI_SUM, comm), MPI_ERR_BUFFER);
    CHECK_ERROR(MPI_Reduce_scatter_block(data, result, -1, MPI_INT, MPI_SUM, comm), MPI_ERR_COUNT);
    CHECK_ERROR(MPI_Reduce_scatter_block(data, result, 1, MPI_DATATYPE_NULL, MPI_SUM, comm), MPI_ERR_TYPE);
    CHECK_ERROR(MPI_Reduce_scatter_block(data, result, 1, MPI_INT, MPI_OP_NULL, comm), MPI_ERR_OP);
    CHECK_ERROR(MPI_Reduce_scatter_block(data, result, 1, MPI_FLOAT, MPI_BAND, comm), MPI_ERR_OP);
    CHECK_ERROR(MPI_Scan(data, data, 1, MPI_INT, MPI_SUM, comm), MPI_ERR_BUFFER);
    CHECK_ERROR(MPI_Exscan(data, result, 1, MPI_FLOAT, MPI_BOR, comm), MPI_ERR_OP);
    CHECK_ERROR(MPI_Allgather(data, 1, MPI_INT, data, 1, MPI_INT, comm), MPI_ERR_BUFFER);
    CHECK_ERROR(MPI_Alltoall(data, 1, MPI_INT, data, 1, MPI_INT, comm), MPI_ERR_BUFFER);
    CHECK_ERROR(MPI_Ibarrier(comm, NULL), MPI_ERR_ARG);
    CHECK_ERROR(MPI_Allgatherv(data, 1, MPI_INT, result, negative, starts, MPI_INT, comm), MPI_ERR_COUNT);
    CHECK_ERROR(MPI_Allgatherv(data, 1, MPI_INT, result, NULL, starts, MPI_INT, comm), MPI_ERR_ARG);
    CHECK_ERROR(MPI_Reduce_scatter(data, result, negative, MPI_INT, MPI_SUM, comm), MPI_ERR_COUNT);
    CHECK_ERROR(MPI_Reduce_scatter(data, result, NULL, MPI_INT, MPI_SUM, comm), MPI_ERR_ARG);
    CHECK_ERROR(MPI_Alltoall(data, 1, MPI_INT, MPI_IN_PLACE, 1, MPI_INT, comm), MPI_ERR_BUFFER);
    CHECK_ERROR(MPI_Allgather(data, 2, MPI_INT, result, 1, MPI_INT, MPI_COMM_SELF), MPI_ERR_TRUNCATE);
    MPI_Type_contiguous(2, MPI_INT, &fresh);
    CHECK_ERROR(MPI_Bcast(data, 1, fresh, 0, comm), MPI_ERR_TYPE);
    MPI_Type_free(&fresh);
}

static void other_length(int code)
{
    char text[MPI_MAX_ERROR_STRING];
    int len;
    CHECK_ERROR(code, MPI_ERR_TRUNCATE);
    CHECK(MPI_Error_string(code, text, &len) == MPI_SUCCESS && strstr(text, "takes part with"));
}

/* One rank gives and gets less or more than all others: all of them learn of it, and nobody waits. */
static void lengths_that_differ(const MPI_Comm comm, int rank, int size)
{
    static const int lengths[][2] = {{1, 2}, {2, 1}, {1, 5000}, {5000, 1}, {5000, 6000}};
    static int data[4 * 6004], result[6004];
    int i, odd, r, counts[4];
    for (i = 0; i < (int)(sizeof lengths / sizeof *lengths); i++)
        for (odd = 0; odd < size; odd += size - 1) {
            const int count = lengths[i][rank == odd];
            other_length(MPI_Reduce_scatter_block(data, result, count, MPI_INT, MPI_SUM, comm));
            for (r = 0; r < size; r++)
                counts[r] = count + r;
            other_length(MPI_Reduce_scatter(data, result, counts, MPI_INT, MPI_SUM, comm));
            CHECK(MPI_Reduce_scatter_block(data, result, 1, MPI_INT, MPI_SUM, comm) == MPI_SUCCESS);
        }
}

int main(int argc, char **argv)
{
    int rank, size, data[8] = {0};
    const MPI_Comm comm = MPI_COMM_WORLD;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    /* Short collectives find another way once there has been one. */
    mistakes(comm, rank, size);
    CHECK(MPI_Barrier(comm) == MPI_SUCCESS);
    mistakes(comm, rank, size);
    if (size > 1)
        lengths_that_differ(comm, rank, size);
    /* A message that does not fit. */
    if (size > 1) {
        if (rank == 0)
            CHECK(MPI_Bcast(data, 4, MPI_INT, 0, comm) == MPI_SUCCESS);
        else if (rank == 1)
            CHECK_ERROR(MPI_Bcast(data, 2, MPI_INT, 0, comm), MPI_ERR_TRUNCATE);
        else
            CHECK(MPI_Bcast(data, rank == 3 ? 2 : 4, MPI_INT, 0, comm) == MPI_SUCCESS || rank == 3);
    }
    CHECK(MPI_Barrier(comm) == MPI_SUCCESS);
    MPI_Finalize();
    return 0;
}
