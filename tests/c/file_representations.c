/* Representations of data in files (MPI-5.0 section 14.5): those of the program, and external32 with gaps. ranks: 1 2 */
#include "file.h"

/* An int has 6 bytes in the file: two that mark it, and its own from the highest to the lowest. */
enum { WIDTH = 6, MARK = 0xab };

static int reads, writes, extents, code = MPI_SUCCESS;

static int extent_of(MPI_Datatype datatype, MPI_Aint *extent, void *state)
{
    CHECK(state == &reads);
    extents++;
    if (datatype != MPI_INT)
        return MPI_ERR_TYPE;
    *extent = WIDTH;
    return MPI_SUCCESS;
}

static int from_file(void *memory, MPI_Datatype datatype, long long count, void *file, MPI_Offset position)
{
    unsigned char *bytes = file;
    static int numbers[1000];
    int size, at = 0;
    long long k;
    CHECK(count <= 1000 && position == 0);
    for (k = 0; k < count; k++, bytes += WIDTH) {
        CHECK(bytes[0] == MARK && bytes[1] == MARK);
        numbers[k] = bytes[2] << 24 | bytes[3] << 16 | bytes[4] << 8 | bytes[5];
    }
    MPI_Type_size(datatype, &size);
    CHECK(MPI_Unpack(numbers, sizeof numbers, &at, memory, (int)(count * 4 / size), datatype, MPI_COMM_SELF) == MPI_SUCCESS);
    reads++;
    return code;
}

static int to_file(void *memory, MPI_Datatype datatype, long long count, void *file, MPI_Offset position)
{
    unsigned char *bytes = file;
    static int numbers[1000];
    int size, at = 0, byte;
    long long k;
    CHECK(count <= 1000 && position == 0);
    MPI_Type_size(datatype, &size);
    CHECK(MPI_Pack(memory, (int)(count * 4 / size), datatype, numbers, sizeof numbers, &at, MPI_COMM_SELF) == MPI_SUCCESS);
    for (k = 0; k < count; k++, bytes += WIDTH) {
        bytes[0] = bytes[1] = MARK;
        for (byte = 0; byte < 4; byte++)
            bytes[2 + byte] = (unsigned char)(numbers[k] >> (24 - 8 * byte));
    }
    writes++;
    return code;
}

static int reading(void *memory, MPI_Datatype datatype, int count, void *file, MPI_Offset position, void *state)
{
    CHECK(state == &reads);
    return from_file(memory, datatype, count, file, position);
}

static int writing(void *memory, MPI_Datatype datatype, int count, void *file, MPI_Offset position, void *state)
{
    CHECK(state == &reads);
    return to_file(memory, datatype, count, file, position);
}

static int reading_c(void *memory, MPI_Datatype datatype, MPI_Count count, void *file, MPI_Offset position, void *state)
{
    CHECK(state == &reads);
    return from_file(memory, datatype, count, file, position);
}

static int writing_c(void *memory, MPI_Datatype datatype, MPI_Count count, void *file, MPI_Offset position, void *state)
{
    CHECK(state == &reads);
    return to_file(memory, datatype, count, file, position);
}

static void names(void)
{
    char longest[MPI_MAX_DATAREP_STRING + 1];
    MPI_File_set_errhandler(MPI_FILE_NULL, MPI_ERRORS_RETURN);
    CHECK(MPI_Register_datarep("wide", reading, writing, extent_of, &reads) == MPI_SUCCESS);
    CHECK(MPI_Register_datarep_c("wide large", reading_c, writing_c, extent_of, &reads) == MPI_SUCCESS);
    CHECK_ERROR(MPI_Register_datarep("wide", reading, writing, extent_of, &reads), MPI_ERR_DUP_DATAREP);
    CHECK_ERROR(MPI_Register_datarep_c("external32", reading_c, writing_c, extent_of, &reads), MPI_ERR_DUP_DATAREP);
    CHECK_ERROR(MPI_Register_datarep("", reading, writing, extent_of, &reads), MPI_ERR_ARG);
    CHECK_ERROR(MPI_Register_datarep("none", reading, writing, NULL, &reads), MPI_ERR_ARG);
    memset(longest, 'x', sizeof longest);
    longest[MPI_MAX_DATAREP_STRING] = 0;
    CHECK_ERROR(MPI_Register_datarep(longest, reading, writing, extent_of, &reads), MPI_ERR_ARG);
    longest[MPI_MAX_DATAREP_STRING - 1] = 0;
    CHECK(MPI_Register_datarep(longest, MPI_CONVERSION_FN_NULL, MPI_CONVERSION_FN_NULL, extent_of, &reads) == MPI_SUCCESS);
}

