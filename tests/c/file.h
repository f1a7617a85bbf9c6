/* What programs about files share. */
#ifndef FILE_H
#define FILE_H

#include "check.h"
#include <unistd.h>

static int world_rank, world_size;
static char file_name[512];

/* A name in a folder of the program's own, the same at all ranks. */
static void begin_files(int *argc, char ***argv)
{
    MPI_Init(argc, argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
    MPI_Comm_size(MPI_COMM_WORLD, &world_size);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    if (world_rank == 0) {
        const char *folder = getenv("TMPDIR");
        snprintf(file_name, sizeof file_name - 2, "%s/rwmpi-file-XXXXXX", folder ? folder : "/tmp");
        CHECK(mkdtemp(file_name) != NULL);
        strcat(file_name, "/f");
    }
    MPI_Bcast(file_name, sizeof file_name, MPI_CHAR, 0, MPI_COMM_WORLD);
}

/* The file has been deleted; its folder goes with it. */
static inline void end_files(void)
{
    MPI_Barrier(MPI_COMM_WORLD);
    if (world_rank == 0) {
        file_name[strlen(file_name) - 2] = 0;
        CHECK(rmdir(file_name) == 0);
    }
    MPI_Finalize();
}

static inline MPI_File open_file(MPI_Comm comm, int mode)
{
    MPI_File file;
    CHECK(MPI_File_open(comm, file_name, mode, MPI_INFO_NULL, &file) == MPI_SUCCESS);
    return file;
}

/* A new file that is gone when it is closed. */
static inline MPI_File new_file(void)
{
    return open_file(MPI_COMM_WORLD, MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE);
}

static inline void close_file(MPI_File *file)
{
    CHECK(MPI_File_close(file) == MPI_SUCCESS && *file == MPI_FILE_NULL);
}

static inline int count_of(const MPI_Status *status, MPI_Datatype datatype)
{
    int count = -1;
    CHECK(MPI_Get_count(status, datatype, &count) == MPI_SUCCESS);
    return count;
}

#endif
