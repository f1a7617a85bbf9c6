/* Fences, and post, start, complete and wait: in turn on one window, in any order that is legal, and what is not (MPI-5.0 sections 12.5.1 and 12.5.2). */
#include "window.h"

static int value_of(int rank, int round)
{
    return 1000 * rank + round + 1;
}

static MPI_Group group_of(int first, int second)
{
    MPI_Group world, group;
    int ranks[2] = {first, second};
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_incl(world, first == second ? 1 : 2, ranks, &group);
    MPI_Group_free(&world);
    return group;
}

static void fences(MPI_Win window, int *memory)
{
    int round, value, right = (world_rank + 1) % world_size, left = (world_rank + world_size - 1) % world_size;
    CHECK(MPI_Win_fence(MPI_MODE_NOPRECEDE, window) == MPI_SUCCESS);
    for (round = 0; round < 50; round++) {
        value = value_of(world_rank, round);
        CHECK(MPI_Put(&value, 1, MPI_INT, right, round % 2, 1, MPI_INT, window) == MPI_SUCCESS);
        CHECK(MPI_Win_fence(round % 2 ? 0 : MPI_MODE_NOSTORE, window) == MPI_SUCCESS);
        CHECK(memory[round % 2] == value_of(left, round));
    }
    CHECK(MPI_Win_fence(MPI_MODE_NOSTORE | MPI_MODE_NOPUT | MPI_MODE_NOSUCCEED, window) == MPI_SUCCESS);
}

/* Each exposes its memory to its neighbours, and puts to theirs, without waiting for others. */
static void neighbours(MPI_Win window, int *memory)
{
    int round, value, flag, right = (world_rank + 1) % world_size, left = (world_rank + world_size - 1) % world_size;
    MPI_Group group = group_of(left, right);
    for (round = 0; round < 100; round++) {
        CHECK(MPI_Win_post(group, 0, window) == MPI_SUCCESS);
        CHECK(MPI_Win_start(group, 0, window) == MPI_SUCCESS);
        value = value_of(world_rank, round);
        CHECK(MPI_Put(&value, 1, MPI_INT, right, 0, 1, MPI_INT, window) == MPI_SUCCESS);
        CHECK(MPI_Put(&value, 1, MPI_INT, left, 1, 1, MPI_INT, window) == MPI_SUCCESS);
        CHECK(MPI_Win_complete(window) == MPI_SUCCESS);
        if (round % 2) {
            CHECK(MPI_Win_wait(window) == MPI_SUCCESS);
        } else {
            do
                CHECK(MPI_Win_test(window, &flag) == MPI_SUCCESS);
            while (!flag);
        }
        CHECK(memory[0] == value_of(left, round) && memory[1] == value_of(right, round));
    }
    MPI_Group_free(&group);
}

/* Rank 0 gets from all, epoch after epoch: the post of the next one may come early. */
static void many_to_one(MPI_Win window, int *memory)
{
    int round, rank, got;
    MPI_Group world, others;
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_excl(world, 1, &(int){0}, &others);
    for (round = 0; round < 100; round++) {
        if (world_rank == 0) {
            CHECK(MPI_Win_start(others, 0, window) == MPI_SUCCESS);
            for (rank = 1; rank < world_size; rank++) {
                CHECK(MPI_Get(&got, 1, MPI_INT, rank, 2, 1, MPI_INT, window) == MPI_SUCCESS);
                CHECK(got == value_of(rank, round));
            }
            CHECK(MPI_Win_complete(window) == MPI_SUCCESS);
        } else {
            MPI_Group first = group_of(0, 0);
            memory[2] = value_of(world_rank, round);
            CHECK(MPI_Win_post(first, 0, window) == MPI_SUCCESS);
            MPI_Group_free(&first);
            CHECK(MPI_Win_wait(window) == MPI_SUCCESS);
        }
    }
    MPI_Group_free(&world);
    MPI_Group_free(&others);
}

