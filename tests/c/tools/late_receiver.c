/* A receiver that asks for nothing before its sender has said that all has been sent: once it was late, its sender waits for it no longer. */
#include "../heap.h"
#include <signal.h>
#include <unistd.h>

/* Two of LARGE have no room in the library's buffer at a time. */
enum { LONGEST = 65536, LARGE = 600000, MESSAGES = 20, LOOKS = 10000, DATA = 1, SENT = 2 };

static size_t length_of(int message)
{
    return message % 2 ? LONGEST : 10000;
}

static void wait_for(const sigset_t *signals)
{
    int signal;
    CHECK(!sigwait(signals, &signal));
}

/* The sender learns by no call of MPI that the first of the two has been received. */
static void one_after_the_other(int rank, int other, const sigset_t *signals)
{
    unsigned char *block = malloc(LARGE);
    for (unsigned message = 0; message < 2; message++) {
        if (rank == 0) {
            fill(block, LARGE, message);
            MPI_Send(block, LARGE, MPI_BYTE, 1, DATA, MPI_COMM_WORLD);
            CHECK(!kill(other, SIGUSR1));
            wait_for(signals);
        } else {
            wait_for(signals);
            MPI_Recv(block, LARGE, MPI_BYTE, 0, DATA, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            CHECK(is_filled(block, LARGE, message));
            CHECK(!kill(other, SIGUSR1));
        }
    }
    free(block);
}

int main(int argc, char **argv)
{
    unsigned char *first = malloc(LONGEST), *block = malloc(LONGEST);
    int rank, has_come, mine = getpid(), other;
    MPI_Request request;
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGUSR1);
    CHECK(!sigprocmask(SIG_BLOCK, &signals, NULL));
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Sendrecv(&mine, 1, MPI_INT, 1 - rank, SENT, &other, 1, MPI_INT, 1 - rank, SENT, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
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
    /* All has been received, so that the first of the two has room at once. */
    MPI_Barrier(MPI_COMM_WORLD);
    one_after_the_other(rank, other, &signals);
    free(first);
    free(block);
    MPI_Finalize();
    return 0;
}
