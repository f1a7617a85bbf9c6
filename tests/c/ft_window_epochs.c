/* Fences, and epochs of post, start, complete and wait, with a rank that has died: none waits for ever, and windows of those who are left go
   on. mpiexec: --keep-going ranks: 3 4 */
#include "failures.h"

static int rank, size;

static void allocate(MPI_Comm comm, int **memory, MPI_Win *win)
{
    CHECK(MPI_Win_allocate(size * sizeof(int), sizeof(int), MPI_INFO_NULL, comm, memory, win) == MPI_SUCCESS);
    CHECK(MPI_Win_set_errhandler(*win, MPI_ERRORS_RETURN) == MPI_SUCCESS);
}

/* Each puts its rank to all, in epochs of both kinds. */
static void exchange(MPI_Comm comm)
{
    int me, members, *memory;
    MPI_Group group;
    MPI_Win win;
    MPI_Comm_rank(comm, &me);
    MPI_Comm_size(comm, &members);
    allocate(comm, &memory, &win);
    CHECK(MPI_Comm_group(comm, &group) == MPI_SUCCESS);
    for (int way = 0; way < 20; way++) {
        int value = 100 * way + me;
        if (way % 2) CHECK(MPI_Win_post(group, 0, win) == MPI_SUCCESS && MPI_Win_start(group, 0, win) == MPI_SUCCESS);
        else CHECK(MPI_Win_fence(0, win) == MPI_SUCCESS);
        for (int to = 0; to < members; to++) CHECK(MPI_Put(&value, 1, MPI_INT, to, me, 1, MPI_INT, win) == MPI_SUCCESS);
        if (way % 2) CHECK(MPI_Win_complete(win) == MPI_SUCCESS && MPI_Win_wait(win) == MPI_SUCCESS);
        else CHECK(MPI_Win_fence(0, win) == MPI_SUCCESS);
        for (int from = 0; from < members; from++) CHECK(memory[from] == 100 * way + from);
        CHECK(MPI_Barrier(comm) == MPI_SUCCESS);
    }
    MPI_Group_free(&group);
    CHECK(MPI_Win_free(&win) == MPI_SUCCESS);
}

/* With groups that have the dead, and with those that have not: an epoch of the living may end well, or not. */
static void epochs_with_the_dead(MPI_Win win, int last)
{
    MPI_Group all, others;
    int value = rank, flag = 0, code;
    CHECK(MPI_Win_get_group(win, &all) == MPI_SUCCESS);
    CHECK(MPI_Group_excl(all, 1, &last, &others) == MPI_SUCCESS);
    CHECK_ERROR(MPI_Win_start(all, 0, win), MPIX_ERR_PROC_FAILED);
    CHECK(MPI_Win_post(all, 0, win) == MPI_SUCCESS);
    CHECK_ERROR(MPI_Win_wait(win), MPIX_ERR_PROC_FAILED);
    CHECK(MPI_Win_post(all, 0, win) == MPI_SUCCESS);
    do code = MPI_Win_test(win, &flag);
    while (code == MPI_SUCCESS && !flag);
    CHECK(class_of(code) == MPIX_ERR_PROC_FAILED);
    for (int round = 0; round < 20; round++) {
        CHECK(MPI_Win_post(others, 0, win) == MPI_SUCCESS);
        code = MPI_Win_start(others, 0, win);
        CHECK(class_of(code) == MPI_SUCCESS || class_of(code) == MPIX_ERR_PROC_FAILED);
        if (code == MPI_SUCCESS) {
            CHECK(MPI_Put(&value, 1, MPI_INT, 0, rank, 1, MPI_INT, win) == MPI_SUCCESS);
            CHECK(MPI_Win_complete(win) == MPI_SUCCESS);
        }
        code = MPI_Win_wait(win);
        CHECK(class_of(code) == MPI_SUCCESS || class_of(code) == MPIX_ERR_PROC_FAILED);
    }
    MPI_Group_free(&all);
    MPI_Group_free(&others);
}

int main(int argc, char **argv)
{
    MPI_Comm shrunk;
    MPI_Win fenced, used, started;
    int *memory, value = 1, code;
    MPI_Init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    exchange(MPI_COMM_WORLD);
    allocate(MPI_COMM_WORLD, &memory, &fenced);
    allocate(MPI_COMM_WORLD, &memory, &used);
    allocate(MPI_COMM_WORLD, &memory, &started);
    CHECK(MPI_Win_fence(0, fenced) == MPI_SUCCESS && MPI_Win_fence(0, used) == MPI_SUCCESS);
    if (rank == size - 1) die();

    /* Who was needed for the barrier of some may not be for that of others. */
    do code = MPI_Win_fence(0, fenced);
    while (code == MPI_SUCCESS);
    CHECK(class_of(code) == MPIX_ERR_PROC_FAILED);
    CHECK(MPI_Put(&value, 1, MPI_INT, 0, 0, 1, MPI_INT, used) == MPI_SUCCESS);
    CHECK_ERROR(MPI_Put(&value, 1, MPI_INT, size - 1, 0, 1, MPI_INT, used), MPIX_ERR_PROC_FAILED);
    epochs_with_the_dead(started, size - 1);
    CHECK(MPI_Win_free(&started) == MPI_SUCCESS && MPI_Win_free(&fenced) == MPI_SUCCESS);
    CHECK(MPIX_Comm_shrink(MPI_COMM_WORLD, &shrunk) == MPI_SUCCESS);
    exchange(shrunk);
    CHECK(MPI_Win_free(&used) == MPI_SUCCESS);
    MPI_Comm_free(&shrunk);
    MPI_Finalize();
    return 0;
}
