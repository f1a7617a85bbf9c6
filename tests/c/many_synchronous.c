/* More synchronous messages than a sender remembers without looking what was accepted, while others are on their way. */
#include "check.h"

int main(int argc, char **argv)
{
    enum { ROUNDS = 1200 };
    int rank, size, round;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    const int right = (rank + 1) % size, left = (rank + size - 1) % size;
    for (round = 0; round < ROUNDS; round++) {
        int sent = round, got = -1;
        MPI_Request request;
        MPI_Issend(&sent, 1, MPI_INT, right, 0, MPI_COMM_WORLD, &request);
        MPI_Recv(&got, 1, MPI_INT, left, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        CHECK(got == round);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        if (rank == 0 && size > 1) {
            MPI_Ssend(&sent, 1, MPI_INT, 1, 1, MPI_COMM_WORLD);
        } else if (rank == 1) {
            MPI_Recv(&got, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            CHECK(got == round);
        }
    }
    MPI_Finalize();
    return 0;
}
