/* Operations and local reductions (MPI-5.0 sections 6.9.2 to 6.9.7).
 * ranks: 1 */
#include <complex.h>
#include <stdbool.h>

#include "check.h"

#define LOCAL(kind, type, operation, a, b, expected)                                                                 \
    do {                                                                                                             \
        kind in_[] = {a, b, a}, inout_[] = {b, a, a};                                                                \
        kind c_ = expected;                                                                                          \
        CHECK(MPI_Reduce_local(in_, inout_, 2, type, operation) == MPI_SUCCESS);                                     \
        CHECK(inout_[0] == c_ && inout_[1] == c_ && inout_[2] == (kind)(a));                                         \
    } while (0)

static void numbers(void)
{
    LOCAL(int, MPI_INT, MPI_SUM, 5, -7, -2);
    LOCAL(int, MPI_INTEGER, MPI_PROD, 5, -7, -35);
    LOCAL(unsigned char, MPI_UNSIGNED_CHAR, MPI_MAX, 5, 200, 200);
    LOCAL(signed char, MPI_SIGNED_CHAR, MPI_MAX, 5, -56, 5);
    LOCAL(short, MPI_SHORT, MPI_MIN, 5, -7, -7);
    LOCAL(long, MPI_LONG, MPI_BAND, 12, 10, 8);
    LOCAL(unsigned, MPI_UNSIGNED, MPI_BOR, 12, 10, 14);
    LOCAL(char, MPI_BYTE, MPI_BXOR, 12, 10, 6);
    LOCAL(MPI_Count, MPI_COUNT, MPI_SUM, 1, 2, 3);
    LOCAL(MPI_Aint, MPI_AINT, MPI_MAX, 1, 2, 2);
    LOCAL(int, MPI_INT, MPI_LAND, 12, 0, 0);
    LOCAL(int, MPI_INT, MPI_LOR, 12, 0, 1);
    LOCAL(bool, MPI_C_BOOL, MPI_LXOR, true, false, true);
    LOCAL(int, MPI_LOGICAL, MPI_LAND, 1, 1, 1);
    LOCAL(float, MPI_FLOAT, MPI_SUM, 1.5f, 2.0f, 3.5f);
    LOCAL(double, MPI_DOUBLE_PRECISION, MPI_PROD, 1.5, 2.0, 3.0);
    LOCAL(double, MPI_REAL8, MPI_MIN, 1.5, -2.0, -2.0);
    LOCAL(long double, MPI_LONG_DOUBLE, MPI_SUM, 1.0L / 3, 1e-15L, 1.0L / 3 + 1e-15L);
    LOCAL(long double, MPI_LONG_DOUBLE, MPI_PROD, 1.0L / 3, 1e4000L, 1.0L / 3 * 1e4000L);
    LOCAL(long double, MPI_LONG_DOUBLE, MPI_MAX, -1.0L / 3, 1e-4000L, 1e-4000L);
    LOCAL(float complex, MPI_COMPLEX, MPI_SUM, 1.0f + 2.0f * I, 3.0f, 4.0f + 2.0f * I);
    LOCAL(double complex, MPI_C_DOUBLE_COMPLEX, MPI_PROD, 1.0 + 2.0 * I, 3.0 - 1.0 * I, 5.0 + 5.0 * I);
    LOCAL(long double complex, MPI_C_LONG_DOUBLE_COMPLEX, MPI_PROD, 1.0L + 2.0L * I, 3.0L - 1.0L * I, 5.0L + 5.0L * I);
    LOCAL(__int128, MPI_INTEGER16, MPI_SUM, (__int128)1 << 100, 1, ((__int128)1 << 100) + 1);
    LOCAL(__float128, MPI_REAL16, MPI_SUM, (__float128)1 / 3, (__float128)1 / 7, (__float128)1 / 3 + (__float128)1 / 7);
}

static void locations(void)
{
    struct { double value; int index; } in[] = {{2.0, 5}, {1.0, 4}, {3.0, 9}}, inout[] = {{1.0, 6}, {1.0, 7}, {3.0, 2}};
    CHECK(MPI_Reduce_local(in, inout, 3, MPI_DOUBLE_INT, MPI_MAXLOC) == MPI_SUCCESS);
    CHECK(inout[0].value == 2.0 && inout[0].index == 5 && inout[1].index == 4 && inout[2].index == 2);
    struct { short value; int index; } a = {-3, 8}, b = {-3, 1};
    CHECK(MPI_Reduce_local(&a, &b, 1, MPI_SHORT_INT, MPI_MINLOC) == MPI_SUCCESS && b.value == -3 && b.index == 1);
    struct { long double value; int index; } c[] = {{1, 1}, {2, 2}}, d[] = {{0, 3}, {3, 4}};
    CHECK(MPI_Reduce_local_c(c, d, 2, MPI_LONG_DOUBLE_INT, MPI_MINLOC) == MPI_SUCCESS);
    CHECK(d[0].value == 0 && d[0].index == 3 && d[1].value == 2 && d[1].index == 2);
}

