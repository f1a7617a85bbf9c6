/* Partitioned communication (MPI-5.0 chapter 4): counts that differ, layouts, order, openings that come late, nobody,
   and what is wrong. ranks: 1 2 3 */
#include "check.h"

enum { ELEMENTS = 1 << 16 };

static int rank, size, right, left;

static int value(int round, int sender, int element)
{
    return round * 1000003 + sender * 7919 + element;
}

/* All partitions are ready in an order of their own. */
static void say_ready(MPI_Request request, int partitions, int round)
{
    int i, list[3];
    if (round % 3 == 1) {
        CHECK(MPI_Pready_range(0, partitions - 1, request) == MPI_SUCCESS);
    } else if (round % 3 == 2 && partitions == 3) {
        for (i = 0; i < 3; i++)
            list[i] = (i + 1) % 3;
        CHECK(MPI_Pready_list(3, list, request) == MPI_SUCCESS);
    } else {
        for (i = partitions - 1; i >= 0; i--)
            CHECK(MPI_Pready(i, request) == MPI_SUCCESS);
    }
}

/* Rounds with so many partitions on either side and so many elements together. */
static void rounds(int sent, int received, int elements)
{
    static int from[ELEMENTS], into[ELEMENTS];
    MPI_Request requests[2];
    MPI_Status statuses[2];
    int round, i, flag, wrong = 0, count;
    CHECK(MPI_Psend_init(from, sent, elements / sent, MPI_INT, right, 5, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[0]) ==
          MPI_SUCCESS);
    CHECK(MPI_Precv_init(into, received, elements / received, MPI_INT, left, 5, MPI_COMM_WORLD, MPI_INFO_NULL,
                         &requests[1]) == MPI_SUCCESS);
    CHECK(MPI_Parrived(requests[1], 0, &flag) == MPI_SUCCESS && flag);
    for (round = 0; round < 6; round++) {
        for (i = 0; i < elements; i++)
            from[i] = value(round, rank, i);
        CHECK(MPI_Startall(2, requests) == MPI_SUCCESS);
        say_ready(requests[0], sent, round);
        for (i = received - 1; i >= 0 && round % 2; i--) {
            for (flag = 0; !flag;)
                CHECK(MPI_Parrived(requests[1], i, &flag) == MPI_SUCCESS);
            wrong += into[i * (elements / received)] != value(round, left, i * (elements / received));
            wrong += into[(i + 1) * (elements / received) - 1] !=
                     value(round, left, (i + 1) * (elements / received) - 1);
        }
        CHECK(MPI_Waitall(2, requests, statuses) == MPI_SUCCESS);
        CHECK(MPI_Get_count(&statuses[1], MPI_INT, &count) == MPI_SUCCESS && count == elements);
        CHECK(statuses[1].MPI_SOURCE == left && statuses[1].MPI_TAG == 5);
        for (i = 0; i < elements; i++)
            wrong += into[i] != value(round, left, i);
    }
    CHECK(wrong == 0);
    CHECK(MPI_Request_free(&requests[0]) == MPI_SUCCESS && MPI_Request_free(&requests[1]) == MPI_SUCCESS);
}

/* Every second integer on one side; partitions of other lengths, of bytes in a row, on the other. */
static void layouts(void)
{
    static int spread[2 * 6000], dense[6000];
    MPI_Datatype every_second;
    MPI_Request requests[2];
    int i, turn, wrong;
    CHECK(MPI_Type_vector(10, 1, 2, MPI_INT, &every_second) == MPI_SUCCESS);
    CHECK(MPI_Type_create_resized(every_second, 0, 20 * sizeof(int), &every_second) == MPI_SUCCESS);
    CHECK(MPI_Type_commit(&every_second) == MPI_SUCCESS);
    for (turn = 0; turn < 2; turn++) {
        for (i = 0; i < 12000; i++)
            spread[i] = turn ? -1 : i / 2 + rank;
        for (i = 0; i < 6000; i++)
            dense[i] = turn ? i + rank : -1;
        if (turn) {
            MPI_Psend_init(dense, 4, 1500 * sizeof(int), MPI_BYTE, right, 1, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[0]);
            MPI_Precv_init(spread, 6, 100, every_second, left, 1, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[1]);
        } else {
            MPI_Psend_init(spread, 6, 100, every_second, right, 1, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[0]);
            MPI_Precv_init(dense, 4, 1500 * sizeof(int), MPI_BYTE, left, 1, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[1]);
        }
        CHECK(MPI_Startall(2, requests) == MPI_SUCCESS);
        CHECK(MPI_Pready_range(0, turn ? 3 : 5, requests[0]) == MPI_SUCCESS);
        CHECK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE) == MPI_SUCCESS);
        for (i = wrong = 0; i < 6000; i++)
            wrong += turn ? spread[2 * i] != i + left || spread[2 * i + 1] != -1 : dense[i] != i + left;
        CHECK(wrong == 0);
        CHECK(MPI_Request_free(&requests[0]) == MPI_SUCCESS && MPI_Request_free(&requests[1]) == MPI_SUCCESS);
    }
    CHECK(MPI_Type_free(&every_second) == MPI_SUCCESS);
}

