/* Nonblocking and persistent operations, and every way to complete them (MPI-5.0 sections 3.7 to 3.9). */
#include "check.h"

enum { COUNT = 8, LARGE = 200000 };

static int rank, size, left, right;
static int sent[COUNT], got[COUNT];
static MPI_Request requests[2 * COUNT];
static MPI_Status statuses[2 * COUNT];

/* Receives in the first half, sends in the second; the message with tag i carries rank * 100 + i. */
static void begin(void)
{
    int i;
    for (i = 0; i < COUNT; i++) {
        got[i] = -1;
        CHECK(MPI_Irecv(&got[i], 1, MPI_INT, left, i, MPI_COMM_WORLD, &requests[i]) == MPI_SUCCESS);
    }
    for (i = 0; i < COUNT; i++) {
        sent[i] = rank * 100 + i;
        if (i % 2)
            CHECK(MPI_Isend(&sent[i], 1, MPI_INT, right, i, MPI_COMM_WORLD, &requests[COUNT + i]) == MPI_SUCCESS);
        else
            CHECK(MPI_Issend(&sent[i], 1, MPI_INT, right, i, MPI_COMM_WORLD, &requests[COUNT + i]) == MPI_SUCCESS);
    }
}

static void end(void)
{
    int i;
    for (i = 0; i < COUNT; i++)
        CHECK(got[i] == left * 100 + i);
    for (i = 0; i < 2 * COUNT; i++)
        CHECK(requests[i] == MPI_REQUEST_NULL);
}

static void all(void)
{
    int i, flag = 0;
    begin();
    CHECK(MPI_Waitall(2 * COUNT, requests, statuses) == MPI_SUCCESS);
    for (i = 0; i < COUNT; i++)
        CHECK(statuses[i].MPI_SOURCE == left && statuses[i].MPI_TAG == i);
    end();
    begin();
    while (!flag)
        CHECK(MPI_Testall(2 * COUNT, requests, &flag, MPI_STATUSES_IGNORE) == MPI_SUCCESS);
    end();
    /* Nothing left: at once, with empty statuses. */
    CHECK(MPI_Waitall(2 * COUNT, requests, statuses) == MPI_SUCCESS);
    CHECK(statuses[3].MPI_SOURCE == MPI_ANY_SOURCE && statuses[3].MPI_TAG == MPI_ANY_TAG);
    CHECK(MPI_Testall(2 * COUNT, requests, &flag, statuses) == MPI_SUCCESS && flag);
    CHECK(MPI_Waitall(0, NULL, MPI_STATUSES_IGNORE) == MPI_SUCCESS);
}

static void any(void)
{
    int done, index, flag, seen[2 * COUNT] = {0};
    MPI_Status status;
    begin();
    for (done = 0; done < 2 * COUNT; done++) {
        if (done % 2) {
            CHECK(MPI_Waitany(2 * COUNT, requests, &index, &status) == MPI_SUCCESS);
        } else {
            do
                CHECK(MPI_Testany(2 * COUNT, requests, &index, &flag, &status) == MPI_SUCCESS);
            while (!flag);
        }
        CHECK(index >= 0 && index < 2 * COUNT && !seen[index]++);
        if (index < COUNT)
            CHECK(status.MPI_SOURCE == left && status.MPI_TAG == index);
    }
    end();
    CHECK(MPI_Waitany(2 * COUNT, requests, &index, &status) == MPI_SUCCESS && index == MPI_UNDEFINED);
    CHECK(MPI_Testany(2 * COUNT, requests, &index, &flag, &status) == MPI_SUCCESS && flag && index == MPI_UNDEFINED);
}

static void some(void)
{
    int number, i, round, indices[2 * COUNT];
    for (round = 0; round < 2; round++) {
        int done = 0;
        begin();
        while (done < 2 * COUNT) {
            if (round)
                CHECK(MPI_Waitsome(2 * COUNT, requests, &number, indices, statuses) == MPI_SUCCESS && number > 0);
            else
                CHECK(MPI_Testsome(2 * COUNT, requests, &number, indices, statuses) == MPI_SUCCESS && number >= 0);
            for (i = 0; i < number; i++)
                if (indices[i] < COUNT)
                    CHECK(statuses[i].MPI_TAG == indices[i]);
            done += number;
        }
        end();
        CHECK(MPI_Waitsome(2 * COUNT, requests, &number, indices, statuses) == MPI_SUCCESS && number == MPI_UNDEFINED);
        CHECK(MPI_Testsome(2 * COUNT, requests, &number, indices, statuses) == MPI_SUCCESS && number == MPI_UNDEFINED);
    }
}

