/* Individual and shared pointers, in order and not; split and nonblocking accesses; atomic files; sequential ones (MPI-5.0 sections 14.4 and
   14.6). */
#include "file.h"

enum { COUNT = 100 };

static MPI_Offset position_of(MPI_File file)
{
    MPI_Offset position = -1;
    CHECK(MPI_File_get_position(file, &position) == MPI_SUCCESS);
    return position;
}

static MPI_Offset shared_position_of(MPI_File file)
{
    MPI_Offset position = -1;
    CHECK(MPI_File_get_position_shared(file, &position) == MPI_SUCCESS);
    return position;
}

static void individual(void)
{
    int values[COUNT], back[COUNT], i;
    MPI_Status status;
    MPI_Request request;
    MPI_File file = new_file();
    for (i = 0; i < COUNT; i++)
        values[i] = world_rank * COUNT + i;
    CHECK(MPI_File_set_view(file, world_rank * COUNT * sizeof(int), MPI_INT, MPI_INT, "native", MPI_INFO_NULL) == MPI_SUCCESS);
    CHECK(MPI_File_write(file, values, 10, MPI_INT, &status) == MPI_SUCCESS && position_of(file) == 10);
    CHECK(MPI_File_write_all(file, values + 10, 10, MPI_INT, &status) == MPI_SUCCESS && position_of(file) == 20);
    CHECK(MPI_File_iwrite(file, values + 20, 10, MPI_INT, &request) == MPI_SUCCESS && position_of(file) == 30);
    CHECK(MPI_Wait(&request, &status) == MPI_SUCCESS && count_of(&status, MPI_INT) == 10);
#ifndef MPI_ABI_VERSION
    /* By the names that programs of MPICH have for it. */
    MPIO_Request old = MPIO_REQUEST_NULL;
    int flag = 0;
    CHECK(MPI_File_iwrite_at(file, 20, values + 20, 10, MPI_INT, &old) == MPI_SUCCESS && old != MPIO_REQUEST_NULL);
    CHECK(MPIO_Wait(&old, &status) == MPI_SUCCESS && count_of(&status, MPI_INT) == 10);
    CHECK(MPIO_Test(&old, &flag, &status) == MPI_SUCCESS && flag);
#endif
    CHECK(MPI_File_iwrite_all(file, values + 30, 10, MPI_INT, &request) == MPI_SUCCESS && position_of(file) == 40);
    CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS && request == MPI_REQUEST_NULL);
    CHECK(MPI_File_write_all_begin(file, values + 40, 60, MPI_INT) == MPI_SUCCESS);
    CHECK_ERROR(MPI_File_write_at_all_begin(file, 0, values, 1, MPI_INT), MPI_ERR_REQUEST);
    CHECK_ERROR(MPI_File_write_at_all_end(file, values, &status), MPI_ERR_REQUEST);
    CHECK(MPI_File_write_all_end(file, values + 40, &status) == MPI_SUCCESS && count_of(&status, MPI_INT) == 60);
    CHECK(position_of(file) == COUNT);
    CHECK(MPI_File_seek(file, -COUNT, MPI_SEEK_CUR) == MPI_SUCCESS && position_of(file) == 0);
    CHECK_ERROR(MPI_File_seek(file, -1, MPI_SEEK_CUR), MPI_ERR_ARG);
    CHECK_ERROR(MPI_File_seek(file, 0, 12345), MPI_ERR_ARG);
    memset(back, 0, sizeof back);
    CHECK(MPI_File_iread(file, back, 50, MPI_INT, &request) == MPI_SUCCESS);
    CHECK(MPI_Wait(&request, &status) == MPI_SUCCESS && count_of(&status, MPI_INT) == 50);
    CHECK(MPI_File_read_all_begin(file, back + 50, 10, MPI_INT) == MPI_SUCCESS);
    CHECK(MPI_File_read_all_end(file, back + 50, &status) == MPI_SUCCESS && count_of(&status, MPI_INT) == 10);
    CHECK(MPI_File_iread_all(file, back + 60, 10, MPI_INT, &request) == MPI_SUCCESS);
    CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    CHECK(MPI_File_iread_at(file, 70, back + 70, 10, MPI_INT, &request) == MPI_SUCCESS);
    CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    CHECK(MPI_File_iread_at_all(file, 80, back + 80, 10, MPI_INT, &request) == MPI_SUCCESS);
    CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    CHECK(MPI_File_read_at_all_begin(file, 90, back + 90, 10, MPI_INT) == MPI_SUCCESS);
    CHECK(MPI_File_read_at_all_end(file, back + 90, &status) == MPI_SUCCESS && count_of(&status, MPI_INT) == 10);
    CHECK(memcmp(values, back, sizeof values) == 0 && position_of(file) == 70);
    CHECK(MPI_File_iwrite_at(file, 1, values, 1, MPI_INT, &request) == MPI_SUCCESS);
    CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    CHECK(MPI_File_iwrite_at_all(file, 2, values, 1, MPI_INT, &request) == MPI_SUCCESS);
    CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    CHECK(MPI_File_write_at_all_begin(file, 3, values, 1, MPI_INT) == MPI_SUCCESS);
    CHECK(MPI_File_write_at_all_end(file, values, &status) == MPI_SUCCESS && count_of(&status, MPI_INT) == 1);
    CHECK(MPI_File_read_at(file, 0, back, 5, MPI_INT, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    CHECK(back[0] == values[0] && back[1] == values[0] && back[2] == values[0] && back[3] == values[0] && back[4] == values[4]);
    CHECK(MPI_File_write_at(file, 0, NULL, 0, MPI_INT, &status) == MPI_SUCCESS && count_of(&status, MPI_INT) == 0);
    close_file(&file);
}

/* Each record is written once, whole, and they lie side by side. */
static void shared(void)
{
    enum { RECORD = 4, RECORDS = 50 };
    int record[RECORD], seen[64] = {0}, i, j, got;
    MPI_Status status;
    MPI_Request request;
    MPI_File file = new_file();
    CHECK(MPI_File_set_view(file, 3, MPI_INT, MPI_INT, "native", MPI_INFO_NULL) == MPI_SUCCESS);
    for (i = 0; i < RECORDS; i++) {
        for (j = 0; j < RECORD; j++)
            record[j] = world_rank * 1000 + i;
        if (i % 2) {
            CHECK(MPI_File_write_shared(file, record, RECORD, MPI_INT, &status) == MPI_SUCCESS);
        } else {
            CHECK(MPI_File_iwrite_shared(file, record, RECORD, MPI_INT, &request) == MPI_SUCCESS);
            CHECK(MPI_Wait(&request, &status) == MPI_SUCCESS);
        }
        CHECK(count_of(&status, MPI_INT) == RECORD);
    }
    CHECK(MPI_File_sync(file) == MPI_SUCCESS);
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(shared_position_of(file) == RECORD * RECORDS * world_size);
    CHECK(world_size <= 64);
    for (i = 0; i < RECORDS * world_size; i++) {
        CHECK(MPI_File_read_at(file, i * RECORD, record, RECORD, MPI_INT, &status) == MPI_SUCCESS);
        CHECK(record[0] == record[1] && record[1] == record[2] && record[2] == record[3]);
        /* Those of one rank are in its order. */
        CHECK(seen[record[0] / 1000]++ == record[0] % 1000);
    }
    CHECK(MPI_File_seek_shared(file, 0, MPI_SEEK_SET) == MPI_SUCCESS && shared_position_of(file) >= 0);
    MPI_Barrier(MPI_COMM_WORLD);
    for (i = got = 0; i < RECORDS; i++) {
        if (i % 2) {
            CHECK(MPI_File_read_shared(file, record, RECORD, MPI_INT, &status) == MPI_SUCCESS);
        } else {
            CHECK(MPI_File_iread_shared(file, record, RECORD, MPI_INT, &request) == MPI_SUCCESS);
            CHECK(MPI_Wait(&request, &status) == MPI_SUCCESS);
        }
        got += count_of(&status, MPI_INT);
    }
    CHECK(got == RECORD * RECORDS);
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(MPI_File_read_shared(file, record, RECORD, MPI_INT, &status) == MPI_SUCCESS && count_of(&status, MPI_INT) == 0);
    close_file(&file);
}

/* Rank r has r + 1 values; they follow each other by rank. */
static void ordered(void)
{
    int values[64], back[64], i, total = world_size * (world_size + 1) / 2, before = world_rank * (world_rank + 1) / 2;
    MPI_Status status;
    MPI_File file = new_file();
    CHECK(MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL) == MPI_SUCCESS);
    for (i = 0; i <= world_rank; i++)
        values[i] = before + i;
    CHECK(MPI_File_write_ordered(file, values, world_rank + 1, MPI_INT, &status) == MPI_SUCCESS);
    CHECK(count_of(&status, MPI_INT) == world_rank + 1);
    for (i = 0; i <= world_rank; i++)
        values[i] += total;
    CHECK(MPI_File_write_ordered_begin(file, values, world_rank + 1, MPI_INT) == MPI_SUCCESS);
    CHECK(MPI_File_write_ordered_end(file, values, &status) == MPI_SUCCESS && count_of(&status, MPI_INT) == world_rank + 1);
    CHECK(MPI_File_sync(file) == MPI_SUCCESS);
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(shared_position_of(file) == 2 * total);
    for (i = 0; i < 2 * total; i++) {
        CHECK(MPI_File_read_at(file, i, back, 1, MPI_INT, MPI_STATUS_IGNORE) == MPI_SUCCESS && back[0] == i);
    }
    CHECK(MPI_File_seek_shared(file, -total, MPI_SEEK_END) == MPI_SUCCESS);
    CHECK(MPI_File_read_ordered(file, back, world_rank + 1, MPI_INT, &status) == MPI_SUCCESS);
    CHECK(count_of(&status, MPI_INT) == world_rank + 1 && back[0] == total + before && back[world_rank] == total + before + world_rank);
    CHECK(MPI_File_seek_shared(file, -2 * total, MPI_SEEK_CUR) == MPI_SUCCESS);
    CHECK(MPI_File_read_ordered_begin(file, back, world_rank + 1, MPI_INT) == MPI_SUCCESS);
    CHECK(MPI_File_read_ordered_end(file, back, &status) == MPI_SUCCESS && back[0] == before);
    CHECK_ERROR(MPI_File_seek_shared(file, -1, MPI_SEEK_SET), MPI_ERR_ARG);
    if (world_size > 1)
        CHECK_ERROR(MPI_File_seek_shared(file, world_rank, MPI_SEEK_SET), MPI_ERR_NOT_SAME);
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(shared_position_of(file) == total);
    close_file(&file);
}

