/* Packing, unpacking and external32 (MPI-5.0 sections 5.2 and 5.3).
 * ranks: 1 */
#include <complex.h>
#include <wchar.h>

#include "check.h"

/* The columns of a matrix, one after the other. */
static void columns(void)
{
    enum { ROWS = 50, COLUMNS = 37 };
    static double matrix[ROWS][COLUMNS], transposed[COLUMNS][ROWS], again[ROWS][COLUMNS];
    MPI_Datatype column, resized;
    int position = 0, size, k;
    MPI_Count large = 0;
    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < COLUMNS; j++)
            matrix[i][j] = i * 100 + j;
    MPI_Type_vector(ROWS, 1, COLUMNS, MPI_DOUBLE, &column);
    MPI_Type_create_resized(column, 0, sizeof(double), &resized);
    CHECK_ERROR(MPI_Pack(matrix, 1, resized, transposed, sizeof transposed, &position, MPI_COMM_WORLD), MPI_ERR_TYPE);
    MPI_Type_commit(&resized);
    CHECK(MPI_Pack_size(COLUMNS, resized, MPI_COMM_WORLD, &size) == MPI_SUCCESS && size == (int)sizeof transposed);
    /* In pieces, the first and the last with the other form of the call. */
    CHECK(MPI_Pack_c(matrix, 3, resized, transposed, sizeof transposed, &large, MPI_COMM_WORLD) == MPI_SUCCESS);
    CHECK(large == 3 * ROWS * (int)sizeof(double));
    position = (int)large;
    for (k = 3; k < COLUMNS; k += 2)
        CHECK(MPI_Pack(&matrix[0][k], 2, resized, transposed, sizeof transposed, &position, MPI_COMM_WORLD) == MPI_SUCCESS);
    CHECK(position == size);
    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < COLUMNS; j++)
            CHECK(transposed[j][i] == matrix[i][j]);
    CHECK_ERROR(MPI_Pack(matrix, 1, resized, transposed, sizeof transposed, &position, MPI_COMM_WORLD), MPI_ERR_TRUNCATE);
    CHECK(position == size);
    position = 0;
    for (k = 0; k < COLUMNS; k++)
        CHECK(MPI_Unpack(transposed, size, &position, &again[0][k], 1, resized, MPI_COMM_WORLD) == MPI_SUCCESS);
    CHECK(position == size && !memcmp(again, matrix, sizeof matrix));
    CHECK_ERROR(MPI_Unpack(transposed, size, &position, again, 1, resized, MPI_COMM_WORLD), MPI_ERR_TRUNCATE);
    position = -1;
    CHECK_ERROR(MPI_Unpack(transposed, size, &position, again, 1, resized, MPI_COMM_WORLD), MPI_ERR_ARG);
    CHECK_ERROR(MPI_Pack_size(-1, resized, MPI_COMM_WORLD, &size), MPI_ERR_COUNT);
    CHECK_ERROR(MPI_Pack_size(1, resized, MPI_COMM_NULL, &size), MPI_ERR_COMM);
    MPI_Type_free(&column);
    MPI_Type_free(&resized);
}

/* Things at absolute addresses, packed from MPI_BOTTOM. */
static void absolute(void)
{
    int number = 7, lengths[] = {1, 3};
    double values[] = {1.5, 2.5, 3.5};
    char packed[64];
    MPI_Aint places[2];
    MPI_Datatype members[] = {MPI_INT, MPI_DOUBLE}, type;
    int position = 0;
    MPI_Get_address(&number, &places[0]);
    MPI_Get_address(values, &places[1]);
    MPI_Type_create_struct(2, lengths, places, members, &type);
    MPI_Type_commit(&type);
    CHECK(MPI_Pack(MPI_BOTTOM, 1, type, packed, sizeof packed, &position, MPI_COMM_SELF) == MPI_SUCCESS);
    CHECK(position == 28);
    number = 0;
    memset(values, 0, sizeof values);
    position = 0;
    CHECK(MPI_Unpack(packed, sizeof packed, &position, MPI_BOTTOM, 1, type, MPI_COMM_SELF) == MPI_SUCCESS);
    CHECK(position == 28 && number == 7 && values[0] == 1.5 && values[2] == 3.5);
    MPI_Type_free(&type);
}

