/* Attributes and names of datatypes (MPI-5.0 sections 7.7.4 and 7.8).
 * ranks: 1 */
#include "check.h"

static int copies, deletes;
static MPI_Datatype last;

static int copy(MPI_Datatype type, int keyval, void *extra, void *in, void *out, int *flag)
{
    (void)keyval;
    if (*(int *)extra != 42)
        return MPI_ERR_OTHER;
    copies++;
    last = type;
    *(void **)out = (char *)in + 1;
    *flag = 1;
    return MPI_SUCCESS;
}

static int refuse;

static int delete(MPI_Datatype type, int keyval, void *value, void *extra)
{
    (void)keyval, (void)value, (void)extra;
    if (refuse)
        return MPI_ERR_INTERN;
    deletes++;
    last = type;
    return MPI_SUCCESS;
}

static void freed_keyvals(void)
{
    int keyval, kept, flag, before = deletes, v;
    void *got;
    MPI_Datatype type, twin;
    MPI_Type_contiguous(2, MPI_INT, &type);
    MPI_Type_create_keyval(MPI_TYPE_DUP_FN, delete, &keyval, NULL);
    kept = keyval;
    MPI_Type_set_attr(type, keyval, &v);
    MPI_Type_dup(type, &twin);
    CHECK(MPI_Type_free_keyval(&keyval) == MPI_SUCCESS && keyval == MPI_KEYVAL_INVALID);
    CHECK(MPI_Type_get_attr(type, kept, &got, &flag) == MPI_SUCCESS && flag && got == &v);
    CHECK(MPI_Type_delete_attr(type, kept) == MPI_SUCCESS && deletes == before + 1);
    CHECK(MPI_Type_get_attr(twin, kept, &got, &flag) == MPI_SUCCESS && flag && got == &v);
    CHECK(MPI_Type_free(&twin) == MPI_SUCCESS && deletes == before + 2);
    CHECK_ERROR(MPI_Type_get_attr(type, kept, &got, &flag), MPI_ERR_KEYVAL);
    CHECK_ERROR(MPI_Type_set_attr(type, kept, &v), MPI_ERR_KEYVAL);
    MPI_Type_free(&type);
    deletes = before;
}

static void attributes(void)
{
    int extra = 42, flag, keyval, plain;
    char words[8], *got;
    MPI_Datatype type, twin, saved;
    MPI_Type_contiguous(3, MPI_INT, &type);
    CHECK(MPI_Type_create_keyval(copy, delete, &keyval, &extra) == MPI_SUCCESS);
    CHECK(MPI_Type_create_keyval(MPI_TYPE_NULL_COPY_FN, MPI_TYPE_NULL_DELETE_FN, &plain, NULL) == MPI_SUCCESS);
    CHECK(MPI_Type_get_attr(type, keyval, &got, &flag) == MPI_SUCCESS && !flag);
    CHECK(MPI_Type_set_attr(type, keyval, words) == MPI_SUCCESS);
    CHECK(MPI_Type_set_attr(type, plain, words + 5) == MPI_SUCCESS);
    CHECK(MPI_Type_get_attr(type, keyval, &got, &flag) == MPI_SUCCESS && flag && got == words);
    CHECK(MPI_Type_dup(type, &twin) == MPI_SUCCESS && copies == 1 && last == type);
    CHECK(MPI_Type_get_attr(twin, keyval, &got, &flag) == MPI_SUCCESS && flag && got == words + 1);
    CHECK(MPI_Type_get_attr(twin, plain, &got, &flag) == MPI_SUCCESS && !flag);
    CHECK(MPI_Type_set_attr(twin, keyval, words) == MPI_SUCCESS && deletes == 1 && last == twin);
    CHECK(MPI_Type_delete_attr(twin, keyval) == MPI_SUCCESS && deletes == 2);
    CHECK_ERROR(MPI_Type_delete_attr(twin, keyval), MPI_ERR_KEYVAL);
    /* A refusal leaves the datatype as it is. */
    refuse = 1;
    saved = type;
    CHECK_ERROR(MPI_Type_free(&type), MPI_ERR_INTERN);
    CHECK(type == saved && MPI_Type_get_attr(type, keyval, &got, &flag) == MPI_SUCCESS && flag);
    refuse = 0;
    CHECK(MPI_Type_free(&type) == MPI_SUCCESS && deletes == 3 && last == saved);
    extra = 0;
    MPI_Type_set_attr(twin, keyval, words);
    CHECK_ERROR(MPI_Type_dup(twin, &type), MPI_ERR_OTHER);
    CHECK(MPI_Type_free(&twin) == MPI_SUCCESS && deletes == 4);
    /* Predefined datatypes have them, too. */
    CHECK(MPI_Type_set_attr(MPI_INT, plain, words + 2) == MPI_SUCCESS);
    CHECK(MPI_Type_get_attr(MPI_INT, plain, &got, &flag) == MPI_SUCCESS && flag && got == words + 2);
    CHECK(MPI_Type_get_attr(MPI_INT32_T, plain, &got, &flag) == MPI_SUCCESS && !flag);
    CHECK(MPI_Type_free_keyval(&keyval) == MPI_SUCCESS && keyval == MPI_KEYVAL_INVALID);
    CHECK_ERROR(MPI_Type_set_attr(MPI_INT, keyval, words), MPI_ERR_KEYVAL);
    CHECK(MPI_Type_delete_attr(MPI_INT, plain) == MPI_SUCCESS);
    CHECK(MPI_Type_free_keyval(&plain) == MPI_SUCCESS);
}

static void is_called(MPI_Datatype type, const char *expected)
{
    char name[MPI_MAX_OBJECT_NAME];
    int len;
    CHECK(MPI_Type_get_name(type, name, &len) == MPI_SUCCESS && len == (int)strlen(expected) && !strcmp(name, expected));
}

static void names(void)
{
    char longest[2 * MPI_MAX_OBJECT_NAME];
    MPI_Datatype type, twin;
    is_called(MPI_INT, "MPI_INT");
    is_called(MPI_LONG_LONG, "MPI_LONG_LONG_INT");
    is_called(MPI_DOUBLE_INT, "MPI_DOUBLE_INT");
    is_called(MPI_DOUBLE_PRECISION, "MPI_DOUBLE_PRECISION");
    MPI_Type_contiguous(3, MPI_INT, &type);
    is_called(type, "");
    CHECK(MPI_Type_set_name(type, "triple") == MPI_SUCCESS);
    is_called(type, "triple");
    MPI_Type_dup(type, &twin);
    is_called(twin, "");
    memset(longest, 'x', sizeof longest);
    longest[sizeof longest - 1] = 0;
    CHECK(MPI_Type_set_name(twin, longest) == MPI_SUCCESS);
    longest[MPI_MAX_OBJECT_NAME - 1] = 0;
    is_called(twin, longest);
    MPI_Type_free(&type);
    MPI_Type_free(&twin);
    MPI_Type_set_name(MPI_INT, "number");
    is_called(MPI_INT, "number");
    CHECK_ERROR(MPI_Type_set_name(MPI_DATATYPE_NULL, "nothing"), MPI_ERR_TYPE);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    freed_keyvals();
    attributes();
    names();
    MPI_Finalize();
    return 0;
}