static void looking(void)
{
    int flag = 0, number, index, indices[2 * COUNT];
    MPI_Status status;
    begin();
    while (!flag)
        CHECK(MPI_Request_get_status_all(2 * COUNT, requests, &flag, statuses) == MPI_SUCCESS);
    CHECK(statuses[1].MPI_TAG == 1 && requests[1] != MPI_REQUEST_NULL);
    CHECK(MPI_Request_get_status(requests[2], &flag, &status) == MPI_SUCCESS && flag && status.MPI_TAG == 2);
    CHECK(MPI_Request_get_status_any(2 * COUNT, requests, &index, &flag, &status) == MPI_SUCCESS && flag && index == 0);
    CHECK(MPI_Request_get_status_some(2 * COUNT, requests, &number, indices, statuses) == MPI_SUCCESS && number == 2 * COUNT);
    while (!flag)
        CHECK(MPI_Test(&requests[0], &flag, &status) == MPI_SUCCESS);
    CHECK(MPI_Waitall(2 * COUNT, requests, MPI_STATUSES_IGNORE) == MPI_SUCCESS);
    end();
    CHECK(MPI_Request_get_status(MPI_REQUEST_NULL, &flag, &status) == MPI_SUCCESS && flag && status.MPI_TAG == MPI_ANY_TAG);
    CHECK(MPI_Request_get_status_any(2, requests, &index, &flag, &status) == MPI_SUCCESS && flag && index == MPI_UNDEFINED);
    CHECK(MPI_Request_get_status_some(2, requests, &number, indices, statuses) == MPI_SUCCESS && number == MPI_UNDEFINED);
}

static void persistent(void)
{
    MPI_Request pair[4];
    MPI_Status status;
    int values[2], arrived[2], round, flag;
    CHECK(MPI_Recv_init(&arrived[0], 1, MPI_INT, left, 20, MPI_COMM_WORLD, &pair[0]) == MPI_SUCCESS);
    CHECK(MPI_Recv_init(&arrived[1], 1, MPI_INT, MPI_ANY_SOURCE, 21, MPI_COMM_WORLD, &pair[1]) == MPI_SUCCESS);
    CHECK(MPI_Send_init(&values[0], 1, MPI_INT, right, 20, MPI_COMM_WORLD, &pair[2]) == MPI_SUCCESS);
    CHECK(MPI_Ssend_init(&values[1], 1, MPI_INT, right, 21, MPI_COMM_WORLD, &pair[3]) == MPI_SUCCESS);
    /* Inactive: at once, with an empty status. */
    CHECK(MPI_Wait(&pair[0], &status) == MPI_SUCCESS && status.MPI_TAG == MPI_ANY_TAG && pair[0] != MPI_REQUEST_NULL);
    CHECK(MPI_Test(&pair[2], &flag, &status) == MPI_SUCCESS && flag);
    CHECK(MPI_Waitany(4, pair, &flag, &status) == MPI_SUCCESS && flag == MPI_UNDEFINED);
    for (round = 0; round < 5; round++) {
        values[0] = rank + round;
        values[1] = rank - round;
        CHECK(MPI_Start(&pair[0]) == MPI_SUCCESS);
        CHECK(MPI_Startall(3, pair + 1) == MPI_SUCCESS);
        CHECK_ERROR(MPI_Start(&pair[0]), MPI_ERR_REQUEST);
        CHECK(MPI_Waitall(4, pair, statuses) == MPI_SUCCESS);
        CHECK(arrived[0] == left + round && arrived[1] == left - round && statuses[1].MPI_SOURCE == left);
        CHECK(pair[0] != MPI_REQUEST_NULL && pair[3] != MPI_REQUEST_NULL);
    }
    for (round = 0; round < 4; round++)
        CHECK(MPI_Request_free(&pair[round]) == MPI_SUCCESS && pair[round] == MPI_REQUEST_NULL);
}

