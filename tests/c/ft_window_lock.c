/* Locks of a window in which a rank has died: what a dead rank holds, or stands in line for, nobody waits for; what is free is to be had; and
   a window of those who are left is as good as any. mpiexec: --keep-going ranks: 3 4 */
#include "failures.h"

enum { ROUNDS = 200 };

static int rank, size;

static MPI_Win allocated(MPI_Comm comm, int **memory)
{
    MPI_Win win;
    CHECK(MPI_Win_allocate(4 * sizeof(int), sizeof(int), MPI_INFO_NULL, comm, memory, &win) == MPI_SUCCESS);
    CHECK(MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN) == MPI_SUCCESS);
    memset(*memory, 0, 4 * sizeof(int));
    CHECK(MPI_Barrier(comm) == MPI_SUCCESS);
    return win;
}

/* The last rank dies while it has the second one's lock. */
static MPI_Comm a_holder_dies(MPI_Comm comm)
{
    MPI_Comm shrunk;
    int *memory, one = 1, last;
    MPI_Win win = allocated(comm, &memory);
    MPI_Comm_size(comm, &last);
    if (rank == --last) {
        CHECK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, win) == MPI_SUCCESS);
        for (int other = 0; other < last; other++) tell(other, comm);
        die();
    }
    await_word_of(last, comm);
    CHECK_ERROR(MPI_Win_lock(rank % 2 ? MPI_LOCK_SHARED : MPI_LOCK_EXCLUSIVE, 1, 0, win), MPIX_ERR_PROC_FAILED);
    /* The first one's lock is had, and given back. */
    CHECK_ERROR(MPI_Win_lock_all(0, win), MPIX_ERR_PROC_FAILED);
    if (rank > 0) tell(0, comm);
    else for (int other = 1; other < last; other++) await_word_of(other, comm);
    /* The lock of a rank that nobody else wants. */
    if (rank != 1) {
        CHECK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, rank, 0, win) == MPI_SUCCESS);
        CHECK(MPI_Put(&one, 1, MPI_INT, rank, 0, 1, MPI_INT, win) == MPI_SUCCESS);
        CHECK(MPI_Win_flush(rank, win) == MPI_SUCCESS);
        CHECK(MPI_Win_unlock(rank, win) == MPI_SUCCESS && memory[0] == 1);
        /* An epoch that is still open does not keep it from being freed. */
        CHECK(MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, win) == MPI_SUCCESS);
    }
    CHECK(MPI_Win_free(&win) == MPI_SUCCESS && win == MPI_WIN_NULL);
    CHECK(MPIX_Comm_shrink(comm, &shrunk) == MPI_SUCCESS);
    return shrunk;
}

/* All count in the memory of the first, one at a time. */
static void count(MPI_Comm comm)
{
    int *memory, one = 1, before, members;
    MPI_Win win = allocated(comm, &memory);
    MPI_Comm_size(comm, &members);
    for (int round = 0; round < ROUNDS; round++) {
        CHECK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win) == MPI_SUCCESS);
        CHECK(MPI_Get(&before, 1, MPI_INT, 0, 0, 1, MPI_INT, win) == MPI_SUCCESS);
        CHECK(MPI_Win_flush(0, win) == MPI_SUCCESS);
        before++;
        CHECK(MPI_Put(&before, 1, MPI_INT, 0, 0, 1, MPI_INT, win) == MPI_SUCCESS);
        CHECK(MPI_Win_unlock(0, win) == MPI_SUCCESS);
        CHECK(MPI_Win_lock_all(0, win) == MPI_SUCCESS);
        CHECK(MPI_Fetch_and_op(&one, &before, MPI_INT, 0, 1, MPI_SUM, win) == MPI_SUCCESS);
        CHECK(MPI_Win_unlock_all(win) == MPI_SUCCESS);
    }
    CHECK(MPI_Barrier(comm) == MPI_SUCCESS);
    if (rank == 0) CHECK(memory[0] == members * ROUNDS && memory[1] == members * ROUNDS);
    CHECK(MPI_Win_free(&win) == MPI_SUCCESS);
}

/* One that wants the first one's lock is killed, most often while it stands in line; all others want it, too. */
static MPI_Comm one_in_line_dies(MPI_Comm comm)
{
    MPI_Comm shrunk;
    int *memory, pid = getpid(), class, last;
    MPI_Win win = allocated(comm, &memory);
    MPI_Comm_size(comm, &last);
    last--;
    if (rank == 0) {
        CHECK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win) == MPI_SUCCESS);
        tell(last, comm);
        CHECK(MPI_Recv(&pid, 1, MPI_INT, last, 1, comm, MPI_STATUS_IGNORE) == MPI_SUCCESS);
        usleep(20000);
        for (int other = 1; other < last; other++) tell(other, comm);
        kill(pid, SIGKILL);
        await_deaths(comm, 1);
        CHECK(MPI_Win_unlock(0, win) == MPI_SUCCESS);
        class = MPI_SUCCESS;
    } else if (rank == last) {
        await_word_of(0, comm);
        CHECK(MPI_Send(&pid, 1, MPI_INT, 0, 1, comm) == MPI_SUCCESS);
        class = class_of(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win));
        CHECK(class == MPI_ERR_LASTCODE);
    } else {
        await_word_of(0, comm);
        class = class_of(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win));
    }
    /* Who comes later may get by. */
    if (rank > 0 && class == MPI_SUCCESS) CHECK(MPI_Win_unlock(0, win) == MPI_SUCCESS);
    CHECK(class == MPI_SUCCESS || class == MPIX_ERR_PROC_FAILED);
    for (int round = 0; round < ROUNDS; round++) {
        class = class_of(MPI_Win_lock(round % 2 ? MPI_LOCK_SHARED : MPI_LOCK_EXCLUSIVE, 0, 0, win));
        CHECK(class == MPI_SUCCESS || class == MPIX_ERR_PROC_FAILED);
        if (class == MPI_SUCCESS) CHECK(MPI_Win_unlock(0, win) == MPI_SUCCESS);
    }
    CHECK(MPI_Win_free(&win) == MPI_SUCCESS);
    CHECK(MPIX_Comm_shrink(comm, &shrunk) == MPI_SUCCESS);
    return shrunk;
}

int main(int argc, char **argv)
{
    MPI_Comm comm, left;
    MPI_Init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    CHECK(MPI_Comm_dup(MPI_COMM_WORLD, &comm) == MPI_SUCCESS);
    count(comm);
    left = a_holder_dies(comm);
    count(left);
    MPI_Comm_free(&comm);
    comm = one_in_line_dies(left);
    count(comm);
    MPI_Comm_free(&left);
    MPI_Comm_free(&comm);
    MPI_Finalize();
    return 0;
}
