/* Each rank by itself writes short blocks between those of the others, all at the same time: through one open of the file and through
   one for each rank, in files that may not be read, in files that the kernel may keep in large pieces, and under the hints that have
   a say in it. No block is lost. */
#include "file.h"

enum { SHORT_BLOCK = 24, LONG_BLOCK = 4096, START = 10, BYTES_MAX = 3 << 20 };

static char own[BYTES_MAX], got[BYTES_MAX];
/* The length of a block, and what a rank has. */
static int block_bytes, bytes;

static void have(int block, int blocks)
{
    block_bytes = block;
    bytes = block * blocks;
}

/* This rank's bytes: those of no two ranks are alike, nor those of two rounds. */
static char byte_of(int rank, int number, int round) { return (char)(rank * 31 + number * 7 + number / block_bytes + round * 101); }

/* Every world_size-th block, beginning with that of a rank. */
static void see_blocks_of(MPI_File file, int rank)
{
    MPI_Datatype block, filetype;
    MPI_Type_contiguous(block_bytes, MPI_CHAR, &block);
    MPI_Type_create_resized(block, 0, (MPI_Aint)block_bytes * world_size, &filetype);
    MPI_Type_commit(&filetype);
    CHECK(MPI_File_set_view(file, START + (MPI_Offset)rank * block_bytes, MPI_CHAR, filetype, "native", MPI_INFO_NULL) == MPI_SUCCESS);
    MPI_Type_free(&filetype);
    MPI_Type_free(&block);
}

/* One rank writes all that will be written, by one call. */
static void fill(MPI_File file)
{
    MPI_Offset all = START + (MPI_Offset)world_size * bytes;
    if (world_rank == 0) {
        char *zeros = calloc(1, (size_t)all);
        CHECK(MPI_File_write_at(file, 0, zeros, (int)all, MPI_CHAR, MPI_STATUS_IGNORE) == MPI_SUCCESS);
        free(zeros);
    }
    CHECK(MPI_Barrier(MPI_COMM_WORLD) == MPI_SUCCESS);
}

/* Written to a file that grows, or is there, and then once more. */
static void rounds(MPI_Comm comm, int mode, MPI_Info info, int is_filled)
{
    MPI_File kept = new_file(), file;
    MPI_Status status;
    MPI_Offset size;
    int other = (world_rank + 1) % world_size;
    if (is_filled)
        fill(kept);
    CHECK(MPI_File_open(comm, file_name, mode, info, &file) == MPI_SUCCESS);
    see_blocks_of(file, world_rank);
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < bytes; i++)
            own[i] = byte_of(world_rank, i, round);
        CHECK(MPI_File_write_at(file, 0, own, bytes, MPI_CHAR, &status) == MPI_SUCCESS);
        CHECK(count_of(&status, MPI_CHAR) == bytes);
        CHECK(MPI_File_sync(file) == MPI_SUCCESS);
        CHECK(MPI_Barrier(MPI_COMM_WORLD) == MPI_SUCCESS);
        CHECK(MPI_File_get_size(kept, &size) == MPI_SUCCESS && size == START + (MPI_Offset)world_size * bytes);
        see_blocks_of(kept, other);
        memset(got, 99, sizeof got);
        CHECK(MPI_File_read_at(kept, 0, got, bytes, MPI_CHAR, &status) == MPI_SUCCESS);
        CHECK(count_of(&status, MPI_CHAR) == bytes);
        for (int i = 0; i < bytes; i++)
            CHECK(got[i] == byte_of(other, i, round));
        CHECK(MPI_Barrier(MPI_COMM_WORLD) == MPI_SUCCESS);
    }
    CHECK(MPI_File_close(&file) == MPI_SUCCESS);
    close_file(&kept);
}

static void hinted(const char *choice, const char *window)
{
    MPI_Info info;
    MPI_Info_create(&info);
    MPI_Info_set(info, "romio_ds_read", choice);
    MPI_Info_set(info, "romio_ds_write", choice);
    MPI_Info_set(info, "ind_rd_buffer_size", window);
    MPI_Info_set(info, "ind_wr_buffer_size", window);
    rounds(MPI_COMM_WORLD, MPI_MODE_RDWR, info, 0);
    MPI_Info_free(&info);
}

int main(int argc, char **argv)
{
    begin_files(&argc, &argv);
    have(SHORT_BLOCK, 20000);
    for (int is_filled = 0; is_filled < 2; is_filled++) {
        rounds(MPI_COMM_WORLD, MPI_MODE_RDWR, MPI_INFO_NULL, is_filled);
        rounds(MPI_COMM_SELF, MPI_MODE_RDWR, MPI_INFO_NULL, is_filled);
        rounds(MPI_COMM_WORLD, MPI_MODE_WRONLY, MPI_INFO_NULL, is_filled);
    }
    hinted("enable", "100000");
    hinted("enable", "no number");
    hinted("disable", "0");
    have(LONG_BLOCK, BYTES_MAX / LONG_BLOCK);
    rounds(MPI_COMM_WORLD, MPI_MODE_RDWR, MPI_INFO_NULL, 1);
    rounds(MPI_COMM_SELF, MPI_MODE_WRONLY, MPI_INFO_NULL, 1);
    hinted("disable", "0");
    end_files();
    return 0;
}