/* Requests match in the order in which they were made, whatever the order of starts; and messages don't match them. */
static void order(void)
{
    int sent[3] = {rank, 100 + rank, 200 + rank}, got[3] = {-1, -1, -1}, i;
    MPI_Request sends[2], receives[2], plain[2];
    for (i = 0; i < 2; i++)
        CHECK(MPI_Psend_init(&sent[i], 1, 1, MPI_INT, right, 3, MPI_COMM_WORLD, MPI_INFO_NULL, &sends[i]) == MPI_SUCCESS);
    for (i = 0; i < 2; i++)
        CHECK(MPI_Precv_init(&got[i], 1, 1, MPI_INT, left, 3, MPI_COMM_WORLD, MPI_INFO_NULL, &receives[i]) ==
              MPI_SUCCESS);
    CHECK(MPI_Irecv(&got[2], 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &plain[0]) == MPI_SUCCESS);
    for (i = 1; i >= 0; i--)
        CHECK(MPI_Start(&sends[i]) == MPI_SUCCESS && MPI_Pready(0, sends[i]) == MPI_SUCCESS);
    for (i = 1; i >= 0; i--)
        CHECK(MPI_Start(&receives[i]) == MPI_SUCCESS);
    CHECK(MPI_Waitall(2, receives, MPI_STATUSES_IGNORE) == MPI_SUCCESS);
    CHECK(MPI_Waitall(2, sends, MPI_STATUSES_IGNORE) == MPI_SUCCESS);
    CHECK(got[0] == left && got[1] == 100 + left && (got[2] == -1 || got[2] == 200 + left));
    CHECK(MPI_Isend(&sent[2], 1, MPI_INT, right, 3, MPI_COMM_WORLD, &plain[1]) == MPI_SUCCESS);
    CHECK(MPI_Waitall(2, plain, MPI_STATUSES_IGNORE) == MPI_SUCCESS && got[2] == 200 + left);
    for (i = 0; i < 2; i++)
        CHECK(MPI_Request_free(&sends[i]) == MPI_SUCCESS && MPI_Request_free(&receives[i]) == MPI_SUCCESS);
}

/* A receive is started long before its send is made; meanwhile its rank waits in other calls, and the data are long. */
static void late_opening(void)
{
    static char from[4 << 20], into[4 << 20];
    MPI_Request request;
    int i;
    if (size < 2 || rank > 1)
        return;
    if (rank == 0) {
        memset(into, 0, sizeof into);
        MPI_Precv_init(into, 2, sizeof into / 2, MPI_CHAR, 1, 9, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
        CHECK(MPI_Start(&request) == MPI_SUCCESS);
        CHECK(MPI_Send(&i, 0, MPI_INT, 1, 10, MPI_COMM_WORLD) == MPI_SUCCESS);
        /* Comes only after the send of the partitions has completed. */
        CHECK(MPI_Recv(&i, 0, MPI_INT, 1, 11, MPI_COMM_WORLD, MPI_STATUS_IGNORE) == MPI_SUCCESS);
        CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS);
        CHECK(into[0] == 1 && into[sizeof into - 1] == 1);
    } else {
        memset(from, 1, sizeof from);
        CHECK(MPI_Recv(&i, 0, MPI_INT, 0, 10, MPI_COMM_WORLD, MPI_STATUS_IGNORE) == MPI_SUCCESS);
        MPI_Psend_init(from, 4, sizeof from / 4, MPI_CHAR, 0, 9, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
        CHECK(MPI_Start(&request) == MPI_SUCCESS);
        CHECK(MPI_Pready_range(0, 3, request) == MPI_SUCCESS);
        CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS);
        CHECK(MPI_Send(&i, 0, MPI_INT, 0, 11, MPI_COMM_WORLD) == MPI_SUCCESS);
    }
    CHECK(MPI_Request_free(&request) == MPI_SUCCESS);
}