/* Groups without members, and of oneself; what both sides know need not be awaited. */
static void special(MPI_Win window, int *memory)
{
    int value = 7, flag;
    MPI_Group own = group_of(world_rank, world_rank);
    CHECK(MPI_Win_post(MPI_GROUP_EMPTY, 0, window) == MPI_SUCCESS);
    CHECK(MPI_Win_start(MPI_GROUP_EMPTY, 0, window) == MPI_SUCCESS);
    CHECK_ERROR(MPI_Put(&value, 1, MPI_INT, world_rank, 3, 1, MPI_INT, window), MPI_ERR_RMA_SYNC);
    CHECK(MPI_Win_complete(window) == MPI_SUCCESS);
    CHECK(MPI_Win_test(window, &flag) == MPI_SUCCESS && flag);
    CHECK(MPI_Win_post(own, MPI_MODE_NOCHECK, window) == MPI_SUCCESS);
    CHECK(MPI_Win_start(own, MPI_MODE_NOCHECK, window) == MPI_SUCCESS);
    CHECK(MPI_Put(&value, 1, MPI_INT, world_rank, 3, 1, MPI_INT, window) == MPI_SUCCESS);
    CHECK(MPI_Win_test(window, &flag) == MPI_SUCCESS && !flag);
    CHECK(MPI_Win_complete(window) == MPI_SUCCESS && MPI_Win_wait(window) == MPI_SUCCESS && memory[3] == 7);
    MPI_Group_free(&own);
}

/* Kinds of epochs in turn on one window. */
static void mixed(MPI_Win window, int *memory)
{
    int round, value, right = (world_rank + 1) % world_size, left = (world_rank + world_size - 1) % world_size;
    MPI_Group to = group_of(right, right), from = group_of(left, left);
    for (round = 0; round < 10; round++) {
        value = value_of(world_rank, round);
        CHECK(MPI_Win_fence(0, window) == MPI_SUCCESS);
        CHECK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, right, 0, window) == MPI_SUCCESS);
        CHECK(MPI_Put(&value, 1, MPI_INT, right, 0, 1, MPI_INT, window) == MPI_SUCCESS);
        CHECK(MPI_Win_unlock(right, window) == MPI_SUCCESS);
        CHECK(MPI_Win_fence(0, window) == MPI_SUCCESS);
        CHECK(memory[0] == value_of(left, round));
        CHECK(MPI_Win_post(from, 0, window) == MPI_SUCCESS && MPI_Win_start(to, 0, window) == MPI_SUCCESS);
        CHECK(MPI_Put(&value, 1, MPI_INT, right, 1, 1, MPI_INT, window) == MPI_SUCCESS);
        CHECK(MPI_Win_complete(window) == MPI_SUCCESS && MPI_Win_wait(window) == MPI_SUCCESS);
        CHECK(memory[1] == value_of(left, round));
        CHECK(MPI_Win_lock_all(0, window) == MPI_SUCCESS && MPI_Win_unlock_all(window) == MPI_SUCCESS);
        CHECK(MPI_Win_sync(window) == MPI_SUCCESS);
    }
    CHECK(MPI_Win_fence(0, window) == MPI_SUCCESS);
    CHECK(MPI_Put(&value, 1, MPI_INT, right, 1, 1, MPI_INT, window) == MPI_SUCCESS);
    CHECK(MPI_Win_fence(MPI_MODE_NOSUCCEED, window) == MPI_SUCCESS);
    MPI_Group_free(&to);
    MPI_Group_free(&from);
}

