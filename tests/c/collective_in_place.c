/* Collectives in place, on datatypes with gaps, with operations of the program, and on no data at all (MPI-5.0 chapter 6). */
#include "check.h"

enum { N = 300, RANKS = 8 };

static int rank, size;
static const MPI_Comm comm = MPI_COMM_WORLD;

static long number(int from, int to, int i)
{
    return from * 100003L + to * 1009 + i;
}

/* N pairs of numbers with a number's gap after each: 4 to an element with the padding. */
static MPI_Datatype pairs(void)
{
    MPI_Datatype vector, padded;
    MPI_Type_vector(2, 1, 2, MPI_LONG, &vector);
    MPI_Type_create_resized(vector, 0, 4 * sizeof(long), &padded);
    MPI_Type_commit(&padded);
    MPI_Type_free(&vector);
    return padded;
}

static void datatypes_with_gaps(void)
{
    static long sparse[4 * N * RANKS], dense[2 * N * RANKS];
    MPI_Datatype type = pairs();
    int i, r, root;
    for (root = 0; root < size; root++) {
        for (i = 0; i < 4 * N; i++)
            sparse[i] = rank == root && i % 2 == 0 ? number(root, 0, i / 2) : -7;
        if (rank == root)
            CHECK(MPI_Bcast(sparse, N, type, root, comm) == MPI_SUCCESS);
        else
            CHECK(MPI_Bcast(dense, 2 * N, MPI_LONG, root, comm) == MPI_SUCCESS);
        for (i = 0; i < 2 * N && rank != root; i++)
            CHECK(dense[i] == number(root, 0, i));
    }
    for (i = 0; i < 2 * N; i++)
        dense[i] = number(rank, 1, i);
    for (i = 0; i < 4 * N * size; i++)
        sparse[i] = -7;
    CHECK(MPI_Allgather(dense, 2 * N, MPI_LONG, sparse, N, type, comm) == MPI_SUCCESS);
    for (r = 0; r < size; r++)
        for (i = 0; i < 4 * N; i++)
            CHECK(sparse[r * 4 * N + i] == (i % 2 ? -7 : number(r, 1, i / 2)));
    CHECK(MPI_Gather(sparse + rank * 4 * N, N, type, dense, 2 * N, MPI_LONG, 0, comm) == MPI_SUCCESS);
    for (r = 0; r < size && rank == 0; r++)
        for (i = 0; i < 2 * N; i++)
            CHECK(dense[r * 2 * N + i] == number(r, 1, i));
    CHECK(MPI_Allreduce(MPI_IN_PLACE, sparse, N, type, MPI_MAX, comm) == MPI_SUCCESS);
    for (i = 0; i < 4 * N; i++)
        CHECK(sparse[i] == (i % 2 ? -7 : number(0, 1, i / 2)));
    MPI_Type_free(&type);
}