/* All write all of the file at once, with gaps and without: whoever reads it sees one rank's values. */
static void atomic(void)
{
    enum { ROUNDS = 30, VALUES = 3000 };
    int values[VALUES], flag = -1, round, i;
    MPI_Datatype gaps;
    MPI_File file = new_file();
    CHECK(MPI_File_get_atomicity(file, &flag) == MPI_SUCCESS && flag == 0);
    CHECK(MPI_File_set_atomicity(file, 1) == MPI_SUCCESS);
    CHECK(MPI_File_get_atomicity(file, &flag) == MPI_SUCCESS && flag == 1);
    MPI_Type_vector(VALUES, 1, 2, MPI_INT, &gaps);
    MPI_Type_commit(&gaps);
    CHECK(MPI_File_set_view(file, 0, MPI_INT, gaps, "native", MPI_INFO_NULL) == MPI_SUCCESS);
    for (round = 0; round < ROUNDS; round++) {
        for (i = 0; i < VALUES; i++)
            values[i] = world_rank * 1000 + round;
        CHECK(MPI_File_write_at(file, 0, values, VALUES, MPI_INT, MPI_STATUS_IGNORE) == MPI_SUCCESS);
        CHECK(MPI_File_read_at(file, 0, values, VALUES, MPI_INT, MPI_STATUS_IGNORE) == MPI_SUCCESS);
        for (i = 1; i < VALUES; i++)
            CHECK(values[i] == values[0]);
    }
    if (world_size > 1)
        CHECK_ERROR(MPI_File_set_atomicity(file, world_rank), MPI_ERR_NOT_SAME);
    MPI_Type_free(&gaps);
    close_file(&file);
}

