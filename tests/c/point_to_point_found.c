/* Receives that have completed when they are started, as their message was there or as they are from nobody, in every way to complete them, beside
   others and alone (MPI-5.0 sections 3.7, 3.8.4 and 3.10). ranks: 2 */
#include "check.h"

enum { COUNT = 12, NOBODY = 5, ROUNDS = 200 };

static int rank;
static char got[COUNT][COUNT];
static MPI_Request requests[COUNT + 1];
static MPI_Status statuses[COUNT + 1];

/* The message with tag i has i bytes, all of them i. Where the first one is, others are as a rule. */
static void begin(void)
{
    int i;
    CHECK(MPI_Recv(got[0], COUNT, MPI_CHAR, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    requests[0] = MPI_REQUEST_NULL;
    memset(got, -1, sizeof got);
    for (i = 1; i < COUNT; i++) {
        int source = i == NOBODY ? MPI_PROC_NULL : 0;
        CHECK(MPI_Irecv(got[i], COUNT, MPI_CHAR, source, i, MPI_COMM_WORLD, &requests[i]) == MPI_SUCCESS);
        CHECK(requests[i] != MPI_REQUEST_NULL);
    }
}

static void is_received(int i, const MPI_Status *status)
{
    int count, at, cancelled;
    CHECK(MPI_Get_count(status, MPI_CHAR, &count) == MPI_SUCCESS);
    CHECK(MPI_Test_cancelled(status, &cancelled) == MPI_SUCCESS && !cancelled);
    if (i == NOBODY) {
        CHECK(status->MPI_SOURCE == MPI_PROC_NULL && status->MPI_TAG == MPI_ANY_TAG && count == 0);
        return;
    }
    CHECK(status->MPI_SOURCE == 0 && status->MPI_TAG == i && count == i);
    for (at = 0; at < COUNT; at++)
        CHECK(got[i][at] == (at < i ? i : -1));
}

static void is_empty(const MPI_Status *status)
{
    CHECK(status->MPI_SOURCE == MPI_ANY_SOURCE && status->MPI_TAG == MPI_ANY_TAG);
}

static void all_received(void)
{
    int i;
    is_empty(&statuses[0]);
    for (i = 1; i < COUNT; i++)
        is_received(i, &statuses[i]);
}

static void wait_each(void)
{
    int i;
    for (i = COUNT; --i > 0;) {
        CHECK(MPI_Wait(&requests[i], &statuses[i]) == MPI_SUCCESS);
        is_received(i, &statuses[i]);
    }
}

static void test_each(void)
{
    int i, flag;
    for (i = 1; i < COUNT; i++) {
        do
            CHECK(MPI_Test(&requests[i], &flag, &statuses[i]) == MPI_SUCCESS);
        while (!flag);
        is_received(i, &statuses[i]);
    }
}

static void wait_all(void)
{
    CHECK(MPI_Waitall(COUNT, requests, statuses) == MPI_SUCCESS);
    all_received();
}

static void test_all(void)
{
    int flag;
    do
        CHECK(MPI_Testall(COUNT, requests, &flag, statuses) == MPI_SUCCESS);
    while (!flag);
    all_received();
}

static void wait_any(void)
{
    int left, index, seen = 0;
    for (left = 1; left < COUNT; left++) {
        CHECK(MPI_Waitany(COUNT, requests, &index, statuses) == MPI_SUCCESS);
        is_received(index, statuses);
        seen |= 1 << index;
    }
    CHECK(seen == (1 << COUNT) - 2);
    CHECK(MPI_Waitany(COUNT, requests, &index, statuses) == MPI_SUCCESS && index == MPI_UNDEFINED);
}

static void test_any(void)
{
    int left, index, flag;
    for (left = 1; left < COUNT; left++) {
        do
            CHECK(MPI_Testany(COUNT, requests, &index, &flag, statuses) == MPI_SUCCESS);
        while (!flag);
        is_received(index, statuses);
    }
}

static void some(int (*complete)(int, MPI_Request *, int *, int *, MPI_Status *))
{
    int left = COUNT - 1, number, i, indices[COUNT];
    while (left > 0) {
        CHECK(complete(COUNT, requests, &number, indices, statuses) == MPI_SUCCESS);
        for (i = 0; i < number; i++)
            is_received(indices[i], &statuses[i]);
        left -= number;
    }
    CHECK(complete(COUNT, requests, &number, indices, statuses) == MPI_SUCCESS && number == MPI_UNDEFINED);
}

static void wait_some(void)
{
    some(MPI_Waitsome);
}

static void test_some(void)
{
    some(MPI_Testsome);
}

/* What has been looked at is still there. */
static void looked_at(void)
{
    int i, flag;
    for (i = 1; i < COUNT; i++) {
        do
            CHECK(MPI_Request_get_status(requests[i], &flag, &statuses[i]) == MPI_SUCCESS);
        while (!flag);
        is_received(i, &statuses[i]);
    }
    wait_all();
}

/* A request of another kind among them, before and behind. */
static void beside_another(int at)
{
    int i;
    MPI_Request mixed[COUNT + 1];
    for (i = 0; i < COUNT; i++)
        mixed[i + (i >= at)] = requests[i];
    CHECK(MPI_Ibarrier(MPI_COMM_SELF, &mixed[at]) == MPI_SUCCESS);
    CHECK(MPI_Waitall(COUNT + 1, mixed, statuses) == MPI_SUCCESS);
    for (i = 0; i < COUNT + 1; i++)
        CHECK(mixed[i] == MPI_REQUEST_NULL);
    memmove(&statuses[at], &statuses[at + 1], (COUNT - at) * sizeof *statuses);
    all_received();
    for (i = 0; i < COUNT; i++)
        requests[i] = MPI_REQUEST_NULL;
}

static void first_another(void)
{
    beside_another(0);
}

static void then_another(void)
{
    beside_another(COUNT / 2);
}

static void freed(void)
{
    int i;
    for (i = 1; i < COUNT; i++)
        CHECK(MPI_Request_free(&requests[i]) == MPI_SUCCESS);
}

/* It is too late to cancel what is from nobody, and what is gone is no request. */
static void misused(void)
{
    MPI_Request gone = requests[NOBODY];
    CHECK(MPI_Cancel(&requests[NOBODY]) == MPI_SUCCESS);
    CHECK_ERROR(MPI_Start(&requests[NOBODY]), MPI_ERR_REQUEST);
    wait_all();
    CHECK_ERROR(MPI_Wait(&gone, MPI_STATUS_IGNORE), MPI_ERR_REQUEST);
    CHECK_ERROR(MPI_Waitall(1, &gone, MPI_STATUSES_IGNORE), MPI_ERR_REQUEST);
}

/* The error of a message that is too long is told when the receive is completed. */
static void too_long(void)
{
    int i, class;
    for (i = 1; i < COUNT; i++)
        CHECK(MPI_Wait(&requests[i], MPI_STATUS_IGNORE) == MPI_SUCCESS);
    CHECK(MPI_Recv(got[0], COUNT, MPI_CHAR, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    memset(got, -1, sizeof got);
    CHECK(MPI_Irecv(got[1], 4, MPI_CHAR, 0, 2, MPI_COMM_WORLD, &requests[1]) == MPI_SUCCESS);
    CHECK(MPI_Irecv(got[2], 4, MPI_CHAR, 0, 3, MPI_COMM_WORLD, &requests[2]) == MPI_SUCCESS);
    CHECK(MPI_Waitall(3, requests, statuses) == MPI_ERR_IN_STATUS);
    CHECK(statuses[0].MPI_ERROR == MPI_SUCCESS && statuses[2].MPI_ERROR == MPI_SUCCESS);
    CHECK(MPI_Error_class(statuses[1].MPI_ERROR, &class) == MPI_SUCCESS && class == MPI_ERR_TRUNCATE);
    CHECK(got[1][3] == 7 && got[1][4] == -1 && got[2][3] == 7);
}

static void (*const ways[])(void) = {wait_each, test_each, wait_all, test_all, wait_any, test_any, wait_some, test_some,
                                     looked_at, first_another, then_another, freed, misused, too_long};
enum { WAYS = sizeof ways / sizeof *ways };

int main(int argc, char **argv)
{
    int round, way, i;
    char data[COUNT];
    MPI_Init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (round = 0; round < ROUNDS; round++)
        for (way = 0; way < WAYS; way++) {
            if (rank == 1) {
                begin();
                ways[way]();
                for (i = 0; i < COUNT; i++)
                    CHECK(requests[i] == MPI_REQUEST_NULL);
            } else if (rank == 0) {
                for (i = 0; i < COUNT; i++) {
                    memset(data, i, sizeof data);
                    if (i != NOBODY)
                        CHECK(MPI_Send(data, i, MPI_CHAR, 1, i, MPI_COMM_WORLD) == MPI_SUCCESS);
                }
                for (i = 1; i < 4 && ways[way] == too_long; i++) {
                    memset(data, 7, sizeof data);
                    CHECK(MPI_Send(data, i == 2 ? 5 : 4, MPI_CHAR, 1, i, MPI_COMM_WORLD) == MPI_SUCCESS);
                }
            }
            MPI_Barrier(MPI_COMM_WORLD);
        }
    MPI_Finalize();
    return 0;
}
