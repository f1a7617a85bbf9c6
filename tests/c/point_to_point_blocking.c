/* Blocking sends and receives in all modes (MPI-5.0 sections 3.2, 3.4 and 3.10). */
#include "check.h"

enum { LARGE = 300000 };

static int rank, size, left, right;

/* Every mode, small and large, around a ring. */
static void ring(int count)
{
    double *sent = malloc(count * sizeof *sent), *got = malloc(count * sizeof *got);
    MPI_Status status;
    int mode, i, n;
    for (mode = 0; mode < 3; mode++) {
        MPI_Request request;
        for (i = 0; i < count; i++) {
            sent[i] = rank * 1000.0 + i + mode;
            got[i] = -1;
        }
        CHECK(MPI_Irecv(got, count, MPI_DOUBLE, left, mode, MPI_COMM_WORLD, &request) == MPI_SUCCESS);
        if (mode == 0)
            CHECK(MPI_Send(sent, count, MPI_DOUBLE, right, mode, MPI_COMM_WORLD) == MPI_SUCCESS);
        else if (mode == 1)
            CHECK(MPI_Ssend(sent, count, MPI_DOUBLE, right, mode, MPI_COMM_WORLD) == MPI_SUCCESS);
        else
            CHECK(MPI_Send_c(sent, (MPI_Count)count, MPI_DOUBLE, right, mode, MPI_COMM_WORLD) == MPI_SUCCESS);
        status.MPI_ERROR = 77;
        CHECK(MPI_Wait(&request, &status) == MPI_SUCCESS && request == MPI_REQUEST_NULL);
        CHECK(status.MPI_SOURCE == left && status.MPI_TAG == mode && status.MPI_ERROR == 77);
        CHECK(MPI_Get_count(&status, MPI_DOUBLE, &n) == MPI_SUCCESS && n == count);
        for (i = 0; i < count; i++)
            CHECK(got[i] == left * 1000.0 + i + mode);
    }
    free(sent);
    free(got);
}

static void ready(void)
{
    int value = rank, got = -1;
    MPI_Request request;
    CHECK(MPI_Irecv(&got, 1, MPI_INT, left, 5, MPI_COMM_WORLD, &request) == MPI_SUCCESS);
    /* Everybody has posted once the ring has been closed twice. */
    CHECK(MPI_Sendrecv(&value, 1, MPI_INT, right, 6, &value, 0, MPI_INT, MPI_PROC_NULL, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE) ==
          MPI_SUCCESS);
    {
        int token;
        CHECK(MPI_Recv(&token, 1, MPI_INT, left, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE) == MPI_SUCCESS && token == left);
        CHECK(MPI_Send(&token, 1, MPI_INT, left, 7, MPI_COMM_WORLD) == MPI_SUCCESS);
        CHECK(MPI_Recv(&token, 1, MPI_INT, right, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE) == MPI_SUCCESS && token == rank);
    }
    CHECK(MPI_Rsend(&value, 1, MPI_INT, right, 5, MPI_COMM_WORLD) == MPI_SUCCESS);
    CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS && got == left);
}

static void exchange(void)
{
    int value = rank, got = -1, n = -1;
    MPI_Status status;
    CHECK(MPI_Sendrecv(&value, 1, MPI_INT, right, 1, &got, 1, MPI_INT, left, 1, MPI_COMM_WORLD, &status) == MPI_SUCCESS);
    CHECK(got == left && status.MPI_SOURCE == left && status.MPI_TAG == 1);
    CHECK(MPI_Sendrecv_replace(&value, 1, MPI_INT, right, 2, left, 2, MPI_COMM_WORLD, &status) == MPI_SUCCESS);
    CHECK(value == left && status.MPI_SOURCE == left);
    value = 42;
    CHECK(MPI_Sendrecv_replace(&value, 1, MPI_INT, MPI_PROC_NULL, 2, MPI_PROC_NULL, 2, MPI_COMM_WORLD, &status) == MPI_SUCCESS);
    CHECK(value == 42 && status.MPI_SOURCE == MPI_PROC_NULL);
    CHECK(MPI_Get_count(&status, MPI_INT, &n) == MPI_SUCCESS && n == 0);
}

/* What is received takes the place of what has not been read everywhere yet, of any length and several times. */
static void replaced(int count)
{
    double *data = malloc(count * sizeof *data);
    MPI_Status status;
    int turn, from = rank, i, n;
    for (i = 0; i < count; i++)
        data[i] = rank * 1000.0 + i;
    for (turn = 0; turn < 5; turn++) {
        CHECK(MPI_Sendrecv_replace(data, count, MPI_DOUBLE, right, turn, left, turn, MPI_COMM_WORLD, &status) == MPI_SUCCESS);
        CHECK(status.MPI_SOURCE == left && status.MPI_TAG == turn);
        CHECK(MPI_Get_count(&status, MPI_DOUBLE, &n) == MPI_SUCCESS && n == count);
        from = (from + size - 1) % size;
        for (i = 0; i < count; i++)
            CHECK(data[i] == from * 1000.0 + i);
    }
    free(data);
}

static void nobody(void)
{
    int value = 3, n = -1;
    MPI_Status status;
    CHECK(MPI_Send(&value, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD) == MPI_SUCCESS);
    CHECK(MPI_Recv(&value, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &status) == MPI_SUCCESS && value == 3);
    CHECK(status.MPI_SOURCE == MPI_PROC_NULL && status.MPI_TAG == MPI_ANY_TAG);
    CHECK(MPI_Get_count(&status, MPI_INT, &n) == MPI_SUCCESS && n == 0);
}

