/* Nonblocking accesses of files (MPI-5.0 sections 14.4.2 to 14.4.4): long ones go on while the program does something
 * else. ranks: 1 2 */
#include "file.h"
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>

enum { LONG = 3 << 20, SHORT = 100 };

static unsigned char written[LONG], got[LONG];

static void fill(int seed)
{
    int place;
    for (place = 0; place < LONG; place++)
        written[place] = (unsigned char)(place * 7 + place / 251 + seed);
}

/* Whole accesses at offsets, by waiting and by testing. */
static void at_offsets(MPI_File file)
{
    MPI_Offset mine = (MPI_Offset)LONG * world_rank;
    MPI_Request request;
    MPI_Status status;
    int flag = 0;
    fill(world_rank);
    CHECK(MPI_File_iwrite_at(file, mine, written, LONG, MPI_BYTE, &request) == MPI_SUCCESS && request != MPI_REQUEST_NULL);
    CHECK(MPI_Wait(&request, &status) == MPI_SUCCESS && count_of(&status, MPI_BYTE) == LONG);
    CHECK(MPI_File_iread_at_all(file, mine, got, LONG / 4, MPI_INT, &request) == MPI_SUCCESS);
    while (!flag)
        CHECK(MPI_Test(&request, &flag, &status) == MPI_SUCCESS);
    CHECK(request == MPI_REQUEST_NULL && count_of(&status, MPI_INT) == LONG / 4 && !memcmp(got, written, LONG));
    MPI_Barrier(MPI_COMM_WORLD);
    /* What is beyond the end is not there. */
    if (world_rank == world_size - 1) {
        memset(got, 0, LONG);
        CHECK(MPI_File_iread_at(file, mine + 1000, got, LONG, MPI_BYTE, &request) == MPI_SUCCESS);
        CHECK(MPI_Wait(&request, &status) == MPI_SUCCESS && count_of(&status, MPI_BYTE) == LONG - 1000);
        CHECK(!memcmp(got, written + 1000, LONG - 1000) && got[LONG - 1000] == 0);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

/* Holes in memory and in the file, at the pointers, which move at once. */
static void at_pointers(MPI_File file)
{
    enum { BLOCKS = 1 << 17 };
    MPI_Datatype every_other, mine;
    MPI_Request requests[2];
    MPI_Status statuses[2];
    MPI_Offset place = 0;
    int sizes[1] = {2}, parts[1] = {1}, starts[1] = {world_rank % 2}, k;
    static int from[2 * BLOCKS], back[BLOCKS];
    for (k = 0; k < 2 * BLOCKS; k++)
        from[k] = k + world_rank;
    MPI_Type_vector(BLOCKS, 1, 2, MPI_INT, &every_other);
    MPI_Type_commit(&every_other);
    MPI_Type_create_subarray(1, sizes, parts, starts, MPI_ORDER_C, MPI_INT, &mine);
    MPI_Type_commit(&mine);
    CHECK(MPI_File_set_view(file, 0, MPI_INT, mine, "native", MPI_INFO_NULL) == MPI_SUCCESS);
    CHECK(MPI_File_iwrite(file, from, 1, every_other, &requests[0]) == MPI_SUCCESS);
    CHECK(MPI_File_get_position(file, &place) == MPI_SUCCESS && place == BLOCKS);
    CHECK(MPI_Type_free(&every_other) == MPI_SUCCESS && MPI_Type_free(&mine) == MPI_SUCCESS);
    CHECK(MPI_File_iwrite_all(file, from, SHORT, MPI_INT, &requests[1]) == MPI_SUCCESS);
    CHECK(MPI_Waitall(2, requests, statuses) == MPI_SUCCESS && count_of(&statuses[0], MPI_INT) == BLOCKS);
    CHECK(count_of(&statuses[1], MPI_INT) == SHORT);
    CHECK(MPI_File_seek(file, 0, MPI_SEEK_SET) == MPI_SUCCESS);
    CHECK(MPI_File_iread(file, back, BLOCKS, MPI_INT, &requests[0]) == MPI_SUCCESS);
    CHECK(MPI_Wait(&requests[0], statuses) == MPI_SUCCESS && count_of(statuses, MPI_INT) == BLOCKS);
    for (k = 0; k < BLOCKS; k++)
        CHECK(back[k] == 2 * k + world_rank);
    CHECK(MPI_File_set_view(file, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL) == MPI_SUCCESS);
    CHECK(MPI_File_iwrite_shared(file, written, LONG, MPI_BYTE, &requests[0]) == MPI_SUCCESS);
    CHECK(MPI_Wait(&requests[0], MPI_STATUS_IGNORE) == MPI_SUCCESS);
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(MPI_File_get_position_shared(file, &place) == MPI_SUCCESS && place == (MPI_Offset)LONG * world_size);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* The bytes get there without a call of MPI. */
static void meanwhile(MPI_File file)
{
    MPI_Offset mine = (MPI_Offset)LONG * world_rank;
    MPI_Request request;
    unsigned char last;
    int plain = open(file_name, O_RDONLY);
    CHECK(plain >= 0);
    fill(13);
    written[LONG - 1] = 1;
    CHECK(MPI_File_write_at(file, mine + LONG - 1, "\0", 1, MPI_BYTE, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    CHECK(MPI_File_iwrite_at(file, mine, written, LONG, MPI_BYTE, &request) == MPI_SUCCESS);
    do
        CHECK(pread(plain, &last, 1, mine + LONG - 1) == 1);
    while (last != 1);
    CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS && close(plain) == 0);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* Among other requests, whichever is complete first. */
static void among_others(MPI_File file)
{
    MPI_Request requests[3];
    MPI_Status status;
    int number = 0, index, seen = 0, round, other = (world_rank + 1) % world_size;
    CHECK(MPI_Irecv(&number, 1, MPI_INT, MPI_ANY_SOURCE, 5, MPI_COMM_WORLD, &requests[0]) == MPI_SUCCESS);
    CHECK(MPI_File_iread_at(file, 0, got, LONG, MPI_BYTE, &requests[1]) == MPI_SUCCESS);
    CHECK(MPI_File_iread_at(file, 0, got, 0, MPI_BYTE, &requests[2]) == MPI_SUCCESS);
    for (round = 0; round < 3; round++) {
        if (round == 1)
            CHECK(MPI_Send(&other, 1, MPI_INT, other, 5, MPI_COMM_WORLD) == MPI_SUCCESS);
        CHECK(MPI_Waitany(3, requests, &index, &status) == MPI_SUCCESS && requests[index] == MPI_REQUEST_NULL);
        seen |= 1 << index;
    }
    CHECK(seen == 7 && number == world_rank);
}

/* Errors are the file's: some at once, others when the access is complete. */
static void errors(void)
{
    MPI_File file;
    MPI_Request request;
    struct rlimit limit, before;
    int flag = 0, code;
    file = open_file(MPI_COMM_WORLD, MPI_MODE_WRONLY);
    CHECK_ERROR(MPI_File_iread_at(file, 0, got, LONG, MPI_BYTE, &request), MPI_ERR_ACCESS);
    CHECK(request == MPI_REQUEST_NULL);
    CHECK_ERROR(MPI_File_iwrite_at(file, -1, written, LONG, MPI_BYTE, &request), MPI_ERR_ARG);
    MPI_Barrier(MPI_COMM_WORLD);
    signal(SIGXFSZ, SIG_IGN);
    CHECK(getrlimit(RLIMIT_FSIZE, &before) == 0);
    limit = before;
    limit.rlim_cur = 64 << 20;
    CHECK(setrlimit(RLIMIT_FSIZE, &limit) == 0);
    /* Who has lanes does all accesses at once. */
    code = MPI_File_iwrite_at(file, (64 << 20) - 10, written, LONG, MPI_BYTE, &request);
    if (code == MPI_SUCCESS)
        code = MPI_Wait(&request, MPI_STATUS_IGNORE);
    CHECK_ERROR(code, MPI_ERR_IO);
    code = MPI_File_iwrite_at(file, 64 << 20, written, LONG, MPI_BYTE, &request);
    while (code == MPI_SUCCESS)
        code = MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
    CHECK_ERROR(code, MPI_ERR_IO);
    CHECK(setrlimit(RLIMIT_FSIZE, &before) == 0);
    MPI_Barrier(MPI_COMM_WORLD);
    close_file(&file);
}

int main(int argc, char **argv)
{
    MPI_File file;
    MPI_Request request;
    begin_files(&argc, &argv);
    file = new_file();
    at_offsets(file);
    at_pointers(file);
    meanwhile(file);
    among_others(file);
    errors();
    /* Let go of: it is still done before the end. */
    CHECK(MPI_File_iwrite_at(file, 0, written, LONG, MPI_BYTE, &request) == MPI_SUCCESS);
    CHECK(MPI_Request_free(&request) == MPI_SUCCESS && request == MPI_REQUEST_NULL);
    close_file(&file);
    end_files();
    return 0;
}
