/* Reductions of long data by an operation that does not commute combine in rank order, whoever combines which part (MPI-5.0 section 6.9.1).
 * ranks: 2 3 4 */
#include "check.h"

/* The map x -> factor * x + term, modulo 2^64. */
typedef struct {
    unsigned long factor, term;
} Map;

enum { LENGTHS = 4 };

static const int lengths[LENGTHS] = {1000, 4001, 9000, 20000};
static const MPI_Comm comm = MPI_COMM_WORLD;

static Map map_of(int rank, int i)
{
    Map map = {3 + rank + i, 7 * rank + i + 1};
    return map;
}

/* First `earlier`, then `later`. */
static Map then(Map earlier, Map later)
{
    Map both = {later.factor * earlier.factor, later.factor * earlier.term + later.term};
    return both;
}

static void compose(void *in, void *inout, int *n, MPI_Datatype *type)
{
    Map *earlier = in, *later = inout;
    (void)type;
    for (int i = 0; i < *n; i++)
        later[i] = then(earlier[i], later[i]);
}

int main(int argc, char **argv)
{
    int rank, size;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    MPI_Datatype type;
    MPI_Op op;
    MPI_Type_contiguous(2, MPI_UNSIGNED_LONG, &type);
    MPI_Type_commit(&type);
    MPI_Op_create(compose, 0, &op);
    for (int l = 0; l < LENGTHS; l++) {
        int n = lengths[l];
        Map *own = malloc(n * sizeof(Map)), *result = malloc(n * sizeof(Map)), *expected = malloc(n * sizeof(Map));
        for (int i = 0; i < n; i++) {
            own[i] = map_of(rank, i);
            expected[i] = map_of(0, i);
            for (int r = 1; r < size; r++)
                expected[i] = then(expected[i], map_of(r, i));
        }
        /* To each root, and to all; in place, and not. */
        for (int root = 0; root <= size; root++)
            for (int in_place = 0; in_place < 2; in_place++) {
                int has_result = rank == root || root == size;
                const void *from = own;
                memset(result, 0, n * sizeof(Map));
                if (in_place && has_result) {
                    memcpy(result, own, n * sizeof(Map));
                    from = MPI_IN_PLACE;
                }
                if (root == size)
                    MPI_Allreduce(from, result, n, type, op, comm);
                else
                    MPI_Reduce(from, result, n, type, op, root, comm);
                CHECK(!has_result || memcmp(result, expected, n * sizeof(Map)) == 0);
            }
        free(own);
        free(result);
        free(expected);
    }
    MPI_Op_free(&op);
    MPI_Type_free(&type);
    MPI_Finalize();
    return 0;
}
