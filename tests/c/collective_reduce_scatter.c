/* Reductions of which each rank gets a part, even and uneven, of lengths from nothing to what takes another way, in place and not, in rank
   order, from memory that others can read and other (MPI-5.0 section 6.10). ranks: 1 2 3 4 5 8 */
#include "check.h"

enum { RANKS = 8, LONGEST = 20000, FORMS = 5 };

static int rank, size;
static const MPI_Comm comm = MPI_COMM_WORLD;
static double of_program[LONGEST + 1], *of_heap, *data, result[LONGEST + 1], whole[LONGEST];
static int counts[RANKS];

/* Sums of these depend on the order. */
static double given(int r, int i)
{
    return (r % 2 ? -1e16 : 1e16) / (r + 1) + i * 0.37;
}

/* x -> a x + b, one after the other: does not commute. */
static void compose(void *first, void *second, int *count, MPI_Datatype *type)
{
    const long *f = first;
    long *s = second;
    int i;
    (void)type;
    for (i = 0; i < *count; i++, f += 2, s += 2) {
        long a = f[0] * s[0] % 100003, b = (f[0] * s[1] + f[1]) % 100003;
        s[0] = a;
        s[1] = b;
    }
}

static void fill(int total)
{
    int i;
    for (i = 0; i < total; i++)
        data[i] = given(rank, i);
    for (i = 0; i <= LONGEST; i++)
        result[i] = -7;
}

/* So many elements are to be this rank's part of the result, which begins at `start` of the whole. */
static void check_part(const double *part, int start, int count)
{
    CHECK(!memcmp(part, whole + start, (size_t)count * sizeof *part));
}

static void sums(int total)
{
    int i, r, start = 0;
    for (r = 0; r < rank; r++)
        start += counts[r];
    for (i = 0; i < total; i++) {
        whole[i] = given(0, i);
        for (r = 1; r < size; r++)
            whole[i] += given(r, i);
    }
    fill(total);
    CHECK(MPI_Reduce_scatter(data, result, counts, MPI_DOUBLE, MPI_SUM, comm) == MPI_SUCCESS);
    check_part(result, start, counts[rank]);
    CHECK(result[counts[rank]] == -7);
    for (i = 0; i < total; i++)
        CHECK(data[i] == given(rank, i));
    CHECK(MPI_Reduce_scatter(MPI_IN_PLACE, data, counts, MPI_DOUBLE, MPI_SUM, comm) == MPI_SUCCESS);
    check_part(data, start, counts[rank]);
    for (i = 0; i < size && counts[i] == counts[0]; i++)
        ;
    if (i < size)
        return;
    fill(total);
    CHECK(MPI_Reduce_scatter_block(data, result, counts[0], MPI_DOUBLE, MPI_SUM, comm) == MPI_SUCCESS);
    check_part(result, start, counts[rank]);
    CHECK(result[counts[rank]] == -7);
    for (i = 0; i < total; i++)
        CHECK(data[i] == given(rank, i));
    CHECK(MPI_Reduce_scatter_block(MPI_IN_PLACE, data, counts[0], MPI_DOUBLE, MPI_SUM, comm) == MPI_SUCCESS);
    check_part(data, start, counts[rank]);
}

/* Pairs of numbers, so the elements are half as many. */
static void own_operation(MPI_Op op, MPI_Datatype pair, int total)
{
    static long parts[2 * LONGEST];
    long *pairs = (long *)data;
    int i, r, start = 0, in_place;
    for (r = 0; r < rank; r++)
        start += counts[r];
    for (in_place = 0; in_place < 2; in_place++) {
        const long *got = in_place ? pairs : parts;
        for (i = 0; i < total; i++) {
            pairs[2 * i] = rank + 1 + i % 5;
            pairs[2 * i + 1] = 3 + i - rank;
        }
        CHECK(MPI_Reduce_scatter(in_place ? MPI_IN_PLACE : pairs, in_place ? pairs : parts, counts, pair, op, comm)
              == MPI_SUCCESS);
        for (i = 0; i < counts[rank]; i++) {
            long a = 1 + (start + i) % 5, b = 3 + start + i;
            for (r = 1; r < size; r++) {
                long other = 3 + start + i - r;
                b = (a * other + b) % 100003;
                a = a * (r + 1 + (start + i) % 5) % 100003;
            }
            CHECK(got[2 * i] == a && got[2 * i + 1] == b);
        }
    }
}

/* Divides so many elements: evenly, all to the last or to the first, more to the later ones, only to every other one. */
static int divide(int form, int wanted)
{
    int r, total = 0;
    for (r = 0; r < size; r++) {
        counts[r] = form == 0   ? wanted / size
                    : form == 1 ? (r == size - 1) * wanted
                    : form == 2 ? (r == 0) * wanted
                    : form == 3 ? wanted * (r + 1) * 2 / (size * (size + 1))
                                : r % 2 * (wanted / size);
        total += counts[r];
    }
    return total;
}

int main(int argc, char **argv)
{
    MPI_Datatype pair;
    MPI_Op op;
    int wanted, form;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    CHECK(size <= RANKS);
    of_heap = malloc(sizeof of_program);
    CHECK(of_heap && sizeof(long) == sizeof(double));
    MPI_Type_contiguous(2, MPI_LONG, &pair);
    MPI_Type_commit(&pair);
    MPI_Op_create(compose, 0, &op);
    /* Every length up to some lines, some more, and all about a place of 2 KiB, a shelf of 16 KiB, and longer ones. */
    for (wanted = 0; wanted <= LONGEST / 2;
         wanted += wanted < 40                                                                   ? 1
                   : (wanted > 245 && wanted < 260) || (wanted > 2035 && wanted < 2055 + 2 * size) ? 1
                   : wanted < 2035                                                                 ? 7
                                                                                                   : 997)
        for (form = 0; form < FORMS; form++) {
            data = (wanted + form + rank) % 4 ? of_heap : of_program;
            sums(divide(form, wanted));
            own_operation(op, pair, divide(form, wanted / 2));
        }
    free(of_heap);
    MPI_Op_free(&op);
    MPI_Type_free(&pair);
    MPI_Finalize();
    return 0;
}
