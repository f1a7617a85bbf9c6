/* Nonblocking collectives of short and long data, more of them in flight than there is room for at once, completed in any order; and ranks that
   disagree about the length (MPI-5.0 section 6.12). ranks: 1 2 3 5 8 17 */
#include "check.h"

enum { KINDS = 10, IN_FLIGHT = 150, MOST = 9000 };

static int rank, size;
static MPI_Comm comm;

/* What rank `of` gives at `place` of collective `number`. */
static long given(int of, int number, int place)
{
    return of * 1000003L + number * 997L + place;
}

struct collective {
    int number, kind, count, root;
    long *data, *result;
};

static void start(struct collective *one, int number, int count, MPI_Request *request)
{
    int i, blocks = size * count;
    long *data, *result;
    *one = (struct collective){number, number % KINDS, count, number % size, NULL, NULL};
    data = one->data = malloc(sizeof(long) * (blocks + 1));
    result = one->result = malloc(sizeof(long) * (blocks + 1));
    CHECK(data && result);
    for (i = 0; i < blocks; i++) {
        data[i] = given(rank, number, i);
        result[i] = -1;
    }
    switch (one->kind) {
    case 0:
        if (rank != one->root)
            memset(data, 0, sizeof(long) * count);
        CHECK(MPI_Ibcast(data, count, MPI_LONG, one->root, comm, request) == MPI_SUCCESS);
        break;
    case 1: CHECK(MPI_Iallreduce(data, result, count, MPI_LONG, MPI_SUM, comm, request) == MPI_SUCCESS); break;
    case 2: CHECK(MPI_Ireduce(data, result, count, MPI_LONG, MPI_SUM, one->root, comm, request) == MPI_SUCCESS); break;
    case 3: CHECK(MPI_Igather(data, count, MPI_LONG, result, count, MPI_LONG, one->root, comm, request) == MPI_SUCCESS); break;
    case 4: CHECK(MPI_Iallgather(data, count, MPI_LONG, result, count, MPI_LONG, comm, request) == MPI_SUCCESS); break;
    case 5: CHECK(MPI_Ialltoall(data, count, MPI_LONG, result, count, MPI_LONG, comm, request) == MPI_SUCCESS); break;
    case 6: CHECK(MPI_Iscan(data, result, count, MPI_LONG, MPI_SUM, comm, request) == MPI_SUCCESS); break;
    case 7: CHECK(MPI_Iexscan(data, result, count, MPI_LONG, MPI_SUM, comm, request) == MPI_SUCCESS); break;
    case 8: CHECK(MPI_Ireduce_scatter_block(data, result, count, MPI_LONG, MPI_SUM, comm, request) == MPI_SUCCESS); break;
    default: CHECK(MPI_Iscatter(data, count, MPI_LONG, result, count, MPI_LONG, one->root, comm, request) == MPI_SUCCESS);
    }
}

/* Of the ranks before `end`. */
static long sum(const struct collective *one, int place, int end)
{
    long total = 0;
    int of;
    for (of = 0; of < end; of++)
        total += given(of, one->number, place);
    return total;
}

static void check(struct collective *one)
{
    int i, from, count = one->count;
    for (i = 0; i < count; i++)
        switch (one->kind) {
        case 0: CHECK(one->data[i] == given(one->root, one->number, i)); break;
        case 1: CHECK(one->result[i] == sum(one, i, size)); break;
        case 2: CHECK(one->result[i] == (rank == one->root ? sum(one, i, size) : -1)); break;
        case 3:
            for (from = 0; from < size; from++)
                CHECK(one->result[from * count + i] == (rank == one->root ? given(from, one->number, i) : -1));
            break;
        case 4:
            for (from = 0; from < size; from++)
                CHECK(one->result[from * count + i] == given(from, one->number, i));
            break;
        case 5:
            for (from = 0; from < size; from++)
                CHECK(one->result[from * count + i] == given(from, one->number, rank * count + i));
            break;
        case 6: CHECK(one->result[i] == sum(one, i, rank + 1)); break;
        case 7: CHECK(one->result[i] == (rank ? sum(one, i, rank) : -1)); break;
        case 8: CHECK(one->result[i] == sum(one, rank * count + i, size)); break;
        default: CHECK(one->result[i] == given(one->root, one->number, rank * count + i));
        }
    free(one->data);
    free(one->result);
}

/* Every rank completes them in an order of its own. */
static void many(const int *counts, int lengths, unsigned seed)
{
    static struct collective all[IN_FLIGHT];
    static MPI_Request requests[IN_FLIGHT];
    int i;
    for (i = 0; i < IN_FLIGHT; i++) {
        start(&all[i], i, counts[i / KINDS % lengths], &requests[i]);
        if (i % 17 == 16)
            CHECK(MPI_Barrier(comm) == MPI_SUCCESS);
    }
    srand(seed + (unsigned)rank);
    for (i = IN_FLIGHT; i > 0; i--) {
        int which = rand() % i;
        struct collective one = all[which];
        CHECK(MPI_Wait(&requests[which], MPI_STATUS_IGNORE) == MPI_SUCCESS);
        check(&one);
        all[which] = all[i - 1];
        requests[which] = requests[i - 1];
    }
}

/* One rank has long data, the others short ones, or the other way round: whoever depends on another length learns of it, and all go on. */
static void disagreements(void)
{
    static long data[MOST], result[MOST];
    int odd, kind, code, class;
    MPI_Request request;
    for (odd = 0; odd < size; odd++)
        for (kind = 0; kind < 4; kind++) {
            int count = (rank == odd) == (kind % 2) ? 4 : MOST;
            if (kind < 2)
                code = MPI_Iallreduce(data, result, count, MPI_LONG, MPI_SUM, comm, &request);
            else
                code = MPI_Ibcast(data, count, MPI_LONG, odd, comm, &request);
            if (code == MPI_SUCCESS)
                code = MPI_Wait(&request, MPI_STATUS_IGNORE);
            MPI_Error_class(code, &class);
            /* The root of a broadcast depends on nobody; others may hear of it from a rank that had nothing to pass on. */
            CHECK(class == MPI_ERR_TRUNCATE || class == MPI_ERR_OTHER || (kind >= 2 && rank == odd && code == MPI_SUCCESS));
            CHECK(MPI_Barrier(comm) == MPI_SUCCESS);
        }
}

int main(int argc, char **argv)
{
    static const int shorts[] = {1, 5, 6, 7, 0, 100}, mixed[] = {2, 300, 20, MOST / 20, 3};
    int round;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    CHECK(MPI_Comm_dup(MPI_COMM_WORLD, &comm) == MPI_SUCCESS);
    CHECK(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN) == MPI_SUCCESS);
    for (round = 0; round < 4; round++) {
        many(shorts, sizeof shorts / sizeof *shorts, 7u + (unsigned)round);
        many(mixed, sizeof mixed / sizeof *mixed, 77u + (unsigned)round);
        if (size > 1)
            disagreements();
    }
    CHECK(MPI_Comm_free(&comm) == MPI_SUCCESS);
    MPI_Finalize();
    if (rank == 0)
        puts("done");
    return 0;
}
