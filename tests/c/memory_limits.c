/* Limits of memory that a program sets itself, and memory that it locks: the job's file is larger than any, and must not count.
 * ranks: 1 2 4 */
#include "heap.h"
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>

enum { MB = 1 << 20, LEN = 48 * MB };

static int rank, size;

/* A line of what the kernel says of this process, in kilobytes. */
static long kilobytes(const char *name)
{
    char line[256];
    long value = -1;
    FILE *status = fopen("/proc/self/status", "r");
    CHECK(status);
    while (value < 0 && fgets(line, sizeof line, status))
        if (!strncmp(line, name, strlen(name)))
            sscanf(line + strlen(name), ": %ld", &value);
    fclose(status);
    return value;
}

/* Everybody sends a block to the next one, and all get the last rank's. */
static void talk(unsigned char *out, unsigned char *in)
{
    int to = (rank + 1) % size, from = (rank + size - 1) % size;
    fill(out, LEN, rank);
    memset(in, 0, LEN);
    MPI_Sendrecv(out, LEN, MPI_BYTE, to, 1, in, LEN, MPI_BYTE, from, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK(is_filled(in, LEN, from));
    memcpy(in, out, LEN);
    MPI_Bcast(in, LEN, MPI_BYTE, size - 1, MPI_COMM_WORLD);
    CHECK(is_filled(in, LEN, size - 1));
    MPI_Request requests[2];
    MPI_Irecv(in, LEN, MPI_BYTE, from, 2, MPI_COMM_WORLD, &requests[0]);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Isend(out, LEN, MPI_BYTE, to, 2, MPI_COMM_WORLD, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    CHECK(is_filled(in, LEN, from));
}

static void *nothing(void *argument)
{
    return argument;
}

static void limit_addresses(long bytes)
{
    struct rlimit limit;
    CHECK(getrlimit(RLIMIT_AS, &limit) == 0);
    limit.rlim_cur = bytes < 0 ? limit.rlim_max : (rlim_t)bytes;
    CHECK(setrlimit(RLIMIT_AS, &limit) == 0);
}

static void limited(unsigned char *in)
{
    pthread_t thread;
    /* As much as there is, and half a gigabyte: most of the job's file is no part of it. */
    limit_addresses(kilobytes("VmSize") * 1024 + 512l * MB);
    unsigned char *blocks[4];
    for (int i = 0; i < 4; i++) {
        CHECK((blocks[i] = malloc(LEN)));
        fill(blocks[i], LEN, i);
    }
    CHECK(pthread_create(&thread, NULL, nothing, NULL) == 0 && pthread_join(thread, NULL) == 0);
    talk(blocks[3], in);
    for (int i = 0; i < 4; i++)
        free(blocks[i]);
    /* Nothing more at all for who has an odd number, while the others' memory grows. */
    limit_addresses(-1);
    unsigned char *out = malloc(LEN);
    CHECK(out);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank % 2 == 1)
        limit_addresses(kilobytes("VmSize") * 1024);
    else
        CHECK((out = realloc(out, 2 * LEN)) && (out = realloc(out, 6 * LEN)));
    MPI_Barrier(MPI_COMM_WORLD);
    talk(rank % 2 == 0 ? out + 5 * LEN : out, in);
    limit_addresses(-1);
    talk(out, in);
    free(out);
}

/* Who locks memory gets what is in use, not the whole file; and goes on. */
static void locked(unsigned char *in)
{
    if (mlockall(MCL_CURRENT | MCL_FUTURE) != 0) {
        CHECK(errno == EPERM || errno == ENOMEM || errno == EAGAIN);
        return;
    }
    CHECK(kilobytes("VmLck") < 2l * 1024 * 1024);
    unsigned char *out = malloc(LEN);
    CHECK(out);
    talk(out, in);
    free(out);
    CHECK(munlockall() == 0);
}

/* No rank can cut the file that all of them have mapped, nor make it longer, nor execute it. */
static void sealed(void)
{
    for (int file = 3; file < 1024; file++) {
        char name[64], target[256] = "";
        snprintf(name, sizeof name, "/proc/self/fd/%d", file);
        if (readlink(name, target, sizeof target - 1) <= 0 || !strstr(target, "memfd:rwmpi job"))
            continue;
        struct stat before, after;
        CHECK(fstat(file, &before) == 0);
        CHECK(ftruncate(file, 4096) == -1 && errno == EPERM);
        CHECK(ftruncate(file, before.st_size + 4096) == -1 && errno == EPERM);
        CHECK(fstat(file, &after) == 0 && after.st_size == before.st_size);
        CHECK((fcntl(file, F_GET_SEALS) & (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL))
              == (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL));
    }
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    unsigned char *in = malloc(LEN);
    CHECK(in);
    memset(in, 0, LEN);
    sealed();
    locked(in);
    limited(in);
    free(in);
    MPI_Finalize();
    return 0;
}
