/* Grids (MPI-5.0 sections 8.5.1 to 8.5.8). */
#include "check.h"

static int rank, size;

static void dimensions(void)
{
    int dims[3] = {0, 0, 0}, given[3] = {0, 3, 0}, wrong[2] = {0, 4}, negative[1] = {-1};
    CHECK(MPI_Dims_create(72, 3, dims) == MPI_SUCCESS && dims[0] == 6 && dims[1] == 4 && dims[2] == 3);
    CHECK(MPI_Dims_create(6, 3, given) == MPI_SUCCESS && given[0] == 2 && given[1] == 3 && given[2] == 1);
    memset(dims, 0, sizeof dims);
    CHECK(MPI_Dims_create(7488, 3, dims) == MPI_SUCCESS && dims[0] == 26 && dims[1] == 18 && dims[2] == 16);
    memset(dims, 0, sizeof dims);
    CHECK(MPI_Dims_create(34425, 3, dims) == MPI_SUCCESS && dims[0] == 51 && dims[1] == 27 && dims[2] == 25);
    CHECK_ERROR(MPI_Dims_create(6, 2, wrong), MPI_ERR_DIMS);
    CHECK(wrong[0] == 0);
    CHECK_ERROR(MPI_Dims_create(6, 1, negative), MPI_ERR_DIMS);
    CHECK_ERROR(MPI_Dims_create(6, -1, dims), MPI_ERR_DIMS);
}

static void torus(void)
{
    MPI_Comm grid, copy, row;
    int dims[2] = {0, 0}, periods[2] = {1, 0}, got_dims[2], got_periods[2], coords[2], kept[2] = {0, 1};
    int number, type, source, destination, place[2], outside[2];
    CHECK(MPI_Dims_create(size, 2, dims) == MPI_SUCCESS);
    CHECK(MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 1, &grid) == MPI_SUCCESS && grid != MPI_COMM_NULL);
    CHECK(MPI_Topo_test(grid, &type) == MPI_SUCCESS && type == MPI_CART);
    CHECK(MPI_Cartdim_get(grid, &number) == MPI_SUCCESS && number == 2);
    CHECK(MPI_Cart_get(grid, 2, got_dims, got_periods, coords) == MPI_SUCCESS);
    CHECK(got_dims[0] == dims[0] && got_dims[1] == dims[1] && got_periods[0] == 1 && got_periods[1] == 0);
    MPI_Comm_rank(grid, &number);
    CHECK(number == coords[0] * dims[1] + coords[1]);
    CHECK(MPI_Cart_coords(grid, number, 2, place) == MPI_SUCCESS && place[0] == coords[0] && place[1] == coords[1]);
    place[0] -= 3 * dims[0];
    CHECK(MPI_Cart_rank(grid, place, &type) == MPI_SUCCESS && type == number);
    CHECK(MPI_Cart_shift(grid, 0, 1, &source, &destination) == MPI_SUCCESS);
    CHECK(destination == (coords[0] + 1) % dims[0] * dims[1] + coords[1]);
    CHECK(source == (coords[0] + dims[0] - 1) % dims[0] * dims[1] + coords[1]);
    CHECK(MPI_Cart_shift(grid, 1, 1, &source, &destination) == MPI_SUCCESS);
    CHECK(destination == (coords[1] + 1 < dims[1] ? number + 1 : MPI_PROC_NULL));
    CHECK(source == (coords[1] > 0 ? number - 1 : MPI_PROC_NULL));
    CHECK(MPI_Comm_dup(grid, &copy) == MPI_SUCCESS && MPI_Topo_test(copy, &type) == MPI_SUCCESS && type == MPI_CART);
    CHECK(MPI_Cart_sub(grid, kept, &row) == MPI_SUCCESS);
    CHECK(MPI_Cart_get(row, 1, got_dims, got_periods, place) == MPI_SUCCESS);
    CHECK(got_dims[0] == dims[1] && got_periods[0] == 0 && place[0] == coords[1]);
    outside[0] = 0;
    outside[1] = dims[1];
    CHECK_ERROR(MPI_Cart_rank(grid, outside, &number), MPI_ERR_ARG);
    CHECK_ERROR(MPI_Cart_coords(grid, size, 2, place), MPI_ERR_RANK);
    CHECK_ERROR(MPI_Cart_coords(grid, 0, 1, place), MPI_ERR_ARG);
    CHECK_ERROR(MPI_Cart_shift(grid, 2, 1, &source, &destination), MPI_ERR_ARG);
    CHECK_ERROR(MPI_Graphdims_get(grid, &source, &destination), MPI_ERR_TOPOLOGY);
    MPI_Comm_free(&row);
    MPI_Comm_free(&copy);
    MPI_Comm_free(&grid);
}

static void edges(void)
{
    MPI_Comm grid;
    int one = 1, two = 2, too_many = size + 1, zero = 0, negative = -2, number, flag = 0;
    /* Ranks that are left over, and a grid of no dimensions. */
    CHECK(MPI_Cart_create(MPI_COMM_WORLD, 1, &one, &flag, 0, &grid) == MPI_SUCCESS);
    CHECK((grid != MPI_COMM_NULL) == (rank == 0));
    if (grid != MPI_COMM_NULL)
        MPI_Comm_free(&grid);
    CHECK(MPI_Cart_create(MPI_COMM_WORLD, 0, NULL, NULL, 0, &grid) == MPI_SUCCESS);
    CHECK((grid != MPI_COMM_NULL) == (rank == 0));
    if (grid != MPI_COMM_NULL) {
        CHECK(MPI_Cartdim_get(grid, &number) == MPI_SUCCESS && number == 0);
        CHECK(MPI_Cart_rank(grid, NULL, &number) == MPI_SUCCESS && number == 0);
        MPI_Comm_free(&grid);
    }
    CHECK(MPI_Topo_test(MPI_COMM_WORLD, &number) == MPI_SUCCESS && number == MPI_UNDEFINED);
    CHECK_ERROR(MPI_Cart_create(MPI_COMM_WORLD, 1, &too_many, &flag, 0, &grid), MPI_ERR_ARG);
    CHECK_ERROR(MPI_Cart_create(MPI_COMM_WORLD, 1, &zero, &flag, 0, &grid), MPI_ERR_DIMS);
    CHECK_ERROR(MPI_Cart_create(MPI_COMM_WORLD, 1, &negative, &flag, 0, &grid), MPI_ERR_DIMS);
    CHECK_ERROR(MPI_Cartdim_get(MPI_COMM_WORLD, &number), MPI_ERR_TOPOLOGY);
    CHECK(MPI_Cart_map(MPI_COMM_WORLD, 1, &one, &flag, &number) == MPI_SUCCESS);
    CHECK(number == (rank == 0 ? 0 : MPI_UNDEFINED));
    if (size >= 2) {
        CHECK(MPI_Cart_map(MPI_COMM_WORLD, 1, &two, &flag, &number) == MPI_SUCCESS);
        CHECK(number == (rank < 2 ? rank : MPI_UNDEFINED));
    }
    CHECK_ERROR(MPI_Cart_map(MPI_COMM_WORLD, 1, &too_many, &flag, &number), MPI_ERR_ARG);
    CHECK(MPI_Cart_map(MPI_COMM_WORLD, 1, &zero, &flag, &number) == MPI_SUCCESS && number == MPI_UNDEFINED);
    CHECK_ERROR(MPI_Cart_map(MPI_COMM_WORLD, 1, &negative, &flag, &number), MPI_ERR_DIMS);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    dimensions();
    torus();
    edges();
    MPI_Finalize();
    return 0;
}
