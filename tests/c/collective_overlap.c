/* Many nonblocking collectives in flight at once, on one communicator and on several, beside blocking ones and messages
   (MPI-5.0 section 6.12). */
#include "check.h"

enum { N = 4000, AT_ONCE = 12 };

static int rank, size;

static void on_one_communicator(void)
{
    static long data[AT_ONCE][N];
    MPI_Request requests[AT_ONCE];
    int round, which, i;
    for (round = 0; round < 3; round++) {
        long one = 1, ranks;
        int order[AT_ONCE], done = 0, index;
        for (which = 0; which < AT_ONCE; which++) {
            int count = which % 2 ? N : 3;
            for (i = 0; i < N; i++)
                data[which][i] = rank * 10 + which + i;
            if (which % 3 == 2)
                CHECK(MPI_Ibcast(data[which], count, MPI_LONG, which % size, MPI_COMM_WORLD, &requests[which]) == MPI_SUCCESS);
            else
                CHECK(MPI_Iallreduce(MPI_IN_PLACE, data[which], count, MPI_LONG, MPI_SUM, MPI_COMM_WORLD,
                                     &requests[which]) == MPI_SUCCESS);
            order[which] = 0;
        }
        CHECK(MPI_Allreduce(&one, &ranks, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD) == MPI_SUCCESS && ranks == size);
        CHECK(MPI_Barrier(MPI_COMM_WORLD) == MPI_SUCCESS);
        /* Some one by one in an order of each rank's own, the others as they come. */
        for (i = 0; i < AT_ONCE / 2; i++)
            CHECK(MPI_Wait(&requests[(i + rank + round) % AT_ONCE], MPI_STATUS_IGNORE) == MPI_SUCCESS);
        for (;;) {
            CHECK(MPI_Waitany(AT_ONCE, requests, &index, MPI_STATUS_IGNORE) == MPI_SUCCESS);
            if (index == MPI_UNDEFINED)
                break;
            CHECK(order[index]++ == 0 && ++done <= AT_ONCE / 2);
        }
        CHECK(done == AT_ONCE / 2);
        for (which = 0; which < AT_ONCE; which++)
            for (i = 0; i < (which % 2 ? N : 3); i++) {
                long sum = size * (size - 1L) / 2 * 10 + size * (long)(which + i);
                CHECK(data[which][i] == (which % 3 == 2 ? which % size * 10L + which + i : sum));
            }
    }
}

static void on_several_communicators(void)
{
    MPI_Comm copies[4];
    MPI_Request requests[8];
    int sums[4] = {0}, values[4], i;
    for (i = 0; i < 4; i++) {
        CHECK(MPI_Comm_dup(MPI_COMM_WORLD, &copies[i]) == MPI_SUCCESS);
        values[i] = rank + i;
    }
    /* Every rank starts them in another order; messages on the world go past. */
    for (i = 0; i < 4; i++) {
        int which = (i + rank) % 4;
        CHECK(MPI_Iallreduce(&values[which], &sums[which], 1, MPI_INT, MPI_SUM, copies[which], &requests[which]) ==
              MPI_SUCCESS);
        CHECK(MPI_Ibarrier(copies[which], &requests[4 + which]) == MPI_SUCCESS);
    }
    {
        int got = -1, right = (rank + 1) % size, left = (rank + size - 1) % size;
        CHECK(MPI_Sendrecv(&rank, 1, MPI_INT, right, 1, &got, 1, MPI_INT, left, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE) ==
              MPI_SUCCESS);
        CHECK(got == left);
    }
    CHECK(MPI_Waitall(8, requests, MPI_STATUSES_IGNORE) == MPI_SUCCESS);
    for (i = 0; i < 4; i++) {
        CHECK(sums[i] == size * (size - 1) / 2 + size * i);
        CHECK(requests[i] == MPI_REQUEST_NULL && requests[4 + i] == MPI_REQUEST_NULL);
        CHECK(MPI_Comm_free(&copies[i]) == MPI_SUCCESS);
    }
}

/* A barrier ends only when all have come, and progress is made by whatever call waits. */
static void barriers(void)
{
    MPI_Request request;
    int flag = 1, other, token = 0;
    if (size == 1)
        return;
    if (rank == 0) {
        CHECK(MPI_Ibarrier(MPI_COMM_WORLD, &request) == MPI_SUCCESS);
        CHECK(MPI_Test(&request, &flag, MPI_STATUS_IGNORE) == MPI_SUCCESS && !flag);
        for (other = 1; other < size; other++)
            CHECK(MPI_Send(&token, 1, MPI_INT, other, 2, MPI_COMM_WORLD) == MPI_SUCCESS);
        /* The others answer when they are through. */
        for (other = 1; other < size; other++)
            CHECK(MPI_Recv(&token, 1, MPI_INT, other, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE) == MPI_SUCCESS);
        CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    } else {
        CHECK(MPI_Recv(&token, 1, MPI_INT, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE) == MPI_SUCCESS);
        CHECK(MPI_Ibarrier(MPI_COMM_WORLD, &request) == MPI_SUCCESS);
        CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS);
        CHECK(MPI_Send(&token, 1, MPI_INT, 0, 3, MPI_COMM_WORLD) == MPI_SUCCESS);
    }
}

/* MPI wants the same order on all ranks; programs without it work elsewhere, so they do here. */
static void in_another_order(void)
{
    int sum = -1;
    MPI_Request request;
    if (rank > 0)
        CHECK(MPI_Barrier(MPI_COMM_WORLD) == MPI_SUCCESS);
    CHECK(MPI_Iallreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request) == MPI_SUCCESS);
    if (rank == 0)
        CHECK(MPI_Barrier(MPI_COMM_WORLD) == MPI_SUCCESS);
    CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS && sum == size * (size - 1) / 2);
}

static void started_together(void)
{
    int values[3] = {rank, rank + 1, rank + 2}, sums[3], i, round;
    MPI_Request requests[3];
    for (i = 0; i < 3; i++)
        CHECK(MPI_Allreduce_init(&values[i], &sums[i], 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL,
                                 &requests[i]) == MPI_SUCCESS);
    for (round = 0; round < 5; round++) {
        CHECK(MPI_Startall(3, requests) == MPI_SUCCESS);
        CHECK(MPI_Waitall(3, requests, MPI_STATUSES_IGNORE) == MPI_SUCCESS);
        for (i = 0; i < 3; i++) {
            CHECK(sums[i] == size * (size - 1) / 2 + size * (i + round));
            values[i]++;
        }
    }
    for (i = 0; i < 3; i++)
        CHECK(MPI_Request_free(&requests[i]) == MPI_SUCCESS);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    on_one_communicator();
    on_several_communicators();
    barriers();
    in_another_order();
    started_together();
    MPI_Finalize();
    return 0;
}
