/* Each rank by itself writes short blocks between those of the others, all at the same time: through one open of the file and through
   one for each rank, in files that may not be read, and under the hints that have a say in it. No block is lost. */
#include "file.h"

enum { BLOCK = 24, BLOCKS = 20000, BYTES = BLOCK * BLOCKS, START = 10 };

static char own[BYTES], got[BYTES];

/* This rank's bytes: those of no two ranks are alike, nor those of two rounds. */
static char byte_of(int rank, int number, int round) { return (char)(rank * 31 + number * 7 + number / BLOCK + round * 101); }

/* Every world_size-th block, beginning with that of a rank. */
static void see_blocks_of(MPI_File file, int rank)
{
    MPI_Datatype block, filetype;
    MPI_Type_contiguous(BLOCK, MPI_CHAR, &block);
    MPI_Type_create_resized(block, 0, (MPI_Aint)BLOCK * world_size, &filetype);
    MPI_Type_commit(&filetype);
    CHECK(MPI_File_set_view(file, START + (MPI_Offset)rank * BLOCK, MPI_CHAR, filetype, "native", MPI_INFO_NULL) == MPI_SUCCESS);
    MPI_Type_free(&filetype);
    MPI_Type_free(&block);
}

/* Written to a file that grows, and then once more. */
static void rounds(MPI_Comm comm, int mode, MPI_Info info)
{
    MPI_File kept = new_file(), file;
    MPI_Status status;
    MPI_Offset size;
    int other = (world_rank + 1) % world_size;
    CHECK(MPI_File_open(comm, file_name, mode, info, &file) == MPI_SUCCESS);
    see_blocks_of(file, world_rank);
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < BYTES; i++)
            own[i] = byte_of(world_rank, i, round);
        CHECK(MPI_File_write_at(file, 0, own, BYTES, MPI_CHAR, &status) == MPI_SUCCESS);
        CHECK(count_of(&status, MPI_CHAR) == BYTES);
        CHECK(MPI_File_sync(file) == MPI_SUCCESS);
        CHECK(MPI_Barrier(MPI_COMM_WORLD) == MPI_SUCCESS);
        CHECK(MPI_File_get_size(kept, &size) == MPI_SUCCESS && size == START + (MPI_Offset)world_size * BYTES);
        see_blocks_of(kept, other);
        memset(got, 99, sizeof got);
        CHECK(MPI_File_read_at(kept, 0, got, BYTES, MPI_CHAR, &status) == MPI_SUCCESS);
        CHECK(count_of(&status, MPI_CHAR) == BYTES);
        for (int i = 0; i < BYTES; i++)
            CHECK(got[i] == byte_of(other, i, round));
        CHECK(MPI_Barrier(MPI_COMM_WORLD) == MPI_SUCCESS);
    }
    CHECK(MPI_File_close(&file) == MPI_SUCCESS);
    close_file(&kept);
}

static void hinted(const char *choice, const char *bytes)
{
    MPI_Info info;
    MPI_Info_create(&info);
    MPI_Info_set(info, "romio_ds_read", choice);
    MPI_Info_set(info, "romio_ds_write", choice);
    MPI_Info_set(info, "ind_rd_buffer_size", bytes);
    MPI_Info_set(info, "ind_wr_buffer_size", bytes);
    rounds(MPI_COMM_WORLD, MPI_MODE_RDWR, info);
    MPI_Info_free(&info);
}

int main(int argc, char **argv)
{
    begin_files(&argc, &argv);
    rounds(MPI_COMM_WORLD, MPI_MODE_RDWR, MPI_INFO_NULL);
    rounds(MPI_COMM_SELF, MPI_MODE_RDWR, MPI_INFO_NULL);
    rounds(MPI_COMM_WORLD, MPI_MODE_WRONLY, MPI_INFO_NULL);
    hinted("enable", "100000");
    hinted("enable", "no number");
    hinted("disable", "0");
    end_files();
    return 0;
}
