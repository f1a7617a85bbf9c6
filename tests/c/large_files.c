/* The large-count forms of accesses to files (MPI-5.0 chapter 14): each way to write, and the way to read that goes with it. ranks: 1 2 3 */
#include "file.h"

enum { N = 250, WAYS = 12 };

static int written[N], got[N];

/* What is written at a place of rank `of`. */
static int number(int way, int of, int i)
{
    return (way * 10 + of) * N + i;
}

static int finish(int code, MPI_Request *request, MPI_Status *status)
{
    return code == MPI_SUCCESS ? MPI_Wait(request, status) : code;
}

/* Writes what this rank has, those of all ranks in their order where no offset is given. */
static int write_in(int way, MPI_File file, MPI_Status *status)
{
    MPI_Offset place = (MPI_Offset)world_rank * N;
    MPI_Request request;
    switch (way) {
    case 0: return MPI_File_write_at_c(file, place, written, N, MPI_INT, status);
    case 1: return MPI_File_write_at_all_c(file, place, written, N, MPI_INT, status);
    case 2: return MPI_File_write_c(file, written, N, MPI_INT, status);
    case 3: return MPI_File_write_all_c(file, written, N, MPI_INT, status);
    case 4: return finish(MPI_File_iwrite_at_c(file, place, written, N, MPI_INT, &request), &request, status);
    case 5: return finish(MPI_File_iwrite_at_all_c(file, place, written, N, MPI_INT, &request), &request, status);
    case 6: return finish(MPI_File_iwrite_c(file, written, N, MPI_INT, &request), &request, status);
    case 7: return finish(MPI_File_iwrite_all_c(file, written, N, MPI_INT, &request), &request, status);
    case 8: return MPI_File_write_ordered_c(file, written, N, MPI_INT, status);
    case 9:
        CHECK(MPI_File_write_at_all_begin_c(file, place, written, N, MPI_INT) == MPI_SUCCESS);
        return MPI_File_write_at_all_end(file, written, status);
    case 10:
        CHECK(MPI_File_write_all_begin_c(file, written, N, MPI_INT) == MPI_SUCCESS);
        return MPI_File_write_all_end(file, written, status);
    default:
        CHECK(MPI_File_write_ordered_begin_c(file, written, N, MPI_INT) == MPI_SUCCESS);
        return MPI_File_write_ordered_end(file, written, status);
    }
}

static int read_back(int way, MPI_File file, MPI_Status *status)
{
    MPI_Offset place = (MPI_Offset)world_rank * N;
    MPI_Request request;
    switch (way) {
    case 0: return MPI_File_read_at_c(file, place, got, N, MPI_INT, status);
    case 1: return MPI_File_read_at_all_c(file, place, got, N, MPI_INT, status);
    case 2: return MPI_File_read_c(file, got, N, MPI_INT, status);
    case 3: return MPI_File_read_all_c(file, got, N, MPI_INT, status);
    case 4: return finish(MPI_File_iread_at_c(file, place, got, N, MPI_INT, &request), &request, status);
    case 5: return finish(MPI_File_iread_at_all_c(file, place, got, N, MPI_INT, &request), &request, status);
    case 6: return finish(MPI_File_iread_c(file, got, N, MPI_INT, &request), &request, status);
    case 7: return finish(MPI_File_iread_all_c(file, got, N, MPI_INT, &request), &request, status);
    case 8: return MPI_File_read_ordered_c(file, got, N, MPI_INT, status);
    case 9:
        CHECK(MPI_File_read_at_all_begin_c(file, place, got, N, MPI_INT) == MPI_SUCCESS);
        return MPI_File_read_at_all_end(file, got, status);
    case 10:
        CHECK(MPI_File_read_all_begin_c(file, got, N, MPI_INT) == MPI_SUCCESS);
        return MPI_File_read_all_end(file, got, status);
    default:
        CHECK(MPI_File_read_ordered_begin_c(file, got, N, MPI_INT) == MPI_SUCCESS);
        return MPI_File_read_ordered_end(file, got, status);
    }
}

