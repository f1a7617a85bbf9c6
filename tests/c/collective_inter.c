/* Collectives between the two groups of an intercommunicator (MPI-5.0 section 6.2.2). ranks: 2 3 4 5 */
#include "check.h"

enum { N = 900, RANKS = 8 };

static int rank, remote, me;
/* The other group's rank in the world of its rank r is 2 r + other. */
static int other;
static MPI_Comm comm;

static int number(int from, int to, int i)
{
    return from * 100003 + to * 1009 + i;
}

static int sent[N * RANKS], got[N * RANKS];

static void fill(void)
{
    int to, i;
    for (to = 0; to < remote; to++)
        for (i = 0; i < N; i++)
            sent[to * N + i] = number(me, to, i);
    for (i = 0; i < N * RANKS; i++)
        got[i] = -1;
}

static void end(int nonblocking, MPI_Request *request)
{
    if (nonblocking)
        CHECK(MPI_Wait(request, MPI_STATUS_IGNORE) == MPI_SUCCESS);
}

/* What rank r of the other group gave to rank `to` of this one. */
static int theirs(int r, int to, int i)
{
    return number(2 * r + other, to, i);
}

static void rooted(int nonblocking)
{
    /* The root is the last of the even ranks' group. */
    int even = me % 2 == 0, local, root, here, i, r;
    MPI_Request request;
    MPI_Comm_size(comm, &local);
    here = even && rank == local - 1;
    root = even ? (here ? MPI_ROOT : MPI_PROC_NULL) : remote - 1;
    fill();
    CHECK((nonblocking ? MPI_Ibcast(here ? sent : got, N, MPI_INT, root, comm, &request)
                       : MPI_Bcast(here ? sent : got, N, MPI_INT, root, comm)) == MPI_SUCCESS);
    end(nonblocking, &request);
    for (i = 0; i < N; i++)
        CHECK(got[i] == (even ? -1 : theirs(remote - 1, 0, i)));
    fill();
    CHECK((nonblocking ? MPI_Igather(sent, N, MPI_INT, got, N, MPI_INT, root, comm, &request)
                       : MPI_Gather(sent, N, MPI_INT, got, N, MPI_INT, root, comm)) == MPI_SUCCESS);
    end(nonblocking, &request);
    for (r = 0; r < remote; r++)
        for (i = 0; i < N; i++)
            CHECK(got[r * N + i] == (here ? theirs(r, 0, i) : -1));
    fill();
    CHECK((nonblocking ? MPI_Iscatter(sent, N, MPI_INT, got, N, MPI_INT, root, comm, &request)
                       : MPI_Scatter(sent, N, MPI_INT, got, N, MPI_INT, root, comm)) == MPI_SUCCESS);
    end(nonblocking, &request);
    for (i = 0; i < N; i++)
        CHECK(got[i] == (even ? -1 : theirs(remote - 1, rank, i)));
    fill();
    CHECK((nonblocking ? MPI_Ireduce(sent, got, N, MPI_INT, MPI_SUM, root, comm, &request)
                       : MPI_Reduce(sent, got, N, MPI_INT, MPI_SUM, root, comm)) == MPI_SUCCESS);
    end(nonblocking, &request);
    for (i = 0; i < N; i++) {
        int sum = 0;
        for (r = 0; r < remote; r++)
            sum += theirs(r, 0, i);
        CHECK(got[i] == (here ? sum : -1));
    }
}

static void everybody(int nonblocking)
{
    int i, r, local, counts[RANKS], starts[RANKS], total;
    MPI_Request request;
    MPI_Comm_size(comm, &local);
    CHECK((nonblocking ? MPI_Ibarrier(comm, &request) : MPI_Barrier(comm)) == MPI_SUCCESS);
    end(nonblocking, &request);
    fill();
    CHECK((nonblocking ? MPI_Iallgather(sent, N, MPI_INT, got, N, MPI_INT, comm, &request)
                       : MPI_Allgather(sent, N, MPI_INT, got, N, MPI_INT, comm)) == MPI_SUCCESS);
    end(nonblocking, &request);
    for (r = 0; r < remote; r++)
        for (i = 0; i < N; i++)
            CHECK(got[r * N + i] == theirs(r, 0, i));
    fill();
    CHECK((nonblocking ? MPI_Ialltoall(sent, N, MPI_INT, got, N, MPI_INT, comm, &request)
                       : MPI_Alltoall(sent, N, MPI_INT, got, N, MPI_INT, comm)) == MPI_SUCCESS);
    end(nonblocking, &request);
    for (r = 0; r < remote; r++)
        for (i = 0; i < N; i++)
            CHECK(got[r * N + i] == theirs(r, rank, i));
    fill();
    for (r = 0; r < remote; r++) {
        counts[r] = r + 1;
        starts[r] = r * N;
    }
    CHECK((nonblocking ? MPI_Iallgatherv(sent, rank + 1, MPI_INT, got, counts, starts, MPI_INT, comm, &request)
                       : MPI_Allgatherv(sent, rank + 1, MPI_INT, got, counts, starts, MPI_INT, comm)) == MPI_SUCCESS);
    end(nonblocking, &request);
    for (r = 0; r < remote; r++)
        for (i = 0; i <= r + 1; i++)
            CHECK(got[r * N + i] == (i <= r ? theirs(r, 0, i) : -1));
    fill();
    CHECK((nonblocking ? MPI_Iallreduce(sent, got, N, MPI_INT, MPI_MAX, comm, &request)
                       : MPI_Allreduce(sent, got, N, MPI_INT, MPI_MAX, comm)) == MPI_SUCCESS);
    end(nonblocking, &request);
    for (i = 0; i < N; i++)
        CHECK(got[i] == theirs(remote - 1, 0, i));
    /* Both groups give as much; each distributes it among its own. */
    fill();
    total = 0;
    for (r = 0; r < local; r++) {
        counts[r] = r == local - 1 ? 60 - total : 10 * (r % 2 + 1);
        starts[r] = total;
        total += counts[r];
    }
    CHECK((nonblocking ? MPI_Ireduce_scatter(sent, got, counts, MPI_INT, MPI_MAX, comm, &request)
                       : MPI_Reduce_scatter(sent, got, counts, MPI_INT, MPI_MAX, comm)) == MPI_SUCCESS);
    end(nonblocking, &request);
    for (i = 0; i <= counts[rank]; i++)
        CHECK(got[i] == (i < counts[rank] ? theirs(remote - 1, 0, starts[rank] + i) : -1));
}

int main(int argc, char **argv)
{
    MPI_Comm own;
    int nonblocking, world;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &world);
    CHECK(world <= RANKS);
    other = 1 - me % 2;
    MPI_Comm_split(MPI_COMM_WORLD, me % 2, 0, &own);
    CHECK(MPI_Intercomm_create(own, 0, MPI_COMM_WORLD, other, 9, &comm) == MPI_SUCCESS);
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_remote_size(comm, &remote);
    for (nonblocking = 0; nonblocking < 2; nonblocking++) {
        rooted(nonblocking);
        everybody(nonblocking);
    }
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    CHECK_ERROR(MPI_Scan(sent, got, 1, MPI_INT, MPI_SUM, comm), MPI_ERR_COMM);
    CHECK_ERROR(MPI_Bcast(sent, 1, MPI_INT, remote, comm), MPI_ERR_ROOT);
    MPI_Comm_free(&comm);
    MPI_Comm_free(&own);
    MPI_Finalize();
    return 0;
}
