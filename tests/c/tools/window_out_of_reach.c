/* Where the kernel refuses to copy, windows of memory that is not shared are an error at all ranks, and others work. */
#include "check.h"

int main(int argc, char **argv)
{
    int rank, size, value = 7, length, kept = 0, *memory;
    char text[MPI_MAX_ERROR_STRING];
    MPI_Win window;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    /* Only one of them has memory on its stack. */
    CHECK_ERROR(MPI_Win_create(rank == 1 ? &kept : NULL, rank == 1 ? sizeof kept : 0, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window), MPI_ERR_RMA_SHARED);
    CHECK(window == MPI_WIN_NULL);
    MPI_Error_string(MPI_Win_create(&kept, sizeof kept, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window), text, &length);
    CHECK(strstr(text, "the memory of rank 0 is not shared"));
    CHECK(MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &window) == MPI_SUCCESS);
    MPI_Win_set_errhandler(window, MPI_ERRORS_RETURN);
    CHECK_ERROR(MPI_Win_attach(window, &kept, sizeof kept), MPI_ERR_RMA_ATTACH);
    CHECK(MPI_Win_free(&window) == MPI_SUCCESS);
    CHECK(MPI_Win_allocate(sizeof *memory, sizeof *memory, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &window) == MPI_SUCCESS);
    MPI_Win_fence(0, window);
    CHECK(MPI_Put(&value, 1, MPI_INT, (rank + 1) % size, 0, 1, MPI_INT, window) == MPI_SUCCESS);
    MPI_Win_fence(0, window);
    CHECK(*memory == 7);
    CHECK(MPI_Win_free(&window) == MPI_SUCCESS);
    MPI_Finalize();
    return 0;
}
