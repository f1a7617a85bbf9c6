/* What goes on with a file that has lost a rank: accesses of a rank alone, those with the shared pointer unless the first rank has died, and
   closing, which deletes the file whoever has died. mpiexec: --keep-going ranks: 3 4 */
#include "failures.h"
#include "file.h"

/* Members of comm open a file, this one of them dies, and the others use and close the file. */
static void lose(MPI_Comm comm, int victim)
{
    int rank, number, read = -1, code;
    MPI_File file;
    MPI_Comm_rank(comm, &rank);
    CHECK(MPI_File_open(comm, file_name, MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &file) == MPI_SUCCESS);
    number = 100 + rank;
    CHECK(MPI_File_write_at_all(file, (MPI_Offset)rank * 4, &number, 1, MPI_INT, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    if (rank == victim) die();
    await_deaths(comm, 1);

    number += 100;
    CHECK(MPI_File_write_at(file, (MPI_Offset)rank * 4, &number, 1, MPI_INT, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    CHECK(MPI_File_read_at(file, (MPI_Offset)rank * 4, &read, 1, MPI_INT, MPI_STATUS_IGNORE) == MPI_SUCCESS && read == number);
    CHECK(MPI_File_read_at(file, (MPI_Offset)victim * 4, &read, 1, MPI_INT, MPI_STATUS_IGNORE) == MPI_SUCCESS && read == 100 + victim);
    code = class_of(MPI_File_read_shared(file, &read, 1, MPI_INT, MPI_STATUS_IGNORE));
    CHECK(code == (victim == 0 ? MPIX_ERR_PROC_FAILED : MPI_SUCCESS));
    CHECK(class_of(MPI_File_write_at_all(file, 0, &number, 1, MPI_INT, MPI_STATUS_IGNORE)) == MPIX_ERR_PROC_FAILED);
    CHECK(class_of(MPI_File_close(&file)) == MPIX_ERR_PROC_FAILED && file == MPI_FILE_NULL);
}

int main(int argc, char **argv)
{
    MPI_Comm rest, last;
    begin_files(&argc, &argv);
    lose(MPI_COMM_WORLD, world_size - 1);
    CHECK(MPIX_Comm_shrink(MPI_COMM_WORLD, &rest) == MPI_SUCCESS);
    lose(rest, 0);
    CHECK(MPIX_Comm_shrink(rest, &last) == MPI_SUCCESS);
    CHECK(access(file_name, F_OK) != 0);
    CHECK(MPI_Barrier(last) == MPI_SUCCESS);
    if (world_rank == 1) {
        file_name[strlen(file_name) - 2] = 0;
        CHECK(rmdir(file_name) == 0);
    }
    MPI_Finalize();
    return 0;
}
