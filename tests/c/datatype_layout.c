/* Sizes, bounds and extents of datatypes (MPI-5.0 sections 5.1.2 to 5.1.8).
 * ranks: 1 */
#include <stddef.h>

#include "check.h"

static void has(MPI_Datatype type, int size, MPI_Aint lb, MPI_Aint extent, MPI_Aint true_lb, MPI_Aint true_extent)
{
    int got_size;
    MPI_Count large_size, large_lb, large_extent;
    MPI_Aint got_lb, got_extent;
    CHECK(MPI_Type_size(type, &got_size) == MPI_SUCCESS && got_size == size);
    CHECK(MPI_Type_size_c(type, &large_size) == MPI_SUCCESS && large_size == size);
    CHECK(MPI_Type_get_extent(type, &got_lb, &got_extent) == MPI_SUCCESS && got_lb == lb && got_extent == extent);
    CHECK(MPI_Type_get_extent_c(type, &large_lb, &large_extent) == MPI_SUCCESS && large_lb == lb && large_extent == extent);
    CHECK(MPI_Type_get_true_extent(type, &got_lb, &got_extent) == MPI_SUCCESS);
    CHECK(got_lb == true_lb && got_extent == true_extent);
    CHECK(MPI_Type_get_true_extent_c(type, &large_lb, &large_extent) == MPI_SUCCESS);
    CHECK(large_lb == true_lb && large_extent == true_extent);
}

static void take(MPI_Datatype *type, int size, MPI_Aint lb, MPI_Aint extent, MPI_Aint true_lb, MPI_Aint true_extent)
{
    has(*type, size, lb, extent, true_lb, true_extent);
    CHECK(MPI_Type_free(type) == MPI_SUCCESS && *type == MPI_DATATYPE_NULL);
}

static void predefined(void)
{
    struct float_int { float value; int index; };
    struct double_int { double value; int index; };
    struct long_int { long value; int index; };
    struct short_int { short value; int index; };
    struct long_double_int { long double value; int index; };
    has(MPI_CHAR, 1, 0, 1, 0, 1);
    has(MPI_INT, sizeof(int), 0, sizeof(int), 0, sizeof(int));
    has(MPI_LONG, sizeof(long), 0, sizeof(long), 0, sizeof(long));
    has(MPI_LONG_DOUBLE, sizeof(long double), 0, sizeof(long double), 0, sizeof(long double));
    has(MPI_C_DOUBLE_COMPLEX, 16, 0, 16, 0, 16);
    has(MPI_AINT, sizeof(MPI_Aint), 0, sizeof(MPI_Aint), 0, sizeof(MPI_Aint));
    has(MPI_WCHAR, sizeof(wchar_t), 0, sizeof(wchar_t), 0, sizeof(wchar_t));
    has(MPI_REAL8, 8, 0, 8, 0, 8);
    has(MPI_COMPLEX32, 32, 0, 32, 0, 32);
    has(MPI_INTEGER16, 16, 0, 16, 0, 16);
    has(MPI_FLOAT_INT, 8, 0, sizeof(struct float_int), 0, 8);
    has(MPI_DOUBLE_INT, 12, 0, sizeof(struct double_int), 0, 12);
    has(MPI_LONG_INT, 12, 0, sizeof(struct long_int), 0, 12);
    has(MPI_SHORT_INT, 6, 0, sizeof(struct short_int), 0, 8);
    has(MPI_LONG_DOUBLE_INT, 20, 0, sizeof(struct long_double_int), 0, 20);
    has(MPI_2INT, 8, 0, 8, 0, 8);
}

