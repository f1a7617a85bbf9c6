/* Of several requests that belong to several communicators the one that fails says whose error handler is called. ranks: 1 2 */
#include "check.h"

enum { COMMUNICATORS = 3, KINDS = 2, CALLS = 6 };

static MPI_Comm comms[COMMUNICATORS];
static int calls;
static MPI_Comm called;
static int rank, data[COMMUNICATORS][2];
static const int sent[2] = {1, 2};

static void note(MPI_Comm *comm, int *code, ...)
{
    (void)code;
    calls++;
    called = *comm;
}

/* A receive from this rank itself, on that communicator; persistent ones are kept elsewhere by most libraries. */
static MPI_Request receive(int which, int persistent)
{
    MPI_Request request;
    if (persistent) {
        MPI_Recv_init(data[which], 1, MPI_INT, rank, 0, comms[which], &request);
        MPI_Start(&request);
    } else {
        MPI_Irecv(data[which], 1, MPI_INT, rank, 0, comms[which], &request);
    }
    return request;
}

/* Completes all; what is told by an error is told once. */
static void complete(int how, MPI_Request *requests)
{
    MPI_Status statuses[COMMUNICATORS];
    int indices[COMMUNICATORS], index, flag = 0, number, left = COMMUNICATORS;
    if (how == 0)
        MPI_Waitall(COMMUNICATORS, requests, statuses);
    while (how == 1 && !flag)
        MPI_Testall(COMMUNICATORS, requests, &flag, MPI_STATUSES_IGNORE);
    for (; left > 0; left -= number, number = 0) {
        number = COMMUNICATORS;
        if (how == 2)
            MPI_Waitsome(COMMUNICATORS, requests, &number, indices, statuses);
        if (how == 3)
            MPI_Testsome(COMMUNICATORS, requests, &number, indices, MPI_STATUSES_IGNORE);
        if (how == 4) {
            MPI_Waitany(COMMUNICATORS, requests, &index, MPI_STATUS_IGNORE);
            number = 1;
        }
        if (how == 5) {
            MPI_Testany(COMMUNICATORS, requests, &index, &flag, statuses);
            number = flag != 0;
        }
    }
}

/* One of the three gets more than it has room for. */
static void one_fails(int wrong, int kinds, int how)
{
    MPI_Request requests[COMMUNICATORS], outgoing[COMMUNICATORS];
    int i;
    calls = 0;
    called = MPI_COMM_NULL;
    for (i = 0; i < COMMUNICATORS; i++)
        requests[i] = receive(i, kinds >> i & 1);
    for (i = 0; i < COMMUNICATORS; i++)
        MPI_Isend(sent, i == wrong ? 2 : 1, MPI_INT, rank, 0, comms[i], &outgoing[i]);
    MPI_Waitall(COMMUNICATORS, outgoing, MPI_STATUSES_IGNORE);
    CHECK(calls == 0);
    complete(how, requests);
    if (calls != 1 || called != comms[wrong]) {
        fprintf(stderr, "call %d, kinds %d, wrong %d: %d calls\n", how, kinds, wrong, calls);
        exit(1);
    }
    for (i = 0; i < COMMUNICATORS; i++)
        if (requests[i] != MPI_REQUEST_NULL)
            MPI_Request_free(&requests[i]);
}

/* Several fail: the first of the list is whose handler hears of it. */
static void two_fail(int kinds)
{
    MPI_Request requests[2], outgoing[2];
    int i;
    calls = 0;
    for (i = 0; i < 2; i++)
        requests[i] = receive(i, kinds >> i & 1);
    for (i = 0; i < 2; i++)
        MPI_Isend(sent, 2, MPI_INT, rank, 0, comms[i], &outgoing[i]);
    MPI_Waitall(2, outgoing, MPI_STATUSES_IGNORE);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    CHECK(calls == 1 && called == comms[0]);
    for (i = 0; i < 2; i++)
        if (requests[i] != MPI_REQUEST_NULL)
            MPI_Request_free(&requests[i]);
}

/* A handle that is no request belongs to no communicator. */
static void no_request(void)
{
    MPI_Request requests[2] = {receive(0, 1), MPI_REQUEST_NULL}, gone;
    int one = 1;
    MPI_Irecv(data[1], 1, MPI_INT, 0, 1, MPI_COMM_SELF, &gone);
    requests[1] = gone;
    MPI_Cancel(&gone);
    MPI_Wait(&gone, MPI_STATUS_IGNORE);
    calls = 0;
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    CHECK(calls == 1 && called == MPI_COMM_WORLD);
    MPI_Send(&one, 1, MPI_INT, rank, 0, comms[0]);
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    MPI_Request_free(&requests[0]);
    CHECK(calls == 1);
}

int main(int argc, char **argv)
{
    MPI_Errhandler handler;
    int i, wrong, kinds, how;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_create_errhandler(note, &handler);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
    for (i = 0; i < COMMUNICATORS; i++)
        MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
    for (how = 0; how < CALLS; how++)
        for (kinds = 0; kinds < 1 << COMMUNICATORS; kinds++)
            for (wrong = 0; wrong < COMMUNICATORS; wrong++)
                one_fails(wrong, kinds, how);
    for (kinds = 0; kinds < 1 << KINDS; kinds++)
        two_fail(kinds);
    no_request();
    for (i = 0; i < COMMUNICATORS; i++)
        MPI_Comm_free(&comms[i]);
    MPI_Errhandler_free(&handler);
    MPI_Finalize();
    return 0;
}
