/* Views: interleaved, resized, with gaps, of arrays; offsets, ends, representations, counts (MPI-5.0 sections 14.3 and 14.5). */
#include "file.h"

enum { BLOCK = 5, BLOCKS = 40 };

/* Every rank writes every size-th block; all of it is as it should be, and gaps stay as they were. */
static void interleaved(int collective)
{
    int values[BLOCK * BLOCKS], i, all = BLOCK * BLOCKS * world_size;
    int *whole = malloc(all * sizeof(int));
    MPI_Datatype block, filetype;
    MPI_Status status;
    MPI_Offset offset;
    MPI_File file = new_file();
    MPI_Type_contiguous(BLOCK, MPI_INT, &block);
    MPI_Type_create_resized(block, 0, (MPI_Aint)world_size * BLOCK * sizeof(int), &filetype);
    MPI_Type_commit(&filetype);
    CHECK(MPI_File_set_view(file, 8 + world_rank * BLOCK * sizeof(int), MPI_INT, filetype, "native", MPI_INFO_NULL)
          == MPI_SUCCESS);
    for (i = 0; i < BLOCK * BLOCKS; i++)
        values[i] = ((i / BLOCK) * world_size + world_rank) * BLOCK + i % BLOCK;
    if (collective)
        CHECK(MPI_File_write_at_all(file, 0, values, BLOCK * BLOCKS, MPI_INT, &status) == MPI_SUCCESS);
    else
        CHECK(MPI_File_write_at(file, 0, values, BLOCK * BLOCKS, MPI_INT, &status) == MPI_SUCCESS);
    CHECK(count_of(&status, MPI_INT) == BLOCK * BLOCKS);
    CHECK(MPI_File_get_byte_offset(file, BLOCK + 1, &offset) == MPI_SUCCESS);
    CHECK(offset == 8 + (MPI_Offset)((world_rank + world_size) * BLOCK + 1) * (MPI_Offset)sizeof(int));
    CHECK(MPI_File_sync(file) == MPI_SUCCESS);
    MPI_Barrier(MPI_COMM_WORLD);
    /* From an etype in the middle of a block, beyond the end of the file. */
    memset(values, -1, sizeof values);
    CHECK(MPI_File_seek(file, BLOCK + 2, MPI_SEEK_SET) == MPI_SUCCESS);
    CHECK((collective ? MPI_File_read_all(file, values, BLOCK * BLOCKS, MPI_INT, &status)
                      : MPI_File_read(file, values, BLOCK * BLOCKS, MPI_INT, &status)) == MPI_SUCCESS);
    CHECK(count_of(&status, MPI_INT) == BLOCK * BLOCKS - BLOCK - 2);
    for (i = 0; i < BLOCK * BLOCKS; i++) {
        int at = i + BLOCK + 2, expected = ((at / BLOCK) * world_size + world_rank) * BLOCK + at % BLOCK;
        CHECK(values[i] == (at < BLOCK * BLOCKS ? expected : -1));
    }
    CHECK(MPI_File_seek(file, 0, MPI_SEEK_END) == MPI_SUCCESS);
    CHECK(MPI_File_get_position(file, &offset) == MPI_SUCCESS && offset == BLOCK * BLOCKS);
    CHECK(MPI_File_set_view(file, 8, MPI_INT, MPI_INT, "native", MPI_INFO_NULL) == MPI_SUCCESS);
    CHECK(MPI_File_read_all(file, whole, all, MPI_INT, &status) == MPI_SUCCESS && count_of(&status, MPI_INT) == all);
    for (i = 0; i < all; i++)
        CHECK(whole[i] == i);
    MPI_Type_free(&block);
    MPI_Type_free(&filetype);
    close_file(&file);
    free(whole);
}

