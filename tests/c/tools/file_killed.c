/* Writes a file together with all ranks, in a collective call in which the kernel's second call of one rank to write there is its end:
   file_killed FILE RANK apart|together. */
#include "check.h"
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { BLOCK = 64, BYTES = 4 << 20 };

static char own[BYTES];
static const char *name;
static int is_victim, calls;

/* The library finds this before what the C library has. */
static ssize_t write_or_die(int file, const void *from, size_t bytes, off_t at)
{
    struct stat its, ours;
    int is_ours = fstat(file, &its) == 0 && stat(name, &ours) == 0 && its.st_ino == ours.st_ino;
    if (is_victim && is_ours && ++calls == 2)
        raise(SIGKILL);
    /* Few bytes, so that there is a second call. */
    return syscall(SYS_pwrite64, file, from, bytes < 1000000 ? bytes : 1000000, at);
}

ssize_t pwrite(int file, const void *from, size_t bytes, off_t at) { return write_or_die(file, from, bytes, at); }
ssize_t pwrite64(int file, const void *from, size_t bytes, off_t at) { return write_or_die(file, from, bytes, at); }

int main(int argc, char **argv)
{
    int rank, size;
    MPI_File file;
    MPI_Datatype block, filetype;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    CHECK(argc == 4);
    name = argv[1];
    is_victim = rank == atoi(argv[2]);
    CHECK(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file) == MPI_SUCCESS);
    /* The shared pointer has its place, too. */
    CHECK(MPI_File_seek_shared(file, 0, MPI_SEEK_SET) == MPI_SUCCESS);
    if (strcmp(argv[3], "together") == 0) {
        MPI_Type_contiguous(BLOCK, MPI_CHAR, &block);
        MPI_Type_create_resized(block, 0, (MPI_Aint)BLOCK * size, &filetype);
        MPI_Type_commit(&filetype);
        CHECK(MPI_File_set_view(file, (MPI_Offset)rank * BLOCK, MPI_CHAR, filetype, "native", MPI_INFO_NULL) == MPI_SUCCESS);
        MPI_File_write_at_all(file, 0, own, BYTES, MPI_CHAR, MPI_STATUS_IGNORE);
    } else {
        MPI_File_write_at_all(file, (MPI_Offset)rank * BYTES, own, BYTES, MPI_CHAR, MPI_STATUS_IGNORE);
    }
    MPI_File_close(&file);
    MPI_Finalize();
    return 0;
}
