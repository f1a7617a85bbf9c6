/* Two ranks send each other a static array of 1 MB. */
#include "check.h"

enum { MB = 1 << 20, ROUNDS = 20 };

static char array[MB];

int main(int argc, char **argv)
{
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int round = 0; round < ROUNDS; round++)
        if ((round + rank) % 2) {
            memset(array, round, MB);
            MPI_Send(array, MB, MPI_CHAR, !rank, 0, MPI_COMM_WORLD);
        } else {
            MPI_Recv(array, MB, MPI_CHAR, !rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            for (int k = 0; k < MB; k += 1000)
                CHECK(array[k] == (char)round);
        }
    MPI_Finalize();
    return 0;
}