static void external(void)
{
    struct mixed { int number; double value; short last; } from[2] = {{1, -2.0, 3}, {-4, 1.0, 6}}, to[2];
    const unsigned char expected[] = {0, 0, 0, 1, 0xc0, 0, 0, 0, 0, 0, 0, 0, 0, 3,
                                      0xff, 0xff, 0xff, 0xfc, 0x3f, 0xf0, 0, 0, 0, 0, 0, 0, 0, 6};
    unsigned char packed[64];
    int lengths[] = {1, 1, 1};
    MPI_Aint places[] = {0, 8, 16}, position = 0, size;
    MPI_Count large = 0;
    MPI_Datatype members[] = {MPI_INT, MPI_DOUBLE, MPI_SHORT}, type;
    memset(to, 0, sizeof to);
    MPI_Type_create_struct(3, lengths, places, members, &type);
    MPI_Type_commit(&type);
    CHECK(MPI_Pack_external_size("external32", 2, type, &size) == MPI_SUCCESS && size == 28);
    CHECK(MPI_Pack_external("external32", from, 1, type, packed, sizeof packed, &position) == MPI_SUCCESS);
    CHECK(position == 14);
    CHECK(MPI_Pack_external("external32", from + 1, 1, type, packed, sizeof packed, &position) == MPI_SUCCESS);
    CHECK(position == 28 && !memcmp(packed, expected, 28));
    CHECK_ERROR(MPI_Pack_external("external32", from, 2, type, packed, 50, &position), MPI_ERR_TRUNCATE);
    CHECK_ERROR(MPI_Pack_external("internal", from, 2, type, packed, 50, &position), MPI_ERR_ARG);
    CHECK(MPI_Unpack_external_c("external32", packed, 28, &large, to, 2, type) == MPI_SUCCESS && large == 28);
    for (int i = 0; i < 2; i++)
        CHECK(to[i].number == from[i].number && to[i].value == from[i].value && to[i].last == from[i].last);
    MPI_Type_free(&type);
}

/* Kinds whose size in external32 is another, or whose form is. */
static void external_kinds(void)
{
    long longs[] = {-5, 2147483647}, longs_back[2], huge = 1L << 40;
    long double extended[] = {1.0L / 3, -2.5L, 0.0L, 1e4000L}, extended_back[4];
    long double complex pair = 1.5L - 2.25L * I, pair_back;
    wchar_t wide[] = L"wide", wide_back[5];
    struct { double value; int index; } location = {2.5, -7}, location_back;
    unsigned char packed[128];
    const unsigned char third[] = {0x3f, 0xfd, 0x55, 0x55, 0x55, 0x55, 0x55, 0x55, 0x55, 0x56, 0, 0, 0, 0, 0, 0};
    MPI_Aint position = 0, size;
    CHECK(MPI_Pack_external_size("external32", 2, MPI_LONG, &size) == MPI_SUCCESS && size == 8);
    CHECK(MPI_Pack_external_size("external32", 2, MPI_LONG_LONG, &size) == MPI_SUCCESS && size == 16);
    CHECK(MPI_Pack_external_size("external32", 1, MPI_C_LONG_DOUBLE_COMPLEX, &size) == MPI_SUCCESS && size == 32);
    CHECK(MPI_Pack_external("external32", longs, 2, MPI_LONG, packed, sizeof packed, &position) == MPI_SUCCESS);
    CHECK(position == 8 && packed[0] == 0xff && packed[3] == 0xfb && packed[4] == 0x7f && packed[7] == 0xff);
    position = 0;
    CHECK(MPI_Unpack_external("external32", packed, 8, &position, longs_back, 2, MPI_LONG) == MPI_SUCCESS);
    CHECK(longs_back[0] == longs[0] && longs_back[1] == longs[1]);
    position = 0;
    CHECK(MPI_Pack_external("external32", &huge, 1, MPI_LONG, packed, sizeof packed, &position) != MPI_SUCCESS);
    CHECK(position == 0);
    CHECK(MPI_Pack_external("external32", extended, 4, MPI_LONG_DOUBLE, packed, sizeof packed, &position) == MPI_SUCCESS);
    CHECK(position == 64 && !memcmp(packed, third, 9));
    position = 0;
    CHECK(MPI_Unpack_external("external32", packed, 64, &position, extended_back, 4, MPI_LONG_DOUBLE) == MPI_SUCCESS);
    for (int i = 0; i < 4; i++)
        CHECK(extended_back[i] == extended[i]);
    position = 0;
    MPI_Pack_external("external32", &pair, 1, MPI_C_LONG_DOUBLE_COMPLEX, packed, sizeof packed, &position);
    position = 0;
    MPI_Unpack_external("external32", packed, 32, &position, &pair_back, 1, MPI_C_LONG_DOUBLE_COMPLEX);
    CHECK(position == 32 && pair_back == pair);
    position = 0;
    MPI_Pack_external("external32", wide, 5, MPI_WCHAR, packed, sizeof packed, &position);
    CHECK(position == 10 && packed[0] == 0 && packed[1] == 'w');
    position = 0;
    MPI_Unpack_external("external32", packed, 10, &position, wide_back, 5, MPI_WCHAR);
    CHECK(!wcscmp(wide, wide_back));
    position = 0;
    MPI_Pack_external("external32", &location, 1, MPI_DOUBLE_INT, packed, sizeof packed, &position);
    CHECK(position == 12 && packed[8] == 0xff && packed[11] == 0xf9);
    position = 0;
    MPI_Unpack_external("external32", packed, 12, &position, &location_back, 1, MPI_DOUBLE_INT);
    CHECK(location_back.value == 2.5 && location_back.index == -7);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    columns();
    absolute();
    external();
    external_kinds();
    MPI_Finalize();
    return 0;
}