/* A matrix in blocks, in memory too: columns of an array with borders go to a block of the file. */
static void arrays(void)
{
    enum { SIDE = 12 };
    int sizes[2] = {SIDE * world_size, SIDE}, parts[2] = {SIDE, SIDE}, starts[2] = {SIDE * world_rank, 0};
    int borders[2] = {SIDE + 2, SIDE + 2}, inner[2] = {1, 1}, i, j;
    int memory[SIDE + 2][SIDE + 2], back[SIDE + 2][SIDE + 2];
    MPI_Datatype filetype, inside, column;
    MPI_Status status;
    MPI_File file = new_file();
    MPI_Type_create_subarray(2, sizes, parts, starts, MPI_ORDER_C, MPI_INT, &filetype);
    MPI_Type_create_subarray(2, borders, parts, inner, MPI_ORDER_C, MPI_INT, &inside);
    MPI_Type_commit(&filetype);
    MPI_Type_commit(&inside);
    for (i = 0; i < SIDE + 2; i++)
        for (j = 0; j < SIDE + 2; j++)
            memory[i][j] = world_rank * 1000 + i * 50 + j;
    CHECK(MPI_File_set_view(file, 0, MPI_INT, filetype, "native", MPI_INFO_NULL) == MPI_SUCCESS);
    CHECK(MPI_File_write_all(file, memory, 1, inside, &status) == MPI_SUCCESS && count_of(&status, inside) == 1);
    memset(back, 0, sizeof back);
    CHECK(MPI_File_read_at_all(file, 0, back, 1, inside, &status) == MPI_SUCCESS && count_of(&status, inside) == 1);
    for (i = 0; i < SIDE + 2; i++)
        for (j = 0; j < SIDE + 2; j++)
            CHECK(back[i][j] == (i == 0 || j == 0 || i > SIDE || j > SIDE ? 0 : memory[i][j]));
    /* One column of all the matrix: as many values as there are rows. */
    MPI_Type_vector(SIDE * world_size, 1, SIDE, MPI_INT, &column);
    MPI_Type_commit(&column);
    CHECK(MPI_File_sync(file) == MPI_SUCCESS);
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(MPI_File_set_view(file, 3 * sizeof(int), MPI_INT, column, "internal", MPI_INFO_NULL) == MPI_SUCCESS);
    for (i = 0; i < SIDE * world_size; i++) {
        int value = -1;
        CHECK(MPI_File_read(file, &value, 1, MPI_INT, MPI_STATUS_IGNORE) == MPI_SUCCESS);
        CHECK(value == (i / SIDE) * 1000 + (i % SIDE + 1) * 50 + 4);
    }
    MPI_Type_free(&filetype);
    MPI_Type_free(&inside);
    MPI_Type_free(&column);
    close_file(&file);
}

/* A filetype of two values in these places is refused. */
static void refused(MPI_File file, int first, int second)
{
    int places[2] = {first, second};
    MPI_Datatype type;
    MPI_Type_create_indexed_block(2, 1, places, MPI_INT, &type);
    MPI_Type_commit(&type);
    CHECK_ERROR(MPI_File_set_view(file, 0, MPI_INT, type, "native", MPI_INFO_NULL), MPI_ERR_IO);
    MPI_Type_free(&type);
}

static void questions(void)
{
    MPI_Datatype type, etype, filetype, predefined;
    MPI_Offset displacement = -1;
    MPI_Aint extent;
    int integers, addresses, datatypes, combiner, value = 7;
    char representation[MPI_MAX_DATAREP_STRING];
    MPI_File file = new_file();
    CHECK(MPI_File_get_view(file, &displacement, &etype, &filetype, representation) == MPI_SUCCESS);
    CHECK(displacement == 0 && etype == MPI_BYTE && filetype == MPI_BYTE && strcmp(representation, "native") == 0);
    MPI_Type_vector(3, 2, 4, MPI_INT, &type);
    MPI_Type_commit(&type);
    CHECK(MPI_File_set_view(file, 16, MPI_INT, type, "native", MPI_INFO_NULL) == MPI_SUCCESS);
    MPI_Type_free(&type);
    CHECK(MPI_File_get_view(file, &displacement, &predefined, &filetype, representation) == MPI_SUCCESS);
    CHECK(displacement == 16 && predefined == MPI_INT);
    MPI_Type_get_envelope(filetype, &integers, &addresses, &datatypes, &combiner);
    CHECK(combiner == MPI_COMBINER_VECTOR && integers == 3);
    CHECK(MPI_File_get_type_extent(file, filetype, &extent) == MPI_SUCCESS && extent == 10 * sizeof(int));
    MPI_Type_free(&filetype);
    CHECK_ERROR(MPI_File_set_view(file, -1, MPI_INT, MPI_INT, "native", MPI_INFO_NULL), MPI_ERR_ARG);
    CHECK_ERROR(MPI_File_set_view(file, MPI_DISPLACEMENT_CURRENT, MPI_INT, MPI_INT, "native", MPI_INFO_NULL), MPI_ERR_ARG);
    CHECK_ERROR(MPI_File_set_view(file, 0, MPI_INT, MPI_CHAR, "native", MPI_INFO_NULL), MPI_ERR_ARG);
    refused(file, -2, 2);
    refused(file, 3, 0);
    refused(file, 0, 0);
    CHECK_ERROR(MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "none", MPI_INFO_NULL), MPI_ERR_UNSUPPORTED_DATAREP);
    CHECK_ERROR(MPI_File_set_view(file, 0, MPI_DATATYPE_NULL, MPI_INT, "native", MPI_INFO_NULL), MPI_ERR_TYPE);
    if (world_size > 1)
        CHECK_ERROR(MPI_File_set_view(file, 0, world_rank ? MPI_INT : MPI_CHAR, world_rank ? MPI_INT : MPI_CHAR, "native",
                                      MPI_INFO_NULL),
                    MPI_ERR_NOT_SAME);
    /* Not whole etypes. */
    CHECK(MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL) == MPI_SUCCESS);
    CHECK_ERROR(MPI_File_write_at(file, 0, &value, 1, MPI_CHAR, MPI_STATUS_IGNORE), MPI_ERR_IO);
    CHECK_ERROR(MPI_File_write_at(file, -1, &value, 1, MPI_INT, MPI_STATUS_IGNORE), MPI_ERR_ARG);
    CHECK_ERROR(MPI_File_write_at(file, 0, &value, -1, MPI_INT, MPI_STATUS_IGNORE), MPI_ERR_COUNT);
    close_file(&file);
}