static void in_place(void)
{
    static long data[N * RANKS];
    int i, r, counts[RANKS], starts[RANKS];
    for (i = 0; i < N; i++)
        data[rank * N + i] = number(rank, 0, i);
    CHECK(MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, data, N, MPI_LONG, comm) == MPI_SUCCESS);
    for (r = 0; r < size; r++)
        for (i = 0; i < N; i++)
            CHECK(data[r * N + i] == number(r, 0, i));
    for (r = 0; r < size; r++) {
        counts[r] = N;
        starts[r] = r * N;
        for (i = 0; i < N; i++)
            data[r * N + i] = number(rank, r, i);
    }
    CHECK(MPI_Alltoall(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, data, N, MPI_LONG, comm) == MPI_SUCCESS);
    for (r = 0; r < size; r++)
        for (i = 0; i < N; i++)
            CHECK(data[r * N + i] == number(r, rank, i));
    /* Once more, and everything is where it was. */
    CHECK(MPI_Alltoallv(MPI_IN_PLACE, NULL, NULL, MPI_DATATYPE_NULL, data, counts, starts, MPI_LONG, comm) == MPI_SUCCESS);
    for (r = 0; r < size; r++)
        for (i = 0; i < N; i++)
            CHECK(data[r * N + i] == number(rank, r, i));
    CHECK(MPI_Reduce_scatter_block(MPI_IN_PLACE, data, N, MPI_LONG, MPI_MIN, comm) == MPI_SUCCESS);
    for (i = 0; i < N; i++)
        CHECK(data[i] == number(0, rank, i));
    if (rank == 0)
        CHECK(MPI_Reduce(MPI_IN_PLACE, data, N, MPI_LONG, MPI_MAX, 0, comm) == MPI_SUCCESS);
    else
        CHECK(MPI_Reduce(data, NULL, N, MPI_LONG, MPI_MAX, 0, comm) == MPI_SUCCESS);
    for (i = 0; i < N; i++)
        CHECK(data[i] == number(0, rank ? rank : size - 1, i));
    if (rank == 0)
        CHECK(MPI_Gather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, data, N, MPI_LONG, 0, comm) == MPI_SUCCESS);
    else
        CHECK(MPI_Gather(data, N, MPI_LONG, NULL, 0, MPI_DATATYPE_NULL, 0, comm) == MPI_SUCCESS);
    for (r = 1; r < size && rank == 0; r++)
        CHECK(data[r * N] == number(0, r, 0));
    for (i = 0; i < N * size; i++)
        data[i] = rank;
    CHECK(MPI_Scatter(data, N, MPI_LONG, rank ? (void *)data : MPI_IN_PLACE, N, MPI_LONG, 0, comm) == MPI_SUCCESS);
    for (i = 0; i < N * size; i++)
        CHECK(data[i] == (i < N ? 0 : rank));
    data[0] = rank + 1;
    CHECK(MPI_Scan(MPI_IN_PLACE, data, 1, MPI_LONG, MPI_SUM, comm) == MPI_SUCCESS);
    CHECK(data[0] == (rank + 1L) * (rank + 2) / 2);
    data[0] = rank + 1;
    CHECK(MPI_Exscan(MPI_IN_PLACE, data, 1, MPI_LONG, MPI_SUM, comm) == MPI_SUCCESS);
    CHECK(data[0] == (rank ? rank * (rank + 1L) / 2 : 1));
}

/* x -> a x + b, one after the other: does not commute. */
static void compose(void *first, void *second, int *count, MPI_Datatype *type)
{
    const long *f = first;
    long *s = second;
    MPI_Aint lower, extent;
    int i, step;
    MPI_Type_get_extent(*type, &lower, &extent);
    step = (int)(extent / (MPI_Aint)sizeof(long));
    for (i = 0; i < *count; i++, f += step, s += step) {
        long a = f[0] * s[0] % 100003, b = (f[0] * s[step / 2] + f[step / 2]) % 100003;
        s[0] = a;
        s[step / 2] = b;
    }
}

/* What ranks before `end` give together at element i. */
static void composed(int end, int i, long result[2])
{
    int r;
    result[0] = 1 + i % 5;
    result[1] = 3 + i;
    for (r = 1; r < end; r++) {
        long a = r + 1 + i % 5, b = 3 + i - r;
        result[1] = (result[0] * b + result[1]) % 100003;
        result[0] = result[0] * a % 100003;
    }
}