/* Requests that are freed before their counterparts are made, and while they are active. */
static void freed(void)
{
    int sent = rank, got = -1, other = -1;
    MPI_Request first, second, send;
    CHECK(MPI_Precv_init(&other, 1, 1, MPI_INT, left, 4, MPI_COMM_WORLD, MPI_INFO_NULL, &first) == MPI_SUCCESS);
    CHECK(MPI_Request_free(&first) == MPI_SUCCESS && first == MPI_REQUEST_NULL);
    CHECK(MPI_Precv_init(&got, 1, 1, MPI_INT, left, 4, MPI_COMM_WORLD, MPI_INFO_NULL, &second) == MPI_SUCCESS);
    CHECK(MPI_Psend_init(&sent, 1, 1, MPI_INT, right, 4, MPI_COMM_WORLD, MPI_INFO_NULL, &send) == MPI_SUCCESS);
    CHECK(MPI_Request_free(&send) == MPI_SUCCESS);
    CHECK(MPI_Psend_init(&sent, 1, 1, MPI_INT, right, 4, MPI_COMM_WORLD, MPI_INFO_NULL, &send) == MPI_SUCCESS);
    CHECK(MPI_Start(&send) == MPI_SUCCESS && MPI_Pready(0, send) == MPI_SUCCESS);
    CHECK(MPI_Request_free(&send) == MPI_SUCCESS);
    CHECK(MPI_Start(&second) == MPI_SUCCESS);
    CHECK(MPI_Wait(&second, MPI_STATUS_IGNORE) == MPI_SUCCESS && got == left && other == -1);
    CHECK(MPI_Request_free(&second) == MPI_SUCCESS);
    CHECK(MPI_Barrier(MPI_COMM_WORLD) == MPI_SUCCESS);
}

static void nobody_and_nothing(void)
{
    MPI_Request requests[2];
    MPI_Status status;
    int flag;
    CHECK(MPI_Psend_init(NULL, 2, 3, MPI_INT, MPI_PROC_NULL, 1, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[0]) ==
          MPI_SUCCESS);
    CHECK(MPI_Precv_init(NULL, 2, 3, MPI_INT, MPI_PROC_NULL, 1, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[1]) ==
          MPI_SUCCESS);
    CHECK(MPI_Startall(2, requests) == MPI_SUCCESS);
    CHECK(MPI_Pready(1, requests[0]) == MPI_SUCCESS && MPI_Pready(0, requests[0]) == MPI_SUCCESS);
    CHECK(MPI_Parrived(requests[1], 1, &flag) == MPI_SUCCESS && flag);
    CHECK(MPI_Wait(&requests[0], MPI_STATUS_IGNORE) == MPI_SUCCESS);
    CHECK(MPI_Wait(&requests[1], &status) == MPI_SUCCESS && status.MPI_SOURCE == MPI_PROC_NULL);
    CHECK(MPI_Request_free(&requests[0]) == MPI_SUCCESS && MPI_Request_free(&requests[1]) == MPI_SUCCESS);
    CHECK(MPI_Psend_init(NULL, 3, 0, MPI_INT, right, 2, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[0]) == MPI_SUCCESS);
    CHECK(MPI_Precv_init(NULL, 0, 7, MPI_INT, left, 2, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[1]) == MPI_SUCCESS);
    CHECK(MPI_Startall(2, requests) == MPI_SUCCESS);
    CHECK(MPI_Test(&requests[0], &flag, MPI_STATUS_IGNORE) == MPI_SUCCESS && !flag);
    CHECK(MPI_Pready_range(0, 2, requests[0]) == MPI_SUCCESS);
    CHECK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE) == MPI_SUCCESS);
    CHECK(MPI_Request_free(&requests[0]) == MPI_SUCCESS && MPI_Request_free(&requests[1]) == MPI_SUCCESS);
    CHECK(MPI_Parrived(MPI_REQUEST_NULL, 0, &flag) == MPI_SUCCESS && flag);
}

