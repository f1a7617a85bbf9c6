/* Attributes of communicators (MPI-5.0 section 7.7), their old calls, and those that MPI predefines (section 9.1.2). */
#include "check.h"

static int copied, deleted, at_end, last_keyval;
static void *last_extra, *last_value;
static MPI_Comm last_comm;
static int extra;

static int copy(MPI_Comm comm, int keyval, void *extra_state, void *in, void *out, int *flag)
{
    copied++;
    last_comm = comm;
    last_keyval = keyval;
    last_extra = extra_state;
    *(void **)out = (char *)in + 1;
    *flag = 1;
    return MPI_SUCCESS;
}

static int delete(MPI_Comm comm, int keyval, void *value, void *extra_state)
{
    deleted++;
    last_comm = comm;
    last_keyval = keyval;
    last_extra = extra_state;
    last_value = value;
    return MPI_SUCCESS;
}

static int refuse(MPI_Comm comm, int keyval, void *value, void *extra_state)
{
    (void)comm, (void)keyval, (void)value;
    return *(int *)extra_state;
}

static int expect(MPI_Comm comm, int keyval, void *value, void *extra_state)
{
    int flag = 1, alone;
    (void)keyval, (void)extra_state;
    /* The last that was set goes first, while MPI still works. */
    CHECK(comm == MPI_COMM_SELF && value == (void *)(intptr_t)(3 - at_end));
    CHECK(MPI_Finalized(&flag) == MPI_SUCCESS && !flag && MPI_Comm_size(comm, &alone) == MPI_SUCCESS && alone == 1);
    at_end++;
    return MPI_SUCCESS;
}

static void *value_of(MPI_Comm comm, int keyval)
{
    void *value = NULL;
    int flag = -1;
    CHECK(MPI_Comm_get_attr(comm, keyval, &value, &flag) == MPI_SUCCESS && (flag == 0 || flag == 1));
    return flag ? value : NULL;
}

static void life(void)
{
    MPI_Comm first, second, third;
    char place[4];
    int keyval, silent, plain, kept;
    CHECK(MPI_Comm_create_keyval(copy, delete, &keyval, &extra) == MPI_SUCCESS && keyval != MPI_KEYVAL_INVALID);
    CHECK(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &silent, NULL) == MPI_SUCCESS);
    CHECK(MPI_Comm_create_keyval(MPI_COMM_DUP_FN, MPI_COMM_NULL_DELETE_FN, &plain, NULL) == MPI_SUCCESS);
    MPI_Comm_dup(MPI_COMM_WORLD, &first);
    CHECK(value_of(first, keyval) == NULL);
    CHECK(MPI_Comm_set_attr(first, keyval, place) == MPI_SUCCESS && value_of(first, keyval) == place);
    CHECK(MPI_Comm_set_attr(first, silent, place) == MPI_SUCCESS && MPI_Comm_set_attr(first, plain, place) == MPI_SUCCESS);
    CHECK(MPI_Comm_dup(first, &second) == MPI_SUCCESS);
    CHECK(copied == 1 && last_comm == first && last_keyval == keyval && last_extra == &extra);
    CHECK(value_of(second, keyval) == place + 1 && value_of(second, plain) == place && !value_of(second, silent));
    /* Splitting copies nothing. */
    MPI_Comm_split(first, 0, 0, &third);
    CHECK(copied == 1 && !value_of(third, plain));
    MPI_Comm_free(&third);
    CHECK(MPI_Comm_set_attr(second, keyval, place + 2) == MPI_SUCCESS);
    CHECK(deleted == 1 && last_comm == second && last_value == place + 1 && last_extra == &extra);
    CHECK(MPI_Comm_delete_attr(second, keyval) == MPI_SUCCESS && deleted == 2 && last_value == place + 2);
    CHECK_ERROR(MPI_Comm_delete_attr(second, keyval), MPI_ERR_KEYVAL);
    /* A keyval that is freed lives on in its attributes. */
    kept = keyval;
    CHECK(MPI_Comm_free_keyval(&keyval) == MPI_SUCCESS && keyval == MPI_KEYVAL_INVALID);
    CHECK_ERROR(MPI_Comm_set_attr(second, kept, place), MPI_ERR_KEYVAL);
    CHECK(MPI_Comm_free(&first) == MPI_SUCCESS && deleted == 3 && last_keyval == kept && last_value == place);
    CHECK(MPI_Comm_free(&second) == MPI_SUCCESS && deleted == 3);
    MPI_Comm_free_keyval(&silent);
    MPI_Comm_free_keyval(&plain);
}

