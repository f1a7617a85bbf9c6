/* Ranks write a file, one after the other dies, and those who are left close it, open it again and go on: no call waits for the dead, and each
   reads what it has written. The moments come of a seed, RWMPI_TEST_SEED. mpiexec: --keep-going ranks: 3 4 */
#include "deaths_by_seed.h"
#include "file.h"

enum { STEPS = 120, LONG = 5000, SHORT = 3 };

static int mine[LONG], again[LONG];

/* An error of a call that others take part in, or 0. */
static int failed(int code)
{
    if (code == MPI_SUCCESS) return 0;
    CHECK_ERROR(code, MPIX_ERR_PROC_FAILED);
    return 1;
}

/* Each member writes a block of its own, in one of the ways that files have, and reads it again where it knows the place. */
static int write_step(MPI_File file, int step, int member, int members, int len)
{
    MPI_Offset at = (MPI_Offset)member * len;
    MPI_Datatype blocks;
    MPI_Request request;
    int code;
    if (failed(MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL))) return 1;
    switch (step % 6) {
    case 0: return failed(MPI_File_write_ordered(file, mine, len, MPI_INT, MPI_STATUS_IGNORE));
    case 1: return failed(MPI_File_write_shared(file, mine, len, MPI_INT, MPI_STATUS_IGNORE));
    case 2: code = MPI_File_write_at_all(file, at, mine, len, MPI_INT, MPI_STATUS_IGNORE); break;
    case 3:
        code = MPI_File_iwrite_at_all(file, at, mine, len, MPI_INT, &request);
        if (code == MPI_SUCCESS) code = MPI_Wait(&request, MPI_STATUS_IGNORE);
        break;
    case 4:
        code = MPI_File_set_atomicity(file, 1);
        if (code == MPI_SUCCESS) code = MPI_File_write_at(file, at, mine, len, MPI_INT, MPI_STATUS_IGNORE);
        break;
    default:
        at = 0;
        MPI_Type_vector(len, 1, members, MPI_INT, &blocks);
        MPI_Type_commit(&blocks);
        code = MPI_File_set_view(file, (MPI_Offset)member * (MPI_Offset)sizeof(int), MPI_INT, blocks, "native", MPI_INFO_NULL);
        MPI_Type_free(&blocks);
        if (code == MPI_SUCCESS) code = MPI_File_write_all(file, mine, len, MPI_INT, MPI_STATUS_IGNORE);
    }
    if (failed(code)) return 1;
    CHECK(MPI_File_read_at(file, at, again, len, MPI_INT, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    CHECK(memcmp(again, mine, (size_t)len * sizeof(int)) == 0);
    return 0;
}

int main(int argc, char **argv)
{
    MPI_Comm comm;
    int step = 0;
    begin_files(&argc, &argv);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Barrier(comm);
    arrange_death(world_rank, world_size);
    while (step < STEPS) {
        MPI_File file;
        int members, member, well, len = step % 2 ? SHORT : LONG, mode = step % 5 ? 0 : MPI_MODE_APPEND;
        MPI_Comm_size(comm, &members);
        MPI_Comm_rank(comm, &member);
        for (int i = 0; i < len; i++) mine[i] = 1000 * step + 10 * i + member;
        well = !failed(MPI_File_open(comm, file_name, mode | MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file));
        if (well) {
            well = !write_step(file, step, member, members, len);
            well &= !failed(MPI_File_close(&file));
            CHECK(file == MPI_FILE_NULL);
        }
        step += done_by_all(well, &comm);
    }
    call_death_off();
    MPI_Barrier(comm);
    MPI_Comm_free(&comm);
    if (world_rank == 0) {
        CHECK(unlink(file_name) == 0);
        file_name[strlen(file_name) - 2] = 0;
        CHECK(rmdir(file_name) == 0);
    }
    MPI_Finalize();
    return 0;
}
