/* Two ranks send each other blocks of 1 MB from malloc: as many at a time, and as often, as the arguments say. A third one has each make a
   child first, while it has a block. */
#include "check.h"
#include <sys/wait.h>
#include <unistd.h>

enum { MB = 1 << 20, MOST = 1000 };

int main(int argc, char **argv)
{
    static char *block[MOST];
    int rank, blocks = argc > 1 ? atoi(argv[1]) : 1, rounds = argc > 2 ? atoi(argv[2]) : 20;
    if (argc > 3) {
        static char *volatile kept;
        kept = calloc(8, MB);
        CHECK(kept != NULL);
        memset(kept, 1, 8 * MB);
        if (fork() == 0)
            _exit(0);
        CHECK(wait(NULL) > 0);
    }
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    CHECK(blocks <= MOST);
    for (int i = 0; i < blocks; i++) {
        CHECK((block[i] = malloc(MB)));
        memset(block[i], rank, MB);
    }
    for (int round = 0; round < rounds; round++)
        for (int i = 0; i < blocks; i++)
            if ((round + rank) % 2) {
                memset(block[i], round + i, MB);
                MPI_Send(block[i], MB, MPI_CHAR, !rank, 0, MPI_COMM_WORLD);
            } else {
                MPI_Recv(block[i], MB, MPI_CHAR, !rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
                for (int k = 0; k < MB; k += 1000)
                    CHECK(block[i][k] == (char)(round + i));
            }
    for (int i = 0; i < blocks; i++)
        free(block[i]);
    MPI_Finalize();
    return 0;
}