/* The handle of a keyval that is freed goes on naming the attributes that are left. */
static void freed_keyvals(void)
{
    MPI_Comm first, second;
    int keyval, kept, silent, before = deleted, flag;
    void *value;
    char place[4];
    MPI_Comm_dup(MPI_COMM_SELF, &first);
    MPI_Comm_create_keyval(copy, delete, &keyval, &extra);
    MPI_Comm_set_attr(first, keyval, place);
    MPI_Comm_dup(first, &second);
    kept = keyval;
    CHECK(MPI_Comm_free_keyval(&keyval) == MPI_SUCCESS);
    CHECK(value_of(first, kept) == place && value_of(second, kept) == place + 1 && !value_of(MPI_COMM_SELF, kept));
    CHECK_ERROR(MPI_Comm_free_keyval(&(int){kept}), MPI_ERR_KEYVAL);
    CHECK_ERROR(MPI_Comm_set_attr(first, kept, place), MPI_ERR_KEYVAL);
    CHECK(MPI_Comm_delete_attr(first, kept) == MPI_SUCCESS && deleted == before + 1 && last_keyval == kept);
    CHECK_ERROR(MPI_Comm_delete_attr(first, kept), MPI_ERR_KEYVAL);
    CHECK(value_of(second, kept) == place + 1);
    CHECK(MPI_Comm_free(&second) == MPI_SUCCESS && deleted == before + 2);
    CHECK_ERROR(MPI_Comm_get_attr(first, kept, &value, &flag), MPI_ERR_KEYVAL);
    /* Without functions, too; and there is room for any number of those that are gone. */
    for (int i = 0; i < 300; i++) {
        MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &keyval, NULL);
        silent = keyval;
        MPI_Comm_set_attr(first, keyval, place);
        MPI_Comm_free_keyval(&keyval);
        CHECK(value_of(first, silent) == place);
        CHECK(MPI_Comm_delete_attr(first, silent) == MPI_SUCCESS);
        CHECK_ERROR(MPI_Comm_get_attr(first, silent, &value, &flag), MPI_ERR_KEYVAL);
    }
    MPI_Comm_free(&first);
}

static void mistakes(void)
{
    MPI_Comm comm, freed;
    int keyval, other, flag, fails = MPI_ERR_OTHER;
    void *value;
    MPI_Comm_dup(MPI_COMM_SELF, &comm);
    CHECK(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, refuse, &keyval, &fails) == MPI_SUCCESS);
    MPI_Comm_set_attr(comm, keyval, &fails);
    CHECK(MPI_Comm_delete_attr(comm, keyval) == MPI_ERR_OTHER && value_of(comm, keyval) == &fails);
    CHECK(MPI_Comm_set_attr(comm, keyval, NULL) == MPI_ERR_OTHER && value_of(comm, keyval) == &fails);
    freed = comm;
    CHECK(MPI_Comm_free(&comm) == MPI_ERR_OTHER && comm == freed);
    fails = MPI_SUCCESS;
    CHECK(MPI_Comm_free(&comm) == MPI_SUCCESS);
    CHECK_ERROR(MPI_Comm_get_attr(freed, keyval, &value, &flag), MPI_ERR_COMM);
    MPI_Comm_free_keyval(&keyval);
    keyval = MPI_KEYVAL_INVALID;
    CHECK_ERROR(MPI_Comm_free_keyval(&keyval), MPI_ERR_KEYVAL);
    CHECK_ERROR(MPI_Comm_get_attr(MPI_COMM_SELF, MPI_KEYVAL_INVALID, &value, &flag), MPI_ERR_KEYVAL);
    /* Keyvals are for one kind of object. */
    CHECK(MPI_Type_create_keyval(MPI_TYPE_NULL_COPY_FN, MPI_TYPE_NULL_DELETE_FN, &other, NULL) == MPI_SUCCESS);
    CHECK_ERROR(MPI_Comm_set_attr(MPI_COMM_SELF, other, NULL), MPI_ERR_KEYVAL);
    CHECK_ERROR(MPI_Comm_free_keyval(&other), MPI_ERR_KEYVAL);
    CHECK(MPI_Type_free_keyval(&other) == MPI_SUCCESS && other == MPI_KEYVAL_INVALID);
    CHECK(MPI_Win_create_keyval(MPI_WIN_NULL_COPY_FN, MPI_WIN_NULL_DELETE_FN, &other, NULL) == MPI_SUCCESS);
    CHECK_ERROR(MPI_Type_free_keyval(&other), MPI_ERR_KEYVAL);
    CHECK(MPI_Win_free_keyval(&other) == MPI_SUCCESS);
}

