/* Very many operations before anybody waits for them, very long ones, datatypes that take long to describe, and locks that stand in line behind their
   owner's (MPI-5.0 sections 12.3 and 12.5.3). */
#include "window.h"

enum { SHORT = 3000, LONG = 1 << 20, BLOCKS = 20000 };

static int left, right;

/* Each puts a word at a time, and adds to it, more often than the library keeps messages; then nothing is missing. */
static void short_ones(void)
{
    int64_t *memory, value, one = 1;
    int i;
    MPI_Win window;
    CHECK(MPI_Win_allocate(SHORT * sizeof *memory, sizeof *memory, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &window) == MPI_SUCCESS);
    MPI_Win_set_errhandler(window, MPI_ERRORS_RETURN);
    CHECK(MPI_Win_lock_all(0, window) == MPI_SUCCESS);
    for (i = 0; i < SHORT; i++) {
        value = world_rank * SHORT + i;
        CHECK(MPI_Put(&value, 1, MPI_INT64_T, right, i, 1, MPI_INT64_T, window) == MPI_SUCCESS);
        CHECK(MPI_Accumulate(&one, 1, MPI_INT64_T, right, i, 1, MPI_INT64_T, MPI_SUM, window) == MPI_SUCCESS);
    }
    CHECK(MPI_Win_flush(right, window) == MPI_SUCCESS);
    MPI_Barrier(MPI_COMM_WORLD);
    for (i = 0; i < SHORT; i++)
        CHECK(memory[i] == left * SHORT + i + 1);
    CHECK(MPI_Win_unlock_all(window) == MPI_SUCCESS);
    CHECK(MPI_Win_free(&window) == MPI_SUCCESS);
}

/* Long puts, of which several are on their way at once, with short operations between them; then what is asked for behind them. */
static void long_ones(void)
{
    enum { TIMES = 5, WORDS = TIMES * LONG };
    int *memory, *values = malloc(WORDS * sizeof *values), i, time, one = 1, last;
    MPI_Group world, to, from;
    MPI_Win window;
    CHECK(MPI_Win_allocate((WORDS + 1) * sizeof *memory, sizeof *memory, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &window) == MPI_SUCCESS);
    memory[WORDS] = 0;
    for (i = 0; i < WORDS; i++)
        values[i] = world_rank + i;
    CHECK(MPI_Win_fence(0, window) == MPI_SUCCESS);
    for (time = 0; time < TIMES; time++) {
        CHECK(MPI_Put(values + time * LONG, LONG, MPI_INT, right, time * LONG, LONG, MPI_INT, window) == MPI_SUCCESS);
        CHECK(MPI_Accumulate(&one, 1, MPI_INT, right, WORDS, 1, MPI_INT, MPI_SUM, window) == MPI_SUCCESS);
    }
    CHECK(MPI_Win_fence(0, window) == MPI_SUCCESS);
    CHECK(memory[WORDS] == TIMES);
    for (i = 0; i < WORDS; i++)
        CHECK(memory[i] == left + i);
    CHECK(MPI_Win_fence(0, window) == MPI_SUCCESS);
    CHECK(MPI_Accumulate(values, LONG, MPI_INT, right, 0, LONG, MPI_INT, MPI_SUM, window) == MPI_SUCCESS);
    CHECK(MPI_Get(values + LONG + 1, LONG - 2, MPI_INT, left, 1, LONG - 2, MPI_INT, window) == MPI_SUCCESS);
    CHECK(MPI_Win_fence(MPI_MODE_NOSUCCEED, window) == MPI_SUCCESS);
    for (i = 0; i < LONG; i++)
        CHECK(memory[i] == 2 * (left + i));

    /* Once a target is flushed, elements there have come, and those here may change. */
    CHECK(MPI_Win_lock_all(0, window) == MPI_SUCCESS);
    MPI_Barrier(MPI_COMM_WORLD);
    for (time = 0; time < TIMES; time++) {
        for (i = 0; i < LONG; i++)
            values[i] = world_rank + i * time;
        CHECK(MPI_Put(values, LONG, MPI_INT, right, 0, LONG, MPI_INT, window) == MPI_SUCCESS);
        CHECK(MPI_Win_flush(right, window) == MPI_SUCCESS);
        for (i = 0; i < LONG; i++)
            values[i] = -1;
        CHECK(MPI_Get(&last, 1, MPI_INT, right, LONG - 1, 1, MPI_INT, window) == MPI_SUCCESS);
        CHECK(MPI_Win_flush(right, window) == MPI_SUCCESS);
        CHECK(last == world_rank + (LONG - 1) * time);
    }
    CHECK(MPI_Win_unlock_all(window) == MPI_SUCCESS);
    MPI_Barrier(MPI_COMM_WORLD);
    for (i = 0; i < LONG; i++)
        CHECK(memory[i] == left + i * (TIMES - 1));

    /* And once an epoch is complete, whether or not the target has waited for it. */
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_incl(world, 1, &right, &to);
    MPI_Group_incl(world, 1, &left, &from);
    for (time = 0; time < TIMES; time++) {
        for (i = 0; i < LONG; i++)
            values[i] = world_rank + i + time;
        CHECK(MPI_Win_post(from, 0, window) == MPI_SUCCESS);
        CHECK(MPI_Win_start(to, 0, window) == MPI_SUCCESS);
        CHECK(MPI_Put(values, LONG, MPI_INT, right, 0, LONG, MPI_INT, window) == MPI_SUCCESS);
        CHECK(MPI_Win_complete(window) == MPI_SUCCESS);
        memset(values, -1, LONG * sizeof *values);
        CHECK(MPI_Win_wait(window) == MPI_SUCCESS);
        for (i = 0; i < LONG; i++)
            CHECK(memory[i] == left + i + time);
    }
    MPI_Group_free(&from);
    MPI_Group_free(&to);
    MPI_Group_free(&world);
    CHECK(MPI_Win_free(&window) == MPI_SUCCESS);
    free(values);
}

