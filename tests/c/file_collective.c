/* Collective accesses in which ranks have short blocks between those of the others, and what becomes of all if one of
   them passes what is wrong. */
#include "file.h"

enum { BLOCK = 24, BLOCKS = 5000, BYTES = BLOCK * BLOCKS };

static char own[BYTES], got[BYTES + BLOCK];

/* This rank's bytes: those of no two ranks are alike. */
static char byte_of(int rank, int number) { return (char)(rank * 31 + number * 7 + number / BLOCK); }

/* Every world_size-th block, beginning with that of a rank. */
static void see_blocks_of(MPI_File file, int rank, int skipped)
{
    MPI_Datatype block, filetype;
    MPI_Type_contiguous(BLOCK, MPI_CHAR, &block);
    MPI_Type_create_resized(block, 0, (MPI_Aint)BLOCK * (world_size + skipped), &filetype);
    MPI_Type_commit(&filetype);
    CHECK(MPI_File_set_view(file, 10 + (MPI_Offset)rank * BLOCK, MPI_CHAR, filetype, "native", MPI_INFO_NULL) == MPI_SUCCESS);
    MPI_Type_free(&filetype);
    MPI_Type_free(&block);
}

/* Written by all, read by others; `skipped` blocks of every round are nobody's, and stay as they are. */
static void blocks(int skipped, MPI_Offset bytes_expected)
{
    MPI_File file = new_file();
    MPI_Status status;
    MPI_Offset size;
    int other = (world_rank + 1) % world_size;
    see_blocks_of(file, world_rank, skipped);
    CHECK(MPI_File_write_all(file, own, BYTES, MPI_CHAR, &status) == MPI_SUCCESS);
    CHECK(count_of(&status, MPI_CHAR) == BYTES);
    CHECK(MPI_File_sync(file) == MPI_SUCCESS);
    CHECK(MPI_Barrier(MPI_COMM_WORLD) == MPI_SUCCESS);
    CHECK(MPI_File_sync(file) == MPI_SUCCESS);
    CHECK(MPI_File_get_size(file, &size) == MPI_SUCCESS && size == bytes_expected);
    see_blocks_of(file, other, skipped);
    /* The file ends before, for the last rank exactly. */
    memset(got, 99, sizeof got);
    CHECK(MPI_File_read_at_all(file, 0, got, BYTES + BLOCK, MPI_CHAR, &status) == MPI_SUCCESS);
    CHECK(count_of(&status, MPI_CHAR) == BYTES);
    for (int i = 0; i < BYTES; i++)
        CHECK(got[i] == byte_of(other, i));
    for (int i = BYTES; i < BYTES + BLOCK; i++)
        CHECK(got[i] == 99);
    /* What nobody has written. */
    CHECK(MPI_File_set_view(file, 0, MPI_CHAR, MPI_CHAR, "native", MPI_INFO_NULL) == MPI_SUCCESS);
    if (skipped) {
        CHECK(MPI_File_read_at(file, 10 + world_size * BLOCK, got, skipped * BLOCK, MPI_CHAR, &status) == MPI_SUCCESS);
        for (int i = 0; i < skipped * BLOCK; i++)
            CHECK(got[i] == 0);
    }
    close_file(&file);
}

/* Elements that lie apart in memory, in two parts of a split access. */
static void scattered_in_memory(void)
{
    MPI_File file = new_file();
    MPI_Status status;
    MPI_Datatype every_second;
    MPI_Type_vector(BYTES / 2, 1, 2, MPI_CHAR, &every_second);
    MPI_Type_commit(&every_second);
    see_blocks_of(file, world_rank, 0);
    CHECK(MPI_File_write_all_begin(file, own, 1, every_second) == MPI_SUCCESS);
    CHECK(MPI_File_write_all_end(file, own, &status) == MPI_SUCCESS);
    CHECK(count_of(&status, MPI_CHAR) == BYTES / 2);
    memset(got, 99, sizeof got);
    CHECK(MPI_File_read_at_all_begin(file, 0, got, 1, every_second) == MPI_SUCCESS);
    CHECK(MPI_File_read_at_all_end(file, got, &status) == MPI_SUCCESS);
    for (int i = 0; i < BYTES; i++)
        CHECK(got[i] == (i % 2 ? 99 : own[i]));
    MPI_Type_free(&every_second);
    close_file(&file);
}

/* A rank that passes what is wrong has its error, and keeps nobody waiting. */
static void wrong_arguments(void)
{
    MPI_File file = new_file();
    MPI_Status status;
    int is_wrong = world_rank == world_size - 1, outcome;
    see_blocks_of(file, world_rank, 0);
    outcome = MPI_File_write_at_all(file, 0, own, is_wrong ? -1 : BYTES, MPI_CHAR, &status);
    CHECK((outcome != MPI_SUCCESS) == is_wrong);
    outcome = MPI_File_read_at_all(file, is_wrong ? -5 : 0, got, BYTES, MPI_CHAR, &status);
    CHECK((outcome != MPI_SUCCESS) == is_wrong);
    outcome = MPI_File_write_all_begin(file, own, BYTES, is_wrong ? MPI_DATATYPE_NULL : MPI_CHAR);
    CHECK((outcome != MPI_SUCCESS) == is_wrong);
    if (!is_wrong)
        CHECK(MPI_File_write_all_end(file, own, &status) == MPI_SUCCESS);
    close_file(&file);
}

int main(int argc, char **argv)
{
    begin_files(&argc, &argv);
    for (int i = 0; i < BYTES; i++)
        own[i] = byte_of(world_rank, i);
    blocks(0, 10 + (MPI_Offset)world_size * BYTES);
    blocks(1, 10 + (MPI_Offset)(world_size + 1) * BYTES - BLOCK);
    scattered_in_memory();
    wrong_arguments();
    end_files();
    return 0;
}
