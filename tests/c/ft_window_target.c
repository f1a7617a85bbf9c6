/* Operations on a target that has died fail, or the flush behind them, in windows of all flavours; those on others go on, and what lies in
   memory that all share stays. mpiexec: --keep-going ranks: 3 4 */
#include "failures.h"

enum { WINDOWS = 5, LONG = 1000 };

static int rank, size, dead;
static int small[LONG];

static MPI_Win wins[WINDOWS];
/* Where each rank's memory begins: of the last, an address. */
static MPI_Aint *places;

static void make(MPI_Comm comm, int *owned)
{
    int *memory[2];
    MPI_Aint place;
    CHECK(MPI_Win_create(small, sizeof small, sizeof(int), MPI_INFO_NULL, comm, &wins[0]) == MPI_SUCCESS);
    CHECK(MPI_Win_create(owned, sizeof small, sizeof(int), MPI_INFO_NULL, comm, &wins[1]) == MPI_SUCCESS);
    CHECK(MPI_Win_allocate(sizeof small, sizeof(int), MPI_INFO_NULL, comm, &memory[0], &wins[2]) == MPI_SUCCESS);
    CHECK(MPI_Win_allocate_shared(sizeof small, sizeof(int), MPI_INFO_NULL, comm, &memory[1], &wins[3]) == MPI_SUCCESS);
    CHECK(MPI_Win_create_dynamic(MPI_INFO_NULL, comm, &wins[4]) == MPI_SUCCESS);
    CHECK(MPI_Win_attach(wins[4], owned, sizeof small) == MPI_SUCCESS);
    memset(memory[0], 0, sizeof small);
    for (int i = 0; i < LONG; i++) memory[1][i] = rank;
    MPI_Get_address(owned, &place);
    CHECK(MPI_Allgather(&place, 1, MPI_AINT, places, 1, MPI_AINT, comm) == MPI_SUCCESS);
    for (int i = 0; i < WINDOWS; i++) CHECK(MPI_Win_set_errhandler(wins[i], MPI_ERRORS_RETURN) == MPI_SUCCESS);
}

/* One of the operations. */
static int operate(int kind, int target, int number)
{
    static int data[LONG], result[LONG];
    MPI_Win win = wins[number];
    MPI_Aint at = number == 4 ? places[target] : 0;
    MPI_Request request;
    int code;
    switch (kind) {
    case 0: return MPI_Put(data, LONG, MPI_INT, target, at, LONG, MPI_INT, win);
    case 1: return MPI_Get(result, LONG, MPI_INT, target, at, LONG, MPI_INT, win);
    case 2: return MPI_Accumulate(data, 1, MPI_INT, target, at, 1, MPI_INT, MPI_SUM, win);
    case 3: return MPI_Accumulate(data, LONG, MPI_INT, target, at, LONG, MPI_INT, MPI_SUM, win);
    case 4: return MPI_Fetch_and_op(data, result, MPI_INT, target, at, MPI_SUM, win);
    case 5: return MPI_Compare_and_swap(data, data, result, MPI_INT, target, at, win);
    case 6: return MPI_Get_accumulate(data, 3, MPI_INT, result, 3, MPI_INT, target, at, 3, MPI_INT, MPI_SUM, win);
    case 7: return MPI_Put(data, 1, MPI_INT, target, at, 1, MPI_INT, win);
    default:
        code = MPI_Rput(data, 2, MPI_INT, target, at, 2, MPI_INT, win, &request);
        return code ? code : MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
}

static void operate_on_all(int is_one_dead)
{
    for (int number = 0; number < WINDOWS; number++)
        for (int kind = 0; kind < 9; kind++)
            for (int target = 0; target < size; target++) {
                int expected = is_one_dead && target == dead ? MPIX_ERR_PROC_FAILED : MPI_SUCCESS;
                CHECK_ERROR(operate(kind, target, number), expected);
                CHECK(MPI_Win_flush(target, wins[number]) == MPI_SUCCESS);
            }
}

int main(int argc, char **argv)
{
    int *owned = malloc(sizeof small), *seen, unit;
    MPI_Aint bytes;
    MPI_Win late;
    MPI_Init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    /* So that the whole memory of the shared window is in its hands. */
    dead = 0;
    places = malloc(size * sizeof *places);
    make(MPI_COMM_WORLD, owned);
    for (int i = 0; i < WINDOWS; i++) CHECK(MPI_Win_lock_all(0, wins[i]) == MPI_SUCCESS);
    CHECK(MPI_Barrier(MPI_COMM_WORLD) == MPI_SUCCESS);
    operate_on_all(0);
    CHECK(MPI_Barrier(MPI_COMM_WORLD) == MPI_SUCCESS);

    /* It dies when all have done something to it that they have not flushed. */
    if (rank == dead) {
        for (int other = 1; other < size; other++) await_word_of(other, MPI_COMM_WORLD);
        die();
    }
    for (int i = 0; i < WINDOWS; i++) CHECK(operate(0, dead, i) == MPI_SUCCESS && operate(2, rank, i) == MPI_SUCCESS);
    tell(dead, MPI_COMM_WORLD);
    await_deaths(MPI_COMM_WORLD, 1);
    for (int i = 0; i < WINDOWS; i++) {
        CHECK(MPI_Win_flush(rank, wins[i]) == MPI_SUCCESS);
        CHECK_ERROR(i % 2 ? MPI_Win_flush(dead, wins[i]) : MPI_Win_flush_all(wins[i]), MPIX_ERR_PROC_FAILED);
        CHECK(MPI_Win_flush_all(wins[i]) == MPI_SUCCESS && MPI_Win_flush_local(dead, wins[i]) == MPI_SUCCESS);
    }
    operate_on_all(1);
    for (int i = 0; i < WINDOWS; i++) CHECK(MPI_Win_unlock_all(wins[i]) == MPI_SUCCESS);
    CHECK(MPI_Win_shared_query(wins[3], rank, &bytes, &unit, &seen) == MPI_SUCCESS);
    for (int i = 100; i < LONG; i++) seen[i]++;

    /* A window with the dead is none, at nobody. */
    CHECK_ERROR(MPI_Win_allocate(8, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &seen, &late), MPIX_ERR_PROC_FAILED);
    CHECK_ERROR(MPI_Win_allocate_shared(8, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &seen, &late), MPIX_ERR_PROC_FAILED);
    CHECK_ERROR(MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &late), MPIX_ERR_PROC_FAILED);
    CHECK_ERROR(MPI_Win_create(owned, 8, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &late), MPIX_ERR_PROC_FAILED);
    for (int i = 0; i < WINDOWS; i++) CHECK(MPI_Win_free(&wins[i]) == MPI_SUCCESS);
    free(owned);
    free(places);
    MPI_Finalize();
    return 0;
}