static void sequential(void)
{
    char byte = (char)('0' + world_rank % 10);
    MPI_Status status;
    MPI_File file = open_file(MPI_COMM_WORLD, MPI_MODE_CREATE | MPI_MODE_WRONLY | MPI_MODE_SEQUENTIAL);
    CHECK_ERROR(MPI_File_write_at(file, 0, &byte, 1, MPI_CHAR, &status), MPI_ERR_UNSUPPORTED_OPERATION);
    CHECK_ERROR(MPI_File_write(file, &byte, 1, MPI_CHAR, &status), MPI_ERR_UNSUPPORTED_OPERATION);
    CHECK_ERROR(MPI_File_seek(file, 0, MPI_SEEK_SET), MPI_ERR_UNSUPPORTED_OPERATION);
    CHECK(MPI_File_write_ordered(file, &byte, 1, MPI_CHAR, &status) == MPI_SUCCESS);
    CHECK(MPI_File_set_view(file, MPI_DISPLACEMENT_CURRENT, MPI_CHAR, MPI_CHAR, "native", MPI_INFO_NULL) == MPI_SUCCESS);
    CHECK(MPI_File_write_ordered(file, &byte, 1, MPI_CHAR, &status) == MPI_SUCCESS);
    close_file(&file);
    file = open_file(MPI_COMM_WORLD, MPI_MODE_RDONLY | MPI_MODE_DELETE_ON_CLOSE);
    byte = 0;
    CHECK(MPI_File_read_at(file, world_size + world_rank, &byte, 1, MPI_CHAR, &status) == MPI_SUCCESS);
    CHECK(byte == '0' + world_rank % 10);
    close_file(&file);
}

int main(int argc, char **argv)
{
    begin_files(&argc, &argv);
    individual();
    atomic();
    shared();
    ordered();
    sequential();
    end_files();
    return 0;
}
