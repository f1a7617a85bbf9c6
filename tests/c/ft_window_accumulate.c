/* A rank dies while it changes the memory of another, most often with its lock: the others go on changing it, in one element and in many, in
   memory that all share and in memory that the kernel copies. mpiexec: --keep-going ranks: 2 3 4 */
#include "failures.h"

enum { LONG = 200000, TURNS = 20 };

static int rank, size;

/* Changes it until somebody kills this rank. */
static void change_until_killed(MPI_Win win, const double *ones)
{
    pid_t victim = getpid();
    CHECK(MPI_Win_lock_all(0, win) == MPI_SUCCESS);
    CHECK(MPI_Accumulate(ones, LONG, MPI_DOUBLE, 0, 0, LONG, MPI_DOUBLE, MPI_SUM, win) == MPI_SUCCESS);
    if (fork() == 0) {
        usleep(3000);
        kill(victim, SIGKILL);
        _exit(0);
    }
    for (;;) MPI_Accumulate(ones, LONG, MPI_DOUBLE, 0, 0, LONG, MPI_DOUBLE, MPI_SUM, win);
}

static void lose_one(MPI_Comm comm, int is_shared)
{
    MPI_Win win;
    int members, code;
    double own[LONG], *memory, *ones = malloc(LONG * sizeof *ones), one = 1, before, after, sum;
    MPI_Comm_size(comm, &members);
    for (int i = 0; i < LONG; i++) ones[i] = 1;
    memset(own, 0, sizeof own);
    if (is_shared)
        CHECK(MPI_Win_allocate(LONG * sizeof *own, sizeof *own, MPI_INFO_NULL, comm, &memory, &win) == MPI_SUCCESS);
    else
        CHECK(MPI_Win_create(own, LONG * sizeof *own, sizeof *own, MPI_INFO_NULL, comm, &win) == MPI_SUCCESS);
    CHECK(MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN) == MPI_SUCCESS);
    if (rank == members - 1) change_until_killed(win, ones);
    CHECK(MPI_Win_lock_all(0, win) == MPI_SUCCESS);
    for (int turn = 0; turn < TURNS; turn++) {
        CHECK(MPI_Accumulate(ones, LONG, MPI_DOUBLE, 0, 0, LONG, MPI_DOUBLE, MPI_SUM, win) == MPI_SUCCESS);
        CHECK(MPI_Fetch_and_op(&one, &before, MPI_DOUBLE, 0, LONG - 1, MPI_SUM, win) == MPI_SUCCESS);
        CHECK(MPI_Win_flush(0, win) == MPI_SUCCESS);
        if (turn == TURNS / 2) await_deaths(comm, 1);
    }
    /* When it is dead, it changes nothing any more. */
    CHECK(MPI_Fetch_and_op(&one, &before, MPI_DOUBLE, rank, 0, MPI_SUM, win) == MPI_SUCCESS && before >= 0);
    CHECK(MPI_Win_unlock_all(win) == MPI_SUCCESS);
    do code = MPI_Allreduce(&one, &sum, 1, MPI_DOUBLE, MPI_SUM, comm);
    while (code == MPI_SUCCESS);
    CHECK_ERROR(code, MPIX_ERR_PROC_FAILED);
    if (rank > 0) {
        CHECK(MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, win) == MPI_SUCCESS);
        CHECK(MPI_Fetch_and_op(&one, &before, MPI_DOUBLE, rank, 0, MPI_SUM, win) == MPI_SUCCESS);
        CHECK(MPI_Fetch_and_op(&one, &after, MPI_DOUBLE, rank, 0, MPI_SUM, win) == MPI_SUCCESS && after == before + 1);
        CHECK(MPI_Win_unlock(rank, win) == MPI_SUCCESS);
    }
    CHECK(MPI_Win_free(&win) == MPI_SUCCESS);
    free(ones);
}

int main(int argc, char **argv)
{
    MPI_Comm shrunk;
    MPI_Init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    lose_one(MPI_COMM_WORLD, size % 2);
    CHECK(MPIX_Comm_shrink(MPI_COMM_WORLD, &shrunk) == MPI_SUCCESS);
    if (size > 2) lose_one(shrunk, 1 - size % 2);
    MPI_Comm_free(&shrunk);
    MPI_Finalize();
    return 0;
}
