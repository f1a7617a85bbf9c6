/* A program that defines a function of MPI itself: its calls go there, and on by the other name (MPI-5.0 section 15.2). */
#include "check.h"

static int calls;

int MPI_Comm_size(MPI_Comm comm, int *size)
{
    calls++;
    return PMPI_Comm_size(comm, size);
}

int main(int argc, char **argv)
{
    int size = 0, direct = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    PMPI_Comm_size(MPI_COMM_WORLD, &direct);
    CHECK(calls == 1 && size == direct && size > 0);
    CHECK(MPI_Pcontrol(1) == MPI_SUCCESS && MPI_Pcontrol(2, "more") == MPI_SUCCESS);
    MPI_Finalize();
    return 0;
}
