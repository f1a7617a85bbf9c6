/* Envelopes and contents of datatypes (MPI-5.0 section 5.1.13).
 * ranks: 1 */
#include "check.h"

static int integers[32];
static MPI_Aint addresses[8];
static MPI_Count counts[32];
static MPI_Datatype types[4];

/* Asks for everything; the datatype was made by a call with ordinary counts. */
static void ask(MPI_Datatype type, int combiner, int ni, int na, int nd)
{
    int got_ni, got_na, got_nd, got_combiner;
    MPI_Count large[4];
    CHECK(MPI_Type_get_envelope(type, &got_ni, &got_na, &got_nd, &got_combiner) == MPI_SUCCESS);
    CHECK(got_ni == ni && got_na == na && got_nd == nd && got_combiner == combiner);
    CHECK(MPI_Type_get_envelope_c(type, &large[0], &large[1], &large[2], &large[3], &got_combiner) == MPI_SUCCESS);
    CHECK(large[0] == ni && large[1] == na && large[2] == 0 && large[3] == nd && got_combiner == combiner);
    CHECK(MPI_Type_get_contents(type, ni, na, nd, integers, addresses, types) == MPI_SUCCESS);
}

static void is(const int *expected, int count)
{
    for (int i = 0; i < count; i++)
        CHECK(integers[i] == expected[i]);
}
#define INTEGERS(...) is((const int[]){__VA_ARGS__}, sizeof((const int[]){__VA_ARGS__}) / sizeof(int))

static void ordinary(void)
{
    int lengths[] = {2, 1}, places[] = {3, -4};
    MPI_Aint far[] = {12, -4};
    MPI_Datatype type, members[] = {MPI_DOUBLE, MPI_LONG};
    MPI_Type_contiguous(7, MPI_LONG, &type);
    ask(type, MPI_COMBINER_CONTIGUOUS, 1, 0, 1);
    INTEGERS(7);
    CHECK(types[0] == MPI_LONG);
    MPI_Type_free(&type);
    MPI_Type_vector(3, 2, -5, MPI_INT32_T, &type);
    ask(type, MPI_COMBINER_VECTOR, 3, 0, 1);
    INTEGERS(3, 2, -5);
    CHECK(types[0] == MPI_INT32_T);
    MPI_Type_free(&type);
    MPI_Type_create_hvector(3, 2, -50, MPI_INTEGER, &type);
    ask(type, MPI_COMBINER_HVECTOR, 2, 1, 1);
    INTEGERS(3, 2);
    CHECK(addresses[0] == -50 && types[0] == MPI_INTEGER);
    MPI_Type_free(&type);
    MPI_Type_indexed(2, lengths, places, MPI_FLOAT_INT, &type);
    ask(type, MPI_COMBINER_INDEXED, 5, 0, 1);
    INTEGERS(2, 2, 1, 3, -4);
    CHECK(types[0] == MPI_FLOAT_INT);
    MPI_Type_free(&type);
    MPI_Type_create_hindexed(2, lengths, far, MPI_INT, &type);
    ask(type, MPI_COMBINER_HINDEXED, 3, 2, 1);
    INTEGERS(2, 2, 1);
    CHECK(addresses[0] == 12 && addresses[1] == -4);
    MPI_Type_free(&type);
    MPI_Type_create_indexed_block(2, 6, places, MPI_INT, &type);
    ask(type, MPI_COMBINER_INDEXED_BLOCK, 4, 0, 1);
    INTEGERS(2, 6, 3, -4);
    MPI_Type_free(&type);
    MPI_Type_create_hindexed_block(2, 6, far, MPI_INT, &type);
    ask(type, MPI_COMBINER_HINDEXED_BLOCK, 2, 2, 1);
    INTEGERS(2, 6);
    CHECK(addresses[0] == 12 && addresses[1] == -4);
    MPI_Type_free(&type);
    MPI_Type_create_struct(2, lengths, far, members, &type);
    ask(type, MPI_COMBINER_STRUCT, 3, 2, 2);
    INTEGERS(2, 2, 1);
    CHECK(addresses[0] == 12 && addresses[1] == -4 && types[0] == MPI_DOUBLE && types[1] == MPI_LONG);
    MPI_Type_free(&type);
    MPI_Type_create_resized(MPI_INT, -8, 40, &type);
    ask(type, MPI_COMBINER_RESIZED, 0, 2, 1);
    CHECK(addresses[0] == -8 && addresses[1] == 40);
    MPI_Type_free(&type);
}

