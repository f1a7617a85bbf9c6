/* Rank 1, or all if there is a second argument, dies by a fault of the kind that the first one names. */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static volatile int *volatile nowhere;
static void (*volatile nobody)(void);
static volatile int zero;

__attribute__((noinline)) static void writes_nowhere(void)
{
    *nowhere = 1;
}

__attribute__((noinline)) static int divides_by_zero(void)
{
    return 100 / zero;
}

__attribute__((noinline)) static int overflows(int depth)
{
    volatile char room[4096];
    room[0] = (char)depth;
    return depth < 0 ? 0 : overflows(depth + 1) + room[0];
}

static void on_fault(int signal)
{
    (void)signal;
    _exit(7);
}

/* Whether all ranks go wrong. */
static int do_all;

__attribute__((noinline)) static void goes_wrong(const char *kind)
{
    if (strcmp(kind, "segv") == 0)
        writes_nowhere();
    if (strcmp(kind, "fpe") == 0)
        zero = divides_by_zero();
    if (strcmp(kind, "abort") == 0)
        abort();
    if (strcmp(kind, "ill") == 0)
        __builtin_trap();
    if (strcmp(kind, "call") == 0)
        nobody();
    if (strcmp(kind, "overflow") == 0)
        overflows(0);
    if (strcmp(kind, "sent") == 0)
        raise(SIGBUS);
    if (strcmp(kind, "handled") == 0) {
        signal(SIGSEGV, on_fault);
        writes_nowhere();
    }
    if (strcmp(kind, "message") == 0) {
        fprintf(stderr, "cannot read the grid\nrank %s: gives up\n", getenv("MPI_LOCALRANKID"));
        /* The first that fails ends the others. */
        if (do_all)
            MPI_Barrier(MPI_COMM_WORLD);
        exit(3);
    }
}

int main(int argc, char **argv)
{
    int rank;
    const char *kind = argc > 1 ? argv[1] : "";
    if (strcmp(kind, "before") == 0)
        signal(SIGSEGV, on_fault);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (strcmp(kind, "before") == 0 && rank == 1)
        writes_nowhere();
    do_all = argc > 2;
    if (rank == 1 || do_all)
        goes_wrong(kind);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
