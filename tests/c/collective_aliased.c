/* One buffer for what is sent and what is received: an error of the rank that does so, and the others come to their end. */
#include "check.h"

enum { MANY = 30000 };

static int rank, size, length;
static int *own, *all;
static int counts[64], starts[64], bytes[64];
static MPI_Datatype types[64];
static MPI_Comm comm;

/* What the call should give where both buffers are the same. */
#define CHECK_ALIASED(call, is_aliased)                                                            \
    do {                                                                                           \
        if (is_aliased)                                                                            \
            CHECK_ERROR(call, MPI_ERR_BUFFER);                                                     \
        else                                                                                       \
            CHECK((call) == MPI_SUCCESS);                                                          \
    } while (0)

/* Only at the root is more than one buffer significant. */
static void at_a_root(int root)
{
    int at_root = rank == root;
    CHECK_ALIASED(MPI_Gather(at_root ? all : own, length, MPI_INT, all, length, MPI_INT, root, comm), at_root);
    CHECK_ALIASED(MPI_Gatherv(at_root ? all : own, length, MPI_INT, all, counts, starts, MPI_INT, root, comm), at_root);
    CHECK_ALIASED(MPI_Scatter(all, length, MPI_INT, at_root ? all : own, length, MPI_INT, root, comm), at_root);
    CHECK_ALIASED(MPI_Scatterv(all, counts, starts, MPI_INT, at_root ? all : own, length, MPI_INT, root, comm), at_root);
    CHECK_ALIASED(MPI_Reduce(own, own, length, MPI_INT, MPI_SUM, root, comm), at_root);
}

static void everywhere(int aliased)
{
    int *sent = aliased ? all : own, *sent_to_all = aliased ? all : all + length * size;
    CHECK_ALIASED(MPI_Allgather(sent, length, MPI_INT, all, length, MPI_INT, comm), aliased);
    CHECK_ALIASED(MPI_Allgatherv(sent, length, MPI_INT, all, counts, starts, MPI_INT, comm), aliased);
    CHECK_ALIASED(MPI_Alltoall(sent_to_all, length, MPI_INT, all, length, MPI_INT, comm), aliased);
    CHECK_ALIASED(MPI_Alltoallv(sent_to_all, counts, starts, MPI_INT, all, counts, starts, MPI_INT, comm), aliased);
    CHECK_ALIASED(MPI_Alltoallw(sent_to_all, counts, bytes, types, all, counts, bytes, types, comm), aliased);
    CHECK_ALIASED(MPI_Allreduce(sent, all, length, MPI_INT, MPI_SUM, comm), aliased);
    CHECK_ALIASED(MPI_Scan(sent, all, length, MPI_INT, MPI_SUM, comm), aliased);
    CHECK_ALIASED(MPI_Exscan(sent, all, length, MPI_INT, MPI_SUM, comm), aliased);
    CHECK_ALIASED(MPI_Reduce_scatter_block(sent_to_all, all, length, MPI_INT, MPI_SUM, comm), aliased);
    CHECK_ALIASED(MPI_Reduce_scatter(sent_to_all, all, counts, MPI_INT, MPI_SUM, comm), aliased);
}

/* A request is given only where all is well; what was refused goes on by itself. */
static void in_flight(int aliased)
{
    int *sent = aliased ? all : own, *sent_to_all = aliased ? all : all + length * size;
    MPI_Request requests[4] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL, MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    CHECK_ALIASED(MPI_Iallgatherv(sent, length, MPI_INT, all, counts, starts, MPI_INT, comm, &requests[0]), aliased);
    CHECK_ALIASED(MPI_Ialltoallv(sent_to_all, counts, starts, MPI_INT, all, counts, starts, MPI_INT, comm, &requests[1]), aliased);
    CHECK_ALIASED(MPI_Ialltoallw(sent_to_all, counts, bytes, types, all, counts, bytes, types, comm, &requests[2]), aliased);
    CHECK_ALIASED(MPI_Iallreduce(sent, all, length, MPI_INT, MPI_SUM, comm, &requests[3]), aliased);
    CHECK(MPI_Waitall(4, requests, MPI_STATUSES_IGNORE) == MPI_SUCCESS);
    MPI_Barrier(comm);
    CHECK_ERROR(MPI_Alltoallv_init(all, counts, starts, MPI_INT, all, counts, starts, MPI_INT, comm, MPI_INFO_NULL, requests),
                MPI_ERR_BUFFER);
}

static void among_neighbours(void)
{
    int sizes[1] = {size}, circle[1] = {1}, two[2] = {length, length}, places[2] = {0, length};
    MPI_Aint apart[2] = {0, 4 * (MPI_Aint)length};
    MPI_Comm ring;
    MPI_Cart_create(comm, 1, sizes, circle, 0, &ring);
    CHECK_ERROR(MPI_Neighbor_allgather(all, length, MPI_INT, all, length, MPI_INT, ring), MPI_ERR_BUFFER);
    CHECK_ERROR(MPI_Neighbor_allgatherv(all, length, MPI_INT, all, two, places, MPI_INT, ring), MPI_ERR_BUFFER);
    CHECK_ERROR(MPI_Neighbor_alltoall(all, length, MPI_INT, all, length, MPI_INT, ring), MPI_ERR_BUFFER);
    CHECK_ERROR(MPI_Neighbor_alltoallv(all, two, places, MPI_INT, all, two, places, MPI_INT, ring), MPI_ERR_BUFFER);
    CHECK_ERROR(MPI_Neighbor_alltoallw(all, two, apart, types, all, two, apart, types, ring), MPI_ERR_BUFFER);
    MPI_Comm_free(&ring);
}

/* One buffer whose parts are all different is two. */
static void parts_of_one_buffer(void)
{
    int behind[64], i;
    for (i = 0; i < size; i++)
        behind[i] = (size + i) * length;
    for (i = 0; i < size * length; i++)
        all[i] = 100 * rank + i / length;
    CHECK(MPI_Alltoallv(all, counts, starts, MPI_INT, all, counts, behind, MPI_INT, comm) == MPI_SUCCESS);
    for (i = 0; i < size; i++)
        CHECK(all[behind[i]] == 100 * i + rank && all[behind[i] + length - 1] == 100 * i + rank);
    CHECK(MPI_Allgatherv(all, length, MPI_INT, all, counts, behind, MPI_INT, comm) == MPI_SUCCESS);
    for (i = 0; i < size; i++)
        CHECK(all[behind[i]] == 100 * i);
    CHECK(MPI_Gatherv(all, 0, MPI_INT, all, counts + 63, starts, MPI_INT, 0, MPI_COMM_SELF) == MPI_SUCCESS);
}

int main(int argc, char **argv)
{
    int i, run;
    MPI_Init(&argc, &argv);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    for (i = 0; i < 64; i++)
        types[i] = MPI_INT;
    own = calloc(MANY, sizeof *own);
    all = calloc(2 * MANY * size, sizeof *all);
    for (run = 0; run < 2; run++) {
        length = run ? MANY : 3;
        for (i = 0; i < size; i++) {
            counts[i] = length;
            starts[i] = i * length;
            bytes[i] = 4 * i * length;
        }
        for (i = 0; i < size; i++)
            at_a_root(i);
        everywhere(1);
        everywhere(rank == 0);
        everywhere(rank == size - 1);
        in_flight(1);
        in_flight(rank == 0);
        among_neighbours();
        parts_of_one_buffer();
    }
    free(own);
    free(all);
    MPI_Finalize();
    return 0;
}