static void mistakes(MPI_Win window)
{
    int value = 0, got, flag, len;
    char text[MPI_MAX_ERROR_STRING];
    MPI_Group own = group_of(world_rank, world_rank);
    CHECK_ERROR(MPI_Get(&got, 1, MPI_INT, world_rank, 0, 1, MPI_INT, window), MPI_ERR_RMA_SYNC);
    CHECK_ERROR(MPI_Accumulate(&value, 1, MPI_INT, world_rank, 0, 1, MPI_INT, MPI_SUM, window), MPI_ERR_RMA_SYNC);
    CHECK_ERROR(MPI_Win_complete(window), MPI_ERR_RMA_SYNC);
    CHECK_ERROR(MPI_Win_wait(window), MPI_ERR_RMA_SYNC);
    CHECK_ERROR(MPI_Win_test(window, &flag), MPI_ERR_RMA_SYNC);
    CHECK_ERROR(MPI_Win_fence(12345678, window), MPI_ERR_ASSERT);
    CHECK_ERROR(MPI_Win_start(MPI_GROUP_NULL, 0, window), MPI_ERR_GROUP);
    /* An epoch of a fence that has been used. */
    CHECK(MPI_Win_fence(0, window) == MPI_SUCCESS);
    CHECK(MPI_Put(&value, 1, MPI_INT, world_rank, 5, 1, MPI_INT, window) == MPI_SUCCESS);
    CHECK_ERROR(MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, window), MPI_ERR_RMA_SYNC);
    CHECK_ERROR(MPI_Win_lock_all(0, window), MPI_ERR_RMA_SYNC);
    CHECK_ERROR(MPI_Win_start(own, 0, window), MPI_ERR_RMA_SYNC);
    CHECK_ERROR(MPI_Win_post(own, 0, window), MPI_ERR_RMA_SYNC);
    CHECK_ERROR(MPI_Win_free(&window), MPI_ERR_RMA_SYNC);
    CHECK_ERROR(MPI_Win_flush(0, window), MPI_ERR_RMA_SYNC);
    CHECK(MPI_Win_fence(MPI_MODE_NOSUCCEED, window) == MPI_SUCCESS);
    CHECK_ERROR(MPI_Put(&value, 1, MPI_INT, world_rank, 5, 1, MPI_INT, window), MPI_ERR_RMA_SYNC);
    /* An exposure epoch, and then an access epoch, too. */
    CHECK(MPI_Win_post(own, 0, window) == MPI_SUCCESS);
    CHECK_ERROR(MPI_Win_post(own, 0, window), MPI_ERR_RMA_SYNC);
    CHECK_ERROR(MPI_Win_fence(0, window), MPI_ERR_RMA_SYNC);
    CHECK_ERROR(MPI_Win_free(&window), MPI_ERR_RMA_SYNC);
    CHECK(MPI_Win_start(own, 0, window) == MPI_SUCCESS);
    CHECK_ERROR(MPI_Win_start(own, 0, window), MPI_ERR_RMA_SYNC);
    CHECK_ERROR(MPI_Win_lock(MPI_LOCK_SHARED, world_rank, 0, window), MPI_ERR_RMA_SYNC);
    MPI_Error_string(MPI_Win_unlock(world_rank, window), text, &len);
    CHECK(strstr(text, "MPI_Win_unlock") != NULL && strstr(text, "MPI_Win_start is open") != NULL);
    if (world_size > 1)
        CHECK_ERROR(MPI_Put(&value, 1, MPI_INT, (world_rank + 1) % world_size, 5, 1, MPI_INT, window), MPI_ERR_RMA_SYNC);
    CHECK(MPI_Win_complete(window) == MPI_SUCCESS && MPI_Win_wait(window) == MPI_SUCCESS);
    MPI_Group_free(&own);
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
        window = make_window(kind, 8 * sizeof(int), sizeof(int), &memory);
        fences(window, memory);
        neighbours(window, memory);
        MPI_Barrier(MPI_COMM_WORLD);
        many_to_one(window, memory);
        special(window, memory);
        mixed(window, memory);
        mistakes(window);
        free_window(kind, &window, memory);
    }
    MPI_Finalize();
    return 0;
}
