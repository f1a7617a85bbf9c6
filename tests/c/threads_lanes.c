/* Threads on communicators of their own, which are in different lanes if the job has several: what they do at the same time, and what
 * one thread does with several communicators. ranks: 1 2 3 */
#include "threads.h"

enum { ROUNDS = 40, LONG = 300000 };

static void add(void *in, void *inout, int *count, MPI_Datatype *datatype)
{
    int extent = 0;
    MPI_Type_size(*datatype, &extent);
    for (int index = 0; index < *count * extent / (int)sizeof(int); index++)
        ((int *)inout)[index] += ((int *)in)[index];
}

/* Long and short messages in all communicators, completed together in whatever order. */
static void several_at_once(int me)
{
    MPI_Request requests[2 * THREADS], all[2 * THREADS];
    int in[THREADS], out[THREADS], indices[2 * THREADS], number = 0, done = 0, flag = 0;
    for (int other = 0; other < THREADS; other++) {
        out[other] = rank * 100 + me, in[other] = -1;
        MPI_Irecv(&in[other], 1, MPI_INT, left, 10 + me, own[other], &requests[2 * other]);
        MPI_Isend(&out[other], 1, MPI_INT, right, 10 + me, own[other], &requests[2 * other + 1]);
    }
    CHECK(MPI_Waitany(2 * THREADS, requests, indices, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    CHECK(indices[0] != MPI_UNDEFINED && requests[indices[0]] == MPI_REQUEST_NULL);
    CHECK(MPI_Waitsome(2 * THREADS, requests, &number, indices, MPI_STATUSES_IGNORE) == MPI_SUCCESS);
    for (done = 1 + number; done < 2 * THREADS; done += number == MPI_UNDEFINED ? 0 : number)
        MPI_Testsome(2 * THREADS, requests, &number, indices, MPI_STATUSES_IGNORE);
    for (int other = 0; other < THREADS; other++)
        CHECK(in[other] == left * 100 + me);
    for (int other = 0; other < THREADS; other++) {
        MPI_Recv_init(&in[other], 1, MPI_INT, left, 20 + me, own[other], &all[2 * other]);
        MPI_Send_init(&out[other], 1, MPI_INT, right, 20 + me, own[other], &all[2 * other + 1]);
        in[other] = -1;
    }
    CHECK(MPI_Startall(2 * THREADS, all) == MPI_SUCCESS);
    while (!flag)
        MPI_Testall(2 * THREADS, all, &flag, MPI_STATUSES_IGNORE);
    for (int other = 0; other < THREADS; other++)
        CHECK(in[other] == left * 100 + me);
    for (int index = 0; index < 2 * THREADS; index++)
        CHECK(MPI_Request_free(&all[index]) == MPI_SUCCESS);
}

/* Datatypes and operations of the program's in two communicators, freed while they are in use. */
static void own_types(int me, int *data, int *got)
{
    MPI_Datatype every_other, pair;
    MPI_Op op;
    MPI_Request requests[4];
    MPI_Comm here = own[me], there = own[(me + 1) % THREADS];
    CHECK(MPI_Type_vector(LONG / 4, 1, 2, MPI_INT, &every_other) == MPI_SUCCESS);
    CHECK(MPI_Type_commit(&every_other) == MPI_SUCCESS);
    CHECK(MPI_Type_contiguous(2, MPI_INT, &pair) == MPI_SUCCESS);
    CHECK(MPI_Type_commit(&pair) == MPI_SUCCESS);
    CHECK(MPI_Op_create(add, 1, &op) == MPI_SUCCESS);
    for (int index = 0; index < LONG; index++)
        data[index] = rank + index, got[index] = -1;
    int mine[4] = {1, me, 2, rank}, sums[4] = {0};
    MPI_Irecv(got, 1, every_other, left, 30 + me, there, &requests[0]);
    MPI_Isend(data, 1, every_other, right, 30 + me, there, &requests[1]);
    /* In one's own: all ranks begin collectives of a communicator in the same order. */
    MPI_Iallreduce(mine, sums, 2, pair, op, here, &requests[2]);
    MPI_Ibarrier(here, &requests[3]);
    MPI_Type_free(&every_other);
    MPI_Type_free(&pair);
    MPI_Op_free(&op);
    CHECK(MPI_Waitall(4, requests, MPI_STATUSES_IGNORE) == MPI_SUCCESS);
    CHECK(sums[0] == size && sums[1] == size * me && sums[2] == 2 * size && sums[3] == size * (size - 1) / 2);
    for (int index = 0; index < LONG / 2; index++)
        CHECK(got[index] == (index % 2 ? -1 : left + index));
}

/* A long message in one communicator goes on while its rank waits in another. */
static void waiting_elsewhere(int me, int *data, int *got)
{
    MPI_Comm here = own[me], there = own[(me + 1) % THREADS];
    MPI_Request sent;
    int token = -1;
    for (int index = 0; index < LONG; index++)
        data[index] = rank + index;
    if (rank % 2 == 0 && right != rank && right % 2) {
        MPI_Issend(data, LONG, MPI_INT, right, 40 + me, there, &sent);
        MPI_Recv(&token, 1, MPI_INT, right, 50 + me, here, MPI_STATUS_IGNORE);
        CHECK(token == right);
        MPI_Wait(&sent, MPI_STATUS_IGNORE);
    } else if (rank % 2) {
        MPI_Recv(got, LONG, MPI_INT, left, 40 + me, there, MPI_STATUS_IGNORE);
        CHECK(got[LONG - 1] == left + LONG - 1);
        MPI_Send(&rank, 1, MPI_INT, left, 50 + me, here);
    }
}

/* Messages that are taken before they are received. What stands where the request will be means nothing. */
static void matched(int me)
{
    int value = rank + me, got = -1;
    MPI_Message message;
    MPI_Request sent, request;
    memset(&request, 0x85, sizeof request);
    MPI_Isend(&value, 1, MPI_INT, right, 70 + me, own[me], &sent);
    CHECK(MPI_Mprobe(left, 70 + me, own[me], &message, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    CHECK(MPI_Imrecv(&got, 1, MPI_INT, &message, &request) == MPI_SUCCESS);
    MPI_Request both[2] = {sent, request};
    CHECK(MPI_Waitall(2, both, MPI_STATUSES_IGNORE) == MPI_SUCCESS && got == left + me);
}

/* Errors go to the handler of the communicator that they are about. */
static void errors(int me)
{
    int value = 0;
    MPI_Request request;
    CHECK(MPI_Send(&value, 1, MPI_INT, size, 0, own[me]) != MPI_SUCCESS);
    CHECK(MPI_Bcast(&value, -1, MPI_INT, 0, own[me]) != MPI_SUCCESS);
    MPI_Irecv(&value, 0, MPI_INT, rank, 60 + me, own[me], &request);
    MPI_Send(&value, 1, MPI_INT, rank, 60 + me, own[me]);
    CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE) != MPI_SUCCESS);
}

static void *communicate(void *number)
{
    int me = *(int *)number;
    int *data = malloc(LONG * sizeof *data), *got = malloc(LONG * sizeof *got);
    for (int round = 0; round < ROUNDS; round++) {
        int sum = 0, one = 1, flag = 0, all[3] = {-1, -1, -1};
        CHECK(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, own[me]) == MPI_SUCCESS && sum == size);
        CHECK(MPI_Allgather(&rank, 1, MPI_INT, all, 1, MPI_INT, own[me]) == MPI_SUCCESS && all[size - 1] == size - 1);
        MPI_Iprobe(MPI_ANY_SOURCE, 99, own[me], &flag, MPI_STATUS_IGNORE);
        CHECK(!flag);
        several_at_once(me);
        errors(me);
        matched(me);
        if (round % 4 == me) {
            own_types(me, data, got);
            waiting_elsewhere(me, data, got);
        }
        if (round % 10 == me) {
            MPI_Comm made, half;
            CHECK(MPI_Comm_dup(own[me], &made) == MPI_SUCCESS);
            CHECK(MPI_Comm_split(made, rank % 2, 0, &half) == MPI_SUCCESS);
            CHECK(MPI_Barrier(half) == MPI_SUCCESS);
            CHECK(MPI_Comm_free(&made) == MPI_SUCCESS);
            CHECK(MPI_Comm_free(&half) == MPI_SUCCESS);
        }
    }
    free(data);
    free(got);
    return NULL;
}

/* One buffer for all communicators. */
static void buffered(void)
{
    char *buffer = malloc(1 << 20), *back;
    int length = 0, got[THREADS];
    MPI_Request requests[THREADS];
    CHECK(MPI_Buffer_attach(buffer, 1 << 20) == MPI_SUCCESS);
    for (int index = 0; index < THREADS; index++)
        CHECK(MPI_Bsend(&rank, 1, MPI_INT, right, 1, own[index]) == MPI_SUCCESS);
    CHECK(MPI_Buffer_detach(&back, &length) == MPI_SUCCESS && back == buffer);
    for (int index = 0; index < THREADS; index++)
        MPI_Irecv(&got[index], 1, MPI_INT, left, 1, own[index], &requests[index]);
    CHECK(MPI_Waitall(THREADS, requests, MPI_STATUSES_IGNORE) == MPI_SUCCESS);
    for (int index = 0; index < THREADS; index++)
        CHECK(got[index] == left);
    free(buffer);
}

int main(int argc, char **argv)
{
    initialize(argc, argv);
    buffered();
    run_threads(communicate);
    buffered();
    return finalize();
}
