/* The large-count forms of constructors of datatypes, and packing (MPI-5.0 chapter 5). ranks: 1 */
#include "check.h"

enum { N = 24, BLOCKS = 3 };

/* Packing takes exactly these places of an array of chars, in this order, and unpacking puts them back. */
static void check_places(MPI_Datatype datatype, const int *places, int number)
{
    char from[N], packed[N], to[N];
    MPI_Count position = 0, size = -1;
    for (int i = 0; i < N; i++) {
        from[i] = (char)('A' + i);
        to[i] = '-';
    }
    CHECK(MPI_Type_commit(&datatype) == MPI_SUCCESS);
    CHECK(MPI_Pack_size_c(1, datatype, MPI_COMM_WORLD, &size) == MPI_SUCCESS && size == number);
    CHECK(MPI_Pack_c(from, 1, datatype, packed, sizeof packed, &position, MPI_COMM_WORLD) == MPI_SUCCESS);
    CHECK(position == number);
    for (int i = 0; i < number; i++) CHECK(packed[i] == from[places[i]]);
    position = 0;
    CHECK(MPI_Unpack_c(packed, number, &position, to, 1, datatype, MPI_COMM_WORLD) == MPI_SUCCESS && position == number);
    for (int i = 0; i < number; i++) {
        CHECK(to[places[i]] == from[places[i]]);
        to[places[i]] = '-';
    }
    for (int i = 0; i < N; i++) CHECK(to[i] == '-');
    MPI_Type_free(&datatype);
}

static void constructors(void)
{
    const MPI_Count starts[BLOCKS] = {6, 1, 12}, lengths[BLOCKS] = {1, 2, 1};
    const MPI_Datatype types[BLOCKS] = {MPI_CHAR, MPI_CHAR, MPI_CHAR};
    MPI_Datatype datatype, pair;
    CHECK(MPI_Type_create_hvector_c(BLOCKS, 2, 5, MPI_CHAR, &datatype) == MPI_SUCCESS);
    check_places(datatype, (int[]){0, 1, 5, 6, 10, 11}, 6);
    CHECK(MPI_Type_create_indexed_block_c(BLOCKS, 2, starts, MPI_CHAR, &datatype) == MPI_SUCCESS);
    check_places(datatype, (int[]){6, 7, 1, 2, 12, 13}, 6);
    /* Displacements in bytes, not in pairs. */
    CHECK(MPI_Type_contiguous_c(2, MPI_CHAR, &pair) == MPI_SUCCESS);
    CHECK(MPI_Type_create_hindexed_block_c(BLOCKS, 1, starts, pair, &datatype) == MPI_SUCCESS);
    check_places(datatype, (int[]){6, 7, 1, 2, 12, 13}, 6);
    MPI_Type_free(&pair);
    CHECK(MPI_Type_create_struct_c(BLOCKS, lengths, starts, types, &datatype) == MPI_SUCCESS);
    check_places(datatype, (int[]){6, 1, 2, 12}, 4);
}

/* The external form has the most significant byte first. */
static void external(void)
{
    unsigned char packed[8];
    int number = 0x01020304, again = 0;
    MPI_Count position = 0, size = -1;
    CHECK(MPI_Pack_external_size_c("external32", 1, MPI_INT, &size) == MPI_SUCCESS && size == 4);
    CHECK(MPI_Pack_external_c("external32", &number, 1, MPI_INT, packed, sizeof packed, &position) == MPI_SUCCESS);
    CHECK(position == 4 && packed[0] == 1 && packed[3] == 4);
    position = 0;
    CHECK(MPI_Unpack_external_c("external32", packed, 4, &position, &again, 1, MPI_INT) == MPI_SUCCESS);
    CHECK(position == 4 && again == number);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    constructors();
    external();
    MPI_Finalize();
    return 0;
}
