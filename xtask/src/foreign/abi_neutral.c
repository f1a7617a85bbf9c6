/* Passes handles, statuses, constants and functions both ways across the standard ABI; rank 0 says how many ranks found all well. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

static int failures, handled, copied;

#define CHECK(condition) \
    do { \
        if (!(condition)) { \
            fprintf(stderr, "line %d: %s\n", __LINE__, #condition); \
            failures++; \
        } \
    } while (0)

static void larger(void *in, void *inout, int *len, MPI_Datatype *datatype)
{
    CHECK(*datatype == MPI_LONG);
    for (int i = 0; i < *len; i++)
        if (((long *)in)[i] > ((long *)inout)[i])
            ((long *)inout)[i] = ((long *)in)[i];
}

static void handle(MPI_Comm *comm, int *code, ...)
{
    int class;
    MPI_Error_class(*code, &class);
    handled += *comm != MPI_COMM_NULL && class == MPI_ERR_RANK;
}

static int copy(MPI_Comm comm, int keyval, void *extra, void *value, void *result, int *flag)
{
    (void)comm, (void)keyval;
    copied += extra == (void *)&copied;
    *(void **)result = value;
    *flag = 1;
    return MPI_SUCCESS;
}

static void messages(MPI_Comm comm, int rank, int size)
{
    int next = (rank + 1) % size, previous = (rank + size - 1) % size, count, flag;
    double row[6] = {0}, matrix[3][6];
    MPI_Datatype column;
    MPI_Request requests[2];
    MPI_Status statuses[2], status;
    MPI_Count large;
    for (int i = 0; i < 18; i++)
        matrix[i / 6][i % 6] = rank * 100 + i;
    CHECK(MPI_Type_vector(3, 2, 6, MPI_DOUBLE, &column) == MPI_SUCCESS && MPI_Type_commit(&column) == MPI_SUCCESS);
    MPI_Irecv(row, 6, MPI_DOUBLE, MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &requests[0]);
    MPI_Isend_c(matrix, 1, column, next, 7, comm, &requests[1]);
    CHECK(MPI_Waitall(2, requests, statuses) == MPI_SUCCESS && requests[0] == MPI_REQUEST_NULL);
    CHECK(statuses[0].MPI_SOURCE == previous && statuses[0].MPI_TAG == 7);
    CHECK(MPI_Get_count(&statuses[0], MPI_DOUBLE, &count) == MPI_SUCCESS && count == 6);
    CHECK(MPI_Get_elements_c(&statuses[0], column, &large) == MPI_SUCCESS && large == 6);
    CHECK(row[0] == previous * 100 && row[2] == previous * 100 + 6 && row[5] == previous * 100 + 13);
    CHECK(MPI_Test_cancelled(&statuses[0], &flag) == MPI_SUCCESS && !flag);
    CHECK(MPI_Recv(row, 6, MPI_DOUBLE, MPI_PROC_NULL, 3, comm, &status) == MPI_SUCCESS);
    CHECK(status.MPI_SOURCE == MPI_PROC_NULL && status.MPI_TAG == MPI_ANY_TAG);
    MPI_Type_free(&column);
    CHECK(column == MPI_DATATYPE_NULL);
}

static void collectives(MPI_Comm comm, int rank, int size)
{
    long values[2] = {rank, -rank}, sum[2];
    struct { double value; int place; } best = {rank == size / 2 ? 9.5 : rank, rank};
    MPI_Op op;
    MPI_Request request;
    CHECK(MPI_Op_create(larger, 1, &op) == MPI_SUCCESS);
    CHECK(MPI_Allreduce(values, sum, 2, MPI_LONG, op, comm) == MPI_SUCCESS && sum[0] == size - 1 && sum[1] == 0);
    MPI_Op_free(&op);
    CHECK(op == MPI_OP_NULL);
    CHECK(MPI_Iallreduce(MPI_IN_PLACE, values, 2, MPI_LONG, MPI_SUM, comm, &request) == MPI_SUCCESS);
    CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS && values[0] == (long)size * (size - 1) / 2);
    CHECK(MPI_Allreduce(MPI_IN_PLACE, &best, 1, MPI_DOUBLE_INT, MPI_MAXLOC, comm) == MPI_SUCCESS);
    CHECK(best.value == 9.5 && best.place == size / 2);
}

static void objects(MPI_Comm comm, int rank, int size)
{
    MPI_Comm half, twin, ring;
    MPI_Errhandler handler;
    MPI_Group group;
    MPI_Info info;
    int keyval, flag, result, upper, periods = 1, before, after, *tag_limit;
    char value[MPI_MAX_INFO_VAL];
    CHECK(MPI_Comm_split(comm, rank % 2 ? MPI_UNDEFINED : 0, 0, &half) == MPI_SUCCESS);
    CHECK((half == MPI_COMM_NULL) == rank % 2);
    if (half != MPI_COMM_NULL)
        MPI_Comm_free(&half);
    CHECK(MPI_Comm_create_keyval(copy, MPI_COMM_NULL_DELETE_FN, &keyval, &copied) == MPI_SUCCESS);
    MPI_Comm_set_attr(comm, keyval, &upper);
    CHECK(MPI_Comm_dup(comm, &twin) == MPI_SUCCESS && copied == 1);
    CHECK(MPI_Comm_compare(comm, twin, &result) == MPI_SUCCESS && result == MPI_CONGRUENT);
    CHECK(MPI_Comm_fromint(MPI_Comm_toint(twin)) == twin && MPI_Type_fromint(MPI_Type_toint(MPI_INT)) == MPI_INT);
    MPI_Comm_delete_attr(comm, keyval);
    MPI_Comm_free_keyval(&keyval);
    CHECK(keyval == MPI_KEYVAL_INVALID);
    CHECK(MPI_Comm_get_attr(comm, MPI_TAG_UB, &tag_limit, &flag) == MPI_SUCCESS && flag && *tag_limit >= 32767);
    CHECK(MPI_Comm_create_errhandler(handle, &handler) == MPI_SUCCESS);
    CHECK(MPI_Comm_set_errhandler(twin, handler) == MPI_SUCCESS);
    /* What the call returns after the program's handler is the library's choice. */
    MPI_Send(&upper, 1, MPI_INT, size, 0, twin);
    CHECK(handled == 1);
    MPI_Errhandler_free(&handler);
    MPI_Comm_free(&twin);
    CHECK(MPI_Cart_create(comm, 1, &size, &periods, 0, &ring) == MPI_SUCCESS);
    CHECK(MPI_Cart_shift(ring, 0, 1, &before, &after) == MPI_SUCCESS && after == (rank + 1) % size);
    CHECK(MPI_Topo_test(ring, &result) == MPI_SUCCESS && result == MPI_CART);
    MPI_Comm_free(&ring);
    MPI_Comm_group(comm, &group);
    CHECK(MPI_Group_compare(group, MPI_GROUP_EMPTY, &result) == MPI_SUCCESS && result == MPI_UNEQUAL);
    MPI_Group_free(&group);
    MPI_Info_create(&info);
    MPI_Info_set(info, "key", "value");
    result = sizeof value;
    CHECK(MPI_Info_get_string(info, "key", &result, value, &flag) == MPI_SUCCESS && flag && !strcmp(value, "value"));
    MPI_Info_free(&info);
}

int main(int argc, char **argv)
{
    int rank, size, provided, major, minor, good, all;
    CHECK(MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided) == MPI_SUCCESS);
    CHECK(provided >= MPI_THREAD_FUNNELED);
    CHECK(MPI_Abi_get_version(&major, &minor) == MPI_SUCCESS && major == 1 && minor == 0);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    messages(MPI_COMM_WORLD, rank, size);
    collectives(MPI_COMM_WORLD, rank, size);
    objects(MPI_COMM_WORLD, rank, size);
    good = failures == 0;
    MPI_Allreduce(&good, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0)
        printf("all is well on %d of %d\n", all, size);
    MPI_Finalize();
    return failures != 0;
}
