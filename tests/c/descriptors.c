/* Descriptors are the program's: it may close all that it does not know, and what it starts inherits none of the library's. */
#include "check.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { FILES = 8, BLOCK = 5 << 20 };

static int lowest_unused(void)
{
    int fd = open("/dev/null", O_RDONLY);
    close(fd);
    return fd;
}

/* Connections are descriptors: over TCP only those with small numbers, of which the library has none, may go. */
static int is_tcp(void)
{
    const char *transport = getenv("RWMPI_TRANSPORT");
    return transport && !strcmp(transport, "tcp");
}

static void close_unknown(int first)
{
    int most = is_tcp() ? 256 : 4096;
    for (int fd = first; fd < most; fd++)
        close(fd);
}

/* The program that a rank starts is this one with an argument. It is a job of its own. */
static int child(void)
{
    int rank, size;
    MPI_Init(NULL, NULL);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    CHECK(rank == 0 && size == 1);
    CHECK(MPI_Barrier(MPI_COMM_WORLD) == MPI_SUCCESS);
    return MPI_Finalize();
}

static void start(const char *program, int closes_all)
{
    int status;
    pid_t pid = fork();
    if (pid == 0) {
        if (closes_all)
            close_unknown(3);
        execl(program, program, "child", (char *)NULL);
        _exit(9);
    }
    CHECK(pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void exchange(int rank, int size)
{
    for (int round = 0; round < 6; round++) {
        char *block = malloc(BLOCK);
        int sum = -1;
        memset(block, rank == 0 ? round : 100, BLOCK);
        CHECK(MPI_Bcast(block, BLOCK, MPI_BYTE, 0, MPI_COMM_WORLD) == MPI_SUCCESS);
        CHECK(block[0] == round && block[BLOCK - 1] == round);
        CHECK(MPI_Sendrecv_replace(block, BLOCK, MPI_BYTE, (rank + 1) % size, 0, (rank + size - 1) % size, 0,
                                   MPI_COMM_WORLD, MPI_STATUS_IGNORE) == MPI_SUCCESS);
        CHECK(MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD) == MPI_SUCCESS);
        CHECK(sum == size * (size - 1) / 2);
        free(block);
    }
}

int main(int argc, char **argv)
{
    int rank, size, files[FILES], first;
    char name[64];
    if (argc > 1)
        return child();
    first = lowest_unused();
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    CHECK(lowest_unused() == first);

    start(argv[0], 0);
    start(argv[0], 1);

    /* What the program opens then gets the numbers, and stays what it was. */
    close_unknown(3);
    for (int i = 0; i < FILES; i++) {
        snprintf(name, sizeof name, "/tmp/rwmpi-descriptors-%d-%d", (int)getpid(), i);
        files[i] = open(name, O_RDWR | O_CREAT | O_EXCL, 0600);
        CHECK(files[i] >= 0 && unlink(name) == 0 && write(files[i], "hello\n", 6) == 6);
        if (!is_tcp())
            dup2(files[i], 1000 + i);
    }
    exchange(rank, size);
    void *memory;
    CHECK(MPI_Alloc_mem(20 << 20, MPI_INFO_NULL, &memory) == MPI_SUCCESS);
    memset(memory, 1, 20 << 20);
    CHECK(MPI_Free_mem(memory) == MPI_SUCCESS);
    start(argv[0], 0);
    MPI_Finalize();
    for (int i = 0; i < FILES; i++) {
        struct stat data;
        CHECK(fstat(files[i], &data) == 0 && data.st_size == 6);
        CHECK(pwrite(files[i], "HELLO\n", 6, 0) == 6);
    }
    return 0;
}