static MPI_Datatype seen;
static int calls;

/* inout = in - inout, for integers and for the pairs below. */
static void subtract(void *in, void *inout, int *len, MPI_Datatype *type)
{
    MPI_Aint lb, extent;
    MPI_Type_get_true_extent(*type, &lb, &extent);
    MPI_Aint unused;
    MPI_Type_get_extent(*type, &unused, &extent);
    for (int i = 0; i < *len; i++) {
        int *a = (int *)((char *)in + i * extent + lb), *b = (int *)((char *)inout + i * extent + lb);
        *b = *a - *b;
    }
    seen = *type;
    calls++;
}

static void subtract_large(void *in, void *inout, MPI_Count *len, MPI_Datatype *type)
{
    int few = (int)*len;
    subtract(in, inout, &few, type);
}

static void functions(void)
{
    int in[] = {10, 20, 30, 40}, inout[] = {1, 2, 3, 4}, commute = -1;
    MPI_Op operation, large, freed;
    MPI_Datatype second;
    CHECK(MPI_Op_create(subtract, 0, &operation) == MPI_SUCCESS && operation != MPI_OP_NULL);
    CHECK(MPI_Op_commutative(operation, &commute) == MPI_SUCCESS && commute == 0);
    CHECK(MPI_Op_create_c(subtract_large, 1, &large) == MPI_SUCCESS);
    CHECK(MPI_Op_commutative(large, &commute) == MPI_SUCCESS && commute == 1);
    CHECK(MPI_Op_commutative(MPI_MAXLOC, &commute) == MPI_SUCCESS && commute == 1);
    CHECK(MPI_Reduce_local(in, inout, 3, MPI_INT, operation) == MPI_SUCCESS);
    CHECK(inout[0] == 9 && inout[1] == 18 && inout[2] == 27 && inout[3] == 4 && seen == MPI_INT && calls == 1);
    CHECK(MPI_Reduce_local(in, inout, 0, MPI_INT, operation) == MPI_SUCCESS && calls == 1);
    /* Every second integer, the second of each pair. */
    int one = 1;
    MPI_Aint place = 4;
    MPI_Datatype member = MPI_INT, spread;
    MPI_Type_create_struct(1, &one, &place, &member, &spread);
    MPI_Type_create_resized(spread, 0, 8, &second);
    MPI_Type_free(&spread);
    CHECK_ERROR(MPI_Reduce_local(in, inout, 2, second, operation), MPI_ERR_TYPE);
    MPI_Type_commit(&second);
    CHECK(MPI_Reduce_local(in, inout, 2, second, large) == MPI_SUCCESS);
    CHECK(inout[0] == 9 && inout[1] == 2 && inout[2] == 27 && inout[3] == 36 && seen == second);
    freed = operation;
    CHECK(MPI_Op_free(&operation) == MPI_SUCCESS && operation == MPI_OP_NULL);
    CHECK_ERROR(MPI_Reduce_local(in, inout, 3, MPI_INT, freed), MPI_ERR_OP);
    CHECK(MPI_Op_free(&large) == MPI_SUCCESS);
    CHECK_ERROR(MPI_Op_free(&large), MPI_ERR_OP);
    MPI_Type_free(&second);
}

static void mistakes(void)
{
    int a = 1, b = 2;
    float c = 1, d = 2;
    MPI_Op sum = MPI_SUM;
    CHECK_ERROR(MPI_Reduce_local(&c, &d, 1, MPI_FLOAT, MPI_BAND), MPI_ERR_OP);
    CHECK_ERROR(MPI_Reduce_local(&a, &b, 1, MPI_BYTE, MPI_SUM), MPI_ERR_OP);
    CHECK_ERROR(MPI_Reduce_local(&a, &b, 1, MPI_INT, MPI_MINLOC), MPI_ERR_OP);
    CHECK_ERROR(MPI_Reduce_local(&a, &b, 1, MPI_INT, MPI_OP_NULL), MPI_ERR_OP);
    CHECK_ERROR(MPI_Reduce_local(&a, &b, -1, MPI_INT, MPI_SUM), MPI_ERR_COUNT);
    CHECK_ERROR(MPI_Reduce_local(&a, &b, 1, MPI_DATATYPE_NULL, MPI_SUM), MPI_ERR_TYPE);
    CHECK_ERROR(MPI_Reduce_local(&a, &a, 1, MPI_INT, MPI_SUM), MPI_ERR_BUFFER);
    CHECK_ERROR(MPI_Reduce_local(MPI_IN_PLACE, &a, 1, MPI_INT, MPI_SUM), MPI_ERR_BUFFER);
    CHECK_ERROR(MPI_Op_free(&sum), MPI_ERR_OP);
    CHECK_ERROR(MPI_Op_create(NULL, 0, &sum), MPI_ERR_ARG);
    CHECK(b == 2 && d == 2);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    numbers();
    locations();
    functions();
    mistakes();
    MPI_Finalize();
    return 0;
}