static void ready(void)
{
    int value = rank, arrived = -1, token = 0;
    MPI_Request receive, send;
    CHECK(MPI_Irecv(&arrived, 1, MPI_INT, left, 30, MPI_COMM_WORLD, &receive) == MPI_SUCCESS);
    /* The receive on the right is posted when its token arrives. */
    CHECK(MPI_Sendrecv_replace(&token, 1, MPI_INT, left, 31, right, 31, MPI_COMM_WORLD, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    CHECK(MPI_Irsend(&value, 1, MPI_INT, right, 30, MPI_COMM_WORLD, &send) == MPI_SUCCESS);
    CHECK(MPI_Wait(&send, MPI_STATUS_IGNORE) == MPI_SUCCESS && MPI_Wait(&receive, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    CHECK(arrived == left);
    CHECK(MPI_Recv_init(&arrived, 1, MPI_INT, left, 32, MPI_COMM_WORLD, &receive) == MPI_SUCCESS);
    CHECK(MPI_Rsend_init(&value, 1, MPI_INT, right, 32, MPI_COMM_WORLD, &send) == MPI_SUCCESS);
    arrived = -1;
    CHECK(MPI_Start(&receive) == MPI_SUCCESS);
    CHECK(MPI_Sendrecv_replace(&token, 1, MPI_INT, left, 33, right, 33, MPI_COMM_WORLD, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    CHECK(MPI_Start(&send) == MPI_SUCCESS && MPI_Wait(&send, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    CHECK(MPI_Wait(&receive, MPI_STATUS_IGNORE) == MPI_SUCCESS && arrived == left);
    CHECK(MPI_Request_free(&receive) == MPI_SUCCESS && MPI_Request_free(&send) == MPI_SUCCESS);
}

static void both_at_once(void)
{
    int value = rank, arrived = -1;
    MPI_Status status;
    MPI_Request request;
    CHECK(MPI_Isendrecv(&value, 1, MPI_INT, right, 40, &arrived, 1, MPI_INT, left, 40, MPI_COMM_WORLD, &request) == MPI_SUCCESS);
    CHECK(MPI_Wait(&request, &status) == MPI_SUCCESS && arrived == left && status.MPI_SOURCE == left);
    CHECK(MPI_Isendrecv_replace(&value, 1, MPI_INT, right, 41, left, 41, MPI_COMM_WORLD, &request) == MPI_SUCCESS);
    CHECK(MPI_Wait(&request, &status) == MPI_SUCCESS && value == left && status.MPI_TAG == 41);
}

static void cancelling(void)
{
    int value = 0, flag = 0, n = -1;
    MPI_Request request;
    MPI_Status status;
    CHECK(MPI_Irecv(&value, 1, MPI_INT, left, 999, MPI_COMM_WORLD, &request) == MPI_SUCCESS);
    CHECK(MPI_Cancel(&request) == MPI_SUCCESS && request != MPI_REQUEST_NULL);
    CHECK(MPI_Wait(&request, &status) == MPI_SUCCESS);
    CHECK(MPI_Test_cancelled(&status, &flag) == MPI_SUCCESS && flag);
    CHECK(MPI_Irecv(&value, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &request) == MPI_SUCCESS);
    CHECK(MPI_Wait(&request, &status) == MPI_SUCCESS && status.MPI_SOURCE == MPI_PROC_NULL);
    CHECK(MPI_Test_cancelled(&status, &flag) == MPI_SUCCESS && !flag);
    CHECK(MPI_Get_count(&status, MPI_INT, &n) == MPI_SUCCESS && n == 0);
}

static void freeing(void)
{
    static int large[LARGE], arrived[LARGE];
    MPI_Request send, receive;
    int i;
    for (i = 0; i < LARGE; i++)
        large[i] = rank + i;
    CHECK(MPI_Isend(large, LARGE, MPI_INT, right, 50, MPI_COMM_WORLD, &send) == MPI_SUCCESS);
    CHECK(MPI_Request_free(&send) == MPI_SUCCESS && send == MPI_REQUEST_NULL);
    CHECK(MPI_Irecv(arrived, LARGE, MPI_INT, left, 50, MPI_COMM_WORLD, &receive) == MPI_SUCCESS);
    CHECK(MPI_Wait(&receive, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    for (i = 0; i < LARGE; i++)
        CHECK(arrived[i] == left + i);
}

/* Sends that need no waiting may share one request: whatever completes it, completes it only for the caller. */
static void complete_from_the_start(void)
{
    MPI_Request send[4], mixed[2];
    MPI_Status status;
    int value = 7, arrived = 0, flag = 0, index = -1, i;
    for (i = 0; i < 4; i++)
        CHECK(MPI_Isend(&value, 1, MPI_INT, MPI_PROC_NULL, i, MPI_COMM_WORLD, &send[i]) == MPI_SUCCESS && send[i] != MPI_REQUEST_NULL);
    CHECK(MPI_Request_get_status(send[0], &flag, &status) == MPI_SUCCESS && flag && status.MPI_TAG == MPI_ANY_TAG);
    flag = 0;
    CHECK(MPI_Request_get_status_any(4, send, &index, &flag, &status) == MPI_SUCCESS && flag && index == 0);
    CHECK_ERROR(MPI_Start(&send[0]), MPI_ERR_REQUEST);
    CHECK(MPI_Cancel(&send[0]) == MPI_SUCCESS && MPI_Wait(&send[0], &status) == MPI_SUCCESS && send[0] == MPI_REQUEST_NULL);
    CHECK(MPI_Test_cancelled(&status, &flag) == MPI_SUCCESS && !flag);
    CHECK(MPI_Test(&send[1], &flag, MPI_STATUS_IGNORE) == MPI_SUCCESS && flag && send[1] == MPI_REQUEST_NULL);
    CHECK(MPI_Request_free(&send[2]) == MPI_SUCCESS && send[2] == MPI_REQUEST_NULL);
    CHECK(MPI_Waitany(4, send, &index, &status) == MPI_SUCCESS && index == 3 && send[3] == MPI_REQUEST_NULL);
    for (i = 0; i < 4; i++)
        CHECK(MPI_Isend(&value, 1, MPI_INT, MPI_PROC_NULL, i, MPI_COMM_WORLD, &send[i]) == MPI_SUCCESS);
    send[2] = MPI_REQUEST_NULL;
    statuses[1].MPI_TAG = statuses[2].MPI_TAG = 5;
    CHECK(MPI_Waitall(4, send, statuses) == MPI_SUCCESS && statuses[1].MPI_TAG == MPI_ANY_TAG && statuses[2].MPI_TAG == MPI_ANY_TAG);
    CHECK(send[0] == MPI_REQUEST_NULL && send[3] == MPI_REQUEST_NULL);
    CHECK(MPI_Irecv(&arrived, 1, MPI_INT, left, 70, MPI_COMM_WORLD, &mixed[1]) == MPI_SUCCESS);
    CHECK(MPI_Isend(&value, 1, MPI_INT, right, 70, MPI_COMM_WORLD, &mixed[0]) == MPI_SUCCESS);
    CHECK(MPI_Waitall(2, mixed, statuses) == MPI_SUCCESS && arrived == 7 && statuses[1].MPI_TAG == 70);
    CHECK(mixed[0] == MPI_REQUEST_NULL && mixed[1] == MPI_REQUEST_NULL);
}

/* Receives from nobody are complete from the start, too, and say so however they are completed. */
static void from_nobody(void)
{
    MPI_Request receive[6], mixed[2];
    MPI_Status status;
    int value = 7, arrived = 0, flag = 0, index = -1, number = 0, indices[6], i;
    for (i = 0; i < 6; i++)
        CHECK(MPI_Irecv(&value, 1, MPI_INT, MPI_PROC_NULL, i, MPI_COMM_WORLD, &receive[i]) == MPI_SUCCESS && receive[i] != MPI_REQUEST_NULL);
    CHECK(MPI_Request_get_status(receive[0], &flag, &status) == MPI_SUCCESS && flag && status.MPI_SOURCE == MPI_PROC_NULL);
    CHECK_ERROR(MPI_Start(&receive[0]), MPI_ERR_REQUEST);
    CHECK(MPI_Cancel(&receive[0]) == MPI_SUCCESS && MPI_Wait(&receive[0], &status) == MPI_SUCCESS && status.MPI_SOURCE == MPI_PROC_NULL);
    CHECK(MPI_Request_free(&receive[1]) == MPI_SUCCESS && receive[1] == MPI_REQUEST_NULL);
    flag = 0;
    CHECK(MPI_Test(&receive[2], &flag, &status) == MPI_SUCCESS && flag && status.MPI_SOURCE == MPI_PROC_NULL && receive[2] == MPI_REQUEST_NULL);
    CHECK(MPI_Waitany(6, receive, &index, &status) == MPI_SUCCESS && index == 3 && status.MPI_SOURCE == MPI_PROC_NULL);
    CHECK(MPI_Testsome(6, receive, &number, indices, statuses) == MPI_SUCCESS && number == 2 && indices[0] == 4 && indices[1] == 5);
    CHECK(statuses[1].MPI_SOURCE == MPI_PROC_NULL && receive[4] == MPI_REQUEST_NULL && receive[5] == MPI_REQUEST_NULL);
    CHECK(MPI_Irecv(&arrived, 1, MPI_INT, left, 71, MPI_COMM_WORLD, &mixed[0]) == MPI_SUCCESS);
    CHECK(MPI_Irecv(&value, 1, MPI_INT, MPI_PROC_NULL, 71, MPI_COMM_WORLD, &mixed[1]) == MPI_SUCCESS);
    CHECK(MPI_Testany(2, mixed, &index, &flag, &status) == MPI_SUCCESS && flag && index == 1);
    CHECK(MPI_Testall(2, mixed, &flag, statuses) == MPI_SUCCESS && !flag && mixed[0] != MPI_REQUEST_NULL);
    CHECK(MPI_Barrier(MPI_COMM_WORLD) == MPI_SUCCESS);
    CHECK(MPI_Send(&value, 1, MPI_INT, right, 71, MPI_COMM_WORLD) == MPI_SUCCESS);
    do
        CHECK(MPI_Testall(2, mixed, &flag, statuses) == MPI_SUCCESS);
    while (!flag);
    CHECK(arrived == 7 && statuses[0].MPI_SOURCE == left && statuses[1].MPI_SOURCE == MPI_ANY_SOURCE && mixed[0] == MPI_REQUEST_NULL);
}

/* One of two fails: whoever completes it says so, and the other is as it was. */
static void mistakes_among_several(void)
{
    int values[2] = {1, 2}, arrived[2] = {0, 0}, number, index, indices[2], done;
    MPI_Request pair[2], stale;
    MPI_Status two[2];
    CHECK(MPI_Irecv(&arrived[0], 1, MPI_INT, left, 64, MPI_COMM_WORLD, &pair[0]) == MPI_SUCCESS);
    CHECK(MPI_Irecv(&arrived[1], 1, MPI_INT, left, 65, MPI_COMM_WORLD, &pair[1]) == MPI_SUCCESS);
    CHECK(MPI_Send(values, 2, MPI_INT, right, 64, MPI_COMM_WORLD) == MPI_SUCCESS);
    CHECK_ERROR(MPI_Waitany(2, pair, &index, two), MPI_ERR_TRUNCATE);
    CHECK(index == 0 && pair[0] == MPI_REQUEST_NULL && pair[1] != MPI_REQUEST_NULL);
    CHECK(MPI_Irecv(&arrived[0], 1, MPI_INT, left, 66, MPI_COMM_WORLD, &pair[0]) == MPI_SUCCESS);
    CHECK(MPI_Send(values, 2, MPI_INT, right, 66, MPI_COMM_WORLD) == MPI_SUCCESS);
    CHECK_ERROR(MPI_Waitsome(2, pair, &number, indices, two), MPI_ERR_IN_STATUS);
    CHECK(number == 1 && indices[0] == 0 && two[0].MPI_ERROR == MPI_ERR_TRUNCATE && pair[1] != MPI_REQUEST_NULL);
    CHECK(MPI_Barrier(MPI_COMM_WORLD) == MPI_SUCCESS);
    CHECK(MPI_Send(values, 1, MPI_INT, right, 65, MPI_COMM_WORLD) == MPI_SUCCESS);
    for (done = 0; !done;)
        CHECK(MPI_Testall(2, pair, &done, two) == MPI_SUCCESS);
    CHECK(arrived[1] == 1 && two[1].MPI_TAG == 65 && two[0].MPI_TAG == MPI_ANY_TAG);
    /* A handle that is no request any more spoils the call, and nothing else. */
    CHECK(MPI_Irecv(&arrived[0], 1, MPI_INT, left, 67, MPI_COMM_WORLD, &pair[0]) == MPI_SUCCESS);
    stale = pair[0];
    CHECK(MPI_Sendrecv(values, 1, MPI_INT, right, 67, NULL, 0, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    CHECK(MPI_Wait(&pair[0], MPI_STATUS_IGNORE) == MPI_SUCCESS);
    CHECK(MPI_Irecv(&arrived[0], 1, MPI_INT, left, 68, MPI_COMM_WORLD, &pair[0]) == MPI_SUCCESS);
    pair[1] = stale;
    CHECK_ERROR(MPI_Waitany(2, pair, &index, two), MPI_ERR_REQUEST);
    CHECK_ERROR(MPI_Testall(2, pair, &done, two), MPI_ERR_REQUEST);
    CHECK(pair[0] != MPI_REQUEST_NULL);
    CHECK(MPI_Send(values, 1, MPI_INT, right, 68, MPI_COMM_WORLD) == MPI_SUCCESS);
    CHECK(MPI_Wait(&pair[0], MPI_STATUS_IGNORE) == MPI_SUCCESS);
    /* No place for the flag: the requests, which have completed, are as they were. */
    CHECK(MPI_Recv_init(&arrived[0], 1, MPI_INT, left, 69, MPI_COMM_WORLD, &pair[0]) == MPI_SUCCESS);
    CHECK(MPI_Send_init(values, 1, MPI_INT, right, 69, MPI_COMM_WORLD, &pair[1]) == MPI_SUCCESS);
    CHECK(MPI_Startall(2, pair) == MPI_SUCCESS);
    for (index = 0; index < 2; index++)
        for (done = 0; !done;)
            CHECK(MPI_Request_get_status(pair[index], &done, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    CHECK_ERROR(MPI_Testall(2, pair, NULL, two), MPI_ERR_ARG);
    CHECK(MPI_Waitall(2, pair, two) == MPI_SUCCESS && two[0].MPI_TAG == 69);
    CHECK(MPI_Request_free(&pair[0]) == MPI_SUCCESS && MPI_Request_free(&pair[1]) == MPI_SUCCESS);
}

static void mistakes(void)
{
    int values[2] = {1, 2}, arrived[2] = {0, 0};
    MPI_Request pair[3], stale;
    MPI_Status two[3];
    CHECK(MPI_Irecv(arrived, 1, MPI_INT, left, 60, MPI_COMM_WORLD, &pair[0]) == MPI_SUCCESS);
    stale = pair[0];
    CHECK(MPI_Send(values, 1, MPI_INT, right, 60, MPI_COMM_WORLD) == MPI_SUCCESS);
    CHECK(MPI_Wait(&pair[0], MPI_STATUS_IGNORE) == MPI_SUCCESS);
    CHECK_ERROR(MPI_Wait(&stale, MPI_STATUS_IGNORE), MPI_ERR_REQUEST);
    CHECK_ERROR(MPI_Start(&stale), MPI_ERR_REQUEST);
    stale = MPI_REQUEST_NULL;
    CHECK_ERROR(MPI_Request_free(&stale), MPI_ERR_REQUEST);
    CHECK_ERROR(MPI_Cancel(&stale), MPI_ERR_REQUEST);
    CHECK_ERROR(MPI_Waitall(-1, pair, MPI_STATUSES_IGNORE), MPI_ERR_COUNT);
    /* One of three fails: the statuses say which. */
    CHECK(MPI_Irecv(&arrived[0], 1, MPI_INT, left, 61, MPI_COMM_WORLD, &pair[0]) == MPI_SUCCESS);
    CHECK(MPI_Irecv(&arrived[1], 1, MPI_INT, left, 62, MPI_COMM_WORLD, &pair[1]) == MPI_SUCCESS);
    pair[2] = MPI_REQUEST_NULL;
    CHECK(MPI_Send(values, 2, MPI_INT, right, 61, MPI_COMM_WORLD) == MPI_SUCCESS);
    CHECK(MPI_Send(values, 1, MPI_INT, right, 62, MPI_COMM_WORLD) == MPI_SUCCESS);
    CHECK_ERROR(MPI_Waitall(3, pair, two), MPI_ERR_IN_STATUS);
    CHECK(two[0].MPI_ERROR == MPI_ERR_TRUNCATE && two[1].MPI_ERROR == MPI_SUCCESS && two[2].MPI_ERROR == MPI_SUCCESS);
    CHECK(two[1].MPI_TAG == 62 && pair[0] == MPI_REQUEST_NULL && pair[1] == MPI_REQUEST_NULL);
    CHECK(MPI_Irecv(&arrived[0], 1, MPI_INT, left, 63, MPI_COMM_WORLD, &pair[0]) == MPI_SUCCESS);
    CHECK(MPI_Send(values, 2, MPI_INT, right, 63, MPI_COMM_WORLD) == MPI_SUCCESS);
    CHECK_ERROR(MPI_Wait(&pair[0], MPI_STATUS_IGNORE), MPI_ERR_TRUNCATE);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    left = (rank + size - 1) % size;
    right = (rank + 1) % size;
    all();
    any();
    some();
    looking();
    persistent();
    ready();
    both_at_once();
    cancelling();
    freeing();
    complete_from_the_start();
    from_nobody();
    mistakes();
    mistakes_among_several();
    MPI_Finalize();
    return 0;
}