static void old_names(void)
{
    MPI_Comm comm;
    int keyval, flag, before = deleted;
    void *value;
    CHECK(MPI_Keyval_create(MPI_DUP_FN, delete, &keyval, NULL) == MPI_SUCCESS);
    CHECK(MPI_Attr_put(MPI_COMM_SELF, keyval, &flag) == MPI_SUCCESS);
    CHECK(MPI_Attr_get(MPI_COMM_SELF, keyval, &value, &flag) == MPI_SUCCESS && flag && value == &flag);
    MPI_Comm_dup(MPI_COMM_SELF, &comm);
    CHECK(value_of(comm, keyval) == &flag);
    MPI_Comm_free(&comm);
    CHECK(MPI_Attr_delete(MPI_COMM_SELF, keyval) == MPI_SUCCESS && deleted == before + 2);
    CHECK(MPI_Attr_get(MPI_COMM_SELF, keyval, &value, &flag) == MPI_SUCCESS && !flag);
    CHECK(MPI_Keyval_free(&keyval) == MPI_SUCCESS && keyval == MPI_KEYVAL_INVALID);
    CHECK(MPI_Keyval_create(MPI_NULL_COPY_FN, MPI_NULL_DELETE_FN, &keyval, NULL) == MPI_SUCCESS);
    MPI_Keyval_free(&keyval);
}

static void predefined(void)
{
    int *value, flag, size, keyval, class, before;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    CHECK(*(int *)value_of(MPI_COMM_WORLD, MPI_TAG_UB) >= 32767);
    CHECK(*(int *)value_of(MPI_COMM_SELF, MPI_TAG_UB) >= 32767);
    CHECK(*(int *)value_of(MPI_COMM_WORLD, MPI_HOST) == MPI_PROC_NULL);
    CHECK(*(int *)value_of(MPI_COMM_WORLD, MPI_IO) == MPI_ANY_SOURCE);
    CHECK(*(int *)value_of(MPI_COMM_WORLD, MPI_WTIME_IS_GLOBAL) == 0);
    CHECK(*(int *)value_of(MPI_COMM_WORLD, MPI_UNIVERSE_SIZE) >= size);
    CHECK(MPI_Attr_get(MPI_COMM_WORLD, MPI_TAG_UB, &value, &flag) == MPI_SUCCESS && flag && *value >= 32767);
    CHECK(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_APPNUM, &value, &flag) == MPI_SUCCESS);
    before = *(int *)value_of(MPI_COMM_WORLD, MPI_LASTUSEDCODE);
    CHECK(before >= MPI_ERR_LASTCODE);
    MPI_Add_error_class(&class);
    CHECK(*(int *)value_of(MPI_COMM_WORLD, MPI_LASTUSEDCODE) == class && class > before);
    CHECK_ERROR(MPI_Comm_set_attr(MPI_COMM_WORLD, MPI_TAG_UB, NULL), MPI_ERR_KEYVAL);
    CHECK_ERROR(MPI_Comm_delete_attr(MPI_COMM_WORLD, MPI_IO), MPI_ERR_KEYVAL);
    keyval = MPI_HOST;
    CHECK_ERROR(MPI_Comm_free_keyval(&keyval), MPI_ERR_KEYVAL);
}

int main(int argc, char **argv)
{
    int keyval[3], number;
    MPI_Init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    life();
    freed_keyvals();
    mistakes();
    old_names();
    predefined();
    for (number = 0; number < 3; number++) {
        MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, expect, &keyval[number], NULL);
        MPI_Comm_set_attr(MPI_COMM_SELF, keyval[number], (void *)(intptr_t)(number + 1));
        MPI_Comm_free_keyval(&keyval[number]);
    }
    CHECK(MPI_Finalize() == MPI_SUCCESS && at_end == 3);
    return 0;
}