static void arrays(void)
{
    int sizes[] = {4, 6}, part[] = {2, 3}, start[] = {1, 2};
    int distributions[] = {MPI_DISTRIBUTE_CYCLIC, MPI_DISTRIBUTE_NONE};
    int arguments[] = {2, MPI_DISTRIBUTE_DFLT_DARG}, grid[] = {2, 1};
    MPI_Datatype type;
    MPI_Type_create_subarray(2, sizes, part, start, MPI_ORDER_FORTRAN, MPI_INT, &type);
    ask(type, MPI_COMBINER_SUBARRAY, 8, 0, 1);
    INTEGERS(2, 4, 6, 2, 3, 1, 2, MPI_ORDER_FORTRAN);
    MPI_Type_free(&type);
    MPI_Type_create_darray(2, 1, 2, sizes, distributions, arguments, grid, MPI_ORDER_C, MPI_INT, &type);
    ask(type, MPI_COMBINER_DARRAY, 12, 0, 1);
    INTEGERS(2, 1, 2, 4, 6, MPI_DISTRIBUTE_CYCLIC, MPI_DISTRIBUTE_NONE, 2, MPI_DISTRIBUTE_DFLT_DARG, 2, 1, MPI_ORDER_C);
    MPI_Type_free(&type);
}

static void nested(void)
{
    MPI_Datatype inner, outer, copy;
    MPI_Aint lb, extent;
    int size, n[3], combiner;
    MPI_Type_vector(2, 1, 3, MPI_INT, &inner);
    MPI_Type_dup(inner, &outer);
    ask(outer, MPI_COMBINER_DUP, 0, 0, 1);
    CHECK(types[0] != MPI_DATATYPE_NULL);
    /* What comes back is a datatype of its own, which lives on without the one that it came from. */
    copy = types[0];
    MPI_Type_free(&inner);
    MPI_Type_free(&outer);
    CHECK(MPI_Type_size(copy, &size) == MPI_SUCCESS && size == 8);
    CHECK(MPI_Type_get_extent(copy, &lb, &extent) == MPI_SUCCESS && lb == 0 && extent == 16);
    ask(copy, MPI_COMBINER_VECTOR, 3, 0, 1);
    INTEGERS(2, 1, 3);
    MPI_Type_free(&copy);
    CHECK(MPI_Type_get_envelope(MPI_INT, &n[0], &n[1], &n[2], &combiner) == MPI_SUCCESS);
    CHECK(n[0] == 0 && n[1] == 0 && n[2] == 0 && combiner == MPI_COMBINER_NAMED);
    CHECK_ERROR(MPI_Type_get_contents(MPI_INT, 0, 0, 0, integers, addresses, types), MPI_ERR_TYPE);
}

static void large(void)
{
    MPI_Count lengths[] = {2, 1}, far[] = {12, -4}, sizes[] = {4}, part[] = {2}, start[] = {1}, n[4];
    MPI_Datatype type;
    int m[3], combiner;
    MPI_Type_create_hindexed_c(2, lengths, far, MPI_INT, &type);
    CHECK(MPI_Type_get_envelope_c(type, &n[0], &n[1], &n[2], &n[3], &combiner) == MPI_SUCCESS);
    CHECK(n[0] == 0 && n[1] == 0 && n[2] == 5 && n[3] == 1 && combiner == MPI_COMBINER_HINDEXED);
    CHECK(MPI_Type_get_contents_c(type, 0, 0, 5, 1, integers, addresses, counts, types) == MPI_SUCCESS);
    CHECK(counts[0] == 2 && counts[1] == 2 && counts[2] == 1 && counts[3] == 12 && counts[4] == -4);
    CHECK(types[0] == MPI_INT);
    CHECK_ERROR(MPI_Type_get_envelope(type, &m[0], &m[1], &m[2], &combiner), MPI_ERR_TYPE);
    CHECK_ERROR(MPI_Type_get_contents_c(type, 0, 0, 4, 1, integers, addresses, counts, types), MPI_ERR_ARG);
    MPI_Type_free(&type);
    MPI_Type_create_subarray_c(1, sizes, part, start, MPI_ORDER_C, MPI_INT, &type);
    CHECK(MPI_Type_get_contents_c(type, 2, 0, 3, 1, integers, addresses, counts, types) == MPI_SUCCESS);
    CHECK(integers[0] == 1 && integers[1] == MPI_ORDER_C && counts[0] == 4 && counts[1] == 2 && counts[2] == 1);
    MPI_Type_free(&type);
    MPI_Type_create_resized_c(MPI_INT, -8, 40, &type);
    CHECK(MPI_Type_get_contents_c(type, 0, 0, 2, 1, integers, addresses, counts, types) == MPI_SUCCESS);
    CHECK(counts[0] == -8 && counts[1] == 40);
    MPI_Type_free(&type);
    MPI_Type_contiguous_c(3, MPI_INT, &type);
    CHECK(MPI_Type_get_contents_c(type, 0, 0, 1, 1, integers, addresses, counts, types) == MPI_SUCCESS);
    CHECK(counts[0] == 3);
    MPI_Type_free(&type);
}

