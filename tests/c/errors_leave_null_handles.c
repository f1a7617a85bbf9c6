/* What a call that fails should have made is the null handle, for programs that go on. */
#include "check.h"

static int fails(MPI_Comm comm, int keyval, void *extra, void *in, void *out, int *flag)
{
    (void)comm, (void)keyval, (void)extra, (void)in, (void)out;
    *flag = 0;
    return MPI_ERR_OTHER;
}

static int type_fails(MPI_Datatype type, int keyval, void *extra, void *in, void *out, int *flag)
{
    (void)type, (void)keyval, (void)extra, (void)in, (void)out;
    *flag = 0;
    return MPI_ERR_OTHER;
}

#define LEAVES_NULL(handle, before, null, call)                                                    \
    do {                                                                                           \
        handle = before;                                                                           \
        CHECK((call) != MPI_SUCCESS && handle == null);                                            \
    } while (0)

static void communicators(void)
{
    MPI_Comm comm, with_attribute;
    MPI_Group group;
    MPI_Request request;
    int keyval, value, dims[2] = {100, 100}, periods[2] = {0, 0}, index[1] = {1}, edges[1] = {99};
    LEAVES_NULL(comm, MPI_COMM_SELF, MPI_COMM_NULL, MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 0, &comm));
    LEAVES_NULL(comm, MPI_COMM_SELF, MPI_COMM_NULL, MPI_Graph_create(MPI_COMM_WORLD, 1, index, edges, 0, &comm));
    LEAVES_NULL(comm, MPI_COMM_SELF, MPI_COMM_NULL, MPI_Comm_split(MPI_COMM_WORLD, -7, 0, &comm));
    LEAVES_NULL(comm, MPI_COMM_SELF, MPI_COMM_NULL, MPI_Comm_create(MPI_COMM_WORLD, MPI_GROUP_NULL, &comm));
    LEAVES_NULL(comm, MPI_COMM_SELF, MPI_COMM_NULL, MPI_Comm_dup(MPI_COMM_NULL, &comm));
    LEAVES_NULL(comm, MPI_COMM_SELF, MPI_COMM_NULL, MPI_Intercomm_merge(MPI_COMM_WORLD, 0, &comm));
    LEAVES_NULL(comm, MPI_COMM_SELF, MPI_COMM_NULL, MPI_Cart_sub(MPI_COMM_WORLD, dims, &comm));
    MPI_Comm_dup(MPI_COMM_WORLD, &with_attribute);
    MPI_Comm_create_keyval(fails, MPI_COMM_NULL_DELETE_FN, &keyval, NULL);
    MPI_Comm_set_attr(with_attribute, keyval, &value);
    MPI_Comm_free_keyval(&keyval);
    LEAVES_NULL(comm, MPI_COMM_SELF, MPI_COMM_NULL, MPI_Comm_dup(with_attribute, &comm));
    comm = MPI_COMM_SELF;
    LEAVES_NULL(request, MPI_REQUEST_NULL, MPI_REQUEST_NULL, MPI_Comm_idup(with_attribute, &comm, &request));
    CHECK(comm == MPI_COMM_NULL);
    MPI_Comm_free(&with_attribute);
    LEAVES_NULL(group, MPI_GROUP_EMPTY, MPI_GROUP_NULL, MPI_Group_incl(MPI_GROUP_EMPTY, 1, index, &group));
}

