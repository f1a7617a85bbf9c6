/* Collectives among neighbours on grids and graphs, in all forms (MPI-5.0 sections 8.6 to 8.8). */
#include "forms.h"

enum { N = 150, NEIGHBOURS = 8 };

static int number(int from, int place, int i)
{
    return from * 100003 + place * 1009 + i;
}

static int sent[NEIGHBOURS * N], got[NEIGHBOURS * N];

static void prepare(int rank, int out)
{
    int place, i;
    for (place = 0; place < out; place++)
        for (i = 0; i < N; i++)
            sent[place * N + i] = number(rank, place, i);
    for (i = 0; i < NEIGHBOURS * N; i++)
        got[i] = -1;
}

/* `count` numbers arrived from every source that there is: of the source's place `places[k]`. */
static void check(int in, const int *sources, const int *places, int count)
{
    int k, i;
    for (k = 0; k < in; k++)
        for (i = 0; i < N; i++)
            CHECK(got[k * N + i] ==
                  (i < count && sources[k] != MPI_PROC_NULL ? number(sources[k], places[k], i) : -1));
}

/* Everything on one communicator. What source k sends here, it sends from its place places[k]. */
static void exchange(MPI_Comm comm, int in, const int *sources, const int *places, int out)
{
    int rank, form, k, counts[NEIGHBOURS], starts[NEIGHBOURS], zeros[NEIGHBOURS] = {0};
    MPI_Count large_counts[NEIGHBOURS];
    MPI_Aint large_starts[NEIGHBOURS], bytes[NEIGHBOURS];
    MPI_Datatype types[NEIGHBOURS];
    MPI_Comm_rank(comm, &rank);
    CHECK(in <= NEIGHBOURS && out <= NEIGHBOURS);
    for (k = 0; k < NEIGHBOURS; k++) {
        large_counts[k] = counts[k] = N / 2;
        large_starts[k] = starts[k] = k * N;
        bytes[k] = k * N * (MPI_Aint)sizeof(int);
        types[k] = MPI_INT;
    }
    for (form = 0; form < FORMS; form++) {
        prepare(rank, out);
        DO(form, MPI_Neighbor_allgather(sent, N, MPI_INT, got, N, MPI_INT, comm),
           MPI_Neighbor_allgather_c(sent, N, MPI_INT, got, N, MPI_INT, comm),
           MPI_Ineighbor_allgather(sent, N, MPI_INT, got, N, MPI_INT, comm, &request),
           MPI_Ineighbor_allgather_c(sent, N, MPI_INT, got, N, MPI_INT, comm, &request),
           MPI_Neighbor_allgather_init(sent, N, MPI_INT, got, N, MPI_INT, comm, MPI_INFO_NULL, &request),
           MPI_Neighbor_allgather_init_c(sent, N, MPI_INT, got, N, MPI_INT, comm, MPI_INFO_NULL, &request));
        check(in, sources, zeros, N);
        prepare(rank, out);
        DO(form, MPI_Neighbor_allgatherv(sent, N / 2, MPI_INT, got, counts, starts, MPI_INT, comm),
           MPI_Neighbor_allgatherv_c(sent, N / 2, MPI_INT, got, large_counts, large_starts, MPI_INT, comm),
           MPI_Ineighbor_allgatherv(sent, N / 2, MPI_INT, got, counts, starts, MPI_INT, comm, &request),
           MPI_Ineighbor_allgatherv_c(sent, N / 2, MPI_INT, got, large_counts, large_starts, MPI_INT, comm, &request),
           MPI_Neighbor_allgatherv_init(sent, N / 2, MPI_INT, got, counts, starts, MPI_INT, comm, MPI_INFO_NULL,
                                        &request),
           MPI_Neighbor_allgatherv_init_c(sent, N / 2, MPI_INT, got, large_counts, large_starts, MPI_INT, comm,
                                          MPI_INFO_NULL, &request));
        check(in, sources, zeros, N / 2);
        prepare(rank, out);
        DO(form, MPI_Neighbor_alltoall(sent, N, MPI_INT, got, N, MPI_INT, comm),
           MPI_Neighbor_alltoall_c(sent, N, MPI_INT, got, N, MPI_INT, comm),
           MPI_Ineighbor_alltoall(sent, N, MPI_INT, got, N, MPI_INT, comm, &request),
           MPI_Ineighbor_alltoall_c(sent, N, MPI_INT, got, N, MPI_INT, comm, &request),
           MPI_Neighbor_alltoall_init(sent, N, MPI_INT, got, N, MPI_INT, comm, MPI_INFO_NULL, &request),
           MPI_Neighbor_alltoall_init_c(sent, N, MPI_INT, got, N, MPI_INT, comm, MPI_INFO_NULL, &request));
        check(in, sources, places, N);
        prepare(rank, out);
        DO(form, MPI_Neighbor_alltoallv(sent, counts, starts, MPI_INT, got, counts, starts, MPI_INT, comm),
           MPI_Neighbor_alltoallv_c(sent, large_counts, large_starts, MPI_INT, got, large_counts, large_starts, MPI_INT,
                                    comm),
           MPI_Ineighbor_alltoallv(sent, counts, starts, MPI_INT, got, counts, starts, MPI_INT, comm, &request),
           MPI_Ineighbor_alltoallv_c(sent, large_counts, large_starts, MPI_INT, got, large_counts, large_starts,
                                     MPI_INT, comm, &request),
           MPI_Neighbor_alltoallv_init(sent, counts, starts, MPI_INT, got, counts, starts, MPI_INT, comm, MPI_INFO_NULL,
                                       &request),
           MPI_Neighbor_alltoallv_init_c(sent, large_counts, large_starts, MPI_INT, got, large_counts, large_starts,
                                         MPI_INT, comm, MPI_INFO_NULL, &request));
        check(in, sources, places, N / 2);
        prepare(rank, out);
        DO(form, MPI_Neighbor_alltoallw(sent, counts, bytes, types, got, counts, bytes, types, comm),
           MPI_Neighbor_alltoallw_c(sent, large_counts, bytes, types, got, large_counts, bytes, types, comm),
           MPI_Ineighbor_alltoallw(sent, counts, bytes, types, got, counts, bytes, types, comm, &request),
           MPI_Ineighbor_alltoallw_c(sent, large_counts, bytes, types, got, large_counts, bytes, types, comm, &request),
           MPI_Neighbor_alltoallw_init(sent, counts, bytes, types, got, counts, bytes, types, comm, MPI_INFO_NULL,
                                       &request),
           MPI_Neighbor_alltoallw_init_c(sent, large_counts, bytes, types, got, large_counts, bytes, types, comm,
                                         MPI_INFO_NULL, &request));
        check(in, sources, places, N / 2);
    }
}