static void own_operations(void)
{
    static long sent[4 * 5000], got[4 * 5000];
    MPI_Datatype types[2] = {MPI_DATATYPE_NULL, pairs()};
    MPI_Op op;
    int which, count, i, root, commutes = 1;
    MPI_Type_contiguous(2, MPI_LONG, &types[0]);
    MPI_Type_commit(&types[0]);
    CHECK(MPI_Op_create(compose, 0, &op) == MPI_SUCCESS);
    CHECK(MPI_Op_commutative(op, &commutes) == MPI_SUCCESS && commutes == 0);
    for (which = 0; which < 2; which++)
        for (count = 1; count <= 5000; count = count * 70 + 10) {
            int step = which ? 4 : 2;
            long expected[2];
            for (i = 0; i < count; i++) {
                sent[i * step] = rank + 1 + i % 5;
                sent[i * step + step / 2] = 3 + i - rank;
            }
            for (root = 0; root < size; root++) {
                memset(got, 0, sizeof got);
                CHECK(MPI_Reduce(sent, got, count, types[which], op, root, comm) == MPI_SUCCESS);
                for (i = 0; i < count && rank == root; i++) {
                    composed(size, i, expected);
                    CHECK(got[i * step] == expected[0] && got[i * step + step / 2] == expected[1]);
                }
            }
            CHECK(MPI_Allreduce(sent, got, count, types[which], op, comm) == MPI_SUCCESS);
            for (i = 0; i < count; i++) {
                composed(size, i, expected);
                CHECK(got[i * step] == expected[0] && got[i * step + step / 2] == expected[1]);
            }
            CHECK(MPI_Scan(sent, got, count, types[which], op, comm) == MPI_SUCCESS);
            for (i = 0; i < count; i++) {
                composed(rank + 1, i, expected);
                CHECK(got[i * step] == expected[0] && got[i * step + step / 2] == expected[1]);
            }
        }
    CHECK(MPI_Op_free(&op) == MPI_SUCCESS && op == MPI_OP_NULL);
    MPI_Type_free(&types[0]);
    MPI_Type_free(&types[1]);
}

static void locations(void)
{
    struct {
        double value;
        int index;
    } own[3], least[3], most[3];
    int i;
    for (i = 0; i < 3; i++) {
        own[i].value = (rank * 7 + i * 3) % 5;
        own[i].index = rank;
    }
    CHECK(MPI_Allreduce(own, least, 3, MPI_DOUBLE_INT, MPI_MINLOC, comm) == MPI_SUCCESS);
    CHECK(MPI_Allreduce(own, most, 3, MPI_DOUBLE_INT, MPI_MAXLOC, comm) == MPI_SUCCESS);
    for (i = 0; i < 3; i++) {
        int r, min = 0, max = 0;
        for (r = 1; r < size; r++) {
            if ((r * 7 + i * 3) % 5 < (min * 7 + i * 3) % 5)
                min = r;
            if ((r * 7 + i * 3) % 5 > (max * 7 + i * 3) % 5)
                max = r;
        }
        CHECK(least[i].index == min && least[i].value == (min * 7 + i * 3) % 5);
        CHECK(most[i].index == max && most[i].value == (max * 7 + i * 3) % 5);
    }
}

static void no_data(void)
{
    int counts[RANKS] = {0}, starts[RANKS] = {0};
    CHECK(MPI_Bcast(NULL, 0, MPI_INT, 0, comm) == MPI_SUCCESS);
    CHECK(MPI_Allreduce(NULL, NULL, 0, MPI_INT, MPI_SUM, comm) == MPI_SUCCESS);
    CHECK(MPI_Reduce(NULL, NULL, 0, MPI_INT, MPI_SUM, 0, comm) == MPI_SUCCESS);
    CHECK(MPI_Gather(NULL, 0, MPI_INT, NULL, 0, MPI_INT, 0, comm) == MPI_SUCCESS);
    CHECK(MPI_Allgatherv(NULL, 0, MPI_INT, NULL, counts, starts, MPI_INT, comm) == MPI_SUCCESS);
    CHECK(MPI_Alltoallv(NULL, counts, starts, MPI_INT, NULL, counts, starts, MPI_INT, comm) == MPI_SUCCESS);
    CHECK(MPI_Reduce_scatter(NULL, NULL, counts, MPI_INT, MPI_SUM, comm) == MPI_SUCCESS);
    CHECK(MPI_Scan(NULL, NULL, 0, MPI_INT, MPI_SUM, comm) == MPI_SUCCESS);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    datatypes_with_gaps();
    in_place();
    own_operations();
    locations();
    no_data();
    MPI_Finalize();
    return 0;
}
