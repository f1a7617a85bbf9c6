/* Reductions of MPI's own operations, of many lengths, on memory that other ranks can read and on memory that they cannot, in place and not
   (MPI-5.0 section 6.9). */
#include "check.h"

enum { LONGEST = 50003 };

static int rank, size;
static const MPI_Comm comm = MPI_COMM_WORLD;
/* All below cover short data, parts of a block, several portions, and halves that differ in length. */
static const int lengths[] = {0, 1, 7, 13, 250, 1001, 2050, 5003, 17001, LONGEST};
enum { LENGTHS = sizeof lengths / sizeof *lengths };

static long given(int r, int i)
{
    return (long)(i % 1000) * (r + 1) + r;
}

static long sum(int i)
{
    long result = 0;
    int r;
    for (r = 0; r < size; r++)
        result += given(r, i);
    return result;
}

/* Zeros are equal: of such, the maximum is the first rank's. */
static double zero(int r, int i)
{
    return (r == 0) == (i % 2 == 0) ? -0.0 : 0.0;
}

static int is_sum(const long *data, int count)
{
    int i;
    for (i = 0; i < count; i++)
        if (data[i] != sum(i))
            return 0;
    return data[count] == -7;
}

static void fill(long *data, long *result, int count)
{
    int i;
    for (i = 0; i < count; i++) {
        data[i] = given(rank, i);
        result[i] = -1;
    }
    data[count] = result[count] = -7;
}

static int is_as_filled(const long *data, int count)
{
    int i;
    for (i = 0; i < count; i++)
        if (data[i] != given(rank, i))
            return 0;
    return data[count] == -7;
}

static void sums(long *data, long *result, int count)
{
    int root, i, counts[4];
    fill(data, result, count);
    CHECK(MPI_Allreduce(data, result, count, MPI_LONG, MPI_SUM, comm) == MPI_SUCCESS);
    CHECK(is_sum(result, count) && is_as_filled(data, count));
    CHECK(MPI_Allreduce(MPI_IN_PLACE, data, count, MPI_LONG, MPI_SUM, comm) == MPI_SUCCESS);
    CHECK(is_sum(data, count));
    for (root = 0; root < size; root++) {
        fill(data, result, count);
        CHECK(MPI_Reduce(data, result, count, MPI_LONG, MPI_SUM, root, comm) == MPI_SUCCESS);
        CHECK(is_as_filled(data, count));
        CHECK(rank == root ? is_sum(result, count) : count == 0 || result[0] == -1);
        CHECK(MPI_Reduce(rank == root ? MPI_IN_PLACE : data, data, count, MPI_LONG, MPI_SUM, root, comm) == MPI_SUCCESS);
        CHECK(rank == root ? is_sum(data, count) : is_as_filled(data, count));
    }
    fill(data, result, count);
    CHECK(MPI_Scan(data, result, count, MPI_LONG, MPI_SUM, comm) == MPI_SUCCESS);
    for (i = 0; i < count && rank == size - 1; i++)
        CHECK(result[i] == sum(i));
    for (i = 0; i < size; i++)
        counts[i] = count / size + (i == 0 ? count % size : 0);
    CHECK(MPI_Reduce_scatter(data, result, counts, MPI_LONG, MPI_SUM, comm) == MPI_SUCCESS);
    for (i = 0; i < counts[rank]; i++)
        CHECK(result[i] == sum((rank ? count - (size - rank) * counts[rank] : 0) + i));
}

static void order(double *data, double *result, int count)
{
    int i, in_place;
    for (in_place = 0; in_place < 2; in_place++) {
        for (i = 0; i < count; i++)
            data[i] = zero(rank, i);
        CHECK(MPI_Allreduce(in_place ? MPI_IN_PLACE : data, in_place ? data : result, count, MPI_DOUBLE, MPI_MAX, comm)
              == MPI_SUCCESS);
        for (i = 0; i < count; i++) {
            double expected = zero(0, i);
            CHECK(!memcmp(in_place ? data + i : result + i, &expected, sizeof expected));
        }
    }
}

int main(int argc, char **argv)
{
    static long own[LONGEST + 1], own_result[LONGEST + 1];
    /* Not where elements of their size should begin. */
    char *other = malloc(sizeof own + 1), *other_result = malloc(sizeof own_result + 1);
    long *data = malloc(sizeof own), *result = malloc(sizeof own_result);
    int i;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    for (i = 0; i < LENGTHS; i++) {
        int count = lengths[i];
        sums(data, result, count);
        sums(own, own_result, count);
        order((double *)data, (double *)result, count);
        memset(other + 1, rank + 1, sizeof own);
        CHECK(MPI_Allreduce(other + 1, other_result + 1, count, MPI_LONG, MPI_BAND, comm) == MPI_SUCCESS);
        CHECK(count == 0 || (other_result[1] == (size > 1 ? 0 : 1) && other_result[1] == other_result[count * sizeof(long)]));
        CHECK(MPI_Allreduce(other + 1, other_result + 1, count, MPI_LONG, MPI_BOR, comm) == MPI_SUCCESS);
        CHECK(count == 0 || (other_result[1] == (size > 1 ? size > 3 ? 7 : 3 : 1)
                             && other_result[1] == other_result[count * sizeof(long)]));
    }
    free(other);
    free(other_result);
    free(data);
    free(result);
    MPI_Finalize();
    return 0;
}
