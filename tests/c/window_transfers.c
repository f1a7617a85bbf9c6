/* Put and get in every kind of memory, with datatypes on both sides, units of displacement, large counts and requests, and what is out of range
   (MPI-5.0 sections 12.3 and 12.3.5). */
#include "window.h"

enum { INTS = 1000 };

static int left, right;

static void contiguous(MPI_Win window, int *memory)
{
    int values[INTS], i;
    for (i = 0; i < INTS; i++)
        values[i] = world_rank * INTS + i;
    CHECK(MPI_Win_fence(MPI_MODE_NOPRECEDE, window) == MPI_SUCCESS);
    CHECK(MPI_Put(values, INTS, MPI_INT, right, 0, INTS, MPI_INT, window) == MPI_SUCCESS);
    CHECK(MPI_Win_fence(0, window) == MPI_SUCCESS);
    for (i = 0; i < INTS; i++)
        CHECK(memory[i] == left * INTS + i);
    memset(values, 0, sizeof values);
    CHECK(MPI_Get(values + 1, 3, MPI_INT, right, 5, 3, MPI_INT, window) == MPI_SUCCESS);
    CHECK(MPI_Win_fence(MPI_MODE_NOSUCCEED, window) == MPI_SUCCESS);
    CHECK(values[0] == 0 && values[4] == 0);
    for (i = 0; i < 3; i++)
        CHECK(values[1 + i] == world_rank * INTS + 5 + i);
}

/* A column of a matrix goes to a row, a row to a column, and a column to a column. Neighbours of what is written stay as they are. */
static void scattered(MPI_Win window, int *memory)
{
    enum { SIDE = 30 };
    int values[SIDE * SIDE], i, j;
    MPI_Datatype column;
    MPI_Type_vector(SIDE, 1, SIDE, MPI_INT, &column);
    MPI_Type_commit(&column);
    for (i = 0; i < SIDE * SIDE; i++)
        values[i] = i + 1;
    memset(memory, 0, INTS * sizeof(int));
    CHECK(MPI_Win_fence(0, window) == MPI_SUCCESS);
    CHECK(MPI_Put(values + 2, 1, column, right, 0, SIDE, MPI_INT, window) == MPI_SUCCESS);
    CHECK(MPI_Put(values, SIDE, MPI_INT, right, SIDE + 1, 1, column, window) == MPI_SUCCESS);
    CHECK(MPI_Win_fence(0, window) == MPI_SUCCESS);
    for (j = 0; j < SIDE; j++)
        CHECK(memory[j] == j * SIDE + 3);
    for (i = 0; i < SIDE; i++)
        for (j = 0; j < SIDE; j++)
            CHECK(memory[SIDE + i * SIDE + j] == (j == 1 ? i + 1 : 0));
    memset(values, 0, sizeof values);
    CHECK(MPI_Win_fence(0, window) == MPI_SUCCESS);
    CHECK(MPI_Get(values + 4, 1, column, right, SIDE + 1, 1, column, window) == MPI_SUCCESS);
    CHECK(MPI_Win_fence(0, window) == MPI_SUCCESS);
    for (i = 0; i < SIDE; i++)
        for (j = 0; j < SIDE; j++)
            CHECK(values[i * SIDE + j] == (j == 4 ? i + 1 : 0));
    MPI_Type_free(&column);
}

static void requests(MPI_Win window, int *memory)
{
    int value = 100 + world_rank, got = -1, code;
    MPI_Request request[2];
    MPI_Status status;
    memory[7] = -1;
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(MPI_Win_lock_all(0, window) == MPI_SUCCESS);
    CHECK(MPI_Rput(&value, 1, MPI_INT, right, 7, 1, MPI_INT, window, &request[0]) == MPI_SUCCESS);
    CHECK(request[0] != MPI_REQUEST_NULL);
    CHECK(MPI_Wait(&request[0], &status) == MPI_SUCCESS && request[0] == MPI_REQUEST_NULL);
    CHECK(MPI_Rget(&got, 1, MPI_INT, right, 7, 1, MPI_INT, window, &request[0]) == MPI_SUCCESS);
    CHECK(MPI_Rput(&value, 1, MPI_INT, MPI_PROC_NULL, 7, 1, MPI_INT, window, &request[1]) == MPI_SUCCESS);
    CHECK(MPI_Win_unlock_all(window) == MPI_SUCCESS);
    /* Requests may be completed after the epoch. */
    code = MPI_Waitall(2, request, MPI_STATUSES_IGNORE);
    CHECK(code == MPI_SUCCESS && got == value);
    CHECK(MPI_Win_fence(0, window) == MPI_SUCCESS);
    CHECK_ERROR(MPI_Rput(&value, 1, MPI_INT, right, 7, 1, MPI_INT, window, &request[0]), MPI_ERR_RMA_SYNC);
    CHECK(request[0] == MPI_REQUEST_NULL);
    CHECK(MPI_Win_fence(MPI_MODE_NOSUCCEED, window) == MPI_SUCCESS);
}

