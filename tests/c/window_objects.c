/* Windows as objects: flavours, attributes, names, info, groups, error handlers, queries, and how they are made and freed (MPI-5.0 sections 7.7,
   7.8, 9.3 and 12.2). */
#include "window.h"

static int deleted;

static int delete_function(MPI_Win window, int keyval, void *value, void *extra)
{
    CHECK(window != MPI_WIN_NULL && value == (void *)&deleted && extra == (void *)&world_rank);
    (void)keyval;
    deleted++;
    return MPI_SUCCESS;
}

static void attributes(MPI_Win window, void *base, MPI_Aint size, int unit, int flavour)
{
    void *value;
    int flag;
    CHECK(MPI_Win_get_attr(window, MPI_WIN_BASE, &value, &flag) == MPI_SUCCESS && flag && value == base);
    CHECK(MPI_Win_get_attr(window, MPI_WIN_SIZE, &value, &flag) == MPI_SUCCESS && flag && *(MPI_Aint *)value == size);
    CHECK(MPI_Win_get_attr(window, MPI_WIN_DISP_UNIT, &value, &flag) == MPI_SUCCESS && flag && *(int *)value == unit);
    CHECK(MPI_Win_get_attr(window, MPI_WIN_CREATE_FLAVOR, &value, &flag) == MPI_SUCCESS && flag);
    CHECK(*(int *)value == flavour);
    CHECK(MPI_Win_get_attr(window, MPI_WIN_MODEL, &value, &flag) == MPI_SUCCESS && flag);
    CHECK(*(int *)value == MPI_WIN_UNIFIED);
}

static void flavours(void)
{
    MPI_Win window;
    char memory[10];
    void *base;
    MPI_Aint size;
    int unit;
    CHECK(MPI_Win_create(memory, sizeof memory, 3, MPI_INFO_NULL, MPI_COMM_WORLD, &window) == MPI_SUCCESS);
    attributes(window, memory, sizeof memory, 3, MPI_WIN_FLAVOR_CREATE);
    CHECK(MPI_Win_shared_query(window, world_rank, &size, &unit, &base) == MPI_SUCCESS);
    CHECK(size == sizeof memory && unit == 3 && base == memory);
    CHECK(MPI_Win_free(&window) == MPI_SUCCESS);
    CHECK(MPI_Win_create(NULL, 0, 1, MPI_INFO_NULL, MPI_COMM_SELF, &window) == MPI_SUCCESS);
    attributes(window, NULL, 0, 1, MPI_WIN_FLAVOR_CREATE);
    CHECK(MPI_Win_free(&window) == MPI_SUCCESS);
    CHECK(MPI_Win_allocate(100 * world_rank, 4, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &window) == MPI_SUCCESS);
    CHECK(world_rank == 0 || (MPI_Aint)base % 64 == 0);
    attributes(window, base, 100 * world_rank, 4, MPI_WIN_FLAVOR_ALLOCATE);
    CHECK(MPI_Win_free(&window) == MPI_SUCCESS);
    CHECK(MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &window) == MPI_SUCCESS);
    attributes(window, MPI_BOTTOM, 0, 1, MPI_WIN_FLAVOR_DYNAMIC);
    CHECK(MPI_Win_free(&window) == MPI_SUCCESS && window == MPI_WIN_NULL);
}

/* The segments of ranks lie one behind the other, and every rank sees all of them. */
static void shared(int apart)
{
    MPI_Win window;
    MPI_Info info;
    char *base, *other, *before = NULL;
    MPI_Aint size, end = 0;
    int unit, rank, mine = 10 + world_rank;
    MPI_Info_create(&info);
    MPI_Info_set(info, "alloc_shared_noncontig", apart ? "true" : "false");
    CHECK(MPI_Win_allocate_shared(mine, 1, info, MPI_COMM_WORLD, &base, &window) == MPI_SUCCESS);
    MPI_Info_free(&info);
    attributes(window, base, mine, 1, MPI_WIN_FLAVOR_SHARED);
    memset(base, world_rank + 1, mine);
    CHECK(MPI_Win_fence(0, window) == MPI_SUCCESS);
    for (rank = 0; rank < world_size; rank++) {
        CHECK(MPI_Win_shared_query(window, rank, &size, &unit, &other) == MPI_SUCCESS);
        CHECK(size == 10 + rank && unit == 1 && other[0] == rank + 1 && other[size - 1] == rank + 1);
        CHECK(rank != world_rank || other == base);
        CHECK(apart || rank == 0 || other == before + end);
        before = other;
        end = size;
    }
    CHECK(MPI_Win_shared_query(window, MPI_PROC_NULL, &size, &unit, &other) == MPI_SUCCESS);
    CHECK(size == 10 && other[0] == 1);
    CHECK(MPI_Win_fence(MPI_MODE_NOSUCCEED, window) == MPI_SUCCESS);
    CHECK(MPI_Win_free(&window) == MPI_SUCCESS);
}

