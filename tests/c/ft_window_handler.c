/* The error handler of a window, or of the communicator, repairs everything: it acknowledges the death, shrinks, keeps the order of the ranks by
   a split, agrees, frees the window and makes a new one. One rank after the other dies. mpiexec: --keep-going ranks: 2 3 4 */
#include "failures.h"

static MPI_Comm comm;
static MPI_Win win;
static MPI_Errhandler of_comms, of_wins;
static int status, repairs;

static void make_window(void)
{
    status = 0;
    CHECK(MPI_Win_create(&status, sizeof status, 1, MPI_INFO_NULL, comm, &win) == MPI_SUCCESS);
    CHECK(MPI_Win_set_errhandler(win, of_wins) == MPI_SUCCESS);
    CHECK(MPI_Win_lock_all(0, win) == MPI_SUCCESS);
}

static void repair(void)
{
    MPI_Comm shrunk, next;
    int rank, flag = 1, code;
    CHECK(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN) == MPI_SUCCESS);
    /* The others may wait for something else of this communicator. */
    CHECK(MPIX_Comm_revoke(comm) == MPI_SUCCESS);
    MPI_Comm_rank(comm, &rank);
    CHECK(MPIX_Comm_failure_ack(comm) == MPI_SUCCESS);
    do {
        CHECK(MPIX_Comm_shrink(comm, &shrunk) == MPI_SUCCESS);
        CHECK(MPI_Comm_set_errhandler(shrunk, MPI_ERRORS_RETURN) == MPI_SUCCESS);
        code = MPI_Comm_split(shrunk, 1, rank, &next);
        flag = code == MPI_SUCCESS;
        CHECK(MPIX_Comm_agree(shrunk, &flag) == MPI_SUCCESS);
        CHECK(MPI_Comm_free(&shrunk) == MPI_SUCCESS);
    } while (!flag);
    CHECK(MPI_Win_free(&win) == MPI_SUCCESS);
    CHECK(MPI_Comm_free(&comm) == MPI_SUCCESS);
    comm = next;
    CHECK(MPI_Comm_set_errhandler(comm, of_comms) == MPI_SUCCESS);
    make_window();
    repairs++;
}

static void on_window(MPI_Win *failed, int *code, ...)
{
    CHECK(*failed == win);
    CHECK_ERROR(*code, MPIX_ERR_PROC_FAILED);
    repair();
}

static void on_communicator(MPI_Comm *failed, int *code, ...)
{
    int class = class_of(*code);
    CHECK(*failed == comm && (class == MPIX_ERR_PROC_FAILED || class == MPIX_ERR_REVOKED));
    repair();
}

int main(int argc, char **argv)
{
    int rank, members, value;
    MPI_Init(&argc, &argv);
    CHECK(MPI_Comm_create_errhandler(on_communicator, &of_comms) == MPI_SUCCESS);
    CHECK(MPI_Win_create_errhandler(on_window, &of_wins) == MPI_SUCCESS);
    CHECK(MPI_Comm_dup(MPI_COMM_WORLD, &comm) == MPI_SUCCESS);
    CHECK(MPI_Comm_set_errhandler(comm, of_comms) == MPI_SUCCESS);
    make_window();
    for (;;) {
        int before = repairs;
        MPI_Comm_rank(comm, &rank);
        MPI_Comm_size(comm, &members);
        for (int target = 0; target < members; target++) {
            value = rank;
            CHECK(MPI_Accumulate(&value, 1, MPI_INT, target, 0, 1, MPI_INT, MPI_SUM, win) == MPI_SUCCESS);
            CHECK(MPI_Win_flush(target, win) == MPI_SUCCESS);
        }
        CHECK(MPI_Barrier(comm) == MPI_SUCCESS);
        CHECK(status == members * (members - 1) / 2);
        /* Another may have left it, and have died, before this one has. */
        MPI_Barrier(comm);
        if (members == 1) break;
        if (rank == members - 1) die();
        /* Half of them learn of it by the window, the others by the communicator, perhaps only by its revocation. */
        while (repairs == before) {
            if (rank % 2) MPI_Barrier(comm);
            else if (MPI_Put(&value, 1, MPI_INT, members - 1, 0, 1, MPI_INT, win) == MPI_SUCCESS) MPI_Win_flush(members - 1, win);
        }
        CHECK(repairs == before + 1);
        CHECK(MPI_Barrier(comm) == MPI_SUCCESS);
    }
    CHECK(MPI_Win_unlock_all(win) == MPI_SUCCESS && MPI_Win_free(&win) == MPI_SUCCESS);
    MPI_Comm_free(&comm);
    MPI_Errhandler_free(&of_comms);
    MPI_Errhandler_free(&of_wins);
    MPI_Finalize();
    return 0;
}
