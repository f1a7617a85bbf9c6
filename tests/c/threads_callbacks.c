/* Functions of the program that wait for threads which are in calls of MPI themselves. ranks: 1 2 */
#include "check.h"
#include <pthread.h>

static MPI_Comm other;
static pthread_barrier_t both;
static int rank, size, helped = 1;

/* Returns after the helper has called MPI, while it is still there. */
static void meet_helper(void)
{
    if (!helped)
        return;
    pthread_barrier_wait(&both);
    pthread_barrier_wait(&both);
}

enum { MEETINGS = 5 };

static void *help(void *unused)
{
    for (int meeting = 0; meeting < MEETINGS; meeting++) {
        int value = meeting, got = -1;
        pthread_barrier_wait(&both);
        CHECK(MPI_Sendrecv(&value, 1, MPI_INT, rank, 3, &got, 1, MPI_INT, rank, 3, other, MPI_STATUS_IGNORE) ==
              MPI_SUCCESS);
        CHECK(got == meeting);
        pthread_barrier_wait(&both);
    }
    return unused;
}

static int copy(MPI_Comm comm, int keyval, void *extra, void *in, void *out, int *flag)
{
    (void)comm, (void)keyval, (void)extra;
    meet_helper();
    *(void **)out = in;
    *flag = 1;
    return MPI_SUCCESS;
}

static int delete(MPI_Comm comm, int keyval, void *value, void *extra)
{
    (void)comm, (void)keyval, (void)extra;
    if (value)
        meet_helper();
    return MPI_SUCCESS;
}

static void handle(MPI_Comm *comm, int *code, ...)
{
    int length;
    char text[MPI_MAX_ERROR_STRING];
    (void)comm;
    meet_helper();
    MPI_Error_string(*code, text, &length);
    CHECK(strstr(text, "MPI_Send") != NULL);
}

static int met;

static void add(void *in, void *inout, int *len, MPI_Datatype *type)
{
    (void)type;
    if (!met++)
        meet_helper();
    for (int index = 0; index < *len; index++)
        ((int *)inout)[index] += ((int *)in)[index];
}

static int query(void *state, MPI_Status *status)
{
    (void)state;
    meet_helper();
    MPI_Status_set_elements(status, MPI_INT, 0);
    MPI_Status_set_cancelled(status, 0);
    return MPI_SUCCESS;
}

static int release(void *state)
{
    (void)state;
    return MPI_SUCCESS;
}

static int cancel(void *state, int complete)
{
    (void)state, (void)complete;
    return MPI_SUCCESS;
}

int main(int argc, char **argv)
{
    int provided, keyval, value = 1, two[2] = {1, 2}, sums[2] = {10, 20};
    pthread_t helper;
    MPI_Comm duplicate;
    MPI_Errhandler handler;
    MPI_Op op;
    MPI_Request request;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    CHECK(provided == MPI_THREAD_MULTIPLE);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_dup(MPI_COMM_WORLD, &other);
    CHECK(pthread_barrier_init(&both, NULL, 2) == 0);
    CHECK(pthread_create(&helper, NULL, help, NULL) == 0);

    CHECK(MPI_Comm_create_keyval(copy, delete, &keyval, NULL) == MPI_SUCCESS);
    CHECK(MPI_Comm_set_attr(MPI_COMM_SELF, keyval, &value) == MPI_SUCCESS);
    CHECK(MPI_Comm_dup(MPI_COMM_SELF, &duplicate) == MPI_SUCCESS);
    CHECK(MPI_Comm_delete_attr(duplicate, keyval) == MPI_SUCCESS);
    CHECK(MPI_Comm_set_attr(duplicate, keyval, NULL) == MPI_SUCCESS);

    /* Whose error it is must be known after others had their turn. */
    CHECK(MPI_Comm_create_errhandler(handle, &handler) == MPI_SUCCESS);
    CHECK(MPI_Comm_set_errhandler(duplicate, handler) == MPI_SUCCESS);
    CHECK_ERROR(MPI_Send(&value, 1, MPI_INT, 7, 0, duplicate), MPI_ERR_RANK);

    CHECK(MPI_Op_create(add, 1, &op) == MPI_SUCCESS);
    CHECK(MPI_Reduce_local(two, sums, 2, MPI_INT, op) == MPI_SUCCESS);
    CHECK(sums[0] == 11 && sums[1] == 22 && met);

    CHECK(MPI_Grequest_start(query, release, cancel, NULL, &request) == MPI_SUCCESS);
    CHECK(MPI_Grequest_complete(request) == MPI_SUCCESS);
    CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS);

    pthread_join(helper, NULL);
    helped = 0;
    MPI_Op_free(&op);
    MPI_Errhandler_free(&handler);
    MPI_Comm_delete_attr(MPI_COMM_SELF, keyval);
    MPI_Comm_free(&duplicate);
    MPI_Comm_free(&other);
    return MPI_Finalize();
}