static void wildcards(void)
{
    int value = rank * 10, got[4] = {0}, n = -1, i;
    MPI_Status status;
    MPI_Count large = -1;
    if (rank > 0) {
        CHECK(MPI_Send(&value, 1, MPI_INT, 0, 100, MPI_COMM_WORLD) == MPI_SUCCESS);
        CHECK(MPI_Send(&value, 1, MPI_INT, 0, 100 + rank, MPI_COMM_WORLD) == MPI_SUCCESS);
        return;
    }
    for (i = 1; i < size; i++) {
        CHECK(MPI_Recv(got, 4, MPI_INT, MPI_ANY_SOURCE, 100, MPI_COMM_WORLD, &status) == MPI_SUCCESS);
        CHECK(status.MPI_TAG == 100 && got[0] == status.MPI_SOURCE * 10);
        CHECK(MPI_Get_count(&status, MPI_INT, &n) == MPI_SUCCESS && n == 1);
        CHECK(MPI_Get_count_c(&status, MPI_BYTE, &large) == MPI_SUCCESS && large == 4);
        CHECK(MPI_Get_count(&status, MPI_DOUBLE, &n) == MPI_SUCCESS && n == MPI_UNDEFINED);
    }
    for (i = 1; i < size; i++) {
        CHECK(MPI_Recv(got, 4, MPI_INT, i, MPI_ANY_TAG, MPI_COMM_WORLD, &status) == MPI_SUCCESS);
        CHECK(status.MPI_SOURCE == i && status.MPI_TAG == 100 + i);
    }
}

static void to_self(void)
{
    int value = 7, got = 0;
    MPI_Status status;
    CHECK(MPI_Sendrecv(&value, 1, MPI_INT, 0, 3, &got, 1, MPI_INT, 0, 3, MPI_COMM_SELF, &status) == MPI_SUCCESS);
    CHECK(got == 7 && status.MPI_SOURCE == 0);
}

static void empty(void)
{
    int n = -1;
    MPI_Status status;
    CHECK(MPI_Sendrecv(NULL, 0, MPI_INT, right, 8, NULL, 0, MPI_INT, left, 8, MPI_COMM_WORLD, &status) == MPI_SUCCESS);
    CHECK(status.MPI_SOURCE == left && MPI_Get_count(&status, MPI_INT, &n) == MPI_SUCCESS && n == 0);
}

static void mistakes(void)
{
    int value = 0, got[2] = {1, 2}, both[2] = {5, 6};
    MPI_Comm world = MPI_COMM_WORLD;
    MPI_Status status;
    CHECK_ERROR(MPI_Send(&value, 1, MPI_INT, size, 0, world), MPI_ERR_RANK);
    CHECK_ERROR(MPI_Send(&value, 1, MPI_INT, -77, 0, world), MPI_ERR_RANK);
    CHECK_ERROR(MPI_Send(&value, 1, MPI_INT, MPI_ANY_SOURCE, 0, world), MPI_ERR_RANK);
    CHECK_ERROR(MPI_Send(&value, 1, MPI_INT, 0, -5, world), MPI_ERR_TAG);
    CHECK_ERROR(MPI_Send(&value, 1, MPI_INT, 0, MPI_ANY_TAG, world), MPI_ERR_TAG);
    CHECK_ERROR(MPI_Send(&value, -1, MPI_INT, 0, 0, world), MPI_ERR_COUNT);
    CHECK_ERROR(MPI_Send_c(&value, -1, MPI_INT, 0, 0, world), MPI_ERR_COUNT);
    CHECK_ERROR(MPI_Send(&value, 1, MPI_DATATYPE_NULL, 0, 0, world), MPI_ERR_TYPE);
    CHECK_ERROR(MPI_Send(&value, 1, MPI_INT, 0, 0, MPI_COMM_NULL), MPI_ERR_COMM);
    CHECK_ERROR(MPI_Send(NULL, 1, MPI_INT, 0, 0, world), MPI_ERR_BUFFER);
    CHECK_ERROR(MPI_Send(MPI_IN_PLACE, 1, MPI_INT, 0, 0, world), MPI_ERR_BUFFER);
    CHECK_ERROR(MPI_Recv(&value, 1, MPI_INT, size, 0, world, &status), MPI_ERR_RANK);
    CHECK_ERROR(MPI_Recv(&value, 1, MPI_INT, 0, -5, world, &status), MPI_ERR_TAG);
    CHECK_ERROR(MPI_Recv(&value, -1, MPI_INT, 0, 0, world, &status), MPI_ERR_COUNT);
    CHECK_ERROR(MPI_Sendrecv(both, 2, MPI_INT, right, 9, got, 1, MPI_INT, left, 9, world, &status), MPI_ERR_TRUNCATE);
    CHECK(got[0] == 5 && got[1] == 2);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    left = (rank + size - 1) % size;
    right = (rank + 1) % size;
    ring(1);
    ring(1000);
    ring(LARGE);
    ready();
    exchange();
    replaced(1);
    replaced(1000);
    replaced(LARGE);
    nobody();
    wildcards();
    to_self();
    empty();
    mistakes();
    MPI_Finalize();
    return 0;
}