static void others(void)
{
    MPI_Datatype type, with_attribute;
    MPI_Request request, others[2];
    MPI_Info info;
    MPI_Op op;
    MPI_Errhandler handler;
    MPI_Win win;
    MPI_File file = (MPI_File){0};
    int keyval, value = 0;
    MPI_Type_contiguous(2, MPI_INT, &with_attribute);
    MPI_Type_create_keyval(type_fails, MPI_TYPE_NULL_DELETE_FN, &keyval, NULL);
    MPI_Type_set_attr(with_attribute, keyval, &value);
    LEAVES_NULL(type, MPI_INT, MPI_DATATYPE_NULL, MPI_Type_dup(with_attribute, &type));
    LEAVES_NULL(type, MPI_INT, MPI_DATATYPE_NULL, MPI_Type_contiguous(-1, MPI_INT, &type));
    MPI_Type_free_keyval(&keyval);
    MPI_Type_free(&with_attribute);
    MPI_Isend(&value, 0, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &others[0]);
    LEAVES_NULL(request, others[0], MPI_REQUEST_NULL, MPI_Isend(&value, 1, MPI_INT, 99, 0, MPI_COMM_WORLD, &request));
    LEAVES_NULL(request, others[0], MPI_REQUEST_NULL, MPI_Irecv(&value, -1, MPI_INT, 0, 0, MPI_COMM_WORLD, &request));
    LEAVES_NULL(request, others[0], MPI_REQUEST_NULL, MPI_Ibcast(&value, 1, MPI_INT, 99, MPI_COMM_WORLD, &request));
    others[1] = request;
    CHECK(MPI_Waitall(2, others, MPI_STATUSES_IGNORE) == MPI_SUCCESS);
    LEAVES_NULL(info, MPI_INFO_ENV, MPI_INFO_NULL, MPI_Info_dup(MPI_INFO_NULL, &info));
    LEAVES_NULL(op, MPI_SUM, MPI_OP_NULL, MPI_Op_create(NULL, 1, &op));
    LEAVES_NULL(handler, MPI_ERRORS_RETURN, MPI_ERRHANDLER_NULL, MPI_Comm_create_errhandler(NULL, &handler));
    LEAVES_NULL(win, (MPI_Win){0}, MPI_WIN_NULL, MPI_Win_create(&value, -1, 1, MPI_INFO_NULL, MPI_COMM_SELF, &win));
    CHECK(MPI_File_open(MPI_COMM_SELF, "", MPI_MODE_RDONLY, MPI_INFO_NULL, &file) != MPI_SUCCESS && file == MPI_FILE_NULL);
    /* What is there already stays. */
    type = MPI_INT;
    CHECK(MPI_Type_free(&type) != MPI_SUCCESS && type == MPI_INT);
}

/* Without a place for the result nothing is begun. */
static void no_place(void)
{
    MPI_Comm half, comm = MPI_COMM_SELF;
    MPI_Group group;
    MPI_Request request;
    int rank, size, dims[1], periods[1] = {0}, kept[1] = {1}, index[1] = {0};
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    dims[0] = size;
    MPI_Comm_group(MPI_COMM_WORLD, &group);
    CHECK_ERROR(MPI_Comm_dup(MPI_COMM_WORLD, NULL), MPI_ERR_ARG);
    CHECK_ERROR(MPI_Comm_dup_with_info(MPI_COMM_WORLD, MPI_INFO_NULL, NULL), MPI_ERR_ARG);
    CHECK_ERROR(MPI_Comm_idup(MPI_COMM_WORLD, NULL, &request), MPI_ERR_ARG);
    CHECK(request == MPI_REQUEST_NULL);
    CHECK_ERROR(MPI_Comm_idup(MPI_COMM_WORLD, &comm, NULL), MPI_ERR_ARG);
    CHECK(comm == MPI_COMM_NULL);
    CHECK_ERROR(MPI_Comm_create(MPI_COMM_WORLD, group, NULL), MPI_ERR_ARG);
    CHECK_ERROR(MPI_Comm_create_group(MPI_COMM_WORLD, group, 0, NULL), MPI_ERR_ARG);
    CHECK_ERROR(MPI_Comm_split(MPI_COMM_WORLD, 0, 0, NULL), MPI_ERR_ARG);
    CHECK_ERROR(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, NULL), MPI_ERR_ARG);
    CHECK_ERROR(MPI_Cart_create(MPI_COMM_WORLD, 1, dims, periods, 0, NULL), MPI_ERR_ARG);
    CHECK_ERROR(MPI_Graph_create(MPI_COMM_WORLD, 1, index, index, 0, NULL), MPI_ERR_ARG);
    CHECK_ERROR(MPI_Cart_sub(MPI_COMM_WORLD, kept, NULL), MPI_ERR_ARG);
    CHECK_ERROR(MPI_Intercomm_merge(MPI_COMM_WORLD, 0, NULL), MPI_ERR_ARG);
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, 0, &half);
    MPI_Comm_set_errhandler(half, MPI_ERRORS_RETURN);
    CHECK_ERROR(MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - rank % 2, 3, NULL), MPI_ERR_ARG);
    MPI_Comm_free(&half);
    MPI_Group_free(&group);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    communicators();
    others();
    no_place();
    MPI_Finalize();
    return 0;
}
