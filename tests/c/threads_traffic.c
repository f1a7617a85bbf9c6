/* Threads that all communicate, each on a communicator of its own or all on one with tags of their own. ranks: 1 2 4 */
#include "threads.h"

enum { ROUNDS = 60, LONG = 40000 };

static MPI_Comm common;

static void exchange(int me, int round, int *out, int *in)
{
    MPI_Request requests[4];
    int length = round % 10 == 9 ? LONG : 1 + round, small = -1, value = rank * 1000 + me * 100 + round;
    for (int index = 0; index < length; index++)
        out[index] = value + index, in[index] = -1;
    MPI_Irecv(in, length, MPI_INT, left, me, own[me], &requests[0]);
    MPI_Irecv(&small, 1, MPI_INT, MPI_ANY_SOURCE, me, common, &requests[1]);
    MPI_Isend(out, length, MPI_INT, right, me, own[me], &requests[2]);
    MPI_Isend(&value, 1, MPI_INT, right, me, common, &requests[3]);
    CHECK(MPI_Waitall(4, requests, MPI_STATUSES_IGNORE) == MPI_SUCCESS);
    int expected = left * 1000 + me * 100 + round;
    CHECK(small == expected);
    for (int index = 0; index < length; index++)
        CHECK(in[index] == expected + index);
}

static void *communicate(void *number)
{
    int me = *(int *)number;
    int *out = malloc(LONG * sizeof *out), *in = malloc(LONG * sizeof *in);
    for (int round = 0; round < ROUNDS; round++) {
        exchange(me, round, out, in);
        if (round % 7 == me) {
            int sum = 0, mine = rank + me, flag = 0;
            MPI_Request request;
            CHECK(MPI_Iallreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, own[me], &request) == MPI_SUCCESS);
            while (!flag)
                MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
            CHECK(sum == size * (size - 1) / 2 + size * me);
        }
        if (round % 20 == me) {
            /* Communicators that are made at the same time on different ones. */
            MPI_Comm made;
            int sum = 0, one = 1;
            CHECK(MPI_Comm_dup(own[me], &made) == MPI_SUCCESS);
            CHECK(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, made) == MPI_SUCCESS && sum == size);
            CHECK(MPI_Comm_free(&made) == MPI_SUCCESS);
        }
        if (round % 15 == me) {
            MPI_Datatype pair;
            int pairs[4] = {rank, 0, me, 0}, got[4] = {-1, -1, -1, -1};
            CHECK(MPI_Type_vector(2, 1, 2, MPI_INT, &pair) == MPI_SUCCESS);
            CHECK(MPI_Type_commit(&pair) == MPI_SUCCESS);
            CHECK(MPI_Sendrecv(pairs, 1, pair, right, 99, got, 1, pair, left, 99, own[me], MPI_STATUS_IGNORE) ==
                  MPI_SUCCESS);
            CHECK(got[0] == left && got[2] == me && got[1] == -1);
            CHECK(MPI_Type_free(&pair) == MPI_SUCCESS);
        }
    }
    free(out);
    free(in);
    return NULL;
}

int main(int argc, char **argv)
{
    initialize(argc, argv);
    MPI_Comm_dup(MPI_COMM_WORLD, &common);
    run_threads(communicate);
    MPI_Comm_free(&common);
    return finalize();
}