/* Blocks of all lengths at places that nobody can say in few words, of elements of which every second is left out. */
static void described(void)
{
    int *memory, *values = calloc(BLOCKS, sizeof *values), *places = malloc(BLOCKS * sizeof *places), i;
    MPI_Datatype gap, blocks;
    MPI_Win window;
    for (i = 0; i < BLOCKS; i++) {
        values[i] = i + world_rank;
        places[i] = i % 2 ? i : BLOCKS - 2 - i;
    }
    MPI_Type_create_resized(MPI_INT, 0, 2 * sizeof(int), &gap);
    MPI_Type_create_indexed_block(BLOCKS, 1, places, gap, &blocks);
    MPI_Type_commit(&blocks);
    CHECK(MPI_Win_allocate(2 * BLOCKS * sizeof *memory, sizeof *memory, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &window) == MPI_SUCCESS);
    memset(memory, 0, 2 * BLOCKS * sizeof *memory);
    CHECK(MPI_Win_fence(0, window) == MPI_SUCCESS);
    CHECK(MPI_Put(values, BLOCKS, MPI_INT, right, 0, 1, blocks, window) == MPI_SUCCESS);
    CHECK(MPI_Accumulate(values, BLOCKS, MPI_INT, right, 0, 1, blocks, MPI_SUM, window) == MPI_SUCCESS);
    CHECK(MPI_Win_fence(0, window) == MPI_SUCCESS);
    for (i = 0; i < BLOCKS; i++)
        CHECK(memory[2 * places[i]] == 2 * (i + left) && memory[2 * i + 1] == 0);
    memset(values, 0, BLOCKS * sizeof *values);
    CHECK(MPI_Get(values, BLOCKS, MPI_INT, right, 0, 1, blocks, window) == MPI_SUCCESS);
    CHECK(MPI_Win_fence(MPI_MODE_NOSUCCEED, window) == MPI_SUCCESS);
    for (i = 0; i < BLOCKS; i++)
        CHECK(values[i] == 2 * (i + world_rank));
    CHECK(MPI_Win_free(&window) == MPI_SUCCESS);
    MPI_Type_free(&blocks);
    MPI_Type_free(&gap);
    free(places);
    free(values);
}

/* The owner has its own lock when the others ask for it; each that gets it finds what the one before has left. */
static void in_line(void)
{
    int *memory, value, round, got;
    MPI_Win window;
    CHECK(MPI_Win_allocate(sizeof *memory, sizeof *memory, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &window) == MPI_SUCCESS);
    memory[0] = 0;
    for (round = 0; round < 20; round++) {
        if (world_rank == 0)
            CHECK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, window) == MPI_SUCCESS);
        MPI_Barrier(MPI_COMM_WORLD);
        if (world_rank == 0) {
            value = memory[0];
            for (got = 0; got < 1000; got++)
                MPI_Iprobe(0, 0, MPI_COMM_SELF, &value, MPI_STATUS_IGNORE);
            value = memory[0];
            memory[0] = value + 1;
            CHECK(MPI_Win_unlock(0, window) == MPI_SUCCESS);
        } else {
            CHECK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, window) == MPI_SUCCESS);
            CHECK(MPI_Get(&value, 1, MPI_INT, 0, 0, 1, MPI_INT, window) == MPI_SUCCESS);
            CHECK(MPI_Win_flush(0, window) == MPI_SUCCESS);
            CHECK(value > round * world_size && value < (round + 1) * world_size);
            value++;
            CHECK(MPI_Put(&value, 1, MPI_INT, 0, 0, 1, MPI_INT, window) == MPI_SUCCESS);
            CHECK(MPI_Win_unlock(0, window) == MPI_SUCCESS);
        }
        MPI_Barrier(MPI_COMM_WORLD);
    }
    CHECK(world_rank != 0 || memory[0] == 20 * world_size);
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(MPI_Win_free(&window) == MPI_SUCCESS);
}

int main(int argc, char **argv)
{
    init(&argc, &argv);
    right = (world_rank + 1) % world_size;
    left = (world_rank + world_size - 1) % world_size;
    short_ones();
    long_ones();
    described();
    in_line();
    MPI_Finalize();
    return 0;
}