int main(int argc, char **argv)
{
    int rank, size, periodic, k;
    MPI_Comm comm;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    /* A row, open or closed, and a closed column of height one beside it: what goes down arrives from above. */
    for (periodic = 0; periodic < 2; periodic++) {
        int dims[2] = {size, 1}, periods[2] = {periodic, 1}, sources[4], places[4] = {1, 0, 3, 2};
        CHECK(MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 0, &comm) == MPI_SUCCESS);
        for (k = 0; k < 2; k++)
            CHECK(MPI_Cart_shift(comm, k, 1, &sources[2 * k], &sources[2 * k + 1]) == MPI_SUCCESS);
        exchange(comm, 4, sources, places, 4);
        MPI_Comm_free(&comm);
    }
    /* Everybody is a neighbour of everybody. */
    {
        int index[NEIGHBOURS], edges[NEIGHBOURS * NEIGHBOURS], sources[NEIGHBOURS], places[NEIGHBOURS];
        for (k = 0; k < size; k++) {
            index[k] = (k + 1) * size;
            sources[k] = k;
            places[k] = rank;
        }
        for (k = 0; k < size * size; k++)
            edges[k] = k % size;
        CHECK(MPI_Graph_create(MPI_COMM_WORLD, size, index, edges, 0, &comm) == MPI_SUCCESS);
        exchange(comm, size, sources, places, size);
        MPI_Comm_free(&comm);
    }
    /* Twice to the next rank, nothing back. */
    {
        int left = (rank + size - 1) % size, right = (rank + 1) % size, places[2] = {0, 1};
        int sources[2] = {left, left}, destinations[2] = {right, right};
        CHECK(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 2, sources, MPI_UNWEIGHTED, 2, destinations, MPI_UNWEIGHTED,
                                             MPI_INFO_NULL, 0, &comm) == MPI_SUCCESS);
        exchange(comm, 2, sources, places, 2);
        MPI_Comm_free(&comm);
    }
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    CHECK_ERROR(MPI_Neighbor_allgather(sent, 1, MPI_INT, got, 1, MPI_INT, MPI_COMM_WORLD), MPI_ERR_TOPOLOGY);
    MPI_Finalize();
    return 0;
}