static void check_count(const MPI_Status *status)
{
    MPI_Count count = -1;
    CHECK(MPI_Get_count_c(status, MPI_INT, &count) == MPI_SUCCESS && count == N);
}

/* Whatever the way, the file is the same, and each reads what it has written. */
static void ways(MPI_File file)
{
    MPI_Status status;
    for (int way = 0; way < WAYS; way++) {
        for (int i = 0; i < N; i++) {
            written[i] = number(way, world_rank, i);
            got[i] = -1;
        }
        CHECK(MPI_File_seek(file, (MPI_Offset)world_rank * N, MPI_SEEK_SET) == MPI_SUCCESS);
        CHECK(MPI_File_seek_shared(file, 0, MPI_SEEK_SET) == MPI_SUCCESS);
        CHECK(write_in(way, file, &status) == MPI_SUCCESS);
        check_count(&status);
        MPI_Barrier(MPI_COMM_WORLD);
        for (int of = 0; of < world_size; of++) {
            int first;
            CHECK(MPI_File_read_at(file, (MPI_Offset)of * N, &first, 1, MPI_INT, MPI_STATUS_IGNORE) == MPI_SUCCESS);
            CHECK(first == number(way, of, 0));
        }
        CHECK(MPI_File_seek(file, (MPI_Offset)world_rank * N, MPI_SEEK_SET) == MPI_SUCCESS);
        CHECK(MPI_File_seek_shared(file, 0, MPI_SEEK_SET) == MPI_SUCCESS);
        CHECK(read_back(way, file, &status) == MPI_SUCCESS);
        check_count(&status);
        for (int i = 0; i < N; i++) CHECK(got[i] == written[i]);
        MPI_Barrier(MPI_COMM_WORLD);
    }
}

/* With the shared pointer each takes what comes next: whole parts, of whomever. */
static void shared(MPI_File file)
{
    MPI_Request request;
    MPI_Status status;
    for (int waits = 0; waits < 2; waits++) {
        for (int i = 0; i < N; i++) {
            written[i] = number(20 + waits, world_rank, i);
            got[i] = -1;
        }
        CHECK(MPI_File_seek_shared(file, 0, MPI_SEEK_SET) == MPI_SUCCESS);
        if (waits)
            CHECK(finish(MPI_File_iwrite_shared_c(file, written, N, MPI_INT, &request), &request, &status) == MPI_SUCCESS);
        else
            CHECK(MPI_File_write_shared_c(file, written, N, MPI_INT, &status) == MPI_SUCCESS);
        check_count(&status);
        MPI_Barrier(MPI_COMM_WORLD);
        CHECK(MPI_File_seek_shared(file, 0, MPI_SEEK_SET) == MPI_SUCCESS);
        if (waits)
            CHECK(finish(MPI_File_iread_shared_c(file, got, N, MPI_INT, &request), &request, &status) == MPI_SUCCESS);
        else
            CHECK(MPI_File_read_shared_c(file, got, N, MPI_INT, &status) == MPI_SUCCESS);
        check_count(&status);
        CHECK(got[0] % N == 0 && got[0] / N / 10 == 20 + waits && got[0] / N % 10 < world_size);
        for (int i = 0; i < N; i++) CHECK(got[i] == got[0] + i);
        MPI_Barrier(MPI_COMM_WORLD);
    }
}

int main(int argc, char **argv)
{
    MPI_File file;
    MPI_Count extent;
    begin_files(&argc, &argv);
    file = new_file();
    CHECK(MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL) == MPI_SUCCESS);
    CHECK(MPI_File_get_type_extent_c(file, MPI_INT, &extent) == MPI_SUCCESS && extent == sizeof(int));
    ways(file);
    shared(file);
    close_file(&file);
    end_files();
    return 0;
}
