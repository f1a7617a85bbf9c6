/* Locks: alone and shared, of oneself, of several, without checks, of all; flushes; targets that make no call (MPI-5.0 sections 12.5.3 and 12.5.4). */
#include "window.h"

enum { ROUNDS = 500, SLOTS = 16 };

/* In so many rounds of more ranks than processors, ranks overtake those that wake up while they come. */
enum { EXCLUSIVE_ROUNDS = 20000, EXCLUSIVE_ROUNDS_ELSEWHERE = 80 };

/* What only one at a time may change is read and written in two steps. The owner locks its own memory as everybody does. */
static void exclusive(MPI_Win window, volatile int *memory)
{
    int i, value, rounds = shares_memory ? EXCLUSIVE_ROUNDS : EXCLUSIVE_ROUNDS_ELSEWHERE;
    for (i = 0; i < rounds; i++) {
        CHECK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, window) == MPI_SUCCESS);
        if (world_rank == 0) {
            memory[0] = memory[0] + 1;
        } else {
            CHECK(MPI_Get(&value, 1, MPI_INT, 0, 0, 1, MPI_INT, window) == MPI_SUCCESS);
            CHECK(MPI_Win_flush(0, window) == MPI_SUCCESS);
            value++;
            CHECK(MPI_Put(&value, 1, MPI_INT, 0, 0, 1, MPI_INT, window) == MPI_SUCCESS);
        }
        CHECK(MPI_Win_unlock(0, window) == MPI_SUCCESS);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(world_rank != 0 || memory[0] == rounds * world_size);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* Those who share see either all or nothing of what one alone changes. */
static void shared(MPI_Win window)
{
    int i, values[2], mine, rounds = repetitions(ROUNDS);
    for (i = 0; i < rounds; i++) {
        if ((i + world_rank) % 3 == 0) {
            mine = world_rank * ROUNDS + i;
            CHECK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, window) == MPI_SUCCESS);
            CHECK(MPI_Put(&mine, 1, MPI_INT, 0, 2, 1, MPI_INT, window) == MPI_SUCCESS);
            CHECK(MPI_Win_flush(0, window) == MPI_SUCCESS);
            CHECK(MPI_Put(&mine, 1, MPI_INT, 0, 3, 1, MPI_INT, window) == MPI_SUCCESS);
            CHECK(MPI_Win_unlock(0, window) == MPI_SUCCESS);
        } else if (i % 2) {
            CHECK(MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, window) == MPI_SUCCESS);
            CHECK(MPI_Get(values, 2, MPI_INT, 0, 2, 2, MPI_INT, window) == MPI_SUCCESS);
            CHECK(MPI_Win_unlock(0, window) == MPI_SUCCESS && values[0] == values[1]);
        } else {
            CHECK(MPI_Win_lock_all(0, window) == MPI_SUCCESS);
            CHECK(MPI_Get(values, 2, MPI_INT, 0, 2, 2, MPI_INT, window) == MPI_SUCCESS);
            CHECK(MPI_Win_flush_local_all(window) == MPI_SUCCESS && values[0] == values[1]);
            CHECK(MPI_Win_unlock_all(window) == MPI_SUCCESS);
        }
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

/* No state stays behind of a lock that was not checked: those that come later are as exclusive as ever, and nobody waits for ever. */
static void unchecked(MPI_Win window, volatile int *memory)
{
    int turn, value = 1;
    for (turn = 0; turn < world_size; turn++) {
        if (turn == world_rank) {
            CHECK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, MPI_MODE_NOCHECK, window) == MPI_SUCCESS);
            CHECK(MPI_Put(&value, 1, MPI_INT, 0, 4, 1, MPI_INT, window) == MPI_SUCCESS);
            CHECK(MPI_Win_unlock(0, window) == MPI_SUCCESS);
        }
        MPI_Barrier(MPI_COMM_WORLD);
    }
    CHECK(MPI_Win_lock_all(MPI_MODE_NOCHECK, window) == MPI_SUCCESS && MPI_Win_unlock_all(window) == MPI_SUCCESS);
    MPI_Barrier(MPI_COMM_WORLD);
    memory[0] = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    exclusive(window, memory);
}

