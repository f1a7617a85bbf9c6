/* Ranks add to each other's memory under locks of all kinds, one after the other dies, and those who are left go on with a window of their own:
   whenever a rank is killed, what all have agreed on is right. The moments come of a seed, RWMPI_TEST_SEED.
   mpiexec: --keep-going ranks: 3 4 */
#include "deaths_by_seed.h"

enum { STEPS = 120, LONG = 600 };

static int rank, size;

static int is_well(int code)
{
    int class = class_of(code);
    CHECK(class == MPI_SUCCESS || class == MPIX_ERR_PROC_FAILED);
    return class == MPI_SUCCESS;
}

/* Adds 1 to all numbers of a target, and 2 to the word behind them, under a lock. */
static int add(MPI_Win win, int target, const long *ones)
{
    long two = 2, before, three[3] = {1, 1, 1};
    int is_alone = random_below(2), well;
    well = is_well(MPI_Win_lock(is_alone ? MPI_LOCK_EXCLUSIVE : MPI_LOCK_SHARED, target, 0, win));
    if (!well) return 0;
    well &= is_well(MPI_Accumulate(ones, LONG - 3, MPI_LONG, target, 0, LONG - 3, MPI_LONG, MPI_SUM, win));
    well &= is_well(MPI_Accumulate(three, 3, MPI_LONG, target, LONG - 3, 3, MPI_LONG, MPI_SUM, win));
    well &= is_well(MPI_Fetch_and_op(&two, &before, MPI_LONG, target, LONG, MPI_SUM, win));
    if (random_below(2)) well &= is_well(MPI_Win_flush(target, win));
    return well & is_well(MPI_Win_unlock(target, win));
}

/* One step of all; whether it has come to a good end here. */
static int step_with(MPI_Comm comm, MPI_Win win, long *memory, const long *ones)
{
    int members, well;
    MPI_Comm_size(comm, &members);
    memset(memory, 0, (LONG + 1) * sizeof *memory);
    well = is_well(MPI_Win_fence(MPI_MODE_NOSUCCEED, win));
    for (int target = 0; well && target < members; target++) well = add(win, target, ones);
    if (well && is_well(MPI_Win_lock_all(0, win))) {
        long two = 2;
        for (int target = 0; target < members; target++)
            well &= is_well(MPI_Accumulate(&two, 1, MPI_LONG, target, LONG, 1, MPI_LONG, MPI_SUM, win));
        well &= is_well(MPI_Win_flush_all(win));
        well &= is_well(MPI_Win_unlock_all(win));
    } else {
        well = 0;
    }
    if (well) well = is_well(MPI_Win_fence(MPI_MODE_NOSUCCEED, win));
    /* A rank that has died may have done a part of it. */
    for (int i = 0; well && i < LONG; i++) CHECK(memory[i] == members);
    if (well) CHECK(memory[LONG] == 4 * members);
    return well;
}

/* The memory is shared, or such as only the kernel copies. */
static int make(MPI_Comm comm, int is_shared, long *own, long **memory, MPI_Win *win)
{
    MPI_Aint bytes = (LONG + 1) * sizeof(long);
    int code = is_shared ? MPI_Win_allocate(bytes, sizeof(long), MPI_INFO_NULL, comm, memory, win)
                         : MPI_Win_create(own, bytes, sizeof(long), MPI_INFO_NULL, comm, win);
    if (!is_shared) *memory = own;
    if (!is_well(code)) return 0;
    CHECK(MPI_Win_set_errhandler(*win, MPI_ERRORS_RETURN) == MPI_SUCCESS);
    return 1;
}

int main(int argc, char **argv)
{
    static long own[LONG + 1];
    MPI_Comm comm, next;
    MPI_Win win = MPI_WIN_NULL;
    int step = 0;
    long *memory, *ones = malloc(LONG * sizeof *ones);
    MPI_Init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    for (int i = 0; i < LONG; i++) ones[i] = 1;
    /* Another may have left it, and have died, before this one has. */
    MPI_Barrier(comm);
    arrange_death(rank, size);
    while (step < STEPS) {
        int well = win != MPI_WIN_NULL || make(comm, seed() % 2 == 0, own, &memory, &win), code;
        if (well) well = step_with(comm, win, memory, ones);
        /* All go on with the same step, or all begin it again among those who are left. */
        code = MPIX_Comm_agree(comm, &well);
        if (code == MPI_SUCCESS && well) {
            step++;
            /* So that ranks die while windows are made and freed, too. */
            if (step % 3 == 0) CHECK(MPI_Win_free(&win) == MPI_SUCCESS && win == MPI_WIN_NULL);
            continue;
        }
        if (win != MPI_WIN_NULL) CHECK(MPI_Win_free(&win) == MPI_SUCCESS);
        CHECK(MPIX_Comm_shrink(comm, &next) == MPI_SUCCESS);
        MPI_Comm_free(&comm);
        comm = next;
    }
    call_death_off();
    MPI_Comm_free(&comm);
    free(ones);
    MPI_Finalize();
    return 0;
}