static void constructors(void)
{
    int lengths[] = {2, 0, 1}, places[] = {3, 50, 0};
    MPI_Aint far[] = {12, 400, -4};
    MPI_Count large_lengths[] = {2, 0, 1}, large_places[] = {3, 50, 0}, large_far[] = {12, 400, -4};
    MPI_Datatype type, other;
    MPI_Type_contiguous(5, MPI_INT, &type);
    take(&type, 20, 0, 20, 0, 20);
    MPI_Type_contiguous(0, MPI_INT, &type);
    take(&type, 0, 0, 0, 0, 0);
    MPI_Type_vector(3, 2, 5, MPI_INT, &type);
    take(&type, 24, 0, 48, 0, 48);
    MPI_Type_vector(3, 1, -2, MPI_INT, &type);
    take(&type, 12, -16, 20, -16, 20);
    MPI_Type_create_hvector(2, 3, 100, MPI_SHORT, &type);
    take(&type, 12, 0, 106, 0, 106);
    MPI_Type_indexed(3, lengths, places, MPI_INT, &type);
    take(&type, 12, 0, 20, 0, 20);
    MPI_Type_indexed_c(3, large_lengths, large_places, MPI_INT, &type);
    take(&type, 12, 0, 20, 0, 20);
    MPI_Type_create_hindexed(3, lengths, far, MPI_INT, &type);
    take(&type, 12, -4, 24, -4, 24);
    MPI_Type_create_hindexed_c(3, large_lengths, large_far, MPI_INT, &type);
    take(&type, 12, -4, 24, -4, 24);
    MPI_Type_create_indexed_block(3, 2, places, MPI_CHAR, &type);
    take(&type, 6, 0, 52, 0, 52);
    MPI_Type_create_hindexed_block(3, 2, far, MPI_CHAR, &type);
    take(&type, 6, -4, 406, -4, 406);
    MPI_Type_create_resized(MPI_INT, -3, 11, &type);
    has(type, 4, -3, 11, 0, 4);
    MPI_Type_contiguous(3, type, &other);
    take(&other, 12, -3, 33, 0, 26);
    MPI_Type_dup(type, &other);
    take(&other, 4, -3, 11, 0, 4);
    MPI_Type_free(&type);
    /* Negative extents. */
    MPI_Type_create_resized(MPI_INT, 4, -4, &type);
    has(type, 4, 4, -4, 0, 4);
    MPI_Type_contiguous(3, type, &other);
    take(&other, 12, -4, 4, -8, 12);
    MPI_Type_free(&type);
}

static void structures(void)
{
    struct one { char a; double b; char c[3]; };
    struct two { struct one one; int last; };
    int lengths[] = {1, 1, 3};
    MPI_Aint places[] = {offsetof(struct one, a), offsetof(struct one, b), offsetof(struct one, c)};
    MPI_Aint members[] = {offsetof(struct two, one), offsetof(struct two, last)};
    MPI_Aint odd[] = {-3, 5};
    MPI_Datatype types[] = {MPI_CHAR, MPI_DOUBLE, MPI_CHAR}, one, two, pair[2];
    MPI_Type_create_struct(3, lengths, places, types, &one);
    has(one, 12, 0, sizeof(struct one), 0, 19);
    pair[0] = one;
    pair[1] = MPI_INT;
    MPI_Type_create_struct(2, lengths, members, pair, &two);
    take(&two, 16, 0, sizeof(struct two), 0, offsetof(struct two, last) + 4);
    MPI_Type_free(&one);
    /* The extent is rounded up, not the upper bound. */
    pair[0] = MPI_INT;
    pair[1] = MPI_CHAR;
    MPI_Type_create_struct(2, lengths, odd, pair, &one);
    take(&one, 5, -3, 12, -3, 9);
    /* What has no elements counts for nothing. */
    lengths[0] = 0;
    MPI_Type_create_struct(2, lengths, odd, pair, &one);
    take(&one, 1, 5, 1, 5, 1);
}

static void arrays(void)
{
    int sizes[] = {4, 6}, part[] = {2, 3}, start[] = {1, 2};
    int distributions[] = {MPI_DISTRIBUTE_CYCLIC, MPI_DISTRIBUTE_BLOCK}, grid[] = {2, 2};
    int defaults[] = {MPI_DISTRIBUTE_DFLT_DARG, MPI_DISTRIBUTE_DFLT_DARG};
    MPI_Count large_sizes[] = {4, 6};
    MPI_Datatype type;
    MPI_Type_create_subarray(2, sizes, part, start, MPI_ORDER_C, MPI_INT, &type);
    take(&type, 24, 0, 96, (6 + 2) * 4, (6 + 3) * 4);
    MPI_Type_create_subarray(2, sizes, part, start, MPI_ORDER_FORTRAN, MPI_INT, &type);
    take(&type, 24, 0, 96, (2 * 4 + 1) * 4, (2 * 4 + 2) * 4);
    MPI_Type_create_darray(4, 3, 2, sizes, distributions, defaults, grid, MPI_ORDER_C, MPI_INT, &type);
    take(&type, 24, 0, 96, (6 + 3) * 4, (12 + 3) * 4);
    MPI_Type_create_darray_c(4, 0, 2, large_sizes, distributions, defaults, grid, MPI_ORDER_FORTRAN, MPI_INT, &type);
    take(&type, 24, 0, 96, 0, (2 * 4 + 2 + 1) * 4);
}