/* Only the last rank has memory. */
static void shared_by_one(void)
{
    MPI_Win window;
    int *base, *other, unit;
    MPI_Aint size, mine = world_rank == world_size - 1 ? 2 * sizeof(int) : 0;
    CHECK(MPI_Win_allocate_shared(mine, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &base, &window) == MPI_SUCCESS);
    CHECK(MPI_Win_shared_query(window, MPI_PROC_NULL, &size, &unit, &other) == MPI_SUCCESS);
    CHECK(size == 2 * sizeof(int) && unit == sizeof(int) && other != NULL);
    CHECK(mine == 0 || other == base);
    CHECK(MPI_Win_free(&window) == MPI_SUCCESS);
}

/* Ranks that have no memory in common have no window of such memory, and see nothing of each other's in others. */
static void apart(void)
{
    MPI_Win window;
    void *base, *other;
    MPI_Aint size;
    int unit, rank, seen = 0;
    CHECK_ERROR(MPI_Win_allocate_shared(8, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &window), MPI_ERR_RMA_SHARED);
    CHECK(window == MPI_WIN_NULL);
    CHECK(MPI_Win_allocate(8, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &window) == MPI_SUCCESS);
    for (rank = 0; rank < world_size; rank++) {
        CHECK(MPI_Win_shared_query(window, rank, &size, &unit, &other) == MPI_SUCCESS);
        CHECK(size == (other == NULL ? 0 : 8) && (rank != world_rank || other == base));
        seen += other != NULL;
    }
    CHECK(seen < world_size);
    CHECK(MPI_Win_free(&window) == MPI_SUCCESS);
}

static void names_and_info(MPI_Win window)
{
    static const char *const keys[] = {"no_locks", "accumulate_ordering", "accumulate_ops", "mpi_accumulate_granularity",
        "same_size", "same_disp_unit", "alloc_shared_noncontig", "mpi_minimum_memory_alignment"};
    char name[MPI_MAX_OBJECT_NAME], value[MPI_MAX_INFO_VAL + 1];
    int len, flag;
    size_t i;
    MPI_Info info;
    CHECK(MPI_Win_get_name(window, name, &len) == MPI_SUCCESS && len == 0 && name[0] == 0);
    CHECK(MPI_Win_set_name(window, "halo") == MPI_SUCCESS);
    CHECK(MPI_Win_get_name(window, name, &len) == MPI_SUCCESS && len == 4 && strcmp(name, "halo") == 0);
    CHECK(MPI_Win_get_name(MPI_WIN_NULL, name, &len) == MPI_SUCCESS && strcmp(name, "MPI_WIN_NULL") == 0);
    CHECK(MPI_Win_get_info(window, &info) == MPI_SUCCESS);
    for (i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        CHECK(MPI_Info_get(info, keys[i], MPI_MAX_INFO_VAL, value, &flag) == MPI_SUCCESS && flag);
    }
    CHECK(MPI_Info_get(info, "accumulate_ops", MPI_MAX_INFO_VAL, value, &flag) == MPI_SUCCESS);
    CHECK(strcmp(value, "same_op_no_op") == 0);
    MPI_Info_free(&info);
    MPI_Info_create(&info);
    MPI_Info_set(info, "accumulate_ops", "same_op");
    MPI_Info_set(info, "no such key", "yes");
    CHECK(MPI_Win_set_info(window, info) == MPI_SUCCESS);
    MPI_Info_free(&info);
    CHECK(MPI_Win_get_info(window, &info) == MPI_SUCCESS);
    CHECK(MPI_Info_get(info, "accumulate_ops", MPI_MAX_INFO_VAL, value, &flag) == MPI_SUCCESS && flag);
    CHECK(strcmp(value, "same_op") == 0);
    CHECK(MPI_Info_get(info, "no such key", MPI_MAX_INFO_VAL, value, &flag) == MPI_SUCCESS && !flag);
    MPI_Info_free(&info);
}

