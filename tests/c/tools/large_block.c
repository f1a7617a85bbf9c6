/* Gets a large block and says whether it is shared, without MPI. With an argument, becomes that program then. */
#include "heap.h"
#include <unistd.h>

int main(int argc, char **argv)
{
    enum { LEN = 10 << 20 };
    unsigned char *block = malloc(LEN);
    CHECK(block);
    fill(block, LEN, 1);
    block = realloc(block, 2 * LEN);
    CHECK(block && is_filled(block, LEN, 1));
    printf("%s\n", in_job_file(block) ? "shared" : "private");
    fflush(stdout);
    if (argc > 1) {
        execv(argv[1], argv + 1);
        return 1;
    }
    free(block);
    return 0;
}
