/* What is told of a message that does not fit its receive: who sent it, its tag, and what has been received. ranks: 2 3 4 */
#include "check.h"

enum { TAG = 7, LONG = 20000 };

static int rank;
static int big[LONG], room[LONG];
static MPI_Datatype scattered;

static MPI_Status fresh(void)
{
    MPI_Status status;
    memset(&status, 0x55, sizeof status);
    status.MPI_SOURCE = status.MPI_TAG = status.MPI_ERROR = -99;
    return status;
}

/* Truncated to `got` elements of the datatype. */
static void check_status(const MPI_Status *status, MPI_Datatype datatype, int got)
{
    int count = -9, cancelled = -9;
    CHECK(status->MPI_SOURCE == 0 && status->MPI_TAG == TAG);
    CHECK(MPI_Get_count(status, datatype, &count) == MPI_SUCCESS && count == got);
    CHECK(MPI_Test_cancelled(status, &cancelled) == MPI_SUCCESS && !cancelled);
}

static void start(int elements, MPI_Datatype datatype, MPI_Request *request)
{
    CHECK(MPI_Irecv(room, elements, datatype, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, request) == MPI_SUCCESS);
}

static void one_request(int elements, MPI_Datatype datatype)
{
    MPI_Request request;
    MPI_Status status = fresh();
    MPI_Message message;
    int index = -1, flag = 0, error = MPI_SUCCESS;
    CHECK_ERROR(MPI_Recv(room, elements, datatype, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status), MPI_ERR_TRUNCATE);
    check_status(&status, datatype, elements);
    CHECK(status.MPI_ERROR == -99);
    status = fresh();
    start(elements, datatype, &request);
    CHECK_ERROR(MPI_Wait(&request, &status), MPI_ERR_TRUNCATE);
    check_status(&status, datatype, elements);
    CHECK(request == MPI_REQUEST_NULL && status.MPI_ERROR == -99);
    status = fresh();
    start(elements, datatype, &request);
    while (!flag)
        error = MPI_Test(&request, &flag, &status);
    CHECK_ERROR(error, MPI_ERR_TRUNCATE);
    check_status(&status, datatype, elements);
    CHECK(request == MPI_REQUEST_NULL);
    status = fresh();
    start(elements, datatype, &request);
    CHECK_ERROR(MPI_Waitany(1, &request, &index, &status), MPI_ERR_TRUNCATE);
    check_status(&status, datatype, elements);
    CHECK(index == 0 && request == MPI_REQUEST_NULL);
    status = fresh();
    start(elements, datatype, &request);
    for (flag = 0; !flag;)
        error = MPI_Testany(1, &request, &index, &flag, &status);
    CHECK_ERROR(error, MPI_ERR_TRUNCATE);
    check_status(&status, datatype, elements);
    CHECK(index == 0);
    status = fresh();
    start(elements, datatype, &request);
    for (flag = 0; !flag;)
        CHECK(MPI_Request_get_status(request, &flag, &status) == MPI_SUCCESS);
    check_status(&status, datatype, elements);
    CHECK_ERROR(MPI_Wait(&request, &status), MPI_ERR_TRUNCATE);
    status = fresh();
    CHECK(MPI_Mprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    CHECK_ERROR(MPI_Mrecv(room, elements, datatype, &message, &status), MPI_ERR_TRUNCATE);
    check_status(&status, datatype, elements);
    status = fresh();
    CHECK(MPI_Recv_init(room, elements, datatype, MPI_ANY_SOURCE, TAG, MPI_COMM_WORLD, &request) == MPI_SUCCESS);
    CHECK(MPI_Start(&request) == MPI_SUCCESS);
    CHECK_ERROR(MPI_Wait(&request, &status), MPI_ERR_TRUNCATE);
    check_status(&status, datatype, elements);
    CHECK(MPI_Request_free(&request) == MPI_SUCCESS);
    status = fresh();
    CHECK_ERROR(MPI_Sendrecv(room, 0, MPI_INT, MPI_PROC_NULL, 0, room, elements, datatype, MPI_ANY_SOURCE, MPI_ANY_TAG,
                             MPI_COMM_WORLD, &status), MPI_ERR_TRUNCATE);
    check_status(&status, datatype, elements);
    status = fresh();
    CHECK_ERROR(MPI_Sendrecv_replace(room, elements, datatype, MPI_PROC_NULL, 0, MPI_ANY_SOURCE, MPI_ANY_TAG,
                                     MPI_COMM_WORLD, &status), MPI_ERR_TRUNCATE);
    check_status(&status, datatype, elements);
    /* Without a status. */
    CHECK_ERROR(MPI_Recv(room, elements, datatype, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE),
                MPI_ERR_TRUNCATE);
}
enum { OF_ONE = 11 };

/* Two requests: the first is truncated, the second is null. */
static void several(int elements, MPI_Datatype datatype)
{
    MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    MPI_Status statuses[2];
    int how, flag = 0, number = 0, indices[2], error = MPI_SUCCESS;
    for (how = 0; how < 4; how++) {
        statuses[0] = statuses[1] = fresh();
        start(elements, datatype, &requests[0]);
        flag = number = 0;
        if (how == 0)
            error = MPI_Waitall(2, requests, statuses);
        for (; how == 1 && !flag;)
            error = MPI_Testall(2, requests, &flag, statuses);
        if (how == 2)
            error = MPI_Waitsome(2, requests, &number, indices, statuses);
        for (; how == 3 && !number;)
            error = MPI_Testsome(2, requests, &number, indices, statuses);
        CHECK_ERROR(error, MPI_ERR_IN_STATUS);
        CHECK_ERROR(statuses[0].MPI_ERROR, MPI_ERR_TRUNCATE);
        check_status(&statuses[0], datatype, elements);
        CHECK(requests[0] == MPI_REQUEST_NULL && (how < 2 || (number == 1 && indices[0] == 0)));
    }
}
enum { OF_SEVERAL = 4 };

/* Requests that are not simple go another way. */
static void beside_others(void)
{
    MPI_Request requests[2];
    MPI_Status statuses[2] = {fresh(), fresh()};
    start(1, MPI_INT, &requests[0]);
    CHECK(MPI_Ibarrier(MPI_COMM_SELF, &requests[1]) == MPI_SUCCESS);
    CHECK_ERROR(MPI_Waitall(2, requests, statuses), MPI_ERR_IN_STATUS);
    CHECK_ERROR(statuses[0].MPI_ERROR, MPI_ERR_TRUNCATE);
    check_status(&statuses[0], MPI_INT, 1);
    CHECK(statuses[1].MPI_ERROR == MPI_SUCCESS);
}

/* Three bytes are no MPI_INT; two of four are a part of two of them. */
static void parts_of_elements(void)
{
    MPI_Status status = fresh();
    MPI_Request request;
    MPI_Datatype pair;
    int count = -9;
    CHECK_ERROR(MPI_Recv(room, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status), MPI_ERR_TYPE);
    check_status(&status, MPI_INT, MPI_UNDEFINED);
    check_status(&status, MPI_BYTE, 3);
    status = fresh();
    CHECK_ERROR(MPI_Sendrecv(room, 0, MPI_INT, MPI_PROC_NULL, 0, room, 5, scattered, MPI_ANY_SOURCE, MPI_ANY_TAG,
                             MPI_COMM_WORLD, &status), MPI_ERR_TYPE);
    check_status(&status, MPI_INT, MPI_UNDEFINED);
    status = fresh();
    start(1, MPI_INT, &request);
    MPI_Wait(&request, &status);
    check_status(&status, MPI_INT, MPI_UNDEFINED);
    MPI_Type_contiguous(2, MPI_INT, &pair);
    MPI_Type_commit(&pair);
    CHECK(MPI_Recv(room, 2, pair, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status) == MPI_SUCCESS);
    check_status(&status, pair, MPI_UNDEFINED);
    CHECK(MPI_Get_elements(&status, pair, &count) == MPI_SUCCESS && count == 1);
    CHECK(MPI_Recv(room, 5, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status) == MPI_SUCCESS);
    check_status(&status, MPI_INT, 0);
    MPI_Type_free(&pair);
}

static void send(int elements, int times)
{
    for (int i = 0; i < times; i++)
        CHECK(MPI_Send(big, elements, MPI_INT, 1, TAG, MPI_COMM_WORLD) == MPI_SUCCESS);
}

int main(int argc, char **argv)
{
    static const int lengths[][2] = {{4, 1}, {100, 99}, {LONG, 5}, {LONG, LONG - 1}};
    int i;
    MPI_Init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Type_vector(1, 1, 2, MPI_INT, &scattered);
    MPI_Type_create_resized(scattered, 0, 4, &scattered);
    MPI_Type_commit(&scattered);
    for (i = 0; i < 4; i++) {
        MPI_Barrier(MPI_COMM_WORLD);
        if (rank == 0)
            send(lengths[i][0], OF_ONE + OF_SEVERAL);
        if (rank == 1) {
            one_request(lengths[i][1], MPI_INT);
            several(lengths[i][1], MPI_INT);
        }
    }
    if (rank == 0) {
        send(9, OF_ONE + OF_SEVERAL + 1);
        for (i = 0; i < 3; i++)
            MPI_Send(big, 3, MPI_BYTE, 1, TAG, MPI_COMM_WORLD);
        send(1, 1);
        send(0, 1);
    }
    if (rank == 1) {
        MPI_Datatype sparse;
        MPI_Type_vector(2, 1, 3, MPI_INT, &sparse);
        MPI_Type_commit(&sparse);
        one_request(3, sparse);
        several(3, sparse);
        MPI_Type_free(&sparse);
        beside_others();
        parts_of_elements();
    }
    MPI_Type_free(&scattered);
    MPI_Finalize();
    return 0;
}