/* More than has room is an error of the receive, and the next message comes as ever. */
static void too_long(void)
{
    int sent[4] = {1, 2, 3, 4}, got[2];
    MPI_Request send, receive;
    CHECK(MPI_Psend_init(sent, 2, 2, MPI_INT, right, 8, MPI_COMM_WORLD, MPI_INFO_NULL, &send) == MPI_SUCCESS);
    CHECK(MPI_Precv_init(got, 2, 1, MPI_INT, left, 8, MPI_COMM_WORLD, MPI_INFO_NULL, &receive) == MPI_SUCCESS);
    CHECK(MPI_Start(&send) == MPI_SUCCESS && MPI_Start(&receive) == MPI_SUCCESS);
    CHECK(MPI_Pready_range(0, 1, send) == MPI_SUCCESS && MPI_Wait(&send, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    CHECK_ERROR(MPI_Wait(&receive, MPI_STATUS_IGNORE), MPI_ERR_TRUNCATE);
    CHECK(MPI_Request_free(&send) == MPI_SUCCESS && MPI_Request_free(&receive) == MPI_SUCCESS);
}

static void errors(void)
{
    int data[4] = {0}, list[2] = {0, 4}, flag;
    MPI_Request send, receive, plain;
    CHECK_ERROR(MPI_Precv_init(data, 2, 2, MPI_INT, MPI_ANY_SOURCE, 1, MPI_COMM_SELF, MPI_INFO_NULL, &receive), MPI_ERR_RANK);
    CHECK_ERROR(MPI_Precv_init(data, 2, 2, MPI_INT, 0, MPI_ANY_TAG, MPI_COMM_SELF, MPI_INFO_NULL, &receive), MPI_ERR_TAG);
    CHECK_ERROR(MPI_Psend_init(data, 2, 2, MPI_INT, 0, -7, MPI_COMM_SELF, MPI_INFO_NULL, &send), MPI_ERR_TAG);
    CHECK_ERROR(MPI_Psend_init(data, 2, -2, MPI_INT, 0, 1, MPI_COMM_SELF, MPI_INFO_NULL, &send), MPI_ERR_COUNT);
    CHECK_ERROR(MPI_Psend_init(data, -2, 2, MPI_INT, 0, 1, MPI_COMM_SELF, MPI_INFO_NULL, &send), MPI_ERR_ARG);
    CHECK_ERROR(MPI_Psend_init(NULL, 2, 2, MPI_INT, 0, 1, MPI_COMM_SELF, MPI_INFO_NULL, &send), MPI_ERR_BUFFER);
    CHECK(MPI_Psend_init(data, 2, 1, MPI_INT, 0, 1, MPI_COMM_SELF, MPI_INFO_NULL, &send) == MPI_SUCCESS);
    CHECK(MPI_Precv_init(data + 2, 2, 1, MPI_INT, 0, 1, MPI_COMM_SELF, MPI_INFO_NULL, &receive) == MPI_SUCCESS);
    CHECK(MPI_Send_init(data, 1, MPI_INT, 0, 1, MPI_COMM_SELF, &plain) == MPI_SUCCESS);
    CHECK_ERROR(MPI_Pready(0, send), MPI_ERR_REQUEST);
    CHECK_ERROR(MPI_Pready(0, receive), MPI_ERR_REQUEST);
    CHECK_ERROR(MPI_Pready(0, plain), MPI_ERR_REQUEST);
    CHECK_ERROR(MPI_Pready(0, MPI_REQUEST_NULL), MPI_ERR_REQUEST);
    CHECK_ERROR(MPI_Parrived(send, 0, &flag), MPI_ERR_REQUEST);
    CHECK_ERROR(MPI_Parrived(receive, 2, &flag), MPI_ERR_ARG);
    CHECK(MPI_Start(&send) == MPI_SUCCESS && MPI_Start(&receive) == MPI_SUCCESS);
    CHECK_ERROR(MPI_Start(&send), MPI_ERR_REQUEST);
    CHECK_ERROR(MPI_Pready(-1, send), MPI_ERR_ARG);
    CHECK_ERROR(MPI_Pready(2, send), MPI_ERR_ARG);
    CHECK_ERROR(MPI_Pready_range(1, 0, send), MPI_ERR_ARG);
    CHECK_ERROR(MPI_Pready_list(2, list, send), MPI_ERR_ARG);
    CHECK_ERROR(MPI_Pready(0, send), MPI_ERR_REQUEST);
    CHECK_ERROR(MPI_Cancel(&send), MPI_ERR_REQUEST);
    CHECK(MPI_Parrived(receive, 1, &flag) == MPI_SUCCESS && !flag);
    CHECK(MPI_Pready(1, send) == MPI_SUCCESS);
    CHECK(MPI_Wait(&send, MPI_STATUS_IGNORE) == MPI_SUCCESS && MPI_Wait(&receive, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    CHECK(MPI_Request_free(&send) == MPI_SUCCESS && MPI_Request_free(&receive) == MPI_SUCCESS);
    CHECK(MPI_Request_free(&plain) == MPI_SUCCESS);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    right = (rank + 1) % size;
    left = (rank + size - 1) % size;
    rounds(1, 1, 1);
    rounds(8, 8, 64);
    rounds(3, 4, 24);
    rounds(16, 2, ELEMENTS);
    rounds(3, 64, 3 * 64 * 100);
    layouts();
    order();
    late_opening();
    freed();
    nobody_and_nothing();
    too_long();
    errors();
    return MPI_Finalize();
}