static void fortran(void)
{
    MPI_Datatype real, again, other, vector;
    int size;
    CHECK(MPI_Type_create_f90_real(15, 300, &real) == MPI_SUCCESS);
    CHECK(MPI_Type_create_f90_real(15, 300, &again) == MPI_SUCCESS && again == real);
    CHECK(MPI_Type_create_f90_real(15, MPI_UNDEFINED, &other) == MPI_SUCCESS && other != real);
    CHECK(MPI_Type_size(real, &size) == MPI_SUCCESS && size == 8);
    ask(real, MPI_COMBINER_F90_REAL, 2, 0, 0);
    INTEGERS(15, 300);
    ask(other, MPI_COMBINER_F90_REAL, 2, 0, 0);
    INTEGERS(15, MPI_UNDEFINED);
    CHECK(MPI_Type_create_f90_complex(6, MPI_UNDEFINED, &other) == MPI_SUCCESS);
    CHECK(MPI_Type_size(other, &size) == MPI_SUCCESS && size == 8);
    CHECK(MPI_Type_create_f90_integer(9, &other) == MPI_SUCCESS);
    CHECK(MPI_Type_size(other, &size) == MPI_SUCCESS && size == 4);
    ask(other, MPI_COMBINER_F90_INTEGER, 1, 0, 0);
    INTEGERS(9);
    /* They come back from contents as they are, and are never freed. */
    MPI_Type_contiguous(2, real, &vector);
    ask(vector, MPI_COMBINER_CONTIGUOUS, 1, 0, 1);
    CHECK(types[0] == real);
    MPI_Type_free(&vector);
    again = real;
    CHECK_ERROR(MPI_Type_free(&again), MPI_ERR_TYPE);
    CHECK_ERROR(MPI_Type_create_f90_real(99, 9, &other), MPI_ERR_ARG);
    CHECK_ERROR(MPI_Type_create_f90_integer(99, &other), MPI_ERR_ARG);
    CHECK(MPI_Type_match_size(MPI_TYPECLASS_REAL, 8, &other) == MPI_SUCCESS);
    CHECK(MPI_Type_size(other, &size) == MPI_SUCCESS && size == 8);
    CHECK(MPI_Type_match_size(MPI_TYPECLASS_COMPLEX, 8, &other) == MPI_SUCCESS && other != MPI_DATATYPE_NULL);
    CHECK(MPI_Type_match_size(MPI_TYPECLASS_INTEGER, 2, &other) == MPI_SUCCESS && other != MPI_DATATYPE_NULL);
    CHECK_ERROR(MPI_Type_match_size(MPI_TYPECLASS_INTEGER, 3, &other), MPI_ERR_ARG);
    CHECK_ERROR(MPI_Type_match_size(-17, 4, &other), MPI_ERR_ARG);
    CHECK(MPI_Type_get_value_index(MPI_DOUBLE, MPI_INT, &other) == MPI_SUCCESS && other == MPI_DOUBLE_INT);
    CHECK(MPI_Type_get_value_index(MPI_INT, MPI_INT, &other) == MPI_SUCCESS && other == MPI_2INT);
    CHECK(MPI_Type_get_value_index(MPI_CHAR, MPI_LONG, &other) == MPI_SUCCESS && other == MPI_DATATYPE_NULL);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    ordinary();
    arrays();
    nested();
    large();
    fortran();
    MPI_Finalize();
    return 0;
}