/* Each rank writes every other int of its memory to blocks of its own of the file. */
static void conversion(MPI_File file, int rank, int size, const char *name)
{
    static int numbers[20], back[20];
    static unsigned char bytes[WIDTH * 2];
    int k, count, sizes[1] = {2}, parts[1] = {1}, starts[1] = {1};
    MPI_Aint extent;
    MPI_Offset place;
    MPI_Status status;
    MPI_Datatype every_other, blocks;
    MPI_Type_vector(5, 1, 2, MPI_INT, &every_other);
    MPI_Type_commit(&every_other);
    /* The second of each two. */
    MPI_Type_create_subarray(1, sizes, parts, starts, MPI_ORDER_C, MPI_INT, &blocks);
    MPI_Type_commit(&blocks);
    CHECK(MPI_File_set_size(file, 0) == MPI_SUCCESS);
    CHECK(MPI_File_set_view(file, 3 + 1000 * rank, MPI_INT, blocks, name, MPI_INFO_NULL) == MPI_SUCCESS);
    CHECK(MPI_File_get_type_extent(file, MPI_INT, &extent) == MPI_SUCCESS && extent == WIDTH);
    CHECK(MPI_File_get_type_extent(file, every_other, &extent) == MPI_SUCCESS && extent == 9 * WIDTH);
    CHECK(MPI_File_get_byte_offset(file, 3, &place) == MPI_SUCCESS && place == 3 + 1000 * rank + 7 * WIDTH);
    for (k = 0; k < 20; k++)
        numbers[k] = 0x01020300 + 20 * rank + k;
    reads = writes = 0;
    CHECK(MPI_File_write_at_all(file, 2, numbers, 2, every_other, &status) == MPI_SUCCESS && writes == 1 && reads == 0);
    CHECK(MPI_Get_count(&status, MPI_INT, &count) == MPI_SUCCESS && count == 10);
    memset(back, -1, sizeof back);
    CHECK(MPI_File_read_at_all(file, 2, back, 10, MPI_INT, &status) == MPI_SUCCESS && reads == 1 && writes == 1);
    CHECK(MPI_Get_count(&status, MPI_INT, &count) == MPI_SUCCESS && count == 10);
    for (k = 0; k < 10; k++)
        CHECK(back[k] == numbers[k < 5 ? 2 * k : 9 + 2 * (k - 5)] && back[k + 10] == -1);
    memset(back, -1, sizeof back);
    CHECK(MPI_File_read_at(file, 2, back, 1, every_other, &status) == MPI_SUCCESS && back[2] == numbers[2] && back[1] == -1);
    /* Whole elements, up to the end. */
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == size - 1) {
        CHECK(MPI_File_read_at(file, 8, back, 10, MPI_INT, &status) == MPI_SUCCESS);
        CHECK(MPI_Get_count(&status, MPI_INT, &count) == MPI_SUCCESS && count == 4 && back[0] == numbers[11]);
    }
    CHECK(MPI_File_set_view(file, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL) == MPI_SUCCESS);
    CHECK(MPI_File_read_at(file, 3 + 1000 * rank + 5 * WIDTH, bytes, WIDTH, MPI_BYTE, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    CHECK(bytes[0] == MARK && bytes[1] == MARK && bytes[2] == 1 && bytes[3] == 2 && bytes[4] == 3 && bytes[5] == 20 * rank);
    CHECK(MPI_File_read_at(file, 3 + 1000 * rank + 6 * WIDTH, bytes, 1, MPI_BYTE, MPI_STATUS_IGNORE) == MPI_SUCCESS && bytes[0] == 0);
    MPI_Type_free(&every_other);
    MPI_Type_free(&blocks);
}

/* What the program's functions say, and what is not there. */
static void failures(MPI_File file)
{
    int number = 7;
    MPI_Aint extent;
    CHECK_ERROR(MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "unheard of", MPI_INFO_NULL), MPI_ERR_UNSUPPORTED_DATAREP);
    CHECK_ERROR(MPI_File_set_view(file, 0, MPI_DOUBLE, MPI_DOUBLE, "wide", MPI_INFO_NULL), MPI_ERR_CONVERSION);
    CHECK(MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "wide", MPI_INFO_NULL) == MPI_SUCCESS);
    CHECK_ERROR(MPI_File_get_type_extent(file, MPI_DOUBLE, &extent), MPI_ERR_CONVERSION);
    code = MPI_ERR_OTHER;
    CHECK_ERROR(MPI_File_write_at(file, 0, &number, 1, MPI_INT, MPI_STATUS_IGNORE), MPI_ERR_CONVERSION);
    code = MPI_SUCCESS;
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(MPI_File_write_at(file, 0, &number, 1, MPI_INT, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    MPI_Barrier(MPI_COMM_WORLD);
    code = MPI_ERR_OTHER;
    CHECK_ERROR(MPI_File_read_at(file, 0, &number, 1, MPI_INT, MPI_STATUS_IGNORE), MPI_ERR_CONVERSION);
    code = MPI_SUCCESS;
    MPI_Barrier(MPI_COMM_WORLD);
}

static int as_in_memory(MPI_Datatype datatype, MPI_Aint *extent, void *state)
{
    int size;
    (void)state;
    MPI_Type_size(datatype, &size);
    *extent = size;
    return MPI_SUCCESS;
}

/* Without functions that convert, values look as in memory, and must have as many bytes. */
static void no_conversion(MPI_File file, int rank)
{
    double values[2] = {1.5 + rank, -2}, back[2] = {0, 0};
    int number = 1;
    CHECK(MPI_Register_datarep("plain", MPI_CONVERSION_FN_NULL, MPI_CONVERSION_FN_NULL, as_in_memory, NULL) == MPI_SUCCESS);
    CHECK(MPI_Register_datarep("halfway", MPI_CONVERSION_FN_NULL, writing, extent_of, &reads) == MPI_SUCCESS);
    CHECK(MPI_File_set_view(file, 0, MPI_DOUBLE, MPI_DOUBLE, "plain", MPI_INFO_NULL) == MPI_SUCCESS);
    CHECK(MPI_File_write_at(file, 2 * rank, values, 2, MPI_DOUBLE, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    CHECK(MPI_File_set_view(file, 0, MPI_DOUBLE, MPI_DOUBLE, "native", MPI_INFO_NULL) == MPI_SUCCESS);
    CHECK(MPI_File_read_at(file, 2 * rank, back, 2, MPI_DOUBLE, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    CHECK(back[0] == values[0] && back[1] == -2);
    CHECK(MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "halfway", MPI_INFO_NULL) == MPI_SUCCESS);
    CHECK(MPI_File_write_at(file, rank, &number, 1, MPI_INT, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    CHECK_ERROR(MPI_File_read_at(file, rank, &number, 1, MPI_INT, MPI_STATUS_IGNORE), MPI_ERR_CONVERSION);
}

/* MPI_LONG has 4 bytes in external32, and gaps of elements shrink alike. */
static void external_gaps(MPI_File file, int rank, int size)
{
    long values[3] = {0x01020304, -1, 5 + rank}, back[3] = {0, 0, 0};
    unsigned char bytes[4];
    MPI_Datatype mine;
    MPI_Offset place;
    MPI_Aint extent;
    int sizes[1] = {size}, parts[1] = {1}, starts[1] = {rank};
    MPI_Type_create_subarray(1, sizes, parts, starts, MPI_ORDER_C, MPI_LONG, &mine);
    MPI_Type_commit(&mine);
    CHECK(MPI_File_set_size(file, 0) == MPI_SUCCESS);
    CHECK(MPI_File_set_view(file, 8, MPI_LONG, mine, "external32", MPI_INFO_NULL) == MPI_SUCCESS);
    CHECK(MPI_File_get_type_extent(file, mine, &extent) == MPI_SUCCESS && extent == 4 * size);
    CHECK(MPI_File_get_byte_offset(file, 2, &place) == MPI_SUCCESS && place == 8 + 4 * (2 * size + rank));
    CHECK(MPI_File_write_all(file, values, 3, MPI_LONG, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    CHECK(MPI_File_seek(file, 0, MPI_SEEK_SET) == MPI_SUCCESS);
    CHECK(MPI_File_read_all(file, back, 3, MPI_LONG, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    CHECK(!memcmp(values, back, sizeof back));
    CHECK(MPI_File_set_view(file, 8, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL) == MPI_SUCCESS);
    CHECK(MPI_File_get_size(file, &place) == MPI_SUCCESS && place == 8 + 12 * size);
    CHECK(MPI_File_read_at(file, 4 * rank, bytes, 4, MPI_BYTE, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    CHECK(bytes[0] == 1 && bytes[1] == 2 && bytes[2] == 3 && bytes[3] == 4);
    MPI_Type_free(&mine);
}

int main(int argc, char **argv)
{
    MPI_File file;
    begin_files(&argc, &argv);
    names();
    file = new_file();
    conversion(file, world_rank, world_size, "wide");
    conversion(file, world_rank, world_size, "wide large");
    CHECK(extents > 0);
    failures(file);
    no_conversion(file, world_rank);
    external_gaps(file, world_rank, world_size);
    close_file(&file);
    end_files();
    return 0;
}
