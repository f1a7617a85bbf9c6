/* Null pointers for buffers: an error where there are elements, whatever the displacements; accepted where there are none. */
#include "check.h"

static MPI_Comm world = MPI_COMM_WORLD;
static int rank, size;
static int data[64], result[64];

static void local(void)
{
    MPI_Datatype pair;
    int position = 0;
    MPI_Aint external = 0;
    MPI_Type_contiguous(2, MPI_INT, &pair);
    MPI_Type_commit(&pair);
    CHECK_ERROR(MPI_Reduce_local(NULL, result, 4, MPI_INT, MPI_SUM), MPI_ERR_BUFFER);
    CHECK_ERROR(MPI_Reduce_local(data, NULL, 4, MPI_INT, MPI_SUM), MPI_ERR_BUFFER);
    CHECK_ERROR(MPI_Reduce_local(data, MPI_IN_PLACE, 4, MPI_INT, MPI_SUM), MPI_ERR_BUFFER);
    CHECK(MPI_Reduce_local(NULL, NULL, 0, MPI_INT, MPI_SUM) == MPI_SUCCESS);
    CHECK_ERROR(MPI_Pack(NULL, 4, MPI_INT, result, sizeof result, &position, world), MPI_ERR_BUFFER);
    CHECK_ERROR(MPI_Pack(NULL, 1, pair, result, sizeof result, &position, world), MPI_ERR_BUFFER);
    CHECK_ERROR(MPI_Pack(data, 4, MPI_INT, NULL, sizeof result, &position, world), MPI_ERR_BUFFER);
    CHECK(MPI_Pack(NULL, 0, MPI_INT, NULL, 0, &position, world) == MPI_SUCCESS);
    CHECK_ERROR(MPI_Unpack(NULL, sizeof data, &position, result, 4, MPI_INT, world), MPI_ERR_BUFFER);
    CHECK_ERROR(MPI_Unpack(data, sizeof data, &position, NULL, 4, MPI_INT, world), MPI_ERR_BUFFER);
    CHECK_ERROR(MPI_Unpack(data, sizeof data, &position, MPI_IN_PLACE, 4, MPI_INT, world), MPI_ERR_BUFFER);
    CHECK_ERROR(MPI_Pack_external("external32", NULL, 4, MPI_INT, result, sizeof result, &external), MPI_ERR_BUFFER);
    CHECK_ERROR(MPI_Pack_external("external32", data, 4, MPI_INT, NULL, sizeof result, &external), MPI_ERR_BUFFER);
    CHECK_ERROR(MPI_Unpack_external("external32", NULL, sizeof data, &external, result, 4, MPI_INT), MPI_ERR_BUFFER);
    CHECK_ERROR(MPI_Unpack_external("external32", data, sizeof data, &external, NULL, 4, MPI_INT), MPI_ERR_BUFFER);
    CHECK(position == 0 && external == 0);
    CHECK_ERROR(MPI_Send(NULL, 1, pair, rank, 0, world), MPI_ERR_BUFFER);
    CHECK_ERROR(MPI_Recv(NULL, 1, pair, rank, 0, world, MPI_STATUS_IGNORE), MPI_ERR_BUFFER);
    MPI_Type_free(&pair);
}

/* A displacement from a null pointer leads nowhere. */
static void varying(void)
{
    int counts[1] = {2}, near[1] = {3}, far[1] = {1000000};
    int *displacements[2] = {near, far};
    MPI_Datatype types[1] = {MPI_INT};
    MPI_Request request;
    MPI_Comm self = MPI_COMM_SELF;
    for (int i = 0; i < 2; i++) {
        int *at = displacements[i];
        CHECK_ERROR(MPI_Gatherv(data, 2, MPI_INT, NULL, counts, at, MPI_INT, 0, self), MPI_ERR_BUFFER);
        CHECK_ERROR(MPI_Scatterv(NULL, counts, at, MPI_INT, result, 2, MPI_INT, 0, self), MPI_ERR_BUFFER);
        CHECK_ERROR(MPI_Allgatherv(data, 2, MPI_INT, NULL, counts, at, MPI_INT, self), MPI_ERR_BUFFER);
        CHECK_ERROR(MPI_Alltoallv(NULL, counts, at, MPI_INT, result, counts, near, MPI_INT, self), MPI_ERR_BUFFER);
        CHECK_ERROR(MPI_Alltoallv(data, counts, near, MPI_INT, NULL, counts, at, MPI_INT, self), MPI_ERR_BUFFER);
        CHECK_ERROR(MPI_Alltoallw(NULL, counts, at, types, result, counts, near, types, self), MPI_ERR_BUFFER);
        CHECK_ERROR(MPI_Ialltoallw(data, counts, near, types, NULL, counts, at, types, self, &request), MPI_ERR_BUFFER);
        CHECK_ERROR(MPI_Allgatherv_init(data, 2, MPI_INT, NULL, counts, at, MPI_INT, self, MPI_INFO_NULL, &request), MPI_ERR_BUFFER);
    }
    /* Addresses for displacements lead somewhere: those that are wide enough, or a datatype's. */
    MPI_Datatype absolute;
    MPI_Aint address, from, to;
    MPI_Count many[1] = {2};
    int one[1] = {1}, zero[1] = {0};
    data[0] = 41 + rank;
    MPI_Get_address(data, &from);
    MPI_Get_address(result, &to);
    CHECK(MPI_Alltoallw_c(MPI_BOTTOM, many, &from, types, MPI_BOTTOM, many, &to, types, self) == MPI_SUCCESS && result[0] == 41 + rank);
    from = 8;
    CHECK_ERROR(MPI_Alltoallw_c(MPI_BOTTOM, many, &from, types, MPI_BOTTOM, many, &to, types, self), MPI_ERR_BUFFER);
    MPI_Get_address(data, &address);
    MPI_Type_create_hindexed(1, counts, &address, MPI_INT, &absolute);
    MPI_Type_commit(&absolute);
    result[0] = 0;
    CHECK(MPI_Alltoallv(MPI_BOTTOM, one, zero, absolute, result, counts, zero, MPI_INT, self) == MPI_SUCCESS && result[0] == 41 + rank);
    MPI_Type_free(&absolute);
}

