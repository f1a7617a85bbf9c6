/* A file system refuses what the first word says: locks; room beyond so many bytes, the second word; or, when it is told to flush and to
   close, all that it has taken. Each rank that is concerned has the right error, knows how many bytes were transferred, and goes on. */
#include "file.h"

enum { BLOCK = 24, BLOCKS = 2000, BYTES = BLOCK * BLOCKS };

static char own[BYTES], got[BYTES];

static MPI_File new_sieved_file(void)
{
    MPI_File file;
    MPI_Info info;
    MPI_Info_create(&info);
    MPI_Info_set(info, "romio_ds_write", "enable");
    CHECK(MPI_File_open(MPI_COMM_WORLD, file_name, MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, info, &file) == MPI_SUCCESS);
    MPI_Info_free(&info);
    return file;
}

/* This rank sees every world_size-th block, from its own on. */
static void see_blocks(MPI_File file)
{
    MPI_Datatype block, filetype;
    MPI_Type_contiguous(BLOCK, MPI_CHAR, &block);
    MPI_Type_create_resized(block, 0, (MPI_Aint)BLOCK * world_size, &filetype);
    MPI_Type_commit(&filetype);
    CHECK(MPI_File_set_view(file, (MPI_Offset)world_rank * BLOCK, MPI_CHAR, filetype, "native", MPI_INFO_NULL) == MPI_SUCCESS);
    MPI_Type_free(&filetype);
    MPI_Type_free(&block);
}

static void see_bytes(MPI_File file) { CHECK(MPI_File_set_view(file, 0, MPI_CHAR, MPI_CHAR, "native", MPI_INFO_NULL) == MPI_SUCCESS); }

typedef int write_function(MPI_File, MPI_Offset, const void *, int, MPI_Datatype, MPI_Status *);
static write_function *const ways[] = { MPI_File_write_at, MPI_File_write_at_all };
enum { WAYS = 2 };

/* All blocks are there. */
static void is_whole(MPI_File file)
{
    MPI_Status status;
    memset(got, 99, sizeof got);
    CHECK(MPI_File_read_at_all(file, 0, got, BYTES, MPI_CHAR, &status) == MPI_SUCCESS);
    CHECK(count_of(&status, MPI_CHAR) == BYTES && memcmp(got, own, BYTES) == 0);
    CHECK(MPI_Barrier(MPI_COMM_WORLD) == MPI_SUCCESS);
}

/* What needs no lock goes on as ever; sieving, which does, is not done; atomic accesses are refused and write nothing. */
static void without_locks(void)
{
    MPI_File file = new_sieved_file();
    MPI_Status status;
    MPI_Offset size;
    for (int way = 0; way < WAYS; way++) {
        see_blocks(file);
        CHECK(ways[way](file, 0, own, BYTES, MPI_CHAR, &status) == MPI_SUCCESS && count_of(&status, MPI_CHAR) == BYTES);
        CHECK(MPI_Barrier(MPI_COMM_WORLD) == MPI_SUCCESS);
        is_whole(file);
        see_bytes(file);
        CHECK(MPI_File_set_size(file, 0) == MPI_SUCCESS);
        CHECK(MPI_File_set_atomicity(file, 1) == MPI_SUCCESS);
        CHECK_ERROR(ways[way](file, 0, own, BYTES, MPI_CHAR, &status), MPI_ERR_UNSUPPORTED_OPERATION);
        CHECK_ERROR(MPI_File_read_at_all(file, 0, got, 1, MPI_CHAR, &status), MPI_ERR_UNSUPPORTED_OPERATION);
        CHECK(MPI_File_set_atomicity(file, 0) == MPI_SUCCESS);
        CHECK(MPI_File_get_size(file, &size) == MPI_SUCCESS && size == 0);
        CHECK(MPI_Barrier(MPI_COMM_WORLD) == MPI_SUCCESS);
        CHECK(MPI_File_write_shared(file, own, BYTES, MPI_CHAR, &status) == MPI_SUCCESS);
        CHECK(MPI_File_write_ordered(file, own, BYTES, MPI_CHAR, &status) == MPI_SUCCESS);
        CHECK(MPI_Barrier(MPI_COMM_WORLD) == MPI_SUCCESS);
        CHECK(MPI_File_get_size(file, &size) == MPI_SUCCESS && size == (MPI_Offset)2 * world_size * BYTES);
        CHECK(MPI_Barrier(MPI_COMM_WORLD) == MPI_SUCCESS);
    }
    close_file(&file);
}

/* How many of BYTES bytes from `begin` on have room. */
static int fitting(MPI_Offset begin, MPI_Offset room) { return begin >= room ? 0 : room - begin < BYTES ? (int)(room - begin) : BYTES; }

/* The room ends in the middle of the last rank's bytes. */
static void without_room(MPI_Offset room)
{
    MPI_Status status;
    int mine = fitting((MPI_Offset)world_rank * BYTES, room);
    for (int is_sieved = 0; is_sieved < 2; is_sieved++)
        for (int way = 0; way < WAYS; way++) {
            MPI_File file = is_sieved ? new_sieved_file() : new_file();
            int code = ways[way](file, (MPI_Offset)world_rank * BYTES, own, BYTES, MPI_CHAR, &status);
            if (mine == BYTES)
                CHECK(code == MPI_SUCCESS);
            else
                CHECK_ERROR(code, MPI_ERR_NO_SPACE);
            CHECK(count_of(&status, MPI_CHAR) == mine);
            CHECK(MPI_Barrier(MPI_COMM_WORLD) == MPI_SUCCESS);
            CHECK(MPI_File_read_at(file, (MPI_Offset)world_rank * BYTES, got, BYTES, MPI_CHAR, &status) == MPI_SUCCESS);
            CHECK(count_of(&status, MPI_CHAR) == mine && memcmp(got, own, (size_t)mine) == 0);
            CHECK_ERROR(MPI_File_preallocate(file, room + 1), MPI_ERR_NO_SPACE);
            CHECK(MPI_File_preallocate(file, room) == MPI_SUCCESS);
            see_blocks(file);
            CHECK_ERROR(ways[way](file, 0, own, BYTES, MPI_CHAR, &status), MPI_ERR_NO_SPACE);
            /* What has room is written afterwards. */
            CHECK(ways[way](file, 0, own, BYTES / 4, MPI_CHAR, &status) == MPI_SUCCESS && count_of(&status, MPI_CHAR) == BYTES / 4);
            CHECK(MPI_File_read_at(file, 0, got, BYTES / 4, MPI_CHAR, &status) == MPI_SUCCESS && memcmp(got, own, BYTES / 4) == 0);
            close_file(&file);
        }
}

/* What has been taken is said to be lost at the end. */
static void told_late(void)
{
    MPI_Status status;
    for (int way = 0; way < WAYS; way++) {
        MPI_File file = new_file();
        CHECK(ways[way](file, (MPI_Offset)world_rank * BYTES, own, BYTES, MPI_CHAR, &status) == MPI_SUCCESS);
        CHECK_ERROR(MPI_File_sync(file), MPI_ERR_NO_SPACE);
        CHECK_ERROR(MPI_File_close(&file), MPI_ERR_NO_SPACE);
    }
}

int main(int argc, char **argv)
{
    begin_files(&argc, &argv);
    for (int i = 0; i < BYTES; i++)
        own[i] = (char)(world_rank * 31 + i * 7 + i / BLOCK);
    if (argc > 2)
        without_room(atoll(argv[2]));
    else if (strcmp(argv[1], "locks") == 0)
        without_locks();
    else
        told_late();
    end_files();
    return 0;
}
