/* Collectives of more ranks than are usual on one machine, with data shorter, as long and longer than what goes by shelves there, blocking and
   not, several in flight, and on parts of all ranks (MPI-5.0 chapter 6). ranks: 17 */
#include "check.h"

enum { LENGTHS = 7, LONGEST = 2100 };

static int rank, size;
static MPI_Comm comm;
static const int lengths[LENGTHS] = { 0, 1, 6, 256, 257, 300, LONGEST };
static long *sent, *received;

static long value(int from, int to, int place)
{
    return from * 1000003L + to * 1009L + place;
}

static long sum(int ranks, int place)
{
    return ranks * (ranks - 1L) / 2 * 1000003L + ranks * (long)place;
}

static void fill(int parts, int count)
{
    for (int to = 0; to < parts; to++)
        for (int k = 0; k < count; k++) sent[to * count + k] = value(rank, to, k);
    memset(received, 0xff, (size_t)size * count * sizeof *received);
}

/* Waits for a nonblocking one. */
static void wait_for(MPI_Request request)
{
    CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS);
}

static void check_reduced(int root, int count)
{
    if (root < 0 || rank == root)
        for (int k = 0; k < count; k++) CHECK(received[k] == sum(size, k));
}

static void check_gathered(int count)
{
    for (int from = 0; from < size; from++)
        for (int k = 0; k < count; k++) CHECK(received[from * count + k] == value(from, 0, k));
}

static void check_exchanged(int count)
{
    for (int from = 0; from < size; from++)
        for (int k = 0; k < count; k++) CHECK(received[from * count + k] == value(from, rank, k));
}

static void blocking(int count)
{
    int root = count % size;
    fill(1, count);
    CHECK(MPI_Allreduce(sent, received, count, MPI_LONG, MPI_SUM, comm) == MPI_SUCCESS);
    check_reduced(-1, count);
    CHECK(MPI_Reduce(sent, received, count, MPI_LONG, MPI_SUM, root, comm) == MPI_SUCCESS);
    check_reduced(root, count);
    CHECK(MPI_Allgather(sent, count, MPI_LONG, received, count, MPI_LONG, comm) == MPI_SUCCESS);
    check_gathered(count);
    CHECK(MPI_Bcast(sent, count, MPI_LONG, root, comm) == MPI_SUCCESS);
    for (int k = 0; k < count; k++) CHECK(sent[k] == value(root, 0, k));
    fill(size, count);
    CHECK(MPI_Alltoall(sent, count, MPI_LONG, received, count, MPI_LONG, comm) == MPI_SUCCESS);
    check_exchanged(count);
    CHECK(MPI_Scan(sent, received, count, MPI_LONG, MPI_SUM, comm) == MPI_SUCCESS);
    for (int k = 0; k < count; k++) CHECK(received[k] == sum(rank + 1, k));
    CHECK(MPI_Scatter(sent, count, MPI_LONG, received, count, MPI_LONG, root, comm) == MPI_SUCCESS);
    for (int k = 0; k < count; k++) CHECK(received[k] == value(root, rank, k));
    CHECK(MPI_Gather(sent, count, MPI_LONG, received, count, MPI_LONG, root, comm) == MPI_SUCCESS);
    if (rank == root) check_gathered(count);
}

static void nonblocking(int count)
{
    MPI_Request request, others[3];
    long own[2] = { rank, 2 * rank }, sums[2];
    fill(size, count);
    CHECK(MPI_Ibarrier(comm, &others[0]) == MPI_SUCCESS);
    CHECK(MPI_Iallreduce(&own[0], &sums[0], 1, MPI_LONG, MPI_SUM, comm, &others[1]) == MPI_SUCCESS);
    CHECK(MPI_Iallreduce(sent, received, count, MPI_LONG, MPI_SUM, comm, &request) == MPI_SUCCESS);
    CHECK(MPI_Iallreduce(&own[1], &sums[1], 1, MPI_LONG, MPI_SUM, comm, &others[2]) == MPI_SUCCESS);
    CHECK(MPI_Waitall(3, others, MPI_STATUSES_IGNORE) == MPI_SUCCESS);
    CHECK(sums[0] == size * (size - 1L) / 2 && sums[1] == 2 * sums[0]);
    wait_for(request);
    check_reduced(-1, count);
    CHECK(MPI_Iallgather(sent, count, MPI_LONG, received, count, MPI_LONG, comm, &request) == MPI_SUCCESS);
    wait_for(request);
    check_gathered(count);
    CHECK(MPI_Ialltoall(sent, count, MPI_LONG, received, count, MPI_LONG, comm, &request) == MPI_SUCCESS);
    wait_for(request);
    check_exchanged(count);
    CHECK(MPI_Ibcast(sent, count, MPI_LONG, 1, comm, &request) == MPI_SUCCESS);
    wait_for(request);
    for (int k = 0; k < count; k++) CHECK(sent[k] == value(1, 0, k));
}

/* Parts whose lengths only two ranks know: of each to all those behind it. */
static void uneven(int longest)
{
    int *counts = malloc(4 * size * sizeof *counts), *starts = counts + size, *theirs = starts + size, *places = theirs + size;
    for (int other = 0, here = 0, there = 0; other < size; other++) {
        counts[other] = other > rank ? (rank + other) % (longest + 1) : 0;
        theirs[other] = other < rank ? (rank + other) % (longest + 1) : 0;
        starts[other] = here, places[other] = there;
        for (int k = 0; k < counts[other]; k++) sent[here + k] = value(rank, other, k);
        here += counts[other], there += theirs[other];
    }
    CHECK(MPI_Alltoallv(sent, counts, starts, MPI_LONG, received, theirs, places, MPI_LONG, comm) == MPI_SUCCESS);
    for (int from = 0; from < size; from++)
        for (int k = 0; k < theirs[from]; k++) CHECK(received[places[from] + k] == value(from, rank, k));
    free(counts);
}

static void all(void)
{
    for (int k = 0; k < LENGTHS; k++) {
        blocking(lengths[k]);
        nonblocking(lengths[k]);
        uneven(lengths[k] < 300 ? lengths[k] : 300);
    }
    /* More in a row than there are places, with nothing between them. */
    for (int k = 0; k < 70; k++) {
        long own = rank + k, total = 0;
        CHECK(MPI_Allreduce(&own, &total, 1, MPI_LONG, MPI_SUM, comm) == MPI_SUCCESS);
        CHECK(total == sum(size, 0) / 1000003L + (long)k * size);
    }
}

int main(int argc, char **argv)
{
    int world;
    MPI_Comm half;
    MPI_Init(&argc, &argv);
    MPI_Comm_size(MPI_COMM_WORLD, &world);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    sent = malloc((size_t)world * LONGEST * sizeof *sent);
    received = malloc((size_t)world * LONGEST * sizeof *received);
    comm = MPI_COMM_WORLD, size = world;
    all();
    CHECK(MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &half) == MPI_SUCCESS);
    comm = half;
    MPI_Comm_size(comm, &size);
    MPI_Comm_rank(comm, &rank);
    all();
    CHECK(MPI_Comm_free(&half) == MPI_SUCCESS);
    free(sent), free(received);
    MPI_Finalize();
    return 0;
}
