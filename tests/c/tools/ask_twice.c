/* Asks for its rank twice. */
#include "check.h"

int main(int argc, char **argv)
{
    int rank, again;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_rank(MPI_COMM_WORLD, &again);
    CHECK(rank == again);
    MPI_Finalize();
    return 0;
}
