/* A receiver that asks for nothing before its sender has said that all has been sent: once it was late, its sender waits for it no longer. */
#include "../heap.h"

enum { LONGEST = 65536, MESSAGES = 20, LOOKS = 10000, DATA = 1, SENT = 2 };

static size_t length_of(int message)
{
    return message % 2 ? LONGEST : 10000;
}

int main(int argc, char **argv)
{
    unsigned char *first = malloc(LONGEST), *block = malloc(LONGEST);
    int rank, has_come;
    MPI_Request request;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0) {
        fill(first, LONGEST, MESSAGES);
        MPI_Isend(first, LONGEST, MPI_BYTE, 1, DATA, MPI_COMM_WORLD, &request);
        for (int look = 0; look < LOOKS; look++) {
            MPI_Test(&request, &has_come, MPI_STATUS_IGNORE);
            CHECK(!has_come);
        }
        for (int message = 0; message < MESSAGES; message++) {
            fill(block, length_of(message), (unsigned)message);
            MPI_Send(block, (int)length_of(message), MPI_BYTE, 1, DATA, MPI_COMM_WORLD);
        }
        MPI_Send(NULL, 0, MPI_BYTE, 1, SENT, MPI_COMM_WORLD);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    } else {
        MPI_Recv(NULL, 0, MPI_BYTE, 0, SENT, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Recv(block, LONGEST, MPI_BYTE, 0, DATA, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        CHECK(is_filled(block, LONGEST, MESSAGES));
        for (int message = 0; message < MESSAGES; message++) {
            MPI_Recv(block, LONGEST, MPI_BYTE, 0, DATA, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            CHECK(is_filled(block, length_of(message), (unsigned)message));
        }
    }
    free(first);
    free(block);
    MPI_Finalize();
    return 0;
}
