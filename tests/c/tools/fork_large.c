/* A child made by `fork` has static data, even if there is no memory for a copy of the blocks of malloc. */
#include "check.h"
#include <sys/wait.h>
#include <unistd.h>

enum { MB = 1 << 20 };

static char array[4 * MB];
/* Known to others, so that the compiler can't leave it out. */
char *block;

int main(int argc, char **argv)
{
    int status;
    MPI_Init(&argc, &argv);
    CHECK((block = malloc(400 * MB)));
    memset(block, 1, 400 * MB);
    memset(array, 2, sizeof array);
    pid_t child = fork();
    if (child == 0)
        _exit(array[MB] == 2 ? 7 : 8);
    CHECK(child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 7);
    MPI_Finalize();
    return 0;
}
