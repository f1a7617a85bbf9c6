/* A tool that counts calls of MPI_Barrier and says how many there were. It knows neither handles nor a header. */
#include <stdint.h>
#include <stdio.h>

extern int PMPI_Barrier(intptr_t communicator);
extern int PMPI_Finalize(void);

static int barriers;

int MPI_Barrier(intptr_t communicator)
{
    barriers++;
    return PMPI_Barrier(communicator);
}

int MPI_Finalize(void)
{
    printf("%d barriers\n", barriers);
    fflush(stdout);
    return PMPI_Finalize();
}
