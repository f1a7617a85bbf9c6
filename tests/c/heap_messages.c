/* Messages between blocks of malloc, of all sizes and ages, while blocks come and go. */
#include "heap.h"
#include <sys/mman.h>
#include <unistd.h>

enum { MB = 1 << 20, SIZES = 8, ROUNDS = 6 };

static const size_t sizes[SIZES] = {1000, 32768, 65536, 100000, 300001, MB, MB + 4096, 4 * MB};
static int rank, ranks;

static void round_trip(unsigned char *out, unsigned char *in, size_t len, unsigned seed)
{
    int next = (rank + 1) % ranks, previous = (rank + ranks - 1) % ranks;
    MPI_Request request[2];
    fill(out, len, seed + (unsigned)rank);
    memset(in, 0, len);
    MPI_Irecv(in, (int)len, MPI_BYTE, previous, 5, MPI_COMM_WORLD, &request[0]);
    if (seed % 2)
        MPI_Barrier(MPI_COMM_WORLD);
    MPI_Isend(out, (int)len, MPI_BYTE, next, 5, MPI_COMM_WORLD, &request[1]);
    MPI_Waitall(2, request, MPI_STATUSES_IGNORE);
    CHECK(is_filled(in, len, seed + (unsigned)previous));
    CHECK(is_filled(out, len, seed + (unsigned)rank));
}

int main(int argc, char **argv)
{
    unsigned char *early = malloc(2 * MB), *in, *out;
    static unsigned char fixed[MB];
    size_t page = (size_t)getpagesize();
    fill(early, 2 * MB, 1);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    CHECK(in_job_file(early) == heap_wanted() && is_filled(early, 2 * MB, 1));
    for (unsigned round = 0; round < ROUNDS; round++)
        for (int s = 0; s < SIZES; s++) {
            CHECK((in = malloc(sizes[s])) && (out = calloc(sizes[s], 1)));
            round_trip(out, in, sizes[s], round);
            CHECK((in = realloc(in, sizes[s] * 2)) && (out = realloc(out, sizes[s] * 3)));
            round_trip(in, out, sizes[s] * 2, round + 1);
            free(in);
            free(out);
        }
    /* What was there before MPI, a block within another, and memory that can't be shared. */
    round_trip(early, early + MB, MB, 3);
    round_trip(fixed, early + 100, MB, 4);
    round_trip(early + 4000, fixed, MB, 5);
    /* Mapped over: the message must reach what the program sees there. */
    CHECK(posix_memalign((void **)&in, page, 64 * page) == 0 && (out = malloc(64 * page)));
    CHECK(mmap(in + 8 * page, 8 * page, PROT_READ | PROT_WRITE, MAP_FIXED | MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == in + 8 * page);
    round_trip(out, in, 64 * page, 6);
    round_trip(in, out, 64 * page, 7);
    MPI_Finalize();
    CHECK(is_filled(early + 4000, 1000, 5 + (unsigned)rank));
    free(in);
    free(out);
    free(early);
    return 0;
}
