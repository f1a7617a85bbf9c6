/* Memory that is attached and detached (MPI-5.0 section 12.2.5), and overlapping windows on the same memory. */
#include "window.h"

enum { REGIONS = 200 };

static MPI_Aint tell(const void *place)
{
    MPI_Aint address, addresses[64];
    MPI_Get_address(place, &address);
    MPI_Allgather(&address, 1, MPI_AINT, addresses, 1, MPI_AINT, MPI_COMM_WORLD);
    return addresses[(world_rank + 1) % world_size];
}

static void attached(MPI_Win window, int *memory, int ints)
{
    int i, right = (world_rank + 1) % world_size, left = (world_rank + world_size - 1) % world_size, value, got, result;
    MPI_Aint there;
    CHECK(MPI_Win_attach(window, memory, ints * sizeof(int)) == MPI_SUCCESS);
    CHECK_ERROR(MPI_Win_attach(window, memory + 1, sizeof(int)), MPI_ERR_RMA_ATTACH);
    for (i = 0; i < ints; i++)
        memory[i] = -1;
    there = tell(memory);
    CHECK(MPI_Win_lock_all(0, window) == MPI_SUCCESS);
    value = 50 + world_rank;
    CHECK(MPI_Put(&value, 1, MPI_INT, right, MPI_Aint_add(there, 2 * sizeof(int)), 1, MPI_INT, window) == MPI_SUCCESS);
    CHECK(MPI_Get(&got, 1, MPI_INT, right, there + 2 * sizeof(int), 1, MPI_INT, window) == MPI_SUCCESS && got == value);
    CHECK(MPI_Accumulate(&value, 1, MPI_INT, right, there, 1, MPI_INT, MPI_SUM, window) == MPI_SUCCESS);
    CHECK(MPI_Fetch_and_op(&value, &result, MPI_INT, right, there, MPI_NO_OP, window) == MPI_SUCCESS && result == value - 1);
    CHECK_ERROR(MPI_Put(&value, 1, MPI_INT, right, there + ints * sizeof(int), 1, MPI_INT, window), MPI_ERR_RMA_RANGE);
    CHECK_ERROR(MPI_Put(&value, 1, MPI_INT, right, there - 1, 1, MPI_INT, window), MPI_ERR_RMA_RANGE);
    CHECK_ERROR(MPI_Put(&value, 1, MPI_INT, right, 0, 1, MPI_INT, window), MPI_ERR_RMA_RANGE);
    CHECK(MPI_Win_unlock_all(window) == MPI_SUCCESS);
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(memory[0] == 49 + left && memory[1] == -1 && memory[2] == 50 + left);
    CHECK(MPI_Win_detach(window, memory) == MPI_SUCCESS);
    CHECK_ERROR(MPI_Win_detach(window, memory), MPI_ERR_RMA_ATTACH);
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(MPI_Win_lock(MPI_LOCK_SHARED, right, 0, window) == MPI_SUCCESS);
    CHECK_ERROR(MPI_Put(&value, 1, MPI_INT, right, there, 1, MPI_INT, window), MPI_ERR_RMA_RANGE);
    CHECK(MPI_Win_unlock(right, window) == MPI_SUCCESS);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* More regions than the first list has room for, while others use them. */
static void many(MPI_Win window)
{
    int *memory = calloc(REGIONS * 4, sizeof(int)), i, right = (world_rank + 1) % world_size;
    MPI_Aint there = tell(memory);
    CHECK(MPI_Win_lock_all(0, window) == MPI_SUCCESS);
    for (i = 0; i < REGIONS; i++) {
        CHECK(MPI_Win_attach(window, memory + 4 * i, 2 * sizeof(int)) == MPI_SUCCESS);
        MPI_Barrier(MPI_COMM_WORLD);
        CHECK(MPI_Put(&i, 1, MPI_INT, right, there + (4 * i + 1) * sizeof(int), 1, MPI_INT, window) == MPI_SUCCESS);
        CHECK_ERROR(MPI_Put(&i, 1, MPI_INT, right, there + (4 * i + 2) * sizeof(int), 1, MPI_INT, window), MPI_ERR_RMA_RANGE);
    }
    CHECK(MPI_Win_unlock_all(window) == MPI_SUCCESS);
    MPI_Barrier(MPI_COMM_WORLD);
    for (i = 0; i < REGIONS; i++) {
        CHECK(memory[4 * i + 1] == i && memory[4 * i] == 0 && memory[4 * i + 2] == 0);
        CHECK(MPI_Win_detach(window, memory + 4 * i) == MPI_SUCCESS);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    free(memory);
}

/* Regions that lie side by side are as good as one. */
static void side_by_side(MPI_Win window)
{
    static int memory[6];
    int values[4] = {1, 2, 3, 4}, right = (world_rank + 1) % world_size;
    MPI_Aint there = tell(memory);
    CHECK(MPI_Win_attach(window, memory + 3, 3 * sizeof(int)) == MPI_SUCCESS);
    CHECK(MPI_Win_attach(window, memory, 3 * sizeof(int)) == MPI_SUCCESS);
    CHECK(MPI_Win_fence(0, window) == MPI_SUCCESS);
    CHECK(MPI_Put(values, 4, MPI_INT, right, there + sizeof(int), 4, MPI_INT, window) == MPI_SUCCESS);
    CHECK_ERROR(MPI_Put(values, 4, MPI_INT, right, there + 3 * sizeof(int), 4, MPI_INT, window), MPI_ERR_RMA_RANGE);
    CHECK(MPI_Win_fence(MPI_MODE_NOSUCCEED, window) == MPI_SUCCESS);
    CHECK(memory[0] == 0 && memory[1] == 1 && memory[3] == 3 && memory[4] == 4 && memory[5] == 0);
    CHECK(MPI_Win_detach(window, memory) == MPI_SUCCESS && MPI_Win_detach(window, memory + 3) == MPI_SUCCESS);
}

/* A datatype of addresses, from the beginning of memory. */
static void addresses(MPI_Win window)
{
    static int memory[10];
    int value[2] = {3, 4}, right = (world_rank + 1) % world_size;
    MPI_Aint there = tell(memory);
    MPI_Aint places[2] = {there + sizeof(int), there + 4 * sizeof(int)};
    MPI_Datatype type;
    MPI_Type_create_hindexed_block(2, 1, places, MPI_INT, &type);
    MPI_Type_commit(&type);
    CHECK(MPI_Win_attach(window, memory, sizeof memory) == MPI_SUCCESS);
    CHECK(MPI_Win_fence(0, window) == MPI_SUCCESS);
    CHECK(MPI_Put(value, 2, MPI_INT, right, 0, 1, type, window) == MPI_SUCCESS);
    CHECK(MPI_Win_fence(MPI_MODE_NOSUCCEED, window) == MPI_SUCCESS);
    CHECK(memory[0] == 0 && memory[1] == 3 && memory[4] == 4 && memory[5] == 0);
    CHECK(MPI_Win_detach(window, memory) == MPI_SUCCESS);
    MPI_Type_free(&type);
}

/* Two windows on the same memory: operations through one and the other are atomic with each other. */
static void overlapping(void)
{
    static int memory[4];
    MPI_Win windows[2];
    int i, one = 1, window;
    for (window = 0; window < 2; window++)
        CHECK(MPI_Win_create(memory, sizeof memory, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &windows[window]) == 0);
    for (window = 0; window < 2; window++)
        CHECK(MPI_Win_lock_all(0, windows[window]) == MPI_SUCCESS);
    for (i = 0; i < 1000; i++)
        CHECK(MPI_Accumulate(&one, 1, MPI_INT, 0, 1, 1, MPI_INT, MPI_SUM, windows[(i + world_rank) % 2]) == MPI_SUCCESS);
    for (window = 0; window < 2; window++)
        CHECK(MPI_Win_unlock_all(windows[window]) == MPI_SUCCESS);
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(world_rank != 0 || memory[1] == 1000 * world_size);
    for (window = 0; window < 2; window++)
        CHECK(MPI_Win_free(&windows[window]) == MPI_SUCCESS);
}

int main(int argc, char **argv)
{
    int stack[10], *large = malloc(1 << 20), *small = malloc(40), size, unit;
    MPI_Aint bytes;
    void *base;
    MPI_Win window, fixed;
    init(&argc, &argv);
    CHECK(MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &window) == MPI_SUCCESS);
    CHECK(MPI_Win_set_errhandler(window, MPI_ERRORS_RETURN) == MPI_SUCCESS);
    size = 1 << 18;
    attached(window, large, size);
    attached(window, small, 10);
    attached(window, stack, 10);
    many(window);
    side_by_side(window);
    addresses(window);
    CHECK_ERROR(MPI_Win_shared_query(window, 0, &bytes, &unit, &base), MPI_ERR_RMA_FLAVOR);
    CHECK(MPI_Win_free(&window) == MPI_SUCCESS);
    CHECK(MPI_Win_create(stack, sizeof stack, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &fixed) == MPI_SUCCESS);
    CHECK(MPI_Win_set_errhandler(fixed, MPI_ERRORS_RETURN) == MPI_SUCCESS);
    CHECK_ERROR(MPI_Win_attach(fixed, small, 4), MPI_ERR_RMA_FLAVOR);
    CHECK_ERROR(MPI_Win_detach(fixed, small), MPI_ERR_RMA_FLAVOR);
    CHECK(MPI_Win_free(&fixed) == MPI_SUCCESS);
    overlapping();
    free(large);
    free(small);
    MPI_Finalize();
    return 0;
}
