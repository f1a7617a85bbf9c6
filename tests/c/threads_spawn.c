/* Threads that spawn at the same time, each over a communicator of its own (MPI-5.0 sections 11.8 and 11.6.2). ranks: 1 2 */
#include "threads.h"

static char *program;

static void *spawn(void *number)
{
    int thread = *(int *)number, sum = 0, told = 100 * thread + rank, codes[1] = {-1}, others = 0;
    char word[20], *arguments[] = {word, NULL};
    MPI_Comm children;
    snprintf(word, sizeof word, "%d", thread);
    CHECK(MPI_Comm_spawn(program, arguments, 1, MPI_INFO_NULL, thread % size, own[thread], &children, codes) == MPI_SUCCESS);
    CHECK(codes[0] == MPI_SUCCESS && MPI_Comm_remote_size(children, &others) == MPI_SUCCESS && others == 1);
    CHECK(MPI_Send(&told, 1, MPI_INT, 0, 5, children) == MPI_SUCCESS);
    CHECK(MPI_Recv(&sum, 1, MPI_INT, 0, 6, children, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    CHECK(sum == size * 100 * thread + size * (size - 1) / 2);
    CHECK(MPI_Comm_disconnect(&children) == MPI_SUCCESS);
    return NULL;
}

/* Adds up what its parents tell it, who all belong to one thread. */
static int be_child(MPI_Comm parents, int thread)
{
    int parent, number, sum = 0, most;
    CHECK(MPI_Comm_remote_size(parents, &most) == MPI_SUCCESS);
    for (parent = 0; parent < most; parent++) {
        CHECK(MPI_Recv(&number, 1, MPI_INT, parent, 5, parents, MPI_STATUS_IGNORE) == MPI_SUCCESS);
        CHECK(number == 100 * thread + parent);
        sum += number;
    }
    for (parent = 0; parent < most; parent++)
        CHECK(MPI_Send(&sum, 1, MPI_INT, parent, 6, parents) == MPI_SUCCESS);
    CHECK(MPI_Comm_disconnect(&parents) == MPI_SUCCESS);
    return MPI_Finalize();
}

int main(int argc, char **argv)
{
    MPI_Comm parents;
    if (argc > 1) {
        CHECK(MPI_Init(&argc, &argv) == MPI_SUCCESS && MPI_Comm_get_parent(&parents) == MPI_SUCCESS);
        CHECK(parents != MPI_COMM_NULL);
        return be_child(parents, atoi(argv[1]));
    }
    program = argv[0];
    initialize(argc, argv);
    run_threads(spawn);
    return finalize();
}
