/* Graphs, known whole or by their edges (MPI-5.0 sections 8.5.3 to 8.5.5). */
#include "check.h"

/* The compiler takes MPI_UNWEIGHTED for the address of an array. */
#pragma GCC diagnostic ignored "-Wstringop-overread"

static int rank, size;

/* Rank 0 knows everybody, everybody knows rank 0. */
static void star(void)
{
    MPI_Comm comm;
    int *index = malloc(size * sizeof(int)), *edges = malloc((2 * size + 1) * sizeof(int));
    int *got_index = malloc(size * sizeof(int)), *got = malloc((2 * size + 1) * sizeof(int));
    int place, nodes, count, type, wrong = -1;
    for (place = 0; place < size; place++)
        index[place] = size - 1 + place;
    for (place = 0; place < 2 * (size - 1); place++)
        edges[place] = place < size - 1 ? place + 1 : 0;
    CHECK(MPI_Graph_create(MPI_COMM_WORLD, size, index, edges, 0, &comm) == MPI_SUCCESS && comm != MPI_COMM_NULL);
    CHECK(MPI_Topo_test(comm, &type) == MPI_SUCCESS && type == MPI_GRAPH);
    CHECK(MPI_Graphdims_get(comm, &nodes, &count) == MPI_SUCCESS && nodes == size && count == 2 * (size - 1));
    CHECK(MPI_Graph_get(comm, nodes, count, got_index, got) == MPI_SUCCESS);
    CHECK(!memcmp(got_index, index, size * sizeof(int)) && !memcmp(got, edges, count * sizeof(int)));
    CHECK(MPI_Graph_neighbors_count(comm, rank, &count) == MPI_SUCCESS && count == (rank ? 1 : size - 1));
    CHECK(MPI_Graph_neighbors(comm, rank, count, got) == MPI_SUCCESS && (count == 0 || got[0] == (rank ? 0 : 1)));
    CHECK_ERROR(MPI_Graph_neighbors_count(comm, size, &count), MPI_ERR_RANK);
    CHECK_ERROR(MPI_Cartdim_get(comm, &count), MPI_ERR_TOPOLOGY);
    if (size > 1)
        CHECK_ERROR(MPI_Graph_neighbors(comm, 0, size - 2, got), MPI_ERR_ARG);
    CHECK(MPI_Graph_map(MPI_COMM_WORLD, size, index, edges, &count) == MPI_SUCCESS && count == rank);
    MPI_Comm_free(&comm);
    CHECK(MPI_Graph_create(MPI_COMM_WORLD, 0, NULL, NULL, 0, &comm) == MPI_SUCCESS && comm == MPI_COMM_NULL);
    CHECK_ERROR(MPI_Graph_create(MPI_COMM_WORLD, 1, &wrong, edges, 0, &comm), MPI_ERR_ARG);
    CHECK_ERROR(MPI_Graph_create(MPI_COMM_WORLD, -1, index, edges, 0, &comm), MPI_ERR_ARG);
    free(index);
    free(edges);
    free(got_index);
    free(got);
}

static void check_neighbours(MPI_Comm comm, int left, int right, int weight_in, int weight_out)
{
    int in, out, weighted, source = -1, destination = -1, source_weight = -1, destination_weight = -1, type;
    CHECK(MPI_Topo_test(comm, &type) == MPI_SUCCESS && type == MPI_DIST_GRAPH);
    CHECK(MPI_Dist_graph_neighbors_count(comm, &in, &out, &weighted) == MPI_SUCCESS);
    CHECK(in == 1 && out == 1 && weighted == (weight_in >= 0));
    CHECK(MPI_Dist_graph_neighbors(comm, 1, &source, weighted ? &source_weight : MPI_UNWEIGHTED, 1, &destination,
                                   weighted ? &destination_weight : MPI_UNWEIGHTED) == MPI_SUCCESS);
    CHECK(source == left && destination == right && source_weight == weight_in && destination_weight == weight_out);
}

static void ring(void)
{
    MPI_Comm comm;
    int left = (rank + size - 1) % size, right = (rank + 1) % size, weight_in = 10 + left, weight_out = 10 + rank;
    int one = 1, next[2], wrong = size, negative = -1, in, out, weighted;
    CHECK(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, &left, &weight_in, 1, &right, &weight_out, MPI_INFO_NULL, 0,
                                         &comm) == MPI_SUCCESS);
    check_neighbours(comm, left, right, weight_in, weight_out);
    MPI_Comm_free(&comm);
    CHECK(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, &left, MPI_UNWEIGHTED, 1, &right, MPI_UNWEIGHTED,
                                         MPI_INFO_NULL, 0, &comm) == MPI_SUCCESS);
    check_neighbours(comm, left, right, -1, -1);
    MPI_Comm_free(&comm);
    /* Each rank names the edge that leaves its neighbour. */
    next[0] = right;
    next[1] = (right + 1) % size;
    weight_out = 10 + right;
    CHECK(MPI_Dist_graph_create(MPI_COMM_WORLD, 1, &next[0], &one, &next[1], &weight_out, MPI_INFO_NULL, 0, &comm)
          == MPI_SUCCESS);
    check_neighbours(comm, left, right, 10 + left, 10 + rank);
    MPI_Comm_free(&comm);
    /* No edges, but weights. */
    CHECK(MPI_Dist_graph_create(MPI_COMM_WORLD, 0, NULL, NULL, NULL, MPI_WEIGHTS_EMPTY, MPI_INFO_NULL, 0, &comm)
          == MPI_SUCCESS);
    CHECK(MPI_Dist_graph_neighbors_count(comm, &in, &out, &weighted) == MPI_SUCCESS && !in && !out && weighted);
    MPI_Comm_free(&comm);
    CHECK_ERROR(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, &wrong, MPI_UNWEIGHTED, 0, NULL, MPI_UNWEIGHTED,
                                               MPI_INFO_NULL, 0, &comm), MPI_ERR_RANK);
    CHECK_ERROR(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, &left, &negative, 0, NULL, MPI_WEIGHTS_EMPTY,
                                               MPI_INFO_NULL, 0, &comm), MPI_ERR_ARG);
    CHECK_ERROR(MPI_Dist_graph_create(MPI_COMM_WORLD, -1, NULL, NULL, NULL, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &comm),
                MPI_ERR_ARG);
    CHECK_ERROR(MPI_Dist_graph_neighbors_count(MPI_COMM_WORLD, &in, &out, &weighted), MPI_ERR_TOPOLOGY);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    star();
    ring();
    MPI_Finalize();
    return 0;
}
