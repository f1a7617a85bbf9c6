/* Ranks that wait for each other, on a communicator that is in the second lane if there are several. */
#include <mpi.h>

int main(int argc, char **argv)
{
    int rank, size, value;
    MPI_Comm copy;
    MPI_Init(&argc, &argv);
    MPI_Comm_dup(MPI_COMM_WORLD, &copy);
    MPI_Comm_rank(copy, &rank);
    MPI_Comm_size(copy, &size);
    MPI_Recv(&value, 1, MPI_INT, (rank + 1) % size, 7, copy, MPI_STATUS_IGNORE);
    return MPI_Finalize();
}