static void own_attributes(MPI_Win window)
{
    void *value;
    int keyval, flag;
    CHECK(MPI_Win_create_keyval(MPI_WIN_NULL_COPY_FN, delete_function, &keyval, &world_rank) == MPI_SUCCESS);
    CHECK(MPI_Win_get_attr(window, keyval, &value, &flag) == MPI_SUCCESS && !flag);
    CHECK(MPI_Win_set_attr(window, keyval, &deleted) == MPI_SUCCESS);
    CHECK(MPI_Win_get_attr(window, keyval, &value, &flag) == MPI_SUCCESS && flag && value == &deleted);
    CHECK(MPI_Win_delete_attr(window, keyval) == MPI_SUCCESS && deleted == 1);
    CHECK_ERROR(MPI_Win_delete_attr(window, keyval), MPI_ERR_KEYVAL);
    CHECK_ERROR(MPI_Win_set_attr(window, MPI_WIN_SIZE, &deleted), MPI_ERR_KEYVAL);
    CHECK(MPI_Win_set_attr(window, keyval, &deleted) == MPI_SUCCESS);
    CHECK(MPI_Win_free_keyval(&keyval) == MPI_SUCCESS && keyval == MPI_KEYVAL_INVALID);
}

static MPI_Win blamed;
static int blamed_code;

static void handler(MPI_Win *window, int *code, ...)
{
    blamed = *window;
    blamed_code = *code;
}

static void error_handlers(MPI_Win window)
{
    MPI_Errhandler errhandler, got;
    char byte;
    int class;
    CHECK(MPI_Win_get_errhandler(window, &got) == MPI_SUCCESS && got == MPI_ERRORS_ARE_FATAL);
    CHECK(MPI_Win_create_errhandler(handler, &errhandler) == MPI_SUCCESS);
    CHECK(MPI_Win_set_errhandler(window, errhandler) == MPI_SUCCESS);
    CHECK(MPI_Win_get_errhandler(window, &got) == MPI_SUCCESS && got == errhandler);
    CHECK(MPI_Errhandler_free(&got) == MPI_SUCCESS && MPI_Errhandler_free(&errhandler) == MPI_SUCCESS);
    CHECK_ERROR(MPI_Put(&byte, 1, MPI_CHAR, world_rank, 0, 1, MPI_CHAR, window), MPI_ERR_RMA_SYNC);
    MPI_Error_class(blamed_code, &class);
    CHECK(blamed == window && class == MPI_ERR_RMA_SYNC);
    blamed = MPI_WIN_NULL;
    CHECK(MPI_Win_call_errhandler(window, MPI_ERR_OTHER) == MPI_SUCCESS && blamed == window);
    CHECK(MPI_Win_set_errhandler(window, MPI_ERRORS_RETURN) == MPI_SUCCESS);
}

static void groups(MPI_Win window)
{
    MPI_Group world, group;
    int result;
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    CHECK(MPI_Win_get_group(window, &group) == MPI_SUCCESS);
    CHECK(MPI_Group_compare(world, group, &result) == MPI_SUCCESS && result == MPI_IDENT);
    MPI_Group_free(&world);
    MPI_Group_free(&group);
}

static void mistakes(void)
{
    MPI_Win window;
    void *base;
    char memory[8];
    CHECK_ERROR(MPI_Win_create(memory, -1, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window), MPI_ERR_SIZE);
    CHECK_ERROR(MPI_Win_create(memory, 1, 0, MPI_INFO_NULL, MPI_COMM_WORLD, &window), MPI_ERR_DISP);
    CHECK_ERROR(MPI_Win_allocate(1, -1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &window), MPI_ERR_DISP);
    CHECK_ERROR(MPI_Win_allocate(1, 1, MPI_INFO_NULL, MPI_COMM_NULL, &base, &window), MPI_ERR_COMM);
    CHECK(window == MPI_WIN_NULL);
    CHECK_ERROR(MPI_Win_free(&window), MPI_ERR_WIN);
    CHECK_ERROR(MPI_Win_sync(window), MPI_ERR_WIN);
}

int main(int argc, char **argv)
{
    MPI_Win window, copy;
    int memory = 0;
    init(&argc, &argv);
    flavours();
    if (shares_memory) {
        shared(0);
        shared(1);
        shared_by_one();
    } else {
        apart();
    }
    mistakes();
    CHECK(MPI_Win_create(&memory, sizeof memory, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window) == MPI_SUCCESS);
    error_handlers(window);
    names_and_info(window);
    own_attributes(window);
    groups(window);
    CHECK(MPI_Win_fromint(MPI_Win_toint(window)) == window);
    copy = window;
    CHECK(MPI_Win_free(&window) == MPI_SUCCESS && deleted == 2);
    CHECK_ERROR(MPI_Win_free(&copy), MPI_ERR_WIN);
    MPI_Finalize();
    return 0;
}