/* No elements: any buffer, and no datatype at all. */
static void none(void)
{
    int zeros[4] = {0};
    MPI_Aint wide[4] = {0};
    MPI_Count counts[4] = {0};
    MPI_Datatype nulls[4] = {MPI_DATATYPE_NULL, MPI_DATATYPE_NULL, MPI_DATATYPE_NULL, MPI_DATATYPE_NULL};
    MPI_Request request;
    CHECK(MPI_Alltoallw(NULL, zeros, zeros, nulls, NULL, zeros, zeros, nulls, world) == MPI_SUCCESS);
    CHECK(MPI_Alltoallw_c(NULL, counts, wide, nulls, NULL, counts, wide, nulls, world) == MPI_SUCCESS);
    CHECK(MPI_Ialltoallw(NULL, zeros, zeros, nulls, NULL, zeros, zeros, nulls, world, &request) == MPI_SUCCESS);
    CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    CHECK(MPI_Alltoallv(NULL, zeros, zeros, nulls[0], NULL, zeros, zeros, nulls[0], world) == MPI_SUCCESS);
    CHECK(MPI_Gatherv(NULL, 0, nulls[0], NULL, zeros, zeros, nulls[0], 0, world) == MPI_SUCCESS);
    CHECK(MPI_Allgather(NULL, 0, nulls[0], NULL, 0, nulls[0], world) == MPI_SUCCESS);
    CHECK(MPI_Bcast(NULL, 0, nulls[0], 0, world) == MPI_SUCCESS);
    CHECK_ERROR(MPI_Bcast(data, 1, nulls[0], 0, MPI_COMM_SELF), MPI_ERR_TYPE);
    zeros[0] = 1;
    CHECK_ERROR(MPI_Alltoallw(data, zeros, zeros, nulls, result, zeros, zeros, nulls, MPI_COMM_SELF), MPI_ERR_TYPE);
}

static void is_from_nobody(MPI_Status *status)
{
    int count = -1;
    CHECK(status->MPI_SOURCE == MPI_PROC_NULL && status->MPI_TAG == MPI_ANY_TAG);
    CHECK(MPI_Get_count(status, MPI_INT, &count) == MPI_SUCCESS && count == 0);
    status->MPI_SOURCE = 0;
}

