/* Makes the mistake that its argument names; no error handler is set. */
#include "check.h"

int main(int argc, char **argv)
{
    const char *mistake = argc > 1 ? argv[1] : "";
    int number = 0;
    if (!strcmp(mistake, "early"))
        MPI_Comm_size(MPI_COMM_WORLD, &number);
    MPI_Init(&argc, &argv);
    if (!strcmp(mistake, "rank"))
        MPI_Send(&number, 1, MPI_INT, 7, 0, MPI_COMM_WORLD);
    if (!strcmp(mistake, "count"))
        MPI_Send(&number, -1, MPI_INT, 0, 0, MPI_COMM_WORLD);
    if (!strcmp(mistake, "freed"))
        MPI_Comm_rank((MPI_Comm)(long)0x84100001, &number);
    if (!strcmp(mistake, "abort"))
        MPI_Abort(MPI_COMM_WORLD, 5);
    MPI_Finalize();
    if (!strcmp(mistake, "late"))
        MPI_Comm_size(MPI_COMM_WORLD, &number);
    return 0;
}