static void out_of_range(MPI_Win window, int *memory)
{
    int values[4] = {1, 2, 3, 4}, result;
    char text[MPI_MAX_ERROR_STRING];
    int len;
    MPI_Datatype behind;
    memset(memory, 0, INTS * sizeof(int));
    CHECK(MPI_Win_fence(0, window) == MPI_SUCCESS);
    CHECK_ERROR(MPI_Put(values, 2, MPI_INT, right, INTS - 1, 2, MPI_INT, window), MPI_ERR_RMA_RANGE);
    CHECK_ERROR(MPI_Put(values, 1, MPI_INT, right, -1, 1, MPI_INT, window), MPI_ERR_RMA_RANGE);
    CHECK_ERROR(MPI_Get(values, 1, MPI_INT, right, INTS, 1, MPI_INT, window), MPI_ERR_RMA_RANGE);
    CHECK_ERROR(MPI_Get(values, 1, MPI_INT, right, (MPI_Aint)1 << 62, 1, MPI_INT, window), MPI_ERR_RMA_RANGE);
    CHECK_ERROR(MPI_Accumulate(values, 1, MPI_INT, right, INTS, 1, MPI_INT, MPI_SUM, window), MPI_ERR_RMA_RANGE);
    CHECK_ERROR(MPI_Fetch_and_op(values, &result, MPI_INT, right, INTS, MPI_SUM, window), MPI_ERR_RMA_RANGE);
    CHECK_ERROR(MPI_Compare_and_swap(values, values, &result, MPI_INT, right, INTS, window), MPI_ERR_RMA_RANGE);
    MPI_Type_create_hindexed_block(1, 1, &(MPI_Aint){-4}, MPI_INT, &behind);
    MPI_Type_commit(&behind);
    CHECK_ERROR(MPI_Put(values, 1, MPI_INT, right, 0, 1, behind, window), MPI_ERR_RMA_RANGE);
    CHECK(MPI_Put(values, 1, MPI_INT, right, 1, 1, behind, window) == MPI_SUCCESS);
    MPI_Type_free(&behind);
    CHECK(MPI_Win_set_name(window, "strip") == MPI_SUCCESS);
    MPI_Error_string(MPI_Put(values, 2, MPI_INT, right, INTS - 1, 2, MPI_INT, window), text, &len);
    CHECK(strstr(text, "strip") != NULL && strstr(text, "4000 bytes") != NULL);
    /* Nothing is out of range, or nowhere, if there is nothing. */
    CHECK(MPI_Put(values, 0, MPI_INT, right, 0, 0, MPI_INT, window) == MPI_SUCCESS);
    CHECK(MPI_Put(values, 1, MPI_INT, MPI_PROC_NULL, INTS, 1, MPI_INT, window) == MPI_SUCCESS);
    CHECK_ERROR(MPI_Put(values, 1, MPI_INT, world_size, 0, 1, MPI_INT, window), MPI_ERR_RANK);
    CHECK_ERROR(MPI_Put(values, -1, MPI_INT, right, 0, 1, MPI_INT, window), MPI_ERR_COUNT);
    CHECK_ERROR(MPI_Put(values, 1, MPI_INT, right, 0, -1, MPI_INT, window), MPI_ERR_COUNT);
    CHECK_ERROR(MPI_Put(values, 1, MPI_DATATYPE_NULL, right, 0, 1, MPI_INT, window), MPI_ERR_TYPE);
    CHECK_ERROR(MPI_Put(values, 2, MPI_INT, right, 0, 1, MPI_INT, window), MPI_ERR_TRUNCATE);
    CHECK(MPI_Win_fence(MPI_MODE_NOSUCCEED, window) == MPI_SUCCESS);
    CHECK(memory[0] == 1 && memory[1] == 0 && memory[INTS - 1] == 0);
}

/* Each rank has a size and a unit of its own: a displacement counts in the target's. */
static void units(void)
{
    char memory[64];
    MPI_Win window;
    char value = 1 + world_rank;
    int rank;
    memset(memory, 0, sizeof memory);
    CHECK(MPI_Win_create(memory, 16 * (world_rank + 1), world_rank + 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window) == 0);
    CHECK(MPI_Win_fence(0, window) == MPI_SUCCESS);
    CHECK(MPI_Put(&value, 1, MPI_CHAR, right, 15, 1, MPI_CHAR, window) == MPI_SUCCESS);
    CHECK(MPI_Put_c(&value, 1, MPI_CHAR, right, 3, 1, MPI_CHAR, window) == MPI_SUCCESS);
    CHECK(MPI_Win_fence(MPI_MODE_NOSUCCEED, window) == MPI_SUCCESS);
    CHECK(memory[15 * (world_rank + 1)] == 1 + left && memory[3 * (world_rank + 1)] == 1 + left);
    for (rank = 1; rank < 3; rank++)
        CHECK(memory[rank] == 0);
    CHECK(MPI_Win_free(&window) == MPI_SUCCESS);
}

int main(int argc, char **argv)
{
    int kind;
    init(&argc, &argv);
    right = (world_rank + 1) % world_size;
    left = (world_rank + world_size - 1) % world_size;
    for (kind = 0; kind < MEMORY_KINDS; kind++) {
        void *memory;
        MPI_Win window;
        if (!has_kind(kind))
            continue;
        window = make_window(kind, INTS * sizeof(int), sizeof(int), &memory);
        contiguous(window, memory);
        scattered(window, memory);
        requests(window, memory);
        out_of_range(window, memory);
        free_window(kind, &window, memory);
    }
    units();
    MPI_Finalize();
    return 0;
}