static void large(void)
{
    MPI_Datatype type, more;
    MPI_Count size, lb, extent;
    MPI_Aint small_lb, small_extent;
    int small;
    CHECK(MPI_Type_contiguous_c((MPI_Count)1 << 40, MPI_INT, &type) == MPI_SUCCESS);
    CHECK(MPI_Type_size_c(type, &size) == MPI_SUCCESS && size == (MPI_Count)1 << 42);
    CHECK(MPI_Type_size_x(type, &size) == MPI_SUCCESS && size == (MPI_Count)1 << 42);
    CHECK(MPI_Type_size(type, &small) == MPI_SUCCESS && small == MPI_UNDEFINED);
    CHECK(MPI_Type_get_extent_x(type, &lb, &extent) == MPI_SUCCESS && lb == 0 && extent == (MPI_Count)1 << 42);
    CHECK(MPI_Type_get_extent(type, &small_lb, &small_extent) == MPI_SUCCESS && small_extent == (MPI_Aint)1 << 42);
    CHECK(MPI_Type_vector_c(4, 1, (MPI_Count)1 << 10, type, &more) == MPI_SUCCESS);
    CHECK(MPI_Type_get_true_extent_x(more, &lb, &extent) == MPI_SUCCESS);
    CHECK(lb == 0 && extent == 3 * ((MPI_Count)1 << 52) + ((MPI_Count)1 << 42));
    MPI_Type_free(&more);
    CHECK_ERROR(MPI_Type_contiguous_c((MPI_Count)1 << 22, type, &more), MPI_ERR_ARG);
    MPI_Type_free(&type);
}

static void mistakes(void)
{
    MPI_Datatype type = MPI_DATATYPE_NULL, freed;
    int sizes[] = {4}, part[] = {3}, start[] = {2}, none[] = {MPI_DISTRIBUTE_NONE}, two[] = {2}, size;
    MPI_Type_contiguous(2, MPI_INT, &freed);
    type = freed;
    MPI_Type_free(&type);
    CHECK_ERROR(MPI_Type_contiguous(-1, MPI_INT, &type), MPI_ERR_COUNT);
    CHECK_ERROR(MPI_Type_contiguous(1, MPI_DATATYPE_NULL, &type), MPI_ERR_TYPE);
    CHECK_ERROR(MPI_Type_contiguous(1, freed, &type), MPI_ERR_TYPE);
    CHECK_ERROR(MPI_Type_size(freed, &size), MPI_ERR_TYPE);
    CHECK_ERROR(MPI_Type_contiguous(1, MPI_INT, NULL), MPI_ERR_ARG);
    CHECK_ERROR(MPI_Type_create_subarray(1, sizes, part, start, MPI_ORDER_C, MPI_INT, &type), MPI_ERR_ARG);
    CHECK_ERROR(MPI_Type_create_subarray(1, sizes, part, part, 77, MPI_INT, &type), MPI_ERR_ARG);
    CHECK_ERROR(MPI_Type_create_darray(2, 0, 1, sizes, none, none, two, MPI_ORDER_C, MPI_INT, &type), MPI_ERR_ARG);
    type = MPI_INT;
    CHECK_ERROR(MPI_Type_free(&type), MPI_ERR_TYPE);
    type = MPI_DATATYPE_NULL;
    CHECK_ERROR(MPI_Type_free(&type), MPI_ERR_TYPE);
    CHECK_ERROR(MPI_Type_commit(&type), MPI_ERR_TYPE);
}

static void addresses(void)
{
    int numbers[4];
    MPI_Aint first, last;
    CHECK(MPI_Get_address(&numbers[0], &first) == MPI_SUCCESS && MPI_Get_address(&numbers[3], &last) == MPI_SUCCESS);
    CHECK(MPI_Aint_diff(last, first) == 12 && MPI_Aint_add(first, 12) == last);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    predefined();
    constructors();
    structures();
    arrays();
    large();
    mistakes();
    addresses();
    MPI_Finalize();
    return 0;
}