/* Several targets at a time, each with an epoch of its own. */
static void several(MPI_Win window)
{
    int rank, value = 1, got;
    for (rank = 0; rank < world_size; rank++)
        CHECK(MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, window) == MPI_SUCCESS);
    CHECK_ERROR(MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, window), MPI_ERR_RMA_SYNC);
    CHECK_ERROR(MPI_Win_lock_all(0, window), MPI_ERR_RMA_SYNC);
    CHECK_ERROR(MPI_Win_fence(0, window), MPI_ERR_RMA_SYNC);
    CHECK_ERROR(MPI_Win_free(&window), MPI_ERR_RMA_SYNC);
    for (rank = 0; rank < world_size; rank++) {
        CHECK(MPI_Accumulate(&value, 1, MPI_INT, rank, 5, 1, MPI_INT, MPI_SUM, window) == MPI_SUCCESS);
        CHECK(MPI_Win_flush_local(rank, window) == MPI_SUCCESS && MPI_Win_flush_all(window) == MPI_SUCCESS);
        CHECK(MPI_Win_unlock(rank, window) == MPI_SUCCESS);
        CHECK_ERROR(MPI_Win_unlock(rank, window), MPI_ERR_RMA_SYNC);
        CHECK_ERROR(MPI_Win_flush(rank, window), MPI_ERR_RMA_SYNC);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(MPI_Win_lock(MPI_LOCK_SHARED, world_rank, 0, window) == MPI_SUCCESS);
    CHECK(MPI_Get(&got, 1, MPI_INT, world_rank, 5, 1, MPI_INT, window) == MPI_SUCCESS && got == world_size);
    CHECK(MPI_Win_unlock(world_rank, window) == MPI_SUCCESS);
    CHECK(MPI_Win_lock(MPI_LOCK_SHARED, MPI_PROC_NULL, 0, window) == MPI_SUCCESS);
    CHECK(MPI_Win_unlock(MPI_PROC_NULL, window) == MPI_SUCCESS);
    CHECK_ERROR(MPI_Win_lock(4711, 0, 0, window), MPI_ERR_LOCKTYPE);
    CHECK_ERROR(MPI_Win_lock(MPI_LOCK_SHARED, world_size, 0, window), MPI_ERR_RANK);
    CHECK_ERROR(MPI_Win_lock(MPI_LOCK_SHARED, 0, 12345678, window), MPI_ERR_ASSERT);
    CHECK_ERROR(MPI_Win_unlock_all(window), MPI_ERR_RMA_SYNC);
    CHECK_ERROR(MPI_Win_flush_all(window), MPI_ERR_RMA_SYNC);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* A target that makes no call, if others need none: it looks at its own memory until all others have used it. */
static void passive(MPI_Win window, volatile int *memory)
{
    int one = 1, got, before;
    if (world_rank == 0) {
        while (memory[6] < world_size - 1)
            if (!serves_without_calls())
                MPI_Iprobe(0, 0, MPI_COMM_SELF, &got, MPI_STATUS_IGNORE);
        MPI_Win_sync(window);
        CHECK(memory[7] == 3 * (world_size - 1));
    } else {
        CHECK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, window) == MPI_SUCCESS);
        CHECK(MPI_Get(&got, 1, MPI_INT, 0, 7, 1, MPI_INT, window) == MPI_SUCCESS);
        got++;
        CHECK(MPI_Put(&got, 1, MPI_INT, 0, 7, 1, MPI_INT, window) == MPI_SUCCESS);
        CHECK(MPI_Win_unlock(0, window) == MPI_SUCCESS);
        CHECK(MPI_Win_lock_all(0, window) == MPI_SUCCESS);
        CHECK(MPI_Accumulate(&one, 1, MPI_INT, 0, 8, 1, MPI_INT, MPI_SUM, window) == MPI_SUCCESS);
        CHECK(MPI_Win_unlock_all(window) == MPI_SUCCESS);
        CHECK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, window) == MPI_SUCCESS);
        CHECK(MPI_Get(&got, 1, MPI_INT, 0, 7, 1, MPI_INT, window) == MPI_SUCCESS);
        got += 2;
        CHECK(MPI_Put(&got, 1, MPI_INT, 0, 7, 1, MPI_INT, window) == MPI_SUCCESS);
        CHECK(MPI_Win_flush(0, window) == MPI_SUCCESS);
        CHECK(MPI_Fetch_and_op(&one, &before, MPI_INT, 0, 6, MPI_SUM, window) == MPI_SUCCESS);
        CHECK(before < world_size - 1);
        CHECK(MPI_Win_unlock(0, window) == MPI_SUCCESS);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
    int kind;
    init(&argc, &argv);
    for (kind = 0; kind < MEMORY_KINDS; kind++) {
        void *memory;
        MPI_Win window;
        if (!has_kind(kind))
            continue;
        window = make_window(kind, SLOTS * sizeof(int), sizeof(int), &memory);
        exclusive(window, memory);
        shared(window);
        unchecked(window, memory);
        several(window);
        passive(window, memory);
        free_window(kind, &window, memory);
    }
    MPI_Finalize();
    return 0;
}