/* Messages to and from MPI_PROC_NULL have no elements, whatever their arguments say. */
static void nobody(void)
{
    MPI_Datatype null = MPI_DATATYPE_NULL, uncommitted;
    MPI_Request request;
    MPI_Message message;
    MPI_Status status;
    int no = MPI_PROC_NULL;
    MPI_Type_contiguous(2, MPI_INT, &uncommitted);
    CHECK(MPI_Send(NULL, 0, null, no, 0, world) == MPI_SUCCESS && MPI_Ssend(NULL, 3, MPI_INT, no, 0, world) == MPI_SUCCESS);
    CHECK(MPI_Rsend(data, 1, uncommitted, no, 0, world) == MPI_SUCCESS && MPI_Bsend(NULL, 1, null, no, 0, world) == MPI_SUCCESS);
    CHECK(MPI_Recv(NULL, 5, null, no, 0, world, &status) == MPI_SUCCESS);
    is_from_nobody(&status);
    CHECK(MPI_Isend(NULL, 0, null, no, 0, world, &request) == MPI_SUCCESS && MPI_Wait(&request, &status) == MPI_SUCCESS);
    CHECK(MPI_Irecv(NULL, 2, uncommitted, no, 0, world, &request) == MPI_SUCCESS && MPI_Wait(&request, &status) == MPI_SUCCESS);
    is_from_nobody(&status);
    CHECK(MPI_Recv_init(NULL, 2, null, no, 0, world, &request) == MPI_SUCCESS && MPI_Start(&request) == MPI_SUCCESS);
    CHECK(MPI_Wait(&request, &status) == MPI_SUCCESS && MPI_Request_free(&request) == MPI_SUCCESS);
    is_from_nobody(&status);
    CHECK(MPI_Send_init(NULL, 2, null, no, 0, world, &request) == MPI_SUCCESS && MPI_Start(&request) == MPI_SUCCESS);
    CHECK(MPI_Wait(&request, &status) == MPI_SUCCESS && MPI_Request_free(&request) == MPI_SUCCESS);
    CHECK(MPI_Sendrecv(NULL, 1, null, no, 0, NULL, 1, null, no, 0, world, &status) == MPI_SUCCESS);
    is_from_nobody(&status);
    CHECK(MPI_Sendrecv_replace(NULL, 1, null, no, 0, no, 0, world, &status) == MPI_SUCCESS);
    is_from_nobody(&status);
    CHECK(MPI_Isendrecv(NULL, 1, null, no, 0, NULL, 1, null, no, 0, world, &request) == MPI_SUCCESS);
    CHECK(MPI_Wait(&request, &status) == MPI_SUCCESS);
    CHECK(MPI_Isendrecv_replace(NULL, 1, null, no, 0, no, 0, world, &request) == MPI_SUCCESS);
    CHECK(MPI_Wait(&request, &status) == MPI_SUCCESS);
    CHECK(MPI_Mprobe(no, 0, world, &message, &status) == MPI_SUCCESS && message == MPI_MESSAGE_NO_PROC);
    CHECK(MPI_Mrecv(NULL, 1, null, &message, &status) == MPI_SUCCESS && message == MPI_MESSAGE_NULL);
    is_from_nobody(&status);
    message = MPI_MESSAGE_NO_PROC;
    CHECK(MPI_Imrecv(NULL, 1, null, &message, &request) == MPI_SUCCESS && MPI_Wait(&request, &status) == MPI_SUCCESS);
    is_from_nobody(&status);
    /* What goes to somebody is looked at, and so are counts. */
    CHECK_ERROR(MPI_Sendrecv(NULL, 1, null, no, 0, NULL, 1, null, rank, 0, world, &status), MPI_ERR_TYPE);
    CHECK_ERROR(MPI_Sendrecv_replace(NULL, 1, null, rank, 0, no, 0, world, &status), MPI_ERR_TYPE);
    CHECK_ERROR(MPI_Recv(NULL, -1, MPI_INT, no, 0, world, &status), MPI_ERR_COUNT);
    MPI_Type_free(&uncommitted);
}

/* Ranks 0 and 1 are neighbours; others have none, and so no buffers. */
static void neighbours(void)
{
    MPI_Comm graph;
    int peer = rank ^ 1, degree = rank < 2 && size > 1;
    int *sent = degree ? data : NULL, *received = degree ? result : NULL;
    int counts[1] = {3}, at[1] = {0};
    MPI_Aint bytes[1] = {0};
    MPI_Datatype types[1] = {MPI_INT};
    MPI_Request request;
    MPI_Dist_graph_create_adjacent(world, degree, &peer, MPI_UNWEIGHTED, degree, &peer, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &graph);
    data[0] = rank;
    CHECK(MPI_Neighbor_alltoall(sent, 3, MPI_INT, received, 3, MPI_INT, graph) == MPI_SUCCESS);
    CHECK(!degree || result[0] == peer);
    CHECK(MPI_Neighbor_allgather(sent, 3, MPI_INT, received, 3, MPI_INT, graph) == MPI_SUCCESS);
    CHECK(MPI_Neighbor_allgatherv(sent, 3, MPI_INT, received, counts, at, MPI_INT, graph) == MPI_SUCCESS);
    CHECK(MPI_Neighbor_alltoallv(sent, counts, at, MPI_INT, received, counts, at, MPI_INT, graph) == MPI_SUCCESS);
    CHECK(MPI_Neighbor_alltoallw(sent, counts, bytes, types, received, counts, bytes, types, graph) == MPI_SUCCESS);
    CHECK(MPI_Ineighbor_alltoall(sent, 3, MPI_INT, received, 3, MPI_INT, graph, &request) == MPI_SUCCESS);
    CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS && (!degree || result[0] == peer));
    CHECK(MPI_Neighbor_allgather_init(sent, 3, MPI_INT, received, 3, MPI_INT, graph, MPI_INFO_NULL, &request) == MPI_SUCCESS);
    CHECK(MPI_Start(&request) == MPI_SUCCESS && MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    MPI_Request_free(&request);
    if (degree)
        CHECK_ERROR(MPI_Neighbor_alltoall(NULL, 3, MPI_INT, result, 3, MPI_INT, graph), MPI_ERR_BUFFER);
    MPI_Comm_free(&graph);
    CHECK_ERROR(MPI_Neighbor_alltoall(NULL, 3, MPI_INT, NULL, 3, MPI_INT, world), MPI_ERR_TOPOLOGY);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Comm_rank(world, &rank);
    MPI_Comm_size(world, &size);
    local();
    varying();
    none();
    nobody();
    neighbours();
    MPI_Finalize();
    return 0;
}