/* In external32 bytes are in the order of big endian, and MPI_LONG has 4 of them. */
static void external32(void)
{
    long values[3] = {1, -2, 0x01020304}, back[4] = {9, 9, 9, 9};
    unsigned char bytes[12], expected[12] = {0, 0, 0, 1, 255, 255, 255, 254, 1, 2, 3, 4};
    MPI_Status status;
    MPI_Aint extent;
    MPI_File file = new_file();
    CHECK(MPI_File_set_view(file, 12 * world_rank, MPI_LONG, MPI_LONG, "external32", MPI_INFO_NULL) == MPI_SUCCESS);
    CHECK(MPI_File_get_type_extent(file, MPI_LONG, &extent) == MPI_SUCCESS && extent == 4);
    CHECK(MPI_File_write(file, values, 3, MPI_LONG, &status) == MPI_SUCCESS && count_of(&status, MPI_LONG) == 3);
    CHECK(MPI_File_sync(file) == MPI_SUCCESS);
    MPI_Barrier(MPI_COMM_WORLD);
    if (world_rank == world_size - 1) {
        CHECK(MPI_File_read_at(file, 1, back, 3, MPI_LONG, &status) == MPI_SUCCESS && count_of(&status, MPI_LONG) == 2);
        CHECK(back[0] == -2 && back[1] == 0x01020304 && back[2] == 9);
    }
    CHECK(MPI_File_set_view(file, 12 * world_rank, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL) == MPI_SUCCESS);
    CHECK(MPI_File_read(file, bytes, 12, MPI_BYTE, &status) == MPI_SUCCESS && count_of(&status, MPI_BYTE) == 12);
    CHECK(memcmp(bytes, expected, 12) == 0);
    close_file(&file);
}

/* Far ranges and near ones, long ones and short ones: what is read together, and what alone. */
static void ranges(void)
{
    enum { BYTES = 1 << 20 };
    int lengths[4] = {1, 70000, 3, 300}, places[4] = {10, 1000, 72000, 400000}, i, j, at;
    char *values = malloc(BYTES), *back = malloc(BYTES);
    MPI_Datatype type;
    MPI_Status status;
    MPI_File file = open_file(MPI_COMM_SELF, MPI_MODE_CREATE | MPI_MODE_RDWR);
    for (i = 0; i < BYTES; i++)
        values[i] = (char)(i * 7 + i / 256);
    MPI_Barrier(MPI_COMM_WORLD);
    /* All ranks write the same. */
    CHECK(MPI_File_write_at(file, 0, values, BYTES, MPI_BYTE, &status) == MPI_SUCCESS);
    CHECK(count_of(&status, MPI_BYTE) == BYTES);
    MPI_Type_indexed(4, lengths, places, MPI_BYTE, &type);
    MPI_Type_commit(&type);
    CHECK(MPI_File_set_view(file, 5, MPI_BYTE, type, "native", MPI_INFO_NULL) == MPI_SUCCESS);
    CHECK(MPI_File_read(file, back, 2 * 70304, MPI_BYTE, &status) == MPI_SUCCESS);
    CHECK(count_of(&status, MPI_BYTE) == 2 * 70304);
    for (i = at = 0; i < 8; i++)
        for (j = 0; j < lengths[i % 4]; j++, at++)
            CHECK(back[at] == values[5 + (i / 4) * 400290 + places[i % 4] + j]);
    MPI_Type_free(&type);
    close_file(&file);
    MPI_Barrier(MPI_COMM_WORLD);
    if (world_rank == 0)
        CHECK(MPI_File_delete(file_name, MPI_INFO_NULL) == MPI_SUCCESS);
    MPI_Barrier(MPI_COMM_WORLD);
    free(values);
    free(back);
}

int main(int argc, char **argv)
{
    begin_files(&argc, &argv);
    interleaved(0);
    interleaved(1);
    arrays();
    questions();
    external32();
    ranges();
    end_files();
    return 0;
}
