/* Two writers and their readers, all at the same bytes at the same time, in a file that is atomic: whatever is read is one writer's, in
   one piece and in blocks with gaps, by calls of one rank and of all. The gaps belong to further writers, which are not atomic.
   A word is the number of rounds. */
#include "file.h"

enum { BLOCK = 64, BLOCKS = 4000, BYTES = BLOCK * BLOCKS, ROUNDS = 20 };

static int rounds = ROUNDS;
static char own[BYTES], got[BYTES];

/* Every second block, beginning with one of the first two. */
static void see_every_second(MPI_File file, int first)
{
    MPI_Datatype block, filetype;
    MPI_Type_contiguous(BLOCK, MPI_CHAR, &block);
    MPI_Type_create_resized(block, 0, 2 * BLOCK, &filetype);
    MPI_Type_commit(&filetype);
    CHECK(MPI_File_set_view(file, (MPI_Offset)first * BLOCK, MPI_CHAR, filetype, "native", MPI_INFO_NULL) == MPI_SUCCESS);
    MPI_Type_free(&filetype);
    MPI_Type_free(&block);
}

/* All bytes that were read are alike. */
static void is_of_one_writer(MPI_File file, int is_collective)
{
    MPI_Status status;
    CHECK((is_collective ? MPI_File_read_at_all : MPI_File_read_at)(file, 0, got, BYTES, MPI_CHAR, &status) == MPI_SUCCESS);
    CHECK(count_of(&status, MPI_CHAR) == BYTES);
    for (int i = 1; i < BYTES; i++)
        CHECK(got[i] == got[0]);
}

/* The first two ranks write, the others read; then all read. */
static void writers_and_readers(int has_gaps, int is_collective)
{
    MPI_File file = new_file(), others = open_file(MPI_COMM_SELF, MPI_MODE_RDWR);
    MPI_Status status;
    CHECK(MPI_File_set_atomicity(file, 1) == MPI_SUCCESS);
    if (has_gaps)
        see_every_second(file, 0);
    memset(own, 1, BYTES);
    CHECK(MPI_File_write_at_all(file, 0, own, BYTES, MPI_CHAR, &status) == MPI_SUCCESS);
    CHECK(MPI_Barrier(MPI_COMM_WORLD) == MPI_SUCCESS);
    see_every_second(others, 1);
    for (int round = 0; round < rounds; round++) {
        memset(own, 2 + round * 2 + world_rank, BYTES);
        if (is_collective && world_rank < 2)
            CHECK(MPI_File_write_at_all(file, 0, own, BYTES, MPI_CHAR, &status) == MPI_SUCCESS);
        else if (is_collective)
            CHECK(MPI_File_write_at_all(file, 0, own, 0, MPI_CHAR, &status) == MPI_SUCCESS);
        else if (world_rank < 2)
            CHECK(MPI_File_write_at(file, 0, own, BYTES, MPI_CHAR, &status) == MPI_SUCCESS && count_of(&status, MPI_CHAR) == BYTES);
        is_of_one_writer(file, is_collective);
        /* In the gaps, while the others may still write beside them. */
        if (has_gaps && world_rank == world_size - 1) {
            memset(own, 100 + round % 20, BYTES);
            CHECK(MPI_File_write_at(others, 0, own, BYTES, MPI_CHAR, &status) == MPI_SUCCESS);
            CHECK(MPI_File_read_at(others, 0, got, BYTES, MPI_CHAR, &status) == MPI_SUCCESS && memcmp(own, got, BYTES) == 0);
        }
    }
    CHECK(MPI_Barrier(MPI_COMM_WORLD) == MPI_SUCCESS);
    is_of_one_writer(file, is_collective);
    close_file(&others);
    close_file(&file);
}

int main(int argc, char **argv)
{
    begin_files(&argc, &argv);
    if (argc > 1)
        rounds = atoi(argv[1]);
    for (int has_gaps = 0; has_gaps < 2; has_gaps++)
        for (int is_collective = 0; is_collective < 2; is_collective++)
            writers_and_readers(has_gaps, is_collective);
    end_files();
    return 0;
}
